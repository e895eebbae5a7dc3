"""Rules of users' own, which installed packages offer through the entry point ``nnxmigrate.rules``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator

from codemods.nnx.rule import Rule

GROUP = "nnxmigrate.rules"
_CODE = re.compile(r"(?!NNX)[A-Z]{2,8}[0-9]{3}")
_loaded = False
_ours: list[Rule] = []


class BadRules(Exception):
    """A package offers rules that cannot be used; the message names it and says why."""


def load() -> None:
    """Add the rules that installed packages offer to the catalogue, once in a process.

    Raises:
        BadRules: if a package offers something else, or cannot be imported.
    """
    global _loaded
    if _loaded:
        return
    places = list(_places())
    if any(_offers(place) for place in places):
        from codemods.nnx.catalogue import add

        found = _found(places)
        add(found)
        _ours.extend(found)
    _loaded = True


def files() -> Iterator[str]:
    """Yield the files and folders that hold the code of these rules."""
    load()
    for rule in _ours:
        top = sys.modules[rule.check.__module__.partition(".")[0]]
        if top.__file__ is None:  # a namespace, whose parts are packages
            top = sys.modules[rule.check.__module__]
        place = os.path.abspath(top.__file__ or "")
        yield os.path.dirname(place) if os.path.basename(place) == "__init__.py" else place


def _places() -> Iterator[str]:
    """Yield the folders in which packages are installed: never the working directory, which holds what is analysed."""
    here = os.path.realpath(os.curdir)
    for place in sys.path:
        if place and os.path.isdir(place) and os.path.realpath(place) != here:
            yield place


def _offers(place: str) -> bool:
    """Say whether a package in a folder offers rules: reading its files costs less than importing the library."""
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.endswith(".dist-info"):
                try:
                    with open(os.path.join(entry.path, "entry_points.txt"), "rb") as file:
                        if f"[{GROUP}]".encode() in file.read():
                            return True
                except OSError:  # it has none
                    continue
    return False


def _found(places: list[str]) -> list[Rule]:
    from importlib.metadata import distributions

    rules: dict[str, Rule] = {}
    for package in distributions(path=places):
        for point in package.entry_points.select(group=GROUP):
            name = f"{package.name} ({point.value})"
            try:
                offered = point.load()
            except Exception as error:  # whatever the package does when it is imported
                raise BadRules(f"the rules of {name} cannot be imported: {type(error).__name__}: {error}") from error
            for rule in offered if isinstance(offered, Iterable) else (offered,):
                if not isinstance(rule, Rule):
                    raise BadRules(f"{name} is no rule and no collection of rules: {rule!r}")
                if not _CODE.fullmatch(rule.code):
                    raise BadRules(
                        f"{name}: the code {rule.code!r} must be two to eight capital letters, not beginning with "
                        "NNX, and three digits"
                    )
                if rule.code in rules and rules[rule.code] is not rule:
                    raise BadRules(f"{name}: there is another rule {rule.code}")
                rules[rule.code] = rule
    return sorted(rules.values(), key=lambda rule: rule.code)
