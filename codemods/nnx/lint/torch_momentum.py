"""NNX726: the momentum of PyTorch's batch normalisation."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const, Ref

_NORMS = frozenset({"flax.nnx.BatchNorm", "flax.linen.BatchNorm"})
_MOST = 0.3  # who wants a short average takes a half


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "BatchNorm", "partial"):
        inner = name
        if name == "functools.partial" and event.value.args:
            taken = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            inner = taken.name if isinstance(taken, Ref) else ""
        value = event.value.keyword("momentum")
        if inner not in _NORMS or value is None or _frozen(context, event, inner):
            continue
        sources = {source.value for source in context.sources.of(context.flow.here(value, event.scope))}
        numbers = [s.value for s in sources if isinstance(s, Const) and type(s.value) is float]
        if numbers and len(numbers) == len(sources) and all(0 < n <= _MOST for n in numbers):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"momentum {numbers[0]} keeps that share of the running statistics and takes the rest from each batch",
                f"PyTorch's {numbers[0]} is momentum={1 - numbers[0]:.3g} here",
            )


_TRAINING = pattern(rb"\.train\(|use_running_average\s*=\s*(?!True\b)")


_PRETRAINED = pattern(rb"\bpre_?trained\b", needs=(b"pretrained", b"pre_trained"))
_UPDATING = pattern(rb"\bmutable\s*=", needs=(b"mutable",))


def _frozen(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether the layer is made for evaluation, and nothing of the project ever trains it: no average is made."""
    if name == "flax.linen.BatchNorm" and event.scope.module.source.matches(_PRETRAINED):
        if not any(module.source.matches(_UPDATING) for module in context.project.modules):
            return True  # nobody lets Linen change the statistics of these weights
    given = event.value.keyword("use_running_average")
    if not isinstance(given, Const) or given.value is not True:
        return False
    return not any(_TRAINING.search(module.source.data) for module in context.project.modules)


RULE = lint_rule(
    "NNX726",
    "torch-momentum",
    "a momentum of BatchNorm as PyTorch counts it",
    why="""\
The momentum of `nn.BatchNorm2d` of PyTorch is the share of the new batch, 0.1; that of `nnx.BatchNorm` is the share
of the old average, 0.99 by default and 0.9 for the same result. With 0.1 the running statistics are hardly more than
those of the last batch, and evaluation is as noisy as that.
""",
    source='Flax guide from PyTorch, "Batch Norm"; measured on Flax 0.10.7 and 0.12.8',
    check=_check,
    bad=(
        """\
from flax import nnx


class Stem(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(8, momentum=0.1, rngs=rngs)
""",
    ),
    clean=(
        """\
from flax import nnx


class Stem(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, momentum: float):
        self.norm = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.other = nnx.BatchNorm(8, momentum=momentum, rngs=rngs)
""",
    ),
)
