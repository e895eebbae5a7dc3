"""NNX111: what the state of an optimizer does not hold any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.optimizer.migrate import optimizer_findings
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Const, Item

_MESSAGE = "the state of an nnx.Optimizer has no `{}` since Flax 0.11"


def check(context: Context) -> Iterator[Finding]:
    """Yield reads of the model's part of an optimizer's state, and of the ``source_type`` of optax states."""
    if not context.options.crosses("0.11"):
        return
    for module in context.project.modules:
        if not module.source.mentions(b"nnx"):
            continue
        for node, value in module.values.items():
            if isinstance(node, ast.Attribute) and node.attr == "source_type" and "opt_state" in ast.dump(node.value):
                help = "ask the model's own Variable for its class"
                yield finding("NNX111", module.scope, node, _MESSAGE.format("source_type"), help)
            key = _key(node)
            if key != "model" or not isinstance(value, Attr | Item):
                continue
            assert isinstance(node, ast.Attribute | ast.Subscript)
            scope = scope_of(module, node)
            if _state_of_optimizer(context, context.flow.here(value.base, scope)) and not _kept(context):
                help = "take it from nnx.state(model), or make an nnx.ModelAndOptimizer, whose state has it"
                yield finding("NNX111", scope, node, _MESSAGE.format("model"), help)


def _key(node: ast.AST) -> object:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None


def _state_of_optimizer(context: Context, state: Bound) -> bool:
    """Say whether a value is the state of an ``nnx.Optimizer`` on every way."""
    holders = [state_holder(context, source) for source in context.sources.originals(state)]
    return bool(holders) and all(
        holder is not None
        and all(
            isinstance(made.value, Call) and context.flow.calls.callee_name(made) == "flax.nnx.Optimizer"
            for made in context.sources.originals(holder)
        )
        for holder in holders
    )


def state_holder(context: Context, state: Bound) -> Bound | None:
    """Return the object whose state a value is, made by ``nnx.state``, with one filter at most, or by ``nnx.split``."""
    flow, value, wanted = context.flow, state.value, "flax.nnx.state"
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        if not isinstance(index, Const) or not isinstance(index.value, int) or index.value < 1:
            return None
        state, wanted = flow.resolve(flow.with_value(state, value.base)), "flax.nnx.split"
    call = state.value
    if not isinstance(call, Call) or not call.args or call.starred or flow.calls.callee_name(state) != wanted:
        return None
    if wanted == "flax.nnx.state" and len(call.args) > 2:
        return None
    return flow.with_value(state, call.args[0])


def _kept(context: Context) -> bool:
    """Say whether this run makes optimizers that hold their model."""
    return any(f.code in {"NNX103", "NNX110"} and f.fix is not None for f in optimizer_findings(context))


RULE = Rule(
    code="NNX111",
    name="optimizer-state",
    summary="the model in the state of an optimizer",
    why="""\
`nnx.state(optimizer)` was `{model, opt_state, step}` up to Flax 0.10; since 0.11 the optimizer does not hold its
model, and reading `state["model"]` raises KeyError. The Variables in `opt_state` lost their `source_type`, too.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(
            before="""\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
print(nnx.state(optimizer)["model"]["bias"].value)
""",
            run=False,
        ),
        Example(
            before="""\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
print(optimizer.opt_state[0].mu["kernel"].source_type)
""",
            run=False,
        ),
        Example(
            before="""\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
state = {"model": nnx.state(model), "optimizer": nnx.state(optimizer)}
print(state["model"]["bias"].value)
""",
            after="""\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
state = {"model": nnx.state(model), "optimizer": nnx.state(optimizer)}
print(state["model"]["bias"].value)
""",
        ),
    ),
    check=check,
)
