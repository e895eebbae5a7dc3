"""NNX631: functions with arguments by keyword alone, in transforms of NNX that put all arguments in places."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Function, Ref

_PLACING = frozenset(f"flax.nnx.{name}" for name in ("grad", "value_and_grad", "vmap", "scan", "remat"))
_OTHER_MODES = (b"set_graph_mode", b"nnx_graph_mode")


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(module.source.mentions(b"nnx") for module in modules):
        return
    if any(module.source.mentions(word) for module in modules for word in _OTHER_MODES):
        return
    for scope, node, name, function in _transformed(context):
        taken = function.node.args.kwonlyargs
        if taken and not in_test(scope) and not context.bodies.guarded(node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f"nnx.{name} gives all arguments by their places, and `{taken[0].arg}` is taken by keyword alone: every"
                " call raises a TypeError",
                f"leave out the `*`, or bind it: functools.partial(f, {taken[0].arg}=...)",
            )
    for root in (*context.traced.roots, *context.traced.gradients):
        if root.transform in _PLACING and root.function.node.args.kwarg is not None and not _other_mode(root.options):
            if root.scope.module in context.asked and not root.partial and not root.bound and root.certain:
                yield from _others(context, root)


def _transformed(context: Context) -> Iterator[tuple[Scope, ast.expr, str, FunctionFacts]]:
    """Yield the functions that a transform gets as they are written: where, by what, its name and the function."""
    flow = context.flow
    for event, name in foreign(context, *map(last, _PLACING)):
        given = event.value.args[0] if event.value.args and not event.value.starred else None
        if name not in _PLACING or given is None or _other_mode(event.node):
            continue
        found = flow.resolve(flow.here(given, event.scope)).value
        if isinstance(found, Function) and found.facts.owner is None and not _decorated(found.facts):
            yield event.scope, event.node, last(name), found.facts
    for module in context.asked.modules:
        for function in module.functions:
            if not function.node.args.kwonlyargs or not _decorated(function):
                continue
            assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef)
            node = function.node.decorator_list[-1]
            value, scope = module.values.get(node), function.scope.parent
            if value is None or scope is None or (isinstance(node, ast.Call) and _other_mode(node)):
                continue
            made = flow.resolve(flow.here(value, scope))
            name = made.value.name if isinstance(made.value, Ref) else flow.calls.callee_name(made)
            if name in _PLACING:
                yield scope, node, last(name), function


def _decorated(function: FunctionFacts) -> bool:
    return not isinstance(function.node, ast.Lambda) and bool(function.node.decorator_list)


def _other_mode(options: ast.Call | None) -> bool:
    """Say whether options may ask for another mode than the default, in which arguments are not put in places."""
    return options is not None and any(part.arg is None or part.arg.startswith("graph") for part in options.keywords)


def _others(context: Context, root: Root) -> Iterator[Finding]:
    """Yield the calls of what a transform gives with keywords that only ``**others`` of the function takes."""
    taken = root.function.node.args
    known = {one.arg for one in (*taken.posonlyargs, *taken.args)}
    for call in context.traced.calls_of(root):
        given = next((part for part in call.node.keywords if part.arg is not None and part.arg not in known), None)
        if given is not None and not call.value.starred and not context.bodies.guarded(call.node, call.scope):
            yield finding(
                RULE.code,
                call.scope,
                given,
                f"nnx.{last(root.transform)} gives all arguments by their places, `{given.arg}` has none: TypeError",
                f"give it a place among the parameters of `{root.function.name}`",
            )


_BAD = """\
import jax.numpy as jnp
from flax import nnx


def loss(model, x, *, scale=1.0):
    return scale * jnp.mean(model(x) ** 2)


model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
value, grads = nnx.value_and_grad(loss)(model, jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX631",
    "keyword-only-argument",
    "a function with keyword-only arguments in nnx.grad, vmap, scan or remat",
    why="""\
`nnx.grad`, `nnx.value_and_grad`, `nnx.vmap`, `nnx.scan` and `nnx.remat` give a function all of its arguments by their
places, also those that the call names or that are left at their defaults. One behind a `*`, and one that `**kwargs`
takes, has no place: every call raises "keyword arguments could not be resolved to positions". `jax.grad` takes them.
""",
    source="resolve_kwargs in flax/nnx/transforms; measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("x, *, scale", "x, scale"),),
)
