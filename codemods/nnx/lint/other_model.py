"""NNX854: an optimizer that is given another model than it was made for."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.begun import begun
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import own_stores
from codemods.nnx.lint.other_optimizer import other_optimizers
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.stale_pair import stale_pairs
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.traced import original
from codemods.nnx.values import Attr, Call, Param, Value

_MADE = frozenset({"flax.nnx.Optimizer"})


def _check(context: Context) -> Iterator[Finding]:
    told = set()
    for one in _made_for_others(context):
        told.add((one.path, one.start))
        yield one
    for event, node, message, help in other_optimizers(context):
        one = finding(RULE.code, event.scope, event.node, message, help, related=[(node, "the other optimizer")])
        if (one.path, one.start) not in told:
            yield one


def _made_for_others(context: Context) -> Iterator[Finding]:
    """Yield the updates of models with optimizers that were made for others, as far as their makers are in sight."""
    flow = context.flow
    yield from stale_pairs(context, RULE.code)
    for event in context.bodies.named("update"):
        callee, model = event.value.callee, event.value.argument(0, "model")
        node = argument(event.node, 0, "model")
        if not isinstance(callee, Attr) or event.value.argument(1, "grads") is None or event.value.starred:
            continue
        if model is None or node is None or in_test(event.scope):
            continue
        if isinstance(callee.base, Param) and isinstance(model, Param):
            yield from _given(context, event, callee.base, model)
            continue
        made = _only(context, flow.here(callee.base, event.scope))
        first = made.value.argument(0, "model") if isinstance(made.value, Call) else None
        if not isinstance(made.value, Call) or flow.calls.callee_name(made) not in _MADE or first is None:
            continue
        own = flow.follow(made, first)
        given = _only(context, flow.here(model, event.scope))
        home = context.bodies.home(made.value.node)
        if isinstance(own.value, Attr) and isinstance(given.value, Attr) and home is not None:
            model_node = argument(made.value.node, 0, "model")
            own = (begun(context, model_node, home) if model_node is not None else None) or own
            given = begun(context, node, event.scope) or given
        if _whole(context, made, first, flow.here(model, event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the optimizer was made for the part `{_part(first)}` of what it updates here",
                "give the part, and its gradients alone",
            )
        elif _different(context, own, given):
            source = event.scope.module.source
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the optimizer was made for another model than `{source.text(node)}`",
                "give the model that the optimizer was made with",
            )


def _only(context: Context, bound: Bound) -> Bound:
    """Return what a value is, through fields and arguments too where there is only one thing that it may be."""
    found = context.flow.resolve(bound)
    if isinstance(found.value, Call):
        return found
    sources = list(context.sources.originals(found))
    return sources[0] if len(sources) == 1 else found


def _given(context: Context, event: CallEvent, optimizer: Param, model: Param) -> Iterator[Finding]:
    """Yield the calls that give a step an optimizer and a model that do not belong together."""
    flow, function = context.flow, optimizer.function
    if model.function is not function or function is not event.scope.function:
        return
    for caller in flow.sites.callers(function):
        if in_test(caller.scope) or caller.scope.module not in context.asked:
            continue
        for callee, frame in flow.calls.invoked(flow.here(caller.value, caller.scope)):
            given, other = flow.argument(frame, optimizer.name), flow.argument(frame, model.name)
            if callee.function is not function or given is None or other is None:
                continue
            made, one = flow.resolve(original(given)), flow.resolve(original(other))
            first = made.value.argument(0, "model") if isinstance(made.value, Call) else None
            if first is None or flow.calls.callee_name(made) not in _MADE:
                continue
            own = flow.follow(made, first)
            if _whole(context, made, first, original(other)):
                yield finding(
                    RULE.code,
                    caller.scope,
                    caller.node,
                    f"the optimizer that is given here was made for the part `{_part(first)}` of the model beside it",
                    "give the part, and take the gradients of that alone",
                )
            elif _different(context, own, one):
                yield finding(
                    RULE.code,
                    caller.scope,
                    caller.node,
                    "the optimizer that is given here was made for another model than the one beside it",
                    "give the model that the optimizer was made with",
                )


def _different(context: Context, own: Bound, given: Bound) -> bool:
    """Say whether two values are different models: of two constructors, or two parameters of one function."""
    if isinstance(own.value, Param) and isinstance(given.value, Param):
        return (
            own.value.function is given.value.function
            and own.value is not given.value
            and all(context.kinds.of(bound) == {Kind.MODULE} for bound in (own, given))
        )
    if not _constructed(context, own) or not _constructed(context, given):
        return False
    return own.value is not given.value or _of_two_calls(own, given)


def _whole(context: Context, made: Bound, first: Value, given: Bound) -> bool:
    """Say whether a model is the one of which an optimizer got a part: ``nnx.Optimizer(model.encoder, ...)``."""
    if not isinstance(first, Attr):
        return False
    base = context.flow.with_value(made, first.base)
    field = _field(base.value)
    if isinstance(base.value, Attr) and field is not None and field == _field(given.value):
        return len(own_stores(context, base.value)) == 1
    one, other = _only(context, base), _only(context, given)
    return isinstance(one.value, Call) and one.value is other.value


def _field(value: Value) -> tuple[ClassFacts, str] | None:
    """Return the class and the name of a field of ``self``."""
    if not isinstance(value, Attr) or not isinstance(value.base, Param):
        return None
    function = value.base.function
    if value.base is not function.self_param or function.owner is None:
        return None
    return function.owner, value.name


def _part(value: Value) -> str:
    return value.name if isinstance(value, Attr) else ""


def _of_two_calls(own: Bound, given: Bound) -> bool:
    """Say whether a function of the project made two models in two calls of the program's own text, run once each."""
    one, two = own.frame, given.frame
    while one is not None and two is not None and one is not two:
        if one.function is not two.function or one.function.decorators:
            return False  # a cache may give the same model again
        sites = one.site, two.site
        if not isinstance(sites[0], Call) or not isinstance(sites[1], Call):
            return False
        if one.caller is two.caller:
            return sites[0].node is not sites[1].node
        one, two = one.caller, two.caller
    return False


def _constructed(context: Context, bound: Bound) -> bool:
    """Say whether a value is a module that a constructor made, and no copy of one."""
    return isinstance(bound.value, Call) and context.kinds.of(bound) == {Kind.MODULE}


RULE = lint_rule(
    "NNX854",
    "other-model",
    "Optimizer.update with another model than the optimizer was made for",
    why="""\
`optimizer.update(model, grads)` changes the model it is given. Another model of the same shape is changed in place of
the first one, with the first one's moments, and nothing is raised.
""",
    source="measured on Flax 0.11.2 and 0.12.8: the other model changes, the optimizer's own one does not",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
target = nnx.Linear(2, 3, rngs=nnx.Rngs(1))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


def train(x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(target, grads)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


def train(x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
""",
    ),
)
