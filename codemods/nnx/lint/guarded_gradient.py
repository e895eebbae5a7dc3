"""NNX870: a guard against bad values that does not guard the gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.asked_before import asked_before
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.guard_bounds import about_zero, added_together, kept_as_history, never_zero
from codemods.nnx.lint.masked_rows import masked_rows
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Choice, Const, Free, Item, Param, Unknown, Value

# functions whose derivative is infinite or not a number where their value is guarded
_SHARP = frozenset({"sqrt", "log", "log2", "log10", "arccos", "arcsin", "acos", "asin", "arccosh", "reciprocal", "norm",
                    "divide", "true_divide", "power", "rsqrt", "log1p"})  # fmt: skip
_ROTATION = pattern(r"quat|(^|_)(rotations?|versors?|rotor)(_|$|[0-9])", re.I)
_SAFE = frozenset({"where", "maximum", "clip", "abs", "exp", "square"})


def _check(context: Context) -> Iterator[Finding]:
    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event in context.bodies.named("where", "select"):
        if len(event.node.args) == 3 and event.scope.function is not None and not in_test(event.scope):
            sharp = _sharp(context, event)
            if sharp is not None:
                places.setdefault(event.scope.function, []).append((event, sharp))
    for event, name in foreign(context, *_ENDS):
        if name.startswith("jax.numpy.") and event.scope.function is not None and event.node.args:
            operand = written(context, event.node.args[0], event.scope)
            if _at_the_end(operand, last(name)) and not _handed_in(operand, event):
                places.setdefault(event.scope.function, []).append((event, event.node))
    behind: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event, name in foreign(context, "sqrt", "norm"):
        if name in {"jax.numpy.sqrt", "jax.numpy.linalg.norm"} and event.scope.function is not None and event.node.args:
            divisor = _behind_root(context, event, name)
            if divisor is not None:
                behind.setdefault(event.scope.function, []).append((event, divisor))
    if behind:
        yield from _epsilons(context, behind)
    yield from _rows(context)
    if not places:
        return
    seen: set[ast.AST] = set()
    for function, names in Reach(context, places).functions():
        for event, sharp in places.get(function, ()):
            if event.node not in seen and mentions(sharp, names):
                if _masked(context, sharp, event, names):
                    continue
                if no_slope(event) or beside_loss(context, function, event.node):
                    continue
                if kept_as_history(function, event.node):
                    continue
                if sharp is not event.node and asked_before(context, function, event):
                    continue
                seen.add(event.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    sharp,
                    "`where` guards the value and not the gradient, which is NaN where the guard holds"
                    if sharp is not event.node
                    else f"the guard leaves `{last_word(event.node.func)}` its ends, where the derivative is infinite: "
                    "the gradient is NaN there",
                    "make the operand safe first: safe = jnp.where(ok, x, 1.0)"
                    if sharp is not event.node
                    else "keep a small distance from the ends, such as 1e-7",
                )


def _rows(context: Context) -> Iterator[Finding]:
    """Yield the zeros for rows of a softmax of which a mask leaves nothing, behind a product with them."""
    rows: dict[FunctionFacts, list[tuple[CallEvent, ast.expr, ast.expr]]] = {}
    for event, product, others in masked_rows(context):
        if event.scope.function is not None:
            rows.setdefault(event.scope.function, []).append((event, product, others))
    told: set[ast.AST] = set()
    for function, names in Reach(context, rows).functions() if rows else ():
        for event, product, others in rows.get(function, ()):
            if event.node not in told and mentions(others, names) and not beside_loss(context, function, event.node):
                told.add(event.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    product,
                    "the weights of a row that is all -inf are NaN, and so is the gradient of what they are multiplied "
                    "with, also behind this `where`",
                    "put a large finite number for -inf, such as -1e9, or zeros for the weights",
                )


def _masked(context: Context, sharp: ast.expr, event: CallEvent, names: set[str]) -> bool:
    """Say whether a sum of what another ``where`` lets through is divided by a count: the gradient is 0 behind that."""
    if not isinstance(sharp, ast.BinOp) or not isinstance(sharp.op, ast.Div) or mentions(sharp.right, names):
        return False
    total: ast.expr = sharp.left
    while isinstance(total, ast.UnaryOp | ast.Name | ast.BinOp):
        if isinstance(total, ast.BinOp):  # times a number that nothing is differentiated for
            sides = [one for one in (total.left, total.right) if mentions(one, names)]
            if not isinstance(total.op, ast.Mult) or len(sides) != 1:
                return False
            total = sides[0]
            continue
        made = total.operand if isinstance(total, ast.UnaryOp) else written(context, total, event.scope)
        if made is total:
            return False
        total = made
    if not isinstance(total, ast.Call) or last_word(total.func) not in {"sum", "nansum"}:
        return False
    inner = total.args[0] if total.args else getattr(total.func, "value", None)
    if not isinstance(inner, ast.expr):
        return False
    value = event.scope.module.values.get(inner)
    made = written(context, inner, event.scope)
    ways = [one.node for one in value.options if isinstance(one, Call)] if isinstance(value, Choice) else [made]
    return any(isinstance(one, ast.Call) and last_word(one.func) == "where" and len(one.args) == 3 for one in ways)


def no_slope(event: CallEvent) -> bool:
    """Say whether what a call gives only goes into comparisons and into what has no derivative, as ``ceil``, also by
    way of variables: no gradient comes back to it.

    Args:
        event: the call.
    """
    function = event.scope.function
    if function is None:
        return False
    steep = {*_sloped(function.node)}
    values = event.scope.module.values
    makers = [n for n in ast.walk(function.node) if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    pending: list[ast.AST] = [event.node]
    followed: set[ast.stmt] = set()
    while pending:
        node = pending.pop()
        if node not in steep:
            continue
        maker = next((one for one in makers if one.value is not None and inside(node, one.value)), None)
        targets = maker.targets if isinstance(maker, ast.Assign) else [maker.target] if maker is not None else []
        if maker is None or len(targets) != 1 or not isinstance(targets[0], ast.Name) or len(followed) > _VARIABLES:
            return False
        name = targets[0].id
        if maker in followed:
            continue
        followed.add(maker)
        loads = [
            n for n in ast.walk(function.node)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
            if not _elsewhere_bound(values.get(n), maker)
            if not isinstance(values.get(n), Free) or not _bound_last(function, name, maker)
        ]  # fmt: skip
        if not loads:
            return False
        pending += loads
    return True


_VARIABLES = 8  # through how many of them a value is followed


def _elsewhere_bound(value: Value | None, maker: ast.stmt | None) -> bool:
    """Say whether a variable has its value of a call that stands before or behind a statement."""
    if not isinstance(value, Call) or maker is None:
        return False
    begin, end = value.node.lineno, value.node.end_lineno or 0
    return begin > (maker.end_lineno or maker.lineno) or end < maker.lineno


def _bound_last(function: FunctionFacts, name: str, maker: ast.stmt | None) -> bool:
    """Say whether a variable gets another value behind a statement in any case, which inner functions read."""
    body = getattr(function.node, "body", ())
    stores = [
        one for one in (body if isinstance(body, list) else ()) if isinstance(one, ast.Assign) and one is not maker
        for target in one.targets if isinstance(target, ast.Name) and target.id == name
    ]  # fmt: skip
    return maker is not None and bool(stores) and stores[-1].lineno > maker.lineno


def _sloped(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes through which a gradient may come: not those of what is compared, or rounded to whole numbers."""
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        if isinstance(one, ast.Compare):
            continue
        if isinstance(one, ast.Call) and (last_word(one.func) in _FLAT or _to_whole(one)):
            continue
        pending += ast.iter_child_nodes(one)


def _to_whole(call: ast.Call) -> bool:
    """Say whether a call casts to whole numbers or truth values: ``x.astype(jnp.int32)``."""
    kind = call.args[0] if call.args else None
    return last_word(call.func) == "astype" and kind is not None and last_word(kind).startswith(("int", "uint", "bool"))


def _epsilons(context: Context, behind: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]]) -> Iterator[Finding]:
    """Yield the divisors in which a small number is added to a root, and not within it."""
    seen: set[ast.AST] = set()
    for function, names in Reach(context, behind).functions():
        for event, divisor in behind.get(function, ()):
            if event.node not in seen and mentions(event.node.args[0], names):
                if no_slope(event) or beside_loss(context, function, event.node):
                    continue
                if kept_as_history(function, event.node):
                    continue
                seen.add(event.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    divisor,
                    "the small number guards the quotient and not the gradient: that of the root is NaN where all is 0",
                    "add it within the root: jnp.sqrt(jnp.sum(x**2) + eps)",
                )


def _behind_root(context: Context, event: CallEvent, name: str) -> ast.expr | None:
    """Return the divisor that is a norm or a root of a sum of squares, and a small number."""
    if name.endswith("sqrt") and not _squares(written(context, event.node.args[0], event.scope)):
        return None
    if name.endswith("norm") and (len(event.node.args) > 1 or any(k.arg == "ord" for k in event.node.keywords)):
        return None
    if any(_ROTATION.search(name) for name in names_in(event.node.args[0])):
        return None  # of length 1 but for rounding, and so never 0
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        divisor = node.right
        if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
            for side, other in ((divisor.left, divisor.right), (divisor.right, divisor.left)):
                value = event.scope.module.values.get(side)
                root = side is event.node or (isinstance(value, Call) and value.node is event.node)
                if root and constant(other) != 0 and about_zero(context, other, event.scope):
                    return divisor
    return None


def _squares(node: ast.expr) -> bool:
    """Say whether an expression is a sum or mean of squares."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"sum", "mean"}:
        return False
    return squared(array_of(node)) is not None


_ENDS = ("arccos", "arcsin", "acos", "asin", "arccosh", "arctanh", "sqrt")


def _handed_in(node: ast.expr, event: CallEvent) -> bool:
    """Say whether what is held within bounds is an entry of a dict that the function is given, as the weights of a
    quadrature: nothing tells that it is trained."""
    operand = node.args[0] if isinstance(node, ast.Call) and node.args else node
    value = event.scope.module.values.get(operand)
    if not isinstance(value, Item) or not isinstance(value.base, Param):
        return False
    return isinstance(value.index, Const) and isinstance(value.index.value, str)


def _at_the_end(node: ast.expr, word: str) -> bool:
    """Say whether an operand is held within the very bounds at which a derivative is infinite."""
    if not isinstance(node, ast.Call):
        return False
    outer = last_word(node.func)
    ends = [constant(a) for a in (*node.args[1:], *(k.value for k in node.keywords))]
    if word == "sqrt":
        if outer == "relu":
            return len(node.args) == 1
        if outer == "maximum" and len(node.args) == 2:
            return any(type(end) in {int, float} and end == 0 for end in map(constant, node.args))
        return outer == "clip" and bool(ends) and type(ends[0]) in {int, float} and ends[0] == 0
    bounds = {1.0, -1.0} if word != "arccosh" else {1.0}
    return outer == "clip" and any(type(end) in {int, float} and end in bounds for end in ends)


def _sharp(context: Context, event: CallEvent) -> ast.expr | None:
    """Return what a ``where`` guards, if its derivative is not a number where the guard holds."""
    test, *ways = event.node.args
    name = context.flow.calls.name(event)
    if name not in {"jax.numpy.where", "jax.lax.select"}:
        return None
    guarded: set[str] | None = None
    zeros: set[str] = set()
    for way in ways:
        for node in _parts(context, way, event.scope):
            operand = _operand(node)
            if operand is None:
                continue
            if guarded is None:
                guarded = _guarded(context, test, event)
                zeros = _guarded(context, test, event, zeros=True)
            if isinstance(node, ast.BinOp) and _elsewhere(context, test, operand, event):
                continue
            if isinstance(node, ast.BinOp) and _taken(test, operand, first=way is ways[0]):
                continue
            if isinstance(node, ast.Call) and _own(context, node, event.scope):
                continue
            if _piece(written(context, test, event.scope), operand):
                continue
            ends = [one for one in ways if one is not way or last_word(getattr(one, "func", one)) == "where"]
            if any(_no_number(context, one, node, event) for one in ends):
                continue
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                root = last_word(getattr(written(context, operand, event.scope), "func", None)) in {"sqrt", "norm"}
                if not root and ast.dump(operand) not in zeros:
                    continue  # a root is zero beyond any bound: ``where(norm > radius, x * (radius / norm), x)``
                if never_zero(context, operand, event.scope):
                    continue
                if event.scope.function is not None and added_together(event.scope.function, node):
                    continue
            if ast.dump(operand) in guarded and not _safe(context, operand, event):
                return node if isinstance(node, ast.expr) else way
            if (
                isinstance(node, ast.Call)
                and _root_itself(context, node, test, event)
                and _goes_into(context, way, node, event.scope)
            ):
                return node
    return None


def _taken(test: ast.expr, operand: ast.expr, *, first: bool) -> bool:
    """Say whether a quotient stands in the way that is taken where its divisor is small, so that the condition does not
    guard it: ``where(x < least, 1 / x, x)``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    small = isinstance(test.ops[0], ast.Lt | ast.LtE)
    if not small and not isinstance(test.ops[0], ast.Gt | ast.GtE):
        return False
    same = ast.dump(operand)
    if ast.dump(test.comparators[0]) == same:
        small = not small
    elif ast.dump(test.left) != same:
        return False
    return small is first


def _own(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call reaches a function of the project, whose derivative may be its own: a norm that is 0 at 0."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call):
        return False
    return bool(context.flow.calls.reached(context.flow.here(value, scope)))


def _no_number(context: Context, other: ast.expr, sharp: ast.AST, event: CallEvent) -> bool:
    """Say whether what stands where a guard holds is no number itself: NaN, or instead of a quotient an infinity that
    nothing in its function compares or sums up."""
    while isinstance(other, ast.Call) and last_word(other.func) == "where" and len(other.args) == 3:
        other = other.args[2]
    leaves = [n for n in ast.walk(other) if isinstance(n, ast.Name | ast.Attribute)]
    words = {last_word(n) for n in leaves if not (isinstance(n, ast.Name) and n.id in _HOMES)}
    if words == {"nan"}:
        return True
    if words != {"inf"} or not isinstance(sharp, ast.BinOp):
        return False
    return not any(last_word(call.node.func) in _COMPARING for call in context.bodies.calls.get(event.scope, ()))


_HOMES = frozenset({"jnp", "np", "numpy", "math", "jax"})
_COMPARING = frozenset({"min", "max", "minimum", "maximum", "argmin", "argmax", "exp", "softmax", "logsumexp", "sort",
                        "sum", "mean", "top_k"})  # fmt: skip


def _goes_into(context: Context, way: ast.expr, root: ast.Call, scope: Scope) -> bool:
    """Say whether a way gives a root, or a sum or product with it, and does not only compare it."""
    if isinstance(way, ast.BinOp):
        return any(_goes_into(context, side, root, scope) for side in (way.left, way.right))
    return written(context, way, scope) is root


def _root_itself(context: Context, root: ast.Call, test: ast.expr, event: CallEvent) -> bool:
    """Say whether a condition compares a root with 0, where its derivative is infinite: ``where(n > 0, n, 0)``."""
    operand = event.scope.module.values.get(root.args[0])
    if last_word(root.func) not in {"sqrt", "norm"} or operand is None:
        return False
    if _kept_off_zero(operand) or _safe(context, root.args[0], event):
        return False
    test = written(context, test, event.scope)
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.ops[0], (*_ORDERS, ast.Eq, ast.NotEq))
    ):
        return False
    sides = test.left, test.comparators[0]
    return any(
        written(context, one, event.scope) is root and constant(other) == 0 for one, other in (sides, sides[::-1])
    )


def _parts(context: Context, way: ast.expr, scope: Scope) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, and those of what its variables are names of."""
    for node in _steep(way):
        yield node
        if isinstance(node, ast.Name) and (made := written(context, node, scope)) is not node:
            yield from _steep(made)


def _steep(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, without the arguments of what has no derivative, as ``floor``."""
    pending = [node]
    while pending:
        one = pending.pop(0)
        yield one
        if not isinstance(one, ast.Call) or last_word(one.func) not in _FLAT:
            pending += ast.iter_child_nodes(one)


_FLAT = frozenset({"floor", "ceil", "round", "rint", "trunc", "sign", "argmax", "argmin", "stop_gradient"})


def _operand(node: ast.AST) -> ast.expr | None:
    """Return the part of an operation in which its derivative may be infinite."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right if not isinstance(node.right, ast.Constant) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = constant(node.right)
        return node.left if isinstance(power, float) and power < 1 else None
    if isinstance(node, ast.Call):
        word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if word in _SHARP and node.args:
            divides = word in {"divide", "true_divide"}
            power = constant(node.args[1]) if word == "power" and len(node.args) > 1 else None
            if word == "power" and not (isinstance(power, float) and power < 1):
                return None
            return node.args[1] if divides and len(node.args) > 1 else node.args[0]
    return None


def _elsewhere(context: Context, test: ast.expr, operand: ast.expr, event: CallEvent) -> bool:
    """Say whether a condition only asks whether a divisor is another number than 0, as one that counts corners."""
    test = written(context, test, event.scope)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq | ast.NotEq) or len(test.ops) > 1:
        return False
    sides = (test.left, test.comparators[0])
    numbers = [number for one in sides if isinstance(number := constant(one), int | float)]
    return numbers != [] and all(numbers) and ast.dump(operand) in map(ast.dump, sides)


def _piece(test: ast.expr, operand: ast.expr) -> bool:
    """Say whether a condition holds for what lies between two numbers, neither of them below 0: a piece of a curve that
    is defined piece by piece, and no guard against the place where a derivative is infinite."""
    parts: list[ast.expr] = []
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitAnd):
        parts = [test.left, test.right]
    elif isinstance(test, ast.Call) and last_word(test.func) == "logical_and" and len(test.args) == 2:
        parts = [*test.args]
    bounds: dict[bool, float] = {}
    for part in parts:
        if not isinstance(part, ast.Compare) or len(part.ops) != 1 or not isinstance(part.ops[0], _ORDERS):
            return False
        turned = ast.dump(part.left) != ast.dump(operand)
        number = constant(part.left if turned else part.comparators[0])
        if turned and ast.dump(part.comparators[0]) != ast.dump(operand):
            return False
        if not isinstance(number, int | float) or isinstance(number, bool):
            return False
        bounds[isinstance(part.ops[0], ast.Gt | ast.GtE) is not turned] = number
    return len(bounds) == 2 and 0 <= bounds[True] < bounds[False]


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _guarded(context: Context, test: ast.expr, event: CallEvent, *, zeros: bool = False) -> set[str]:
    """Return the expressions that a condition compares with numbers, also one that has a name; or those alone that it
    compares with zero or little more."""
    values = event.scope.module.values
    value = values.get(test)
    if isinstance(test, ast.Name) and isinstance(value, Unknown) and isinstance(value.node, ast.expr):
        test = value.node
    found: set[str] = set()
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if zeros:  # the small number itself is no more than what another side is compared with
            small = [about_zero(context, side, event.scope) for side in sides]
            sides = [side for place, side in enumerate(sides) if any(small[:place] + small[place + 1 :])]
        found |= {ast.dump(side) for side in sides if not isinstance(side, ast.Constant)}
        found |= {
            ast.dump(side.args[0])
            for side in sides
            if isinstance(side, ast.Call) and getattr(side.func, "attr", "") in {"abs", "absolute"} and side.args
        }
    return found


def _safe(context: Context, operand: ast.expr, event: CallEvent) -> bool:
    """Say whether the operand was made safe before."""
    value: Value | None = event.scope.module.values.get(operand)
    settled = value.function.defaults.get(value.name) if isinstance(value, Param) else value
    if isinstance(settled, Const) and settled.value:  # a number that the condition compares with, as in Huber's loss
        return True
    if isinstance(value, Attr) and isinstance(value.base, Param) and value.base is value.base.function.self_param:
        return True  # a setting of the object, as a width that distances are compared with
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, event.scope))
    if last(name) == "sqrt" and value.args:
        return _kept_off_zero(value.args[0])
    return last(name) in _SAFE or _floored(context, value, event)


def _floored(context: Context, call: Call, event: CallEvent) -> bool:
    """Say whether a function of the project holds all that it gives away from 0: ``jnp.maximum(x, eps) ** p``."""
    invoked = context.flow.calls.invoked(context.flow.here(call, event.scope))
    functions = {callee.function for callee, _ in invoked}
    given = [(function, _given(function)) for function in functions]
    return bool(given) and all(
        bool(every) and all(_above(context, one, function) for one in every) for function, every in given
    )


def _given(function: FunctionFacts) -> list[ast.expr]:
    """Return the expressions that a function gives; nothing if it may give None."""
    if isinstance(function.node, ast.Lambda):
        return [function.node.body]
    found = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    return [one for one in found if one is not None] if None not in found else []


def _above(context: Context, node: ast.expr, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether an expression is a root, a power or a floor itself of what is held above a bound that is not 0."""
    made = written(context, node, function.scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Pow):
        return depth < 3 and _above(context, made.left, function, depth + 1)
    if not isinstance(made, ast.Call) or not made.args:
        return False
    word = last_word(made.func)
    if word in {"sqrt", "pow", "power"}:
        return depth < 3 and _above(context, made.args[0], function, depth + 1)
    bounds = [constant(a) for a in made.args[:2]] if word == "maximum" else []
    if word == "clip":
        lower = [*made.args[1:2], *(k.value for k in made.keywords if k.arg in {"min", "a_min"})]
        bounds = [constant(a) for a in lower]
    return bool(bounds) and not any(isinstance(one, int | float) and one <= 0 for one in bounds)


def _kept_off_zero(value: Value) -> bool:
    """Say whether something is added to a sum of squares, so that it is never 0: ``jnp.sum(x**2) + eps``."""
    node = value.node if isinstance(value, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    sides = [node.left, node.right]
    return any(
        _squares(side) and not (isinstance(other, ast.Constant) and other.value == 0)
        for side, other in (sides, sides[::-1])
    )


RULE = lint_rule(
    "NNX870",
    "guarded-value-only",
    "`jnp.where` guards a root, logarithm or quotient, and the gradient is NaN all the same",
    why="""\
`where` chooses between values that are both computed, and so are both gradients: that of the way not taken is
multiplied by zero, and zero times infinity is not a number. The operand itself has to be made safe, with a second
`where` inside of the root, logarithm or quotient. A guard of a quotient compares the divisor with zero or little more.
""",
    source="jax issues 347, 1052 and 5798, and the FAQ of JAX; measured on Flax 0.10.7 and 0.12.8: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()


grads = jax.grad(loss)(jnp.array([0.0, 4.0]))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0).sum()


grads = jax.grad(loss)(jnp.array([0.0, 4.0]))
""",
    ),
)
