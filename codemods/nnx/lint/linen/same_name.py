"""NNX593: layers of one Linen method that have the same name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_linen, modules_of, wanted
from codemods.nnx.lint.syntax import constant, keyword


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if cls.scope.module.source.mentions(b"name=") and is_linen(context, cls):
            for method in cls.methods.values():
                yield from _twice(context, method)


def _twice(context: Context, method: FunctionFacts) -> Iterator[Finding]:
    """Yield the layers of a method whose name another one has, or they themselves in the next round of a loop."""
    first: dict[str, CallEvent] = {}
    for event in context.bodies.calls.get(method.scope, ()):
        given = keyword(event.node, "name")
        name = constant(given) if given is not None else None
        if not isinstance(name, str) or not wanted(context, event):
            continue
        if any(
            not isinstance(block, ast.For | ast.With)
            for block, _ in context.bodies.paths(method.scope).get(event.node, ())
        ):
            continue  # perhaps one of them alone is made
        if not modules_of(context, event.value, event.scope):
            continue
        again = _runs_again(event)
        if name in first or again:
            where = "in the next round of this loop" if again else f"in line {first[name].node.lineno}"
            yield finding(
                RULE.code,
                method.scope,
                event.node,
                f"a layer of the name `{name}` is made {where}: NameInUseError",
                'give each its own, f"layer_{i}", or none: then Linen counts them',
            )
        first.setdefault(name, event)


def _runs_again(event: CallEvent) -> bool:
    """Say whether a call runs in a loop that is not left in its first round."""
    loops = [loop for loop in event.loops if isinstance(loop, ast.For)]
    return bool(loops) and not any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(loops[-1]))


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.relu(nn.Dense(4, name="hidden")(x))
        return x


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX593",
    "linen-same-name",
    "two layers of a Linen module with one name",
    why="""\
The name of a layer is its place among the parameters. A second layer of that name raises a NameInUseError, and so does
the same line in the next round of a loop. Without names Linen counts: Dense_0, Dense_1, ...
""",
    source="Flax documentation of its errors; measured on Flax 0.10.7, 0.11.2 and 0.12.8: NameInUseError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace('"hidden"', 'f"hidden_{_}"'), _BAD.replace(', name="hidden"', "")),
)
