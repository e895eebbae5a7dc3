"""The parts of a project that ask for different versions of Flax."""

from __future__ import annotations

import os
from dataclasses import replace

from nnxmigrate.files.discovery import NOTEBOOK, display
from nnxmigrate.files.roots import common_folder
from nnxmigrate.project import Project
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
        code = traces(every, sorted([*names, *beside.get((pins, lock), ())]))
        one = choose(pins, lock, installed, code, origin=origin, targets=targets)
        chosen.setdefault((one.origin, one.targets), (one, []))[1].extend(names)
    if len(chosen) < 2:
        return [(one, project) for one, _ in chosen.values()]
    return [_part(project, one, names, number == 0) for number, (one, names) in enumerate(chosen.values())]


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


def _part(project: Project, one: Chosen, names: list[str], first: bool) -> tuple[Chosen, Project]:
    """Return a choice and its files; those without NNX code and those that could not be read go with the first."""
    mine = set(names)
    paths = {
        name: path for name, path in project.paths.items() if name in mine or (first and name not in project.documents)
    }
    part = replace(
        project,
        paths=paths,
        troubles={name: trouble for name, trouble in project.troubles.items() if first},
        context=frozenset(project.documents.keys() - mine),
    )
    return replace(one, part=_label(project, names)), part


def _label(project: Project, names: list[str]) -> str:
    """Return what a part is called in reports: its only file, or the folder that holds it."""
    if len(names) == 1:
        return names[0]
    folder = os.path.relpath(_folder(project, names))
    return display(folder) + os.sep
