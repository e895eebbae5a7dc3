"""A fake analysis for tests of the program around it.

Its rules look for words: ``old`` becomes ``new``; ``risky`` becomes ``safe``, but only if asked for; ``manual`` is
only reported. ``later`` becomes ``safe`` once there is no ``old``, before that only if asked for. ``shared`` becomes
``common`` in all files at once. ``broken`` becomes no Python, ``endless`` grows for ever, ``outer(old)`` holds two
fixes that overlap, ``raise_`` and ``crash_`` end the analysis.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Analysis, Failure, Finding, Fix, Safety
from codemods.nnx.options import Options
from codemods.nnx.source import Source

_WORDS = {
    b"old": ("NNX101", b"new", Safety.SAFE),
    b"risky": ("NNX102", b"safe", Safety.UNSAFE),
    b"manual": ("NNX103", None, Safety.SAFE),
    b"broken": ("NNX104", b"1 +", Safety.SAFE),
    b"endless": ("NNX104", b"endless + endless", Safety.SAFE),
}

#: What ``shared`` becomes in files where it becomes something else.
COMMON: dict[str, bytes] = {}


def analyse(
    sources: Sequence[Source],
    options: Options,
    asked: Collection[str] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Analysis:
    """Stand in for the real analysis."""
    result = Analysis()
    readable = []
    for source in sources:
        try:
            source.tree  # noqa: B018 - raises on what is no Python
            readable.append(source)
        except SyntaxError as error:
            result.failures.append(Failure(source.path, f"line {error.lineno}: {error.msg}"))
    for source in readable:
        if b"raise_" in source.data:
            raise RuntimeError("a defect")
        if b"crash_" in source.data:
            os._exit(1)
        result.findings += sorted(_words(source), key=lambda finding: finding.start)
    result.findings += _shared(readable)
    result.findings = [found for found in result.findings if asked is None or found.path in asked]
    return result


def _words(source: Source) -> Iterator[Finding]:
    for match in re.finditer(rb"outer\((\w+)\)", source.data):
        outer = Fix(((source.path, Edit(*match.span(), match.group(1) + b"()")),))
        yield Finding("NNX105", source.path, *match.span(), "outer call", fix=outer)
    for match in re.finditer(rb"\blater\b", source.data):
        known = b"old" not in source.data
        edit = Fix(((source.path, Edit(*match.span(), b"safe")),), Safety.SAFE if known else Safety.UNSAFE)
        yield Finding("NNX101" if known else "NNX102", source.path, *match.span(), "the word LATER", fix=edit)
    for match in re.finditer(rb"\b(?:old|risky|manual|broken|endless)\b", source.data):
        code, new, safety = _WORDS[match.group()]
        fix = None if new is None else Fix(((source.path, Edit(*match.span(), new)),), safety)
        yield Finding(
            code, source.path, *match.span(), f"the word {match.group().decode().upper()}", "use another word", fix
        )


def _shared(sources: Sequence[Source]) -> Iterator[Finding]:
    places = [(source, match) for source in sources for match in re.finditer(rb"\bshared\b", source.data)]
    fix = Fix(tuple((source.path, Edit(*match.span(), COMMON.get(source.path, b"common"))) for source, match in places))
    for source, match in places:
        yield Finding("NNX106", source.path, *match.span(), "shared word", fix=fix)
