"""What the rules of one run share: the project, its value flow and the results of whole families."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from codemods.nnx.flow import Flow
from codemods.nnx.kinds import Kinds
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.sources import Sources

if TYPE_CHECKING:
    from codemods.nnx.names.references import Reference
    from codemods.nnx.findings import Finding


class Context:
    """One analysis of one project."""

    def __init__(self, project: Project, options: Options) -> None:
        self.project = project
        self.options = options
        self.flow = Flow(project)
        self.sources = Sources(self.flow)
        self.kinds = Kinds(self.flow, self.sources)

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
