"""Writing files."""

from __future__ import annotations

import os

import pytest

from nnxmigrate.files.atomic import WriteFailed, why_not_writable, write_all
from tests.conftest import Tree


def test_new_files_get_the_usual_permissions(tree: Tree) -> None:
    root = tree({"a.py": "old"})
    (root / "plain").touch()
    write_all({"b.py": b"new"})
    assert (root / "b.py").stat().st_mode == (root / "plain").stat().st_mode


@pytest.mark.parametrize("fails", ["mkstemp", "fsync", "chmod", "replace"])
def test_a_failure_leaves_everything_as_it_was(tree: Tree, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    root = tree({"a.py": "a", "b.py": "b"})
    calls = iter([False, True, False])

    def failing(function: object) -> object:
        def call(*args: object, **named: object) -> object:
            if next(calls):
                raise OSError(28, "No space left on device")
            return function(*args, **named)  # type: ignore[operator]

        return call

    place = "tempfile" if fails == "mkstemp" else "os"
    module = __import__(place)
    monkeypatch.setattr(module, fails, failing(getattr(module, fails)))
    with pytest.raises(WriteFailed, match="No space left") as error:
        write_all({"a.py": b"1", "b.py": b"2", "new.py": b"3"})
    assert error.value.path == "b.py"
    assert {path.name: path.read_text() for path in root.iterdir()} == {"a.py": "a", "b.py": "b"}


@pytest.mark.parametrize(
    ("read", "changed"),
    [
        ({"a.py": b"a", "b.py": b"b", "new.py": None}, None),
        ({"a.py": b"a", "b.py": b"an earlier text"}, "b.py"),
        ({"a.py": None}, "a.py"),  # came into being meanwhile
        ({"new.py": b"deleted meanwhile"}, "new.py"),
    ],
)
def test_what_changed_since_it_was_read_is_not_overwritten(
    tree: Tree, read: dict[str, bytes | None], changed: str | None
) -> None:
    old, new = {"a.py": "a", "b.py": "b"}, {"a.py": "1", "b.py": "2", "new.py": "3"}
    root = tree(dict(old))
    contents = {name: text.encode() for name, text in new.items()}
    if changed is None:
        write_all(contents, read)
    else:
        with pytest.raises(WriteFailed, match="it changed while nnxmigrate ran") as error:
            write_all(contents, read)
        assert error.value.path == changed
    assert {path.name: path.read_text() for path in root.iterdir()} == (new if changed is None else old)


def test_files_that_cannot_be_changed_back_are_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": "a", "b.py": "b", "c.py": "c"})
    replace = os.replace
    calls = iter([False, False, True, True, False])  # the third write fails, then bringing back the first file

    def failing(source: str, target: str) -> None:
        if next(calls):
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(WriteFailed, match=r"error; a\.py had been changed and could not") as error:
        write_all({"a.py": b"1", "b.py": b"2", "c.py": b"3"})
    assert (error.value.path, error.value.unrestored) == ("c.py", ("a.py",))
    monkeypatch.undo()
    os.chdir(root)
    assert {path.name: path.read_text() for path in root.iterdir()} == {"a.py": "1", "b.py": "b", "c.py": "c"}


@pytest.mark.parametrize(("locked", "reason"), [("a.py", "it is read-only"), ("", "its folder")])
def test_protected_files(tree: Tree, monkeypatch: pytest.MonkeyPatch, locked: str, reason: str) -> None:
    root = tree({"a.py": ""})
    assert why_not_writable("a.py") is None
    access = os.access
    real = os.path.realpath(root / locked)
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != real and access(path, mode))
    assert (why_not_writable("a.py") or "").startswith(reason)
