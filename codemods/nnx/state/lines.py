"""Naming the lines of code that a finding speaks of, which may stand in another file than the finding."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts


def line(context: Context, node: ast.AST, home: ModuleFacts) -> str:
    """Return ``line N``, with the file where it is another one.

    Args:
        context: the analysis.
        node: the code.
        home: the module that the finding is in.
    """
    number = getattr(node, "lineno", 0)
    others = [module for module in context.project.modules if module is not home]
    holder = next((m for m in (home, *others) if any(inner is node for inner in m.source.nodes)), home)
    return f"line {number}" if holder is home else f"line {number} of {holder.source.path}"
