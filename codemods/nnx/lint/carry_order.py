"""NNX713: what a recurrent cell or nnx.RNN gives, taken the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.carry_names import exchanged_names
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.last_output import last_examples, last_outputs
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source
from codemods.nnx.values import Call, Const

_CELLS = frozenset(f"flax.nnx.{name}" for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell"))


def _check(context: Context) -> Iterator[Finding]:
    yield from _paired(context)
    yield from _reversed(context)
    yield from _behind_the_end(context)
    yield from _of_examples(context)
    for event, hidden, cell in exchanged_names(context, lambda event: _pair_of(context, event) == "tuple"):
        if not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the carry of an LSTM holds its cell first: `{hidden.id}` gets the cell state, and `{cell.id}` the "
                "hidden state",
                f"write ({cell.id}, {hidden.id}), ... =",
            )
    texts = [module.source.data for module in context.project.modules]
    if not any(word in text for text in texts for word in (b"LSTMCell", b"GRUCell", b"SimpleCell")):
        return
    for event in context.asked.calls():
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(event.node.args) != 2:
            continue
        if _exchanged(event) and _cell(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a cell takes its carry first and its input second",
                "exchange the arguments: cell(carry, x)",
            )
            continue
        carry, target = event.node.args[0], statement.targets[0]
        if not isinstance(carry, ast.Name | ast.Attribute) or event.value.starred or event.node.keywords:
            continue
        text = ast.unparse(carry)
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            first, second = (ast.unparse(part) for part in target.elts)
            if second == text != first and _cell(context, event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"a cell gives its carry first and its output second, and `{text}` gets the output",
                    f"write {second}, {first} = ...",
                )
        elif isinstance(target, ast.Name) and target.id == text and len(statement.targets) == 1 and event.loops:
            taken = any(
                isinstance(n, ast.Subscript | ast.Assign) and isinstance(n.value, ast.Name) and n.value.id == text
                for n in ast.walk(event.scope.node)
            )  # fmt: skip
            if not taken and _cell(context, event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"a cell gives its carry and its output, and `{text}` gets both as a tuple",
                    f"take them apart: {text}, output = ...",
                )


def _behind_the_end(context: Context) -> Iterator[Finding]:
    """Yield where the last output is taken of sequences that are filled up."""
    for scope, node, lengths in last_outputs(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "the last output of a shorter sequence is one of its padding"
            + (f", and `{lengths}` is not looked at" if lengths != "seq_lengths" else ": seq_lengths is for the carry"),
            "take the carry of rnn(x, seq_lengths=lengths, return_carry=True), or the output at lengths - 1",
        )


def _of_examples(context: Context) -> Iterator[Finding]:
    """Yield where the axis of the examples is taken for that of time."""
    for scope, node in last_examples(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "with time_major=True the first axis is time: this is the last example, and not the last step",
            "leave time_major out where the batch stands first, or take outputs[-1]",
        )


def _exchanged(event: CallEvent) -> bool:
    """Say whether the second of two arguments is the carry, by where it comes from, and the first is not."""
    if any(isinstance(node, ast.Starred) for node in event.node.args):
        return False
    first, second = (_carries(event, node) for node in event.node.args)
    return (second and not first) or _goes_on(event)


def _goes_on(event: CallEvent) -> bool:
    """Say whether the second argument is what the next call gets of the result's carry, or a pair, and the first no
    part of the result."""
    assert isinstance(event.statement, ast.Assign)
    given, state = event.node.args
    if isinstance(state, ast.Tuple):
        return len(state.elts) == 2 and isinstance(given, ast.Name | ast.Subscript)
    if len(event.statement.targets) != 1 or not isinstance(state, ast.Name | ast.Attribute):
        return False
    target = event.statement.targets[0]
    targets = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else [target]
    texts = [ast.unparse(one) for one in targets]
    return texts[0] == ast.unparse(state) and ast.unparse(given) not in texts


def _carries(event: CallEvent, node: ast.expr) -> bool:
    """Say whether a variable holds what initialize_carry gave, or the first part of what a call of the cell gives."""
    source, body = event.scope.module.source, event.scope.node
    if not isinstance(node, ast.Name) or not source.mentions(b"initialize_carry"):
        return False
    first = getattr(body, "lineno", 0)
    last = getattr(body, "end_lineno", None) or len(source.line_starts) + 1
    return any(name == node.id and first <= line <= last for line, name in source.once(_begun))


def _begun(source: Source) -> list[tuple[int, str]]:
    """Return the variables that hold what initialize_carry gave, with the lines of their assignments."""
    return [
        (one.lineno, one.targets[0].id)
        for one in source.of_type(ast.Assign)
        if isinstance(one.value, ast.Call) and last_word(one.value.func) == "initialize_carry"
        if isinstance(one.targets[0], ast.Name)
    ]


def _paired(context: Context) -> Iterator[Finding]:
    """Yield the results of nnx.RNN that are taken apart as if they held the carry."""
    if not any(module.source.mentions(b"RNN(") for module in context.project.modules):
        return
    for event in context.bodies.unpacked:
        if event.scope.module not in context.asked or len(event.value.args) != 1 or event.value.starred:
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        if (
            event.value.keyword("return_carry") is not None
            or not isinstance(target, ast.Tuple)
            or len(target.elts) != 2
        ):
            continue
        sources = list(context.sources.of(context.flow.here(event.value.callee, event.scope)))
        plain = [
            isinstance(s.value, Call)
            and context.flow.calls.callee_name(s) == "flax.nnx.RNN"
            and s.value.keyword("return_carry") is None
            and not s.value.starred
            for s in sources
        ]
        if plain and all(plain) and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "an nnx.RNN gives its outputs alone, and no carry",
                "write carry, outputs = rnn(x, return_carry=True)",
            )


def _reversed(context: Context) -> Iterator[Finding]:
    """Yield the pairs of a carry and outputs that are taken apart as if the outputs came first."""
    for event in context.bodies.unpacked:
        if (
            event.scope.module not in context.asked
            or event.value.starred
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        first, second = target.elts
        nested = isinstance(second, ast.Tuple) and len(second.elts) == 2 and not isinstance(first, ast.Tuple)
        named = bool(_OUTPUTS.search(last_word(first)) and _CARRIES.search(last_word(second)))
        if not nested and not named and not any(_wrongly_used(context, event, first, second, True)):
            continue
        kind = _pair_of(context, event)
        if not kind or ast.unparse(event.node.args[0]) == ast.unparse(second):
            continue
        if nested or named or any(_wrongly_used(context, event, first, second, kind == "tuple")):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the carry comes first and the outputs second",
                f"write {ast.unparse(second)}, {ast.unparse(first)} = ...",
            )


_OUTPUTS = pattern(r"^(all_|the_)?(outputs?|outs?|ys?|seqs?|sequences?|hs|encoded|features)(_seq)?$")
_CARRIES = pattern(r"^((new|final|last|next)_?)?(carry|carries|states?|hidden|memory|h_?n|c_?n|hc)$|^final$")


def _wrongly_used(context: Context, event: CallEvent, first: ast.expr, second: ast.expr, pair: bool) -> Iterator[bool]:
    """Yield True for each use of a part as what only the other part can be.

    Args:
        context: the analysis.
        event: the call that gives both.
        first: the variable that gets the carry.
        second: the variable that gets the outputs.
        pair: whether the carry is a tuple.
    """
    above = around(context, event.scope)
    for part, carry in ((first, True), (second, False)):
        uses = context.bodies.names(event.scope).get(part.id, []) if isinstance(part, ast.Name) else []
        if sum(isinstance(use.ctx, ast.Store) for use in uses) != 1:
            continue
        for use in uses:
            user = above.get(use)
            if carry and isinstance(user, ast.Subscript) and user.value is use:
                yield _last_step(user.slice)
            elif carry and pair and isinstance(user, ast.Call) and user.args[:1] == [use]:
                callee = event.scope.module.values.get(user.func)
                yield callee is not None and owner_class(context, callee, event.scope) in _DENSE
            elif not carry and isinstance(user, ast.keyword):
                yield user.arg == "initial_carry"


_DENSE = frozenset({"flax.nnx.Linear", "flax.nnx.LayerNorm", "flax.nnx.Dropout", "flax.nnx.BatchNorm"})


def _last_step(index: ast.expr) -> bool:
    """Say whether an index takes the last step of each sequence: ``[:, -1]`` or ``[:, -1, :]``."""
    if not isinstance(index, ast.Tuple) or len(index.elts) not in {2, 3}:
        return False
    whole = [isinstance(one, ast.Slice) and ast.unparse(one) == ":" for one in (index.elts[0], *index.elts[2:])]
    return all(whole) and ast.unparse(index.elts[1]) == "-1"


def _pair_of(context: Context, event: CallEvent) -> str:
    """Return what carry a call gives before the outputs: ``tuple``, ``array`` or ``any``; empty if it gives none, or
    the same as the output."""
    sources = list(context.sources.originals(context.flow.here(event.value.callee, event.scope)))
    found = {_carry_of(context, event, one) for one in sources}
    return found.pop() if len(found) == 1 else ""


def _carry_of(context: Context, event: CallEvent, made: Bound) -> str:
    name, call = context.flow.calls.callee_name(made), made.value
    if not isinstance(call, Call) or call.starred:
        return ""
    if name in _PAIRS:
        return "tuple" if len(event.value.args) == 2 else ""
    if name not in {"flax.nnx.RNN", "flax.nnx.Bidirectional"}:
        return ""
    asked = event.value.keyword("return_carry") or call.keyword("return_carry")
    if not isinstance(asked, Const) or asked.value is not True:
        return ""
    if name == "flax.nnx.Bidirectional":
        return "tuple"
    inner = call.argument(0, "cell")
    cells = context.sources.originals(context.flow.with_value(made, inner)) if inner is not None else ()
    names = {context.flow.calls.callee_name(one) for one in cells}
    return "tuple" if names and names <= _PAIRS else "any"


_PAIRS = frozenset({"flax.nnx.LSTMCell", "flax.nnx.OptimizedLSTMCell"})


def _cell(context: Context, event: CallEvent) -> bool:
    """Say whether what is called is a cell of NNX in every case."""
    sources = list(context.sources.originals(context.flow.here(event.value.callee, event.scope)))
    return bool(sources) and all(context.flow.calls.callee_name(one) in _CELLS for one in sources)


RULE = lint_rule(
    "NNX713",
    "carry-order",
    "the carry and the output of a recurrent cell taken the wrong way round, or as one, or an output of padding",
    why="""\
A cell of NNX gives `(carry, output)`, as the body of a scan does, and so do `nnx.RNN` and `nnx.Bidirectional` with
`return_carry=True`; PyTorch gives the output first. Where the two are
exchanged, the next step unpacks an array as its carry: it raises, or with a fitting size goes on with rubbish.
The carry of an LSTM is `(cell, hidden)`, and the state of one in PyTorch `(hidden, cell)`.
Where sequences are filled up, the output at `[:, -1]` comes after the padding; `seq_lengths` changes the carry alone.
""",
    source="measured on Flax 0.10.7 and 0.12.8: ValueError, or other shapes",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Encoder(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.cell = nnx.LSTMCell(dim, dim, rngs=rngs)

    def __call__(self, x, carry):
        for t in range(x.shape[1]):
            h, carry = self.cell(carry, x[:, t])
        return h
""",
    ),
    clean=(
        """\
from flax import nnx


class Encoder(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.cell = nnx.LSTMCell(dim, dim, rngs=rngs)

    def __call__(self, x, carry):
        for t in range(x.shape[1]):
            carry, h = self.cell(carry, x[:, t])
        return h
""",
    ),
)
