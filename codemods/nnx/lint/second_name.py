"""NNX859: a second name for a model where a copy was meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.own_shadow import own_shadows
from codemods.nnx.lint.places import callers_of, each, foreign, in_test, kinds_of, passed, position, scopes, target_of
from codemods.nnx.lint.syntax import argument, innermost_loop, inside, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rewrite import replace
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Const,
    Free,
    Item,
    Param,
    Sequence,
    Unknown,
    Value,
    of_display,
)

_COPY = pattern(
    r"(^|_)(target|ema|best|backup|snapshot|old|prev|previous|initial|frozen|teacher|averaged|polyak|copy|shadow)(_|$)",
    re.I,
)

# what people call models: a cheap test before the value is asked for
_MODEL = pattern(r"model|net|online|polic|critic|actor|student|module|encoder|decoder|agent|head|\bq_?|unet|vae", re.I)
# what an optimizer or a loss is about is called a target too, and is no target network
_TRAINED = pattern(
    r"(^|_)(opt|optim|optimi[sz](er|ed|ation)|train|training|trained|loss|grad|attack)_target(_|$)", re.I
)
_NAMED = (Param, Free, Attr, Call, Item, Choice, Unknown)  # what a variable or an attribute may hold


def _check(context: Context) -> Iterator[Finding]:
    yield from _collected(context)
    yield from _given_twice(context)
    yield from _multiplied(context)
    yield from _keyed(context)
    yield from _shallow(context)
    yield from _adapted(context)
    for scope, model, name in own_shadows(context, _promises):
        yield _no_copy(context, name, model, scope)
    promising = _promising(context)
    for scope in promising:
        yield from _at_once(context, scope)
    for scope in promising:
        for node, target, written in _assigned(context, scope):
            source = _handed_back(context, written, scope) if _promises(last_word(target)) else None
            if not isinstance(source, ast.Name | ast.Attribute) or not isinstance(target, ast.Name | ast.Attribute):
                continue
            if not _promises(last_word(target)) or _promises(last_word(source)):
                continue
            if not _MODEL.search(f"{last_word(target)} {last_word(source)}"):
                continue
            if _optimized(context, target, scope):
                continue
            value = scope.module.values.get(source)
            if value is None or _given_only(context, node, value, scope):
                continue
            if _moves_on(context, node, source, value, scope) or not _model(context, source, scope):
                continue
            yield _no_copy(context, scope.module.source.text(target), source, scope)


def _adapted(context: Context) -> Iterator[Finding]:
    """Yield the models that are to be adapted to one task after the other, and go on from the task before."""
    for scope in scopes(context):
        if not any(_ADAPTED.search(name) for name in scope.bindings) or in_test(scope):
            continue
        for node, target, source in _assigned(context, scope):
            if not isinstance(target, ast.Name) or not _is_name(source) or not _ADAPTED.search(target.id):
                continue
            if _ADAPTED.search(last_word(source)) or _promises(target.id) or not _changed(context, target.id, scope):
                continue
            value = scope.module.values.get(source)
            path = context.bodies.paths(scope).get(node, ())
            loop = next((outer for outer, _ in reversed(path) if isinstance(outer, ast.For | ast.While)), None)
            again = isinstance(value, Param) and _kept_again(context, scope, value, 0)
            if value is None or not (
                again or (loop is not None and not _moves_on(context, node, source, value, scope))
            ):
                continue
            if _model(context, source, scope):
                yield _no_copy(context, target.id, source, scope)


_ADAPTED = pattern(r"^((task|inner)_?(model|net|learner|policy)|(fast|adapted|cloned)(_\w+)?|learner)$", re.I)


def _changed(context: Context, name: str, scope: Scope) -> bool:
    """Say whether a body changes the model that a variable holds: by new parameters, or by an optimizer."""
    return any(
        last_word(event.node.func) in {"update", "Optimizer", "ModelAndOptimizer"}
        and isinstance(model := argument(event.node, 0, "model"), ast.Name)
        and model.id == name
        for event in context.bodies.calls.get(scope, ())
    )


def _handed_back(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the argument that a function of the project gives back as it is; other expressions themselves."""
    if isinstance(node, ast.IfExp | ast.BoolOp):
        return _instead(context, node, scope)
    value = scope.module.values.get(node) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or value.starred:
        return node
    given = [*node.args, *(k.value for k in node.keywords)]
    callees = context.flow.calls.invoked(context.flow.here(value, scope)) if any(map(_is_name, given)) else ()
    if len(callees) != 1 or callees[0][0].gradient or callees[0][0].function.generator:
        return None
    function = callees[0][0].function
    if function.is_cached or function in context.traced or len(set(function.returns)) != 1:
        return None
    param = function.returns[0]
    if not isinstance(param, Param) or param.function is not function or param is function.self_param:
        return None
    return argument(node, position(param), param.name)


def _instead(context: Context, node: ast.IfExp | ast.BoolOp, scope: Scope) -> ast.expr | None:
    """Return what stands in for an argument that a call of the project leaves out; None if there is no such."""
    if isinstance(node, ast.BoolOp):
        if not isinstance(node.op, ast.Or) or len(node.values) != 2:
            return None
        given, other = node.values
    else:
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ast.unparse(test.comparators[0]) != "None":
            return None
        given, other = (node.body, node.orelse) if isinstance(test.ops[0], ast.IsNot) else (node.orelse, node.body)
        if not isinstance(test.ops[0], ast.Is | ast.IsNot) or ast.unparse(given) != ast.unparse(test.left):
            return None
    param = scope.module.values.get(given)
    function = scope.function
    if not isinstance(param, Param) or function is None or param.function is not function:
        return None
    default = function.defaults.get(param.name)
    if not isinstance(default, Const) or default.value is not None:
        return None
    left_out = any(
        not caller.value.starred and passed(caller, param) is None and not in_test(caller.scope)
        for caller in callers_of(context, function)[:20]
    )
    return other if left_out else None


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _optimized(context: Context, target: ast.Name | ast.Attribute, scope: Scope) -> bool:
    """Say whether an optimizer is made for what a variable or an attribute holds, or its name says so: what is trained
    is no copy that waits for the training of another."""
    if _TRAINED.search(last_word(target)):
        return True
    text = ast.unparse(target)
    return any(
        last_word(event.node.func) in {"Optimizer", "ModelAndOptimizer"}
        and isinstance(model := argument(event.node, 0, "model"), type(target))
        and ast.unparse(model) == text
        for event in context.bodies.calls.get(scope, ())
    )


def _no_copy(context: Context, name: str, model: ast.expr, scope: Scope) -> Finding:
    """Return the finding that a name which promises a copy is one of the model itself."""
    return finding(
        RULE.code,
        scope,
        model,
        f"`{name}` is no copy: it is `{scope.module.source.text(model)}` under another name, and changes with it",
        "copy the model: nnx.clone(...)",
        _fix(context, model, scope),
    )


def _collected(context: Context) -> Iterator[Finding]:
    """Yield the models that a loop trains and puts into a list in every round."""
    for event in context.bodies.named("append"):
        given = event.node.args[0] if len(event.node.args) == 1 else None
        if not isinstance(given, ast.Name | ast.Attribute) or not event.loops or not _MODEL.search(last_word(given)):
            continue
        loop = event.loops[-1]
        if not isinstance(loop, ast.For | ast.While) or event.scope.module not in context.asked or in_test(event.scope):
            continue
        word, text = last_word(given), ast.unparse(given)
        if any(
            isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and last_word(node) == word
            for node in ast.walk(loop)
        ):
            continue
        trained = any(
            other.node is not event.node
            and inside(other.node, loop)
            and any(ast.unparse(node) == text for node in other.node.args if isinstance(node, ast.Name | ast.Attribute))
            and any("opt" in last_word(node).lower() for node in (*other.node.args, other.node.func))
            for other in context.bodies.calls.get(event.scope, ())
        )
        if trained and _model(context, given, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                given,
                f"every round puts the same `{text}` into the list: all its elements are the last model",
                "copy the model: nnx.clone(...)",
                _fix(context, given, event.scope),
            )


def _given_twice(context: Context) -> Iterator[Finding]:
    """Yield the models that a constructor gets under two names, one of which promises a copy."""
    for event in context.asked.calls():
        if len(event.node.args) + len(event.node.keywords) < 2 or event.value.starred:
            continue
        pairs = [(None, node) for node in event.node.args] + [(k.arg, k.value) for k in event.node.keywords]
        words = [last_word(node) for _, node in pairs if isinstance(node, ast.Name | ast.Attribute)]
        if len(set(words)) == len(words):
            continue
        texts = [ast.unparse(node) for _, node in pairs if isinstance(node, ast.Name | ast.Attribute)]
        names = _field_names(context, event)
        for index, (name, node) in enumerate(pairs):
            word = name or (names[index] if index < len(names) else "")
            if not isinstance(node, ast.Name | ast.Attribute) or not _promises(word) or _promises(last_word(node)):
                continue
            if texts.count(ast.unparse(node)) < 2 or in_test(event.scope) or not names:
                continue
            if _model(context, node, event.scope):
                yield _no_copy(context, word, node, event.scope)


def _field_names(context: Context, event: CallEvent) -> list[str]:
    """Return what the arguments of a constructor of the project are called; empty if the callee is none."""
    flow = context.flow
    callee = flow.follow(flow.here(event.value, event.scope), event.value.callee).value
    if isinstance(callee, Param) and callee.function.binding == "class" and callee.function.owner is not None:
        if callee is not next(iter(callee.function.params.values()), None):
            return []
        cls = callee.function.owner
    elif isinstance(callee, Class):
        cls = callee.facts
    else:
        return []
    init = flow.classes.method(cls, "__init__")
    return list(init.params)[1:] if init is not None else flow.classes.dataclass_fields(cls)


def _keyed(context: Context) -> Iterator[Finding]:
    """Yield the models that a dict holds under a key that promises a copy, and under another one or a name as well."""
    for scope, node in each(context, ast.Assign, ast.Dict, ast.Call):
        for word, given in _entries(node):
            if not scope.module.source.mentions(b"nnx") or in_test(scope):
                continue
            value = scope.module.values.get(given)
            if value is None or kinds_of(context, value, scope) != {Kind.MODULE}:
                continue
            yield _no_copy(context, word, given, scope)


_HALVES = {"copy.copy": "copy.copy copies no Variable", "flax.nnx.view": "nnx.view copies no Variable",
           "flax.nnx.merge": "nnx.merge takes the Variables of the state as they are"}  # fmt: skip


def _shallow(context: Context) -> Iterator[Finding]:
    """Yield the copies that share their Variables with the model, under names that promise more."""
    for event, name in foreign(context, "copy", "view", "merge"):
        statement = event.statement
        if name in _HALVES and event.scope.function is not None and event.scope.function.returns == [event.value]:
            yield from _half_returned(context, event, name)
        if name not in _HALVES or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target, model = statement.targets[0], _halved(context, event, name)
        if not isinstance(target, ast.Name | ast.Attribute) or model is None or in_test(event.scope):
            continue
        if not _promises(last_word(target)) or _promises(last_word(model)) or event.scope.function in context.traced:
            continue
        if context.options.origin not in {"0.10"} and _model(context, model, event.scope):
            text = event.scope.module.source.text
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text(target)}` is half a copy: {_HALVES[name]}, so that it changes with `{text(model)}`",
                "copy the model: nnx.clone(...)",
            )


def _half_returned(context: Context, event: CallEvent, name: str) -> Iterator[Finding]:
    """Yield the shells that a function makes of its argument, and that a caller keeps under a name that promises a
    copy."""
    function = event.scope.function
    if context.options.origin == "0.10" or function is None or function in context.traced or in_test(event.scope):
        return
    model = _halved(context, event, name, handed=True)
    param = event.scope.module.values.get(model) if model is not None else None
    if not isinstance(param, Param) or param.function is not function or param is function.self_param:
        return
    for caller in callers_of(context, function)[:20]:
        target, given = target_of(caller), argument(caller.node, position(param), param.name)
        if not isinstance(target, ast.Name | ast.Attribute) or not isinstance(given, ast.Name | ast.Attribute):
            continue
        if caller.value.starred or in_test(caller.scope) or caller.scope.function in context.traced:
            continue
        if _promises(last_word(target)) and not _promises(last_word(given)) and _model(context, given, caller.scope):
            text = caller.scope.module.source.text
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text(target)}` is half a copy: {_HALVES[name]}, so that it changes with `{text(given)}`",
                "copy the model: nnx.clone(...)",
            )
            return


def _halved(context: Context, event: CallEvent, name: str, handed: bool = False) -> ast.expr | None:
    """Return the model that a call gives back in another shell.

    Args:
        context: the analysis.
        event: the call.
        name: what it calls.
        handed: whether the model is an argument, which the caller goes on using.
    """
    first = event.node.args[0] if event.node.args else None
    if name != "flax.nnx.merge":
        return first if isinstance(first, ast.Name | ast.Attribute) else None
    split = _split(event, first)
    if split is None or not split.node.args:
        return None
    made = context.flow.here(split, event.scope)
    model = split.node.args[0]
    whole = context.flow.calls.callee_name(made) == "flax.nnx.split"
    if not whole or not isinstance(model, ast.Name | ast.Attribute):
        return None
    parted = not isinstance(first, ast.Starred)  # which may only show how it is done
    if parted and not handed and isinstance(model, ast.Name) and not _read_behind(context, model.id, event):
        return None
    return model


def _read_behind(context: Context, name: str, event: CallEvent) -> bool:
    """Say whether a variable is read again behind a call."""
    end = event.node.end_lineno or event.node.lineno
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node.lineno > end
        for node in context.bodies.nodes(event.scope)
    )


def _split(event: CallEvent, first: ast.expr | None) -> Call | None:
    """Return the split whose parts a merge gets: all of them unpacked, or a definition and a state by their names."""
    if event.node.keywords:
        return None
    if isinstance(first, ast.Starred) and len(event.node.args) == 1:
        found = event.scope.module.values.get(first.value)
        return found if isinstance(found, Call) and isinstance(first.value, ast.Call) else None
    parts = list(event.value.args)
    first_part = parts[0] if len(parts) == 2 else None
    base = first_part.base if isinstance(first_part, Item) else None
    if not isinstance(base, Call) or len(base.args) != 1 or base.keywords or base.starred:
        return None
    return base if parts == [Item(base, Const(0)), Item(base, Const(1))] else None


def _entries(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the keys that promise a copy, with what a dict gets for them that has another name besides."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript) and len(node.targets) == 1:
        word, own = _key(node.targets[0]), _key(node.value)
        if _promises(word) and own and not _promises(own):
            yield word, node.value
    elif isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and last_word(node.func) == "dict"):
        pairs = _pairs(node)
        names = [ast.unparse(value) for _, value in pairs if isinstance(value, ast.Name | ast.Attribute)]
        for word, value in pairs if len(set(names)) < len(names) else ():
            if _promises(word) and isinstance(value, ast.Name | ast.Attribute) and not _promises(last_word(value)):
                if names.count(ast.unparse(value)) > 1:
                    yield word, value


def _pairs(node: ast.Dict | ast.Call) -> list[tuple[str, ast.expr]]:
    """Return the entries of a display of a dict, or of ``dict(key=value)``, those of other keys with an empty one."""
    if isinstance(node, ast.Call):
        return [(k.arg or "", k.value) for k in node.keywords]
    words = (key.value if isinstance(key, ast.Constant) else "" for key in node.keys)
    return [(word if isinstance(word, str) else "", v) for word, v in zip(words, node.values, strict=True)]


def _key(node: ast.expr) -> str:
    """Return the key of ``x["key"]``; empty for anything else."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _multiplied(context: Context) -> Iterator[Finding]:
    """Yield the lists that hold one new layer several times."""
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not scope.module.source.mentions(b"nnx") or in_test(scope):
            continue
        display = next((one for one in (node.left, node.right) if isinstance(one, ast.List | ast.Tuple)), None)
        made = display.elts[0] if display is not None and len(display.elts) == 1 else None
        if not isinstance(made, ast.Call) or (isinstance(node.right, ast.Constant) and node.right.value == 1):
            continue
        value = scope.module.values.get(made)
        if value is not None and kinds_of(context, value, scope) == {Kind.MODULE}:
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{scope.module.source.text(made)}` is made once: the list holds the same layer several times",
                "make one for every place: [... for _ in range(n)]",
            )


def _assigned(context: Context, scope: Scope) -> Iterator[tuple[ast.Assign, ast.expr, ast.expr]]:
    """Yield what is assigned in a body, with its target; several at once too."""
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        yield from ((node, target, source) for target, source in taken_apart(node.targets[0], node.value))


def _at_once(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield the models that one statement gives two names, one of which promises a copy, and that is kept."""
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign):
            continue
        for target, other, model, home in _twins(context, node, scope):
            if not _is_name(target) or not _is_name(other):
                continue
            word, own = last_word(target), last_word(other)
            if (
                not _promises(word)
                or not own
                or _promises(own)
                or not _MODEL.search(f"{word} {own} {last_word(model)}")
            ):
                continue
            if _set_again(context, target, scope) or _set_again(context, other, scope):
                continue
            value = home.module.values.get(model)
            if value is not None and kinds_of(context, value, home) == {Kind.MODULE}:
                text = scope.module.source.text
                yield finding(
                    RULE.code,
                    scope,
                    target,
                    f"`{text(target)}` is no copy: it is `{text(other)}` under another name, and changes with it",
                    f"copy the model: nnx.clone({text(other)})",
                )


def _twins(context: Context, node: ast.Assign, scope: Scope) -> Iterator[tuple[ast.expr, ast.expr, ast.expr, Scope]]:
    """Yield pairs of targets that get one object, with what it is made by or called, and the body of that."""
    if len(node.targets) > 1:
        for target in node.targets:
            for other in node.targets:
                yield target, other, node.value, scope
        return
    targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else []
    sources: list[ast.expr] = []
    home = scope
    if isinstance(node.value, ast.Tuple):
        sources = node.value.elts
    elif isinstance(node.value, ast.Call) and any(_promises(last_word(target)) for target in targets):
        value = scope.module.values.get(node.value)
        callees = list(context.flow.calls.invoked(context.flow.here(value, scope))) if isinstance(value, Call) else []
        if len(callees) != 1 or callees[0][0].function in context.traced:
            return
        results, home = callees[0][0].function.returns, callees[0][0].function.scope
        if len(results) == 1 and isinstance(results[0], Sequence) and isinstance(results[0].node, ast.Tuple):
            sources = results[0].node.elts
    if len(sources) != len(targets) or any(isinstance(one, ast.Starred) for one in (*sources, *targets)):
        return
    texts = [ast.unparse(source) if _is_name(source) else "" for source in sources]
    for text, target, source in zip(texts, targets, sources, strict=True):
        for again, other in zip(texts, targets, strict=True):
            if text and text == again:
                yield target, other, source, home


def _set_again(context: Context, target: ast.expr, scope: Scope) -> bool:
    """Say whether a name or an attribute is bound in another place as well, which may be the copy."""
    if isinstance(target, ast.Attribute):
        function = scope.function
        if function is not None and function.owner is not None and ast.unparse(target.value) == "self":
            return len(function.owner.stores.get(target.attr, ())) > 1
        return len(context.flow.fields.stores().get(target.attr, ())) > 1
    return not isinstance(target, ast.Name) or len(scope.bindings.get(target.id, ())) > 1


@cache
def _promises(name: str) -> bool:
    """Say whether a name promises a copy."""
    return _COPY.search(name) is not None


def _promising(context: Context) -> list[Scope]:
    """Return the scopes that assign to a name that promises a copy, tests left out."""
    found: dict[Scope, None] = {}
    for scope in scopes(context):
        if any(_aliased(scope, name) for name in scope.bindings if _promises(name)):
            found[scope] = None
    for event in context.project.attributes():
        if isinstance(event.stored, _NAMED) and _promises(event.node.attr):
            found[event.scope] = None
    return [scope for scope in found if not in_test(scope)]


def _aliased(scope: Scope, name: str) -> bool:
    """Say whether a variable may be another name for what an attribute or a variable holds."""
    for value in scope.bindings[name]:
        value = of_display(value)  # one of several that are assigned at once
        if isinstance(value, Param | Free | Attr | Call | Choice | Unknown) or (
            isinstance(value, Item) and isinstance(value.base, Call)
        ):
            return True
        if isinstance(value, _NAMED) and any(
            value is one for other, values in scope.bindings.items() if other != name for one in values
        ):
            return True
    return False


def _model(context: Context, source: ast.expr, scope: Scope) -> bool:
    value = scope.module.values.get(source)
    kinds = kinds_of(context, value, scope) if value is not None else frozenset()
    if kinds or value is None:
        return kinds == {Kind.MODULE}
    calls = context.bodies.calls.get(scope, ())
    return any(
        context.flow.calls.name(event) in {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"}
        for event in calls
        if event.value.argument(0, "model") is value
    )


def _given_only(context: Context, node: ast.Assign, value: Value, scope: Scope) -> bool:
    """Say whether a constructor keeps an argument, and under no other name: what it is is the caller's affair."""
    if not isinstance(value, Param):
        return False
    if isinstance(node.targets[0], ast.Attribute) and _kept_again(context, scope, value, 0):
        return False
    if isinstance(node.targets[0], ast.Name):
        return not any(_trains(event, value) for event in context.bodies.calls.get(scope, ()))
    return not any(
        isinstance(other, ast.Assign)
        and other is not node
        and isinstance(other.targets[0], ast.Attribute)
        and scope.module.values.get(other.value) is value
        for other in context.bodies.nodes(scope)
    )


def _kept_again(context: Context, scope: Scope, value: Param, depth: int) -> bool:
    """Say whether a method, not a constructor, is called in a loop and given one model in all of its rounds."""
    function = scope.function
    if function is None or value.function is not function or function.name in _MAKING or depth > 2:
        return False
    for caller in callers_of(context, function)[:20]:
        given = passed(caller, value)
        if given is None or caller.value.starred or in_test(caller.scope):
            continue
        loop = innermost_loop(caller)
        if loop is not None:
            if isinstance(given, Attr) or not varies(given, loop):
                return True
        elif isinstance(given, Param) and _kept_again(context, caller.scope, given, depth + 1):
            return True
    return False


_MAKING = frozenset({"__init__", "__post_init__", "setup", "__new__"})


def _trains(event: CallEvent, model: Param) -> bool:
    """Say whether a call changes a model: it gives it to an optimizer, or together with one to a step."""
    given = (*event.node.args, *(k.value for k in event.node.keywords))
    if not any(value is model for value in event.value.given):
        return False
    func = event.node.func
    word = func.attr if isinstance(func, ast.Attribute) else ""
    return word == "update" or any("opt" in last_word(node).lower() for node in given)


def _moves_on(context: Context, node: ast.Assign, source: ast.expr, value: Value, scope: Scope) -> bool:
    """Say whether the first name soon means another object: bound anew behind, in every round, or not used again."""
    path = context.bodies.paths(scope).get(node, ())
    loop = next((outer for outer, _ in reversed(path) if isinstance(outer, ast.For | ast.While)), None)
    if loop is not None and (varies(value, loop) if isinstance(source, ast.Name) else _stored(source, loop)):
        return True
    if isinstance(source, ast.Attribute):
        return any(
            isinstance(n, ast.Attribute)
            and isinstance(n.ctx, ast.Store)
            and n.attr == source.attr
            and n.lineno > node.lineno
            for n in context.bodies.nodes(scope)
        )
    assert isinstance(source, ast.Name)
    end = node.end_lineno or node.lineno
    later = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id == source.id and n.lineno > end]
    if any(isinstance(n.ctx, ast.Store) for n in later):
        return True
    return not later and loop is None and not isinstance(value, Param)


def _stored(source: ast.expr, loop: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and n.attr == last_word(source)
        for n in ast.walk(loop)
    )


def _fix(context: Context, source: ast.expr, scope: Scope) -> Fix | None:
    spelling = spell(context.flow, scope, "clone")
    if spelling is None:
        return None
    text = scope.module.source
    edits = [replace(text, source, f"{spelling.text}({text.text(source)})"), *spelling.edits]
    return Fix(tuple((text.path, edit) for edit in edits), Safety.UNSAFE)


RULE = lint_rule(
    "NNX859",
    "second-name",
    "a target, average or best model that is the model itself under another name",
    why="""\
An assignment copies nothing: `self.target = self.online` makes two names for one model. The target network follows
every step, the moving average is the model, the "best" weights are the last ones. `nnx.clone` makes a copy.
""",
    source="measured on Flax 0.10.7 and 0.12.8: both names have the same weights after training",
    check=_check,
    mended=(
        (
            """\
import optax
from flax import nnx


class Agent:
    def __init__(self, rngs):
        self.online = nnx.Linear(4, 2, rngs=rngs)
        self.target = self.online
        self.optimizer = nnx.Optimizer(self.online, optax.adam(1e-3), wrt=nnx.Param)
""",
            """\
import optax
from flax import nnx


class Agent:
    def __init__(self, rngs):
        self.online = nnx.Linear(4, 2, rngs=rngs)
        self.target = nnx.clone(self.online)
        self.optimizer = nnx.Optimizer(self.online, optax.adam(1e-3), wrt=nnx.Param)
""",
        ),
    ),
    clean=(
        """\
import optax
from flax import nnx


class Agent:
    def __init__(self, online: nnx.Module, target: nnx.Module):
        self.online = online
        self.target = target
        self.optimizer = nnx.Optimizer(self.online, optax.adam(1e-3), wrt=nnx.Param)
""",
    ),
    safety=Safety.UNSAFE,
)
