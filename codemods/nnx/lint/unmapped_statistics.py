"""NNX880: averages of a batch that vmap does not map, or that scan does not carry."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.modes import file_speaks
from codemods.nnx.lint.places import shown
from codemods.nnx.lint.same_seed import MODES
from codemods.nnx.lint.syntax import constant, is_none, keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Const, Param


def _check(context: Context) -> Iterator[Finding]:
    yield from _scanned(context)
    for root in context.traced.roots:
        if root.transform != "flax.nnx.vmap" or file_speaks(context, MODES, root):
            continue
        for name in _unmapped(context, root):
            if _called(context, root, root.function.params[name]):
                yield finding(
                    RULE.code,
                    root.scope,
                    option(root, "in_axes", 1) or root.node,
                    f"`{name}` of {shown(root.function)} is not mapped, and its nnx.BatchNorm keeps averages",
                    "call model.eval() before, or call the model on the whole batch",
                )


def _scanned(context: Context) -> Iterator[Finding]:
    """Yield the models that nnx.scan gives to every step as they were, though the steps change their averages."""
    for root in context.traced.roots:
        if root.transform != "flax.nnx.scan" or file_speaks(context, MODES, root):
            continue
        for name in _unmapped(context, root):
            param = root.function.params[name]
            sources = context.sources.originals(context.flow.here(param, root.function.scope))
            methods = _methods_called(context, root.function, param)
            if sources and methods and all(any(counts(context, one, m) for m in methods) for one in sources):
                yield finding(
                    RULE.code,
                    root.scope,
                    option(root, "in_axes", 1) or root.node,
                    f"`{name}` of {shown(root.function)} begins anew in every step: what its layers count or average "
                    "is lost",
                    "carry it: nnx.StateAxes({nnx.BatchStat: nnx.Carry, ...: None})",
                )


def _methods_called(context: Context, function: FunctionFacts, param: Param) -> set[str]:
    """Return the methods of an argument that a function calls: ``__call__`` of one that it calls itself."""
    found = set()
    for event in context.bodies.calls.get(function.scope, ()):
        callee = event.value.callee
        if callee is param and event.value.args:
            found.add("__call__")
        elif isinstance(callee, Attr) and callee.base is param:
            found.add(callee.name)
    return found


def counts(context: Context, made: Bound, method: str, depth: int = 0) -> bool:
    """Say whether a method of a module changes what is no parameter: an ``nnx.BatchStat`` of its own, or a batch norm.

    Args:
        context: the analysis.
        made: the module.
        method: the name of the method.
        depth: how many modules this one is in.
    """
    flow = context.flow
    if flow.calls.callee_name(made) == "flax.nnx.BatchNorm":
        return averages(context, made)
    cls = flow.classes.class_of(made)
    function = flow.classes.method(cls, method) if cls is not None else None
    if cls is None or function is None or depth > 3:
        return False
    if any(_own_statistic(context, cls, name) for name in _written(context, function)):
        return True
    for event in context.bodies.calls.get(function.scope, ()):
        callee = event.value.callee
        if not isinstance(callee, Attr) or event.node.keywords:
            continue
        held, word = (callee, "__call__") if callee.base is function.self_param else (callee.base, callee.name)
        if isinstance(held, Attr) and held.base is function.self_param:
            for parent in flow.classes.mro(cls)[0]:
                for maker, value in parent.stores.get(held.name, ()):
                    if counts(context, flow.resolve(flow.here(value, maker.scope)), word, depth + 1):
                        return True
    return False


def _written(context: Context, function: FunctionFacts) -> set[str]:
    """Return the attributes of ``self`` into whose value a method writes: ``self.x[...] = …``, ``self.x.value = …``."""
    found, own = set(), function.self_param.name if function.self_param is not None else None
    for node in context.bodies.nodes(function.scope):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            held = target.value if isinstance(target, ast.Subscript | ast.Attribute) else None
            if isinstance(target, ast.Attribute) and target.attr not in {"value", "raw_value"}:
                continue
            if isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name) and held.value.id == own:
                found.add(held.attr)
    return found


def _own_statistic(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether an attribute is an ``nnx.BatchStat`` that the constructor makes."""
    stores = [one for parent in context.flow.classes.mro(cls)[0] for one in parent.stores.get(name, ())]
    made = [context.flow.resolve(context.flow.here(value, function.scope)) for function, value in stores]
    calls = [one for one in made if isinstance(one.value, Call)]
    return any(context.flow.calls.callee_name(one) == "flax.nnx.BatchStat" for one in calls)


def _unmapped(context: Context, root: Root) -> list[str]:
    """Return the parameters whose axis is None."""
    axes = option(root, "in_axes", 1)
    params = list(root.function.params)
    if not isinstance(axes, ast.Tuple | ast.List) or root.bound or root.partial or len(axes.elts) != len(params):
        return []
    return [p for p, a in zip(params, axes.elts, strict=True) if _is_none(context, a, root)]


def _is_none(context: Context, axis: ast.expr, root: Root) -> bool:
    """Say whether an axis is None, also under a name."""
    if isinstance(axis, ast.Name):
        value = root.scope.module.values.get(axis)
        found = context.flow.resolve(context.flow.here(value, root.scope)).value if value is not None else None
        return found == Const(None)
    return is_none(axis)


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
    if flow.calls.callee_name(made) == "flax.nnx.Sequential" and isinstance(made.value, Call) and depth < 3:
        return any(averages(context, flow.follow(made, layer), depth + 1) for layer in made.value.args)
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
                for method in (call, *_helpers(context, cls, call))
                for e in context.bodies.calls.get(method.scope, ())
            )
            for function, value in stores if used else ():
                if averages(context, flow.resolve(flow.here(value, function.scope)), depth + 1):
                    return True
    return False


def _helpers(context: Context, cls: ClassFacts, call: FunctionFacts) -> list[FunctionFacts]:
    """Return the methods that the call method of a module calls of its own object, wherever it is called."""
    callees = [event.value.callee for event in context.bodies.calls.get(call.scope, ())]
    names = [one.name for one in callees if isinstance(one, Attr) and one.base is call.self_param]
    found = [context.flow.classes.method(cls, name) for name in names]
    return [one for one in found if one is not None and one is not call]


RULE = lint_rule(
    "NNX880",
    "unmapped-statistics",
    "nnx.vmap or nnx.scan with in_axes None over a model whose layers change their averages",
    why="""\
In training mode nnx.BatchNorm writes its averages. Under `nnx.vmap` these depend on the member of the batch, and a
model that is not mapped has one place for them all: the second call raises UnexpectedTracerError. `nnx.scan` gives
every step the model as it was before the first, and leaves it so. In evaluation mode nothing is written.
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
