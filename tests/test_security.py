"""Nothing of what is analysed is run; nothing hostile hangs a run, leaves the folder or speaks to the terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nnxmigrate.files.toml import parse
from nnxmigrate.visible import visible, visible_lines
from tests.cli.test_migrate import call
from tests.conftest import Tree
from tests.test_hostile import HEAD, NEW, OLD

MARK = "open(__import__('os').path.join({home!r}, 'marked'), 'a').write(__name__ + '\\n')\n"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: Names that a run might import by mistake: of libraries, of itself, and of what Python and its tools run unasked.
TRAPS = [
    *("click.py", "libcst.py", "pathspec/__init__.py", "flax/__init__.py", "flax/nnx.py", "jax.py", "optax.py"),
    *("nnxmigrate.py", "codemods/__init__.py", "codemods/nnx/__init__.py", "json.py", "ast.py", "tomllib.py"),
    *("setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "lab/__init__.py", "lab/model.py"),
]


def start(kind: str) -> list[str]:
    """Return the head of a command line of the program: as a module, or as the installed script."""
    if kind == "module":
        return [sys.executable, "-m", "nnxmigrate"]
    return [str(Path(sys.executable).with_name("nnxmigrate"))]


@pytest.mark.parametrize("kind", ["module", "script"])
@pytest.mark.parametrize("command", [["--diff", "."], ["lint", "."], ["doctor"], ["--check", "train.py", "-j", "2"]])
def test_nothing_of_the_project_is_run(tree: Tree, kind: str, command: list[str]) -> None:
    traps = [name for name in TRAPS if kind == "script" or name not in ("nnxmigrate.py", "json.py", "ast.py")]
    home = tree({})
    body = MARK.format(home=str(home)) + HEAD + OLD
    tree({**dict.fromkeys(traps, body), "train.py": body + "import lab.model, click, flax\n"})
    done = subprocess.run([*start(kind), *command], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert not (home / "marked").exists(), (home / "marked").read_text()


def test_pages_and_junit_get_no_control_characters(tree: Tree) -> None:
    root = tree({"a\x1b[31m\x07.py": HEAD + OLD + "# \x1b]0;title\x07\n"})
    (root / "bad\x1b[1m.py").write_text(HEAD + "x = (\n")
    shown = call("--check", "--output-format", "junit", "--report", str(root / "page.html"), ".").output
    page = (root / "page.html").read_text()
    for text in (shown, page):
        assert "a\\x1b[31m\\x07.py" in text
        assert not CONTROL.search(text)


def test_terminals_get_no_control_characters(tree: Tree) -> None:
    name = "a\x1b[31m\x07\nb\u202e.py"
    root = tree({name: HEAD + OLD + "# \x1b]0;title\x07 nnx: ignore[NNX000\x1b[2J]\n"})
    (root / "bad\x1b[1m.py").write_text(HEAD + "x = (\n")
    assert "a\\x1b[31m\\x07\\nb\\u202e.py" in call("lint", ".").output
    files = json.loads(call("lint", "--output-format", "json", ".").stdout)["files"]
    assert name in [file["path"] for file in files], "programs get the name as it is"
    for command in (["lint", "."], ["--check", "-v", "."], ["lint", "-v", "--add-ignore", "."], ["status", "."]):
        text = call(*command).output
        assert not CONTROL.search(text), (command, text)
        assert "\u202e" not in text


def test_a_piped_diff_is_exact(tree: Tree) -> None:
    """Escape codes in a file reach the patch, or it could not be applied."""
    text = HEAD + OLD + "# \x1b[31mred\x1b[0m \x07\r\n"
    root = tree({"a.py": text})
    done = subprocess.run([*start("script"), "--diff", "a.py"], capture_output=True, check=False)
    assert b" # \x1b[31mred\x1b[0m \x07\r\n" in done.stdout
    (root / "a.patch").write_bytes(done.stdout)
    subprocess.run(["git", "apply", "a.patch"], check=True)
    assert (root / "a.py").read_bytes() == text.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)").encode()


def test_links_do_not_lead_out(tree: Tree) -> None:
    root = tree({"in/a.py": HEAD + OLD, "in/deep/b.py": HEAD + OLD, "out/x.py": HEAD + OLD})
    os.symlink("../out/x.py", root / "in" / "link.py")
    os.symlink("deep/b.py", root / "in" / "inner.py")
    os.symlink("..", root / "in" / "loop")
    os.symlink("../out", root / "in" / "folder")
    result = call("-v", "in")
    assert "in/link.py: skipped: a link that leads out of the folder" in result.output
    assert (root / "out" / "x.py").read_text() == HEAD + OLD
    assert (root / "in" / "a.py").read_text() == (root / "in" / "deep" / "b.py").read_text() == HEAD + NEW
    assert (root / "in" / "inner.py").is_symlink()
    assert call("in/link.py").exit_code == 0
    assert (root / "out" / "x.py").read_text() == HEAD + NEW, "it was named"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.nnxmigrate]\nx = " + "[" * 100_000, "nested too deeply"),
        ("[tool.nnxmigrate]\n" + "a." * 50_000 + "b = 1\n", "hundreds of parts"),
        ("[tool.nnxmigrate]\nx = {" + "'a'." * 50_000 + "b = 1}\n", "hundreds of parts"),
        ("[tool.nnxmigrate]\nx = " + "9" * 10_000 + "\n", "digits"),
        ("[tool.nnxmigrate]\nexclude = ['\\u0000\x01']\n", "invalid character"),
        ("[tool]\nnnxmigrate = 3\n", "must be a table"),
        ("[tool.nnxmigrate]\njobs = -5\n", "1 or more"),
    ],
    ids=range(7),
)
def test_a_hostile_configuration(tree: Tree, text: str, words: str) -> None:
    tree({"pyproject.toml": text, "a.py": HEAD + OLD})
    result = call("--check", "a.py")
    assert result.exit_code == 2
    assert words in result.output.lower() or words in result.output, result.output[:500]


@pytest.mark.parametrize("command", [("fix-ckpt", "--check", "a.py"), ("status",)], ids=str)
def test_a_hostile_configuration_and_other_commands(tree: Tree, command: tuple[str, ...]) -> None:
    tree({"pyproject.toml": "[tool.nnxmigrate]\nx = " + "[" * 5000, "a.py": HEAD + OLD})
    result = call(*command)
    assert (result.exit_code, type(result.exception)) == (2, SystemExit)
    assert "nested too deeply" in result.output


def test_a_configuration_of_another_shape(tree: Tree) -> None:
    root = tree({"a.py": HEAD + OLD})
    for text in ("tool = 3 # nnxmigrate\n", "[project]\ndependencies = 3\n[tool.nnxmigrate]\n"):
        (root / "pyproject.toml").write_text(text)
        assert call("--check", "a.py").exit_code == 1, text


@pytest.mark.parametrize("pattern", ["[z-a]", "!", "\\", "a[", "**/" * 300])
def test_patterns_that_are_none(tree: Tree, pattern: str) -> None:
    """To git they match nothing; the others count."""
    table = f"[tool.nnxmigrate]\nexclude = ['b.py', '{pattern}']\n"
    tree(
        {
            "pyproject.toml": table,
            ".gitignore": f"{pattern}\nc.py\n",
            **dict.fromkeys(("a.py", "b.py", "c.py"), HEAD + OLD),
        }
    )
    result = call("lint", ".")
    assert result.exit_code == 1, result.output
    assert [name for name in ("a.py", "b.py", "c.py") if name in result.output] == ["a.py"]


def test_other_commands_and_formats_show_names_harmlessly(tree: Tree) -> None:
    tree({"a\x1b[2J.py": HEAD + "x = (\n"})
    for command in (("status",), ("lint", "--output-format", "github", ".")):
        result = call(*command)
        assert "\x1b" not in result.output
        assert "a\\x1b[2J.py" in result.output, result.output


def test_long_words_in_toml_cost_no_square_of_their_length() -> None:
    began = time.process_time()
    for text in ("x = '" + "A" * 200_000 + "'\n", "# " + "A" * 200_000 + "\n", "x = '" + "a " * 100_000 + "'\n"):
        parse(text)
    assert time.process_time() - began < 10  # it took minutes


def test_toml() -> None:
    assert parse("a.b.c = '1.2'\n['d'.e]\n") == {"a": {"b": {"c": "1.2"}}, "d": {"e": {}}}
    with pytest.raises(ValueError, match="hundreds"):
        parse("a." * 400 + "b = 1")


def test_visible() -> None:
    assert visible("é\t\x9b1m\u2028\U0001f389") == "é\\t\\x9b1m\\u2028\U0001f389"
    assert visible_lines("a\n\tb\r\x00") == "a\n\tb\\r\\x00"
