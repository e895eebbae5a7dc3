"""Messages about notebooks name lines as the reader counts them."""

from __future__ import annotations

import json

from tests.cli.test_migrate import call
from tests.conftest import Tree

CELLS = (
    "import jax\nfrom flax import nnx\n\nkey = jax.random.key(0)",
    "x = jax.random.normal(key, (3,))\nprint(x)\n# again\ny = jax.random.uniform(key, (3,))",
)


def test_a_line_in_a_message_is_one_of_a_cell(tree: Tree) -> None:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "words"}]
    cells += [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}  # type: ignore[dict-item]
        for source in CELLS
    ]
    tree({"a.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    result = call("lint", "--select", "NNX830", "a.ipynb")
    assert result.stdout.startswith("a.ipynb:cell 3:4:5: NNX830 `key` was used up by `normal` in cell 3, line 1:")


def test_a_line_in_a_message_about_a_module_stays(tree: Tree) -> None:
    tree({"a.py": "\n".join(CELLS) + "\n"})
    result = call("lint", "--select", "NNX830", "a.py")
    assert result.stdout.startswith("a.py:8:5: NNX830 `key` was used up by `normal` in line 5:")
