"""States of optimizers that no checkpoint holds, and that begin anew where a training goes on; part of NNX678."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.places import formula_of, in_test
from codemods.nnx.lint.syntax import constant, names_in, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_COUNT = pattern(r"^(start_?|first_|last_|global_|saved_)?(step|epoch|it|iteration|round|update)s?(_?num|_?no)?$", re.I)
_PARAMS = pattern(r"^(model_?|net_?)?(params?|weights|variables)$", re.I)
_HELD = pattern(r"opt|state|tx|moment|adam", re.I)  # what may hold the state
_LOADING = pattern(r"load|restore|from_bytes|resume", re.I)
_SAVING = pattern(r"save|dump|write|to_bytes|serialize|checkpoint", re.I)
_ANEW = pattern(rb"pre_?train|fine_?tun|transfer|reset|anew|fresh|warm_?start|restart", re.I)  # done on purpose
_REMEMBERING = pattern(
    rb"optax\.(ada|amsgrad|lamb|lion|nadam|radam|rmsprop|novograd|yogi|lars|muon|\w*schedule\w*|\w*decay\()|momentum"
)


def unsaved(context: Context) -> Iterator[tuple[CallEvent, ast.AST]]:
    """Yield the calls that make a new state for loaded parameters, with the dict that is saved.

    The loop goes on from the step of the checkpoint, and the dict that holds both holds nothing of the optimizer.

    Args:
        context: the analysis.
    """
    modules = context.project.modules
    if not any(m.source.matches(_REMEMBERING) for m in modules):
        return
    for event in context.asked.calls():
        if not _LOADING.search(last_word(event.node.func)) or in_test(event.scope):
            continue
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if event.scope.module.source.matches(_ANEW):
            continue
        if isinstance(target, ast.Name):
            keys, bound = _entries(event.scope, target.id)
        else:
            keys, bound = _given(context, event, target)
        counts, params = ([one for one in keys if word.search(one)] for word in (_COUNT, _PARAMS))
        if not counts or not params or len(keys) != len(counts) + len(params):
            continue
        if not any(_goes_on(event, name) for name, key in bound.items() if key in counts):
            continue
        saved = _saved(context, {*counts, *params})
        made = _made(context, event, {ast.unparse(target), *(name for name, key in bound.items() if key in params)})
        if saved is not None and made is not None:
            yield made, saved


def _given(context: Context, event: CallEvent, target: ast.expr) -> tuple[set[str], dict[str, str]]:
    """Return the same of ``step, params = load(path)``, where a function gives entries of what it has loaded."""
    functions = [
        callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    ]
    given = formula_of(context, functions[0]) if len(functions) == 1 else None
    if not isinstance(given, ast.Tuple) or not isinstance(target, ast.Tuple) or len(given.elts) != len(target.elts):
        return set(), {}
    scope = functions[0].scope
    words = {one.value.id for one in given.elts if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)}
    stores = context.bodies.stores(scope, next(iter(words))) if len(words) == 1 else []
    loads = [one for one in context.bodies.calls.get(scope, ()) if _LOADING.search(last_word(one.node.func))]
    if len(stores) != 1 or not loads:
        return set(), {}
    keys, _ = _entries(scope, next(iter(words)))
    own = [constant(one.slice) if isinstance(one, ast.Subscript) else None for one in given.elts]
    if len(keys) != len(own):
        return set(), {}
    return keys, {ast.unparse(one): key for one, key in zip(target.elts, own, strict=True) if isinstance(key, str)}


def _entries(scope: Scope, name: str) -> tuple[set[str], dict[str, str]]:
    """Return the keys by which code reads a loaded dict, and the variables that get entries alone, with their keys.

    No keys, where the dict is used in another way too.
    """
    nodes = list(ast.walk(scope.node))
    entries = {n.value: n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}
    reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    keys = [constant(entries[read].slice) if read in entries else None for read in reads]
    words = {key for key in keys if isinstance(key, str)}
    if not all(isinstance(key, str) for key in keys):
        return set(), {}
    bound: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for place, value in _pairs(node.targets[0], node.value):
                inner = {
                    constant(n.slice) for n in ast.walk(value) if isinstance(n, ast.Subscript) and n.value in reads
                }
                key = next(iter(inner)) if len(inner) == 1 else None
                if isinstance(key, str):
                    bound[place] = key
    return words, bound


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the variables and attributes that an assignment binds, with what each gets."""
    apart = taken_apart(target, value)
    return [(ast.unparse(one), given) for one, given in apart if isinstance(one, ast.Name | ast.Attribute)]


def _texts(node: ast.expr) -> set[str]:
    """Return the variables and attributes that an expression reads, as they are written."""
    return {ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}


def _goes_on(event: CallEvent, name: str) -> bool:
    """Say whether a loop begins with a number: ``for step in range(start, total)``, also in another method."""
    function = event.scope.function
    around = event.scope.node
    if "." in name and function is not None and function.owner is not None:
        around = function.owner.node
    return any(
        isinstance(n, ast.Call) and last_word(n.func) == "range" and len(n.args) > 1 and name in _texts(n.args[0])
        for n in ast.walk(around)
    )


def _saved(context: Context, keys: set[str]) -> ast.AST | None:
    """Return a dict of a project that holds some entries, if none of these, and nothing that is saved, has a state."""
    found: ast.AST | None = None
    for module in context.project.modules:
        for node in module.source.of_type(ast.Dict):
            names = [constant(key) if key is not None else None for key in node.keys]
            if not keys <= {*names}:
                continue
            if not all(isinstance(one, str) for one in names) or _HELD.search(ast.unparse(node)):
                return None
            found = node
        for call in module.source.of_type(ast.Call):
            if _SAVING.search(last_word(call.func)):
                given = [*call.args, *(one.value for one in call.keywords)]
                if any(_HELD.search(name) for one in given for name in names_in(one)):
                    return None
    return found


def _made(context: Context, event: CallEvent, names: set[str]) -> CallEvent | None:
    """Return the call behind the loading that makes a state for the loaded parameters."""
    for other in context.bodies.calls.get(event.scope, ()):
        if last_word(other.node.func) != "init" or len(other.node.args) != 1 or not other.used:
            continue
        if other.node.lineno > event.node.lineno and _texts(other.node.args[0]) & names:
            return other if isinstance(other.node.func, ast.Attribute) and _always(other) else None
    return None


def _always(made: CallEvent) -> bool:
    """Say whether a new state is bound to a variable, whatever there was before."""
    statement = made.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    name = next((place for place, value in _pairs(statement.targets[0], statement.value) if value is made.node), None)
    tests = (n.test for n in ast.walk(made.scope.node) if isinstance(n, ast.If))
    return name is not None and not any(name in _texts(test) for test in tests)
