"""NNX519: errors of NumPy's linear algebra that are awaited of JAX, which raises none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import ARRAY_METHODS, last
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import elements
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Ref

_LINEAR = frozenset(
    {"numpy.linalg.LinAlgError", "numpy.linalg.linalg.LinAlgError", "scipy.linalg.LinAlgError",
     "scipy.linalg.misc.LinAlgError"}
)  # fmt: skip
_ARITHMETIC = frozenset({"builtins.FloatingPointError", "builtins.ZeroDivisionError"})
_WORD = pattern(rb"LinAlgError|FloatingPointError|ZeroDivisionError", needs=(b"error",))
# with these JAX looks at all results, and raises FloatingPointError
_LOOKING = pattern(rb"debug_(nans|infs)|(?i:jax_debug)", needs=(b"debug",))
_SPACES = ("jax.numpy.", "jax.scipy.", "jax.lax.", "jax.nn.", "jax.random.")
_PLAIN = frozenset(
    f"builtins.{word}" for word in ("float", "int", "bool", "len", "range", "print", "min", "max", "isinstance", "str",
                                    "tuple", "list", "enumerate", "zip", "abs")
)  # fmt: skip
_COMPUTING = frozenset(
    {"cholesky", "inv", "solve", "eigh", "eigvalsh", "eig", "eigvals", "svd", "lstsq", "det", "slogdet", "pinv", "qr",
     "cho_factor", "cho_solve", "lu_factor", "lu_solve", "lu", "solve_triangular", "matrix_power", "matrix_rank",
     "cond", "sqrtm", "expm"}
)  # fmt: skip
_SOLVERS = ("jax.numpy.linalg.", "jax.scipy.linalg.")
_DIVIDING = ast.Div | ast.FloorDiv | ast.Mod | ast.Pow
_DEPTH = 3  # through how many functions calls are followed


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORD) for module in context.asked.modules):
        return
    looking = any(module.source.matches(_LOOKING) for module in context.project.modules)
    for scope, node in each(context, ast.Try):
        awaited = _awaited(context, scope, node)
        if not awaited or in_test(scope) or (looking and not awaited <= _LINEAR):
            continue
        found = _Body(context, divides=not awaited <= _LINEAR)
        events = [
            event
            for event in context.bodies.calls.get(scope, ())
            if any(inside(event.node, statement) for statement in node.body)
        ]
        if found.quiet([*node.body], events, 0) and found.solved:
            handler = node.handlers[0]
            yield finding(
                RULE.code,
                scope,
                handler.type or handler,
                f"`{found.solved}` of JAX raises no such error: where it fails it gives NaN or infinity, and what is "
                "written here is never run",
                "look at the result: if not jnp.all(jnp.isfinite(result)): ...",
            )


def _awaited(context: Context, scope: Scope, node: ast.Try) -> frozenset[str]:
    """Return the names of the errors that a statement awaits; none if others are among them."""
    found: set[str] = set()
    for handler in node.handlers:
        for one in elements(handler.type) if handler.type is not None else [None]:
            value = scope.module.values.get(one) if one is not None else None
            error = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
            found.add(error.name if isinstance(error, Ref) else "")
    return frozenset(found) if found <= _LINEAR | _ARITHMETIC else frozenset()


class _Body:
    """Goes through what runs in a ``try``, and finds out whether all of it is known to raise no error of numbers.

    Attributes:
        solved: the name of a function of linear algebra that runs there; empty if there is none.
    """

    def __init__(self, context: Context, divides: bool) -> None:
        self._context = context
        self._divides = divides
        self.solved = ""

    def quiet(self, nodes: list[ast.stmt], events: list[CallEvent], depth: int) -> bool:
        """Say whether statements raise no error of numbers.

        Args:
            nodes: the statements.
            events: all calls in them.
            depth: in how many functions they stand.
        """
        known = {event.node for event in events}
        own = self._context.bodies.own_methods
        named = {event.node.func for event in events if self._context.flow.calls.name(event)}
        for node in (part for one in nodes for part in ast.walk(one)):
            if isinstance(node, ast.Raise | ast.Assert | ast.Yield | ast.YieldFrom | ast.Await | ast.With | ast.Lambda):
                return False
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
                return False
            if isinstance(node, ast.Attribute) and node.attr in own and node not in named:
                return False  # perhaps a property
            if isinstance(node, ast.BinOp) and isinstance(node.op, _DIVIDING) and self._divides:
                return False
            if isinstance(node, ast.Call) and node not in known:
                return False
        return all(self._harmless(event, depth) for event in events)

    def _harmless(self, event: CallEvent, depth: int) -> bool:
        """Say whether a call is one of JAX, of a plain function of Python, or of a function that is harmless too."""
        context = self._context
        name = context.flow.calls.name(event)
        if name.startswith(_SPACES):
            if name.startswith(_SOLVERS) and last(name) in _COMPUTING:
                self.solved = last(name)
            return True
        if name:
            return name in _PLAIN
        invoked = context.flow.calls.invoked(Bound(event.value, context.flow.open_frame(event.scope)))
        if not invoked:
            func = event.node.func
            return isinstance(func, ast.Attribute) and func.attr in ARRAY_METHODS - context.bodies.own_methods
        for callee, _ in invoked:
            function = callee.function
            body = function.node.body
            if depth >= _DEPTH or function.owner is not None or not isinstance(body, list) or function.decorators:
                return False
            if not self.quiet(body, [*context.bodies.calls.get(function.scope, ())], depth + 1):
                return False
        return True


_BAD = """\
import jax.numpy as jnp
import numpy as np


def inverse(m):
    try:
        return jnp.linalg.inv(m)
    except np.linalg.LinAlgError:
        return jnp.linalg.pinv(m)


print(inverse(jnp.ones((2, 2))))
"""

RULE = lint_rule(
    "NNX519",
    "never-raised",
    "an error awaited of JAX's linear algebra, which raises none",
    why="""\
`np.linalg.cholesky` raises a LinAlgError for a matrix that is not positive definite, and `np.linalg.inv` for a singular
one. Functions of JAX cannot, since compiled code raises no errors: they give NaN or infinity. A fall-back in the
`except` never runs, and the numbers go on.
""",
    source="JAX documentation of linalg and sharp bits; measured on JAX 0.6.2 and 0.10.2: NaN, and no error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("return jnp.linalg.inv(m)", "return np.linalg.inv(m)"),),
)
