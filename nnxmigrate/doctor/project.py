"""Finds the files of a project that hold pins, and reads them."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from nnxmigrate.doctor import text_files, toml_files
from nnxmigrate.doctor.pins import PinError, PinSet, Reading
from nnxmigrate.files.discovery import EXCLUDED

_Reader = Callable[[Path], Iterator[PinSet]]
_READERS: tuple[tuple[str, _Reader], ...] = (
    ("pyproject.toml", toml_files.pyproject),
    ("uv.lock", toml_files.lock),
    ("poetry.lock", toml_files.lock),
    ("pdm.lock", toml_files.lock),
    ("pixi.toml", toml_files.pixi),
    ("pixi.lock", toml_files.pixi_lock),
    ("Pipfile", toml_files.pipfile),
    ("Pipfile.lock", toml_files.lock),
    ("*requirements*.txt", text_files.requirements),
    ("*requirements*.in", text_files.requirements),
    ("*constraints*.txt", text_files.requirements),
    ("requirements/*.txt", text_files.requirements),
    ("requirements/*.in", text_files.requirements),
    ("*environment*.yml", text_files.conda),
    ("*environment*.yaml", text_files.conda),
    ("conda*.yml", text_files.conda),
    ("conda*.yaml", text_files.conda),
    ("setup.cfg", text_files.setup_cfg),
    ("setup.py", text_files.setup_py),
    ("*.ipynb", text_files.notebook),
)


def reader(path: Path) -> _Reader | None:
    """Return the function that reads the pins of a file, chosen by its name; None if it holds none."""
    for pattern, function in _READERS:
        name = f"{path.parent.name}/{path.name}" if "/" in pattern else path.name
        if fnmatch.fnmatchcase(name, pattern):
            return function
    return None


def files(root: Path) -> Iterator[Path]:
    """Yield the files below a folder that may hold pins, the nearest first; virtual environments are left out."""
    for folder, names, found in os.walk(root):
        names[:] = sorted(
            name
            for name in names
            if name not in EXCLUDED and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        for name in sorted(found):
            path = Path(folder, name)
            if reader(path) is not None and path.is_file():
                yield path


def _own(folder: str, names: list[str]) -> list[str]:
    """Return the folders that are the user's own."""
    own = [name for name in names if name not in EXCLUDED]
    return sorted(name for name in own if not os.path.exists(os.path.join(folder, name, "pyvenv.cfg")))


def read(path: Path) -> Reading:
    """Return the pins of a project or of one file.

    Sets without Flax are left out, since there is nothing to judge. A file that cannot be read becomes an error,
    and the others are read.
    """
    reading = Reading()
    for file in [path] if path.is_file() else files(path):
        function = reader(file)
        if function is None:
            reading.errors.append((str(file), "its name is of no known kind of file with pins"))
            continue
        try:
            sets = list(function(file))
        except (PinError, OSError) as error:
            reading.errors.append((str(file), str(error)))
        else:
            reading.sets += [pins for pins in sets if pins.names("flax")]
    return reading


def uses(path: Path, pattern: str) -> str | None:
    """Return the first Python file or notebook below ``path`` in which a regular expression is found."""
    sought = re.compile(pattern)
    for folder, names, found in os.walk(path if path.is_dir() else path.parent):
        names[:] = _own(folder, names)
        for name in sorted(found):
            file = os.path.join(folder, name)
            if name.endswith((".py", ".ipynb")) and os.path.isfile(file):
                with open(file, encoding="utf-8", errors="replace") as lines:
                    if any(sought.search(line) for line in lines):
                        return file
    return None
