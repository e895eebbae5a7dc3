"""Files that a project has put away, in which nobody mends mistakes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_FOLDERS = re.compile(
    r"_*((?i:outdated|deprecated|deprec|legacy|old(_\w+)?|archived?|obsolete|attic|trash)|[oO]ld[A-Z]\w*)_*"
)
_FILES = re.compile(r".*_(legacy|old|deprecated|obsolete|backup|bak)\.\w+", re.IGNORECASE)


def put_away(paths: Sequence[str]) -> frozenset[str]:
    """Return the files that are named as outdated, or whose folders are, below the folder that all files are in.

    Args:
        paths: the paths of all files that findings are wanted of.
    """
    plain = {path: path.replace("\\", "/") for path in paths}
    folders = {posixpath.dirname(path) for path in plain.values()}
    try:
        above = posixpath.commonpath(folders)
    except ValueError:  # absolute ones beside relative ones
        above = ""
    return frozenset(
        path
        for path, name in plain.items()
        if any(map(_FOLDERS.fullmatch, posixpath.dirname(name)[len(above) :].split("/")))
        or (len(paths) > 1 and _FILES.fullmatch(posixpath.basename(name)))
    )
