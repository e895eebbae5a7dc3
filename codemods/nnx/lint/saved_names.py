"""NNX685: a policy of rematerialization that saves names which nothing in the program has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Const, Sequence, Value

_POLICIES = frozenset(
    f"jax.checkpoint_policies.{word}" for word in ("save_only_these_names", "save_and_offload_only_these_names")
)
_ALIKE = 0.6  # how alike a name is to the one that is meant, of 1
_NAMING = frozenset({"jax.ad_checkpoint.checkpoint_name", "jax._src.ad_checkpoint.checkpoint_name"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"only_these_names") for module in context.asked.modules):
        return
    given = _given(context)
    if not given:
        return
    for event, name in foreign(context, "save_only_these_names", "save_and_offload_only_these_names"):
        wanted = _wanted(context, event) if name in _POLICIES and not in_test(event.scope) else []
        if not wanted or set(wanted) & given or _spoken_of(context, event, wanted):
            continue
        # kernels of libraries give names of their own, as "context": one that the program gives has to be meant
        from difflib import get_close_matches  # only here: it is dear, and seldom asked

        meant = {one: get_close_matches(one, sorted(given), 1, _ALIKE) for one in wanted}
        if not all(meant.values()):
            continue
        first = wanted[0]
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"nothing is called `{first}`, so that this policy saves nothing: there is `{meant[first][0]}`",
            "save the names that checkpoint_name gives",
        )


def _given(context: Context) -> set[str]:
    """Return the names that the program gives to its values; none if one of them is not known."""
    names: set[str] = set()
    for event, name in foreign(context, "checkpoint_name", everywhere=True):
        if name not in _NAMING:
            continue
        value = event.value.argument(1, "name")
        found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
        if not isinstance(found, Const) or not isinstance(found.value, str):
            return set()
        names.add(found.value)
    return names


def _wanted(context: Context, event: CallEvent) -> list[str]:
    """Return the names that a policy saves; none if one of them is not known."""
    if event.value.starred:
        return []
    given: list[Value] = []
    for one in (*event.value.args, *(value for word, value in event.value.keywords if "names" in (word or ""))):
        found = context.flow.resolve(context.flow.here(one, event.scope)).value
        given += found.items if isinstance(found, Sequence) else [found]
    names = [one.value for one in given if isinstance(one, Const) and isinstance(one.value, str)]
    return names if len(names) == len(given) else []


def _spoken_of(context: Context, event: CallEvent, wanted: list[str]) -> bool:
    """Say whether one of the names stands anywhere else: it may be given by way of an argument or a field."""
    own = {*ast.walk(event.node)}
    for module in context.project.modules:
        for name in wanted:
            if module.source.mentions(name.encode()) and any(
                node.value == name and node not in own for node in module.source.of_type(ast.Constant)
            ):
                return True
    return False


_BAD = """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("attention_out")


@partial(jax.checkpoint, policy=policy)
def block(w, x):
    out = jax.nn.softmax(x @ x.T) @ x
    return jnp.tanh(checkpoint_name(out, "attn_out") @ w)


slope = jax.grad(lambda w, x: block(w, x).sum())
"""

RULE = lint_rule(
    "NNX685",
    "unknown-checkpoint-name",
    "a policy of jax.checkpoint saves names, and no checkpoint_name gives one of them",
    why="""\
`jax.checkpoint_policies.save_only_these_names("a")` saves what `checkpoint_name(x, "a")` has named. A name that nothing
has raises no error: the policy saves nothing, and all of it is computed again in the backward pass. The rule speaks of
policies none of whose names stands anywhere else in the project, where names much like them are given: kernels of
libraries have names of their own.
""",
    source="JAX documentation of checkpoint policies; measured: nothing is saved",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("attn_out", "attention_out"),),
)
