"""The public names of JAX, Optax, Flax and Orbax, and what their functions take, in all releases of some years.

``public_names.txt`` holds them; ``python -m tests.public_names`` asks the libraries and writes it. ``@ jax.numpy``
begins the names of a module. Behind a name stands how many arguments it takes by position at most, ``*`` for any
number, and then their names, with ``!`` before what every release needs and ``/`` for what has no name; then those that
are taken by keyword alone, each behind a colon, and ``**`` where any other is taken. Nothing stands behind a name that
is not called, or takes anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("public_names.txt")
#: The newest release of JAX that was asked.
NEWEST = "0.10.2"
ROOTS = frozenset({"jax", "optax", "flax", "orbax"})
_ALIKE = 0.75  # how alike two names are of which one is taken for a slip of the other, as difflib counts it


@dataclass(frozen=True, slots=True)
class Taken:
    """What a function takes.

    Attributes:
        most: how many arguments by position at most; None for any number.
        places: the names of those, with an empty one for each that has none.
        needed: which of the names and places every release needs.
        named: what is taken by keyword.
        others: whether any other keyword is taken.
    """

    most: int | None
    places: tuple[str, ...]
    needed: frozenset[str | int]
    named: frozenset[str]
    others: bool


_HALF = 2


def homes() -> tuple[str, ...]:
    """Return the modules of the table."""
    return tuple(_homes())


@cache
def _homes() -> dict[str, str]:
    parts = TABLE.read_text(encoding="utf-8").split("@ ")
    return {home: names for home, _, names in (part.partition("\n") for part in parts[1:])}


@cache
def names(home: str) -> dict[str, str]:
    """Return the public names of a module, each with its arguments as the table has them; none of an unknown one."""
    lines = _homes().get(home, "").splitlines()
    return {name: arguments for name, _, arguments in (one.partition(" ") for one in lines)}


@cache
def taken(home: str, name: str) -> Taken | None:
    """Return what a function takes; None if that is not known, or anything."""
    words = names(home).get(name, "").split()
    if words and words[0][0] == "-":
        del words[0]
    if not words:
        return None
    most, *rest = words
    places = tuple(word.lstrip("!").replace("/", "") for word in rest if word[0] != ":" and word != "**")
    named = {word.lstrip(":!") for word in rest if word != "**"} - {"/"}
    needed: set[str | int] = {i for i, word in enumerate(w for w in rest if w[0] != ":") if word[0] == "!"}
    needed |= {word[2:] for word in rest if word.startswith(":!")}
    return Taken(None if most == "*" else int(most), places, frozenset(needed), frozenset(named), "**" in rest)


def gone(home: str, name: str) -> str:
    """Return the first release of JAX that was asked and had a name no more; empty if the newest has it, or none."""
    known = names(home).get(name, "")
    return known[1:].partition(" ")[0] if known.startswith("-") else ""


def meant(home: str, name: str) -> str:
    """Return what a name that a module has not is a slip of, or where another module has it; empty if nothing is.

    So no name counts as wrong merely for being newer than the table.
    """
    if not _homes().get(home) or name in names(home):
        return ""
    similar = _turned(name, names(home)) or _like(name, names(home))
    elsewhere = [
        other
        for other in _homes()
        if other != "numpy" and other.partition(".")[0] == home.partition(".")[0] and name in names(other)
    ]
    if elsewhere and not (similar and similar[0].lower() == name.lower()):
        return f"{min(elsewhere, key=lambda one: (one.count('.'), not one.startswith('jax.numpy'), len(one)))}.{name}"
    if similar:
        return f"{home}.{similar[0]}"
    return "numpy" if home == "jax.numpy" and name in names("numpy") else ""


def _like(name: str, known: Iterable[str]) -> list[str]:
    """Return the name that is most like another one; none if none is."""
    from difflib import get_close_matches  # most runs find nothing that is not there

    return get_close_matches(name, known, 1, _ALIKE)


def _turned(name: str, known: Iterable[str]) -> list[str]:
    """Return the names with the same letters in another order."""
    letters = sorted(name)
    return [other for other in known if len(other) == len(name) and sorted(other) == letters]


def misfit(home: str, name: str, call: ast.Call) -> str:
    """Return what is wrong with the arguments of a call, whatever the release; empty if nothing is known to be.

    Args:
        home: the module of the function.
        name: the name of the function there.
        call: the call.
    """
    known = taken(home, name)
    if known is None:
        return ""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    given = [one.arg for one in call.keywords]
    shown = f"`{name}`"
    if known.most is not None and len(call.args) > known.most and not starred:
        some = "none" if not known.most else f"{known.most} at most"
        return f"{shown} takes {some} by position, and gets {len(call.args)}"
    if unknown := strange(home, name, call):
        return f"{shown} has no argument `{unknown}`"
    twice = next((one for one in given if one and one in known.places[: len(call.args)] and not starred), None)
    if twice is not None:
        return f"{shown} gets `{twice}` twice, by position and by name"
    if starred or None in given or not (call.args or given):  # nothing at all is given where code is a sketch
        return ""
    if (home, name) == ("jax.numpy", "where") and len(call.args) == _HALF and not set(given) & {"x", "y"}:
        return "`where` takes a condition alone, or with what is taken where it holds and where it does not"
    lacking = [
        known.places[one] if isinstance(one, int) else one
        for one in sorted(known.needed, key=str)
        if (one not in given if isinstance(one, str) else one >= len(call.args) and known.places[one] not in given)
    ]
    if lacking and all(lacking):
        return f"{shown} needs {' and '.join(f'`{one}`' for one in lacking)}"
    return ""


def strange(home: str, name: str, call: ast.Call) -> str:
    """Return the first keyword of a call that its function does not take; empty if it takes all, or may."""
    known = taken(home, name)
    if known is None or known.others:
        return ""
    return next((one.arg for one in call.keywords if one.arg and one.arg not in known.named), "")


_OTHERWISE = {"axis": "reduction_axes", "axes": "reduction_axes"}  # of layers that normalize, beside axis_name


def alike(home: str, name: str, keyword: str) -> str:
    """Return the argument of a function that another word is a slip of; empty if none is."""
    known = taken(home, name)
    if known is None:
        return ""
    if _OTHERWISE.get(keyword, "") in known.named:
        return _OTHERWISE[keyword]
    begun = [one for one in known.named if one.startswith(keyword) or keyword.startswith(one)]
    return next(iter(_like(keyword, known.named) or begun), "")
