"""Real Flax environments, one a version, and running programs in them.

``python -m tests.environments`` makes all of them, ``python -m tests.environments 0.11 PROGRAM`` runs a program in one.
They are made with uv on first use, below ``NNXMIGRATE_ENVS`` or ``~/.cache/nnxmigrate/envs``, and are made again when
their pins change. What XLA compiles for the programs is kept beside them, for the next time: every program still runs.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHON = "3.11"
#: Set in the environment of tests that shall be quick: those that need a real Flax are skipped.
WITHOUT = "NNXMIGRATE_TESTS_WITHOUT_FLAX"
TOOLS = ("click", "rich", "pathspec", "xxhash")
PINS = {
    "0.10": ("flax==0.10.7", "jax==0.6.2", "jaxlib==0.6.2", "orbax-checkpoint==0.11.19", "optax==0.2.8", *TOOLS),
    "0.11": ("flax==0.11.2", "jax==0.7.2", "jaxlib==0.7.2", "orbax-checkpoint==0.12.8", "optax==0.2.8", *TOOLS),
    "0.12": ("flax==0.12.8", "jax==0.10.2", "jaxlib==0.10.2", "orbax-checkpoint==0.12.8", "optax==0.2.8", *TOOLS),
}


@dataclass(frozen=True)
class Output:
    """What a program did.

    Attributes:
        code: its exit status.
        out: what it printed.
        err: what it printed to stderr.
    """

    code: int
    out: str
    err: str

    @property
    def last_error(self) -> str:
        """The last line on stderr, which names the exception."""
        return (self.err.strip().splitlines() or [""])[-1]


def python(version: str) -> Path:
    """Return the interpreter of the environment of a Flax version, making it if need be.

    Args:
        version: a key of :data:`PINS`.

    Raises:
        subprocess.CalledProcessError: if the packages cannot be installed.
    """
    if os.environ.get(WITHOUT):
        import pytest

        pytest.skip("runs real Flax")
    return environment(f"flax-{version}", PINS[version])


def environment(name: str, pins: Sequence[str]) -> Path:
    """Return the interpreter of an environment with these packages, making it if need be.

    Args:
        name: what it is called.
        pins: requirements as pip takes them.

    Raises:
        subprocess.CalledProcessError: if the packages cannot be installed.
    """
    digest = hashlib.sha256(" ".join((PYTHON, *pins)).encode()).hexdigest()[:12]
    home = _base() / f"{name}-{digest}"
    exe = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = home / ".ready"
    if not ready.exists():
        with _lock(_base() / f"{home.name}.lock"):
            if not ready.exists():
                _uv("venv", "--quiet", "--clear", "--python", PYTHON, str(home))
                _uv("pip", "install", "--quiet", "--compile-bytecode", "--python", str(exe), *pins)
                ready.touch()
    return exe


def execute(
    version: str, main: Path, *arguments: str, limit: float = 300, settings: Mapping[str, str] | None = None
) -> Output:
    """Run a program in its folder under a Flax version, on the CPU, and return what it did.

    Args:
        version: a key of :data:`PINS`.
        main: the program.
        arguments: its arguments.
        limit: seconds after which it is ended.
        settings: what is added to its environment.

    Raises:
        subprocess.TimeoutExpired: if it takes longer than that.
    """
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONPATH", None)
    environment |= _compiled() | dict(settings or {})
    done = subprocess.run(
        [str(python(version)), main.name, *arguments],
        cwd=main.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    return Output(done.returncode, done.stdout, done.stderr)


def agree(one: str, other: str) -> bool:
    """Say whether two outputs have the same words; numbers may differ by 1e-4 of their size or by 1e-5.

    An array is padded for its longest number, so that space between numbers and brackets does not count.
    """
    left, right = _NUMBER.split(one), _NUMBER.split(other)
    return len(left) == len(right) and all(
        a.split() == b.split() or _close(a, b) for a, b in zip(left, right, strict=True)
    )


_NUMBER = re.compile(r"((?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?)")


def _close(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-4, abs_tol=1e-5)
    except ValueError:
        return False


def _base() -> Path:
    base = Path(os.environ.get("NNXMIGRATE_ENVS") or Path.home() / ".cache" / "nnxmigrate" / "envs")
    base.mkdir(parents=True, exist_ok=True)
    return base


@functools.cache
def _compiled() -> dict[str, str]:
    """Return settings by which JAX keeps what XLA compiled for this processor: that takes most of the tests' time."""
    try:
        described = Path("/proc/cpuinfo").read_text()
    except OSError:
        described = platform.processor()
    features = re.findall(r"(?m)^(?:flags|Features)\s*:.*", described)[:1] or described
    digest = hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:12]
    return {
        "JAX_COMPILATION_CACHE_DIR": str(_base() / f"compiled-{digest}"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _uv(*arguments: str) -> None:
    """Run uv: the program on the path, else the module of this interpreter."""
    found = shutil.which("uv")
    subprocess.run([*([found] if found else [sys.executable, "-m", "uv"]), *arguments], check=True)


@contextlib.contextmanager
def _lock(path: Path, patience: float = 1800) -> Iterator[None]:
    """Hold a lock among processes; one whose holder died is broken after ``patience`` seconds."""
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > patience:
                    path.unlink()
            time.sleep(0.5)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Make all environments; or, given a Flax version and a program, run the program under it."""
    if arguments:
        version, program = arguments
        output = execute(version, Path(program))
        print(output.out, output.err, sep="", end="")
        return output.code
    for name in PINS:
        print(f"Flax {name}: {python(name)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
