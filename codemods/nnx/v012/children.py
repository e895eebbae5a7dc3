"""NNX625: walks over the children of a module that meet more than modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.nodes import last_word
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Each, Item

_NAME = "iter_children"
_NO_MODULES = frozenset({Objects.VARIABLE, Objects.RNGS, Objects.STREAM})
_TESTS = frozenset({"callable", "hasattr", "isinstance", "issubclass", "type"})
_COLLECTING = frozenset({"dict", "len", "list", "max", "min", "set", "sorted", "tuple"})


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``iter_children`` of what holds a Variable or streams, unless the class of each child is asked."""
    if "0.12" not in context.options.targets:
        return
    crosses = context.options.crosses("0.12")
    for event in context.asked.calls():
        callee = event.value.callee
        if not isinstance(callee, Attr) or callee.name != _NAME or event.node.args or event.node.keywords:
            continue
        if context.flow.calls.name(event) or not _holds_others(context, context.flow.here(callee.base, event.scope)):
            continue
        loop = _loop(event)
        if not crosses and not (loop is not None and _walked(context, loop)):
            continue  # code for 0.12 may want all of them
        if (loop is None and not _collected(event)) or (loop is not None and _told_apart(loop)):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "`iter_children` gives the Variables and streams of a module too since Flax 0.12.5, not its modules alone",
            "leave the others out: if isinstance(child, nnx.Module)",
            _fix(context, event, loop) if loop is not None else None,
        )


def _walked(context: Context, loop: ast.AST) -> bool:
    """Say whether a loop calls a function that asks what it gets for its children: a Variable has none."""
    called = {node.func.id for node in ast.walk(loop) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    asking = (event for event in context.project.calls() if last_word(event.node.func) == _NAME)
    return any(event.scope.function is not None and event.scope.function.name in called for event in asking)


def _holds_others(context: Context, module: Bound) -> bool:
    """Say whether a module surely holds a Variable, a Rngs or a stream itself."""
    sources = context.sources.originals(module)
    return any(_holds(context, source) for source in sources)


def _holds(context: Context, made: Bound) -> bool:
    flow, value = context.flow, made.value
    if isinstance(value, Indexed | Item) and isinstance(value.base, Round | Each):
        walk = flow.resolve(flow.with_value(made, value.base.base))  # the child of another: at last comes a layer
        return isinstance(walk.value, Call) and last_word(walk.value.node.func) == _NAME
    cls = flow.classes.class_of(made)
    if cls is None:
        name = flow.calls.callee_name(made) if isinstance(value, Call) else ""
        return name != "flax.nnx.Dropout" and class_kind(name) is Objects.MODULE
    if flow.classes.method(cls, _NAME) is not None:
        return False
    return any(
        context.kinds.only(flow.here(stored, method.scope)) in _NO_MODULES
        for parent in flow.classes.mro(cls)[0]
        for stores in parent.stores.values()
        for method, stored in stores
    )


def _loop(event: CallEvent) -> ast.For | ast.comprehension | None:
    """Return the loop that goes over the children."""
    loops = event.scope.module.source.of_type(ast.For, ast.comprehension)
    found = (one for one in loops if isinstance(one, ast.For | ast.comprehension) and one.iter is event.node)
    return next(found, None)


def _collected(event: CallEvent) -> bool:
    """Say whether all children are counted or put into a container."""
    calls = event.scope.module.source.of_type(ast.Call)
    return any(call.args[:1] == [event.node] and last_word(call.func) in _COLLECTING for call in calls)


def _told_apart(loop: ast.For | ast.comprehension) -> bool:
    """Say whether a loop asks what a child is, or its key, before it does something."""
    if isinstance(loop, ast.comprehension):
        return bool(loop.ifs)
    printed = _printed(loop)
    words = {last_word(n) for n in ast.walk(loop) if isinstance(n, ast.Name | ast.Attribute) and n not in printed}
    return bool(words & _TESTS)


def _printed(loop: ast.For) -> set[ast.AST]:
    """Return the `type` of each ``type(child).__name__`` that is only printed: that tells nothing apart."""
    shown = [n for n in ast.walk(loop) if isinstance(n, ast.JoinedStr) or _is_call(n, "print")]
    inside = {node for one in shown for node in ast.walk(one)}
    asked = [n for n in inside if isinstance(n, ast.Compare | ast.IfExp | ast.Subscript)]
    inside -= {node for one in asked for node in ast.walk(one)}
    names = (n for n in inside if isinstance(n, ast.Attribute) and n.attr in {"__name__", "__qualname__"})
    return {n.value.func for n in names if isinstance(n.value, ast.Call) and _is_call(n.value, "type")}


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _fix(context: Context, event: CallEvent, loop: ast.For | ast.comprehension) -> Fix | None:
    """Return the edits that leave out what is no module."""
    target, source = loop.target, event.scope.module.source
    module = spell(context.flow, event.scope, "Module")
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
        return None
    if module is None or not source.faithful(event.node):
        return None
    child = target.elts[1].id
    if isinstance(loop, ast.comprehension):
        end = source.span(event.node)[1]
        edit = Edit(end, end, f" if isinstance({child}, {module.text})".encode())
    else:
        first = loop.body[0]
        start = source.span(first)[0]
        line = source.data.rfind(b"\n", 0, start) + 1
        indent = source.data[line:start]
        if indent.strip() or not indent:  # behind the colon
            return None
        outer = source.data[source.data.rfind(b"\n", 0, source.span(loop)[0]) + 1 : source.span(loop)[0]]
        step = indent.removeprefix(outer) or indent
        text = f"if not isinstance({child}, {module.text}):".encode()
        edit = Edit(start, start, text + source.newline + indent + step + b"continue" + source.newline + indent)
    return Fix(tuple((source.path, one) for one in (edit, *module.edits)))


_BEFORE = """\
from flax import nnx


class Scaled(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.scale = nnx.Param(1.0)


def depth(module):
    return 1 + max((depth(child) for _, child in module.iter_children()), default=0)


net = Scaled(nnx.Rngs(0))
for name, child in net.iter_children():
    print(name, depth(child))
"""
_AFTER = _BEFORE.replace("module.iter_children()", "module.iter_children() if isinstance(child, nnx.Module)").replace(
    "    print(name", "    if not isinstance(child, nnx.Module):\n        continue\n    print(name"
)

RULE = Rule(
    code="NNX625",
    name="module-children",
    summary="iter_children of a module that holds Variables or streams",
    why="""\
`module.iter_children()` gave the modules in a module up to Flax 0.12.4. Since 0.12.5 it gives every node of the graph:
Variables, Rngs, streams and `nnx.List` as well. A walk that calls itself for each child then asks a Variable for its
children, which raises AttributeError, and what counts or collects children finds more of them.
`nnx.iter_module_children`, which 0.12.7 added, gives modules alone; a test of the class works on every version.

The rule speaks where the module holds something else for certain and the loop asks for no class.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.5",
    always=True,
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8; the code of 0.12.4 and 0.12.5",
    examples=(Example(_BEFORE, _AFTER, targets=("0.12",)),),
    check=check,
)
