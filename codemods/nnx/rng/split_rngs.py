"""NNX201: streams that have an axis already are split again."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.rewrite import RewriteError, add_keyword
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.filters import SCALAR_ONLY
from codemods.nnx.rng.layouts import Shape
from codemods.nnx.rng.splits import Split
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source

_FAILS = "nnx.split_rngs splits streams that have their own axis since Flax 0.11"
_BOTH = "nnx.split_rngs splits streams that have their own axis since Flax 0.11 together with scalar ones"
_MAYBE = "nnx.split_rngs splits streams that may have their own axis since Flax 0.11"


def check(context: Context) -> Iterator[Finding]:
    """Yield every split that must go, or be narrowed to scalar streams."""
    if not context.options.crosses("0.11"):
        return
    for split in rng_analysis(context).splits:
        # squeezed keys have no axis: what is split so is no stack
        squeezed = split.options.value.keyword("squeeze") is not None
        if Shape.VECTOR in split.shapes or (Shape.UNKNOWN in split.shapes and not squeezed):
            yield _found(context, split)


def _found(context: Context, split: Split) -> Finding:
    source = split.scope.module.source
    if split.shapes == {Shape.VECTOR} and "0.10" not in context.options.targets:
        edits = _removed(split, source)
        if edits:
            fix = Fix(tuple((source.path, edit) for edit in edits))
            return finding(RULE.code, split.scope, split.node, _FAILS, "remove the split", fix)
    message = _MAYBE if Shape.VECTOR not in split.shapes else _FAILS if split.shapes == {Shape.VECTOR} else _BOTH
    return finding(
        RULE.code,
        split.scope,
        split.node,
        message,
        f"split scalar streams only: only={SCALAR_ONLY}",
        _narrowed(context, split),
    )


def _narrowed(context: Context, split: Split) -> Fix | None:
    """Return the edit that restricts a split to scalar streams, which is exact on every version."""
    event = split.options
    module_source = event.scope.module.source
    keyword = next((k for k in event.node.keywords if k.arg == "only"), None)
    try:
        if keyword is None:
            if event.value.starred:
                return None
            edits = [add_keyword(module_source, event.node, "only", SCALAR_ONLY)]
        elif isinstance(keyword.value, ast.Constant) and keyword.value.value is Ellipsis:
            edits = [Edit(*module_source.span(keyword.value), SCALAR_ONLY.encode())]
        else:
            every = spell(context.flow, event.scope, "All")
            if every is None:
                return None
            start, end = module_source.span(keyword.value)
            edits = [
                Edit(start, start, f"{every.text}(".encode()),
                Edit(end, end, f", {SCALAR_ONLY})".encode()),
                *every.edits,
            ]
    except RewriteError:
        return None
    return Fix(tuple((module_source.path, edit) for edit in edits), Safety.SAFE)


def _removed(split: Split, source: Source) -> list[Edit]:
    """Return the edits that take a split away; none if its place does not allow it."""
    if split.decorated is not None:
        return _without_decorator(split.node, source)
    if split.immediate is not None:
        return _without_block(split.immediate.statement, split.node, source)
    assert isinstance(split.node, ast.Call)
    return _unwrapped(split.node, source)


def _without_decorator(node: ast.expr, source: Source) -> list[Edit]:
    first, last = node.lineno, node.end_lineno or node.lineno
    while not source.line(first).lstrip().startswith("@"):
        first -= 1
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.data)
    return [Edit(source.line_starts[first - 1], end, b"")]


def _unwrapped(node: ast.Call, source: Source) -> list[Edit]:
    """Replace ``split(f)`` by ``f``, unless a comment would be lost or a line end would be bare."""
    start, end = source.span(node)
    inner_start, inner_end = source.span(node.args[0])
    inner = node.args[0]
    around = source.data[start:inner_start] + source.data[inner_end:end]
    safe = (
        isinstance(inner, ast.Call | ast.Name | ast.Attribute)
        and b"\n" not in source.data[inner_start : _head(inner, source)]
    )
    if b"#" in around or not safe:
        return []
    return [Edit(start, inner_start, b""), Edit(inner_end, end, b"")]


def _head(node: ast.expr, source: Source) -> int:
    """Return the offset behind the part of an expression that no parenthesis of its own protects."""
    if not isinstance(node, ast.Call):
        return source.span(node)[1]
    return source.data.index(b"(", source.span(node.func)[1])


def _without_block(statement: ast.stmt, node: ast.expr, source: Source) -> list[Edit]:
    """Take a ``with`` statement away and move its body out."""
    if not isinstance(statement, ast.With) or len(statement.items) != 1 or statement.items[0].optional_vars is not None:
        return []
    if statement.items[0].context_expr is not node or statement.body[0].lineno <= (node.end_lineno or 0):
        return []
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    body = statement.body[0]
    head = source.data[source.line_starts[first - 1] : source.line_starts[body.lineno - 1]]
    indent = body.col_offset - statement.col_offset
    lines = range(body.lineno, last + 1)
    if b"#" in head or _has_long_strings(source, lines) or indent <= 0:
        return []
    edits = [Edit(source.line_starts[first - 1], source.line_starts[body.lineno - 1], b"")]
    for number in lines:
        line = source.line(number)
        shift = min(indent, len(line) - len(line.lstrip()))
        if shift:
            begin = source.line_starts[number - 1] + statement.col_offset
            if shift < indent or not re.match(r"[ \t]*$", line[: statement.col_offset + indent]):
                continue
            edits.append(Edit(begin, begin + indent, b""))
    return edits


def _has_long_strings(source: Source, lines: range) -> bool:
    """Say whether a string goes over a line end in a range of lines, so that its text would change with the indent."""
    text = "\n".join(source.line(n) for n in lines)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"if 1:\n{text}\n").readline))
    except (tokenize.TokenError, IndentationError):
        return True
    return any(t.start[0] != t.end[0] for t in tokens if tokenize.tok_name[t.type].startswith(("STRING", "FSTRING")))


_BLOCK = """\
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


@nnx.split_rngs(splits=4)
@nnx.vmap
def create(rngs):
    return Block(rngs)


"""
_FORWARD = """\
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(block, x):
    return block(x)


blocks = create(nnx.Rngs(params=0, dropout=1))
blocks.eval()
print(float(forward(blocks, jnp.ones((1, 3))).sum()))
"""
_STACK = """\
import jax.numpy as jnp
from flax import nnx


class Stack(nnx.Module):
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0, 0))
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.rngs = rngs

    @nnx.split_rngs(splits=3{only})
    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
    def __call__(self, x):
        return self.dropout(self.linear(x)) + 0.0 * self.rngs.dropout().size


print(Stack(nnx.Rngs(params=0, dropout=1))(jnp.ones((1, 2))).shape)
"""

RULE = Rule(
    code="NNX201",
    name="split-rngs-twice",
    summary="nnx.split_rngs over streams that have their own axis already",
    why="""\
Up to Flax 0.10 a Dropout kept the Rngs of its caller, whose keys are scalar again once `nnx.split_rngs` ends; so the
call of a stack of layers had to split them anew. Since 0.11 each layer forks a stream where it is made, and under
`nnx.vmap`, `nnx.pmap` or `nnx.scan` the fork keeps the axis. Splitting it again raises "fold_in accepts a single key,
but was given a key array of shape (N,)". The rule follows every object that a split reaches to where it was made:

* all its streams have the axis: the split is removed;
* all are scalar, as in an explicit `nnx.Rngs` argument, in a model made outside of any transform or in one whose
  factory splits `only="params"`: the split stays, because removing it fails;
* both occur, as in a block that also stores `self.rngs = rngs`, or it cannot be told: the split is restricted to
  scalar streams, which is exact on Flax 0.10, 0.11 and 0.12.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source='guide "NNX 0.10 to NNX 0.11", section on Rngs in transforms; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    examples=(
        Example(
            before=f"{_BLOCK}@nnx.split_rngs(splits=4)\n{_FORWARD}",
            after=f"{_BLOCK}{_FORWARD}",
            targets=("0.11", "0.12"),
        ),
        Example(
            before=_STACK.format(only=""),
            after=_STACK.format(only=f", only={SCALAR_ONLY}"),
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
