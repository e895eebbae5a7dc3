"""A notebook and the script beside it say one thing once."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_migrate import call
from tests.conftest import Tree

CODE = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.uniform(key)\n"


def _notebook(*cells: str) -> str:
    made: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(True)}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"a.ipynb": _notebook(CODE), "a.py": CODE}, ["a.py"]),
        ({"a.ipynb": _notebook(CODE), "b.py": CODE}, ["a.ipynb", "b.py"]),
        ({"a.ipynb": _notebook(CODE), "a.py": CODE.replace("uniform", "gumbel")}, ["a.ipynb", "a.py"]),
        ({"a.ipynb": _notebook(CODE, CODE.replace("uniform", "gumbel")), "a.py": CODE}, ["a.ipynb", "a.py"]),
    ],
)
def test_said_once(tree: Tree, files: dict[str, str], places: list[str]) -> None:
    """Only a line that both hold counts once."""
    tree(files)
    result = call("lint", "--from", "0.12", "--to", "0.12", "--output-format", "json", ".")
    report = json.loads(result.stdout)
    assert [one["path"] for one in report["findings"] if one["code"] == "NNX830"] == places
