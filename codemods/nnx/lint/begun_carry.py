"""Carries of recurrent cells that are made anew in every round of a loop over time; part of NNX798."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import innermost_loop, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Sequence, Value

_CELLS = frozenset(f"flax.{home}.{name}" for home in ("nnx", "linen") for name in (
    "LSTMCell", "OptimizedLSTMCell", "GRUCell", "MGUCell", "SimpleCell", "ConvLSTMCell"))  # fmt: skip
_BASES = frozenset({"flax.nnx.RNNCellBase", "flax.linen.RNNCellBase"})
# what puts the steps of a batch of sequences first, and names of sequences
_STEPPING = frozenset({"swapaxes", "moveaxis", "transpose", "unstack", "split"})
_STEPS = pattern(r"^(xs|inputs?|seqs?|sequences?|steps|embeddings?|embedded|tokens)$|_(steps|seq|sequence)$", re.I)


def begun_anew(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield where a round of a loop over time makes the carry with which it calls a cell.

    Args:
        context: the analysis.
    """
    bodies_of_scans = {body.function for body in bodies(context) if last(body.loop) in {"scan", "fori_loop"}}
    for event in context.asked.calls():
        if not _stepping(event) or in_test(event.scope):
            continue
        carry, given = event.node.args
        assert isinstance(carry, ast.Name)
        value = event.scope.module.values.get(carry)
        if not isinstance(value, Call | Sequence) or not isinstance(value.node, ast.expr):
            continue
        loop = innermost_loop(event)
        if isinstance(loop, ast.For):
            found = _every_round(context, event, loop, value.node) and _over_time(context, event, loop, given)
        else:
            function = event.scope.function
            found = loop is None and function in bodies_of_scans and _unread(event.scope)
        if found and _fresh(context, value, event.scope, 0) and _recurrent(context, event, value):
            yield event.scope, value.node


def _stepping(event: CallEvent) -> bool:
    """Say whether a statement takes a step: ``carry, output = cell(carry, x)``."""
    statement, node = event.statement, event.node
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if len(node.args) != 2 or node.keywords or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return False
    first = node.args[0]
    return isinstance(first, ast.Name) and isinstance(target.elts[0], ast.Name) and target.elts[0].id == first.id


def _every_round(context: Context, event: CallEvent, loop: ast.For, made: ast.expr) -> bool:
    """Say whether each round of a loop makes a carry and takes a step with it, and not only some rounds."""
    places = (made, event.node)
    return inside(made, loop) and not any(context.bodies.sometimes(one, event.scope, loop) for one in places)


def _over_time(context: Context, event: CallEvent, loop: ast.For, given: ast.expr) -> bool:
    """Say whether the rounds of a loop give one and the same cell the steps of sequences."""
    changing = names_in(loop.target) | {
        n.id for one in loop.body for n in ast.walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if names_in(event.node.func) & changing:
        return False  # another layer in every round
    step = bound_once(context, event.scope, given) if isinstance(given, ast.Name) else given
    step = step if step is not None else written(context, given, event.scope)
    places = names_in(loop.target)
    for part in ast.walk(step):
        if isinstance(part, ast.Subscript) and names_in(part.slice) & places:
            index = part.slice
            if isinstance(index, ast.Tuple):
                return not names_in(index.elts[0]) & places
            return isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) == "range"
    of = loop.iter
    if isinstance(of, ast.Call) and last_word(of.func) == "enumerate" and of.args:
        of = of.args[0]
    of = written(context, of, event.scope)
    if not names_in(step) & places:
        return False
    if isinstance(of, ast.Call):
        return last_word(of.func) in _STEPPING
    return isinstance(of, ast.Name | ast.Attribute) and bool(_STEPS.search(last_word(of)))


def _unread(scope: Scope) -> bool:
    """Say whether the body of a scan never reads the carry that it is given."""
    function = scope.function
    given = next((p for p in function.params.values() if p is not function.self_param), None) if function else None
    if given is None:
        return False
    names = (n for one in ast.walk(scope.node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
             for n in [scope.module.values.get(one)])  # fmt: skip
    return not any(value is given for value in names)


def _fresh(context: Context, value: Value, scope: Scope, depth: int) -> bool:
    """Say whether a carry is the first one: zeros, or what ``initialize_carry`` gives."""
    if isinstance(value, Sequence):
        return bool(value.items) and depth < 2 and all(_fresh(context, i, scope, depth + 1) for i in value.items)
    made = context.flow.resolve(context.flow.here(value, scope))
    if isinstance(made.value, Sequence) and made.value is not value and made.frame is not None:
        return _fresh(context, made.value, made.frame.function.scope, depth + 1)
    if not isinstance(made.value, Call):
        return False
    name, callee = context.flow.calls.callee_name(made), made.value.callee
    if name:
        return last(name) in {"zeros", "zeros_like"} or last(name) == "initialize_carry"
    return isinstance(callee, Attr) and callee.name == "initialize_carry"


def _recurrent(context: Context, event: CallEvent, carry: Value) -> bool:
    """Say whether what is called is a recurrent cell."""
    sources = list(context.sources.originals(context.flow.here(event.value.callee, event.scope)))
    for one in sources:
        cls = context.flow.classes.class_of(one)
        known = bool(_BASES & set(context.flow.classes.mro(cls)[1])) if cls is not None else False
        if not known and context.flow.calls.callee_name(one) not in _CELLS:
            break
    else:
        if sources:
            return True
    if not isinstance(carry, Call) or not isinstance(carry.callee, Attr) or carry.callee.name != "initialize_carry":
        return False
    func = carry.node.func
    return isinstance(func, ast.Attribute) and ast.unparse(func.value) == ast.unparse(event.node.func)
