"""NNX816: ``jax.jit``, or another transform, branch or loop of JAX, of a step that changes its NNX arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.broadcast_updates import broadcast_updates
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import SETTING, draws, holds_state, method_changes
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import by_reference, foreign, kinds_of, position, shown
from codemods.nnx.lint.syntax import argument, constant, inside, outermost_loop, root_of
from codemods.nnx.lint.traced import Root, original
from codemods.nnx.nodes import last_word
from codemods.nnx.rewrite import replace
from codemods.nnx.values import Class, Free, Param, Ref, Value

_JIT = Ref("jax.jit")
_STATES = frozenset({"split", "state", "variables", "clone", "pure", "to_tree"})
# what calls a function with copies of its arguments
_COPYING = frozenset(
    {"jax.jit", "jax.lax.cond", "jax.lax.switch", "jax.lax.while_loop", "jax.lax.fori_loop", "jax.lax.scan", "jax.vmap",
     "jax.checkpoint", "jax.remat"}
)  # fmt: skip
_OWN = {"checkpoint": "remat"}  # of the transforms that NNX calls otherwise

# with these the Variables hold references, which jax.jit changes in place
_SHARING = ("use_mutable_arrays", "use_refs", "use_hijax", "to_refs", "as_hijax_vars")

# where a file speaks of these, it may set the mode of a module elsewhere
_MODES = (b".eval(", b"deterministic", b"use_running_average", b"set_attributes", b".view(")


def _check(context: Context) -> Iterator[Finding]:
    sharing = {event.scope.module for event, name in foreign(context, *_SHARING) if name.startswith("flax.nnx.")}
    for root in context.traced.roots:
        if root.transform == "flax.nnx.scan" and root.scope.module in context.asked:
            yield from _scanned(context, root)
        if root.transform not in _COPYING or root.scope.module not in context.asked:
            continue
        if root.scope.module in sharing or by_reference(root.scope.module):
            continue
        lost = sorted({param.name for param in _changed(context, root)})
        if lost:
            names = " and ".join(f"`{name}`" for name in lost)
            word = last(root.transform)
            own = f"nnx.{_OWN.get(word, word)}"
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"{root.transform} drops what {shown(root.function)} changes in {names}",
                f"use {own}, or return the changed objects",
                _fix(context, root) if root.transform == "jax.jit" else None,
            )


def _scanned(context: Context, root: Root) -> Iterator[Finding]:
    """Yield what is wrong with a scan of NNX that gives every round the optimizer as it was before the first."""
    found = list(broadcast_updates(context, changed(context, root.function), root))
    names = " and ".join(f"`{name}`" for _, name in found)
    if found and not {name for _, name in found} & returned_names(context, root.function):
        yield finding(
            RULE.code,
            root.scope,
            found[0][0],
            f"nnx.scan drops what {shown(root.function)} changes in {names}: None gives each round the first ones",
            "carry them: nnx.StateAxes({...: nnx.Carry}) in the place of None",
        )


def _changed(context: Context, root: Root) -> Iterator[Param]:
    """Yield the parameters that the function changes and does not return."""
    params = changed(context, root.function)
    returned = returned_names(context, root.function) if params else set()
    for param in params:
        if param.name not in returned and not _left_alone(root, param):
            yield param


def _left_alone(root: Root, param: Param) -> bool:
    """Say whether a transform hands a parameter on as it is: a copy is what an axis of None gets, too."""
    if root.transform == "jax.vmap" and not root.partial and not root.bound:
        return param is root.function.self_param
    return param.name in root.static


def _kept(_: Context) -> dict[tuple[FunctionFacts, int], set[Param]]:
    """Return where what functions change is kept, by how many calls deep they were asked about."""
    return {}


def changed(context: Context, function: FunctionFacts, depth: int = 0) -> set[Param]:
    """Return the parameters that a function updates, or hands to a function that does."""
    kept, key = context.shared(_kept), (function, depth)
    if key not in kept:
        kept[key] = _found(context, function, depth)
    return kept[key]


def _found(context: Context, function: FunctionFacts, depth: int) -> set[Param]:
    found: set[Param] = set(_stored(context, function))
    scope = function.scope
    for event in context.bodies.calls.get(scope, ()):
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "update" and not event.used:
            param = scope.module.values.get(func.value)
            if isinstance(param, Param) and param.function is function and _updates(context, event, param):
                found.add(param)
                model = event.value.args[0] if len(event.value.args) == 2 and not event.value.starred else None
                if isinstance(model, Param) and model.function is function:
                    if kinds_of(context, model, scope) == {Kind.MODULE}:  # optimizer.update(model, grads)
                        found.add(model)
        elif isinstance(func, ast.Name):
            param = event.value.callee
            if isinstance(param, Param) and param.function is function:
                if _trains(context, event, param) or _method(context, event, param, "__call__"):
                    found.add(param)
        elif isinstance(func, ast.Attribute) and isinstance(param := scope.module.values.get(root_of(func)), Param):
            if param.function is function and param is not function.self_param and _sets(context, event, func, param):
                found.add(param)
        if depth < 3:
            found |= _handed(context, event, function, depth)
    return found


def _sets(context: Context, event: CallEvent, func: ast.Attribute, param: Param) -> bool:
    """Say whether a method is called that gives a Variable of a parameter a new value, whatever the callers give."""
    if isinstance(func.value, ast.Name):
        return _method(context, event, param, func.attr)
    held = event.scope.module.values.get(func.value) if func.attr in SETTING else None
    return held is not None and kinds_of(context, held, event.scope) == {Kind.VARIABLE}


def _method(context: Context, event: CallEvent, param: Param, name: str) -> bool:
    """Say whether a method of the project's own module, which a parameter is for certain, changes the module."""
    return method_changes(context, context.flow.here(param, event.scope), name)


def _stored(context: Context, function: FunctionFacts) -> Iterator[Param]:
    """Yield the parameters of which a function gives a Variable a new value, as ``model.count[...] += 1``."""
    scope, values = function.scope, function.scope.module.values
    for node in context.bodies.nodes(scope):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in [node.target] if isinstance(node, ast.AugAssign) else targets:
            whole = isinstance(target, ast.Subscript) and constant(target.slice) is ...
            if not whole and not (isinstance(target, ast.Attribute) and target.attr == "value"):
                continue
            assert isinstance(target, ast.Subscript | ast.Attribute)
            param, value = values.get(root_of(target.value)), values.get(target.value)
            if isinstance(param, Param) and param.function is function and value is not None and value is not param:
                if kinds_of(context, value, scope) == {Kind.VARIABLE}:
                    yield param


def _handed(context: Context, event: CallEvent, function: FunctionFacts, depth: int) -> set[Param]:
    """Return the parameters that a call gives to a function which changes them and does not return them."""
    found: set[Param] = set()
    for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        if callee.function is function or callee.function.binding == "class":
            continue
        inners = changed(context, callee.function, depth + 1)
        returned = returned_names(context, callee.function) if inners else set()
        for inner in inners:
            given = context.flow.argument(frame, inner.name)
            value = original(given).value if given is not None and inner is not callee.function.self_param else None
            if isinstance(value, Param) and value.function is function and inner.name not in returned:
                found.add(value)
    return found


def returned_names(context: Context, function: FunctionFacts) -> set[str]:
    """Return the names in what a function returns, those left out that are only called, or whose values are read.

    Args:
        context: the analysis.
        function: the function.
    """
    found: set[str] = set()
    for statement in context.bodies.nodes(function.scope):
        if isinstance(statement, ast.Return) and statement.value is not None:
            nodes = list(ast.walk(statement.value))
            apart: set[ast.expr] = {node.func for node in nodes if isinstance(node, ast.Call)}
            apart |= {
                root_of(n.value) for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Attribute)
            }
            apart |= {root_of(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr == "value"}
            found |= {node.id for node in nodes if isinstance(node, ast.Name) and node not in apart}
    for node in context.bodies.nodes(function.scope):  # _, state = nnx.split(model)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_word(node.value.func) in _STATES:
            names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if names & found:
                found |= {n.id for one in node.value.args for n in ast.walk(one) if isinstance(n, ast.Name)}
    return found


def _trains(context: Context, event: CallEvent, param: Param) -> bool:
    """Say whether a call of a parameter runs a module with state in training mode, as far as the file tells."""
    text = event.scope.module.source.data
    spoken = [word for word in _MODES if word in text]
    if spoken and (spoken != [b".eval("] or not _called_in_training(context, param)):
        return False
    flow = context.flow
    for bound in flow.classes.annotated(param):
        if getattr(bound.value, "name", "") == "flax.nnx.BatchNorm":
            return True
        if isinstance(bound.value, Class) and holds_state(context, bound.value.facts):
            return True
    return any(draws(context, source) for source in context.sources.originals(flow.here(param, event.scope)))


def _called_in_training(context: Context, param: Param) -> bool:
    """Say whether all callers give a variable that ``train()`` was called of last, and that a loop does not switch."""
    callers = context.flow.sites.callers(param.function)
    return bool(callers) and all(_trained(context, caller, param) for caller in callers)


def _trained(context: Context, caller: CallEvent, param: Param) -> bool:
    given = argument(caller.node, position(param), param.name)
    if caller.value.starred or not isinstance(given, ast.Name):
        return False
    switches = [
        (call.lineno, last_word(call.func), call)
        for event in context.bodies.calls.get(caller.scope, ())
        if isinstance((call := event.node).func, ast.Attribute)
        and call.func.attr in {"train", "eval"}
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == given.id
    ]
    before = [word for line, word, _ in sorted(switches, key=lambda one: one[0]) if line < caller.node.lineno]
    loop = outermost_loop(caller)
    switched = loop is not None and any(word == "eval" and inside(call, loop) for _, word, call in switches)
    return before[-1:] == ["train"] and not switched


def _updates(context: Context, event: CallEvent, param: Param) -> bool:
    """Say whether ``param.update(...)`` changes an NNX object: by its kind, or because it is given gradients."""
    kinds = kinds_of(context, param, event.scope)
    if kinds:
        return bool(kinds & {Kind.OPTIMIZER, Kind.METRIC})
    return any(Kind.GRADIENT in kinds_of(context, value, event.scope) for value in event.value.args)


def _fix(context: Context, root: Root) -> Fix | None:
    node = _jit(context, root)
    spelling = spell(context.flow, root.scope, "jit")
    if spelling is None or node is None:
        return None
    source = root.scope.module.source
    edits = [(source.path, replace(source, node, spelling.text))]
    return Fix((*edits, *((source.path, edit) for edit in spelling.edits)), Safety.UNSAFE)


def _argument(value: Value) -> bool:
    """Say whether a value is an argument of a function, or of one around it: there is no ``jax.jit`` to replace."""
    within = value.scope.function if isinstance(value, Free) else None
    return isinstance(value, Param) or (isinstance(value, Free) and within is not None and value.name in within.params)


def _jit(context: Context, root: Root) -> ast.expr | None:
    """Return the expression that names ``jax.jit`` where the transform is applied."""
    for node in ast.walk(root.node):
        value = root.scope.module.values.get(node)
        if isinstance(node, ast.Name | ast.Attribute) and value is not None and not _argument(value):
            if context.flow.resolve(context.flow.here(value, root.scope)).value == _JIT:
                return node
    return None


RULE = lint_rule(
    "NNX816",
    "jax-jit-drops-updates",
    "jax.jit or jax.lax control flow over a function that updates its NNX arguments",
    why="""\
`jax.jit`, `jax.vmap`, `jax.checkpoint`, `jax.lax.cond` and the loops work on copies of their arguments. On Flax 0.10
modules and optimizers are refused with a TypeError; since 0.11 they are pytrees, the call succeeds, and every update is
dropped silently: the loss never falls. `nnx.jit` and `nnx.cond` carry the changes back. `nnx.scan` does so too, but
what has `None` for an axis is given to every round as it was before the first.
""",
    source='talk "Introducing Flax NNX (Part 2)", section 5; measured: loss 0.6131 before and after training',
    check=_check,
    mended=(
        (
            """\
import jax
from flax import nnx


@jax.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
""",
            """\
import jax
from flax import nnx


@nnx.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
""",
        ),
    ),
    clean=(
        """\
import jax
from flax import nnx


@jax.jit
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return model, optimizer
""",
    ),
    safety=Safety.UNSAFE,
)
