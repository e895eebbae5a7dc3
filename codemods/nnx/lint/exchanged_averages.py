"""Calls that give a function the average in the place of the network, and the network in its; part of NNX878."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import callers_of, in_test, position
from codemods.nnx.lint.polyak import AVERAGE
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Param

_MIXING = (b"incremental_update", b"tree.map", b"tree_map", b"tree_multimap", b"periodic_update")
_WORDS = frozenset({"incremental_update", "map", "tree_map", "tree_multimap", "periodic_update"})


def exchanged_averages(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of functions that move one of two arguments towards the other, with both exchanged.

    Their names tell: ``soft_update(q_target, q)`` of a function with the parameters ``net`` and ``target_net``.

    Args:
        context: the analysis.

    Yields:
        The call, what is wrong, and what to do.
    """
    for function, net, average in context.shared(_movers):
        for event in callers_of(context, function):
            if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
                continue
            given = [argument(event.node, position(one), one.name) for one in (net, average)]
            paths = [_path(node) for node in given]
            if not all(paths) or not AVERAGE.search(paths[0]) or AVERAGE.search(paths[1]):
                continue
            names = [
                last_word(node) if AVERAGE.search(last_word(node)) else ast.unparse(node) for node in given if node
            ]
            if _without(paths[0]) == _without(paths[1]):
                yield (
                    event,
                    f"`{function.name}` gets `{names[0]}` for `{net.name}` and `{names[1]}` for `{average.name}`: what "
                    "learns is moved towards its own average",
                    "exchange the two arguments",
                )


def _path(node: ast.expr | None) -> str:
    """Return the words of a variable or of an attribute with what it is of: ``critic_state_params``; else nothing."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return "_".join(words if words and node.id in {"self", "cls"} else [node.id, *words])


def _movers(context: Context) -> list[tuple[FunctionFacts, Param, Param]]:
    """Return the functions with a network and its average among the parameters, which map over both."""
    found = []
    for module in context.project.modules:
        if not any(module.source.mentions(word) for word in _MIXING):
            continue
        for function in module.functions:
            params = [param for name, param in function.params.items() if param is not function.self_param]
            averages = [param for param in params[:2] if AVERAGE.search(param.name)]
            if len(params) < 2 or len(averages) != 1 or isinstance(function.node, ast.Lambda):
                continue
            called = {last_word(n.func) for n in ast.walk(function.node) if isinstance(n, ast.Call)}
            if called & _WORDS and not called & {"apply", "grad", "value_and_grad", *function.params}:
                net = params[1] if averages[0] is params[0] else params[0]
                if _without(net.name) == _without(averages[0].name):
                    found.append((function, net, averages[0]))
    return found


def _without(name: str) -> str:
    """Return a name without the word for an average, and without that for what it is the average of."""
    words = [word for word in name.lower().split("_") if word and not AVERAGE.search(word)]
    return "_".join(word for word in words if word not in _OTHERS)


_OTHERS = frozenset({"online", "model", "params", "state", "new", "current", "local", "main", "source", "src"})
