"""NNX569: a spectrum in the order of ``fft`` times frequencies in that of ``fftshift``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown

_FREQUENCIES = frozenset({"fftfreq"})
_TRANSFORMS = frozenset({"fft", "fft2", "fftn"})
# functions of each element by itself
_EACH = frozenset({"abs", "absolute", "array", "asarray", "conj", "conjugate", "cos", "exp", "expand_dims", "negative"}
                  | {"power", "reciprocal", "sin", "sqrt", "square", "squeeze", "multiply", "outer"})  # fmt: skip
_METHODS = frozenset({"astype", "conj", "reshape"})
_DEPTH = 10


class _Order(NamedTuple):
    """In which order the entries of an array in Fourier space are.

    Attributes:
        shifted: whether the lowest frequencies are in the middle, as ``fftshift`` puts them.
        spectrum: whether it is the transform of something.
    """

    shifted: bool
    spectrum: bool


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"fftshift") for module in context.project.modules):
        return
    orders = _Orders(context)
    told: set[ast.expr] = set()
    for scope, node, left, right in _pairs(context):
        if not scope.module.source.mentions(b"fft") or in_test(scope):
            continue
        one, other = (orders.of(at(context, side, scope), 0) for side in (left, right))
        if one is None or other is None or one.shifted is other.shifted or not (one.spectrum or other.spectrum):
            continue
        if any(inner in told for inner in ast.walk(node)):
            continue
        told.add(node)
        shifted, plain = (left, right) if one.shifted else (right, left)
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{ast.unparse(shifted)}` is in the order of fftshift, and `{ast.unparse(plain)}` in that of fft: each "
            "entry meets another frequency",
            "leave out fftshift, which is for plots, or shift both and ifftshift the product",
        )


def _pairs(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr, ast.expr]]:
    """Yield products and quotients with their sides, and ``jnp.where(mask, x, 0)`` with mask and choice."""
    for scope, node in each(context, ast.BinOp):
        if isinstance(node.op, ast.Mult | ast.Div):
            yield scope, node, node.left, node.right
    for event, name in foreign(context, "where"):
        if name == "jax.numpy.where" and len(event.node.args) == 3:
            mask, *ways = event.node.args
            chosen = [one for one in ways if not isinstance(one, ast.Constant)]
            if len(chosen) == 1:
                yield event.scope, event.node, mask, chosen[0]


class _Orders:
    """Tells the orders of arrays in Fourier space."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[Bound, _Order | None] = {}

    def of(self, bound: Bound, depth: int) -> _Order | None:
        """Return the order of an array; None if it is not known, or of what has none."""
        if depth > _DEPTH:
            return None
        if bound not in self._known:
            self._known[bound] = None  # of what is made of itself nothing is known
            sources = [*self._context.sources.originals(bound)]
            found = {self._made(one, depth + 1) for one in sources[:4]}
            self._known[bound] = found.pop() if len(found) == 1 and len(sources) < 5 else None
        return self._known[bound]

    def _made(self, bound: Bound, depth: int) -> _Order | None:
        value, with_value = bound.value, self._context.flow.with_value
        if isinstance(value, Item | Indexed):
            return self._part(bound, value, depth)
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            sides = (operand(self._context, bound, side) for side in (value.node.left, value.node.right))
            return _joined([self.of(one, depth) for one in sides])
        if isinstance(value, Unknown) and isinstance(value.node, ast.Compare):
            return self.of(operand(self._context, bound, value.node.left), depth)
        if isinstance(value, Unknown) and isinstance(value.node, ast.UnaryOp):
            return self.of(operand(self._context, bound, value.node.operand), depth)
        if not isinstance(value, Call) or value.starred:
            return None
        name, callee = self._context.flow.calls.callee_name(bound), value.callee
        if not name and isinstance(callee, Attr):
            return self.of(with_value(bound, callee.base), depth) if callee.name in _METHODS else None
        if not name.startswith(("jax.numpy.", "numpy.", "jax.scipy.", "scipy.")) or not value.args:
            return None
        word = last(name)
        if ".fft." in name:
            if word in _FREQUENCIES | _TRANSFORMS:
                return _Order(False, word in _TRANSFORMS)
            if word not in {"fftshift", "ifftshift"} or len(value.args) > 1 or value.keyword("axes") is not None:
                return None
            inner = self.of(with_value(bound, value.args[0]), depth)
            turned = inner is not None and inner.shifted is (word == "ifftshift")
            return inner._replace(shifted=not inner.shifted) if inner is not None and turned else None
        if word not in _EACH:
            return None
        return _joined([self.of(with_value(bound, one), depth) for one in value.args[:2]])

    def _part(self, bound: Bound, value: Item | Indexed, depth: int) -> _Order | None:
        """Return the order of ``k[:, None]``, or of one of the arrays that ``meshgrid`` gives."""
        base = self._context.flow.follow(bound, value.base)
        index = value.index.value if isinstance(value, Indexed) else value.index
        if isinstance(base.value, Call) and last(self._context.flow.calls.callee_name(base)) == "meshgrid":
            given = [self.of(self._context.flow.with_value(base, one), depth) for one in base.value.args]
            return given[0] if given and len(set(given)) == 1 else None
        parts = index.items if isinstance(index, Sequence) else (index,)
        whole = all(one == Const(None) or _everything(one) for one in parts)
        return self.of(base, depth) if whole else None


def _everything(part: object) -> bool:
    """Say whether a part of an index takes all: ``:`` or ``...``."""
    if part == Const(Ellipsis):
        return True
    node = part.node if isinstance(part, Unknown) else None
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def _joined(orders: list[_Order | None]) -> _Order | None:
    """Return the order of what is made of several arrays and numbers; None where two differ."""
    known = [one for one in orders if one is not None]
    if not known or len({one.shifted for one in known}) > 1:
        return None
    return _Order(known[0].shifted, any(one.spectrum for one in known))


_BAD = """\
import jax.numpy as jnp


def slope(u, length):
    n = u.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftshift(jnp.fft.fftfreq(n, d=length / n))
    return jnp.fft.ifft(1j * k * jnp.fft.fft(u)).real


print(slope(jnp.sin(jnp.linspace(0.0, 6.0, 8)), 6.0))
"""

RULE = lint_rule(
    "NNX569",
    "shifted-frequencies",
    "a spectrum in the order of fft beside frequencies in that of fftshift",
    why="""\
`fft` and `fftfreq` begin at frequency zero and end with the negative ones. `fftshift` puts zero into the middle, which
plots want. A product of an array in one order and one in the other multiplies each entry by another frequency: a
derivative, a filter or a convolution of something else.
""",
    source="Stack Overflow, on derivatives by the FFT; measured: the derivative of a sine is off by half the grid",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.fft.fftshift(jnp.fft.fftfreq(n, d=length / n))", "jnp.fft.fftfreq(n, d=length / n)"),),
)
