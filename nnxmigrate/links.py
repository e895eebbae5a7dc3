"""Where the documentation is: the one place that knows its address."""

from __future__ import annotations

#: The documentation site; ``pyproject.toml`` says the same.
SITE = "https://nnxmigrate.readthedocs.io/en/latest/"


def rule_url(code: str) -> str:
    """Return the address of a rule's page; empty for rules of users' own, whose pages are theirs."""
    return f"{SITE}rules/{code}.html" if code.startswith("NNX") else ""
