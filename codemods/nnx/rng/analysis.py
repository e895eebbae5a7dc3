"""What the rules about random streams share in one run."""

from __future__ import annotations

from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.project import Modules
from codemods.nnx.rng.forks import Forks
from codemods.nnx.rng.layouts import Layouts
from codemods.nnx.rng.origins import RNGS, Origin, Origins
from codemods.nnx.rng.reached import Reached
from codemods.nnx.rng.splits import Split, Splits


def rng_analysis(context: Context) -> RngAnalysis:
    """Return where random streams are made, split and kept; rules share one analysis."""
    return context.shared(_of_project)


def _of_project(context: Context) -> RngAnalysis:
    return RngAnalysis(context)


class RngAnalysis:
    """The streams of one project."""

    def __init__(self, context: Context) -> None:
        self.layouts = Layouts(context.flow, context.sources)
        self.reached = Reached(context)
        self._flow = context.flow
        self._sources = context.sources

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """Every use of ``nnx.split_rngs`` that may split streams twice."""
        return tuple(Splits(self._flow, self.layouts).all())

    @cached_property
    def origins(self) -> Origins:
        """The calls of ``nnx.Rngs`` with the layers that fork their streams."""
        return Origins(self._flow, self._sources, self.layouts, self.reached)

    def made_in(self, modules: Modules) -> list[Origin]:
        """Return every call of ``nnx.Rngs`` in some modules; nothing is followed if there is none."""
        rngs, calls = self._flow.may.made_by({"Rngs"}), self._flow.calls
        if not any(rngs.may_make(event.value.callee) and calls.name(event) == RNGS for event in modules.calls()):
            return []
        return [origin for origin in self.origins.made.values() if origin.event.scope.module in modules]

    @cached_property
    def forks(self) -> Forks:
        """Which objects hold layers whose streams moved."""
        return Forks(self._flow, self._sources)
