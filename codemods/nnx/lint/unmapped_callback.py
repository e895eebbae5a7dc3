"""NNX937: a call of the host that vmap cannot map."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Part
from codemods.nnx.lint.callback_result import unlike_declared
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import BATCHING, STATIC_ATTRIBUTES
from codemods.nnx.lint.object_calls import method_of
from codemods.nnx.lint.places import foreign, in_test, shown
from codemods.nnx.lint.reduced_whole import reduced_whole
from codemods.nnx.lint.syntax import constant, is_none, keyword, own_nodes
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word

_CALLBACKS = frozenset({"jax.pure_callback", "jax.experimental.pure_callback"})
_OPTIONS = frozenset({"sharding", "callback", "result_shape_dtypes", "vmap_method"})
_RESULT = 2  # the arguments of the function on the host come behind it and its result
# which arguments the parameters of a function get that JAX runs; the last one begins the rest
_BODIES = {
    "jax.lax.scan": (1, 2),
    "jax.lax.map": (1,),
    "jax.lax.while_loop": (2,),
    "jax.lax.cond": (3, 4, 5, 6),
    "jax.tree.map": (1, 2, 3, 4),
    "jax.tree_util.tree_map": (1, 2, 3, 4),
}
_OWN_RULES = (b"custom_vmap", b"sequential_vmap", b"batching.primitive_batchers")
_MANY = 400


def _check(context: Context) -> Iterator[Finding]:
    modules = [m for m in context.project.modules if m.source.mentions(b"pure_callback")]
    if not modules or any(word in m.source.data for m in modules for word in _OWN_RULES):
        return
    yield from _of_batch(context)
    found = _Mapped(context, _unmapped)
    for event, root, _ in found.calls():
        if event.scope.module not in context.asked or in_test(event.scope) or in_test(root.scope):
            continue
        if context.bodies.guarded(event.node, event.scope) or context.bodies.guarded(root.node, root.scope):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "this runs under vmap, and `pure_callback` is not told what to do with a batch, which raises since JAX 0.6",
            'say vmap_method="expand_dims" if the function takes batches, else vmap_method="sequential"',
            related=[(root.node, "here it is mapped")] if root.scope.module is event.scope.module else [],
        )


def _of_batch(context: Context) -> Iterator[Finding]:
    """Yield the calls of the host that get a whole batch, of a function that reduces all of what it is given."""
    for event, root, mapped in _Mapped(context, _in_one_call).calls():
        if event.scope.module not in context.asked or in_test(event.scope) or in_test(root.scope):
            continue
        if event.node in context.shared(unlike_declared):
            continue  # one number for a batch of them is an error, of which NNX675 tells
        given = event.node.args[_RESULT:]
        every = constant(keyword(event.node, "vmap_method")) == "broadcast_all"
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        function = callees[0].function if len(callees) == 1 and not callees[0].args else None
        places = {i for i, one in enumerate(given) if every or reads(one, mapped)}
        node = reduced_whole(context, function, places) if function is not None else None
        if function is None or node is None:
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{shown(function)} gets the whole batch at once under vmap, and `{ast.unparse(node)}` takes all of it "
            "together: examples are mixed",
            'say vmap_method="sequential", or reduce the last axes alone',
            related=[(node, "reduced here")] if function.scope.module is event.scope.module else [],
        )


def _in_one_call(event: CallEvent, name: str) -> bool:
    """Say whether a call of the host is made once for a batch."""
    method = constant(keyword(event.node, "vmap_method"))
    return name in _CALLBACKS and not event.value.starred and method in {"expand_dims", "broadcast_all"}


class _Mapped:
    """Goes through the functions under vmap, and finds the calls of the host that get a part of a batch."""

    def __init__(self, context: Context, serves: Callable[[CallEvent, str], bool]) -> None:
        self._context = context
        self._seen: dict[FunctionFacts, frozenset[str]] = {}
        self._pending: list[tuple[FunctionFacts, frozenset[str], Root]] = []
        self._callbacks = {
            event.node: event
            for event, name in foreign(context, "pure_callback", everywhere=True)
            if serves(event, name)
        }
        self._inner: dict[FunctionFacts, list[FunctionFacts]] = {}
        for module in context.project.modules:
            for function in module.functions:
                outer = function.scope.parent.function if function.scope.parent is not None else None
                if outer is not None:
                    self._inner.setdefault(outer, []).append(function)

    def calls(self) -> Iterator[tuple[CallEvent, Root, set[str]]]:
        """Yield the calls, each once with the vmap that maps it, and the variables there that have a batch."""
        if not self._callbacks:
            return
        told: set[ast.AST] = set()
        for root in self._context.traced.roots:
            if root.transform in BATCHING:
                params = [name for name in root.function.params if name not in root.static]
                bound = root.function.self_param
                names = frozenset(name for name in params if bound is None or name != bound.name)
                self._pending.append((root.function, names, root))
        while self._pending and len(told) < _MANY:
            function, names, root = self._pending.pop()
            known = self._seen.get(function, frozenset())
            if function in self._seen and names <= known:
                continue
            self._seen[function] = names | known
            for event in self._reached(function, names | known, root):
                if event.node not in told:
                    told.add(event.node)
                    yield event, root, _spread(function, self._seen[function])

    def _reached(self, function: FunctionFacts, names: frozenset[str], root: Root) -> Iterator[CallEvent]:
        """Yield the calls of the host in a function that get what is mapped, and note what it hands on."""
        mapped = _spread(function, names)
        for inner in self._inner.get(function, ()):
            closed = mapped - set(inner.params)
            if closed:
                self._pending.append((inner, frozenset(closed), root))
        for event in self._context.bodies.calls.get(function.scope, ()):
            given = [*event.node.args, *(k.value for k in event.node.keywords)]
            if not any(reads(one, mapped) for one in given):
                continue
            if event.node in self._callbacks:
                behind = [*event.node.args[_RESULT:], *(k.value for k in event.node.keywords if k.arg not in _OPTIONS)]
                if any(reads(one, mapped) for one in behind):
                    yield event
                continue
            self._handed(event, given, mapped, root)

    def _handed(self, event: CallEvent, given: list[ast.expr], mapped: set[str], root: Root) -> None:
        """Note the functions that a call gives mapped arrays to."""
        flow = self._context.flow
        values = event.scope.module.values
        mapping = {id(values[one]) for one in given if one in values and reads(one, mapped)}
        known = False
        for function, filled in params_given(self._context, event, mapping):
            known = True
            if filled:
                self._pending.append((function, filled, root))
        method = None if known else method_of(self._context, event.value.callee, event.scope)
        if method is not None and method.binding == "instance" and not event.value.starred:
            params = list(method.params)[1:]
            got = {n for n, one in zip(params, event.node.args, strict=False) if reads(one, mapped)}
            got |= {k.arg for k in event.node.keywords if k.arg in params and reads(k.value, mapped)}
            if got:
                self._pending.append((method, frozenset(got), root))
        places = _BODIES.get(flow.calls.name(event))
        if places is None or event.value.starred:
            return
        for one in event.value.args[: places[0]]:
            for body in flow.calls.callables(flow.here(one, event.scope)):
                params = list(body.function.params)[len(body.args) :]
                if body.on_instance:
                    params = params[1:]
                names = {
                    name
                    for name, place in zip(params, places, strict=False)
                    if place < len(event.node.args) and reads(event.node.args[place], mapped)
                }
                if names:
                    self._pending.append((body.function, frozenset(names), root))


def _unmapped(event: CallEvent, name: str) -> bool:
    """Say whether a call of the host does not say how it is mapped."""
    if name not in _CALLBACKS or event.value.starred:
        return False
    given = {k.arg: k.value for k in event.node.keywords}
    if "vectorized" in given:
        return False
    method = given.get("vmap_method")
    return method is None or is_none(method)


def _spread(function: FunctionFacts, names: frozenset[str]) -> set[str]:
    """Return the variables of a function that are made of some others, and those."""
    found = set(names)
    nodes = list(own_nodes(function.node))
    before = -1
    while before != len(found):
        before = len(found)
        for node in nodes:
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
                value = node.value
                targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
            elif isinstance(node, ast.For | ast.comprehension):
                value, targets = node.iter, [node.target]
            else:
                continue
            if value is not None and reads(value, found):
                found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return found


def params_given(context: Context, event: CallEvent, ids: set[int]) -> Iterator[tuple[FunctionFacts, frozenset[str]]]:
    """Yield the functions that a call reaches, with the parameters that get values of some identities."""
    flow = context.flow
    for callee, frame in flow.calls.invoked(flow.here(event.value, event.scope)):
        names = set()
        for name in callee.function.params:
            argument = flow.argument(frame, name)
            value = argument.value if argument is not None else None
            value = value.of.value if isinstance(value, Part) else value
            if id(value) in ids:
                names.add(name)
        yield callee.function, frozenset(names)


def reads(node: ast.AST, names: set[str]) -> bool:
    """Say whether an expression is made of the numbers of a variable, not only of its shape or type.

    Args:
        node: the expression.
        names: the variables.
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and one.id in names:
            return True
        if isinstance(one, ast.Attribute) and one.attr in STATIC_ATTRIBUTES:
            continue
        if isinstance(one, ast.Call) and last_word(one.func) in _OF_SHAPES:
            continue
        if not isinstance(one, ast.Lambda):
            waiting += ast.iter_child_nodes(one)
    return False


_OF_SHAPES = frozenset({"len", "isinstance", "ShapeDtypeStruct", "zeros_like", "ones_like", "full_like"})

_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np


def looked_up(x):
    return jax.pure_callback(np.sinc, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def response(points):
    return jax.vmap(lambda point: 2 * looked_up(point))(points)


print(response(jnp.ones(4)))
"""

RULE = lint_rule(
    "NNX937",
    "unmapped-callback",
    "pure_callback under vmap without vmap_method",
    why="""\
JAX does not know whether a function on the host takes a batch, and so `jax.pure_callback` raises a NotImplementedError
under `jax.vmap` unless it says so: `vmap_method="expand_dims"` or `"broadcast_all"` for functions that take arrays with
more axes, `"sequential"` for those that are to be called once for each example, as was usual before JAX 0.6.
""",
    source="JAX documentation on external callbacks; measured on JAX 0.6.2, 0.7.2 and 0.10.2: NotImplementedError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("x.dtype), x)", 'x.dtype), x, vmap_method="expand_dims")'),),
)
