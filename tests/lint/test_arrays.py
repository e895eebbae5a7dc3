"""What is told of arrays does not cost more the more ways lead to it."""

from __future__ import annotations

import pytest

from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.options import Options
from tests.migration import look


def mixed(count: int) -> str:
    """Return a loop in which each of so many arrays is made of four others."""
    names = [f"v{i}" for i in range(count)]
    starts = "".join(f"    {name} = jnp.zeros(3)\n" for name in names)
    rounds = "".join(
        f"        {name} = jnp.where({names[(i + 1) % count]}, {names[(i + 5) % count]}, "
        f"jnp.maximum({names[(i + 9) % count]}, {names[(i + 3) % count]}))\n"
        for i, name in enumerate(names)
    )
    end = "    return jnp.zeros(3, int).at[0].set(v3[0])\n"
    return f"import jax.numpy as jnp\n\n\ndef mix(rows):\n{starts}    for row in rows:\n{rounds}{end}"


def test_many_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that depend on each other are each asked about some times, and not once for every way."""
    asked = 0
    first = Arrays._of

    def counting(self: Arrays, *rest: object) -> object:
        nonlocal asked
        asked += 1
        return first(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Arrays, "_of", counting)
    for count in (10, 12, 20):
        asked = 0
        assert not look(mixed(count), Options(lint=True, select=frozenset({"NNX848"}))).failures
        assert 0 < asked < 5_000


def test_found_all_the_same() -> None:
    """What comes of such a loop is known where all ways agree."""
    text = mixed(4).replace("set(v3[0])", "set(jnp.exp(v3))")
    assert [f.code for f in look(text, Options(lint=True)).findings if f.code == "NNX848"] == ["NNX848"]


LIKE_ITSELF = """\
import jax.numpy as jnp
from jax import vmap

from elsewhere import Table


class Rows(Table):
    def renew(self, new):
        self.rows = {renewed}


class Field:
    def __init__(self, table):
        self.table = table
        self.mean = jnp.mean(vmap(lambda row: row[2, 0])(self.table.rows))


def main():
    return Field(Rows(count=1))
"""


@pytest.mark.parametrize(
    "renewed",
    [
        "jnp.reshape(new, self.rows.shape)",
        "jnp.asarray(new, dtype=self.rows.dtype)",
        "jnp.zeros(self.rows.shape)",
        "new.reshape(self.rows.shape).astype(self.rows.dtype)",
        "jnp.zeros(self.rows.shape, self.rows.dtype)",
        "jnp.broadcast_to(new, self.rows.shape) + jnp.zeros(self.rows)",
    ],
)
def test_an_array_made_like_itself(renewed: str) -> None:
    """An attribute that gets an array of its own shape and type is asked about for a while only."""
    assert not look(LIKE_ITSELF.format(renewed=renewed), Options(lint=True)).failures
