"""Filters that give the Variables of some classes and no others, as Python code."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Filter:
    """A filter for ``nnx.state``.

    Attributes:
        text: the expression.
        said: the classes for people.
        imports: the module and the name of each of the program's own classes in it.
    """

    text: str
    said: str
    imports: tuple[tuple[str, str], ...] = ()

    @property
    def import_lines(self) -> list[str]:
        """The lines that import the program's own classes."""
        return [f"from {module} import {name}" for module, name in self.imports]


#: What gives the state of which a program left out nothing but RNG state.
WITHOUT_RNG = Filter("nnx.Not(nnx.RngState)", "state without RNG state")


def filter_of(held: Collection[type], others: Collection[type]) -> Filter | None:
    """Return the filter that gives the Variables of some classes.

    Args:
        held: the classes of all Variables that it gives.
        others: those of all others, of which it must give none. A filter also gives those of derived classes.

    Returns:
        The filter; None if the program's own classes cannot be imported, or no such filter is simple enough to print.
    """
    from flax import nnx

    wanted = set(held)
    if not wanted or wanted & set(others):
        return None
    if {nnx.RngKey, nnx.RngCount} <= wanted:
        wanted = {one for one in wanted if not issubclass(one, nnx.RngState)} | {nnx.RngState}
    tops = [one for one in wanted if not any(issubclass(one, two) for two in wanted - {one})]
    taken = {one for one in others if issubclass(one, tuple(tops))}
    if any(issubclass(one, tuple(taken)) for one in held):
        return None
    taken = {one for one in taken if not any(issubclass(one, two) for two in taken - {one})}
    names = {one: _name(one) for one in (*tops, *taken)}
    known = {one: name for one, name in names.items() if name}
    if len(known) < len(names) or len({text for text, _ in known.values()}) < len(names):
        return None
    texts = {one: text for one, (text, _) in known.items()}
    own = tuple(sorted({origin for _, origin in known.values() if origin}))
    if len({name for _, name in own}) < len(own) or {name for _, name in own} & _TAKEN:
        return None
    text, said = _any_of(texts[one] for one in tops), ", ".join(sorted(texts[one] for one in tops))
    if taken:
        text = f"nnx.All({text}, nnx.Not({_any_of(texts[one] for one in taken)}))"
        said += f" (without {', '.join(sorted(texts[one] for one in taken))})"
    return Filter(text, said, own)


#: Names that the printed code uses for something else.
_TAKEN = {"jax", "ocp", "nnx", "model", "optimizer", "state", "pure", "tx", "wrt", "manager"}


def _name(cls: type) -> tuple[str, tuple[str, str] | None] | None:
    """Return how a class is written, and the module and name to import for that; None if it cannot be imported."""
    from flax import nnx

    if getattr(nnx, cls.__name__, None) is cls:
        return f"nnx.{cls.__name__}", None
    found: object = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not cls or cls.__module__ in ("__main__", "builtins"):
        return None
    return cls.__qualname__, (cls.__module__, cls.__qualname__.partition(".")[0])


def _any_of(texts: Iterable[str]) -> str:
    ordered = sorted(texts)
    return ordered[0] if len(ordered) == 1 else f"({', '.join(ordered)})"
