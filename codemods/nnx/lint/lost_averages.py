"""Running averages of a model written by hand, which a training step computes and nobody keeps; part of NNX785."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.grad_arguments import calls_of_gradient
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, in_test, name_of_part
from codemods.nnx.lint.syntax import assignments, constant, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

Path = tuple[int, ...]
Place = tuple[Scope, ast.AST]
_OVER_BATCH = frozenset({"mean", "var", "std", "average", "nanmean"})
_STEPS = frozenset({"apply_gradients", "apply_updates"})
_MAPS = frozenset({"map", "tree_map", "tree_multimap"})
_LOOPS = frozenset({"scan", "fori_loop", "while_loop"})
# transforms under which a function gives its own results
_KEEPING = frozenset({"jit", "checkpoint", "remat", *map(last, GRADIENTS)})
# a first try of a step, of which the statistics are not wanted
_TRYING = pattern(
    r"inner|adapt|maml|meta|attack|adversar|ascen|perturb|look_?ahead|sharpness|probe|\bsam\b|frozen|freeze"
)
_DEPTH = 4  # functions that hand the averages on


def lost_averages(context: Context) -> Iterator[Place]:
    """Yield where training steps leave out the new averages that a function computes, if nothing in sight keeps them.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"grad") for module in context.project.modules):
        return
    for module in context.project.modules:
        if not module.source.mentions(b"mean"):
            continue
        for function in module.functions:
            paths = _averages(context, function) if not in_test(function.scope) else frozenset[Path]()
            found = [_lost(context, function, path, 0) for path in paths]
            if all(one is not None for one in found):
                yield from (place for one in found for place in one or () if place[0].module in context.asked)


def _averages(context: Context, function: FunctionFacts) -> frozenset[Path]:
    """Return at which places of its result a function gives new running averages, made of those that it is given."""
    if isinstance(function.node, ast.Lambda) or function.generator:
        return frozenset()
    nodes = context.bodies.nodes(function.scope)
    if not any(isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple) for n in nodes):
        return frozenset()
    over = {
        name for node in nodes for target, value in assignments(node) if _over_batch(value) for name in _names(target)
    }
    names = {
        root.id
        for node in nodes
        for target, value in assignments(node)
        if isinstance(root := _owner(target), ast.Name) and _holds_average(function, value, over)
    }
    return _returned(context, function, names, function, over)


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _over_batch(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_word(node.func) in _OVER_BATCH


def _holds_average(function: FunctionFacts, node: ast.expr, over: set[str]) -> bool:
    """Say whether an expression is a new average, or a container that is made with one."""
    if isinstance(node, ast.Dict):
        return any(_holds_average(function, one, over) for one in node.values)
    if isinstance(node, ast.Tuple | ast.List):
        return any(_holds_average(function, one, over) for one in node.elts)
    if isinstance(node, ast.Call):
        replaced = last_word(node.func) in {"replace", "_replace", "dict"} or last_word(node.func)[:1].isupper()
        return replaced and any(_holds_average(function, k.value, over) for k in node.keywords)
    terms = operands(node, ast.Add)
    if len(terms) != 2:
        return False
    for term, new in (terms, terms[::-1]):
        old = _of_parameter(function, term)
        if old is not None and _of_batch(new, over, old, shared=term is not old):
            return True
    return False


def _of_parameter(function: FunctionFacts, term: ast.expr) -> ast.expr | None:
    """Return what the function is given of which a term is a share: ``state["mean"]`` of ``0.9 * state["mean"]``."""
    held = (one for one in factors(term) if isinstance(one, ast.Name | ast.Subscript | ast.Attribute))
    return next((one for one in held if last_word(_owner(one)) in function.params), None)


def _owner(node: ast.expr) -> ast.expr:
    """Return the variable that an expression is, or is an attribute or entry of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _of_batch(term: ast.expr, over: set[str], old: ast.expr, shared: bool) -> bool:
    """Say whether a term is a share of an average over the batch: ``0.1 * x.mean(0)``.

    Args:
        term: the term.
        over: the variables that hold such averages.
        old: the average before.
        shared: whether that has a factor; if not, the term is to take it away again: ``0.1 * (x.mean(0) - old)``.
    """
    parts = list(factors(term))
    if not shared:
        taken = [p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Sub)]
        parts = [one.left for one in taken if ast.dump(one.right) == ast.dump(old)]
        return any(_over_batch(part) or last_word(part) in over for part in parts)
    return len(parts) > 1 and any(
        _over_batch(part) or (isinstance(part, ast.Name) and part.id in over) for part in parts
    )


def _returned(
    context: Context, function: FunctionFacts, names: set[str], own: FunctionFacts | None, over: set[str]
) -> frozenset[Path]:
    """Return the places of a function's result where some variables, or what holds them, stand; none if at others."""
    found: set[Path] = set()
    for node in context.bodies.nodes(function.scope):
        if not isinstance(node, ast.Return):
            continue
        if not isinstance(node.value, ast.Tuple) or any(isinstance(one, ast.Starred) for one in node.value.elts):
            return frozenset()
        for path, part in _leaves(node.value, ()):
            if _stands_in(part, names) or (own is not None and _holds_average(own, part, over)):
                found.add(path)
    return frozenset(found)


def _leaves(node: ast.expr, path: Path) -> Iterator[tuple[Path, ast.expr]]:
    if isinstance(node, ast.Tuple):
        for number, part in enumerate(node.elts):
            yield from _leaves(part, (*path, number))
    else:
        yield path, node


def _stands_in(part: ast.expr, names: set[str]) -> bool:
    """Say whether a variable, or a container that is written, holds one of some variables."""
    if isinstance(part, ast.Name):
        return part.id in names
    parts = part.values if isinstance(part, ast.Dict) else part.elts if isinstance(part, ast.List | ast.Tuple) else []
    return any(_stands_in(one, names) for one in parts)


def _lost(context: Context, function: FunctionFacts, path: Path, depth: int) -> list[Place] | None:
    """Return where a part of a function's result is left out in training; None if some call may keep it."""
    handed = {last(one.transform) for one in context.traced.roots if one.function is function}
    if depth == _DEPTH or not handed <= _KEEPING:
        return None
    found: list[Place] = []
    for event in callers_of(context, function):
        way = _way(context, event, function, path)
        if way == () or _evaluates(event):
            continue  # the gradient is made here, and called elsewhere; or the averages are not those of training
        outer = event.scope.function
        dropped = _dropped(context, event, way) if way is not None else None
        if dropped is None:
            return None
        if isinstance(dropped, ast.Name) and not dropped.id.startswith("_"):
            after = _after(context, event, dropped.id)
            if after is None:
                return None
            for place in after:
                assert outer is not None
                inner = _lost(context, outer, place, depth + 1)
                if inner is None:
                    return None
                found += inner
            if after:
                continue
        if _trains(context, event, function) and not _trying(event, function):
            if _told_as_carry(context, event) and isinstance(dropped, ast.Name) and not dropped.id.startswith("_"):
                continue
            found.append((event.scope, dropped))
    return found


def _way(context: Context, event: CallEvent, function: FunctionFacts, path: Path) -> Path | None:
    """Return where a call gives what a function has at a place of its result; none where it gives only a function."""
    if any(root.node is event.node for root in context.traced.gradients):
        return ()
    invoked = [one for one, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    if len(invoked) != 1 or invoked[0].function is not function:
        return None
    if not invoked[0].gradient:
        return path
    options = _options(context, event, function)
    if options is None or constant(keyword(options, "has_aux")) is not True or path[0] != 1:
        return None
    return (0, *path) if last_word(options.func) == "value_and_grad" else path


def _options(context: Context, event: CallEvent, function: FunctionFacts) -> ast.Call | None:
    """Return the call that made the gradient which a call runs."""
    found = [one for one in context.traced.gradients if one.function is function and one.options is not None]
    mine = [one for one in found if any(call is event for call in calls_of_gradient(context, one))]
    return mine[0].options if len(mine) == 1 else None


def _evaluates(event: CallEvent) -> bool:
    """Say whether a call is given a flag that is off: ``train=False``."""
    return any(constant(one) is False for one in (*event.node.args, *(k.value for k in event.node.keywords)))


def _dropped(context: Context, event: CallEvent, way: Path) -> ast.AST | None:
    """Return the variable that gets a part of a call's result, or the call if it is left out; None if unknown."""
    value = around(context, event.scope).get(event.node)
    if isinstance(value, ast.Subscript) and value.value is event.node:
        index = constant(value.slice)
        return event.node if isinstance(index, int) and index >= 0 and index != way[0] else None
    return name_of_part(event, way)


def _after(context: Context, event: CallEvent, name: str) -> frozenset[Path] | None:
    """Return the places of the result of the function around a call at which a variable goes on.

    None if something else reads it; no places if nothing does.
    """
    scope, outer = event.scope, event.scope.function
    around = outer.node if outer is not None else scope.module.source.tree
    names, before = {name}, 0
    while len(names) != before:
        before = len(names)
        for node in context.bodies.nodes(scope):
            for target, value in assignments(node):
                if value is not event.node and _stands_in(value, names) and isinstance(_owner(target), ast.Name):
                    names |= _names(_owner(target))
    old = set(ast.walk(event.node)) if not event.loops else set[ast.AST]()  # ``y, state = forward(params, state, x)``
    if not event.loops:
        old.update(
            n for n in context.bodies.nodes(scope) if getattr(n, "end_lineno", event.node.lineno) < event.node.lineno
        )
    read = [
        n
        for n in ast.walk(around)
        if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) and n not in old
    ]
    if not read:
        return frozenset()
    if outer is None or isinstance(outer.node, ast.Lambda):
        return None
    places = _returned(context, outer, names, None, set())
    given = [n for node in context.bodies.nodes(scope) for n in _holding(node)]
    inside = {n for part in given if _stands_in(part, names) for n in ast.walk(part)}
    return places if places and all(n in inside for n in read) else None


def _holding(node: ast.AST) -> list[ast.expr]:
    """Return what a statement gives back part by part, or puts into a variable."""
    if isinstance(node, ast.Return) and node.value is not None:
        return [part for _, part in _leaves(node.value, ())]
    return [value for _, value in assignments(node)]


def _trains(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call belongs to a training step, which makes new parameters of gradients."""
    outer = event.scope.function
    if _options(context, event, function) is not None:
        return any(map(_steps, event.loops)) or (outer is not None and _steps(outer.node))
    if _steps(function.node):
        return bool(event.loops)
    roots = [one for one in context.traced.gradients if outer is not None and one.function is outer]
    calls = [call for root in roots for call in calls_of_gradient(context, root)]
    return any(call.scope.function is not None and _steps(call.scope.function.node) for call in calls) or any(
        _steps(loop) for call in calls for loop in call.loops
    )


def _steps(whole: ast.AST) -> bool:
    """Say whether some code makes new parameters of gradients: by optax, or by ``p - rate * g`` in a map over trees."""
    return any(
        isinstance(n, ast.Call)
        and (
            last_word(n.func) in _STEPS
            or (
                last_word(n.func) in _MAPS
                and len(n.args) > 2
                and isinstance(n.args[0], ast.Lambda)
                and _falls(n.args[0])
            )
        )
        for n in ast.walk(whole)
    )


def _falls(step: ast.Lambda) -> bool:
    return isinstance(step.body, ast.BinOp) and isinstance(step.body.op, ast.Sub)


def _told_as_carry(context: Context, event: CallEvent) -> bool:
    """Say whether a loop of JAX runs the function around a call, where an old carry is told of as such."""
    roots = (root for root in context.traced.roots if root.function is event.scope.function)
    return any(last(root.transform) in _LOOPS for root in roots)


def _trying(event: CallEvent, function: FunctionFacts) -> bool:
    outer = event.scope.function
    return bool(_TRYING.search(f"{function.name} {outer.name if outer is not None else ''}".lower()))
