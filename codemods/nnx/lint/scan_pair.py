"""NNX864: the body of a scan that does not give a pair."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.none_outputs import none_outputs
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import shown
from codemods.nnx.lint.syntax import argument, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Choice, Const, Item, Param, Sequence, Unknown, Value

_ARRAYS = ("jax.numpy.", "jax.nn.", "jax.random.", "flax.nnx.relu", "flax.nnx.gelu", "flax.nnx.softmax")
_CARRY = pattern(r"^_|carry|carries|final|last|state|init|new|end|next|result|^h\d?$|^c$", re.I)
_LAST = pattern(r"^(final|last|carry|end)(_|$)|_(final|last|end)$")
_OUTPUTS = pattern(r"^(paths?|out(put)?s|ys|losses|traces?|samples|hist(ory)?|traj\w*|logs?|pred(iction)?s|rewards)$")
# layers that give one array
_LAYERS = frozenset(
    f"flax.nnx.{name}"
    for name in ("Linear", "LinearGeneral", "Conv", "ConvTranspose", "Embed", "LayerNorm", "RMSNorm", "BatchNorm",
                 "GroupNorm", "InstanceNorm", "Dropout", "LoRA", "LoRALinear")
)  # fmt: skip
_SEVERAL = frozenset({"split", "array_split", "meshgrid", "unstack", "histogram", "unique", "divmod", "frexp", "modf",
                      "broadcast_arrays", "nonzero", "where", "svd", "qr", "eig", "eigh", "slogdet", "lstsq", "average",
                      "linspace", "gradient", "hsplit", "vsplit", "dsplit", "unravel_index", "tril_indices",
                      "triu_indices", "diag_indices", "atleast_1d", "atleast_2d", "ix_"})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for body in bodies(context):
        if body.loop != "jax.lax.scan" or body.callee.gradient:
            continue
        yield from _judged(context, body.function, body.free or [])
        yield from _turned(context, body.function, body.free[0] if body.free else "")
        yield from _turned_names(context, body.function, body.free[0] if body.free else "")
    yield from _swapped(context)
    for event, outputs in none_outputs(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the outputs `{outputs.id}` of this scan are None, and its last carry is dropped",
            f"the carry comes first: {outputs.id}, _ = ...",
        )
    for root in context.traced.roots:
        if root.transform == "flax.nnx.scan" and not root.partial and _pair(root.options and option(root, "out_axes")):
            yield from _judged(context, root.function, [])
            yield from _turned(context, root.function, _carry(root))
            yield from _turned_names(context, root.function, _carry(root))
            yield from _parts_alone(root.function, _carry(root))
        elif root.transform == "flax.nnx.scan" and not root.partial and gives_nothing(root.function):
            axes = option(root, "out_axes") if root.options else None
            if axes is not None and "Carry" in ast.unparse(axes):
                yield finding(
                    RULE.code,
                    root.function.scope,
                    root.function.node,
                    f"{shown(root.function)} is the body of a scan with a carry, and returns nothing",
                    "return the carry, as out_axes says",
                )


def _carry(root: Root) -> str:
    """Return the parameter of a body of ``nnx.scan`` that is the carry, or nothing."""
    axes = option(root, "in_axes") if root.options else None
    params = list(root.function.params)[: root.function.positional][skipped(root) :]
    if axes is None:
        return params[0] if params else ""
    if not isinstance(axes, ast.Tuple) or len(axes.elts) > len(params):
        return ""
    places = [i for i, one in enumerate(axes.elts) if last_word(one) == "Carry"]
    return params[places[0]] if len(places) == 1 else ""


def _turned(context: Context, function: FunctionFacts, carry: str) -> Iterator[Finding]:
    """Yield the pairs with the output first, where one call gives the output, and the next carry under its name."""
    if not carry or isinstance(function.node, ast.Lambda):
        return
    unpacked: dict[frozenset[str], ast.AST] = {}
    stores: Counter[str] = Counter()
    nodes = context.bodies.nodes(function.scope)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] += 1
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Call):
            names = [one.id for one in node.targets[0].elts if isinstance(one, ast.Name)]
            if len(names) == len(node.targets[0].elts) == 2 and carry in names and _takes(node.value, carry):
                unpacked[frozenset(names)] = node
    returned = [n for n in nodes if isinstance(n, ast.Return)] if unpacked else []
    pair = returned[0].value if len(returned) == 1 else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return
    first, second = pair.elts
    if not isinstance(first, ast.Name) or not isinstance(second, ast.Name) or second.id != carry:
        return
    like = carry in first.id.split("_") or (len(carry) > 3 and carry in first.id) or _CARRY.search(first.id)
    if frozenset({first.id, carry}) in unpacked and not like and stores[first.id] == stores[carry] == 1:
        yield finding(
            RULE.code,
            function.scope,
            returned[0],
            f"{shown(function)} is the body of a scan, and returns the output first and the carry `{carry}` second",
            f"return {carry}, {first.id}",
        )


def _turned_names(context: Context, function: FunctionFacts, carry: str) -> Iterator[Finding]:
    """Yield the pairs with the output first, where the names say it: ``return out, h_next`` for a carry ``h``, where
    the next carry is made of the carry, and the output of the next carry."""
    if not carry or isinstance(function.node, ast.Lambda):
        return
    returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    pair = returned[0].value if len(returned) == 1 else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return
    first, second = pair.elts
    if not isinstance(first, ast.Name) or not isinstance(second, ast.Name) or not _OUTPUT.search(first.id):
        return
    later = {f"{carry}_{word}" for word in _LATER} | {f"{word}_{carry}" for word in _LATER} | {f"{carry}1", f"{carry}2"}
    made = [bound_once(context, function.scope, one) for one in (first, second)]
    if second.id not in later or made[0] is None or made[1] is None:
        return
    if second.id in names_in(made[0]) and carry in names_in(made[1]) and carry not in names_in(made[0]):
        yield finding(
            RULE.code,
            function.scope,
            returned[0],
            f"{shown(function)} is the body of a scan, and returns the output first and the carry `{second.id}` second",
            f"return {second.id}, {first.id}",
        )


_LATER = ("new", "next", "t", "out", "updated", "tp1")
_OUTPUT = pattern(r"^(out|outs|output|outputs|y|y_t|pred|prediction|logits?|emission|o|o_t)$")


def _takes(call: ast.Call, name: str) -> bool:
    """Say whether a call is given a variable."""
    return any(isinstance(one, ast.Name) and one.id == name for one in (*call.args, *(k.value for k in call.keywords)))


def _swapped(context: Context) -> Iterator[Finding]:
    """Yield the results of scans under each other's names: the first carry's name for the outputs."""
    for event in context.bodies.unpacked:
        if last_word(event.node.func) != "scan" or event.scope.module not in context.asked:
            continue
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        init = argument(event.node, 1, "init")
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or statement.value is not event.node:
            continue
        first, second = target.elts
        if context.flow.calls.name(event) != "jax.lax.scan" or not isinstance(first, ast.Name):
            continue
        names = isinstance(init, ast.Name | ast.Attribute) or (isinstance(init, ast.Tuple) and len(init.elts) > 1)
        same = init is not None and names and ast.unparse(second) == ast.unparse(init)
        other = first.id.endswith("states") or not _CARRY.search(first.id)
        taken = isinstance(init, ast.Tuple) and len(init.elts) > 1 and _reckoned_with(context, event)
        if (same and other) or _called_so(first, second) or _parted(context, event, second) or taken:
            yield finding(
                RULE.code,
                event.scope,
                target,
                "a scan gives the last carry first and the outputs second",
                "unpack it as `carry, outputs = ...`",
            )


def _reckoned_with(context: Context, event: CallEvent) -> bool:
    """Say whether the last carry, a tuple, is reckoned with as if it were an array: the outputs were meant."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
        and any(_last_carry(event, side) for side in (node.left, node.right))
        and not any(isinstance(side, ast.Tuple | ast.Constant) for side in (node.left, node.right))
        for node in context.bodies.nodes(event.scope)
    )


def _last_carry(event: CallEvent, node: ast.expr) -> bool:
    """Say whether an expression is the first of what a scan gives, or a slice of it."""
    value = event.scope.module.values.get(node)
    if isinstance(value, Item) and isinstance(value.index, Unknown) and isinstance(value.index.node, ast.Slice):
        value = value.base
    return isinstance(value, Item) and value.base is event.value and value.index == Const(0)


def _called_so(first: ast.Name, second: ast.expr) -> bool:
    """Say whether the results have the names of each other: ``path, last = ...``."""
    return _OUTPUTS.search(first.id) is not None and _LAST.search(last_word(second)) is not None


def _parted(context: Context, event: CallEvent, second: ast.expr) -> bool:
    """Say whether the outputs are unpacked as the carry that the scan begins with, and are one array."""
    init = event.value.argument(1, "init")
    given = event.value.argument(0, "f")
    if not isinstance(second, ast.Tuple) or init is None or given is None:
        return False
    begun = context.flow.resolve(context.flow.here(init, event.scope)).value
    callees = context.flow.calls.callables(context.flow.here(given, event.scope))
    if not isinstance(begun, Sequence) or not _as_many(second, len(begun.items)) or len(callees) != 1:
        return False
    function = callees[0].function
    parts = {last_word(one) for one in second.elts} & (_unpacked(function) | _written(init))
    return bool(function.returns) and all(
        isinstance(one, Sequence)
        and len(one.items) == 2
        and isinstance(one.items[0], Sequence)
        and (_one_array(context, one.items[1], function) or (bool(parts) and one.items[1] in one.items[0].items))
        for one in function.returns
    )


def _as_many(target: ast.Tuple, number: int) -> bool:
    """Say whether a target takes so many values apart."""
    if any(isinstance(one, ast.Starred) for one in target.elts):
        return len(target.elts) - 1 <= number
    return len(target.elts) == number


def _written(init: Value) -> set[str]:
    """Return the variables in a first carry that is written out."""
    node = init.node if isinstance(init, Sequence) else None
    return {one.id for one in node.elts if isinstance(one, ast.Name)} if isinstance(node, ast.Tuple) else set()


def _unpacked(function: FunctionFacts) -> set[str]:
    """Return the variables into which a body takes its parameters apart."""
    return {
        last_word(one)
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in function.params
        for target in node.targets
        if isinstance(target, ast.Tuple)
        for one in target.elts
    }


def _one_array(context: Context, value: Value, function: FunctionFacts) -> bool:
    """Say whether an output is certainly one array."""
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
        if name.startswith(_ARRAYS):
            return last_word(value.node.func) not in _SEVERAL
    if made_by_jax(context, value, function.scope):
        return True
    if not isinstance(value, Item) or value.index != Const(0) or not isinstance(value.base, Call):
        return False  # else the loss beside its gradient
    made = context.flow.here(value.base.callee, function.scope)
    return (
        isinstance(made.value, Call)
        and last_word(made.value.node.func) == "value_and_grad"
        and not any(name == "has_aux" for name, _ in made.value.keywords)
    )


def _pair(axes: ast.expr | None) -> bool:
    """Say whether the axes of the results are those of a carry and an output, as they are by default."""
    return axes is None or (
        isinstance(axes, ast.Tuple) and len(axes.elts) == 2 and "Carry" in ast.unparse(axes.elts[0])
    )


def _judged(context: Context, function: FunctionFacts, free: list[str]) -> Iterator[Finding]:
    if function.generator or _abstract(function):
        return
    carry = free[0] if free else ""
    wrong = [r for r in function.returns if _single(context, r, function, carry, 0)]
    if wrong or not function.returns:
        yield finding(
            RULE.code,
            function.scope,
            _place(function, wrong),
            f"{shown(function)} is the body of a scan, which has to return the carry and an output",
            "return `carry, None` if there is no output",
        )


def _parts_alone(function: FunctionFacts, carry: str) -> Iterator[Finding]:
    """Yield the returns of the two parts of a carry, of which the second is taken for the output.

    Of the bodies of ``jax.lax.scan``, whose carry has a type, NNX865 says so.
    """
    nodes = list(ast.walk(function.node))
    parts = [
        [last_word(one) for one in node.targets[0].elts]
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Name)
        and node.value.id == carry
    ]
    returned = [node for node in nodes if isinstance(node, ast.Return)]
    if len(parts) != 1 or len(parts[0]) != 2 or not returned:
        return
    if all(isinstance(r.value, ast.Tuple) and [last_word(n) for n in r.value.elts] == parts[0] for r in returned):
        yield finding(
            RULE.code,
            function.scope,
            returned[0],
            f"{shown(function)} is the body of a scan, and returns the two parts of its carry: the second is taken for "
            "the output",
            f"return ({', '.join(parts[0])}), None",
        )


def _place(function: FunctionFacts, wrong: list[Value]) -> ast.AST:
    if not wrong:
        return function.node
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    values = function.scope.module.values
    for node in ast.walk(function.node):
        if isinstance(node, ast.Return) and node.value is not None and values.get(node.value) is wrong[0]:
            return node
    return function.node


def _abstract(function: FunctionFacts) -> bool:
    """Say whether a function only raises, or has no body yet."""
    if isinstance(function.node, ast.Lambda):
        return False
    last = function.node.body[-1]
    return isinstance(last, ast.Raise | ast.Pass) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    )


def _single(context: Context, value: Value, function: FunctionFacts, carry: str, depth: int) -> bool:
    """Say whether a value is certainly no pair."""
    if depth > 3:
        return False
    if isinstance(value, Choice):
        return all(_single(context, one, function, carry, depth + 1) for one in value.options)
    if isinstance(value, Const):
        return True
    if isinstance(value, Param) and value.function is function:
        return value.name == carry
    if isinstance(value, Sequence):
        return (
            isinstance(value.node, ast.Tuple)
            and len(value.items) != 2
            and not any(isinstance(n, ast.Starred) for n in value.node.elts)
        )
    if isinstance(value, Unknown):
        return isinstance(value.node, ast.BinOp | ast.Compare | ast.UnaryOp | ast.JoinedStr) and not _tuples(value.node)
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
        if name.startswith(_ARRAYS) and name.rpartition(".")[2] not in _SEVERAL:
            return True
        if isinstance(value.callee, Attr) and value.callee.name in {"set", "add", "sum", "mean", "reshape", "astype"}:
            return _at(value.callee)
        if isinstance(value.callee, Attr | Param) and owner_class(context, value.callee, function.scope) in _LAYERS:
            return True
        if _array_of(context, value, function, depth):
            return True
        found = context.flow.resolve(context.flow.here(value, function.scope)).value
        return (
            found is not value
            and isinstance(found, Const | Unknown)
            and _single(context, found, function, "", depth + 1)
        )
    return False


def no_pair(context: Context, value: Value, function: FunctionFacts) -> bool:
    """Say whether a value that a function returns is certainly no pair.

    Args:
        context: the analysis.
        value: what is returned.
        function: what returns it.
    """
    return _single(context, value, function, "", 0)


def _array_of(context: Context, value: Call, function: FunctionFacts, depth: int) -> bool:
    """Say whether all functions of the project that a call in a body reaches, as of a layer, give no pair."""
    flow = context.flow
    calls = [flow.here(value, function.scope), *(Bound(value, frame) for frame in flow.sites.entries(function))]
    if flow.calls.callee_name(calls[0]):
        return False
    callees = [callee for call in calls for callee, _ in flow.calls.invoked(call)]
    if any(callee.gradient for callee in callees):
        return False
    reached = [callee.function for callee in callees]
    if not reached:  # a layer of a stack, which is an argument
        layers = {one for call in calls for one in context.sources.originals(flow.with_value(call, value.callee))}
        for layer in layers:
            cls = flow.classes.class_of(layer)
            method = flow.classes.method(cls, "__call__") if cls is not None else None
            if method is None and not isinstance(layer.value, Param):
                return False
            reached += [method] if method is not None else []
    return bool(reached) and all(
        not one.generator and bool(one.returns) and all(_single(context, r, one, "", depth + 1) for r in one.returns)
        for one in reached
    )


def _at(callee: Attr) -> bool:
    """Say whether a method is that of an array, as ``x.at[i].set`` or ``(a * b).sum``."""
    base = callee.base
    inner = getattr(base, "base", None)
    return (isinstance(inner, Attr) and inner.name == "at") or (
        isinstance(base, Unknown) and isinstance(base.node, ast.BinOp)
    )


def _tuples(node: ast.AST) -> bool:
    """Say whether an operation may add tuples."""
    return any(isinstance(n, ast.Tuple | ast.Starred) for n in ast.walk(node))


RULE = lint_rule(
    "NNX864",
    "scan-without-pair",
    "the body of a scan returns something else than a pair of the carry and an output",
    why="""\
The body of `jax.lax.scan` returns a pair: the next carry, and the output of the round, which may be None. A body that
returns the carry alone, or nothing, raises a TypeError. So does one that returns its output first, unless both are of
one shape: then the next round goes on with the output, and nothing is raised.
""",
    source="jax pull request 15178 on its messages; measured: TypeError on Flax 0.10.7 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def body(carry, x):
    carry = carry + x
    return carry


def run(xs):
    return jax.lax.scan(body, 0.0, xs)
""",
    ),
    clean=(
        """\
import jax


def body(carry, x):
    carry = carry + x
    return carry, None


def run(xs):
    return jax.lax.scan(body, 0.0, xs)
""",
    ),
)
