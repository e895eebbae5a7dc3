"""Code that updates an optimizer in two ways, of which the Flax release decides: as 0.10 wants it, and as 0.11 does.

Up to 0.10 ``update(model, grads)`` raises a TypeError, and since 0.11 ``update(grads)`` does. Two branches with one
form each can only be meant for different releases, and are right as they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.nodes import last_word
from codemods.nnx.source import Source
from codemods.nnx.spellings import spellings


def for_old_releases(module: ModuleFacts) -> frozenset[ast.Call]:
    """Return the calls ``optimizer.update(grads)`` beside which another branch has ``optimizer.update(model, grads)``.

    Args:
        module: a module of the project.
    """
    calls: dict[tuple[tuple[str, ...], str], list[ast.Call]] = {}
    for event in module.calls:
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "update" and not event.value.starred:
            calls.setdefault((_names(event.scope), ast.unparse(func.value)), []).append(event.node)
    found: set[ast.Call] = set()
    for several in calls.values():
        old = [call for call in several if len(call.args) == 1 and not call.keywords]
        new = [call for call in several if len(call.args) == 2]
        if old and new:
            found |= _beside(list(_branches(module)), old, new)
    return frozenset(found)


def made_for_old_releases(module: ModuleFacts) -> frozenset[ast.Call]:
    """Return the calls ``nnx.Optimizer(model, tx)`` that a test for a version chooses where no ``wrt`` is needed.

    0.10 takes `wrt` as well, so that two branches alone tell nothing.

    Args:
        module: a module of the project.
    """
    source = module.source
    if not source.mentions(b"version") or not (source.mentions(b"wrt") or source.mentions(b"ModelAndOptimizer")):
        return frozenset()
    words = spellings(source, {"Optimizer", "ModelAndOptimizer"})
    made = [call for call in source.of_type(ast.Call) if last_word(call.func) in words]
    new = [call for call in made if _of_later(call)]
    asked = _versions(source)
    ways = [way for test, way in _ways(source) if _asks(test, asked)]
    return frozenset(_beside(ways, [call for call in made if call not in new], new))


def _of_later(call: ast.Call) -> bool:
    """Say whether an optimizer is made as later releases want it."""
    return any(word.arg == "wrt" for word in call.keywords) or last_word(call.func) == "ModelAndOptimizer"


def _versions(source: Source) -> frozenset[str]:
    """Return the names that a module gives to versions, and to what was found out about them."""
    found: set[str] = set()
    for made in source.of_type(ast.Assign):
        if _asks(made.value, found):
            found |= {target.id for target in made.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def _asks(test: ast.expr, names: Collection[str]) -> bool:
    """Say whether an expression is about a version, going by what is read in it."""
    for node in ast.walk(test):
        word = last_word(node)
        if "version" in word.lower() or word in names:
            return True
    return False


def _names(scope: Scope) -> tuple[str, ...]:
    """Return the names of a function and of those around it: two of one name, of which one is defined, are alike."""
    found: list[str] = []
    inner: Scope | None = scope
    while inner is not None:
        found.append(inner.function.name if inner.function is not None else "")
        inner = inner.parent
    return tuple(found)


def _beside(ways: list[_Way], old: list[ast.Call], new: list[ast.Call]) -> set[ast.Call]:
    """Return those of some calls that stand in another branch than one of others."""
    return {call for call in old if any(_apart(call, other, ways) for other in new)}


_Way = tuple[frozenset[ast.AST], frozenset[ast.AST]]


def _branches(module: ModuleFacts) -> Iterator[_Way]:
    """Yield the nodes of two branches of which one runs: of a condition, or of a ``try`` and its handlers."""
    for _, way in _ways(module.source):
        yield way
    for attempt in module.source.of_type(ast.Try):
        yield _inside(attempt.body), frozenset().union(*(_inside(handler.body) for handler in attempt.handlers))


def _ways(source: Source) -> Iterator[tuple[ast.expr, _Way]]:
    """Yield conditions with what runs where they hold and where they do not."""
    for chosen in source.of_type(ast.IfExp):
        yield chosen.test, (frozenset(ast.walk(chosen.body)), frozenset(ast.walk(chosen.orelse)))
    for test in source.of_type(ast.If):
        yield test.test, (_inside(test.body), _inside(test.orelse))
    bodies = [function.body for function in source.of_type(ast.FunctionDef)]
    bodies += [function.body for function in source.of_type(ast.AsyncFunctionDef)]
    for body in bodies:
        for number, early in enumerate(body):
            if isinstance(early, ast.If) and not early.orelse and isinstance(early.body[-1], ast.Return | ast.Raise):
                yield early.test, (_inside(early.body), _inside(body[number + 1 :]))


def _inside(body: list[ast.stmt]) -> frozenset[ast.AST]:
    return frozenset(node for statement in body for node in ast.walk(statement))


def _apart(one: ast.Call, other: ast.Call, ways: list[_Way]) -> bool:
    return any((one in left and other in right) or (one in right and other in left) for left, right in ways)
