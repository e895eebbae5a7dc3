"""NNX522: arguments by name for what a transform made, which takes them by position only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import Handed, arguments, calls_of, constants_of, handed_on, may_hand_on, option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, resolved
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Mapping, Sequence

_JITS = frozenset({"jax.jit", "flax.nnx.jit", "jax.experimental.pjit.pjit"})
_SHARDS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map", "flax.nnx.shard_map"})
_GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev", "jax.jacobian", "jax.hessian"})
_REMATS = frozenset({"jax.checkpoint", "jax.remat", "jax.ad_checkpoint.checkpoint", "jax.ad_checkpoint.remat"})
_WORDS = frozenset(last(name) for name in (*_JITS, *_SHARDS, *_GRADIENTS, *_REMATS)) | {"pmap"}
# an option or a transform that is needed for anything to be said
_NEEDED = (b"in_shardings", b"shard_map", b"grad", b"jac", b"hessian", b"pmap", b"static_argnums")


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(word) for module in context.project.modules for word in _NEEDED):
        return
    made = context.flow.may.made_by(_WORDS)
    told: set[ast.AST] = set()
    for event in context.asked.calls():
        if not may_hand_on(made, event) or in_test(event.scope):
            continue
        for handed in handed_on(context, event):
            problem = _problem(context, handed) if handed.names or handed.name in _REMATS else None
            if problem is not None and not context.bodies.guarded(event.node, event.scope):
                told.add(event.node)
                yield finding(RULE.code, event.scope, event.node, *problem)
                break
    yield from _methods(context, told)


def _methods(context: Context, told: set[ast.AST]) -> Iterator[Finding]:
    """Yield the calls of methods under a decorator that gives the places of their arguments."""
    for root in context.traced.roots:
        if not root.decorator or root.function.owner is None or root.transform not in _JITS | _REMATS:
            continue
        if root.transform in _REMATS:
            yield from _remat_methods(context, root, told)
            continue
        shardings = option(root, "in_shardings")
        if shardings is None or not _given(resolved(context, shardings, root.scope)):
            continue
        for event in calls_of(context, root):
            if event.node.keywords and not event.value.starred and event.node not in told and not in_test(event.scope):
                if event.scope.module in context.asked and not context.bodies.guarded(event.node, event.scope):
                    told.add(event.node)
                    yield finding(RULE.code, event.scope, event.node, _JITTED, _HELP)


def _remat_methods(context: Context, root: Root, told: set[ast.AST]) -> Iterator[Finding]:
    """Yield the calls of a method under ``jax.checkpoint`` that give a static argument by name, or not at all."""
    chosen = option(root, "static_argnums") if root.options else None
    numbers = _numbers(resolved(context, chosen, root.scope)) if chosen is not None else []
    for event in calls_of(context, root) if numbers else ():
        if event.value.starred or event.node in told or in_test(event.scope) or event.scope.module not in context.asked:
            continue
        names = [k.arg for k in event.node.keywords if k.arg is not None]
        count = arguments(event, root)
        problem = _uncounted(last(root.transform), numbers, count, names) if count is not None else None
        if problem is not None and not context.bodies.guarded(event.node, event.scope):
            told.add(event.node)
            yield finding(RULE.code, event.scope, event.node, *problem)


_JITTED = "what jit makes with in_shardings takes no argument by name"
_HELP = "give the arguments by position"


def _problem(context: Context, handed: Handed) -> tuple[str, str] | None:
    """Return what is wrong with the arguments by name that an application of a transform gets, and the way out."""
    if handed.name in _JITS:
        old = handed.name.endswith("pjit")
        given = handed.option(context, "in_shardings")
        if given is None and old:
            given = handed.option(context, "in_axis_resources")
        return (_JITTED, _HELP) if _given(given) else None
    if handed.name in _SHARDS:
        return f"what shard_map makes takes no argument by name: {_listed(handed)} so", _HELP
    if handed.name == "jax.pmap":
        return _static(context, handed)
    if handed.name in _REMATS:
        numbers = _numbers(handed.option(context, "static_argnums"))
        return _uncounted(last(handed.name), numbers, handed.given, [name for name, _ in handed.names])
    if handed.name in _GRADIENTS:
        return _differentiated(context, handed)
    return None


def _given(shardings: Bound | None) -> bool:
    """Say whether shardings are some for certain, and not None."""
    if shardings is None:
        return False
    value = shardings.value
    if isinstance(value, Call):
        return last_word(value.node.func) in _SHARDINGS
    return isinstance(value, Sequence | Mapping)


_SHARDINGS = frozenset({"NamedSharding", "SingleDeviceSharding", "P", "PartitionSpec", "GSPMDSharding"})


def _static(context: Context, handed: Handed) -> tuple[str, str] | None:
    """Return what is wrong with a static argument of ``pmap`` that comes by name."""
    numbers = _numbers(handed.option(context, "static_broadcasted_argnums", 3))
    if not numbers or max(numbers) < handed.given:
        return None
    return f"pmap takes its static arguments by position: {_listed(handed)} by name", _HELP


def _uncounted(word: str, numbers: list[int], given: int, names: list[str]) -> tuple[str, str] | None:
    """Return what is wrong with a static argument of ``jax.checkpoint`` that is none of those by position."""
    if not numbers or max(numbers) < given:
        return None
    if names:
        return f"{word} takes its static arguments by position: {_spoken(names)} by name", _HELP
    few = f"{word} has argument {max(numbers)} static, and gets {given} argument{'s' if given != 1 else ''}"
    return few, "give the static argument by position, also where it has a default"


def _differentiated(context: Context, handed: Handed) -> tuple[str, str] | None:
    """Return what is wrong with an argument by name that is differentiated."""
    given = handed.option(context, "argnums", 1)
    numbers = [0] if given is None else _numbers(given)
    if not numbers or max(numbers) < handed.given:
        return None
    taken = f"{last(handed.name)} takes what it differentiates, argument {max(numbers)}, by position"
    return f"{taken}: {_listed(handed)} by name", _HELP


def _numbers(given: Bound | None) -> list[int]:
    """Return the numbers of arguments that an option names; none if they are not known."""
    numbers = constants_of(given) or ()
    known = [one for one in numbers if isinstance(one, int) and type(one) is int and one >= 0]
    return known if len(known) == len(numbers) else []


def _listed(handed: Handed) -> str:
    return _spoken([name for name, _ in handed.names])


def _spoken(given: list[str]) -> str:
    names = dict.fromkeys(given)
    return f"{', '.join(f'`{name}`' for name in names)} come{'s' if len(names) == 1 else ''}"


RULE = lint_rule(
    "NNX522",
    "arguments-by-name",
    "arguments by name for a function that jit with in_shardings, shard_map or grad made, which takes them by position",
    why="""\
`in_shardings` and `in_specs` have an entry for each argument by position. What `jax.jit` makes with `in_shardings`
takes no others: a ValueError, also for static arguments, and for those that functools.partial gives by name. What
`shard_map` makes raises a TypeError. `jax.grad`, `jax.jacfwd`, `jax.hessian` and the like differentiate arguments by
position, and `static_broadcasted_argnums` of `pmap` and `static_argnums` of `jax.checkpoint` count them: where these
come by name, a TypeError or ValueError; of `jax.checkpoint` also where a static one is left at its default.
""",
    source="jax issue 17400; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError and TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))
whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))


@partial(jax.jit, in_shardings=(whole, rows), out_shardings=whole)
def step(weights, batch):
    return weights - 0.1 * batch.mean(axis=0)


weights = step(weights=jnp.zeros(3), batch=jnp.ones((4, 3)))
""",
        """\
import jax
import jax.numpy as jnp


def loss(weights, batch):
    return jnp.mean((batch @ weights) ** 2)


gradients = jax.grad(loss)(weights=jnp.ones(3), batch=jnp.ones((4, 3)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))
whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))


def step(weights, batch):
    return weights - 0.1 * batch.mean(axis=0)


sharded = jax.jit(step, in_shardings=(whole, rows))
print(sharded(jnp.zeros(3), jnp.ones((4, 3))))
print(jax.jit(step, out_shardings=whole)(jnp.zeros(3), batch=jnp.ones((4, 3))))
""",
        """\
import jax
import jax.numpy as jnp


def loss(weights, batch):
    return jnp.mean((batch @ weights) ** 2)


print(jax.grad(loss)(jnp.ones(3), batch=jnp.ones((4, 3))))
""",
    ),
)
