"""What an expression was made of, where a name stands for it, an attribute or an entry of a dict."""

from __future__ import annotations

import ast
from collections.abc import Callable

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.frames import Bound, Part
from codemods.nnx.lint.around import around
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Loop, Mapping, Param, Sequence, Unknown, Value

_DEPTH = 60  # entries that one body assigns


def origin(context: Context, node: ast.expr, scope: Scope) -> Value | None:
    """Return the value of an expression; of an entry of a dict that only such entries are taken of, what was put there.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.

    Returns:
        The value, which an assignment of the entry in a loop makes a :class:`Loop` as that of a variable; None if the
        expression was not evaluated.
    """
    value = scope.module.values.get(node)
    if not isinstance(value, Item) or not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return value
    key = constant_key(node)
    if key is None or not context.shared(_Records).plain(node.value.id, scope):
        return value
    return context.shared(_Records).entry(value.base, key) or value


def made(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return where the value of an expression comes from, as :func:`origin` tells it; None if nothing is known of it.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
    """
    value = origin(context, node, scope)
    return context.flow.resolve(context.flow.here(value, scope)) if value is not None else None


def bound_once(context: Context, scope: Scope, name: ast.Name) -> ast.expr | None:
    """Return what the only assignment of a variable of a function gives it; None if there is none, or are others.

    Args:
        context: the analysis.
        scope: the scope of the function.
        name: the variable.
    """
    names = context.bodies.stores(scope, name.id)
    if len(names) != 1 or scope.function is None or name.id in scope.function.params:
        return None
    node = around(context, scope).get(names[0])
    if isinstance(node, ast.Assign):
        return node.value if len(node.targets) == 1 else None
    return node.value if isinstance(node, ast.AnnAssign | ast.NamedExpr) else None


def unpacked_once(context: Context, scope: Scope, name: ast.Name) -> ast.expr | None:
    """Return ``y`` for ``b`` of ``a, b = x, y``, if nothing else sets the variable; else None.

    Args:
        context: the analysis.
        scope: the scope of the variable.
        name: the variable.
    """
    stores = context.bodies.stores(scope, name.id)
    if len(stores) != 1:
        return None
    above = around(context, scope)
    target = above.get(stores[0])
    statement = above.get(target) if isinstance(target, ast.Tuple) else None
    if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Tuple):
        return None
    given = statement.value
    if not isinstance(given, ast.Tuple) or len(given.elts) != len(target.elts):
        return None
    if any(isinstance(one, ast.Starred) for one in (*given.elts, *target.elts)):
        return None
    return given.elts[target.elts.index(stores[0])]


def made_by(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the expression that a variable is the name of; None if there is none.

    ``written`` in places.py asks besides whether it would still give the same.

    Args:
        context: the analysis.
        node: the variable.
        scope: the scope that it stands in.
    """
    value = scope.module.values.get(node)
    made = value.node if isinstance(value, Call | Unknown) else None
    if isinstance(made, ast.expr):
        return made if made is not node else None
    return bound_once(context, scope, node) if isinstance(node, ast.Name) else None  # a part: `x[:, 0]`


def originals_that(context: Context, bound: Bound, serves: Callable[[Value], bool]) -> OrderedSet[Bound]:
    """Return where a value comes from, copies replaced by what they are of; nothing if one of these does not serve.

    Args:
        context: the analysis.
        bound: the value.
        serves: says by what stands there alone whether a source is of use.
    """
    if context.sources.all_of(bound, lambda value: isinstance(value, Part) or serves(value)) is None:
        return OrderedSet()
    found = context.sources.originals(bound)
    return found if all(serves(one.value) for one in found) else OrderedSet()


def made_by_calls(context: Context, bound: Bound) -> OrderedSet[Bound]:
    """Return the calls that make a value, or what it is a copy of; nothing if it may come from anything else."""
    return originals_that(context, bound, lambda value: isinstance(value, Call))


def listed(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a list display, whatever is added to it, on every way.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
    """
    value = origin(context, node, scope)
    if value is None:
        return False
    bound = context.flow.here(value, scope)
    sources = [one for one in context.sources.all_of(bound, _list_like) or () if not _grown(one.value, value)]
    return bool(sources) and all(
        isinstance(one.value, Sequence) and isinstance(one.value.node, ast.List) for one in sources
    )


def _list_like(value: Value) -> bool:
    return isinstance(value, Changed) or (isinstance(value, Sequence) and isinstance(value.node, ast.List))


def _grown(value: Value, whole: Value) -> bool:
    """Say whether a value is the same list after ``append`` or the like."""
    if not isinstance(value, Changed):
        return False
    value, whole = _before(value), _before(whole)
    if isinstance(value, Attr) and isinstance(whole, Attr):
        return value.name == whole.name and _of_self(value) and _of_self(whole)
    return value is whole


def _before(value: Value) -> Value:
    """Return a list before what methods added to it."""
    for _ in range(_DEPTH):
        if not isinstance(value, Changed) or not isinstance(value.node, ast.Call):
            break
        value = value.before
    return value


def _of_self(value: Attr) -> bool:
    return isinstance(value.base, Param) and value.base is value.base.function.self_param


def own_stores(context: Context, value: Attr) -> list[Bound]:
    """Return what the methods of a class assign to an attribute of ``self``, if the constructor does and no other code.

    Args:
        context: the analysis.
        value: the attribute, as a method reads it.

    Returns:
        The values; none if other code may assign to it, or if it is no attribute of the instance.
    """
    owner = value.base.function.owner if isinstance(value.base, Param) and _of_self(value) else None
    if owner is None:
        return []
    flow = context.flow
    family = {*flow.classes.mro(owner)[0], *flow.classes.heirs(owner)}
    stores = [store for cls in flow.classes.mro(owner)[0] for store in cls.stores.get(value.name, ())]
    others = any(value.name in cls.stores for cls in family - set(flow.classes.mro(owner)[0]))
    if others or flow.fields.stores_from_outside(owner, value.name):
        return []
    if not any(method.name in {"__init__", "__post_init__", "setup"} for method, _ in stores):
        return []
    return [flow.here(stored, method.scope) for method, stored in stores if not _filled(stored, value.name)]


def _filled(value: Value, name: str) -> bool:
    """Say whether a value is an attribute of ``self`` after an item of it was assigned or added."""
    while isinstance(value, Changed) and isinstance(value.node, ast.Call | ast.Subscript):
        value = value.before
        if isinstance(value, Attr) and value.name == name and _of_self(value):
            return True
    return False


def named(node: ast.expr) -> str:
    """Return the last name of a variable, an attribute, or an entry under a constant name; empty for others."""
    if isinstance(node, ast.Subscript):
        return constant_key(node) or ""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def constant_key(node: ast.Subscript) -> str | None:
    """Return the string in ``x["name"]``."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if isinstance(key, str) else None


class _Records:
    """The dicts that are used as records: by constant names, in one body, and never as a whole."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._others: dict[Scope, set[str]] = {}
        self._loops: dict[tuple[Loop, str], Value | None] = {}

    def plain(self, name: str, scope: Scope) -> bool:
        """Say whether nothing but the text of a scope changes the entries of one of its variables."""
        if (
            name in scope.globals
            or name in scope.remote
            or (scope.function is not None and name in scope.function.params)
        ):
            return False
        if scope not in self._others:
            self._others[scope] = self._used_as_a_whole(scope)
        return name not in self._others[scope] and (
            scope.function is not None or not self._imported(name, scope.module)
        )

    def _used_as_a_whole(self, scope: Scope) -> set[str]:
        """Return the names that stand elsewhere than in an entry, or whose entries an inner function assigns."""
        own = set(self._context.bodies.nodes(scope))
        entries, names = set(), []
        for node in ast.walk(scope.node):
            if isinstance(node, ast.Subscript) and constant_key(node) is not None:
                if node in own or isinstance(node.ctx, ast.Load):
                    entries.add(node.value)
            elif isinstance(node, ast.Name):
                names.append(node)
        return {n.id for n in names if n not in entries and not (isinstance(n.ctx, ast.Store) and n in own)}

    def _imported(self, name: str, module: ModuleFacts) -> bool:
        """Say whether another module may fill a global."""
        words = name.encode(), module.name.rpartition(".")[2].encode()
        others = (one.source.data for one in self._context.project.modules if one is not module)
        return any(all(word in data for word in words) for data in others)

    def entry(self, base: Value, key: str, depth: int = 0) -> Value | None:
        """Return what stands under a key, by the assignments before; None if that is not known."""
        while isinstance(base, Changed) and depth < _DEPTH:
            stored = constant_key(base.node) if isinstance(base.node, ast.Subscript) else None
            if stored is None:
                return None
            if stored == key:
                return base.value
            base, depth = base.before, depth + 1
        if isinstance(base, Loop):
            return self._in_loop(base, key, depth + 1) if depth < _DEPTH else None
        if isinstance(base, Mapping):
            if any(not isinstance(name, Const) for name, _ in base.items):
                return None
            return next((one for name, one in reversed(base.items) if name == Const(key)), None)
        return None

    def _in_loop(self, base: Loop, key: str, depth: int) -> Value | None:
        if (base, key) in self._loops:
            return self._loops[base, key]
        before = self.entry(base.before, key, depth)
        if before is None or base.again is None or base.again is base:
            self._loops[base, key] = before
            return before
        head = self._loops[base, key] = Loop(base.node, before)
        again = self.entry(base.again, key, depth)
        if again is head:
            self._loops[base, key] = before  # no round assigns it
        else:
            head.again = again
            self._loops[base, key] = head if again is not None else None
        return self._loops[base, key]
