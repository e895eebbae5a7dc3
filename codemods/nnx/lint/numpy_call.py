"""NNX810: functions of numpy and math on traced arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell_name
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.host_objects import host_object
from codemods.nnx.lint.left_out_objects import of_left_out_object
from codemods.nnx.lint.names import NUMPY_ALLOWED, STATIC_RESULTS, last
from codemods.nnx.lint.places import (
    callers_of,
    differentiated_calls,
    fix,
    in_test,
    is_test,
    resolved,
    traced_bodies,
    traced_calls,
)
from codemods.nnx.lint.scheduled import counts, of_count, schedules
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Loop, Mapping, Param, Ref, Value

_SAME = frozenset(
    {"exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "abs", "absolute", "dot", "matmul", "where", "maximum",
     "minimum",
     "concatenate", "stack", "asarray", "array", "zeros_like", "ones_like", "full_like", "power", "square", "sign",
     "floor", "ceil", "exp2", "log2", "log10", "log1p", "expm1", "outer", "vstack", "hstack", "isnan", "isfinite",
     "isinf", "sinh", "cosh", "arctan", "arctan2", "arcsin", "arccos", "einsum", "tensordot", "multiply", "divide",
     "add",
     "subtract", "mod", "logical_and", "logical_or", "logical_not", "median", "percentile", "quantile", "roll", "tile",
     "pad", "split", "linspace", "interp", "cross", "kron", "inner", "vdot", "triu", "tril", "diag", "flip"}
)  # fmt: skip


_HOST = ("math.", "scipy.special.", "scipy.linalg.", "scipy.interpolate.", "scipy.signal.", "scipy.ndimage.",
         "scipy.stats.", "scipy.integrate.", "scipy.optimize.", "scipy.spatial.", "scipy.fft.", "sklearn.")  # fmt: skip
# classes that only hold what they are given, as OptimizeResult, RootResults and Bunch do
_RECORDS = ("Result", "Results", "Bunch")
_MAKING = frozenset(
    {"array", "asarray", "zeros", "ones", "full", "arange", "linspace", "eye", "load", "loadtxt", "stack",
     "concatenate", "logspace", "geomspace", "empty", "identity"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _tables(context)
    yield from _buffers(context)
    objects = any(module.source.mentions(b"scipy") for module in context.project.modules)
    for event, name in (*traced_calls(context, level=0), *differentiated_calls(context)):
        made = host_object(context, event) if not name and objects else ""
        name = name or made
        numpy = name.startswith("numpy.") and not name.startswith(("numpy.random.", "numpy.typing."))
        if not (numpy or name.startswith(_HOST)) or (numpy and last(name) in NUMPY_ALLOWED):
            continue
        if last(name).endswith(_RECORDS):
            continue
        if context.bodies.guarded(event.node, event.scope) or context.bodies.untraced(event.node, event.scope):
            continue
        if numpy and (_exchanged(event.scope) or _on_host(context, event.scope) or _for_numpy(context, event)):
            continue
        if _converted_before(context, event):
            continue
        arguments = [*event.node.args, *(k.value for k in event.node.keywords)]
        if any(context.taint.node_holds(argument, event.scope) for argument in arguments):
            if of_left_out_object(context, event.scope) or _replaced(context, event.scope.function):
                continue
            if _by_tests_alone(context, event.scope.function):
                continue
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{'what ' if made else ''}`{name}` {'made ' if made else ''}needs a value, and there is only a tracer",
                "use jax.scipy, or jax.pure_callback" if name.startswith("scipy.") else "use jax.numpy",
                _fix(context, event, name) if not name.startswith("scipy.") else None,
            )
    for function, count in schedules(context):
        if function not in context.traced:
            yield from _in_schedule(context, function, of_count(context, function, count))


def _in_schedule(context: Context, function: FunctionFacts, names: frozenset[str]) -> Iterator[Finding]:
    """Yield the functions of math or NumPy that a schedule gives the count, which is traced in a compiled step."""
    for event in context.bodies.calls.get(function.scope, ()):
        name = context.flow.calls.name(event)
        if not name.startswith(("math.", "numpy.")) or (name.startswith("numpy.") and last(name) in NUMPY_ALLOWED):
            continue
        if any(counts(one, names) for one in event.node.args) and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"optax gives a schedule the count of updates, which a compiled step traces: `{name}` needs a value",
                "use jax.numpy",
            )


def _replaced(context: Context, function: FunctionFacts | None) -> bool:
    """Say whether another function of the name stands between a function and all the traced code that calls it."""
    parent = function.scope.parent if function is not None else None
    tracing = context.traced.get(function)
    if function is None or parent is None or function.owner is not None or tracing is None or tracing.roots:
        return False
    paths = context.bodies.paths(parent)
    lines = [
        n.lineno
        for n in context.bodies.nodes(parent)
        if isinstance(n, ast.FunctionDef) and n.name == function.name and not paths.get(n)
    ]
    later = [line for line in lines if line > function.node.lineno]
    callers = [one for one in context.flow.sites.callers(function) if one.scope.function in context.traced]
    return bool(later and callers) and all(one.node.lineno > min(later) for one in callers)


def _by_tests_alone(context: Context, function: FunctionFacts | None) -> bool:
    """Say whether only tests trace a function of another file: they would fail if it did not work there."""
    if function is None or is_test(function.scope.module):
        return False
    pending, seen, roots = [function], {function}, list[Root]()
    while pending:
        tracing = context.traced.get(pending.pop())
        if tracing is not None:
            roots += tracing.roots
            above = {way.by for way in tracing.ways} - seen
            seen |= above
            pending += above
    return bool(roots) and all(is_test(root.scope.module) for root in roots)


def _exchanged(scope: Scope) -> bool:
    """Say whether a file asks which module its NumPy is: another puts jax.numpy in its place, for what is traced."""
    source = scope.module.source
    return source.mentions(b".__name__") and source.matches(_ASKED)


_ASKED = pattern(rb"\b(np|numpy|xp|onp)\.__name__")


def _for_numpy(context: Context, event: CallEvent, depth: int = 0) -> bool:
    """Say whether a call stands where something is an array of NumPy, or the backend is NumPy, as where traced
    code calls its function: callers that trace give no such thing."""
    node: ast.AST = event.node
    scope: Scope | None = event.scope
    while scope is not None:
        for block, arm in context.bodies.paths(scope).get(node, ()):
            test = block.test if isinstance(block, ast.If) and arm == "body" else None
            if isinstance(test, ast.Call) and last_word(test.func) == "isinstance" and len(test.args) == 2:
                kind = scope.module.values.get(test.args[1])
                found = context.flow.resolve(context.flow.here(kind, scope)).value if kind is not None else None
                if isinstance(found, Ref) and found.name == "numpy.ndarray":
                    return True
            if isinstance(block, ast.If) and _numpy_arm(block.test) == arm:
                return True
        node, scope = scope.node, scope.parent
    function = event.scope.function
    callers = callers_of(context, function) if function is not None and depth == 0 else []
    tracing = [caller for caller in callers if caller.scope.function in context.traced]
    return bool(tracing) and all(_for_numpy(context, caller, 1) for caller in tracing)


def _converted_before(context: Context, event: CallEvent) -> bool:
    """Say whether a call is reached only after a function has tried to convert its arguments, and said that it can."""
    for block, arm in context.bodies.paths(event.scope).get(event.node, ()):
        if not isinstance(block, ast.If) or arm != "body":
            continue
        test = block.test
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        asked: set[str] = set()
        certain = False
        for part in parts:
            turned = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
            call = part.operand if isinstance(part, ast.UnaryOp) else part
            if isinstance(call, ast.Call) and _tries(context, call, event.scope):
                asked |= {one.id for one in call.args if isinstance(one, ast.Name)}
                certain |= not turned
        if certain and names_in(event.node) & asked:
            return True
    return False


def _tries(context: Context, call: ast.Call, scope: Scope) -> bool:
    """Say whether a function of the project tries a function of numpy on its argument, and says no if that fails."""
    value = scope.module.values.get(call)
    if not isinstance(value, Call):
        return False
    functions = {callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))}
    return bool(functions) and all(
        any(isinstance(n, ast.Try) and _refuses(context, n, one) for n in context.bodies.nodes(one.scope))
        for one in functions
    )


def _refuses(context: Context, block: ast.Try, function: FunctionFacts) -> bool:
    """Say whether a ``try`` converts by numpy, and its function returns False after errors, or asks for scalars."""
    inside = {n for statement in block.body for n in ast.walk(statement)}
    converts = any(
        event.node in inside
        and context.flow.calls.name(event) in {"numpy.asarray", "numpy.array"}
        and any(isinstance(value, Param) for value in event.value.args)
        for event in context.bodies.calls.get(function.scope, ())
    )
    if not converts or not block.handlers:
        return False
    for handler in block.handlers:
        last_one = handler.body[-1]
        given = last_one.value if isinstance(last_one, ast.Return) else None
        no = isinstance(given, ast.Constant) and given.value is False
        if not no and not (isinstance(given, ast.Call) and last_word(given.func) == "isscalar"):
            return False
    return True


def _numpy_arm(test: ast.expr) -> str:
    """Return the arm of a test that runs where NumPy is the backend: the second of ``if backend == "jax"``, or of
    ``if HAS_JAX``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return "body" if _numpy_arm(test.operand) == "orelse" else ""
    if isinstance(test, ast.Name):
        return "orelse" if test.id.lower().strip("_") in _AVAILABLE else ""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        other = test.comparators[0]
        if isinstance(other, ast.Constant):
            return {"numpy": "body", "np": "body", "jax": "orelse"}.get(str(other.value), "")
    return ""


_AVAILABLE = frozenset({"has_jax", "have_jax", "jax_available", "use_jax", "using_jax"})


def _on_host(context: Context, scope: Scope, depth: int = 0) -> bool:
    """Say whether a body runs an environment of Gymnasium, which nothing traces, or is called in such bodies only."""
    for event in context.bodies.calls.get(scope, ()):
        func = event.node.func
        if not isinstance(func, ast.Attribute) or not isinstance(event.statement, ast.Assign):
            continue
        target = event.statement.targets[0]
        parts = len(target.elts) if isinstance(target, ast.Tuple) and event.statement.value is event.node else 0
        words = [k.arg for k in event.node.keywords]
        if func.attr == "step" and parts == 5 and len(event.node.args) == 1 and not words:
            return True
        if func.attr == "reset" and parts == 2 and not event.node.args and "seed" in words:
            return True
    callers = callers_of(context, scope.function) if scope.function is not None and depth == 0 else []
    return bool(callers) and all(_on_host(context, caller.scope, 1) for caller in callers)


def _tables(context: Context) -> Iterator[Finding]:
    """Yield the arrays of numpy that have a traced value for an index."""
    for function, _ in traced_bodies(context, 0):
        scope = function.scope
        for node in context.bodies.nodes(scope):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or in_test(scope):
                continue
            parts = elements(node.slice)
            if not isinstance(node.value, ast.Name | ast.Attribute) or context.bodies.guarded(node, scope):
                continue
            found = resolved(context, node.value, scope)
            if found is None or not (isinstance(found.value, Mapping) or _by_numpy(context, found)):
                continue
            traced = any(context.taint.node(part, scope) for part in parts)  # a tree is no index either
            if not traced:
                continue
            if any(context.taint.array(part, scope) for part in parts) and _from_dict(context, node.value, scope):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{ast.unparse(node.value)}` is a dict, which takes no tracer for a key",
                    "make an array of its values, and index that",
                )
            elif _from_numpy(context, node.value, scope):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{ast.unparse(node.value)}` is an array of numpy, which takes no tracer for an index",
                    "make it an array of JAX: jnp.asarray(...)",
                )


def _buffers(context: Context) -> Iterator[Finding]:
    """Yield the items of arrays of numpy that get a traced value, or have a traced index."""
    if not any(module.source.mentions(b"numpy") for module in context.asked.modules):
        return
    differentiated = context.traced.differentiated
    for function in dict.fromkeys((*(f for f, _ in traced_bodies(context, 0)), *differentiated)):
        scope = function.scope
        if scope.module not in context.asked or in_test(scope):
            continue
        for node in context.bodies.nodes(scope):
            if not isinstance(node, ast.Assign | ast.AugAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name | ast.Attribute):
                    continue
                if not _buffer(context, target.value, scope) or context.bodies.guarded(node, scope):
                    continue
                if context.bodies.untraced(node.value, scope):
                    continue
                parts = elements(target.slice)
                if any(context.taint.node(part, scope) for part in (node.value, *parts)):  # nor a tree
                    text = ast.unparse(target.value)
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"`{text}` is an array of numpy, which cannot hold traced values",
                        f"make it with jax.numpy, and write {text} = {text}.at[index].set(value)",
                    )


def _buffer(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an array of numbers that numpy made, and items of it were set since at most."""
    value = _made(scope.module.values.get(node))
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, scope))
    call = found.value
    if not isinstance(call, Call) or not _by_numpy(context, found) or context.taint.holds(call, scope):
        return False
    place = 2 if last(context.flow.calls.callee_name(found)) == "full" else 1
    dtype = call.argument(place, "dtype")
    text = getattr(dtype, "name", None) or getattr(dtype, "value", None)
    return text != "object" and not str(text).endswith((".object", ".object_"))


def _made(value: Value | None) -> Value | None:
    """Return the one value that items were set of, on whatever way through loops and branches."""
    made: dict[Value, None] = {}
    seen: set[Value] = set()
    queue = [value]
    while queue:
        one = queue.pop()
        if one is None or one in seen:
            continue
        seen.add(one)
        if isinstance(one, Changed):
            queue.append(one.before)
        elif isinstance(one, Loop):
            queue += [one.before, one.again]
        elif isinstance(one, Choice):
            queue += one.options
        else:
            made[one] = None
    return next(iter(made)) if len(made) == 1 else None


def _from_dict(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a dict with numbers for keys."""
    found = resolved(context, node, scope)
    if found is None or not isinstance(found.value, Mapping) or not found.value.items:
        return False
    return all(isinstance(key, Const) and isinstance(key.value, int) for key, _ in found.value.items)


def _from_numpy(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what a function of numpy gave, known while compiling."""
    found = resolved(context, node, scope)
    return found is not None and _by_numpy(context, found) and not context.taint.node_holds(node, scope)


def _by_numpy(context: Context, found: Bound) -> bool:
    """Say whether a value is an array that a function of numpy, or a method of its generators, gave."""
    if not isinstance(found.value, Call) or found.value.starred:
        return False
    name = context.flow.calls.callee_name(found)
    if not name and isinstance(found.value.callee, Attr):
        return _sampled(context, found, found.value.callee)
    if name in {f"numpy.random.{word}" for word in _SAMPLING}:
        return bool(found.value.args)
    made = name.startswith("numpy.") and not name.startswith("numpy.typing.") and name not in STATIC_RESULTS
    return made and last(name) in _MAKING


def _sampled(context: Context, found: Bound, method: Attr) -> bool:
    """Say whether a method of a generator of numpy made an array, or one of an array made by numpy made another."""
    base = context.flow.follow(found, method.base)
    if not isinstance(base.value, Call) or not isinstance(found.value, Call):
        return False
    name = context.flow.calls.callee_name(base)
    if name in {"numpy.random.default_rng", "numpy.random.RandomState"}:
        return method.name in _SAMPLING and bool(found.value.args or found.value.keywords)
    if method.name not in {"astype", "reshape", "copy"}:
        return False
    if isinstance(base.value.callee, Attr) and not name:
        return _sampled(context, base, base.value.callee)
    return name.startswith("numpy.") and last(name) in _MAKING


_SAMPLING = frozenset({"normal", "uniform", "integers", "randint", "rand", "randn", "random", "standard_normal",
                       "permutation", "choice"})  # fmt: skip


def _fix(context: Context, event: CallEvent, name: str) -> Fix | None:
    if name not in {f"numpy.{one}" for one in _SAME} and name not in {f"math.{one}" for one in _SAME}:
        return None
    spelling = spell_name(context.flow, event.scope, f"jax.numpy.{last(name)}")
    if spelling is None or spelling.edits:
        return None
    return fix(event.scope, event.node.func, spelling.text)


RULE = lint_rule(
    "NNX810",
    "numpy-on-tracer",
    "numpy or math function of a traced value",
    why="""\
`np.exp(x)` and `math.exp(x)` convert x to a number, which raises TracerArrayConversionError while tracing. `np.sum`,
`np.reshape` and others that only call a method of the array work and are not reported.
""",
    source='JAX tutorial, section "NumPy vs JAX"; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def grown(x):
    return np.exp(x) + jnp.ones(np.prod(x.shape)).sum()
""",
            """\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def grown(x):
    return jnp.exp(x) + jnp.ones(np.prod(x.shape)).sum()
""",
        ),
    ),
    safety=Safety.SAFE,
)
