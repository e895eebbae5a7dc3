"""Arrays that grow by what compiled code made of them, as the tokens that a model writes; part of NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.syntax import inside, names_in, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Function, Ref

_GROWING = frozenset({"append", "concatenate", "concat", "vstack", "hstack", "stack", "extend"})
# methods of arrays that give another array
_OF_ARRAYS = frozenset(
    {"argmax", "astype", "reshape", "squeeze", "ravel", "flatten", "item", "sum", "mean", "max", "min", "argmin",
     "copy", "transpose", "append", "set", "tolist", "argsort", "sort", "take"}
)  # fmt: skip


def comes_back(context: Context, event: CallEvent, loop: ast.AST, given: ast.expr) -> bool:
    """Say whether a round of a loop makes an argument longer by what the call in it gives: each round is one step of
    writing a sequence, and there are as many as its length.

    An array that grows otherwise, as the data of an experiment that is evaluated between long steps, costs one more
    compilation beside those steps.

    Args:
        context: the analysis.
        event: the call.
        loop: the loop around it.
        given: the argument.
    """
    grown = {ast.unparse(given), *names_in(given)} - {"self", "cls", "jnp", "np"}
    made: set[str] = set()
    statements = [n for n in ast.walk(loop) if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)]
    pending = True
    while pending:
        pending = False
        for statement in statements:
            value = statement.value
            if value is None or not (inside(event.node, value) or names_in(value) & made):
                continue
            bound = {ast.unparse(target) for target in getattr(statement, "targets", ())}
            calls = [call for call in ast.walk(value) if isinstance(call, ast.Call)]
            if any(_lengthens(call, event, made, bound, grown) for call in calls):
                return True
            if not inside(event.node, value) and not all(_known(context, event, call) for call in calls):
                continue
            names = set(_targets(statement)) - made
            made |= names
            pending = pending or bool(names)
    return False


def _lengthens(call: ast.Call, event: CallEvent, made: set[str], bound: set[str], grown: set[str]) -> bool:
    """Say whether a call joins what the event gives, or what was made of it, to one of some variables."""
    if last_word(call.func) not in _GROWING:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not any(inside(event.node, one) or names_in(one) & made for one in given):
        return False
    parts = [n for one in (*given, call.func) for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute)]
    return bool(grown & (bound | {ast.unparse(part) for part in parts}))


def _known(context: Context, event: CallEvent, call: ast.Call) -> bool:
    """Say whether a call is of JAX or NumPy, of a function that is called by its name, or a method of an array."""
    value = event.scope.module.values.get(call.func)
    if value is not None:
        found = context.flow.resolve(context.flow.here(value, event.scope)).value
        if isinstance(found, Ref | Function):
            return True
    if isinstance(call.func, ast.Name):
        return True
    return last_word(call.func) in _OF_ARRAYS and last_word(root_of(call.func)) not in {"self", "cls"}


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Yield the variables that a statement binds, and the names of those whose methods it calls with something."""
    if isinstance(statement, ast.Assign):
        yield from (n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
