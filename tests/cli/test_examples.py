"""The documented examples of all rules as files, through the command line; and which files are linted."""

from __future__ import annotations

import json

import pytest

from codemods.nnx.catalogue import RULES
from codemods.nnx.rule import Rule
from tests.cli.test_migrate import call
from tests.conftest import Tree


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_examples(rule: Rule, tree: Tree) -> None:
    """A rule speaks about its examples in files as it does in its page."""
    tree({f"example{number}.py": example.before for number, example in enumerate(rule.examples)})
    for target in sorted({target for example in rule.examples for target in example.targets}):
        versions = ("--from", "0.10", "--to", target)
        result = call("lint", ".", "--select", rule.code, *versions, "--output-format", "json")
        assert result.exit_code in {0, 1}, result.output
        found = {one["path"] for one in json.loads(result.stdout)["findings"]}
        asked = {
            f"example{number}.py"
            for number, example in enumerate(rule.examples)
            if target in example.targets and example.before != example.after
        }
        silent = {
            f"example{number}.py"
            for number, example in enumerate(rule.examples)
            if target in example.targets and example.before == example.after
        }
        assert asked <= found
        assert not silent & found


STEP = "import jax\n\n\n@jax.jit\ndef step(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"


def test_code_without_nnx_is_linted(tree: Tree) -> None:
    tree(
        {
            "step.py": STEP,
            "keys.py": "from jax import random\n\nkey = random.key(0)\na, b = random.normal(key), random.normal(key)\n",
            "shared.py": "def positive(v):\n    if v > 0:\n        return v\n    return -v\n",
            "main.py": "import jax\nimport shared\n\n\n@jax.jit\ndef f(x):\n    return shared.positive(x.sum())\n",
            "other.py": "x = 1\n",
        }
    )
    result = call("lint", ".", "--verbose")
    found = [line.split(" ")[0] + line.split(" ")[1] for line in result.stdout.splitlines() if ".py:" in line]
    assert [f.partition(":")[0] for f in found] == ["keys.py", "shared.py", "step.py", "other.py"]
    assert "other.py: left out: uses no JAX" in result.stdout
    assert "2 files unchanged (1 left out: uses no JAX), 3 files with findings" in result.stdout


def test_code_without_nnx_is_linted_from_stdin() -> None:
    assert "NNX820" in call("lint", "-", stdin=STEP.encode()).stdout


def test_code_without_nnx_is_not_migrated(tree: Tree) -> None:
    tree({"step.py": STEP})
    assert "1 file unchanged (1 left out: uses no NNX)" in call(".").stdout
