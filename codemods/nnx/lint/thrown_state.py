"""States of optimizers that a checkpoint holds, and that a new one takes the place of; part of NNX678."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Value

_STATE = pattern(r"^(saved_|old_|loaded_|restored_)?(opt|optim|optimi[sz]er)_?states?$", re.I)
_COUNT = pattern(r"^(start_?|first_|last_|global_|saved_)?(step|epoch|it|iteration|round|update)s?(_?num|_?no)?$", re.I)
_LOADING = pattern(r"load|restore|from_bytes|resume", re.I)
_ANEW = pattern(rb"pre_?train|fine_?tun|transfer|reset|anew|fresh|warm_?start|restart", re.I)  # done on purpose
_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})


def thrown_away(context: Context) -> Iterator[tuple[CallEvent, ast.AST, str]]:
    """Yield the calls that make a new state, with where the saved one is left, and what that is called.

    The step that the training goes on from is read there: with the count of a checkpoint belongs its optimizer.

    Args:
        context: the analysis.
    """
    for event in context.asked.calls():
        if not _LOADING.search(last_word(event.node.func)) or in_test(event.scope) or _on_purpose(event.scope):
            continue
        loaded = event.statement
        if not isinstance(loaded, ast.Assign) or loaded.value is not event.node or len(loaded.targets) != 1:
            continue
        target = loaded.targets[0]
        if isinstance(target, ast.Tuple):
            yield from _unpacked(context, event, target)
        elif isinstance(target, ast.Name):
            yield from _by_keys(context, event, target)


def _on_purpose(scope: Scope) -> bool:
    return scope.module.source.matches(_ANEW)


def _unpacked(context: Context, event: CallEvent, target: ast.Tuple) -> Iterator[tuple[CallEvent, ast.AST, str]]:
    """Yield the new states beside ``step, params, opt_state = load(...)`` of which the last is never read."""
    names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
    held = [name for name in names if _STATE.search(name)]
    counts = [name for name in names if _COUNT.search(name)]
    if len(held) != 1 or not counts or not any(_loads(event.scope, name) for name in counts):
        return
    values = event.scope.module.values
    if not all(_is_new(values.get(node)) for node in _loads(event.scope, held[0])):
        return
    for made in _made(context, event, {*names} - {*held, *counts, ""}):
        yield made, target.elts[names.index(held[0])], held[0]
        return


def _by_keys(context: Context, event: CallEvent, target: ast.Name) -> Iterator[tuple[CallEvent, ast.AST, str]]:
    """Yield the new states beside ``saved["params"]`` and ``saved["step"]``, whose third entry nothing reads."""
    saved = context.shared(_saved_only)
    if not saved:
        return
    reads = _loads(event.scope, target.id)
    entries = {
        node.value: node
        for node in ast.walk(event.scope.node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == target.id
    }
    keys = {read: constant(entries[read].slice) if read in entries else None for read in reads}
    words = [key for key in keys.values() if isinstance(key, str)]
    if len(words) != len(reads) or not any(map(_COUNT.search, words)):
        return
    others = {key for key in words if not _COUNT.search(key)}
    taken = {
        name.id
        for node in ast.walk(event.scope.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and node.value in entries.values()
        for name in node.targets
        if isinstance(name, ast.Name) and constant(node.value.slice) in others
    }
    for made in _made(context, event, taken, [*entries.values()]):
        yield made, event.node, saved
        return


def _saved_only(context: Context) -> str:
    """Return the key under which a project saves the state of an optimizer, if nothing ever reads it by that."""
    found: set[str] = set()
    for module in context.project.modules:
        source = module.source
        keys = [key for one in source.of_type(ast.Dict) for key in one.keys if key is not None]
        named = [k for call in source.of_type(ast.Call) if last_word(call.func) == "dict" for k in call.keywords]
        found |= {k.arg for k in named if k.arg and _STATE.search(k.arg)}
        for node in source.of_type(ast.Constant):
            if isinstance(node.value, str) and _STATE.search(node.value):
                if node not in keys:
                    return ""
                found.add(node.value)
        if any(isinstance(n.ctx, ast.Load) and _STATE.search(n.attr) for n in source.of_type(ast.Attribute)):
            return ""
    return found.pop() if len(found) == 1 else ""


def _loads(scope: Scope, name: str) -> list[ast.Name]:
    """Return where a variable is read, also in functions within."""
    nodes = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name)
    return [n for n in nodes if isinstance(n.ctx, ast.Load)]


def _is_new(value: Value | None) -> bool:
    """Say whether a variable has become another state by then: ``opt_state = tx.init(params)``."""
    return isinstance(value, Call) and last_word(value.node.func) == "init"


def _made(
    context: Context, event: CallEvent, names: set[str], entries: Collection[ast.expr] = ()
) -> Iterator[CallEvent]:
    """Yield the calls behind the loading that make a state for what was loaded, or an optimizer."""
    for other in context.bodies.calls.get(event.scope, ()):
        if other.node.lineno <= event.node.lineno or not other.used:
            continue
        given = other.node.args
        if last_word(other.node.func) == "init" and isinstance(other.node.func, ast.Attribute):
            if any((isinstance(one, ast.Name) and one.id in names) or one in entries for one in given):
                yield other
        elif context.flow.calls.name(other) in _OPTIMIZERS:
            yield other
