"""NNX740: compiled code that draws with a key from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import SAME, Use, uses
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import in_test, shown, stands_in
from codemods.nnx.lint.syntax import argument
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Free, Item, Param, Value

_NOISE = frozenset({"normal", "uniform", "bernoulli", "truncated_normal", "gumbel", "laplace", "rademacher"})
SEEDING = frozenset({"jax.random.key", "jax.random.PRNGKey", "jax.random.split", "jax.random.fold_in"})
# functions of these names draw what is the same in every round on purpose
ON_PURPOSE = pattern(
    r"(^|_)(init\w*|feature\w*|project\w*|embed\w*|latent\w*|prior|basis|hash\w*|target|sketch\w*)(_|$)"
)


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"jax.random") or m.source.mentions(b"import random") for m in context.asked.modules):
        return
    for (scope, key), found in context.shared(uses).items():
        function = scope.function
        if function is None or scope.module not in context.asked or in_test(scope):
            continue
        key = _split_of(context, key, scope)
        if not isinstance(key, Free):
            continue
        use = next((u for u in found if draws_noise(u)), None)
        if use is None or SAME.search(ast.unparse(use.node)) or ON_PURPOSE.search(function.name):
            continue
        step = _compiled(context, function)
        if step is None or SAME.search(step.name) or ON_PURPOSE.search(step.name) or not _kept(context, key, step):
            continue
        if any(event.loops and _rounds(event.loops) and not in_test(event.scope) for event in _calls(context, step)):
            yield finding(
                RULE.code,
                scope,
                use.event.node,
                f"`{ast.unparse(use.node)}` is a constant in the compiled {shown(step)}: every call draws "
                "the same numbers",
                "give it a key as an argument, a new one at every call: key, subkey = jax.random.split(key)",
            )


def _split_of(context: Context, key: Value, scope: Scope) -> Value:
    """Return the key of which another one is a part, by splits in the same function."""
    while isinstance(key, Item) and isinstance(key.base, Call) and key.base.args:
        if context.flow.calls.callee_name(context.flow.here(key.base, scope)) != "jax.random.split":
            break
        key = key.base.args[0]
    return key


def draws_noise(use: Use) -> bool:
    """Say whether a call draws noise of the shape of some data.

    Args:
        use: the call, with its key.
    """
    if last(use.name) not in _NOISE or use.helper:
        return False
    shapes = [argument(use.event.node, place, "shape") for place in (1, 2)]
    return any(isinstance(shape, ast.Attribute) and shape.attr == "shape" for shape in shapes)


def _compiled(context: Context, function: FunctionFacts) -> FunctionFacts | None:
    """Return the compiled function that runs a function: itself, one around it, or one that calls it."""
    inner: FunctionFacts | None = function
    while inner is not None:
        if _root(context, inner):
            return inner
        inner = enclosing_function(inner.scope.parent)
    callers = {enclosing_function(e.scope) for e in context.flow.sites.callers(function)}
    only = callers.pop() if len(callers) == 1 else None
    return only if only is not None and _root(context, only) else None


def _root(context: Context, function: FunctionFacts) -> bool:
    tracing = context.traced.get(function)
    return tracing is not None and any(
        root.transform in COMPILING and root.function is function for root in tracing.roots
    )


def _calls(context: Context, step: FunctionFacts) -> Iterator[CallEvent]:
    tracing = context.traced.get(step)
    assert tracing is not None
    for root in tracing.roots:
        yield from context.traced.calls_of(root)


def _rounds(loops: tuple[ast.AST, ...]) -> bool:
    return any(isinstance(loop, ast.For | ast.While) for loop in loops)


def _kept(context: Context, key: Free, step: FunctionFacts) -> bool:
    """Say whether a key is bound once, outside of the compiled function."""
    if stands_in(key.scope, step.scope) or any(_rounds(event.loops) for event in _makers(context, key)):
        return False
    return key_bound_once(context, key) is not None


def key_bound_once(context: Context, key: Free) -> Value | None:
    """Return what the only binding of a key gives it, a parameter or what is made of a seed; None for others.

    Args:
        context: the analysis.
        key: the variable, as an inner function reads it.
    """
    bindings = key.scope.bindings.get(key.name, ())
    if len(bindings) != 1 or key.name in key.scope.rebound or key.name in key.scope.remote:
        return None
    made = bindings[0]
    return made if isinstance(made, Param) or _seeded(context, made, key) else None


def _makers(context: Context, key: Free) -> list[CallEvent]:
    """Return the calls of the function around, each of which makes a compiled function of its own."""
    return context.flow.sites.callers(key.scope.function) if key.scope.function is not None else []


def _seeded(context: Context, value: Value, key: Free) -> bool:
    """Say whether a value is a key that is made of a seed, or a part of another key."""
    while isinstance(value, Item):
        value = value.base
    return isinstance(value, Call) and context.flow.calls.callee_name(context.flow.here(value, key.scope)) in SEEDING


_BAD = """\
import jax

key = jax.random.key(0)


@jax.jit
def step(x):
    return x + 0.1 * jax.random.normal(key, x.shape)


def run(x):
    for _ in range(10):
        x = step(x)
    return x
"""

RULE = lint_rule(
    "NNX740",
    "captured-key",
    "compiled code draws noise with a key from outside of it",
    why="""\
What a compiled function takes from around itself is a constant of it. A key is one too: every call draws the same
noise, or the same dropout mask, as long as the function is not compiled again. The key has to be an argument, and a new
one at every call.
""",
    source="JAX tutorial, section on random keys; measured on Flax 0.10.7 and 0.12.8: equal noise in every step",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("def step(x):", "def step(x, key):").replace("step(x)\n", "step(x, jax.random.fold_in(key, _))\n"),
    ),
)
