"""NNX513: what becomes of each keyword, on one target and on two, and what is left alone."""

from __future__ import annotations

import json
import subprocess

import pytest

from codemods.nnx.names.transform_keyword import _GONE
from tests.environments import python
from tests.migration import codes, look, migrate_text, options

HEAD = "import functools\nfrom flax import nnx\n\n\ndef f(x, mesh, hook, make):\n    return "
PROBE = """
import inspect, json, sys
from flax import nnx
pairs = json.loads(sys.argv[1])
print(json.dumps([word in inspect.signature(getattr(nnx, name)).parameters for name, word in pairs]))
"""


def migrated(call: str, *targets: str) -> str:
    """Return what a call becomes."""
    return migrate_text(f"{HEAD}{call}\n", options(*targets)).removeprefix(HEAD).rstrip()


@pytest.mark.parametrize(("version", "there"), [("0.10", True), ("0.11", True), ("0.12", False)])
def test_table_agrees_with_the_release(version: str, there: bool) -> None:
    pairs = [(function.rpartition(".")[2], word) for function, word in _GONE]
    command = [str(python(version)), "-W", "ignore", "-c", PROBE, json.dumps(pairs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [there] * len(pairs)


@pytest.mark.parametrize(
    ("call", "becomes"),
    [
        ("nnx.jit(abstracted_axes=None)", "nnx.jit()"),
        ("nnx.pmap(x, global_arg_shapes=None, in_axes=0)", "nnx.pmap(x, in_axes=0)"),
        ("nnx.shard_map(x, check_rep=x, mesh=mesh)", "nnx.shard_map(x, check_vma=x, mesh=mesh)"),
        ("nnx.shard_map(x, auto=frozenset(), check_rep=True)", "nnx.shard_map(x, check_vma=True)"),
        ("functools.partial(nnx.shard_map, check_rep=False)", "functools.partial(nnx.shard_map, check_vma=False)"),
        ("nnx.with_metadata(x, get_value_hooks=hook, a=1, set_value_hooks=[hook])", "nnx.with_metadata(x, a=1)"),
        (
            "nnx.with_metadata(\n        x,  # why\n        add_axis_hooks=(),\n    )",
            "nnx.with_metadata(\n        x,  # why\n    )",
        ),
    ],
)
def test_fixed(call: str, becomes: str) -> None:
    assert migrated(call, "0.12") == becomes
    assert codes(f"{HEAD}{becomes}\n", options("0.12")) == []


@pytest.mark.parametrize(
    ("call", "becomes"),
    [
        ("nnx.shard_map(x, check_rep=True)", "nnx.shard_map(x)"),
        ("nnx.shard_map(x, check_rep=False)", "nnx.shard_map(x, check_rep=False)"),
    ],
)
def test_two_targets(call: str, becomes: str) -> None:
    """Flax 0.11 knows no check_vma, so that only the default can go."""
    assert migrated(call, "0.11", "0.12") == becomes


@pytest.mark.parametrize(
    "call",
    [
        "nnx.jit(x, abstracted_axes=x)",
        "nnx.shard_map(x, auto={'a'})",
        "nnx.with_metadata(x, get_value_hooks=make())",
    ],
)
def test_reported(call: str) -> None:
    (found,) = look(f"{HEAD}{call}\n", options("0.12")).findings
    assert (found.code, found.fix) == ("NNX513", None)


@pytest.mark.parametrize(
    ("call", "target"),
    [
        ("nnx.jit(x, abstracted_axes=None)", "0.11"),
        ("nnx.shard_map(x, check_rep=False)", "0.11"),
        ("nnx.shard_map(x, check_vma=False, axis_names={'a'})", "0.12"),
        ("make(x, check_rep=False)", "0.12"),
        ("nnx.jit(x)(auto=1)", "0.12"),
        ("functools.partial(make, auto=1)", "0.12"),
    ],
)
def test_left_alone(call: str, target: str) -> None:
    assert codes(f"{HEAD}{call}\n", options(target)) == []
