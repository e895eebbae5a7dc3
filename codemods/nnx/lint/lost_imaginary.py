"""NNX600: complex numbers that are written into an array of real ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.complex_values import is_complex
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.real_values import REAL, type_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Value

_WORDS = pattern(rb"fft|complex|\dj\b")
_UPDATES = ("set", "add")
_MAKING = {"jax.numpy.zeros": 1, "jax.numpy.ones": 1, "jax.numpy.empty": 1}
_ALIKE = frozenset({"jax.numpy.zeros_like", "jax.numpy.ones_like", "jax.numpy.empty_like", "jax.numpy.full_like"})
_DRAWS = frozenset({"jax.random.normal", "jax.random.uniform"})
_DEPTH = 2


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORDS) for module in context.asked.modules):
        return
    for event in context.bodies.named(*_UPDATES):
        array = _updated(event.value)
        if event.scope.module not in context.asked or len(event.value.args) != 1 or array is None:
            continue
        if in_test(event.scope) or not is_complex(context, event.value.args[0], event.scope):
            continue
        made = _made_real(context, context.flow.here(array, event.scope), 0)
        if made is not None and isinstance(event.node.func, ast.Attribute):
            home = context.bodies.home(made)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "complex numbers are written into an array of real ones: their imaginary part is dropped",
                "make the array complex: dtype=jnp.complex64",
                related=[(made, "the array")] if home is not None and home.module is event.scope.module else [],
            )


def _made_real(context: Context, buffer: Bound, depth: int) -> ast.expr | None:
    """Return the call that makes an array of real numbers, if an array comes from such calls alone."""
    calls: list[ast.expr] = []
    for found in context.sources.originals(buffer):
        value = found.value
        if not isinstance(value, Call) or value.starred:
            return None
        name = context.flow.calls.callee_name(found)
        if name in _MAKING or name in _DRAWS:
            dtype = value.argument(_MAKING.get(name, 2), "dtype")
            if dtype is not None and type_word(context, context.flow.with_value(found, dtype)) not in REAL:
                return None
        elif name in _ALIKE and depth < _DEPTH:
            like = value.args[0] if value.args else None
            if like is None or value.keyword("dtype") is not None or len(value.args) > 2:
                return None
            if _made_real(context, context.flow.with_value(found, like), depth + 1) is None:
                return None
        elif _updated(value) is None or name:
            return None
        else:
            continue
        calls.append(value.node)
    return calls[0] if calls else None


def _updated(value: Call) -> Value | None:
    """Return the array of ``array.at[i].set(x)``."""
    place = value.callee.base if isinstance(value.callee, Attr) and value.callee.name in _UPDATES else None
    at = place.base if isinstance(place, Item) else None
    return at.base if isinstance(at, Attr) and at.name == "at" else None


_BAD = """\
import jax.numpy as jnp


def spectra(frames):
    out = jnp.zeros((len(frames), 3))
    for i, frame in enumerate(frames):
        out = out.at[i].set(jnp.fft.rfft(frame))
    return out


print(spectra([jnp.arange(4.0), jnp.ones(4)]))
"""

RULE = lint_rule(
    "NNX600",
    "lost-imaginary-part",
    "complex numbers written into an array of real ones",
    why="""\
`out.at[i].set(z)` keeps the type of `out`: of complex numbers only the real part is written, with no more than a
warning. `jnp.zeros(n)` makes an array of real numbers; one for spectra or wave functions needs `dtype=jnp.complex64`.
""",
    source="jax issues on ComplexWarning; measured on JAX 0.6.2, 0.7.2 and 0.10.2: the imaginary part is gone",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("3))\n", "3), dtype=jnp.complex64)\n"),),
)
