"""NNX678: a training that goes on from checkpoints which hold nothing of its optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.orbax_calls import checkpointer_calls, manager_saves
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.thrown_state import thrown_away
from codemods.nnx.lint.unsaved_state import unsaved
from codemods.nnx.lint.whole_gradient import PARAM
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Sequence, Value

# where a project says one of these, the optimizer may be kept another way, or begins anew on purpose
_ELSEWHERE = pattern(rb"opt(im)?_state|optimi[sz]er_state|ModelAndOptimizer|TrainState|pretrain|fine_?tun|transfer")
# transformations that remember what came before
_REMEMBERING = frozenset(
    {"adam", "adamw", "adamax", "adamaxw", "adagrad", "adabelief", "adadelta", "adafactor", "amsgrad", "lamb", "lion",
     "nadam", "nadamw", "radam", "rmsprop", "novograd", "yogi", "scale_by_adam", "scale_by_rms", "trace", "lars",
     "adan", "muon"}
)  # fmt: skip
_SCHEDULES = frozenset(
    {"cosine_decay_schedule", "warmup_cosine_decay_schedule", "linear_schedule", "exponential_decay", "join_schedules",
     "piecewise_constant_schedule", "polynomial_schedule", "warmup_exponential_decay_schedule",
     "linear_onecycle_schedule", "cosine_onecycle_schedule", "sgdr_schedule"}
)  # fmt: skip
_WRAPPING = frozenset({"StandardSave", "PyTreeSave", "Composite"})
_SAME = frozenset({"flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.to_flat_state", "jax.device_get", "dict"})
_COUNTS = frozenset({"step", "steps", "epoch", "epochs", "iteration", "loss", "metrics", "config", "seed", "best_loss"})
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    yield from _alone(context)
    for event, saved in unsaved(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the training goes on at the saved step, and the optimizer begins its averages and its schedule anew: the "
            "checkpoint holds nothing of it",
            "save its state beside the parameters, and load both",
            related=[(saved, "saved here")],
        )
    for event, left, name in thrown_away(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{name}` was saved and is left: the optimizer that goes on from here begins its averages and its "
            "schedule anew",
            f"go on with `{name}` of the checkpoint",
            related=[(left, "it is loaded here")],
        )


def _alone(context: Context) -> Iterator[Finding]:
    """Yield the states that are saved without that of their optimizer."""
    modules = context.project.modules
    if not all(any(word in m.source.data for m in modules) for word in (b"Optimizer(", b".restore(", b".save(")):
        return
    if any(m.source.matches(_ELSEWHERE) for m in modules) or _keeps_optimizers(context):
        return
    counted = any(m.source.mentions(b"latest_step") for m in modules)
    managed = [event for event, _ in manager_saves(context)] if counted else []
    saves = managed or [event for event, _, _ in checkpointer_calls(context, "save")]
    found: list[Call] = []
    for event in saves:
        if in_test(event.scope):
            continue
        for value in event.value.given[1:]:
            held = _held(context, context.flow.here(value, event.scope), 0)
            if held is None:
                return
            found += held
    if not found or not _remembers(context):
        return
    if not any(_goes_on(context, e) and (managed or _loads(context, e)) for e in _in_loops(context)):
        return
    for call in dict.fromkeys(found):
        home = context.bodies.home(call.node)
        if home is not None and home.module in context.asked:
            yield finding(
                RULE.code,
                home,
                call.node,
                "the model alone is saved: the optimizer that goes on from here begins its averages and its schedule "
                "anew",
                "keep both in one checkpoint, and restore both: nnx.state((model, optimizer))",
            )


def _keeps_optimizers(context: Context) -> bool:
    """Say whether a project takes the state of something that is, or may hold, an optimizer."""
    for event, name in foreign(context, "state", "split", "to_pure_dict", "as_pure", "variables", everywhere=True):
        if name.startswith("flax.nnx.") and event.value.args:
            first, *filters = event.value.args
            if [context.flow.resolve(context.flow.here(one, event.scope)).value for one in filters] == [PARAM]:
                continue  # which no optimizer keeps
            parts = first.items if isinstance(first, Sequence) else (first,)
            kinds = [kinds_of(context, one, event.scope) for one in parts]
            if any(Kind.OPTIMIZER in one or not one for one in kinds):
                return True
    return False


def _held(context: Context, saved: Bound, depth: int) -> list[Call] | None:
    """Return the calls that take the states of models of which a value is made; None if it may hold something else."""
    if depth > _DEPTH:
        return None
    found: list[Call] = []
    sources = list(context.sources.originals(saved))
    for source in sources:
        value = source.value.base if isinstance(source.value, Item) else source.value
        parts: list[Value] = []
        if isinstance(value, Const):
            continue
        if isinstance(value, Mapping):
            parts = [one for key, one in value.items if not _is_count(key)]
        elif isinstance(value, Sequence):
            parts = list(value.items)
        elif isinstance(value, Call) and not value.starred:
            made = context.flow.with_value(source, value)
            name = context.flow.calls.callee_name(made)
            if name in {"flax.nnx.state", "flax.nnx.split"} and value.args:
                if context.kinds.of(context.flow.with_value(made, value.args[0])) != {Kind.MODULE}:
                    return None
                found.append(value)
                continue
            if last(name) in _WRAPPING and name.startswith("orbax.checkpoint"):
                parts = [*value.args, *(one for key, one in value.keywords if not _is_count(key))]
            elif last(name) == "JsonSave":
                continue
            elif name in TREE_MAPS:
                parts = list(value.args[1:])
            elif name in _SAME:
                parts = list(value.args)
        if not parts:
            return None
        for part in parts:
            held = _held(context, context.flow.with_value(source, part), depth + 1)
            if held is None:
                return None
            found += held
    return found if sources else None


def _is_count(key: object) -> bool:
    """Say whether the name of an entry tells that it is no state."""
    return (key.value if isinstance(key, Const) else key) in _COUNTS


def _remembers(context: Context) -> bool:
    """Say whether the optimizers of a project have more to keep than their count."""
    for event, name in foreign(context, *_REMEMBERING, *_SCHEDULES, "sgd", everywhere=True):
        if name.startswith("optax.") and (last(name) != "sgd" or event.value.keyword("momentum") is not None):
            return True
    return False


def _in_loops(context: Context) -> Iterator[CallEvent]:
    """Yield the calls in loops that count from a number which is no constant."""
    for module in context.project.modules:
        if module.source.mentions(b"range("):
            yield from (event for event in module.calls if any(_counts_on(loop) for loop in event.loops))


def _loads(context: Context, event: CallEvent) -> bool:
    """Say whether the function of a call restores a checkpoint before it, itself or by a function of the project."""
    for other in context.bodies.calls.get(event.scope, ()):
        if other.node.lineno >= event.node.lineno:
            continue
        if last_word(other.node.func) == "restore":
            return True
        for callee, _ in context.flow.calls.invoked(context.flow.here(other.value, other.scope)):
            inner = context.bodies.calls.get(callee.function.scope, ())
            if any(last_word(one.node.func) == "restore" for one in inner):
                return True
    return False


def _counts_on(loop: ast.AST) -> bool:
    """Say whether a loop is ``for step in range(start, steps)``."""
    asked = loop.iter if isinstance(loop, ast.For) else None
    while isinstance(asked, ast.Call) and asked.args and getattr(asked.func, "id", "") != "range":
        asked = asked.args[0]  # tqdm(range(start, steps))
    return isinstance(asked, ast.Call) and len(asked.args) > 1 and not isinstance(asked.args[0], ast.Constant)


def _goes_on(context: Context, event: CallEvent) -> bool:
    """Say whether a call trains: it is given an optimizer, or gradients for one."""
    held = [*event.value.given]
    callee = event.value.callee
    if isinstance(callee, Attr) and callee.name == "update":
        held.append(callee.base)
    elif isinstance(callee, Call):  # train_step = nnx.cached_partial(step, model, optimizer)
        made = context.flow.here(callee, event.scope)
        if context.flow.calls.callee_name(made) in {"flax.nnx.cached_partial", "functools.partial"}:
            held += callee.given
    return any(Kind.OPTIMIZER in kinds_of(context, one, event.scope) for one in held)


_BAD = """\
import jax
import optax
import orbax.checkpoint as ocp
from flax import nnx


@nnx.jit
def train_step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    optimizer.update(model, grads)


def run(manager, x, steps):
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    start = manager.latest_step()
    if start is not None:
        nnx.update(model, manager.restore(start, args=ocp.args.StandardRestore(nnx.state(model))))
    for step in range(start or 0, steps):
        train_step(model, optimizer, x)
    manager.save(steps, args=ocp.args.StandardSave(nnx.state(model)))


run(ocp.CheckpointManager("/tmp/run"), jax.numpy.ones((1, 2)), 10)
"""

RULE = lint_rule(
    "NNX678",
    "resumed-without-optimizer",
    "training goes on from checkpoints of the model alone, with a new optimizer",
    why="""\
An optimizer has a state of its own: the averages of Adam and the count by which a schedule goes. Training that goes on
from `latest_step()`, or from the step of a checkpoint, with a model that was restored, and with an optimizer that was
not, begins a warm-up again and forgets the averages; the loss jumps. The rule speaks where nothing in the project takes
the state of an optimizer, and where the one that was loaded beside the step is left for a new one.
""",
    source="Orbax guide of checkpoints of NNX; measured: the optimizer counts from 0 after the restart",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("nnx.state(model)", "nnx.state((model, optimizer))").replace(
        "nnx.update(model, ", "nnx.update((model, optimizer), "),),
)  # fmt: skip
