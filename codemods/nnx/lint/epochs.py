"""Which loops go over the epochs of a training."""

from __future__ import annotations

import ast
import re

from codemods.nnx.nodes import first_element
from codemods.nnx.patterns import pattern

_EPOCH = pattern(r"(^|_)(epochs?|ep)($|_)", re.I)


def over_epochs(loop: ast.AST | None) -> bool:
    """Say whether a loop calls its variable an epoch, or counts up to a number of epochs."""
    if not isinstance(loop, ast.For):
        return False
    first = first_element(loop.target)
    if isinstance(first, ast.Name) and _EPOCH.search(first.id):
        return True
    ranges = (n for n in ast.walk(loop.iter) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "range")
    words = (getattr(part, "id", "") or getattr(part, "attr", "") for one in ranges for part in ast.walk(one))
    return any(_EPOCH.search(word) for word in words)
