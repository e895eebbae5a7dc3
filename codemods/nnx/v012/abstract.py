"""Which values may hold shapes instead of arrays: what ``eval_shape`` gives, and all that is taken out of it."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Indexed, Part, Round
from codemods.nnx.may.may import Made
from codemods.nnx.values import Assigned, Attr, Call, Changed, Choice, Each, Free, Item, Loop, Param, Value

_STEPS = 200  # how many values one question may look at; more of them may be anything


def may_be_abstract(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value may be a part of what ``nnx.eval_shape`` or ``jax.eval_shape`` gives.

    Where functions give what other functions take in, such as ``nnx.state(model)``, their arguments count.

    Args:
        context: the analysis.
        value: the value as the code spells it: value flow sees through ``eval_shape``.
        scope: where it is read.
    """
    made = context.shared(_made)
    if made is None:
        return False
    seen: set[tuple[Value, Scope]] = set()
    todo = [(value, scope)]
    while todo:
        one, where = todo.pop()
        if (one, where) in seen:
            continue
        seen.add((one, where))
        if len(seen) > _STEPS or made.may_be(one):
            return True
        todo += _behind(context, one, where)
    return False


def _made(context: Context) -> Made | None:
    """Return what may be made by ``eval_shape``; None if the project never says the word."""
    if not any(module.source.mentions(b"eval_shape") for module in context.project.modules):
        return None
    return context.flow.may.made_by(("eval_shape",))


def _behind(context: Context, value: Value, scope: Scope) -> list[tuple[Value, Scope]]:
    """Return what a value is taken out of, or may be."""
    if isinstance(value, Attr):
        own = isinstance(value.base, Param) and value.base is value.base.function.self_param
        owner = value.base.function.owner if isinstance(value.base, Param) else None
        if own and owner is not None:
            kept = [pair for cls in context.flow.classes.mro(owner)[0] for pair in cls.stores.get(value.name, ())]
            return [(stored, method.scope) for method, stored in kept]
        return [(value.base, scope)]
    if isinstance(value, Item | Indexed | Round | Each):
        return [(value.base, scope)]
    if isinstance(value, Part):
        return [(value.of.value, scope)]
    if isinstance(value, Assigned):
        return [(value.value, value.scope)]
    if isinstance(value, Changed):
        return [(value.before, scope), (value.value, scope)]
    if isinstance(value, Choice):
        return [(option, scope) for option in value.options]
    if isinstance(value, Loop):
        return [(way, scope) for way in (value.before, value.again) if way is not None]
    if isinstance(value, Free):
        return [(bound, value.scope) for bound in value.scope.bindings.get(value.name, ())]
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if name.startswith(("flax.", "jax.tree")):
            return [(argument, scope) for argument in value.given]
        return []
    if isinstance(value, Param) and value is not value.function.self_param:
        function = value.function
        skipped = 1 if function.self_param is not None else 0
        position = list(function.params).index(value.name) - skipped
        found = []
        for event in context.flow.sites.callers(function):
            given = event.value.argument(position, value.name) if position >= 0 else event.value.keyword(value.name)
            if given is not None:
                found.append((given, event.scope))
        return found
    return []
