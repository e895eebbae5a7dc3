"""What counts as traced for certain: mistakes at the end of such chains are told, others are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.nnx.options import Options
from tests.batch import execute_all
from tests.migration import look

_HEAD = "from functools import partial\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n"
_OPTIONS = Options(origin="0.12", targets=("0.12",), lint=True)

_PURE = """\
def pure(fun):
    def purified(state, x):
        out = fun(x)
        return state, out
    return purified
def init(fun):
    fun = pure(fun)
    @jax.jit
    def initial(state, x):
        return fun(state, x)[0]
    return initial
"""
_APPLY = "def apply(f, x):\n    return f(x)\n@jax.jit\ndef doubled(x):\n    return apply(lambda v: v * 2, x)\n"

# the files beside main.py, and main.py
TOLD: dict[str, tuple[dict[str, str], str]] = {
    "a helper of another file": (
        {"tools.py": _HEAD + "def total(x):\n    return float(x.sum())  # NNX821\n"},
        "from tools import total\n@jax.jit\ndef f(x):\n    return total(x) + 1\n",
    ),
    "a function of another file, compiled by name": (
        {"tools.py": _HEAD + "def total(x):\n    if x.sum() > 0:  # NNX820\n        return x\n    return -x\n"},
        "import tools\nf = jax.jit(tools.total)\n",
    ),
    "a chain of three": (
        {
            "low.py": _HEAD + "def low(x):\n    return np.exp(x * 2)  # NNX810\n",
            "middle.py": "from low import low\ndef middle(x):\n    return low(x) + 1\n",
        },
        "from middle import middle\n@jax.jit\ndef f(x):\n    return middle(x)\n",
    ),
    "a wrapper of the same file": (
        {},
        _PURE + "def body(x):\n    return float(x.sum())  # NNX821\nstep = jax.jit(pure(body))\n",
    ),
    "both callers compile": (
        {},
        _PURE
        + "def one(x):\n    return float(x.sum())  # NNX821\ndef two(x):\n    return int(x.sum())  # NNX821\n"
        + "first, second = jax.jit(pure(one)), jax.jit(pure(two))\n",
    ),
    "compiled in the wrapper": (
        {},
        "def fast(fun):\n    @jax.jit\n    def inner(x):\n        return fun(x)\n    return inner\n"
        "def one(x):\n    return float(x.sum())  # NNX821\nstep = fast(one)\n",
    ),
    "steps of a factory, two of which compiled code calls": (
        {},
        "def make_step(loss):\n    def step(p, x):\n        return p - loss(p, x)\n    return step\n"
        "def one(p, x):\n    return float(x.sum()) * p  # NNX821\n"
        "def two(p, x):\n    return float(x.sum()) * p  # NNX821\n"
        "def three(p, x):\n    return float(x.sum()) * p\n"
        "def four(p, x):\n    return float(x.sum()) * p  # NNX821\n"
        "first, second, third = make_step(one), make_step(two), make_step(three)\nfourth = jax.jit(make_step(four))\n"
        "@jax.jit\ndef train(p, x):\n    return second(first(p, x), x)\n",
    ),
    "a flag that a caller gives": (
        {"tools.py": _HEAD + "def shown(x):\n    return float(x.sum())  # NNX821\n"},
        "from tools import shown\ndef work(x, debug=False):\n    if debug:\n        return shown(x)\n    return x\n"
        "@jax.jit\ndef f(x):\n    return work(x, debug=True)\n",
    ),
    "a condition on a shape": (
        {"tools.py": _HEAD + "def flat(x):\n    return float(x.sum())  # NNX821\n"},
        "from tools import flat\n@jax.jit\ndef f(x):\n    if x.ndim == 1:\n        return flat(x)\n    return x\n",
    ),
}

QUIET: dict[str, tuple[dict[str, str], str]] = {
    "what another caller compiles": (
        {"pure.py": _HEAD + _PURE},
        "from pure import init, pure\n"
        "class Map:\n    def data(self, x):\n        return np.asarray(x), float(x.sum()), int(x[0])\n"
        "    def train(self, x):\n        return x * 2\n"
        "m = Map()\nget = pure(m.data)\nfast = jax.jit(pure(m.train))\ninit(m.train)({}, jnp.ones(3))\n"
        "print(get({}, jnp.ones(3)), fast({}, jnp.ones(3)))\n",
    ),
    "what another caller compiles, in one file": (
        {},
        _PURE + "def data(x):\n    return float(x.sum())\ndef train(x):\n    return x * 2\n"
        "get, fast = pure(data), jax.jit(pure(train))\nprint(get({}, jnp.ones(3)), fast({}, jnp.ones(3)))\n",
    ),
    "a helper called with a function of its own": (
        {"tools.py": _HEAD + _APPLY},
        "from tools import apply\ndef shown(x):\n    return float(x.sum())\nprint(apply(shown, jnp.ones(3)))\n",
    ),
    "a callback of another file": (
        {"tools.py": _HEAD + "def walk(f, x, n=3):\n    for _ in range(n):\n        x = f(x)\n    return x\n"},
        "from tools import walk\ndef shown(x):\n    print(float(x.sum()))\n    return x\n"
        "def twice(x):\n    return x * 2\n@jax.jit\ndef f(x):\n    return walk(twice, x)\n"
        "print(f(jnp.ones(3)), walk(shown, jnp.ones(3)))\n",
    ),
    "a type that tracers do not have": (
        {"tools.py": _HEAD + "def exact(x):\n    return float(x)\n"},
        "from tools import exact\ndef value(x):\n    if isinstance(x, (int, float)):\n        return exact(x)\n"
        "    return x\n@jax.jit\ndef f(x):\n    return value(x) + value(3.0)\nprint(f(jnp.ones(3)))\n",
    ),
    "a kind of numbers": (
        {},
        "def shares(labels, x):\n    if jnp.issubdtype(labels.dtype, jnp.integer):\n"
        "        labels = jax.nn.one_hot(labels, labels.max() + 1)\n    return labels.T @ x\n"
        "@jax.jit\ndef f(labels, x):\n    return shares(labels, x)\n"
        "print(f(jnp.ones((3, 2)), jnp.ones(3)), shares(jnp.arange(3), jnp.ones(3)))\n",
    ),
    "a mode": (
        {"tools.py": _HEAD + "def shown(x):\n    return float(x.sum())\n"},
        "from tools import shown\ndef work(x, mode):\n    if mode == 'host':\n        return shown(x)\n    return x\n"
        "@partial(jax.jit, static_argnames='mode')\ndef f(x, mode):\n    return work(x, mode)\n"
        "print(f(jnp.ones(3), 'fast'), work(jnp.ones(3), 'host'))\n",
    ),
    "a flag that is left out": (
        {"tools.py": _HEAD + "def shown(x):\n    return float(x.sum())\n"},
        "from tools import shown\ndef work(x, debug=False):\n    if debug:\n        return shown(x)\n    return x\n"
        "@jax.jit\ndef f(x):\n    return work(x)\nprint(f(jnp.ones(3)))\n",
    ),
    "parameters of a primitive": (
        {},
        "from jax.extend.core import Primitive\nfrom jax.interpreters import batching, mlir\n"
        "first = Primitive('first')\ndef impl(x, *, n):\n    return x[:n] * 2\n"
        "def batch(args, dims, **params):\n"
        "    return jax.vmap(partial(impl, **params), in_axes=tuple(dims))(*args), 0\n"
        "first.def_impl(impl)\nmlir.register_lowering(first, mlir.lower_fun(impl, multiple_results=False))\n"
        "batching.primitive_batchers[first] = batch\nprint(batch((jnp.ones((2, 3)),), (0,), n=2))\n",
    ),
    "values that are bound by name": (
        {},
        "def part(x, n):\n    return x[:n]\n"
        "def parts(xs, **options):\n    return jax.vmap(partial(part, **options))(xs)\n"
        "print(parts(jnp.ones((2, 3)), n=2))\n",
    ),
    "an operator of the project": (
        {
            "units.py": _HEAD + "class Quantity:\n    def __init__(self, data):\n        self.data = data\n"
            "    def __add__(self, other):\n        return Quantity(self.data + getattr(other, 'data', other))\n"
            "    __radd__ = __add__\n    __array_priority__ = 100\n"
            "    def norm(self):\n        return jnp.linalg.norm(self.data)\n"
            "def metre():\n    return Quantity(jnp.ones(2))\n",
        },
        "from units import metre\n"
        "length = metre()\nlonger = length + jnp.ones(2)\nprint(longer.data, (length + 1).norm(), (1 + length).data)\n"
        "def shown(one, two):\n    return (one + jnp.ones(2)).norm(), (jnp.ones(2).sum() + two).data\n"
        "print(shown(length, length))\n",
    ),
}


def _marked(texts: dict[str, str]) -> list[tuple[str, str, str]]:
    return sorted(
        (path, match.group(1), line.strip())
        for path, text in texts.items()
        for line in text.splitlines()
        if (match := re.search(r"# (NNX\d+)$", line))
    )


def _found(texts: dict[str, str]) -> list[tuple[str, str, str]]:
    analysis = look(texts, _OPTIONS)
    assert not analysis.failures
    return sorted(
        (f.path, f.code, texts[f.path].splitlines()[texts[f.path].encode()[: f.start].count(b"\n")].strip())
        for f in analysis.findings
    )


@pytest.mark.parametrize("name", [*TOLD, *QUIET])
def test_chain(name: str) -> None:
    """Just the marked lines are found."""
    beside, main = (TOLD | QUIET)[name]
    texts = {**beside, "main.py": _HEAD + main}
    assert _found(texts) == _marked(texts)


@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_quiet_programs_run(version: str, tmp_path: Path) -> None:
    """What is left alone works."""
    loader = "import sys, types\nfor _name, _text in {texts!r}.items():\n    _made = types.ModuleType(_name)\n"
    loader += "    sys.modules[_name] = _made\n    exec(_text, _made.__dict__)\n"
    programs = {
        name: loader.format(texts={path.removesuffix(".py"): text for path, text in beside.items()}) + _HEAD + main
        for name, (beside, main) in QUIET.items()
    }
    done = execute_all(version, programs, tmp_path / version)
    assert {name: output.err for name, output in done.items() if output.code} == {}


def test_what_only_tests_trace() -> None:
    """A test would fail if NumPy could not do there what it is asked for: it may choose another backend, or a mode."""
    tools = _HEAD + "def halved(x):\n    return np.asarray(x * 0.5)  # NNX810\n"
    user = _HEAD + "from tools import halved\n@jax.jit\ndef f(x):\n    return halved(x) + 1\n"
    assert _found({"tools.py": tools, "main.py": user}) == _marked({"tools.py": tools, "main.py": user})
    assert not _found({"tools.py": tools, "test_tools.py": user})
    assert _found({"tools.py": tools, "main.py": user, "test_tools.py": user}) == _marked({"tools.py": tools})
