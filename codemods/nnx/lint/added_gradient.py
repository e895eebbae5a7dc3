"""NNX972: a step by hand that adds the gradient of a loss, or takes the parameters from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import callers_of, formula_of, in_test, position, written
from codemods.nnx.lint.syntax import argument, constant, names_in, operands
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Function, Item, Param, Value

# what is made small, by its name, and what is made great, or is no parameter of a model
_LOSS = pattern(r"(?<![a-z])(loss\w*|mse|mae|cost|nll|bce|xent|cross_?entropy|\w+loss|\w*error|risk)(?![a-z])")
_OTHER = pattern(
    r"neg|max|adv|attack|reward|return|ascent|ascend|dual|lagrang|elbo|gain|util|score|disc|critic|energy|log_?prob|sam|actor|policy|reinforce"
)
_RATE = pattern(r"(lr|learning_?rate|step_?size|eta|alpha|rate|stepsize)\d*")
# what is moved against a loss, or with it, on purpose
_HELD = pattern(r"adv|delta|noise|perturb|image|img|pixel|input|lam|mult|dual|mu|nu|latent|sample|pos|coord|^x\w?$|^z")
_GREATER = pattern(rb"ascen[dt]|maximi[sz]|lower.?bound", re.I)  # a file that speaks of these may mean it


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if not module.source.mentions(b"grad") or module.source.matches(_GREATER):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if in_test(scope):
                continue
            for node in context.bodies.nodes(scope):
                found = _taken_from(context, scope, node) if isinstance(node, ast.Call) else None
                if found is not None:
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"the parameters are taken from the gradient of {_quoted(found)}: the trees are in each other's"
                        " place",
                        "give the function the parameters first: jax.tree.map(f, params, grads)",
                    )
                    continue
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    if not _HELD.search(last_word(node.targets[0]).lower()):
                        found = _added(context, scope, node.value)
                elif isinstance(node, ast.Return) and node.value is not None:
                    parts = elements(node.value)
                    found = next((loss for part in parts if (loss := _added(context, scope, part))), None)
                elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                    found = _stepped(context, scope, node.target, node.value)
                if found is not None:
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"the step adds the gradient of {_quoted(found)}, which makes it greater",
                        "subtract it: params - learning_rate * gradients",
                    )


def _quoted(loss: str) -> str:
    return loss if loss == _UNNAMED else f"`{loss}`"


def _added(context: Context, scope: Scope, value: ast.expr) -> str | None:
    """Return the loss whose gradient is added to what it was taken of; None if it is not."""
    if isinstance(value, ast.Call) and len(value.args) == 3 and not value.keywords:
        return _mapped(context, scope, value)
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return _zipped(context, scope, value)
    if isinstance(value, ast.DictComp):
        return _by_name(context, scope, value)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    found = (_stepped(context, scope, *way) for way in ((value.left, value.right), (value.right, value.left)))
    return next((one for one in found if one is not None), None)


def _zipped(context: Context, scope: Scope, value: ast.ListComp | ast.GeneratorExp) -> str | None:
    """Return the loss of ``[(w + rate * dw, b + rate * db) for (w, b), (dw, db) in zip(params, grads)]``."""
    loop = value.generators[0]
    pairs, target = loop.iter, loop.target
    if len(value.generators) > 1 or not isinstance(pairs, ast.Call) or last_word(pairs.func) != "zip":
        return None
    if len(pairs.args) != 2 or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    kept, added = (names_in(one) for one in target.elts)
    for part in elements(value.elt, lists=True):
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Add):
            return None
        ways = ((part.left, _times_rate(part.right)), (part.right, _times_rate(part.left)))
        if not any(step is not None and names_in(one) <= kept and names_in(step) <= added for one, step in ways):
            return None
    return _loss(context, scope, pairs.args[0], pairs.args[1])


def _by_name(context: Context, scope: Scope, value: ast.DictComp) -> str | None:
    """Return the loss of ``{name: params[name] + rate * grads[name] for name in params}``."""
    made, key = value.value, ast.unparse(value.key)
    if len(value.generators) != 1 or not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Add):
        return None
    for kept, step in ((made.left, made.right), (made.right, made.left)):
        added = _times_rate(step)
        if isinstance(kept, ast.Subscript) and isinstance(added, ast.Subscript):
            if ast.unparse(kept.slice) == ast.unparse(added.slice) == key:
                return _loss(context, scope, kept.value, added.value)
    return None


def _stepped(context: Context, scope: Scope, target: ast.expr, step: ast.expr) -> str | None:
    """Return the loss whose gradient is added to a variable, or to an entry of one, times a rate."""
    factors = _times_rate(step)
    return _loss(context, scope, target, factors) if factors is not None else None


def _times_rate(step: ast.expr) -> ast.expr | None:
    """Return what a rate is multiplied with."""
    factors = operands(step, ast.Mult)
    if len(factors) != 2:
        return None
    for rate, other in (factors, factors[::-1]):
        number = constant(rate)
        if isinstance(number, int | float) and number > 0:
            return other
        if isinstance(rate, ast.Name | ast.Attribute) and _RATE.fullmatch(last_word(rate).lower().lstrip("_")):
            return other
    return None


def _mapped(context: Context, scope: Scope, call: ast.Call) -> str | None:
    """Return the loss of ``tree.map(lambda p, g: p + rate * g, params, grads)``."""
    mapped = _operation(context, scope, call)
    if mapped is None or not isinstance(mapped[0].op, ast.Add):
        return None
    body, one, two = mapped
    for kept, step in ((body.left, body.right), (body.right, body.left)):
        added = _times_rate(step)
        if isinstance(kept, ast.Name) and kept.id == one and isinstance(added, ast.Name) and added.id == two:
            return _loss(context, scope, call.args[1], call.args[2])
    return None


def _operation(context: Context, scope: Scope, call: ast.Call) -> tuple[ast.BinOp, str, str] | None:
    """Return the operation that a map over two trees makes of its leaves, with their names in it."""
    if last_word(call.func) not in {"map", "tree_map"}:
        return None
    value = scope.module.values.get(call)
    if not isinstance(value, Call) or context.flow.calls.callee_name(context.flow.here(value, scope)) not in TREE_MAPS:
        return None
    params, body = _formula(context, scope, call.args[0])
    if len(params) != 2 or not isinstance(body, ast.BinOp):
        return None
    return body, params[0], params[1]


def _formula(context: Context, scope: Scope, mapped: ast.expr) -> tuple[list[str], ast.expr | None]:
    """Return the parameters of a function of leaves, and what it gives; also of one under a name."""
    function = written(context, mapped, scope)
    if isinstance(function, ast.Lambda):
        return [argument.arg for argument in function.args.args], function.body
    value = scope.module.values.get(mapped)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    if not isinstance(found, Function):
        return [], None
    return list(found.facts.params), formula_of(context, found.facts)


def _taken_from(context: Context, scope: Scope, call: ast.Call) -> str | None:
    """Return the loss of ``tree.map(lambda p, g: p - rate * g, grads, params)``."""
    mapped = _operation(context, scope, call) if len(call.args) == 3 and not call.keywords else None
    if mapped is None:
        return None
    body, one, two = mapped
    step = _times_rate(body.right) if isinstance(body.op, ast.Sub) else None
    if not isinstance(body.left, ast.Name) or body.left.id != one or not isinstance(step, ast.Name) or step.id != two:
        return None
    return _loss(context, scope, call.args[2], call.args[1])


def _of_callers(context: Context, kept: Value | None, given: Param, depth: int) -> str | None:
    """Return a loss of which a call gives a function the gradient, with what it was taken of."""
    if not isinstance(kept, Param) or kept.function is not given.function:
        return None
    found: set[str] = set()
    for caller in callers_of(context, given.function):
        nodes = [argument(caller.node, position(param), param.name) for param in (kept, given)]
        if caller.value.starred or nodes[0] is None or nodes[1] is None:
            return None
        loss = _loss(context, caller.scope, nodes[0], nodes[1], depth + 1)
        if loss and not any(isinstance(one, ast.UnaryOp) for one in caller.node.args):
            found.add(loss)
    return min(found, default=None) or (_UNNAMED if _descends(kept, given) else None)


def _descends(kept: Param, given: Param) -> bool:
    """Say whether a function around, or the class of one, is called gradient descent, and gets parameters and
    gradients by these names."""
    if not _GRADIENTS.fullmatch(given.name) or not _PARAMETERS.fullmatch(kept.name):
        return False
    scope: Scope | None = given.function.scope
    while scope is not None and scope.function is not None:
        owner = scope.function.owner
        if _DESCENT.search(scope.function.name) or (owner is not None and _DESCENT.search(owner.name)):
            return True
        scope = scope.parent
    return False


_UNNAMED = "the loss"
_DESCENT = pattern(r"(?<![a-z])(sgd|gd|gradient_?descent)(?![a-z])|^(Plain|Vanilla|Simple)?(SGD|GradientDescent)", re.I)
_GRADIENTS = pattern(r"d?(grads?|gradients?)")
_PARAMETERS = pattern(r"(params?|parameters|weights)")


_DEPTH = 2


def _loss(context: Context, scope: Scope, target: ast.expr, given: ast.expr, depth: int = 0) -> str | None:
    """Return the name of the loss whose gradient with respect to a variable an expression is."""
    value, flow = scope.module.values.get(given), context.flow
    if value is None or _HELD.search(last_word(target).lower()):
        return None
    while isinstance(value, Call) and value.args and "clip" in last_word(value.node.func).lower():
        value = value.args[0]  # which keeps the direction
    if isinstance(value, Param) and depth < _DEPTH:
        return _of_callers(context, scope.module.values.get(target), value, depth)
    found = gradient(flow, flow.here(value, scope))
    if found is None or not _untouched(context, flow.here(value, scope)) or found.node is None:
        return None
    whole = target
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    model = _split_off(context, scope, target)
    if ast.unparse(found.node) not in {ast.unparse(target), ast.unparse(whole), model}:
        return None
    functions = [one.function for one, _ in flow.calls.invoked(found.call) if one.gradient]
    if len(functions) != 1:
        return None
    error = _squared_error(context, functions[0]) or _called(context, scope, found.call)
    return error or (functions[0].name if _minimized(functions[0]) else None)


def _called(context: Context, scope: Scope, call: Bound) -> str:
    """Return what the value of a lambda is called: ``loss, grads = jax.value_and_grad(lambda p: ...)(p)``."""
    made = getattr(call.value, "node", None)
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign) or node.value is not made or not isinstance(node.targets[0], ast.Tuple):
            continue
        first = node.targets[0].elts[0]
        transform = made.func if isinstance(made, ast.Call) else None
        given = transform.args[0] if isinstance(transform, ast.Call) and transform.args else None
        if not isinstance(first, ast.Name) or not isinstance(given, ast.Lambda) or _OTHER.search(first.id.lower()):
            return ""
        turned = isinstance(given.body, ast.UnaryOp)
        return first.id if not turned and _LOSS.fullmatch(first.id.lower()) else ""
    return ""


def _split_off(context: Context, scope: Scope, target: ast.expr) -> str:
    """Return the model whose parameters a variable holds: ``params = nnx.state(model, nnx.Param)``."""
    made = written(context, target, scope)
    value = scope.module.values.get(made)
    if not isinstance(made, ast.Call) or not isinstance(value, Call) or not made.args:
        return ""
    state = context.flow.calls.callee_name(context.flow.here(value, scope)) == "flax.nnx.state"
    return ast.unparse(made.args[0]) if state else ""


def _squared_error(context: Context, function: FunctionFacts) -> str:
    """Return the formula of a lambda that gives the mean of squares of a difference."""
    formula = formula_of(context, function) if isinstance(function.node, ast.Lambda) else None
    if not isinstance(formula, ast.Call) or last_word(formula.func) not in {"mean", "sum"}:
        return ""
    given = squared(array_of(formula))
    return ast.unparse(formula) if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub) else ""


def _untouched(context: Context, bound: Bound) -> bool:
    """Say whether a value is a part of what a gradient function gives, and nothing was done to it since."""
    bound = context.flow.resolve(bound)
    while isinstance(bound.value, Item | Indexed):
        bound = context.flow.follow(bound, bound.value.base)
    return isinstance(bound.value, Call) and not context.flow.calls.callee_name(bound)


def _minimized(function: FunctionFacts) -> bool:
    """Say whether a function is a loss by its name, and does not turn its sign."""
    name = function.name.lower()
    if not _LOSS.search(name.replace("_", " ")) or _OTHER.search(name):
        return False
    returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    turned = [one.operand for one in returned if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub)]
    return all(_log_of_one(one) for one in turned)


def _log_of_one(node: ast.expr) -> bool:
    """Say whether what a loss turns the sign of is the logarithm of a probability, a product, or the mean or sum of
    such."""
    while isinstance(node, ast.Call) and last_word(node.func) in {"mean", "sum"}:
        inner = array_of(node)
        if inner is None:
            return False
        node = inner
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return all(isinstance(one, ast.Name) for one in (node.left, node.right))  # of predictions and labels
    return isinstance(node, ast.Call) and last_word(node.func) in {"log", "log_softmax"}


_BAD = """\
import jax
import jax.numpy as jnp


def loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def step(params, x, y, learning_rate=0.1):
    grads = jax.grad(loss)(params, x, y)
    params = jax.tree.map(lambda p, g: p + learning_rate * g, params, grads)
    return params
"""

RULE = lint_rule(
    "NNX972",
    "added-gradient",
    "a step by hand adds the gradient of a loss",
    why="""\
A gradient points to where the loss grows. A step that adds it makes the loss greater round after round. The rule speaks
of functions that a name calls a loss, and of what their gradient was taken of, in files that say nothing of ascending;
updates of optax have their sign already and are added.
""",
    source="JAX tutorial, section on gradients; measured: the loss grows in every step",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("p + learning", "p - learning"),),
)
