"""Fields of trees that objects lose when they are taken apart and rebuilt: they get their defaults; part of NNX775."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, assignments, constant, own_nodes
from codemods.nnx.values import Call, Class, Const, Param, Star, Value

#: What takes all attributes at once.
_EVERY = frozenset({"__dict__", "vars", "asdict", "astuple", "fields", "getattr", "setattr", "__setattr__", "update"})
_SHOWING = frozenset({"__repr__", "__str__", "__eq__", "__hash__", "__init__", "__post_init__"})
_OWN = frozenset({"__new__", "__post_init__", "__setattr__", "__getattr__", "__getattribute__"})
#: Where a value comes from: the children or the rest, and the place or name in there; None for all of it.
Place = tuple[str, object]


def lost_field(
    context: Context, cls: ClassFacts, flatten: FunctionFacts, unflatten: FunctionFacts, taken: dict[Place, str | None]
) -> tuple[ast.AST, str] | None:
    """Return what rebuilds an object, and a field with a default that it does not give; None if it gives them all.

    Only fields count that a constructor just keeps, that the program sets to something else than the default, and that
    something reads.

    Args:
        context: the analysis.
        cls: the class.
        flatten: what takes objects apart.
        unflatten: what rebuilds them.
        taken: which attributes the children and the rest are.
    """
    params = list(unflatten.params.values())[unflatten.binding == "class" :]
    made = unflatten.returns[0] if len(unflatten.returns) == 1 and not unflatten.generator else None
    if len(params) != 2 or not isinstance(made, Call) or any(map(_touches_all, (flatten.node, unflatten.node))):
        return None
    callee = context.flow.resolve(context.flow.here(made.callee, unflatten.scope)).value
    own = unflatten.binding == "class" and callee is next(iter(unflatten.params.values()))
    if not own and not (isinstance(callee, Class) and callee.facts is cls):
        return None
    defaults = _defaults(context, cls)
    number = _number_given(made, {params[1]: "children", params[0]: "rest"}, taken)
    if not defaults or number is None:
        return None
    named = {key for key, _ in made.keywords}
    read = {n.attr for n in ast.walk(flatten.node) if isinstance(n, ast.Attribute)}
    for place, (param, (attribute, default)) in enumerate(defaults.items()):
        if place < number or param in named or attribute is None or default is None or attribute in read:
            continue
        if _set_otherwise(context, cls, place, param, default) and _used(context, cls, attribute):
            return made.node, attribute
    return None


def _touches_all(node: ast.AST) -> bool:
    """Say whether a function may read or set attributes that it does not name."""
    return any(
        (isinstance(n, ast.Name) and n.id in _EVERY)
        or (isinstance(n, ast.Attribute) and (n.attr in _EVERY or isinstance(n.ctx, ast.Store)))
        for n in ast.walk(node)
    )


def _number_given(call: Call, kinds: dict[Value, str], taken: dict[Place, str | None]) -> int | None:
    """Return how many arguments a call of the constructor gives by place; None if that is not known."""
    if any(key is None for key, _ in call.keywords):
        return None
    number = 0
    for value in call.args:
        if not isinstance(value, Star):
            number += 1
            continue
        kind = kinds.get(value.value)
        places = [place for one, place in taken if one == kind]
        if kind is None or not all(isinstance(place, int) for place in places):
            return None
        number += len(places)
    return number


def _defaults(context: Context, cls: ClassFacts) -> dict[str, tuple[str | None, ast.expr | None]]:
    """Return the parameters of a constructor in order, each with the attribute that just keeps it, and its default."""
    own, bases = context.flow.classes.mro(cls)
    if any(not _OWN.isdisjoint(one.scope.bindings) for one in own) or len(own) != 1:
        return {}
    init = cls.methods.get("__init__")
    if init is None:
        fields = [one for one in cls.node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
        if bases - {"builtins.object"} or not cls.decorators or any(isinstance(one.value, ast.Call) for one in fields):
            return {}
        if any("ClassVar" in ast.unparse(one.annotation) or "KW_ONLY" in ast.unparse(one) for one in fields):
            return {}
        return {one.target.id: (one.target.id, one.value) for one in fields if isinstance(one.target, ast.Name)}
    if not isinstance(init.node, ast.FunctionDef) or init.decorators or init.vararg is not None:
        return {}
    arguments = [*init.node.args.posonlyargs, *init.node.args.args]
    given = init.node.args.defaults
    defaults = dict(zip([one.arg for one in arguments[len(arguments) - len(given) :]], given, strict=True))
    kept = _kept(init)
    return {one.arg: (kept.get(one.arg), defaults.get(one.arg)) for one in arguments[1:]}


def _kept(init: FunctionFacts) -> dict[str, str]:
    """Return the parameters of a constructor that attributes keep as they are, each with the attribute."""
    stores = [n.attr for n in own_nodes(init.node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    found: dict[str, str] = {}
    for statement in init.node.body if isinstance(init.node, ast.FunctionDef) else ():
        for target, node in assignments(statement):
            value = init.scope.module.values.get(node)
            own = isinstance(target, ast.Attribute) and init.scope.module.values.get(target.value) is init.self_param
            if own and isinstance(target, ast.Attribute) and isinstance(value, Param):
                if stores.count(target.attr) == 1 and value.function is init:
                    found[value.name] = target.attr
    return found


def _set_otherwise(context: Context, cls: ClassFacts, place: int, param: str, default: ast.expr) -> bool:
    """Say whether a call makes an object with something else for a parameter than its default."""
    for event in context.bodies.named(cls.name):
        callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        if not isinstance(callee, Class) or callee.facts is not cls or event.value.starred or in_test(event.scope):
            continue
        given = argument(event.node, place, param)
        if given is None or ast.dump(given) == ast.dump(default):
            continue
        value = event.scope.module.values.get(given)
        known = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
        if isinstance(known, Const) and known.value != constant(default):
            return True
    return False


def _used(context: Context, cls: ClassFacts, attribute: str) -> bool:
    """Say whether a method reads an attribute of its object, other than to show or compare it, or other code reads it
    of something."""
    for method in cls.methods.values():
        own = method.self_param.name if method.self_param is not None else ""
        if method.name not in _SHOWING and any(
            isinstance(n, ast.Attribute) and n.attr == attribute and isinstance(n.value, ast.Name) and n.value.id == own
            for n in ast.walk(method.node)
        ):
            return True
    return any(
        read.node.attr == attribute and read.context == "load" and read.scope.function not in cls.methods.values()
        for module in context.project.modules
        if module.source.mentions(attribute.encode())
        for read in module.attributes
        if not in_test(read.scope)
    )
