"""NNX824: a traced boolean mask as an index."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell_name
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import BOOL, PREDICATES, Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import fix, traced_bodies, tried
from codemods.nnx.lint.traced import original
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Loop, Param, Ref, Unknown, Value

_PREDICATES = PREDICATES | {"isin"}
_WITH_WHERE = frozenset({"mean", "sum", "max", "min", "prod", "any", "all", "std", "var"})


def _check(context: Context) -> Iterator[Finding]:
    for function, tracing in traced_bodies(context, level=0):
        if tried(context, tracing):
            continue
        setters = {
            node.func.value: node
            for node in context.bodies.nodes(function.scope)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        reductions = {
            node.args[0]: last_word(node.func)
            for node in context.bodies.nodes(function.scope)
            if isinstance(node, ast.Call) and node.args
        }
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Subscript) and _is_mask(context, node.slice, function):
                owner = node.value
                updates = isinstance(owner, ast.Attribute) and owner.attr == "at"
                array = owner.value if isinstance(owner, ast.Attribute) and updates else owner
                if (not updates and not _array(context, array, function)) or _module(context, array, function):
                    continue
                call = setters.get(node)
                whole = reductions.get(node) or (last_word(call.func) if call is not None and not updates else "")
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    "a traced mask selects a number of elements that is not known",
                    _help(function, whole, array, node.slice),
                    _fix(context, function, array, node.slice, call) if updates and call is not None else None,
                )


def _help(function: FunctionFacts, word: str, array: ast.expr, mask: ast.expr) -> str:
    """Return what to write; functions over all elements take the mask."""
    if word in _WITH_WHERE and not isinstance(mask, ast.Tuple):
        text = function.scope.module.source.text
        extra = ", initial=..." if word in {"max", "min"} else ""
        call = f"jnp.{word}({text(array)}, where={text(mask)}{extra})"
        if len(call) < 80 and "\n" not in call:
            return f"give the mask to the function: {call}"
    return "use jnp.where(mask, new, old); functions such as jnp.mean and jnp.sum take where=mask"


def _is_mask(context: Context, index: ast.expr, function: FunctionFacts) -> bool:
    if isinstance(index, ast.Tuple):
        return any(_is_mask(context, part, function) for part in index.elts)
    value = function.scope.module.values.get(index)
    if (
        isinstance(value, Loop)
        and value.again is not None
        and context.shared(_kinds).of(value.before, function.scope).number == BOOL
    ):
        value = value.again  # the same kind of mask in every round
    if value is None or not context.taint.of(value, function.scope):
        return False
    return _boolean(context, value, function, 0) or context.shared(_kinds).of(value, function.scope).number == BOOL


def _kinds(context: Context) -> Arrays:
    """Return what tells the types of arrays."""
    return Arrays(context, {})


def _array(context: Context, node: ast.expr, function: FunctionFacts) -> bool:
    """Say whether what a mask selects from is traced, or an array of JAX from outside."""
    if context.taint.node(node, function.scope):
        return True
    value = function.scope.module.values.get(node)
    return value is not None and context.kinds.only(context.flow.here(value, function.scope)) is Kind.ARRAY


def _module(context: Context, node: ast.expr, function: FunctionFacts) -> bool:
    """Say whether an expression is a module, as in ``jnp.at[mask]``, of which there is no such thing."""
    value = function.scope.module.values.get(node)
    return value is not None and isinstance(context.flow.resolve(context.flow.here(value, function.scope)).value, Ref)


def _boolean(context: Context, value: Value, function: FunctionFacts, depth: int) -> bool:
    """Say whether a value is an array of truth values, by the way in which it was made."""
    flow = context.flow
    scope = function.scope
    if isinstance(value, Unknown):
        node = value.node
        values = scope.module.values
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return _boolean(context, values[node.operand], function, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return any(_boolean(context, values[side], function, depth) for side in (node.left, node.right))
        return False
    if isinstance(value, Call):
        name = flow.calls.callee_name(flow.here(value, scope))
        return name.startswith("jax.numpy.") and name.rpartition(".")[2] in _PREDICATES
    if isinstance(value, Param) and depth < 3:
        return _given_mask(context, value, depth)
    return False


def _given_mask(context: Context, param: Param, depth: int) -> bool:
    """Say whether every call of the project gives a parameter a mask."""
    found = False
    for frame in context.flow.sites.entries(param.function):
        argument = context.flow.argument(frame, param.name)
        if argument is None:
            return False
        argument = original(argument)
        scope = argument.frame.function.scope if argument.frame is not None else None
        if isinstance(argument.value, Unknown) and isinstance(argument.value.node, ast.Compare):
            found = True
        elif scope is not None and scope is not param.function.scope:
            found = _boolean(context, argument.value, scope.function, depth + 1)  # type: ignore[arg-type]
            if not found:
                return False
        else:
            return False
    return found


def _fix(context: Context, function: FunctionFacts, array: ast.expr, mask: ast.expr, call: ast.Call) -> Fix | None:
    """Return ``jnp.where`` for ``x.at[mask].set(number)``; the mask's shape may differ from that of x."""
    func = call.func
    if isinstance(mask, ast.Tuple):
        return None
    if not isinstance(func, ast.Attribute) or func.attr != "set" or len(call.args) != 1 or call.keywords:
        return None
    number = call.args[0].operand if isinstance(call.args[0], ast.UnaryOp) else call.args[0]
    spelling = spell_name(context.flow, function.scope, "jax.numpy.where")
    if not isinstance(number, ast.Constant) or spelling is None or spelling.edits:
        return None
    source = function.scope.module.source
    text = f"{spelling.text}({source.text(mask)}, {source.text(call.args[0])}, {source.text(array)})"
    return fix(function.scope, call, text, Safety.UNSAFE)


RULE = lint_rule(
    "NNX824",
    "traced-mask",
    "a traced boolean mask as an index",
    why="""\
How many elements a mask selects depends on its values, so `x[mask]` and `x.at[mask].set(v)` raise
NonConcreteBooleanIndexError in compiled code. `jnp.where(mask, v, x)` computes the same with shapes that are known.
""",
    source="JAX tutorial, section on masks; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def positive(x):
    return x[x > 0].sum()
""",
    ),
    mended=(
        (
            """\
import jax
import jax.numpy as jnp


@jax.jit
def hidden(x):
    return x.at[jnp.isnan(x)].set(-1.0)
""",
            """\
import jax
import jax.numpy as jnp


@jax.jit
def hidden(x):
    return jnp.where(jnp.isnan(x), -1.0, x)
""",
        ),
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def chosen(x, i):
    return jnp.where(x > 0, x, 0.0)[i]
""",
    ),
    safety=Safety.UNSAFE,
)
