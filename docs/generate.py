"""Write the pages that are made from the rules: docs/changes.md and docs/confidence.md, and in docs/rules one per rule
and their index.

python docs/generate.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from codemods.nnx.findings import Safety
from codemods.nnx.rule import MISTAKES, Example, Kind, Rule
from codemods.nnx.unavoidable import CHANGES, Change
from docs import rule_index
from docs.confidence import HINTS, Verdict, confidence, table, verdicts
from nnxmigrate.rules import BUILT_IN

FOLDER = Path(__file__).parent

_FAMILIES = {
    1: "Optimizer",
    2: "Random streams and the layers that hold them",
    3: "Modules as pytrees, and transforms",
    4: "State and Variables",
    5: "Names, metadata and messages",
    6: "From 0.11 to 0.12",
    7: "Checkpoints",
}

_KINDS = {
    Kind.REQUIRED: "required: the code breaks, or gives another result, on the target",
    Kind.SUGGESTED: "suggested: the code works on the target, but is deprecated",
    Kind.LINT: "lint: a mistake on every version",
}


def pages() -> dict[str, str]:
    """Return the text of every page by its path below docs."""
    rules = BUILT_IN
    read, hints = verdicts(), verdicts(HINTS)
    of_rules = {f"rules/{rule.code}.md": page(rule, hints if rule.level == "hint" else read) for rule in rules}
    others = {"rules/index.md": index(rules), "changes.md": changes(rules), "confidence.md": table(read, hints)}
    return of_rules | others


def changes(rules: tuple[Rule, ...]) -> str:
    """Return the table of all changes between the Flax versions, and how each is dealt with."""
    parts = [
        "# What changes, and what is done about it",
        "The changes of Flax NNX from 0.10 to 0.11 and 0.12, found by running programs on those versions. "
        "*Fixed* means that the code is rewritten where its value flow proves the rewrite right, and reported "
        "elsewhere; *with --unsafe-fixes* that the rewrite is probably right and must be asked for; *reported* that "
        "only the author can decide. *Unavoidable* changes cannot be seen in a program's text, or need nothing done.",
    ]
    for number, title in _FAMILIES.items():
        parts += [f"## {title}", _table([r for r in rules if r.kind is not Kind.LINT and _family(r) == number])]
        rest = [change for change in CHANGES if change.family == number]
        if rest:
            parts += ["### Unavoidable", _rest(rest)]
    return "\n\n".join(parts) + "\n"


def _family(rule: Rule) -> int:
    return int(rule.code[len("NNX")])


def _table(rules: list[Rule]) -> str:
    lines = ["| change | since | what is done | rule |", "| --- | --- | --- | --- |"]
    lines += [f"| {_cell(r.summary)} | {r.since} | {_done(r)} | [{r.code}](rules/{r.code}.md) |" for r in rules]
    return "\n".join(lines)


def _done(rule: Rule) -> str:
    done = {None: "reported", Safety.SAFE: "fixed", Safety.UNSAFE: "with --unsafe-fixes"}[rule.safety]
    return done if rule.default else f"{done} with --select {rule.code}"


def _rest(rest: list[Change]) -> str:
    lines = ["| change | since | why no rule reports it | what you can do |", "| --- | --- | --- | --- |"]
    lines += [f"| {_cell(c.what)} | {c.since} | {_cell(c.reason)} | {_cell(c.advice)} |" for c in rest]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def index(rules: tuple[Rule, ...]) -> str:
    """Return the list of all rules."""
    lines = ["# Rules", "", "| code | name | what it finds | fix |", "| --- | --- | --- | --- |"]
    lines += [f"| [{r.code}]({r.code}.md) | {r.name} | {_cell(r.summary)} | {_fix(r)} |" for r in rules]
    return "\n".join(lines) + "\n"


def _sentence(summary: str) -> str:
    """Return a summary with a full stop, and with a capital if it begins with a word and not with a name."""
    first = summary.partition(" ")[0]
    words = f"{summary[:1].upper()}{summary[1:]}" if first.replace("-", "").isalpha() and first != "nnx" else summary
    return f"{words}.".replace("..", ".")


def page(rule: Rule, read: list[Verdict]) -> str:
    """Return the page of a rule: what, why, bad, good, safety, versions and source."""
    since = "all versions of Flax" if rule.kind is Kind.LINT else f"Flax {rule.since}"
    default = "" if rule.default else "; runs only if it is selected"
    parts = [
        f"# {rule.code} {rule.name}",
        _sentence(rule.summary),
        f"- Kind: {_KINDS[rule.kind]}{default}\n- Fix: {_fix(rule)}\n- Since: {since}{_confidence(rule, read)}",
        "## Why",
        rule.why.strip(),
        *_examples(rule.examples),
        "## Source",
        rule.source,
    ]
    return "\n\n".join(parts) + "\n"


def _confidence(rule: Rule, read: list[Verdict]) -> str:
    """Return what public projects say of a lint rule."""
    asked = rule.code.startswith(MISTAKES) or (rule.level == "hint" and rule.default)
    return f"\n- Confidence: {confidence(read, rule.code)}" if asked else ""


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
    """Write all pages, and remove those of rules that are gone, after the index of the rules."""
    index = rule_index.text()
    if index != rule_index.PLACE.read_text(encoding="utf-8"):
        rule_index.PLACE.write_text(index, encoding="utf-8")
        subprocess.run([sys.executable, __file__], check=True)  # which reads it anew
        return
    (FOLDER / "rules").mkdir(exist_ok=True)
    wanted = pages()
    for old in (FOLDER / "rules").glob("*.md"):
        if f"rules/{old.name}" not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
