"""What the rules of one run share: the project, its value flow and the results of whole families."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from codemods.nnx.flow import Flow
from codemods.nnx.kinds import Kinds
from codemods.nnx.options import Options
from codemods.nnx.project import Modules, Project
from codemods.nnx.sources import Sources
from codemods.nnx.values import Free, Param

if TYPE_CHECKING:
    from codemods.nnx.findings import Finding
    from codemods.nnx.lint.bodies import Bodies
    from codemods.nnx.lint.taint import Taint
    from codemods.nnx.lint.traced import Traced
    from codemods.nnx.names.references import Reference
    from codemods.nnx.rng.analysis import RngAnalysis
    from codemods.nnx.state.aliases import Alias
    from codemods.nnx.v012.data_marks import Mark


class Context:
    """One analysis of one project.

    Attributes:
        project: all modules. Questions are about all of them.
        asked: the modules whose findings are wanted. Rules look for places to speak about in these alone.
    """

    def __init__(self, project: Project, options: Options, asked: Modules | None = None) -> None:
        self.project = project
        self.asked = project if asked is None else asked
        self.options = options
        self.flow = Flow(project)
        self.sources = Sources(self.flow)
        self.kinds = Kinds(self.flow, self.sources)
        self._distrust()

    def _distrust(self) -> None:
        """Find the containers that are changed under another name than they were made, before any rule asks."""
        changed = [(container, scope) for module in self.project.modules for container, scope in module.mutated]
        self.flow.distrust(
            {
                value
                for container, scope in changed
                for value in (container, *(held.value for held in self.sources.of(self.flow.here(container, scope))))
                if not isinstance(value, Param | Free)
            }
        )

    @cached_property
    def optimizer_findings(self) -> tuple[Finding, ...]:
        """Everything the optimizer family has to say; its rules share one analysis."""
        from codemods.nnx.optimizer.migrate import migrate

        return tuple(migrate(self))

    @cached_property
    def nnx_references(self) -> tuple[Reference, ...]:
        """Where the project names things of ``flax.nnx`` that not every release has."""
        from codemods.nnx.names.references import references

        return tuple(references(self.flow))

    @cached_property
    def rng(self) -> RngAnalysis:
        """Where random streams are made, split and kept."""
        from codemods.nnx.rng.analysis import RngAnalysis

        return RngAnalysis(self.flow, self.sources)

    @cached_property
    def bodies(self) -> Bodies:
        """Indexes over nodes and calls that the lint rules share."""
        from codemods.nnx.lint.bodies import Bodies

        return Bodies(self.project)

    @cached_property
    def traced(self) -> Traced:
        """Which functions run on tracers."""
        from codemods.nnx.lint.traced import Traced

        return Traced(self.flow, self.sources)

    @cached_property
    def taint(self) -> Taint:
        """Which values are traced arrays."""
        from codemods.nnx.lint.taint import Taint

        return Taint(self.flow, self.kinds, self.traced, self.bodies)

    @cached_property
    def data_marks(self) -> tuple[Mark, ...]:
        """Assignments of attributes that need ``nnx.data`` from Flax 0.12 on."""
        from codemods.nnx.v012.data_marks import marks

        return tuple(marks(self))

    @cached_property
    def aliases(self) -> tuple[Alias, ...]:
        """Every call whose result shares Variables where that changes the program."""
        from codemods.nnx.state.aliases import find

        return tuple(find(self))
