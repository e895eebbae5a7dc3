"""NNX555: scores and losses with a wrong denominator, power or order."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_PEAK = pattern(r"^(?!.*(\*\*|mean|var|square|sq)).*")
_ERROR = pattern(r"^(?!.*(rmse|sqrt|std)).*(mse|\*\* ?2|square)")
# of distances, not of likenesses
_NEGATIVE = pattern(r"(?i)dist.*neg|neg.*dist|^d_?a?n(eg\w*)?\d?$|(neg|\bn\b).*(\*\* ?2|norm)|norm.*(neg|\bn\b)")
_POSITIVE = pattern(r"(?i)dist.*pos|pos.*dist|^d_?a?p(os\w*)?\d?$|(pos|\bp\b).*(\*\* ?2|norm)|norm.*(pos|\bp\b)")
_WRONG = (
    Wrong(
        ("sum(A*B)/(sum(A) + sum(B))", "1 - sum(A*B)/(sum(A) + sum(B))"),
        "what both have counts twice below: in the Dice score it does above as well, in the Jaccard index once below",
        "2 * both / (a + b), or both / (a + b - both)",
        (b"sum(",),
        pattern(r"dice|iou|jaccard|intersection"),
    ),
    Wrong(
        ("10*log10(M/E)", "20*log10(M**2/E)", "20*log10(M/E)", "20*log10(1/E)"),
        "the ratio of signal to noise takes the square of the peak and the mean square: 10 with the one, 20 with roots",
        "10 * log10(peak**2 / mse)",
        (b"log10",),
        pattern(r"psnr"),
        {"E": _ERROR, "M": _PEAK},
    ),
    Wrong(
        ("std(X)/N",),
        "the standard error is the deviation by the root of the count",
        "std(x) / sqrt(n)",
        (b"std(",),
        pattern(r"sem\b|std_?err|standard_?error|stderr"),
        {"N": pattern(r"\.shape\b|\blen\(|\.size\b|^(n|num\w*|count\w*|size|n_\w+)$")},
        {"N": pattern(r"sqrt|\*\* ?0\.5")},
    ),
    Wrong(
        ("mean(R)/var(R)",),
        "the ratio takes the deviation, which is the root of the variance",
        "mean(r) / std(r)",
        (b"var(",),
        pattern(r"sharpe|snr|signal"),
    ),
    Wrong(
        ("(X - mean(X))/var(X)",),
        "numbers are divided by their variance where their deviation makes them of unit size",
        "(x - mean(x)) / std(x)",
        (b"var(", b"mean("),
    ),
    Wrong(
        (
            "mean((X - mean(X))*(Y - mean(Y)))/(var(X)*var(Y))",
            "sum((X - mean(X))*(Y - mean(Y)))/(var(X)*var(Y))",
        ),
        "a correlation divides by both deviations, not by both variances",
        "mean((x - mean(x)) * (y - mean(y))) / (std(x) * std(y))",
        (b"var(", b"mean("),
    ),
    Wrong(
        ("mean(P - Y)**2", "mean(P)**2 - mean(Y)**2"),
        "the square of the mean error: errors of both signs cancel",
        "mean((p - y)**2)",
        (b"mean(",),
        pattern(r"(^|_| )mse|brier|squared_error|l2_loss"),
        whole=True,
    ),
    Wrong(
        (
            "where(C, 0.5*E**2, D*A - 0.5*D)",
            "where(C, 0.5*E**2, D*(A - 0.5))",
            "where(C, E**2, D*(A - 0.5*D))",
            "where(C, E**2, D*A - 0.5*D**2)",
        ),
        "the two branches of the Huber loss do not meet where one follows on the other",
        "where(abs(e) < delta, 0.5 * e**2, delta * (abs(e) - 0.5 * delta))",
        (b"where",),
        pattern(r"huber|smooth_?l1"),
    ),
    Wrong(
        ("relu(S - 1)", "maximum(0, S - 1)", "maximum(S - 1, 0)"),
        "this pushes deviations below 1, and lets what is spread collapse: those below 1 are to grow",
        "relu(1 - std)",
        (b"std",),
        pattern(r"vicreg|var(iance)?_(loss|reg\w*|term)|std_loss"),
        {"S": pattern(r"std")},
    ),
    Wrong(
        ("mean(K*log(R) - R)", "sum(K*log(R) - R)"),
        "the log-likelihood without its minus, where its negative is meant",
        "mean(rate - k * log(rate))",
        (b"log(",),
        pattern(r"poisson.*(nll|loss)|(nll|loss).*poisson"),
        whole=True,
    ),
    Wrong(
        ("log(1 + exp(Z*Y))", "log1p(exp(Z*Y))", "softplus(Z*Y)"),
        "the loss of labels 1 and -1 takes the exponential of minus the margin: this one falls for wrong ones",
        "log1p(exp(-y * z))",
        (b"exp(",),
        pattern(r"logistic|log_?reg|logit_loss"),
        {"Y": pattern(r"^(y|ys|labels?|targets?|y_\w+)$")},
        plain="Z",
    ),
    Wrong(
        ("C @ C.T/N",),
        "this compares examples with each other: the covariance of the columns is centered.T @ centered",
        "centered.T @ centered / (n - 1)",
        (b".T", b"cov"),
        pattern(r"(^| )(cov|covariance)( |$|_)"),
        {"C": pattern(r"mean\((\w+, )?(axis=)?0")},
    ),
    Wrong(
        ("A @ V*sqrt(W)",),
        "whitening divides by the root of the variances",
        "x @ v / sqrt(w)",
        (b"sqrt(",),
        pattern(r"whiten|spher"),
    ),
    Wrong(
        ("sin(D) + cos(P)*cos(Q)*sin(E)**2",),
        "both sines of the haversine formula are squared",
        "sin(dlat / 2)**2 + cos(lat1) * cos(lat2) * sin(dlon / 2)**2",
        (b"sin(", b"cos("),
    ),
    Wrong(
        ("softmax((L + G)*T)",),
        "the sum of logits and noise is divided by the temperature",
        "softmax((logits + gumbel) / tau)",
        (b"softmax",),
        named={"T": pattern(r"^(self\.)?(tau|temp\w*)$")},
    ),
    Wrong(
        ("P + Q + D**2*B/N", "P + Q + B*D**2/N"),
        "the squares of two samples together have both counts in their last term",
        "m2_a + m2_b + delta**2 * n_a * n_b / n",
        (b"delta",),
        named={"D": pattern(r"^(d|delta\w*)$"), "N": pattern(r"^(n|total|count\w*|tot\w*|n_\w+)$")},
    ),
    Wrong(
        ("U/W",),
        "the trust ratio is turned round: layers with small weights make the largest steps",
        "norm(weights) / norm(update)",
        (b"norm",),
        pattern(r"trust|lamb|lars|layer_?wise|by_ratio"),
        {
            "U": pattern(r"^(u_?n\w*|update_norm|g_?norm|grad_norm|r_norm)$"),
            "W": pattern(r"^(w_?n\w*|weight_norm|param_norm|p_?norm)$"),
        },
    ),
    Wrong(
        (
            "relu(1 + R) + relu(1 - F)",
            "mean(relu(1 + R)) + mean(relu(1 - F))",
            "mean(relu(1 + R) + relu(1 - F))",
        ),
        "the hinge of the critic is turned round: it asks for small scores of real examples and large ones of fakes",
        "mean(relu(1 - real)) + mean(relu(1 + fake))",
        (b"real", b"fake"),
        named={"R": pattern(r"real"), "F": pattern(r"fake|gen")},
    ),
    Wrong(
        ("K*log(N) + 2*L", "2*K + 2*L"),
        "the criterion takes twice the log-likelihood off: the better fit has the smaller number",
        "k * log(n) - 2 * log_likelihood",
        (b"ic",),
        pattern(r"(^|_| )[ab]ic( |$|_)"),
        {"L": pattern(r"^(ll|log_?lik\w*|loglik\w*|logl)$")},
    ),
    Wrong(
        ("20*log10(P)",),
        "decibels of a power are ten times its logarithm; twenty belong to amplitudes",
        "10 * log10(power)",
        (b"log10",),
        named={"P": pattern(r"(^|_)(power|pow|energy|psd|power_spec\w*)$|abs\(\w+\) ?\*\* ?2")},
    ),
    Wrong(
        ("10*log10(A)",),
        "decibels of an amplitude are twenty times its logarithm; ten belong to powers",
        "20 * log10(amplitude)",
        (b"log10",),
        named={"A": pattern(r"(^|_)(amp|amplitude|mag|magnitude|rms)$")},
    ),
    Wrong(
        ("P**G",),
        "the focal loss weighs examples by what is missing to 1: this one forgets the hard ones",
        "(1 - p_t)**gamma",
        (b"gamma",),
        pattern(r"focal"),
        {"P": pattern(r"^(p_?t|pt_\w+)$"), "G": pattern(r"gamma")},
    ),
    Wrong(
        ("(2*A*B + C)*(V + D)", "(2*A*B + C)*(V + D)/((A**2 + B**2 + C)*(S + T + D))"),
        "the covariance counts twice in the structural similarity: that of an image with itself is below 1",
        "(2 * mu_x * mu_y + c1) * (2 * cov + c2)",
        (b"ssim",),
        pattern(r"ssim"),
        {"V": pattern(r"cov|sigma_?xy|sxy|_xy$")},
    ),
    Wrong(
        ("exp(-L)",),
        "perplexity is the exponential of the loss itself: this one is below 1",
        "exp(loss)",
        (b"exp(",),
        pattern(r"perplexity|(^| )ppl"),
        {"L": pattern(r"loss|nll|xent|cross_entropy|^ce$")},
        plain="L",
        whole=True,
    ),
    Wrong(
        ("N*log(2)/D", "N*log(2)"),
        "bits are nats divided by the logarithm of 2",
        "nll / (dimensions * log(2))",
        (b"log(2",),
        pattern(r"bpd|bits"),
        {"N": pattern(r"nll|loss|log_?p|nats|elbo")},
    ),
    Wrong(
        ("(X - mean(X))/sqrt(std(X))",),
        "numbers are divided by the root of their deviation where their deviation makes them of unit size",
        "(x - mean(x)) / std(x)",
        (b"std(", b"mean("),
    ),
    Wrong(
        ("mean(X**2) - mean(X)",),
        "the variance takes off the square of the mean",
        "mean(x**2) - mean(x)**2",
        (b"mean(",),
    ),
    Wrong(
        ("sum(A*B)/(norm(A) + norm(B))", "dot(A, B)/(norm(A) + norm(B))", "A @ B/(norm(A) + norm(B))"),
        "the cosine of two vectors is their product by that of their norms",
        "a @ b / (norm(a) * norm(b))",
        (b"norm(",),
    ),
    Wrong(
        ("P**G*log(P)", "-P**G*log(P)", "exp(L)**G*L", "-exp(L)**G*L", "W*P**G*log(P)", "-W*P**G*log(P)"),
        "the focal loss weighs examples by what is missing to 1: this one forgets the hard ones",
        "(1 - p)**gamma * log(p)",
        (b"gamma",),
        pattern(r"focal"),
        {"G": pattern(r"gamma")},
    ),
    Wrong(
        ("Y*log(P) + (1 - Y)*log(P)",),
        "both terms of the cross-entropy take the same logarithm: it does not depend on the labels",
        "y * log(p) + (1 - y) * log(1 - p)",
        (b"log(",),
    ),
    Wrong(
        ("minimum(0, 1 - S)", "minimum(1 - S, 0)", "minimum(0, 1 - Y*S)", "minimum(1 - Y*S, 0)"),
        "a hinge is the greater of zero and the rest: with the minimum right examples are what is punished",
        "maximum(0, 1 - y * score)",
        (b"minimum",),
        pattern(r"hinge|svm"),
    ),
    Wrong(
        ("relu(N - P + M)", "maximum(0, N - P + M)", "maximum(N - P + M, 0)"),
        "the triplet loss pulls the negative nearer and pushes the positive away: the two distances are exchanged",
        "relu(distance to the positive - distance to the negative + margin)",
        (b"margin",),
        named={"N": _NEGATIVE, "P": _POSITIVE},
    ),
    Wrong(
        ("(X - min(X))/max(X) - min(X)", "(X - min(X))/(max(X) - min(X) - min(X))"),
        "without parentheses only the greatest number divides, and the least is taken off again",
        "(x - x.min()) / (x.max() - x.min())",
        (b"min(", b"max("),
    ),
    Wrong(
        ("P*R/(P + R)",),
        "the harmonic mean of two numbers has a factor of 2: equal precision and recall give half of it",
        "2 * precision * recall / (precision + recall)",
        (b"f1",),
        pattern(r"(^|_)f1|f_?score|f_?measure"),
        {"P": pattern(r"^(p|prec\w*|precision\w*|ppv)$"), "R": pattern(r"^(r|rec\w*|tpr|sensitivity)$")},
        whole=True,
    ),
    Wrong(
        (
            "1 - sum((Y - P)**2)/sum(Y**2)",
            "1 - sum((P - Y)**2)/sum(Y**2)",
            "1 - mean((Y - P)**2)/mean(Y**2)",
            "1 - mean((P - Y)**2)/mean(Y**2)",
        ),
        "the total of the squares is one about the mean: this is near 1 for all targets far from zero",
        "1 - sum((y - p)**2) / sum((y - y.mean())**2)",
        (b"1 -", b"**"),
        pattern(r"(^|_)r_?2|r_?squared|r_?square|coef\w*_of_det"),
        {"Y": pattern(r"^(y\w*|targets?|labels?|truth|actual|observed)$")},
        {"Y": pattern(r"mean|cent|resid")},
    ),
    Wrong(
        ("cumsum(X)/arange(N)",),
        "arange begins at 0: the first mean is divided by zero, and all others by one too few",
        "jnp.cumsum(x) / jnp.arange(1, n + 1)",
        (b"cumsum", b"arange("),
        unlike={"N": pattern(r"^\d+(\.\d*)?$")},  # arange(1, n + 1)
        whole=True,
    ),
    Wrong(
        ("sqrt(mean(l2_loss(P, Y)))", "sqrt(mean(l2_loss(E)))", "mean(l2_loss(P, Y))**0.5"),
        "optax.l2_loss is half the square: the root mean square error is greater by the root of two",
        "jnp.sqrt(optax.squared_error(predictions, targets).mean())",
        (b"l2_loss",),
        pattern(r"rms|root_mean"),
        whole=True,
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def dice(prediction, target):
    return jnp.sum(prediction * target) / (jnp.sum(prediction) + jnp.sum(target))
"""

RULE = lint_rule(
    "NNX555",
    "score-forms",
    "a score or loss with a wrong denominator, power or order",
    why="""\
Equal masks have a Dice score and a Jaccard index of 1; without the factor, or without what both share taken off below,
they have one half. Ratios in decibel take squares with 10 and roots with 20. Numbers are of unit size when they are
divided by their deviation.
""",
    source="Dice, 1945; Jaccard, 1901; measured: scores of equal masks",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("return jnp", "return 2 * jnp"),),
)
