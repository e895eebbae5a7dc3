"""NNX556: corrections of Newton and Kalman in the wrong direction."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_COVARIANCE = pattern(r"^(self\.)?(P|cov\w*|sigma|Sigma|P_\w+)$")
_IDENTITY = pattern(r"\beye\(|identity|^(self\.)?(I\w{0,2}|Id|eye\w*|ident\w*)$")
_WRONG = (
    Wrong(
        ("X + F(X)/grad(F)(X)", "X + F(X)/D(X)"),
        "the step of Newton goes away from the zero",
        "x - f(x) / grad(f)(x)",
        (b"grad",),
        named={"D": pattern(r"grad|^d_?f|prime|deriv|^df")},
    ),
    Wrong(
        ("X + K @ (Z + H @ X)",),
        "the innovation is the measurement less what the state predicts",
        "x + K @ (z - H @ x)",
        (b"@",),
        named={"K": pattern(r"^(self\.)?(K|K_\w+|\w*gain\w*)$")},
    ),
    Wrong(
        ("A - L*eye(N)", "A - L**2*eye(N)"),
        "what is meant to keep equations solvable is subtracted: they may become singular",
        "x.T @ x + lam * eye(d)",
        (b"eye",),
        named={
            "A": pattern(r"\.T @|\.T\)? @|^(gram\w*|jtj)$"),
            "L": pattern(r"^(self\.)?(lam|lambda_?|alpha|reg\w*|ridge|damp\w*|noise\w*|jitter|l2|mu)$"),
        },
    ),
    Wrong(
        ("A - L*eye(N)", "A - L**2*eye(N)"),
        "the noise of the observations is subtracted from the covariance, to which it adds",
        "K + noise**2 * eye(n)",
        (b"eye",),
        named={
            "A": pattern(r"^(K|K_\w+|kernel\w*|cov\w*|gram\w*)$|kernel\("),
            "L": pattern(r"noise|jitter|nugget"),
        },
    ),
    Wrong(
        ("solve(P, A @ P)", "P @ A @ inv(P)", "P @ A.T @ inv(P)"),
        "the gain of the smoother takes the inverse of the predicted covariance, and not of the filtered one",
        "solve(P_next_predicted, A @ P).T",
        (b"@",),
        pattern(r"smooth|rts|rauch|backward"),
        {"P": _COVARIANCE},
    ),
    Wrong(
        ("einsum(S, W, D, D)",),
        "the weights of the mean weigh the covariance: those have a centre of their own",
        "einsum(..., weights_of_covariance, d, d)",
        (b"einsum", b"wc"),
        named={"W": pattern(r"^w_?m(ean)?$|^mean_weights$")},
    ),
    Wrong(
        ("P @ H.T @ S",),
        "the gain takes the inverse of the covariance of the innovation",
        "P @ H.T @ inv(S)",
        (b"@",),
        pattern(r"(^| )(k|gain|kalman_gain)( |$)"),
        {"S": pattern(r"^(S|S_\w+|innov\w*)$"), "P": _COVARIANCE},
    ),
    Wrong(
        ("K + V.T @ V", "K + V @ V.T"),
        "what the observations tell makes the variance smaller: it is subtracted",
        "k_ss - v.T @ v",
        (b"solve",),
        pattern(r"predict|posterior|gp_|(^| )gp|conditional"),
        {"V": pattern(r"solve")},
    ),
    Wrong(
        ("G - W*P", "G - P*W"),
        "weight decay is subtracted from the gradient, which is subtracted itself: the weights grow",
        "grad + weight_decay * param",
        (b"d",),
        named={
            "G": pattern(r"^(g|grads?|gradients?)$"),
            "W": pattern(r"^(self\.)?(wd|weight_decay|l2|l2_reg|decay)$"),
            "P": pattern(r"^(p|w|params?|weights?|theta)$"),
        },
    ),
    Wrong(
        ("F.T @ P @ F + Q",),
        "the covariance is predicted by the transition from the left and its transpose from the right",
        "F @ P @ F.T + Q",
        (b"@",),
        pattern(r"predict|kalman"),
        {"P": _COVARIANCE, "Q": pattern(r"^(self\.)?Q")},
    ),
    Wrong(
        ("K + sum(V**2)",),
        "what the observations tell makes the variance smaller: it is subtracted",
        "k_ss - sum(v**2)",
        (b"solve",),
        pattern(r"predict|posterior|gp_|(^| )gp|conditional|(^| )var(iance)?( |$)"),
        {"V": pattern(r"solve")},
    ),
    Wrong(
        ("solve(R + B.T @ P @ B, B.T @ P @ B)", "inv(R + B.T @ P @ B) @ B.T @ P @ B"),
        "the gain has the state's matrix at its end, and not that of the control",
        "solve(R + B.T @ P @ B, B.T @ P @ A)",
        (b"@",),
    ),
    Wrong(
        ("A @ P @ A + Q",),
        "the covariance is turned by the transition from both sides, from the right by its transpose",
        "F @ P @ F.T + Q",
        (b"@",),
        pattern(r"predict|kalman|covariance|filter"),
        {"P": _COVARIANCE},
    ),
    Wrong(
        ("(E + K @ H) @ P",),
        "a measurement makes the covariance smaller",
        "(I - K @ H) @ P",
        (b"@", b"eye"),
        pattern(r"kalman|update|correct|filter"),
        {"E": _IDENTITY},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax


def root(f, x):
    for _ in range(8):
        x = x + f(x) / jax.grad(f)(x)
    return x
"""

RULE = lint_rule(
    "NNX556",
    "correction-sign",
    "a correction of Newton or Kalman in the wrong direction",
    why="""\
The step of Newton subtracts the quotient of the function by its derivative, and the filter of Kalman corrects the state
by the gain times the measurement less what the state predicts. With the other sign both run away.
""",
    source="Kalman, 1960; measured: values that run away",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("x + f(x)", "x - f(x)"),),
)
