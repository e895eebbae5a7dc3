"""NNX768: the gradient of the square of a norm."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Indexed
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.lint.syntax import argument, constant, is_none, one_of, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Item, Unknown, Value

_NORMS = frozenset({"jax.numpy.linalg.norm", "optax.global_norm", "optax.tree.norm", "optax.tree_utils.tree_l2_norm"})


def _check(context: Context) -> Iterator[Finding]:
    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event, name in foreign(context, *sorted({last(name) for name in _NORMS})):
        function = event.scope.function
        if name not in _NORMS or function is None or not event.node.args or in_test(event.scope) or _other(event.node):
            continue
        if _shifted(event.node.args[0]) or _positive(written(context, event.node.args[0], event.scope)):
            continue
        square = _square(context, event)
        if square is not None:
            places.setdefault(function, []).append((event, square))
    if not places:
        return
    seen: set[ast.AST] = set()
    for function, names in Reach(context, places).functions():
        for event, square in places.get(function, ()):
            if square not in seen and mentions(event.node.args[0], names):
                if _several(context, event, names) or beside_loss(context, function, event.node) or _solved(event):
                    continue
                if _residual(context, event, names) or _nowhere_zero(context, event, square):
                    continue
                seen.add(square)
                yield finding(
                    RULE.code,
                    event.scope,
                    square,
                    "the gradient of the root within the norm is infinite where all is zero: that of its square is NaN",
                    "sum the squares instead: jnp.sum(x**2)",
                )


def _shifted(node: ast.expr) -> bool:
    """Say whether a small number is added before the norm is taken, so that nothing of it is zero but by chance."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    return any(
        (isinstance(side, ast.Constant) and bool(side.value)) or last_word(side).lower() in {"eps", "epsilon"}
        for side in (node.left, node.right)
    )


def _positive(node: ast.expr) -> bool:
    """Say whether all numbers of an expression are above zero."""
    return isinstance(node, ast.Call) and last_word(node.func) in {
        "exp",
        "exp2",
        "softplus",
        "sigmoid",
        "softmax",
        "cosh",
    }


_SOLVERS = pattern(r"solv|i?lqr|optimi[sz]e|minimi[sz]e|odeint|diffeqsolve|fixed_point")


def _solved(event: CallEvent) -> bool:
    """Say whether a norm is that of what a solver gives, as a trajectory: all of it is zero nowhere but by chance."""
    value: Value | None = event.value.args[0] if event.value.args else None
    while isinstance(value, Item | Indexed):
        value = value.base
    if isinstance(value, Unknown) and isinstance(value.node, ast.Subscript):  # a part that slices take
        value = event.scope.module.values.get(value.node.value)
        while isinstance(value, Item | Indexed):
            value = value.base
    return isinstance(value, Call) and bool(_SOLVERS.search(last_word(value.node.func).lower()))


def _several(context: Context, event: CallEvent, names: set[str]) -> bool:
    """Say whether a norm is that of what several functions of the project give, side by side or as a sum: all of these
    are zero at once nowhere but where nothing is left to be found."""
    given = written(context, event.node.args[0], event.scope)
    terms = operands(given, ast.Add)
    if isinstance(given, ast.Call) and last_word(given.func) in {"concatenate", "hstack", "array", "stack"}:
        parts = given.args[0] if given.args else given
        terms = parts.elts if isinstance(parts, ast.Tuple | ast.List) else terms
    calls = [one for one in terms if isinstance(one, ast.Call) and mentions(one, names)]
    functions = {last_word(one.func) for one in calls if _own(context, one, event)}
    return len(functions) > 1 and len(calls) == len(terms)


def _residual(context: Context, event: CallEvent, names: set[str]) -> bool:
    """Say whether a norm is that of the difference of what a function of the project gives and what it is to give, or
    another function does: a fit leaves something, and is exact nowhere but by chance."""
    given = written(context, event.node.args[0], event.scope)
    if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Sub):
        return False
    sides = [written(context, side, event.scope) for side in (given.left, given.right)]
    made = [isinstance(side, ast.Call) and _own(context, side, event) for side in sides]
    return any(made) and all(own or not mentions(side, names) for own, side in zip(made, sides, strict=True))


def _nowhere_zero(context: Context, event: CallEvent, square: ast.expr) -> bool:
    """Say whether something is divided by the square, or the logarithm of the norm is taken, too: where it is
    zero, there is no value either."""
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and node.right is square:
            return True
        if isinstance(node, ast.Call) and last_word(node.func) in _LOGARITHMS and len(node.args) == 1:
            if any(_is(one, event) for one in operands(node.args[0], ast.Add)):
                return True
    return False


_LOGARITHMS = frozenset({"log", "log2", "log10"})


def _own(context: Context, call: ast.Call, event: CallEvent) -> bool:
    """Say whether a call reaches a function of the project."""
    value = event.scope.module.values.get(call)
    return isinstance(value, Call) and bool(context.flow.calls.reached(context.flow.here(value, event.scope)))


def _other(node: ast.Call) -> bool:
    """Say whether a norm is another than the Euclidean one."""
    given = argument(node, 1, "ord")
    return given is not None and not one_of(given, (2, "fro")) and not is_none(given)


def _square(context: Context, event: CallEvent) -> ast.expr | None:
    """Return the expression that squares a norm."""
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if constant(node.right) == 2 and _is(node.left, event):
                return node
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if sum(_is(factor, event) for factor in operands(node, ast.Mult)) > 1:
                return node
        elif isinstance(node, ast.Call) and last_word(node.func) == "square" and len(node.args) == 1:
            if _is(node.args[0], event):
                return node
    return None


def _is(node: ast.expr, event: CallEvent) -> bool:
    """Say whether an expression is a norm, or a variable that stands for it."""
    if node is event.node:
        return True
    value = event.scope.module.values.get(node) if isinstance(node, ast.Name) else None
    return isinstance(value, Call) and value.node is event.node


RULE = lint_rule(
    "NNX768",
    "squared-norm",
    "the gradient of the square of a norm",
    why="""\
`jnp.linalg.norm(x) ** 2` takes a root and squares it again. The derivative of the root is infinite where all of `x` is
zero, as biases are at first, and the gradient is NaN there; that of the sum of the squares is right everywhere.
""",
    source="jax issues 4177 and 21723; measured on JAX 0.6.2 and 0.10.2: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def penalty(params):
    return sum(jnp.linalg.norm(p) ** 2 for p in jax.tree.leaves(params))


grads = jax.grad(penalty)({"w": jnp.ones(3), "b": jnp.zeros(3)})
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def penalty(params):
    return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))


grads = jax.grad(penalty)({"w": jnp.ones(3), "b": jnp.zeros(3)})
size = jnp.linalg.norm(grads["w"]) ** 2
""",
    ),
)
