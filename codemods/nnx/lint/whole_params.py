"""Parameters of integers in models that are differentiated; part of NNX956."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import INT, Arrays, made_by_jax
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call

_DEPTH = 4  # modules in modules
_GRADIENTS = frozenset({"flax.nnx.grad", "flax.nnx.value_and_grad"})


def integer_parameters(context: Context) -> Iterator[tuple[CallEvent, CallEvent, str]]:
    """Yield what makes a parameter of integers, with where a gradient is taken of the model, and by what.

    Args:
        context: the analysis.
    """
    made = {
        event.scope.function.owner: event
        for event, name in foreign(context, "Param", everywhere=True)
        if name == "flax.nnx.Param" and event.scope.function is not None and _whole(context, event)
    }
    found: set[CallEvent] = set()
    for event, grad, name in gradient_calls(context, compiled=True) if made else ():
        if name not in _GRADIENTS or not event.value.args or grad.keyword("allow_int") is not None:
            continue
        model = owner_class(context, event.value.args[0], event.scope)
        if not isinstance(model, ClassFacts) or not plain_module(context, model):
            continue
        for cls, one in made.items():
            if cls is not None and one not in found and one.scope.module in context.asked:
                if _holds(context, model, cls, one, 0):
                    found.add(one)
                    yield one, event, name


def _whole(context: Context, event: CallEvent) -> bool:
    """Say whether a constructor keeps a parameter of integers, whatever it is given."""
    function, given = event.scope.function, event.value.args[0] if event.value.args else None
    if function is None or function.name != "__init__" or event.value.starred or not isinstance(given, Call):
        return False
    if context.bodies.paths(event.scope).get(event.node) or context.bodies.behind(event.node, event.scope):
        return False
    if context.flow.calls.callee_name(context.flow.here(given, event.scope)) == "jax.numpy.arange":
        if given.keywords or given.starred or len(given.args) > 3:
            return False
        counted = [numbers(context, one, event.scope) for one in given.args]
        return all(some and all(type(one) is int for one in some) for some in counted)
    return made_by_jax(context, given, event.scope) and Arrays(context, {}).of(given, event.scope).number == INT


def _holds(context: Context, cls: ClassFacts, wanted: ClassFacts, event: CallEvent, depth: int) -> bool:
    """Say whether the objects of a class are of the one that keeps a parameter, or hold one of these."""
    parents = context.flow.classes.mro(cls)[0]
    if wanted in parents and cls.methods.get("__init__", wanted.methods["__init__"]) is wanted.methods["__init__"]:
        stores = wanted.stores.values()
        return any(value.node is event.node for kept in stores if len(kept) == 1 for _, value in kept
                   if isinstance(value, Call))  # fmt: skip
    for parent in parents if depth < _DEPTH else ():
        for kept in parent.stores.values():
            for function, value in kept if len(kept) == 1 else ():
                if function.name == "__init__" and any(
                    _holds(context, inner, wanted, event, depth + 1)
                    for part in parts(context, context.flow.here(value, function.scope))
                    if (inner := _class(context, part)) is not None
                ):
                    return True
    return False


def _class(context: Context, made: Bound) -> ClassFacts | None:
    return context.flow.classes.class_of(made) if isinstance(made.value, Call) else None
