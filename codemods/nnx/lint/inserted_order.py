"""NNX797: entries of a dict in the order of their insertion, taken for the leaves of a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.cut_leaves import cut_leaves
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.origins import own_stores
from codemods.nnx.lint.places import each, foreign, in_test, passed, written
from codemods.nnx.lint.sliced_leaves import sliced_leaves
from codemods.nnx.lint.syntax import argument, inside
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Comprehension,
    Const,
    Each,
    Item,
    Mapping,
    Param,
    Sequence,
    Value,
    of_display,
)

_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves"})
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten"})
_STRUCTURE = frozenset({"jax.tree.structure", "jax.tree_util.tree_structure"})
_UNFLATTEN = frozenset({"jax.tree.unflatten", "jax.tree_util.tree_unflatten"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map"})
_FLATTENING = frozenset({"leaves", "tree_leaves", "flatten", "tree_flatten"})
_UNPACKED = (b"leaves", b"flatten", b".values()")
_JOINED = (b"concatenate", b"hstack", b"ravel_pytree")
_SAVING = frozenset({"numpy.savez", "numpy.savez_compressed", "jax.numpy.savez"})
_VIEWS = frozenset({"keys", "values", "items"})
_COPYING = frozenset({"list", "tuple", "iter", "enumerate"})
_COMPREHENSIONS = (ast.ListComp, ast.DictComp)
_DEPTH = 8
_Keys = tuple[str, ...]


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "zip"):
        if name == "builtins.zip" and len(event.node.args) > 1 and not in_test(event.scope):
            yield from _zipped(context, event)
    for event, name in foreign(context, "unflatten", "tree_unflatten"):
        leaves = argument(event.node, 1, "leaves")
        if name in _UNFLATTEN and leaves is not None and not in_test(event.scope):
            keys = _inserted(context, leaves, event.scope, 0)
            if keys is not None and _of_structure(context, event, keys):
                yield _found(event, leaves, keys)
    for event, name in foreign(context, "savez", "savez_compressed"):
        if name in _SAVING and not in_test(event.scope):
            for node in event.node.args[1:]:
                keys = _inserted(context, node.value, event.scope, 0) if isinstance(node, ast.Starred) else None
                if keys is not None and _loaded(context, keys):
                    yield _found(event, node, keys)
    if any(module.source.mentions(word) for module in context.asked.modules for word in _UNPACKED):
        yield from _unpacked(context)
    if any(module.source.mentions(word) for module in context.project.modules for word in _JOINED):
        yield from _cut_up(context)
    if any(module.source.mentions(b"ravel_pytree") for module in context.asked.modules):
        for scope, part, key, order in sliced_leaves(context, lambda found: _leaf_keys(context, found, set())):
            yield finding(
                RULE.code,
                scope,
                part,
                f"the flat vector of a dict has its leaves by the sorted keys, {', '.join(order[:3])}, and `{key}` "
                "does not stand here",
                f'take the vector apart by the function that ravel_pytree gives: unravel(vector)["{key}"]',
            )


def _cut_up(context: Context) -> Iterator[Finding]:
    """Yield the parts of the joined leaves of a dict that a loop over its entries puts under other keys."""
    parts = cut_leaves(
        context,
        lambda node, scope: _inserted(context, node, scope, 0, whole=True),
        lambda node, scope: _leafwise(context, node, scope, 0),
        lambda found: _leaf_keys(context, found, set()),
    )
    for scope, part, keys in parts:
        yield finding(
            RULE.code,
            scope,
            part,
            f"the vector is made of leaves by the sorted keys, {', '.join(sorted(keys)[:3])}, and is cut up for "
            f"{', '.join(keys[:3])}",
            "go through sorted(...) here, or join the entries by their keys",
        )


def _unpacked(context: Context) -> Iterator[Finding]:
    """Yield the leaves of a dict that are unpacked into variables which are called like its keys in another order."""
    for scope, node in each(context, ast.Assign):
        targets = node.targets[0]
        if not isinstance(targets, ast.Tuple) or not targets.elts or in_test(scope):
            continue
        keys: _Keys | None
        if isinstance(targets.elts[0], ast.Tuple):  # (w, b), treedef = jax.tree.flatten(layer)
            targets = targets.elts[0]
            keys = _flattened(context, node.value, scope) if _wordy(targets) else None
        elif not _wordy(targets):
            continue
        elif isinstance(node.value, ast.Call) and last_word(node.value.func) == "values":
            keys = _rebuilt(context, node.value, scope)
        elif not any(scope.module.source.mentions(word) for word in _UNPACKED[:2]):
            continue
        else:
            keys = _leafwise(context, node.value, scope, 0) if _of_leaves(context, node.value, scope) else None
        meant = _meant([last_word(one) for one in targets.elts], keys) if keys is not None else None
        if keys is not None and meant is not None and meant != keys:
            yield finding(
                RULE.code,
                scope,
                targets,
                f"the leaves of a dict come by its sorted keys, {', '.join(keys[:3])}, and are unpacked as "
                f"{', '.join(meant[:3])}",
                "read the entries by their keys",
            )


def _wordy(targets: ast.Tuple) -> bool:
    """Say whether several variables or attributes are assigned at once."""
    return len(targets.elts) > 1 and all(last_word(one) for one in targets.elts)


def _flattened(context: Context, node: ast.expr, scope: Scope) -> _Keys | None:
    """Return the sorted keys of the dict that an expression takes apart into its leaves and its structure."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in _FLATTENING or len(node.args) != 1:
        return None
    found = context.flow.resolve(context.flow.here(scope.module.values[node], scope))
    if not isinstance(found.value, Call) or not _called(context, found, _FLATTEN) or found.value.keywords:
        return None
    return _leaf_keys(context, context.flow.with_value(found, found.value.args[0]), set())


def _rebuilt(context: Context, node: ast.Call, scope: Scope) -> _Keys | None:
    """Return the keys of a dict in their order where a transformation has rebuilt it, which sorts them."""
    if not isinstance(node.func, ast.Attribute) or node.args:
        return None
    value = scope.module.values.get(node.func.value)
    if not isinstance(value, Param) or value.function is not scope.function:
        return None
    compiled, derived = context.traced.get(value.function), context.traced.differentiated.get(value.function)
    tracing = compiled or derived
    if tracing is None or not tracing.roots or tracing.sites:
        return None
    if compiled is not None and not context.taint.node(node.func.value, scope):
        return None
    first = value.name == next(iter(value.function.params)) and not scope.module.source.mentions(b"argnums")
    if compiled is None and not first:
        return None  # what no derivative is taken of stays as it is
    keys = _keys_of(context, context.flow.here(value, scope), built=True)
    return tuple(sorted(keys)) if keys is not None else None


def _of_leaves(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression looks like the leaves of a tree, or all of them and its structure."""
    node = _written(context, node, scope)
    while isinstance(node, ast.ListComp | ast.GeneratorExp):
        node = _written(context, node.generators[0].iter, scope)
    word = last_word(node.func) if isinstance(node, ast.Call) else ""
    return word in _FLATTENING or isinstance(node, ast.Name)


def _meant(names: list[str], keys: _Keys) -> _Keys | None:
    """Return the keys that variables are called after, one by one; None if that is not clear."""
    found = []
    for name in names:
        word = name.strip("_").casefold()
        same = [key for key in keys if key.casefold() == word]
        like = [key for key in keys if word and (key.casefold().startswith(word) or word.startswith(key.casefold()))]
        chosen = same or like
        if len(chosen) != 1:
            return None
        found += chosen
    return tuple(found) if len(set(found)) == len(keys) == len(found) else None


def _found(event: CallEvent, node: ast.AST, keys: _Keys) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        node,
        f"the entries come as they were put into the dict, {', '.join(keys[:3])} first, and the leaves of a tree by "
        f"their sorted keys, {', '.join(sorted(keys)[:3])}",
        "take both from jax.tree.leaves, or go through the keys",
    )


def _zipped(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the calls of zip that go through the entries of a dict and the leaves of one with the same keys."""
    leaves = [one for node in event.node.args if (one := _leafwise(context, node, event.scope, 0)) is not None]
    for node in event.node.args if leaves else ():
        keys = _inserted(context, node, event.scope, 0, whole=True)
        if keys is not None and any(sorted(keys) == sorted(one) for one in leaves):
            yield _found(event, node, keys)
            return


def _inserted(context: Context, node: ast.expr, scope: Scope, depth: int, whole: bool = False) -> _Keys | None:
    """Return the keys of the dict whose entries an expression goes through in their order, if they are not sorted.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
        depth: how many expressions this one was followed from.
        whole: whether a dict itself counts, as where it is iterated over.
    """
    node = _written(context, node, scope)
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        return _unsorted(context, node.func.value, scope, depth) if not node.args else None
    if isinstance(node, ast.Call) and last_word(node.func) in _COPYING and len(node.args) == 1:
        return _inserted(context, node.args[0], scope, depth + 1, whole=True)
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and _plain(node.generators):
        return _inserted(context, node.generators[0].iter, scope, depth + 1, whole=True)
    names = _names(context, node, scope)
    if names is not None:
        return names if whole and list(names) != sorted(names) else None
    if (kept := _kept(context, node, scope)) is not None:
        return _inserted(context, *kept, depth + 1)
    return _unsorted(context, node, scope, depth) if whole else None


def _kept(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.Call, Scope] | None:
    """Return the call whose result an attribute of ``self`` or a parameter is, with where it stands: ``list(params)``.

    Args:
        context: the analysis.
        node: the expression that reads it.
        scope: the scope around that.
    """
    value = scope.module.values.get(node)
    made: list[Bound] = []
    if isinstance(value, Attr):
        made = own_stores(context, value)
    elif isinstance(value, Param) and value is not value.function.self_param:
        sites = context.flow.sites.callers(value.function)
        given = passed(sites[0], value) if len(sites) == 1 else None
        made = [context.flow.here(given, sites[0].scope)] if given is not None else []
    found = made[0].value if len(made) == 1 else None
    if not isinstance(found, Call) or last_word(found.node.func) not in _COPYING | _VIEWS:
        return None
    home = context.bodies.home(found.node) or context.bodies.module_scope(found.node)
    return (found.node, home) if home is not None else None


def _names(context: Context, node: ast.expr, scope: Scope) -> _Keys | None:
    """Return the strings that a list or tuple is written of; None if it is another value."""
    value = scope.module.values.get(node)
    return _strings(context.flow.resolve(context.flow.here(value, scope)).value) if value is not None else None


def _strings(found: Value) -> _Keys | None:
    """Return the strings of a list or tuple; None for another value."""
    if not isinstance(found, Sequence) or len(found.items) < 2:
        return None
    names = [one.value for one in found.items if isinstance(one, Const) and isinstance(one.value, str)]
    return tuple(names) if len(names) == len(found.items) else None


def _written(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression of which a variable is the name, also a comprehension if nothing else is assigned to it."""
    if not isinstance(node, ast.Name):
        return node
    stores = context.bodies.stores(scope, node.id)
    for one in context.bodies.nodes(scope) if len(stores) == 1 else ():
        if isinstance(one, ast.Assign) and one.targets == stores and isinstance(one.value, _COMPREHENSIONS):
            return one.value
    return written(context, node, scope)


def _plain(generators: list[ast.comprehension]) -> bool:
    return len(generators) == 1 and not generators[0].ifs


def _unsorted(context: Context, node: ast.expr, scope: Scope, depth: int) -> _Keys | None:
    """Return the keys of a dict in the order of their insertion, if that is another than the sorted one."""
    node = _written(context, node, scope)
    if isinstance(node, ast.DictComp):
        each = node.generators[0]
        items = isinstance(each.iter, ast.Call) and last_word(each.iter.func) == "items"
        first = each.target.elts[0] if isinstance(each.target, ast.Tuple) and each.target.elts else None
        same = isinstance(first, ast.Name) and isinstance(node.key, ast.Name) and node.key.id == first.id
        if not items or not same or not _plain(node.generators):
            return None
        return _inserted(context, each.iter, scope, depth + 1)
    keys = _keys(context, node, scope)
    return keys if keys is not None and list(keys) != sorted(keys) else None


def _keys(context: Context, node: ast.expr, scope: Scope) -> _Keys | None:
    """Return the keys of a dict that is written as one, and that no transformation has rebuilt."""
    value = scope.module.values.get(node)
    return _keys_of(context, context.flow.here(value, scope)) if value is not None else None


def _keys_of(context: Context, bound: Bound, built: bool = False) -> _Keys | None:
    """Return the keys of a dict that is written as one.

    Args:
        context: the analysis.
        bound: the dict.
        built: whether one counts that a transformation may have rebuilt, with its keys sorted.
    """
    found: set[_Keys] = set()
    sources = [*context.sources.originals(bound)]
    together = _put_together(context, bound, sources)
    if together is not None:
        traced = context.traced.get(sources[0].frame.function) if sources[0].frame is not None else None
        return together if built or traced is None else None
    for source in sources:
        if not isinstance(source.value, Mapping | Comprehension | Call):
            return None
        if not built and source.frame is not None and context.traced.get(source.frame.function) is not None:
            return None  # what jit gives back has its keys sorted
        keys = _display_keys(context, source)
        if keys is None:
            return None
        found.add(keys)
    return found.pop() if len(found) == 1 else None


def _display_keys(context: Context, source: Bound) -> _Keys | None:
    """Return the keys of a dict that is written out, or made for each of some names."""
    value = source.value
    if isinstance(value, Mapping):
        keys = [key.value for key, _ in value.items if isinstance(key, Const) and isinstance(key.value, str)]
        return tuple(keys) if len(keys) == len(value.items) else None
    over: Value | None = None
    if isinstance(value, Call):  # dict(zip(NAMES, values)), which is as good as what it copies
        pairs = last_word(value.node.func) == "zip" and len(value.args) == 2 and not value.starred
        over = value.args[0] if pairs else None
    elif isinstance(value, Comprehension) and isinstance(value.loop, ast.comprehension) and not value.loop.ifs:
        each = of_display(value.key) if value.key is not None else None
        over = each.base if isinstance(each, Each) and each.loop is value.loop else None
    found = context.flow.follow(source, over) if over is not None else source
    if isinstance(found.value, Mapping):  # {name: p.shape for name, p in params.items()}
        return _display_keys(context, found)
    return _strings(found.value) if over is not None else None


def _leafwise(context: Context, node: ast.expr, scope: Scope, depth: int) -> _Keys | None:
    """Return the keys of a dict through whose leaves an expression goes."""
    node = _written(context, node, scope)
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call) and last_word(node.func) in _COPYING and len(node.args) == 1:
        return _leafwise(context, node.args[0], scope, depth + 1)
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and _plain(node.generators):
        return _leafwise(context, node.generators[0].iter, scope, depth + 1)
    value = scope.module.values.get(node)
    if value is None:
        return None
    found = context.flow.resolve(context.flow.here(value, scope))
    whole = _part(found, 0)
    if whole is not None and _called(context, whole, _FLATTEN):
        found = whole
    elif not _called(context, found, _LEAVES):
        return None
    assert isinstance(found.value, Call)
    if len(found.value.args) != 1 or found.value.keywords:
        return None
    return _leaf_keys(context, context.flow.with_value(found, found.value.args[0]), set())


def _leaf_keys(context: Context, bound: Bound, seen: set[Bound]) -> _Keys | None:
    """Return the sorted keys of a dict, also of one that is made like another one, as in the rounds of a loop.

    Args:
        context: the analysis.
        bound: the dict.
        seen: those that are asked about already, which are made like it.
    """
    found: set[_Keys] = set()
    sources = [*context.sources.originals(bound)]
    together = _put_together(context, bound, sources)
    if together is not None:
        return tuple(sorted(together))
    for source in sources:
        if source in seen:
            continue
        seen.add(source)
        keys = _display_keys(context, source)
        if keys is None:
            like = _like(context, source)
            if like is None:
                return None
            keys = _leaf_keys(context, like, seen)
            if keys is None and not (context.sources.originals(like) <= seen):
                return None
        if keys is not None:
            found.add(tuple(sorted(keys)))
    return found.pop() if len(found) == 1 else None


def _put_together(context: Context, bound: Bound, sources: list[Bound]) -> _Keys | None:
    """Return the keys of a dict whose entries one body assigns: ``for name in NAMES: params[name] = ...``.

    Args:
        context: the analysis.
        bound: the dict.
        sources: what it comes from; all of it are the first dict and its assignments.

    Returns:
        The keys in the order of their insertion; None for another value.
    """
    frame = sources[0].frame if sources else None
    first = [one.value for one in sources if isinstance(one.value, Mapping)]
    changes = [one.value.node for one in sources if isinstance(one.value, Changed)]
    if len(first) != 1 or len(changes) + 1 != len(sources):
        return None
    if len({one.frame.function if one.frame is not None else None for one in sources}) != 1:
        return None
    if not changes:  # one after the other
        value = context.flow.resolve(bound).value
        while isinstance(value, Changed):
            changes.append(value.node)
            value = value.before
        if not changes or value is not first[0]:
            return None
    key = changes[0].slice if isinstance(changes[0], ast.Subscript) else changes[0]
    scope = frame.function.scope if frame is not None else context.bodies.module_scope(key)
    names = [one.value if isinstance(one, Const) else None for one, _ in first[0].items]
    for node in sorted(changes, key=lambda n: getattr(n, "lineno", 0)):
        assigned = _assigned(context, node, scope) if scope is not None and isinstance(node, ast.Subscript) else None
        if assigned is None:
            return None
        names += [name for name in assigned if name not in names]
    keys = [name for name in names if isinstance(name, str)]
    return tuple(keys) if len(keys) == len(names) else None


def _assigned(context: Context, node: ast.Subscript, scope: Scope) -> _Keys | None:
    """Return the keys for which ``d[key] = ...`` is evaluated, in a loop over names or outside of one."""
    if isinstance(node.slice, ast.Constant):
        return (node.slice.value,) if isinstance(node.slice.value, str) else None
    if not isinstance(node.slice, ast.Name):
        return None
    for loop in context.bodies.nodes(scope):
        if not isinstance(loop, ast.For) or not inside(node, loop):
            continue
        over = _gone_through(loop.target, loop.iter, node.slice.id)
        if over is not None:
            return _names(context, over, scope)
    return None


def _gone_through(target: ast.expr, over: ast.expr, name: str) -> ast.expr | None:
    """Return what one variable of a loop goes through: of ``for i, (name, size) in ...`` nothing that is known."""
    if isinstance(target, ast.Name):
        return over if target.id == name else None
    if not isinstance(target, ast.Tuple) or not isinstance(over, ast.Call):
        return None
    places = [i for i, one in enumerate(target.elts) if isinstance(one, ast.Name) and one.id == name]
    word = last_word(over.func)
    place = places[0] - int(word == "enumerate") if places else -1
    return over.args[place] if word in {"zip", "enumerate"} and 0 <= place < len(over.args) else None


def _like(context: Context, source: Bound) -> Bound | None:
    """Return the tree after whose structure another one is made: by a map, an update, or as its gradient."""
    flow = context.flow
    whole = _part(source, 1)
    made = whole if whole is not None else source
    if not isinstance(made.value, Call) or made.value.starred or not made.value.args:
        return None
    call, name = made.value, flow.calls.callee_name(made)
    if name in _UNFLATTEN and whole is None:
        treedef = flow.follow(made, call.args[0])
        pair = _part(treedef, 1)
        inner = pair if pair is not None and _called(context, pair, _FLATTEN) else treedef
        known = pair is inner or _called(context, inner, _STRUCTURE)
        args = inner.value.args if isinstance(inner.value, Call) and known else ()
        return flow.with_value(inner, args[0]) if args else None
    if name in _MAPS and whole is None and len(call.args) > 1:
        return flow.with_value(made, call.args[1])
    if name == "optax.apply_updates" and whole is None:
        return flow.with_value(made, call.args[0])
    gradient = flow.follow(made, call.callee)
    if isinstance(gradient.value, Call) and flow.calls.callee_name(gradient) in COMPILING and gradient.value.args:
        gradient = flow.follow(gradient, gradient.value.args[0])
    if not isinstance(gradient.value, Call) or len(gradient.value.args) != 1 or gradient.value.keywords:
        return None
    of = "jax.grad" if whole is None else "jax.value_and_grad"
    return flow.with_value(made, call.args[0]) if flow.calls.callee_name(gradient) == of else None


def _part(found: Bound, place: int) -> Bound | None:
    """Return the pair of which a value is a part."""
    value: Value = found.value
    if isinstance(value, Item) and value.index == Const(place):
        return Bound(value.base, found.frame, found.stale)
    if isinstance(value, Indexed) and value.index.value == Const(place):
        return Bound(value.base, found.frame, found.stale)
    return None


def _called(context: Context, found: Bound, names: frozenset[str]) -> bool:
    return isinstance(found.value, Call) and context.flow.calls.callee_name(found) in names


def _of_structure(context: Context, event: CallEvent, keys: _Keys) -> bool:
    """Say whether the structure that leaves are put into is that of a dict with some keys."""
    given = event.value.argument(0, "treedef")
    if given is None:
        return False
    found = context.flow.resolve(context.flow.here(given, event.scope))
    whole = _part(found, 1)
    if whole is not None and _called(context, whole, _FLATTEN):
        found = whole
    elif not _called(context, found, _STRUCTURE):
        return False
    assert isinstance(found.value, Call)
    if len(found.value.args) != 1 or found.value.keywords:
        return False
    others = _keys_of(context, context.flow.with_value(found, found.value.args[0]))
    return others is not None and sorted(others) == sorted(keys)


def _loaded(context: Context, keys: _Keys) -> bool:
    """Say whether what ``savez`` wrote without names is put into a dict with some keys as its leaves."""
    for event, name in foreign(context, "unflatten", "tree_unflatten", everywhere=True):
        leaves = argument(event.node, 1, "leaves")
        if name not in _UNFLATTEN or leaves is None:
            continue
        made = _written(context, leaves, event.scope)
        unnamed = any(isinstance(n, ast.Constant) and n.value == "arr_" for n in ast.walk(made))
        if unnamed and _of_structure(context, event, keys):
            return True
    return False


RULE = lint_rule(
    "NNX797",
    "entries-for-leaves",
    "the entries of a dict in the order of their insertion, taken for the leaves of a tree",
    why="""\
JAX goes through dicts in the order of their sorted keys: `jax.tree.leaves(d)` and `list(d.values())` are two orders,
unless the keys were put in sorted. Zipped, each name gets another entry's leaf; given to `jax.tree.unflatten`, the
weights change their places. Where the shapes are the same nothing raises.
""",
    source="JAX documentation of pytrees; measured: other outputs after saving and loading",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
norms = dict(zip(params.keys(), [jnp.sum(leaf) for leaf in jax.tree.leaves(params)]))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
norms = {name: jnp.sum(leaf) for name, leaf in params.items()}
""",
    ),
)
