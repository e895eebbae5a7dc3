"""Code for several Flax versions at once: one text that runs on each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.environments import agree, execute
from tests.migration import migrated, options

ALL = ("0.10", "0.11", "0.12")

OPTIMIZER = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(2, 2, rngs=rngs) for _ in range(2)]
        self.cache = None

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@nnx.jit
def step(net, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(net)
    optimizer.update(grads=grads)
    return loss


net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.sgd(0.1), nnx.Param)
net.cache = jnp.ones(2)
for _ in range(2):
    print(step(net, optimizer, jnp.ones((1, 2))), optimizer.model.cache.sum())
"""

REMOVED = """\
import jax.numpy as jnp
from flax import nnx
from flax.nnx import with_sharding_constraint as constrain
from jax.sharding import PartitionSpec as P


class Net(nnx.Module):
    def __init__(self, rngs):
        self.parts = nnx.Dict(a=nnx.Linear(2, 2, rngs=rngs))
        self.count = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.count += 1
        return constrain(self.parts.a(x), P("data"))


net = Net(nnx.Rngs(0))
print(net(jnp.ones((1, 2))), net.count.value)
"""


@pytest.mark.parametrize("text", [OPTIMIZER, REMOVED], ids=["optimizer", "removed"])
def test_runs_on_each_version(text: str, tmp_path: Path) -> None:
    """The migrated program prints everywhere what the old one printed under 0.10, and is not changed again."""
    (old := tmp_path / "old.py").write_text(text)
    before = execute("0.10", old)
    assert before.code == 0, before.err
    files, _ = migrated(text, options(*ALL))
    again, left = migrated(files, options(*ALL))
    assert (again, left) == (files, [])
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    for version in ALL:
        after = execute(version, tmp_path / "main.py")
        assert after.code == 0, f"{version}: {after.err}"
        assert agree(before.out, after.out), version


@pytest.mark.parametrize(
    ("targets", "compatibility"),
    [(("0.10", "0.11"), True), (("0.11", "0.12"), False), (("0.12",), False)],
)
def test_compatibility_module_only_where_needed(targets: tuple[str, ...], compatibility: bool) -> None:
    files, _ = migrated(OPTIMIZER, options(*targets))
    assert ("_nnx_compat.py" in files) == compatibility


def test_a_package_has_it_at_its_root() -> None:
    files, _ = migrated({"lab/__init__.py": "", "lab/nets/__init__.py": "", "lab/nets/m.py": REMOVED}, options(*ALL))
    assert "lab/_nnx_compat.py" in files
    assert "from lab._nnx_compat import data\n" in files["lab/nets/m.py"]


def test_it_holds_what_is_used_and_no_more() -> None:
    two = "from flax import nnx\n\n\ndef f(x, spec):\n    return nnx.with_sharding_constraint(x, spec)\n"
    made = migrated({"main.py": REMOVED, "other.py": two}, options(*ALL))[0]["_nnx_compat.py"]
    tree = ast.parse(made)
    assert ast.get_docstring(tree)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["data", "with_sharding_constraint"]
