"""What a pin is, and the formats that requirements are written in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

#: The packages that matter here.
PACKAGES = ("flax", "jax", "jaxlib", "optax", "orbax-checkpoint", "numpy", "scipy")

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?P<extras>\[[^\]]*\])?\s*(?P<spec>[^;@#]*?)\s*(?:;.*)?(?:\s#.*)?$"
)


class PinError(ValueError):
    """A file that holds pins cannot be read."""


@dataclass(frozen=True)
class Pin:
    """One package that a file asks for.

    Attributes:
        package: canonical name, one of :data:`PACKAGES`, or ``python``.
        specifier: the releases that it allows.
        path: the file that says so.
        text: the specifier as the file has it, such as ``==0.10.7`` or ``^0.10``; empty if there is none.
        whole: the requirement as the file has it, such as ``jax[cuda12] ==0.6.2``.
    """

    package: str
    specifier: SpecifierSet
    path: str
    text: str
    whole: str

    @property
    def exact(self) -> Version | None:
        """The release, if exactly one is allowed."""
        for part in self.specifier:
            if part.operator in ("==", "===") and not part.version.endswith(".*"):
                return Version(part.version)
        return None


@dataclass(frozen=True)
class PinSet:
    """Pins that hold together in one environment.

    Attributes:
        name: what to call it, such as ``pyproject.toml, extra train``.
        path: the file that defines it.
        pins: its pins of :data:`PACKAGES`, and one of ``python`` where the file says which is needed.
        kind: ``pins`` for what an installer must obey, ``lock`` for its result, ``installed`` for what is there.
        refresh: for a lock, the command that renews it.
    """

    name: str
    path: str
    pins: tuple[Pin, ...]
    kind: str = "pins"
    refresh: str = ""

    def specifier(self, package: str) -> SpecifierSet:
        """Return the releases of a package that all pins together allow."""
        result = SpecifierSet()
        for pin in self.pins:
            if pin.package == package:
                result &= pin.specifier
        return result

    def names(self, package: str) -> bool:
        """Say whether the package is asked for at all."""
        return any(pin.package == package for pin in self.pins)

    def exact(self, package: str) -> Version | None:
        """Return the release of a package, if exactly one is allowed."""
        return next((pin.exact for pin in self.pins if pin.package == package and pin.exact is not None), None)


@dataclass
class Reading:
    """Everything that was found.

    Attributes:
        sets: the sets of pins.
        errors: files that could not be read, with the reason.
    """

    sets: list[PinSet] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)


def specifier(text: str) -> SpecifierSet:
    """Return a version range in the form of pip, Poetry, conda or npm as a specifier set.

    Args:
        text: for example ``>=0.10,<0.11``, ``^0.10.2``, ``~0.10``, ``0.10.*``, ``=0.10.7``, ``0.10.7`` or ``*``.

    Raises:
        PinError: if it is none of them.
    """
    parts = [part.strip() for part in text.strip().strip("()").split(",") if part.strip()]
    try:
        return SpecifierSet(",".join(filter(None, map(_part, parts))))
    except (InvalidSpecifier, InvalidVersion) as error:
        raise PinError(f"{text!r} is no version range") from error


def _part(text: str) -> str:
    if text in ("*", ""):
        return ""
    if text.startswith("^") or (text.startswith("~") and not text.startswith("~=")):
        lower = text[1:].strip()
        release = list(Version(lower).release)
        keep = 1 if text.startswith("~") else next((i for i, part in enumerate(release) if part), len(release) - 1)
        keep = min(keep, len(release) - 1)
        upper = [*release[:keep], release[keep] + 1]
        return f">={lower},<{'.'.join(map(str, upper))}"
    if text[0].isdigit():
        return f"=={text}"
    if text[0] in "<>" and text.endswith(".*"):  # as in `requires-python = ">=3.8.*"`, of which old tools took the star
        return text.removesuffix(".*")
    match = re.match(r"=\s*(?!=)(.+)", text)
    if match:  # conda: `=0.10` stands for any 0.10.x, `=0.10.7=build` for that build
        version = match[1].split("=")[0].strip()
        return f"=={version}" if version.endswith("*") or version.count(".") > 1 else f"=={version}.*"
    return text


def pin(requirement: str, path: str) -> Pin | None:
    """Return the pin in a requirement such as ``jax[cuda12]>=0.6 ; sys_platform == "linux"``.

    Returns:
        None if it is of another package, or no requirement.

    Raises:
        PinError: if it is of one of ours and cannot be understood.
    """
    match = _REQUIREMENT.match(requirement)
    if match is None or canonicalize_name(match["name"]) not in PACKAGES:
        return None
    return Pin(canonicalize_name(match["name"]), specifier(match["spec"]), path, match["spec"], requirement.strip())


def ranged(package: str, text: str, path: str) -> Pin | None:
    """Return the pin of a package whose range stands beside it, as in Poetry's tables; None for other packages."""
    name = canonicalize_name(package)
    if name not in (*PACKAGES, "python"):
        return None
    return Pin(name, specifier(text), path, text, f"{package} {text}")
