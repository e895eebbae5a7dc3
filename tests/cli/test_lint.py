"""The command line of ``lint``."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")


def test_findings_only(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old\nrisky\nmanual\n"})
    result = call("lint", "a.py")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "a.py:2:1: NNX101 the word OLD [safe fix]",
        "    use another word",
        "a.py:3:1: NNX102 the word RISKY [unsafe fix]",
        "    use another word",
        "a.py:4:1: NNX103 the word MANUAL",
        "    use another word",
        "Flax 0.10 → 0.11 and 0.12 (the project does not say; --from and --to do)",
        "1 file with findings; 3 findings left: 3 errors",
        "Next: 1 of 3 can be fixed: `nnxmigrate lint --fix a.py`, with --unsafe-fixes 1 more.",
    ]
    assert (root / "a.py").read_text() == HEAD + "old\nrisky\nmanual\n"


@pytest.mark.parametrize(
    ("options", "after", "code"),
    [
        (["--fix"], "new\nrisky\n", 1),
        (["--fix", "--unsafe-fixes"], "new\nsafe\n", 0),
        (["--unsafe-fixes"], "old\nrisky\n", 1),
    ],
)
def test_fix(tree: Tree, options: list[str], after: str, code: int) -> None:
    root = tree({"a.py": HEAD + "old\nrisky\n"})
    assert call("lint", "a.py", *options).exit_code == code
    assert (root / "a.py").read_text() == HEAD + after


@pytest.mark.parametrize(
    ("options", "new", "kept"), [([], ["+new"], ["risky"]), (["--unsafe-fixes", "--fix"], ["+new", "+safe"], [])]
)
def test_a_diff_writes_nothing(tree: Tree, options: list[str], new: list[str], kept: list[str]) -> None:
    root = tree({"a.py": HEAD + "old\nrisky\n"})
    result = call("lint", "a.py", "--diff", *options)
    assert result.exit_code == 1
    changed = [line for line in result.stdout.splitlines() if line[0] in "+-"]
    assert [line for line in changed if line[0] == "+"] == ["+++ b/a.py", *new]
    assert [f" {word}" in result.stdout.splitlines() for word in kept] == [True] * len(kept)
    assert "1 file would change" in result.stderr
    assert (root / "a.py").read_text() == HEAD + "old\nrisky\n"
    assert "+new" in call("lint", "--diff", "-", stdin=HEAD.encode() + b"old\n").stdout


@pytest.mark.parametrize("other", ["--add-ignore", "--write-baseline"])
def test_a_diff_stands_alone(tree: Tree, other: str) -> None:
    tree({"a.py": HEAD + "old\n"})
    result = call("lint", "a.py", "--diff", other)
    assert result.exit_code == 2
    assert f"--diff and {other} exclude each other" in result.stderr


def test_statistics(tree: Tree) -> None:
    tree({"a.py": HEAD + "old; old; manual\n", "b.py": HEAD + "old\n"})
    lines = call("lint", "--statistics", ".").stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["3", "NNX101"], ["1", "NNX103"]]
    assert not [line for line in lines if "a.py" in line]


def test_unused_suppressions(tree: Tree) -> None:
    tree({"a.py": HEAD + "x = 1  # nnx: ignore[NNX101]\n"})
    assert "a.py:2:8: NNX001 NNX101 is not found here" in call("lint", "a.py").stdout
    assert call("a.py").exit_code == 0, "migrating does not look for all rules"


@pytest.mark.parametrize("silencer", ["NNX001", "NNX0", "unused-suppression"])
def test_unused_suppressions_can_be_ignored(tree: Tree, silencer: str) -> None:
    tree({"a.py": HEAD + "x = 1  # nnx: ignore[NNX101]\n"})
    assert call("lint", "a.py").exit_code == 1
    assert call("lint", "a.py", "--ignore", silencer).exit_code == 0


@pytest.mark.parametrize(
    "comment", ["x = 1  # nnx: ignore[NNX101, NNX001]", "# nnx: ignore-file[NNX001]\nx = 1  # nnx: ignore"]
)
def test_unused_suppressions_can_be_allowed_in_the_code(tree: Tree, comment: str) -> None:
    tree({"a.py": HEAD + comment + "\n"})
    assert call("lint", "a.py").exit_code == 0


def test_json_says_what_was_written(tree: Tree) -> None:
    tree({"a.py": HEAD + "old\n"})
    form = ["--output-format", "json", "a.py"]
    said = [json.loads(call("lint", *more, *form).stdout)["written"] for more in ([], ["--fix"])]
    assert said == [False, True]


def test_a_folder_of_which_everything_is_left_out_is_said(tree: Tree) -> None:
    tree({".gitignore": "*/\n", "a/m.py": "from flax import nnx\n", "a/n.py": "", ".git/HEAD": ""})
    result = call(".")
    assert result.exit_code == 0
    assert "All 2 files here are left out by .gitignore: a/m.py; name it, or its folder." in result.stdout
    assert "2 files unchanged" in call("a").stdout
    assert "left out by .gitignore" in call("--output-format", "json", ".").stdout
    assert "left out by" not in call("--exclude", "*.txt", "a").stdout
    assert (
        "All 2 files here are left out by `exclude`: a/m.py; name the file itself."
        in call("--exclude", "m*", "--exclude", "n*", "a").stdout
    )
    assert "1 file unchanged" in call("--exclude", "m*", "a/m.py").stdout
    assert call("--exclude", "m*", "--force-exclude", "a/m.py").stdout == "no files\n"
