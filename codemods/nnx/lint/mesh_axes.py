"""NNX863: a partition over an axis that the mesh has not."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, received, shown
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.lint.too_few_axes import too_few
from codemods.nnx.lint.traced import Root, Tracing, function_of
from codemods.nnx.lint.unbound_axis import OVER_AXES, unbound
from codemods.nnx.nodes import every, last_word
from codemods.nnx.values import Attr, Call, Const, Mapping, Param, Sequence, Star, Value

_MESHES = {"Mesh": (1, "axis_names"), "make_mesh": (1, "axis_names"), "AbstractMesh": (1, "axis_names"),
           "create_hybrid_device_mesh": None, "set_mesh": None}  # fmt: skip
_SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
# calls that take a mesh and specs: the position and name of the mesh, then those of the specs
_USERS: dict[str, tuple[tuple[int, str], tuple[tuple[int, str], ...]]] = {
    "jax.sharding.NamedSharding": ((0, "mesh"), ((1, "spec"),)),
    "jax.NamedSharding": ((0, "mesh"), ((1, "spec"),)),
    "jax.shard_map": ((1, "mesh"), ((2, "in_specs"), (3, "out_specs"))),
    "flax.nnx.shard_map": ((1, "mesh"), ((2, "in_specs"), (3, "out_specs"))),
    "jax.experimental.shard_map.shard_map": ((1, "mesh"), ((2, "in_specs"), (3, "out_specs"))),
}
_WORDS = frozenset(last(name) for name in _USERS)


def _check(context: Context) -> Iterator[Finding]:
    yield from _collectives(context)
    yield from _unbound(context)
    yield from _counts(context)
    yield from _too_few(context)
    yield from _annotated(context)
    yield from _weights(context)
    if not any(True for _ in context.bodies.named(*(word for word, where in _MESHES.items() if where))):
        return
    yield from _constrained(context)
    for event, name in _users(context):
        asked = event.scope.module in context.asked
        if context.bodies.guarded(event.node, event.scope):
            continue
        (position, word), specs = _USERS[name]
        shift = int(name.endswith("shard_map") and not _function_given(event))
        axes = _axes(context, event.value.argument(position - shift, word), event)
        if axes is None:
            continue
        for place, spec in specs:
            given = event.value.argument(place - shift, spec)
            yield from _handed_on(context, event, given, axes)
            if not asked:
                continue
            told: set[tuple[ast.AST, str]] = set()  # a helper may be followed in several ways to one place
            for node, axis in _named(context, context.flow.here(given, event.scope) if given else None, 0):
                shown_at = node if _within(node, event) else event.node
                if axis not in axes and (shown_at, axis) not in told:
                    told.add((shown_at, axis))
                    yield _missing(event.scope, shown_at, axis, axes)


def _constrained(context: Context) -> Iterator[Finding]:
    """Yield the specs of ``with_sharding_constraint`` that do not fit the mesh whose block they stand in."""
    for event, name in foreign(context, "with_sharding_constraint"):
        given = event.value.argument(1, "shardings")
        if name != "jax.lax.with_sharding_constraint" or given is None or event.value.starred:
            continue
        mesh = _mesh_around(context, event)
        axes = _axes(context, mesh, event) if not context.bodies.guarded(event.node, event.scope) else None
        if axes is None:
            continue
        for node, axis in _named(context, context.flow.here(given, event.scope), 0):
            if axis not in axes:
                yield _missing(event.scope, node if _within(node, event) else event.node, axis, axes)
                break


def _mesh_around(context: Context, event: CallEvent) -> Value | None:
    """Return the mesh of the innermost ``with`` around a call: ``with mesh``, ``with jax.set_mesh(mesh)``."""
    for block, _ in reversed(context.bodies.paths(event.scope).get(event.node, ())):
        for item in reversed(block.items) if isinstance(block, ast.With) else ():
            node: ast.expr = item.context_expr
            if isinstance(node, ast.Call) and last_word(node.func) in {"set_mesh", "use_mesh"} and node.args:
                node = node.args[0]
            return event.scope.module.values.get(node)
    return None


_RULES = (b"axis_rules", b"sharding_rules", b"logical", b"rules=")


def _annotated(context: Context) -> Iterator[Finding]:
    """Yield the names of axes that an initializer gives its weights, and that no mesh of the project has."""
    events = [e for e, name in foreign(context, "with_partitioning") if name == "flax.nnx.with_partitioning"]
    if not events or any(word in m.source.data for m in context.project.modules for word in _RULES):
        return
    known: set[str] = set()
    for event in context.bodies.named(*_MESHES):
        where = _MESHES.get(last_word(event.node.func))
        if where is None:
            continue
        made = context.flow.here(event.value, event.scope)
        if context.flow.calls.reached(made):
            continue  # a function of the project, in which another call makes the mesh
        names = _axes_of(context, made)
        if names is None:
            return
        known.update(names)
    for event in events if known else ():
        node, given = argument(event.node, 1, "sharding"), event.value.argument(1, "sharding")
        if node is None or given is None or context.bodies.guarded(event.node, event.scope):
            continue
        written = {part.value: part for part in ast.walk(node) if isinstance(part, ast.Constant)}
        named = dict.fromkeys(_partitioned(context, context.flow.here(given, event.scope), 0))
        for axis in named:
            if axis not in known:
                yield finding(
                    RULE.code,
                    event.scope,
                    written.get(axis, node),
                    f"no mesh of the project has an axis `{axis}`; there are {', '.join(sorted(known))}",
                    "use an axis of the mesh",
                )


def _partitioned(context: Context, bound: Bound, depth: int) -> Iterator[str]:
    """Yield the axes that a partition names: those of a tuple or spec, and of arguments and fields known everywhere."""
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Const) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, Sequence) or (isinstance(value, Call) and context.flow.calls.callee_name(found) in _SPECS):
        for item in value.items if isinstance(value, Sequence) else value.args:
            if not isinstance(item, Star):
                yield from _partitioned(context, context.flow.with_value(found, item), depth)
    elif isinstance(value, Param | Attr) and depth < _HANDED and not _chosen(value):
        sources = context.sources.of(found)
        if all(isinstance(one.value, Const | Sequence) for one in sources):
            for one in sources:
                yield from _partitioned(context, one, depth + 1)


_HANDED = 3  # functions that hand on the name of an axis


def _chosen(value: Param | Attr) -> bool:
    """Say whether the function of a parameter looks for it among other names first."""
    return isinstance(value, Param) and _asks(value.function)


# how many axes the weights of layers have, by the argument that makes them; None is that of a convolution's kernel
_NORM = {"scale_init": 1, "bias_init": 1, "scale_metadata": 1, "bias_metadata": 1}
_DENSE = {"kernel_init": 2, "bias_init": 1, "kernel_metadata": 2, "bias_metadata": 1}
_CONVOLUTION = {"kernel_init": None, "bias_init": 1, "kernel_metadata": None, "bias_metadata": 1}
_DIMENSIONS: dict[str, dict[str, int | None]] = {
    "Linear": {**_DENSE},
    "Embed": {"embedding_init": 2, "embedding_metadata": 2},
    "Conv": _CONVOLUTION,
    "ConvTranspose": _CONVOLUTION,
    "BatchNorm": {**_NORM},
    "LayerNorm": {**_NORM},
    "RMSNorm": {**_NORM},
    "GroupNorm": {**_NORM},
}
_NAMES = ("out_sharding", "sharding", "sharding_names")


def _weights(context: Context) -> Iterator[Finding]:
    """Yield the weights that are given more names of axes than they have axes."""
    for event, name in foreign(context, *_DIMENSIONS, "Param"):
        layer = name.removeprefix("flax.nnx.")
        data = event.scope.module.source.data
        if layer == name or b"vmap" in data or b"scan" in data:  # which put axes before those of one layer
            continue
        told: list[tuple[ast.expr, Value, int | None]] = []
        if layer == "Param":
            axes = Arrays(context, {}).of(event.value.args[0], event.scope).axes if event.value.args else None
            names = [(k.value, k.arg) for k in event.node.keywords if k.arg in _NAMES]
            told = [(node, given, axes) for node, word in names if (given := event.value.keyword(word or ""))]
        else:
            for word, count in _DIMENSIONS.get(layer, {}).items():
                given, node = event.value.keyword(word), keyword(event.node, word)
                if given is not None and node is not None:
                    told.append((node, given, count if count is not None else _kernel_axes(event)))
        for node, given, count in told:
            entries = _entries(context, context.flow.here(given, event.scope), layer == "Param")
            if count is not None and entries is not None and entries > count:
                axes_of = f"{count} axis" if count == 1 else f"{count} axes"
                if not context.bodies.guarded(event.node, event.scope):
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"{entries} names of axes for an array of {axes_of}",
                        "give one name for each axis at most: a bias has one",
                    )


def _kernel_axes(event: CallEvent) -> int | None:
    """Return how many axes the kernel of a convolution has."""
    size = constant(argument(event.node, 2, "kernel_size"))
    if isinstance(size, int):
        return 3
    return len(size) + 2 if isinstance(size, tuple | list) else None


def _entries(context: Context, bound: Bound, names: bool) -> int | None:
    """Return how many entries the names of axes have that an initializer, or a value itself, gives."""
    flow, found = context.flow, context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Call) and flow.calls.callee_name(found) == "flax.nnx.with_partitioning":
        given = value.argument(1, "sharding")
        return _entries(context, flow.with_value(found, given), True) if given is not None else None
    if isinstance(value, Mapping) and not names:
        held = [one for key, one in value.items if isinstance(key, Const) and key.value in _NAMES]
        return _entries(context, flow.with_value(found, held[0]), True) if len(held) == 1 else None
    if not names:
        return None
    if isinstance(value, Sequence):
        return None if any(isinstance(one, Star) for one in value.items) else len(value.items)
    if isinstance(value, Call) and flow.calls.callee_name(found) in _SPECS and not value.starred:
        return len(value.args)
    return None


def _counts(context: Context) -> Iterator[Finding]:
    """Yield the meshes with more or fewer names than axes, and the specs with more entries than an array has axes."""
    for event, name in foreign(context, "make_mesh"):
        if name != "jax.make_mesh" or len(event.node.args) < 2:
            continue
        shape, names = event.node.args[:2]
        if isinstance(shape, ast.Tuple | ast.List) and isinstance(names, ast.Tuple | ast.List):
            starred = any(isinstance(e, ast.Starred) for e in (*shape.elts, *names.elts))
            if (
                len(shape.elts) != len(names.elts)
                and not starred
                and not context.bodies.guarded(event.node, event.scope)
            ):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the mesh has {len(shape.elts)} axes and {len(names.elts)} names",
                    "give one name for each axis",
                )
    for event, name in foreign(context, "device_put", "with_sharding_constraint"):
        if name not in {"jax.device_put", "jax.lax.with_sharding_constraint"} or len(event.value.args) < 2:
            continue
        made = context.flow.resolve(context.flow.here(event.value.args[1], event.scope))
        spec = made.value.argument(1, "spec") if isinstance(made.value, Call) else None
        if spec is None or context.flow.calls.callee_name(made) not in _USERS:
            continue
        parts = context.flow.follow(made, spec)
        axes = Arrays(context, {}).of(event.value.args[0], event.scope).axes
        if not isinstance(parts.value, Call) or parts.value.starred or axes is None:
            continue
        if context.flow.calls.callee_name(parts) in _SPECS and len(parts.value.args) > axes:
            if event.scope.function not in context.traced and not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the spec has {len(parts.value.args)} entries, and the array {axes} axes",
                    "give one entry for each axis at most",
                )


def _too_few(context: Context) -> Iterator[Finding]:
    """Yield the trees that get one sharding for all their leaves, some of which have fewer axes."""
    for scope, node, leaf, entries in too_few(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"the spec has {entries} entr{'y' if entries == 1 else 'ies'}, and {leaf} has fewer axes",
            "give each leaf its own sharding: P() where it has no axis",
        )


def _collectives(context: Context) -> Iterator[Finding]:
    """Yield the sums and means over an axis of another name than the one that ``vmap`` or ``pmap`` gives."""
    for event, name in foreign(context, *OVER_AXES):
        function = event.scope.function
        tracing = context.traced.get(function)
        if not name.startswith("jax.lax.") or tracing is None:
            continue
        axis = event.value.argument(OVER_AXES[last(name)], "axis_name")
        if not isinstance(axis, Const) or not isinstance(axis.value, str) or _for_several(context, event):
            continue
        if tracing.sites or function_of(event.scope.parent) in context.traced:  # which may name the axis
            if context.shared(_other_words).get(axis.value, 0) == 0 and _closed(context, tracing, 0):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"nothing in the project names an axis `{axis.value}`, over which {shown(tracing.function)} goes",
                    f'give the transform that maps it axis_name="{axis.value}"',
                )
            continue
        if not tracing.roots:
            continue
        meshes = [_mesh_axes(context, root) for root in tracing.roots if last(root.transform) != "jit"]
        known = [axes for axes in meshes if axes is not None]
        if known and len(known) == len(meshes):
            if all(axis.value not in axes for axes in known):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the mesh has no axis `{axis.value}`; its axes are {', '.join(known[0]) or 'none'}",
                    "use an axis of the mesh",
                )
            continue
        if _unnamed(context, tracing, axis.value):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"nothing in the project names an axis `{axis.value}`: {shown(tracing.function)} runs under "
                f"`{tracing.roots[0].transform}` without it",
                f'give the transform that maps it axis_name="{axis.value}"',
            )
            continue
        given = [_axis_name(root) for root in tracing.roots]
        called = [c.scope.function for c in context.flow.sites.callers(tracing.function)]
        if axis.value in given or None in given or any(caller in context.traced for caller in called if caller):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"there is no axis `{axis.value}` here; {shown(tracing.function)} is mapped over `{given[0]}`",
            "use the axis_name of the transform",
        )


def _for_several(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands under a setting of how many devices there are: ``if self.n_devices > 1``. Whoever says
    that there are more names the axis as well."""
    for block, arm in context.bodies.paths(event.scope).get(event.node, ()):
        test = block.test if isinstance(block, ast.If | ast.IfExp) and arm == "body" else None
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        least = {ast.Gt: 1, ast.NotEq: 1, ast.GtE: 2}.get(type(test.ops[0]))
        if least is not None and constant(test.comparators[0]) == least:
            if isinstance(event.scope.module.values.get(test.left), Param | Attr):
                return True
    return False


def _unbound(context: Context) -> Iterator[Finding]:
    """Yield the calls that run a collective outside of the transforms that name its axis for others."""
    for scope, node, function, axis in unbound(context):
        if not context.shared(_other_words).get(axis, 0):
            continue  # nothing names it anywhere
        yield finding(
            RULE.code,
            scope,
            node,
            f"nothing around this call names an axis `{axis}`, over which {shown(function)} goes",
            f'call it within the transform that has axis_name="{axis}", or leave the collective out here',
        )


def _mesh_axes(context: Context, root: Root) -> tuple[str, ...] | None:
    """Return the axes of the mesh that ``shard_map`` maps a function over; None if they are not known."""
    if not root.transform.endswith("shard_map") or root.decorator:
        return None
    event = next((e for e in context.bodies.calls.get(root.scope, ()) if e.node is root.node), None)
    axes = _axes(context, event.value.argument(1, "mesh"), event) if event is not None else None
    return tuple(axes) if axes is not None else None


def _unnamed(context: Context, tracing: Tracing, axis: str) -> bool:
    """Say whether a transform traces a function with a collective over an axis that nothing names."""
    if any(root.options is not None and _open(root) for root in tracing.roots):
        return False
    if not all(last(root.transform) in {"jit", "vmap", "pmap"} for root in tracing.roots):
        return False
    if sum(root.decorator for root in tracing.roots) < len(tracing.function.decorators):
        return False  # what another decorator maps is not known
    return context.shared(_other_words).get(axis, 0) == 0


def _closed(context: Context, tracing: Tracing, depth: int) -> bool:
    """Say whether all transforms are known that a function runs under, and none has an axis by another way."""
    if depth > 5:
        return False
    for root in tracing.roots:
        if last(root.transform) not in {"jit", "vmap", "pmap", "scan"} or not _told(root):
            return False
    around = [frame.caller.function if frame.caller is not None else None for frame in tracing.sites]
    outer = function_of(tracing.function.scope.parent)
    if outer in context.traced or (outer is not None and not tracing.roots):
        around.append(outer)
    found = [context.traced.get(function) for function in around]
    if not tracing.roots and not found:
        return False
    return all(one is not None and _closed(context, one, depth + 1) for one in dict.fromkeys(found))


def _told(root: Root) -> bool:
    """Say whether a transform's axis name can be read, if it has one."""
    if root.options is None:
        return True
    if any(k.arg is None for k in root.options.keywords):
        return False
    given = option(root, "axis_name", 1 if last(root.transform) == "pmap" else None)
    return given is None or isinstance(constant(given), str)


def _open(root: Root) -> bool:
    """Say whether a transform names an axis, or has options that cannot be read."""
    assert root.options is not None
    return any(k.arg in {"axis_name", None} for k in root.options.keywords) or (
        last(root.transform) == "pmap" and len(root.options.args) > 1
    )


# where a text has none of these words, in whatever way it uses them, no function runs over the axes of a mesh
_MAPPING = (b"shard_map", b"pmap", b"xmap", b"smap")


def _other_words(context: Context) -> Counter[str]:
    """Return how often each text stands in the project where it may be the name of an axis, collectives left out."""
    found: Counter[str] = Counter()
    silent = {*OVER_AXES}
    if not any(m.source.mentions(word) for m in context.project.modules for word in _MAPPING):
        silent |= {"Mesh", "make_mesh", "PartitionSpec", "P", "NamedSharding"}  # jit alone makes no axes of a mesh
    for module in context.project.modules:
        taken = {
            id(node) for event in module.calls if last_word(event.node.func) in silent for node in every(event.node)
        }
        for node in module.source.of_type(ast.Constant):
            if isinstance(node.value, str) and id(node) not in taken:
                found[node.value] += 1
    return found


def _axis_name(root: Root) -> str | None:
    """Return the name that a ``vmap`` or ``pmap`` gives its axis; None if that is not known."""
    if last(root.transform) not in {"vmap", "pmap"}:
        return None
    name = constant(option(root, "axis_name", 1 if last(root.transform) == "pmap" else None))
    return name if isinstance(name, str) else None


def _users(context: Context) -> Iterator[tuple[CallEvent, str]]:
    for event, name in foreign(context, *_WORDS, everywhere=True):
        if name in _USERS and not event.value.starred:
            yield event, name
    for event, name in foreign(context, "partial", everywhere=True):  # @partial(shard_map, mesh=..., in_specs=...)
        if name == "functools.partial" and event.value.args and not event.value.starred:
            first = getattr(
                context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value, "name", ""
            )
            if first in _USERS:
                yield event, first


def _function_given(event: CallEvent) -> bool:
    return bool(event.value.args)


def _within(node: ast.AST, event: CallEvent) -> bool:
    return any(n is node for n in ast.walk(event.node))


def _axes(context: Context, mesh: Value | None, event: CallEvent) -> tuple[str, ...] | None:
    """Return the names of the axes of a mesh; None if they are not all known."""
    if mesh is None:
        return None
    sources = context.sources.all_of(context.flow.here(mesh, event.scope), lambda value: isinstance(value, Call))
    if sources is None:
        return None
    found = [_axes_of(context, made) for made in sources]
    known = [axes for axes in found if axes is not None]
    return tuple(dict.fromkeys(axis for axes in known for axis in axes)) if len(known) == len(found) else None


def _axes_of(context: Context, made: Bound) -> tuple[str, ...] | None:
    """Return the names of the axes of the mesh that a call makes; None if they are not all known."""
    if not isinstance(made.value, Call) or made.value.starred:
        return None
    where = _MESHES.get(last(context.flow.calls.callee_name(made)))
    given = made.value.argument(*where) if where else None
    if given is None:
        return None
    names = context.flow.follow(made, given)
    if isinstance(names.value, Attr):
        names = _field(context, names, names.value) or names
    items = names.value.items if isinstance(names.value, Sequence) else (names.value,)
    found = [context.flow.follow(names, item).value for item in items]
    if not all(isinstance(one, Const) and isinstance(one.value, str) for one in found):
        return None
    return tuple(str(one.value) for one in found if isinstance(one, Const))


def _field(context: Context, read: Bound, value: Attr) -> Bound | None:
    """Return what a field of a dataclass is, if it is the same in all objects that may be read."""
    flow = context.flow
    if value.name in flow.fields.stores():
        return None
    found: list[Bound] = []
    for made in context.sources.originals(flow.with_value(read, value.base)):
        cls = flow.classes.class_of(made)
        if cls is None or not isinstance(made.value, Call) or made.value.starred:
            return None
        fields = flow.classes.dataclass_fields(cls)
        given = made.value.argument(fields.index(value.name), value.name) if value.name in fields else None
        default = flow.classes.class_attribute(cls, value.name) if value.name in fields and given is None else None
        one = flow.follow(made, given) if given is not None else default
        if one is None:
            return None
        found.append(flow.resolve(one))
    return found[0] if found and all(one.value is found[0].value for one in found) else None


def _handed_on(context: Context, event: CallEvent, spec: Value | None, axes: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the arguments of a helper that names the axes of a spec by its ``*args``."""
    function = event.scope.function
    made = context.flow.follow(context.flow.here(event.value, event.scope), spec) if spec is not None else None
    if (
        function is None
        or function.vararg is None
        or made is None
        or not isinstance(made.value, Call)
        or _asks(function)
    ):
        return
    given = made.value.node.args
    if context.flow.calls.callee_name(made) not in _SPECS or not any(map(_starred(function.vararg), given)):
        return
    first = function.positional - received(function)
    for caller in context.flow.sites.callers(function):
        for node in caller.node.args[first:] if not caller.value.starred else ():
            for part in ast.walk(node) if isinstance(node, ast.Constant | ast.Tuple) else ():
                axis = part.value if isinstance(part, ast.Constant) else None
                if isinstance(axis, str) and axis not in axes and caller.scope.module in context.asked:
                    if not context.bodies.guarded(caller.node, caller.scope):
                        yield _missing(caller.scope, part, axis, axes)


def _starred(name: str) -> Callable[[ast.expr], bool]:
    """Return what says whether an argument unpacks a variable."""
    return lambda node: isinstance(node, ast.Starred) and isinstance(node.value, ast.Name) and node.value.id == name


def _asks(function: FunctionFacts) -> bool:
    """Say whether a function asks whether something is among others, such as a name among the axes of a mesh."""
    operators = (op for n in ast.walk(function.node) if isinstance(n, ast.Compare) for op in n.ops)
    return any(isinstance(op, ast.In | ast.NotIn) for op in operators)


def _missing(scope: Scope, node: ast.AST, axis: str, axes: tuple[str, ...]) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"the mesh has no axis `{axis}`; its axes are {', '.join(axes) or 'none'}",
        "use an axis of the mesh",
    )


def _entries_of(context: Context, found: Bound, value: Call) -> Iterator[Bound]:
    """Yield what a spec is made of, with what is unpacked into it."""
    function = found.frame.function if found.frame is not None else None
    for item, node in zip(value.args, value.node.args, strict=False):
        if not isinstance(item, Star):
            yield context.flow.follow(found, item)
        elif function is not None and function.vararg and _starred(function.vararg)(node):
            assert found.frame is not None
            first = function.positional - received(function)
            if found.frame.site is not None and not found.frame.partial and not _asks(function):
                yield from (context.flow.resolve(one) for one in found.frame.args[first:])
        else:
            for whole in context.sources.of(context.flow.with_value(found, item.value)):
                if isinstance(whole.value, Sequence) and not _of_other_branch(context, whole, node):
                    yield from (context.flow.follow(whole, one) for one in whole.value.items)


def _of_other_branch(context: Context, given: Bound, node: ast.expr) -> bool:
    """Say whether a value comes from a function that is defined in another branch than the one it is called in, where
    the same name is another function.

    Args:
        context: the analysis.
        given: the value.
        node: the call, or what is unpacked of it.
    """
    call = node.value if isinstance(node, ast.Starred) else node
    function = given.frame.function if given.frame is not None else None
    home = function.scope.parent if function is not None else None
    if function is None or home is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    if call.func.id != function.name or len(home.bindings.get(function.name, ())) < 2:
        return False
    paths = context.bodies.paths(home)
    own = dict(paths.get(function.node, ()))
    around = {n: path for n, path in paths.items() if isinstance(n, ast.Lambda | ast.FunctionDef | ast.Call)}
    for other, path in around.items():
        if any(isinstance(b, ast.If) and own.get(b, arm) != arm for b, arm in path):
            if other is call or any(n is call for n in ast.walk(other)):
                return True
    return False


def _named(context: Context, bound: Bound | None, depth: int) -> Iterator[tuple[ast.AST, str]]:
    """Yield the axes that a spec, or a container of specs, names."""
    if bound is None or depth > 4:
        return
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Param | Indexed | Attr | Round):
        for source in context.sources.of(found):
            if source.value is not value and isinstance(source.value, Call | Sequence | Mapping):
                yield from _named(context, source, depth + 1)
        return
    if isinstance(value, Sequence):
        for item in value.items:
            yield from _named(context, context.flow.with_value(found, item), depth + 1)
    elif isinstance(value, Mapping):
        for _, item in value.items:
            yield from _named(context, context.flow.with_value(found, item), depth + 1)
    elif isinstance(value, Call) and context.flow.calls.callee_name(found) in _SPECS:
        for one in _entries_of(context, found, value):
            parts = one.value.items if isinstance(one.value, Sequence) else (one.value,)
            for part in parts:
                name = context.flow.follow(one, part)
                names = [name]
                if isinstance(name.value, Param) and not _asks(name.value.function):
                    names = [*context.sources.of(name)]
                for each in names:
                    if isinstance(each.value, Const) and isinstance(each.value.value, str):
                        yield value.node, each.value.value


RULE = lint_rule(
    "NNX863",
    "unknown-mesh-axis",
    "a PartitionSpec names an axis that its Mesh has not, or too many for its array, or a collective one nothing names",
    why="""\
The axes of a PartitionSpec are those of the mesh it is used with; any other name raises a ValueError. `jax.lax.pmean`
and the other collectives need an axis that a transform around them names, with `axis_name` or a mesh; otherwise a
NameError is raised, also where another caller of the same function is within that transform. A weight has as many names
at most as axes, a bias one: others are an AssertionError under a mesh. One sharding for all leaves of a tree has to fit
each of them: the count of an optimizer's state has no axis, and a spec with an entry is a ValueError for it.
""",
    source="sgl-project/sglang-jax issue 1370; measured: Resource axis ... is not found in mesh",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))
batches = NamedSharding(mesh, P("batch"))
""",
        """\
import jax


def update(weights, gradient):
    return weights - jax.lax.pmean(gradient, axis_name="batch")


step = jax.vmap(update, in_axes=(None, 0))
""",
    ),
    clean=(
        """\
import jax
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
batches = NamedSharding(mesh, P("data"))
weights = NamedSharding(mesh, P(None, ("data", "model")))
""",
    ),
)
