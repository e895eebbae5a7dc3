"""Optimizers in named tuples and namespaces whose classes are made by a call."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

PROGRAM = """\
import collections
import dataclasses
import types

import jax.numpy as jnp
import optax
from flax import nnx

NAMES = ("policy", "optimizer")
Known = collections.namedtuple("Known", "policy optimizer")
Made = dataclasses.make_dataclass("Made", [("policy", nnx.Module), "optimizer"])


def create():
    policy = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(policy, optax.adam(0.1))
    return {made}


@nnx.jit
def step(policy, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(policy)
    optimizer.update(grads)
    return loss


def train(policy: nnx.Module, optimizer: nnx.Optimizer, x):
    for _ in range(2):
        print(step(policy, optimizer, x))


state = create()
train({given}, jnp.ones((1, 2)))
"""
FIELDS = "state.policy, state.optimizer"
EXPLICIT = {
    "named tuple": ("collections.namedtuple('State', ['policy', 'optimizer'])(policy, optimizer)", FIELDS),
    "with a name": ("Known(policy, optimizer=optimizer)", FIELDS),
    "unpacked": ("Known(policy, optimizer)", "*state"),
    "dataclass": ("Made(policy, optimizer)", FIELDS),
    "namespace": ("types.SimpleNamespace(policy=policy, optimizer=optimizer)", FIELDS),
    "names in a variable": ("collections.namedtuple('State', NAMES)(policy, optimizer)", FIELDS),
}
UNKNOWN = {
    "by index": ("Known(policy, optimizer)", "state[0], state[-1]"),
    "names made at run time": (
        "collections.namedtuple('State', sorted(NAMES, reverse=True))(policy, optimizer)",
        FIELDS,
    ),
}


def program(name: str) -> str:
    made, given = (EXPLICIT | UNKNOWN)[name]
    return PROGRAM.replace("{made}", made).replace("{given}", given)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: program(name) for name in EXPLICIT | UNKNOWN}, tmp_path_factory.mktemp("records"))


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit(name: str) -> None:
    once = migrate_text(program(name), options("0.11"))
    assert "wrt=nnx.Param)" in once
    assert "optimizer.update(policy, grads)" in once
    assert codes(once, options("0.11")) == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_compatible_where_the_model_has_no_name(name: str) -> None:
    once = migrate_text(program(name), options("0.11"))
    assert "nnx.ModelAndOptimizer(policy" in once
    assert "optimizer.update(grads)" in once


@pytest.mark.parametrize("name", EXPLICIT | UNKNOWN)
def test_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_no_update_of_a_promised_optimizer_is_left_unsaid() -> None:
    """What comes back from foreign code is no optimizer that is seen, but an annotation says that it is one."""
    text = program("named tuple").replace("state = create()", "from library import keep\nstate = keep(create())")
    once = migrate_text(text, options("0.11"))
    assert "nnx.ModelAndOptimizer(policy" in once
    assert "optimizer.update(grads)" in once
    assert codes(once, options("0.11")) == []


HEAD = """\
import types
import typing
from collections import namedtuple

import jax.numpy as jnp
import optax
from flax import nnx

Pair = namedtuple("Pair", "net opt")


def made(seed=0):
    net = nnx.Linear(2, 2, rngs=nnx.Rngs(seed))
    return net, nnx.Optimizer(net, optax.adam(0.1))


def loss(net):
    return (net(jnp.ones((1, 2))) ** 2).mean()


def apply(optimizer, grads):
    optimizer.update(grads)


net, opt = made()
"""
HELD = {
    "a field in a variable": "pair = Pair(net, opt); o = pair.opt\no.update(nnx.grad(loss)(pair.net))",
    "unpacked": "n, o = Pair(net, opt)\no.update(nnx.grad(loss)(n))",
    "by place": "pair = Pair(net, opt)\npair[1].update(nnx.grad(loss)(pair[0]))",
    "one of a list": (
        "pairs = [Pair(*made(seed)) for seed in range(2)] + [Pair(net, opt)]\n"
        "for o, n in zip([p.opt for p in pairs], [p.net for p in pairs]):\n    apply(o, nnx.grad(loss)(n))"
    ),
    "values of a dict": (
        "pairs = {'a': Pair(net=net, opt=opt), 'b': Pair(*made(1))}\n"
        "for pair in pairs.values():\n    o = pair.opt\n    o.update(nnx.grad(loss)(pair.net))"
    ),
    "its model": "pair = Pair(net, opt)\nprint(pair.opt.model is pair.net)",
    "a class of its own": (
        "class Own(namedtuple('Own', ['net', 'opt'])):\n    def step(self):\n"
        "        self.opt.update(nnx.grad(loss)(self.net))\n\n\n"
        "own = Own(net, opt)\nown.step()\nown[1].update(nnx.grad(loss)(own[0]))"
    ),
    "of a sequence": "pair = Pair._make([net, opt])\napply(pair.opt, nnx.grad(loss)(net))",
    "of an unknown sequence": "held = [net, opt]; pair = Pair(*held)\napply(pair.opt, nnx.grad(loss)(net))",
    "of keywords": "held = {'net': net, 'opt': opt}; pair = Pair(**held)\napply(pair.opt, nnx.grad(loss)(net))",
    "replaced in a loop": (
        "Counted = namedtuple('Counted', 'net opt step'); state = Counted(net, opt, 0)\nfor _ in range(2):\n"
        "    state.opt.update(nnx.grad(loss)(state.net)); state = state._replace(step=state.step + 1)"
    ),
    "replaced later": (
        "Late = namedtuple('Late', 'net opt', defaults=[None])\n"
        "late = Late(net)\nlate = late._replace(opt=opt)\nlate.opt.update(nnx.grad(loss)(late.net))"
    ),
    "as a dict": "pair = Pair(net, opt)\npair._asdict()['opt'].update(nnx.grad(loss)(net))",
    "as keywords": ("def step(net, opt):\n    opt.update(nnx.grad(loss)(net))\n\n\nstep(**Pair(net, opt)._asdict())"),
    "in an attribute": (
        "class Trainer:\n    def __init__(self):\n        self.pair = Pair(net, opt)\n\n    def step(self):\n"
        "        o = self.pair.opt\n        o.update(nnx.grad(loss)(self.pair.net))\n\n\nTrainer().step()"
    ),
    "a named tuple of typing": (
        "Made = typing.NamedTuple('Made', [('net', nnx.Module), ('opt', object)]); pair = Made(net, opt)\n"
        "apply(pair.opt, nnx.grad(loss)(pair.net))"
    ),
    "a namespace": ("pair = types.SimpleNamespace(net=net, opt=opt)\napply(pair.opt, nnx.grad(loss)(pair.net))"),
    "a key": "for o, n in {opt: net}.items():\n    o.update(nnx.grad(loss)(n))",
    "a key that is set": "nets = {}; nets[opt] = net\nfor o in nets:\n    o.update(nnx.grad(loss)(nets[o]))",
}
HELD = {name: f"{HEAD}{text}\nprint(float(loss(net)))\n" for name, text in HELD.items()}


@pytest.fixture(scope="module")
def held_outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(HELD, tmp_path_factory.mktemp("held"))


@pytest.mark.parametrize("name", HELD)
def test_what_holds_an_optimizer(name: str, held_outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(held_outputs, name)
