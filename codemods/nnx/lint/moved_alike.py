"""Members of a population that are moved by the same numbers in every round of a loop; part of NNX836."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.applied import calls_of
from codemods.nnx.lint.key_of_state import goes_on
from codemods.nnx.lint.keys import SAME
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.places import in_test, target_of
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Item, Loop, Param, Value

_DRAWS = frozenset({"normal", "uniform", "laplace", "cauchy", "t", "exponential", "gumbel", "rademacher", "randint"})
# what tells members apart, or may be the same for all on purpose
_APART = frozenset({"fold_in", "axis_index", "grad", "value_and_grad", "jacfwd", "jacrev"})
_ON_PURPOSE = pattern(r"common|coupl|sync|antithetic|drop|mask|aug|crop|flip|jitter|(^|_)crn(_|$)", re.I)


def moved_alike(context: Context, root: Root, keys: list[Param], mapped: list[Param]) -> str:
    """Return the name of a key with which all members of a population make the same random step in each round.

    Args:
        context: the analysis.
        root: the ``vmap``.
        keys: the parameters that are not mapped, of which one may be the key.
        mapped: the parameters that are mapped.
    """
    function = root.function
    words = {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(function.node)
             if isinstance(n, ast.Attribute | ast.Name)}  # fmt: skip
    if words & _APART or not words & _DRAWS or _ON_PURPOSE.search(function.name) or SAME.search(function.name):
        return ""
    for key in keys:
        if _ON_PURPOSE.search(key.name) or SAME.search(key.name) or not _walks(context, function, key, mapped):
            continue
        for event in calls_of(context, root):
            if not event.value.starred and not in_test(event.scope) and _again(context, root, event, mapped):
                return key.name
    return ""


def _walks(context: Context, function: FunctionFacts, key: Param, mapped: list[Param]) -> bool:
    """Say whether a function returns what is mapped with random numbers added that are drawn with the key alone."""
    drawn: set[str] = set()  # variables made of the key
    names = {key.name}
    made: dict[str, set[str]] = {}
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in names_in(target):
                    made.setdefault(name, set()).update(names_in(node.value))
    for _ in range(len(made) + 1):
        drawn = {name for name, parts in made.items() if parts & (names | drawn)}
    own = {param.name for param in mapped}
    draws = [
        event
        for event in context.bodies.calls.get(function.scope, ())
        if last_word(event.node.func) in _DRAWS and context.flow.calls.name(event).startswith("jax.random.")
    ]
    if not any(event.node.args and names_in(event.node.args[0]) & (names | drawn) for event in draws):
        return False
    if any(event.node.args and names_in(event.node.args[0]) & own for event in draws):
        return False  # a key of its own for each
    behind = _keys_of(context, function)
    for _ in range(len(made) + 1):
        behind |= {part for name in behind for part in made.get(name, ())}
    if behind & own:
        return False  # the keys are made of what is mapped
    returned = {n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return) and n.value}
    if isinstance(function.node, ast.Lambda):
        returned = {function.node.body}
    reached = set().union(*(names_in(one) for one in returned)) if returned else set()
    for _ in range(len(made) + 1):
        reached |= {part for name in reached for part in made.get(name, ())}
    places = [*returned, *(
        node.value for node in context.bodies.nodes(function.scope)
        if isinstance(node, ast.Assign) and any(names_in(target) & reached for target in node.targets)
    )]  # fmt: skip
    random = {event.node for event in draws}
    for place in places:
        for node in ast.walk(place):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    noisy = bool(names_in(other) & drawn) or any(n in random for n in ast.walk(other))
                    if _part(one, own) and noisy:
                        return True
    return False


def _keys_of(context: Context, function: FunctionFacts) -> set[str]:
    """Return the variables that draws of a function are given as their keys."""
    return {
        name
        for event in context.bodies.calls.get(function.scope, ())
        if event.node.args and context.flow.calls.name(event).startswith("jax.random.")
        for name in names_in(event.node.args[0])
    }


def _part(node: ast.expr, names: set[str]) -> bool:
    """Say whether an expression is one of some variables, or a part of it, or a sum with one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _part(node.left, names) or _part(node.right, names)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def _again(context: Context, root: Root, event: CallEvent, mapped: list[Param]) -> bool:
    """Say whether what a call gives takes the place of what it is mapped over, and is moved again in the next round."""
    scope = event.scope
    target = target_of(event)
    texts = {ast.unparse(one) for one in elements(target)}
    params = [
        param for param in root.function.params.values() if param.name != getattr(root.function.self_param, "name", "")
    ]
    for param in mapped:
        place = params.index(param) if param in params else -1
        if not 0 <= place < len(event.node.args) or ast.unparse(event.node.args[place]) not in texts:
            continue
        node, value = event.node.args[place], event.value.args[place]
        loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
        if isinstance(value, Loop) and value.node in loops:
            return True
        if isinstance(node, ast.Attribute) and loops:
            return True
        if isinstance(node, ast.Name) and _returned(context, scope.function, value, node.id):
            return True
    return False


def _returned(context: Context, function: FunctionFacts | None, value: Value, name: str) -> bool:
    """Say whether a function returns a variable that it got as its state, for the next round of a loop."""
    if function is None or function.generator:
        return False
    if isinstance(value, Item):
        value = value.base
        for body in bodies(context):
            free = body.free
            if body.function is function and free and any(value is function.params[one] for one in free):
                return _returns(context, function, name)
    if not isinstance(value, Param) or value.function is not function or value is function.self_param:
        return False
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    if len(returned) != 1 or returned[0] is None:
        return False
    parts = returned[0].elts if isinstance(returned[0], ast.Tuple) else []
    places: list[int | None] = [place for place, one in enumerate(parts) if name in names_in(one)]
    if name in names_in(returned[0]):
        places.append(None)
    return any(goes_on(context, function, value, place, 0) for place in places)


def _returns(context: Context, function: FunctionFacts, name: str) -> bool:
    return any(
        isinstance(n, ast.Return) and n.value is not None and name in names_in(n.value)
        for n in context.bodies.nodes(function.scope)
    )
