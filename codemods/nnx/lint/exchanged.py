"""Arguments of two kinds in each other's place; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of, passed, position, shown
from codemods.nnx.values import Param, Value

# what people call parameters of a kind
_ROLES = {
    **dict.fromkeys(("model", "module", "net", "network", "policy", "actor", "critic"), Kind.MODULE),
    **dict.fromkeys(("optimizer", "opt", "optim"), Kind.OPTIMIZER),
    **dict.fromkeys(("metrics", "metric"), Kind.METRIC),
    **dict.fromkeys(("graphdef", "graph_def"), Kind.GRAPHDEF),
    **dict.fromkeys(("state", "params"), Kind.STATE),
    "rngs": Kind.RNGS,
}
_SHOWN = {Kind.MODULE: "a model", Kind.OPTIMIZER: "an optimizer", Kind.METRIC: "a metric", Kind.STATE: "a state",
          Kind.GRAPHDEF: "a graph definition", Kind.RNGS: "an nnx.Rngs"}  # fmt: skip


def exchanged(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the arguments that a function of the project gets in each other's place, by what they are."""
    for function in context.project.functions():
        yield from _by_name(context, function)
        roles = [(param, kind) for param in function.params.values() if (kind := _role(param)) is not None]
        if len({kind for _, kind in roles}) < 2:
            continue
        for event in context.flow.sites.callers(function):
            if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
                continue
            found = _pair(context, event, function, roles)
            if found is not None and not context.bodies.guarded(event.node, event.scope):
                yield event, *found


#: Parameters that cannot change places with another one by intention.
_OWN_PLACES = frozenset(
    {"params", "model", "weights", "variables", "state", "opt_state", "optimizer", "opt", "key", "rng", "rngs", "batch",
     "graphdef", "carry", "metrics"}
)  # fmt: skip


def _by_name(context: Context, function: FunctionFacts) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls that give two parameters variables with the name of the other one each."""
    names = [name for name, param in function.params.items() if param is not function.self_param]
    if len(names) < 2 or not _OWN_PLACES.intersection(names) or function.vararg is not None:
        return
    for event in context.flow.sites.callers(function):
        given = [node.id if isinstance(node, ast.Name) else "" for node in event.node.args]
        if event.scope.module not in context.asked or event.value.starred or len(set(given) & set(names)) < 2:
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        for place, name in enumerate(given):
            param = function.params.get(name)
            if param is None or name not in _OWN_PLACES or position(param) == place:
                continue
            there = position(param)
            other = next((n for n in names if position(function.params[n]) == place), "")
            if there < len(given) and other and given[there] == other and _gets(context, event, param, there):
                message = f"`{other}` of {shown(function)} gets `{name}`, and `{name}` gets `{other}`"
                yield event, event.node.args[place], message, "exchange the arguments"
                break


def _gets(context: Context, event: CallEvent, param: Param, place: int) -> bool:
    """Say whether a parameter gets the argument at a place, whatever lies between the call and the function."""
    return passed(event, param) is event.value.args[place]


def _role(param: Param) -> Kind | None:
    word = param.name.lower()
    return _ROLES.get(word) or _ROLES.get(word.rpartition("_")[2])


def _pair(
    context: Context, event: CallEvent, function: FunctionFacts, roles: list[tuple[Param, Kind]]
) -> tuple[ast.expr, str, str] | None:
    given: dict[Param, tuple[Kind, Value]] = {}
    for param, role in roles:
        value = passed(event, param)
        kinds = kinds_of(context, value, event.scope) if value is not None else frozenset()
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        if value is not None and kind is not None and kind is not role and kind in _SHOWN:
            given[param] = kind, value
    wanted = dict(roles)
    for param, (kind, value) in given.items():
        other = next((one for one, (k, _) in given.items() if wanted[one] is kind and k is wanted[param]), None)
        node = next((n for n, v in zip(event.node.args, event.value.args, strict=True) if v is value), None)
        if other is not None and node is not None:
            message = (
                f"`{param.name}` of {shown(function)} gets {_SHOWN[kind]}, and `{other.name}` {_SHOWN[wanted[param]]}"
            )
            return node, message, "exchange the arguments"
    return None
