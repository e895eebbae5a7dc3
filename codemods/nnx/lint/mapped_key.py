"""One key where ``vmap`` goes along the first axis of many; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.applied import calls_of, option
from codemods.nnx.lint.names import KEY_MAKERS
from codemods.nnx.lint.places import in_test, position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Const, Item, Value

_ONE = KEY_MAKERS | {"jax.random.fold_in"}


def mapped_keys(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls of what ``jax.vmap`` made that give one key for an argument which is mapped."""
    for root in context.traced.roots:
        if root.transform != "jax.vmap" or root.bound or root.partial or in_test(root.scope) or not _plain(root):
            continue
        for event in calls_of(context, root):
            if event.scope.module not in context.asked or event.value.starred:
                continue
            for param in root.function.params.values():
                if param.name in root.static or param is root.function.self_param:
                    continue
                node = argument(event.node, position(param), param.name)
                value = event.value.argument(position(param), param.name)
                if node is None or value is None or not one_key(context, context.flow.here(value, event.scope)):
                    continue
                if context.bodies.guarded(event.node, event.scope):
                    continue
                text = ast.unparse(node)
                yield (
                    event,
                    node,
                    f"vmap goes along the first axis of `{text}`, which is one key and has none",
                    f"give it a key for each: jax.random.split({text}, n)",
                )
                break


def _plain(root: Root) -> bool:
    """Say whether all arguments are mapped along their first axis, as far as the options say."""
    axes = option(root, "in_axes", 1)
    if axes is None:
        return True
    return isinstance(axes, ast.Constant | ast.Tuple)


def one_key(context: Context, bound: Bound) -> bool:
    """Say whether a value is one key on every way: made of a seed, or one part of a split that is taken apart.

    Args:
        context: the analysis.
        bound: the value.
    """
    found = context.sources.originals(bound)
    return bool(found) and all(_made(context, one) for one in found)


def _made(context: Context, one: Bound) -> bool:
    value: Value = one.value
    if isinstance(value, Call):
        return context.flow.calls.callee_name(one) in _ONE
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value.index, Bound) else value.index
        base = context.flow.follow(one, value.base)
        split = isinstance(base.value, Call) and context.flow.calls.callee_name(base) == "jax.random.split"
        return split and isinstance(index, Const) and type(index.value) is int and _flat(base.value)
    return False


def _flat(split: Value) -> bool:
    """Say whether a split makes keys along one axis."""
    if not isinstance(split, Call):
        return False
    number = argument(split.node, 1, "num")
    return not isinstance(number, ast.Tuple | ast.List | ast.Name | ast.Attribute)
