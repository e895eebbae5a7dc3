"""NNX977: dropout by hand that keeps one share of the units, and scales as if it had kept the rest."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import callers_of, each, formula_of, in_test, position
from codemods.nnx.lint.probabilities import Share, is_param, own_expression, share_of
from codemods.nnx.lint.syntax import argument, constant, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_DRAWS = (b"bernoulli", b"uniform", b"binomial", b"random.rand")
_COINS = {"jax.random.bernoulli": 1, "numpy.random.binomial": 1}  # where they are given the probability
_UNIFORM = frozenset({"jax.random.uniform", "numpy.random.uniform", "numpy.random.rand", "numpy.random.random"})
_ARRAYS = ("jax.numpy.", "numpy.", "jax.lax.")
_SHAPED = frozenset(
    {"astype", "reshape", "asarray", "array", "broadcast_to", "expand_dims", "stop_gradient", "float32"}
)
_NOT = frozenset({"logical_not", "invert", "bitwise_not"})
_DEPTH = 6


class _Kept(NamedTuple):
    """A factor that is not zero with some probability.

    Attributes:
        share: the probability.
        mask: whether it is nothing but that; else it holds what is kept.
    """

    share: Share
    mask: bool


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        divisor = _divisor(context, node.op, node.right, scope)
        if divisor is not None and _kept_wrongly(context, node, divisor, scope, 0, seen=False):
            yield _told(scope, node, node.right, divisor)
    for scope, statement in each(context, ast.AugAssign):
        divisor = _divisor(context, statement.op, statement.value, scope)
        kept = _before(context, statement, scope) if divisor is not None else None
        if divisor is not None and kept is not None and _wrong(kept, divisor):
            yield _told(scope, statement, statement.value, divisor)


def _divisor(context: Context, operator: ast.operator, node: ast.expr, scope: Scope) -> Share | None:
    """Return the share by which an operation divides, in a file that draws masks."""
    if not isinstance(operator, ast.Div) or scope.function is None:
        return None
    if not any(map(scope.module.source.mentions, _DRAWS)) or in_test(scope):
        return None
    return share_of(context, node, scope, 0)


def _told(scope: Scope, node: ast.AST, under: ast.expr, divisor: Share) -> Finding:
    text = scope.module.source.text(under)
    right, kept = _shown(divisor), _shown(divisor.other())
    words = f"the mask keeps a share of {kept}, and what it keeps is divided by `{text}` as if that were kept"
    return finding(RULE.code, scope, node, words, f"draw the mask with the probability {right}")


def _before(context: Context, node: ast.AugAssign, scope: Scope) -> Share | None:
    """Return what share of a variable the statement before ``x /= 1 - rate`` kept, one of the same block."""
    if not isinstance(node.target, ast.Name):
        return None
    above = around(context, scope)
    stores = context.bodies.stores(scope, node.target.id)
    last = max((n for n in stores if n.lineno < node.lineno), key=lambda n: n.lineno, default=None)
    statement = above.get(last) if last is not None else None
    paths = context.bodies.paths(scope)
    if not isinstance(statement, ast.Assign | ast.AugAssign) or paths.get(statement) != paths.get(node):
        return None
    kept = _kept(context, statement.value, scope, 0)
    if isinstance(statement, ast.AugAssign):
        masked = isinstance(statement.op, ast.Mult) and kept is not None and kept.mask
        return kept.share if masked and kept is not None else None
    return kept.share if kept is not None and not kept.mask and statement.targets == [last] else None


def _shown(share: Share) -> str:
    if isinstance(share.base, float):
        return f"{share.base:.6g}"
    name = share.base.removeprefix("__init__.")
    return f"`1 - {name}`" if share.rest else f"`{name}`"


def _kept_wrongly(context: Context, node: ast.expr, divisor: Share, scope: Scope, depth: int, *, seen: bool) -> bool:
    """Say whether what is divided by a share is kept with the probability that is the rest of it.

    Args:
        context: the analysis.
        node: the quotient, or what it was assigned to.
        divisor: the share.
        scope: the body.
        depth: how many variables were gone through.
        seen: whether the quotient is a variable's by now.
    """
    above = around(context, scope)
    whole, outer = node, above.get(node)
    while isinstance(outer, ast.BinOp) and (
        isinstance(outer.op, ast.Mult) or (isinstance(outer.op, ast.Div) and outer.left is whole)
    ):
        whole, outer = outer, above.get(outer)
    factors = _factors(whole)
    if factors is None or _taken_away(whole, outer):
        return False
    over, under = factors
    if len(under) > (0 if seen else 1):
        return False  # another scale
    kept = [(one, _kept(context, one, scope, 0)) for one in over if one is not node]
    masks = [found for _, found in kept if found is not None]
    params = [one for one, found in kept if found is None and is_param(one, scope)]
    others = [one for one, found in kept if found is None and constant(one) not in (1, 1.0)]
    if any(_reads(context, one, divisor, scope) for one in others):
        return False
    if len(masks) == 1:
        alone = masks[0].mask and not others and not seen
        return _wrong(masks[0].share, divisor) and (not alone or _multiplied(context, outer, scope))
    if masks:
        return False
    if params and any(_given_wrongly(context, one, divisor, scope) for one in params):
        return True
    choice = _choice(context, whole, outer, scope)
    if choice is not None:
        return _wrong(choice, divisor)
    name = outer.targets[0] if isinstance(outer, ast.Assign) and len(outer.targets) == 1 else None
    if not isinstance(name, ast.Name) or depth > 1:
        return False
    names = context.bodies.names(scope).get(name.id, ())
    reads = [n for n in names if isinstance(n.ctx, ast.Load) and made_by(context, n, scope) is whole]
    return any(_kept_wrongly(context, one, divisor, scope, depth + 1, seen=True) for one in reads)


def _taken_away(node: ast.expr, outer: ast.AST | None) -> bool:
    """Say whether an expression is subtracted: ``x / (1 - rate) - x * dropped / (1 - rate)`` leaves what is kept."""
    if isinstance(outer, ast.UnaryOp):
        return True
    return isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Sub) and outer.right is node


def _factors(node: ast.expr) -> tuple[list[ast.expr], list[ast.expr]] | None:
    """Return the factors of a product, and what it is divided by."""
    over: list[ast.expr] = []
    under: list[ast.expr] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            waiting += [one.right, one.left]
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            under.append(one.right)
            waiting.append(one.left)
        else:
            over.append(one)
    return (over, under) if len(over) < 8 else None


def _wrong(kept: Share, divisor: Share) -> bool:
    if isinstance(kept.base, float) and isinstance(divisor.base, float):
        return math.isclose(kept.base + divisor.base, 1.0) and not math.isclose(kept.base, divisor.base)
    return kept.base == divisor.base and kept.rest != divisor.rest


def _reads(context: Context, node: ast.expr, divisor: Share, scope: Scope) -> bool:
    """Say whether another factor has to do with the rate too, and may mend the scale."""
    share = share_of(context, node, scope, 0)
    if share is not None and share.base == divisor.base:
        return True
    if isinstance(divisor.base, float):
        return isinstance(constant(node), int | float)
    return divisor.base.rpartition(".")[2] in {last_word(n) for n in ast.walk(node)
                                               if isinstance(n, ast.Name | ast.Attribute)}  # fmt: skip


def _multiplied(context: Context, statement: ast.AST | None, scope: Scope) -> bool:
    """Say whether a mask that was scaled is a variable that others are multiplied with, and nothing else."""
    name = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(name, ast.Name):
        return False
    names = context.bodies.names(scope).get(name.id, ())
    whole = statement.value if isinstance(statement, ast.Assign) else None
    reads = [n for n in names if isinstance(n.ctx, ast.Load) and made_by(context, n, scope) is whole]
    above = [around(context, scope).get(n) for n in reads]
    return bool(above) and all(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) for one in above)


def _choice(context: Context, node: ast.expr, outer: ast.AST | None, scope: Scope) -> Share | None:
    """Return with which probability ``where`` takes an expression, and zero else."""
    if not isinstance(outer, ast.Call) or len(outer.args) != 3 or last_word(outer.func) not in {"where", "select"}:
        return None
    if node not in outer.args[1:] or not _name(context, outer, scope).startswith(_ARRAYS):
        return None
    return _taken(context, outer, outer.args[1] is node, scope, 0)


def _taken(context: Context, node: ast.Call, first: bool, scope: Scope, depth: int) -> Share | None:
    """Return the probability of a branch of ``where`` if the other is zero."""
    if not _zero(node.args[2] if first else node.args[1]):
        return None
    kept = _kept(context, node.args[0], scope, depth + 1)
    if kept is None or not kept.mask:
        return None
    return kept.share if first else kept.share.other()


def _zero(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        word = last_word(node.func)
        if word in {"asarray", "array", "float32"} and len(node.args) >= 1:
            return _zero(node.args[0])
        return word in {"zeros_like", "zeros"}
    value = constant(node)
    return isinstance(value, int | float) and value == 0


def _name(context: Context, node: ast.Call, scope: Scope) -> str:
    """Return the full name of the foreign function that is called."""
    value = scope.module.values.get(node)
    return context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""


def _kept(context: Context, node: ast.expr, scope: Scope, depth: int) -> _Kept | None:
    """Return with which probability an expression is not zero, if that is drawn; None if that is not known."""
    if depth > _DEPTH:
        return None
    depth += 1
    if isinstance(node, ast.Name):
        made = own_expression(context, node, scope)
        return _kept(context, made, scope, depth) if made is not None else None
    if isinstance(node, ast.Subscript):
        kept = _kept(context, node.value, scope, depth)
        return kept if kept is not None and kept.mask else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _inverted(_kept(context, node.operand, scope, depth))
    if isinstance(node, ast.Compare):
        return _compared(context, node, scope)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub) and constant(node.left) in (1, 1.0):
            return _inverted(_kept(context, node.right, scope, depth))
        if isinstance(node.op, ast.Mult):
            found = [_kept(context, one, scope, depth) for one in operands(node, ast.Mult)]
            masks = [one for one in found if one is not None]
            alone = all(one is not None or constant(part) in (1, 1.0)
                        for one, part in zip(found, operands(node, ast.Mult), strict=True))  # fmt: skip
            plain = not any(isinstance(n, ast.Div) for n in ast.walk(node))
            return _Kept(masks[0].share, masks[0].mask and alone) if len(masks) == 1 and plain else None
        return None
    return _called(context, node, scope, depth) if isinstance(node, ast.Call) else None


def _inverted(kept: _Kept | None) -> _Kept | None:
    return _Kept(kept.share.other(), True) if kept is not None and kept.mask else None


def _called(context: Context, node: ast.Call, scope: Scope, depth: int) -> _Kept | None:
    name = _name(context, node, scope)
    word = last_word(node.func)
    if name in _COINS:
        if name.startswith("numpy.") and constant(argument(node, 0, "n")) != 1:
            return None
        given = argument(node, _COINS[name], "p")
        share = share_of(context, given, scope, 0) if given is not None else None
        return _Kept(share, True) if share is not None else None
    if word in _SHAPED:
        method = isinstance(node.func, ast.Attribute) and not name.startswith(_ARRAYS)
        inner = node.func.value if method and isinstance(node.func, ast.Attribute) else argument(node, 0, "a")
        return _kept(context, inner, scope, depth) if inner is not None else None
    if name.startswith(_ARRAYS):
        if word in _NOT and len(node.args) == 1:
            return _inverted(_kept(context, node.args[0], scope, depth))
        if word in {"where", "select"} and len(node.args) == 3:
            first = _zero(node.args[2])
            if any(isinstance(n, ast.Div) for one in node.args[1:] for n in ast.walk(one)):
                return None
            share = _taken(context, node, first, scope, depth)
            mask = constant(node.args[1 if first else 2]) in (1, 1.0)
            return _Kept(share, mask) if share is not None else None
        if word == "multiply" and len(node.args) == 2:
            return _kept(context, ast.BinOp(node.args[0], ast.Mult(), node.args[1]), scope, depth)
        if word == "floor" and len(node.args) == 1:
            return _floored(context, node.args[0], scope)
        return None
    if word == "bernoulli" and _of_stream(node.func):
        given = argument(node, 0, "p")
        share = share_of(context, given, scope, 0) if given is not None else None
        return _Kept(share, True) if share is not None else None
    return _helped(context, node, scope, depth) if not name else None


def _of_stream(node: ast.expr) -> bool:
    """Say whether a method is one of the generators of NNX, or of one of their streams: ``self.rngs.dropout``."""
    owner = node.value if isinstance(node, ast.Attribute) else None
    return owner is not None and any("rngs" in last_word(n) for n in ast.walk(owner) if isinstance(n, ast.expr))


def _compared(context: Context, node: ast.Compare, scope: Scope) -> _Kept | None:
    """Return the probability of ``uniform(...) < p`` and the like."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return None
    left, right = node.left, node.comparators[0]
    below = isinstance(node.ops[0], ast.Lt | ast.LtE)
    if _uniform(context, right, scope):
        left, right, below = right, left, not below
    elif not _uniform(context, left, scope):
        return None
    share = share_of(context, right, scope, 0)
    if share is None:
        return None
    return _Kept(share if below else share.other(), True)


def _uniform(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is numbers drawn evenly between 0 and 1."""
    made = own_expression(context, node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.Call) or keyword(made, "minval") or keyword(made, "maxval"):
        return False
    name = _name(context, made, scope)
    if name == "numpy.random.uniform" and (made.args or {k.arg for k in made.keywords} != {"size"}):
        return False
    return name in _UNIFORM and (len(made.args) <= 3 or name == "numpy.random.rand")


def _floored(context: Context, node: ast.expr, scope: Scope) -> _Kept | None:
    """Return the probability of ``floor(p + uniform(...))``, as of the masks of stochastic depth."""
    made = own_expression(context, node, scope) if isinstance(node, ast.Name) else node
    terms = operands(made, ast.Add) if made is not None else []
    rest = [one for one in terms if not _uniform(context, one, scope)]
    share = share_of(context, rest[0], scope, 0) if len(terms) == 2 and len(rest) == 1 else None
    return _Kept(share, True) if share is not None else None


def _helped(context: Context, node: ast.Call, scope: Scope, depth: int) -> _Kept | None:
    """Return what a function of the same file gives, which makes the mask."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    reached = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    if len(reached) != 1 or reached[0].scope.module is not scope.module or reached[0].generator:
        return None
    function = reached[0]
    formula = formula_of(context, function)
    kept = _kept(context, formula, function.scope, depth) if formula is not None else None
    if kept is None or not isinstance(kept.share.base, str):
        return kept
    share = _passed(context, node, kept.share, function, scope)
    return _Kept(share, kept.mask) if share is not None else None


def _passed(context: Context, call: ast.Call, share: Share, function: FunctionFacts, scope: Scope) -> Share | None:
    """Return what a share of a function's body is where the function is called."""
    base = share.base
    if not isinstance(base, str):
        return share
    if base in function.params:
        given = argument(call, position(function.params[base]), base)
        found = share_of(context, given, scope, 0) if given is not None else None
        return (found.other() if share.rest else found) if found is not None else None
    own = function.self_param
    here = scope.function.self_param if scope.function is not None else None
    if own is None or here is None or scope.function is None or scope.function.owner is not function.owner:
        return None
    func = call.func
    mine = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == here.name
    return share if mine and own.name == here.name and "." in base else None


def _given_wrongly(context: Context, node: ast.expr, divisor: Share, scope: Scope) -> bool:
    """Say whether all calls of a function give it a mask that keeps what its divisor is the rest of."""
    function = scope.function
    if function is None or not isinstance(node, ast.Name) or own_expression(context, node, scope) is not None:
        return False
    callers = callers_of(context, function)
    if not callers or any(one.scope.module is not scope.module for one in callers):
        return False
    for one in callers:
        if any(isinstance(part, ast.Starred) for part in one.node.args):
            return False
        given = argument(one.node, position(function.params[node.id]), node.id)
        kept = _kept(context, given, one.scope, 0) if given is not None else None
        share = _passed(context, one.node, divisor, function, one.scope)
        if kept is None or not kept.mask or share is None or not _wrong(kept.share, share):
            return False
    return True


_BAD = """\
import jax
import jax.numpy as jnp


def dropout(key, x, rate):
    mask = jax.random.bernoulli(key, rate, x.shape)
    return x * mask / (1.0 - rate)


print(dropout(jax.random.key(0), jnp.ones(8), 0.1))
"""

RULE = lint_rule(
    "NNX977",
    "dropout-keeps-rate",
    "dropout by hand that keeps as many units as it should drop, and scales for the others",
    why="""\
Dropout at a rate keeps a unit with probability `1 - rate`, and divides what it keeps by that, so that the mean stays.
`jax.random.bernoulli(key, rate)` is true for the share `rate`: as a mask of what is kept it drops nearly everything at
the usual rates, and the division by `1 - rate` does not make up for it.
""",
    source="Srivastava et al. 2014; measured: at a rate of 0.1 a ninth of the mean is left",
    severity="error",
    check=_check,
    bad=(
        _BAD,
        _BAD.replace("bernoulli(key, rate,", "bernoulli(key, 1.0 - rate,").replace("(1.0 - rate)\n", "rate\n"),
    ),
    clean=(
        _BAD.replace("bernoulli(key, rate,", "bernoulli(key, 1.0 - rate,"),
        _BAD.replace("x * mask /", "jnp.where(mask, 0.0, x) /"),
    ),
)
