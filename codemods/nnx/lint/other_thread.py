"""NNX536: settings of JAX that a context makes, around work that other threads do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test, resolved, shown
from codemods.nnx.lint.syntax import argument, inside, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_MAKING = frozenset({"array", "asarray", "zeros", "ones", "full", "empty", "arange", "linspace", "eye", "key",
                     "PRNGKey", "normal", "uniform", "stack"})  # fmt: skip
_MULTIPLYING = frozenset({"dot", "matmul", "einsum", "tensordot", "vdot", "dot_general", "conv_general_dilated"})
#: What makes a setting for a block, and which calls feel it; None for all of JAX.
_CONTEXTS: dict[str, frozenset[str] | None] = {
    "jax.default_device": _MAKING,
    "jax.enable_x64": _MAKING,
    "jax.experimental.enable_x64": _MAKING,
    "jax.experimental.disable_x64": _MAKING,
    "jax.default_matmul_precision": _MULTIPLYING,
    "jax.disable_jit": None,
    "jax.debug_nans": None,
    "jax.debug_infs": None,
    "jax.checking_leaks": None,
    "jax.transfer_guard": None,
    "jax.numpy_rank_promotion": None,
    "jax.numpy_dtype_promotion": None,
    "jax.set_mesh": frozenset({"with_sharding_constraint", "shard_map", "reshard"}),
    "jax.sharding.set_mesh": frozenset({"with_sharding_constraint", "shard_map", "reshard"}),
    "jax.sharding.use_mesh": frozenset({"with_sharding_constraint", "shard_map", "reshard"}),
}
_WORDS = frozenset(map(last, _CONTEXTS))
_POOLS = frozenset({"concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor",
                    "multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool"})  # fmt: skip
_GIVING = frozenset({"map", "submit", "imap", "imap_unordered", "starmap", "apply", "apply_async", "map_async"})
_JAX = ("jax.numpy.", "jax.lax.", "jax.random.", "jax.nn.", "jax.image.", "jax.scipy.", "jax.device_put")
_DEPTH = 3


def _check(context: Context) -> Iterator[Finding]:
    if not any(
        module.source.mentions(b"Thread") or module.source.mentions(b"multiprocessing.dummy")
        for module in context.project.modules
    ):
        return
    for scope, block in each(context, ast.With):
        if in_test(scope):
            continue
        for item in block.items:
            name = _setting(context, item.context_expr, scope)
            if not name:
                continue
            for event in context.bodies.calls.get(scope, ()):
                body = any(inside(event.node, one) for one in block.body)
                worker = _worker(context, event) if body else None
                if worker is None or not _feels(context, worker, name, 0):
                    continue
                yield finding(
                    RULE.code,
                    scope,
                    event.node,
                    f"{shown(worker)} runs in another thread, and `{last(name)}` is a setting of this thread alone: it "
                    "has no effect there",
                    f"enter `{last(name)}` within {shown(worker)}, or set it for all threads by jax.config.update",
                    related=[(item.context_expr, "the setting")],
                )
                break


def _setting(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the full name of what makes a setting for a block; empty for other contexts."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in _WORDS or not (node.args or node.keywords):
        if not (isinstance(node, ast.Call) and last_word(node.func) in {"disable_jit", "checking_leaks"}):
            return ""
    if any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant) and n.slice.value == 0
           for n in ast.walk(node)):  # fmt: skip
        return ""  # the device that is the default without it
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if value is not None else ""
    return name if name in _CONTEXTS else ""


def _worker(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the function that a call hands to another thread."""
    func = event.node.func
    if not isinstance(func, ast.Attribute) or event.value.starred:
        return None
    made = resolved(context, func.value, event.scope)
    if made is not None and not isinstance(made.value, Call) and func.attr == "start":
        every = list(context.sources.originals(made))  # one of a list of threads
        made = every[0] if len(every) == 1 else None
    call = made.value if made is not None else None
    if made is None or not isinstance(call, Call):
        return None
    name = context.flow.calls.callee_name(made)
    given: ast.expr | None = None
    home: Scope | None = event.scope
    if func.attr in _GIVING and name in _POOLS and call.keyword("initializer") is None:
        given = event.node.args[0] if event.node.args else None
    elif func.attr == "start" and name == "threading.Thread":
        given, home = argument(call.node, 1, "target"), context.bodies.home(call.node)
    value = home.module.values.get(given) if given is not None and home is not None else None
    if value is None or home is None:
        return None
    callees = context.flow.calls.callables(context.flow.here(value, home))
    return callees[0].function if len(callees) == 1 else None


def _feels(context: Context, function: FunctionFacts, name: str, depth: int) -> bool:
    """Say whether a function, or one that it calls, does what a setting is for, and makes it nowhere itself."""
    source = function.scope.module.source
    start, end = source.span(function.node)
    if depth > _DEPTH or last(name).encode() in source.data[start:end]:
        return False
    words = _CONTEXTS[name]
    if words is _MULTIPLYING and any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult) for n in context.bodies.nodes(function.scope)
    ):
        return True
    for event in context.bodies.calls.get(function.scope, ()):
        called = context.flow.calls.name(event)
        placed = words is _MAKING and keyword(event.node, "device") is not None
        if called.startswith(_JAX) and not placed and (words is None or last(called) in words):
            return True
        if called:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
        if len(callees) == 1 and callees[0].function is not function:
            if _feels(context, callees[0].function, name, depth + 1):
                return True
    return False


_BAD = """\
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp


def prepared(image):
    return jnp.asarray(image) / 255


def every(images):
    with jax.default_device(jax.devices()[-1]):
        with ThreadPoolExecutor() as pool:
            return list(pool.map(prepared, images))
"""

RULE = lint_rule(
    "NNX536",
    "setting-of-other-thread",
    "a setting of JAX for a block, around work that other threads do",
    why="""\
`jax.default_device`, `jax.set_mesh`, `enable_x64`, `default_matmul_precision`, `disable_jit` and `debug_nans` hold, as
contexts, for the thread that enters them. What a pool of threads or a `threading.Thread` does meanwhile goes on with
the settings of the program: its arrays are on the first device, or have 32 bits, and nothing is said.
""",
    source="documentation of jax.default_device and of the configuration; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("pool.map(prepared, images)", "map(prepared, images)"),
        """\
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp


def prepared(image):
    with jax.default_device(jax.devices()[-1]):
        return jnp.asarray(image) / 255


def every(images):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(prepared, images))
""",
    ),
)
