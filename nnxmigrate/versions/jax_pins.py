"""How new a JAX the pins and locks around files allow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nnxmigrate.files.discovery import NOTEBOOK
from nnxmigrate.versions.pins import ORDER, climb, holders, read_sets

if TYPE_CHECKING:
    from nnxmigrate.doctor.pins import PinSet


def newest_jax(paths: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the newest release of JAX that is allowed for files.

    Args:
        paths: where each file is, by the name that it has in the analysis.

    Returns:
        Pairs of a notebook or a folder, as the names have it, and a release; empty for any release. One pair for the
        folder ``""`` says the same of all files; nothing means that nothing is bounded.
    """
    found: dict[str, str] = {}
    for name, path in paths.items():
        absolute = os.path.abspath(path)
        own = _of_notebook(absolute) if path.endswith(NOTEBOOK) and os.path.isfile(absolute) else None
        if own is not None:
            found[name] = own
        else:
            found[name.replace("\\", "/").rpartition("/")[0]] = _bound(os.path.dirname(absolute))
    if len(set(found.values())) > 1:
        return tuple(sorted(found.items()))
    return tuple(("", release) for release in {*found.values()} if release)


def forget() -> None:
    """Forget what files said, after they were changed."""
    for remembering in (_bound, _of_notebook):
        remembering.cache_clear()


@cache
def _bound(folder: str) -> str:
    """Return the newest release that the nearest pins at or above a folder allow; empty if they allow any."""
    for place in climb(folder):
        files = holders(place)
        if not files:
            continue
        said = {path: found for path in files if (found := _of_file(path))}
        pins = {path: sets for path, sets in said.items() if sets[0].kind == "pins"}
        main = {path: sets for path, sets in pins.items() if path.name in ORDER}
        bounds = [max(map(_newest, sets), key=_open_last) for sets in (main or pins).values()]
        bounds += [_newest(one) for sets in said.values() for one in sets if one.kind == "lock"]
        if said:
            return min(bounds, key=_open_last)
    return ""


@cache
def _of_notebook(path: str) -> str | None:
    """Return what the `pip install` lines of a notebook allow; None if they do not name JAX."""
    sets = _of_file(Path(path))
    return _newest(sets[0]) if sets else None


def _of_file(path: Path) -> Sequence[PinSet]:
    """Return the sets of a file that name JAX."""
    return [pins for pins in read_sets(path, ("jax", "jaxlib")) if pins.names("jax") or pins.names("jaxlib")]


def _open_last(release: str) -> tuple[bool, tuple[int, ...]]:
    return not release, tuple(map(int, release.split("."))) if release else ()


def _newest(pins: PinSet) -> str:
    """Return the newest release that a set of pins allows; empty if it allows any, or nothing is known of it."""
    exact = pins.exact("jax")
    if exact is not None:
        return _text(exact.release)
    own = _allowed(str(pins.specifier("jax")))
    beside = pins.exact("jaxlib")
    library = _text(beside.release) if beside is not None else _allowed(str(pins.specifier("jaxlib")))
    # a jaxlib serves later releases of JAX too, but none of the next family
    if library:
        family = int(library.split(".")[1])
        library = "0.3.0" if family < 3 else f"0.{family}.99"
    return min((one for one in (own, library) if one), key=_open_last, default="")


@cache  # the folders of a project mostly say the same
def _allowed(specifier: str) -> str:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    wanted = SpecifierSet(specifier)
    if not specifier or Version("0.99") in wanted or Version("1.0") in wanted:
        return ""
    every: Iterable[str] = (f"0.{minor}.{patch}" for minor in range(20, -1, -1) for patch in range(99, -1, -1))
    return next((release for release in every if Version(release) in wanted), "")


def _text(release: Sequence[int]) -> str:
    return ".".join(map(str, release[:3]))
