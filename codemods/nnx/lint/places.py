"""The places that several lint rules look at."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from codemods.nnx.annotated import AnnotatedAssign
from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Part
from codemods.nnx.kinds import Kind, class_kind, names_of
from codemods.nnx.lint.names import ARRAY_METHODS, COMPILING, MUTATING_METHODS
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.lint.traced import STAGED, Root, Tracing, function_of
from codemods.nnx.lint.uncompiled import never_compiled
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.rewrite import replace
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Changed, Const, Loop, Param, Unknown, Value

Node = TypeVar("Node", bound=ast.AST)
NNX_OBJECTS = frozenset({Kind.MODULE, Kind.OPTIMIZER, Kind.METRIC, Kind.RNGS, Kind.STREAM})


def traced_bodies(context: Context, level: int = STAGED) -> Iterator[tuple[FunctionFacts, Tracing]]:
    """Yield the functions asked about that are traced for certain and reach a level, in the order of their text."""
    known, off = context.traced.known, context.shared(never_compiled)
    for function in context.asked.functions():
        tracing = known.get(function)
        if tracing is not None and tracing.level >= level and context.traced.certain(function):
            if function in off and (level >= STAGED or not off[function]):
                continue
            yield function, tracing


def only_tried(context: Context, tracing: Tracing) -> bool:
    """Say whether all calls of a traced function stand in a ``try`` that goes on after its errors, to show them.

    Args:
        context: the analysis.
        tracing: how the function is traced.
    """
    calls = [event for root in tracing.roots for event in context.traced.calls_of(root)]
    return bool(calls) and not tracing.sites and all(context.bodies.guarded(event.node, event.scope) for event in calls)


def error_wanted(context: Context, event: CallEvent) -> bool:
    """Say whether a call, or every call of its function, stands in a ``try`` that goes on after errors, to show them.

    Args:
        context: the analysis.
        event: the call.
    """
    if context.bodies.guarded(event.node, event.scope):
        return True
    function = event.scope.function
    callers = context.flow.sites.callers(function) if function is not None else []
    return bool(callers) and all(context.bodies.guarded(caller.node, caller.scope) for caller in callers)


def traced_calls(context: Context, level: int = STAGED) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls in bodies traced for certain with the full name of a foreign callee, which may be empty."""
    for function, _ in traced_bodies(context, level):
        for event in context.bodies.calls.get(function.scope, ()):
            yield event, context.flow.calls.name(event)


def differentiated_calls(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls in functions that are differentiated and not otherwise traced, as :func:`traced_calls` does."""
    for function in context.traced.differentiated:
        if function.scope.module in context.asked:
            for event in context.bodies.calls.get(function.scope, ()):
                yield event, context.flow.calls.name(event)


def scopes(context: Context) -> Iterator[Scope]:
    """Yield the bodies of the modules asked about, and of their functions."""
    for module in context.asked.modules:
        yield from own_scopes(module)


def own_scopes(module: ModuleFacts) -> Iterator[Scope]:
    """Yield the body of a module, and those of its functions."""
    yield module.scope
    for function in module.functions:
        yield function.scope


def each(context: Context, *kinds: type[Node]) -> Iterator[tuple[Scope, Node]]:
    """Yield the nodes of some types in the bodies of :func:`scopes`, in their order, each with its body.

    One pass over all nodes serves all rules, so that a rule looks only at what it speaks about.

    Args:
        context: the analysis.
        kinds: the types; none of those that most nodes are of, such as names, attributes and constants.
    """
    assert not _PLENTY.intersection(kinds)
    index = context.shared(_by_type)
    found = [index[kind] for kind in kinds if kind in index]
    ordered = found[0] if len(found) == 1 else sorted((one for part in found for one in part), key=_PLACE)
    for _, scope, node in ordered:
        yield scope, node  # type: ignore[misc]


_PLACE = itemgetter(0)
# what most nodes are, and no rule goes through one by one
_PLENTY: frozenset[type[ast.AST]] = frozenset(
    {ast.Name, ast.Attribute, ast.Constant, ast.keyword, ast.arguments, ast.arg, ast.Expr, ast.Return, ast.Tuple,
     ast.List, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.Starred, ast.alias}
)  # fmt: skip


def _by_type(context: Context) -> dict[type[ast.AST], list[tuple[int, Scope, ast.AST]]]:
    """Return the nodes of the bodies asked about by their types, each with its number and body."""
    found: dict[type[ast.AST], list[tuple[int, Scope, ast.AST]]] = {}
    number = 0
    for scope in scopes(context):
        for node in context.bodies.nodes(scope):
            kind = type(node)
            if kind not in _PLENTY:
                number += 1
                found.setdefault(ast.Assign if kind is AnnotatedAssign else kind, []).append((number, scope, node))
    return found


def foreign(context: Context, *words: str, everywhere: bool = False) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls whose callee ends in one of some words, with the full name of the foreign function.

    Args:
        context: the analysis.
        words: last parts of the names.
        everywhere: whether those count too that stand in modules of which no findings are wanted.
    """
    for event in context.bodies.named(*words):
        if not everywhere and event.scope.module not in context.asked:
            continue
        name = context.flow.calls.name(event)
        if name:
            yield event, name


def receiver(event: CallEvent) -> ast.expr:
    """Return the expression before the name of a method that is called, or what is called else."""
    func = event.node.func
    return func.value if isinstance(func, ast.Attribute) else func


def unchanged(value: Value, depth: int = 0) -> Value:
    """Return the object behind calls of ``x.update(...)`` and the like, which may be those of a dict, also in loops.

    Args:
        value: the value of a name.
        depth: how many such calls were left out.
    """
    if isinstance(value, Changed) and depth < _CALLS:
        return unchanged(value.before, depth + 1)
    if isinstance(value, Loop) and depth < _CALLS:
        before, again = unchanged(value.before, depth + 1), value.again
        while isinstance(again, Changed | Loop) and again is not value and depth < _CALLS:
            again, depth = again.before, depth + 1
        return before if again is value or again is before or again is None else value
    return value


_CALLS = 30  # in one body


def position(param: Param) -> int:
    """Return at which 0-based position a call passes a parameter; the object or class of a method is not counted."""
    function = param.function
    return list(function.params).index(param.name) - received(function)


def received(function: FunctionFacts) -> int:
    """Return how many first parameters of a function what stands before the dot fills: the object, or the class."""
    return int(function.binding in {"instance", "class"})


def passed(caller: CallEvent, param: Param) -> Value | None:
    """Return what a call passes for a parameter of the function that it calls, if nothing is unpacked before it."""
    return caller.value.argument(position(param), param.name)


def target_of(event: CallEvent) -> ast.expr | None:
    """Return what alone gets a call's result by an assignment; None if that is used in another way."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
        return None
    return statement.targets[0]


def name_of_part(event: CallEvent, way: Iterable[int]) -> ast.Name | None:
    """Return the variable that gets a part of a call's result, or the whole that the part is in.

    Args:
        event: the call.
        way: the 0-based positions of the part in the tuple that the call gives, and in tuples in that.
    """
    target = target_of(event)
    for number in way:
        if isinstance(target, ast.Name):
            break
        if not isinstance(target, ast.Tuple) or number >= len(target.elts):
            return None
        if any(isinstance(one, ast.Starred) for one in target.elts[: number + 1]):
            return None
        target = target.elts[number]
    return target if isinstance(target, ast.Name) else None


def taken(event: CallEvent, place: int) -> ast.expr | None:
    """Return what gets a part of a call's result, such as a variable.

    Args:
        event: the call.
        place: the 0-based position of the part in the tuple that the call gives.

    Returns:
        The target; the call itself if the part is left out, None if it may be used in another way.
    """
    statement = event.statement
    if isinstance(statement, ast.Expr) and statement.value is event.node:
        return event.node
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Subscript) and value.value is event.node:
        index = constant(value.slice)
        return event.node if isinstance(index, int) and index >= 0 and index != place else None
    target = target_of(event)
    if not isinstance(target, ast.Tuple) or place >= len(target.elts):
        return None
    if any(isinstance(one, ast.Starred) for one in target.elts[: place + 1]):
        return None
    return target.elts[place]


def given_to(context: Context, event: CallEvent, value: Value) -> Iterator[Param]:
    """Yield the parameters of the project's functions for which a call gives a value, or what a transform copies of it.

    Args:
        context: the analysis.
        event: the call.
        value: a value of the call's scope.
    """
    if not any(given is value for given in event.value.given):
        return
    made = context.flow.resolve(context.flow.here(value, event.scope)).value  # by a helper
    for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        for name, param in callee.function.params.items():
            argument = context.flow.argument(frame, name)
            inner = argument.value if argument is not None else None
            held = inner.of.value if isinstance(inner, Part) else inner
            if held is value or (held is made and isinstance(made, Call)):
                yield param


def callers_of(context: Context, function: FunctionFacts) -> list[CallEvent]:
    """Return the calls of a function; of a method also those that only its name tells, if no other class has it."""
    found = context.flow.sites.callers(function)
    if found or function.owner is None or function.binding != "instance" or function.name.startswith("__"):
        return found
    if context.shared(_method_names).get(function.name, 0) != 1:
        return found
    return [
        event
        for event in context.flow.sites.calls_of(function.name)
        if isinstance(event.node.func, ast.Attribute) and not context.flow.calls.name(event)
    ]


def functions_called(context: Context, event: CallEvent) -> list[FunctionFacts]:
    """Return the project's functions that a call reaches; a method of an unknown object by its name, if one class
    alone has it.

    Args:
        context: the analysis.
        event: the call.
    """
    found = [one.function for one, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    func = event.node.func
    if found or not isinstance(func, ast.Attribute) or context.shared(_method_names).get(func.attr, 0) != 1:
        return found
    if context.flow.calls.name(event):
        return found
    return [cls.methods[func.attr] for cls in context.project.classes() if func.attr in cls.methods]


def _method_names(context: Context) -> Counter[str]:
    """Return how many classes have a method of each name; what arrays and containers have too counts for more."""
    found: Counter[str] = Counter(name for cls in context.project.classes() for name in cls.methods)
    found.update(_COMMON)
    return found


_COMMON = ARRAY_METHODS | MUTATING_METHODS | {"items", "keys", "values", "pop", "init", "format", "join", "split"}


def of_array(context: Context, method: ast.Attribute, scope: Scope) -> bool:
    """Say whether a method that traced arrays have is one of an array, and not of an object of the project.

    Args:
        context: the analysis.
        method: the method, with the expression whose method it is.
        scope: the scope around it.
    """
    return method.attr not in context.bodies.own_methods or context.taint.array(method.value, scope)


def kinds_of(context: Context, value: Value, scope: Scope) -> frozenset[Kind]:
    """Return what kinds of objects a value of a scope may be."""
    return context.kinds.of(context.flow.here(value, scope))


def may_be_state(context: Context, value: Value) -> bool:
    """Say whether a value may be a state or a graph definition of NNX: what is seldom so, and soon known."""
    return context.shared(_states).may_be(value)


def _states(context: Context) -> Made:
    return context.flow.may.made_by(_STATES)


_STATES = names_of(Kind.STATE) | names_of(Kind.GRAPHDEF) | {"split"}


def is_metric(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value of a scope may be a metric, which few values are."""
    if not any(made.may_be(value) for made in context.shared(_metrics)):
        return False
    return Kind.METRIC in kinds_of(context, value, scope)


def _metrics(context: Context) -> tuple[Made, Made]:
    own = [
        c
        for c in context.project.classes()
        if any(class_kind(b) is Kind.METRIC for b in context.flow.classes.mro(c)[1])
    ]
    return context.flow.may.made_by(names_of(Kind.METRIC)), context.flow.may.made_of(own)


def tried(context: Context, tracing: Tracing) -> bool:
    """Say whether a function is traced only where an error is expected, as tutorials do: ``try: jax.jit(f)(x)``."""
    roots = tracing.roots
    return bool(roots) and not tracing.sites and all(context.bodies.guarded(root.node, root.scope) for root in roots)


def resolved(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return where the value of an expression comes from; None if the expression was not evaluated."""
    value = scope.module.values.get(node)
    return context.flow.resolve(context.flow.here(value, scope)) if value is not None else None


def written(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression of which a variable is the name, if what that reads is still the same; others themselves.

    So a rule that looks at ``jnp.sqrt(jnp.sum(x**2))`` also knows ``total = jnp.sum(x**2); jnp.sqrt(total)``.

    Args:
        context: the analysis.
        node: an expression.
        scope: the body that it stands in.
    """
    value = scope.module.values.get(node) if isinstance(node, ast.Name) else None
    made = value.node if isinstance(value, Call | Unknown) else None
    if not isinstance(made, ast.expr) or isinstance(made, ast.Name) or made.lineno > node.lineno:
        return node
    if made not in context.bodies.paths(scope):
        return node  # of a function around it
    read = names_in(made)
    names = context.bodies.names(scope)
    between = (n for name in read for n in names.get(name, ()))
    last = made.end_lineno or made.lineno
    return node if any(isinstance(n.ctx, ast.Store) and last < n.lineno < node.lineno for n in between) else made


def literal(context: Context, node: ast.expr, scope: Scope) -> object:
    """Return the constant that an expression is, also under a name; None for others.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
    """
    value = scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    return found.value if isinstance(found, Const) else constant(node)


def formula_of(context: Context, function: FunctionFacts) -> ast.expr | None:
    """Return the one expression that a function gives; None if it gives one of several, or nothing.

    Args:
        context: the analysis.
        function: the function.
    """
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    given = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    if len(given) != 1 or given[0].value is None:
        return None
    return written(context, given[0].value, function.scope)


def compiled_roots(context: Context) -> Iterator[Root]:
    """Yield the applications of ``jit`` and ``pmap``."""
    return (root for root in context.traced.roots if root.transform in COMPILING)


def jit_of(context: Context, event: CallEvent) -> tuple[Root, ...]:
    """Return the applications of ``jit`` behind the function that a call calls."""
    applied, decorated, functions = context.shared(_compiled)
    if not applied and not decorated:
        return ()
    flow = context.flow
    call = flow.here(event.value, event.scope)
    callee = flow.follow(call, event.value.callee)
    if isinstance(callee.value, Attr):  # a method under a decorator
        methods = {one.function for one in flow.calls.callables(callee)} & functions if functions else set()
        return tuple(r for r in compiled_roots(context) if r.decorator and r.function in methods) if methods else ()
    if not isinstance(callee.value, Call):
        return ()
    node = callee.value.node
    if node not in applied and node.func not in decorated:
        return ()
    return tuple(r for r in compiled_roots(context) if r.node is node or (r.decorator and r.node is node.func))


def _compiled(context: Context) -> tuple[frozenset[ast.AST], frozenset[ast.AST], frozenset[FunctionFacts]]:
    """Return the nodes of the applications of ``jit`` and ``pmap``, and of the decorators among them the functions."""
    roots = list(compiled_roots(context))
    decorators = [root for root in roots if root.decorator]
    return (
        frozenset(root.node for root in roots),
        frozenset(root.node for root in decorators),
        frozenset(root.function for root in decorators),
    )


def fix(scope: Scope, node: ast.AST, text: str, safety: Safety = Safety.SAFE) -> Fix:
    """Return a fix that replaces one expression."""
    return Fix(((scope.module.source.path, replace(scope.module.source, node, text)),), safety)


def shown(function: FunctionFacts) -> str:
    """Return a function's name as messages show it."""
    return "a lambda" if function.name == "<lambda>" else f"`{function.name}`"


def stands_in(scope: Scope | None, outer: Scope) -> bool:
    """Say whether a scope is another one, or one in it.

    Args:
        scope: the scope; None for none.
        outer: the other one.
    """
    while scope is not None and scope is not outer:
        scope = scope.parent
    return scope is outer


def in_test(scope: Scope) -> bool:
    """Say whether a scope belongs to a test, where results are often compared on purpose."""
    if is_test(scope.module):
        return True
    function = function_of(scope)
    while function is not None:
        if function.name.startswith(("test", "bench")) and not _step(function):
            return True
        function = function_of(function.scope.parent)
    return False


def _step(function: FunctionFacts) -> bool:
    """Say whether what is named like a test is a part of a program, as ``test_step(model, batch)``: it is called with
    arguments, or compiled."""
    if not function.params:
        return False
    if function.decorators and function.owner is None and any(map(_jit, function.decorators)):
        return True
    return function.name in function.scope.module.source.once(_given_something)


def _given_something(source: Source) -> frozenset[str]:
    """Return the last words of what a module calls with arguments."""
    return frozenset(last_word(node.func) for node in source.of_type(ast.Call) if node.args or node.keywords)


def _jit(decorator: Value) -> bool:
    inner = decorator.callee if isinstance(decorator, Call) else decorator
    return getattr(inner, "name", "") == "jit" or (
        isinstance(decorator, Call) and any(getattr(argument, "name", "") == "jit" for argument in decorator.args)
    )


# folders
_TESTS = frozenset({"test", "tests", "unittest", "unittests", "smoke", "smokes", "benchmark", "benchmarks"})


def is_test(module: ModuleFacts) -> bool:
    """Say whether a module holds tests or benchmarks, by its name."""
    return _of_tests(module.source.path)


@lru_cache(maxsize=1_000)
def _of_tests(path: str) -> bool:
    folder, _, name = path.replace("\\", "/").rpartition("/")
    parts = folder.split("/")
    if any(one in _TESTS and two.startswith("test") for one, two in pairwise(parts)):  # their parts
        return True
    if _TESTS & set(parts[-2:]) or name.startswith(("test_", "bench", "conftest")):
        return True
    return name.endswith(("_test.py", "_smoke.py"))


def once(code: str, places: list[tuple[Scope, ast.AST]], message: str, help: str) -> Iterator[Finding]:
    """Yield one finding about the first of several places of a module that are mended alike; the others are related."""
    places.sort(key=lambda place: (getattr(place[1], "lineno", 0), getattr(place[1], "col_offset", 0)))
    (scope, first), *others = places
    yield finding(code, scope, first, message, help, related=[(node, "and here") for _, node in others])


def by_reference(module: ModuleFacts) -> bool:
    """Say whether a module speaks of Variables that compiled code changes in place, which JAX's transforms keep."""
    return module.source.mentions(b"hijax=True") or module.source.mentions(b"use_hijax")
