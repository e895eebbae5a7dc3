"""NNX867: axes for more or fewer arguments than there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import arguments, calls_of, handed_on, layers, may_hand_on, option, skipped
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.literal_shape import shape_of
from codemods.nnx.lint.mapped_counts import one_count
from codemods.nnx.lint.mapped_statistics import batch_statistic
from codemods.nnx.lint.mapped_trees import uneven
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.owners import left_to_heirs, owner_class, plain_module
from codemods.nnx.lint.places import resolved, shown
from codemods.nnx.lint.result_axes import result_axes
from codemods.nnx.lint.stacked_sizes import stack_size
from codemods.nnx.lint.syntax import constant, is_none
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Free, Mapping, Param, Sequence, Value

_MAPPING = frozenset({"jax.vmap", "flax.nnx.vmap", "jax.pmap", "flax.nnx.pmap", "flax.nnx.scan"})
# these give the function all its arguments by place, with the defaults of those that a call leaves out
_FILLING = frozenset({"flax.nnx.vmap", "flax.nnx.scan"})
_JITS = frozenset({"jax.jit", "flax.nnx.jit"})
_SHARDING = frozenset({"jax.shard_map", "flax.nnx.shard_map", "jax.experimental.shard_map.shard_map"})


def _check(context: Context) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for found in _of_known(context):
        told.add((found.path, found.start))
        yield found
    yield from _of_unknown(context, told)


def _of_known(context: Context) -> Iterator[Finding]:
    """Yield the axes and specs of functions of the project that do not fit their arguments and results."""
    for root in context.traced.roots:
        if root.partial or _rebound(root):
            continue
        for entries, message, help in result_axes(context, root):
            yield finding(RULE.code, root.scope, entries, message, help)
        if root.transform in _SHARDING:
            yield from _specs(context, root, "in_specs", 2)
        elif root.transform in _JITS and not root.declared:
            yield from _specs(context, root, "in_shardings", None)
        if root.transform in _MAPPING:
            yield from _of_axes(context, root)


def _of_axes(context: Context, root: Root) -> Iterator[Finding]:
    """Yield the axes of a mapped function that do not fit its arguments."""
    axes = option(root, "in_axes", 1)
    yield from _numbers(context, root, axes)
    if root.transform == "flax.nnx.vmap":
        yield from _sizes(context, root, axes)
    if root.transform == "jax.vmap":
        sizes = [*_sizes(context, root, axes)]
        yield from sizes or [*_statistics(context, root, axes)] or _trees(context, root, axes)
        if isinstance(axes, ast.Dict):
            yield finding(
                RULE.code,
                root.scope,
                axes,
                "`in_axes` has one entry for each argument, and a dict is the entry of one argument",
                f"write in_axes=({root.scope.module.source.text(axes)},)" if axes.lineno == axes.end_lineno else "",
            )
            return
    if root.transform.endswith(".vmap") and axes is not None and _none(axes) and option(root, "axis_size") is None:
        if any(caller.value.keywords for caller in context.flow.sites.callers(root.function)):
            return  # arguments by name are mapped
        yield finding(
            RULE.code,
            root.scope,
            axes,
            f"`in_axes` maps no argument of {shown(root.function)}",
            "give an axis for at least one argument, or axis_size=...",
        )
        return
    if axes is not None:
        yield from _counted(context, root, axes)
    elif root.transform.endswith(".vmap") and len(root.function.decorators) <= int(root.decorator):
        yield from _mapped_model(context, root)


def _counted(context: Context, root: Root, axes: ast.expr) -> Iterator[Finding]:
    """Yield axes of which there are more or fewer than a function takes, or a call gives it."""
    count = _length(context, axes, root)
    if count is None:
        return
    function = root.function
    free = function.positional - skipped(root)
    if function.vararg is None and count > free and not _overridden(context, root, count):
        if _left_over(context, root) or _another(context, root, count):
            return
        if root.transform == "jax.pmap" and root.declared:
            return  # beside static arguments pmap picks the axes by their places, and reads no more of them
        message = f"`in_axes` has {count} entries, and {shown(function)} takes {free} argument{_s(free)}"
        yield finding(RULE.code, root.scope, axes, message, "give one entry for each positional argument")
        return
    if root.transform in _FILLING and count == free:
        return
    if root.declared:
        return  # pmap asks for no axes of the arguments that are static
    calls = (one for one in calls_of(context, root) if not context.bodies.guarded(one.node, one.scope))
    event = next((one for one in calls if arguments(one, root) not in (None, count)), None)
    if event is not None:
        given = arguments(event, root)
        assert given is not None
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{shown(function)} is mapped with {count} `in_axes`, and gets {given} positional argument{_s(given)}"
            + _keywords(event),
            "give one entry for each positional argument",
        )


def miscounted(context: Context) -> list[tuple[str, int]]:
    """Return where this rule finds something: path, and the offset of its begin."""
    return [(found.path, found.start) for found in _check(context)]


def _of_unknown(context: Context, told: set[tuple[str, int]]) -> Iterator[Finding]:
    """Yield the calls, with another number of arguments, of what ``vmap`` made of a function that is not known, or of
    which functools.partial makes another one."""
    if not any(True for _ in context.bodies.named("vmap", "pmap", "partial")):
        return
    made = context.flow.may.made_by({"vmap", "pmap"})
    compiled = context.flow.may.made_by({"vmap", "pmap", "jit"})
    for event in context.asked.calls():
        if not may_hand_on(compiled if event.node.keywords else made, event):
            continue
        for handed in handed_on(context, event):
            if handed.name not in {"jax.vmap", "jax.pmap"} or handed.given == 0 == len(handed.names):
                continue
            axes = handed.option(context, "in_axes", 1 if handed.name == "jax.vmap" else None)
            count = _entries(axes) if axes is not None else None
            if count is None or count == handed.given:
                continue
            if handed.name == "jax.pmap" and (not handed.names or handed.option(context, "static_broadcasted_argnums")):
                continue  # it reads no axes of the arguments that are static
            source = event.scope.module.source
            place = (source.path, source.offset(event.node.lineno, event.node.col_offset))
            if place not in told and not context.bodies.guarded(event.node, event.scope):
                told.add(place)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"what is called is mapped with {count} `in_axes`, and gets {handed.given} positional "
                    f"argument{_s(handed.given)}" + ("; arguments by name are mapped over axis 0" * bool(handed.names)),
                    "give one entry for each positional argument",
                )
            break


def _entries(axes: Bound) -> int | None:
    """Return how many entries a tuple of axes has; None if that is not known."""
    value = axes.value
    if not isinstance(value, Sequence) or not isinstance(value.node, ast.Tuple | ast.List):
        return None
    return len(value.items) if not any(isinstance(one, ast.Starred) for one in value.node.elts) else None


def _overridden(context: Context, root: Root, count: int) -> bool:
    """Say whether the function is a method that a class below it has with enough parameters, as those of abstract
    classes."""
    function = root.function
    if function.owner is None or not (root.bound or function.binding == "static"):
        return False
    found = {context.flow.classes.method(heir, function.name) for heir in context.flow.classes.heirs(function.owner)}
    below = [one for one in found if one is not None and one is not function]
    if not below:
        return left_to_heirs(function)  # classes that the project does not have
    return any(one.vararg is not None or count <= one.positional - skipped(root) for one in below)


def _another(context: Context, root: Root, count: int) -> bool:
    """Say whether what is mapped may be another function as well, which takes enough arguments."""
    return any(
        one.node is root.node
        and one.function is not root.function
        and (one.function.vararg is not None or count <= one.function.positional - skipped(one))
        for one in context.traced.roots
    )


def _left_over(context: Context, root: Root) -> bool:
    """Say whether nothing reads the variable that gets a mapped function, which is called itself instead."""
    events = context.bodies.calls.get(root.scope, ())
    made = next((one.statement for one in events if one.node is root.node), None)
    if not isinstance(made, ast.Assign) or made.value is not root.node:
        return False
    names = {target.id for target in made.targets if isinstance(target, ast.Name)}
    if len(names) != len(made.targets):
        return False
    for module in context.project.modules:
        if any(name.encode() in module.source.data for name in names):
            if any(n.id in names and isinstance(n.ctx, ast.Load) for n in module.source.of_type(ast.Name)):
                return False
            if any(n.attr in names for n in module.source.of_type(ast.Attribute)):
                return False
            if any(one.name in names for n in module.source.of_type(ast.ImportFrom) for one in n.names):
                return False
            if any(n.value in names for n in module.source.of_type(ast.Constant) if isinstance(n.value, str)):
                return False  # in __all__, or asked for by its name
    return any(event.node is not root.node for event in context.flow.sites.callers(root.function))


def _none(axes: ast.expr) -> bool:
    """Say whether no axis is given: None, or a tuple of nothing else."""
    if isinstance(axes, ast.Tuple | ast.List):
        return bool(axes.elts) and all(map(_none, axes.elts))
    return is_none(axes)


def _class_of_all(context: Context, value: Value, event: CallEvent) -> ClassFacts | None:
    """Return the class that all objects are of which are given as an argument."""
    made = context.sources.originals(context.flow.here(value, event.scope))
    classes = {context.flow.classes.class_of(one) if isinstance(one.value, Call) else None for one in made}
    return classes.pop() if len(classes) == 1 else None


def _mapped_model(context: Context, root: Root) -> Iterator[Finding]:
    """Yield the calls without `in_axes` that give a model beside arrays, whose weights are then mapped as well."""
    for event in calls_of(context, root):
        if event.scope.module not in context.asked or len(event.value.args) < 2 or event.value.starred:
            continue
        for place, (node, value) in enumerate(zip(event.node.args, event.value.args, strict=True)):
            cls = owner_class(context, value, event.scope) or _class_of_all(context, value, event)
            if not plain_module(context, cls) or not _single(context, value, event):
                continue
            if not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"without `in_axes` the weights of the model are mapped as well by vmap of {_mapped(root)}",
                    f"give in_axes=({', '.join('None' if i == place else '0' for i in range(len(event.node.args)))})",
                )
            break


def _mapped(root: Root) -> str:
    """Return what a transform is applied to, as messages show it: ``grad(loss)`` and not ``loss`` alone."""
    given = getattr(root.node, "args", ())[:1]
    text = root.scope.module.source.text(given[0]) if given and not root.decorator else ""
    return f"`{text}`" if text and len(text) < 60 and "\n" not in text else shown(root.function)


def _single(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a model is one model, and not a stack that vmap made."""
    bound = context.flow.resolve(context.flow.here(value, event.scope))
    sources = [*context.sources.of(bound)]
    if isinstance(bound.value, Param) and _compiled(context, bound.value.function):
        # compiled code gets the model that its callers give
        sources = [*context.sources.originals(bound)]
    for source in sources:
        if not isinstance(source.value, Call):
            return False
        home = context.bodies.home(source.value.node)
        cls = context.flow.classes.class_of(source)
        init = context.flow.classes.method(cls, "__init__") if cls is not None else None
        if home is None or (init is not None and init.decorators):
            return False
        if home.function is not None and context.traced.get(home.function) is not None:
            return False
    return True


def _compiled(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is compiled or differentiated, and nothing else: it gets its arguments as they are."""
    if any(root.function is function for root in context.traced.gradients):
        return function not in context.shared(batched)
    tracing = context.traced.get(function)
    return tracing is not None and not tracing.sites and all(r.transform in _JITS for r in tracing.roots)


def _specs(context: Context, root: Root, name: str, place: int | None) -> Iterator[Finding]:
    """Yield the specs of shard_map, and shardings of jit, that are more or fewer than the arguments of the function."""
    specs = option(root, name, place)
    count = _length(context, specs, root) if specs is not None else None
    function = root.function
    if specs is None or count is None or function.vararg is not None:
        return
    free = function.positional - skipped(root)
    needed = free - sum(param in function.defaults for param in list(function.params)[: function.positional])
    if not needed <= count <= free and not _overridden(context, root, count):
        message = f"`{name}` has {count} entr{'y' if count == 1 else 'ies'}, and {shown(function)} takes {free} "
        yield finding(
            RULE.code,
            root.scope,
            specs,
            f"{message}argument{_s(free)}",
            "give one spec for each argument: P() for what is the same on all devices"
            if name == "in_specs"
            else "give one sharding for each argument, or one for all without a tuple",
        )


def _rebound(root: Root) -> bool:
    """Say whether the function has its name from a variable that has been bound to others too."""
    given = getattr(root.node, "args", ())[:1]
    value = root.scope.module.values.get(given[0]) if given else None
    return isinstance(value, Free) and len(value.scope.bindings.get(value.name, ())) > 1


def _sizes(context: Context, root: Root, axes: ast.expr | None) -> Iterator[Finding]:
    """Yield the calls with arrays of known shapes that are of different lengths along the mapped axes."""
    for event in calls_of(context, root):
        if event.value.starred or not _outermost(context, event, root):
            continue
        if len(event.value.args) + len(event.value.keywords) < 2:
            continue
        if arguments(event, root) != len(event.node.args) or event.scope.module not in context.asked:
            continue
        sizes: dict[int, str] = {}
        for node, argument, axis in _mapped_arguments(event, axes):
            members = stack_size(context, argument, event.scope) if axis == 0 and type(axis) is int else None
            if members is not None:
                sizes.setdefault(members, f"{members} models of `{ast.unparse(node)}`")
                continue
            for part in _leaves(context, context.flow.here(argument, event.scope)):
                shape = shape_of(context, part)
                if isinstance(axis, int) and 0 <= axis < len(shape) and (size := shape[axis]) is not None:
                    sizes.setdefault(size, f"{size} of `{ast.unparse(node)}`")
        if len(sizes) > 1:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{_mapped(root)} is mapped over axes of different lengths: {', '.join(sizes.values())}",
                "give the axes of the batch in in_axes, and None for what is the same for all",
            )


def _mapped_arguments(event: CallEvent, axes: ast.expr | None) -> Iterator[tuple[ast.expr, Value, object]]:
    """Yield the arguments of a call with the axes that they are mapped over: those by name always over the first."""
    every: object = 0 if axes is None else constant(axes)
    for place, (node, value) in enumerate(zip(event.node.args, event.value.args, strict=True)):
        axis = every
        if isinstance(every, list | tuple):
            axis = every[place] if place < len(every) else None
        yield node, value, axis
    for given, (_, value) in zip(event.node.keywords, event.value.keywords, strict=True):
        yield given.value, value, 0


def _statistics(context: Context, root: Root, axes: ast.expr | None) -> Iterator[Finding]:
    """Yield the means and the like over the batch that are mapped with it: the first axis of the batch is gone."""
    for event in calls_of(context, root):
        if event.value.starred or not _outermost(context, event, root) or event.scope.module not in context.asked:
            continue
        if arguments(event, root) != len(event.node.args):
            continue
        mapped = [(node, value) for node, value, axis in _mapped_arguments(event, axes) if axis == 0]
        for node, value in mapped:
            whole = batch_statistic(context, value, event.scope, [one for _, one in mapped])
            if whole is None or context.bodies.guarded(event.node, event.scope):
                continue
            other = next(n for n, one in mapped if one is whole)
            text = event.scope.module.source.text
            by_name = any(node is given.value for given in event.node.keywords)
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"{_mapped(root)} is mapped over `{text(node)}`, which was taken over the first axis of "
                f"`{text(other)}` and has it no more"
                + ("; arguments by name are mapped over axis 0" if by_name else ""),
                "give it by its place, with None in in_axes",
            )
            break


def _trees(context: Context, root: Root, axes: ast.expr | None) -> Iterator[Finding]:
    """Yield the trees of weights without a common first axis that are mapped all the same."""
    if root.function.vararg is not None or isinstance(axes, ast.Dict | ast.Call | ast.Name):
        return
    for event in calls_of(context, root):
        if event.value.starred or arguments(event, root) != len(event.node.args):
            continue
        if len(event.node.args) + len(event.node.keywords) < 2:
            continue
        if event.scope.module not in context.asked or not _outermost(context, event, root):
            continue
        given = [(node, value) for node, value, _ in _mapped_arguments(event, axes)]
        for place, (node, value) in enumerate(given):
            named = place >= len(event.node.args)
            if isinstance(node, ast.Constant) or not (named or _mapped_at(axes, place)):
                continue
            counted = one_count(context, event, value, root.function) if not named else ""
            if counted and not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"{_mapped(root)} is mapped over `{event.scope.module.source.text(node)}`, and the count in the "
                    f"state that `{counted}` makes is one number without an axis",
                    "make one state for each: jax.vmap(optimizer.init)(params)",
                )
                break
            problem = uneven(context, event, value)
            if problem and not context.bodies.guarded(event.node, event.scope):
                rest = ", ".join("None" if i == place else "0" for i in range(len(event.node.args)))
                text = event.scope.module.source.text(node)
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"{_mapped(root)} is mapped over the leaves of `{text}`, which have no common axis: {problem}",
                    "arguments by name are mapped over axis 0: give it by its place, with None in in_axes"
                    if named
                    else f"give in_axes=({rest}) if it is the same for all",
                )
                break


def _mapped_at(axes: ast.expr | None, place: int) -> bool:
    """Say whether the first axis of an argument is mapped."""
    if isinstance(axes, ast.Tuple | ast.List):
        axes = axes.elts[place] if place < len(axes.elts) else ast.Constant(None)
    return axes is None or (isinstance(axes, ast.Constant) and axes.value == 0 and axes.value is not None)


def _leaves(context: Context, value: Bound, depth: int = 0) -> Iterator[Bound]:
    """Yield the parts of a dict or tuple that are written there, or a value itself."""
    found = context.flow.resolve(value)
    if depth > 3 or not isinstance(found.value, Mapping | Sequence):
        yield value
        return
    parts = found.value.items if isinstance(found.value, Sequence) else [part for _, part in found.value.items]
    for part in parts:
        yield from _leaves(context, context.flow.with_value(found, part), depth + 1)


def _numbers(context: Context, root: Root, axes: ast.expr | None) -> Iterator[Finding]:
    """Yield the numbers that a batched function is given where it maps over an axis."""
    if root.transform not in {"jax.vmap", "flax.nnx.vmap"} or root.function.vararg is not None:
        return
    for event in calls_of(context, root):
        if (
            event.value.starred
            or arguments(event, root) != len(event.node.args)
            or not _outermost(context, event, root)
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        for place, argument in enumerate(event.node.args):
            if not _number(context, argument, event):
                continue
            axis = axes
            if isinstance(axes, ast.Tuple | ast.List):
                axis = axes.elts[place] if place < len(axes.elts) else ast.Constant(None)
            if axis is None or (isinstance(axis, ast.Constant) and isinstance(axis.value, int)):
                yield finding(
                    RULE.code,
                    event.scope,
                    argument,
                    f"{_mapped(root)} is mapped over an axis of this number, which has none",
                    "give in_axes with None for what is the same for all",
                )
        if root.transform == "jax.vmap" and (_length(context, axes, root) if axes is not None else None) in {
            None,
            len(event.node.args),
        }:
            yield from _named_numbers(context, root, event)


def _named_numbers(context: Context, root: Root, event: CallEvent) -> Iterator[Finding]:
    """Yield the numbers that a batched function is given by name, which in_axes says nothing of."""
    if context.bodies.guarded(event.node, event.scope):
        return
    for given in event.node.keywords:
        if given.arg is not None and _number(context, given.value, event):
            yield finding(
                RULE.code,
                event.scope,
                given.value,
                f"{_mapped(root)} is mapped over the first axis of all that it is given by name, and this number has "
                "none",
                f"bind it before: jax.vmap(functools.partial(f, {given.arg}=...), ...), or give it by its place with "
                "None in in_axes",
            )


def _number(context: Context, node: ast.expr, event: CallEvent) -> bool:
    """Say whether an argument is a number on every way to a call, as far as its text and the callers tell."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    value = event.scope.module.values.get(node)
    if value is None or not isinstance(node, ast.Name | ast.Attribute | ast.Call):
        return False
    if context.traced.get(event.scope.function) is not None or context.bodies.guarded(event.node, event.scope):
        return False  # a scalar of one example may be an array of many
    found = Arrays(context, {}).of(value, event.scope)
    return found.axes == 0 and found.number is not None and found.weak  # one of Python


def _outermost(context: Context, event: CallEvent, root: Root) -> bool:
    """Say whether a call calls what the transform made, and not what another one made of that, but jit."""
    node = None
    for layer in layers(context, context.flow.here(event.value.callee, event.scope)):
        node = getattr(layer.value, "node", None)
        if node is root.node or context.flow.calls.callee_name(layer) not in COMPILING:
            break
    return node is root.node if not root.decorator else len(getattr(root.function.node, "decorator_list", ())) == 1


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _keywords(event: CallEvent) -> str:
    return "; arguments by name are mapped over axis 0" if event.node.keywords else ""


def _length(context: Context, axes: ast.expr, root: Root) -> int | None:
    """Return for how many arguments axes are given; None if one entry stands for all, or they are not known."""
    if isinstance(axes, ast.Tuple | ast.List):
        return len(axes.elts) if not any(isinstance(e, ast.Starred) for e in axes.elts) else None
    found = resolved(context, axes, root.scope)
    if found is None or not isinstance(found.value, Sequence) or not isinstance(found.value.node, ast.Tuple | ast.List):
        return None
    return len(found.value.items) if not any(isinstance(e, ast.Starred) for e in found.value.node.elts) else None


RULE = lint_rule(
    "NNX867",
    "axes-for-other-arguments",
    "in_axes or in_specs has another length than the positional arguments, or out_axes than the results",
    why="""\
`in_axes` has one entry for each positional argument of a call. Arguments by name are not counted: they are always
mapped over their first axis. Another number raises a ValueError. The same holds of the `in_specs` of `shard_map`, and
of the results: a tuple as `out_axes`, `out_specs` or `out_shardings` has an entry for each part of the tuple that the
function returns. A function that returns one array takes one of them without a tuple around it.
""",
    source="jax issues 7465 and 17747, google/flax#5411; measured: ValueError on Flax 0.10.7 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def predict(params, x, scale):
    return x @ params * scale


def batched(params, xs):
    return jax.vmap(predict, in_axes=(None, 0))(params, xs, 2.0)
""",
        """\
import jax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))


def local_loss(weights, batch):
    return jax.lax.pmean(((batch @ weights) ** 2).mean(), "data")


loss = jax.shard_map(local_loss, mesh=mesh, in_specs=(P("data"),), out_specs=P())
""",
    ),
    clean=(
        """\
import jax


def predict(params, x, scale=1.0):
    return x @ params * scale


def batched(params, xs):
    return jax.vmap(predict, in_axes=(None, 0))(params, xs)
""",
        """\
from functools import partial

import jax


class Scale:
    @partial(jax.vmap, in_axes=(None, 0))
    def apply(self, x):
        return 2 * x


def applied(scale, xs):
    return Scale.apply(scale, xs)
""",
    ),
)
