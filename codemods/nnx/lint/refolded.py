"""Keys that are told apart by the step of an epoch alone, so that every epoch draws the same; part of NNX970."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.keys import SAME
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, inside, names_in
from codemods.nnx.nodes import last_word


def refolded(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of ``fold_in`` that give every round of an outer loop the keys of the one before.

    The inner loop has to take steps from which the next round of the outer one goes on: then the rounds are epochs.

    Args:
        context: the analysis.

    Yields:
        The call, and what is wrong.
    """
    for event, name in foreign(context, "fold_in"):
        loops = event.loops[-2:]
        key, number = argument(event.node, 0, "key"), argument(event.node, 1, "data")
        if name != "jax.random.fold_in" or len(loops) != 2 or number is None or in_test(event.scope):
            continue
        if not isinstance(key, ast.Name):
            continue  # an attribute may be renewed by a method
        outer, inner = loops
        if not isinstance(outer, ast.For | ast.While) or not isinstance(inner, ast.For):
            continue
        counted = _counted(inner)
        read = names_in(number)
        if not counted or not read <= counted | _constants(outer, read) or not read & counted:
            continue
        if names_in(inner.iter) & _stored(outer, inner) or names_in(key) & _stored(outer, None):
            continue
        if _goes_on(event, outer, inner) and not SAME.search(ast.unparse(event.statement)):
            rounds = f"`{ast.unparse(outer.target)}`" if isinstance(outer, ast.For) else "the outer loop"
            yield (
                event,
                (f"`{ast.unparse(number)}` begins anew in every round of {rounds}: all of them draw the same numbers"),
            )


def _counted(loop: ast.For) -> set[str]:
    """Return the variable that counts the rounds of a loop: that of ``range`` or ``enumerate``."""
    over = loop.iter
    while isinstance(over, ast.Call) and last_word(over.func) in {"tqdm", "track", "progress_bar"} and over.args:
        over = over.args[0]
    word = last_word(over.func) if isinstance(over, ast.Call) else ""
    target: ast.expr = loop.target
    if word == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        if isinstance(over, ast.Call) and argument(over, 1, "start") is not None:
            return set()
        target = target.elts[0]
    elif word not in {"range", "trange"}:
        return set()
    return {target.id} if isinstance(target, ast.Name) else set()


def _stored(loop: ast.For | ast.While, without: ast.AST | None) -> set[str]:
    """Return the variables that a loop binds, without those that a part of it binds."""
    return {
        n.id
        for n in ast.walk(loop)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and (without is None or not inside(n, without))
    }


def _constants(loop: ast.For | ast.While, names: AbstractSet[str]) -> AbstractSet[str]:
    return names - _stored(loop, None)


def _goes_on(event: CallEvent, outer: ast.For | ast.While, inner: ast.For) -> bool:
    """Say whether the key goes into a step that gives back what it gets, and from which the next epoch goes on."""
    made = {n.id for n in _targets(event.statement)}
    keys = made - {n.id for n in ast.walk(event.statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if len(keys) != len(made):  # what a step gives back
        keys = set()
    begun = _stored(outer, inner)
    for statement in ast.walk(inner):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        given = [*statement.value.args, *(word.value for word in statement.value.keywords)]
        read = {name for one in given for name in names_in(one)}
        used = inside(event.node, statement.value) or bool(read & keys)
        carried = {n.id for n in _targets(statement)} & read
        if used and carried - begun - keys and last_word(statement.value.func) != "split":
            return True
    return False


def _targets(statement: ast.stmt) -> list[ast.Name]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [n for one in targets for n in ast.walk(one) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
