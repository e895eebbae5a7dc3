"""NNX998: a method that gets the lengths of its sequences, and runs its nnx.RNN without them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const

_LENGTHS = pattern(r"(seq(uence)?_?|x_?|input_?|token_?)?(lens|lengths?|seqlens?)", re.I)


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"RNN") or m.source.mentions(b"Bidirectional") for m in context.project.modules):
        return
    for function in context.asked.functions():
        if function.owner is None or in_test(function.scope):
            continue
        lengths = next((name for name in function.params if _LENGTHS.fullmatch(name)), None)
        if lengths is None or _reads(function, lengths):
            continue
        for event in context.bodies.calls.get(function.scope, ()):
            callee = event.value.callee
            if not isinstance(callee, Attr) or callee.base is not function.self_param or event.value.starred:
                continue
            if any(word.arg in {"seq_lengths", None} for word in event.node.keywords):
                continue
            made = context.sources.originals(context.flow.here(callee, function.scope))
            if made and all(_carries(context, one, event) for one in made):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{lengths}` is not used: the padding behind a sequence changes what is carried out of it",
                    f"give it the lengths: seq_lengths={lengths}",
                )
                break


def _carries(context: Context, made: Bound, event: CallEvent) -> bool:
    """Say whether a layer goes through its sequences to the end for what it gives, such as the last carry."""
    if not isinstance(made.value, Call):
        return False
    name = context.flow.calls.callee_name(made)
    returned = event.value.keyword("return_carry") or made.value.keyword("return_carry")
    return name == "flax.nnx.Bidirectional" or (name == "flax.nnx.RNN" and returned == Const(True))


def _reads(function: FunctionFacts, name: str) -> bool:
    """Say whether the body of a function, or a function in it, reads an argument."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(function.node))


_BAD = """\
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(4, 8, rngs=rngs), return_carry=True)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x, lengths):
        carry, _ = self.rnn(x)
        return self.head(carry)
"""

RULE = lint_rule(
    "NNX998",
    "unread-lengths",
    "a method with an argument for the lengths of sequences, which runs its nnx.RNN without seq_lengths",
    why="""\
`nnx.RNN` runs over all steps that it gets. What it carries out of a sequence that is filled up to the length of the
others has then gone through the padding, and so have its gradients. With `seq_lengths` it gives the carry after the
last real step.
""",
    source="documentation of nnx.RNN; measured: other logits with more padding",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("self.rnn(x)", "self.rnn(x, seq_lengths=lengths)"),),
)
