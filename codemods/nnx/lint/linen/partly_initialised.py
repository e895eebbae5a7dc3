"""NNX627: Linen modules that are applied by a method, or with flags, whose layers their ``init`` does not reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import (
    HOME,
    always_made,
    calls_always,
    classes_of,
    has_linen,
    is_plain,
    layer_called,
    modules_at,
    wanted,
)
from codemods.nnx.lint.linen.unmade_branch import LAYERS, unmade
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Value

_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not has_linen(context):
        return
    for event, layer, test in unmade(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"this reaches a {layer} that `init` did not: `{test}` decides so: ScopeParamNotFoundError",
            "initialise the model with the flags of training, where all layers are made",
        )
    if not any(m.source.mentions(b"method") for m in modules):
        return
    for event in context.bodies.named("apply"):
        callee, args = event.value.callee, event.value.args
        if not isinstance(callee, Attr) or not args or not wanted(context, event) or _initialises(event):
            continue
        cls = _class(context, context.flow.here(callee.base, event.scope))
        method = _method(context, event, cls) if cls is not None else None
        if cls is None or method is None:
            continue
        needed = _needed(context, cls, method, 0)
        if not needed:
            continue
        reached = _initialised(context, context.flow.here(args[0], event.scope), cls)
        if reached is None:
            continue
        name = next((one for one in needed if one not in reached), None)
        if name is not None and not _by_another(context, cls, name):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{method.name}` needs the parameters of `self.{name}`, which `init` does not reach:"
                " ScopeParamNotFoundError",
                "initialise it by a method that runs all layers, as `__call__` that runs both halves",
            )


def _initialises(event: CallEvent) -> bool:
    """Say whether ``apply`` may make parameters itself."""
    given = keyword(event.node, "mutable")
    names = constant(given) if given is not None else ()
    if names is False:
        return False
    if isinstance(given, ast.List | ast.Tuple):
        names = tuple(constant(one) for one in given.elts)
    names = (names,) if isinstance(names, str) else names
    return not isinstance(names, tuple | list) or not all(isinstance(n, str) and n != "params" for n in names)


def _class(context: Context, bound: Bound) -> ClassFacts | None:
    """Return the one class of Linen that an object is of, if all that it inherits is known."""
    classes = set(classes_of(context, modules_at(context, bound)))
    cls = classes.pop() if len(classes) == 1 else None
    return cls if is_plain(context, cls) else None


def _method(context: Context, event: CallEvent, cls: ClassFacts) -> FunctionFacts | None:
    """Return the method that ``init`` or ``apply`` runs; None if it is not one of the class."""
    given = keyword(event.node, "method")
    name: object = "__call__"
    if isinstance(given, ast.Attribute):
        owner = event.scope.module.values.get(given.value)
        bound = context.flow.here(owner, event.scope) if owner is not None else None
        if bound is None:
            return None
        named = last_word(given.value) == cls.name
        if not named and _class(context, bound) is not cls:
            return None
        name = given.attr
    elif given is not None:
        name = constant(given)
    method = context.flow.classes.method(cls, name) if isinstance(name, str) else None
    return method if method is not None and method.self_param is not None else None


def _needed(context: Context, cls: ClassFacts, method: FunctionFacts, depth: int) -> list[str]:
    """Return the layers of ``setup`` that a method certainly calls, and that have parameters."""
    setup = context.flow.classes.method(cls, "setup")
    if setup is None or setup.self_param is None or depth > _DEPTH:
        return []
    found: list[str] = []
    for call in always_made(context, method):
        func = call.node.func
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            continue
        if method.self_param is None or func.value.id != method.self_param.name:
            continue
        inner = context.flow.classes.method(cls, func.attr)
        if inner is not None:
            found += _needed(context, cls, inner, depth + 1) if inner is not method else []
        elif _made_in(cls, setup, func.attr) and _has_parameters(context, layer_called(context, call), 0):
            found.append(func.attr)
    return found


def _made_in(cls: ClassFacts, setup: FunctionFacts, name: str) -> bool:
    """Say whether ``setup`` makes a layer by a call, stores it once and hands it to nothing."""
    stores = cls.stores.get(name, ())
    if len(stores) != 1 or stores[0][0] is not setup or not isinstance(stores[0][1], Call):
        return False
    reads = (n for n in ast.walk(setup.node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load))
    return all(n.attr != name for n in reads)


def _has_parameters(context: Context, layer: Bound, depth: int) -> bool:
    """Say whether a layer certainly has parameters when it is called."""
    if not isinstance(layer.value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(layer)
    if name:
        return name.startswith(HOME) and name.removeprefix(HOME) in LAYERS
    cls = context.flow.classes.class_of(layer)
    calls = calls_always(context, cls) if cls is not None and is_plain(context, cls) else ()
    return any(_has_parameters(context, layer_called(context, call), depth + 1) for call in calls)


def _initialised(context: Context, variables: Bound, cls: ClassFacts) -> set[str] | None:
    """Return the attributes that the calls of ``init`` read which gave variables; None if these may be others."""
    found: set[str] = set()
    sources = context.sources.originals(variables)
    for source in sources:
        value: Value = source.value
        if isinstance(value, Mapping):
            given = [part for key, part in value.items if isinstance(key, Const) and key.value == "params"]
            if len(given) != 1 or any(not isinstance(key, Const) for key, _ in value.items):
                return None
            parts = [*context.sources.originals(context.flow.with_value(source, given[0]))]
        else:
            parts = [source]
        reads = [_read(context, part, cls, isinstance(value, Mapping)) for part in parts]
        if not reads:
            return None
        for one in reads:
            if one is None:
                return None
            found |= one
    return found if sources else None


def _read(context: Context, source: Bound, cls: ClassFacts, part: bool) -> set[str] | None:
    """Return what the method reads that a call of ``init`` runs; None if a value is not what such a call gives."""
    value = source.value
    if part:
        if not isinstance(value, Item | Indexed):
            return None
        if (value.index if isinstance(value, Item) else value.index.value) != Const("params"):
            return None
        value = value.base
    if not isinstance(value, Call) or not isinstance(value.callee, Attr) or value.callee.name != "init":
        return None
    event = next((e for e in context.bodies.named("init") if e.value is value), None)
    if event is None or value.starred or any(key is None for key, _ in value.keywords):
        return None
    if _class(context, context.flow.here(value.callee.base, event.scope)) is not cls:
        return None
    method = _method(context, event, cls)
    return _reads(context, cls, method, set()) if method is not None else None


def _by_another(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether another call of ``init`` in the project may reach a layer, whose parameters may be put together."""
    for event in context.bodies.named("init", "init_with_output"):
        callee = event.value.callee
        if isinstance(callee, Attr) and _class(context, context.flow.here(callee.base, event.scope)) is cls:
            method = _method(context, event, cls)
            read = _reads(context, cls, method, set()) if method is not None else None
            if read is None or name in read:
                return True
    return False


def _reads(context: Context, cls: ClassFacts, method: FunctionFacts, seen: set[FunctionFacts]) -> set[str] | None:
    """Return all attributes that a method, and those it names, may read; None if the object goes elsewhere."""
    if method in seen:
        return set()
    seen.add(method)
    own = method.self_param.name if method.self_param is not None else None
    if own is None:
        return None
    attributes = [n for n in ast.walk(method.node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    mine = [n for n in attributes if isinstance(n.value, ast.Name) and n.value.id == own]
    bases = {id(n.value) for n in mine}
    body = [n for n in ast.walk(method.node) if isinstance(n, ast.Name)]
    if any(n.id == "super" or (n.id == own and id(n) not in bases) for n in body):
        return None
    found = {n.attr for n in mine}
    for name in list(found):
        inner = context.flow.classes.method(cls, name)
        more = _reads(context, cls, inner, seen) if inner is not None else set()
        if more is None:
            return None
        found |= more
    return found


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = nn.Dense(3)

    def encode(self, x):
        return self.inner(x)

    def decode(self, z):
        return self.outer(z)

    def __call__(self, x):
        return self.decode(self.encode(x))


coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((1, 3)), method=coder.encode)
print(coder.apply(variables, jnp.ones((1, 2)), method=coder.decode))
"""

RULE = lint_rule(
    "NNX627",
    "linen-partly-initialised",
    "a Linen module is applied by a method, or with flags, whose layers its init does not reach",
    why="""\
`init` makes the parameters of the layers that the method it runs calls, which is `__call__` unless `method=` names
another one. A layer that `setup` makes and that only other methods call has none, and `apply` with such a method
raises a ScopeParamNotFoundError. So does a layer behind `if train:` after an `init` with `train=False`. Initialise the
module by a method and with flags that run all of its layers.
""",
    source="flax issue 2864 and questions like it; measured on Flax 0.10.7 and 0.12.8: ScopeParamNotFoundError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace(", method=coder.encode)", ")"),),
)
