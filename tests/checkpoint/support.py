"""Run things in environments with real Flax releases."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.environments import python

ROOT = pathlib.Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "checkpoints"
HERE = pathlib.Path(__file__).parent
NEW = ("0.11", "0.12")
SEEDS = "params=0,dropout=1,carry=2"


def fingerprint(folder: str | pathlib.Path) -> str:
    """Return a digest of all names, contents, times and inodes below a folder."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        stat = path.stat()
        digest.update(f"{path} {stat.st_mtime_ns} {stat.st_ino} {stat.st_mode}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def environment(**more: str) -> dict[str, str]:
    """Return the variables under which programs find this package and the models of the fixtures."""
    path = os.pathsep.join((str(ROOT), str(FIXTURES)))
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", **more}


def run(version: str, *arguments: str | pathlib.Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python under a Flax version and return what it did."""
    command = [str(python(version)), *map(str, arguments)]
    usual = {"env": environment(), "timeout": 600}
    return subprocess.run(command, capture_output=True, text=True, check=False, **{**usual, **options})


def run_code(version: str, code: str, *arguments: str | pathlib.Path) -> str:
    """Run a program text under a Flax version; return what it printed."""
    done = run(version, "-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fix_ckpt(version: str, *arguments: str | pathlib.Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command under a Flax version and return what it did."""
    return run(version, "-m", "nnxmigrate.cli.fix_ckpt", *arguments, **options)


def model(name: str) -> list[str]:
    """Return the options that name a model of the fixtures and its seeds."""
    return ["--model", f"{FIXTURES / 'models.py'}:{name}", "--rngs", SEEDS]


def case(name: str, source: pathlib.Path, folder: pathlib.Path, model: str | None, *options: str) -> dict[str, Any]:
    """Return a case for the driver."""
    return {
        "name": name,
        "source": str(source),
        "destination": str(folder / name.replace("/", "-")),
        "model": model,
        "options": list(options),
    }


def script_case(of: dict[str, Any]) -> dict[str, Any]:
    """Return the case that executes the script which does the same as the case ``of``, to be driven after it."""
    changed = {"name": f"script of {of['name']}", "destination": f"{of['destination']} by script"}
    return {**of, **changed, "options": [*of["options"], "--emit-script"], "reference": of["destination"]}


def drive(version: str, cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Convert and load the cases under a Flax version; return the driver's results by name."""
    done = run(version, HERE / "driver.py", input=json.dumps(cases))
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def require_right(result: dict[str, Any]) -> None:
    """Assert that a checkpoint was converted, loads in the new program and holds what it should."""
    assert "crash" not in result, result["crash"]
    assert result["exit"] == 0, result["errors"]
    assert result["source untouched"]
    assert result["kept"], "stored values changed"
    assert result["names"] == [], "the new program has other leaves"
    assert result["loaded"] == [], "loading gave other values"
    assert result.get("rng", []) == [], "RNG state is not that of a new model"
    assert result.get("untyped", []) == [], "typed keys became numbers"
