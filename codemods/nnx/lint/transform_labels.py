"""NNX837: transformations of optax that do not fit together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.chained import late
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.rate_before import rate_before
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.lint.turned_sign import turned
from codemods.nnx.nodes import last_word
from codemods.nnx.pytree.eager_masks import tree_of_state
from codemods.nnx.values import Call, Const, Function, Mapping, Value

_CLIPPING = frozenset({"clip_by_global_norm", "clip", "adaptive_grad_clip", "clip_by_block_rms"})
_SCALING = frozenset({"scale_by_adam", "scale_by_rms", "scale_by_belief", "scale_by_yogi", "scale_by_radam", "trace"})
_PLAIN = frozenset({"identity", "zero_nans", "centralize", "add_noise"})


_DECAYING = ("adamw", "add_decayed_weights", "lamb", "lion", "nadamw", "adamaxw", "adan")


def _check(context: Context) -> Iterator[Finding]:
    yield from _chains(context)
    for event, name in foreign(context, *_DECAYING):
        if name.startswith("optax.") and event.value.keyword("mask") is not None:
            yield from _plain_labels(context, event, len(event.node.args), "mask")
    for event, name in foreign(context, "masked"):
        if name == "optax.masked":
            yield from _plain_labels(context, event, 1, "mask")
    for event, name in foreign(context, "multi_transform", "partition"):
        if not name.startswith("optax."):
            continue
        yield from _plain_labels(context, event, 1, "param_labels")
        transforms = event.value.argument(0, "transforms")
        labels = event.value.argument(1, "param_labels")
        known = _keys(context, event, transforms)
        if known is None or labels is None:
            continue
        missing = [
            label
            for label in _labels(context.flow.resolve(context.flow.here(labels, event.scope)))
            if label not in known
        ]
        if missing:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"no transformation has the label `{missing[0]}`; there are {', '.join(sorted(map(str, known)))}",
                "give every label a transformation: optax.set_to_zero() for what stays as it is",
            )


def _plain_labels(context: Context, event: CallEvent, position: int, name: str) -> Iterator[Finding]:
    """Yield the labels and masks that do not fit what an optimizer of NNX gives optax: dicts, trees of Variables."""
    labels = event.value.argument(position, name)
    if labels is None:
        return
    given = context.flow.here(labels, event.scope)
    if isinstance(context.flow.resolve(given).value, Mapping):
        what = "a dict does not fit the parameters of an nnx.Optimizer, which are an nnx.State"
    elif not _before(context) and tree_of_state(context, given):
        what = (
            "this is a state of Variables, and nnx.Optimizer hands optax one of bare arrays since Flax 0.11: ValueError"
        )
    else:
        return
    for other, made in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True):
        tx = other.value.argument(1, "tx")
        if made not in {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"} or tx is None:
            continue
        if context.bodies.guarded(other.node, other.scope) or in_test(event.scope):
            continue
        if _built(context, context.flow.resolve(context.flow.here(tx, other.scope)), event.value, 0):
            node = keyword(event.node, name) or event.node.args[position]
            yield finding(
                RULE.code,
                event.scope,
                node,
                what,
                "give a function of the parameters: lambda params: jax.tree_util.tree_map_with_path(label, params)",
            )
            return


def _before(context: Context) -> bool:
    """Say whether a project is one of Flax 0.10, where such a state fits; NNX303 tells what to do on the way."""
    return context.options.crosses("0.11") or context.options.beyond("0.11")


def _built(context: Context, bound: Bound, part: Call, depth: int) -> bool:
    """Say whether a transformation is a call, or is a chain of optax that holds it."""
    if bound.value is part:
        return True
    name = context.flow.calls.callee_name(bound) if isinstance(bound.value, Call) else ""
    if depth > 3 or not name.startswith("optax.") or not isinstance(bound.value, Call):
        return False
    return any(_built(context, context.flow.follow(bound, one), part, depth + 1) for one in bound.value.args)


def _chains(context: Context) -> Iterator[Finding]:
    """Yield the chains that clip what an optimizer made of the gradients, and those that climb."""
    for event, name in foreign(context, "chain"):
        if name != "optax.chain" or in_test(event.scope):
            continue
        message = late(context, event)
        if message:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                message,
                "put it before the step: optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1)), or take adamw"
                if "add_decayed_weights" in message
                else "put it first: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))",
            )
        elif early := rate_before(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                early,
                "let the rate follow: optax.chain(optax.scale_by_adam(), optax.scale_by_learning_rate(rate))",
            )
        elif not event.value.starred and climbing(context, event) and not turned(context, {event.value}):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "nothing in the chain turns the sign of the gradients: the updates climb",
                "use optax.scale_by_learning_rate(rate), or optax.scale(-rate)",
            )


def _named(context: Context, event: CallEvent) -> tuple[list[str], list[Bound]]:
    """Return the names of the transformations in a chain, empty where one is not known, and what they are."""
    call = context.flow.here(event.value, event.scope)
    parts = [context.flow.follow(call, part) for part in event.value.args]
    names = [
        context.flow.calls.callee_name(p).removeprefix("optax.") if isinstance(p.value, Call) else "" for p in parts
    ]
    return names, parts


def climbing(context: Context, event: CallEvent) -> bool:
    """Say whether the rule tells of a chain that it goes up the gradient.

    Args:
        context: the analysis.
        event: a call of ``optax.chain``.
    """
    if event.value.starred or in_test(event.scope):
        return False
    names, parts = _named(context, event)
    return all(names) and _alone(event) and _climbs(context, names, parts)


def _alone(event: CallEvent) -> bool:
    """Say whether a chain has a name by which it is updated with, in a file that speaks of a loss."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    target = statement.targets[0]
    text = ast.unparse(target)
    module = event.scope.module
    used = [
        a for call in module.calls for a in call.node.args if isinstance(a, type(target)) and ast.unparse(a) == text
    ]
    inner = any(last_word(call.node.func) in {"chain", "masked", "multi_transform"} and set(call.node.args) & set(used)
                for call in module.calls)  # fmt: skip
    data = module.source.data
    return not inner and b"maximi" not in data and any(word in data for word in (b"loss", b"energy", b"error", b"cost"))


def _climbs(context: Context, names: list[str], parts: list[Bound]) -> bool:
    """Say whether a chain scales gradients by positive numbers only."""
    if not any(one in _SCALING for one in names) or not set(names) <= _ALLOWED:
        return False
    rates = [
        p.value.argument(0, "step_size")
        for p, one in zip(parts, names, strict=True)
        if one == "scale" and isinstance(p.value, Call)
    ]
    found = [
        context.flow.follow(p, r).value
        for r, p in zip(rates, [p for p, n in zip(parts, names, strict=True) if n == "scale"], strict=True)
        if r is not None
    ]
    plans = [p for p, n in zip(parts, names, strict=True) if n == "scale_by_schedule"]
    return (
        bool(found or plans)
        and all(_rises(context, p) for p in plans)
        and all(isinstance(one, Const) and isinstance(one.value, int | float) and one.value > 0 for one in found)
    )


_ALLOWED = _SCALING | _CLIPPING | {"scale", "scale_by_schedule", "add_decayed_weights"} | _PLAIN
_FIRST_VALUES = {"init_value", "peak_value", "value"}


def _rises(context: Context, part: Bound) -> bool:
    """Say whether a part of a chain scales by a schedule of optax between positive numbers."""
    given = part.value.argument(0, "step_size_fn") if isinstance(part.value, Call) else None
    made = context.flow.follow(part, given) if given is not None else None
    if made is None or not isinstance(made.value, Call) or made.value.starred:
        return False
    home, _, word = context.flow.calls.callee_name(made).rpartition(".")
    if not home.startswith("optax") or not word.endswith("_schedule"):
        return False
    rates = [*made.value.args[:1], *(value for key, value in made.value.keywords if key in _FIRST_VALUES)]
    known = [context.flow.follow(made, rate).value for rate in rates]
    numbers = [one.value for one in known if isinstance(one, Const) and isinstance(one.value, int | float)]
    return len(numbers) == len(known) and any(numbers) and all(number >= 0 for number in numbers)


def _keys(context: Context, event: CallEvent, transforms: Value | None) -> set[object] | None:
    """Return the labels that have a transformation; None if they are not all known."""
    found = context.flow.resolve(context.flow.here(transforms, event.scope)).value if transforms is not None else None
    if not isinstance(found, Mapping) or not all(isinstance(key, Const) for key, _ in found.items):
        return None
    return {key.value for key, _ in found.items if isinstance(key, Const)}


def _labels(found: Bound) -> list[str]:
    """Return the texts that labels, or a function that gives them, have for values."""
    value = found.value
    if isinstance(value, Function):
        node = value.facts.node
        if isinstance(node, ast.Lambda):
            return [*_texts(node.body)]
        return [
            text
            for n in ast.walk(node)
            if isinstance(n, ast.Return) and n.value is not None
            for text in _texts(_made_of(node, n.value))
        ]
    if isinstance(value, Mapping) and isinstance(value.node, ast.expr):
        return [*_texts(value.node)]
    return []


def _made_of(function: ast.AST, node: ast.expr) -> ast.expr:
    """Return the only expression that a variable of a function is assigned, also inside ``unflatten_dict``."""
    if isinstance(node, ast.Call) and last_word(node.func) == "unflatten_dict" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Name):
        return node
    bound = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == node.id and not _loaded(n)]
    made = [
        n.value
        for n in ast.walk(function)
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] in bound
    ]
    return made[0] if len(made) == len(bound) == 1 else node


def _loaded(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may give, or hold as values."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.DictComp):
        yield from _texts(node.value)
    elif isinstance(node, ast.Tuple | ast.List):
        for value in node.elts:
            yield from _texts(value)
    elif isinstance(node, ast.Call) and last_word(node.func) in {
        "map",
        "tree_map",
        "map_with_path",
        "tree_map_with_path",
    }:
        if node.args and isinstance(node.args[0], ast.Lambda):
            yield from _texts(node.args[0].body)


RULE = lint_rule(
    "NNX837",
    "transforms-that-do-not-fit",
    "optax.multi_transform without a label's transformation, clipping behind the optimizer, or a chain that climbs",
    why="""\
Every label of a parameter has to name one of the transformations: `init` raises a ValueError for others. Parameters
that shall stay as they are need a transformation too, `optax.set_to_zero()`. A chain hands the gradients from one
transformation to the next: clipping belongs in front of the optimizer, and `scale_by_adam` and the like leave the sign
of the gradient, so that a negative `scale`, or `scale_by_learning_rate`, has to follow.
""",
    source="optax documentation and issues; measured on optax 0.2: ValueError",
    check=_check,
    bad=(
        """\
import optax

tx = optax.multi_transform(
    {"train": optax.adam(1e-3)},
    lambda params: {name: "frozen" if name == "embed" else "train" for name in params},
)
""",
        """\
import optax

loss_climbs = optax.chain(optax.scale_by_adam(), optax.scale(1e-3))
clipped = optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0))
""",
    ),
    clean=(
        """\
import optax

tx = optax.multi_transform(
    {"train": optax.adam(1e-3), "frozen": optax.set_to_zero()},
    lambda params: {name: "frozen" if name == "embed" else "train" for name in params},
)
down = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(-1e-3))
""",
    ),
)
