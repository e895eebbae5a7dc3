"""Which assignments of attributes need ``nnx.data`` from Flax 0.12 on, and the edits that put it there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codemods.nnx.compat import borrow
from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.findings import Fix
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.v012.attributes import Attribute, Attributes, Store, is_plain
from codemods.nnx.v012.lists import Containers
from codemods.nnx.values import (
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Loop,
    Mapping,
    Ref,
    Sequence,
    Unknown,
    Value,
)

_SAID = frozenset({"flax.nnx.Data", "flax.nnx.Static", "flax.nnx.data", "flax.nnx.static"})
_MAKERS = frozenset(
    {"builtins.list", "builtins.dict", "builtins.tuple", "collections.OrderedDict", "collections.defaultdict"}
)


@dataclass(frozen=True, eq=False)
class Mark:
    """An assignment that needs ``nnx.data``.

    Attributes:
        store: the assignment.
        container: whether it puts a list, tuple or dict; else it puts None or a number that data replaces later.
        first: the place where data comes in, if that is another one.
        name: what is put around the container: ``data``, or ``List`` or ``Dict`` of Flax 0.12.
    """

    store: Store
    container: bool
    first: Store | None = None
    name: str = "data"


def data_marks(context: Context) -> tuple[Mark, ...]:
    """Return the assignments that need ``nnx.data`` from Flax 0.12 on, see :func:`marks`; rules share one search."""
    return context.shared(_of_project)


def _of_project(context: Context) -> tuple[Mark, ...]:
    return tuple(marks(context))


def marks(context: Context) -> list[Mark]:
    """Return the assignments that need ``nnx.data`` of the attributes that the modules asked about assign."""
    attributes = context.shared(Attributes)
    containers = Containers(context)
    return [
        replace(mark, name=containers.name(one)) if mark.container else mark
        for one in attributes.asked
        if any(store.event.scope.module in context.asked for store in (*one.stores, *one.named))
        for mark in _of(context.flow, attributes, one)
    ]


def _of(flow: Flow, attributes: Attributes, attribute: Attribute) -> Iterator[Mark]:
    direct = [store for store in attribute.stores if not store.filling]
    if attribute.deleted or _declared(flow, attribute.owner, attribute.name):
        return
    if any(attributes.is_marked(store) for store in direct):
        return
    filled = next(
        (s for s in attribute.stores if s.filling and not _on_host(flow, s) and _gives_data(flow, attributes, s)), None
    )
    initial = [s for s in direct if s.function is not None and s.function.name in {"__init__", "setup"}] or direct
    holding = dict.fromkeys(store for store in direct if _holds(flow, attributes, store))  # in order
    promised = _promised(flow, attribute.owner, attribute.name)
    yield from _by_name(flow, attributes, attribute)
    for store in initial:
        if store in holding or (promised and _is_container(flow, store)):
            yield Mark(store, True)
        elif promised and _is_none(flow, store):
            yield Mark(store, False, store)
        elif _is_container(flow, store) and (filled or holding):
            yield Mark(store, True, filled or next(iter(holding)))
        elif is_plain(flow, store) or attributes.may_be_none(store):
            array = not is_plain(flow, store) and attributes.may_be_array(store)
            later = next(
                (
                    s
                    for s in (*direct, *attribute.named)
                    if s in holding
                    or _is_data(flow, attributes, s)
                    or (array and not is_plain(flow, s))
                    or (filled is not None and _is_container(flow, s))  # empty, and filled with data after that
                    if _follows(s, store)
                ),
                None,
            )
            if later is not None and not any(_is_data(flow, attributes, s) and _precedes(s, store) for s in direct):
                yield Mark(store, False, later)


def _by_name(flow: Flow, attributes: Attributes, attribute: Attribute) -> Iterator[Mark]:
    """Yield where ``setattr`` puts None first and data comes later, by ``setattr`` or an assignment."""
    if any(attributes.is_marked(store) for store in attribute.named):
        return
    for store in attribute.named:
        if _is_none(flow, store):
            others = (s for s in (*attribute.named, *attribute.stores) if not s.filling and _follows(s, store))
            later = next((s for s in others if _gives_data(flow, attributes, s)), None)
            if later is not None:
                yield Mark(store, False, later)


def _holds(flow: Flow, attributes: Attributes, store: Store) -> bool:
    """Say whether an assignment puts a container of data, also one that is filled after it was assigned."""
    scope = store.event.scope
    if attributes.holds_data(flow.here(store.value, scope)):
        return True
    node = getattr(store.event.statement, "value", None)
    if isinstance(node, ast.Name) and isinstance(store.event.statement, ast.Assign):
        if any(attributes.holds_data(flow.here(value, scope)) for value in scope.bindings.get(node.id, ())):
            return True
        made = _as_made(flow, store)
        return any(_is_put(flow, attributes, *put) for put in attributes.put_into(made.value))
    return False


def _gives_data(flow: Flow, attributes: Attributes, store: Store) -> bool:
    if store.filling:
        return _is_put(flow, attributes, store.value, store.event.scope)
    return attributes.gives_data(store.value, store.event.scope)


def _on_host(flow: Flow, store: Store) -> bool:
    """Say whether arrays of NumPy are gathered after the constructor, as a metric does: nothing of JAX is left out."""
    if store.function is None or store.function.name in {"__init__", "setup"}:
        return False
    found = flow.resolve(flow.here(store.value, store.event.scope))
    return isinstance(found.value, Call) and flow.calls.callee_name(found) in _HOST


_HOST = frozenset({"numpy.asarray", "numpy.array", "jax.device_get"})


def _is_put(flow: Flow, attributes: Attributes, value: Value, scope: Scope) -> bool:
    """Say whether what is put into a container is data, or holds it; by `+=`, `|=` or `extend` that is each element."""
    if attributes.gives_data(value, scope):
        return True
    if not isinstance(value, Each):
        return False
    base = flow.here(value.base, scope)
    return attributes.yields_data(base) and (_merges(value.loop, scope) or not attributes.handed.is_named(base))


def _merges(place: ast.AST, scope: Scope) -> bool:
    """Say whether a dict is put into another one there, by ``update`` or ``|=``; else its keys are gone through."""
    if isinstance(place, ast.Call):
        return isinstance(place.func, ast.Attribute) and place.func.attr == "update"
    merging = (one.target for one in scope.module.source.of_type(ast.AugAssign) if isinstance(one.op, ast.BitOr))
    return any(place is target for target in merging)


def _is_data(flow: Flow, attributes: Attributes, store: Store) -> bool:
    return attributes.is_data(flow.here(store.value, store.event.scope))


def _as_made(flow: Flow, store: Store) -> Bound:
    """Return what is assigned as it was before it was changed."""
    found, seen = flow.resolve(flow.here(store.value, store.event.scope)), set[Value]()
    while isinstance(found.value, Changed | Loop) and found.value not in seen:
        seen.add(found.value)
        found = flow.follow(found, found.value.before)
    return found


def _is_container(flow: Flow, store: Store) -> bool:
    found = _as_made(flow, store)
    if isinstance(found.value, Call):
        return flow.calls.callee_name(found) in _MAKERS
    if isinstance(found.value, Choice):
        options = [flow.with_value(found, option) for option in found.value.options]
        return any(
            isinstance(option.value, Sequence | Mapping | Comprehension)
            or (isinstance(option.value, Call) and flow.calls.callee_name(option) in _MAKERS)
            for option in options
        )
    if isinstance(found.value, Unknown) and isinstance(found.value.node, ast.BinOp):  # [None] * n
        node = found.value.node
        return isinstance(node.op, ast.Add | ast.Mult) and any(
            isinstance(side, ast.List | ast.Tuple | ast.ListComp) for side in (node.left, node.right)
        )
    return isinstance(found.value, Sequence | Mapping | Comprehension)


def _declared(flow: Flow, owner: ClassFacts, name: str) -> bool:
    """Say whether a class, or one that it derives from, declares what an attribute is."""
    for cls in flow.classes.mro(owner)[0]:
        annotation = cls.fields.get(name)
        if annotation is not None and any(_says(flow, cls, node) for node in ast.walk(annotation)):
            return True
        default = cls.scope.env.get(name)
        if default is not None and flow.calls.callee_name(flow.here(default, cls.scope)) in _SAID:
            return True
    return False


def _promised(flow: Flow, owner: ClassFacts, name: str) -> bool:
    """Say whether ``__data__`` of Flax 0.10.7, which 0.11 ignores, names an attribute."""
    for cls in flow.classes.mro(owner)[0]:
        value = cls.scope.env.get("__data__")
        if isinstance(value, Sequence):
            return any(isinstance(item, Const) and item.value == name for item in value.items)
    return False


def _is_none(flow: Flow, store: Store) -> bool:
    return flow.resolve(flow.here(store.value, store.event.scope)).value == Const(None)


def _says(flow: Flow, cls: ClassFacts, node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.startswith(("nnx.Data", "nnx.Static"))
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    found: Value = flow.resolve(flow.here(flow.classes.spelled(node, cls.scope), cls.scope)).value
    return isinstance(found, Ref) and found.name in _SAID


def _follows(later: Store, store: Store) -> bool:
    """Say whether one assignment may happen to an object that had the other one."""
    if later is store:
        return False
    if later.function is None or store.function is None:
        return True
    if later.function is not store.function:
        both = later.function.name == store.function.name == "__init__"
        return not both or _calls_base(later.function.node) or _calls_base(store.function.node)
    if _exclusive(store.function.node, later.event.statement, store.event.statement):
        return False
    if _left(store.function.node, store.event.statement, later.event.statement):
        return False
    return _position(later) > _position(store) or bool(_loops(store))


def _calls_base(constructor: ast.AST) -> bool:
    """Say whether a constructor runs another one: of two that do not, an object has one only."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"
        for node in ast.walk(constructor)
    )


def _position(store: Store) -> tuple[int, int]:
    return store.event.node.lineno, store.event.node.col_offset


def _precedes(earlier: Store, store: Store) -> bool:
    """Say whether an assignment of the same function surely happens before another one."""
    if store.function is None or earlier.function is not store.function:
        return False
    one, two = earlier.event.statement, store.event.statement
    return _position(earlier) < _position(store) and not _exclusive(store.function.node, one, two)


def _loops(store: Store) -> list[ast.AST]:
    assert store.function is not None
    line = store.event.statement.lineno
    return [
        node
        for node in ast.walk(store.function.node)
        if isinstance(node, ast.For | ast.While) and node.lineno < line <= (node.end_lineno or 0)
    ]


def _exclusive(function: ast.AST, one: ast.stmt, two: ast.stmt) -> bool:
    """Say whether two statements stand on the two sides of a condition."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and node.orelse:
            sides = [_contains(node.body, one), _contains(node.orelse, one)]
            others = [_contains(node.body, two), _contains(node.orelse, two)]
            if (sides[0] and others[1]) or (sides[1] and others[0]):
                return True
    return False


def _left(function: ast.AST, statement: ast.stmt, later: ast.stmt) -> bool:
    """Say whether the function ends in the branch of a statement, before another one can come."""
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            for body in (node.body, node.orelse):
                if body and isinstance(body[-1], ast.Return | ast.Raise) and _contains(body, statement):
                    return not _contains(body, later)
    return False


def _contains(body: list[ast.stmt], statement: ast.stmt) -> bool:
    return body[0].lineno <= statement.lineno <= (body[-1].end_lineno or body[-1].lineno)


# -- edits --------------------------------------------------------------------------------------------


def fix(context: Context, mark: Mark) -> Fix | None:
    """Return the edits that mark what an assignment puts as data; None if it is not a plain assignment."""
    store, scope = mark.store, mark.store.event.scope
    node = _stored_expression(store)
    if node is not None:
        return wrapped(context, scope, node, mark.name)
    node = _unpacked(context, store)
    return wrapped(context, scope, node, "data", each=True) if node is not None else None


def wrapped(context: Context, scope: Scope, node: ast.expr, name: str, each: bool = False) -> Fix | None:
    """Return the edits that put ``nnx.data(...)`` or the like around an expression; None if it cannot be spelled.

    Args:
        context: the analysis.
        scope: where the expression stands.
        node: the expression.
        name: what is put around it: ``data``, ``List`` or ``Dict``.
        each: whether it is put around each of several values that the expression gives.
    """
    source = scope.module.source
    if "0.10" in context.options.targets:
        borrowed = borrow(context.project, scope, "data")
        if borrowed is None:
            return None
        text, edits = borrowed.text, list(borrowed.edits)
    else:
        spelling = spell(context.flow, scope, name)
        if spelling is None:
            return None
        text, edits = spelling.text, [(source.path, edit) for edit in spelling.edits]
    start, end = source.span(node)
    bare = isinstance(node, ast.Tuple) and _bare(source.text(node))
    opening, closing = (f"{text}((", "))") if bare else (f"{text}(", ")")
    if each:
        opening = f"map({text}, "
    edits += [(source.path, Edit(start, start, opening.encode())), (source.path, Edit(end, end, closing.encode()))]
    return Fix(tuple(edits))


def _unpacked(context: Context, store: Store) -> ast.expr | None:
    """Return what ``self.a, self.b = self.two()`` unpacks, if every part of it is data or a container of data."""
    statement, attributes = store.event.statement, context.shared(Attributes)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or isinstance(statement.value, ast.Starred):
        return None
    target, module = statement.targets[0], store.event.scope.module
    if not isinstance(target, ast.Tuple | ast.List) or isinstance(statement.value, ast.Tuple | ast.List):
        return None
    given = {event.node: event for event in module.attributes if event.statement is statement}
    stored = [given.get(part) if isinstance(part, ast.Attribute) else None for part in target.elts]
    for event in stored:
        if event is None or event.stored is None or not attributes.gives_data(event.stored, event.scope):
            return None
        if not any(attributes.is_owner(cls) for cls in attributes.owners(event.base, event.scope)):
            return None
    return statement.value


def _bare(text: str) -> bool:
    """Say whether the text of a tuple has no parentheses of its own."""
    try:
        return not isinstance(ast.parse(f"f{text}", mode="eval").body, ast.Call)
    except SyntaxError:
        return True


def _stored_expression(store: Store) -> ast.expr | None:
    """Return the expression whose value an attribute gets."""
    statement, node = store.event.statement, store.event.node
    if isinstance(statement, ast.AnnAssign) and statement.target is node:
        return statement.value
    if not isinstance(statement, ast.Assign):
        return None
    if all(isinstance(target, ast.Attribute) for target in statement.targets):
        return statement.value
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Tuple | ast.List):
        targets = statement.targets[0].elts
        if isinstance(statement.value, ast.Tuple | ast.List) and len(targets) == len(statement.value.elts):
            return next((v for t, v in zip(targets, statement.value.elts, strict=True) if t is node), None)
    return None
