"""NNX996: the means of all devices added up, where the mean of all is wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.summed_twice import summed_twice
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Mapping, Value

_MEANS = frozenset({"mean", "average", "nanmean"})
# divisions by how many devices, shards or examples there are, wherever they stand
_BY_COUNT = pattern(
    rb"(?:/|\bdivide\(.*,)\s*(?:[\w.]+\.)?\w*(?:dev|shard|replica|world|mesh|axis_size|process|batch)", re.I
)
# axes along which there is something else on each device, not other examples
_OTHER = pattern(r"task|ensemble|member|model|expert|stage|pipe|tensor|head|feature|population|agent|^[ptem]p$", re.I)
_DEPTH = 3
_COUNTS = frozenset({"axis_size", "device_count", "local_device_count", "process_count", "divide", "true_divide"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "psum"):
        if name != "jax.lax.psum" or event.scope.function is None or in_test(event.scope) or not event.node.args:
            continue
        axis = constant(argument(event.node, 1, "axis_name"))
        if _OTHER.search(str(axis)) or event.scope.module.source.matches(_BY_COUNT):
            continue
        given, scope = _mapped(context, event)
        given = written(context, given, scope)
        value = scope.module.values.get(given)
        if isinstance(value, Mapping) and isinstance(value.node, ast.Dict):
            given = value.node
        summed = [given]
        if isinstance(given, ast.Tuple | ast.List):
            summed = given.elts
        elif isinstance(given, ast.Dict):
            summed = given.values
        mean = next((one for one in summed if is_mean(context, one, scope) or _of_mean(context, one, scope)), None)
        if mean is None and _mean_of_axis(context, given, scope) and _as_mean(context, event.scope, event.node):
            mean = given
        if any(node is event.node for _, node, _ in context.shared(summed_twice)):
            continue  # NNX787 tells of it
        if mean is not None and not _divided(event):
            text = ast.unparse(mean)
            plain = is_mean(context, mean, scope) or _mean_of_axis(context, mean, scope)
            kind = "a mean" if plain else "the gradient or value of a mean"
            shown = f"`{text}` is {kind}, and psum" if len(text) < 40 else "this psum"
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown} adds up one mean for each device: the sum grows with their number",
                "take the mean of the means: jax.lax.pmean",
            )


def is_mean(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether an expression is the mean of all numbers of an array, also as a function of the project gives it.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
        depth: through how many functions it was followed.
    """
    node = written(context, node, scope)
    value = scope.module.values.get(node)
    if isinstance(node, ast.Call) and isinstance(value, Call) and depth < _DEPTH:
        reached = [callee for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
        if len(reached) == 1 and not reached[0].gradient:
            formula = formula_of(context, reached[0].function)
            return formula is not None and is_mean(context, formula, reached[0].function.scope, depth + 1)
    if not isinstance(node, ast.Call) or last_word(node.func) not in _MEANS or value is None or node.keywords:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name.startswith("jax.numpy.") and last(name) in _MEANS:
        return len(node.args) == 1
    return not name and isinstance(node.func, ast.Attribute) and node.func.attr == "mean" and not node.args


def _as_mean(context: Context, scope: Scope, call: ast.Call) -> bool:
    """Say whether the sum is subtracted from something, or called a mean, and is not divided."""
    above = around(context, scope)
    whole = above.get(call)
    if isinstance(whole, ast.BinOp):
        return isinstance(whole.op, ast.Sub) and whole.right is call
    if not isinstance(whole, ast.Assign) or len(whole.targets) != 1 or not isinstance(whole.targets[0], ast.Name):
        return False
    name = whole.targets[0].id
    reads = context.bodies.reads(scope, name)
    users = [above.get(one) for one in reads]
    if any(isinstance(user, ast.BinOp | ast.AugAssign) and isinstance(user.op, ast.Div) for user in users):
        return False
    word = last_word(whole.targets[0]).lower()
    named = any(part in {"mean", "avg", "average", "mu"} for part in word.split("_"))
    less = any(isinstance(user, ast.BinOp) and isinstance(user.op, ast.Sub) and user.right in reads for user in users)
    return named or less


def _mean_of_axis(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a mean along some axes of an array."""
    node = written(context, node, scope)
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or last_word(node.func) not in _MEANS or value is None:
        return False
    return context.flow.calls.callee_name(context.flow.here(value, scope)).startswith("jax.numpy.")


def _mapped(context: Context, event: CallEvent) -> tuple[ast.expr, Scope]:
    """Return what is summed, and where it stands: of ``tree.map(lambda g: psum(g, axis), grads)`` the tree."""
    given, function = event.node.args[0], event.scope.function
    outer = event.scope.parent
    if function is not None and isinstance(function.node, ast.Lambda) and outer is not None:
        if isinstance(given, ast.Name) and [*function.params] == [given.id]:
            for call in context.bodies.calls.get(outer, ()):
                if len(call.node.args) == 2 and call.node.args[0] is function.node:
                    if context.flow.calls.name(call) in TREE_MAPS:
                        return call.node.args[1], outer
    return given, event.scope


def _of_mean(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what ``value_and_grad`` gives of a function that returns a mean, or a part of it."""
    value, flow = scope.module.values.get(node), context.flow
    if value is None or isinstance(node, ast.Subscript):
        return False
    found = gradient(flow, flow.here(value, scope))
    if found is None:
        return False
    functions = [one.function for one, _ in flow.calls.invoked(found.call) if one.gradient]
    formula = formula_of(context, functions[0]) if len(functions) == 1 else None
    if isinstance(formula, ast.Tuple) and formula.elts:
        both = last(flow.calls.callee_name(found.transform)) == "value_and_grad"
        if _place(value) not in (([0, 0], [1]) if both else ([0],)):
            return False  # what is returned beside the value
        formula = formula.elts[0]
    return formula is not None and is_mean(context, formula, functions[0].scope)


def _place(value: Value) -> list[object]:
    """Return which part of what a call gives a value is."""
    found: list[object] = []
    while isinstance(value, Item) and isinstance(value.index, Const):
        found.insert(0, value.index.value)
        value = value.base
    return found


def _divided(event: CallEvent) -> bool:
    """Say whether a function divides, or multiplies the sum, or counts the devices, so that the sum may be right."""
    function = event.scope.function
    assert function is not None
    outer = function
    while outer.scope.parent is not None and outer.scope.parent.function is not None:
        outer = outer.scope.parent.function
    summed = {event.node, *_readers(event)}
    for node in ast.walk(outer.node):
        if isinstance(node, ast.Name | ast.Attribute) and last_word(node) in _COUNTS:
            return True
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if node.lineno >= event.node.lineno or not isinstance(constant(node.right), int | float):
                return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and {node.left, node.right} & summed:
            return True
        if isinstance(node, ast.Call) and last_word(node.func) == "psum" and node.args:
            if isinstance(node.args[0], ast.Constant):
                return True
    return False


def _readers(event: CallEvent) -> Iterator[ast.expr]:
    """Yield where a variable is read that gets a sum."""
    statement = event.statement
    if isinstance(statement, ast.Assign) and statement.value is event.node:
        names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        for node in ast.walk(event.scope.node):
            if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
                yield node


_BAD = """\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def local_loss(w, x, y):
    return jax.lax.psum(jnp.mean((x @ w - y) ** 2), "data")


def loss(mesh, w, x, y):
    return jax.shard_map(local_loss, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())(w, x, y)
"""

RULE = lint_rule(
    "NNX996",
    "sum-of-means",
    "jax.lax.psum of a mean",
    why="""\
`jax.lax.psum` adds up what each device gives. The mean of all examples is the mean of the devices' means, which have as
many examples each: `jax.lax.pmean`. The sum of the means is as many times as large as there are devices, and so are its
gradients: the steps of the training get longer with every device. Functions that divide, that count the devices, or
that sum along an axis of models or tasks are left alone.
""",
    source="JAX documentation on shard_map and collectives; measured: the loss on 4 devices is 4 times as large",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("psum", "pmean"),),
)
