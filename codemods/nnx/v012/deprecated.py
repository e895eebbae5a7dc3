"""NNX616: other names that 0.12 deprecates."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr

_FUNCTIONS = frozenset({"iter_modules", "iter_children"})
_METHODS = frozenset({"sow", "perturb"})


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of methods of modules that are functions now, and of those that have no plain successor."""
    if set(context.options.targets) != {"0.12"}:
        return
    for event in context.asked.calls():
        callee, func = event.value.callee, event.node.func
        if not isinstance(callee, Attr) or not isinstance(func, ast.Attribute):
            continue
        if callee.name not in _FUNCTIONS | _METHODS or not _of_module(context, callee, event.scope):
            continue
        fix = None
        help = "run the model under nnx.capture"
        if callee.name in _FUNCTIONS:
            help = f"call nnx.{callee.name}(module)"
            spelling = spell(context.flow, event.scope, callee.name)
            source = event.scope.module.source
            if spelling is not None and not event.node.args and source.faithful(event.node):
                text = f"{spelling.text}({source.text(func.value)})"
                edits = (Edit(*source.span(event.node), text.encode()), *spelling.edits)
                fix = Fix(tuple((source.path, edit) for edit in edits))
        message = f"the method `{callee.name}` of modules is deprecated since Flax 0.12.6"
        yield finding("NNX616", event.scope, event.node, message, help, fix)


def _of_module(context: Context, callee: Attr, scope: Scope) -> bool:
    """Say whether a method is that of ``nnx.Module``, on every way."""
    bound = context.flow.here(callee.base, scope)
    cls = context.flow.classes.class_of(context.flow.resolve(bound))
    if cls is not None and context.flow.classes.method(cls, callee.name) is not None:
        return False
    return context.kinds.only(bound) is Objects.MODULE


_BEFORE = """\
from flax import nnx

net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print([path for path, _ in net.iter_modules()])
"""

RULE = Rule(
    code="NNX616",
    name="deprecated-method",
    summary="methods of modules that 0.12 deprecates",
    why="""\
`module.iter_modules()` and `module.iter_children()` warn since Flax 0.12.6; `nnx.iter_modules(module)` and
`nnx.iter_children(module)` take their place. `module.sow` and `module.perturb` warn outside `nnx.capture`, which is
another way to run the model; they work on, so the rule is only asked for by its code.
""",
    kind=Kind.SUGGESTED,
    safety=Safety.SAFE,
    since="0.12.6",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(Example(_BEFORE, _BEFORE.replace("net.iter_modules()", "nnx.iter_modules(net)"), targets=("0.12",)),),
    check=check,
    default=False,
    always=True,
)
