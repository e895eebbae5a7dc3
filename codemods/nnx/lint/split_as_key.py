"""NNX899: all the keys of a split where one key is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import Use, uses
from codemods.nnx.lint.names import last
from codemods.nnx.values import Call, Function


def _check(context: Context) -> Iterator[Finding]:
    for (scope, key), found in context.shared(uses).items():
        if scope.module not in context.asked or not isinstance(key, Call) or not key.args:
            continue
        if context.flow.calls.callee_name(context.flow.here(key, scope)) != "jax.random.split":
            continue
        use = next((u for u in found if _direct(context, u)), None)
        if use is not None and not context.bodies.guarded(use.event.node, scope):
            yield finding(
                RULE.code,
                scope,
                use.event.node,
                f"`{scope.module.source.text(use.node)}` is all the keys of a split, and `{last(use.name)}` takes one",
                "take one of them, keys[0], or draw for all of them by jax.vmap",
            )


def _direct(context: Context, use: Use) -> bool:
    """Say whether a function is called as it is, and not what a transform made of it."""
    if not use.helper:
        return True
    callee = context.flow.follow(context.flow.here(use.event.value, use.event.scope), use.event.value.callee)
    return isinstance(callee.value, Function) and not callee.value.facts.decorators


RULE = lint_rule(
    "NNX899",
    "split-as-key",
    "all the keys of a split are used as one key",
    why="""\
`jax.random.split` gives an array of keys. Samplers take one, and raise for more: `keys[0]`, unpacking, or `jax.vmap`
over the keys is meant.
""",
    source="jax issues; measured on JAX 0.6.2 and 0.10.2: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax

keys = jax.random.split(jax.random.key(0))
x = jax.random.normal(keys, (3,))
""",
    ),
    clean=(
        """\
import jax

keys = jax.random.split(jax.random.key(0))
x = jax.random.normal(keys[0], (3,))
y = jax.vmap(jax.random.normal)(keys)
""",
    ),
)
