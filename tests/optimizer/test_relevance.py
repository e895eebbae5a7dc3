"""What is asked only where an optimizer may be finds the same as what is asked everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.nnx.analyse import analyse
from codemods.nnx.catalogue import RULES
from codemods.nnx.may import May
from codemods.nnx.may.may import Made
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.walk import walk
from tests.migration import shown, sources

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "fixtures" / "programs").iterdir())
OPTIONS = Options(select=("NNX1",))


def _texts(path: Path) -> dict[str, str]:
    if path.is_dir():
        return {str(f.relative_to(path)): f.read_text() for f in sorted(path.rglob("*.py"))}
    return {path.name: path.read_text()}


def _found(texts: dict[str, str]) -> list[object]:
    return list(shown(analyse(sources(texts), OPTIONS)))


def test_programs_and_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs are looked at alone, and all examples as one project."""
    examples = {f"e{r.code}_{n}.py": e.before for r in RULES for n, e in enumerate(r.examples)}
    projects = [*(_texts(p) for p in PROGRAMS if p.is_dir() or p.suffix == ".py"), examples]
    projects.append(_texts(ROOT / "fixtures" / "project"))
    relevant = [_found(texts) for texts in projects]
    assert sum(map(len, relevant)) > 100
    monkeypatch.setattr(Made, "_among", lambda self, value, nodes: True)
    monkeypatch.setattr(Made, "field_may_be", lambda self, name: True)
    for texts, found in zip(projects, relevant, strict=True):
        assert _found(texts) == found, list(texts)[:1]


def test_little_is_asked() -> None:
    """A project whose optimizer stays in one function leaves its other calls alone."""
    lines = [
        "import optax\nfrom flax import nnx\n",
        "def train(model):\n    opt = nnx.Optimizer(model, optax.sgd(0.1))\n    log(opt)\n",
        *(f"def f{n}(a):\n    return g{n}(a, {n})\n" for n in range(50)),
    ]
    project = Project([source.once(walk) for source in sources({"m.py": "\n".join(lines)})])
    made = May(project).made_by({"Optimizer"})
    asked = [c for c in project.calls() if any(made.may_hold(a) for a in c.value.args)]
    assert [c.node.lineno for c in asked] == [6]
