"""What a module calls functions and classes that have another name where they come from.

Rules look for the last words of names before they follow values, as that is cheap. ``from flax.nnx import state as
get_state``, ``take = nnx.state`` and ``take = staticmethod(nnx.state)`` hide such a word at the place of a call.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from codemods.nnx.nodes import last_word
from codemods.nnx.source import Source

_WRAPPING = frozenset({"staticmethod", "partial", "cached_partial", "jit"})
_ROUNDS = 3  # how many names one after the other are followed


def spellings(source: Source, words: Collection[str]) -> Collection[str]:
    """Return some words with the names that a module gives to what has one of them.

    Args:
        source: the module.
        words: last words of full names.
    """
    renamed = source.once(_renamed)
    found: set[str] = set()
    for _ in range(_ROUNDS if renamed else 0):
        new = {name for name, meant in renamed if (meant in words or meant in found) and name not in found}
        if not new:
            break
        found |= new
    return {*words, *found} if found else words


def original(source: Source, word: str) -> str:
    """Return the name that ``from ... import name as word`` gives another word; the word itself where none does."""
    return source.once(_imported).get(word, word)


def _imported(source: Source) -> dict[str, str]:
    if not source.mentions(b" as "):
        return {}
    found = [one for statement in source.of_type(ast.ImportFrom) for one in statement.names if one.asname]
    return {one.asname: one.name for one in found if one.asname}


def _renamed(source: Source) -> frozenset[tuple[str, str]]:
    """Return the names that imports and assignments give, each with the last word of what gets it."""
    found: set[tuple[str, str]] = set()
    if source.mentions(b" as "):
        for statement in source.of_type(ast.Import, ast.ImportFrom):
            assert isinstance(statement, ast.Import | ast.ImportFrom)
            found |= {(one.asname, one.name.rpartition(".")[2]) for one in statement.names if one.asname}
    for assignment in source.of_type(ast.Assign, ast.AnnAssign):
        assert isinstance(assignment, ast.Assign | ast.AnnAssign)
        value = assignment.value
        if isinstance(value, ast.Call) and last_word(value.func) in _WRAPPING and value.args:
            value = value.args[0]
        word = last_word(value) if isinstance(value, ast.Name | ast.Attribute) else ""
        targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
        if word:
            found |= {(last_word(target), word) for target in targets if isinstance(target, ast.Name | ast.Attribute)}
    return frozenset((name, word) for name, word in found if name != word)
