"""Findings about snapshots name the file of a line that is not their own."""

from __future__ import annotations

from codemods.nnx.analyse import analyse
from codemods.nnx.options import Options
from tests.migration import sources

MAIN = """\
import jax.numpy as jnp
from flax import nnx

from work import disturb

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
best = nnx.state(model)
disturb(model)
print(best)
"""
WORK = """\
def disturb(module):
    module.bias.value = module.bias.value + 1
"""


def test_another_file() -> None:
    found = analyse(sources({"main.py": MAIN, "work.py": WORK}), Options(select=("NNX401",))).findings
    assert [(f.path, f.message.partition(": ")[2]) for f in found] == [
        ("main.py", "it follows the change in line 2 of work.py, and line 9 reads the result")
    ]
