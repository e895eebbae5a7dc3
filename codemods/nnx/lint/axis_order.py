"""In which order the axes of an array stand after its last one was split and others were exchanged."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Comprehension, Const, Free, Item, Sequence, Unknown, Value

#: The axes of an array by where they come from: a number is that axis of the array that was split, a word a part of
#: its last axis.
Order = tuple[int | str, ...]

_DEPTH = 8
#: The parts of the last axis: how many, and how wide each is.
HEADS, PART = "heads", "part"
_STACKED = "stacked"  # queries, keys and values made at once
_SAME = frozenset({"astype", "asarray", "array", "copy", "Dropout", "dropout", "contiguous"})


def sizes(call: Call) -> tuple[Value, list[ast.expr]] | None:
    """Return what is reshaped or transposed, and the sizes or axes: ``x.f(a, b)`` or ``jnp.f(x, (a, b))``."""
    node, callee = call.node, call.callee
    if call.starred or node.keywords:
        return None
    function = isinstance(node.func, ast.Attribute) and last_word(node.func.value) in {"jnp", "np", "numpy"}
    if function or not isinstance(node.func, ast.Attribute):
        if len(node.args) < 2:
            return None
        whole, given = call.args[0], node.args[1:]
    elif isinstance(callee, Attr):
        whole, given = callee.base, node.args
    else:
        return None
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        given = given[0].elts
    return (whole, list(given)) if len(given) > 1 else None


class AxisOrder:
    """Tells of values in which order the axes stand of an array of three axes whose last one was split."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of(self, value: Value | None, scope: Scope, depth: int = 0) -> Order | None:
        """Return where the axes of a value of a scope come from, if it is an array whose last axis was split."""
        if value is None or depth > _DEPTH:
            return None
        if isinstance(value, Item) and isinstance(value.index, Const):
            return self._item(value.base, value.index.value, scope, depth)
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            return self._product(value.node, scope, depth)
        return self._called(value, scope, depth) if isinstance(value, Call) else None

    def _item(self, base: Value, index: object, scope: Scope, depth: int) -> Order | None:
        """Return the order of one of several arrays: in a tuple, made in a comprehension, or stacked along an axis."""
        if isinstance(base, Comprehension):
            return self.of(base.element, scope, depth + 1)
        if isinstance(base, Sequence) and isinstance(index, int) and index < len(base.items):
            return self.of(base.items[index], scope, depth + 1)
        order = self.of(base, scope, depth + 1)
        return order[1:] if order is not None and order[0] == _STACKED else None

    def _written(self, node: ast.expr, scope: Scope, depth: int) -> Order | None:
        return self.of(scope.module.values.get(node), scope, depth + 1)

    def _product(self, node: ast.BinOp, scope: Scope, depth: int) -> Order | None:
        """Return the order of ``weights @ values``: rows of the first, of which there is one for each of a sequence."""
        if isinstance(node.op, ast.Div | ast.Mult):
            return self._written(node.left, scope, depth) or self._written(node.right, scope, depth)
        order = self._written(node.right, scope, depth) if isinstance(node.op, ast.MatMult) else None
        return order if order is not None and order[-1] == PART else None

    def _called(self, call: Call, scope: Scope, depth: int) -> Order | None:
        word = last_word(call.node.func)
        if word in {"reshape", "transpose", "swapaxes", "moveaxis", "permute_dims"}:
            return self._moved(word, call, scope, depth)
        if word == "einsum":
            return self._einsum(call, scope, depth)
        if word == "rearrange":
            return _rearranged(call)
        if word == "matmul" and len(call.args) == 2:
            order = self.of(call.args[1], scope, depth + 1)
            return order if order is not None and order[-1] == PART else None
        if word in _SAME:
            callee = call.callee
            same = callee.base if word in {"astype", "copy"} and isinstance(callee, Attr) and not call.args else None
            return self.of(same if same is not None else next(iter(call.args), None), scope, depth + 1)
        return self._returned(call, scope, depth)

    def _returned(self, call: Call, scope: Scope, depth: int) -> Order | None:
        """Return the order of what a function of the project gives back, as one that splits heads does."""
        flow = self._context.flow
        called = {one.function for one in flow.calls.callables(flow.here(call.callee, scope))}
        function = called.pop() if len(called) == 1 else None
        if function is None or len(function.returns) != 1 or function.generator:
            return None
        return self.of(function.returns[0], function.scope, depth + 1)

    def _moved(self, word: str, call: Call, scope: Scope, depth: int) -> Order | None:
        found = sizes(call)
        if found is None:
            return None
        whole, given = found
        if word == "reshape":
            return self._split(given, scope)
        order = self.of(whole, scope, depth + 1)
        axes = [constant(axis) for axis in given]
        if order is None or not all(isinstance(axis, int) for axis in axes):
            return None
        places = [axis % len(order) for axis in axes if isinstance(axis, int)]
        if word in {"transpose", "permute_dims"}:
            return tuple(order[place] for place in places) if sorted(places) == list(range(len(order))) else None
        if len(places) != 2:
            return None
        moved = list(order)
        if word == "swapaxes":
            moved[places[0]], moved[places[1]] = order[places[1]], order[places[0]]
        else:
            moved.insert(places[1], moved.pop(places[0]))
        return tuple(moved)

    def _split(self, given: list[ast.expr], scope: Scope) -> Order | None:
        """Return the order of ``x.reshape(batch, length, heads, width)``."""
        if len(given) not in (4, 5) or [self.axis(size, scope) for size in given[:2]] != [0, 1]:
            return None
        if any(self.axis(size, scope) is not None for size in given[2:]) or any(constant(size) == 1 for size in given):
            return None
        if len(given) == 4:
            return (0, 1, HEADS, PART)
        few = [place for place in (2, 3, 4) if constant(given[place]) in (2, 3)]
        return (0, 1, *{2: (_STACKED, HEADS, PART), 3: (HEADS, _STACKED, PART)}.get(few[0], ())) if few else None

    def _einsum(self, call: Call, scope: Scope, depth: int) -> Order | None:
        """Return the order of ``einsum("bhqk,bhkd->bhqd", weights, values)``."""
        spec = constant(call.node.args[0]) if call.node.args else None
        if not isinstance(spec, str) or "->" not in spec or "." in spec or len(call.args) != 3:
            return None
        given, _, result = spec.replace(" ", "").partition("->")
        parts = given.split(",")
        order = self.of(call.args[2], scope, depth + 1)
        if len(parts) != 2 or order is None or len(parts[1]) != len(order):
            return None
        known = dict(zip(parts[1], order, strict=True))
        # the queries stand where the keys are summed over
        found = tuple(known.get(letter, 1) for letter in result)
        return found if len(set(found)) == len(found) == 4 else None

    def axis(self, size: ast.expr, scope: Scope) -> int | None:
        """Return which axis of the array that is split a size is of; an axis of an array it is made from counts."""
        value = scope.module.values.get(size)
        if isinstance(value, Free):
            bound = value.scope.bindings.get(value.name, ())
            value = bound[0] if len(bound) == 1 else None
        if not isinstance(value, Item) or not isinstance(value.index, Const):
            return None
        shape, index = value.base, value.index.value
        if not isinstance(shape, Attr) or shape.name != "shape" or not isinstance(index, int):
            return None
        order = self.of(shape.base, scope)
        if order is not None:
            found = order[index] if -len(order) <= index < len(order) else None
            return found if isinstance(found, int) else None
        return index if index >= 0 else None


_NAMED_HEADS = frozenset({"h", "H", "nh", "n_heads", "num_heads", "heads", "head"})


def _rearranged(call: Call) -> Order | None:
    """Return the order of ``einops.rearrange(x, "b t (h d) -> b h t d", h=heads)``, which splits the last axis."""
    spec = constant(call.node.args[1]) if len(call.node.args) == 2 else None
    if not isinstance(spec, str) or spec.count("->") != 1 or "." in spec:
        return None
    given, result = (part.strip() for part in spec.split("->"))
    before, opened, group = given.partition("(")
    names, parts = before.split(), group.removesuffix(")").split()
    if not opened or not group.endswith(")") or {*"()"} & {*group[:-1], *result} or len(names) != 2:
        return None
    sizes = {one.arg: one.value for one in call.node.keywords}
    stacked = [name for name in parts if constant(sizes.get(name)) in (2, 3)]
    kept = [name for name in parts if name not in stacked]
    heads = (
        [name for name in kept if "head" in last_word(sizes[name]).lower()]
        if sizes.keys() >= {*kept}
        else [
            name
            for name in kept
            if name in _NAMED_HEADS or (name in sizes and "head" in last_word(sizes[name]).lower())
        ]
    )
    if len(stacked) > 1 or len(kept) != 2 or len(heads) != 1:
        return None
    origin: dict[str, int | str] = {name: place for place, name in enumerate(names)}
    origin |= {name: HEADS if name in heads else PART for name in kept} | dict.fromkeys(stacked, _STACKED)
    order = result.split()
    return tuple(origin[name] for name in order) if sorted(order) == sorted(origin) else None
