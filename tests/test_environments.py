"""The environments hold what they say, and outputs are compared as they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import PINS, agree, execute


@pytest.mark.parametrize("version", PINS)
def test_versions(tmp_path: Path, version: str) -> None:
    main = tmp_path / "main.py"
    names = [pin.partition("==")[0] for pin in PINS[version] if "==" in pin]
    main.write_text(
        f"from importlib.metadata import version\nfor name in {names}: print(f'{{name}}=={{version(name)}}')\n"
    )
    output = execute(version, main)
    assert output.out.split() == [pin for pin in PINS[version] if "==" in pin], output.err


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("loss 1.00001\nok", "loss  1.00002 ok", True),
        ("0.000001", "0.000009", True),
        ("nan", "nan", True),
        ("1.0", "1.001", False),
        ("a b", "a", False),
        ("a 1", "b 1", False),
        ("1e-3", "1e-2", False),
        ("[[ 0.5 -0.71790361 ]]", "[[ 0.5 -0.7179036]]", True),
        ("[1. 2.]", "[1. 3.]", False),
        ("w1 2", "w2 2", False),
    ],
)
def test_agreement(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same


def test_failures_are_told(tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    main.write_text("import sys\nprint(sys.argv[1])\nraise ValueError('no')\n")
    output = execute("0.11", main, "x")
    assert (output.code, output.out, output.last_error) == (1, "x\n", "ValueError: no")


@pytest.mark.parametrize("version", PINS)
def test_what_was_compiled_is_kept(tmp_path: Path, version: str) -> None:
    """The second run of a program compiles nothing, and prints the same."""
    main = tmp_path / "main.py"
    main.write_text(
        "import jax, jax.numpy as jnp\n"
        "print(jax.jit(lambda x: jnp.cumsum(x) * 3)(jnp.arange(7.0)))\n"
        "from pathlib import Path\n"
        f"print(len(list(Path({str(tmp_path)!r}).glob('kept/*-cache'))))\n"
    )
    settings = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "kept")}
    first, second = (execute(version, main, settings=settings) for _ in range(2))
    assert first.out == second.out, first.err + second.err
    assert int(first.out.split()[-1]) > 0
