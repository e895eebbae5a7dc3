"""NNX572: the gradient through eigenvectors of a matrix that begins as the identity."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.dict_entries import sources_of
from codemods.nnx.lint.formula import binary, operand
from codemods.nnx.lint.literal_shape import shape_of
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call

_EQUAL = pattern(rb"\b(eye|identity|zeros|zeros_like)\(", needs=(b"eye(", b"identity(", b"zeros"))
_VECTORS = {"eigh": (1,), "svd": (0, 2)}  # the places of the vectors in what they give
_EVEN = frozenset({"jax.numpy.eye", "jax.numpy.identity", "numpy.eye", "numpy.identity"})
_NOTHING = frozenset({"jax.numpy.zeros", "numpy.zeros"})
_SAME = frozenset({"transpose", "swapaxes", "asarray", "array", "astype", "conj"})
_STEPS = frozenset({"optax.apply_updates", "jax.tree.map", "jax.tree_util.tree_map"})
_DEPTH = 8


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(m.source.mentions(b"eigh(") or m.source.mentions(b"svd(") for m in context.asked.modules):
        return
    if not any(m.source.matches(_EQUAL) for m in modules):
        return
    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event, name in foreign(context, *_VECTORS):
        function = event.scope.function
        if function is None or not event.node.args or not name.startswith(("jax.numpy.linalg.", "jax.scipy.linalg.")):
            continue
        if not in_test(event.scope) and _uses_vectors(context, event):
            places.setdefault(function, []).append((event, event.node.args[0]))
    if not places:
        return
    told: set[ast.AST] = set()
    for function, names in Reach(context, places).functions():
        for event, matrix in places.get(function, ()):
            if event.node in told or not mentions(matrix, names):
                continue
            sources = sources_of(context, matrix, event.scope)
            if _at_first(context, sources, 0):
                told.add(event.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"all eigenvalues of `{ast.unparse(matrix)}` are the same at first: the gradient of the vectors "
                    "divides by their differences, and is NaN",
                    "begin with a matrix of different ones, or do without the vectors: jnp.linalg.cholesky, eigvalsh",
                )


def _uses_vectors(context: Context, event: CallEvent) -> bool:
    """Say whether the vectors that a call gives are unpacked, and read."""
    if keyword(event.node, "compute_uv") is not None:
        return False
    statement = around(context, event.scope).get(event.node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    parts = elements(statement.targets[0])
    wanted = [parts[place] for place in _VECTORS[last_word(event.node.func)] if place < len(parts)]
    return any(isinstance(one, ast.Name) and context.bodies.reads(event.scope, one.id) for one in wanted)


def _at_first(context: Context, sources: list[Bound], depth: int) -> bool:
    """Say whether a matrix is a multiple of the identity before the first step changes it."""
    begun = [one for one in sources if not _stepped(context, one)]
    return bool(begun) and all(_even(context, one, depth) for one in begun)


def _stepped(context: Context, bound: Bound) -> bool:
    """Say whether a value is what a step makes of the one before: by ``optax.apply_updates``, or ``w - rate * g``."""
    if isinstance(bound.value, Call):
        return context.flow.calls.callee_name(bound) in _STEPS
    step = binary(bound, ast.Sub, ast.Add)
    if step is None or isinstance(step.left, ast.Call):
        return False
    return binary(operand(context, bound, step.right), ast.Mult) is not None


def _even(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a matrix is a multiple of the identity, by all that it may be at first."""
    value, flow = bound.value, context.flow
    if depth > _DEPTH:
        return False

    def also(inner: Bound) -> bool:
        return _at_first(context, [*context.sources.originals(inner)], depth + 1)

    sides = binary(bound, ast.Add, ast.Sub, ast.MatMult, ast.Mult, ast.Div)
    if sides is not None:
        one, other = operand(context, bound, sides.left), operand(context, bound, sides.right)
        if isinstance(sides.op, ast.Mult):
            return (also(one) and _number(sides.right)) or (_number(sides.left) and also(other))
        return also(one) and (_number(sides.right) if isinstance(sides.op, ast.Div) else also(other))
    if isinstance(value, Attr):
        return value.name in {"T", "mT"} and also(flow.with_value(bound, value.base))
    if not isinstance(value, Call) or value.starred:
        return False
    name = flow.calls.callee_name(bound)
    if not name and isinstance(value.callee, Attr):
        return value.callee.name in _SAME and also(flow.with_value(bound, value.callee.base))
    if name in _EVEN:
        return len(value.args) == 1 and constant(value.node.args[0]) != 1
    if name in _NOTHING:
        return len(shape_of(context, bound)) == 2
    return (
        name.startswith("jax.numpy.")
        and name.rpartition(".")[2] in _SAME
        and also(flow.with_value(bound, value.args[0]))
    )


def _number(node: ast.expr) -> bool:
    return isinstance(constant(node), int | float)


_BAD = """\
import jax
import jax.numpy as jnp


def loss(metric, x):
    values, vectors = jnp.linalg.eigh(metric)
    root = (vectors * jnp.sqrt(values)) @ vectors.T
    return jnp.sum((x @ root) ** 2)


metric = jnp.eye(3)
for _ in range(5):
    metric = metric - 0.1 * jax.grad(loss)(metric, jnp.ones((2, 3)))
"""

RULE = lint_rule(
    "NNX572",
    "equal-eigenvalues",
    "the gradient through eigenvectors of a matrix that begins as the identity",
    why="""\
The derivative of eigenvectors and singular vectors divides by the differences of the eigenvalues. Where two of them are
the same, as all are of the identity and of zeros, it is NaN, also where the result does not depend on which vectors are
taken: the first step makes all parameters NaN.
""",
    source="github.com/jax-ml/jax/issues/669, 2311 and 8732; measured: NaN",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("metric = jnp.eye(3)", "metric = jnp.diag(jnp.array([1.0, 2.0, 3.0]))"),),
)
