"""Rules that are ignored in some files: ``per-file-ignores`` of the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class PerFile:
    """Patterns of files, each with the codes that are ignored there.

    Args:
        patterns: codes or families by pattern, which has the form of ``.gitignore``.
        base: the folder that the patterns are relative to.
    """

    def __init__(self, patterns: Mapping[str, Sequence[str]], base: str) -> None:
        self._patterns = patterns
        self._base = os.path.abspath(base)

    def __repr__(self) -> str:
        return f"PerFile({dict(self._patterns)!r}, {os.path.relpath(self._base)!r})"

    def silences(self, path: str, code: str) -> bool:
        """Say whether a rule is ignored in a file."""
        relative = os.path.relpath(os.path.abspath(path), self._base).replace(os.sep, "/")
        return any(
            any(code.startswith(one) for one in codes) and _spec(pattern).match_file(relative)
            for pattern, codes in self._patterns.items()
        )


@cache
def _spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([pattern])
