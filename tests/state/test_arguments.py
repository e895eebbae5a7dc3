"""NNX401: a State that a function under a transform changes in place, which its caller sees since 0.11; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import functools

import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
s = nnx.state(model)
one = jnp.ones(3)


"""
SHOW = "\nprint(s['bias'].value, model.bias.value)\n"
BODY = "def f(s):\n    s['bias'].value = one\n    return s['kernel'].value.sum()\n\n\n"
FIXED = {
    "decorated": f"@nnx.jit\n{BODY}f(s)",
    "made by a call": f"{BODY}g = nnx.jit(f)\ng(s)",
    "attribute": "@nnx.jit\ndef f(s):\n    s.bias.value = one\n    return 0.0\n\n\nf(s)",
    "augmented": "@nnx.jit\ndef f(s):\n    s['bias'].value += one\n    return 0.0\n\n\nf(s)",
    "with options": "@functools.partial(nnx.jit, static_argnums=1)\n"
    "def f(s, n):\n    s['bias'].value = n * one\n\n\nf(s, 1)",
    "gradient": f"{BODY}nnx.grad(f)(s)",
    "value and gradient": f"{BODY}nnx.value_and_grad(f)(s)",
    "remat": f"@nnx.remat\n{BODY}f(s)",
    "own copy": f"s = nnx.clone(s)\n\n\n@nnx.jit\n{BODY}f(s)",
    "split": f"graphdef, s = nnx.split(model)\n\n\n@nnx.jit\n{BODY}f(s)",
    "all leaves": "@nnx.jit\ndef f(s):\n    for path, leaf in nnx.to_flat_state(s):\n"
    "        leaf.value = 0 * leaf.value + 1\n\n\nf(s)",
    "helper": "def change(s):\n    s['bias'].value = one\n\n\n@nnx.jit\ndef f(s):\n    change(s)\n\n\nf(s)",
    "leaf in a variable": "@nnx.jit\ndef f(s):\n    bias = s['bias']\n    bias.value = one\n\n\nf(s)",
    "held by an object": f"class Trainer:\n    def __init__(self):\n        self.state = nnx.state(model)\n\n"
    f"    def run(self):\n        f(self.state)\n\n\n@nnx.jit\n{BODY}trainer = Trainer()\n"
    "trainer.run()\ns = trainer.state",
    "handed on by a helper": f"def run(s):\n    f(s)\n\n\n@nnx.jit\n{BODY}run(s)",
    "in a dictionary": f"@nnx.jit\n{BODY}box = {{'s': s}}\n\n\ndef run():\n    f(box['s'])\n\n\nrun()",
    "one of a list": f"@nnx.jit\n{BODY}def run(states):\n    for state in states:\n        f(state)\n\n\n"
    "states = [nnx.state(model), nnx.state(model)]\nrun(states)\ns = states[0]",
    "part of a split in a field": "@nnx.jit\ndef f(p, rest):\n    p['bias'].value = one\n\n\nclass Trainer:\n"
    "    def __init__(self, m):\n        self.graphdef, self.params, self.rest = nnx.split(m, nnx.Param, ...)\n\n"
    "    def run(self):\n        f(self.params, self.rest)\n\n\n"
    "trainer = Trainer(model)\ntrainer.run()\ns = trainer.params",
    "compiled in a field": "class Trainer:\n    def __init__(self, s):\n        self.s = s\n"
    "        self.f = nnx.jit(self._f)\n\n    @staticmethod\n    def _f(s):\n        s['bias'].value = one\n\n"
    "    def run(self):\n        self.f(self.s)\n\n\ntrainer = Trainer(s)\ntrainer.run()",
    "in a loop": "@nnx.jit\ndef f(s, x):\n    s['bias'].value = s['bias'].value + x\n    return s['bias'].value.sum()\n"
    "\n\nfor x in (1.0, 2.0):\n    print(f(s, x))",
    "returned": "@nnx.jit\ndef f(s):\n    s['bias'].value = one\n    return s\n\n\n"
    "new = f(s)\nprint(new['bias'].value)",
    "module merged from it": "graphdef, s = nnx.split(model)\n\n\n@nnx.jit\ndef f(s):\n"
    "    made = nnx.merge(graphdef, s)\n    made.bias.value = one\n    return 0.0\n\n\nf(s)",
}
LEFT = {
    "only read": "@nnx.jit\ndef f(s):\n    return s['bias'].value.sum()\n\n\nprint(f(s))",
    "without a transform": f"s = nnx.clone(s)\n\n\n{BODY}f(s)",
    "entry replaced": "@nnx.jit\ndef f(s):\n    s['bias'] = s['bias'].replace(one)\n    return 0.0\n\n\nf(s)",
    "jax": "@jax.jit\ndef f(s):\n    s['bias'].value = one\n    return 0.0\n\n\nf(s)",
    "copied inside": "@nnx.jit\ndef f(s):\n    s = nnx.clone(s)\n    s['bias'].value = one\n    return 0.0\n\n\nf(s)",
    "the module itself": "@nnx.jit\ndef f(m):\n    m.bias.value = one\n\n\nf(nnx.Linear(2, 3, rngs=nnx.Rngs(1)))",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text + SHOW for name, text in {**FIXED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("arguments"))


@pytest.mark.parametrize("name", FIXED)
def test_the_caller_keeps_what_it_had(name: str) -> None:
    text = HEAD + FIXED[name] + SHOW
    assert migrate_text(text, options("0.11")) != text


@pytest.mark.parametrize("name", FIXED)
def test_the_caller_keeps_what_it_had_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    text = HEAD + LEFT[name] + SHOW
    assert migrate_text(text, options("0.11")) == text


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
