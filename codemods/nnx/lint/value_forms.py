"""NNX560: values and bonuses of reinforcement learning with a wrong sign or place."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_DISCOUNT = pattern(r"^(self\.|config\.|cfg\.|args\.)?(gamma|discount\w*)$")
_NEXT = pattern(r"next|\[1:\]|_tp1$|(^|_)v_?(tp1|t1)$")
_NOW = pattern(r"^(?!.*(next|\[1:\]|tp1|t1$|last|boot|target)).*(^|_)(v|val|vals|value|values|baseline|q)(_t)?(\W|$)")
_LOG = pattern(r"log_?p|log_?prob|logp|log_?pi|entropy_term")
_WEIGHT = pattern(r"alpha|temp|ent_?coef|entropy_coef")
_WRONG = (
    Wrong(
        ("R + G*V - N", "R + G*V*M - N", "R + G*(1 - D)*V - N", "R + G*V*(1 - D) - N"),
        "the values of this state and of the next one are exchanged",
        "reward + discount * next_value - value",
        (b"next",),
        named={"G": _DISCOUNT, "V": _NOW, "N": _NEXT},
    ),
    Wrong(
        (
            "R + G*(1 - D)*maximum(A, B)",
            "R + G*M*maximum(A, B)",
            "R + G*maximum(A, B)",
        ),
        "the greater of two critics is taken, whose errors lie above: the smaller one is meant",
        "reward + discount * (1 - done) * minimum(q1, q2)",
        (b"maximum",),
        named={"G": _DISCOUNT, "A": pattern(r"q\w*(1|_a|one)"), "B": pattern(r"q\w*(2|_b|two)")},
    ),
    Wrong(
        ("sum(R*G**arange(1, N))",),
        "the first reward is discounted already: its exponent is 0",
        "sum(rewards * gamma ** arange(n))",
        (b"arange(1",),
        named={"G": _DISCOUNT},
        unlike={"R": pattern(r"\[1:")},
        whole=True,  # times 1 / gamma - 1 it is a mean
    ),
    Wrong(
        ("V + A - sum(A)",),
        "the advantages are shifted by their mean, and not by their sum",
        "value + advantage - mean(advantage)",
        (b"sum(",),
        pattern(r"duel|q_?values?|advantage"),
        {"A": pattern(r"^(a|adv\w*)$")},
    ),
    Wrong(
        ("V - R",),
        "an advantage is the return less the value: this one is turned round",
        "returns - values",
        (b"adv",),
        pattern(r"^adv\w*( |$)"),
        {
            "V": pattern(r"^(values?|v|baselines?|vs)$"),
            "R": pattern(r"^(returns?|rets|rewards?_to_go|discounted_returns|g_t|targets?)$"),
        },
        whole=True,
    ),
    Wrong(
        ("G*R + C",),
        "the reward is discounted, and what comes after it is not",
        "reward + discount * carry",
        (b"r",),
        named={
            "G": _DISCOUNT,
            "R": pattern(r"^(r|rew|rewards?|r_t|rewards?\[\w+\])$"),
            "C": pattern(r"^(g|ret|returns?|carry|acc|running\w*|cum\w*|G|R|total|discounted\w*)$"),
        },
    ),
    Wrong(
        ("D + L*A", "D + L*M*A"),
        "the advantage behind is weighted by lambda alone: the discount is missing",
        "delta + gamma * lam * mask * advantage",
        (b"delta",),
        named={
            "D": pattern(r"^(delta|td)\w*(\[\w+\])?$"),
            "L": pattern(r"^(self\.|config\.|cfg\.|args\.)?(lam|lmbda|lambda_?|gae_lambda|gae_lam)$"),
            "A": pattern(r"adv|gae|carry|last"),
        },
        unlike={"L": pattern(r"gamma|discount"), "M": pattern(r"gamma|discount|(^|[._])g$")},
    ),
    Wrong(
        ("R + D*(L*V + (1 - L)*C)",),
        "lambda weighs what is summed up so far, and the rest the value: the two are exchanged",
        "reward + discount * ((1 - lam) * next_value + lam * carry)",
        (b"lam",),
        named={
            "L": pattern(r"lam"),
            "V": pattern(r"(^|_)v(al\w*)?(_|$|\[)|next|boot"),
            "C": pattern(r"^(carry|g|ret\w*|acc\w*|lam\w*|last\w*|G|returns?)$"),
        },
    ),
    Wrong(
        ("minimum(A, B) + C*L",),
        "the soft value takes the log-probability off: added, it rewards what is certain already",
        "minimum(q1, q2) - alpha * log_prob",
        (b"minimum", b"log"),
        named={"L": _LOG, "C": _WEIGHT},
    ),
    Wrong(
        ("sqrt(N/log(T))", "sqrt(2*N/log(T))"),
        "the bonus grows with the number of visits: the quotient is turned round",
        "sqrt(log(t) / n)",
        (b"sqrt", b"log("),
        pattern(r"ucb|bonus|confidence"),
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def td_error(reward, value, next_value, done, gamma=0.99):
    return reward + gamma * (1 - done) * value - next_value
"""

RULE = lint_rule(
    "NNX560",
    "value-forms",
    "a value or bonus of reinforcement learning with a wrong sign or place",
    why="""\
The error of temporal differences is the reward plus the discounted value of the next state less the value of this one.
The soft value takes the weighted log-probability off, which rewards what is uncertain; the bonus of an upper bound
falls with the number of visits.
""",
    source="Sutton and Barto, Reinforcement Learning; Haarnoja and others, 2018; measured: other values",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("* value - next_value", "* next_value - value"),),
)
