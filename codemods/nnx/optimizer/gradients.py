"""What gradients were taken of: the provenance that proposes how to name a model."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.known import GRADIENTS
from codemods.nnx.values import Call, Choice, Const, Item, Loop, Value


@dataclass(frozen=True, eq=False)
class Gradient:
    """A call that computed gradients.

    Attributes:
        call: the call of the transformed function, in its activation.
        transform: the call of ``nnx.grad`` or ``nnx.value_and_grad``.
        argument: the position of the argument that was differentiated.
        filter: the value of the filter of a ``nnx.DiffState``; None for the default, ``nnx.Param``.
        scope: where the call stands, if it is the scope asked from.
    """

    call: Bound
    transform: Bound
    argument: int
    filter: Value | None

    @property
    def node(self) -> ast.expr | None:
        """The expression of the differentiated argument."""
        value = self.call.value
        assert isinstance(value, Call)
        return value.node.args[self.argument] if self.argument < len(value.node.args) else None


def gradient(flow: Flow, bound: Bound) -> Gradient | None:
    """Return the gradient call that a value is a result of; None if it is not known to be one."""
    return next(iter(gradients(flow, bound)), None)


def gradients(flow: Flow, bound: Bound, depth: int = 0) -> list[Gradient | None]:
    """Return the gradient calls that a value may be a result of, one a way; None for a way that is not known."""
    bound = flow.resolve(bound)
    value = bound.value
    if depth > 10:
        return [None]
    if isinstance(value, Item | Indexed):
        return gradients(flow, flow.with_value(bound, value.base), depth + 1)
    if isinstance(value, Loop):
        return gradients(flow, flow.with_value(bound, value.again or value.before), depth + 1)
    if isinstance(value, Choice):
        return [g for o in value.options for g in gradients(flow, flow.with_value(bound, o), depth + 1)]
    return [_call(flow, bound, value, depth)] if isinstance(value, Call) else [None]


def _call(flow: Flow, bound: Bound, value: Call, depth: int) -> Gradient | None:
    transform = flow.follow(bound, value.callee)
    seen = set[Value]()
    while isinstance(transform.value, Call) and transform.value.args:
        if transform.value in seen or flow.calls.callee_name(transform) not in _COMPILING:
            break  # `self.step = jax.jit(self.step)`
        seen.add(transform.value)
        transform = flow.follow(transform, transform.value.args[0])
    if isinstance(transform.value, Call) and flow.calls.wrapper_name(transform, transform.value) in GRADIENTS:
        argument, chosen = _argnums(flow, transform)
        return Gradient(bound, transform, argument, chosen)
    if (
        flow.calls.callee_name(bound) in {"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"}
        and len(value.args) > 1
    ):
        return next(iter(gradients(flow, flow.with_value(bound, value.args[1]), depth + 1)), None)
    return None


_COMPILING = frozenset({"jax.jit", "flax.nnx.jit"})


def _argnums(flow: Flow, transform: Bound) -> tuple[int, Value | None]:
    call = transform.value
    assert isinstance(call, Call)
    outer = call.keyword("argnums")
    if outer is None and isinstance(call.callee, Call):
        outer = call.callee.keyword("argnums")
    if outer is None:
        return 0, None
    chosen = flow.follow(transform, outer)
    if isinstance(chosen.value, Const) and isinstance(chosen.value.value, int):
        return chosen.value.value, None
    if isinstance(chosen.value, Call) and flow.calls.callee_name(chosen) == "flax.nnx.DiffState" and chosen.value.args:
        position = flow.follow(chosen, chosen.value.args[0]).value
        number = position.value if isinstance(position, Const) and isinstance(position.value, int) else 0
        return number, chosen.value.args[1] if len(chosen.value.args) > 1 else None
    return 0, None


def hints(flow: Flow, event: CallEvent, scope: Scope) -> list[ast.expr]:
    """Return the expressions that the gradients of an update were taken of, in the scope of the update."""
    call = event.value
    grads = call.args[0] if call.args else call.keyword("grads")
    if grads is None:
        return []
    found = gradient(flow, flow.here(grads, scope))
    if found is None or found.call.frame is not flow.open_frame(scope):
        return []
    node = found.node
    return [node] if node is not None else []


def differentiated(flow: Flow, event: CallEvent, scope: Scope) -> Bound | None:
    """Return the value that the gradients of an update were taken of."""
    grads = event.value.args[0] if event.value.args else event.value.keyword("grads")
    found = gradient(flow, flow.here(grads, scope)) if grads is not None else None
    if found is None:
        return None
    call = found.call.value
    assert isinstance(call, Call)
    return flow.follow(found.call, call.args[found.argument]) if found.argument < len(call.args) else None
