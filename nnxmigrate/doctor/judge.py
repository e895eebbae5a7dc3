"""Says of a set of pins what works, what fails, and which pins to choose."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from nnxmigrate.doctor.compat import (
    CAUTIONS,
    FAILURES,
    FLAX_RELEASES,
    JAX_RELEASES,
    OPTAX_RELEASES,
    ORBAX_RELEASES,
    TARGETS,
    Outcome,
    beside_jax,
    excludes,
    jax_required,
    jax_that_runs,
    outcome,
    python_required,
)
from nnxmigrate.doctor.pins import PinSet

_PYTHONS = tuple(Version(f"3.{minor}") for minor in range(8, 15))


class Severity(enum.Enum):
    """How bad a remark is."""

    ERROR = "error"  # does not work
    WARNING = "warning"  # works in part
    NOTE = "note"  # good to know; no problem


@dataclass(frozen=True)
class Remark:
    """One thing to say about a set of pins.

    Attributes:
        severity: how bad it is.
        message: what is the case.
        advice: what to choose instead; may be empty.
    """

    severity: Severity
    message: str
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """What is said about a set of pins.

    Attributes:
        pins: the set.
        releases: by package, the release that is installed, locked or that an installer takes; without those that
            nothing is known of.
        remarks: what to say, the worst first.
    """

    pins: PinSet
    releases: dict[str, Version]
    remarks: tuple[Remark, ...]

    @property
    def healthy(self) -> bool:
        """Whether there is nothing to mend."""
        return all(remark.severity is Severity.NOTE for remark in self.remarks)


def family(release: Version) -> str:
    """Return the first two parts of a release, such as ``0.11``."""
    return f"{release.major}.{release.minor}"


def resolve(pins: PinSet) -> dict[str, Version]:
    """Return the releases that an installer takes for a set: the newest known ones that all pins allow."""
    found: dict[str, Version] = {}
    jax_pins = pins.specifier("jax") & pins.specifier("jaxlib")
    fixed = pins.exact("jax") or pins.exact("jaxlib")
    for flax in _candidates(pins.exact("flax"), pins.specifier("flax"), FLAX_RELEASES):
        found.setdefault("flax", flax)
        for jax in _candidates(fixed, jax_pins, JAX_RELEASES):
            if fixed is not None or jax in jax_required(flax):
                found |= {"flax": flax, "jax": jax}
                break
        if "jax" in found:
            break
    for orbax in _candidates(pins.exact("orbax-checkpoint"), pins.specifier("orbax-checkpoint"), ORBAX_RELEASES):
        if pins.names("orbax-checkpoint"):
            found["orbax-checkpoint"] = orbax
        break
    for optax in _candidates(pins.exact("optax"), pins.specifier("optax"), OPTAX_RELEASES)[:1]:
        if pins.names("optax"):
            found["optax"] = optax
    return found


def _candidates(exact: Version | None, allowed: SpecifierSet, known: tuple[Version, ...]) -> list[Version]:
    """Return the fixed release, else the known ones that are allowed, the newest first."""
    if exact is not None:
        return [exact]
    return [release for release in reversed(known) if allowed.contains(release, prereleases=True)]


def judge(pins: PinSet, target: str | None, uses: Callable[[str], str | None]) -> Verdict:
    """Judge one set.

    Args:
        pins: the set; it asks for Flax.
        target: the Flax version it shall be for, such as ``0.11``; None to take it as it is.
        uses: returns the file in which code matches a regular expression, None if there is none.
    """
    releases = resolve(pins)
    flax = releases.get("flax")
    if flax is None or flax not in FLAX_RELEASES:
        known = f"{FLAX_RELEASES[0]} to {FLAX_RELEASES[-1]}"
        asked = str(flax or pins.specifier("flax"))
        remarks = [Remark(Severity.NOTE, f"flax {asked} was not measured; known are {known}")]
    else:
        remarks = [*_pair(pins, flax, releases.get("jax")), *_python(pins, flax), *_cautions(releases, uses)]
        remarks += _optax(pins, releases.get("optax"))
        remarks += _beside(pins, releases.get("jax"))
    if target is not None and (flax is None or family(flax) != target):
        what = "cannot be resolved" if flax is None else f"is {flax}"
        advice = f"flax{TARGETS[target].ranges['flax']} and jax{TARGETS[target].ranges['jax']}"
        remarks.append(Remark(Severity.ERROR, f"flax {what}, not {target}", _how(pins, advice)))
    order = list(Severity)
    return Verdict(pins, releases, tuple(sorted(remarks, key=lambda remark: order.index(remark.severity))))


def _how(pins: PinSet, advice: str) -> str:
    return f"{advice}, then run `{pins.refresh}`" if pins.refresh and advice else advice


def _pair(pins: PinSet, flax: Version, jax: Version | None) -> list[Remark]:
    advice = _how(pins, jax_that_runs(flax))
    needed = jax_required(flax)
    if jax is None:
        return [Remark(Severity.ERROR, f"flax {flax} needs jax{needed}, which the pins of jax exclude", advice)]
    result = outcome(flax, jax)
    # Installers refuse the pair; it can only come from a forced installation.
    if jax not in needed and result in (Outcome.OK, Outcome.UNKNOWN):
        return [Remark(Severity.ERROR, f"flax {flax} needs jax{needed}, not jax {jax}: installers refuse", advice)]
    if result in FAILURES:
        free = pins.kind == "pins" and pins.exact("jax") is None and pins.exact("jaxlib") is None
        pair = f"flax {flax} with jax {jax}: "
        if free:
            pair = f"flax {flax}: jax has no upper bound that keeps it out, so an installer takes jax {jax}, and "
        return [Remark(Severity.ERROR, f"{pair}{FAILURES[result]}", advice)]
    if result is Outcome.UNKNOWN:
        return [Remark(Severity.NOTE, f"flax {flax} with jax {jax} was not measured", advice)]
    if pins.kind == "pins" and pins.exact("flax") is None and not _bounded(pins, flax):
        return [Remark(Severity.NOTE, f"flax has no upper bound: an installer takes {flax} today, later ones later")]
    return []


def _bounded(pins: PinSet, flax: Version) -> bool:
    return not pins.specifier("flax").contains(Version(f"{flax.major}.{flax.minor + 1}"), prereleases=True)


def _python(pins: PinSet, flax: Version) -> list[Remark]:
    conditional = any(pin.package == "flax" and "python_" in pin.whole for pin in pins.pins)  # a marker decides
    if conditional or not pins.names("python"):
        return []
    allowed = pins.specifier("python")
    exact = pins.exact("python")
    versions = [exact] if exact is not None else [version for version in _PYTHONS if allowed.contains(f"{version}.99")]
    jax = pins.exact("jax")
    needed = python_required("flax", flax)
    what = f"flax {flax}"
    if jax is not None and python_required("jax", jax) != needed and Version("3.10") in needed:
        needed, what = python_required("jax", jax), f"jax {jax}"
    bad = [version for version in versions if version not in needed]
    if not bad:
        return []
    if len(bad) == len(versions):
        return [Remark(Severity.ERROR, f"{what} needs Python {needed}, not {bad[-1]}", f"python{needed}")]
    return [
        Remark(
            Severity.WARNING,
            f"{what} needs Python {needed}, but {bad[0]} is allowed; uv and Poetry then refuse to lock",
            f"requires-python {needed}",
        )
    ]


def _beside(pins: PinSet, jax: Version | None) -> list[Remark]:
    """Return what is to be said about pins of packages that JAX needs."""
    found = []
    for package, needed in (beside_jax(jax) if jax is not None else {}).items():
        allowed = pins.specifier(package)
        if pins.names(package) and excludes(allowed, needed):
            message = f"jax {jax} needs {package}{needed}, which {package}{allowed} excludes: installers refuse"
            found.append(Remark(Severity.ERROR, message, _how(pins, f"{package}{needed}")))
    return found


def _optax(pins: PinSet, optax: Version | None) -> list[Remark]:
    """Return what is to be said about the release of optax."""
    known = f"{OPTAX_RELEASES[0]} to {OPTAX_RELEASES[-1]}"
    if optax is None and pins.names("optax"):
        return [Remark(Severity.NOTE, f"optax{pins.specifier('optax')} was not measured; known are {known}")]
    if optax is None or OPTAX_RELEASES[0] <= optax <= OPTAX_RELEASES[-1]:
        return []
    return [Remark(Severity.NOTE, f"optax {optax} was not measured; known are {known}")]


def _cautions(releases: dict[str, Version], uses: Callable[[str], str | None]) -> list[Remark]:
    remarks = []
    for caution in CAUTIONS:
        release = releases.get(caution.package)
        if release is None or release not in caution.releases:
            continue
        place = uses(caution.uses) if caution.uses else ""
        if place is not None:
            message = f"{caution.message}; used in {place}" if place else caution.message
            remarks.append(Remark(Severity.WARNING, message, caution.advice))
    return remarks
