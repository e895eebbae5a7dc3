"""NNX505: the names of mesh axes in the metadata of Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.names.sharding_compared import compared
from codemods.nnx.names.sharding_names import Annotated, ahead, behind
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Const, Each, Value

_NAMES = {"0.10": "sharding", "0.11": "sharding_names", "0.12": "out_sharding"}


def check(context: Context) -> Iterator[Finding]:
    """Yield reads and writes of the names under their old name."""
    old = _NAMES[context.options.origin]
    if all(_NAMES[target] == old for target in context.options.targets):
        return
    places = _Places(context)
    for module in context.asked.modules:
        if module.source.mentions(b"get_metadata"):
            yield from places.keys(module, old)
    told: set[tuple[str, int, int]] = set()
    if old == "sharding" and context.origin == "0.10":  # code for later releases means the sharding of the array
        for found in (*places.attributes(), *places.questions()):
            told.add((found.path, found.start, found.end))
            yield found
    yield from places.compared(old, told)


def _keyed(node: ast.AST) -> tuple[ast.expr, ast.expr, bool] | None:
    """Return a mapping, the key that is asked for, and whether the entry is changed."""
    if isinstance(node, ast.Subscript):
        holder, key, changes = node.value, node.slice, not isinstance(node.ctx, ast.Load)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        holder, key, changes = node.comparators[0], node.left, False
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS and node.args:
        holder, key, changes = node.func.value, node.args[0], node.func.attr != "get"
    else:
        return None
    return (holder, key, changes) if isinstance(key, ast.Constant | ast.Name) else None


_ASKS = frozenset({"get", "pop", "setdefault"})


class _Places:
    """Where Variables are asked for ``sharding``, which is an attribute of their arrays too."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.annotated = Annotated(context)

    # -- keys of the metadata ---------------------------------------------------------------------

    def keys(self, module: ModuleFacts, old: str) -> Iterator[Finding]:
        """Yield the old name as a key of the metadata; only Variables are sure to have such metadata."""
        for node in module.source.of_type(ast.Subscript, ast.Compare, ast.Call):
            found = _keyed(node)
            if found is None or (isinstance(found[1], ast.Constant) and found[1].value != old):
                continue
            holder, key, changes = found
            scope = scope_of(module, key)
            if isinstance(key, ast.Name) and not self._among(module.values.get(key), scope, old):
                continue
            sure = self._metadata(module, holder, scope)
            if sure is None:
                continue
            if changes and "0.12" in self.context.options.targets:
                yield finding(
                    "NNX505",
                    scope,
                    node,
                    f"get_metadata() gives a copy since Flax 0.12, so that changing its entry `{old}` has no effect",
                    "call variable.set_metadata(out_sharding=...), or give the names to the constructor",
                )
            else:
                safety = Safety.SAFE if sure else Safety.UNSAFE
                changed = safety if isinstance(key, ast.Constant) else None  # the name may be shown, too
                yield _finding(self.context, module, key, scope, "get_metadata()", changed)

    def _among(self, value: Value | None, scope: Scope, name: str) -> bool:
        """Say whether a value is a name, or goes over names that are written out, of which it is one."""
        if not isinstance(value, Each):
            return value == Const(name)
        names = self.context.flow.containers.elements(self.context.flow.here(value.base, scope))
        return any(one.value == Const(name) for one in names)

    def _metadata(self, module: ModuleFacts, holder: ast.expr, scope: Scope) -> bool | None:
        """Say whether a mapping is surely the metadata of a Variable; None if it is surely not, or nothing tells."""
        if isinstance(holder, ast.Call):
            function = holder.func
            if not isinstance(function, ast.Attribute) or function.attr != "get_metadata" or holder.args:
                return None
            value = module.values.get(function.value)
            return value is not None and self.annotated.is_variable(value, scope)
        value = module.values.get(holder)
        if value is None:
            return None
        asked = [self._asked(made) for made in self.context.sources.of(self.context.flow.here(value, scope))]
        if not any(answer is not None for answer in asked):
            return None
        return all(answer is True for answer in asked)

    def _asked(self, made: Bound) -> bool | None:
        """Say whether a value is what ``get_metadata`` of a Variable returned; None if it is something else."""
        call = made.value
        if not isinstance(call, Call) or call.args:
            return None
        callee = self.context.flow.follow(made, call.callee).value
        if not isinstance(callee, Attr) or callee.name != "get_metadata":
            return None
        return self.context.kinds.only(self.context.flow.with_value(made, callee.base)) is Objects.VARIABLE

    def compared(self, old: str, told: set[tuple[str, int, int]]) -> Iterator[Finding]:
        """Yield what is compared with names of axes, and so read from metadata, whatever it is read from."""
        for found in compared(self.context, old):
            source = found.scope.module.source
            if not told.isdisjoint((source.path, *source.span(node)) for node in (found.node, found.whole)):
                continue
            where = f"`{ast.unparse(found.whole)}`"
            yield _finding(self.context, found.scope.module, found.node, found.scope, where, Safety.UNSAFE)

    # -- the attribute ----------------------------------------------------------------------------

    def attributes(self) -> Iterator[Finding]:
        """Yield attributes of Variables that are known to have such metadata, or get it there."""
        events = [
            event
            for event in self.context.project.attributes()
            if event.node.attr == "sharding" and self.annotated.is_variable(event.base, event.scope)
        ]
        modules = {event.scope.module for event in events}
        # `variable.sharding.spec` asks the sharding of the array: a tuple of names has no such attribute
        of_array = {
            node.value
            for module in modules
            for node in module.source.of_type(ast.Attribute)
            if isinstance(node.ctx, ast.Load) and node.attr not in {"count", "index"}
        }
        events = [event for event in events if event.node not in of_array]
        stores = [event for event in events if event.context == "store" and type(event.statement) is ast.Assign]
        made = {event: self.annotated.made_by(event.base, event.scope) for event in events}
        together, open_reads = list(stores), []
        for read in (event for event in events if event.context == "load"):
            every, some = self.annotated.made_with(read.base, read.scope)
            if every or self.annotated.is_leaf(read.base, read.scope):
                yield self._attribute(read)
                continue
            related = [s for s in stores if made[s] & made[read] and not ahead(s, read)]
            if related and any(self._same(s, read, made) and behind(s, read) for s in related):
                together.append(read)
            elif related or some:
                open_reads.append((read, related))
        undecided = {store for _, related in open_reads for store in related}
        yield from self._group(together, undecided)
        for read, _ in open_reads:
            yield _finding(self.context, read.scope.module, read.node, read.scope, _spelled(read), None)

    def _same(self, store: AttrEvent, read: AttrEvent, made: dict[AttrEvent, frozenset[Value]]) -> bool:
        """Say whether an assignment and a read are surely of one Variable, or of those that each ``__init__`` makes."""
        flow = self.context.flow
        if store.scope is read.scope:
            return flow.identity.same(flow.here(store.base, store.scope), flow.here(read.base, read.scope))
        return len(made[store]) == 1 and made[store] == made[read]

    def _group(self, together: list[AttrEvent], undecided: set[AttrEvent]) -> Iterator[Finding]:
        """Yield assignments and the reads behind them, which change together; NNX608 speaks of assignments in 0.12."""
        told = [e for e in together if e.context == "load" or "0.12" not in self.context.options.targets]
        safety = None if undecided & set(together) else Safety.SAFE
        parts = [_finding(self.context, e.scope.module, e.node, e.scope, _spelled(e), safety) for e in told]
        edits = [edit for part in parts if part.fix is not None for edit in part.fix.edits]
        whole = Fix(tuple(edits)) if edits and all(part.fix is not None for part in parts) else None
        yield from (replace(part, fix=whole) for part in parts)

    def _attribute(self, event: AttrEvent) -> Finding:
        return _finding(self.context, event.scope.module, event.node, event.scope, _spelled(event))

    def questions(self) -> Iterator[Finding]:
        """Yield ``hasattr(variable, "sharding")`` and ``getattr(variable, "sharding", ...)``."""
        for event in self.context.asked.calls():
            if not self._asks(event):
                continue
            key = event.node.args[1]
            if isinstance(key, ast.Constant) and self.annotated.is_leaf(event.value.args[0], event.scope):
                # up to 0.10 a leaf of a state had no attribute of its array
                yield _finding(self.context, event.scope.module, key, event.scope, f"`{ast.unparse(event.node)}`")
            else:
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
        if not self._among(args[1], event.scope, "sharding"):
            return False
        return self.annotated.is_variable(args[0], event.scope)


def _spelled(event: AttrEvent) -> str:
    return f"`{ast.unparse(event.node)}`"


def _finding(
    context: Context,
    module: ModuleFacts,
    node: ast.expr,
    scope: Scope,
    where: str,
    safety: Safety | None = Safety.SAFE,
) -> Finding:
    """Report a name, with the edit that puts the target's where one name holds for all targets.

    Without a safety, nothing is edited.
    """
    old = _NAMES[context.options.origin]
    names = {target: _NAMES[target] for target in context.options.targets}
    source = module.source
    fix = None
    if safety is not None and len(set(names.values())) == 1 and source.faithful(node):
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

_LAYER = """\
from flax import nnx

init = nnx.with_partitioning(nnx.initializers.ones_init(), (None, "model"))
layer = nnx.Linear(2, 2, kernel_init=init, rngs=nnx.Rngs(0))
metadata = layer.kernel.get_metadata()
print(layer.kernel.sharding, metadata["sharding"])
"""

_LEAVES = """\
from flax import nnx

for path, leaf in nnx.to_flat_state(nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))):
    print(path, getattr(leaf, "sharding", None))
"""

_ASKED = """\
from flax import nnx

layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(hasattr(layer.bias, "sharding"))
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
assigning to it has no effect on `nnx.get_partition_spec`; both change without an error. Variables count whose
constructor, or whose layer's initializer, is given names; leaves of a state had the attribute as metadata only. What is
compared with names that the project gives somewhere is metadata, too: an unsafe fix, as the object is not known. An
assignment and the reads behind it change together. Since 0.12 `get_metadata()` returns a copy, which cannot be changed
to any effect.
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
            _LAYER,
            _LAYER.replace(".sharding", ".sharding_names").replace('["sharding"]', '["sharding_names"]'),
        ),
        Example(_LEAVES, _LEAVES.replace('"sharding"', '"sharding_names"')),
        Example(_ASKED, run=False),
        Example(_LEFT, _LEFT, targets=("0.11", "0.12")),
    ),
    check=check,
    always=True,
)
