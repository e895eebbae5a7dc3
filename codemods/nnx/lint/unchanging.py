"""Modules that keep what their constructor gave them, and the parameters that a function puts into a module anew."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.lint.syntax import argument, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_WEIGHTS = pattern(r"\b(Param|BatchStat|Rngs|rngs|Optimizer|ModelAndOptimizer)\b")


def set_once(context: Context, cls: ClassFacts) -> bool:
    """Say whether only constructors give anything to objects of a class."""
    related = [*context.flow.classes.mro(cls)[0], *context.flow.classes.heirs(cls)]
    stores = context.flow.fields.stores()
    return not any(
        event.scope.function is None or event.scope.function.name not in {"__init__", "__post_init__"}
        for name in {name for one in related for name in (*one.stores, *one.fields)}
        for event in stores.get(name, ())
        if event.scope.function is None or event.scope.function.owner in related
    )


def weightless(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class, and those it derives from, make nothing that is trained, as solvers do."""
    return not any(_WEIGHTS.search(ast.unparse(one.node)) for one in context.flow.classes.mro(cls)[0])


def refilled(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether a function only splits a module, and replaces the parameters it finds by its arguments.

    So it is with ``graphdef, state, rest = nnx.split(self, nnx.Param, ...)`` and ``state = filled(params, state)``.

    Args:
        context: the analysis.
        function: the function.
        name: the variable that is the module.
    """
    nodes = context.bodies.nodes(function.scope)
    reads = {n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name}
    splits = [n for n in nodes if isinstance(n, ast.Assign) and reads & {*_split(n.value)[:1]}]
    if len(splits) != 1 or len(reads) != 1:
        return False
    split, target = splits[0], splits[0].targets[0]
    filters = _split(split.value)[1:]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 1 + len(filters) or not filters:
        return False
    if last_word(filters[0]) != "Param" or not isinstance(target.elts[1], ast.Name):
        return False
    return _replaced(function, split, target.elts[1].id, set(function.params) - {name})


def put_in(function: FunctionFacts, name: str) -> bool:
    """Say whether a function puts its arguments, or those of an inner function, into a module or a part of it.

    So it is with ``nnx.update(model.decoder, params)``: what the function computes goes by what it is given.

    Args:
        function: the function.
        name: the variable that is the module.
    """
    inner = (n.args for n in ast.walk(function.node) if isinstance(n, ast.FunctionDef | ast.Lambda))
    given = {arg.arg for args in inner for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and last_word(node.func) == "update" and len(node.args) == 2:
            into, state = node.args
            while isinstance(into, ast.Attribute):
                into = into.value
            if isinstance(into, ast.Name) and into.id == name and isinstance(state, ast.Name) and state.id in given:
                return True
    return False


def only_asked(
    context: Context, function: FunctionFacts, name: str, static: dict[FunctionFacts, frozenset[str]]
) -> bool:
    """Say whether all callers make the module of an argument once, and only give it to functions as a static argument.

    Nothing trains such a module, or loads anything into it: its arrays are always those of the first call. A method, or
    a function of a library, may get others.

    Args:
        context: the analysis.
        function: the compiled function.
        name: the parameter that is the module.
        static: the static parameters of all compiled functions.
    """
    callers = context.flow.sites.callers(function)
    if function.owner is not None or any(event.scope.module is not function.scope.module for event in callers):
        return False
    return bool(callers) and all(
        isinstance(given := _given(event, function, name), ast.Name) and _asked(context, event.scope, given.id, static)
        for event in callers
    )


def _given(event: CallEvent, function: FunctionFacts, name: str) -> ast.expr | None:
    """Return what a call gives a parameter."""
    if event.value.starred:
        return None
    return argument(event.node, list(function.params).index(name), name)


def _asked(context: Context, scope: Scope, name: str, static: dict[FunctionFacts, frozenset[str]]) -> bool:
    """Say whether a local variable is bound once, to what a call makes, and is only read as a static argument."""
    if scope.function is None:
        return False
    every = [n for n in ast.walk(scope.function.node) if isinstance(n, ast.Name) and n.id == name]
    stores = [n for n in every if not isinstance(n.ctx, ast.Load)]
    made = [
        n
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and n.targets == stores and isinstance(n.value, ast.Call)
    ]
    if len(made) != 1 or name in scope.function.params:
        return False
    given: set[ast.AST] = set()
    for called, names in static.items():
        for event in context.flow.sites.callers(called):
            given |= {
                one for word in names if word in called.params and (one := _given(event, called, word)) is not None
            }
    return all(n in given for n in every if isinstance(n.ctx, ast.Load))


def _split(node: ast.expr) -> list[ast.expr]:
    """Return the arguments of a call of ``split``; nothing of anything else."""
    return node.args if isinstance(node, ast.Call) and last_word(node.func) == "split" else []


def _replaced(function: FunctionFacts, split: ast.Assign, state: str, given: set[str]) -> bool:
    """Say whether the first statement behind a split that reads a state binds it anew, to what an argument gives."""
    body = getattr(function.node, "body", [])
    if not isinstance(body, list) or split not in body:
        return False
    later = next((one for one in body[body.index(split) + 1 :] if state in names_in(one)), None)
    if not isinstance(later, ast.Assign) or not isinstance(later.value, ast.Call):
        return False
    target = later.targets[0]
    return isinstance(target, ast.Name) and target.id == state and bool(names_in(later.value) & given)
