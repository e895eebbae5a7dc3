"""NNX966: a difference quotient whose step float32 does not see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import each, written
from codemods.nnx.lint.syntax import names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Function

_SEEN = 2e-7  # a smaller step leaves a number near one as it is, or moves it by the distance to the next one
_WIDE = (b"x64", b"float64", b"complex128", b"mpmath", b"longdouble")
_OTHERS = frozenset({"np", "numpy", "onp", "math", "scipy", "sp", "torch"})
_JAX = frozenset({"jnp", "jax", "nnx", "nn"})
_MAKING = frozenset({"eye", "zeros", "ones", "zeros_like", "ones_like", "arange", "linspace", "identity"})
_DEPTH = 2


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if any(word in data for data in sources for word in _WIDE) or not any(b"e-" in data for data in sources):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        pair = written(context, node.left, scope)
        if not isinstance(pair, ast.BinOp) or not isinstance(pair.op, ast.Sub):
            continue
        for step in operands(node.right, ast.Mult):
            size = _size(context, scope, step)
            if size is not None and 0 < size <= _SEEN and _quotient(context, scope, pair, step):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"a step of {size:g} is lost in float32, which knows about seven digits: the difference is zero, "
                    "or that of rounding",
                    'take a step of about 1e-3, or call jax.config.update("jax_enable_x64", True) first',
                )
                break


def _size(context: Context, scope: Scope, step: ast.expr) -> float | None:
    """Return how large a step is at most; None if that is not known, or of a plain factor."""
    found = numbers(context, scope.module.values.get(step), scope)
    return float(max(found)) if found else None


def _quotient(context: Context, scope: Scope, pair: ast.BinOp, step: ast.expr) -> bool:
    """Say whether two values of one function of JAX are subtracted, at places that differ by a step."""
    one, two = (written(context, side, scope) for side in (pair.left, pair.right))
    if not isinstance(one, ast.Call):
        return False
    same = isinstance(two, ast.Call) and ast.unparse(one.func) == ast.unparse(two.func)
    if not same and not isinstance(pair.right, ast.Name | ast.Attribute):
        return False
    given = [_whole(context, scope, argument, 0) for argument in one.args]
    moved = [parts for parts in given if any(_adds(part, ast.unparse(step)) for part in parts)]
    return bool(moved) and _of_jax(context, scope, one, moved[0])


def _whole(context: Context, scope: Scope, node: ast.expr, depth: int) -> list[ast.expr]:
    """Return an expression and those that its variables are names of."""
    found = [node]
    for part in ast.walk(node) if depth < _DEPTH else ():
        made = written(context, part, scope) if isinstance(part, ast.Name) else part
        if made is not part and isinstance(made, ast.expr):
            found += _whole(context, scope, made, depth + 1)
    return found


def _adds(node: ast.expr, step: str) -> bool:
    """Say whether an expression adds a step to something, also to an item of an array."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub):
            if any(ast.unparse(one) == step for side in (part.left, part.right) for one in operands(side, ast.Mult)):
                return True
        if isinstance(part, ast.Call) and last_word(part.func) in {"add", "set"} and len(part.args) == 1:
            if ast.unparse(part.args[0]) == step:
                return True
    return False


def _of_jax(context: Context, scope: Scope, call: ast.Call, moved: list[ast.expr]) -> bool:
    """Say whether a function computes with arrays of JAX: it is written so, or what it is given is one."""
    value = scope.module.values.get(call.func)
    called = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    inner = names_in(called.facts.node) if isinstance(called, Function) else frozenset[str]()
    if (inner | {n for one in moved for n in names_in(one)}) & _OTHERS:
        return False
    if inner & _JAX or any(isinstance(n, ast.Attribute) and n.attr == "at" for one in moved for n in ast.walk(one)):
        return True
    names = [n for one in moved for n in ast.walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    if any(made_by_jax(context, scope.module.values.get(name), scope) for name in names):
        return True
    while scope.parent is not None and scope.parent.function is not None:
        scope = scope.parent
    return scope.function is not None and _makes_arrays(scope.function.node)


def _makes_arrays(function: ast.AST) -> bool:
    """Say whether a function makes arrays of JAX, as directions to go along, and none of another library."""
    makers = [n.func for n in ast.walk(function) if isinstance(n, ast.Call) and last_word(n.func) in _MAKING]
    own = any(isinstance(one, ast.Attribute) and last_word(one.value) == "jnp" for one in makers)
    return own and not names_in(function) & _OTHERS


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w):
    return jnp.sum(jnp.tanh(w) ** 2)


def slope(w, step=1e-8):
    return (loss(w + step) - loss(w - step)) / (2 * step)


print(slope(0.5), jax.grad(loss)(0.5))
"""

RULE = lint_rule(
    "NNX966",
    "tiny-difference",
    "a difference quotient with a step that float32 does not see",
    why="""\
Arrays of JAX have 32 bits unless `jax_enable_x64` is set: beside 1 there is nothing nearer than 1.2e-7. A step of 1e-8,
which is right for NumPy, leaves the argument as it is, and the quotient is zero; one of 1e-7 gives that of rounding.
""",
    source="PennyLane pull request 7282 and jax issue 641; measured: a gradient of zero",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("1e-8", "1e-3"),),
)
