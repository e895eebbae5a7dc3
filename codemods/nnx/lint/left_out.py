"""Which findings of mistakes are left out, since of their place they say nothing new or nothing that anybody mends."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding
from codemods.nnx.lint.on_purpose import on_purpose
from codemods.nnx.lint.other_worlds import other_worlds
from codemods.nnx.lint.places import is_test
from codemods.nnx.lint.shown_errors import error_shown, only_tried
from codemods.nnx.lint.shown_later import shown_later
from codemods.nnx.lint.tried_out import tried_out
from codemods.nnx.lint.unreached import unreached
from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES, Rule
from codemods.nnx.source import Source

_RAISING = frozenset({"NNX810", "NNX820", "NNX821"})  # what a test that runs shows to be wrong


_LINT = (*MISTAKES, "NNX9")
# what these say of a place, others say better: all others, or those that are named
_BETTER: dict[str, frozenset[str] | None] = {
    "NNX762": None, "NNX832": frozenset({"NNX561"}), "NNX888": frozenset({"NNX870"}),
}  # fmt: skip
_JAX = frozenset({"jax", "flax", "optax", "orbax", "grain"})
_TORCH = (b"torch.nn", b"torch.optim", b"torch.inference_mode", b"torch.no_grad", b".load_state_dict(")


def of_pytorch(source: Source) -> bool:
    """Say whether a file is code of PyTorch, for which a class of NNX that it names stands where one of PyTorch was.

    Args:
        source: the source of the file.
    """
    if not source.mentions(b"torch") or not any(map(source.mentions, _TORCH)):
        return False
    names: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return "torch" in names and not names & _JAX


def worth_telling(
    found: Sequence[Finding], modules: Sequence[ModuleFacts], options: Options, rules: Sequence[Rule] = ()
) -> list[Finding]:
    """Return findings without those of mistakes that a notebook shows on purpose, that no run reaches, and the like.

    Of what would make a test raise, rules speak if they are selected.

    Args:
        found: the findings of all rules.
        modules: all modules of the run.
        options: what was asked for.
        rules: the rules that ran.
    """
    mistakes = [one for one in found if one.code.startswith(_LINT)]
    if not mistakes:
        return list(found)
    by_path = {module.source.path: module for module in modules}
    by_code = {rule.code: rule for rule in rules}
    selected = (*options.select, *options.extend)
    reasons: tuple[Callable[[Finding, ModuleFacts], bool], ...] = (
        lambda one, module: error_shown(module.source, one, by_code.get(one.code)),
        lambda one, module: shown_later(module.source, one, by_code.get(one.code)),
        lambda one, module: one.code in _RAISING and only_tried(module.source, one),
        lambda one, module: one.code in _RAISING and is_test(module) and not one.code.startswith(selected),
        lambda one, module: any(start <= one.start < end for start, end in module.source.once(unreached)),
        lambda one, module: any(start <= one.start < end for start, end in module.source.once(other_worlds)),
    )
    dropped = {
        one
        for one in mistakes
        if (module := by_path.get(one.path)) is not None
        and (
            module.source.once(of_pytorch)
            or on_purpose(module.source, one)
            or tried_out(module.source, one)
            or (one.code in _BETTER and _said(one, found))
            or (one.code.startswith(MISTAKES) and any(reason(one, module) for reason in reasons))
        )
    }
    return [one for one in found if one not in dropped]


def _said(told: Finding, found: Sequence[Finding]) -> bool:
    """Say whether another rule tells of the same place, or of what stands in it."""
    others = _BETTER[told.code]
    return any(
        one.path == told.path and told.start <= one.start and one.end <= told.end
        and one.code != told.code and (others is None or one.code in others)
        for one in found
    )  # fmt: skip
