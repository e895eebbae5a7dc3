"""Patterns that are compiled when they are first asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import codemods.nnx
from codemods.nnx.patterns import Later, needed, pattern
from codemods.nnx.source import Source


def _everything() -> Iterator[Any]:
    for module in pkgutil.walk_packages(codemods.nnx.__path__, "codemods.nnx."):
        for value in vars(importlib.import_module(module.name)).values():
            for one in value.values() if isinstance(value, dict) else (value,):
                if isinstance(one, Later):
                    yield one


def test_it_is_one() -> None:
    later = pattern(r"(a+)b", re.I)
    assert "search" not in vars(later)
    found = later.search("xAAb")
    assert found is not None
    assert found[1] == "AA"
    assert later.fullmatch("ab")
    assert later.sub("-", "aab c") == "- c"
    assert pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]
    assert later.pattern == "(a+)b"
    assert not hasattr(later, "nothing")


def test_all_are_right() -> None:
    """Every pattern of the rules can be compiled, which nobody would see before some code is looked at."""
    seen = 0
    for one in _everything():
        re.compile(one.text, one.flags)
        seen += 1
    assert seen > 200


def test_words_that_a_pattern_needs_change_no_answer() -> None:
    """The rules' own files, and their capitals, have whatever a pattern looks for."""
    found = {value for value in _everything() if needed(value)}
    assert len(found) > 5
    texts = [path.read_bytes() for path in Path(codemods.nnx.__path__[0]).rglob("*.py")]
    sources = [Source("a.py", data) for text in texts for data in (text, text.upper(), *text.splitlines())]
    for words in found:
        told = {id(source) for source in sources if source.matches(words)}
        other = [one.data for one in sources if (id(one) in told) is not (words.search(one.data) is not None)]
        assert other[:3] == []  # a comparison of all would take minutes to show
        assert 0 < len(told) < len(sources)
