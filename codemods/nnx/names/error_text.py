"""NNX511: tests for the text of an error or of a ``repr`` that reads differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule

# beginnings of texts up to Flax 0.10; the text since 0.11 where one can be put for the other
_TEXTS = {"No RNG named": "No RngStream named", "VariableState(type=": None}
_METHODS = frozenset(
    {"assertRaisesRegex", "assertRaisesWithLiteralMatch", "assertRaisesWithPredicateMatch", "startswith"}
)
_PATTERNS = frozenset({"match", "search", "fullmatch", "findall"})  # of the module re
_OTHER = " or 'default'"  # 0.10 named it as well


def check(context: Context) -> Iterator[Finding]:
    """Yield strings that are compared with old texts of Flax."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        if any(old.encode() in module.source.data for old in _TEXTS):
            for node in module.source.nodes:
                for text in _compared(node):
                    yield from _old(context, module, text)


def _compared(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that a node compares with another text."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and (
            node.func.attr in _METHODS
            or (node.func.attr in _PATTERNS and isinstance(node.func.value, ast.Name) and node.func.value.id == "re")
        )
        return [k.value for k in node.keywords if k.arg == "match"] + (node.args if method else [])
    return []


def _old(context: Context, module: ModuleFacts, node: ast.expr) -> Iterator[Finding]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    for old, new in _TEXTS.items():
        if old in node.value:
            help = f"it says {new!r} now" if new else "the leaf of a state prints as Param(...) and the like now"
            message = f"Flax says {old!r} no more since 0.11"
            fix = _fix(context, module, node, old, new) if new else None
            yield finding("NNX511", module.scope, node, message, help, fix)


def _fix(context: Context, module: ModuleFacts, node: ast.Constant, old: str, new: str) -> Fix | None:
    """Return the edit that puts the new text; None if 0.10 shall do too, or the text is not written as one."""
    source = module.source
    start, end = source.span(node)
    written = source.data[start:end]
    if "0.10" in context.options.targets or written.count(old.encode()) != 1:
        return None
    first = start + written.index(old.encode())
    edits = [Edit(first, first + len(old), new.encode())]
    alternatives = str(node.value).count(" or ")
    if alternatives:
        if written.count(_OTHER.encode()) != 1 or alternatives != 1:
            return None
        second = start + written.index(_OTHER.encode())
        edits.append(Edit(second, second + len(_OTHER), b""))
    return Fix(tuple((source.path, edit) for edit in edits))


_BEFORE = """\
from flax import nnx

try:
    nnx.Rngs(params=0).dropout()
except AttributeError as error:
    print("No RNG named" in str(error))
"""

RULE = Rule(
    code="NNX511",
    name="error-text",
    summary="a test for the text of an error or of a repr that changed",
    why="""\
A missing stream is reported as "No RngStream named ..." since Flax 0.11, before as "No RNG named ...". Leaves of states
print as `Param(...)`, before as `VariableState(type=Param, ...)`. Tests that match such texts fail, or pass for the
wrong reason.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(_BEFORE, _BEFORE.replace("No RNG named", "No RngStream named"), targets=("0.11", "0.12")),
        Example(
            before="from flax import nnx\n\nassert 'VariableState(type=Param' in repr(nnx.state(nnx.Rngs(0)))\n",
            run=False,
        ),
        Example(
            before="print('No RNG named like that')\n",
            after="print('No RNG named like that')\n",
        ),
    ),
    check=check,
)
