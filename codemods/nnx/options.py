"""What the caller wants of an analysis."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

VERSIONS = ("0.10", "0.11", "0.12")


class OptimizerForm(enum.Enum):
    """How an optimizer that is used without its model is migrated."""

    AUTO = "auto"  # hand the model through where every call site is known, else the compatible class
    THREAD = "thread"  # hand it through or report; never the compatible class
    COMPATIBLE = "compatible"  # always nnx.ModelAndOptimizer


@dataclass(frozen=True)
class Options:
    """Choices of one run.

    Attributes:
        origin: the Flax version that the code was written for, one of :data:`VERSIONS`.
        targets: the Flax versions that the code shall run on, ascending. Usually one; several ask for
            spellings that are valid on each of them.
        optimizer: the form optimizers take.
        select: rule codes or prefixes that are looked for; empty means the default set.
        ignore: rule codes or prefixes that are left out; wins over ``select``.
        lint: whether lint rules run too (they never do while migrating).
        extend: rule codes or prefixes that are looked for besides.
        fixes: whether fixes may be made. Otherwise edits that need LibCST are drafts, and it is not imported.
        settled: whether the origin is said, and not only the oldest one that the project leaves open.
        jax: pairs of a file or folder and the newest release of JAX that its pins allow, empty for any; the folder
            ``""`` stands for those that are not named.
    """

    origin: str = "0.10"
    targets: tuple[str, ...] = ("0.11",)
    optimizer: OptimizerForm = OptimizerForm.AUTO
    select: Collection[str] = field(default_factory=tuple)
    ignore: Collection[str] = field(default_factory=tuple)
    lint: bool = False
    fixes: bool = True
    extend: Collection[str] = field(default_factory=tuple)
    settled: bool = True
    jax: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> str:
        """The newest version asked for."""
        return self.targets[-1]

    def crosses(self, version: str) -> bool:
        """Say whether the migration passes the release of ``version``, as 0.10 → 0.12 passes 0.11.

        Of code that was written for the target already, only rules that hold for such code ask; see ``Rule.always``.
        """
        return VERSIONS.index(self.origin) < VERSIONS.index(version) <= VERSIONS.index(self.target)

    def beyond(self, version: str) -> bool:
        """Say whether something that came with a version is newer than everything asked for: it is not taken back."""
        return VERSIONS.index(version) > VERSIONS.index(self.target)

    def older_jax(self, path: str, release: str) -> bool:
        """Say whether what pins a file allows no JAX as new as a release.

        Args:
            path: the file, as the analysis names it.
            release: three numbers, such as ``0.4.26``.
        """
        bound = self._bound(path)
        return bool(bound) and _numbers(bound) < _numbers(release)

    def newer_jax(self, path: str, release: str) -> bool:
        """Say whether what pins a file allows a JAX that is newer than a release, and says up to which.

        Args:
            path: the file, as the analysis names it.
            release: three numbers, such as ``0.10.2``.
        """
        bound = self._bound(path)
        return bool(bound) and _numbers(bound) > _numbers(release)

    def _bound(self, path: str) -> str:
        bounds = dict(self.jax)
        return next((bounds[place] for place in _places(path) if place in bounds), "")

    def among(self, paths: Iterable[str]) -> Options:
        """Return what is asked for of some files alone, without what is known of others.

        Args:
            paths: the files, as the analysis names them.
        """
        places = {place for path in paths for place in _places(path)}
        return replace(self, jax=tuple(bound for bound in self.jax if bound[0] in places))


def _places(path: str) -> tuple[str, str, str]:
    """Return a file, its folder, and what stands for all others."""
    return path, path.replace("\\", "/").rpartition("/")[0], ""


def newer(one: str, other: str) -> bool:
    """Say whether a release is newer than another one; both are numbers with dots between them."""
    return _numbers(one) > _numbers(other)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
