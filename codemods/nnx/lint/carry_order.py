"""NNX713: what a recurrent cell or nnx.RNN gives, taken the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule

_CELLS = frozenset(f"flax.nnx.{name}" for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell"))


def _check(context: Context) -> Iterator[Finding]:
    texts = [module.source.data for module in context.project.modules]
    if not any(word in text for text in texts for word in (b"LSTMCell", b"GRUCell", b"SimpleCell")):
        return
    for event in context.asked.calls():
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(event.node.args) != 2:
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
        elif isinstance(target, ast.Name) and target.id == text and len(statement.targets) == 1:
            taken = any(
                isinstance(n, ast.Subscript | ast.Assign) and isinstance(n.value, ast.Name) and n.value.id == text
                for n in ast.walk(event.scope.node)
            )  # fmt: skip
            if event.loops and not taken and _cell(context, event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"a cell gives its carry and its output, and `{text}` gets both as a tuple",
                    f"take them apart: {text}, output = ...",
                )


def _cell(context: Context, event: CallEvent) -> bool:
    """Say whether what is called is a cell of NNX in every case."""
    sources = list(context.sources.originals(context.flow.here(event.value.callee, event.scope)))
    return bool(sources) and all(context.flow.calls.callee_name(one) in _CELLS for one in sources)


RULE = lint_rule(
    "NNX713",
    "carry-order",
    "the carry and the output of a recurrent cell taken the wrong way round, or as one",
    why="""\
A cell of NNX gives `(carry, output)`, as the body of a scan does; PyTorch gives the output first. Where the two are
exchanged, the next step unpacks an array as its carry: it raises, or with a fitting size goes on with rubbish.
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
