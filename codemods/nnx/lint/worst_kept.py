"""NNX774: the best checkpoint by a loss, where the greatest number counts as the best."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test, resolved
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Mapping, Value

# what takes a measure: the function that reads it, how the better one is told, and what means the greatest
_TAKING: dict[str, tuple[str, str, object, object]] = {
    "CheckpointManagerOptions": ("best_fn", "best_mode", "max", "min"),
    "BestN": ("get_metric_fn", "reverse", False, True),
}
_LESS = frozenset(
    {"loss", "losses", "nll", "mse", "mae", "rmse", "perplexity", "ppl", "error", "err", "wer", "cer", "fid"}
)
_MORE = frozenset({"accuracy", "acc", "reward", "rewards", "f1", "auc", "auroc", "bleu", "psnr", "ssim", "recall",
                   "iou", "miou", "r2"})  # fmt: skip
_WORDS = pattern(r"[A-Z]?[a-z]+\d?|[A-Z]+\d?")
# what measures of either kind are called besides
_PLAIN = frozenset({"val", "valid", "validation", "eval", "test", "train", "dev", "mean", "avg",
                    "average", "total", "top1", "top5", "best", "epoch", "step", "the", "of", "l1", "l2", "rec",
                    "reconstruction", "cross", "entropy", "ce", "bce", "smoothed", "masked", "token", "word", "lm",
                    "squared", "absolute", "mlm", "held", "out", "final", "prediction", "pred", "model",
                    "metrics"})  # fmt: skip
_THROUGH = frozenset({"float", "item", "mean", "asarray", "array", "float32", "round"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_TAKING):
        options = _options(context, event) if name.startswith("orbax.checkpoint") else None
        if options is None or in_test(event.scope):
            continue
        reader, mode, greatest, least = _TAKING[last(name)]
        if reader not in options or _set_later(context, mode):
            continue
        chosen = _mode(context, options.get(mode), greatest)
        read = _read(context, options[reader])
        if chosen not in (greatest, least) or read is None:
            continue
        key, turned = read
        less = _direction(key)
        if less is None or _saved_otherwise(context, key):
            continue
        if (less != turned) == (chosen == greatest):
            meant = least if chosen == greatest else greatest
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"of {key!r} the {'greatest' if chosen == greatest else 'least'} number counts as the best: "
                "the worst checkpoints are kept",
                f"add {mode}={meant!r}",
            )


def _options(context: Context, event: CallEvent) -> dict[str, Bound] | None:
    """Return what a call gives by name, also with ``**options`` of a dict that is known; None if there may be more."""
    found: dict[str, Bound] = {}
    for name, value in event.value.keywords:
        given = context.flow.here(value, event.scope)
        whole = context.flow.resolve(given) if name is None else None
        if name is not None:
            found[name] = given
        elif whole is None or not isinstance(whole.value, Mapping):
            return None
        else:
            for key, item in whole.value.items:
                if not isinstance(key, Const) or not isinstance(key.value, str):
                    return None
                found[key.value] = context.flow.with_value(whole, item)
    return found


def _mode(context: Context, given: Bound | None, default: object) -> object:
    """Return which number counts as the best; None if that is not known."""
    if given is None:
        return default
    found = context.flow.resolve(given).value
    return found.value if isinstance(found, Const) else None


def _set_later(context: Context, mode: str) -> bool:
    """Say whether an option is set as an attribute, after the options were made."""
    return any(
        read.context == "store" and read.node.attr == mode
        for module in context.project.modules if module.source.mentions(mode.encode())
        for read in module.attributes
    )  # fmt: skip


def _read(context: Context, function: Bound) -> tuple[str, bool] | None:
    """Return the key of the measure that a function reads, and whether it turns its sign; None if it does more."""
    found = context.flow.resolve(function)
    if isinstance(found.value, Call):
        name = context.flow.calls.callee_name(found)
        key = constant(found.value.node.args[0]) if len(found.value.node.args) == 1 else None
        return (key, False) if name == "operator.itemgetter" and isinstance(key, str) else None
    reached = context.flow.calls.callables(found)
    if len(reached) != 1 or reached[0].args or reached[0].keywords:
        return None
    facts = reached[0].function
    node = _result(facts)
    if isinstance(node, ast.Name):
        node = bound_once(context, facts.scope, node)
    turned = False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, turned = node.operand, not turned
    while isinstance(node, ast.Call) and last_word(node.func) in _THROUGH:
        inner = array_of(node)
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub):
            inner, turned = inner.operand, not turned
        node = inner
    key = _key(context, node, facts) if node is not None else ""
    return (key, turned) if key else None


def _result(function: FunctionFacts) -> ast.expr | None:
    """Return the only expression that a function returns."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    returned = [n for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    return returned[0].value if len(returned) == 1 else None


def _key(context: Context, node: ast.expr, function: FunctionFacts) -> str:
    """Return the entry or attribute of the last parameter that an expression reads; empty for another expression."""
    key = ""
    first = node
    while True:
        if isinstance(first, ast.Subscript):
            name: object = _constant(context, first.slice, function.scope)
            inner: ast.expr = first.value
        elif isinstance(first, ast.Call) and last_word(first.func) == "get" and first.args:
            name = _constant(context, first.args[0], function.scope)
            inner = first.func.value if isinstance(first.func, ast.Attribute) else first.func
        elif isinstance(first, ast.Attribute):
            name, inner = first.attr, first.value
        else:
            break
        key = key or (name if isinstance(name, str) else "")
        first = inner
    return key if isinstance(first, ast.Name) and first.id == next(reversed(function.params), "") else ""


def _constant(context: Context, node: ast.expr, scope: Scope) -> object:
    """Return what a literal says, or the constant of which a variable is the name."""
    found = resolved(context, node, scope)
    return found.value.value if found is not None and isinstance(found.value, Const) else constant(node)


def _direction(key: str) -> bool | None:
    """Say whether less of a measure is better, by its name; None if that is not known."""
    words = {word.lower() for word in _WORDS.findall(key)}
    less, more = words & _LESS, words & _MORE
    if bool(less) == bool(more) or words - _LESS - _MORE - _PLAIN:
        return None
    return bool(less)


def _saved_otherwise(context: Context, key: str) -> bool:
    """Say whether something else may be saved under the name of a measure, such as its negative."""
    for module in context.project.modules:
        if not module.source.mentions(key.encode()):
            continue
        given: list[ast.expr] = []
        for shown in module.source.of_type(ast.Dict):
            pairs = zip(shown.keys, shown.values, strict=True)
            given += [value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key]
        for call in module.source.of_type(ast.Call):
            given += [word.value for word in call.keywords if word.arg == key]
        for stored in module.source.of_type(ast.Assign):
            if any(isinstance(t, ast.Subscript) and constant(t.slice) == key for t in stored.targets):
                given.append(stored.value)
        if any(_turned(node, module.values.get(node)) for node in given):
            return True
    return False


def _turned(node: ast.expr, value: Value | None) -> bool:
    """Say whether an expression may turn the sign of a number, where it stands or where its variable was made."""
    made = getattr(value, "node", None)
    nodes = [*ast.walk(node), *(ast.walk(made) if isinstance(made, ast.expr) else ())]
    return any(
        isinstance(n, ast.USub)
        or (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub | ast.Div) and isinstance(n.left, ast.Constant)
            and not isinstance(n.right, ast.Constant))
        or (isinstance(n, ast.Name) and "neg" in n.id.lower())
        for n in nodes
    )  # fmt: skip


RULE = lint_rule(
    "NNX774",
    "worst-checkpoint-kept",
    "checkpoints ranked by a loss, of which the greatest counts as the best",
    why="""\
A `CheckpointManager` of Orbax takes the greatest number for the best unless `best_mode="min"` is said. With a loss as
the measure it keeps the checkpoints with the greatest loss and deletes the others, and `best_step()` names the worst.
The same holds for `BestN` without `reverse=True`, and the other way round for an accuracy with `best_mode="min"`.
""",
    source="Orbax documentation of CheckpointManagerOptions; measured: the best checkpoints are deleted",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp


def manager(folder):
    options = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda metrics: metrics["val_loss"])
    return ocp.CheckpointManager(folder, options=options)
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp


def manager(folder):
    options = ocp.CheckpointManagerOptions(
        max_to_keep=2, best_fn=lambda metrics: metrics["val_loss"], best_mode="min"
    )
    return ocp.CheckpointManager(folder, options=options)
""",
        """\
import orbax.checkpoint as ocp


def manager(folder):
    options = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda metrics: -metrics["val_loss"])
    return ocp.CheckpointManager(folder, options=options)
""",
    ),
)
