"""NNX586: modules of Linen that are called like functions, without variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import has_linen, method_around, modules_of, receiver_modules, wanted
from codemods.nnx.values import Attr

_APPLYING = ("init", "apply", "init_with_output", "tabulate")


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    applied: dict[Scope, set[Bound]] = {}
    for event in context.bodies.named(*_APPLYING):
        if event.scope.module in context.asked and method_around(context, event.scope) is None:
            applied.setdefault(event.scope, set()).update(receiver_modules(context, event))
    for scope, modules in applied.items():
        for event in context.bodies.calls.get(scope, ()) if modules else ():
            if not wanted(context, event) or not _unbound(context, event, modules):
                continue
            text = scope.module.source.text(event.node.func)
            yield finding(
                RULE.code,
                scope,
                event.node,
                f"`{text}` holds no parameters: Linen calls a module only within `apply`, or bound to its variables",
                f"{text}.apply(variables, ...)"
                if not isinstance(event.value.callee, Attr)
                else "apply it with method=",
            )


def _unbound(context: Context, event: CallEvent, modules: set[Bound]) -> bool:
    """Say whether a call is one of a module that the same body initialises or applies, and so is no part of another."""
    if not event.node.args:
        return False
    callee = event.value.callee
    if isinstance(callee, Attr) and callee.name not in _APPLYING:
        found = modules_of(context, callee.base, event.scope)
        classes = [context.flow.classes.class_of(one) for one in found]
        methods = [context.flow.classes.method(cls, callee.name) if cls is not None else None for cls in classes]
        return bool(found) and set(found) <= modules and all(map(_reads_layers, methods))
    found = modules_of(context, callee, event.scope)
    return bool(found) and set(found) <= modules


def _reads_layers(method: FunctionFacts | None) -> bool:
    """Say whether a method needs a module that is bound: it reads what ``setup`` makes."""
    cls = method.owner if method is not None else None
    setup = cls.methods.get("setup") if cls is not None else None
    if method is None or cls is None or setup is None or method.self_param is None or method is setup:
        return False
    made = {name for name, stored in cls.stores.items() if any(function is setup for function, _ in stored)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in made
        and isinstance(node.value, ast.Name)
        and node.value.id == method.self_param.name
        for node in ast.walk(method.node)
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

model = nn.Dense(2)
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
print(model(jnp.ones((1, 3))))
"""

RULE = lint_rule(
    "NNX586",
    "linen-unbound-call",
    "a module of Linen that is called without its variables",
    why="""\
A module of Linen is a description: its parameters are what `init` returned. Called like a function outside of `apply`
it raises a CallCompactUnboundModuleError, or says that it has no attribute which `setup` makes.
""",
    source="Flax documentation of its errors; measured on Flax 0.10.7 to 0.12.8: CallCompactUnboundModuleError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("model(jnp", "model.apply(variables, jnp"),
        _BAD.replace("print(model(", "bound = model.bind(variables)\nprint(bound("),
    ),
)
