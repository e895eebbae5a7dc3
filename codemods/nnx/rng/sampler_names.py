"""NNX211: streams named like the samplers that Rngs has now."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Object
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Param

# methods of Rngs since 0.11.2; those in _NEEDY take arguments, so that a call without any draws a key
_NEEDY = frozenset(
    {"ball", "beta", "binomial", "categorical", "chisquare", "choice", "dirichlet", "f", "gamma", "generalized_normal",
     "geometric", "loggamma", "multinomial", "multivariate_normal", "orthogonal", "pareto", "permutation", "poisson",
     "randint", "t", "triangular", "truncated_normal", "wald", "weibull_min"}
)  # fmt: skip
SAMPLERS = _NEEDY | {
    "bernoulli", "bits", "cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal",
    "maxwell", "normal", "rademacher", "rayleigh", "uniform",
}  # fmt: skip


def check(context: Context) -> Iterator[Finding]:
    """Yield keys that are drawn from a stream with the name of a sampler."""
    if not context.options.crosses("0.11"):
        return
    said: set[ast.AST] = set()
    for event in context.asked.calls():
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.name in SAMPLERS and not event.node.args and not event.node.keywords:
            node = callee.node  # where the stream is named: in the call, or before it as in `draw = rngs.choice`
            if isinstance(node, ast.Attribute) and node not in said:
                said.add(node)
                yield from _drawn(context, event, callee, node)


def _drawn(context: Context, event: CallEvent, callee: Attr, node: ast.Attribute) -> Iterator[Finding]:
    rngs = context.flow.here(callee.base, event.scope)
    if context.kinds.only(rngs) is not Object.RNGS or _own_stream(context, rngs, callee.name):
        return
    source = event.scope.module.source
    _, base_end = source.span(node.value)
    _, end = source.span(node)
    proven = callee.name in _NEEDY or _used_as_key(context, event)
    fix = Fix(
        ((source.path, Edit(base_end, end, f'["{callee.name}"]'.encode())),), Safety.SAFE if proven else Safety.UNSAFE
    )
    yield finding(
        RULE.code,
        event.scope,
        event.node if event.node.func is node else node,
        f"Rngs.{callee.name} is a sampler since Flax 0.11.2, no longer the stream {callee.name!r}",
        f'write rngs["{callee.name}"] for the stream',
        fix,
    )


def _own_stream(context: Context, rngs: Bound, name: str) -> bool:
    """Say whether every Rngs in question was made with a stream of that name, which hides the sampler."""
    origins = rng_analysis(context).origins.of(rngs)
    return bool(origins) and all(o.streams is not None and name in o.streams for o in origins)


def _used_as_key(context: Context, event: CallEvent) -> bool:
    """Say whether the result is the first argument of a function of ``jax.random`` or of an initialiser."""
    for other in event.scope.module.calls:
        if event.value in other.value.args[:1]:
            callee = context.flow.follow(context.flow.here(other.value, other.scope), other.value.callee)
            name = context.flow.calls.callee_name(callee) or getattr(callee.value, "name", "")
            if isinstance(callee.value, Param) and callee.value.name.endswith("init"):
                return True
            if name.startswith(("jax.random.", "jax.nn.initializers.", "flax.nnx.initializers.")):
                return True
    return False


RULE = Rule(
    code="NNX211",
    name="stream-named-as-sampler",
    summary="rngs.normal() and other streams named like a sampler",
    why="""\
An attribute of a Rngs that was not given by name falls back to the default stream, so that `rngs.normal()` drew a key
up to Flax 0.11.1. Since 0.11.2 Rngs has methods with the names of `jax.random`, and the same text gives a sample:
without an error where the method needs no argument. `rngs["normal"]()` draws a key on every version. A stream that
the Rngs was made with hides the method and stays as it is.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.2",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
from flax import nnx

rngs = nnx.Rngs(0)
print(float(jax.random.normal(rngs.normal())), jax.random.key_data(rngs.permutation()).shape)
""",
            after="""\
import jax
from flax import nnx

rngs = nnx.Rngs(0)
print(float(jax.random.normal(rngs["normal"]())), jax.random.key_data(rngs["permutation"]()).shape)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
