"""NNX896: changes to a copy of a model's state that never reach the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.filled_state import unused_states
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr

_COPIES = frozenset(
    {"flax.nnx.to_pure_dict", "flax.serialization.to_state_dict", "flax.nnx.to_flat_state",
     "flax.traverse_util.flatten_dict"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, state in unused_states(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"this fills the state `{state}` alone, which nothing uses: the model keeps its values",
            f"call nnx.update(model, {state}) after it",
        )
    found = [(e, n) for e, n in foreign(context, *_WORDS) if n in _COPIES | _STATES]
    found += [(e, "") for e in context.bodies.named("to_pure_dict") if _method(context, e)]
    for event, name in found:
        statement = event.statement
        if event.scope.function is None or in_test(event.scope) or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        flat = _flattened(statement.value, event.node)
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            continue
        if statement.value is not event.node and not flat:
            continue
        stored = _edited(event, target.id, shared=name in _STATES, flat=flat or name.endswith("flatten_dict"))
        if stored is not None:
            yield finding(
                RULE.code,
                event.scope,
                stored,
                f"this changes a copy: nothing puts `{target.id}` back into the model",
                f"call nnx.update(model, {target.id}) after it"
                if not name.endswith("flatten_dict")
                else f"go on with flax.traverse_util.unflatten_dict({target.id})",
                related=[(event.node, "the copy is made here")],
            )


_WORDS = ("to_pure_dict", "to_state_dict", "state", "flatten_dict")
_STATES = frozenset({"flax.nnx.state"})  # its Variables are the model's own, but not its dicts


def _method(context: Context, event: CallEvent) -> bool:
    callee = event.value.callee
    return isinstance(callee, Attr) and not context.flow.calls.name(event) and event.scope.module in context.asked


def _flattened(node: ast.expr, call: ast.Call) -> bool:
    """Say whether an expression is ``flatten_dict`` of what a call gives: one dict of its arrays by their paths."""
    return isinstance(node, ast.Call) and last_word(node.func) == "flatten_dict" and node.args[:1] == [call]


def _edited(event: CallEvent, name: str, shared: bool, flat: bool) -> ast.Subscript | None:
    """Return the first item that is assigned in a copy which is used for nothing else; None if there is none."""
    assert event.scope.function is not None
    body = event.scope.function.node
    nodes = list(ast.walk(body))
    names = {name}
    while True:
        more = {
            t.id
            for n in nodes
            if isinstance(n, ast.Assign) and _root(n.value) in names and not isinstance(n.value, ast.Name | ast.Call)
            for t in n.targets
            if isinstance(t, ast.Name)
        } | {
            n.targets[0].id
            for n in nodes
            if isinstance(n, ast.Assign)
            and isinstance(n.value, ast.Name)
            and n.value.id in names
            and isinstance(n.targets[0], ast.Name)
        }
        if more <= names:
            break
        names |= more
    harmless: set[ast.AST] = set()
    stored: ast.Subscript | None = None
    for node in nodes:
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name):
                harmless.add(node.value)
            if isinstance(node.ctx, ast.Store) and _root(node) in names:
                path = flat and isinstance(node.slice, ast.Tuple | ast.Call) and isinstance(node.value, ast.Name)
                known = path or isinstance(node.slice, ast.Constant | ast.Name)
                if not known or _all(node.slice) or _slots(node, shared):
                    return None  # an element of an array, or the value of a Variable
                stored = stored if stored is not None and stored.lineno <= node.lineno else node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                harmless.add(node.value)
        elif isinstance(node, ast.Compare) or (isinstance(node, ast.For) and isinstance(node.iter, ast.Name)):
            harmless.update(ast.iter_child_nodes(node))
    if stored is None:
        return None
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load) and node not in harmless:
            return None
    return stored


def _slots(node: ast.Subscript, shared: bool) -> bool:
    """Say whether a Variable of the model itself may be changed, whose dict is not a copy of its own."""
    return shared and isinstance(node.value, ast.Attribute)


def _all(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and (index.value is ... or isinstance(index.value, int))


def _root(node: ast.expr | None) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


RULE = lint_rule(
    "NNX896",
    "edited-copy",
    "a copy of a state is changed and never put back into the model",
    why="""\
`nnx.to_pure_dict` gives dicts of arrays, and `nnx.state` dicts of its own: what is assigned to their items does not
reach the model, nor does what `nnx.replace_by_pure_dict` writes into a state. Pretrained weights that are "loaded" like
this are not loaded.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: the weights stay as they were",
    check=_check,
    bad=(
        """\
from flax import nnx


def load(model, weights):
    params = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    params["kernel"] = weights["kernel"]
    params["bias"] = weights["bias"]
    return model
""",
    ),
    clean=(
        """\
from flax import nnx


def load(model, weights):
    params = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    params["kernel"] = weights["kernel"]
    params["bias"] = weights["bias"]
    nnx.update(model, params)
    return model
""",
    ),
)
