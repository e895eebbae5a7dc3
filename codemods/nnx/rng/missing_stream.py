"""NNX207: a Rngs without the stream that a layer takes when it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.swallowing import EXPECTING
from codemods.nnx.nodes import last_word
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.origins import Origin
from codemods.nnx.rule import Example, Kind, Rule


def check(context: Context) -> Iterator[Finding]:
    """Yield every ``nnx.Rngs`` that lacks the stream of a layer."""
    if not context.options.crosses("0.11"):
        return
    for origin in rng_analysis(context).made_in(context.asked):
        needed = {k.layer.stream: k.layer.name.rpartition(".")[2] for k in origin.kept if k.layer.stream is not None}
        missing = sorted(stream for stream in needed if origin.source_of(stream) is None)
        if missing:
            layers = " and ".join(sorted({needed[stream] for stream in missing}))
            expected = _expected(context, origin)
            add = f"add {', '.join(f'{stream}=0' for stream in missing)}"
            yield finding(
                RULE.code,
                origin.event.scope,
                origin.event.node,
                f"nnx.{layers} takes the stream {' and '.join(map(repr, missing))} when it is made since Flax 0.11, "
                "and this nnx.Rngs has none",
                f"{add}, unless the error is what is expected here" if expected else add,
                _fix(origin, missing, Safety.UNSAFE if expected else Safety.SAFE),
            )


def _expected(context: Context, origin: Origin) -> bool:
    """Say whether the error of a missing stream may be wanted: by a handler, or by a test in the same function."""
    if any(context.bodies.guarded(e.node, e.scope) for e in (origin.event, *(kept.event for kept in origin.kept))):
        return True
    scope = origin.event.scope
    return scope.function is not None and any(
        last_word(item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr) in EXPECTING
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.With)
        for item in node.items
    )


def _fix(origin: Origin, missing: list[str], safety: Safety) -> Fix:
    source = origin.event.scope.module.source
    node = origin.event.node
    names = ", ".join(f"{stream}=0" for stream in missing)
    if node.keywords or node.args:
        _, end = source.span(node.keywords[-1] if node.keywords else node.args[-1])
        return Fix(((source.path, Edit(end, end, f", {names}".encode())),), safety)
    _, end = source.span(node.func)
    opening = source.data.index(b"(", end) + 1
    return Fix(((source.path, Edit(opening, opening, names.encode())),), safety)


RULE = Rule(
    code="NNX207",
    name="missing-stream",
    summary="an nnx.Rngs without the stream that a Dropout, attention or RNN layer needs",
    why="""\
Up to Flax 0.10 a layer looked its stream up when it drew from it, so that a model for inference did with
`nnx.Rngs(params=0)`. Since 0.11 the constructor of `nnx.Dropout`, of `nnx.MultiHeadAttention` with a dropout rate and
of `nnx.RNN` forks the stream, also if it is never used, and fails if neither it nor `default` exists. The rule adds
the stream to the `nnx.Rngs` that reaches such a layer; nothing drew from it before, so no result changes. Where a test
or a handler may wait for the error, the fix must be asked for.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8; reports to numpyro and maxtext",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


net = Net(nnx.Rngs(params=0))
net.eval()
print(float(net(jnp.ones((1, 2))).sum()))
""",
            after="""\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


net = Net(nnx.Rngs(params=0, dropout=0))
net.eval()
print(float(net(jnp.ones((1, 2))).sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
