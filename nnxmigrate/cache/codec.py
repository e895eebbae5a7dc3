"""The results of runs as JSON, and back.

Unlike a pickle, a file that somebody else wrote can do nothing but describe results.
"""

from __future__ import annotations

import enum
import json
from dataclasses import fields
from typing import Any

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Analysis, Failure, Finding, Fix, Related, Safety
from codemods.nnx.options import OptimizerForm, Options
from nnxmigrate.files.document import Spot
from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, RelatedPlace, Replacement, Status

_CLASSES: tuple[type[Any], ...] = (
    Analysis,
    Failure,
    Finding,
    Related,
    Fix,
    Edit,
    Outcome,
    FileOutcome,
    Diagnostic,
    RelatedPlace,
    Replacement,
    Options,
)
_ENUMS: tuple[type[enum.Enum], ...] = (OptimizerForm, Safety, Status)
_BY_NAME = {cls.__name__: cls for cls in _CLASSES}
_ENUM_BY_NAME = {cls.__name__: cls for cls in _ENUMS}


class Unknown(ValueError):
    """A value is of a class that is not kept."""


def dump(value: object) -> bytes:
    """Return a value as JSON.

    Raises:
        Unknown: if it holds something that is no result.
    """
    return json.dumps(_Dump().plain(value), separators=(",", ":")).encode()


def load(data: bytes) -> Any:
    """Return the value that :func:`dump` was given.

    Raises:
        ValueError: if the data is something else.
    """
    try:
        return _Load().value(json.loads(data))
    except (TypeError, KeyError, IndexError, RecursionError) as error:
        raise ValueError(str(error)) from error


class _Dump:
    """Writes numbers, texts and None as they are, and all else as a list that begins with its kind."""

    def __init__(self) -> None:
        self._fixes: dict[Fix, int] = {}

    def plain(self, value: object) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if isinstance(value, bytes):
            return ["bytes", value.decode("latin-1")]
        if kind in (tuple, list, Spot):
            return [kind.__name__, *map(self.plain, value)]  # type: ignore[call-overload]
        if isinstance(value, enum.Enum) and kind.__name__ in _ENUM_BY_NAME:
            return [kind.__name__, value.value]
        if _BY_NAME.get(kind.__name__) is not kind:
            raise Unknown(f"a {kind.__name__} is not kept")
        if isinstance(value, Fix):  # which several findings may share
            if value in self._fixes:
                return ["same", self._fixes[value]]
            self._fixes[value] = len(self._fixes)
        return [kind.__name__, *(self.plain(getattr(value, field.name)) for field in fields(kind))]


class _Load:
    def __init__(self) -> None:
        self._fixes: list[Fix | None] = []

    def value(self, plain: Any) -> Any:
        if not isinstance(plain, list):
            return plain
        kind, *parts = plain
        if kind == "bytes":
            return parts[0].encode("latin-1")
        if kind == "same":
            return self._fixes[parts[0]]
        if kind in _ENUM_BY_NAME:
            return _ENUM_BY_NAME[kind](parts[0])
        number = len(self._fixes)
        if kind == "Fix":
            self._fixes.append(None)
        values = [self.value(part) for part in parts]
        if kind == "tuple":
            return tuple(values)
        if kind == "list":
            return values
        made = Spot(*values) if kind == "Spot" else _BY_NAME[kind](*values)
        if isinstance(made, Fix):
            self._fixes[number] = made
        return made
