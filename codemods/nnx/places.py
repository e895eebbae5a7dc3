"""Naming many places in one finding, for what is true once per project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, Fix, Related
from codemods.nnx.project import Project

_FEW = 3  # findings that may say the same, each at its own place


def places(events: Iterable[AttrEvent | CallEvent], home: ModuleFacts) -> str:
    """Return all places by file, as in ``lines 3 and 5, line 2 of b.py``.

    Args:
        events: what stands there.
        home: the module that the finding is in, whose name is left out.
    """
    return _named(((event.scope.module.source.path, event.node.lineno) for event in events), home.source.path)


def listed(events: Iterable[AttrEvent | CallEvent], home: ModuleFacts) -> str:
    """Return all places as :func:`places` does; those of more than a few files in a line for each file."""
    by_file: dict[str, list[AttrEvent | CallEvent]] = {}
    for event in events:
        by_file.setdefault(event.scope.module.source.path, []).append(event)
    if len(by_file) <= _FEW:
        return places([event for inside in by_file.values() for event in inside], home)
    return "".join(f"\n- {places(inside, home)}" for inside in by_file.values())


def once(project: Project, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; of many that say the same only the first, with the places of the others.

    Those of its own file are related places, which reports show by cells in notebooks; the message names the rest.

    Args:
        project: the code that the findings are about.
        findings: those of one rule.
    """
    sources = {module.source.path: module.source for module in project.modules}
    groups: dict[object, list[Finding]] = {}
    for one in findings:
        safety = one.fix.safety if one.fix is not None else None
        groups.setdefault((one.code, one.message, one.help, safety), []).append(one)
    for first, *rest in groups.values():
        if len(rest) < _FEW:
            yield from (first, *rest)
            continue
        mine = sorted((one.start, one.end) for one in rest if one.path == first.path)
        near = tuple(Related(start, end, "so is this") for start, end in mine)
        far = [(one.path, sources[one.path].position(one.start)[0]) for one in rest if one.path != first.path]
        message = f"{first.message}; so in {_named(far, first.path)}" if far else first.message
        fix = None
        if first.fix is not None:
            edits = [edit for one in (first, *rest) if one.fix is not None for edit in one.fix.edits]
            fix = Fix(tuple(dict.fromkeys(edits)), first.fix.safety)
        yield replace(first, message=message, related=near, fix=fix)


def _named(spots: Iterable[tuple[str, int]], home: str) -> str:
    found: dict[str, dict[int, None]] = {}
    for path, line in spots:
        found.setdefault(path, {})[line] = None
    named = []
    for path, numbers in found.items():
        *most, last = map(str, sorted(numbers))
        text = f"lines {', '.join(most)} and {last}" if most else f"line {last}"
        named.append(text if path == home else f"{text} of {path}")
    return ", ".join(named)
