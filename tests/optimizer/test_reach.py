"""Which modules optimizers can come to, where a project is too large to follow every value."""

from __future__ import annotations

import pytest

from codemods.nnx.optimizer.reach import Reach
from codemods.nnx.project import Project
from codemods.nnx.walk import walk
from tests.migration import migrated, sources

TEXTS = {
    "alone.py": "x = 1\n",
    "lab/__init__.py": "from .deep import made\n",
    "lab/deep.py": "made = 1\n",
    "lab/beside.py": "from . import deep\n",
    "uses.py": "import lab.beside, other\n",
    "other.py": "import jax\n",
    "leaf.py": "import other\n",
}


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("alone", "other", False),
        ("alone", "alone", True),
        ("uses", "lab.deep", True),
        ("lab.deep", "other", True),  # `uses` has both
        ("leaf", "lab.deep", False),
        ("leaf", "other", True),
    ],
)
def test_meet(one: str, other: str, meet: bool) -> None:
    project = Project([source.once(walk) for source in sources(TEXTS)])
    by_name = {module.name: module for module in project.modules}
    assert Reach(project).meet(by_name[one], by_name[other]) is meet
    assert Reach(project).meet(by_name[other], by_name[one]) is meet


MAKE = """\
import optax
from flax import nnx
{more}
def net():
    return nnx.Linear(2, 1, rngs=nnx.Rngs(0))

m = net()
o = nnx.Optimizer(m, optax.sgd(0.1))
"""
LOST = "import outside\n\ndef run(x):\n    outside.call(lost)\n\nlost = outside.make()\n"


def test_what_is_lost_elsewhere_changes_nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions without an answer count only where an optimizer may come, whatever else is in the run."""
    from codemods.nnx.optimizer.groups import Groups

    whole = Groups._consider

    def tired(self: Groups, event: object) -> None:
        if event.scope.module.name == "lost":  # type: ignore[attr-defined]
            self.flow.questions.unanswered += 1
        whole(self, event)  # type: ignore[arg-type]

    monkeypatch.setattr(Groups, "_consider", tired)
    apart, _ = migrated({"main.py": MAKE.format(more=""), "lost.py": LOST})
    assert "wrt=nnx.Param" in apart["main.py"]
    beside, _ = migrated({"main.py": MAKE.format(more="import lost\n"), "lost.py": LOST})
    assert "nnx.ModelAndOptimizer(" in beside["main.py"]
