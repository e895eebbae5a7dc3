"""NNX820: Python decides about a traced value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Frame
from codemods.nnx.lint.arrays import Arrays, made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.dynamic_shape import sliced_with, told_of_shapes
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import only_tried, traced_bodies
from codemods.nnx.lint.scheduled import counts, of_count, schedules
from codemods.nnx.lint.static_flag import flag_roots, flags_of
from codemods.nnx.lint.status import Grade, Status
from codemods.nnx.lint.syntax import is_none
from codemods.nnx.lint.traced import original, root_param
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Call,
    Changed,
    Comprehension,
    Const,
    Each,
    Free,
    Item,
    Loop,
    Mapping,
    Param,
    Sequence,
    Unknown,
)

_WAYS = {
    "if": "use jnp.where, or jax.lax.cond (nnx.cond for functions of NNX objects)",
    "while": "use jax.lax.while_loop (nnx.while_loop for functions of NNX objects)",
    "assert": "use jax.experimental.checkify, or check outside of the compiled function",
    "operator": "use jnp.where, or the operators & | ~ of arrays",
    "order": "use jnp.maximum, jnp.minimum or jnp.sort",
}


# the nodes that may ask for the truth of something
_ASKING = frozenset({ast.If, ast.IfExp, ast.While, ast.Assert, ast.comprehension, ast.Match, ast.BoolOp, ast.UnaryOp,
                     ast.Compare, ast.Call})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    flags = {root.function.params[name] for root in flag_roots(context) for name in flags_of(context, root)}
    for function, tracing in traced_bodies(context, level=0):
        if only_tried(context, tracing) or _never_done(function):
            continue
        seen: set[ast.expr] = set()
        settled: frozenset[str] | None = None
        chained: set[ast.AST] = set()  # `elif`s behind a condition that was told of
        for node in context.bodies.nodes(function.scope):
            if type(node) not in _ASKING or node in chained or context.bodies.guarded(node, function.scope):
                continue
            for place, way in _decisions(node):
                if place in seen:
                    continue
                if _container(node, place, function):
                    seen.add(place)
                    continue
                if _flag(node, place, function, flags):
                    seen.add(place)
                    continue  # NNX822 tells how to mend it
                if _told_apart(context, place, function):
                    continue
                if settled is None:
                    settled = _settled(context, function)
                if _with_others(context, node, place, function, settled):
                    continue
                if (
                    _stands_in(context, node, place, function)
                    or (_optional(place, function) and _called_with_array(context, place, function))
                    or (context.taint.node(place, function.scope) and _given(context, place, function))
                    if _optional(place, function)
                    else context.taint.array(place, function.scope) or _element(context, place, function)
                ):
                    yield _found(function, place, way)
                    chained.update(_elifs(node))
                    # the first operand that is traced raises, and what mends it takes the others in
                    seen.update(other for other, _ in _decisions(node))
                    break
            if isinstance(node, ast.Call) and _orders(context, node, function):
                yield _found(function, node, "order")
    for function, name in schedules(context):
        if function not in context.traced:
            yield from _in_schedule(context, function, of_count(context, function, name))


def _in_schedule(context: Context, function: FunctionFacts, names: frozenset[str]) -> Iterator[Finding]:
    """Yield the first decision of a schedule about the count of updates, which is traced in a compiled step."""
    for node in context.bodies.nodes(function.scope):
        if type(node) not in {ast.If, ast.IfExp, ast.While, ast.Call} or context.bodies.guarded(node, function.scope):
            continue
        place = node if isinstance(node, ast.Call) else node.test if isinstance(node, _BRANCHES) else None
        if place is not None and any(counts(one, names) for one in _compared(place)):
            yield finding(
                RULE.code,
                function.scope,
                place,
                "optax gives a schedule the count of updates, which a compiled step traces: Python cannot decide about "
                "it",
                "use jnp.where, or join schedules: optax.join_schedules([warmup, decay], [steps])",
            )
            return


_BRANCHES = (ast.If, ast.IfExp, ast.While)


def _compared(place: ast.expr) -> list[ast.expr]:
    """Return what a condition, or ``min`` or ``max``, decides about."""
    if isinstance(place, ast.Call):
        order = isinstance(place.func, ast.Name) and place.func.id in {"min", "max"}
        return place.args if order and len(place.args) > 1 else []
    if isinstance(place, ast.BoolOp):
        return [one for part in place.values for one in _compared(part)]
    if not isinstance(place, ast.Compare):
        return [place]
    if any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in place.ops):
        return []
    return [place.left, *place.comparators]


def _settled(context: Context, function: FunctionFacts) -> frozenset[str]:
    """Return the variables that have to be static for another reason, which NNX821 or NNX823 tells of, and what counts
    the rounds of loops that go by them."""
    found = set(told_of_shapes(context, function.scope))
    for event in context.bodies.calls.get(function.scope, ()):
        if context.flow.calls.name(event) != "builtins.range":
            continue
        names = {n.id for one in event.node.args for n in ast.walk(one) if isinstance(n, ast.Name)}
        traced = {
            n.id for one in event.node.args for n in ast.walk(one)
            if isinstance(n, ast.Name) and context.taint.node(n, function.scope)
        }  # fmt: skip
        if traced and names:
            found |= traced
            found |= {
                n.id for loop in event.loops if isinstance(loop, ast.For) and loop.iter is event.node
                for n in ast.walk(loop.target) if isinstance(n, ast.Name)
            }  # fmt: skip
    return frozenset(found)


def _with_others(
    context: Context, node: ast.AST, place: ast.expr, function: FunctionFacts, settled: frozenset[str]
) -> bool:
    """Say whether what mends another place makes Python know a condition too: a finding for each cause is enough."""
    traced = {n.id for n in ast.walk(place) if isinstance(n, ast.Name) and context.taint.node(n, function.scope)}
    if not traced or any(isinstance(n, ast.Attribute | ast.Subscript | ast.Call) for n in ast.walk(place)):
        return False
    if traced <= settled:
        return True
    return isinstance(node, ast.If | ast.IfExp) and traced <= sliced_with(context, node, function.scope)


def _never_done(function: FunctionFacts) -> bool:
    """Say whether a function raises NotImplementedError in any case, and stands for those of other classes."""
    body = function.node.body
    last = body[-1] if isinstance(body, list) else None
    raised = last.exc if isinstance(last, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    if not isinstance(raised, ast.Name) or raised.id != "NotImplementedError":
        return False
    return not any(isinstance(node, ast.Return) for node in ast.walk(function.node))


def _elifs(node: ast.AST) -> Iterator[ast.If]:
    """Yield the conditions that are asked only if that of a node does not hold, as a chain of ``elif``."""
    while isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        yield node


def _decisions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions whose truth a node asks for, inner operands first."""
    if isinstance(node, ast.If | ast.IfExp):
        yield from _atoms(node.test, "if")
    elif isinstance(node, ast.While):
        yield from _atoms(node.test, "while")
    elif isinstance(node, ast.Assert):
        yield from _atoms(node.test, "assert")
    elif isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield from _atoms(condition, "if")
    elif isinstance(node, ast.Match):
        if any(isinstance(part, ast.MatchValue) for case in node.cases for part in ast.walk(case.pattern)):
            yield node.subject, "if"
        for case in node.cases:
            yield from _atoms(case.guard, "if") if case.guard is not None else ()
    elif isinstance(node, ast.BoolOp):  # the last operand is given back as it is
        for value in node.values[:-1]:
            yield from ((place, way) for place, way in _atoms(value, "operator") if not isinstance(place, ast.Call))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _atoms(node.operand, "operator")
    elif isinstance(node, ast.Compare) and (len(node.ops) > 1 or isinstance(node.ops[0], ast.In | ast.NotIn)):
        yield node, "operator"


def _flag(node: ast.AST, place: ast.expr, function: FunctionFacts, flags: set[Param]) -> bool:
    """Say whether a condition is a flag that ought to be static."""
    value = function.scope.module.values.get(place)
    if isinstance(value, Free) and value.scope.function is not None:  # of the function around
        value = value.scope.function.params.get(value.name)
    return isinstance(node, ast.If | ast.IfExp | ast.While | ast.UnaryOp | ast.BoolOp) and value in flags


def _optional(place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether the truth of a name may only ask whether an argument was given."""
    value = function.scope.module.values.get(place)
    if not isinstance(place, ast.Name) or not isinstance(value, Param):
        return False
    default = value.function.defaults.get(value.name)
    note = value.function.annotations.get(value.name)
    return default == Const(None) or (note is not None and "None" in ast.dump(note))


def _given(context: Context, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether traced code gives an optional parameter what is traced for certain, and no test of None is about."""
    param = function.scope.module.values.get(place)
    if not isinstance(param, Param) or param.function is not function or _asks_for_none(context, function, param.name):
        return False
    for frame in context.traced.known[function].sites:
        given = context.flow.argument(frame, param.name)
        given = original(given) if given is not None else None
        value = given.value if given is not None else None
        if given is not None and isinstance(value, Call) and Arrays(context, {}).of_bound(given).number is not None:
            return True
        if isinstance(value, Param) and value.name not in value.function.defaults:
            tracing = context.traced.get(value.function)
            note = value.function.annotations.get(value.name)
            roots = tracing.roots if tracing is not None and note is None else ()
            if roots and all(value.name not in root.static and not root.partial for root in roots):
                compiled = any(root.transform in COMPILING for root in roots)
                return compiled and not _left_none(context, value) and not _holds_several(context, value)
    return False


def _stands_in(context: Context, node: ast.AST, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether ``param or default`` has an array for a default, and a call in sight gives a traced parameter."""
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or) or node.values[0] is not place:
        return False
    param = function.scope.module.values.get(place)
    if not isinstance(param, Param) or param.function is not function:
        return False
    if not made_by_jax(context, function.scope.module.values.get(node.values[-1]), function.scope):
        return False
    tracing = context.traced.known[function]
    for root in tracing.roots:
        if param.name not in root.static and root.transform in COMPILING:
            for event in context.traced.calls_of(root):
                frames = [frame for _, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
                if any(_something(context, frame, param) for frame in frames if frame.function is function):
                    return True
    return any(_something(context, frame, param) for frame in tracing.sites)


def _called_with_array(context: Context, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether a call in sight gives an optional parameter of compiled code a number or an array, which is traced.

    The one who calls may be handed it by compiled code: ``jax.jit(lambda x, s: scaler.apply(x, s))(x, jnp.ones(3))``.
    """
    param = function.scope.module.values.get(place)
    if not isinstance(param, Param) or param.function is not function or _asks_for_none(context, function, param.name):
        return False
    if _array_from_outside(context, param):
        return True
    for frame in context.traced.known[function].sites:
        given = context.flow.argument(frame, param.name)
        value = original(given).value if given is not None else None
        if isinstance(value, Param) and value.function is not function and _array_from_outside(context, value):
            return True
    return False


def _array_from_outside(context: Context, param: Param) -> bool:
    """Say whether a call of what ``jit`` made of a function gives a parameter that is not static an array or number."""
    tracing = context.traced.get(param.function)
    for root in tracing.roots if tracing is not None else ():
        if root.transform not in COMPILING or param.name in root.static or root.partial:
            continue
        for event in context.traced.calls_of(root):
            if context.bodies.guarded(event.node, event.scope):
                continue
            call = context.flow.here(event.value, event.scope)
            for _, frame in context.flow.calls.invoked(call):
                given = context.flow.argument(frame, param.name) if frame.function is param.function else None
                if given is not None and Arrays(context, {}).of_bound(original(given)).number is not None:
                    return True
    return False


def _something(context: Context, frame: Frame, param: Param) -> bool:
    """Say whether a call gives more than None for a parameter, or for one that its own caller left out."""
    given = context.flow.argument(frame, param.name)
    if given is None or given.value == Const(None):
        return False
    value = original(given).value
    return not isinstance(value, Param) or value.name not in value.function.defaults


def _left_none(context: Context, param: Param) -> bool:
    """Say whether a caller may give None for a parameter."""
    given = [context.flow.argument(frame, param.name) for frame in context.flow.sites.entries(param.function)]
    return not given or any(one is None or one.value == Const(None) or isinstance(one.value, Param) for one in given)


def _holds_several(context: Context, param: Param) -> bool:
    """Say whether a caller gives a list, a tuple or a dict for a parameter, as a cache for each layer."""
    for frame in context.flow.sites.entries(param.function):
        given = context.flow.argument(frame, param.name)
        for one in context.sources.originals(given) if given is not None else ():
            value = one.value
            while isinstance(value, Changed):
                value = value.before
            if isinstance(value, Sequence | Mapping | Comprehension):
                return True
    return False


def _asks_for_none(context: Context, function: FunctionFacts, name: str) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == name
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        for node in context.bodies.nodes(function.scope)
    )


def _told_apart(context: Context, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether the function asks for the type of what is compared, and so may keep numbers and arrays apart."""
    names = {n.id for n in ast.walk(place) if isinstance(n, ast.Name)}
    return any(
        isinstance(event.node.func, ast.Name)
        and event.node.func.id == "isinstance"
        and event.node.args
        and isinstance(event.node.args[0], ast.Name)
        and event.node.args[0].id in names
        for event in context.bodies.calls.get(function.scope, ())
    )


def _container(node: ast.AST, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether the truth of a name may only ask whether a container is empty."""
    if not isinstance(place, ast.Name):
        return False
    for part in ast.walk(getattr(node, "test", node)):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "isinstance":
            if any(isinstance(n, ast.Name) and n.id == place.id for n in part.args[:1]):
                return True
    value = function.scope.module.values.get(place)
    if isinstance(value, Param):
        return _of_container(value.function.annotations.get(value.name)) or _used_as_container(place.id, function)
    param = root_param(value) if isinstance(value, Item | Each) else None
    note = param.function.annotations.get(param.name) if param is not None else None
    return note is not None and "Array" not in ast.dump(note)


def _used_as_container(name: str, function: FunctionFacts) -> bool:
    """Say whether a function calls a method of a variable that no array has, but dicts and lists have."""
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in _METHODS
        and isinstance(part.func.value, ast.Name)
        and part.func.value.id == name
        for part in ast.walk(function.node)
    )


_METHODS = frozenset({"keys", "items", "values", "setdefault", "append", "extend"})
_CONTAINERS = frozenset({"dict", "frozenset", "list", "set", "tuple", "collection", "iterable", "mapping", "sequence"})


def _of_container(note: ast.expr | None) -> bool:
    """Say whether an annotation means a list, a dict or the like, or None besides."""
    if isinstance(note, ast.BinOp) and isinstance(note.op, ast.BitOr):
        sides = [side for side in (note.left, note.right) if not is_none(side)]
        return all(map(_of_container, sides))
    if isinstance(note, ast.Subscript) and last_word(note.value) == "Optional":
        return _of_container(note.slice)
    whole = note.value if isinstance(note, ast.Subscript) else note
    return whole is not None and last_word(whole).lower() in _CONTAINERS


def _element(context: Context, place: ast.expr, function: FunctionFacts) -> bool:
    """Say whether a comparison asks how the elements of a traced argument stand to a number: a key of a dict cannot."""
    if not isinstance(place, ast.Compare) or not isinstance(place.left, ast.Name) or len(place.ops) != 1:
        return False
    other = place.comparators[0]
    if not isinstance(place.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE) or not isinstance(other, ast.Constant):
        return False
    value = function.scope.module.values.get(place.left)
    if isinstance(value, Item) and value.index == Const(1) and isinstance(value.base, Each):
        call = value.base.base
        if not isinstance(call, Call) or getattr(call.callee, "name", "") not in {"enumerate", "builtins.enumerate"}:
            return False
        base = call.args[0] if len(call.args) == 1 else None
    else:
        base = value.base if isinstance(value, Each) else None
    return isinstance(base, Param) and context.taint.of(base, function.scope)


def _atoms(test: ast.expr, way: str) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _atoms(value, way)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _atoms(test.operand, way)
    elif isinstance(test, ast.NamedExpr):
        yield from _atoms(test.value, way)
    else:
        yield test, way


def _orders(context: Context, node: ast.Call, function: FunctionFacts) -> bool:
    """Say whether a call of a builtin compares traced values, or asks for their truth."""
    if not isinstance(node.func, ast.Name) or node.func.id not in {"max", "min", "sorted", "any", "all"}:
        return False
    value = function.scope.module.values.get(node)
    if value is None or not node.args:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    if not name.startswith("builtins."):
        return False
    if len(node.args) > 1:
        return node.func.id in {"max", "min"} and any(context.taint.node(a, function.scope) for a in node.args)
    if node.func.id == "sorted" and context.taint.array(node.args[0], function.scope):
        return True
    # parameters and their parts may be dicts, whose keys are no arrays
    inner = function.scope.module.values.get(node.args[0])
    if not isinstance(inner, Unknown | Call | Comprehension | Sequence | Changed | Loop):
        return False
    if isinstance(inner, Unknown | Call) and context.taint.of(inner, function.scope):
        return True
    return node.func.id != "any" and any(_of_arrays(one) for one in context.taint.at(node.args[0], function.scope))


def _of_arrays(status: Status) -> bool:
    """Say whether a container holds several arrays, and nothing else."""
    several = status.each is not None or len(status.items) > 1
    return status.grade is Grade.CONTAINER and several and all(part.grade is Grade.ARRAY for part in status.parts)


def _found(function: FunctionFacts, node: ast.expr, way: str) -> Finding:
    return finding(
        RULE.code,
        function.scope,
        node,
        "Python cannot decide about a traced value: it is not known while the function is compiled",
        _WAYS[way],
    )


RULE = lint_rule(
    "NNX820",
    "branch-on-tracer",
    "if, while or assert on a traced value",
    why="""\
The function is compiled for all values at once, so a condition on a value raises TracerBoolConversionError.
Conditions on shapes, types, None and static arguments are decided while compiling and are fine.
""",
    source='talk "Introducing Flax NNX (Part 2)", section 4; JAX tutorial; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def checked(x):
    if jnp.isnan(x).any():
        return jnp.zeros_like(x)
    return x
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def checked(x, mask=None):
    if mask is None or x.ndim == 1 or len(x) > 3:
        return x
    return x * mask
""",
    ),
)
