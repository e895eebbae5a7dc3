"""What git knows about the files that a run rewrites."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence

import click

from nnxmigrate.files.atomic import Disk
from nnxmigrate.files.discovery import display

_SECONDS = 30
_FEW = 5


def git(folder: str, *arguments: str) -> str | None:
    """Return what git prints in a folder; None if there is no git, no repository, or git fails."""
    try:
        done = subprocess.run(
            ["git", "-c", "core.quotepath=off", *arguments],
            cwd=folder or os.curdir,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")


def unrecoverable(paths: Sequence[str]) -> dict[str, str] | None:
    """Return the files that `git checkout` could not bring back, with the reason; None if git knows none of them.

    What is staged counts as recoverable, since it comes back from the index: hooks run on staged files.
    """
    by_top = _by_repository(paths)
    lost = dict.fromkeys(by_top.pop("", ()), "is in no git repository")
    for top, inside in by_top.items():
        # without paths: thousands of them would not fit on a command line
        status = git(top, "status", "--porcelain", "-z", "--no-renames", "--ignored", "--untracked-files=all") or ""
        states = {entry[3:]: entry[:2] for entry in status.split("\0") if entry}
        for path in inside:
            name = os.path.relpath(os.path.realpath(path), os.path.realpath(top)).replace(os.sep, "/")
            state = states.get(name) or next(
                (states[folder] for folder in _above(name) if states.get(folder) in ("??", "!!")), "  "
            )
            if state in ("??", "!!"):
                lost[path] = "is not in git"
            elif state[1] != " ":
                lost[path] = "has uncommitted changes"
    return lost if by_top else None


def _by_repository(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return files by the top of the repository that they are in; it is asked for once a folder. Empty for none."""
    tops: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for path in paths:
        folder = os.path.dirname(os.path.realpath(path))
        if folder not in tops:
            tops[folder] = _top(folder)
        found.setdefault(tops[folder], []).append(path)
    return found


def _top(folder: str) -> str:
    """Return the top of the repository that a folder is in; empty if it is in none."""
    return (git(folder, "rev-parse", "--show-toplevel") or "").rstrip("\n")


def _above(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: number + 1]) + "/" for number in range(len(parts))]


def _inner(paths: Sequence[str]) -> str | None:
    """Return the commands that bring back files of which some are in a repository inside that of the working directory.

    Returns:
        The commands; None if all are in the one around the working directory, or it is in none.
    """
    here, tops = _top(os.curdir), _by_repository(paths)
    if not here or tops.keys() <= {here}:
        return None
    commands = []
    for top, inside in tops.items():
        place = [] if top == here else ["-C", os.path.relpath(top)]
        names = [display(one) if top == here else os.path.relpath(os.path.realpath(one), top) for one in inside]
        commands.append(shlex.join(["git", *place, "checkout", "--", *names]))
    return " && ".join(commands)


class Guarded(Disk):
    """The files themselves, once it is known what git could bring back of those that change.

    Args:
        strict: whether nothing is written if git could not bring everything back.
    """

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._checked = False
        self._asked: dict[str, None] = {}
        self.written: list[str] = []
        self.lost: dict[str, str] | None = {}

    def refusal(self, path: str) -> str | None:
        """Take the path down as one that is to change."""
        self._asked[path] = None
        return super().refusal(path)

    def write(self, contents: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Write, unless that is refused.

        Raises:
            click.UsageError: if files would be lost and the user asked for a refusal.
        """
        if not self._checked:
            self._checked = True
            existing = [path for path in self._asked if os.path.exists(path)]
            self.lost = unrecoverable(existing)
            bad = dict.fromkeys(existing, "is in no git repository") if self.lost is None else self.lost
            if self._strict and bad:
                named = [f"{display(path)} {reason}" for path, reason in bad.items()]
                more = [f"and {len(named) - _FEW} more"] if len(named) > _FEW else []
                what = "; ".join(named[:_FEW] + more)
                raise click.UsageError(f"--require-clean: {what}. Commit first. Nothing was changed.")
        super().write(contents, read)
        self.written += [path for path in contents if read.get(path) is not None]

    def warning(self) -> str | None:
        """Return what the user should know about files that were overwritten."""
        lost = [path for path in self.written if self.lost and path in self.lost]
        if not lost:
            return None
        one = len(lost) == 1
        what = f"{display(lost[0])} {(self.lost or {})[lost[0]]}" if one else f"{len(lost)} files"
        if not one:
            what += f" had uncommitted changes or are not in git: {', '.join(map(display, lost[:_FEW]))}"
            what += ", …" if len(lost) > _FEW else ""
        return f"{what}; git cannot take back what was changed there. --require-clean refuses such runs."

    def undo(self) -> str | None:
        """Return the command that takes back what was written; None if git cannot, or nothing was written."""
        if self.lost is None:
            return None
        safe = [path for path in self.written if path not in self.lost]
        if not safe:
            return None
        inner = _inner(safe)
        if inner:
            return inner if len(safe) <= _FEW else None
        if len(safe) <= _FEW:
            return f"git checkout -- {shlex.join(map(display, safe))}"
        folder = os.path.commonpath([os.path.abspath(path) for path in safe])
        dirty = git(folder, "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames", "--", ".") or ""
        changed = {entry for entry in dirty.split("\0") if entry and entry[1] != " "}
        if len(changed) != len(safe):  # others have changes there that the command would take, too
            return None
        return f"git checkout -- {shlex.quote(os.path.relpath(folder))}"
