"""NNX604: containers in Variables that are changed in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Call, Comprehension, Mapping, Sequence

# methods of lists and dicts
_METHODS = frozenset(
    {"append", "extend", "insert", "update", "pop", "popitem", "clear", "remove", "setdefault", "sort", "reverse"}
)
_MAKERS = frozenset({"builtins.dict", "builtins.list"})


def mutated(context: Context) -> dict[ast.Attribute, ast.Subscript | ast.Call]:
    """Return the ``.value`` expressions whose content is changed in place, with the target or call that does it."""
    changes: list[tuple[ast.expr, ast.Subscript | ast.Call]] = []
    for module in context.project.modules:
        changes += [(store.node, store.node) for store in module.item_stores]
    for event in context.project.attributes():
        if event.node.attr == "value" and isinstance(event.statement, ast.Delete):
            changes += [(target, target) for target in event.statement.targets if isinstance(target, ast.Subscript)]
    for call in context.project.calls():
        if isinstance(call.node.func, ast.Attribute) and call.node.func.attr in _METHODS:
            changes.append((call.node.func.value, call.node))
    found: dict[ast.Attribute, ast.Subscript | ast.Call] = {}
    for content, change in changes:
        while isinstance(content, ast.Subscript):
            content = content.value
        if isinstance(content, ast.Attribute) and content.attr == "value":
            found[content] = change
    return found


def check(context: Context) -> Iterator[Finding]:
    """Yield changes in place of what a Variable holds, if it is a list or dict."""
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
        if _holds_container(variables, event):
            yield finding(
                "NNX604",
                event.scope,
                event.node,
                "since Flax 0.12.1 `.value` gives a copy of a list or dict, so this change is silently lost",
                f"write to the Variable itself: variable[key] = x, or change the content: variable.{_content(context)}"
                ".append(x)",
                _fix(context, event, change),
            )


def _fix(context: Context, event: AttrEvent, change: ast.Subscript | ast.Call) -> Fix | None:
    """Return the edit that writes an element through the Variable itself, or changes the content that it holds."""
    source = event.scope.module.source
    if not source.faithful(event.node):
        return None
    start, end = source.span(event.node.value)[1], source.span(event.node)[1]
    dot = source.data.rindex(b".", start, end)
    # Variables delete no elements before 0.12
    deleted = isinstance(change.ctx, ast.Del) if isinstance(change, ast.Subscript) else False
    if isinstance(change, ast.Subscript) and change.value is event.node:
        if not deleted or set(context.options.targets) == {"0.12"}:
            return Fix(((source.path, Edit(dot, end, b"")),))
    if _hooked(context, event):
        return None
    return Fix(((source.path, Edit(dot + 1, end, _content(context).encode())),))


def _content(context: Context) -> str:
    """Return what gives the content itself: 0.12.1 deprecates the one name, which the other versions need."""
    return "get_raw_value()" if set(context.options.targets) == {"0.12"} else "raw_value"


def _hooked(context: Context, event: AttrEvent) -> bool:
    """Say whether a Variable may be of a class whose hook decides what ``value`` gives."""
    flow = context.flow
    classes = [flow.classes.class_of(one) for one in context.sources.originals(flow.here(event.base, event.scope))]
    return any(cls is not None and flow.classes.method(cls, "on_get_value") is not None for cls in classes)


def _holds_container(variables: Variables, event: AttrEvent) -> bool:
    """Say whether a Variable was made with a list or dict; sets are not copied."""
    for source in variables.context.sources.originals(variables.flow.here(event.base, event.scope)):
        content = source.value.argument(0, "value") if isinstance(source.value, Call) else None
        if content is None:
            continue
        made = variables.flow.with_value(source, content)
        if isinstance(content, Call) and variables.flow.calls.callee_name(made) in _MAKERS:
            return True
        found = variables.flow.resolve(made).value
        if isinstance(found, Mapping | Comprehension) or (
            isinstance(found, Sequence) and not isinstance(found.node, ast.Set)
        ):
            return True
    return False


_BEFORE = """\
from flax import nnx

seen = nnx.Variable({"train": 1})
seen.value["train"] = 2
seen.value["test"] = 3
seen.value.update(last=4)
print(sorted(seen.value.items()))
"""

RULE = Rule(
    code="NNX604",
    name="value-mutation",
    summary="a list or dict in a Variable is changed in place",
    why="""\
Up to 0.12.0 `variable.value` was the content itself; since 0.12.1 it is a copy of every list, dict or other tree, so
that `variable.value[key] = x` changes the copy and nothing else. `variable[key] = x` writes to the content on all
versions, and `raw_value` is the content itself, which methods such as `append` change; since 0.12.1 it is deprecated
for `get_raw_value()`, which older versions do not have.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.10.7 to 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace('.value["', '["').replace(".value.update", ".get_raw_value().update"),
            targets=("0.12",),
        ),
    ),
    check=check,
)
