"""Draws, their weights and steps to them, each in its usual wrong form; part of NNX552."""

from __future__ import annotations

from codemods.nnx.lint.known_formulas import Wrong
from codemods.nnx.patterns import pattern

_UNIFORM = pattern(r"\b(uniform|rand|random)\(")
DRAWS = (
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
        ("sqrt(M)*normal(K)",),
        "momenta have the mass as their variance: they are divided by the root of its inverse",
        "normal(...) / sqrt(inverse_mass)",
        (b"inv", b"normal("),
        named={"M": pattern(r"inv\w*_?m(ass)?(\W|_|$)|^m_?inv$")},
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
        ("1/sum(W)",),
        "the number of effective draws is one by the sum of the squared weights: this is always 1",
        "1 / sum(w**2)",
        (b"sum(",),
        pattern(r"(^| )ess( |$|_)|effective_sample|n_eff"),
        unlike={"W": pattern(r"\*\* ?2|square|power|\b(\w+) \* \1\b|w2|sq")},
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
)
