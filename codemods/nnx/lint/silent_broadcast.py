"""NNX800: predictions and targets whose shapes are broadcast against each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.array_calls import array_of, axis_of, whole_of
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.chosen_column import chosen_columns
from codemods.nnx.lint.columns import Columns, may_be_column
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.derivative_vectors import is_derivative_vector
from codemods.nnx.lint.kept_columns import targets_as_columns
from codemods.nnx.lint.linen_outputs import ELEMENTWISE
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import each, foreign, in_test, position, written
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Each, Item, Mapping, Param, Sequence, Unknown, Value

_LOSSES = ("squared_error", "l2_loss", "huber_loss", "log_cosh", "sigmoid_binary_cross_entropy")
_NARROW = pattern(rb"(?:Linear|Dense)\([^()]*\b1\b")  # a cheap test for layers with one feature
_DEFAULT = pattern(rb"\w(?:: *int)? *= *1 *[,)]")  # and for a width that is an argument
_AVERAGES = frozenset({"mean", "sum", "average"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _other_axes(context)
    yield from (_found(*place) for place in chosen_columns(context))
    columns = any(_may_be_narrow(module) for module in context.project.modules)
    if columns:
        yield from _operations(context)
    for module in context.asked.modules:
        for call in module.source.of_type(ast.Call) if module.source.mentions(b"argmax") else ():
            averages = last_word(call.func) in _AVERAGES and _equality(call) is not None
            scope = context.bodies.home(call) if averages else None
            compared = _compared(context, call, scope) if scope is not None else None
            if compared is not None and scope is not None and not in_test(scope) and not _of_one(context, scope):
                yield finding(
                    RULE.code,
                    scope,
                    compared,
                    "`argmax` without an axis is one number for the whole batch, compared "
                    + _with_what(context, compared, scope),
                    "give it the axis of the classes: axis=-1",
                )
    for module in context.project.modules if columns else ():
        for node in module.source.of_type(ast.BinOp):
            if isinstance(node.op, ast.Sub):
                yield from _handed_in(context, module, node)
    for event, name in foreign(context, *_LOSSES) if columns else ():
        one = argument(event.node, 0, "predictions" if last(name) != "sigmoid_binary_cross_entropy" else "logits")
        two = argument(event.node, 1, "targets" if last(name) != "sigmoid_binary_cross_entropy" else "labels")
        if name.startswith("optax.") and one is not None and two is not None and not in_test(event.scope):
            if _column_against_vector(context, one, two, event.scope):
                yield _found(event.scope, event.node)


def _operations(context: Context) -> Iterator[Finding]:
    """Yield the operations of a column and a vector: the first of the same variables, since one change mends all."""
    told: set[tuple[Scope, frozenset[str]]] = set()
    found: set[ast.expr] = set()
    for scope, node in each(context, ast.BinOp, ast.Compare):
        sides = _sides(node) or _of_derivatives(context, node, scope)
        if sides is None or not any(may_be_column(scope.module, side) for side in sides):
            continue
        if in_test(scope):
            continue
        if not _column_against_vector(context, *sides, scope):
            error = _error_against_vector(context, *sides, scope)
            if error is None or error in found:
                continue
        found.add(node)
        key = scope, frozenset(names_in(node))
        if key not in told:
            told.add(key)
            yield _found(scope, node)


def _sides(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of an operation of predictions and targets; None if one of columns and rows may be meant.

    A difference or a comparison is one; a product, a sum or a quotient only if one side is named as what there is one
    of for each example.
    """
    if isinstance(node, ast.Compare):
        one = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
        return (node.left, node.comparators[0]) if one else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult | ast.Div):
        return None
    words = {word for side in (node.left, node.right) for word in _words(side)}
    return (node.left, node.right) if words & _FOR_EACH else None


def _of_derivatives(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of a sum or product with one derivative for each point, as the terms of an equation."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult):
        return None
    if not context.shared(_maps_gradients):
        return None
    sides = (node.left, node.right)
    return sides if any(is_derivative_vector(context, side, scope) for side in sides) else None


def _maps_gradients(context: Context) -> bool:
    sources = [module.source for module in context.project.modules if module.source.mentions(b"vmap")]
    return any(source.mentions(b"grad") or source.mentions(b"hessian") for source in sources)


def _words(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


# what there is one of for each example, or each step
_FOR_EACH = frozenset(
    {"r", "rew", "reward", "rewards", "d", "done", "dones", "terminal", "terminals", "terminated", "not_done", "label",
     "labels", "y", "ys", "y_true", "y_batch", "target", "targets", "returns", "rets", "adv", "advantage", "advantages",
     "mask", "masks", "logp", "log_prob", "log_probs"}
)  # fmt: skip


def _may_be_narrow(module: ModuleFacts) -> bool:
    text = module.source.data
    layers = b"Linear(" in text or b"Dense(" in text
    return layers and (_NARROW.search(text) is not None or _DEFAULT.search(text) is not None)


def _handed_in(context: Context, module: ModuleFacts, node: ast.BinOp) -> Iterator[Finding]:
    """Yield the calls that give a function a column and a vector for the two parameters that it subtracts."""
    one, two = module.values.get(node.left), module.values.get(node.right)
    if not isinstance(one, Param) or not isinstance(two, Param) or one.function is not two.function:
        return
    if one is two or in_test(one.function.scope):
        return
    for caller in context.flow.sites.callers(one.function):
        if caller.value.starred or caller.scope.module not in context.asked or in_test(caller.scope):
            continue
        left, right = (argument(caller.node, position(p), p.name) for p in (one, two))
        if left is not None and right is not None and _column_against_vector(context, left, right, caller.scope):
            yield _found(caller.scope, caller.node)


def _other_axes(context: Context) -> Iterator[Finding]:
    """Yield the losses of a matrix of predictions and a vector of targets, both known from where they were made."""
    for event, name in foreign(context, *_LOSSES):
        if not name.startswith("optax.") or len(event.node.args) < 2 or in_test(event.scope):
            continue
        axes = [Arrays(context, {}).of(one, event.scope).axes for one in event.value.args[:2]]
        one, two = event.node.args[:2]
        told = axes in ([2, 1], [1, 2]) or _product_against_vector(context, one, two, event.scope)
        if told or targets_as_columns(context, one, two, event.scope):
            yield _found(event.scope, event.node)
    seen: set[ast.AST | None] = set()
    for event in context.bodies.named("mean", "sum", "square"):
        difference = _squared(event.node, event.scope)
        if difference is None or difference in seen or event.scope.module not in context.asked:
            continue
        name = context.flow.calls.name(event)
        if (name and not name.startswith("jax.numpy.")) or in_test(event.scope):
            continue
        seen.add(difference)
        sides = difference.left, difference.right
        if _product_against_vector(context, *sides, event.scope) or targets_as_columns(context, *sides, event.scope):
            yield _found(event.scope, difference)


def _product_against_vector(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """Say whether one of two expressions is a product with one column of weights, and the other a vector."""
    for left, right in ((one, two), (two, one)):
        value = scope.module.values.get(right)
        if value is None or not _width_one(context, left, scope, 0):
            continue
        if Arrays(context, {}).of(value, scope).axes == 1:
            return True
    return False


def _squared(node: ast.Call, scope: Scope) -> ast.BinOp | None:
    """Return the difference in ``jnp.mean((a - b) ** 2)``, ``((a - b) ** 2).mean()`` or ``jnp.square(a - b)``, also
    one that has a name."""
    inner: ast.expr | None = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.BinOp | ast.Call):
        inner = node.func.value
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow):
        inner = inner.left
    elif isinstance(inner, ast.Call) and last_word(inner.func) in {"abs", "square"} and len(inner.args) == 1:
        inner = inner.args[0]
    elif last_word(node.func) != "square":
        return None
    value = scope.module.values.get(inner) if isinstance(inner, ast.Name) else None
    inner = value.node if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) else inner
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) else None


def _width_one(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is a product with weights that were made with one column."""
    if depth > 6:
        return False
    value = scope.module.values.get(node)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        node = value.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return _column_of_weights(context, node.right, scope)
        return isinstance(node.op, ast.Add) and _width_one(context, node.left, scope, depth + 1)
    if not isinstance(value, Call):
        return False
    bound = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(bound)
    if name in {"jax.numpy.dot", "jax.numpy.matmul"}:
        return len(value.node.args) == 2 and _column_of_weights(context, value.node.args[1], scope)
    if name.startswith(("jax.nn.", "jax.numpy.")):
        return last(name) in ELEMENTWISE and _width_one(context, value.node.args[0], scope, depth + 1)
    invoked = context.flow.calls.invoked(bound) if not name else []
    if len(invoked) != 1 or invoked[0][0].gradient or len(invoked[0][0].function.returns) != 1:
        return False
    function = invoked[0][0].function
    returned = getattr(function.returns[0], "node", None)
    return isinstance(returned, ast.expr) and _width_one(context, returned, function.scope, depth + 1)


def _column_of_weights(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is weights with one column, such as those of the last of several layers."""
    value = scope.module.values.get(node)
    if value is None:
        return False
    layer = value.base if isinstance(value, Item) else None
    ending = isinstance(layer, Item) and isinstance(layer.index, Unknown) and ast.unparse(layer.index.node) == "-1"
    return _made_column(context, context.flow.here(value, scope), ending)


def _made_column(context: Context, weights: Bound, ending: bool) -> bool:
    """Say whether weights are made in a shape that ends in one, on every way; ``ending``: those of the last layer."""
    every = _entries(context, weights) or context.sources.originals(weights)
    sources = [one for one in every if not _update(one.value)]
    for source in sources:
        call = _drawn(context, source)
        if call is None:
            return False
        made = context.flow.with_value(source, call)
        name = context.flow.calls.callee_name(made)
        place = 0 if name in {"jax.numpy.zeros", "jax.numpy.ones"} else 1 if name in _DRAWN else None
        if not name and isinstance(call.callee, Call):  # jax.nn.initializers.he_normal()(key, shape)
            maker = context.flow.calls.callee_name(context.flow.follow(made, call.callee))
            place = 1 if maker.startswith("jax.nn.initializers.") else None
        shape = call.argument(place, "shape") if place is not None else None
        found = context.flow.follow(made, shape).value if shape is not None else None
        if not isinstance(found, Sequence) or len(found.items) != 2:
            return False
        width = context.flow.follow(made, found.items[1])
        if width.value != Const(1) and not (ending and _last_number(context, width) == 1):
            return False
    return bool(sources)


def _entries(context: Context, weights: Bound) -> list[Bound]:
    """Return what stands under the key of ``params["w"]`` in all dicts that it may be taken from.

    What goes over a whole tree keeps the entries apart, though what comes of it is known as that of any of them.
    """
    value = weights.value
    if not isinstance(value, Item) or not isinstance(value.index, Const) or not isinstance(value.index.value, str):
        return []
    entries: list[Bound] = []
    for tree in context.sources.originals(context.flow.with_value(weights, value.base)):
        if isinstance(tree.value, Mapping):
            here = [one for key, one in tree.value.items if key == value.index]
            if len(here) != 1:
                return []
            entries += context.sources.originals(context.flow.with_value(tree, here[0]))
        elif not isinstance(tree.value, Call) or context.flow.calls.callee_name(tree) not in _KEEPING_KEYS:
            return []
    return entries


_KEEPING_KEYS = TREE_MAPS | {"optax.apply_updates"}


def _drawn(context: Context, source: Bound) -> Call | None:
    """Return the call that gives an array, also one that a number is multiplied with; None for another value."""
    if isinstance(source.value, Call):
        return source.value
    node = source.value.node if isinstance(source.value, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if not isinstance(one, ast.Call) or last_word(one.func) not in _SCALED:
            continue
        scope = context.bodies.home(one)
        call = scope.module.values.get(one) if scope is not None else None
        if scope is None or not isinstance(call, Call) or (isinstance(node.op, ast.Div) and one is node.right):
            return None
        sizes = {ast.unparse(n) for a in (*one.args, *(k.value for k in one.keywords)) for n in ast.walk(a)
                 if isinstance(n, ast.Name | ast.Attribute)}  # fmt: skip
        return call if _plain_number(context, other, scope, sizes) else None
    return None


_SCALED = frozenset({"normal", "uniform", "truncated_normal"})


def _plain_number(context: Context, node: ast.expr, scope: Scope, sizes: set[str]) -> bool:
    """Say whether an expression is a number made of constants, numbers and the sizes of a shape."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp):
        return all(_plain_number(context, side, scope, sizes) for side in (node.left, node.right))
    if isinstance(node, ast.Call):
        plain = last_word(node.func) in {"sqrt", "len", "float"} and len(node.args) == 1
        return plain and (last_word(node.func) == "len" or _plain_number(context, node.args[0], scope, sizes))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id in sizes and not isinstance(node.slice, ast.Slice | ast.Tuple)
    if isinstance(node, ast.Attribute):  # a size of a configuration
        return ast.unparse(node) in sizes
    if not isinstance(node, ast.Name):
        return False
    value = scope.module.values.get(node)
    return node.id in sizes or (value is not None and Arrays(context, {}).of(value, scope).axes == 0)


def _last_number(context: Context, width: Bound) -> object:
    """Return what a size is in the last round of a loop over the sizes of layers; None if that is not known.

    Such as n in ``for m, n in zip(sizes, sizes[1:])``, and ``sizes[i + 1]`` in ``for i in range(len(sizes) - 1)``.
    """
    value = width.value
    if isinstance(value, Round) and isinstance(value.base, Indexed):
        part = value.base.index.value
        node = part.node if isinstance(part, Unknown) else None
        after = isinstance(node, ast.Slice) and node.upper is None and node.step is None and constant(node.lower) == 1
        return _final(value.base.base) if after else None
    if not isinstance(value, Indexed) or not isinstance(value.index.value, Unknown):
        return None
    node = value.index.value.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add) or constant(node.right) != 1:
        return None
    return _final(value.base) if _goes_on(context, node.left, value.index, value.base) else None


def _goes_on(context: Context, number: ast.expr, index: Bound, sizes: Value) -> bool:
    """Say whether a number is that of a round in ``range(len(sizes) - 1)``."""
    if index.frame is None:
        return False
    scope = index.frame.function.scope
    each = scope.module.values.get(number)
    rounds = each.base if isinstance(each, Each) else None
    if not isinstance(rounds, Call) or last_word(rounds.node.func) != "range" or len(rounds.node.args) != 1:
        return False
    count = rounds.node.args[0]
    if not isinstance(count, ast.BinOp) or not isinstance(count.op, ast.Sub) or constant(count.right) != 1:
        return False
    whole = count.left
    if not isinstance(whole, ast.Call) or last_word(whole.func) != "len" or len(whole.args) != 1:
        return False
    counted = scope.module.values.get(whole.args[0])
    return counted is not None and context.flow.follow(index, counted).value is sizes


def _final(sizes: Value) -> object:
    last_one = sizes.items[-1] if isinstance(sizes, Sequence) and sizes.items else None
    return last_one.value if isinstance(last_one, Const) else None


def _update(value: Value) -> bool:
    """Say whether a value is a step from another of the same shape."""
    node = value.node if isinstance(value, Unknown) else None
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


_DRAWN = frozenset(f"jax.random.{word}" for word in ("normal", "uniform", "truncated_normal"))


def _found(scope: Scope, node: ast.AST) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        "one side has a column for every example, the other one number: every prediction meets every target",
        "take the column away: predictions[:, 0], or squeeze(-1)",
    )


def _with_what(context: Context, compared: ast.Compare, scope: Scope) -> str:
    """Return what a comparison with an argmax over everything is made with."""
    both = all(_whole_argmax(written(context, side, scope)) for side in (compared.left, compared.comparators[0]))
    return "once" if both else "with all labels"


def _compared(context: Context, node: ast.Call, scope: Scope) -> ast.Compare | None:
    """Return the comparison with an argmax over everything that is averaged."""
    inner = _equality(node)
    if inner is None:
        return None
    sides = (inner.left, inner.comparators[0])
    named = last_word(node.func) != "sum"  # of one example a sum may be taken, too
    made = [written(context, side, scope) if named else side for side in sides]
    whole = [_whole_argmax(side) for side in made]
    other = sides[0] if whole[1] else sides[1]
    labels = isinstance(other, ast.Name | ast.Attribute | ast.Subscript) or _argmax_of_rows(made[0 if whole[1] else 1])
    if all(whole):  # a mean of one comparison: of a batch, each may have been meant to be compared
        return inner if named else None
    return inner if sum(whole) == 1 and labels else None


def _of_one(context: Context, scope: Scope) -> bool:
    """Say whether a body is run for each example by itself, under ``vmap`` or ``vectorize``."""
    around: Scope | None = scope
    while around is not None:
        if around.function is not None and around.function in {*context.shared(batched), *context.shared(_vectorized)}:
            return True
        around = around.parent
    return False


def _vectorized(context: Context) -> set[FunctionFacts]:
    """Return the functions that ``vectorize`` of NumPy or JAX is applied to, also as a decorator."""
    found: set[FunctionFacts] = set()
    for module in context.project.modules:
        for function in module.functions if module.source.mentions(b"vectorize") else ():
            decorators = getattr(function.node, "decorator_list", ())
            parts = (n for one in decorators for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute))
            if any(last_word(n) == "vectorize" for n in parts):
                found.add(function)
    for event in context.bodies.named("vectorize"):
        if event.value.args:
            made = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
            found |= {one.function for one in made}
    return found


def _equality(node: ast.Call) -> ast.Compare | None:
    """Return the comparison of two that is averaged."""
    inner = array_of(node)
    one = isinstance(inner, ast.Compare) and len(inner.ops) == 1 and isinstance(inner.ops[0], ast.Eq)
    return inner if one and isinstance(inner, ast.Compare) else None


def _whole_argmax(node: ast.expr) -> bool:
    """Say whether an expression is an argmax over all axes."""
    return isinstance(node, ast.Call) and last_word(node.func) == "argmax" and whole_of(node) is not None


def _argmax_of_rows(node: ast.expr) -> bool:
    """Say whether an expression is an argmax along an axis that it names."""
    return isinstance(node, ast.Call) and last_word(node.func) == "argmax" and constant(axis_of(node)) in (-1, 1)


def _column_against_vector(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """Say whether one of two expressions is a column that a module gives, and the other a vector."""
    columns = context.shared(Columns)
    for left, right in ((one, two), (two, one)):
        if not columns.is_column(left, scope):
            continue
        if Arrays(context, {}).written(right, scope).axes == 1 or is_derivative_vector(context, right, scope):
            return True
    return False


def _error_against_vector(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> ast.BinOp | None:
    """Return the error of a column that a vector is multiplied by: ``log_probs * (returns - values)``.

    Whether what the column is taken from has one axis or two, the product is a matrix.
    """
    columns = context.shared(Columns)
    for left, right in ((one, two), (two, one)):
        stopped = isinstance(right, ast.Call) and last_word(right.func) == "stop_gradient" and bool(right.args)
        inner = right.args[0] if isinstance(right, ast.Call) and stopped else right
        value = scope.module.values.get(inner)
        error = value.node if isinstance(value, Unknown) else inner
        if not isinstance(error, ast.BinOp) or not isinstance(error.op, ast.Sub):
            continue
        for column, other in ((error.left, error.right), (error.right, error.left)):
            if _FOR_EACH & set(_words(other)) and columns.is_column(column, scope):
                if Arrays(context, {}).written(left, scope).axes == 1 or _one_for_each(context, left, scope):
                    return error
    return None


def _one_for_each(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether there is a number for each example: a sum over the classes, or what one of them was chosen from."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    value = scope.module.values.get(node)
    if isinstance(value, Item) and isinstance(value.index, Sequence):
        first = value.index.items[-1] == Const(0) if value.index.items else False
        return first and isinstance(value.base, Call) and _chosen(value.base.node)
    node = written(context, node, scope)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word == "squeeze":
        return any(map(_chosen, (*node.args[:1], getattr(node.func, "value", None))))
    if word == "sum":
        return constant(argument(node, 1, "axis")) == -1 and keyword(node, "keepdims") is None
    return word in {"softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy"}


def _chosen(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and last_word(node.func) == "take_along_axis"


RULE = lint_rule(
    "NNX800",
    "silent-broadcast",
    "predictions and targets of shapes that are broadcast against each other",
    why="""\
A layer with one feature gives `(n, 1)`; less targets of `(n,)` that is `(n, n)`, every prediction against every target,
and the model learns the mean. `jnp.argmax(logits)` is one number for the whole batch: an accuracy needs `axis=-1`.
""",
    source="Stack Overflow, on losses that do not fall; measured: another loss and another accuracy, without an error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(x)


model = Regressor(nnx.Rngs(0))
x = jnp.ones((8, 3))
y = x.sum(1).ravel()
loss = ((model(x) - y) ** 2).mean()
""",
        """\
import jax.numpy as jnp


def accuracy(logits, labels):
    return jnp.mean(jnp.argmax(logits) == labels)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(x)


model = Regressor(nnx.Rngs(0))
x = jnp.ones((8, 3))
y = x.sum(1).ravel()
loss = ((model(x)[:, 0] - y) ** 2).mean()


def accuracy(logits, labels):
    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)
""",
    ),
)
