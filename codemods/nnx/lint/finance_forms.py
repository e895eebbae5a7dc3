"""Prices, their drift and what is paid later, each in its usual wrong form; part of NNX552."""

from __future__ import annotations

from codemods.nnx.lint.known_formulas import Wrong
from codemods.nnx.patterns import pattern

FINANCE = (
    Wrong(
        ("S*exp(M*T + V*sqrt(T)*Z)",),
        "the mean of what grows so is too great by exp(sigma**2 * t / 2): the drift loses half of the variance",
        "s * exp((mu - 0.5 * sigma**2) * dt + sigma * sqrt(dt) * z)",
        (b"exp(", b"sqrt("),
        pattern(r"gbm|geometric|stock|asset|price|spot"),
        {"V": pattern(r"sigma|vol"), "M": pattern(r"^(self\.)?(mu|r|rate|drift)$")},
        {"M": pattern(r"0?\.5|/ 2|\*\*|square|half|var|ito")},  # the loss is in it
    ),
    Wrong(
        ("(log(S/K) + (R - 0.5*V**2)*T)/(V*sqrt(T))",),
        "d1 of Black and Scholes has half of the variance added; this is d2",
        "(log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * sqrt(t))",
        (b"d1",),
        pattern(r"(^| )d_?1( |$)"),
    ),
    Wrong(
        ("D - V*T",),
        "d2 is d1 less the deviation over the whole time, which grows with its root",
        "d1 - sigma * sqrt(t)",
        (b"d1",),
        named={"D": pattern(r"^d_?1$"), "V": pattern(r"sigma|vol")},
        unlike={"T": pattern(r"sqrt|root|power|pow\(|\*\*"), "V": pattern(r"sqrt|root|\*\*")},
    ),
    Wrong(
        ("(M + 0.5*V**2)*T",),
        "the drift of the logarithm loses half of the variance, and does not gain it",
        "(mu - 0.5 * sigma**2) * dt",
        (b"2",),
        pattern(r"^(?!.*\bd_?1\b).*(drift|gbm|geometric|simulat|path)"),
        {"V": pattern(r"sigma|vol"), "M": pattern(r"^(self\.)?(mu|r|rate|drift)$")},
        whole=True,
    ),
    Wrong(
        ("exp(R*T)",),
        "what is paid later is worth less: the exponent has a minus",
        "exp(-rate * time)",
        (b"exp(", b"discount"),
        pattern(r"discount_factor|(^| )(df|discount|present_value)( |$)"),
        {"R": pattern(r"^(r|rate|r_f|risk_free\w*|short_rate)$")},
        plain="R",
    ),
)
