"""NNX586: modules of Linen that are called like functions, without variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import (
    classes_of,
    has_linen,
    is_linen,
    method_around,
    modules_at,
    modules_of,
    receiver_modules,
    wanted,
)
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Mapping

_APPLYING = ("init", "apply", "init_with_output", "tabulate")


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    applied: dict[Scope, set[Bound]] = {}
    for event in context.bodies.named(*_APPLYING):
        if event.scope.module in context.asked and method_around(context, event.scope) is None:
            applied.setdefault(event.scope, set()).update(receiver_modules(context, event))
    found: dict[CallEvent, None] = {}
    for scope, modules in applied.items():
        for event in context.bodies.calls.get(scope, ()) if modules else ():
            if wanted(context, event) and _unbound(context, event, modules):
                found[event] = None
    for event in context.asked.calls():
        if event not in found and _with_variables(context, event):
            found[event] = None
    for event in found:
        text = event.scope.module.source.text(event.node.func)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text}` holds no parameters: Linen calls a module only within `apply`, or bound to its variables",
            f"{text}.apply(variables, ...)" if not isinstance(event.value.callee, Attr) else "apply it with method=",
        )


def _with_variables(context: Context, event: CallEvent) -> bool:
    """Say whether a call hands variables to a module, or to a method that needs one that is bound, as ``apply`` takes
    them: ``model.decode({"params": params}, z)``."""
    first = event.node.args[0] if event.node.args else None
    callee = event.value.callee
    named = callee.name if isinstance(callee, Attr) else ""
    if not isinstance(first, ast.Dict | ast.Name) or named in _APPLYING or named == "bind":
        return False
    if isinstance(first, ast.Dict) and not any(_is_params(key) for key in first.keys):
        return False
    if isinstance(first, ast.Name) and named not in context.shared(_needing):
        return False
    if not wanted(context, event) or method_around(context, event.scope) is not None:
        return False
    return _is_variables(context, event) and _needs_bound(context, event)


def _is_params(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "params"


def _is_variables(context: Context, event: CallEvent) -> bool:
    """Say whether the first argument of a call is a dict of collections, or what ``init`` of a module gave."""
    given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    if isinstance(given.value, Mapping):
        return any(key == Const("params") for key, _ in given.value.items)
    callee = given.value.callee if isinstance(given.value, Call) else None
    if not isinstance(callee, Attr) or callee.name != "init":
        return False
    return bool(modules_at(context, context.flow.with_value(given, callee.base)))


def _needs_bound(context: Context, event: CallEvent) -> bool:
    """Say whether what a call is of is a module of the project for certain, or a method of one that reads layers."""
    callee = event.value.callee
    if isinstance(callee, Attr):
        classes = classes_of(context, modules_of(context, callee.base, event.scope))
        if classes:
            return all(_reads_layers(context.flow.classes.method(cls, callee.name)) for cls in classes)
    classes = classes_of(context, modules_of(context, callee, event.scope))
    return bool(classes) and all(_reads_layers(context.flow.classes.method(cls, "__call__")) for cls in classes)


def _needing(context: Context) -> frozenset[str]:
    """Return the names of the methods of modules that need one that is bound, ``""`` for a call of the module."""
    names = {
        name
        for cls in context.project.classes()
        if is_linen(context, cls)
        for name, method in cls.methods.items()
        if _reads_layers(method)
    }
    return frozenset({"" if name == "__call__" else name for name in names})


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
    """Say whether a method needs a module that is bound: it is compact, or reads what ``setup`` makes."""
    cls = method.owner if method is not None else None
    if method is not None and cls is not None and _is_compact(method):
        return True
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


def _is_compact(method: FunctionFacts) -> bool:
    decorators = getattr(method.node, "decorator_list", [])
    return any(last_word(one) in {"compact"} for one in decorators)


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
