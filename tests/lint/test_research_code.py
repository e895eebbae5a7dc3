"""Code as it stands in public research projects: what looks like a mistake and is none, beside the mistake itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codemods.nnx.lint.arrays import UNKNOWN, Array, same_kind
from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES
from tests.batch import execute_all
from tests.migration import look

HEAD = """\
import dataclasses
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
"""

# by rule: what is right there, and the same with the mistake
PAIRS = {
    "an entry of a dict in a frozen object": (
        "NNX771",
        """\
@flax.struct.dataclass
class State:
    params: dict
    seen: list

def copy(state: State):
    state.params["target"] = state.params["online"]
    state.seen.append(1)
    del state.params["online"]
    return state

print(copy(State({"online": 1, "target": 2}, [])))
""",
        """\
@flax.struct.dataclass
class State:
    params: dict

def copy(state: State):
    state.params = dict(state.params, target=state.params["online"])
    return state
""",
    ),
    "a draw that nothing reads": (
        "NNX830",
        """\
def proposed(key, position, scale):
    first, second = jax.random.split(key)
    momentum = jax.random.normal(first, position.shape) * scale
    momentum = jax.random.normal(first, position.shape) @ jnp.diag(scale)
    return momentum, jax.random.uniform(second)

print(proposed(jax.random.key(0), jnp.ones(2), jnp.ones(2)))
""",
        """\
def proposed(key, position, scale):
    first, second = jax.random.split(key)
    momentum = jax.random.normal(first, position.shape) * scale
    print(momentum)
    momentum = jax.random.normal(first, position.shape) @ jnp.diag(scale)
    return momentum, jax.random.uniform(second)
""",
    ),
    "a draw that the branch does not read": (
        "NNX830",
        """\
def rotation(key, n, theta=None):
    if theta is None:
        theta = jnp.pi * jax.random.uniform(key)
    if n == 1:
        return jax.random.uniform(key) * jnp.eye(1)
    return jnp.array([[jnp.cos(theta), -jnp.sin(theta)], [jnp.sin(theta), jnp.cos(theta)]])

print(rotation(jax.random.key(0), 1))
""",
        """\
def rotation(key, n, theta=None):
    if theta is None:
        theta = jnp.pi * jax.random.uniform(key)
    if n == 1:
        return jax.random.uniform(key) * jnp.eye(1) * theta
    return jnp.array([[jnp.cos(theta), -jnp.sin(theta)], [jnp.sin(theta), jnp.cos(theta)]])
""",
    ),
    "arrays of a list in one order": (
        "NNX830",
        """\
def parted(key, arrays, count):
    arrays = [jax.random.permutation(key, a) for a in arrays]
    return [a[:count] for a in arrays]

print(parted(jax.random.key(0), [jnp.arange(4), jnp.arange(4)], 2))
""",
        """\
def parted(key, arrays, count):
    noise = [jax.random.normal(key, a.shape) for a in arrays]
    return [n[:count] for n in noise]
""",
    ),
    "what is undone with its key": (
        "NNX830",
        """\
def rotate(x, key):
    return x * jax.random.rademacher(key, x.shape)

def inverse_rotate(x, key):
    return x * jax.random.rademacher(key, x.shape)

def sent(x, key):
    return inverse_rotate(jnp.round(rotate(x, key)), key)

print(sent(jnp.ones(3), jax.random.key(0)))
""",
        """\
def rotate(x, key):
    return x * jax.random.rademacher(key, x.shape)

def disturb(x, key):
    return x + jax.random.rademacher(key, x.shape)

def sent(x, key):
    return disturb(jnp.round(rotate(x, key)), key)
""",
    ),
    "a pair that a loop takes together": (
        "NNX830",
        """\
def cropped(key, images, name):
    offset = jax.random.randint(key, (), 0, 3)
    return {**images, name: jax.lax.dynamic_slice(images[name], (offset,), (2,))}

def augmented(key, images, colors, depths):
    for color, depth in zip(colors, depths):
        key, part = jax.random.split(key)
        images = cropped(part, images, color)
        images = cropped(part, images, depth)
    return images

print(augmented(jax.random.key(0), {"a": jnp.arange(4), "b": jnp.arange(4)}, ["a"], ["b"]))
""",
        """\
def cropped(key, images, name):
    offset = jax.random.randint(key, (), 0, 3)
    return {**images, name: jax.lax.dynamic_slice(images[name], (offset,), (2,))}

def augmented(key, images, colors):
    for color in colors:
        key, part = jax.random.split(key)
        images = cropped(part, images, color)
        images = cropped(part, images, "depth")
    return images
""",
    ),
    "a key of the constructor that is split twice": (
        "NNX830",
        """\
def quietly(level, function):
    return function()

class Experiment:
    def __init__(self, seed):
        self.key = quietly("error", lambda: jax.random.key(seed))
        self.key, data_key = jax.random.split(self.key)
        self.data = jax.random.normal(data_key)
        self.key, model_key = jax.random.split(self.key)
        self.model = jax.random.normal(model_key)

print(Experiment(0).model)
""",
        """\
class Experiment:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        _, data_key = jax.random.split(self.key)
        self.data = jax.random.normal(data_key)
        _, model_key = jax.random.split(self.key)
        self.model = jax.random.normal(model_key)
""",
    ),
    "a key that a wrapper keeps within one trace": (
        "NNX804",
        """\
def with_key(key):
    def wrap(function):
        def wrapped(*args):
            nonlocal key
            key, part = jax.random.split(key)
            return function(part, *args)

        return wrapped

    return wrap

@jax.jit
def step(params, key, batch):
    def loss(params):
        @with_key(key)
        def forward(key, params, x):
            return x @ params + jax.random.normal(key, (3,))

        return jnp.mean(forward(params, batch)) + jnp.mean(forward(params, batch))

    return jax.grad(loss)(params)

print(step(jnp.ones((2, 3)), jax.random.key(0), jnp.ones((4, 2))))
""",
        """\
def made(key):
    @jax.jit
    def noisy(x):
        nonlocal key
        key, part = jax.random.split(key)
        return x + jax.random.normal(part, x.shape)

    return noisy
""",
    ),
    "a variable of another library": (
        "NNX804",
        """\
class Cell:
    def __init__(self, value):
        self.value = value

    def __iadd__(self, other):
        self.value = self.value + other
        return self

class Net:
    def __init__(self):
        self.total = Cell(0)

net = Net()

@jax.jit
def step(x):
    net.total += 1
    return x

print(step(jnp.ones(2)))
""",
        """\
class Net:
    def __init__(self):
        self.total = 0

net = Net()

@jax.jit
def step(x):
    net.total += 1
    return x

print(step(jnp.ones(2)))
""",
    ),
    "a stack that is left as it was": (
        "NNX805",
        """\
frames = []

def running(function):
    def run(params, x):
        frames.append(params)
        out = function(x)
        frames.pop()
        return out

    return run

print(jax.jit(running(lambda x: x * frames[-1]))(2.0, 3.0))
""",
        """\
frames = []

def running(function):
    def run(params, x):
        frames.append(params)
        return function(x)

    return run

print(jax.jit(running(lambda x: x * frames[-1]))(2.0, 3.0))
""",
    ),
    "an update that gives something back": (
        "NNX805",
        """\
class Solver:
    def __init__(self):
        self.optimizers = [optax.sgd(0.1), optax.sgd(0.2)]

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, params, states, grads):
        updates, states[0] = self.optimizers[0].update(grads, states[0])
        return optax.apply_updates(params, updates), states

solver = Solver()
print(solver.step(jnp.ones(2), [solver.optimizers[0].init(jnp.ones(2))], jnp.ones(2))[0])
""",
        """\
class Solver:
    def __init__(self):
        self.seen = {}

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, params, grads):
        self.seen.update({"norm": optax.global_norm(grads)})
        return params - grads

Solver().step(jnp.ones(2), jnp.ones(2))
""",
    ),
    "numbers of the host beside those of a key": (
        "NNX806",
        """\
def mixed(x, rng=None):
    if rng is None:
        weight = np.random.beta(0.2, 0.2)
    else:
        weight = jax.random.beta(rng, 0.2, 0.2)
    return x * weight

@jax.jit
def step(x, key):
    return mixed(x, key)

print(step(jnp.ones(2), jax.random.key(0)).shape, mixed(np.ones(2)).shape)
""",
        """\
def mixed(x, scaled=True):
    if scaled:
        weight = np.random.beta(0.2, 0.2)
    else:
        weight = 1.0
    return x * weight

@jax.jit
def step(x):
    return mixed(x)
""",
    ),
    "a state of another library that is written to": (
        "NNX807",
        """\
class StateVariable:
    def __init__(self, value):
        self.value = value

    def __setitem__(self, index, value):
        self.value = self.value.at[index].set(value)

bias = StateVariable(jnp.zeros(2))

@jax.jit
def shifted(x, value):
    return x + value

@jax.jit
def plain(x):
    return x * 2, bias

try:
    plain(jnp.ones(2))
except TypeError:
    pass
bias[:] = 10
print(shifted(jnp.ones(2), bias.value))
""",
        """\
bias = np.zeros(2)

@jax.jit
def shifted(x):
    return x + bias

shifted(jnp.ones(2))
bias[:] = 10
shifted(jnp.ones(2))
""",
    ),
    "numbers that a simulation begins with": (
        "NNX806",
        """\
def initialize_channel(x):
    return x + np.random.uniform(-0.1, 0.1, x.shape)

print(jax.pmap(initialize_channel)(jnp.ones((1, 2))).shape)
""",
        """\
def initialize_channel(x, seed):
    return x + np.random.uniform(-0.1, 0.1, x.shape)

@jax.jit
def start(x, seed):
    return initialize_channel(x, seed)
""",
    ),
    "a list that is tried": (
        "NNX844",
        """\
try:
    jnp.sum([1, 2, 3])
except TypeError as error:
    print(error)
""",
        """\
print(jnp.sum([1, 2, 3]))
""",
    ),
    "a compiled function that is made anew": (
        "NNX807",
        """\
def compared(x):
    scale = jnp.ones(2)
    scaled = jax.jit(lambda y: y * scale)
    first = scaled(x) + scaled(x)
    scale = scale * 2
    scaled = jax.jit(lambda y: y * scale)
    return first, scaled(x)

print(compared(jnp.ones(2)))
""",
        """\
def compared(x):
    scale = jnp.ones(2)
    scaled = jax.jit(lambda y: y * scale)
    first = scaled(x) + scaled(x)
    scale = scale * 2
    return first, scaled(x)
""",
    ),
    "an entry of a tree whose name is not known": (
        "NNX840",
        """\
def filled(params, given, name):
    for key, value in given.items():
        if key == "token":
            params[name] = jnp.tile(value, (2, 1))
        else:
            params[name][key] = value
    return params

print(filled({"a": {}}, {"b": 1}, "a"))
""",
        """\
def filled(given):
    params = {"a": jnp.zeros(3)}
    for key, value in given.items():
        params["a"][key] = value
    return params
""",
    ),
    "a barrier": (
        "NNX842",
        """\
def barrier():
    jax.device_get(jnp.ones(jax.local_device_count()))

barrier()
""",
        """\
def placed(x):
    jax.device_put(x)
    return x
""",
    ),
    "a time of each element": (
        "NNX760",
        """\
def covariance(kernel, left, right):
    def one(a, b):
        t1, _ = a
        t2, _ = b
        return jax.lax.cond(t1 < t2, lambda: kernel(t1, t2), lambda: kernel(t2, t1))

    return jax.vmap(lambda a: jax.vmap(lambda b: one(a, b))(right))(left)

times = jnp.array([0.0, 0.3, 0.8])
print(covariance(lambda s, t: t - s, (times, jnp.array([0, 1, 0])), (times, jnp.array([0, 1, 0]))))
""",
        """\
def covariance(kernel, left, right):
    t1, _ = left
    t2, _ = right
    return jax.lax.cond(t1 < t2, lambda: kernel(t1, t2), lambda: kernel(t2, t1))

times = jnp.array([0.0, 0.3, 0.8])
print(covariance(lambda s, t: t - s, (times, jnp.array([0, 1, 0])), (times, jnp.array([0, 1, 0]))))
""",
    ),
    "a name that is asked for first": (
        "NNX881",
        """\
def typed(key):
    if hasattr(jax.dtypes, "prng_key"):
        return jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
    elif hasattr(jax.random, "PRNGKeyArray"):
        return isinstance(key, jax.random.PRNGKeyArray)
    return False

print(typed(jax.random.key(0)))
""",
        """\
def typed(key):
    if hasattr(key, "dtype") and key.ndim:
        return True
    return isinstance(key, jax.random.PRNGKeyArray)
""",
    ),
    "the older form of checkpoints": (
        "NNX715",
        """\
from flax.training import checkpoints

def saved(tree):
    flax.config.update("flax_use_orbax_checkpointing", False)
    checkpoints.save_checkpoint("weights", {"params": tree}, 0)
""",
        """\
from flax.training import checkpoints

def saved(tree):
    checkpoints.save_checkpoint("weights", {"params": tree}, 0)
""",
    ),
}


def _found(text: str) -> list[str]:
    analysis = look(HEAD + text, Options(origin="0.12", targets=("0.12",), lint=True))
    assert not analysis.failures
    return [f.code for f in analysis.findings if f.code.startswith(MISTAKES)]


@pytest.mark.parametrize("name", PAIRS)
def test_right(name: str) -> None:
    """Nothing is found in code that is right."""
    assert _found(PAIRS[name][1]) == []


@pytest.mark.parametrize("name", PAIRS)
def test_wrong(name: str) -> None:
    """The mistake beside it is found."""
    assert PAIRS[name][0] in _found(PAIRS[name][2])


def test_runs(tmp_path: Path) -> None:
    """The code really is right."""
    done = execute_all("0.12", {name: HEAD + right for name, (_, right, _) in PAIRS.items()}, tmp_path)
    assert {name: output.err for name, output in done.items() if output.code} == {}


def test_unlike_sources() -> None:
    """Of what several sources give a value, no more are asked once two differ: each may have many of its own."""
    asked = []

    def kinds() -> Iterator[Array]:
        for kind in (Array(1, 1), Array(1, 2), Array(1, 1)):
            asked.append(kind)
            yield kind

    assert same_kind(kinds()) == UNKNOWN
    assert len(asked) == 2
    assert same_kind(iter([Array(1, 1), Array(1, 1)])) == Array(1, 1)


NOTED = """\
# %%
import jax
key = jax.random.key(0)
a = jax.random.normal(key)
HERE
b = jax.random.normal(key)  BESIDE
print(a, b)
"""


@pytest.mark.parametrize(
    ("above", "beside", "found"),
    [
        ("", "", True),
        ("# the error of the estimate", "# squared error", True),
        ("# oops, the same numbers", "", False),
        ("", "# unexpected result", False),
        ("# this will raise an error", "", False),
        ("# reusing a key leads to the same result", "", False),
        ("# same arguments, same results: a pure function", "", False),
        ("c = 1  # not allowed", "", True),
    ],
)
def test_shown_on_purpose(above: str, beside: str, found: bool) -> None:
    """A notebook may show a mistake, and says so beside it; a script is not to hold one."""
    text = NOTED.replace("HERE", above or "c = 1").replace("BESIDE", beside)
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert ("NNX830" in {f.code for f in look(text, given).findings}) is found
    plain = text.replace("# %%", "#")
    assert "NNX830" in {f.code for f in look(plain, given).findings}


def test_said_where_the_cell_begins() -> None:
    """The first comment of a cell speaks for the cell, and for no other."""
    text = NOTED.replace("HERE", "c = 1").replace("BESIDE", "")
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    shown = text.replace("# %%", "# %%\n# an example of a failure")
    assert not {f.code for f in look(shown, given).findings}
    other = text.replace("# %%", "# %%\n# an example of a failure\nprint(1)\n# %%")
    assert {f.code for f in look(other, given).findings} == {"NNX830"}


def test_notebooks_about_mistakes() -> None:
    """A notebook about sharp bits shows mistakes; a script of that name is not to hold one."""
    text = NOTED.replace("HERE", "c = 1").replace("BESIDE", "")
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert not {f.code for f in look({"sharp_bits_random.py": text}, given).findings}
    assert {f.code for f in look({"a_bit_sharper.py": text}, given).findings} == {"NNX830"}
    assert {f.code for f in look({"sharp_bits_random.py": text.replace("# %%", "#")}, given).findings} == {"NNX830"}


COUNTER = """\
# %%
import jax


class NAME:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n


counter = NAME()
fast = jax.jit(counter.count)
for _ in range(3):
    print(fast())
"""


def test_counter_of_tutorials() -> None:
    """Tutorials show with a class Counter what a side effect is."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert {f.code for f in look(COUNTER.replace("NAME", "Clock"), given).findings} == {"NNX804"}
    assert not {f.code for f in look(COUNTER.replace("NAME", "Counter"), given).findings}


PORTED = {
    "policy.py": """\
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, width: int, *, rngs: nnx.Rngs):
        self.head = nnx.Linear(width, 2, rngs=rngs)
""",
    "old.py": """\
import torch

from policy import Policy


def load(path):
    policy = Policy(4)
    policy.load_state_dict(torch.load(path))
    return policy
""",
    "new.py": """\
import torch
from policy import Policy


def load(path):
    policy = Policy(4)
    return policy, torch.load(path)
""",
}


def test_code_of_pytorch() -> None:
    """Where a file trains with PyTorch and a name of it has become a module of NNX, streams are not what it lacks."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert {(f.path, f.code) for f in look(PORTED, given).findings} == {("new.py", "NNX858")}


BOTH = {
    "sums.py": "import jax.numpy as jnp\n\n\ndef total(rows):\n    return jnp.sum(rows)\n",
    "tensors.py": """\
import torch
from sums import total

rows = torch.ones(3)


def check():
    total(rows).backward()
""",
    "arrays.py": """\
import jax.numpy as jnp
import torch
from sums import total

device = torch.device("cpu")
rows = jnp.ones(3)


def check():
    total(rows).backward()
""",
}


def test_file_of_pytorch() -> None:
    """A file that knows PyTorch alone gives tensors to functions for both: these have the methods of PyTorch."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert {(f.path, f.code) for f in look(BOTH, given).findings} == {("arrays.py", "NNX720")}


GRID = """\
import jax
import jax.numpy as jnp


def cost(radius, rate, model, key):
    return radius * rate + jax.random.normal(key)


def total(key, model, grid, rates):
    found = []
    for radius in grid:
        for rate in rates:
            key, part = jax.random.split(key)
            found.append(cost(radius, 1.0, model, rate, part))
    return found
"""


def test_call_with_too_many_arguments() -> None:
    """Where the places of the arguments are shifted, what comes to stand in the place of the key is none."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert "NNX830" not in {one.code for one in look(GRID, given).findings}
    wrong = GRID.replace("cost(radius, 1.0, model, rate, part)", "cost(radius, rate, model, key)")
    wrong = wrong.replace("key, part = jax.random.split(key)", "rate = 2 * rate")
    assert "NNX830" in {one.code for one in look(wrong, given).findings}
