"""The command line of ``migrate``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nnxmigrate.cli import main
from nnxmigrate.cli.common import codes
from nnxmigrate.outcome import FileOutcome, Outcome, Status
from nnxmigrate.recorded import LEFT
from nnxmigrate.report.diff import patch
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")

HEAD = "from flax import nnx\n"


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(main, arguments, stdin)


def test_the_default_command_and_its_report(tree: Tree) -> None:
    root = tree({"src/a.py": HEAD + "old; old\nmanual\n", "src/b.py": "x = 1\n", "c.py": HEAD + "old"})
    result = call("src/")
    assert result.exit_code == 1
    assert result.stdout == (
        "src/a.py:3:1: NNX103 the word MANUAL\n    use another word\n"
        "Flax 0.10 → 0.11 and 0.12 (the project does not say; --from and --to do)\n"
        "Fixed:\n      2  NNX101  nnx.Optimizer without a `wrt` keyword\n"
        "1 file changed, 1 file unchanged (1 left out: uses no NNX); 1 finding left: 1 error\n"
        f"Next: What is left is noted in src/{LEFT}: `nnxmigrate status` counts it down.\n"
        "Next: Prove it with `nnxmigrate verify -- python ...`; `nnxmigrate fix-ckpt` converts checkpoints.\n"
    )
    assert (root / "src/a.py").read_text() == HEAD + "new; new\nmanual\n"
    assert (root / "c.py").read_text() == HEAD + "old"
    assert call("src").exit_code == 1, "what is left stays left"
    assert call("migrate", "c.py").exit_code == 0


def test_check_and_diff_write_nothing(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old\n"})
    check, diff = call("--check", "a.py"), call("--diff", "a.py")
    assert (check.exit_code, diff.exit_code) == (1, 1)
    assert "1 file would change" in check.stdout
    assert diff.stdout.endswith(" from flax import nnx\n-old\n+new\n")
    assert "1 file would change" in diff.stderr
    assert (root / "a.py").read_text() == HEAD + "old\n"
    (root / "a.py").write_text(HEAD)
    assert call("--check", "a.py").exit_code == call("--diff", "a.py").exit_code == 0


def test_a_notebook_on_one_line_is_shown_line_by_line_to_people(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [{"cell_type": "code", "source": ["from flax import nnx\n", "é = old\n", "print(1)"]}]
    tree({"n.ipynb": json.dumps({"cells": cells}, ensure_ascii=False), "a.py": HEAD + "old\n"})
    piped = call("--diff", ".")
    assert len([line for line in piped.stdout.splitlines() if "print(1)" in line]) == 2
    assert "n.ipynb is stored on one line, and so is its change: --html" in piped.stderr
    assert "a.py is stored" not in piped.stderr
    outcome = Outcome(
        [FileOutcome("n.ipynb", Status.CHANGED, before=Path("n.ipynb").read_bytes(), after=b'{"cells": [{"a": 1}]}')]
    )
    shown = patch(outcome, readable=True).decode().splitlines()
    assert '-    "é = old\\n",' in shown
    assert '+   "a": 1' in shown
    assert len(patch(outcome).splitlines()) == 7


FILES: dict[str, str | bytes] = {
    "plain.py": HEAD + "x\n" * 20 + "old\n" + "x\n" * 20 + "old",
    "crlf.py": (HEAD + "old\n").replace("\n", "\r\n"),
    "cr.py": (HEAD + "old\n").replace("\n", "\r"),
    "latin.py": f"# coding: latin-1\n# ö\n{HEAD}old".encode("latin-1"),
    "form.py": HEAD + "\x0cold\n",
    "späce dir/a b.py": HEAD + "old\n",
    'quo"te\\.py': HEAD + "old\n",
    "sub/deep.py": HEAD + "old",
}


@pytest.mark.parametrize("folder", [".", "sub"])
def test_patches_are_what_git_applies(tree: Tree, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    root = tree(FILES)
    subprocess.run(["git", "init", "-q"], check=True)
    monkeypatch.chdir(root / folder)
    assert call("--patch", "all.patch", ".").exit_code == 1
    subprocess.run(["git", "apply", "all.patch"], check=True)
    changed = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if b"new" in path.read_bytes()}
    patched = {path: (root / path).read_bytes() for path in FILES}
    assert changed == {name for name in FILES if folder == "." or name.startswith(folder)}
    tree(FILES)
    assert call(".").exit_code == 0
    assert patched == {path: (root / path).read_bytes() for path in FILES}, "the patch and the run differ"


def test_code_from_stdin(tree: Tree) -> None:
    tree({})
    code = (HEAD + "old\r\nmanual\r\n").encode()
    result = call("-", "--stdin-filename", "sub/a.py", stdin=code)
    assert result.exit_code == 1
    assert result.stdout_bytes == code.replace(b"old", b"new")
    assert "sub/a.py:3:1: NNX103" in result.stderr
    assert call("-", stdin=b"x = 1").stdout_bytes == b"x = 1"
    assert call("-", stdin=HEAD.encode() + b"old").exit_code == 0
    assert call("--check", "-", stdin=HEAD.encode() + b"old").exit_code == 1
    assert call("-", stdin=HEAD.encode() + b"\xff").exit_code == 2
    assert call("-", "a.py", stdin=b"").exit_code == 2
    assert "+new" in call("--diff", "-", stdin=HEAD.encode() + b"old\n").stdout


def test_quiet_and_verbose(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old\nmanual\n", "b.py": HEAD + "(", "c.py": "import a\n("})
    assert call("--check", "-q", ".").stdout == "b.py: failed: line 2: '(' was never closed\n"
    verbose = call("--check", "-v", ".").stdout
    assert "a.py:2:1: NNX101 [would fix] the word OLD\n" in verbose
    assert "[fixed]" not in verbose
    assert "c.py: skipped: line 2: '(' was never closed\n" in verbose
    assert (root / "a.py").read_text() == HEAD + "old\nmanual\n"


USAGE_ERRORS: list[tuple[list[str], str]] = [
    ([], "Usage"),
    (["--to", "0.13", "a.py"], "unknown Flax version '0.13'; known are 0.10, 0.11, 0.12"),
    (["--from", "0.12", "--to", "0.11", "a.py"], "cannot go back from Flax 0.12 to 0.11"),
    (["--select", "NNX00I", "a.py"], "there is no rule NNX00I; did you mean NNX001?"),
    (["--select", "missing-wtr", "a.py"], "there is no rule missing-wtr; did you mean "),
    (["--ignore", "E501", "a.py"], "there is no rule E501; see `nnxmigrate rules`"),
    (["--chekc", "a.py"], "--check"),
    (["--patch", "no/where.patch", "a.py"], "no/where.patch cannot be written: there is no folder no"),
    (["--report", "no/where.html", "a.py"], "no/where.html cannot be written: there is no folder no"),
    (["--report", ".", "a.py"], "is a directory"),
    (["-j", "0", "a.py"], "0 is not in the range"),
    (["migrate"], "name at least one file or folder"),
    (["missing.py", "a.py"], "missing.py: no such file or folder\nNothing was changed."),
    (["a.py", "missing/"], "missing/: no such file or folder"),
    (["lnit", "a.py"], "lnit: no such file or folder; did you mean `nnxmigrate lint`?"),
    (["doctr", "a.py"], "did you mean `nnxmigrate doctor`?"),
    (["help", "a.py"], "did you mean `nnxmigrate --help`?"),
    (["version", "a.py"], "did you mean `nnxmigrate --version`?"),
    (["a.py", "lint"], "a command comes first: `nnxmigrate lint ...`"),
    (["lint", "--fix", "missing.py", "a.py"], "missing.py: no such file or folder"),
    (["speedup", "missing.py", "a.py"], "missing.py: no such file or folder"),
    (["--check", "--diff", "a.py"], "--check and --diff exclude each other"),
    (["--diff", "--patch", "x.patch", "a.py"], "--diff and --patch exclude each other"),
    (["--quiet", "--verbose", "a.py"], "--quiet and --verbose exclude each other"),
    (["lint", "--fix", "--statistics", "--output-format", "json", "a.py"], "--statistics is a form of the text"),
    (["-", "a.py"], "`-` stands alone"),
    (["a\x1b[31mb", "a.py"], "a\\x1b[31mb: no such file or folder"),
    (["--select", "X\x1b[2J", "a.py"], "there is no rule X\\x1b[2J"),
    (["--\x1b[2J", "a.py"], "No such option '--\\x1b[2J'"),
    (["lint", "--fix", "--to", "\x1b]0;x\x07", "a.py"], "unknown Flax version"),
    (["--require-clean", "a.py"], "--require-clean: a.py is in no git repository. Commit first. Nothing was changed."),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE_ERRORS, ids=[" ".join(words) for words, _ in USAGE_ERRORS])
def test_nothing_is_written_after_a_usage_error(tree: Tree, arguments: list[str], message: str) -> None:
    tree({"a.py": HEAD + "old"})
    before = os.stat("a.py")
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.output), "what controls a terminal is escaped"
    assert Path("a.py").read_text() == HEAD + "old"
    assert os.stat("a.py").st_ino == before.st_ino
    assert os.listdir() == ["a.py"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_output_that_cannot_be_written(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old"})
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "nnxmigrate", "--check", "."]
        done = subprocess.run(command, cwd=root, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "Error: the output cannot be written: No space left on device\n")


def test_folders_that_cannot_be_read_are_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + "old", "closed/b.py": HEAD + "old"})
    real = os.scandir

    def scandir(folder: str) -> object:
        if os.path.basename(folder) == "closed":
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr("os.scandir", scandir)
    result = call(".")
    assert result.exit_code == 2
    assert "closed: failed: this folder cannot be read: Permission denied" in result.stdout
    assert (root / "a.py").read_text() == HEAD + "new"
    assert call("--exclude", "closed", ".").exit_code == 0


def test_patches_of_files_above_the_working_directory(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + "old\n", "sub/x": ""})
    monkeypatch.chdir(root / "sub")
    result = call("--patch", "all.patch", "../a.py")
    assert f"The paths are relative to {root}: apply it there." in result.stderr
    assert (root / "sub/all.patch").read_text().startswith("--- a/a.py\n+++ b/a.py\n")
    subprocess.run(["git", "apply", "sub/all.patch"], cwd=root, check=True)
    assert (root / "a.py").read_text() == HEAD + "new\n"


def test_rules_have_names(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old  # nnx: ignore[optimizer-wrt]\nold\n"})
    assert call("a.py").exit_code == 0
    assert (root / "a.py").read_text() == HEAD + "old  # nnx: ignore[optimizer-wrt]\nnew\n"
    assert codes("all, Optimizer-WRT,nnx2") == ("", "NNX101", "NNX2")


def test_thousands_of_files_on_the_command_line(tree: Tree) -> None:
    tree({f"f{number}.py": HEAD + "old" for number in range(2000)})
    result = call("-q", *(f"f{number}.py" for number in range(2000)))
    assert (result.exit_code, result.output) == (0, "")
    assert {Path(f"f{number}.py").read_text() for number in range(2000)} == {HEAD + "new"}


def test_notebooks_and_markdown(tree: Tree) -> None:
    book = '{"cells": [{"cell_type": "code", "source": ["from flax import nnx\\n", "old\\n", "manual"]}]}'
    page = "```python\nfrom flax import nnx\nold\n```\n"
    root = tree({"a.ipynb": book, "b.md": page})
    result = call(".")
    assert "a.ipynb:cell 1:3:1: NNX103" in result.stdout
    assert "b.md with Python for NNX" in result.stdout
    assert "with Python for NNX" not in call("b.md", "--check").stdout
    assert (root / "a.ipynb").read_text() == book.replace("old", "new")
    assert (root / "b.md").read_text() == page
    assert call("--include-markdown", ".").exit_code == 1
    assert (root / "b.md").read_text() == page.replace("old", "new")


def test_nothing_is_left_behind(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old", "b.py": HEAD + "("})
    call(".", "--todo")
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "b.py"]
