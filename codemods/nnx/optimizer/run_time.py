"""NNX113: optimizers whose class is chosen, made or changed at run time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.optimizer.migrate import optimizer_findings
from codemods.nnx.optimizer.origins import OLD, Origins
from codemods.nnx.optimizer.patched import replaced
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Class, Const, Free, Ref, Sequence

# functions that make classes, with the position and the name of the bases
_MAKERS = {"builtins.type": (1, ""), "types.new_class": (1, "bases"), "dataclasses.make_dataclass": (9, "bases")}
_NAMES = frozenset(name.rpartition(".")[2] for name in _MAKERS) | {"getattr"}

# functions that call their first argument, and of the object they give nothing is followed
_CALLING = frozenset(
    {
        "builtins.map", "itertools.starmap", "jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "jax.eval_shape",
        "flax.nnx.eval_shape", "flax.nnx.jit", "flax.nnx.vmap",
    }
)  # fmt: skip
_CALLING_NAMES = frozenset(name.rpartition(".")[2] for name in _CALLING)


def check(context: Context) -> Iterator[Finding]:
    """Yield classes made at run time that derive from an optimizer, and names of NNX that may be one's."""
    if not context.options.crosses("0.11"):
        return
    origins = Origins(context.flow, context.sources)
    yield from _of_fields(context, origins)
    yield from _handed_on(context, origins)
    yield from _of_tables(context, origins)
    for scope, node, given in replaced(context, origins):
        words = f"this replaces a method of nnx.Optimizer, which since Flax 0.11 is given {given}"
        help = "let the function take and hand on *args and **kwargs; nnx.ModelAndOptimizer has methods of its own"
        yield finding(RULE.code, scope, node, words, help)
    for event in context.asked.calls():
        last = getattr(event.node.func, "attr", getattr(event.node.func, "id", ""))
        if last not in _NAMES or not event.scope.module.source.mentions(b"nnx"):
            continue
        call = context.flow.here(event.value, event.scope)
        name = context.flow.calls.callee_name(call)
        if name in _MAKERS and _derives(context, origins, event, name):
            words = "this class is made from nnx.Optimizer at run time, and its uses cannot be followed"
            help = "make it from nnx.ModelAndOptimizer, or call update(model, grads) and pass `wrt` where it is used"
            yield finding(RULE.code, event.scope, event.node, words, help)
        elif name == "builtins.getattr" and _any_name(context, call, event):
            words = "this may be nnx.Optimizer, which since Flax 0.11 needs `wrt` and holds no model"
            help = "call update(model, grads) and pass `wrt` where it is an optimizer"
            yield finding(RULE.code, event.scope, event.node, words, help)


def _of_fields(context: Context, origins: Origins) -> Iterator[Finding]:
    """Yield calls of fields of dataclasses and the like that hold the class of an optimizer."""
    names = set(_holding(context, origins))
    for event in context.asked.calls() if names else ():
        callee = event.value.callee
        if not isinstance(callee, Attr) or callee.name not in names or event.value in origins.constructors:
            continue
        if event.value.keyword("wrt") is not None or not event.value.args:
            continue
        held = context.sources.of(context.flow.follow(context.flow.here(event.value, event.scope), callee))
        if any(_is_old(origins, one) for one in held):
            words = f"`{callee.name}` holds nnx.Optimizer, which since Flax 0.11 needs `wrt` and holds no model"
            help = "hold nnx.ModelAndOptimizer there, or call update(model, grads) and pass `wrt`"
            yield finding(RULE.code, event.scope, event.node, words, help)


def _of_tables(context: Context, origins: Origins) -> Iterator[Finding]:
    """Yield calls of an item of a dict or list of classes, of which some are optimizers."""
    for event in context.asked.calls():
        callee = event.value.callee
        if event.value in origins.constructors or not event.value.args or not origins.may.may_make(callee):
            continue
        if event.value.keyword("wrt") is not None or event.value.starred:
            continue
        table = origins.table(context.flow.follow(context.flow.here(event.value, event.scope), callee))
        if any(_makes_old(origins, origins.flow.resolve(one)) for one in table):
            words = "this may make an nnx.Optimizer, which since Flax 0.11 needs `wrt` and holds no model"
            help = "put nnx.ModelAndOptimizer into the table, or call update(model, grads) and pass `wrt`"
            yield finding(RULE.code, event.scope, event.node, words, help)


def _handed_on(context: Context, origins: Origins) -> Iterator[Finding]:
    """Yield calls of functions such as ``map`` that are handed the class of an optimizer, and call it."""
    flow = context.flow
    for event in context.asked.calls():
        last = getattr(event.node.func, "attr", getattr(event.node.func, "id", ""))
        if last not in _CALLING_NAMES or not event.value.args or not origins.may.may_make(event.value.args[0]):
            continue
        call = flow.here(event.value, event.scope)
        called = flow.follow(call, event.value.args[0])
        if flow.calls.callee_name(call) not in _CALLING or not _makes_old(origins, called) or _renamed(context, called):
            continue
        words = "this calls nnx.Optimizer, which since Flax 0.11 needs `wrt` and holds no model"
        help = "hand on nnx.ModelAndOptimizer, or call update(model, grads) and hand on partial(nnx.Optimizer, wrt=...)"
        yield finding(RULE.code, event.scope, event.node, words, help)


def _makes_old(origins: Origins, bound: Bound) -> bool:
    """Say whether a function is the class of an optimizer, or a partial of it, that is not given ``wrt``."""
    value = bound.value
    if isinstance(value, Call) and value.args and origins.flow.calls.callee_name(bound) == "functools.partial":
        if value.starred or value.keyword("wrt") is not None or len(value.args) > 3:
            return False
        return _makes_old(origins, origins.flow.follow(bound, value.args[0]))
    own = isinstance(value, Class) and origins.flow.classes.method(value.facts, "__init__") is not None
    return not own and _is_old(origins, bound)


def _renamed(context: Context, made: Bound) -> bool:
    """Say whether this run puts the class that keeps its model into a partial, for others that are made by it."""
    value = made.value
    if not isinstance(value, Call) or not value.node.args:
        return False
    cls = value.node.args[0]
    sources = [module.source for module in context.project.modules if cls in module.values]
    return any(
        path == source.path and source.span(cls)[0] <= edit.start and edit.end <= source.span(cls)[1]
        for source in sources
        for found in optimizer_findings(context)
        if found.code == "NNX103" and found.fix is not None
        for path, edit in found.fix.edits
    )


def _holding(context: Context, origins: Origins) -> Iterator[str]:
    """Yield the names of fields whose default is the class, and of arguments by which a class gets it."""
    flow = context.flow
    for cls in context.project.classes():
        for name in cls.fields:
            default = cls.scope.env.get(name)
            if isinstance(default, Attr | Call | Class | Free | Ref) and _is_old(
                origins, flow.here(default, cls.scope)
            ):
                yield name
    for event in context.project.calls():
        for word, value in event.value.keywords:
            if word is not None and isinstance(value, Attr) and value.name == "Optimizer":
                if _is_old(origins, flow.here(value, event.scope)):
                    yield word


def _is_old(origins: Origins, bound: Bound) -> bool:
    bound = origins.flow.resolve(bound)
    value = bound.value
    default = value.keyword("default") if isinstance(value, Call) else None
    if default is not None and origins.flow.calls.callee_name(bound) == "dataclasses.field":
        return _is_old(origins, origins.flow.with_value(bound, default))
    return value == Ref(OLD) or (isinstance(value, Class) and origins.optimizer_base(value.facts) == OLD)


def _derives(context: Context, origins: Origins, event: CallEvent, name: str) -> bool:
    """Say whether an optimizer is among the bases that a class is made with."""
    flow, call = context.flow, context.flow.here(event.value, event.scope)
    given = event.value.argument(*_MAKERS[name])
    if given is None or (name == "builtins.type" and len(event.value.args) != 3):
        return False
    bases = flow.follow(call, given)
    for base in (
        [bases, *flow.containers.elements(bases)]
        if not isinstance(bases.value, Sequence)
        else flow.containers.elements(bases)
    ):
        if _is_old(origins, base):
            return True
    return False


def _any_name(context: Context, call: Bound, event: CallEvent) -> bool:
    """Say whether ``getattr(nnx, name)`` with a name that is not known speaks of optimizers."""
    args = event.value.args
    if len(args) < 2 or context.flow.follow(call, args[0]).value != Ref("flax.nnx"):
        return False
    if isinstance(context.flow.follow(call, args[1]).value, Const):
        return False
    function = event.scope.function
    words = [ast.unparse(event.node.args[1]), function.name if function is not None else ""]
    if isinstance(event.statement, ast.Assign):
        words += [ast.unparse(target) for target in event.statement.targets]
    return any("optim" in word.lower() for word in words) or _spoken(event.scope.module)


def _spoken(module: ModuleFacts) -> bool:
    """Say whether a module has the name of the class as a string."""
    tree = module.source.tree
    return any(isinstance(n, ast.Constant) and n.value == "Optimizer" for n in ast.walk(tree))


_MADE = """\
import optax
from flax import nnx

Named = type("Named", (nnx.Optimizer,), {})
optimizer = Named(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), optax.sgd(0.1))
"""
_CHOSEN = """\
import sys

import optax
from flax import nnx

make_optimizer = getattr(nnx, sys.argv[1])
optimizer = make_optimizer(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), optax.sgd(0.1))
"""
_HANDED = """\
from functools import partial

import optax
from flax import nnx

make = partial(nnx.Optimizer, tx=optax.sgd(0.1))
optimizers = list(map(make, [nnx.Linear(2, 1, rngs=nnx.Rngs(n)) for n in range(2)]))
print([int(one.step.value) for one in optimizers])
"""
_REPLACED = """\
import optax
from flax import nnx

original = nnx.Optimizer.update


def logged(self, grads):
    print("update")
    original(self, grads)


nnx.Optimizer.update = logged
"""
_OTHER = """\
import jax.numpy as jnp
from flax import nnx

for name in ("relu", "gelu"):
    print(getattr(nnx, name)(jnp.ones(())))
"""

RULE = Rule(
    code="NNX113",
    name="optimizer-at-run-time",
    summary="an optimizer whose class is made, chosen or changed at run time",
    why="""\
What `type(name, bases, {})` makes of `nnx.Optimizer`, and what `getattr(nnx, name)` gives, cannot be followed in the
text, what a field of a dataclass holds may be changed by those who make it, which class of a table is taken is known
when the program runs, and what `map` makes with a class that it is handed is not followed. Since Flax 0.11 an optimizer
needs `wrt`, holds no model, and `update` takes the model first, also where a program or a test puts a function of its
own in the place of `update`.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(_MADE, run=False),
        Example(_CHOSEN, run=False),
        Example(_HANDED, run=False),
        Example(_REPLACED, run=False),
        Example(_OTHER, _OTHER, targets=("0.11", "0.12")),
    ),
    check=check,
)
