"""NNX531: arguments of densities that mean something else at their place: rates, scales, ends and factors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from re import Pattern
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, entry_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Value

_HOMES = ("jax.scipy.stats.", "scipy.stats.")
_METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_RATES = r"rates?|inv_?scales?|scales?|beta|theta|lam|lambda_?|lambd|b|tau"
_SCALES = r"scales?|sigmas?|stds?|sd|stddev|std_?dev"


class _Family(NamedTuple):
    """Where densities of a family take their location.

    Attributes:
        place: the place of the location, behind that of the point.
        words: what is no location, by the last words of its name.
        ordinal: the place in words.
        numbers: whether a number or an inverse there is no location either, since nobody shifts the density.
    """

    place: int
    words: Pattern[str]
    ordinal: str
    numbers: bool = False


def _words(text: str) -> Pattern[str]:
    return pattern(rf"(^|_)({text})(_?\d)?$")


_FAMILIES = {
    "gamma": _Family(2, _words(_RATES), "third", numbers=True),
    "expon": _Family(1, _words(_RATES), "second", numbers=True),
    "pareto": _Family(2, _words(r"scales?|x_?m(in)?|minimum"), "third"),
    "t": _Family(2, _words(_SCALES), "third"),
    **dict.fromkeys(("norm", "laplace", "cauchy", "logistic"), _Family(1, _words(_SCALES), "second")),
}
_RATE = _words(r"rates?|inv_?scales?|beta|lam|lambda_?|lambd|b")
_LOW = _words(r"lows?|lower|lo|mins?|minimum|minval|left|start|begin|a")
_HIGH = _words(r"highs?|upper|hi|maxs?|maximum|maxval|right|stop|end|b")
_COVARIANCES = {
    "jax.random.multivariate_normal": (2, "cov"),
    "jax.scipy.stats.multivariate_normal.logpdf": (2, "cov"),
    "jax.scipy.stats.multivariate_normal.pdf": (2, "cov"),
}
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.mentions(b"stats") for module in context.project.modules):
        for event, name in foreign(context, *_METHODS):
            home, _, method = name.rpartition(".")
            family = last(home)
            if home != f"{_home(name)}{family}" or event.value.starred or in_test(event.scope):
                continue
            if family == "uniform":
                yield from _ends(event, method)
            elif family in _FAMILIES:
                yield from _location(context, event, family, method)
    yield from _factors(context)


def _home(name: str) -> str:
    return next((home for home in _HOMES if name.startswith(home)), "?")


def _location(context: Context, event: CallEvent, family: str, method: str) -> Iterator[Finding]:
    """Yield a rate or a scale at the place of the location, where no scale is given."""
    place, words, ordinal, numbers = _FAMILIES[family]
    given = event.node.args
    if len(given) != place + 1 or any(one.arg in {"scale", "loc", None} for one in event.node.keywords):
        return
    node = given[place]
    number = constant(node)
    told = numbers and _inverse(context, node, event.scope)
    if number is not None:
        wrong = numbers and isinstance(number, int | float) and number > 0
    else:
        wrong = bool(told) or words.search(entry_word(node).lower()) is not None
    if not wrong:
        return
    text = ast.unparse(node)
    rate = not told and _RATE.search(entry_word(node).lower()) is not None
    yield finding(
        RULE.code,
        event.scope,
        node,
        f"`{family}.{method}` takes the location {ordinal}: `{text}` shifts the density, and its scale stays 1",
        f"give it by name: scale={f'1 / {text}' if rate else text}" if number is None else "give it by name: scale=...",
    )


def _inverse(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an argument is the inverse of something, as a scale is that of a rate."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    return isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div) and constant(made.left) == 1


def _ends(event: CallEvent, method: str) -> Iterator[Finding]:
    """Yield the ends of an interval, where a uniform density takes its begin and its length."""
    given = event.node.args
    if len(given) != 3 or event.node.keywords:
        return
    low, high = given[1:]
    first, second = constant(low), constant(high)
    if isinstance(first, int | float) and isinstance(second, int | float):
        wrong = first == -second != 0
    else:
        words = entry_word(low).lower(), entry_word(high).lower()
        wrong = first != 0 and bool(_LOW.search(words[0])) and bool(_HIGH.search(words[1]))
    if wrong:
        one, other = ast.unparse(low), ast.unparse(high)
        yield finding(
            RULE.code,
            event.scope,
            high,
            f"`uniform.{method}` takes the location and the scale, which is the length: this ends at {one} + {other}",
            f"give the length: {other} - {one}" if first is None else f"give the length: {other} - ({one})",
        )


def _factors(context: Context) -> Iterator[Finding]:
    """Yield the factor of Cholesky where a normal distribution takes the covariance."""
    if not any(module.source.mentions(b"cholesky") for module in context.project.modules):
        return
    for event, name in foreign(context, *(name.rpartition(".")[2] for name in _COVARIANCES)):
        place = _COVARIANCES.get(name)
        value = event.value.argument(*place) if place is not None and not event.value.starred else None
        node = argument(event.node, *place) if place is not None else None
        if value is not None and node is not None and not in_test(event.scope) and _factor(context, event, value):
            taking = ".".join(name.split(".")[-2:]).removeprefix("random.")
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{taking}` takes the covariance, and `{ast.unparse(node)}` is its factor",
                "give the covariance itself: factor @ factor.T",
            )


def _factor(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a matrix is the factor of another one on every way."""
    found = [*context.sources.originals(context.flow.here(value, event.scope))]
    return bool(found) and all(_is_factor(context, one, 0) for one in found)


def _is_factor(context: Context, source: Bound, depth: int) -> bool:
    inner = same_numbers(context, source)
    if inner is None and isinstance(source.value, Attr) and source.value.name in {"T", "mT"}:
        inner = context.flow.with_value(source, source.value.base)
    if inner is not None and depth < _DEPTH:
        found = [*context.sources.originals(inner)]
        return bool(found) and all(_is_factor(context, one, depth + 1) for one in found)
    return isinstance(source.value, Call) and last(context.flow.calls.callee_name(source)) == "cholesky"


_BAD = """\
import jax.numpy as jnp
from jax.scipy.stats import gamma


def log_prior(rate, alpha, beta):
    return gamma.logpdf(rate, alpha, beta)


print(log_prior(jnp.array(3.0), 2.0, 1.5))
"""

RULE = lint_rule(
    "NNX531",
    "density-arguments",
    "a rate, a scale, an end or a factor where a density takes something else",
    why="""\
The densities of `jax.scipy.stats` take a location before their scale, as those of SciPy. `gamma.logpdf(x, a, b)` and
`expon.logpdf(x, rate)` shift the density by what was meant for its rate, and leave its scale at 1:
`gamma.logpdf(x, a, scale=1 / b)`. `uniform.logpdf(x, low, high)` takes the length of the interval third, and
`multivariate_normal` the covariance, not its factor. Nothing is raised, and the fit ends elsewhere.
""",
    source="SciPy issue 6111; measured on JAX 0.6.2 and 0.10.2 against the formulas of the densities",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("alpha, beta)\n\n\np", "alpha, scale=1 / beta)\n\n\np"),),
)
