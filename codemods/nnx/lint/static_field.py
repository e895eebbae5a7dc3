"""NNX772: an array in a field of a tree that is a part of its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.certain import array_for_certain
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.field_options import static
from codemods.nnx.lint.meant import comments_at
from codemods.nnx.lint.names import gives_arrays, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.structure_fields import flattened, registered_class
from codemods.nnx.lint.syntax import argument, constant, inside, is_none, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Comprehension, Const, Param, Ref, Sequence, Unknown

_HASHED = frozenset(f"builtins.{name}" for name in ("tuple", "frozenset", "str", "int", "float", "bool", "len"))
_TRANSFORMS = pattern(r"jit|vmap|pmap|grad|remat|checkpoint|custom_[jv]")
# what the comment at a field says that is static in spite of what it holds
_ON_PURPOSE = pattern(
    r"(?!.*\b(todo|fixme|xxx|hack|wrong|bug)).*\bstatic\b.*\b(due to|because|on purpose|so that|for reasons)\b"
)
_ARRAYS = frozenset({"Array", "ndarray", "ArrayLike", "Float", "Int", "DeviceArray"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _told(context)
    found: dict[ClassFacts, list[_Wrong]] = {}
    for one in (*_hidden(context), *_fields(context)):
        # tests ask what becomes of it
        if one[1].module in context.asked and not in_test(one[0].scope) and not in_test(one[1]):
            found.setdefault(one[0], []).append(one)
    for cls, every in found.items():  # the fields of one class are mended together
        _, scope, node, name, help = every[0]
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{name}` is an array, and a part of the structure of `{cls.name}`: structures are compared and "
            "hashed, and arrays cannot be",
            help,
            related=[(other, f"`{word}`, too") for _, home, other, word, _ in every[1:] if home.module is scope.module],
        )


def _told(context: Context) -> Iterator[Finding]:
    """Yield the arrays that constructors of modules say are static."""
    for event, name in foreign(context, "static"):
        statement, owner = event.statement, event.scope.function and event.scope.function.owner
        if name != "flax.nnx.static" or len(event.value.args) != 1 or event.value.starred or owner is None:
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or in_test(event.scope):
            continue
        if not isinstance(owner.node, ast.ClassDef) or owner.node.keywords:
            continue  # of classes with pytree=False nothing is asked
        if not isinstance(statement.targets[0], ast.Attribute):
            continue
        if array_for_certain(context, event.value.args[0], context.flow.here(event.value, event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{statement.targets[0].attr}` is an array, and a part of the structure of `{owner.name}`: NNX raises "
                "a ValueError",
                "leave the mark out, or use nnx.data",
            )


_Wrong = tuple[ClassFacts, Scope, ast.AST, str, str]
_CHILD = "let it be one of the children, or keep a tuple of numbers in it"
_FIELD = "let it be an ordinary field, or keep a tuple of numbers in it"


def _fields(context: Context) -> Iterator[_Wrong]:
    """Yield the fields of dataclasses that are static and arrays by their annotations."""
    for cls in context.asked.classes():
        whole = _static_class(context, cls)
        for statement in cls.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            marked = isinstance(statement.value, ast.Call) and static(statement.value)
            if not (marked or whole) or not _tree(cls) or "dtype" in statement.target.id.lower():
                continue  # a type, whatever its annotation says
            if any(_ON_PURPOSE.match(one.lower()) for one in comments_at(cls.scope.module.source, statement)):
                continue
            if _array(statement.annotation) and _given_others(context, cls, statement.target.id):
                continue
            if _array(statement.annotation) or (
                _anything(statement.annotation) and _holds_array(context, cls, statement.target.id)
            ):
                yield cls, cls.scope, statement, statement.target.id, _FIELD
            elif marked and (inner := _array_of_class(context, cls, statement.annotation)):
                yield cls, cls.scope, statement, f"{statement.target.id}.{inner}", _FIELD
    if not any(module.source.mentions(b"meta_fields") for module in context.project.modules):
        return
    for event, name in foreign(context, "register_dataclass", "partial"):
        if name == "functools.partial" and keyword(event.node, "meta_fields") is None:
            continue
        of = registered_class(context, event, name)
        fields = argument(event.node, 2, "meta_fields")
        if of is None or {"__eq__", "__hash__"} & set(of.methods):
            continue
        for part in fields.elts if isinstance(fields, ast.List | ast.Tuple) else ():
            word = constant(part)
            note = _annotation(of, word) if isinstance(word, str) else None
            if note is None or (_array(note) and _given_others(context, of, str(word))):
                continue
            if _array(note) or (_anything(note) and _holds_array(context, of, str(word))):
                yield of, event.scope, part, str(word), "name it in data_fields, or keep a tuple of numbers in it"


def _class(context: Context, event: CallEvent) -> ClassFacts | None:
    """Return the class that a call registers."""
    if not event.value.args or event.value.starred:
        return None
    found = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    return found.facts if isinstance(found, Class) else None


def _annotation(cls: ClassFacts, name: str) -> ast.expr | None:
    """Return how the body of a class annotates a field."""
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id == name:
                return statement.annotation
    return None


def _static_class(context: Context, cls: ClassFacts) -> bool:
    """Say whether all of a dataclass is structure, and compared field by field."""
    outer = cls.scope.parent
    if outer is None or not cls.scope.module.source.mentions(b"register_static"):
        return False
    found = [context.flow.resolve(context.flow.here(one, outer)) for one in cls.decorators]
    if not any(isinstance(one.value, Ref) and one.value.name == "jax.tree_util.register_static" for one in found):
        return False
    return any(
        last_word(getattr(node, "func", node)) == "dataclass"
        and not (isinstance(node, ast.Call) and constant(keyword(node, "eq")) is False)
        for node in cls.node.decorator_list
    )


_FLATTENING = {
    "jax.tree_util.register_pytree_node": "flatten_func",
    "jax.tree_util.register_pytree_with_keys": "flatten_with_keys",
}


def _hidden(context: Context) -> Iterator[_Wrong]:
    """Yield the arrays that functions which flatten trees put into their structure."""
    found: list[tuple[ClassFacts, FunctionFacts]] = []
    for cls in context.asked.classes():
        found += [(cls, m) for w in ("tree_flatten", "tree_flatten_with_keys") if (m := cls.methods.get(w)) is not None]
    for event, name in foreign(context, *map(last, _FLATTENING), everywhere=True):
        of = _class(context, event) if name in _FLATTENING else None
        given = event.value.argument(1, _FLATTENING[name]) if of is not None else None
        callees = context.flow.calls.callables(context.flow.here(given, event.scope)) if given is not None else []
        if of is not None and len(callees) == 1 and not callees[0].args:
            found.append((of, callees[0].function))
    for cls, function in dict.fromkeys(found):
        if {"__eq__", "__hash__"} & set(cls.methods) or not function.params:
            continue
        tree = next(iter(function.params.values()))
        for children, structure in flattened(context, function):
            if _empty(children) and not _goes_anywhere(context, cls):
                continue
            parts: list[ast.expr | None] = [structure]
            if isinstance(structure, ast.Tuple | ast.List):
                parts = list(structure.elts)
            elif isinstance(structure, ast.Dict):
                parts = list(structure.values)
            for part in parts:
                value = function.scope.module.values.get(part) if part is not None else None
                if isinstance(value, Attr) and value.base == tree and part is not None:
                    if _holds_array(context, cls, value.name):
                        yield cls, function.scope, part, value.name, _CHILD
                        break  # one finding tells of the structure


def _empty(node: ast.expr) -> bool:
    """Say whether an expression is a tuple or list without anything in it, or None."""
    if isinstance(node, ast.Tuple | ast.List):
        return not node.elts
    return is_none(node)


def _goes_anywhere(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class has a method that is compiled with its object, or an object of it is the argument of a call.

    A tree that nothing but structure is made of is data for nobody: it may be registered and never be used as a tree.
    """
    for method in cls.methods.values():
        for one in getattr(method.node, "decorator_list", ()):
            text = ast.unparse(one)
            if _TRANSFORMS.search(text) and "static_arg" not in text:
                return True
    for module in context.project.modules:
        if cls.name.encode() not in module.source.data:
            continue
        for event in module.calls:
            for given in event.value.given:
                found = context.flow.resolve(context.flow.here(given, event.scope))
                if isinstance(found.value, Call) and _made_by(context, found) is cls:
                    return True
                if isinstance(given, Param) and given.function.owner is cls and given.name == "self":
                    return True
    return False


def _made_by(context: Context, made: Bound) -> ClassFacts | None:
    """Return the class whose call a value is."""
    assert isinstance(made.value, Call)
    found = context.flow.resolve(context.flow.with_value(made, made.value.callee)).value
    return found.facts if isinstance(found, Class) else None


def _holds_array(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether every object of a class of which the attribute is known has an array there, and one of them has."""
    note = _annotation(cls, name)
    if note is not None and not _anything(note):
        return _array(note)
    known = False
    if not cls.stores.get(name):
        return _given_arrays(context, cls, name)
    for function, value in cls.stores[name]:
        if isinstance(value, Param) and (note := value.function.annotations.get(value.name)) is not None:
            if not _array(note):
                return False
            known = True
            continue
        for source in context.sources.originals(context.flow.here(value, function.scope)):
            if _several(context, source):
                known = True
                continue
            made = source
            indices: list[Bound] = []
            while isinstance(made.value, Indexed):
                indices.append(made.value.index)
                made = context.flow.with_value(made, made.value.base)
            if isinstance(made.value, Param):
                continue
            if not isinstance(made.value, Call):
                return False
            callee = context.flow.calls.callee_name(made)
            method = not callee and isinstance(made.value.callee, Attr)  # data.std(0)
            if not (callee.startswith("jax.") and gives_arrays(callee)):
                if not method or not array_for_certain(context, made.value, made):
                    return False
            if not all(Arrays(context, {}).of_bound(index).axes for index in indices):
                return False  # it may be one number
            if not indices and _once(context, made):
                return False
            known = True
    return known


def _given_arrays(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether every call that makes an object of a dataclass gives a new array for a field."""
    found = _given(context, cls, name)
    return bool(found) and all(_several(context, one) for one in found)


def _given_others(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether every call that makes an object of a dataclass gives a tuple, a text or a number for a field, though
    its annotation says otherwise."""
    found = _given(context, cls, name)
    return bool(found) and all(_hashed(context, one) for one in found)


def _given(context: Context, cls: ClassFacts, name: str) -> list[Bound]:
    """Return what calls that make an object of a dataclass give for a field; nothing if one leaves it out."""
    fields = context.flow.classes.dataclass_fields(cls)
    if name not in fields or "__init__" in cls.methods:
        return []
    found: list[Bound] = []
    for event in context.bodies.named(cls.name):
        if _called(context, event) is not cls:
            continue
        value = event.value.argument(fields.index(name), name) if not event.value.starred else None
        if value is None:
            return []
        found += context.sources.originals(context.flow.here(value, event.scope))
    return found


def _hashed(context: Context, made: Bound) -> bool:
    """Say whether a value is a tuple, a text or a number, which can be compared and hashed."""
    if isinstance(made.value, Sequence):
        kinds = (context.kinds.of(context.flow.with_value(made, one)) for one in made.value.items)
        return isinstance(made.value.node, ast.Tuple) and not any(Kind.ARRAY in one for one in kinds)
    if isinstance(made.value, Call):
        return context.flow.calls.callee_name(made) in _HASHED
    if isinstance(made.value, Comprehension):  # ``tuple(name for name in names)``
        return any(
            isinstance(one, ast.GeneratorExp | ast.ListComp) and made.value.loop in one.generators
            for event in context.bodies.named("tuple", "frozenset")
            for one in event.node.args[:1]
        )
    return isinstance(made.value, Const)


def _called(context: Context, event: CallEvent) -> ClassFacts | None:
    """Return the class of which a call makes an object."""
    found = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    return found.facts if isinstance(found, Class) else None


def _anything(note: ast.expr) -> bool:
    """Say whether an annotation leaves open what a field holds."""
    return isinstance(note, ast.Name | ast.Attribute) and last_word(note) in {"Any", "object"}


def _several(context: Context, source: Bound) -> bool:
    """Say whether a value is an array with axes that is made more than once."""
    if not isinstance(source.value, Call | Unknown) or _once(context, source):
        return False
    return bool(Arrays(context, {}).of_bound(source).axes)


def _once(context: Context, source: Bound) -> bool:
    """Say whether a module makes a value when it is imported, which is equal to itself without being compared."""
    assert isinstance(source.value, Call | Unknown)
    node = source.value.node
    scope = context.bodies.home(node)
    if scope is None:
        return source.frame is None
    if scope.function is not None:
        return False
    return not any(
        inside(node, n) for n in context.bodies.nodes(scope) if isinstance(n, ast.For | ast.While | ast.ListComp)
    )


def _array(note: ast.expr) -> bool:
    """Say whether an annotation means an array, or an array or None."""
    if isinstance(note, ast.BinOp) and isinstance(note.op, ast.BitOr):
        return _array(note.left) or _array(note.right)
    if isinstance(note, ast.Subscript):
        word = last_word(note.value)
        shape = note.slice.elts[1:] if isinstance(note.slice, ast.Tuple) else []
        if isinstance(note.slice, ast.Tuple) and (not shape or constant(shape[-1]) == ""):
            return False  # one number, which can be compared
        return word in {"Float", "Int"} or (word == "Optional" and _array(note.slice))
    return isinstance(note, ast.Name | ast.Attribute) and last_word(note) in _ARRAYS - {"Float", "Int"}


def _array_of_class(context: Context, cls: ClassFacts, note: ast.expr) -> str:
    """Return the first field for an array that objects of the class have which an annotation names; empty for none.

    Dataclasses and named tuples are compared field by field, and are not equal where arrays are compared.
    """
    outer = cls.scope.parent
    named = list(context.flow.classes.named(note, outer)) if outer is not None else []
    kind = named[0].value if len(named) == 1 else None
    if not isinstance(kind, Class) or not _compared_by_field(kind.facts):
        return ""
    for statement in kind.facts.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            of_arrays = isinstance(statement.annotation, ast.Name | ast.Attribute) and _array(statement.annotation)
            if of_arrays and not _given_others(context, kind.facts, statement.target.id):
                return statement.target.id
    return ""


def _compared_by_field(cls: ClassFacts) -> bool:
    """Say whether objects of a class are equal where all of their fields are."""
    if {"__eq__", "__hash__"} & set(cls.methods):
        return False
    bases = {last_word(base) for base in cls.node.bases}
    options = [one for one in cls.node.decorator_list if last_word(getattr(one, "func", one)) == "dataclass"]
    if any(isinstance(one, ast.Call) and constant(keyword(one, "eq")) is False for one in options):
        return False
    return bool(options) or bool(bases & {"NamedTuple", "PyTreeNode"})


def _tree(cls: ClassFacts) -> bool:
    """Say whether a class is made a tree, and has no ways of its own to compare."""
    own = {"__eq__", "__hash__"} & set(cls.methods)
    return not own and bool(cls.node.decorator_list or cls.node.bases)


RULE = lint_rule(
    "NNX772",
    "array-in-static-field",
    "an array in a field that is a part of a tree's structure",
    why="""\
`struct.field(pytree_node=False)`, `metadata={"static": True}`, `meta_fields=` and the second thing that a flattening
function returns are a part of the structure, which `jit` compares and hashes to find compiled code. With an array there
the second call raises a ValueError or TypeError, or every call compiles anew; and what is static has no gradient.
`nnx.static` raises at once. One array that a module makes for all objects is left alone: it is equal to itself.
""",
    source="jax issue 7826, flax issue 4870; measured on Flax 0.10.7 and 0.12.8: ValueError at the second call",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
from flax import struct


@struct.dataclass
class Problem:
    target: jax.Array
    scale: jax.Array = struct.field(pytree_node=False)
""",
    ),
    clean=(
        """\
from collections.abc import Callable

import jax
from flax import struct


@struct.dataclass
class Problem:
    target: jax.Array
    scale: tuple[float, ...] = struct.field(pytree_node=False)
    apply: Callable[..., jax.Array] = struct.field(pytree_node=False)
""",
    ),
)
