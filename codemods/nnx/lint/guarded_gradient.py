"""NNX870: a guard against bad values that does not guard the gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Star, Unknown, Value

# functions whose derivative is infinite or not a number where their value is guarded
_SHARP = frozenset({"sqrt", "log", "log2", "log10", "arccos", "arcsin", "acos", "asin", "arccosh", "reciprocal", "norm",
                    "divide", "true_divide", "power", "rsqrt", "log1p"})  # fmt: skip
_SAFE = frozenset({"where", "maximum", "clip", "abs", "exp", "square"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]] = {}
    for event in context.bodies.named("where"):
        if len(event.node.args) == 3 and event.scope.function is not None:
            sharp = _sharp(context, event)
            if sharp is not None:
                places.setdefault(event.scope.function, []).append((event, sharp))
    if not places:
        return
    search = _Search(places, _around(context, places))
    for function, params in _differentiated(context):
        yield from _reached(context, function, params, search, 0)


@dataclass
class _Search:
    """What is looked for, where the way there leads through, and what was seen.

    Attributes:
        places: the guards, by the function they stand in.
        around: the functions that have such places, or call functions that have them.
        seen: the places that were told of.
        done: the functions that were looked into, with the parameters that are differentiated.
    """

    places: dict[FunctionFacts, list[tuple[CallEvent, ast.expr]]]
    around: set[FunctionFacts]
    seen: set[ast.AST] = field(default_factory=set)
    done: set[tuple[FunctionFacts, frozenset[str]]] = field(default_factory=set)


def _around(context: Context, places: Iterable[FunctionFacts]) -> set[FunctionFacts]:
    """Return some functions with those that call them, and those these stand in."""
    found: set[FunctionFacts] = set()
    level = set(places)
    for _ in range(_DEPTH + 1):
        found |= level
        callers = {enclosing_function(e.scope) for function in level for e in context.flow.sites.callers(function)}
        level = {function for function in callers if function is not None} - found
    return found


def _differentiated(context: Context) -> Iterator[tuple[FunctionFacts, frozenset[str]]]:
    """Yield the functions that are differentiated, with the parameters with respect to which they are."""
    words = {last(name) for name in GRADIENTS}
    for event, name in foreign(context, *sorted(words), everywhere=True):
        if name not in GRADIENTS or not event.value.args:
            continue
        given = keyword(event.node, "argnums") or (event.node.args[1] if len(event.node.args) > 1 else None)
        numbers = constant(given) if given is not None else 0
        chosen = numbers if isinstance(numbers, tuple | list) else (numbers,)
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            names = list(callee.function.params)[len(callee.args) + int(callee.receiver is not None) :]
            picked = {names[n] for n in chosen if isinstance(n, int) and 0 <= n < len(names)}
            if picked:
                yield callee.function, frozenset(picked)


def _reached(
    context: Context,
    function: FunctionFacts,
    params: frozenset[str],
    search: _Search,
    depth: int,
) -> Iterator[Finding]:
    """Yield the places in a function, and in those it calls, that the gradient goes through."""
    if depth > _DEPTH or function not in search.around or (function, params) in search.done:
        return
    search.done.add((function, params))
    names = _dependent(context, function, params)
    for event, sharp in search.places.get(function, ()):
        if event.node not in search.seen and _mentions(sharp, names):
            search.seen.add(event.node)
            yield finding(
                RULE.code,
                event.scope,
                sharp,
                "`where` guards the value and not the gradient, which is NaN where the guard holds",
                "make the operand safe first: safe = jnp.where(ok, x, 1.0)",
            )
    for event in context.bodies.calls.get(function.scope, ()):
        if not _mentions(event.node, names):
            continue
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
            inner = callee.function
            if inner is function or callee.gradient or inner not in search.around:
                continue
            first = len(callee.args) + int(callee.receiver is not None and inner.binding in {"instance", "class"})
            order = list(inner.params)
            given = [*zip(order[first:], event.node.args, strict=False)]
            given += [(k.arg, k.value) for k in event.node.keywords if k.arg in inner.params]
            reached = frozenset(name for name, node in given if _mentions(node, names))
            if reached and not any(isinstance(a, Star) for a in event.value.args):
                yield from _reached(context, inner, reached, search, depth + 1)


def _dependent(context: Context, function: FunctionFacts, params: frozenset[str]) -> set[str]:
    """Return the variables of a function that depend on some of its parameters."""
    names = set(params)
    if isinstance(function.node, ast.Lambda):
        return names
    for node in sorted(
        (n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Assign | ast.AugAssign)),
        key=lambda n: n.lineno,
    ):
        if _mentions(node.value, names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return names


def _mentions(node: ast.AST, names: set[str] | frozenset[str]) -> bool:
    """Say whether an expression depends on some names, other than by their shapes."""
    if isinstance(node, ast.Attribute) and node.attr in {"shape", "ndim", "dtype", "size"}:
        return False
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"stop_gradient", "zeros_like", "ones_like"}:
        return False
    if isinstance(node, ast.Name):
        return node.id in names
    return any(_mentions(child, names) for child in ast.iter_child_nodes(node))


def _sharp(context: Context, event: CallEvent) -> ast.expr | None:
    """Return what a ``where`` guards, if its derivative is not a number where the guard holds."""
    test, *ways = event.node.args
    name = context.flow.calls.name(event)
    if name not in {"jax.numpy.where", "jax.lax.select"}:
        return None
    guarded: set[str] | None = None
    for way in ways:
        for node in ast.walk(way):
            operand = _operand(node)
            if operand is None:
                continue
            if guarded is None:
                guarded = _guarded(context, test, event)
            if ast.dump(operand) in guarded and not _safe(context, operand, event):
                return node if isinstance(node, ast.expr) else way
    return None


def _operand(node: ast.AST) -> ast.expr | None:
    """Return the part of an operation in which its derivative may be infinite."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right if not isinstance(node.right, ast.Constant) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = constant(node.right)
        return node.left if isinstance(power, float) and power < 1 else None
    if isinstance(node, ast.Call):
        word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if word in _SHARP and node.args:
            divides = word in {"divide", "true_divide"}
            if word == "power" and not (len(node.args) > 1 and isinstance(constant(node.args[1]), float)):
                return None
            return node.args[1] if divides and len(node.args) > 1 else node.args[0]
    return None


def _guarded(context: Context, test: ast.expr, event: CallEvent) -> set[str]:
    """Return the expressions that a condition compares with numbers, also one that has a name."""
    values = event.scope.module.values
    value = values.get(test)
    if isinstance(test, ast.Name) and isinstance(value, Unknown) and isinstance(value.node, ast.expr):
        test = value.node
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            found |= {ast.dump(side) for side in (node.left, *node.comparators) if not isinstance(side, ast.Constant)}
        if isinstance(node, ast.Compare):
            found |= {
                ast.dump(side.args[0])
                for side in (node.left, *node.comparators)
                if isinstance(side, ast.Call) and getattr(side.func, "attr", "") in {"abs", "absolute"} and side.args
            }
    return found


def _safe(context: Context, operand: ast.expr, event: CallEvent) -> bool:
    """Say whether the operand was made safe before."""
    value: Value | None = event.scope.module.values.get(operand)
    if not isinstance(value, Call):
        return False
    return last(context.flow.calls.callee_name(context.flow.here(value, event.scope))) in _SAFE


RULE = lint_rule(
    "NNX870",
    "guarded-value-only",
    "`jnp.where` guards a root, logarithm or quotient, and the gradient is NaN all the same",
    why="""\
`where` chooses between values that are both computed, and so are both gradients: that of the way not taken is
multiplied by zero, and zero times infinity is not a number. The operand itself has to be made safe, with a second
`where` inside of the root, logarithm or quotient.
""",
    source="jax issues 347, 1052 and 5798, and the FAQ of JAX; measured on Flax 0.10.7 and 0.12.8: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()


grads = jax.grad(loss)(jnp.array([0.0, 4.0]))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0).sum()


grads = jax.grad(loss)(jnp.array([0.0, 4.0]))
""",
    ),
)
