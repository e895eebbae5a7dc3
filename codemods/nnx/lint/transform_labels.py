"""NNX837: a label that multi_transform has no transformation for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Const, Function, Mapping, Value


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "multi_transform", "partition"):
        if not name.startswith("optax."):
            continue
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
            for text in _texts(n.value)
        ]
    if isinstance(value, Mapping) and isinstance(value.node, ast.expr):
        return [*_texts(value.node)]
    return []


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
    "label-without-transform",
    "optax.multi_transform with a label that has no transformation",
    why="""\
Every label of a parameter has to name one of the transformations: `init` raises a ValueError for others. Parameters
that shall stay as they are need a transformation too, `optax.set_to_zero()`.
""",
    source="optax documentation and issues; measured on optax 0.2: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import optax

tx = optax.multi_transform(
    {"train": optax.adam(1e-3)},
    lambda params: {name: "frozen" if name == "embed" else "train" for name in params},
)
""",
    ),
    clean=(
        """\
import optax

tx = optax.multi_transform(
    {"train": optax.adam(1e-3), "frozen": optax.set_to_zero()},
    lambda params: {name: "frozen" if name == "embed" else "train" for name in params},
)
""",
    ),
)
