"""NNX943: a derivative that is named after one argument and taken with respect to another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_GRADIENTS = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian")
_WRAPPERS = frozenset({"jit", "vmap", "pmap", "checkpoint"})
_PARAMS = pattern(r"^(\w+_)?(params?|parameters|weights|theta|thetas|variables|w)(_\w+)?$", re.I)
_COORDINATES = frozenset("xyztrs")  # what equations have derivatives by, whatever the argument is called
_BY = pattern(r"^(?:grad_)?(?P<of>d2?_?[a-z]\w*?)_?d_?(?P<by>[a-z][a-z0-9]*?)2?$", re.I)
_INDEXED = pattern(r"^(?P<of>\w+?)_(?P<by>[a-z]+)$", re.I)
_SHORT = pattern(r"^(?P<of>[uvw])(?P<by>[xyzt]{1,2})$")
_SOLUTIONS = frozenset({"u", "v", "y", "psi", "phi", "f", "n", "h", "rho", "temp"})
_NETWORKS = pattern(r"net|model|mlp|forward|apply|predict|solution|trial|ansatz|fn$|^f$|func|call", re.I)
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_GRADIENTS):
        if not name.startswith("jax.") or name.count(".") != 1 or in_test(event.scope):
            continue
        if len(event.node.args) > 2 or not event.node.args or any(word.arg is None for word in event.node.keywords):
            continue
        params, function = _params(context, event)
        said = argument(event.node, 1, "argnums")
        if said is not None:
            yield from _said(context, event, name, constant(said), params, function)
            continue
        for word, place, given in _named(context, event, name):
            if given is None and not params:
                continue
            names = params or [last_word(one) for one in given or ()]
            passed = [last_word(one) for one in given or ()]
            by = _later(word, names, passed, function)
            if by is not None:
                position = names.index(by) if by in names else 1
                of = f"`{function}`" if function else "the function"
                yield finding(
                    RULE.code,
                    event.scope,
                    place,
                    f"`{word}` is the derivative of {of} by `{names[0]}`, its first argument, not by `{by}`",
                    f"say which argument: argnums={position}",
                )
                break


def named_as_derivative(word: str) -> bool:
    """Say whether a name is one of the derivative of something by something, as ``u_t`` or ``dudx``."""
    return any(form.match(word) is not None for form in (_BY, _INDEXED, _SHORT))


def _said(
    context: Context, event: CallEvent, name: str, place: object, params: list[str], function: str
) -> Iterator[Finding]:
    """Yield the derivatives by an argument that is said, which are named after another one of the function."""
    if type(place) is not int or not 0 < place < len(params):
        return
    for word, node, given in _named(context, event, name):
        passed = [last_word(one) for one in given or ()]
        own = {params[place], *passed[place : place + 1]}
        word = re.sub(r"_(fn|fun|func|f)$", "", word)
        for form in (_BY, _INDEXED, _SHORT):
            found = form.match(word)
            of = re.sub(r"^d2?_?", "", found["of"]) if found is not None and form is _BY else found and found["of"]
            by = found["by"] if found is not None else ""
            by = by[0] if form is not _BY and len(set(by)) == 1 else by
            if not of or by not in params or by in own or of in {*params, *passed}:
                continue
            if of == function or _gives(function, of.lower()):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{word}` is the derivative of `{function or 'the function'}` by `{params[place]}`, not by `{by}`",
                    f"say the other argument: argnums={params.index(by)}",
                )
                return


def _params(context: Context, event: CallEvent) -> tuple[list[str], str]:
    """Return the names of the arguments of the function that is differentiated, and its name."""
    value = event.value.args[0] if event.value.args else None
    node = event.node.args[0]
    while isinstance(node, ast.Call) and last_word(node.func) in _GRADIENTS and node.args:  # a second derivative
        node = node.args[0]
        value = event.scope.module.values.get(node)
    if value is None:
        return [], ""
    functions = context.flow.calls.callables(context.flow.here(value, event.scope))
    if len(functions) != 1:
        return [], ""
    function = functions[0].function
    names = [*function.params]
    if function.self_param is not None or function.binding == "class":
        names = names[1:]
    return names, function.name if function.name != "<lambda>" else ""


def _named(context: Context, event: CallEvent, name: str) -> Iterator[tuple[str, ast.AST, list[ast.expr] | None]]:
    """Yield what a derivative, or the function that gives it, is called, where, and with what it is taken."""
    scope, above = event.scope, around(context, event.scope)
    node: ast.AST = event.node
    function = scope.function
    for _ in range(_DEPTH):
        parent = above.get(node)
        if not isinstance(parent, ast.Call):
            break
        if parent.func is node:
            if not parent.keywords and not any(isinstance(one, ast.Starred) for one in parent.args):
                for word in _results(above, parent, scope, name):
                    yield word, event.node, parent.args
            return
        if last_word(parent.func) not in _WRAPPERS or not parent.args or parent.args[0] is not node:
            return
        node = parent
    parent = above.get(node)
    if isinstance(parent, ast.Return) and function is not None and name != "jax.value_and_grad":
        yield function.name, event.node, None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return
    target = parent.targets[0].id
    if len(context.bodies.stores(scope, target)) != 1:
        return
    if name != "jax.value_and_grad":
        yield target, event.node, None
    for use in context.bodies.names(scope).get(target, ()):
        call = above.get(use)
        if isinstance(call, ast.Call) and call.func is use and not call.keywords:
            for word in _results(above, call, scope, name):
                yield word, event.node, call.args


def _results(above: dict[ast.AST, ast.AST], call: ast.Call, scope: Scope, name: str) -> Iterator[str]:
    """Yield what gets the result of a call of a derivative."""
    node: ast.AST = call
    parent = above.get(node)
    while isinstance(parent, ast.Subscript | ast.Attribute) or (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func is node
    ):
        if isinstance(parent, ast.Attribute) and parent.attr not in {"squeeze", "reshape", "ravel", "T"}:
            return
        node, parent = parent, above.get(parent)
    if isinstance(parent, ast.Return) and scope.function is not None and name != "jax.value_and_grad":
        yield scope.function.name
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if name == "jax.value_and_grad":
            if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Name):
                yield target.elts[1].id
        elif isinstance(target, ast.Name):
            yield target.id


def _gives(function: str, of: str) -> bool:
    """Say whether a function may be the solution of an equation that a name has the derivative of."""
    return of == function[:1].lower() or (of in _SOLUTIONS and (not function or bool(_NETWORKS.search(function))))


def _later(word: str, names: list[str], passed: list[str], function: str) -> str | None:
    """Return the later argument that a derivative is named after; None if it may be one by the first argument.

    Args:
        word: what the derivative is called.
        names: the arguments of the function.
        passed: what is given for them; empty if that is not known.
        function: the function's name; empty if that is not known.
    """
    if len(names) < 2 or (passed and len(passed) < 2):
        return None
    first, later = names[0], {*names[1:], *passed[1:]} - {""}
    known = [one for one in (first, *passed[:1]) if _PARAMS.match(one)]
    of_model = bool(known) and (len(known) > 1 or not passed or passed[0] == "" or len(first) == 1)
    word = re.sub(r"_(fn|fun|func|f)$", "", word)
    for form in (_BY, _INDEXED, _SHORT):
        found = form.match(word)
        if found is None:
            continue
        of, by = found["of"], found["by"]
        if form is _BY:
            of = re.sub(r"^d2?_?", "", of)
        elif not of_model:
            continue
        elif len(set(by)) == 1:
            by = by[0]  # u_xx
        if (
            not of
            or by in {first, *passed[:1]}
            or (by == first[:1] and by not in later)
            or of in {first.rstrip("s"), *names, *passed}
        ):
            continue  # or what changes along with time, as `dq_dt` by Hamilton's equations
        if of != function and not (of_model and _gives(function, of.lower())):
            continue
        if by in later or f"{by}s" in later or (of_model and by in _COORDINATES):
            return by
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def u(params, x):
    return jnp.tanh(x * params["w"] + params["b"]).sum()


def residual(params, x):
    du_dx = jax.grad(u)(params, x)
    return du_dx + u(params, x)
"""

RULE = lint_rule(
    "NNX943",
    "parameter-derivative",
    "a derivative by one argument that is taken by another",
    why="""\
`jax.grad` differentiates with respect to the first argument unless `argnums` says another. The derivative of a network
`u(params, x)` by its parameters has their form, and in the residual of an equation it is broadcast: the loss becomes
small and the network solves nothing. The rule goes by names, as `du_dx`, `dudt` or `u_t`.
""",
    source="JAX documentation on jax.grad; measured: the gradients of the parameters",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jax.grad(u)", "jax.grad(u, argnums=1)"), _BAD.replace("du_dx", "du_dparams")),
)
