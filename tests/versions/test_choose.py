"""Which versions a project is taken from and to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nnxmigrate.files.discovery import discover
from nnxmigrate.project import load
from nnxmigrate.versions import pins
from nnxmigrate.versions.choose import Chosen
from nnxmigrate.versions.parts import parts
from tests.cli.test_migrate import call
from tests.conftest import Tree

NEUTRAL = "from flax import nnx\n\nlayer = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\n"
OLD = NEUTRAL + "optimizer = nnx.Optimizer(layer, tx)\n"
NEW = NEUTRAL + "layers = nnx.List([layer])\n"
UPDATED = NEUTRAL + "optimizer = nnx.Optimizer(layer, tx, wrt=nnx.Param)\noptimizer.update(layer, grads)\n"
BOTH = ("0.11", "0.12")


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Forget what earlier tests read: paths come again."""
    pins.forget()


def chosen(**said: Any) -> list[Chosen]:
    """Return the choices for the working directory."""
    return [one for one, _ in parts(load(discover(["."])), **said)]


PROJECTS: list[tuple[str, dict[str, str | bytes], str, tuple[str, ...], str]] = [
    ("nothing", {"a.py": NEUTRAL}, "0.10", BOTH, "the project does not say"),
    (
        "a pin below",
        {"a.py": NEUTRAL, "requirements.txt": "flax==0.10.7\n"},
        "0.10",
        BOTH,
        "flax==0.10.7 in requirements.txt",
    ),
    (
        "long ago",
        {"a.py": NEUTRAL, "requirements.txt": "flax==0.8.5\n"},
        "0.10",
        BOTH,
        "flax==0.8.5 in requirements.txt",
    ),
    ("one family", {"a.py": NEUTRAL, "requirements.txt": "flax>=0.11,<0.12\n"}, "0.11", ("0.11",), "requirements.txt"),
    (
        "the newest",
        {"a.py": NEUTRAL, "setup.cfg": "[options]\ninstall_requires =\n    flax>=0.12.0\n"},
        "0.12",
        ("0.12",),
        "setup.cfg",
    ),
    ("of tomorrow", {"a.py": NEUTRAL, "requirements.txt": "flax==0.14.2\n"}, "0.12", ("0.12",), "flax==0.14.2"),
    (
        "a range",
        {"a.py": NEUTRAL, "pyproject.toml": '[project]\nname = "x"\ndependencies = ["flax>=0.10.2"]\n'},
        "0.10",
        BOTH,
        "flax>=0.10.2",
    ),
    (
        "setup.py",
        {"a.py": NEUTRAL, "setup.py": 'setup(install_requires=["flax>=0.12"])\n'},
        "0.12",
        ("0.12",),
        "setup.py",
    ),
    (
        "setup.py above, without a repository",
        {"src/lab/a.py": NEUTRAL, "setup.py": 'setup(install_requires=["flax>=0.12"])\n'},
        "0.12",
        ("0.12",),
        "setup.py",
    ),
    (
        "conda",
        {"a.py": NEUTRAL, "environment.yml": "dependencies:\n  - flax=0.11.2\n"},
        "0.11",
        ("0.11",),
        "environment.yml",
    ),
    ("pixi", {"a.py": NEUTRAL, "pixi.toml": '[dependencies]\nflax = ">=0.12,<0.13"\n'}, "0.12", ("0.12",), "pixi.toml"),
    (
        "pixi and PyPI",
        {"a.py": NEUTRAL, "pyproject.toml": '[tool.pixi.pypi-dependencies]\nflax = "==0.10.7"\n'},
        "0.10",
        BOTH,
        "pyproject.toml",
    ),
    (
        "a lock narrows",
        {
            "a.py": NEUTRAL,
            "requirements.in": "flax>=0.10\n",
            "uv.lock": '[[package]]\nname = "flax"\nversion = "0.12.3"\n',
        },
        "0.12",
        ("0.12",),
        "flax 0.12.3 in uv.lock",
    ),
    (
        "a lock of poetry",
        {"a.py": NEUTRAL, "poetry.lock": '[[package]]\nname = "flax"\nversion = "0.10.7"\n'},
        "0.10",
        BOTH,
        "flax 0.10.7 in poetry.lock",
    ),
    (
        "a lock of pixi",
        {
            "a.py": NEUTRAL,
            "pixi.lock": "packages:\n- conda: https://example.org/noarch/flax-0.11.2-pyhd8ed1ab_0.conda\n",
        },
        "0.11",
        ("0.11",),
        "flax 0.11.2 in pixi.lock",
    ),
    (
        "the nearest file is narrowed by its neighbours",
        {
            "a.py": NEUTRAL,
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["flax>=0.10"]\n',
            "requirements.txt": "flax==0.10.7\n",
        },
        "0.10",
        BOTH,
        "flax==0.10.7 in requirements.txt",
    ),
    (
        "an environment",
        {"a.py": NEUTRAL, ".venv/lib/python3.12/site-packages/flax-0.12.8.dist-info/METADATA": ""},
        "0.12",
        ("0.12",),
        "flax 0.12.8 in .venv",
    ),
    (
        "pins before the environment",
        {
            "a.py": NEUTRAL,
            "requirements.txt": "flax==0.10.7\n",
            ".venv/lib/python3.12/site-packages/flax-0.12.8.dist-info/METADATA": "",
        },
        "0.10",
        BOTH,
        "flax==0.10.7",
    ),
    ("code for 0.12", {"a.py": NEW}, "0.12", ("0.12",), "a.py:4 uses nnx.List"),
    ("code for 0.11", {"a.py": UPDATED}, "0.11", BOTH, "a.py:5 updates an optimizer with its model"),
    (
        "a name that came back",
        {"a.py": UPDATED, "b.py": "from flax import nnx\n\nheads = nnx.Dict()\n"},
        "0.12",
        ("0.12",),
        "b.py:3 uses nnx.Dict, which Flax 0.11 lacks",
    ),
    (
        "a name that is old and new",
        {"a.py": NEUTRAL + "heads = nnx.Dict()\n"},
        "0.10",
        BOTH,
        "the project does not say",
    ),
    (
        "code that asks first",
        {"a.py": "from flax import nnx\n\nif hasattr(nnx, 'List'):\n    x = nnx.List([])\n"},
        "0.10",
        BOTH,
        "the project does not say",
    ),
    (
        "code that asks for a signature",
        {
            "a.py": f"{NEUTRAL}import inspect\n\nif 'model' in inspect.signature(optimizer.update).parameters:\n"
            "    optimizer.update(layer, grads)\nelse:\n    optimizer.update(grads)\n"
        },
        "0.10",
        BOTH,
        "the project does not say",
    ),
    (
        "an update through the class",
        {
            "a.py": f"{NEUTRAL}class Mine(nnx.Optimizer):\n"
            "    def update(self, g):\n        nnx.Optimizer.update(self, g)\n"
        },
        "0.10",
        BOTH,
        "the project does not say",
    ),
    (
        "an update through the class by another name",
        {
            "a.py": f"{NEUTRAL}from flax.nnx import Optimizer as Optim\n\n\nclass Mine(Optim):\n"
            "    def update(self, g):\n        Optim.update(self, g)\n"
        },
        "0.10",
        BOTH,
        "the project does not say",
    ),
    ("a word in a text", {"a.py": NEUTRAL + "'''nnx.List'''\n"}, "0.10", BOTH, "the project does not say"),
    (
        "pins raised before the code",
        {"a.py": OLD, "requirements.txt": "flax>=0.12\n"},
        "0.10",
        ("0.12",),
        "but a.py:4 makes an nnx.Optimizer without wrt",
    ),
    (
        "a name that went",
        {"a.py": NEUTRAL + "keys = nnx.fork(nnx.Rngs(0), 2)\n", "requirements.txt": "flax>=0.11\n"},
        "0.10",
        BOTH,
        "but a.py:4 uses nnx.fork",
    ),
    (
        "old and new in one file",
        {"a.py": OLD + "layers = nnx.List([layer])\n", "requirements.txt": "flax>=0.12\n"},
        "0.12",
        ("0.12",),
        "a.py:4 makes an nnx.Optimizer without wrt: --from 0.10 if",
    ),
    ("newer than the pins", {"a.py": NEW, "requirements.txt": "flax==0.11.2\n"}, "0.11", ("0.11",), "flax==0.11.2"),
]


@pytest.mark.parametrize(
    ("files", "origin", "targets", "why"), [row[1:] for row in PROJECTS], ids=[row[0] for row in PROJECTS]
)
def test_what_projects_say(
    tree: Tree, files: dict[str, str | bytes], origin: str, targets: tuple[str, ...], why: str
) -> None:
    tree(files)
    (one,) = chosen()
    assert (one.origin, one.targets) == (origin, targets), one
    assert why in one.why


def test_without_pins_a_half_migrated_project_is_not_divided(tree: Tree) -> None:
    tree({"a.py": OLD, "b.py": NEW})
    assert [(one.origin, one.targets) for one in chosen()] == [("0.10", ("0.12",))]


SNAPSHOT = """\


def fit(model, rounds):
    before = nnx.state(model)
    for _ in range(rounds):
        model.kernel.value += 1
    nnx.update(model, before)
"""


def test_a_half_migrated_project_is_divided(tree: Tree) -> None:
    """Pins that are ahead of the code say nothing about the files that only 0.10 runs, nor about what they import."""
    tree(
        {
            ".git/HEAD": "",
            "requirements.txt": "flax>=0.12\n",
            "old.py": "import part\nimport library\n" + OLD,
            "part.py": "from flax import nnx\n" + SNAPSHOT,
            "library.py": NEW,
            "new.py": "import library\n" + NEUTRAL + SNAPSHOT,
        }
    )
    assert {(one.part, one.origin, one.targets) for one in chosen()} == {
        ("old.py and 1 more", "0.10", ("0.12",)),
        ("library.py and 1 more", "0.12", ("0.12",)),
    }
    divided = {one.origin: set(part.documents) - part.context for one, part in parts(load(discover(["."])))}
    assert divided == {"0.10": {"old.py", "part.py"}, "0.12": {"library.py", "new.py"}}
    (alone,) = parts(load(discover(["part.py"])))
    assert alone[0].origin == "0.10", "a file named alone is taken for what it is among the others"
    result = call(".")
    assert "old.py:6 makes an nnx.Optimizer without wrt" in result.stdout
    assert "nnx.clone(nnx.state(model))" in Path("part.py").read_text()
    assert "clone" not in Path("new.py").read_text()


def test_the_active_environment(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"p/a.py": NEUTRAL, "env/lib/python3.11/site-packages/flax-0.11.2.dist-info/METADATA": ""})
    monkeypatch.setenv("VIRTUAL_ENV", str(root / "env"))
    monkeypatch.chdir(root / "p")
    assert (chosen()[0].origin, chosen()[0].targets) == ("0.11", ("0.11",))
    assert (chosen(targets=("0.10",))[0].origin) == "0.10", "what is installed does not stand against what is asked for"


def test_what_the_user_says_wins(tree: Tree) -> None:
    tree({"a.py": NEUTRAL, "requirements.txt": "flax==0.10.7\n"})
    assert chosen(targets=("0.12",)) == [Chosen("0.10", ("0.12",), "flax==0.10.7 in requirements.txt")]
    assert chosen(origin="0.12")[0].targets == ("0.12",)
    assert chosen(origin="0.11", targets=("0.12",)) == [Chosen("0.11", ("0.12",))]


def test_parts_by_their_nearest_pins(tree: Tree) -> None:
    tree(
        {
            ".git/HEAD": "",
            "requirements.txt": "flax==0.10.7\n",
            "top.py": NEUTRAL,
            "new/pyproject.toml": '[project]\nname = "new"\ndependencies = ["flax>=0.12"]\n',
            "new/src/b.py": NEUTRAL + "self.x = [layer]\n",
            "new/plain.py": "x = 1\n",
            "book.ipynb": json.dumps(
                {"cells": [{"cell_type": "code", "source": ["!pip install flax==0.11.2\n", "from flax import nnx"]}]}
            ),
        }
    )
    assert {one.part: (one.origin, one.targets) for one in chosen()} == {
        "book.ipynb": ("0.11", ("0.11",)),
        "new/src/b.py": ("0.12", ("0.12",)),
        "top.py": ("0.10", BOTH),
    }
    divided = parts(load(discover(["."])))
    assert sorted(tuple(sorted(part.documents.keys() - part.context)) for _, part in divided) == [
        ("book.ipynb",),
        ("new/src/b.py",),
        ("top.py",),
    ]
    result = call("--check", ".")
    assert "top.py: Flax 0.10 → 0.11 and 0.12 (flax==0.10.7 in requirements.txt)" in result.stdout
    assert "new/src/b.py: Flax 0.12 (flax>=0.12 in new/pyproject.toml)" in result.stdout
    assert "4 files unchanged" in result.stdout


def test_a_part_is_called_as_the_user_calls_its_files(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(
        {
            "old/requirements.txt": "flax==0.10.7\n",
            **{f"old/{name}.py": NEUTRAL for name in "ab"},
            "new/requirements.txt": "flax>=0.12\n",
            **{f"new/{name}.py": NEUTRAL for name in "ab"},
            "elsewhere/x.txt": "",
        }
    )
    monkeypatch.chdir(root / "elsewhere")
    for above in ("..", str(root)):
        named = {one.part for one, _ in parts(load(discover([f"{above}/old", f"{above}/new"])))}
        assert named == {f"{above}/old/", f"{above}/new/"}


def test_a_file_named_alone_is_of_its_projects_version(tree: Tree) -> None:
    tree({".git/HEAD": "", "a.py": NEUTRAL, "beside/b.py": NEW, "c.py": "from flax import nnx\nimport a\n"})
    whole, *_ = chosen()
    for name in ("a.py", "c.py"):
        ((one, part),) = parts(load(discover([name])))
        assert one == whole
        assert one.origin == "0.12"
        assert "beside/b.py" not in part.documents, "no import connects them"


def test_code_for_012_is_linted_as_such(tree: Tree) -> None:
    tree(
        {
            "requirements.txt": "flax>=0.12\n",
            "net.py": "import optax\nfrom flax import nnx\n\n\nclass Net(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.good = nnx.List([nnx.Linear(1, 1, rngs=rngs)])\n"
            "        self.named = nnx.Dict(a=nnx.Linear(1, 1, rngs=rngs))\n"
            "        self.bad = [nnx.Linear(1, 1, rngs=rngs)]\n"
            "        self.drop = nnx.Dropout(0.5, rngs=rngs)\n\n\n"
            "optimizer = nnx.Optimizer(Net(nnx.Rngs(0)), optax.sgd(0.1))\n",
        }
    )
    result = call("lint", ".")
    found = {tuple(line.split()[:2]) for line in result.stdout.splitlines() if line.startswith("net.py")}
    assert found == {("net.py:9:9:", "NNX601"), ("net.py:13:13:", "NNX101")}
    assert "Flax 0.12 (flax>=0.12 in requirements.txt; net.py:13 makes" in result.stdout
    assert call("lint", "--from", "0.12", ".").exit_code == 1, "alone it is no mistake"


@pytest.mark.parametrize("target", ["0.11", "0.10,0.11"])
def test_newer_code_is_never_taken_back(tree: Tree, target: str) -> None:
    code = (
        "from flax import nnx\nfrom flax.nnx import pytreelib\n\n\nclass Net(nnx.Module):\n"
        "    def __init__(self, rngs):\n"
        "        self.a = nnx.List([nnx.Linear(1, 1, rngs=rngs)])\n"
        "        self.b = nnx.Dict(a=nnx.Linear(1, 1, rngs=rngs))\n"
        "        self.c = nnx.Param(1.0, ref=True)\n\n\nprint(nnx.is_data(1))\n"
    )
    root = tree({"a.py": code})
    result = call("--from", "0.10", "--to", target, "--unsafe-fixes", "a.py")
    assert result.exit_code == 1
    assert (root / "a.py").read_text() == code
    for name in ("nnx.List", "nnx.Dict", "nnx.is_data", "`ref`"):
        assert name in result.stdout, name


def test_versions_as_people_write_them(tree: Tree) -> None:
    root = tree({"a.py": NEUTRAL + "layer.kernel.value\n"})
    for word in ("latest", "0.12.8", "v0.12"):
        result = call("--from", "0.10.7", "--to", word, "--diff", "a.py")
        assert "+layer.kernel[...]" in result.stdout, word
    assert call("--to", "0.11,latest", "a.py").exit_code == 0
    assert (root / "a.py").read_text() == NEUTRAL + "layer.kernel.value\n"
    assert call("--from", "0.11,0.12", "a.py").exit_code == 2


def test_the_configuration_comes_before_the_pins(tree: Tree) -> None:
    tree(
        {
            "a.py": NEUTRAL,
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["flax==0.10.7"]\n'
            '[tool.nnxmigrate]\nto = "0.12.8"\n',
        }
    )
    assert "Flax 0.10 → 0.12 (flax==0.10.7 in pyproject.toml)" in call("a.py").stdout
    record = json.loads(call("--output-format", "json", "a.py").stdout)
    assert record["flax"] == ["Flax 0.10 → 0.12 (flax==0.10.7 in pyproject.toml)"]
    assert Path("a.py").read_text() == NEUTRAL
