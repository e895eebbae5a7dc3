"""NNX553: activations and first weights with a wrong operation or scale."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.positive_weights import positive_weights
from codemods.nnx.patterns import pattern

_WIDTH = pattern(r"(^|_)(in|fan_in|n_in|d_in|in_\w+|dim|width|features|hidden\w*|input\w*)(_|$)|shape")
# `midpoint - x` and `1 / x` fall where x rises, so that the exponential of them is the right one
_FALLING = pattern(
    r"\b(\w*0|\w*mid\w*|\w*cent\w*|\w*thresh\w*|\w*cut\w*|\w*mu|\w*loc|\w*mean|\w*shift|\w*offset|\w*bias|[bcm]) - "
    r"|\b1(\.0*)? / |reciprocal|divide"
)
_WRONG = (
    Wrong(
        ("X + sigmoid(X)",),
        "swish is the product of a number and its sigmoid",
        "x * sigmoid(x)",
        (b"sigmoid",),
        pattern(r"swish|silu"),
    ),
    Wrong(
        ("log(1 - exp(X))", "log1p(-exp(X))"),
        "softplus is the logarithm of 1 plus the exponential: this is NaN for positive numbers",
        "log1p(exp(x))",
        (b"exp(",),
        pattern(r"^(?!.*inv).*soft_?plus"),
        plain="X",
    ),
    Wrong(
        ("1/(1 + exp(X))",),
        "the sigmoid takes the exponential of minus x: this one falls",
        "1 / (1 + exp(-x))",
        (b"exp(",),
        pattern(r"(^|\W|_)sigmoid|logistic"),
        unlike={"X": _FALLING},
        plain="X",
        alone=True,
    ),
    Wrong(
        ("log(1 + exp(X))", "log1p(exp(X))", "softplus(X)"),
        "the logarithm of the sigmoid is minus the softplus of minus x",
        "-log1p(exp(-x))",
        (b"igmoid",),
        pattern(r"^log_?sigmoid"),
        plain="X",
        alone=True,
    ),
    Wrong(
        ("exp(X - max(X))/sum(exp(X))", "exp(X)/sum(exp(X - max(X)))"),
        "only one of the two is shifted by the maximum: the shares do not add up to 1",
        "shift both: e = exp(x - max(x)); e / sum(e)",
        (b"exp(", b"max("),
    ),
    Wrong(
        ("X/sqrt(sum(X**2))", "W*X/sqrt(sum(X**2))", "X/norm(X)", "W*X/norm(X)"),
        "the root of the mean of the squares is meant: that of their sum makes numbers smaller with the width",
        "x / sqrt(mean(x**2))",
        (b"rms",),
        pattern(r"rms_?norm|root_?mean"),
    ),
    Wrong(
        ("silu(A) + B", "gelu(A) + B", "swish(A) + B", "sigmoid(A) + B"),
        "a gated unit multiplies by its gate",
        "silu(x @ w1) * (x @ w2)",
        (b"glu",),
        pattern(r"swiglu|geglu|reglu|(^|_| )glu"),
    ),
    Wrong(
        ("C*tanh(X)",),
        "a soft cap divides by the cap first: this one is steeper than the identity",
        "cap * tanh(x / cap)",
        (b"cap", b"tanh"),
        pattern(r"soft_?cap|(^|_| )cap(ped)?"),
        {"C": pattern(r"cap")},
        {"X": pattern(r"/")},
    ),
    Wrong(
        ("sqrt(2/C)", "sqrt(1/C)", "1/sqrt(C)"),
        "the inputs of a convolution are its channels times the size of its window",
        "sqrt(2 / (kh * kw * c_in))",
        (b"kh", b"kw"),
        named={"C": pattern(r"^(c_?in|in_c\w*|cin\w*|n_?in)$")},
    ),
    Wrong(
        ("minimum(0, X)", "minimum(X, 0)"),
        "relu is the maximum of zero and x",
        "maximum(0, x)",
        (b"minimum",),
        pattern(r"^relu"),
        plain="X",
        alone=True,
    ),
    Wrong(
        (
            "0.5*X*(1 + tanh(sqrt(2*pi)*(X + 0.044715*X**3)))",
            "0.5*X*(1 + tanh(sqrt(2/pi)*(X + 0.44715*X**3)))",
            "0.5*X*(1 + tanh(sqrt(2/pi)*(X + 0.0044715*X**3)))",
            "0.5*X*(1 + tanh(sqrt(2/pi)*(X + 0.044715*X**2)))",
        ),
        "a constant or power of the tanh form of gelu is another one",
        "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))",
        (b"tanh",),
    ),
    Wrong(
        ("0.5*X*(1 + erf(X))",),
        "gelu takes the error function of x by the root of 2",
        "0.5 * x * (1 + erf(x / sqrt(2)))",
        (b"erf",),
    ),
    Wrong(
        ("2*normal(K)/N", "2*normal(K)/(N + M)", "2*truncated_normal(K)/N"),
        "2 / n is the variance of the first weights: their scale is its root",
        "sqrt(2 / n) * normal(...)",
        (b"normal(",),
        named={"N": _WIDTH},
    ),
    Wrong(
        ("sqrt(N/2)*normal(K)", "sqrt(N)*normal(K)/sqrt(2)"),
        "the first weights get larger with the width: the quotient is turned round",
        "sqrt(2 / n) * normal(...)",
        (b"normal(", b"sqrt("),
        named={"N": _WIDTH},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)
    for scope, node in positive_weights(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "the first weights are all positive: they are drawn between 0 and their bound",
            "draw between both signs of it: uniform(key, shape, minval=-bound, maxval=bound)",
        )


_BAD = """\
import jax
import jax.numpy as jnp


def he_weights(key, n_in, n_out):
    return jax.random.normal(key, (n_in, n_out)) * (2 / n_in)
"""

RULE = lint_rule(
    "NNX553",
    "activation-forms",
    "an activation or first weights with a wrong operation, scale or sign",
    why="""\
The first weights of a layer with `n` inputs have the variance `2 / n`, so the numbers drawn are multiplied by its root.
Without the root the activations vanish from layer to layer. Uniform ones lie between minus their bound and it;
`jax.random.uniform` draws from zero on, and with weights that are all positive the layers saturate. Activations written
by hand differ from those of `jax.nn` where a sign, an operation or a constant is another one.
""",
    source="He and others, 2015; Hendrycks and Gimpel, 2016; measured: sizes of activations",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(2 / n_in)", "jnp.sqrt(2 / n_in)"),),
)
