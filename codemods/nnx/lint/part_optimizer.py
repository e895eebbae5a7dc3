"""NNX795: an optimizer for one part of a model that trains another part, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.overlapping import overlapping
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.trained_teacher import trained_teachers
from codemods.nnx.lint.whole_gradient import PARAM, losses_of
from codemods.nnx.nodes import last_word
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import Call, Function, Value

_MEANINGLESS = frozenset(
    {"opt", "optim", "optimizer", "tx", "self", "state", "filter", "param", "params", "wrt", "nnx"}
)
# what one letter stands for: ``g_opt`` and ``d_opt``
_LETTERS = {"g": "gen", "d": "disc"}
_STOPPING = frozenset({"stop_gradient", "clone", "merge", "split", "isinstance"})


def _check(context: Context) -> Iterator[Finding]:
    for event, kept, learning in trained_teachers(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"this trains `{kept}` as well as `{learning}`, since the filter nnx.Param takes both",
            f'choose the part: nnx.All(nnx.Param, nnx.PathContains("{learning}")), there and for the gradient',
        )
    made = [
        event
        for event, name in foreign(context, "Optimizer", everywhere=True)
        if name == "flax.nnx.Optimizer" and event.value.argument(1, "tx") is not None and not event.value.starred
    ]
    if len(made) < 2:
        return
    told = set()
    for event, other in overlapping(context):
        if event in told:
            continue
        told.add(event)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "this takes all Variables of another optimizer too, and both are updated in one step: these move twice",
            "leave them out here: nnx.All(nnx.Param, nnx.Not(...)), with the filter of the other",
            related=[(other.node, "which trains them as well")],
        )
    for event in made:
        chosen = event.value.argument(2, "wrt")
        if event.scope.module not in context.asked or in_test(event.scope) or chosen is None or event in told:
            continue
        if _followed(context, chosen, event).value != PARAM:
            continue
        models = _models(context, event)
        parts = _parts(context, models)
        own = _named(event, parts)
        if not own:
            continue
        for other in made:
            if other is event or not models or _models(context, other) != models:
                continue
            theirs = (_selected(context, other, parts) or _named(other, parts)) - own
            trained = next((part for part in sorted(theirs) if _reaches(context, event, own, part)), None)
            if trained is not None:
                (part, *_) = sorted(own)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"this trains `{trained}` as well as `{part}`, since the filter nnx.Param takes both",
                    f'choose the part: nnx.All(nnx.Param, nnx.PathContains("{part}")), there and for the gradient',
                    related=[(other.node, "which has an optimizer of its own")] if other.scope is event.scope else [],
                )
                break


def _models(context: Context, event: CallEvent) -> OrderedSet[Bound]:
    """Return what may be the model that a call makes an optimizer for."""
    model = event.value.argument(0, "model")
    return OrderedSet() if model is None else context.sources.originals(context.flow.here(model, event.scope))


def _followed(context: Context, value: Value, event: CallEvent) -> Bound:
    return context.flow.resolve(context.flow.here(value, event.scope))


def _parts(context: Context, models: object) -> frozenset[str]:
    """Return the attributes of a model, if it is of one class of the project."""
    classes = {context.flow.classes.class_of(one) for one in models}  # type: ignore[attr-defined]
    cls = classes.pop() if len(classes) == 1 else None
    if cls is None:
        return frozenset()
    return frozenset(name for parent in context.flow.classes.mro(cls)[0] for name in parent.stores)


def _named(event: CallEvent, parts: frozenset[str]) -> frozenset[str]:
    """Return the parts of a model for which an optimizer is, by its name or that of its filter."""
    statement = event.statement
    names = [ast.unparse(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
    chosen = argument(event.node, 2, "wrt")
    names += [chosen.id] if isinstance(chosen, ast.Name) else []
    split = {w for name in names for w in re.split(r"[^a-z0-9]+", name.lower().replace("_", " "))}
    words = {w for w in split if len(w) > 2} | {_LETTERS[w] for w in split if w in _LETTERS}
    return frozenset(p for p in parts if any(p.startswith(word) for word in words - _MEANINGLESS))


def _selected(context: Context, event: CallEvent, parts: frozenset[str]) -> frozenset[str]:
    """Return the parts of a model that a filter names by their paths."""
    chosen = event.value.argument(2, "wrt")
    value = _followed(context, chosen, event).value if chosen is not None else None
    node: ast.AST | None = value.facts.node if isinstance(value, Function) else getattr(value, "node", None)
    texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)} if node is not None else set()
    return frozenset(part for part in parts if part in texts)


def _reaches(context: Context, event: CallEvent, own: frozenset[str], other: str) -> bool:
    """Say whether an optimizer is updated by the gradient of a loss that goes through a part of its own and another."""
    return any(
        any(_read(context, loss, part) for part in own) and _read(context, loss, other)
        for loss in losses_of(context, event)
    )


def _read(context: Context, loss: FunctionFacts, part: str) -> bool:
    """Say whether a loss calls a part of its first argument, and lets the gradient through."""
    first = next(iter(loss.params), None)
    above = around(context, loss.scope)
    for node in context.bodies.nodes(loss.scope):
        if not isinstance(node, ast.Attribute) or node.attr != part or ast.unparse(node.value) != first:
            continue
        call = above.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            continue
        outer: ast.AST | None = call
        while outer is not None and not (isinstance(outer, ast.Call) and _stops(context, loss, outer)):
            outer = above.get(outer)
        if outer is None and not _stopped_later(context, loss, call, above):
            return True
    return False


def _stops(context: Context, loss: FunctionFacts, call: ast.Call) -> bool:
    """Say whether a call keeps gradients away, also under another name."""
    value = loss.scope.module.values.get(call)
    name = context.flow.calls.callee_name(context.flow.here(value, loss.scope)) if isinstance(value, Call) else ""
    return last_word(call.func) in _STOPPING or name.endswith("stop_gradient")


def _stopped_later(context: Context, loss: FunctionFacts, call: ast.Call, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether what a part gives gets a name, and some use of a variable stops the gradient."""
    statement: ast.AST | None = call
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = above.get(statement)
    return isinstance(statement, ast.Assign) and any(
        isinstance(node, ast.Call) and _stops(context, loss, node) for node in context.bodies.nodes(loss.scope)
    )


_BAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Agent(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.actor = nnx.Linear(3, 2, rngs=rngs)
        self.critic = nnx.Linear(5, 1, rngs=rngs)


def actor_loss(agent, obs):
    return -agent.critic(jnp.concatenate([obs, agent.actor(obs)], -1)).mean()


@nnx.jit
def train_actor(agent, optimizer, obs):
    grads = nnx.grad(actor_loss)(agent, obs)
    optimizer.update(agent, grads)


agent = Agent(nnx.Rngs(0))
critic_optimizer = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.All(nnx.Param, nnx.PathContains("critic")))
actor_optimizer = nnx.Optimizer(agent, optax.adam(1e-3), wrt=nnx.Param)
train_actor(agent, actor_optimizer, jnp.ones((4, 3)))
"""
_GOOD = _BAD.replace(
    "nnx.grad(actor_loss)", 'nnx.grad(actor_loss, argnums=nnx.DiffState(0, nnx.PathContains("actor")))'
).replace("wrt=nnx.Param)", 'wrt=nnx.PathContains("actor"))')

RULE = lint_rule(
    "NNX795",
    "optimizer-of-all-parts",
    "an optimizer for one part of a model whose filter takes the other parts as well",
    why="""\
The actor's loss goes through the critic, so that the critic has gradients of it. An optimizer with `wrt=nnx.Param`
takes them all: the critic learns to praise the actor, and what its own optimizer does is undone. A filter by path,
for the gradient and the optimizer, keeps them apart; so does an optimizer of `agent.actor`. In the same
way a teacher or a reference model in one module with what learns from it is trained, if nothing stops its gradient:
the loss falls as the teacher gives in. Where one step updates two optimizers with one gradient, what both filters take
moves twice.
""",
    source="measured on Flax 0.11.2 and 0.12.8: the critic changes with every update of the actor",
    check=_check,
    bad=(_BAD,),
    clean=(_GOOD,),
)
