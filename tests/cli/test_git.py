"""What git knows about the files that are rewritten."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")


def git(*arguments: str) -> None:
    """Run git as somebody."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tree: Tree) -> Path:
    """Return a repository with three committed files that change, one of them in a folder."""
    root = tree({"a.py": HEAD + "old\n", "b.py": HEAD + "old\n", "ö dir/c.py": HEAD + "old\n"})
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "start")
    return root


def test_the_summary_says_how_to_undo(repository: Path) -> None:
    undo = call(".").stdout.splitlines()[-1].removeprefix("Undo: ")
    assert undo == "git checkout -- a.py b.py 'ö dir/c.py'"
    subprocess.run(undo, shell=True, check=True, capture_output=True)
    assert (repository / "ö dir/c.py").read_text() == HEAD + "old\n"
    assert "Undo" not in call("--check", ".").stdout


def test_the_way_back_of_a_submodule_is_its_own(repository: Path) -> None:
    inner = repository / "third party"
    inner.mkdir()
    (inner / "m.py").write_text(HEAD + "old\n")
    subprocess.run(["git", "init", "-q"], cwd=inner, check=True)
    git("-C", str(inner), "add", ".")
    git("-C", str(inner), "commit", "-qm", "start")
    undo = call("a.py", "third party").stdout.splitlines()[-1].removeprefix("Undo: ")
    assert undo == "git checkout -- a.py && git -C 'third party' checkout -- m.py"
    subprocess.run(undo, shell=True, check=True, capture_output=True)
    assert (inner / "m.py").read_text() == (repository / "a.py").read_text() == HEAD + "old\n"


def test_a_patch_through_a_link_names_the_file(repository: Path) -> None:
    (repository / "aa.py").symlink_to("ö dir/c.py")
    call("--patch", "x.patch", ".")
    git("apply", "--check", "x.patch")


def test_uncommitted_changes(repository: Path) -> None:
    (repository / "a.py").write_text(HEAD + "old; more\n")
    refused = call("--require-clean", ".")
    assert refused.exit_code == 2
    assert "--require-clean: a.py has uncommitted changes. Commit first. Nothing was changed." in refused.stderr
    assert (repository / "b.py").read_text() == HEAD + "old\n"
    result = call(".")
    assert "warning: a.py has uncommitted changes; git cannot take back" in result.stderr
    assert result.stdout.splitlines()[-1] == "Undo: git checkout -- b.py 'ö dir/c.py'"


def test_files_that_do_not_change_may_be_dirty(repository: Path) -> None:
    (repository / "other.py").write_text("x = 1\n")
    result = call("--require-clean", ".")
    assert (result.exit_code, result.stderr) == (0, "")


def test_what_is_staged_can_be_brought_back(repository: Path) -> None:
    (repository / "a.py").write_text(HEAD + "old; staged\n")
    git("add", "a.py")
    assert call("--require-clean", "a.py").stdout.splitlines()[-1] == "Undo: git checkout -- a.py"


def test_files_that_git_does_not_have(repository: Path) -> None:
    (repository / "new").mkdir()
    (repository / "new/d.py").write_text(HEAD + "old\n")
    assert "new/d.py is not in git" in call("--require-clean", ".").stderr
    assert "warning: new/d.py is not in git" in call("new/d.py").stderr


def test_the_configuration_may_ask_for_it(repository: Path) -> None:
    (repository / "pyproject.toml").write_text("[tool.nnxmigrate]\nrequire-clean = true\n")
    (repository / "a.py").write_text(HEAD + "old; more\n")
    assert call(".").exit_code == 2


def test_many_files(repository: Path) -> None:
    for number in range(9):
        (repository / f"m{number}.py").write_text(HEAD + "old\n")
    git("add", ".")
    git("commit", "-qm", "more")
    assert call("--check", ".").exit_code == 1
    assert call(".").stdout.splitlines()[-1] == "Undo: git checkout -- ."
    git("checkout", ".")
    (repository / "dirty.py").write_text("")
    git("add", ".")
    (repository / "dirty.py").write_text("x = 1")
    assert "Undo" not in call(".").stdout, "it would take back more than this run did"
