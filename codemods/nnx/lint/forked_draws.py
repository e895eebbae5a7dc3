"""NNX537: worker processes that are forked and all draw the same numbers from a generator of NumPy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, resolved, shown
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Attr, Call, Free

_POOLS = frozenset({"multiprocessing.Pool", "multiprocessing.pool.Pool", "concurrent.futures.ProcessPoolExecutor",
                    "concurrent.futures.process.ProcessPoolExecutor"})  # fmt: skip
_GIVING = ("map", "submit", "imap", "imap_unordered", "starmap", "starmap_async", "apply_async", "map_async")
_DRAWS = frozenset({"normal", "uniform", "randint", "rand", "randn", "random", "random_sample", "choice", "permutation",
                    "shuffle", "standard_normal", "binomial", "poisson", "beta", "exponential",
                    "integers"})  # fmt: skip
_PROCESSES = frozenset({"multiprocessing.Process", "multiprocessing.context.Process"})
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
# what makes workers in another way than by fork, or gives each of them a seed of its own
_OTHERWISE = (b"spawn", b"forkserver", b"register_at_fork")
_SEEDING = ("seed", "default_rng", "RandomState", "SeedSequence", "Generator", "set_state", "urandom", "getpid",
            "seed_everything", "set_seed", "spawn")  # fmt: skip
_DEPTH = 3


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if not any(b"multiprocessing" in data or b"ProcessPool" in data for data in sources):
        return
    if any(word in data for data in sources for word in _OTHERWISE):
        return
    told: set[ast.AST] = set()
    for event, given, home in (*_pooled(context), *_processes(context)):
        value = home.module.values.get(given)
        if value is None or in_test(event.scope) or event.scope.module not in context.asked:
            continue
        callees = context.flow.calls.callables(context.flow.here(value, home))
        worker = callees[0].function if len(callees) == 1 else None
        if worker is None or _seeds(context, worker, 0):
            continue
        draw = _draws(context, worker, 0)
        if draw is None or draw[1] in told:
            continue
        told.add(draw[1])
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{shown(worker)} runs in processes that are forked, each with a copy of one generator: all of them draw "
            "the same numbers",
            "give every task a seed of its own, as by np.random.SeedSequence(seed).spawn(n), and make the generator in "
            "the worker",
            related=[(draw[1], "drawn here")] if draw[0].module is event.scope.module else [],
        )


def _pooled(context: Context) -> Iterator[tuple[CallEvent, ast.expr, Scope]]:
    """Yield the calls that give tasks to the processes of a pool, each with the function."""
    for event in context.bodies.named(*_GIVING):
        func = event.node.func
        if not isinstance(func, ast.Attribute) or not event.node.args or event.value.starred:
            continue
        made = resolved(context, func.value, event.scope)
        if made is None or not isinstance(made.value, Call) or not _of_multiprocessing(context, made, _POOLS):
            continue
        call = made.value
        number = argument(call.node, 0, "processes") or argument(call.node, 0, "max_workers")
        if call.keyword("initializer") is not None or len(call.args) > 1 or constant(number) == 1:
            continue
        if func.attr in {"submit", "apply_async"} and not event.loops:
            continue
        yield event, event.node.args[0], event.scope


def _processes(context: Context) -> Iterator[tuple[CallEvent, ast.expr, Scope]]:
    """Yield the calls in loops that make a process, each with the function."""
    for event in context.bodies.named("Process"):
        target = argument(event.node, 1, "target")
        if target is not None and event.loops and not event.value.starred:
            made = context.flow.here(event.value, event.scope)
            if _of_multiprocessing(context, made, _PROCESSES):
                yield event, target, event.scope


def _of_multiprocessing(context: Context, made: Bound, names: frozenset[str]) -> bool:
    """Say whether a value is made by one of some functions, or by one of their names of ``get_context("fork")``."""
    name = context.flow.calls.callee_name(made)
    if name:
        return name in names
    callee = made.value.callee if isinstance(made.value, Call) else None
    if not isinstance(callee, Attr) or callee.name not in set(map(last, names)):
        return False
    base = context.flow.follow(made, callee.base)
    if not isinstance(base.value, Call) or context.flow.calls.callee_name(base) != "multiprocessing.get_context":
        return False
    return all(constant(one) in {"fork", None} for one in base.value.node.args)


def _functions(context: Context, function: FunctionFacts) -> Iterator[FunctionFacts]:
    """Yield the functions of the project that a function calls."""
    for event in context.bodies.calls.get(function.scope, ()):
        if not context.flow.calls.name(event):
            callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
            if len(callees) == 1 and callees[0].function is not function:
                yield callees[0].function


def _seeds(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether a function, or one that it calls, makes a generator or seeds one."""
    words = {last(ast.unparse(event.node.func)) for event in context.bodies.calls.get(function.scope, ())}
    if words & set(_SEEDING):
        return True
    return depth < _DEPTH and any(_seeds(context, one, depth + 1) for one in _functions(context, function))


def _draws(context: Context, function: FunctionFacts, depth: int) -> tuple[Scope, ast.AST] | None:
    """Return where a function, or one that it calls, draws from the generator of NumPy or from one of a module."""
    for event in context.bodies.calls.get(function.scope, ()):
        name = context.flow.calls.name(event)
        func = event.node.func
        if name.startswith("numpy.random.") and last(name) in _DRAWS:
            return event.scope, event.node
        if not name and isinstance(func, ast.Attribute) and func.attr in _DRAWS:
            value = event.scope.module.values.get(func.value)
            if isinstance(value, Free) and value.scope.function is None:
                made = context.flow.resolve(context.flow.here(value, event.scope))
                if isinstance(made.value, Call) and context.flow.calls.callee_name(made) in _GENERATORS:
                    return event.scope, event.node
    for one in _functions(context, function) if depth < _DEPTH else ():
        if (found := _draws(context, one, depth + 1)) is not None:
            return found
    return None


_BAD = """\
from multiprocessing import Pool

import jax.numpy as jnp
import numpy as np


def augmented(image):
    return image + np.random.normal(size=image.shape)


def batch(images):
    with Pool(4) as pool:
        return jnp.asarray(pool.map(augmented, images))
"""

RULE = lint_rule(
    "NNX537",
    "forked-draws",
    "worker processes that are forked and draw from a generator which all of them have a copy of",
    why="""\
A process that is forked, as those of `multiprocessing` are on Linux before Python 3.14, begins with a copy of the
memory: with the generator of `np.random`, or one of a module, in the same state. All workers then draw the same noise,
the same crops and the same order. (Python's own `random` is seeded anew in each process.)
""",
    source="NumPy issue 9650 and documentation of np.random.SeedSequence.spawn; measured: 50 different images of 200",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("np.random.normal", "np.random.default_rng(image.size).normal"),
        _BAD.replace("Pool(4)", "Pool(4, initializer=np.random.seed)"),
        _BAD.replace("from multiprocessing import Pool", "from multiprocessing.pool import ThreadPool as Pool"),
    ),
)
