"""NNX835: a key that a short loop splits in two in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.unrolled import rounds

SHORT = 32  # rounds; a longer loop most likely trains, and its keys are made when they are needed


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "split"):
        loop = event.loops[-1] if event.loops else None
        if name != "jax.random.split" or not isinstance(loop, ast.For) or in_test(event.scope):
            continue
        key = _carried(event)
        count = _count(context, loop, event)
        if key is None or not 2 <= count <= SHORT or not _only_split(context, event, loop, key):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the key is split {count} times, one time after the other",
            f"split it once before the loop: keys = jax.random.split({key}, {count})",
        )


def _carried(event: CallEvent) -> str | None:
    """Return the name of the key in ``key, sub = split(key)``."""
    statement, node = event.statement, event.node
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return None
    target, keys = statement.targets[0], [*node.args, *(k.value for k in node.keywords)]
    if len(keys) != 1 or not isinstance(keys[0], ast.Name) or not isinstance(target, ast.Tuple):
        return None
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    return keys[0].id if len(names) == len(target.elts) == 2 and keys[0].id in names else None


def _count(context: Context, loop: ast.For, event: CallEvent) -> int:
    """Return the number of rounds of a loop; 0 if it is not known."""
    if isinstance(loop.iter, ast.Tuple | ast.List):
        return 0 if any(isinstance(e, ast.Starred) for e in loop.iter.elts) else len(loop.iter.elts)
    return rounds(context, loop, event.scope)


def _only_split(context: Context, event: CallEvent, loop: ast.For, key: str) -> bool:
    """Say whether every round splits the key, and does nothing else with it."""
    if context.bodies.sometimes(event.node, event.scope, loop):
        return False
    for node in ast.walk(loop):
        if isinstance(node, ast.Break | ast.Return | ast.Continue | ast.While):
            return False
        if isinstance(node, ast.Name) and node.id == key and not inside(node, event.statement):
            return False
    return True


RULE = lint_rule(
    "NNX835",
    "split-in-short-loop",
    "a loop of few rounds splits a key in every round",
    why="""\
Each split is a call of its own that needs the key of the one before. `jax.random.split(key, n)` gives all keys at
once, and a key that is forgotten cannot be used twice. The numbers drawn are others then. The code is right as it is,
so the rule is off unless it is selected.
""",
    source="JAX tutorial, section on keys; the forms were run on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.key(0)
weights = []
for size in (2, 3, 4):
    key, sub = jax.random.split(key)
    weights.append(jax.random.normal(sub, (size,)))
""",
    ),
    clean=(
        """\
import jax

weights = []
for size, key in zip((2, 3, 4), jax.random.split(jax.random.key(0), 3)):
    weights.append(jax.random.normal(key, (size,)))
""",
        """\
import jax


def train(step, state, key, batches):
    for batch in batches:
        key, sub = jax.random.split(key)
        state = step(state, batch, sub)
    return state
""",
    ),
    default=False,
)
