"""The index of all rules, codemods/nnx/rule_index.py: what a run has to know of each before its module is imported.

A rule of which the index says what words a text must have is not even imported for texts without them. That is not
written by hand but found out: a rule's check is run on a text of which it may only ask for words, and is told that it
has none. What it asked for before it gave up is what must be there for it to find anything. Of a check that asks for
something else, such as the nodes of the text, nothing is known.

python docs/generate.py
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import codemods.nnx
from codemods.nnx.listed import Listed
from codemods.nnx.options import VERSIONS, Options
from codemods.nnx.patterns import needed
from codemods.nnx.rule import Rule

parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
PLACE = Path(__file__).parent.parent / "codemods" / "nnx" / "rule_index.py"
_HEAD = '''"""What is known of each rule before its module is imported; made by docs/rule_index.py, not by hand."""

# ruff: noqa: E501
from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.rule import Kind

#: Code, name, summary, kind, safety, since, default, always, severity, module, and names and parts of names of which
#: a text has at least one; None if a text without them may have findings too.
ENTRIES = (
'''
# the versions of runs under which a check is tried
_RUNS: list[tuple[str, tuple[str, ...]]] = [
    *((origin, (target,)) for origin in VERSIONS for target in VERSIONS if target >= origin),
    (VERSIONS[0], VERSIONS[1:]),
]


class Unknown(Exception):
    """A check asked for something else than words."""


def text() -> str:
    """Return the text of the index."""
    rows = [_row(*found) for found in sorted(_rules(), key=lambda found: found[1].code)]
    return _HEAD + "".join(f"    {row},\n" for row in rows) + ")  # fmt: skip\n"


def _row(module: str, rule: Rule) -> str:
    words = words_of(rule)
    names, parts = (tuple(sorted(one)) for one in words) if words is not None else (None, None)
    safety = f"Safety.{rule.safety.name}" if rule.safety is not None else "None"
    return (
        f"({rule.code!r}, {rule.name!r}, {rule.summary!r}, Kind.{rule.kind.name}, {safety}, {rule.since!r}, "
        f"{rule.default}, {rule.always}, {rule.severity!r}, {module!r}, {names}, {parts})"
    )


def _rules() -> Iterator[tuple[str, Rule]]:
    """Yield all rules of the package, each with its module's name."""
    prefix = f"{codemods.nnx.__name__}."
    seen: set[str] = set()
    for found in pkgutil.walk_packages(codemods.nnx.__path__, prefix):
        module = importlib.import_module(found.name)
        for rule in (getattr(module, "RULE", None), *getattr(module, "RULES", ())):
            if isinstance(rule, Rule) and not isinstance(rule, Listed) and rule.code not in seen:
                seen.add(rule.code)
                yield found.name.removeprefix(prefix), rule


def words_of(rule: Rule) -> tuple[set[bytes], set[bytes]] | None:
    """Return names and parts of names, all in lower case, of which a text must have one for a rule to speak.

    Returns:
        the names and the parts; None if nothing is known, or a rule speaks whatever the text has.
    """
    names: set[bytes] = set()
    parts: set[bytes] = set()
    for origin, targets in _RUNS:
        for lint in (True, False):
            context = _Context(Options(origin=origin, targets=targets, lint=lint), names, parts)
            try:
                if list(rule.check(context)):  # type: ignore[arg-type]
                    return None
            except (Unknown, TypeError):  # TypeError: a pattern of its own that looks at the text
                return None
    return names, parts


class _Nothing:
    """Something of which only a few things may be asked."""

    def __getattr__(self, name: str) -> Any:
        raise Unknown(name)


class _Data(_Nothing):
    """A text that has none of the bytes that are looked for."""

    def __init__(self, parts: set[bytes]) -> None:
        self._parts = parts

    def __contains__(self, word: bytes) -> bool:
        self._parts.add(word.lower())
        return False


class _Source(_Nothing):
    path = file_name = "a.py"

    def __init__(self, parts: set[bytes]) -> None:
        self._parts = parts
        self.data = _Data(parts)

    def mentions(self, word: bytes) -> bool:
        return word in self.data

    def matches(self, words: re.Pattern[bytes]) -> bool:
        some = needed(words) or literals(words)
        if not some:
            raise Unknown("pattern")
        self._parts.update(word.lower() for word in some)
        return False


class _Module(_Nothing):
    def __init__(self, source: _Source) -> None:
        self.source = source


class _Modules(_Nothing):
    def __init__(self, module: _Module) -> None:
        self.modules = [module]

    def __contains__(self, module: object) -> bool:
        return True


class _Bodies(_Nothing):
    def __init__(self, names: set[bytes]) -> None:
        self._names = names

    def named(self, *words: str) -> Iterator[Any]:
        self._names.update(word.lower().encode() for word in words)
        return iter(())


class _Context(_Nothing):
    def __init__(self, options: Options, names: set[bytes], parts: set[bytes]) -> None:
        self.options, self.origin = options, options.origin
        self.project = self.asked = _Modules(_Module(_Source(parts)))
        self.bodies = _Bodies(names)

    def shared(self, analysis: Callable[[Any], Any]) -> Any:
        return analysis(self)


def literals(words: re.Pattern[bytes]) -> frozenset[bytes]:
    """Return texts of which whatever a pattern matches has one; none if there are no such texts of two letters."""
    found = _sequence(parser.parse(words.pattern, words.flags & ~re.LOCALE))
    return frozenset(one.encode("latin-1") for one in found or ())


def _sequence(items: Any) -> frozenset[str] | None:
    best: frozenset[str] | None = None
    run = ""
    for kind, value in [*items, (None, None)]:
        if kind is parser.LITERAL:
            run += chr(value)
            continue
        some: list[frozenset[str] | None] = [frozenset((run,)) if len(run) > 1 else None]
        run = ""
        if kind is parser.SUBPATTERN:
            some.append(_sequence(value[3]))
        elif kind is parser.BRANCH:
            ways = [_sequence(way) for way in value[1]]
            some.append(frozenset().union(*(w for w in ways if w)) if all(ways) else None)
        elif kind in (parser.MAX_REPEAT, parser.MIN_REPEAT) and value[0] > 0:
            some.append(_sequence(value[2]))
        for one in some:
            if one and (best is None or min(map(len, one)) > min(map(len, best))):
                best = one
    return best
