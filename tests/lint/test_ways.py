"""What many ways lead to is looked at some times, and not once for every way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from codemods.nnx.lint import dropped_update, mask_meaning, unix_times
from codemods.nnx.options import Options
from tests.migration import look


def masks(count: int) -> str:
    """Return a loop in which each of so many masks is made of four others, before a softmax takes one."""
    names = [f"m{i}" for i in range(count)]
    starts = "".join(f"    {name} = jnp.tril(jnp.ones((8, 8)))\n" for name in names)
    rounds = "".join(
        f"        {name} = jnp.logical_and({names[(i + 1) % count]}, jnp.logical_or({names[(i + 5) % count]}, "
        f"jnp.logical_and({names[(i + 9) % count]}, {names[(i + 3) % count]})))\n"
        for i, name in enumerate(names)
    )
    end = "    return jax.nn.softmax(jnp.where(m3, -1e9, scores))\n"
    head = "import jax\nimport jax.numpy as jnp\n\n\ndef attend(scores, rows):\n"
    return f"{head}{starts}    for row in rows:\n{rounds}{end}"


def calls(count: int) -> str:
    """Return functions each of which calls all others five times, the last of which updates what it is given."""
    names = ", ".join(f"f{i}" for i in range(count))
    every = "".join(f"    f{i}(model)\n" for i in range(count)) * 5
    functions = "".join(f"def f{i}(model):\n{every}\n\n" for i in range(count - 1))
    last = f"def f{count - 1}(model):\n    model.count.value = model.count.value + 1\n\n\n"
    jits = "".join(f"jax.jit(f{i})(Counter())\n" for i in range(count))
    return f"import jax\nfrom counters import Counter\n\n# {names}\n{functions}{last}{jits}"


def rows_of_times(count: int) -> str:
    """Return a loop in which each of so many tables becomes a row of one of four others, before one is subtracted."""
    names = [f"t{i}" for i in range(count)]
    starts = "".join(f"    {name} = jnp.asarray([time.time(), {n}.0])\n" for n, name in enumerate(names))
    rounds = "".join(
        f"        {name} = ({names[(i + 1) % count]} if rows else {names[(i + 5) % count]})[0]\n"
        f"        {name} = ({name} if rows else {names[(i + 3) % count]})[1]\n"
        for i, name in enumerate(names)
    )
    head = "import time\n\nimport jax.numpy as jnp\n\n\ndef spans(start, rows):\n"
    return f"{head}{starts}    for row in rows:\n{rounds}    return t3 - start\n"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[int]]:
    def begin(module: Any, name: str) -> list[int]:
        seen, first = [0], getattr(module, name)

        def counting(*given: Any) -> Any:
            seen[0] += 1
            return first(*given)

        monkeypatch.setattr(module, name, counting)
        return seen

    return begin


@pytest.mark.parametrize("count", [10, 12, 20])
def test_masks(counted: Callable[[Any, str], list[int]], count: int) -> None:
    seen = counted(mask_meaning, "_of_one")
    assert not look(masks(count), Options(lint=True, select=frozenset({"NNX976"}))).failures
    assert 0 < seen[0] < 13 * 5 * count


@pytest.mark.parametrize("count", [6, 10, 20])
def test_times(counted: Callable[[Any, str], list[int]], count: int) -> None:
    seen = counted(unix_times._Times, "_narrow")
    assert not look(rows_of_times(count), Options(lint=True, select=frozenset({"NNX952"}))).failures
    assert 0 < seen[0] < 20 * count


@pytest.mark.parametrize("count", [6, 12])
def test_functions_that_call_each_other(counted: Callable[[Any, str], list[int]], count: int) -> None:
    seen = counted(dropped_update, "_found")
    assert not look(calls(count), Options(lint=True, select=frozenset({"NNX816"}))).failures
    assert 0 < seen[0] <= 4 * count


def test_found_all_the_same() -> None:
    """What comes of such a loop is known where all ways agree."""
    text = "import jax\nimport jax.numpy as jnp\n\n\ndef attend(scores, rows):\n    m = jnp.tril(jnp.ones((8, 8)))\n"
    text += "    return jax.nn.softmax(jnp.where(jnp.logical_and(m, jnp.logical_and(m, m)), -1e9, scores))\n"
    assert [f.code for f in look(text, Options(lint=True)).findings] == ["NNX976"]
