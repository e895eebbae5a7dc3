"""NNX754: numbers that half precision cannot tell from zero or infinity, and differences of unsigned integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.places import each, foreign, in_test, written
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Param, Sequence

_SMALLEST, _LARGEST = 2.0**-25, 65520.0  # what float16 takes for zero, and what for infinity
_MIDDLE = (127, 128)  # what images of uint8 are centred by; smaller numbers are often first labels or characters
_WITH_NUMBER = {"where": (1, 2), "maximum": (0, 1), "minimum": (0, 1), "add": (0, 1)}


def _check(context: Context) -> Iterator[Finding]:
    types = _Types(context)
    for scope, node in each(context, ast.BinOp):
        source = scope.module.source
        if isinstance(node.op, ast.Mult) and source.mentions(b"16") and not in_test(scope):
            yield from _product(types, node, scope)
        if not isinstance(node.op, ast.Add | ast.Sub) or in_test(scope):
            continue
        if isinstance(node.op, ast.Sub) and source.mentions(b"uint8") and _from_largest(context, node.left, scope):
            continue
        if source.mentions(b"16") or source.mentions(b"uint8"):
            yield from _operation(types, node, scope)
    for event, name in foreign(context, *_WITH_NUMBER):
        if not name.startswith("jax.numpy.") or in_test(event.scope) or not event.scope.module.source.mentions(b"16"):
            continue
        one, two = _WITH_NUMBER[name.rpartition(".")[2]]
        if len(event.node.args) <= two:
            continue
        for place, other in ((one, two), (two, one)):
            number = types.weak(event.node.args[place], event.scope)
            if number is not None and types.node(event.node.args[other], event.scope) == "float16":
                if abs(number) < 1 and (problem := _half(number)):  # minus infinity is what a mask may well take
                    yield _found(event.scope, event.node.args[place], problem)


class _Types(ExactTypes):
    """Tells the type of what layers give, too, that are made with ``dtype=jnp.float16``."""

    def _call(self, value: Call, scope: Scope, depth: int) -> str:
        found = super()._call(value, scope, depth)
        if found or depth > _DEEPEST:
            return found
        flow = self._context.flow
        name = flow.calls.callee_name(flow.here(value, scope))
        if name == "jax.numpy.linalg.norm" and value.args:
            return self._kept("square", self.of(value.args[0], scope, depth + 1))
        if name or not scope.module.source.mentions(b"float16"):
            return ""
        kinds = {self._made(one) for one in self._context.sources.originals(flow.here(value.callee, scope))}
        return kinds.pop() if len(kinds) == 1 else ""

    def _made(self, layer: Bound) -> str:
        """Return the type in which a layer computes, as its constructor is told; empty if it is not."""
        made = layer.value
        home = self._context.bodies.home(made.node) if isinstance(made, Call) else None
        if not isinstance(made, Call) or home is None or self._context.flow.calls.callee_name(layer) not in _LAYERS:
            return ""
        told = made.keyword("dtype")
        for one in made.node.keywords:
            options = written(self._context, one.value, home) if one.arg is None and told is None else None
            if isinstance(options, ast.Call) and last_word(options.func) == "dict":
                given = keyword(options, "dtype")
                told = home.module.values.get(given) if given is not None else None
        return self._named(told, home)


_LAYERS = frozenset(f"flax.nnx.{word}" for word in ("Linear", "LinearGeneral", "Conv", "Einsum", "Embed"))
_DEEPEST = 6


def _operation(types: ExactTypes, node: ast.BinOp, scope: Scope) -> Iterator[Finding]:
    left, right = types.weak(node.left, scope), types.weak(node.right, scope)
    number, array = (left, node.right) if left is not None else (right, node.left)
    problem = _half(number) if number is not None else ""
    centred = isinstance(right, int) and right in _MIDDLE
    wraps = isinstance(node.op, ast.Sub) and (number is None or centred) and not _ordered(node)
    if not problem and not wraps:
        return
    kind = types.node(array, scope)
    if kind == "float16" and problem:
        yield _found(scope, node, problem)
    elif kind == "uint8" and wraps:
        if centred or types.node(node.right, scope) == kind:
            yield finding(
                RULE.code,
                scope,
                node,
                "a difference of uint8 that is below zero wraps around: 1 - 2 gives 255",
                "convert it first: x.astype(jnp.float32)",
            )


def _product(types: ExactTypes, node: ast.BinOp, scope: Scope) -> Iterator[Finding]:
    """Yield a product of an array of float16 and a number that is infinite there: ``(1 - mask) * -1e9``."""
    left, right = types.weak(node.left, scope), types.weak(node.right, scope)
    number, array = (left, node.right) if left is not None else (right, node.left)
    if number is None or abs(number) < _LARGEST or abs(number) == float("inf"):
        return
    if types.node(array, scope) == "float16":
        problem = f"{number:g} is infinite in float16, and a zero times infinity is nan: what a mask keeps becomes nan"
        yield _found(scope, node, problem)


def _from_largest(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an array is made of 255 alone, also as the default of a parameter that no call in sight gives."""
    made = scope.module.values.get(node)
    given = made.args[0] if isinstance(made, Call) and made.args and last_word(made.node.func) in _MADE else None
    if isinstance(given, Param) and given.name in given.function.defaults:
        frames = context.flow.sites.entries(given.function)
        handed = [context.flow.argument(frame, given.name) for frame in frames]
        default = given.function.defaults[given.name]
        if any(one is not None and one.value != default for one in handed):
            return False
        given = default
    parts = given.items if isinstance(given, Sequence) else (given,)
    return bool(parts) and all(part == Const(255) for part in parts)


_MADE = frozenset({"array", "asarray"})


def _ordered(node: ast.BinOp) -> bool:
    """Say whether a difference is that to the smallest or from the largest number, which is never below zero."""
    words = {last_word(n.func) for n in ast.walk(node.right) if isinstance(n, ast.Call)}
    return bool(words & {"min", "minimum"}) or any(
        isinstance(n, ast.Call) and last_word(n.func) in {"max", "maximum"} for n in ast.walk(node.left)
    )


def _half(number: float) -> str:
    """Return what float16 makes of a number; empty if it keeps it."""
    if 0 < abs(number) <= _SMALLEST:
        return f"{number:g} is zero in float16: it keeps nothing from dividing by zero"
    if abs(number) >= _LARGEST and abs(number) != float("inf"):
        return f"{number:g} is infinite in float16, and a row of such numbers becomes nan in a softmax"
    return ""


def _found(scope: Scope, node: ast.AST, problem: str) -> Finding:
    return finding(RULE.code, scope, node, problem, "compute in float32, or take a number that jnp.finfo(x.dtype) has")


RULE = lint_rule(
    "NNX754",
    "narrow-numbers",
    "a number or difference that a narrow type cannot hold",
    why="""\
A number of Python takes the type of the array it meets. In float16 1e-8 is zero, so that `x / (std + 1e-8)` divides by
zero, and -1e9 is minus infinity, which a mask's zeros make nan. `images - mean` of two arrays of uint8 never goes below
zero: it wraps around to 255.
""",
    source="Stack Overflow on uint8 images and on nan in half precision; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def normalized(x):
    x = x.astype(jnp.float16)
    return (x - x.mean()) / (x.std() + 1e-8)
""",
        """\
import jax.numpy as jnp


def centered(images):
    images = images.astype(jnp.uint8)
    return images - 128
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def normalized(x):
    x = x.astype(jnp.bfloat16)
    return (x - x.mean()) / (x.std() + 1e-8)


def inverted(images):
    return 255 - images.astype(jnp.uint8)
""",
    ),
)
