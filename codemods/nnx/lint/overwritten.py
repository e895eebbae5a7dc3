"""NNX846: an array assigned over a Variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Call, Param, Unknown, Value

_LIBRARY = frozenset({"kernel", "bias", "scale", "embedding"})
_LAYERS = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "Linear",
        "Conv",
        "ConvTranspose",
        "Embed",
        "LayerNorm",
        "BatchNorm",
        "GroupNorm",
        "RMSNorm",
        "LinearGeneral",
    )
)


def _check(context: Context) -> Iterator[Finding]:
    for event in context.asked.attributes():
        if event.context != "store" or event.stored is None or not _whole(event) or _first(event):
            continue
        if in_test(event.scope):
            continue  # which compares results of weights that it puts there
        if _array(context, event, event.stored) and _variable(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.statement,
                f"an array takes the place of the Variable `{event.node.attr}`, lost to nnx.state and the optimizer",
                f"assign its value: {event.scope.module.source.text(event.node)}[...] = ...",
                _fix(event),
            )


def _whole(event: AttrEvent) -> bool:
    """Say whether the statement assigns the attribute itself and nothing else."""
    statement = event.statement
    return isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement.targets[0] is event.node


def _first(event: AttrEvent) -> bool:
    """Say whether a constructor gives its object an attribute."""
    function = event.scope.function
    return function is not None and function.name == "__init__" and event.base is function.self_param


def _array(context: Context, event: AttrEvent, stored: Value) -> bool:
    if context.kinds.only(context.flow.here(stored, event.scope)) is Kind.ARRAY:
        return True
    if not isinstance(stored, Unknown) or not isinstance(stored.node, ast.BinOp):
        return False
    # arithmetic on the Variable gives an array
    text = ast.dump(event.node.value)
    return any(
        isinstance(n, ast.Attribute) and n.attr == event.node.attr and ast.dump(n.value) == text
        for side in _operands(stored.node)
        for n in (side.value if isinstance(side, ast.Attribute) and side.attr == "value" else side,)
    )


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a calculation calculates with."""
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def _variable(context: Context, event: AttrEvent) -> bool:
    """Say whether the attribute held a Variable before."""
    flow = context.flow
    base = flow.resolve(flow.here(event.base, event.scope))
    cls = flow.classes.class_of(base)
    name = event.node.attr
    if cls is not None:
        function = event.scope.function
        stores = [
            Bound(value, flow.open_frame(method.scope))
            for parent in flow.classes.mro(cls)[0]
            for method, value in parent.stores.get(name, ())
            if method.name in {"__init__", "setup", "__post_init__"}
        ]
        if function is not None and function.name == "__init__" and isinstance(event.base, Param):
            return False
        return bool(stores) and all(Kind.VARIABLE in context.kinds.of(bound) for bound in stores)
    if name in _LIBRARY and isinstance(base.value, Call | Attr):
        callee = flow.calls.callee_name(base) if isinstance(base.value, Call) else ""
        if callee.startswith("flax.nnx.") and Kind.MODULE in context.kinds.of(base):
            return True
    if name in _LIBRARY and not isinstance(base.value, Call):
        sources = context.sources.originals(base)
        if sources and all(flow.calls.callee_name(source) in _LAYERS for source in sources):
            return True
    if name in _LIBRARY and isinstance(base.value, Param):
        classes = [getattr(bound.value, "name", None) for bound in flow.classes.annotated(base.value)]
        return bool(classes) and all(c in _LAYERS for c in classes)
    return False


def _fix(event: AttrEvent) -> Fix:
    source = event.scope.module.source
    _, end = source.span(event.node)
    return Fix(((source.path, Edit(end, end, b"[...]")),))


RULE = lint_rule(
    "NNX846",
    "overwritten-variable",
    "an array is assigned over a Variable",
    why="""\
`layer.kernel = array` replaces the nnx.Param by a bare array: it is no longer in `nnx.state(layer, nnx.Param)`, and
the optimizer does not train it. `layer.kernel[...] = array` changes the value of the Param.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: 2 parameters become 1",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel = jnp.zeros((2, 3))
""",
            """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel[...] = jnp.zeros((2, 3))
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel = nnx.Param(jnp.zeros((2, 3)))
layer.kernel[...] = jnp.zeros((2, 3))
layer.mask = jnp.zeros((2, 3))
""",
    ),
    safety=Safety.SAFE,
)
