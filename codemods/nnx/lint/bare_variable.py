"""NNX677: Variables given as they are to functions of jax.lax, which take arrays alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Attr, Param, Value

# what refuses an object with __jax_array__ in any place of an array, as measured; jax.numpy takes them, and so do the
# other functions of jax.nn
_LAX = frozenset(
    {
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "batch_matmul", "bessel_i0e",
        "bessel_i1e", "cbrt", "ceil", "clamp", "complex", "conj", "conv", "cos", "cosh", "cumlogsumexp", "cummax",
        "cummin", "cumprod", "cumsum", "digamma", "div", "dot", "dot_general", "eq", "erf", "erf_inv", "erfc", "exp",
        "exp2", "expm1", "floor", "ge", "gt", "is_finite", "le", "lgamma", "log", "log1p", "logistic", "lt", "max",
        "min", "mul", "ne", "neg", "nextafter", "pow", "reciprocal", "rem", "round", "rsqrt", "select", "sign", "sin",
        "sinh", "sort", "sqrt", "square", "sub", "tan", "tanh",
    }
)  # fmt: skip
_SIGMOIDS = frozenset({"jax.nn.sigmoid", "flax.nnx.sigmoid", "flax.nnx.nn.activations.sigmoid"})
_ARRAYS = 3  # arguments that may be arrays


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"nnx") for module in context.asked.modules):
        return
    for event, name in foreign(context, "sigmoid", *sorted(_LAX)):
        home, _, word = name.rpartition(".")
        if name not in _SIGMOIDS and not (home == "jax.lax" and word in _LAX):
            continue
        nodes = [*event.node.args[:_ARRAYS], *(k.value for k in event.node.keywords)]
        for node in nodes:
            value = event.scope.module.values.get(node)
            if value is None or not _may_hold(value, node):
                continue
            if context.kinds.only(context.flow.here(value, event.scope)) is not Kind.VARIABLE:
                continue
            if context.bodies.guarded(event.node, event.scope):
                continue
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{name}` takes arrays alone, and `{ast.unparse(node)}` is a Variable: TypeError, since JAX 0.10 "
                "ValueError",
                f"give it the array: {ast.unparse(node)}[...]",
            )
            break


def _may_hold(value: Value, node: ast.expr) -> bool:
    """Say at a glance whether an argument may be a Variable: an attribute with another name than that of its array."""
    if isinstance(value, Attr):
        return value.name not in {"value", "raw_value", "T", "shape"}
    return isinstance(node, ast.Name) and not isinstance(value, Param)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Gated(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs):
        self.gate = nnx.Param(jnp.zeros(width))
        self.linear = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        return x + jax.nn.sigmoid(self.gate) * self.linear(x)


model = Gated(3, nnx.Rngs(0))
print(model(jnp.ones((2, 3))))
"""

RULE = lint_rule(
    "NNX677",
    "variable-for-array",
    "jax.nn.sigmoid or a function of jax.lax with an nnx.Param or another Variable itself",
    why="""\
Variables behave as arrays in arithmetic, and `jax.numpy` takes them. The functions of `jax.lax`, and `jax.nn.sigmoid`,
which is `jax.lax.logistic` under `jax.jit`, do not: a TypeError on JAX 0.6 and 0.7, a ValueError on 0.10. The other
activations of `jax.nn` take Variables. `self.gate[...]` is the array.
""",
    source="flax issue 4759, jax issue 28937; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(self.gate)", "(self.gate[...])"), _BAD.replace("jax.nn.sigmoid(", "jax.nn.silu(")),
)
