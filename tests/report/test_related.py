"""Places that a finding is about besides its own, in every form that can hold them."""

from __future__ import annotations

import json

from lsprotocol import types as lsp

from codemods.nnx.options import Options
from tests.cli.test_migrate import call
from tests.conftest import Tree
from tests.migration import look
from tests.server.client import Editor, session

CODE = """\
import jax

key = jax.random.key(0)
a = jax.random.normal(key, (2,))
b = jax.random.normal(key, (2,))
c = jax.random.uniform(key, (2,))
"""
BOOK = json.dumps({"cells": [{"cell_type": "code", "source": CODE.splitlines(keepends=True)}]})
DONATED = """\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def step(x):
    return x + 1


x = jnp.ones(2)
y = step(x)
print(x)
"""
STALE = """\
import jax

scale = 1.0


@jax.jit
def scaled(x):
    return x * scale


scaled(1.0)
scale = 2.0
scaled(1.0)
"""


def test_one_finding_names_all_uses(tree: Tree) -> None:
    """The reports name every use, also when they come from the cache."""
    tree({"a.py": CODE})
    for _ in range(2):
        (one,) = json.loads(call("lint", "--output-format", "json", "a.py").stdout)["findings"]
        assert one["code"] == "NNX830"
        assert one["start"]["line"] == 5
        places = [(other["start"], other["end"]["column"], other["message"]) for other in one["related"]]
        assert places == [
            ({"line": 4, "column": 5}, 33, "used up here"),
            ({"line": 6, "column": 5}, 34, "and used again here"),
        ]


def test_sarif(tree: Tree) -> None:
    tree({"a.py": CODE})
    (run,) = json.loads(call("lint", "--output-format", "sarif", "a.py").stdout)["runs"]
    (result,) = run["results"]
    assert [place["message"]["text"] for place in result["relatedLocations"]] == ["used up here", "and used again here"]
    where = [place["physicalLocation"] for place in result["relatedLocations"]]
    assert [place["region"]["startLine"] for place in where] == [4, 6]
    assert {place["artifactLocation"]["uri"] for place in where} == {"a.py"}


def test_text_and_page(tree: Tree) -> None:
    """What the message names already is not said twice."""
    root = tree({"a.py": CODE, "b.ipynb": BOOK})
    shown = call("lint", "--report", "page.html", "a.py").stdout
    assert "\n    line 6: and used again here\n" in shown
    assert "used up here" not in shown
    assert "line 6: and used again here" in (root / "page.html").read_text()
    assert "\n    cell 1, line 6: and used again here\n" in call("lint", "b.ipynb").stdout


def test_other_rules() -> None:
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    for code, text, line, words in (("NNX856", DONATED, 13, "donated here"), ("NNX807", STALE, 12, "changed here")):
        (one,) = look(text, given).findings
        (other,) = one.related
        assert (one.code, text.encode()[: other.start].count(b"\n") + 1, other.message) == (code, line, words)


def test_server(tree: Tree) -> None:
    root = tree({"a.py": CODE})

    async def scenario(editor: Editor) -> None:
        (one,) = await editor.open("a.py")
        assert one.related_information is not None
        assert [(place.location.range.start, place.message) for place in one.related_information] == [
            (lsp.Position(3, 4), "used up here"),
            (lsp.Position(5, 4), "and used again here"),
        ]
        assert {place.location.uri for place in one.related_information} == {editor.uri("a.py")}

    session(root, scenario)
