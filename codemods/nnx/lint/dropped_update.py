"""NNX816: ``jax.jit`` of a step that changes its NNX arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, kinds_of, shown
from codemods.nnx.lint.traced import Root
from codemods.nnx.rewrite import replace
from codemods.nnx.values import Param, Ref

_JIT = Ref("jax.jit")

# with these the Variables hold references, which jax.jit changes in place
_SHARING = ("use_mutable_arrays", "use_refs", "use_hijax", "to_refs", "as_hijax_vars")


def _check(context: Context) -> Iterator[Finding]:
    sharing = {event.scope.module for event, name in foreign(context, *_SHARING) if name.startswith("flax.nnx.")}
    for root in context.traced.roots:
        if root.transform != "jax.jit" or root.scope.module in sharing:
            continue
        lost = sorted({param.name for param in _changed(context, root)})
        if lost:
            names = " and ".join(f"`{name}`" for name in lost)
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"jax.jit drops what {shown(root.function)} changes in {names}",
                "use nnx.jit, or return the changed objects",
                _fix(context, root),
            )


def _changed(context: Context, root: Root) -> Iterator[Param]:
    """Yield the parameters that the function updates and does not return."""
    scope = root.function.scope
    returned = {
        node.id
        for statement in context.bodies.nodes(scope)
        if isinstance(statement, ast.Return) and statement.value is not None
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Name)
    }
    for event in context.bodies.calls.get(scope, ()):
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "update" and not event.used:
            param = scope.module.values.get(func.value)
            if isinstance(param, Param) and param.function is root.function and param.name not in returned:
                if param.name not in root.static and _updates(context, event, param):
                    yield param


def _updates(context: Context, event: CallEvent, param: Param) -> bool:
    """Say whether ``param.update(...)`` changes an NNX object: by its kind, or because it is given gradients."""
    kinds = kinds_of(context, param, event.scope)
    if kinds:
        return bool(kinds & {Kind.OPTIMIZER, Kind.METRIC})
    return any(Kind.GRADIENT in kinds_of(context, value, event.scope) for value in event.value.args)


def _fix(context: Context, root: Root) -> Fix | None:
    node = _jit(context, root)
    spelling = spell(context.flow, root.scope, "jit")
    if spelling is None or node is None:
        return None
    source = root.scope.module.source
    edits = [(source.path, replace(source, node, spelling.text))]
    return Fix((*edits, *((source.path, edit) for edit in spelling.edits)), Safety.UNSAFE)


def _jit(context: Context, root: Root) -> ast.expr | None:
    """Return the expression that names ``jax.jit`` where the transform is applied."""
    for node in ast.walk(root.node):
        value = root.scope.module.values.get(node)
        if isinstance(node, ast.Name | ast.Attribute) and value is not None:
            if context.flow.resolve(context.flow.here(value, root.scope)).value == _JIT:
                return node
    return None


RULE = lint_rule(
    "NNX816",
    "jax-jit-drops-updates",
    "jax.jit of a function that updates its NNX arguments",
    why="""\
`jax.jit` works on copies of its arguments. On Flax 0.10 modules and optimizers are refused with a TypeError; since
0.11 they are pytrees, the call succeeds, and every update is dropped silently: the loss never falls. `nnx.jit`
carries the changes back.
""",
    source='talk "Introducing Flax NNX (Part 2)", section 5; measured: loss 0.6131 before and after training',
    check=_check,
    mended=(
        (
            """\
import jax
from flax import nnx


@jax.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
""",
            """\
import jax
from flax import nnx


@nnx.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
""",
        ),
    ),
    clean=(
        """\
import jax
from flax import nnx


@jax.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return model, optimizer
""",
    ),
    safety=Safety.UNSAFE,
)
