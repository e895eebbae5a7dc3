"""NNX968: a step through time with noise of the wrong scale, an old force, or products of single elements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, foreign, in_test, scopes, written
from codemods.nnx.lint.syntax import constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source
from codemods.nnx.values import Call, Const, Each, Item, Param, Sequence, Value

_STEP = pattern(r"^(dt|d_t|delta_?t|time_?step|step_?size|h)$", re.I)
_STEP_TEXT = pattern(rb"\b(dt|d_t|delta_?t|time_?step|step_?size|h)\b", re.I)
_TRANSPOSED_TEXT = pattern(rb"\.\s*m?T\b|transpose")
_DIFFUSION = pattern(r"^(sigmas?|sig|vol|volatility|diffusion|diff_coeff?|g_?t?|std)$", re.I)
_BROWNIAN = pattern(r"^(d_?[wb](_?t)?|brownian\w*|wiener\w*)$", re.I)
_MOVING_WORDS = (b"leapfrog", b"leap_frog", b"verlet", b"hamilton", b"hmc", b"momentum", b"velocit", b"symplectic")
_MOVING = pattern(b"|".join(_MOVING_WORDS), re.I, needs=_MOVING_WORDS)
_NORMAL = "jax.random.normal"
_DEPTH = 4
_TERMS = 6


class _Move(NamedTuple):
    """A statement that moves a variable: ``target = base ± factors``.

    Attributes:
        target: the variable that is set.
        base: the one that it was before.
        change: what is added.
        sign: the class of the operation.
    """

    target: str
    base: str
    change: ast.expr
    sign: type[ast.operator]


def _check(context: Context) -> Iterator[Finding]:
    yield from _noises(context)
    yield from _carried(context)
    for scope in scopes(context):
        if scope.function is not None and scope.module.source.matches(_MOVING) and not in_test(scope):
            for node in context.bodies.nodes(scope):
                for name in ("body", "orelse"):
                    block = getattr(node, name, None)
                    if isinstance(block, list):
                        yield from _halves(scope, block)
            block = getattr(scope.function.node, "body", None)
            if isinstance(block, list):
                yield from _halves(scope, block)


def _noises(context: Context) -> Iterator[Finding]:
    """Yield ``x + drift * dt + sigma * dt * noise``, and ``dW = dt * noise``."""
    if not any(module.source.mentions(b"normal") for module in context.project.modules):
        return
    told: set[ast.AST] = set()
    for scope, node in each(context, ast.BinOp):
        if not scope.module.source.once(_names_step) or in_test(scope):
            continue
        above = around(context, scope).get(node)
        found: tuple[ast.expr, str] | None = None
        if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(above, ast.BinOp):
            found = _of_sum(context, node, scope)
        elif isinstance(node.op, ast.Mult) and isinstance(above, ast.Assign) and len(above.targets) == 1:
            if _BROWNIAN.search(last_word(above.targets[0])):
                found = _of_increment(context, node, scope)
        if found is not None and found[0] not in told:
            told.add(found[0])
            yield finding(
                RULE.code,
                scope,
                found[0],
                f"the noise of a step grows with the root of its length, and is multiplied by `{found[1]}` here",
                f"write jnp.sqrt({found[1]}) there",
            )


def _names_step(source: Source) -> bool:
    return source.matches(_STEP_TEXT)


def _transposes(source: Source) -> bool:
    return source.matches(_TRANSPOSED_TEXT)


def _carried(context: Context) -> Iterator[Finding]:
    """Yield ``F * P * F.T`` of a matrix F that others are multiplied by as one: ``F @ mean``."""
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.BinOp):
            continue
        if not scope.module.source.once(_transposes) or in_test(scope):
            continue
        if not isinstance(node.left.op, ast.Mult) or isinstance(node.left.left, ast.BinOp):
            continue
        first = ast.unparse(node.left.left)
        if not _transposed(node.right, first):
            continue
        products = (n for n in scope.module.source.of_type(ast.BinOp) if isinstance(n.op, ast.MatMult))
        if any(ast.unparse(n.left) == first and not _transposed(n.right, first) for n in products):
            middle = ast.unparse(node.left.right)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{first} * {middle} * {first}.T` multiplies element by element, and `{first}` is a matrix",
                f"a covariance is carried on by {first} @ {middle} @ {first}.T",
            )


def _transposed(node: ast.expr, text: str) -> bool:
    """Say whether an expression is the transpose of another one."""
    if isinstance(node, ast.Call) and last_word(node.func) == "transpose":
        inner = array_of(node)
        return inner is not None and ast.unparse(inner) == text
    return isinstance(node, ast.Attribute) and node.attr in {"T", "mT"} and ast.unparse(node.value) == text


def _of_sum(context: Context, node: ast.BinOp, scope: Scope) -> tuple[ast.expr, str] | None:
    terms = _terms(node)
    if not 2 <= len(terms) <= 4:
        return None
    found: list[tuple[ast.expr, list[ast.expr], str]] = []
    for term in (written(context, one, scope) for one in terms):
        factors = _factors(context, term, scope)
        lengths = [ast.unparse(one) for one in factors if _STEP.search(entry_word(one))]
        if len(lengths) == 1:
            found.append((term, factors, lengths[0]))
    # Where the numbers of a factor come from is asked last, since that is followed through the project.
    if len(found) < 2 or not any(_DIFFUSION.search(_word(one)) for _, factors, _ in found for one in factors):
        return None
    steps: set[str] = set()
    noisy: list[tuple[ast.expr, str]] = []
    for term, factors, length in found:
        if not any(_drawn(context, one, scope) for one in factors):
            steps.add(length)
        elif any(_DIFFUSION.search(_word(one)) for one in factors):
            noisy.append((term, length))
    if len(noisy) == 1 and noisy[0][1] in steps and not _small(node, scope):
        return noisy[0]
    return None


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return what is added and taken away; of a long sum its first terms are left together."""
    found: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and len(found) < _TERMS:
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _word(node: ast.expr) -> str:
    """Return the name of a variable, or of a function that is called."""
    return last_word(node.func) if isinstance(node, ast.Call) else entry_word(node)


def _of_increment(context: Context, node: ast.BinOp, scope: Scope) -> tuple[ast.expr, str] | None:
    factors = operands(node, ast.Mult)
    lengths = [ast.unparse(one) for one in factors if _STEP.search(entry_word(one))]
    drawn = any(_drawn(context, one, scope) for one in factors)
    return (node, lengths[0]) if drawn and len(lengths) == 1 and len(factors) == 2 else None


def _small(node: ast.AST, scope: Scope) -> bool:
    """Say whether a root of the length stands somewhere in the function, by which the diffusion may be scaled."""
    around_it = scope.function.node if scope.function is not None else node
    return any(
        isinstance(one, ast.Call)
        and last_word(one.func) == "sqrt"
        and any(isinstance(part, ast.Name | ast.Attribute) and _STEP.search(last_word(part)) for part in ast.walk(one))
        for one in ast.walk(around_it)
    )


def _factors(context: Context, node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return the factors of a product, of which some may be names of products."""
    found: list[ast.expr] = []
    for one in operands(node, ast.Mult):
        made = written(context, one, scope)
        found += operands(made, ast.Mult) if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult) else [one]
    return found


def _drawn(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an array of standard normal numbers, or a part of one."""
    value = scope.module.values.get(node)
    if value is None or isinstance(node, ast.Constant):
        return False
    over = _gone_over(context, value)
    if over is None and isinstance(value, Param) and value.function in context.shared(_scanned):
        return False  # a carry
    return _normal(context, over if over is not None else context.flow.here(value, scope), 0)


def _gone_over(context: Context, value: Value) -> Bound | None:
    """Return the array of which the body of a scan gets an element, or a part of a tuple of them."""
    element = value.base if isinstance(value, Item) else value
    given = context.shared(_scanned).get(element.function) if isinstance(element, Param) else None
    if given is None or not isinstance(element, Param) or [*element.function.params.values()][1:] != [element]:
        return None
    if element is value or not isinstance(value, Item):
        return given
    resolved = context.flow.resolve(given)
    place = value.index.value if isinstance(value.index, Const) else None
    if not isinstance(resolved.value, Sequence) or not isinstance(place, int) or place >= len(resolved.value.items):
        return None
    return context.flow.with_value(resolved, resolved.value.items[place])


def _scanned(context: Context) -> dict[FunctionFacts, Bound]:
    """Return what the bodies of scans go over."""
    found: dict[FunctionFacts, Bound] = {}
    for event, name in foreign(context, "scan"):
        body, over = event.value.argument(0, "f"), event.value.argument(2, "xs")
        if name == "jax.lax.scan" and body is not None and over is not None:
            for one in context.flow.calls.callables(context.flow.here(body, event.scope)):
                found[one.function] = context.flow.here(over, event.scope)
    return found


def _normal(context: Context, bound: Bound, depth: int) -> bool:
    sources = context.sources.originals(bound)
    for source in sources:
        value = source.value
        if isinstance(value, Item | Indexed | Each | Round) and depth < _DEPTH:
            if not _normal(context, context.flow.with_value(source, value.base), depth + 1):
                return False
        elif not isinstance(value, Call) or context.flow.calls.callee_name(source) != _NORMAL:
            return False
    return bool(sources)


def _halves(scope: Scope, block: list[ast.stmt]) -> Iterator[Finding]:
    """Yield the second half step of a leapfrog that takes the force at the old place."""
    moves = [(place, move) for place, one in enumerate(block) if (move := _move(one)) is not None]
    for first, push in moves:
        force = _half(push.change)
        made = _made_before(block, first, force) if force else None
        if force is None or made is None:
            continue
        for second, again in moves:
            if second <= first or again.base != push.target or again.sign is not push.sign:
                continue
            if ast.unparse(again.change) != ast.unparse(push.change) or _set_between(block, first, second, force):
                continue
            drift = next((m for p, m in moves if first < p < second and _drifts(m, push, made)), None)
            if drift is not None:
                yield finding(
                    RULE.code,
                    scope,
                    block[second],
                    f"`{force}` belongs to the old `{drift.base}`, and this half of the step begins at the new one",
                    f"compute `{force}` anew before it: the second half takes the force at the new place",
                    related=[(block[first], "the first half")],
                )
                break


def _move(statement: ast.stmt) -> _Move | None:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        if isinstance(statement.op, ast.Add | ast.Sub):
            return _Move(statement.target.id, statement.target.id, statement.value, type(statement.op))
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp) or not isinstance(value.left, ast.Name):
        return None
    if not isinstance(value.op, ast.Add | ast.Sub):
        return None
    return _Move(target.id, value.left.id, value.right, type(value.op))


def _half(change: ast.expr) -> str | None:
    """Return the force of ``0.5 * eps * force`` or ``eps / 2 * force``."""
    factors = [part for one in operands(change, ast.Mult) for part in _numerators(one)]
    halved = any(constant(one) == 0.5 or "half" in last_word(one) for one in factors) or any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and constant(n.right) == 2 for n in ast.walk(change)
    )
    names = [one.id for one in factors if isinstance(one, ast.Name) and "half" not in one.id]
    forces = [name for name in names if not _LENGTH.search(name)]
    return forces[0] if halved and len(forces) == 1 else None


_LENGTH = pattern(r"^(dt|d_t|delta_?t|time_?step|step_?size|h|eps|epsilon|step|tau|mass|m|inv_m(ass)?)$", re.I)


def _numerators(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [part for one in operands(node.left, ast.Mult) for part in _numerators(one)]
    return [node]


def _made_before(block: list[ast.stmt], end: int, force: str) -> ast.expr | None:
    """Return the call that a force was last computed by, ahead of a statement of its block."""
    for statement in reversed(block[:end]):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id == force:
                value = statement.value
                value = value.operand if isinstance(value, ast.UnaryOp) else value
                return value if isinstance(value, ast.Call) else None
        if force in names_in(statement) and any(
            isinstance(n, ast.Name) and n.id == force and isinstance(n.ctx, ast.Store) for n in ast.walk(statement)
        ):
            return None
    return None


def _set_between(block: list[ast.stmt], first: int, second: int, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for statement in block[first + 1 : second]
        for n in ast.walk(statement)
    )


def _drifts(move: _Move, push: _Move, made: ast.expr) -> bool:
    """Say whether a statement moves the place, of which the force was computed, by the pushed momentum."""
    return push.target in names_in(move.change) and move.base in names_in(made) and move.base != push.base


_BAD = """\
import jax
import jax.numpy as jnp


def paths(key, x, theta, sigma, dt, steps):
    def step(x, noise):
        x = x - theta * x * dt + sigma * dt * noise
        return x, x

    return jax.lax.scan(step, x, jax.random.normal(key, (steps, 3)))[1]


print(paths(jax.random.key(0), jnp.ones(3), 1.0, 0.5, 0.01, 4))
"""
_LEAP = """\
import jax
import jax.numpy as jnp


def leapfrog(potential, q, p, eps):
    force = jax.grad(potential)(q)
    p = p - 0.5 * eps * force
    q = q + eps * p
    p = p - 0.5 * eps * force
    return q, p


print(leapfrog(lambda q: jnp.sum(q**2), jnp.ones(2), jnp.zeros(2), 0.1))
"""

_FILTER = """\
import jax.numpy as jnp


def predict(f, q, mean, cov):
    mean = f @ mean
    cov = f * cov * f.T + q
    return mean, cov


print(predict(jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.eye(2), jnp.ones(2), jnp.eye(2)))
"""

RULE = lint_rule(
    "NNX968",
    "parts-of-a-step",
    "a step through time with noise of the wrong scale, an old force, or products of single elements",
    why="""\
Of a random walk the variance grows with time, and so the noise of a step with the root of its length: with `dt` itself
it all but disappears. The second half of a leapfrog step takes the force at the place that the first one led to; with
the old one the energy drifts, and Monte Carlo steps are refused. The covariance of a filter is carried on by the matrix
of the dynamics from both sides: `F @ P @ F.T`, where `*` multiplies element by element.
""",
    source="Hairer et al. 2003, on Störmer-Verlet; issue 73 of a public project of random walks; measured: other "
    "variances, growing energies",
    severity="warning",
    check=_check,
    bad=(_BAD, _LEAP, _FILTER),
    clean=(
        _BAD.replace("sigma * dt", "sigma * jnp.sqrt(dt)"),
        _LEAP.replace(
            "    p = p - 0.5 * eps * force\n    return", "    p = p - 0.5 * eps * jax.grad(potential)(q)\n    return"
        ),
        _FILTER.replace("f * cov * f.T", "f @ cov @ f.T"),
    ),
)
