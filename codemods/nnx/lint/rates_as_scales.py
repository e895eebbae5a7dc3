"""NNX981: learning rates where a schedule wants factors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Comprehension, Mapping, Sequence, Unknown, Value

# the position of the first rate; the factors come right behind it
_SCHEDULES = {"piecewise_constant_schedule": 0, "piecewise_interpolate_schedule": 1}
_RATE = pattern(r"(^|_)(lrs?|learning_?rates?|step_?sizes?)_?\d*$")
_LARGEST = 0.1  # a first rate above it may be a factor itself
_TINY = 1e-3  # no rate is meant to shrink by more at once
_ALIKE = 0.01  # how far two quotients may lie apart
_MANY = 1e-4  # what factors are not meant to come to together
_NAMES = (ast.Name, ast.Attribute, ast.Subscript)


class _Scale(NamedTuple):
    """A factor of a schedule: its expression and its value, either of which may be unknown."""

    node: ast.expr | None
    value: Value | None
    scope: Scope


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_SCHEDULES):
        if not name.startswith("optax.") or event.value.starred or in_test(event.scope):
            continue
        place = _SCHEDULES[last(name)]
        first = argument(event.node, place, "init_value")
        given = argument(event.node, place + 1, "boundaries_and_scales")
        scales = _scales(context, event, given) if given is not None and first is not None else []
        if first is None or given is None or not scales:
            continue
        text = event.scope.module.source.text
        begun = numbers(context, event.value.argument(place, "init_value"), event.scope)
        start = next(iter(begun)) if len(begun) == 1 else None
        known = [_number(context, one) for one in scales]
        absolute = [_absolute(one, first, start, number) for one, number in zip(scales, known, strict=True)]
        if any(absolute) or _going_on(start, known):
            alone = next((one.node for one, found in zip(scales, absolute, strict=True) if found), None)
            which = (
                f"`{ast.unparse(alone)}` is a rate itself"
                if alone is not None and absolute.count(True) == 1 < len(scales) and not _going_on(start, known)
                else "these are the rates themselves"
            )
            yield finding(
                RULE.code,
                event.scope,
                given,
                f"{which}, and `{last(name)}` multiplies by each of them: "
                + (_shrunk(start, known) or f"`{text(first)}` shrinks by one after the other"),
                "give the factor from one rate to the next, as 0.1, or use optax.join_schedules",
            )


def _scales(context: Context, event: CallEvent, given: ast.expr) -> list[_Scale]:
    """Return the factors of a schedule in the order in which they are written; none if they are not known."""
    value = event.scope.module.values.get(given)
    found = context.flow.resolve(context.flow.here(value, event.scope)) if value is not None else None
    if found is None:
        return []
    made = found.value
    scope = _home(context, found, event.scope)
    if isinstance(made, Mapping):
        nodes = _entries(made)
        return [
            _Scale(nodes[place] if len(nodes) == len(made.items) else None, item, scope)
            for place, (_, item) in enumerate(made.items)
        ]
    if isinstance(made, Comprehension):
        return [_Scale(_expression(made.element), made.element, scope)]
    if isinstance(made, Call) and last_word(made.node.func) == "zip" and len(made.args) == 2 and not made.starred:
        return _listed(context, context.flow.resolve(context.flow.with_value(found, made.args[1])), made, scope)
    return []


def _listed(context: Context, listed: Bound, made: Call, scope: Scope) -> list[_Scale]:
    """Return the factors that ``dict(zip(boundaries, scales))`` goes through."""
    if isinstance(listed.value, Sequence) and listed.value.items:
        home = _home(context, listed, scope)
        return [_Scale(_expression(item), item, home) for item in listed.value.items]
    if isinstance(listed.value, Comprehension):
        return [_Scale(_expression(listed.value.element), listed.value.element, scope)]
    return [_Scale(made.node.args[1], None, scope)]


def _expression(value: Value) -> ast.expr | None:
    return value.node if isinstance(value, Unknown) and isinstance(value.node, ast.expr) else None


def _entries(made: Mapping) -> list[ast.expr]:
    node = made.node
    return node.values if isinstance(node, ast.Dict) else []


def _home(context: Context, found: Bound, scope: Scope) -> Scope:
    if found.frame is not None:
        return found.frame.function.scope
    node = getattr(found.value, "node", None)
    known = context.bodies.home(node) or context.bodies.module_scope(node) if isinstance(node, ast.AST) else None
    return known or scope


def _number(context: Context, scale: _Scale) -> int | float | None:
    found = numbers(context, scale.value, scale.scope) if scale.value is not None else frozenset()
    return next(iter(found)) if len(found) == 1 else None


def _absolute(scale: _Scale, first: ast.expr, start: float | None, number: float | None) -> bool:
    """Say whether a factor is a rate by what it is computed of, by its name or by how small it is."""
    if number is not None and (number <= 0 or (start is not None and number > start)):
        return False
    if number is not None and start is not None and 0 < start <= _LARGEST and number <= _TINY and number < start:
        return True
    rates = _rates(first)
    if scale.node is None or start == 1 or _quotient(scale.node, rates):
        return False
    return _of_rate(scale.node, rates) or _called(scale.node)


def _rates(first: ast.expr) -> frozenset[str]:
    """Return the text of a first rate, and of what has the name of a rate in it."""
    found = {ast.unparse(first)} if isinstance(first, _NAMES) else set()
    found |= {ast.unparse(n) for n in ast.walk(first) if isinstance(n, _NAMES) and _RATE.search(last_word(n))}
    return frozenset(found)


def _of_rate(node: ast.expr, rates: frozenset[str]) -> bool:
    """Say whether an expression is a rate times or divided by something."""
    if isinstance(node, _NAMES):
        return ast.unparse(node) in rates
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return False
    sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else [node.left]
    return any(_of_rate(side, rates) for side in sides)


def _quotient(node: ast.expr, rates: frozenset[str]) -> bool:
    """Say whether an expression divides by a rate, as the factor from one rate to the next does."""
    divisors = [n.right for n in ast.walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div | ast.Pow)]
    read = [n for one in divisors for n in ast.walk(one) if isinstance(n, _NAMES)]
    return any(ast.unparse(n) in rates or _called(n) for n in read)


def _called(node: ast.expr) -> bool:
    """Say whether a variable or an entry has the name of a rate."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name | ast.Attribute) and bool(_RATE.search(last_word(node).lower()))


def _going_on(start: float | None, known: list[int | float | None]) -> bool:
    """Say whether numbers go on from the first rate, or from one, as rates that fall by the same factor each time."""
    found = [one for one in known if one is not None]
    if len(found) != len(known) or len(found) < 2 or min(found) <= 0:
        return False
    rows = [[1.0, *found]] if len(found) > 2 else []
    if start is not None and 0 < start <= _LARGEST:
        rows.append([start, *found])
    total = 1.0
    for one in found:
        total *= one
    return total <= _MANY and any(_alike(row) for row in rows)


def _alike(row: list[float]) -> bool:
    quotients = [two / one for one, two in pairwise(row)]
    return quotients[0] < 1 and max(quotients) - min(quotients) < _ALIKE * quotients[0]


def _shrunk(start: float | None, known: list[int | float | None]) -> str:
    """Return what a first rate becomes, in words; empty if that is not known."""
    found: list[str] = []
    for number in known:
        if start is None or number is None:
            return ""
        start *= number
        found.append(f"{start:.3g}")
    return f"the rate becomes {', then '.join(found)}"


RULE = lint_rule(
    "NNX981",
    "rates-as-scales",
    "learning rates in `boundaries_and_scales`, whose numbers are factors",
    why="""\
`optax.piecewise_constant_schedule` multiplies the rate that it has reached by the number of each boundary. Where the
new rates themselves stand there, a rate of 1e-3 becomes 1e-7 instead of 1e-4, and the training stands still.
""",
    source="optax documentation of piecewise_constant_schedule, optax pull request 1255; measured",
    check=_check,
    bad=(
        """\
import optax

schedule = optax.piecewise_constant_schedule(1e-3, {1000: 1e-4, 2000: 1e-5})
""",
    ),
    clean=(
        """\
import optax

schedule = optax.piecewise_constant_schedule(1e-3, {1000: 0.1, 2000: 0.1})
""",
    ),
)
