"""NNX757: a mean over the shard of one device that is given out as that of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import ARRAY_METHODS, TREE_MAPS, last
from codemods.nnx.lint.own_gradients import own_gradients
from codemods.nnx.lint.places import shown
from codemods.nnx.lint.shards import spec_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import applied_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Const,
    Free,
    Function,
    Item,
    Mapping,
    Param,
    Sequence,
    Unknown,
    Value,
)

_REDUCING = frozenset({"mean", "sum", "max", "min", "prod", "std", "var"})
_PURE = ("jax.numpy.", "jax.nn.", "optax.")


def _check(context: Context) -> Iterator[Finding]:
    for root, used in own_gradients(context):
        yield finding(
            RULE.code,
            root.function.scope,
            used,
            f"every device steps with the gradients `{used.id}` of its own share of the batch: their parameters drift "
            "apart",
            "reduce them first: jax.lax.pmean(...) over the axis of pmap",
        )
    for root in context.traced.roots:
        if last(root.transform) != "shard_map" or root.options is None or root.scope.module not in context.asked:
            continue
        specs, out = option(root, "in_specs", 2), option(root, "out_specs", 3)
        if specs is None or out is None:
            continue
        varying = _varying_result(context, root, specs, out)
        if varying is not None:
            node, axis = varying
            yield finding(
                RULE.code,
                root.function.scope,
                node,
                f"{shown(root.function)} gives what it has of its own shard, and out_specs says that all devices have "
                "the same",
                f'reduce over the devices: jax.lax.pmean(..., "{axis}"), or psum of a sum; or give P("{axis}") to keep '
                "the shards",
            )
            continue
        if not _whole(context, root, out):
            continue
        axes = {n.value for n in ast.walk(specs) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        returned = _reduced(context, root, specs)
        if axes and returned is not None:
            axis = sorted(axes)[0]
            yield finding(
                RULE.code,
                root.function.scope,
                returned,
                f"{shown(root.function)} reduces its own shard only, and out_specs says that all devices have the same",
                f'reduce over the devices too: jax.lax.pmean(..., "{axis}"), or psum of a sum',
            )


def _whole(context: Context, root: Root, node: ast.expr) -> bool:
    """Say whether a spec is ``P()``."""
    value = root.scope.module.values.get(node)
    return value is not None and spec_of(context, context.flow.here(value, root.scope)) == ()


def _reduced(context: Context, root: Root, specs: ast.expr) -> ast.AST | None:
    """Return what a function returns, if that is a reduction of a shard, and no other device is asked."""
    function = root.function
    if len(function.returns) != 1 or function.generator:
        return None
    for event in context.bodies.calls.get(function.scope, ()):
        name = context.flow.calls.name(event)
        callee = event.value.callee
        method = isinstance(callee, Attr) and not name and callee.name in _REDUCING | {"astype", "reshape"}
        if not name.startswith(_PURE) and not method:
            return None  # what is called may ask the other devices
    value = function.returns[0]
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    whole = not value.keywords and len(value.args) <= 1
    if last(name) not in _REDUCING or not name.startswith("jax.numpy.") or not whole:
        if name or not isinstance(value.callee, Attr) or value.callee.name not in _REDUCING or value.args:
            return None
    return value.node if _sharded(context, value.node, function, specs) else None


def _sharded(context: Context, node: ast.AST, function: FunctionFacts, specs: ast.expr) -> bool:
    """Say whether a result depends on a parameter that is sharded."""
    specced = specs.elts if isinstance(specs, ast.Tuple) else [specs] * len(function.params)
    sharded = {
        name
        for name, spec in zip(function.params, specced, strict=False)
        if any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(spec))
    }
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for inner in reversed(context.bodies.nodes(function.scope)):
        if isinstance(inner, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in inner.targets):
            names |= {n.id for n in ast.walk(inner.value) if isinstance(n, ast.Name)}
    return bool(names & sharded)


def _varying_result(context: Context, root: Root, specs: ast.expr, out: ast.expr) -> tuple[ast.AST, str] | None:
    """Return a result that depends on a shard although its spec is ``P()``, with the axis; None if there is none.

    JAX follows through every operation whether a value may differ between the devices, and raises for such a result,
    unless it is told not to check.
    """
    function = root.function
    if root.partial or function.generator or function.vararg is not None or len(function.returns) != 1:
        return None
    params = list(function.params)[skipped(root) :]
    given = specs.elts if isinstance(specs, ast.Tuple) else [specs] * len(params)
    axes = {name: axis for name, spec in zip(params, given, strict=False) if (axis := _axis(context, root, spec))}
    if not axes:
        return None
    unchecked = any(constant(option(root, name)) is False for name in ("check_vma", "check_rep"))
    varying = _Varying(context, unchecked)
    env = {function.params[name]: True for name in axes}
    value = function.returns[0]
    place = _returned(context, function)
    parts = varying.parts(value, function.scope, env)
    if isinstance(out, ast.Tuple):
        if parts is None or len(parts) != len(out.elts):
            return None
        chosen = [i for i, spec in enumerate(out.elts) if _whole(context, root, spec)]
    elif _whole(context, root, out):
        chosen = list(range(len(parts))) if parts is not None else []
        if parts is None and varying.of(value, function.scope, env):
            return place, min(axes.values())
    else:
        return None
    for index in chosen:
        assert parts is not None
        if parts[index]:
            return place.elts[index] if isinstance(place, ast.Tuple) else place, min(axes.values())
    return None


def _returned(context: Context, function: FunctionFacts) -> ast.AST:
    """Return what stands behind the only ``return`` of a function."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    nodes = context.bodies.nodes(function.scope)
    return next((n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None), function.node)


def _axis(context: Context, root: Root, node: ast.expr) -> str:
    """Return an axis of the mesh that a spec shards over; empty if there is none, or it is not known."""
    value = root.scope.module.values.get(node)
    spec = spec_of(context, context.flow.here(value, root.scope)) if value is not None else None
    return next((name for axes in spec or () for name in axes), "")


_LIKE = pattern(r"_like$|^(shape|ndim|size|dtype|result_type|issubdtype|iscomplexobj|finfo|iinfo|isscalar)$")
_DEPTH = 12


class _Varying:
    """Tells whether values differ between devices for certain, for they depend on a shard by arithmetic alone."""

    def __init__(self, context: Context, unchecked: bool) -> None:
        """Make it.

        Args:
            context: the analysis.
            unchecked: whether JAX does not check what differs, and so does not sum gradients over the devices either.
        """
        self._context = context
        self._unchecked = unchecked

    def parts(self, value: Value, scope: Scope, env: dict[Param, bool], depth: int = 0) -> list[bool] | None:
        """Say of each part of a tuple whether it depends on a parameter that differs; None if it may be no tuple."""
        if isinstance(value, Sequence) and isinstance(value.node, ast.Tuple):
            return [self.of(one, scope, env, depth) for one in value.items]
        if not isinstance(value, Call) or depth > _DEPTH:
            return None
        loss = self._differentiated(value, scope, env, depth)
        if loss is not None:
            return [loss, loss and self._unchecked]
        if isinstance(value.callee, Attr) and value.callee.name == "update" and len(value.args) > 1:
            stepped = self.of(value.args[0], scope, env, depth)  # updates and state of an optimizer of optax
            return [stepped, stepped]
        inner = self._inner(value, scope)
        if inner is None:
            return None
        function, known = inner
        return self.parts(function.returns[0], function.scope, self._known(known, scope, env, depth), depth + 1)

    def _gradient(self, value: Call, scope: Scope, env: dict[Param, bool], depth: int) -> bool:
        """Say whether a call is that of ``grad(f)``, and what ``f`` gives differs."""
        return self._differentiated(value, scope, env, depth, "jax.grad") or False

    def _differentiated(
        self, value: Call, scope: Scope, env: dict[Param, bool], depth: int, transform: str = "jax.value_and_grad"
    ) -> bool | None:
        """Say whether the loss differs that ``value_and_grad(f)(...)`` gives; None if a call is none of these."""
        if not isinstance(value.callee, Call | Free):
            return None
        flow = self._context.flow
        maker = flow.follow(flow.here(value, scope), value.callee)
        if not isinstance(maker.value, Call) or maker.value.keyword("has_aux") is not None or maker.value.starred:
            return None
        if flow.calls.callee_name(maker) != transform:
            return None
        inner = self._inner(value, scope, gradient=True)
        if inner is None or isinstance(inner[0].returns[0], Sequence | Mapping):
            return None
        function, known = inner
        return self.of(function.returns[0], function.scope, self._known(known, scope, env, depth), depth + 1)

    def of(self, value: Value | None, scope: Scope, env: dict[Param, bool], depth: int = 0) -> bool:
        """Say whether a value depends on a parameter that differs."""
        if value is None or depth > _DEPTH:
            return False
        depth += 1
        if isinstance(value, Param):
            return env.get(value, False)
        if isinstance(value, Free):
            found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
            return isinstance(found, Param) and env.get(found, False)
        if isinstance(value, Unknown):
            return self._node(value.node, scope, env, depth)
        if isinstance(value, Choice):
            return all(self.of(one, scope, env, depth) for one in value.options)
        if isinstance(value, Sequence):
            return any(self.of(one, scope, env, depth) for one in value.items)
        if isinstance(value, Mapping):
            return any(self.of(one, scope, env, depth) for _, one in value.items)
        if isinstance(value, Attr):
            return value.name in {"T", "mT", "real", "imag"} and self.of(value.base, scope, env, depth)
        if isinstance(value, Item):
            parts = self.parts(value.base, scope, env, depth)
            if parts is not None:
                index = value.index.value if isinstance(value.index, Const) else None
                return type(index) is int and -len(parts) <= index < len(parts) and parts[index]
            if isinstance(value.base, Call) and self._inner(value.base, scope) is not None:
                return self._part(value.base, value.index, scope, env, depth)
            return not isinstance(value.base, Mapping) and self.of(value.base, scope, env, depth)
        return isinstance(value, Call) and self._call(value, scope, env, depth)

    def _node(self, node: ast.AST, scope: Scope, env: dict[Param, bool], depth: int) -> bool:
        parts: list[ast.expr] = []
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            parts = [node.operand]
        values = scope.module.values
        for part in parts:
            value = values.get(part)
            same = value is None or (isinstance(value, Unknown) and value.node is part)
            if depth <= _DEPTH and (
                self._node(part, scope, env, depth + 1) if same else self.of(value, scope, env, depth)
            ):
                return True
        return False

    def _call(self, value: Call, scope: Scope, env: dict[Param, bool], depth: int) -> bool:
        name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope))
        if not name and isinstance(value.callee, Attr) and value.callee.name in ARRAY_METHODS:
            return self.of(value.callee.base, scope, env, depth)
        if name.startswith(("jax.numpy.", "jax.nn.")) and not _LIKE.search(last(name)):
            return any(self.of(one, scope, env, depth) for one in value.args)
        if name in TREE_MAPS or name == "optax.apply_updates":
            mapped = value.args[1:] if name in TREE_MAPS else value.args
            return not self._asks_others(value, name) and any(self.of(one, scope, env, depth) for one in mapped)
        if self._unchecked and self._gradient(value, scope, env, depth):
            return True
        inner = self._inner(value, scope)
        if inner is None:
            return False
        function, known = inner
        if isinstance(function.returns[0], Sequence | Mapping):
            return False  # which part is taken is not known here
        return self.of(function.returns[0], function.scope, self._known(known, scope, env, depth), depth)

    def _asks_others(self, call: Call, name: str) -> bool:
        """Say whether a function that is mapped over trees may reduce over the devices."""
        if name not in TREE_MAPS:
            return False
        function = call.args[0] if call.args else None
        if not isinstance(function, Function):
            return True
        calls = self._context.bodies.calls.get(function.facts.scope, ())
        return any(not self._context.flow.calls.name(event).startswith(_PURE) for event in calls)

    def _part(self, call: Call, index: Value, scope: Scope, env: dict[Param, bool], depth: int) -> bool:
        """Say whether a part of what a function of the project gives differs."""
        inner = self._inner(call, scope)
        if inner is None or not isinstance(index, Const):
            return False
        function, known = inner
        given = function.returns[0]
        one: Value | None = given
        if isinstance(given, Sequence):
            position = index.value if type(index.value) is int else len(given.items)
            one = given.items[position] if -len(given.items) <= position < len(given.items) else None
        elif isinstance(given, Mapping):
            one = next((item for key, item in given.items if isinstance(key, Const) and key.value == index.value), None)
        return self.of(one, function.scope, self._known(known, scope, env, depth), depth)

    def _known(self, known: dict[Param, Value], scope: Scope, env: dict[Param, bool], depth: int) -> dict[Param, bool]:
        return {**env, **{param: self.of(value, scope, env, depth) for param, value in known.items()}}

    def _inner(
        self, call: Call, scope: Scope, gradient: bool = False
    ) -> tuple[FunctionFacts, dict[Param, Value]] | None:
        """Return the one function of the project that a call runs, or differentiates, and what its parameters get."""
        flow = self._context.flow
        found = flow.calls.callables(flow.here(call.callee, scope))
        if len(found) != 1 or call.starred or found[0].gradient != gradient or found[0].args or found[0].keywords:
            return None
        function = found[0].function
        if len(function.returns) != 1 or function.generator or function.owner is not None:
            return None
        words = {applied_word(one) for one in getattr(function.node, "decorator_list", ())}
        if words and not (gradient and words <= set(map(last, GRADIENTS))):
            return None
        params = list(function.params.values())
        known = dict(zip(params, call.args, strict=False))
        known |= {function.params[name]: value for name, value in call.keywords if name in function.params}
        return function, known


_PMAP = """\
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, axis_name="devices")
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p - y) ** 2))(params)
    loss = jax.lax.pmean(loss, "devices")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss
"""

RULE = lint_rule(
    "NNX757",
    "unreduced-shard",
    "shard_map gives the mean of one shard for that of all, or pmap steps with the gradients of one device",
    why="""\
Under `jax.shard_map` a function sees the shard of one device. `jnp.mean(x)` is the mean of that shard, and differs
between the devices; `out_specs=P()` says that it does not. JAX raises a ValueError, or with `check_vma=False` gives the
result of the first device. `jax.lax.pmean` or `psum` over the axis reduces the rest.

`jax.pmap` checks nothing. Where a step reduces its loss over the devices and updates the parameters with the gradients
of its own share of the batch, every device trains a model of its own, and the loss is the mean over all of them.
""",
    source="jax documentation of shard_map, issue 14273; measured on JAX 0.10.2: ValueError",
    check=_check,
    bad=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jnp.mean(x**2)
""",
        _PMAP,
    ),
    clean=(
        _PMAP.replace('loss = jax.lax.pmean(loss, "devices")', 'loss, grads = jax.lax.pmean((loss, grads), "devices")'),
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jax.lax.pmean(jnp.mean(x**2), "data")
""",
    ),
)
