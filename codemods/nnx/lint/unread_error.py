"""NNX518: errors that checkify gives, and nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, taken, target_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Call, Function, Value

_CHECKING = frozenset({"jax.experimental.checkify.checkify", "flax.nnx.checkify"})
_SECOND = (1, -1)


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"checkify") for module in context.project.modules):
        return
    for event in context.asked.calls():
        if _kept(event) and not in_test(event.scope) and _checked(context, event) and _left(event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "nothing reads the error that this gives beside its result: whatever the checks find is lost",
                "error, result = checked(...); error.throw()",
            )


def _kept(event: CallEvent) -> bool:
    """Say whether something may be kept of what a call gives."""
    target = target_of(event)
    if target is None:
        return not (isinstance(event.statement, ast.Expr) and event.statement.value is event.node)
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and len(target.elts) == 2)


def _left(event: CallEvent) -> bool:
    """Say whether the first of two results of a call is read nowhere, and the second may be."""
    statement = event.statement
    if isinstance(statement, ast.Expr) and statement.value is event.node:  # perhaps it is compiled there
        return False
    target = target_of(event)
    if isinstance(target, ast.Name):
        return _only_second(event, target.id)
    parts = (n for n in ast.walk(statement) if isinstance(n, ast.Subscript))
    if any(part.value is event.node and constant(part.slice) in _SECOND for part in parts):
        return True
    got = taken(event, 0)
    if not isinstance(target, ast.Tuple) or not isinstance(got, ast.Name) or len(target.elts) != 2:
        return False
    second = target.elts[1]
    if isinstance(second, ast.Name) and not _loads(event, second.id):
        return False
    return not _loads(event, got.id)


def _loads(event: CallEvent, name: str) -> list[ast.Name]:
    """Return the places that read a variable, in inner functions too."""
    function = event.scope.function
    around: ast.AST = function.node if function is not None else event.scope.module.source.tree
    if any(name in one.names for one in ast.walk(around) if isinstance(one, ast.Global | ast.Nonlocal)):
        around = event.scope.module.source.tree
    return [n for n in ast.walk(around) if isinstance(n, ast.Name) and n.id == name and not _stored(n)]


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _only_second(event: CallEvent, name: str) -> bool:
    """Say whether only the second part of a variable with both results is read."""
    function = event.scope.function
    around: ast.AST = function.node if function is not None else event.scope.module.source.tree
    parts = (n for n in ast.walk(around) if isinstance(n, ast.Subscript))
    second = {part.value for part in parts if constant(part.slice) in _SECOND}
    read = _loads(event, name)
    return bool(read) and all(one in second for one in read)


def _checked(context: Context, event: CallEvent) -> bool:
    """Say whether a call runs what checkify made of a function, through other transforms too."""
    calls, callee = context.flow.calls, context.flow.here(event.value.callee, event.scope)
    for one in layers(context, callee):
        if isinstance(one.value, Call) and calls.wrapper_name(one, one.value) in _CHECKING:
            return True
    found = context.flow.resolve(callee).value
    if not isinstance(found, Function):
        return False
    return any(_is_checking(context, decorator, found) for decorator in found.facts.decorators)


def _is_checking(context: Context, decorator: Value, function: Function) -> bool:
    """Say whether a decorator is checkify, also with options."""
    outer = function.facts.scope.parent
    if outer is None:
        return False
    found = context.flow.resolve(context.flow.here(decorator, outer))
    if isinstance(found.value, Call):
        found = context.flow.follow(found, found.value.args[0] if found.value.args else found.value.callee)
    return getattr(found.value, "name", "") in _CHECKING


_BAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import checkify


def logarithm(x):
    checkify.check(jnp.all(x > 0), "only positive numbers have a logarithm")
    return jnp.log(x)


checked = jax.jit(checkify.checkify(logarithm))
error, y = checked(jnp.ones(3))
print(y)
"""

RULE = lint_rule(
    "NNX518",
    "unread-error",
    "an error of checkify that nothing reads",
    why="""\
What `checkify.checkify` makes of a function raises nothing: it returns the error beside the result, and
`error.throw()` or `checkify.check_error(error)` raises it. Without them the program goes on with what the checks were
written against.
""",
    source="JAX documentation of checkify; measured on JAX 0.6.2 and 0.10.2: no error is raised",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("print(y)", "error.throw()\nprint(y)"),),
)
