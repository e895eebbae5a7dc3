"""NNX608: metadata of Variables that is set or deleted as an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.asked import asked_variable
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Const, Free, Ref

# attributes of Variables that are no metadata
_OWN = frozenset({"value", "raw_value", "_raw_value", "_var_metadata", "_trace_state", "__class__"})
_BY_NAME = frozenset({"builtins.setattr", "builtins.delattr"})
_SHARDING = frozenset({"sharding", "sharding_names"})  # have another name in 0.12


def check(context: Context) -> Iterator[Finding]:
    """Yield attributes of Variables that are assigned or deleted and are not their content."""
    if not context.options.crosses("0.12"):
        return
    variables = Variables(context)
    for event in context.asked.attributes():
        if isinstance(event.node.ctx, ast.Load) or event.node.attr in _OWN:
            continue
        if not variables.is_variable(event.base, event.scope):
            if not asked_variable(context, event.node.value, event.scope):
                continue
        name = event.node.attr
        if _handled(context, event, name):
            continue
        verb = "deleting" if event.context == "del" else "setting"
        method = f"del_metadata({name!r})" if event.context == "del" else f"set_metadata({name}=...)"
        yield finding(
            "NNX608",
            event.scope,
            event.node,
            f"{verb} the attribute `{name}` of a Variable raises AttributeError since Flax 0.12.1",
            f"call {method}, or pass it to the constructor, which works on all versions",
            _fix(context, event),
        )

    yield from _by_name(context, variables)


def _handled(context: Context, event: AttrEvent, name: str) -> bool:
    """Say whether a class of the project has a property of that name, or sets attributes in a way of its own."""
    flow = context.flow
    cls = flow.classes.class_of(flow.resolve(flow.here(event.base, event.scope)))
    if cls is None:
        return False
    classes = flow.classes.mro(cls)[0]
    if any(name in one.methods or "__setattr__" in one.methods for one in classes):
        return True
    return any(one.scope.module.source.mentions(b".__setattr__ =") for one in classes)


def _by_name(context: Context, variables: Variables) -> Iterator[Finding]:
    """Yield calls of ``setattr`` and ``delattr`` on Variables."""
    for event in context.bodies.named("setattr", "delattr"):
        call, given = event.value, event.node.args
        if event.scope.module not in context.asked.modules or not isinstance(call.callee, Ref | Free):
            continue
        if call.starred or len(given) < 2 or context.flow.calls.name(event) not in _BY_NAME:
            continue
        value, scope, source = call.args[0], event.scope, event.scope.module.source
        if not variables.is_variable(value, scope) and not asked_variable(context, given[0], scope):
            continue
        sources = context.sources.of(context.flow.here(call.args[1], scope))
        names = {one.value.value if isinstance(one.value, Const) else None for one in sources}
        if names & _OWN:
            continue
        sure = bool(names) and None not in names and not names & _SHARDING
        deletes, what = len(given) == 2, source.text(given[1])
        method = f"del_metadata({what})" if deletes else f"set_metadata({what}, ...)"
        fix = None
        if set(context.options.targets) == {"0.12"} and len({n.lineno for n in (event.node, *given)}) == 1:
            new = f"{source.text(given[0])}.{method.partition('(')[0]}({', '.join(map(source.text, given[1:]))})"
            safety = Safety.SAFE if sure else Safety.UNSAFE
            fix = Fix(((source.path, Edit(*source.span(event.node), new.encode())),), safety)
        yield finding(
            "NNX608",
            scope,
            event.node,
            f"{'delattr' if deletes else 'setattr'} on a Variable raises AttributeError since Flax 0.12.1, unless it "
            "names its value",
            f"call {method}, or pass it to the constructor, which works on all versions",
            fix,
        )


def _fix(context: Context, event: AttrEvent) -> Fix | None:
    """Return the edit that calls the method instead, which 0.12 alone has."""
    statement, source = event.statement, event.scope.module.source
    if set(context.options.targets) != {"0.12"} or not isinstance(statement, ast.Assign | ast.Delete):
        return None
    if isinstance(statement, ast.AnnAssign):
        return None
    if statement.targets != [event.node]:
        return None
    base, name = source.text(event.node.value), event.node.attr
    if name in {"sharding", "sharding_names"}:
        name = "out_sharding"
    if isinstance(statement, ast.Delete):
        return Fix(((source.path, Edit(*source.span(statement), f'{base}.del_metadata("{name}")'.encode())),))
    if source.awkward(statement.value):
        return None
    start, end = source.span(statement)
    behind = source.data.index(b"=", source.span(event.node)[1]) + 1
    behind += len(source.data[behind:end]) - len(source.data[behind:end].lstrip(b" \t"))
    opening = f"{base}.set_metadata({name}="
    return Fix(((source.path, Edit(start, behind, opening.encode())), (source.path, Edit(end, end, b")"))))


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones(2))
weight.frozen = True
print(weight.frozen)
"""

RULE = Rule(
    code="NNX608",
    name="metadata-attribute",
    summary="metadata of a Variable is set as an attribute",
    why="""\
Assigning or deleting an attribute of a Variable changed its metadata up to Flax 0.12.0; since 0.12.1 it raises
AttributeError. `set_metadata` and `del_metadata` exist since 0.12 only, so that no spelling holds for 0.11 as well
but the constructor's keywords.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE, _BEFORE.replace("weight.frozen = True", "weight.set_metadata(frozen=True)"), targets=("0.12",)
        ),
    ),
    check=check,
    always=True,
)
