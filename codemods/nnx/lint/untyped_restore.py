"""NNX728: a state restored without a template is put into a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.orbax_calls import checkpointer_calls
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.values import Attr, Call


def _check(context: Context) -> Iterator[Finding]:
    if not any(b"restore" in module.source.data for module in context.project.modules):
        return
    bare = _managed(context)
    if _saved_states(context):
        bare |= {event.node for event, _, _ in checkpointer_calls(context, "restore") if _bare(event)}
    if not bare:
        return
    for event, name in foreign(context, "update", "merge"):
        if name not in {"flax.nnx.update", "flax.nnx.merge"} or event.value.starred:
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


def _bare(event: CallEvent) -> bool:
    return len(event.value.args) == 1 and not event.value.keywords


def _managed(context: Context) -> set[ast.Call]:
    """Return the calls by which managers restore without a template, where they save states of NNX."""
    if not any(b"CheckpointManager" in module.source.data for module in context.project.modules):
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
With `nnx.state(model)` as the second argument a state comes back.
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
