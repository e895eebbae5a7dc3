"""What a change of a variable leaves as it is, of what a function reads: the shape of an array, fields of a state."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word

_OF_SHAPE = frozenset({"shape", "ndim", "size", "dtype"})
_FIELDS_OF_UPDATE = frozenset({"step", "params", "opt_state"})  # what `apply_gradients` of a train state replaces
_REORDERING = frozenset({"permutation", "sort", "flip", "abs", "nan_to_num"})  # of one argument, with its shape
_DEPTH = 4  # functions and methods through which a state is followed


def left_as_is(context: Context, function: FunctionFacts, name: str, scope: Scope, change: ast.AST) -> bool:
    """Say whether a function reads only that of a variable which a statement leaves as it is.

    Args:
        context: the analysis.
        function: what reads the variable.
        name: the variable.
        scope: the body that changes it.
        change: the statement that does.
    """
    if _keeps_shape(change, name) or _made_elsewhere(change, name):
        return _only_shape(context, function, name)
    changed = _changed(context, scope, change, name, 0)
    return bool(changed) and _only_others(context, function, name, changed)


def _only_shape(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether a function reads only the shape of an array, or the length of it."""
    nodes = context.bodies.nodes(function.scope)
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    shapes = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _OF_SHAPE}
    lengths = {
        n.args[0]
        for n in nodes
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len" and len(n.args) == 1
    }
    return bool(read) and all(node in shapes or node in lengths for node in read)


def _keeps_shape(change: ast.AST, name: str) -> bool:
    """Say whether a statement gives an array other numbers: ``x = x.at[i].set(y)``, ``x[i] = y``."""
    if not isinstance(change, ast.Assign) or len(change.targets) != 1:
        return False
    target, value = change.targets[0], change.value
    if isinstance(target, ast.Subscript):
        return isinstance(target.value, ast.Name) and target.value.id == name
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return False
    if last_word(value.func) in _REORDERING:
        return any(isinstance(one, ast.Name) and one.id == name for one in value.args)
    where = value.func.value if isinstance(value.func, ast.Attribute) else None
    at = where.value if isinstance(where, ast.Subscript) else None
    return isinstance(at, ast.Attribute) and at.attr == "at" and isinstance(at.value, ast.Name) and at.value.id == name


def _made_elsewhere(change: ast.AST, name: str) -> bool:
    """Say whether a function of the program gives an array or a list of arrays anew, not out of the one before, whose
    sizes are those of the data as a rule."""
    made = change.value if isinstance(change, ast.Assign) else None
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and name not in names_in(made)


def _changed(context: Context, scope: Scope, change: ast.AST, name: str, depth: int) -> frozenset[str]:
    """Return the fields of a state that a statement replaces; none where that is not known."""
    if not isinstance(change, ast.Assign) or len(change.targets) != 1 or depth > _DEPTH:
        return frozenset()
    target = change.targets[0]
    if isinstance(target, ast.Name):
        return _replaced(context, scope, change.value, name, -1, depth)
    places = [i for i, one in enumerate(getattr(target, "elts", ())) if isinstance(one, ast.Name) and one.id == name]
    return _replaced(context, scope, change.value, name, places[0], depth) if len(places) == 1 else frozenset()


def _replaced(context: Context, scope: Scope, node: ast.expr, name: str, place: int, depth: int) -> frozenset[str]:
    """Return the fields in which what a call gives, or one of its parts, differs from the state it is given."""
    if not isinstance(node, ast.Call) or any(word.arg is None for word in node.keywords):
        return frozenset()
    words = frozenset(word.arg for word in node.keywords if word.arg is not None)
    func = node.func
    if place < 0 and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name:
        if func.attr in {"replace", "_replace"} and not node.args:
            return words
        methods = _methods(context, func.attr)
        if not methods and func.attr == "apply_gradients":
            return _FIELDS_OF_UPDATE | (words - {"grads"})
        return _all_of(
            _given_back(context, one, one.self_param.name if one.self_param else "", -1, depth) for one in methods
        )
    given = [i for i, one in enumerate(node.args) if isinstance(one, ast.Name) and one.id == name]
    value = scope.module.values.get(func)
    if len(given) != 1 or value is None or any(isinstance(one, ast.Starred) for one in node.args):
        return frozenset()
    callees = context.flow.calls.callables(context.flow.here(value, scope))
    if len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
        return frozenset()
    function = callees[0].function
    if given[0] >= function.positional:
        return frozenset()
    return _given_back(context, function, list(function.params)[given[0]], place, depth)


def _given_back(context: Context, function: FunctionFacts, param: str, place: int, depth: int) -> frozenset[str]:
    """Return the fields in which what a function returns differs from what it got for a parameter."""
    nodes = context.bodies.nodes(function.scope)
    changed: set[str] = set()
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if any(isinstance(n, ast.Name) and n.id == param for one in targets for n in ast.walk(one)):
            fields = _changed(context, function.scope, node, param, depth + 1)
            if not fields:
                return frozenset()
            changed |= fields
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    for value in returned:
        part = value.elts[place] if isinstance(value, ast.Tuple) and 0 <= place < len(value.elts) else value
        if part is None or (part is value and place >= 0):
            return frozenset()
        if isinstance(part, ast.Name) and part.id == param:
            continue
        fields = _replaced(context, function.scope, part, param, -1, depth + 1) if depth < _DEPTH else frozenset()
        if not fields:
            return frozenset()
        changed |= fields
    return frozenset(changed) if returned else frozenset()


def _only_others(context: Context, function: FunctionFacts, name: str, changed: frozenset[str]) -> bool:
    """Say whether a function reads only fields of a state that stay, itself or by methods which get the others."""
    nodes = context.bodies.nodes(function.scope)
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    fields = {n.value: n for n in nodes if isinstance(n, ast.Attribute)}
    calls = {n.func: n for n in nodes if isinstance(n, ast.Call)}
    for node in read:
        field = fields.get(node)
        called = calls.get(field if field is not None else node)
        if called is not None:
            given = frozenset(word.arg for word in called.keywords if word.arg is not None)
            if not _spares(context, field.attr if field is not None else "__call__", given, changed, set()):
                return False
        elif field is None or field.attr in changed or _methods(context, field.attr):
            return False
    return bool(read)


def _spares(context: Context, method: str, given: frozenset[str], changed: frozenset[str], seen: set[str]) -> bool:
    """Say whether the methods of a name read no field that changes, or only where an argument that is given is None."""
    if method in seen:
        return True
    seen.add(method)
    found = _methods(context, method)
    for function in found:
        own = function.self_param.name if function.self_param is not None else ""
        paths = context.bodies.paths(function.scope)
        nodes = context.bodies.nodes(function.scope)
        fields = {n.value: n for n in nodes if isinstance(n, ast.Attribute)}
        for node in nodes:
            if not isinstance(node, ast.Name) or node.id != own:
                continue
            field = fields.get(node)
            if field is None:
                return False
            if field.attr in changed and not any(_asks_for(block, arm, given) for block, arm in paths.get(node, ())):
                return False
            if _methods(context, field.attr) and not _spares(context, field.attr, given, changed, seen):
                return False
    return bool(found)


def _asks_for(block: ast.AST, arm: str, given: frozenset[str]) -> bool:
    """Say whether a branch is taken only where one of some arguments is None."""
    return (
        isinstance(block, ast.If | ast.IfExp)
        and arm == "body"
        and isinstance(block.test, ast.Compare)
        and isinstance(block.test.ops[0], ast.Is)
        and isinstance(block.test.left, ast.Name)
        and block.test.left.id in given
    )


def _all_of(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the fields that any of some functions changes; none where that is not known of one."""
    found = [*parts]
    return frozenset().union(*found) if found and all(found) else frozenset()


def _methods(context: Context, name: str) -> list[FunctionFacts]:
    """Return the methods of a name that the classes of the project have."""
    return context.shared(_by_name).get(name, [])


def _by_name(context: Context) -> dict[str, list[FunctionFacts]]:
    found: dict[str, list[FunctionFacts]] = {}
    for cls in context.project.classes():
        for method in cls.methods.values():
            found.setdefault(method.name, []).append(method)
    return found
