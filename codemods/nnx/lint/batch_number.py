"""NNX945: a slice for a minibatch that begins at the number of the batch, not at its first example."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.clamped_block import blocks, rounded_up, rounds_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, binary, is_number, one_source, operand, same_number
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign, in_test, written
from codemods.nnx.lint.syntax import argument, entry_word
from codemods.nnx.nodes import elements
from codemods.nnx.patterns import pattern

# numbers of batches, and numbers of examples in one
_COUNT = pattern(
    r"(^|_)(n|num|number_of|max)_?(mini|micro)?_?(batch(es)?|updates|train_steps|steps_per_epoch)(_|$)"
    r"|(steps|batches|minibatches|updates)_per_epoch|^(mini)?batches$",
    re.I,
)
_SIZE = pattern(r"(^|_)((mini|micro)?_?batch_?(size|sz)?|bs|mb_size|mbs)$", re.I)
# what is meant to begin one further each time
_SLIDING = pattern(
    r"window|seq|context|ctx|history|hist|horizon|lag|look_?back|sliding|patch|kernel|chunk|frame|block_size|overlap"
    r"|stride|ngram|n_step",
    re.I,
)
_WORD = pattern(rb"batch|updates|\bbs\b|//", re.I)


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORD) for module in context.project.modules):
        return
    told: set[tuple[Scope, str]] = set()
    for scope, node, start, size, words in _slices(context):
        if in_test(scope) or is_number(context, size, 1) or (scope, words[0]) in told:
            continue
        rounds = rounds_of(context, start)
        if rounds is None or not _of_batches(context, rounds, size, scope, words):
            continue
        told.add((scope, words[0]))
        shown, length = words[0], words[-1]
        yield finding(
            RULE.code,
            scope,
            node,
            f"the batches begin at 0, 1, 2, ...: `{shown}` is the number of the batch, and each has all examples of the"
            " one before it but one",
            f"begin at the first example: {shown} * {length}",
        )


def _of_batches(context: Context, rounds: Bound, size: Bound, scope: Scope, words: tuple[str, ...]) -> bool:
    """Say whether so many slices of a size are taken as there are batches, and not windows that slide."""
    named = bool(_SIZE.search(words[2]))
    divided = _counts_batches(context, rounds, size)
    if named and divided:
        return True
    if any(_SLIDING.search(word) for word in (*words, *_around(scope))):
        return False
    return divided or (named and bool(_COUNT.search(_word(rounds))))


def _slices(context: Context) -> Iterator[tuple[Scope, ast.AST, Bound, Bound, tuple[str, ...]]]:
    """Yield where a part of an array is taken, with its start and size, and their names and text."""
    for event, name in foreign(context, "dynamic_slice_in_dim", "dynamic_slice"):
        if not name.startswith("jax.lax.") or event.value.starred or not event.node.args:
            continue
        sizes = argument(event.node, 2, "slice_size") or argument(event.node, 2, "slice_sizes")
        starts = argument(event.node, 1, "start_index") or argument(event.node, 1, "start_indices")
        if sizes is None or starts is None:
            continue
        for axis, start, size in blocks(context, event, last(name)):
            whole, begun = _nth(sizes, axis, name), _nth(starts, axis, name)
            if whole is not None and begun is not None:
                words = (ast.unparse(begun), entry_word(event.node.args[0]), entry_word(whole), ast.unparse(whole))
                yield event.scope, event.node, start, size, words
    for scope, node in each(context, ast.Subscript):
        parts = elements(node.slice)
        one = parts[0] if parts else None
        if isinstance(one, ast.Slice) and isinstance(one.lower, ast.Name) and one.step is None:
            length = _length(context, one, scope)
            if length is not None:
                words = (one.lower.id, entry_word(node.value), entry_word(length), ast.unparse(length))
                yield scope, node, at(context, one.lower, scope), at(context, length, scope), words


def _nth(node: ast.expr, axis: int, name: str) -> ast.expr | None:
    """Return the size or start along an axis."""
    if last(name) == "dynamic_slice_in_dim":
        return node
    return node.elts[axis] if isinstance(node, ast.Tuple | ast.List) and axis < len(node.elts) else None


def _length(context: Context, node: ast.Slice, scope: Scope) -> ast.expr | None:
    """Return ``n`` of ``i : i + n``."""
    end = written(context, node.upper, scope) if node.upper is not None else None
    if not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Add) or not isinstance(node.lower, ast.Name):
        return None
    for one, other in ((end.left, end.right), (end.right, end.left)):
        if isinstance(one, ast.Name) and one.id == node.lower.id:
            return other
    return None


def _around(scope: Scope) -> Iterator[str]:
    """Yield the names of the functions that a body stands in."""
    one: Scope | None = scope
    while one is not None and one.function is not None:
        yield one.function.name
        one = one.parent


def _word(bound: Bound) -> str:
    return str(getattr(bound.value, "name", ""))


def _counts_batches(context: Context, rounds: Bound, size: Bound) -> bool:
    """Say whether a number is that of all examples divided by those of a batch."""
    up = rounded_up(context, rounds)
    if up is not None:
        return same_number(context, up[1], size)
    found = one_source(context, rounds)
    quotient = binary(found, ast.FloorDiv) if found is not None else None
    if found is None or quotient is None:
        return False
    return same_number(context, operand(context, found, quotient.right), size)


_BAD = """\
import jax


def epoch(step, params, x, y, batch_size):
    def update(i, params):
        inputs = jax.lax.dynamic_slice_in_dim(x, i, batch_size)
        targets = jax.lax.dynamic_slice_in_dim(y, i * batch_size, batch_size)
        return step(params, inputs, targets)

    return jax.lax.fori_loop(0, x.shape[0] // batch_size, update, params)
"""

RULE = lint_rule(
    "NNX945",
    "batch-number-as-start",
    "a slice for a minibatch that begins at the number of the batch",
    why="""\
Batch `i` begins at example `i * batch_size`. A slice that begins at `i` has nearly the same examples as the one before
it, and most of the data is never seen. Only slices are reported that are taken as often as there are batches; windows
that are meant to slide are left alone.
""",
    source="sbx pull request 21; measured: 95 of 2048 examples are seen",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("(x, i,", "(x, i * batch_size,"),
        _BAD.replace("batch_size", "window").replace(" * window", ""),
    ),
)
