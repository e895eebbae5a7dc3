"""The table of Flax and JAX and what is read from it."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from nnxmigrate.doctor.compat import (
    FLAX_RELEASES,
    JAX_RELEASES,
    MEASURED,
    TARGETS,
    Outcome,
    Target,
    jax_required,
    jax_that_runs,
    outcome,
)


@pytest.mark.parametrize(
    ("flax", "jax", "expected"),
    [
        ("0.10.0", "0.4.35", Outcome.OK),
        ("0.10.6", "0.8.3", Outcome.RUN),
        ("0.10.7", "0.6.2", Outcome.OK),
        ("0.10.7", "0.5.3", Outcome.IMPORT),
        ("0.11.0", "0.8.0", Outcome.IMPORT),
        ("0.11.2", "0.8.1", Outcome.OK),
        ("0.11.2", "0.8.2", Outcome.RUN),
        ("0.11.2", "0.10.2", Outcome.IMPORT),
        ("0.12.1", "0.8.1", Outcome.OK),
        ("0.12.1", "0.8.3", Outcome.RUN),
        ("0.12.6", "0.10.2", Outcome.OK),
        ("0.12.7", "0.9.0", Outcome.IMPORT),
        ("0.12.8", "0.10.2", Outcome.OK),
        # Between two measured releases that agree, and beyond the newest and oldest.
        ("0.11.2", "0.6.1", Outcome.OK),
        ("0.11.2", "0.9.1", Outcome.IMPORT),
        ("0.12.8", "0.10.1", Outcome.UNKNOWN),
        ("0.12.8", "0.11.0", Outcome.UNKNOWN),
        ("0.11.2", "0.11.0", Outcome.IMPORT),
        ("0.12.8", "0.4.0", Outcome.IMPORT),
        ("0.10.0", "0.4.30", Outcome.UNKNOWN),
        ("0.9.0", "0.6.2", Outcome.UNKNOWN),
    ],
)
def test_outcome(flax: str, jax: str, expected: Outcome) -> None:
    assert outcome(Version(flax), Version(jax)) is expected


def test_every_pair_of_the_table_is_filled() -> None:
    assert len(MEASURED) == len(FLAX_RELEASES) * len(JAX_RELEASES)


@pytest.mark.parametrize(
    ("flax", "expected"),
    [
        ("0.10.7", "jax>=0.6.0,<=0.7.2"),
        ("0.11.2", "jax>=0.6.0,<=0.8.1"),
        ("0.12.1", "jax==0.8.1"),
        ("0.12.8", "jax>=0.10.2"),
        ("0.9.0", ""),
    ],
)
def test_jax_that_runs(flax: str, expected: str) -> None:
    assert jax_that_runs(Version(flax)) == expected


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_what_is_recommended_works(target: Target) -> None:
    """Every measured pair that the recommended ranges allow runs, and so does the exact pair."""
    ranges, exact = target.ranges, target.exact
    flaxes = [release for release in FLAX_RELEASES if release in SpecifierSet(ranges["flax"])]
    jaxes = [release for release in JAX_RELEASES if release in SpecifierSet(ranges["jax"])]
    pairs = [(flax, jax) for flax in flaxes for jax in jaxes]
    assert (Version(exact["flax"]), Version(exact["jax"])) in pairs
    assert {outcome(flax, jax) for flax, jax in pairs} == {Outcome.OK}
    assert all(jax in jax_required(flax) for flax, jax in pairs)
