"""NNX759: a transform that gets the result of a function instead of the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import UNKNOWN, Arrays, made_by_jax
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import BODIES, last
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.taken_for_array import taken_for_array
from codemods.nnx.values import Attr, Call, Const, Function, Mapping, Param, Ref, Value

_FIRST = frozenset(
    f"{home}.{word}"
    for home in ("jax", "flax.nnx")
    for word in ("grad", "value_and_grad", "jit", "vmap", "pmap", "jacfwd", "jacrev", "hessian", "checkpoint", "remat",
                 "make_jaxpr", "linearize", "eval_shape")
)  # fmt: skip
#: Those whose second argument is a number, or there is none.
_MADE = frozenset(
    f"jax.{word}"
    for word in ("grad", "value_and_grad", "jit", "vmap", "pmap", "jacfwd", "jacrev", "hessian", "checkpoint", "remat")
)
_REDUCTIONS = frozenset({"mean", "sum", "max", "min", "std", "var", "prod", "astype", "reshape"})
_OF_NNX = frozenset({"flax.nnx.grad", "flax.nnx.value_and_grad", "flax.nnx.jit", "flax.nnx.vmap"})
_BRANCHED = frozenset({"jax.lax.cond", "flax.nnx.cond", "jax.lax.switch", "flax.nnx.switch"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *sorted({last(n) for n in (*_FIRST, *BODIES)})):
        if event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        if len(event.value.args) > 1 and _called_at_once(context, event, name):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` makes a function: `{ast.unparse(event.node.args[1])}` is an argument of that",
                f"call what it makes: {last(name)}({ast.unparse(event.node.args[0])})(...)"
                if isinstance(event.node.args[0], ast.Name | ast.Attribute)
                else "call what it makes with the array",
            )
            continue
        if name in _MADE | _OF_NNX and event.value.args and taken_for_array(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` makes a function, and this one is computed with like an array",
                _way(event, name),
            )
            continue
        for node in _functions(context, event, name):
            value = event.scope.module.values.get(node)
            if isinstance(node, ast.Call | ast.Name) and isinstance(value, Call) and _result(context, event, value):
                yield _found(event, node, name, f"give it the function: {ast.unparse(value.node.func)}")
                break
            if name in _BRANCHED and _number(context, event, value):
                yield _found(event, node, name, f"give it a function: lambda *_: {ast.unparse(node)}")
                break


def _way(event: CallEvent, name: str) -> str:
    """Return how to call what a transform makes."""
    first = event.node.args[0] if event.node.args else None
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name | ast.Attribute) and len(event.node.args) == 1:
        return f"give it the function, and call what it makes: {last(name)}({ast.unparse(first.func)})(...)"
    return "call what it makes"


def _called_at_once(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether what a transform makes was to be called: it is given arguments of that, or its result is unpacked."""
    if name in _MADE and _array(context, event, event.value.args[1], name):
        return True
    if name not in _MADE and name not in _OF_NNX:
        return False
    statement, value = event.statement, event.value.args[1]
    if isinstance(statement, ast.Assign) and statement.value is event.node:
        if any(isinstance(target, ast.Tuple) for target in statement.targets):
            return True
    return kinds_of(context, value, event.scope) in ({Kind.MODULE}, {Kind.OPTIMIZER}, {Kind.STATE})


def _array(context: Context, event: CallEvent, value: Value, name: str) -> bool:
    """Say whether a value is an array for certain, or a dict of parameters."""
    if isinstance(value, Param):
        if last(name) not in {"vmap", "pmap"} and (context.taint.of(value, event.scope) or _varied(context, value)):
            return True
        return context.bodies.evidence(value.function).get(value.name) == "array"
    if made_by_jax(context, value, event.scope) or (Arrays(context, {}).of(value, event.scope).axes or 0) > 0:
        return True
    if last(name) in {"vmap", "pmap"}:
        return False  # axes may be written so
    return isinstance(context.flow.resolve(context.flow.here(value, event.scope)).value, Mapping)


def _varied(context: Context, param: Param) -> bool:
    """Say whether a function is differentiated by a parameter, as its first one is where nothing else is said."""
    if next(iter(param.function.params.values())) is not param:
        return False
    for event in context.bodies.named(*(last(one) for one in _DERIVATIVES if one.startswith("jax."))):
        if not event.value.args or event.value.starred or argument(event.node, 1, "argnums") is not None:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if any(one.function is param.function and not one.args for one in callees):
            return context.flow.calls.name(event) in _DERIVATIVES
    return False


def _found(event: CallEvent, node: ast.expr, name: str, way: str) -> Finding:
    return finding(
        RULE.code, event.scope, node, f"`{last(name)}` takes a function, and `{ast.unparse(node)}` is a result", way
    )


def _functions(context: Context, event: CallEvent, name: str) -> list[ast.expr]:
    """Return the arguments that have to be functions; of the older forms of ``cond`` none."""
    args = event.node.args
    if name in _FIRST:
        return args[:1]
    if name not in BODIES or (last(name) == "cond" and len(args) == 5 and _callable(context, event, args[2])):
        return []
    if any(_callable(context, event, one) for i, one in enumerate(args) if i not in BODIES[name][0]):
        return []  # NNX882 says that the order is another one
    found: list[ast.expr] = []
    for place in BODIES[name][0]:
        given = args[place] if place < len(args) else None
        if last(name) == "switch":
            found += given.elts if isinstance(given, ast.List | ast.Tuple) else []
        elif given is not None:
            found.append(given)
    return found


def _callable(context: Context, event: CallEvent, node: ast.expr) -> bool:
    value = event.scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
    return isinstance(found, Function | Ref)


def _number(context: Context, event: CallEvent, value: Value | None) -> bool:
    """Say whether a branch is a number or an array."""
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    if isinstance(found, Const):
        return isinstance(found.value, int | float)
    return made_by_jax(context, value, event.scope)


def _result(context: Context, event: CallEvent, value: Call) -> bool:
    """Say whether a call gives an array, a number or a tuple, and no function."""
    if made_by_jax(context, value, event.scope) or Arrays(context, {}).of(value, event.scope) != UNKNOWN:
        return True
    if _of_jax(context, event, value):
        return True
    callees = context.flow.calls.callables(context.flow.here(value.callee, event.scope))
    if context.flow.calls.callee_name(context.flow.here(value, event.scope)) or len(callees) != 1:
        return False
    function = callees[0].function
    if callees[0].gradient or function.generator or function.decorators:
        return False
    if gives_nothing(function):
        return not left_to_heirs(function)
    if not function.returns:
        return False
    return all(_computed(context, one, function) for one in function.returns)


def _of_jax(context: Context, event: CallEvent, value: Call) -> bool:
    """Say whether a call is one of what a transform made of a function to take its derivative."""
    found = context.flow.resolve(context.flow.here(value.callee, event.scope))
    return isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _DERIVATIVES


_DERIVATIVES = frozenset(
    {"jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev", "jax.jacobian", "jax.hessian", "flax.nnx.grad",
     "flax.nnx.value_and_grad"}
)  # fmt: skip


def _computed(context: Context, value: Value, function: FunctionFacts) -> bool:
    node = getattr(value, "node", None)
    operation = isinstance(node, ast.BinOp | ast.Compare | ast.Tuple | ast.List | ast.Dict)  # never called
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in _REDUCTIONS:
        return True
    return operation or made_by_jax(context, value, function.scope)


RULE = lint_rule(
    "NNX759",
    "result-for-function",
    "a transform or branch gets a result where it takes a function",
    why="""\
`jax.grad(loss(params, x))` runs the loss and asks for the gradient of a number: a TypeError. So do `lax.cond` and
`lax.switch` with values for their branches. They take the function, and its arguments come later. What
`jax.vmap(model(x))` makes is a function, too, and no array to calculate with.
""",
    source="Stack Overflow on grad and lax.cond; measured on JAX 0.6.2, 0.7.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    return w - 0.1 * jax.grad(loss(w, x))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)
""",
    ),
)
