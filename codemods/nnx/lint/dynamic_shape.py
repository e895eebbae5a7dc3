"""NNX823: a traced value as a shape or an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.between import compiling_roots
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import of_array, shown, traced_bodies, traced_calls
from codemods.nnx.lint.status import Grade
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import elements
from codemods.nnx.values import Unknown

# functions by the positions and the names of the arguments that are shapes or lengths
# methods of arrays whose first argument is an axis
_OVER_AXIS = frozenset(
    {"sum", "mean", "min", "max", "prod", "std", "var", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "sort",
     "argsort", "squeeze"}
)  # fmt: skip
_LAST = 9  # behind all that is passed by position
_SHAPES: dict[str, tuple[tuple[int, str], ...]] = {
    **{f"jax.numpy.{name}": ((0, "shape"),) for name in ("zeros", "ones", "empty", "full")},
    "jax.numpy.eye": ((0, "N"), (1, "M")),
    "jax.numpy.tri": ((0, "N"), (1, "M")),
    "jax.numpy.identity": ((0, "n"),),
    "jax.numpy.arange": ((0, "start"), (1, "stop"), (2, "step")),
    "jax.numpy.linspace": ((2, "num"),),
    "jax.numpy.reshape": ((1, "shape"),),
    "jax.numpy.broadcast_to": ((1, "shape"),),
    "jax.numpy.tile": ((1, "reps"),),
    "jax.numpy.split": ((1, "indices_or_sections"),),
    "jax.numpy.array_split": ((1, "indices_or_sections"),),
    "jax.numpy.pad": ((1, "pad_width"),),
    "jax.nn.one_hot": ((1, "num_classes"),),
    "flax.nnx.one_hot": ((1, "num_classes"),),
    "jax.lax.top_k": ((1, "k"),),
    "jax.lax.iota": ((1, "size"),),
    "jax.lax.dynamic_slice": ((2, "slice_sizes"),),
    "jax.lax.dynamic_slice_in_dim": ((2, "slice_size"),),
    **{
        f"jax.random.{name}": ((1, "shape"),)
        for name in ("normal", "uniform", "bits", "gumbel", "randint", "exponential", "laplace", "cauchy")
    },
    **{f"jax.random.{name}": ((2, "shape"),) for name in ("bernoulli", "choice", "gamma", "poisson")},
    **{f"jax.random.{name}": ((1, "shape"),) for name in ("rademacher", "logistic")},
    **{f"jax.random.{name}": ((3, "shape"),) for name in ("truncated_normal", "beta", "multivariate_normal")},
    "jax.random.dirichlet": ((2, "shape"),),
    "jax.random.ball": ((1, "d"), (3, "shape")),
    "jax.random.orthogonal": ((1, "n"), (2, "shape")),
    "jax.random.split": ((1, "num"),),
    "jax.lax.scan": ((3, "length"),),
    **{f"jax.ops.segment_{name}": ((2, "num_segments"),) for name in ("sum", "max", "min", "prod")},
    "jax.numpy.repeat": ((2, "axis"), (3, "total_repeat_length")),
    "jax.numpy.bincount": ((3, "length"),),
    **{f"jax.numpy.{name}": ((_LAST, "size"),) for name in ("unique", "nonzero", "flatnonzero", "argwhere", "where")},
    **{f"jax.numpy.{name}": ((_LAST, "shape"),) for name in ("zeros_like", "ones_like", "full_like")},
    "jax.numpy.indices": ((0, "dimensions"),),
    "jax.numpy.geomspace": ((2, "num"),),
    "jax.numpy.logspace": ((2, "num"),),
    "jax.numpy.tril_indices": ((0, "n"), (1, "k"), (2, "m")),
    "jax.numpy.triu_indices": ((0, "n"), (1, "k"), (2, "m")),
    "jax.lax.broadcasted_iota": ((1, "shape"),),
    "jax.lax.broadcast": ((1, "sizes"),),
    "jax.lax.full": ((0, "shape"),),
    "jax.image.resize": ((1, "shape"),),
    **{f"jax.numpy.fft.{name}": ((1, "n"),) for name in ("fft", "ifft", "rfft", "irfft")},
    "jax.numpy.roll": ((2, "axis"),),
    "jax.numpy.take": ((2, "axis"),),
    "jax.numpy.take_along_axis": ((2, "axis"),),
    "jax.numpy.linalg.norm": ((2, "axis"),),
    "jax.scipy.special.logsumexp": ((1, "axis"),),
    "jax.numpy.expand_dims": ((1, "axis"),),
    "jax.numpy.concatenate": ((1, "axis"),),
    "jax.numpy.stack": ((1, "axis"),),
    "jax.numpy.swapaxes": ((1, "axis1"), (2, "axis2")),
    "jax.numpy.moveaxis": ((1, "source"), (2, "destination")),
    "jax.numpy.transpose": ((1, "axes"),),
    "jax.nn.softmax": ((1, "axis"),),
    "jax.nn.log_softmax": ((1, "axis"),),
    "jax.nn.logsumexp": ((1, "axis"),),
    **{
        f"jax.numpy.{name}": ((1, "axis"),)
        for name in _OVER_AXIS | {"count_nonzero", "flip", "median", "nanmean", "nansum"}
    },
    **{f"jax.lax.{name}": ((1, "axes"),) for name in ("reduce_sum", "reduce_max")},
}


def _check(context: Context) -> Iterator[Finding]:
    told: set[tuple[Scope, int]] = set()  # a chain of calls, as jnp.arange(n).reshape(n, 1), has one cause
    for event, name in traced_calls(context, level=0):
        for argument in _shape_arguments(context, event, name):
            if _traced(context, argument, event):
                if (event.scope, argument.lineno) not in told:
                    told.add((event.scope, argument.lineno))
                    yield _found(context, event, name, argument)
                break
    for function, _ in traced_bodies(context, level=0):
        lines: set[int] = set()
        causes: dict[tuple[frozenset[str], str], list[ast.Subscript]] = {}
        for node in context.bodies.nodes(function.scope):
            if not isinstance(node, ast.Subscript) or node.lineno in lines:
                continue
            if _sliced(context, node, function.scope):
                lines.add(node.lineno)
                cause = _traced_in(context, node.slice, function.scope), _known_length(node)
                causes.setdefault(cause, []).append(node)
        for first, *rest in causes.values():
            yield finding(
                RULE.code,
                function.scope,
                first,
                "the ends of a slice have to be known while compiling, and here one is traced",
                _slice_help(first),
                related=[(other, "so it is here") for other in rest],
            )


def _traced_in(context: Context, node: ast.expr, scope: Scope) -> frozenset[str]:
    """Return the traced variables that an expression is made of, also by way of sums and products that have a name."""
    found: set[str] = set()
    pending: list[ast.expr] = [node]
    seen: set[ast.AST] = set()
    while pending:
        for n in ast.walk(pending.pop()):
            if not isinstance(n, ast.Name) or n in seen:
                continue
            seen.add(n)
            value = scope.module.values.get(n)
            made = value.node if isinstance(value, Unknown) else None
            if isinstance(made, ast.BinOp):
                pending.append(made)
            elif context.taint.node(n, scope):
                found.add(n.id)
    return frozenset(found)


def told_of_shapes(context: Context, scope: Scope) -> frozenset[str]:
    """Return the traced variables of a body that this rule wants to be static, since they are shapes or axes."""
    return frozenset(
        n.id
        for event in context.bodies.calls.get(scope, ())
        for argument in _shape_arguments(context, event, context.flow.calls.name(event))
        if _traced(context, argument, event)
        for n in ast.walk(argument)
        if isinstance(n, ast.Name) and context.taint.node(n, scope)
    )


def sliced_with(context: Context, node: ast.AST, scope: Scope) -> frozenset[str]:
    """Return the traced variables in the ends of slices within a node, which this rule tells of."""
    return frozenset(
        n.id
        for one in ast.walk(node)
        if isinstance(one, ast.Subscript) and _sliced(context, one, scope)
        for n in ast.walk(one.slice)
        if isinstance(n, ast.Name) and context.taint.node(n, scope)
    )


def _known_length(node: ast.Subscript) -> str:
    """Return the length of a slice such as ``x[i : i + n]``; empty for others."""
    parts = elements(node.slice)
    part = next((one for one in parts if isinstance(one, ast.Slice)), None)
    if part is not None and part.lower is not None and isinstance(part.upper, ast.BinOp):
        if isinstance(part.upper.op, ast.Add) and ast.dump(part.upper.left) == ast.dump(part.lower):
            return ast.unparse(part.upper.right)
    return ""


def _slice_help(node: ast.Subscript) -> str:
    """Return what to write: the start may be traced where the length is known."""
    parts = elements(node.slice)
    part = next((one for one in parts if isinstance(one, ast.Slice)), None)
    length = _known_length(node) or "length"
    if part is not None and part.lower is None:
        return "use a mask, as jnp.where(jnp.arange(len(x)) < end, x, 0), or make the end static (static_argnames)"
    start = ast.unparse(part.lower) if part is not None and part.lower is not None else "start"
    return (
        f"a start may be traced if the length is known: jax.lax.dynamic_slice_in_dim(x, {start}, {length}); "
        "otherwise use a mask"
    )


def _sliced(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether an end of a slice is traced: whatever is sliced wants a number."""
    for part in elements(node.slice):
        ends = [end for end in (part.lower, part.upper, part.step) if end] if isinstance(part, ast.Slice) else []
        for end in ends:
            if isinstance(end, ast.Constant):
                continue
            if context.taint.array(end, scope):
                return True
            if context.taint.node(end, scope) and context.taint.node(node.value, scope):
                return True
    return False


def _shape_arguments(context: Context, event: CallEvent, name: str) -> Iterator[ast.expr]:
    node = event.node
    if name in _SHAPES:
        for position, word in _SHAPES[name]:
            if position < len(node.args):
                yield node.args[position]
            named = keyword(node, word)
            if named is not None:
                yield named
    elif not name and isinstance(node.func, ast.Attribute) and of_array(context, node.func, event.scope):
        if node.func.attr == "reshape" and context.taint.node(node.func.value, event.scope):
            yield from node.args
        elif _whole(node.func) and context.taint.node(node.func.value, event.scope):
            yield from node.args[:1]
            named = keyword(node, "axis")
            if named is not None:
                yield named


def _whole(func: ast.Attribute) -> bool:
    """Say whether a method reduces or orders an array over an axis; ``x.at[i].min(value)`` sets items."""
    base = func.value
    at = isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute) and base.value.attr == "at"
    return func.attr in _OVER_AXIS and not at


def _traced(context: Context, argument: ast.expr, event: CallEvent) -> bool:
    if isinstance(argument, ast.Tuple | ast.List):
        return any(context.taint.node(part, event.scope) for part in argument.elts if not isinstance(part, ast.Starred))
    return context.taint.node(argument, event.scope) or any(
        status.grade is Grade.CONTAINER and status.holds for status in context.taint.at(argument, event.scope)
    )


def _found(context: Context, event: CallEvent, name: str, argument: ast.expr) -> Finding:
    twice = next((word for at, word in _SHAPES.get(name, ()) if _is_twice(event.node, at, word, argument)), "")
    if twice:
        return finding(
            RULE.code,
            event.scope,
            argument,
            f"`{twice}` is given twice, by this place and by its name: `{last(name)}` raises a TypeError",
            "leave one of them out",
        )
    return finding(
        RULE.code,
        event.scope,
        argument,
        "a shape or axis has to be known while compiling, and this value is traced",
        f"make the argument{_compiled(context, event.scope)} static (static_argnames), or take the shape from an array",
    )


def _is_twice(call: ast.Call, at: int, word: str, argument: ast.expr) -> bool:
    """Say whether a call gives an argument by its place, where that stands, and by its name as well."""
    return at < len(call.args) and call.args[at] is argument and keyword(call, word) is not None


def _compiled(context: Context, scope: Scope) -> str:
    """Return which function is compiled where that is not the one of the place, for which another one calls it."""
    function = scope.function
    compiled = {root.function for root in compiling_roots(context, function)} if function is not None else set()
    if len(compiled) != 1 or function in compiled:
        return ""
    other = compiled.pop()
    module = other.scope.module
    where = "" if module is scope.module else f" of {module.source.file_name}"
    return f" of {shown(other)}, line {other.node.lineno}{where}," if other.name != "<lambda>" else ""


RULE = lint_rule(
    "NNX823",
    "dynamic-shape",
    "a shape, length, axis or slice depends on a traced value",
    why="""\
All shapes are fixed when a function is compiled. A traced value as a shape or an axis raises a TypeError, as the end of
a slice an IndexError.
""",
    source="JAX tutorial, section on static shapes; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def empty(n):
    return jnp.zeros((n,))
""",
        """\
import jax


@jax.jit
def smallest(x, axis):
    return x.min(axis)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def empty(x):
    return jnp.zeros((x.shape[0],)) + jnp.arange(len(x)) + x.reshape(-1)[: x.size // 2]
""",
    ),
)
