"""Results of JAX's own functions, unpacked under each other's names; part of NNX532."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_VALUES = pattern(r"^(eig|e|\w+_)?(vals?|values)$|^(lambdas?|eigs)$", re.I)
_VECTORS = pattern(r"^(eig|e|\w+_)?(vecs?|vectors)$|^(basis|modes)$", re.I)
_EIGEN = (("eigenvalues", _VALUES), ("eigenvectors", _VECTORS))
_SVD = (
    ("u", pattern(r"^u\d?$", re.I)),
    ("s", pattern(r"^(s|sigmas?|singular(_values)?|svals)$", re.I)),
    ("vh", pattern(r"^(vh|vt|v_h|v_t|v)$", re.I)),
)
_QR = (("q", pattern(r"^q\d?$", re.I)), ("r", pattern(r"^r\d?$", re.I)))
_DETERMINANT = (("sign", pattern(r"^(sign|sgn)\w*$", re.I)), ("logdet", pattern(r"^(log_?(abs_?)?det|ld)\w*$", re.I)))
_ORDERS = {
    **{f"{home}.eigh": _EIGEN for home in ("jax.numpy.linalg", "jax.scipy.linalg", "numpy.linalg", "scipy.linalg")},
    **{f"{home}.eig": _EIGEN for home in ("jax.numpy.linalg", "numpy.linalg")},
    **{f"{home}.svd": _SVD for home in ("jax.numpy.linalg", "jax.scipy.linalg", "numpy.linalg", "scipy.linalg")},
    **{f"{home}.qr": _QR for home in ("jax.numpy.linalg", "jax.scipy.linalg", "numpy.linalg", "scipy.linalg")},
    **{f"{home}.slogdet": _DETERMINANT for home in ("jax.numpy.linalg", "numpy.linalg")},
}
_LAST = frozenset(name.rpartition(".")[2] for name in _ORDERS)


def foreign_order(context: Context) -> Iterator[tuple[CallEvent, str, str, str]]:
    """Yield the calls whose results get each other's names, with a variable, what it gets, and the right order.

    Args:
        context: the analysis.
    """
    for event in context.bodies.unpacked:
        word = last_word(event.node.func)
        if word not in _LAST or event.scope.module not in context.asked or in_test(event.scope):
            continue
        name = context.flow.calls.name(event)
        order = _ORDERS.get(name, ())
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        assert isinstance(target, ast.Tuple)
        names = [named(one) for one in target.elts]
        if len(names) != len(order):
            continue
        meant = [next((i for i, (_, known) in enumerate(order) if known.search(one)), None) for one in names]
        every = [*range(len(order))]
        if meant != every and sorted(-1 if one is None else one for one in meant) == every:
            place = next(i for i, other in enumerate(meant) if i != other)
            yield event, names[place], order[place][0], f"{', '.join(one for one, _ in order)} = {word}(...)"
