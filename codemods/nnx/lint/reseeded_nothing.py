"""NNX663: ``nnx.reseed`` of a stream that nothing has."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.reseeded import OPTIONS
from codemods.nnx.values import Call, Const

# what makes streams in other ways than by their names in nnx.Rngs
_OTHERS = (b"RngStream", b"RngKey", b"rnglib", b"pickle", b"bridge")


def _check(context: Context) -> Iterator[Finding]:
    events = [e for e, name in foreign(context, "reseed") if name == "flax.nnx.reseed"]
    events = [e for e in events if e.value.args and not e.value.starred and not in_test(e.scope)]
    names = _streams(context) if events else None
    if not names:
        return
    known = " and ".join(f"`{name}`" for name in sorted(names))
    for event in events:
        lacking = [one for one, _ in event.value.keywords if one is not None and one not in names | OPTIONS]
        if kinds_of(context, event.value.args[0], event.scope) not in ({Kind.MODULE}, {Kind.RNGS}):
            continue
        if lacking and all(one is not None for one, _ in event.value.keywords):
            told = " and ".join(f"`{name}`" for name in lacking)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"this reseeds nothing: all streams here are of {known}, and none is of {told}",
                "name the stream that the model was made with, as default=..., or make it with a stream of that name: "
                f"nnx.Rngs(0, {lacking[0]}=1)",
            )


def _streams(context: Context) -> set[str] | None:
    """Return the names of all streams that the project makes; None if they are not all known."""
    if any(module.source.mentions(word) for module in context.project.modules for word in _OTHERS):
        return None
    names: set[str] = set()
    for event, name in foreign(context, "Rngs", everywhere=True):
        if name == "flax.nnx.Rngs" or name.endswith(".Rngs"):
            found = _named(context, event)
            if found is None:
                return None
            names |= found
    return names


def _named(context: Context, event: CallEvent) -> set[str] | None:
    """Return the names of the streams that an nnx.Rngs has; None if they are not known."""
    if event.value.starred or any(name is None for name, _ in event.value.keywords):
        return None
    names = {name for name, _ in event.value.keywords if name is not None}
    if not event.value.args:
        return names
    first = event.value.args[0]
    numbers = context.sources.originals(context.flow.here(first, event.scope))
    return names | {"default"} if numbers and all(_seed(context, one) for one in numbers) else None


def _seed(context: Context, one: Bound) -> bool:
    """Say whether a value is a number or a key, and no dict of streams."""
    if isinstance(one.value, Const):
        return type(one.value.value) is int
    return isinstance(one.value, Call) and context.flow.calls.callee_name(one).startswith("jax.random.")


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Sequential(nnx.Linear(4, 8, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1)))
nnx.reseed(model, dropout=jax.random.key(7))
print(model(jnp.ones((1, 4))).shape)
"""

RULE = lint_rule(
    "NNX663",
    "reseeded-nothing",
    "nnx.reseed of a stream that no model has",
    why="""\
Streams are told by the name that they were made with: `nnx.Rngs(0)` has one stream of the name `default`, of which a
Dropout takes its own. `nnx.reseed(model, dropout=key)` looks for streams that were made as `nnx.Rngs(dropout=...)`,
finds none, and says nothing: the masks go on as they were.
""",
    source="measured on Flax 0.11.2 and 0.12.8: other masks after each reseed with the same key",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("dropout=jax", "default=jax"),
        _BAD.replace("nnx.Rngs(1)", "nnx.Rngs(dropout=1)"),
    ),
)
