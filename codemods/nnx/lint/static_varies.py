"""NNX908: a static argument that is another value in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.ordinary import ordinary
from codemods.nnx.lint.places import in_test, received
from codemods.nnx.lint.rounds import few
from codemods.nnx.lint.schedules import changing
from codemods.nnx.lint.static_anew import made_anew
from codemods.nnx.lint.statics import static_parameters
from codemods.nnx.lint.syntax import constant, inside, keyword, operands
from codemods.nnx.lint.transformation_anew import transformations_anew
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Loop, Param, Unknown

_DEPTH = 3
_FEW = 16  # rounds
_SPACED = frozenset({"linspace", "logspace", "geomspace"})
_NUMPY = frozenset({"np", "numpy"})
_HELP = {
    "function": "make the function once, before the loop, and give it what changes as ordinary arguments",
    "transformation": "make the transformation once, before the loop: tx = optax.adam(...)",
}


def _check(context: Context) -> Iterator[Finding]:
    for event, made in transformations_anew(context):
        yield finding(
            RULE.code,
            event.scope,
            made,
            "the transformation is made anew in every round, and steps that are given the optimizer are compiled anew",
            "make the transformation once, before the loop: tx = optax.adam(...)",
        )
    for event, node, name, function in static_parameters(context):
        if in_test(event.scope) or enclosing_function(event.scope) in context.traced:
            continue  # within compiled code a loop is unrolled, and all is compiled together
        loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
        if loops and all(few(context, event.scope, loop) for loop in loops):
            continue
        if what := made_anew(context, event, node):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` is another {what} in every round, and each is compiled anew",
                _HELP.get(what, "make the object once, before the loop, or its class a frozen dataclass"),
            )
            continue
        if _counts(context, event, node, _counters(context, event)) and ordinary(context, function, name):
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
    if word in {"range", "trange", "count", "arange"} or (
        word in _SPACED and last_word(getattr(func, "value", None)) in _NUMPY
    ):
        yield from (n for n in ast.walk(target) if isinstance(n, ast.Name))
    elif word in {"enumerate", "zip"} and isinstance(target, ast.Tuple) and target.elts:
        parts = zip(target.elts[word == "enumerate" :], values.args, strict=False)
        if word == "enumerate" and isinstance(target.elts[0], ast.Name):
            yield target.elts[0]
        for one, given in parts:
            yield from counted(one, given)
    elif values.args:  # tqdm(range(n)) and the like
        yield from counted(target, values.args[0])


def _counters(context: Context, event: CallEvent) -> set[str]:
    """Return the names that the loops of many rounds around a call count with."""
    return {
        n.id
        for loop in event.loops
        if isinstance(loop, ast.For) and not few(context, event.scope, loop)
        for n in counted(loop.target, loop.iter)
    }


def _counts(context: Context, event: CallEvent, node: ast.expr, counters: set[str], depth: int = 0) -> bool:
    """Say whether an argument is another number in every round, or at every call."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
        return any(_counts(context, event, part, counters, depth) for part in (node.left, node.right))
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        varied = {part for part in arguments if _counts(context, event, part, counters, depth)}
        if not varied:
            return False
        return _plain(node) or _scheduled(context, event, node) or changing(context, node, event.scope, varied)
    if isinstance(node, ast.Name):
        if node.id in counters:
            return True
        value = event.scope.module.values.get(node)
        if isinstance(value, Loop):
            ways = (_stepped(value.node, node), _scaled(value.node, node.id), _adapted(value.node, node.id))
            return value.node in event.loops and any(ways)
        if isinstance(value, Param):
            return depth < _DEPTH and _given(context, event, value, depth)
        made = value.node if isinstance(value, Call | Unknown) else None
        if not isinstance(made, ast.Call | ast.BinOp) or depth >= _DEPTH:
            return False
        loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
        if not any(inside(made, loop) for loop in loops):
            return bool(loops) and _scaled(loops[-1], node.id) and inside(made, loops[-1])
        return _counts(context, event, made, counters, depth + 1) or any(_scaled(loop, node.id) for loop in loops)
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


def _given(context: Context, event: CallEvent, param: Param, depth: int) -> bool:
    """Say whether a call in a loop gives a parameter another number in every round."""
    function = param.function
    if function.scope is not event.scope or function is not event.scope.function or function in context.traced:
        return False
    for caller in context.flow.sites.callers(function):
        if in_test(caller.scope) or caller.value.starred or not caller.loops or any(map(_short, caller.loops)):
            continue
        shift = received(function)
        if context.flow.calls.callee_name(context.flow.here(caller.value, caller.scope)):
            continue
        place = list(function.params).index(param.name) - shift
        named = keyword(caller.node, param.name)
        given = named or (caller.node.args[place] if 0 <= place < len(caller.node.args) else None)
        if given is not None and _counts(context, caller, given, _counters(context, caller), depth + 1):
            return True
    return False


def _short(loop: ast.AST) -> bool:
    """Say whether a loop has few rounds by what is written there, as one over sizes to compare has."""
    given = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
    numbers = [constant(one) for one in given.args] if isinstance(given, ast.Call) else []
    return bool(numbers) and all(isinstance(one, int) and one <= _FEW for one in numbers)


def _scaled(loop: ast.AST, name: str) -> bool:
    """Say whether every round of a loop multiplies a variable, as ``rate *= 0.99`` does, and nothing else binds it."""
    bound = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    if len(bound) != 1:
        return False
    for one in getattr(loop, "body", ()):
        if isinstance(one, ast.AugAssign) and one.target is bound[0]:
            return isinstance(one.op, ast.Mult | ast.Div | ast.Sub) and _factor(one.value)
        if isinstance(one, ast.Assign) and one.targets == bound and isinstance(one.value, ast.BinOp):
            sides = (one.value.left, one.value.right)
            own = [isinstance(side, ast.Name) and side.id == name for side in sides]
            other = sides[own.index(False)] if any(own) and not all(own) else None
            operator = isinstance(one.value.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
            return operator and other is not None and _factor(other)
    return False


def _adapted(loop: ast.AST, name: str) -> bool:
    """Say whether every round multiplies a variable by what the round has found: ``dt = dt * (tol / error) ** 0.5``."""
    bound = {n.id: n for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stores = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    made = [one for one in getattr(loop, "body", ()) if isinstance(one, ast.Assign) and one.targets == stores]
    if len(stores) != 1 or len(made) != 1:
        return False
    given = made[0].value
    parts = [given]
    if isinstance(given, ast.Call) and last_word(given.func) in {"min", "max", "clip", "float"}:
        parts = given.args  # within bounds
    for one in parts:
        factors = operands(one, ast.Mult)
        own = [part for part in factors if isinstance(part, ast.Name) and part.id == name]
        found = (n.id for part in factors for n in ast.walk(part) if isinstance(n, ast.Name) and n.id != name)
        if len(own) == 1 and any(other in bound for other in found):
            return True
    return False


def _factor(node: ast.expr) -> bool:
    """Say whether a number that is written there changes what it is multiplied by, or taken from."""
    return isinstance(node, ast.Constant) and type(node.value) in {int, float} and node.value not in {0, 1}


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
    "the variable of a loop, or a function, transformation or object made in it, as a static argument",
    why="""\
Each value of a static argument compiles the function anew: ten rounds, ten compilations. A lambda or a partial that the
loop makes is another value in every round, too, and so are an object of a class without `__eq__` and `__hash__`, which
is equal to itself alone, and the functions of an optax transformation, which are a static part of the `nnx.Optimizer`
that holds it. Of a number the rule speaks where it could be an ordinary argument: it is
only calculated with, and sets no shape, axis, index or length; and not of loops within compiled code.
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
