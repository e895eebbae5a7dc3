"""NNX557: the farthest point where the nearest is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

# what is turned round, or is a likeness, is meant
_DISTANCE = pattern(r"^(?!-)(?!.*(sim|1 -|1\.0 -|exp\(|/)).*(dist|norm\(|\*\* ?2|square\()")
_NEAREST = pattern(r"nearest|closest|assign(ment)?s?\b|knn|k_nearest|neighbou?rs?\b|quantiz|codebook")
_WRONG = (
    Wrong(
        ("argmax(D)",),
        "the greatest distance is that of the farthest",
        "argmin of the distances",
        (b"argmax",),
        _NEAREST,
        {"D": _DISTANCE},
        plain="D",
    ),
    Wrong(
        ("top_k(D)",),
        "top_k gives the greatest distances, which are those of the farthest",
        "top_k(-distances, k)",
        (b"top_k",),
        _NEAREST,
        {"D": _DISTANCE},
        plain="D",
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def nearest_center(points, centers):
    distances = jnp.sum((points[:, None] - centers[None]) ** 2, axis=-1)
    return jnp.argmax(distances, axis=1)
"""

RULE = lint_rule(
    "NNX557",
    "farthest-for-nearest",
    "the farthest point where the nearest is wanted",
    why="""\
`argmax` and `top_k` find the greatest numbers, which among distances are those of the farthest points: each point is
assigned to the center that it belongs to least, and a quantizer picks the worst of its codes.
""",
    source="Lloyd, 1982; van den Oord and others, 2017; measured: the farthest centers",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("argmax", "argmin"),),
)
