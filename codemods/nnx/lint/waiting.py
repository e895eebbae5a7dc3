"""What waits for a result that is timed, without ``block_until_ready`` beside it; part of NNX907."""

from __future__ import annotations

import ast
import builtins

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import jit_of
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Loop, ModuleRef, Param, Ref

_BY_NAME = pattern(
    r"^_*block(_|$)|block_(until|on|all|tree|out|res)|until_ready|(^|_)wait(_|$)|(^|_)sync(hronize)?(_|$)|fence|barrier"
)
_WORDS = frozenset({"block_until_ready", "device_get", "item", "tolist", "effects_barrier"})
_ON_HOST = ("numpy.", "scipy.")
# libraries whose functions send work off and come back, or never touch an array
_SENDING = frozenset({"jax", "flax", "optax", "orbax", "chex", "einops", "equinox", "haiku", "distrax", "diffrax",
                      "time", "functools", "itertools", "lineax", "optimistix", "jaxtyping", "blackjax", "numpyro",
                      "timeit", "brax", "mujoco", "builtins", "typing", "collections", "dataclasses", "math",
                      "os"})  # fmt: skip
_DEPTH = 2


def may_wait(context: Context, event: CallEvent, made: set[str]) -> bool:
    """Say whether a call may wait for what the time measured made: a helper that blocks, as its name or its body says,
    a function of NumPy or SciPy, or one of a library that reads the numbers.

    Args:
        context: the analysis.
        event: the call.
        made: the variables that are bound in the time measured.
    """
    name = last_word(event.node.func).lower()
    if jit_of(context, event):
        return False
    given = [*event.node.args, *(keyword.value for keyword in event.node.keywords)]
    results = any(names_in(one) & made or any(isinstance(n, ast.Call) for n in ast.walk(one)) for one in given)
    if _BY_NAME.search(name) and (results or not given):
        return True
    callee = context.flow.calls.name(event)
    if results and not callee.startswith(_ON_HOST) and _once_on_host(event):
        return True  # of NumPy, until the file imports the name from elsewhere
    if results and callee.startswith(_ON_HOST) and not callee.startswith("numpy.random."):
        return any(names_in(one) & made for one in given)
    home = callee.partition(".")[0]
    if "." in callee and home not in _SENDING and any(names_in(one) & made for one in given):
        value = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        if isinstance(value, Ref) and not _invoked(context, event):
            return True
    if not results:
        return False
    if _effect_of_unknown(context, event, made):
        return True
    return any(_blocks(context, one) for one in _invoked(context, event))


def _once_on_host(event: CallEvent) -> bool:
    """Say whether one of several imports of what is called is that from NumPy or SciPy."""
    name = event.node.func.id if isinstance(event.node.func, ast.Name) else ""
    bound = event.scope.module.scope.bindings.get(name, ())
    homes = [one.base.name for one in bound if isinstance(one, Attr) and isinstance(one.base, ModuleRef)]
    return len(homes) > 1 and any(f"{home}.".startswith(_ON_HOST) for home in homes)


def _effect_of_unknown(context: Context, event: CallEvent, made: set[str]) -> bool:
    """Say whether a statement hands a result to a function that nothing tells of, which is called for what it does with
    it: ``save(latents)``."""
    home, _, word = context.flow.calls.name(event).rpartition(".")
    if (
        event.used
        or not isinstance(event.node.func, ast.Name)
        or home not in {"", "builtins"}
        or hasattr(builtins, word)
    ):
        return False
    if isinstance(event.value.callee, Param) or _invoked(context, event):
        return False
    value = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    if isinstance(value, Call):
        return False  # what a call made, as compiled code
    return any(names_in(one) & made for one in event.node.args)


def _invoked(context: Context, event: CallEvent) -> list[FunctionFacts]:
    invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    return [callee.function for callee, _ in invoked]


def _blocks(context: Context, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether something in a function waits for results."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and node.attr in _WORDS:
            return True
        if isinstance(node, ast.Constant) and node.value == "block_until_ready":  # getattr(leaf, "block_until_ready")
            return True
        if isinstance(node, ast.Name) and node.id in _WORDS:
            return True
    inner = [one.scope for one in function.scope.module.functions if one.scope.parent is function.scope]
    for event in (one for scope in (function.scope, *inner) for one in context.bodies.calls.get(scope, ())):
        if event.node.args and context.flow.calls.name(event).startswith(("numpy.asarray", "numpy.array")):
            return True
        if depth < _DEPTH and any(_blocks(context, one, depth + 1) for one in _invoked(context, event)):
            return True
    return False


def stored_on_host(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a statement writes something into elements of an array of NumPy: that waits for it.

    Args:
        context: the analysis.
        node: the statement.
        scope: the scope that it stands in.
    """
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(
        isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) and _of_numpy(context, one.value, scope)
        for target in targets
        for one in ast.walk(target)
    )


def _of_numpy(context: Context, node: ast.expr, scope: Scope) -> bool:
    value = scope.module.values.get(node)
    while isinstance(value, Changed | Loop):
        value = value.before
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, scope))
    while isinstance(found.value, Changed | Loop):
        found = context.flow.resolve(context.flow.with_value(found, found.value.before))
    return isinstance(found.value, Call) and context.flow.calls.callee_name(found).startswith(_ON_HOST)


def gives_nothing(roots: tuple[Root, ...]) -> bool:
    """Say whether compiled functions give nothing, so that there is nothing to wait for.

    Args:
        roots: how the functions are compiled.
    """
    return bool(roots) and all(
        not isinstance(root.function.node, ast.Lambda)
        and not root.function.generator
        and all(value == Const(None) for value in root.function.returns)
        for root in roots
    )


def bound_between(context: Context, scope: Scope, start: int, end: int) -> set[str]:
    """Return the variables that are bound between two lines.

    Args:
        context: the analysis.
        scope: the scope.
        start: the line before the first.
        end: the last line.
    """
    return {
        n.id
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and start < n.lineno <= end
    }
