"""NNX878: the two results of an update of optax the wrong way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exchanged_averages import exchanged_averages
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.lint.polyak import misplaced_averages
from codemods.nnx.lint.subtracted_updates import subtracted_updates
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item

_STATE = pattern(r"state", re.I)
_GRADIENTS = pattern(r"grad", re.I)
_PARAMS = pattern(r"\w*(params|weights)", re.I)
_UPDATES = pattern(r"update|delta|step", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for average, message, help in (*misplaced_averages(context), *exchanged_averages(context)):
        yield finding(RULE.code, average.scope, average.node, message, help)
    for scope, node in subtracted_updates(context):
        message = "the updates of an optimizer are to be added: taken off, each step climbs"
        yield finding(RULE.code, scope, node, message, "params = optax.apply_updates(params, updates)")
    for event, name in foreign(context, "apply_updates"):
        given = event.value.argument(1, "updates") if name == "optax.apply_updates" else None
        if isinstance(given, Call) and isinstance(given.callee, Attr) and given.callee.name == "update":
            if len(given.args) >= 2 and kinds_of(context, given.callee.base, event.scope) == {Kind.TRANSFORM}:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "an update of optax gives two results, the updates and the new state: here the pair is applied",
                    "unpack it: updates, opt_state = tx.update(grads, opt_state, params)",
                    related=[(given.node, "made here")],
                )
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        assert isinstance(target, ast.Tuple)
        if event.scope.module not in context.asked or len(target.elts) != 2 or not _updates(context, event):
            continue
        order = _exchanged(context, event)
        if order:
            words = f"an update of optax takes the {order}"
            yield finding(
                RULE.code, event.scope, event.node, words, "write it as `tx.update(grads, opt_state, params)`"
            )
            continue
        word = last_word(target.elts[0])
        if _for_weights(context, event, target.elts[0]):
            yield finding(
                RULE.code,
                event.scope,
                target,
                f"an update of optax gives what is to be added: here it takes the place of `{word}`",
                "add it to them: params = optax.apply_updates(params, updates)",
            )
            continue
        first, second = map(last_word, target.elts)
        if not _swapped(context, event) and not (
            _STATE.search(first) and not _STATE.search(second) and _UPDATES.search(second)
        ):
            continue
        yield finding(
            RULE.code,
            event.scope,
            target,
            "an update of optax gives the updates first and the new state second",
            "unpack it as `updates, opt_state = ...`",
        )


def _for_weights(context: Context, event: CallEvent, target: ast.expr) -> bool:
    """Say whether the updates get the name of the parameters, and are not added to others afterwards."""
    word, words = last_word(target), [last_word(argument) for argument in event.node.args[:3]]
    if not isinstance(target, ast.Name) or _PARAMS.fullmatch(word) is None or word == words[0] or words[2:3] != [word]:
        return False
    return not any(
        last_word(argument) == word
        for other in context.bodies.calls.get(event.scope, ())
        if last_word(other.node.func) in {"apply_updates", "tree_map", "map"}
        for argument in other.node.args[1:]
    )


def _exchanged(context: Context, event: CallEvent) -> str:
    """Return which two arguments of an update are given in each other's place; empty if none are."""
    words = [last_word(argument) for argument in event.node.args[:3]]
    named = _STATE.search(words[0]) and not _STATE.search(words[1]) and _GRADIENTS.search(words[1])
    begun = [_begun(context, event, place) for place in range(min(len(event.value.args), 3))]
    if len(begun) == 2 and not begun[1] and _applied_to(context, event):
        return "state second and the parameters third"
    if (len(begun) == 3 and begun[2] and not (begun[0] or begun[1])) or _params_second(words, begun):
        return "state second and the parameters third"
    if len(words) > 2 and _PARAMS.fullmatch(words[0]) and _GRADIENTS.match(words[2]):
        return "gradients first and the parameters third"
    return "gradients first and the state second" if named or (begun[0] and not begun[1]) else ""


def _applications(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, Item]]:
    """Yield the calls of ``optax.apply_updates`` in the same body that get a result of an update, with that."""
    for other, name in foreign(context, "apply_updates"):
        given = other.value.argument(1, "updates") if name == "optax.apply_updates" else None
        if other.scope is event.scope and isinstance(given, Item) and given.base is event.value:
            yield other, given


def _applied_to(context: Context, event: CallEvent) -> bool:
    """Say whether the second argument is what the updates are added to: the parameters."""
    text = ast.unparse(event.node.args[1])
    return any(
        given.index == Const(0) and bool(other.node.args) and ast.unparse(other.node.args[0]) == text
        for other, given in _applications(context, event)
    )


def _params_second(words: list[str], begun: list[bool]) -> bool:
    """Say whether the names of three arguments tell that the parameters stand where the state belongs."""
    if len(words) < 3 or begun[1] or _STATE.search(words[1]):
        return False
    return _PARAMS.fullmatch(words[1]) is not None and _STATE.search(words[2]) is not None


def _begun(context: Context, event: CallEvent, place: int) -> bool:
    """Say whether an argument is, on some way, the state that ``init`` of a transformation gave."""
    for source in context.sources.originals(context.flow.here(event.value.args[place], event.scope)):
        callee = source.value.callee if isinstance(source.value, Call) else None
        if isinstance(callee, Attr) and callee.name == "init":
            if Kind.TRANSFORM in context.kinds.of(context.flow.with_value(source, callee.base)):
                return True
    return False


def _updates(context: Context, event: CallEvent) -> bool:
    """Say whether a call is ``update(gradients, state)`` of a transformation of optax."""
    callee = event.value.callee
    if len(event.value.args) < 2 or len(event.node.args) < 2:
        return False
    if isinstance(event.node.func, ast.Name) and _IN_VARIABLE.search(event.node.func.id):
        return any(_applications(context, event))
    if not isinstance(callee, Attr) or callee.name != "update":
        return False
    return Kind.TRANSFORM in kinds_of(context, callee.base, event.scope) and not _own_order(context, event)


_IN_VARIABLE = pattern(r"^(opt|optimi[sz]er|tx)_?update(_?fn|_?func)?$")  # the function of a transformation


def _own_order(context: Context, event: CallEvent) -> bool:
    """Say whether the transformation is made of an update of the project that takes the state elsewhere than second."""
    assert isinstance(event.value.callee, Attr)
    for made in context.sources.originals(context.flow.here(event.value.callee.base, event.scope)):
        if not isinstance(made.value, Call) or last(context.flow.calls.callee_name(made)) not in _MADE:
            continue
        update = made.value.argument(1, "update")
        for callee in context.flow.calls.callables(context.flow.with_value(made, update)) if update is not None else ():
            params = list(callee.function.params)[len(callee.args) + int(callee.receiver is not None) :]
            if any(_STATE.search(name) for name in params) and not any(_STATE.search(name) for name in params[1:2]):
                return True
    return False


_MADE = frozenset({"GradientTransformation", "GradientTransformationExtraArgs"})


def _swapped(context: Context, event: CallEvent) -> bool:
    """Say whether the second result is applied to parameters."""
    return any(given.index == Const(1) for _, given in _applications(context, event))


RULE = lint_rule(
    "NNX878",
    "state-first",
    "an update of optax with its arguments or results the wrong way round",
    why="""\
`tx.update(grads, opt_state)` gives the updates first and the state second. Swapped, the state is applied to the
parameters, which raises an error about tree structures. The updates are no parameters: `apply_updates` adds them.
Where an average follows a network, as a target network does, the order tells which of both moves: exchanged, the one
that learns is pulled back to its own average in every step, and the average stays as it is. The updates carry their
sign: taken off the parameters, as gradients are, each step climbs.
""",
    source="optax documentation; measured on optax 0.2: ValueError about tree structures",
    severity="error",
    check=_check,
    bad=(
        """\
import optax

tx = optax.adam(1e-3)


def step(params, opt_state, grads):
    opt_state, updates = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
    ),
    clean=(
        """\
import optax

tx = optax.adam(1e-3)


def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
    ),
)
