"""NNX514: a reduction that begins with a number that changes its result."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, one_source, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.signs import Sign, sign_of
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Function, Item, Ref, Unknown

# the functions, with the places of the array, of what it begins with and of what combines two
_REDUCTIONS = {
    "jax.lax.reduce_window": (("operand", 0), ("init_value", 1), ("computation", 2)),
    "jax.lax.reduce": (("operands", 0), ("init_values", 1), ("computation", 2)),
    "flax.linen.pool": (("inputs", 0), ("init", 1), ("reduce_fn", 2)),
    "flax.linen.pooling.pool": (("inputs", 0), ("init", 1), ("reduce_fn", 2)),
    "flax.nnx.pool": (("inputs", 0), ("init", 1), ("reduce_fn", 2)),
    "functools.reduce": (("iterable", 1), ("initial", 2), ("function", 0)),
}
_INITIAL = {"max": "max", "amax": "max", "min": "min", "amin": "min", "prod": "mul"}
_OPERATIONS = {
    "jax.lax.max": "max", "jax.numpy.maximum": "max", "numpy.maximum": "max", "builtins.max": "max",
    "jax.lax.min": "min", "jax.numpy.minimum": "min", "numpy.minimum": "min", "builtins.min": "min",
    "jax.lax.mul": "mul", "jax.numpy.multiply": "mul", "operator.mul": "mul", "numpy.multiply": "mul",
    "jax.lax.add": "add", "jax.numpy.add": "add", "operator.add": "add", "numpy.add": "add",
    "jax.numpy.fmax": "max", "jax.numpy.fmin": "min",
    "jax.lax.bitwise_and": "and", "jax.numpy.logical_and": "and", "jax.numpy.bitwise_and": "and",
    "operator.and_": "and", "jax.lax.bitwise_or": "or", "jax.numpy.logical_or": "or", "jax.numpy.bitwise_or": "or",
    "operator.or_": "or",
}  # fmt: skip
_SYMBOLS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or"}
_NEUTRAL = {"max": "-jnp.inf", "min": "jnp.inf", "mul": "1", "add": "0", "and": "True", "or": "False"}
_INFINITE = frozenset(f"{home}.inf" for home in ("jax.numpy", "numpy", "math"))
# numbers just above zero, which are not the least ones
_TINY = frozenset({"tiny", "eps", "smallest_normal", "smallest_subnormal"})
_WRAPPING = frozenset({"array", "asarray", "float32", "float64", "float16", "bfloat16", "int32", "float", "int",
                       "convert_element_type", "full_like", "_convert_element_type"})  # fmt: skip
_POOLING = pattern(r"max_?pool", re.I)
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "reduce_window", "reduce", "pool"):
        places = _REDUCTIONS.get(name)
        if places is None or event.value.starred or in_test(event.scope):
            continue
        array, begin, combined = (argument(event.node, place, word) for word, place in places)
        operation = _operation(context, combined, event.scope)
        if begin is not None and array is not None and operation:
            yield from _found(context, event, operation, begin, array)
    for event in context.bodies.named(*_INITIAL):
        begin = next((k.value for k in event.node.keywords if k.arg == "initial"), None)
        if begin is None or not event.node.args or event.scope.module not in context.asked:
            continue
        if not event.value.starred and not in_test(event.scope):
            name = context.flow.calls.name(event)
            if name.startswith("jax.numpy."):
                yield from _found(context, event, _INITIAL[last(name)], begin, event.node.args[0])
    yield from _scattered(context)
    yield from _carried(context)


def _scattered(context: Context) -> Iterator[Finding]:
    """Yield what is put together in an array of zeros, or what it is multiplied with: ``zeros.at[i].max(v)``."""
    for event in context.bodies.named("max", "min", "mul", "multiply"):
        place = event.value.callee.base if isinstance(event.value.callee, Attr) else None
        if not isinstance(place, Item) or not isinstance(place.base, Attr) or place.base.name != "at":
            continue
        if event.scope.module not in context.asked or len(event.node.args) != 1 or in_test(event.scope):
            continue
        begun = context.sources.originals(context.flow.here(place.base.base, event.scope))
        made = [context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in begun]
        if not made or not {*made} <= {"jax.numpy.zeros", "jax.numpy.zeros_like"}:
            continue
        word = last_word(event.node.func)
        operation = "mul" if word == "multiply" else word
        told = _told(context, event, operation, 0.0, event.node.args[0])
        if told:
            help = f"begin with what changes nothing: jnp.full(shape, {_NEUTRAL[operation]})"
            yield finding(RULE.code, event.scope, event.node, told, help)


# the loops of JAX, with the places of the body, of what it begins with, and of the carry among the body's parameters
_LOOPS = {"jax.lax.fori_loop": (2, "body_fun", 3, "init_val", 1), "jax.lax.scan": (0, "f", 1, "init", 0)}


def _carried(context: Context) -> Iterator[Finding]:
    """Yield the loops whose carry is the greatest or least number so far, and begins with 0."""
    for event, name in foreign(context, "fori_loop", "scan"):
        if name not in _LOOPS or event.value.starred or in_test(event.scope):
            continue
        place, word, start, start_word, carry = _LOOPS[name]
        body, begin = argument(event.node, place, word), argument(event.node, start, start_word)
        found = context.flow.resolve(at(context, body, event.scope)).value if body is not None else None
        if begin is None or not isinstance(found, Function) or len(found.facts.params) != 2:
            continue
        if _number(context, at(context, begin, event.scope), event.scope, 0) != 0:
            continue
        names = [*found.facts.params]
        operation, other = _of_carry(context, found, names[carry])
        home = found.facts.scope
        if isinstance(other, ast.Name) and other.id == names[1 - carry]:  # the element of a scan
            other, home = argument(event.node, 2, "xs") if carry == 0 else None, event.scope
        sign = sign_of(context, at(context, other, home)) if other is not None else Sign.UNKNOWN
        if (operation, sign) in {("max", Sign.SIGNED), ("min", Sign.NOT_NEGATIVE)}:
            yield finding(
                RULE.code,
                event.scope,
                begin,
                f"the {operation}imum that begins with 0: 0 counts as one of the numbers",
                f"begin with what changes nothing: {_NEUTRAL[operation]}",
            )


def _of_carry(context: Context, body: Function, carry: str) -> tuple[str, ast.expr | None]:
    """Return by what a body combines its carry, and with what."""
    formula = formula_of(context, body.facts)
    if isinstance(formula, ast.Tuple) and formula.elts:
        formula = written(context, formula.elts[0], body.facts.scope)
    if not isinstance(formula, ast.Call) or len(formula.args) != 2 or formula.keywords:
        return "", None
    names = [getattr(one, "id", "") for one in formula.args]
    if names.count(carry) != 1:
        return "", None
    value = context.flow.resolve(at(context, formula.func, body.facts.scope)).value
    operation = _OPERATIONS.get(value.name, "") if isinstance(value, Ref) else ""
    return operation, formula.args[1 - names.index(carry)]


def _found(context: Context, event: CallEvent, operation: str, begin: ast.expr, array: ast.expr) -> Iterator[Finding]:
    """Yield the finding about a reduction of an array that begins with a number that is not neutral."""
    number = _number(context, at(context, begin, event.scope), event.scope, 0)
    if number is None:
        return
    told = _told(context, event, operation, number, array)
    if told:
        yield finding(
            RULE.code,
            event.scope,
            begin,
            told,
            f"begin with what changes nothing: {_NEUTRAL[operation]}",
        )


def _told(context: Context, event: CallEvent, operation: str, number: float, array: ast.expr) -> str:
    """Say what is wrong with where a reduction begins; empty if nothing is known to be."""
    if operation == "mul":
        return "a product that begins with 0 is 0 whatever is multiplied" if number == 0 else ""
    if operation in {"and", "or"}:
        whole = operation == "or"
        fixed = bool(number) is whole and number in (0, 1) and _of_booleans(context, array, event.scope)
        return f"`{operation}` that begins with {whole} is {whole} whatever is combined" if fixed else ""
    infinite = number in (float("inf"), float("-inf"))
    if operation == "add":
        return "a sum that begins with infinity is never another" if infinite else ""
    if infinite:
        same = (number > 0) is (operation == "max")
        return f"the {operation}imum of anything and this is always this" if same else ""
    if not 0 <= number < 1e-3:
        return ""
    least = operation == "min"
    sign = sign_of(context, at(context, array, event.scope))
    # `initial=0` of all numbers may be a bound that is meant
    initial = any(k.arg == "initial" for k in event.node.keywords) and last_word(event.node.func) in _INITIAL
    of_some = not initial or any(k.arg == "where" for k in event.node.keywords)
    if sign is Sign.NOT_NEGATIVE and least:
        return "the minimum of numbers that are not negative and of 0 is 0: 0 counts as one of the numbers"
    if sign is Sign.SIGNED and of_some:
        what = "positive" if least else "negative"
        return (
            f"the {operation}imum that begins with 0 is 0 where all numbers are {what}: 0 counts as one of the numbers"
        )
    if sign is Sign.UNKNOWN and not least and _is_pool(event, array):
        return "the maximum that begins with 0 is 0 where all numbers are negative: 0 counts as one of the numbers"
    return ""


def _is_pool(event: CallEvent, array: ast.expr) -> bool:
    """Say whether a function is called max_pool, and reduces what it is given, whatever that is."""
    function = event.scope.function
    if function is None or not _POOLING.search(function.name + (function.owner.name if function.owner else "")):
        return False
    return isinstance(array, ast.Name) and not _MASKS.search(ast.unparse(function.node))


_MASKS = pattern(r"mask|binary|bool|heat|prob|edge|occup|dilat|morph|relu|sigmoid|softmax|uint8|nms|\babs\(", re.I)


def _of_booleans(context: Context, array: ast.expr, scope: Scope) -> bool:
    """Say whether an array certainly holds truth values, as a comparison does."""
    found = one_source(context, at(context, array, scope))
    node = found.value.node if found is not None and isinstance(found.value, Unknown) else array
    return isinstance(node, ast.Compare)


def _operation(context: Context, node: ast.expr | None, scope: Scope) -> str:
    """Return what a function of two arrays does: ``max``, ``add``, ...; empty if it is not known."""
    if node is None:
        return ""
    found = context.flow.resolve(at(context, node, scope)).value
    if isinstance(found, Ref):
        return _OPERATIONS.get(found.name, "")
    if not isinstance(found, Function) or len(found.facts.params) != 2:
        return ""
    formula = formula_of(context, found.facts)
    names = [*found.facts.params]
    if isinstance(formula, ast.BinOp):
        sides = [getattr(one, "id", "") for one in (formula.left, formula.right)]
        return _SYMBOLS.get(type(formula.op), "") if sorted(sides) == sorted(names) else ""
    if isinstance(formula, ast.Call) and len(formula.args) == 2 and not formula.keywords:
        if sorted(getattr(one, "id", "") for one in formula.args) == sorted(names):
            value = context.flow.resolve(at(context, formula.func, found.facts.scope)).value
            return _OPERATIONS.get(value.name, "") if isinstance(value, Ref) else ""
    return ""


def _number(context: Context, bound: Bound, scope: Scope, depth: int) -> float | None:
    """Return the number that a reduction begins with, also within an array or another type."""
    home = bound.frame.function.scope if bound.frame is not None else scope
    known = the_number(context, bound.value, home)
    if known is not None:
        return known
    found = one_source(context, bound)
    if found is None or depth > _DEPTH:
        return None
    value = found.value
    if isinstance(value, Const):
        return float(value.value) if isinstance(value.value, bool) else None
    if isinstance(value, Ref):
        return float("inf") if value.name in _INFINITE else _tiny(value.name)
    if isinstance(value, Attr) and isinstance(value.base, Call) and last_word(value.base.node.func) == "finfo":
        return 0.0 if value.name in _TINY else None
    if isinstance(value, Unknown) and isinstance(value.node, ast.UnaryOp) and isinstance(value.node.op, ast.USub):
        inner = _number(context, operand(context, found, value.node.operand), scope, depth + 1)
        return -inner if inner is not None else None
    return _made(context, found, value, scope, depth) if isinstance(value, Call) else None


def _made(context: Context, found: Bound, value: Call, scope: Scope, depth: int) -> float | None:
    name = context.flow.calls.callee_name(found)
    word = last(name)
    if not name.startswith(("jax.", "numpy.", "builtins.")) or not value.args:
        return None
    if word in {"zeros", "ones"} and constant(value.node.args[0]) in ((), []):
        return float(word == "ones")
    if word in {"zeros_like", "ones_like"}:
        return None
    place = 1 if word == "full_like" else 0
    if word in _WRAPPING and len(value.args) > place:
        return _number(context, context.flow.with_value(found, value.args[place]), scope, depth + 1)
    return None


def _tiny(name: str) -> float | None:
    return 0.0 if name == "sys.float_info.min" else None


_BAD = """\
import jax.numpy as jnp
from jax import lax


def max_pool(x):
    return lax.reduce_window(x, 0.0, lax.max, (2, 2), (2, 2), "VALID")


print(max_pool(-jnp.arange(1.0, 17.0).reshape(4, 4)))
"""

RULE = lint_rule(
    "NNX514",
    "reduction-not-neutral",
    "a maximum, minimum or product that begins with a number that changes it",
    why="""\
What `lax.reduce_window`, `lax.reduce` or `pool` of Flax begins with, `initial=` of `jnp.max`, the zeros in
`jnp.zeros(n).at[i].max(v)` and the first carry of a loop that keeps the greatest number count as one of the numbers.
A maximum that begins with 0 is 0 wherever all numbers are negative, a minimum that begins with 0 is 0 wherever all
are positive, and a product that begins with 0 is 0. Begin a maximum with `-jnp.inf`, a minimum with `jnp.inf` and a
product with 1. `lax.reduce_window` has a gradient only with these: with `lax.max` and 0 `jax.grad` raises a
ValueError. `jnp.finfo(dtype).tiny` is the least positive number; the least one is `jnp.finfo(dtype).min`.
""",
    source="JAX documentation of jax.lax.reduce_window; measured on Flax 0.11.2 and 0.12.8 with JAX 0.7.2 and 0.10.2",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("0.0, lax.max", "-jnp.inf, lax.max"),),
)
