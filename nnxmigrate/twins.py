"""Notebooks that stand beside the script they were exported to, or made from: what both hold is said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from codemods.nnx.rule import MISTAKES
from nnxmigrate.outcome import Diagnostic

_FAMILIES = (*MISTAKES, "NNX9")  # what must be migrated is said of every file


def said_once(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return findings without those of a notebook that its script has too, at a line of the same text.

    Only lint findings without a fix are left out: a fix is made in both files.

    Args:
        findings: findings of all files.
    """
    scripts = Counter(_key(one, one.path) for one in findings if one.path.endswith(".py"))
    kept = []
    for one in findings:
        if one.path.endswith(".ipynb") and one.code.startswith(_FAMILIES) and one.safety is None:
            key = _key(one, one.path.removesuffix(".ipynb") + ".py")
            if scripts[key]:
                scripts[key] -= 1
                continue
        kept.append(one)
    return kept


def _key(one: Diagnostic, path: str) -> tuple[str, str, str]:
    return path, one.code, one.line.strip()
