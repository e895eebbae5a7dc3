"""What light loses along a ray, in its usual wrong form; part of NNX552."""

from __future__ import annotations

from codemods.nnx.lint.known_formulas import Wrong
from codemods.nnx.patterns import pattern

RENDERING = (
    Wrong(
        ("A*cumprod(1 - A)",),
        "what reaches a sample is what those before it let through, without its own share",
        "alpha * cumprod(concatenate([ones, 1 - alpha]))[:-1]",
        (b"cumprod",),
        named={"A": pattern(r"alpha|opacit")},
    ),
    Wrong(
        ("1 - exp(S*D)",),
        "what is absorbed is one less the exponential of minus the depth: this is negative",
        "1 - exp(-sigma * delta)",
        (b"exp(",),
        named={"S": pattern(r"sigma|densit|tau"), "D": pattern(r"delta|dist|step|dt")},
        plain="SD",
    ),
)
