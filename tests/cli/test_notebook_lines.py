"""Messages about notebooks name lines as the reader counts them."""

from __future__ import annotations

import json

from codemods.nnx.findings import Finding
from nnxmigrate.diagnose import diagnostic
from nnxmigrate.files.notebook import read_notebook
from tests.cli.test_migrate import call
from tests.conftest import Tree

CELLS = (
    "import jax\nfrom flax import nnx\n\nkey = jax.random.key(0)",
    "x = jax.random.normal(key, (3,))\nprint(x)\n# again\ny = jax.random.uniform(key, (3,))",
)


def notebook(*sources: str) -> str:
    """Return a notebook of a text and of cells of code."""
    code: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    text: dict[str, object] = {"cell_type": "markdown", "metadata": {}, "source": "words"}
    cells = [text, *({**code, "source": one} for one in sources)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_line_in_a_message_is_one_of_a_cell(tree: Tree) -> None:
    tree({"a.ipynb": notebook(*CELLS)})
    result = call("lint", "--select", "NNX830", "a.ipynb")
    assert result.stdout.startswith("a.ipynb:cell 3:4:5: NNX830 `key` was used up by `normal` in cell 3, line 1:")


def test_a_line_in_a_message_about_a_module_stays(tree: Tree) -> None:
    tree({"a.py": "\n".join(CELLS) + "\n"})
    result = call("lint", "--select", "NNX830", "a.py")
    assert result.stdout.startswith("a.py:8:5: NNX830 `key` was used up by `normal` in line 5:")


def test_a_line_of_another_file_is_none_of_a_cell() -> None:
    document = read_notebook(notebook(*CELLS).encode())
    one = Finding("NNX807", "a.ipynb", 0, 6, "an earlier value, which line 2 of lib.py changes", "see line 2")
    shown = diagnostic(one, {"a.ipynb": document})
    assert (shown.message, shown.help) == (one.message, "see cell 2, line 2")


def test_the_rest_of_a_notebook_with_a_broken_cell_is_linted(tree: Tree) -> None:
    folder = tree({"a.ipynb": (before := notebook(*CELLS, "print 'a'\nz = y + 1"))})
    for options in ((), ("--fix",), ("--fix", "--unsafe-fixes")):
        result = call("lint", "--select", "NNX830", *options, "a.ipynb")
        assert result.exit_code == 2
        assert "a.ipynb: failed: cell 4 is not Python: line 1" in result.output
        assert "a.ipynb:cell 3:4:5: NNX830" in result.output
        assert (folder / "a.ipynb").read_text() == before
    assert call("a.ipynb").exit_code == 2
    assert (folder / "a.ipynb").read_text() == before
