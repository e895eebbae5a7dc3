"""NNX822: a flag or mode that a compiled function branches on without being static."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import compiled_roots, shown
from codemods.nnx.lint.syntax import added_keyword, keyword
from codemods.nnx.lint.traced import Root, original
from codemods.nnx.rewrite import replace
from codemods.nnx.values import Attr, Const, Free, Param, Value

_REMATS = frozenset({"jax.checkpoint", "jax.remat", "flax.nnx.checkpoint", "flax.nnx.remat"})


_FLAGS = frozenset({"train", "training", "is_training", "deterministic", "decode", "is_train"})


def _check(context: Context) -> Iterator[Finding]:
    seen: set[tuple[FunctionFacts, str]] = set()
    for root in flag_roots(context):
        names = {name for name in flags_of(context, root) if (root.function, name) not in seen}
        seen |= {(root.function, name) for name in names}
        for test, scope in _branches(context, root.function) if names else ():
            hit = next((n for n in _tested(test, root.function) if n in names), None)
            if hit is not None:
                yield finding(
                    RULE.code,
                    scope,
                    test,
                    f"{shown(root.function)} branches on `{hit}`, which is traced: its value is not known",
                    _help(root, hit),
                    _fix(root, hit),
                )
                names.discard(hit)
        for name in sorted(names):
            if any(event.value.starred for event in context.flow.sites.callers(root.function)):
                continue  # whether it is given at all is not known
            place = _elsewhere(context, root, root.function.params[name], 0)
            if place is not None:
                yield finding(
                    RULE.code,
                    root.scope,
                    root.node,
                    f"{shown(root.function)} hands `{name}`, which is traced, to {shown(place)}, which branches on it",
                    _help(root, name),
                    _fix(root, name),
                )


def flag_roots(context: Context) -> Iterator[Root]:
    """Yield the applications of transforms that trace flags too: of ``jit``, ``pmap``, and of ``remat`` after these."""
    for root in (*compiled_roots(context), *(one for one in context.traced.roots if one.transform in _REMATS)):
        if root.certain:
            yield root


def _branches(context: Context, function: FunctionFacts) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the conditions in a traced function, and in those of traced functions within it, with their scopes."""
    for scope in _within(context, function):
        for test in _conditions(context, scope):
            yield test, scope


# the flags on which layers of NNX branch
_DECIDING = {
    "flax.nnx.Dropout": "deterministic",
    "flax.nnx.BatchNorm": "use_running_average",
    "flax.nnx.MultiHeadAttention": "decode",
}


def _conditions(context: Context, scope: Scope) -> Iterator[ast.expr]:
    """Yield what a body asks to be true or false, and the flags that it gives layers which do so."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node
        elif isinstance(node, ast.BoolOp):
            yield from node.values[:-1]
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in _FLAGS_OF_LAYERS and not isinstance(keyword.value, ast.Constant):
                    value = scope.module.values.get(node.func)
                    owner = owner_class(context, value, scope) if value is not None else None
                    if isinstance(owner, str) and _DECIDING.get(owner) == keyword.arg:
                        yield keyword.value


_FLAGS_OF_LAYERS = frozenset(_DECIDING.values())


def _within(context: Context, function: FunctionFacts) -> list[Scope]:
    """Return the scope of a function and those of the traced functions within it."""
    found = [function.scope]
    for scope in found:
        if any(isinstance(n, ast.FunctionDef | ast.Lambda) for n in context.bodies.nodes(scope)):
            inner = (one for one in scope.module.functions if one.scope.parent is scope)
            found += [one.scope for one in inner if one in context.traced]
    return found


def _elsewhere(context: Context, root: Root, param: Param, depth: int) -> FunctionFacts | None:
    """Return the function that a traced one hands a parameter to and that branches on it."""
    scopes = _within(context, param.function)
    calls = [event for scope in scopes for event in context.bodies.calls.get(scope, ())]
    ways = (param, Free(param.function.scope, param.name))
    given_on = any(way in e.value.given for e in calls for way in ways)
    if depth > 2 or not given_on:
        return None
    for event in calls:
        method = _of_linen(context, event, ways)
        if method is not None:
            return method
    functions = {scope.function for scope in scopes}
    for function, tracing in context.traced.known.items():
        for frame in tracing.sites:
            if frame.caller is None or frame.caller.function not in functions:
                continue
            if frame not in context.traced.leading(function):
                continue
            for name, inner in function.params.items():
                given = context.flow.argument(frame, name)
                if given is None or original(given).value not in ways:
                    continue
                if any(name in _tested(test, function) for test in _conditions(context, function.scope)):
                    return function
                found = _elsewhere(context, root, inner, depth + 1)
                if found is not None:
                    return found
    return None


def _of_linen(context: Context, event: CallEvent, ways: tuple[Value, ...]) -> FunctionFacts | None:
    """Return the call of a module of Linen that branches on what ``model.apply(variables, x, train)`` hands on."""
    call = event.value
    if not isinstance(call.callee, Attr) or call.callee.name not in {"apply", "apply_fn"} or call.starred:
        return None
    behind = (*call.args[1:], *(value for _, value in call.keywords))
    if not any(way in behind for way in ways):
        return None
    methods = set()
    for module in applied_modules(context, context.flow.here(call, event.scope), mutable=True):
        cls = context.flow.classes.class_of(module)
        methods.add(context.flow.classes.method(cls, "__call__") if cls is not None else None)
    method = methods.pop() if len(methods) == 1 else None
    if method is None:
        return None
    names = [name for name, given in zip(list(method.params)[1:], call.args[1:], strict=False) if given in ways]
    names += [name for name, given in call.keywords if name in method.params and given in ways]
    tests = list(_conditions(context, method.scope))
    return method if any(name in _tested(test, method) for name in names for test in tests) else None


def flags_of(context: Context, root: Root) -> set[str]:
    """Return the traced parameters that are flags or modes, by annotation, default or what every call gives."""
    function = root.function
    found = set()
    for name in function.params:
        note = function.annotations.get(name)
        default = function.defaults.get(name)
        if name in root.static:
            continue
        if note is None:
            flag = _literal(default) if default is not None else _named(root, name) or _given(context, root, name)
        else:
            flag = isinstance(note, ast.Name) and note.id in {"bool", "str"}
        if flag and (default is None or context.traced.passes(root, name)):
            found.add(name)
    return found


def _literal(value: Value | None) -> bool:
    return isinstance(value, Const) and isinstance(value.value, bool | str)


def _given(context: Context, root: Root, name: str) -> bool:
    """Say whether the project's calls give a parameter literals of truth or text, and nothing else."""
    given = [context.flow.argument(frame, name) for frame in context.flow.sites.entries(root.function)]
    return bool(given) and all(one is not None and _always_literal(context, one) for one in given)


def _named(root: Root, name: str) -> bool:
    """Say whether a parameter of what is checkpointed is a flag by its name: nobody computes one from arrays there."""
    return root.transform in _REMATS and name in _FLAGS


def _always_literal(context: Context, given: Bound) -> bool:
    """Say whether an argument is a literal of truth or text, also where it is handed on from further out."""
    if _literal(original(given).value):
        return True
    sources = list(context.sources.originals(given))
    return bool(sources) and all(_literal(source.value) for source in sources)


def _tested(test: ast.expr, function: FunctionFacts) -> Iterator[str]:
    """Yield the parameters whose own value a condition depends on."""
    parts = [test]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.BoolOp):
            parts += part.values
        elif isinstance(part, ast.UnaryOp):
            parts.append(part.operand)
        elif isinstance(part, ast.Compare) and all(
            isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in part.ops
        ):
            parts.append(part.left)
        elif isinstance(part, ast.Name):
            value = function.scope.module.values.get(part)
            if isinstance(value, Param) and value.function is function:
                yield part.id
            elif isinstance(value, Free) and value.scope is function.scope and part.id in function.params:
                if len(function.scope.bindings.get(part.id, ())) <= 1 and part.id not in function.scope.rebound:
                    yield part.id


def _help(root: Root, name: str) -> str:
    if root.transform in _REMATS:
        return f"add static_argnums=({list(root.function.params).index(name)},), and pass it by position"
    return f'add static_argnames="{name}"'


def _fix(root: Root, name: str) -> Fix | None:
    """Return the addition of ``static_argnames``; None where arguments are static already."""
    if root.transform in _REMATS:  # which know positions only, and every call would have to fit
        return None
    source = root.scope.module.source
    if root.options is not None:
        if any(keyword(root.options, word) for word in ("static_argnums", "static_argnames")):
            return None
        edit = added_keyword(source, root.options, f'static_argnames="{name}"')
    elif isinstance(root.node, ast.Name | ast.Attribute):
        edit = replace(source, root.node, f'{source.text(root.node)}(static_argnames="{name}")')
        if not root.transform.startswith("flax."):
            return None  # jax.jit takes its options alone only since JAX 0.8
    else:
        return None
    return Fix(((source.path, edit),), Safety.SAFE) if edit is not None else None


RULE = lint_rule(
    "NNX822",
    "flag-not-static",
    "a compiled function branches on a bool or str that is not static",
    why="""\
Arguments of a compiled function are traced, flags too: `if train:` raises TracerBoolConversionError, as `not train` and
a flag for a layer's dropout do; and a string is refused with a TypeError. As a static argument each value is compiled
on its own. `nnx.remat` and `jax.checkpoint` trace their arguments as well, and know static ones by their position.
""",
    source="JAX tutorial, section on static_argnums; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def forward(x, train: bool):
    return x * 2 if train else x
""",
    ),
    mended=(
        (
            """\
from flax import nnx


@nnx.jit
def forward(model, x, train: bool):
    return model(x) * 2 if train else model(x)
""",
            """\
from flax import nnx


@nnx.jit(static_argnames="train")
def forward(model, x, train: bool):
    return model(x) * 2 if train else model(x)
""",
        ),
    ),
    clean=(
        """\
from functools import partial

import jax


@partial(jax.jit, static_argnames=("train",))
def forward(x, train: bool):
    return x * 2 if train else x
""",
    ),
    safety=Safety.SAFE,
)
