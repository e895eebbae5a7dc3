"""Code that saves and restores trees whose layout changed: found where it reads them, else where it writes them."""

from __future__ import annotations

import pytest

from tests.migration import look, options

_HEAD = """\
import jax
import optax
import orbax.checkpoint as ocp
from flax import nnx
from flax.training import checkpoints


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


class Tower(nnx.Module):
    def __init__(self, rngs):
        self.nets = [Net(rngs) for _ in range(2)]


class Cells(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(2, 2, rngs=rngs)


net = Net(nnx.Rngs(params=0, dropout=1))
stack = nnx.split_rngs(splits=2)(nnx.vmap(Net))(nnx.Rngs(0))
"""

# the last line of each is the one that is found
FOUND = {
    "split": "graphdef, abstract = nnx.split(net)\nocp.StandardCheckpointer().restore('path', abstract)",
    "with": "with ocp.StandardCheckpointer() as c:\n    c.restore('path', nnx.state(net))",
    "item": "ocp.PyTreeCheckpointer().restore('path', item=nnx.to_pure_dict(nnx.state(net)))",
    "manager": "m = ocp.CheckpointManager('path')\nm.restore(3, args=ocp.args.StandardRestore(nnx.state(net)))",
    "composite": "m = ocp.CheckpointManager('path')\n"
    "m.restore(3, args=ocp.args.Composite(state=ocp.args.StandardRestore(nnx.state(net))))",
    "unknown manager": "def load(m):\n    return m.restore(3, args=ocp.args.PyTreeRestore(nnx.state(net)))",
    "shapes": "abstract = nnx.eval_shape(lambda: Net(nnx.Rngs(0, dropout=1)))\n"
    "ocp.StandardCheckpointer().restore('path', jax.tree.map(lambda x: x, nnx.state(abstract)))",
    "dictionary": "ocp.StandardCheckpointer().restore('path', {'model': nnx.state(net), 'step': 0})",
    "nested": "ocp.StandardCheckpointer().restore('path', nnx.state(Tower(nnx.Rngs(0))))",
    "stacked": "ocp.StandardCheckpointer().restore('path', nnx.state(stack))",
    "cell": "ocp.StandardCheckpointer().restore('path', nnx.state(Cells(nnx.Rngs(0))))",
    "filter": "_, params, rest = nnx.split(net, nnx.Param, ...)\nocp.StandardCheckpointer().restore('path', rest)",
    "any": "ocp.StandardCheckpointer().restore('path', nnx.state(net, nnx.Any(nnx.Param, nnx.RngState)))",
    "all": "ocp.StandardCheckpointer().restore('path', nnx.state(net, nnx.All(nnx.Variable, nnx.Not(nnx.Param))))",
    "several": "ocp.StandardCheckpointer().restore('path', nnx.state(net, (nnx.Param, nnx.RngState)))",
    "comprehension": "nets = {'a': net, 'b': Net(nnx.Rngs(1))}\n"
    "ocp.StandardCheckpointer().restore('path', {name: nnx.state(one) for name, one in nets.items()})",
    "new interface": "import orbax.checkpoint.experimental.v1 as new\nnew.load_pytree('path', nnx.state(net))",
    "saved by it": "from orbax.checkpoint.experimental import v1\nv1.save_pytree('path', nnx.state(net))",
    "new manager": "from orbax.checkpoint.experimental import v1\n"
    "m = v1.training.Checkpointer('path')\nm.load_pytree(3, nnx.state(net))",
    "streams": "ocp.StandardCheckpointer().restore('path', nnx.state(net, nnx.RngState))",
    "old function": "checkpoints.restore_checkpoint('path', target=nnx.state(net))",
    "save only": "ocp.StandardCheckpointer().save('path', nnx.state(net))",
}


def _found(text: str) -> list[tuple[str, int]]:
    analysis = look(f"{_HEAD}{text}\n", options("0.11"))
    lines = (f"{_HEAD}{text}\n").encode()
    return [(f.code, lines.count(b"\n", 0, f.start) + 1) for f in analysis.findings if f.code.startswith("NNX7")]


@pytest.mark.parametrize("case", FOUND)
def test_streams(case: str) -> None:
    last = f"{_HEAD}{FOUND[case]}".count("\n") + 1
    assert _found(FOUND[case]) == [("NNX701", last)]


#: What has no streams in it.
SILENT = {
    "parameters": "nnx.state(net, nnx.Param)",
    "any": "nnx.state(net, nnx.Any(nnx.Param, nnx.BatchStat))",
    "all": "nnx.state(net, nnx.All(nnx.Variable, nnx.Not(nnx.RngState)))",
    "several": "nnx.state(net, (nnx.Param, nnx.BatchStat))",
    "rest": "nnx.split(net, nnx.Any(nnx.Param, nnx.RngState), ...)[2]",
    "comprehension": "{name: nnx.state(one, nnx.Param) for name, one in {'a': net}.items()}",
}


@pytest.mark.parametrize("case", SILENT)
def test_states_without_streams(case: str) -> None:
    assert not _found(f"ocp.StandardCheckpointer().restore('path', {SILENT[case]})")


def test_restore_without_target() -> None:
    """A tree that is read as it is counts where it goes into such a model."""
    text = "restored = ocp.StandardCheckpointer().restore('path')\nnnx.update({}, restored)"
    assert _found(text.format("net")) == [("NNX701", _HEAD.count("\n") + 1)]
    assert not _found(text.format("nnx.Linear(2, 2, rngs=nnx.Rngs(0))"))


def test_save_beside_restore() -> None:
    """Where a project reads its checkpoints, what it writes needs no word."""
    text = "c = ocp.StandardCheckpointer()\nc.save('path', nnx.state(net))\nc.restore('path', nnx.state(net))"
    assert _found(text) == [("NNX701", _HEAD.count("\n") + 3)]


@pytest.mark.parametrize(
    ("optimizer", "codes"),
    [
        ("nnx.Optimizer(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), optax.sgd(0.1), wrt=nnx.Param)", ["NNX702"]),
        ("nnx.ModelAndOptimizer(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), optax.sgd(0.1), wrt=nnx.Param)", []),
        ("nnx.Optimizer(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), optax.sgd(0.1))", []),  # becomes the compatible class
        ("nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)", ["NNX701", "NNX702"]),
    ],
)
def test_optimizers(optimizer: str, codes: list[str]) -> None:
    """The tree of an optimizer changes only if it stays a nnx.Optimizer."""
    found = _found(f"optimizer = {optimizer}\nocp.StandardCheckpointer().restore('path', nnx.state(optimizer))")
    assert [code for code, _ in found] == codes


def test_nothing_from_0_11_on() -> None:
    text = f"{_HEAD}{FOUND['split']}\n"
    assert not [f for f in look(text, options("0.12", origin="0.11")).findings if f.code.startswith("NNX7")]


def test_a_project_is_told_once_with_all_places() -> None:
    restore = "ocp.StandardCheckpointer().restore('path', nnx.state(net))\n"
    text = f"{_HEAD}{restore}\n{restore}{restore}"
    (found,) = look(text, options("0.11", select=("NNX701",))).findings
    first = _HEAD.count("\n") + 1
    assert text[: found.start].count("\n") + 1 == first
    assert found.message.endswith(f", and so do lines {first + 2} and {first + 3}")


def test_a_tree_whose_parts_are_held_by_many_is_looked_into_once() -> None:
    """Of parts within parts there are more ways down than can be counted."""
    held = [f"tree{depth + 1} = {{{', '.join(f'{name}: tree{depth}' for name in range(12))}}}" for depth in range(7)]
    save = "ocp.StandardCheckpointer().save('path', tree7)"
    assert not _found("\n".join(["tree0 = {'weights': jax.numpy.ones(2)}", *held, save]))
    found = _found("\n".join(["tree0 = {'model': nnx.state(net)}", *held, save]))
    assert found == [("NNX701", _HEAD.count("\n") + len(held) + 2)]
