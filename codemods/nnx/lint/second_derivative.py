"""NNX528: rules of second derivatives that give nothing for what the first derivative was kept for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.derivative_rule import only_function
from codemods.nnx.lint.ignored_cotangent import dependent, loads, results
from codemods.nnx.lint.places import formula_of, shown
from codemods.nnx.lint.zero_cotangent import depends, is_zero, rules_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# words of rules that leave a derivative out on purpose
_WANTED = pattern(
    r"stop|detach|froz|freez|no_?grad|non_?diff|not diff|ignor|gauss|approx|first.order|straight|\bste\b|jvp", re.I
)
# functions that may take a derivative of such a rule: forward ones, as hessian, raise an error
_DERIVATIVES = frozenset({"grad", "value_and_grad", "jacrev", "jacobian", "vjp"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"defvjp") for module in context.asked.modules):
        return
    found = [(event, rules) for event in context.bodies.named("defvjp") if (rules := rules_of(context, event))]
    first = {backward.node: (event, primal) for event, (primal, backward) in found}
    for _, (inner, second) in found:
        if inner.node not in first or len(inner.params) != 2:
            continue
        event, primal = first[inner.node]
        text = second.scope.module.source.text(second.node)
        if _WANTED.search(text) or not _twice(context, second.scope.module):
            continue
        part = _left_out(context, second)
        names = _kept(context, event, primal, inner) if part is not None else {}
        for name, place in names.items():
            if part is not None and _uses(context, primal, inner, name, place):
                yield finding(
                    RULE.code,
                    second.scope,
                    part,
                    f"{shown(second)} gives nothing for `{name}`, on which the derivative in {shown(inner)} depends: "
                    "second derivatives lack that part",
                    f"return the derivative of {shown(inner)} with respect to `{name}` there, and keep what it needs",
                )
                break


def _left_out(context: Context, second: FunctionFacts) -> ast.expr | None:
    """Return what a rule always gives for what was kept, if that is nothing, beside a gradient for the other."""
    known = dependent(second, list(second.params)[-1])
    every = list(results(context, second))
    pairs = [one for one in every if isinstance(one, ast.Tuple) and len(one.elts) == 2]
    if not every or len(pairs) != len(every):
        return None
    nothing = all(_nothing(context, second, one.elts[0]) for one in pairs)
    return pairs[0].elts[0] if nothing and any(loads(one.elts[1]) & known for one in pairs) else None


def _nothing(context: Context, rule: FunctionFacts, node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(_nothing(context, rule, one) for one in node.elts)
    return is_zero(context, rule, node)


def _kept(context: Context, event: CallEvent, primal: FunctionFacts, inner: FunctionFacts) -> dict[str, int]:
    """Return the variables of a backward rule that hold arguments of the function, with the places of those."""
    given = event.value.argument(0, "fwd")
    forward = only_function(context, context.flow.here(given, event.scope)) if given is not None else None
    pair = formula_of(context, forward) if forward is not None else None
    if forward is None or not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return {}
    arguments = list(forward.params)
    if len(arguments) != len(primal.params):
        return {}
    residuals, kept = next(iter(inner.params)), pair.elts[1]
    if isinstance(kept, ast.Name):
        return {residuals: arguments.index(kept.id)} if kept.id in arguments else {}
    found: dict[str, int] = {}
    for node in context.bodies.nodes(inner.scope):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name) or node.value.id != residuals:
            continue
        for target in node.targets:
            if not isinstance(target, ast.Tuple) or not isinstance(kept, ast.Tuple):
                continue
            for one, source in zip(target.elts, kept.elts, strict=False):
                if isinstance(one, ast.Name) and isinstance(source, ast.Name) and source.id in arguments:
                    found[one.id] = arguments.index(source.id)
    return found


def _uses(context: Context, primal: FunctionFacts, inner: FunctionFacts, name: str, place: int) -> bool:
    """Say whether a first derivative depends on an argument that it gives a gradient for."""
    formula = formula_of(context, inner)
    gradients = list(formula.elts) if isinstance(formula, ast.Tuple) else []
    if len(gradients) != len(primal.params) or is_zero(context, inner, gradients[place]):
        return False
    return any(depends(context, inner, one, name, 0) for one in gradients)


def _twice(context: Context, home: ModuleFacts) -> bool:
    """Say whether a project takes a derivative of a function that takes one, in the file of a rule or one that uses it.

    Args:
        context: the analysis.
        home: the file.
    """
    used = [
        one
        for one in context.project.modules
        if one is home or one.source.mentions(home.name.rpartition(".")[2].encode())
    ]
    return any(_derives_twice(one) for one in used)


def _derives_twice(module: ModuleFacts) -> bool:
    functions = {one.name: one.node for one in module.functions}
    for call in module.source.of_type(ast.Call):
        if last_word(call.func) in _DERIVATIVES:
            inner = [n for one in call.args for n in ast.walk(one)]
            first = call.args[0] if call.args else None
            if isinstance(first, ast.Name) and first.id in functions:
                inner += ast.walk(functions[first.id])
            if any(isinstance(n, ast.Call) and last_word(n.func) in _DERIVATIVES for n in inner):
                return True
    return False


_GOOD = """\
import jax


@jax.custom_vjp
def cube(x):
    return x**3


def forward(x):
    return cube(x), (x,)


@jax.custom_vjp
def backward(kept, dy):
    (x,) = kept
    return (3 * x**2 * dy,)


def again(kept, dy):
    return backward(kept, dy), (kept, dy)


def second(held, ct):
    (x,), dy = held
    return (6 * x * dy * ct[0],), 3 * x**2 * ct[0]


backward.defvjp(again, second)
cube.defvjp(forward, backward)
print(jax.grad(jax.grad(cube))(2.0))
"""
RULE = lint_rule(
    "NNX528",
    "second-derivative",
    "a rule of second derivatives that gives nothing for what the first derivative depends on",
    why="""\
A backward rule that has a rule of its own is a function of two things: of what the forward rule kept and of the
gradient that comes in. A second derivative goes through both. With None, or zeros, for what was kept only the gradient
that comes in counts: a Hessian-vector product lacks all of the function's own curvature.
""",
    source="docs.jax.dev: custom derivative rules; measured: Hessians of zero for a cube",
    check=_check,
    bad=(_GOOD.replace("(6 * x * dy * ct[0],)", "(None,)"),),
    clean=(_GOOD,),
)
