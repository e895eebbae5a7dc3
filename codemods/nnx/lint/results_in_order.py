"""NNX532: what a function gives, unpacked under each other's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded_result import is_update
from codemods.nnx.lint.foreign_order import foreign_order
from codemods.nnx.lint.lost_updates import old_state
from codemods.nnx.lint.places import error_wanted, in_test, position, shown
from codemods.nnx.lint.scan_results import swapped_scans
from codemods.nnx.values import Sequence

_Names = tuple[str, ...]


def _check(context: Context) -> Iterator[Finding]:
    for event, got, other, carry in swapped_scans(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"scan gives its carry first, which is `{carry}` here: `{got}` gets it, and `{other}` the outputs",
            f"write {other}, {got} = ...",
        )
    for event, one, result, right in foreign_order(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{ast.unparse(event.node.func)}` gives its results in another order: `{one}` gets the {result}",
            f"unpack them in their order: {right}",
        )
    known = context.shared(_given)
    for event in context.bodies.unpacked:
        names = _targets(event)
        by_name = any(_exchanged(names, given) for given in known)
        if event.scope.module not in context.asked or not (by_name or _goes_on(event, names)):
            continue
        if in_test(event.scope) or event.value.starred or error_wanted(context, event):
            continue
        reached = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        functions = {callee.function for callee, _ in reached}
        if len(functions) != 1 or any(callee.gradient for callee, _ in reached):
            continue
        function = functions.pop()
        pairs = {_exchanged(names, given) for given in _returned(function)}
        pair = pairs.pop() if len(pairs) == 1 else None
        if pair is not None and not _turned(event, function, pair):
            first = _returned(function)[0]
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(function)} gives `{', '.join(first)}`: here `{pair[0]}` gets what is `{pair[1]}` there",
                f"write {', '.join(first)} = ..." if {*first} == {*names} else "unpack the results in their order",
            )
        elif pair is None and (moved := _moved(context, event, function, names)) is not None:
            name, place = moved
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(function)} gives the new `{name}` {_PLACES[place]}, and here `{names[place]}` gets it",
                "unpack the results in their order",
            )


_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


def _goes_on(event: CallEvent, names: _Names) -> bool:
    """Say whether a call gives a variable and gets a new value for it: ``params, loss = step(params, x)``."""
    given = {node.id for node in event.node.args if isinstance(node, ast.Name)}
    return bool(given.intersection(names))


def _moved(context: Context, event: CallEvent, function: FunctionFacts, names: _Names) -> tuple[str, int] | None:
    """Return a variable that a step is given and gives anew, and the place of its new value, if another gets that."""
    returned = function.returns[0] if len(function.returns) == 1 else None
    if not isinstance(returned, Sequence) or len(returned.items) != len(names) or len(names) > len(_PLACES):
        return None
    if not isinstance(returned.node, ast.Tuple) or function.generator:
        return None
    for param in function.params.values():
        place = position(param)
        given = event.node.args[place] if param is not function.self_param and place < len(event.node.args) else None
        if not isinstance(given, ast.Name) or given.id not in names:
            continue
        if given.id in function.params and given.id != param.name:
            return None  # the arguments are those of another function, or exchanged
        new = [
            i
            for i, one in enumerate(returned.items)
            if is_update(context, function, one, param) or old_state(context, function, one) is param
        ]
        if len(new) == 1 and names[new[0]] != given.id and param not in returned.items:
            return given.id, new[0]
    return None


def _given(context: Context) -> frozenset[_Names]:
    """Return the names that the functions of the project return together."""
    return frozenset(names for function in context.project.functions() for names in _returned(function))


def _returned(function: FunctionFacts) -> list[_Names]:
    """Return the names in each tuple that a function returns; of no function that returns anything else."""
    if isinstance(function.node, ast.Lambda) or function.generator or not function.returns:
        return []
    found: list[_Names] = []
    for value in function.returns:
        node = getattr(value, "node", None)
        if not isinstance(node, ast.Tuple) or len(node.elts) < 2:
            return []
        names = tuple(one.id for one in node.elts if isinstance(one, ast.Name))
        if len(set(names)) != len(node.elts):
            return []
        found.append(names)
    return found


def _targets(event: CallEvent) -> _Names:
    """Return the variables that get the results of a call, one each; none if something else does."""
    statement = event.statement
    assert isinstance(statement, ast.Assign)
    target = statement.targets[0]
    assert isinstance(target, ast.Tuple)
    names = tuple(one.id for one in target.elts if isinstance(one, ast.Name))
    return names if len(set(names)) == len(target.elts) else ()


def _exchanged(names: _Names, given: _Names) -> tuple[str, str] | None:
    """Return a variable and what it gets, if that has the name of another one, and all that differ are moved so."""
    if len(names) != len(given) or names == given:
        return None
    differing = [(one, other) for one, other in zip(names, given, strict=True) if one != other]
    if {one for one, _ in differing} != {other for _, other in differing}:
        return None
    return differing[0]


def _turned(event: CallEvent, function: FunctionFacts, pair: tuple[str, str]) -> bool:
    """Say whether a call gives the arguments in the same other order, so that both change their parts."""
    for place, node in enumerate(event.node.args):
        if isinstance(node, ast.Starred):
            return True
        if isinstance(node, ast.Name) and node.id in pair:
            param = function.params.get(node.id)
            if param is None or position(param) != place:
                return True
    return any(keyword.arg != ast.unparse(keyword.value) for keyword in event.node.keywords if _names(keyword, pair))


def _names(keyword: ast.keyword, pair: tuple[str, str]) -> bool:
    return isinstance(keyword.value, ast.Name) and keyword.value.id in pair


_BAD = """\
import jax
import jax.numpy as jnp


def moments(x):
    mean = jnp.mean(x, axis=0)
    variance = jnp.var(x, axis=0)
    return mean, variance


def normalised(x):
    variance, mean = moments(x)
    return (x - mean) / jnp.sqrt(variance + 1e-5)
"""

RULE = lint_rule(
    "NNX532",
    "results-out-of-order",
    "the results of a function unpacked under each other's names",
    why="""\
A step that returns `params, opt_state, loss` gives them by their places: unpacked as `loss, params, opt_state` the loss
goes on as the parameters. `eigh` gives the eigenvalues first, and `svd` the left vectors. Where shapes and structures
allow it nothing is raised, as with a mean and a variance, or the states of two networks.
""",
    source="JAX and Optax discussions on train steps; measured: errors about tree structures, or other numbers",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("variance, mean = moments", "mean, variance = moments"),),
)
