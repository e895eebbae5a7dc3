"""NNX401 and NNX402: a snapshot keeps what it had, whatever changes the model and whoever reads it."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, migrated, options
from tests.state.snapshots import HEAD, PROGRAMS

# programs in which nothing is shared that changes
UNSHARED = frozenset(
    {
        "ema", "update sub", "map write", "pop", "pure jit", "variable loop set", "laid out",
        "context manager reads", "decorator of what only reads", "abstract network that stays", "step of optax alone",
        "map that reads", "merged again and only read", "split anew in every round", "state handed on in every round",
        "table of classes whose states do not change", "derived class that changes nothing",
        "attribute trained and put back", "attribute trained in one method and put back in another",
        "one part trained and put back beside another",
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in PROGRAMS.items()}
    return runs(programs, tmp_path_factory.mktemp("snapshots"))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in UNSHARED])
def test_a_copy_is_made(name: str) -> None:
    text = migrate_text(HEAD + PROGRAMS[name], options("0.11"))
    assert "nnx.clone(" in text or "copy=True" in text


def test_what_is_only_laid_out_over_devices_is_no_change() -> None:
    text = HEAD + PROGRAMS["laid out"]
    assert migrate_text(text, options("0.11")) == text


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_snapshot_stays_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_a_copy_is_not_copied_again() -> None:
    text = """\
from flax import nnx


class Trainer:
    def step(self):
        loss, grads = nnx.value_and_grad(loss_fn)(self.model)
        if loss < self.best_loss:
            self.best = nnx.state(self.model, nnx.Param)
        nnx.update(self.model, self.history[index])


trainer = Trainer() if flag else Trainer()
for _ in range(4):
    print(trainer.step())
"""
    once = migrate_text(text, options("0.11"))
    assert once == text.replace("nnx.state(self.model, nnx.Param)", "nnx.clone(nnx.state(self.model, nnx.Param))")
    assert migrate_text(once, options("0.11")) == once


@pytest.mark.parametrize(
    "name",
    [
        "context manager reads",
        "decorator of what only reads",
        "abstract network that stays",
        "step of optax alone",
        "merged again and only read",
        "split anew in every round",
        "state handed on in every round",
        "attribute trained and put back",
        "attribute trained in one method and put back in another",
        "one part trained and put back beside another",
    ],
)
def test_nothing_is_copied_where_nothing_changes_in_between(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    assert migrate_text(text, options("0.11")) == text


def test_an_assertion_of_a_test_reads_nothing_of_the_test() -> None:
    text = """\
import unittest
from flax import nnx


class Cases(unittest.TestCase):
    def setUp(self):
        self.model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
        _, self.state = nnx.split(self.model)

    def test_mean(self):
        self.model(x)
        self.assertTrue(self.model.use_running_average)
"""
    assert migrate_text(text, options("0.11")) == text
    read = text.replace("self.model.use_running_average", "self.state")
    assert "nnx.split(nnx.clone(self.model))" in migrate_text(read, options("0.11"))


@pytest.mark.parametrize("name", ["table of classes whose states do not change", "derived class that changes nothing"])
def test_what_another_class_would_change_stays(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    assert migrate_text(text, options("0.11")) == text


def test_a_module_without_a_word_of_nnx_may_make_what_it_names() -> None:
    keeper = """\
from flax import nnx


class Keeper:
    def __init__(self):
        self.kept = []

    def keep(self, m):
        self.kept.append(nnx.state(m, nnx.Param))

    def back(self, m):
        nnx.update(m, self.kept[-1])
"""
    makes = {
        "named": "from keeper import Keeper\n\n\ndef make(name):\n    return Keeper()\n",
        "table": "from tables import TABLE\n\n\ndef make(name):\n    return TABLE[name]()\n",
    }
    for name, make in makes.items():
        texts = {
            "keeper.py": keeper,
            "tables.py": "from keeper import Keeper\n\nTABLE = {'keeper': Keeper}\n",
            "factory.py": make,
            "main.py": HEAD
            + "from factory import make\n\nkeeper = make('keeper')\nkeeper.keep(model)\nbump(model)\n"
            + "keeper.back(model)\nprint(model.bias.value)\n",
        }
        assert "nnx.clone(" in migrated(texts)[0]["keeper.py"], name
