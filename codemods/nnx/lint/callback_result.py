"""NNX675: functions on the host that give another type of number, or other axes, than they are said to give, and
declared results of 64 bits in 32-bit mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import BOOL, FLOAT, INT, Arrays
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import BATCHING, last
from codemods.nnx.lint.narrow_mode import stays_narrow
from codemods.nnx.lint.places import foreign, in_test, shown
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Param, Ref, Sequence, Unknown, Value

_CALLBACKS = frozenset({"jax.pure_callback", "jax.experimental.pure_callback", "jax.experimental.io_callback"})
_WORDS = {BOOL: "truth values", INT: "integers", FLOAT: "floats"}
# what NumPy makes of 64 bits unless it is told another type, with the position of that
_WIDE_MADE = {"zeros": 1, "ones": 1, "empty": 1, "eye": 3, "identity": 1, "linspace": 5, "logspace": 5}
_WIDE_COUNTED = frozenset({"argmax", "argmin", "argsort", "searchsorted", "count_nonzero", "digitize", "bincount"})
# functions whose result has the type of what they are given, the first argument or any of them
_ALIKE = frozenset(
    {"sum", "mean", "prod", "max", "min", "std", "var", "median", "cumsum", "trapezoid", "trapz", "exp", "log", "sin",
     "cos", "tanh", "sqrt", "abs", "square", "dot", "matmul", "sort", "diff", "ravel", "reshape", "transpose", "stack",
     "concatenate", "interp", "where", "maximum", "minimum", "power", "outer", "clip", "convolve"}
)  # fmt: skip
_METHODS = frozenset(
    {"sum", "mean", "prod", "max", "min", "std", "var", "cumsum", "ravel", "reshape", "transpose", "copy", "dot"}
)
_PYTHON = {"builtins.float": FLOAT, "builtins.int": INT, "builtins.len": INT}
_WIDE, _WEAK = "wide", "weak"  # arrays of 64 bits; numbers of Python, which take the type of an array beside them
_DEPTH = 10


def _check(context: Context) -> Iterator[Finding]:
    for event, struct, word in _narrowed(context):
        apart = struct.node.lineno != event.node.lineno and struct.node in event.scope.module.values
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the result is declared as {word}, which JAX refuses without jax_enable_x64",
            f"declare {_NARROW[word]}, and let the function on the host give that",
            related=[(struct.node, "declared here")] if apart else [],
        )
    for event, function, returned, problem in _problems(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{shown(function)} gives {problem}",
            "let it give what is declared, as by np.asarray(result, dtype), or declare what it gives",
            related=[(returned.node, "returned here")]
            if isinstance(returned, Call | Unknown | Sequence) and function.scope.module is event.scope.module
            else [],
        )


def unlike_declared(context: Context) -> frozenset[ast.AST]:
    """Return the calls of which this rule tells.

    Args:
        context: the analysis.
    """
    unlike = {event.node for event, *_ in _problems(context)}
    return frozenset(unlike | {event.node for event, *_ in _narrowed(context)})


def wide_declared(context: Context) -> frozenset[ast.AST]:
    """Return the calls that make what this rule calls too wide a result.

    Args:
        context: the analysis.
    """
    return frozenset(struct.node for _, struct, _ in _narrowed(context, everywhere=True))


def _narrowed(context: Context, *, everywhere: bool = False) -> Iterator[tuple[CallEvent, Call, str]]:
    """Yield the calls that declare a result of 64 bits in 32-bit mode, with what declares it, and its type."""
    for event, name in foreign(context, "pure_callback", "io_callback", everywhere=everywhere):
        if name not in _CALLBACKS or event.value.starred or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope) or not context.shared(stays_narrow):
            continue
        given = event.value.argument(1, "result_shape_dtypes") or event.value.keyword("result_shape")
        found = _wide_part(context, context.flow.here(given, event.scope), 0) if given is not None else None
        if found is not None:
            yield event, *found


def _wide_part(context: Context, declared: Bound, depth: int) -> tuple[Call, str] | None:
    """Return a part of what is declared as a result that has 64 bits, and the name of its type."""
    made = context.flow.resolve(declared)
    if isinstance(made.value, Sequence | Mapping) and depth < _DEPTH:
        items = made.value.items if isinstance(made.value, Sequence) else [item for _, item in made.value.items]
        parts = (_wide_part(context, context.flow.with_value(made, item), depth + 1) for item in items)
        return next((part for part in parts if part is not None), None)
    if not isinstance(made.value, Call) or made.value.starred:
        return None
    name = context.flow.calls.callee_name(made)
    dtype = made.value.argument(1, "dtype")
    if name in {"numpy.zeros", "numpy.ones", "numpy.empty"} and dtype is None and len(made.value.args) == 1:
        return made.value, "float64"
    if name not in {"jax.ShapeDtypeStruct", "jax.core.ShapedArray"} or dtype is None:
        return None
    found = context.flow.follow(made, dtype).value
    if isinstance(found, Ref):
        home, _, word = found.name.rpartition(".")
        word = word if home in {"numpy", "jax.numpy"} else _WIDE_IN_PYTHON.get(found.name, "")
    else:
        word = found.value if isinstance(found, Const) and isinstance(found.value, str) else ""
    return (made.value, word) if word in _NARROW else None


_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
_WIDE_IN_PYTHON = {"builtins.float": "float64", "builtins.int": "int64", "builtins.complex": "complex128"}


def _problems(context: Context) -> Iterator[tuple[CallEvent, FunctionFacts, Value, str]]:
    """Yield the calls with the function on the host, what it returns, and how that differs from what is declared."""
    for event, name in foreign(context, "pure_callback", "io_callback"):
        if name not in _CALLBACKS or event.value.starred or in_test(event.scope) or not event.value.args:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        function = _function(context, event)
        declared = _declared(context, event)
        if function is None or declared is None:
            continue
        for returned in function.returns or (Const(None),):
            problem = _problem(context, event, declared, returned, function)
            if problem:
                yield event, function, returned, problem
                break


def _function(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the function of the project that runs on the host."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    if len(callees) != 1 or callees[0].gradient:
        return None
    function = callees[0].function
    if function.generator or function.decorators or not (function.returns or gives_nothing(function)):
        return None
    return function


def _declared(context: Context, event: CallEvent) -> tuple[str, int | None] | None:
    """Return the name of the type and the number of axes that one result is said to have; None if neither is known."""
    given = event.value.argument(1, "result_shape_dtypes") or event.value.keyword("result_shape")
    made = context.flow.resolve(context.flow.here(given, event.scope)) if given is not None else None
    if made is None or not isinstance(made.value, Call) or made.value.starred:
        return None
    if context.flow.calls.callee_name(made) not in {"jax.ShapeDtypeStruct", "jax.core.ShapedArray"}:
        return None
    shape, dtype = made.value.argument(0, "shape"), made.value.argument(1, "dtype")
    found = context.flow.follow(made, shape).value if shape is not None else None
    axes = None
    if isinstance(found, Sequence) and isinstance(found.node, ast.Tuple | ast.List):
        axes = None if any(isinstance(one, ast.Starred) for one in found.node.elts) else len(found.items)
    name = context.flow.follow(made, dtype).value if dtype is not None else None
    word = last(name.name) if isinstance(name, Ref) else name.value if isinstance(name, Const) else ""
    return (word if isinstance(word, str) else "", axes)


def _problem(
    context: Context, event: CallEvent, declared: tuple[str, int | None], returned: Value, function: FunctionFacts
) -> str:
    """Return how what a function gives differs from what is declared; empty if it does not, or that is not known."""
    word, axes = declared
    wanted = _number(word)
    if returned == Const(None):
        return "nothing, and an array is declared"
    known = Arrays(context, {}).of(returned, function.scope)
    number = FLOAT if wanted == INT and _kind(context, returned, function.scope, FLOAT, 0) else known.number
    if wanted is not None and number is not None and number != wanted:
        return f"{_WORDS[number]}, and {word} is declared"
    # under vmap, the function may be given a batch, and give one
    mapped = any(k.arg in {"vmap_method", "vectorized"} for k in event.node.keywords)
    single = known.axes == 0 or _reduced(context, returned, function)
    if axes == 0 and single and _for_batches(context, event):
        return "a single number, and with this vmap_method it gets whole batches and has to give one for each"
    if axes is not None and known.axes is not None and known.axes != axes and not mapped:
        return f"{_axes(known.axes)}, and {_axes(axes)} declared"
    if word in {"float32", "int32"} and _double(context, event.scope.module):
        kind = _kind(context, returned, function.scope, FLOAT if word == "float32" else INT, 0)
        if kind:
            return f"numbers of 64 bits, which jax_enable_x64 lets stand, and {word} is declared"
    return ""


def _for_batches(context: Context, event: CallEvent) -> bool:
    """Say whether a function on the host is given a batch as it is, where a project maps it over one."""
    method = constant(keyword(event.node, "vmap_method"))
    if method not in {"expand_dims", "broadcast_all"} and constant(keyword(event.node, "vectorized")) is not True:
        return False
    way = context.traced.get(event.scope.function)
    return way is not None and any(root.transform in BATCHING for root in way.roots)


def _reduced(context: Context, value: Value, function: FunctionFacts) -> bool:
    """Say whether a value is what a parameter as a whole is reduced to: ``np.quantile(x, 0.9)``, or ``x.max()``."""
    if not isinstance(value, Call) or value.starred or keyword(value.node, "axis") is not None:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    if isinstance(value.callee, Attr) and not name:
        whole = isinstance(value.callee.base, Param) and not value.args and not value.keywords
        cast = value.callee.name == "astype" and _reduced(context, value.callee.base, function)
        return cast or (whole and value.callee.name in _REDUCING)
    if not name.startswith("numpy.") or not value.args:
        return False
    if last(name) in {"float32", "float64", "asarray", "array"}:
        return _reduced(context, value.args[0], function)
    given = value.args[0]
    if isinstance(given, Call) and given.args and last_word(given.node.func) in {"asarray", "array"}:
        given = given.args[0]
    more = 2 if last(name) in {"quantile", "percentile"} else 1
    return last(name) in _REDUCING and len(value.args) == more and isinstance(given, Param)


_REDUCING = frozenset(
    {"sum", "mean", "max", "min", "prod", "std", "var", "median", "average", "quantile", "percentile", "ptp", "argmax",
     "argmin", "amax", "amin", "any", "all"}
)  # fmt: skip


def _number(word: str) -> int | None:
    for start, number in (("float", FLOAT), ("bfloat", FLOAT), ("int", INT), ("uint", INT), ("bool", BOOL)):
        if word.startswith(start):
            return number
    return None


def _axes(number: int) -> str:
    return "a single number" if number == 0 else f"an array with {number} {'axis' if number == 1 else 'axes'}"


def _double(context: Context, module: ModuleFacts) -> bool:
    """Say whether a module switches numbers of 64 bits on, in any case."""
    if not module.source.mentions(b"jax_enable_x64"):
        return False
    return any(
        len(event.node.args) == 2
        and constant(event.node.args[0]) == "jax_enable_x64"
        and constant(event.node.args[1]) is True
        and context.flow.calls.name(event) == "jax.config.update"
        and not context.bodies.paths(event.scope).get(event.node, ())
        for event in context.bodies.calls.get(module.scope, ())
    )


def _kind(context: Context, value: Value | None, scope: Scope, number: int, depth: int) -> str:
    """Return whether a value is certainly a float or integer of 64 bits: an array's, or one of Python; empty else."""
    if value is None or depth > _DEPTH:
        return ""
    if isinstance(value, Const):
        return _WEAK if type(value.value) is (float if number == FLOAT else int) else ""
    if isinstance(value, Unknown):
        return _operation(context, value.node, scope, number, depth)
    if isinstance(value, Item):
        return _WIDE if _kind(context, value.base, scope, number, depth + 1) == _WIDE else ""
    if not isinstance(value, Call) or value.starred:
        return ""
    found = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(found)
    home, _, word = name.rpartition(".")
    if name in _PYTHON:
        return _WEAK if _PYTHON[name] == number else ""
    if home == "math" and number == FLOAT:
        return _WEAK if word not in {"floor", "ceil", "comb", "factorial", "gcd", "isqrt", "trunc"} else ""
    typed = value.keyword("dtype") is not None
    if home == "numpy" and not typed:
        if word == "float64":
            return _WIDE if number == FLOAT else ""
        if word in _WIDE_MADE:
            return _WIDE if number == FLOAT and len(value.args) <= _WIDE_MADE[word] else ""
        if word in _WIDE_COUNTED:
            return _WIDE if number == INT else ""
        if word in {"array", "asarray"} and len(value.args) == 1:
            return _WIDE if _kind(context, value.args[0], scope, number, depth + 1) else ""
        if word in _ALIKE and number == FLOAT:
            parts = [_kind(context, one, scope, number, depth + 1) for one in value.args]
            return _WIDE if _WIDE in parts else ""
    if not name and isinstance(value.callee, Attr) and value.callee.name in _METHODS and not typed:
        return _WIDE if _kind(context, value.callee.base, scope, number, depth + 1) == _WIDE else ""
    return ""


def _operation(context: Context, node: ast.AST, scope: Scope, number: int, depth: int) -> str:
    """Return of what kind the result of an operation is: 64 bits win, and a number of Python gives way."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _part(context, node.operand, scope, number, depth)
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Mod | ast.MatMult):
        return ""
    parts = [_part(context, side, scope, number, depth) for side in (node.left, node.right)]
    if number == INT and isinstance(node.op, ast.Div | ast.Pow):
        return ""
    if _WIDE in parts and number == FLOAT:
        return _WIDE
    return parts[0] if parts[0] == parts[1] else ""


def _part(context: Context, node: ast.expr, scope: Scope, number: int, depth: int) -> str:
    value = scope.module.values.get(node)
    if value is None or (isinstance(value, Unknown) and value.node is node):
        if isinstance(node, ast.Constant):
            return _kind(context, Const(node.value), scope, number, depth + 1)
        return _operation(context, node, scope, number, depth + 1) if depth < _DEPTH else ""
    return _kind(context, value, scope, number, depth + 1)


_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np


def count(x):
    return int(np.sum(np.asarray(x) > 0))


@jax.jit
def positive(x):
    return jax.pure_callback(count, jax.ShapeDtypeStruct((), jnp.float32), x)
"""

RULE = lint_rule(
    "NNX675",
    "callback-result",
    "a function on the host that gives another type or other axes than the callback declares",
    why="""\
Compiled code goes on with what `jax.pure_callback` and `io_callback` are told that the function on the host gives. What
it gives is compared with that when it runs: integers for floats, an array of another shape, nothing at all, or with
`jax_enable_x64` numbers of 64 bits for ones of 32 are a RuntimeError. Without it a result that is declared as one of 64
bits is a ValueError; what the function gives is then narrowed.
""",
    source="jax pull request 20534; measured on JAX 0.6.2, 0.7.2 and 0.10.2: RuntimeError and ValueError",
    severity="error",
    check=_check,
    bad=(
        _BAD,
        """\
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def area(upper):
    grid = np.linspace(0.0, float(upper), 101)
    return np.trapezoid(grid**2, grid)


@jax.jit
def integral(upper):
    return jax.pure_callback(area, jax.ShapeDtypeStruct((), jnp.float32), upper)
""",
    ),
    clean=(
        _BAD.replace("jnp.float32", "jnp.int32"),
        """\
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def area(upper):
    grid = np.linspace(0.0, float(upper), 101)
    return np.float32(np.trapezoid(grid**2, grid))


@jax.jit
def integral(upper):
    return jax.pure_callback(area, jax.ShapeDtypeStruct((), jnp.float32), upper)
""",
    ),
)
