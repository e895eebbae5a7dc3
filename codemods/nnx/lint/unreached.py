"""Code that no run reaches."""

from __future__ import annotations

import ast

from codemods.nnx.source import Source

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def unreached(source: Source) -> list[tuple[int, int]]:
    """Return where a module has statements behind a ``return`` or ``raise`` of the same block.

    Args:
        source: the module.

    Returns:
        The first byte of each such part, and the one behind its last.
    """
    found: list[tuple[int, int]] = []
    for node in source.nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            place = next((i for i, one in enumerate(block) if isinstance(one, _LEAVING)), len(block))
            if place + 1 < len(block):
                found.append((source.span(block[place + 1])[0], source.span(block[-1])[1]))
    return found
