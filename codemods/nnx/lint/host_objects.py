"""Calls of what SciPy made before, such as a spline or a frozen distribution; part of NNX810."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import last
from codemods.nnx.values import Attr, Call

_CURVES = frozenset(
    f"scipy.interpolate.{word}"
    for word in ("CubicSpline", "interp1d", "PchipInterpolator", "Akima1DInterpolator", "UnivariateSpline",
                 "InterpolatedUnivariateSpline", "LSQUnivariateSpline", "BSpline", "PPoly", "make_interp_spline",
                 "make_smoothing_spline", "make_lsq_spline", "CubicHermiteSpline", "BarycentricInterpolator",
                 "KroghInterpolator", "RegularGridInterpolator", "LinearNDInterpolator", "NearestNDInterpolator",
                 "CloughTocher2DInterpolator", "RBFInterpolator", "RectBivariateSpline", "SmoothBivariateSpline")
)  # fmt: skip
_DENSITIES = frozenset({"pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf"})
_TURNED = frozenset({"derivative", "antiderivative"})  # methods of a curve that give another one


def host_object(context: Context, event: CallEvent) -> str:
    """Return the name of what made the object that a call evaluates; empty if that is none of SciPy's.

    Args:
        context: the analysis.
        event: a call that is none of a function with a name.
    """
    callee = context.flow.here(event.value.callee, event.scope)
    made = {_curve(context, one) for one in context.sources.originals(callee)}
    if not made or "" in made:
        method = event.value.callee
        if not isinstance(method, Attr) or method.name not in _DENSITIES | {"ev"}:
            return ""
        owners = context.sources.originals(context.flow.with_value(callee, method.base))
        made = {_owner(context, one, method.name) for one in owners}
    return min(made) if made and "" not in made else ""


def _curve(context: Context, found: Bound, depth: int = 0) -> str:
    """Return the name of the class of a curve, also of its derivative."""
    if not isinstance(found.value, Call) or depth > 1:
        return ""
    name = context.flow.calls.callee_name(found)
    if name in _CURVES:
        return name
    callee = found.value.callee
    if name or not isinstance(callee, Attr) or callee.name not in _TURNED:
        return ""
    made = {
        _curve(context, one, depth + 1)
        for one in context.sources.originals(context.flow.with_value(found, callee.base))
    }
    return min(made) if made and "" not in made else ""


def _owner(context: Context, found: Bound, method: str) -> str:
    """Return the name of what made the object whose method is called."""
    name = context.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
    if method == "ev":
        return name if name in _CURVES else ""
    return name if name.startswith("scipy.stats.") and last(name)[:1].islower() else ""
