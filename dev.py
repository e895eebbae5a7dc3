#!/usr/bin/env python3
"""Set up and try the project with nothing but Python 3.10 or later: ``python3 dev.py demo``, ``python3 dev.py test``.

Everything is installed into ``.venv`` beside this file, never into the system's Python.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.environments import agree

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


DEMO = """\
This demo migrates a small project from Flax 0.10 to 0.11 and runs it under both.
The first time it installs, over the network: nnxmigrate into .venv (some 0.1 GB), and two environments with Flax, JAX
and Optax below ~/.cache/nnxmigrate/envs (some 0.6 GB and 0.3 GB), which takes a few minutes. To be rid of them, delete
.venv, build/demo and that folder. Nothing else is written.
"""


def demo() -> None:
    """Show what changes in the example project; then run it under Flax 0.10 and a migrated copy under 0.11, abreast."""
    print(DEMO, flush=True)
    install(".[demo]")
    tool = str(BIN / "nnxmigrate")
    run(tool, "--diff", "fixtures/project", accept=(0, 1))
    copy = ROOT / "build" / "demo"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "fixtures" / "project", copy)
    run(tool, "--quiet", str(copy))
    print("\nRunning the project under Flax 0.10, and the migrated copy in build/demo under 0.11 ...", flush=True)
    old = output("0.10", ROOT / "fixtures" / "project" / "train.py")
    new = output("0.11", copy / "train.py")
    print(abreast(("under Flax 0.10", *old), ("migrated, under Flax 0.11", *new)))
    if not agree("\n".join(old), "\n".join(new)):
        sys.exit("These differ! Please report this, with the lines above.")
    print("The same, up to rounding. `nnxmigrate verify` does this with your own program.")


def output(version: str, program: Path) -> list[str]:
    """Return the lines that a program prints under a Flax version; its environment is made if need be."""
    command = [str(BIN / "python"), "-m", "tests.environments", version, str(program)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.splitlines()


def abreast(left: Sequence[str], right: Sequence[str]) -> str:
    """Return two columns of lines, with a mark between those that differ by more than rounding."""
    width = max(map(len, left), default=0)
    rows = itertools.zip_longest(left, right, fillvalue="")
    return "\n".join(
        f"  {one:{width}}  {'|' if number == 0 or agree(one, other) else '≠'}  {other}"
        for number, (one, other) in enumerate(rows)
    )


def try_all(quick: bool) -> None:
    """Check style and types, make the Flax environments, and run all tests.

    Args:
        quick: whether to leave out the environments, and the tests that run programs in them.
    """
    install(".[dev]")
    python = str(BIN / "python")
    run(python, "-m", "ruff", "check")
    run(python, "-m", "mypy")
    # where it is set, every process that a test starts would compile all modules again
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if quick:
        os.environ["NNXMIGRATE_TESTS_WITHOUT_FLAX"] = "1"
    else:
        run(python, "-m", "tests.environments")
    # files stay whole: their programs run in one batch for each Flax version
    run(python, "-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile", "--no-loadscope-reorder")


def make_site() -> None:
    """Make the documentation's pages in ``build/site``; a link that leads nowhere is an error."""
    install(".[docs]")
    python, site = str(BIN / "python"), ROOT / "build" / "site"
    run(python, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "docs", str(site))
    print(site / "index.html")


def main(words: tuple[str, ...]) -> None:
    """Do what the command line says."""
    if words == ("demo",):
        demo()
    elif words in (("test",), ("test", "--quick")):
        try_all(quick="--quick" in words)
    elif words == ("docs",):
        make_site()
    else:
        sys.exit("usage: python3 dev.py demo | test | test --quick | docs")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
