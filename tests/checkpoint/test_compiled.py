"""The one compiled function computes RNG state and nothing else: dead-code elimination, seen in XLA's own output."""

from __future__ import annotations

import json

import pytest

from tests.checkpoint.support import NEW, run_code

_PROGRAM = """
import json, re
from flax import nnx
from nnxmigrate.checkpoint.initialise import Program
from nnxmigrate.checkpoint.target import Layout

class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(512, 512, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

class Model(nnx.Module):
    def __init__(self, rngs):
        data = getattr(nnx, "List", list)
        self.blocks = data([Block(rngs) for _ in range(4)])

def facts(wanted):
    program = Program(lambda: Model(nnx.Rngs(params=0, dropout=1)))
    leaves = [leaf for leaf in program.target[Layout.STATE].values() if wanted(leaf)]
    compiled = program.compiled([leaf.origin for leaf in leaves])
    text, memory = compiled.as_text(), compiled.memory_analysis()
    sizes = [eval("*".join(lengths.split(",")) or "1") for lengths in re.findall(r"[a-z]+[0-9]+\\[([0-9,]*)\\]", text)]
    return {
        "leaves": len(leaves),
        "largest": max(sizes),
        "initialisers": len(re.findall(r"\\b(?:log|log-plus-one|sqrt|erf|erf-inv)\\(", text)),
        "output": memory.output_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "arguments": memory.argument_size_in_bytes,
    }

print(json.dumps([facts(lambda leaf: leaf.rng), facts(lambda leaf: True)]))
"""


@pytest.mark.parametrize("version", NEW)
def test_no_buffer_of_a_parameters_size_and_no_initialiser(version: str) -> None:
    rng, everything = json.loads(run_code(version, _PROGRAM))
    assert rng["leaves"] == 8
    assert rng["largest"] < 512  # elements of any array in the program; a parameter has 262144
    assert rng["initialisers"] == 0
    assert rng["output"] < 1024 * 4  # bytes, for four streams
    assert rng["temporary"] < 64 * 1024
    assert rng["arguments"] < 1024
    # the same look at a program that does initialise parameters sees all of it
    assert everything["largest"] >= 512 * 512
    assert everything["initialisers"] > 0
    assert everything["output"] > 4 * 512 * 512 * 4
