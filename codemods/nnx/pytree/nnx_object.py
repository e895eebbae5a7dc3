"""NNX307: ``nnx.Object``, which no class of Flax derives from since 0.12."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Ref


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``isinstance`` with, and every class derived from, ``nnx.Object``."""
    if not context.options.crosses("0.12"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for cls in context.asked.classes():
        for node, value in zip(cls.node.bases, cls.bases, strict=False):
            outer = cls.scope.parent
            assert outer is not None
            if context.flow.resolve(context.flow.here(value, outer)).value == Ref("flax.nnx.Object"):
                message = (
                    f"{cls.name} is no pytree from Flax 0.12 on: nnx.Object is not what modules derive from any more"
                )
                yield _report(context, outer, node, message)
    for event in context.asked.calls():
        name = context.flow.calls.name(event)
        if name not in {"builtins.isinstance", "builtins.issubclass"} or len(event.node.args) != 2:
            continue
        second = event.node.args[1]
        members = second.elts if isinstance(second, ast.Tuple) else [second]
        for node in members:
            member = event.scope.module.values.get(node)
            if member is not None and context.flow.resolve(context.flow.here(member, event.scope)).value == Ref(
                "flax.nnx.Object"
            ):
                yield _report(
                    context, event.scope, node, "nothing in Flax is an nnx.Object from 0.12 on: this is never true"
                )


def _report(context: Context, scope: Scope, node: ast.expr, message: str) -> Finding:
    spelling = spell(context.flow, scope, "Pytree") if "0.10" not in context.options.targets else None
    source = scope.module.source
    fix = None
    if spelling is not None:
        edits = (replace(source, node, spelling.text), *spelling.edits)
        fix = Fix(tuple((source.path, edit) for edit in edits))
    help = "write nnx.Pytree" if spelling is not None else 'write getattr(nnx, "Pytree", None) or nnx.Object'
    return finding("NNX307", scope, node, message, help, fix)


RULE = Rule(
    code="NNX307",
    name="nnx-object",
    summary="nnx.Object, which became nnx.Pytree",
    why="""\
Modules, optimizers, metrics and Rngs derived from `nnx.Object` up to Flax 0.11, which calls the class `nnx.Pytree`
from 0.11.1 on and keeps the old name for it. Since 0.12.0 `nnx.Object` is a class of its own from which nothing
derives: `isinstance(x, nnx.Object)` is never true, without an error, and a class derived from it is no pytree.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on 0.11.0 to 0.12.8",
    examples=(
        Example(
            before="""\
from flax import nnx

layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(isinstance(layer, nnx.Object), isinstance(3, (nnx.Object, str)))
""",
            after="""\
from flax import nnx

layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(isinstance(layer, nnx.Pytree), isinstance(3, (nnx.Pytree, str)))
""",
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
