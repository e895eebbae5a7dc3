"""The commands ``rules`` and ``rule``."""

from __future__ import annotations

import json
from typing import Any

import click

from codemods.nnx.rule import Example, Rule
from nnxmigrate.cli.common import check_code
from nnxmigrate.links import rule_url
from nnxmigrate.rules import all_rules


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything about all rules as JSON.")
def rules(as_json: bool) -> None:
    """List all rules."""
    if as_json:
        click.echo(json.dumps([described(one) for one in all_rules()], indent=2))
        return
    width = max(len(one.name) for one in all_rules())
    for one in all_rules():
        click.echo(f"{one.code}  {one.name:{width}}  {fixes(one):12}  {one.summary}")


@click.command()
@click.argument("code")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def rule(code: str, as_json: bool) -> None:
    """Explain one rule, by its code or its name."""
    wanted = [one for one in all_rules() if code.upper() == one.code or code.lower() == one.name]
    if not wanted:
        check_code(code, _refuse)
        _refuse(f"{code} is a family; name one rule of it, see `nnxmigrate rules`")
    click.echo(json.dumps(described(wanted[0]), indent=2) if as_json else explained(wanted[0]))


def _refuse(message: str) -> None:
    raise click.UsageError(message)


def fixes(one: Rule) -> str:
    """Return in a word or two whether a rule fixes what it finds."""
    if one.safety is None:
        return "reports"
    return "fixes" if one.safety.value == "safe" else "fixes unsafe"


def described(one: Rule) -> dict[str, Any]:
    """Return a rule as JSON values."""
    return {
        "code": one.code,
        "name": one.name,
        "summary": one.summary,
        "why": one.why,
        "kind": one.kind.value,
        "fix": one.safety.value if one.safety else None,
        "since": one.since,
        "source": one.source,
        "default": one.default,
        "examples": [
            {"before": shown.before, "after": shown.after, "targets": shown.targets, "unsafe": shown.unsafe}
            for shown in one.examples
        ],
    }


def _wrapped(paragraph: str) -> str:
    """Return a paragraph in lines for a terminal; lists and code stay as they are."""
    lines = paragraph.splitlines()
    if any(line.startswith((" ", "- ", "|", "```")) for line in lines):
        return paragraph
    return click.wrap_text(" ".join(lines), 100)


def explained(one: Rule) -> str:
    """Return a rule as text for a terminal."""
    lines = [
        f"{one.code} {one.name}: {one.summary}",
        "",
        *(part for paragraph in one.why.strip().split("\n\n") for part in (_wrapped(paragraph), "")),
        f"Kind:   {one.kind.value}, since Flax {one.since}" + ("" if one.default else "; only if selected"),
        f"Fix:    {one.safety.value if one.safety else 'none, reports only'}",
        f"Source: {one.source}",
        *([f"Page:   {rule_url(one.code)}"] if rule_url(one.code) else []),
    ]
    for example in one.examples:
        mark = ", unsafe fix" if example.unsafe else ""
        lines += ["", f"Example (to {', '.join(example.targets)}{mark}):", _shown(example)]
    return "\n".join(lines)


def _shown(example: Example) -> str:
    """Return an example as a diff, or as it is if it does not change."""
    before = example.before.strip("\n").splitlines()
    if example.after is None or example.after == example.before:
        mark = "reported" if example.after is None else "left alone"
        return "\n".join([f"  ({mark})", *(f"    {line}" for line in before)])
    import difflib

    after = example.after.strip("\n").splitlines()
    return "\n".join(f"  {line}" for line in difflib.ndiff(before, after) if not line.startswith("?"))
