"""NNX941: generalized advantages that are summed up across the end of an episode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once, unpacked_once
from codemods.nnx.lint.places import each, foreign, formula_of, in_test
from codemods.nnx.lint.policy_losses import made_by
from codemods.nnx.lint.syntax import argument, constant, entry_word, names_in, operands, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_END = re.compile(
    r"(^|_)(dones?|terminals?|terminated|terminations?|non_?terminals?|nonterm|not_?dones?|nextnonterminal|masks?"
    r"|continues?|continuing|conts?|alive|is_last|episode_starts?|ends?)(_|$)",
    re.I,
)
_DISCOUNT = re.compile(r"(^|_)(gamma|discount)s?(_|$)", re.I)
_LAMBDA = re.compile(r"(^|_)(lam|lamb|lambda|lmbda|lambd|tau)(_|$)", re.I)
_ADVANTAGE = re.compile(r"gae|adv|gaelam", re.I)
_CHOOSING = frozenset({"where", "select", "cond", "select_n"})
_STORING = frozenset({"append", "add", "store", "push", "put", "insert", "extend", "add_transition"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    if not any(_LAMBDA_TEXT.search(module.source.data) for module in context.project.modules):
        return
    if context.shared(_by_episode):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Add) or scope.function is None or in_test(scope):
            continue
        if isinstance(around(context, scope).get(node), ast.BinOp):
            continue
        carried = _carried(context, node, scope)
        if carried is None or not _ends_in(context, carried, node, scope):
            continue
        if not _reset(context, carried, node, scope):
            text = ast.unparse(carried)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{text}` of the next episode is added behind the end of one: only the value is left out there",
                f"leave it out too: delta + gamma * lam * (1 - done) * {text}",
            )


_LAMBDA_TEXT = re.compile(rb"lam|lmb|tau", re.I)


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
    return any(isinstance(n, ast.Name | ast.Attribute) and _END.search(last_word(n)) for n in ast.walk(node))


def _carried(context: Context, node: ast.BinOp, scope: Scope) -> ast.expr | None:
    """Return the sum of the later steps that ``delta + gamma * lam * later`` goes on with."""
    terms = operands(node, ast.Add)
    if not 2 <= len(terms) <= 4:
        return None
    found = [one for one in (_later(context, term, scope) for term in terms) if one is not None]
    return found[0] if len(found) == 1 and _goes_on(context, found[0], node, scope) else None


def _later(context: Context, term: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the one factor of a product with a discount and a lambda that is neither."""
    parts = [inner for part in _factors(term) for inner in _spread(context, part, scope, 0)]
    if not 3 <= len(parts) <= 4:
        return None
    rates = [one for one in parts if _rate(context, one, scope)]
    rest = [one for one in parts if one not in rates]
    words = [entry_word(one) for one in rates]
    by_name = any(map(_DISCOUNT.search, words)), any(map(_LAMBDA.search, words))
    if len(rest) != 1 or len(rates) < 2 or not any(by_name):
        return None
    if not all(by_name) and not any(isinstance(constant(one), float) for one in rates):
        return None
    return rest[0] if isinstance(rest[0], ast.Name | ast.Attribute | ast.Subscript) else None


def _factors(node: ast.expr) -> list[ast.expr]:
    """Return what is multiplied, without signs."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        node = node.operand
    return operands(node, ast.Mult)


def _spread(context: Context, node: ast.expr, scope: Scope, depth: int) -> Iterator[ast.expr]:
    """Yield the factors of what a variable is the product of, else the variable."""
    made, home = _bound(context, node, scope) if isinstance(node, ast.Name) and depth < _DEPTH else (None, scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult) and made.lineno < node.lineno:
        for part in _factors(made):
            yield from _spread(context, part, home, depth + 1)
    else:
        yield node


def _bound(context: Context, name: ast.Name, scope: Scope) -> tuple[ast.expr | None, Scope]:
    """Return what a variable is the name of, also one of a function around, and where that stands."""
    home: Scope | None = scope
    while home is not None and home.function is not None:
        own = _stores(context, name, home)
        if own:
            return (made_by(context, name, home) or bound_once(context, home, name)) if len(own) == 1 else None, home
        if name.id in home.function.params:
            return None, home
        home = home.parent
    return None, scope


def _stores(context: Context, name: ast.Name, scope: Scope) -> list[ast.Name]:
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


def _rate(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a factor is the same at every step: a number, or a discount or lambda that is no part of a record."""
    if isinstance(constant(node), float):
        return True
    word = entry_word(node)
    if not _DISCOUNT.search(word) and not _LAMBDA.search(word):
        return False
    if isinstance(node, ast.Subscript) and not isinstance(constant(node.slice), str):
        return False
    if isinstance(node, ast.Name):
        made, home = _bound(context, node, scope)
        if made is not None:
            return not isinstance(made, ast.BinOp | ast.Call) and not any(map(_END.search, _words(context, made, home)))
        return not _stores(context, node, scope) or (bool(_LAMBDA.search(word)) and _kept(context, node, scope))
    steps = [*scope.function.params][1:] if scope.function is not None and not scope.function.owner else []
    return not (_root(node) in steps and last_word(node) == "discount")


def _root(node: ast.expr) -> str:
    """Return the name of the variable that an expression is a part of."""
    root = root_of(node)
    return root.id if isinstance(root, ast.Name) else ""


def _kept(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is taken out of the carry alone."""
    first = [*_params(scope)][:1]
    return (
        len(_stores(context, name, scope)) == 1
        and bool(first)
        and any(_unpacks(node, first[0], name.id) for node in context.bodies.nodes(scope))
    )


def _goes_on(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a sum is what its factor becomes: a variable that is set anew, a carry, or the entry after it."""
    if _ADVANTAGE.search(entry_word(carried)):
        return True
    if isinstance(carried, ast.Subscript) and isinstance(carried.value, ast.Name):
        return isinstance(constant(carried.slice), int) and _root(carried) in [*_params(scope)][:1]  # part of a carry
    if not isinstance(carried, ast.Name):
        return False
    if carried.id in _targets(context, node, scope):
        return True
    params = _params(scope)
    return carried.id in params or any(
        _unpacks(n, param, carried.id) for n in context.bodies.nodes(scope) for param in params
    )


def _params(scope: Scope) -> dict[str, object]:
    return dict(scope.function.params) if scope.function is not None else {}


def _targets(context: Context, node: ast.AST, scope: Scope) -> set[str]:
    """Return the variables that get an expression."""
    above = around(context, scope).get(node)
    if not isinstance(above, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        return set()
    targets = above.targets if isinstance(above, ast.Assign) else [above.target]
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _ends_in(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether the other terms of a sum leave something out at the end of an episode, and the carry does not."""
    if any(isinstance(n, ast.Name | ast.Attribute) and _END.search(last_word(n)) for n in ast.walk(carried)):
        return False
    for term in operands(node, ast.Add):
        if _later(context, term, scope) is not None:
            continue
        for formula, home in _formulas(context, term, scope, 0):
            if isinstance(formula, ast.BinOp) and isinstance(formula.op, ast.Add | ast.Sub):
                if any(map(_END.search, _words(context, formula, home))) or _by_discount(context, formula, home):
                    return True
    return False


def _formulas(context: Context, node: ast.expr, scope: Scope, depth: int) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield an expression, what it is the name of, and what the functions that it calls compute it by."""
    yield node, scope
    further = _made(context, node, scope) if isinstance(node, ast.Name) else [*_helpers(context, node, scope)]
    for made, home in further if depth < _DEPTH else ():
        yield from _formulas(context, made, home, depth + 1)


def _by_discount(context: Context, term: ast.expr, scope: Scope) -> bool:
    """Say whether an error has the discount of a record's step beside the one of all steps."""
    for node in ast.walk(term):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            parts = _factors(node)
            if any(isinstance(one, ast.Attribute) and one.attr == "discount" and not _rate(context, one, scope)
                   for one in parts) and any(_rate(context, one, scope) for one in parts):  # fmt: skip
                return True
    return False


def _words(context: Context, node: ast.expr, scope: Scope) -> set[str]:
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
        given = _gone_over(context, name, scope) if shown is None else (shown, scope)
        return [given] if given is not None else []
    return [(made, home)]


def _gone_over(context: Context, name: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Return what the body of a scan gets an element of, or a part of one, at each step."""
    steps = [*_params(scope)][1:]
    over = context.shared(_scanned).get(scope.function.node) if scope.function is not None else None
    if len(steps) != 1 or over is None:
        return None
    given, home = over
    if isinstance(given, ast.Name):
        made, home = _bound(context, given, home)
        given = made if made is not None else given
    if name.id == steps[0]:
        return given, home
    place = next((one for one in context.bodies.nodes(scope) if _unpacks(one, steps[0], name.id)), None)
    if isinstance(place, ast.Assign) and isinstance(place.targets[0], ast.Tuple) and isinstance(given, ast.Tuple):
        names = [ast.unparse(one) for one in place.targets[0].elts]
        if len(names) == len(given.elts) and name.id in names:
            return given.elts[names.index(name.id)], home
    return None


def _unpacks(node: ast.AST, source: str, name: str) -> bool:
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


def _reset(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a function sets the sum to zero at an end in any other way."""
    names = {_root(carried)} | _targets(context, node, scope)
    above, own = around(context, scope), set(ast.walk(node))
    for one in context.bodies.nodes(scope):
        parts: list[ast.expr] = []
        if isinstance(one, ast.BinOp):
            if not isinstance(one.op, ast.Mult) or isinstance(above.get(one), ast.BinOp) or one in own:
                continue
            parts = _factors(one)
        elif isinstance(one, ast.Call) and last_word(one.func) in _CHOOSING:
            parts = [*one.args, *(word.value for word in one.keywords)]
        elif isinstance(one, ast.IfExp):
            parts = [one.test, one.body, one.orelse]
        elif isinstance(one, ast.If):
            stored = {n.id for inner in one.body for n in ast.walk(inner) if isinstance(n, ast.Name)}
            if stored & names and any(map(_END.search, _words(context, one.test, scope))):
                return True
        if any(names_in(part) & names for part in parts):
            if any(map(_END.search, (word for part in parts for word in _words(context, part, scope) - names))):
                return True
    return False


def values_across(context: Context) -> Iterator[tuple[Scope, ast.BinOp, str]]:
    """Yield the errors of which generalized advantages are summed up that take the value behind the end of an episode.

    The sum itself leaves the later steps out there: ``delta + gamma * lam * (1 - done) * gae``.

    Args:
        context: the analysis.

    Yields:
        Where the error stands, its formula, and the value.
    """
    if not any(_LAMBDA_TEXT.search(module.source.data) for module in context.project.modules):
        return
    if context.shared(_by_episode):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Add) or scope.function is None or in_test(scope):
            continue
        terms = operands(node, ast.Add) if not isinstance(around(context, scope).get(node), ast.BinOp) else []
        if len(terms) != 2:
            continue
        for error, later in (terms, terms[::-1]):
            carried = _flagged(context, later, scope)
            if carried is None or not _goes_on(context, carried, node, scope):
                continue
            for formula, home in _formulas(context, error, scope, 0):
                value = _next_value(context, formula, home)
                if value is not None and not _flags_elsewhere(context, later, scope):
                    yield home, value[0], ast.unparse(value[1])


def _flagged(context: Context, term: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the sum of the later steps, of a product that leaves it out at the end of an episode."""
    parts = [inner for part in _factors(term) for inner in _spread(context, part, scope, 0)]
    flags = [one for one in parts if any(map(_STRICT_END.search, _words(context, one, scope)))]
    rest = [one for one in parts if one not in flags and not _rate(context, one, scope)]
    rates = [entry_word(one) for one in parts if one not in flags and one not in rest]
    if (
        len(flags) != 1
        or len(rest) != 1
        or not any(map(_LAMBDA.search, rates))
        or not any(map(_DISCOUNT.search, rates))
    ):
        return None
    return rest[0] if isinstance(rest[0], ast.Name | ast.Subscript) else None


def _next_value(context: Context, formula: ast.expr, scope: Scope) -> tuple[ast.BinOp, ast.expr] | None:
    """Return ``reward + gamma * later - value`` and its later value, if that is the next entry, and nothing else."""
    if not isinstance(formula, ast.BinOp) or not isinstance(formula.op, ast.Sub):
        return None
    terms = operands(formula.left, ast.Add)
    products = [operands(one, ast.Mult) for one in terms]
    found = [one for one in products if len(one) == 2 and any(_DISCOUNT.search(entry_word(part)) for part in one)]
    if len(terms) != 2 or len(found) != 1:
        return None
    rates = [one for one in found[0] if _rate(context, one, scope)]
    rest = [one for one in found[0] if one not in rates]
    if len(rates) != 1 or len(rest) != 1 or any(map(_END.search, _words(context, formula, scope))):
        return None
    return (formula, rest[0]) if _next_entry(context, rest[0], scope) else None


def _next_entry(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a value is the one of the next step: ``values[t + 1]``, ``values[1:]``, or a part of a carry."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.slice).endswith(" + 1") or ast.unparse(node.slice).split(",")[0] == "1:"
    if not isinstance(node, ast.Name):
        return False
    first = [*_params(scope)][:1]
    if any(_unpacks(one, param, node.id) for one in context.bodies.nodes(scope) for param in first):
        return True
    above = around(context, scope)
    chosen = [above.get(store) for store in _stores(context, node, scope)]
    if len(chosen) > 1 and all(isinstance(one, ast.Assign) and len(one.targets) == 1 for one in chosen):
        given_ones = [one.value for one in chosen if isinstance(one, ast.Assign)]
        entries = [one for one in given_ones if isinstance(one, ast.Subscript) and _next_entry(context, one, scope)]
        return bool(entries) and all(isinstance(one, ast.Name) or one in entries for one in given_ones)
    given = _gone_over(context, node, scope)
    return given is not None and not isinstance(given[0], ast.Name) and _next_entry(context, given[0], given[1])


def _flags_elsewhere(context: Context, term: ast.expr, scope: Scope) -> bool:
    """Say whether the function, or those around it, reads flags of ends in another formula than a product."""
    outer = scope
    while outer.parent is not None and outer.parent.function is not None:
        outer = outer.parent
    inside_term = set(ast.walk(term))
    named = {n.id for n in inside_term if isinstance(n, ast.Name)}
    allowed: set[ast.AST] = set(inside_term)
    for one in ast.walk(outer.node):
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            target = one.targets[0]
            if isinstance(target, ast.Name) and (target.id in named or _END.search(target.id)):
                allowed |= set(ast.walk(one.value))
        if isinstance(one, ast.Tuple | ast.List):
            allowed |= {part for part in one.elts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)}
            allowed |= {part.value for part in one.elts if isinstance(part, ast.Subscript)}
    return any(
        isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load) and _END.search(last_word(one))
        for one in ast.walk(outer.node)
        if one not in allowed
    )


_STRICT_END = re.compile(
    r"(^|_)(dones?|terminals?|terminated|terminations?|non_?terminals?|nonterm|not_?dones?|nextnonterminal)(_|$)", re.I
)


_BAD = """\
import jax
import jax.numpy as jnp


def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    def step(gae, now):
        reward, value, next_value, done = now
        delta = reward + gamma * (1.0 - done) * next_value - value
        gae = delta + gamma * lam * gae
        return gae, gae

    steps = rewards, values[:-1], values[1:], dones
    return jax.lax.scan(step, jnp.zeros(()), steps, reverse=True)[1]
"""

RULE = lint_rule(
    "NNX941",
    "advantage-across-episodes",
    "generalized advantages that are summed up across the end of an episode",
    why="""\
Where an episode ends, nothing of the next one belongs to it: neither the value of the state that comes next, nor the
advantages that were summed up from there. A recursion that leaves out the value alone, and goes on with
`gamma * lam * gae`, judges the last actions of an episode by the rewards of the next.
""",
    source="Schulman et al. 2016, equation 16; measured: rewards of the second episode change advantages of the first",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("gamma * lam * gae", "gamma * lam * (1.0 - done) * gae"),),
)
