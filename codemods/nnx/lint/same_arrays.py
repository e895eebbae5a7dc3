"""Whether another argument of a call may be the very arrays that the call is given elsewhere, under another name."""

from __future__ import annotations

import ast

from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.values import Attr, Call, Choice, Const, Either, Item, Loop, Mapping, Param, Value

_DEPTH = 6


def second_name(event: CallEvent, node: ast.expr, value: Value) -> ast.expr | None:
    """Return another argument of a call that is the same on a way through the text: after ``target = params``.

    Args:
        event: the call.
        node: one of its arguments.
        value: the value of that.
    """
    pairs = [*zip(event.node.args, event.value.args, strict=False)]
    pairs += [(k.value, v) for k, (_, v) in zip(event.node.keywords, event.value.keywords, strict=True)]
    for one, other in pairs:
        if type(one) is not type(node) or ast.dump(one) == ast.dump(node):
            continue
        if isinstance(one, ast.Name) and _same(other, value, 0):
            return one
        if isinstance(one, ast.Attribute) and _same_field(event, other, value):
            return one
        if isinstance(one, ast.Subscript) and _same_entry(event, one, node):
            return one
    return None


def _same(other: Value, value: Value, depth: int) -> bool:
    """Say whether a variable may hold what another one does."""
    if depth > _DEPTH or isinstance(value, Const) or isinstance(other, Const):
        return False
    if other == value:
        return isinstance(value, Call | Item | Mapping | Param | Loop | Attr)
    if isinstance(other, Choice) and not isinstance(other, Either):
        return any(_same(option, value, depth + 1) for option in other.options)
    if not isinstance(value, Loop):
        return False
    if isinstance(other, Loop) and other.node is value.node:  # at the head of the same round
        kept = other.again is not None and value.again is not None and other.again is not other
        return _same(other.before, value.before, depth + 1) or (kept and _after(other.again, value.again, depth + 1))
    return not isinstance(other, Loop) and _same(other, value.before, depth + 1)  # in the first round


def _after(other: Value | None, value: Value | None, depth: int) -> bool:
    """Say whether a round may leave the same in two variables."""
    if other is None or value is None or isinstance(value, Loop | Choice):
        return False
    return _same(other, value, depth)


def _same_field(event: CallEvent, other: Value, value: Value) -> bool:
    """Say whether two attributes of an object are given the same in a method, or one of them the other."""
    function = event.scope.function
    owner = function.owner if function is not None else None
    if owner is None or function is None or not isinstance(other, Attr) or not isinstance(value, Attr):
        return False
    if other.base is not function.self_param or value.base is not function.self_param:
        return False
    for method, stored in owner.stores.get(other.name, ()):
        if isinstance(stored, Attr) and stored.name == value.name and stored.base is method.self_param:
            return True
    return _made_alike(owner, other.name, value.name)


def _made_alike(owner: ClassFacts, one: str, two: str) -> bool:
    """Say whether the constructor leaves the same in two attributes."""
    last: dict[str, Value] = {}
    for name in (one, two):
        made = [value for method, value in owner.stores.get(name, ()) if method.name == "__init__"]
        if len(made) != 1:
            return False
        last[name] = made[0]
    return isinstance(last[one], Call | Item | Mapping | Param) and last[one] == last[two]


def _same_entry(event: CallEvent, one: ast.Subscript, node: ast.expr) -> bool:
    """Say whether two entries of a dict that is written out are the same, as it is made or in the first round."""
    if (
        not isinstance(node, ast.Subscript)
        or not isinstance(one.value, ast.Name)
        or not isinstance(node.value, ast.Name)
    ):
        return False
    whole = event.scope.module.values.get(one.value)
    if isinstance(whole, Loop):
        whole = whole.before
    if one.value.id != node.value.id or not isinstance(whole, Mapping):
        return False
    keys = [n.slice.value for n in (one, node) if isinstance(n.slice, ast.Constant)]
    held = [v for key in keys for k, v in whole.items if isinstance(k, Const) and k.value == key]
    return len(held) == 2 and held[0] == held[1] and isinstance(held[0], Call | Item | Mapping | Param)
