"""All rules: those of the analysis and the program's own."""

from __future__ import annotations

from functools import cache

from codemods.nnx.analyse import chosen
from codemods.nnx.catalogue import RULES, every_rule
from codemods.nnx.options import Options
from codemods.nnx.rule import SEVERITIES, Kind, Rule
from nnxmigrate import own_rules

#: Reported by the program after all rules have run, because only then it is known.
UNUSED = Rule(
    code="NNX001",
    name="unused-suppression",
    summary="A suppression comment suppresses nothing",
    why="A `# nnx: ignore` comment that no finding needs may hide the next real one. `nnxmigrate lint` reports those "
    "whose codes it looked for in vain, and codes that do not exist.",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source="A custom of linters",
    examples=(),
    check=lambda context: iter(()),
)


#: The rules that come with the program.
BUILT_IN = (UNUSED, *RULES)


def all_rules() -> tuple[Rule, ...]:
    """Return every rule in order of the codes; those of users' own last."""
    own_rules.load()
    return (UNUSED, *every_rule())


def known(prefix: str) -> bool:
    """Say whether there is a rule of that code or family."""
    return any(rule.code.startswith(prefix) for rule in all_rules())


def code_of(written: str) -> str:
    """Return the code or family that a code, the name of a rule or `ALL` stands for; the word itself if none does."""
    if written.upper() == "ALL":
        return ""  # the family of every code, those of rules of users' own too
    return next((rule.code for rule in all_rules() if rule.name == written.lower()), written.upper())


def looked_for(prefix: str, options: Options) -> bool:
    """Say whether a run looks for a code, or for all codes of a family."""
    rules = [rule for rule in all_rules() if rule.code.startswith(prefix)]
    active = {rule.code for rule in chosen(options)}
    return bool(rules) and all(rule.code in active for rule in rules)


def severity(code: str) -> str:
    """Return how bad what a rule finds is, one of :data:`SEVERITIES`; ``warning`` for a code that is unknown."""
    return _severities().get(code, "warning")


def at_least(code: str, threshold: str) -> bool:
    """Say whether a rule's findings are as bad as a severity, or worse."""
    return SEVERITIES.index(severity(code)) >= SEVERITIES.index(threshold)


@cache
def _severities() -> dict[str, str]:
    return {rule.code: rule.level for rule in all_rules()}
