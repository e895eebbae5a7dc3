"""Syntax that is newer than the Python that runs the program is analysed and migrated all the same."""

from __future__ import annotations

import ast
import contextlib
import sys

import libcst
import pytest

from codemods.nnx import newer
from codemods.nnx.newer import _Older, parse
from nnxmigrate.files.magics import masked
from tests.migration import look, migrated

#: Newer code, and the code of the same length that stands for it.
REPLACED = {
    "def f[T: (int, str), *Ts, **P](x: T) -> T: ...\n": "def f                         (x: T) -> T: ...\n",
    "def f[\n    T,\n    U,\n](x): pass\n": "def f\\\n     \\\n     \\\n (x): pass\n",
    "class A[T = int](B): pass\n": "class A         (B): pass\n",
    "type X[T] = list[T]\nx = 1; type Y = int\n": "0;   X    = list[T]\nx = 1; 0;   Y = int\n",
    "x = t'{a}'\n": "x = 0%(a,)\n",
    "try: x\nexcept A, B: pass\n": "try: x\nexcept A| B: pass\n",
    'f"{a["b"]} {x!r:>{w}}"\n': '0%(a["b"],  x,       )\n',
    'f"{(a)}{"é"}{b:{"x"}}"\n': '0%((a), "é", b,      )\n',
    'f"{\n  a # c\n}"\n': "0%(\n  a,   \n )\n",
    'x = ("a" f"{b["c"]}"\n "d" f\'{e + f"{g["h"]}"}\')\n': 'x = (0%(    b["c"], \n        e + 0%(g["h"],),))\n',
    'f"{a["b"]=}"\n': '0%(a["b"], )\n',
    "rf'{a['b']}\\d'\n": "0%( a['b'],  )\n",
}
LIBRARY = """\
import optax
from flax import nnx

type Model = nnx.Module


class Trainer[M: nnx.Module]:
    def __init__(self, model: M) -> None:
        self.model = model
        self.optimizer = nnx.Optimizer(model, optax.sgd(0.1))
        print(f"{self.names["model"]} {'x'}")

    def step[B](self, batch: B) -> None:
        grads = nnx.grad(lambda m: m(batch).sum())(self.model)
        self.optimizer.update(grads); print(f"{"done"}")
"""


@pytest.mark.parametrize("code", REPLACED)
def test_what_stands_for_newer_code(code: str) -> None:
    with contextlib.suppress(SyntaxError):
        ast.parse(code)
        pytest.skip("known here")
    made = _Older(code.encode(), libcst.parse_module(code)).made().decode()
    assert made == REPLACED[code]
    assert ast.dump(parse(code), include_attributes=True)


def test_the_tree_does_not_depend_on_the_interpreter() -> None:
    """Names and their places are the same as where the syntax is known."""
    names = [(n.id, n.lineno, n.col_offset) for n in ast.walk(parse(LIBRARY)) if isinstance(n, ast.Name)]
    calls = [n.lineno for n in ast.walk(parse(LIBRARY)) if isinstance(n, ast.Call)]
    assert {("nnx", 10, 25), ("model", 10, 39), ("self", 11, 17), ("grads", 15, 30)} <= set(names)
    assert sorted(calls) == [10, 10, 11, 14, 14, 14, 14, 15, 15]


def test_a_project_in_newer_syntax_is_migrated() -> None:
    main = "import jax\nfrom lib import Trainer\nfrom flax import nnx\n\n"
    main += "trainer = Trainer(nnx.Linear(1, 1, rngs=nnx.Rngs(0)))\ntrainer.optimizer.update(trainer.grads)\n"
    texts, left = migrated({"lib.py": LIBRARY, "main.py": main})
    assert not left
    assert "optax.sgd(0.1), wrt=nnx.Param)" in texts["lib.py"]
    assert 'self.optimizer.update(self.model, grads); print(f"{"done"}")' in texts["lib.py"]
    assert "trainer.optimizer.update(trainer.model, trainer.grads)" in texts["main.py"]
    unchanged = [line for line in texts["lib.py"].splitlines() if line in LIBRARY.splitlines()]
    assert len(unchanged) == len(LIBRARY.splitlines()) - 2


INDENTED = """\
class A:
    def f(self, a):
        '''
text {a["b"]}
        '''
        if a:
            print(f"{a["b"]}",
                  f"{a["c"]}")
        for x in f"{a["d"]}":

            pass
        return f"{
            a["e"]
        }"

    async def g[T](self, x: T) -> T:
        with f"{x["f"]}" as y:
            return y
        try: x
        except A, B: pass
type X = int
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("code", [*REPLACED, LIBRARY, INDENTED, INDENTED.replace("    ", "\t"), LIBRARY * 9])
def test_the_statements_alone_become_what_the_whole_does(code: str, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = code.replace("\n", ends)
    made = ast.dump(parse(code), include_attributes=True)
    monkeypatch.setattr(newer, "_around_errors", lambda *_: None)
    assert ast.dump(parse(code), include_attributes=True) == made


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="known here")
def test_a_large_file_is_not_gone_over_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "x = 1\n" * 500 + INDENTED.replace("except A, B", "except A") + "y = 2\n" * 500
    made = newer._Older
    lengths = []

    def noted(data: bytes, module: libcst.Module) -> newer._Older:
        lengths.append(len(data))
        return made(data, module)

    monkeypatch.setattr(newer, "_Older", noted)
    parse(code)
    assert lengths
    assert max(lengths) < len(INDENTED)


def test_findings_within_a_newer_string_have_their_place() -> None:
    text = 'from flax import nnx\n\nm = nnx.Rngs(0)\nprint(f"{nnx.GraphNode} {m["a"]}")\n'
    found = look(text).findings
    assert [(f.code, text[f.start : f.end]) for f in found] == [("NNX510", "nnx.GraphNode")]


def test_what_no_python_reads_is_refused() -> None:
    with pytest.raises(SyntaxError):
        parse("def f[T](x): ...\n\nx = (\n")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="known here")
def test_what_cannot_be_replaced_asks_for_a_newer_python() -> None:
    with pytest.raises(SyntaxError, match=r"in Python 3\.\d+, which runs nnxmigrate; run it with a newer one"):
        parse('def f(): return f"{yield}" f"{a["b"]}"\n')


def test_magics_beside_newer_syntax() -> None:
    cell = b"def f[T](x: T): ...\n!ls\n%time x = 1\ny = x\n"
    code, masks = masked(cell)
    assert len(code) == len(cell)
    assert [cell[mask.start : mask.end] for mask in masks] == [b"!ls", b"%time "]
