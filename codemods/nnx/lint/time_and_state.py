"""NNX939: time and state of a differential equation the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param

# functions that integrate an equation, the name of the equation among their arguments, and whether time comes first
_SOLVERS = {
    "jax.experimental.ode.odeint": ("func", False),
    "scipy.integrate.odeint": ("func", False),
    "scipy.integrate.solve_ivp": ("fun", True),
    "diffrax.ODETerm": ("vector_field", True),
}
_TIMES = frozenset({"t", "time", "_t", "t_", "_time", "tt"})
_DOUBTFUL = frozenset({"_", "__", "args", "params", "s", "tau", "dt"})
_DEPTH = 2
# where what solves an equation gets the limits of its variable
_LIMITS = {
    "jax.experimental.ode.odeint": ((2, "t"),),
    "scipy.integrate.odeint": ((2, "t"),),
    "scipy.integrate.solve_ivp": ((1, "t_span"), (4, "t_eval")),
    "diffrax.ODETerm": ((2, "t0"), (3, "t1")),
}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "odeint", "solve_ivp", "ODETerm"):
        solver = _SOLVERS.get(name)
        equation = argument(event.node, 0, solver[0]) if solver is not None else None
        given = event.value.argument(0, solver[0]) if solver is not None else None
        if solver is None or equation is None or given is None or in_test(event.scope):
            continue
        first = solver[1]
        if any(k.arg in {"tfirst", None} for k in event.node.keywords):
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        told = _swapped_by_all(context, context.flow.here(given, event.scope), first)
        if told is None:
            continue
        function, shown = told
        if _along(context, event, name, shown[not first]):
            continue
        order = "f(t, y, ...)" if first else "f(y, t, ...)"
        yield finding(
            RULE.code,
            event.scope,
            equation,
            f"`{last(name)}` calls {order}, and `{shown[0]}` and `{shown[1]}` come the other way round here",
            f"give the function its parameters in this order: {shown[1]}, {shown[0]}",
            related=[(function.node, "this function")] if function.scope.module is event.scope.module else [],
        )


def _swapped_by_all(context: Context, equation: Bound, first: bool) -> tuple[FunctionFacts, tuple[str, str]] | None:
    """Return what :func:`_swapped` does of an equation, which callers may hand in: then all of them give it so."""
    if not isinstance(equation.value, Param):
        return _swapped(context, equation, first, 0)
    told = [_swapped(context, one, first, 0) for one in context.sources.originals(equation)]
    return told[0] if told and None not in told else None


def _swapped(
    context: Context, equation: Bound, first: bool, depth: int
) -> tuple[FunctionFacts, tuple[str, str]] | None:
    """Return the function that takes time and state the wrong way round, with what it calls them in its order.

    Args:
        context: the analysis.
        equation: what is given for the right side of the equation.
        first: whether the time comes first.
        depth: through how many functions the two are handed on.
    """
    found = context.flow.calls.callables(equation)
    if len(found) != 1:
        return None
    function, params = found[0].function, free_params(found[0])
    if len(params) < 2 or _to_fill_in(function):
        return None
    order = _order(params[0], params[1])
    if order is None:
        return None
    if order is not first:
        return function, (params[0], params[1])
    return _handed_on(context, function, (params[0], params[1]), first, depth) if depth < _DEPTH else None


def _along(context: Context, event: CallEvent, name: str, param: str) -> bool:
    """Say whether an equation is solved along something else than the time, by what the limits are called.

    ``def dt(rho, t, args)`` with ``t0=rho_start``: the time is what is solved for.

    Args:
        context: the analysis.
        event: the call that gets the equation.
        name: what it calls.
        param: what the equation calls its variable.
    """
    calls = [event.node]
    if name == "diffrax.ODETerm":
        targets = event.statement.targets if isinstance(event.statement, ast.Assign) else []
        held = {target.id for target in targets if isinstance(target, ast.Name)}
        calls = [
            other.node
            for other in context.bodies.calls.get(event.scope, ())
            if last_word(other.node.func) == "diffeqsolve"
            and any(n is event.node or (isinstance(n, ast.Name) and n.id in held) for n in ast.walk(other.node))
        ]
    limits = [limit for call in calls for place, word in _LIMITS[name] if (limit := argument(call, place, word))]
    values = [event.scope.module.values.get(limit) for limit in limits]
    limits += [part for value in values if isinstance(value, Call) for part in value.node.args]
    return any(_is_called(one, param) for limit in limits for one in _identifiers(limit))


def _identifiers(node: ast.expr) -> Iterator[str]:
    """Yield the names of what a limit is made of; that of an array of which it is an item or the least."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Subscript | ast.Starred):
        yield from _identifiers(node.value)
    elif isinstance(node, ast.UnaryOp):
        yield from _identifiers(node.operand)
    elif isinstance(node, ast.BinOp):
        yield from _identifiers(node.left)
        yield from _identifiers(node.right)
    elif isinstance(node, ast.Tuple | ast.List):
        for part in node.elts:
            yield from _identifiers(part)
    elif isinstance(node, ast.Call):
        for part in node.args:
            yield from _identifiers(part)
        if isinstance(node.func, ast.Attribute):
            yield from _identifiers(node.func.value)


def _is_called(name: str, param: str) -> bool:
    """Say whether a name is that of a parameter with something added: ``rho_start``, ``rho0``, ``rhos`` of ``rho``."""
    name, param = name.lower().strip("_"), param.lower().strip("_")
    if not param or _TIMES & set(name.split("_")):
        return False
    return name.rstrip("0123456789").rstrip("_") in {param, param + "s"} or bool(
        name.startswith(param + "_") or name.endswith("_" + param)
    )


def _to_fill_in(function: FunctionFacts) -> bool:
    """Say whether a method is there for subclasses to write, or to set: it may also lack ``self``."""
    if isinstance(function.node, ast.Lambda) or function.owner is None:
        return False
    if any(last_word(one).startswith("abstract") for one in function.node.decorator_list):
        return True
    body = [
        one for one in function.node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]
    return not body or all(isinstance(one, ast.Pass | ast.Raise) for one in body)


def _order(one: str, other: str) -> bool | None:
    """Say whether the first of two parameters is the time; None if it is neither of them, or may be both."""
    if one.lower() in _TIMES and other.lower() not in _TIMES | _DOUBTFUL:
        return True
    if other.lower() in _TIMES and one.lower() not in _TIMES | _DOUBTFUL:
        return False
    return None


def _handed_on(
    context: Context, function: FunctionFacts, params: tuple[str, str], first: bool, depth: int
) -> tuple[FunctionFacts, tuple[str, str]] | None:
    """Return a function that gets time and state of another one the wrong way round: ``lambda y, t: f(y, t)``."""
    body = function.node.body if isinstance(function.node, ast.Lambda) else None
    if not isinstance(body, ast.Call) or [getattr(one, "id", "") for one in body.args[:2]] != list(params):
        return None
    value = function.scope.module.values.get(body.func)
    if value is None:
        return None
    return _swapped(context, context.flow.here(value, function.scope), first, depth + 1)


_BAD = """\
import jax.numpy as jnp
from jax.experimental.ode import odeint


def decay(t, y, rate):
    return -rate * y + jnp.exp(-t)


times = jnp.linspace(0.0, 1.0, 5)
print(odeint(decay, jnp.asarray(1.0), times, 0.5))
"""

RULE = lint_rule(
    "NNX939",
    "time-for-state",
    "a differential equation whose function takes time and state the wrong way round",
    why="""\
`odeint` of JAX and SciPy calls `func(y, t, ...)`, `diffrax.ODETerm` and `scipy.integrate.solve_ivp` call
`f(t, y, ...)`. A function that takes them the other way round computes with the time as its state and with the state
as the time: where both have a shape that fits, the solution is another one, without an error.
""",
    source="SciPy pull request 5151; measured on JAX 0.6.2, 0.7.2 and 0.10.2: another solution, without an error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(t, y, rate)", "(y, t, rate)"),),
)
