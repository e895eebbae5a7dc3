"""Migrate code and checkpoints of Flax NNX, and lint it.

:func:`migrate` and :func:`lint` do in a program what the commands of the same names do; :mod:`nnxmigrate.rulekit` is
for those who write rules of their own. What these two name is public and keeps its meaning; all else may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnxmigrate.version import __version__

if TYPE_CHECKING:
    from codemods.nnx.findings import Safety
    from nnxmigrate.api import Result, lint, migrate
    from nnxmigrate.outcome import Diagnostic, FileOutcome, Replacement, Status
    from nnxmigrate.own_rules import BadRules

__all__ = [
    "BadRules",
    "Diagnostic",
    "FileOutcome",
    "Replacement",
    "Result",
    "Safety",
    "Status",
    "__version__",
    "lint",
    "migrate",
]

_HOMES = {"Result": "api", "lint": "api", "migrate": "api", "BadRules": "own_rules"}


def __getattr__(name: str) -> object:
    """Import a public name when it is used, so that the command line imports only what it needs."""
    if name not in __all__:
        raise AttributeError(f"module 'nnxmigrate' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"nnxmigrate.{_HOMES.get(name, 'outcome')}"), name)
