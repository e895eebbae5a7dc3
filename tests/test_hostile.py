"""Files that stop other tools: none stops the run, each ends with the right status, and its neighbours are migrated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemods.nnx.edits import Edit
from nnxmigrate.attempt import Fixer
from nnxmigrate.files.document import Unreadable
from nnxmigrate.files.python import read_python
from nnxmigrate.project import Project
from nnxmigrate.settings import Settings
from tests.cli.test_migrate import call
from tests.conftest import Tree

HEAD = "import optax\nfrom flax import nnx\n"
OLD = "m = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\no = nnx.Optimizer(m, optax.sgd(0.1))\n"
NEW = OLD.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")


def spread(before: str, after: str) -> str:
    """Return a program with something before and behind its optimizer."""
    return before + HEAD + OLD + after


TERMS = "x = " + "+".join(["1"] * 800) + "\n"
CALLS = "x = str" + "()" * 600 + "\n"
BRANCHES = "if m: pass\n" + "elif m: pass\n" * 1500
NESTED = "x = " + "(" * 90 + "1" + ")" * 90 + "\n"

#: Content, and whether it is migrated.
HOSTILE: dict[str, tuple[bytes, str]] = {
    "signs": (spread("", "x = " + "-" * 3000 + "1\n").encode(), "failed"),
    "calls in calls": (spread("", "x = " + "a.f(" * 900 + "1" + ")" * 900 + "\n").encode(), "failed"),
    "syntax error": (spread("", "x = (\n").encode(), "failed"),
    "Python 2": (spread("", "print 'x'\n").encode(), "failed"),
    "magic in a script": (spread("%matplotlib inline\n", "").encode(), "failed"),
    "invalid UTF-8": (spread("", "").encode() + b"# \xff\n", "failed"),
    "null byte": (spread("", "").encode() + b"x = '\0'\n", "failed"),
    "unknown encoding": (b"# coding: latin-99\n" + spread("", "").encode(), "failed"),
    "latin-1 with cookie": ("# coding: latin-1\n# ö\n".encode("latin-1") + spread("", "").encode(), "changed"),
    "byte order mark": (b"\xef\xbb\xbf" + spread("", "").encode(), "changed"),
    "CRLF": (spread("", "x = '''\n'''\n").replace("\n", "\r\n").encode(), "changed"),
    "CR": (spread("", "x = 1\n").replace("\n", "\r").encode(), "changed"),
    "mixed line ends": (spread("x = 1\r\n", "y = 2\r\n").encode(), "changed"),
    "form feeds": (spread("x = 1\n\x0c", "\x0c\ny = 2\n").encode(), "changed"),
    "tabs and trailing blanks": (spread("if 1:\n\tx = 1 \t\n", "  \n\t\n").encode(), "changed"),
    "no line end": (spread("", "x = 1").encode(), "changed"),
    "800 terms": (spread("", TERMS).encode(), "changed"),
    "600 calls": (spread("", CALLS).encode(), "changed"),
    "1500 branches": (spread("", BRANCHES).encode(), "changed"),
    "nested parentheses": (spread("", NESTED).encode(), "changed"),
    "else(lambda)": (spread("", "x = 1 if m else(lambda: ())\n").encode(), "changed"),
    "10 MB": (spread("", f"x = {'nnx ' * 24!r}\n" * 100_000).encode(), "changed"),
    "a very long line": (spread("", f"x = {'ab' * 500_000!r}\n").encode(), "changed"),
    "empty": (b"", "unchanged"),
    "only a comment": (b"# nnx", "unchanged"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_one_bad_file_never_stops_the_run(tree: Tree, case: str) -> None:
    raw, status = HOSTILE[case]
    root = tree({"a_good.py": HEAD + OLD, "m_case.py": raw, "z_good.py": HEAD + OLD})
    result = call("--output-format", "json", ".")
    files = {file["path"]: file["status"] for file in json.loads(result.stdout)["files"]}
    assert files.pop("m_case.py", "unchanged") == status, result.stdout[:2000]
    assert files == {"a_good.py": "changed", "z_good.py": "changed"}
    assert result.exit_code == (2 if status == "failed" else 0)
    assert (root / "a_good.py").read_text() == (root / "z_good.py").read_text() == HEAD + NEW
    end = raw.replace(b"sgd(0.1))", b"sgd(0.1), wrt=nnx.Param)") if status == "changed" else raw
    assert (root / "m_case.py").read_bytes() == end, "bytes changed that nobody asked for"
    assert call("--check", "a_good.py", "z_good.py").exit_code == 0


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inner.py").write_text(HEAD + OLD)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere.py")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _chain(path: Path) -> None:
    """Make a link that is followed a thousand times, where the system gives up after some forty."""
    for number in range(1000):
        (path.parent / f"m{number}.py").symlink_to(f"m{number + 1}.py")
    path.symlink_to("m0.py")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(("make", "code"), [(_folder, 0), (_dangling, 0), (_loop, 0), (_chain, 0), (_pipe, 2)])
def test_what_is_no_file(tree: Tree, make: Callable[[Path], None], code: int) -> None:
    root = tree({"a_good.py": HEAD + OLD, "z_good.py": HEAD + OLD})
    make(root / "m_case.py")
    assert call(".").exit_code == code
    assert (root / "a_good.py").read_text() == (root / "z_good.py").read_text() == HEAD + NEW


def test_unreadable_and_unwritable_files(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + OLD, "locked.py": HEAD + OLD, "secret.py": HEAD + OLD})
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "locked" not in str(path) and access(path, mode))
    real_open = open

    def closed(path: object, *arguments: object, **named: object) -> object:
        if str(path).endswith("secret.py"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", closed)
    result = call(".")
    monkeypatch.undo()
    assert result.exit_code == 2
    assert "locked.py: failed: cannot be changed: it is read-only" in result.stdout
    assert "secret.py: failed: Permission denied" in result.stdout
    assert (root / "a.py").read_text() == HEAD + NEW
    assert (root / "locked.py").read_text() == HEAD + OLD


FRAGMENTS = [
    "m = nnx.Linear(1, 1, rngs=nnx.Rngs(0))",
    "o = nnx.Optimizer(m, tx)",
    "x = [nnx.Optimizer(m, tx)]",
    "o.update(grads)",
    "o.update(m, grads)",
    "o.model",
    "del o",
    "s = nnx.state(o)",
    "def f(o):\n    o.update(g)",
    "class A(nnx.Module):\n    pass",
    "f(o)",
    "nnx.jit(f)(o)",
    "(",
    '"""',
    "é = 1",
    "if x:\n\to = 1",
    "x = \\\n 1",
    "\x0c",
    "from flax import nnx",
    "from flax import nnx as jax",
    "import flax.nnx as nnx",
    "from flax.nnx import *",
    "# nnx",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_program_is_handled(fragments: list[str], end: str) -> None:
    raw = ("from flax import nnx\n" + "".join(f"{one}\n" for one in fragments)).replace("\n", end).encode()
    fixer = Fixer(Project({"a.py": "a.py"}, {"a.py": read_python(raw)}), Settings())
    first = fixer.attempt()  # proves what it does
    assert not [failure for failure in first.failures if failure.internal]
    again = Fixer(Project({"a.py": "a.py"}, first.documents), Settings()).attempt()
    assert again.documents["a.py"].raw == first.documents["a.py"].raw


@given(st.binary(max_size=80))
def test_any_bytes_are_handled(raw: bytes) -> None:
    try:
        document = read_python(raw)
    except Unreadable:
        return
    assert document.render([]) == raw
    assert document.render([Edit(0, len(document.text), document.text)]) == raw
