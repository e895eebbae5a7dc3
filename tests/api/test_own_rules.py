"""A package with rules of its own: found through its entry point, run beside the others, and never from the project."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codemods.nnx.catalogue import RULES
from nnxmigrate.rulekit import Example, Rule, verify
from tests.conftest import Tree

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fixtures" / "own_rules"
CODE = "from flax import nnx\n\nlayer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))\n"


def install(folder: Path, module: str = "", point: str = "lab_nnx_rules:RULES") -> None:
    """Put the package into a folder as an installer would."""
    folder.mkdir(exist_ok=True)
    shutil.copy(PACKAGE / "lab_nnx_rules.py", folder)
    if module:
        (folder / "lab_nnx_rules.py").write_text(module)
    information = folder / "lab_nnx_rules-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-nnx-rules\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[nnxmigrate.rules]\nlab = {point}\n")


def run(*arguments: str, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program with a further folder of installed packages."""
    environment = dict(os.environ) | ({"PYTHONPATH": str(site)} if site else {})
    command = [sys.executable, "-m", "nnxmigrate", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_worked_example(tree: Tree) -> None:
    root = tree({"a.py": CODE, "b.py": CODE})
    install(root / "site")
    found = run("lint", "--jobs", "2", "a.py", "b.py", site=root / "site")
    assert "a.py:3:9: LAB101 the layer does not say the precision" in found.stdout, found.stderr
    assert "b.py:3:9: LAB101" in found.stdout
    assert run("lint", "--ignore", "LAB1", "a.py", site=root / "site").returncode == 0
    assert "the lab's style guide" in run("rule", "LAB101", site=root / "site").stdout
    fixed = run("lint", "--fix", "--unsafe-fixes", "a.py", site=root / "site")
    assert fixed.returncode == 0, fixed.stdout
    assert (root / "a.py").read_text() == CODE.replace("(0))", "(0), param_dtype='float32')")
    assert "there is no rule LAB101" in run("lint", "--select", "LAB101", "a.py").stderr


def test_its_examples_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a rule that does not do what its examples say is found out."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    from importlib import import_module

    rule = import_module("lab_nnx_rules").RULE
    assert isinstance(rule, Rule)
    verify(rule)
    for wrong in (Example(CODE, CODE), Example(CODE, CODE + "\n", unsafe=True), Example("x = 1\n")):
        with pytest.raises(AssertionError):
            verify(Rule(**{**vars(rule), "examples": (wrong,)}))
    for own in RULES[:3]:
        fields = {field.name: getattr(own, field.name) for field in dataclasses.fields(Rule)}
        verify(Rule(**{**fields, "examples": own.examples[:1]}))


def test_the_page_shows_the_package() -> None:
    """The documentation shows the files that are tested here."""
    text = (ROOT / "docs" / "own-rules.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", text, re.DOTALL)
    for name in ("lab_nnx_rules.py", "pyproject.toml"):
        assert (PACKAGE / name).read_text() in blocks


@pytest.mark.parametrize(
    ("module", "point", "words"),
    [
        ("raise OSError('no disk')", "lab_nnx_rules:RULES", "cannot be imported: OSError: no disk"),
        ("", "lab_nnx_rules:NOTHING", "cannot be imported: AttributeError"),
        ("RULES = ['LAB101']", "lab_nnx_rules:RULES", "is no rule and no collection of rules: 'LAB101'"),
        ("from codemods.nnx.lint.seed import RULE as RULES", "lab_nnx_rules:RULES", "not beginning with NNX"),
    ],
)
def test_bad_packages(tree: Tree, module: str, point: str, words: str) -> None:
    root = tree({"a.py": CODE})
    install(root / "site", module, point)
    done = run("a.py", site=root / "site")
    assert done.returncode == 2
    assert words in done.stderr
    assert "lab-nnx-rules" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_project_offers_no_rules(tree: Tree) -> None:
    """What lies in the working directory is analysed, not run, even where Python would import it."""
    root = tree({"a.py": CODE})
    install(root, "open('marked', 'w')\nRULES = ()\n")
    assert run("lint", "a.py").returncode == 0
    assert not (root / "marked").exists()
