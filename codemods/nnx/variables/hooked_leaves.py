"""NNX420: hooks of Variables run for the leaves of states and gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Class, Const, Item, Value

_HOOKS = {"load": "on_get_value", "store": "on_set_value"}
_TREES = frozenset({Objects.STATE, Objects.GRADIENT})


def check(context: Context) -> Iterator[Finding]:
    """Yield contents of leaves that are read or written through a hook, which ``VariableState`` did not have."""
    if not context.options.crosses("0.11"):
        return
    words = [word.encode() for word in _HOOKS.values()]
    if not any(word in module.source.data for module in context.project.modules for word in words):
        return
    hooked = _hooked(context)
    if not hooked:
        return
    for event in context.asked.attributes():
        hook = _HOOKS.get(event.context, "")
        augmented = isinstance(event.statement, ast.AugAssign) and event.statement.target is event.node
        if event.node.attr != "value" or not hook:
            continue
        leaf = context.flow.resolve(context.flow.here(event.base, event.scope))
        name = _name(leaf.value)
        found = hooked.get(name, set()) if name is not None else set()
        hooks = found & ({*_HOOKS.values()} if augmented else {hook})
        if hooks and _in_tree(context, leaf):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"since Flax 0.11 the leaves of states and gradients are Variables: `{min(hooks)}` runs here, which it "
                "did not for the leaves of 0.10",
                "use raw_value, which no hook sees",
            )
    for call in context.bodies.named("to_pure_dict"):
        if call.scope.module not in context.asked.modules or not call.value.args:
            continue
        if context.flow.calls.name(call) != "flax.nnx.to_pure_dict":
            continue
        names = _of_object(context, context.flow.here(call.value.args[0], call.scope))
        through = sorted(name for name in names if "on_get_value" in hooked.get(name, ()))
        if through:
            yield finding(
                RULE.code,
                call.scope,
                call.node,
                f"since Flax 0.11 nnx.to_pure_dict runs `on_get_value` for `{through[0]}`, which it did not in 0.10",
                "take the raw contents: jax.tree.map over the state does not run hooks",
            )


def _hooked(context: Context) -> dict[str, set[str]]:
    """Return the hooks of the Variables that the project's classes keep, by the names of the attributes.

    A name under which some class keeps something else is left out.
    """
    found: dict[str, set[str]] = {}
    others: set[str] = set()
    for cls in context.project.classes():
        for name, stores in cls.stores.items():
            for method, stored in stores:
                hooks = _of_made(context, context.flow.here(stored, method.scope))
                if hooks:
                    found.setdefault(name, set()).update(hooks)
                else:
                    others.add(name)
    return {name: hooks for name, hooks in found.items() if name not in others}


def _of_made(context: Context, made: Bound) -> set[str]:
    """Return the hooks of a Variable that is made: of its class, or given to its constructor."""
    made = context.flow.resolve(made)
    if not isinstance(made.value, Call) or context.kinds.only(made) is not Objects.VARIABLE:
        return set()
    named = {name for name, _ in made.value.keywords if name in _HOOKS.values()}
    callee = context.flow.follow(made, made.value.callee).value
    if isinstance(callee, Class):
        named |= {hook for hook in _HOOKS.values() if context.flow.classes.method(callee.facts, hook) is not None}
    return {name for name in named if name}


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
        value = leaf.value
    return False


def _of_object(context: Context, tree: Bound) -> set[str]:
    """Return the attributes of the object whose state or gradient a value is, if that is known."""
    names: set[str] = set()
    for source in context.sources.of(tree):
        call = source.value
        if not isinstance(call, Call) or not call.args or context.kinds.only(source) not in _TREES:
            return set()
        if context.flow.calls.callee_name(source) == "flax.nnx.state" and len(call.args) > 1:
            return set()
        cls = context.flow.classes.class_of(context.flow.resolve(context.flow.with_value(source, call.args[0])))
        if cls is None:
            return set()
        names |= {name for parent in context.flow.classes.mro(cls)[0] for name in parent.stores}
    return names


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
written: other numbers, and no error. `nnx.to_pure_dict` reads in that way, too. `raw_value` of a leaf is the content
as it is; `jax.tree.map` runs no hooks. The rule speaks of leaves by the names of attributes that hold such Variables
only.
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
