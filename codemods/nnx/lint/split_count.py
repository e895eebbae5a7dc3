"""NNX751: another number of names than what is unpacked into them has parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.lint.whole_results import whole_results
from codemods.nnx.values import Call, Const, Item, Star, Value


def _check(context: Context) -> Iterator[Finding]:
    yield from _gradients(context)
    for scope, node, way in whole_results(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{ast.unparse(node)}` is a tuple of results, and no array to calculate with",
            f"take it apart: {way}",
        )
    yield from _drawn(context)
    for event, name in foreign(context, "split", "array_split"):
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or event.value.starred:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        names = [
            len(target.elts)
            for target in statement.targets
            if isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts)
        ]
        parts = _parts(context, event, name)
        if parts is not None and any(count != parts for count in names):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` gives {parts} parts here, and {names[0]} names take them",
                "give as many names as there are parts",
            )
        elif parts is None and name == "jax.random.split":
            many = _one_and_many(context, event, statement)
            if many:
                text = event.scope.module.source.text(statement.targets[0])
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`split` gives single keys, and {text.count(',') + 1} names take them, of which `{many}` is used "
                    "for several",
                    f"take the others together: keys = jax.random.split(...); {text} = keys[0], keys[1:]",
                )


def _drawn(context: Context) -> Iterator[Finding]:
    """Yield the draws of another number of numbers than there are names for them: of one, if no shape is given."""
    for event, name in foreign(context, *_SHAPED):
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or event.value.starred:
            continue
        if not name.startswith("jax.random.") or any(keyword.arg is None for keyword in event.node.keywords):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
            continue
        node = argument(event.node, 1, "shape")
        shape = () if node is None else constant(node)
        if not isinstance(shape, tuple) or context.bodies.guarded(event.node, event.scope):
            continue
        parts = shape[0] if shape else None
        if parts is None or (isinstance(parts, int) and parts != len(target.elts)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` gives {'a single number' if parts is None else f'{parts} rows'} here, and "
                f"{len(target.elts)} names take it apart",
                f"give it a shape: jax.random.{last(name)}(key, ({len(target.elts)},))",
            )


_SHAPED = ("normal", "uniform", "exponential", "gumbel", "laplace", "logistic", "cauchy")


def _one_and_many(context: Context, event: CallEvent, statement: ast.Assign) -> str:
    """Return the last of two names that take ``split(key, n + 1)``, if it is used for several keys; empty for none."""
    given = event.node.args[1] if len(event.node.args) > 1 else None
    target = statement.targets[0]
    if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Add) or len(statement.targets) != 1:
        return ""
    sides = [given.left, given.right]
    if not any(constant(side) == 1 for side in sides) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return ""
    last_name = target.elts[1]
    if not isinstance(last_name, ast.Name):
        return ""
    values = event.scope.module.values
    part = next(
        (v for n in context.bodies.nodes(event.scope) if isinstance(n, ast.Name) and n.id == last_name.id
         and isinstance(n.ctx, ast.Load) and isinstance(v := values.get(n), Item) and v.base is event.value), None
    )  # fmt: skip
    if part is None:
        return ""
    for call in context.bodies.calls.get(event.scope, ()):
        if part in call.value.args and not call.value.starred:
            made = next(iter(layers(context, context.flow.here(call.value.callee, event.scope))), None)
            axes = made.value.argument(1, "in_axes") if made is not None and isinstance(made.value, Call) else None
            if made is not None and axes is None and context.flow.calls.callee_name(made) == "jax.vmap":
                return last_name.id
    loops = (n for n in context.bodies.nodes(event.scope) if isinstance(n, ast.For))
    return last_name.id if any(values.get(loop.iter) is part for loop in loops) else ""


def _gradients(context: Context) -> Iterator[Finding]:
    """Yield the unpackings of ``value_and_grad`` with several `argnums` into more than two names."""
    for event in context.bodies.unpacked:
        if event.scope.module not in context.asked or not event.scope.module.source.mentions(b"value_and_grad"):
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        assert isinstance(target, ast.Tuple)
        if len(target.elts) < 3 or any(isinstance(one, ast.Starred) for one in target.elts):
            continue
        # `jax.jit(jax.value_and_grad(...))`; of `self.step = jax.jit(self.step)` there is no innermost one
        made = layers(context, context.flow.here(event.value.callee, event.scope))
        layer = next((one for one in made if context.flow.calls.callee_name(one) not in COMPILING), None)
        if layer is None or not isinstance(layer.value, Call) or not layer.value.args:
            continue
        name = context.flow.calls.callee_name(layer)
        numbers = constant(argument(layer.value.node, 1, "argnums"))
        if name not in {"jax.value_and_grad", "flax.nnx.value_and_grad"} or not isinstance(numbers, tuple | list):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.statement.targets[0],
                f"`value_and_grad` gives a pair, the value and all gradients, and {len(target.elts)} names take it",
                "put the names of the gradients in brackets: loss, (first, second) = ...",
            )


def _parts(context: Context, event: CallEvent, name: str) -> int | None:
    """Return how many parts a call gives; None if that is not known."""
    call = event.value
    if name == "flax.nnx.split":
        return None if any(isinstance(a, Star) for a in call.args) or not call.args else 1 + max(1, len(call.args) - 1)
    if name == "jax.random.split":
        given = call.argument(1, "num")
        return 2 if given is None else _number(context, event, given)
    if name in {"jax.numpy.split", "jax.numpy.array_split"}:
        given = call.argument(1, "indices_or_sections")
        return None if given is None else _number(context, event, given)
    return None


def _number(context: Context, event: CallEvent, value: Value) -> int | None:
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    return found.value if isinstance(found, Const) and type(found.value) is int else None


RULE = lint_rule(
    "NNX751",
    "split-count",
    "another number of names than a split gives parts, or a tuple of results taken for one array",
    why="""\
`jax.random.split(key, 3)` gives three keys, without a number two; `nnx.split(model, A, B)` gives the graph and a state
for each filter. `value_and_grad` gives a pair: with several `argnums` the gradients are a tuple of their own. Another
number of names on the left raises a ValueError. `lstsq`, `eigh` and `cg` give tuples, too, and so does what `jax.vjp`
gives second, also of one argument: to calculate with the whole raises a TypeError. A draw without a shape is a
single number, which cannot be taken apart.
""",
    source="jax and flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.key(0)
data_key, noise_key = jax.random.split(key, 3)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.key(0)
data_key, *others = jax.random.split(key, 3)
one, two = jax.random.split(data_key)
""",
    ),
)
