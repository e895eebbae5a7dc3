"""Pins in requirements files, conda environments, setup.cfg, setup.py and notebooks."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from nnxmigrate.doctor.pins import Pin, PinError, PinSet, pin, ranged, specifier

_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)[\s=]*(?P<path>\S+)")
_ITEM = re.compile(r"\s*-\s+(?P<quote>[\"']?)(?P<text>[^\"'#]+?)(?P=quote)\s*(?:#.*)?$")
_INSTALL = re.compile(r"^\s*[!%]\s*(?:uv\s+)?(?:python\d?\s+-m\s+)?pip\d?\s+install\s+(?P<rest>.*)$")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PinError(str(error)) from error


def requirements(path: Path) -> Iterator[PinSet]:
    """Yield the pins of a requirements file together with those of the files it includes.

    Raises:
        PinError: if a range cannot be understood or an included file is missing.
    """
    yield PinSet(str(path), str(path), tuple(_lines(path, ())))


def _lines(path: Path, within: tuple[Path, ...]) -> Iterator[Pin]:
    for line in _text(path).replace("\\\n", " ").splitlines():
        content = re.sub(r"(^|\s)#.*", "", line).strip()
        included = _INCLUDE.match(content)
        if included:
            other = path.parent / included["path"]
            if other in (*within, path) or "://" in included["path"]:
                continue
            if not other.is_file():
                raise PinError(f"includes {included['path']}, which does not exist")
            yield from _lines(other, (*within, path))
        elif content and not content.startswith("-"):
            found = pin(re.split(r"\s+--", content)[0], str(path))
            if found is not None:
                yield found


def conda(path: Path) -> Iterator[PinSet]:
    """Yield the pins of an environment.yml, those under ``pip:`` too.

    Raises:
        PinError: if a range cannot be understood.
    """
    found = []
    for line in _text(path).splitlines():
        match = _ITEM.match(line)
        if match is None:
            continue
        text = match["text"].split("::")[-1].strip()
        python = re.match(r"python\s*(?P<spec>[=<>!~].*)$", text)
        if python:
            found.append(Pin("python", specifier(python["spec"]), str(path), python["spec"], text))
            continue
        spaced = re.match(r"(?P<name>[\w.-]+)\s+(?P<version>\d[\w.*]*)", text)  # conda's `flax 0.10.7`
        one = ranged(spaced["name"], spaced["version"], str(path)) if spaced else pin(text, str(path))
        if one is not None:
            found.append(one)
    yield PinSet(str(path), str(path), tuple(found))


def setup_cfg(path: Path) -> Iterator[PinSet]:
    """Yield ``install_requires`` of a setup.cfg, and each extra with it.

    Raises:
        PinError: if the file or a range in it cannot be understood.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_text(path))
    except configparser.Error as error:
        raise PinError(str(error)) from error
    place = str(path)

    def pins(text: str) -> tuple[Pin, ...]:
        return tuple(one for line in text.splitlines() if (one := pin(line, place)) is not None)

    base = pins(parser.get("options", "install_requires", fallback=""))
    python = parser.get("options", "python_requires", fallback="")
    if python:
        base += (Pin("python", specifier(python), place, python, f"python {python}"),)
    yield PinSet(place, place, base)
    if parser.has_section("options.extras_require"):
        for name, text in parser.items("options.extras_require"):
            extra = pins(text)
            if extra:
                yield PinSet(f"{place}, extra {name}", place, base + extra)


def setup_py(path: Path) -> Iterator[PinSet]:
    """Yield the requirements that stand as literal text in lists of a setup.py.

    Raises:
        PinError: if the file is no Python or a range in it cannot be understood.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        raise PinError(str(error)) from error
    found: list[Pin] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            texts = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            found += [one for text in texts if (one := pin(text, str(path))) is not None]
        elif isinstance(node, ast.keyword) and node.arg == "python_requires" and isinstance(node.value, ast.Constant):
            text = str(node.value.value)
            found.append(Pin("python", specifier(text), str(path), text, f"python {text}"))
    yield PinSet(str(path), str(path), tuple(found))


def notebook(path: Path) -> Iterator[PinSet]:
    """Yield what ``!pip install`` and ``%pip install`` lines of a notebook ask for.

    Raises:
        PinError: if the file is no notebook or a range in it cannot be understood.
    """
    try:
        document = json.loads(path.read_bytes())
        cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        lines = [line for cell in cells for line in "".join(cell["source"]).splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise PinError(f"it is no notebook ({error})") from error
    found = []
    for line in lines:
        match = _INSTALL.match(line)
        if match is None:
            continue
        try:
            words = shlex.split(match["rest"], comments=True)
        except ValueError:  # a quotation that goes on in the shell, not here
            words = match["rest"].split()
        found += [one for word in words if not word.startswith("-") and (one := pin(word, str(path))) is not None]
    yield PinSet(str(path), str(path), tuple(found))
