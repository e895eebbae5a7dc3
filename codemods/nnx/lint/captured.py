"""NNX801: an NNX object that traced code takes from outside instead of as an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Object
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.baked_weights import baked_in
from codemods.nnx.lint.captured_model import captured_model, static_self
from codemods.nnx.lint.held import held
from codemods.nnx.lint.owners import has_attribute, owner_class
from codemods.nnx.lint.places import (
    NNX_OBJECTS,
    by_reference,
    callers_of,
    compiled_roots,
    foreign,
    in_test,
    kinds_of,
    position,
    shown,
    traced_bodies,
)
from codemods.nnx.lint.syntax import argument, inside, names_in
from codemods.nnx.lint.traced import COMPILED
from codemods.nnx.lint.unchanging import set_once, weightless
from codemods.nnx.nodes import last_word
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Free, Param, Value

_TRAINING = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer", "flax.nnx.update"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _bound_before(context)
    for function, _ in traced_bodies(context, COMPILED):
        if (
            in_test(function.scope)
            or by_reference(function.scope.module)
            or _tried(context, function)
            or _at_once(context, function)
            or (_thunk(function) and not _updates(context, function) and not baked_in(context, function))
        ):
            continue
        seen: set[str] = set()
        names: list[ast.Name] = []
        fields: list[ast.Attribute] = []
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if _captured_field(context, function, node) or captured_model(context, function, node):
                    text = ast.unparse(node)
                    if text not in seen:
                        seen.add(text)
                        fields.append(node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in seen:
                if (
                    _captured(context, function, node)
                    and not _misgiven(context, function, node)
                    and not _structure(context, function, node.id)
                ):
                    seen.add(node.id)
                    names.append(node)
        if fields:
            fields.sort(key=lambda field: (field.lineno, field.col_offset))
            listed, several = _listed(fields), len(fields) > 1
            yield finding(
                RULE.code,
                function.scope,
                fields[0],
                f"compiled code captures {listed}: {shown(function)} may not change {'them' if several else 'it'}, or "
                f"goes on using {'their' if several else 'its'} first values",
                f"pass {listed} as {'arguments' if several else 'an argument'}",
                related=[(field, "captured here") for field in fields[1:]],
            )
        if names:
            names.sort(key=lambda name: (name.lineno, name.col_offset))
            listed = _listed(names)
            unused = _unused(context, function)
            message = f"compiled code captures {listed}: {shown(function)} "
            if unused:
                message += f"never uses `{unused}`, for which the gradient is taken: it is zero"
                help = f"make the model of `{unused}`: nnx.merge(graphdef, {unused})"
            else:
                message += f"goes on using {'their' if len(names) > 1 else 'its'} first values"
                help = f"pass {listed} as {'arguments' if len(names) > 1 else 'an argument'}"
                help += _refused(context, function, names)
            related = [(name, "captured here") for name in names[1:]]
            yield finding(RULE.code, function.scope, names[0], message, help, related=related)


def _listed(nodes: Sequence[ast.expr]) -> str:
    """Return some variables and attributes as a text."""
    texts = [f"`{ast.unparse(node)}`" for node in nodes]
    return ", ".join(texts[:-1]) + " and " + texts[-1] if len(texts) > 1 else texts[0]


_FAR = 2  # how far an object is followed


def _structure(context: Context, function: FunctionFacts, name: str, depth: int = 0) -> bool:
    """Say whether a function asks an object for its graph definition alone, which holds no values, or gives it to
    functions of the project that do so."""
    asked: set[ast.expr] = set()
    for event in function.scope.module.calls:
        if not inside(event.node, function.node):
            continue
        node, word = event.node, last_word(event.node.func)
        whole = len(node.args) == 1 and (word == "graphdef" or (word == "split" and _definition_only(event, function)))
        if whole:
            asked.add(node.args[0])
        elif depth < _FAR:
            for one in (*node.args, *(k.value for k in node.keywords)):
                if isinstance(one, ast.Name) and one.id == name and _given_to_structure(context, event, one, depth):
                    asked.add(one)
    uses = (n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name)
    return bool(asked) and all(use in asked for use in uses)


def _definition_only(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether nobody reads the state that a call of split gives: ``graphdef, _ = nnx.split(model)``."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    parts = target.elts if isinstance(target, ast.Tuple) else []
    rest = {n.id for n in parts[1:] if isinstance(n, ast.Name)}
    return len(parts) == 2 == len(rest) + 1 and not any(
        isinstance(n, ast.Name) and n.id in rest and isinstance(n.ctx, ast.Load) for n in ast.walk(function.node)
    )


def _given_to_structure(context: Context, event: CallEvent, node: ast.Name, depth: int) -> bool:
    """Say whether a call gives a name to functions of the project that ask it for its graph definition alone."""
    reached = context.flow.calls.reached(context.flow.here(event.value, event.scope))
    names = [
        next((p for p in one.function.params.values() if argument(event.node, position(p), p.name) is node), None)
        for one in reached
    ]
    return bool(reached) and all(
        param is not None and _structure(context, one.function, param.name, depth + 1)
        for one, param in zip(reached, names, strict=True)
    )


def _misgiven(context: Context, function: FunctionFacts, node: ast.Name) -> bool:
    """Say whether a name is given to a function of the project that does not take it: the call fails in any case."""
    for event in context.bodies.calls.get(function.scope, ()):
        word = next((keyword.arg for keyword in event.node.keywords if keyword.value is node), None)
        if word is not None:
            reached = context.flow.calls.reached(context.flow.here(event.value, event.scope))
            return bool(reached) and all(c.function.kwarg is None and word not in c.function.params for c in reached)
    return False


def _unused(context: Context, function: FunctionFacts) -> str:
    """Return the first parameter of a function that is differentiated beside it, if nothing reads it; else nothing."""
    first = next(iter(function.params), "")
    outer = function.scope.parent
    if not first or first.startswith("_") or outer is None or isinstance(function.node, ast.Lambda):
        return ""
    if any(isinstance(n, ast.Name) and n.id == first for n in ast.walk(function.node)):
        return ""
    for event in context.bodies.calls.get(outer, ()):
        given = event.node.args[0] if event.node.args else None
        if isinstance(given, ast.Name) and given.id == function.name and not event.node.keywords:
            if context.flow.calls.name(event) in GRADIENTS:
                return first
    return ""


def _refused(context: Context, function: FunctionFacts, names: list[ast.Name]) -> str:
    """Return what is to be said of objects that compiled code captures and changes."""
    words = {name.id for name in names}
    for event in context.bodies.calls.get(function.scope, ()):
        func = event.node.func
        updated = isinstance(func, ast.Attribute) and func.attr == "update" and not event.used
        made = isinstance(func, ast.Call) and last_word(func.func) in {"grad", "value_and_grad"}
        parts = [*event.node.args, func.value] if isinstance(func, ast.Attribute) else event.node.args
        if (updated or made) and any(isinstance(one, ast.Name) and one.id in words for one in parts):
            return "; Flax 0.12 raises a TraceContextError where it is changed"
    return ""


def _bound_before(context: Context) -> Iterator[Finding]:
    """Yield the trained models that ``functools.partial`` binds to a function before it is compiled."""
    flow = context.flow
    made = {event.node: event for event, name in foreign(context, "partial") if name == "functools.partial"}
    changed: set[Bound] | None = None
    for root in compiled_roots(context) if made else ():
        if not root.partial or root.decorator or in_test(root.scope) or not isinstance(root.node, ast.Call):
            continue
        inner = root.node.args[0] if root.node.args else None
        value = root.scope.module.values.get(inner) if inner is not None else None
        found = flow.resolve(flow.here(value, root.scope)).value if value is not None else None
        event = made.get(found.node) if isinstance(found, Call) else None
        if event is None or root.scope.function in context.traced or root.scope.module not in context.asked:
            continue
        for node, given in zip(event.node.args[1:], event.value.args[1:], strict=True):
            if isinstance(given, Param) or kinds_of(context, given, event.scope) != {Object.MODULE}:
                continue
            changed = set(_changed(context)) if changed is None else changed
            if flow.resolve(flow.here(given, event.scope)) in changed:
                text = ast.unparse(node)
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{text}` is bound before `{root.transform}`: the compiled code goes on using its first values",
                    f"compile the function itself, and give `{text}` at every call",
                )


def _at_once(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is compiled where it is called, so that it is traced with the values of that moment."""
    roots = context.traced.known[function].roots
    called = {event.node.func for root in roots for event in context.bodies.calls.get(root.scope, ())}
    return bool(roots) and all(not root.decorator and root.node in called for root in roots)


def _tried(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is called under ``try`` only, where a mistake is shown."""
    callers = callers_of(context, function)
    return bool(callers) and all(context.bodies.guarded(event.node, event.scope) for event in callers)


def _thunk(function: FunctionFacts) -> bool:
    """Say whether a function takes nothing at all, and so means what it captures."""
    return not (function.params or function.vararg) and function.owner is None


def _updates(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function without arguments changes what it captures, or runs a model that is changed elsewhere."""
    called: set[Bound] = set()
    for event in context.bodies.calls.get(function.scope, ()):
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.name == "update" and isinstance(callee.base, Free):
            if kinds_of(context, callee.base, event.scope) & {Object.OPTIMIZER, Object.METRIC}:
                return True
        elif isinstance(callee, Free) and Object.MODULE in kinds_of(context, callee, event.scope):
            called.add(context.flow.resolve(context.flow.here(callee, event.scope)))
    return bool(called) and any(one in called for one in _changed(context))


def _changed(context: Context) -> Iterator[Bound]:
    """Yield the objects that optimizers are made for, that are updated, or whose Variables get new values."""
    flow = context.flow
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", "update", everywhere=True):
        model = event.value.argument(0, "model")
        if name in _TRAINING and model is not None:
            yield flow.resolve(flow.here(model, event.scope))
    for store in flow.fields.stores().get("value", ()):
        if isinstance(store.base, Attr):
            base: Value = store.base
            while isinstance(base, Attr):
                base = base.base
            yield flow.resolve(flow.here(base, store.scope))


def _captured(context: Context, function: FunctionFacts, node: ast.Name) -> bool:
    value = function.scope.module.values.get(node)
    if not isinstance(value, Free) or value.scope.function in context.traced or _untouched(context, function, value):
        return False
    if _only_now(context, function, value):
        return False
    if kinds_of(context, value, function.scope) == {Object.MODULE} and (
        _stays(context, value, function.scope) or _never_changed(context, value, function.scope)
    ):
        return False
    if not kinds_of(context, value, function.scope) & NNX_OBJECTS or not _used(context, function, node):
        return False
    return not _transformation(context, function, node)


def _transformation(context: Context, function: FunctionFacts, name: ast.Name) -> bool:
    """Say whether all that a function does with an optimizer is to take the two results of its ``update``: this is a
    transformation of optax, which has no state of its own."""
    pairs = {
        event.node.func.value
        for event in context.bodies.calls.get(function.scope, ())
        if isinstance(event.node.func, ast.Attribute)
        and event.node.func.attr == "update"
        and isinstance(event.statement, ast.Assign)
        and event.statement.value is event.node
        and all(isinstance(target, ast.Tuple) and len(target.elts) == 2 for target in event.statement.targets)
    }
    reads = {n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name.id}
    return bool(reads) and reads <= pairs


def _stays(context: Context, value: Free, scope: Scope) -> bool:
    """Say whether a project that trains modules trains others than this one, which keeps its values."""
    changed = context.shared(_every_changed)
    if value.scope.function is not None and value.scope.function.owner is not None:
        return False  # layers that a method makes and hands on in a function are in no module at all
    bound = context.flow.here(value, scope)
    known = {context.flow.resolve(bound), *context.sources.originals(bound)}
    made = any(isinstance(one.value, Call) for one in known)
    return bool(changed) and made and not changed & known


def _never_changed(context: Context, value: Free, scope: Scope) -> bool:
    """Say whether a module makes no weights and gets all it has in its constructor, in a project that changes none."""
    if context.shared(_every_changed):
        return False
    bound = context.flow.here(value, scope)
    sources = [*context.sources.originals(bound)] or [context.flow.resolve(bound)]
    classes = {context.flow.classes.class_of(one) for one in sources}
    return bool(classes) and all(
        cls is not None and set_once(context, cls) and weightless(context, cls) for cls in classes
    )


def _every_changed(context: Context) -> frozenset[Bound]:
    return frozenset(_changed(context))


def _captured_field(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether compiled code changes an object that an outer plain object holds."""
    if not isinstance(node.value, ast.Name):
        return False
    base = function.scope.module.values.get(node.value)
    if isinstance(base, Param):
        if base is not function.self_param:
            return False
    elif not isinstance(base, Free) or base.scope.function in context.traced or base.of_global:
        return False
    changes = any(
        isinstance(call.node.func, ast.Attribute) and call.node.func.value is node and call.node.func.attr == "update"
        for call in context.bodies.calls.get(function.scope, ())
    )
    value = function.scope.module.values.get(node) if changes else None
    if not isinstance(value, Attr) or not kinds_of(context, value, function.scope) & {Object.OPTIMIZER, Object.METRIC}:
        return False
    return not isinstance(base, Param) or static_self(context, function, base) or _kept(context, function, node.value)


def _kept(context: Context, function: FunctionFacts, own: ast.Name) -> bool:
    """Say whether a method is compiled as a bound one of a plain object, or called by such a one."""
    if function.owner is None or context.flow.classes.mro(function.owner)[1] - {"builtins.object", "abc.ABC"}:
        return False
    return held(context, function, own)


def _untouched(context: Context, function: FunctionFacts, value: Free) -> bool:
    """Say whether a module is made for a function that is compiled next to it, and for nothing else, so that nothing
    can change it later."""
    scope = value.scope
    if not any(root.scope is scope for root in context.traced.known[function].roots):
        return False
    if scope.function is None or len(scope.bindings.get(value.name, ())) != 1 or value.name in scope.function.params:
        return False
    if value.name in scope.rebound or value.name in scope.remote or not isinstance(scope.bindings[value.name][0], Call):
        return False
    if kinds_of(context, value, scope) != {Object.MODULE}:
        return False
    nodes = context.bodies.nodes(scope)
    if not any(isinstance(n, ast.Name) and n.id == value.name and isinstance(n.ctx, ast.Load) for n in nodes):
        return True
    return not context.bodies.paths(scope).get(function.node) and not _later(context, function, value.name, scope)


_LOWERING = frozenset({"convert", "export", "lower", "trace", "make_jaxpr", "eval_shape"})
_CHANGING = frozenset({"update", "train", "eval", "set_attributes"})


def _only_now(context: Context, function: FunctionFacts, value: Free) -> bool:
    """Say whether a function is made anew in each call of another one, which converts it or calls it, keeps it nowhere,
    and does not touch the captured object behind it: it has the values of that moment."""
    scope, name = value.scope, getattr(function.node, "name", "")
    if not name or scope.function is None or len(scope.bindings.get(value.name, ())) > 1 or value.name in scope.rebound:
        return False
    if not all(root.scope is scope for root in context.traced.known[function].roots):
        return False
    calls = [event.node for event in context.bodies.calls.get(scope, ())]
    taking = {part for call in calls if last_word(call.func) in _LOWERING for part in call.args}
    taking |= {call.func for call in calls}
    taking |= {func.value for func in set(taking) if isinstance(func, ast.Attribute) and func.attr in _LOWERING}
    nodes = context.bodies.nodes(scope)
    if any(isinstance(n, ast.Yield) for n in nodes):
        return False
    if any(isinstance(n, ast.For | ast.While) for n in nodes) and not _argument_alone(context, function, value):
        return False
    compiling = {root.node for root in context.traced.known[function].roots}
    for node in nodes:  # `predict = jax.jit(predict)`, which compiles it under its own name
        if isinstance(node, ast.Assign) and node.value in compiling and isinstance(node.value, ast.Call):
            if all(isinstance(target, ast.Name) and target.id == name for target in node.targets):
                taking |= {*node.targets, *node.value.args[:1]}
    if any(isinstance(n, ast.Name) and n.id == name and n not in taking for n in nodes):
        return False
    if any(isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING for call in calls):
        return False
    return not _later(context, function, value.name, scope)


def _argument_alone(context: Context, function: FunctionFacts, value: Free) -> bool:
    """Say whether a captured object is an argument that nothing but the function reads, and that it does not change:
    it stays as it is in all rounds of a loop."""
    scope = value.scope
    if scope.function is None or value.name not in scope.function.params:
        return False
    if _refused(context, function, [ast.Name(value.name, ast.Load())]):
        return False
    name = getattr(function.node, "name", "")
    calls = (one for one in context.bodies.calls.get(scope, ()) if last_word(one.node.func) == name)
    if not all(one.used for one in calls):
        return False  # it is called for what it changes
    known = context.shared(_known_names)
    if scope not in known:
        known[scope] = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name)]
    own = {n for n in ast.walk(function.node) if isinstance(n, ast.Name)}
    others = [n for n in known[scope] if n not in own]
    if any(n.id == value.name for n in others):
        return False
    read = (scope.module.values.get(n) for n in others)  # an optimizer may hold the model, and change it
    return not any(kinds_of(context, one, scope) & NNX_OBJECTS for one in read if one is not None)


def _known_names(context: Context) -> dict[Scope, list[ast.Name]]:
    """Return where the names in functions, and in those within, are kept: they are looked at for many of the latter."""
    return {}


def _later(context: Context, function: FunctionFacts, name: str, scope: Scope) -> bool:
    """Say whether a body speaks of an object, or of what it was given to, behind a function or in another one."""
    nodes = context.bodies.nodes(scope)
    names = {name}
    for statement in nodes:
        if isinstance(statement, ast.Assign) and names & names_in(statement.value):
            names |= {n for target in statement.targets for n in names_in(target)}
    direct, own = set(nodes), set(ast.walk(function.node))
    end = function.node.end_lineno or 0
    return any(
        isinstance(n, ast.Name) and n.id in names and n not in own and (n.lineno > end or n not in direct)
        for n in ast.walk(scope.node)
    )


_LINEN = frozenset({"apply", "init", "init_with_output", "bind", "tabulate"})


def _of_linen(context: Context, function: FunctionFacts, func: ast.expr, name: ast.Name) -> bool:
    """Say whether a method of Linen is called on an object of a class that has none of its name."""
    if not isinstance(func, ast.Attribute) or func.attr not in _LINEN:
        return False
    cls = owner_class(context, function.scope.module.values[name], function.scope)
    return isinstance(cls, ClassFacts) and not has_attribute(context, cls, func.attr)


def _used(context: Context, function: FunctionFacts, name: ast.Name) -> bool:
    """Say whether the object's arrays can matter: it is called, passed on, or one of its methods is called."""
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Call):
            func, held = node.func, None
            while isinstance(func, ast.Attribute | ast.Subscript):
                func, held = func.value, func if func is not node.func else None
            if func is name and held is None and _of_linen(context, function, node.func, name):
                continue  # NNX875 says that there is no such method
            if (func is name and (held is None or _of_object(context, function, held))) or any(
                argument is name for argument in node.args
            ):
                return True
            if any(k.value is name for k in node.keywords):
                return True
    return False


def _of_object(context: Context, function: FunctionFacts, held: ast.expr) -> bool:
    """Say whether what an object holds may be one of NNX, and not something that has no arrays of it."""
    value = function.scope.module.values.get(held)
    return value is None or bool(kinds_of(context, value, function.scope) & NNX_OBJECTS)


RULE = Rule(
    code="NNX801",
    name="captured-object",
    summary="compiled code uses a module, optimizer, metric or Rngs from outside",
    why="""\
`jit` compiles the arrays of a captured object in as constants: later training does not reach them, and an update
inside raises TraceContextError, or is lost. Objects have to come in as arguments.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source="JAX tutorial on purity; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(x):
    return model(x)
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(model, x):
    return model(x)
""",
            after="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(model, x):
    return model(x)
""",
            run=False,
        ),
    ),
    check=_check,
)
