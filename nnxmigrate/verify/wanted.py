"""What a project asks an installer for: its requirements as its files have them."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from nnxmigrate.doctor.pins import PinError, specifier
from nnxmigrate.files.toml import parse

_INCLUDED = re.compile(r"(?:-r|--requirement)(?:\s+|=|(?=\S))(?P<path>\S+)")
_CONSTRAINED = re.compile(r"(?:-c|--constraint)(?:\s+|=|(?=\S))(?P<path>\S+)")
_INDEX = re.compile(r"(?P<option>-i|--index-url|--extra-index-url|-f|--find-links)(?:\s+|=)(?P<place>\S+)")
_LONG = {"-i": "--index-url", "-f": "--find-links"}


@dataclass
class Wanted:
    """What a project asks for.

    Attributes:
        lines: its requirements, each once.
        constraints: what bounds packages without asking for them.
        indexes: where its files say that packages come from, as options of an installer.
        extras: its extras and groups of dependencies, by name, as they stand.
        place: the folder that says so.
    """

    lines: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    extras: dict[str, list[str]] = field(default_factory=dict)
    place: Path | None = None


def wanted(folder: Path, top: Path, extras: Sequence[str] = ()) -> Wanted:
    """Return what the nearest files at or above a folder ask for.

    Args:
        folder: where the program is.
        top: the folder of the whole project; nothing above it counts.
        extras: extras and groups to take as well.

    Raises:
        KeyError: for an extra that is not declared.
    """
    for place in _climb(folder, top):
        found = Wanted(place=place)
        for reader in (_pyproject, _setup_cfg, _setup_py, _requirements_txt, _pipfile, _conda):
            try:
                reader(place, found)
            except (OSError, ValueError, configparser.Error, SyntaxError):  # `doctor` says what is wrong with it
                continue
            if found.lines:
                break
        if found.lines or found.extras:
            for name in extras:
                found.lines += _expanded(found, name)
            found.lines = list(dict.fromkeys(found.lines))
            return found
    if extras:
        raise KeyError(extras[0])
    return Wanted()


def _climb(folder: Path, top: Path) -> Iterator[Path]:
    folder, top = folder.resolve(), top.resolve()
    yield folder
    for above in folder.parents:
        if folder == top or not above.is_relative_to(top):
            return
        yield above


def _expanded(found: Wanted, name: str, within: tuple[str, ...] = ()) -> list[str]:
    """Return the requirements of an extra; one that names the project itself with extras stands for these."""
    known = {canonicalize_name(one): one for one in found.extras}
    lines: list[str] = []
    for line in found.extras[known[canonicalize_name(name)]]:
        own = re.fullmatch(r"@(?P<extras>.*)", line)
        if own is None:
            lines.append(line)
            continue
        for inner in own["extras"].split(","):
            if canonicalize_name(inner) in known and inner not in (*within, name):
                lines += _expanded(found, inner, (*within, name))
    return lines


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _own(items: Iterable[str], name: str) -> list[str]:
    """Return requirements, with those of the project itself as ``@extra,...``."""
    result = []
    for item in items:
        try:
            one = Requirement(item)
        except InvalidRequirement:
            continue
        itself = bool(name) and canonicalize_name(one.name) == canonicalize_name(name)
        result.append("@" + ",".join(sorted(one.extras)) if itself else item)
    return result


def _pyproject(folder: Path, found: Wanted) -> None:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return
    document = parse(path.read_text(encoding="utf-8-sig"))
    project = _table(document.get("project"))
    tools = _table(document.get("tool"))
    poetry = _table(tools.get("poetry"))
    name = str(project.get("name", ""))
    found.lines += [line for line in _own(_strings(project.get("dependencies")), name) if line[0] != "@"]
    found.lines += _tabled(poetry.get("dependencies"))
    found.constraints += _strings(_table(tools.get("uv")).get("constraint-dependencies"))
    for extra, items in _table(project.get("optional-dependencies")).items():
        found.extras.setdefault(extra, []).extend(_own(_strings(items), name))
    for group, items in _table(document.get("dependency-groups")).items():
        included = [one["include-group"] for one in items if isinstance(one, dict) and "include-group" in one]
        found.extras.setdefault(group, []).extend([*_own(_strings(items), name), *(f"@{one}" for one in included)])
    for group, table in _table(poetry.get("group")).items():
        found.extras.setdefault(group, []).extend(_tabled(_table(table).get("dependencies")))
    found.extras.setdefault("dev", []).extend(_tabled(poetry.get("dev-dependencies")))
    found.extras["dev"] += _own(_strings(_table(tools.get("uv")).get("dev-dependencies")), name)
    dynamic = _table(_table(_table(tools.get("setuptools")).get("dynamic")).get("dependencies")).get("file")
    for one in [dynamic] if isinstance(dynamic, str) else _strings(dynamic):
        _file(folder / one, found, found.lines, ())
    pixi = _table(tools.get("pixi"))
    found.lines += _tabled(pixi.get("pypi-dependencies"))
    found.extras = {extra: items for extra, items in found.extras.items() if items}


def _tabled(table: object) -> list[str]:
    """Return the requirements of a table of packages, as Poetry, Pipenv and pixi have; only those of an index."""
    lines = []
    for name, value in _table(table).items():
        text = value if isinstance(value, str) else _table(value).get("version")
        if canonicalize_name(name) == "python" or not isinstance(text, str) or _table(value).get("optional"):
            continue
        extras = ",".join(_strings(_table(value).get("extras")))
        try:
            lines.append(f"{name}{f'[{extras}]' if extras else ''}{specifier(text)}")
        except PinError:
            continue
    return lines


def _setup_cfg(folder: Path, found: Wanted) -> None:
    path = folder / "setup.cfg"
    if not path.is_file():
        return
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(path.read_text(encoding="utf-8-sig"))
    name = parser.get("metadata", "name", fallback="")
    lines = parser.get("options", "install_requires", fallback="").splitlines()
    found.lines += [line for line in _own(lines, name) if line[0] != "@"]
    if parser.has_section("options.extras_require"):
        for extra, text in parser.items("options.extras_require"):
            found.extras.setdefault(extra, []).extend(_own(text.splitlines(), name))


def _setup_py(folder: Path, found: Wanted) -> None:
    """Take what stands as literal text in a call of `setup`."""
    path = folder / "setup.py"
    if not path.is_file():
        return
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.keyword) or node.arg not in ("install_requires", "extras_require"):
            continue
        try:
            value = ast.literal_eval(node.value)
        except ValueError:
            continue
        if node.arg == "install_requires":
            found.lines += _own(_strings(value), "")
        else:
            for extra, items in _table(value).items():
                found.extras.setdefault(str(extra), []).extend(_own(_strings(items), ""))


def _requirements_txt(folder: Path, found: Wanted) -> None:
    for path in (folder / "requirements.txt", folder / "requirements" / "base.txt", folder / "requirements.in"):
        if path.is_file() and not found.lines:
            _file(path, found, found.lines, ())


def _file(path: Path, found: Wanted, lines: list[str], within: tuple[Path, ...]) -> None:
    """Take the lines of a requirements file and of those that it includes."""
    if path.resolve() in within or not path.is_file():
        return
    text = path.read_text(encoding="utf-8-sig").replace("\\\r\n", "").replace("\\\n", "")
    for written in text.splitlines():
        line = re.split(r"\s+--(?:hash|config-settings)", re.sub(r"(^|\s)#.*", "", written))[0].strip()
        included, constrained, index = (form.match(line) for form in (_INCLUDED, _CONSTRAINED, _INDEX))
        if included:
            _file(path.parent / included["path"], found, lines, (*within, path.resolve()))
        elif constrained:
            _file(path.parent / constrained["path"], found, found.constraints, (*within, path.resolve()))
        elif index:
            found.indexes.append(f"{_LONG.get(index['option'], index['option'])}={index['place']}")
        elif line and line[0] not in "-.":
            try:
                Requirement(line)
            except InvalidRequirement:
                continue
            lines.append(line)


def _pipfile(folder: Path, found: Wanted) -> None:
    path = folder / "Pipfile"
    if path.is_file():
        document = parse(path.read_text(encoding="utf-8-sig"))
        found.lines += _tabled(document.get("packages"))
        found.extras.setdefault("dev-packages", []).extend(_tabled(document.get("dev-packages")))


def _conda(folder: Path, found: Wanted) -> None:
    """Take what a conda environment leaves to pip; conda's own packages may have other names on the index."""
    for path in sorted([*folder.glob("*environment*.yml"), *folder.glob("*environment*.yaml")]):
        match = re.search(
            r"(?ms)^(?P<lead>[ \t]*)-[ \t]+pip:[ \t]*\n(?P<items>.*)", path.read_text(encoding="utf-8-sig")
        )
        if match is None:
            continue
        for line in match["items"].splitlines():
            item = re.match(r"(?P<lead>[ \t]*)-[ \t]+[\"']?(?P<text>[^\"'#]+)", line)
            if item is None or len(item["lead"]) <= len(match["lead"]):
                break
            found.lines += _own([item["text"].strip()], "")
