"""NNX829: keyword arguments that loops of JAX do not have."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign

_FORI = {"start": "lower", "stop": "upper", "body": "body_fun", "init": "init_val", "low": "lower", "high": "upper",
         "end": "upper", "body_fn": "body_fun", "init_value": "init_val"}  # fmt: skip
_WHILE = {"cond": "cond_fun", "body": "body_fun", "init": "init_val", "cond_fn": "cond_fun", "body_fn": "body_fun"}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "fori_loop", "while_loop"):
        home, _, last = name.rpartition(".")
        if home not in {"jax.lax", "flax.nnx"}:
            continue
        renamed = _FORI if last == "fori_loop" else _WHILE
        wrong = [k for k in event.node.keywords if k.arg in renamed]
        if not wrong:
            continue
        source = event.scope.module.source
        edits = []
        for word in wrong:
            assert word.arg is not None
            start = source.offset(word.lineno, word.col_offset)
            edits.append((source.path, Edit(start, start + len(word.arg.encode()), renamed[word.arg].encode())))
        names = ", ".join(f"{k.arg}= is {renamed[str(k.arg)]}=" for k in wrong)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{name} has no such arguments: {names}",
            "rename them",
            Fix(tuple(edits)),
        )


RULE = lint_rule(
    "NNX829",
    "loop-keywords",
    "wrong keyword arguments of fori_loop or while_loop",
    why="The names are lower, upper, body_fun and init_val, or cond_fun, body_fun and init_val; others are refused.",
    source="JAX tutorial, which writes `start` and `stop`; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    mended=(
        (
            """\
import jax

jax.lax.fori_loop(start=0, stop=10, body_fun=lambda i, v: v * 2, init_val=1)
""",
            """\
import jax

jax.lax.fori_loop(lower=0, upper=10, body_fun=lambda i, v: v * 2, init_val=1)
""",
        ),
    ),
    safety=Safety.SAFE,
)
