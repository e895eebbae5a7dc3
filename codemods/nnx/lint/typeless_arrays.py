"""NNX533: arrays of bfloat16 or float8 in files of NumPy, which keep their bytes and not their type."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Call, Const, Item, Mapping, Value

_SAVING = frozenset({"numpy.save", "numpy.savez", "numpy.savez_compressed", "jax.numpy.save", "jax.numpy.savez"})
_CONVERSIONS = {"jax.numpy.asarray": "a", "jax.numpy.array": "object", "jax.device_put": "x"}
_COPYING = frozenset({"numpy.asarray", "numpy.array", "jax.device_get", "jax.numpy.asarray", "jax.numpy.array"})
_TYPES = ("bfloat16", "float8")


def _check(context: Context) -> Iterator[Finding]:
    if not any(_of_interest(module.source.data) for module in context.project.modules):
        return
    saved = [one for one in _saved(context) if not in_test(one[0].scope)]
    if not saved:
        return
    for event, node, load, entry in _loaded(context):
        for save, name, kind in saved:
            if name not in (entry, "*") and (entry != "*" or name == ""):
                continue
            if save.scope.module is event.scope.module and _same_file(save, load):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"a file of NumPy keeps the bytes of {kind} and not the type: what comes back has the type void, "
                    "and JAX raises an error",
                    f"say what the bytes are: array.view(jnp.{kind}), or save it as float32, which holds its numbers",
                    related=[(save.node, "saved here")],
                )
                break


def _of_interest(data: bytes) -> bool:
    return b"np.load" in data and b".save" in data and any(kind.encode() in data for kind in _TYPES)


def _saved(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls that write a file of arrays of which one has such a type: its name, ``*`` if that is not known,
    and its type."""
    for event, name in foreign(context, "save", "savez", "savez_compressed"):
        if name not in _SAVING:
            continue
        if name.endswith(".save"):
            kind = _exact(context, event.node.args[1], event.scope) if len(event.node.args) == 2 else ""
            if kind:
                yield event, "", kind
            continue
        for word in event.node.keywords:
            kind = (_exact if word.arg else _kind)(context, word.value, event.scope)
            if kind:
                yield event, word.arg or "*", kind


def _exact(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the type of an array if it is such a type."""
    value = scope.module.values.get(node)
    kind = ExactTypes(context).of(_uncopied(context, value, scope), scope) if value is not None else ""
    return kind if kind.startswith(_TYPES) else ""


def _kind(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the type of an entry of a dict of arrays, the first that has such a type."""
    node = written(context, node, scope)
    if isinstance(node, ast.DictComp):  # {name: np.asarray(one) for name, one in params.items()}
        return _of_comprehension(context, node, scope)
    value = scope.module.values.get(node)
    if value is None:
        return ""
    value = _uncopied(context, value, scope)
    found = [context.flow.resolve(context.flow.here(value, scope))]
    if not isinstance(found[0].value, Mapping):
        found = list(context.sources.originals(context.flow.here(value, scope)))
    every = [_entry(context, one) for one in found]
    return every[0] if every and all(every) else ""


def _uncopied(context: Context, value: Value, scope: Scope) -> Value:
    """Return what is copied to the host, as it is."""
    while isinstance(value, Call) and value.args and not value.starred:
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if name in TREE_MAPS and len(value.args) == 2:
            inner = context.flow.resolve(context.flow.here(value.args[0], scope)).value
            if getattr(inner, "name", "") not in _COPYING:
                break
            value = value.args[1]
        elif name in _COPYING and len(value.args) == 1 and not value.keywords:
            value = value.args[0]
        else:
            break
    return value


def _of_comprehension(context: Context, node: ast.DictComp, scope: Scope) -> str:
    """Return the type of an entry of the dict that a comprehension copies, entry by entry."""
    made, one = node.value, node.generators[0]
    while isinstance(made, ast.Call) and len(made.args) == 1 and not made.keywords:
        value = scope.module.values.get(made)
        known = value is not None and context.flow.calls.callee_name(context.flow.here(value, scope)) in _COPYING
        if not known:
            return ""
        made = made.args[0]
    given, target = one.iter, one.target
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute) or given.func.attr != "items":
        return ""
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or len(node.generators) != 1 or one.ifs:
        return ""
    if not isinstance(made, ast.Name) or not isinstance(target.elts[1], ast.Name) or made.id != target.elts[1].id:
        return ""
    return _kind(context, given.func.value, scope)


def _entry(context: Context, made: Bound) -> str:
    """Return the type of an entry of a dict, the first that has such a type."""
    value = made.value
    if isinstance(value, Call):
        made = context.flow.resolve(made)
        value = made.value
    if not isinstance(value, Mapping):
        return ""
    types = ExactTypes(context)
    home = made.frame.function.scope if made.frame is not None else context.bodies.module_scope(value.node)
    for _, item in value.items if home is not None else ():
        kind = types.of(item, home) if home is not None else ""
        if kind.startswith(_TYPES):
            return kind
    return ""


def _loaded(context: Context) -> Iterator[tuple[CallEvent, ast.expr, ast.Call, str]]:
    """Yield what goes from ``np.load`` to JAX as it is: the conversion, the array, the call that loads it, and the name
    of the entry, ``*`` if that is not known; none for a file of one array."""
    for event, name in foreign(context, "asarray", "array", "device_put"):
        if name not in _CONVERSIONS or in_test(event.scope) or event.value.starred:
            continue
        given = argument(event.node, 0, _CONVERSIONS[name])
        if given is None:
            continue
        held = event.scope.module.values.get(given)
        if isinstance(held, Item) and isinstance(held.base, Call) and isinstance(held.index, Const):
            if context.flow.calls.callee_name(context.flow.here(held.base, event.scope)) == "numpy.load":
                yield event, given, held.base.node, str(held.index.value)
                continue
        made = written(context, given, event.scope)
        entry = ""
        if isinstance(made, ast.Subscript):
            entry = str(constant(made.slice) or "*")
            made = written(context, made.value, event.scope)
        value = event.scope.module.values.get(made)
        if isinstance(made, ast.Call) and value is not None and made.args:
            if context.flow.calls.callee_name(context.flow.here(value, event.scope)) == "numpy.load":
                yield event, given, made, entry


def _same_file(save: CallEvent, load: ast.Call) -> bool:
    """Say whether two calls name their file alike."""
    return bool(save.node.args) and ast.dump(save.node.args[0]) == ast.dump(load.args[0])


_BAD = """\
import jax.numpy as jnp
import numpy as np


def store(path, count):
    weights = jnp.ones((count, count), jnp.bfloat16)
    np.save(path, weights)


def restore(path):
    return jnp.asarray(np.load(path))
"""
_ENTRIES = """\
import jax.numpy as jnp
import numpy as np

weights = jnp.ones((3, 3), dtype=jnp.bfloat16)
np.savez("weights.npz", weights=np.asarray(weights))
with np.load("weights.npz") as file:
    restored = jnp.array(file["weights"])
"""

RULE = lint_rule(
    "NNX533",
    "typeless-arrays",
    "an array of bfloat16 or float8 that comes back from a file of NumPy without its type",
    why="""\
NumPy has no bfloat16 of its own. `np.save` and `np.savez` write the bytes, and `np.load` gives an array of type void
(`|V2`), which `jnp.asarray` refuses, with a type named too: the checkpoint was written without a word, and cannot be
read as it is. `file["w"].view(jnp.bfloat16)` gives back what it was, as `jnp.load` does; as float32 it loses nothing.
""",
    source="jax issues on bfloat16 in npz files; measured on JAX 0.6.2, 0.7.2 and 0.10.2: TypeError on loading",
    check=_check,
    bad=(_BAD, _ENTRIES),
    clean=(
        _BAD.replace("np.load(path))", "np.load(path).view(jnp.bfloat16))"),
        _BAD.replace("np.save(path, weights)", "np.save(path, weights.astype(jnp.float32))"),
        _ENTRIES.replace("jnp.bfloat16", "jnp.float16"),
    ),
)
