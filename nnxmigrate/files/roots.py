"""Where a project begins."""

from __future__ import annotations

import os

#: What marks the folder of a project.
MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def project_root(folder: str) -> str | None:
    """Return the nearest folder, at or above an absolute one, that holds what marks a project; None if none does."""
    while not any(os.path.exists(os.path.join(folder, mark)) for mark in MARKS):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def common_folder(folders: set[str]) -> str | None:
    """Return the folder that holds all these absolute ones; None if there is none, as on several drives."""
    try:
        return os.path.commonpath(folders)
    except ValueError:
        return None
