"""Which of several assignments of one attribute is marked, in which form, and what a class declares."""

from __future__ import annotations

import pytest

from tests.migration import look, migrated, options

HEAD = "import collections\nfrom flax import nnx\nfrom flax.nnx import Data\n\n\n"
LINEAR = "nnx.Linear(2, 2, rngs=nnx.Rngs(0))"
INIT = "def __init__(self, f):"


def _net(*lines: str, base: str = "nnx.Module") -> str:
    return f"class Net({base}):\n" + "".join(f"    {line}\n" for line in lines)


def _init(*lines: str) -> str:
    return _net(INIT, *(f"    {line}" for line in lines))


def _after(text: str) -> tuple[str, list[str]]:
    files, left = migrated(HEAD + text, options("0.11", "0.12", select=("NNX601", "NNX602")))
    return files["main.py"].removeprefix(HEAD), [finding.code for finding in left]


# MARK stands where the mark is put
MARKED = [
    *(
        _net(
            first,
            "    self.a = MARK(None)",
            "def build(self):",
            f"    self.a = {LINEAR}",
            "def end(self):",
            "    self.a = None",
        )
        for first in (INIT, "def setup(self):")
    ),
    _net("def build(self):", f"    self.a = MARK([{LINEAR}])"),
    _net("def build(self):", "    self.a = MARK(None)", "def more(self):", f"    self.a = {LINEAR}"),
    "class Base(nnx.Module):\n    def __init__(self):\n        self.a = MARK(None)\n\n\n"
    + _net("def build(self):", f"    self.a = {LINEAR}", base="Base"),
    _init("if f:", "    self.a = MARK(None)", f"self.a = {LINEAR}"),
    _init("self.a = MARK(None)", "if f:", f"    self.a = {LINEAR}"),
    _init("for _ in range(2):", "    self.a = MARK(None)", f"    self.a = {LINEAR}"),
    _init(f"self.a, self.b = MARK([{LINEAR}]), []"),
    _init(f"self.a = self.b = MARK([{LINEAR}])"),
    _init(f"self.a, *self.b = MARK([{LINEAR}]), 1"),
    _init(f"self.a = MARK(({LINEAR}, nnx.relu))"),
    _init("self.a = MARK(dict())", f"self.a['x'] = {LINEAR}"),
    _init("self.a = MARK(list())", f"self.a.append({LINEAR})"),
    _init("self.a = MARK(collections.OrderedDict())", f"self.a['x'] = {LINEAR}"),
    _init("self.a = MARK([] if f else {})", f"self.a['x'] = {LINEAR}"),
    f"def made():\n    return [{LINEAR}]\n\n\n" + _init("self.a = MARK(made())"),
    f"def made():\n    return list(nnx.List([{LINEAR}]))\n\n\n" + _init("self.a = MARK(made())"),
    *(
        _net(declared, INIT, f"    self.a = MARK([{LINEAR}])")
        for declared in ("a: list", "a: 'list[int]'", "a = 3", "b: nnx.Data[list]", "a: list[nnx.Linear]")
    ),
]

LEFT = [
    _init("if f:", "    self.a = None", "else:", f"    self.a = {LINEAR}"),
    _init("if f:", f"    self.a = {LINEAR}", "else:", "    self.a = None"),
    _init("if f:", "    self.a = None", "elif f > 2:", "    self.a = 3", "else:", f"    self.a = {LINEAR}"),
    _init(f"self.a = {LINEAR}", "self.a = None"),
    *(
        _net(declared, INIT, f"    self.a = [{LINEAR}]")
        for declared in (
            "a: nnx.Static[list]", "a: Data[list]", "a: 'nnx.Data[list]'", "a: 'nnx.Static[list]'", "a = nnx.data()",
            "a: list = nnx.static()",
        )
    ),
    "class Base(nnx.Module):\n    a: nnx.Data[list]\n\n\n" + _net(INIT, f"    self.a = [{LINEAR}]", base="Base"),
    *(
        f"def made(layers=()):\n    {body}\n\n\n" + _init("self.a = made()")
        for body in (
            f"return nnx.List([{LINEAR}])",
            f"return nnx.data([{LINEAR} for _ in range(2)])",
            f"return nnx.Dict({{'x': {LINEAR}}})",
            f"layers = nnx.List([])\n    layers.append({LINEAR})\n    return layers",
            f"layers = nnx.List([])\n    for _ in range(2):\n        layers.append({LINEAR})\n    return layers",
        )
    ),
    "def around(layers):\n    return nnx.List(layers)\n\n\n" + _init(f"self.a = around([{LINEAR}])"),
    _net("def made(self):", f"    return nnx.List([{LINEAR}])", INIT, "    self.a = self.made()"),
    _init("self.a = f") + f"\n\nnet = Net(nnx.List([{LINEAR}]))\n",
]  # fmt: skip

REPORTED = [_init(f"self.a, self.b = self.c = [{LINEAR}], []"), _init(f"self.a = b = [{LINEAR}]")]


@pytest.mark.parametrize("text", MARKED)
def test_marked(text: str) -> None:
    before, marked = _unmarked(text), text.replace("MARK", "nnx.data")
    assert _after(before) == (marked, [])
    assert _after(marked) == (marked, [])


def _unmarked(text: str) -> str:
    """Return a text without the mark's name and parentheses."""
    head, _, rest = text.partition("MARK(")
    depth = 1
    for position, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return head + rest[:position] + rest[position + 1 :]
    raise AssertionError(text)


@pytest.mark.parametrize("text", LEFT)
def test_left_alone(text: str) -> None:
    assert _after(text) == (text, [])


@pytest.mark.parametrize("text", REPORTED)
def test_reported(text: str) -> None:
    after, left = _after(text)
    assert after == text
    assert set(left) == {"NNX601"}


def test_0_10_gets_a_stand_in() -> None:
    text = HEAD + _init(f"self.a = [{LINEAR}]")
    files, left = migrated(text, options("0.10", "0.12", select=("NNX601",)))
    assert not left
    assert f"self.a = data([{LINEAR}])" in files["main.py"]
    assert "import data\n" in files["main.py"]
    assert len(files) == 2
    taken = text.replace("f):", "data):")  # the name means something else there
    (found,) = look(taken, options("0.10", "0.12", select=("NNX601",))).findings
    assert found.fix is None
