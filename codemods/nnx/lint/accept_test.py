"""NNX949: a step of Metropolis whose ratio is compared with a random number of another scale, or the wrong way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors, squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.energies import wrong_energies
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_ACCEPT = pattern(r"(^|_)(is_|do_)?(acc|accept|accepted|accepts|acceptance|take|moved?)(_|$)", re.I)
_REJECT = pattern(r"rej|stay|keep|not_", re.I)
_PROPOSED = pattern(r"(^|_)(prop|proposal|proposed|cand|candidate|new|next|trial)(_|$)|proposal", re.I)
_LOG = pattern(r"(^|_)(log|ln)(_|[a-z])|(^|_)(lp|ll|logp\w*)(_|$)|log_?(prob|density|lik|post|target|pdf)", re.I)
_RATIO = pattern(r"^(log|ln)_?(accept\w*|acc|ratio|alpha|r|a|mh\w*|prob_ratio|weight_ratio|hastings\w*)(_|$)", re.I)
_UNIFORM, _LOG_UNIFORM, _EXPONENTIAL = "uniform", "log of it", "exponential"
_DEPTH = 5


class _Random(NamedTuple):
    """A random number that a comparison decides by."""

    kind: str
    node: ast.expr


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"uniform") or m.source.mentions(b"exponential") for m in context.project.modules):
        return
    for scope, node in each(context, ast.Compare):
        source = scope.module.source
        if len(node.ops) != 1 or in_test(scope) or not (source.mentions(b"uniform") or source.mentions(b"exponential")):
            continue
        if isinstance(node.ops[0], ast.Lt | ast.LtE):
            less, more = node.left, node.comparators[0]
        elif isinstance(node.ops[0], ast.Gt | ast.GtE):
            less, more = node.comparators[0], node.left
        else:
            continue
        problem = _problem(context, node, less, more, scope)
        if problem is not None:
            yield finding(RULE.code, scope, *problem)
    for wrong in wrong_energies(context):
        yield finding(RULE.code, *wrong)


def _problem(
    context: Context, node: ast.Compare, less: ast.expr, more: ast.expr, scope: Scope
) -> tuple[ast.AST, str, str] | None:
    """Return what is wrong with a comparison that accepts a step, and what to write."""
    low, high = _random(context, less, scope, 0), _random(context, more, scope, 0)
    if (low is None) == (high is None):
        return None
    drawn, other = (low, more) if low is not None else (high, less)
    assert drawn is not None
    accepts, log = _accepts(context, node, scope), _logarithm(context, other, scope, 0)
    if drawn.kind == _EXPONENTIAL:
        if low is not None and accepts and (log or _difference(context, other, scope)):
            return (
                drawn.node,
                (
                    "the logarithm of a uniform number is minus an exponential one: without the minus, only steps to a "
                    "higher density are accepted"
                ),
                "write log_ratio > -jax.random.exponential(key), or jnp.log(jax.random.uniform(key)) < log_ratio",
            )
        return None
    energy = low is not None and accepts and drawn.kind == _UNIFORM
    if energy and _exponential_of_energy(context, other, scope, 0):
        words = "the step is accepted the more often, the higher its energy: the sign of the difference is turned round"
        return node, words, "subtract the new energy from the old one: jax.random.uniform(key) < jnp.exp(old - new)"
    if low is not None and drawn.kind == _UNIFORM and _of_energies(context, other, scope, 0):
        return (
            node,
            "the difference of two energies, a logarithm of the ratio, is compared with a uniform number itself",
            "compare like with like: jnp.log(jax.random.uniform(key)) < old - new",
        )
    if drawn.kind == _UNIFORM and log:
        if accepts or _of_two(context, other, scope):
            return (
                node,
                "the logarithm of a ratio is compared with a uniform number itself",
                ("compare like with like: jnp.log(jax.random.uniform(key)) < log_ratio"),
            )
        return None
    if low is not None and drawn.kind == _LOG_UNIFORM and accepts and _more_energy(context, other, scope):
        words = "the step is accepted the more often, the higher its energy: the sign of the difference is turned round"
        return node, words, "subtract the new energy from the old one: jnp.log(jax.random.uniform(key)) < old - new"
    if low is not None and accepts and drawn.kind != _EXPONENTIAL and _less_density(context, drawn, other, scope, 0):
        words = "the step is accepted the more often, the lower its density: the sign of the difference is turned round"
        return node, words, "subtract the old logarithm from the new one: log_density(new) - log_density(old)"
    if low is not None and drawn.kind == _LOG_UNIFORM and accepts and _exponential(context, other, scope, 0):
        words = "the logarithm of a uniform number is always below the ratio itself: every step is accepted"
        return node, words, "compare like with like: jnp.log(jax.random.uniform(key)) < log_ratio"
    alike = log if drawn.kind == _LOG_UNIFORM else _exponential(context, other, scope, 0)
    if high is not None and accepts and alike and not _of_one_point(context, other, scope, 0):
        return (
            node,
            "the step is accepted where the random number is the greater one: the better, the more seldom",
            ("turn the comparison round: accept where the uniform number is less than the ratio"),
        )
    return None


def _random(context: Context, node: ast.expr, scope: Scope, depth: int) -> _Random | None:
    """Return the random number that an expression is, if it has its sign."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return _random(context, made, scope, depth + 1) if made is not None else None
    call = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(call, Call):
        return None
    name = context.flow.calls.callee_name(context.flow.here(call, scope))
    if name == "jax.random.exponential":
        return _Random(_EXPONENTIAL, node)
    bounds = {k.arg for k in node.keywords} & {"minval", "maxval"}
    if name == "jax.random.uniform":
        return _Random(_UNIFORM, node) if len(node.args) < 4 and not bounds else None
    if name in {"jax.numpy.log", "numpy.log", "jax.lax.log"} and node.args:
        inner = _random(context, node.args[0], scope, depth + 1)
        return _Random(_LOG_UNIFORM, node) if inner is not None and inner.kind == _UNIFORM else None
    return None


def _accepts(context: Context, node: ast.Compare, scope: Scope) -> bool:
    """Say whether a comparison says which steps are taken, by the name or by what is chosen then."""
    outer = around(context, scope).get(node)
    while isinstance(outer, ast.Call) and last_word(outer.func) in {"astype", "asarray", "float32", "int32"}:
        outer = around(context, scope).get(outer)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
        name = outer.targets[0].id
        return _ACCEPT.search(name) is not None and not _REJECT.search(name)
    if isinstance(outer, ast.Call) and last_word(outer.func) in {"where", "select", "cond"} and len(outer.args) > 2:
        ways = (one.body if isinstance(one, ast.Lambda) else one for one in outer.args[1:3])
        first, second = (entry_word(one) for one in ways)
        return outer.args[0] is node and bool(_PROPOSED.search(first)) and not _PROPOSED.search(second)
    return False


def _logarithm(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is the logarithm of a ratio."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Call) and last_word(node.func) in {"minimum", "clip"} and node.args:
        return any(_logarithm(context, one, scope, depth + 1) for one in node.args)
    if isinstance(node, ast.Name | ast.Attribute):
        made = made_by(context, node, scope)
        if made is None:
            return _RATIO.search(last_word(node)) is not None
        if isinstance(made, ast.Call) and last_word(made.func) not in {"minimum", "clip"}:
            return _RATIO.search(last_word(node)) is not None and last_word(made.func) not in {"exp", "expm1"}
        return _logarithm(context, made, scope, depth + 1)
    return _of_two(context, node, scope)


def _of_two(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the difference of two logarithms of densities."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    return all(_LOG.search(_word(side)) is not None for side in (made.left, made.right))


def _of_energies(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is the difference of two energies, bounded from above or not."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if depth > _DEPTH or made is None:
        return False
    if isinstance(made, ast.Call) and last_word(made.func) in {"minimum", "clip"}:
        return any(_of_energies(context, one, scope, depth + 1) for one in made.args)
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    return all(_energy(context, one, scope) or _total(context, one, scope) for one in (made.left, made.right))


def _total(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a variable is called an energy, and is a sum with half of a square in it: ``h0 = u + 0.5 * p**2``."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or not _CALLED.search(node.id) or made is None:
        return False
    return any(
        any(constant(one) == 0.5 for one in parts) and any(_square(one) for one in parts)
        for parts in (list(factors(term)) for term in operands(made, ast.Add))
        if len(parts) > 1
    )


_CALLED = pattern(r"^(h|e|energy|ham\w*|total)(_?(\d|old|new|start|end|init\w*|prop\w*|cur\w*|before|after))?$", re.I)


def _square(node: ast.expr) -> bool:
    """Say whether a factor is a square, or a sum of squares."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"sum", "dot", "vdot"}:
        return last_word(node.func) != "sum" or _square(array_of(node) or node.func)
    return squared(node) is not None


def _of_one_point(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether a ratio is that of two functions of the same point: it is no step from one point to another, and what
    is rejected with the probability of the ratio is accepted where the random number is the greater one."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if depth > _DEPTH or made is None:
        return False
    if isinstance(made, ast.Call) and last_word(made.func) in {"minimum", "clip", "exp"}:
        return any(_of_one_point(context, one, scope, depth + 1) for one in made.args)
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    sides = [made_by(context, one, scope) if isinstance(one, ast.Name) else one for one in (made.left, made.right)]
    calls = [one for one in sides if isinstance(one, ast.Call)]
    points = {tuple(map(ast.unparse, one.args)) for one in calls}
    return len(calls) == 2 and len(points) == 1 and last_word(calls[0].func) != last_word(calls[1].func)


def _more_energy(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the energy of the proposed state minus that of the old one, or a part of that."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div) and _temperature(made.right):
        return _more_energy(context, made.left, scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        sides = made.left, made.right
        return any(_temperature(a) and _more_energy(context, b, scope) for a, b in (sides, sides[::-1]))
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    sides = made.left, made.right
    if not all(_energy(context, one, scope) for one in sides):
        return False
    return [_of_proposed(context, one, scope) for one in sides] == [True, False]


def _temperature(node: ast.expr) -> bool:
    """Say whether a factor is a positive number, or called a temperature."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and node.value > 0
    return isinstance(node, ast.Name | ast.Attribute) and _TEMPERATURE.search(last_word(node)) is not None


_TEMPERATURE = pattern(r"^(t|beta|inv_?t\w*|k_?b_?t|kt|temp\w*|inverse_temperature)$", re.I)


def _less_density(context: Context, drawn: _Random, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether the ratio is that of the old density to the proposed one, of one function of both."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if depth > _DEPTH or made is None:
        return False
    if isinstance(made, ast.Call) and last_word(made.func) in {"minimum", "clip"}:
        return any(_less_density(context, drawn, one, scope, depth + 1) for one in made.args)
    if drawn.kind == _UNIFORM:  # the ratio itself
        if not isinstance(made, ast.Call) or last_word(made.func) != "exp" or len(made.args) != 1:
            return False
        return _less_density(context, drawn._replace(kind=_LOG_UNIFORM), made.args[0], scope, depth + 1)
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    sides = made.left, made.right
    calls = [made_by(context, one, scope) if isinstance(one, ast.Name) else one for one in sides]
    words = [last_word(one.func) for one in calls if isinstance(one, ast.Call)]
    if len(words) != 2 or words[0] != words[1] or not _LOG.search(words[0]) or _NEGATIVE.search(words[0]):
        return False
    return [_of_proposed(context, one, scope) for one in sides] == [False, True]


_NEGATIVE = pattern(r"neg|minus|nll|loss|energy|potential|cost|q$", re.I)


def _energy(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an energy: of a function called so, or the sum of two parts of one."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if made is None:
        return isinstance(node, ast.Name) and _NAMED_ENERGY.search(node.id) is not None
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add):
        return all(_energy(context, one, scope) for one in (made.left, made.right))
    return isinstance(made, ast.Call) and _ENERGY.search(last_word(made.func)) is not None


def _of_proposed(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an energy is that of the proposed state, by its name or by what it is taken of."""
    if isinstance(node, ast.Name) and _PROPOSED.search(node.id):
        return True
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    return made is not None and any(_PROPOSED.search(name) for name in names_in(made))


def _exponential_of_energy(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is the exponential of what the energy grows by, bounded by one or not."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if depth > _DEPTH or not isinstance(made, ast.Call):
        return False
    if last_word(made.func) in {"minimum", "clip"}:
        return any(_exponential_of_energy(context, one, scope, depth + 1) for one in made.args)
    return last_word(made.func) == "exp" and len(made.args) == 1 and _more_energy(context, made.args[0], scope)


_ENERGY = pattern(r"^(total_)?(hamiltonian|energy|potential|kinetic)(_energy)?(_fn)?$", re.I)
_NAMED_ENERGY = pattern(r"(^|_)(hamiltonian|energy)(_|$)", re.I)


def _word(node: ast.expr) -> str:
    """Return the name of a part of a difference, or of the function that gives it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _word(node.left)
    return last_word(node.func) if isinstance(node, ast.Call) else entry_word(node)


def _difference(context: Context, node: ast.expr, scope: Scope) -> bool:
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    return isinstance(made, ast.BinOp) and isinstance(made.op, ast.Sub)


def _exponential(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is the exponential of a logarithm of a ratio."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return made is not None and _exponential(context, made, scope, depth + 1)
    if not isinstance(node, ast.Call) or not node.args:
        return False
    if last_word(node.func) in {"minimum", "clip"}:
        return any(_exponential(context, one, scope, depth + 1) for one in node.args)
    return last_word(node.func) == "exp" and _logarithm(context, node.args[0], scope, depth + 1)


_BAD = """\
import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * jnp.sum(x**2)


def step(key, x):
    key_step, key_accept = jax.random.split(key)
    proposal = x + jax.random.normal(key_step, x.shape)
    log_ratio = log_density(proposal) - log_density(x)
    accept = jax.random.uniform(key_accept) < log_ratio
    return jnp.where(accept, proposal, x)


print(step(jax.random.key(0), jnp.zeros(3)))
"""
_SIGN = _BAD.replace("jax.random.uniform(key_accept)", "jax.random.exponential(key_accept)")

RULE = lint_rule(
    "NNX949",
    "accept-test",
    "a step of Metropolis that is decided by a random number of another scale, or the wrong way round",
    why="""\
A step is accepted where a uniform number is less than the ratio of the densities, or its logarithm less than the
logarithm of the ratio. The logarithm of a uniform number is minus an exponential one. Compared with a number above
zero, the logarithm of the ratio lets only steps to a higher density through: the chain climbs and stays there, without
an error.
""",
    source="Metropolis et al. 1953; github.com/lollcat/fab-jax/pull/14; measured: the spread of the samples collapses",
    severity="error",
    check=_check,
    bad=(_BAD, _SIGN),
    clean=(
        _BAD.replace("jax.random.uniform(key_accept)", "jnp.log(jax.random.uniform(key_accept))"),
        _SIGN.replace("= jax.random.exponential", "= -jax.random.exponential"),
    ),
)
