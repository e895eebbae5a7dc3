"""NNX402: merged objects that were copies and share the Variables of the state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as ObjectKind
from codemods.nnx.project import enclosing_function
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.state import relevance
from codemods.nnx.state.aliases import aliases
from codemods.nnx.state.copies import applies, applying, by_name, cloned, copying, each, merged
from codemods.nnx.state.lines import line
from codemods.nnx.state.stateful import may_change
from codemods.nnx.state.tracing import differentiated, traced_functions
from codemods.nnx.values import Attr, Free, Item, Param, Star, Value

_CALLERS = 4  # how many callers up an argument is followed


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``nnx.merge`` that must copy: for its object's sake, or to work in traced code."""
    if not context.options.crosses("0.11"):
        return
    said = set()
    for alias in aliases(context):
        if alias.merged:
            said.add(alias.node)
            changed, read = (line(context, node, alias.scope.module) for node in (alias.changed, alias.read))
            yield finding(
                "NNX402",
                alias.scope,
                alias.node,
                "the merged object shares the Variables of the state since Flax 0.11.2: "
                + (f"{read} asks" if alias.told_apart else f"what changes in {changed} is read in {read}"),
                _help(alias.node),
                merged(context, alias.scope, alias.node),
            )
    for event, outer in _in_traced_code(context):
        if event.node not in said:
            applied = applies(event.node)
            yield finding(
                "NNX402",
                event.scope,
                event.node,
                "since Flax 0.11.2 this merges Variables of an outer trace: changing one raises TraceContextError",
                _help(event.node),
                each(context, event.scope, outer) if applied else merged(context, event.scope, event.node),
            )

    for mention in _handed_on(context):
        yield finding(
            "NNX402",
            mention.scope,
            mention.node,
            "what `apply` merges shares the Variables of the states since Flax 0.11.2: calls change these, and raise "
            "TraceContextError where a gradient is taken",
            "hand on a function that gives it copies: nnx.clone(state)",
            applying(context, mention.scope, mention.node),
        )


def _handed_on(context: Context) -> Iterator[AttrEvent]:
    """Yield where the ``apply`` of a graph definition gets another name, if the model changes when it is called."""
    if not any(module.source.mentions(b".apply") for module in context.asked.modules):
        return
    mentions = [e for e in context.asked.attributes() if e.node.attr == "apply" and e.context == "load"]
    called = {event.node.func for event in context.asked.calls()} if mentions else set()
    for event in mentions:
        if event.node in called or _only_asked(event):
            continue
        if context.kinds.only(context.flow.here(event.base, event.scope)) is not ObjectKind.GRAPHDEF:
            continue
        found = _split(context, context.flow.resolve(context.flow.here(event.base, event.scope)))
        if found and all(whole is not None and may_change(context, whole, False) for whole in found):
            yield event


def _only_asked(event: AttrEvent) -> bool:
    """Say whether the method is compared, or the default of an argument, with which the function does what it will."""
    for node in ast.walk(event.statement):
        inside: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            inside = [node.left, *node.comparators]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = [*node.args.defaults, *node.args.kw_defaults]
        if event.node in inside:
            return True
    return False


def _split(context: Context, graphdef: Bound) -> list[Bound | None]:
    """Return the objects that a graph definition was split from; None for one that is not known."""
    split = context.flow.calls.split_object
    known = split(graphdef)
    return [known] if known is not None else [split(one) for one in context.sources.originals(graphdef)]


def _help(node: ast.expr) -> str:
    return "give it nnx.clone(state)" if applies(node) else "pass copy=True, or use nnx.clone"


def _in_traced_code(context: Context) -> Iterator[tuple[CallEvent, list[ast.expr]]]:
    """Yield merges in traced functions of states that come from outside of them, with these."""
    traced, untouched = traced_functions(context), differentiated(context)
    copied = cloned(context)
    for event in context.asked.calls():
        function = enclosing_function(event.scope)
        if function is None or copying(event.scope, event.node) or event.node in copied:
            continue
        method = relevance.applied(context, event)
        if not method and context.flow.calls.name(event) != "flax.nnx.merge":
            continue
        first = 0 if method or len(event.value.args) == 1 else 1  # of `nnx.merge(*parts)` all are states
        states = zip(event.node.args[first:], event.value.args[first:], strict=True)
        outer = [
            node
            for node, value in states
            if node not in copied and _outer(context, by_name(event, node) or value, function, traced, untouched, 0)
        ]
        if outer and _changing(context, event):
            yield event, outer


def _outer(
    context: Context,
    value: Value,
    function: FunctionFacts,
    traced: frozenset[FunctionFacts],
    untouched: dict[FunctionFacts, frozenset[str] | None],
    depth: int,
) -> bool:
    """Say whether a value in a function was made outside of a trace that the function runs in."""
    while isinstance(value, Attr | Item | Star):
        value = value.value if isinstance(value, Star) else value.base
    around = list(_around(context, function, traced))
    if isinstance(value, Free):
        return any(not _within(value.scope, inner) for inner in around)
    if not isinstance(value, Param) or value.function is not function or depth > _CALLERS:
        return False
    if function in traced:  # what is traced gets tracers, but for the object that a method is bound to
        if value.name in (untouched.get(function) or ()):
            return True
        mine = value is function.self_param
        return mine and ObjectKind.MODULE not in context.kinds.of(context.flow.here(value, function.scope))
    entries = context.flow.sites.entries(function)
    if not entries and value is function.self_param:  # who calls it is not known: `apply` of Flax 0.10 made copies
        return relevance.of_train_state(context, context.flow.here(value, function.scope)) is not None
    for frame in entries:
        given = context.flow.argument(frame, value.name)
        caller = given.frame.function if given is not None and given.frame is not None else None
        if (
            given is not None
            and caller is not None
            and _outer(context, given.value, caller, traced, untouched, depth + 1)
        ):
            return True
    return False


def _around(context: Context, function: FunctionFacts, traced: frozenset[FunctionFacts]) -> Iterator[FunctionFacts]:
    """Yield the traced functions whose trace a function runs in: itself, those around it, or those that call it."""
    inner: FunctionFacts | None = function
    found = False
    while inner is not None:
        if inner in traced:
            found = True
            yield inner
        inner = enclosing_function(inner.scope.parent)
    if not found:
        callers = (enclosing_function(event.scope) for event in context.flow.sites.callers(function))
        yield from (caller for caller in callers if caller in traced and caller is not None)


def _within(scope: Scope, function: FunctionFacts) -> bool:
    inner: Scope | None = scope
    while inner is not None:
        if inner is function.scope:
            return True
        inner = inner.parent
    return False


def _changing(context: Context, event: CallEvent) -> bool:
    """Say whether the merged model may change its own Variables when it is used."""
    flow = context.flow
    callee = event.value.callee
    graphdef = callee.base if applies(event.node) and isinstance(callee, Attr) else event.value.args[0]
    given = flow.resolve(flow.here(graphdef, event.scope))
    known, found = flow.calls.split_object(given), _split(context, given)
    if applies(event.node) and not any(found):
        named = relevance.fields(context, graphdef, event.scope)
        named = named or relevance.of_train_state(context, flow.here(graphdef, event.scope)) or []
        found = [whole for one in named for whole in _split(context, flow.resolve(one))] or found
    return not found or any(
        whole is None
        or may_change(context, whole, _evaluated(context, event) or (whole is known and _in_evaluation(context, whole)))
        for whole in found
    )


def _evaluated(context: Context, event: CallEvent) -> bool:
    """Say whether a merged model is put into evaluation as soon as it has its name, and stays so."""
    statement, path = event.statement, context.bodies.paths(event.scope).get(event.node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if not isinstance(target, ast.Name):
        return False
    modes = [
        (call.node, call.node.func.attr)
        for call in context.bodies.named("eval", *_MODES)
        if call.scope is event.scope
        and isinstance(call.node.func, ast.Attribute)
        and isinstance(call.node.func.value, ast.Name)
        and call.node.func.value.id == target.id
    ]
    if not modes or any(word != "eval" for _, word in modes):
        return False
    first = min((node for node, _ in modes), key=lambda node: node.lineno)
    used = [
        n.lineno
        for n in context.bodies.nodes(event.scope)
        if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load) and n.lineno >= target.lineno
    ]
    return not first.args and context.bodies.paths(event.scope).get(first) == path and first.lineno == min(used)


def _in_evaluation(context: Context, model: Bound) -> bool:
    """Say whether a model is for evaluation: its module says so before it splits any, and nothing trains again."""
    named = {word: list(context.bodies.named(word)) for word in ("eval", "split", *_MODES)}
    if not named["eval"] or any(named[word] for word in _MODES):
        return False
    made = context.sources.originals(model)
    return len(made) == 1 and any(
        isinstance(callee := event.value.callee, Attr)
        and not event.node.args
        and not event.node.keywords
        and event.statement in event.scope.module.source.tree.body
        and all(s.scope.module is event.scope.module and s.node.lineno > event.node.lineno for s in named["split"])
        and set(context.sources.originals(context.flow.here(callee.base, event.scope))) == set(made)
        for event in named["eval"]
    )


_MODES = frozenset({"train", "set_attributes", "view"})


RULE = Rule(
    code="NNX402",
    name="merge-copy",
    summary="nnx.merge that must make an object of its own",
    why="""\
Up to Flax 0.11.1 `nnx.merge` made new Variables. Since 0.11.2 the merged object uses those of the state: a target
network made with `nnx.merge` follows the online network, and a merge of closed-over state inside `jax.grad` or
`jax.jit` raises TraceContextError as soon as a layer such as BatchNorm or Dropout updates itself. `copy=True`, which
0.11.2 added, gives the old meaning; `nnx.merge(*nnx.split(model))` is `nnx.clone(model)` on every version.
`graphdef.apply(state)` merges in the same way, and gets a clone of the state.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.2",
    source="measured on 0.10.7, 0.11.2 and 0.12.8; google/flax#5050",
    examples=(
        Example(
            before="""\
from flax import nnx

online = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
graphdef, params = nnx.split(online)
target = nnx.merge(graphdef, params)
frozen = nnx.merge(*nnx.split(online))
online.bias.value = online.bias.value + 1
print(float(target.bias.value.sum()), float(frozen.bias.value.sum()))
""",
            after="""\
from flax import nnx

online = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
graphdef, params = nnx.split(online)
target = nnx.merge(graphdef, params, copy=True)
frozen = nnx.clone(online)
online.bias.value = online.bias.value + 1
print(float(target.bias.value.sum()), float(frozen.bias.value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(model, nnx.Param, ...)


def loss_fn(params):
    net = nnx.merge(graphdef, params, rest)
    return (net(jnp.arange(4.0).reshape(2, 2)) ** 2).sum(), nnx.state(net, nnx.BatchStat)


grads, stats = jax.grad(loss_fn, has_aux=True)(params)
print(*(float(v) for v in jax.tree.leaves(stats)[0]))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(model, nnx.Param, ...)


def loss_fn(params):
    net = nnx.merge(graphdef, params, rest, copy=True)
    return (net(jnp.arange(4.0).reshape(2, 2)) ** 2).sum(), nnx.state(net, nnx.BatchStat)


grads, stats = jax.grad(loss_fn, has_aux=True)(params)
print(*(float(v) for v in jax.tree.leaves(stats)[0]))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
