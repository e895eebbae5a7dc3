"""NNX716: a checkpoint that is read before it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.orbax_calls import ASYNC, checkpointer_calls, path_of
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.unfinished_elsewhere import read_by_callers
from codemods.nnx.nodes import last_word

_WAITING = frozenset({"wait_until_finished", "close", "sleep", "join", "sync_global_devices"})
_LOOKING = frozenset({"exists", "listdir", "iterdir", "copytree", "is_dir", "isdir", "make_archive", "rglob", "glob"})

_LISTING = frozenset({"listdir", "iterdir", "glob", "scandir"})


def _check(context: Context) -> Iterator[Finding]:
    for read, saved in read_by_callers(context):
        yield finding(
            RULE.code,
            read.scope,
            read.node,
            f"`{last_word(saved.node.func)}` returns while the checkpoint is still being written in the background",
            "call wait_until_finished() of the checkpointer where it saves",
            related=[(saved.node, "saved here")],
        )
    calls = list(checkpointer_calls(context, "save", "restore"))
    readers = {event: source for event, _, source in calls if last_word(event.node.func) == "restore"}
    for event, word, source in calls:
        if last_word(event.node.func) != "save" or word not in ASYNC or event.loops or in_test(event.scope):
            continue
        path = path_of(event)
        if path is None:
            continue
        text = ast.unparse(path[0])
        parent, own = _parent(written(context, path[0], event.scope))
        for other in context.bodies.calls.get(event.scope, ()):
            if other.node.lineno <= event.node.lineno or not _behind(context, event, other):
                continue
            method = last_word(other.node.func)
            if method in _WAITING:
                break
            given = [ast.unparse(argument) for argument in other.node.args[:1]]
            reads = other in readers and readers[other] != source and given == [text]
            looks = method in _LOOKING and (
                given == [text]
                or (isinstance(other.node.func, ast.Attribute) and ast.unparse(other.node.func.value) == text)
            )
            if reads or looks or (parent and _looks_through(other, method, parent, own)):
                yield finding(
                    RULE.code,
                    event.scope,
                    other.node,
                    "the checkpoint is still being written: this checkpointer saves in the background",
                    f"call {ast.unparse(event.node.func).rpartition('.')[0]}.wait_until_finished() before",
                    related=[(event.node, "saved here")],
                )
                break


def _parent(path: ast.expr) -> tuple[str, str]:
    """Return the texts of the folder that a path is in, ``folder / "final"``, and of its name; empty if unknown."""
    parts: list[ast.expr] = []
    if isinstance(path, ast.BinOp) and isinstance(path.op, ast.Div):
        parts = [path.left, path.right]
    elif isinstance(path, ast.Call) and last_word(path.func) == "join" and len(path.args) == 2:
        parts = path.args
    return (ast.unparse(parts[0]), ast.unparse(parts[1])) if parts else ("", "")


def _looks_through(event: CallEvent, method: str, parent: str, own: str) -> bool:
    """Say whether a call copies the folder around a checkpoint, or goes through it for the name of that."""
    func = event.node.func
    through = ast.unparse(func.value) if isinstance(func, ast.Attribute) else ""
    if parent not in {through, *map(ast.unparse, event.node.args[:1])}:
        return False
    if method == "copytree":
        return True
    nodes = ast.walk(event.statement)
    return method in _LISTING and any(isinstance(n, ast.expr) and ast.unparse(n) == own for n in nodes)


def _behind(context: Context, save: CallEvent, other: CallEvent) -> bool:
    """Say whether a call comes after a save, within its ``with`` block if it stands in one that waits at its end."""
    paths = context.bodies.paths(save.scope)
    around = [block for block, _ in paths.get(save.node, ())]
    behind = [block for block, _ in paths.get(other.node, ())]
    if behind and isinstance(behind[-1], ast.For) and inside(other.node, behind[-1].iter):
        behind.pop()  # what a loop goes through stands before it
    return around == behind


RULE = lint_rule(
    "NNX716",
    "unfinished-checkpoint",
    "a checkpoint is read while it is still being written",
    why="""\
`StandardCheckpointer.save` and `AsyncCheckpointer.save` return at once and write in the background: the directory gets
its name when all is there. Another checkpointer, or the rest of the program, finds nothing until then.
""",
    source="Orbax documentation on asynchronous checkpointing; measured with Orbax: FileNotFoundError",
    severity="error",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def copied(model, path):
    ocp.StandardCheckpointer().save(path, nnx.state(model))
    return ocp.StandardCheckpointer().restore(path)
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def copied(model, path):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(path, nnx.state(model))
    checkpointer.wait_until_finished()
    return ocp.StandardCheckpointer().restore(path)
""",
    ),
)
