#!/usr/bin/env python3
"""Set up and try the project with nothing but Python 3.10 or later: ``python3 dev.py demo``, ``python3 dev.py test``.

Everything is installed into ``.venv`` beside this file, never into the system's Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venv"
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")


def run(*command: str, accept: tuple[int, ...] = (0,)) -> None:
    """Run a program in the project's folder and end with its status if it fails.

    Args:
        command: the program and its arguments.
        accept: statuses that are no failure.
    """
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code not in accept:
        sys.exit(code)


def install(what: str) -> None:
    """Install the project in place into ``.venv``, which is made if need be.

    Args:
        what: ``.`` or, with an extra, ``.[dev]``.
    """
    python = BIN / "python"
    if not (BIN / ("python.exe" if os.name == "nt" else "python")).exists():
        # Some systems ship Python without ensurepip; their own pip can still install into an environment.
        bare = subprocess.run([sys.executable, "-c", "import ensurepip"], stderr=subprocess.DEVNULL, check=False)
        venv.create(HOME, with_pip=bare.returncode == 0)
    has_pip = subprocess.run([str(python), "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    pip = [str(python), "-m", "pip"] if has_pip else [sys.executable, "-m", "pip", "--python", str(python)]
    run(*pip, "install", "--quiet", "--disable-pip-version-check", "--editable", what)


def demo() -> None:
    """Show what changes in the example project, and the report; then migrate a copy and run it under Flax 0.11."""
    install(".[demo]")
    tool = str(BIN / "nnxmigrate")
    run(tool, "--diff", "fixtures/project", accept=(0, 1))
    copy = ROOT / "build" / "demo"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "fixtures" / "project", copy)
    run(tool, "--quiet", str(copy))
    print("\nThe migrated copy in build/demo under Flax 0.11:", flush=True)
    run(str(BIN / "python"), "-m", "tests.environments", "0.11", str(copy / "train.py"))


def try_all(quick: bool) -> None:
    """Check style and types, make the Flax environments, and run all tests.

    Args:
        quick: whether to leave out the environments, and the tests that run programs in them.
    """
    install(".[dev]")
    python = str(BIN / "python")
    run(python, "-m", "ruff", "check")
    run(python, "-m", "mypy")
    if quick:
        os.environ["NNXMIGRATE_TESTS_WITHOUT_FLAX"] = "1"
    else:
        run(python, "-m", "tests.environments")
    # files stay whole: their programs run in one batch for each Flax version
    run(python, "-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile")


def main(words: tuple[str, ...]) -> None:
    """Do what the command line says."""
    if words == ("demo",):
        demo()
    elif words in (("test",), ("test", "--quick")):
        try_all(quick="--quick" in words)
    else:
        sys.exit("usage: python3 dev.py demo | test | test --quick")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
