"""The program as a whole: help, rules, and what it imports."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from nnxmigrate import __version__
from nnxmigrate.cli import COMMANDS
from nnxmigrate.rules import all_rules
from tests.cli.test_migrate import call
from tests.conftest import Tree

#: Modules that cost more to import than most runs take, or that only some runs need.
DEAR = ["libcst", "rich", "difflib", "tomllib", "concurrent.futures", "multiprocessing", "pathspec"]
DEAR += ["jax", "flax", "numpy", "orbax", "html", "tempfile"]

OPTIMIZER = """\
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
optimizer.update(nnx.grad(lambda m: m.kernel.value.sum())(model))
"""


@pytest.mark.parametrize(("ignored", "kept"), [("NNX101", False), ("NNX102", False), ("NNX1", True)])
def test_optimizers_are_left_alone_only_if_their_whole_family_is_ignored(tree: Tree, ignored: str, kept: bool) -> None:
    root = tree({"train.py": OPTIMIZER})
    assert call("--ignore", ignored, "train.py").exit_code == 0
    text = (root / "train.py").read_text()
    assert (text == OPTIMIZER) is kept
    assert ("wrt=nnx.Param" in text) is ("optimizer.update(model, " in text) is not kept


@pytest.mark.parametrize(
    ("arguments", "banned"),
    [
        (["--version"], [*DEAR, "codemods", "json"]),
        (["--help"], [*DEAR, "codemods", "json"]),
        (["plain.py"], [name for name in DEAR if name != "tempfile"] + ["codemods.nnx.catalogue"]),
        (["lint", "clean.py"], [name for name in DEAR if name != "tempfile"]),
    ],
)
def test_imports_are_lazy(tree: Tree, arguments: list[str], banned: list[str]) -> None:
    tree({"plain.py": "x = 1\n", "clean.py": "from flax import nnx\nmodel = nnx.Linear(1, 2, rngs=nnx.Rngs(0))\n"})
    code = f"import sys, nnxmigrate.cli as c; c.main({arguments!r}, standalone_mode=False)"
    script = (
        f"import sys\ntry:\n    exec({code!r})\nexcept SystemExit as end:\n    assert not end.code\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & set(banned)
    assert "click" in loaded


def test_version_and_help() -> None:
    assert call("--version").stdout == f"nnxmigrate, version {__version__}\n"
    page = call("--help").stdout
    assert all(f"  {name} " in page for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = call(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Usage: main {name}")


def test_rules() -> None:
    lines = call("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in all_rules()]
    assert [rule["code"] for rule in json.loads(call("rules", "--json").stdout)] == [rule.code for rule in all_rules()]


def _lines(text: str, paragraph: str) -> list[str]:
    """Return the lines that a paragraph takes in a text."""
    words = paragraph.split()
    start = re.search(r"\s+".join(map(re.escape, words)), text)
    assert start is not None, paragraph
    return start[0].splitlines()


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_each_rule_is_explained(rule: object) -> None:
    from codemods.nnx.rule import Rule

    assert isinstance(rule, Rule)
    text = call("rule", rule.code).stdout
    assert text.startswith(f"{rule.code} {rule.name}: ")
    assert rule.source in text
    plain = [part for part in rule.why.split("\n\n") if not any(line[:1] in " -|`" for line in part.splitlines())]
    assert all(len(line) > 60 for part in plain for line in _lines(text, part)[:-1]), "filled to the width"
    for example in rule.examples:
        if example.after is not None and example.after != example.before:
            assert all(f"  + {line}" in text for line in example.after.splitlines() if line not in example.before)
    assert json.loads(call("rule", rule.name, "--json").stdout)["code"] == rule.code


def test_unknown_rules() -> None:
    assert "did you mean NNX001?" in call("rule", "NNX00I").output
    assert "is a family" in call("rule", "NNX1").output
    assert call("rule", "NNX00I").exit_code == call("rule", "NNX1").exit_code == 2


def test_an_interrupt_while_native_modules_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """They turn it into an ImportError, which must not be taken for a missing package."""

    def interrupted(*arguments: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr("nnxmigrate.cli.fix_ckpt._fix", interrupted)
    result = call("fix-ckpt", "anything")
    assert result.exit_code == 130
    assert "interrupted" in result.output
    monkeypatch.setattr("nnxmigrate.cli.fix_ckpt._fix", lambda *arguments: __import__("no_such_module"))
    result = call("fix-ckpt", "anything")
    assert result.exit_code == 2
    assert "pip install '.[ckpt]'" in result.output
