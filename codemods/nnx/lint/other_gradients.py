"""NNX890: an optimizer that gets the gradients of another model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.narrow_gradients import narrow_gradients
from codemods.nnx.lint.places import foreign, in_test, kinds_of, receiver
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Const, Item, Param, Ref, Value

_OPTIMIZER = pattern(r"(^|_)(opt|optim|optimizer|optimiser|tx)(_|$|\d)", re.I)


def _check(context: Context) -> Iterator[Finding]:
    yield from narrow_gradients(context, RULE.code)
    yield from _of_arrays(context)
    yield from _of_states(context)
    for event in context.bodies.named("update"):
        model, grads = event.value.argument(0, "model"), event.value.argument(1, "grads")
        if model is None or grads is None or event.value.starred or not isinstance(event.value.callee, Attr):
            continue
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        call = _gradient_call(grads)
        if call is None or call.starred or call.keywords:
            continue
        place = _differentiated(context, call, event)
        place = _one_of_several(context, call, event, grads) if place is None else place
        if place is None or place >= len(call.args):
            continue
        kinds = kinds_of(context, event.value.callee.base, event.scope)
        own = call.args[place]
        if (kinds and Kind.OPTIMIZER not in kinds) or _same(context, own, model, event):
            continue
        given = next((i for i, arg in enumerate(call.args) if i != place and _same(context, arg, model, event)), None)
        models = not kinds and _two_called(own, model, event)
        if not kinds and ((given is None and not models) or not _called_so(context, event, call)):
            continue
        two = models or _two_models(context, own, model, event)
        if given is not None or (two and not _made_for(context, event, own)):
            yield _told(event, "model", call, place, given)


def _called_so(context: Context, event: CallEvent, call: Call) -> bool:
    """Say whether what gets the gradients that NNX took of a model has the name of an optimizer."""
    assert isinstance(event.node.func, ast.Attribute)
    names = {
        context.flow.calls.wrapper_name(layer, layer.value)
        for layer in layers(context, context.flow.here(call.callee, event.scope))
        if isinstance(layer.value, Call)
    }
    taken = bool(names & {name for name in GRADIENTS if name.startswith("flax.nnx.")})
    return taken and _OPTIMIZER.search(last_word(event.node.func.value)) is not None


def _of_arrays(context: Context) -> Iterator[Finding]:
    """Yield the steps of optax that are applied to another argument than the one that was differentiated."""
    for event, name in foreign(context, "apply_updates"):
        params, updates = event.value.argument(0, "params"), event.value.argument(1, "updates")
        made = updates.base if isinstance(updates, Item) and updates.index == Const(0) else None
        if name != "optax.apply_updates" or params is None or not isinstance(made, Call) or in_test(event.scope):
            continue
        if not isinstance(made.callee, Attr) or made.callee.name != "update" or not made.args:
            continue
        call = _gradient_call(made.args[0])
        if call is None or call.starred or call.keywords:
            continue
        place = _differentiated(context, call, event)
        if place is None or place >= len(call.args) or _alike(context, call.args[place], params, event):
            continue
        given = next((i for i, arg in enumerate(call.args) if i != place and arg == params), None)
        if given is not None:
            yield _told(event, "params", call, place, given)


def _of_states(context: Context) -> Iterator[Finding]:
    """Yield the TrainStates of a step that get gradients of the parameters of another one, which learns there too."""
    stepping = [e for e in context.bodies.named("apply_gradients") if _own_state(e) is not None]
    for event in stepping:
        state, grads = _own_state(event), event.value.keyword("grads")
        call = _gradient_call(grads) if grads is not None else None
        if call is None or call.starred or call.keywords or in_test(event.scope):
            continue
        if event.scope.module not in context.asked or not _is_gradient(context, call, event, grads):
            continue
        place = _differentiated(context, call, event)
        given = call.args[place] if place is not None and place < len(call.args) else None
        if not isinstance(given, Attr) or given.name != "params" or not isinstance(given.base, Param):
            continue
        if given.base is state or given.base.function is not event.scope.function:
            continue
        if not any(other.scope is event.scope and _own_state(other) is given.base for other in stepping):
            continue  # perhaps parameters a few steps ahead
        text = event.scope.module.source.text
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"these gradients are those of `{text(call.node.args[place or 0])}`, "
            f"and `{text(receiver(event))}` is updated with them",
            "take the gradients of its own params",
            related=[(call.node, "the gradients are taken here")],
        )


def _own_state(event: CallEvent) -> Param | None:
    """Return the argument of a function whose method a call is of."""
    callee = event.value.callee
    base = callee.base if isinstance(callee, Attr) else None
    return base if isinstance(base, Param) and base.function is event.scope.function else None


def _is_gradient(context: Context, call: Call, event: CallEvent, grads: Value | None) -> bool:
    """Say whether a value is what a gradient call gives, and not the value or the rest beside it."""
    found = gradient(context.flow, context.flow.here(grads, event.scope)) if grads is not None else None
    return found is not None and (not isinstance(grads, Item) or grads == Item(call, Const(1)))


def _told(event: CallEvent, updated: str, call: Call, place: int, given: int | None) -> Finding:
    """Return what is said of an update with the gradients of another argument.

    Args:
        event: the update.
        updated: the name of its first parameter.
        call: what gave the gradients.
        place: the argument of that which was differentiated.
        given: the argument that is updated; None if it is none of them.
    """
    text = event.scope.module.source.text
    return finding(
        RULE.code,
        event.scope,
        event.node,
        f"these gradients are those of `{text(call.node.args[place])}`, "
        f"and `{text(_node(event, updated, 0))}` is updated with them",
        f"take the gradients of that argument: argnums={given}"
        if given is not None
        else "give every optimizer the gradients of its own model",
        related=[(call.node, "the gradients are taken here")],
    )


def _alike(context: Context, one: Value, params: Value, event: CallEvent) -> bool:
    """Say whether what was differentiated is what is updated, or may have been made of it."""
    if _same(context, one, params, event):
        return True
    flow = context.flow
    made = context.sources.originals(flow.here(one, event.scope))
    own = {bound.value for bound in context.sources.originals(flow.here(params, event.scope))}
    return any(bound.value in own for bound in made)


def _node(event: CallEvent, name: str, position: int) -> ast.expr:
    found = keyword(event.node, name)
    return found if found is not None else event.node.args[position]


def _gradient_call(grads: Value) -> Call | None:
    """Return the call that gave gradients, itself or as a part of its result."""
    while isinstance(grads, Item):
        grads = grads.base
    return grads if isinstance(grads, Call) else None


def _differentiated(context: Context, call: Call, event: CallEvent) -> int | None:
    """Return the place of the argument whose gradients a call gives; None if that is not known, or more than one."""
    for layer in layers(context, context.flow.here(call.callee, event.scope)):
        made = layer.value
        assert isinstance(made, Call)
        if context.flow.calls.wrapper_name(layer, made) in GRADIENTS:
            if any(key is None for key, _ in made.keywords):
                return None
            chosen = made.argument(1, "argnums")
            if chosen is None:
                options = made.callee if isinstance(made.callee, Call) else None  # @partial(nnx.grad, argnums=1)
                chosen = options.keyword("argnums") if options is not None else None
            return 0 if chosen is None else _number(context, layer, chosen)
    return None


def _one_of_several(context: Context, call: Call, event: CallEvent, grads: Value) -> int | None:
    """Return the place of the argument whose gradients are one of several that a call gives."""
    if not isinstance(grads, Item) or not isinstance(grads.index, Const):
        return None
    for layer in layers(context, context.flow.here(call.callee, event.scope)):
        made = layer.value
        name = context.flow.calls.wrapper_name(layer, made) if isinstance(made, Call) else ""
        if not isinstance(made, Call) or name not in GRADIENTS or made.keyword("has_aux") is not None:
            continue
        chosen = made.argument(1, "argnums")
        numbers = constant(getattr(chosen, "node", None))
        whole = grads.base.base if name.endswith("value_and_grad") and isinstance(grads.base, Item) else grads.base
        index = grads.index.value
        if whole is not call or not isinstance(numbers, tuple) or not isinstance(index, int):
            return None
        if grads.base is not whole and getattr(grads.base, "index", None) != Const(1):
            return None
        place = numbers[index] if -len(numbers) <= index < len(numbers) else None
        return place if type(place) is int and place >= 0 else None
    return None


def _number(context: Context, layer: Bound, chosen: Value) -> int | None:
    found = context.flow.follow(layer, chosen)
    if isinstance(found.value, Call) and context.flow.calls.callee_name(found) == "flax.nnx.DiffState":
        first = found.value.argument(0, "argnum")
        found = context.flow.follow(found, first) if first is not None else found
    number = found.value.value if isinstance(found.value, Const) else constant(getattr(found.value, "node", None))
    return number if type(number) is int and number >= 0 else None


def _same(context: Context, one: Value, other: Value, event: CallEvent) -> bool:
    if one is other or one == other:
        return True
    flow = context.flow
    first, second = flow.resolve(flow.here(one, event.scope)), flow.resolve(flow.here(other, event.scope))
    return first == second or flow.identity.same(first, second)


def _made_for(context: Context, event: CallEvent, model: Value) -> bool:
    """Say whether the optimizer was made for a model: then it is the one beside the gradients that is wrong, NNX854."""
    assert isinstance(event.value.callee, Attr)
    made = context.flow.resolve(context.flow.here(event.value.callee.base, event.scope))
    if not isinstance(made.value, Call) or not made.value.args:
        return False
    own = context.flow.follow(made, made.value.args[0])
    return own.value is context.flow.resolve(context.flow.here(model, event.scope)).value


def _two_models(context: Context, one: Value, other: Value, event: CallEvent) -> bool:
    """Say whether two values are models that two constructors made, or two parameters that are models."""
    flow = context.flow
    first, second = flow.resolve(flow.here(one, event.scope)), flow.resolve(flow.here(other, event.scope))
    if isinstance(first.value, Param) and isinstance(second.value, Param):
        return (
            first.value.function is second.value.function
            and isinstance(one, Param | Attr)
            and all(context.kinds.of(b) == {Kind.MODULE} for b in (first, second))
        )
    return all(_constructed(context, b) for b in (first, second)) and first.value is not second.value


def _two_called(one: Value, other: Value, event: CallEvent) -> bool:
    """Say whether two values are parameters of a function that calls both of them."""
    function = event.scope.function
    if not isinstance(one, Param) or not isinstance(other, Param) or not one.function is other.function is function:
        return False
    called = {n.func.id for n in ast.walk(function.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return one is not other and {one.name, other.name} <= called


def _constructed(context: Context, bound: Bound) -> bool:
    value = bound.value
    if not isinstance(value, Call) or context.kinds.of(bound) != {Kind.MODULE}:
        return False
    return isinstance(context.flow.follow(bound, value.callee).value, Class | Ref)


RULE = lint_rule(
    "NNX890",
    "other-gradients",
    "an optimizer gets the gradients of another model, or of a part of what it takes",
    why="""\
`grad` and `value_and_grad` differentiate their first argument unless `argnums` says otherwise. In a step with two
models it is easily the other one whose gradients come back: models of one shape are then trained with wrong gradients,
without an error, and others raise one about tree structures. So does an optimizer with `wrt=nnx.Param` that gets the
gradients of the Params that the filter of an `nnx.DiffState` chooses.
""",
    source="measured on Flax 0.11.2 and 0.12.8: wrong weights, or ValueError in the optimizer",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


def generator_loss(critic, generator, z):
    return -critic(generator(z)).mean()


critic = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
generator = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
optimizer = nnx.Optimizer(generator, optax.adam(1e-3), wrt=nnx.Param)


def step(z):
    loss, grads = nnx.value_and_grad(generator_loss)(critic, generator, z)
    optimizer.update(generator, grads)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


def generator_loss(critic, generator, z):
    return -critic(generator(z)).mean()


critic = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
generator = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
optimizer = nnx.Optimizer(generator, optax.adam(1e-3), wrt=nnx.Param)


def step(z):
    loss, grads = nnx.value_and_grad(generator_loss, argnums=1)(critic, generator, z)
    optimizer.update(generator, grads)
""",
    ),
)
