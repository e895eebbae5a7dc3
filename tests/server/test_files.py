"""The language server and the places that texts can have: folders, files that are left out, texts without a file."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from nnxmigrate.server.texts import Text, Texts
from nnxmigrate.server.workspace import Workspace
from tests.conftest import Tree
from tests.server.client import Editor, session
from tests.server.test_server import PROJECT, WHOLE, codes, titled
from tests.test_hostile import HEAD, NEW, OLD

pytestmark = pytest.mark.slow

CONFIG = '[tool.nnxmigrate]\nfrom = "0.10"\nto = "0.11"\n'


async def until(editor: Editor, name: str, wanted: list[str]) -> None:
    """Wait until what is shown of a file is what is wanted."""
    for _ in range(300):
        if codes(editor.found.get(editor.uri(name), [])) == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(editor.found.get(editor.uri(name)))


@pytest.mark.parametrize("odd", ["\x0c", "\u2028"], ids=ascii)
def test_lines_end_where_editors_end_them(tree: Tree, odd: str) -> None:
    """What is typed behind such a character must go where it was typed, or every fix would hit another place."""
    text = f"s = '''{odd}'''\n" + HEAD + OLD
    root = tree({"a.py": text, "pyproject.toml": CONFIG})

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("a.py")
        assert one.range.start == lsp.Position(4, 4)
        (one,) = await editor.insert("a.py", 4, 0, "éé = 1; ")
        assert one.range.start == lsp.Position(4, 12)
        action = titled(await editor.actions(editor.uri("a.py"), one.range), "Migrate")
        assert editor.applied(action.edit)["a.py"] == text.replace("o = nnx", "éé = 1; o = nnx").replace(
            "sgd(0.1))", "sgd(0.1), wrt=nnx.Param)"
        )

    session(root, scenario)


def test_the_ends_of_lines_stay(tree: Tree) -> None:
    text = (HEAD + OLD).replace("\n", "\r\n")
    root = tree({"pyproject.toml": CONFIG})
    (root / "a.py").write_bytes(text.encode())

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("a.py")
        assert one.range.start == lsp.Position(3, 4)
        offered = await editor.actions(editor.uri("a.py"), one.range)
        fixed = editor.applied(titled(offered, "Migrate").edit)["a.py"]
        assert fixed == (HEAD + NEW).replace("\n", "\r\n")
        silent = editor.applied(titled(offered, "Ignore").edit)["a.py"]
        assert silent == text.replace("sgd(0.1))", "sgd(0.1))  # nnx: ignore[NNX101]")
        assert await editor.insert("a.py", 3, len(OLD.splitlines()[1]), "  # nnx: ignore[NNX101]") == []

    session(root, scenario)


def test_changes_of_a_text() -> None:
    texts = Texts()
    texts.open(lsp.TextDocumentItem("u", "python", 1, "a\U0001f389b\r\nc\rd"))
    text = texts["u"]
    assert [text.line(number) for number in range(4)] == ["a\U0001f389b", "c", "d", ""]
    assert [text.column(lsp.Position(0, 3), one) for one in ("utf-16", "utf-8", "utf-32")] == [2, 2, 3]
    place = lsp.Range(lsp.Position(0, 3), lsp.Position(2, 0))
    changes = [
        lsp.TextDocumentContentChangePartial(place, "X\n"),
        lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(9, 0), lsp.Position(9, 9)), "!"),
    ]
    texts.change(lsp.VersionedTextDocumentIdentifier(2, "u"), changes, "utf-16")
    assert texts["u"] == Text("a\U0001f389X\nd!", 2, "python")
    texts.change(lsp.VersionedTextDocumentIdentifier(3, "u"), [lsp.TextDocumentContentChangeWholeDocument("")], "utf-8")
    assert (texts["u"].source, texts.versions()) == ("", {"u": 3})
    texts.close("u")
    assert "u" not in texts


@pytest.mark.parametrize("folders", [(".",), None], ids=["in a folder", "alone"])
def test_a_text_without_a_file(tree: Tree, folders: tuple[str, ...] | None) -> None:
    root = tree({"lab.py": "import optax\nfrom flax import nnx\n\n\ndef make(m):\n"
                           "    return nnx.Optimizer(m, optax.sgd(0.1), wrt=nnx.Param)\n"})  # fmt: skip
    text = "from lab import make\n" + HEAD + OLD + "make(m).update(None)\n"

    async def scenario(editor: Editor) -> None:
        (one, *others) = await editor.open("untitled:Untitled-1", text)
        assert codes(others) == (["NNX102"] if folders else []), "it is a part of the folder, if one is open"
        assert one.range.start.line == 4
        action = titled(await editor.actions("untitled:Untitled-1", one.range), "Migrate this optimizer")
        assert text.replace(OLD, NEW) in editor.applied(action.edit).values()
        assert await editor.type("untitled:Untitled-1", HEAD + NEW) == []

    session(root, scenario, folders=folders)


def test_files_that_the_project_leaves_out(tree: Tree) -> None:
    library = "def make():\n    return None, None\n"
    root = tree(PROJECT | {"old/a.py": HEAD + OLD, ".gitignore": "/old/\n"})

    async def scenario(editor: Editor) -> None:
        assert await editor.open("old/a.py") == []
        assert await editor.type("old/a.py", HEAD + OLD + "\n") == []
        assert codes(await editor.open("lab/step.py")) == ["NNX102"]
        packages = root / ".venv" / "lib"
        packages.mkdir(parents=True)
        (packages / "train.py").write_text(library)
        (root / "venv.py").write_text("")
        changes = [
            lsp.FileEvent((root / name).as_uri(), lsp.FileChangeType.Created)
            for name in ("venv.py", ".venv/lib/train.py")
        ]
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(changes))
        assert codes(await editor.news(editor.uri("lab/step.py"))) == ["NNX102"]
        (root / "pyproject.toml").write_text(CONFIG + 'exclude = ["lab/model.py"]\n')
        change = lsp.FileEvent(editor.uri("pyproject.toml"), lsp.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        await until(editor, "lab/step.py", [])

    session(root, scenario)
    workspace = Workspace(str(root))
    workspace.load()
    before = set(workspace.files())
    workspace.refresh([str(root / ".venv" / "lib" / "train.py")])
    assert set(workspace.files()) == before


def test_a_configuration_that_is_wrong_at_first(tree: Tree) -> None:
    root = tree(PROJECT | {"pyproject.toml": "[tool.nnxmigrate]\nselekt = []\n"})

    async def scenario(editor: Editor) -> None:
        editor.versions[editor.uri("lab/step.py")] = 1
        item = lsp.TextDocumentItem(editor.uri("lab/step.py"), "python", 1, PROJECT["lab/step.py"])
        editor.texts[item.uri] = item.text
        for number in (1, 2):
            if number == 1:
                editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
            for _ in range(300):
                if len(editor.messages) >= number:
                    break
                await asyncio.sleep(0.1)
            assert len(editor.messages) == number
            assert "selekt" in editor.messages[-1]
            (root / "pyproject.toml").write_text(CONFIG)
            change = lsp.FileEvent(editor.uri("pyproject.toml"), lsp.FileChangeType.Changed)
            editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
            await until(editor, "lab/step.py", ["NNX102"])
            if number == 1:
                (root / "pyproject.toml").write_text("[tool.nnxmigrate]\nselekt = []\n")
                editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))

    session(root, scenario)


def test_a_lone_file_does_not_make_a_project_of_its_folder(tree: Tree) -> None:
    root = tree({"a.py": HEAD + OLD, "b.py": "from a import o\no.update(None)\n"})

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("a.py")) == ["NNX101"]
        assert await editor.open("b.py") == []

    session(root, scenario, folders=None)


def test_two_folders_with_settings_of_their_own(tree: Tree) -> None:
    root = tree({"one/pyproject.toml": CONFIG, "one/a.py": HEAD + OLD, "two/a.py": HEAD + OLD,
                 "two/pyproject.toml": CONFIG + 'ignore = ["NNX1"]\n'})  # fmt: skip

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("one/a.py")) == ["NNX101"]
        assert await editor.open("two/a.py") == []
        assert await editor.insert("two/a.py", 0, 0, "# a line\n") == []
        gone = lsp.WorkspaceFoldersChangeEvent(added=[], removed=[editor.folder("one")])
        editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(gone))
        assert codes(await editor.news(editor.uri("one/a.py"))) == ["NNX101"], "its text stays, and its project"
        assert codes(await editor.insert("one/a.py", 0, 0, "# a line\n")) == ["NNX101"]

    session(root, scenario, folders=("one", "two"))


def test_a_folder_is_renamed(tree: Tree) -> None:
    root = tree(PROJECT | {"lab/train.py": "from .model import make\nfrom .step import step\n\nm, o = make()\n"
                                           "step(m, o, None)\n"})  # fmt: skip

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("lab/step.py")) == ["NNX102"]
        shutil.move(root / "lab" / "model.py", root / "lab" / "maker.py")
        one = lsp.FileRename(editor.uri("lab/model.py"), editor.uri("lab/maker.py"))
        editor.client.workspace_did_rename_files(lsp.RenameFilesParams([one]))
        assert await editor.news(editor.uri("lab/step.py")) == [], "nothing makes the optimizer any more"
        shutil.move(root / "lab" / "maker.py", root / "lab" / "model.py")
        shutil.move(root / "lab", root / "room")
        one = lsp.FileRename(editor.uri("lab"), editor.uri("room"))
        editor.client.workspace_did_rename_files(lsp.RenameFilesParams([one]))
        uri = editor.uri("lab/step.py")
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert codes(await editor.open("room/step.py")) == ["NNX102"]

    session(root, scenario)


def test_an_editor_that_does_not_watch(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("lab/step.py")) == ["NNX102"]
        assert editor.watched == []
        (root / "lab" / "model.py").write_text("def make():\n    return None, None\n")
        uri = editor.uri("lab/step.py")
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await until(editor, "lab/step.py", [])

    session(root, scenario, watches=False)


def test_a_text_that_closes_while_something_is_asked_about_it(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        await editor.open("alone.py")
        uri = editor.uri("alone.py")
        editor.say("alone.py", HEAD + OLD + "\n")
        asked = asyncio.ensure_future(editor.actions(uri, WHOLE))
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await asked == []
        assert await editor.hover(uri, 3, 5) == ""

    session(root, scenario)


def test_a_column_behind_characters_that_take_two_units(tree: Tree) -> None:
    root = tree(PROJECT)

    async def scenario(editor: Editor) -> None:
        text = "s = '" + "\U0001f389" * 20 + "'  # nnx: ignore[NNX202]\n"
        await editor.open("alone.py", text + HEAD + OLD)
        column = len(text.encode("utf-16-le")) // 2 - 5
        assert "**NNX202 " in await editor.hover(editor.uri("alone.py"), 0, column)
        assert "**NNX202 " not in await editor.hover(editor.uri("alone.py"), 0, 8)

    session(root, scenario)


def test_files_beside_the_folder_that_is_open(tree: Tree) -> None:
    """What a run in the folder would read to understand it is read here too."""
    root = tree(
        {**PROJECT, "use/b.py": "from lab.model import make\n\nmodel, optimizer = make()\noptimizer.update(1)\n"}
    )
    assert isinstance(root, Path)

    async def scenario(editor: Editor) -> None:
        assert codes(await editor.open("use/b.py")) == ["NNX102"]

    session(root, scenario, folders=("use",))
