"""Divergences and discrepancies of distributions, each in its usual wrong form; part of NNX552."""

from __future__ import annotations

from codemods.nnx.lint.known_formulas import Wrong
from codemods.nnx.patterns import pattern

# what is subtracted for every dimension, or for all of them
_HALF = pattern(r"(^|[^\w.])-?(0?\.5|1(\.0?)? ?/ ?2)|/ ?2(\.0?)?$")

DIVERGENCES = (
    Wrong(
        (
            "log(R/S) + (S**2 + (M - N)**2)/(2*R**2)",
            "log(R) - log(S) + (S**2 + (M - N)**2)/(2*R**2)",
        ),
        "the divergence of two normal distributions without its -1/2: it is 1/2 for equal ones",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
        rest=_HALF,
    ),
    Wrong(
        ("log(S/R) + (S**2 + (M - N)**2)/(2*R**2) - 0.5", "log(S) - log(R) + (S**2 + (M - N)**2)/(2*R**2) - 0.5"),
        "the logarithm in the divergence of two normal distributions is turned round: it falls below zero",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
    ),
    Wrong(
        ("log(R/S) + (S + (M - N)**2)/(2*R**2) - 0.5", "log(R) - log(S) + (S + (M - N)**2)/(2*R**2) - 0.5"),
        "the divergence of two normal distributions takes the square of both scales",
        "log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 * s2**2) - 0.5",
        (b"log(",),
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
        ("P - Q + (exp(P) + (M - N)**2)/exp(Q) - 1",),
        "the divergence has the variance above of which the logarithm is subtracted",
        "lv_p - lv_q + (exp(lv_q) + (mu_q - mu_p)**2) / exp(lv_p) - 1",
        (b"exp(",),
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
        ("mean(A) + mean(B) - mean(C)",),
        "the mean discrepancy takes the kernel between the samples twice: this one is not zero for equal ones",
        "mean(k_xx) + mean(k_yy) - 2 * mean(k_xy)",
        (b"mmd",),
        pattern(r"mmd"),
    ),
)
