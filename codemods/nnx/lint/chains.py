"""Which of the ways in which tracing reaches a function are certain.

A transform traces a function for certain that it is given by name. From there tracing goes on for certain by calls in
which the name stands for one function alone, and which no condition on types, modes or flags left at their defaults
keeps back. What is given to a function of another file, to be called there, may be called with values as well: other
callers decide that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple

from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Frame
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Class, Const, Free, Param

_QUESTIONS = frozenset({"callable", "hasattr", "is_concrete", "iscomplexobj", "isinstance", "isscalar", "issubclass",
                        "issubdtype", "is_tracer", "trace_state_clean"})  # fmt: skip
_ARRAYS = frozenset({"jax.Array", "jnp.ndarray", "jax.numpy.ndarray", "jax.core.Tracer", "core.Tracer", "Tracer",
                     "Array", "chex.Array", "jax.typing.ArrayLike"})  # fmt: skip
_OF_ARRAYS = frozenset({"__array__", "__jax_array__", "__len__", "aval", "at", "device", "dtype", "item", "ndim",
                        "numpy", "shape", "sharding", "size", "tolist"})  # fmt: skip


class Way(NamedTuple):
    """A way in which tracing reaches a function.

    Attributes:
        by: the traced function whose body leads there.
        node: the call in its body, or the function that it defines.
        frame: the activation that the call makes; None for a function that is defined there, or mapped over a tree.
        one: whether only this function can be meant.
    """

    by: FunctionFacts
    node: ast.AST
    frame: Frame | None
    one: bool


def certain(
    rooted: Iterable[FunctionFacts],
    ways: dict[FunctionFacts, list[Way]],
    leads: Callable[[Way], bool],
) -> frozenset[FunctionFacts]:
    """Return the functions that certain ways of tracing reach.

    Args:
        rooted: those that a transform traces for certain.
        ways: the ways to every other one.
        leads: whether a way is certain, if the function that it starts in is traced.
    """
    further: dict[FunctionFacts, list[tuple[FunctionFacts, Way]]] = {}
    for function, several in ways.items():
        for way in several:
            if way.one:
                further.setdefault(way.by, []).append((function, way))
    found = dict.fromkeys(rooted)
    queue = list(found)
    while queue:
        for function, way in further.get(queue.pop(), ()):
            if function not in found and leads(way):
                found[function] = None
                queue.append(function)
    return frozenset(found)


def switched(node: ast.AST, scope: Scope, bodies: Bodies, given: Callable[[Param], bool]) -> bool:
    """Say whether a place is only reached under a condition on a type, on a mode, or on a flag left at its default.

    Args:
        node: the place.
        scope: the body that it stands in.
        bodies: the bodies of the project.
        given: whether a call gives something for a parameter that has a default.
    """
    for block, arm in bodies.paths(scope).get(node, ()):
        if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
            if _asks(block.test, arm == "body", scope, given) or _fills(block.test, arm == "body", scope, block):
                return True
        elif isinstance(block, ast.Match) or (isinstance(block, ast.Try) and arm == "handlers"):
            return True
    before = [*bodies.in_front(node, scope), *((guard.test, False) for guard in bodies.behind(node, scope))]
    return any(_asks(test, wanted, scope, given) or _fills(test, wanted, scope) for test, wanted in before)


def _fills(test: ast.expr, holds: bool, scope: Scope, block: ast.AST | None = None) -> bool:
    """Say whether a place is reached once, to fill what is empty: ``if Config.values is None``.

    Whoever fills it first may have values, and what is filled serves all later calls.
    """
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return False
    other, kept = test.comparators[0], test.left
    if not isinstance(other, ast.Constant) or other.value is not None:
        return False
    if isinstance(test.ops[0], ast.Is) is not holds:
        return False
    if isinstance(kept, ast.Name) and kept.id in scope.globals:
        return True
    if not isinstance(kept, ast.Attribute) or not isinstance(kept.value, ast.Name):
        return False
    value = scope.module.values.get(kept.value)
    if isinstance(value, Class) or kept.value.id == "cls":
        return True
    stores = (n for statement in block.body for n in ast.walk(statement)) if isinstance(block, ast.If) else ()
    return any(
        isinstance(n, ast.Assign) and any(ast.unparse(target) == ast.unparse(kept) for target in n.targets)
        for n in stores
    )


def asks_for_type(test: ast.expr, holds: bool) -> bool:
    """Say whether the truth of a condition tells of what type something is, such that it may be no tracer.

    Args:
        test: the condition.
        holds: whether it is true.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asks_for_type(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        return any(asks_for_type(part, holds) for part in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = (test.left, test.comparators[0])
        return any(_of_type(side) for side in sides)
    if not isinstance(test, ast.Call) or last_word(test.func) not in _QUESTIONS:
        return False
    if last_word(test.func) == "hasattr" and len(test.args) == 2:
        word = test.args[1].value if isinstance(test.args[1], ast.Constant) else None
        return word in _OF_ARRAYS  # a mark on a function or an object tells nothing of what it computes with
    if last_word(test.func) != "isinstance" or len(test.args) != 2:
        return True
    types = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    arrays = any(ast.unparse(one) in _ARRAYS for one in types)
    return arrays is not holds if arrays else holds


def _of_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_word(node.func) in {"type", "dtype", "result_type"}
    return isinstance(node, ast.Attribute) and node.attr in {"dtype", "__class__"}


def _asks(test: ast.expr, holds: bool, scope: Scope, given: Callable[[Param], bool]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks(test.operand, not holds, scope, given)
    if isinstance(test, ast.BoolOp):
        return any(_asks(part, holds, scope, given) for part in test.values)
    if isinstance(test, ast.Name):
        flag = scope.module.values.get(test)
        while isinstance(flag, Free) and len(bound := flag.scope.bindings.get(flag.name, [])) == 1:
            flag = bound[0]
        default = flag.function.defaults.get(flag.name) if isinstance(flag, Param) else None
        if not isinstance(flag, Param) or not isinstance(default, Const):
            return False
        return bool(default.value) is not holds and not given(flag)
    return asks_for_mode(test) or asks_for_type(test, holds)


def asks_for_mode(test: ast.expr) -> bool:
    """Say whether a condition compares something with a text or a constant, as ``mode == "forward"``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return False
    if not isinstance(test.left, ast.Name | ast.Attribute) or last_word(test.left) == "__name__":
        return False
    other = test.comparators[0]
    several = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
    return bool(several) and all(
        (isinstance(one, ast.Constant) and isinstance(one.value, str))
        or (isinstance(one, ast.Name | ast.Attribute) and last_word(one).isupper() and len(last_word(one)) > 1)
        for one in several
    )
