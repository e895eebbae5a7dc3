"""NNX620: fields of module dataclasses that hold data in containers, or None first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.pytree.contents import registered, static_field
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.attributes import Attribute, Attributes, Store
from codemods.nnx.values import Call, Class, Comprehension, Const, Each, Mapping, Ref, Sequence

_DECORATORS = frozenset({"dataclasses.dataclass", "flax.nnx.dataclass"})
_CONTAINERS = frozenset({"list", "dict", "tuple", "set", "List", "Dict", "Tuple", "Sequence", "Mapping", "Iterable"})
_FACTORIES = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "collections.OrderedDict"})
_SAID = ("Data[", "Static[", "ClassVar", "InitVar")
_DATA = frozenset({Objects.MODULE, Objects.VARIABLE, Objects.RNGS, Objects.METRIC, Objects.OPTIMIZER})
_ARRAYS = frozenset({"jax.Array", "jax.numpy.ndarray", "numpy.ndarray"})


def check(context: Context) -> Iterator[Finding]:
    """Yield annotated fields whose values Flax 0.12 takes for static, and finds data in."""
    if not context.options.crosses("0.12"):
        return
    for cls in context.asked.classes():
        if _is_module_dataclass(context, cls):
            for statement in cls.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield from _field(context, cls, statement, statement.target.id)


def _is_module_dataclass(context: Context, cls: ClassFacts) -> bool:
    if any(k.arg == "pytree" for k in cls.node.keywords):
        return False
    if Objects.MODULE not in context.kinds.class_kinds(Bound(Class(cls))):
        return False
    flow = context.flow
    for decorator in cls.decorators:
        bound = flow.resolve(flow.here(decorator, cls.scope))
        name = flow.calls.callee_name(bound) if isinstance(bound.value, Call) else getattr(bound.value, "name", "")
        if name in _DECORATORS:
            return True
    return False


def _field(context: Context, cls: ClassFacts, statement: ast.AnnAssign, name: str) -> Iterator[Finding]:
    text = ast.unparse(statement.annotation)
    if any(word in text for word in _SAID) or _marked(context, cls, statement):
        return
    help = "mark the field as data with nnx.data"
    message = f"the field `{name}` holds modules or arrays in a container: an error since Flax 0.12"
    if _contains_data(context, cls, statement.annotation):
        yield finding("NNX620", cls.scope, statement, message, help, _fix(context, cls, statement))
        return
    given = _given(context, cls, statement, name)
    attributes = context.shared(Attributes)
    if any(attributes.holds_data(one) and not _of_nnx(context, one) for one in given):
        # a number or text that others give must not become data, which is traced under nnx.jit
        sure = all(_may_be_marked(attributes, one) for one in given)
        yield finding("NNX620", cls.scope, statement, message, help, _fix(context, cls, statement) if sure else None)
    elif _is_none(statement.value) and _names_data(context, cls, [statement.annotation]):
        if _assigned(context, cls, name):
            message = f"the field `{name}` is None at first: putting data there later is an error since Flax 0.12"
            yield finding("NNX620", cls.scope, statement, message, help, _fix(context, cls, statement))
            return
    if _begun(context, cls, statement):
        stores = _filled(context, cls, name)
        if any(_puts_data(context, store) for store in stores):
            if _is_none(statement.value):
                message = f"the field `{name}` is None at first: putting data there later is an error since Flax 0.12"
            else:
                message = f"the field `{name}` is filled with modules or arrays later, which Flax 0.12 leaves out"
            yield finding("NNX620", cls.scope, statement, message, help, _fix(context, cls, statement))


def _begun(context: Context, cls: ClassFacts, statement: ast.AnnAssign) -> bool:
    """Say whether a field is None by default, or a container that a factory makes."""
    if _is_none(statement.value):
        return True
    flow, made = context.flow, statement.value and cls.scope.module.values.get(statement.value)
    if not isinstance(made, Call) or flow.calls.callee_name(flow.here(made, cls.scope)) != "dataclasses.field":
        return False
    factory, plain = made.keyword("default_factory"), made.keyword("default")
    if factory is None:
        return isinstance(plain, Const) and plain.value is None
    found = flow.resolve(flow.here(factory, cls.scope))
    if isinstance(found.value, Ref):
        return found.value.name in _FACTORIES
    results = [
        flow.resolve(flow.here(r, c.function.scope)) for c in flow.calls.callables(found) for r in c.function.returns
    ]
    return bool(results) and all(isinstance(one.value, Sequence | Mapping) for one in results)


def _filled_fields(context: Context) -> dict[str, list[Attribute]]:
    """Return what is stored in the fields of module dataclasses that are None or an empty container at first."""
    names = {
        statement.target.id
        for cls in context.project.classes()
        if any(isinstance(s, ast.AnnAssign) for s in cls.node.body) and _is_module_dataclass(context, cls)
        for statement in cls.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if _begun(context, cls, statement)
    }
    found: dict[str, list[Attribute]] = {}
    for attribute in context.shared(Attributes).named(names) if names else ():
        found.setdefault(attribute.name, []).append(attribute)
    return found


def _filled(context: Context, cls: ClassFacts, name: str) -> list[Store]:
    """Return where a field of a class, or of those around it, is stored or its container is filled."""
    mro = context.flow.classes.mro
    return [
        store
        for attribute in context.shared(_filled_fields).get(name, ())
        if cls in mro(attribute.owner)[0] or attribute.owner in mro(cls)[0]
        for store in (*attribute.stores, *attribute.named)
    ]


def _puts_data(context: Context, store: Store) -> bool:
    """Say whether a store puts data, or a container of it; of several that are put at once each counts."""
    attributes, scope = context.shared(Attributes), store.event.scope
    if attributes.is_marked(store):
        return False
    if attributes.gives_data(store.value, scope):
        return True
    value = store.value
    return isinstance(value, Each) and attributes.yields_data(context.flow.here(value.base, scope))


def _marked(context: Context, cls: ClassFacts, statement: ast.AnnAssign) -> bool:
    """Say whether ``nnx.data(...)`` or ``nnx.static(...)`` gives the field."""
    value = cls.scope.module.values.get(statement.value) if statement.value is not None else None
    if not isinstance(value, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, cls.scope)) in {"flax.nnx.data", "flax.nnx.static"}


def _contains_data(context: Context, cls: ClassFacts, annotation: ast.expr) -> bool:
    """Say whether an annotation is a container of data, or may be one."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value.strip(), mode="eval").body
        except SyntaxError:
            return False
    if isinstance(annotation, ast.BinOp):
        return any(_contains_data(context, cls, side) for side in (annotation.left, annotation.right))
    if isinstance(annotation, ast.Name | ast.Attribute):
        return any(_is_record(context, named) for named in context.flow.classes.named(annotation, cls.scope))
    if not isinstance(annotation, ast.Subscript):
        return False
    inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    outer = ast.unparse(annotation.value).rpartition(".")[2]
    if outer in {"Optional", "Union"}:
        return any(_contains_data(context, cls, member) for member in inner)
    return outer in _CONTAINERS and _names_data(context, cls, inner)


def _given(context: Context, cls: ClassFacts, statement: ast.AnnAssign, name: str) -> list[Bound]:
    """Return what a field gets: from the constructor's callers, and by default."""
    flow, module = context.flow, cls.scope.module
    fields = flow.classes.dataclass_fields(cls)
    found: list[Bound] = []
    default = statement.value
    made = module.values.get(default) if default is not None else None
    if isinstance(made, Call) and flow.calls.callee_name(flow.here(made, cls.scope)) == "dataclasses.field":
        factory, plain = made.keyword("default_factory"), made.keyword("default")
        if plain is not None:
            found.append(flow.here(plain, cls.scope))
        if factory is not None:
            for callee in flow.calls.callables(flow.resolve(flow.here(factory, cls.scope))):
                found += [flow.here(result, callee.function.scope) for result in callee.function.returns]
    elif made is not None:
        found.append(flow.here(made, cls.scope))
    if name not in fields or "__init__" in cls.methods:
        return found
    for event in context.bodies.named(cls.name):
        value = event.value.argument(fields.index(name), name)
        if value is None or event.value.starred:
            continue
        called = flow.resolve(flow.here(event.value.callee, event.scope)).value
        if isinstance(called, Class) and called.facts is cls:
            found.append(flow.here(value, event.scope))
    return found


def _of_nnx(context: Context, given: Bound) -> bool:
    """Say whether what is given is a container of NNX, or marked already; its content is what value flow sees."""
    return isinstance(given.value, Call) and context.flow.calls.callee_name(given).startswith("flax.nnx.")


def _may_be_marked(attributes: Attributes, given: Bound) -> bool:
    """Say whether a value may be marked as data as well: data, None, or a container, in which numbers stay static."""
    sources = attributes.context.sources.of(given)
    return all(
        (isinstance(one.value, Const) and one.value.value is None)
        or isinstance(one.value, Sequence | Mapping | Comprehension)
        or attributes.is_data(one)
        or attributes.holds_data(one)
        for one in sources
    )


def _is_record(context: Context, named: Bound) -> bool:
    """Say whether a class is a dataclass or named tuple of JAX with a field for data."""
    if not isinstance(named.value, Class) or not registered(context, named.value.facts):
        return False
    return any(
        _names_data(context, parent, [annotation])
        for parent in context.flow.classes.mro(named.value.facts)[0]
        for name, annotation in parent.fields.items()
        if not static_field(parent, name)
    )


def _names_data(context: Context, cls: ClassFacts, annotations: list[ast.expr]) -> bool:
    for node in (node for annotation in annotations for node in ast.walk(annotation)):
        if isinstance(node, ast.Name | ast.Attribute | ast.Constant):
            for named in context.flow.classes.named(node, cls.scope):
                array = isinstance(named.value, Ref) and named.value.name in _ARRAYS
                if array or context.kinds.class_kinds(named) & _DATA:
                    return True
    return False


def _assigned(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether something is assigned to the field of an instance."""
    flow = context.flow
    return any(
        event.context == "store"
        and event.node.attr == name
        and flow.classes.class_of(flow.resolve(flow.here(event.base, event.scope))) is cls
        for event in context.project.attributes()
    )


def _is_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _fix(context: Context, cls: ClassFacts, statement: ast.AnnAssign) -> Fix | None:
    """Return the edits that mark a field: its default in 0.12 alone, and its annotation where 0.11 shall do too."""
    targets, module = context.options.targets, cls.scope.module
    if "0.10" in targets:
        return None
    source, value = module.source, statement.value
    if set(targets) != {"0.12"}:
        spelling = spell(context.flow, module.scope, "Data")
        if (
            spelling is None
            or module.postpones
            or any(
                isinstance(node, ast.Constant) and isinstance(node.value, str)
                for node in ast.walk(statement.annotation)
            )
        ):
            return None
        start, end = source.span(statement.annotation)
        edits = [Edit(start, start, f"{spelling.text}[".encode()), Edit(end, end, b"]"), *spelling.edits]
        return Fix(tuple((source.path, edit) for edit in edits))
    spelling = spell(context.flow, module.scope, "data")
    if spelling is None:
        return None
    edits = list(spelling.edits)
    if value is None:
        end = source.span(statement.annotation)[1]
        edits.append(Edit(end, end, f" = {spelling.text}()".encode()))
    elif isinstance(value, ast.Constant) or (isinstance(value, ast.Tuple) and not source.bare(value)):
        edits.append(Edit(*source.span(value), f"{spelling.text}(default={source.text(value)})".encode()))
    elif isinstance(value, ast.Call) and _makes_field(context, cls, value):
        edits.append(Edit(*source.span(value.func), spelling.text.encode()))
    else:
        return None
    return Fix(tuple((source.path, edit) for edit in edits))


def _makes_field(context: Context, cls: ClassFacts, call: ast.Call) -> bool:
    """Say whether a call is ``dataclasses.field`` with options that ``nnx.data`` has too."""
    value = cls.scope.module.values.get(call)
    if not isinstance(value, Call) or call.args or any(k.arg in {None, "metadata"} for k in call.keywords):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, cls.scope)) == "dataclasses.field"


_BEFORE = """\
import dataclasses

import jax.numpy as jnp
from flax import nnx


@dataclasses.dataclass
class Net(nnx.Module):
    layers: list[nnx.Linear]
    weights: dict[str, nnx.Param] = dataclasses.field(default_factory=dict)
    head: nnx.Linear | None = None


net = Net([nnx.Linear(2, 3, rngs=nnx.Rngs(0))], {"bias": nnx.Param(jnp.ones(3))})
net.head = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
print(len(nnx.to_flat_state(nnx.state(net))))
"""

RULE = Rule(
    code="NNX620",
    name="dataclass-data",
    summary="a field of a module dataclass that holds data in a container",
    why="""\
Since Flax 0.12 a list, tuple or dict is static, and None is, too. Where the field of a dataclass holds modules,
Variables or arrays in a container, the constructor raises ValueError; a list that is filled later is left out of the
state without an error. `field: list[...] = nnx.data()` marks the field in 0.12, the annotation `nnx.Data[...]` in 0.11
and 0.12.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("list[nnx.Linear]", "list[nnx.Linear] = nnx.data()")
            .replace("dataclasses.field(", "nnx.data(")
            .replace("= None", "= nnx.data(default=None)"),
            targets=("0.12",),
        ),
        Example(_BEFORE, _BEFORE, targets=("0.11",)),
    ),
    check=check,
    always=True,
)
