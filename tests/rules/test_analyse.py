"""The analysis as a whole: names of modules, defects, and what a run of several rules must not do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codemods.nnx import analyse as analysis
from codemods.nnx.catalogue import RULES
from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.options import Options
from codemods.nnx.rule import Rule
from tests.migration import look, migrate_text, migrated, sources

OLD = """\
import jax
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
"""


@pytest.mark.parametrize("name", ["flax", "jax", "optax", "dataclasses", "functools"])
@pytest.mark.parametrize("package", ["", "lab/"])
def test_a_file_named_like_a_library_hides_it_not(name: str, package: str) -> None:
    files = {f"{package}train.py": OLD, "lab/__init__.py": "", f"lab/{name}.py": "nnx = None\n"}
    assert "wrt=nnx.Param" in migrated(files)[0][f"{package}train.py"]


def test_a_package_does_not_import_its_own_modules_by_their_bare_names() -> None:
    files = {
        "lab/__init__.py": "",
        "lab/steps.py": "def step(optimizer, grads):\n    optimizer.update(grads)\n",
        "steps.py": "def step(model, optimizer, grads):\n    optimizer.update(grads)\n",
        "lab/main.py": OLD + "import steps\n\nsteps.step(model, optimizer, {})\n",
    }
    new = migrated(files)[0]
    assert "optimizer.update(model, grads)" in new["steps.py"]
    assert new["lab/steps.py"] == files["lab/steps.py"]


@pytest.mark.parametrize(
    "head",
    ["#!/usr/bin/env python\n", "# -*- coding: utf-8 -*-\n# Licence\n", '"""What it does."""\n', "# Licence\r\n"],
)
def test_a_new_import_comes_below_the_head_of_a_file(head: str) -> None:
    end = "\r\n" if "\r" in head else "\n"
    body = "if True:\n    from flax.nnx import Linear, Optimizer, Rngs\nParam = 1\n"
    body += "o = Optimizer(Linear(1, 1, rngs=Rngs(0)), None)\n"
    new = migrate_text(head + body.replace("\n", end))
    assert new == head + f"from flax import nnx{end}" + body.replace("None)", "None, wrt=nnx.Param)").replace("\n", end)


def test_a_defect_of_one_rule_leaves_the_others_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(context: Context) -> Iterator[Finding]:
        raise KeyError(context.options.target)

    first = RULES[0]
    bad = Rule(**{**{k: getattr(first, k) for k in first.__dataclass_fields__}, "code": "NNX000", "check": broken})
    monkeypatch.setattr(analysis, "every_rule", lambda: (bad, *RULES))
    result = look(OLD)
    assert [failure.internal for failure in result.failures] == [True]
    assert "NNX000" in result.failures[0].message
    assert "KeyError" in result.failures[0].message
    assert [finding.code for finding in result.findings] == ["NNX101"]


def test_a_defect_is_told_of_a_file_that_was_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is only read to understand others is not reported, so that the defect would be silent."""

    def broken(context: Context) -> Iterator[Finding]:
        raise KeyError(context.options.target)

    first = RULES[0]
    bad = Rule(**{**{k: getattr(first, k) for k in first.__dataclass_fields__}, "check": broken})
    monkeypatch.setattr(analysis, "every_rule", lambda: (bad,))
    result = analysis.analyse(sources({"a.py": "import b\n", "b.py": OLD}), Options(), asked={"b.py"})
    assert [(failure.path, failure.internal) for failure in result.failures] == [("b.py", True)]


@pytest.mark.parametrize("offered", ["__all__ = ['square']", "__all__ = ['square', 'jit']", "", "__all__ = names()"])
def test_a_star_import_takes_what_a_module_offers(offered: str) -> None:
    own = "def jit(fun):\n    return Kept(fun)\n"
    files = {
        "squares.py": f"from jax import jit\n{offered}\n\n\ndef square(x):\n    return x * x\n",
        "kept.py": own,
        "tools.py": "from squares import *\nfrom kept import *\n",
        "main.py": "import tools\n\ntotals = []\n\n\n@tools.jit\ndef step(x):\n    totals.append(x)\n    return x\n",
    }
    found = look(files, Options(lint=True, select=("NNX805",))).findings
    assert [one.code for one in found] == ([] if offered == "__all__ = ['square']" else ["NNX805"])


def test_a_defect_of_one_walk_leaves_the_other_files_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    files = sources({"a.py": "import b\n", "b.py": OLD})

    monkeypatch.setitem(files[0].__dict__, "tree", None)
    result = analysis.analyse(files, Options())
    assert [(failure.path, failure.internal) for failure in result.failures] == [("a.py", True)]
    assert [finding.path for finding in result.findings] == ["b.py"]


def test_rules_answer_the_same_alone_and_together() -> None:
    """No rule changes what the analysis tells the next one."""
    together = [(f.code, f.path, f.start) for f in look(OLD).findings]
    alone = [(f.code, f.path, f.start) for rule in RULES for f in look(OLD, Options(select=(rule.code,))).findings]
    defaults = {rule.code for rule in analysis.chosen(Options())}
    assert [one for one in alone if one[0] in defaults] == together
