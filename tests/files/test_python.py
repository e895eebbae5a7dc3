"""Python files: bytes to text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemods.nnx.edits import Edit
from nnxmigrate.files.document import Document, EditRefused, Unreadable
from nnxmigrate.files.python import read_python


def replaced(document: Document, old: bytes, new: bytes) -> bytes:
    """Return the file with a part of its text replaced."""
    start = document.text.index(old)
    return document.render([document.admit(Edit(start, start + len(old), new))])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"x = old",
        b"x = 1\r\ny = old\r\n\r\n",
        b"x = 1\ry = old\r",
        b"x = 1\n\x0cy = old  \n\t\n",
        b"\xef\xbb\xbfx = old\n",
        "# Größe\nx = old\n".encode(),
        "# -*- coding: latin-1 -*-\n# Größe\nx = old\n".encode("latin-1"),
        "#!/usr/bin/python\r# vim: set fileencoding=cp1252 :\r# Größe €\rx = old\r".encode("cp1252"),
        "# coding: shift_jis\n# 日本\nx = old\n".encode("shift_jis"),
        "x = 1\n\n# coding: latin-1\n# ö\nold\n".encode(),  # too far down to count
    ],
)
def test_all_bytes_but_the_edited_ones_stay(raw: bytes) -> None:
    document = read_python(raw)
    assert document.render([]) == raw
    if b"old" in raw:
        assert replaced(document, b"old", b"newer") == raw.replace(b"old", b"newer")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"x = 'a\nb\xff'", "not valid utf-8 at byte 8 (line 2)"),
        (b"# coding: latin-99\n", "unknown encoding: latin-99"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding problem"),
        (b"x = 1\0", "null byte"),
        (b"# coding: utf-7\nx = '+AGEAYg-'\n", "does not give the same bytes back"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(raw: bytes, message: str) -> None:
    with pytest.raises(Unreadable) as error:
        read_python(raw)
    assert message in str(error.value)


def test_text_that_the_encoding_lacks_is_refused() -> None:
    document = read_python("# coding: latin-1\n# ö\nold\n".encode("latin-1"))
    with pytest.raises(EditRefused, match="iso-8859-1 has no '日'"):
        replaced(document, b"old", "日".encode())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60), st.data())
def test_any_edit_changes_only_its_own_bytes(text: str, data: st.DataObject) -> None:
    document = read_python(text.encode())
    size = len(document.text)
    start, end = sorted(data.draw(st.tuples(st.integers(0, size), st.integers(0, size))))
    assert document.render([Edit(start, end, b"?")]) == document.raw[: len(document.raw) - size] + (
        document.text[:start] + b"?" + document.text[end:]
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_spots_count_characters(end: str) -> None:
    document = read_python(f"é = 1{end}ü = old{end}".encode())
    assert document.spot(document.text.index(b"old"))[:2] == (2, 5)
