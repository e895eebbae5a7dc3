"""Teachers, target networks and other models that no gradient is to move, which the optimizer of the whole trains; a
part of NNX795."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.whole_gradient import PARAM, losses_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

#: What a part is called that a training leaves as it is.
_KEPT = pattern(r"^(_?teacher|frozen|reference|ref)(_?(model|net|network|policy|encoder|backbone|module))?$")
#: What a part is called that follows another one from time to time.
_TARGET = pattern(
    r"^_?(target(_?(q|qf?\d?|v|critic|actor|policy|value|encoder|model|net|network))?(_?(net|network))?"
    r"|(q|qf?\d?|v|critic|actor|policy|value|encoder|q_?net)_target)$"
)
# where a project says one of these, the part may be kept
_KEEPING = pattern(
    rb"set_to_zero|multi_transform|\bmasked\(|\bfreeze\(|stop_gradient|nnx\.Variable\b|map_state|\bdetach\b"
)
# and here it is moved in another way
_MOVING = pattern(rb"incremental_update|\bnnx\.update\(|polyak|\bema|_ema\b")
_LABELS = pattern(r"^(y|ys|y_true|labels?|targets?|answers?|gt|truth|onehot|one_hot)$|_labels?$|_targets?$|^y_")


def trained_teachers(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the optimizers that train a part called a teacher or the like, with it and with a part that learns."""
    words = (b"teacher", b"frozen", b"ref", b"target")
    if not any(word in m.source.data for m in context.project.modules for word in words):
        return
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        model, chosen = event.value.argument(0, "model"), event.value.argument(2, "wrt")
        if not name.startswith("flax.nnx.") or chosen is None or event.value.starred or in_test(event.scope):
            continue
        if model is None or context.flow.resolve(context.flow.here(chosen, event.scope)).value != PARAM:
            continue
        models = context.sources.originals(context.flow.here(model, event.scope))
        classes = {context.flow.classes.class_of(one) for one in models}
        cls = classes.pop() if len(classes) == 1 else None
        if cls is None:
            continue
        modules = [part for part in _attributes(context, cls) if _is_module(context, models, part)]
        targets = [part for part in modules if _TARGET.search(part) and _follows(context, cls, part)]
        kept = [part for part in modules if _KEPT.search(part)]
        others = [part for part in modules if part not in kept and part not in targets]
        if kept and any(m.source.matches(_MOVING) for m in context.project.modules):
            kept = []
        kept += targets
        if not kept or not others or any(m.source.matches(_KEEPING) for m in context.project.modules):
            continue
        for loss in losses_of(context, event):
            found = _taught(context, loss, cls, kept, others, targets)
            if found is not None:
                yield event, *found
                break


def _attributes(context: Context, cls: ClassFacts) -> list[str]:
    parents = context.flow.classes.mro(cls)[0]
    fields = (*context.flow.classes.dataclass_fields(cls), *(name for one in parents for name in one.stores))
    return list(dict.fromkeys(fields))


def _is_module(context: Context, models: Iterable[Bound], part: str) -> bool:
    """Say whether an attribute of some models certainly holds a module."""
    for model in models:
        held = context.flow.fields.field(model, part)
        if not held or any(context.kinds.of(one) != {Kind.MODULE} for one in held):
            return False
    return True


def _follows(context: Context, cls: ClassFacts, part: str) -> bool:
    """Say whether a part is a copy of another one, or gets new parameters as a whole."""
    stored = (value for one in context.flow.classes.mro(cls)[0] for _, value in one.stores.get(part, ()))
    if any(isinstance(value, Call) and last_word(value.node.func) in {"clone", "deepcopy"} for value in stored):
        return True
    return any(
        bool(event.node.args)
        and isinstance(event.node.args[0], ast.Attribute)
        and event.node.args[0].attr == part
        and context.flow.calls.name(event) == "flax.nnx.update"
        for event in context.bodies.named("update")
    )


def _taught(
    context: Context,
    loss: FunctionFacts,
    cls: ClassFacts,
    kept: list[str],
    others: list[str],
    targets: Collection[str] = (),
) -> tuple[str, str] | None:
    """Return the part that a loss only compares with, and the one that it compares, if the loss calls both.

    Args:
        context: the analysis.
        loss: the loss.
        cls: the class of its model.
        kept: the parts that are to stay as they are.
        others: the parts that learn.
        targets: those of the first which follow another part, and are no model that labels are compared with.
    """
    first = next(iter(loss.params), None)
    if first is None:
        return None
    ways = [(loss, first)]
    for function, owner in ways:  # which grows: the methods that the loss calls, and those that they call
        for name in sorted(_methods(context, function, owner)):
            method = context.flow.classes.method(cls, name)
            own = method.self_param if method is not None else None
            if method is not None and own is not None and (method, own.name) not in ways:
                ways.append((method, own.name))
    for function, owner in ways:
        for part in kept:
            other = next((one for one in others if _called(context, function, owner, one)), None)
            if other is not None and _called(context, function, owner, part):
                if part in targets or not _learns(context, function, owner, part):
                    return part, other
    return None


def _methods(context: Context, function: FunctionFacts, owner: str) -> set[str]:
    """Return the methods that a function calls of a variable; ``__call__`` where it calls that itself."""
    found = set()
    for node in context.bodies.nodes(function.scope):
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Name) and func.id == owner:
            found.add("__call__")
        elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == owner:
            found.add(func.attr)
    return found


def _called(context: Context, function: FunctionFacts, owner: str, part: str) -> bool:
    return any(_is_call_of(node, owner, part) for node in context.bodies.nodes(function.scope))


def _is_call_of(node: ast.AST, owner: str, part: str) -> bool:
    """Say whether a node is a call of ``owner.part``, or of a method of that."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr != part:
        func = func.value
    return (
        isinstance(func, ast.Attribute)
        and func.attr == part
        and isinstance(func.value, ast.Name)
        and func.value.id == owner
    )


def _learns(context: Context, function: FunctionFacts, owner: str, part: str) -> bool:
    """Say whether what a part gives is compared with labels, as that of one which learns at the same time."""
    nodes = context.bodies.nodes(function.scope)
    given: set[str] = set()
    for node in nodes:  # in the order of the text, more or less: a name is made of those before it
        if isinstance(node, ast.Assign) and _holds(node.value, owner, part, given):
            given |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for node in nodes:
        if not isinstance(node, ast.Call | ast.BinOp) or not _holds(node, owner, part, given):
            continue
        words = {last_word(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
        if any(_LABELS.search(word) for word in words - given):
            return True
    return False


def _holds(node: ast.AST, owner: str, part: str, given: set[str]) -> bool:
    return any(_is_call_of(n, owner, part) or (isinstance(n, ast.Name) and n.id in given) for n in ast.walk(node))
