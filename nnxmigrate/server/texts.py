"""The texts that an editor has open.

pygls keeps them as well, but ends a line also at a form feed and other characters at which no editor does: every later
change would go to the wrong place, and every fix with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types as lsp

from nnxmigrate.server.places import UNITS

#: The ends of lines of the protocol.
_END = re.compile(r"\r\n|\n|\r")


@dataclass
class Text:
    """A text as it is in the editor.

    Attributes:
        source: the text.
        version: the editor's number for it.
        language: what the editor says that it is.
    """

    source: str
    version: int | None
    language: str | None

    def offset(self, position: lsp.Position, encoding: str) -> int:
        """Return how many characters stand before a position, whose column counts units of an encoding."""
        start, end = self._line(position.line)
        units, length = UNITS[encoding], 0
        for place in range(start, end):
            if length >= position.character:
                return place
            length += units(self.source[place])
        return end

    def line(self, number: int) -> str:
        """Return a 0-based line without its end; empty if there is none."""
        start, end = self._line(number)
        return self.source[start:end]

    def column(self, position: lsp.Position, encoding: str) -> int:
        """Return how many characters of its line stand before a position."""
        return self.offset(position, encoding) - self._line(position.line)[0]

    def _line(self, number: int) -> tuple[int, int]:
        """Return where a line begins and where it ends, without its end; behind the last, the end of the text."""
        start = 0
        for end in _END.finditer(self.source):
            if number == 0:
                return start, end.start()
            number -= 1
            start = end.end()
        return (start if number == 0 else len(self.source)), len(self.source)


class Texts:
    """All texts that are open, cells of notebooks among them, by address."""

    def __init__(self) -> None:
        self._texts: dict[str, Text] = {}

    def __getitem__(self, uri: str) -> Text:
        return self._texts[uri]

    def __contains__(self, uri: str) -> bool:
        return uri in self._texts

    def versions(self) -> dict[str, int | None]:
        """Return the editor's numbers of all texts."""
        return {uri: text.version for uri, text in self._texts.items()}

    def open(self, item: lsp.TextDocumentItem) -> None:
        """Take a text that was opened."""
        self._texts[item.uri] = Text(item.text, item.version, getattr(item.language_id, "value", item.language_id))

    def close(self, uri: str) -> None:
        """Forget a text."""
        self._texts.pop(uri, None)

    def change(
        self,
        identifier: lsp.VersionedTextDocumentIdentifier,
        changes: Iterable[lsp.TextDocumentContentChangeEvent],
        encoding: str,
    ) -> None:
        """Make the changes of an editor, one after the other."""
        text = self._texts[identifier.uri]
        text.version = identifier.version
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = text.offset(change.range.start, encoding)
                end = text.offset(change.range.end, encoding)
                text.source = text.source[:start] + change.text + text.source[end:]
            else:
                text.source = change.text
