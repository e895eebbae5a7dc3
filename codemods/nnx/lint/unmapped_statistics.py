"""NNX880: averages of a batch that vmap does not map."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import shown
from codemods.nnx.lint.same_seed import MODES
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Param


def _check(context: Context) -> Iterator[Finding]:
    for root in context.traced.roots:
        if root.transform != "flax.nnx.vmap" or any(word in root.scope.module.source.data for word in MODES):
            continue
        for name in _unmapped(root):
            if _called(context, root, root.function.params[name]):
                yield finding(
                    RULE.code,
                    root.scope,
                    option(root, "in_axes", 1) or root.node,
                    f"`{name}` of {shown(root.function)} is not mapped, and its nnx.BatchNorm keeps averages",
                    "call model.eval() before, or call the model on the whole batch",
                )


def _unmapped(root: Root) -> list[str]:
    """Return the parameters whose axis is None."""
    axes = option(root, "in_axes", 1)
    params = list(root.function.params)
    if not isinstance(axes, ast.Tuple | ast.List) or root.bound or root.partial or len(axes.elts) != len(params):
        return []
    return [p for p, a in zip(params, axes.elts, strict=True) if isinstance(a, ast.Constant) and a.value is None]


def _called(context: Context, root: Root, param: Param) -> bool:
    """Say whether a parameter is called, and whatever is given for it has an active batch norm."""
    events = context.bodies.calls.get(root.function.scope, ())
    if not any(event.value.callee is param and event.value.args for event in events):
        return False
    sources = context.sources.originals(context.flow.here(param, root.function.scope))
    return bool(sources) and all(averages(context, source) for source in sources)


def averages(context: Context, made: Bound, depth: int = 0) -> bool:
    """Say whether a module is or holds a batch norm that its call method calls."""
    flow = context.flow
    if flow.calls.callee_name(made) == "flax.nnx.BatchNorm":
        assert isinstance(made.value, Call)
        return constant(keyword(made.value.node, "use_running_average")) is not True
    cls = flow.classes.class_of(made)
    return cls is not None and depth < 3 and _holds(context, cls, depth)


def _holds(context: Context, cls: ClassFacts, depth: int) -> bool:
    flow = context.flow
    for parent in flow.classes.mro(cls)[0]:
        call = parent.methods.get("__call__")
        for name, stores in parent.stores.items() if call is not None else ():
            assert call is not None
            used = any(
                isinstance(e.value.callee, Attr) and e.value.callee.name == name and not e.node.keywords
                for e in context.bodies.calls.get(call.scope, ())
            )
            for function, value in stores if used else ():
                if averages(context, flow.resolve(flow.here(value, function.scope)), depth + 1):
                    return True
    return False


RULE = lint_rule(
    "NNX880",
    "unmapped-statistics",
    "nnx.vmap with in_axes None over a model whose nnx.BatchNorm is in training mode",
    why="""\
In training mode nnx.BatchNorm writes its averages. Under `nnx.vmap` these depend on the member of the batch, and a
model that is not mapped has one place for them all: the second call raises UnexpectedTracerError. In evaluation mode
nothing is written.
""",
    source="flax issue 4760; measured on Flax 0.10.7 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 5, rngs=rngs)
        self.norm = nnx.BatchNorm(5, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.linear(x))


def forward(model, x):
    return model(x)


def parts(x):
    return nnx.vmap(forward, in_axes=(None, 0))(Model(nnx.Rngs(0)), x)
""",
    ),
    clean=(
        """\
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 5, rngs=rngs)
        self.norm = nnx.BatchNorm(5, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.linear(x))


def forward(model, x):
    return model(x)


def parts(x):
    model = Model(nnx.Rngs(0))
    model.eval()
    return nnx.vmap(forward, in_axes=(None, 0))(model, x)
""",
    ),
)
