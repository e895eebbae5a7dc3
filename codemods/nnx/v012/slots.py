"""NNX615: ``__slots__`` of NNX classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Class

_OBJECTS = frozenset({Objects.MODULE, Objects.METRIC, Objects.OPTIMIZER, Objects.RNGS})


def check(context: Context) -> Iterator[Finding]:
    """Yield ``__slots__`` with names in it, of classes that derive from NNX's."""
    if not context.options.crosses("0.12"):
        return
    for cls in context.asked.classes():
        for statement in cls.node.body:
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or not _is_slots(statement):
                continue
            if context.kinds.class_kinds(Bound(Class(cls))) & _OBJECTS:
                message = "NNX objects refuse __slots__ since Flax 0.12"
                help = "delete it; NNX objects have a __dict__ anyway"
                yield finding("NNX615", cls.scope, statement, message, help, _fix(cls, statement))


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _is_slots(statement: ast.Assign | ast.AnnAssign) -> bool:
    named = any(isinstance(t, ast.Name) and t.id == "__slots__" for t in _targets(statement))
    empty = isinstance(statement.value, ast.Tuple | ast.List) and not statement.value.elts
    return named and statement.value is not None and not empty


def _fix(cls: ClassFacts, statement: ast.Assign | ast.AnnAssign) -> Fix | None:
    """Return the edit that deletes the statement with its line, or puts ``pass`` for it."""
    source = cls.scope.module.source
    start, end = source.span(statement)
    if len(_targets(statement)) > 1:
        return None  # another name is bound too
    if len(cls.node.body) == 1:
        return Fix(((source.path, Edit(start, end, b"pass")),))
    first = source.line_starts[statement.lineno - 1]
    last = statement.end_lineno or statement.lineno
    after = source.line_starts[last] if last < len(source.line_starts) else len(source.data)
    if source.data[first:start].strip() or source.data[end:after].strip():
        return None  # other things on the line
    return Fix(((source.path, Edit(first, after, b"")),))


_BEFORE = """\
from flax import nnx


class Net(nnx.Module):
    __slots__ = ("size",)

    def __init__(self):
        self.size = 3


print(Net().size)
"""

RULE = Rule(
    code="NNX615",
    name="slots",
    summary="__slots__ in an NNX class",
    why="""\
A class that derives from `nnx.Module` and has names in `__slots__` raises TypeError when it is defined, since Flax
0.12. The slots never saved anything, as NNX objects have a `__dict__`.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace('    __slots__ = ("size",)\n', ""),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
