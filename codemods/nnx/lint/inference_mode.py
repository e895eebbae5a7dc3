"""NNX815: inference that never says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.values import Param

_NAMES = ("predict", "eval", "test_step", "infer", "validate", "generate")


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if b".eval(" in module.source.data or b"deterministic" in module.source.data:
            continue
        for function in module.functions:
            if function.owner is not None or not function.name.startswith(_NAMES):
                continue
            for event in context.bodies.calls.get(function.scope, ()):
                callee = event.value.callee
                if isinstance(callee, Param) and isinstance(event.node.func, ast.Name):
                    if Kind.MODULE in kinds_of(context, callee, event.scope):
                        yield finding(
                            RULE.code,
                            event.scope,
                            event.node,
                            f"`{function.name}` runs the model in training mode",
                            "call model.eval() before, and model.train() after",
                        )
                        break


RULE = lint_rule(
    "NNX815",
    "inference-in-training-mode",
    "a function for inference calls a model, and nothing in the module sets evaluation mode",
    why="In training mode dropout is active, and batch statistics change with the data of the evaluation.",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


def predict(model: nnx.Module, x):
    return model(x)
""",
    ),
    clean=(
        """\
from flax import nnx


def predict(model: nnx.Module, x):
    model.eval()
    return model(x)
""",
    ),
    default=False,
)
