"""Which objects hold layers whose streams have other paths since Flax 0.11."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound, Frame
from codemods.nnx.rng.layers import CELLS, inherited
from codemods.nnx.rng.layouts import Layouts, Shape, Shapes
from codemods.nnx.values import Call, Param


class Forks(Layouts):
    """Layouts of the streams that layers of Flax keep; a Rngs that a module stores itself does not count."""

    def held(self, bound: Bound) -> bool:
        """Say whether an object holds a layer whose stream moved, or a cell that no longer keeps one."""
        return Shape.SCALAR in self.of(bound)

    def _together(self, ways: Iterable[Shapes]) -> Shapes:
        """One such layer is enough: nothing is asked once it is found."""
        return next((shapes for shapes in ways if Shape.SCALAR in shapes), frozenset())

    def _settle(self, bound: Bound, found: Shapes) -> None:
        super()._settle(bound, found)
        if not found:  # then nothing that it is made of holds one either
            self._known.update((inner, shapes) for (inner, assumed), shapes in self._asked.items() if not assumed)

    def _made(self, source: Bound, value: Call) -> Shapes:
        if self.flow.calls.callee_name(source) in CELLS:
            return frozenset({Shape.SCALAR})
        return super()._made(source, value)

    def _forked(self, stream: str | None, rngs: Bound | None, frame: Frame | None) -> Shapes:
        return frozenset({Shape.SCALAR})

    def _foreign(self, source: Bound, value: Call, name: str) -> Shapes:
        if name in {"flax.nnx.Rngs", "flax.nnx.RngStream"}:
            return frozenset()
        return super()._foreign(source, value, name) - {Shape.UNKNOWN}

    def _bases(self, cls: ClassFacts, frame: Frame | None) -> Shapes:
        if inherited(self.flow, cls) is not None or self.flow.classes.mro(cls)[1] & CELLS:
            return frozenset({Shape.SCALAR})
        return frozenset()

    def rngs_like(self, param: Param) -> bool:
        """A parameter that is a Rngs holds no layer."""
        return False
