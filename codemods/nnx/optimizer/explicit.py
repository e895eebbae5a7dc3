"""The form of Flax 0.11: ``nnx.Optimizer(model, tx, wrt=...)`` and ``update(model, grads)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, Env, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.identity_tests import ASKING, told_alike
from codemods.nnx.imports import spell
from codemods.nnx.optimizer.gradients import differentiated, hints
from codemods.nnx.optimizer.groups import Group, Reason, Update
from codemods.nnx.optimizer.identity import Identity, Spellings
from codemods.nnx.optimizer.origins import COMPATIBLE, Constructor, Origins
from codemods.nnx.optimizer.plan import Plan
from codemods.nnx.optimizer.thread import LIMIT, Threading
from codemods.nnx.optimizer.version_switch import made_for_old_releases
from codemods.nnx.rewrite import RewriteError, add_keyword, insert_first, positional_to_keyword, replace
from codemods.nnx.source import Source
from codemods.nnx.values import Star, Value


class CannotChange(Exception):
    """A group cannot take a form; carries the use that prevents it."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class ExplicitForm:
    """Plans the form with an explicit model for one group."""

    def __init__(self, origins: Origins, identity: Identity, asked: bool = False) -> None:
        self.origins = origins
        self.asked = asked
        self.flow: Flow = origins.flow
        self.spellings = Spellings(identity)
        self.identity = identity

    def plan(self, group: Group) -> Plan:
        """Return the edits of a group.

        Raises:
            CannotChange: if one use of the group prevents the form.
        """
        for cls in group.subclasses:
            raise CannotChange(
                Reason(f"{cls.name} derives from nnx.Optimizer", cls.scope.parent or cls.scope, cls.node)
            )
        for constructor in group.constructors:
            if constructor.kind == COMPATIBLE:
                raise CannotChange(_at(constructor, "this one is a nnx.ModelAndOptimizer"))
        if group.reasons:
            raise CannotChange(group.reasons[0])
        plan = Plan()
        for constructor in group.constructors:
            self._constructor(plan, constructor)
        threading = Threading(self.flow, self.identity, self.spellings, group, plan, None if self.asked else LIMIT)
        for update in group.updates:
            self._update(plan, update, threading)
        written: dict[ast.expr, str] = {}
        for event in group.reads:
            if event.context != "load":
                raise CannotChange(Reason("the optimizer's model is replaced or deleted", event.scope, event.node))
            text = self._spelled(event.node.value, event.base, event.scope, event.env, [], threading, event.node)
            written[event.node] = text
            alias = threading.aliases.get(event.node)
            source = event.scope.module.source
            plan.edit(event.scope, replace(source, event.node, text) if alias is None else _without(source, alias))
            plan.remark(
                "NNX104", event.scope, event.node, f"the optimizer no longer holds the model; read `{text}` instead"
            )
        for event in group.reads:
            if any(one == two for one, two in _compared(event, written)):
                raise CannotChange(Reason("it is compared with the model itself", event.scope, event.node))
        if not threading.finish():
            raise CannotChange(threading.reason)
        if not plan.sound():
            first = group.constructors[0]
            raise CannotChange(_at(first, "its edits would overlap"))
        return plan

    def _constructor(self, plan: Plan, constructor: Constructor) -> None:
        call, scope = constructor.event.value, constructor.event.scope
        keywords = [*call.keywords, *(constructor.partial.keywords if constructor.partial else ())]
        if any(name == "wrt" for name, _ in keywords):
            return
        if call.node in made_for_old_releases(scope.module):
            return
        held = len(constructor.partial.args) - 1 if constructor.partial else 0
        if call.starred or any(isinstance(a, Star) for a in call.args) or held:
            raise CannotChange(_at(constructor, "its arguments are unpacked or bound before"))
        source = scope.module.source
        if len(call.args) > 3:
            raise CannotChange(_at(constructor, "it is given more arguments than there are"))
        if len(call.args) > 2:
            plan.edit(scope, positional_to_keyword(source, call.node, 2, "wrt"))
            plan.remark("NNX101", scope, call.node, "`wrt` of nnx.Optimizer is keyword-only since Flax 0.11")
            return
        param = spell(self.flow, scope, "Param")
        if param is None:
            raise CannotChange(_at(constructor, "nnx.Param cannot be named here without a clash"))
        try:
            plan.edit(scope, add_keyword(source, call.node, "wrt", param.text), *param.edits)
        except RewriteError as error:
            raise CannotChange(_at(constructor, str(error))) from error
        plan.remark("NNX101", scope, call.node, "nnx.Optimizer needs `wrt` since Flax 0.11")

    def _update(self, plan: Plan, update: Update, threading: Threading) -> None:
        event = update.event
        if update.unclear:
            raise CannotChange(Reason("the arguments of update() are unpacked", event.scope, event.node))
        if not update.old:
            return
        if update.receiver is None:
            raise CannotChange(Reason("its update method is stored under another name", event.scope, event.node))
        near = hints(self.flow, event, event.scope)
        text = self._known(update.receiver, update.value, event.scope, event.env, near, threading)
        presumed = False
        if text is None:
            taken = differentiated(self.flow, event, event.scope)
            text = self.spellings.presumed(update.receiver, update.value, event.scope, event.env, near, taken)
            presumed = text is not None
        if text is None:
            text = self._handed(update.receiver, update.value, event.scope, event.env, threading, event.node)
        drop = "grads" if not event.value.args else None
        try:
            plan.edit(event.scope, insert_first(event.scope.module.source, event.node, [text], drop))
        except RewriteError as error:
            raise CannotChange(Reason(str(error), event.scope, event.node)) from error
        words = f"update() takes the model since Flax 0.11; it is `{text}` here"
        if presumed:
            words += ", of which the gradients were taken, if those who call the function pass them together"
        plan.remark("NNX102", event.scope, event.node, words, notable=presumed)

    def _spelled(
        self,
        receiver: ast.expr,
        value: Value,
        scope: Scope,
        env: Env,
        near: list[ast.expr],
        threading: Threading,
        node: ast.AST,
    ) -> str:
        """Return an expression of the model at a use, handing the model there if need be."""
        text = self._known(receiver, value, scope, env, near, threading)
        return text or self._handed(receiver, value, scope, env, threading, node)

    def _known(
        self, receiver: ast.expr, value: Value, scope: Scope, env: Env, near: list[ast.expr], threading: Threading
    ) -> str | None:
        return threading.known(receiver, value, scope) or self.spellings.at(receiver, value, scope, env, near)

    def _handed(
        self, receiver: ast.expr, value: Value, scope: Scope, env: Env, threading: Threading, node: ast.AST
    ) -> str:
        text = threading.hand(receiver, value, scope, env)
        if text is None:
            raise CannotChange(
                threading.failure or Reason("no expression there is provably the model it was made for", scope, node)
            )
        return text


def _compared(event: AttrEvent, written: dict[ast.expr, str]) -> Iterator[tuple[str, str]]:
    """Yield what a read is compared with, as the two sides will be written: alike, they would be the same always."""
    source = event.scope.module.source
    if not any(word in source.text(event.statement) for word in _COMPARING):
        return
    for node in ast.walk(event.statement):
        sides = told_alike(node)
        if sides is not None and event.node in sides:
            one, two = (written.get(side) or source.text(side) for side in sides)
            yield one, two


_COMPARING = (" is ", "==", "!=", *ASKING)


def _without(source: Source, statement: ast.stmt) -> Edit:
    """Return the edit that removes a statement with its lines."""
    return Edit(source.line_starts[statement.lineno - 1], source.data.index(b"\n", source.span(statement)[1]) + 1, b"")


def _at(constructor: Constructor, words: str) -> Reason:
    return Reason(words, constructor.event.scope, constructor.event.node)


def fresh(name: str, scope: Scope) -> str:
    """Return ``name``, or a variant of it, that no scope of the module uses."""
    used = set(re.findall(r"[^\W\d]\w*", scope.module.source.data.decode("utf-8")))
    candidate, number = name, 2
    while candidate in used:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
