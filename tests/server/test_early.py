"""What is said of an edited file before its project is analysed, and that the analysis ends when it is told to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from codemods.nnx.analyse import Stopped
from codemods.nnx.catalogue import every_rule
from codemods.nnx.findings import Finding, Fix
from codemods.nnx.flow import questions
from nnxmigrate.server import workspace as module
from nnxmigrate.server.early import EXCEPT, Carried, local
from nnxmigrate.server.workspace import Checked, Workspace, unsaved
from tests.conftest import Tree
from tests.server.client import Editor, session
from tests.server.test_server import PROJECT, codes
from tests.test_hostile import HEAD, OLD

#: Findings of all sorts: about names alone, and about objects that come from another file.
LAB = PROJECT | {
    "lab/step.py": PROJECT["lab/step.py"] + "\n\ndef loss(model, x):\n    s = nnx.State\n    return nnx.GraphDef\n",
    "lab/names.py": "from flax import nnx\nfrom lab.model import make\n\nm, o = make()\nx = nnx.VariableState\n"
    "nnx.display(x)\nprint(nnx.Dict)\n",
}
#: What an editor's user may type, at a random place of a file.
TYPED = (
    "\n",
    "# a thought\n",
    "x = nnx.VariableState\n",
    "def f(a):\n    return a\n",
    "o.update(None)\n",
    "x = (\n",
    "é",
)


def about(findings: Iterable[Finding]) -> list[tuple[object, ...]]:
    """Return what findings say, without the texts of their fixes."""
    return sorted((one.code, one.start, one.end, one.message, one.help) for one in findings)


def said(checked: Checked) -> tuple[object, ...]:
    """Return everything that a check says, with its fixes."""
    fixes = [sorted(map(repr, one.fix.edits)) if one.fix else None for one in checked.findings]
    return checked.document.text, about(checked.findings), fixes, list(checked.problems)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every project for a large one."""
    monkeypatch.setattr(module, "SLOW", 0)
    monkeypatch.setattr(module, "LARGE", 0)


def test_findings_move_with_the_text() -> None:
    text = b"one\ntwo\nsix\n"
    fix = Fix(())
    found = tuple(Finding("NNX101", "a.py", start, start + 3, "here", fix=fix) for start in (0, 4, 8))

    def moved(after: bytes) -> list[int]:
        carried = Carried(text, found, found[:1]).to(after)
        assert all(one.fix is None for one in carried.findings), "their edits are of the old text"
        assert all(one.end - one.start == 3 for one in carried.findings)
        assert carried.text == after
        return [one.start for one in carried.findings]

    assert moved(text) == [0, 4, 8]
    assert moved(b"# above\n" + text) == [8, 12, 16]
    assert moved(b"a." + text) == [6, 10], "the first one is another thing now"
    assert moved(b"one\ntwo\n# x\nsix\n") == [0, 4, 12]
    assert moved(b"one\nsix\n") == [0, 4], "the place of the second is gone"
    assert moved(b"one\ntwoo\nsix\n") == [0, 9], "the word is another"
    assert moved(b"one\ntwo;\nsix\n") == [0, 4, 9]
    assert moved(b"") == []
    assert moved(text + text) == [0, 4, 8], "the first of two places that look alike"


def test_rules_that_are_said_to_be_local_exist() -> None:
    codes = {rule.code for rule in every_rule()}
    assert codes >= EXCEPT
    assert 50 < sum(map(local, codes)) < len(codes)


@pytest.mark.usefixtures("slow")
def test_replayed_edits_end_in_the_findings_of_a_full_run(tree: Tree) -> None:
    root = str(tree(LAB))
    one, chance, early_ones = Workspace(root), random.Random(3), 0
    paths = [f"{root}/{name}" for name in ("lab/model.py", "lab/step.py", "lab/names.py", "train.py")]
    for path in paths:
        one.check(path)
    for number in range(40):
        path = paths[number % len(paths)]
        lines = one.document(path).text.decode().splitlines(keepends=True)
        place = chance.randrange(len(lines) + 1)
        if chance.random() < 0.3:
            del lines[place : place + 1]
        else:
            lines.insert(place, chance.choice(TYPED))
        document = unsaved("".join(lines))
        before = about(one.check(path).findings)
        one.overlay(path, document)
        early = one.early(path)
        if chance.random() < 0.5:
            continue  # the user types on before the project was analysed
        after = one.check(path)
        full = Workspace(root)
        full.load()
        for other in paths:
            full.overlay(other, one.document(other))
        assert said(after) == said(full.check(path)), f"edit {number}"
        if early is not None:
            early_ones += 1
            assert list(early.problems) == list(after.problems)
            now = about(after.findings)
            for each in about(early.findings):
                assert each in now or not local(str(each[0])) or each[0] in {code for code, *_ in before}, each
            mine = [each for each in now if local(str(each[0]))]
            assert [each for each in about(early.findings) if local(str(each[0]))] == mine
        if after.problems:
            one.overlay(path, unsaved(LAB[path.removeprefix(f"{root}/")]))
    assert early_ones > 5


@pytest.mark.usefixtures("slow")
def test_what_was_edited_is_looked_at_by_the_other_rules_too(tree: Tree) -> None:
    text = "from lab.model import make\n" + HEAD + OLD
    root = str(tree(LAB | {"use.py": text}))
    path = f"{root}/use.py"
    workspace = Workspace(root)

    def early(new: str) -> list[str]:
        workspace.overlay(path, unsaved(new))
        checked = workspace.early(path)
        assert checked is not None
        return [one.code for one in checked.findings]

    more = "k = nnx.Linear(1, 1, rngs=nnx.Rngs(1))\np = nnx.Optimizer(k, optax.sgd(0.1))\n"
    assert early("import os\n" + text) == ["NNX101"], "nothing is known yet"
    workspace.check(path)
    assert early(text) == ["NNX101"], "moved"
    assert early(text + more) == ["NNX101", "NNX101"]
    assert early(text + more + "p.update(None)\n") == ["NNX101", "NNX101", "NNX102"]
    assert early(text + more.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")) == ["NNX101"]
    assert early("import os\n" + text) == ["NNX101"], "all was undone"
    workspace.check(path)
    assert workspace.early(path) is None


def test_a_small_group_does_not_pass_for_the_whole_project(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 0)
    pair = {"pair/__init__.py": "", "pair/a.py": HEAD + OLD, "pair/b.py": "from pair.a import o\nprint(o)\n"}
    root = str(tree(LAB | pair))
    workspace = Workspace(root)
    times = iter([0.0, 9.0, 9.0, 9.1])
    monkeypatch.setattr("nnxmigrate.server.workspace.time.thread_time", lambda: next(times))
    for name in ("lab/step.py", "pair/a.py"):
        workspace.check(f"{root}/{name}")
        workspace.overlay(f"{root}/{name}", unsaved((LAB | pair)[name] + "# more\n"))
    assert workspace.early(f"{root}/lab/step.py") is not None
    assert workspace.early(f"{root}/pair/a.py") is None


def test_a_small_project_is_analysed_at_once(tree: Tree) -> None:
    root = tree(LAB)
    workspace = Workspace(str(root))
    assert workspace.early(str(root / "lab/step.py")) is None


#: Starts a server whose analysis of the project never ends.
STUCK = """
import time
import nnxmigrate.server.protocol as protocol, nnxmigrate.server.workspace as workspace
from codemods.nnx.analyse import Stopped

def analysed(group, options, context, stop):
    while not stop():
        time.sleep(0.05)
    raise Stopped

workspace.LARGE, workspace.analysed = 0, analysed
protocol.create().start_io()
"""


def test_an_editor_gets_the_early_ones(tree: Tree) -> None:
    root = tree(LAB)

    async def scenario(editor: Editor) -> None:
        found = await editor.open("lab/names.py")
        assert any(local(str(code)) for code in codes(found))
        assert found
        uri = editor.uri("lab/names.py")
        place = found[0].range.start
        assert str(found[0].code) in await editor.hover(uri, place.line, place.character + 1)
        again = await editor.type("lab/names.py", "# above\n" + LAB["lab/names.py"])
        assert [one.range.start.line for one in again] == [one.range.start.line + 1 for one in found]
        (problem,) = await editor.type("lab/names.py", LAB["lab/names.py"] + "x = (\n")
        assert problem.severity == lsp.DiagnosticSeverity.Information
        await asyncio.sleep(0)

    session(root, scenario, command=("-c", STUCK))


def test_an_analysis_ends_within_a_rule(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_POLL", 0x7)  # the project is small
    root = tree(LAB | {"pyproject.toml": '[tool.nnxmigrate]\nto = "0.11"\nselect = ["NNX101"]\n'})
    path, asked = str(root / "train.py"), 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > most

    most = 10**9
    workspace = Workspace(str(root))
    workspace.check(path, stop)
    places = len(workspace.neighbours(path)) + 1  # to parse, and as many times to build the graph; and one rule
    assert asked > 2 * places + 1, "not only between files and rules"
    most, asked = asked - 1, 0
    with pytest.raises(Stopped):
        workspace.check(path, stop)
    assert Path(path).exists()
