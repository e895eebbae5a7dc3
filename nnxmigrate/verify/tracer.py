"""Runs a program and notes which of its functions are entered, and how much it had printed by then.

This file is copied beside the program and run by its interpreter, of any version that Flax supports: it imports nothing
of nnxmigrate. It makes the program repeatable as well: it seeds ``random`` and ``numpy.random``.

Usage: ``python tracer.py NOTES ROOT SEED (script.py | -m module) ARGUMENTS...``
"""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
from types import CodeType, FrameType
from typing import Any


class Notes:
    """What is noted of a program.

    Args:
        file: where the notes go, one JSON line each: file, line, name, lines printed before, test.
        root: the folder of the program's own code.
    """

    def __init__(self, file: str, root: str) -> None:
        self._file = open(file, "w", encoding="utf-8")  # noqa: SIM115 - closed when the program ends
        self._root = os.path.realpath(root) + os.sep
        self._own: dict[str, str] = {}
        self._seen: set[tuple[CodeType, str]] = set()
        self.printed = 0

    def own(self, path: str) -> str:
        """Return the name of a file below the root; empty for a file from elsewhere."""
        name = self._own.get(path)
        if name is None:
            real = os.path.realpath(path)
            name = self._own[path] = real[len(self._root) :] if real.startswith(self._root) else ""
        return name

    def entered(self, code: CodeType) -> bool:
        """Note that a function is entered, the first time and in a test the first time in this test.

        Returns:
            Whether the function is one of the program's own.
        """
        path = self.own(code.co_filename)
        if not path:
            return False
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" (")[0]
        if (code, test) not in self._seen:
            self._seen.add((code, test))
            name = getattr(code, "co_qualname", code.co_name)
            self._file.write(json.dumps([path, code.co_firstlineno, name, self.printed, test]) + "\n")
            self._file.flush()
        return True


def watch(notes: Notes) -> None:
    """Note every function that is entered from now on."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is not None:  # from Python 3.12 on: costs nothing once a function was seen

        def started(code: CodeType, offset: int) -> Any:
            again = notes.entered(code) and "PYTEST_CURRENT_TEST" in os.environ
            return None if again else monitoring.DISABLE

        tool = monitoring.PROFILER_ID
        monitoring.use_tool_id(tool, "nnxmigrate")
        monitoring.register_callback(tool, monitoring.events.PY_START, started)
        monitoring.set_events(tool, monitoring.events.PY_START)
        return

    def called(frame: FrameType, event: str, argument: object) -> None:
        notes.entered(frame.f_code)

    import threading

    threading.settrace(called)
    sys.settrace(called)


def count_lines(notes: Notes) -> None:
    """Count the lines that are printed from now on."""
    out: Any = sys.stdout
    write = out.write

    def counted(text: str) -> Any:
        notes.printed += text.count("\n")
        return write(text)

    out.write = counted


def main() -> None:
    """Run the program named on the command line."""
    file, root, seed = sys.argv[1:4]
    sys.argv = sys.argv[4:]
    sys.path[0] = os.getcwd() if sys.argv[0] == "-m" else os.path.dirname(os.path.abspath(sys.argv[0]))
    random.seed(int(seed))
    try:
        import numpy
    except ImportError:
        pass
    else:
        numpy.random.seed(int(seed))
    notes = Notes(file, root)
    count_lines(notes)
    watch(notes)
    if sys.argv[0] == "-m":
        module, sys.argv = sys.argv[1], sys.argv[1:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
