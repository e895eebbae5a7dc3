"""Install a wheel into empty environments and try it: ``python tests/release/install.py dist/*.whl [PYTHON…]``.

Each interpreter gets the lowest dependencies that the wheel admits, and the newest; without any, this one is taken.
It needs uv.
"""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BEFORE = """\
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
"""
AFTER = BEFORE.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")
#: Commands, and how they end in a folder with the program above; the last one changes it.
TRIED = [
    (["--version"], 0),
    (["rule", "NNX101"], 0),
    (["rules"], 0),
    (["lint", "--output-format", "json", "a.py"], 1),
    (["--diff", "a.py"], 1),
    (["explain", "TypeError: Missing required argument `wrt`."], 0),
    (["--jobs", "2", "."], 0),
]


def uv(*arguments: str) -> None:
    """Run uv.

    Raises:
        subprocess.CalledProcessError: if it fails.
    """
    found = shutil.which("uv")
    subprocess.run([*([found] if found else [sys.executable, "-m", "uv"]), *arguments], check=True)


def required(wheel: Path) -> list[str]:
    """Return what a wheel requires without extras; only what is named counts as direct for uv."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    return [text for text in metadata.get_all("Requires-Dist", ()) if "extra ==" not in text]


def tried(wheel: Path, python: str, resolution: str, folder: Path) -> str:
    """Install the wheel for an interpreter and run its commands; return the versions of what was installed.

    Args:
        wheel: the wheel.
        python: the interpreter.
        resolution: ``lowest-direct`` or ``highest``.
        folder: an empty folder.

    Raises:
        SystemExit: if a command does not end as it should.
    """
    home = folder / "environment"
    uv("venv", "--quiet", "--python", python, str(home))
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    inside = ("--quiet", "--python", str(scripts / "python"))
    uv("pip", "install", *inside, "--resolution", resolution, str(wheel), *required(wheel))
    (folder / "a.py").write_text(BEFORE)
    (folder / "pyproject.toml").write_text('[tool.nnxmigrate]\nto = "0.11"\nexclude = ["environment/"]\n')
    for arguments, status in TRIED:
        command = [str(scripts / "nnxmigrate"), *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != status or (done.stderr and "--diff" not in arguments):
            sys.exit(f"{python}, {resolution}: {arguments} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    if (folder / "a.py").read_text() != AFTER:
        sys.exit(f"{python}, {resolution}: the program was not migrated")
    listed = [sys.executable, "-m", "uv"] if not shutil.which("uv") else ["uv"]
    frozen = subprocess.run([*listed, "pip", "freeze", *inside], capture_output=True, text=True, check=True).stdout
    return ", ".join(line for line in frozen.splitlines() if not line.startswith("nnxmigrate"))


def main(wheel: str, *pythons: str) -> None:
    """Try all interpreters with the lowest and the newest dependencies."""
    for python in pythons or (sys.executable,):
        for resolution in ("lowest-direct", "highest"):
            with tempfile.TemporaryDirectory() as folder:
                print(python, resolution, tried(Path(wheel).resolve(), python, resolution, Path(folder)), sep=": ")


if __name__ == "__main__":
    main(*sys.argv[1:])
