"""Every wording is met for real: programs that fail under each Flax, and what they print explained."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from nnxmigrate.explain.match import matches
from nnxmigrate.explain.table import ENTRIES
from tests.environments import python
from tests.explain.provocations import PRELUDE, PROVOCATIONS, Provocation

RUNNER = Path(__file__).with_name("provoke.py")
RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.txt"))


def raised(version: str, provocations: list[Provocation]) -> list[str | None]:
    """Run the programs in one process under a Flax version; return the traceback that each printed."""
    programs = [{"code": provocation.code, "warnings": provocation.warnings} for provocation in provocations]
    result = subprocess.run(
        [python(version), str(RUNNER)],
        input=json.dumps({"prelude": PRELUDE, "programs": programs}),
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    tracebacks: list[str | None] = json.loads(result.stdout.splitlines()[-1])
    return tracebacks


@pytest.mark.parametrize("version", ["0.10", "0.11", "0.12"])
def test_what_flax_raises_is_explained(version: str) -> None:
    provocations = [provocation for provocation in PROVOCATIONS if version in provocation.on]
    wrong = []
    for provocation, text in zip(provocations, raised(version, provocations), strict=True):
        if text is None:
            wrong.append(f"{provocation.code!r} raised nothing")
            continue
        # The whole traceback, the same one hard-wrapped as a narrow terminal does, and its text alone.
        for form in (text, wrapped(text, 60)):
            found = matches(form, ENTRIES)
            if not found or found[0].entry.key != provocation.entry or not found[0].certain:
                keys = [match.entry.key for match in found]
                wrong.append(f"{provocation.code!r}: {keys} instead of {provocation.entry}\n{form}")
    assert not wrong, "\n\n".join(wrong)


def wrapped(text: str, width: int) -> str:
    """Break lines after ``width`` characters, inside words too, as a terminal does."""
    return "\n".join(line[i : i + width] for line in text.splitlines() for i in range(0, max(len(line), 1), width))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_tracebacks_are_explained(path: Path) -> None:
    """Tracebacks of releases that the test environments lack; the file's name holds the entry and the releases."""
    found = matches(path.read_text(encoding="utf-8"), ENTRIES)
    assert [(match.entry.key, match.certain) for match in found[:1]] == [(path.stem.split("--")[0], True)]


def test_every_entry_is_provoked_or_recorded() -> None:
    """An entry that nothing proves may not creep in; these need several devices, a remote store or an old Orbax."""
    unproven = {
        "checkpoint-topology",
        "checkpoint-path-relative",
        "module-parent-reference",
        "value-hooks",
    }
    proven = {provocation.entry for provocation in PROVOCATIONS} | {path.stem.split("--")[0] for path in RECORDED}
    assert {entry.key for entry in ENTRIES if not entry.key.startswith("nnx-name-")} - proven == unproven
