"""NNX534: index maps of Pallas that give the first element of a block, and not the number of the block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, formula_of, in_test, literal
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Function

_SMALL = 4  # numbers of blocks that somebody may well step by


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "BlockSpec"):
        if not name.startswith("jax.experimental.pallas.") or in_test(event.scope) or event.value.starred:
            continue
        if keyword(event.node, "indexing_mode") is not None or len(event.node.args) > 2:
            continue
        shape, map_ = _arguments(context, event)
        if not isinstance(shape, ast.Tuple) or map_ is None or not map_.params:
            continue
        given = formula_of(context, map_)
        indices = given.elts if isinstance(given, ast.Tuple) else [given] if given is not None else []
        if len(indices) != len(shape.elts):
            continue
        for index, size in zip(indices, shape.elts, strict=True):
            if _multiplied(context, event, map_, index, size):
                yield finding(
                    RULE.code,
                    map_.scope if map_.scope.module is event.scope.module else event.scope,
                    index if map_.scope.module is event.scope.module else event.node,
                    f"an index map gives the number of a block, which Pallas multiplies by `{ast.unparse(size)}`: this "
                    "begins that many times too far on",
                    "leave the factor out; where elements are meant, say so by pl.Element(...) in the block shape",
                    related=[(size, "the size of a block")] if index.lineno != size.lineno else [],
                )


def _arguments(context: Context, event: CallEvent) -> tuple[ast.expr | None, FunctionFacts | None]:
    """Return the block shape and the index map, which stood the other way round in former releases."""
    shape: ast.expr | None = keyword(event.node, "block_shape")
    map_: FunctionFacts | None = None
    for node in (*event.node.args, keyword(event.node, "index_map")):
        value = event.scope.module.values.get(node) if node is not None else None
        found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
        if isinstance(found, Function):
            map_ = found.facts
        elif shape is None and isinstance(node, ast.Tuple):
            shape = node
    return shape, map_


def _multiplied(
    context: Context, event: CallEvent, function: FunctionFacts, index: ast.expr, size: ast.expr
) -> bool:  # fmt: skip
    """Say whether an index is one of the grid, multiplied by the size of a block."""
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, ast.Mult):
        return False
    for one, other in ((index.left, index.right), (index.right, index.left)):
        if not isinstance(one, ast.Name) or one.id not in function.params or one.id in function.defaults:
            continue
        number = literal(context, size, event.scope)
        if isinstance(number, int) and number <= _SMALL:
            return False
        if isinstance(size, ast.Name | ast.Attribute) and ast.dump(size) == ast.dump(other):
            return True
        return isinstance(number, int) and number == literal(context, other, function.scope)
    return False


_BAD = """\
import jax
from jax.experimental import pallas as pl

ROWS = 16


def doubled(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    block = pl.BlockSpec((ROWS, 128), lambda i: (i * ROWS, 0))
    return pl.pallas_call(kernel, grid=(len(x) // ROWS,), in_specs=[block], out_specs=block, out_shape=x)(x)
"""

RULE = lint_rule(
    "NNX534",
    "block-offsets",
    "an index map of Pallas that multiplies by the size of its blocks",
    why="""\
The index map of a `pl.BlockSpec` says which block a step of the grid gets, counted in blocks: Pallas multiplies it by
the block shape itself. `lambda i: (i * ROWS, 0)` asks for block `i * ROWS`, which is beyond the end of the array after
the first step: such an index is clamped to the last block, or reads memory of others. Only the first block is right.
""",
    source="documentation of pallas BlockSpec; measured on JAX 0.6.2, 0.7.2 and 0.10.2: rows that were never written",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(i * ROWS, 0)", "(i, 0)"), _BAD.replace("(ROWS, 128)", "(pl.Element(ROWS), 128)")),
)
