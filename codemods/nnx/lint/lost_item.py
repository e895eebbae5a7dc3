"""NNX741: an entry of a dict that compiled code changes, which its caller never sees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import named, origin, own_stores
from codemods.nnx.lint.places import compiled_roots, in_test, position, shown
from codemods.nnx.lint.syntax import argument, innermost_loop
from codemods.nnx.values import Attr


def _check(context: Context) -> Iterator[Finding]:
    for root in compiled_roots(context):
        function = root.function
        if function.scope.module not in context.asked or in_test(function.scope):
            continue
        if root.transform not in {"jax.jit", "flax.nnx.jit"} or root.partial or root.bound:
            continue
        said: set[str] = set()
        for node, name in _changed(context, function):
            if name in said or _leaves(function, name) or function.params[name] is function.self_param:
                continue
            place = position(function.params[name])
            if any(_read(context, event, place, name) for event in context.traced.calls_of(root)):
                said.add(name)
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f"{shown(function)} is compiled and gets a copy of `{name}`: the caller's stays as it is",
                    f"return `{name}`, and assign the result",
                )


def _changed(context: Context, function: FunctionFacts) -> Iterator[tuple[ast.AST, str]]:
    """Yield the entries of arguments that are set to something that is computed of them, with the argument."""
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign):
            target: ast.expr = node.targets[0]
            running = any(ast.unparse(n) == ast.unparse(target) for n in ast.walk(node.value))
        elif isinstance(node, ast.AugAssign):
            target, running = node.target, True
        else:
            continue
        if not running or not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
            continue
        if not isinstance(target.slice.value, str) or not isinstance(target.value, ast.Name):
            continue
        if target.value.id in function.params:
            yield node, target.value.id


def _leaves(function: FunctionFacts, name: str) -> bool:
    """Say whether an argument is used in any other way than by its entries, or is another one at times."""
    nodes = list(ast.walk(function.node))
    bases = {n.value for n in nodes if isinstance(n, ast.Subscript)}
    return any(isinstance(n, ast.Name) and n.id == name and n not in bases for n in nodes)


def _read(context: Context, event: CallEvent, place: int, name: str) -> bool:
    """Say whether a caller gives one dict again and again, without taking it back."""
    given = argument(event.node, place, name)
    loop = innermost_loop(event)
    if given is None or not named(given) or loop is None or event.value.starred or in_test(event.scope):
        return False
    value = event.scope.module.values.get(given)
    if isinstance(given, ast.Attribute) and not (isinstance(value, Attr) and len(own_stores(context, value)) == 1):
        return False
    if isinstance(given, ast.Subscript) and origin(context, given, event.scope) is value:
        return False
    text = ast.unparse(given)
    return not any(
        isinstance(n, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and text in {ast.unparse(n), ast.unparse(n.value) if isinstance(n, ast.Subscript) else ""}
        for n in ast.walk(loop)
    )


_BAD = """\
import jax


@jax.jit
def normalize(stats, x):
    stats["mean"] = 0.9 * stats["mean"] + 0.1 * x.mean()
    return x - stats["mean"]


def run(stats, batches):
    for x in batches:
        print(normalize(stats, x))
"""

RULE = lint_rule(
    "NNX741",
    "entry-of-copy",
    "compiled code goes on with an entry of a dict that is its argument, and does not return it",
    why="""\
Compiled code gets its arguments as new dicts and lists. What it assigns to their entries is gone at its end, unless it
is returned: running means, counters and the like never change.
""",
    source="JAX tutorial, section on pure functions; measured on JAX 0.6.2 and 0.10.2: the entry keeps its first value",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace('return x - stats["mean"]', 'return stats, x - stats["mean"]').replace(
            "        print(normalize(stats, x))", "        stats, y = normalize(stats, x)\n        print(y)"
        ),
    ),
)
