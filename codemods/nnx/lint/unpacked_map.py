"""NNX670: what ``jax.tree.map`` makes with a function of several results, taken apart like those results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Param, Sequence, Unknown, Value

_WORDS = frozenset(last(name) for name in TREE_MAPS)
_DEPTH = 2  # through how many functions a tuple is returned
#: What trees of arrays are called.
_TREES = pattern(
    r"(^|_)(params?|parameters|grads?|gradients?|updates?|weights|variables|batch_stats|tree|pytree|mu|nu|"
    r"velocity|velocities|momentum|momenta|ema|accumulated|buffers?)$"
)


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"tree_map") or m.source.mentions(b"tree.map") for m in context.asked.modules):
        return
    for scope, assign in each(context, ast.Assign):
        target = assign.targets[0]
        if isinstance(target, ast.Tuple | ast.List) and not any(isinstance(n, ast.Starred) for n in target.elts):
            yield from _taken(context, scope, assign, assign.value, len(target.elts))
    for scope, part in each(context, ast.Subscript):
        if isinstance(part.value, ast.Call | ast.Name) and type(constant(part.slice)) is int:
            yield from _taken(context, scope, part, part.value, None)
    for event in context.bodies.named(*_WORDS):
        if event.scope.module in context.asked and not in_test(event.scope):
            yield from _picked(context, event)


def _picked(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the map that takes one part of each leaf, where the leaves are the parts of tuples that a map has made."""
    call = event.value
    if len(call.args) != 2 or call.keywords or call.starred or context.flow.calls.name(event) not in TREE_MAPS:
        return
    made = context.flow.resolve(context.flow.here(call.args[1], event.scope))
    results = _results(context, made, made.value) if isinstance(made.value, Call) else 0
    place = _part_taken(context, event) if results > 1 else None
    if place is None or not -results <= place < results:
        return
    assert isinstance(made.value, Call)
    parts = {2: "pairs", 3: "triples"}.get(results, "tuples")
    yield finding(
        RULE.code,
        event.scope,
        event.node,
        f"the {parts} are no leaves, but what they hold is: this takes item {place} of each array in them",
        "say where to stop: is_leaf=lambda node: isinstance(node, tuple)",
        related=[(made.value.node, "made here")]
        if context.bodies.module_scope(made.value.node) is event.scope.module.scope
        else [],
    )


def _part_taken(context: Context, event: CallEvent) -> int | None:
    """Return which part of its argument the mapped function gives, as ``lambda pair: pair[0]`` does."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    if len(callees) != 1 or len(callees[0].function.returns) != 1:
        return None
    given = callees[0].function.returns[0]
    if not isinstance(given, Item) or not isinstance(given.base, Param):
        return None
    index = given.index.value if isinstance(given.index, Const) else None
    if isinstance(given.index, Unknown) and isinstance(given.index.node, ast.UnaryOp):  # of -1
        index = constant(given.index.node)
    return index if type(index) is int else None


def _taken(context: Context, scope: Scope, node: ast.AST, mapped: ast.expr, wanted: int | None) -> Iterator[Finding]:
    """Yield the place where a tree of tuples is taken apart as if it were a tuple of trees.

    Args:
        context: the analysis.
        scope: the body that the place stands in.
        node: the place.
        mapped: what is taken apart.
        wanted: into how many parts; None for one of them.
    """
    value = scope.module.values.get(mapped)
    word = last_word(value.node.func) if isinstance(value, Call) else ""
    if not isinstance(value, Call) or (word not in _WORDS and word not in context.shared(_giving)) or in_test(scope):
        return
    made = context.flow.here(value, scope)
    if word not in _WORDS:
        made = context.flow.resolve(made)  # what a function returns
    call = made.value
    if not isinstance(call, Call) or last_word(call.node.func) not in _WORDS:
        return
    results = _results(context, made, call)
    if results > 1 and wanted in (results, None) and _is_tree(context, made, call, _again(node, call)):
        parts = {2: "pairs", 3: "triples"}.get(results, "tuples")
        tree = ast.unparse(call.node.args[1])
        here = mapped is not call.node and context.bodies.module_scope(call.node) is scope.module.scope
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{last_word(call.node.func)}` gives one tree like `{tree}` with {parts} for its leaves: this takes the "
            f"tree apart, and not the {parts}",
            "jax.tree.transpose(jax.tree.structure(tree), None, mapped) gives one tree for each result",
            related=[(call.node, "made here")] if here else [],
        )


def _again(node: ast.AST, call: Call) -> bool:
    """Say whether what is unpacked gets the names of trees that are mapped, and so is meant for whole trees."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    names = [ast.unparse(one) for one in elements(target)] if isinstance(target, ast.Tuple) else []
    return len(names) > 1 and set(names) <= {ast.unparse(one) for one in call.node.args[1:]}


def _giving(context: Context) -> frozenset[str]:
    """Return the names of the functions that return what they map over a tree."""
    return frozenset(
        function.name
        for function in context.project.functions()
        if len(function.returns) == 1
        and isinstance(returned := function.returns[0], Call)
        and last_word(returned.node.func) in _WORDS
    )


def _results(context: Context, bound: Bound, call: Call) -> int:
    """Return how many results the function of a ``jax.tree.map`` has in a tuple; zero if that is not known."""
    if len(call.args) < 2 or call.starred or call.keywords or context.flow.calls.callee_name(bound) not in TREE_MAPS:
        return 0
    callees = context.flow.calls.callables(context.flow.follow(bound, call.args[0]))
    return _given(context, callees[0].function) if len(callees) == 1 else 0


def _given(context: Context, function: FunctionFacts, depth: int = 0) -> int:
    """Return how many results a function has in a tuple, also by a function that it calls; zero if not known."""
    if function.generator:
        return 0
    lengths = {_length(context, value, function, depth) for value in function.returns}
    return lengths.pop() if len(lengths) == 1 else 0


def _length(context: Context, value: Value, function: FunctionFacts, depth: int) -> int:
    """Return how many parts a tuple is written of; zero for other values."""
    if isinstance(value, Call) and depth < _DEPTH:
        called = context.flow.calls.invoked(context.flow.here(value, function.scope))
        if len(called) == 1 and not called[0][0].gradient and not called[0][0].function.decorators:
            return _given(context, called[0][0].function, depth + 1)
    node = value.node if isinstance(value, Sequence) else None
    if not isinstance(node, ast.Tuple) or any(isinstance(one, ast.Starred) for one in node.elts):
        return 0
    return len(node.elts)


def _is_tree(context: Context, bound: Bound, call: Call, again: bool) -> bool:
    """Say whether what is mapped is a tree of arrays, and no tuple that may be taken apart.

    Args:
        context: the analysis.
        bound: the call that maps, in its activation.
        call: that call.
        again: whether what is taken apart gets the names of the trees that are mapped.
    """
    known = [one.value for one in context.sources.originals(context.flow.follow(bound, call.args[1]))]
    if any(isinstance(one, Sequence) for one in known):
        return again
    return _TREES.search(last_word(call.node.args[1])) is not None or (bool(known) and all(map(_tree, known)))


def _tree(value: Value) -> bool:
    if isinstance(value, Mapping):
        return True
    callee = value.callee if isinstance(value, Call) else None
    return isinstance(callee, Attr) and callee.name == "init"


RULE = lint_rule(
    "NNX670",
    "unpacked-map",
    "the results of a function that jax.tree.map maps, unpacked from the tree of them",
    why="""\
`jax.tree.map` gives one tree with the structure of the first one, and what the function returns for its leaves: with a
function that returns two values, a tree of pairs. `a, b = jax.tree.map(...)` unpacks the tree itself. Of a dict these
are its keys; with another number of entries it raises a ValueError about values to unpack. Turn it inside out by
`jax.tree.transpose`, or map once for each result.

A tuple is a part of a tree and no leaf: `jax.tree.map(lambda pair: pair[0], pairs)` gets the arrays in the pairs, one
after the other, and takes the first row of each. It needs `is_leaf=lambda node: isinstance(node, tuple)`.
""",
    source="jax pull request 33890; measured: the variables are the keys of the dict",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def update(params, velocity, grads):
    def one(p, v, g):
        v = 0.9 * v + g
        return p - 0.1 * v, v

    params, velocity = jax.tree.map(one, params, velocity, grads)
    return params, velocity
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def update(params, velocity, grads):
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity)
    return params, velocity
""",
        """\
import jax
import jax.numpy as jnp


def update(params, velocity, grads):
    def one(p, v, g):
        v = 0.9 * v + g
        return p - 0.1 * v, v

    pairs = jax.tree.map(one, params, velocity, grads)
    params, velocity = jax.tree.transpose(jax.tree.structure(params), None, pairs)
    return params, velocity
""",
    ),
)
