"""NNX827: a module as a static argument."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.fresh import always_new
from codemods.nnx.lint.places import NNX_OBJECTS, compiled_roots, kinds_of, shown
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.lint.unchanging import only_asked, put_in, refilled, set_once, weightless
from codemods.nnx.values import Param


def _check(context: Context) -> Iterator[Finding]:
    static: dict[FunctionFacts, frozenset[str]] = {}
    for root in compiled_roots(context):
        options = root.options
        if options is None or root.scope.module not in context.asked:
            continue
        if len(root.static) == len(root.function.params) or root.bound:
            continue
        if not any(keyword(options, word) is not None for word in ("static_argnums", "static_argnames")):
            continue
        for name in sorted(root.static):
            param = root.function.params.get(name)
            if param is not None and param is root.function.self_param and _fixed(context, root.function.owner):
                continue
            if param is not None and kinds_of(context, param, root.function.scope) & NNX_OBJECTS:
                if _without_weights(context, param) or always_new(context, param):
                    continue
                if refilled(context, root.function, name):
                    continue
                if put_in(root.function, name):
                    yield finding(
                        RULE.code,
                        root.scope,
                        root.node,
                        f"`{name}` is static, and {shown(root.function)} puts traced arrays into it: they stay in it "
                        "behind the call, and Flax 0.12 raises an error",
                        f"split it before, and merge it in the function: nnx.merge(graphdef, params) for `{name}`",
                    )
                    continue
                if not static:
                    static = {one.function: one.static for one in compiled_roots(context) if one.options is not None}
                if only_asked(context, root.function, name, static):
                    continue
                yield finding(
                    RULE.code,
                    root.scope,
                    root.node,
                    f"the object `{name}` is static: {shown(root.function)} goes on using the arrays of its first call",
                    f"use nnx.jit with `{name}` as an ordinary argument",
                )


def _without_weights(context: Context, param: Param) -> bool:
    """Say whether all objects that a parameter gets are modules which make nothing to be trained, as solvers do."""
    originals = context.sources.originals(context.flow.here(param, param.function.scope))
    classes = {context.flow.classes.class_of(one) for one in originals}
    return bool(classes) and all(
        cls is not None and set_once(context, cls) and weightless(context, cls) for cls in classes
    )


def _fixed(context: Context, cls: ClassFacts | None) -> bool:
    """Say whether objects of a class are no modules, and only their constructors give them anything."""
    if cls is None:
        return False
    return "flax.nnx.Pytree" in context.flow.classes.mro(cls)[1] and set_once(context, cls)


RULE = lint_rule(
    "NNX827",
    "static-object",
    "a module, optimizer or Rngs as a static argument",
    why="""\
Static arguments are constants of the compiled code. A module is hashed by identity, so that the compiled code keeps
the weights of the first call, whatever training does to the object.
""",
    source="JAX tutorial, section on static_argnums; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
from functools import partial

import jax
from flax import nnx


@partial(jax.jit, static_argnames=("model",))
def predict(model: nnx.Module, x):
    return model(x)
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.jit
def predict(model: nnx.Module, x):
    return model(x)
""",
    ),
)
