"""How new a JAX a project allows, and what is told of names that JAX took away."""

from __future__ import annotations

import json

import pytest

from nnxmigrate.versions import jax_pins, pins
from tests.cli.test_migrate import call
from tests.conftest import Tree

TRAPZ = "import jax.numpy as jnp\n\n\ndef area(y, x):\n    return jnp.trapz(y, x)\n"  # went in 0.4.24
CLIP = "import jax.numpy as jnp\n\n\ndef positive(x):\n    return jnp.clip(x, a_min=0.0)\n"
TREES = "import jax\n\nprint(jax.tree_map(abs, [1]))\n"  # went in 0.6.0
LOCK = '[[package]]\nname = "jax"\nversion = "0.4.20"\n'


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Forget what earlier tests read: paths come again."""
    pins.forget()
    jax_pins.forget()


@pytest.mark.parametrize(
    ("name", "text", "newest"),
    [
        ("requirements.txt", "jax~=0.2.12\njaxlib\n", "0.2.99"),
        ("requirements.txt", "jax[cuda12]==0.4.13\n", "0.4.13"),
        ("requirements.txt", "jax>=0.4.1,<0.4.24\n", "0.4.23"),
        ("requirements.txt", "jax>=0.4.1\n", ""),
        ("requirements.txt", "jaxlib==0.1.65\n", "0.3.0"),
        ("requirements.txt", "jax\njaxlib<=0.4.20\n", "0.4.99"),
        ("pyproject.toml", '[project]\ndependencies = ["jax<0.4.20"]\n', "0.4.19"),
        (
            "pyproject.toml",
            '[project]\ndependencies = []\noptional-dependencies = {a = ["jax==0.4.1"], b = ["jax"]}\n',
            "",
        ),
        ("setup.py", "import setuptools\nsetuptools.setup(install_requires=['jax<=0.3.25', 'flax'])\n", "0.3.25"),
        (
            "setup.py",
            "import setuptools\n_jax = '0.3.25'\n_extra = print()\n"
            "setuptools.setup(install_requires=[f'jax=={_jax}', f'flax=={_extra}', f'optax'])\n",
            "0.3.25",
        ),
        ("setup.py", "import setuptools\nsetuptools.setup(install_requires=[f'jax=={max(1, 2)}'])\n", ""),
        ("environment.yml", "dependencies:\n  - python=3.9\n  - jax=0.3.15\n", "0.3.15"),
        ("uv.lock", LOCK, "0.4.20"),
    ],
)
def test_newest_release(tree: Tree, name: str, text: str, newest: str) -> None:
    """Pins and locks bound JAX; what allows any later release does not."""
    tree({name: text, ".git/HEAD": "", "src/a.py": TRAPZ})
    assert jax_pins.newest_jax({"src/a.py": "src/a.py"}) == ((("", newest),) if newest else ())


def test_folders_and_notebooks_have_their_own(tree: Tree) -> None:
    """The nearest file that names JAX counts, and in a notebook what it installs."""
    cell = {"cell_type": "code", "source": ["!pip install jax==0.2.12"], "metadata": {}, "outputs": []}
    book = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    tree({".git/HEAD": "", "requirements.txt": "jax<0.5\n", "old/requirements.txt": "jax==0.3.1\n", "a.ipynb": book})
    names = ("a.ipynb", "b.py", "old/c.py")
    assert dict(jax_pins.newest_jax({name: name for name in names})) == {
        "a.ipynb": "0.2.12", "": "0.4.99", "old": "0.3.1",
    }  # fmt: skip


def test_names_that_the_pinned_jax_has(tree: Tree) -> None:
    """Nothing is told of names that every allowed release has, unless a Flax is asked for that needs later ones."""
    tree({"requirements.txt": "jax==0.4.20\n", ".git/HEAD": "", "a.py": TRAPZ, "b.py": TREES})
    assert call("lint", ".", "--no-cache").exit_code == 0
    assert {"NNX302", "NNX881"} <= _told("lint", ".", "--no-cache", "--to", "0.12")
    tree({"requirements.txt": "jax<0.5\n"})
    pins.forget()
    jax_pins.forget()
    assert _told("lint", ".") == {"NNX881"}


def test_arguments_that_the_pinned_jax_has(tree: Tree) -> None:
    """No argument is advised that the allowed releases of JAX do not have, nor one that they need not have."""
    tree({"requirements.txt": "jax==0.2.19\njaxlib==0.1.70\n", ".git/HEAD": "", "a.py": CLIP})
    assert call("lint", ".", "--no-cache").exit_code == 0
    assert _told("lint", ".", "--no-cache", "--to", "0.12") == {"NNX762"}
    for line in ("jax>=0.4", "jax==0.10.2", "jax"):
        tree({"requirements.txt": f"{line}\n"})
        pins.forget()
        jax_pins.forget()
        assert _told("lint", ".", "--no-cache") == {"NNX762"}


def test_nnx_needs_a_later_jax(tree: Tree) -> None:
    """A project with NNX is told of the functions of trees that the releases beside later ones no longer have."""
    tree({"requirements.txt": "jax==0.4.38\nflax==0.10.2\n", ".git/HEAD": ""})
    tree({"a.py": "from flax import nnx\n\nprint(nnx)\n" + TREES})
    assert _told("lint", ".", "--no-cache") == {"NNX302"}
    tree({"a.py": "from flax import linen\n\nprint(linen)\n" + TREES})
    assert _told("lint", ".", "--no-cache") == set()


def _told(*words: str) -> set[str]:
    outcome = json.loads(call(*words, "--output-format", "json").stdout)
    return {one["code"] for one in outcome["findings"]}
