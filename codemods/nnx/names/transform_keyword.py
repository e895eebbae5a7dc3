"""NNX513: keywords of transforms and of the metadata of Variables that Flax 0.12 does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import RewriteError, remove_keyword
from codemods.nnx.rule import Example, Kind, Rule


@dataclass(frozen=True)
class _Gone:
    """A keyword that Flax 0.11 takes and 0.12 does not.

    Attributes:
        help: the way out.
        neutral: the source of the values that say what holds without the keyword.
        successor: the keyword of the same meaning in 0.12.
        idle: whether it had no effect before either, whatever its value.
    """

    help: str
    neutral: frozenset[str] = frozenset()
    successor: str | None = None
    idle: bool = False


_HOOK = _Gone("leave it out: it never had an effect", idle=True)
_GONE: dict[tuple[str, str], _Gone] = {
    ("flax.nnx.jit", "abstracted_axes"): _Gone("leave it out: JAX has no dynamic shapes any more", frozenset({"None"})),
    ("flax.nnx.pmap", "global_arg_shapes"): _Gone("leave it out: JAX refuses every other value", frozenset({"None"})),
    ("flax.nnx.shard_map", "check_rep"): _Gone("it is `check_vma` in 0.12", frozenset({"True"}), "check_vma"),
    ("flax.nnx.shard_map", "auto"): _Gone(
        "give `axis_names` the axes of the mesh that are not automatic", frozenset({"frozenset()"})
    ),
}
for _hooks in ("set_value_hooks", "get_value_hooks", "create_value_hooks", "add_axis_hooks", "remove_axis_hooks"):
    _GONE["flax.nnx.with_metadata", _hooks] = _GONE["flax.nnx.VariableMetadata", _hooks] = _HOOK
_WORDS = frozenset(word for _, word in _GONE)


def check(context: Context) -> Iterator[Finding]:
    """Yield the keywords, also where ``functools.partial`` gives them."""
    if not context.options.crosses("0.12"):
        return
    for event in context.asked.calls():
        words = [k for k in event.node.keywords if k.arg in _WORDS]
        function = _function(context, event) if words else ""
        found = [(word, gone) for word in words if (gone := _GONE.get((function, word.arg or "")))]
        fixes = _fixes(context, event, found)
        for word, gone in found:
            message = f"nnx.{function.rpartition('.')[2]} does not take `{word.arg}` in Flax 0.12"
            yield finding("NNX513", event.scope, word, message, gone.help, fixes.get(word.arg or ""))


def _function(context: Context, event: CallEvent) -> str:
    """Return the full name of what a call calls, or prepares to call."""
    flow = context.flow
    bound = flow.here(event.value, event.scope)
    name = flow.calls.callee_name(bound)
    if name == "functools.partial" and event.value.args:
        name = getattr(flow.follow(bound, event.value.args[0]).value, "name", "")
    return name


def _fixes(context: Context, event: CallEvent, found: list[tuple[ast.keyword, _Gone]]) -> dict[str, Fix]:
    """Return the fixes of a call by keyword: renames, and one for all keywords that can go without a change."""
    source = event.scope.module.source
    if not found or not source.faithful(event.node):
        return {}
    fixes, away = {}, []
    for word, gone in found:
        name = word.arg or ""
        if gone.successor is not None and context.options.targets == ("0.12",):
            start = source.offset(word.lineno, word.col_offset)
            fixes[name] = Fix(((source.path, Edit(start, start + len(name), gone.successor.encode())),))
        elif _inert(word.value) if gone.idle else ast.unparse(word.value) in gone.neutral:
            away.append(name)
    if away:
        try:
            removal = Fix(((source.path, remove_keyword(source, event.node, *away)),))
        except RewriteError:
            return fixes
        fixes |= dict.fromkeys(away, removal)
    return fixes


def _inert(node: ast.expr) -> bool:
    """Say whether evaluating an expression does nothing else."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(_inert(element) for element in node.elts)
    return isinstance(node, ast.Name | ast.Lambda | ast.Constant)


_BEFORE = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import Mesh, PartitionSpec

mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
spec = PartitionSpec("data")
add = nnx.shard_map(lambda x: x + 1, mesh=mesh, in_specs=spec, out_specs=spec, check_rep=False, auto=frozenset())
double = nnx.jit(lambda x: 2 * x, abstracted_axes=None)
print(add(jnp.ones(2)), double(jnp.ones(2)))
"""

_METADATA = """\
import jax.numpy as jnp
from flax import nnx


def clip(variable, value):
    return jnp.clip(value, -1, 1)


boxed = nnx.VariableMetadata(jnp.ones(2), set_value_hooks=(clip,), metadata={"axis": "batch"})
print(nnx.Param(boxed).axis)
"""

RULE = Rule(
    code="NNX513",
    name="transform-keyword",
    summary="a keyword of a transform, nnx.with_metadata or nnx.VariableMetadata that Flax 0.12 does not take",
    why="""\
`nnx.jit(abstracted_axes=)`, `nnx.pmap(global_arg_shapes=)` and `nnx.shard_map(check_rep=, auto=)` raise TypeError in
Flax 0.12, where `shard_map` has `check_vma` and `axis_names`. `nnx.with_metadata(get_value_hooks=)` and its likes never
had an effect; 0.12 keeps them as metadata of the Variable without a word.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="signatures and runs of Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("check_rep=False, auto=frozenset()", "check_vma=False").replace(
                ", abstracted_axes=None", ""
            ),
            targets=("0.12",),
        ),
        Example(
            before="""\
from flax import nnx


def add(mesh, spec, names):
    return nnx.shard_map(lambda x: x + 1, mesh=mesh, in_specs=spec, out_specs=spec, auto=names)
""",
            targets=("0.12",),
            run=False,
        ),
        Example(_METADATA, _METADATA.replace(", set_value_hooks=(clip,)", ""), targets=("0.12",)),
    ),
    check=check,
    always=True,
)
