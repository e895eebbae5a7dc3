"""NNX775: a class of pytrees whose objects come back as others when they are taken apart and rebuilt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lost_field import Place, lost_field
from codemods.nnx.lint.moved_values import moved
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import assignments, own_nodes, taken_apart
from codemods.nnx.values import Attr, Call, Class, Const, Item, Mapping, Param, Ref, Sequence, Star, Value

_DECORATORS = frozenset({"register_pytree_node_class", "register_pytree_with_keys_class"})
_FUNCTIONS = frozenset({"register_pytree_node", "register_pytree_with_keys"})
_HOME = "jax.tree_util."


@dataclass
class _Made:
    """What rebuilding puts into the attributes of an object.

    Attributes:
        node: what makes the object.
        origins: the attribute that each attribute gets as it was.
        changed: the attributes that are computed anew, with what computes them.
    """

    node: ast.AST
    origins: dict[str, str] = field(default_factory=dict)
    changed: dict[str, ast.expr] = field(default_factory=dict)


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"register_pytree") for m in context.project.modules):
        return
    for cls, flatten, unflatten in registered(context):
        if in_test(cls.scope) or unflatten.scope.module not in context.asked:
            continue
        taken = _taken(flatten)
        lost = lost_field(context, cls, flatten, unflatten, taken) if taken else None
        if lost is not None:
            yield finding(
                RULE.code,
                unflatten.scope,
                lost[0],
                f"a {cls.name} comes back with the default of `{lost[1]}`, which is neither among its children nor in "
                "the rest",
                f"put `self.{lost[1]}` into the second thing that flattening gives, and pass it here",
                related=[(flatten.node, "taken apart here")] if flatten.scope.module is unflatten.scope.module else [],
            )
            continue
        made = _rebuilt(context, cls, unflatten, taken) if taken else None
        if made is None:
            continue
        names = {name for name in taken.values() if name is not None}
        swapped = next((n for n, origin in made.origins.items() if origin != n and n in names), None)
        again = next((name for name in made.changed if name in names), None)
        if any(context.flow.classes.method(cls, name) is not None for name in names):
            continue  # a property may be another view of an attribute
        if swapped is not None:
            yield finding(
                RULE.code,
                unflatten.scope,
                made.node,
                f"a {cls.name} comes back with its `{made.origins[swapped]}` as `{swapped}`: "
                "they are taken apart in another order than they are put together",
                "name them in the same order in both functions",
                related=[(flatten.node, "taken apart here")] if flatten.scope.module is unflatten.scope.module else [],
            )
        elif again is not None:
            yield finding(
                RULE.code,
                unflatten.scope,
                made.node,
                f"the constructor of {cls.name} computes `{again}` anew whenever an object is rebuilt, of what it "
                "has computed before",
                "set the attributes of object.__new__(cls), or take apart what the constructor was given",
                related=[(made.changed[again], "computed here")] if cls.scope.module is unflatten.scope.module else [],
            )


def registered(context: Context) -> Iterator[tuple[ClassFacts, FunctionFacts, FunctionFacts]]:
    """Yield the classes that are registered as pytrees, with what takes their objects apart and rebuilds them."""
    flow = context.flow
    classes: dict[ClassFacts, None] = {}
    for cls in context.project.classes():
        scope = cls.scope.parent
        for decorator in cls.decorators if scope is not None else ():
            assert scope is not None
            one = flow.resolve(flow.here(decorator, scope)).value
            if isinstance(one, Ref) and one.name.startswith(_HOME) and last(one.name) in _DECORATORS:
                classes[cls] = None
    for event, name in foreign(context, *_DECORATORS, *_FUNCTIONS, everywhere=True):
        if not name.startswith(_HOME) or event.value.starred or not event.value.args:
            continue
        given = flow.resolve(flow.here(event.value.args[0], event.scope)).value
        if not isinstance(given, Class):
            continue
        if last(name) in _DECORATORS:
            classes[given.facts] = None
            continue
        pair = [event.value.argument(1, "flatten_func"), event.value.argument(2, "unflatten_func")]
        if last(name) == "register_pytree_with_keys":
            pair[0] = event.value.argument(1, "flatten_with_keys")
        functions = [_function(context, flow.here(one, event.scope)) for one in pair if one is not None]
        if len(functions) == 2 and functions[0] is not None and functions[1] is not None:
            yield given.facts, functions[0], functions[1]
    for cls in classes:
        unflatten = flow.classes.method(cls, "tree_unflatten")
        flatten = flow.classes.method(cls, "tree_flatten") or flow.classes.method(cls, "tree_flatten_with_keys")
        if flatten is not None and unflatten is not None:
            yield cls, flatten, unflatten


def _function(context: Context, bound: Bound) -> FunctionFacts | None:
    reached = context.flow.calls.callables(bound)
    plain = len(reached) == 1 and not reached[0].args and not reached[0].keywords
    return reached[0].function if plain else None


def _taken(flatten: FunctionFacts) -> dict[Place, str | None]:
    """Return which attributes the children and the rest are, None for something else; nothing if there may be more."""
    pair = flatten.returns[0] if len(flatten.returns) == 1 else None
    if flatten.decorators or flatten.generator or not isinstance(pair, Sequence) or len(pair.items) != 2:
        return {}
    param = next(iter(flatten.params.values()), None)
    found: dict[Place, str | None] = {}
    for kind, whole in zip(("children", "rest"), pair.items, strict=True):
        parts: list[tuple[object, Value]] = [(None, whole)]
        if isinstance(whole, Sequence):
            parts = list(enumerate(whole.items))
        elif isinstance(whole, Mapping):
            parts = [(key.value if isinstance(key, Const) else None, item) for key, item in whole.items]
        for place, part in parts:
            if isinstance(part, Star):
                return {}
            if isinstance(part, Sequence) and len(part.items) == 2 and flatten.name.endswith("keys"):
                part = part.items[1]  # with its key before it
            found[kind, place] = part.name if isinstance(part, Attr) and part.base is param else None
    names = [name for name in found.values() if name is not None]
    return found if len({*names}) == len(names) else {}


def _rebuilt(
    context: Context, cls: ClassFacts, unflatten: FunctionFacts, taken: dict[Place, str | None]
) -> _Made | None:
    """Return what rebuilding an object puts into its attributes; None if that is not known."""
    names = list(unflatten.params.values())[unflatten.binding == "class" :]
    if len(names) != 2 or len(unflatten.returns) != 1 or unflatten.generator:
        return None
    result = unflatten.returns[0]
    origin = _Origins(names[1], names[0], taken)
    if not isinstance(result, Call):
        return None
    callee = context.flow.resolve(context.flow.here(result.callee, unflatten.scope))
    own = callee.value is next(iter(unflatten.params.values())) and unflatten.binding == "class"
    if own or (isinstance(callee.value, Class) and callee.value.facts is cls):
        made = _constructed(context, cls, result, origin)
        if made is not None and _assigned(unflatten, origin, _Made(result.node)).origins:
            return None  # attributes are set afterwards
        return made
    bare = isinstance(result.callee, Attr) and result.callee.name == "__new__"
    made_bare = context.flow.classes.method(cls, "__new__") is None and unflatten.binding == "class"
    if bare and (made_bare or context.flow.calls.callee_name(context.flow.here(result, unflatten.scope))):
        return _assigned(unflatten, origin, _Made(result.node))
    return None


class _Origins:
    """Tells which attribute a value was before it was taken apart."""

    def __init__(self, children: Param, rest: Param, taken: dict[Place, str | None]) -> None:
        self._kinds: dict[Value, str] = {children: "children", rest: "rest"}
        self._taken = taken

    def of(self, value: Value | None) -> str | None:
        """Return the attribute that a value was; None if that is not known."""
        if isinstance(value, Item) and value.base in self._kinds and isinstance(value.index, Const):
            return self._taken.get((self._kinds[value.base], value.index.value))
        return self._taken.get((self._kinds[value], None)) if value in self._kinds else None

    def all_of(self, value: Value) -> dict[object, str | None] | None:
        """Return the attributes of all that is unpacked, by place or by name; None if that is not known."""
        kind = self._kinds.get(value)
        found = {place: name for (one, place), name in self._taken.items() if one == kind and place is not None}
        return {**found} if kind is not None and found else None


def _constructed(context: Context, cls: ClassFacts, call: Call, origin: _Origins) -> _Made | None:
    """Return what a call of the constructor puts into the attributes."""
    init = context.flow.classes.method(cls, "__init__")
    own, bases = context.flow.classes.mro(cls)
    if any("__new__" in one.methods or "__post_init__" in one.methods or "__setattr__" in one.methods for one in own):
        return None
    if init is None and bases - {"builtins.object", "abc.ABC", "typing.Generic"}:
        return None
    names = list(init.params)[1 : init.positional] if init is not None else context.flow.classes.dataclass_fields(cls)
    given: dict[str, str] = {}
    place = 0
    for value in call.args:
        if isinstance(value, Star):
            every = origin.all_of(value.value)
            if every is None or not all(isinstance(key, int) for key in every):
                return None
            if sorted(every) != list(range(len(every))):  # type: ignore[type-var]
                return None
            parts = [every[key] for key in range(len(every))]
        else:
            parts = [origin.of(value)]
        for part in parts:
            if place >= len(names):
                return None
            if part is not None:
                given[names[place]] = part
            place += 1
    for key, value in call.keywords:
        if key is not None and (one := origin.of(value)) is not None:
            given[key] = one
        elif key is None:
            given |= {k: v for k, v in (origin.all_of(value) or {}).items() if isinstance(k, str) and v is not None}
    made = _Made(call.node)
    if init is None:
        made.origins = given
        return made
    return _stored(context, init, given, made)


def _stored(context: Context, init: FunctionFacts, given: dict[str, str], made: _Made) -> _Made | None:
    """Return what a constructor stores, each attribute once and on every way."""
    if any(isinstance(node, ast.Return) for node in own_nodes(init.node)):
        return None
    values = init.scope.module.values
    body = init.node.body if isinstance(init.node, ast.FunctionDef) else []
    stores = [n for n in own_nodes(init.node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    for statement in body:
        for target, node in assignments(statement):
            if not isinstance(target, ast.Attribute) or values.get(target.value) is not init.self_param:
                continue
            if sum(one.attr == target.attr for one in stores) != 1:
                continue
            value = values.get(node)
            if isinstance(value, Param) and value.name in given:
                made.origins[target.attr] = given[value.name]
                continue
            changed = moved(context, node, init.scope)
            if changed is not None and given.get(changed.name) == target.attr:
                made.changed[target.attr] = node
    return made


def _assigned(unflatten: FunctionFacts, origin: _Origins, made: _Made) -> _Made:
    """Return what is assigned to the attributes of an object that was made without its constructor."""
    values = unflatten.scope.module.values
    for node in own_nodes(unflatten.node):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        for one, value in taken_apart(target, node.value):
            if isinstance(one, ast.Attribute) and (name := origin.of(values.get(value))) is not None:
                made.origins[one.attr] = name
        if isinstance(target, ast.Tuple) and (whole := values.get(node.value)) is not None:
            for place, part in enumerate(target.elts):
                name = origin.of(Item(whole, Const(place)))
                if isinstance(part, ast.Attribute) and name is not None:
                    made.origins[part.attr] = name
    return made


RULE = lint_rule(
    "NNX775",
    "unlike-rebuilt",
    "a pytree whose objects are rebuilt with other values than they were taken apart with",
    why="""\
`jit`, `grad`, `scan` and `jax.tree.map` take an object of a registered class apart and rebuild it. If the fields are
put together in another order, they change places at every transformation; if the constructor computes them, as with
`self.scale = jax.nn.softplus(raw)`, it computes them again of what it has computed; and a field that is not among what
they were taken apart into gets its default again. Nothing is raised.
""",
    source="jax issue 3265 and documentation of custom pytree nodes; measured: other values under jit than without it",
    check=_check,
    bad=(
        """\
import jax


@jax.tree_util.register_pytree_node_class
class Line:
    def __init__(self, slope, offset):
        self.slope = slope
        self.offset = offset

    def tree_flatten(self):
        return (self.offset, self.slope), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
""",
        """\
import jax


class Scale:
    def __init__(self, raw):
        self.scale = jax.nn.softplus(raw)


jax.tree_util.register_pytree_node(Scale, lambda s: ((s.scale,), None), lambda _, children: Scale(*children))
""",
    ),
    clean=(
        """\
import jax


@jax.tree_util.register_pytree_node_class
class Line:
    def __init__(self, slope, offset):
        self.slope = slope
        self.offset = offset

    def tree_flatten(self):
        return (self.slope, self.offset), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
""",
        """\
import jax


class Scale:
    def __init__(self, raw):
        self.raw = raw

    @property
    def scale(self):
        return jax.nn.softplus(self.raw)


jax.tree_util.register_pytree_node(Scale, lambda s: ((s.raw,), None), lambda _, children: Scale(*children))
""",
    ),
)
