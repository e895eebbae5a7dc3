"""What formulas of generalized advantages are made of: rates, flags of an episode's end, sums of later steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.origins import bound_once, made_by, unpacked_once
from codemods.nnx.lint.places import each, foreign, formula_of, in_test
from codemods.nnx.lint.syntax import argument, constant, entry_word, names_in, operands, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

ENDING = pattern(
    r"(^|_)(dones?|terminals?|terminated|terminations?|non_?terminals?|nonterm|not_?dones?|nextnonterminal|masks?"
    r"|continues?|continuing|conts?|alive|is_last|episode_starts?|ends?)(_|$)",
    re.I,
)
DISCOUNT = pattern(r"(^|_)(gamma|discount)s?(_|$)", re.I)
LAMBDA = pattern(r"(^|_)(lam|lamb|lambda|lmbda|lambd|tau)(_|$)", re.I)
_ADVANTAGE = pattern(r"gae|adv|gaelam", re.I)
_STORING = frozenset({"append", "add", "store", "push", "put", "insert", "extend", "add_transition"})
_DEPTH = 5
_LAMBDA_TEXT = pattern(rb"lam|lmb|tau", re.I)


def sums(context: Context) -> Iterator[tuple[Scope, ast.BinOp]]:
    """Yield the whole sums in functions of projects that may compute generalized advantages across episodes.

    Args:
        context: the analysis.
    """
    if not any(module.source.matches(_LAMBDA_TEXT) for module in context.project.modules):
        return
    if context.shared(_by_episode):
        return
    for scope, node in each(context, ast.BinOp):
        if isinstance(node.op, ast.Add) and scope.function is not None and not in_test(scope):
            if not isinstance(around(context, scope).get(node), ast.BinOp):
                yield scope, node


def _by_episode(context: Context) -> bool:
    """Say whether a loop keeps the flags of one episode until its end, where only the last of them is set."""
    for module in context.project.modules:
        for loop in module.source.of_type(ast.While):
            inner = list(ast.walk(loop))
            asked = [loop.test, *(n.test for n in inner if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Break))]
            if any(map(_speaks_of_end, asked)) and any(
                isinstance(n, ast.Call) and last_word(n.func) in _STORING and any(map(_speaks_of_end, n.args))
                for n in inner
            ):
                return True
    return False


def _speaks_of_end(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Name | ast.Attribute) and ENDING.search(last_word(n)) for n in ast.walk(node))


def factors(node: ast.expr) -> list[ast.expr]:
    """Return what is multiplied, without signs."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        node = node.operand
    return operands(node, ast.Mult)


def spread(context: Context, node: ast.expr, scope: Scope, depth: int) -> Iterator[ast.expr]:
    """Yield the factors of what a variable is the product of, else the variable."""
    made, home = _bound(context, node, scope) if isinstance(node, ast.Name) and depth < _DEPTH else (None, scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult) and made.lineno < node.lineno:
        for part in factors(made):
            yield from spread(context, part, home, depth + 1)
    else:
        yield node


def _bound(context: Context, name: ast.Name, scope: Scope) -> tuple[ast.expr | None, Scope]:
    """Return what a variable is the name of, also one of a function around, and where that stands."""
    home: Scope | None = scope
    while home is not None and home.function is not None:
        own = stores_of(context, name, home)
        if own:
            return (made_by(context, name, home) or bound_once(context, home, name)) if len(own) == 1 else None, home
        if name.id in home.function.params:
            return None, home
        home = home.parent
    return None, scope


def stores_of(context: Context, name: ast.Name, scope: Scope) -> list[ast.Name]:
    """Return where a body sets a variable."""
    return context.shared(_Stores).of(scope).get(name.id, [])


class _Stores:
    """Knows where bodies set their variables, which are read much more often."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[Scope, dict[str, list[ast.Name]]] = {}

    def of(self, scope: Scope) -> dict[str, list[ast.Name]]:
        if scope not in self._found:
            found: dict[str, list[ast.Name]] = {}
            for name, uses in self._context.bodies.names(scope).items():
                stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
                if stores:
                    found[name] = stores
            self._found[scope] = found
        return self._found[scope]


def is_rate(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a factor is the same at every step: a number, or a discount or lambda that is no part of a record."""
    if isinstance(constant(node), float):
        return True
    word = entry_word(node)
    if not DISCOUNT.search(word) and not LAMBDA.search(word):
        return False
    if isinstance(node, ast.Subscript) and not isinstance(constant(node.slice), str):
        return False
    if isinstance(node, ast.Name):
        made, home = _bound(context, node, scope)
        if made is not None:
            return not isinstance(made, ast.BinOp | ast.Call) and not any(
                map(ENDING.search, words_of(context, made, home))
            )
        return not stores_of(context, node, scope) or (bool(LAMBDA.search(word)) and _kept(context, node, scope))
    steps = [*scope.function.params][1:] if scope.function is not None and not scope.function.owner else []
    return not (root_name(node) in steps and last_word(node) == "discount")


def root_name(node: ast.expr) -> str:
    """Return the name of the variable that an expression is a part of."""
    root = root_of(node)
    return root.id if isinstance(root, ast.Name) else ""


def _kept(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is taken out of the carry alone."""
    first = [*filled_params(scope)][:1]
    return (
        len(stores_of(context, name, scope)) == 1
        and bool(first)
        and any(unpacks(node, first[0], name.id) for node in context.bodies.nodes(scope))
    )


def goes_on(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a sum is what its factor becomes: a variable that is set anew, a carry, or the entry after it."""
    if _ADVANTAGE.search(entry_word(carried)):
        return True
    if isinstance(carried, ast.Subscript) and isinstance(carried.value, ast.Name):
        return (
            isinstance(constant(carried.slice), int) and root_name(carried) in [*filled_params(scope)][:1]
        )  # part of a carry
    if not isinstance(carried, ast.Name):
        return False
    if carried.id in assigned_names(context, node, scope):
        return True
    params = filled_params(scope)
    return carried.id in params or any(
        unpacks(n, param, carried.id) for n in context.bodies.nodes(scope) for param in params
    )


def filled_params(scope: Scope) -> dict[str, object]:
    """Return the parameters of the function of a body; none for that of a module."""
    return dict(scope.function.params) if scope.function is not None else {}


def assigned_names(context: Context, node: ast.AST, scope: Scope) -> set[str]:
    """Return the variables that get an expression."""
    above = around(context, scope).get(node)
    if not isinstance(above, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        return set()
    targets = above.targets if isinstance(above, ast.Assign) else [above.target]
    return {one.id for one in targets if isinstance(one, ast.Name)}


def formulas(context: Context, node: ast.expr, scope: Scope, depth: int) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield an expression, what it is the name of, and what the functions that it calls compute it by."""
    yield node, scope
    further = _made(context, node, scope) if isinstance(node, ast.Name) else [*_helpers(context, node, scope)]
    for made, home in further if depth < _DEPTH else ():
        yield from formulas(context, made, home, depth + 1)


def words_of(context: Context, node: ast.expr, scope: Scope) -> set[str]:
    """Return the names that an expression is made of, also by variables of the function and those around it."""
    found: set[str] = set()
    seen: set[ast.AST] = {node}
    waiting = [(node, scope, 0)]
    while waiting:
        expression, home, depth = waiting.pop()
        for part in ast.walk(expression):
            further: list[tuple[ast.expr, Scope]] = []
            if isinstance(part, ast.Subscript | ast.Attribute):
                found.add(entry_word(part))
            elif isinstance(part, ast.Name):
                found.add(part.id)
                further = _made(context, part, home)
            elif isinstance(part, ast.Call):
                further = [*_helpers(context, part, home)]
            waiting += [(made, place, depth + 1) for made, place in further if made not in seen and depth < _DEPTH]
            seen |= {made for made, _ in further}
    return found


def _helpers(context: Context, call: ast.expr, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield what functions of the project compute the result of a call by; nothing for other expressions."""
    value = scope.module.values.get(call)
    if isinstance(value, Call):
        for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope)):
            formula = formula_of(context, callee.function)
            if formula is not None:
                yield formula, callee.function.scope


def _made(context: Context, name: ast.Name, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """Return what a variable may be: what it is assigned, or of a parameter of a scanned body, what is gone over."""
    made, home = _bound(context, name, scope)
    if made is None:
        shown = unpacked_once(context, scope, name)
        given = gone_over(context, name, scope) if shown is None else (shown, scope)
        return [given] if given is not None else []
    return [(made, home)]


def gone_over(context: Context, name: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Return what the body of a scan gets an element of, or a part of one, at each step."""
    steps = [*filled_params(scope)][1:]
    over = context.shared(_scanned).get(scope.function.node) if scope.function is not None else None
    if len(steps) != 1 or over is None:
        return None
    given, home = over
    if isinstance(given, ast.Name):
        made, home = _bound(context, given, home)
        given = made if made is not None else given
    if name.id == steps[0]:
        return given, home
    place = next((one for one in context.bodies.nodes(scope) if unpacks(one, steps[0], name.id)), None)
    if isinstance(place, ast.Assign) and isinstance(place.targets[0], ast.Tuple) and isinstance(given, ast.Tuple):
        names = [ast.unparse(one) for one in place.targets[0].elts]
        if len(names) == len(given.elts) and name.id in names:
            return given.elts[names.index(name.id)], home
    return None


def unpacks(node: ast.AST, source: str, name: str) -> bool:
    """Say whether a statement takes a variable, among others, out of another."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id == source
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Tuple)
        and name in names_in(node.targets[0])
    )


def _scanned(context: Context) -> dict[ast.AST, tuple[ast.expr, Scope]]:
    """Return what each body of a scan goes over."""
    found: dict[ast.AST, tuple[ast.expr, Scope]] = {}
    for event, name in foreign(context, "scan"):
        body, over = event.value.argument(0, "f"), argument(event.node, 2, "xs")
        if name == "jax.lax.scan" and body is not None and over is not None:
            for one in context.flow.calls.callables(context.flow.here(body, event.scope)):
                found[one.function.node] = over, event.scope
    return found
