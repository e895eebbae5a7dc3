"""NNX983: the density of what tanh squashes, with the volume added or taken of what is not squashed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import complement, squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_LOG_PROB = pattern(r"log_?p(rob|i|df)?(s|$|_|\d)|log_?prob|logpdf|log_density", re.I)
_SUMS = frozenset({"sum", "mean"})
_DRAWING = frozenset({"sample", "rsample", "normal"})
_DEPTH = 8


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Call):
        if last_word(node.func) == "softplus" and scope.module.source.mentions(b"tanh") and not in_test(scope):
            form = _softplus_form(context, node, scope)
            if form is not None and _density(context, form[0], scope, (form[1], "")) == 1:
                yield _multiplied(scope, form[0])
            continue
        if last_word(node.func) not in {"log", "log1p"} or not scope.module.source.mentions(b"tanh"):
            continue
        base = _squared_rest(node)
        if base is None or scope.function is None or in_test(scope) or not _of_library(context, node, scope):
            continue
        squashed = _squashed(context, base, scope)
        if squashed is None:
            raw = _unsquashed(context, base, scope)
            if raw is not None and _density(context, node, scope, raw) is not None:
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"the volume is taken of `{ast.unparse(base)}`, which tanh has not squashed yet: beyond 1 this is "
                    "the logarithm of a negative number",
                    f"take it of the squashed value: jnp.log(1 - jnp.tanh({ast.unparse(base)}) ** 2)",
                )
            continue
        sign = _density(context, node, scope, squashed)
        if sign == 1:
            yield _multiplied(scope, node)
        elif sign == -1 and _bare(node) and _unbounded(context, squashed[0], scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f"float32 takes tanh(`{squashed[0]}`) for 1 beyond 9, and the logarithm of the rest is -inf: one such "
                "draw makes the loss inf and the weights nan",
                f"2 * (jnp.log(2.0) - {squashed[0]} - jax.nn.softplus(-2 * {squashed[0]})) is the same without that",
            )


def _multiplied(scope: Scope, node: ast.expr) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        "the density of a squashed value is that of the raw one divided by the derivative of tanh, and this multiplies "
        "by it",
        "subtract the logarithm: log_prob - jnp.log(1 - action**2)",
    )


def _softplus_form(context: Context, node: ast.Call, scope: Scope) -> tuple[ast.expr, str] | None:
    """Return the whole of ``2 * (log(2) - x - softplus(-2 * x))``, which is log(1 - tanh(x)**2), and the name of x."""
    given = node.args[0] if len(node.args) == 1 else None
    factors = operands(given, ast.Mult) if given is not None else []
    raw = next((one.id for one in factors if isinstance(one, ast.Name)), "")
    if len(factors) != 2 or not raw or not any(constant(one) == -2 for one in factors):
        return None
    above = around(context, scope)
    minus = above.get(node)
    if not isinstance(minus, ast.BinOp) or not isinstance(minus.op, ast.Sub) or minus.right is not node:
        return None
    first = minus.left
    if not isinstance(first, ast.BinOp) or not isinstance(first.op, ast.Sub) or last_word(first.right) != raw:
        return None
    whole = above.get(minus)
    double = isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult)
    return (whole, raw) if double and isinstance(whole, ast.BinOp) else None


def _of_library(context: Context, node: ast.Call, scope: Scope) -> bool:
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
    return name.startswith("jax.numpy.")


def _squared_rest(node: ast.Call) -> ast.expr | None:
    """Return x in ``log(1 - x**2 + eps)`` and ``log1p(-x**2)``."""
    if len(node.args) != 1 or node.keywords:
        return None
    inner: ast.expr = node.args[0]
    if last_word(node.func) == "log1p":
        return squared(inner.operand) if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub) else None
    terms = operands(inner, ast.Add)
    rest = [one for one in terms if constant(one) is None and not isinstance(one, ast.Name | ast.Attribute)]
    found = rest[0] if len(rest) == 1 and len(terms) <= 2 else None
    if isinstance(found, ast.Call) and last_word(found.func) in {"clip", "maximum"} and found.args:
        found = found.args[0]
    return squared(complement(found))


def _bare(node: ast.Call) -> bool:
    """Say whether nothing keeps ``log(1 - x**2)`` from zero."""
    inner = node.args[0]
    return last_word(node.func) == "log1p" or squared(complement(inner)) is not None


def _given(context: Context, name: str, scope: Scope) -> list[ast.expr]:
    """Return what the assignments of a body give a variable."""
    return [
        one.value
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Assign) and len(one.targets) == 1
        and isinstance(one.targets[0], ast.Name) and one.targets[0].id == name
    ]  # fmt: skip


def _unbounded(context: Context, name: str, scope: Scope) -> bool:
    """Say whether a variable is the sum of a mean and noise that are drawn in a body, which nothing bounds."""
    drawn = _given(context, name, scope)
    if len(drawn) != 1 or not isinstance(drawn[0], ast.BinOp) or not isinstance(drawn[0].op, ast.Add):
        return False
    terms = [written(context, one, scope) for one in operands(drawn[0], ast.Add)]
    bounded = any(last_word(n.func) in _BOUNDING for one in terms for n in ast.walk(one) if isinstance(n, ast.Call))
    return not bounded and _drawn(context, name, scope)


_BOUNDING = frozenset({"clip", "tanh", "sigmoid", "truncated_normal"})


def _squashed(context: Context, node: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """Return the name of what was squashed and that of the squashed value, which may have none."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.Call) or last_word(made.func) != "tanh" or len(made.args) != 1:
        return None
    raw = made.args[0]
    name = node.id if isinstance(node, ast.Name) else ""
    return (raw.id, name) if isinstance(raw, ast.Name) else None


def _unsquashed(context: Context, node: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """Return the name of a value that is squashed under another one, and that other name."""
    if not isinstance(node, ast.Name) or _tanh_of(made_by(context, node, scope)) is not None:
        return None
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            if _tanh_of(one.value) == node.id != one.targets[0].id:
                return node.id, one.targets[0].id
    return None


def _tanh_of(node: ast.expr | None) -> str | None:
    tanh = isinstance(node, ast.Call) and last_word(node.func) == "tanh" and len(node.args) == 1
    inner = node.args[0] if tanh and isinstance(node, ast.Call) else None
    return inner.id if isinstance(inner, ast.Name) else None


def _density(context: Context, node: ast.expr, scope: Scope, names: tuple[str, str]) -> int | None:
    """Return the sign with which a logarithm stands beside the log-density of the raw value; None if it does not."""
    raw, squashed = names
    for other, sign in _beside(context, node, scope, 0):
        while isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.USub):
            other, sign = other.operand, -sign
        made = made_by(context, other, scope) if isinstance(other, ast.Name) else None
        parts = [other] if made is None else [other, made]
        words = [last_word(n.func) if isinstance(n, ast.Call) else last_word(n) for n in parts]
        words += [last_word(n.func) for n in ast.walk(parts[-1]) if isinstance(n, ast.Call)]
        read = frozenset().union(*map(names_in, parts))
        if not any(_LOG_PROB.search(word) for word in (*words, *read)):
            continue
        if squashed and squashed in read:
            return None
        if raw in read or _drawn(context, raw, scope):
            return sign
    return None


def _beside(context: Context, node: ast.expr, scope: Scope, depth: int) -> list[tuple[ast.expr, int]]:
    """Return the other terms of the sum that an expression is in, each with whether their signs are the same."""
    above = around(context, scope)
    found: list[tuple[ast.expr, int]] = []
    sign = 1
    while depth <= _DEPTH:
        outer = above.get(node)
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub):
            other = outer.left if outer.right is node else outer.right
            found.append((other, -sign if isinstance(outer.op, ast.Sub) else sign))
        elif isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub) and not found:
            sign = -sign
        elif isinstance(outer, ast.AugAssign) and isinstance(outer.op, ast.Add | ast.Sub) and not found:
            return [(_before(context, outer, scope), sign if isinstance(outer.op, ast.Add) else -sign)]
        elif isinstance(outer, ast.Assign) and not found and len(outer.targets) == 1:
            return [(other, sign * s) for other, s in _used(context, outer.targets[0], scope, depth + 1)]
        elif found or _summing(outer) not in _SUMS:
            break
        if not isinstance(outer, ast.expr):
            break
        node, depth = outer, depth + 1
    return found


def _summing(node: ast.AST | None) -> str:
    """Return the name of a function that is called, or of a method."""
    if isinstance(node, ast.Call):
        return last_word(node.func)
    return node.attr if isinstance(node, ast.Attribute) else ""


def _before(context: Context, node: ast.AugAssign, scope: Scope) -> ast.expr:
    """Return what a variable was given before ``log_prob += ...``."""
    target = node.target
    given = [
        one.value
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Assign) and one.lineno < node.lineno and len(one.targets) == 1
        and isinstance(one.targets[0], ast.Name) and isinstance(target, ast.Name) and one.targets[0].id == target.id
    ]  # fmt: skip
    return given[-1] if given else target


def _used(context: Context, target: ast.expr, scope: Scope, depth: int) -> list[tuple[ast.expr, int]]:
    """Return what a variable stands beside in a sum, if it is read once."""
    if not isinstance(target, ast.Name) or depth > 3:
        return []
    names = context.bodies.names(scope).get(target.id, ())
    reads = [one for one in names if isinstance(one.ctx, ast.Load)]
    return _beside(context, reads[0], scope, depth) if len(reads) == 1 and len(names) == 2 else []


def _drawn(context: Context, name: str, scope: Scope) -> bool:
    """Say whether a variable is drawn in a body: of a distribution, or as a mean and noise."""
    values = _given(context, name, scope)
    if len(values) != 1:
        return False
    parts = [values[0], *(made for n in ast.walk(values[0]) if isinstance(n, ast.Name)
                          and (made := made_by(context, n, scope)) is not None)]  # fmt: skip
    calls = (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Call))
    return any(last_word(one.func) in _DRAWING for one in calls)


_BAD = """\
import jax
import jax.numpy as jnp


def sample_action(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    log_prob = log_prob + jnp.log(1.0 - action**2 + 1e-6)
    return action, log_prob.sum(axis=-1)


print(sample_action(jnp.zeros(2), jnp.zeros(2), jax.random.key(0)))
"""

RULE = lint_rule(
    "NNX983",
    "squashed-density",
    "the log-density of a value that tanh squashes, with a volume of the raw value, of the wrong sign, or rounded to 0",
    why="""\
For `action = tanh(raw)` the density is that of `raw` divided by `1 - action**2`, so that its logarithm is subtracted.
With a plus the entropy that soft actor-critic looks at is that of another distribution, and the policy saturates. With
`raw` in the place of `action` the logarithm is nan as soon as `raw` is beyond 1. In float32 tanh is 1 for all that is
beyond 9, and `1 - action**2` zero.
""",
    source="Haarnoja et al. 2018, appendix C; measured: the mean of one over the density is not the interval's width",
    severity="error",
    check=_check,
    bad=(_BAD, _BAD.replace("log_prob + jnp.log(1.0 - action**2", "log_prob - jnp.log(1.0 - raw**2")),
    clean=(_BAD.replace("log_prob + jnp.log", "log_prob - jnp.log"),),
)
