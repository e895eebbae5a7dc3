"""Naming many places in one finding, for what is true once per project."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts


def places(events: Iterable[AttrEvent | CallEvent], home: ModuleFacts) -> str:
    """Return all places by file, as in ``lines 3 and 5, line 2 of b.py``.

    Args:
        events: what stands there.
        home: the module that the finding is in, whose name is left out.
    """
    found: dict[ModuleFacts, dict[int, None]] = {}
    for event in events:
        found.setdefault(event.scope.module, {})[event.node.lineno] = None
    named = []
    for module, numbers in found.items():
        *most, last = map(str, sorted(numbers))
        text = f"lines {', '.join(most)} and {last}" if most else f"line {last}"
        named.append(text if module is home else f"{text} of {module.source.path}")
    return ", ".join(named)
