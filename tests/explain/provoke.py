"""Run under a Flax environment: executes programs given as JSON on stdin and prints what they raise as JSON.

Input: ``{"prelude": str, "programs": [{"code": str, "warnings": bool}, …]}``. Output, the last line: a list that
holds a traceback or null for each program. Only the standard library may be imported at the top.
"""

from __future__ import annotations

import json
import linecache
import sys
import traceback
import warnings


def failure(prelude: str, program: str, strict: bool) -> str | None:
    """Return the traceback of a program, None if it ends well; ``strict`` turns deprecations into errors."""
    linecache.cache["<program>"] = len(program), None, program.splitlines(keepends=True), "<program>"
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(prelude, "<prelude>", "exec"), names)
    with warnings.catch_warnings():
        if strict:
            warnings.simplefilter("error", DeprecationWarning)
        try:
            exec(compile(program, "<program>", "exec"), names)
        except Exception:
            return traceback.format_exc()
    return None


def main() -> None:
    """Read the programs, run each by itself, print what they raised."""
    task = json.load(sys.stdin)
    raised = [failure(task["prelude"], program["code"], program["warnings"]) for program in task["programs"]]
    print(json.dumps(raised))


if __name__ == "__main__":
    main()
