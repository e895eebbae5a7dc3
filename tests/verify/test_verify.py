"""Proving a migration on a program: with a stand-in for Flax and, once, with the real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nnxmigrate.doctor.pins import PinSet, ranged
from nnxmigrate.verify import environments as made
from nnxmigrate.verify.compare import Tolerance, file_differences, first_difference
from nnxmigrate.verify.environments import Recipe, recipe
from nnxmigrate.verify.program import program, runnable
from nnxmigrate.verify.wanted import wanted
from tests import environments, fake
from tests.cli.test_migrate import call
from tests.conftest import Tree

pytestmark = pytest.mark.slow

PROJECT: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "flax/__init__.py": "",
    "flax/nnx.py": "",
    "lib.py": "from flax import nnx\n\nold, new, shared, common, wrong = 1, 1, 2, 2, 3\n\n\n"
    "def first():\n    return old\n\n\ndef second():\n    return shared\n\n\ndef never():\n    return shared + old\n",
    "main.py": "import random, sys, time\nimport lib\nprint('seed', random.random())\nprint('first', lib.first())\n"
    "print('took 0.12 s' if lib.old else time.time())\nopen('written.txt', 'w').write(str(lib.first()))\n"
    "print('loss', lib.second() / 8)\nprint('end')\n",
    "test_lib.py": "import lib\n\n\ndef test_first():\n    assert lib.first() == 1\n\n\n"
    "def test_second():\n    assert lib.second() == 2\n\n\ndef test_bad():\n    assert False\n",
}


@pytest.fixture
def project(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project whose code changes in two functions; a rule may be broken by ``fake.COMMON``."""
    monkeypatch.setattr("codemods.nnx.analyse.analyse", fake.analyse)
    root = tree(PROJECT)
    for name, content in PROJECT.items():
        if name == "main.py":  # what would be rewritten there is beside the point
            (root / name).write_text(str(content).replace("lib.old", "lib.new"))
    return root


def verify(*arguments: str) -> tuple[int, dict[str, object]]:
    """Return the exit status and the record of a verification with this interpreter on both sides."""
    own = ["--old-python", sys.executable, "--new-python", sys.executable]
    result = call("verify", "--json", *own, *arguments)
    assert result.exit_code < 2, result.output
    return result.exit_code, json.loads(result.stdout)


def test_what_agrees_is_verified(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    status, record = verify("--", "python", "main.py")
    assert (status, record["same"]) == (0, True), record
    assert record["fixed"]
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_a_broken_rule_is_named_with_its_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake, "COMMON", _Wrong())
    status, record = verify("--", "python", "main.py")
    assert status == 1
    where = {"line": 4, "old": "loss 0.25", "new": "loss 0.375", "stream": "stdout"}
    assert record["difference"] == {**where, "why": "0.25 became 0.375"}
    suspects = record["suspects"]
    assert isinstance(suspects, list)
    assert [suspects[0][key] for key in ("code", "path", "line", "function")] == ["NNX106", "lib.py", 11, "second"]
    assert not [one for one in suspects if one["function"] == "never"], "it did not run"
    own = ["--old-python", sys.executable, "--new-python", sys.executable]
    shown = call("verify", *own, "--", "python", "main.py").stdout
    assert "The outputs differ first in line 4: 0.25 became 0.375\n  - loss 0.25\n  + loss 0.375\n" in shown
    assert "  NNX106 lib.py:11 in second: return shared\n" in shown
    assert "What changes unavoidably" not in shown, "no code here that does it"


class _Wrong(dict[str, bytes]):
    """A rule that writes the wrong name in every file but where it is defined."""

    def get(self, key: str, default: object = None) -> bytes:
        return b"wrong" if "lib" in key else b"common"


def test_tests_that_break_are_named_by_rule(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify("--", "pytest", "-q")[0] == 0, "a test that failed before is no difference"
    monkeypatch.setattr(fake, "COMMON", _Wrong())
    status, record = verify("--", "pytest", "-q")
    assert status == 1
    tests = record["tests"]
    assert isinstance(tests, dict)
    assert list(tests) == ["test_lib::test_second"]
    named = {(one["code"], one["function"]) for one in tests["test_lib::test_second"]}
    assert ("NNX106", "second") in named
    assert ("NNX101", "first") not in named, "the test does not run it"


def test_files_are_compared(project: Path) -> None:
    (project / "lib.py").write_text(
        (project / "lib.py").read_text().replace("old, new,", "old, new,").replace("1, 1,", "1, 5,")
    )
    (project / "main.py").write_text("import lib\nopen('written.txt', 'w').write(f'x {lib.first()}')\n")
    status, record = verify("--compare", "*.txt", "--", "python", "main.py")
    assert status == 1
    assert record["files"] == {"written.txt": "line 1: 1 became 5"}
    assert not (project / "written.txt").exists()


def test_migrated_trees_are_compared_with_the_last_commit(project: Path) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", *who, "commit", "-qm", "old"], check=True)
    call(".")
    lib = project / "lib.py"
    assert "old" not in lib.read_text()
    assert verify("--", "python", "main.py")[0] == 0
    lib.write_text(lib.read_text().replace("return common\n", "return common + 8\n", 1))
    status, record = verify("--", "python", "main.py")
    assert status == 1
    suspects = record["suspects"]
    assert isinstance(suspects, list)
    assert suspects[0]["function"] == "second"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "make", "train"], "make is no Python program"),
        (["--", "python", "-c", "1"], "`python -c` cannot be run"),
        (["--ignore-lines", "(", "--", "python", "main.py"], "--ignore-lines"),
        (["--old", "nowhere", "--", "python", "main.py"], "git has no nowhere"),
        (["--copy-limit", "0", "--", "python", "main.py"], "raise --copy-limit"),
        (["--", "python", "fails.py"], "so there is nothing to compare with"),
        (["--timeout", "1", "--", "python", "sleeps.py"], "took more than 1 s"),
    ],
)
def test_what_cannot_be_verified(project: Path, arguments: list[str], message: str) -> None:
    (project / "fails.py").write_text("import lib\nraise SystemExit('no')\n")
    (project / "sleeps.py").write_text("import time\ntime.sleep(60)\n")
    result = call("verify", "--old-python", sys.executable, "--new-python", sys.executable, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_numbers_are_compared_with_tolerance() -> None:
    tolerance = Tolerance(1e-3, 1e-5)
    assert first_difference("loss 0.50000 nan", "loss 0.50001 nan", tolerance) is None
    assert first_difference("a\n\nb 1e-9", "a\nb 0.0", tolerance) is None
    assert first_difference("at 0x7f00aa11 in 3.1 s", "at 0x7f00bb22 in 4.2 s", tolerance) is None
    found = first_difference("a\nloss 0.5\nz", "a\nloss 0.6\nz", tolerance)
    assert found is not None
    assert (found.line, found.why) == (2, "0.5 became 0.6")
    words = first_difference("good", "bad", tolerance)
    assert words is not None
    assert words.why == "other words"
    assert first_difference("a\nb", "a", tolerance) is not None
    assert first_difference("a", "a\nb", tolerance) is not None


def test_arrays_are_compared(tmp_path: Path) -> None:
    python = environments.python("0.11")
    code = (
        "import numpy, os\nfor side, x in (('old', 1.0), ('new', 1.5)):\n    os.makedirs(side)\n"
        "    numpy.savez(side + '/a.npz', same=numpy.ones(2), other=numpy.array([1.0, x]))\n"
    )
    subprocess.run([python, "-c", code], cwd=tmp_path, check=True)
    found = file_differences(tmp_path / "old", tmp_path / "new", ["*.npz"], Tolerance(), python)
    assert found == [("a.npz", "other[1]: 1.0 became 1.5; 1 differ")]


def test_environments_move_nothing_but_what_must(tree: Tree) -> None:
    text = "flax==0.10.4\njax[cpu]==0.5.3\nnumpy<2  # why\noptax==0.2.4\nabsl-py==2.1\n-r more/other.txt\n-e .\n"
    root = tree(
        {
            "requirements.txt": text + "-c bounds.txt\n--extra-index-url https://example.org/simple\n",
            "more/other.txt": "einops\\\n>=0.7\n-r ../requirements.txt\n",
            "bounds.txt": "scipy<1.14\nflax<0.11\n",
        }
    )
    found = wanted(root, root)
    assert made.others(found.lines) == ("numpy<2", "optax==0.2.4", "absl-py==2.1", "einops>=0.7")
    assert made.others(found.constraints) == ("scipy<1.14",)
    assert found.indexes == ["--extra-index-url=https://example.org/simple"]


def _pins(**texts: str) -> list[PinSet]:
    return [PinSet("r", "r", tuple(one for name, text in texts.items() if (one := ranged(name, text, "r"))))]


def test_flax_and_jax_of_each_side() -> None:
    pins = _pins(flax="==0.10.7", jax="==0.7.2")
    assert recipe(pins, "0.10") == Recipe("0.10.7", "0.7.2")
    assert recipe(pins, "0.11", "0.7.2") == Recipe("0.11.2", "0.7.2"), "JAX stays where it runs both"
    assert recipe([], "0.12", "0.7.2") == Recipe("0.12.8", "0.10.2"), "JAX must move"
    assert recipe([], "0.10").requirements == ["flax==0.10.7", "jax==0.7.2", "jaxlib==0.7.2"]
    assert recipe(_pins(flax=">=0.10.2"), "0.10").flax == "0.10.7", "not the newest that the range allows"
    assert recipe(_pins(flax="<0.10.6"), "0.10").flax == "0.10.5"
    assert recipe(_pins(flax="==0.12.4", jax="==0.9.0"), "0.12", "0.10.2") == Recipe("0.12.4", "0.9.0")
    inside = _pins(flax=">=0.12.2,<0.12.7")
    assert recipe(inside, "0.12", "0.9.0") == Recipe("0.12.6", "0.9.0")
    assert recipe(inside, "0.12", oldest=True).flax == "0.12.2"
    assert recipe(inside, "0.12", "0.9.0", exact="0.12.4") == Recipe("0.12.4", "0.9.0")
    assert recipe(pins, "0.12", "0.7.2", exact="0.12.8") == Recipe("0.12.8", "0.10.2")


@pytest.mark.parametrize(
    ("files", "extras", "lines"),
    [
        (
            {
                "pyproject.toml": "[project]\nname='p'\ndependencies=['a','b>1']\n"
                "[project.optional-dependencies]\ntest=['c','p[more]']\nmore=['d']\n"
                "[dependency-groups]\ndev=['e',{include-group='lint'}]\nlint=['f']\n"
            },
            ["test", "dev"],
            ["a", "b>1", "c", "d", "e", "f"],
        ),
        (
            {
                "pyproject.toml": "[tool.poetry.dependencies]\npython='^3.10'\na='^1.2'\nb={version='*',extras=['x']}\n"
                "c={path='../c'}\nd={version='1.0',optional=true}\n[tool.poetry.group.dev.dependencies]\ne='~1.4'\n"
            },
            ["dev"],
            ["a<2,>=1.2", "b[x]", "e<1.5,>=1.4"],
        ),
        (
            {"pyproject.toml": "[tool.black]\n", "setup.cfg": "[options]\ninstall_requires =\n  a\n  b==1\n"},
            [],
            ["a", "b==1"],
        ),
        (
            {"setup.py": "from setuptools import setup\nsetup(keywords=['k'], install_requires=['a', 'b'])\n"},
            [],
            ["a", "b"],
        ),
        ({"Pipfile": "[packages]\na='*'\nb='==1.0'\n"}, [], ["a", "b==1.0"]),
        (
            {"environment.yml": "dependencies:\n  - python=3.11\n  - pip:\n    - a\n    - b==1\n  - c\n"},
            [],
            ["a", "b==1"],
        ),
        (
            {
                "pyproject.toml": "[project]\nname='p'\ndynamic=['dependencies']\n"
                "[tool.setuptools.dynamic]\ndependencies={file=['need.txt']}\n",
                "need.txt": "a\n-r b.txt\n",
                "b.txt": "b\n",
            },
            [],
            ["a", "b"],
        ),
        ({}, [], []),
    ],
)
def test_what_a_project_requires(
    tree: Tree, files: dict[str, str | bytes], extras: list[str], lines: list[str]
) -> None:
    root = tree(files)
    assert wanted(root, root, extras).lines == lines


def test_extras_that_are_not_declared(tree: Tree) -> None:
    root = tree({"pyproject.toml": "[project]\nname='p'\ndependencies=['a']\n"})
    with pytest.raises(KeyError):
        wanted(root, root, ["nope"])


def test_the_nearest_requirements_count(tree: Tree) -> None:
    root = tree(
        {
            "requirements.txt": "flax==0.12.8\ntop\n",
            "one/requirements.txt": "flax==0.10.7\nfirst\n",
            "one/sub/train.py": "",
            "one/src/pkg/go.py": "",
            "two/train.py": "",
            "tests/test_a.py": "",
        }
    )
    assert wanted(root / "one/sub", root).lines == ["flax==0.10.7", "first"]
    assert wanted(root / "two", root).lines == ["flax==0.12.8", "top"]
    assert [str(one.exact("flax")) for one in made.pins_of(root / "one/sub", root)] == ["0.10.7"]
    assert program(["python", "one/sub/train.py", "-x"], root, root) == root / "one/sub/train.py"
    assert program(["python", "-m", "pkg.go"], root / "one/src", root) == root / "one/src/pkg/go.py"
    assert program(["pytest", "-k", "x", "tests/test_a.py::test_b"], root, root) == root / "tests/test_a.py"
    assert program(["python", "nowhere.py"], root / "two", root) == root / "two"


def test_pins_that_do_not_go_together_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that must: the rest stays as the project has it."""
    monkeypatch.setenv("NNXMIGRATE_VERIFY_ENVS", str(Path.cwd() / "envs"))

    def refusal(one: Recipe, *_: object) -> str:
        return "numpy is too old" if "numpy==1.26.4" in one.others else ""

    monkeypatch.setattr(made, "_refusal", refusal)
    one = Recipe("0.12.8", "0.10.2", ("einops==0.7", "numpy==1.26.4", "tqdm", "absl-py==2.1"))
    found = made.settled(one, [], "3.11", 10)
    assert found.others == ("einops==0.7", "numpy", "tqdm", "absl-py==2.1")
    assert found.moved == ("numpy==1.26.4",)
    monkeypatch.setattr(made, "_refusal", lambda *_: "there is no einops")
    with pytest.raises(made.NoEnvironment, match="there is no einops"):
        made.settled(one, [], "3.11", 10)


def test_the_part_that_the_program_is_in_decides(project: Path, tree: Tree) -> None:
    """In a repository with several parts, the versions are those of the program's own part."""
    tree(
        {
            "pyproject.toml": "[project]\nname='p'\ndependencies=['flax==0.12.8']\n",
            "old/requirements.txt": "flax==0.10.7\n",
            "old/go.py": "from flax import nnx\nprint(1)\n",
        }
    )
    own = ["--old-python", sys.executable, "--new-python", sys.executable]
    result = call("verify", *own, "--", "python", "old/go.py")
    assert "versions of the part that the program is in: " in result.stderr
    assert "Flax 0.10 → 0.11 and 0.12 (flax==0.10.7 in old/requirements.txt)" in result.stderr
    assert "Flax 0.12 (" in call("verify", *own, "--", "python", "main.py").stderr


def test_the_configuration_counts_in_the_copies(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.nnxmigrate.per-file-ignores]\n'lib.py' = ['NNX101']\n")
    some = verify("--", "python", "main.py")[1]["fixed"]
    (project / "pyproject.toml").write_text("")
    every = verify("--", "python", "main.py")[1]["fixed"]
    assert isinstance(some, int)
    assert isinstance(every, int)
    assert 0 < some < every


def test_old_code_that_is_nowhere(project: Path) -> None:
    call(".")
    result = call("verify", "--", "python", "main.py")
    assert result.exit_code == 2
    assert "git has no commit of it that could hold the old code" in result.stderr


def test_what_prints_nothing_is_not_called_proven(project: Path) -> None:
    own = ["--old-python", sys.executable, "--new-python", sys.executable]
    (project / "quiet.py").write_text("import lib, logging\nlogging.warning('loss %s', lib.first() / 4)\n")
    result = call("verify", *own, "--", "python", "quiet.py")
    assert "\nNot proven: the program ran to its end on both sides, but printed nothing" in result.stdout
    assert "--stderr compares its log" in result.stdout
    assert "\nVerified: " in call("verify", *own, "--stderr", "--", "python", "quiet.py").stdout


def test_a_difference_in_the_log_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "quiet.py").write_text("import lib, logging\nlogging.warning('loss %s', lib.second() / 4)\n")
    monkeypatch.setattr(fake, "COMMON", _Wrong())
    assert verify("--", "python", "quiet.py")[0] == 0
    status, record = verify("--stderr", "--", "python", "quiet.py")
    assert status == 1
    difference = record["difference"]
    assert isinstance(difference, dict)
    assert (difference["stream"], difference["why"]) == ("stderr", "0.5 became 0.75")


def test_missing_modules_are_all_named(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname='p'\n[project.optional-dependencies]\nplot=['x']\n")
    (project / "other.py").write_text("import cv2_not_there, lib\nfrom absent_too.x import y\n")
    (project / "go.py").write_text("import cv2_not_there\n")
    own = ["--old-python", sys.executable, "--new-python", sys.executable]
    result = call("verify", *own, "--", "python", "go.py")
    assert result.exit_code == 2
    assert "--with absent_too --with cv2_not_there; the project declares --extra plot" in result.stderr


def test_commands() -> None:
    for good in (["python", "-u", "a.py"], ["python3", "-m", "x"], ["pytest"], ["a.py"]):
        assert runnable(good) is None
    assert runnable(["python"]) is not None


TRAIN = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def make():
    model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.sgd(0.1))


def loss(model):
    return jnp.mean(model(jnp.ones((4, 2))) ** 2)


def step(model, optimizer):
    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(grads)
    return value


model, optimizer = make()
for number in range(3):
    print("loss", number, float(step(model, optimizer)))
"""


def test_a_broken_rule_under_real_flax(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that 0.11 prints otherwise is named, and the rule whose edit was broken on purpose."""
    old, new = environments.python("0.10"), environments.python("0.11")
    tree({"train.py": TRAIN, "pyproject.toml": ""})
    sides = ["--old-python", str(old), "--new-python", str(new), "--to", "0.11"]
    good = call("verify", *sides, "--", "python", "train.py")
    assert good.exit_code == 0, good.output
    from codemods.nnx.edits import Edit

    render = Edit.__init__

    def wrong(self: Edit, start: int, end: int, text: bytes, **more: Any) -> None:
        render(self, start, end, text.replace(b"wrt=nnx.Param", b"wrt=nnx.BatchStat"), **more)

    monkeypatch.setattr(Edit, "__init__", wrong)
    bad = call("verify", *sides, "--", "python", "train.py")
    assert bad.exit_code == 1, bad.output
    assert "NNX101 train.py:9 in make: return model, nnx.Optimizer(model, optax.sgd(0.1))" in bad.stdout
