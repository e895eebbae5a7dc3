"""NNX829: keyword arguments that loops of JAX do not have."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Const, Mapping, Ref

_FORI = {"start": "lower", "stop": "upper", "body": "body_fun", "init": "init_val", "low": "lower", "high": "upper",
         "end": "upper", "body_fn": "body_fun", "init_value": "init_val"}  # fmt: skip
_SCAN = {"body": "f", "body_fun": "f", "fn": "f", "carry": "init", "init_carry": "init", "init_val": "init", "x": "xs",
         "inputs": "xs"}  # fmt: skip
_COND = {"true_fn": "true_fun", "false_fn": "false_fun"}
_MAP = {"fn": "f", "fun": "f", "x": "xs"}
_WHILE = {"cond": "cond_fun", "body": "body_fun", "init": "init_val", "cond_fn": "cond_fun", "body_fn": "body_fun"}

_RENAMED = {
    "jax.lax.fori_loop": _FORI,
    "flax.nnx.fori_loop": _FORI,
    "jax.lax.while_loop": _WHILE,
    "flax.nnx.while_loop": _WHILE,
    "jax.lax.scan": _SCAN,
    "jax.lax.cond": _COND,
    "jax.lax.map": _MAP,
}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in _calls(context):
        renamed = _RENAMED.get(name)
        if renamed is None:
            continue
        given = {k.arg for k in event.node.keywords}
        wrong = [k for k in event.node.keywords if k.arg in renamed and renamed[k.arg] not in given]
        if not wrong:
            yield from _unpacked(context, event, name, renamed)
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


def _calls(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of loops and branches, and those of ``partial`` that give them some arguments."""
    yield from foreign(context, "fori_loop", "while_loop", "scan", "cond", "map")
    for event, name in foreign(context, "partial"):
        if name == "functools.partial" and event.value.args:
            first = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            if isinstance(first, Ref):
                yield event, first.name


def _unpacked(context: Context, event: CallEvent, name: str, renamed: dict[str, str]) -> Iterator[Finding]:
    """Yield the wrong names in a dict that a call unpacks, which is written as one: ``**dict(lower=0, stop=3)``."""
    for word, value in event.value.keywords:
        whole = context.flow.resolve(context.flow.here(value, event.scope)).value if word is None else None
        keys = (
            [key.value if isinstance(key, Const) else None for key, _ in whole.items]
            if isinstance(whole, Mapping)
            else []
        )
        wrong = [str(key) for key in keys if key in renamed and renamed[str(key)] not in keys]
        if wrong:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{name} has no such arguments: {', '.join(f'{key}= is {renamed[key]}=' for key in wrong)}",
                "rename them",
            )


RULE = lint_rule(
    "NNX829",
    "loop-keywords",
    "wrong keyword arguments of a loop or branch of jax.lax",
    why="""\
The names are lower, upper, body_fun and init_val for fori_loop; cond_fun, body_fun and init_val for while_loop; f, init
and xs for scan; true_fun and false_fun for cond. Others are refused.
""",
    source="JAX tutorial, which writes `start` and `stop`; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
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
    clean=(
        """\
import jax

jax.lax.cond(True, true_fun=lambda v: v, false_fun=lambda v: -v, operand=1)
""",
    ),
    safety=Safety.SAFE,
)
