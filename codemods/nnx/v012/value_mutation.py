"""NNX604: containers in Variables that are changed in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Call, Comprehension, Mapping, Sequence

_METHODS = frozenset(
    {"append", "extend", "insert", "update", "pop", "popitem", "clear", "remove", "setdefault", "sort", "add"}
)


def mutated(context: Context) -> dict[ast.Attribute, ast.AST]:
    """Return the ``.value`` expressions whose content is changed in place, with the assignment or call that does it."""
    found: dict[ast.Attribute, ast.AST] = {}
    for event in context.project.attributes():
        if event.node.attr != "value":
            continue
        statement = event.statement
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign | ast.Delete):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Subscript) and target.value is event.node:
                found[event.node] = target
    for call in context.project.calls():
        func = call.node.func
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            content = func.value
            if isinstance(content, ast.Attribute) and content.attr == "value":
                found[content] = call.node
    return found


def check(context: Context) -> Iterator[Finding]:
    """Yield changes in place of what a Variable holds, if it is a list, dict or the like."""
    if not context.options.crosses("0.12"):
        return
    changes = mutated(context)
    if not changes:
        return
    variables = Variables(context)
    for event in variables.values():
        change = changes.get(event.node)
        if change is None or event.context != "load" or not variables.is_variable(event.base, event.scope):
            continue
        if not _holds_container(variables, event):
            continue
        source = event.scope.module.source
        fix = None
        if isinstance(change, ast.Subscript) and source.faithful(event.node):
            start, end = source.span(event.node.value)[1], source.span(event.node)[1]
            fix = Fix(((source.path, Edit(source.data.rindex(b".", start, end), end, b"")),))
        yield finding(
            "NNX604",
            event.scope,
            event.node,
            "since Flax 0.12.1 `.value` gives a copy of a list or dict, so this change is silently lost",
            "write to the Variable itself: variable[key] = ..., or read, change and assign the whole",
            fix,
        )


def _holds_container(variables: Variables, event: AttrEvent | CallEvent) -> bool:
    """Say whether a Variable was made with a list, dict or set."""
    assert isinstance(event, AttrEvent)
    for source in variables.context.sources.originals(variables.flow.here(event.base, event.scope)):
        content = source.value.argument(0, "value") if isinstance(source.value, Call) else None
        if content is None:
            continue
        found = variables.flow.follow(source, content)
        made = isinstance(found.value, Call) and variables.flow.callee_name(found) in {"builtins.dict", "builtins.list"}
        if made or isinstance(found.value, Sequence | Mapping | Comprehension):
            return variables.context.kinds.only(found) is not Objects.ARRAY
    return False


_BEFORE = """\
from flax import nnx

seen = nnx.Variable({"train": 1})
seen.value["train"] = 2
seen.value["test"] = 3
print(sorted(seen.value.items()))
"""

RULE = Rule(
    code="NNX604",
    name="value-mutation",
    summary="a list or dict in a Variable is changed in place",
    why="""\
Up to 0.12.0 `variable.value` was the content itself; since 0.12.1 it is a copy of every list, dict or other tree, so
that `variable.value[key] = x` changes the copy and nothing else. `variable[key] = x` writes to the content on all
versions.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.10.7 to 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace('.value["', '["'),
            targets=("0.12",),
        ),
    ),
    check=check,
)
