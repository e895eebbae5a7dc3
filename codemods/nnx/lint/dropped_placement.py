"""States that are placed on devices and put into no model; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.discarded import displayed
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test, kinds_of, shown, target_of
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Function, Ref

_WORDS = ("device_put", "with_sharding_constraint")
_PLACING = frozenset({"jax.device_put", "jax.lax.with_sharding_constraint", "flax.nnx.with_sharding_constraint"})
# methods that, as statements, change only what a function made itself, or tell something
_OWN = frozenset({"append", "extend", "insert", "setdefault", "print", "info", "debug", "warning", "block_until_ready"})
# what takes a model and leaves it as it is
_LOOKING = frozenset(
    f"flax.nnx.{name}"
    for name in ("state", "split", "graphdef", "clone", "display", "get_partition_spec", "iter_graph")
)
_PARTS = frozenset({"state", "split"})
_HELP = "write it back: nnx.update(model, state)"


def dropped_placements(context: Context, code: str) -> Iterator[Finding]:
    """Yield what gives a state in its new place, if nobody takes it.

    Args:
        context: the analysis.
        code: the rule that reports it.
    """
    placing = [(event, name) for event, name in foreign(context, *_WORDS, everywhere=True) if name in _PLACING]
    if not placing:
        return
    for event in context.bodies.named(*_WORDS, *(name.rpartition(".")[2] for name in TREE_MAPS)):
        if event.scope.module not in context.asked or not _dropped(context, event):
            continue
        if _placed(context, context.flow.calls.name(event), event.value, event.scope):
            text = ast.unparse(event.statement.targets[0]) if isinstance(event.statement, ast.Assign) else ""
            lost = f"nobody reads `{text}`" if text else "its result is thrown away"
            yield finding(
                code,
                event.scope,
                event.node,
                f"the model stays where it was: {lost}, the state in its new place",
                _HELP,
            )
    helpers = dict.fromkeys(_named(event.scope.function) for event, _ in placing)
    for function in helpers:
        gives = _given(context, function) if function is not None else ""
        if function is None or not gives:
            continue
        for event in context.flow.sites.callers(function):
            if event.scope.module in context.asked and _dropped(context, event):
                yield finding(
                    code,
                    event.scope,
                    event.node,
                    f"{shown(function)} changes no model: it gives {gives} in its new place, which nobody takes",
                    _HELP if gives == "a state" else "assign the result",
                )


def _dropped(context: Context, event: CallEvent) -> bool:
    """Say whether nothing reads what a call gives, which is no test and shown by no notebook."""
    scope, statement = event.scope, event.statement
    if in_test(scope) or displayed(event) or context.bodies.guarded(event.node, scope):
        return False
    if any("time" in ast.unparse(call.node.func) for call in context.bodies.calls.get(scope, ())):
        return False
    if not event.used:
        return isinstance(statement, ast.Expr) and statement.value is event.node
    target = target_of(event)
    if not isinstance(target, ast.Name) or target.id.startswith("_") or target.id in scope.globals:
        return False
    if scope.function is None and _known_outside(context, scope.module, target.id):
        return False
    own = set(context.bodies.nodes(scope))
    end = 0 if event.loops else statement.end_lineno or 0
    return not any(
        (isinstance(n, ast.Name) and n.id == target.id and not isinstance(n.ctx, ast.Store) and _after(n, end, own))
        or (isinstance(n, ast.Call) and last_word(n.func) in {"locals", "vars", "globals", "eval"})
        for n in ast.walk(scope.node)
    )


def _after(node: ast.Name, line: int, own: set[ast.AST]) -> bool:
    """Say whether a name is read behind a line, or in an inner function."""
    return node.lineno > line or node not in own


def _known_outside(context: Context, module: ModuleFacts, name: str) -> bool:
    """Say whether another module may read a global, or a package gives it to others."""
    words = name.encode(), module.name.rpartition(".")[2].encode()
    others = (one.source.data for one in context.project.modules if one is not module)
    return module.source.mentions(b"__all__") or any(all(word in data for word in words) for data in others)


def _placed(context: Context, name: str, call: Call, scope: Scope) -> bool:
    """Say whether a call of a foreign function gives a state of NNX on other devices."""
    if call.starred:
        return False
    args = call.args
    if name in TREE_MAPS and len(args) > 1:
        mapped = context.flow.follow(context.flow.here(call, scope), args[0]).value
        body = mapped.facts.node.body if isinstance(mapped, Function) else None
        lambda_of = isinstance(body, ast.Call) and last_word(body.func) in _WORDS
        if not lambda_of and not (isinstance(mapped, Ref) and mapped.name in _PLACING):
            return False
        args = args[1:]
    elif name not in _PLACING:
        return False
    return bool(args) and kinds_of(context, args[0], scope) == {Kind.STATE}


def _given(context: Context, function: FunctionFacts) -> str:
    """Return whether a function gives a state or a model, and does nothing else; empty if not, or if it may do more."""
    if len(function.returns) != 1 or function.generator or isinstance(function.node, ast.Lambda):
        return ""
    value = function.returns[0]
    if not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    gives = ""
    if name == "flax.nnx.merge":
        parts = [one for one in value.args if isinstance(one, Call)]
        names = [context.flow.calls.callee_name(context.flow.here(one, function.scope)) for one in parts]
        if any(_placed(context, *pair, function.scope) for pair in zip(names, parts, strict=True)):
            gives = "a model"
    if name in {"flax.nnx.from_flat_state", "flax.nnx.State"} or _placed(context, name, value, function.scope):
        gives = "a state"
    return gives if gives and not _effects(context, function) else ""


def _named(function: FunctionFacts | None) -> FunctionFacts | None:
    """Return the function around a lambda; others themselves."""
    while function is not None and isinstance(function.node, ast.Lambda):
        function = enclosing_function(function.scope.parent)
    return function


def _effects(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function may change something of its caller's."""
    inner = set(context.bodies.nodes(function.scope))
    for node in inner:
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Delete | ast.Yield | ast.Await | ast.FunctionDef):
            return True
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Constant | ast.Slice):
                return True
            if node.value.id in function.params:
                return True
    calls = context.bodies.calls.get(function.scope, ())
    models = [event.value.args[0] for event in calls if last_word(event.node.func) in _PARTS and event.value.args]
    for event in calls:
        word, name = last_word(event.node.func), context.flow.calls.name(event)
        if word in {"setattr", "update", "exec"} or (not event.used and word not in _OWN):
            return True
        if name in _LOOKING:
            continue
        given = event.value.given
        if any(one in models or Kind.MODULE in kinds_of(context, one, function.scope) for one in given):
            return True
    return False
