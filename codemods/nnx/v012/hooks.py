"""NNX617: hooks of Variables."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Class

_HOOKS = frozenset({"on_get_value", "on_set_value", "on_create_value", "on_add_axis", "on_remove_axis"})


def check(context: Context) -> Iterator[Finding]:
    """Yield hooks that are given to a Variable, or written as methods of a Variable class."""
    if not context.options.crosses("0.12"):
        return
    message = "hooks of Variables such as `{}` are deprecated since Flax 0.12.7"
    help = "derive a class from the Variable's and override get_value and set_value"
    for event in context.asked.calls():
        hooks = sorted(_HOOKS & {name for name, _ in event.value.keywords if name})
        callee = context.flow.here(event.value.callee, event.scope)
        if hooks and context.kinds.class_kinds(callee) == {Objects.VARIABLE}:
            yield finding("NNX617", event.scope, event.node, message.format(hooks[0]), help)
    for cls in context.asked.classes():
        hooks = sorted(_HOOKS & cls.methods.keys())
        if hooks and Objects.VARIABLE in context.kinds.class_kinds(Bound(Class(cls))):
            yield finding("NNX617", cls.scope, cls.methods[hooks[0]].node, message.format(hooks[0]), help)


RULE = Rule(
    code="NNX617",
    name="variable-hooks",
    summary="hooks that run when a Variable is read or written",
    why="""\
`on_get_value`, `on_set_value` and the other hooks of Variables warn since Flax 0.12.7, whether they are given to the
constructor or written as methods of a class. `get_value` and `set_value`, which take their place, can be overridden
since 0.12.1 only. The hooks work on, so the rule is only asked for by its code.
""",
    kind=Kind.SUGGESTED,
    safety=None,
    since="0.12.7",
    source="measured on Flax 0.11.2, 0.12.1 and 0.12.8; 0.12.7 is the first that has the warning",
    examples=(
        Example(
            before="""\
from flax import nnx

weight = nnx.Param(1.0, on_get_value=lambda variable, value: 2 * value)
""",
            targets=("0.12",),
            run=False,
        ),
        Example(
            before="""\
from flax import nnx


class Positive(nnx.Param):
    def on_set_value(self, value):
        return abs(value)
""",
            targets=("0.12",),
            run=False,
        ),
    ),
    check=check,
    default=False,
    always=True,
)
