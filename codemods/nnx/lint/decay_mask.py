"""NNX924: a mask of weight decay that takes the biases and leaves the weights out."""

from __future__ import annotations

import ast
import copy
import operator
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.literals import literal
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Ref, Value

# where optimizers take the mask of their decay
_MASKS = {"adamw": (7, "mask"), "nadamw": (7, "mask"), "adamaxw": (5, "mask"), "adan": (7, "mask"), "lamb": (6, "mask"),
          "lion": (5, "mask"), "add_decayed_weights": (1, "mask"), "masked": (1, "mask"),
          "lars": (2, "weight_decay_mask"), "adadelta": (4, "weight_decay_mask"),
          "adafactor": (11, "weight_decay_mask"), "muon": (5, "weight_decay_mask")}  # fmt: skip
_OF_PATHS = frozenset({"flax.traverse_util.path_aware_map"})
_DEPTH = 3  # functions that ask each other
_ORDER: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


class _Leaf(NamedTuple):
    """A parameter as masks tell it from others.

    Attributes:
        word: its name.
        axes: how many it has.
    """

    word: str
    axes: int


_NORMS = pattern(r"norm|^ln|^bn|scale|gamma|beta", re.I)
_BIAS, _KERNEL = _Leaf("bias", 1), _Leaf("kernel", 2)


def _check(context: Context) -> Iterator[Finding]:
    found: dict[Scope | CallEvent, list[tuple[CallEvent, ast.expr, ast.expr | None]]] = {}
    for event, name in foreign(context, *_MASKS):
        place, word = _MASKS[last(name)]
        mask, node = event.value.argument(place, word), argument(event.node, place, word)
        if not name.startswith("optax.") or mask is None or node is None or in_test(event.scope):
            continue
        if last(name) == "masked" and not _decays(context, event):
            continue
        tests = [_test(context, one) for one in context.sources.originals(context.flow.here(mask, event.scope))]
        group = event.scope if last(name) in {"masked", "add_decayed_weights"} else event
        found.setdefault(group, []).append((event, node, tests[0] if len(tests) == 1 else None))
    for masks in found.values():
        if not all(test is not None and _turned(_spelled(context, test)) for _, _, test in masks):
            continue  # perhaps another decay for each kind of weights
        for event, node, test in masks:
            assert test is not None
            yield finding(
                RULE.code,
                event.scope,
                node,
                "the mask is True for biases and False for kernels: it decays the biases alone",
                "turn the condition around: True stands for what decays",
                related=[(test, "the condition")],
            )


def _turned(test: ast.expr) -> bool:
    """Say whether a condition holds for biases, and not for kernels."""
    return _holds(test, _BIAS) is True and _holds(test, _KERNEL) is False


def _spelled(context: Context, test: ast.expr, depth: int = 0) -> ast.expr:
    """Return a condition with literals in place of the names of literals, as of ``NO_DECAY = ("bias", "scale")``.

    What a function of the project answers is put in its place, too: ``not is_bias(path)``.
    """
    known = {}
    asked: dict[tuple[int, int], ast.expr] = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            scope = context.bodies.module_scope(node)
            value = literal(context, node, scope) if scope is not None else None
            if value is not None:
                known[node.id] = value
        elif isinstance(node, ast.Call) and depth < _DEPTH:
            answer = _answer(context, node)
            if answer is not None:
                asked[node.lineno, node.col_offset] = _spelled(context, answer, depth + 1)
    spelled: ast.expr = _Spelling(known, asked).visit(copy.deepcopy(test)) if known or asked else test
    return spelled


def _answer(context: Context, call: ast.Call) -> ast.expr | None:
    """Return the condition that a function of the project answers, if a call is one of such a function."""
    home = context.bodies.home(call)
    callee = home.module.values.get(call.func) if home is not None else None
    if home is None or callee is None:
        return None
    functions = context.flow.calls.callables(context.flow.here(callee, home))
    return _condition(context, functions[0].function) if len(functions) == 1 else None


def _condition(context: Context, function: FunctionFacts) -> ast.expr | None:
    """Return the condition that a function gives, also one of which answers are returned early."""
    formula = formula_of(context, function)
    if formula is not None or isinstance(function.node, ast.Lambda):
        return formula
    *before, last_one = function.node.body
    condition = last_one.value if isinstance(last_one, ast.Return) else None
    for statement in reversed(before):
        if not isinstance(statement, ast.If):
            if any(isinstance(n, ast.Return) for n in ast.walk(statement)):
                return None
            continue
        given = statement.body[0] if len(statement.body) == 1 and not statement.orelse else None
        answer = constant(given.value) if isinstance(given, ast.Return) else None
        if condition is None or not isinstance(answer, bool):
            return None
        asked = statement.test if answer else ast.UnaryOp(ast.Not(), statement.test)
        joined = ast.BoolOp(ast.Or() if answer else ast.And(), [asked, condition])
        condition = ast.copy_location(joined, condition)
    return condition


class _Spelling(ast.NodeTransformer):
    """Puts literals in place of names, and conditions in place of calls that ask them."""

    def __init__(self, known: dict[str, object], asked: dict[tuple[int, int], ast.expr]) -> None:
        self._known = known
        self._asked = asked

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the literal that a name stands for."""
        if node.id not in self._known:
            return node
        return ast.copy_location(ast.parse(repr(self._known[node.id]), mode="eval").body, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the condition that a call asks."""
        answer = self._asked.get((node.lineno, node.col_offset))
        return answer if answer is not None else self.generic_visit(node)


def _decays(context: Context, event: CallEvent) -> bool:
    """Say whether ``optax.masked`` wraps the decay of weights alone."""
    inner = event.value.argument(0, "inner")
    bound = context.flow.resolve(context.flow.here(inner, event.scope)) if inner is not None else None
    return (
        bound is not None
        and isinstance(bound.value, Call)
        and context.flow.calls.callee_name(bound) == "optax.add_decayed_weights"
    )


def _test(context: Context, mask: Bound) -> ast.expr | None:
    """Return the condition of which a mask is made for every leaf."""
    if isinstance(mask.value, Call):
        return _of_partial(context, mask) or _of_map(context, mask)
    callees = context.flow.calls.callables(mask)
    function = callees[0].function if len(callees) == 1 else None
    formula = formula_of(context, function) if function is not None else None
    if function is None or formula is None:
        return None
    if isinstance(formula, ast.Call) and last_word(formula.func) == "unflatten_dict" and formula.args:
        flat = formula.args[0]
        made_of = bound_once(context, function.scope, flat) if isinstance(flat, ast.Name) else None
        formula = made_of if made_of is not None else written(context, flat, function.scope)
    if isinstance(formula, ast.DictComp):
        return formula.value
    made = function.scope.module.values.get(formula)
    return _of_map(context, context.flow.here(made, function.scope)) if isinstance(made, Call) else None


def _of_partial(context: Context, made: Bound) -> ast.expr | None:
    """Return the condition of ``partial(jax.tree_util.tree_map_with_path, condition)``."""
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "functools.partial":
        return None
    if len(made.value.args) != 2 or made.value.keywords:
        return None
    first = context.flow.follow(made, made.value.args[0]).value
    if not isinstance(first, Ref) or first.name not in TREE_MAPS | _OF_PATHS:
        return None
    callees = context.flow.calls.callables(context.flow.with_value(made, made.value.args[1]))
    return _condition(context, callees[0].function) if len(callees) == 1 else None


def _of_map(context: Context, made: Bound) -> ast.expr | None:
    """Return the condition that ``jax.tree.map`` asks of every leaf."""
    if not isinstance(made.value, Call) or not made.value.args:
        return None
    if context.flow.calls.callee_name(made) not in TREE_MAPS | _OF_PATHS:
        return None
    given: Value = made.value.args[0]
    callees = context.flow.calls.callables(context.flow.with_value(made, given))
    return _condition(context, callees[0].function) if len(callees) == 1 else None


def _holds(test: ast.expr, leaf: _Leaf) -> bool | None:
    """Return whether a condition holds for a leaf; None if that is not known."""
    if isinstance(test, ast.Constant) and isinstance(test.value, bool):
        return test.value
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(test.operand, leaf)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _joined([_holds(one, leaf) for one in test.values], isinstance(test.op, ast.Or))
    if isinstance(test, ast.Call) and last_word(test.func) in {"any", "all", "bool"} and len(test.args) == 1:
        return _called(test, leaf)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.comparators[0], leaf)
    return None


def _joined(parts: list[bool | None], strong: bool) -> bool | None:
    """Return what conditions joined by ``or`` (of which True is the strong one) or ``and`` give."""
    return strong if strong in parts else None if None in parts else not strong


def _called(test: ast.Call, leaf: _Leaf) -> bool | None:
    given = test.args[0]
    word = last_word(test.func)
    if word == "bool":
        return _holds(given, leaf)
    if isinstance(given, ast.List | ast.Tuple):
        return _joined([_holds(one, leaf) for one in given.elts], word == "any")
    if not isinstance(given, ast.GeneratorExp | ast.ListComp) or len(given.generators) != 1 or word != "any":
        return None
    clause, inner = given.generators[0], given.elt
    words = constant(clause.iter)
    if not isinstance(words, tuple | list) or not isinstance(inner, ast.Compare) or clause.ifs:
        return None
    if not isinstance(clause.target, ast.Name) or ast.unparse(inner.left) != clause.target.id:
        return None
    every = [_compared(ast.Constant(one), inner.ops[0], inner.comparators[0], leaf) for one in words]
    return _joined(every, True)


def _compared(left: ast.expr, kind: ast.cmpop, right: ast.expr, leaf: _Leaf) -> bool | None:
    """Return whether a comparison of the number of axes, or of the name, holds."""
    number = constant(right)
    if _axes(left) and type(number) is int:
        compare = _ORDER.get(type(kind))
        return compare(leaf.axes, number) if compare is not None else None
    first, second = constant(left), constant(right)
    if isinstance(first, str) and second is None:  # "bias" in path
        if isinstance(kind, ast.In | ast.NotIn) and first in {"bias", "kernel", "b", "w"}:
            return (first == leaf.word) is isinstance(kind, ast.In)
        if isinstance(kind, ast.In | ast.NotIn) and _NORMS.search(first):
            return isinstance(kind, ast.NotIn)  # neither of them belongs to a norm
        return None
    if first is not None:
        return None
    if isinstance(second, str) and isinstance(kind, ast.Eq | ast.NotEq) and _last_part(left):
        return (second == leaf.word) is isinstance(kind, ast.Eq)
    if isinstance(second, tuple | list | set) and isinstance(kind, ast.In | ast.NotIn) and _last_part(left):
        if all(isinstance(one, str) for one in second):
            return (leaf.word in second) is isinstance(kind, ast.In)
    return None


def _last_part(node: ast.expr) -> bool:
    """Say whether an expression is no part of a path but its end: ``path[-1].key``, ``name``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return not isinstance(node, ast.Subscript) or constant(node.slice) == -1


def _axes(node: ast.expr) -> bool:
    """Say whether an expression counts axes: ``p.ndim``, ``jnp.ndim(p)``, ``len(p.shape)``."""
    if isinstance(node, ast.Call):
        if last_word(node.func) == "len" and len(node.args) == 1:
            return last_word(node.args[0]) == "shape"
        return last_word(node.func) == "ndim"
    return isinstance(node, ast.Attribute) and node.attr == "ndim"


_BAD = """\
import jax
import optax


def decay_mask(params):
    return jax.tree.map(lambda p: p.ndim <= 1, params)


tx = optax.adamw(1e-3, weight_decay=0.1, mask=decay_mask)
"""
_NAMED = """\
import jax
import optax


def no_bias(params):
    return jax.tree_util.tree_map_with_path(lambda path, p: path[-1].key in ("bias", "scale"), params)


tx = optax.chain(optax.add_decayed_weights(1e-4, mask=no_bias), optax.sgd(0.1))
"""

RULE = lint_rule(
    "NNX924",
    "decay-mask-turned-around",
    "a mask of weight decay that is True for biases and False for kernels",
    why="""\
In optax the mask is True for the leaves that decay. A mask that names the exceptions, biases and the scales of norms,
decays these alone: the kernels grow as without any decay, and the norms are pulled to zero.
""",
    source="optax documentation of adamw; measured: kernels keep their size, scales shrink",
    severity="warning",
    check=_check,
    bad=(_BAD, _NAMED),
    clean=(
        _BAD.replace("p.ndim <= 1", "p.ndim > 1"),
        _NAMED.replace("key in", "key not in"),
    ),
)
