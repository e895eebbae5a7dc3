"""NNX777: a place in a buffer that is counted up beyond its end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Value

_CLAMPING = frozenset({"min", "minimum"})
_FILLING = frozenset({"zeros", "ones", "full", "empty"})
# what may keep a number within its bounds
_BOUNDING = frozenset({"min", "minimum", "where", "mod", "remainder", "clip", "select", "cond", "divmod", "fmod"})


def _check(context: Context) -> Iterator[Finding]:
    writing = {one for one in context.asked.modules if one.source.mentions(b".at[") and one.source.mentions(b"min")}
    sizes = {module: found for module in writing if (found := _read_up_to(module))}
    for function in context.asked.functions() if writing else ():
        if function.scope.module in writing and not in_test(function.scope):
            yield from _pointers(context, function.scope)
            if function.scope.module in sizes:
                yield from _counters(context, function.scope, sizes[function.scope.module])


def _pointers(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield the places that a function writes to and counts up, while it counts the entries up to their number."""
    nodes = context.bodies.nodes(scope)
    limits = [pair for node in nodes if (pair := _clamped(node)) is not None]
    if not limits:
        return
    seen: set[str] = set()
    aliases = _aliases(nodes)
    for node in nodes:
        array, place = _written(node)
        if isinstance(place, ast.Name):
            place = aliases.get(place.id)
        if (
            array is None
            or place is None
            or ast.unparse(place) in seen
            or not any(_counts(one, place, aliases) for one in nodes)
        ):
            continue
        seen.add(ast.unparse(place))
        name = _name(place)
        limit = next((one for size, one in limits if _name(size) != name and _sized(context, array, one, scope)), None)
        if limit is not None and name and not any(_bounded(one, name) for one in context.project.modules):
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{ast.unparse(place)}` is counted up without end, and there are `{ast.unparse(limit)}` entries: what "
                "is written behind the last one is dropped",
                f"begin again at the end: ({ast.unparse(place)} + 1) % {ast.unparse(limit)}",
            )


def _counters(context: Context, scope: Scope, sizes: dict[str, list[ast.Call]]) -> Iterator[Finding]:
    """Yield the places that a function writes to and counts up, of which another says that they pass the capacity."""
    nodes = context.bodies.nodes(scope)
    aliases: dict[str, ast.expr] | None = None
    for node in nodes:
        array, place = _written(node)
        if place is None or array is None:
            continue
        aliases = _aliases(nodes) if aliases is None else aliases
        place = aliases.get(place.id) if isinstance(place, ast.Name) else place
        name = _name(place) if place is not None else ""
        read = sizes.get(name, [])
        if place is None or not read or not any(_counts(one, place, aliases) for one in nodes):
            continue
        if any(_bounded(one, name, frozenset(read)) for one in context.project.modules):
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{ast.unparse(place)}` is counted up without end, and what is written behind the last entry is dropped",
            f"begin again at the end: {ast.unparse(place)} % {ast.unparse(array)}.shape[0]",
            related=[(read[0], "read up to the capacity here")],
        )
        return


_CAPACITY = pattern(r"capacity|max_?size|max_?len|buffer_?size|^size$", re.I)


def _read_up_to(module: ModuleFacts) -> dict[str, list[ast.Call]]:
    """Return where a module takes the smaller one of a count and a capacity, as the number of entries, by the count."""
    found: dict[str, list[ast.Call]] = {}
    for call in module.source.of_type(ast.Call):
        if last_word(call.func) not in _CLAMPING or len(call.args) != 2 or call.keywords:
            continue
        for one, limit in (call.args, call.args[::-1]):
            name = _name(one) if isinstance(one, ast.Attribute | ast.Subscript) else ""
            shape = isinstance(limit, ast.Subscript) and last_word(limit.value) == "shape"
            length = isinstance(limit, ast.Subscript) and shape and constant(limit.slice) == 0
            named = isinstance(limit, ast.Name | ast.Attribute) and _CAPACITY.search(last_word(limit)) is not None
            if name and (length or named):
                found.setdefault(name, []).append(call)
    return found


def _aliases(nodes: tuple[ast.AST, ...]) -> dict[str, ast.expr]:
    """Return the attributes and entries that variables are, which are bound once: ``i = self.place``."""
    found: dict[str, ast.expr] = {}
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Subscript):
            target = node.targets[0]
            if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                found[target.id] = node.value
    return found


def _clamped(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return what ``min(size + 1, capacity)`` counts, and its limit."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in _CLAMPING or len(node.args) != 2:
        return None
    for one, limit in (node.args, node.args[::-1]):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add) and constant(one.right) == 1:
            if isinstance(limit, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
                return one.left, limit
    return None


def _written(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the array and the place, or the first of several, in ``x.at[place].set(value)``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "set"):
        return None, None
    item = node.func.value
    if node.keywords or not (isinstance(item, ast.Subscript) and isinstance(item.value, ast.Attribute)):
        return None, None
    place = first_element(item.slice)
    known = item.value.attr == "at" and isinstance(place, ast.Attribute | ast.Subscript | ast.Name)
    return (item.value.value, place) if known else (None, None)


def _counts(node: ast.AST, place: ast.expr, aliases: dict[str, ast.expr]) -> bool:
    """Say whether a node counts a place up by one, for the place itself or for a field of its name."""
    text = ast.unparse(place)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and constant(node.value) == 1 and ast.unparse(node.target) == text
    given: list[tuple[str, ast.expr | None]] = []
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        given = [(_name(node.targets[0]), node.value)]
    elif isinstance(node, ast.Call):
        given = [(k.arg or "", k.value) for k in node.keywords]
    elif isinstance(node, ast.Dict):
        given = [(str(constant(key)), value) for key, value in zip(node.keys, node.values, strict=True)]
    return any(
        name == _name(place)
        and isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Add)
        and constant(value.right) == 1
        and ast.unparse(aliases.get(value.left.id, value.left) if isinstance(value.left, ast.Name) else value.left)
        == text
        for name, value in given
    )


def _name(node: ast.expr) -> str:
    """Return the name of an attribute, or of an entry under a constant name."""
    if isinstance(node, ast.Subscript):
        key = constant(node.slice)
        return key if isinstance(key, str) else ""
    return last_word(node)


def _sized(context: Context, array: ast.expr, limit: ast.expr, scope: Scope) -> bool:
    """Say whether an array has as many entries as a limit says, by its shape or the name that it is made with."""
    text = ast.unparse(limit)
    assigned = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and len(n.targets) == 1]
    said = {text, *(ast.unparse(one.value) for one in assigned if ast.unparse(one.targets[0]) == text)}
    if said & {f"{ast.unparse(array)}.shape[0]", f"len({ast.unparse(array)})"}:
        return True
    value = scope.module.values.get(array)
    if value is None:
        return False
    made = [
        one.value.node
        for one in context.sources.originals(context.flow.here(value, scope))
        if isinstance(one.value, Call) and last(context.flow.calls.callee_name(one)) in _FILLING
    ]
    made = made or _of_dataclass(context, value, scope)
    return bool(made) and all(_first(one) == last_word(limit) for one in made)


def _of_dataclass(context: Context, value: Value, scope: Scope) -> list[ast.Call]:
    """Return the calls that make the arrays which all calls of a dataclass give for a field; nothing if one does not.

    So what an object holds is known in a function that nothing calls, by the annotation of its parameter.
    """
    if not isinstance(value, Attr):
        return []
    cls = context.flow.classes.class_of(context.flow.resolve(context.flow.here(value.base, scope)))
    fields = context.flow.classes.dataclass_fields(cls) if cls is not None else []
    if cls is None or value.name not in fields or "__init__" in cls.methods:
        return []
    found: list[ast.Call] = []
    for event in context.bodies.named(cls.name):
        callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        if not isinstance(callee, Class) or callee.facts is not cls:
            continue
        given = event.value.argument(fields.index(value.name), value.name) if not event.value.starred else None
        if not isinstance(given, Call):
            return []
        if last(context.flow.calls.callee_name(context.flow.here(given, event.scope))) not in _FILLING:
            return []
        found.append(given.node)
    return found


def _first(made: ast.Call) -> str:
    """Return the name that stands for the length of an array that is made."""
    shape = argument(made, 0, "shape")
    first = shape.elts[0] if isinstance(shape, ast.Tuple | ast.List) and shape.elts else shape
    return last_word(first) if first is not None else "-"


def _bounded(module: ModuleFacts, name: str, but: frozenset[ast.AST] = frozenset()) -> bool:
    """Say whether a module compares something of a name, or keeps it within bounds; some calls aside."""
    if name.encode() not in module.source.data:
        return False
    of_type = module.source.of_type
    bounding: list[ast.AST] = [one for one in of_type(ast.BinOp) if isinstance(one.op, ast.Mod)]
    bounding += [one for one in of_type(ast.AugAssign) if isinstance(one.op, ast.Mod)]
    bounding += [one for one in of_type(ast.Call) if last_word(one.func) in _BOUNDING]
    bounding += [*of_type(ast.Compare), *(one.test for one in of_type(ast.If))]
    bounding += [one.test for one in of_type(ast.IfExp)]
    return any(
        isinstance(part, ast.Attribute | ast.Subscript | ast.Name) and _name(part) == name
        for node in bounding
        if node not in but
        for part in ast.walk(node)
    )


RULE = lint_rule(
    "NNX777",
    "unwrapped-place",
    "a place in a buffer that is counted up beyond its end",
    why="""\
What `x.at[place].set(value)` would write behind the end is dropped without an error, so that a buffer that is written
in turn keeps its first entries for ever. Where the number of entries is kept within the capacity, the place has to
begin again: `place = (place + 1) % capacity`.
""",
    source="jax issue 9839 and the tutorial's section on indices out of bounds; measured on Flax 0.10.7 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


class Memory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rewards = jnp.zeros(capacity)
        self.place = 0
        self.size = 0

    def push(self, reward):
        self.rewards = self.rewards.at[self.place].set(reward)
        self.place += 1
        self.size = min(self.size + 1, self.capacity)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


class Memory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rewards = jnp.zeros(capacity)
        self.place = 0
        self.size = 0

    def push(self, reward):
        self.rewards = self.rewards.at[self.place].set(reward)
        self.place = (self.place + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)
""",
        """\
import jax.numpy as jnp


class Log:
    def __init__(self, steps):
        self.losses = jnp.zeros(steps)
        self.place = 0

    def add(self, loss):
        self.losses = self.losses.at[self.place].set(loss)
        self.place += 1
        self.best = min(self.losses[: self.place])
""",
    ),
)
