"""NNX813: objects merged in another order than they were split."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import fix, foreign, target_of, written
from codemods.nnx.values import Sequence

Names = tuple[str, ...]


def _check(context: Context) -> Iterator[Finding]:
    orders: dict[ModuleFacts, list[Names]] = {}
    for event, name in foreign(context, "split", "graphdef"):
        if name in {"flax.nnx.split", "flax.nnx.graphdef"} and event.node.args:
            made = event.scope.module.values.get(event.node.args[0])
            names = _names(made.node if isinstance(made, Sequence) else event.node.args[0])
            if names:
                orders.setdefault(event.scope.module, []).append(names)
    for event, name in foreign(context, "merge"):
        target = _target(context, event)
        if name != "flax.nnx.merge" or target is None:
            continue
        names = _names(target)
        known = orders.get(event.scope.module, [])
        other = next((o for o in known if o != names and sorted(o) == sorted(names)), None)
        if other is not None and names not in known:
            yield finding(
                RULE.code,
                event.scope,
                target,
                f"the objects come in the order of the split: {', '.join(other)}",
                "unpack them in that order",
                fix(event.scope, target, ", ".join(other)),
            )


def _names(node: ast.AST) -> Names:
    """Return the names in a tuple of at least two different ones."""
    if not isinstance(node, ast.Tuple | ast.List):
        return ()
    names = tuple(n.id for n in node.elts if isinstance(n, ast.Name))
    return names if len(names) == len(node.elts) == len(set(names)) > 1 else ()


def _target(context: Context, event: CallEvent) -> ast.expr | None:
    """Return what a call's result is unpacked into, at once or by the name that it got before."""
    target = target_of(event)
    if isinstance(target, ast.Name):
        unpacked = (n for n in context.bodies.nodes(event.scope) if isinstance(n, ast.Assign) and len(n.targets) == 1)
        named = (n for n in unpacked if isinstance(n.value, ast.Name) and n.value.id == target.id)
        target = next((n.targets[0] for n in named if written(context, n.value, event.scope) is event.node), target)
    return target if target is not None and _names(target) else None


RULE = lint_rule(
    "NNX813",
    "merge-order",
    "nnx.merge unpacked in another order than nnx.split was given",
    why="""\
`nnx.split((model, optimizer))` and `optimizer, model = nnx.merge(...)` exchange the objects. What follows fails far
away, or runs on the wrong object.
""",
    source="performance guide of Flax NNX; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    mended=(
        (
            """\
from flax import nnx


def step(model, optimizer):
    graphdef, state = nnx.split((model, optimizer))
    optimizer, model = nnx.merge(graphdef, state)
    return model
""",
            """\
from flax import nnx


def step(model, optimizer):
    graphdef, state = nnx.split((model, optimizer))
    model, optimizer = nnx.merge(graphdef, state)
    return model
""",
        ),
    ),
    clean=(
        """\
from flax import nnx


def step(model, optimizer):
    graphdef, state = nnx.split((model, optimizer))
    model, optimizer = nnx.merge(graphdef, state)
    return model
""",
    ),
    safety=Safety.SAFE,
)
