"""Updates that look like an optimizer's, by an object whose making is not in sight."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import Gradient, gradient
from codemods.nnx.optimizer.groups import CONTENT, Update, only_optimizer_state
from codemods.nnx.optimizer.version_switch import for_old_releases
from codemods.nnx.patterns import pattern
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Call, Choice, Const, Item, Loop, Mapping, Param, Ref, Value

_NOT_MADE = ("builtins.", "jax.", "optax.", "flax.", "collections.", "unittest.", "numpy.")
_TAKING = frozenset({"builtins.getattr", "builtins.next", "builtins.eval"})  # give what something else holds
_VIEWS = frozenset(name.rpartition(".")[2] for name in CONTENT)
BY_NAME = frozenset({"getattr", "methodcaller"})
_OPTIMIZER = pattern(r"(?i)(^|_)(opt|optim|optimi[sz]er)s?(_|\d|$)|optimi[sz]er$")


def loose_updates(flow: Flow, sources: Sources, may: Made, linked: set[CallEvent]) -> Iterator[Update]:
    """Yield updates that have the shape of an optimizer's, by an object of which nothing is known.

    Args:
        flow: the project's values.
        sources: where they may come from.
        may: what may be an optimizer, going by what flows where.
        linked: updates of which it is known.
    """
    for update, sure in _updates(flow, sources, may, linked):
        if sure:
            yield update


def possible_updates(flow: Flow, sources: Sources, may: Made, linked: set[CallEvent]) -> Iterator[CallEvent]:
    """Yield calls of ``update`` that nothing tells to be an optimizer's but that one may flow there.

    Args:
        flow: the project's values.
        sources: where they may come from.
        may: what may be an optimizer, going by what flows where.
        linked: updates of which it is known.
    """
    for update, sure in _updates(flow, sources, may, linked):
        if not sure and may.may_be(update.value):
            yield update.event


def _updates(flow: Flow, sources: Sources, may: Made, linked: set[CallEvent]) -> Iterator[tuple[Update, bool]]:
    """Yield calls of ``update`` with one argument by an object of which nothing is known, and whether more tells that
    it is an optimizer."""
    switched: dict[ModuleFacts, frozenset[ast.Call]] = {}
    stored = _stored(flow)
    for event in flow.project.calls():
        if event in linked or not (event.node.args or event.node.keywords):
            continue
        if not event.scope.module.source.mentions(b"nnx"):
            continue
        called = _called(flow, stored, event)
        if called is None:
            continue
        call, (receiver, base) = event.value, called
        grads = call.args[0] if len(call.args) == 1 else call.keyword("grads") if not call.args else None
        if grads is None or call.starred or call.keyword("model") is not None:
            continue
        module = event.scope.module
        if module not in switched:
            switched[module] = for_old_releases(module)
        if event.node in switched[module]:
            continue
        promised = isinstance(base.value, Param) and _promised(flow, base.value)
        if isinstance(base.value, Param) and flow.classes.annotated(base.value) and not promised:
            continue  # it is to be something else
        if not _unknown(flow, flow.resolve(base)):
            continue
        if any(
            flow.classes.class_of(source) is not None or _metric(flow, source) for source in sources.originals(base)
        ):
            continue
        found = gradient(flow, flow.here(grads, event.scope))
        likely = bool(_OPTIMIZER.search(_word(receiver))) and may.may_be(base.value)
        direct = receiver if isinstance(event.value.callee, Attr) and event.value.callee.name == "update" else None
        value = base.value if direct is not None else event.value.callee
        sure = promised or likely or _named(event, receiver) or (found is not None and of_nnx(flow, found))
        yield Update(event, direct, value), sure


def _stored(flow: Flow) -> frozenset[str]:
    """Return the names of variables and attributes that get some ``update`` method."""
    return frozenset(
        last_word(target)
        for event in flow.project.attributes()
        if event.node.attr == "update" and isinstance(event.statement, ast.Assign)
        if event.statement.value is event.node
        for target in event.statement.targets
    )


def _called(flow: Flow, stored: frozenset[str], event: CallEvent) -> tuple[ast.expr, Bound] | None:
    """Return the expression and the value of what has the ``update`` that is called, be it by another name."""
    callee, node = event.value.callee, event.node.func
    if isinstance(callee, Attr) and callee.name == "update" and isinstance(node, ast.Attribute):
        return node.value, flow.here(callee.base, event.scope)
    if last_word(node) not in stored:
        return None
    if isinstance(callee, Attr) and callee.name == "update":  # a variable of the function, filled from there
        written, method = callee.node, flow.here(callee, event.scope)
    else:
        method = flow.follow(flow.here(event.value, event.scope), callee)
        written = getattr(method.value, "node", None)
    found = method.value
    if isinstance(found, Attr) and found.name == "update" and isinstance(written, ast.Attribute):
        return written.value, flow.with_value(method, found.base)
    return None


def loose_reads(flow: Flow, sources: Sources, linked: set[AttrEvent], may: Made) -> Iterator[AttrEvent]:
    """Yield reads of ``model`` by an object that is called an optimizer and of which nothing else is known.

    Args:
        flow: the project's values.
        sources: where they may come from.
        linked: reads of which it is known.
        may: what may be an optimizer, which what nnx.merge gives need not be called.
    """
    for event in flow.project.attributes():
        if event.node.attr != "model" or event.context != "load" or event in linked:
            continue
        if not event.scope.module.source.mentions(b"nnx"):
            continue
        last = getattr(event.node.value, "attr", getattr(event.node.value, "id", ""))
        if not _OPTIMIZER.search(last) and not (
            merged(flow, flow.here(event.base, event.scope)) and may.may_be(event.base)
        ):
            continue
        base = flow.here(event.base, event.scope)
        if isinstance(event.base, Param) and flow.classes.annotated(event.base) and not _promised(flow, event.base):
            continue  # it is to be something else
        if not _unknown(flow, flow.resolve(base)):
            continue
        found = sources.originals(base)
        if merged(flow, base) or not any(
            flow.classes.class_of(source) is not None or _library(flow, source) for source in found
        ):
            yield event


def loose_views(flow: Flow, sources: Sources) -> Iterator[CallEvent]:
    """Yield calls such as ``nnx.state(optimizer)`` of what is called an optimizer and of which nothing else is known.

    Args:
        flow: the project's values.
        sources: where they may come from.
    """
    for event in flow.project.calls():
        if last_word(event.node.func) not in _VIEWS or not event.node.args or event.value.starred:
            continue
        if not _OPTIMIZER.search(last_word(event.node.args[0])) or not event.scope.module.source.mentions(b"nnx"):
            continue
        call, given = flow.here(event.value, event.scope), event.value.args[0]
        if flow.calls.callee_name(call) not in CONTENT or only_optimizer_state(flow, call, event.value.args[1:]):
            continue
        if isinstance(given, Param) and flow.classes.annotated(given) and not _promised(flow, given):
            continue
        base = flow.here(given, event.scope)
        if _unknown(flow, flow.resolve(base)) and not any(
            flow.classes.class_of(source) is not None or _library(flow, source) for source in sources.originals(base)
        ):
            yield event


def loose_methods(flow: Flow, sources: Sources, may: Made) -> Iterator[AttrEvent | CallEvent]:
    """Yield what takes the ``update`` of something that is called an optimizer, or may be one, and calls it elsewhere.

    Args:
        flow: the project's values.
        sources: where they may come from.
        may: what may be an optimizer, going by what flows where.
    """
    called = {event.node.func for event in flow.project.calls()}
    for event in flow.project.attributes():
        if event.node.attr == "update" and event.context == "load":
            of = _of_class(event) or ((event.base, event.node.value) if event.node not in called else None)
            if of is not None and _may_be_one(flow, sources, may, *of, event.scope):
                yield event
    for call in flow.project.calls():
        if last_word(call.node.func) not in BY_NAME or call.value.starred or not call.node.args:
            continue
        name = flow.calls.callee_name(flow.here(call.value, call.scope))
        given = call.value.args
        if name == "operator.methodcaller" and len(given) > 1 and given[0] == Const("update"):
            if "grad" in ast.unparse(call.node.args[1]).lower():
                yield call
        elif name == "builtins.getattr" and len(given) > 1 and given[1] == Const("update"):
            if _may_be_one(flow, sources, may, given[0], call.node.args[0], call.scope):
                yield call


def _may_be_one(flow: Flow, sources: Sources, may: Made, value: Value, node: ast.expr, scope: Scope) -> bool:
    """Say whether something is called an optimizer, or may be one, and nothing tells that it is something else."""
    if not scope.module.source.mentions(b"nnx") or not (_OPTIMIZER.search(_word(node)) or may.may_be(value)):
        return False
    if isinstance(value, Param) and flow.classes.annotated(value) and not _promised(flow, value):
        return False
    base = flow.here(value, scope)
    return _unknown(flow, flow.resolve(base)) and not any(
        flow.classes.class_of(source) is not None or _library(flow, source) for source in sources.originals(base)
    )


def _of_class(event: AttrEvent) -> tuple[Value, ast.expr] | None:
    """Return the object, with its expression, of ``type(object).update`` and ``object.__class__.update``."""
    base, node = event.base, event.node.value
    if isinstance(node, ast.Call) and isinstance(base, Call) and last_word(node.func) == "type" and len(base.args) == 1:
        return (base.args[0], node.args[0]) if node.args else None
    if isinstance(node, ast.Attribute) and isinstance(base, Attr) and node.attr == "__class__":
        return base.base, node.value
    return None


def record_reads(flow: Flow, sources: Sources, linked: set[AttrEvent]) -> Iterator[tuple[AttrEvent, list[Bound]]]:
    """Yield reads of ``model`` by a field of a record that may be one of several, with what the field may have got.

    Args:
        flow: the project's values.
        sources: where they may come from.
        linked: reads of which it is known.
    """
    for event in flow.project.attributes():
        if event.node.attr != "model" or event.context != "load" or event in linked:
            continue
        found = flow.resolve(flow.here(event.base, event.scope))
        if isinstance(found.value, Attr):
            yield event, sources.given(flow.with_value(found, found.value.base), found.value.name)


def merged(flow: Flow, value: Bound) -> bool:
    """Say whether nnx.merge gave something, out of what cannot be told."""
    found = flow.resolve(value)
    while isinstance(found.value, Item | Indexed):
        found = flow.resolve(flow.with_value(found, found.value.base))
    return isinstance(found.value, Call) and flow.calls.callee_name(found) == "flax.nnx.merge"


def _library(flow: Flow, source: Bound) -> bool:
    return isinstance(source.value, Call) and bool(flow.calls.callee_name(source))


def _unknown(flow: Flow, receiver: Bound) -> bool:
    """Say whether nothing contradicts that an object is an optimizer."""
    value = receiver.value
    if flow.classes.class_of(receiver) is not None:
        return False
    if isinstance(value, Call):
        name = flow.calls.callee_name(receiver)
        # what the project's functions return was followed; types and functions of JAX and optax make no optimizer
        return (
            name == "flax.nnx.merge"
            or name in _TAKING
            or not name.startswith(("builtins.", "jax.", "optax.", "flax.", "collections."))
        )
    if isinstance(value, Param):
        named = flow.classes.annotated(value)
        return value is not value.function.self_param and (not named or _promised(flow, value))
    return isinstance(value, Attr | Indexed | Item | Round | Choice | Loop) and not isinstance(value, Mapping)


def _metric(flow: Flow, source: Bound) -> bool:
    """Say whether a metric of NNX was made."""
    return isinstance(source.value, Call) and class_kind(flow.calls.callee_name(source)) is Kind.METRIC


def _promised(flow: Flow, param: Param) -> bool:
    """Say whether an annotation promises an optimizer of NNX."""
    return any(isinstance(c.value, Ref) and c.value.name == "flax.nnx.Optimizer" for c in flow.classes.annotated(param))


def _named(event: CallEvent, receiver: ast.expr) -> bool:
    """Say whether the names tell of an optimizer and gradients, whatever made them."""
    if _OPTIMIZER.search(_computed(receiver)):
        return True
    given = [*event.node.args, *(k.value for k in event.node.keywords if k.arg == "grads")]
    return bool(_OPTIMIZER.search(_word(receiver))) and "grad" in ast.unparse(given[0]).lower()


def _word(receiver: ast.expr) -> str:
    """Return the name of what something is called on, or of the container that it is taken from."""
    return last_word(receiver.value if isinstance(receiver, ast.Subscript) else receiver)


def _computed(receiver: ast.expr) -> str:
    """Return what is written of the name in ``getattr(self, f"{name}_opt")``; empty for anything else."""
    if not isinstance(receiver, ast.Call) or last_word(receiver.func) != "getattr" or not receiver.args[1:]:
        return ""
    name = receiver.args[1]
    if isinstance(name, ast.Constant):
        return ""
    texts = (part.value for part in ast.walk(name) if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return next((text for text in texts if _OPTIMIZER.search(text)), "")


def of_nnx(flow: Flow, found: Gradient) -> bool:
    """Say whether gradients were made by a transform of NNX."""
    value = found.transform.value
    assert isinstance(value, Call)
    name = flow.calls.wrapper_name(found.transform, value)
    return name in GRADIENTS and name.startswith("flax.nnx.")


def rivals(flow: Flow) -> list[ModuleFacts]:
    """Return the modules with a class that has an ``update`` of gradients and is no optimizer of NNX."""
    found = []
    for cls in flow.project.classes():
        update = cls.methods.get("update")
        if update is not None and any("grad" in name for name in list(update.params)[1:2]):
            if not any(base.endswith(("nnx.Optimizer", "nnx.ModelAndOptimizer")) for base in flow.classes.mro(cls)[1]):
                found.append(cls.scope.module)
    return found
