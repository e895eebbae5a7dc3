"""NNX303: masks and labels for optax that are made from a state before the optimizer is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.imports import spell, spell_name
from codemods.nnx.pytree.functions import tree_function
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Item, Value

_KEYWORDS = frozenset(
    {"mask", "param_labels", "weight_decay_mask", "trust_ratio_mask", "momentum_mask", "normalize_mask", "labels"}
)
_POSITIONS = {
    "optax.masked": 1,
    "optax.multi_transform": 1,
    "optax.partition": 1,
    "optax.add_decayed_weights": 1,
    "optax.transforms.masked": 1,
    "optax.transforms.partition": 1,
}
# those that leave parameters to others, which Flax 0.11 cannot keep unless these are Variables as a whole
_PARTS = frozenset(_POSITIONS) - {"optax.add_decayed_weights"}
# what makes a state of paths and leaves, whose order does not matter
_BUILDERS = frozenset({"flax.nnx.State.from_flat_path", "flax.nnx.from_flat_state"})
_OPTIMIZERS = {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"}


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every such mask that goes to an optimizer of NNX."""
    if not context.options.crosses("0.11"):
        return
    masks = [(event, node, value) for event in context.asked.calls() for node, value in _masks(context, event)]
    if not masks or not _uses_optimizer(context):
        return
    every = {node for _, node, _ in masks}
    for event, node, value in masks:
        made = _made(context, context.flow.here(value, event.scope))
        if made is not None:
            whole = "0.11" in context.options.targets and context.flow.calls.name(event) in _PARTS
            edits = _edits(context, event.scope, node, made, every, whole)
            path = event.scope.module.source.path
            yield finding(
                "NNX303",
                event.scope,
                node,
                "since Flax 0.11 nnx.Optimizer hands optax bare arrays, and a mask made of a state does not match them",
                "pass a function of the parameters, which optax calls itself",
                Fix(tuple((path, edit) for edit in edits)) if edits is not None else None,
            )


def tree_of_state(context: Context, labels: Bound) -> bool:
    """Say whether a function of JAX made labels or a mask of the leaves of a state: its entries stand in Variables.

    Args:
        context: the project.
        labels: what is given to optax.
    """
    made = _made(context, labels)
    return (
        made is not None
        and isinstance(made.value, Call)
        and context.flow.calls.callee_name(made) not in _BUILDERS
        and made.value.keyword("is_leaf") is None
        and not made.value.starred
    )


def _masks(context: Context, event: CallEvent) -> Iterator[tuple[ast.expr, Value]]:
    """Yield the arguments of an optax function that are trees over the parameters."""
    keywords = [k for k in event.node.keywords if k.arg in _KEYWORDS]
    if not keywords and len(event.node.args) < 2:
        return
    name = context.flow.calls.name(event)
    if not name.startswith("optax."):
        return
    for keyword in keywords:
        value = event.value.keyword(keyword.arg or "")
        if value is not None:
            yield keyword.value, value
    position = _POSITIONS.get(name)
    if position is not None and position < len(event.node.args) and not event.value.starred:
        yield event.node.args[position], event.value.args[position]


def _uses_optimizer(context: Context) -> bool:
    flow = context.flow
    return any(
        flow.calls.name(event) in _OPTIMIZERS
        for event in context.project.calls()
        if len(event.node.args) + len(event.node.keywords) >= 2
    )


def _made(context: Context, mask: Bound) -> Bound | None:
    """Return the call that made a mask, of a tree function over a state or of what builds one; None for others."""
    resolved = context.flow.resolve(mask)
    value = resolved.value
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(resolved)
    if name in _BUILDERS:
        return resolved
    function = tree_function(name)
    if function is None or not function.maps:
        return None
    tree = function.tree_of(value)
    return resolved if tree is not None and _state(context, context.flow.follow(resolved, tree)) else None


def becomes_whole(context: Context, mask: Bound) -> bool:
    """Say whether the fix of a mask gives it one entry for each Variable, as optax's parts need it under 0.11."""
    made = _made(context, mask)
    return made is not None and context.flow.calls.callee_name(made) in _BUILDERS


def _state(context: Context, tree: Bound) -> bool:
    """Say whether a tree is a state: of ``nnx.state`` or a part of ``nnx.split``."""
    flow, value = context.flow, tree.value
    if isinstance(value, Item | Indexed):
        base = Bound(value.base, tree.frame)
        return isinstance(base.value, Call) and flow.calls.callee_name(base) in {"flax.nnx.split", "flax.nnx.state"}
    return isinstance(value, Call) and flow.calls.callee_name(tree) in {"flax.nnx.state", "flax.nnx.variables"}


def _edits(
    context: Context, scope: Scope, node: ast.expr, made: Bound, masks: set[ast.expr], whole: bool
) -> list[Edit] | None:
    """Return edits that turn a mask into a function of the parameters; None if the module cannot write them.

    Args:
        context: the project.
        scope: where the mask is used.
        node: the mask.
        made: the call that made it.
        masks: all masks that there are.
        whole: whether its entries must stand for Variables as a whole.
    """
    source = scope.module.source
    text = source.text(node)
    assert isinstance(made.value, Call)
    inner = made.value.node
    built = context.flow.calls.callee_name(made) in _BUILDERS
    if isinstance(node, ast.Call) and node is not inner and len(node.args) == 1 and not node.keywords and not built:
        value = scope.module.values.get(node.args[0])
        if value is not None and _state(context, context.flow.resolve(context.flow.here(value, scope))):
            return [replace(source, node, source.text(node.func))]  # decay_mask(nnx.state(model)) -> decay_mask
    given = _tree_node(context, made, inner)
    if given is not None:
        name = next(n for n in ("params", "p", "tree", "mask_params") if n not in _names_beside(inner, given))
        if node is inner or _only_masks(context, scope, node, inner, masks):
            start, _ = source.span(inner)
            return [Edit(start, start, f"lambda {name}: ".encode()), replace(source, given, name)]
        if _repeatable(scope, inner, given):  # the mask itself is needed elsewhere too
            (start, _), (first, last) = source.span(inner), source.span(given)
            call = source.text(inner).encode()
            text = (call[: first - start] + name.encode() + call[last - start :]).decode()
            return [replace(source, node, f"lambda {name}: {text}")]
    # the leaves are in the same order in both trees
    tree = spell_name(context.flow, scope, "jax.tree")
    if tree is None:
        return None
    imported, leaf = [*tree.edits], ""
    if whole and built:  # so that optax's placeholders take the place of Variables, not of what they hold
        variable = spell(context.flow, scope, "Variable")
        if variable is None:
            return None
        imported += variable.edits
        leaf = f", is_leaf=lambda v: isinstance(v, {variable.text})"
    return [
        replace(
            source,
            node,
            f"lambda params: {tree.text}.unflatten({tree.text}.structure(params{leaf}), {tree.text}.leaves({text}))",
        ),
        *imported,
    ]


def _only_masks(context: Context, scope: Scope, node: ast.expr, made: ast.Call, masks: set[ast.expr]) -> bool:
    """Say whether a name holds what a call makes and nothing else, and is given to optax and to nothing else."""
    if not isinstance(node, ast.Name):
        return False
    source = scope.module.source
    uses = [n for n in source.of_type(ast.Name) if n.id == node.id]
    stores = [n for n in uses if not isinstance(n.ctx, ast.Load)]
    assigned = [s for s in source.of_type(ast.Assign) if s.value is made and s.targets == stores]
    if not assigned or any(isinstance(n.ctx, ast.Load) and n not in masks for n in uses):
        return False
    others = (m for m in context.project.modules if m is not scope.module)
    return not any(node.id == alias.name for m in others for s in m.imports for alias in s.names)


_SHORT = 120  # what is longer than a line is not repeated


def _repeatable(scope: Scope, call: ast.Call, tree: ast.expr) -> bool:
    """Say whether a short call of this module means the same where its mask is used: no name in it is a variable."""
    source = scope.module.source
    if not any(call is own for own in source.of_type(ast.Call)) or not source.faithful(call):
        return False
    text = source.text(call)
    if "\n" in text or len(text) > _SHORT:
        return False
    own = {
        a.arg for n in ast.walk(call) if isinstance(n, ast.Lambda) for a in ast.walk(n.args) if isinstance(a, ast.arg)
    }
    inner = set(ast.walk(tree))
    free = {n.id for n in ast.walk(call) if isinstance(n, ast.Name) and n not in inner} - own
    stored = {n.id for n in source.of_type(ast.Name) if not isinstance(n.ctx, ast.Load)}
    arguments = {n.arg for n in source.of_type(ast.arg)} - own
    return not free & (stored | arguments)


def _names_beside(call: ast.Call, tree: ast.expr) -> set[str]:
    """Return the names in a call without those in one of its arguments."""
    inner = set(ast.walk(tree))
    return {n.id for n in ast.walk(call) if isinstance(n, ast.Name) and n not in inner}


def _tree_node(context: Context, made: Bound, call: ast.Call) -> ast.expr | None:
    function = tree_function(context.flow.calls.callee_name(made))
    if function is None or len(call.args) != function.tree + 1:
        return None
    return call.args[function.tree]


_LABELS = """\
import jax
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
paths = nnx.state(model, nnx.Param).flat_state()
labels = nnx.from_flat_state({path: leaf.replace(path[-1]) for path, leaf in paths})
parts = {"bias": optax.sgd(0.1), "kernel": optax.adam(0.1)}
optimizer = nnx.Optimizer(model, optax.multi_transform(parts, labels))
optimizer.update(nnx.grad(lambda m: (m.kernel.value**2).sum() + m.bias.value.sum())(model))
print(float(model.kernel.value.sum()), float(model.bias.value[0]))
"""
_WHOLE = (
    _LABELS.replace(
        "(parts, labels))",
        "(parts, lambda params: jax.tree.unflatten(jax.tree.structure(params, is_leaf=lambda v: "
        "isinstance(v, nnx.Variable)), jax.tree.leaves(labels))), wrt=nnx.Param)",
    )
).replace("update(", "update(model, ")

RULE = Rule(
    code="NNX303",
    name="eager-optax-mask",
    summary="optax masks and labels made of nnx.state before the optimizer",
    why="""\
`optax.adamw(..., mask=jax.tree.map(f, nnx.state(model, nnx.Param)))` worked up to Flax 0.10, and so did a state that
is built of paths and labels, as by `nnx.from_flat_state`. Since 0.11
`nnx.Optimizer` hands optax the bare arrays of the parameters, whose tree differs from that of a state of Variables,
and the update raises "Custom node type mismatch". A function of the parameters, which optax calls on whatever tree it
gets, works on every version. Where 0.11 is among them, labels of `optax.multi_transform` and the like get one entry for
each Variable, as 0.11 cannot keep others (NNX305).
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8; google/jax#31256",
    examples=(
        Example(_LABELS, _WHOLE, targets=("0.11",)),
        Example(
            before="""\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.adamw(0.1, weight_decay=0.5, mask=jax.tree.map(lambda p: p.ndim > 1, nnx.state(model, nnx.Param)))
optimizer = nnx.Optimizer(model, tx)
grads = nnx.grad(lambda m: jnp.mean((m(jnp.ones((3, 2))) - 1.0) ** 2))(model)
optimizer.update(grads)
print(float(model.kernel.value.sum()), float(model.bias.value[0]))
""",
            after="""\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.adamw(0.1, weight_decay=0.5, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params))
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
grads = nnx.grad(lambda m: jnp.mean((m(jnp.ones((3, 2))) - 1.0) ** 2))(model)
optimizer.update(model, grads)
print(float(model.kernel.value.sum()), float(model.bias.value[0]))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
