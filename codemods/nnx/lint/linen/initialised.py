"""NNX587: arguments of ``init`` that stand in each other's place, and those that a module does not take or needs."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.call_arguments import call_arguments
from codemods.nnx.lint.linen.modules import has_linen, receiver_modules, wanted
from codemods.nnx.lint.names import KEY_MAKERS, last
from codemods.nnx.values import Call, Const, Value

_ARRAYS = frozenset(
    {"ones", "zeros", "full", "empty", "array", "asarray", "arange", "ones_like", "zeros_like", "linspace"}
)
_INITIALISING = ("init", "init_with_output", "lazy_init")


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named(*_INITIALISING):
        args = event.value.args
        if not args or not wanted(context, event) or not receiver_modules(context, event):
            continue
        first = context.flow.resolve(context.flow.here(args[0], event.scope)).value
        if isinstance(first, Const) and type(first.value) is int:
            message, help = "a module of Linen is initialised with a key, and gets a number", "jax.random.key(...)"
        elif len(args) > 1 and _is_array(context, args[0], event.scope) and _is_key(context, args[1], event.scope):
            message, help = "`init` takes the key first and the input behind it", "exchange the two arguments"
        else:
            continue
        yield finding(RULE.code, event.scope, event.node, f"{message}: InvalidRngError", help)
    for event, message, help in call_arguments(context):
        yield finding(RULE.code, event.scope, event.node, message, help)


def _name(context: Context, value: Value, scope: Scope) -> str:
    bound = context.flow.resolve(context.flow.here(value, scope))
    return context.flow.calls.callee_name(bound) if isinstance(bound.value, Call) else ""


def _is_array(context: Context, value: Value, scope: Scope) -> bool:
    name = _name(context, value, scope)
    drawn = name.startswith("jax.random.") and last(name) in {"normal", "uniform"}
    return drawn or (name.startswith(("jax.numpy.", "numpy.")) and last(name) in _ARRAYS)


def _is_key(context: Context, value: Value, scope: Scope) -> bool:
    return _name(context, value, scope) in KEY_MAKERS


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

model = nn.Dense(2)
variables = model.init(jnp.ones((1, 3)), jax.random.key(0))
"""

RULE = lint_rule(
    "NNX587",
    "linen-init-order",
    "a module of Linen that is initialised with its input first, or with other arguments than it takes",
    why="""\
`module.init(key, *inputs)` takes the key first, and behind it what `__call__` takes. The other way round, and with a
plain number, Linen raises an InvalidRngError that speaks of shapes. What is missing there, or has a name that
`__call__` does not know, is a TypeError, and so it is with `apply`.
""",
    source="questions on the Flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8: InvalidRngError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.ones((1, 3)), jax.random.key(0)", "jax.random.key(0), jnp.ones((1, 3))"),),
)
