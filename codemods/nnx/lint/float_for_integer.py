"""NNX764: a quotient where an integer is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import FLOAT, Arrays, made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Attr, Item

# functions that need integers: the places of these
_PLACES: dict[str, tuple[int, ...]] = {
    "builtins.range": (0, 1, 2),
    "jax.numpy.zeros": (0,),
    "jax.numpy.ones": (0,),
    "jax.numpy.empty": (0,),
    "jax.numpy.full": (0,),
    "jax.numpy.reshape": (1,),
    "jax.numpy.broadcast_to": (1,),
    "jax.random.split": (1,),
    "jax.random.normal": (1,),
    "jax.random.uniform": (1,),
    "jax.lax.switch": (0,),
    "flax.nnx.switch": (0,),
    "jax.nn.one_hot": (1,),
    "jax.numpy.repeat": (1,),
    "flax.nnx.Linear": (0, 1),
    "flax.nnx.Embed": (0, 1),
    "flax.linen.Dense": (0,),
}
_STATIC = frozenset({"shape", "ndim", "size"})

#: What makes arrays of what stands in brackets, with steps of any size.
_MAKING = frozenset({"r_", "c_", "mgrid", "ogrid"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *sorted({last(one) for one in _PLACES})):
        for place in _PLACES.get(name, ()):
            if place >= len(event.node.args) or context.bodies.guarded(event.node, event.scope):
                continue
            given = event.node.args[place]
            for node in elements(given, lists=True):
                switch = name.endswith("switch") and _float_array(context, node, event.scope)
                if switch or _quotient(context, node, event.scope, alone=True):
                    yield _found(event.scope, node, f"`{last(name)}` needs an integer")
    yield from _reshaped(context)
    for scope, inner in each(context, ast.Subscript):
        for part in _bounds(inner.slice):
            word = last_word(inner.value)
            if word in _MAKING:
                continue
            sliced = isinstance(inner.slice, ast.Slice) and word != "loc"  # by labels
            if not _quotient(context, part, scope) or context.bodies.guarded(inner, scope):
                continue
            if sliced or _is_array(context, inner.value, scope):
                yield _found(scope, part, "an index is an integer")


def _reshaped(context: Context) -> Iterator[Finding]:
    """Find the parts of the shape that a method ``reshape`` gets."""
    for event in context.bodies.named("reshape"):
        if not isinstance(event.node.func, ast.Attribute) or context.flow.calls.name(event) == "jax.numpy.reshape":
            continue
        parts = event.node.args
        if len(parts) == 1 and isinstance(parts[0], ast.Tuple | ast.List):
            parts = parts[0].elts
        for node in parts:
            if _quotient(context, node, event.scope) and not context.bodies.guarded(event.node, event.scope):
                yield _found(event.scope, node, "`reshape` needs integers")


def _found(scope: Scope, node: ast.expr, what: str) -> Finding:
    return finding(
        RULE.code, scope, node, f"{what}, and `{ast.unparse(node)}` is a float", "divide by //, or convert it: int(...)"
    )


def _bounds(node: ast.expr) -> list[ast.expr]:
    parts = elements(node)
    bounds = [b for p in parts if isinstance(p, ast.Slice) for b in (p.lower, p.upper, p.step) if b is not None]
    return bounds + [p for p in parts if not isinstance(p, ast.Slice)]


def _quotient(context: Context, node: ast.expr, scope: Scope, alone: bool = False) -> bool:
    """Say whether an expression is a quotient of sizes and integers, by a name of it too: always a float of Python.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
        alone: whether nothing but an integer will do in its place, so that any quotient by an integer is none.
    """
    if isinstance(node, ast.Name):
        made = _bound_once(context, node.id, scope)
        return isinstance(made, ast.BinOp) and _divides(context, made, scope, alone)
    return _divides(context, node, scope, alone)


def _bound_once(context: Context, name: str, scope: Scope) -> ast.expr | None:
    """Return what the only assignment of a variable gives it."""
    values = scope.bindings.get(name, ())  # asked first, for a name stands in every other index
    if len(values) != 1 or (scope.function is not None and name in scope.function.params):
        return None
    stored = context.bodies.stores(scope, name)
    if len(stored) != 1:
        return None
    for made in context.bodies.nodes(scope):
        if isinstance(made, ast.Assign) and stored[0] in made.targets:
            return made.value
    return None


def _divides(context: Context, node: ast.expr, scope: Scope, alone: bool) -> bool:
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return any(
            _divides(context, one, scope, False) and _sized(context, other, scope)
            for one, other in ((node.left, node.right), (node.right, node.left))
        )
    if not isinstance(node.op, ast.Div):
        return False
    if _of_size(context, node.left, scope) or all(_sized(context, n, scope) for n in (node.left, node.right)):
        return True
    return alone and isinstance(node.right, ast.Constant) and type(node.right.value) is int


def _of_size(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the size of something, or a product with one."""
    if isinstance(node, ast.BinOp):
        return _sized(context, node, scope) and any(_of_size(context, n, scope) for n in (node.left, node.right))
    return not isinstance(node, ast.Constant) and _sized(context, node, scope)


def _sized(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an integer or the size of something, by a name of it too."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp):
        return _sized(context, node.left, scope) and _sized(context, node.right, scope)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Name):
        return _named_size(context, node, scope)
    if isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr in _STATIC


def _named_size(context: Context, node: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is bound once, to a size or a part of a shape."""
    values = scope.bindings.get(node.id, ())
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Item):
        base = value.base
        return isinstance(base, Attr) and base.name == "shape"
    made = _bound_once(context, node.id, scope)
    return made is not None and not isinstance(made, ast.Name | ast.Constant) and _sized(context, made, scope)


def _float_array(context: Context, node: ast.expr, scope: Scope) -> bool:
    value = scope.module.values.get(node)
    return value is not None and Arrays(context, {}).of(value, scope).number == FLOAT


def _is_array(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a value is no dict: an array, or something that has a shape."""
    value = scope.module.values.get(node)
    if made_by_jax(context, value, scope):
        return True
    return isinstance(node, ast.Name) and any(
        isinstance(n, ast.Attribute) and n.attr in {"shape", "ndim"} and ast.dump(n.value) == ast.dump(node)
        for n in context.bodies.nodes(scope)
    )


RULE = lint_rule(
    "NNX764",
    "float-for-integer",
    "a quotient for a size, an index or a branch",
    why="""\
`x.shape[0] / 2` is a float, of even numbers too. As an index, the bound of a slice, a size or the number of a branch of
`lax.switch` it raises a TypeError. `//` gives an integer.
""",
    source="Stack Overflow, indexer must have integer or boolean type; measured on JAX 0.6.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def first_half(x):
    return x[: x.shape[0] / 2]
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def first_half(x):
    return x[: x.shape[0] // 2]
""",
    ),
)
