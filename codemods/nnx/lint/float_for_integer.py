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

# functions that need integers: the places of these
_PLACES: dict[str, tuple[int, ...]] = {
    "builtins.range": (0, 1, 2),
    "jax.numpy.zeros": (0,),
    "jax.numpy.ones": (0,),
    "jax.numpy.full": (0,),
    "jax.random.split": (1,),
    "jax.random.normal": (1,),
    "jax.random.uniform": (1,),
    "jax.lax.switch": (0,),
    "flax.nnx.switch": (0,),
    "jax.nn.one_hot": (1,),
    "jax.numpy.split": (1,),
    "jax.numpy.repeat": (1,),
}
_STATIC = frozenset({"shape", "ndim", "size"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *sorted({last(one) for one in _PLACES})):
        for place in _PLACES.get(name, ()):
            if place >= len(event.node.args) or context.bodies.guarded(event.node, event.scope):
                continue
            given = event.node.args[place]
            for node in given.elts if isinstance(given, ast.Tuple | ast.List) else [given]:
                switch = name.endswith("switch") and _float_array(context, node, event.scope)
                if switch or _quotient(context, node, event.scope):
                    yield _found(event.scope, node, f"`{last(name)}` needs an integer")
    for scope, inner in each(context, ast.Subscript):
        for part in _bounds(inner.slice):
            sliced = isinstance(inner.slice, ast.Slice)
            if not _quotient(context, part, scope) or context.bodies.guarded(inner, scope):
                continue
            if sliced or _is_array(context, inner.value, scope):
                yield _found(scope, part, "an index is an integer")


def _found(scope: Scope, node: ast.expr, what: str) -> Finding:
    return finding(
        RULE.code, scope, node, f"{what}, and `{ast.unparse(node)}` is a float", "divide by //, or convert it: int(...)"
    )


def _bounds(node: ast.expr) -> list[ast.expr]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    bounds = [b for p in parts if isinstance(p, ast.Slice) for b in (p.lower, p.upper, p.step) if b is not None]
    return bounds + [p for p in parts if not isinstance(p, ast.Slice)]


def _quotient(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a quotient of sizes and integers, by a name of it too: always a float of Python."""
    if isinstance(node, ast.Name):
        values = scope.bindings.get(node.id, ())  # asked first, for a name stands in every other index
        if not any(isinstance(getattr(value, "node", None), ast.BinOp) for value in values):
            return False
        made = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)]  # fmt: skip
        stored = [n for n in context.bodies.nodes(scope)
                  if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)]  # fmt: skip
        if scope.function is not None and node.id in scope.function.params:
            return False
        return len(made) == len(stored) == 1 and _divides(made[0].value)
    return _divides(node)


def _divides(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and all(map(_sized, (node.left, node.right)))


def _sized(node: ast.expr) -> bool:
    """Say whether an expression is an integer or the size of something."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp):
        return _sized(node.left) and _sized(node.right)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr in _STATIC


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
