"""The table ``[tool.nnxmigrate]`` of a project's pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from nnxmigrate.files.toml import parse

NAME = "pyproject.toml"

#: What each key holds. The keys are the long names of the options.
KEYS: Mapping[str, type[Any]] = {
    "baseline": str,
    "cache": bool,
    "cache-dir": str,
    "exclude": list,
    "force-exclude": bool,
    "extend-select": list,
    "fail-on": str,
    "fix-ckpt": dict,
    "from": str,
    "ignore": list,
    "include-markdown": bool,
    "jobs": int,
    "optimizer": str,
    "output-format": str,
    "per-file-ignores": dict,
    "require-clean": bool,
    "select": list,
    "to": str,
    "todo": bool,
    "unsafe-fixes": bool,
}
#: What each key of ``[tool.nnxmigrate.fix-ckpt]`` holds: long names of options of that command.
CHECKPOINT_KEYS: Mapping[str, type[Any]] = {
    "model": str,
    "rngs": str,
    "eager-init": bool,
    "optimizer": str,
    "rename": dict,
    "drop": list,
    "keep": list,
    "allow-missing": list,
    "link": bool,
    "verify": bool,
    "verify-from-disk": bool,
}
_WORDS = {list: "a list of strings", dict: "a table", str: "a string", bool: "true or false", int: "a whole number"}


class ConfigError(Exception):
    """The configuration is wrong; the message names the file and the key."""


def find(paths: Iterable[str]) -> str | None:
    """Return the nearest pyproject.toml with a ``[tool.nnxmigrate]`` table at or above the paths' common folder."""
    absolute = [os.path.abspath(path) for path in paths]
    try:
        folder = os.path.commonpath(absolute)
    except ValueError:  # no paths, or paths on several drives
        return None
    while True:
        candidate = os.path.join(folder, NAME)
        if os.path.isfile(candidate) and b"nnxmigrate" in _read(candidate) and _table(candidate) is not None:
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def load(path: str) -> dict[str, Any]:
    """Return the checked table of a pyproject.toml; empty if there is none.

    Raises:
        ConfigError: if the file is no TOML, a key is unknown or a value has the wrong type.
    """
    table = _table(path) or {}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{path}: [tool.nnxmigrate] has no key {key!r}{_suggestion(key, KEYS)}")
        wanted = KEYS[key]
        if type(value) is not wanted or (wanted is list and not all(isinstance(item, str) for item in value)):
            raise ConfigError(f"{path}: tool.nnxmigrate.{key} must be {_WORDS[wanted]}, not {value!r}")
    _check_checkpoints(path, table.get("fix-ckpt", {}))
    return table


def _check_checkpoints(path: str, table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key not in CHECKPOINT_KEYS:
            suggestion = _suggestion(key, CHECKPOINT_KEYS)
            raise ConfigError(f"{path}: [tool.nnxmigrate.fix-ckpt] has no key {key!r}{suggestion}")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        right = type(value) is CHECKPOINT_KEYS[key] and all(isinstance(one, str) for one in inner)
        if not right or (key == "optimizer" and value not in ("keep", "split")):
            raise ConfigError(f"{path}: tool.nnxmigrate.fix-ckpt.{key} cannot be {value!r}")


def _suggestion(key: str, keys: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(key.replace("_", "-"), keys, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; the keys are {', '.join(keys)}"


def _table(path: str) -> dict[str, Any] | None:
    try:
        content = parse(_read(path).decode("utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    tools = content.get("tool")
    table = tools.get("nnxmigrate") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.nnxmigrate must be a table")
    return table


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
