"""NNX552: densities, divergences and draws with a number, sign or root that is missing."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_COUNT = pattern(r"\.shape\b|\blen\(|\.size\b|^(n|k|num\w*|\w*_samples|n_\w+)$")
_LENGTH = pattern(r"^(self\.)?(l|ell|length_?scale|lengthscale|sigma|bandwidth)$")
_UNIFORM = pattern(r"\b(uniform|rand|random)\(")
_CHOLESKY = pattern(r"^(L|chol\w*|cholesky\w*|scale_tril|L_\w+|\w+_chol)$|cholesky\(")
_WRONG = (
    Wrong(
        (
            "log(R/S) + (S**2 + (M - N)**2)/(2*R**2)",
            "log(R) - log(S) + (S**2 + (M - N)**2)/(2*R**2)",
        ),
        "the divergence of two normal distributions without its -1/2: it is 1/2 for equal ones",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
    ),
    Wrong(
        ("log(S/R) + (S**2 + (M - N)**2)/(2*R**2) - 0.5", "log(S) - log(R) + (S**2 + (M - N)**2)/(2*R**2) - 0.5"),
        "the logarithm in the divergence of two normal distributions is turned round: it falls below zero",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
    ),
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
    ),
    Wrong(
        ("sum(P*log(Q/P))", "sum(P*(log(Q) - log(P)))"),
        "the quotient in the divergence is turned round: it is negative",
        "sum(p * log(p / q))",
        (b"log(",),
        pattern(r"(^|_| )kl(_|d| |$)|diverg"),
        whole=True,
    ),
    Wrong(
        ("exp(Q - P)",),
        "the weights are turned round: they are the target's density by that of what was drawn from",
        "exp(log_p - log_q)",
        (b"exp(",),
        pattern(r"(^| )(w|weights?|iw|is_w\w*|importance\w*)( |$)"),
        {"Q": pattern(r"^log_?q|_q$|proposal"), "P": pattern(r"^log_?p($|_)|_p$|target")},
    ),
    Wrong(
        ("sum(W**2)",),
        "the number of effective draws is one by the sum of the squared weights",
        "1 / sum(w**2)",
        (b"sum(",),
        pattern(r"(^| )ess( |$|_)|effective_sample|n_eff"),
        {"W": pattern(r"^(w|weights?|normali[sz]ed\w*|probs?)$")},
        whole=True,
    ),
    Wrong(
        ("(arange(N) + uniform(K, S))/N",),
        "systematic draws share one number: with one for each they are stratified",
        "(arange(n) + uniform(key)) / n",
        (b"uniform", b"systematic"),
        pattern(r"systematic"),
        unlike={"S": pattern(r"^\(?(1,?)?\)?$")},
    ),
    Wrong(
        (
            "X + E*S(X) + sqrt(E)*Z",
            "X - E*S(X) + sqrt(E)*Z",
            "X + E*G + sqrt(E)*Z",
            "X - E*G + sqrt(E)*Z",
        ),
        "the noise of Langevin is that of twice the step: sqrt(2 * step), or half of the score",
        "x + step * score(x) + sqrt(2 * step) * noise",
        (b"sqrt(",),
        pattern(r"langevin|(^|_| )(ula|mala|sgld|ld)(_| |$)"),
        named={
            "S": pattern(r"score|grad|dlog|drift|force"),
            "G": pattern(r"^(score|grad|g|drift|dlogp|s)(_\w+)?$"),
            "Z": pattern(r"noise|normal\(|^(z|xi|eps\w*)$"),
        },
    ),
    Wrong(
        ("S*exp(M*T + V*sqrt(T)*Z)",),
        "the mean of what grows so is too great by exp(sigma**2 * t / 2): the drift loses half of the variance",
        "s * exp((mu - 0.5 * sigma**2) * dt + sigma * sqrt(dt) * z)",
        (b"exp(", b"sqrt("),
        pattern(r"gbm|geometric|stock|asset|price|spot"),
        {"V": pattern(r"sigma|vol"), "M": pattern(r"^(self\.)?(mu|r|rate|drift)$")},
    ),
    Wrong(
        ("(log(S/K) + (R - 0.5*V**2)*T)/(V*sqrt(T))",),
        "d1 of Black and Scholes has half of the variance added; this is d2",
        "(log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * sqrt(t))",
        (b"d1",),
        pattern(r"(^| )d_?1( |$)"),
    ),
    Wrong(
        ("L + K",),
        "the bound on the evidence is the log-likelihood less the divergence",
        "log_likelihood - kl",
        (b"kl",),
        named={
            "L": pattern(r"^(ll|log_?lik\w*|log_?px\w*|recon_ll|loglik\w*)$"),
            "K": pattern(r"^kl(_\w+|d|\d)?$"),
        },
        plain="L",
    ),
    Wrong(
        ("P - Q + (exp(Q) + (M - N)**2)/exp(Q) - 1", "P - Q + exp(Q)/exp(Q) + (M - N)**2/exp(Q) - 1"),
        "the divergence is measured by the variance of the first distribution: the second one's is meant",
        "lv_p - lv_q + (exp(lv_q) + (mu_q - mu_p)**2) / exp(lv_p) - 1",
        (b"exp(",),
    ),
    Wrong(
        (
            "log(R/S) + (S**2 + (M - N)**2)/(2*S**2) - 0.5",
            "log(R) - log(S) + (S**2 + (M - N)**2)/(2*S**2) - 0.5",
        ),
        "the divergence is measured by the deviation of the first distribution: the second one's is meant",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
    ),
    Wrong(
        ("(1 + R + R**2/2)*exp(-R)", "V*(1 + R + R**2/2)*exp(-R)", "V**2*(1 + R + R**2/2)*exp(-R)"),
        "the Matern kernel of 5/2 has a third of the square",
        "(1 + r + r**2 / 3) * exp(-r)",
        (b"exp(",),
        pattern(r"matern"),
    ),
    Wrong(
        ("sqrt(M)*normal(K)",),
        "momenta have the mass as their variance: they are divided by the root of its inverse",
        "normal(...) / sqrt(inverse_mass)",
        (b"inv", b"normal("),
        named={"M": pattern(r"inv\w*_?m(ass)?(\W|_|$)|^m_?inv$")},
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
        ("N - O",),
        "a step that lowers the energy is to be accepted: the difference is turned round",
        "energy_old - energy_new",
        (b"acc",),
        pattern(r"accept|log_?alpha|log_?ratio|log_acc"),
        {
            "N": pattern(r"^(h|H|e|E|energy|ham\w*|K|U)_?(new|prop\w*|1|star|n)$|^(new|prop\w*)_(h|e|energy|ham\w*)$"),
            "O": pattern(
                r"^(h|H|e|E|energy|ham\w*|K|U)_?(old|cur\w*|0|o)?$|^(old|cur\w*|init\w*)_(h|e|energy|ham\w*)$"
            ),
        },
        whole=True,
    ),
    Wrong(
        ("P - Q + (exp(P) + (M - N)**2)/exp(Q) - 1",),
        "the divergence has the variance above of which the logarithm is subtracted",
        "lv_p - lv_q + (exp(lv_q) + (mu_q - mu_p)**2) / exp(lv_p) - 1",
        (b"exp(",),
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
        ("1/sum(W)",),
        "the number of effective draws is one by the sum of the squared weights: this is always 1",
        "1 / sum(w**2)",
        (b"sum(",),
        pattern(r"(^| )ess( |$|_)|effective_sample|n_eff"),
        unlike={"W": pattern(r"\*\* ?2|square|power|\b(\w+) \* \1\b|w2|sq")},
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
        ("A + B - C",),
        "the mean discrepancy takes the kernel between the samples twice: this one is not zero for equal ones",
        "k_xx + k_yy - 2 * k_xy",
        (b"mmd",),
        pattern(r"mmd"),
        {"C": pattern(r"xy|cross|_pq|ab$")},
    ),
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
        ("exp(R*T)",),
        "what is paid later is worth less: the exponent has a minus",
        "exp(-rate * time)",
        (b"exp(", b"discount"),
        pattern(r"discount_factor|(^| )(df|discount|present_value)( |$)"),
        {"R": pattern(r"^(r|rate|r_f|risk_free\w*|short_rate)$")},
        plain="R",
    ),
    Wrong(
        ("mean(A) + mean(B) - mean(C)",),
        "the mean discrepancy takes the kernel between the samples twice: this one is not zero for equal ones",
        "mean(k_xx) + mean(k_yy) - 2 * mean(k_xy)",
        (b"mmd",),
        pattern(r"mmd"),
    ),
    Wrong(
        ("logsumexp(X)/N", "logsumexp(X)*log(N)"),
        "the logarithm of a mean is that of the sum less the logarithm of the count",
        "logsumexp(x) - log(n)",
        (b"logsumexp",),
        named={"N": _COUNT},
    ),
    Wrong(
        ("sqrt(2*log(U))", "sqrt(2*log(U))*cos(X)"),
        "the logarithm of a number below 1 is negative: this is NaN",
        "sqrt(-2 * log(u))",
        (b"sqrt(", b"log(", b"uniform"),
        named={"U": _UNIFORM},
    ),
    Wrong(
        ("-R*log(U)", "-R*log(1 - U)"),
        "numbers of an exponential distribution are divided by its rate",
        "-log(u) / rate",
        (b"log(", b"uniform"),
        named={"U": _UNIFORM, "R": pattern(r"^(self\.)?(rate|lam|lambda_?|lambd|intensity)$")},
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
    yield from wrong_forms(context, RULE.code, _WRONG)


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
