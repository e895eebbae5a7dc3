"""Which classes and values of a project are modules of Linen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Call, Value

HOME = "flax.linen."
#: Where initializers come from.
INITIALIZERS = ("flax.linen.initializers.", "jax.nn.initializers.")
_BASES = frozenset({"flax.linen.Module", "flax.linen.module.Module", "typing.Generic", "abc.ABC"})


def has_linen(context: Context) -> bool:
    """Say whether a file of the project speaks of Linen at all; rules ask so before anything else."""
    return any(module.source.mentions(b"linen") for module in context.project.modules)


def is_linen(context: Context, cls: ClassFacts | None) -> bool:
    """Say whether a class derives from ``flax.linen.Module``."""
    return cls is not None and "flax.linen.Module" in context.flow.classes.mro(cls)[1]


def is_plain(context: Context, cls: ClassFacts | None) -> bool:
    """Say whether a class derives from ``flax.linen.Module`` and, but for classes of the project, from nothing else."""
    return cls is not None and is_linen(context, cls) and context.flow.classes.mro(cls)[1] <= _BASES


def wanted(context: Context, event: CallEvent) -> bool:
    """Say whether a call is asked about: no test, nothing unpacked, no error expected."""
    return (
        event.scope.module in context.asked
        and not event.value.starred
        and all(key is not None for key, _ in event.value.keywords)
        and not in_test(event.scope)
        and not context.bodies.guarded(event.node, event.scope)
    )


def modules_of(context: Context, value: Value, scope: Scope) -> list[Bound]:
    """Return the modules of Linen that a value may be; none if it may be anything else.

    Args:
        context: the analysis.
        value: the value.
        scope: the body that it stands in.
    """
    return modules_at(context, context.flow.here(value, scope))


def modules_at(context: Context, bound: Bound) -> list[Bound]:
    """Return what :func:`modules_of` does, of a value with its place."""
    found = list(context.sources.originals(bound))
    return found if all(_is_module(context, one) for one in found) else []


def _is_module(context: Context, bound: Bound) -> bool:
    if not isinstance(bound.value, Call):
        return False
    name = context.flow.calls.callee_name(bound)
    if name:
        return name.startswith(HOME) and last(name)[:1].isupper() and name.count(".") == HOME.count(".")
    return is_linen(context, context.flow.classes.class_of(bound))


def receiver_modules(context: Context, event: CallEvent) -> list[Bound]:
    """Return the modules of Linen whose method a call is of; none if it may be of anything else."""
    callee = event.value.callee
    return modules_of(context, callee.base, event.scope) if isinstance(callee, Attr) else []


def classes_of(context: Context, modules: Sequence[Bound]) -> list[ClassFacts]:
    """Return the project's classes of modules; none if one of these is a layer of the library."""
    classes = [context.flow.classes.class_of(one) for one in modules]
    known = [cls for cls in classes if cls is not None]
    return known if len(known) == len(classes) else []


def calls_always(context: Context, cls: ClassFacts) -> Iterator[CallEvent]:
    """Yield the calls that ``__call__`` of a module makes on every way through it."""
    method = context.flow.classes.method(cls, "__call__")
    return always_made(context, method) if method is not None else iter(())


def always_made(context: Context, method: FunctionFacts) -> Iterator[CallEvent]:
    """Yield the calls that a method makes on every way through it."""
    for call in context.bodies.calls.get(method.scope, ()):
        if not context.bodies.paths(call.scope).get(call.node) and not context.bodies.behind(call.node, call.scope):
            yield call


def layer_called(context: Context, call: CallEvent) -> Bound:
    """Return what makes the layer that a call applies, as far as that is known."""
    return context.flow.resolve(context.flow.follow(context.flow.here(call.value, call.scope), call.value.callee))


def method_around(context: Context, scope: Scope) -> FunctionFacts | None:
    """Return the method of a module of Linen that a body is, or stands in; None if there is none."""
    outer: Scope | None = scope
    while outer is not None:
        if outer.function is not None and is_linen(context, outer.function.owner):
            return outer.function
        outer = outer.parent
    return None
