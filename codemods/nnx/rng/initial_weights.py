"""NNX217: one seed for everything gives other initial weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.nodes import last_word
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.chains import SPLIT, chain, decorators
from codemods.nnx.rng.origins import Kept, Origin
from codemods.nnx.rng.signs import migrates
from codemods.nnx.rule import Example, Kind, Rule

_DEPTH = 6  # through how many calls a Rngs is followed back to where it was made
#: What takes a Rngs and makes no weights with it.
_WEIGHTLESS = frozenset({"Dropout", "isinstance", "print", "type", "id", "state", "split", "clone", "iter_graph"})


def check(context: Context) -> Iterator[Finding]:
    """Say once where a project's initial weights change, if it is a project that migrates at all.

    The text of such a constructor is the same on 0.10 and 0.11, and only the weights tell; so nothing is said about
    code in which nothing else is of 0.10.
    """
    if not context.options.crosses("0.11") or not rng_analysis(context).made_in(context.asked):
        return  # it is said where the first is made
    shifted = [
        origin
        for origin in rng_analysis(context).origins.made.values()
        if any(_shifts(context, origin, k) for k in origin.kept) and not _abstract(context, origin)
    ]
    if not shifted or not migrates(context):
        return
    edits = [edit for origin in shifted for edit in _edits(origin)]
    fix = Fix(tuple(edits), Safety.UNSAFE) if edits else None
    first = shifted[0]
    names = " and ".join(sorted({k.layer.name.rpartition(".")[2] for k in first.kept if _shifts(context, first, k)}))
    yield finding(
        RULE.code,
        first.event.scope,
        first.event.node,
        f"since Flax 0.11 nnx.{names} takes a key of this Rngs when it is made, so weights made after it start from "
        "other numbers; dropout masks differ too",
        f"to keep the weights of 0.10 give it a stream of its own: {', '.join(_streams(first))}",
        fix,
        notable=True,
    )


def _abstract(context: Context, origin: Origin) -> bool:
    """Say whether weights are made for their shapes only: in a function that ``eval_shape`` alone calls."""
    function = origin.event.scope.function
    if function is None:
        return False
    shapes = False
    for caller in context.project.calls():
        func = caller.node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name == function.name:
            return False
        if name == "eval_shape":
            given = caller.node.args[:1]
            shapes |= any(a is function.node or getattr(a, "id", "") == function.name for a in given)
    return shapes


def _shifts(context: Context, origin: Origin, kept: Kept) -> bool:
    """Say whether a layer forks the default stream and something draws from that after it."""
    stream = kept.layer.stream
    if stream is None or stream == "default" or origin.source_of(stream) != "default":
        return False
    given = _rngs(kept.event, "rngs")
    if given is None:  # by a way of its own, such as an attribute of another class
        return kept.event.loops != () and origin.source_of("params") == "default"
    return any(_draws(origin, event, name) for event, name in _later(context, kept.event, given, origin.event.node))


def _later(
    context: Context, made: CallEvent, given: ast.expr, start: ast.Call, depth: int = 0
) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls after one that got a Rngs, with the text of the Rngs there, up to where the Rngs was made."""
    name = ast.unparse(given)
    if given is start or depth > _DEPTH:
        return
    place = made.node.lineno, made.node.col_offset
    for event in made.scope.module.calls:
        if event.scope is made.scope and event is not made:
            again = bool(set(made.loops) & set(event.loops))
            if again or (event.node.lineno, event.node.col_offset) > place:
                yield event, name
    if made.loops:
        yield made, name
    function = made.scope.function
    if function is None or name not in function.params:
        return
    for caller, passed in rng_analysis(context).reached.handed(function, name):
        if not _restored(context, function, caller):
            yield from _later(context, caller, passed, start, depth + 1)


def _restored(context: Context, function: FunctionFacts, caller: CallEvent) -> bool:
    """Say whether the caller has its streams back as they were: what is called gets split ones, by nnx.split_rngs."""
    called = chain(context.flow, context.flow.here(caller.value.callee, caller.scope))[0]
    return any(step.name == SPLIT for step in (*called, *decorators(context.flow, function)))


def _rngs(event: CallEvent, word: str) -> ast.expr | None:
    """Return the Rngs that a call of a layer gets by keyword, or by position under its usual name."""
    given = [k.value for k in event.node.keywords if k.arg == word]
    return next(iter([*given, *(a for a in event.node.args if last_word(a) == word)]), None)


def _draws(origin: Origin, event: CallEvent, name: str) -> bool:
    """Say whether a call takes a key of the default stream: it makes weights, or asks the Rngs itself for one."""
    node = event.node
    func = node.func
    if ast.unparse(func) == name:
        return True
    if isinstance(func, ast.Attribute) and ast.unparse(func.value) == name:
        return func.attr not in {"fork", "split", "keys", "items"} and origin.source_of(func.attr) == "default"
    if origin.source_of("params") != "default" or last_word(func) in _WEIGHTLESS:
        return False
    return any(
        isinstance(given, ast.Name | ast.Attribute) and ast.unparse(given) == name
        for given in (*node.args, *(k.value for k in node.keywords))
    )


def _streams(origin: Origin) -> list[str]:
    return sorted({f"{k.layer.stream}=1" for k in origin.kept if origin.source_of(k.layer.stream or "") == "default"})


def _edits(origin: Origin) -> Iterator[tuple[str, Edit]]:
    node = origin.event.node
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    last = max(arguments, key=lambda a: (a.end_lineno or 0, a.end_col_offset or 0), default=None)
    streams = _streams(origin)
    if last is not None and streams:
        source = origin.event.scope.module.source
        _, end = source.span(last)
        yield source.path, Edit(end, end, f", {', '.join(streams)}".encode())


_PROGRAM = """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, (), rngs=rngs)
        self.second = nnx.Linear(2, 2, rngs=rngs)


net = Net(nnx.Rngs(0{own}))
print(float(net.first.kernel.sum()), float(net.second.kernel.sum()))
"""

RULE = Rule(
    code="NNX217",
    name="initial-weights",
    summary="other initial weights from the same seed",
    why="""\
Since Flax 0.11 a Dropout, an attention layer with dropout or a RNN forks its stream when it is made, which takes one
key. If the Rngs has one seed for everything, `nnx.Rngs(0)`, the weights of all layers made afterwards come from the
next key: other numbers than in 0.10. With a stream of its own, `nnx.Rngs(0, dropout=1)`, the weights are those of
0.10 bit for bit; the dropout masks differ in any case, because each layer now draws from its own fork. The rule
speaks once for a project, and only where other findings show that the code is of 0.10.
""",
    kind=Kind.REQUIRED,
    safety=Safety.UNSAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before=_PROGRAM.format(own=""),
            after=_PROGRAM.format(own=", dropout=1").replace("(), rngs", "broadcast_dims=(), rngs"),
            targets=("0.11", "0.12"),
            unsafe=True,
        ),
    ),
    check=check,
)
