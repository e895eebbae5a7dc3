"""NNX839: arithmetic on dicts of arrays, and on states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow.calls import Callee
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.joined_lists import joined_lists
from codemods.nnx.lint.names import gives_arrays
from codemods.nnx.lint.operands import plain
from codemods.nnx.lint.origins import named, origin, own_stores
from codemods.nnx.lint.parameter_derivative import named_as_derivative
from codemods.nnx.lint.places import each, may_be_state, scopes
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import every, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Free, Item, Loop, Mapping, Param, Unknown, Value, of_display

_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow | ast.MatMult
_DEPTH = 8
_AROUND = frozenset({"vmap", "jit"})
_MAPPING = frozenset({"jax.vmap", "jax.jit", "flax.nnx.vmap", "flax.nnx.jit"})
# a cheap test: what people call trees of parameters
_TREES = pattern(
    r"param|grad|weight|theta|update|veloc|mom|tree|acc|target|online|state|total|sum|ema|avg|mean|^[gpwmv]$", re.I
)


def _check(context: Context) -> Iterator[Finding]:
    for scope in scopes(context):
        if _of_trees(scope):
            yield from _called(context, scope)
    told: set[tuple[Scope, ast.AST]] = set()
    for scope, node in each(context, ast.BinOp, ast.AugAssign):
        if (
            (scope, node) in told
            or not isinstance(node, ast.BinOp | ast.AugAssign)
            or not isinstance(node.op, _OPERATORS)
        ):
            continue
        if not _of_trees(scope):
            continue
        nnx = scope.module.source.mentions(b"nnx")
        parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        names = [part for part in parts if _like_tree(named(part)) or _differentiated(scope, part) is not None]
        found: ast.expr | None = next((part for part in names if _dict(context, part, scope)), None)
        if found is None and isinstance(node, ast.AugAssign) and _summed(scope, node.target):
            found = node.target
        what, help = (
            "a dict or a state" if nnx else "a dict",
            "use jax.tree.map(lambda p, g: p - rate * g, params, grads)",
        )
        if found is None and nnx and not isinstance(node.op, ast.Sub):
            # `state - other` leaves out what the other has
            calls = [part for part in parts if isinstance(part, ast.Call) and last_word(part.func) == "state"]
            found = next((part for part in (*names, *calls) if _state(context, part, scope)), None)
            what, help = "a state", "use jax.tree.map(jnp.add, one, other), or whatever is to be done to the leaves"
        if found is None or _taken(context, node, found, scope):
            continue
        help = _for_another(scope, found) or help
        told.update((scope, inner) for inner in every(node))
        if not context.bodies.guarded(node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{ast.unparse(found)}` is {what}: there is no arithmetic on trees of arrays",
                help,
            )

    for scope, statement, name in joined_lists(context):
        yield finding(
            RULE.code,
            scope,
            statement,
            f"`{name}` is a list of gradients: + puts others behind them, and adds none of them",
            f"add leaf by leaf: jax.tree.map(jnp.add, {name}, grads)",
        )


def _taken(context: Context, node: ast.BinOp | ast.AugAssign, tree: ast.expr, scope: Scope) -> bool:
    """Say whether what a tree is computed with may be an object whose class says what that means: of the project's
    classes one overloads operators, and the other operand is neither a number, an array nor a tree as well."""
    if not context.bodies.overloaded:
        return False
    both = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    return not all(
        one is tree
        or plain(context, scope.module.values.get(one), scope)
        or _dict(context, one, scope)
        or _state(context, one, scope)
        for one in both
    )


@cache
def _like_tree(name: str) -> bool:
    """Say whether a name may be that of a tree of parameters."""
    return _TREES.search(name) is not None


def _summed(scope: Scope, target: ast.expr) -> bool:
    """Say whether what a statement adds to is a variable that is a dict wherever it is bound otherwise."""
    if not isinstance(target, ast.Name) or not _like_tree(target.id) or target.id in scope.globals:
        return False
    values = [one for one in scope.bindings.get(target.id, ()) if not isinstance(one, Changed)]
    return bool(values) and all(isinstance(one, Mapping) for one in values)


def _of_trees(scope: Scope) -> bool:
    """Say whether a scope belongs to a module that may compute with gradients or states."""
    source = scope.module.source
    return source.mentions(b"grad") or source.mentions(b"nnx.state")


def _called(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield the trees that functions of arrays get."""
    for event in context.bodies.calls.get(scope, ()):
        node = event.node.args[0] if event.node.args else None
        if node is None or not (_like_tree(named(node)) or _differentiated(scope, node) is not None):
            continue
        name = context.flow.calls.name(event)
        if not name.startswith("jax.numpy.") or not gives_arrays(name) or context.bodies.guarded(event.node, scope):
            continue
        if _dict(context, node, scope) or (scope.module.source.mentions(b"nnx") and _state(context, node, scope)):
            yield finding(
                RULE.code,
                scope,
                event.node,
                f"`{name}` takes an array, and `{ast.unparse(node)}` is a tree of arrays",
                _for_another(scope, node) or _through_leaves(name),
            )


def _through_leaves(name: str) -> str:
    """Return what to do about a tree that a function of arrays is given."""
    through = "go through its leaves: jax.tree.map(lambda leaf: ..., tree)"
    return f"{through}; optax.global_norm gives the norm of all" if "norm" in name else through


def _differentiated(scope: Scope, node: ast.expr) -> Call | None:
    """Return the call that a variable has its gradient of, as far as the text tells: ``nnx.grad(u)(model, t)``."""
    if not isinstance(node, ast.Name | ast.Call):
        return None
    value, wanted = scope.module.values.get(node), "grad"
    if isinstance(value, Item) and value.index == Const(1):
        value, wanted = value.base, "value_and_grad"
    made = value.callee if isinstance(value, Call) else None
    if isinstance(made, Free) and len(bound := made.scope.bindings.get(made.name, [])) == 1:
        made = bound[0]  # a loss that is decorated
    while isinstance(made, Call) and last_word(made.node.func) in _AROUND and made.args:
        made = made.args[0]
    if not isinstance(value, Call) or not isinstance(made, Call) or last_word(made.node.func) != wanted:
        return None
    if named_as_derivative(named(node)) and not ast.unparse(made.node.func).startswith("nnx."):
        return None  # NNX943 tells of those of JAX where they are made
    return value


def _for_another(scope: Scope, node: ast.expr) -> str:
    """Return what to do about a gradient whose name is none of a tree of them: perhaps another argument is meant."""
    call = _differentiated(scope, node)
    others = call.node.args[1:] if call is not None else []
    if call is None or len(others) != 1 or not isinstance(others[0], ast.Name) or _like_tree(named(node)):
        return ""
    first = ast.unparse(call.node.args[0])
    return f"this is the gradient with respect to `{first}`: for that with respect to `{others[0].id}` give argnums=1"


def _state(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is one state of NNX for certain."""
    value = scope.module.values.get(node)
    if value is None or not may_be_state(context, value):
        return False
    bound = context.flow.here(value, scope)
    if context.kinds.only(bound) is not Kind.STATE:
        return False
    return not any(_several(one.value) for one in context.sources.originals(bound))


def _several(value: Value) -> bool:
    """Say whether a call gives a state for each of several filters, or gradients of several arguments."""
    return isinstance(value, Call) and (len(value.args) > 2 or value.starred)


def _dict(context: Context, node: ast.expr, scope: Scope) -> bool:
    value = origin(context, node, scope)
    if not isinstance(value, Call | Item | Loop | Changed | Mapping | Param | Attr):
        return False
    return _is_dict(context, context.flow.here(value, scope), 0)


def _is_dict(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a value is a dict for certain, or the gradient with respect to one."""
    value: Value = bound.value
    while isinstance(value, Loop | Changed):
        if isinstance(value, Changed) and isinstance(value.node, ast.AugAssign):
            return False
        value = value.before
    if depth > _DEPTH:
        return False
    if isinstance(value, Mapping):
        return True
    flow = context.flow
    bound = flow.with_value(bound, value)
    if isinstance(value, Item) and value.index == Const(1) and isinstance(value.base, Call):
        if _gradient(context, flow.with_value(bound, value.base), "value_and_grad", depth):
            return True
    if isinstance(value, Item) and isinstance(value.index, Const) and isinstance(value.base, Call):
        returns = _returned(context, flow.with_value(bound, value.base))
        return bool(returns) and all(_is_dict(context, _part(one, value.index), depth + 1) for one in returns)
    if isinstance(value, Call):
        if _gradient(context, bound, "grad", depth):
            return True
        returns = _returned(context, bound)
        return bool(returns) and all(_is_dict(context, one, depth + 1) for one in returns)
    if isinstance(value, Attr):
        stored = [one for one in own_stores(context, value) if not _operation(one.value)]
        if stored:
            return all(not _empty(one.value) and _is_dict(context, one, depth + 1) for one in stored)
    if isinstance(value, Param):
        # what comes of such arithmetic says nothing itself
        given = [one for one in context.sources.originals(bound) if not _operation(one.value)]
        if any(_empty(one.value) for one in given):  # and was filled before it was given, perhaps
            entries = flow.sites.entries(value.function)
            given = [one for entry in entries if (one := flow.argument(entry, value.name)) is not None]
        return bool(given) and all(
            one.value is not value
            and not _empty(one.value)
            and _is_dict(context, Bound(one.value, one.frame), depth + 1)
            for one in given
        )
    found = flow.resolve(bound)
    return found.value is not value and not isinstance(found.value, Unknown) and _is_dict(context, found, depth + 1)


def _returned(context: Context, call: Bound) -> list[Bound]:
    """Return what the project's functions that a call reaches give; nothing if that is not known."""
    flow = context.flow
    if flow.calls.callee_name(call):
        return []
    found = []
    for callee, frame in flow.calls.invoked(call):
        if callee.gradient or callee.function.generator or not callee.function.returns:
            return []
        found += [Bound(one, frame) for one in callee.function.returns]
    return found


def _part(whole: Bound, index: Const) -> Bound:
    """Return an element of a tuple."""
    return Bound(of_display(Item(whole.value, index)), whole.frame)


def _empty(value: Value) -> bool:
    return isinstance(value, Mapping) and not value.items  # something may take its place before it is used


def _operation(value: Value) -> bool:
    return isinstance(value, Unknown) and isinstance(value.node, ast.BinOp | ast.AugAssign)


def _gradient(context: Context, bound: Bound, word: str, depth: int) -> bool:
    """Say whether a call of what a function of JAX made gives the gradient with respect to a dict."""
    call = bound.value
    if not isinstance(call, Call) or not call.args or call.starred:
        return False
    made = context.flow.follow(bound, call.callee)
    while isinstance(made.value, Call) and made.value.args and context.flow.calls.callee_name(made) in _MAPPING:
        made = context.flow.follow(made, made.value.args[0])
    if not isinstance(made.value, Call) or made.value.keyword("argnums") is not None or len(made.value.args) != 1:
        return False
    name = context.flow.calls.callee_name(made)
    if name not in GRADIENTS or name.rpartition(".")[2] != word:
        return False
    if made.value.keyword("has_aux") is not None and word == "grad":
        return False
    callees = context.flow.calls.callables(context.flow.with_value(made, made.value.args[0]))
    if callees and all(_by_name(one) or _runs_first(one) for one in callees):
        return True
    first = context.flow.with_value(bound, call.args[0])
    if name.startswith("flax.nnx.") and context.kinds.only(first) is Kind.MODULE:
        return True
    return _is_dict(context, first, depth + 1)


def _by_name(callee: Callee) -> bool:
    """Say whether a function takes entries out of its first argument by their names."""
    function = callee.function
    names = list(function.params)[len(callee.args) + int(callee.receiver is not None) :]
    bound = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return (
        bool(names)
        and names[0] not in bound | {name for name, _ in callee.keywords}
        and any(
            isinstance(n, ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == names[0]
            and isinstance(n.slice, ast.Constant)
            and isinstance(n.slice.value, str)
            for n in ast.walk(function.node)
        )
    )


def _runs_first(callee: Callee) -> bool:
    """Say whether a function calls its first argument, a model, or gives it to a model as its parameters."""
    function = callee.function
    names = list(function.params)[len(callee.args) + int(callee.receiver is not None) :]
    bound = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    if not names or names[0] in bound | {name for name, _ in callee.keywords}:
        return False
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == names[0]:
            return True
        if isinstance(node, ast.Dict) and [constant(key) for key in node.keys] == ["params"]:
            if isinstance(node.values[0], ast.Name) and node.values[0].id == names[0]:
                return True
    return False


RULE = lint_rule(
    "NNX839",
    "tree-arithmetic",
    "arithmetic on a dict of parameters or gradients, or on a state",
    why="""\
Parameters and gradients that are dicts are trees: `params - 0.1 * grads` raises a TypeError. `jax.tree.map` goes over
the leaves of several trees at once. An `nnx.State`, as `nnx.grad` gives, has no arithmetic either; where the derivative
by time or place is meant, `argnums` says so.
""",
    source="Stack Overflow; JAX tutorial, section on pytrees; measured: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def loss(params, x):
    return (params["w"] * x + params["b"]).sum()


params = {"w": 1.0, "b": 0.0}
grads = jax.grad(loss)(params, 2.0)
params = params - 0.1 * grads
""",
    ),
    clean=(
        """\
import jax


def loss(params, x):
    return (params["w"] * x + params["b"]).sum()


params = {"w": 1.0, "b": 0.0}
grads = jax.grad(loss)(params, 2.0)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
weights = params["w"] - 0.1 * grads["w"]
""",
    ),
)
