"""NNX908: a static argument that is another value in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.statics import static_arguments
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Function, Loop


def _check(context: Context) -> Iterator[Finding]:
    for event, node, name in static_arguments(context):
        if in_test(event.scope):
            continue
        if _made_anew(context, event, node):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` is another function in every round, and every function is compiled anew",
                "make the function once, before the loop, and give it what changes as ordinary arguments",
            )
            continue
        counters = {n.id for loop in event.loops if isinstance(loop, ast.For) for n in counted(loop.target, loop.iter)}
        if _counts(context, event, node, counters):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` changes in every round, and every value is compiled on its own",
                "pass it as an ordinary argument",
            )


def counted(target: ast.expr, values: ast.expr) -> Iterator[ast.Name]:
    """Yield the names that a loop counts with; what it takes from a list has few values, as a rule."""
    if not isinstance(values, ast.Call):
        return
    func = values.func
    word = last_word(func)
    if word in {"range", "trange", "count", "arange"}:
        yield from (n for n in ast.walk(target) if isinstance(n, ast.Name))
    elif word in {"enumerate", "zip"} and isinstance(target, ast.Tuple):
        parts = zip(target.elts[word == "enumerate" :], values.args, strict=False)
        if word == "enumerate" and isinstance(target.elts[0], ast.Name):
            yield target.elts[0]
        for one, given in parts:
            yield from counted(one, given)
    elif values.args:  # tqdm(range(n)) and the like
        yield from counted(target, values.args[0])


def _counts(context: Context, event: CallEvent, node: ast.expr, counters: set[str]) -> bool:
    """Say whether an argument is another number in every round, or at every call."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
        return any(_counts(context, event, part, counters) for part in (node.left, node.right))
    if isinstance(node, ast.Call) and (_plain(node) or _scheduled(context, event, node)):
        return any(_counts(context, event, part, counters) for part in node.args)
    if isinstance(node, ast.Name):
        if node.id in counters:
            return True
        value = event.scope.module.values.get(node)
        return isinstance(value, Loop) and value.node in event.loops and _stepped(value.node, node)
    if not isinstance(node, ast.Attribute):
        return False
    places: list[ast.AST] = list(event.loops)
    function = event.scope.function
    if function is not None:
        places.append(function.node)
    if any(_stepped(place, node) for place in places):
        return True
    owner = function.owner if function is not None else None
    return bool(event.loops) and owner is not None and any(_stepped(m.node, node) for m in owner.methods.values())


def _made_anew(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether an argument is a function that every round of a loop makes."""
    if not event.loops or enclosing_function(event.scope) in context.traced:
        return False
    loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
    if isinstance(node, ast.Lambda) or (isinstance(node, ast.Call) and last_word(node.func) == "partial"):
        return bool(loops) and not _few(loops[-1])
    value = event.scope.module.values.get(node) if isinstance(node, ast.Name) else None
    made = value.facts.node if isinstance(value, Function) else value.node if isinstance(value, Call) else None
    if isinstance(value, Call) and last_word(value.node.func) != "partial":
        return False
    return made is not None and any(inside(made, loop) and not _few(loop) for loop in loops)


def _few(loop: ast.For | ast.While) -> bool:
    """Say whether a loop goes through what is written there, as ``for name in ("a", "b")``."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Tuple | ast.List | ast.Dict)


def _plain(node: ast.Call) -> bool:
    """Say whether a call only makes a number of another kind."""
    return isinstance(node.func, ast.Name) and node.func.id in {"float", "int", "str"} and len(node.args) == 1


def _scheduled(context: Context, event: CallEvent, node: ast.Call) -> bool:
    """Say whether a call asks a schedule of optax."""
    value = event.scope.module.values.get(node.func)
    if value is None:
        return False
    made = context.flow.resolve(context.flow.here(value, event.scope))
    name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
    return name.startswith("optax.") and ("schedule" in name or "decay" in name)


def _stepped(place: ast.AST, counter: ast.expr) -> bool:
    """Say whether something is added to a counter within a loop or function."""
    text = ast.unparse(counter)
    return any(
        isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add) and ast.unparse(n.target) == text
        for n in ast.walk(place)
    )


RULE = lint_rule(
    "NNX908",
    "varying-static",
    "the variable of a loop, or a function made in it, as a static argument",
    why="""\
Each value of a static argument compiles the function anew: ten rounds, ten compilations. A lambda or a partial that the
loop makes is another value in every round, too.
""",
    source='JAX tutorial ("recompiles each time"); measured: 10 compilations in 10 rounds',
    check=_check,
    bad=(
        """\
from functools import partial

import jax


@partial(jax.jit, static_argnums=1)
def scaled(x, n):
    return x * n


for i in range(10):
    scaled(1.0, i)
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def scaled(x, n):
    return x * n


for i in range(10):
    scaled(1.0, i)
""",
    ),
)
