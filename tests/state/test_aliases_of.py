"""Following single calls finds of them what following all does."""

from __future__ import annotations

import gc

import pytest

from codemods.nnx.catalogue import every_rule
from codemods.nnx.context import Context
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.state.aliases import aliases, aliases_of
from codemods.nnx.walk import walk
from tests.migration import sources
from tests.state.test_aliasing import COPIED, HEAD

PROGRAMS = {str(index): HEAD + body for index, (body, _) in enumerate(COPIED)} | {
    f"{rule.code} {index}": example.before
    for rule in every_rule()
    if rule.code.startswith(("NNX4", "NNX818"))
    for index, example in enumerate(rule.examples)
}


def _context(text: str) -> Context:
    return Context(Project([source.once(walk) for source in sources({"m.py": text})]), Options())


@pytest.mark.parametrize("name", PROGRAMS)
def test_alone_as_among_all(name: str) -> None:
    every = aliases(_context(PROGRAMS[name]))
    context = _context(PROGRAMS[name])
    found = {
        (one.node.lineno, one.node.col_offset, one.forward, one.handed)
        for event in context.project.calls()
        for one in aliases_of(context, [event])
    }
    wanted = {(a.node.lineno, a.node.col_offset, a.forward, a.handed) for a in every if not a.handed}
    assert {one for one in found if not one[3]} == wanted


def test_there_is_something_to_find() -> None:
    assert sum(bool(aliases(_context(text))) for text in PROGRAMS.values()) >= len(COPIED)


def test_runs_are_given_back_and_others_kept() -> None:
    frozen = gc.get_freeze_count()
    aliases(_context(PROGRAMS["0"]))
    assert gc.get_freeze_count() == frozen
