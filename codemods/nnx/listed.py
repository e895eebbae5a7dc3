"""Rules whose modules are imported when they are first needed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

from codemods.nnx.findings import Safety
from codemods.nnx.rule import Kind, Rule
from codemods.nnx.source import Source

_LATER = frozenset({"why", "source", "examples", "check"})
_NAMES = re.compile(rb"[a-z_]\w*")
_SMALL = 60_000  # bytes of text up to which it is cheaper to look for words than to import the rules


class Listed(Rule):
    """A rule of which all is known that decides whether it runs; the rest is read from its module.

    Attributes:
        module: the name of its module below this package.
        names: names of which a text has one if the rule may speak of it, in lower case.
        parts: parts of a text of which the same holds; None beside None for a rule that may speak of any.
    """

    def __init__(
        self,
        code: str,
        name: str,
        summary: str,
        kind: Kind,
        safety: Safety | None,
        since: str,
        default: bool,
        always: bool,
        severity: str,
        module: str,
        names: tuple[bytes, ...] | None,
        parts: tuple[bytes, ...] | None,
    ) -> None:
        known = {"code": code, "name": name, "summary": summary, "kind": kind, "safety": safety, "since": since}
        known |= {"default": default, "always": always, "severity": severity}
        self.__dict__.update(known, module=module, names=names, parts=parts)

    def __getattr__(self, name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self.code == other.code

    def __hash__(self) -> int:
        return hash(self.code)

    def loaded(self) -> Rule:
        """Return the rule itself, after an import of its module."""
        module = importlib.import_module(f"{__package__}.{self.__dict__['module']}")
        for rule in (getattr(module, "RULE", None), *getattr(module, "RULES", ())):
            if isinstance(rule, Rule) and not isinstance(rule, Listed) and rule.code == self.code:
                self.__dict__.update({word: getattr(rule, word) for word in _LATER})
                return rule
        raise LookupError(f"{self.code} is not in {module.__name__}: run docs/generate.py")


class Words:
    """The words of the texts of a run, if they are few."""

    def __init__(self, sources: Iterable[Source]) -> None:
        texts = [source.data for source in sources]
        self._text = b"\n".join(texts).lower() if sum(map(len, texts)) <= _SMALL else None
        self._names = frozenset(_NAMES.findall(self._text)) if self._text is not None else frozenset()

    def silence(self, rule: Rule) -> bool:
        """Say whether a rule certainly has nothing to say about the texts."""
        text = self._text
        if text is None or not isinstance(rule, Listed) or rule.names is None or rule.parts is None:
            return False
        return self._names.isdisjoint(rule.names) and not any(part in text for part in rule.parts)
