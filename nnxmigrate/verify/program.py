"""Where the program that a command runs lies in its project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nnxmigrate.verify.running import is_pytest, python_words


def program(command: Sequence[str], folder: Path, top: Path) -> Path:
    """Return the file or folder that a command runs; the folder it is run in if it names none that is there.

    Args:
        command: as the user gave it.
        folder: the folder that it is run in.
        top: the folder of the project.
    """
    words = python_words(list(command))
    if is_pytest(command):
        named = (folder / word.partition("::")[0] for word in words[2:] if not word.startswith("-"))
    elif words[0] == "-m":
        parts = words[1].split(".") if len(words) > 1 else [""]
        bases = (folder, top, top / "src")
        named = (path for base in bases for path in (base.joinpath(*parts).with_suffix(".py"), base.joinpath(*parts)))
    else:
        named = (folder / words[0] for _ in range(1))
    return next((path for path in named if path.exists() and path.resolve().is_relative_to(top.resolve())), folder)
