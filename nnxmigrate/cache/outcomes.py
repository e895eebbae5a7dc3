"""Which outcomes of whole runs can be kept, and under what key."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from codemods.nnx.options import Options
from nnxmigrate.cache.store import Cache
from nnxmigrate.files.roots import MARKS
from nnxmigrate.outcome import Outcome, Status
from nnxmigrate.project import Files
from nnxmigrate.settings import Settings
from nnxmigrate.versions.environment import active
from nnxmigrate.versions.pins import climb, holders

Result = tuple[Outcome, list[Options]]
Versions = tuple[str | None, tuple[str, ...] | None]


def remembered(files: Files, settings: Settings, versions: Versions, cache: Cache, run: Callable[[], Result]) -> Result:
    """Return what a run comes to: from the cache if it is known, or else by running.

    Args:
        files: the files.
        settings: what is asked for.
        versions: those that the user said code is taken from and to; what is None, the project decides.
        cache: where outcomes are kept.
        run: does the work.

    Returns:
        The outcome, and what every part of the project was looked at with.
    """
    key = _key(files, settings, versions)
    known = cache.find(*key)
    if isinstance(known, tuple) and len(known) == 2 and isinstance(known[0], Outcome):
        return _revived(known[0], files), known[1]
    outcome, options = run()
    if _lasting(outcome):
        cache.keep((_bare(outcome), options), *key)
    return outcome, options


def _key(files: Files, settings: Settings, versions: Versions) -> list[str | bytes]:
    """Return all that a run's outcome depends on, apart from this program."""
    key: list[str | bytes] = ["outcome", repr(replace(settings, jobs=None, cache=None)), *_landmarks(files)]
    key += (repr(versions), *(_evidence(files) if None in versions else ()))
    for name, data in files.contents.items():
        key += (name, "context" if name in files.context else "", data)
    for name, trouble in files.troubles.items():
        key += (name, trouble.status.value, trouble.reason)
    return key


def _landmarks(files: Files) -> Iterator[str]:
    """Yield the folders of the files and above them that decide what modules are called."""
    seen: set[str] = set()
    for name in files.contents:
        folder = os.path.dirname(os.path.abspath(name))
        while folder not in seen:
            seen.add(folder)
            marks = [mark for mark in (*MARKS, "__init__.py") if os.path.exists(os.path.join(folder, mark))]
            if marks:
                yield f"{os.path.relpath(folder)}: {marks}"
            folder = os.path.dirname(folder)


def _evidence(files: Files) -> Iterator[str | bytes]:
    """Yield what the project says about its versions of Flax and JAX outside of the files read."""
    yield repr(active(()))
    folders = {os.path.dirname(os.path.abspath(files.paths[name])) for name in files.marked if name in files.paths}
    for place in sorted({place for folder in folders for place in climb(folder)}):
        if os.path.isdir(os.path.join(place, ".venv")):
            yield repr(active((place,)))
        for path in holders(place):
            if path.is_file():  # what it was asked about may be done, and its file gone
                yield from (os.path.relpath(path), path.read_bytes())


def _lasting(outcome: Outcome) -> bool:
    """Say whether the same files would come to the same outcome again, and leave nothing to be written.

    Files made by fixes depend on what lies beside the files read, failures on the machine, so that neither is kept.
    """
    if outcome.written and (outcome.fixed or outcome.by_status[Status.CHANGED]):
        return False
    if any(file.created or file.internal for file in outcome.files):
        return False
    refused = any(one.safety is None and "not fixed: " in one.help for one in outcome.left)
    return not refused


def _bare(outcome: Outcome) -> Outcome:
    """Return an outcome without the old bytes of files, which the next run reads anyway."""
    return replace(outcome, files=[replace(file, before=b"") for file in outcome.files])


def _revived(outcome: Outcome, files: Files) -> Outcome:
    """Return the outcome that :func:`_bare` was given."""
    return replace(
        outcome,
        files=[
            replace(file, before=files.contents[file.path]) if file.status is Status.CHANGED else file
            for file in outcome.files
        ],
    )
