"""Whether two places of a body can both be reached in one run, as far as the conditions around them say."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from codemods.nnx.lint.syntax import Path, exclusive, names_in, own_nodes
from codemods.nnx.patterns import pattern


def apart(one: Path, two: Path, body: ast.AST) -> bool:
    """Say whether at most one of two places is reached in one run of a body.

    They stand in different branches, or under conditions that exclude each other, as do comparisons of one variable
    with different constants.

    Args:
        one: the blocks around the place that is reached first.
        two: those around the other place.
        body: what both stand in.
    """
    return exclusive(one, two) or opposed(one, two, body)


def opposed(one: Path, two: Path, body: ast.AST) -> bool:
    """Say whether two places of a body stand under conditions that exclude each other."""
    return _contradictory(one, two) or _disjoint(one, two, body)


def _contradictory(one: Path, two: Path) -> bool:
    """Say whether one of two places stands under the opposite of a condition of the other one, in different blocks."""
    held = {text for text, _ in _conditions(one)}
    return any(opposite in held for _, opposite in _conditions(two))


def _conditions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the conditions that hold at a place, each with its opposite, as text."""
    for block, arm in path:
        if not isinstance(block, ast.If | ast.IfExp) or arm not in {"body", "orelse"}:
            continue
        parts = [block.test]
        if isinstance(block.test, ast.BoolOp):
            if isinstance(block.test.op, ast.And) is not (arm == "body"):
                continue
            parts = block.test.values
        for part in parts:
            text, opposite = _opposites(part)
            yield (text, opposite) if arm == "body" else (opposite, text)


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip


def _opposites(test: ast.expr) -> tuple[str, str]:
    """Return a condition and its opposite as text."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _opposites(test.operand)[::-1]
    text = ast.unparse(test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other = ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
        return text, ast.unparse(other)
    return text, f"not {text}"


class _Asked(NamedTuple):
    """What a condition asks of one expression.

    Attributes:
        subject: the expression as text.
        node: the expression.
        place: where it is asked.
        tried: the constants that it is compared with; members of an enumeration as text.
        holds: whether it may be a value.
    """

    subject: str
    node: ast.expr
    place: int
    tried: tuple[object, ...]
    holds: Callable[[object], bool]


_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.eq, ast.IsNot: operator.ne,
    ast.In: lambda value, among: value in among,
    ast.NotIn: lambda value, among: value not in among,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_OTHER = object()  # what no condition names


def _disjoint(one: Path, two: Path, body: ast.AST) -> bool:
    """Say whether no value of some expression lets both places be reached, and nothing binds it anew in between."""
    first = list(_asked(one))
    for asked in _asked(two) if first else ():
        for other in first:
            if asked.subject == other.subject and not _satisfied(asked, other) and not _rebound(asked, other, body):
                return True
    return False


def _asked(path: Path) -> Iterator[_Asked]:
    """Yield what the conditions that hold at a place ask of single expressions."""
    for index, (block, arm) in enumerate(path):
        if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
            yield from _of_test(block.test, arm == "body")
        elif isinstance(block, ast.Match) and arm == "cases" and index + 1 < len(path):
            case = path[index + 1][0]
            if isinstance(case, ast.match_case) and (among := _patterns(case.pattern)):
                yield from _compared(block.subject, ast.In(), among, True)


def _patterns(pattern: ast.pattern) -> tuple[object, ...]:
    """Return the constants that a pattern stands for; none if it stands for others too."""
    if isinstance(pattern, ast.MatchSingleton):
        return (pattern.value,)
    if isinstance(pattern, ast.MatchValue):
        return _constant(pattern.value)
    if isinstance(pattern, ast.MatchOr):
        parts = [_patterns(part) for part in pattern.patterns]
        return tuple(value for part in parts for value in part) if all(parts) else ()
    return ()


def _of_test(test: ast.expr, wanted: bool) -> Iterator[_Asked]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _of_test(test.operand, not wanted)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is wanted:
        for part in test.values:
            yield from _of_test(part, wanted)
    elif isinstance(test, ast.BoolOp):
        parts = [list(_of_test(part, wanted)) for part in test.values]
        if all(len(part) == 1 and part[0].subject == parts[0][0].subject for part in parts):
            ways = [part[0] for part in parts]
            tried = tuple(value for way in ways for value in way.tried)
            first = ways[0]
            yield _Asked(first.subject, first.node, first.place, tried, lambda v: any(way.holds(v) for way in ways))
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, op, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(op, ast.In | ast.NotIn):
            if isinstance(right, ast.Tuple | ast.List | ast.Set):
                among = [_constant(element) for element in right.elts]
                if all(among):
                    yield from _compared(left, op, tuple(value for part in among for value in part), wanted)
        elif found := _constant(right):
            yield from _compared(left, op, found[0], wanted)
        elif found := _constant(left):
            yield from _compared(right, _MIRRORED.get(type(op), type(op))(), found[0], wanted)
    else:
        yield from _compared(test, ast.NotEq(), _OTHER, wanted, truth=True)


def _compared(node: ast.expr, op: ast.cmpop, constant: object, wanted: bool, truth: bool = False) -> Iterator[_Asked]:
    """Yield what a comparison with a constant asks, if its expression gives the same every time."""
    if not _steady(node):
        return
    compare = _COMPARED[type(op)]

    def holds(value: object) -> bool:
        try:
            return (bool(value) if truth else compare(value, constant)) is wanted
        except TypeError:
            return not wanted

    tried = (True, False) if truth else constant if isinstance(constant, tuple) else (constant,)
    yield _Asked(ast.unparse(node), node, node.lineno, tried, holds)


def _constant(node: ast.expr) -> tuple[object, ...]:
    """Return the value of a constant as the only item; a member of an enumeration is its text."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        return (value,) if isinstance(value, str | bytes | int | float | None) else ()
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        if owner.strip("_")[:1].isupper() and not owner.isupper():
            return (_Member(ast.unparse(node.value), node.attr),)
    return ()


class _Member(NamedTuple):
    """A member of an enumeration; those of two classes, or one and a plain value, may be equal."""

    owner: str
    name: str


def _steady(node: ast.expr) -> bool:
    """Say whether an expression gives the same as long as its names are not bound anew."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return _steady(node.value)
    if isinstance(node, ast.Subscript):
        return _steady(node.value) and isinstance(node.slice, ast.Constant | ast.UnaryOp)
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if isinstance(node.func, ast.Name) and node.func.id in {"len", "str", "int"} and len(node.args) == 1:
        return _steady(node.args[0])
    return isinstance(node.func, ast.Attribute) and node.func.attr in {"lower", "upper"} and _steady(node.func.value)


def _satisfied(one: _Asked, two: _Asked) -> bool:
    """Say whether some value may let both conditions hold."""
    tried: list[object] = [*one.tried, *two.tried]
    owners = {value.owner if isinstance(value, _Member) else "" for value in tried if value is not None}
    if len(owners) > 1:
        return True
    numbers = sorted({float(value) for value in tried if isinstance(value, int | float)})
    between: Sequence[float] = [(a + b) / 2 for a, b in pairwise(numbers)]
    ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
    return any(one.holds(value) and two.holds(value) for value in (*tried, *between, *ends, _OTHER))


def _rebound(one: _Asked, two: _Asked, body: ast.AST) -> bool:
    """Say whether something may give the expression another value between two conditions."""
    start, end = sorted((one.place, two.place))
    names = names_in(one.node)
    for node in own_nodes(body):  # type: ignore[arg-type]
        if start <= getattr(node, "lineno", 0) <= end:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and node.id in names:
                return True
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                if names_in(node.value) & names and not isinstance(one.node, ast.Name):
                    return True
    return False


def named_apart(one: Path, two: Path, body: ast.AST) -> bool:
    """Say whether two places stand under conditions that ask one name for different words, as those of environments:
    ``if "doors" in config["env_name"]: ...`` and ``if "rooms" in config["env_name"]: ...``.

    Args:
        one: the blocks around the place that is reached first.
        two: those around the other place.
        body: what both stand in.
    """
    first = [*_named(one)]
    return any(
        here.subject == other.subject
        and not any(
            a in b or b in a for a in here.tried for b in other.tried if isinstance(a, str) and isinstance(b, str)
        )
        and not _rebound(here, other, body)
        for here in _named(two)
        for other in first
    )


_KINDS = pattern(r"(^|_)(name|mode|kind|type|task|env|environment|dataset|method|algo|algorithm|arch|architecture|id)$")


def _named(path: Path) -> Iterator[_Asked]:
    """Yield the words that conditions around a place find in the name of something."""
    for block, arm in path:
        test = block.test if isinstance(block, ast.If | ast.IfExp) and arm == "body" else None
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.In):
            continue
        word, subject = test.left, test.comparators[0]
        if not isinstance(word, ast.Constant) or not isinstance(word.value, str) or not _steady(subject):
            continue
        named = subject
        while isinstance(named, ast.Call) and isinstance(named.func, ast.Attribute):
            named = named.func.value  # name.lower()
        key = named.slice if isinstance(named, ast.Subscript) else None
        text = key.value if isinstance(key, ast.Constant) else getattr(named, "attr", getattr(named, "id", ""))
        if isinstance(text, str) and _KINDS.search(text.lower()):
            yield _Asked(ast.unparse(subject), subject, test.lineno, (word.value,), lambda value: True)


def told_by_value(one: Path, two: Path, body: ast.AST) -> bool:
    """Say whether a place stands under a condition on a variable that a block around an earlier place gave another
    value, and nothing else since the constant that it began with, for which the condition holds.

    So it is with ``if resume: start = load(); use(key)`` and ``if start == 0: use(key)`` behind ``start = 0``.

    Args:
        one: the blocks around the place that is reached first.
        two: those around the other place.
        body: what both stand in.
    """
    asked = [one for one in _asked(two) if isinstance(one.node, ast.Name)]
    return any(_begun_and_given(each, one, body) for each in asked)


def _begun_and_given(asked: _Asked, path: Path, body: ast.AST) -> bool:
    """Say whether a variable has its last value from the blocks of a path wherever they are run, and before them a
    constant that a condition holds for."""
    name = names_in(asked.node)
    own = {statement for block, arm in path for statement in _statements(block, arm)}
    nodes = [n for n in own_nodes(body) if getattr(n, "lineno", asked.place) < asked.place]  # type: ignore[arg-type]
    stores = [n for n in nodes if isinstance(n, ast.Name) and n.id in name and not isinstance(n.ctx, ast.Load)]
    bound = [n for n in nodes if isinstance(n, ast.Assign) and any(one in stores for one in n.targets)]
    given = [n.lineno for n in bound if n in own and not _holds(asked, n.value)]
    begun = [n.lineno for n in bound if n not in own and _holds(asked, n.value)]
    if not given or not begun or len(given) + len(begun) != len(stores):
        return False
    return max(begun) < min(given)


def _holds(asked: _Asked, node: ast.expr) -> bool:
    """Say whether an expression is a constant that a condition holds for."""
    found = _constant(node)
    return bool(found) and asked.holds(found[0])


def _statements(block: ast.AST, arm: str) -> list[ast.stmt]:
    """Return the statements of a branch that is not run in every case."""
    return getattr(block, arm, []) if isinstance(block, ast.If) and arm in {"body", "orelse"} else []
