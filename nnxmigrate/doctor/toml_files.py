"""Pins in pyproject.toml, Pipfile and lock files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nnxmigrate.doctor.pins import Pin, PinError, PinSet, pin, ranged, specifier
from nnxmigrate.files.toml import parse

_LOCKS = {
    "uv.lock": "uv lock --upgrade-package flax --upgrade-package jax",
    "poetry.lock": "poetry update flax jax",
    "pdm.lock": "pdm update flax jax",
    "Pipfile.lock": "pipenv update flax jax",
}


def _load(path: Path, part: Callable[[str], str] = str) -> dict[str, Any]:
    try:
        return parse(part(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise PinError(str(error)) from error


def _packages(text: str, names: Collection[str] | None) -> str:
    """Return the tables of some packages; programs write one below the other, each with the name in a line."""
    if names is None:
        return text
    lines = [f'name = "{name}"' for name in names]
    tables = re.split(r"(?m)^(?=\[\[package\]\]\s*$)", text)
    return "".join(table for table in tables if any(line in table.splitlines()[:8] for line in lines))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _requirements(items: Iterable[str], path: str) -> tuple[Pin, ...]:
    return tuple(found for item in items if (found := pin(item, path)) is not None)


def _tabled(table: Mapping[str, Any], path: str) -> tuple[Pin, ...]:
    """Return the pins of a table of packages, as Poetry and Pipenv have."""
    found = []
    for name, value in table.items():
        for item in value if isinstance(value, list) else [value]:
            text = item if isinstance(item, str) else str(_table(item).get("version", "*"))
            one = ranged(name, text, path)
            if one is not None:
                found.append(one)
    return tuple(found)


def pyproject(path: Path) -> Iterator[PinSet]:
    """Yield the project's own dependencies, and each extra and group with them.

    Raises:
        PinError: if the file is no TOML or a range in it cannot be understood.
    """
    document = _load(path)
    project = _table(document.get("project"))
    poetry = _table(_table(document.get("tool")).get("poetry"))
    uv = _table(_table(document.get("tool")).get("uv"))
    place = str(path)
    base = (
        _requirements(_strings(project.get("dependencies")), place)
        + _tabled(_table(poetry.get("dependencies")), place)
        + _requirements(_strings(uv.get("constraint-dependencies")), place)
    )
    if isinstance(project.get("requires-python"), str):
        text = project["requires-python"]
        base += (Pin("python", specifier(text), place, text, f"python {text}"),)
    parts = {f"extra {name}": _requirements(_strings(items), place) for name, items in _optional(project)}
    groups = _table(document.get("dependency-groups"))
    parts |= {f"group {name}": _requirements(_group(groups, name, ()), place) for name in groups}
    parts |= {
        f"group {name}": _tabled(_table(_table(group).get("dependencies")), place)
        for name, group in _table(poetry.get("group")).items()
    }
    parts["uv dev-dependencies"] = _requirements(_strings(uv.get("dev-dependencies")), place)
    yield PinSet(place, place, base)
    for name, pins in parts.items():
        if pins:
            yield PinSet(f"{place}, {name}", place, base + pins)
    if "pixi" in _table(document.get("tool")):
        yield from _pixi(_table(_table(document["tool"])["pixi"]), place, base)


def pixi(path: Path) -> Iterator[PinSet]:
    """Yield the packages of a pixi.toml, and of each feature with them.

    Raises:
        PinError: see :func:`pyproject`.
    """
    yield from _pixi(_load(path), str(path), ())


def _pixi(document: Mapping[str, Any], place: str, base: tuple[Pin, ...]) -> Iterator[PinSet]:
    """Yield what a pixi workspace asks for: packages of conda and of PyPI, and those of its features."""

    def pins(table: Mapping[str, Any]) -> tuple[Pin, ...]:
        kinds = ("dependencies", "pypi-dependencies")
        return tuple(one for kind in kinds for one in _tabled(_table(table.get(kind)), place))

    own = base + pins(document)
    yield PinSet(place, place, own)
    for name, feature in _table(document.get("feature")).items():
        more = pins(_table(feature))
        if more:
            yield PinSet(f"{place}, feature {name}", place, own + more)


def _optional(project: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    return _table(project.get("optional-dependencies")).items()


def _group(groups: Mapping[str, Any], name: str, within: tuple[str, ...]) -> list[str]:
    """Return the requirements of a dependency group, those of included groups too."""
    result: list[str] = []
    for item in groups.get(name, []):
        included = _table(item).get("include-group")
        if isinstance(item, str):
            result.append(item)
        elif isinstance(included, str) and included not in (*within, name):
            result += _group(groups, included, (*within, name))
    return result


def pipfile(path: Path) -> Iterator[PinSet]:
    """Yield the packages of a Pipfile, and its development packages with them.

    Raises:
        PinError: see :func:`pyproject`.
    """
    document = _load(path)
    place = str(path)
    base = _tabled(_table(document.get("packages")), place)
    python = _table(document.get("requires")).get("python_version")
    if isinstance(python, str):
        base += (Pin("python", specifier(f"=={python}.*"), place, python, f"python {python}"),)
    yield PinSet(place, place, base)
    develop = _tabled(_table(document.get("dev-packages")), place)
    if develop:
        yield PinSet(f"{place}, dev-packages", place, base + develop)


def pixi_lock(path: Path) -> Iterator[PinSet]:
    """Yield what pixi.lock holds; it is YAML, in which every package stands as the address of its file.

    Raises:
        PinError: if it cannot be read.
    """
    place = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PinError(str(error)) from error
    found: dict[str, Pin] = {}
    for name, version in re.findall(r"(?m)^\s*-?\s*(?:conda|pypi): \S*/([A-Za-z][\w.-]*?)-(\d[\w.]*)-\S*$", text):
        one = ranged(name, f"=={version}", place)
        if one is not None:
            found.setdefault(one.package, one)
    yield PinSet(place, place, tuple(found.values()), "lock", "pixi update flax jax")


def lock(path: Path, names: Collection[str] | None = None) -> Iterator[PinSet]:
    """Yield what uv.lock, poetry.lock, pdm.lock or Pipfile.lock hold. Several releases of one package are several sets.

    Args:
        path: the file.
        names: packages that matter; only their tables are parsed, for these files are large. None for all.

    Raises:
        PinError: see :func:`pyproject`.
    """
    place = str(path)
    refresh = _LOCKS[path.name]
    releases: dict[str, list[str]] = {}
    if path.name == "Pipfile.lock":
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise PinError(str(error)) from error
        for section in ("default", "develop"):
            for name, item in _table(_table(document).get(section)).items():
                releases.setdefault(name, []).append(str(_table(item).get("version", "")).removeprefix("=="))
    else:
        for item in _load(path, lambda text: _packages(text, names)).get("package", []):
            releases.setdefault(str(item.get("name")), []).append(str(item.get("version", "")))
    forks = max((len(set(versions)) for name, versions in releases.items() if name == "flax"), default=1)
    for index in range(forks):
        pins = []
        for name, versions in releases.items():
            distinct = list(dict.fromkeys(versions))
            version = distinct[min(index, len(distinct) - 1)]
            one = ranged(name, f"=={version}", place) if version and name != "python" else None
            if one is not None:
                pins.append(one)
        name = place if forks == 1 else f"{place}, variant {index + 1}"
        yield PinSet(name, place, tuple(pins), "lock", refresh)
