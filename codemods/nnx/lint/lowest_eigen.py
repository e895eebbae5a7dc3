"""The first of the ascending eigenvalues, taken for the largest; part of NNX582."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from re import Pattern

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.around import around
from codemods.nnx.lint.formula import at, binary, one_source, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item

_ASCENDING = frozenset(
    f"{home}.{word}"
    for home in ("jax.numpy.linalg", "jax.scipy.linalg", "numpy.linalg", "scipy.linalg")
    for word in ("eigh", "eigvalsh")
)
_PCA = pattern(r"(^|_)k?pca|principal")
_TOP = pattern(
    r"(^|_)(n_?)?(pca|principal|pcs?|components?|leading|top|dominant|largest|explained|loadings?)(_?[k\d])?(_|$)"
)
_LARGEST = pattern(r"(^|_)(l(am(bda)?)?_?max|max_?eig\w*|eig\w*_?max|largest\w*|spectral_(norm|radius))(_|$)")
_SMALLEST = pattern(r"(^|_)(l(am(bda)?)?_?min|min_?eig\w*|eig\w*_?min|smallest\w*)(_|$)")
_CONDITION = pattern(r"(^|_)(cond|condition|condition_number|cond_number|cond_num|kappa)(_|$)")
_LOW = pattern(
    r"(^|_)(small\w*|min\w*|null\w*|normals?|nois\w*|bottom|resid\w*|low\w*|discard\w*|rest|last|orth\w*|sigma2?)(_|$)"
)
_COVARIANCES = frozenset(f"{home}.{word}" for home in ("jax.numpy", "numpy") for word in ("cov", "corrcoef"))
_SPREAD = pattern(r"(^|_)(cov|covs|covariance|scatter|correlation|corr)(_|$)")
_SPOKEN = (_PCA, _TOP, _LARGEST, _SMALLEST, _CONDITION)
_DEPTH = 6


def lowest_eigen(context: Context) -> Iterator[tuple[Scope, ast.expr, str, str]]:
    """Yield what takes the wrong end of ascending eigenvalues, or of the vectors that belong to them."""
    modules = {one for one in context.asked.modules if one.source.mentions(b"eigh") or one.source.mentions(b"eigvalsh")}
    for scope, node in each(context, ast.Subscript) if modules else ():
        if scope.module not in modules or not isinstance(node.ctx, ast.Load) or in_test(scope):
            continue
        parts = elements(node.slice)
        if len(parts) > 1 and not _of_columns(parts):
            continue
        near, wide = _words(context, node, scope)
        words = near | wide
        if not any(_named(words, kind) for kind in _SPOKEN) or (_named(words, _LOW) and not _named(near, _SMALLEST)):
            continue
        made = _made(context, node.value, scope)  # the dearest question last
        if made is None:
            continue
        call, place = made
        if place == 1 and _of_columns(parts) and _taken_first(parts[-1]):
            if _named(wide, _PCA) or (_named(words, _TOP) and _is_spread(context, call)):
                if not _negated(context, call):
                    yield (
                        scope, node, "eigh gives the eigenvectors by ascending eigenvalues: these belong to the "
                        "smallest ones", "take the last ones, the largest first: vectors[:, ::-1][:, :k]",
                    )  # fmt: skip
        elif place == 0 and len(parts) == 1:
            yield from _of_values(context, scope, node, parts[0], near, wide, call)


def _of_values(
    context: Context, scope: Scope, node: ast.Subscript, index: ast.expr, near: set[str], wide: set[str], call: Bound
) -> Iterator[tuple[Scope, ast.expr, str, str]]:
    number = constant(index)
    if _negated(context, call):
        return
    divided = around(context, scope).get(node)
    if isinstance(divided, ast.BinOp) and isinstance(divided.op, ast.Div) and number == 0 and divided.left is node:
        other = divided.right
        if isinstance(other, ast.Subscript) and constant(other.slice) == -1:
            if ast.unparse(other.value) == ast.unparse(node.value) and _named(near | wide, _CONDITION):
                yield (
                    scope, divided, "the eigenvalues ascend: this is the inverse of the condition number",
                    "divide the last by the first: values[-1] / values[0]",
                )  # fmt: skip
                return
    if isinstance(index, ast.Slice):
        if _taken_first(index) and _named(wide, _PCA) and not _named(near, _SMALLEST):
            yield (
                scope, node, "the eigenvalues ascend: these are the smallest",
                "take the last ones, the largest first: values[::-1][:k]",
            )  # fmt: skip
    elif type(number) is int and _alone(context, node, scope):
        if number == 0 and _named(near, _LARGEST) and not _named(near, _SMALLEST):
            yield scope, node, "the eigenvalues ascend: the first is the smallest", "take the last one: values[-1]"
        elif number == -1 and _named(near, _SMALLEST) and not _named(near, _LARGEST):
            yield scope, node, "the eigenvalues ascend: the last is the largest", "take the first one: values[0]"


def _named(words: set[str], kind: Pattern[str]) -> bool:
    return any(kind.search(word) for word in words)


def _made(context: Context, node: ast.expr, scope: Scope) -> tuple[Bound, int] | None:
    """Return the decomposition that a value is a result of, with the place of that: 0 for values, 1 for vectors."""
    found = one_source(context, at(context, node, scope))
    if found is None:
        return None
    value = found.value
    place: object = 0
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        place = index.value if isinstance(index, Const) else None
        found = one_source(context, context.flow.with_value(found, value.base))
    elif isinstance(value, Attr) and value.name in {"eigenvalues", "eigenvectors"}:
        place = int(value.name == "eigenvectors")
        found = one_source(context, context.flow.with_value(found, value.base))
    elif isinstance(value, Call) and not last(context.flow.calls.callee_name(found)).startswith("eigvals"):
        return None
    if found is None or not isinstance(found.value, Call) or type(place) is not int or place not in {0, 1}:
        return None
    if context.flow.calls.callee_name(found) not in _ASCENDING or not found.value.args or found.value.starred:
        return None
    return found, place


def _of_columns(parts: list[ast.expr]) -> bool:
    """Say whether an index takes columns: ``[:, ...]`` or ``[..., ...]``."""
    first = parts[0]
    whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None and first.step is None
    return len(parts) == 2 and (whole or constant(first) is Ellipsis)


def _taken_first(index: ast.expr) -> bool:
    """Say whether an index takes the first of an axis: ``:k``."""
    if not isinstance(index, ast.Slice) or index.step is not None:
        return False
    few = isinstance(index.upper, ast.Name | ast.Attribute | ast.Constant)  # `: d - k` leaves k out at the end
    return few and (index.lower is None or constant(index.lower) == 0)


def _words(context: Context, node: ast.Subscript, scope: Scope) -> tuple[set[str], set[str]]:
    """Return how what is taken is called where it is taken, and how the function and its class are called."""
    near = {word.lower() for word in names_in(node.slice)}
    above = around(context, scope)
    outer = above.get(node)
    while outer is not None and not isinstance(outer, ast.stmt):
        outer = above.get(outer)
    targets = outer.targets if isinstance(outer, ast.Assign) else []
    near |= {last_word(one).lower() for target in targets for one in elements(target)}
    function, wide = scope.function, set[str]()
    if function is not None:
        wide.add(function.name.lower())
        if isinstance(outer, ast.Return):
            near.add(function.name.lower())
        if function.owner is not None:
            wide.add(function.owner.name.lower())
    return near, wide


def _alone(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether an entry is given a name, or returned, as it is."""
    outer = around(context, scope).get(node)
    if isinstance(outer, ast.Call) and last_word(outer.func) == "float":
        outer = around(context, scope).get(outer)
    return isinstance(outer, ast.Return) or (isinstance(outer, ast.Assign) and len(outer.targets) == 1)


def _matrix(context: Context, call: Bound) -> Bound:
    assert isinstance(call.value, Call)
    return context.flow.with_value(call, call.value.args[0])


def _negated(context: Context, call: Bound) -> bool:
    """Say whether the matrix has another sign, which turns the order round, or may have."""
    assert isinstance(call.value, Call)
    node = call.value.node.args[0]
    found = one_source(context, _matrix(context, call))
    made = getattr(found.value, "node", None) if found is not None else None
    return any(isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub) for one in (node, made))


def _is_spread(context: Context, call: Bound) -> bool:
    """Say whether a matrix is a covariance, by what made it or by what it is called."""
    assert isinstance(call.value, Call)
    if _SPREAD.search(last_word(call.value.node.args[0]).lower()):
        return True
    found = one_source(context, _matrix(context, call))
    for _ in range(_DEPTH):
        if found is None:
            return False
        if isinstance(found.value, Call):
            return context.flow.calls.callee_name(found) in _COVARIANCES
        share = binary(found, ast.Div)
        if share is None:
            break
        found = one_source(context, operand(context, found, share.left))
    product = binary(found, ast.MatMult) if found is not None else None
    if product is None:
        return False
    sides = ast.unparse(product.left), ast.unparse(product.right)
    return sides[0] == f"{sides[1]}.T" or sides[1] == f"{sides[0]}.T"
