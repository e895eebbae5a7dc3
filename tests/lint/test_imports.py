"""Linting alone costs no heavy imports, whatever it finds."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from codemods.nnx.analyse import analyse
from codemods.nnx.catalogue import RULES
from codemods.nnx.edits import Edit, OverlapError, spliced
from codemods.nnx.findings import Finding
from codemods.nnx.options import Options
from tests.migration import sources

pytestmark = pytest.mark.slow

PROGRAM = """\
import sys
from nnxmigrate.cli import main
try:
    main(["lint", *sys.argv[1:]])
except SystemExit as end:
    print(end.code, sorted({"libcst", "flax", "jax", "numpy", "optax", "orbax"} & sys.modules.keys()))
"""

CODE = """\
import jax
from flax import nnx


@nnx.jit(inline=True)
def f(x, train: bool):
    print(x)
    (loss, aux), grads = jax.value_and_grad(lambda v: (v, v))(x)
    return x if train else loss
"""
BEFORE = {
    f"{rule.code.lower()}_{number}": example.before
    for rule in RULES
    for number, example in enumerate(rule.examples)
    if example.after != example.before
}
AT_A_TIME = 40


def _lint(*arguments: str) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return done.stdout


def test_no_heavy_imports(tmp_path: Path) -> None:
    """`nnxmigrate lint` reports a finding and imports neither LibCST nor Flax nor JAX."""
    file = tmp_path / "main.py"
    file.write_text(CODE)
    out = _lint(str(file))
    assert all(code in out for code in ("NNX803", "NNX822", "NNX850"))
    assert out.splitlines()[-1] == "1 []"


@pytest.mark.parametrize(("output", "targets"), [("text", "0.12"), ("json", "0.11"), ("sarif", "0.11,0.12")])
def test_no_heavy_imports_for_any_rule(tmp_path: Path, output: str, targets: str) -> None:
    """Nor does it if all rules are selected and most of them find something, much of which could be fixed."""
    for name, text in BEFORE.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
    out = _lint("--select", "NNX", "--to", targets, "--output-format", output, str(tmp_path))
    assert sum(rule.code in out for rule in RULES) > 0.6 * len(RULES)
    assert out.splitlines()[-1] == "1 []"


def test_fixing_needs_libcst(tmp_path: Path) -> None:
    """The check above sees LibCST where it is used."""
    file = tmp_path / "main.py"
    file.write_text("from flax import nnx\nmodel = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\no = nnx.Optimizer(model, tx)\n")
    assert _lint("--fix", "--to", "0.11", str(file)).splitlines()[-1] == "0 ['libcst']"
    assert "wrt=nnx.Param" in file.read_text()


def _seen(finding: Finding) -> tuple[object, ...]:
    return finding.path, finding.code, finding.start, finding.message, finding.fix.safety if finding.fix else None


@pytest.mark.parametrize("start", range(len(BEFORE) // AT_A_TIME + 1))
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_drafts_say_the_same(start: int, target: str) -> None:
    """Without LibCST the same is found and called fixable, and what is no draft is the same text."""
    # of all families, for those about 0.12 alone find nothing for 0.11
    mixed = islice(BEFORE.items(), start, None, len(BEFORE) // AT_A_TIME + 1)
    texts = {f"{name}.py": text for name, text in mixed}
    chosen = Options(targets=(target,), select=("NNX",), lint=True)
    made, drafted = (analyse(sources(texts), replace(chosen, fixes=fixes)).findings for fixes in (True, False))
    assert len({finding.path for finding in made}) > 0.8 * len(texts)
    assert [_seen(f) for f in made] == [_seen(f) for f in drafted]
    for one, other in zip(made, drafted, strict=True):
        if one.fix and other.fix and not any(edit.draft for _, edit in other.fix.edits):
            assert _after(texts, one) == _after(texts, other)


def _after(texts: dict[str, str], finding: Finding) -> dict[str, bytes | None]:
    assert finding.fix is not None
    edits: dict[str, list[Edit]] = {}
    for path, edit in finding.fix.edits:
        edits.setdefault(path, []).append(edit)
    after: dict[str, bytes | None] = {}
    for path, changes in edits.items():
        try:
            after[path] = spliced(texts.get(path, "").encode(), changes)
        except OverlapError:
            after[path] = None
    return after


def test_most_fixes_are_no_drafts() -> None:
    """Calls in one line need no LibCST."""
    options = Options(targets=("0.11",), select=("NNX",), lint=True, fixes=False)
    texts = sources({f"{name}.py": text for name, text in BEFORE.items()})
    fixes = [finding.fix for finding in analyse(texts, options).findings if finding.fix]
    assert sum(any(edit.draft for _, edit in fix.edits) for fix in fixes) < 0.1 * len(fixes)
