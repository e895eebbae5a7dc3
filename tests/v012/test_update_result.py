"""NNX618: branches that return what Optimizer.update returns; all run under the releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agreement import assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model)


"""
SHOW = "\nprint(model.kernel.value)\n"
FIXED = {
    "lambda": "nnx.cond(True, lambda m, o, g: o.update(m, g), lambda m, o, g: None, model, optimizer, grads)",
    "keywords": "nnx.cond(True, lambda m, o, g: o.update(model=m, grads=g), lambda *a: None, model, optimizer, grads)",
    "swapped": "nnx.cond(False, lambda m, o: None, lambda m, o: o.update(m, grads), model, optimizer)",
    "function": "def apply(m, o):\n    return o.update(m, grads)\n\n\ndef skip(m, o):\n    pass\n\n\n"
    "nnx.cond(True, apply, skip, model, optimizer)",
    "early return": "def apply(m, o):\n    if grads is not None:\n        return o.update(m, grads)\n"
    "    return None\n\n\nnnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "through a helper": "def train(m, o):\n    return o.update(m, grads)\n\n\n"
    "nnx.cond(True, lambda m, o: train(m, o), lambda m, o: None, model, optimizer)",
    "variable": "def apply(m, o):\n    done = o.update(m, grads)\n    return done\n\n\n"
    "nnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "tuple": "print(nnx.cond(True, lambda m, o: (o.update(m, grads), 1), lambda m, o: (None, 0), model, optimizer))",
    "switch": "def skip(m, o):\n    return\n\n\n"
    "nnx.switch(jnp.array(1), [skip, lambda m, o: o.update(m, grads), skip], model, optimizer)",
    "jax": "jax.lax.cond(True, lambda m, o: o.update(m, grads), lambda m, o: None, model, optimizer)",
    "jax switch": "jax.lax.switch(0, [lambda m, o: o.update(m, grads), lambda m, o: None], model, optimizer)",
    "deep return": "def apply(m, o):\n    def other():\n        return 1\n\n    with jax.named_scope('x'):\n"
    "        try:\n"
    "            if other():\n                return o.update(m, grads)\n        except ValueError:\n"
    "            return None\n"
    "    return None\n\n\nnnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "in a handler": "def apply(m, o):\n    try:\n        raise ValueError\n    except ValueError:\n"
    "        return o.update(m, grads)\n\n\nnnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "otherwise": "def apply(m, o):\n    if o is None:\n        return None\n    else:\n"
    "        return o.update(m, grads)\n\n\n"
    "nnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "imported": "from flax.nnx import cond as choose\n\n"
    "choose(True, lambda m, o: o.update(m, grads), lambda m, o: None, model, optimizer)",
    "two optimizers": "other = nnx.Embed(3, 2, rngs=nnx.Rngs(1))\n"
    "second = nnx.Optimizer(other, optax.sgd(0.1), wrt=nnx.Param)\n"
    "more = nnx.grad(lambda m: m(jnp.array([0])).sum())(other)\n"
    "nnx.cond(\n    False,\n    lambda m, o, n, p: o.update(m, grads),\n    lambda m, o, n, p: p.update(n, more),\n"
    "    model, optimizer, other, second,\n)\nprint(other.embedding.value)",
    "in a class": "class Trainer:\n    def apply(self, m, o):\n        return o.update(m, grads)\n\n"
    "    def step(self):\n        nnx.cond(True, lambda m, o: self.apply(m, o), lambda *a: None, model, optimizer)\n\n"
    "\nTrainer().step()",
    "below jit": "@nnx.jit\ndef step(m, o, x):\n    loss, g = nnx.value_and_grad(lambda m: m(x).sum())(m)\n"
    "    nnx.cond(loss > 10, lambda m, o: None, lambda m, o: o.update(m, g), m, o)\n    return loss\n\n\n"
    "print(step(model, optimizer, jnp.ones((1, 2))))",
}


LEFT = {
    "statement": "def apply(m, o):\n    o.update(m, grads)\n\n\n"
    "nnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "both update": "nnx.cond(True, lambda m, o: o.update(m, grads), lambda n, p: p.update(n, grads), model, optimizer)",
    "both return a loss": "def apply(m, o):\n    o.update(m, grads)\n    return 1.0\n\n\n"
    "nnx.cond(True, apply, lambda m, o: 0.0, model, optimizer)",
    "already dropped": "nnx.cond(True, lambda m, o: (o.update(m, grads), 1)[1], lambda m, o: 1, model, optimizer)",
    "function within": "def apply(m, o):\n    def inner():\n        return o.update(m, grads)\n\n    inner()\n\n\n"
    "nnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "method within": "def apply(m, o):\n    class Inner:\n        def run(self):\n"
    "            return o.update(m, grads)\n\n"
    "    Inner().run()\n\n\nnnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    "no branch": "step = nnx.jit(lambda m, o: o.update(m, grads))\nstep(model, optimizer)",
    "python's if": "optimizer.update(model, grads) if grads else None",
    "dict": "x = jax.lax.cond(True, lambda d: d, lambda d: d, {})\n"
    "nnx.cond(True, lambda: dict().update({}), lambda: None)",
    "metric": "metric = nnx.metrics.Average()\n"
    "nnx.cond(True, lambda m: m.update(values=jnp.ones(1)), lambda m: None, metric)",
    "optax": "tx = optax.sgd(0.1)\nstate = tx.init(1.0)\n"
    "jax.lax.cond(True, lambda s: tx.update(1.0, s), lambda s: (1.0, s), state)",
    "own class": "class Bag:\n    def update(self, m, g):\n        return None\n\n\nbag = Bag()\n"
    "nnx.cond(True, lambda m: bag.update(m, grads), lambda m: None, model)",
    "own cond": "def cond(p, f, g, *args):\n    return f(*args) if p else g(*args)\n\n\n"
    "cond(True, lambda m, o: o.update(m, grads), lambda m, o: None, model, optimizer)",
    "unpacked": "both = [lambda m, o: o.update(m, grads), lambda m, o: None]\nnnx.cond(True, *both, model, optimizer)",
}
RUN = [
    "function within",
    "method within",
    "both update",
    "both return a loss",
    "already dropped",
    "statement",
    "no branch",
]


def _program(name: str) -> str:
    return HEAD + (FIXED | LEFT)[name] + SHOW


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("update")
    texts = {name: _program(name) for name in [*FIXED, *RUN]}
    done = {"0.11": execute_all("0.11", texts, folder / "0.11")}
    for version in ("0.12", "0.11"):
        chosen = options("0.12", origin="0.11", ignore=("NNX603",))
        made = {name: migrate_text(text, chosen) for name, text in texts.items()}
        done[f"{version} migrated"] = execute_all(version, made, folder / f"{version}-migrated")
    done["0.12 as it was"] = execute_all("0.12", texts, folder / "broken")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    """The program broke under 0.12, and prints what it printed under 0.11 once migrated, under both."""
    broken = outputs["0.12 as it was"][name]
    assert "must have the same pytree structure" in broken.err
    rest = {version: done for version, done in outputs.items() if version != "0.12 as it was"}
    assert_same({"0.10": rest.pop("0.11"), **rest}, name)


@pytest.mark.parametrize("name", FIXED)
def test_a_second_run_changes_nothing(name: str) -> None:
    chosen = options("0.12", origin="0.11", select=("NNX618",))
    assert set(codes(_program(name), chosen)) == {"NNX618"}
    once = migrate_text(_program(name), chosen)
    assert codes(once, chosen) == []


def test_the_form_of_0_10_is_migrated_as_a_whole_under_the_releases(tmp_path: Path) -> None:
    head = HEAD.replace(", wrt=nnx.Param", "")
    calls = {
        "operand": "nnx.cond(True, lambda o, g: o.update(g), lambda o, g: None, optimizer, grads)",
        "threaded": "nnx.cond(True, lambda m, o: o.update(grads), lambda m, o: None, model, optimizer)",
        "function": "def apply(m, o):\n    return o.update(grads)\n\n\n"
        "nnx.cond(True, apply, lambda m, o: None, model, optimizer)",
    }
    done = runs({name: head + call + SHOW for name, call in calls.items()}, tmp_path, ("0.12",))
    for name in calls:
        assert_same(done, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX618" not in codes(HEAD + LEFT[name], options("0.12", origin="0.11"))


@pytest.mark.parametrize("name", RUN)
def test_what_is_left_alone_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same({"0.10": outputs["0.11"], "0.12": outputs["0.12 as it was"]}, name)


def test_nothing_is_said_before_0_12() -> None:
    assert "NNX618" not in codes(_program("lambda"), options("0.11"))
    assert "NNX618" in codes(_program("lambda"), options("0.12", origin="0.12")), "it raises there"


def test_all_branches_are_one_fix() -> None:
    found = [f for f in look(_program("two optimizers"), options("0.12", origin="0.11")).findings if f.code == "NNX618"]
    assert len(found) == 2
    assert found[0].fix is found[1].fix


ASKED = {
    "or": "step = lambda: optimizer.update(grads) or 1\nprint(step())",
    "not": "if not optimizer.update(grads):\n    print('stepped')",
    "compared": "print(optimizer.update(grads) is None, [1, 2][optimizer.update(grads) != None])",
    "if": "print(1 if optimizer.update(grads) else 2)",
}
NOT_ASKED = {
    "last operand": "done = True and optimizer.update(grads)\nprint(len(vars()) > 0)",
    "a dict": "seen = {}\nprint(seen.update(a=1) or 3)",
    "compared with something else": "print(optimizer.update(grads) == 3)",
}


def test_conditions_are_as_before_under_the_releases(tmp_path: Path) -> None:
    head = HEAD.replace(", wrt=nnx.Param", "")
    done = runs({name: head + body + SHOW for name, body in {**ASKED, **NOT_ASKED}.items()}, tmp_path, ("0.12",))
    for name in (*ASKED, *NOT_ASKED):
        assert_same(done, name)
    assert all("NNX618" in codes(head + body, options("0.12")) for body in ASKED.values())
    assert not any("NNX618" in codes(head + body, options("0.12")) for body in NOT_ASKED.values())
