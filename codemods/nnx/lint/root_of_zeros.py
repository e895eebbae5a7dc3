"""NNX520: the gradient of the root of weights that begin as zeros."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.array_calls import whole_of
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.guarded_gradient import no_slope
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.lint.syntax import argument, is_none, one_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Each, Item, Loop, Mapping, Param, Sequence, Unknown, Value

_ZEROS = frozenset(f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in ("zeros", "zeros_like"))
_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"})
#: What gives the weights back as they are after a step.
_STEPS = frozenset({"optax.apply_updates", *TREE_MAPS})
_DRAWN = pattern(r"random|normal|uniform|noise")
_GUARDED = pattern(r"\bwhere\(|\bselect\(|\bcond\(|maximum\(|\bclip\(")
_VISITS = 100  # how many values one question about a tree may visit
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"zeros") for module in context.project.modules):
        return
    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event, name in foreign(context, "norm", "sqrt"):
        function = event.scope.function
        if function is None or in_test(event.scope) or not event.node.args:
            continue
        if _GUARDED.search(event.scope.module.source.text(function.node)):
            continue  # NNX870 says of those what is wrong
        under = _under(context, event.node, event.scope, name)
        if under is not None:
            places.setdefault(function, []).append((event, under))
    seen: set[ast.AST] = set()
    for function, names in Reach(context, places).functions() if places else ():
        for event, under in places.get(function, ()):
            root, scope = event.node, event.scope
            if root in seen or not mentions(under, names) or context.bodies.guarded(root, scope):
                continue
            value = scope.module.values.get(under)
            made = _zeros(context, context.flow.here(value, scope), 0) if value is not None else None
            if made is None or no_slope(event) or beside_loss(context, function, root):
                continue
            seen.add(root)
            yield finding(
                RULE.code,
                scope,
                root,
                f"`{scope.module.source.text(under)}` begins as zeros, where the root has no gradient: the first one "
                "is NaN, and so are all weights after it",
                "add a small number under the root: jnp.sqrt(jnp.sum(x**2) + 1e-12); or take the sum of squares",
                related=[(made, "the zeros")] if made in scope.module.values else [],
            )


def _under(context: Context, call: ast.Call, scope: Scope, name: str) -> ast.expr | None:
    """Return the weights of which a root is taken: that of a norm, of the sum of their squares, or of each."""
    if name == "jax.numpy.linalg.norm":
        order = argument(call, 1, "ord")
        plain = order is None or is_none(order) or one_of(order, (2, "fro"))
        under = call.args[0] if plain else None
    elif name == "jax.numpy.sqrt":
        total = written(context, call.args[0], scope)
        if isinstance(total, ast.Call) and last_word(total.func) == "sum":
            inner = whole_of(total)
            under = squared(written(context, inner, scope)) if inner is not None else None
        else:
            under = total
    else:
        return None
    return under if isinstance(under, ast.Name | ast.Attribute | ast.Subscript) else None


def _zeros(context: Context, bound: Bound, depth: int) -> ast.AST | None:
    """Return what makes the zeros that weights begin with; None for what may begin otherwise.

    What a step makes of them says nothing. Of the leaves of a tree one that begins so is enough.
    """
    found = context.flow.resolve(bound)
    value = found.value
    if depth > _DEPTH:
        return None
    if isinstance(value, Each | Round):
        base = context.flow.follow(found, value.base)
        if isinstance(base.value, Call) and context.flow.calls.callee_name(base) in _LEAVES and base.value.args:
            return _in_tree(context, context.flow.follow(base, base.value.args[0]), set())
        return None
    shown: ast.AST | None = None
    sources = context.sources.originals(found) if isinstance(value, Param | Attr | Item | Indexed) else [found]
    for one in sources:
        if isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _ZEROS:
            shown = one.value.node
        elif not _stepped(context, one, value):
            return None
    return shown


def _stepped(context: Context, one: Bound, whole: Value) -> bool:
    """Say whether a source is what a step makes of weights, or the weights themselves once more."""
    value = one.value
    while isinstance(value, Item | Indexed | Attr):
        value = value.base
    if isinstance(value, Loop | Changed | Unknown | Part) or one.value is whole:
        return not isinstance(value, Unknown) or isinstance(value.node, ast.BinOp)
    call = context.flow.with_value(one, value)
    if not isinstance(value, Call) or context.flow.calls.callee_name(call) not in _STEPS:
        return False
    mapped = context.flow.calls.callables(context.flow.follow(call, value.args[0])) if value.args else []
    return not any(_DRAWN.search(ast.unparse(callee.function.node)) for callee in mapped)


def _in_tree(context: Context, bound: Bound, seen: set[Value]) -> ast.AST | None:
    """Return what makes zeros for a leaf of a tree, which may be reached on several ways."""
    found = context.flow.resolve(bound)
    value = found.value
    if value in seen or len(seen) > _VISITS:
        return None
    seen.add(value)
    while isinstance(value, Loop):
        value = value.before
    if value is not found.value:
        return _in_tree(context, context.flow.with_value(found, value), seen)
    parts: list[Bound] = []
    if isinstance(value, Mapping | Sequence):
        items = value.items if isinstance(value, Sequence) else [item for _, item in value.items]
        parts = [context.flow.follow(found, one) for one in items]
    elif isinstance(value, Call):
        return value.node if context.flow.calls.callee_name(found) in _ZEROS else None
    elif isinstance(value, Param | Attr | Item | Indexed):
        parts = [one for one in context.sources.originals(found) if one.value is not value]
    return next((made for one in parts if (made := _in_tree(context, one, seen)) is not None), None)


RULE = lint_rule(
    "NNX520",
    "root-of-zeros",
    "the gradient of a norm or root of weights that begin as zeros",
    why="""\
Where all is zero the derivative of the root is infinite, and that of a norm 0/0: the gradient is NaN, and with the
first step all weights are. So it goes with a penalty on the norm of a bias, or of weights that begin as `jnp.zeros`. A
small number under the root keeps the gradient finite; the sum of squares needs none.
""",
    source="jax issues 3058, 4177 and 21723, closed as working as intended; measured: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(params, x, y):
    error = jnp.mean((x @ params["w"] - y) ** 2)
    return error + 0.01 * jnp.linalg.norm(params["w"])


def start(x, y):
    params = {"w": jnp.zeros(x.shape[1])}
    return jax.grad(loss)(params, x, y)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(params, x, y):
    error = jnp.mean((x @ params["w"] - y) ** 2)
    return error + 0.01 * jnp.sqrt(jnp.sum(params["w"] ** 2) + 1e-12)


def start(x, y):
    params = {"w": jnp.zeros(x.shape[1])}
    return jax.grad(loss)(params, x, y)
""",
    ),
)
