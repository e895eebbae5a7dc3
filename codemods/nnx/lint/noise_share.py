"""NNX790: noise or a signal whose share is that of its variance, where the other share has a root."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, bare, binary, is_number, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Param

_NOISE = pattern(r"(^|_)(noise|noises|eps|epsilon)(_|\d|$)")
_ALPHA = pattern(r"alpha|(^|_)a_?bar|(^|_)ab(_|$)")
_ROOTS = frozenset({"jax.numpy.sqrt", "numpy.sqrt", "jax.lax.sqrt", "math.sqrt"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Add) or not _may_be_noisy(scope):
            continue
        whole = node if scope.module.source.mentions(b"cumprod") and _rootless(context, node, scope) else None
        if whole is not None and not in_test(scope):
            yield finding(
                RULE.code,
                scope,
                whole,
                "the signal and the noise are scaled by their shares of the variance, not by the roots: it is not kept",
                "scale them by the roots: jnp.sqrt(alpha_bar) * x + jnp.sqrt(1 - alpha_bar) * noise",
            )
            continue
        sides = [operands(written(context, side, scope), ast.Mult) for side in (node.left, node.right)]
        if len(sides[0]) < 2 or len(sides[1]) < 2 or in_test(scope):
            continue
        for signal, noise in (sides, sides[::-1]):
            found = _unlike(context, signal, noise, scope)
            if found is not None:
                share, message, help = found
                yield finding(RULE.code, scope, share, message, help)
                break


_BAR = pattern(r"^(alphas?_?(bar|hat|cumprod|prod)|(bar|hat|cumprod)_?alphas?|a_?bar)s?(_t)?$")
# of classes, which are exchanged for others with some probability
_OF_CLASSES = pattern(rb"d3pm|multinomial|absorb|categorical")


def _rootless(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a sum is ``a * x + (1 - a) * noise`` ``a`` being a running product, as of diffusion."""
    sides = [operands(written(context, side, scope), ast.Mult) for side in (node.left, node.right)]
    if not all(len(side) == 2 for side in sides) or scope.module.source.matches(_OF_CLASSES):
        return False
    for signal, noise in (sides, sides[::-1]):
        for factor in signal:
            if not _running_product(context, factor, scope):
                continue
            part = at(context, factor, scope)
            for other, drawn in (noise, noise[::-1]):
                if _noise(context, drawn, scope) and _minus(context, at(context, other, scope), part):
                    return True
    return False


def _running_product(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a factor is an entry of what ``cumprod`` gave, or is called so."""
    found = bare(context, at(context, node, scope))
    if found is not None and isinstance(found.value, Call) and found.value.args:
        if context.flow.calls.callee_name(found) == "jax.numpy.take":
            found = bare(context, context.flow.with_value(found, found.value.args[0]))
    if found is not None and isinstance(found.value, Call):
        return last(context.flow.calls.callee_name(found)) == "cumprod"
    named = any(_BAR.search(name.lower()) for name in (entry_word(node), last_word(node)))
    return named and (found is None or isinstance(found.value, Param | Attr))


def _minus(context: Context, whole: Bound, part: Bound) -> bool:
    """Say whether a number is one minus another."""
    found = bare(context, whole)
    minus = binary(found, ast.Sub) if found is not None else None
    if found is None or minus is None or not is_number(context, operand(context, found, minus.left), 1):
        return False
    return _same(context, operand(context, found, minus.right), part)


def _unlike(
    context: Context, signal: list[ast.expr], noise: list[ast.expr], scope: Scope
) -> tuple[ast.expr, str, str] | None:
    """Return the share of the noise or the signal that has no root where the other one has, with what to say of it."""
    share = _rest_of_root(context, signal, noise, scope)
    if share is not None and any(_noise(context, one, scope) for one in noise if one is not share):
        return (
            share,
            "the noise is scaled by one minus a root, not by the root of the rest: the variance is not kept",
            "the shares of the variance are to add up to one: jnp.sqrt(1 - alpha_bar)",
        )
    rooted, bare = "signal", "noise"
    share = _share(context, signal, noise, scope)
    if share is None or not any(_noise(context, one, scope) for one in noise if one is not share):
        rooted, bare = bare, rooted
        share = _share(context, noise, signal, scope)
        if share is None or not _of_alphas(share) or not any(_noise(context, one, scope) for one in noise):
            return None
    return (
        share,
        f"the {rooted} is scaled by a root and the {bare} is not: the variance is not kept",
        f"the shares of the variance are to add up to one: jnp.sqrt({scope.module.source.text(share).strip('()')})",
    )


def _of_alphas(node: ast.expr) -> bool:
    """Say whether a factor is called a share of a diffusion: ``(1 - dt) * x + sqrt(dt) * noise`` is a step of time."""
    return any(_ALPHA.search(name.lower()) for name in (entry_word(node), last_word(node)))


def _may_be_noisy(scope: Scope) -> bool:
    mentions = scope.module.source.mentions
    return any(map(mentions, (b"noise", b"eps", b"random"))) and any(map(mentions, (b"sqrt", b"0.5", b"cumprod")))


def _share(context: Context, signal: list[ast.expr], noise: list[ast.expr], scope: Scope) -> ast.expr | None:
    """Return the factor of the noise that is the rest of what the signal's factor is the root of."""
    for factor in signal:
        rooted = _rooted(context, at(context, factor, scope))
        if rooted is None:
            continue
        for other in noise:
            if _rest(context, at(context, other, scope), rooted):
                return other
    return None


def _rest_of_root(context: Context, signal: list[ast.expr], noise: list[ast.expr], scope: Scope) -> ast.expr | None:
    """Return the factor of the noise that is one minus the signal's factor, where that is the root of an alpha."""
    for factor in signal:
        rooted = _rooted(context, at(context, factor, scope))
        for other in noise if rooted is not None else ():
            found = bare(context, at(context, other, scope))
            minus = binary(found, ast.Sub) if found is not None else None
            if found is None or minus is None or not is_number(context, operand(context, found, minus.left), 1):
                continue
            inner = _rooted(context, operand(context, found, minus.right))
            if inner is not None and rooted is not None and _same(context, inner, rooted):
                names = [entry_word(factor), entry_word(other), getattr(rooted.value, "name", "")]
                names += [last_word(n) for n in ast.walk(minus) if isinstance(n, ast.Name | ast.Attribute)]
                if any(_ALPHA.search(name.lower()) for name in names):
                    return other
    return None


def _rooted(context: Context, bound: Bound) -> Bound | None:
    """Return what a number is the root of; None if it is none."""
    found = bare(context, bound)
    if found is None:
        return None
    if isinstance(found.value, Call):
        name = context.flow.calls.callee_name(found)
        half = last(name) in {"pow", "power"} and len(found.value.args) == 2
        if name in _ROOTS and len(found.value.args) == 1:
            return context.flow.with_value(found, found.value.args[0])
        if half and is_number(context, context.flow.with_value(found, found.value.args[1]), 0.5):
            return context.flow.with_value(found, found.value.args[0])
        return None
    power = binary(found, ast.Pow)
    if power is not None and is_number(context, operand(context, found, power.right), 0.5):
        return operand(context, found, power.left)
    return None


def _rest(context: Context, one: Bound, other: Bound) -> bool:
    """Say whether one of two numbers is one minus the other."""
    return _minus(context, one, other) or _minus(context, other, one)


def _same(context: Context, one: Bound, other: Bound) -> bool:
    """Say whether two numbers are the same, by where they come from."""
    first, second = bare(context, one), bare(context, other)
    return first is not None and first == second


def _noise(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a factor is noise, by its name or by how it is drawn."""
    if _NOISE.search(last_word(node).lower()):
        return True
    found = bare(context, at(context, node, scope))
    return found is not None and context.flow.calls.callee_name(found) == "jax.random.normal"


RULE = lint_rule(
    "NNX790",
    "noise-share",
    "noise or a signal scaled by its share of the variance, and not by the root of its share",
    why="""\
The forward process of a diffusion model keeps the variance: `sqrt(a) * x + sqrt(1 - a) * noise`. With `(1 - a) * noise`
there is too little noise in between, and with `a * x` too little of the signal, so that the model learns other steps
than those it is asked for when sampling.
""",
    source="Ho et al. 2020, equation 4; measured: a standard deviation of 0.88 in the middle instead of 1",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def add_noise(key, x, alpha_bar):
    noise = jax.random.normal(key, x.shape)
    return jnp.sqrt(alpha_bar) * x + (1.0 - alpha_bar) * noise
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def add_noise(key, x, alpha_bar):
    noise = jax.random.normal(key, x.shape)
    return jnp.sqrt(alpha_bar) * x + jnp.sqrt(1.0 - alpha_bar) * noise
""",
    ),
)
