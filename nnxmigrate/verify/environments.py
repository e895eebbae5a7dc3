"""Environments with a project's own packages, in which only Flax and what must move with it is exchanged."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from nnxmigrate.doctor.compat import FLAX_RELEASES, Outcome, jax_required, outcome
from nnxmigrate.doctor.judge import family, resolve
from nnxmigrate.doctor.pins import PinSet, ranged
from nnxmigrate.doctor.project import reader

#: What is set for each side; everything else stays as the project pins it, if it can.
MOVING = frozenset({"flax", "jax", "jaxlib"})
#: Releases to take where a project pins none.
USUAL = {"0.10": ("0.10.7", "0.7.2"), "0.11": ("0.11.2", "0.7.2"), "0.12": ("0.12.8", "0.10.2")}
_PYTHONS = ("3.11", "3.12", "3.13")  # that run every release of Flax from 0.10.7 on

_NAME = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)")


class NoEnvironment(Exception):
    """An environment cannot be made; the message says why."""


@dataclass(frozen=True)
class Recipe:
    """What an environment holds.

    Attributes:
        flax: the release of Flax.
        jax: the release of JAX.
        others: the project's other requirements.
        options: options of the installer: where packages come from.
        constraints: what bounds packages without asking for them.
        moved: requirements of the project that give way, as they stand.
    """

    flax: str
    jax: str
    others: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def requirements(self) -> list[str]:
        """Everything that is installed."""
        return [f"flax=={self.flax}", f"jax=={self.jax}", f"jaxlib=={self.jax}", *self.others]

    def __str__(self) -> str:
        return f"flax {self.flax}, jax {self.jax}"


def python_for(folder: Path, top: Path) -> str:
    """Return the version of the interpreter for a project.

    It is the running one, which is there, if Flax runs on it and the project takes it; else one that both take.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    allowed = SpecifierSet()
    for pins in pins_of(folder, top):
        allowed &= pins.specifier("python")
    good = [one for one in _PYTHONS if any(allowed.contains(f"{one}.{patch}") for patch in range(40))]
    return running if running in good or (not good and running in _PYTHONS) else (good or _PYTHONS)[0]


def recipe(
    pins: Sequence[PinSet], version: str, beside: str | None = None, *, exact: str | None = None, oldest: bool = False
) -> Recipe:
    """Return which Flax and which JAX an environment holds.

    Args:
        pins: the sets of pins and locks of one side that name Flax.
        version: the Flax that its code is for.
        beside: the JAX of the other side, which is kept if it runs both, so that numbers can be compared.
        exact: the release that the user names.
        oldest: whether the oldest release that the pins allow is taken, not the newest.
    """
    if exact:
        flax = Version(exact)
        return Recipe(exact, beside if beside and _runs(flax, beside) else _jax_for(flax))
    for one in sorted(pins, key=lambda one: one.kind != "lock"):
        releases = [release for release in _allowed(one) if family(release) == version]
        if not releases:
            continue
        flax = releases[-1 if oldest else 0]
        found = resolve(replace(one, pins=(*one.pins, *filter(None, [ranged("flax", f"=={flax}", one.path)])))).get(
            "jax"
        )
        if found is not None and outcome(flax, found) is Outcome.OK:
            kept = beside if beside and one.exact("jax") is None and _runs(flax, beside, one) else str(found)
            return Recipe(str(flax), kept)
        return Recipe(str(flax), beside if beside and _runs(flax, beside) else _jax_for(flax))
    usual, jax = USUAL[version]
    return Recipe(usual, beside if beside and _runs(Version(usual), beside) else jax)


def _allowed(pins: PinSet) -> list[Version]:
    """Return the releases of Flax that a set allows, the newest first."""
    exact = pins.exact("flax")
    if exact is not None:
        return [exact]
    return [one for one in reversed(FLAX_RELEASES) if pins.specifier("flax").contains(one, prereleases=True)]


def _runs(flax: Version, jax: str, pins: PinSet | None = None) -> bool:
    if pins is not None and not (pins.specifier("jax") & pins.specifier("jaxlib")).contains(jax):
        return False
    return outcome(flax, Version(jax)) is Outcome.OK and Version(jax) in jax_required(flax)


def _jax_for(flax: Version) -> str:
    """Return a JAX that runs a Flax."""
    for candidate in ("0.7.2", "0.6.2", "0.8.1", "0.9.0", "0.10.2"):
        if _runs(flax, candidate):
            return candidate
    return USUAL["0.10"][1]


def others(lines: Iterable[str]) -> tuple[str, ...]:
    """Return requirements without those of Flax and JAX, which are set for each side."""
    return tuple(line for line in dict.fromkeys(lines) if not _moves(line))


def _moves(line: str) -> bool:
    match = _NAME.match(line)
    return match is None or canonicalize_name(match["name"]) in MOVING


def pins_of(folder: Path, top: Path) -> list[PinSet]:
    """Return the nearest sets of pins, at or above a folder of a project, that name Flax."""
    folder, top = folder.resolve(), top.resolve()
    for place in [folder, *(above for above in folder.parents if folder != top and above.is_relative_to(top))]:
        sets = []
        for path in sorted(place.iterdir()):
            function = reader(path) if path.is_file() and path.suffix != ".ipynb" else None
            if function is not None:
                try:
                    sets += [pins for pins in function(path) if pins.names("flax")]
                except (OSError, ValueError):
                    continue
        if sets:
            return sets
    return []


def settled(one: Recipe, extra: Sequence[str], python: str, limit: float) -> Recipe:
    """Return a recipe that can be installed: requirements that do not go with its Flax and JAX give way.

    Args:
        one: what is wanted.
        extra: more requirements, which the user named and which stay.
        python: version of the interpreter.
        limit: seconds after which it is given up.

    Raises:
        NoEnvironment: if it cannot be installed even so.
    """
    if (_home(one, extra, python) / ".ready").exists():
        return one
    first = _refusal(one, extra, python, limit)
    if not first:
        return one
    loose = {line: _loosened(line) for line in one.others}
    free = replace(one, others=tuple(loose.values()), constraints=())
    if _refusal(free, extra, python, limit):
        raise NoEnvironment(first)
    moved: list[str] = []
    kept: list[str] = []
    for line in one.others:  # what can stay as it is does, one after the other
        rest = [loose[later] for later in one.others[len(kept) + 1 :]]
        trial = replace(free, others=(*kept, line, *rest))
        stays = line == loose[line] or not _refusal(trial, extra, python, limit)
        kept.append(line if stays else loose[line])
        moved += [] if stays else [line]
    return replace(free, others=tuple(kept), moved=tuple(moved))


def _loosened(line: str) -> str:
    """Return a requirement that allows every release."""
    try:
        wanted = Requirement(line)
    except InvalidRequirement:
        return line
    if wanted.url:
        return line
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    return f"{wanted.name}{extras}" + (f"; {wanted.marker}" if wanted.marker else "")


def _refusal(one: Recipe, extra: Sequence[str], python: str, limit: float) -> str:
    """Return why an installer refuses a recipe; empty if it does not."""
    command = [*_uv(), "pip", "compile", "--quiet", "--no-header", "--python-version", python, *one.options]
    with tempfile.TemporaryDirectory() as folder:
        asked, bounds = Path(folder, "asked.in"), Path(folder, "bounds.txt")
        asked.write_text("\n".join([*one.requirements, *extra]) + "\n", encoding="utf-8")
        bounds.write_text("\n".join(one.constraints) + "\n", encoding="utf-8")
        try:
            _run([*command, "--constraint", str(bounds), str(asked)], limit)
        except NoEnvironment as error:
            return str(error) or "it cannot be installed"
    return ""


def make(recipe: Recipe, extra: Sequence[str], python: str, limit: float) -> Path:
    """Return the interpreter of an environment, which is made with uv if it is not there yet.

    Args:
        recipe: what it holds.
        extra: more requirements.
        python: version of the interpreter.
        limit: seconds after which making it is given up.

    Raises:
        NoEnvironment: if uv is missing, or the packages cannot be installed.
    """
    home = _home(recipe, extra, python)
    exe = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = home / ".ready"
    if ready.exists():
        return exe
    uv = _uv()
    _run([*uv, "venv", "--quiet", "--clear", "--python", python, str(home)], limit)
    bounds = home / "constraints.txt"
    bounds.write_text("\n".join(recipe.constraints) + "\n", encoding="utf-8")
    wanted = [*recipe.options, "--constraint", str(bounds), *recipe.requirements, *extra]
    _run([*uv, "pip", "install", "--quiet", "--python", str(exe), *wanted], limit)
    ready.touch()
    return exe


def _home(recipe: Recipe, extra: Sequence[str], python: str) -> Path:
    parts = (python, *recipe.requirements, *extra, *recipe.options, *recipe.constraints)
    return _base() / f"flax-{recipe.flax}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:12]}"


def _uv() -> list[str]:
    found = shutil.which("uv")
    if found:
        return [found]
    known = subprocess.run([sys.executable, "-m", "uv", "--version"], capture_output=True, check=False)
    if known.returncode:
        raise NoEnvironment("uv makes the environments: `pip install uv`, or give --old-python and --new-python")
    return [sys.executable, "-m", "uv"]


def _run(command: list[str], limit: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoEnvironment(f"installing took more than {limit:.0f} s (--install-timeout)") from error
    if done.returncode:
        raise NoEnvironment(done.stderr.strip() or f"{' '.join(command)} failed")


def _base() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    base = Path(os.environ.get("NNXMIGRATE_VERIFY_ENVS") or Path(cache) / "nnxmigrate" / "verify")
    base.mkdir(parents=True, exist_ok=True)
    return base
