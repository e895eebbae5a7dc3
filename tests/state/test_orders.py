"""NNX401 in classes whose methods nothing in sight calls: who uses them calls them in any order; all run."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Part:
    def __init__(self, module):
        self.module = module


class Learner:
    def __init__(self, net):
        self.net = net
        self.parts = {"inner": Part(net)}
        self.optimizer = nnx.Optimizer(net, optax.sgd(0.1))
        self.kept = None

"""
LEARN = """\
    def learn(self):
        self.optimizer.update(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(self.net))
"""
KEEP = """\
    def keep(self):
        self.kept = nnx.state(self.net)
"""
BACK = """\
    def back(self, *given):
        nnx.update(self.net, self.kept)
"""
LOAD = """\

    def load(self, reader):
        self.kept = reader.read()
"""
GIVE = """\
    def keep(self):
        return nnx.state(self.net)
"""
TAKE = """\
    def back(self, state):
        nnx.update(self.net, state)
"""
GIVE_MANY = """\
    def keep(self):
        return {"net": nnx.state(self.net), "step": 3}
"""
TAKE_MANY = """\
    def back(self, saved):
        nnx.update(self.net, saved["net"])
"""
DELEGATED = """\
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.__dict__["parts"][name].module

    def keep(self):
        self.kept = nnx.state(self.inner)
"""
AWAY = """\
    def back(self, *given):
        nnx.update(self.inner, self.kept)
"""
#: Calls the methods by their names, so that nothing of the project is seen to call them.
FOOT = """

learner = globals()["Learner"](nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
before = learner.net.kernel.value.sum()
kept = getattr(learner, "ke" + "ep")()
getattr(learner, "le" + "arn")()
moved = learner.net.kernel.value.sum()
getattr(learner, "ba" + "ck")(kept)
print(before == learner.net.kernel.value.sum(), before == moved)
"""
KINDS = {
    "kept": (LEARN, KEEP, BACK),
    "given": (LEARN, GIVE, TAKE),
    "given with more": (LEARN, GIVE_MANY, TAKE_MANY),
    "delegated": (LEARN, DELEGATED, AWAY),
    "set anew by another method": (LEARN, KEEP + LOAD, BACK),
}
DERIVED = {
    "learns": (LEARN, KEEP, BACK), "keeps": (KEEP, BACK, LEARN), "puts back": (BACK, KEEP, LEARN)
}  # fmt: skip
PROGRAMS = {
    f"{name} {''.join(map(str, order))}": HEAD + "\n".join(kind[i] for i in order) + FOOT
    for name, kind in KINDS.items()
    for order in permutations(range(3))
} | {
    f"a derived class {name}": HEAD
    + "\n".join(others)
    + f"\n\nclass Derived(Learner):\n{own}"
    + FOOT.replace('"Learner"', '"Derived"')
    for name, (own, *others) in DERIVED.items()
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("orders"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_copy_is_kept(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "nnx.clone(nnx.state(self." in migrate_text(PROGRAMS[name])
    assert_same(outputs, name)


LEFT = {
    "nothing changes": (KEEP, BACK),
    "nothing is put back": (LEARN, GIVE, "    def back(self, state):\n        print(len(state))\n"),
    "never read": (LEARN, KEEP),
    "private": (LEARN, KEEP.replace("keep", "_keep"), BACK.replace("back", "_back")),
    "set anew before it is put back": (
        LEARN, KEEP, BACK.replace("*given):\n", "reader):\n        self.kept = reader.read()\n"),
    ),
    "only counted": (LEARN, KEEP, BACK.replace("nnx.update(self.net, self.kept)", "return len(self.kept)")),
    "calls in sight": (LEARN, KEEP, BACK + "\n\ndef run(learner: Learner):\n    learner.learn()\n    learner.keep()\n"
                       "    learner.back()\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_nothing_to_copy(name: str) -> None:
    assert "nnx.clone" not in migrate_text(HEAD + "\n".join(LEFT[name]))
