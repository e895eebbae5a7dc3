"""NNX818: a state kept under a name that promises a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.set_anew import set_before, worked_on
from codemods.nnx.lint.syntax import assignments, constant, outermost_loop
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rewrite import replace
from codemods.nnx.state.aliases import aliases_of
from codemods.nnx.values import Attr, Call, Const, Item, Param, of_display

_PROMISES = pattern(r"(^|_)(best|backup|snapshot|saved|initial|init|old|prev|previous|before|frozen)(_|$)")


_COPIES = pattern(r"copy|clone|pure|tree.*map|device_get|asarray")


def _check(context: Context) -> Iterator[Finding]:
    yield from _kept(context)
    told = set()
    for event, kept in _followed(context):
        told.add(event.node)
        apart = last_word(event.node.func) == "split"
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{kept} is no copy since Flax 0.11: it holds the Variables of the object itself",
            "split a copy: nnx.split(nnx.clone(...))" if apart else "copy the state: nnx.clone(nnx.state(...))",
            None if apart else _fix(context, event),
        )
    for event, name in foreign(context, "state"):
        target = _target(event)
        if name != "flax.nnx.state" or target is None or in_test(event.scope) or not event.value.args:
            continue
        if event.node in told or _of_copy(context, event):
            continue
        if context.traced.get(event.scope.function) is not None or _read(context, event, target):
            if context.options.origin == "0.10" or not _trained_on(context, event, target):
                continue
        if isinstance(event.node.args[0], ast.Name | ast.Attribute):
            if Kind.MODULE in kinds_of(context, event.value.args[0], event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{target.id}` is no copy since Flax 0.11: it holds the Variables of the object itself",
                    "copy the state: nnx.clone(nnx.state(...))",
                    _fix(context, event),
                )


def _followed(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the states that follow a change of their object, and are read afterwards as if they had not.

    In code for a release that copies NNX401 tells of them. In code for a later one the state may be meant to follow,
    unless its name promises something else, it is put back into the object that it is of, which does nothing, or a
    list collects them.
    """
    if context.options.crosses("0.11"):
        return
    wanted: dict[CallEvent, str] = {}
    for event, name in foreign(context, "state", "split"):
        if name not in {"flax.nnx.state", "flax.nnx.split"} or not event.value.args or in_test(event.scope):
            continue
        for target in _names(event):
            if (_PROMISES.search(target.id) and not _filtered(event)) or _returned(context, event, target):
                wanted[event] = f"`{target.id}`"
        entry = _entry(event)
        if entry is not None:
            wanted[event] = f"`{ast.unparse(entry)}`"
        kept = _kept_by_callers(context, event)
        if kept is not None:
            wanted[event] = f"`{kept}`"
        if _collected(context, event) and not _filtered(event):
            wanted[event] = "what the list collects"
    if wanted:
        follow = {alias.node for alias in aliases_of(context, wanted) if alias.forward and not alias.told_apart}
        yield from ((event, kept) for event, kept in wanted.items() if event.node in follow)


def _entry(event: CallEvent) -> ast.Subscript | None:
    """Return the entry of a dict that gets a state, if its name or that of the dict promises a copy."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or _filtered(event):
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript):
        return None
    words = [constant(target.slice), target.value.id if isinstance(target.value, ast.Name) else None]
    return target if any(isinstance(one, str) and _PROMISES.search(one) for one in words) else None


def _kept_by_callers(context: Context, event: CallEvent) -> str | None:
    """Return under which name the callers of a function keep the state that it returns, if all want a copy."""
    function = event.scope.function
    if function is None or last_word(event.node.func) == "split" or not _is_result(event):
        return None
    model, first = event.node.args[0], next((p for p in function.params.values() if p is not function.self_param), None)
    handed = first is not None and event.scope.module.values.get(model) is first
    name = None
    for caller in context.flow.sites.callers(function):
        targets = _names(caller)
        if len(targets) != 1 or in_test(caller.scope):
            return None
        promised = _PROMISES.search(targets[0].id) and not _filtered(event)
        if not promised and not (handed and caller.node.args and _returned(context, caller, targets[0])):
            return None
        name = targets[0].id
    return name


def _is_result(event: CallEvent) -> bool:
    """Say whether a function returns what a call gives, as it is."""
    function = event.scope.function
    if function is not None and isinstance(function.node, ast.Lambda):
        return function.node.body is event.node
    if isinstance(event.statement, ast.Return):
        return event.statement.value is event.node
    return function is not None and function.returns == [event.value]


def _collected(context: Context, event: CallEvent) -> bool:
    """Say whether a loop appends the state that a call gives to a list."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if isinstance(target, ast.Name) and event.loops:
        return any(
            last_word(other.node.func) == "append"
            and other.loops == event.loops
            and len(other.node.args) == 1
            and event.scope.module.values.get(other.node.args[0]) is event.value
            for other in context.bodies.calls.get(event.scope, ())
        )
    outer = statement.value if isinstance(statement, ast.Expr) and event.loops else None
    return isinstance(outer, ast.Call) and last_word(outer.func) == "append" and outer.args == [event.node]


def _names(event: CallEvent) -> list[ast.Name]:
    """Return the variables that get the state that a call gives, or a part of it."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and statement.value is event.node:
        first = 1 if last_word(event.node.func) == "split" else 0
        return [one for one in target.elts[first:] if isinstance(one, ast.Name)]
    if last_word(event.node.func) == "split":
        return []
    one = _given(event)
    if one is None and isinstance(target, ast.Name) and event.node in _parts(statement.value):
        one = target  # best = (loss, nnx.state(model))
    return [one] if one is not None else []


def _parts(display: ast.expr) -> list[ast.expr]:
    """Return what stands in a tuple, list or dict."""
    if isinstance(display, ast.Dict):
        return display.values
    return display.elts if isinstance(display, ast.Tuple | ast.List) else []


def _filtered(event: CallEvent) -> bool:
    """Say whether a call takes other Variables than all, or the parameters, which training may leave alone."""
    return any(last_word(node) != "Param" for node in event.node.args[1:])


def _returned(context: Context, event: CallEvent, target: ast.Name) -> bool:
    """Say whether a state is put back, as it is, into the object that it was taken from."""
    for value in event.scope.bindings.get(target.id, ()):
        source = of_display(value)
        if source is value and isinstance(value, Item):
            source = value.base
        if not isinstance(source, Const) and source is not event.value:
            return False  # it may be another one
    model = ast.dump(event.node.args[0])
    return any(
        other.scope is event.scope
        and len(other.node.args) == 2
        and isinstance(state := other.node.args[1], ast.Name)
        and state.id == target.id
        and ast.dump(other.node.args[0]) == model
        and context.flow.calls.name(other) == "flax.nnx.update"
        for other in context.bodies.named("update")
    )


def _kept(context: Context) -> Iterator[Finding]:
    """Yield the states that an attribute keeps and that another method puts back into the model."""
    back: dict[tuple[ClassFacts, str], bool] = {}  # with whether the name, or the place, promises a copy
    for e, name in foreign(context, "update", everywhere=True):
        value = e.value.args[1] if name == "flax.nnx.update" and len(e.value.args) == 2 else None
        if isinstance(value, Attr) and (cls := _keeper(context, value, e.scope)) is not None:
            if set_before(context, e, value):
                continue
            own = e.scope.function is not None and value.base is e.scope.function.self_param
            promised = own or _PROMISES.search(value.name) is not None
            back[cls, value.name] = promised or back.get((cls, value.name), False)
    if not back:
        return
    for event, name in foreign(context, "state", "split"):
        function = event.scope.function
        if name not in {"flax.nnx.state", "flax.nnx.split"} or not event.value.args or in_test(event.scope):
            continue
        if function is None or function in context.traced or function.owner is None:
            continue
        kept = next((t for t in _attributes(event) if (function.owner, t.attr) in back), None)
        if kept is not None and not back[function.owner, kept.attr] and not _of_the_better(context, event, kept.attr):
            continue
        model = event.node.args[0]
        if kept is None or not isinstance(model, ast.Name | ast.Attribute) or _of_copy(context, event):
            continue
        if worked_on(context, function.owner, kept.attr):
            continue
        if any(
            _puts_back(context, e, kept.attr) and not _behind_loop(e, event)
            for e in context.bodies.calls.get(event.scope, ())
        ):
            continue  # in the same breath
        kinds = kinds_of(context, event.value.args[0], event.scope)
        if Kind.MODULE in kinds or (not kinds and isinstance(event.value.args[0], Param)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`self.{kept.attr}` is no copy since Flax 0.11: it holds the Variables of the object itself",
                "copy the object or its state first, with nnx.clone(...)",
            )


def _of_copy(context: Context, event: CallEvent) -> bool:
    """Say whether the state is that of a copy which nothing else uses afterwards."""
    model, made = event.node.args[0], event.value.args[0]
    if not isinstance(model, ast.Name) or not isinstance(made, Call):
        return False
    if context.flow.calls.callee_name(context.flow.here(made, event.scope)) not in {"flax.nnx.clone", "copy.deepcopy"}:
        return False
    return not any(
        isinstance(n, ast.Name) and n.id == model.id and isinstance(n.ctx, ast.Load) and n.lineno > event.node.lineno
        for n in ast.walk(event.scope.node)
    )


def _keeper(context: Context, kept: Attr, scope: Scope) -> ClassFacts | None:
    """Return the class whose object keeps a state: that of the method itself, or that of the object which is named."""
    function = scope.function
    if function is not None and kept.base is function.self_param:
        return function.owner
    found = {context.flow.classes.class_of(one) for one in context.sources.of(context.flow.here(kept.base, scope))}
    return found.pop() if len(found) == 1 else None


def _of_the_better(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether an object keeps a state only where one number is less or greater than another, and nothing else."""
    owner = event.scope.function.owner if event.scope.function is not None else None
    stored = [of_display(value) for _, value in owner.stores.get(name, ())] if owner is not None else []
    if any(value is not event.value and value != Const(None) for value in stored):
        return False
    return any(
        isinstance(block, ast.If)
        and arm == "body"
        and any(isinstance(n, ast.Lt | ast.Gt | ast.LtE | ast.GtE) for n in ast.walk(block.test))
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
    )


def _attributes(event: CallEvent) -> list[ast.Attribute]:
    """Return the attributes that get the result, or a part of it."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return []
    parts = [p for t in statement.targets for p in elements(t)]
    return [p for p in parts if isinstance(p, ast.Attribute)]


def _puts_back(context: Context, event: CallEvent, name: str) -> bool:
    return any(isinstance(value, Attr) and value.name == name for value in event.value.args[1:]) and (
        context.flow.calls.name(event) == "flax.nnx.update"
    )


def _behind_loop(back: CallEvent, event: CallEvent) -> bool:
    """Say whether a state that some rounds of a loop keep is put back when the loop is over."""
    loop = outermost_loop(event)
    return loop is not None and loop not in back.loops and back.node.lineno > (loop.end_lineno or 0)


def _target(event: CallEvent) -> ast.Name | None:
    target = _given(event)
    return target if target is not None and _PROMISES.search(target.id) else None


def _given(event: CallEvent) -> ast.Name | None:
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = next((one for one, value in assignments(statement) if value is event.node), None)
    return target if isinstance(target, ast.Name) else None


def _read(context: Context, event: CallEvent, target: ast.Name) -> bool:
    """Say whether the scope reads the state later: then it can be seen what happens to it, and NNX4xx judges."""
    return any(
        isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
        for node in context.bodies.nodes(event.scope)
    )


def _trained_on(context: Context, event: CallEvent, target: ast.Name) -> bool:
    """Say whether an optimizer changes the model after its state was kept, and nothing copies the state."""
    if context.traced.get(event.scope.function) is not None:
        return False
    trains = False
    for call in context.bodies.calls.get(event.scope, ()):
        given = [*call.node.args, *(k.value for k in call.node.keywords)]
        if any(isinstance(n, ast.Name) and n.id == target.id for a in given for n in ast.walk(a)):
            if _COPIES.search(ast.unparse(call.node.func)):
                return False
        later = call.node.lineno > event.node.lineno or bool(set(call.loops) & set(event.loops))
        if later and isinstance(call.value.callee, Attr) and call.value.callee.name == "update" and len(given) > 1:
            trains |= Kind.OPTIMIZER in kinds_of(context, call.value.callee.base, event.scope)
    return trains


def _fix(context: Context, event: CallEvent) -> Fix | None:
    spelling = spell(context.flow, event.scope, "clone")
    if spelling is None:
        return None
    source = event.scope.module.source
    edits = [replace(source, event.node, f"{spelling.text}({source.text(event.node)})"), *spelling.edits]
    return Fix(tuple((source.path, edit) for edit in edits), Safety.UNSAFE)


RULE = lint_rule(
    "NNX818",
    "kept-state",
    "nnx.state kept as best, saved or initial state without a copy",
    why="""\
Up to Flax 0.10 `nnx.state` copied. Since 0.11 the state holds the Variables of the object: training changes it too, and
`nnx.update(model, best)` restores nothing. Where the uses of the state can be followed, the rules on aliases (NNX4xx)
decide; this one warns of a state whose name promises a copy.
""",
    source="measured: restored on Flax 0.10.7, not restored on 0.11.2 and 0.12.8",
    check=_check,
    mended=(
        (
            """\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
best = nnx.state(model, nnx.Param)
""",
            """\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
best = nnx.clone(nnx.state(model, nnx.Param))
""",
        ),
    ),
    clean=(
        """\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
params = nnx.state(model, nnx.Param)
best = nnx.clone(nnx.state(model, nnx.Param))
""",
    ),
    safety=Safety.UNSAFE,
)
