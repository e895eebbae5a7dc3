"""Whether what a statement gives to variables is read by anything behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word

_Block = tuple[ast.AST, str, list[ast.stmt], int]  # what holds a list of statements, its field, the list, the place
_Loop = ast.For | ast.AsyncFor | ast.While


def unread(context: Context, scope: Scope, statement: ast.stmt, names: Iterable[str], *, rebound: bool = False) -> bool:
    """Say whether on no way that goes on behind a statement its variables are read before they are bound again.

    Args:
        context: the analysis.
        scope: the body of the statement.
        statement: what binds the variables.
        names: the variables, or some of them.
        rebound: whether each has to be bound again behind it; where a body ends, its variables may be looked at.
    """
    wanted = frozenset(names)
    body = scope.node
    if not wanted or isinstance(body, ast.Lambda) or wanted & {*scope.globals, *scope.remote}:
        return False
    if any(_captures(node, wanted) for node in ast.walk(body) if node is not body):
        return False
    chain = _chain(body, statement)
    left = _outwards(chain, wanted) if chain else None
    if left is None or (left and scope.function is None and _imported(context, scope, left)):
        return False
    return not rebound or all(_bound_behind(body, name, statement) for name in wanted)


def _captures(node: ast.AST, names: frozenset[str]) -> bool:
    """Say whether an inner function reads one of some variables of the body around."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    own = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
    parts = node.body if isinstance(node.body, list) else [node.body]
    found = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)]
    own |= {n.id for n in found if isinstance(n.ctx, ast.Store)}
    return any(n.id in names and n.id not in own for n in found)


def _bound_behind(body: ast.AST, name: str, statement: ast.stmt) -> bool:
    end = statement.end_lineno or statement.lineno
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) and n.lineno > end
        for n in ast.walk(body)
    )


def _imported(context: Context, scope: Scope, names: frozenset[str]) -> bool:
    """Say whether another module may read variables of a module: it imports them, all, or asks for such attributes."""
    own = scope.module.source
    stem = (own.module or own.path.removesuffix(".py")).replace("/", ".").rpartition(".")[2]
    for module in context.project.modules:
        if module is scope.module:
            continue
        for node in module.source.of_type(ast.ImportFrom):
            if (node.module or "").rpartition(".")[2] == stem:
                if any(alias.name in names or alias.name == "*" for alias in node.names):
                    return True
        for part in module.source.of_type(ast.Attribute):
            if part.attr in names and last_word(part.value) == stem:
                return True
    return False


def _chain(node: ast.AST, statement: ast.stmt) -> list[_Block]:
    """Return the lists of statements that a statement stands in, outermost first."""
    for name, value in ast.iter_fields(node):
        if not isinstance(value, list):
            continue
        for index, child in enumerate(value):
            if child is statement:
                return [(node, name, value, index)]
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(
                child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                inner = _chain(child, statement)
                if inner:
                    return [(node, name, value, index), *inner]
    return []


def _outwards(chain: list[_Block], names: frozenset[str]) -> frozenset[str] | None:
    """Return which variables keep their values to the end of a body; None if one may be read."""
    left: frozenset[str] | None = names
    for owner, name, block, index in reversed(chain):
        if name not in {"handlers", "cases"}:
            left = _behind(block[index + 1 :], left)
        if left is None:
            return None
        if isinstance(owner, _Loop) and name == "body":
            if any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(owner)):
                left = names
            again = _entered(owner, left)
            if again is None or _behind(owner.body, again) is None:
                return None
            left = _behind(owner.orelse, left)
        elif isinstance(owner, ast.Try):
            ways: list[frozenset[str] | None] = [left]
            if name == "body":
                ways = [_behind(owner.orelse, left), *(_behind(one.body, names) for one in owner.handlers)]
            left = _joined(ways)
            if name != "finalbody" and left is not None:
                left = None if _behind(owner.finalbody, names) is None else _behind(owner.finalbody, left)
    return left


def _joined(ways: Sequence[frozenset[str] | None]) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for way in ways:
        if way is None:
            return None
        found |= way
    return found


def _behind(block: Sequence[ast.stmt], names: frozenset[str] | None) -> frozenset[str] | None:
    """Return which variables some statements leave as they were; None if they may read one."""
    for statement in block:
        if not names:
            return names
        names = _step(statement, names)
    return names


def _step(statement: ast.stmt, names: frozenset[str]) -> frozenset[str] | None:
    if isinstance(statement, ast.If):
        if _reads(statement.test, names):
            return None
        return _joined([_behind(statement.body, names), _behind(statement.orelse, names)])
    if _is_loop(statement):
        entered = _entered(statement, names)
        if entered is None or _behind(statement.body, entered) is None:
            return None
        return None if _behind(statement.orelse, names) is None else names  # it may have no round
    if isinstance(statement, ast.With | ast.AsyncWith):
        if any(_reads(item, names) for item in statement.items):
            return None
        bound = [_bound(item.optional_vars) for item in statement.items if item.optional_vars is not None]
        return _behind(statement.body, names.difference(*bound))
    if isinstance(statement, ast.Try):
        ways = [_behind([*statement.body, *statement.orelse], names)]
        ways += [_behind(one.body, names) for one in statement.handlers]
        left = _joined(ways)
        if left is None or _behind(statement.finalbody, names) is None:
            return None
        return _behind(statement.finalbody, left)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        if any(_reads(part, names) for part in (*statement.decorator_list, statement.args)):
            return None
        return names - {statement.name}
    if _reads(statement, names):
        return None
    if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return frozenset()  # of a loop behind, what it leaves is what came into it
    if isinstance(statement, ast.Assign):
        return names.difference(*(_bound(target) for target in statement.targets))
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return names - _bound(statement.target)
    return names


def _is_loop(statement: ast.stmt) -> TypeGuard[_Loop]:
    return isinstance(statement, _Loop)


def _entered(loop: _Loop, names: frozenset[str]) -> frozenset[str] | None:
    """Return which variables are as they were where the body of a loop begins; None if its head reads one."""
    if isinstance(loop, ast.While):
        return None if _reads(loop.test, names) else names
    return None if _reads(loop.iter, names) else names - _bound(loop.target)


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    if isinstance(node, ast.AugAssign) and _bound(node.target) & names:
        return True
    return any(isinstance(n, ast.Name) and n.id in names and not isinstance(n.ctx, ast.Store) for n in ast.walk(node))


def _bound(target: ast.expr) -> frozenset[str]:
    """Return the variables that a target binds."""
    if isinstance(target, ast.Name):
        return frozenset({target.id})
    if isinstance(target, ast.Starred):
        return _bound(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return frozenset().union(*map(_bound, target.elts))
    return frozenset()


def given_names(statement: ast.stmt, node: ast.AST) -> frozenset[str]:
    """Return the variables to which a statement gives what an expression in it comes to; none if it gives it elsewhere.

    Args:
        statement: the statement.
        node: the expression.
    """
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return frozenset()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    parts = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Attribute | ast.Subscript)]
    if parts or not inside(node, statement.value):
        return frozenset()
    return frozenset().union(*map(_bound, targets))
