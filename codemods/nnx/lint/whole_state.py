"""NNX714: arithmetic on, or a count of, everything that a model holds, where its parameters are meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keyed_trees import keyed_trees
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import foreign, formula_of, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Function, Item, Value

_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map"})
_COMPUTING = frozenset({"square", "norm", "vdot"})


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for event, name in foreign(context, "leaves", "tree_leaves", "map", "tree_map"):
        if name not in _LEAVES | _MAPS or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        if in_test(event.scope):
            continue
        trees = event.value.args[:1] if name in _LEAVES else event.value.args[1:]
        held = [_whole(context, context.flow.here(tree, event.scope)) for tree in trees]
        what = next((one for one in held if one), None)
        if not what:
            continue
        uses = set(_uses(context, event) if name in _LEAVES else _mapped(context, event))
        if "arithmetic" in uses and "nnx.RngState" in what:
            told.add(event.node)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "this state holds the random keys of the model as well, and there is no arithmetic on keys",
                "take the parameters alone: nnx.state(model, nnx.Param)",
            )
        elif "count" in uses:
            shown = " and ".join(sorted(what))
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"this state holds {shown} as well, so that more than the parameters is counted",
                "take the parameters alone: nnx.state(model, nnx.Param)",
            )
    for event, text in keyed_trees(context):
        if event.node not in told:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text}` holds the random keys of the model as well, and there is no arithmetic on keys",
                "take the parameters alone: nnx.state(model, nnx.Param)",
            )


def _whole(context: Context, tree: Bound) -> set[str]:
    """Return what the whole state of a model holds besides parameters; nothing if a value is no such state."""
    found: list[set[str]] = []
    for source in originals_that(context, tree, lambda value: isinstance(value, Call | Item)):
        value: Value = source.value
        if isinstance(value, Item):
            index = value.index.value if isinstance(value.index, Const) else None
            value = value.base if index == 1 else value
        made = context.flow.with_value(source, value)
        name = context.flow.calls.callee_name(made) if isinstance(value, Call) else ""
        if not isinstance(value, Call) or len(value.args) != 1 or value.keywords or value.starred:
            return set()
        if name != ("flax.nnx.state" if value is source.value else "flax.nnx.split"):
            return set()
        found.append(held_besides(context, context.flow.with_value(made, value.args[0])))
    return set.intersection(*found) if found else set()


def _uses(context: Context, event: CallEvent) -> Iterator[str]:
    """Yield what a comprehension or loop over leaves does with each."""
    values = event.scope.module.values
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
            target = node.generators[0].target
            if values.get(node.generators[0].iter) is event.value and isinstance(target, ast.Name):
                if not node.generators[0].ifs:
                    yield from _done(node.elt, target.id)
        elif isinstance(node, ast.For) and values.get(node.iter) is event.value and isinstance(node.target, ast.Name):
            if all(isinstance(part, ast.AugAssign) for part in node.body):
                for part in node.body:
                    assert isinstance(part, ast.AugAssign)
                    yield from _done(part.value, node.target.id)


def _mapped(context: Context, event: CallEvent) -> Iterator[str]:
    """Yield what the function of a tree map does with the leaves."""
    called = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    function: FunctionFacts | None = called.facts if isinstance(called, Function) else None
    formula = formula_of(context, function) if function is not None and not function.decorators else None
    if function is None or formula is None:
        return
    if any(isinstance(node, ast.If | ast.Try) for node in context.bodies.nodes(function.scope)):
        return
    for name in function.params:
        for use in _done(formula, name):
            if use == "arithmetic":
                yield use


def _done(node: ast.expr, name: str) -> Iterator[str]:
    """Yield what an expression does with a leaf: compute with it, or count its elements."""
    if any(isinstance(part, ast.IfExp) for part in ast.walk(node)):
        return
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and any(
            isinstance(side, ast.Name) and side.id == name for side in (part.left, part.right)
        ):
            yield "arithmetic"
        elif isinstance(part, ast.Call) and last_word(part.func) in _COMPUTING:
            if any(isinstance(argument, ast.Name) and argument.id == name for argument in part.args):
                yield "arithmetic"
    if _counts(node, name):
        yield "count"


def _counts(node: ast.expr, name: str) -> bool:
    """Say whether an expression is the number of elements of a leaf: ``p.size``, ``math.prod(p.shape)``."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in {"int", "prod"}:
        inner = node.args[0]
        if last_word(node.func) == "int":
            return _counts(inner, name)
        return isinstance(inner, ast.Attribute) and inner.attr == "shape" and _named(inner.value, name)
    return isinstance(node, ast.Attribute) and node.attr == "size" and _named(node.value, name)


def _named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


RULE = lint_rule(
    "NNX714",
    "whole-state",
    "arithmetic on the whole state of a model that holds random keys, or a count of it",
    why="""\
`nnx.state(model)` without a filter gives everything: besides the parameters the statistics of batch norm and the keys
and counters of random streams. A weight penalty or a moving average over it raises on the keys, which are no numbers,
and the number of parameters comes out too large. `nnx.state(model, nnx.Param)` gives the parameters.
""",
    source="measured on Flax 0.10.7 and 0.12.8: TypeError, or a larger number",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)


model = Net(nnx.Rngs(0))
penalty = sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(model)))
""",
        """\
import jax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)


model = Net(nnx.Rngs(0))
print("parameters:", sum(p.size for p in jax.tree.leaves(nnx.state(model))))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)


model = Net(nnx.Rngs(0))
penalty = sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(model, nnx.Param)))
""",
    ),
)
