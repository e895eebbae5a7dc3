"""NNX694: modules themselves as the branches of nnx.cond or nnx.switch."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Value

_BRANCHES = {"flax.nnx.cond": ((1, "true_fun"), (2, "false_fun")), "flax.nnx.switch": ((1, "branches"),)}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "cond", "switch"):
        if name not in _BRANCHES or event.value.starred or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        given = [event.value.argument(place, word) for place, word in _BRANCHES[name]]
        if any(branch is not None and _is_module(context, event, branch, name) for branch in given):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"nnx.{last(name)} takes functions for its branches, and gets modules: it takes these apart like its "
                "other arguments, and then calls what is left of them",
                _help(last(name)),
            )


def _help(name: str) -> str:
    branches = "lambda m, x: m.first(x), lambda m, x: m.second(x)"
    return (
        f"give the model as an operand: nnx.{name}(..., {f'[{branches}]' if name == 'switch' else branches}, self, x)"
    )


def _is_module(context: Context, event: CallEvent, branch: Value, name: str) -> bool:
    """Say whether a branch is a module, or all of several are."""
    bound = context.flow.here(branch, event.scope)
    if last(name) == "cond":
        return _module(context, bound)
    held = list(context.flow.containers.elements(context.flow.resolve(bound)))
    return bool(held) and all(_module(context, one) for one in held)


def _module(context: Context, bound: Bound) -> bool:
    return context.kinds.of(bound) == {Kind.MODULE}


_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(2, 2, rngs=rngs)
        self.second = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, x, which):
        return nnx.switch(which, [self.first, self.second], x)


print(Experts(nnx.Rngs(0))(jnp.ones((1, 2)), 0))
"""
_GOOD = _BAD.replace("[self.first, self.second], x", "[lambda m, x: m.first(x), lambda m, x: m.second(x)], self, x")

RULE = lint_rule(
    "NNX694",
    "module-as-branch",
    "modules themselves as the branches of nnx.cond or nnx.switch",
    why="""\
`nnx.cond` and `nnx.switch` split all of their arguments and merge them within the branch, the branches among them: a
module is a node of the graph, and comes back as the parts that it was split into, so that every call raises
"'NodeStates' object is not callable". A function of the model, which is then an operand, is no node.
`jax.lax.cond` and `jax.lax.switch` call modules, and lose what these change.
""",
    source="flax/nnx/transforms/iteration.py and general.py; measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_GOOD,),
)
