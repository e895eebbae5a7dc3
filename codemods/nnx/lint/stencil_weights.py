"""NNX550: derivatives and integrals on a grid whose weights do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_SPACING = pattern(r"^(self\.)?(d[xyzrts]|h|dh|delta_?[xyzrt]?|spacing|grid_spacing)$")
_TWO = "a central difference spans two spacings: this is twice the derivative"
_SUM = "the weights of a second derivative add up to zero: this one is not zero for a constant"
_SQUARE = "a second derivative is divided by the square of the spacing"


def _scaled(*forms: str) -> tuple[str, ...]:
    """Return formulas with those that take them times something, of whatever sign."""
    return tuple(factor + form for form in forms for factor in ("", "-", "C*", "-C*"))


_WRONG = (
    Wrong(
        _scaled(
            "(roll(U, -1) - roll(U, 1))/H",
            "(roll(U, -1, A) - roll(U, 1, A))/H",
        ),
        _TWO,
        "divide by 2 * dx",
        (b"roll(",),
        named={"H": _SPACING},
        plain="H",
    ),
    Wrong(_scaled("(U[2:] - U[:-2])/H"), _TWO, "divide by 2 * dx", (b"[2:", b"[:-2"), named={"H": _SPACING}, plain="H"),
    Wrong(
        _scaled(
            "(roll(U, 1) + roll(U, -1) - U)/H**2",
            "(roll(U, 1, A) + roll(U, -1, A) - U)/H**2",
            "(roll(U, 1, A) + roll(U, -1, A) + roll(U, 1, B) + roll(U, -1, B) - U)/H**2",
            "(roll(U, 1, A) + roll(U, -1, A) + roll(U, 1, B) + roll(U, -1, B) - 2*U)/H**2",
        ),
        _SUM,
        "take as many of the middle as there are neighbours: u[i-1] - 2 * u[i] + u[i+1]",
        (b"roll(",),
        named={"H": _SPACING},
        plain="H",
    ),
    Wrong(
        _scaled("(U[2:] + U[:-2] - U[1:-1])/H**2"),
        _SUM,
        "take the middle twice: u[:-2] - 2 * u[1:-1] + u[2:]",
        (b"[2:", b"[:-2", b"[1:-1"),
        named={"H": _SPACING},
        plain="H",
    ),
    Wrong(
        _scaled(
            "(roll(U, 1) + roll(U, -1) - 2*U)/H",
            "(roll(U, 1, A) + roll(U, -1, A) - 2*U)/H",
            "(roll(U, 1, A) + roll(U, -1, A) + roll(U, 1, B) + roll(U, -1, B) - 4*U)/H",
        ),
        _SQUARE,
        "divide by dx**2",
        (b"roll(",),
        named={"H": _SPACING},
        plain="H",
    ),
    Wrong(
        ("D*(sum(Y) - Y[0] - Y[-1])",),
        "the trapezoids have half of each end, and all else whole",
        "dx * (sum(y) - 0.5 * (y[0] + y[-1]))",
        (b"[-1]",),
        named={"D": _SPACING},
    ),
    Wrong(
        ("D*sum(Y[1:] + Y[:-1])", "sum((X[1:] - X[:-1])*(Y[1:] + Y[:-1]))", "sum(diff(X)*(Y[1:] + Y[:-1]))"),
        "a trapezoid is its width times the mean of its sides: this is twice the integral",
        "0.5 * sum(dx * (y[1:] + y[:-1]))",
        (b"[1:", b"[:-1"),
        named={"D": _SPACING},
        whole=True,
    ),
    Wrong(
        _scaled("(U[2:] + U[:-2] - 2*U[1:-1])/H"),
        _SQUARE,
        "divide by dx**2",
        (b"[2:", b"[:-2", b"[1:-1"),
        named={"H": _SPACING},
        plain="H",
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def laplacian(u, dx):
    return (jnp.roll(u, 1) + jnp.roll(u, -1) - u) / dx**2
"""

RULE = lint_rule(
    "NNX550",
    "stencil-weights",
    "a derivative or an integral on a grid whose weights do not fit",
    why="""\
Central differences divide by two spacings; second derivatives take the middle as often as there are neighbours, and
divide by the square of the spacing. With other weights the derivative of a constant is not zero, or has another size,
and the solution decays, grows or moves at another pace.
""",
    source="Fornberg, 1988; measured: the derivatives of a parabola",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("- u)", "- 2 * u)"),),
)
