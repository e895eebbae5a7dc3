"""What a tuple, NamedTuple or frozen dataclass takes into its hash; part of NNX826."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import Arrays, made_by_jax
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.unhashable_objects import hashless, without_hash
from codemods.nnx.values import Attr, Call, Choice, Class, Const, Free, Function, Mapping, Param, Ref, Sequence, Value

DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
LISTING = frozenset(f"builtins.{word}" for word in ("list", "dict", "set", "sorted", "bytearray", "vars"))
_NUMPY = frozenset(f"numpy.{word}" for word in ("array", "asarray", "zeros", "ones", "arange", "linspace", "full"))
#: Methods with which a class decides itself what it keeps, or what its hash is.
_OWN = frozenset({"__hash__", "__eq__", "__init__", "__new__", "__post_init__"})
#: Decorators that make a dataclass, and whether it is frozen when they do not say.
_DATACLASSES = {"dataclasses.dataclass": False, "flax.struct.dataclass": True}
#: Functions that make classes of tuples with names.
_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
_DEPTH = 3


def held(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return in words what has no hash among the parts that a value hashes; empty if nothing is known to have none.

    Args:
        context: the analysis.
        node: the expression that gives the value.
        scope: the scope that it stands in.
    """
    given = context.flow.here(scope.module.values[node], scope)
    made = context.flow.resolve(given)
    sources = [made] if isinstance(made.value, Sequence | Call) else list(context.sources.originals(given))
    if isinstance(made.value, Param):
        sources = _objects(context, made.value, 0) or sources
    every = [_without_hash(context, one, scope, 0) for one in sources]
    return every[0] if every and all(every) else ""


def _objects(context: Context, param: Param, depth: int) -> list[Bound]:
    """Return the objects whose methods are called, for the ``self`` of these methods."""
    function = param.function
    if param is not function.self_param or depth > _DEPTH:
        return []
    found: list[Bound] = []
    for event in context.flow.sites.callers(function):
        callee = event.value.callee
        base = callee.base if isinstance(callee, Attr) and callee.name == function.name else callee
        one = context.flow.resolve(context.flow.here(base, event.scope))
        found += _objects(context, one.value, depth + 1) if isinstance(one.value, Param) else [one]
    return found


def from_numpy(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is an array that a function of numpy made.

    Args:
        context: the analysis.
        value: the value.
        scope: the scope that it was written in.
    """
    found = context.flow.resolve(context.flow.here(value, scope))
    made = isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _NUMPY
    if not made or context.kinds.only(context.flow.here(value, scope)) is not Kind.NUMPY:
        return False
    return not _numbers(context, value, scope)


def _numbers(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is a tuple of what one axis of an array of numpy holds: numbers, which have a hash."""
    if depth > _DEPTH:
        return False
    if isinstance(value, Free):
        return _numbers(context, value.scope.env.get(value.name), value.scope, depth + 1)
    if isinstance(value, Choice):  # on another way it may be None
        ways = [one for one in value.options if not isinstance(one, Const)]
        return bool(ways) and all(_numbers(context, one, scope, depth + 1) for one in ways)
    if not isinstance(value, Call) or len(value.args) != 1:
        return False
    if context.flow.calls.callee_name(context.flow.here(value, scope)) != "builtins.tuple":
        return False
    axes = Arrays(context, {}).of(value.args[0], scope).axes
    return axes is None or axes < 2


def dataclass_options(context: Context, cls: ClassFacts) -> dict[str | None, object] | None:
    """Return the options of the decorator that makes a class a dataclass; None if there is none.

    Args:
        context: the analysis.
        cls: the class.
    """
    for decorator in cls.decorators:
        found = context.flow.resolve(context.flow.here(decorator, cls.scope.parent or cls.scope))
        options = found.value if isinstance(found.value, Call) else None
        name = context.flow.calls.callee_name(found) if options is not None else getattr(found.value, "name", "")
        if name in _DATACLASSES:
            given = {} if options is None else {k.arg: constant(k.value) for k in options.node.keywords}
            return {"frozen": _DATACLASSES[name], **given}
    return None


def _without_hash(context: Context, made: Bound, scope: Scope, depth: int) -> str:
    """Return what has no hash among the parts of what is made somewhere."""
    value = made.value
    if depth > _DEPTH or not isinstance(value, Sequence | Call):
        return ""
    home = made.frame.function.scope if made.frame is not None else context.bodies.home(value.node)
    if home is None and value.node in context.bodies.nodes(scope):
        home = scope
    if home is None:
        return ""
    for part in _hashed(context, made, value):
        if made_by_jax(context, part, home) or from_numpy(context, part, home):
            return "an array"
        display = part.node if isinstance(part, Sequence | Mapping) else None
        if isinstance(display, DISPLAYS):
            return f"`{ast.unparse(display)}`"
        inner = context.flow.resolve(context.flow.follow(made, part))
        if context.flow.calls.callee_name(inner) == "dataclasses.field":
            found = _from_factory(context, inner, depth)
        else:
            found = _without_hash(context, inner, home, depth + 1) or without_hash(context, inner)
        if found:
            return found
    return ""


def _hashed(context: Context, made: Bound, value: Sequence | Call) -> Iterator[Value]:
    """Yield the parts that go into a hash."""
    if isinstance(value, Sequence):
        if isinstance(value.node, ast.Tuple):
            yield from value.items
        return
    if value.starred or any(name is None for name, _ in value.keywords):
        return
    given = value.given
    callee = context.flow.follow(made, value.callee)
    if context.flow.calls.callee_name(callee) in _TUPLES:
        yield from given
    if not isinstance(callee.value, Class):
        return
    cls = callee.value.facts
    parents, bases = context.flow.classes.mro(cls)
    if "typing.NamedTuple" in bases and all(_OWN.isdisjoint(parent.scope.bindings) for parent in parents):
        yield from given
    elif _by_fields(context, cls):
        yield from _of_fields(cls, value)


def _by_fields(context: Context, cls: ClassFacts) -> bool:
    """Say whether the hash of an object is that of its fields, which the constructor takes as they are."""
    if any(not _OWN.isdisjoint(parent.scope.bindings) for parent in context.flow.classes.mro(cls)[0]):
        return False
    options = dataclass_options(context, cls) if not cls.bases else None
    return options is not None and options.get("frozen") is True and options.get("eq") is not False


def _of_fields(cls: ClassFacts, made: Call | None) -> Iterator[Value]:
    """Yield what a call gives for the fields of a dataclass that its hash takes in, and the defaults of others.

    Args:
        cls: the dataclass.
        made: the call; None for one without arguments.
    """
    names = [name for name, annotation in cls.fields.items() if "ClassVar" not in ast.unparse(annotation)]
    defaults = {name: value for name in names if (value := cls.scope.env.get(name)) is not None}
    args, keywords = (made.args, made.keywords) if made is not None else ((), ())
    if len(args) > len(names) or any("KW_ONLY" in ast.unparse(cls.fields[name]) for name in names):
        return
    given = {**dict(zip(names, args, strict=False)), **{name: value for name, value in keywords if name}}
    for name in names:
        default = defaults.get(name)
        if "InitVar" in ast.unparse(cls.fields[name]) or _left_out(cls, default):
            continue
        if name in given:
            yield given[name]
        elif default is not None:
            yield default


def _left_out(cls: ClassFacts, default: Value | None) -> bool:
    """Say whether the hash leaves a field out, or may do so."""
    if not isinstance(default, Call):
        return False
    options = dict(default.keywords)
    if "kw_only" in options or None in options or default.starred:
        return True
    said = options.get("hash", options.get("compare"))
    if said == Const(None):
        said = options.get("compare")
    return said is not None and not (isinstance(said, Const) and said.value is True)


def _from_factory(context: Context, field: Bound, depth: int) -> str:
    """Return what has no hash of a default that a function or a class makes: ``field(default_factory=lambda: [8])``."""
    assert isinstance(field.value, Call)
    factory = field.value.keyword("default_factory")
    made = context.flow.follow(field, factory).value if factory is not None else None
    if isinstance(made, Ref) and made.name in LISTING:
        return f"a {made.name.rpartition('.')[2]}"
    if isinstance(made, Class) and depth < _DEPTH:
        return hashless(context, made.facts) or _by_default(context, made.facts, depth + 1)
    if not isinstance(made, Function) or len(made.facts.returns) != 1:
        return ""
    returned = made.facts.returns[0]
    if made_by_jax(context, returned, made.facts.scope) or from_numpy(context, returned, made.facts.scope):
        return "an array"
    display = returned.node if isinstance(returned, Sequence | Mapping) else None
    return f"`{ast.unparse(display)}`" if isinstance(display, DISPLAYS) else ""


def _by_default(context: Context, cls: ClassFacts, depth: int) -> str:
    """Return what has no hash of an object that a dataclass makes without arguments."""
    for default in _of_fields(cls, None) if _by_fields(context, cls) else ():
        made = context.flow.resolve(context.flow.here(default, cls.scope))
        if context.flow.calls.callee_name(made) == "dataclasses.field":
            found = _from_factory(context, made, depth)
            if found:
                return found
    return ""
