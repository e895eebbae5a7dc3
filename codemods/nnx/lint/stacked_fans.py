"""NNX796: stacked kernels whose initial weights count the axis of the stack among the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Ref, Sequence, Value

_MAKERS = frozenset({"glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform",
                     "lecun_normal", "lecun_uniform", "variance_scaling", "xavier_normal"}
                    | {"xavier_uniform"})  # fmt: skip
_HOMES = ("flax.nnx.initializers.", "flax.linen.initializers.", "jax.nn.initializers.")
_AXES = ("batch_axis", "in_axis", "out_axis")


def _check(context: Context) -> Iterator[Finding]:
    for event in context.asked.calls():
        function, statement = event.scope.function, event.statement
        owner = function.owner if function is not None else None
        if owner is None or len(event.node.args) < 2 or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Attribute) or in_test(event.scope) or not _param(statement.value, event.node):
            continue
        size = _axes(event.value.args[1])
        if size is None or not _scaled(context, event.value.callee, event.scope):
            continue
        if _single(context, event.value.args[1], event.scope):
            continue
        used = _stacked(context, owner, target.attr, size)
        if used is not None:
            yield _found(event, target.attr, used)
    for event in context.bodies.named("param"):
        if event.scope.module in context.asked and not in_test(event.scope):
            yield from _of_linen(context, event)


def _found(event: CallEvent, name: str, used: ast.expr) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        event.node,
        f"the first axis of `{name}` is one of many kernels, and the initializer counts it among the inputs: the"
        " weights are too small",
        "make the initializer with batch_axis=(0,)",
        related=[(used, "where each is multiplied on its own")],
    )


def _of_linen(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the kernels of a stack that a module of Linen makes and uses in one method, by ``self.param``."""
    statement, function, call = event.statement, event.scope.function, event.value
    if not isinstance(call.callee, Attr) or function is None or call.callee.base is not function.self_param:
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    init, shape = call.argument(1, "init_fn"), call.argument(2, "shape")
    if not isinstance(target, ast.Name) or init is None or shape is None or call.starred:
        return
    size = _axes(shape)
    if size is None or not _scaled(context, init, event.scope) or _single(context, shape, event.scope):
        return
    used: ast.expr | None = None
    values = event.scope.module.values
    for node in context.bodies.nodes(event.scope):
        for place, operand in enumerate(_operands(node)):
            if _same_array(values.get(operand)) is call:
                assert isinstance(node, ast.expr)
                if not _each(node, place, size):
                    return
                used = node
    if used is not None:
        yield _found(event, target.id, used)


def _same_array(value: Value | None) -> Value | None:
    """Return the array of which a value is one of another type."""
    for _ in range(_DEPTH):
        if not isinstance(value, Call) or not isinstance(value.callee, Attr | Ref):
            break
        if isinstance(value.callee, Attr) and value.callee.name == "astype":
            value = value.callee.base
        elif last_word(value.node.func) == "asarray" and value.args:
            value = value.args[0]
        else:
            break
    return value


def _param(value: ast.expr, made: ast.Call) -> bool:
    """Say whether a statement's value is a Variable of what a call gives: ``nnx.Param(init(key, shape))``."""
    return isinstance(value, ast.Call) and value.args[:1] == [made] and last_word(value.func) == "Param"


def _axes(shape: Value) -> int | None:
    """Return how many axes an initializer is given, if these are three or more and the first is not of length one."""
    if not isinstance(shape, Sequence) or len(shape.items) < 3 or shape.items[0] == Const(1):
        return None
    return len(shape.items)


def _single(context: Context, shape: Value, scope: Scope) -> bool:
    """Say whether a stack may hold one kernel, as by default: nothing is divided by too much then."""
    assert isinstance(shape, Sequence)
    first = shape.items[0]
    if isinstance(first, Attr | Param):  # of which a configuration may have a field
        names = {start + first.name.removeprefix("num_").removeprefix("n_") for start in ("", "n_", "num_")}
        classes = [cls for module in context.project.modules for cls in module.classes]
        if any(cls.scope.env.get(name) == Const(1) for cls in classes for name in names):
            return True
    return any(one.value == Const(1) for one in context.sources.originals(context.flow.here(first, scope)))


def _scaled(context: Context, initializer: Value, scope: Scope) -> bool:
    """Say whether an initializer divides by the inputs, and knows of no other axes."""
    makers = list(context.sources.originals(context.flow.here(initializer, scope)))
    for one in makers:
        name = context.flow.calls.callee_name(one) if isinstance(one.value, Call) else ""
        if not name.startswith(_HOMES) or last(name) not in _MAKERS:
            return False
        assert isinstance(one.value, Call)
        places = 3 if last(name) == "variance_scaling" else 0
        if len(one.value.args) > places or any(one.value.keyword(word) is not None for word in _AXES):
            return False
    return bool(makers)


def _stacked(context: Context, owner: ClassFacts, name: str, size: int) -> ast.expr | None:
    """Return where the kernels of a stack are multiplied, each on its own; None if they are ever used otherwise."""
    found: ast.expr | None = None
    for method in owner.methods.values():
        values = method.scope.module.values
        for node in context.bodies.nodes(method.scope):
            for place, operand in enumerate(_operands(node)):
                if not _is_attribute(values.get(operand), name, method.self_param):
                    continue
                assert isinstance(node, ast.expr)
                if not _each(node, place, size):
                    return None
                found = node
    return found


def _operands(node: ast.AST) -> list[ast.expr]:
    """Return what a product takes, in the order of its arguments."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and last_word(node.func) in {"dot", "einsum", "matmul", "ragged_dot", "tensordot"}:
        return node.args
    return []


def _each(node: ast.expr, place: int, size: int) -> bool:
    """Say whether a product takes the kernels of a stack one by one."""
    word = last_word(node.func) if isinstance(node, ast.Call) else "matmul"
    if word == "einsum":
        assert isinstance(node, ast.Call)
        return _own_inputs(node, place - 1, size)
    return word in {"matmul", "ragged_dot"} and place == 1 and size == 3


def _is_attribute(value: Value | None, name: str, own: Param | None) -> bool:
    """Say whether a value is an attribute of a method's own object, or the array in it."""
    for _ in range(_DEPTH):
        if isinstance(value, Attr) and value.name == name and own is not None and value.base is own:
            return True
        if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in _SAME:
            value = value.callee.base
        elif isinstance(value, Item):
            if value.index != Const(...):
                return False  # one of them
            value = value.base
        elif isinstance(value, Attr) and value.name == "value":
            value = value.base
        else:
            return False
    return False


_SAME = frozenset({"astype", "get_value"})
_DEPTH = 5


def _own_inputs(call: ast.Call, place: int, size: int) -> bool:
    """Say whether the first axis of an operand of einsum is one of another operand and of the result."""
    text = constant(call.args[0])
    if not isinstance(text, str) or "->" not in text or "." in text or place < 0:
        return False
    given, _, result = text.replace(" ", "").partition("->")
    terms = given.split(",")
    if place >= len(terms) or len(terms[place]) != size:
        return False
    first = terms[place][0]
    others = [term for i, term in enumerate(terms) if i != place]
    summed = [axis for axis in terms[place] if axis not in result]
    return first in result and any(first in term for term in others) and summed == [terms[place][-2]]


RULE = lint_rule(
    "NNX796",
    "stacked-fans",
    "kernels in one array whose initializer counts the axis of the stack among the inputs",
    why="""\
`lecun_normal`, `glorot_uniform` and the like take the last two axes for inputs and outputs, and multiply all others
into both, as those of a convolution. For the kernels of experts in one array, (experts, inputs, outputs), the weights
are too small by the root of the number of experts. `batch_axis=(0,)` says that the first axis is one of many kernels.
""",
    source="docstring of jax.nn.initializers.variance_scaling; measured: a quarter of the spread for 16 experts",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Experts(nnx.Module):
    def __init__(self, count: int, dim: int, hidden: int, rngs: nnx.Rngs):
        init = nnx.initializers.lecun_normal()
        self.kernels = nnx.Param(init(rngs.params(), (count, dim, hidden)))

    def __call__(self, x):
        return jnp.einsum("ecd,edh->ech", x, self.kernels[...])
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Experts(nnx.Module):
    def __init__(self, count: int, dim: int, hidden: int, rngs: nnx.Rngs):
        init = nnx.initializers.lecun_normal(batch_axis=(0,))
        self.kernels = nnx.Param(init(rngs.params(), (count, dim, hidden)))

    def __call__(self, x):
        return jnp.einsum("ecd,edh->ech", x, self.kernels[...])
""",
    ),
)
