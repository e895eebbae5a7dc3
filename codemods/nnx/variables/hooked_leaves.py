"""NNX420: hooks of Variables run for the leaves of states and gradients, and their classes hide metadata."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.known import GRADIENTS
from codemods.nnx.nodes import last_word
from codemods.nnx.pytree.functions import tree_function
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Class, Const, Item, Ref, Value
from codemods.nnx.variables.leaves import Leaves

_HOOKS = {"load": "on_get_value", "store": "on_set_value"}
_TREES = frozenset({Objects.STATE, Objects.GRADIENT})


def check(context: Context) -> Iterator[Finding]:
    """Yield contents of leaves that are read or written through a hook, which ``VariableState`` did not have."""
    if not context.options.crosses("0.11"):
        return
    words = [word.encode() for word in _HOOKS.values()]
    with_hooks = any(word in module.source.data for module in context.project.modules for word in words)
    if not with_hooks and not any(_is_variable(context, cls) for cls in context.project.classes()):
        return
    hooked = _hooked(context)
    if not hooked:
        return
    leaves = context.shared(Leaves)
    yield from _hidden(context, leaves, hooked)
    for event in context.asked.attributes():
        hook = _HOOKS.get(event.context, "")
        augmented = isinstance(event.statement, ast.AugAssign) and event.statement.target is event.node
        if event.node.attr != "value" or not hook:
            continue
        leaf = context.flow.resolve(context.flow.here(event.base, event.scope))
        name = _name(leaf.value)
        found = hooked[name].hooks if name in hooked and _in_tree(context, leaf) else set()
        if not found and (trees := leaves.walked(leaf)) and not _picked(context, event):
            found = {hook for tree in trees for name in _held(context, hooked, tree) for hook in hooked[name].hooks}
        hooks = found & ({*_HOOKS.values()} if augmented else {hook})
        if hooks:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"since Flax 0.11 the leaves of states and gradients are Variables: `{min(hooks)}` runs here, which it "
                "did not for the leaves of 0.10",
                "use raw_value, which no hook sees",
            )
    yield from _pure(context, hooked)
    yield from _trained(context, hooked)


def _pure(context: Context, hooked: dict[str, _Hooked]) -> Iterator[Finding]:
    """Yield where the contents of a tree are taken as a plain dict."""
    for call in context.bodies.named("to_pure_dict"):
        if call.scope.module not in context.asked.modules:
            continue
        callee = call.value.callee
        if call.value.args and context.flow.calls.name(call) == "flax.nnx.to_pure_dict":
            tree = call.value.args[0]
        elif isinstance(callee, Attr) and not call.value.args:
            tree = callee.base
        else:
            continue
        through = _read(context, hooked, context.flow.here(tree, call.scope))
        if through:
            yield finding(
                RULE.code,
                call.scope,
                call.node,
                f"since Flax 0.11 to_pure_dict runs `on_get_value` for `{through[0]}`, which it did not in 0.10",
                "take the raw contents: jax.tree.map over the state does not run hooks",
            )


def _read(context: Context, hooked: dict[str, _Hooked], tree: Bound) -> list[str]:
    names = _held(context, hooked, tree)
    return sorted(name for name in names if "on_get_value" in hooked[name].hooks)


def _trained(context: Context, hooked: dict[str, _Hooked]) -> Iterator[Finding]:
    """Yield optimizers whose state begins with what a hook makes of zeros."""
    for call in context.bodies.named("Optimizer", "ModelAndOptimizer"):
        if call.scope.module not in context.asked.modules or call.value.starred:
            continue
        given = [call.value.argument(place, word) for place, word in enumerate(("model", "tx", "wrt"))]
        if context.flow.calls.name(call) not in _OPTIMIZERS or given[0] is None or given[1] is None:
            continue
        model, tx, wrt = (context.flow.resolve(context.flow.here(one, call.scope)) if one else None for one in given)
        cls = context.flow.classes.class_of(model) if model is not None else None
        if cls is None or tx is None or not _keeps_moments(context, tx):
            continue
        wanted = _identity(wrt.value) if wrt is not None else "flax.nnx.Param"
        mine = _names(context, cls, set()) & hooked.keys()
        moved = sorted(n for n in mine if wanted in hooked[n].classes and _moves_zero(hooked[n].classes))
        if moved:
            yield finding(
                RULE.code,
                call.scope,
                call.node,
                f"since Flax 0.11 the optimizer's state for `{moved[0]}` begins with what `on_get_value` makes of "
                "zeros, so that it trains to other numbers",
                "drop the hook, and call its function where the Variable is used",
            )


def _keeps_moments(context: Context, tx: Bound) -> bool:
    """Say whether a transformation of optax begins with zeros for each parameter."""
    if not isinstance(tx.value, Call):
        return False
    name = context.flow.calls.callee_name(tx)
    if name == "optax.chain":
        return any(_keeps_moments(context, context.flow.follow(tx, one)) for one in tx.value.args)
    if name == "optax.sgd":
        return tx.value.argument(1, "momentum") is not None
    return name.startswith("optax.") and name.rpartition(".")[2] in _WITH_MOMENTS


def _moves_zero(classes: set[object]) -> bool:
    """Say whether the hook of a class gives something else for zero, by a function that does or by adding a number."""
    for cls in classes:
        method = cls.methods.get("on_get_value") if isinstance(cls, ClassFacts) else None
        for node in ast.walk(method.node) if method is not None else ():
            if isinstance(node, ast.Call) and last_word(node.func) in _FROM_ZERO:
                return True
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
                sides = (node.left, node.right)
                if any(isinstance(side, ast.Constant) and side.value for side in sides):
                    return True
    return False


_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_WITH_MOMENTS = frozenset(
    {
        "adabelief", "adam", "adamax", "adamw", "amsgrad", "lamb", "lion", "nadam", "nadamw", "radam", "rmsprop",
        "scale_by_adam", "scale_by_lion", "trace", "yogi",
    }
)  # fmt: skip
_FROM_ZERO = frozenset({"cos", "cosh", "exp", "exp2", "expit", "sigmoid", "softmax", "softplus"})


def _is_variable(context: Context, cls: ClassFacts) -> bool:
    return context.kinds.class_kinds(Bound(Class(cls))) == {Objects.VARIABLE}


def _hidden(context: Context, leaves: Leaves, hooked: dict[str, _Hooked]) -> Iterator[Finding]:
    """Yield reads of metadata of leaves that an attribute of the Variable's class hides."""
    words = {word for one in hooked.values() for word in one.hidden}
    if not words:
        return
    for event in context.asked.attributes():
        if event.node.attr not in words or event.context != "load":
            continue
        leaf = context.flow.resolve(context.flow.here(event.base, event.scope))
        name = _name(leaf.value)
        found = name in hooked and event.node.attr in hooked[name].hidden and _in_tree(context, leaf)
        if not found and (trees := leaves.walked(leaf)) and not _picked(context, event):
            held = {name for tree in trees for name in _held(context, hooked, tree)}
            found = any(event.node.attr in hooked[name].hidden for name in held)
        if found:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"since Flax 0.11 the leaves of states are Variables: `{event.node.attr}` is the attribute of their "
                "class here, and no longer the metadata of that name",
                f'ask for the metadata: get_metadata()["{event.node.attr}"]',
            )


def _picked(context: Context, event: AttrEvent) -> bool:
    """Say whether a loop reads only some of the leaves that it goes over, which may be those without hooks."""
    looping = False
    for block, _ in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(block, ast.For):
            looping = True
            if any(isinstance(node, ast.Continue | ast.Break) for node in ast.walk(block)):
                return True
        elif isinstance(block, ast.If) and looping:
            return True
    for node in context.bodies.nodes(event.scope):
        tests: list[ast.expr] = []
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            tests = [test for generator in node.generators for test in generator.ifs]
        elif isinstance(node, ast.IfExp):
            tests = [node.test]
        if any(not _any_variable(test) for test in tests) and any(part is event.node for part in ast.walk(node)):
            return True
    return False


def _any_variable(test: ast.expr) -> bool:
    """Say whether a condition is ``isinstance`` of the class of all leaves."""
    return (
        isinstance(test, ast.Call)
        and last_word(test.func) == "isinstance"
        and len(test.args) == 2
        and last_word(test.args[1]) in {"Variable", "VariableState"}
    )


@dataclass
class _Hooked:
    """What the Variables under one name have: their hooks, the classes that they all are of, and hidden metadata."""

    hooks: set[str]
    classes: set[object]
    hidden: set[str]


def _hooked(context: Context) -> dict[str, _Hooked]:
    """Return the hooks of the Variables that the project's classes keep, by the names of the attributes.

    A name under which some class keeps something else is left out.
    """
    found: dict[str, _Hooked] = {}
    others: set[str] = set()
    for cls in context.project.classes():
        for name, stores in cls.stores.items():
            for method, stored in stores:
                made = context.flow.here(stored, method.scope)
                hooks, hidden = _of_made(context, made)
                if not hooks and not hidden:
                    others.add(name)
                    continue
                classes = _classes(context, made)
                known = found.setdefault(name, _Hooked(set(), classes, set()))
                known.hooks |= hooks
                known.hidden |= hidden
                known.classes &= classes
    return {name: hooked for name, hooked in found.items() if name not in others}


def _classes(context: Context, made: Bound) -> set[object]:
    """Return the classes that a Variable is of: the project's, and the names of others."""
    made = context.flow.resolve(made)
    assert isinstance(made.value, Call)
    callee = context.flow.follow(made, made.value.callee).value
    if not isinstance(callee, Class):
        return {_identity(callee)}
    parents, names = context.flow.classes.mro(callee.facts)
    return {*parents, *names}


def _identity(cls: Value) -> object:
    return cls.facts if isinstance(cls, Class) else cls.name if isinstance(cls, Ref) else cls


def _of_made(context: Context, made: Bound) -> tuple[set[str], set[str]]:
    """Return the hooks of a Variable that is made, of its class or its constructor, and the metadata that is hidden."""
    made = context.flow.resolve(made)
    if not isinstance(made.value, Call) or context.kinds.only(made) is not Objects.VARIABLE:
        return set(), set()
    named = {name for name, _ in made.value.keywords if name in _HOOKS.values()}
    callee = context.flow.follow(made, made.value.callee).value
    hidden: set[str] = set()
    if isinstance(callee, Class):
        named |= {hook for hook in _HOOKS.values() if context.flow.classes.method(callee.facts, hook) is not None}
        for word, value in made.value.keywords:
            known = context.flow.classes.class_attribute(callee.facts, word) if word is not None else None
            if word is None or known is None or word in _HOOKS.values():
                continue
            default, given = context.flow.resolve(known).value, context.flow.follow(made, value).value
            if not isinstance(default, Const) or default != given:
                hidden.add(word)
    return {name for name in named if name}, hidden


def _name(value: Value) -> str | None:
    """Return the name under which a part is taken out of something."""
    if isinstance(value, Attr):
        return value.name
    index = value.index.value if isinstance(value, Indexed) else value.index if isinstance(value, Item) else None
    return index.value if isinstance(index, Const) and isinstance(index.value, str) else None


def _in_tree(context: Context, leaf: Bound) -> bool:
    """Say whether a value is a part of a state or gradient for certain."""
    value = leaf.value
    while isinstance(value, Attr | Item | Indexed):
        leaf = context.flow.resolve(context.flow.with_value(leaf, value.base))
        if context.kinds.only(leaf) in _TREES:
            return True
        mapped = leaf.value if isinstance(leaf.value, Call) and len(leaf.value.args) > 1 else None
        if mapped is not None and _maps(context.flow.calls.callee_name(leaf)):
            return context.kinds.only(context.flow.with_value(leaf, mapped.args[1])) in _TREES
        value = leaf.value
    return False


def _maps(name: str) -> bool:
    """Say whether a function of JAX gives a tree like the one that it maps another function over."""
    tree = tree_function(name)
    return tree is not None and tree.maps


def _held(context: Context, hooked: dict[str, _Hooked], tree: Bound) -> set[str]:
    """Return the names of Variables with hooks in a state or gradient, if it is known of which object it is."""
    names: set[str] = set()
    for source in context.sources.of(tree):
        whole, wanted = _object(context, source)
        cls = context.flow.classes.class_of(context.flow.resolve(whole)) if whole is not None else None
        if cls is None:
            return set()
        mine = _names(context, cls, set())
        names |= {name for name in mine & hooked.keys() if wanted is None or _identity(wanted) in hooked[name].classes}
    return names


def _object(context: Context, tree: Bound) -> tuple[Bound | None, Value | None]:
    """Return the object of which a value is a state or gradient, and the class of the Variables that are in it."""
    if context.kinds.only(tree) not in _TREES:
        return None, None
    place, value = None, tree.value
    while isinstance(value, Item | Indexed):  # value, gradient = nnx.value_and_grad(...)(model)
        place = value.index.value if isinstance(value, Indexed) else value.index
        tree = context.flow.resolve(context.flow.with_value(tree, value.base))
        value = tree.value
    if not isinstance(value, Call) or not value.args or value.starred:
        return None, None
    name, first, filters = context.flow.calls.callee_name(tree), 0, value.args[1:]
    made = context.flow.follow(tree, value.callee)
    if isinstance(made.value, Call) and context.flow.calls.wrapper_name(made, made.value) in GRADIENTS:
        filters = ()
        argument = made.value.argument(1, "argnums")
        number = context.flow.follow(made, argument).value if argument is not None else Const(0)
        if (
            not isinstance(number, Const)
            or not isinstance(number.value, int)
            or not 0 <= number.value < len(value.args)
        ):
            return None, None
        first = number.value
    elif name == "flax.nnx.split":
        if not isinstance(place, Const) or place.value != 1:
            return None, None
        filters = filters[:1]
    elif name != "flax.nnx.state" or len(filters) > 1:
        return None, None
    wanted = context.flow.follow(tree, filters[0]).value if filters else None
    return context.flow.with_value(tree, value.args[first]), None if wanted == Const(...) else wanted


def _names(context: Context, cls: ClassFacts, seen: set[ClassFacts]) -> set[str]:
    """Return the names of attributes of the instances of a class and of the objects that they keep."""
    if cls in seen:
        return set()
    seen.add(cls)
    found: set[str] = set()
    for parent in context.flow.classes.mro(cls)[0]:
        for name, stores in parent.stores.items():
            found.add(name)
            for method, stored in stores:
                kept = context.flow.here(stored, method.scope)
                for one in (kept, *context.flow.containers.elements(kept)):
                    inner = context.flow.classes.class_of(context.flow.resolve(one))
                    if inner is not None:
                        found |= _names(context, inner, seen)
    return found


_PROGRAM = """\
import jax.numpy as jnp
from flax import nnx


class Unit(nnx.Param):
    def on_set_value(self, value):
        return value / jnp.linalg.norm(value)


class Net(nnx.Module):
    def __init__(self):
        self.u = Unit(jnp.array([3.0, 4.0]))


net = Net()
state = nnx.state(net)
state["u"].{} = jnp.array([30.0, 40.0])
nnx.update(net, state)
print(net.u.value)
"""

RULE = Rule(
    code="NNX420",
    name="hooked-leaves",
    summary="hooks of Variables that run for leaves of states and gradients",
    why="""\
Up to Flax 0.10 the leaves of a state or a gradient were `nnx.VariableState`, whose `value` is the content itself. Since
0.11 they are Variables, so that `on_get_value` runs where the value of a leaf is read, and `on_set_value` where it is
written: other numbers, and no error. `to_pure_dict` reads in that way, too, and so does an optimizer the zeros that its
moments begin with. `raw_value` of a leaf is the content as it is; `jax.tree.map` runs no hooks. The rule speaks of
leaves by the names of attributes that hold such Variables only, and of loops over all leaves of an object that has one.
In the same way an attribute of the Variable's class hides the metadata of that name, which the leaves of 0.10 gave.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(before=_PROGRAM.format("value"), targets=("0.11", "0.12"), run=False),
        Example(before=_PROGRAM.format("raw_value"), after=_PROGRAM.format("raw_value"), run=False),
    ),
    check=check,
)
