"""Write one page per rule to docs/rules, and their index, from what the rules say of themselves.

python docs/generate_rules.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codemods.nnx.rule import Example, Kind, Rule
from nnxmigrate.rules import all_rules

FOLDER = Path(__file__).parent / "rules"

_KINDS = {
    Kind.REQUIRED: "required: the code breaks, or gives another result, on the target",
    Kind.SUGGESTED: "suggested: the code works on the target, but is deprecated",
    Kind.LINT: "lint: a mistake on every version",
}


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    rules = all_rules()
    return {f"{rule.code}.md": page(rule) for rule in rules} | {"index.md": index(rules)}


def index(rules: tuple[Rule, ...]) -> str:
    """Return the list of all rules."""
    lines = ["# Rules", "", "| code | name | what it finds | fix |", "| --- | --- | --- | --- |"]
    for rule in rules:
        summary = rule.summary.replace("|", "\\|")
        lines.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {summary} | {_fix(rule)} |")
    return "\n".join(lines) + "\n"


def page(rule: Rule) -> str:
    """Return the page of a rule: what, why, bad, good, safety, versions and source."""
    since = "all versions of Flax" if rule.kind is Kind.LINT else f"Flax {rule.since}"
    default = "" if rule.default else "; runs only if it is selected"
    parts = [
        f"# {rule.code} {rule.name}",
        f"{rule.summary[:1].upper()}{rule.summary[1:]}.".replace("..", "."),
        f"- Kind: {_KINDS[rule.kind]}{default}\n- Fix: {_fix(rule)}\n- Since: {since}",
        "## Why",
        rule.why.strip(),
        *_examples(rule.examples),
        "## Source",
        rule.source,
    ]
    return "\n\n".join(parts) + "\n"


def _fix(rule: Rule) -> str:
    return "none" if rule.safety is None else rule.safety.value


def _examples(examples: tuple[Example, ...]) -> Iterator[str]:
    for title, chosen in (
        ("Bad", [e for e in examples if e.after is None]),
        ("Before and after", [e for e in examples if e.after not in (None, e.before)]),
        ("Good", [e for e in examples if e.after == e.before]),
    ):
        if chosen:
            yield f"## {title}"
        for example in chosen:
            yield _code(example.before)
            if example.after not in (None, example.before):
                yield "becomes"
                yield _code(str(example.after))


def _code(text: str) -> str:
    return f"```python\n{text.strip()}\n```"


def main() -> None:
    """Write all pages, and remove those of rules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
