"""NNX527: generalized advantages that are set to zero at an episode's end twice, at its step and at the one before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.advantage_terms import (
    DISCOUNT,
    assigned_names,
    factors,
    goes_on,
    is_rate,
    spread,
    stores_of,
    sums,
    words_of,
)
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, written
from codemods.nnx.lint.syntax import constant, entry_word, inside, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# flags of the end of an episode behind a step; masks may be of padding, which is left out at both of its sides
_END = pattern(
    r"(^|_)(dones?|terminals?|terminated|terminations?|non_?terminals?|nonterm|not_?dones?|nextnonterminal"
    r"|next_non_?terminal)(_|$)",
    re.I,
)
_TYPES = frozenset({"astype", "float32", "asarray", "array", "float"})
_DEPTH = 4
_Flag = tuple[bool, str]  # whether it is turned, and what it is


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in sums(context):
        names = assigned_names(context, node, scope)
        found = _masked(context, node, scope) if names else None
        if found is None:
            continue
        carried, flag = found
        if not _masked_error(context, node, scope, carried):
            continue
        for other, again in _carries(context, node, scope, carried, names):
            if again == flag:
                text = ast.unparse(carried)
                yield finding(
                    RULE.code,
                    scope,
                    other,
                    f"`{text}` is masked here and in the sum of the next step: the step before an episode's last "
                    f"gets nothing of that",
                    f"carry {min(names)} as it is, and mask it in the sum alone",
                )
                break


def _masked(context: Context, node: ast.BinOp, scope: Scope) -> tuple[ast.Name, _Flag] | None:
    """Return the sum of later steps that a sum goes on with, and by which flag that is left out."""
    for term in operands(node, ast.Add):
        parts = [inner for part in factors(term) for inner in spread(context, part, scope, 0)]
        if not any(DISCOUNT.search(entry_word(one)) for one in parts):
            continue
        flags = [flag for one in parts if (flag := _flag(context, scope, one)) is not None]
        chosen = [found for one in parts if (found := _choice(context, scope, one)) is not None]
        later = [one for one in parts if isinstance(one, ast.Name) and not is_rate(context, one, scope)]
        later = [one for one in later if _flag(context, scope, one) is None]
        later = [one for one in later if goes_on(context, one, node, scope) or _set_again(context, one, node, scope)]
        if len(flags) == len(later) == 1 and not chosen:
            return later[0], flags[0]
        if len(chosen) == 1 and not flags and goes_on(context, chosen[0][0], node, scope):
            return chosen[0]
    return None


def _set_again(context: Context, carried: ast.Name, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a loop sets a variable behind a sum that it goes into, and so for the next step."""
    loops = [one for one in context.bodies.nodes(scope) if isinstance(one, ast.For) and inside(node, one)]
    behind = [one for one in stores_of(context, carried, scope) if one.lineno > node.lineno]
    return bool(loops) and len(behind) == 1 and inside(behind[0], loops[-1])


def _flag(context: Context, scope: Scope, node: ast.expr) -> _Flag | None:
    """Return of which entry or variable a factor is a flag of an episode's end, and whether it is turned."""
    turned, found = False, False
    for _ in range(_DEPTH):
        inner = complement(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            inner = node.operand
        elif isinstance(node, ast.Call) and last_word(node.func) == "logical_not" and len(node.args) == 1:
            inner = node.args[0]
        if inner is not None:
            turned, node = not turned, inner
        elif isinstance(node, ast.Call) and last_word(node.func) in _TYPES:
            method = isinstance(node.func, ast.Attribute) and node.func.attr == "astype"
            if not method and not node.args:
                return None
            node = node.func.value if isinstance(node.func, ast.Attribute) and method else node.args[0]
        else:
            found = found or _END.search(entry_word(node)) is not None
            made = written(context, node, scope)
            if made is node:
                break
            node = made
    if not found or not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return None
    once = all(len(stores_of(context, n, scope)) <= 1 for n in ast.walk(node) if isinstance(n, ast.Name))
    return (turned, ast.unparse(node)) if once else None


def _choice(context: Context, scope: Scope, node: ast.expr) -> tuple[ast.Name, _Flag] | None:
    """Return the variable that ``jnp.where(done, 0.0, later)`` keeps where no episode ends, and the flag."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "where" or len(node.args) != 3:
        return None
    flag = _flag(context, scope, node.args[0])
    zeros = [constant(one) == 0 and constant(one) is not False for one in node.args[1:]]
    if flag is None or zeros[0] is zeros[1]:
        return None
    kept = node.args[2 if zeros[0] else 1]
    return (kept, (flag[0] is not zeros[0], flag[1])) if isinstance(kept, ast.Name) else None


def _masked_error(context: Context, node: ast.BinOp, scope: Scope, carried: ast.Name) -> bool:
    """Say whether the error in a sum leaves the next value out at the end, so that the flag is of the step itself."""
    others = [term for term in operands(node, ast.Add) if carried.id not in names_in(term)]
    return any(_END.search(word) for term in others for word in words_of(context, term, scope))


def _carries(
    context: Context, node: ast.BinOp, scope: Scope, carried: ast.Name, names: set[str]
) -> Iterator[tuple[ast.expr, _Flag]]:
    """Yield the products of a sum and a flag that the next step gets for the sum."""
    function = scope.function
    returned = [] if function is None else _returned(context, function)
    loops = [one for one in context.bodies.nodes(scope) if isinstance(one, ast.For) and inside(node, one)]
    if not returned and not loops:
        return
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Mult) and isinstance(one.target, ast.Name):
            flag = _flag(context, scope, one.value)
            if one.target.id in names and carried.id in names and flag is not None and one.lineno > node.lineno:
                yield one.value, flag
        if not isinstance(one, ast.BinOp | ast.Call) or one.lineno <= node.lineno:
            continue
        product = _product(context, scope, one, names)
        if product is None:
            continue
        targets = assigned_names(context, one, scope)
        in_loop = bool(loops) and inside(one, loops[-1]) and carried.id in targets
        if in_loop or any(part is one or (isinstance(part, ast.Name) and part.id in targets) for part in returned):
            yield one, product


def _product(context: Context, scope: Scope, node: ast.expr, names: set[str]) -> _Flag | None:
    """Return the flag that a sum is multiplied with, and nothing else."""
    chosen = _choice(context, scope, node)
    if chosen is not None:
        return chosen[1] if chosen[0].id in names else None
    parts = factors(node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else []
    if len(parts) != 2:
        return None
    for one, other in (parts, parts[::-1]):
        if isinstance(one, ast.Name) and one.id in names:
            return _flag(context, scope, other)
    return None


def _returned(context: Context, function: FunctionFacts) -> list[ast.expr]:
    """Return what the body of a scan carries on; nothing of other functions."""
    if function.node not in context.shared(_bodies) or len(function.returns) != 1:
        return []
    ends = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    pair = ends[0] if len(ends) == 1 else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return []
    carry = written(context, pair.elts[0], function.scope)
    return list(carry.elts) if isinstance(carry, ast.Tuple) else [pair.elts[0]]


def _bodies(context: Context) -> set[ast.AST]:
    """Return the bodies of scans."""
    found: set[ast.AST] = set()
    for event, name in foreign(context, "scan"):
        body = event.value.argument(0, "f")
        if name == "jax.lax.scan" and body is not None:
            callees = context.flow.calls.callables(context.flow.here(body, event.scope))
            found |= {one.function.node for one in callees}
    return found


_GOOD = """\
import jax
import jax.numpy as jnp


def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    def step(last, now):
        reward, value, next_value, done = now
        nonterminal = 1.0 - done
        delta = reward + gamma * nonterminal * next_value - value
        gae = delta + gamma * lam * nonterminal * last
        return gae, gae

    steps = rewards, values[:-1], values[1:], dones
    return jax.lax.scan(step, jnp.zeros(()), steps, reverse=True)[1]
"""
RULE = lint_rule(
    "NNX527",
    "masked-again",
    "generalized advantages that the flag of one step masks twice, in the sum and in what is carried on",
    why="""\
The sum of a step leaves the later ones out where its episode ends: `delta + gamma * lam * (1 - done) * later`. If the
sum itself is multiplied with the same flag before it is carried on, the advantage of an episode's last step is lost to
all steps before it: a reward at the end, often the only one, reaches none of them.
""",
    source="Schulman and others, 2015, generalized advantages; measured: advantages of zero before the end",
    check=_check,
    bad=(_GOOD.replace("return gae, gae", "return gae * nonterminal, gae"),),
    clean=(_GOOD,),
)
