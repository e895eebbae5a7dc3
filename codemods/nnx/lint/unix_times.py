"""NNX952: differences of times since 1970 in float32, which knows them to two minutes only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers, the_number
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Comprehension, Const, Item, Sequence, Unknown, Value

_WORDS = pattern(rb"time\(\)|timestamp\(|time_ns\(|\b1[_\d]{9,}|\b1\.\d+e(9|12|15|18)\b|datetime64")
# seconds of the years 2001 to 2040, and thousandths, millionths and so on of them
_RANGES = tuple((9.8e8 * unit, 2.2e9 * unit) for unit in (1.0, 1e3, 1e6, 1e9))
_NAMED = pattern(r"time|stamp|epoch|unix|date|clock|(^|_)(t|ts|dt|t0|start)(_|$)", re.I)  # in contrast to frequencies
_CLOCKS = frozenset({"time.time", "time.time_ns"})
_DATES = frozenset({"numpy.datetime64", "pandas.date_range", "pandas.to_datetime", "pandas.Timestamp"})
_CONVERSIONS = {"jax.numpy.asarray": 1, "jax.numpy.array": 1}
_NARROW = frozenset({"float32", "bfloat16", "float16"})
_HOST = frozenset({"array", "asarray", "sort", "concatenate", "cumsum", "arange", "linspace", "float64", "copy", "list",
                   "sorted", "float", "full", "int64"})  # fmt: skip
_PARTS = frozenset({"min", "max", "mean", "reshape", "ravel", "flatten", "squeeze", "copy"})
_DEPTH = 8
_INT32 = 2**31  # from here on integers become others where JAX makes int32 of int64


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if any(b"x64" in data.lower() for data in sources) or not any(map(_WORDS.search, sources)):
        return
    times = _Times(context)
    told: set[ast.AST] = set()
    for scope, given, done in _differences(context):
        found = times.ask(_bound(context, given, scope))
        if found is None or found[1] in told:
            continue
        if not (times.clocked or done == _REST or _named(given, found[1], *times.sums)):
            continue
        if found[0].module not in context.asked or in_test(found[0]):
            continue
        told.add(found[1])
        yield finding(
            RULE.code,
            *found,
            "times since 1970 need 31 bits in seconds, and float32 has 24: these are rounded to two minutes, or cut "
            "off as int32",
            "subtract the first time in NumPy, before the array goes to JAX: jnp.asarray(t - t[0])",
            related=[(given, done)] if scope.module is found[0].module else [],
        )


_DIFFERENCE = "a difference of such times"
_REST = "the time of the hour, day or week, of such times"
_PERIODS = frozenset({3600, 24 * 3600, 7 * 24 * 3600})


def _differences(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield what something is subtracted from, and times of which the hours or days are taken off, with what it is."""
    for scope, node in each(context, ast.BinOp):
        if isinstance(node.op, ast.Sub) and constant(node.left) is None:
            yield scope, node.left, _DIFFERENCE
        elif isinstance(node.op, ast.Mod):
            if the_number(context, scope.module.values.get(node.right), scope) in _PERIODS:
                yield scope, node.left, _REST
    for event, name in foreign(context, "diff", "ediff1d"):
        if name.startswith("jax.numpy.") and event.node.args:
            yield event.scope, event.node.args[0], _DIFFERENCE


def _bound(context: Context, node: ast.expr, scope: Scope) -> Bound:
    return context.flow.here(scope.module.values.get(node) or Unknown(node), scope)


def _is_time(number: float) -> bool:
    return any(least <= number <= most for least, most in _RANGES)


def _of_dates(node: ast.AST) -> bool:
    """Say whether a type of dates is named: ``"datetime64[s]"``."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("datetime64")


def _named(*nodes: ast.AST) -> bool:
    """Say whether something in expressions is named like a time."""
    words = (last_word(n) for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any(map(_NAMED.search, words))


class _Times:
    """Tells of times since 1970."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.clocked = False  # whether a clock has given one
        self.sums: list[ast.BinOp] = []  # of a time and something else
        self._narrowed: dict[Bound, tuple[Scope, ast.AST] | None] = {}  # within one question
        self._known: dict[tuple[Bound, bool], bool] = {}

    def ask(self, bound: Bound) -> tuple[Scope, ast.AST] | None:
        """Return where times were made float32; None of anything else."""
        self.clocked = False
        self.sums.clear()
        self._narrowed.clear()
        self._known.clear()
        return self._made(bound, 0)

    def _made(self, bound: Bound, depth: int) -> tuple[Scope, ast.AST] | None:
        if depth > _DEPTH:
            return None
        if bound not in self._narrowed:
            self._narrowed[bound] = None  # of what is made of itself nothing is known
            found: tuple[Scope, ast.AST] | None = None
            for source in self._context.sources.originals(bound):
                one = self._narrow(source, depth)
                if one is None:
                    return None
                found = found or one
            self._narrowed[bound] = found
        return self._narrowed[bound]

    def _narrow(self, source: Bound, depth: int) -> tuple[Scope, ast.AST] | None:
        value, with_value = source.value, self._context.flow.with_value
        if isinstance(value, Item | Indexed | Round):
            return self._made(with_value(source, value.base), depth + 1)
        if not isinstance(value, Call):
            return None
        name, callee = self._context.flow.calls.callee_name(source), value.callee
        if not name and isinstance(callee, Attr):
            given = with_value(source, callee.base)
            if callee.name in _PARTS:
                return self._made(given, depth + 1)
            if callee.name == "astype" and value.args and self._is_narrow(source, value.args[0]):
                return self._place(source) if self.absolute(given, 0) else self._made(given, depth + 1)
            return None
        if name in {"jax.numpy.float32", "jax.numpy.bfloat16", "numpy.float32"} and value.args:
            return self._place(source) if self.absolute(with_value(source, value.args[0]), 0) else None
        if name not in _CONVERSIONS or not value.args:
            return None
        kind, given = value.argument(1, "dtype"), with_value(source, value.args[0])
        if kind is not None and not self._is_narrow(source, kind):
            return None
        return self._place(source) if self.absolute(given, 0, floats=kind is None) else None

    def _is_narrow(self, source: Bound, kind: Value) -> bool:
        found = self._context.flow.follow(source, kind).value
        text = found.value if isinstance(found, Const) else last(getattr(found, "name", "") or "")
        return text in _NARROW

    def _place(self, source: Bound) -> tuple[Scope, ast.AST] | None:
        node = getattr(source.value, "node", None)
        if not isinstance(node, ast.AST):
            return None
        home = self._context.bodies.home(node) or self._context.bodies.module_scope(node)
        return (home, node) if home is not None else None

    def absolute(self, bound: Bound, depth: int, *, floats: bool = False) -> bool:
        """Say whether a value is a time since 1970, or an array of such on the host.

        Args:
            bound: the value.
            depth: how many steps it was followed.
            floats: whether it must be known not to be an integer that int32 holds.
        """
        if depth > _DEPTH:
            return False
        key = bound, floats
        if key not in self._known:
            self._known[key] = False
            sources = self._context.sources.originals(bound)
            self._known[key] = bool(sources) and all(self._absolute(one, depth, floats) for one in sources)
        return self._known[key]

    def _absolute(self, source: Bound, depth: int, floats: bool) -> bool:
        value, context = source.value, self._context
        with_value = context.flow.with_value
        if isinstance(value, Item | Indexed | Round):
            return self.absolute(with_value(source, value.base), depth + 1, floats=floats)
        if isinstance(value, Attr) and value.name == "values":
            return self.absolute(with_value(source, value.base), depth + 1)
        if isinstance(value, Sequence):
            return bool(value.items) and all(
                self.absolute(with_value(source, one), depth + 1, floats=floats) for one in value.items[:3]
            )
        if isinstance(value, Comprehension):
            return self.absolute(with_value(source, value.element), depth + 1, floats=floats)
        scope = source.frame.function.scope if source.frame is not None else None
        if scope is None and isinstance(node := getattr(value, "node", None), ast.AST):
            scope = context.bodies.module_scope(node) or context.bodies.home(node)
        known: frozenset[float] = numbers(context, value, scope) if scope is not None else frozenset()
        if isinstance(value, Const) and isinstance(value.value, int | float):
            known = frozenset({value.value})
        if known:
            return all(_is_time(one) and (not floats or isinstance(one, float) or one >= _INT32) for one in known)
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            return self._sum(source, value.node, scope, depth, floats)
        return isinstance(value, Call) and self._call(source, value, depth, floats)

    def _sum(self, source: Bound, node: ast.BinOp, scope: Scope | None, depth: int, floats: bool) -> bool:
        """Say whether a sum of a time and something else is one, or a time in another unit."""
        if scope is None:
            return False
        if isinstance(node.op, ast.Div | ast.FloorDiv) and constant(node.right) in (1e3, 1e6, 1e9):
            left = scope.module.values.get(node.left) or Unknown(node.left)
            return self.absolute(self._context.flow.with_value(source, left), depth + 1)
        if not isinstance(node.op, ast.Add):
            return False
        ways = (self._context.flow.with_value(source, scope.module.values.get(side) or Unknown(side))
                for side in (node.left, node.right))  # fmt: skip
        self.sums.append(node)
        return any(self.absolute(way, depth + 1, floats=floats) for way in ways)

    def _call(self, source: Bound, value: Call, depth: int, floats: bool) -> bool:
        name, callee = self._context.flow.calls.callee_name(source), value.callee
        if name in _CLOCKS | _DATES or any(_of_dates(one) for one in ast.walk(value.node)):
            self.clocked = True
            return True
        if not name and isinstance(callee, Attr):
            if callee.name == "timestamp":
                self.clocked = True
                return True
            inner = self._context.flow.with_value(source, callee.base)
            return callee.name in _PARTS | {"astype", "view", "to_numpy"} and self.absolute(
                inner, depth + 1, floats=floats
            )
        if not name.startswith(("numpy.", "builtins.")) or last(name) not in _HOST or not value.args:
            return False
        kinds = {last_word(k.value) for k in value.node.keywords if k.arg == "dtype"}
        place = 1 if last(name) == "full" and len(value.args) > 1 else 0
        inner = self._context.flow.with_value(source, value.args[place])
        typed = bool(kinds & {"float64", "float"}) or last(name) in {"float64", "float", "linspace"}
        if last(name) == "arange" and len(value.args) < 2:
            return False
        return self.absolute(inner, depth + 1, floats=floats and not typed)


_BAD = """\
import time

import jax.numpy as jnp
import numpy as np

stamps = time.time() + np.arange(5) * 0.5
t = jnp.asarray(stamps, dtype=jnp.float32)
elapsed = t - t[0]
print(elapsed)
"""

RULE = lint_rule(
    "NNX952",
    "unix-times",
    "differences of times since 1970 in float32",
    why="""\
1.7e9 seconds lie where float32 knows every 128th number only. Times that are made float32 and subtracted then are all
the same, or two minutes apart, and so is the time of the day that `t % 86400` takes. The difference has to be taken in
float64, which NumPy and Python have and JAX has not without `jax_enable_x64`, or in integers.
""",
    source="github.com/jax-ml/jax/issues/17319; measured: four distinct times of 400",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jnp.asarray(stamps, ", "jnp.asarray(stamps - stamps[0], ").replace("t - t[0]", "t"),
        _BAD.replace("time.time() + ", ""),
    ),
)
