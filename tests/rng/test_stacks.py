"""Splits over stacks of layers: removed, narrowed or kept, as real Flax wants it."""

from __future__ import annotations

import pytest

from tests.batch import execute_all
from tests.environments import Output, agree
from tests.migration import look, migrate_text, options
from tests.rng.stacks import Stack, stacks

STACKS = stacks()


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)
def test_text(stack: Stack) -> None:
    """The split is treated as the block wants it, once; several targets get the filter that suits all of them."""
    assert migrate_text(stack.before) == stack.after
    assert migrate_text(stack.before, options("0.10", "0.11")) == stack.portable
    assert not [f for f in look(stack.after).findings if f.code.startswith("NNX2")]
    assert not [f for f in look(stack.portable).findings if f.code.startswith("NNX2")]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run the programs before under 0.10, after under 0.11 and 0.12, and portable under all."""
    folder = tmp_path_factory.mktemp("stacks")
    found = {}
    for version in ("0.10", "0.11", "0.12"):
        programs = {f"{s.name}-portable": s.portable for s in STACKS}
        programs |= {s.name: s.before if version == "0.10" else s.after for s in STACKS}
        found[version] = execute_all(version, programs, folder / version)
    return found


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)
def test_execution(stack: Stack, outputs: dict[str, dict[str, Output]]) -> None:
    before = outputs["0.10"][stack.name]
    assert before.code == 0, before.err
    for version, name in (
        ("0.11", stack.name),
        ("0.12", stack.name),
        *((v, f"{stack.name}-portable") for v in outputs),
    ):
        after = outputs[version][name]
        assert after.code == 0, f"{version}: {after.err}"
        assert agree(before.out, after.out), f"{version}: {before.out!r} became {after.out!r}"
