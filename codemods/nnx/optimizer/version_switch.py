"""Code that updates an optimizer in two ways, of which the Flax release decides: as 0.10 wants it, and as 0.11 does.

Up to 0.10 ``update(model, grads)`` raises a TypeError, and since 0.11 ``update(grads)`` does. Two branches with one
form each can only be meant for different releases, and are right as they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.nodes import last_word
from codemods.nnx.spellings import spellings


def for_old_releases(module: ModuleFacts) -> frozenset[ast.Call]:
    """Return the calls ``optimizer.update(grads)`` beside which another branch has ``optimizer.update(model, grads)``.

    Args:
        module: a module of the project.
    """
    calls: dict[tuple[Scope, str], list[ast.Call]] = {}
    for event in module.calls:
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "update" and not event.value.starred:
            calls.setdefault((event.scope, ast.unparse(func.value)), []).append(event.node)
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
    if not module.source.mentions(b"version") or not module.source.mentions(b"wrt"):
        return frozenset()
    words = spellings(module.source, {"Optimizer"})
    made = [call for call in module.source.of_type(ast.Call) if last_word(call.func) in words]
    new = [call for call in made if any(word.arg == "wrt" for word in call.keywords)]
    tests = [test for test in module.source.of_type(ast.If) if "version" in module.source.text(test.test)]
    ways = [(_inside(test.body), _inside(test.orelse)) for test in tests]
    return frozenset(_beside(ways, [call for call in made if call not in new], new))


def _beside(ways: list[_Way], old: list[ast.Call], new: list[ast.Call]) -> set[ast.Call]:
    """Return those of some calls that stand in another branch than one of others."""
    return {call for call in old if any(_apart(call, other, ways) for other in new)}


_Way = tuple[frozenset[ast.AST], frozenset[ast.AST]]


def _branches(module: ModuleFacts) -> Iterator[_Way]:
    """Yield the nodes of two branches of which one runs: of an ``if``, or of a ``try`` and what handles its errors."""
    for test in module.source.of_type(ast.If):
        yield _inside(test.body), _inside(test.orelse)
    for attempt in module.source.of_type(ast.Try):
        yield _inside(attempt.body), frozenset().union(*(_inside(handler.body) for handler in attempt.handlers))


def _inside(body: list[ast.stmt]) -> frozenset[ast.AST]:
    return frozenset(node for statement in body for node in ast.walk(statement))


def _apart(one: ast.Call, other: ast.Call, ways: list[_Way]) -> bool:
    return any((one in left and other in right) or (one in right and other in left) for left, right in ways)
