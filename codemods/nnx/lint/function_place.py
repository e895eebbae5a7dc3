"""NNX882: an array where a loop or branch of JAX takes a function, a list or a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import BODIES, last
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Attr, Call, Class, Comprehension, Const, Function, Mapping, Ref, Sequence, Value

_MAKING = frozenset({"arange", "array", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"})
# how many arguments are functions and operands, and no options; of a carry of while_loop NNX879 tells
_OPERANDS = {"scan": 3, "map": 2, "fori_loop": 4, "associative_scan": 2}
_ORDERS = {
    "scan": "scan(f, init, xs)",
    "map": "map(f, xs)",
    "fori_loop": "fori_loop(lower, upper, body_fun, init_val)",
    "while_loop": "while_loop(cond_fun, body_fun, init_val)",
    "cond": "cond(pred, true_fun, false_fun, *operands)",
    "switch": "switch(index, branches, *operands)",
    "associative_scan": "associative_scan(fn, elems)",
}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_ORDERS):
        if name not in BODIES or event.value.starred:
            continue
        places, _ = BODIES[name]
        word = last(name)
        args = event.value.args
        if word == "cond" and len(args) == 5 and not _no_function(context, event, args[4]):
            continue  # an operand of its own for each function, which JAX still takes
        for place in places:
            if place >= len(args):
                continue
            if word == "switch":
                wrong = (
                    _function(context, event, args[place])
                    or _branches(context, event, args[0])
                    or (
                        len(args) == 3 and _branches(context, event, args[2]) and not _branches(context, event, args[1])
                    )
                )
            else:
                wrong = _no_function(context, event, args[place]) and any(
                    isinstance(_value(context, event, other), Function)
                    for i, other in enumerate(args)
                    if i not in places
                )
                wrong = wrong or _displaced(context, event, name, place)
                wrong = wrong or (
                    word == "cond"
                    and place == 1
                    and len(args) == 4
                    and all(isinstance(_value(context, event, one), Function) for one in args[2:])
                )
            if wrong:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{ast.unparse(event.node.args[place])}` stands where {word} takes "
                    + ("the list of its branches" if word == "switch" else "a function"),
                    f"the order is {_ORDERS[word]}",
                )
                break


def _value(context: Context, event: CallEvent, value: Value) -> Value:
    return context.flow.resolve(context.flow.here(value, event.scope)).value


def _function(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is a function of the project, or a method of an object."""
    found = context.flow.resolve(context.flow.here(value, event.scope))
    if isinstance(found.value, Function):
        return True
    if not isinstance(found.value, Attr):
        return False
    callees = context.flow.calls.callables(found)
    return len(callees) == 1 and callees[0].receiver is not None and callees[0].function.name == found.value.name


def _displaced(context: Context, event: CallEvent, name: str, place: int) -> bool:
    """Say whether a function stands where only arrays can, and something else in the place of one."""
    args, (places, _) = event.value.args, BODIES[name]
    if not name.startswith("jax.lax.") or (name == "jax.lax.cond" and len(args) == 5):
        return False
    if isinstance(_value(context, event, args[place]), Function | Ref | Class):
        return False
    operands = args if name == "jax.lax.cond" else args[: _OPERANDS.get(last(name), 0)]
    return any(i not in places and _function(context, event, one) for i, one in enumerate(operands))


def _branches(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is a list of functions, the project's own or others."""
    held = context.flow.resolve(context.flow.here(value, event.scope))
    items = held.value.items if isinstance(held.value, Sequence) else ()
    return bool(items) and all(isinstance(context.flow.follow(held, one).value, Function | Ref) for one in items)


def _no_function(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is a number, an array or a container."""
    found = _value(context, event, value)
    if isinstance(found, Const):
        return found.value is not None
    if isinstance(found, Call) and _made(context, event, value):
        return True
    return isinstance(found, Sequence | Mapping | Comprehension) or made_by_jax(context, value, event.scope)


def _made(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value comes of a function that only makes arrays, traced or not."""
    made = context.flow.resolve(context.flow.here(value, event.scope))
    home, _, word = context.flow.calls.callee_name(made).rpartition(".")
    return home == "jax.numpy" and word in _MAKING


RULE = lint_rule(
    "NNX882",
    "function-place",
    "an operand stands where a loop or branch of jax.lax takes a function",
    why="""\
`cond` takes the condition, both functions, and then the operands; `scan`, `map` and `while_loop` take their functions
first, `fori_loop` the bounds before its body, and `switch` a list of functions. Another order raises a TypeError.
""",
    source="jax issues on the older order of lax.cond; measured on JAX 0.6.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def total(xs):
    return jax.lax.scan(jnp.zeros(()), lambda carry, x: (carry + x, None), xs)
""",
        """\
import jax


def chosen(index, x):
    return jax.lax.switch(index, lambda v: v, lambda v: -v, x)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def total(xs):
    return jax.lax.scan(lambda carry, x: (carry + x, None), jnp.zeros(()), xs)


def chosen(index, x):
    return jax.lax.switch(index, [lambda v: v, lambda v: -v], x)
""",
    ),
)
