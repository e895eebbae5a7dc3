"""Puts ``codemods`` into the wheel under a name that no user's folder can have.

In the repository the analysis is the top-level package ``codemods.nnx``. Installed so, it would be unusable beside a
user's own ``codemods`` package. The wheel holds it as ``nnxmigrate/_codemods/nnx``, with the imports renamed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = {"nnxmigrate": "nnxmigrate", "codemods/nnx": "nnxmigrate/_codemods/nnx"}
_IMPORTED = re.compile(rb"\bcodemods\.nnx\b")


def renamed(code: bytes) -> bytes:
    """Return the text of a module with the names that it has in the wheel."""
    return _IMPORTED.sub(rb"nnxmigrate._codemods.nnx", code)


def staged(root: Path, folder: Path) -> dict[str, str]:
    """Write all files of the wheel into an empty folder.

    Args:
        root: the project's folder.
        folder: where the files go.

    Returns:
        The place in the wheel of each of them.
    """
    places = {}
    for package, place in PACKAGES.items():
        for path in sorted((root / package).rglob("*")):
            if path.suffix == ".py" or path.name == "py.typed":
                target = folder / place / path.relative_to(root / package)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(renamed(path.read_bytes()) if path.suffix == ".py" else path.read_bytes())
                places[str(target)] = target.relative_to(folder).as_posix()
    return places


class Hook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Chooses the files of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage the files of a standard wheel; an editable one takes them from where they are."""
        if version != "standard":
            return
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        build_data["force_include"] |= staged(Path(self.root), Path(self._folder.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the staged files."""
        if version == "standard":
            self._folder.cleanup()
