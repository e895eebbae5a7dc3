"""NNX671: steps against the gradient of a complex number, which JAX gives conjugated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import calls_of
from codemods.nnx.lint.complex_values import is_complex
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import formula_of, in_test
from codemods.nnx.lint.syntax import constant, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item, Mapping, Ref, Unknown, Value

_TRANSFORMS = frozenset({"jax.grad", "jax.value_and_grad"})
_WORDS = (b"complex", b"fft", b"1j")
_NEAR = 12  # the depth from which a formula is looked at: few operations are left
_OWN = (b"GradientTransformation", b"optax.stateless")  # transformations that may take the conjugate
_ALIKE = frozenset(f"jax.numpy.{word}" for word in ("zeros_like", "ones_like", "copy", "array", "asarray"))


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(word) for module in context.project.modules for word in _WORDS):
        return
    for root in context.traced.gradients:
        options = root.options
        if root.transform not in _TRANSFORMS or options is None or keyword(options, "holomorphic") is not None:
            continue
        number = keyword(options, "argnums") or (options.args[1] if len(options.args) > 1 else None)
        place = 0 if number is None else constant(number)
        if not isinstance(place, int):
            continue
        for event in calls_of(context, root):
            args = event.node.args
            if event.value.starred or not 0 <= place < len(args) or event.scope.module not in context.asked:
                continue
            if in_test(event.scope) or not isinstance(args[place], ast.Name | ast.Attribute):
                continue
            step = _step(context, event, args[place], root.transform == "jax.value_and_grad")
            if step is not None and _complex(context, event.value.args[place], event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    step,
                    f"JAX gives the conjugate of the direction of ascent: against it, the imaginary part of "
                    f"`{event.scope.module.source.text(args[place])}` goes up, and not down",
                    "take jnp.conj of the gradient, of trees by jax.tree.map(jnp.conj, grads)",
                    related=[(event.node, "the gradient")],
                )


def _complex(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is a complex array in one way to get there, or a dict of arrays with such a one."""
    found = context.sources.originals(context.flow.here(value, scope))
    return any(_source(context, one) for one in found)


def _source(context: Context, found: Bound) -> bool:
    if isinstance(found.value, Call) and len(found.value.args) == 2 and not found.value.starred:
        if context.flow.calls.callee_name(found) in TREE_MAPS and _alike(context, found):
            return _tree(context, context.flow.with_value(found, found.value.args[1]))
    values = [one for _, one in found.value.items] if isinstance(found.value, Mapping) else [found.value]
    for value in values:
        home = context.bodies.home(value.node) if isinstance(value, Call) else None
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            within = found.frame.function.scope if found.frame is not None else None
            home = within or context.bodies.module_scope(value.node)
        if home is not None and is_complex(context, value, home, _NEAR if isinstance(value, Unknown) else 0):
            return True
    return False


def _tree(context: Context, bound: Bound) -> bool:
    return any(isinstance(one.value, Mapping) and _source(context, one) for one in context.sources.originals(bound))


def _alike(context: Context, found: Bound) -> bool:
    """Say whether a map over a tree gives arrays of the same types: ``jax.tree.map(jnp.zeros_like, params)``."""
    assert isinstance(found.value, Call)
    given = context.flow.resolve(context.flow.with_value(found, found.value.args[0])).value
    return isinstance(given, Ref) and given.name in _ALIKE


def _step(context: Context, event: CallEvent, given: ast.expr, with_value: bool) -> ast.expr | None:
    """Return what goes against a gradient as it is: a difference, or an update of optax.

    Args:
        context: the analysis.
        event: the call that gives the gradient.
        given: what the gradient is taken of.
        with_value: whether the call gives the value, too.
    """
    text = ast.dump(given).replace("Store()", "Load()")
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _same(node.left, text):
            if _scaled(context, event, node.right, with_value):
                return node
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub) and _same(node.target, text):
            if _scaled(context, event, node.value, with_value):
                return node.value
        elif isinstance(node, ast.Call) and node.args:
            word = last_word(node.func)
            own = any(event.scope.module.source.mentions(one) for one in _OWN)
            if word == "update" and len(node.args) > 1 and not own and _gradient(event, node.args[0], with_value):
                return node.args[0]
            if word in {"map", "tree_map"} and _mapped(context, event, node, text, with_value):
                return node
    return None


def _mapped(context: Context, event: CallEvent, node: ast.Call, text: str, with_value: bool) -> bool:
    """Say whether ``jax.tree.map(lambda p, g: p - rate * g, params, grads)`` is evaluated."""
    of_leaves = _leafwise(context, event, node)
    if of_leaves is None or not _same(node.args[1], text):
        return False
    first, second, body = of_leaves
    if not _gradient(event, node.args[2], with_value) and not _momentum(context, event, node.args[2], with_value):
        return False
    return (
        isinstance(body, ast.BinOp)
        and isinstance(body.op, ast.Sub)
        and isinstance(body.left, ast.Name)
        and body.left.id == first
        and any(isinstance(one, ast.Name) and one.id == second for one in _factors(body.right))
    )


def _leafwise(context: Context, event: CallEvent, node: ast.expr) -> tuple[str, str, ast.expr] | None:
    """Return what ``jax.tree.map`` of two trees does with their leaves: both names, and the formula."""
    value = event.scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or len(node.args) != 3 or value.starred:
        return None
    if context.flow.calls.callee_name(context.flow.here(value, event.scope)) not in TREE_MAPS:
        return None
    callees = context.flow.calls.callables(context.flow.here(value.args[0], event.scope))
    function = callees[0].function if len(callees) == 1 and not callees[0].args else None
    body = formula_of(context, function) if function is not None else None
    names = list(function.params) if function is not None and callees[0].receiver is None else []
    return (names[0], names[1], body) if body is not None and len(names) == 2 else None


def _momentum(context: Context, event: CallEvent, node: ast.expr, with_value: bool) -> bool:
    """Say whether a variable is a sum of gradients as they are: ``jax.tree.map(lambda v, g: 0.9 * v + g, v, grads)``,
    or ``0.9 * v + grad``."""
    value = event.scope.module.values.get(node)
    made = value.node if isinstance(value, Call | Unknown) else None
    if not isinstance(made, ast.expr) or not isinstance(node, ast.Name):
        return False
    of_leaves = _leafwise(context, event, made)
    if of_leaves is None:
        return _summed(made, lambda one: _gradient(event, one, with_value), node.id)
    first, second, body = of_leaves
    assert isinstance(made, ast.Call)
    if not _same(made.args[1], ast.dump(node)) or not _gradient(event, made.args[2], with_value):
        return False
    return _summed(body, lambda one: isinstance(one, ast.Name) and one.id == second, first)


def _summed(node: ast.expr, gradient: Callable[[ast.expr], bool], name: str) -> bool:
    """Say whether a sum has what was gathered so far, times a number, and the gradient, times a number."""
    terms = [[*_factors(term)] for term in operands(node, ast.Add)]
    gathered = [term for term in terms if any(isinstance(one, ast.Name) and one.id == name for one in term)]
    new = [term for term in terms if any(gradient(one) for one in term)]
    calls = any(isinstance(part, ast.Call) for part in ast.walk(node))
    return len(terms) == 2 and len(gathered) == len(new) == 1 and gathered != new and not calls


def _same(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.dump(node).replace("Store()", "Load()") == text


def _scaled(context: Context, event: CallEvent, node: ast.expr, with_value: bool) -> bool:
    """Say whether an expression is the gradient, or a product with it."""
    return any(
        _gradient(event, one, with_value) or _momentum(context, event, one, with_value) for one in _factors(node)
    )


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what is multiplied in an expression; of a quotient, what stands above."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from _factors(node.left)
        if isinstance(node.op, ast.Mult):
            yield from _factors(node.right)
    else:
        yield node


def _gradient(event: CallEvent, node: ast.expr, with_value: bool) -> bool:
    """Say whether an expression is the gradient that a call gives."""
    value = event.scope.module.values.get(node)
    if not with_value:
        return value is event.value
    return isinstance(value, Item) and value.base is event.value and value.index == Const(1)


RULE = lint_rule(
    "NNX671",
    "complex-gradient",
    "a step against the gradient of a complex number, without its conjugate",
    why="""\
For a real loss of a complex number `z = x + iy`, `jax.grad` gives `dL/dx - i dL/dy`: the conjugate of the direction in
which the loss grows fastest. `z - rate * grad` goes down along the real part and up along the imaginary one, and the
loss grows. Take `jnp.conj` of the gradient before the step, also before one of optax.
""",
    source="jax issues 4891 and 9110; measured: the loss grows beyond all bounds",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)


target = jnp.array([1.0 + 1.0j])
z = jnp.zeros(1, dtype=jnp.complex64)
for _ in range(10):
    z = z - 0.1 * jax.grad(loss)(z, target)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(z, target):
    return jnp.sum(jnp.abs(z - target) ** 2)


target = jnp.array([1.0 + 1.0j])
z = jnp.zeros(1, dtype=jnp.complex64)
for _ in range(10):
    z = z - 0.1 * jnp.conj(jax.grad(loss)(z, target))
""",
    ),
)
