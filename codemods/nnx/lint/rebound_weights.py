"""Weights that a step gives to the variable of a loop, and to nothing else: ``p -= rate * g``; part of NNX729."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Changed, Comprehension, Loop, Sequence, Value

_GRADIENTS = pattern(r"grad|^d[a-z]$|^g[a-z]?$|^d_?(w|b|params?|weights?)\d*$|update|delta")
#: Libraries whose arrays or variables an operator may change where they stand.
_CHANGING = pattern(r"^\s*(import|from) (numpy|torch|tensorflow|cupy|flax|equinox|paddle|mxnet|mlx|autograd|haiku)\b")
_STEPS = (ast.Sub, ast.Add)


def rebound_weights(context: Context) -> Iterator[tuple[Scope, ast.stmt, str]]:
    """Yield the steps that bind the variable of a loop anew, with its name.

    Of arrays of NumPy ``p -= step`` changes the array itself: there has to be none of them.

    Args:
        context: the analysis.
    """
    for scope, loop in each(context, ast.For):
        if not scope.module.source.mentions(b"jax") or in_test(scope) or loop.orelse:
            continue
        names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        for place, statement in enumerate(loop.body) if len(names) > 1 else ():
            name = _stepped(statement, names)
            if name is None or _read_behind(context, loop, place, name, scope):
                continue
            if isinstance(statement, ast.Assign) or _no_numpy(context) or _all_jax(context, loop, scope):
                yield scope, statement, name


def _stepped(statement: ast.stmt, names: set[str]) -> str | None:
    """Return the variable that a statement binds anew to itself and a multiple of a gradient."""
    target: ast.expr
    if isinstance(statement, ast.AugAssign):
        target, step, operator = statement.target, statement.value, statement.op
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and len(statement.targets) == 1:
        target, step, operator = statement.targets[0], statement.value.right, statement.value.op
        left = statement.value.left
        if not isinstance(left, ast.Name) or not isinstance(target, ast.Name) or left.id != target.id:
            return None
    else:
        return None
    if not isinstance(target, ast.Name) or target.id not in names or not isinstance(operator, _STEPS):
        return None
    return target.id if any(_GRADIENTS.search(name) for name in names_in(step) - {target.id}) else None


def _read_behind(context: Context, loop: ast.For, place: int, name: str, scope: Scope) -> bool:
    """Say whether a variable is read after a statement of a loop, in the round or behind the loop."""
    later = [n for one in loop.body[place + 1 :] for n in ast.walk(one)]
    if any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in later):
        return True
    end = loop.end_lineno or loop.lineno
    return any(n.lineno > end for n in context.bodies.reads(scope, name))


def _no_numpy(context: Context) -> bool:
    """Say whether no file of the project has NumPy or its like, so that arrays are those of JAX."""
    return not context.shared(_changing)


def _changing(context: Context) -> bool:
    return any(
        _CHANGING.match(line)
        for module in context.project.modules
        for line in module.source.data.decode(errors="replace").splitlines()
        if "import" in line
    )


def _all_jax(context: Context, loop: ast.For, scope: Scope) -> bool:
    """Say whether the first of the lists that a loop goes through holds arrays of JAX alone."""
    call = loop.iter
    given = call.args[0] if isinstance(call, ast.Call) and last_word(call.func) == "zip" and call.args else None
    value = scope.module.values.get(given) if given is not None else None
    if value is None:
        return False
    sources = context.sources.originals(context.flow.here(value, scope))
    return bool(sources) and all(_list_of_jax(context, one, scope) for one in sources)


def _list_of_jax(context: Context, found: Bound, scope: Scope) -> bool:
    value: Value = found.value
    while isinstance(value, Loop | Changed):
        value = value.before
    home = found.frame.function.scope if found.frame is not None else scope.module.scope
    if isinstance(value, Comprehension):
        return value.key is None and made_by_jax(context, value.element, home)
    items = value.items if isinstance(value, Sequence) else ()
    return bool(items) and all(made_by_jax(context, one, home) for one in items)
