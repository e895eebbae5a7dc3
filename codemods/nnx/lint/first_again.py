"""NNX965: the body of a loop that computes with the first carry instead of the one that it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import Body, bodies
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# the loops: which argument of the body is the carry, and place and name of the first one
_LOOPS = {
    "jax.lax.scan": (0, 1, "init"),
    "jax.lax.fori_loop": (1, 3, "init_val"),
    "jax.lax.while_loop": (0, 2, "init_val"),
}
_GRADIENT = pattern(r"grad", re.I)


class _Part(NamedTuple):
    """A variable that a loop begins with, and what its body calls it.

    Attributes:
        first: the variable outside.
        carried: the variable of the body that holds what the round before has made of it.
        place: where it stands in the carry; None for the whole.
    """

    first: str
    carried: str
    place: int | None


def _check(context: Context) -> Iterator[Finding]:
    for body in bodies(context):
        found = _LOOPS.get(body.loop)
        scope = body.function.scope
        if found is None or scope.module not in context.asked or in_test(scope) or body.role == "cond_fun":
            continue
        if not isinstance(body.function.node, ast.FunctionDef | ast.Lambda) or scope.parent is not body.event.scope:
            continue
        carry = (body.free or [])[found[0] : found[0] + 1]
        init = argument(body.event.node, found[1], found[2])
        for part in _parts(body.function, carry[0], init) if carry and init is not None else ():
            read = _read(context, body, part)
            if read is not None:
                yield finding(
                    RULE.code,
                    scope,
                    read,
                    f"`{part.first}` is what the loop begins with, in every round: what the round before has made of "
                    f"it is `{part.carried}`",
                    f"compute with `{part.carried}`",
                    related=[(body.event.node, "begun here")],
                )


def _parts(function: FunctionFacts, carry: str, init: ast.expr) -> Iterator[_Part]:
    """Yield the variables that a loop begins with and that its body has another name for."""
    if isinstance(init, ast.Name):
        yield _Part(init.id, carry, None)
    if not isinstance(init, ast.Tuple | ast.List):
        return
    for statement in function.node.body if isinstance(function.node, ast.FunctionDef) else ():
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Name):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple) or statement.value.id != carry or len(target.elts) != len(init.elts):
            continue
        for place, (name, first) in enumerate(zip(target.elts, init.elts, strict=True)):
            if isinstance(name, ast.Name) and isinstance(first, ast.Name):
                yield _Part(first.id, name.id, place)
        return


def _read(context: Context, body: Body, part: _Part) -> ast.Name | None:
    """Return where the body computes with what the loop began with, in the place of what it is given."""
    scope = body.function.scope
    if part.first == part.carried or part.carried.startswith("_") or _binds(context, body, part.first):
        return None
    shapes = {n.value for n in ast.walk(scope.node) if isinstance(n, ast.Attribute) and n.attr in _SHAPES}
    loads = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    firsts = [n for n in loads if n.id == part.first and n not in shapes]
    returned = _returned(context, body, part) if firsts else None
    if returned is None:
        return None
    if _forgotten(context, body, part, loads):
        return firsts[0] if part.first in _sources(context, scope, returned) else None
    calls = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Call) and _differentiates(n)]
    if any(part.carried in names_in(given) for call in calls for given in (*call.args, *call.keywords)):
        return None  # of both, as where one corrects the other
    for call in calls:
        given = next((a for a in call.args if isinstance(a, ast.Name) and a in firsts), None)
        if given is not None and _steps(context, scope, call, returned, part):
            return given
    return None


_SHAPES = frozenset({"shape", "dtype", "ndim", "size"})
_START = pattern(r"_?(init(ial)?|start|first|0)_?")


def _forgotten(context: Context, body: Body, part: _Part, loads: list[ast.Name]) -> bool:
    """Say whether a body never reads a part of the carry, which is called as what the loop begins with.

    A loop that draws until something is accepted may well begin at the same place in every round.
    """
    scope = body.function.scope
    stem = _START.sub("", part.first)
    if body.loop == "jax.lax.while_loop" or not (part.first.startswith(part.carried) or stem == part.carried):
        return False
    if scope.module.source.mentions(b"random") and any(
        isinstance(n, ast.Attribute) and n.attr == "random" for n in context.bodies.nodes(scope)
    ):
        return False
    bound = [n.lineno for n in context.bodies.stores(scope, part.carried)]
    again = sorted(bound)[int(part.place is not None) :][:1]
    # what a statement of several lines makes of it is read before it is bound anew
    ends = [s.end_lineno or 0 for s in context.bodies.nodes(scope) if isinstance(s, ast.Assign) and s.lineno in again]
    last = max([*again, *ends], default=0)
    return not any(n.id == part.carried and (not again or n.lineno <= last) for n in loads)


def _binds(context: Context, body: Body, name: str) -> bool:
    """Say whether the body has a variable of its own under a name."""
    names = context.bodies.names(body.function.scope).get(name, ())
    return name in body.function.params or any(not isinstance(n.ctx, ast.Load) for n in names)


def _sources(context: Context, scope: Scope, node: ast.expr) -> frozenset[str]:
    """Return the names that an expression of a body is made of, through its variables."""
    assigned = [s for s in context.bodies.nodes(scope) if isinstance(s, ast.Assign)]
    found, before = names_in(node), frozenset[str]()
    while found != before:
        before = found
        for statement in assigned:
            if any(names_in(target) & found for target in statement.targets):
                found = found | names_in(statement.value)
    return found


def _returned(context: Context, body: Body, part: _Part) -> ast.expr | None:
    """Return what the body makes of a part of the carry."""
    function = body.function.node
    found = [n.value for n in context.bodies.nodes(body.function.scope) if isinstance(n, ast.Return)]
    if isinstance(function, ast.Lambda):
        found = [function.body]
    if len(found) != 1 or found[0] is None:
        return None
    whole = found[0]
    if body.loop == "jax.lax.scan":
        if not isinstance(whole, ast.Tuple) or len(whole.elts) != 2:
            return None
        whole = whole.elts[0]
    if part.place is None:
        return whole
    return whole.elts[part.place] if isinstance(whole, ast.Tuple) and len(whole.elts) > part.place else None


def _differentiates(call: ast.Call) -> bool:
    """Say whether a call gives a gradient, by the name of what is called or of what made it."""
    func = call.func
    if isinstance(func, ast.Call):
        return last_word(func.func) in {"grad", "value_and_grad"}
    return _GRADIENT.search(last_word(func)) is not None and last_word(func) not in {"grad", "value_and_grad"}


def _steps(context: Context, scope: Scope, call: ast.Call, returned: ast.expr, part: _Part) -> bool:
    """Say whether the gradient that a call gives is a step of the carried part, which the body returns."""
    assigned = [s for s in context.bodies.nodes(scope) if isinstance(s, ast.Assign)]
    reached, before = _targets(s for s in assigned if inside(call, s)), frozenset[str]()
    while reached != before:
        before = reached
        reached = reached | _targets(s for s in assigned if names_in(s.value) & reached)
    moved = [n for n in context.bodies.nodes(scope) if _moves(n, part.carried, reached, call)]
    results = _sources(context, scope, returned)
    return any(inside(n, returned) or any(inside(n, s) and _targets([s]) & results for s in assigned) for n in moved)


def _targets(statements: Iterable[ast.Assign]) -> frozenset[str]:
    return frozenset(name for s in statements for target in s.targets for name in names_in(target))


def _moves(node: ast.AST, carried: str, reached: frozenset[str], call: ast.Call) -> bool:
    """Say whether an expression adds a step to the carried part, or takes it away."""
    rest: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Add):
        if isinstance(node.left, ast.Name) and node.left.id == carried:
            rest = [node.right]
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        mapped = last_word(node.func) in {"map", "tree_map"} and _adds(node.args[0])
        args = node.args[1:] if mapped else node.args if last_word(node.func) == "apply_updates" else []
        if args and isinstance(args[0], ast.Name) and args[0].id == carried:
            rest = args[1:]
    return any(names_in(one) & reached or inside(call, one) for one in rest)


def _adds(function: ast.expr) -> bool:
    """Say whether a lambda adds something to its first argument, or takes it away."""
    if not isinstance(function, ast.Lambda) or not isinstance(function.body, ast.BinOp) or not function.args.args:
        return False
    left = function.body.left
    adds = isinstance(function.body.op, ast.Sub | ast.Add)
    return adds and isinstance(left, ast.Name) and left.id == function.args.args[0].arg


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum((x @ w - 1.0) ** 2)


def train(w, batches):
    def step(weights, x):
        value, grads = jax.value_and_grad(loss)(w, x)
        return weights - 0.01 * grads, value

    return jax.lax.scan(step, w, batches)


print(train(jnp.zeros(3), jnp.ones((5, 4, 3))))
"""

RULE = lint_rule(
    "NNX965",
    "first-carry",
    "the body of a loop computes with the first carry instead of the one that it is given",
    why="""\
The body of `jax.lax.scan` gets what the round before has made of the carry. A variable of the function around it still
is what the loop began with: a gradient that is taken there is that of the first weights in every round, and a state
that is computed of it forgets all rounds before.
""",
    source="measured: every step takes the gradient of the first weights, and the loss grows",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(loss)(w, x)", "(loss)(weights, x)"),),
)
