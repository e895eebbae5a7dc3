"""Whether something sets the mode of a module, training or evaluation, before a place of the code runs."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import callers_of, in_test, kinds_of
from codemods.nnx.lint.stuck_eval import reach
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call

_SETTERS = ("eval", "set_attributes", "set_mode")
_FLAGS = frozenset({"deterministic", "use_running_average"})
_SWITCHES = ("train", "eval")
_OTHERWISE = ("set_attributes", "set_mode", "view")  # what sets modes in another way
_OUTER = 4  # functions that call each other
_AROUND = 6  # those around what runs in training


def mode_set(context: Context, made: Bound, place: ast.AST, scope: Scope) -> bool:
    """Say whether something may set the mode of a module before a place runs, as ``model.eval()`` does.

    Args:
        context: the analysis.
        made: the module; that of a call may be told apart from others.
        place: where the module is used.
        scope: where that stands.
    """
    set_before = context.shared(_flags_assigned) or any(
        _may_be(context, event, made) and not _after(context, event, place, scope, 0)
        for event in context.bodies.named(*_SETTERS)
    )
    return set_before and not trains_at(context, place, scope)


def modes_spoken(
    context: Context, words: tuple[bytes, ...], place: ast.AST | None, scope: Scope | None, alone: bool = False
) -> bool:
    """Say whether the project speaks of modes, so that its models may evaluate where a place runs.

    Args:
        context: the analysis.
        words: what speaks of modes.
        place: where a model is used; None if that is not known.
        scope: where that stands.
        alone: whether only the file of the place is asked.
    """
    modules = [scope.module] if alone and scope is not None else context.project.modules
    if not any(word in one.source.data for one in modules for word in words):
        return False
    return place is None or scope is None or not trains_at(context, place, scope)


def file_speaks(context: Context, words: tuple[bytes, ...], root: Root) -> bool:
    """Say whether the file of a transform speaks of modes, and nothing tells that its models train there.

    Args:
        context: the analysis.
        words: what speaks of modes.
        root: the transform, which runs where it is called.
    """
    if not modes_spoken(context, words, root.node, root.scope, alone=True):
        return False
    return not any(trains_at(context, call.node, call.scope) for call in context.traced.calls_of(root))


def trains_at(context: Context, place: ast.AST, scope: Scope) -> bool:
    """Say whether ``model.train()`` is what was called last of a model on a way in which a place runs.

    Args:
        context: the analysis.
        place: where the model, or a part of it, is used.
        scope: where that stands.
    """
    if not context.shared(_switched_by_methods):
        return False
    owner = scope.function.owner if scope.function is not None else scope.owner
    if scope.function is not None and scope.function.name == "__call__" and owner is not None:
        if any(_learns(context, event, owner) for event in context.bodies.named("train")):
            return True
    named = {ast.unparse(one) for one in ast.walk(place) if isinstance(one, ast.Name | ast.Attribute)}
    return _trains(context, place, scope, owner or named, frozenset())


def _learns(context: Context, event: CallEvent, owner: ClassFacts) -> bool:
    """Say whether a call is ``model.train()`` of a model with a part, and what takes its gradient comes next."""
    func, callee = event.node.func, event.value.callee
    if not isinstance(func, ast.Attribute) or not isinstance(callee, Attr) or event.used or in_test(event.scope):
        return False
    cls = owner_class(context, callee.base, event.scope)
    if not isinstance(cls, ClassFacts) or not _made_of(context, cls, owner):
        return False
    named = ast.unparse(func.value)
    after = [one for one in context.bodies.calls.get(event.scope, ()) if one.node.lineno > event.node.lineno]
    for one in sorted(after, key=lambda one: (one.node.lineno, one.node.col_offset)):
        if isinstance(one.node.func, ast.Attribute) and ast.unparse(one.node.func.value) == named:
            if one.node.func.attr == "eval":
                return False
        given = [*one.node.args, *(word.value for word in one.node.keywords)]
        if not any(isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) == named for n in given):
            continue
        functions = list(reach(context, one, 0, set()))
        words = {last_word(call.node.func) for f in functions for call in context.bodies.calls.get(f.scope, ())}
        words |= {last_word(one.node.func.func)} if isinstance(one.node.func, ast.Call) else set()
        if "eval" not in words and words & {"grad", "value_and_grad"}:
            return True
    return False


def _switched_by_methods(context: Context) -> bool:
    """Say whether the project calls ``train()`` of modules, and sets their modes in no other way."""
    return (
        any(True for _ in context.bodies.named("train"))
        and not any(True for _ in context.bodies.named(*_OTHERWISE))
        and not any(flags_named(module.source) for module in context.project.modules)
    )


def _trains(
    context: Context, place: ast.AST, scope: Scope, part: ClassFacts | set[str], inner: frozenset[Scope]
) -> bool:
    """Say whether a way leads to a place from ``train()``: in its own body, or in one around it or of a caller.

    Args:
        context: the analysis.
        place: what runs.
        scope: where it stands.
        part: the class of whose models a part is used, or else the names at the first place.
        inner: the bodies on the way.
    """
    if scope in inner or len(inner) > _AROUND or in_test(scope):
        return False
    line = getattr(place, "lineno", 0)
    before = [
        event
        for event in context.bodies.named(*_SWITCHES)
        if event.scope is scope and event.node.lineno < line and _of_model(context, event, part)
    ]
    if before:
        last = max(before, key=lambda event: event.node.lineno)
        blocks, path = context.bodies.paths(scope), context.bodies.paths(scope).get(last.node, ())
        return last_word(last.node.func) == "train" and tuple(blocks.get(place, ())[: len(path)]) == tuple(path)
    inner |= {scope}
    if scope.function is None or scope.parent is None:
        return False
    if scope.function.owner is None and scope.parent.function is not None:  # a loss runs where it is made
        if _trains(context, scope.node, scope.parent, part, inner):
            return True
    return isinstance(part, ClassFacts) and any(
        _trains(context, event.node, event.scope, part, inner) for event in callers_of(context, scope.function)
    )


def _of_model(context: Context, event: CallEvent, part: ClassFacts | set[str]) -> bool:
    """Say whether a call is ``model.train()`` or ``model.eval()`` of a model with a part, or of one of some names."""
    callee, func = event.value.callee, event.node.func
    if not isinstance(callee, Attr) or not isinstance(func, ast.Attribute) or event.node.args or event.node.keywords:
        return False
    if Kind.MODULE not in kinds_of(context, callee.base, event.scope):
        return False
    if not isinstance(part, ClassFacts):
        return ast.unparse(func.value) in part
    cls = owner_class(context, callee.base, event.scope)
    return isinstance(cls, ClassFacts) and _made_of(context, cls, part)


def _made_of(context: Context, cls: ClassFacts, part: ClassFacts) -> bool:
    """Say whether a class is another, derives from it, or speaks of it as what its objects hold."""
    known = {one.name: one for one in context.project.classes()}
    pending, seen = [cls], {cls}
    while pending:
        one = pending.pop()
        parents = context.flow.classes.mro(one)[0]
        if part in parents:
            return True
        words = {node.id for parent in parents for node in ast.walk(parent.scope.node) if isinstance(node, ast.Name)}
        pending += [other for word in words if (other := known.get(word)) is not None and other not in seen]
        seen.update(pending)
    return False


def flags_named(source: Source) -> bool:
    """Say whether a text names a flag of the modes in code, or makes a view of a module, which has its own.

    Args:
        source: the text; what it only prints does not count.
    """
    if source.mentions(b".view("):
        return True
    if not any(source.mentions(flag.encode()) for flag in _FLAGS):
        return False
    names = {node.arg for node in source.of_type(ast.keyword)}
    names |= {node.arg for node in source.of_type(ast.arg)}
    names |= {node.attr for node in source.of_type(ast.Attribute)}
    texts = [key for node in source.of_type(ast.Dict) for key in node.keys]
    texts += [one for node in source.of_type(ast.Call) if last_word(node.func) == "setattr" for one in node.args]
    names |= {one.value for one in texts if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return not names.isdisjoint(_FLAGS)


def _flags_assigned(context: Context) -> bool:
    """Say whether a flag of a layer is assigned to anywhere but in the constructor of its own class."""
    return any(
        event.stored is not None
        and event.node.attr in _FLAGS
        and not (event.scope.function is not None and event.base is event.scope.function.self_param)
        for module in context.project.modules
        if any(module.source.mentions(flag.encode()) for flag in _FLAGS)
        for event in module.attributes
    )


def _may_be(context: Context, event: CallEvent, made: Bound) -> bool:
    """Say whether a call of a method may be one of a module, or of what holds it."""
    callee = event.value.callee
    if not isinstance(callee, Attr) or not isinstance(made.value, Call):
        return True
    of = context.sources.originals(context.flow.here(callee.base, event.scope))
    cls = context.flow.classes.class_of(made)
    return not of or any(
        not isinstance(one.value, Call) or one.value is made.value or context.flow.classes.class_of(one) is not cls
        for one in of
    )


def _after(context: Context, event: CallEvent, place: ast.AST, scope: Scope, depth: int) -> bool:
    """Say whether a call comes after a place when both run: in the same body, or in one that calls its function."""
    line = getattr(place, "lineno", 0)
    if event.scope is scope:
        again = any(getattr(loop, "lineno", 0) <= line <= getattr(loop, "end_lineno", 0) for loop in event.loops)
        return event.node.lineno > (getattr(place, "end_lineno", None) or line) and not again
    function = scope.function
    if function is None or depth > _OUTER:
        return False
    callers = list(context.flow.sites.callers(function))
    return bool(callers) and all(_after(context, event, one.node, one.scope, depth + 1) for one in callers)
