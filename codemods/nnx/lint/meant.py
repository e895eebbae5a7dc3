"""What comments say of random numbers that are the same on purpose."""

from __future__ import annotations

import ast
import re

from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source

_SUBJECT = (
    r"(?:(?:sub|prng|rng)?[- ]?keys?|seeds?|p?rngs?|noises?|random(?:ness)?|random numbers|splits?|draws?|shuffl\w+|"
    r"permutations?)\b"
)
_WORDS = r"(?:\s+(?:the|a|an|this|that|its|our|all|of|in|random|prng|jax|initial|very|exact|fixed|master|global))*"
_SAME = rf"\b(?:same|identical|consistent(?:ly)?|reproduc\w+){_WORDS}\s+{_SUBJECT}"
_BACK = (
    rf"\b{_SUBJECT}(?:\s+(?:is|are|be|being|was|stays?|kept|for|the|to|will))*"
    r"\s+(?:same|identical|reproduc\w+)\b"
)
_PURPOSE = r"\b(?:on purpose|purposely|intentional(?:ly)?|deliberate(?:ly)?|by design|intended)\b"
_ABOUT = rf"\b(?:same|identical|re-?us\w+|{_SUBJECT})"
_EVEN_SO = pattern(r"(?:n'?t|\bnot|\bno)\s+(?:really\s+)?(?:matter|influence|affect|effect|impact|harm)")
_SAID = pattern(rf"{_SAME}|{_BACK}|{_PURPOSE}.*{_ABOUT}|{_ABOUT}.*{_PURPOSE}|\bcommon random numbers\b")
_FIXED = pattern(rf"(?:use |with )?(?:a |the )?(?:fixed|constant)\s+{_SUBJECT}(?:\s+for\b.*)?[.!]*")
_OF_KEYS = pattern(rf"\b{_SUBJECT}")
_AGAINST = pattern(
    r"n't\b|\b(?:not|never|no|avoid\w*|prevent\w*|without|todo|fixme|xxx|hack|bugs?|twice|careless\w*|wrong|mistake|different|distinct|"
    r"independent|new|fresh|instead|unless|otherwise|(?:lead|give|result|produce|cause|mean)s?)\b"
)
# "we do not split the key here, because we want to keep the exact same run"
_UNSPLIT = pattern(
    r"(?:\bnot|n't|\bwithout|\bno)\s+(?:re-?)?split\w*\b[^.;]*\b(?:want|keep|so that|ensure|get|have|compar\w+)\b[^.;]*"
    r"\b(?:same|identical|equal)\b"
)
_FAULT = pattern(r"\b(?:todo|fixme|xxx|hack|bugs?|wrong|mistake|problem|warning|otherwise|unless)\b")
_ALONE = pattern(rf"\s*(?:(?:use|keep|share|with)\s+)?{_SAME}(?:\s+(?:on purpose|here|for both))?[\s.;!]*")
_COMMENT = pattern(r"(?:^|\s)#+:?\s*(.*)$")
_SENTENCE = pattern(r"(?<=[.;!?])\s+")
_LIKE = pattern(rf"{_SAME}[^.]*?\bas\b")  # a general remark names nothing else that is the same


def same_said(scope: Scope, statement: ast.stmt | ast.expr) -> bool:
    """Say whether a comment beside a statement, or right above it, speaks of the same key or numbers as meant.

    Args:
        scope: the body of the statement.
        statement: what uses a key, or makes it.
    """
    return any(map(says_same, comments_at(scope.module.source, statement)))


def comments_at(source: Source, statement: ast.stmt | ast.expr) -> tuple[str, str]:
    """Return the comments beside a statement, and those in the lines right above it.

    Args:
        source: the source of the statement.
        statement: the statement; of one with a block, its first line counts.
    """
    last = statement.end_lineno or statement.lineno
    if isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.Try | ast.FunctionDef):
        last = statement.lineno
    beside = " ".join(_comment(source.line(number)) for number in range(statement.lineno, last + 1))
    above: list[str] = []
    number = statement.lineno - 1
    while number > 0 and source.line(number).lstrip().startswith("#"):
        above.append(_comment(source.line(number)))
        number -= 1
    return beside, " ".join(reversed(above))


def says_same(text: str) -> bool:
    """Say whether a comment tells that a key or its numbers are the same on purpose, or that it does not matter."""
    text = text.lower()
    if (_EVEN_SO.search(text) and _OF_KEYS.search(text)) or _FIXED.fullmatch(text.strip()):
        return True
    if any(_ALONE.fullmatch(sentence) for sentence in _SENTENCE.split(text)):
        return True  # whatever is said behind it
    if _UNSPLIT.search(text) and not _FAULT.search(text):
        return True
    return bool(_SAID.search(text)) and not _AGAINST.search(text)


def documented_same(function: FunctionFacts) -> bool:
    """Say whether the docstring of a function tells that it uses the same key as another one."""
    node = function.node
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    if not text:
        return False
    sentences = _SENTENCE.split(re.sub(r"[*`\s]+", " ", text.lower()))
    return any(_LIKE.search(one) and not _AGAINST.search(one) for one in sentences)


def _comment(line: str) -> str:
    found = _COMMENT.search(line)
    return found[1] if found else ""
