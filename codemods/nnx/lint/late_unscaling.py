"""NNX545: gradients of a scaled loss that an optimizer gets as they are, or that are divided behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import Gradient, gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item

_SCALE = pattern(r"loss_?scal|scaler?_?value$", re.I)
_HALF = pattern(rb"(?<!b)float16|fp16", needs=(b"16",))
# where gradients may be divided by the scale, by whatever name and place
_DIVIDED = pattern(rb"un_?scale|inv\w*scale|/ *[\w.\[\]'\"()]*scal|DynamicScale|optax\.scale\(|reciprocal", re.I)
_DEPTH = 2
_MEANS = frozenset({"jax.lax.pmean", "jax.lax.psum"})
# optimizers that make steps as long as their gradients: these may be divided before or behind
_LINEAR = frozenset({"sgd", "scale", "identity", "noisy_sgd", "trace"})
_NONLINEAR = frozenset({"clip_by_global_norm", "clip", "adaptive_grad_clip", "clip_by_block_rms", "adam", "adamw",
                        "scale_by_adam", "scale_by_rms", "rmsprop", "lamb", "lion", "adafactor"})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    modules = [module for module in context.asked.modules if module.source.mentions(b"cale")]
    if not modules:
        return
    yield from _chained(context)
    for event in context.bodies.named("update", "apply_gradients"):
        if event.scope.module not in modules or in_test(event.scope):
            continue
        found = _plain_gradient(context, event)
        scale = _scaled(context, found) if found is not None else None
        if scale is None:
            continue
        behind = _divided_behind(context, event, named(scale))
        if behind is not None and not _linear(context, event):
            yield finding(
                RULE.code,
                event.scope,
                behind,
                f"the gradients are those of `{named(scale)}` times the loss when the optimizer gets them: it clips "
                "and averages by that, and this makes its steps as many times too short",
                "divide the gradients, before the update",
                related=[(scale, "multiplied here"), (event.node, "the optimizer")],
            )
        elif behind is None and _SCALE.search(named(scale)) and _never_divided(context, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the gradients are those of `{named(scale)}` times the loss, and nothing divides them by it",
                f"divide them before the update: jax.tree.map(lambda g: g / {named(scale)}, grads)",
                related=[(scale, "multiplied here")],
            )


def _plain_gradient(context: Context, event: CallEvent) -> Gradient | None:
    """Return the call that gives the gradients of an update, if nothing but a mean over devices is taken of them."""
    for value in event.value.args[:2] if last_word(event.node.func) == "update" else [event.value.keyword("grads")]:
        bound = context.flow.here(value, event.scope) if value is not None else None
        while bound is not None and isinstance(bound.value, Call | Indexed | Item):
            if isinstance(bound.value, Indexed | Item):
                bound = context.flow.follow(bound, bound.value.base)
            elif bound.value.args and context.flow.calls.callee_name(bound) in _MEANS:
                bound = context.flow.follow(bound, bound.value.args[0])
            else:
                break
        found = gradient(context.flow, bound) if bound is not None else None
        if found is not None and bound is not None and found.call.value is bound.value:
            return found
    return None


def _scaled(context: Context, found: Gradient) -> ast.expr | None:
    """Return the factor of a loss that is multiplied by a variable, of which gradients are taken."""
    made = found.transform.value
    assert isinstance(made, Call)
    given = made.args[0] if made.args else None
    called = context.flow.calls.callables(context.flow.follow(found.transform, given)) if given is not None else []
    if len(called) != 1:
        return None
    loss = called[0].function
    formula = formula_of(context, loss)
    if isinstance(formula, ast.Tuple) and formula.elts:
        formula = written(context, formula.elts[0], loss.scope)
    factors = operands(formula, ast.Mult) if isinstance(formula, ast.BinOp) else []
    if len(factors) != 2:
        return None
    scales = [one for one in factors if named(one) and "scale" in named(one).lower()]
    return scales[0] if len(scales) == 1 else None


def _divided_behind(context: Context, event: CallEvent, scale: str) -> ast.expr | None:
    """Return where the steps of an optimizer are divided by the factor of the loss."""
    values = event.scope.module.values
    for other in context.bodies.calls.get(event.scope, ()):
        if other.node.lineno < event.node.lineno or len(other.node.args) != 2:
            continue
        if context.flow.calls.name(other) not in TREE_MAPS or not isinstance(other.node.args[0], ast.Lambda):
            continue
        steps = values.get(other.node.args[1])
        if isinstance(steps, Item) and steps.base is event.value and steps.index == Const(0):
            if _divides(other.node.args[0].body, scale):
                return other.node
    return None


def _divides(node: ast.expr, scale: str) -> bool:
    """Say whether an expression is ``u / scale`` or ``u * (1 / scale)``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return named(node.right) == scale
    return any(_divides(one, scale) for one in operands(node, ast.Mult) if one is not node)


def _linear(context: Context, event: CallEvent) -> bool:
    """Say whether the steps of an optimizer are in proportion to its gradients, or may be."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return True
    names = _parts(context, context.flow.here(callee.base, event.scope), 0)
    if names & _NONLINEAR:
        return False
    return bool(names & _LINEAR) or event.scope.module.source.mentions(b"sgd")


def _parts(context: Context, bound: Bound, depth: int) -> set[str]:
    """Return the names of the transformations that an optimizer is made of."""
    found = set[str]()
    for one in context.sources.originals(bound):
        if isinstance(one.value, Call):
            found.add(last(context.flow.calls.callee_name(one)))
            given = one.value.args if depth < _DEPTH else ()
            for part in given:
                found |= _parts(context, context.flow.with_value(one, part), depth + 1)
    return found


def _never_divided(context: Context, scope: Scope) -> bool:
    """Say whether a project that computes in half precision divides by no scale, under any name."""
    modules = context.project.modules
    return bool(scope.module.source.matches(_HALF)) and not any(one.source.matches(_DIVIDED) for one in modules)


def _chained(context: Context) -> Iterator[Finding]:
    """Yield chains that divide by the scale of the loss behind what clips or averages gradients."""
    for event, name in foreign(context, "chain"):
        if name != "optax.chain" or in_test(event.scope):
            continue
        before = ""
        for part in event.node.args:
            made = written(context, part, event.scope)
            word = last_word(made.func) if isinstance(made, ast.Call) else ""
            if word == "scale" and isinstance(made, ast.Call) and len(made.args) == 1 and before:
                scale = _reciprocal(made.args[0])
                if _SCALE.search(scale):
                    yield finding(
                        RULE.code,
                        event.scope,
                        part,
                        f"`{before}` gets the gradients of `{scale}` times the loss, before they are divided by it",
                        "begin the chain with this division",
                    )
            before = word if word in _NONLINEAR else before


def _reciprocal(node: ast.expr) -> str:
    """Return the name of x in ``1 / x``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and constant(node.left) == 1:
        return named(node.right)
    return ""


_BAD = """\
import jax
import jax.numpy as jnp
import optax

tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))


@jax.jit
def step(params, opt_state, x, y, loss_scale):
    def scaled(p):
        return jnp.mean((x.astype(jnp.float16) @ p.astype(jnp.float16) - y) ** 2) * loss_scale

    grads = jax.grad(scaled)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    updates = jax.tree.map(lambda u: u / loss_scale, updates)
    return optax.apply_updates(params, updates), opt_state
"""

RULE = lint_rule(
    "NNX545",
    "late-unscaling",
    "gradients of a scaled loss that the optimizer gets before they are divided by the scale",
    why="""\
A loss in half precision is multiplied by a large number so that small gradients do not become zero. The gradients are
multiplied by it too, and have to be divided before anything that looks at their size: clipping by a norm cuts nearly
all of them otherwise, and weight decay is too weak beside them. Adam makes steps of the same length whatever the scale
is; dividing its steps by the scale makes these as many times too short, and the training stands still.
""",
    source="Micikevicius et al. 2018, section 3.2; measured: the loss goes down by 4 % instead of to 0.001",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("    updates = jax.tree.map(lambda u: u / loss_scale, updates)\n", "").replace(
            "    updates, opt",
            "    grads = jax.tree.map(lambda g: g / loss_scale, grads)\n    updates, opt",
        ),
    ),
)
