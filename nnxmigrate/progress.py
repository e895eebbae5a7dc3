"""What is being done, shown on a terminal once it takes longer than a moment."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import IO

#: Seconds after which something is shown.
PATIENCE = 1.0

_current: Progress | None = None


class Progress:
    """Shows on a terminal what is being done; elsewhere, and in the first second, nothing.

    Args:
        stream: where it is shown, if that is a terminal.
        patience: seconds before it is shown.
    """

    def __init__(self, stream: IO[str] | None = None, patience: float = PATIENCE) -> None:
        self._stream = stream or sys.stderr
        self._patience = patience
        self._what = ""
        self._part = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, what: str) -> None:
        """Say what is being done now."""
        self._what = what

    def begin(self, what: str) -> None:
        """Say what all that is told by the analysis is a part of."""
        from codemods.nnx import analyse

        analyse.listener = self._analysing
        self._part = what

    def _analysing(self, what: str) -> None:
        """Say what the analysis is doing."""
        self.tell(f"{self._part}: {what}")

    def __enter__(self) -> Progress:
        """Begin."""
        global _current
        if self._stream.isatty():
            _current = self
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and leave nothing on the terminal."""
        global _current
        if _current is self:
            _current = None
            if self._part:
                from codemods.nnx import analyse

                analyse.listener = None
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._done.wait(self._patience):
            return
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:  # rich comes with an extra: do without
            self._stream.write(f"{self._what} ...\n")
            self._done.wait()
            return
        console = Console(file=self._stream)
        with console.status("") as status:
            while not self._done.wait(0.1):
                status.update(Text(self._what, overflow="ellipsis", no_wrap=True))


def tell(what: str) -> None:
    """Say what is being done now, if somebody watches."""
    if _current is not None:
        _current.tell(what)


def begin(what: str) -> None:
    """Say what the next work of the analysis is a part of, if somebody watches."""
    if _current is not None:
        _current.begin(what)
        _current.tell(what)
