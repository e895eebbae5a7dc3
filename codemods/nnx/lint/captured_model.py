"""Models that compiled code reads from an object around it while they are trained; part of NNX801."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import every, last_word
from codemods.nnx.values import Attr, Free, Param

_OPTIMIZERS = frozenset({"Optimizer", "ModelAndOptimizer"})


def captured_model(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether compiled code calls a model of ``self`` that is trained between its calls.

    Args:
        context: the analysis.
        function: the compiled function.
        node: an attribute that it reads.
    """
    base = function.scope.module.values.get(node.value)
    if not isinstance(node.value, ast.Name) or not isinstance(base, Free | Param):
        return False
    if isinstance(base, Param):
        owner = function.owner if static_self(context, function, base) else None
        trained = owner is not None and _trained(context, owner, node.attr)
    else:
        outer = base.scope.function
        owner = None if outer is None or outer in context.traced else outer.owner
        trained = (
            owner is not None
            and outer is not None
            and outer.self_param is not None
            and base.name == outer.self_param.name
            and _between(context, function, outer, owner, node.attr)
        )
    if not trained or not _used(context, function, node):
        return False
    value = function.scope.module.values.get(node)
    return isinstance(value, Attr) and kinds_of(context, value, function.scope) == {Kind.MODULE}


def static_self(context: Context, function: FunctionFacts, base: Param) -> bool:
    """Say whether a parameter is the ``self`` of a method that is compiled for one object of a plain class.

    Args:
        context: the analysis.
        function: the compiled method.
        base: the parameter.
    """
    tracing = context.traced.get(function)
    if tracing is None or base is not function.self_param or function.owner is None:
        return False
    if "flax.nnx.Module" in context.flow.classes.mro(function.owner)[1]:
        return False
    roots = [root for root in tracing.roots if root.function is function]
    return bool(roots) and all(base.name in root.declared or _bound_for_good(root) for root in roots)


def _bound_for_good(root: Root) -> bool:
    """Say whether a bound method is compiled in a constructor, for an attribute."""
    function = root.scope.function
    if not root.bound or function is None or function.name != "__init__" or isinstance(function.node, ast.Lambda):
        return False
    return any(
        root.node in ast.walk(one.value) and all(isinstance(target, ast.Attribute) for target in one.targets)
        for one in function.node.body
        if isinstance(one, ast.Assign)
    )


def _between(context: Context, function: FunctionFacts, outer: FunctionFacts, owner: ClassFacts, field: str) -> bool:
    """Say whether an inner function is kept for later, or called in a loop that trains the model, too."""
    scope = outer.scope
    for node in context.bodies.nodes(scope):
        kept = node.value if isinstance(node, ast.Return | ast.Assign) else None
        if isinstance(node, ast.Assign) and not any(isinstance(t, ast.Attribute) for t in node.targets):
            kept = None
        if kept is not None and any(
            (isinstance(n, ast.Name) and n.id == function.name) or n is function.node for n in ast.walk(kept)
        ):
            return not _made_in(kept) and _trained(context, owner, field)
    for event in context.bodies.calls.get(scope, ()):
        if not isinstance(event.node.func, ast.Name) or event.node.func.id not in _names(function, scope, context):
            continue
        for loop in event.loops:
            if isinstance(loop, ast.For | ast.While) and not inside(function.node, loop):
                if _trains(context, loop, owner, field, 0):
                    return True
    return False


def _made_in(kept: ast.expr) -> bool:
    """Say whether the function is called where it stands, so that its result is kept and not itself."""
    return isinstance(kept, ast.Call) and last_word(kept.func) not in {"jit", "partial", "cached_partial"}


def _names(function: FunctionFacts, scope: Scope, context: Context) -> set[str]:
    """Return the names under which a scope calls what an inner function was compiled to."""
    names = {function.name}
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_word(node.value.func) == "jit":
            if any(n is function.node or (isinstance(n, ast.Name) and n.id == function.name) for n in node.value.args):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _trained(context: Context, owner: ClassFacts, field: str) -> bool:
    """Say whether a class updates a model of its own, or makes an optimizer for it."""
    return any(_trains(context, method.node, owner, field, 2) for method in owner.methods.values())


def _calls(context: Context) -> dict[ast.AST, list[ast.Call]]:
    """Return where the calls in methods and loops are kept, which are looked at for every attribute of a class."""
    return {}


def _trains(context: Context, body: ast.AST, owner: ClassFacts, field: str, depth: int) -> bool:
    """Say whether a piece of code trains a model, itself or through a method of the same class."""
    known = context.shared(_calls)
    if body not in known:
        known[body] = [node for node in every(body) if isinstance(node, ast.Call)]
    for node in known[body]:
        given = [*node.args, *(k.value for k in node.keywords)]
        model = any(isinstance(one, ast.Attribute) and one.attr == field for one in given)
        word = last_word(node.func)
        if model and (word == "update" or (depth == 2 and word in _OPTIMIZERS)):
            return True
        if model and any("opt" in last_word(one).lower() for one in given):
            return True
        method = owner.methods.get(word) if isinstance(node.func, ast.Attribute) else None
        if method is not None and depth < 1 and _trains(context, method.node, owner, field, depth + 1):
            return True
    return False


def _used(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether the weights matter: the model is called, or passed on."""
    return any(
        event.node.func is node
        or node in event.node.args
        or any(k.value is node for k in event.node.keywords)
        or (isinstance(event.node.func, ast.Attribute) and event.node.func.value is node)
        for event in context.bodies.calls.get(function.scope, ())
    )
