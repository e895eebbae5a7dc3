"""NNX505: the names of mesh axes in the metadata of Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.in_place import scope_of
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Call, Const, Value
from codemods.nnx.variables.leaves import Leaves

_NAMES = {"0.10": "sharding", "0.11": "sharding_names", "0.12": "out_sharding"}


def check(context: Context) -> Iterator[Finding]:
    """Yield reads and writes of the names under their old name."""
    old = _NAMES[context.options.origin]
    if all(_NAMES[target] == old for target in context.options.targets):
        return
    places = _Places(context)
    for module in context.project.modules:
        if b"get_metadata" in module.source.data:
            yield from places.keys(module, old)
    if old == "sharding":
        yield from places.attributes()
        yield from places.questions()


def _metadata_key(node: ast.AST) -> tuple[ast.expr, ast.Constant] | None:
    """Return ``x`` and the key of ``x.get_metadata()[key]`` or ``x.get_metadata().get(key, ...)``."""
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        holder, key = node.func.value, node.args[0]
    else:
        return None
    if not isinstance(key, ast.Constant) or not isinstance(holder, ast.Call) or holder.args:
        return None
    function = holder.func
    return (function.value, key) if isinstance(function, ast.Attribute) and function.attr == "get_metadata" else None


class _Places:
    """Where Variables are asked for ``sharding``, which is an attribute of their arrays too."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.variables = Variables(context)
        self.leaves = Leaves(context)

    def keys(self, module: ModuleFacts, old: str) -> Iterator[Finding]:
        """Yield the old name as a key of the metadata; only Variables are sure to have such metadata."""
        for node in ast.walk(module.source.tree):
            found = _metadata_key(node)
            if found is None or found[1].value != old:
                continue
            holder, key = found
            scope, value = scope_of(module, key), module.values.get(holder)
            sure = value is not None and self._is_variable(value, scope)
            yield _finding(self.context, module, key, scope, "get_metadata()", Safety.SAFE if sure else Safety.UNSAFE)

    def _is_variable(self, value: Value, scope: Scope) -> bool:
        return self.variables.is_variable(value, scope) or self.leaves.is_leaf(value, scope)

    def attributes(self) -> Iterator[Finding]:
        """Yield attributes of Variables that are known to have such metadata, or get it there."""
        for event in self.context.project.attributes():
            if event.node.attr != "sharding" or not self.variables.is_variable(event.base, event.scope):
                continue
            if event.context == "store":
                if "0.12" not in self.context.options.targets:  # NNX608 speaks of these
                    yield self._attribute(event)
            elif event.context == "load" and self._annotated(event.base, event.scope):
                yield self._attribute(event)

    def _attribute(self, event: AttrEvent) -> Finding:
        return _finding(self.context, event.scope.module, event.node, event.scope, f"`{ast.unparse(event.node)}`")

    def _annotated(self, value: Value, scope: Scope) -> bool:
        """Say whether a Variable is made with names of mesh axes, on every way."""
        made = self.context.sources.originals(self.context.flow.here(value, scope))
        return bool(made) and all(
            isinstance(m.value, Call) and m.value.keyword("sharding") not in (None, Const(None)) for m in made
        )

    def questions(self) -> Iterator[Finding]:
        """Yield ``hasattr(variable, "sharding")`` and ``getattr(variable, "sharding", ...)``."""
        for event in self.context.project.calls():
            if self._asks(event):
                yield finding(
                    "NNX505",
                    event.scope,
                    event.node,
                    "every Variable has a `sharding` since Flax 0.11.2, its array's; before it was metadata",
                    "call nnx.get_partition_spec(state), which holds for all versions",
                )

    def _asks(self, event: CallEvent) -> bool:
        node, args = event.node, event.value.args
        if not isinstance(node.func, ast.Name) or node.func.id not in {"getattr", "hasattr"} or len(args) < 2:
            return False
        if not isinstance(args[1], Const) or args[1].value != "sharding":
            return False
        return self._is_variable(args[0], event.scope)


def _finding(
    context: Context,
    module: ModuleFacts,
    node: ast.Constant | ast.Attribute,
    scope: Scope,
    where: str,
    safety: Safety = Safety.SAFE,
) -> Finding:
    """Report a name, with the edit that puts the target's where one name holds for all targets."""
    old = _NAMES[context.options.origin]
    names = {target: _NAMES[target] for target in context.options.targets}
    source = module.source
    fix = None
    if len(set(names.values())) == 1 and source.faithful(node):
        start, end = source.span(node)
        start = source.data.rindex(old.encode(), start, end)
        fix = Fix(((source.path, Edit(start, start + len(old), names[context.options.target].encode())),), safety)
    told = ", ".join(f"`{name}` in {target}" for target, name in names.items())
    message = f"{where} no longer gives the names of mesh axes as `{old}`"
    return finding("NNX505", scope, node, message, f"it is {told}; nnx.get_partition_spec holds for all versions", fix)


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

if hasattr(nnx, "use_eager_sharding"):
    nnx.use_eager_sharding(False)
weight = nnx.Param(jnp.ones((2, 2)), sharding=("data", "model"))
print(weight.get_metadata()["sharding"], weight.sharding)
"""

_LEFT = """\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones((2, 2)))
print(type(weight.sharding).__name__, {"sharding": 1}["sharding"])
"""

RULE = Rule(
    code="NNX505",
    name="sharding-metadata",
    summary="names of mesh axes read or written as `sharding` of a Variable",
    why="""\
`nnx.Param(..., sharding=names)` keeps the names of mesh axes as metadata: as `sharding` up to Flax 0.11.1, as
`sharding_names` in 0.11.2, as `out_sharding` since 0.12.4. `variable.sharding` gives the sharding of the array now, and
assigning to it has no effect on `nnx.get_partition_spec`; both change without an error.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.2",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace('["sharding"]', '["sharding_names"]').replace("weight.sharding", "weight.sharding_names"),
        ),
        Example(
            _BEFORE,
            _BEFORE.replace('["sharding"]', '["out_sharding"]').replace("weight.sharding", "weight.out_sharding"),
            targets=("0.12",),
        ),
        Example(
            before="""\
from flax import nnx

for path, leaf in nnx.to_flat_state(nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))):
    print(path, getattr(leaf, "sharding", None))
""",
            run=False,
        ),
        Example(_LEFT, _LEFT, targets=("0.11", "0.12")),
    ),
    check=check,
)
