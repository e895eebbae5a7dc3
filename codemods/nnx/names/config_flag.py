"""NNX506: the configuration flag for mutable arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule

_NEW = {"flax_mutable_array": "flax_array_ref", "FLAX_MUTABLE_ARRAY": "FLAX_ARRAY_REF"}


def check(context: Context) -> Iterator[Finding]:
    """Yield uses of the old flag: its name as a string, or as an attribute of ``flax.config``."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        source = module.source
        if b"flax_mutable_array" not in source.data.lower():
            continue
        for node in source.nodes:
            old = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                old = node.value
            elif isinstance(node, ast.Attribute):
                old = node.attr
            if old not in _NEW or not isinstance(node, ast.expr) or not source.faithful(node):
                continue
            fix = None
            if "0.10" not in context.options.targets:
                start = source.data.rindex(old.encode(), *source.span(node))
                fix = Fix(((source.path, Edit(start, start + len(old), _NEW[old].encode())),))
            message = f"Flax has no option {old} since 0.11.1"
            yield finding("NNX506", module.scope, node, message, f"it is {_NEW[old]} now", fix)


RULE = Rule(
    code="NNX506",
    name="config-flag",
    summary="the option flax_mutable_array has another name",
    why="""\
The configuration option `flax_mutable_array` (environment variable `FLAX_MUTABLE_ARRAY`) became `flax_array_ref` in
0.11.1. Setting the old one through `flax.config` raises LookupError; the old environment variable is silently ignored.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.1",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="import flax\n\nflax.config.update('flax_mutable_array', False)\nprint('set')\n",
            after="import flax\n\nflax.config.update('flax_array_ref', False)\nprint('set')\n",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
