"""Names by release: the table against real releases, and every form of reference."""

from __future__ import annotations

import json
import subprocess

import pytest

from codemods.nnx.symbols import MODULES, PUBLIC, SYMBOLS
from tests.environments import python
from tests.migration import codes, look, migrate_text, options

PROBE = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
from flax import nnx
def there(name):
    home, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), last)
    except ImportError:
        return False
names = json.loads(sys.argv[1])
print(json.dumps({"public": [n for n in names["public"] if not hasattr(nnx, n)],
                  "there": [n for n in names["there"] if not there(n)],
                  "gone": [n for n in names["gone"] if there(n)]}))
"""


@pytest.mark.parametrize("version", sorted(PUBLIC))
def test_table_agrees_with_the_release(version: str) -> None:
    there = [name for symbol in SYMBOLS if (name := symbol.names[version])]
    every = {name for symbol in SYMBOLS for name in symbol.names.values() if name}
    moved = {name for symbol in MODULES for name in symbol.names.values() if name}
    gone = sorted(name for name in every - set(there) if name.rpartition(".")[0] not in moved)
    asked = json.dumps({"public": sorted(PUBLIC[version]), "there": there, "gone": gone})
    done = subprocess.run(
        [str(python(version)), "-W", "ignore", "-c", PROBE, asked], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"public": [], "there": [], "gone": []}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from flax import nnx\nx = nnx.freeze([])\n", "from flax import nnx\nx = nnx.to_arrays([])\n"),
        ("import flax.nnx as nn\nx = nn.freeze([])\n", "import flax.nnx as nn\nx = nn.to_arrays([])\n"),
        ("import flax\nx = flax.nnx.freeze([])\n", "import flax\nx = flax.nnx.to_arrays([])\n"),
        ("from flax.nnx import freeze\nfreeze([])\n", "from flax.nnx import to_arrays\nto_arrays([])\n"),
        ("from flax.nnx import freeze as f\nf([])\n", "from flax.nnx import to_arrays as f\nf([])\n"),
        (
            "from flax.nnx import freeze\n__all__ = ['freeze']\n",
            "from flax.nnx import to_arrays as freeze\n__all__ = ['freeze']\n",
        ),
        ("import flax.nnx.object as o\no.Object\n", "import flax.nnx.pytreelib as o\no.Object\n"),
        ("from flax.nnx.object import ObjectMeta\n", "from flax.nnx.pytreelib import ObjectMeta\n"),
        ("import flax\nflax.nnx.object.ObjectState\n", "import flax\nflax.nnx.pytreelib.PytreeState\n"),
    ],
)
def test_renamed(before: str, after: str) -> None:
    chosen = options("0.11", ignore=("NNX3", "NNX4"))
    assert migrate_text(before, chosen) == after
    assert codes(after, chosen) == []


@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_type_variables_of_the_library(target: str) -> None:
    text = "from flax import nnx\n\n\nclass Count(nnx.Variable[nnx.A]):\n    pass\n\n\n"
    text += "def same(m: nnx.M) -> nnx.M:\n    return m\n"
    assert codes(text, options(target)) == []


@pytest.mark.parametrize(
    ("text", "target", "code", "words"),
    [
        ("from flax import nnx\nnnx.freeze([])\n", "0.12", "NNX501", "jax.freeze"),
        ("from flax import nnx\nnnx.param(1)\n", "0.11", "NNX510", "nnx.Param"),
        ("from flax import nnx\nnnx.List([])\n", "0.11", "NNX510", "0.11"),
        ("from flax.nnx import Linaer\n", "0.12", "NNX510", "nnx.Linear"),
        ("from flax.nnx import *\n", "0.11", "NNX509", "import nnx"),
        ("from flax.nnx.graph import EmptyState\n", "0.11", "NNX501", "nnx.State"),
    ],
)
def test_reported(text: str, target: str, code: str, words: str) -> None:
    (found,) = look(text, options(target)).findings
    assert (found.code, found.fix) == (code, None)
    assert words in f"{found.message} {found.help}"


@pytest.mark.parametrize(
    "text",
    [
        "from flax import nnx\nif hasattr(nnx, 'List'):\n    nnx.List([])\n",
        "try:\n    from flax.nnx import List\nexcept ImportError:\n    List = list\n",
        "import other as nnx\nnnx.freeze([])\n",
        "class nnx:\n    freeze = list\n\n\nnnx.freeze([])\n",
        "from flax import nnx\n\n\ndef f(nnx):\n    return nnx.freeze([])\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert codes(text, options("0.11")) == []


@pytest.mark.parametrize(
    ("call", "becomes"),
    [
        ("nnx.with_sharding_constraint(x, P('a'), mesh)", "jax.lax.with_sharding_constraint"),
        ("nnx.with_sharding_constraint(x, P('a'), mesh=mesh)", "jax.lax.with_sharding_constraint"),
        ("nnx.with_sharding_constraint(x, P('a'))", "from _nnx_compat import with_sharding_constraint"),
        (
            "nnx.with_sharding_constraint(x, P('a'),  # kept\n        mesh)",
            "from _nnx_compat import with_sharding_constraint",
        ),
        ("nnx.with_sharding_constraint(x, spec, mesh)", "from _nnx_compat import with_sharding_constraint"),
    ],
)
def test_sharding_constraint(call: str, becomes: str) -> None:
    head = "import jax\nfrom flax import nnx\nfrom jax.sharding import PartitionSpec as P\n\n"
    head += "mesh = jax.make_mesh((1,), ('a',))\n"
    once = migrate_text(f"{head}\n\ndef f(x, spec):\n    return {call}\n", options("0.11"))
    assert becomes in once
    assert "nnx.with_sharding_constraint(" not in once


@pytest.mark.parametrize("spec", ["P('a')", "nnx.get_partition_spec(x)"])
def test_sharding_constraint_within_a_mesh(spec: str) -> None:
    text = f"""\
import jax
import numpy as np
from flax import nnx
from jax.sharding import Mesh, PartitionSpec as P


def create():
    x = nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
    spec = {spec}
    return nnx.with_sharding_constraint(x, spec)


mesh = Mesh(np.array(jax.devices()[:1]), ("a",))
with mesh:
    print(sum(leaf.sum() for leaf in jax.tree.leaves(jax.jit(create)())))
"""
    once = migrate_text(text, options("0.11", "0.12"))
    assert once == text.replace("nnx.with_sharding_constraint", "jax.lax.with_sharding_constraint")
    assert "_nnx_compat" in migrate_text(text.replace("with mesh:", "if mesh:"), options("0.11"))
    assert "_nnx_compat" in migrate_text(text.replace(f"spec = {spec}", "spec = None"), options("0.11"))


@pytest.mark.parametrize(
    ("origin", "target", "before", "after"),
    [
        ("0.10", "0.11", ("mutable", "mutable"), ("use_ref", "has_ref")),
        ("0.10", "0.12", ("mutable", "mutable"), ("ref", "ref")),
        ("0.11", "0.12", ("use_ref", "has_ref"), ("ref", "ref")),
        ("0.11", "0.12", ("ref", "ref"), ("ref", "ref")),
        ("0.10", "0.11", ("note", "note"), ("note", "note")),
    ],
)
def test_metadata_keyword(origin: str, target: str, before: tuple[str, str], after: tuple[str, str]) -> None:
    text = "from flax import nnx\nw = nnx.Param(1, {}=True)\nprint(w.{})\n"
    chosen = options(target, origin=origin)
    assert migrate_text(text.format(*before), chosen) == text.format(*after)
    assert codes(text.format(*after), chosen) == []


def test_metadata_keyword_is_only_reported_for_releases_that_differ() -> None:
    text = "from flax import nnx\nw = nnx.Param(1, mutable=True)\nprint(w.mutable)\n"
    assert [finding.fix for finding in look(text, options("0.11", "0.12")).findings] == [None, None]
