"""NNX876: arrays that a cache keeps from one compilation to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import STATIC_RESULTS
from codemods.nnx.lint.places import shown, traced_bodies
from codemods.nnx.lint.results import PYTHON_RESULTS
from codemods.nnx.values import Attr, Call, Choice, Item, Mapping, Param, Ref, Sequence, Unknown, Value

_CACHES = frozenset({"functools.lru_cache", "functools.cache"})
# what the functions in these give in compiled code is traced, of constants too
_SPACES = ("jax.numpy.", "jax.random.", "jax.lax.", "jax.nn.")
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for function in context.asked.functions():
        if function.is_cached and function.owner is not None and _kept_by_static(context, function):
            if any(_array(context, value, function, 0) for value in function.returns):
                yield finding(
                    RULE.code,
                    function.scope.parent or function.scope,
                    function.node,
                    f"{shown(function)} keeps an array that was made while a method of the object was compiled",
                    "make it with numpy, or in the constructor",
                )
    for function, tracing in traced_bodies(context):
        if not tracing.sites or tracing.roots or not is_kept(context, function) or function.generator:
            continue
        if any(_array(context, value, function, 0) for value in function.returns):
            yield finding(
                RULE.code,
                function.scope.parent or function.scope,
                function.node,
                f"the cache of {shown(function)} keeps an array that was made while something was compiled",
                "make it with numpy, or under jax.ensure_compile_time_eval()",
            )


def _kept_by_static(context: Context, function: FunctionFacts) -> bool:
    """Say whether only compiled methods read a cached property, of an object that is static and outlives them."""
    readers = {
        root.function
        for root in context.traced.roots
        if root.transform == "jax.jit" and root.function.owner is function.owner
        if root.function.self_param is not None and root.function.self_param.name in root.static
    }
    if not readers:
        return False
    reads = [event for event in context.project.attributes() if event.node.attr == function.name]
    return (
        bool(reads)
        and all(
            event.scope.function in readers
            and event.base is event.scope.function.self_param
            and event.context == "load"
            and not context.bodies.untraced(event.node, event.scope)
            for event in reads
            if event.scope.function is not None
        )
        and all(event.scope.function is not None for event in reads)
    )


def is_kept(context: Context, function: FunctionFacts) -> bool:
    """Say whether what a function gives first is given again: it has a decorator of functools."""
    if function.is_cached:
        return False  # a property of an object that may be made anew in every compilation
    scope = function.scope.parent
    for decorator in function.decorators if scope is not None else ():
        assert scope is not None
        found = context.flow.resolve(context.flow.here(decorator, scope))
        name = found.value.name if isinstance(found.value, Ref) else context.flow.calls.callee_name(found)
        if name in _CACHES:
            return True
    return False


def _array(context: Context, value: Value, function: FunctionFacts, depth: int) -> bool:
    """Say whether a function makes a value with JAX, of whatever, so that it is traced in compiled code."""
    if depth > _DEPTH:
        return False
    if isinstance(value, Sequence):
        return any(_array(context, item, function, depth + 1) for item in value.items)
    if isinstance(value, Mapping):
        return any(_array(context, item, function, depth + 1) for _, item in value.items)
    if isinstance(value, Choice):
        return any(_array(context, option, function, depth + 1) for option in value.options)
    if isinstance(value, Unknown):  # an operation: of what is in it
        values = function.scope.module.values
        return any(
            _array(context, part, function, depth + 1)
            for node in ast.walk(value.node)
            if isinstance(node, ast.Call | ast.Name) and (part := values.get(node)) is not None
        )
    if isinstance(value, Item):  # of several arrays that one call makes
        return isinstance(value.base, Call) and _array(context, value.base, function, depth + 1)
    if isinstance(value, Attr | Param) or not isinstance(value, Call):
        return False
    if _evaluated(context, value, function):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    return name.startswith(_SPACES) and name not in PYTHON_RESULTS | STATIC_RESULTS


def _evaluated(context: Context, value: Call, function: FunctionFacts) -> bool:
    return context.bodies.untraced(value.node, function.scope)


RULE = lint_rule(
    "NNX876",
    "cached-tracer",
    "a cached function makes an array with JAX, and compiled code calls it",
    why="""\
In compiled code `jnp.arange(n)` is a tracer of that compilation. `functools.lru_cache` keeps it, and the next
compilation gets it: UnexpectedTracerError, at the second shape of arguments or after a gradient. Arrays of numpy can be
kept, and so can what is made under `jax.ensure_compile_time_eval()`.
""",
    source="jax issues on leaked tracers with lru_cache; measured on Flax 0.10.7 and 0.12.8: UnexpectedTracerError",
    severity="error",
    check=_check,
    bad=(
        """\
import functools

import jax
import jax.numpy as jnp


@functools.lru_cache
def frequencies(size):
    return 1.0 / (10000.0 ** (jnp.arange(size) / size))


@jax.jit
def rotate(x):
    return x * frequencies(x.shape[-1])
""",
    ),
    clean=(
        """\
import functools

import jax
import numpy as np


@functools.lru_cache
def frequencies(size):
    return 1.0 / (10000.0 ** (np.arange(size) / size))


@jax.jit
def rotate(x):
    return x * frequencies(x.shape[-1])
""",
    ),
)
