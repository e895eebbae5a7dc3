"""NNX782: the paddings of a CTC loss that are one where there is no padding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import bare, binary, is_number, operand, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Changed, Const, Item, Loop, Unknown, Value

_COUNTS = frozenset({"arange", "iota", "broadcasted_iota"})
_COMPARING: dict[str, type[ast.cmpop]] = {
    "less": ast.Lt, "less_equal": ast.LtE, "greater": ast.Gt, "greater_equal": ast.GtE, "equal": ast.Eq,
    "not_equal": ast.NotEq,
}  # fmt: skip
_NOT = frozenset({"logical_not", "invert", "bitwise_not"})
_DEPTH = 10


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "ctc_loss", "ctc_loss_with_forward_probs"):
        if not name.startswith("optax.") or event.value.starred or in_test(event.scope):
            continue
        labels = event.value.argument(2, "labels")
        of_labels = bare(context, context.flow.here(labels, event.scope)) if labels is not None else None
        for place, word in ((1, "logit_paddings"), (3, "label_paddings")):
            given, node = event.value.argument(place, word), argument(event.node, place, word)
            if given is None or node is None:
                continue
            if _marks(context, context.flow.here(given, event.scope), of_labels if place == 3 else None) > 0:
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{word}` is to be 1 where there is padding, and this is 1 where there is none",
                    "turn it round: 1.0 - mask, or jnp.arange(longest) >= lengths[:, None]",
                )


def _marks(context: Context, bound: Bound, labels: Bound | None, depth: int = 0) -> int:
    """Say what the ones in a mask stand for: 1 for what is real, -1 for padding; 0 if that is not known.

    Args:
        context: the analysis.
        bound: the mask.
        labels: the labels, of which a mask may be made too.
        depth: how many operations were gone through.
    """
    if depth > _DEPTH:
        return 0
    filled = _filled(context, context.flow.resolve(bound))
    if filled:
        return filled
    found = {_made(context, one, labels, depth) for one in context.sources.originals(bound)}
    return found.pop() if len(found) == 1 else 0


def _made(context: Context, bound: Bound, labels: Bound | None, depth: int) -> int:
    """Return the same as :func:`_marks` of one place where a mask is made."""
    inner = same_numbers(context, bound)
    if inner is not None:
        return _marks(context, inner, labels, depth + 1)
    value = bound.value
    if isinstance(value, Unknown):
        node = value.node
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _compared(context, bound, node, labels)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return -_marks(context, operand(context, bound, node.operand), labels, depth + 1)
        turned = binary(bound, ast.Sub)
        if turned is not None and is_number(context, operand(context, bound, turned.left), 1):
            return -_marks(context, operand(context, bound, turned.right), labels, depth + 1)
        times = binary(bound, ast.Mult)
        if times is not None and is_number(context, operand(context, bound, times.right), 1):
            return _marks(context, operand(context, bound, times.left), labels, depth + 1)
        return 0
    if not isinstance(value, Call):
        return 0
    word = last(context.flow.calls.callee_name(bound))
    if word in _COMPARING and len(value.node.args) == 2 and not value.starred:
        node = ast.Compare(value.node.args[0], [_COMPARING[word]()], [value.node.args[1]])
        return _compared(context, bound, node, labels)
    if word in _NOT and len(value.args) == 1:
        return -_marks(context, context.flow.with_value(bound, value.args[0]), labels, depth + 1)
    if word in {"where", "select"} and len(value.args) == 3:
        which, one, other = (context.flow.with_value(bound, part) for part in value.args)
        turned_by = 0
        if is_number(context, one, 1) and is_number(context, other, 0):
            turned_by = 1
        elif is_number(context, one, 0) and is_number(context, other, 1):
            turned_by = -1
        return turned_by * _marks(context, which, labels, depth + 1) if turned_by else 0
    return 0


def _compared(context: Context, bound: Bound, node: ast.Compare, labels: Bound | None) -> int:
    """Tell what is marked by ``arange(n) < lengths``, or by ``labels != 0``."""
    left, right = node.left, node.comparators[0]
    op = node.ops[0]
    ways = ((left, right, 1), (right, left, -1))
    for counted, other, way in ways:
        if not _counts(context, operand(context, bound, counted)):
            continue
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and _length(context, operand(context, bound, other)):
            return way if isinstance(op, ast.Lt | ast.LtE) else -way
        return 0
    if labels is None or not isinstance(op, ast.NotEq | ast.Eq):
        return 0
    for of_labels, pad in ((left, right), (right, left)):
        compared = bare(context, operand(context, bound, of_labels))
        if compared is not None and compared == labels and is_number(context, operand(context, bound, pad), 0, -1):
            return 1 if isinstance(op, ast.NotEq) else -1
    return 0


def _counts(context: Context, bound: Bound) -> bool:
    """Say whether an array is that of all positions."""
    found = bare(context, bound)
    return found is not None and last(context.flow.calls.callee_name(found)) in _COUNTS


def _length(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a value may be how long something is: no difference, as the padding at the left would be."""
    value = bound.value
    for _ in range(_DEPTH):
        if not isinstance(value, Item | Indexed):
            break
        value = value.base
    name = getattr(value, "name", "") or (last_word(value.node) if isinstance(value, Unknown) else "")
    if "pad" in name.lower() or depth > _DEPTH:
        return False
    for source in context.sources.originals(bound):
        inner = same_numbers(context, source)
        if binary(source, ast.Sub) is not None or (inner is not None and not _length(context, inner, depth + 1)):
            return False
    return True


def _filled(context: Context, bound: Bound) -> int:
    """Tell what is marked by ``mask = zeros(...)``, of which rows are filled as ``mask[i, :n] = 1``."""
    value: Value | None = bound.value
    stored: set[float] = set()
    for _ in range(_DEPTH):
        if isinstance(value, Loop):
            inner = value.again
            if isinstance(inner, Changed) and not _store(inner, stored):
                return 0
            value = value.before
        elif isinstance(value, Changed):
            if not _store(value, stored):
                return 0
            value = value.before
        else:
            break
    if not stored or value is None or not isinstance(value, Call):
        return 0
    word = last(context.flow.calls.callee_name(context.flow.with_value(bound, value)))
    if stored == {1} and word in {"zeros", "zeros_like"}:
        return 1
    return -1 if stored == {0} and word in {"ones", "ones_like"} else 0


def _store(changed: Changed, stored: set[float]) -> bool:
    """Note the number that a statement puts to the beginning of a row; say whether it is such a statement."""
    node = changed.node
    if not isinstance(node, ast.Subscript) or not isinstance(changed.value, Const):
        return False
    index = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
    if not isinstance(index, ast.Slice) or index.lower is not None or index.upper is None or index.step is not None:
        return False
    number = changed.value.value
    if not isinstance(number, int | float):
        return False
    stored.add(float(number))
    return True


RULE = lint_rule(
    "NNX782",
    "turned-paddings",
    "the paddings of a CTC loss that are 1 where there is no padding",
    why="""\
`optax.ctc_loss` takes paddings and no masks: `logit_paddings` and `label_paddings` are 1 where there is padding. With a
mask of what is real the loss is that of the padding: it is huge, or stays where it is, and nothing is raised.
""",
    source="optax documentation of ctc_loss; measured with optax 0.2.8: a loss of 37516 that does not fall",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
import optax


def loss_fn(logits, lengths, labels, label_lengths):
    frames = (jnp.arange(logits.shape[1]) < lengths[:, None]).astype(jnp.float32)
    chars = (jnp.arange(labels.shape[1]) < label_lengths[:, None]).astype(jnp.float32)
    return optax.ctc_loss(logits, frames, labels, chars).mean()
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
import optax


def loss_fn(logits, lengths, labels, label_lengths):
    frames = (jnp.arange(logits.shape[1]) >= lengths[:, None]).astype(jnp.float32)
    chars = (jnp.arange(labels.shape[1]) >= label_lengths[:, None]).astype(jnp.float32)
    return optax.ctc_loss(logits, frames, labels, chars).mean()
""",
    ),
)
