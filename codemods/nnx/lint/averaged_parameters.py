"""NNX679: an average of the parameters of a model whose statistics stay as they were when the average began."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Part
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Ref, Value

# where a project says one of these, the statistics may be kept another way
_ELSEWHERE = pattern(rb"BatchStat|batch_stats|running_mean|nnx\.variables|use_running_average")
_EVALUATES = pattern(r"(^|_)(eval\w*|valid\w*|test|predict|infer|inference|accuracy)(_|$)", re.I)
_COPIES = frozenset({"flax.nnx.clone", "flax.nnx.merge", "copy.deepcopy", "copy.copy"})
_AVERAGES = TREE_MAPS | {"optax.incremental_update"}


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not all(any(word in m.source.data for m in modules) for word in (b"BatchNorm", b".eval(", b"nnx.update")):
        return
    if any(m.source.matches(_ELSEWHERE) for m in modules):
        return
    events = [(event, _pair(context, event)) for event, name in foreign(context, "update", everywhere=True)
              if name == "flax.nnx.update" and len(event.value.args) == 2]  # fmt: skip
    for event, pair in events:
        if pair is None or event.scope.module not in context.asked or in_test(event.scope):
            continue
        average, model = pair
        others = [other for other, _ in events if other is not event]
        if any(_made(context, other.value.args[0], other.scope) & average for other in others):
            continue  # which may bring the statistics
        target = context.flow.here(event.value.args[0], event.scope)
        if average & model or "nnx.BatchStat" not in held_besides(context, target):
            continue
        if _evaluated(context, average):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the parameters alone follow: the average evaluates with the statistics of BatchNorm it began with",
                "let them follow too: nnx.update(average, nnx.state(model, nnx.BatchStat))",
            )


def _made(context: Context, value: Value, scope: Scope) -> set[Value]:
    """Return where a value may have been made, of which a copy is another."""
    return _identities(context, context.flow.here(value, scope))


def _identities(context: Context, bound: Bound) -> set[Value]:
    """Return the calls that make a value, of which a compiled function gets no copy."""
    found: set[Value] = set()
    for source in context.sources.of(bound):
        value = source.value
        while isinstance(value, Part):
            copied = context.flow.with_value(value.of, value.site)
            value = value.site if context.flow.calls.callee_name(copied) in _COPIES else value.of.value
        found.add(value)
    return found


def _pair(context: Context, event: CallEvent) -> tuple[set[Value], set[Value]] | None:
    """Return where the average and its model were made, if an update puts an average of their parameters into it."""
    made = list(context.sources.originals(context.flow.here(event.value.args[1], event.scope)))
    if len(made) != 1 or not isinstance(made[0].value, Call):
        return None
    if context.flow.calls.callee_name(made[0]) not in _AVERAGES:
        return None
    models = [_model(context, context.flow.with_value(made[0], one)) for one in made[0].value.args]
    states = [one for one in models if one]
    target = _made(context, event.value.args[0], event.scope)
    if len(states) != 2 or target not in states or not target:
        return None
    return target, states[1 - states.index(target)]


def _model(context: Context, given: Bound) -> set[Value]:
    """Return where the model was made of which a value holds the parameters, and nothing else."""
    found = list(context.sources.originals(given))
    if len(found) != 1 or not isinstance(found[0].value, Call) or len(found[0].value.args) != 2:
        return set()
    state = found[0].value
    if context.flow.calls.callee_name(found[0]) != "flax.nnx.state":
        return set()
    if context.flow.follow(found[0], state.args[1]).value != Ref("flax.nnx.Param"):
        return set()
    return _identities(context, context.flow.with_value(found[0], state.args[0]))


def _evaluated(context: Context, average: set[Value]) -> bool:
    """Say whether an average is set to evaluate, and runs in evaluations alone: training changes statistics."""
    told = [
        event.scope
        for event in context.bodies.named("eval")
        if isinstance(event.value.callee, Attr) and _made(context, event.value.callee.base, event.scope) & average
    ]
    if not told:
        return False
    for module in context.project.modules:
        for event in module.calls:
            function = event.scope.function
            if event.scope in told or isinstance(event.value.callee, Ref) or not event.node.args:
                continue
            if function is not None and _EVALUATES.search(function.name):
                continue
            if _made(context, event.value.callee, event.scope) & average:
                return False
    return True


_BAD = """\
import jax
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.fc(x))


@nnx.jit
def follow(ema, model, decay):
    average = jax.tree.map(
        lambda e, p: decay * e + (1 - decay) * p, nnx.state(ema, nnx.Param), nnx.state(model, nnx.Param)
    )
    nnx.update(ema, average)


model = Net(nnx.Rngs(0))
ema = nnx.clone(model)
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.numpy.ones((2, 4))
optimizer.update(model, nnx.grad(lambda m: (m(x) ** 2).mean())(model))
follow(ema, model, 0.99)
ema.eval()
print(ema(x))
"""

RULE = lint_rule(
    "NNX679",
    "average-without-statistics",
    "an average of the parameters alone, of a model with BatchNorm",
    why="""\
The averages of `nnx.BatchNorm` are no `nnx.Param` but `nnx.BatchStat`. An average of a model that takes `nnx.Param`
alone keeps the statistics of the time when it was cloned, most often those of a new model: it evaluates with weights
that were trained for other statistics. The rule speaks where nothing in the project names the statistics.
""",
    source="optimization cookbook of Flax, exponential moving average; measured: its error is twice as large",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("    nnx.update(ema, average)\n", "    nnx.update(ema, average)\n    "
                     "nnx.update(ema, nnx.state(model, nnx.BatchStat))\n"),
    ),
)  # fmt: skip
