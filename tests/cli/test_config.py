"""The configuration in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnxmigrate import config
from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")


def project(table: str) -> dict[str, str | bytes]:
    """Return a project with a configuration."""
    return {
        "pyproject.toml": f"[project]\nname = 'x'\n[tool.nnxmigrate]\n{table}\n",
        "src/a.py": HEAD + "old\nrisky\nmanual\n",
        "src/gen/b.py": HEAD + "old\n",
    }


def test_options_come_from_the_nearest_table(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(project('unsafe-fixes = true\ntodo = true\nexclude = ["src/gen"]\noutput-format = "github"'))
    (root / "src/pyproject.toml").write_text("[tool.other]\n")
    monkeypatch.chdir(root / "src")
    result = call(".")
    assert (root / "src/a.py").read_text() == HEAD + "new\nsafe\n# TODO(nnxmigrate): NNX103 the word MANUAL\nmanual\n"
    assert (root / "src/gen/b.py").read_text() == HEAD + "old\n", "patterns are relative to pyproject.toml"
    assert result.stdout.startswith("::error file=a.py,line=5,col=1")


def test_the_command_line_wins(tree: Tree) -> None:
    root = tree(project('exclude = ["src/gen"]\noutput-format = "json"'))
    result = call("src", "--exclude", "a.py", "--output-format", "text")
    assert "1 file changed" in result.stdout.splitlines()
    assert (root / "src/gen/b.py").read_text() == HEAD + "new\n"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("unsafe_fixes = true", "has no key 'unsafe_fixes'; did you mean 'unsafe-fixes'?"),
        ("colour = 1", "has no key 'colour'; the keys are baseline, "),
        ("jobs = '2'", "jobs must be a whole number, not '2'"),
        ("jobs = 0", "jobs must be 1 or more, not 0"),
        ("todo = 1", "todo must be true or false, not 1"),
        ("select = 'NNX1'", "select must be a list of strings"),
        ("select = [1]", "select must be a list of strings"),
        ("select = ['NNX00I']", "there is no rule NNX00I; did you mean NNX001?"),
        ("to = '1.0'", "unknown Flax version '1.0'"),
        ("from = '0.9'", "unknown Flax version '0.9'; known are 0.10"),
        ("optimizer = 'both'", "optimizer must be one of auto, thread, compatible, not 'both'"),
        ("x = ", "Invalid value"),
    ],
)
def test_mistakes_are_errors(tree: Tree, table: str, message: str) -> None:
    root = tree(project(table))
    result = call("src")
    assert result.exit_code == 2
    assert message in result.output
    assert "pyproject.toml" in result.output
    assert "new" not in (root / "src/a.py").read_text()


def test_tables_of_other_commands_are_handed_on(tree: Tree) -> None:
    tree(project("[tool.nnxmigrate.fix-ckpt]\nmodel = 'train:make'"))
    assert config.load("pyproject.toml") == {"fix-ckpt": {"model": "train:make"}}
    assert call("src").exit_code == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("modle = 'train:make'", "[tool.nnxmigrate.fix-ckpt] has no key 'modle'; did you mean 'model'?"),
        ("drop = 'rngs'", "tool.nnxmigrate.fix-ckpt.drop cannot be 'rngs'"),
        ("optimizer = 'both'", "tool.nnxmigrate.fix-ckpt.optimizer cannot be 'both'"),
    ],
)
def test_mistakes_in_tables_of_other_commands_are_errors(tree: Tree, table: str, message: str) -> None:
    tree(project(f"[tool.nnxmigrate.fix-ckpt]\n{table}"))
    result = call("src")
    assert result.exit_code == 2
    assert message in result.output


def test_no_table(tree: Tree, tmp_path: Path) -> None:
    tree({"pyproject.toml": "[project]\nname = 'nnxmigrate-user'\n", "a.py": ""})
    assert config.find(["a.py"]) is None
    assert config.load("pyproject.toml") == {}
