"""Making lint rules out of their words, their examples and their check."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, Safety
from codemods.nnx.rule import Example, Kind, Rule


def lint_rule(
    code: str,
    name: str,
    summary: str,
    *,
    why: str,
    source: str,
    check: Callable[[Context], Iterator[Finding]],
    bad: tuple[str, ...] = (),
    mended: tuple[tuple[str, str], ...] = (),
    clean: tuple[str, ...] = (),
    safety: Safety | None = None,
    default: bool = True,
    severity: str = "",
    targets: tuple[str, ...] = ("0.11",),
) -> Rule:
    """Return a rule about a mistake on every version.

    Args:
        code: the rule's code.
        name: its name in kebab-case.
        summary: one line for lists.
        why: what happens, and what to do.
        source: where the rule comes from.
        check: finds the places.
        bad: programs that it reports and does not change.
        mended: programs before and after its fix.
        clean: programs that it leaves alone.
        severity: see :class:`Rule`; by default a warning, of the rules on speed a hint.
        safety: the safety of its fix; None if it only reports.
        default: whether it runs without being selected.
        targets: the versions that its examples are for.
    """
    unsafe = safety is Safety.UNSAFE
    examples = (
        *(Example(before, targets=targets, run=False) for before in bad),
        *(Example(before, after, targets=targets, run=False, unsafe=unsafe) for before, after in mended),
        *(Example(text, text, targets=targets, run=False) for text in clean),
    )
    level = severity or ("hint" if code.startswith(("NNX90", "NNX91")) else "")
    return Rule(code, name, summary, why, Kind.LINT, safety, "0.10", source, examples, check, default, severity=level)
