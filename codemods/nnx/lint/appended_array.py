"""NNX761: an array that every round of a loop copies to make it longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, target_of
from codemods.nnx.lint.syntax import innermost_loop
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Const, Loop, Sequence, Value

_JOINING = ("append", "concatenate", "vstack", "hstack")
_FEW = 16  # rounds for which a copy costs nothing that one would notice


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_JOINING):
        loop = innermost_loop(event)
        if not name.startswith("jax.numpy.") or loop is None or not event.value.args or in_test(event.scope):
            continue
        if enclosing_function(event.scope) in context.traced or _few(context, event, loop):
            continue
        first = event.value.args[0]
        parts: tuple[Value, ...] = first.items if isinstance(first, Sequence) else event.value.args[:2]
        if last(name) != "append" and not isinstance(first, Sequence):
            continue
        if _of_object(event, loop):
            yield _found(event)
            continue
        grown = [p for p in parts if isinstance(p, Loop) and p.node is loop and p.again is event.value]
        if grown and not _read(event, loop, grown[0]):
            yield _found(event)


def _found(event: CallEvent) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        event.node,
        "every round copies the whole array into one that is longer, and compiles the copy for its new size",
        "collect the parts in a list, and join them behind the loop with jnp.stack or jnp.concatenate",
    )


def _of_object(event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether what is made longer is an attribute, or an entry of a dict, that the round does not read else."""
    target = target_of(event)
    if not isinstance(target, ast.Attribute | ast.Subscript):
        return False
    text = ast.unparse(target)
    first = event.node.args[0]
    parts = elements(first, lists=True)
    if text not in {ast.unparse(part) for part in parts}:
        return False
    reads = [n for n in ast.walk(loop) if isinstance(n, type(target)) and isinstance(n.ctx, ast.Load)]
    return sum(ast.unparse(n) == text for n in reads) == 1


def _read(event: CallEvent, loop: ast.For | ast.While, grown: Loop) -> bool:
    """Say whether a round needs the array for anything else than to make it longer."""
    values = event.scope.module.values
    inside = set(ast.walk(event.node))
    own = [n for n in inside if isinstance(n, ast.Name) and values.get(n) is grown]
    text = {n.id for n in own}
    return len(own) > 1 or any(
        isinstance(n, ast.Name) and n.id in text and isinstance(n.ctx, ast.Load) and n not in inside
        for n in ast.walk(loop)
    )


def _few(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a loop goes over something else than a range, or over a small one."""
    if isinstance(loop, ast.While):
        return False
    if not isinstance(loop.iter, ast.Call) or last_word(loop.iter.func) != "range" or not loop.iter.args:
        return True  # as a rule over a handful of things
    value = event.scope.module.values.get(loop.iter.args[-1])
    found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
    return isinstance(found, Const) and isinstance(found.value, int) and found.value <= _FEW


RULE = lint_rule(
    "NNX761",
    "appended-array",
    "an array that a loop makes longer in every round",
    why="""\
`jnp.append` makes a new array and copies the old one: n rounds copy n² numbers, and each size is compiled on its own. A
list takes the parts, and one `jnp.stack` or `jnp.concatenate` behind the loop joins them.
""",
    source="JAX FAQ on recompilation by shape; measured: one compilation for every round",
    severity="hint",
    check=_check,
    default=False,
    bad=(
        """\
import jax.numpy as jnp


def losses(steps, run):
    values = jnp.array([])
    for i in range(steps):
        values = jnp.append(values, run(i))
    return values
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def losses(steps, run):
    values = []
    for i in range(steps):
        values.append(run(i))
    return jnp.stack(values)
""",
    ),
)
