"""Integers of NumPy beyond 32 bits that become arrays of JAX, which cuts them off; part of NNX978."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.applied import calls_of, skipped
from codemods.nnx.lint.names import BATCHING, COMPILING, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Param, Unknown, Value

_LIMIT = 2**31
_END = 2**63  # of the integers of NumPy
_WORDS = pattern(rb"int64|time_ns|datetime64|<<|\d{10,}|\d_\d{3}_\d{3}_\d{3}|2 ?\*\* ?[3-6]\d")
_CONVERSIONS = {"jax.numpy.asarray": "a", "jax.numpy.array": "object", "jax.device_put": "x"}
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Mult: operator.mul, ast.LShift: operator.lshift, ast.Pow: operator.pow,
    ast.BitOr: max,
}  # fmt: skip
_KEEPING = frozenset({"array", "asarray", "ascontiguousarray", "concatenate", "hstack", "sort", "unique", "copy",
                      "tile", "repeat", "ravel", "squeeze", "stack", "list", "sorted", "int", "int64"})  # fmt: skip
_METHODS = frozenset({"copy", "flatten", "ravel", "reshape", "squeeze", "item", "to_numpy"})
_DRAWING = frozenset({"choice", "permutation"})
_WIDE = frozenset({None, "int64", "int"})  # types that hold them, if one is named
_DATES = pattern(r"^(datetime64|<?M8)(\[(ns|us|ms)\])$")
_MIXED = pattern(r"seed|salt|hash|rng|key")  # parameters whose bits may be cut off
_A_DATE = 10**11  # less than the milliseconds of any date since 1974
_DEPTH = 8


def wide_integers(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield what is made an array of JAX and has integers in it that 32 bits do not hold."""
    sources = [module.source.data for module in context.project.modules]
    if any(b"x64" in data.lower() for data in sources) or not any(map(_WORDS.search, sources)):
        return
    for event, name in foreign(context, "asarray", "array", "device_put"):
        if name not in _CONVERSIONS or event.value.starred or in_test(event.scope):
            continue
        given = argument(event.node, 0, _CONVERSIONS[name])
        if given is None or (not name.endswith("put") and _type(argument(event.node, 1, "dtype")) not in _WIDE):
            continue
        if _beyond(context, given, event.scope):
            yield event.scope, given
    seen: set[ast.expr] = set()
    for root in context.traced.roots:
        if root.transform in COMPILING or root.transform in BATCHING:
            for event in calls_of(context, root):
                for given in _handed(root, event):
                    if given not in seen and not in_test(event.scope) and _beyond(context, given, event.scope):
                        seen.add(given)
                        yield event.scope, given


def _handed(root: Root, event: CallEvent) -> Iterator[ast.expr]:
    """Yield the arguments of a call that a transform makes arrays of JAX: no static ones, and no seeds."""
    if root.partial or event.value.starred:
        return
    method = root.decorator and root.function.owner is not None and isinstance(event.value.callee, Attr)
    params = list(root.function.params)[int(method) or skipped(root) :]
    given = [*zip(params, event.node.args, strict=False)]
    given += [(word.arg, word.value) for word in event.node.keywords if word.arg in root.function.params]
    for name, node in given:
        if name not in root.static and not _MIXED.search(name.lower()):
            yield node


def _beyond(context: Context, given: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an array of NumPy with integers that 32 bits do not hold."""
    found = _Least(context)
    least = found.of(given, scope.module.values.get(given), scope, 0)
    return found.numpy and not found.other and least is not None and max(least, found.greatest) >= _LIMIT


def _type(node: ast.expr | None) -> str | None:
    """Return the last word of a type; None if there is none."""
    if node is None:
        return None
    text = constant(node)
    return text if isinstance(text, str) else last_word(node)


class _Least:
    """Finds what all elements of an array of integers are at least; none is found for anything else.

    Attributes:
        numpy: whether NumPy made the numbers, of which JAX says nothing when it cuts them off.
        other: whether a type was named that makes other numbers of them.
        greatest: what some element of the array is at least.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.numpy = False
        self.other = False
        self.greatest = 0

    def of(self, node: ast.AST, value: Value | None, scope: Scope, depth: int) -> int | None:
        """Return what all elements of an array are at least, or a number is; None if that is not known.

        Args:
            node: the expression.
            value: its value.
            scope: the scope that it stands in.
            depth: how many steps led there.
        """
        if depth > _DEPTH:
            return None
        number = constant(node) if isinstance(node, ast.expr) else None
        if type(number) is int:
            return number
        if isinstance(node, ast.BinOp):
            return self._operation(node, scope, depth)
        if isinstance(node, ast.List | ast.Tuple):
            return self._every(node.elts, scope, depth)
        if isinstance(node, ast.ListComp):
            return self._part(node.elt, scope, depth)
        if isinstance(node, ast.Subscript):
            if isinstance(constant(node.slice), str):
                return self._source(value, scope, depth)
            return self._part(node.value, scope, depth)
        if isinstance(node, ast.Call):
            return self._called(node, value, scope, depth)
        return self._held(value, scope, depth)

    def _part(self, node: ast.expr, scope: Scope, depth: int) -> int | None:
        return self.of(node, scope.module.values.get(node), scope, depth + 1)

    def _held(self, value: Value | None, scope: Scope, depth: int) -> int | None:
        """Return the same of what a variable holds."""
        if isinstance(value, Const):
            return value.value if type(value.value) is int else None
        if isinstance(value, Free):
            held = value.scope.env.get(value.name)
            if isinstance(held, Const):
                return self._held(held, value.scope, depth + 1)
            return self.of(held.node, held, value.scope, depth + 1) if isinstance(held, Call | Unknown) else None
        if isinstance(value, Call | Unknown):
            return self.of(value.node, value, scope, depth + 1) if not isinstance(value.node, ast.Name) else None
        return self._source(value, scope, depth) if isinstance(value, Param) else None

    def _source(self, value: Value | None, scope: Scope, depth: int) -> int | None:
        """Return the same of a value that was made in one place, of the project's functions too."""
        if value is None:
            return None
        every = list(self._context.sources.originals(self._context.flow.here(value, scope)))
        made = every[0].value if len(every) == 1 else None
        if not isinstance(made, Call | Unknown) or made is value:
            return None
        home = self._context.bodies.home_of(every[0], made.node)
        return self.of(made.node, made, home, depth + 1) if home is not None else None

    def _every(self, nodes: list[ast.expr], scope: Scope, depth: int) -> int | None:
        """Return what all of some numbers or arrays are at least."""
        found = [self._part(one, scope, depth) for one in nodes]
        known = [one for one in found if one is not None]
        if len(known) != len(found) or not known:
            return None
        self.greatest = max(self.greatest, *known)
        return min(known)

    def _operation(self, node: ast.BinOp, scope: Scope, depth: int) -> int | None:
        made = _OPERATIONS.get(type(node.op))
        left = self._part(node.left, scope, depth) if made is not None else None
        self.greatest = 0  # of an operand, and not of what is made of it
        right = self._part(node.right, scope, depth) if left is not None else None
        self.greatest = 0
        if made is None or left is None or right is None or left < 0 or right < 0:
            return None
        if isinstance(node.op, ast.LShift | ast.Pow) and (right >= 64 or left >= _END):
            return None
        if isinstance(node.op, ast.Pow) and left >= _LIMIT:
            return None
        least = made(left, right)
        return least if least < _END else None

    def _called(self, node: ast.Call, value: Value | None, scope: Scope, depth: int) -> int | None:
        if not isinstance(value, Call) or value.starred:
            return None
        name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope))
        word = last_word(node.func)
        if name == "time.time_ns":
            return 10**18
        if name.startswith("numpy.") or name in {"builtins.list", "builtins.sorted", "builtins.int"}:
            self.numpy = self.numpy or name.startswith("numpy.")
            return self._of_function(node, last(name), scope, depth)
        if name or not isinstance(node.func, ast.Attribute):
            dated = name.startswith("numpy.datetime64")
            return self._of_date(node, scope) if dated else self._source(value, scope, depth)
        if word == "astype" and len(node.args) == 1:
            kind = _type(node.args[0])
            if kind in {"int64", "int"}:
                dates = self._of_date(node.func.value, scope)
                return dates if dates is not None else self._part(node.func.value, scope, depth)
            return None
        if word == "integers" and self._of_generator(value, scope):
            self.numpy = True
            least = self._part(node.args[0], scope, depth) if len(node.args) > 1 else 0
            return least if argument(node, 3, "dtype") is None else None
        if word in _METHODS:
            return self._part(node.func.value, scope, depth)
        return self._part(node.args[0], scope, depth) if word in _DRAWING and node.args else None

    def _of_function(self, node: ast.Call, word: str, scope: Scope, depth: int) -> int | None:
        """Return the same of what a function of NumPy gives."""
        place = {"full": 2, "arange": 4}.get(word, 1)
        if _type(argument(node, place, "dtype")) not in _WIDE or not node.args:
            self.other = True
            return None
        if word == "unique" and any(str(one.arg).startswith("return_") for one in node.keywords):
            return None  # also the places of them
        if word in _KEEPING:
            return self._part(node.args[0], scope, depth)
        if word in {"cumsum", "cumprod"}:
            least = self._part(node.args[0], scope, depth)
            return least if least is not None and least >= int(word == "cumprod") else None
        if word == "full" and len(node.args) > 1:
            return self._part(node.args[1], scope, depth)
        if word == "arange":
            numbers = [self._part(one, scope, depth) for one in node.args]
            if any(one is None or one < 0 for one in numbers[:1]) or len(numbers) > 2:
                return None
            return 0 if len(numbers) == 1 else numbers[0]
        return self._part(node.args[0], scope, depth) if word in _DRAWING else None

    def _of_generator(self, value: Call, scope: Scope) -> bool:
        """Say whether a method is one of a generator of random numbers of NumPy."""
        if not isinstance(value.callee, Attr):
            return False
        held = self._context.flow.resolve(self._context.flow.here(value.callee.base, scope))
        return self._context.flow.calls.callee_name(held) == "numpy.random.default_rng"

    def _of_date(self, node: ast.expr, scope: Scope) -> int | None:
        """Return what dates in thousandths of a second or less are at least."""
        value = scope.module.values.get(node)
        made = value.node if isinstance(value, Call) else node
        if not isinstance(made, ast.Call) or last_word(made.func) not in {"astype", "array", "asarray"}:
            return None
        method = last_word(made.func) == "astype"
        kind = _type(argument(made, 0 if method else 1, "dtype"))
        if kind is None or not _DATES.match(kind):
            return None
        self.numpy = True
        return _A_DATE
