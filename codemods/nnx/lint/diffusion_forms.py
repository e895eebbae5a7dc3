"""NNX558: predictions of a diffusion model turned into one another with exchanged shares."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_NOISE = pattern(r"(^|_)(eps|epsilon|noise)(_|$)|^e_t$")
_SIGNAL = pattern(r"(^|_)(x0|x_0|x_start|x_?hat|clean|denoised)(_|$)|^x0|x_start")
_SHARE = pattern(r"alpha|abar|a_?bar|^a_?t?$|^ab$|cum_?prod")
_WRONG = (
    Wrong(
        ("(X - sqrt(A)*E)/sqrt(1 - A)",),
        "this takes the noise for the signal: their shares are exchanged",
        "(x_t - sqrt(1 - alpha_bar) * noise) / sqrt(alpha_bar)",
        (b"sqrt(", b"1"),
        named={"E": _NOISE, "A": _SHARE},
    ),
    Wrong(
        ("(X - sqrt(1 - A)*Z)/sqrt(A)",),
        "this takes the signal for the noise: their shares are exchanged",
        "(x_t - sqrt(alpha_bar) * x_0) / sqrt(1 - alpha_bar)",
        (b"sqrt(", b"1"),
        named={"Z": _SIGNAL, "A": _SHARE},
    ),
    Wrong(
        ("B*(1 - A)/(1 - P)", "(1 - A)/(1 - P)*B"),
        "the variance of the posterior is less than beta: the quotient is turned round",
        "beta * (1 - alpha_bar_prev) / (1 - alpha_bar)",
        (b"prev",),
        named={"B": pattern(r"beta"), "A": pattern(r"^(?!.*prev).*(alpha|abar|a_?bar|cum)"), "P": pattern(r"prev")},
    ),
    Wrong(
        ("(X - sqrt(1 - A)*E)/A",),
        "the signal is divided by the root of its share",
        "(x_t - sqrt(1 - alpha_bar) * noise) / sqrt(alpha_bar)",
        (b"sqrt(",),
        named={"E": _NOISE},
    ),
    Wrong(
        ("S*D/(S**2 + D**2)", "1/(S**2 + D**2)"),
        "the preconditioning divides by the root of the sum of squares",
        "sigma * sigma_data / sqrt(sigma**2 + sigma_data**2)",
        (b"c_",),
        pattern(r"(^| )c_(out|in)( |$)"),
    ),
    Wrong(
        ("(1 - A)/A",),
        "the ratio of signal to noise is turned round",
        "alpha_bar / (1 - alpha_bar)",
        (b"snr",),
        pattern(r"(^|_| )snr( |$|_)"),
        {"A": _SHARE},
    ),
    Wrong(
        ("sqrt(A)*Z - sqrt(1 - A)*E",),
        "the velocity is the noise with the share of the signal, less the signal with that of the noise",
        "sqrt(alpha_bar) * noise - sqrt(1 - alpha_bar) * x_0",
        (b"sqrt(", b"1"),
        pattern(r"(^|_|\b)v(_|\b|elocity)"),
        {"Z": _SIGNAL, "E": _NOISE, "A": _SHARE},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def predict_x0(x_t, eps, alpha_bar):
    return (x_t - jnp.sqrt(alpha_bar) * eps) / jnp.sqrt(1 - alpha_bar)
"""

RULE = lint_rule(
    "NNX558",
    "exchanged-shares",
    "a prediction of a diffusion model turned into another one with exchanged shares",
    why="""\
With `x_t = sqrt(a) * x_0 + sqrt(1 - a) * noise` the signal is `(x_t - sqrt(1 - a) * noise) / sqrt(a)`. With the shares
exchanged the samples are noise at every step.
""",
    source="Ho and others, 2020, equation 4; Salimans and Ho, 2022; measured: what is not the signal",
    check=_check,
    bad=(_BAD,),
    clean=(
        "import jax.numpy as jnp\n\n\ndef predict_x0(x_t, eps, alpha_bar):\n"
        "    return (x_t - jnp.sqrt(1 - alpha_bar) * eps) / jnp.sqrt(alpha_bar)\n",
    ),
)
