"""One ordered walk over a module that gives every expression its symbolic value.

The walk is one object, in layers: names, stores, definitions, expressions, blocks, statements, each on the one before.
"""

from __future__ import annotations

from codemods.nnx.facts import ModuleFacts
from codemods.nnx.source import Source
from codemods.nnx.walk.statements import Statements


def walk(source: Source) -> ModuleFacts:
    """Return the facts of one module.

    Raises:
        SyntaxError: if the source does not parse.
        RecursionError: if it is nested too deeply.
    """
    return Statements(source).run()
