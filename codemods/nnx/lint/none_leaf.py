"""NNX994: a function of jax.tree.map that asks whether its first argument is None, which it never is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, is_none
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Item, Mapping, Sequence

_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "map", "tree_map"):
        if name not in _MAPS or event.value.starred or len(event.node.args) < 2 or event.node.keywords:
            continue
        if len(event.node.args) > 2 and is_none(event.node.args[1]):
            continue  # NNX780 tells of it
        mapped = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        params = free_params(mapped[0]) if len(mapped) == 1 else []
        if not params or in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        function, first = mapped[0].function, params[0]
        asked = _asked(context, function, first)
        if asked is None or not _only_mapped(context, event, function) or _full(context, event):
            continue
        if _summed(event, function):
            continue
        several = len(event.node.args) > 2
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{first}` is never None here: None is a tree without leaves"
            + (", and where the other tree has one, that raises a ValueError" if several else ", and stays None"),
            "make it a leaf: jax.tree.map(..., is_leaf=lambda x: x is None)",
            related=[(asked, "here it asks")] if function.scope.module is event.scope.module else [],
        )


def _summed(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call only reduces what the function gives, of which a number stands for None: leaving None out
    comes to the same, as with the 0 of a sum."""
    body = function.node.body
    statements = body if isinstance(body, list) else []
    given = [n.value for one in statements for n in ast.walk(one) if isinstance(n, ast.Return)]
    numbers = [isinstance(n, ast.UnaryOp | ast.Constant) and constant(n) is not None for n in given if n is not None]
    if numbers.count(True) != 1 or len(numbers) < 2:
        return False
    return any(
        last_word(call.func) in {"reduce", "tree_reduce"} and len(call.args) > 2 and call.args[1] is event.node
        for call in event.scope.module.source.of_type(ast.Call)
    )


_FULL = pattern(r"(^|_)(grads?|gradients|params?|parameters|weights|state|opt_state|specs?|shardings?|avals|shapes)$")


def _full(context: Context, event: CallEvent) -> bool:
    """Say whether a tree has no None for all that is known of it, so that the test does no harm: JAX, Flax or what a
    transform gave makes it, or it is called after what has none."""
    node = event.node.args[1]
    value = event.scope.module.values.get(node)
    if isinstance(node, ast.Name | ast.Attribute) and _FULL.search(last_word(node).lower()):
        made = context.sources.originals(context.flow.here(value, event.scope)) if value is not None else ()
        return not any(isinstance(one.value, Mapping | Sequence) for one in made)
    while isinstance(value, Item):
        value = value.base
    if not isinstance(value, Call):
        return False
    bound = context.flow.here(value, event.scope)
    name = context.flow.calls.callee_name(bound)
    if not name:
        maker = value.callee  # what jax.vjp gave, for one
        while isinstance(maker, Item):
            maker = maker.base
        name = context.flow.calls.callee_name(context.flow.with_value(bound, maker)) if isinstance(maker, Call) else ""
    return name.startswith(("jax.", "flax.", "optax.")) and last(name) not in {"map", "tree_map"}


def _asked(context: Context, function: FunctionFacts, name: str) -> ast.Compare | None:
    """Return the test of a parameter by which a function gives something else for None than None."""
    nodes = context.bodies.nodes(function.scope)
    bound = context.bodies.stores(function.scope, name)
    if len(bound) > 1:
        return None
    for node in nodes:
        if not isinstance(node, ast.If | ast.IfExp) or not isinstance(node.test, ast.Compare):
            continue
        none = _tested(node.test, name)
        if none is None or any(one.lineno < node.lineno for one in bound):
            continue
        if isinstance(node, ast.IfExp):
            given: ast.expr | None = node.body if none else node.orelse
        else:
            given = _returned(function, node, none) or (_filling(node, name) if none else None)
        if given is not None and not is_none(given) and not (isinstance(given, ast.Name) and given.id == name):
            return node.test
    formula = _formula(function)
    return formula if isinstance(formula, ast.Compare) and _tested(formula, name) is not None else None


def _tested(test: ast.Compare, name: str) -> bool | None:
    """Say whether a comparison holds if a variable is None, or if it is not; None for another comparison."""
    if not isinstance(test.left, ast.Name) or test.left.id != name or len(test.ops) != 1:
        return None
    if not is_none(test.comparators[0]) or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return None
    return isinstance(test.ops[0], ast.Is)


def _formula(function: FunctionFacts) -> ast.expr | None:
    """Return the expression that is all a function consists of."""
    body = function.node.body
    if isinstance(body, ast.expr):
        return body
    statements = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return statements[0].value if len(statements) == 1 and isinstance(statements[0], ast.Return) else None


def _returned(function: FunctionFacts, block: ast.If, none: bool) -> ast.expr | None:
    """Return what a function returns where a condition says that its parameter is None, if that is written there."""
    way = block.body if none else block.orelse
    body = function.node.body
    if not way and isinstance(body, list) and block in body:  # if x is not None: return ...
        if not isinstance(block.body[-1], ast.Return):
            return None
        way = body[body.index(block) + 1 :]
    end = way[-1] if way else None
    return end.value if isinstance(end, ast.Return) else None


def _filling(block: ast.If, name: str) -> ast.expr | None:
    """Return what a block gives a variable as its new value."""
    for one in block.body:
        if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in one.targets):
            return one.value
    return None


def _only_mapped(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a function is used for nothing but going through trees whose leaves it is given."""
    written = event.node.args[0]
    if isinstance(written, ast.Lambda):
        return True
    word = last_word(written)
    if not word:
        return False
    name = word if isinstance(function.node, ast.Lambda) else function.name
    mapping: set[ast.AST] = set()
    for other, called in foreign(context, "map", "tree_map", everywhere=True):
        if called in _MAPS and other.node.args and not other.node.keywords:
            mapping.add(other.node.args[0])
    return all(
        node in mapping
        for module in context.project.modules
        if module.source.mentions(name.encode())
        for node in module.source.of_type(ast.Name, ast.Attribute)
        if last_word(node) == name and isinstance(getattr(node, "ctx", None), ast.Load)
    )


_BAD = """\
import jax

rates = {"embed": 0.1, "trunk": None}


def scaled(grads):
    return jax.tree.map(lambda rate, g: g if rate is None else rate * g, rates, grads)
"""

RULE = lint_rule(
    "NNX994",
    "none-is-no-leaf",
    "a function of jax.tree.map asks whether its first argument is None, which is no leaf",
    why="""\
None is a tree without leaves. `jax.tree.map(f, first, *rest)` calls `f` with the leaves of `first`, and so never with
None: where `first` has one, the result has None as well, and a tree beside it that has a leaf there raises a
ValueError. With `is_leaf=lambda x: x is None` it is a leaf. In the further trees None may reach `f`, as they are taken
apart only as far as the first one. Functions that give None for None are left alone: that is what comes out anyhow.
""",
    source="JAX documentation on pytrees and None; measured on JAX 0.6.2, 0.7.2 and 0.10.2: ValueError",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("rates, grads)", "rates, grads, is_leaf=lambda x: x is None)"),),
)
