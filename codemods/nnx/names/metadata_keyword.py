"""NNX507: keywords of Variables that later releases take for metadata."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule

# what says whether a Variable holds a reference: keyword and attribute by Flax version
_KEYWORD = {"0.10": "mutable", "0.11": "use_ref", "0.12": "ref"}
_ATTRIBUTE = {"0.10": "mutable", "0.11": "has_ref", "0.12": "ref"}


def check(context: Context) -> Iterator[Finding]:
    """Yield keywords of Variables, and reads of the attribute of the same meaning, that the targets do not know."""
    options = context.options
    for event in context.asked.calls():
        for name, _ in event.value.keywords:
            known = name is not None and name in _KEYWORD.values()
            if known and _wanted(options.targets, _KEYWORD, name) and _makes_variable(context, event):
                yield _keyword(context, event, name or "")
    for read in context.asked.attributes():
        wanted = read.node.attr in {"mutable", "has_ref"} and _wanted(options.targets, _ATTRIBUTE, read.node.attr)
        if wanted and context.kinds.only(context.flow.here(read.base, read.scope)) is Objects.VARIABLE:
            yield _attribute(context, read)


def _wanted(targets: tuple[str, ...], spellings: dict[str, str], name: str | None) -> bool:
    return any(spellings[target] != name for target in targets)


def _makes_variable(context: Context, event: CallEvent) -> bool:
    bound = context.flow.here(event.value.callee, event.scope)
    return context.kinds.class_kinds(bound) == {Objects.VARIABLE}


def _keyword(context: Context, event: CallEvent, name: str) -> Finding:
    keyword = next(k for k in event.node.keywords if k.arg == name)
    source = event.scope.module.source
    spellings = {_KEYWORD[target] for target in context.options.targets}
    fix = None
    since = next(version for version, spelled in _KEYWORD.items() if spelled == name)
    if len(spellings) == 1 and source.faithful(event.node) and not context.options.beyond(since):
        start = source.offset(keyword.lineno, keyword.col_offset)
        fix = Fix(((source.path, Edit(start, start + len(name), spellings.pop().encode())),))
    message = f"the keyword `{name}` becomes metadata without a meaning in Flax {context.options.target}"
    return finding("NNX507", event.scope, event.node, message, f"it is `{_KEYWORD[context.options.target]}` there", fix)


def _attribute(context: Context, event: AttrEvent) -> Finding:
    source = event.scope.module.source
    spellings = {_ATTRIBUTE[target] for target in context.options.targets}
    fix = None
    since = next(version for version, spelled in _ATTRIBUTE.items() if spelled == event.node.attr)
    if len(spellings) == 1 and source.faithful(event.node) and not context.options.beyond(since):
        end = source.span(event.node)[1]
        fix = Fix(((source.path, Edit(end - len(event.node.attr), end, spellings.pop().encode())),))
    message = f"Variables have no attribute `{event.node.attr}` in Flax {context.options.target}"
    return finding(
        "NNX507", event.scope, event.node, message, f"it is `{_ATTRIBUTE[context.options.target]}` there", fix
    )


RULE = Rule(
    code="NNX507",
    name="swallowed-keyword",
    summary="a keyword of a Variable that became metadata",
    why="""\
`nnx.Param(x, mutable=...)` of 0.10.7 is `use_ref=` in 0.11 and `ref=` in 0.12. Variables take every keyword that they
do not know for metadata, so the old one raises no error and has no effect.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.1",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones(2), mutable=False)
print(weight.mutable, "mutable" in weight.get_metadata())
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones(2), use_ref=False)
print(weight.has_ref, "mutable" in weight.get_metadata())
""",
        ),
    ),
    check=check,
    always=True,
)
