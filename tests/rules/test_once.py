"""What is true of many places alike is said once, with the places."""

from __future__ import annotations

import pytest

from codemods.nnx.options import Options
from codemods.nnx.source import Source
from tests.migration import look, migrate_text, options

HEAD = "from flax import nnx\nfrom flax.nnx import bridge\n\n"
MANY = {
    "NNX510": "nnx.Thing({})\n",
    "NNX501": "nnx.mutable_array({})\n",
    "NNX619": "bridge.ToNNX(m{}, rngs=nnx.Rngs(0))\n",
}


@pytest.mark.parametrize("code", MANY)
def test_more_than_three_places_are_one_finding(code: str) -> None:
    text = HEAD + "".join(MANY[code].format(index) for index in range(5))
    (found,) = (f for f in look(text, options("0.12")).findings if f.code == code)
    source = Source("main.py", text.encode())
    starts = [found.start, *(place.start for place in found.related)]
    assert [source.position(start)[0] for start in starts] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("code", MANY)
def test_three_places_are_three_findings(code: str) -> None:
    text = HEAD + "".join(MANY[code].format(index) for index in range(3))
    found = [f for f in look(text, options("0.12")).findings if f.code == code]
    assert [f.related for f in found] == [()] * 3


def test_other_names_are_told_apart() -> None:
    text = HEAD + "".join(f"nnx.{name}()\n" for name in ("Thing", "Other") for _ in range(4))
    found = [f for f in look(text, options("0.12")).findings if f.code == "NNX510"]
    assert [len(f.related) for f in found] == [3, 3]


def test_places_in_other_files_are_named() -> None:
    files = {"a.py": f"{HEAD}import b\n\nnnx.Thing(1)\n", "b.py": HEAD + "nnx.Thing(2)\nnnx.Thing(3)\nnnx.Thing(4)\n"}
    (found,) = (f for f in look(files, options("0.12")).findings if f.code == "NNX510")
    assert found.path == "a.py"
    assert found.message.endswith("so in lines 4, 5 and 6 of b.py")


def test_a_fix_for_all_goes_with_them() -> None:
    made = "".join(f"bridge.ToNNX(m{i}, rngs=nnx.Rngs(0)).lazy_init(x)\n" for i in range(5))
    text = migrate_text(HEAD + made, options("0.12"), unsafe=True)
    assert text.count(".lazy_init(x, rngs=nnx.Rngs(0))") == 5


TIMED = """\
import time

import jax


@jax.jit
def step(x):
    begin = time.time()
    y = x * 2
    middle = time.time()
    z = y + 1
    return z, middle - begin, time.perf_counter() - middle, time.time() - begin
"""


def test_a_clock_in_a_compiled_function_is_told_of_once() -> None:
    found = [f for f in look(TIMED, Options(lint=True)).findings if f.code == "NNX806"]
    source = Source("main.py", TIMED.encode())
    assert [source.position(f.start)[0] for f in found] == [8, 12]
    assert [source.position(place.start)[0] for place in found[0].related] == [10, 12]
