"""NNX933: a number for each example, which arithmetic with the examples takes for one for each feature."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, each, in_test, position
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Unknown, Value

# samplers and the like, with the place of the shape
_SHAPED = {"uniform": 1, "normal": 1, "randint": 1, "beta": 3, "bernoulli": 2, "zeros": 0, "ones": 0, "full": 0}
_ALIKE = frozenset({"sqrt", "exp", "log", "cos", "sin", "square", "abs", "clip", "log1p", "expm1", "sigmoid", "astype"})
_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "copy", "asarray", "stop_gradient"})
_HOMES = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.", "numpy.")
_DEPTH = 6

#: What the parameters of a function are given: the expression and the body that it stands in.
_Given = dict[Param, tuple[ast.expr, Scope]]


def _check(context: Context) -> Iterator[Finding]:
    words = (b".shape", b"len(")
    if not any(word in m.source.data for m in context.project.modules for word in words):
        return
    sides = _Sides(context)
    told: set[Scope] = set()
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or scope in told or scope.function is None or in_test(scope):
            continue
        if constant(node.left) is not None or constant(node.right) is not None:
            continue
        if scope.function in context.shared(batched):
            continue
        if sides.crossed(node, scope):
            told.add(scope)
            yield finding(
                RULE.code,
                scope,
                node,
                "there is one number for each example here, and it is broadcast over the last axis of the examples",
                "give it the axes of the examples: t[:, None]",
            )


class _Sides:
    """Tells of what array the examples are that a vector has one number for each of."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def crossed(self, node: ast.BinOp, scope: Scope) -> bool:
        """Say whether one side has a number for each example of the other, which has several axes."""
        if self._meet(node, scope, {}):
            return True
        function = scope.function
        assert function is not None
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if not names & set(function.params) and len(names) < 2:
            return False
        callers = [one for one in callers_of(self._context, function) if not one.value.starred]
        if not callers or len(callers) > _DEPTH:
            return False
        known = [(one, given) for one in callers if (given := self._given(one, scope)) is not None]
        return len(known) == len(callers) and any(self._meet(node, scope, given) for _, given in known)

    def _given(self, caller: CallEvent, scope: Scope) -> _Given | None:
        """Return what a call gives the parameters of a function."""
        function = scope.function
        assert function is not None
        if caller.scope.function in self._context.shared(batched):
            return None
        found: _Given = {}
        for param in function.params.values():
            node = argument(caller.node, position(param), param.name)
            if node is not None:
                found[param] = node, caller.scope
        return found

    def _meet(self, node: ast.BinOp, scope: Scope, given: _Given) -> bool:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            of = self._counted(one, scope, given, 0)
            if of is None:
                continue
            examples = self._examples(other, scope, given, 0)
            if examples is not None and examples[0] == of[0] and self._axes(*examples) > 1:
                return True
        return False

    def _axes(self, value: Value, scope: Scope) -> int:
        return Arrays(self._context, {}).of(value, scope).axes or 0

    def _value(self, node: ast.expr, scope: Scope) -> Value | None:
        return scope.module.values.get(node)

    def _inner(self, value: Value | None, node: ast.expr) -> ast.expr | None:
        """Return the operation that a variable is bound to."""
        inner = value.node if isinstance(value, Unknown) else None
        return inner if isinstance(inner, ast.expr) and inner is not node else None

    def _counted(self, node: ast.expr, scope: Scope, given: _Given, depth: int) -> tuple[Value, Scope] | None:
        """Return the array that an expression has one number for each example of."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.UnaryOp):
            return self._counted(node.operand, scope, given, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, scope, given, depth)
        value = self._value(node, scope)
        if isinstance(value, Param):
            if value not in given:
                return None
            return self._counted(*given[value], {}, depth + 1)
        inner = self._inner(value, node)
        if inner is not None:
            return self._counted(inner, scope, given, depth + 1)
        if isinstance(value, Item) and not isinstance(value.base, Call):
            return self._looked_up(value, scope, given, depth)
        if not isinstance(value, Call):
            return None
        name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope))
        word = last(name) if name.startswith(_HOMES) else ""
        if word in _ALIKE and value.node.args:
            return self._counted(value.node.args[0], scope, given, depth + 1)
        if word in _SHAPED:
            return self._length(value.argument(_SHAPED[word], "shape"), scope)
        func = value.node.func
        if not name and isinstance(func, ast.Attribute) and func.attr in _SHAPED and "rng" in ast.unparse(func.value):
            size = value.keyword("size")  # of a generator of NumPy; the shape of streams of NNX stands first
            whole = value.args[0] if value.args and isinstance(value.args[0], Sequence) else None
            return self._length(size if size is not None else whole, scope)
        if isinstance(func, ast.Attribute) and func.attr == "astype":
            return self._counted(func.value, scope, given, depth + 1)
        return None

    def _of_operation(self, node: ast.BinOp, scope: Scope, given: _Given, depth: int) -> tuple[Value, Scope] | None:
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
            return None
        sides = (node.left, node.right)
        found = [self._counted(side, scope, given, depth + 1) for side in sides]
        if found[0] is not None and found[1] is not None:
            return found[0] if found[0][0] == found[1][0] else None
        for one, other in zip(found, sides[::-1], strict=True):
            if one is not None:
                plain = constant(other) is not None or Arrays(self._context, {}).written(other, scope).axes == 0
                return one if plain else None
        return None

    def _looked_up(self, value: Item, scope: Scope, given: _Given, depth: int) -> tuple[Value, Scope] | None:
        """Return what there is a place for each of in a table of one axis: ``alphas[t]``."""
        index = value.index
        if isinstance(index, Sequence | Const) or self._axes(value.base, scope) != 1:
            return None
        if isinstance(index, Param):
            return self._counted(*given[index], {}, depth + 1) if index in given else None
        node = getattr(index, "node", None)
        return self._counted(node, scope, given, depth + 1) if isinstance(node, ast.expr) else None

    def _length(self, shape: Value | None, scope: Scope) -> tuple[Value, Scope] | None:
        """Return the array of which a shape with one axis has the length: ``(x.shape[0],)`` or ``x.shape[:1]``."""
        if isinstance(shape, Sequence):
            if len(shape.items) != 1 or isinstance(getattr(shape.node, "elts", [None])[0], ast.Starred):
                return None
            shape = shape.items[0]
        if isinstance(shape, Item) and isinstance(shape.base, Attr) and shape.base.name == "shape":
            part = getattr(shape.index, "node", None)
            first = isinstance(part, ast.Slice) and part.lower is None and constant(part.upper) == 1
            return (shape.base.base, scope) if first or shape.index == Const(0) else None
        if isinstance(shape, Call) and last_word(shape.node.func) == "len" and len(shape.args) == 1:
            return shape.args[0], scope
        return None

    def _examples(self, node: ast.expr, scope: Scope, given: _Given, depth: int) -> tuple[Value, Scope] | None:
        """Return the array whose shape an expression has."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.UnaryOp):
            return self._examples(node.operand, scope, given, depth + 1)
        if isinstance(node, ast.BinOp):
            found = [self._examples(side, scope, given, depth + 1) for side in (node.left, node.right)]
            same = found[0] is not None and found[1] is not None and found[0][0] == found[1][0]
            return found[0] if same else None
        value = self._value(node, scope)
        if value is None:
            return None
        if isinstance(value, Param) and value in given:
            return self._examples(*given[value], {}, depth + 1)
        inner = self._inner(value, node)
        if inner is not None:
            return self._examples(inner, scope, given, depth + 1)
        if isinstance(value, Call):
            name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope))
            word = last(name) if name.startswith(_HOMES) else ""
            if word in _LIKE and value.node.args:
                return self._examples(value.node.args[0], scope, given, depth + 1)
            shape = value.argument(_SHAPED[word], "shape") if word in _SHAPED else None
            if not name and "rng" in ast.unparse(value.node.func) and last_word(value.node.func) in _SHAPED:
                shape = value.keyword("size") or (value.args[0] if value.args else None)
            if isinstance(shape, Attr) and shape.name == "shape":
                return shape.base, scope
        return value, scope


_BAD = """\
import jax
import jax.numpy as jnp


def noisy(key, x):
    key_t, key_e = jax.random.split(key)
    t = jax.random.uniform(key_t, (x.shape[0],))
    noise = jax.random.normal(key_e, x.shape)
    return (1.0 - t) * x + t * noise


print(noisy(jax.random.key(0), jnp.ones((8, 8))))
"""

RULE = lint_rule(
    "NNX933",
    "batch-vector",
    "a product of one number for each example with the examples, over their last axis",
    why="""\
An array of `(batch,)` that meets one of `(batch, features)` is broadcast over the features. Where both are as long,
which a test with small numbers easily makes them, every feature gets its own number and every example the same ones,
without an error; else an error is raised. Times and noise levels of diffusion and flow matching need `t[:, None]`.
""",
    source="public projects of diffusion models; measured: another loss where both axes are as long",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(1.0 - t) * x + t * noise", "(1.0 - t[:, None]) * x + t[:, None] * noise"),),
)
