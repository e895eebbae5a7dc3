"""NNX913: a deep stack of equal layers that a Python loop unrolls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.values import Call, Changed, Comprehension, Loop, Sequence, Value

DEEP = 8  # layers; a stack of fewer compiles quickly

_KEEPERS = frozenset({"flax.nnx.List", "flax.nnx.data", "builtins.list", "builtins.tuple"})


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not any(name.startswith("flax.nnx.") for name in context.flow.classes.mro(cls)[1]):
            continue
        for method in cls.methods.values():
            if method.name in {"__init__", "setup"} or method.self_param is None:
                continue
            for node in context.bodies.nodes(method.scope):
                if not isinstance(node, ast.For):
                    continue
                name = _layers(node, method)
                if name and _called(node) and _stack(context, cls, name):
                    yield finding(
                        RULE.code,
                        method.scope,
                        node.iter,
                        f"every layer of `self.{name}` is compiled on its own",
                        "make the equal layers with nnx.vmap and run them with nnx.scan",
                    )


def _layers(node: ast.For, method: FunctionFacts) -> str:
    """Return the attribute of ``self`` that a loop goes over, perhaps with its counter."""
    iterated = node.iter
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "enumerate":
        iterated = iterated.args[0] if iterated.args else iterated
    own = method.self_param
    if isinstance(iterated, ast.Attribute) and isinstance(iterated.value, ast.Name) and own is not None:
        return iterated.attr if iterated.value.id == own.name else ""
    return ""


def _called(node: ast.For) -> bool:
    """Say whether the loop calls its element."""
    names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names for n in ast.walk(node))


def _stack(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether an attribute is a list of layers that are all made in the same way."""
    stores = [store for parent in context.flow.classes.mro(cls)[0] for store in parent.stores.get(name, ())]
    return bool(stores) and all(_uniform(context, value, method) for method, value in stores)


def _uniform(context: Context, value: Value, method: FunctionFacts) -> bool:
    flow = context.flow
    while isinstance(value, Call) and value.args and flow.calls.callee_name(flow.here(value, method.scope)) in _KEEPERS:
        value = value.args[0]
    if isinstance(value, Comprehension) and isinstance(value.loop, ast.comprehension):
        return _many(value.loop.iter) and _same(value.element, value.loop.target)
    if isinstance(value, Loop) and isinstance(value.node, ast.For) and isinstance(value.before, Sequence):
        added = value.again.value if isinstance(value.again, Changed) else None
        return added is not None and _many(value.node.iter) and _same(added, value.node.target)
    return False


def _many(iterated: ast.expr) -> bool:
    """Say whether an iteration is over a range that is long, or whose length is not written there."""
    if not isinstance(iterated, ast.Call) or not isinstance(iterated.func, ast.Name) or iterated.func.id != "range":
        return False
    last = iterated.args[-1] if iterated.args else None
    return not isinstance(last, ast.Constant) or (isinstance(last.value, int) and last.value >= DEEP)


def _same(layer: Value, target: ast.expr) -> bool:
    """Say whether a layer is made without the loop's variable."""
    names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return isinstance(layer, Call) and not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(layer.node))


RULE = lint_rule(
    "NNX913",
    "layer-loop",
    "a Python loop over a stack of equal layers",
    why="""\
The loop is unrolled, so compiling takes longer with every layer: measured, 64 rounds took 1 second or more and 256
took 5, as one nnx.scan over stacked layers took 0.1. Small stacks are not worth the change, and layers that differ
cannot be stacked; the rule is off unless it is selected.
""",
    source="performance guide of Flax NNX; compile times measured on Flax 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, depth, rngs):
        self.blocks = nnx.List([nnx.Linear(8, 8, rngs=rngs) for _ in range(depth)])

    def __call__(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x
""",
    ),
    clean=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, sizes, rngs):
        self.layers = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])])

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
    ),
    default=False,
)
