"""NNX970: a training loop that draws the same noise in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.captured_key import ON_PURPOSE, SEEDING, draws_noise, key_bound_once
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import SAME, Use, uses
from codemods.nnx.lint.masks_of_rounds import masks_of_rounds
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test, stands_in
from codemods.nnx.lint.refolded import refolded
from codemods.nnx.lint.reseeded import reseeded_alike
from codemods.nnx.lint.same_seed import SEEDS
from codemods.nnx.lint.syntax import inside, keyword, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Value

_STEPPING = frozenset({"update", "apply_updates", "apply_gradients"})
_HELP = "split the key in every round: key, subkey = jax.random.split(key)"
_COUNT = "fold in a number that goes on from epoch to epoch: epoch * steps + step"
_AGAIN = "give each step a key of its own, as jax.random.fold_in(key, step), or leave the streams as they are"


def _check(context: Context) -> Iterator[Finding]:
    for event, message in reseeded_alike(context):
        yield finding(RULE.code, event.scope, event.node, message, _AGAIN)
    for event, message in refolded(context):
        yield finding(RULE.code, event.scope, event.node, message, _COUNT)
    if not any(m.source.mentions(b"jax.random") or m.source.mentions(b"import random") for m in context.asked.modules):
        return
    told: set[ast.AST] = set()
    for found in (
        *_of_losses(context),
        *_seeded_again(context),
        *_seeded_in_step(context),
        *masks_of_rounds(context),
    ):
        use, message = found
        if use.event.node not in told:
            told.add(use.event.node)
            yield finding(RULE.code, use.event.scope, use.event.node, message, _HELP)


def _of_losses(context: Context) -> Iterator[tuple[Use, str]]:
    """Yield what losses draw with a key from around themselves that is the same in every step of a loop."""
    captured: dict[FunctionFacts, list[Use]] = {}
    known = ((scope, use) for (scope, _), found in context.shared(uses).items() for use in found)
    for scope, use in (*known, *_of_linen(context), *_of_models(context)):
        if scope.function is None or scope.module not in context.asked or in_test(scope):
            continue
        if not isinstance(use.key, Free) or not (use.helper or draws_noise(use)) or SAME.search(use.name):
            continue
        if not SAME.search(ast.unparse(use.node)) and not same_said(scope, use.event.statement):
            captured.setdefault(scope.function, []).append(use)
    if not captured:
        return
    linen = {function for function, found in captured.items() if any(use.name == "apply" for use in found)}
    for root in context.traced.gradients:
        compiled = _compiled_around(context, root.function)
        for use in captured.get(root.function, ()) if not compiled or root.function in linen else ():
            if not _meant(use.event.scope):
                if _step_in_loop(context, use, root) if compiled else _same_in_loop(context, use, root):
                    yield (
                        use,
                        f"`{ast.unparse(use.node)}` is the same key in every step: the loss draws the same numbers",
                    )


def _of_linen(context: Context) -> Iterator[tuple[Scope, Use]]:
    """Yield the keys that ``apply`` of Linen gets for dropout and the like."""
    for event in context.bodies.named("apply"):
        given = keyword(event.node, "rngs")
        for node in given.values if isinstance(given, ast.Dict) else ():
            key = event.scope.module.values.get(node)
            if isinstance(key, Free):
                yield event.scope, Use(event, key, "apply", node, helper=True)


def _of_models(context: Context) -> Iterator[tuple[Scope, Use]]:
    """Yield the keys that losses give to a model whose method draws with them; the model is the loss's argument."""
    known = context.shared(uses)
    losses = {root.function.scope: root.function for root in context.traced.gradients}
    for scope, loss in losses.items():
        for event in scope.module.calls_in(scope) if scope.module in context.asked else ():
            callee = event.value.callee
            model, method = (callee.base, callee.name) if isinstance(callee, Attr) else (callee, "__call__")
            if not isinstance(model, Param) or model.function is not loss or event.value.starred:
                continue
            given = [(place, "", one) for place, one in enumerate(event.value.args)]
            given += [(-1, name or "", one) for name, one in event.value.keywords]
            keys = [one for one in given if isinstance(one[2], Free)]
            cls = owner_class(context, model, scope) if keys else None
            function = context.flow.classes.method(cls, method) if isinstance(cls, ClassFacts) else None
            if function is None:
                continue
            params = list(function.params.values())[1:]
            nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
            for (place, name, key), node in zip(given, nodes, strict=True):
                param = params[place] if 0 <= place < len(params) else function.params.get(name)
                if isinstance(key, Free) and (function.scope, param) in known:
                    yield scope, Use(event, key, function.name, node, helper=True)


def _compiled_around(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is a part of compiled code, whose keys from outside another rule looks at."""
    inner: FunctionFacts | None = function
    while inner is not None:
        if inner in context.traced:
            return True
        inner = enclosing_function(inner.scope.parent)
    return False


def _meant(scope: Scope) -> bool:
    """Say whether a function around tells by its name that what it draws stays the same."""
    inner: Scope | None = scope
    while inner is not None:
        name = inner.function.name if inner.function is not None else ""
        if SAME.search(name) or ON_PURPOSE.search(name):
            return True
        inner = inner.parent
    return False


def _same_in_loop(context: Context, use: Use, root: Root) -> bool:
    """Say whether a loop asks for gradients round after round, steps, and leaves the key as it was before it."""
    key = use.key
    assert isinstance(key, Free)
    made = key_bound_once(context, key)
    if made is None:
        return False
    for event in context.traced.calls_of(root):
        for loop in event.loops:
            if not isinstance(loop, ast.For | ast.While) or not _steps(loop):
                continue
            if stands_in(event.scope, key.scope) and not _made_within(made, loop):
                return True
    return False


def _step_in_loop(context: Context, use: Use, root: Root) -> bool:
    """Say whether a loop calls a compiled step whose loss takes the key from around the step."""
    key = use.key
    if not isinstance(key, Free) or use.name != "apply" or key_bound_once(context, key) is None:
        return False
    inner: FunctionFacts | None = enclosing_function(root.function.scope.parent)
    while inner is not None and inner.scope is not key.scope:
        if _is_step(inner) and _called_in_loop(context, inner):
            return all(stands_in(one.scope, key.scope) for one in context.flow.sites.callers(inner))
        inner = enclosing_function(inner.scope.parent)
    return False


def _made_within(made: Value, loop: ast.AST) -> bool:
    """Say whether a key, or what it is a part of, is made in a loop."""
    while isinstance(made, Item):
        made = made.base
    return isinstance(made, Call) and inside(made.node, loop)


def _steps(loop: ast.For | ast.While) -> bool:
    """Say whether a loop updates something in its rounds that it did not make itself."""
    bound = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or last_word(node.func) not in _STEPPING:
            continue
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if last_word(node.func) != "update":
            return True
        if isinstance(owner, ast.Name | ast.Attribute) and not names_in(owner) & bound:
            return True
    return False


def _seeded_again(context: Context) -> Iterator[tuple[Use, str]]:
    """Yield what a training loop draws with a key that it makes of the same number in every round."""
    for (scope, key), found in context.shared(uses).items():
        if scope.module not in context.asked or not isinstance(key, Call) or in_test(scope) or _meant(scope):
            continue
        numbers = key.given
        if key.starred or not numbers or not all(isinstance(one, Const) for one in numbers):
            continue
        use = next((u for u in found if draws_noise(u)), None)
        if use is None or SAME.search(ast.unparse(use.node)) or same_said(scope, use.event.statement):
            continue
        if context.flow.calls.callee_name(context.flow.here(key, scope)) not in SEEDING:
            continue
        loop = next((one for one in reversed(use.event.loops) if inside(key.node, one)), None)
        if isinstance(loop, ast.For | ast.While) and _steps(loop) and not _tried(loop, use):
            yield use, f"the key of `{last_word(use.event.node.func)}` is made of the same number in every step"


def _seeded_in_step(context: Context) -> Iterator[tuple[Use, str]]:
    """Yield what the function of a training step draws with a key that it makes of the same number."""
    for (scope, key), found in context.shared(uses).items():
        made = key_bound_once(context, key) if isinstance(key, Free) else key
        home = key.scope if isinstance(key, Free) else scope
        if scope.module not in context.asked or home.function is None or in_test(scope) or _meant(scope):
            continue
        if not isinstance(made, Call) or made.starred or not made.args or made.keywords:
            continue
        use = next((u for u in found if draws_noise(u)), None)
        if use is None or not all(isinstance(one, Const) for one in made.args):
            continue
        if SAME.search(ast.unparse(use.node)) or same_said(scope, use.event.statement):
            continue
        if context.flow.calls.callee_name(context.flow.here(made, home)) not in SEEDS:
            continue
        if _is_step(home.function) and _called_in_loop(context, home.function):
            yield use, f"the key of `{last_word(use.event.node.func)}` is made of the same number in every step"


def _is_step(function: FunctionFacts) -> bool:
    """Say whether a function takes one step of a training, and has no loop of its own."""
    nodes = list(ast.walk(function.node))
    if any(isinstance(n, ast.For | ast.While) for n in nodes):
        return False
    return any(isinstance(n, ast.Call) and last_word(n.func) in _STEPPING for n in nodes)


def _called_in_loop(context: Context, function: FunctionFacts) -> bool:
    """Say whether a loop calls a function, and everything else that calls it does so in a loop as well."""
    callers = context.flow.sites.callers(function)
    return bool(callers) and all(any(isinstance(one, ast.For | ast.While) for one in c.loops) for c in callers)


def _tried(loop: ast.For | ast.While, use: Use) -> bool:
    """Say whether a loop within the round takes the steps: the round is a run of its own, which begins anew."""
    return any(
        isinstance(n, ast.For | ast.While) and n is not loop and _steps(n) and not inside(use.event.node, n)
        for n in ast.walk(loop)
    )


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def train(model, x):
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    key = jax.random.key(0)
    for step in range(100):
        def loss_fn(model):
            noise = jax.random.normal(key, x.shape)
            return jnp.mean((model(x + noise) - x) ** 2)

        grads = nnx.grad(loss_fn)(model)
        optimizer.update(model, grads)
"""

RULE = lint_rule(
    "NNX970",
    "same-noise-every-step",
    "a training loop draws the same noise in every step",
    why="""\
A loss that takes its key from around itself sees the key as it is there. If the loop around does not make a new one in
every round, or makes it of the same number, all steps see the same noise, as if it belonged to the data: the model
learns this noise and not to do without it.
""",
    source="JAX tutorial, section on random keys; measured: equal noise in every step",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "        def loss_fn", "        key, subkey = jax.random.split(key)\n\n        def loss_fn"
        ).replace("normal(key,", "normal(subkey,"),
    ),
)
