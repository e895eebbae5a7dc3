"""Transforms around a function, from the outermost to the function itself."""

from __future__ import annotations

from dataclasses import dataclass

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS, TRANSPARENT
from codemods.nnx.values import Call, Ref, Value

SPLIT = "flax.nnx.split_rngs"
MAPS = frozenset({"flax.nnx.vmap", "flax.nnx.pmap", "flax.nnx.scan"})


@dataclass(frozen=True, eq=False)
class Step:
    """One transform that is applied.

    Attributes:
        name: full name of the transform.
        transform: what is called with the function: ``nnx.vmap`` or the result of ``nnx.vmap(in_axes=0)``.
        applied: the call that does so; of a decorator one that no source text spells.
        options: the call that holds its options; None if there are none.
    """

    name: str
    transform: Value
    applied: Call | None
    options: Bound | None

    def option(self, name: str) -> Bound | None:
        """Return the option that is passed by ``name=``."""
        if self.options is None or not isinstance(self.options.value, Call):
            return None
        value = self.options.value.keyword(name)
        return Bound(value, self.options.frame, self.options.stale) if value is not None else None


def chain(flow: Flow, callee: Bound) -> tuple[list[Step], Bound]:
    """Return the transforms around what a call calls, outermost first, and what they are applied to."""
    steps: list[Step] = []
    inner = flow.resolve(callee)
    while isinstance(inner.value, Call) and inner.value.args and len(steps) < 12:
        name = flow.calls.wrapper_name(inner, inner.value)
        if name not in TRANSPARENT | GRADIENTS:
            break
        transform = flow.follow(inner, inner.value.callee)
        options = transform if isinstance(transform.value, Call) else inner
        steps.append(Step(name, transform.value, inner.value, options))
        inner = flow.follow(inner, inner.value.args[0])
    return steps, inner


def decorators(flow: Flow, function: FunctionFacts) -> list[Step]:
    """Return the transforms that decorate a function or method, outermost first."""
    steps = []
    outer = function.scope.parent
    for value in function.decorators if outer is not None else ():
        assert outer is not None
        decorator = flow.resolve(flow.here(value, outer))
        if isinstance(decorator.value, Ref):
            steps.append(Step(decorator.value.name, decorator.value, None, None))
        elif isinstance(decorator.value, Call):
            name = transform_name(flow, decorator)
            if name:
                steps.append(Step(name, decorator.value, None, decorator))
    return steps


def transform_name(flow: Flow, options: Bound) -> str:
    """Return the transform whose options a call binds: ``nnx.vmap(in_axes=0)``, ``partial(nnx.vmap, in_axes=0)``."""
    name = flow.calls.callee_name(options)
    value = options.value
    if name == "functools.partial" and isinstance(value, Call) and value.args:
        first = flow.follow(options, value.args[0]).value
        return first.name if isinstance(first, Ref) else ""
    return name
