"""Which streams the filter of a split takes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Function, Ref, Sequence

SCALAR_ONLY = "lambda path, x: x.shape == ()"

_ALL = frozenset({"flax.nnx.RngState", "flax.nnx.RngKey", "flax.nnx.Variable", "flax.nnx.Everything"})


def covers(flow: Flow, only: Bound | None, stream: str | None) -> bool | None:
    """Say whether a filter takes the stream of that name; None if that cannot be told."""
    if only is None:
        return True
    bound = flow.resolve(only)
    value = bound.value
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return None if stream is None or value.value == "default" else value.value == stream
        return True if value.value is Ellipsis or value.value is True else False if value.value is None else None
    if isinstance(value, Ref):
        return True if value.name in _ALL else None
    if isinstance(value, Sequence):
        return _any(covers(flow, flow.with_value(bound, item), stream) for item in value.items)
    if isinstance(value, Call) and flow.calls.callee_name(bound) == "flax.nnx.Any":
        return _any(covers(flow, flow.with_value(bound, item), stream) for item in value.args)
    return True if scalar_only(only) else None


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    found = set(verdicts)
    return True if True in found else None if None in found else False


def scalar_only(only: Bound) -> bool:
    """Say whether a filter takes scalar streams only: ``lambda path, x: x.shape == ()``, alone or in ``nnx.All``."""
    value = only.value
    if isinstance(value, Call):
        return any(scalar_only(Bound(argument, only.frame)) for argument in value.args)
    if not isinstance(value, Function):
        return False
    node = value.facts.node
    tests = [n for n in ast.walk(node) if isinstance(n, ast.Compare)]
    return any(ast.unparse(test).endswith((".shape == ()", ".ndim == 0")) for test in tests)
