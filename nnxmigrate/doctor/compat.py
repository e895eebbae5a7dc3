"""What is known to run with what: releases of Flax, JAX, Orbax and Python.

The table of Flax and JAX was measured on Python 3.11 on CPU: import of ``flax.nnx``, then a training step with
BatchNorm and Dropout, vmap and scan over layers, split and merge, LSTM and attention.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version


class Outcome(enum.Enum):
    """What happens with a Flax and a JAX together."""

    OK = "ok"
    RUN = "run"  # imports, but nnx.jit fails
    IMPORT = "import"  # `from flax import nnx` fails
    UNKNOWN = "unknown"  # not measured


_JAX = "0.4.35 0.4.38 0.5.0 0.5.3 0.6.0 0.6.2 0.7.0 0.7.1 0.7.2 0.8.0 0.8.1 0.8.2 0.8.3 0.9.0 0.10.2"
# One letter for each release of JAX: o runs, r fails when run, i fails at import, ? not measured.
_ROWS = {
    "0.10.0": "oooooooooo orrrr",
    "0.10.1": "oooooooooo ?rrrr",
    "0.10.2": "oooooooooo orrrr",
    "0.10.3": "oooooooooo ?rrrr",
    "0.10.4": "oooooooooo orrrr",
    "0.10.5": "oooooooooo ?rrrr",
    "0.10.6": "oooooooooo orrrr",
    "0.10.7": "iiiioooooi iiiii",
    "0.11.0": "iiiioooooi iiiii",
    "0.11.1": "iiiioooooo orrii",
    "0.11.2": "iiiioooooo orrii",
    "0.12.0": "iiiioooooo orrii",
    "0.12.1": "iiiiiiiiii orrrr",
    "0.12.2": "iiiiiiiiii ooooo",
    "0.12.3": "iiiiiiiiii ooooo",
    "0.12.4": "iiiiiiiiii ooooo",
    "0.12.5": "iiiiiiiiii ooooo",
    "0.12.6": "iiiiiiiiii ooooo",
    "0.12.7": "iiiiiiiiii iiiio",
    "0.12.8": "iiiiiiiiii ?iiio",
}
_LETTERS = {"o": Outcome.OK, "r": Outcome.RUN, "i": Outcome.IMPORT, "?": Outcome.UNKNOWN}

JAX_RELEASES: tuple[Version, ...] = tuple(Version(text) for text in _JAX.split())
FLAX_RELEASES: tuple[Version, ...] = tuple(Version(text) for text in _ROWS)
#: Releases of orbax-checkpoint that checkpoints were saved and restored with.
ORBAX_RELEASES: tuple[Version, ...] = tuple(
    Version(text) for text in ("0.8.0", "0.10.0", "0.11.5", "0.11.19", "0.11.25", "0.11.30", "0.12.8")
)
#: Releases of optax with which a jitted training step of nnx.Optimizer was run on Flax 0.10.7, 0.11.2 and 0.12.8.
OPTAX_RELEASES: tuple[Version, ...] = tuple(
    Version(text) for text in ("0.1.7", "0.1.9", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.2.5", "0.2.6", "0.2.8")
)

MEASURED: dict[tuple[Version, Version], Outcome] = {
    (Version(flax), jax): _LETTERS[letter]
    for flax, letters in _ROWS.items()
    for jax, letter in zip(JAX_RELEASES, letters.replace(" ", ""), strict=True)
}


def outcome(flax: Version, jax: Version) -> Outcome:
    """Return what happens with two releases.

    A JAX that was not measured takes the outcome that its measured neighbours agree on. Beyond the newest one a
    failure stays a failure, and success is unknown; likewise below the oldest.
    """
    if flax not in FLAX_RELEASES:
        return Outcome.UNKNOWN
    measured = [(release, MEASURED[flax, release]) for release in JAX_RELEASES]
    measured = [(release, result) for release, result in measured if result is not Outcome.UNKNOWN]
    for release, result in measured:
        if release == jax:
            return result
    below = [result for release, result in measured if release < jax][-1:]
    above = [result for release, result in measured if release > jax][:1]
    if below and above:
        return below[0] if below == above else Outcome.UNKNOWN
    only = (below or above)[0]
    return Outcome.UNKNOWN if only is Outcome.OK else only


def jax_that_runs(flax: Version) -> str:
    """Return the measured range of JAX that a Flax release runs with, as a requirement; empty if unknown."""
    good = [jax for jax in JAX_RELEASES if MEASURED.get((flax, jax)) is Outcome.OK and jax in jax_required(flax)]
    if not good:
        return ""
    if good[-1] == JAX_RELEASES[-1]:
        return f"jax>={good[0]}"
    return f"jax=={good[0]}" if len(good) == 1 else f"jax>={good[0]},<={good[-1]}"


def jax_required(flax: Version) -> SpecifierSet:
    """Return the JAX that a Flax release declares to need, which installers obey; it never has an upper bound."""
    for since, text in (("0.12.7", ">=0.10.0"), ("0.12.1", ">=0.8.1"), ("0.12.0", ">=0.7.1"), ("0.10.7", ">=0.6.0")):
        if flax >= Version(since):
            return SpecifierSet(text)
    return SpecifierSet(">=0.4.27")


def beside_jax(jax: Version) -> dict[str, SpecifierSet]:
    """Return what a release of JAX declares to need of packages that projects pin, which installers obey."""
    for since, numpy, scipy in (
        ("0.10.0", ">=2.0", ">=1.14"),
        ("0.7.2", ">=2.0", ">=1.13"),
        ("0.6.0", ">=1.26", ">=1.12"),
        ("0.5.0", ">=1.25", ">=1.11.1"),
    ):
        if jax >= Version(since):
            return {"numpy": SpecifierSet(numpy), "scipy": SpecifierSet(scipy)}
    return {"numpy": SpecifierSet(">=1.24"), "scipy": SpecifierSet(">=1.10")}


def excludes(allowed: SpecifierSet, needed: SpecifierSet) -> bool:
    """Say whether no release can be in both of two ranges of numpy or scipy."""
    named = {part.version.removesuffix(".*") for part in (*allowed, *needed)}
    tried = {
        *named,
        *(f"{one}.1" for one in named),
        *(f"{major}.{minor}" for major in (1, 2, 3) for minor in range(40)),
    }
    both = allowed & needed
    return not any(both.contains(one, prereleases=True) for one in tried)


def python_required(package: str, version: Version) -> SpecifierSet:
    """Return the Python that a release of ``flax`` or ``jax`` declares to need."""
    since = {"flax": "0.11.0", "jax": "0.7.0"}.get(package)
    return SpecifierSet(">=3.11" if since is not None and version >= Version(since) else ">=3.10")


@dataclass(frozen=True)
class Target:
    """What to pin to run a Flax version.

    Attributes:
        ranges: by package, the range in which everything is measured to run.
        exact: by package, one release that runs.
    """

    ranges: dict[str, str]
    exact: dict[str, str]


def _target(flax: str, flax_range: str, jax: str, jax_range: str) -> Target:
    beside = {name: str(needed) for name, needed in beside_jax(Version(jax)).items()}
    return Target(
        {"flax": flax_range, "jax": jax_range, "jaxlib": jax_range, "orbax-checkpoint": ">=0.11.27", **beside},
        {"flax": flax, "jax": jax, "jaxlib": jax, "orbax-checkpoint": "0.12.8", "numpy": "2.4.6", "scipy": "1.17.1"},
    )


#: jax 0.7.2 runs every Flax from 0.10.0 to 0.12.0: keep it while migrating, and numbers can be compared.
TARGETS = {
    "0.11": _target("0.11.2", ">=0.11.2,<0.12", "0.7.2", ">=0.6.0,<0.8.2"),
    "0.12": _target("0.12.8", ">=0.12.8,<0.13", "0.10.2", ">=0.10.0"),
}

FAILURES = {
    Outcome.IMPORT: "`from flax import nnx` fails (ImportError)",
    Outcome.RUN: "nnx.jit fails: jit() got an unexpected keyword argument 'abstracted_axes' (removed in jax 0.8.2)",
}


@dataclass(frozen=True)
class Caution:
    """Something that is wrong with single releases of a package.

    Attributes:
        package: the package.
        releases: the releases concerned.
        message: what goes wrong with them.
        advice: what to choose.
        uses: regular expression for the code that is affected; empty for all code.
    """

    package: str
    releases: SpecifierSet
    message: str
    advice: str
    uses: str = ""


CAUTIONS = (
    Caution(
        "flax",
        SpecifierSet("==0.12.7"),
        "flax 0.12.7 alone has None as default of Dropout's and BatchNorm's flags, and graphdefs of MultiMetric that "
        "cannot be hashed (flax issue 5489)",
        "flax>=0.12.8,<0.13",
    ),
    Caution(
        "flax",
        SpecifierSet("==0.12.1"),
        "flax 0.12.1 runs with jax 0.8.1 alone",
        "flax>=0.12.8,<0.13",
    ),
    Caution(
        "flax",
        SpecifierSet(">=0.11.0,<0.12"),
        "optax.masked and optax.contrib.muon raise TypeError in nnx.Optimizer on flax 0.11 (flax issue 4901); they run "
        "on 0.10 and on 0.12.8",
        "flax>=0.12.8,<0.13",
        r"\boptax\.masked\b|\bcontrib\.muon\b|\bimport\b.*\bmuon\b|\bimport\b.*\bmasked\b",
    ),
    Caution(
        "optax",
        SpecifierSet("<0.2.5"),
        "optax.contrib.muon does not exist before optax 0.2.5",
        "optax>=0.2.5",
        r"\bcontrib\.muon\b|\bimport\b.*\bmuon\b",
    ),
    Caution(
        "orbax-checkpoint",
        SpecifierSet("<0.11.7"),
        "orbax-checkpoint before 0.11.7 cannot save random keys (JAX array with PRNGKey dtype cannot be converted)",
        "orbax-checkpoint>=0.11.27",
    ),
    Caution(
        "orbax-checkpoint",
        SpecifierSet(">=0.11.7,<0.11.27"),
        "orbax-checkpoint before 0.11.27 cannot restore random keys into an abstract target (Cannot interpret "
        "'key<fry>' as a data type)",
        "orbax-checkpoint>=0.11.27",
    ),
)
