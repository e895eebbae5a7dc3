"""Module names and the import graph."""

from __future__ import annotations

import pytest

from nnxmigrate.files.imports import Import, ImportGraph, imports, module_names
from tests.conftest import Tree


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import a, b.c as d; x = 1", {(0, "a"), (0, "b.c")}),
        ("from a.b import c, d as e  # import f", {(0, "a.b"), (0, "a.b.c"), (0, "a.b.d")}),
        ("from . import x", {(1, ""), (1, "x")}),
        ("from ..a import x", {(2, "a"), (2, "a.x")}),
        ("if x:\n\tfrom a import (\n    b,  # one\n    c,\n)\nimport d", {(0, "a"), (0, "a.b"), (0, "a.c"), (0, "d")}),
        ("x = 1\rimport a\rimport b\r", {(0, "a"), (0, "b")}),
        ('   "from lab import make\\n",\n   "import b"', {(0, "lab"), (0, "lab.make"), (0, "b")}),
        ("important = 1\nx.import_module('a')", set()),
    ],
)
def test_imports(code: str, expected: set[tuple[int, str]]) -> None:
    assert set(imports(code.encode())) >= {Import(*one) for one in expected}
    assert {one for one in imports(code.encode()) if one.name.isidentifier()} <= {Import(*one) for one in expected}


def test_names_are_the_way_from_the_root(tree: Tree) -> None:
    files = ["src/lab/__init__.py", "src/lab/optim.py", "scripts/train.py", "v1.0/a.py", "nb.ipynb", "nb.py", "nb.pyi"]
    root = tree({**dict.fromkeys(files, ""), "pyproject.toml": ""})
    expected = ["src.lab", "src.lab.optim", "scripts.train", "v1-0.a", "nb-ipynb", "nb", "nb-pyi"]
    assert [module.name for module in module_names(files).values()] == expected
    (root / "pyproject.toml").unlink()
    assert {module.name for module in module_names(["src/lab/optim.py"]).values()} == {"src.lab.optim"}
    assert module_names(["src/lab/__init__.py"])["src/lab/__init__.py"].package


CASES = [
    ("scripts/train.py", "import steps", "scripts/steps.py"),
    ("other/train.py", "import steps", "other/steps.py"),
    ("top.py", "import steps", None),
    ("top.py", "from lab import optim", "src/lab/optim.py"),
    ("top.py", "import lab.optim", "src/lab/optim.py"),
    ("top.py", "from bench import make", "src/bench/__init__.py"),  # installed
    ("scripts/train.py", "import bench", "src/bench/__init__.py"),
    ("src/lab/run.py", "from .optim import x", "src/lab/optim.py"),
    ("src/lab/run.py", "from . import optim", "src/lab/optim.py"),
    ("src/lab/__init__.py", "from .optim import *", "src/lab/optim.py"),
    ("src/lab/deep/x.py", "from ..optim import y", "src/lab/optim.py"),
    ("src/lab/deep/x.py", "from lab import optim", "src/lab/optim.py"),
    ("src/lab/run.py", "import optax", None),
    ("src/lab/run.py", "import steps", "src/steps.py"),  # a package is not on the path
    ("src/lab/run.py", "import optim", None),
    ("scripts/train.py", "import random", None),
    ("scripts/train.py", "import flax.nnx", None),
    ("scripts/train.py", "import rich", None),
    ("scripts/train.py", "import types", "types.py"),  # named at the root
    ("notes/a.ipynb", '"from lab.optim import x\\n"', "src/lab/optim.py"),
]
NAMESAKES = ["src/optax.py", "src/lab/steps.py", "scripts/random.py", "scripts/flax/nnx.py", "scripts/rich.py"]


@pytest.mark.parametrize(("importer", "code", "target"), CASES)
def test_imports_find_the_projects_own_files(tree: Tree, importer: str, code: str, target: str | None) -> None:
    files = dict.fromkeys([*NAMESAKES, *(name for name, _, _ in CASES), *(name for _, _, name in CASES if name)], "")
    files[importer] = code
    tree({**files, "pyproject.toml": ""})
    graph = ImportGraph(module_names(list(files)), {name: text.encode() for name, text in files.items()})
    found = graph.imported(importer) - {"src/lab/__init__.py", "src/lab/deep/__init__.py"}
    assert found == ({target} if target else set())
