"""Puts ``codemods`` into the wheel under a name that no user's folder can have, compiled if that is asked for.

In the repository the analysis is the top-level package ``codemods.nnx``. Installed so, it would be unusable beside a
user's own ``codemods`` package. The wheel holds it as ``nnxmigrate/_codemods/nnx``, with the imports renamed.

With ``NNXMIGRATE_COMPILE=1`` in the environment mypyc compiles the model of the program that all rules stand on. This
takes a C compiler, and gives a wheel for this interpreter and platform that holds the Python files too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = {"nnxmigrate": "nnxmigrate", "codemods/nnx": "nnxmigrate/_codemods/nnx"}
#: What is compiled: where most time goes, and nothing that is a rule.
COMPILED = [
    *(f"{name}.py" for name in ("facts", "frames", "kinds", "known", "nodes", "ordered", "places", "project")),
    *("sources.py", "values.py", "names/references.py", "walk/*.py", "flow/*.py", "may/*.py"),
]
#: Run in the folder of the wheel's files, with the modules as arguments.
COMPILING = """
import sys
from mypyc.build import mypycify
from setuptools import setup

options = ["--config-file=", "--explicit-package-bases", "--no-error-summary"]
options += ["--ignore-missing-imports"]  # what the project depends on is not installed where wheels are built
modules = mypycify([*options, *sys.argv[1:]], opt_level="2", debug_level="0", multi_file=True, group_name="nnxmigrate")
setup(name="nnxmigrate", packages=[], ext_modules=modules, script_args=["--quiet", "build_ext", "--inplace"])
"""
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
            if path.suffix == ".py" or path.name in {"py.typed", "public_names.txt"}:
                target = folder / place / path.relative_to(root / package)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(renamed(path.read_bytes()) if path.suffix == ".py" else path.read_bytes())
                places[str(target)] = target.relative_to(folder).as_posix()
    return places


def wants_compiling() -> bool:
    """Say whether the environment asks for a compiled wheel."""
    return os.environ.get("NNXMIGRATE_COMPILE", "0") not in {"", "0"}


def compiled(folder: Path) -> dict[str, str]:
    """Compile the staged files of a wheel.

    Args:
        folder: where they are.

    Returns:
        The place in the wheel of each compiled module.

    Raises:
        RuntimeError: if there is no C compiler, or a module cannot be compiled.
    """
    inside = folder / PACKAGES["codemods/nnx"]
    modules = sorted(path for pattern in COMPILED for path in inside.glob(pattern) if path.name != "__init__.py")
    command = [sys.executable, "-c", COMPILING, *(path.relative_to(folder).as_posix() for path in modules)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"NNXMIGRATE_COMPILE: the modules could not be compiled\n{done.stdout}{done.stderr}")
    made = [path for suffix in ("so", "pyd") for path in folder.rglob(f"*.{suffix}")]
    places = {path: path.relative_to(folder).as_posix() for path in made}
    return {str(path): place for path, place in places.items() if not place.startswith("build/")}


class Hook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Chooses the files of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage the files of a standard wheel; an editable one takes them from where they are."""
        if version != "standard":
            return
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        build_data["force_include"] |= staged(Path(self.root), Path(self._folder.name))
        if wants_compiling():
            build_data["force_include"] |= compiled(Path(self._folder.name))
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def dependencies(self) -> list[str]:
        """Return what building needs beside hatchling."""
        return ["mypy[mypyc]>=1.15", "setuptools>=75"] if wants_compiling() else []

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the staged files."""
        if version == "standard":
            self._folder.cleanup()
