"""NNX749: a frozen part in evaluation mode that the training mode of the whole model takes back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.decayed_backbone import stopped_uses
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.model_parts import model_parts
from codemods.nnx.lint.no_attribute import LAYER_ATTRIBUTES
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.path_filters import leaves_out
from codemods.nnx.lint.places import foreign, in_test, is_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Attr, Call

_OTHERWISE = (b"use_running_average", b"set_attributes", b"set_mode", b"nnx.view")


def _check(context: Context) -> Iterator[Finding]:
    yield from _made_frozen(context)
    modules = context.project.modules
    if not all(any(word in m.source.data for m in modules) for word in (b"BatchNorm", b".eval(", b".train(")):
        return
    if any(word in module.source.data for module in modules for word in _OTHERWISE):
        return
    frozen = [(event, part) for event in context.bodies.named("eval") for part in _frozen(context, event)]
    for event in context.bodies.named("train") if frozen else ():
        if event.scope.module not in context.asked or in_test(event.scope) or not _bare(event):
            continue
        models = _objects(context, event)
        for told, part in frozen:
            name = _part_of(context, models, part)
            if name is None or not _undone(context, event, told, models, part):
                continue
            if not _left_out(context, models, part, name):
                continue
            assert isinstance(event.node.func, ast.Attribute)
            text = event.scope.module.source.text(event.node.func.value)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"this puts `{name}` back into training mode as well: no optimizer trains it, and its batch "
                "statistics become those of the new data",
                f"set it to evaluation again behind this: {text}.{name}.eval()",
                related=[(told.node, "its mode was set here")] if told.scope.module is event.scope.module else [],
            )
            break


def _made_frozen(context: Context) -> Iterator[Finding]:
    """Yield where a model is put into training mode whose batch norm is made with ``use_running_average=True``."""
    modules = [m for m in context.project.modules if not is_test(m)]
    if not all(any(word in m.source.data for m in modules) for word in (b"use_running_average", b".train(")):
        return
    made = [
        event
        for event, name in foreign(context, "BatchNorm", everywhere=True)
        if name == "flax.nnx.BatchNorm" and keyword(event.node, "use_running_average") is not None
    ]
    if sum(m.source.data.count(b"use_running_average") for m in modules) != len(made):
        return  # it is set somewhere else
    if not made or not all(constant(keyword(event.node, "use_running_average")) is True for event in made):
        return
    if any(word in m.source.data for m in modules for word in (b"set_attributes", b"set_mode", b"nnx.view")):
        return
    if any(isinstance(event.node.func, ast.Attribute) and isinstance(event.node.func.value, ast.Attribute)
           for event in context.bodies.named("eval")):  # fmt: skip
        return  # a part is put back into evaluation
    frozen = {event.node for event in made}
    for event in context.bodies.named("train"):
        if event.scope.module not in context.asked or in_test(event.scope) or not _bare(event):
            continue
        classes = [context.flow.classes.class_of(one) for one in _objects(context, event)]
        if classes and all(cls is not None and _holds(context, cls, frozen, 0) for cls in classes):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "this takes use_running_average=True back, with which a batch norm of the model was made: its "
                "statistics become those of the new data",
                "call eval() of that layer behind this",
            )


def _holds(context: Context, cls: ClassFacts, frozen: set[ast.Call], depth: int) -> bool:
    """Say whether the instances of a class hold one of some layers."""
    for parent in context.flow.classes.mro(cls)[0] if depth < _DEPTH else ():
        for stores in parent.stores.values():
            for function, value in stores:
                made = context.flow.resolve(context.flow.here(value, function.scope))
                if not isinstance(made.value, Call):
                    continue
                inner = context.flow.classes.class_of(made)
                if made.value.node in frozen or (inner is not None and _holds(context, inner, frozen, depth + 1)):
                    return True
    return False


_DEPTH = 4


def _bare(event: CallEvent) -> bool:
    return not event.used and not event.node.args and not event.node.keywords and isinstance(event.value.callee, Attr)


def _objects(context: Context, event: CallEvent) -> list[Bound]:
    """Return the objects whose method a call may be, if all of them are made by calls."""
    callee = event.value.callee
    found = (
        list(context.sources.originals(context.flow.here(callee.base, event.scope))) if isinstance(callee, Attr) else []
    )
    return found if all(isinstance(one.value, Call) for one in found) else []


def _frozen(context: Context, event: CallEvent) -> Iterator[Bound]:
    """Yield the object with batch statistics that is set to evaluation where it is made, or where its owner is."""
    if in_test(event.scope) or not _bare(event) or event.loops or context.bodies.paths(event.scope).get(event.node):
        return
    found = _objects(context, event)
    if len(found) == 1 and _has_statistics(context, found[0]):
        yield found[0]


def _has_statistics(context: Context, part: Bound) -> bool:
    if context.flow.classes.class_of(part) is None:
        return False
    parts = model_parts(context, part)
    if parts is None:
        return "nnx.BatchStat" in held_besides(context, part)
    return any(one.name == "flax.nnx.BatchNorm" for one in parts)


def _part_of(context: Context, models: list[Bound], part: Bound) -> str | None:
    """Return the attribute of a model that holds an object, if all of some models hold it so."""
    names: set[str | None] = set()
    for model in models:
        names.add(next(_holding(context, model, part), None))
    return names.pop() if len(names) == 1 else None


def _holding(context: Context, model: Bound, part: Bound) -> Iterator[str]:
    """Yield the attributes of a model, of a class with the usual modes, that hold an object."""
    cls = context.flow.classes.class_of(model)
    if cls is None or context.flow.classes.method(cls, "train") is not None:
        return
    for parent in context.flow.classes.mro(cls)[0]:
        for name in (*parent.stores, *context.flow.classes.dataclass_fields(parent)):
            for held in context.flow.fields.field(model, name):
                if [one.value for one in context.sources.originals(held)] == [part.value]:
                    yield name


def _undone(context: Context, event: CallEvent, told: CallEvent, models: list[Bound], part: Bound) -> bool:
    """Say whether the mode of a part was set before its model was made, and nothing sets it once more."""
    home = _home(context, part)
    for model in models:
        scope = _home(context, model)
        if told.scope is scope and _line(told.node) >= _line(_made(model)):
            return False
        if told.scope is not scope and told.scope is not home:
            return False
    for other in (*context.bodies.named("eval"), *context.bodies.named("train")):
        if other is event or other is told or not isinstance(other.value.callee, Attr):
            continue
        if any(one.value is part.value for one in context.sources.originals(_receiver(context, other))):
            if other.scope is told.scope:
                if _line(other.node) >= _line(told.node):
                    return False
            elif other.scope is not home or home.function is None:  # a function that makes it is over by then
                return False
    return True


def _receiver(context: Context, event: CallEvent) -> Bound:
    callee = event.value.callee
    assert isinstance(callee, Attr)
    return context.flow.here(callee.base, event.scope)


def _made(one: Bound) -> ast.Call:
    assert isinstance(one.value, Call)
    return one.value.node


def _home(context: Context, one: Bound) -> Scope | None:
    """Return the scope in which an object is made."""
    return context.bodies.home(_made(one))


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _left_out(context: Context, models: list[Bound], part: Bound, name: str) -> bool:
    """Say whether the optimizers of a model all leave a part of it out, or its gradient is stopped."""
    values = [model.value for model in models]
    found = False
    inner = model_parts(context, part)
    stopped = bool(stopped_uses(context, name, _family(context, models)))
    within = LAYER_ATTRIBUTES | {word for one in inner or () for word in one.path}
    for event, full in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True):
        base = event.value.argument(0, "model")
        if not full.startswith("flax.nnx.") or base is None:
            continue
        trained = [one.value for one in context.sources.originals(context.flow.here(base, event.scope))]
        if any(one is part.value for one in trained):
            return False
        if not any(one in values for one in trained):
            while isinstance(base, Attr):  # an optimizer of one of the other parts
                base = base.base
                owners = context.sources.originals(context.flow.here(base, event.scope))
                found = found or any(one.value in values for one in owners)
            continue
        chosen = event.value.argument(2, "wrt")
        if chosen is None:
            return False
        wrt = context.flow.resolve(context.flow.here(chosen, event.scope))
        if not stopped and (inner is None or not leaves_out(context, wrt, (name,), within)):
            return False
        found = True
    return found


def _family(context: Context, models: list[Bound]) -> frozenset[ClassFacts]:
    classes = (context.flow.classes.class_of(one) for one in models)
    return frozenset(parent for cls in classes if cls is not None for parent in context.flow.classes.mro(cls)[0])


_BAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Backbone(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.fc(x)))


class Classifier(nnx.Module):
    def __init__(self, backbone: Backbone, rngs: nnx.Rngs):
        self.backbone = backbone
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.drop(self.backbone(x)))


HEAD = nnx.All(nnx.Param, nnx.PathContains("head"))


@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, HEAD))(model)
    optimizer.update(model, grads)


rngs = nnx.Rngs(0)
backbone = Backbone(rngs)
backbone.eval()
model = Classifier(backbone, rngs)
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=HEAD)
model.train()
step(model, optimizer, jnp.ones((8, 4)))
"""

RULE = lint_rule(
    "NNX749",
    "frozen-statistics",
    "model.train() undoes the evaluation mode of a frozen part with batch norm",
    why="""\
`model.train()` sets the mode of every layer below it. A filter keeps the optimizer from the parameters of a frozen
part, but not a batch norm in training mode from its running statistics: they become those of the new data, and the
frozen features change. `backbone.eval()` before does not help; it belongs behind `model.train()`.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the running mean of the frozen part changes",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("model.train()\n", "model.train()\nmodel.backbone.eval()\n"),),
)
