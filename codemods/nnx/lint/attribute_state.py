"""NNX808: Python state that ``__call__``, or another method in compiled code, changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import is_test
from codemods.nnx.values import Const, Param, Value

_CONSTRUCTORS = frozenset({"__init__", "setup", "__post_init__"})


def _check(context: Context) -> Iterator[Finding]:
    for call, cls in _methods(context):
        for node in context.bodies.nodes(call.scope):
            if isinstance(node, ast.AugAssign) and (name := _own(node.target, call)):
                if _number(context, cls, name):
                    yield _found(
                        call, node, name, "a Python number that changes at every call compiles every time anew"
                    )
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if (name := _own(target, call)) and not _variable(context, cls, name, call):
                        if _number(context, cls, name) and _own_read(node.value, call, name):
                            yield _found(
                                call, node, name, "a Python number that changes at every call compiles every time anew"
                            )
                        elif _activation(context, node.value, call):
                            yield _found(call, node, name, "an array in a plain attribute leaks its tracer or is lost")


def _methods(context: Context) -> Iterator[tuple[FunctionFacts, ClassFacts]]:
    """Yield the methods of modules that compiled code runs: ``__call__``, and others that are seen to be traced."""
    for cls in context.asked.classes():
        if _is_module(context, cls):
            for name, method in cls.methods.items():
                traced = method in context.traced and name not in _CONSTRUCTORS
                if traced or (name == "__call__" and not is_test(method.scope.module)):  # tests count calls
                    yield method, cls


def _found(call: FunctionFacts, node: ast.AST, name: str, what: str) -> Finding:
    return finding(
        RULE.code,
        call.scope,
        node,
        f"`self.{name}`: {what}",
        "keep it in an nnx.Variable, or use self.sow for intermediate values",
    )


def _is_module(context: Context, cls: ClassFacts) -> bool:
    return any(name.startswith("flax.nnx.") for name in context.flow.classes.mro(cls)[1])


def _own(target: ast.expr, call: FunctionFacts) -> str | None:
    """Return the name of the attribute of ``self`` that a target is."""
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and call.self_param is not None:
        return target.attr if target.value.id == call.self_param.name else None
    return None


def _own_read(value: ast.expr, call: FunctionFacts, name: str) -> bool:
    return any(isinstance(n, ast.Attribute) and _own(n, call) == name for n in ast.walk(value))


def _stored(
    context: Context, cls: ClassFacts, name: str, call: FunctionFacts | None = None, others: bool = False
) -> list[Bound]:
    """Return what constructors store in an attribute, and perhaps all methods but one."""
    return [
        Bound(value, context.flow.open_frame(function.scope))
        for parent in context.flow.classes.mro(cls)[0]
        for function, value in parent.stores.get(name, ())
        if function.name in _CONSTRUCTORS or (others and function is not call)
    ]


def _number(context: Context, cls: ClassFacts, name: str) -> bool:
    stored = _stored(context, cls, name)
    values: list[Value] = [context.flow.resolve(bound).value for bound in stored]
    return bool(values) and all(isinstance(v, Const) and isinstance(v.value, int | float) for v in values)


def _variable(context: Context, cls: ClassFacts, name: str, call: FunctionFacts) -> bool:
    return any(context.kinds.of(bound) for bound in _stored(context, cls, name, call, others=True))


def _activation(context: Context, node: ast.expr, call: FunctionFacts) -> bool:
    """Say whether a value is computed from the arguments of the call by JAX or by a layer."""
    value = call.scope.module.values.get(node)
    if value is None or isinstance(value, Const | Param):
        return False
    kinds = context.kinds.of(context.flow.here(value, call.scope))
    if kinds - {Kind.ARRAY}:
        return False
    return call in context.traced and context.taint.of(value, call.scope)


RULE = lint_rule(
    "NNX808",
    "state-in-call",
    "a method of a module changes a plain attribute in compiled code",
    why="""\
Attributes that are no Variables belong to the structure of a module. A number that changes is another structure at
every call, so that `nnx.jit` compiles every time; an array stored there is a tracer that leaks, and an error on Flax
0.12.
""",
    source="JAX tutorial on pytree structure; measured: 6 compilations for 6 calls",
    check=_check,
    bad=(
        """\
from flax import nnx


class Counting(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.linear(x)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Counting(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        self.calls[...] += 1
        return self.linear(x)
""",
    ),
)
