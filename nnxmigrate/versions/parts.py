"""The parts of a project that ask for different versions of Flax."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from codemods.nnx.options import VERSIONS
from nnxmigrate.files.discovery import NOTEBOOK, display
from nnxmigrate.files.document import Document
from nnxmigrate.files.roots import common_folder
from nnxmigrate.project import Project, groups
from nnxmigrate.versions.choose import Chosen, choose
from nnxmigrate.versions.code import traces
from nnxmigrate.versions.environment import active
from nnxmigrate.versions.pins import Statement, climb, locked, of_notebook, pinned

_Said = tuple[Statement | None, Statement | None]


def parts(
    project: Project, origin: str | None = None, targets: tuple[str, ...] | None = None
) -> list[tuple[Chosen, Project]]:
    """Divide a project by what its parts are pinned to.

    Args:
        project: the files.
        origin: the version that the user says it comes from.
        targets: the versions that the user says it goes to.

    Returns:
        One pair for each choice of versions; the files of the other parts are its context.
    """
    if origin is not None and targets is not None:
        return [(Chosen(origin, targets), project)]
    said: dict[_Said, list[str]] = {}
    for name in project.documents:
        if name not in project.context:
            said.setdefault(_said(project.paths.get(name, name)), []).append(name)
    chosen: dict[tuple[str, tuple[str, ...]], tuple[Chosen, list[str]]] = {}
    # a file that is named alone is taken for what it is when the whole project is
    every = {**project.unrelated, **project.documents}
    beside: dict[_Said, list[str]] = {}
    for name in every:
        if name not in project.documents or name in project.context:
            beside.setdefault(_said(name), []).append(name)
    for (pins, lock), names in said.items():
        settled = pins is not None and len(pins.allowed) == 1 and lock is None
        folder = _folder(project, names)
        installed = None if settled or lock is not None else active(climb(folder))
        shown = sorted([*names, *beside.get((pins, lock), ())])
        decide = partial(choose, pins, lock, installed, origin=origin, targets=targets)
        code = traces(every, shown)
        whole = decide(code)
        ways: list[tuple[Chosen, AbstractSet[str]]] = [(whole, set(shown))]
        mixed = code.needs is not None and code.old is not None
        old = _older(every, shown) if mixed and origin is None and whole.origin != VERSIONS[0] else set()
        if old:
            ways = [(replace(decide(traces(every, sorted(old))), targets=whole.targets), old)]
            rest = [name for name in shown if name not in old]
            ways += [(decide(traces(every, rest)), set(rest))] if rest else []
        for one, some in ways:
            mine = [name for name in names if name in some]
            if mine:
                chosen.setdefault((one.origin, one.targets), (one, []))[1].extend(mine)
    if len(chosen) < 2:
        return [(one, project) for one, _ in chosen.values()]
    labels = _labels(project, [names for _, names in chosen.values()])
    return [
        (replace(one, part=label), _part(project, names, number == 0))
        for number, ((one, names), label) in enumerate(zip(chosen.values(), labels, strict=True))
    ]


def _older(documents: Mapping[str, Document], names: Sequence[str]) -> AbstractSet[str]:
    """Return the files that only the oldest Flax runs, for a project whose pins leave that out.

    Where a project is half migrated, some of its files show the old form and some the new one. A file with the old form
    is taken as old together with those that imports connect with it, unless the way leads through a new one.
    """
    new = {name for name in names if traces(documents, [name]).needs is not None}
    old: set[str] = set()
    for group in groups({name: documents[name] for name in names if name not in new}):
        if traces(documents, group).old is not None:
            old.update(group)
    return old


def _said(path: str) -> _Said:
    absolute = os.path.abspath(path)
    if path.endswith(NOTEBOOK) and os.path.isfile(absolute):
        own = of_notebook(absolute)
        if own is not None:
            return own, None
    folder = os.path.dirname(absolute)
    return pinned(folder), locked(folder)


def _folder(project: Project, names: list[str]) -> str:
    """Return the absolute folder that holds files."""
    folders = {os.path.dirname(os.path.abspath(project.paths.get(name, name))) for name in names}
    return common_folder(folders) or os.getcwd()


def _part(project: Project, names: list[str], first: bool) -> Project:
    """Return the project of some files; those without NNX code and those that could not be read go with the first."""
    mine = set(names)
    paths = {
        name: path for name, path in project.paths.items() if name in mine or (first and name not in project.documents)
    }
    return replace(
        project,
        paths=paths,
        troubles={name: trouble for name, trouble in project.troubles.items() if first},
        context=frozenset(project.documents.keys() - mine),
    )


def _labels(project: Project, parts: Sequence[list[str]]) -> list[str]:
    """Return what parts are called in reports: their only file, their folder, or a file of several in one folder."""
    folders = [_shown(_folder(project, names), names) + os.sep for names in parts]
    return [
        names[0]
        if len(names) == 1
        else folder
        if folders.count(folder) == 1
        else f"{names[0]} and {len(names) - 1} more"
        for names, folder in zip(parts, folders, strict=True)
    ]


def _shown(folder: str, names: Sequence[str]) -> str:
    """Return the name of a folder in reports, from where the names of its files begin."""
    return display(folder if all(map(os.path.isabs, names)) else os.path.relpath(folder))
