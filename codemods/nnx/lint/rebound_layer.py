"""NNX729: a layer that is replaced in the variable of a loop, and not in the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, resolved
from codemods.nnx.lint.rebound_weights import rebound_weights
from codemods.nnx.values import Call

_WALKS = frozenset({"flax.nnx.iter_modules", "flax.nnx.iter_children", "flax.nnx.iter_graph", "flax.nnx.to_flat_state"})
_METHODS = frozenset({"iter_modules", "iter_children", "flat_state"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, loop in each(context, ast.For):
        source = scope.module.source
        walks = (source.mentions(b"iter_") or source.mentions(b"flat_state")) and _walks(context, loop)
        if not walks and not _of_layers(loop, scope):
            continue
        names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        for node in ast.walk(loop):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name = node.targets[0].id
            if not walks and (not _layer(context, node.value, scope) or _read_behind(context, loop, name, scope)):
                continue
            if name in names and not _read_later(loop, node, name):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"this changes the variable `{name}` of the loop, and nothing in the model",
                    "set the attribute of what holds it: setattr(parent, name, layer), or variable[...] = array",
                )
    for scope, statement, name in rebound_weights(context):
        yield finding(
            RULE.code,
            scope,
            statement,
            f"this changes the variable `{name}` of the loop: what the loop goes through keeps the old arrays",
            "make the weights anew: params = jax.tree.map(lambda p, g: p - rate * g, params, grads)",
        )


def _walks(context: Context, loop: ast.For) -> bool:
    """Say whether a loop goes through the modules or Variables of a model."""
    iterated = loop.iter
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id in {"list", "tuple"}:
        iterated = iterated.args[0] if iterated.args else iterated
    if not isinstance(iterated, ast.Call):
        return False
    if isinstance(iterated.func, ast.Attribute) and iterated.func.attr in _METHODS:
        return True
    event = next((e for e in context.bodies.named("iter_modules", "iter_children", "iter_graph", "to_flat_state")
                  if e.node is iterated), None)  # fmt: skip
    return event is not None and context.flow.calls.name(event) in _WALKS


def _of_layers(loop: ast.For, scope: Scope) -> bool:
    """Say whether a loop goes through what an attribute of the method's object holds."""
    own = scope.function.self_param if scope.function is not None else None
    if own is None or not isinstance(loop.iter, ast.Attribute) or not isinstance(loop.target, ast.Name):
        return False
    return isinstance(loop.iter.value, ast.Name) and loop.iter.value.id == own.name


def _layer(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression makes a layer of NNX."""
    made = resolved(context, node, scope)
    if made is None or not isinstance(made.value, Call):
        return False
    home, _, word = context.flow.calls.callee_name(made).rpartition(".")
    return home == "flax.nnx" and word[:1].isupper() and made.value.keyword("rngs") is not None


def _read_behind(context: Context, loop: ast.For, name: str, scope: Scope) -> bool:
    """Say whether a variable is read behind a loop."""
    end = loop.end_lineno or loop.lineno
    return any(n.lineno > end for n in context.bodies.reads(scope, name))


def _read_later(loop: ast.For, assigned: ast.Assign, name: str) -> bool:
    """Say whether a round of a loop reads a variable after it was assigned."""
    end = assigned.end_lineno or assigned.lineno
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > end
        for n in ast.walk(loop)
    )


RULE = lint_rule(
    "NNX729",
    "rebound-layer",
    "a layer or weight is replaced in the variable of a loop, and not in the model",
    why="""\
`for path, module in nnx.iter_modules(model)` gives each module a name; `module = nnx.LoRA(...)` gives the name to
another object, and the model keeps its layer. What holds the layer has to be told: `setattr(parent, name, layer)`. An
array is put into a Variable by `variable[...] = array`. So it is with a list of weights: `p -= rate * grad` in a loop
changes arrays of NumPy, but no array of JAX.
""",
    source="Flax guide on model surgery; measured on Flax 0.10.7 and 0.12.8: the model stays as it was",
    check=_check,
    bad=(
        """\
from flax import nnx


def with_adapters(model: nnx.Module, rngs: nnx.Rngs):
    for path, module in nnx.iter_modules(model):
        if isinstance(module, nnx.Linear):
            module = nnx.LoRALinear(module.in_features, module.out_features, lora_rank=4, rngs=rngs)
    return model
""",
    ),
    clean=(
        """\
from flax import nnx


def with_adapters(model: nnx.Module, rngs: nnx.Rngs):
    for name, module in list(vars(model).items()):
        if isinstance(module, nnx.Linear):
            setattr(model, name, nnx.LoRALinear(module.in_features, module.out_features, lora_rank=4, rngs=rngs))
    for path, module in nnx.iter_modules(model):
        module = getattr(module, "base_module", module)
        print(path, module)
    return model
""",
    ),
)
