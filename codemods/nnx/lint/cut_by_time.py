"""NNX958: a target of temporal differences that takes the limit of time for the end of an episode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import complement, factors
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discounts import is_discount
from codemods.nnx.lint.formula import at, one_source
from codemods.nnx.lint.origins import bound_once, made_by
from codemods.nnx.lint.places import each, in_test, position, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, operands, root_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Loop, Param, Unknown, Value

_TERMINATED = pattern(r"(^|_)(term|terminated|terminations?|terminals?)(_|$)", re.I)
_TRUNCATED = pattern(r"(^|_)(trunc|truncated|truncations?|timeouts?|time_limit)(_|$)", re.I)
# what is summed over the steps of an episode, which does end with it
_TRACE = pattern(r"lam|adv|gae|acc|trace|ret(urn)?s?(_|$)|carry|running", re.I)
# where the value at the limit is put in by other means
_AWARE = pattern(rb"final_obs|final_info|terminal_obs|bootstrap", re.I)
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if _may_cut(module.source.data)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Add) or scope.module not in modules or scope.function is None or in_test(scope):
            continue
        for side in (node.left, node.right):
            cut = _cut(context, side, scope)
            if cut is not None:
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "where an episode is cut off by its limit of time, the value of the next state still counts",
                    f"leave it out at real ends alone: 1 - {cut}",
                )


def _may_cut(text: bytes) -> bool:
    return b"trunc" in text and _AWARE.search(text) is None


def _cut(context: Context, node: ast.expr, scope: Scope) -> str | None:
    """Return what tells of real ends, if a product of a discounted value leaves out the limit of time too."""
    chosen = _chosen(context, node, scope)
    if chosen is not None:
        return chosen
    parts = list(factors(node))
    if not 3 <= len(parts) <= 4 or not any(is_discount(part) for part in parts):
        return None
    if any(_TRACE.search(word) for part in parts for word in _words(part)):
        return None
    for part in parts:
        ends = _ends(context, part, scope, 0)
        if ends is not None:
            kept = [one for one in parts if one is not part and not is_discount(one)]
            return None if any(_of_next_row(context, one, scope) for one in kept) else ends
    return None


def _of_next_row(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a value is that of the row below, which is of another episode after a limit of time: a carry of a
    scan or a loop, or ``values[t + 1]``."""
    node = _bare(node) if isinstance(node, ast.Call) else node
    value = scope.module.values.get(node)
    while isinstance(value, Item):
        value = value.base
    if isinstance(value, Loop) or (isinstance(value, Param) and _scanning(context, value) and position(value) == 0):
        return True
    whole: ast.expr | None = node
    for _ in range(_DEPTH):
        if whole is None or any(map(_later, ast.walk(whole))):
            break
        whole, scope = _origin(context, root_of(whole), scope)
    return whole is not None and any(map(_later, ast.walk(whole)))


def _later(node: ast.AST) -> bool:
    """Say whether a subscript takes what stands further on, or a part of an array without its first row."""
    if not isinstance(node, ast.Subscript):
        return False
    index = first_element(node.slice)
    if isinstance(index, ast.Slice):
        return index.lower is not None and constant(index.lower) not in (None, 0)
    return isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add)


def _chosen(context: Context, node: ast.expr, scope: Scope) -> str | None:
    """Return what tells of real ends in ``jnp.where(terminated | truncated, 0, gamma * value)``."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "where" or len(node.args) != 3:
        return None
    later = list(factors(node.args[2]))
    if constant(node.args[1]) != 0 or len(later) != 2 or not any(map(is_discount, later)):
        return None
    if any(_TRACE.search(word) for part in later for word in _words(part)):
        return None
    return _either(context, node.args[0], scope, 0)


def _words(node: ast.expr) -> Iterator[str]:
    yield from (last_word(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))


def _bare(node: ast.expr) -> ast.expr:
    """Return an expression without what makes another type of it, or takes one step of it as ``done[t]``."""
    while isinstance(node, ast.Call | ast.Subscript | ast.BinOp):
        if isinstance(node, ast.BinOp):
            if not isinstance(node.op, ast.Mult) or constant(node.right) != 1:
                break
            node = node.left
            continue
        if isinstance(node, ast.Subscript) and isinstance(constant(node.slice), str):
            break  # an entry of a batch
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        elif node.args and last_word(node.func) in {"asarray", "float", "float32", "array"}:
            node = node.args[0]
        else:
            break
    return node


def _ends(context: Context, node: ast.expr, scope: Scope, depth: int) -> str | None:
    """Return what tells of real ends in ``1 - (terminated | truncated)``, by variables and casts too."""
    node = _bare(node)
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call) and last_word(node.func) in {"logical_not", "invert"} and len(node.args) == 1:
        return _either(context, node.args[0], scope, depth + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        return _either(context, node.operand, scope, depth + 1)
    rest = complement(node)
    if rest is not None:
        return _either(context, rest, scope, depth + 1)
    made, home = _origin(context, node, scope)
    return _ends(context, made, home, depth + 1) if made is not None else None


def _origin(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr | None, Scope]:
    """Return the expression that a name stands for and its body: one around it, or that which gives it to a scan."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    if made is not None or not isinstance(node, ast.Name):
        return made, scope
    scanned = _scanned(context, scope.module.values.get(node))
    if scanned is not None:
        return scanned
    found = one_source(context, at(context, node, scope))
    held = found.value.node if found is not None and isinstance(found.value, Call | Unknown) else None
    home = context.bodies.home(held) if isinstance(held, ast.expr) else None
    return (held, home) if isinstance(held, ast.expr) and home is not None else (None, scope)


def _scanned(context: Context, value: Value | None) -> tuple[ast.expr, Scope] | None:
    """Return what is scanned over for a part of a body's second argument, and where: ``reward, done = step``."""
    if not isinstance(value, Item) or not isinstance(value.base, Param) or not isinstance(value.index, Const):
        return None
    param, place = value.base, value.index.value
    root = _scanning(context, param)
    if root is None or not isinstance(root.node, ast.Call):
        return None
    given = argument(root.node, 2, "xs")
    whole = written(context, given, root.scope) if given is not None else None
    if isinstance(whole, ast.Name):  # of a tuple that is made before
        whole = bound_once(context, root.scope, whole)
    if position(param) != 1 or not isinstance(whole, ast.Tuple) or type(place) is not int:
        return None
    if any(isinstance(one, ast.Starred) for one in whole.elts) or not 0 <= place < len(whole.elts):
        return None
    return whole.elts[place], root.scope


def _scanning(context: Context, param: Param) -> Root | None:
    """Return the scan that runs the function of a parameter, if that is all that does."""
    tracing = context.traced.get(param.function)
    roots = tracing.roots if tracing is not None else []
    return roots[0] if len(roots) == 1 and roots[0].transform == "jax.lax.scan" else None


def _either(context: Context, node: ast.expr, scope: Scope, depth: int) -> str | None:
    """Return the name of real ends in ``terminated | truncated``."""
    node = _bare(node)
    if depth > _DEPTH:
        return None
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = operands(node, ast.BitOr)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        sides = node.values
    elif isinstance(node, ast.Call) and last_word(node.func) in {"logical_or", "maximum", "bitwise_or"}:
        sides = node.args
    if len(sides) == 2:
        for one, other in (sides, sides[::-1]):
            if _TERMINATED.search(entry_word(one)) and _TRUNCATED.search(entry_word(other)):
                return ast.unparse(one)
    made, home = _origin(context, node, scope)
    return _either(context, made, home, depth + 1) if made is not None else None


_BAD = """\
import jax
import jax.numpy as jnp


def td_loss(params, target_params, value, batch):
    done = jnp.logical_or(batch["terminated"], batch["truncated"])
    target = batch["reward"] + 0.99 * (1.0 - done) * value(target_params, batch["next_obs"])
    return jnp.mean((value(params, batch["obs"]) - jax.lax.stop_gradient(target)) ** 2)
"""

RULE = lint_rule(
    "NNX958",
    "cut-by-time",
    "a target of temporal differences that takes the limit of time for the end of an episode",
    why="""\
An episode that is cut off after so many steps would have gone on: its last state has a value, and only where the
environment really ended is there nothing more to come. A target that leaves the next value out in both cases makes
values too small, the more the shorter the limit. Sums over the steps of an episode, as the trace of generalized
advantages, do end at both and are left alone, as is code that puts the value of the final observation in itself.
""",
    source="Pardo et al. 2018, Time Limits in Reinforcement Learning; measured: a value of 5 instead of 10",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(1.0 - done)", '(1.0 - batch["terminated"])'),),
)
