"""What the pins and locks around a folder say about Flax."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codemods.nnx.options import VERSIONS
from nnxmigrate.files.discovery import display
from nnxmigrate.files.roots import project_root

if TYPE_CHECKING:  # dear, and not needed where no file names Flax
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from nnxmigrate.doctor.pins import PinSet

#: Which file says most about what the code is for, the first the most.
ORDER = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "Pipfile", "environment.yml", "pixi.toml")
_SUFFIXES = (".toml", ".lock", ".txt", ".in", ".yml", ".yaml", ".cfg", ".py", "Pipfile")


class Statement(NamedTuple):
    """What a file says about Flax.

    Attributes:
        allowed: the families that it allows, ascending; releases before 0.10 count as 0.10.
        why: the statement in words, such as ``flax==0.10.7 in requirements.txt``.
    """

    allowed: tuple[str, ...]
    why: str


@cache
def pinned(folder: str) -> Statement | None:
    """Return what the nearest pins at or above an absolute folder say; None if none says anything.

    Several files in one folder hold together, as long as they do not exclude each other.
    """
    for place in climb(folder):
        statements = [said for said in map(_statement, _sets(place, "pins")) if said is not None]
        if statements:
            return _together(statements)
    return None


@cache
def locked(folder: str) -> Statement | None:
    """Return what the nearest lock file at or above an absolute folder holds; None if there is none."""
    for place in climb(folder):
        for pins in _sets(place, "lock"):
            exact = pins.exact("flax")
            if exact is not None:
                return Statement((known(exact),), f"flax {exact} in {display(pins.path)}")
    return None


@cache
def of_notebook(path: str) -> Statement | None:
    """Return what the `pip install` lines of a notebook say."""
    return next((said for pins in _read(Path(path)) if (said := _statement(pins)) is not None), None)


def forget() -> None:
    """Forget what files said, after they were changed."""
    for remembering in (pinned, locked, of_notebook, holders, _sets, read_sets):
        remembering.cache_clear()


def climb(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the top of its repository or, without one, of its project."""
    above = [folder]
    while not os.path.exists(os.path.join(above[-1], ".git")):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            break
        above.append(parent)
    else:
        yield from above
        return
    top = project_root(folder)
    yield from above[: above.index(top) + 1] if top in above else above[:1]


@cache
def holders(folder: str) -> Sequence[Path]:
    """Return the files of one folder that name Flax or JAX and may hold pins."""
    try:
        names = os.listdir(folder)
        inside = os.listdir(os.path.join(folder, "requirements")) if "requirements" in names else []
    except OSError:
        return ()
    files = [Path(folder, name) for name in names] + [Path(folder, "requirements", name) for name in sorted(inside)]
    return sorted(path for path in files if path.name.endswith(_SUFFIXES) and _may_hold_pins(path))


@cache
def _sets(folder: str, kind: str) -> Sequence[PinSet]:
    """Return the sets of pins, or of locked releases, that files of one folder hold and that name Flax."""
    files = holders(folder)
    if not files:
        return ()
    from nnxmigrate.doctor.project import reader

    found = [path for path in files if reader(path) is not None]
    found.sort(key=lambda path: (ORDER.index(path.name) if path.name in ORDER else len(ORDER), str(path)))
    return [pins for path in found for pins in _read(path) if pins.kind == kind]


def _may_hold_pins(path: Path) -> bool:
    if path.suffix == ".py" and path.name != "setup.py":
        return False
    try:
        text = path.read_bytes().lower()
    except OSError:
        return False
    return b"flax" in text or b"jax" in text


def _read(path: Path) -> list[PinSet]:
    return [pins for pins in read_sets(path, ("flax",)) if pins.names("flax")]


@cache
def read_sets(path: Path, packages: tuple[str, ...]) -> Sequence[PinSet]:
    """Return what a file asks for, or holds of some packages if it is a lock; nothing if it cannot be read."""
    from nnxmigrate.doctor.pins import PinError
    from nnxmigrate.doctor.project import reader
    from nnxmigrate.doctor.toml_files import lock

    function = reader(path)
    try:
        found = lock(path, packages) if function is lock else function(path) if function else ()
        return list(found)
    except (PinError, OSError):  # what is wrong with it, `doctor` says
        return []


def _statement(pins: PinSet) -> Statement | None:
    """Return what a set says; None if it allows everything."""
    from packaging.version import Version

    wanted = pins.specifier("flax")
    allowed = _allowed(wanted)
    if not str(wanted) or not allowed or Version("0.4.99") in wanted:
        return None
    return Statement(allowed, f"flax{wanted} in {display(pins.path)}")


def _allowed(wanted: SpecifierSet) -> tuple[str, ...]:
    from packaging.version import Version

    from nnxmigrate.doctor.compat import FLAX_RELEASES
    from nnxmigrate.doctor.judge import family

    older = (Version(f"0.{minor}.{patch}") for minor in range(4, 10) for patch in range(10))
    found = {family(release) for release in FLAX_RELEASES if wanted.contains(release, prereleases=True)}
    if not found and any(wanted.contains(release) for release in older):
        return VERSIONS[:1]
    if not found and wanted.contains(Version("0.99"), prereleases=True):
        return VERSIONS[-1:]
    return tuple(version for version in VERSIONS if version in found) or _exactly(wanted)


def _exactly(wanted: SpecifierSet) -> tuple[str, ...]:
    """Return the family of a release that is not among the known ones, as of a later patch."""
    from packaging.version import Version

    exact = [Version(part.version) for part in wanted if part.operator == "==" and not part.version.endswith("*")]
    return (known(exact[0]),) if exact else ()


def known(release: Version) -> str:
    """Return the family of a release, or the nearest one that is known."""
    name = f"{release.major}.{release.minor}"
    if name in VERSIONS:
        return name
    return VERSIONS[0] if (release.major, release.minor) < (0, 10) else VERSIONS[-1]


def _together(statements: Sequence[Statement]) -> Statement:
    """Return what several files say together; a file that contradicts an earlier one does not count."""
    allowed: Collection[str] = statements[0].allowed
    reasons = [statements[0].why]
    for said in statements[1:]:
        both = [version for version in allowed if version in said.allowed]
        if both and len(both) < len(allowed):
            allowed, reasons = both, [*reasons, said.why]
    return Statement(tuple(allowed), reasons[-1])
