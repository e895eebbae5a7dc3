"""NNX809: a transform of JAX around a function that changes a captured NNX object."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.captured_streams import handed_streams
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.modes import flags_named, mode_set, modes_spoken
from codemods.nnx.lint.names import last
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import by_reference, foreign, resolved
from codemods.nnx.lint.syntax import constant, inside, root_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Star,
)

_TRANSFORMS = frozenset(
    {"jax.lax.scan", "jax.lax.cond", "jax.lax.switch", "jax.lax.fori_loop", "jax.lax.while_loop", "jax.vmap",
     "jax.checkpoint", "jax.remat", "jax.lax.map", "flax.nnx.cond", "flax.nnx.switch", "flax.nnx.while_loop",
     "flax.nnx.fori_loop", "flax.nnx.scan", "flax.nnx.vmap", "flax.nnx.remat"}
)  # fmt: skip
_BRANCHING = frozenset({"flax.nnx.cond", "flax.nnx.switch", "flax.nnx.while_loop", "flax.nnx.fori_loop"})
_NAMES = {"checkpoint": "remat", "map": "scan"}  # of the transforms that NNX calls otherwise
_STATEFUL = frozenset({"flax.nnx.BatchNorm", "flax.nnx.Dropout"})
_MODES = (b".eval(", b"deterministic", b"use_running_average", b"set_attributes", b".view(")
_CHAINS = frozenset({"flax.nnx.Sequential", "flax.nnx.List", "flax.nnx.Dict", "flax.nnx.data"})
_NESTED = 4  # lists in chains of lists
_OF_RNGS = frozenset({"fork", "split", "items", "keys", "values", "copy"})
_DEEP = 3  # methods that call methods
#: Methods of Variables that give them new values.
SETTING = frozenset({"set_value", "copy_from", "update_from_state"})
_OFF = frozenset({"deterministic", "use_running_average"})  # nothing changes where a call says so
_UPDATED = ({Kind.OPTIMIZER}, {Kind.METRIC})
Place = tuple[ast.AST, Scope]  # a call, and where it stands
_CHANGING = {"flax.nnx.Optimizer": "update", "flax.nnx.ModelAndOptimizer": "update", "flax.nnx.MultiMetric": "update"}


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()  # where two branches of one transform change something
    for root in context.traced.roots:
        if root.transform in _TRANSFORMS and root.node not in told:
            # the other transforms of NNX take the object of a bound method as an argument, or refuse it
            closes = root.transform.startswith("jax.") or root.transform in _BRANCHING
            own = root.function.self_param if root.bound and closes else None
            for one in _found(context, root.function, root.transform, root.scope, root.node, own):
                told.add(root.node)
                yield one
    for event, name in foreign(context, *sorted({last(name) for name in _TRANSFORMS})):
        if name in _TRANSFORMS and not event.value.starred and event.node not in told:
            yield from _layers(context, event, name)
    for root in _gradients(context):
        held = _updated(context, root.function.scope)
        if held:
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"`{root.transform}` differentiates a function that changes the captured object `{held}`",
                f"return what it needs with has_aux=True, and change `{held}` afterwards",
            )
    for scope, node, name in handed_streams(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{name}` comes from outside of the gradient, and the model draws from it: TraceContextError",
            f"make it an argument of the loss, and give it where the gradient is taken: `{name}`",
        )
    for event, name in foreign(context, "eval_shape"):
        if name == "jax.eval_shape" and event.value.args:
            for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
                yield from _found(context, callee.function, name, event.scope, event.node)


def _layers(context: Context, event: CallEvent, transform: str) -> Iterator[Finding]:
    """Yield the transforms that get a module with state as their function, or among their branches."""
    flow = context.flow
    for value in event.value.args[:3]:
        given = flow.resolve(flow.here(value, event.scope))
        items = given.value.items if isinstance(given.value, Sequence) else (given.value,)
        for item in items:
            if _drawing(context, flow.follow(given, item), event.scope, event.node, event.scope):
                own = _NAMES.get(last(transform), last(transform))
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{transform}` traces modules that change their state",
                    f"use nnx.{own} with the modules as arguments",
                )
                return


def _found(
    context: Context, function: FunctionFacts, transform: str, scope: Scope, node: ast.AST, own: Param | None = None
) -> Iterator[Finding]:
    name = _changed(context, function.scope, node, scope, own)
    if name:
        word = _NAMES.get(last(transform), last(transform))
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{transform}` traces a function that changes the captured object `{name}`",
            f"use nnx.{word} with `{name}` as an argument",
        )


def _gradients(context: Context) -> Iterator[Root]:
    """Yield the functions of the modules asked about that are differentiated, whatever else traces them."""
    seen = set()
    for root in context.traced.gradients:
        if root.scope.module in context.asked and (root.function, root.node) not in seen:
            seen.add((root.function, root.node))
            yield root


def _updated(context: Context, scope: Scope) -> str | None:
    """Return the name of a captured metric, optimizer or Variable that a body gives new values."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign | ast.AugAssign):
            held = _stored(context, node, scope)
            if held:
                return held
        drawn = _streams(context, node, scope, None) if isinstance(node, ast.Call) else None
        if drawn:
            return drawn
        func = node.func if isinstance(node, ast.Call) else None
        base = func.value if isinstance(func, ast.Attribute) else func
        if not isinstance(base, ast.Name) or not isinstance(scope.module.values.get(base), Free):
            continue
        made = resolved(context, base, scope)
        if made is None:
            continue
        if isinstance(func, ast.Attribute) and func.attr == "update" and context.kinds.of(made) in _UPDATED:
            return base.id
        draws = isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and func.attr not in _OF_RNGS)
        if draws and context.kinds.only(made) is Kind.RNGS:
            return base.id
        if func is base and not modes_spoken(context, _MODES, node, scope, alone=True):
            told = isinstance(node, ast.Call) and bool(node.keywords)
            if _drawing(context, made, scope, node, scope) and (told or not _off_by_default(context, made)):
                return base.id
    return None


def _stored(context: Context, node: ast.Assign | ast.AugAssign, scope: Scope, own: Param | None = None) -> str | None:
    """Return the text of the Variable of a captured object that an assignment gives a new value."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Attribute) and target.attr != "value":
            if _own_module(context, target, scope, own):
                return ast.unparse(target.value)
            continue
        held = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
        root: ast.expr | None = held
        while isinstance(root, ast.Attribute):
            root = root.value
        if held is None or not isinstance(root, ast.Name) or not _captured(scope, root, own):
            continue
        value = scope.module.values.get(held)
        if value is None:
            continue
        bound = context.flow.here(value, scope)
        of_self = isinstance(held, ast.Attribute) and _is_self(context, root, scope)
        if context.kinds.only(bound) is Kind.VARIABLE or (of_self and context.kinds.of(bound) == {Kind.VARIABLE}):
            return ast.unparse(held)
    return None


def _is_self(context: Context, root: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is the ``self`` of a method around a body, or of the body."""
    if by_reference(scope.module):
        return False
    value = scope.module.values.get(root)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    return isinstance(found, Param) and found is found.function.self_param


def _own_module(context: Context, target: ast.Attribute, scope: Scope, own: Param | None) -> bool:
    """Say whether an attribute that is bound is one of a captured ``self`` which, as a module of NNX, refuses it."""
    root = target.value
    if not isinstance(root, ast.Name) or not _captured(scope, root, own) or not _is_self(context, root, scope):
        return False
    value = scope.module.values[root]
    found = context.flow.resolve(context.flow.here(value, scope)).value
    owner = found.function.owner if isinstance(found, Param) else None
    if owner is None:
        return False
    classes, libraries = context.flow.classes.mro(owner)
    written = any("__setattr__" in one.methods or target.attr in one.methods for one in classes)
    return "flax.nnx.Module" in libraries and not written


def _captured(scope: Scope, node: ast.AST, own: Param | None) -> bool:
    """Say whether a variable of a body is one from around it, or the ``self`` that a bound method brings along."""
    value = scope.module.values.get(node)
    return isinstance(value, Free) or (own is not None and value is own)


def _changed(
    context: Context, scope: Scope, place: ast.AST, around: Scope, own: Param | None = None, depth: int = 0
) -> str | None:
    """Return the name of a captured object that the body of a transform changes.

    Args:
        context: the analysis.
        scope: the body.
        place: the transform.
        around: where the transform stands.
        own: the ``self`` of a bound method, which is captured as well.
        depth: how many functions around call each other.
    """
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign | ast.AugAssign):
            stored = _stored(context, node, scope, own)
            if stored:
                return stored
        if not isinstance(node, ast.Call) or any(constant(k.value) is True and k.arg in _OFF for k in node.keywords):
            continue
        if _given_streams(context, node, scope, own):
            continue
        func = node.func
        method = ""
        if isinstance(func, ast.Attribute):
            held = _layer(context, node, func, scope, place, around, own)
            if held:
                return held
            method, func = func.attr, func.value
            if method == "update" and isinstance(func, ast.Attribute) and _captured(scope, root_of(func), own):
                updated = scope.module.values.get(func)
                if updated is not None and context.kinds.of(context.flow.here(updated, scope)) in _UPDATED:
                    return ast.unparse(func)
        drawn = _streams(context, node, scope, own)
        if drawn:
            return drawn
        handed = _handed(context, node, scope, place, around, own, depth)
        if handed:
            return handed
        if not isinstance(func, ast.Name) or not _captured(scope, func, own):
            continue
        made = resolved(context, func, scope)
        if made is not None and method == "update" and context.kinds.of(made) in _UPDATED:
            return func.id
        if made is None:
            continue
        if isinstance(made.value, Function) and not method and depth < _DEEP and _always(context, node, scope):
            inner = _changed(context, made.value.facts.scope, place, around, None, depth + 1)
            if inner:
                return inner
        if _always(context, node, scope) and method_changes(context, made, method or "__call__", (place, around)):
            return func.id
        if not method and _drawing(context, made, scope, place, around):
            if node.keywords or not _off_by_default(context, made):
                return func.id
        callee = context.flow.calls.callee_name(made)
        if callee and (_CHANGING.get(callee) == method or callee == "flax.nnx.Rngs"):
            return func.id
    return None


def _given_streams(context: Context, node: ast.Call, scope: Scope, own: Param | None) -> bool:
    """Say whether a dropout is called with streams that are not captured: nothing of its own changes."""
    given = next((word.value for word in node.keywords if word.arg == "rngs"), None)
    root = root_of(given) if given is not None else None
    if not isinstance(root, ast.Name) or _captured(scope, root, own):
        return False
    made = resolved(context, node.func, scope)
    return made is not None and context.flow.calls.callee_name(made) == "flax.nnx.Dropout"


def _streams(context: Context, node: ast.Call, scope: Scope, own: Param | None) -> str | None:
    """Return the text of the captured streams that a call always draws from: ``rngs()``, ``self.rngs.noise()``."""
    func = node.func
    if not isinstance(root_of(func), ast.Name) or not _always(context, node, scope):
        return None
    drawn = func.value if isinstance(func, ast.Attribute) and func.attr not in _OF_RNGS else None
    for one, kind in ((drawn, Kind.RNGS), (func, Kind.RNGS), (func, Kind.STREAM)):
        if one is None or not _captured(scope, root_of(one), own):
            continue
        value = scope.module.values.get(one)
        if value is not None and context.kinds.only(context.flow.here(value, scope)) is kind:
            return ast.unparse(one)
    return None


def _handed(
    context: Context, node: ast.Call, scope: Scope, place: ast.AST, around: Scope, own: Param | None, depth: int
) -> str | None:
    """Return the name of a captured object that a body gives to ``nnx.update``, or to a function that changes it."""
    given = [(at, one) for at, one in enumerate(node.args) if isinstance(one, ast.Name) and _captured(scope, one, own)]
    if not given or any(isinstance(one, ast.Starred) for one in node.args) or not _always(context, node, scope):
        return None
    made = resolved(context, node.func, scope)
    if made is None:
        return None
    for at, one in given:
        if isinstance(made.value, Ref):
            value = scope.module.values.get(one) if made.value.name == "flax.nnx.update" and at == 0 else None
            if value is not None and context.kinds.of(context.flow.here(value, scope)) in _OBJECTS:
                return one.id
        elif isinstance(made.value, Function) and depth < _DEEP and not made.value.facts.generator:
            inner = made.value.facts
            param = list(inner.params.values())[at] if inner.self_param is None and at < len(inner.params) else None
            if (
                param is not None
                and not inner.decorators
                and _changed(context, inner.scope, place, around, param, depth + 1)
            ):
                return one.id
    return None


_OBJECTS = ({Kind.MODULE}, {Kind.OPTIMIZER}, {Kind.METRIC})


def _always(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a node of a body runs whenever the body does, but for loops that may be empty."""
    return (
        not context.bodies.behind(node, scope)
        and all(isinstance(block, ast.For | ast.With) for block, _ in context.bodies.paths(scope).get(node, ()))
        and not any(isinstance(n, ast.BoolOp) and inside(node, n) for n in context.bodies.nodes(scope))
    )


def method_changes(context: Context, made: Bound, name: str, at: Place | None = None) -> bool:
    """Say whether a method of a module of the project changes its Variables or draws from its streams, always.

    Args:
        context: the analysis.
        made: the module; of an argument it is asked whatever the callers give.
        name: the method's name.
        at: where it is called, and the scope of that, if the mode there is asked for.
    """
    param = made.value
    if isinstance(param, Param) and param is param.function.self_param and param.function.owner is not None:
        return _own_method_changes(context, param.function.owner, name, at)
    found: dict[Bound, None] = {}
    seen: set[Bound] = set()
    pending = [made]
    for _ in range(_SEVERAL):
        if not pending:
            return bool(found) and all(_of_instance(context, one, name, 0, at) for one in found)
        value = (one := pending.pop()).value
        if one in seen:
            continue
        seen.add(one)
        if isinstance(value, Changed) and isinstance(
            value.node, ast.Call
        ):  # by a method that is named like one of a list
            pending.append(context.flow.follow(one, value.before))
        elif isinstance(value, Call):
            found[one] = None
        elif isinstance(value, Param | Indexed | Item | Round | Each | Choice):
            pending += [source for source in context.sources.originals(one) if source.value is not value]
        else:
            return False
    return False


def _own_method_changes(context: Context, cls: ClassFacts, name: str, at: Place | None) -> bool:
    """Say whether a method does so that another method of the same object calls, and that no class overrides."""
    classes = context.flow.classes
    method = classes.method(cls, name)
    return (
        method is not None
        and _effect(context, cls, method, 0, at)
        and all(
            classes.method(other, name) is method
            for module in context.project.modules
            for other in module.classes
            if cls in classes.mro(other)[0]
        )
    )


_SEVERAL = 30  # sources of one object


def _of_instance(context: Context, made: Bound, name: str, depth: int, at: Place | None) -> bool:
    cls = context.flow.classes.class_of(made) if isinstance(made.value, Call) else None
    if cls is None or depth > _DEEP:
        return False
    method = context.flow.classes.method(cls, name)
    return method is not None and _effect(context, cls, method, depth, at)


def _effect(context: Context, cls: ClassFacts, method: FunctionFacts, depth: int, at: Place | None) -> bool:
    """Say whether a method of an object of a class gives a Variable of it a new value, or draws from a stream."""
    scope, values = method.scope, method.scope.module.values
    if method.binding != "instance" or method.generator or method.self_param is None:
        return False
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.Call) or not _always(context, node, scope):
            continue
        if not isinstance(node, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_own_variable(context, target, method) for target in targets):
                return True
            continue
        func = node.func
        if not isinstance(func, ast.Attribute) or values.get(root_of(func)) is not method.self_param:
            continue
        base = values.get(func.value)
        if base is method.self_param:
            held = values.get(func)
            made = context.flow.resolve(context.flow.here(held, scope)) if held is not None else None
            if made is not None and _stream(context, made):
                return True
            inner = context.flow.classes.method(cls, func.attr) if depth < _DEEP else None
            if inner is not None and _effect(context, cls, inner, depth + 1, at):
                return True
            if made is not None and _of_instance(context, made, "__call__", depth + 1, at):
                return True
            if made is not None and _given(context, made, at) and (node.keywords or not _off_by_default(context, made)):
                return True
        elif base is not None:
            kinds = context.kinds.of(context.flow.here(base, scope))
            drawn, stored = func.attr not in _OF_RNGS, func.attr in SETTING
            if (drawn and kinds == {Kind.RNGS}) or (stored and kinds == {Kind.VARIABLE}):
                return True
    return False


def _stream(context: Context, made: Bound) -> bool:
    """Say whether calling a value draws a key from a stream."""
    value = made.value
    if isinstance(value, Attr) and value.name not in _OF_RNGS:  # rngs.dropout
        return context.kinds.of(context.flow.with_value(made, value.base)) == {Kind.RNGS}
    return context.kinds.of(made) in ({Kind.RNGS}, {Kind.STREAM})


def _own_variable(context: Context, target: ast.expr, method: FunctionFacts) -> bool:
    """Say whether what gets a value is that of a Variable of the method's object."""
    if not isinstance(target, ast.Subscript) and not (isinstance(target, ast.Attribute) and target.attr == "value"):
        return False
    values = method.scope.module.values
    held = values.get(target.value)
    if held is None or held is method.self_param or values.get(root_of(target.value)) is not method.self_param:
        return False
    return context.kinds.of(context.flow.here(held, method.scope)) == {Kind.VARIABLE}


def _layer(
    context: Context,
    node: ast.Call,
    func: ast.Attribute,
    scope: Scope,
    place: ast.AST,
    around: Scope,
    own: Param | None,
) -> str | None:
    """Return the text of a captured object's layer that is called and changes its state, as ``self.norm(x)``."""
    if not isinstance(root := root_of(func), ast.Name) or not _captured(scope, root, own):
        return None
    made = resolved(context, func, scope)
    if made is None:
        return None
    if isinstance(made.value, Call) and isinstance(held := scope.module.values.get(root), Free):
        holder = context.flow.resolve(context.flow.here(held, scope))
        if not draws(context, made, keeping=True) or mode_set(context, holder, place, around):
            return None
    elif not _given(context, made, (place, around)) or not _always(context, node, scope):
        return None
    return ast.unparse(func) if node.keywords or not _off_by_default(context, made) else None


def _given(context: Context, made: Bound, at: Place | None) -> bool:
    """Say whether a layer changes its state whatever the makers of its holder give, and nothing sets other modes."""
    if not isinstance(made.value, Attr | Param | Call):
        return False
    given = context.sources.originals(made)
    return (
        bool(given)
        and all(isinstance(one.value, Call) and draws(context, one, keeping=True) for one in given)
        and not modes_spoken(context, _MODES, *(at or (None, None)))
    )


def _drawing(context: Context, made: Bound, scope: Scope, place: ast.AST, around: Scope) -> bool:
    """Say whether calling a module changes its state, of an argument whatever the callers give."""
    if isinstance(made.value, Call):
        return draws(context, made, keeping=True) and not mode_set(context, made, place, around)
    if not isinstance(made.value, Param | Indexed | Item | Round | Each) or flags_named(scope.module.source):
        return False
    given = context.sources.originals(made)
    return bool(given) and all(
        isinstance(one.value, Call) and draws(context, one, keeping=True) and not mode_set(context, one, place, around)
        for one in given
    )


def _off_by_default(context: Context, made: Bound) -> bool:
    """Say whether the classes of a module switch their layers off unless a call says otherwise: ``def __call__(self, x,
    deterministic=True)``."""
    for one in [made] if isinstance(made.value, Call) else context.sources.originals(made):
        cls = context.flow.classes.class_of(one)
        method = context.flow.classes.method(cls, "__call__") if cls is not None else None
        if method is not None and any(_switched_off(node, method) for node in context.bodies.nodes(method.scope)):
            return True
    return False


def _switched_off(node: ast.AST, method: FunctionFacts) -> bool:
    """Say whether a node is a call of a layer that changes nothing, by a constant or by a parameter's default."""
    for given in node.keywords if isinstance(node, ast.Call) else ():
        if given.arg not in _OFF:
            continue
        negated = isinstance(given.value, ast.UnaryOp) and isinstance(given.value.op, ast.Not)
        value = given.value.operand if isinstance(given.value, ast.UnaryOp) else given.value
        default = method.defaults.get(value.id) if isinstance(value, ast.Name) else None
        constantly = constant(value) if default is None else getattr(default, "value", None)
        if constantly is (not negated):
            return True
    return False


def draws(context: Context, made: Bound, keeping: bool = False) -> bool:
    """Say whether calling a module changes its state: it is or holds a batch norm or a dropout.

    Args:
        context: the analysis.
        made: the module.
        keeping: whether a dropout counts only that has or gets a stream, which it then changes.
    """
    if context.flow.calls.callee_name(made) in _STATEFUL:
        return not _inactive(context, made) and (not keeping or _keeps_stream(context, made))
    cls = context.flow.classes.class_of(made)
    return cls is not None and holds_state(context, cls, keeping=keeping)


def holds_state(context: Context, cls: ClassFacts, depth: int = 0, keeping: bool = False) -> bool:
    """Say whether the instances of a class hold a batch norm or a dropout that is active; see :func:`draws`."""
    flow = context.flow
    for parent in flow.classes.mro(cls)[0]:
        for stores in parent.stores.values():
            for function, value in stores:
                if any(
                    _stateful(context, one, depth, keeping) for one in parts(context, flow.here(value, function.scope))
                ):
                    return True
    return False


def _stateful(context: Context, stored: Bound, depth: int, keeping: bool) -> bool:
    if not isinstance(stored.value, Call):
        return False
    if context.flow.calls.callee_name(stored) in _STATEFUL:
        return not _inactive(context, stored) and (not keeping or _keeps_stream(context, stored))
    inner = context.flow.classes.class_of(stored)
    return inner is not None and depth < 3 and holds_state(context, inner, depth + 1, keeping)


def parts(context: Context, held: Bound, depth: int = 0) -> Iterator[Bound]:
    """Yield an object, or the layers in a chain, list or dict of them.

    Args:
        context: the analysis.
        held: the object.
        depth: how many containers it stands in.
    """
    yield from _parts(context, held, depth, set())


def _parts(context: Context, held: Bound, depth: int, seen: set[Bound]) -> Iterator[Bound]:
    flow, found = context.flow, context.flow.resolve(held)
    value = found.value
    if isinstance(value, Changed | Loop):
        if found in seen:
            return  # what a loop writes is made of what it had before, and may be that itself
        seen.add(found)
    if isinstance(value, Changed):
        yield from _parts(context, flow.with_value(found, value.value), depth + 1, seen)
        yield from _parts(context, flow.with_value(found, value.before), depth + 1, seen)
    elif isinstance(value, Loop):
        yield from _parts(context, flow.with_value(found, value.before), depth + 1, seen)
        if value.again is not None and depth < _NESTED:
            yield from _parts(context, flow.with_value(found, value.again), depth + 1, seen)
    elif isinstance(value, Sequence | Comprehension | Mapping) and depth < _NESTED:
        for element in flow.containers.elements(found):
            yield from _parts(context, element, depth + 1, seen)
    elif isinstance(value, Call) and flow.calls.callee_name(found) in _CHAINS and depth < _NESTED:
        for argument in value.given:
            inner = argument.value if isinstance(argument, Star) else argument
            yield from _parts(context, flow.with_value(found, inner), depth + 1, seen)
    else:
        yield found


def _inactive(context: Context, made: Bound) -> bool:
    assert isinstance(made.value, Call)
    flags = [made.value.keyword(n) for n in ("use_running_average", "deterministic")]
    if any(isinstance(f, Const) and f.value is True for f in flags):
        return True
    rate = made.value.argument(0, "rate") if context.flow.calls.callee_name(made) == "flax.nnx.Dropout" else None
    if rate is None:
        return False
    given = [rate]
    found = context.flow.follow(made, rate)
    if isinstance(found.value, Param):  # what stands there by default, and what the makers of the object give
        default = found.value.function.defaults.get(found.value.name)
        given = [one.value for one in context.sources.originals(found)] + ([] if default is None else [default])
    return any(isinstance(one, Const) and one.value in (0, 0.0) and one.value is not False for one in given)


def _keeps_stream(context: Context, made: Bound) -> bool:
    """Say whether a layer changes itself or streams when it draws: a dropout without any is given keys."""
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "flax.nnx.Dropout":
        return True
    return made.value.starred or made.value.keyword("rngs") is not None or context.shared(_streams_given)


def _streams_given(context: Context) -> bool:
    """Say whether a call of a dropout in the project is given streams, from which it draws."""
    for event in context.project.calls():
        given = event.value.keyword("rngs") if event.node.keywords else None
        if given is None or not context.kinds.of(context.flow.here(given, event.scope)) & {Kind.RNGS, Kind.STREAM}:
            continue
        if owner_class(context, event.value.callee, event.scope) == "flax.nnx.Dropout":
            return True
    return False


RULE = lint_rule(
    "NNX809",
    "jax-transform-of-stateful",
    "jax.lax control flow, vmap or checkpoint over a captured stateful module",
    why="""\
Modules with BatchNorm or Dropout, optimizers, metrics and Rngs change when they are used. Inside a transform of JAX
that does not know of them this raises TraceContextError. The transforms of NNX take the object as an argument. Those
that have it from around, as branches of `nnx.cond` that add to a Variable of `self`, raise the same.
""",
    source='talk "Introducing Flax NNX (Part 2)", section 5; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx

drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
jax.lax.scan(lambda carry, x: (carry, drop(x)), 0.0, jnp.ones((3, 2)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx

linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
jax.lax.scan(lambda carry, x: (carry, linear(x)), 0.0, jnp.ones((3, 2)))
""",
    ),
)
