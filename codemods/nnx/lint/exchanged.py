"""Arguments of two kinds in each other's place; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.alike import alike
from codemods.nnx.lint.places import in_test, kinds_of, passed, position, shown
from codemods.nnx.nodes import last_word
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
    if function not in context.shared(_functions) or function.vararg is not None:
        return
    for event in context.flow.sites.callers(function):
        given = [last_word(node) for node in event.node.args]
        if event.scope.module not in context.asked or event.value.starred or len(set(given) & set(names)) < 2:
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        for place, name in enumerate(given):
            param = function.params.get(name)
            if param is None or position(param) == place:
                continue
            there = position(param)
            other = next((n for n in names if position(function.params[n]) == place), "")
            if name not in _OWN_PLACES and other not in _OWN_PLACES and alike(name, other):
                continue
            if there < len(given) and other and given[there] == other and _gets(context, event, param, there):
                message = f"`{other}` of {shown(function)} gets `{name}`, and `{name}` gets `{other}`"
                yield event, event.node.args[place], message, "exchange the arguments"
                break


def _functions(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions of which two parameters may get variables in each other's place: a call of the project has
    two arguments of their names so."""
    found: dict[tuple[int, int, str, str], list[FunctionFacts]] = {}
    for function in context.project.functions():
        params = [(position(p), n) for n, p in function.params.items() if p is not function.self_param]
        for (place, name), (there, other) in combinations(params, 2):
            found.setdefault((place, there, other, name), []).append(function)
    wanted: set[FunctionFacts] = set()
    for event in context.asked.calls():
        given = [(place, word) for place, node in enumerate(event.node.args) if (word := last_word(node))]
        for (place, name), (there, other) in combinations(given[:_MANY], 2):
            wanted.update(found.get((place, there, name, other), ()))
    return frozenset(wanted)


_MANY = 12  # arguments of one call that are compared


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
