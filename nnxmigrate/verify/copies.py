"""Copies of a project, in which its program may write what it likes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nnxmigrate.files.discovery import EXCLUDED

#: Folders that a program may need, although they never hold the user's own code.
_KEPT = frozenset({"build", "dist", "_build"})


class CopyFailed(Exception):
    """A project cannot be copied; the message says why."""


def copy(project: Path, destination: Path, revision: str | None, limit: int) -> None:
    """Copy a project, without environments, caches and what git keeps.

    Args:
        project: its folder.
        destination: where the copy goes; must not exist.
        revision: the commit to copy; None for the files as they are.
        limit: bytes beyond which nothing is copied.

    Raises:
        CopyFailed: if there is no such commit, or the project is larger than the limit.
    """
    if revision is not None:
        _checkout(project, destination, revision)
        return
    size = sum(_sizes(project))
    if size > limit:
        raise CopyFailed(
            f"{project} holds {size / 1e9:.1f} GB, and each side gets a copy; name the part that the program needs "
            f"with --project, or raise --copy-limit ({limit / 1e9:.1f} GB)"
        )
    try:
        shutil.copytree(project, destination, symlinks=True, ignore=_ignored)
    except (OSError, shutil.Error) as error:
        raise CopyFailed(f"{project} cannot be copied: {error}") from error
    _cut_links(project, destination)


def _ignored(folder: str, names: list[str]) -> set[str]:
    left_out = {name for name in names if name in EXCLUDED - _KEPT}
    return left_out | {name for name in names if os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))}


def _sizes(project: Path) -> Sequence[int]:
    sizes = []
    for folder, names, files in os.walk(project):
        skipped = _ignored(folder, names)
        names[:] = [name for name in names if name not in skipped]
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                sizes.append(os.path.getsize(path))
    return sizes


def _cut_links(project: Path, destination: Path) -> None:
    """Replace links that lead into the user's tree by copies: nothing of it may be written."""
    top = os.path.realpath(project)
    for folder, names, files in os.walk(destination):
        for name in [*names, *files]:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                continue
            real = os.path.realpath(path)
            if real != top and real.startswith(top + os.sep) and os.path.exists(real):
                os.unlink(path)
                if os.path.isdir(real):
                    shutil.copytree(real, path, symlinks=False, ignore=_ignored, ignore_dangling_symlinks=True)
                else:
                    shutil.copy2(real, path)


def _checkout(project: Path, destination: Path, revision: str) -> None:
    """Lay out the files of a commit, with those of the project's folder at the top."""
    destination.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "--format=tar", f"{revision}:./"], cwd=project, capture_output=True, check=False
    )
    if archive.returncode:
        reason = archive.stderr.decode("utf-8", "replace").strip()
        raise CopyFailed(f"git has no {revision} of {project}: {reason}")
    subprocess.run(["tar", "-x", "-f", "-", "-C", str(destination)], input=archive.stdout, check=True)
