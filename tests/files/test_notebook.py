"""Notebooks: one text, many string literals."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemods.nnx.edits import Edit
from nnxmigrate.files.document import EditRefused, Unreadable
from nnxmigrate.files.notebook import Notebook, read_notebook
from nnxmigrate.files.recovery import recovered

OUTPUT = {"output_type": "stream", "text": ["old\n"], "name": "stdout"}


def cell(source: str | list[str], kind: str = "code") -> dict[str, Any]:
    """Return a cell with an id, outputs and metadata."""
    extra = {"outputs": [OUTPUT], "execution_count": 3} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": "ab-1",
        "metadata": {"tags": ["old", {"source": "old"}]},
        **extra,
        "source": source,
    }


def notebook(*cells: dict[str, Any], **layout: Any) -> bytes:
    """Return the bytes of a notebook of these cells in a layout of :func:`json.dumps`."""
    content = {
        "cells": list(cells),
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, **{"indent": 1, "ensure_ascii": False, **layout}) + "\n").encode()


def edited(document: Notebook, old: str, new: str, nth: int = 0) -> bytes:
    """Return the file with one occurrence of a string in the text replaced."""
    start = -1
    for _ in range(nth + 1):
        start = document.text.index(old.encode(), start + 1)
    return document.render([document.admit(Edit(start, start + len(old.encode()), new.encode()))])


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"indent": 4},
    {"indent": None},
    {"separators": (",", ":")},
    {"ensure_ascii": True},
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ['é = 1\nx = old # "q"\\\n\ny', ["é = 1\n", 'x = old # "q"\\\n', "\n", "y"]])
def test_only_the_edited_line_changes(layout: dict[str, Any], source: str | list[str]) -> None:
    raw = notebook(cell("old text", "markdown"), cell(source), cell([]), cell("z = old"), **layout)
    document = read_notebook(raw)
    assert document.render([]) == raw
    assert edited(document, "old", "néw") == raw.replace(
        b"x = old", b"x = n\\u00e9w" if layout.get("ensure_ascii") else "x = néw".encode()
    )
    assert edited(document, "old", "new", 1) == raw.replace(b"z = old", b"z = new")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("b = 2\n", ""),
        ("a = 1\n", "# first\na = 1\n"),
        ("a = 1\nb = 2\n", "ab = 12\n"),
        ("c = 3", "c = 3\nd = 4"),
        (" = 1\nb", "b"),
        ("a = 1\nb = 2\nc = 3", "x\ny"),
        ("", "import os\n"),
    ],
)
def test_lines_come_and_go_as_jupyter_writes_them(layout: dict[str, Any], old: str, new: str) -> None:
    text = "a = 1\nb = 2\nc = 3"
    after = read_notebook(notebook(cell(text.splitlines(True)), **layout))
    expected = notebook(cell(text.replace(old, new, 1).splitlines(True)), **layout)
    assert edited(after, old, new) == expected


MAGICS = """\
%matplotlib inline
!pip install -q flax && echo "it's"
?nnx.Module
nnx.Module??
files = !ls *.py
files = %who_ls
if True:
    %timeit -n 10 f(old)
    %timeit -n {repeat} -r $runs f(old)
    !echo a \\
        b
%time x = old
value % 3
(value
 % 3)
"""


def test_magics_survive_and_the_rest_is_python() -> None:
    raw = notebook(cell(MAGICS.splitlines(True)), cell("%%bash\necho old"), cell("%%time\nold"), cell("old; await g()"))
    document = read_notebook(raw)
    ast.parse(document.text)
    assert len(document.text) == sum(map(len, (MAGICS, "%%bash\necho old", "%%time\nold", "old; await g()"))) + 4
    assert document.text.count(b"old") == 5, "the shell's cell is no Python"
    edits = [
        Edit(place, place + 3, b"new")
        for place in range(len(document.text))
        if document.text[place:].startswith(b"old")
    ]
    new = document.render([document.admit(edit) for edit in edits])
    sources = ["".join(one["source"]) for one in json.loads(new)["cells"]]
    assert sources == [MAGICS.replace("old", "new"), "%%bash\necho old", "%%time\nnew", "new; await g()"]


@pytest.mark.parametrize("line", ["pip install -q flax", "pip install flax==0.10.7 optax", "cd ..", "load_ext a.b"])
def test_magics_without_their_sign_are_masked(line: str) -> None:
    document = read_notebook(notebook(cell(line), cell("x = old\n" + line), cell("pip = 1\ncd = pip")))
    ast.parse(document.text)
    place = document.text.index(b"old")
    new = json.loads(document.render([document.admit(Edit(place, place + 3, b"new"))]))
    assert ["".join(one["source"]) for one in new["cells"]][:2] == [line, "x = new\n" + line]


INDENTED = """\

    def f(x):
        return old + x

    if f(1):
        print('''a
    b''')
c = 3
"""


@pytest.mark.parametrize("indent", ["    ", "\t", " "])
@pytest.mark.parametrize("magic", ["", "%%time\n"])
def test_a_cell_may_be_indented_as_a_whole(indent: str, magic: str) -> None:
    source = magic + INDENTED.replace("    ", indent)
    document = read_notebook(notebook(cell("b = 1"), cell(source.splitlines(True))))
    assert len(ast.parse(document.text).body) == 4
    place = document.text.index(b"old")
    new = json.loads(document.render([document.admit(Edit(place, place + 3, b"new"))]))
    assert "".join(new["cells"][1]["source"]) == source.replace("old", "new")
    line = document.text.rindex(b"\n", 0, place) + 1
    for edit in (Edit(line, line, b"import x\n"), Edit(place, place + 3, b"1\n    \fy"), Edit(line, place, b"")):
        with pytest.raises(EditRefused):
            document.admit(edit)


def test_indented_code_below_a_comment_is_no_python() -> None:
    with pytest.raises(Unreadable, match="cell 1 is not Python: line 2"):
        read_notebook(notebook(cell("# a\n    b = 1")))


def test_edits_do_not_touch_magics_nor_cross_cells() -> None:
    document = read_notebook(notebook(cell("a = 1\n!ls"), cell("%%bash\nls"), cell("%%time\nb = 2"), cell("c = 3")))
    for start, end in ((4, 8), (0, 12), (10, 30), (len(document.text) - 14, len(document.text) - 2)):
        with pytest.raises(EditRefused):
            document.admit(Edit(start, end, b"x"))
    bash = document.text.index(b"#")
    moved = document.admit(Edit(bash, bash, b"import os\n"))
    assert document.render([moved]).count(b"%%time\\nimport os\\nb = 2") == 1


def test_spots_name_the_cell() -> None:
    raw = notebook(cell("# title", "markdown"), cell(["a = 1\n", "é = old\n", "old"]))
    document = read_notebook(raw)
    spot = document.spot(document.text.index(b"old"))
    assert (spot.cell, spot.line, spot.column) == (2, 2, 5)
    assert "é = old" in raw.decode().splitlines()[spot.file_line - 1]


@pytest.mark.parametrize(
    "language", ["python", "Python", "python3", "python 3", "ipython", "ipython3", "python3.11", ""]
)
def test_python_is_known_under_its_other_names(language: str) -> None:
    content = json.loads(notebook(cell("x = old")))
    content["metadata"]["kernelspec"]["language"] = language
    assert "x = old" in read_notebook(json.dumps(content).encode()).text.decode()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "not a notebook"),
        (b"[]", "no list of cells"),
        (b'{"worksheets": []}', "nbconvert"),
        (b'{"cells": [], "metadata": {"kernelspec": {"language": "julia"}}}', "'julia'"),
        (notebook(cell("ok"), cell("x = (")), "cell 2 is not Python: line 1"),
        (notebook(cell("x = 1\nprint 'py2'")), "cell 1 is not Python: line 2"),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "surrogate"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(raw: bytes, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        read_notebook(raw)


LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12).map(repr),
    min_size=1,
    max_size=4,
)


@given(st.lists(st.tuples(LINES, st.booleans()), min_size=1, max_size=3), st.sampled_from(LAYOUTS), st.data())
def test_any_edit_keeps_all_else(
    cells: list[tuple[list[str], bool]], layout: dict[str, Any], data: st.DataObject
) -> None:
    sources = ["\n".join(lines) for lines, _ in cells]
    as_lists = [source.splitlines(True) if split else source for source, (_, split) in zip(sources, cells, strict=True)]
    raw = notebook(*map(cell, as_lists), **layout)
    document = read_notebook(raw)
    assert document.text.decode() == "".join(f"{source}\n" for source in sources)
    number = data.draw(st.integers(0, len(cells) - 1))
    begin = sum(len(source.encode()) + 1 for source in sources[:number])
    own = sources[number].encode()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(own))] * 2)))
    if (own[start : start + 1] and own[start] & 0xC0 == 0x80) or (own[end : end + 1] and own[end] & 0xC0 == 0x80):
        return  # within a character
    new = document.render([Edit(begin + start, begin + end, b"new\nline")])
    expected = [source.encode() for source in sources]
    expected[number] = own[:start] + b"new\nline" + own[end:]
    after = json.loads(new)
    assert ["".join(one["source"]).encode() for one in after["cells"]] == expected
    for one, other in zip(after["cells"], json.loads(raw)["cells"], strict=True):
        assert {key: one[key] for key in one if key != "source"} == {
            key: other[key] for key in other if key != "source"
        }


BROKEN = """\
%time a = 1
print 'a'
@jit
def f(x):
    return x

for i in range(3):
    x =
    y = 2
if a:
    b = 1

else:
    b = \'\'\'
two
\'\'\'
c = f(
  1
)
!ls
"""


def test_statements_that_are_no_python_are_left_out() -> None:
    text, masks = recovered(BROKEN.encode())
    assert len(text) == len(BROKEN)
    assert [type(node).__name__ for node in ast.parse(text).body if not isinstance(node, ast.Expr)] == [
        "Assign", "FunctionDef", "If", "Assign"]  # fmt: skip
    left_out = [BROKEN[mask.start : mask.end] for mask in masks]
    assert left_out == ["%time ", "print 'a'\n", "for i in range(3):\n    x =\n    y = 2\n", "!ls"]


@given(st.lists(st.sampled_from(["x = 1\n", "    y\n", "(\n", ")\n", "else:\n", "@f\n", "\n", "'''\n", "x", "\r\n"])))
def test_what_is_left_is_python_of_the_same_length(lines: list[str]) -> None:
    cell = "".join(lines).encode()
    text, masks = recovered(cell)
    assert len(text) == len(cell)
    assert [mask.start for mask in masks] == sorted(mask.start for mask in masks)
    ast.parse(text)


def test_a_notebook_read_in_part_is_not_changed() -> None:
    raw = notebook(cell("a = old"), cell("print 'b'\nc = a"))
    with pytest.raises(Unreadable, match="cell 2 is not Python: line 1"):
        read_notebook(raw)
    document = read_notebook(raw, lenient=True)
    assert document.faulty.startswith("cell 2 is not Python: line 1")
    assert [type(node).__name__ for node in ast.parse(document.text).body] == ["Assign", "Assign"]
    with pytest.raises(EditRefused, match="cell 2 is not Python"):
        document.admit(Edit(4, 7, b"new"))
