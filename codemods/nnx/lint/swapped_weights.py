"""NNX923: a moving average that gives nearly all the weight to what is new."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, formula_of, in_test, resolved
from codemods.nnx.lint.polyak import AVERAGE, misplaced_averages
from codemods.nnx.lint.syntax import argument, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_OF_GRADIENTS = pattern(r"momentum|velocity|grad|trace", re.I)  # which may forget as fast as they like
_DECAY = pattern(r"(^|_)decay(_rate)?$", re.I)
_LITTLE = 0.1  # the weight that no average gives what it has
_USUAL = 0.99  # for a decay of which the number is not known


class _Part(NamedTuple):
    """One of the two things that are averaged.

    Attributes:
        place: its place among the trees.
        weight: its weight.
    """

    place: int
    weight: float


def _check(context: Context) -> Iterator[Finding]:
    homes = context.shared(_homes)
    for event, name in foreign(context, "map", "tree_map"):
        if name not in TREE_MAPS or len(event.node.args) != 3 or in_test(event.scope):
            continue
        away = _away(context, event)
        if away is not None:
            text = ast.unparse(event.node.args[1 + away])
            yield finding(
                RULE.code,
                event.scope,
                event.node.args[0],
                f"`{text}` moves away from the new values: the difference is taken the wrong way round",
                "add a share of the new less the old: old + (1 - decay) * (new - old)",
            )
            continue
        parts = _parts(context, event)
        place = _average(context, event, event.node.args[1:], parts, homes.get(event.node)) if parts else None
        small = next((p for p in parts if p.place == place and 0 < p.weight <= _LITTLE), None)
        if small is not None:
            text = ast.unparse(event.node.args[1 + small.place])
            yield finding(
                RULE.code,
                event.scope,
                event.node.args[0],
                f"the average `{text}` keeps {small.weight:.3g} of itself in each step: the two weights are exchanged",
                "give the average the weight near 1, and the new values the rest",
            )
    misplaced = {event.node for event, *_ in misplaced_averages(context)}  # NNX878 tells of them
    for event, name in foreign(context, "incremental_update"):
        if event.node in misplaced:
            continue
        given = [argument(event.node, i, w) for i, w in enumerate(("new_tensors", "old_tensors", "step_size"))]
        new, old, step = given
        if not name.startswith("optax.") or new is None or old is None or step is None or in_test(event.scope):
            continue
        size = _number(context, step, event.scope)
        parts = [_Part(0, size), _Part(1, 1 - size)] if size is not None else []
        average = _average(context, event, [new, old], parts, homes.get(event.node))
        if average == 0 and 0 < parts[0].weight <= _LITTLE:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the average `{ast.unparse(new)}` stands where the new values belong: it keeps "
                f"{parts[0].weight:.3g} of itself",
                "give it the new values first: optax.incremental_update(new, average, step_size)",
            )
        if average == 1 and 1 - _LITTLE <= parts[0].weight < 1:
            yield finding(
                RULE.code,
                event.scope,
                step,
                f"the step is the weight of what is new: `{ast.unparse(old)}` keeps {parts[1].weight:.3g} of itself",
                "give it 1 less the decay, as step_size=0.005",
            )


def _homes(context: Context) -> dict[ast.AST, str]:
    """Return for the calls whose result is put into a model by ``nnx.update`` the text of the model."""
    found: dict[ast.AST, str] = {}
    for event, name in foreign(context, "update", everywhere=True):
        if name == "flax.nnx.update" and len(event.node.args) == 2:
            made = context.flow.resolve(context.flow.here(event.value.args[1], event.scope)).value
            if isinstance(made, Call):
                found[made.node] = ast.unparse(event.node.args[0])
    return found


def _average(
    context: Context, event: CallEvent, trees: list[ast.expr], parts: list[_Part], home: str | None
) -> int | None:
    """Return which of two trees is the average that the result becomes; None if that is not known."""
    if len(parts) != 2:
        return None
    statement = event.statement
    texts = [{ast.unparse(tree), ast.unparse(_of_model(context, tree, event.scope))} for tree in trees]
    if texts[0] == texts[1] or any(_OF_GRADIENTS.search(text) for text in texts[0] | texts[1]):
        return None
    targets = {ast.unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set[str]()
    if not (isinstance(statement, ast.Assign) and statement.value is event.node):
        targets = set()
    for goal in ({home} if home is not None else set[str](), targets):
        same = [place for place in (0, 1) if goal & texts[place]]
        if same:
            return same[0] if len(same) == 1 else None
    named = [any(AVERAGE.search(word) for word in _words(context, tree, event.scope)) for tree in trees]
    return named.index(True) if named.count(True) == 1 else None


def _of_model(context: Context, tree: ast.expr, scope: Scope) -> ast.expr:
    """Return the model whose state an expression is; another expression itself."""
    bound = resolved(context, tree, scope)
    made = bound.value.node if bound is not None and isinstance(bound.value, Call) else None
    if isinstance(made, ast.Call) and last_word(made.func) == "state" and made.args:
        return made.args[0]
    return tree


def _words(context: Context, tree: ast.expr, scope: Scope) -> set[str]:
    return {last_word(tree), last_word(_of_model(context, tree, scope))}


def _parts(context: Context, event: CallEvent) -> list[_Part]:
    """Return the weights that a function over two trees gives each of them; nothing if it does something else."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    function = callees[0].function if len(callees) == 1 else None
    formula = formula_of(context, function) if function is not None else None
    if function is None or formula is None:
        return []
    names = list(function.params)[:2]
    terms = operands(formula, ast.Add)
    if len(names) != 2 or len(terms) != 2:
        return []
    found: dict[str, float] = {}
    for term, other in (terms, terms[::-1]):
        factors = operands(term, ast.Mult)
        name = _read(other, names)
        if name is not None and len(factors) == 2:  # old + rate * (new - old)
            for weight, difference in (factors, factors[::-1]):
                number = _number(context, weight, function.scope)
                if number is None or not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
                    continue
                new, old = _read(difference.left, names), _read(difference.right, names)
                if old == name and new is not None and new != name:
                    return [_Part(names.index(new), number), _Part(names.index(old), 1 - number)]
        for weight, leaf in (factors, factors[::-1]) if len(factors) == 2 else ():
            word = _read(leaf, names)
            number = _number(context, weight, function.scope) if word is not None else None
            if word is not None and number is not None:
                found[word] = number
    if len(found) != 2 or abs(sum(found.values()) - 1) > 1e-6:
        return []
    return [_Part(names.index(name), weight) for name, weight in found.items()]


def _away(context: Context, event: CallEvent) -> int | None:
    """Return which of two trees is an average by its name, and gets a share of itself less the other one."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    function = callees[0].function if len(callees) == 1 else None
    formula = formula_of(context, function) if function is not None else None
    names = list(function.params)[:2] if function is not None else []
    terms = operands(formula, ast.Add) if formula is not None else []
    trees = event.node.args[1:]
    if len(names) != 2 or len(terms) != 2:
        return None
    for whole, step in (terms, terms[::-1]):
        old, factors = _read(whole, names), operands(step, ast.Mult)
        for difference in factors if old is not None and len(factors) == 2 else ():
            if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
                continue
            left, right = _read(difference.left, names), _read(difference.right, names)
            place = names.index(old) if old is not None else 0
            if left == old and right is not None and right != old and AVERAGE.search(last_word(trees[place])):
                if _average(context, event, trees, [_Part(0, 0.5), _Part(1, 0.5)], None) == place:
                    return place
    return None


def _read(node: ast.expr, names: list[str]) -> str | None:
    """Return the parameter that an expression is, also as ``p.value``, ``p[...]`` or ``p.astype(t)``."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        else:
            return node.id if isinstance(node, ast.Name) and node.id in names else None


def _number(context: Context, node: ast.expr, scope: Scope) -> float | None:
    """Return a weight; of a decay that is not known a usual one."""
    number = the_number(context, scope.module.values.get(node), scope)
    if number is not None:
        return number
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        left, right = _number(context, node.left, scope), _number(context, node.right, scope)
        return left - right if left is not None and right is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    return _USUAL if _DECAY.search(last_word(node)) else None


_BAD = """\
import jax
from flax import nnx


def soft_update(critic, target, tau=0.005):
    new, old = nnx.state(critic, nnx.Param), nnx.state(target, nnx.Param)
    nnx.update(target, jax.tree.map(lambda n, o: (1 - tau) * n + tau * o, new, old))
"""
_EMA = """\
import jax


class EMA:
    def __init__(self, params, decay):
        self.params, self.decay = params, decay

    def update(self, params):
        self.params = jax.tree.map(lambda e, p: (1 - self.decay) * e + self.decay * p, self.params, params)
"""

RULE = lint_rule(
    "NNX923",
    "average-weights-exchanged",
    "a moving average of weights that keeps next to nothing of itself",
    why="""\
In `decay * average + (1 - decay) * new` the average keeps most, in `tau * new + (1 - tau) * target` the target does.
With the two weights exchanged it becomes a copy of the new weights in every step: a target network does not stay behind
any more, and an average averages nothing. The third argument of `optax.incremental_update` is the weight of the new.
""",
    source="issues of implementations of DDPG and SAC; measured: the target equals the critic after one step",
    severity="warning",
    check=_check,
    bad=(_BAD, _EMA),
    clean=(
        _BAD.replace("(1 - tau) * n + tau * o", "tau * n + (1 - tau) * o"),
        _EMA.replace("(1 - self.decay) * e + self.decay * p", "self.decay * e + (1 - self.decay) * p"),
    ),
)
