"""The language server with a real client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from nnxmigrate.links import rule_url
from tests.conftest import Tree
from tests.server.client import Editor, edited, session
from tests.test_hostile import HEAD, NEW, OLD

pytestmark = pytest.mark.slow

PROJECT = {
    "pyproject.toml": '[tool.nnxmigrate]\nfrom = "0.10"\nto = "0.11"\n',
    "lab/__init__.py": "",
    "lab/model.py": HEAD + "\n\ndef make():\n    m = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\n"
    "    return m, nnx.Optimizer(m, optax.sgd(0.1))\n",
    "lab/step.py": "def step(model, optimizer, grads):\n    optimizer.update(grads)\n",
    "train.py": "from lab.model import make\nfrom lab.step import step\n\nmodel, optimizer = make()\n"
    "step(model, optimizer, None)\n",
    "alone.py": HEAD + OLD,
    "pair.py": HEAD + OLD + "k = nnx.Linear(1, 1, rngs=nnx.Rngs(1))\np = nnx.Optimizer(k, optax.sgd(0.1))\n",
    "plain.py": "x = 1\n",
}
WHOLE = lsp.Range(lsp.Position(0, 0), lsp.Position(100, 0))


def codes(diagnostics: list[lsp.Diagnostic]) -> list[object]:
    """Return the codes of diagnostics."""
    return [one.code for one in diagnostics]


def titled(actions: list[lsp.CodeAction], words: str) -> lsp.CodeAction:
    """Return the one action whose title holds words."""
    found = [one for one in actions if words in one.title]
    assert len(found) == 1, [one.title for one in actions]
    return found[0]


def test_diagnostics_while_typing(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("alone.py")
        assert (one.code, one.source) == ("NNX101", "nnxmigrate")
        assert one.range == lsp.Range(lsp.Position(3, 4), lsp.Position(3, 36))
        assert one.code_description is not None
        assert one.code_description.href == rule_url("NNX101")
        assert await editor.type("alone.py", HEAD + NEW) == []
        (problem,) = await editor.type("alone.py", HEAD + NEW + "x = (\n")
        assert (problem.severity, problem.range.start.line) == (lsp.DiagnosticSeverity.Information, 4)
        assert codes(await editor.type("alone.py", "# a line above\n" + HEAD + OLD)) == ["NNX101"]
        assert editor.found[editor.uri("alone.py")][0].range.start.line == 4
        assert await editor.open("plain.py") == []
        assert codes(await editor.type("plain.py", HEAD + OLD)) == ["NNX101"], "it holds NNX code only now"
        assert (root / "alone.py").read_text() == HEAD + OLD, "the server writes nothing"

    session(root, scenario)


def test_unsaved_texts_count_in_other_files(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("lab/model.py")) == ["NNX101"]
        assert codes(await editor.open("lab/step.py")) == ["NNX102"]
        fresh = PROJECT["lab/model.py"].replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)").replace("optax.sgd", "sgd")
        editor.say("lab/model.py", "class Other:\n    def update(self, grads):\n        pass\n\n\ndef make():\n"
                   "    return None, Other()\n")  # fmt: skip
        await editor.news(editor.uri("lab/model.py"))
        assert await editor.news(editor.uri("lab/step.py")) == [], "no optimizer reaches it any more"
        editor.say("lab/model.py", fresh.replace("sgd(0.1), wrt=nnx.Param)", "optax.sgd(0.1))"))
        await editor.news(editor.uri("lab/model.py"))
        assert codes(await editor.news(editor.uri("lab/step.py"))) == ["NNX102"]

    session(root, scenario)


def test_an_optimizer_is_migrated_in_all_files_or_in_none(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("lab/step.py")
        uri = editor.uri("lab/step.py")
        action = titled(await editor.actions(uri, one.range), "Migrate this optimizer everywhere it is used")
        assert action.is_preferred
        texts = editor.applied(action.edit)
        assert texts == {
            "step.py": PROJECT["lab/step.py"].replace("(grads)", "(model, grads)"),
            "model.py": PROJECT["lab/model.py"].replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)"),
        }
        (root / "lab" / "model.py").write_text("# changed beside the editor\n" + PROJECT["lab/model.py"])
        offered = await editor.actions(uri, one.range)
        assert not [each for each in offered if "Migrate" in each.title], "half of it would go to the wrong place"

    session(root, scenario)


def test_what_changes_beside_the_editor(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        uri = editor.uri("lab/step.py")
        assert codes(await editor.open("lab/step.py")) == ["NNX102"]
        assert [entry.method for entry in editor.watched] == [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES]
        (root / "lab" / "model.py").write_text("def make():\n    return None, None\n")
        change = lsp.FileEvent(editor.uri("lab/model.py"), lsp.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        assert await editor.news(uri) == []
        assert codes(await editor.open("alone.py")) == ["NNX101"]
        (root / "pyproject.toml").write_text("[tool.nnxmigrate]\nselekt = []\n")
        change = lsp.FileEvent(editor.uri("pyproject.toml"), lsp.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        for _ in range(300):
            await asyncio.sleep(0.1)
            if editor.messages:
                break
        assert "selekt" in editor.messages[0]
        (root / "pyproject.toml").write_text('[tool.nnxmigrate]\nfrom = "0.10"\nto = "0.11"\nignore = ["NNX1"]\n')
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        assert await editor.news(editor.uri("alone.py")) == []

    session(root, scenario)


def test_actions_in_one_file(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        first, _ = await editor.open("pair.py")
        uri, text = editor.uri("pair.py"), PROJECT["pair.py"]
        offered = await editor.actions(uri, first.range)
        one = editor.applied(titled(offered, "Migrate this optimizer").edit)["pair.py"]
        assert one == text.replace("(m, optax.sgd(0.1))", "(m, optax.sgd(0.1), wrt=nnx.Param)")
        both = text.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")
        assert editor.applied(titled(offered, "Fix all NNX101 in this file").edit)["pair.py"] == both
        silent = editor.applied(titled(offered, "Ignore NNX101").edit)["pair.py"]
        assert silent == text.replace("(m, optax.sgd(0.1))", "(m, optax.sgd(0.1))  # nnx: ignore[NNX101]")
        assert len(await editor.type("pair.py", silent)) == 1
        kept = await editor.actions(uri, WHOLE, ["source.fixAll"])
        assert [each.kind for each in kept] == ["source.fixAll.nnxmigrate"]
        last = silent.replace("(k, optax.sgd(0.1))", "(k, optax.sgd(0.1), wrt=nnx.Param)")
        assert editor.applied(kept[0].edit)["pair.py"] == last
        assert await editor.actions(uri, WHOLE, ["refactor"]) == []
        assert await editor.actions(uri, lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))) == []

    session(root, scenario)


def test_hover(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("alone.py")
        uri = editor.uri("alone.py")
        text = await editor.hover(uri, one.range.start.line, one.range.start.character + 1)
        assert text.startswith("**NNX101 ")
        assert rule_url("NNX101") in text
        assert await editor.hover(uri, 0, 0) == ""
        assert await editor.type("alone.py", "# nnx: ignore-file[NNX1, NNX202]\n" + HEAD + OLD) != []
        assert "**NNX202 " in await editor.hover(uri, 0, 27)

    session(root, scenario)


@pytest.mark.parametrize("encodings", [None, ["utf-16"], ["utf-8", "utf-16"], ["utf-32"]], ids=str)
def test_columns_count_the_units_that_the_editor_counts(tree: Tree, encodings: list[str] | None) -> None:
    line = "s = '\U0001f389é'; o = nnx.Optimizer(m, optax.sgd(0.1))\n"
    text = HEAD + "m = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\n" + line
    root = tree({"a.py": text, "pyproject.toml": '[tool.nnxmigrate]\nfrom = "0.10"\nto = "0.11"\n'})
    units = encodings[0] if encodings else "utf-16"

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("a.py")
        before = line[: line.index("nnx.")]
        wanted = {"utf-16": len(before) + 1, "utf-8": len(before.encode()), "utf-32": len(before)}
        assert one.range.start == lsp.Position(3, wanted[units])
        action = titled(await editor.actions(editor.uri("a.py"), one.range), "Migrate")
        assert editor.applied(action.edit, units)["a.py"] == text.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")

    session(root, scenario, encodings)


def test_cells(tree: Tree) -> None:
    root = tree({"pyproject.toml": '[tool.nnxmigrate]\nfrom = "0.10"\nto = "0.11"\n'})
    texts = ["%matplotlib inline\n" + HEAD.rstrip("\n"), "# Title", "x = !ls é\n" + OLD.rstrip("\n"), "x ="]

    async def scenario(editor: Editor) -> None:
        uri = (root / "n.ipynb").as_uri()
        names = [f"vscode-notebook-cell:/n.ipynb#{number}" for number in range(len(texts))]
        kinds = [lsp.NotebookCellKind.Code, lsp.NotebookCellKind.Markup] + [lsp.NotebookCellKind.Code] * 2
        items = [
            lsp.TextDocumentItem(name, "markdown" if kind == lsp.NotebookCellKind.Markup else "python", 1, text)
            for name, text, kind in zip(names, texts, kinds, strict=True)
        ]
        cells = [lsp.NotebookCell(kind, name) for name, kind in zip(names, kinds, strict=True)]
        notebook = lsp.NotebookDocument(uri, "jupyter-notebook", 1, cells)
        editor.texts |= dict(zip(names, texts, strict=True))
        editor.versions |= dict.fromkeys(names, 1)
        editor.client.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(notebook, items))
        (one,) = await editor.news(names[2])
        assert (one.code, one.range.start) == ("NNX101", lsp.Position(2, 4))
        offered = await editor.actions(names[2], one.range)
        mended = texts[2].replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")
        assert list(editor.applied(titled(offered, "Migrate").edit).values()) == [mended]
        assert (await editor.hover(names[2], 2, 6)).startswith("**NNX101")
        change = lsp.NotebookDocumentCellContentChanges(
            lsp.VersionedTextDocumentIdentifier(version=2, uri=names[2]),
            [lsp.TextDocumentContentChangeWholeDocument(mended)],
        )
        editor.versions[names[2]] = 2
        editor.client.notebook_document_did_change(
            lsp.DidChangeNotebookDocumentParams(
                lsp.VersionedNotebookDocumentIdentifier(2, uri),
                lsp.NotebookDocumentChangeEvent(cells=lsp.NotebookDocumentCellChanges(text_content=[change])),
            )
        )
        assert await editor.news(names[2]) == []

    session(root, scenario)


def test_closing_takes_the_text_of_the_disk_again(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("lab/model.py", "def make():\n    return None, None\n")) == []
        assert codes(await editor.open("lab/step.py")) == []
        uri = editor.uri("lab/model.py")
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await editor.news(uri) == []
        assert codes(await editor.type("lab/step.py", PROJECT["lab/step.py"] + "\n")) == ["NNX102"]

    session(root, scenario)


def test_the_newest_text_wins(tree: Tree) -> None:
    """Many keys in a row end in one analysis of the last text; those before are given up."""
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        await editor.open("alone.py")
        for number in range(30):
            editor.say("alone.py", HEAD + OLD + f"# {'x' * number}\n")
        assert await editor.type("alone.py", HEAD + NEW) == []
        await asyncio.sleep(1)
        assert editor.found[editor.uri("alone.py")] == []

    session(root, scenario)


#: Starts a server whose analysis never ends by itself, and that says at once that it takes its time.
STUCK = """
import time
import nnxmigrate.server.protocol as protocol, nnxmigrate.server.workspace as workspace
from codemods.nnx.analyse import Stopped

def analysed(group, options, context, stop):
    while not stop():
        time.sleep(0.05)
    raise Stopped

protocol.PATIENCE, workspace.analysed = 0, analysed
protocol.create().start_io()
"""


def test_a_long_analysis_is_shown_and_can_be_cancelled(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(editor.open("alone.py"), 15)
        (begin,) = editor.progress
        assert (begin.value["kind"], begin.value["cancellable"]) == ("begin", True)
        editor.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(begin.token))
        while len(editor.progress) < 2:
            await asyncio.sleep(0.1)
        assert (editor.progress[1].token, editor.progress[1].value["kind"]) == (begin.token, "end")
        assert editor.uri("alone.py") not in editor.found

    session(root, scenario, command=("-c", STUCK))


def test_edits_of_the_test_client() -> None:
    place = lsp.Range(lsp.Position(1, 2), lsp.Position(1, 3))
    assert edited("a\n\U0001f389bc\n", [lsp.TextEdit(place, "X")]) == "a\n\U0001f389Xc\n"


def test_it_says_what_is_missing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from tests.cli.test_migrate import call

    tree({})
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "nnxmigrate.server.protocol", raising=False)
    result = call("server")
    assert result.exit_code == 2
    assert "pip install '.[server]'" in result.output
    assert Path.cwd().exists()
