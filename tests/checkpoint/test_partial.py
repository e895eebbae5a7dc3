"""The code that ``--check`` prints loads an old checkpoint as it is, all but RNG state."""

from __future__ import annotations

import json

import pytest

from tests.checkpoint.support import NEW, run_code

_LOAD = """
import json, pathlib, sys
from click.testing import CliRunner
import jax, numpy, optax
from flax import nnx
import models
from nnxmigrate.cli.fix_ckpt import fix_ckpt
from tests.checkpoint.driver import arrays

forms = pathlib.Path(models.__file__).parent / "forms"
found = {}
for form, item, model in json.loads(sys.argv[1]):
    given = ["--model", f"{models.__file__}:{model}", "--rngs", "params=0,dropout=1,carry=2"] if model else []
    run = CliRunner().invoke(fix_ckpt, [str(forms / form), "--check", "--json", *given])
    assert run.exit_code == 1, run.output
    program = {"MyModel": models.Mlp, "tx": optax.adamw(1e-3)}
    exec(json.loads(run.stdout)["partial"].replace("(model, tx)", "(model, tx, wrt=nnx.Param)"), program)
    made = program.get("optimizer", program["model"] if "model" in program else None)
    state = nnx.to_pure_dict(nnx.state(made, nnx.Not(nnx.RngState)))
    leaves = {
        ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path): numpy.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }
    stored = {name.removesuffix(".value"): array for name, array in arrays(forms / form / item).items()}
    stored = {name: array for name, array in stored.items() if ".rngs." not in f".{name}."}
    wrong = [name for name in {*leaves, *stored} if not numpy.array_equal(leaves.get(name), stored.get(name))]
    found[f"{form} {model}"] = [len(leaves), sorted(wrong)]
print(json.dumps(found))
"""

CASES = [
    ("standard", "", "Mlp"),
    ("standard", "", None),
    ("pure", "", "Mlp"),
    ("folders", "", "Mlp"),
    ("manager", "10/default", "Mlp"),
    ("optimizer", "", "optimizer"),
    ("optimizer", "", None),
]


@pytest.mark.parametrize("version", NEW)
def test_the_code_of_check(version: str) -> None:
    found = json.loads(run_code(version, _LOAD, json.dumps(CASES)).splitlines()[-1])
    assert len(found) == len(CASES)
    assert all(count >= 8 and not wrong for count, wrong in found.values()), found
