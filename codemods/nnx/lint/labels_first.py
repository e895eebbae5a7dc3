"""Labels in the place of logits, by what they are called; part of NNX886."""

from __future__ import annotations

import ast

from codemods.nnx.facts import CallEvent
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# names that leave no doubt when they stand in each other's places
_NAMED_LABELS = pattern(r"^(?!.*logit)(\w*_)?(labels?|targets?|y_true)(_\w*)?$")
_NAMED_LOGITS = pattern(r"^(?!.*(label|target|true))(\w*_)?(logits?|y_pred|preds?|predictions?)(_\w*)?$")
# shorter names, which say it beside what a model gives
_LABELS = pattern(r"^(y|ys|y_?true|(batch_|true_|int_)?(labels?|targets?)|target_ids|one_?hot|tokens|input_ids|ids)$")
_TOKENS = frozenset({"tokens", "input_ids", "ids"})
_OUTPUTS = pattern(r"^(\w+_)?(logits?|outputs?|preds?|predictions?|scores?)$|^y_?(pred|hat|logits?)$")
_MODELS = pattern(
    r"^(m|f|net|model|network|classifier|apply|apply_fn|forward|predict|(\w+_)?logits?(_fn)?|scores?|vmap)$"
)


def labels_first(event: CallEvent) -> bool:
    """Say whether a loss gets labels for logits and logits for labels.

    Args:
        event: the call of a loss that takes the logits first.
    """
    if len(event.node.args) < 2:
        return False
    first, second = event.node.args[:2]
    if _NAMED_LABELS.match(last_word(first)) and _NAMED_LOGITS.match(last_word(second)):
        return True
    return not event.value.starred and _is_label(first, event) and _is_output(second)


def _called(node: ast.expr) -> str:
    """Return what a value is called: a variable, an attribute, an entry, or what a slice is taken of."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value.lower()
        node = node.value
    return last_word(node).lower() if isinstance(node, ast.Name | ast.Attribute) else ""


def _is_label(node: ast.expr, event: CallEvent) -> bool:
    if isinstance(node, ast.Call):
        return last_word(node.func) in {"one_hot", "arange"}
    word = _called(node)
    if word in _TOKENS and not last_word(event.node.func).endswith("integer_labels"):
        return False
    return _LABELS.search(word) is not None


def _is_output(node: ast.expr) -> bool:
    """Say whether a value is what a model gives, by its name or by what is called."""
    while isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        node = node.value
    if not isinstance(node, ast.Call):
        return _OUTPUTS.search(_called(node)) is not None
    if isinstance(node.func, ast.Name | ast.Attribute):
        return _MODELS.search(last_word(node.func).lower()) is not None
    return isinstance(node.func, ast.Call) and last_word(node.func.func) == "vmap"
