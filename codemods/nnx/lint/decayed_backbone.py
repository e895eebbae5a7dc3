"""NNX733: weight decay on a part of a model that only stop_gradient keeps from training."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Param, Ref, Sequence, Value

# the default decay of what decays the weights, with how many arguments may stand before it
_DECAYING = {
    "adamw": (1e-4, 6), "nadamw": (1e-4, 6), "adamaxw": (1e-4, 4), "lion": (1e-3, 4), "lamb": (0.0, 5),
    "adan": (0.0, 6), "add_decayed_weights": (0.0, 1),
}  # fmt: skip
_LAYERS = frozenset({"Linear", "LinearGeneral", "Conv", "ConvTranspose", "Einsum", "MultiHeadAttention", "Embed"})
# where a project says one of these, the weights may be kept, or come from elsewhere at every step
_ELSEWHERE = pattern(
    rb"set_to_zero|multi_transform|\bmasked\(|DiffState|PathContains|nnx\.(Variable|All|Not|Any|map_state)\b"
    rb"|\bfreeze\(|\b(ema|polyak|target|momentum_update|incremental_update)\b|_ema\b|\bema_|target_|_target\b"
)
_READING = frozenset({"state", "split", "clone", "display", "print"})
_LOADED = pattern(r"pretrain|ckpt|checkpoint|restor|load", re.I)
_DEPTH = 4
_TRAINING = (b"apply_updates", b"TrainState", b"nnx.update(", b".set_value(", b"tree.map(", b"tree_map(")


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(one.source.mentions(b"stop_gradient") for one in modules):
        return
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        chosen, tx = event.value.argument(2, "wrt"), event.value.argument(1, "tx")
        if not name.startswith("flax.nnx.") or chosen is None or tx is None or event.value.starred:
            continue
        if in_test(event.scope) or context.flow.resolve(context.flow.here(chosen, event.scope)).value != _PARAM:
            continue
        steps = context.sources.originals(context.flow.here(tx, event.scope))
        if not steps or not all(_decays(context, one) for one in steps):
            continue
        frozen = _frozen(context, event)
        if frozen is None or any(one.source.matches(_ELSEWHERE) for one in modules):
            continue
        part, stopped = frozen
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"weight decay shrinks `{part}`: stop_gradient makes its gradients zero, and the optimizer still takes it",
            "leave it out: a filter for wrt and nnx.DiffState, or the mask of the weight decay",
            related=[(stopped.node, "its gradient is stopped here")]
            if stopped.scope.module is event.scope.module
            else [],
        )


_PARAM = Ref("flax.nnx.Param")


def _decays(context: Context, bound: Bound) -> bool:
    """Say whether a transformation certainly decays all weights that it is given."""
    value = bound.value
    if not isinstance(value, Call) or value.starred or any(key is None for key, _ in value.keywords):
        return False
    home, _, word = context.flow.calls.callee_name(bound).rpartition(".")
    if home != "optax":
        return False
    if word == "chain":
        parts = [one for arg in value.args for one in context.sources.originals(context.flow.with_value(bound, arg))]
        return any(_decays(context, one) for one in parts)
    if word not in _DECAYING:
        return False
    usual, before = _DECAYING[word]
    mask = value.keyword("mask")
    if len(value.args) > before or (mask is not None and context.flow.follow(bound, mask).value != Const(None)):
        return False
    size = value.keyword("weight_decay")
    if size is None and word == "add_decayed_weights" and value.args:
        size = value.args[0]
    if size is None:
        return usual > 0
    scope = context.bodies.home(value.node)
    found = numbers(context, size, scope) if scope is not None else frozenset()
    return bool(found) and min(found) > 0


def _frozen(context: Context, event: CallEvent) -> tuple[str, AttrEvent] | None:
    """Return a part of the optimizer's model whose every use stands in ``stop_gradient``, with one such use."""
    model = event.value.argument(0, "model")
    if model is None:
        return None
    models = context.sources.originals(context.flow.here(model, event.scope))
    classes = {context.flow.classes.class_of(one) for one in models}
    cls = classes.pop() if len(classes) == 1 else None
    if cls is None:
        return None
    family = context.flow.classes.mro(cls)[0]
    for name in dict.fromkeys(name for one in family for name in one.stores):
        stores = [(method, value) for one in family for method, value in one.stores.get(name, ())]
        if len(stores) != 1 or stores[0][0].name != "__init__":
            continue
        method, value = stores[0]
        uses = stopped_uses(context, name, frozenset(family))
        if not uses:
            continue
        made = context.flow.here(value, method.scope)
        sources = context.sources.originals(made)
        if sources and all(_trainable(context, one, 0) for one in sources) and _alone(context, value, models):
            return name, uses[0]
    return None


def stopped_uses(context: Context, name: str, family: frozenset[ClassFacts]) -> list[AttrEvent]:
    """Return the calls of a part in methods of a class or of its objects; none if one lets its gradient through.

    Args:
        context: the analysis.
        name: the attribute that holds the part.
        family: the class of the model and those that it derives from.
    """
    found = []
    for module in context.project.modules:
        if name.encode() not in module.source.data:
            continue
        for use in module.attributes:
            if use.node.attr != name or (use.context == "store" and _own(use, family)):
                continue
            if use.context != "load":
                return []
            above = around(context, use.scope)
            if _read(use.node, above):
                continue
            if not _keeps(context, use, above):
                return []
            if _own(use, family) or _instance(context, use, family):
                found.append(use)
    return found


def _own(use: AttrEvent, family: frozenset[ClassFacts]) -> bool:
    base = use.base
    return isinstance(base, Param) and base is base.function.self_param and base.function.owner in family


def _instance(context: Context, use: AttrEvent, family: frozenset[ClassFacts]) -> bool:
    """Say whether a part is one of an object of a class, wherever that comes from."""
    objects = context.sources.originals(context.flow.here(use.base, use.scope))
    return bool(objects) and all(context.flow.classes.class_of(one) in family for one in objects)


def _read(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether an expression only reads the values of a part, or names the part where it is saved or filled."""
    outer = above.get(node)
    while isinstance(outer, ast.Attribute):
        if outer.attr in {"value", "raw_value", "shape"} and isinstance(outer.ctx, ast.Load):
            return True
        node, outer = outer, above.get(outer)
    if isinstance(outer, ast.Subscript):
        return isinstance(outer.ctx, ast.Load) and isinstance(node, ast.Attribute) and outer.value is node
    if isinstance(outer, ast.Call) and outer.func is node:
        return isinstance(node, ast.Attribute) and node.attr in {"eval", "train", "set_attributes"}
    if not isinstance(outer, ast.Call):
        return False
    if last_word(outer.func) == "update" and outer.args[0] is node:
        return any(_LOADED.search(ast.unparse(one)) for one in outer.args[1:])
    return last_word(outer.func) in _READING


def _keeps(context: Context, use: AttrEvent, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether a part is called, and its gradient stopped on every way."""
    node: ast.AST = use.node
    while isinstance(outer := above.get(node), ast.Attribute):
        node = outer
    if not isinstance(outer, ast.Call) or outer.func is not node:
        return False
    node = outer
    while isinstance(outer := above.get(node), ast.expr | ast.keyword):
        if isinstance(outer, ast.Call) and node in outer.args and _stops(context, use, outer):
            return True
        if isinstance(outer, ast.IfExp | ast.Lambda | ast.BoolOp | ast.NamedExpr):
            return False
        node = outer
    if not isinstance(outer, ast.Assign) or outer.value is not node or len(outer.targets) != 1:
        return False
    target = outer.targets[0]
    return isinstance(target, ast.Name) and _stopped_by_name(context, use, outer, target, above)


def _stopped_by_name(
    context: Context, use: AttrEvent, made: ast.Assign, target: ast.Name, above: dict[ast.AST, ast.AST]
) -> bool:
    """Say whether the only thing done with a variable before it is set anew is to stop its gradient."""
    names = context.bodies.names(use.scope).get(target.id, ())
    later = sorted(
        (n for n in names if n is not target and isinstance(n.ctx, ast.Load)), key=lambda n: (n.lineno, n.col_offset)
    )
    stores = [n for n in names if n is not target and not isinstance(n.ctx, ast.Load)]
    if not later or any(n.lineno < made.lineno for n in (*later, *stores)):
        return False
    call = above.get(later[0])
    if not isinstance(call, ast.Call) or later[0] not in call.args or not _stops(context, use, call):
        return False
    outer: ast.AST | None = call
    while isinstance(outer, ast.expr) and not isinstance(outer, ast.IfExp | ast.BoolOp | ast.Lambda):
        outer = above.get(outer)
    if not isinstance(outer, ast.stmt):
        return False
    inner, block = outer, above.get(outer)
    while isinstance(block, ast.If) and block is not above.get(made) and _always(context, use, block, inner):
        inner, block = block, above.get(block)
    if block is not above.get(made):
        return False
    if len(later) == 1:
        return True
    again = isinstance(outer, ast.Assign) and outer.value is call and len(outer.targets) == 1
    return again and stores == [outer.targets[0]]  # type: ignore[attr-defined]


def _always(context: Context, use: AttrEvent, block: ast.If, statement: ast.stmt) -> bool:
    """Say whether a condition is a flag that is True for all objects that the project makes: ``if self.freeze``."""
    value = use.scope.module.values.get(block.test)
    if value is None or block.orelse or statement not in block.body:
        return False
    flags = context.sources.originals(context.flow.here(value, use.scope))
    return bool(flags) and all(one.value == Const(True) for one in flags)


def _stops(context: Context, use: AttrEvent, call: ast.Call) -> bool:
    value = use.scope.module.values.get(call)
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, use.scope))
    if name in TREE_MAPS and value.args:
        given = context.flow.resolve(context.flow.here(value.args[0], use.scope)).value
        return given == Ref("jax.lax.stop_gradient")
    return name == "jax.lax.stop_gradient"


def _trainable(context: Context, made: Bound, depth: int) -> bool:
    """Say whether an object certainly has a layer with nnx.Param."""
    if not isinstance(made.value, Call) or depth > _DEPTH:
        return False
    home, _, word = context.flow.calls.callee_name(made).rpartition(".")
    if home == "flax.nnx":
        if word == "Sequential":
            return any(_trainable(context, context.flow.follow(made, one), depth + 1) for one in made.value.args)
        return word in _LAYERS
    cls = context.flow.classes.class_of(made)
    return cls is not None and any(
        _trainable(context, part, depth + 1)
        for parent in context.flow.classes.mro(cls)[0]
        for stores in parent.stores.values()
        for method, value in stores
        for whole in [context.flow.resolve(context.flow.here(value, method.scope))]
        for part in (
            [context.flow.follow(whole, one) for one in whole.value.items]
            if isinstance(whole.value, Sequence)
            else [whole]
        )
    )


def _alone(context: Context, value: Value, models: object) -> bool:
    """Say whether nothing uses a part after it was given to the model's constructor, so that nothing else trains it."""
    if not isinstance(value, Param):
        return True
    for model in models:  # type: ignore[attr-defined]
        call = model.value
        scope = context.bodies.home(call.node) if isinstance(call, Call) else None
        if scope is None or not isinstance(call.node, ast.Call):
            return False
        place = list(value.function.params).index(value.name) - 1 if value.name in value.function.params else -1
        given = keyword(call.node, value.name)
        if given is None and 0 <= place < len(call.node.args):
            given = call.node.args[place]
        if isinstance(given, ast.Name):
            # what was called between compiled functions may be a global of theirs
            if any(_uses_later(n, given) for n in ast.walk(scope.node)) and not context.shared(_one_training):
                return False
        elif not isinstance(given, ast.Call):
            return False
    return True


def _one_training(context: Context) -> bool:
    """Say whether a project has one optimizer, by which alone anything is trained."""
    made = [name for _, name in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True)]
    return sum(name.startswith("flax.nnx.") for name in made) == 1 and not any(
        word in module.source.data for module in context.project.modules for word in _TRAINING
    )


def _uses_later(node: ast.AST, given: ast.Name) -> bool:
    return isinstance(node, ast.Name) and node.id == given.id and node.lineno > given.lineno


_BAD = """\
import jax
import optax
from flax import nnx


class Probe(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.body = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(jax.lax.stop_gradient(self.body(x)))


model = Probe(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
"""

RULE = lint_rule(
    "NNX733",
    "decay-of-frozen-part",
    "weight decay on a part of a model that stop_gradient alone keeps from training",
    why="""\
`jax.lax.stop_gradient` makes the gradients of a part zero. `optax.adamw` and the like add to every update what they
take off for decay, whatever the gradient is, so that the part that should stay shrinks with each step. A filter for
`wrt` and the gradient leaves it out (`nnx.PathContains`, `nnx.DiffState`), and so does the `mask` of the decay.
""",
    source="optax documentation of adamw and add_decayed_weights; measured on Flax 0.12.8: the kernel's norm falls",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("adamw", "adam"),
        _BAD.replace("wrt=nnx.Param", 'wrt=nnx.All(nnx.Param, nnx.PathContains("head"))'),
    ),
)
