"""The Flax of the environment that a project is worked on in; nothing of it is imported or run."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable

from nnxmigrate.files.discovery import display
from nnxmigrate.versions.pins import Statement, known

_INFO = re.compile(r"flax-(?P<version>\d[^-]*)\.dist-info")


def active(folders: Iterable[str]) -> Statement | None:
    """Return the release of Flax that is installed.

    Args:
        folders: where a ``.venv`` may be, the nearest first.

    Returns:
        None if there is no environment, or no Flax in it.
    """
    homes = [os.environ.get("VIRTUAL_ENV", ""), *(os.path.join(folder, ".venv") for folder in folders)]
    homes.append(os.environ.get("CONDA_PREFIX", ""))
    for home in filter(None, homes):
        for pattern in ("lib/python*/site-packages", "Lib/site-packages"):
            for found in sorted(glob.glob(os.path.join(glob.escape(home), pattern, "flax-*.dist-info"))):
                match = _INFO.fullmatch(os.path.basename(found))
                if match:
                    from packaging.version import InvalidVersion, Version

                    try:
                        release = Version(match["version"])
                    except InvalidVersion:
                        continue
                    return Statement((known(release),), f"flax {release} in {display(home)}")
    return None
