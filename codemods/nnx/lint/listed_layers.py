"""Lists of layers that nnx.scan or nnx.vmap gets for a stack of them; part of NNX756."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Comprehension, Value


def listed_layers(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str]]:
    """Yield the arguments that are an nnx.List of single layers, with the transform that maps over them."""
    if not any(module.source.mentions(b"nnx.List") for module in context.project.modules):
        return
    for root in context.traced.roots:
        if root.transform not in {"flax.nnx.scan", "flax.nnx.vmap"} or in_test(root.scope):
            continue
        for event in context.traced.calls_of(root):
            if event.scope.module not in context.asked or event.value.starred:
                continue
            for place, (node, value) in enumerate(zip(event.node.args, event.value.args, strict=True)):
                if _mapped(root, place) and _listed(context, event, value):
                    if not context.bodies.guarded(event.node, event.scope):
                        yield event, node, last(root.transform)


def _mapped(root: Root, place: int) -> bool:
    """Say whether a transform maps over an argument, as far as its options tell."""
    axes = option(root, "in_axes", 1)
    if axes is None:
        return root.options is None or not any(k.arg is None for k in root.options.keywords)
    if isinstance(axes, ast.Tuple | ast.List):
        axes = axes.elts[place] if place < len(axes.elts) else None
    return isinstance(axes, ast.Constant) and type(axes.value) is int


def _listed(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is an nnx.List of layers that a comprehension makes one by one."""
    sources = list(context.sources.originals(context.flow.here(value, event.scope)))
    held = sources[0].value if len(sources) == 1 else None  # an nnx.List is followed like a list
    if not isinstance(held, Comprehension) or held.key is not None or not isinstance(held.element, Call):
        return False
    if isinstance(held.element.node.func, ast.Call):  # of what a transform makes
        return False
    scope = context.bodies.home(held.element.node) or event.scope
    name = context.flow.calls.callee_name(context.flow.here(held.element, scope))
    single = context.flow.classes.class_of(context.flow.here(held.element, scope)) is not None
    return (single or name.startswith("flax.nnx.")) and kinds_of(context, held.element, scope) == {Kind.MODULE}
