"""Which way a text or a flag chooses that callers give a function, as ``if solver == "bdf"``."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Frame
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Const, Function, Param, Ref

_DEPTH = 4  # how many callers up a text is looked for
#: What a call gives for a parameter: a text, a flag or None; an object of some kind, for which :data:`OBJECT` stands.
Given = str | bool | None | type
OBJECT = object


def settings(context: Context, frame: Frame, outer: dict[str, Given]) -> dict[str, Given]:
    """Return what a call gives for the parameters of a function, as far as it may decide about a way.

    Args:
        context: the analysis.
        frame: the activation that the call makes.
        outer: the same of the function that the call stands in.
    """
    if not _asks(context, frame.function):
        return {}
    found: dict[str, Given] = {}
    for name in frame.function.params:
        argument = context.flow.argument(frame, name)
        if argument is None:
            continue
        value = argument.value
        if isinstance(value, Param) and frame.caller is not None and value.function is frame.caller.function:
            if value.name in outer:
                found[name] = outer[value.name]
            continue
        value = context.flow.resolve(argument).value
        if isinstance(value, Const):
            if value.value is None or isinstance(value.value, str | bool):
                found[name] = value.value
        elif isinstance(value, Class | Function | Ref) or (isinstance(value, Call) and _of_class(value)):
            found[name] = OBJECT
    return found


def _of_class(value: Call) -> bool:
    """Say whether a call makes an object, by the name of what it calls: ``Tsit5()``."""
    return last_word(value.node.func)[:1].isupper()


def _asks(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function has something to choose by a parameter, or may hand one on that another one chooses by."""
    words = {name for name in function.params if name}
    return any(
        (isinstance(node, ast.If | ast.IfExp) and bool(names_in(node.test) & words))
        or (isinstance(node, ast.Call) and bool({a.id for a in _given(node) if isinstance(a, ast.Name)} & words))
        for node in context.bodies.nodes(function.scope)
    )


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def named_way(context: Context, event: CallEvent, function: FunctionFacts, given: dict[str, Given]) -> bool:
    """Say whether callers in sight may take the way to a call that a text chooses, as ``if family == "legendre"``.

    Args:
        context: the analysis.
        event: the call.
        function: what it stands in, of which a parameter may be that text.
        given: what the caller gives for parameters, as far as it is known.
    """
    path = context.bodies.paths(event.scope).get(event.node, ())
    tests = [(b.test, arm == "body") for b, arm in path if isinstance(b, ast.If | ast.IfExp) and arm != "test"]
    around = len(tests)
    tests += [(guard.test, False) for guard in context.bodies.behind(event.node, event.scope)]
    for place, (test, holds) in enumerate(tests):
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        param = function.scope.module.values.get(test.left)
        among = _among(test)
        if not isinstance(param, Param) or param.function is not function or not among:
            continue
        equal = isinstance(test.ops[0], ast.Eq | ast.In) is holds
        if param.name in given:
            if (given[param.name] in among) is not equal:
                return False
        elif equal and holds and place < around and not among & _texts(context, param, 0):
            return False
    return True


def _among(test: ast.Compare) -> frozenset[str]:
    """Return the texts that a comparison asks for; none if it asks for something else."""
    other = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq | ast.NotEq):
        parts = [other]
    elif isinstance(test.ops[0], ast.In | ast.NotIn) and isinstance(other, ast.Tuple | ast.List | ast.Set):
        parts = other.elts
    else:
        return frozenset()
    texts = [constant(part) for part in parts]
    return frozenset(t for t in texts if isinstance(t, str)) if all(isinstance(t, str) for t in texts) else frozenset()


def _texts(context: Context, param: Param, depth: int) -> set[str]:
    """Return the texts that callers in sight give for a parameter, or its default."""
    default = param.function.defaults.get(param.name)
    found = {default.value} if isinstance(default, Const) and isinstance(default.value, str) else set()
    for frame in context.flow.sites.entries(param.function) if depth < _DEPTH else ():
        given = context.flow.argument(frame, param.name)
        for source in context.sources.originals(given) if given is not None else ():
            if isinstance(source.value, Const) and isinstance(source.value.value, str):
                found.add(source.value.value)
            elif isinstance(source.value, Param) and source.value != param:
                found |= _texts(context, source.value, depth + 1)
    return found
