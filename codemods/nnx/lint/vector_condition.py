"""NNX760: a condition that is an array of several truth values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import COMPARED, ELEMENTWISE_LOSSES, UNKNOWN, Array, Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.literal_shape import shape_of
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import made, origin, own_stores
from codemods.nnx.lint.places import each, foreign, in_test, shown
from codemods.nnx.lint.syntax import argument, constant, is_none, keyword, names_in
from codemods.nnx.lint.variable_condition import variable_conditions
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value

_ELEMENTWISE = frozenset({"abs", "square", "sqrt", "exp", "log", "sin", "cos", "tanh", "isnan", "isfinite", "sign",
                          "logical_not", "logical_and", "logical_or", "negative", "greater", "less",
                          "maximum", "minimum", "log1p", "expm1", "where", "power", "add", "subtract", "multiply",
                         "divide", "relu", "sigmoid", "softplus", "log_sigmoid"})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for body in bodies(context):
        if body.role != "cond_fun" or body.init is None or body.event.scope.module not in context.asked:
            continue
        function = body.function
        if not body.free or len(function.returns) != 1 or function.generator:
            continue
        carry = function.params[body.free[0]]
        init = context.flow.resolve(context.flow.here(body.init, body.event.scope))
        given = _mapped(context, body.event.scope)
        before = Arrays(context, dict(given))
        if isinstance(init.value, Sequence) and isinstance(init.value.node, ast.Tuple):
            for i, item in enumerate(init.value.items):
                given[Item(carry, Const(i))] = before.of_bound(context.flow.follow(init, item))
        else:
            given[carry] = before.of_bound(init)
        node = getattr(function.returns[0], "node", None)
        if isinstance(node, ast.expr) and least_axes(context, node, function.scope, given) > 0:
            yield _found(function.scope, node, "while_loop", shown(function))
    yield from _python(context)
    for scope, test in variable_conditions(context):
        yield finding(
            RULE.code,
            scope,
            test,
            f"`{ast.unparse(test)}` is a Variable, whose truth is that of its length: of a single number a TypeError",
            f"ask for its value: {ast.unparse(test)}[...]",
        )
    for event, name in foreign(context, "cond"):
        if name in {"jax.lax.cond", "flax.nnx.cond"} and event.node.args:
            test = event.node.args[0]
            if least_axes(context, test, event.scope, _mapped(context, event.scope)) > 0:
                yield _found(event.scope, test, last(name), f"`{ast.unparse(test)}`")


def _python(context: Context) -> Iterator[Finding]:
    """Yield the decisions of Python about comparisons of arrays, outside of traced code; inside NNX820 speaks."""
    for scope, node in each(context, ast.If, ast.While, ast.IfExp, ast.Assert):
        if not isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            continue
        if scope.function in context.traced or in_test(scope) or _for_each(scope):
            continue
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        home, compared = _compared(context, test, scope)
        if isinstance(compared, ast.Compare) and least_axes(context, compared, home, _mapped(context, home)) > 0:
            if _asked_for(context, compared, home, node, scope) or not context.shared(_imported):
                continue
            if not context.bodies.guarded(node, scope) and not _one_element(context, compared, home):
                yield _found(scope, test, "Python", f"`{ast.unparse(test)}`")


def _imported(context: Context) -> bool:
    """Say whether a module of the project imports JAX, or what stands on it: others only name it."""
    names = {
        name.partition(".")[0]
        for module in context.project.modules
        for statement in module.imports
        for name in (
            [alias.name for alias in statement.names]
            if isinstance(statement, ast.Import)
            else [(statement.module or "") if not statement.level else ""]
        )
    }
    return bool(names & {"jax", "flax", "optax", "haiku", "equinox", "chex", "diffrax", "numpyro", "orbax"})


def _asked_for(context: Context, compared: ast.Compare, home: Scope, node: ast.stmt | ast.expr, scope: Scope) -> bool:
    """Say whether a condition around a decision, or one before it that leaves, asks for the type or the axes of an
    array that is compared: ``if isinstance(t, (int, float))``, ``if np.isscalar(t)``, ``if t.ndim == 0``."""
    mapped = _mapped(context, home)
    sides = [compared.left, *compared.comparators]
    names = {name for one in sides if least_axes(context, one, home, mapped) > 0 for name in names_in(one)}
    blocks = [block for block, arm in context.bodies.paths(scope).get(node, ()) if arm in {"body", "orelse"}]
    tests = (block.test for block in (*blocks, *context.bodies.behind(node, scope)) if isinstance(block, ast.If))
    return any(names & _told(part) for test in tests for part in ast.walk(test))


def _told(node: ast.AST) -> frozenset[str]:
    """Return the names in what asks for the type or the number of axes of something, or whether it is a single one."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and constant(node.comparators[0]) in (1, (), (1,)):
        counted = node.left
        if isinstance(counted, ast.Attribute) and counted.attr in {"size", "shape"}:
            return names_in(counted.value)
        if isinstance(counted, ast.Call) and last_word(counted.func) in {"len", "size", "shape"} and counted.args:
            return names_in(counted.args[0])
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        return names_in(node.value)
    if isinstance(node, ast.Call) and last_word(node.func) in _ASKING and node.args:
        return names_in(node.args[0])
    return frozenset()


_ASKING = frozenset({"isinstance", "issubclass", "type", "callable", "hasattr", "isscalar", "is_scalar", "ndim",
                     "iterable"})  # fmt: skip


def _for_each(scope: Scope) -> bool:
    """Say whether a function is called for each element of its arguments: ``numpy.vectorize``."""
    decorators = getattr(scope.node, "decorator_list", ())
    parts = (n for one in decorators for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute))
    return any(last_word(n) in {"vectorize", "frompyfunc", "njit", "guvectorize"} for n in parts)


def _one_element(context: Context, compared: ast.Compare, scope: Scope) -> bool:
    """Say whether all arrays of a comparison are of a shape such as (1,), which Python takes for a number."""
    parts: list[ast.expr] = [compared.left, *compared.comparators]
    while parts:
        node = parts.pop()
        if isinstance(node, ast.BinOp):
            parts += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            parts.append(node.operand)
        elif least_axes(context, node, scope, {}) > 0:
            value = scope.module.values.get(node)
            if isinstance(value, Unknown) and value.node is not node and isinstance(value.node, ast.expr):
                parts.append(value.node)
                continue
            if isinstance(value, Call) and value.args and last_word(value.node.func) in _ELEMENTWISE:
                parts += value.node.args
                continue
            if isinstance(value, Call) and _of_one(context, value.node, scope):
                continue
            if isinstance(node, ast.Subscript) and _row_of_one(context, node, scope):
                continue
            found = made(context, node, scope)
            shapes = [shape_of(context, one) for one in context.sources.originals(found)] if found is not None else []
            if not shapes or any(not shape or set(shape) != {1} for shape in shapes):
                return False
    return True


def _of_one(context: Context, call: ast.Call, scope: Scope) -> bool:
    """Say whether a call makes an array of the one element that it is given, for all that is known: ``array([n])``."""
    word, node = last_word(call.func), call.args[0] if call.args else None
    drawn = scope.module.values.get(call)
    if isinstance(drawn, Call):
        name = context.flow.calls.callee_name(context.flow.here(drawn, scope))
        place = 2 if word in {"randint", "uniform", "normal"} else 1
        if name.startswith("numpy.random.") and constant(argument(call, place, "size")) in (1, (1,)):
            return True
    if word == "reshape" and all(constant(size) == 1 for size in _sizes(call) or [call]):
        return True
    if word not in {"array", "asarray"} and word not in _WITH_AXIS:
        return False
    axes = 0
    while isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
        node, axes = node.elts[0], axes + 1
    if node is None or isinstance(node, ast.List | ast.Tuple | ast.Starred) or not (axes or word in _WITH_AXIS):
        return False
    return least_axes(context, node, scope, {}) == 0


def _row_of_one(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether an element is the one number of a row of a column: ``x[0]`` of ``x.reshape(-1, 1)``."""
    found = None if isinstance(node.slice, ast.Slice | ast.Tuple) else made(context, node.value, scope)
    columns = context.sources.originals(found) if found is not None else ()
    return bool(columns) and all(isinstance(one.value, Call) and _column(one.value.node) for one in columns)


def _column(call: ast.Call) -> bool:
    """Say whether a call makes an array of a shape such as (n, 1)."""
    sizes = _sizes(call)
    return len(sizes) > 1 and all(constant(size) == 1 for size in sizes[1:])


def _sizes(call: ast.Call) -> list[ast.expr]:
    """Return the sizes that are written out for a ``reshape``; none for another call."""
    if last_word(call.func) != "reshape" or not isinstance(call.func, ast.Attribute):
        return []
    sizes = call.args[1:] if last_word(call.func.value) in {"jnp", "np", "numpy"} else call.args
    return sizes[0].elts if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List) else sizes


_WITH_AXIS = frozenset({"atleast_1d", "atleast_2d", "expand_dims"})


def _compared(context: Context, test: ast.expr, scope: Scope) -> tuple[Scope, ast.AST | None]:
    """Return the comparison behind a condition, and the scope that it stands in."""
    value = scope.module.values.get(test)
    if isinstance(test, ast.Name) and isinstance(value, Unknown):
        return scope, value.node
    if not isinstance(test, ast.Name | ast.Attribute | ast.Subscript):
        return scope, test
    source: Bound | None = None
    if isinstance(value, Attr):
        stores = own_stores(context, value)
        source = stores[0] if len(stores) == 1 else None
    elif isinstance(value, Call | Item):
        value = origin(context, test, scope)
        source = context.flow.resolve(context.flow.here(value, scope)) if value is not None else None
    if source is None or not isinstance(source.value, Unknown):
        return scope, None
    return source.frame.function.scope if source.frame is not None else scope, source.value.node


def _mapped(context: Context, scope: Scope) -> dict[Value, Array]:
    """Return the parameters of traced functions around a place: of what their callers give ``vmap`` may take slices."""
    found: dict[Value, Array] = {}
    around: Scope | None = scope
    while around is not None:
        function = around.function
        if function is not None and function in context.traced and not _whole(context, function):
            found.update(dict.fromkeys(function.params.values(), UNKNOWN))
        around = around.parent
    return found


def _whole(context: Context, function: FunctionFacts) -> bool:
    """Say whether a traced function gets its arguments as they are given: it is only compiled or differentiated."""
    tracing = context.traced.get(function)
    if tracing is None or tracing.mapped or function in context.shared(batched):
        return False
    return bool(tracing.roots) and all(last(root.transform) in _WHOLE for root in tracing.roots)


_WHOLE = frozenset({"jit", "grad", "value_and_grad", "checkpoint", "remat"})


def _found(scope: Scope, node: ast.AST, word: str, what: str) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"{word} takes one truth value, and {what} gives one for each element",
        "reduce it with jnp.any or jnp.all; to choose for each element, use jnp.where",
    )


def _counts(node: ast.expr) -> bool:
    """Say whether an expression is a number of axes or elements, by the way it is written."""
    if isinstance(node, ast.Subscript):
        node = node.value
        return isinstance(node, ast.Attribute) and node.attr == "shape"
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, ast.Attribute) and node.attr in {"ndim", "size", "shape"}


# functions that take one axis away
_ALONG = frozenset(f"jax.numpy.{word}" for word in ("mean", "sum", "max", "min"))


def least_axes(context: Context, node: ast.expr, scope: Scope, given: Mapping[Value, Array]) -> int:
    """Return how many axes an expression has at least."""
    if _counts(node):
        return 0
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return 0
        return max(least_axes(context, part, scope, given) for part in (node.left, node.right))
    if isinstance(node, ast.Compare):
        if not all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq) for op in node.ops):
            return 0
        parts = (node.left, *node.comparators)
        if any(isinstance(part, ast.Constant) and not isinstance(part.value, int | float | complex) for part in parts):
            return 0  # arrays are not compared with texts
        if any(isinstance(part, ast.Attribute) and part.attr in {"shape", "dtype"} for part in parts):
            return 0  # nor with these
        return max(least_axes(context, part, scope, given) for part in parts)
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return least_axes(context, node.operand, scope, given)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        parts_ = node.slice.elts
        new = sum(is_none(part) for part in parts_)
        if new:  # what is sliced is an axis, too
            return new + sum(isinstance(part, ast.Slice) for part in parts_)
    value = scope.module.values.get(node)
    if isinstance(node, ast.Name) and isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        return max(least_axes(context, value.node, scope, given), Arrays(context, dict(given)).axes(value, scope))
    if isinstance(node, ast.Call) and value is not None:
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        word = last_word(node.func)
        if word in _ELEMENTWISE and name.startswith(("jax.numpy.", "jax.nn.")) and not node.keywords:
            return max((least_axes(context, part, scope, given) for part in node.args), default=0)
        axis = keyword(node, "axis")
        if name in _ALONG and len(node.args) == 1 and len(node.keywords) == 1 and type(constant(axis)) is int:
            return max(least_axes(context, node.args[0], scope, given) - 1, 0)
        if name.startswith("optax.") and word in ELEMENTWISE_LOSSES:
            named = [keyword.value for keyword in node.keywords if keyword.arg in COMPARED]
            return max((least_axes(context, part, scope, given) for part in (*node.args[:2], *named)), default=0)
    return Arrays(context, dict(given)).axes(value, scope) if value is not None else 0


RULE = lint_rule(
    "NNX760",
    "vector-condition",
    "a condition that is no single truth value",
    why="""\
`jax.lax.while_loop` and `cond` decide once, for all elements: a condition such as `jnp.abs(new - old) > tolerance` of
vectors raises a TypeError. `jnp.any(...)` or a norm makes one of it; `jnp.where` chooses element by element.
""",
    source="jax documentation of while_loop and cond; measured on JAX 0.6.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def solve(tolerance):
    def going(carry):
        old, new = carry
        return jnp.abs(old - new) > tolerance

    def body(carry):
        return carry[1], carry[1] * 0.5

    return jax.lax.while_loop(going, body, (jnp.ones(3), jnp.zeros(3)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def solve(tolerance):
    def going(carry):
        old, new = carry
        return jnp.max(jnp.abs(old - new)) > tolerance

    def body(carry):
        return carry[1], carry[1] * 0.5

    return jax.lax.while_loop(going, body, (jnp.ones(3), jnp.zeros(3)))
""",
    ),
)
