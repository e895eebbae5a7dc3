"""What is asked only where an optimizer may be finds the same as what is asked everywhere."""

from __future__ import annotations

import ast
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


def _optimizers(text: str) -> list[str]:
    """Return the arguments of calls of ``log`` that may be or hold an optimizer."""
    project = Project([source.once(walk) for source in sources({"m.py": text})])
    made = May(project).made_by({"Optimizer"})
    logged = [c for c in project.calls() if isinstance(c.node.func, ast.Name) and c.node.func.id == "log"]
    return [ast.unparse(c.node.args[0]) for c in logged if made.may_hold(c.value.args[0])]


def test_places_in_tuples_are_told_apart() -> None:
    """What stands beside an optimizer in a tuple is none; what stands at an unknown place, or in a dict, may be one."""
    text = """\
import jax
import optax
from flax import nnx


@jax.jit
def make(model):
    opt = nnx.Optimizer(model, optax.sgd(0.1))
    return model, opt, {"opt": opt, "step": 0}


model, opt, parts = make(1)
log(model)
log(opt)
log(parts["opt"])
log(parts["step"])
log(parts[key])
for one in make(2):
    log(one)
log([make(n) for n in range(3)][2][0])
log([make(n) for n in range(3)][2][1])
log(make(3)[-1])
log(nnx.value_and_grad(make)(4)[1])
"""
    beside = {"model", "[make(n) for n in range(3)][2][0]"}
    every = {
        ast.unparse(ast.parse(line.strip()))[4:-1] for line in text.splitlines() if line.strip().startswith("log(")
    }
    assert beside < every
    # of a dict in a tuple, and of what comes with a gradient, the places within are not told apart
    assert set(_optimizers(text)) == every - beside


def test_methods_of_common_names() -> None:
    """A method that dicts have as well is that of the project where the object may be, and nowhere else."""
    text = """\
import optax
from flax import nnx


class Held:
    def get(self, name):
        return nnx.Optimizer(name, optax.sgd(0.1))


class More(Held):
    pass


def read(settings, held: Held, made):
    log(settings.get("lr"))
    log(held.get("opt"))
    log(made.get("opt"))


read({"lr": 1}, Held(), More())
"""
    assert _optimizers(text) == ["held.get('opt')", "made.get('opt')"]


def test_lists_and_dicts_change() -> None:
    """An element of a list or dict may be under any index later."""
    text = """\
import optax
from flax import nnx

both = [1, nnx.Optimizer(2, optax.sgd(0.1))]
both.reverse()
log(both[0])
held = {"a": nnx.Optimizer(3, optax.sgd(0.1))}
held.update(b=held["a"])
log(held["b"])
"""
    assert _optimizers(text) == ["both[0]", "held['b']"]


def test_a_loop_that_looks_into_itself_ends() -> None:
    """A variable that each round takes a part of itself is asked about no further than it is told apart."""
    text = """\
import optax
from flax import nnx

opt = nnx.Optimizer(1, optax.sgd(0.1))
part = (opt, 1)
while part:
    log(part)
    part = part[0][0]
"""
    assert _optimizers(text) == ["part"]
