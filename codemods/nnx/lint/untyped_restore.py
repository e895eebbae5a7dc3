"""NNX728: a state restored without a template is put into a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lost_updates import has_moments
from codemods.nnx.lint.orbax_calls import checkpointer_calls
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.lint.plain_state import plain_states, put_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Loop, Mapping, Value

_WAYS = 6  # through how many items and loops a value is followed


def _check(context: Context) -> Iterator[Finding]:
    found = list(plain_states(context, RULE.code))
    yield from found
    if not any(module.source.mentions(b"restore") for module in context.project.modules):
        return
    told = {(one.path, one.start) for one in found}
    yield from (one for one in _optimizer_states(context) if (one.path, one.start) not in told)
    yield from _pure_dicts(context)
    bare = _managed(context)
    if _saved_states(context):
        bare |= {event.node for event, _, _ in checkpointer_calls(context, "restore") if _bare(event)}
    if not bare:
        return
    for event, name in foreign(context, "update"):  # nnx.merge makes Variables of the dicts
        if name != "flax.nnx.update" or event.value.starred:
            continue
        for node, value in list(zip(event.node.args, event.value.args, strict=True))[1:]:
            restored = context.flow.resolve(context.flow.here(value, event.scope)).value
            if not isinstance(restored, Call) or restored.node not in bare:
                continue
            if not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    "what was restored without a template is dicts of {'value': array}, which become the values of the "
                    "model's Variables",
                    "give the template: checkpointer.restore(path, nnx.state(model))",
                    related=[(restored.node, "it is restored here")],
                )


def _pure_dicts(context: Context) -> Iterator[Finding]:
    """Yield the updates of models with lists of layers by pure dicts whose numbers Orbax has made strings."""
    if not any(module.source.mentions(b"to_pure_dict") for module in context.project.modules):
        return
    saved = [
        (event.value.argument(1, "state") or event.value.keyword("item"), event.scope)
        for event, _, _ in checkpointer_calls(context, "save")
    ]
    if not saved or not all(value is not None and _pure(context, value, scope) for value, scope in saved):
        return
    bare = {event.node for event, _, _ in checkpointer_calls(context, "restore") if _bare(event)}
    for event, name in foreign(context, "update"):
        if name != "flax.nnx.update" or event.value.starred or len(event.value.args) != 2:
            continue
        model, value = event.value.args
        restored = context.flow.resolve(context.flow.here(value, event.scope)).value
        if not isinstance(restored, Call) or restored.node not in bare:
            continue
        if _numbered(context, model, event.scope) and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node.args[1],
                "the places of a list of layers are numbers in the model, and strings in what was restored: KeyError",
                "state = nnx.state(model), nnx.replace_by_pure_dict(state, restored), and nnx.update(model, state)",
                related=[(restored.node, "it is restored here")],
            )


def _pure(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is what ``nnx.to_pure_dict`` made, wherever it comes from."""
    made = context.sources.originals(context.flow.here(value, scope))
    return bool(made) and all(
        isinstance(one.value, Call) and context.flow.calls.callee_name(one) == "flax.nnx.to_pure_dict" for one in made
    )


def _numbered(context: Context, model: Value, scope: Scope) -> bool:
    """Say whether a model is certainly of a class of the project whose layers stand in a list."""
    made = context.sources.originals(context.flow.here(model, scope))
    return bool(made) and all(_lists(context, one) for one in made)


def _lists(context: Context, one: Bound) -> bool:
    owner = context.flow.classes.class_of(one) if isinstance(one.value, Call) else None
    if owner is None:
        return context.flow.calls.callee_name(one) == "flax.nnx.Sequential" if isinstance(one.value, Call) else False
    setup = owner.methods.get("__init__")
    return setup is not None and any(
        context.flow.calls.name(event) in {"flax.nnx.List", "flax.nnx.Sequential"}
        for event in context.bodies.calls.get(setup.scope, ())
    )


def _optimizer_states(context: Context) -> Iterator[Finding]:
    """Yield the trees with a state of optax that are restored without a template, and given to a step again."""
    if not any(module.source.mentions(b"optax") for module in context.project.modules):
        return
    saved = [(event, event.value.argument(1, "state")) for event, _, _ in checkpointer_calls(context, "save")]
    keys = {key for event, value in saved if value is not None for key in _state_keys(context, value, event)}
    if len(keys) != 1:
        return
    key = keys.pop()
    if key in context.shared(put_in):
        return
    for event, _, _ in checkpointer_calls(context, "restore"):
        if not _bare(event) or context.bodies.guarded(event.node, event.scope):
            continue
        for place in _handed(context, event):
            statement = place.statement
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            calls = context.bodies.calls.get(place.scope, ())
            stepped = next((one for one in calls if _goes_on(context, one, place, name, key)), None)
            if stepped is not None:
                same = stepped.scope.module is event.scope.module
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"without a template optax's state in {key!r} comes back as dicts and lists, which no update takes",
                    "give the template: checkpointer.restore(path, state) with a state as it was made at first",
                    related=[(stepped.node, "it is given here")] if same else [],
                )
                break


def _handed(context: Context, event: CallEvent) -> list[CallEvent]:
    """Return the calls whose result is what was restored: the call itself, or those of the function that returns it."""
    statement = event.statement
    if getattr(statement, "value", None) is not event.node:
        return []
    function = event.scope.function
    if not isinstance(statement, ast.Return) or function is None or len(function.returns) != 1 or function.decorators:
        return [event]
    return context.flow.sites.callers(function)


def _state_keys(context: Context, value: Value, event: CallEvent) -> set[str]:
    """Return the keys of a saved dict under which states of optax stand."""
    found = set()
    for one in context.sources.originals(context.flow.here(value, event.scope)):
        for key, item in one.value.items if isinstance(one.value, Mapping) else ():
            made = context.flow.follow(one, item)
            call = made.value
            if not isinstance(key, Const) or not isinstance(key.value, str) or not isinstance(call, Call):
                continue
            if isinstance(call.callee, Attr) and call.callee.name == "init":
                base = context.flow.with_value(made, call.callee.base)
                made_by = context.sources.originals(base)
                if context.kinds.of(base) == {Kind.TRANSFORM} and all(has_moments(context, one) for one in made_by):
                    found.add(key.value)
    return found


def _goes_on(context: Context, call: CallEvent, restored: CallEvent, name: str, key: str) -> bool:
    """Say whether a call gives a restored dict, or its state of optax, to a function of the project that updates."""
    if call.node.lineno <= restored.node.lineno:
        return False
    given = [
        node for node in call.node.args
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Subscript) and ast.unparse(node) == f"{name}[{key!r}]")
    ]  # fmt: skip
    if not any(restored.value in _ways(call.scope.module.values.get(node)) for node in given):
        return False
    if last_word(call.node.func) == "update" and len(call.node.args) > 1 and call.node.args[1] in given:
        return not isinstance(call.node.args[1], ast.Name)  # the entry itself is given to optax
    return any(
        b".update(" in callee.function.scope.module.source.text(callee.function.node).encode()
        for callee, _ in context.flow.calls.invoked(context.flow.here(call.value, call.scope))
    )


def _ways(value: Value | None) -> list[Value]:
    """Return a value and what it is an item of, or was before a loop."""
    found: list[Value] = []
    while value is not None and len(found) < _WAYS:
        found.append(value)
        value = value.before if isinstance(value, Loop) else getattr(value, "base", None)
    return found


def _bare(event: CallEvent) -> bool:
    return len(event.value.args) == 1 and not event.value.keywords


def _managed(context: Context) -> set[ast.Call]:
    """Return the calls by which managers restore without a template, where they save states of NNX."""
    if not any(module.source.mentions(b"CheckpointManager") for module in context.project.modules):
        return set()
    saved = [value for e, n in foreign(context, "StandardSave", everywhere=True) if n.startswith("orbax.")
             for value in (kinds_of(context, e.value.args[0], e.scope) if e.value.args else frozenset(),)]  # fmt: skip
    if not saved or any(kinds != {Kind.STATE} for kinds in saved):
        return set()
    found = set()
    for event in context.bodies.named("restore"):
        callee = event.value.callee
        if isinstance(callee, Attr) and _bare(event):
            sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
            if sources and all(
                context.flow.calls.callee_name(s) == "orbax.checkpoint.CheckpointManager" for s in sources
            ):
                found.add(event.node)
    return found


def _saved_states(context: Context) -> bool:
    """Say whether all that checkpointers save is states of NNX."""
    saved = [
        (event.value.argument(1, "state") or event.value.keyword("item"), event.scope)
        for event, _, _ in checkpointer_calls(context, "save")
    ]
    return bool(saved) and all(
        value is not None and kinds_of(context, value, scope) == {Kind.STATE} for value, scope in saved
    )


RULE = lint_rule(
    "NNX728",
    "restored-without-template",
    "what was restored without a template is put into a model",
    why="""\
Orbax saves a Variable of a state as a dict with its `value`. Restored without a template, `checkpointer.restore(path)`
gives these dicts, and `nnx.update` puts each dict in the place of an array: nothing is said until the model is called.
With `nnx.state(model)` as the second argument a state comes back. The same goes for a state of optax, also where
`flax.serialization` restores it without a template.
""",
    source="google/flax issue 4308; measured on Flax 0.12.8: the values become dicts",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def reloaded(model: nnx.Module, path):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(path, nnx.state(model))
    checkpointer.wait_until_finished()
    nnx.update(model, checkpointer.restore(path))
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def reloaded(model: nnx.Module, path):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(path, nnx.state(model))
    checkpointer.wait_until_finished()
    nnx.update(model, checkpointer.restore(path, nnx.state(model)))
""",
    ),
)
