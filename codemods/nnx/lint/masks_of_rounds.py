"""Training steps in the body of a loop of JAX whose dropout draws the same mask in every round; part of NNX970."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.key_rounds import ROUNDS, handed_on
from codemods.nnx.lint.keys import SAME, Use, argument_of, uses
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, stands_in
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Free, Item, Param

_STEPPING = frozenset({"update", "apply_updates", "apply_gradients"})
_DROPPING = pattern(r"drop")
_DEEP = 4  # through how many functions a key is followed
# loops that look for the best of one function, which chance must not change
_MEANT = pattern(r"inner|adapt|attack|pgd|adversar|search|infer|refine|latent|prun|sparse|ticket|meta|solve|bfgs")


def masks_of_rounds(context: Context) -> Iterator[tuple[Use, str]]:
    """Yield the uses of keys in the bodies of loops of JAX that take a step with the same dropout in every round.

    Args:
        context: the analysis.
    """
    modules = context.asked.modules
    if not any(m.source.mentions(b"bernoulli") for m in context.project.modules):
        return
    if not any(m.source.mentions(b"scan") or m.source.mentions(b"_loop") for m in modules):
        return
    losses = {root.function for root in context.traced.gradients}
    for (scope, key), found in context.shared(uses).items():
        function = scope.function
        if function is None or scope.module not in context.asked or in_test(scope):
            continue
        if not isinstance(key, Free | Param | Item):
            continue
        loss = function in losses
        body = enclosing_function(scope.parent) if loss and not _is_body(context, function) else function
        if body is None or not _is_body(context, body) or _meant(body):
            continue
        for use in found:
            captured = isinstance(key, Free) and not stands_in(key.scope, body.scope)
            if not captured and not (body is function and handed_on(context, replace(use, helper=False))):
                continue
            if SAME.search(ast.unparse(use.node)) or SAME.search(use.name) or same_said(scope, use.event.statement):
                continue
            chain = _to_mask(context, use)
            if not chain or not (loss or any(one.gradient for one in chain)):
                continue
            if _drops(chain) and _takes_step(body, chain):
                yield (
                    use,
                    f"`{ast.unparse(use.node)}` is the same key in every round: each step drops the same parts",
                )
                break


def _is_body(context: Context, function: FunctionFacts) -> bool:
    """Say whether loops of JAX alone run a function."""
    tracing = context.traced.get(function)
    roots = tracing.roots if tracing is not None else ()
    return bool(roots) and all(root.transform in ROUNDS for root in roots) and not (tracing and tracing.sites)


def _meant(body: FunctionFacts) -> bool:
    """Say whether a function around tells by its name that chance has to stay the same."""
    inner: FunctionFacts | None = body
    while inner is not None:
        if SAME.search(inner.name) or _MEANT.search(inner.name):
            return True
        inner = enclosing_function(inner.scope.parent)
    return body.scope.module.source.mentions(b"bfgs")


def _to_mask(context: Context, use: Use, depth: int = 0) -> list[Use]:
    """Return the uses by which a key comes to draw the mask of a dropout; nothing if it does not, or may not."""
    if SAME.search(use.name) or _MEANT.search(use.name):
        return []
    scope = use.event.scope
    if context.bodies.paths(scope).get(use.event.node):
        return []  # under a condition, as of a flag
    if not use.helper:
        if last(use.name) == "bernoulli":
            return [use] if _like_data(use) else []
        if last(use.name) != "split":
            return []
        parts = (
            one
            for (home, key), found in context.shared(uses).items()
            if home is scope and isinstance(key, Item) and key.base is use.event.value
            for one in found
        )
        return _first(context, use, parts, depth)
    if depth > _DEEP:
        return []
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, scope))
    functions = {callee.function for callee, _ in invoked}
    if len(functions) != 1:
        return []
    called = functions.pop()
    for param in called.params.values():
        given = argument_of(context, use.event, param)
        if given is not None and given[1] is use.node:
            return _first(context, use, context.shared(uses).get((called.scope, param), ()), depth)
    return []


def _first(context: Context, use: Use, found: Iterable[Use], depth: int) -> list[Use]:
    """Return the uses from one on that lead to the first mask which one of others leads to."""
    for one in found:
        if chain := _to_mask(context, one, depth + 1):
            return [use, *chain]
    return []


def _drops(chain: list[Use]) -> bool:
    """Say whether a name speaks of dropout: of a key or function on the way, or one where the mask is drawn."""
    ways = [word for use in chain for word in (ast.unparse(use.node), use.name)]
    home = chain[-1].event.scope
    return any(map(_DROPPING.search, (*ways, *names_in(home.node), home.function.name if home.function else "")))


def _like_data(use: Use) -> bool:
    """Say whether a mask has the shape of an array."""
    call = use.event.node
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "shape")]
    return any(isinstance(one, ast.Attribute) and one.attr == "shape" for one in given)


def _takes_step(body: FunctionFacts, chain: list[Use]) -> bool:
    """Say whether a body, or a function that it gives the key to, goes on with parameters that gradients changed."""
    functions = {body, *(one.event.scope.function for one in chain)}
    for function in functions:
        for node in ast.walk(function.node) if function is not None else ():
            if isinstance(node, ast.Call) and last_word(node.func) in _STEPPING:
                return True
            if isinstance(node, ast.Call) and last_word(node.func) in {"map", "tree_map"} and node.args:
                step = node.args[0].body if isinstance(node.args[0], ast.Lambda) else None
                if isinstance(step, ast.BinOp) and isinstance(step.op, ast.Sub):
                    return True
    return False
