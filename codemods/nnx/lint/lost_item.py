"""NNX741: an entry of a dict that compiled code changes, which its caller never sees."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lost_attribute import lost_attributes
from codemods.nnx.lint.origins import named, origin, own_stores
from codemods.nnx.lint.places import compiled_roots, in_test, position, shown
from codemods.nnx.lint.syntax import argument, constant, innermost_loop
from codemods.nnx.lint.traced import free_params
from codemods.nnx.values import Attr, Param

_HELPERS = 3  # through how many functions an argument is followed


def _check(context: Context) -> Iterator[Finding]:
    for root in compiled_roots(context):
        function = root.function
        if function.scope.module not in context.asked or in_test(function.scope):
            continue
        if root.transform not in {"jax.jit", "flax.nnx.jit"} or root.partial or root.bound:
            continue
        calls = [event for event in context.traced.calls_of(root) if innermost_loop(event) is not None]
        nothing = gives_nothing(function)
        for name, param in function.params.items() if calls or nothing else ():
            if param is function.self_param:
                continue
            if not nothing and not any(_read(context, e, position(param), name) for e in calls):
                continue
            lost = _lost(context, function, name, 0, _entry_set if nothing else _changed)
            if lost is None:
                continue
            scope, change = lost
            yield finding(
                RULE.code,
                scope,
                change,
                f"{shown(function)} is compiled and gets a copy of `{name}`: the caller's stays as it is",
                f"return `{name}`, and assign the result",
            )
    for function, change, name, attribute in lost_attributes(context):
        yield finding(
            RULE.code,
            function.scope,
            change,
            f"{shown(function)} is compiled and gets a copy of `{name}`: `{attribute}` of the caller's stays as it is",
            "return a new object with what has changed, and assign the result",
        )


#: Finds where a function changes an argument of some name.
_Change = Callable[[Context, FunctionFacts, str], ast.AST | None]


def _lost(
    context: Context, function: FunctionFacts, name: str, depth: int, change: _Change
) -> tuple[Scope, ast.AST] | None:
    """Return where an argument is changed that goes no other way out of a function; None if nothing is lost."""
    nodes = list(ast.walk(function.node))
    reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
    bases = {n.value for n in nodes if isinstance(n, ast.Subscript)}
    updated = {call.func.value for call in _statements(nodes, "update") if isinstance(call.func, ast.Attribute)}
    handed = {n for n in reads if n not in bases and n not in updated}
    found: tuple[Scope, ast.AST] | None = None
    for event in context.bodies.calls.get(function.scope, ()) if handed and depth < _HELPERS else ():
        given = handed & {*event.node.args, *(k.value for k in event.node.keywords)}
        if not given:
            continue
        inner = _of_helper(context, event, name, depth, change)
        if inner is None:
            return None
        found, handed = found or inner, handed - given
    if handed:
        return None
    changed = change(context, function, name)
    return (function.scope, changed) if changed is not None else found


def _of_helper(
    context: Context, event: CallEvent, name: str, depth: int, change: _Change
) -> tuple[Scope, ast.AST] | None:
    """Return where the one function of the project that a call runs changes an argument, and loses it."""
    invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    if len(invoked) != 1 or event.value.starred:
        return None
    callee = invoked[0][0]
    names = free_params(callee)
    pairs = [*zip(names, event.node.args, strict=False), *((k.arg or "", k.value) for k in event.node.keywords)]
    taken = [param for param, node in pairs if isinstance(node, ast.Name) and node.id == name]
    return _lost(context, callee.function, taken[0], depth + 1, change) if len(taken) == 1 else None


def _changed(context: Context, function: FunctionFacts, name: str) -> ast.AST | None:
    """Return where an entry of an argument is set to something that is computed of it."""
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign):
            target: ast.expr = node.targets[0]
            running = any(ast.unparse(n) == ast.unparse(target) for n in ast.walk(node.value))
        elif isinstance(node, ast.AugAssign):
            target, running = node.target, True
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if _updates(node.value, name):
                return node
            continue
        else:
            continue
        if not running or not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
            continue
        if isinstance(target.slice.value, str) and isinstance(target.value, ast.Name) and target.value.id == name:
            return node
    return None


def _entry_set(context: Context, function: FunctionFacts, name: str) -> ast.AST | None:
    """Return where an entry of an argument is set, to whatever that is, and not read again."""
    entries = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Subscript)]
    for node in entries:
        key = constant(node.slice)
        if not isinstance(node.ctx, ast.Store) or not isinstance(key, str) or not _is_entry_of(node, name, key):
            continue
        again = any(
            n.lineno > node.lineno and isinstance(n.ctx, ast.Load) and _is_entry_of(n, name, key) for n in entries
        )
        if not again and isinstance(function.scope.module.values.get(node.value), Param):
            return node
    return None


def _statements(nodes: list[ast.AST], method: str) -> list[ast.Call]:
    """Return the calls of a method whose result nobody takes."""
    calls = [n.value for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == method]


def _updates(call: ast.Call, name: str) -> bool:
    """Say whether a call sets an entry of a dict to what is computed of it: ``s.update(n=s["n"] + 1)``."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "update" or not _is_entry_of(func.value, name, None):
        return False
    pairs = [(part.arg, part.value) for part in call.keywords]
    if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
        given = call.args[0]
        pairs += [(str(constant(key)), value) for key, value in zip(given.keys, given.values, strict=True)]
    return any(_is_entry_of(n, name, key) for key, value in pairs if key for n in ast.walk(value))


def _is_entry_of(node: ast.AST, name: str, key: str | None) -> bool:
    """Say whether an expression is the entry of a variable with some key; without one the variable itself."""
    if key is None:
        return isinstance(node, ast.Name) and node.id == name
    return isinstance(node, ast.Subscript) and _is_entry_of(node.value, name, None) and constant(node.slice) == key


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
is returned: running means, counters and the like never change. So it is with the attributes of an object whose class
is registered as a pytree: a compiled method changes an object that was rebuilt for it.
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
