"""NNX938: equations that are solved with the empty triangle of a factor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import one_source, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import own_stores
from codemods.nnx.lint.places import each, foreign, in_test, resolved
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Value

_LOWER, _UPPER = "lower", "upper"
# where the flag may stand that says which triangle is read
_SOLVERS = {
    "jax.scipy.linalg.solve_triangular": 3,
    "scipy.linalg.solve_triangular": 3,
    "jax.lax.linalg.triangular_solve": -1,
}
_SOLVES_FACTORED = frozenset({"jax.scipy.linalg.cho_solve", "scipy.linalg.cho_solve"})
# factors: the triangle that they have unless an argument says the other, the place and the name of that
_FACTORS = {
    "jax.numpy.linalg.cholesky": (_LOWER, -1, _UPPER),
    "numpy.linalg.cholesky": (_LOWER, -1, _UPPER),
    "jax.lax.linalg.cholesky": (_LOWER, -1, ""),
    "jax.scipy.linalg.cholesky": (_UPPER, 1, _LOWER),
    "scipy.linalg.cholesky": (_UPPER, 1, _LOWER),
    "jax.numpy.tril": (_LOWER, -1, ""),
    "jax.numpy.triu": (_UPPER, -1, ""),
}
# those that give several, with the place of the factor
_PAIRS = {
    "jax.scipy.linalg.cho_factor": (0, (_UPPER, 1, _LOWER)),
    "scipy.linalg.cho_factor": (0, (_UPPER, 1, _LOWER)),
    "jax.numpy.linalg.qr": (1, (_UPPER, -1, "")),
}
_TURNED = {_LOWER: _UPPER, _UPPER: _LOWER}
_TURNING = frozenset({"T", "mT", "transpose", "matrix_transpose"})
_SAME = frozenset({"conj", "conjugate", "stop_gradient"})
_DEPTH = 8


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "solve_triangular", "triangular_solve", "cho_solve"):
        if event.value.starred or in_test(event.scope):
            continue
        given = _solved(context, event, name)
        if given is None:
            continue
        factor, flag = given
        has = _triangle(context, factor, 0)
        reads = _LOWER if flag else _UPPER
        if has and has != reads:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the factor is {has} triangular, and `{last(name)}` reads its {reads} triangle, which is empty",
                f"say lower={not flag}" if name not in _SOLVES_FACTORED else f"give it (factor, {not flag})",
            )
    yield from _colored(context)


def _colored(context: Context) -> Iterator[Finding]:
    """Find normal noise that is multiplied by the factor of a covariance from the side of the other triangle."""
    modules = {module for module in context.asked.modules if module.source.mentions(b"cholesky")}
    for scope, left, right, node in _products(context, modules):
        if in_test(scope):
            continue
        turned = not _is_noise(context, left, scope)
        if turned and not _is_noise(context, right, scope):
            continue
        written = left if turned else right
        factor = scope.module.values.get(written)
        if factor is None or not isinstance(written, ast.Name | ast.Attribute | ast.Call):
            continue
        made = context.flow.here(factor, scope)
        wrong = _UPPER if turned else _LOWER
        if _triangle(context, made, 0) != wrong or not _of_cholesky(context, made, 0) or _of_diagonal(context, made):
            continue  # the factor of a diagonal matrix is the same when it is turned round
        text = ast.unparse(written)
        yield finding(
            RULE.code,
            scope,
            node,
            "noise that follows the upper factor has the covariance U @ U.T, and not U.T @ U"
            if turned
            else "rows of noise times the lower factor have the covariance L.T @ L, and not L @ L.T",
            f"multiply by its transpose: {text.removesuffix('.T') if text.endswith('.T') else text + '.T'}",
        )


def _products(context: Context, modules: set[ModuleFacts]) -> Iterator[tuple[Scope, ast.expr, ast.expr, ast.expr]]:
    """Yield the products of matrices: the scope, both operands and the product."""
    for scope, node in each(context, ast.BinOp) if modules else ():
        if isinstance(node.op, ast.MatMult) and scope.module in modules:
            yield scope, node.left, node.right, node
    for event, name in foreign(context, "dot", "matmul") if modules else ():
        pair = event.node.args
        if name in _PRODUCTS and len(pair) == 2 and not event.value.starred and event.scope.module in modules:
            yield event.scope, pair[0], pair[1], event.node


def _is_noise(context: Context, node: ast.expr, scope: Scope) -> bool:
    noise = resolved(context, node, scope)
    return noise is not None and isinstance(noise.value, Call) and context.flow.calls.callee_name(noise) in _NORMAL


def _of_cholesky(context: Context, factor: Bound, depth: int) -> bool:
    """Say whether a matrix is the factor of a positive one, or that turned round, on every way."""
    found = [*context.sources.originals(factor)] if depth < _DEPTH else []
    for one in found:
        if isinstance(one.value, Call) and last(context.flow.calls.callee_name(one)) == "cholesky":
            continue
        inner: Value | None = None
        if isinstance(one.value, Attr) and one.value.name in _TURNING:
            inner = one.value.base
        elif isinstance(one.value, Call):
            bare = same_numbers(context, one)
            method = isinstance(one.value.callee, Attr) and not one.value.callee.of_global
            if bare is not None:
                inner = bare.value
            elif method and isinstance(one.value.callee, Attr):
                inner = one.value.callee.base
            elif one.value.args:
                inner = one.value.args[0]
        if inner is None or not _of_cholesky(context, context.flow.with_value(one, inner), depth + 1):
            return False
    return bool(found)


def _of_diagonal(context: Context, factor: Bound) -> bool:
    """Say whether a factor is that of a matrix which is diagonal as it is written out, on every way."""
    found = [*context.sources.originals(factor)]
    return bool(found) and all(_diagonal(context, one) for one in found)


def _diagonal(context: Context, source: Bound) -> bool:
    value = source.value
    if not isinstance(value, Call) or not value.args or context.flow.calls.callee_name(source) not in _FACTORS:
        return False
    given = context.flow.resolve(context.flow.with_value(source, value.args[0]))
    matrices = own_stores(context, given.value) if isinstance(given.value, Attr) else []
    matrices = matrices or [*context.sources.originals(given)]
    return bool(matrices) and all(
        isinstance(one.value, Call) and _written_diagonal(one.value, last(context.flow.calls.callee_name(one)))
        for one in matrices
    )


def _written_diagonal(made: Call, word: str) -> bool:
    """Say whether a call makes a diagonal matrix, also of rows that are written out with zeros beside the diagonal."""
    if word in {"eye", "identity", "diag"}:
        return len(made.args) == 1 and not made.keywords
    rows = made.node.args[0] if word in {"array", "asarray"} and made.node.args else None
    if not isinstance(rows, ast.List | ast.Tuple):
        return False
    return all(
        isinstance(row, ast.List | ast.Tuple)
        and len(row.elts) == len(rows.elts)
        and all(constant(cell) == 0 for j, cell in enumerate(row.elts) if j != i)
        for i, row in enumerate(rows.elts)
    )


_PRODUCTS = frozenset(f"{home}.{word}" for home in ("jax.numpy", "numpy") for word in ("dot", "matmul"))
_NORMAL = frozenset({"jax.random.normal", "numpy.random.normal", "numpy.random.randn", "numpy.random.standard_normal"})


def _solved(context: Context, event: CallEvent, name: str) -> tuple[Bound, bool] | None:
    """Return the factor of equations and whether its lower triangle is read; None where that is not known."""
    call = context.flow.here(event.value, event.scope)
    if name in _SOLVES_FACTORED:
        pair = event.value.argument(0, "c_and_lower")
        made = one_source(context, context.flow.with_value(call, pair)) if pair is not None else None
        if made is None or not isinstance(made.value, Sequence) or len(made.value.items) != 2:
            return None
        flag = _flag(context, context.flow.with_value(made, made.value.items[1]))
        return (context.flow.with_value(made, made.value.items[0]), flag) if flag is not None else None
    if name not in _SOLVERS:
        return None
    factor = event.value.argument(0, "a")
    if factor is None:
        return None
    said = event.value.argument(_SOLVERS[name], _LOWER)
    flag = _flag(context, context.flow.with_value(call, said)) if said is not None else False
    return (context.flow.with_value(call, factor), flag) if flag is not None else None


def _flag(context: Context, bound: Bound) -> bool | None:
    found = context.flow.resolve(bound).value
    known = isinstance(found, Const) and isinstance(found.value, bool | int)
    return bool(found.value) if isinstance(found, Const) and known else None


def _triangle(context: Context, bound: Bound, depth: int) -> str:
    """Return which triangle of a matrix has all of its numbers; empty if that is not known."""
    if depth > _DEPTH:
        return ""
    found = {_made(context, source, depth) for source in context.sources.originals(bound)}
    return found.pop() if len(found) == 1 else ""


def _made(context: Context, source: Bound, depth: int) -> str:
    flow, value = context.flow, source.value
    if isinstance(value, Attr) and value.name in _TURNING:
        return _TURNED.get(_triangle(context, flow.with_value(source, value.base), depth + 1), "")
    if isinstance(value, Item | Indexed):
        return _part(context, source, value)
    if not isinstance(value, Call) or value.starred:
        return ""
    name = flow.calls.callee_name(source)
    if name in _FACTORS:
        return _said(context, source, value, _FACTORS[name])
    inner = same_numbers(context, source)
    if inner is not None and not _reshaped(value):
        return _triangle(context, inner, depth + 1)
    base: Value | None = value.callee.base if isinstance(value.callee, Attr) and not name else None
    given = (*value.args[:1],) if name.startswith(("jax.numpy.", "numpy.", "jax.lax.")) else ()
    word = last(name) or (value.callee.name if isinstance(value.callee, Attr) else "")
    if base is None and given:
        base = given[0]
    if base is None or word not in _TURNING | _SAME | {"swapaxes"} or (word == "transpose" and not _matrix(value)):
        return ""
    triangle = _triangle(context, flow.with_value(source, base), depth + 1)
    if word == "swapaxes" and not _of_last_axes(value):
        return ""
    return triangle if word in _SAME else _TURNED.get(triangle, "")


def _reshaped(call: Call) -> bool:
    node = call.node.func
    word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return word in {"reshape", "ravel", "flatten", "repeat", "tile", "squeeze", "expand_dims", "broadcast_to"}


def _matrix(call: Call) -> bool:
    """Say whether a transpose is told no axes."""
    method = isinstance(call.callee, Attr) and not call.callee.of_global
    return len(call.args) == int(not method) and not call.keywords


def _of_last_axes(call: Call) -> bool:
    axes = [one.value for one in call.args[-2:] if isinstance(one, Const)]
    return axes in ([-1, -2], [-2, -1])


def _part(context: Context, source: Bound, value: Item | Indexed) -> str:
    """Return the triangle of the factor that is one of several results."""
    index = value.index.value if isinstance(value, Indexed) else value.index
    whole = one_source(context, context.flow.with_value(source, value.base))
    if whole is None or not isinstance(whole.value, Call) or whole.value.starred:
        return ""
    pair = _PAIRS.get(context.flow.calls.callee_name(whole))
    if pair is None or not isinstance(index, Const) or index.value != pair[0]:
        return ""
    return _said(context, whole, whole.value, pair[1])


def _said(context: Context, source: Bound, value: Call, factor: tuple[str, int, str]) -> str:
    """Return the triangle that a factor has by its arguments."""
    usual, place, name = factor
    if not name:
        return usual if len(value.args) + len(value.keywords) == 1 else ""
    said = value.argument(place, name)
    if said is None:
        return usual
    flag = _flag(context, context.flow.with_value(source, said))
    return "" if flag is None else name if flag else _TURNED[name]


_BAD = """\
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def whitened(gram, y):
    chol = jnp.linalg.cholesky(gram)
    return solve_triangular(chol, y)


print(whitened(jnp.array([[2.0, 1.0], [1.0, 2.0]]), jnp.ones(2)))
"""

RULE = lint_rule(
    "NNX938",
    "wrong-triangle",
    "equations that are solved with the triangle of a factor that is empty",
    why="""\
`jnp.linalg.cholesky` gives a lower triangular matrix, `jax.scipy.linalg.cholesky` an upper one, and `solve_triangular`
reads the upper triangle unless it is told `lower=True`. The other triangle is not looked at: with the wrong one only
the diagonal is left, and the solution is another one, without an error.
""",
    source="SciPy issue 17476; measured on JAX 0.6.2, 0.7.2 and 0.10.2: another solution, without an error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(chol, y)", "(chol, y, lower=True)"),),
)
