"""NNX525: a dict that was saved as an array, and is read as a dict when it is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Call, Changed, Comprehension, Const, Mapping, Value

_SAVING = frozenset({"numpy.save", "jax.numpy.save"})
_LOADING = frozenset({"numpy.load", "jax.numpy.load"})
_WORDS = (b".save(", b".load(")
# functions that give a dict with the keys of their first or second argument, or a dict whatever they get
_KEEPING = {"jax.device_get": 0, "jax.device_put": 0, "builtins.dict": 0, "copy.copy": 0, "copy.deepcopy": 0,
            "optax.apply_updates": 0} | dict.fromkeys(TREE_MAPS, 1)  # fmt: skip
_DICTS = frozenset({"flax.serialization.to_state_dict", "flax.nnx.to_pure_dict", "dataclasses.asdict"})
_ENTRIES = frozenset({"keys", "values", "items", "get"})


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not all(any(word in module.source.data for module in modules) for word in _WORDS):
        return
    saved = [event for event, name in foreign(context, "save", everywhere=True) if name in _SAVING]
    saved = [event for event in saved if len(event.value.args) == 2 and not event.value.starred]
    saved = [event for event in saved if _is_dict(context, context.flow.here(event.value.args[1], event.scope), set())]
    loaded: dict[ast.AST, CallEvent] = {}
    for event, name in foreign(context, "load", everywhere=True) if saved else ():
        if name in _LOADING and event.value.args and not event.value.starred and not in_test(event.scope):
            if any(_same_file(context, one, event) for one in saved):
                loaded[event.node] = event
    if not loaded:
        return
    for event in loaded.values():
        if event.scope.module in context.asked and _refused(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a dict was saved there: `load` refuses it unless it may unpickle",
                "save the arrays by name with np.savez(path, **arrays), or load with allow_pickle=True and .item()",
            )
    told: set[Scope] = set()
    for scope, node, base in _read(context):
        if scope in told or in_test(scope):
            continue
        sources = context.sources.originals(base)
        made = [one.value.node for one in sources if isinstance(one.value, Call)]
        if made and len(made) == len(sources) and all(one in loaded for one in made):
            told.add(scope)
            yield finding(
                RULE.code,
                scope,
                node,
                "a dict that was saved as an array comes back as an array without axes, which holds it",
                "take it out: np.load(path, allow_pickle=True).item(), or save the arrays by name with np.savez",
            )


def _refused(context: Context, event: CallEvent) -> bool:
    """Say whether a call of ``load`` is not allowed to unpickle, and no error is caught."""
    given = argument(event.node, 2, "allow_pickle")
    options = any(word.arg is None for word in event.node.keywords)
    return (
        (given is None or constant(given) is False)
        and not options
        and not context.bodies.guarded(event.node, event.scope)
    )


def _read(context: Context) -> Iterator[tuple[Scope, ast.expr, Bound]]:
    """Yield what is read like a dict: ``params["w"]`` or ``params.items()``."""
    for scope, node in each(context, ast.Subscript):
        if isinstance(constant(node.slice), str) and isinstance(node.ctx, ast.Load):
            yield scope, node, at(context, node.value, scope)
    for event in context.bodies.named(*sorted(_ENTRIES)):
        if event.scope.module in context.asked and isinstance(event.node.func, ast.Attribute):
            yield event.scope, event.node, at(context, event.node.func.value, event.scope)


def _same_file(context: Context, saved: CallEvent, loaded: CallEvent) -> bool:
    """Say whether a file is loaded that was saved, by the texts that its name is on all ways."""
    one, two = (_names(context, event.value.args[0], event.scope) for event in (saved, loaded))
    return bool(one) and one == two


def _names(context: Context, path: Value, scope: Scope) -> frozenset[str]:
    """Return the texts that a name of a file is, without the ending that ``save`` adds; empty if one is not known."""
    found = [one.value for one in context.sources.originals(context.flow.here(path, scope))]
    texts = [one.value for one in found if isinstance(one, Const) and isinstance(one.value, str)]
    return frozenset(text.removesuffix(".npy") for text in texts) if len(texts) == len(found) else frozenset()


def _is_dict(context: Context, bound: Bound, seen: set[Bound]) -> bool:
    """Say whether a value is a dict on all ways.

    Args:
        context: the analysis.
        bound: the value.
        seen: what was asked about already, as in the rounds of a loop.
    """
    sources = context.sources.originals(bound)
    new = [one for one in sources if one not in seen]
    seen.update(new)
    return bool(sources) and all(_made(context, one, seen) for one in new)


def _made(context: Context, source: Bound, seen: set[Bound]) -> bool:
    value = source.value
    if isinstance(value, Mapping):
        return True
    if isinstance(value, Comprehension):
        return value.key is not None
    if isinstance(value, Changed):
        return _is_dict(context, context.flow.with_value(source, value.before), seen)
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(source)
    place = _KEEPING.get(name)
    if place is not None and len(value.args) > place and not value.starred:
        return _is_dict(context, context.flow.with_value(source, value.args[place]), seen)
    return name in _DICTS or (name == "builtins.dict" and bool(value.keywords))


_BAD = """\
import jax.numpy as jnp
import numpy as np

params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
np.save("params.npy", params)
restored = np.load("params.npy", allow_pickle=True)
print(restored["w"])
"""

RULE = lint_rule(
    "NNX525",
    "boxed-dict",
    "a dict that was saved by np.save, and is read like one when it is loaded",
    why="""\
`np.save` makes an array of what it gets. Of a dict that is one without axes whose only element is the dict, pickled:
`np.load` raises a ValueError unless it gets `allow_pickle=True`, and then gives that array, of which `loaded["w"]`
raises an IndexError. `loaded.item()` is the dict; `np.savez` saves arrays by their names.
""",
    source="Stack Overflow on loading dicts with NumPy; measured: IndexError and ValueError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("allow_pickle=True)", "allow_pickle=True).item()"),
        _BAD.replace('np.save("params.npy", params)', 'np.savez("params.npz", **params)').replace(
            '"params.npy", allow_pickle=True', '"params.npz"'
        ),
    ),
)
