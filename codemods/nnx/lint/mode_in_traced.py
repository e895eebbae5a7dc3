"""NNX814: train() or eval() of an argument of a compiled function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.values import Param


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("train", "eval"):
        func = event.node.func
        tracing = context.traced.get(event.scope.function)
        if tracing is None or not isinstance(func, ast.Attribute) or event.node.args or event.used:
            continue
        roots = [r for r in tracing.roots if r.transform in {"jax.jit", "flax.nnx.jit"}]
        param = event.scope.module.values.get(func.value)
        if not roots or not isinstance(param, Param) or param.function is not event.scope.function:
            continue
        kinds = kinds_of(context, param, event.scope)
        if kinds and Kind.MODULE not in kinds:
            continue
        lost = roots[0].transform == "jax.jit"
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the mode of `{param.name}` changes "
            + (
                "inside of the compiled function only" if lost else "outside of the compiled function too, and stays so"
            ),
            "set the mode where the function is called, or keep two views of the model",
        )


RULE = lint_rule(
    "NNX814",
    "mode-in-compiled",
    "model.train() or model.eval() inside a compiled function",
    why="""\
`nnx.jit` writes the mode back to the caller's object: after an evaluation step that calls `model.eval()` the model
stays in evaluation mode, and training goes on without dropout. Under `jax.jit` the change is dropped.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


@nnx.jit
def evaluate(model, x):
    model.eval()
    return model(x)
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.jit
def predict(model, x):
    return model(x)


def evaluate(model, x):
    model.eval()
    return predict(model, x)
""",
    ),
)
