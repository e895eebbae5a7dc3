"""NNX220: the key that ``nnx.reseed`` gives a stream."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell_name
from codemods.nnx.kinds import Kind
from codemods.nnx.rewrite import RewriteError, add_keyword
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.layouts import Shape
from codemods.nnx.rule import Example, Rule
from codemods.nnx.rule import Kind as RuleKind
from codemods.nnx.source import Source
from codemods.nnx.values import Const

_OF_LAYERS = frozenset({"dropout", "carry", "default"})
_MAPPING = frozenset({"vmap", "pmap", "scan", "split_rngs", "fork"})


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``nnx.reseed`` after which streams that no layer has forked give other numbers."""
    if not context.options.crosses("0.11"):
        return
    found = [e for e in context.asked.calls() if e.node.args and context.flow.calls.name(e) == "flax.nnx.reseed"]
    if not found:
        return
    forked = {kept.layer.stream for kept in rng_analysis(context).origins.layers}
    if forked:
        forked.add("default")
    for event in found:
        names = [name for name, _ in event.value.keywords]
        if not names or None in names or "policy" in names or None in forked or not forked.isdisjoint({*names}):
            continue  # the masks of layers differ anyway, since each has a stream of its own
        if not _scalar(context, event, forked | _OF_LAYERS):
            continue  # NNX214 has those with an axis
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "since Flax 0.11 nnx.reseed gives a stream not this key, but the first one that is drawn from it: the "
            "numbers drawn next are others than in 0.10",
            "to keep those of 0.10 give the key itself, by policy=lambda path, key, shape: ...",
            _fix(context, event),
        )


def _scalar(context: Context, event: CallEvent, names: set[str | None]) -> bool:
    """Say whether all streams of an object are scalar and none of those named is the fork of a layer.

    Where it is not known what an object holds, it is one in a project that maps nothing, and of a name of its own.
    """
    bound = context.flow.here(event.value.args[0], event.scope)
    shapes = rng_analysis(context).layouts.of(bound)
    if shapes == {Shape.SCALAR}:
        return True
    if Shape.VECTOR in shapes or not shapes or any(name in names for name, _ in event.value.keywords):
        return False
    if any(_maps(module.source) for module in context.project.modules):
        return False
    return context.kinds.only(bound) in {Kind.MODULE, Kind.RNGS}


def _maps(source: Source) -> bool:
    """Say whether a text may give streams an axis: by a name of its code, not by a word of a comment."""
    if not any(word.encode() in source.data for word in _MAPPING):
        return False
    names = {*(n.id for n in source.of_type(ast.Name)), *(n.attr for n in source.of_type(ast.Attribute))}
    names |= {n.name.rpartition(".")[2] for n in source.of_type(ast.alias)}
    return not names.isdisjoint(_MAPPING) or any(n.value in _MAPPING for n in source.of_type(ast.Constant))


def _fix(context: Context, event: CallEvent) -> Fix | None:
    """Return a policy that gives each stream the key itself, for a single stream and a seed that is written out."""
    given = event.node.keywords
    if len(given) != 1:
        return None
    seed, source = given[0].value, event.scope.module.source
    value = context.flow.resolve(context.flow.here(event.value.keywords[0][1], event.scope))
    key: str = source.text(seed)
    edits: tuple[Edit, ...] = ()
    if isinstance(value.value, Const) and type(value.value.value) is int and isinstance(seed, ast.Name | ast.Constant):
        way = spell_name(context.flow, event.scope, "jax.random.key")
        if way is None:
            return None
        key, edits = f"{way.text}({key})", way.edits
    elif context.flow.calls.callee_name(value) != "jax.random.key" or not _steady(seed):
        return None
    try:
        edit = add_keyword(source, event.node, "policy", f"lambda path, _, shape: {key}")
    except RewriteError:
        return None
    return Fix(tuple((source.path, part) for part in (edit, *edits)))


def _steady(node: ast.expr) -> bool:
    """Say whether an expression gives the same key whenever it runs: a name, or a call with literals."""
    if isinstance(node, ast.Call):
        return not node.keywords and all(isinstance(argument, ast.Constant) for argument in node.args)
    return isinstance(node, ast.Name)


_PROGRAM = """\
import jax
from flax import nnx


class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.stream = rngs.noise

    def __call__(self, x):
        return x + jax.random.normal(self.stream(), x.shape)


noisy = Noisy(nnx.Rngs(noise=1))
nnx.reseed(noisy, noise=5{policy})
print(noisy(jax.numpy.ones(3)))
"""

RULE = Rule(
    code="NNX220",
    name="reseed-key",
    summary="other numbers after nnx.reseed",
    why="""\
`nnx.reseed(model, noise=5)` set the key of the stream to `jax.random.key(5)` up to Flax 0.10. Since 0.11 it makes a
`nnx.Rngs(noise=5)` and gives every stream a key drawn from that, so that noise and samples drawn afterwards are
others, although the seed is the same. A `policy` that returns the key itself gives the numbers of 0.10. Nothing is
said of the streams of Dropout, attention and RNN: since 0.11 each layer has its own, and the masks differ in any case.
""",
    kind=RuleKind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before=_PROGRAM.format(policy=""),
            after=_PROGRAM.format(policy=", policy=lambda path, _, shape: jax.random.key(5)"),
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))
nnx.reseed(dropout, dropout=1)
print(dropout(jnp.ones(8)).shape)
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))
nnx.reseed(dropout, dropout=1)
print(dropout(jnp.ones(8)).shape)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
