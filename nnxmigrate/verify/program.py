"""Which program a command runs, and where it lies in its project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


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


def is_pytest(command: Sequence[str]) -> bool:
    """Say whether a command runs pytest."""
    words = [Path(word).name for word in command]
    return words[0] in ("pytest", "py.test") or (words[0].startswith("python") and words[1:3] == ["-m", "pytest"])


def python_words(words: list[str]) -> list[str]:
    """Return what the interpreter runs: a script, or `-m` and a module."""
    first = Path(words[0]).name
    if first in ("pytest", "py.test"):
        return ["-m", "pytest", *words[1:]]
    if first.startswith("python"):
        rest = words[1:]
        while rest and rest[0] in ("-u", "-B"):
            rest = rest[1:]
        return rest
    return words


def runnable(command: Sequence[str]) -> str | None:
    """Return why a command cannot be run here; None if it can."""
    words = python_words(list(command))
    if not words:
        return "name a script or `-m` and a module behind `python`"
    if words[0].startswith("-") and words[0] != "-m":
        return f"`python {words[0]}` cannot be run; name a script, or `-m` and a module"
    if words[0] == "-m" or words[0].endswith(".py"):
        return None
    return f"{command[0]} is no Python program; give `python script.py ...`, `python -m module ...` or `pytest ...`"
