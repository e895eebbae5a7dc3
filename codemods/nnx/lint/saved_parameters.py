"""NNX742: checkpoints without the statistics of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.orbax_calls import checkpointer_calls
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Item, Mapping, Ref, Sequence

# where a project says one of these, the statistics may be kept another way
_ELSEWHERE = pattern(
    rb"BatchStat|batch_stats|pretrained|transfer|backbone|fine_?tun|to_tree|nnx\.variables|running_mean"
)
_SAVING = {
    "pickle.dump", "pickle.dumps", "cloudpickle.dump", "cloudpickle.dumps", "joblib.dump",
    "flax.serialization.to_bytes", "flax.serialization.msgpack_serialize", "numpy.savez",
    "numpy.savez_compressed", "numpy.save",
    "safetensors.flax.save_file", "orbax.checkpoint.args.StandardSave", "orbax.checkpoint.args.PyTreeSave",
}  # fmt: skip
# what gives the same leaves in another form
_SAME = {
    "flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.to_flat_state", "flax.serialization.to_state_dict",
    "jax.device_get", "flax.serialization.to_bytes", "pickle.dumps", "dict",
}  # fmt: skip
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(one.source.mentions(b"BatchNorm") for one in modules) or any(map(_kept_otherwise, modules)):
        return
    if not all(any(word in one.source.data for one in modules) for word in (b".eval(", b"nnx.Param", b"update(")):
        return
    told: set[ast.AST] = set()
    for event, anywhere in _saves(context):
        for value in event.value.given:
            for call in _parameters(context, context.flow.here(value, event.scope), 0):
                home = context.bodies.home(call.node)
                if home is None or home.module not in context.asked or call.node in told or in_test(home):
                    continue
                if not anywhere and home.module is not event.scope.module:
                    continue
                told.add(call.node)
                yield finding(
                    RULE.code,
                    home,
                    call.node,
                    "the parameters alone are saved: what is restored has none of the averages of BatchNorm",
                    "save them too: nnx.state(model, (nnx.Param, nnx.BatchStat))",
                )


def _saves(context: Context) -> Iterator[tuple[CallEvent, bool]]:
    """Yield the calls that save something, and whether those of all modules are among them."""
    for event, name in foreign(context, *sorted({last(name) for name in _SAVING}), everywhere=True):
        if name in _SAVING and not in_test(event.scope):
            yield event, True
    for event, _, _ in checkpointer_calls(context, "save"):
        if not in_test(event.scope):
            yield event, False


def _kept_otherwise(module: ModuleFacts) -> bool:
    """Say whether a file may keep statistics: it names them, or takes the whole state of something."""
    if module.source.matches(_ELSEWHERE):
        return True
    return any(
        event.node.func.attr in {"state", "split"}
        and isinstance(event.node.func.value, ast.Name)
        and event.node.func.value.id == "nnx"
        and (len(event.node.args) < 2 or any(isinstance(a, ast.Constant | ast.Starred) for a in event.node.args))
        for event in module.calls
        if isinstance(event.node.func, ast.Attribute)
    )


def _parameters(context: Context, saved: Bound, depth: int) -> Iterator[Call]:
    """Yield the calls of nnx.state for the parameters of models with statistics, of which something is made."""
    if depth > _DEPTH:
        return
    for source in context.sources.originals(saved):
        value = source.value
        if isinstance(value, Mapping | Sequence):
            items = value.items if isinstance(value, Sequence) else [one for _, one in value.items]
            for one in items:
                yield from _parameters(context, context.flow.with_value(source, one), depth + 1)
        if isinstance(value, Item):
            value = value.base
        if not isinstance(value, Call) or value.starred:
            continue
        made = context.flow.with_value(source, value)
        name = context.flow.calls.callee_name(made)
        if name in TREE_MAPS or name in _SAME:
            for one in value.args:
                yield from _parameters(context, context.flow.with_value(made, one), depth + 1)
        elif name in {"flax.nnx.state", "flax.nnx.split"} and len(value.args) == 2:
            if context.flow.follow(made, value.args[1]).value == Ref("flax.nnx.Param"):
                if "nnx.BatchStat" in held_besides(context, context.flow.with_value(made, value.args[0])):
                    yield value


_BAD = """\
import pickle

from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.fc(x))


def save(model):
    return pickle.dumps(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def load(data):
    model = Net(nnx.Rngs(1))
    state = nnx.state(model, nnx.Param)
    nnx.replace_by_pure_dict(state, pickle.loads(data))
    nnx.update(model, state)
    model.eval()
    return model


model = load(save(Net(nnx.Rngs(0))))
"""

RULE = lint_rule(
    "NNX742",
    "saved-parameters",
    "a checkpoint of nnx.Param alone, of a model with BatchNorm",
    why="""\
The averages of `nnx.BatchNorm` are no `nnx.Param` but `nnx.BatchStat`. A model that is restored from its parameters
alone evaluates with the averages that a new model has: without an error, and with wrong results. The rule speaks where
nothing in the project names or saves the statistics.
""",
    source="google/orbax#1105; measured on Flax 0.12.8: the loss of the restored model is a thousand times as high",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("nnx.Param)", "(nnx.Param, nnx.BatchStat))"),),
    severity="error",
)
