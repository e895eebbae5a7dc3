"""Linting alone costs no heavy imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import sys
from nnxmigrate.cli import main
try:
    main(["lint", sys.argv[1]])
except SystemExit as end:
    print(end.code, sorted({"libcst", "flax", "jax", "numpy"} & sys.modules.keys()))
"""

CODE = """\
import jax
from flax import nnx


@nnx.jit(inline=True)
def f(x, train: bool):
    print(x)
    (loss, aux), grads = jax.value_and_grad(lambda v: (v, v))(x)
    return x if train else loss
"""


def test_no_heavy_imports(tmp_path: Path) -> None:
    """`nnxmigrate lint` reports a finding and imports neither LibCST nor Flax nor JAX."""
    file = tmp_path / "main.py"
    file.write_text(CODE)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)], cwd=root, capture_output=True, text=True, check=False
    )
    assert all(code in done.stdout for code in ("NNX803", "NNX822", "NNX850")), done.stderr
    assert done.stdout.splitlines()[-1] == "1 []"
