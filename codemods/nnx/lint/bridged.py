"""Modules of Linen in nnx.bridge.ToNNX that are used before they have weights; part of NNX877."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.lost_updates import has_moments
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Param, Value

_TO_NNX = "flax.nnx.bridge.ToNNX"
_OPTIMIZERS = ("Optimizer", "ModelAndOptimizer")
_DEPTH = 4
_WEIGHTED = frozenset(
    f"flax.linen.{name}"
    for name in ("BatchNorm", "Conv", "ConvLocal", "ConvTranspose", "Dense", "DenseGeneral", "Einsum", "Embed",
                 "GRUCell", "GroupNorm", "InstanceNorm", "LSTMCell", "LayerNorm", "MultiHeadAttention",
                 "MultiHeadDotProductAttention", "OptimizedLSTMCell", "RMSNorm", "SelfAttention", "SimpleCell")
)  # fmt: skip
# what says in a file that weights are made, by whatever name; an optimizer's state is none
_INITS = pattern(
    rb"lazy_init|linen_init|init_with|_initializing|setattr|(?<!tx)(?<!opt)(?<!optimizer)(?<!optim)\.init\("
)
_MODES = frozenset({"train", "eval"})


def bridged(context: Context, code: str) -> Iterator[Finding]:
    """Yield where modules of Linen are trained or called that no ``lazy_init`` has given weights.

    Args:
        context: the analysis.
        code: the rule that reports it.
    """
    if not any(name == _TO_NNX for _, name in foreign(context, "ToNNX", everywhere=True)):
        return
    never = not any(module.source.matches(_INITS) for module in context.project.modules)
    told: set[tuple[ModuleFacts, frozenset[Value]]] = set()
    for event in _uses(context, never):
        optimizer = last_word(event.node.func) in _OPTIMIZERS and context.flow.calls.name(event).startswith("flax.nnx.")
        value, node = (event.value.args[0], event.node.args[0]) if optimizer else (event.value.callee, event.node.func)
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        if not never and not (isinstance(value, Call) and _first_use(context, event, value, node)):
            continue
        if not never and optimizer and not _keeps(context, event):
            continue
        sources = context.sources.originals(context.flow.here(value, event.scope))
        key = event.scope.module, frozenset(one.value for one in sources)
        if sources and key not in told and all(_empty(context, one, 0) for one in sources):
            told.add(key)
            yield finding(
                code,
                event.scope,
                event.node,
                "a module of Linen has no weights before lazy_init has seen an example"
                + (f", and `{ast.unparse(node)}` holds one" if not _direct(context, value, event) else ""),
                f"call nnx.bridge.lazy_init({ast.unparse(node)}, example) first",
            )


def _uses(context: Context, never: bool) -> Iterator[CallEvent]:
    """Yield the optimizers that are made, and the calls of what may be a module."""
    for event, name in foreign(context, *_OPTIMIZERS):
        if name.startswith("flax.nnx.") and event.value.args and not event.value.starred:
            yield event
    for event in context.asked.calls():
        callee = event.value.callee
        if isinstance(callee, Call) or (never and isinstance(callee, Param) and _nnx(callee)):
            yield event


def _nnx(param: Param) -> bool:
    """Say whether a parameter is called, in a file of NNX, as a model is."""
    return param is not param.function.self_param and param.function.scope.module.source.mentions(b"nnx")


def _direct(context: Context, value: Value, event: CallEvent) -> bool:
    return isinstance(value, Call) and context.flow.calls.callee_name(context.flow.here(value, event.scope)) == _TO_NNX


def _first_use(context: Context, event: CallEvent, value: Call, node: ast.expr) -> bool:
    """Say whether nothing in the body that makes an object can have changed it before a call."""
    if not isinstance(node, ast.Name) or context.bodies.home(value.node) is not event.scope:
        return False
    if context.flow.resolve(context.flow.here(value, event.scope)).value is not value:
        return False  # a function gives back what it got
    values = event.scope.module.values
    modes = {
        e.node.func.value
        for e in context.bodies.calls.get(event.scope, ())
        if isinstance(e.node.func, ast.Attribute) and e.node.func.attr in _MODES
    }
    return not any(
        isinstance(n, ast.Name)
        and n.id == node.id
        and n is not node
        and n not in modes
        and isinstance(n.ctx, ast.Load)
        and (n.lineno, n.col_offset) < (node.lineno, node.col_offset)
        and (values.get(n) is value or n not in context.bodies.paths(event.scope))
        for n in ast.walk(event.scope.node)
    )


def _keeps(context: Context, event: CallEvent) -> bool:
    """Say whether an optimizer keeps something for each parameter, which it then lacks."""
    transform = event.value.argument(1, "tx")
    if transform is None:
        return False
    made = list(context.sources.originals(context.flow.here(transform, event.scope)))
    return bool(made) and all(has_moments(context, one) for one in made)


def _empty(context: Context, made: Bound, depth: int) -> bool:
    """Say whether an object is a wrapped module of Linen with weights to come, or made with such a part."""
    if not isinstance(made.value, Call) or depth > _DEPTH:
        return False
    if context.flow.calls.callee_name(made) == _TO_NNX:
        inner = made.value.argument(0, "module")
        return inner is not None and _weighted(context, context.flow.follow(made, inner), 0)
    cls = context.flow.classes.class_of(made)
    if cls is None or cls.methods.keys() & {"__setattr__", "__getattr__", "lazy_init"}:
        return False
    parents, names = context.flow.classes.mro(cls)
    if "flax.nnx.Module" not in names or any("lazy_init" in ast.unparse(parent.node) for parent in parents):
        return False
    return any(
        _empty(context, part, depth + 1)
        for parent in parents
        for stores in parent.stores.values()
        if len(stores) == 1 and stores[0][0].name in {"__init__", "__post_init__"}
        for function, stored in stores
        for part in parts(context, context.flow.here(stored, function.scope))
    )


def _weighted(context: Context, linen: Bound, depth: int) -> bool:
    """Say whether a module of Linen makes weights."""
    if not isinstance(linen.value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(linen)
    if name in _WEIGHTED:
        return True
    if name == "flax.linen.Sequential" and linen.value.args:
        layers = parts(context, context.flow.follow(linen, linen.value.args[0]))
        return any(_weighted(context, one, depth + 1) for one in layers)
    cls = None if name else context.flow.classes.class_of(linen)
    return cls is not None and "flax.linen.Module" in context.flow.classes.mro(cls)[1] and _makes(context, cls, depth)


def _makes(context: Context, cls: ClassFacts, depth: int) -> bool:
    for parent in context.flow.classes.mro(cls)[0]:
        for method in parent.methods.values():
            for event in context.bodies.calls.get(method.scope, ()):
                callee = event.value.callee
                if isinstance(callee, Attr) and callee.name == "param" and callee.base is method.self_param:
                    return True
                if _weighted(context, context.flow.here(event.value, event.scope), depth + 1):
                    return True
    return False
