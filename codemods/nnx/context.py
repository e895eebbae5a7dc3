"""What the rules of one run share: the project, its value flow and whatever families analyse once for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from codemods.nnx.facts import ClassFacts
from codemods.nnx.flow import Flow
from codemods.nnx.kinds import Kinds
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.lint.records import Records
from codemods.nnx.lint.taint import Taint
from codemods.nnx.lint.traced import Traced
from codemods.nnx.options import Options
from codemods.nnx.project import Modules, Project
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Free, Param, Value

_T = TypeVar("_T")


class Context:
    """One analysis of one project.

    Attributes:
        project: all modules. Questions are about all of them.
        asked: the modules whose findings are wanted. Rules look for places to speak about in these alone.
        options: what is looked for; rules that always hold see code as if it came from the oldest version.
        origin: the version that the code was written for.
    """

    def __init__(self, project: Project, options: Options, asked: Modules | None = None) -> None:
        self.project = project
        self.asked = project if asked is None else asked
        self.options = options
        self.origin = options.origin
        self.flow = Flow(project)
        self.sources = Sources(self.flow)
        self.kinds = Kinds(self.flow, self.sources)
        self._shared: dict[Callable[[Context], Any], Any] = {}
        self._distrust()

    def shared(self, analysis: Callable[[Context], _T]) -> _T:
        """Return what an analysis of the whole project comes to, which is done when it is first asked for.

        So rules share what their family has to find out, and this module need not know the families.

        Args:
            analysis: the analysis; the same function each time.
        """
        if analysis not in self._shared:
            self._shared[analysis] = analysis(self)
        found: _T = self._shared[analysis]
        return found

    def _distrust(self) -> None:
        """Find the containers that are changed under another name than they were made, before any rule asks."""
        changed = [(container, scope) for module in self.project.modules for container, scope in module.mutated]
        # methods that change the same attribute of their own instance change the same containers
        distinct = {_attribute_of_self(place[0]) or place: place for place in changed}
        held = [one.value for place in distinct.values() for one in self.sources.of(self.flow.here(*place))]
        containers = {container for container, _ in changed}
        self.flow.identity.distrust({one for one in (*containers, *held) if not isinstance(one, Param | Free)})

    @cached_property
    def bodies(self) -> Bodies:
        """Indexes over nodes and calls that the lint rules share."""
        return Bodies(self.project)

    @cached_property
    def traced(self) -> Traced:
        """Which functions run on tracers."""
        return Traced(self.flow, self.sources, self.bodies)

    @cached_property
    def taint(self) -> Taint:
        """Which values are traced arrays."""
        return Taint(self.flow, self.kinds, self.traced, self.bodies, Records(self.flow, self.sources))


def _attribute_of_self(value: Value) -> tuple[ClassFacts, str] | None:
    """Return the class and the name of an attribute of the instance whose method reads it."""
    if not isinstance(value, Attr) or not isinstance(value.base, Param):
        return None
    function = value.base.function
    return (function.owner, value.name) if function.owner and value.base is function.self_param else None
