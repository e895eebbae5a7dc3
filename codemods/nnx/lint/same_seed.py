"""NNX836: members of an ensemble, or of a batch, that draw from one key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import calls_of, option, skipped
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.augmented_alike import augmented_alike
from codemods.nnx.lint.broadcast_streams import broadcast_streams
from codemods.nnx.lint.cloned_members import cloned_members
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import draws
from codemods.nnx.lint.mapped_key import one_key
from codemods.nnx.lint.modes import file_speaks
from codemods.nnx.lint.moved_alike import moved_alike
from codemods.nnx.lint.names import BATCHING, NOT_CONSUMING, TREE_MAPS, last
from codemods.nnx.lint.places import foreign, in_test, kinds_of, shown
from codemods.nnx.lint.syntax import argument, constant, is_none, new_axis
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Item, Loop, Param, Unknown, Value

#: Where a file speaks of these, the mode of a model may be set elsewhere
MODES = (b".eval(", b"deterministic", b"set_attributes", b".view(")
_KEYS = pattern(r"(rng_?)?key|seed|rng")
#: What makes streams or a key of a number.
SEEDS = frozenset({"flax.nnx.Rngs", "jax.random.key", "jax.random.PRNGKey"})
_HELP = "split the streams: @nnx.split_rngs(splits=n) around @nnx.vmap, or jax.random.split(key, n)"
_MODEL_HELP = (
    "split its streams: @nnx.split_rngs(splits=n) around nnx.vmap, and nnx.StateAxes({nnx.RngState: 0, ...: None}) for "
    "the model in in_axes"
)
_SCAN_HELP = "split the streams: @nnx.split_rngs(splits=n) around @nnx.scan, with 0 for them in in_axes, or carry them"
_KEY_HELP = "map over a key for each member: jax.random.split(key, n) as an argument, with 0 for it in in_axes"


# parameters by which a function gets a key of its own, so that one made inside is for show
_OWN = frozenset({"key", "rng", "rng_key", "rngs", "seed"})


def _check(context: Context) -> Iterator[Finding]:
    mapped: dict[FunctionFacts, Root] = {}
    for root in context.traced.roots:
        if root.transform in BATCHING and not in_test(root.scope):
            mapped[root.function] = root
            yield from _of_members(context, root)
    for scope, node, name in cloned_members(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"all members are copies of `{name}`, and learn from the same data: they stay equal",
            "make each of them with streams of its own: [Model(rngs) for _ in range(n)]",
        )
    for root, axis, shared in broadcast_streams(context):
        words = f"every round of the scan begins with `{shared}` as it was, so that all rounds draw the same numbers"
        yield finding(RULE.code, root.scope, axis, words, _SCAN_HELP)
    yield from _copied_keys(context)
    yield from _twins(context)
    yield from _split_inside(context)
    yield from _never_split(context)
    yield from _made_inside(context, mapped)


def _of_members(context: Context, root: Root) -> Iterator[Finding]:
    """Yield what makes all members of a mapped function draw the same numbers."""
    axes = option(root, "in_axes", 1) or root.node
    param = _shared(context, root)
    if param is not None:
        words = f"`{param}` of {shown(root.function)} is the same for all members, so that all are equal"
        yield finding(RULE.code, root.scope, axes, words, _HELP if root.transform.startswith("flax.") else _KEY_HELP)
    alike = _same_for_rows(context, root) if param is None else None
    if alike is not None:
        words = f"all rows draw with the key `{alike}`, and nothing else tells them apart: their results are equal"
        yield finding(RULE.code, root.scope, axes, words, _KEY_HELP)
        return
    taken = _captured_key(context, root) or _only_key(context, root)
    if taken is not None:
        words = f"the key `{taken}` is taken from outside, so that all members draw the same numbers"
        yield finding(RULE.code, root.scope, root.node, words, _KEY_HELP)
        return
    lonely = not (_within(context, root) or _mapped_by_another(context, root))
    drawn = _equal_draws(context, root) if param is None and lonely else None
    if drawn is not None:
        name, kind = drawn
        words = (
            f"the {kind} `{name}` of {shown(root.function)} is the same for all members, "
            "so that all draw the same numbers"
        )
        help = {"key": _KEY_HELP, "model": _MODEL_HELP}.get(kind, _HELP)
        yield finding(RULE.code, root.scope, axes, words, help)


def _made_inside(context: Context, mapped: dict[FunctionFacts, Root]) -> Iterator[Finding]:
    """Yield the streams and keys that a mapped function makes of the same seed for all members."""
    for event, name in foreign(context, "Rngs", "key", "PRNGKey") if mapped else ():
        function = event.scope.function
        given = event.value.given
        if name not in SEEDS or function not in mapped or not given or event.value.starred:
            continue
        if _OWN & set(function.params) or any(re.search("rng|key|seed", name) for name in function.params):
            continue  # what is made inside is an example of shapes, as a rule
        if name != "flax.nnx.Rngs" and _reads_params(function) and not _at_once(context, event.value, function):
            continue  # settings or data that are compared with the same numbers
        if name == "flax.nnx.Rngs" and _beside_mapped(context, event, mapped[function]):
            continue
        fixed = all(isinstance(v, Const) for v in given)
        if not fixed and (_reads_params(function) or not all(map(_of_outside, given))):
            continue
        if _drawn(context, event.value, function):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(function)} makes its seed itself, so that all members of the vmap are equal",
                _HELP,
            )


def _of_outside(value: Value) -> bool:
    """Say whether a value is a number, a variable of an outer scope, or an attribute of one: the same for all."""
    return isinstance(value, Const | Free) or (isinstance(value, Attr) and isinstance(value.base, Free))


def _beside_mapped(context: Context, event: CallEvent, root: Root) -> bool:
    """Say whether what is made with streams is given what is mapped over too, which may tell the members apart."""
    mapped = {name for name in root.function.params if name not in root.static}
    return any(
        {n.id for argument in given for n in ast.walk(argument) if isinstance(n, ast.Name)} & mapped
        for other in context.bodies.calls.get(event.scope, ())
        if event.node in (given := [*other.node.args, *(word.value for word in other.node.keywords)])
    )


def _split_inside(context: Context) -> Iterator[Finding]:
    """Yield the mapped functions that split their streams only within the map."""
    for root in context.traced.roots:
        if root.transform != "flax.nnx.vmap" or not root.decorator or in_test(root.scope):
            continue
        names = [_decorator(value) for value in root.function.decorators]
        if "split_rngs" in names and "vmap" in names and names.index("vmap") < names.index("split_rngs"):
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"{shown(root.function)} splits its streams within the map, when every member has its own already",
                "put @nnx.split_rngs above @nnx.vmap",
            )


def _never_split(context: Context) -> Iterator[Finding]:
    """Yield the mapped functions that are given streams along an axis that nothing gave them."""
    for root in context.traced.roots:
        function = root.function
        if root.transform != "flax.nnx.vmap" or in_test(root.scope) or root.bound or root.partial:
            continue
        if any(_splits(value) for value in function.decorators):
            continue
        axes = option(root, "in_axes", 1)
        parts = list(axes.elts) if isinstance(axes, ast.Tuple | ast.List) else [axes] * len(function.params)
        for param, axis in zip(function.params.values(), parts, strict=False):
            if axis is not None and not (isinstance(axis, ast.Constant) and type(axis.value) is int):
                continue
            calls = context.traced.calls_of(root)
            place = list(function.params).index(param.name)
            given = [call.value.argument(place, param.name) for call in calls]
            if calls and all(
                value is not None and not call.value.starred and _plain_streams(context, value, call)
                for value, call in zip(given, calls, strict=True)
            ):
                yield finding(
                    RULE.code,
                    root.scope,
                    root.node,
                    f"`{param.name}` of {shown(function)} has no axis to be mapped over: its streams are never split",
                    "put @nnx.split_rngs(splits=n) above @nnx.vmap",
                )


_SPLITTING = pattern(r"split|fork|rngs")


def _plain_streams(context: Context, value: Value, call: CallEvent) -> bool:
    """Say whether an argument is an nnx.Rngs as it was made of a seed, outside of a block that splits it."""
    blocks = (block for block, _ in context.bodies.paths(call.scope).get(call.node, ()))
    if any(_SPLITTING.search(ast.unparse(item)) for b in blocks if isinstance(b, ast.With) for item in b.items):
        return False
    sources = list(context.sources.originals(context.flow.here(value, call.scope)))
    return bool(sources) and all(
        isinstance(one.value, Call)
        and context.flow.calls.callee_name(one) == "flax.nnx.Rngs"
        and all(_seed(context, one, v) for v in one.value.given)
        for one in sources
    )


def _seed(context: Context, made: Bound, value: Value) -> bool:
    """Say whether an argument of an nnx.Rngs is one number, in whatever way it comes there."""
    if isinstance(value, Const):
        return True
    found = list(context.sources.originals(context.flow.with_value(made, value)))
    return bool(found) and all(isinstance(one.value, Const) and type(one.value.value) is int for one in found)


def _decorator(value: Value) -> str:
    while isinstance(value, Call):
        value = value.callee
    return str(getattr(value, "name", "")).rpartition(".")[2]


def _twins(context: Context) -> Iterator[Finding]:
    """Yield the members of an ensemble that a comprehension makes, each of the same seed and the same arguments."""
    makers: dict[ast.AST, CallEvent] = {}
    for event, name in foreign(context, "Rngs"):
        comprehension = next(iter(event.loops[-1:]), None)
        if name != "flax.nnx.Rngs" or not isinstance(comprehension, ast.comprehension) or in_test(event.scope):
            continue
        if event.value.starred or (not event.node.args and not event.node.keywords):
            continue
        given = event.value.given
        if isinstance(comprehension.iter, ast.Call) and last_word(comprehension.iter.func) == "range":
            if all(isinstance(value, Const | Param | Free | Attr) for value in given) and not all(
                isinstance(value, Const)
                for value in given  # which NNX831 speaks of
            ):
                makers[event.node] = event
    for event in context.asked.calls() if makers else ():
        arguments = [*event.node.args, *(k.value for k in event.node.keywords)]
        seed = next((makers[node] for node in arguments if node in makers), None)
        if seed is None or seed.loops != event.loops or Kind.MODULE not in kinds_of(context, event.value, event.scope):
            continue
        others = {n.id for a in arguments for n in ast.walk(a) if isinstance(n, ast.Name)}
        loop = event.loops[-1]
        assert isinstance(loop, ast.comprehension)
        if not others & {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}:
            yield finding(
                RULE.code,
                event.scope,
                seed.node,
                "every round makes the same weights: the seed and all other arguments are the same",
                "make the streams once, before, or give every member a seed of its own",
            )


def _mapped_by_another(context: Context, root: Root) -> bool:
    """Say whether another map around the same function goes over keys: the members of this one are told apart by it."""
    others = (one for one in context.traced.roots if one.function is root.function and one is not root)
    return any(
        _KEYS.search(name) is not None
        for one in others
        if one.transform in BATCHING and one.decorator and root.decorator
        for name in one.function.params
        if name not in one.static
    )


def _captured_key(context: Context, root: Root) -> str | None:
    """Return the name of a key of an outer scope that a mapped function draws with, in the shape of what is mapped."""
    function = root.function
    mapped = {name for name in function.params if name not in root.static}
    if root.bound or root.partial or any(_splits(value) for value in function.decorators):
        return None
    for event in context.bodies.calls.get(function.scope, ()):
        for position, value in enumerate(event.value.args):
            outer = _outer(value)
            if not outer or kinds_of(context, value, function.scope) != {Kind.KEY}:
                continue
            name = context.flow.calls.callee_name(context.flow.here(event.value, function.scope))
            if name:
                shapes = [n for a in event.node.args[1:] for n in ast.walk(a) if isinstance(n, ast.Attribute)]
                drawing = name.startswith("jax.random.") and last(name) not in NOT_CONSUMING and position == 0
                if drawing and any(_shape_of(n, mapped) for n in shapes):
                    return outer
                continue
            for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, function.scope)):
                parts = {
                    one
                    for one, argument in ((p, context.flow.argument(frame, p)) for p in callee.function.params)
                    if argument is not None and isinstance(argument.value, Param) and argument.value.name in mapped
                }
                for param in callee.function.params.values():
                    given = context.flow.argument(frame, param.name)
                    if given is not None and given.value is value and _noise(context, param, callee.function, parts):
                        return outer
    return None


def _outer(value: Value) -> str:
    """Return the name of a variable of an outer scope, or of an attribute of its value; empty for others."""
    if isinstance(value, Attr) and isinstance(value.base, Free) and not value.of_global:
        return f"{value.base.name}.{value.name}"
    return value.name if isinstance(value, Free) else ""


def _only_key(context: Context, root: Root) -> str | None:
    """Return the name of a key of an outer scope that a mapped function uses, and nothing of what it is mapped over."""
    function = root.function
    if root.bound or root.partial or not function.params or function.vararg or function.decorators:
        return None
    names = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if names & set(function.params):
        return None
    for event in context.bodies.calls.get(function.scope, ()):
        for value in event.value.given:
            if isinstance(value, Free) and kinds_of(context, value, function.scope) == {Kind.KEY}:
                return value.name
    return None


def _same_for_rows(context: Context, root: Root) -> str | None:
    """Return the name of the one key that all members draw with, where all else that they get is the same as well."""
    function = root.function
    if function.vararg or option(root, "axis_name") is not None:
        return None
    if any(_splits(value) for value in function.decorators) or _within(context, root):
        return None
    if _mapped_by_another(context, root):
        return None
    before = _before(context, root)
    if before is None:
        return None
    axes = option(root, "in_axes", 1)
    params = _given(root, axes, before)
    parts: list[ast.expr | None] = [*axes.elts] if isinstance(axes, ast.Tuple | ast.List) else [axes] * len(params)
    if len(parts) != len(params) or not all(part is None or isinstance(part, ast.Constant) for part in parts):
        return None
    shared = [p for p, a in zip(params, parts, strict=True) if is_none(a)]
    mapped = [p for p in params if p not in shared]
    if not mapped or any(isinstance(a, ast.Constant) and a.value not in {None, 0} for a in parts):
        return None
    key = next((p.name for p in (*before, *shared) if _draws_with(context, p, function, 0)), None) or _free_key(
        context, function
    )
    if key is None or function.scope.module.source.mentions(b"axis_index"):
        return None
    read = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    calls = [*calls_of(context, root)]  # also behind jax.jit(jax.vmap(f))
    if not calls or any(event.value.starred or in_test(event.scope) for event in calls):
        return None
    for param in mapped:
        if param.name not in read:
            continue
        for event in calls:
            given = _argument(root, event, params.index(param), param)
            if given is None and param.name in function.defaults:
                continue
            if (
                given is None
                or _of_any_caller(context, given)
                or not _rows_alike(context, context.flow.here(given, event.scope), 0)
            ):
                return None
    return key


def _copied_keys(context: Context) -> Iterator[Finding]:
    """Yield the calls of ``vmap`` and ``pmap`` that map over copies of one key."""
    for root in context.traced.roots:
        function = root.function
        if root.transform not in {*BATCHING, "jax.pmap"} or function.scope.module.source.mentions(b"axis_index"):
            continue
        if any(isinstance(n, ast.Name | ast.Attribute) and last_word(n) == "fold_in" for n in ast.walk(function.node)):
            continue  # with a number of the member's own
        before, axes = _before(context, root), option(root, "in_axes", 1)
        params = _given(root, axes, before) if before is not None else []
        parts = [*axes.elts] if isinstance(axes, ast.Tuple | ast.List) else [axes] * len(params)
        for event in calls_of(context, root) if len(parts) == len(params) else ():
            if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
                continue
            if (root.transform == "jax.pmap" and _INIT.search(function.name)) or _own_keys(context, event):
                continue
            for place, param in enumerate(params):
                given = _argument(root, event, place, param)
                if parts[place] is not None and constant(parts[place]) != 0:
                    continue
                if not isinstance(given, Call | Free) or not _draws_with(context, param, function, 0):
                    continue
                if _rows_alike(context, context.flow.here(given, event.scope), 0) or _spread(context, given, event):
                    yield finding(
                        RULE.code,
                        event.scope,
                        event.node,
                        f"all keys for `{param.name}` are copies of one, so that all members draw the same numbers",
                        "give every member a key of its own: jax.random.split(key, n)",
                    )


# what begins with the same weights on all devices
_INIT = pattern(r"(^|_)(init\w*|setup|(create|make|build|new)_(\w+_)?(state|params|model|variables|weights))(_|$)")


def _own_keys(context: Context, event: CallEvent) -> bool:
    """Say whether a call gives the members keys of their own too: what is the same for all is meant to be."""
    given = event.value.given
    return any(
        context.flow.calls.callee_name(source) == "jax.random.split"
        for value in given
        for source in context.sources.originals(context.flow.here(value, event.scope))
        if isinstance(source.value, Call)
    )


def _argument(root: Root, event: CallEvent, place: int, param: Param) -> Value | None:
    """Return what a call of a mapped function gives a parameter; the object of a decorated method is no argument."""
    function = root.function
    own = int(root.decorator and function.owner is not None and function.binding == "instance")
    return event.value.argument(place - own, param.name) if place >= own else None


def _spread(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is one key in all places of an array: spread, repeated, or stacked several times."""
    found = context.flow.resolve(context.flow.here(value, event.scope))
    word = last(context.flow.calls.callee_name(found)) if isinstance(found.value, Call) else ""
    if not isinstance(found.value, Call) or word not in _SPREADING or not found.value.node.args:
        return False
    node = found.value.node.args[0]
    if word in {"stack", "array", "asarray"}:
        several = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None
        display = several if isinstance(several, ast.List) else None
        node = display.elts[0] if display is not None and len(display.elts) == 1 else node
        if display is None:
            return False
    while isinstance(node, ast.Subscript) and is_none(node.slice):
        node = node.value
    scope = context.bodies.home(found.value.node) or event.scope
    key = scope.module.values.get(node)
    return key is not None and one_key(context, context.flow.here(key, scope))


_SPREADING = frozenset({"broadcast_to", "repeat", "tile", "stack", "array", "asarray"})


def _of_any_caller(context: Context, value: Value) -> bool:
    """Say whether a value is a parameter of a method, or of a function that tests call, who show examples of it."""
    while isinstance(value, Attr | Item | Loop):
        value = value.before if isinstance(value, Loop) else value.base
    if not isinstance(value, Param) or value is value.function.self_param:
        return False
    callers = context.flow.sites.callers(value.function)
    return value.function.owner is not None or any(in_test(caller.scope) for caller in callers)


def _before(context: Context, root: Root) -> list[Param] | None:
    """Return the parameters that ``functools.partial`` gives a mapped function; None if they are not known."""
    if not root.partial:
        return []
    made = root.node.args[0] if isinstance(root.node, ast.Call) and root.node.args else None
    value = root.scope.module.values.get(made) if made is not None else None
    callees = context.flow.calls.callables(context.flow.here(value, root.scope)) if value is not None else []
    found = context.flow.resolve(context.flow.here(value, root.scope)).value if value is not None else None
    if len(callees) != 1 or not isinstance(found, Call) or found.starred or callees[0].function is not root.function:
        return None
    params = list(root.function.params.values())[skipped(root) :]
    named = {name for name, _ in callees[0].keywords}
    return params[: len(callees[0].args)] + [p for p in params[len(callees[0].args) :] if p.name in named]


def _given(root: Root, axes: ast.expr | None, before: Iterable[Param] = ()) -> list[Param]:
    """Return the parameters that a tuple of axes speaks of: those behind it keep their defaults.

    Args:
        root: the transform.
        axes: its ``in_axes``.
        before: the parameters that the function has already.
    """
    function = root.function
    params = [p for p in list(function.params.values())[skipped(root) :] if p not in before]
    if isinstance(axes, ast.Tuple | ast.List) and all(p.name in function.defaults for p in params[len(axes.elts) :]):
        return params[: len(axes.elts)]
    return params


def _free_key(context: Context, function: FunctionFacts) -> str | None:
    """Return the name of a key of an outer scope that a function draws with."""
    for event in context.bodies.calls.get(function.scope, ()):
        for value in event.value.given:
            if isinstance(value, Free) and kinds_of(context, value, function.scope) == {Kind.KEY}:
                if _draws_with(context, value, function, 0):
                    return value.name
    return None


def _draws_with(context: Context, key: Value, function: FunctionFacts, depth: int) -> bool:
    """Say whether a function draws with a key, or with what it splits of it, itself or by other functions."""
    for event in context.bodies.calls.get(function.scope, ()):
        given = event.value.given
        if not any(_is_key(value, key) for value in given):
            continue
        name = context.flow.calls.callee_name(context.flow.here(event.value, function.scope))
        if name:
            first = event.value.argument(0, "key")
            if name.startswith("jax.random.") and first is not None and _is_key(first, key):
                return True
            if name == "flax.nnx.Rngs":
                return True
            continue
        for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, function.scope)):
            for param in callee.function.params.values():
                argument = context.flow.argument(frame, param.name)
                if argument is not None and _is_key(argument.value, key) and depth < _HELPERS:
                    if _draws_with(context, param, callee.function, depth + 1):
                        return True
    return False


def _is_key(value: Value, key: Value) -> bool:
    """Say whether a value is a key, in the first round at least of a loop that splits it."""
    while isinstance(value, Loop):
        value = value.before
    return value == key


_HELPERS = 3  # functions that hand a key on


def _rows_alike(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether all rows of an array are equal for certain, as those of ``jnp.zeros((n, 3))`` are."""
    sources = context.sources.originals(bound)
    return bool(sources) and depth < _HELPERS and all(_alike(context, one, depth) for one in sources)


def _alike(context: Context, source: Bound, depth: int) -> bool:
    made = source.value
    if isinstance(made, Unknown) and isinstance(made.node, ast.BinOp):
        scope = next(
            (context.bodies.home(n) for n in (made.node.left, made.node.right) if isinstance(n, ast.Call)), None
        )
        sides = [side for side in (made.node.left, made.node.right) if not isinstance(side, ast.Constant)]
        arrays = [scope.module.values.get(side) for side in sides] if scope else []
        return bool(arrays) and all(
            side is not None and scope is not None and _rows_alike(context, context.flow.here(side, scope), depth + 1)
            for side in arrays
        )
    name = context.flow.calls.callee_name(source)
    if isinstance(made, Call) and name in TREE_MAPS and not made.starred:
        leaves = context.flow.calls.callables(context.flow.with_value(source, made.args[0])) if made.args else []
        given = leaves[0].function if len(leaves) == 1 else None
        return given is not None and len(given.returns) == 1 and depth < _HELPERS and _alike(
            context, context.flow.here(given.returns[0], given.scope), depth + 1
        )  # fmt: skip
    if isinstance(made, Call) and not name and isinstance(made.callee, Attr) and made.callee.name == "repeat":
        func = made.node.func
        return made.argument(1, "axis") == Const(0) and isinstance(func, ast.Attribute) and _one_row(func.value)
    if not isinstance(made, Call) or made.starred or not name.startswith(("jax.numpy.", "numpy.")):
        return False
    word, first = last(name), made.node.args[0] if made.node.args else None
    if word in {"zeros", "ones", "zeros_like", "ones_like"}:
        return first is not None
    if word == "full":
        fill = made.argument(1, "fill_value")
        return fill is not None and isinstance(context.flow.follow(source, fill).value, Const)
    if word in {"array", "asarray", "stack"}:  # [x] * n
        if word == "stack" and isinstance(first, ast.ListComp) and len(first.generators) == 1:  # [x for _ in range(n)]
            target = first.generators[0].target
            same = isinstance(first.elt, ast.Name) and isinstance(target, ast.Name) and first.elt.id != target.id
            return same and len(made.args) == 1 and not made.keywords
        return isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult) and any(
            isinstance(side, ast.List) and len(side.elts) == 1 for side in (first.left, first.right)
        )  # fmt: skip
    if word == "repeat" and first is not None:  # x[None], n, axis=0
        return made.argument(2, "axis") == Const(0) and _one_row(first)
    if word == "tile" and len(made.args) == 2:  # x, (n, 1)
        times = made.node.args[1]
        if not isinstance(times, ast.Tuple) or any(constant(part) != 1 for part in times.elts[1:]):
            return False
        return Arrays(context, {}).of_bound(context.flow.follow(source, made.args[0])).axes == len(times.elts) - 1
    if word == "broadcast_to":  # x, (n, *x.shape)
        shape = made.node.args[1] if len(made.node.args) > 1 else None
        if isinstance(shape, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in shape.elts):
            axes = Arrays(context, {}).of_bound(context.flow.follow(source, made.args[0])).axes
            return axes is not None and axes < len(shape.elts)
        if isinstance(shape, ast.BinOp) and isinstance(shape.left, ast.Tuple):
            return last_word(shape.right) == "shape"
        return isinstance(shape, ast.Tuple) and len(shape.elts) == 2 and isinstance(shape.elts[1], ast.Starred)
    return False


def _one_row(node: ast.expr) -> bool:
    """Say whether an array has one row for certain: ``x[None]``, ``jnp.expand_dims(x, 0)``, ``x.reshape(1, -1)``."""
    if isinstance(node, ast.Subscript):
        return new_axis(first_element(node.slice))
    if not isinstance(node, ast.Call):
        return False
    if last_word(node.func) == "expand_dims":
        return constant(argument(node, 1, "axis")) == 0
    shape = first_element(node.args[0]) if node.args else None
    return last_word(node.func) == "reshape" and isinstance(node.func, ast.Attribute) and constant(shape) == 1


def _shape_of(node: ast.Attribute, names: set[str]) -> bool:
    return node.attr == "shape" and isinstance(node.value, ast.Name) and node.value.id in names


def _within(context: Context, root: Root) -> bool:
    """Say whether a ``vmap`` goes over what another one makes: one may split what the other leaves alone."""
    calls, mapped = context.shared(_vmaps)
    return root.node in mapped or any(node in calls for node in getattr(root.node, "args", ())[:1])


def _vmaps(context: Context) -> tuple[set[ast.AST], set[ast.AST]]:
    """Return the calls of ``vmap``, and what they are given first."""
    calls = [event.node for event, _ in foreign(context, "vmap")]
    return {*calls}, {node for call in calls for node in call.args[:1]}


def _equal_draws(context: Context, root: Root) -> tuple[str, str] | None:
    """Return a parameter that is not mapped and from which all members draw the same numbers, with what it is."""
    axes = option(root, "in_axes", 1)
    if root.partial or axes is None:
        return None
    function = root.function
    params = _given(root, axes)
    parts = axes.elts if isinstance(axes, ast.Tuple | ast.List) else [axes] * len(params)
    if len(parts) != len(params) or any(_splits(value) for value in function.decorators):
        return None
    unmapped = [p for p, a in zip(params, parts, strict=True) if is_none(a)]
    if len(unmapped) == len(params) and option(root, "axis_size") is None:
        return None
    if alike := moved_alike(context, root, unmapped, [p for p in params if p not in unmapped]):
        return alike, "key"
    drawing = [p for p in unmapped if _draws_with(context, p, function, 0)]
    if drawing and len(unmapped) == len(params) and option(root, "axis_name") is None:
        return drawing[0].name, "key"  # as many copies of one draw as axis_size says
    if alike := augmented_alike(context, root, drawing, [p for p in params if p not in unmapped]):
        return alike, "key"
    called = {event.value.callee for event in context.bodies.calls.get(function.scope, ()) if event.value.args}
    for param in unmapped:
        if _noise(context, param, function, {p.name for p in params} - {p.name for p in unmapped}):
            return param.name, "key"
        if param in called and not file_speaks(context, MODES, root):
            sources = context.sources.originals(context.flow.here(param, function.scope))
            if any(_drops(context, source) for source in sources):
                return param.name, "model"
    return None


def _drops(context: Context, source: Bound) -> bool:
    """Say whether a model is, or directly holds, a dropout that draws masks."""
    flow = context.flow
    cls = flow.classes.class_of(source)
    held = [source] if cls is None else [
        flow.resolve(flow.here(value, function.scope))
        for parent in flow.classes.mro(cls)[0]
        for stores in parent.stores.values()
        for function, value in stores
    ]  # fmt: skip
    return any(flow.calls.callee_name(one) == "flax.nnx.Dropout" and draws(context, one) for one in held)


def _shared(context: Context, root: Root) -> str | None:
    """Return a parameter with streams or a key that is not mapped, and of which something is made all the same."""
    axes = option(root, "in_axes", 1)
    if axes is None or root.partial:
        return None
    function = root.function
    if any(_splits(value) for value in function.decorators):
        return None
    params = list(function.params.values())[skipped(root) :]
    parts: list[ast.expr] = [axes] * len(params) if not isinstance(axes, ast.Tuple | ast.List) else list(axes.elts)
    unmapped = [p for p, a in zip(params, parts, strict=False) if is_none(a)]
    if not any(re.search("rng|stream|key|seed", p.name) or "Rngs" in _note(p) for p in unmapped):
        return None
    if isinstance(axes, ast.Constant) and option(root, "axis_size") is None:
        return None
    for param in unmapped:
        kinds = kinds_of(context, param, function.scope)
        streams = Kind.RNGS in kinds or (not kinds and param.name == "rngs")
        if (
            (streams or _KEYS.fullmatch(param.name))
            and _makes(context, function, param)
            and all(u in unmapped for u in params if _matters(context, u))
        ):
            return param.name
    return None


def _at_once(context: Context, key: Value, function: FunctionFacts) -> bool:
    """Say whether a function itself draws from a key or its parts, and not what it gives them to."""
    for event in context.bodies.calls.get(function.scope, ()):
        first = event.value.argument(0, "key")
        while isinstance(first, Item):
            first = first.base
        if isinstance(first, Call) and first is not key and first.args[:1] == (key,):
            first = first.args[0]
        name = context.flow.calls.name(event) if first is key else ""
        if name.startswith("jax.random.") and last(name) != "split" and last(name) not in NOT_CONSUMING:
            return True
    return False


def _reads_params(function: FunctionFacts) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id in function.params and isinstance(n.ctx, ast.Load)
        for n in ast.walk(function.node)
    )


def _note(param: Param) -> str:
    note = param.function.annotations.get(param.name)
    return ast.unparse(note) if note is not None else ""


def _matters(context: Context, param: Param) -> bool:
    """Say whether a parameter may make the members differ: a key or streams."""
    kinds = kinds_of(context, param, param.function.scope)
    return bool(kinds & {Kind.RNGS, Kind.KEY, Kind.STREAM}) or param.name in {"rngs", "rng", "key", "seed", "keys"}


def _splits(decorator: Value) -> bool:
    value = decorator
    while isinstance(value, Call):
        value = value.callee
    name = getattr(value, "name", "")
    return str(name).rpartition(".")[2] in {"split_rngs", "fork_rngs"}


def _makes(context: Context, function: FunctionFacts, param: Param) -> bool:
    """Say whether a function makes a module with streams, and gives it back."""
    returned = {value for value in function.returns if isinstance(value, Call)}
    return any(
        Kind.MODULE in kinds_of(context, value, function.scope)
        and any(v == param or _seeded(context, v, param, function) for v in value.given)
        for value in returned
    ) or (function.name == "__init__" and function.owner is not None)


def _seeded(context: Context, value: Value, param: Param, function: FunctionFacts) -> bool:
    """Say whether a value is made of nothing but a key: ``nnx.Rngs(key)``."""
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    given = value.given
    return name in SEEDS and all(v == param or _seeded(context, v, param, function) for v in given)


def _noise(context: Context, key: Param, function: FunctionFacts, mapped: set[str], depth: int = 0) -> bool:
    """Say whether numbers are drawn for a part of the batch, in its shape: simulations may want the same numbers."""
    for event in context.bodies.calls.get(function.scope, ()):
        keys = [value for value in event.value.args if _split_of(context, value, key)]
        keys += [value for _, value in event.value.keywords if _split_of(context, value, key)]
        if not keys or len(event.node.args) + len(event.node.keywords) < 2:
            continue
        here = context.flow.here(event.value, function.scope)
        name = context.flow.calls.callee_name(here)
        if name.startswith("jax.random."):
            shapes = [n for a in event.node.args[1:] for n in ast.walk(a) if isinstance(n, ast.Attribute)]
            first = event.value.argument(0, "key") is keys[0]
            if first and last(name) not in NOT_CONSUMING and any(_shape_of(n, mapped) for n in shapes):
                return True
            continue
        for callee, frame in context.flow.calls.invoked(here) if not name and depth < _HELPERS else ():
            given = {param: context.flow.argument(frame, param.name) for param in callee.function.params.values()}
            parts = {
                param.name
                for param, argument in given.items()
                if argument is not None and isinstance(argument.value, Param) and argument.value.name in mapped
                and argument.value.function is function
            }  # fmt: skip
            for param, held in given.items() if parts else ():
                if held is not None and held.value in keys:
                    if _noise(context, param, callee.function, parts, depth + 1):
                        return True
    return False


def _split_of(context: Context, value: Value | None, key: Param) -> bool:
    """Say whether a value is a key, or one of those that ``jax.random.split`` makes of it."""
    if isinstance(value, Item) and isinstance(value.base, Call) and value.base.args[:1] == (key,):
        name = context.flow.calls.callee_name(context.flow.here(value.base, key.function.scope))
        return name == "jax.random.split"
    return value is key


def _drawn(context: Context, seed: Value, function: FunctionFacts) -> bool:
    """Say whether layers or numbers are made of a seed."""
    for event in context.bodies.calls.get(function.scope, ()):
        given = event.value.given
        if not any(value is seed for value in given):
            continue
        name = context.flow.calls.callee_name(context.flow.here(event.value, function.scope))
        if name.startswith("jax.random."):
            if event.value.argument(0, "key") is not seed:
                continue
            if last(name) == "fold_in":
                return False
            if last(name) not in NOT_CONSUMING:
                return True
        elif isinstance(seed, Call) and Kind.MODULE in kinds_of(context, event.value, function.scope):
            return True  # a parameter may be a state that is merged
    return False


RULE = lint_rule(
    "NNX836",
    "equal-members",
    "an ensemble or batch by vmap, or layers of nnx.scan, that all use one seed",
    why="""\
A function under `vmap` runs once for all members. A seed that is made inside, or streams that are not mapped, are the
same for all of them: an ensemble of equal models, the same noise for every example. `nnx.scan` likewise gives streams
without an axis to every round as they were before the first, so that all layers of a stack drop the same units.
""",
    source="flax issues 4153, 4195 and 4589, jax issue 7708; measured on Flax 0.10.7 and 0.12.8: equal weights",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


@nnx.vmap
def make(index):
    return nnx.Linear(4, 2, rngs=nnx.Rngs(0))


ensemble = make(jnp.arange(5))
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.split_rngs(splits=5)
@nnx.vmap(in_axes=(0,), out_axes=0)
def make(rngs):
    return nnx.Linear(4, 2, rngs=rngs)


ensemble = make(nnx.Rngs(0))
""",
    ),
)
