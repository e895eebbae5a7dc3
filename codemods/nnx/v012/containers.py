"""NNX601: lists, tuples and dicts of modules, Variables or arrays as attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.nodes import last_word
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.attributes import Store
from codemods.nnx.v012.data_marks import data_marks, fix
from codemods.nnx.v012.set_by_name import set_by_name


def check(context: Context) -> Iterator[Finding]:
    """Yield assignments of containers that hold data, or are filled with it later."""
    if not context.options.crosses("0.12"):
        return
    for mark in data_marks(context):
        if mark.container:
            place = mark.store.event
            filled = f", filled in line {mark.first.event.node.lineno}" if mark.first is not None else ""
            outcome = (
                "Flax 0.12 leaves what comes after the constructor out of nnx.state and optimizers"
                if mark.first is not None and _after_constructor(context, mark.first)
                else "an error since Flax 0.12"
            )
            yield finding(
                "NNX601",
                place.scope,
                place.node,
                f"`{place.node.attr}` holds modules or arrays in a container{filled}: {outcome}",
                f"wrap it: {place.node.attr} = nnx.{mark.name}(...)",
                fix(context, mark),
            )
    for call, marked in set_by_name(context):
        yield finding(
            "NNX601",
            call.scope,
            call.node,
            "an attribute gets a container of modules or arrays by setattr: an error since Flax 0.12",
            "wrap it where it is a container: setattr(..., nnx.data(...))",
            marked,
        )


def _after_constructor(context: Context, store: Store) -> bool:
    """Say whether a container is filled only when its object is made, which Flax 0.12.5 and later do not notice."""
    if not store.filling:
        return False
    pending, seen = [store.function], set[FunctionFacts]()
    while pending:
        function = pending.pop()
        if function is None or function in seen:
            continue  # a place outside of the class has the whole object
        if function.name in _MAKING:
            return False
        seen.add(function)
        calls = (call for call in context.flow.sites.callers(function) if isinstance(call.node.func, ast.Attribute))
        pending += [call.scope.function for call in calls if _of_self(call.node.func)]
    return True


def _of_self(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and last_word(func.value) == "self"


_MAKING = frozenset({"__init__", "setup", "__post_init__", "__new__"})
_HEAD = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
"""
_FOOT = """\

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


net = Net(nnx.Rngs(0))
print(net(jnp.ones((1, 2))), len(nnx.to_flat_state(nnx.state(net))))
"""


def _example(before: str, after: str) -> Example:
    return Example(_HEAD + before + _FOOT, _HEAD + after + _FOOT, targets=("0.12",))


RULE = Rule(
    code="NNX601",
    name="data-container",
    summary="a container of modules, Variables or arrays as an attribute",
    why="""\
From Flax 0.12.0 on, a list, tuple or dict that holds modules, Variables or arrays may not be assigned to an attribute
as it is: "Found data on value of type list assigned to static attribute". If it is empty first and filled after the
constructor, 0.12.5 and later raise no error: what is in it is silently left out of `nnx.state`, `nnx.split`, `nnx.jit`
and optimizers, and so neither trained nor saved. `nnx.data(...)`, which 0.11 has too, marks the attribute and keeps the
builtin container, its paths and its methods. Where 0.12 is the only target, `nnx.List` or `nnx.Dict` stands for a list
or dict that is written out, has no annotation, and is only looped over, indexed, filled, unpacked or counted: they have
no `+`, are no lists for `isinstance`, and refuse lists within lists. Classes with `pytree=False`, and attributes that
are declared by `nnx.Data[...]`, `nnx.data()` or `nnx.List`, are left alone.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.11.2, 0.12.0 to 0.12.8",
    examples=(
        _example(
            "        self.layers = [nnx.Linear(2, 2, rngs=rngs) for _ in range(2)]\n",
            "        self.layers = nnx.List([nnx.Linear(2, 2, rngs=rngs) for _ in range(2)])\n",
        ),
        _example(
            "        self.layers = []\n"
            "        for _ in range(2):\n"
            "            self.layers.append(nnx.Linear(2, 2, rngs=rngs))\n",
            "        self.layers = nnx.List([])\n"
            "        for _ in range(2):\n"
            "            self.layers.append(nnx.Linear(2, 2, rngs=rngs))\n",
        ),
        _example(
            "        self.sizes = [2, 2]\n        self.layers = nnx.Linear(2, 2, rngs=rngs), nnx.relu\n",
            "        self.sizes = [2, 2]\n        self.layers = nnx.data((nnx.Linear(2, 2, rngs=rngs), nnx.relu))\n",
        ),
    ),
    check=check,
    always=True,
)
