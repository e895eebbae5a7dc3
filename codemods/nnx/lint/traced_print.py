"""NNX803: printing a tracer."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from string import Formatter

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell_name
from codemods.nnx.lint.linen.modules import modules_of
from codemods.nnx.lint.names import last
from codemods.nnx.lint.other_way import runs_untraced
from codemods.nnx.lint.places import foreign, in_test, traced_calls
from codemods.nnx.lint.syntax import operands
from codemods.nnx.lint.traced import COMPILED
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr

_PRINTS = ("logging.", "absl.logging.", "loguru.logger.", "pprint.", "rich.print", "tqdm.tqdm.write",
           "tqdm.auto.tqdm.write", "sys.stdout.write", "sys.stderr.write", "warnings.warn", "click.echo")  # fmt: skip
_LOGGERS = frozenset({"logging.getLogger", "structlog.get_logger", "absl.logging.get_absl_logger"})
_OPTIONS = frozenset({"ordered", "partitioned", "skip_format_check"})  # of jax.debug.print itself
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _formats(context)
    for event, name in traced_calls(context):
        arguments = [*event.node.args, *(k.value for k in event.node.keywords)]
        if name == "jax.debug.print":
            first = arguments[:1]
            joined = bool(first) and isinstance(first[0], ast.JoinedStr)
            made = _parts(first[0]) if first else []
            if (joined or made != first) and any(_holds(context, part, event) for part in made):
                yield finding(
                    RULE.code,
                    event.scope,
                    first[0],
                    f"the {'f-string' if joined else 'text'} is made while tracing, before there is a value to print",
                    'give a format and the values: jax.debug.print("x = {}", x)',
                )
        elif name == "builtins.print" or name.startswith(_PRINTS) or _logs(context, event):
            if in_test(event.scope):
                continue  # whoever reads what a test prints may want the tracer
            if name != "builtins.print" and _tells_of_trace(event):
                continue
            if _shows_tracing(context, event) or _lesson(event) or _of_eager_map(context, event):
                continue
            parts = [part for argument in arguments for part in _parts(argument)]
            if any(_holds(context, part, event) for part in parts):
                if runs_untraced(context, event.node, event.scope):
                    continue
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "prints a tracer, once per compilation, and not the value at every call",
                    "use jax.debug.print",
                    _fix(context, event) if name == "builtins.print" and parts == arguments else None,
                )


def _of_eager_map(context: Context, event: CallEvent) -> bool:
    """Say whether a function only runs under ``shard_map`` that nothing compiles, which shows the values every time."""
    function = event.scope.function
    tracing = context.traced.get(function) if function is not None else None
    if function is None or tracing is None or tracing.level == COMPILED or tracing.sites or not tracing.roots:
        return False
    if any(last(root.transform) != "shard_map" for root in tracing.roots):
        return False
    return not any(caller.scope.function in context.traced for caller in context.flow.sites.callers(function))


def _holds(context: Context, part: ast.expr, event: CallEvent) -> bool:
    """Say whether a part of a text holds a tracer, or several: no module of Linen, which has no arrays in it."""
    shown = [one.value for one in ast.walk(part) if isinstance(one, ast.FormattedValue)] or [part]
    return any(
        context.taint.node_holds(one, event.scope)
        and not (
            isinstance(one, ast.Name)
            and event.scope.module.source.mentions(b"linen")
            and (value := event.scope.module.values.get(one)) is not None
            and modules_of(context, value, event.scope)
        )
        for one in shown
    )


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return what a text is put together of: ``x`` of ``"x = " + str(x)``, ``"x = %s" % x`` and ``"{}".format(x)``."""
    found: list[ast.expr] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in {"str", "repr"}:
            waiting += one.args
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and _is_text(one.func.value):
            waiting += [*one.args, *(k.value for k in one.keywords)] if one.func.attr == "format" else []
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod) and _is_text(one.left):
            waiting += elements(one.right)
        elif len(terms := operands(one, ast.Add)) > 1 and any(map(_is_text, terms)):
            waiting += terms
        else:
            found.append(one)
    return found


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


_TRACING = pattern(r"\b(running|calling|inside|entering)\b", re.I)
_COMPILING = pattern(r"\b(re-?)?(trac|compil)(ing|ed)\b", re.I)


def _shows_tracing(context: Context, event: CallEvent) -> bool:
    """Say whether a function shows when it is traced: it begins by printing that it runs, by its name, or is traced."""
    function = event.scope.function
    prints = [
        one.node.args
        for one in context.bodies.calls.get(event.scope, ())
        if last_word(one.node.func) == "print" and len(one.node.args) == 1
    ]
    texts = [text.value for (text,) in prints if isinstance(text, ast.Constant)]
    return function is not None and any(
        isinstance(text, str)
        and (_COMPILING.search(text) or (_TRACING.search(text) and {function.name, "jit"} & _words(text)))
        for text in texts
    )


def _words(text: str) -> set[str]:
    """Return the words of a text, each also in small letters."""
    words = re.findall(r"\w+", text)
    return {*words, *(word.lower() for word in words)}


_TRACERS = pattern(r"#.*\btracers?\b", re.I)


def _lesson(event: CallEvent) -> bool:
    """Say whether a cell that speaks of tracers in a comment has a function that does nothing but print: what it shows
    is what a tracer looks like."""
    function, source = event.scope.function, event.scope.module.source
    if function is None or not source.cell_starts or isinstance(function.node, ast.Lambda):
        return False
    if not all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and last_word(one.value.func) == "print"
        for one in function.node.body
    ):
        return False
    place = bisect_right(source.cell_starts, event.node.lineno)
    begin = source.cell_starts[place - 1] if place else 1
    return any(map(_TRACERS.search, source.lines[begin - 1 : source.cell_end(place) - 1]))


_CALL = pattern(r"(\w+_)?(step|train|eval|update|loss|init|predict|apply)(_\w+)?\(\w+ ?= ?%[srd]")


def _tells_of_trace(event: CallEvent) -> bool:
    """Say whether a message names the function with its arguments, as ``step(batch=%s)``: of shapes, once compiled."""
    function, first = event.scope.function, event.node.args[0] if event.node.args else None
    if function is None or not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return False
    return first.value.startswith(function.name + "(") or _CALL.match(first.value) is not None


def _formats(context: Context) -> Iterator[Finding]:
    """Yield the formats of ``jax.debug.print`` that have no place for some values, which raises."""
    for event, name in foreign(context, "print"):
        if name != "jax.debug.print" or event.value.starred or not event.node.args:
            continue
        form = event.node.args[0]
        if not isinstance(form, ast.Constant) or not isinstance(form.value, str):
            continue
        given = [k.arg for k in event.node.keywords if k.arg not in _OPTIONS]
        places = _places(form.value)
        if places is None or context.bodies.guarded(event.node, event.scope):
            continue
        count, names = places
        lost = len(event.node.args) - 1 > count or any(name not in names for name in given)
        if lost or len(event.node.args) - 1 < count:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the format has no place for all of the values, which raises a ValueError"
                if lost
                else "the format has more places than there are values, which raises an IndexError",
                'give a place for each value: jax.debug.print("x = {}", x)',
            )


def _places(form: str) -> tuple[int, set[str]] | None:
    """Return how many values a format takes by position, and the names of the others; None if it is not plain."""
    try:
        fields = [name for _, name, inner, _ in Formatter().parse(form) if name is not None and "{" not in str(inner)]
    except ValueError:
        return None
    heads = [re.split(r"[.\[]", one, maxsplit=1)[0] for one in fields]
    if form.count("{") - 2 * form.count("{{") != len(heads):
        return None  # a format within a format
    numbers = [int(one) for one in heads if one.isdigit()]
    return max(heads.count(""), *(n + 1 for n in numbers), 0), {one for one in heads if one and not one.isdigit()}


def _logs(context: Context, event: CallEvent) -> bool:
    """Say whether a call is a message of a logger, as ``log = logging.getLogger(...)`` makes it."""
    callee = event.value.callee
    if not isinstance(callee, Attr) or callee.name not in _LEVELS:
        return False
    made = context.flow.resolve(context.flow.here(callee.base, event.scope))
    return context.flow.calls.callee_name(made) in _LOGGERS


def _fix(context: Context, event: CallEvent) -> Fix | None:
    """Return ``jax.debug.print`` with a format made of plain arguments; None if there are others."""
    node, source = event.node, event.scope.module.source
    if node.keywords or not node.args or (node.end_lineno != node.lineno):
        return None
    form: list[str] = []
    values: list[str] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            form.append(argument.value.replace("{", "{{").replace("}", "}}"))
        elif isinstance(argument, ast.Starred | ast.JoinedStr) or not _simple(argument):
            return None
        else:
            form.append("{}")
            values.append(source.text(argument))
    spelling = spell_name(context.flow, event.scope, "jax.debug.print")
    text = " ".join(form)
    if spelling is None or '"' in text or "\\" in text or not text.isprintable():
        return None
    new = f"{spelling.text}({', '.join([chr(34) + text + chr(34), *values])})"
    edits = ((source.path, replace(source, node, new)), *((source.path, edit) for edit in spelling.edits))
    return Fix(edits, Safety.SAFE)


def _simple(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp)


RULE = Rule(
    code="NNX803",
    name="print-of-tracer",
    summary="print or logging of a traced value",
    why="""\
Traced code runs once per compilation. `print(x)` shows a tracer then and nothing at later calls; `jax.debug.print`
prints the value at every call. Its first argument is a format: an f-string would again hold the tracer, and a value
without a place in it raises.
""",
    kind=Kind.LINT,
    safety=Safety.SAFE,
    since="0.10",
    source="JAX tutorial, section on side effects; measured: 1 print of 3 calls",
    examples=(
        Example(
            before="""\
import jax


@jax.jit
def double(x):
    print("x is", x)
    return x * 2
""",
            after="""\
import jax


@jax.jit
def double(x):
    jax.debug.print("x is {}", x)
    return x * 2
""",
            run=False,
        ),
        Example(
            before="""\
import jax


@jax.jit
def double(x):
    print("traced with shape", x.shape)
    return x * 2
""",
            after="""\
import jax


@jax.jit
def double(x):
    print("traced with shape", x.shape)
    return x * 2
""",
            run=False,
        ),
    ),
    check=_check,
)
