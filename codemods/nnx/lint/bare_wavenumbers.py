"""NNX967: frequencies in cycles where a derivative takes wavenumbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Sequence, Unknown

_FREQUENCIES = frozenset(
    f"{home}.fft.{word}" for home in ("jax.numpy", "numpy", "scipy") for word in ("fftfreq", "rfftfreq")
)
_FORWARD = pattern(r"r?fft[2n]?")
_BACK = pattern(r"ir?fft[2n]?")
# variables of transforms, by their names
_SPECTRUM = pattern(r"hat(_|$)|(^|_)fft|fft(_|$)|(^|_)ft(_|$)|_f$|_k$|spec|tilde|uh$|vh$", re.I)
_FACTOR = pattern(r"^(nu|visc\w*|kappa|diffusivity|d)$", re.I)
_CIRCLE = pattern(r"\bpi\b|\btau\b|two_?pi|2pi", re.I)
_COPYING = frozenset({"asarray", "array", "fftshift", "ifftshift", "reshape", "expand_dims", "astype"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"fftfreq") for module in context.project.modules):
        return
    told: set[ast.AST] = set()
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or in_test(scope):
            continue
        whole = around(context, scope).get(node)
        if isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult):
            continue
        made = _derivative(context, node, scope)
        if made is None or made in told or _turned(context, node, scope):
            continue
        told.add(made)
        home = context.bodies.home(made)
        name = last_word(made.func)
        yield finding(
            RULE.code,
            home if home is not None else scope,
            made,
            f"`{name}` counts cycles, and the derivative in line {node.lineno} takes 2 pi times as much",
            f"write 2 * jnp.pi * jnp.fft.{name}(n, d=dx)",
            related=[(node, "used here")],
        )


def _derivative(context: Context, node: ast.BinOp, scope: Scope) -> ast.Call | None:
    """Return the call that makes the frequencies of ``1j * k * u_hat`` or ``-(k**2) * u_hat``."""
    factors = [inner for one in operands(node, ast.Mult) for inner in _unsigned(one)]
    imaginary = [one for one in factors if isinstance(constant(one), complex)]
    squared = not imaginary
    if len(imaginary) > 1 or len(factors) > 5:
        return None
    found: ast.Call | None = None
    spectrum = False
    for one in factors:
        if isinstance(constant(one), int | float | complex):
            continue
        base = one
        if squared and isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow) and constant(one.right) == 2:
            base = one.left
        made = _frequencies(context, base, scope) if base is not one or not squared else None
        if made is not None and found is None:
            found = made
        elif _transform(context, one, scope):
            spectrum = True
        elif not _FACTOR.fullmatch(entry_word(one)):
            return None
    back = around(context, scope).get(node)
    inverse = isinstance(back, ast.Call) and _BACK.fullmatch(last_word(back.func)) is not None
    return found if spectrum or (inverse and bool(imaginary)) else None


def _unsigned(node: ast.expr) -> list[ast.expr]:
    """Return the factors of an expression without its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [part for one in operands(node.operand, ast.Mult) for part in _unsigned(one)]
    return [node]


def _transform(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the Fourier transform of something, by what makes it or by its name."""
    made = written(context, node, scope)
    if isinstance(made, ast.Call):
        return _FORWARD.fullmatch(last_word(made.func)) is not None
    return _SPECTRUM.search(entry_word(node)) is not None


def _frequencies(context: Context, node: ast.expr, scope: Scope) -> ast.Call | None:
    """Return the one call of ``fftfreq`` that gives an array, whose spacing is a length."""
    value = scope.module.values.get(node)
    if value is None or isinstance(node, ast.Constant):
        return None
    calls = _sources(context, context.flow.here(value, scope), 0)
    return calls[0] if len(calls) == 1 and _in_cycles(context, calls[0]) else None


def _sources(context: Context, bound: Bound, depth: int) -> list[ast.Call]:
    """Return the calls of ``fftfreq`` that an array comes from; nothing if it may come from anything else."""
    found: dict[ast.Call, None] = {}
    sources = context.sources.originals(bound)
    for source in sources:
        value = source.value
        if isinstance(value, Item | Indexed) and depth < _DEPTH:
            base = context.flow.resolve(context.flow.with_value(source, value.base))
            given = [base]
            if isinstance(base.value, Call) and last(context.flow.calls.callee_name(base)) == "meshgrid":
                given = [context.flow.with_value(base, one) for one in base.value.args]
            elif not _whole(value):
                return []
            parts = [_sources(context, one, depth + 1) for one in given]
            if not parts or not all(parts):
                return []
            found |= dict.fromkeys(parts[0])
            continue
        if not isinstance(value, Call) or value.starred:
            return []
        name = context.flow.calls.callee_name(source)
        if name in _FREQUENCIES:
            found[value.node] = None
        elif last_word(value.node.func) in _COPYING and value.args and depth < _DEPTH and name:
            inner = _sources(context, context.flow.with_value(source, value.args[0]), depth + 1)
            if not inner:
                return []
            found |= dict.fromkeys(inner)
        else:
            return []
    return list(found)


def _whole(value: Item | Indexed) -> bool:
    """Say whether an index only gives an array more axes: ``k[:, None]``."""
    index = value.index.value if isinstance(value, Indexed) else value.index
    parts = index.items if isinstance(index, Sequence) else (index,)
    return all(one == Const(None) or (isinstance(one, Unknown) and isinstance(one.node, ast.Slice)) for one in parts)


def _in_cycles(context: Context, call: ast.Call) -> bool:
    """Say whether the frequencies are cycles for a unit of length: not whole numbers, and not by another unit."""
    scope = context.bodies.home(call)
    spacing = argument(call, 1, "d")
    if scope is None or not call.args:
        return False
    if spacing is None:
        return False  # of a grid that counts its points
    made = written(context, spacing, scope)
    if _CIRCLE.search(ast.unparse(spacing)):
        return False
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
        if constant(made.left) == 1 or _CIRCLE.search(ast.unparse(made.right)):
            return False
    return True


def _turned(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether the statement of a derivative, or one that reads what it gives, puts the circle in."""
    above = around(context, scope)
    inner: ast.AST = node
    while not isinstance(inner, ast.stmt) and inner in above:
        inner = above[inner]
    if _CIRCLE.search(ast.unparse(inner)):
        return True
    given = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    readers = (
        statement
        for statement in context.bodies.nodes(scope)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr)
    )
    return bool(given) and any(given & names_in(one) and _CIRCLE.search(ast.unparse(one)) for one in readers)


_BAD = """\
import jax.numpy as jnp


def slope(u, dx):
    k = jnp.fft.rfftfreq(u.shape[0], d=dx)
    return jnp.fft.irfft(1j * k * jnp.fft.rfft(u), n=u.shape[0])


print(slope(jnp.sin(jnp.linspace(0.0, 6.0, 8)), 0.75))
"""

RULE = lint_rule(
    "NNX967",
    "cycles-for-wavenumbers",
    "a derivative in Fourier space with frequencies in cycles",
    why="""\
`fftfreq` gives cycles for a unit of length. The derivative of `exp(2j * pi * f * x)` has the factor `2j * pi * f`: with
`1j * f` each derivative is smaller by 2 pi, and a second one by about 40.
""",
    source="pull request 14 of a public project of plasma physics; measured: derivatives that are too small by 2 pi",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("k = jnp", "k = 2 * jnp.pi * jnp"),),
)
