"""Functions that loops of JAX and NNX run, with how many arguments they get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.flow import Callee
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Value

# the loops: positions and names of their bodies, how many arguments these get, position and name of the first carry
_LOOPS: dict[str, tuple[tuple[tuple[int, str], ...], int, tuple[int, str]]] = {
    "jax.lax.scan": (((0, "f"),), 2, (1, "init")),
    "jax.lax.fori_loop": (((2, "body_fun"),), 2, (3, "init_val")),
    "flax.nnx.fori_loop": (((2, "body_fun"),), 2, (3, "init_val")),
    "jax.lax.while_loop": (((0, "cond_fun"), (1, "body_fun")), 1, (2, "init_val")),
    "flax.nnx.while_loop": (((0, "cond_fun"), (1, "body_fun")), 1, (2, "init_val")),
    "jax.lax.map": (((0, "f"),), 1, (1, "xs")),
    "jax.lax.associative_scan": (((0, "fn"),), 2, (1, "elems")),
}
_CHANGING = frozenset({"jax.value_and_grad", "flax.nnx.value_and_grad", "jax.grad", "flax.nnx.grad"})


@dataclass(frozen=True, eq=False)
class Body:
    """A function that a loop runs.

    Attributes:
        event: the loop.
        loop: its full name.
        role: the name of the loop's parameter.
        callee: the function, with what is bound before.
        count: how many arguments it gets.
        init: the first carry.
    """

    event: CallEvent
    loop: str
    role: str
    callee: Callee
    count: int
    init: Value | None

    @property
    def function(self) -> FunctionFacts:
        """The function."""
        return self.callee.function

    @property
    def free(self) -> list[str] | None:
        """The parameters that the loop fills, in order; None if they are not all known."""
        function, callee = self.function, self.callee
        if function.vararg is not None or callee.gradient or left_to_heirs(function):
            return None
        params = list(function.params)[: function.positional]
        skip = len(callee.args) + int(callee.receiver is not None and function.binding in {"instance", "class"})
        named = {name for name, _ in callee.keywords}
        return [p for p in params[skip:] if p not in named]


def bodies(context: Context) -> Iterator[Body]:
    """Yield the functions of the project that loops run, each with its loop."""
    words = {name.rpartition(".")[2] for name in _LOOPS}
    for event, name in foreign(context, *sorted(words), everywhere=True):
        found = _LOOPS.get(name)
        if found is None or event.value.starred:
            continue
        roles, count, (place, word) = found
        init = event.value.argument(place, word)
        for position, role in roles:
            given = event.value.argument(position, role)
            if given is None:
                continue
            callees = context.flow.calls.callables(context.flow.here(given, event.scope))
            if len(callees) == 1 and not foreign_layer(context, given, event):
                yield Body(event, name, role, callees[0], count, init)


def foreign_layer(context: Context, given: Value, event: CallEvent) -> bool:
    """Say whether a decorator or wrapper of unknown effect lies between the loop and the function.

    So does ``functools.partial`` with arguments that it unpacks, which may bind anything.
    """
    found = context.flow.resolve(context.flow.here(given, event.scope))
    if not isinstance(found.value, Call):
        return False
    if _unpacks(found.value):
        return True
    name = context.flow.calls.wrapper_name(found, found.value)
    return name in _CHANGING or not name.startswith(("jax.", "flax.nnx.", "functools."))


def _unpacks(call: Call) -> bool:
    """Say whether a wrapper, or one inside of it, is given arguments out of a list or dict."""
    if call.starred or any(name is None for name, _ in call.keywords):
        return True
    return any(isinstance(one, Call) and _unpacks(one) for one in call.args[:1])
