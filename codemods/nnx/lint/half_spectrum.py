"""NNX650: frequencies of a whole spectrum beside half of one, or the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word

_HOMES = ("jax.numpy.fft.", "numpy.fft.", "scipy.fft.", "jax.scipy.fft.")
_WHOLE = frozenset({"fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "hfft", "ihfft"})
_HALF = frozenset({"rfft", "irfft"})
_MORE = frozenset({"rfft2", "irfft2", "rfftn", "irfftn"})  # whole along all axes but the last
_FREQUENCIES = {"fftfreq": _HALF, "rfftfreq": frozenset({"fft", "ifft"})}


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"fftfreq") for module in context.asked.modules):
        return
    calls: dict[Scope, dict[str, list[CallEvent]]] = {}
    for event, name in foreign(context, *_WHOLE, *_HALF, *_MORE, *_FREQUENCIES):
        if name.startswith(_HOMES):
            calls.setdefault(event.scope, {}).setdefault(last(name), []).append(event)
    for scope, found in calls.items():
        if scope.function is None or in_test(scope):
            continue
        transforms = found.keys() - _FREQUENCIES.keys()
        for word, other in _FREQUENCIES.items():
            if len(found.get(word, ())) != 1 or not transforms or not transforms <= other:
                continue
            event, transform = found[word][0], found[min(transforms)][0]
            if other is _HALF and _halved(context, event):
                continue
            right = "rfftfreq" if word == "fftfreq" else "fftfreq"
            yield finding(
                RULE.code,
                scope,
                event.node,
                f"`{word}` has the frequencies of {'a whole' if other is _HALF else 'half of a'} spectrum, and "
                f"`{last_word(transform.node.func)}` gives {'half of one' if other is _HALF else 'a whole one'}",
                f"take {right}",
                related=[(transform.node, "transformed here")],
            )


def _halved(context: Context, event: CallEvent) -> bool:
    """Say whether the half that belongs to a real transform is cut out of the frequencies, or looked for in them."""
    statement = event.statement
    if any(isinstance(n, ast.Subscript) and inside(event.node, n.value) for n in ast.walk(statement)):
        return True
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or statement.value is not event.node:
        return True
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == target.id
        for n in context.bodies.nodes(event.scope)
    )


_BAD = """\
import jax.numpy as jnp


def spectrum(x, dt):
    power = jnp.abs(jnp.fft.rfft(x)) ** 2
    return jnp.fft.fftfreq(x.shape[0], dt), power
"""

RULE = lint_rule(
    "NNX650",
    "half-spectrum",
    "frequencies of a whole spectrum for half of one, or of half of one for a whole",
    why="""\
`rfft` of n real numbers gives the n // 2 + 1 frequencies that are not negative, which `rfftfreq` names; `fftfreq`
names all n of them, half of them negative, as `fft` gives them. The lengths differ, and where only a part of both is
read each number stands at a wrong frequency beyond the middle.
""",
    source="numpy.fft.rfftfreq; measured on JAX 0.7.2 and 0.10.2: shapes that do not fit",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("fft.fftfreq", "fft.rfftfreq"),),
)
