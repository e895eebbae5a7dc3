"""Arithmetic on the whole state of a model that holds keys of random numbers; part of NNX714."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.names import TREE_MAPS, WITH_PATH, last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Function, Item, Ref, Value

_TREES = frozenset(
    {"optax.incremental_update", "optax.global_norm"}
    | {f"optax.tree_utils.{name}" for name in ("tree_add", "tree_sub", "tree_mul", "tree_scalar_mul", "tree_l2_norm")}
)
# what takes no key of random numbers
_ARRAY = frozenset({"abs", "add", "divide", "mean", "multiply", "negative", "sqrt", "square", "subtract", "sum"})
_HOST = frozenset({"numpy.array", "numpy.asarray"})
_METHODS = frozenset({"astype", "mean", "sum"})
_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow
_ASKING = frozenset({"isinstance", "issubdtype", "hasattr", "dtype", "ndim", "shape", "size", "key_data", "type"})
_DEPTH = 4


def keyed_trees(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the arithmetic on trees that hold keys, of the streams of Dropout or of the model's own, with the tree."""
    texts = [module.source.data for module in context.project.modules]
    if not any(b"nnx" in text and (b"Dropout" in text or b"rngs" in text) for text in texts):
        return
    for event in context.bodies.named(*(last(name) for name in TREE_MAPS | _TREES)):
        if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
            continue
        name = context.flow.calls.name(event)
        places = _places(context, event, name)
        if not places or context.bodies.guarded(event.node, event.scope):
            continue
        found = next((n for n in places if _whole(context, event.value.args[n], event)), None)
        if found is not None:
            yield event, ast.unparse(event.node.args[found])


def _places(context: Context, event: CallEvent, name: str) -> list[int]:
    """Return the positions of the trees with whose leaves a call calculates."""
    args = range(len(event.value.args))
    if name in _TREES:
        return list(args[:2])
    if name not in TREE_MAPS or keyword(event.node, "is_leaf") is not None:
        return []
    mapped = (
        context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value if args else None
    )
    if isinstance(mapped, Ref):
        home, _, word = mapped.name.rpartition(".")
        wanted = mapped.name in _HOST or (home == "jax.numpy" and word in _ARRAY)
        return list(args[1:]) if wanted else []
    if not isinstance(mapped, Function) or mapped.facts.owner is not None:
        return []
    taken = _calculates(context, mapped.facts, int(name in WITH_PATH))
    return [place for place in args[1:] if place - 1 in taken]


def _calculates(context: Context, function: FunctionFacts, skipped: int) -> set[int]:
    """Return the positions of the parameters that a function takes as numbers, whatever they are."""
    names = list(function.params)[skipped:]
    nodes = context.bodies.nodes(function.scope)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp | ast.Try | ast.Match) or last_word(node) in _ASKING:
            return set()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in names:
            return set()
        operands: list[ast.AST] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            operands = [node.left, node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            operands = [node.func.value]
        found |= {one.id for one in operands if isinstance(one, ast.Name)}
    return {place for place, name in enumerate(names) if name in found}


def _whole(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a tree is the whole state of a model with keys, for certain."""
    sources = context.sources.originals(context.flow.here(value, event.scope))
    return bool(sources) and all(_state_of_keyed(context, one, 0) for one in sources)


def _state_of_keyed(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if depth > _DEPTH:
        return False
    if isinstance(value, Item) and isinstance(value.base, Call) and value.index == Const(1):
        name = context.flow.calls.callee_name(context.flow.with_value(source, value.base))
        return name == "flax.nnx.split" and len(value.base.args) == 1 and _model(context, source, value.base.args[0])
    if not isinstance(value, Call) or value.starred or len(value.args) != 1:
        return False
    name = context.flow.calls.callee_name(source)
    if name == "flax.nnx.state":
        return _model(context, source, value.args[0])
    if name in {"flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.clone"}:
        inner = context.flow.follow(source, value.args[0])
        return _state_of_keyed(context, inner, depth + 1)
    return False


def _model(context: Context, at: Bound, value: Value) -> bool:
    models = context.sources.originals(context.flow.with_value(at, value))
    return bool(models) and all(keyed(context, one, 0) for one in models)


def keyed(context: Context, made: Bound, depth: int) -> bool:
    """Say whether an object keeps keys of random numbers for certain.

    Args:
        context: the analysis.
        made: the object.
        depth: of how many others it is a part.
    """
    if not isinstance(made.value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(made)
    if name == "flax.nnx.Dropout":
        return made.value.keyword("rngs") not in {None, Const(None)} and not made.value.starred
    if name == "flax.nnx.clone" and made.value.args:
        return _model(context, made, made.value.args[0])
    cls = context.flow.classes.class_of(made)
    return cls is not None and "flax.nnx.Module" in context.flow.classes.mro(cls)[1] and _holds(context, cls, depth)


def _holds(context: Context, cls: ClassFacts, depth: int) -> bool:
    for parent in context.flow.classes.mro(cls)[0]:
        init = parent.methods.get("__init__")
        for name, stores in parent.stores.items() if init is not None else ():
            if len(stores) != 1 or stores[0][0] is not init or _on_condition(context, init, name):
                continue
            held = context.flow.here(stores[0][1], init.scope)
            if context.kinds.of(held) in ({Kind.RNGS}, {Kind.STREAM}):
                return True
            if any(keyed(context, part, depth + 1) for part in parts(context, held)):
                return True
    return False


def _on_condition(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether a constructor only sometimes assigns an attribute, or not plainly."""
    stores = [e for e in context.flow.fields.stores().get(name, ()) if e.scope is function.scope]
    return not stores or any(context.bodies.paths(function.scope).get(one.node) for one in stores)
