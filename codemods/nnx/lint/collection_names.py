"""NNX723: collections of Linen by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import has_attribute, owner_class
from codemods.nnx.lint.places import each, foreign, may_be_state
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Value

_COLLECTIONS = {"params": "nnx.Param", "batch_stats": "nnx.BatchStat", "intermediates": "nnx.Intermediate",
                "kernel": 'nnx.PathContains("kernel")', "bias": 'nnx.PathContains("bias")'}  # fmt: skip
# classes that people name by a string
_CLASSES = frozenset({"Param", "BatchStat", "Cache", "Intermediate", "LoRAParam", "RngState", "RngKey", "RngCount",
                      "Variable", "OptState", "nnx.Param"})  # fmt: skip
# where filters begin in the arguments
_FILTERED = {"flax.nnx.split": 1, "flax.nnx.state": 1, "flax.nnx.pop": 1, "flax.nnx.DiffState": 1,
             "flax.nnx.Optimizer": 2, "flax.nnx.ModelAndOptimizer": 2, "flax.nnx.split_state": 1,
             "flax.nnx.filter_state": 1}  # fmt: skip
_STATES = frozenset({"flax.nnx.state", "flax.nnx.split"})
_OF_STREAMS = frozenset(
    {"flax.nnx.state", "flax.nnx.split", "flax.nnx.pop", "flax.nnx.filter_state", "flax.nnx.split_state"}
)
_STREAMS = pattern(rb"Rngs\([^)]*params|Rng(State|Key|Count)")


def _check(context: Context) -> Iterator[Finding]:
    words = {name.rpartition(".")[2] for name in _FILTERED}
    for event, name in foreign(context, *words):
        if name in _FILTERED and not context.bodies.guarded(event.node, event.scope):
            yield from _filters(context, event, name)
    yield from _items(context)


def _filters(context: Context, event: CallEvent, callee: str) -> Iterator[Finding]:
    """Yield the names of collections among filters."""
    first = _FILTERED[callee]
    streams = callee in _OF_STREAMS and any(m.source.matches(_STREAMS) for m in context.project.modules)
    given: list[tuple[ast.expr, Value]] = []
    if not event.value.starred:
        given = list(zip(event.node.args, event.value.args, strict=True))[first:]
    by_name = {keyword.arg: keyword.value for keyword in event.node.keywords}
    given += [(by_name["wrt"], value) for name, value in event.value.keywords if name == "wrt"]
    for node, value in given:
        if isinstance(value, Const) and value.value in _CLASSES and not _tagged(context):
            word = str(value.value).removeprefix("nnx.")
            yield finding(
                RULE.code,
                event.scope,
                node,
                f'"{value.value}" selects nothing: a string selects by tag, and types of Variables are classes',
                f"write nnx.{word}",
            )
        if isinstance(value, Const) and isinstance(value.value, str) and value.value in _COLLECTIONS:
            if streams and value.value == "params":
                continue  # the stream of that name
            yield finding(
                RULE.code,
                event.scope,
                node,
                f'"{value.value}" selects nothing: a string selects by tag, and collections of Linen are types here',
                f"write {_COLLECTIONS[value.value]}",
            )


def _tagged(context: Context) -> bool:
    """Say whether the project gives Variables tags of its own, or names of their types."""
    return any(
        module.source.mentions(b"tag=") or module.source.mentions(b"variable_name_from_type")
        for module in context.project.modules
    )


def _items(context: Context) -> Iterator[Finding]:
    """Yield the items of a state that are taken by the name of a collection."""
    for scope, node in each(context, ast.Subscript):
        if not isinstance(node.slice, ast.Constant) or not scope.module.source.mentions(b"nnx"):
            continue
        word = node.slice.value
        base = scope.module.values.get(node.value)
        if not isinstance(word, str):
            continue
        dotted = "." in word.strip(".")
        if base is None or not isinstance(node.ctx, ast.Load) or not (dotted or word in {"params", "batch_stats"}):
            continue
        if not may_be_state(context, base) or context.kinds.only(context.flow.here(base, scope)) is not Kind.STATE:
            continue
        if not _lacks(context, base, scope, word):
            continue
        if not context.bodies.guarded(node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f'a state has no "{word}": it goes by the attributes of the model',
                f"select the collection first: nnx.state(model, {_COLLECTIONS[word]})"
                if word in _COLLECTIONS
                else "take the attributes one by one: " + "".join(f'["{part}"]' for part in word.split(".")),
            )


def _lacks(context: Context, base: Value, scope: Scope, word: str) -> bool:
    """Say whether a state is that of a model which has no attribute of a name."""
    sources = context.sources.of(context.flow.here(base, scope))
    return bool(sources) and all(_of_model(context, source, scope, word) for source in sources)


def _of_model(context: Context, source: Bound, scope: Scope, word: str) -> bool:
    whole = source.value.base if isinstance(source.value, Item) else source.value
    if not isinstance(whole, Call) or not whole.args:
        return False
    if context.flow.calls.callee_name(context.flow.with_value(source, whole)) not in _STATES:
        return False
    home = source.frame.function.scope if source.frame is not None else scope
    cls = owner_class(context, whole.args[0], home)
    return cls is not None and (isinstance(cls, str) or not has_attribute(context, cls, word))


RULE = lint_rule(
    "NNX723",
    "collection-by-name",
    'a collection of Linen by its name: "params" or "batch_stats" as a filter or as a key of a state',
    why="""\
Linen keeps variables in collections with names. NNX tells them by their types: `nnx.Param`, `nnx.BatchStat`. A string
as a filter selects by the tag of a random stream, and nothing else: `nnx.split(model, "params", ...)` gives empty
states, and `wrt="params"` an optimizer that trains nothing. A state goes by the attributes of the model,
`state["encoder"]["kernel"]`: `state["params"]` is a KeyError.
""",
    source="Flax guide on filters; measured on Flax 0.10.7 and 0.12.8: empty states, KeyError",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt="params")
""",
        """\
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
kernel = nnx.state(model)["params"]["kernel"]
""",
    ),
    clean=(
        """\
import optax
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
kernel = params["kernel"]
streams = nnx.state(model, "dropout")
variables = {"params": params}
print(variables["params"])
""",
    ),
)
