"""NNX601 and NNX602 for attributes that `__data__` of Flax 0.10.7 names, which later releases ignore; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = "import jax.numpy as jnp\nfrom flax import nnx\n\n\n"
PROGRAMS = {
    "dict": """\
class Held(nnx.Module):
    __data__ = ("items",)

    def __init__(self, *args, **kwargs):
        self.items = dict(*args, **kwargs)


held = Held(a=1, b=nnx.Param(jnp.ones(2)))
print(len(nnx.to_flat_state(nnx.state(held))), held.items["a"])
""",
    "list": """\
class Held(nnx.Module):
    __data__ = ("items", "name")

    def __init__(self, items):
        self.items = list(items)
        self.name = "x"


def make(*parts):
    return Held(parts)


held = make(nnx.Param(jnp.ones(2)), 3)
print(len(nnx.to_flat_state(nnx.state(held))), held.name)
""",
    "none": """\
class Later(nnx.Module):
    __data__ = ("ref",)

    def __init__(self):
        self.ref = None


def fill(m):
    m.ref = m


later = Later()
fill(later)
print(later.ref is later)
""",
    "derived": """\
class Base(nnx.Module):
    __data__ = ("best",)


class Later(Base):
    def __init__(self):
        self.best = None


later = Later()
for name in ("best",):
    setattr(later, name, nnx.Param(jnp.ones(2)))
print(len(nnx.to_flat_state(nnx.state(later))))
""",
}
NUMBER = """\
class Later(nnx.Module):
    __data__ = ("size",)

    def __init__(self):
        self.size = 3
        self.other = None
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + body for name, body in PROGRAMS.items()}, tmp_path_factory.mktemp("promised"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, dict[str, Output]]) -> dict[str, Output]:
    return execute_all("0.12", {n: HEAD + b for n, b in PROGRAMS.items()}, tmp_path_factory.mktemp("untouched"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_prints_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_would_not_without_the_mark(
    name: str, outputs: dict[str, dict[str, Output]], untouched: dict[str, Output]
) -> None:
    assert_breaks({"0.10": outputs["0.10"], "0.12": untouched}, name, "0.12")


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_marked_once(name: str) -> None:
    text = migrate_text(HEAD + PROGRAMS[name], options("0.12"))
    assert text.count("nnx.data(") == 1
    assert migrate_text(text, options("0.12")) == text


def test_a_number_is_never_data_and_other_attributes_are_left_alone() -> None:
    assert migrate_text(HEAD + NUMBER, options("0.12")) == HEAD + NUMBER
