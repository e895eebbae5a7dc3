"""Keys that the body of a loop of JAX draws with and hands on, to be split again in the next round; part of NNX830."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.keys import Use, uses
from codemods.nnx.lint.loop_bodies import Body, bodies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Call, Class, Item, Mapping, Param, Ref, Sequence, Value

_LOOPS = frozenset({"scan", "fori_loop", "while_loop"})


def carried_keys(context: Context) -> Iterator[Use]:
    """Yield the draws with the part of a split key that becomes the key of the next round."""
    known: dict[tuple[Scope, Value], list[Use]] = context.shared(uses)
    for body in bodies(context):
        scope = body.function.scope
        if last(body.loop) not in _LOOPS or body.role == "cond_fun" or body.function.generator:
            continue
        if scope.module not in context.asked or in_test(scope):
            continue
        for part in _carried(context, body):
            draws = [
                use
                for use in (known.get((scope, part), ()) if _of_carry(context, part, body) else ())
                if not use.helper and not use.masks and last(use.name) != "split"
            ]
            if draws:
                yield draws[0]
                break


def _carried(context: Context, body: Body) -> Iterator[Value]:
    """Yield what a body returns for the parts of its carry."""
    for returned in body.function.returns:
        whole: Value | None = returned
        if last(body.loop) == "scan":
            whole = returned.items[0] if isinstance(returned, Sequence) and len(returned.items) == 2 else None
        yield from _leaves(context, whole, body.function.scope)


def _leaves(context: Context, value: Value | None, scope: Scope) -> Iterator[Value]:
    if isinstance(value, Sequence):
        for item in value.items:
            yield from _leaves(context, item, scope)
    elif isinstance(value, Mapping):
        for _, item in value.items:
            yield from _leaves(context, item, scope)
    elif isinstance(value, Call):
        if _keeps(context, value, scope):
            yield from value.given
    elif value is not None:
        yield value


def _keeps(context: Context, made: Call, scope: Scope) -> bool:
    """Say whether a call makes a record that holds what it is given, and does not compute with it."""
    if isinstance(made.callee, Attr) and made.callee.name in {"replace", "_replace"}:
        return True
    bound = context.flow.here(made, scope)
    callee = context.flow.follow(bound, made.callee).value
    if isinstance(callee, Ref):
        return callee.name == "dataclasses.replace" or last(callee.name)[:1].isupper()
    return isinstance(callee, Class) or context.flow.fields.record(bound) is not None


def _of_carry(context: Context, part: Value, body: Body) -> bool:
    """Say whether a value is one of the keys that a key of the carry was split into."""
    made = part.base if isinstance(part, Item) else None
    if not isinstance(made, Call) or not made.args:
        return False
    if context.flow.calls.callee_name(context.flow.here(made, body.function.scope)) != "jax.random.split":
        return False
    key: Value = made.args[0]
    while isinstance(key, Item | Attr):
        key = key.base
    return isinstance(key, Param) and key.function is body.function and key.name in (body.free or ())[-2:]
