"""Patterns that are compiled when they are first asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re

import codemods.nnx
from codemods.nnx.patterns import Later, pattern


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
    for module in pkgutil.walk_packages(codemods.nnx.__path__, "codemods.nnx."):
        for value in vars(importlib.import_module(module.name)).values():
            for one in value.values() if isinstance(value, dict) else (value,):
                if isinstance(one, Later):
                    re.compile(one.text, one.flags)
                    seen += 1
    assert seen > 200
