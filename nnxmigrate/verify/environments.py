"""Environments with a project's own packages, in which only Flax and what must move with it is exchanged."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from nnxmigrate.doctor.compat import TARGETS, Outcome, jax_required, outcome
from nnxmigrate.doctor.judge import family, resolve
from nnxmigrate.doctor.pins import PinSet
from nnxmigrate.doctor.project import reader

#: What moves with Flax; everything else stays as the project pins it.
MOVING = frozenset({"flax", "jax", "jaxlib", "orbax-checkpoint", "optax"})
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
    """

    flax: str
    jax: str
    others: tuple[str, ...]

    @property
    def requirements(self) -> list[str]:
        """Everything that is installed."""
        return [f"flax=={self.flax}", f"jax=={self.jax}", f"jaxlib=={self.jax}", *self.others]

    def __str__(self) -> str:
        return f"flax {self.flax}, jax {self.jax}"


def usual_python() -> str:
    """Return the version of the running interpreter, which is there, if Flax runs on it; else one that Flax runs on."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return running if running in _PYTHONS else _PYTHONS[0]


def recipes(sets: Sequence[PinSet], others: Sequence[str], origin: str, target: str) -> tuple[Recipe, Recipe]:
    """Return what the environments of the old and of the new code hold.

    JAX stays the same where one release runs both, so that numbers can be compared.

    Args:
        sets: the project's pins and locks that name Flax.
        others: its other requirements.
        origin: the Flax that the old code was written for.
        target: the Flax that the new code shall run on.
    """
    flax, jax = USUAL[origin]
    for pins in sorted(sets, key=lambda pins: pins.kind != "lock"):
        releases = resolve(pins)
        if "flax" in releases and family(releases["flax"]) == origin:
            flax = str(releases["flax"])
            found = releases.get("jax")
            jax = str(found) if found and outcome(releases["flax"], found) is Outcome.OK else _jax_for(flax, target)
            break
    new_flax = TARGETS[target].exact["flax"] if target in TARGETS else USUAL[target][0]
    same = outcome(Version(new_flax), Version(jax)) is Outcome.OK and Version(jax) in jax_required(Version(new_flax))
    new_jax = jax if same else USUAL[target][1]
    return Recipe(flax, jax, tuple(others)), Recipe(new_flax, new_jax, tuple(others))


def _jax_for(flax: str, target: str) -> str:
    """Return a JAX that runs a Flax, if possible one that runs the target, too."""
    for candidate in (USUAL[target][1], "0.7.2", "0.6.2", "0.8.1", "0.10.2"):
        if outcome(Version(flax), Version(candidate)) is Outcome.OK:
            return candidate
    return USUAL["0.10"][1]


def requirements(project: Path) -> list[str]:
    """Return what a project requires besides Flax and what moves with it, as its files have it."""
    found: list[str] = []
    for name in ("pyproject.toml", "requirements.txt", "setup.cfg"):
        path = project / name
        if path.is_file():
            found += _listed(path)
        if found:
            break
    kept = []
    for line in dict.fromkeys(found):
        match = _NAME.match(line)
        if match and re.sub(r"[-_.]+", "-", match["name"]).lower() not in MOVING:
            kept.append(line)
    return kept


def _listed(path: Path) -> list[str]:
    if path.name == "requirements.txt":
        lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line and not line.startswith("-")]
    if path.name == "setup.cfg":
        import configparser

        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(path.read_text(encoding="utf-8"))
        text = parser.get("options", "install_requires", fallback="")
        return [line.strip() for line in text.splitlines() if line.strip()]
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    table = tomllib.loads(path.read_text(encoding="utf-8"))
    listed = table.get("project", {}).get("dependencies", [])
    return [item for item in listed if isinstance(item, str)]


def pins_of(project: Path) -> list[PinSet]:
    """Return the sets of pins at the top of a project that name Flax."""
    sets = []
    for path in sorted(project.iterdir()):
        function = reader(path) if path.is_file() and path.suffix != ".ipynb" else None
        if function is not None:
            try:
                sets += [pins for pins in function(path) if pins.names("flax")]
            except (OSError, ValueError):
                continue
    return sets


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
    wanted = [*recipe.requirements, *extra]
    digest = hashlib.sha256("\n".join((python, *wanted)).encode()).hexdigest()[:12]
    home = _base() / f"flax-{recipe.flax}-{digest}"
    exe = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = home / ".ready"
    if ready.exists():
        return exe
    uv = _uv()
    _run([*uv, "venv", "--quiet", "--clear", "--python", python, str(home)], limit)
    _run([*uv, "pip", "install", "--quiet", "--python", str(exe), *wanted], limit)
    ready.touch()
    return exe


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
