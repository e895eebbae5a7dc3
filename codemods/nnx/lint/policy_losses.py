"""What a function differentiates, and what is done with its gradients; shared by the rules on losses of policies."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.places import passed
from codemods.nnx.lint.syntax import constant, inside, keyword, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Param, Value

_CALLING = frozenset({"apply", "apply_fn"})
# where only a part of the parameters is trained
_PARTS = pattern(rb"PathContains|DiffState|multi_transform|optax\.masked|set_to_zero")
_DEPTH = 6


def model_call(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call is one of a model, or with parameters, of which the derivative is taken."""
    call = scope.module.values.get(node)
    if not isinstance(call, Call):
        return False
    bodies = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    if bodies:
        if any(one.scope.module.source.mentions(b"stop_gradient") and stops_gradients(one) for one in bodies):
            return False
    elif any(one.source.mentions(b"stop_gradient") for one in context.project.modules):
        return False
    if last_word(node.func) in _CALLING and node.args:
        return any(graded(context, n, scope) for n in ast.walk(node.args[0]) if isinstance(n, ast.Name))
    if bodies and node.args and isinstance(node.args[0], ast.Name) and graded(context, node.args[0], scope):
        return True  # a network that is a function of its parameters
    root = root_of(node.func)
    if not isinstance(root, ast.Name):
        return False
    if graded(context, root, scope):
        return True
    made = scope.module.values.get(root)
    if not isinstance(made, Call) or context.flow.calls.callee_name(context.flow.here(made, scope)) != "flax.nnx.merge":
        return False
    return any(_graded_value(context, part, 0) for part in made.args)


def stops_gradients(function: FunctionFacts) -> bool:
    """Say whether a function, or another method of its class, stops gradients."""
    node = function.owner.node if function.owner is not None else function.node
    return any(isinstance(n, ast.Name | ast.Attribute) and last_word(n) == "stop_gradient" for n in ast.walk(node))


def graded(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is, or is handed on from, a parameter of which a gradient of all is taken."""
    return _graded_value(context, scope.module.values.get(name), 0)


def _graded_value(context: Context, value: Value | None, depth: int) -> bool:
    """Say whether a value is a parameter of which a gradient of all is taken, or is handed on from one."""
    if not isinstance(value, Param) or depth > _DEPTH or value.name not in value.function.params:
        return False
    for root in context.traced.gradients:
        if root.function is not value.function or value.name in root.static:
            continue
        numbers = keyword(root.options, "argnums") if root.options is not None else None
        plain = numbers is None or isinstance(constant(numbers), int | tuple | list)
        if plain and not any(m.source.matches(_PARTS) for m in {root.scope.module, value.function.scope.module}):
            return True
    return any(
        not caller.value.starred
        and caller.scope.function is not value.function
        and _graded_value(context, passed(caller, value), depth + 1)
        for caller in context.flow.sites.callers(value.function)
    )


def turned_by_callers(context: Context, function: FunctionFacts) -> bool:
    """Say whether a caller of a loss turns its sign, or adds its gradient."""
    for event in context.flow.sites.callers(function):
        # jax.grad(loss)(...), which a step subtracts
        graded = isinstance(event.node.func, ast.Call) or any(
            callee.gradient for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        )
        for node in ast.walk(event.statement):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and inside(event.node, node.operand):
                return True
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add if graded else ast.Sub):
                if inside(event.node, node.right) or (graded and inside(event.node, node.left)):
                    return True
            if isinstance(node, ast.Lambda) and any(isinstance(n, ast.UnaryOp) for n in ast.walk(node)):
                return True
    return False
