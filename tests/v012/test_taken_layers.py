"""NNX601 where the container is put together of what is taken from elsewhere, or a function gives it; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX605"))
HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def stack(n):
    return [nnx.Linear(1, 1, rngs=nnx.Rngs(i)) for i in range(n)]


def parts():
    first, *rest = stack(3)
    return first, rest


class Net(nnx.Module):
    def __init__(self, rngs):
        self.size = 3
"""
SHOW = "\n\nnet = Net(nnx.Rngs(0))\nprint(len(jax.tree.leaves(nnx.state(net))), len(net.a))\n"
NAMED = "for i, layer in enumerate(stack(2)):\n    setattr(self, f'fc{i}', layer)\n"
FIXED = {
    "getattr": NAMED + "self.a = [getattr(self, f'fc{i}') for i in range(2)]",
    "getattr in a tuple": NAMED + "self.a = tuple(getattr(self, 'fc' + str(i)) for i in range(2))",
    "getattr by percent": "for i in range(2):\n    setattr(self, 'fc%d' % i, stack(1)[0])\n"
    "self.a = {i: getattr(self, 'fc%d' % i) for i in range(2)}",
    "getattr by format": "for i in range(2):\n    setattr(self, 'fc_{}'.format(i), stack(1)[0])\n"
    "self.a = [getattr(self, 'fc_{}'.format(i)) for i in range(2)]",
    "getattr by a name": "for i in range(2):\n    name = f'fc{i}'\n    setattr(self, name, stack(1)[0])\n"
    "self.a = []\nfor i in range(2):\n    self.a.append(getattr(self, f'fc{i}'))",
    "getattr of assigned ones": "self.fc0, self.fc1 = stack(2)\nself.a = [getattr(self, f'fc{i}') for i in range(2)]",
    "getattr of listed names": "self.fc0 = stack(1)[0]\nself.a = {name: getattr(self, name) for name in ('fc0',)}",
    "the rest": "first, *rest = stack(3)\nself.a = rest",
    "the rest of a function": "self.first, self.a = parts()",
    "the rest of a display": "size, *rest = [3, *stack(1), nnx.relu]\nself.a = rest",
    "fromkeys": "self.a = dict.fromkeys('ab', stack(1)[0])",
    "rows of an array": "self.a = list(jax.random.split(jax.random.key(0), 3))",
    "rows in a tuple": "self.a = tuple(jnp.ones((2, 2)))",
    "rows unpacked": "keys = jax.random.split(jax.random.key(0), 3)\nself.a = [*keys]",
    "split": "self.a = jnp.split(jnp.ones(4), 2)",
    "meshgrid": "self.a = jnp.meshgrid(jnp.ones(2), jnp.ones(3))",
    "split by numpy": "self.a = np.split(np.ones(4), 2)",
    "named tuple": "self.a = jnp.linalg.eigh(jnp.eye(2))",
    "top_k": "self.a = jax.lax.top_k(jnp.ones(3), 2)",
    "keys of streams": "self.a = [rngs.params() for _ in range(2)]",
    "a key of the default stream": "self.a = {'a': rngs(), 'b': None}",
    "leaves of a dict": "self.a = jax.tree.leaves({'a': jnp.ones(2)})",
    "flattened": "self.a = jax.tree.flatten({'a': jnp.ones(2)})[0]",
    "modules": "self.fc = stack(1)[0]\nself.a = [m for path, m in self.iter_modules() if path]",
    "nodes": "self.fc = stack(1)[0]\nself.a = {str(p): v for p, v in nnx.iter_graph(self.fc)\n"
    "          if isinstance(v, nnx.Variable)}",
    "layers of Sequential": "self.seq = nnx.Sequential(*stack(2))\nself.a = [m for m in self.seq.layers]",
}
LEFT = {
    "getattr of numbers": "for i in range(2):\n    setattr(self, f'n{i}', i)\n"
    "self.a = [getattr(self, f'n{i}') for i in range(2)]",
    "getattr of both": "self.n_a, self.n_b, self.n_c = 1, 2, jnp.ones(2)\n"
    "self.a = [getattr(self, f'n_{name}') for name in 'ab']",
    "getattr of what is not known": "self.fc = stack(1)[0]\n"
    "self.a = [getattr(self, name) for name in vars(self) if name == 'size']",
    "the rest, numbers": "layer, *rest = [*stack(1), 1, 2]\nself.a = rest[-2:]",
    "the rest of a display, numbers": "layer, *rest = [stack(1)[0], 1, 2]\nself.a = rest",
    "numbers of an array": "self.a = [float(v) for v in jnp.linspace(0, 1, 3)]",
    "a list of numbers": "self.a = jnp.linspace(0, 1, 3).tolist()",
    "names of layers": "self.fc = stack(1)[0]\nself.a = ['/'.join(map(str, p)) for p, m in self.iter_modules()]",
    "fromkeys of numbers": "self.a = dict.fromkeys('ab', 0)",
    "leaves of numbers": "self.a = jax.tree.leaves({'a': 1})",
}


def _program(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.splitlines()) + SHOW


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: _program(body) for name, body in {**FIXED, **LEFT}.items()}
    return runs(texts, tmp_path_factory.mktemp("taken"), ("0.12",))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX601" in codes(_program(FIXED[name]), ONLY)
    text = migrate_text(_program(FIXED[name]), ONLY)
    assert migrate_text(text, ONLY) == text
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX601" not in codes(_program(LEFT[name]), ONLY)
    assert_same(outputs, name)
