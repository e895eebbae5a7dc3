"""What is refused before anything is read or written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

#: Words that people try, and what they mean.
_MEANT = {"help": "nnxmigrate --help", "version": "nnxmigrate --version", "check": "nnxmigrate --check"}
_MEANT |= {"diff": "nnxmigrate --diff", "fix": "nnxmigrate lint --fix", "init": "nnxmigrate doctor"}

_MODES = ("check", "diff", "patch")
#: How files begin that earlier runs wrote, by the options that name them.
_WRITTEN = {"html": ("report", b"<!doctype html"), "patch": ("patch", b"--- ")}


def check_call(paths: Sequence[str], given: Mapping[str, Any]) -> None:
    """Refuse a call that cannot mean what it says, while nothing has been touched.

    Args:
        paths: the paths given.
        given: options of the command line by parameter name.

    Raises:
        click.UsageError: if a path is missing, options exclude each other or a file asked for has no place.
    """
    missing = [path for path in paths if path != "-" and not os.path.exists(path)]
    if missing:
        raise click.UsageError("\n".join([*map(_absent, missing), "Nothing was changed."]))
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` stands alone: code from stdin cannot be mixed with files")
    _alone([f"--{mode}" for mode in _MODES if given.get(mode)])
    _alone([f"--{mode}" for mode in ("quiet", "verbose") if given.get(mode)])
    if given.get("statistics") and given.get("output_format") not in (None, "text"):
        raise click.UsageError(f"--statistics is a form of the text, not of {given['output_format']}")
    if given.get("fix") and given.get("add_ignore"):
        raise click.UsageError("--fix and --add-ignore exclude each other: make the fixes, then silence what is left")
    for writing in ("add_ignore", "write_baseline"):
        if given.get("diff") and given.get(writing):
            raise click.UsageError(
                f"--diff and --{writing.replace('_', '-')} exclude each other: --diff writes nothing"
            )
    for option in _WRITTEN:
        target = given.get(option)
        reason = target and (why_no_file(target) or _not_ours(target, option))
        if reason:
            raise click.UsageError(f"{target} cannot be written: {reason}")


def _alone(modes: Iterable[str]) -> None:
    chosen = list(modes)
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other; name one")


def why_no_file(path: str) -> str | None:
    """Return why no file can be made at a path; None if one can."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {os.path.dirname(path) or folder}"
    if os.path.isdir(path):
        return "it is a folder"
    return None if os.access(path if os.path.exists(path) else folder, os.W_OK) else "the system does not allow it"


def _not_ours(path: str, option: str) -> str | None:
    """Return why a file is not overwritten: it is none that an earlier run wrote; None if it is one, or missing."""
    what, head = _WRITTEN[option]
    try:
        with open(path, "rb") as file:
            begin = file.read(len(head))
    except OSError:
        return None
    return None if not begin or begin == head else f"it is there already, and no {what}; name another file"


def _absent(path: str) -> str:
    """Say that a path is missing, and which command may have been meant."""
    import difflib

    from nnxmigrate.cli import COMMANDS

    if os.path.islink(path):
        return f"{path}: symbolic link that leads nowhere"
    if path in COMMANDS:
        return f"{path}: no such file or folder; a command comes first: `nnxmigrate {path} ...`"
    meant = _MEANT.get(path.lower())
    if meant is None and os.sep not in path and "." not in path:
        close = difflib.get_close_matches(path.lower(), COMMANDS, 1, 0.6)
        meant = f"nnxmigrate {close[0]}" if close else None
    return f"{path}: no such file or folder" + (f"; did you mean `{meant}`?" if meant else "")
