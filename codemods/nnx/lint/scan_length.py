"""NNX984: a scan over nothing that is not told how often to run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, resolved
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Const


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "scan"):
        call = event.node
        if name != "jax.lax.scan" or event.value.starred or any(k.arg not in _KNOWN for k in call.keywords):
            continue  # of names that scan does not take NNX829 tells
        if not (argument(call, 0, "f") and argument(call, 1, "init")) or any(map(_gap, call.args)):
            continue  # an exercise, or a call that lacks more
        over, length = argument(call, 2, "xs"), argument(call, 3, "length")
        if _nothing(context, event, over) and _nothing(context, event, length):
            if not in_test(event.scope) and not context.bodies.guarded(call, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    call,
                    "a scan over nothing needs a length: JAX cannot know how often it is to run",
                    "give length=n",
                )


def _gap(node: ast.expr) -> bool:
    """Say whether an argument is still to be written: ``...``."""
    return isinstance(node, ast.Constant) and node.value is ...


def _nothing(context: Context, event: CallEvent, node: ast.expr | None) -> bool:
    """Say whether an argument is left out, or None."""
    if node is None or isinstance(node, ast.Constant):
        return node is None or node.value is None
    found = resolved(context, node, event.scope) if isinstance(node, ast.Name) else None
    return found is not None and found.value == Const(None)


_KNOWN = frozenset({"f", "init", "xs", "length", "reverse", "unroll", "_split_transpose"})
_BAD = """\
import jax


def count(start):
    return jax.lax.scan(lambda total, _: (total + 1, total), start, None)
"""

RULE = lint_rule(
    "NNX984",
    "scan-without-length",
    "jax.lax.scan over None without a length",
    why="""\
`jax.lax.scan` runs once for each entry along the first axis of its `xs`. With `xs=None` it needs `length`, and raises
"scan got no values to scan over" without.
""",
    source="documentation of jax.lax.scan; measured: ValueError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("None)", "None, length=10)"),),
)
