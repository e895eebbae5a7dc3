"""Objects without a hash: of dataclasses that are not frozen, or of classes with ``__eq__`` alone; part of NNX826."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Class, Value

#: Decorators that make a dataclass whose objects are compared by their fields, and whether it is frozen by default.
_DATACLASSES = {
    "dataclasses.dataclass": False,
    "flax.struct.dataclass": True,
    "attr.define": False,
    "attr.frozen": True,
    "attr.mutable": False,
    "attrs.define": False,
    "attrs.frozen": True,
    "attrs.mutable": False,
}
#: Decorators that leave the hash of a class alone.
_HARMLESS = frozenset(
    f"jax.tree_util.{word}"
    for word in (
        "register_dataclass",
        "register_pytree_node_class",
        "register_pytree_with_keys_class",
        "register_static",
    )
)
_NAMESPACES = {"types.SimpleNamespace": "SimpleNamespace", "argparse.Namespace": "Namespace"}
_PARSER = "argparse.ArgumentParser"
_COPYING = frozenset({"dataclasses.replace", "copy.copy", "copy.deepcopy"})
_DEPTH = 3


def without_hash(context: Context, value: Bound, depth: int = 0) -> str:
    """Return in words what a value is if it is an object without a hash, wherever it was made; empty otherwise.

    Args:
        context: the analysis.
        value: the value.
        depth: how many copies it was followed from.
    """
    made = context.flow.resolve(value)
    sources = [made] if isinstance(made.value, Call) else list(context.sources.originals(made))
    told = [_told(context, one, depth) for one in sources]
    return told[0] if told and all(told) else ""


def _told(context: Context, made: Bound, depth: int) -> str:
    value = made.value
    if not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(made)
    if name in _NAMESPACES:
        return f"a {_NAMESPACES[name]}"
    if name in _COPYING and value.args and depth < _DEPTH:
        return without_hash(context, context.flow.follow(made, value.args[0]), depth + 1)
    callee = context.flow.follow(made, value.callee).value
    if isinstance(callee, Class):
        return hashless(context, callee.facts)
    if isinstance(callee, Attr) and callee.name == "parse_args" and not value.keyword("namespace"):
        parser = context.flow.resolve(context.flow.with_value(made, callee.base))
        if context.flow.calls.callee_name(parser) == _PARSER and len(value.args) < 2 and not value.starred:
            return "the Namespace of an ArgumentParser"
    return ""


def hashless(context: Context, cls: ClassFacts) -> str:
    """Return in words what kind of class one is that takes the hash of its objects away; empty if it is not known to.

    Args:
        context: the analysis.
        cls: the class.
    """
    if context.flow.fields.stores().get("__hash__"):
        return ""  # some class is given one later
    parents, foreign = context.flow.classes.mro(cls)
    if any(name.startswith("flax.linen.") for name in foreign) and "__eq__" not in cls.scope.bindings:
        return ""  # Linen gives each class of a module a hash, whatever its other bases are
    for parent in parents:
        if "__hash__" in parent.scope.bindings:
            return ""
        options: dict[str | None, object] | None = None
        for decorator in parent.decorators:
            found, given = _decorated(context, parent, decorator)
            if found not in _DATACLASSES:
                if found in _HARMLESS:
                    continue
                return ""
            options = {"frozen": _DATACLASSES[found], **given}
        if options is not None and options.get("eq", True) is not False:
            plain = all(not options.get(word) for word in ("frozen", "unsafe_hash", "hash", "cache_hash"))
            unknown = any(options.get(word, False) is None for word in ("frozen", "eq", None))
            return f"a dataclass like `{cls.name}`" if plain and not unknown and None not in options else ""
        if "__eq__" in parent.scope.bindings:
            return f"an object of `{cls.name}`, which defines `__eq__` and no `__hash__`,"
    return ""


def _decorated(context: Context, cls: ClassFacts, decorator: Value) -> tuple[str, dict[str | None, object]]:
    """Return the name of a decorator and the options that it is given."""
    found = context.flow.resolve(context.flow.here(decorator, cls.scope.parent or cls.scope))
    if not isinstance(found.value, Call):
        return getattr(found.value, "name", ""), {}
    name = context.flow.calls.callee_name(found)
    if name == "functools.partial":
        inner = found.value.args[0] if found.value.args else None
        name = getattr(context.flow.follow(found, inner).value, "name", "") if inner is not None else ""
    return name, {k.arg: constant(k.value) for k in found.value.node.keywords}
