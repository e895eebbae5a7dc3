"""NNX802: a transform of a method that is bound to its module, or of a module itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as ObjectKind
from codemods.nnx.lint.lax_control_flow import method_changes
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.trained_later import trained_later
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Value

_MAPPING = {f"flax.nnx.{word}": word for word in ("vmap", "remat", "checkpoint", "scan")}
_REFUSING = frozenset({"flax.nnx.jit", "flax.nnx.pmap"})  # take no bound method since 0.12
# layers whose call has arguments by keyword alone
_BY_KEYWORD = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "BatchNorm", "Bidirectional", "Dropout", "GroupNorm", "InstanceNorm", "LayerNorm", "MultiHeadAttention", "RNN",
        "Sequential",
    )
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _unresolved(context)
    for event, name in foreign(context, "jit", "pmap", "pjit"):
        if name not in COMPILING or not event.value.args or in_test(event.scope):
            continue
        value = event.value.args[0]
        owner = value.base if isinstance(value, Attr) else value
        if ObjectKind.MODULE in kinds_of(context, value, event.scope):
            what, owner = "a module", value
        elif owner is not value and ObjectKind.MODULE in kinds_of(context, owner, event.scope):
            what = "a bound method"
        else:
            continue
        text = event.scope.module.source.text(event.node.func)
        method = f".{value.name}" if what == "a bound method" and isinstance(value, Attr) else ""
        call = "m(x)" if method in {"", ".__call__"} else f"m{method}(x)"
        help = f"compile a function of the module: `{text}(lambda m, x: {call})`"
        if what == "a bound method" and name in _REFUSING and context.options.target >= "0.12":
            message = f"`{text}` of a bound method is a ValueError on Flax 0.12"
            yield finding(RULE.code, event.scope, event.node, message, help)
        elif _writes(context, value if what == "a module" else owner, method.removeprefix(".") or "__call__", event):
            message = (
                f"`{text}` of {what} whose call changes its Variables is a TraceContextError: they are no argument"
            )
            yield finding(RULE.code, event.scope, event.node, message, help)
        elif not (method and _reads_nothing(context, value, event)) and trained_later(
            context, owner, event, anew=name.startswith("flax.nnx.") or what == "a bound method"
        ):  # JAX keeps what it compiled of a module for the next jit of it
            message = f"`{text}` of {what} compiles the arrays in as constants, and the module changes later"
            yield finding(RULE.code, event.scope, event.node, message, help)


def _writes(context: Context, owner: Value, method: str, event: CallEvent) -> bool:
    """Say whether a method of a module of the project always gives a Variable of its own a new value."""
    made = context.flow.resolve(context.flow.here(owner, event.scope))
    return not context.bodies.guarded(event.node, event.scope) and method_changes(context, made, method)


def _reads_nothing(context: Context, method: Value, event: CallEvent) -> bool:
    """Say whether a method reads no array of its object, nor calls a method of it."""
    callees = context.flow.calls.callables(context.flow.here(method, event.scope))
    function = callees[0].function if len(callees) == 1 else None
    if function is None or function.owner is None or function.self_param is None:
        return False
    own = function.self_param.name
    fields = set()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            read = Attr(function.self_param, node.attr)
            if node.attr in function.owner.methods or kinds_of(context, read, function.scope):
                return False
            fields.add(node.value)
    names = {n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == own}
    return names == fields


def _unresolved(context: Context) -> Iterator[Finding]:
    """Yield the transforms of a module whose call takes arguments by keyword alone, which they cannot resolve."""
    for event, name in foreign(context, *_MAPPING.values()):
        if name not in _MAPPING or not event.value.args or in_test(event.scope):
            continue
        cls = owner_class(context, event.value.args[0], event.scope)
        if isinstance(cls, str):
            refused = cls in _BY_KEYWORD
        else:
            method = context.flow.classes.method(cls, "__call__") if cls is not None else None
            refused = plain_module(context, cls) and method is not None and bool(method.node.args.kwonlyargs)
        if refused and not context.bodies.guarded(event.node, event.scope):
            text = event.scope.module.source.text(event.node.func)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text}` of a module whose call has arguments by keyword alone is a TypeError",
                f"transform a function of the module: {text}(lambda m, x: m(x), in_axes=(None, 0))(model, xs)"
                if _MAPPING[name] == "vmap"
                else f"transform a function of the module: {text}(lambda m, x: m(x))(model, x)",
            )


RULE = Rule(
    code="NNX802",
    name="jit-bound-method",
    summary="jit of a bound method or of a module instance",
    why="""\
In `nnx.jit(model.__call__)` the module is part of the function and not an argument: on Flax 0.10 and 0.11 the
compiled code keeps the weights of its first call, on 0.12 a ValueError is raised. `jax.jit(model.__call__)`,
`jax.jit(model)` and `nnx.jit(model)` keep them on every version, which the rule tells of where the model is trained
or updated later. Where the call changes a Variable of the module, as a counter does, it raises a TraceContextError.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 5; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
predict = jax.jit(model.__call__)
print(predict(jnp.ones(2)))
model.kernel.value = jnp.zeros((2, 3))
print(predict(jnp.ones(2)))
""",
            run=False,
        ),
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
predict = jax.jit(model)
print(predict(jnp.ones(2)))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
predict = jax.jit(model)
print(predict(jnp.ones(2)))
""",
            run=False,
        ),
    ),
    check=_check,
    severity="error",
)
