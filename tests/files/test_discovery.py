"""Which files are looked at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nnxmigrate.files.discovery import discover
from tests.conftest import Tree


def names(*paths: str, **choices: Any) -> list[str]:
    """Return the names of the files found, without their context."""
    return [found.name.replace(os.sep, "/") for found in discover(paths, **choices) if not found.context]


FILES = {
    "a.py": "",
    "b.pyi": "",
    "c.ipynb": "",
    "d.md": "",
    "e.txt": "",
    ".gitignore": "ignored/\n*_pb2.py\n!keep_pb2.py\n/root_only.py\n",
    "ignored/x.py": "",
    "keep_pb2.py": "",
    "api_pb2.py": "",
    "root_only.py": "",
    "pkg/root_only.py": "",
    "pkg/.gitignore": "local.py\n!api_pb2.py\n",
    "pkg/local.py": "",
    "pkg/api_pb2.py": "",
    "pkg/deep/local.py": "",
    "folder.py/inner.py": "",
    "node_modules/m.py": "",
    "env/pyvenv.cfg": "",
    "env/m.py": "",
    ".git/hooks/h.py": "",
    ".git/info/exclude": "excluded.py\n",
    "excluded.py": "",
    "ünïcode dir/a b.py": "",
}
TAKEN = ["a.py", "b.pyi", "c.ipynb", "folder.py/inner.py", "keep_pb2.py", "pkg/api_pb2.py", "pkg/root_only.py"]


def test_folders_as_git_sees_them(tree: Tree) -> None:
    root = tree(FILES)
    assert names(".") == [*TAKEN, "ünïcode dir/a b.py"]
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-oc", "--exclude-standard", "*.py"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    ours = [name for name in names(".") if name.endswith(".py")]
    assert ours == sorted(name for name in listed if not name.startswith(("node_modules", "env")))


def test_rules_of_outer_folders_hold_below(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(FILES)
    assert names("pkg") == ["pkg/api_pb2.py", "pkg/root_only.py"]
    monkeypatch.chdir(root / "pkg")
    assert names(".") == ["api_pb2.py", "root_only.py"]
    assert names("..")[0] == "../a.py"


def test_named_files_are_always_taken_and_once(tree: Tree) -> None:
    root = tree(FILES)
    assert names("ignored/x.py", "e.txt", "e.txt", "./a.py", str(root / "a.py")) == ["ignored/x.py", "e.txt", "a.py"]
    assert names("ignored") == ["ignored/x.py"], "a folder that is named is not left out itself"


def test_the_project_around_comes_last(tree: Tree) -> None:
    root = tree({**FILES, "pyproject.toml": ""})
    found = list(discover(["pkg", str(root / "c.ipynb")]))
    assert [file.name for file in found if file.context] == [
        name for name in names(".") if name not in names("pkg", "c.ipynb")
    ]
    assert [file.context for file in found] == sorted(file.context for file in found)


def test_without_a_project_what_shares_imports_with_the_files_named_comes_last(tree: Tree) -> None:
    root = tree(
        {
            "model.py": "import helpers\nfrom pkg.deep import layer, json\n",
            "helpers.py": "import optional_missing\n",
            "main.py": "import train\n",
            "train.py": "import model as m\nimport paths\n",
            "paths.py": "",
            "notes.ipynb": '{"cells": [{"source": [\n  "from model import build\\n"\n]}]}',
            "other.py": "import os\n",
            "below/inner.py": "import model\n",
            "pkg/__init__.py": "from .deep import layer\n",
            "pkg/deep/__init__.py": "",
            "pkg/deep/layer.py": "from ..sizes import WIDTH\n",
            "pkg/sizes.py": "WIDTH = 3\n",
            "pkg/alone.py": "",
            "pkg/user.py": "from pkg import sizes\n",
            "excluded.py": "import model\n",
        }
    )

    def around(*paths: str, **choices: Any) -> list[str]:
        found = [file.name.replace(os.sep, "/") for file in discover(paths, **choices) if file.context]
        assert len(found) == len(set(found))
        return sorted(found)

    package = ["pkg/__init__.py", "pkg/deep/__init__.py", "pkg/deep/layer.py", "pkg/sizes.py"]
    users = ["main.py", "notes.ipynb", "train.py"]
    assert around("model.py", exclude=["excluded.py"]) == sorted([*users, *package, "helpers.py", "paths.py"])
    assert around("train.py") == sorted(
        [*package, "main.py", "notes.ipynb", "model.py", "helpers.py", "paths.py", "excluded.py"]
    )
    assert around(str(root / "notes.ipynb"), "main.py")[0] == "excluded.py"
    assert around("other.py") == []
    assert around("pkg/sizes.py")[-2:] == ["pkg/user.py", "train.py"]
    assert around("pkg") == sorted(["model.py", "helpers.py", *users, "paths.py", "excluded.py"])
    assert around("below") == [], "no package, and nothing is known of what is around it"
    (root / "pyproject.toml").write_text("")
    assert "other.py" in around("model.py"), "of a project all is read"


def test_choices(tree: Tree) -> None:
    tree(FILES)
    assert "d.md" in names(".", markdown=True)
    assert names(".", exclude=["pkg", "*.pyi", "ün*"]) == [n for n in TAKEN if n != "b.pyi" and not n.startswith("pkg")]


def test_links(tree: Tree) -> None:
    root = tree({"real/a.py": "", "real/sub/b.py": ""})
    (root / "again.py").symlink_to("real/a.py")
    (root / "folder").symlink_to("real")
    (root / "real/sub/loop").symlink_to("..")
    (root / "dangling.py").symlink_to("nowhere.py")
    found = {file.name: file.problem for file in discover(["."])}
    assert found == {
        os.path.join("real", "a.py"): None,
        os.path.join("real", "sub", "b.py"): None,
        "dangling.py": "symbolic link that leads nowhere",
    }, "a file has its own name, which git knows"
    assert names("again.py", ".") == ["again.py", os.path.join("real", "sub", "b.py"), "dangling.py"]
    assert names("folder") == ["folder/a.py", "folder/sub/b.py"], "a link that is named is followed"


@pytest.mark.parametrize("path", ["missing.py", "missing/"])
def test_what_is_not_there(tree: Tree, path: str) -> None:
    tree({})
    assert [found.problem for found in discover([path])] == ["no such file or folder"]


def test_pipes_are_not_read(tree: Tree) -> None:
    root: Path = tree({})
    os.mkfifo(root / "pipe.py")
    assert [found.problem for found in discover(["."])] == ["not a regular file"]


def test_names_outside_the_working_directory(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"in/a.py": "", "out/b.py": ""})
    monkeypatch.chdir(root / "in")
    assert names("../out") == ["../out/b.py"]
    assert names(str(root / "out"), str(root / "in")) == [f"{root}/out/b.py", "a.py"]


def test_one_expression_for_all_patterns_changes_no_verdict() -> None:
    from pathspec import GitIgnoreSpec

    from nnxmigrate.files.discovery import _Spec

    lines = [
        "# comment",
        "",
        "*.log",
        "/top",
        "a/**/z",
        "!keep.log",
        "dir/",
        "sp ace\\ ",
        "[ab]?.py",
        "**/deep",
        "!/dir/x.py",
    ]
    names = [
        "top",
        "sub/top",
        "x.log",
        "keep.log",
        "a/z",
        "a/b/c/z",
        "dir/x.py",
        "dir/y.py",
        "b/dir/",
        "a1.py",
        "c1.py",
    ]
    names += ["p/q/deep", "deep/er.py", "sp ace ", "plain.py", "a/q.py", ""]
    for chosen in (lines, lines[:4], lines[5:6], lines[:2], []):
        spec, plain = _Spec(chosen), GitIgnoreSpec.from_lines(chosen)
        assert [spec.verdict(name) for name in names] == [plain.check_file(name).include for name in names]
    assert {_Spec(lines).verdict(name) for name in names} == {True, False, None}


HIDDEN = {
    ".gitignore": "*.py\nout/\n!kept.py\n",
    "a.py": "",
    "b.py": "",
    "kept.py": "",
    "out/c.py": "",
    "out/d.py": "",
    "deep/er/quite_a_long_name_of_a_file.py": "",
}


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_tracks_is_never_ignored(tree: Tree, version: str) -> None:
    root = tree(HIDDEN)
    forced = ["a.py", "out/c.py", "deep/er/quite_a_long_name_of_a_file.py"]
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert names(".") == ["kept.py"]
    subprocess.run(["git", "add", "-f", *forced], cwd=root, check=True)
    if version == "3":  # which git writes where an entry has further flags
        subprocess.run(["git", "add", "-N", "-f", "out/d.py"], cwd=root, check=True)
        forced.append("out/d.py")
    subprocess.run(["git", "update-index", "--index-version", version], cwd=root, check=True)
    assert names(".") == sorted([*forced, "kept.py"])
    assert names(".", exclude=["out/", "a.py"]) == ["deep/er/quite_a_long_name_of_a_file.py", "kept.py"]


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\5short", b"DIRC\0\0\0\7\0\0\0\0", b"no index"])
def test_an_index_that_cannot_be_read_tracks_nothing(tree: Tree, data: bytes) -> None:
    root = tree(HIDDEN)
    (root / ".git").mkdir()
    (root / ".git/index").write_bytes(data)
    assert names(".") == ["kept.py"]


def test_a_submodule_has_its_index_elsewhere(tree: Tree) -> None:
    root = tree({**HIDDEN, "inner/x.py": "", "inner/y.py": ""})
    subprocess.run(["git", "init", "-q", "--separate-git-dir", "../store", "inner"], cwd=root, check=True)
    subprocess.run(["git", "add", "-f", "x.py"], cwd=root / "inner", check=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert names(".") == ["inner/x.py", "kept.py"]
