"""NNX784: rules of custom derivatives that leave out the gradient or tangent that they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.derivative_rule import is_custom, made_custom, only_function
from codemods.nnx.lint.names import ARRAY_METHODS, last
from codemods.nnx.lint.places import in_test, receiver, shown
from codemods.nnx.lint.syntax import argument, assignments, constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Sequence

_OF_SHAPE = frozenset({"shape", "dtype", "ndim", "size", "sharding"})
_LIKE = frozenset({"ones_like", "zeros_like", "full_like", "shape", "ndim", "result_type", "type", "isinstance"})
# functions that give no zeros of their own accord
_SMOOTH = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.scipy.", "numpy.", "math.")
# those that give a number again, in another form
_FILLED = frozenset(
    {"array", "asarray", "bfloat16", "broadcast_to", "float16", "float32", "float64", "full", "full_like", "tile"}
)

_DERIVATIVES = frozenset({"jax.grad", "jax.jacfwd", "jax.jacrev", "jax.jacobian"})
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _check(context: Context) -> Iterator[Finding]:
    for rule, forward in _backward(context):
        yield from _of_rule(context, rule, list(rule.params)[-1], 0, forward)
    for rule in _forward(context):
        yield from _of_rule(context, rule, list(rule.params)[-1], 1)


def _backward(context: Context) -> Iterator[tuple[FunctionFacts, FunctionFacts | None]]:
    """Yield the backward rules of ``custom_vjp``, with the forward rules."""
    for event in context.bodies.named("defvjp"):
        func, node = event.node.func, argument(event.node, 1, "bwd")
        if not isinstance(func, ast.Attribute) or node is None or event.value.starred or in_test(event.scope):
            continue
        values = event.scope.module.values
        owner, given = values.get(func.value), values.get(node)
        if owner is None or given is None:
            continue
        primal = only_function(context, context.flow.here(owner, event.scope))
        first = event.value.argument(0, "fwd")
        forward = only_function(context, context.flow.here(first, event.scope)) if first is not None else None
        if _nothing_kept(forward):
            continue
        backward = only_function(context, context.flow.here(given, event.scope))
        if backward is None or primal is None or not _plain(context, backward, 2):
            continue
        if made_custom(context, owner, event) is not None or is_custom(context, primal, "jax.custom_vjp"):
            yield backward, forward


def _nothing_kept(forward: FunctionFacts | None) -> bool:
    """Say whether the forward rule may keep None for the backward rule, which then has no derivative to give."""
    returned = forward.returns if forward is not None else []
    pairs = (value.items for value in returned if isinstance(value, Sequence) and len(value.items) == 2)
    return any(kept == Const(None) for _, kept in pairs)


def _forward(context: Context) -> Iterator[FunctionFacts]:
    """Yield the functions that ``defjvp`` of a ``custom_jvp`` decorates, or gets."""
    for module in context.asked.modules:
        if not module.source.mentions(b"defjvp"):
            continue
        for function in module.functions:
            outer = function.scope.parent
            if len(function.decorators) != 1 or outer is None or not _plain(context, function, 2, decorated=True):
                continue
            decorator = function.decorators[0]
            if isinstance(decorator, Attr) and decorator.name == "defjvp":
                primal = only_function(context, context.flow.here(decorator.base, outer))
                if primal is not None and is_custom(context, primal, "jax.custom_jvp"):
                    yield function
    for event in context.bodies.named("defjvp"):
        owner, given = receiver(event), event.value.argument(0, "jvp")
        value = event.scope.module.values.get(owner)
        if given is None or value is None or in_test(event.scope):
            continue
        primal = only_function(context, context.flow.here(value, event.scope))
        rule = only_function(context, context.flow.here(given, event.scope))
        if primal is not None and rule is not None and _plain(context, rule, 2):
            if made_custom(context, value, event) is not None or is_custom(context, primal, "jax.custom_jvp"):
                yield rule


def _plain(context: Context, rule: FunctionFacts, least: int, decorated: bool = False) -> bool:
    """Say whether a function is one of which all parameters are known, in a file that was asked about."""
    if rule.scope.module not in context.asked or in_test(rule.scope) or rule.generator:
        return False
    known = rule.vararg is None and rule.kwarg is None and len(rule.params) >= least
    return known and (decorated or not rule.decorators or rule.binding == "static")


def _of_rule(
    context: Context, rule: FunctionFacts, given: str, first: int, forward: FunctionFacts | None = None
) -> Iterator[Finding]:
    """Yield the first result of a rule that does not depend on what it is given for the derivative."""
    if given.startswith("_") or _deleted(context, rule, given):
        return  # left out on purpose
    known = dependent(rule, given)
    for result in results(context, rule):
        parts = result.elts if isinstance(result, ast.Tuple) else [result] if not first else []
        for part in parts[first:]:
            if not loads(part) & known and _nonzero(context, rule, part):
                if forward is not None and any(loads(one) & known for one in parts):
                    if _prepared(context, rule, forward, part):
                        continue
                what = "the gradient of its result" if not first else "the tangents of its arguments"
                left, help = f"`{given}`", f"multiply it with those of `{given}`"
                if not first or (names := _unread_parts(context, rule, given)):
                    left = " and ".join(f"`{name}`" for name in names) if first else left
                    what = what if not first or len(names) > 1 else "the tangent of its argument"
                    help = f"multiply the derivative with {left}"
                yield finding(
                    RULE.code,
                    rule.scope,
                    part,
                    f"{shown(rule)} leaves out {left}, {what}: the chain rule ends here",
                    help,
                )
                return


def _unread_parts(context: Context, rule: FunctionFacts, given: str) -> list[str]:
    """Return the variables that a parameter is taken apart into, where none is read: ``(x_dot,) = tangents``."""
    for node in context.bodies.nodes(rule.scope):
        for target, value in assignments(node):
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Name) and value.id == given:
                names = [one.id for one in target.elts if isinstance(one, ast.Name)]
                read = {n.id for n in ast.walk(rule.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
                return names if len(names) == len(target.elts) and not read & set(names) else []
    return []


def _prepared(context: Context, rule: FunctionFacts, forward: FunctionFacts, part: ast.expr) -> bool:
    """Say whether a result is what the forward rule computed and kept, as it is: beside a gradient, that may be the new
    value of a scale or of a history, which an optimizer puts in place of the old one."""
    kept = [one.elts[1] for one in results(context, forward) if isinstance(one, ast.Tuple) and len(one.elts) == 2]
    params = list(rule.params)
    if len(kept) != 1 or len(params) < 2:
        return False
    residuals = params[-2]
    place: object = None
    if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == residuals:
        place = constant(part.slice)
    elif isinstance(part, ast.Name):
        for node in context.bodies.nodes(rule.scope):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == residuals:
                names = [
                    n.id for t in node.targets if isinstance(t, ast.Tuple) for n in t.elts if isinstance(n, ast.Name)
                ]
                place = names.index(part.id) if part.id in names else place
    one = kept[0]
    if not isinstance(one, ast.Tuple) or not isinstance(place, int) or not 0 <= place < len(one.elts):
        return False
    value = forward.scope.module.values.get(one.elts[place])
    return value is not None and not isinstance(value, Param | Const)


def _deleted(context: Context, rule: FunctionFacts, name: str) -> bool:
    return any(isinstance(n, ast.Delete) and name in names_in(n) for n in context.bodies.nodes(rule.scope))


def results(context: Context, rule: FunctionFacts) -> Iterator[ast.expr]:
    """Yield the expressions that a rule returns."""
    if isinstance(rule.node, ast.Lambda):
        yield rule.node.body
        return
    for node in context.bodies.nodes(rule.scope):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def loads(node: ast.AST) -> set[str]:
    """Return the variables on whose values an expression depends, those of which it only takes the shape left out."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute) and node.attr in _OF_SHAPE and isinstance(node.value, ast.Name):
        return set()
    if isinstance(node, ast.Call) and last_word(node.func) in _LIKE:
        return loads(node.func)
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        found |= loads(child)
    return found


def dependent(rule: FunctionFacts, given: str) -> set[str]:
    """Return the variables of a rule that may depend on one of its parameters.

    Args:
        rule: the rule, or another function.
        given: the name of the parameter.
    """
    known = {given}
    nodes = [n for n in ast.walk(rule.node) if isinstance(n, ast.stmt | ast.NamedExpr | ast.comprehension)]
    before = 0
    while before != len(known):
        before = len(known)
        for node in nodes:
            if isinstance(node, ast.Return) or node is rule.node:
                continue
            if loads(node) & known:
                known |= _changed(node)
    return known


def _changed(node: ast.AST) -> set[str]:
    """Return the variables that a statement binds, or in which it may change something."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)}
    places = (n for n in ast.walk(node) if isinstance(n, ast.Attribute | ast.Subscript))
    stored = [n for n in places if isinstance(n.ctx, ast.Store)]
    called = [n.value for n in ast.walk(node) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    called = [n for n in called if last_word(n.func) != "print"]  # a library in C may fill what it is given
    return found.union(*(names_in(one) for one in (*stored, *called)))


def _nonzero(context: Context, rule: FunctionFacts, node: ast.expr, depth: int = 0) -> bool:
    """Say whether a derivative is more than zero, as far as its text tells; the zero of an integer is none."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool) and node.value != 0
    if isinstance(node, ast.Name):
        return depth < 4 and _named(context, rule, node, depth)
    if isinstance(node, ast.UnaryOp):
        return _nonzero(context, rule, node.operand, depth)
    if isinstance(node, ast.BinOp):
        return all(_whole(context, rule, side, depth) for side in (node.left, node.right))
    if isinstance(node, ast.Compare):  # where the result follows the argument: 1, and 0 elsewhere
        sides = (node.left, *node.comparators)
        return all(isinstance(op, _ORDER) for op in node.ops) and any(
            _nonzero(context, rule, side, depth) for side in sides if constant(side) is None
        )
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        return _nonzero(context, rule, node.value, depth)
    if isinstance(node, ast.Call):
        if _differentiates(context, rule, node):
            return not any(_silent(part) for part in node.args)
        value = rule.scope.module.values.get(node)
        bound = context.flow.here(value, rule.scope) if value is not None else None
        name = context.flow.calls.callee_name(bound) if bound is not None else ""
        parts = [*node.args, *(k.value for k in node.keywords)]
        if not name and isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS:
            return not any(_silent(part) for part in parts) and _nonzero(context, rule, node.func.value, depth)
        quiet = name.startswith(_SMOOTH) and "zeros" not in name and "stop_gradient" not in name
        if last(name) in _FILLED and any(constant(part) in (0, 0.0) for part in parts):
            return False
        return quiet and bool(parts) and not any(_silent(part) for part in parts)
    return False


def _whole(context: Context, rule: FunctionFacts, node: ast.expr, depth: int) -> bool:
    """Say whether a part of an operation is no zero: a number, an attribute, or a derivative."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return True
    if isinstance(rule.scope.module.values.get(node), Free) and not _silent(node):
        return True  # of the function around the rule
    return constant(node) not in (0, 0.0) and (constant(node) is not None or _nonzero(context, rule, node, depth))


def _differentiates(context: Context, rule: FunctionFacts, node: ast.Call) -> bool:
    """Say whether a call asks a function of ``jax.vjp`` or ``jax.grad`` for derivatives."""
    value = rule.scope.module.values.get(node.func)
    made = value.base if isinstance(value, Item) and value.index == Const(1) else value
    if not isinstance(made, Call) or not node.args:
        return False
    name = context.flow.calls.callee_name(context.flow.here(made, rule.scope))
    return name == "jax.vjp" if made is not value else name in _DERIVATIVES


def _named(context: Context, rule: FunctionFacts, node: ast.Name, depth: int) -> bool:
    """Say whether a variable is a residual or was computed from some."""
    if node.id in rule.params:
        return True
    named = (n for n in context.bodies.nodes(rule.scope) if isinstance(n, ast.Name) and n.id == node.id)
    stores = [_assigned(context, rule, one) for one in named if isinstance(one.ctx, ast.Store)]
    if len(stores) != 1 or stores[0] is None:
        return False
    return _nonzero(context, rule, stores[0], depth + 1)


def _assigned(context: Context, rule: FunctionFacts, target: ast.Name) -> ast.expr | None:
    """Return what a variable is given: the whole, where it is a part of the residuals."""
    for node in context.bodies.nodes(rule.scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            where = node.targets[0]
            if where is target:
                return node.value
            if isinstance(where, ast.Tuple) and target in where.elts:
                if isinstance(node.value, ast.Call) and _differentiates(context, rule, node.value):
                    return node.value  # (x_bar,) = pull(u)
                return node.value if isinstance(node.value, ast.Name) and node.value.id in rule.params else None
    return None


def _silent(node: ast.AST) -> bool:
    """Say whether some text speaks of zeros, or of what has no derivative."""
    words = (last_word(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any("zero" in word or "float0" in word for word in words)


RULE = lint_rule(
    "NNX784",
    "ignored-cotangent",
    "a backward rule of custom_vjp whose result does not depend on the gradient that it is given",
    why="""\
The backward rule gets the gradient with respect to the function's result, and returns that with respect to its
arguments: the derivative times what it got. A rule that returns the derivative alone is right only where the result is
the loss itself; behind it every weight, sign and mean is lost, without an error. The same holds for the tangents that a
rule of `custom_jvp` gets.
""",
    source="JAX documentation of custom derivatives; measured: other gradients, without an error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0.0)


def forward(x):
    return softplus(x), x


def backward(x, g):
    return (jax.nn.sigmoid(x),)


softplus.defvjp(forward, backward)
""",
        """\
import jax
import jax.numpy as jnp


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def rule(primals, tangents):
    (x,) = primals
    return log1pexp(x), 1 - 1 / (1 + jnp.exp(x))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def softplus(x, shift, scale):
    return jnp.logaddexp(x, 0.0) + shift


def forward(x, shift, scale):
    return softplus(x, shift, scale), x


def backward(x, g):
    slope = jax.nn.sigmoid(x)
    return slope * g, jnp.zeros_like(g), jnp.array(0.0, dtype=x.dtype)


softplus.defvjp(forward, backward)


@jax.custom_vjp
def rounded(x):
    return jnp.round(x)


rounded.defvjp(lambda x: (rounded(x), None), lambda _, g: (g,))
""",
    ),
)
