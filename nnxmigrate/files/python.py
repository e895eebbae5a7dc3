"""Python files: from bytes to UTF-8 text and back, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from codemods.nnx.edits import Edit, spliced
from nnxmigrate.files.document import Document, EditRefused, PlainDocument, Unreadable

BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, eq=False)
class EncodedDocument(Document):
    """A Python file in an encoding other than UTF-8.

    Attributes:
        encoding: the codec that its cookie names.
    """

    encoding: str = ""

    def render(self, edits: Sequence[Edit]) -> bytes:
        """Encode the new text in the file's own encoding."""
        try:
            return spliced(self.text, edits).decode("utf-8").encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.end]
            raise EditRefused(f"the file's encoding {self.encoding} has no {bad!r}") from error


def read_python(raw: bytes) -> Document:
    """Return the document of a Python file.

    Raises:
        Unreadable: if its bytes are not text in the encoding that they claim.
    """
    if b"\0" in raw:
        raise Unreadable("holds a null byte, which Python does not accept")
    marked = raw.startswith(BOM)
    body = raw[len(BOM) :] if marked else raw
    encoding = _encoding(raw) if b"coding" in raw else "utf-8"
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + len(_LINE_END.findall(body, 0, error.start))
        raise Unreadable(
            f"not valid {encoding} at byte {error.start} (line {line}); "
            "save it as UTF-8 or name its encoding in the first line, as in `# -*- coding: latin-1 -*-`"
        ) from error
    if encoding == "utf-8":
        return PlainDocument(raw, body)
    if text.encode(encoding) != body:
        raise Unreadable(f"its encoding {encoding} does not give the same bytes back; save it as UTF-8")
    return EncodedDocument(raw, text.encode("utf-8"), encoding=encoding)


def _encoding(raw: bytes) -> str:
    """Return the encoding that the byte order mark or a cookie in the first two lines declares (PEP 263)."""
    import tokenize

    # Given line by line, because detect_encoding itself knows no line end but "\n".
    lines = iter([line + b"\n" for line in _LINE_END.split(raw, 2)[:2]])
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines))
    except SyntaxError as error:
        raise Unreadable(str(error.msg)) from error
    return "utf-8" if encoding == "utf-8-sig" else encoding
