"""Asking about some files of a project: the findings in them are those of a run over all."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.nnx.analyse import analyse
from codemods.nnx.catalogue import RULES
from codemods.nnx.options import Options
from nnxmigrate.project import read_document
from nnxmigrate.project import sources as loaded_sources
from tests.migration import shown, sources

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    f"r{rule.code.lower()}_{number}.py": example.before
    for rule in RULES
    for number, example in enumerate(rule.examples)
}


@pytest.mark.parametrize("targets", [("0.11",), ("0.11", "0.12")], ids="-".join)
def test_half_of_the_examples(targets: tuple[str, ...]) -> None:
    """All examples are one project, so that whatever rules keep for a whole run is put to the test."""
    every = sources(EXAMPLES)
    options = Options(targets=targets, lint=True, fixes=False)
    whole = shown(analyse(every, options))
    assert len({line[3] for line in whole}) > 100
    for half in (set(list(EXAMPLES)[::2]), set(list(EXAMPLES)[1::2])):
        assert shown(analyse(every, options, half)) == [line for line in whole if line[0] in half]


def test_each_file_of_the_example_project() -> None:
    paths = sorted((ROOT / "fixtures" / "project").rglob("*.py"))
    texts = list(loaded_sources({str(path): read_document(path.name, path.read_bytes()) for path in paths}).values())
    options = Options(targets=("0.11", "0.12"), lint=True)
    whole = shown(analyse(texts, options))
    assert whole
    for source in texts:
        assert shown(analyse(texts, options, {source.path})) == [line for line in whole if line[0] == source.path]
