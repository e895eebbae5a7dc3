"""The releases that an interpreter has installed."""

from __future__ import annotations

import json
import subprocess

from nnxmigrate.doctor.pins import PACKAGES, PinError, PinSet, ranged

_PROGRAM = """
import importlib.metadata as metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_SECONDS = 60


def installed(python: str) -> PinSet:
    """Return the releases that an interpreter has; nothing is imported but the standard library.

    Args:
        python: path or name of the interpreter.

    Raises:
        PinError: if it cannot be run.
    """
    try:
        result = subprocess.run(
            [python, "-c", _PROGRAM, *PACKAGES], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        versions = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise PinError(f"cannot ask {python} for its packages: {error}") from error
    pins = [ranged(name, f"=={version}", python) for name, version in versions.items()]
    return PinSet(f"installed for {python}", python, tuple(pin for pin in pins if pin is not None), "installed")
