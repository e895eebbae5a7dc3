"""How large the steps of an optimizer of optax are, where its text says so."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import OPTIMIZERS, last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Value

_DEPTH = 8
# schedules of optax with the places and names of their greatest rates
_SCHEDULES = {
    "constant_schedule": ((0, "value"),),
    "cosine_decay_schedule": ((0, "init_value"),),
    "exponential_decay": ((0, "init_value"),),
    "linear_schedule": ((0, "init_value"), (1, "end_value")),
    "polynomial_schedule": ((0, "init_value"), (1, "end_value")),
    "warmup_cosine_decay_schedule": ((0, "init_value"), (1, "peak_value")),
    "warmup_exponential_decay_schedule": ((0, "init_value"), (1, "peak_value")),
    "cosine_onecycle_schedule": ((1, "peak_value"),),
}
_WRAPPING = frozenset({"chain", "MultiSteps", "apply_if_finite", "with_extra_args_support", "named_chain"})


def greatest_rate(context: Context, bound: Bound, depth: int = 0) -> float | None:
    """Return the greatest learning rate of an optimizer of optax, if it stands in the text.

    Args:
        context: the analysis.
        bound: the optimizer, a gradient transformation.
        depth: how many others it stands in.
    """
    sources = context.sources.originals(bound)
    if len(sources) != 1 or depth > _DEPTH:
        return None
    found = next(iter(sources))
    value = found.value
    if not isinstance(value, Call) or value.starred:
        return None
    name = context.flow.calls.callee_name(found)
    word = last(name)
    if not name:
        return _of_wrapper(context, found, value, depth)
    if not name.startswith("optax."):
        return None
    if word in OPTIMIZERS:
        return _number(context, found, value.argument(0, "learning_rate"), depth)
    if word in {"scale", "scale_by_learning_rate"}:
        return _number(context, found, value.args[0] if value.args else None, depth)
    if word in _WRAPPING:
        parts = [greatest_rate(context, context.flow.with_value(found, one), depth + 1) for one in value.args]
        return next((part for part in parts if part is not None), None)
    return None


def _of_wrapper(context: Context, found: Bound, value: Call, depth: int) -> float | None:
    """Return the rate of ``optax.inject_hyperparams(optax.adam)(learning_rate=...)``, or of a method of a wrapper."""
    if isinstance(value.callee, Attr) and value.callee.name == "gradient_transformation":
        return greatest_rate(context, context.flow.with_value(found, value.callee.base), depth + 1)
    callee = context.flow.follow(found, value.callee)
    if last(context.flow.calls.callee_name(callee)) != "inject_hyperparams":
        return None
    return _number(context, found, value.argument(0, "learning_rate"), depth)


def _number(context: Context, found: Bound, value: Value | None, depth: int) -> float | None:
    """Return the greatest of the numbers that a learning rate is, or a schedule gives."""
    if value is None:
        return None
    scope = _scope(context, found)
    if scope is None:
        return None
    given = context.flow.with_value(found, value)
    known = numbers(context, value, scope)
    if known:
        return max(map(abs, known))
    source = context.flow.resolve(given)
    if isinstance(source.value, Call):
        name = context.flow.calls.callee_name(source)
        places = _SCHEDULES.get(last(name), ()) if name.startswith("optax.") else ()
        rates = [_number(context, source, source.value.argument(*one), depth + 1) for one in places]
        return max((one for one in rates if one is not None), default=None) if None not in rates else None
    return flag_default(value, scope)


def flag_default(value: Value | None, scope: Scope) -> float | None:
    """Return the default of a flag of the command line: ``parser.add_argument("--lr", default=1e-4)``.

    Args:
        value: what is read, as ``args.lr``; None for nothing.
        scope: the scope that it stands in.
    """
    if not isinstance(value, Attr):
        return None
    for event in scope.module.calls:
        if last_word(event.node.func) == "add_argument" and event.node.args:
            name, default = constant(event.node.args[0]), event.value.keyword("default")
            if (
                isinstance(name, str)
                and name.lstrip("-").replace("-", "_") == value.name
                and isinstance(default, Const)
            ):
                return default.value if isinstance(default.value, float) else None
    return None


def _scope(context: Context, bound: Bound) -> Scope | None:
    if bound.frame is not None:
        return bound.frame.function.scope
    node = getattr(bound.value, "node", None)
    return context.bodies.module_scope(node) or context.bodies.home(node) if isinstance(node, ast.AST) else None
