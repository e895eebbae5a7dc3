"""NNX601 by annotations: what only users call, they call here after the migration, under every release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agreement import assert_same
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

LIBRARY = """\
import jax.numpy as jnp
from flax import nnx


class Part(nnx.Module):
    def __init__(self, size=1):
        self.w = nnx.Param(jnp.ones(size))


class Whole(Part):
    def __init__(self, parts: {0}):
        kept = []
        for part in parts:
            if isinstance(part, Whole):
                kept.extend(part.parts)
            else:
                kept.append(part)
        self.parts = kept
"""
USER = """\


whole = Whole({0})
outer = Whole([whole, *{0}]) if isinstance(whole.parts[0], Part) else whole
print(len(nnx.to_flat_state(nnx.state(whole))), len(nnx.to_flat_state(nnx.state(outer))), len(outer.parts))
"""
USES = {
    "modules": ("list[Part]", "[Part(), Part(2)]"),
    "sequence": ("tuple[Part, ...]", "(Part(), Part(2))"),
    "numbers": ("list[int]", "[1, 2]"),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder: Path = tmp_path_factory.mktemp("lists")
    done = {}
    for version in ("0.10", "0.11", "0.12"):
        texts = {}
        for name, (annotation, given) in USES.items():
            library = LIBRARY.replace("{0}", annotation)
            if version != "0.10":
                library = migrate_text(library, options(version))
            texts[name] = library + USER.replace("{0}", given)
        done[version] = execute_all(version, texts, folder / version)
    return done


@pytest.mark.parametrize("name", USES)
def test_a_users_call_gives_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize(("name", "marked"), [("modules", True), ("sequence", True), ("numbers", False)])
def test_only_modules_are_marked(name: str, marked: bool) -> None:
    library = LIBRARY.replace("{0}", USES[name][0])
    assert ("self.parts = nnx.data(kept)" in migrate_text(library, options("0.12"))) == marked
