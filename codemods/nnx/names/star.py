"""NNX509: star imports of ``flax.nnx``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.names.references import spelled_module
from codemods.nnx.rule import Example, Kind, Rule


def check(context: Context) -> Iterator[Finding]:
    """Yield star imports of ``flax.nnx``."""
    if not (context.options.crosses("0.11") or context.options.crosses("0.12")):
        return
    for module in context.asked.modules:
        for statement in module.imports:
            if (
                isinstance(statement, ast.ImportFrom)
                and not statement.level
                and statement.names[0].name == "*"
                and spelled_module(statement.module or "") == "flax.nnx"
            ):
                yield finding(
                    "NNX509",
                    module.scope,
                    statement,
                    "which names this binds depends on the Flax release, so a name may vanish or be replaced unseen",
                    "import the names that are used, or write `from flax import nnx`",
                )


RULE = Rule(
    code="NNX509",
    name="star-import",
    summary="all names of flax.nnx are imported with a star",
    why="""\
`from flax.nnx import *` binds another set of names in every release: 0.11 brought `data`, 0.12 `map`, `flatten` and
more, which replace names of the same spelling, and names that were removed are missed only where they are used. The
names that can be followed are migrated all the same.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="names exported by the releases 0.10.7, 0.11.2 and 0.12.8, compared by importing them",
    examples=(Example(before="from flax.nnx import *\n\nlayer = Linear(2, 2, rngs=Rngs(0))\n", run=False),),
    check=check,
)
