"""NNX538: rematerialization of all that is differentiated, which saves no memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import is_decoration
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Function, Ref

_GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "flax.nnx.grad", "flax.nnx.value_and_grad"})
_REMAT = frozenset({"jax.checkpoint", "jax.remat", "jax.ad_checkpoint.checkpoint", "jax.ad_checkpoint.remat",
                    "flax.nnx.remat"})  # fmt: skip
_DERIVATIVES = frozenset({"grad", "value_and_grad", "vjp", "jvp", "hessian", "jacfwd", "jacrev", "jacobian",
                          "linearize", "custom_vjp", "custom_jvp"})  # fmt: skip
_CALLERS = 40  # that are looked at
_WORDS = (b"checkpoint", b"remat")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "grad", "value_and_grad"):
        source = event.scope.module.source
        if name not in _GRADIENTS or not event.value.args or event.value.starred or in_test(event.scope):
            continue
        if not any(map(source.mentions, _WORDS)) or _differentiated(context, enclosing_function(event.scope)):
            continue
        given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
        if (
            not _remat(context, given, is_decoration(event.node))
            or source.mentions(b"hessian")
            or event.node in context.shared(_again)
        ):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "all that is differentiated is computed again before the backward pass begins, which then keeps all of it: "
            "this costs time and saves no memory",
            "apply jax.checkpoint to the layers, or give it a policy, such as "
            "policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable",
        )


def _differentiated(context: Context, function: FunctionFacts | None) -> bool:
    """Say whether a function, or one that calls it, is differentiated itself, as for derivatives of derivatives."""
    inner = context.shared(_inner)
    pending, seen = [function], {function}
    while pending and len(seen) < _CALLERS:
        one = pending.pop()
        if one is None:
            continue
        if one in inner:
            return True
        above = [enclosing_function(event.scope) for event in context.flow.sites.callers(one)]
        above.append(enclosing_function(one.scope.parent))
        pending += [other for other in above if other not in seen]
        seen.update(above)
    return len(seen) >= _CALLERS


def _inner(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions that are differentiated."""
    return frozenset(
        callee.function
        for event, name in foreign(context, *_DERIVATIVES, everywhere=True)
        if name.startswith(("jax.", "flax.")) and event.value.args
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    )


def _again(context: Context) -> frozenset[ast.AST]:
    """Return the calls whose result is differentiated once more: ``grad(grad(checkpoint(f)))``."""
    found: set[ast.AST] = set()
    for event, name in foreign(context, *_DERIVATIVES, everywhere=True):
        if not name.startswith(("jax.", "flax.")) or not event.value.args:
            continue
        one = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
        while isinstance(one.value, Call) and one.value.node not in found:
            found.add(one.value.node)
            if not one.value.args:
                break
            one = context.flow.follow(one, one.value.args[0])
    return frozenset(found)


def _remat(context: Context, given: Bound, decorated: bool) -> bool:
    """Say whether a function is rematerialized as a whole, with nothing that says what to keep.

    Args:
        context: the analysis.
        given: the function.
        decorated: whether a decorator differentiates it, which is no part of what is differentiated.
    """
    value = given.value
    if isinstance(value, Call):
        if len(value.args) != 1 or value.starred or value.keyword("policy") is not None:
            return False
        name = context.flow.calls.callee_name(given)
        if name:
            return name in _REMAT
        maker = context.flow.follow(given, value.callee)  # @partial(jax.checkpoint, static_argnums=2)
        if not isinstance(maker.value, Call) or context.flow.calls.callee_name(maker) != "functools.partial":
            return False
        if len(maker.value.args) != 1 or maker.value.keyword("policy") is not None:
            return False
        wrapped = context.flow.follow(maker, maker.value.args[0]).value
        return isinstance(wrapped, Ref) and wrapped.name in _REMAT
    if not isinstance(value, Function) or len(value.facts.decorators) != 1 + decorated:
        return False
    home = value.facts.scope.parent
    one = context.flow.resolve(context.flow.here(value.facts.decorators[-1], home)).value if home is not None else None
    return isinstance(one, Ref) and one.name in _REMAT


_BAD = """\
import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(params, x, y):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


def step(params, x, y):
    return jax.grad(loss)(params, x, y)
"""

RULE = lint_rule(
    "NNX538",
    "remat-of-all",
    "jax.checkpoint around the whole of what is differentiated",
    why="""\
`jax.checkpoint` keeps the inputs of a function instead of what it computes on the way, and computes that again in the
backward pass. Around the whole loss the backward pass begins with computing all of it, and keeps all of it, as without:
the peak is as high, and the step is a third longer. Around each layer, only one layer is kept at a time.
""",
    source="jax issue 12792",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("@jax.checkpoint\n", "").replace("jnp.tanh(x @ w)", "jax.checkpoint(jnp.tanh)(x @ w)"),
        _BAD.replace("@jax.checkpoint\n", "").replace(
            "jax.grad(loss)", "jax.grad(jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable))"
        ),
    ),
    severity="hint",
)
