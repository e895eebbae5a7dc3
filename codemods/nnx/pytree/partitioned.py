"""NNX305: optimizers of several parts, which Flax 0.11 cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.known import canonical
from codemods.nnx.pytree.eager_masks import becomes_whole
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.told import Told
from codemods.nnx.values import Attr, Call, Function, Mapping, Ref

_PARTITIONS = frozenset({"optax.multi_transform", "optax.partition", "optax.transforms.partition"})
_INJECTED = frozenset({"optax.inject_hyperparams", "optax.inject_stateful_hyperparams"})
_WRAPPERS = frozenset({"optax.apply_if_finite", "optax.MultiSteps"})
_STATES = frozenset({"flax.nnx.map_state"})
_TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map"})
_UNFLATTENS = frozenset({"jax.tree.unflatten", "jax.tree_util.tree_unflatten"})
_STRUCTURES = frozenset({"jax.tree.structure", "jax.tree_util.tree_structure"})
_DEPTH = 3  # how many functions that make labels are followed
# transformations that keep arrays for each parameter
_KEEP = frozenset(
    f"optax.{name}"
    for name in (
        "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw", "adan", "amsgrad",
        "apply_every", "ema", "lamb", "lars", "lbfgs", "lion", "nadam", "nadamw", "novograd", "optimistic_adam",
        "radam", "rmsprop", "rprop", "scale_by_adam", "scale_by_amsgrad", "scale_by_belief", "scale_by_lion",
        "scale_by_radam", "scale_by_rms", "scale_by_rss", "scale_by_stddev", "scale_by_yogi", "sm3", "trace", "yogi",
        "zero_nans",
    )
)  # fmt: skip


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``nnx.Optimizer`` with such a transformation, where 0.11 is a target."""
    if "0.11" not in context.options.targets or not context.options.crosses("0.11"):
        return
    flow = context.flow
    for event in context.asked.calls():
        bound = flow.here(event.value, event.scope)
        given = event.value.argument(1, "tx")
        if given is None or canonical(flow.calls.callee_name(bound)) != "flax.nnx.Optimizer":
            continue
        made = _partitioned(context, flow.with_value(bound, given))
        if made is not None:
            name = flow.calls.callee_name(made)
            yield finding(
                "NNX305",
                event.scope,
                event.node,
                f"Flax 0.11 cannot keep the parts of {name} in an nnx.Optimizer; 0.10 and 0.12 can",
                "label whole Variables, as nnx.map_state(lambda path, leaf: ..., params) does, go to 0.12, or make an "
                "optimizer for each part, with its own `wrt`",
            )


def _partitioned(context: Context, given: Bound) -> Bound | None:
    """Return the transformation, in a chain too, that keeps arrays for a part of the parameters only."""
    flow = context.flow
    made = flow.resolve(given)
    call = made.value
    if not isinstance(call, Call):
        return None
    name = flow.calls.callee_name(made)
    if name == "optax.contrib.muon":
        return made
    if name == "optax.masked":
        inner, mask = call.argument(0, "inner"), call.argument(1, "mask")
        if mask is not None and _whole(context, flow.with_value(made, mask)):
            return None
        return made if inner is not None and _keeps_arrays(context, flow.with_value(made, inner)) else None
    if name == "optax.chain":
        links = (_partitioned(context, flow.with_value(made, link)) for link in call.args)
        return next((link for link in links if link is not None), None)
    if name in _WRAPPERS:
        return _partitioned(context, flow.with_value(made, call.args[0])) if call.args else None
    callee = flow.follow(made, call.callee)
    if isinstance(callee.value, Attr) and callee.value.name == "gradient_transformation":
        return _partitioned(context, flow.with_value(callee, callee.value.base))
    parts = call.argument(0, "transforms")
    if name not in _PARTITIONS or parts is None:
        return None
    labels = call.argument(1, "param_labels")
    if labels is not None and _whole(context, flow.with_value(made, labels)):
        return None
    mapping = flow.resolve(flow.with_value(made, parts))
    if not isinstance(mapping.value, Mapping) or len(mapping.value.items) < 2:
        return None
    kept = any(_keeps_arrays(context, flow.with_value(mapping, value)) for _, value in mapping.value.items)
    return made if kept else None


def _whole(context: Context, labels: Bound, depth: int = 0) -> bool:
    """Say whether labels stand for Variables as a whole, so that placeholders take the place of Variables."""
    flow = context.flow
    if becomes_whole(context, labels):
        return True
    labels = flow.resolve(labels)
    value = labels.value
    if isinstance(value, Function) and depth < _DEPTH:
        returns = value.facts.returns
        return bool(returns) and all(_whole(context, flow.here(one, value.facts.scope), depth + 1) for one in returns)
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    name = flow.calls.callee_name(labels)
    if name in _UNFLATTENS and value.args:
        labels = flow.follow(labels, value.args[0])
        value = labels.value
        if not isinstance(value, Call) or flow.calls.callee_name(labels) not in _STRUCTURES:
            return False
    elif name not in _TREE_MAPS:
        return name in _STATES
    leaf = value.keyword("is_leaf")
    if leaf is None:
        return len(value.args) == 2 and _whole(context, flow.with_value(labels, value.args[1]), depth + 1)
    tests = flow.calls.callables(flow.with_value(labels, leaf))
    told = Told(context)
    return bool(tests) and all(told.tests_variables(test.function) for test in tests)


def _keeps_arrays(context: Context, part: Bound) -> bool:
    made = context.flow.resolve(part)
    name, call = context.flow.calls.callee_name(made), made.value
    if not isinstance(call, Call):
        return False
    if name == "optax.chain":
        return any(_keeps_arrays(context, context.flow.with_value(made, link)) for link in call.args)
    if name == "optax.sgd":
        return call.argument(1, "momentum") is not None
    callee = context.flow.follow(made, call.callee)
    if isinstance(callee.value, Call) and context.flow.calls.callee_name(callee) in _INJECTED and callee.value.args:
        inner = context.flow.follow(callee, callee.value.args[0]).value
        return isinstance(inner, Ref) and inner.name in _KEEP
    return name in _KEEP


_BEFORE = """\
import jax
import optax
from flax import nnx


def label(params):
    return jax.tree_util.tree_map_with_path(lambda path, leaf: "slow" if "bias" in str(path) else "fast", params)


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
parts = optax.multi_transform({"slow": optax.sgd(0.1), "fast": optax.adam(0.1)}, label)
optimizer = nnx.Optimizer(model, parts, wrt=nnx.Param)
"""

_LEFT = _BEFORE.replace("optax.adam(0.1)", "optax.set_to_zero()") + "print(model.kernel.shape)\n"

_WHOLE = """\
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
labels = nnx.map_state(lambda path, leaf: "slow" if "bias" in path else "fast", nnx.state(model, nnx.Param))
parts = optax.multi_transform({"slow": optax.sgd(0.1), "fast": optax.adam(0.1)}, labels)
optimizer = nnx.Optimizer(model, parts, wrt=nnx.Param)
print(optimizer.step.shape)
"""

RULE = Rule(
    code="NNX305",
    name="partitioned-optimizer",
    summary="optax.multi_transform, masked or muon in an nnx.Optimizer, under 0.11",
    why="""\
`optax.multi_transform`, `optax.partition`, `optax.masked` and `optax.contrib.muon` put a placeholder into their state
for each parameter that they leave to others. Flax 0.11.0 to 0.11.2 take it for a Variable, and `nnx.Optimizer(...)`
raises "tuple indices must be integers or slices, not ellipsis". Flax 0.10 and 0.12 run them. Parts without arrays of
their own, such as `optax.sgd` without momentum, are not affected, nor are labels and masks with one entry for each
Variable, as `nnx.map_state` makes them: there the placeholder stands for the Variable. Labels that are built of paths,
as by `nnx.from_flat_state`, become such ones with the fix of NNX303.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="https://github.com/google/flax/issues/4901; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(_BEFORE, run=False),
        Example(_LEFT, _LEFT, targets=("0.11", "0.12")),
        Example(_WHOLE, _WHOLE, targets=("0.11", "0.12")),
    ),
    check=check,
    always=True,
)
