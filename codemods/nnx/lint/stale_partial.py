"""NNX743: what nnx.cached_partial binds, and is changed in its structure afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import draws
from codemods.nnx.lint.places import foreign, in_test, target_of
from codemods.nnx.lint.stale_fields import stale_fields
from codemods.nnx.lint.syntax import Path, keyword, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_EVALUATION = pattern(r"(^|_)(eval\w*|valid\w*|predict\w*|infer\w*|test)(_|$)")
_MODES = frozenset({"eval", "train"})
# where a project says one of these, a call may say in which mode it runs
_ELSEWHERE = (b"deterministic", b"use_running_average", b"set_attributes", b".view(", b"set_mode", b"train_mode")


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.mentions(b".eval()") for module in context.asked.modules):
        yield from _of_splits(context)
        yield from _of_fields(context)
    for event, name in foreign(context, "cached_partial"):
        target = _target(event)
        if name != "flax.nnx.cached_partial" or target is None or in_test(event.scope) or event.value.starred:
            continue
        if _bound(context, event, target) != 1:
            continue
        uses = [
            one
            for one in context.bodies.calls.get(event.scope, ())
            if isinstance(one.node.func, ast.Name) and one.node.func.id == target and _behind(context, event, one.node)
        ]
        for model in event.node.args[1:]:
            if not isinstance(model, ast.Name) or not uses or _bound(context, event, model.id) > 1:
                continue
            change = _other_mode(context, event, model, uses) or _other_attribute(context, event, model, uses)
            if change is not None:
                node, text = change
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{target}` keeps the structure that `{model.id}` has here: {text} in line {node.lineno} does not "
                    "reach it",
                    f"make it behind that, or call the function itself with `{model.id}`",
                    related=[(node, "changed here")],
                )
                break


def _of_fields(context: Context) -> Iterator[Finding]:
    """Yield the partial applications that an object keeps of a model which its methods set to evaluate."""
    for event, kept, model, change in stale_fields(context):
        if any(word in module.source.data for module in context.project.modules for word in _ELSEWHERE):
            return
        if not _sets_itself(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{ast.unparse(kept)}` keeps the structure that `{ast.unparse(model)}` has here: "
                f"`{ast.unparse(change)}` in line {change.lineno} does not reach it",
                "make it for evaluation behind that, or call the function itself with the model",
                related=[(change, "changed here")],
            )


def _of_splits(context: Context) -> Iterator[Finding]:
    """Yield the structures that nnx.split gives, and that evaluate after the model was set to evaluate."""
    for event, name in foreign(context, "split"):
        graphdef = _graphdef(event)
        model = event.node.args[0] if event.node.args else None
        if name != "flax.nnx.split" or graphdef is None or in_test(event.scope) or not isinstance(model, ast.Name):
            continue
        if _bound(context, event, graphdef) != 1 or _bound(context, event, model.id) > 1:
            continue
        uses = [
            one
            for one in context.bodies.calls.get(event.scope, ())
            if any(isinstance(given, ast.Name) and given.id == graphdef for given in one.node.args)
            and _behind(context, event, one.node)
            and _evaluates(context, one)
        ]
        change = _other_mode(context, event, model, uses) if uses else None
        if change is not None:
            node, text = change
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{graphdef}` is of `{model.id}` as it is here: {text} in line {node.lineno} does not reach what is "
                "merged with it",
                "split again behind that, or set the mode of the merged model",
                related=[(node, "changed here")],
            )


def _graphdef(event: CallEvent) -> str | None:
    """Return the variable for the structure, in ``graphdef, state = nnx.split(model)``."""
    target = target_of(event)
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
    return first.id if isinstance(first, ast.Name) and first.id != "_" else None


def _evaluates(context: Context, use: CallEvent) -> bool:
    """Say whether a call that gets a structure evaluates by its name, or merges a model that is only called then."""
    if last_word(use.node.func) != "merge":
        return bool(_EVALUATION.search(last_word(use.node.func))) and not _sets_modes(
            context, context.flow.here(use.value.callee, use.scope)
        )
    model = _target(use)
    names = context.bodies.names(use.scope).get(model, ()) if model is not None else ()
    loads = [name for name in names if isinstance(name.ctx, ast.Load)]
    called = {one.node.func for one in context.bodies.calls.get(use.scope, ())}
    return bool(loads) and len(names) == len(loads) + 1 and all(name in called for name in loads)


def _target(event: CallEvent) -> str | None:
    """Return the variable that gets the result of a call, in a body of statements."""
    target = target_of(event)
    return target.id if isinstance(target, ast.Name) else None


def _bound(context: Context, event: CallEvent, name: str) -> int:
    """Return how often a body binds a variable; of an argument there is no binding."""
    return len(context.bodies.stores(event.scope, name)) + 2 * (name in event.scope.remote)


def _blocks(context: Context, event: CallEvent, node: ast.AST) -> Path:
    return context.bodies.paths(event.scope).get(node, ())


def _behind(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether a node of the same body runs behind a call, whenever it runs."""
    around = _blocks(context, event, event.node)
    return node.lineno > event.node.lineno and _blocks(context, event, node)[: len(around)] == around


def _before(context: Context, event: CallEvent, change: ast.expr, use: ast.expr) -> bool:
    """Say whether a change runs before a use, whenever that runs."""
    around = _blocks(context, event, change)
    return change.lineno < use.lineno and _blocks(context, event, use)[: len(around)] == around


def _other_mode(
    context: Context, event: CallEvent, model: ast.Name, uses: list[CallEvent]
) -> tuple[ast.expr, str] | None:
    """Return what sets a model to another mode than it had when it was bound, before a use."""
    if any(word in module.source.data for module in context.project.modules for word in _ELSEWHERE):
        return None
    value = event.scope.module.values.get(model)
    made = context.sources.originals(context.flow.here(value, event.scope)) if value is not None else ()
    if not made or not all(isinstance(one.value, Call) and draws(context, one, keeping=True) for one in made):
        return None
    if last_word(event.node.func) == "cached_partial" and _sets_itself(context, event):
        return None
    modes = [
        (one.node, one.node.func.attr)
        for one in context.bodies.named(*_MODES)
        if one.scope is event.scope
        and isinstance(one.node.func, ast.Attribute)
        and isinstance(one.node.func.value, ast.Name)
        and one.node.func.value.id == model.id
    ]
    first = _mode(context, event, modes, event.node)
    if first is None:
        if any(node.lineno < event.node.lineno for node, _ in modes) or _handed_before(context, event, model):
            return None
        home = context.bodies.home(next(iter(made)).value.node)  # type: ignore[attr-defined]
        if home is not event.scope and not _trains_too(context, event, model, modes):
            return None  # it may come here in any mode
    held = first[1] if first is not None else "train"
    for use in uses:
        last = _mode(context, event, modes, use.node)
        if last is not None and last[1] != held and last[0].lineno > event.node.lineno:
            if not any(_between(last[0], node, use.node) for node, _ in modes):
                return last[0], f"`{ast.unparse(last[0])}`"
    return None


def _trains_too(context: Context, event: CallEvent, model: ast.Name, modes: list[tuple[ast.Call, str]]) -> bool:
    """Say whether what is bound to a model before its modes are set runs in training too, so that one use is wrong."""
    calls = context.bodies.calls.get(event.scope, ())
    for other in calls:
        target = _target(other)
        if last_word(other.node.func) != "cached_partial" or target is None or other.loops != event.loops:
            continue
        bound = any(isinstance(one, ast.Name) and one.id == model.id for one in other.node.args[1:])
        if not bound or any(node.lineno < other.node.lineno for node, _ in modes):
            continue
        for use in calls:
            if isinstance(use.node.func, ast.Name) and use.node.func.id == target:
                last = _mode(context, event, modes, use.node)
                if last is not None and last[1] == "train":
                    return True
    return False


def _mode(
    context: Context, event: CallEvent, modes: list[tuple[ast.Call, str]], use: ast.expr
) -> tuple[ast.Call, str] | None:
    """Return the last call that sets the mode before a use for certain."""
    found = [one for one in modes if _before(context, event, one[0], use)]
    return max(found, key=lambda one: one[0].lineno, default=None)


def _between(first: ast.expr, node: ast.expr, last: ast.expr) -> bool:
    return first.lineno < node.lineno < last.lineno


def _handed_before(context: Context, event: CallEvent, model: ast.Name) -> bool:
    """Say whether something gets the model before it is bound, and may set its mode."""
    return any(
        node.lineno < event.node.lineno and isinstance(node.ctx, ast.Load)
        for node in context.bodies.names(event.scope).get(model.id, ())
        if not _optimizer(context, event, node)
    )


def _optimizer(context: Context, event: CallEvent, name: ast.Name) -> bool:
    """Say whether a name is what an optimizer or another partial application is made of."""
    return any(
        name in (*one.node.args, keyword(one.node, "model"))
        and last_word(one.node.func) in {"Optimizer", "ModelAndOptimizer", "cached_partial"}
        for one in context.bodies.calls.get(event.scope, ())
    )


def _sets_itself(context: Context, event: CallEvent) -> bool:
    """Say whether the function that is bound is not known, or may set modes."""
    return _sets_modes(context, context.flow.here(event.value.args[0], event.scope))


def _sets_modes(context: Context, function: Bound) -> bool:
    callees = context.flow.calls.callables(function)
    return not callees or any(
        isinstance(node, ast.Attribute) and node.attr in _MODES
        for callee in callees
        for node in ast.walk(callee.function.node)
    )


def _other_attribute(
    context: Context, event: CallEvent, model: ast.Name, uses: list[CallEvent]
) -> tuple[ast.expr, str] | None:
    """Return the attribute of a bound model that is assigned to before a use, and that its methods read."""
    value = event.scope.module.values.get(model)
    cls = (
        context.flow.classes.class_of(context.flow.resolve(context.flow.here(value, event.scope)))
        if value is not None
        else None
    )
    if cls is None or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
        return None
    read = {
        node.attr
        for parent in context.flow.classes.mro(cls)[0]
        for method in parent.methods.values()
        if method.name not in {"__init__", "__post_init__"}
        for node in context.bodies.nodes(method.scope)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and method.self_param is not None
        and node.value.id == method.self_param.name
    }
    for store in event.scope.module.attributes:
        if not _of_model(store, event, model) or store.node.attr not in read:
            continue
        if not _behind(context, event, store.node):
            continue
        if any(_before(context, event, store.node, use.node) for use in uses):
            return store.node, f"the new `{ast.unparse(store.node)}`"
    return None


def _of_model(store: AttrEvent, event: CallEvent, model: ast.Name) -> bool:
    base = root_of(store.node)
    return (
        store.scope is event.scope
        and store.context == "store"
        and isinstance(store.node.value, ast.Name)
        and isinstance(base, ast.Name)
        and base.id == model.id
    )


_HEAD = """\
from flax import nnx


@nnx.jit
def predict(model, x):
    return model(x)


"""

RULE = lint_rule(
    "NNX743",
    "stale-cached-partial",
    "a model that nnx.cached_partial bound, or nnx.split took apart, gets another mode, and the old one is called",
    why="""\
`nnx.cached_partial` keeps a copy of the structure of the objects that it binds, and shares their Variables. New values
of the Variables reach it. What belongs to the structure does not: the mode that `model.eval()` sets, other attributes
and layers that are replaced. The function goes on with those that the model had when it was bound. The same holds for
what `nnx.merge` makes of a `graphdef` that `nnx.split` gave before.
""",
    source="performance guide of Flax NNX; measured on Flax 0.11.2 and 0.12.8: dropout goes on after model.eval()",
    check=_check,
    bad=(
        _HEAD
        + """\
model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1)))
fast = nnx.cached_partial(predict, model)


def evaluate(batches):
    model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
    fast = nnx.cached_partial(predict, model)
    model.eval()
    return [fast(batch) for batch in batches]
""",
    ),
    clean=(
        _HEAD
        + """\
def evaluate(batches):
    model = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
    model.eval()
    fast = nnx.cached_partial(predict, model)
    return [fast(batch) for batch in batches]
""",
    ),
)
