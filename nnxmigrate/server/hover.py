"""What a rule says, as Markdown for editors."""

from __future__ import annotations

import functools
import re

from codemods.nnx.rule import Kind, Rule
from nnxmigrate.links import rule_url
from nnxmigrate.rules import all_rules

_CODE = re.compile(r"\b[A-Z]{2,8}\d{3}\b")
_WORDS = {
    Kind.REQUIRED: "the code breaks, or gives another result, on the target",
    Kind.SUGGESTED: "the code works on the target, but is deprecated",
    Kind.LINT: "a mistake on every version",
}


@functools.cache
def known() -> dict[str, Rule]:
    """Return all rules by their codes."""
    return {rule.code: rule for rule in all_rules()}


def explained(code: str) -> str:
    """Return what a rule says; empty if there is none of that code."""
    rule = known().get(code)
    if rule is None:
        return ""
    fix = "reports only" if rule.safety is None else f"{rule.safety.value} fix"
    since = "" if rule.kind is Kind.LINT else f", since Flax {rule.since}"
    url = rule_url(code)
    link = f"\n\n[More about {code}]({url})" if url else ""
    return f"**{code} {rule.name}**: {rule.summary}\n\n{rule.why.strip()}\n\n*{_WORDS[rule.kind]}{since}; {fix}*{link}"


def code_at(line: str, column: int) -> str:
    """Return the rule that a comment in a line names at a column; empty if it names none."""
    comment = line.find("# nnx:")
    for match in _CODE.finditer(line, max(comment, 0)):
        if 0 <= comment < match.start() <= column <= match.end():
            return match.group()
    return ""
