"""How many rounds loops have, and whether those are so few that compiling in each of them costs nobody much."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.places import callers_of, in_test, literal, written
from codemods.nnx.lint.syntax import assignments, constant, inside, is_none
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Unknown, Value

_FEW = 4  # rounds of a range
_WRITTEN = 12  # entries that stand there
_COUNTED_ALIKE = frozenset({"enumerate", "tqdm", "track", "sorted", "reversed", "list", "tuple", "iter"})
_WRAPPING = _COUNTED_ALIKE | {"zip", "trange"}
_COUNTING = frozenset({"range", "trange", "arange"})
_DEEP = 4  # how many sums and products within one another are worked out
_CACHES = frozenset({"functools.lru_cache", "functools.cache", "lru_cache", "cache", "cached_property"})
_VIEWS = frozenset({"items", "keys", "values"})
# what there are a handful of: each needs code of its own, on another device, of another shape or along another axis
_KINDS = pattern(
    r"(^|_)(devices?|backends?|platforms?|sizes?|shapes?|lengths?|ax[ei]s|dims?|dimensions?|ndims?|dtypes?|precisions?"
    r"|modes?|methods?|solvers?|variants?|configs?|cases|scenarios?|batch_?sizes|n_\w+s|num_\w+s)(_list|_values)?($|_?\d)"
)


def few(context: Context, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a loop has few rounds: over what is written there, a small range, devices, sizes or axes.

    Args:
        context: the analysis.
        scope: the scope that the loop stands in.
        loop: the loop; a ``while`` has unknown rounds.
    """
    return isinstance(loop, ast.For | ast.comprehension) and _few(context, scope, loop.iter)


def _few(context: Context, scope: Scope, given: ast.expr) -> bool:
    if isinstance(given, ast.Tuple | ast.List | ast.Set):
        return len(given.elts) <= _WRITTEN and not any(isinstance(one, ast.Starred) for one in given.elts)
    if isinstance(given, ast.Dict):
        return len(given.keys) <= _WRITTEN and None not in given.keys
    if isinstance(given, ast.Name | ast.Attribute):
        if _KINDS.search(last_word(given).lower()):
            return True
        made = written(context, given, scope)
        return (
            made is not given and isinstance(constant(made), tuple | list | dict | set) and _few(context, scope, made)
        )
    if not isinstance(given, ast.Call):
        return False
    word = last_word(given.func)
    if word in _COUNTING:
        ends = [_number(context, scope, one) for one in given.args]
        if len(ends) in {1, 2} and None not in ends:
            return (ends[-1] or 0) - (ends[0] or 0 if len(ends) == 2 else 0) <= _FEW
        return len(ends) == 1 and _of_kinds(given.args[0])
    if word in _VIEWS and isinstance(given.func, ast.Attribute):
        return _few(context, scope, given.func.value)
    if word in {"devices", "local_devices"}:
        return True
    return word in _WRAPPING and any(_few(context, scope, one) for one in given.args)


def _number(context: Context, scope: Scope, node: ast.expr) -> int | None:
    number = literal(context, node, scope)
    return number if type(number) is int else None


def _of_kinds(node: ast.expr) -> bool:
    """Say whether a count is that of axes or devices, or of what has a name like them: ``range(x.ndim)``."""
    counted = node.args[0] if isinstance(node, ast.Call) and last_word(node.func) == "len" and node.args else node
    return last_word(counted).lower() in {"ndim", "ndims", "dimensionality", "dim", "dims"} or (
        counted is not node and bool(_KINDS.search(last_word(counted).lower()))
    )


def looped(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is called, and in loops of many rounds only; one that keeps its results is not.

    Args:
        context: the analysis.
        function: the function.
    """
    if cached(function):
        return False
    callers = [caller for caller in callers_of(context, function) if not in_test(caller.scope)]
    return bool(callers) and all(
        any(isinstance(loop, ast.For | ast.While) and not few(context, caller.scope, loop) for loop in caller.loops)
        for caller in callers
    )


def cached(function: FunctionFacts) -> bool:
    """Say whether a decorator keeps what a function gives, so that calls with equal arguments run it once."""
    return any(_word(value) in _CACHES for value in function.decorators)


def _word(decorator: Value) -> str:
    value = decorator.callee if isinstance(decorator, Call) else decorator
    return str(getattr(value, "name", ""))


def latched(context: Context, node: ast.AST, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a node runs in one round of a loop alone, as ``if f is None: f = ...`` and ``if not done: ...`` say.

    Args:
        context: the analysis.
        node: the node.
        scope: the scope that it stands in.
        loop: the loop.
    """
    for block, arm in context.bodies.paths(scope).get(node, ()):
        if not isinstance(block, ast.If) or arm != "body" or not inside(block, loop):
            continue
        set_here = [pair for statement in block.body for n in ast.walk(statement) for pair in assignments(n)]
        for latch, closed in _latches(block.test):
            closing = [value for target, value in set_here if ast.unparse(target) == latch]
            stores = sum(ast.unparse(target) == latch for n in ast.walk(loop) for target, _ in assignments(n))
            if closing and len(closing) == stores and all(map(closed, closing)):
                return True
    return False


def _latches(test: ast.expr) -> Iterator[tuple[str, Callable[[ast.expr], bool]]]:
    """Yield what has to be false, true or None for a test to hold, each with what says whether a value ends that."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _latches(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield ast.unparse(test.operand), lambda value: bool(constant(value)) or isinstance(value, ast.Call)
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and is_none(test.comparators[0]):
        yield ast.unparse(test.left), lambda value: not is_none(value)
    elif isinstance(test, ast.Name | ast.Attribute):
        yield ast.unparse(test), lambda value: isinstance(value, ast.Constant) and not value.value


def rounds_at_most(context: Context, scope: Scope, loops: Sequence[ast.AST]) -> int | None:
    """Return how many rounds loops in one another have together; None if that is not known of each.

    Args:
        context: the analysis.
        scope: the scope that the loops stand in.
        loops: the loops.
    """
    product = 1
    for loop in loops:
        given = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
        while isinstance(given, ast.Call) and last_word(given.func) in _COUNTED_ALIKE and given.args:
            given = given.args[0]
        if isinstance(given, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in given.elts):
            product *= len(given.elts)
            continue
        if not isinstance(given, ast.Call) or last_word(given.func) not in _COUNTING or given.keywords:
            return None
        ends = [_sum(context, scope, one, 0) for one in given.args[:2]]
        if not ends or None in ends or len(given.args) > 2:
            return None
        product *= max((ends[-1] or 0) - (ends[0] or 0 if len(ends) == 2 else 0), 0)
    return product


def _sum(context: Context, scope: Scope, node: ast.expr, depth: int) -> int | None:
    """Return a whole number that is written, or made of such numbers: ``EXAMPLES // BATCH + 1``."""
    number = _number(context, scope, node)
    if number is not None or depth > _DEEP:
        return number
    if isinstance(node, ast.Name):
        value = scope.module.values.get(node)
        found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
        made = found.node if isinstance(found, Unknown) else None
        return _sum(context, scope, made, depth + 1) if isinstance(made, ast.BinOp) else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = (_sum(context, scope, part, depth + 1) for part in (node.left, node.right))
    if left is None or right is None:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right if right else None
    return None
