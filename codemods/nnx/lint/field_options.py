"""What the options of a dataclass field say."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word


def static(made: ast.Call) -> bool:
    """Say whether a field is left out of the leaves of a tree."""
    if last_word(made.func) != "field":
        return False
    if constant(keyword(made, "pytree_node")) is False or constant(keyword(made, "static")) is True:
        return True
    given = keyword(made, "metadata")
    if isinstance(given, ast.Call) and last_word(given.func) == "dict":
        return constant(keyword(given, "static")) is True
    metadata = constant(given)
    return isinstance(metadata, dict) and metadata.get("static") is True
