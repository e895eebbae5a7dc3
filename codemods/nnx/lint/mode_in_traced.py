"""NNX814: train() or eval() of an argument of a compiled function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.lint.traced import Root, original, root_param
from codemods.nnx.values import Param


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("train", "eval"):
        func = event.node.func
        if event.scope.function not in context.traced or not isinstance(func, ast.Attribute):
            continue
        if event.node.args or event.used:
            continue
        value = event.scope.module.values.get(func.value)
        param = root_param(value) if value is not None else None
        if value is None or param is None or param.function is not event.scope.function:
            continue
        kinds = kinds_of(context, value, event.scope)
        if Kind.MODULE not in kinds and (kinds or value is not param):
            continue
        root = next(iter(_roots(context, param)), None)
        if root is None or _set_anew(context, event, root):
            continue
        if func.attr == "train" and root.transform != "jax.jit" and not _turned_off(context):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the mode of `{event.scope.module.source.text(func.value)}` changes "
            + (
                "inside of the compiled function only"
                if root.transform == "jax.jit"
                else "outside of the compiled function too, and stays so"
            ),
            "set the mode where the function is called, or keep two views of the model",
        )


def _turned_off(context: Context) -> bool:
    """Say whether anything in the project leaves training mode, so that it matters who sets it again."""
    words = (b".eval(", b"deterministic", b"use_running_average", b"set_attributes", b"training")
    return any(word in module.source.data for module in context.project.modules for word in words)


def _set_anew(context: Context, event: CallEvent, root: Root) -> bool:
    """Say whether the mode that is left behind harms nobody: others set the opposite, or it is used inside only."""
    func = event.node.func
    assert isinstance(func, ast.Attribute)
    if root.transform == "jax.jit":
        text = ast.dump(func.value)
        return any(
            isinstance(node, ast.Call)
            and node is not event.node
            and text in {ast.dump(node.func), *(ast.dump(argument) for argument in node.args)}
            for node in context.bodies.nodes(event.scope)
        )
    opposite = "train" if func.attr == "eval" else "eval"
    return any(not other.used and not other.node.args for other in context.bodies.named(opposite))


def _roots(context: Context, param: Param, depth: int = 0) -> Iterator[Root]:
    """Yield the applications of ``jit`` that hand an argument to a parameter, through calls of other functions too."""
    tracing = context.traced.get(param.function)
    if tracing is None or depth > 3:
        return
    yield from (r for r in tracing.roots if r.transform in {"jax.jit", "flax.nnx.jit"} and param.name not in r.static)
    for frame in tracing.sites:
        own = param is param.function.self_param
        given = frame.receiver if own else context.flow.argument(frame, param.name)
        value = root_param(original(given).value) if given is not None else None
        if value is not None and value is not param:
            yield from _roots(context, value, depth + 1)


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
