"""A planned migration of one group: edits, and what is said about them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from codemods.nnx.edits import Edit, OverlapError, merged
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, finding


@dataclass(frozen=True, eq=False)
class Remark:
    """A finding in the making."""

    code: str
    scope: Scope
    node: ast.AST
    message: str
    help: str = ""
    notable: bool = False


@dataclass
class Plan:
    """Edits of several modules that are made together.

    Attributes:
        edits: edits by path.
        remarks: what is said about the places that change.
    """

    edits: dict[str, list[Edit]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def edit(self, scope: Scope, *edits: Edit) -> None:
        """Add edits of the module of a scope."""
        known = self.edits.setdefault(scope.module.source.path, [])
        known += [e for e in edits if e not in known]

    def remark(
        self, code: str, scope: Scope, node: ast.AST, message: str, help: str = "", notable: bool = False
    ) -> None:
        """Say something about a place."""
        self.remarks.append(Remark(code, scope, node, message, help, notable))

    def sound(self) -> bool:
        """Say whether no two edits claim the same bytes."""
        try:
            for edits in self.edits.values():
                merged(edits)
        except OverlapError:
            return False
        return True

    def findings(self, fix: Fix | None = None) -> list[Finding]:
        """Return the remarks as findings that share one fix."""
        if fix is None and self.edits:
            fix = Fix(tuple((path, edit) for path, edits in sorted(self.edits.items()) for edit in edits))
        return [finding(r.code, r.scope, r.node, r.message, r.help, fix, r.notable) for r in self.remarks]
