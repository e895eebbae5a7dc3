"""Which findings of mistakes are left out, since of their place they say nothing new or nothing that anybody mends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding
from codemods.nnx.lint.on_purpose import on_purpose
from codemods.nnx.lint.places import is_test
from codemods.nnx.lint.unreached import unreached
from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES

_RAISING = frozenset({"NNX810", "NNX820", "NNX821"})  # what a test that runs shows to be wrong


def worth_telling(found: Sequence[Finding], modules: Sequence[ModuleFacts], options: Options) -> list[Finding]:
    """Return findings without those of mistakes that a notebook shows on purpose, that no run reaches, and the like.

    Of what would make a test raise, rules speak if they are selected.

    Args:
        found: the findings of all rules.
        modules: all modules of the run.
        options: what was asked for.
    """
    mistakes = [one for one in found if one.code.startswith(MISTAKES)]
    if not mistakes:
        return list(found)
    by_path = {module.source.path: module for module in modules}
    selected = (*options.select, *options.extend)
    reasons: tuple[Callable[[Finding, ModuleFacts], bool], ...] = (
        lambda one, module: on_purpose(module.source, one),
        lambda one, module: one.code in _RAISING and is_test(module) and not one.code.startswith(selected),
        lambda one, module: any(start <= one.start < end for start, end in module.source.once(unreached)),
    )
    dropped = {
        one
        for one in mistakes
        if (module := by_path.get(one.path)) is not None and any(reason(one, module) for reason in reasons)
    }
    return [one for one in found if one not in dropped]
