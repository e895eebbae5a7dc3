"""Counts in half precision, which stand still when the next number is not one of theirs; part of NNX947."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.loop_bodies import Body, bodies
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.rounded_entries import rounded_entries
from codemods.nnx.lint.syntax import argument, constant, other_term
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Call

# the loops: which argument of the body is the carry, and place and name of the first one
_LOOPS = {
    "jax.lax.scan": (0, 1, "init"),
    "jax.lax.fori_loop": (1, 3, "init_val"),
    "jax.lax.while_loop": (0, 2, "init_val"),
}
_TOTALS = frozenset({"sum", "count_nonzero"})
_EXACT = {"bfloat16": 256, "float16": 2048}  # up to where each number has one of its own


def rounded_counts(context: Context) -> Iterator[tuple[Scope, ast.expr, int]]:
    """Yield the first numbers of counts in half precision, each with the number at which the count stands still.

    Args:
        context: the analysis.
    """
    for body in bodies(context):
        if body.loop in _LOOPS and body.event.scope.module in context.asked and not in_test(body.event.scope):
            yield from _carried(context, body)
            if body.loop == "jax.lax.scan" and _halved(context):
                yield from rounded_entries(context, body, _half, _counts_text)
    begun: dict[Scope, list[ast.Assign]] = {}
    if not any(module.source.mentions(word) for module in context.asked.modules for word in (b"bfloat16", b"float16")):
        return
    for scope, node in each(context, ast.Assign):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if _half(node.value) or (isinstance(node.value, ast.Dict) and any(_half(one) for one in node.value.values)):
                begun.setdefault(scope, []).append(node)
    for scope, loop in each(context, ast.For) if begun else ():
        if scope in begun and not in_test(scope):
            yield from _in_loop(scope, loop, begun[scope])
            yield from _through_calls(context, scope, loop, begun[scope])


def _halved(context: Context) -> bool:
    """Say whether a project speaks of half precision."""
    words = (b"bfloat16", b"float16")
    return any(module.source.mentions(word) for module in context.project.modules for word in words)


def _counts_text(node: ast.AST, text: str) -> bool:
    """Say whether an expression adds a number of things to what a text stands for."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    sides = {ast.unparse(node.left): node.right, ast.unparse(node.right): node.left}
    return text in sides and _things(sides[text])


def _carried(context: Context, body: Body) -> Iterator[tuple[Scope, ast.expr, int]]:
    """Yield the parts of a first carry to which each round of a loop adds a number of things."""
    place, position, name = _LOOPS[body.loop]
    carry = (body.free or [])[place : place + 1]
    init = argument(body.event.node, position, name)
    scope = body.function.scope
    if not carry or init is None or not isinstance(body.function.node, ast.FunctionDef | ast.Lambda):
        return
    init = _made(context, init, body.event.scope)
    firsts = {carry[0]: init} if not isinstance(init, ast.Tuple) else {}
    statements = [] if isinstance(body.function.node, ast.Lambda) else body.function.node.body
    for statement in statements if isinstance(init, ast.Tuple) else ():
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            target = statement.targets[0]
            if statement.value.id == carry[0] and isinstance(target, ast.Tuple) and isinstance(init, ast.Tuple):
                if len(target.elts) == len(init.elts):
                    firsts = {n.id: i for n, i in zip(target.elts, init.elts, strict=True) if isinstance(n, ast.Name)}
    for variable, first in firsts.items():
        first = _made(context, first, body.event.scope)
        exact = _half(first)
        upper = argument(body.event.node, 1, "upper") if place else argument(body.event.node, 3, "length")
        nodes = context.bodies.nodes(scope) if exact and not _few(upper, exact) else ()
        if any(_counts(node, variable, body.function) for node in nodes):
            yield body.event.scope, first, exact


def _in_loop(scope: Scope, loop: ast.For, begun: list[ast.Assign]) -> Iterator[tuple[Scope, ast.expr, int]]:
    """Yield what begins the counts that a loop of Python counts up."""
    rounds = loop.iter.args[-1] if isinstance(loop.iter, ast.Call) and loop.iter.args else None
    for node in begun:
        target, exact = node.targets[0], _half(node.value)
        if isinstance(target, ast.Name) and node.lineno < loop.lineno and not _few(rounds, exact):
            if any(_counts(n, target.id) for statement in loop.body for n in ast.walk(statement)):
                yield scope, node.value, exact


def _through_calls(
    context: Context, scope: Scope, loop: ast.For, begun: list[ast.Assign]
) -> Iterator[tuple[Scope, ast.expr, int]]:
    """Yield what begins the counts that a function counts up, to which a loop hands them: ``n = step(n, batch)``."""
    calls = [n for statement in loop.body for n in ast.walk(statement) if isinstance(n, ast.Assign)]
    for first in begun if calls else ():
        name = last_word(first.targets[0])
        for node in calls:
            call = node.value
            if first.lineno >= loop.lineno or not isinstance(call, ast.Call) or name not in _bound(node):
                continue
            places = [i for i, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name]
            value = scope.module.values.get(call)
            if len(places) != 1 or not isinstance(value, Call) or value.starred:
                continue
            reached = context.flow.calls.invoked(context.flow.here(value, scope))
            function = reached[0][0].function if len(reached) == 1 and not reached[0][0].args else None
            if function is None or function.owner is not None or places[0] >= len(function.params):
                continue
            for part in _counted(function, list(function.params)[places[0]], first.value):
                yield scope, part, _half(part)


def _bound(node: ast.Assign) -> set[str]:
    """Return the variables that an assignment binds, alone or as parts of a tuple."""
    target = node.targets[0]
    return {last_word(one) for one in elements(target)}


def _counted(function: FunctionFacts, given: str, first: ast.expr) -> Iterator[ast.expr]:
    """Yield the first counts, of one or of those in a dict, to which a function adds a number of things.

    Args:
        function: the function.
        given: the parameter for the counts.
        first: the expression that begins them.
    """
    returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return) and n.value is not None]
    parts = [part for one in returned for part in elements(one)]
    if not isinstance(first, ast.Dict):
        added = [other_term(part, given) for part in parts]
        if any(one is not None and _things(_spelled(function, one)) for one in added):
            yield first
        return
    held = {constant(key): one for key, one in zip(first.keys, first.values, strict=True) if key is not None}
    for part in parts:
        for key, value in zip(part.keys, part.values, strict=True) if isinstance(part, ast.Dict) else ():
            begun = held.get(constant(key)) if key is not None else None
            if begun is None or not _half(begun) or not isinstance(value, ast.BinOp) or not _grown(value):
                continue
            own = f"{given}[{constant(key)!r}]"
            sides = {ast.unparse(value.left): value.right, ast.unparse(value.right): value.left}
            if own in sides and _things(_spelled(function, sides[own])):
                yield begun


def _spelled(function: FunctionFacts, node: ast.expr) -> ast.expr:
    """Return what the only assignment of a variable in a function gives it; other expressions themselves."""
    if not isinstance(node, ast.Name):
        return node
    made = [n for n in ast.walk(function.node) if isinstance(n, ast.Assign) and last_word(n.targets[0]) == node.id]
    return made[0].value if len(made) == 1 else node


def _grown(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _made(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return what the only assignment of a variable gives it; other expressions themselves."""
    once = bound_once(context, scope, node) if isinstance(node, ast.Name) else None
    return once if once is not None else written(context, node, scope)


def _few(rounds: ast.expr | None, exact: int) -> bool:
    """Say whether a loop has so few rounds that a count of them is exact."""
    number = constant(rounds)
    return isinstance(number, int) and number <= exact


def _half(node: ast.expr) -> int:
    """Return up to where one number in half precision counts exactly; zero for all others."""
    if not isinstance(node, ast.Call):
        return 0
    word = last_word(node.func)
    if word in _EXACT:
        return _EXACT[word] if node.args and isinstance(constant(node.args[0]), int | float) else 0
    scalar = {"zeros": _empty, "ones": _empty, "full": _empty, "array": _number, "asarray": _number}.get(word)
    if scalar is None or not node.args or not scalar(node.args[0]):
        return 0
    kinds = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")]
    names = {str(constant(one) or last_word(one)) for one in kinds}
    return next((_EXACT[name] for name in names if name in _EXACT), 0)


def _empty(shape: ast.expr) -> bool:
    return isinstance(shape, ast.Tuple | ast.List) and not shape.elts


def _number(value: ast.expr) -> bool:
    return type(constant(value)) in (int, float)


def _counts(node: ast.AST, variable: str, function: FunctionFacts | None = None) -> bool:
    """Say whether a number of things is added to a variable, in a function also one for what is true."""
    if isinstance(node, ast.AugAssign):
        added = node.value if isinstance(node.op, ast.Add) and _is(node.target, variable) else None
    else:
        added = other_term(node, variable)
    return added is not None and (_things(added) or (function is not None and _of_truth(added, function)))


def _of_truth(node: ast.expr, function: FunctionFacts) -> bool:
    """Say whether an expression is one where something is true, and else zero: ``(a < b).astype(kind)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "astype":
        return False
    asked = _spelled(function, node.func.value)
    return isinstance(asked, ast.Compare) or (isinstance(asked, ast.Call) and last_word(asked.func) == "bernoulli")


def _is(node: ast.expr, variable: str) -> bool:
    return isinstance(node, ast.Name) and node.id == variable


def _things(node: ast.expr) -> bool:
    """Say whether an expression is a whole number of things: one, the length of an array, or how often it is so."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "astype":
            return _things(node.func.value)
        if node.func.attr in _TOTALS:  # of what is true, as in jnp.sum(guesses == labels) or (guesses == labels).sum()
            return any(isinstance(one, ast.Compare) for one in (node.func.value, *node.args[:1]))
    one = isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in _EXACT  # jnp.bfloat16(1)
    number = constant(node.args[0] if one and isinstance(node, ast.Call) else node)
    if isinstance(number, int | float) and not isinstance(number, bool):
        return number >= 1 and float(number).is_integer()
    if isinstance(node, ast.Subscript):
        return last_word(node.value) == "shape"
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, ast.Attribute) and node.attr == "size"
