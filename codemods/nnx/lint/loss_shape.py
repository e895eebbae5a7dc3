"""NNX853: a loss that is not reduced to a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.arrays import UNKNOWN, Arrays
from codemods.nnx.lint.complex_values import is_complex
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.may_be_mapped import may_be_mapped
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, formula_of, shown, written
from codemods.nnx.lint.syntax import constant, keyword, new_axis
from codemods.nnx.lint.vector_condition import least_axes
from codemods.nnx.values import Call, Const, Item, Sequence, Unknown, Value

_POWERS = frozenset({"jax.numpy.square", "jax.numpy.abs", "builtins.abs"})
_LOSSES = frozenset(
    f"optax.{name}"
    for name in ("squared_error", "l2_loss", "huber_loss", "log_cosh", "sigmoid_binary_cross_entropy", "hinge_loss",
                 "sigmoid_focal_loss", "cosine_distance", "cosine_similarity")
)  # fmt: skip
# of logits these give a loss for every example
_BATCHED = frozenset({"optax.softmax_cross_entropy", "optax.softmax_cross_entropy_with_integer_labels"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _twice(context)
    for event, name in foreign(context, "grad", "value_and_grad", *_OF_EQUINOX, everywhere=True):
        if (
            (name not in GRADIENTS and name.removeprefix("equinox.") not in _OF_EQUINOX)
            or not event.value.args
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            function = callee.function
            if keyword(event.node, "holomorphic") is None and len(function.returns) == 1:
                value = function.returns[0]
                if isinstance(value, Sequence) and value.items and keyword(event.node, "has_aux") is not None:
                    value = value.items[0]
                node = getattr(value, "node", None)
                if node is not None and is_complex(context, value, function.scope):
                    yield finding(
                        RULE.code,
                        function.scope,
                        node,
                        f"{shown(function)} returns a complex number, and `{last(name)}` takes a real one",
                        "differentiate its real part or its square of the absolute value, or use jax.vjp",
                    )
                    continue
            sliced = _sliced(context, function, keyword(event.node, "has_aux") is not None)
            if sliced is not None:
                yield finding(
                    RULE.code,
                    function.scope,
                    sliced,
                    f"`{ast.unparse(sliced)}` keeps an axis: {shown(function)} returns an array, and not one number",
                    "reduce it with mean() or sum(), or let it take one point and map it: jax.vmap(jax.grad(f))",
                )
                continue
            if (given := _given_by_map(context, function, keyword(event.node, "has_aux") is not None)) is not None:
                yield finding(
                    RULE.code,
                    function.scope,
                    given,
                    f"{shown(function)} returns a loss for every element of a batch, and not one number",
                    "reduce it with mean() or sum()",
                )
                continue
            if may_be_mapped(context, function, event.scope):
                continue  # it may be given one example at a time
            first = len(callee.args) + int(callee.receiver is not None and function.binding in {"instance", "class"})
            outputs = set(list(function.params)[first : first + 1]) if name.startswith("flax.") else set()
            aux = keyword(event.node, "has_aux")
            for returned in function.returns:
                if aux is not None and constant(aux) is True and isinstance(returned, Sequence) and returned.items:
                    returned = returned.items[0]
                if not isinstance(returned, Call | Unknown):
                    continue
                if _elementwise(context, returned, function, outputs) or (
                    _several(context, returned, function) and not _of_coordinates(function, first, returned.node)
                ):
                    yield finding(
                        RULE.code,
                        function.scope,
                        returned.node,
                        f"{shown(function)} returns a loss for every element of a batch, and not one number",
                        "reduce it with mean() or sum()",
                    )


def _elementwise(
    context: Context, value: Value | None, function: FunctionFacts, models: set[str], depth: int = 0
) -> bool:
    """Say whether a value has an element for every example, or every output of a model.

    Args:
        context: the analysis.
        value: what a loss returns, or a part of that.
        function: the loss.
        models: its parameters that are models, whose outputs are arrays.
        depth: in how many operations the value stands.
    """
    if isinstance(value, Unknown):
        node = value.node
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC) and depth < _OPERATIONS:
            values = function.scope.module.values
            sides = [values.get(side) or Unknown(side) for side in (node.left, node.right)]
            return any(_elementwise(context, side, function, models, depth + 1) for side in sides)
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _difference(node.left, function, models)
    if not isinstance(value, Call) or context.bodies.home(value.node) is not function.scope:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope)).replace("optax.losses.", "optax.")
    if not name:
        return _by_helper(context, value, function, models)
    if name in _BATCHED:
        given = [value.argument(0, "logits"), value.argument(1, "labels")]
        logits, labels = (Arrays(context, {}).of(one, function.scope) if one is not None else UNKNOWN for one in given)
        one = 0 if "integer" in name else 1
        return logits.axes != 1 and (labels.axes != one or labels.weak)  # else it is the loss of one example
    argument = value.node.args[0] if value.node.args else None
    if name in _LOSSES:
        return any(_output(node, models) or _predicted(node, function, models) for node in value.node.args)
    return name in _POWERS and argument is not None and _difference(argument, function, models)


def _by_helper(context: Context, value: Call, function: FunctionFacts, models: set[str]) -> bool:
    """Say whether a function of the project gives a value for every element of an output that it is handed."""
    invoked = context.flow.calls.invoked(context.flow.here(value, function.scope)) if not value.starred else []
    if len(invoked) != 1 or invoked[0][0].gradient:
        return False
    callee = invoked[0][0]
    helper = callee.function
    if len(helper.returns) != 1 or helper.decorators or helper.generator or callee.receiver is not None or callee.args:
        return False
    given = [*zip(helper.params, value.node.args, strict=False), *((k.arg, k.value) for k in value.node.keywords)]
    outs = {name for name, node in given if _output(node, models) or _predicted(node, function, models)}
    result = helper.returns[0]
    if isinstance(result, Unknown):
        node = result.node
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _differs(node.left, outs)
    if not isinstance(result, Call) or not result.node.args:
        return False
    name = context.flow.calls.callee_name(context.flow.here(result, helper.scope))
    if name in _LOSSES:
        return any(isinstance(node, ast.Name) and node.id in outs for node in result.node.args)
    return name in _POWERS and _differs(result.node.args[0], outs)


def _differs(node: ast.expr, names: set[str | None]) -> bool:
    """Say whether an expression is a difference with one of some variables."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else ()
    return any(isinstance(side, ast.Name) and side.id in names for side in sides)


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_OPERATIONS = 6


def _sliced(context: Context, function: FunctionFacts, aux: bool, depth: int = 0) -> ast.Subscript | None:
    """Return the index by which what a function gives has an axis whoever calls it, as ``out[:, 0]``; else None.

    Args:
        context: the analysis.
        function: the function.
        aux: whether it gives something beside its value.
        depth: through how many functions it was followed.
    """
    if len(function.returns) != 1 or function.generator or (depth and function.decorators):
        return None
    formula = formula_of(context, function)
    if aux:
        formula = formula.elts[0] if isinstance(formula, ast.Tuple) and formula.elts else None
    while formula is not None:
        formula = written(context, formula, function.scope)
        if isinstance(formula, ast.UnaryOp):
            formula = formula.operand
        elif isinstance(formula, ast.BinOp) and constant(formula.right) is not None:
            formula = formula.left
        elif isinstance(formula, ast.BinOp) and constant(formula.left) is not None:
            formula = formula.right
        else:
            break
    if isinstance(formula, ast.Subscript) and isinstance(formula.slice, ast.Tuple):
        whole = any(isinstance(one, ast.Slice) or new_axis(one) for one in formula.slice.elts)
        return formula if whole else None
    value = function.scope.module.values.get(formula) if isinstance(formula, ast.Call) else None
    if not isinstance(value, Call) or depth >= _HELPERS:
        return None
    invoked = context.flow.calls.invoked(context.flow.here(value, function.scope))
    if len(invoked) != 1 or invoked[0][0].gradient:
        return None
    found = _sliced(context, invoked[0][0].function, False, depth + 1)
    return found if invoked[0][0].function.scope.module is function.scope.module else None


_HELPERS = 2


def _several(context: Context, value: Call | Unknown, function: FunctionFacts) -> bool:
    """Say whether a value is known to be an array with axes, whoever calls the function."""
    if isinstance(value.node, ast.expr) and least_axes(context, value.node, function.scope, {}) > 0:
        return True
    made = context.flow.resolve(context.flow.here(value, function.scope))
    node = getattr(made.value, "node", None)
    if made.frame is not None and made.frame.function is not function and isinstance(node, ast.expr):  # by a helper
        if least_axes(context, node, made.frame.function.scope, {}) > 0:
            return True
    return bool(Arrays(context, {}).of(value, function.scope).axes)


def _given_by_map(context: Context, function: FunctionFacts, aux: bool) -> ast.expr | None:
    """Return the loss of a function that is an array whoever calls it, since ``vmap`` gives it; None for others.

    Args:
        context: the analysis.
        function: the loss.
        aux: whether it gives something beside its value.
    """
    formula = formula_of(context, function)
    if aux:
        formula = formula.elts[0] if isinstance(formula, ast.Tuple) and formula.elts else None
    return formula if formula is not None and _mapped(context, formula, function.scope) else None


def _mapped(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether a term of an expression is what ``vmap`` gives, one result for every element that it goes over."""
    node = written(context, node, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC) and depth < _OPERATIONS:
        return any(_mapped(context, side, scope, depth + 1) for side in (node.left, node.right))
    value = scope.module.values.get(node) if isinstance(node, ast.Call) else None
    if not isinstance(value, Call):
        return False
    made = context.flow.follow(context.flow.here(value, scope), value.callee)
    if not isinstance(made.value, Call) or made.value.keyword("out_axes") is not None:
        return False
    return len(made.value.args) < 3 and context.flow.calls.callee_name(made) in _MAPS


_MAPS = frozenset({"jax.vmap", "flax.nnx.vmap"})
_OF_EQUINOX = ("filter_grad", "filter_value_and_grad")


def _of_coordinates(function: FunctionFacts, first: int, returned: ast.AST) -> bool:
    """Say whether a loss takes the vector that it is differentiated with respect to only apart into its coordinates,
    ``(x[0] - a) ** 2 + (x[1] - b) ** 2``: elsewhere it may be called with two whole grids.

    Args:
        function: the loss.
        first: the place of the parameter with respect to which it is differentiated.
        returned: what it returns.
    """
    names = list(function.params)[first : first + 1]
    parts = [n for n in ast.walk(function.node) if isinstance(n, ast.Subscript) and type(constant(n.slice)) is int]
    taken = {part.value for part in parts if isinstance(part.value, ast.Name) and part.value.id in names}
    reads = {
        n for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names
    }
    read_apart = any(
        isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Tuple | ast.List) and n.value in reads
        for n in ast.walk(function.node)
    )
    if read_apart and len(reads) == 1:
        return True  # x, y = p
    return bool(reads) and reads == taken and any(n in taken for n in ast.walk(returned))


def _difference(node: ast.expr, function: FunctionFacts, models: set[str]) -> bool:
    """Say whether an expression is a difference with an output of a model."""
    if isinstance(node, ast.Name):
        value = function.scope.module.values.get(node)
        made = value.node if isinstance(value, Unknown) else node
        node = made if isinstance(made, ast.expr) else node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return any(_output(side, models) or _predicted(side, function, models) for side in (node.left, node.right))


def _predicted(node: ast.expr, function: FunctionFacts, models: set[str]) -> bool:
    """Say whether a variable holds an output of a model."""
    value = function.scope.module.values.get(node)
    while isinstance(value, Item):
        value = value.base
    return isinstance(node, ast.Name) and isinstance(value, Call) and _output(value.node, models)


def _output(node: ast.expr, models: set[str]) -> bool:
    """Say whether an expression calls a model."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in models


def _twice(context: Context) -> Iterator[Finding]:
    """Yield the calls of the gradient of a gradient with an array of several numbers."""
    for module in context.asked.modules:
        if module.source.data.count(b"grad") < 2:
            continue
        for event in module.calls:
            if not event.value.args or event.node.keywords or event.value.starred:
                continue
            outer = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
            place = _plain_grad(context, outer)
            if place is None or place >= len(event.value.args):
                continue
            assert isinstance(outer.value, Call)
            inner = context.flow.follow(outer, outer.value.args[0])
            again = _plain_grad(context, inner) == place
            axes = Arrays(context, {}).of(event.value.args[place], event.scope).axes if again else 0
            if axes and not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "the gradient with respect to an array is an array, of which jax.grad takes no gradient",
                    "use jax.hessian, or map over single numbers: jax.vmap(jax.grad(jax.grad(f)))",
                )


def _plain_grad(context: Context, bound: Bound) -> int | None:
    """Return which argument ``jax.grad`` of a function differentiates by; None for other values."""
    value = bound.value
    if not isinstance(value, Call) or value.starred or context.flow.calls.callee_name(bound) != "jax.grad":
        return None
    named = {name for name, _ in value.keywords}
    if not value.args or len(value.args) > 2 or named - {"argnums"}:
        return None
    argnums = value.argument(1, "argnums")
    place = context.flow.follow(bound, argnums).value if argnums is not None else Const(0)
    return place.value if isinstance(place, Const) and type(place.value) is int and place.value >= 0 else None


RULE = lint_rule(
    "NNX853",
    "loss-not-reduced",
    "a loss that returns a number for every example, or every output of a model",
    why="Only a function that returns one number can be differentiated; an array raises a TypeError.",
    source="JAX tutorial, section on gradients; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


def step(model, x, y):
    return nnx.grad(lambda m: (m(x) - y) ** 2)(model)
""",
    ),
    clean=(
        """\
from flax import nnx


def step(model, x, y):
    return nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
""",
    ),
)
