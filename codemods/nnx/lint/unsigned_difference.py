"""NNX993: the size of a difference of unsigned integers, which has no sign."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Each, Item, Loop, Mapping, Param, Sequence, Value

_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
_SIZES = frozenset({"abs", "absolute", "fabs", "square", "norm"})  # these are of use only for what may be negative
_SUMS = frozenset({"mean", "sum", "average"})
# functions that make arrays, with the position of the type
_MADE = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "array": 1, "asarray": 1, "ascontiguousarray": 1, "arange": 3,
         "zeros_like": 1, "ones_like": 1, "empty_like": 1, "full_like": 2}  # fmt: skip
_DRAWN = {"jax.random.randint": 4, "jax.random.bits": 2, "numpy.random.randint": 3}
# functions and methods whose result has the type of what they are given
_ALIKE = frozenset(
    {"array", "asarray", "ascontiguousarray", "zeros_like", "ones_like", "empty_like", "full_like", "reshape", "ravel",
     "flatten", "transpose", "squeeze", "expand_dims", "swapaxes", "moveaxis", "roll", "flip", "pad", "copy",
     "device_put", "stop_gradient", "block_until_ready", "broadcast_to", "repeat", "tile", "dynamic_slice",
     "dynamic_index_in_dim", "dynamic_slice_in_dim", "take", "take_along_axis", "permutation", "shuffle"}
)  # fmt: skip
_JOINED = frozenset({"stack", "concatenate", "vstack", "hstack"})
_HOMES = ("jax.numpy", "numpy", "jax.lax", "jax")
_NARROW = 16  # bits: wider ones count something more often than not, and the later count is the larger
_HASHES = pattern(r"hash|crc|rng|prng|random|threefry|murmur|checksum|modul|wrap", re.I)
_WORD = pattern(
    rb"\buint(?:8|16|32|64)\b|random\.bits\b|Image\.open\(|\bimread\(", needs=(b"uint", b"bits", b"image", b"imread")
)
_DEPTH = 12


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORD) for module in context.project.modules):
        return
    unsigned, types = _Unsigned(context), ExactTypes(context)
    seen: set[ast.AST] = set()
    for scope, node in each(context, ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp):
        for sized, certain in _sized(node):
            difference = _difference(context, sized, scope)
            if difference is None or difference in seen:
                continue
            sides = difference.left, difference.right
            if {types.node(side, scope) for side in sides} == {"uint8"}:
                continue  # NNX754 tells of it
            left = unsigned.width(difference.left, scope)
            right = None if left is None else unsigned.width(difference.right, scope)
            if left is None or right is None or (not certain and max(left, right) > _NARROW):
                continue
            if in_test(scope) or _of_bits(context, scope):
                continue
            seen.add(difference)
            width = max(left, right)
            yield finding(
                RULE.code,
                scope,
                difference,
                f"a difference of uint{width} is never negative: 3 - 5 is {2**width - 2}",
                f"convert first: {_converted(difference.left)} - ..., with a type that has a sign",
            )


def _converted(node: ast.expr) -> str:
    text = ast.unparse(node)
    text = text if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({text})"
    return f"{text}.astype(jnp.int32)" if len(text) < 30 else "x.astype(jnp.int32)"


def _sized(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the expressions whose size is asked for, each with whether it would have to be negative sometimes."""
    if isinstance(node, ast.Call):
        word = last_word(node.func)
        if word in _SIZES or word in _SUMS:
            of = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(of, ast.BinOp | ast.Subscript | ast.Call) or (isinstance(of, ast.Name) and not node.args):
                yield of, word in _SIZES
            elif node.args:
                yield node.args[0], word in _SIZES
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow) and constant(node.right) == 2:
            yield node.left, True
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            yield node.operand, True
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        if isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                if isinstance(constant(other), int | float):
                    yield one, False


def _difference(context: Context, node: ast.expr, scope: Scope) -> ast.BinOp | None:
    """Return the difference that an expression is, also converted to floats afterwards; one with numbers is none."""
    node = written(context, node, scope)
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and isinstance(node.func, ast.Attribute)
    ):
        if node.func.attr == "astype" and "float" in ast.unparse(node.args[0]):
            return _difference(context, node.func.value, scope)
        if "float" in node.func.attr:
            return _difference(context, node.args[0], scope)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    return None if any(isinstance(side, ast.Constant) for side in (node.left, node.right)) else node


def _of_bits(context: Context, scope: Scope) -> bool:
    """Say whether a function works with bits, or is named as one that counts modulo the size of a number."""
    function = scope.function
    if function is not None and _HASHES.search(function.name):
        return True
    bits = (ast.BitXor, ast.LShift, ast.RShift)
    return any(isinstance(n, ast.BinOp | ast.AugAssign) and isinstance(n.op, bits) for n in context.bodies.nodes(scope))


class _Unsigned:
    """Tells of values whether they are arrays of unsigned integers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[Bound, int | None] = {}

    def width(self, node: ast.expr, scope: Scope) -> int | None:
        """Return how many bits the numbers of an array have; None if they have a sign, or nothing is known."""
        value = scope.module.values.get(node)
        return self._of(self._context.flow.here(value, scope), 0) if value is not None else None

    def _of(self, bound: Bound, depth: int) -> int | None:
        if depth > _DEPTH:
            return None
        if bound not in self._known:
            self._known[bound] = None  # of what depends on itself nothing is known
            self._known[bound] = self._followed(bound, depth)
        return self._known[bound]

    def _followed(self, bound: Bound, depth: int) -> int | None:
        flow = self._context.flow
        bound = flow.resolve(bound)
        for _ in range(_DEPTH):
            if isinstance(bound.value, Changed) or (isinstance(bound.value, Loop) and _filled(bound.value)):
                bound = flow.with_value(bound, bound.value.before)
        sources = self._context.sources.originals(bound)
        if isinstance(bound.value, Item | Indexed):
            # an array keeps its type, whatever is written into it
            whole = flow.with_value(bound, bound.value.base)
            if not all(isinstance(one.value, Mapping | Sequence) for one in self._context.sources.originals(whole)):
                return self._of(whole, depth + 1)
        if isinstance(bound.value, Part):
            return self._of(bound.value.of, depth + 1)
        if isinstance(bound.value, Round | Each):  # an array keeps its type in its rows
            return self._of(flow.with_value(bound, bound.value.base), depth + 1)
        if isinstance(bound.value, Param) and any(isinstance(one.value, Const) for one in sources):
            return self._given(bound.value, depth)  # written into the array that is given
        made = [self._made(source, depth) for source in sources]
        widths = [one for one in made if one is not None]
        return max(widths) if widths and len(widths) == len(made) else None

    def _given(self, param: Param, depth: int) -> int | None:
        """Return the width of what all calls of a function give a parameter."""
        flow = self._context.flow
        given = [flow.argument(entry, param.name) for entry in flow.sites.entries(param.function)]
        widths = [self._of(one, depth + 1) if one is not None else None for one in given]
        known = [one for one in widths if one is not None]
        return max(known) if known and len(known) == len(widths) else None

    def _made(self, source: Bound, depth: int) -> int | None:
        flow, value = self._context.flow, source.value
        if isinstance(value, Indexed | Item | Changed | Round | Each):
            return self._of(source, depth + 1)
        if isinstance(value, Attr) and value.name in {"T", "mT"}:
            return self._of(flow.with_value(source, value.base), depth + 1)
        return self._call(source, value, depth) if isinstance(value, Call) and not value.starred else None

    def _call(self, source: Bound, value: Call, depth: int) -> int | None:
        name = self._context.flow.calls.callee_name(source)
        home, _, word = name.rpartition(".")
        if name == "cv2.imread" and len(value.args) == 1 and not value.keywords:
            return 8
        if not name and isinstance(value.callee, Attr):
            if value.callee.name == "convert":
                return 8 if self._opened(source, value) else None
            return self._method(source, value, value.callee, depth)
        if name in _DRAWN:
            given = value.argument(_DRAWN[name], "dtype")
            return self._bits(source, given) if given is not None else 32 if word == "bits" else None
        if home not in _HOMES and not home.startswith(("jax.", "numpy.")):
            return None
        if word in _BITS and home in {"jax.numpy", "numpy"}:
            return _BITS[word]
        given = value.argument(_MADE[word], "dtype") if word in _MADE else value.keyword("dtype")
        if given is not None:
            return self._bits(source, given)
        if not value.args:
            return None
        first = value.args[-1] if word == "permutation" and home == "jax.random" else value.args[0]
        if word in _JOINED and isinstance(first, Sequence):
            parts = [self._of(self._context.flow.with_value(source, item), depth + 1) for item in first.items]
            return max((one or 0 for one in parts), default=None) if None not in parts else None
        return self._of(self._context.flow.with_value(source, first), depth + 1) if word in _ALIKE else None

    def _opened(self, source: Bound, value: Call) -> bool:
        """Say whether a call is ``PIL.Image.open(path).convert("RGB")``, of which NumPy makes an array of bytes."""
        flow = self._context.flow
        mode = value.args[0] if len(value.args) == 1 else None
        if not isinstance(value.callee, Attr) or not isinstance(mode, Const):
            return False
        opened = flow.with_value(source, value.callee.base)
        return mode.value in {"L", "RGB", "RGBA"} and flow.calls.callee_name(opened) == "PIL.Image.open"

    def _method(self, source: Bound, value: Call, callee: Attr, depth: int) -> int | None:
        if callee.name in {"astype", "view"}:
            return self._bits(source, value.argument(0, "dtype"))
        if callee.name == "integers":
            return self._bits(source, value.argument(3, "dtype"))
        place = callee.base  # x.at[i].set(...)
        if isinstance(place, Item) and isinstance(place.base, Attr) and place.base.name == "at":
            return self._of(self._context.flow.with_value(source, place.base.base), depth + 1)
        base = self._context.flow.with_value(source, callee.base)
        return self._of(base, depth + 1) if callee.name in _ALIKE and value.keyword("dtype") is None else None

    def _bits(self, source: Bound, given: Value | None) -> int | None:
        """Return how many bits a type has; None for one with a sign."""
        if given is None:
            return None
        found = self._context.flow.follow(source, given).value
        name = found.value if isinstance(found, Const) else getattr(found, "name", "")
        return _BITS.get(str(name).rpartition(".")[2])


def _filled(value: Loop) -> bool:
    """Say whether a loop only writes into an array."""
    again: Value | None = value.again
    for _ in range(_DEPTH):
        if again is value:
            return True
        if not isinstance(again, Changed):
            return False
        again = again.before
    return False


_BAD = """\
import jax.numpy as jnp
import numpy as np


def motion(frames):
    return jnp.abs(frames[1:] - frames[:-1]).mean()


clip = np.zeros((8, 32, 32), np.uint16)
print(motion(jnp.asarray(clip)))
"""

RULE = lint_rule(
    "NNX993",
    "unsigned-difference",
    "the size of a difference of unsigned integers",
    why="""\
Images are arrays of uint8, and so is the difference of two of them: where it would be -2 it is 254, and the absolute
value, the square or the mean of it is that of the wrong number. Convert before subtracting: `x.astype(jnp.int32)`, or
to floats. Differences of wider numbers are reported only where they would have to be negative sometimes, as those whose
absolute value is taken; functions that work with bits are left alone.
""",
    source="NumPy's integer arithmetic; measured: jnp.abs of 3 - 5 is 254",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("motion(jnp.asarray(clip))", "motion(jnp.asarray(clip, jnp.float32))"),),
)
