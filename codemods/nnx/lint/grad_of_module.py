"""NNX817: gradients of JAX with respect to a module."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.rewrite import replace
from codemods.nnx.values import Call, Param, Value


def _check(context: Context) -> Iterator[Finding]:
    wanted = {event.node: event for event, name in foreign(context, "grad", "value_and_grad") if name in _NAMES}
    if not wanted:
        return
    grads = context.flow.may.made_by({last(name) for name in _NAMES})
    for call in context.project.calls():
        made = call.value.callee
        if not call.value.args or not grads.may_be(made):
            continue
        node = getattr(made, "node", None)
        if node not in wanted:
            resolved = context.flow.follow(context.flow.here(call.value, call.scope), made).value
            node = getattr(resolved, "node", None)
        event = wanted.get(node) if node is not None else None
        place = _place(event) if event is not None else None
        if event is None or place is None or call.value.starred or place >= len(call.value.args):
            continue
        if _module(context, call.value.args[place], call) and not _harmless(context, call.value.args[place], call):
            name = last(context.flow.calls.name(event))
            del wanted[event.node]
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"jax.{name} treats a module as a plain tree: state and keys are differentiated too",
                f"use nnx.{name}",
                _fix(context, event, name),
            )


def _place(event: CallEvent) -> int | None:
    """Return by which argument a gradient is taken; None if by several, or one that is not known."""
    given = argument(event.node, 1, "argnums")
    place = constant(given) if given is not None else 0
    return place if isinstance(place, int) and place >= 0 else None


_PLAIN = frozenset(
    f"flax.nnx.{name}" for name in ("Conv", "ConvTranspose", "Einsum", "Embed", "GroupNorm", "LayerNorm", "Linear",
                                    "LinearGeneral", "RMSNorm")
)  # fmt: skip
_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Pytree", "flax.nnx.Object"})
_DEPTH = 5
_NAMES = frozenset({"jax.grad", "jax.value_and_grad"})


def _module(context: Context, value: Value, call: CallEvent) -> bool:
    return Kind.MODULE in kinds_of(context, value, call.scope)


def _harmless(context: Context, value: Value, call: CallEvent) -> bool:
    """Say whether a gradient is right all the same: of a module with nothing but parameters for certain, which Flax
    0.10 refuses and no program for it has, and in a test, which shows it by running."""
    if in_test(call.scope):
        return True
    here = context.flow.here(value, call.scope)
    made = context.sources.originals(here)
    if made and all(_only_parameters(context, one) for one in made):
        return True
    found = context.flow.resolve(here)  # an annotation may tell of what functions of trees give back
    cls = context.flow.classes.class_of(found) if isinstance(found.value, Param) else None
    return cls is not None and all(_of_parameters(context, one, 0) for one in context.flow.classes.heirs(cls) or (cls,))


def _only_parameters(context: Context, made: Bound, depth: int = 0) -> bool:
    """Say whether a module holds parameters and layers of parameters alone, as far as its class tells."""
    if context.flow.calls.callee_name(made) in _PLAIN:
        return True
    cls = context.flow.classes.class_of(made)
    return cls is not None and _of_parameters(context, cls, depth)


def _of_parameters(context: Context, cls: ClassFacts, depth: int) -> bool:
    parents, names = context.flow.classes.mro(cls)
    if not parents or not names <= _BASES or depth > _DEPTH:
        return False
    stored = [one for parent in parents for stores in parent.stores.values() for one in stores]
    return all(
        _plain(context, part, depth)
        for function, value in stored
        for part in parts(context, context.flow.here(value, function.scope))
    )


def _plain(context: Context, held: Bound, depth: int) -> bool:
    """Say whether what a module holds is differentiated rightly: no state, no keys, no other Variable."""
    name = context.flow.calls.callee_name(held) if isinstance(held.value, Call) else ""
    if name in _PLAIN or name in {"flax.nnx.Param", "flax.nnx.List", "flax.nnx.Dict", "flax.nnx.Sequential"}:
        return True
    if isinstance(held.value, Call) and context.flow.classes.class_of(held) is not None:
        return _only_parameters(context, held, depth + 1)
    return not name.startswith("flax.nnx.") and not context.kinds.of(held) & {Kind.RNGS, Kind.VARIABLE, Kind.MODULE}


def _fix(context: Context, event: CallEvent, name: str) -> Fix | None:
    spelling = spell(context.flow, event.scope, name)
    if spelling is None:
        return None
    source = event.scope.module.source
    edits = (
        (source.path, replace(source, event.node.func, spelling.text)),
        *((source.path, e) for e in spelling.edits),
    )
    return Fix(edits, Safety.UNSAFE)


RULE = lint_rule(
    "NNX817",
    "jax-grad-of-module",
    "jax.grad or jax.value_and_grad of a module",
    why="""\
On Flax 0.10 `jax.grad` refuses a module. Since 0.11 it runs for modules that hold nothing but parameters; with
Dropout it fails on the integer keys, and with BatchNorm it fails, or gives gradients of the running statistics.
`nnx.grad` differentiates the `nnx.Param` only and gives an nnx.State.
""",
    source='talk "Introducing Flax NNX (Part 2)", sections 5 and 6; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    check=_check,
    mended=(
        (
            """\
import jax
from flax import nnx

model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
grads = jax.grad(lambda m: m.scale[...].sum())(model)
""",
            """\
import jax
from flax import nnx

model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
grads = nnx.grad(lambda m: m.scale[...].sum())(model)
""",
        ),
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

grads = jax.grad(lambda w: (w**2).sum())(jnp.ones(3))
""",
    ),
    safety=Safety.UNSAFE,
)
