"""Calls of Orbax that write and read checkpoints, and what is known of their paths."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.command_line import is_parsed, option_word
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Unknown, Value

CHECKPOINTERS = frozenset({"StandardCheckpointer", "PyTreeCheckpointer", "Checkpointer", "AsyncCheckpointer"})
ASYNC = frozenset({"StandardCheckpointer", "AsyncCheckpointer"})
_MANAGER = "orbax.checkpoint.CheckpointManager"
_PATHS = frozenset({"pathlib.Path", "pathlib.PosixPath", "etils.epath.Path", "pathlib.PurePath"})
_WHOLE = pattern(r"/|[A-Za-z]:[\\/]|\\\\|[a-z0-9]+://")


def checkpointer_calls(context: Context, *methods: str) -> Iterator[tuple[CallEvent, str, Bound]]:
    """Yield the calls of methods of checkpointers that take a path first, with the class and the checkpointer.

    Args:
        context: the analysis.
        methods: their names.
    """
    if not any(module.source.mentions(b"orbax") for module in context.project.modules):
        return
    for event in context.bodies.named(*methods):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or event.value.starred:
            continue
        sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        names = {context.flow.calls.callee_name(source) for source in sources}
        if len(sources) == 1 and all(n.startswith("orbax.checkpoint") and last(n) in CHECKPOINTERS for n in names):
            yield event, last(names.pop()), sources[0]


def manager_saves(context: Context) -> Iterator[tuple[CallEvent, list[Bound]]]:
    """Yield the saves of a CheckpointManager that no ``try`` is around, with the calls that may have made it.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"CheckpointManager") for module in context.project.modules):
        return
    for event in context.bodies.named("save"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or event.value.starred:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        made = [isinstance(s.value, Call) and context.flow.calls.callee_name(s) == _MANAGER for s in sources]
        if made and all(made):
            yield event, sources


def path_of(event: CallEvent, name: str = "directory") -> tuple[ast.expr, Value] | None:
    """Return the path that a call is given, as an expression and a value.

    Args:
        event: the call.
        name: the name of the argument.
    """
    value = event.value.argument(0, name)
    node = argument(event.node, 0, name)
    return None if value is None or node is None else (node, value)


def relative(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a path is certainly relative to the working directory, in whatever way it comes here."""
    if depth > 6:
        return False
    sources = list(context.sources.originals(bound))
    return bool(sources) and all(_relative(context, source, depth) for source in sources)


def _relative(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if isinstance(value, Const):
        return _starts(value.value)
    if isinstance(value, Attr):
        return _starts(_default(context, source, value))
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(source)
        if name == "os.path.join" and len(value.args) > 1:
            rest = zip(value.node.args[1:], value.args[1:], strict=False)
            if value.starred or not all(_joined(context, source, node, part, depth) for node, part in rest):
                return False
        elif not (name in _PATHS or name in {"builtins.str", "os.fspath"}) or len(value.args) != 1:
            return False
        return relative(context, context.flow.with_value(source, value.args[0]), depth + 1)
    if isinstance(value, Unknown):
        node = value.node
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            if isinstance(first, ast.FormattedValue) and len(node.values) > 1:
                for module in context.project.modules:
                    if first.value in module.values:
                        begin = context.flow.with_value(source, module.values[first.value])
                        return relative(context, begin, depth + 1)
            return isinstance(first, ast.Constant) and _starts(first.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
            for module in context.project.modules:
                if node.left in module.values:
                    right = module.values.get(node.right)
                    known = _piece(node.right) or (right and _joined(context, source, node.right, right, depth))
                    if isinstance(node.op, ast.Div) and not known:
                        return False
                    left = context.flow.with_value(source, module.values[node.left])
                    return relative(context, left, depth + 1)
    return False


def _default(context: Context, source: Bound, option: Attr) -> object:
    """Return the default of an option of the command line, ``args.out``; None if it is none, or has none."""
    if not is_parsed(context.flow.resolve(context.flow.with_value(source, option.base)).value):
        return None
    found = [
        event.node
        for event in context.bodies.named("add_argument")
        if any(option_word(one) == option.name for one in event.node.args)
    ]
    kind = keyword(found[0], "type") if len(found) == 1 else None
    if len(found) != 1 or (kind is not None and last_word(kind) not in {"str", "Path"}):
        return None  # what else a type may be makes something of the default
    return constant(keyword(found[0], "default"))


def _joined(context: Context, source: Bound, node: ast.expr, value: Value, depth: int) -> bool:
    """Say whether a part of a path is none that starts anew, also one that the callers give."""
    return _is_piece(node, value) or relative(context, context.flow.with_value(source, value), depth + 1)


def _starts(text: object) -> bool:
    return isinstance(text, str) and bool(text) and not _WHOLE.match(text)


def _is_piece(node: ast.expr, value: Value) -> bool:
    """Say the same of an argument, also of one that has a name."""
    made = getattr(value, "node", None) if isinstance(node, ast.Name) else node
    return _starts(value.value) if isinstance(value, Const) else isinstance(made, ast.expr) and _piece(made)


def _piece(node: ast.expr) -> bool:
    """Say whether a part of a path is certainly none that starts anew."""
    if isinstance(node, ast.Constant):
        return _starts(node.value)
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return isinstance(first, ast.Constant) and _starts(first.value)
    return isinstance(node, ast.Call) and last_word(node.func) in {"str", "format"}


def managers(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls that make something for a directory of checkpoints."""
    for event, name in foreign(context, "CheckpointManager", "save_checkpoint"):
        if name.startswith(("orbax.checkpoint", "flax.training.checkpoints")) and not event.value.starred:
            yield event, name
