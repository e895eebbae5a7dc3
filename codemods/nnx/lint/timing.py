"""NNX907: a time taken before the result is there."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import compiled_roots, foreign, jit_of, scopes
from codemods.nnx.lint.waiting import bound_between, gives_nothing, may_wait, stored_on_host
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Function, Param

_CLOCKS = frozenset(
    {"time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns", "time.monotonic_ns",
     "timeit.default_timer"}
)  # fmt: skip
_READING = frozenset(name.rpartition(".")[2] for name in _CLOCKS)
_WAITING = frozenset(
    {"block_until_ready", "device_get", "item", "tolist", "float", "int", "print", "asarray", "array", "info", "log",
     "effects_barrier", "allclose", "assert_allclose", "compute", "dump", "dumps", "save", "savez",
     "savez_compressed", "savetxt"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    told: set[tuple[Scope, int, str, int]] = set()
    for one in context.shared(measured):
        place = one.scope, one.start, ast.unparse(one.node), one.node.lineno
        if place in told:
            continue  # the same time once more in a line, as per second
        told.add(place)
        if not one.awaited and not _of_compiling(context, one) and not _commented(one) and not _announced(context, one):
            yield finding(
                RULE.code,
                one.scope,
                one.node,
                "the time is taken before the compiled code is done",
                "call jax.block_until_ready(result) first"
                + ("" if one.compiled else ", and once before the first time to compile"),
            )
    for event in _run_again(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "timeit is done with a round before the compiled code is done",
            "wait in what is timed: lambda: jax.block_until_ready(step(x))",
        )


_TIMEIT = frozenset({"timeit.timeit", "timeit.repeat", "timeit.Timer"})


def _run_again(context: Context) -> Iterator[CallEvent]:
    """Yield the calls that let ``timeit`` run compiled code, of which nothing waits for the results."""
    for event, name in foreign(context, "timeit", "repeat", "Timer"):
        given = event.value.argument(0, "stmt") if name in _TIMEIT else None
        if given is None or _meant(context, event.scope, event.node):
            continue
        made = context.flow.follow(context.flow.here(event.value, event.scope), given)
        value = made.value
        if isinstance(value, Function) and _sends_off(context, value.facts):
            yield event


def _sends_off(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function of no arguments calls compiled code, and nothing in it waits for the result."""
    if function.params or function.generator or function.decorators:
        return False
    events = context.bodies.calls.get(function.scope, ())
    if any(last_word(one.node.func) in _WAITING or _waiting_inside(one.node) for one in events):
        return False
    if any(_waits(node) for node in context.bodies.nodes(function.scope)):
        return False
    return any(jit_of(context, one) or _helper_compiled(context, one, 1) for one in events)


def _commented(one: Measured) -> bool:
    """Say whether a comment right above where the clock is started, or behind it, says that compiling is timed."""
    lines = one.scope.module.source.lines
    said = [_behind(lines[number - 1]) for number in range(one.start, one.node.lineno + 1) if number <= len(lines)]
    above = one.start - 1
    while above > 0 and lines[above - 1].lstrip().startswith("#"):
        said.append(_behind(lines[above - 1]))
        above -= 1
    return any(_SAID.search(text) and not _WITHOUT.search(text) for text in said)


def _announced(context: Context, one: Measured) -> bool:
    """Say whether the text that is printed right before the clock is started says that compiling is timed."""
    if one.compiled:
        return False
    source = one.scope.module.source
    above = one.start - 1
    while above > 0 and not source.line(above).strip():
        above -= 1
    prints = (e.node for e in context.bodies.calls.get(one.scope, ()) if e.node.end_lineno == above)
    return any(
        last_word(call.func) == "print" and bool(call.args) and _tells(ast.unparse(call.args[0])) for call in prints
    )


def _behind(line: str) -> str:
    """Return the comment of a line, empty if it has none."""
    return line.partition("#")[2].lower()


class Measured(NamedTuple):
    """A time that is taken before compiled code is done.

    Attributes:
        scope: the body that it is taken in.
        node: the difference.
        start: the line in which the clock was started.
        awaited: whether the result is waited for afterwards, by ``block_until_ready``.
        compiled: whether what is measured was called before.
    """

    scope: Scope
    node: ast.BinOp
    start: int
    awaited: bool
    compiled: bool


def measured(context: Context) -> list[Measured]:
    """Return the times that are taken before compiled code is done."""
    found: list[Measured] = []
    if not context.traced.roots and not any(True for _ in context.bodies.named("jit", "pmap", "block_until_ready")):
        return found
    for scope in scopes(context):
        started = starts(context, scope)
        if not started:
            continue
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, _NAMES):
                read = _reading(context, node.left, scope)
                lines = [line for line in started.get(ast.unparse(node.right), ()) if read and line < read.lineno]
                if not read or not lines or _progress(context, scope, max(lines), node):
                    continue
                if _written_before(context, scope, max(lines), node):
                    continue
                if _unfinished(context, scope, max(lines), read):
                    awaited = _awaited_after(context, scope, max(lines), read, ast.unparse(node.right))
                    if not awaited and _sent_off(context, scope, max(lines), read):
                        continue
                    # what stands between the clock and the difference may wait, too
                    if awaited or _unfinished(context, scope, max(lines), node):
                        again = _called_before(context, scope, max(lines), read)
                        found.append(Measured(scope, node, max(lines), awaited, again))
    return found


def _written_before(context: Context, scope: Scope, start: int, node: ast.BinOp) -> bool:
    """Say whether a text writes out a result before the time: ``f"{step(x):.2f} took {time() - start}"``."""
    above, part = around(context, scope), ast.AST()
    whole: ast.AST | None = node
    while whole is not None and not isinstance(whole, ast.JoinedStr | ast.stmt):
        part, whole = whole, above.get(whole)
    if not isinstance(whole, ast.JoinedStr) or part not in whole.values:
        return False
    before = whole.values[: whole.values.index(part)]
    shown = {call for one in before if isinstance(one, ast.FormattedValue) for call in ast.walk(one.value)}
    if {n.id for n in shown if isinstance(n, ast.Name)} & _results(context, scope, start, node.lineno):
        return True
    events = context.bodies.calls.get(scope, ()) if shown else ()
    return any(event.node in shown and _runs_compiled(context, event, start) for event in events)


def _results(context: Context, scope: Scope, start: int, end: int) -> set[str]:
    """Return the variables that get what functions give between two lines, but for those of Python itself."""
    return {
        name.id
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and start < n.lineno < end and isinstance(n.value, ast.Call)
        if not hasattr(builtins, last_word(n.value.func)) and not clock(context, n.value, scope)
        for target in n.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def _reading(context: Context, node: ast.expr, scope: Scope) -> ast.Call | None:
    """Return the call that reads the clock, also where its result has a name; None if an expression is none."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or not clock(context, node, scope):
        return None
    return value.node if context.bodies.home(value.node) is scope else None


def _called_before(context: Context, scope: Scope, start: int, end: ast.expr) -> bool:
    """Say whether the compiled code that is called between two lines is called before them, too."""
    events = context.bodies.calls.get(scope, ())
    before = {ast.unparse(one.node.func) for one in events if one.node.lineno < start}
    return any(
        ast.unparse(one.node.func) in before and _runs_compiled(context, one, start)
        for one in events
        if start < one.node.lineno <= end.lineno
    )


_FIRST = r"\bcold\b|(^|_)cold(_|$)|first[ _-](call|run|time|execution|invocation|solve|step|pass|compile)"
_TO_COMPILE = pattern(rf"compil|warm|tracing|{_FIRST}")
_SAID = pattern(rf"\b(re-?)?compil(e|es|ing|ation)\b|warm[-_ ]?up|tracing|{_FIRST}")  # not what is compiled
_WITHOUT = pattern(r"exclud|without|after|already|post|w/o|\bno\b|\bnot\b|pre-?compiled|minus")
_ENDS = pattern(r"[,;|\n]")


def _of_compiling(context: Context, one: Measured) -> bool:
    """Say whether a time is shown or kept as the one that compiling takes, which a call is over with."""
    scope, node = one.scope, one.node
    targets = [
        target
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and any(part is node for part in ast.walk(n.value))
        for target in n.targets
    ]
    if any(_tells(last_word(at) if not isinstance(at, ast.Subscript) else ast.unparse(at)) for at in targets):
        return True
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    shown: list[str] = []
    for n in context.bodies.nodes(scope):
        if isinstance(n, ast.Call) and any(_shows(part, names, node) for part in (*n.args, *n.keywords)):
            if last_word(n.func) == "append" and _tells(last_word(getattr(n.func, "value", None))):
                return True  # to a list of such times
            if any(_tells(k.arg or "") for k in n.keywords if _shows(k.value, names, node)):
                return True
        if isinstance(n, ast.JoinedStr):
            shown += _beside(n.values, [isinstance(p, ast.FormattedValue) and _shows(p, names, node) for p in n.values])
        elif isinstance(n, ast.Call) and last_word(n.func) in {"print", "info", "debug"}:
            shown += _beside(n.args, [not isinstance(p, ast.JoinedStr) and _shows(p, names, node) for p in n.args])
    return any(map(_tells, shown)) or (
        any(_OF_JIT.search(text.lower()) for text in shown) and _made_there(context, one)
    )


_OF_JIT = pattern(r"\bjit\b")


def _made_there(context: Context, one: Measured) -> bool:
    """Say whether what is measured is the first call of what ``jax.jit(f)(x)`` has made there."""
    return any(
        isinstance(event.node.func, ast.Call) and last_word(event.node.func.func) in {"jit", "pmap", "pjit"}
        for event in context.bodies.calls.get(one.scope, ())
        if one.start < event.node.lineno <= one.node.lineno
    )


def _shows(part: ast.AST, names: set[str], node: ast.BinOp) -> bool:
    return any(n is node or (isinstance(n, ast.Name) and n.id in names) for n in ast.walk(part))


def _beside(parts: list[ast.expr], chosen: list[bool]) -> list[str]:
    """Return the texts around some parts of others: what stands before each, and behind it, up to the next comma."""
    found = []
    for place, wanted in enumerate(chosen):
        if wanted:
            before, behind = parts[max(place - 1, 0)], parts[min(place + 1, len(parts) - 1)]
            for part, end in ((before, -1), (behind, 0)):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.append(_ENDS.split(part.value)[end])
    return [" ".join(found)] if found else []


def _tells(text: str) -> bool:
    return bool(_TO_COMPILE.search(text.lower())) and not _WITHOUT.search(text.lower())


_INTENDED = pattern(r"dispatch|enqueue|launch|overhead|async|submit|queu")
_COMPILING = pattern(r"compil|trac(e|ing)|lower|warm|first|jit_")


def _meant(context: Context, scope: Scope, read: ast.Call) -> bool:
    """Say whether the time of a call is wanted by itself: that to send it off, or to compile."""
    source = scope.module.source
    text = source.data.decode(errors="replace") if isinstance(scope.node, ast.Module) else source.text(scope.node)
    statement = next((e.statement for e in context.bodies.calls.get(scope, ()) if e.node is read), None)
    name = scope.function.name if scope.function is not None else ""
    near = name + (source.text(statement) if statement is not None else "")
    return bool(_INTENDED.search(text.lower()) or _COMPILING.search(near.lower()))


def _awaited_after(context: Context, scope: Scope, start: int, read: ast.Call, started: str) -> bool:
    """Say whether what was computed in the time measured is waited for afterwards, where nothing is measured again."""
    waits = [] if _meant(context, scope, read) else _waits_behind(context, scope, start, read)
    if not waits:
        return False
    return not any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and n.lineno > min(waits)
        and ast.unparse(n.right) == started and (again := _reading(context, n.left, scope)) is not None
        and again.lineno > min(waits)
        for n in context.bodies.nodes(scope)
    )  # fmt: skip


def _sent_off(context: Context, scope: Scope, start: int, read: ast.Call) -> bool:
    """Say whether the time to send something off is wanted: the function says that it is asynchronous, and waits."""
    text = scope.module.source.text(scope.node) if scope.function is not None else ""
    return "async" in text.lower() and bool(_waits_behind(context, scope, start, read))


def _waits_behind(context: Context, scope: Scope, start: int, read: ast.Call) -> list[int]:
    """Return the lines that wait, behind the time measured, for what was computed in it."""
    made: set[str] = set()
    for event in context.bodies.calls.get(scope, ()):
        statement = event.statement
        if start < event.node.lineno <= read.lineno and isinstance(statement, ast.Assign):
            if statement.value is event.node and event.node is not read:
                made |= {ast.unparse(n) for target in statement.targets for n in ast.walk(target)
                         if isinstance(n, ast.Name | ast.Attribute)}  # fmt: skip
    waits = []
    for event in context.bodies.calls.get(scope, ()):
        func = event.node.func
        if last_word(func) == "block_until_ready" and event.node.lineno > read.lineno:
            of = event.node.args[0] if event.node.args else func.value if isinstance(func, ast.Attribute) else None
            if of is not None and ast.unparse(of) in made:
                waits.append(event.node.lineno)
    return waits


_NAMES = (ast.Name, ast.Attribute, ast.Subscript)


def clock(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression reads a clock."""
    value = scope.module.values.get(node)
    return value is not None and context.flow.calls.callee_name(context.flow.here(value, scope)) in _CLOCKS


def _progress(context: Context, scope: Scope, start: int, node: ast.AST) -> bool:
    """Say whether a loop only looks at the clock that was started before it: what it runs is many rounds old."""
    return any(
        isinstance(outer, ast.For | ast.While) and start < outer.lineno
        for outer, _ in context.bodies.paths(scope).get(node, ())
    )


def starts(context: Context, scope: Scope) -> dict[str, list[int]]:
    """Return the lines in which variables, attributes or entries get a time, by their text."""
    found: dict[str, list[int]] = {}
    for event in context.bodies.calls.get(scope, ()):
        statement = event.statement
        func = event.node.func
        word = last_word(func)
        if word in _READING and isinstance(statement, ast.Assign) and statement.value is event.node:
            if clock(context, event.node, scope):
                for target in statement.targets:
                    if isinstance(target, _NAMES):
                        found.setdefault(ast.unparse(target), []).append(statement.lineno)
    return found


def _given_compiled(context: Context, event: CallEvent) -> bool:
    """Say whether a call calls a parameter for which a caller gives a compiled function."""
    callee = event.value.callee
    if not isinstance(callee, Param) or callee.function is not event.scope.function:
        return False
    nodes = {root.node for root in compiled_roots(context)}
    for source in context.sources.of(context.flow.here(callee, event.scope)):
        value = source.value
        if isinstance(value, Call) and (value.node in nodes or value.node.func in nodes):
            return True
        if isinstance(value, Function) and _gives_compiled(context, value.facts):
            return True
    return False


def _gives_compiled(context: Context, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether a function gives what compiled code gives, without a wait for it, as ``lambda x: step(x, 3)``."""
    if not function.returns or function.generator or function.decorators or depth > _DEPTH:
        return False
    calls = {event.node: event for event in context.bodies.calls.get(function.scope, ())}
    if any(last_word(node.func) in _WAITING or _waiting_inside(node) for node in calls):
        return False
    if any(_waits(node) for node in context.bodies.nodes(function.scope)):
        return False
    for value in function.returns:
        event = calls.get(value.node) if isinstance(value, Call) else None
        if event is None or not (jit_of(context, event) or _helper_compiled(context, event, depth + 1)):
            return False
    return True


def _helper_compiled(context: Context, event: CallEvent, depth: int = 0) -> bool:
    """Say whether a call calls a function that gives what compiled code gives, without a wait for it."""
    if isinstance(event.value.callee, Param):
        return False
    found = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    return len(found) == 1 and not found[0].gradient and _gives_compiled(context, found[0].function, depth)


_DEPTH = 3


def _awaited_before(context: Context, event: CallEvent, start: int) -> bool:
    """Say whether the same function was called before the clock started, and there its result was waited for."""
    if not isinstance(event.node.func, ast.Name | ast.Attribute):
        return False
    for other in context.bodies.calls.get(event.scope, ()):
        func = other.node.func
        if last_word(func) != "block_until_ready" or other.node.lineno > start:
            continue
        made = func.value if isinstance(func, ast.Attribute) and not other.node.args else None
        if len(other.node.args) == 1:
            made = other.node.args[0]
        if not isinstance(made, ast.Call) or ast.unparse(made.func) != ast.unparse(event.node.func):
            continue
        value = event.scope.module.values.get(made)
        if isinstance(value, Call) and value.callee == event.value.callee:
            return True
    return False


def _compiled_here(context: Context, event: CallEvent) -> bool:
    """Say whether a call calls what ``jax.jit`` made of a function that the caller gives."""
    callee = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
    if not isinstance(callee.value, Call) or not callee.value.args:
        return False
    return context.flow.calls.callee_name(callee) in COMPILING


def _unfinished(context: Context, scope: Scope, start: int, end: ast.expr) -> bool:
    """Say whether compiled code is called between two lines and nothing waits for it."""
    compiled = False
    between = [n for n in context.bodies.nodes(scope) if start < getattr(n, "lineno", 0) < end.lineno]
    if any(_waits(n) or stored_on_host(context, n, scope) for n in between):
        return False
    made = bound_between(context, scope, start, end.lineno)
    for event in context.bodies.calls.get(scope, ()):
        if not start < event.node.lineno <= end.lineno:
            continue
        func = event.node.func
        word = last_word(func)
        if word in _WAITING or _waiting_inside(event.node) or _handed(event, start):
            if event.node.lineno < end.lineno or word not in {"print", "info", "log"}:
                return False
        elif may_wait(context, event, made):
            return False
        elif not compiled:
            compiled = _runs_compiled(context, event, start)
    return compiled


def _runs_compiled(context: Context, event: CallEvent, start: int) -> bool:
    """Say whether a call runs compiled code, in whatever way."""
    roots = jit_of(context, event)
    if gives_nothing(roots):
        return False
    return bool(
        roots
        or _given_compiled(context, event)
        or _compiled_here(context, event)
        or _helper_compiled(context, event)
        or _awaited_before(context, event, start)
    )


def _waiting_inside(call: ast.Call) -> bool:
    """Say whether a lambda among the arguments of a call waits, as in ``tree.map(lambda x: device_get(x), ...)``."""
    return any(
        isinstance(n, ast.Attribute) and n.attr in {"device_get", "block_until_ready", "asarray", "item"}
        for argument in call.args
        if isinstance(argument, ast.Lambda)
        for n in ast.walk(argument)
    )


def _handed(event: CallEvent, start: int) -> bool:
    """Say whether a function that the caller gives is handed a result of the time measured: it may be what waits."""
    if not isinstance(event.value.callee, Param):
        return False
    return any(isinstance(given, Call) and given.node.lineno > start for given in event.value.args)


def _waits(node: ast.AST) -> bool:
    """Say whether a statement has to wait for a result: a condition on one, or one stored into a numpy array."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.While) and isinstance(node.test, ast.UnaryOp):  # until an environment says that it is done
        return isinstance(node.test.operand, ast.Name)
    if isinstance(node, ast.If | ast.While):
        return isinstance(node.test, ast.Compare | ast.Attribute | ast.Call)
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice | ast.Tuple) for target in node.targets
    )


RULE = lint_rule(
    "NNX907",
    "timing-without-block",
    "a time measured without block_until_ready",
    why="""\
A compiled function returns before its result is computed: what is measured is the time to send it off. Measured: 0.1
ms instead of 310 ms. The first call compiles, too, and should not be counted. Whatever may wait for the result is
enough: a helper that blocks, a function of NumPy, an element of an array of NumPy that it is written into. Times that
are named for compiling or for the first call are left alone.
""",
    source="JAX tutorial, section on timing; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import time

import jax


@jax.jit
def square(x):
    return x @ x


def measured(x):
    start = time.perf_counter()
    y = square(x)
    return time.perf_counter() - start
""",
    ),
    clean=(
        """\
import time

import jax


@jax.jit
def square(x):
    return x @ x


def measured(x):
    start = time.perf_counter()
    y = square(x)
    y.block_until_ready()
    return time.perf_counter() - start
""",
    ),
)
