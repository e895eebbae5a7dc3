"""Code for several steps is printed once for those that load alike, and for each kind of step."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from nnxmigrate.checkpoint.each_step import lines_of_steps
from nnxmigrate.checkpoint.files import LocalFolder
from nnxmigrate.checkpoint.job import ItemJob, Job, Request
from nnxmigrate.checkpoint.layout import Checkpoint, Item, Kind, Step
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.restoring import restored
from nnxmigrate.checkpoint.target import Layout
from nnxmigrate.checkpoint.tree import StoredTree


def _plan(layout: Layout) -> Plan:
    nothing: tuple[Any, ...] = ()
    return Plan(layout, nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing, False)


def _job(names: str, pure: str = "") -> Job:
    root = LocalFolder(pathlib.Path("/run"))
    steps = []
    for name in names.split():
        folder = root.child(name)
        steps.append(Step(name, Kind.ITEMS, folder, (Item("default", folder.child("default")),), (), {}))
    tree = StoredTree({}, {}, True, False, True, False, {}, None, {})
    items = [
        ItemJob(step, step.items[0], tree, _plan(Layout.PURE if step.name in pure.split() else Layout.STATE))
        for step in steps
    ]
    checkpoint = Checkpoint(Kind.STEPS, root, tuple(steps))
    return Job(Request("/run"), checkpoint, "/new", list(items), [], None)


def _lines(job: Job, step: Step) -> list[str] | None:
    (pair,) = [(one, plan) for one, plan in job.converted if one.step is step]
    return restored("state", pair[1].layout.name.lower(), job, pair[0], "")


@pytest.mark.parametrize(
    ("names", "pure", "said"),
    [
        ("3", "", []),
        ("3 4", "", ["# step 4; step 3 loads in the same way, by its number"]),
        ("1 2 3 4", "", ["# step 4; steps 1, 2, 3 load in the same way, each by its number"]),
        ("1 2 3 4", "2 3", ["# step 4; step 1 loads in the same way, by its number", "# step 3; step 2 loads "]),
        ("1 2", "1", ["# step 2", "# step 1"]),
        (" ".join(map(str, range(20))), "", ["# step 19; steps 0, 1, 2, 3, 4, 5, 6, 7 and 11 more load "]),
    ],
)
def test_steps(names: str, pure: str, said: list[str]) -> None:
    lines = lines_of_steps(_job(names, pure), _lines)
    assert lines is not None
    titles = [line for line in lines if line.startswith("# step")]
    assert len(titles) == len(said)
    assert all(title.startswith(start) for title, start in zip(titles, said, strict=True))
    assert sum("manager.restore" in line for line in lines) == max(1, len(said))


def test_a_step_without_code() -> None:
    assert lines_of_steps(_job("1 2"), lambda job, step: None if str(step.folder).endswith("1") else ["code"]) is None


def test_numbers_that_were_padded() -> None:
    lines = lines_of_steps(_job("ckpt_0009 ckpt_1000"), _lines)
    assert lines is not None
    assert lines[0] == "# step 1000; step 9 loads in the same way, by its number"
    assert "step_prefix='ckpt', step_format_fixed_length=4" in lines[1]
