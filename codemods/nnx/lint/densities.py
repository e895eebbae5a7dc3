"""NNX552: densities, divergences and draws with a number, sign or root that is missing."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.divergence_forms import DIVERGENCES
from codemods.nnx.lint.draw_forms import DRAWS
from codemods.nnx.lint.finance_forms import FINANCE
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.negative_divergence import negative_divergences
from codemods.nnx.lint.rendering_forms import RENDERING
from codemods.nnx.patterns import pattern

_COUNT = pattern(r"\.shape\b|\blen\(|\.size\b|^(n|k|num\w*|\w*_samples|n_\w+)$")
_LENGTH = pattern(r"^(self\.)?(l|ell|length_?scale|lengthscale|sigma|bandwidth)$")
_CHOLESKY = pattern(r"^(L|chol\w*|cholesky\w*|scale_tril|L_\w+|\w+_chol)$|cholesky\(")
_DENSITIES = (
    Wrong(
        ("exp(-(X - M)**2/S**2)/(S*sqrt(2*pi))", "exp(-((X - M)/S)**2)/(S*sqrt(2*pi))"),
        "the exponent of a normal density is half of that: this is the density for another scale, and not of sum 1",
        "exp(-0.5 * ((x - m) / s)**2) / (s * sqrt(2 * pi))",
        (b"exp(", b"pi"),
    ),
    Wrong(
        (
            "-((X - M)/S)**2 - log(S) - 0.5*log(2*pi)",
            "-0.5*((X - M)/S)**2 - log(S) - log(2*pi)",
            "-(X - M)**2/S**2 - log(S) - 0.5*log(2*pi)",
        ),
        "the logarithm of a normal density without one of its halves",
        "-0.5 * ((x - m) / s)**2 - log(s) - 0.5 * log(2 * pi)",
        (b"log(", b"pi"),
    ),
    Wrong(
        (
            "exp(0.5*D**2/L**2)",
            "exp(0.5*sum((X - Y)**2)/L**2)",
            "exp(sum((X - Y)**2)/(2*L**2))",
            "exp(G*sum((X - Y)**2))",
        ),
        "a kernel of distances falls with them: this one grows without end",
        "exp(-0.5 * distance**2 / length_scale**2)",
        (b"exp(",),
        pattern(r"rbf|gaussian_k|kernel|squared_exp"),
        {"L": _LENGTH, "G": pattern(r"^(self\.)?gamma$")},
        plain="G",
    ),
    Wrong(
        ("exp(-0.5*D**2/L)", "exp(-0.5*sum((X - Y)**2)/L)"),
        "the distance is squared, and the length that it is measured by is not",
        "exp(-0.5 * distance**2 / length_scale**2)",
        (b"exp(",),
        pattern(r"rbf|gaussian_k|kernel|squared_exp"),
        {"L": _LENGTH},
        {"L": pattern(r"bandwidth")},  # of Stein's method, it divides the squared distance
    ),
    Wrong(
        ("(1 + R + R**2/2)*exp(-R)", "V*(1 + R + R**2/2)*exp(-R)", "V**2*(1 + R + R**2/2)*exp(-R)"),
        "the Matern kernel of 5/2 has a third of the square",
        "(1 + r + r**2 / 3) * exp(-r)",
        (b"exp(",),
        pattern(r"matern"),
    ),
    Wrong(
        (
            "log(S) + (X - M)**2/(2*S)",
            "-log(S) - (X - M)**2/(2*S)",
            "log(S) + (X - M)**2/(2*S) + 0.5*log(2*pi)",
            "-log(S) - (X - M)**2/(2*S) - 0.5*log(2*pi)",
        ),
        "the logarithm of a normal density takes the scale in one term and the variance in the other",
        "log(s) + (x - m)**2 / (2 * s**2), or 0.5 * log(var) + (x - m)**2 / (2 * var)",
        (b"log(", b"**"),
    ),
    Wrong(
        ("T + mean(L)",),
        "the evidence is the mean of the weights themselves, of which this is less than the logarithm",
        "total + logsumexp(logw) - log(n)",
        (b"mean(",),
        named={
            "L": pattern(r"^(log_?w\w*|lw)$"),
            "T": pattern(r"^(total|log_?z\w*|log_?ev\w*|evidence|ll|loglik\w*|log_?marg\w*)$"),
        },
    ),
    Wrong(
        ("1 - tanh(tanh(U))**2", "log(1 - tanh(tanh(U))**2)"),
        "what tanh has squashed is squashed once more: the volume is that of another point",
        "1 - action**2",
        (b"tanh(",),
    ),
    Wrong(
        ("logsumexp(W)",),
        "the bound is the logarithm of a mean of weights: that of their number is missing",
        "logsumexp(log_w) - log(k)",
        (b"logsumexp",),
        pattern(r"(^| )(iwae\w*|bound|log_evidence|log_marginal\w*|log_ml|iw_?elbo)( |$)"),
        {"W": pattern(r"^(log_?w\w*|lw)$")},
        whole=True,
    ),
    Wrong(
        ("exp(E/T)", "exp(E/(R*T))", "A*exp(E/T)", "A*exp(E/(R*T))"),
        "what has more energy is less likely: the exponent has a minus",
        "exp(-energy / kT)",
        (b"exp(",),
        pattern(r"boltzmann|arrhenius|partition|rate_(const\w*|coeff\w*)"),
        {"E": pattern(r"energ|barrier|^(e|E|e_\w+|E_\w+|ea|Ea)$"), "T": pattern(r"(?i)^(k_?b?_?t|temp\w*|t|rt)$")},
        unlike={"E": pattern(r"neg|log")},
        plain="E",
    ),
    Wrong(
        ("logsumexp(X)/N", "logsumexp(X)*log(N)"),
        "the logarithm of a mean is that of the sum less the logarithm of the count",
        "logsumexp(x) - log(n)",
        (b"logsumexp",),
        named={"N": _COUNT},
    ),
    Wrong(
        ("0.5*sum(log(diag(L)))", "0.5*sum(log(diagonal(L)))"),
        "half of the log-determinant is the sum of the logarithms of the factor's diagonal, which is halved once more",
        "sum(log(diag(L)))",
        (b"diag", b"log("),
        named={"L": _CHOLESKY},
    ),
    Wrong(
        ("D @ C @ D",),
        "the distance of Mahalanobis takes the inverse of the covariance",
        "d @ solve(cov, d)",
        (b"cov", b"@"),
        named={"C": pattern(r"^(self\.)?(cov|covariance|cov_matrix|sigma|Sigma)$"), "D": pattern(r" - ")},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, (*DIVERGENCES, *_DENSITIES, *DRAWS, *FINANCE, *RENDERING))
    for scope, node in negative_divergences(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "the divergence from a standard normal distribution has a minus before it: this one is never above zero",
            "-0.5 * sum(1 + log_var - mean**2 - exp(log_var))",
        )


_BAD = """\
import jax.numpy as jnp


def divergence(m1, s1, m2, s2):
    return jnp.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2)
"""

RULE = lint_rule(
    "NNX552",
    "density-terms",
    "a density, divergence or draw with a number, sign or root that is missing",
    why="""\
A divergence that is not zero for equal distributions, a density that does not add up to 1, or a draw that is NaN has
lost a half, a sign or a logarithm. Gradients often look right all the same, values and comparisons do not.
""",
    source="Kullback and Leibler, 1951; Box and Muller, 1958; measured: other values",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(2 * s2**2)\n", "(2 * s2**2) - 0.5\n"),),
)
