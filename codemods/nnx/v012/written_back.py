"""NNX622: transforms of NNX that write into a module which the traced code around them does not get."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.lint.places import kinds_of, position, shown
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.traced import Root
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Free, Param, Ref, Value

_WRAPPERS = frozenset({"flax.nnx.remat", "flax.nnx.checkpoint"})
_RUNNING = frozenset({"flax.nnx.cond", "flax.nnx.switch", "flax.nnx.while_loop", "flax.nnx.fori_loop"})
_NAMES = pattern(
    rb"\b(remat|checkpoint|cond|switch|while_loop|fori_loop)\b",
    needs=(b"remat", b"checkpoint", b"cond", b"switch", b"while_loop", b"fori_loop"),
)
_DEPTH = 6  # how many calls deep a module is followed


class WrittenBack:
    """Which functions give their arguments to transforms that write the Variables back at their end."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.any = any(
            module.source.mentions(b"nnx") and module.source.matches(_NAMES) for module in context.project.modules
        )
        self._params: dict[FunctionFacts, frozenset[str]] = {}
        self._inner: dict[Scope, list[FunctionFacts]] = {}
        for function in context.project.functions() if self.any else ():
            if function.scope.parent is not None:
                self._inner.setdefault(function.scope.parent, []).append(function)

    def params(self, function: FunctionFacts, depth: int = 0) -> frozenset[str]:
        """Return the parameters of a function whose Variables are written back before it ends."""
        if not self.any or depth > _DEPTH:
            return frozenset()
        if function not in self._params:
            self._params[function] = frozenset()  # for one that calls itself
            if any(self._wrapper(value, function) for value in function.decorators):
                self._params[function] = frozenset(function.params)
            else:
                roots = {root.id for _, root in self.given(function, depth) if root is not None}
                self._params[function] = frozenset(roots & function.params.keys())
        return self._params[function]

    def given(self, function: FunctionFacts, depth: int = 0) -> Iterator[tuple[CallEvent, ast.Name | None]]:
        """Yield the objects that a body, and the functions in it, give to what writes them back, with the calls."""
        for scope in self._scopes(function):
            for event in scope.module.calls_in(scope):
                for node in self._written(event, depth):
                    root = node
                    while isinstance(root, ast.Attribute | ast.Subscript | ast.Starred):
                        root = root.value
                    if isinstance(root, ast.Name) and not _hidden(root.id, scope, function):
                        yield event, root

    def _scopes(self, function: FunctionFacts) -> Iterator[Scope]:
        yield function.scope
        for inner in self._inner.get(function.scope, ()):
            yield from self._scopes(inner)

    def _written(self, event: CallEvent, depth: int) -> Iterator[ast.expr]:
        """Yield what a call writes back."""
        node = event.node
        call = self.flow.here(event.value, event.scope)
        name = self.flow.calls.callee_name(call)
        if name in _RUNNING or (not name and self._wrapped(event)):
            for one in (*node.args, *(k.value for k in node.keywords)):
                yield from one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
            return
        if name:
            return
        for callee in self.flow.calls.reached(call):
            function = callee.function
            if callee.args or callee.keywords:
                continue
            names = self.params(function, depth + 1)
            for param in function.params.values():
                if param.name not in names:
                    continue
                if param is function.self_param and callee.receiver is not None:
                    method = isinstance(node.func, ast.Attribute) and node.func.attr == function.name
                    yield node.func.value if method and isinstance(node.func, ast.Attribute) else node.func
                else:
                    given = argument(
                        node, position(param) if callee.receiver is not None else _place(param), param.name
                    )
                    if given is not None:
                        yield given

    def _wrapped(self, event: CallEvent) -> bool:
        """Say whether a call runs what ``nnx.remat`` made of a function."""
        made = self.flow.resolve(self.flow.here(event.value.callee, event.scope))
        return isinstance(made.value, Call) and self.flow.calls.callee_name(made) in _WRAPPERS

    def _wrapper(self, decorator: Value, function: FunctionFacts) -> bool:
        """Say whether a decorator is ``nnx.remat``, also with options."""
        outer = function.scope.parent
        if outer is None:
            return False
        found = self.flow.resolve(self.flow.here(decorator, outer))
        value = found.value
        if isinstance(value, Call):
            first = value.args[0] if value.args else None
            if self.flow.calls.callee_name(found) == "functools.partial" and first is not None:
                value = self.flow.follow(found, first).value
            elif not value.args:
                value = self.flow.follow(found, value.callee).value
        return isinstance(value, Ref) and value.name in _WRAPPERS


def written_back(context: Context) -> WrittenBack:
    """Return the answers for a project; rules share them."""
    return context.shared(WrittenBack)


def _place(param: Param) -> int:
    return list(param.function.params).index(param.name)


def _hidden(name: str, scope: Scope, function: FunctionFacts) -> bool:
    """Say whether a function in another one means something of its own by a name."""
    inner: Scope | None = scope
    while inner is not None and inner is not function.scope:
        if name in inner.bindings or (inner.function is not None and name in inner.function.params):
            return True
        inner = inner.parent
    return False


def check(context: Context) -> Iterator[Finding]:
    """Yield calls in traced code that write back into a module from outside of it."""
    if not context.options.crosses("0.12"):
        return
    written = written_back(context)
    if not written.any:
        return
    roots: dict[FunctionFacts, Root] = {}
    for root in (*context.traced.roots, *context.traced.gradients):
        if not root.transform.startswith("flax.nnx.split_rngs"):
            roots.setdefault(root.function, root)
    for function, root in roots.items():
        if root.bound and root.transform.startswith("jax.") and root.scope.module in context.asked:
            if function.self_param is not None and function.self_param.name in written.params(function):
                yield _finding(root.node, root.scope, f"the object of {shown(function)}")
        if function.scope.module not in context.asked:
            continue
        for event, name in written.given(function):
            if name is not None and _from_outside(context, name, event.scope, function):
                yield _finding(event.node, event.scope, f"`{name.id}`")
                break


def _from_outside(context: Context, name: ast.Name, scope: Scope, function: FunctionFacts) -> bool:
    """Say whether a name is a module that a function takes from outside."""
    value = scope.module.values.get(name)
    if not isinstance(value, Free) or name.id in function.params or name.id in function.scope.bindings:
        return False
    return kinds_of(context, value, scope) == {Objects.MODULE}


def _finding(node: ast.AST, scope: Scope, what: str) -> Finding:
    assert isinstance(node, ast.expr)
    return finding(
        RULE.code,
        scope,
        node,
        f"the transforms of NNX in here write {what} back, which the traced code around it takes from outside: Flax "
        "0.12 raises a TraceContextError",
        "pass the module as an argument of a transform of nnx, or pass its state and merge it inside",
    )


_BEFORE = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(2, 2, rngs=rngs)

    @nnx.remat
    def __call__(self, x):
        return nnx.relu(self.inner(x))


block = Block(nnx.Rngs(0))
print(jax.grad(lambda x: block(x).sum())(jnp.ones(2)).shape)
"""

_AFTER = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(2, 2, rngs=rngs)

    @nnx.remat
    def __call__(self, x):
        return nnx.relu(self.inner(x))


block = Block(nnx.Rngs(0))
print(nnx.grad(lambda block, x: block(x).sum(), argnums=1)(block, jnp.ones(2)).shape)
"""

RULE = Rule(
    code="NNX622",
    name="captured-write-back",
    summary="nnx.remat, cond or a loop over a module that traced code takes from outside",
    why="""\
`nnx.remat`, `nnx.cond`, `nnx.switch` and the loops of NNX write the Variables of the modules that they are given back
when they end, changed or not. Since Flax 0.12 a Variable can only be written in the trace that it belongs to. So a
module that has such a transform inside, and ran as a captured object of `jax.grad`, `jax.jit` or `nnx.jit` under 0.10
and 0.11, raises a TraceContextError there. It has to come in as an argument of a transform of NNX, or as a state that
is merged inside.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(_BEFORE, targets=("0.12",), run=False),
        Example(_AFTER, _AFTER, targets=("0.12",)),
    ),
    check=check,
    always=True,
)
