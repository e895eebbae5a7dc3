"""NNX873: rules of custom derivatives that give something else than is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import gives_arrays
from codemods.nnx.lint.paired_cotangent import unpaired
from codemods.nnx.lint.places import in_test, shown
from codemods.nnx.lint.syntax import assignments, constant, keyword, names_in, several
from codemods.nnx.values import Attr, Call, Param, Ref, Sequence, Unknown, Value


def _check(context: Context) -> Iterator[Finding]:
    for rule, place in unpaired(context):
        yield finding(
            RULE.code,
            rule.scope,
            place,
            f"{shown(rule)} of an nnx.custom_vjp gets a pair: what became of the arguments, and the gradient",
            f"take it apart: inputs, {list(rule.params)[-1]} = {list(rule.params)[-1]}",
        )
    yield from _jvp_order(context)
    yield from _jvp_exchanged(context)
    for event in context.bodies.named("defvjp"):
        func = event.node.func
        if not isinstance(func, ast.Attribute) or event.scope.module not in context.asked or in_test(event.scope):
            continue
        rules = [event.value.argument(0, "fwd"), event.value.argument(1, "bwd")]
        if event.value.starred or None in rules:
            continue
        owner = event.scope.module.values.get(func.value)
        primal = only_function(context, context.flow.here(owner, event.scope)) if owner is not None else None
        forward, backward = (only_function(context, context.flow.here(a, event.scope)) for a in rules if a is not None)
        if forward is not None:
            for value in forward.returns:
                if (
                    (
                        isinstance(value, Call)
                        and primal is not None
                        and only_function(context, context.flow.here(value.callee, forward.scope)) is primal
                    )
                    or (
                        isinstance(value, Sequence)
                        and isinstance(value.node, ast.Tuple)
                        and _length(value) not in (None, 2)
                    )
                    or (_array(context, value, forward) and not _differentiated(context, rules[0], event))
                ):
                    yield _finding(
                        forward, value, "the forward rule returns the result and what the backward rule needs"
                    )
                    break
        plain = primal is not None and primal.self_param is None and not primal.decorators
        made = made_custom(context, owner, event) if owner is not None and plain else None
        if (
            backward is not None
            and primal is not None
            and (made is not None or is_custom(context, primal, "jax.custom_vjp"))
        ):
            yield from _order(primal, backward, made)
            if forward is not None:
                yield from _forward_order(primal, forward, made)
            yield from _traced(context, primal, made)
            wanted = _wanted(primal, made)
            for value in backward.returns:
                given = _length(value) if isinstance(value, Sequence) else None
                if wanted is not None and given is not None and given != wanted:
                    message = (
                        f"the backward rule returns {given} gradient{'s' * (given != 1)} for {wanted} "
                        f"argument{'s' * (wanted != 1)}"
                    )
                    yield _finding(backward, value, message, "return one gradient for each argument")
                    break
                if _array(context, value, backward) or _given(context, value, primal, backward):
                    yield _finding(backward, value, "the backward rule returns a tuple, also of one gradient")
                    break


def made_custom(context: Context, owner: Value, event: CallEvent) -> ast.Call | None:
    """Return the call of ``custom_vjp`` that made a function of a plain one."""
    found = context.flow.resolve(context.flow.here(owner, event.scope))
    named = isinstance(found.value, Call) and context.flow.calls.callee_name(found) == "jax.custom_vjp"
    return found.value.node if named and isinstance(found.value, Call) and found.value.node.args else None


def _options(function: FunctionFacts, made: ast.Call | None) -> list[ast.Call]:
    """Return the calls that may tell which arguments are not differentiated."""
    if made is not None or isinstance(function.node, ast.Lambda):
        return [made] if made is not None else []
    return [one for one in function.node.decorator_list if isinstance(one, ast.Call)]


def _order(
    primal: FunctionFacts, backward: FunctionFacts, made: ast.Call | None, last: tuple[str, str] = ("res", "g")
) -> Iterator[Finding]:
    """Yield a rule that takes what is not differentiated elsewhere than first, or not at all.

    Args:
        primal: the function that the rule is for.
        backward: the backward rule, or the rule of a ``custom_jvp``.
        made: what made the derivative, if no decorator did.
        last: what the rule gets behind that.
    """
    fixed = _nondiff(primal, made)
    names = list(backward.params)
    if not fixed or backward.vararg is not None or backward.kwarg is not None or backward.self_param is not None:
        return
    missing = len(names) < len(fixed) + 2
    later = any(name in names[len(fixed) :] for name in fixed) and not set(fixed) & set(names[: len(fixed)])
    if missing or (len(names) == len(fixed) + 2 and later):
        behind = "the residuals and the gradient" if last[1] == "g" else "the primals and the tangents"
        yield finding(
            RULE.code,
            backward.scope,
            backward.node,
            f"{shown(backward)} gets the arguments of nondiff_argnums first: {', '.join(fixed)}, then {behind}",
            f"def {backward.name}({', '.join((*fixed, *last))})",
        )


def _jvp_order(context: Context) -> Iterator[Finding]:
    """Yield the rules of ``custom_jvp`` that take what is not differentiated elsewhere than first."""
    if not any(m.source.mentions(b"nondiff_arg") and m.source.mentions(b"custom_jvp") for m in context.asked.modules):
        return
    for function in context.asked.functions():
        outer = function.scope.parent
        if len(function.decorators) != 1 or outer is None or in_test(function.scope):
            continue
        decorator = function.decorators[0]
        if isinstance(decorator, Attr) and decorator.name == "defjvp":
            primal = only_function(context, context.flow.here(decorator.base, outer))
            if primal is not None and primal.self_param is None and is_custom(context, primal, "jax.custom_jvp"):
                yield from _order(primal, function, None, ("primals", "tangents"))


def _jvp_exchanged(context: Context) -> Iterator[Finding]:
    """Yield the rules of ``custom_jvp`` that return the tangent first, and the result behind it."""
    if not any(module.source.mentions(b"defjvp") for module in context.asked.modules):
        return
    for function in context.asked.functions():
        outer = function.scope.parent
        decorator = function.decorators[0] if len(function.decorators) == 1 else None
        if not isinstance(decorator, Attr) or decorator.name != "defjvp" or outer is None or in_test(function.scope):
            continue
        primal = only_function(context, context.flow.here(decorator.base, outer))
        if primal is None or not is_custom(context, primal, "jax.custom_jvp") or len(function.params) < 2:
            continue
        tangents = _made_with(context, function, list(function.params)[-1])
        for value in function.returns:
            parts = getattr(value.node, "elts", []) if isinstance(value, Sequence) else []
            if len(parts) == 2 and names_in(parts[0]) & tangents and not names_in(parts[1]) & tangents:
                yield _finding(
                    function,
                    value,
                    "what depends on the tangents comes second, behind the result of the function",
                    "return the result, and then its tangent",
                )
                break


def _made_with(context: Context, function: FunctionFacts, name: str) -> set[str]:
    """Return the variables that are computed with a parameter, and its own name."""
    found, before = {name}, 0
    pairs = [pair for node in context.bodies.nodes(function.scope) for pair in assignments(node)]
    while before != len(found):
        before = len(found)
        found.update(n for target, value in pairs if names_in(value) & found for n in names_in(target))
    return found


def _forward_order(primal: FunctionFacts, forward: FunctionFacts, made: ast.Call | None) -> Iterator[Finding]:
    """Yield a forward rule that takes what is not differentiated first, as only the backward rule gets it."""
    fixed, names = _nondiff(primal, made), list(primal.params)
    first = [*fixed, *(name for name in names if name not in fixed)]
    if fixed and list(forward.params) == first != names and isinstance(forward.node, ast.FunctionDef):
        yield finding(
            RULE.code,
            forward.scope,
            forward.node,
            f"{shown(forward)} gets its arguments in the order of {shown(primal)}: only the backward rule gets "
            "those of nondiff_argnums first",
            f"def {forward.name}({', '.join(names)})",
        )


def _traced(context: Context, primal: FunctionFacts, made: ast.Call | None) -> Iterator[Finding]:
    """Yield the calls that give a traced array for an argument of nondiff_argnums."""
    fixed = _nondiff(primal, made)
    order = list(primal.params)
    for event in context.flow.sites.callers(primal) if fixed else ():
        if event.value.starred or event.scope.module not in context.asked:
            continue
        invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        ready = [frame.prepared for callee, frame in invoked if callee.function is primal]  # by functools.partial
        if len(ready) != 1:
            continue
        for place, node in enumerate(event.node.args[: len(order) - ready[0]], ready[0]):
            if order[place] in fixed and context.taint.array(node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{order[place]}` of {shown(primal)} stands in nondiff_argnums, which takes no traced array",
                    "let it be an ordinary argument, and give None for its gradient",
                )


def _nondiff(function: FunctionFacts, made: ast.Call | None) -> list[str]:
    """Return the parameters that ``nondiff_argnums`` names."""
    names = list(function.params)
    for call in _options(function, made)[:1]:
        numbers = constant(keyword(call, "nondiff_argnums"))
        chosen = several(numbers)
        return [names[n] for n in chosen if isinstance(n, int) and 0 <= n < len(names)]
    return []


def _finding(function: FunctionFacts, value: Value, message: str, advice: str = "return (gradient,)") -> Finding:
    values = function.scope.module.values
    place: ast.AST = function.node
    for one in ast.walk(function.node):
        if isinstance(one, ast.Return) and one.value is not None and values.get(one.value) is value:
            place = one
    return finding(RULE.code, function.scope, place, f"{shown(function)}: {message}", advice)


def _differentiated(context: Context, rule: Value | None, event: CallEvent) -> bool:
    """Say whether a rule is the derivative of a function, as ``jax.value_and_grad(f)`` gives it."""
    callees = context.flow.calls.callables(context.flow.here(rule, event.scope)) if rule is not None else []
    return any(callee.gradient for callee in callees)


def only_function(context: Context, bound: Bound) -> FunctionFacts | None:
    """Return the only function of the project that calling a value runs, with all its arguments open."""
    callees = context.flow.calls.callables(bound)
    return callees[0].function if len(callees) == 1 and not callees[0].args and not callees[0].keywords else None


def _length(value: Sequence) -> int | None:
    """Return how many parts a tuple has; None if some are unpacked into it."""
    parts = getattr(value.node, "elts", None)
    return None if parts is None or any(isinstance(p, ast.Starred) for p in parts) else len(parts)


def is_custom(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether a function is decorated by ``custom_vjp`` or ``custom_jvp`` alone."""
    outer = function.scope.parent
    assert outer is not None
    names = []
    for decorator in function.decorators:
        found = context.flow.resolve(context.flow.here(decorator, outer))
        if (
            isinstance(found.value, Call)
            and context.flow.calls.callee_name(found) == "functools.partial"
            and found.value.args
        ):
            names.append(getattr(context.flow.follow(found, found.value.args[0]).value, "name", ""))
        elif isinstance(found.value, Ref):
            names.append(found.value.name)
    return names == [name]


def _wanted(function: FunctionFacts, made: ast.Call | None) -> int | None:
    """Return how many gradients the backward rule of a function gives; None if that is not known."""
    if function.vararg is not None or isinstance(function.node, ast.Lambda):
        return None
    left = len(function.params)
    for call in _options(function, made):
        given = keyword(call, "nondiff_argnums")
        if keyword(call, "nondiff_argnames") is not None:
            return None
        numbers = constant(given) if given is not None else ()
        if not isinstance(numbers, tuple | list | int):
            return None
        left -= 1 if isinstance(numbers, int) else len(numbers)
    return left


def _array(context: Context, value: Value, function: FunctionFacts) -> bool:
    """Say whether a value is an array for certain."""
    if isinstance(value, Unknown):
        return (isinstance(value.node, ast.UnaryOp) and isinstance(value.node.op, ast.USub)) or (
            isinstance(value.node, ast.BinOp)
            and not any(isinstance(n, ast.Tuple | ast.List) for n in ast.walk(value.node))
            and isinstance(value.node.op, ast.Mult | ast.Div | ast.Sub | ast.Pow | ast.MatMult)
        )
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    return name.startswith("jax.numpy.") and gives_arrays(name) and name.rpartition(".")[2] in _GIVING


def _given(context: Context, value: Value, primal: FunctionFacts, backward: FunctionFacts) -> bool:
    """Say whether the backward rule returns what it gets for a result that is one array."""
    if not isinstance(value, Param) or value.function is not backward or value.name != list(backward.params)[-1]:
        return False
    return bool(primal.returns) and all(_array(context, one, primal) for one in primal.returns)


_GIVING = frozenset(
    {"clip", "where", "zeros_like", "ones_like", "sum", "mean", "multiply", "exp", "tanh", "dot", "matmul", "sign",
     "reshape", "maximum", "minimum", "abs", "round", "floor", "ceil", "sin", "cos", "power", "sqrt", "log",
     "concatenate", "stack", "outer", "einsum"}
)  # fmt: skip


RULE = lint_rule(
    "NNX873",
    "derivative-rule",
    "a rule of custom_vjp gives another number of values than is wanted",
    why="""\
The forward rule returns a pair: the result, and what the backward rule needs. The backward rule returns a tuple with
one gradient for each argument that is differentiated, also if there is only one. Anything else raises a TypeError when
the gradient is taken. The backward rule of `nnx.custom_vjp` does not get the gradient of the result alone, but a pair:
what became of the arguments, and that gradient.
""",
    source="jax pull request 5571 and issue 8356; measured: TypeError on Flax 0.10.7 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def clipped(x):
    return x


def forward(x):
    return x, None


def backward(_, gradient):
    return jnp.clip(gradient, -1.0, 1.0)


clipped.defvjp(forward, backward)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def clipped(x):
    return x


def forward(x):
    return x, None


def backward(_, gradient):
    return (jnp.clip(gradient, -1.0, 1.0),)


clipped.defvjp(forward, backward)
""",
    ),
)
