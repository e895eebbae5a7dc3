"""The decision for each optimizer group: the explicit form, the compatible class, or a question to the user."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.flow import Flow
from codemods.nnx.kinds import Kind
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.compatible import CompatibleForm
from codemods.nnx.optimizer.explicit import CannotChange, ExplicitForm
from codemods.nnx.optimizer.gradients import Gradient, differentiated, gradient, gradients, hints
from codemods.nnx.optimizer.groups import Group, Groups, Reason, Update
from codemods.nnx.optimizer.identity import Identity, Spellings, evaluate
from codemods.nnx.optimizer.loose import (
    BY_NAME,
    loose_methods,
    loose_reads,
    loose_updates,
    loose_views,
    merged,
    of_nnx,
    possible_updates,
    record_reads,
    rivals,
)
from codemods.nnx.optimizer.origins import COMPATIBLE, OLD, Constructor, Origins
from codemods.nnx.optimizer.reach import Reach
from codemods.nnx.options import OptimizerForm
from codemods.nnx.rewrite import RewriteError, insert_first
from codemods.nnx.values import Call, Class, Param, Ref, Value


def family(code: str) -> Callable[[Context], Iterator[Finding]]:
    """Return the check of one rule of the family, all of which share one analysis."""

    def check(context: Context) -> Iterator[Finding]:
        return (found for found in optimizer_findings(context) if found.code == code)

    return check


def optimizer_findings(context: Context) -> tuple[Finding, ...]:
    """Return everything the family has to say; its rules share one analysis."""
    return context.shared(_everything)


def _everything(context: Context) -> tuple[Finding, ...]:
    return tuple(migrate(context))


def migrate(context: Context) -> Iterator[Finding]:
    """Yield what the family has to say about a project."""
    flow = context.flow
    origins = Origins(flow, context.sources)
    if not context.options.crosses("0.11"):
        if context.options.target != "0.10":  # the order is wrong wherever `update` takes a model
            for update in Groups(origins).updates_and_reads()[0]:
                yield from _swapped(flow, update)
        return
    new = _only_new(context, origins)
    if new is not None:  # where else its optimizers go need not be asked
        for update in new:
            yield from _misused(context, origins, update)
        return
    identity = Identity(origins, lambda function: function in context.traced)
    collected = Groups(origins)
    groups = collected.collect()
    _doubt(flow, groups, collected.unanswered)
    linked = {update.event for group in groups for update in group.updates}
    loose = list(loose_updates(flow, context.sources, origins.may, linked))
    reach, others = Reach(flow.project), rivals(flow)  # they may be of a class of the project's own
    doubtful = [u for u in loose if any(reach.meet(u.event.scope.module, module) for module in others)]
    groups, apart = _gathered(groups, [update for update in loose if update not in doubtful])
    taken: dict[Group, str] = {}
    names = {update: _presumed(flow, Spellings(identity), update) for update in apart}
    for update, name in names.items():
        if name is None:
            words = "an update() of an optimizer that cannot be told may be its own"
            for group in _away(groups, OLD):
                group.reasons.append(Reason(words, update.event.scope, update.event.node))
    if any(map(_old, groups)):
        for event in possible_updates(flow, context.sources, origins.may, linked | {update.event for update in loose}):
            words = "an update() of something that cannot be told may be its own"
            for group in filter(_old, groups):
                group.reasons.append(Reason(words, event.scope, event.node))
    groups, told = _read_away(context, groups, origins)
    for group in groups:
        if group.constructors and all(c.kind == COMPATIBLE for c in group.constructors):
            taken[group] = "compatible"
        for update in group.updates:
            yield from _misused(context, origins, update)
        if any(c.kind == OLD for c in group.constructors) or any(
            origins.optimizer_base(c) == OLD for c in group.subclasses
        ):
            taken[group] = "explicit"
            if group is told or _outdated(flow, group):
                found = list(_migrated(context, origins, identity, group))
                yield from found
                taken[group] = _form(found)
        elif group.outside and not group.constructors:
            yield from _reads_from_outside(group)
    for update, name in names.items():
        yield from _apart(flow, groups, update, name, taken)
    forms = {taken.get(group, "left") for group in groups if group.constructors or group.subclasses}
    for update in doubtful if forms != {"compatible"} else ():  # right as it is, whichever of the two it is of
        mine = _handed_over(flow, origins, update)
        own = {taken.get(group, "left") for group in groups if group.members & mine}
        if own != {"compatible"} and not _made_compatible(origins, update):
            yield _unseen(flow, update.event, offer=False)


def _read_away(context: Context, groups: list[Group], origins: Origins) -> tuple[list[Group], Group | None]:
    """Join the optimizers that leave the project, if the model is read of one that cannot be told.

    Returns:
        The groups, and the one of those optimizers, which takes the form that has a model; None if nothing is read.
    """
    flow, old = context.flow, [group for group in groups if _old(group)]
    away = [group for group in old if group.leaves]
    linked = {event for group in groups for event in group.reads}
    reads = list(loose_reads(flow, context.sources, linked, origins.may)) if old else []
    event: AttrEvent | CallEvent | None = None
    if away:
        event = next(iter(reads), None) or next(loose_views(flow, context.sources), None)
    if away and event is None:
        event = next(loose_methods(flow, context.sources, origins.may), None)
    if event is None:  # whatever was split may come back out of nnx.merge
        event = next((read for read in reads if merged(flow, flow.here(read.base, read.scope))), None)
        away = old
    if event is None and old:
        for read, given in record_reads(flow, context.sources, linked):
            made = {origin for one in given for origin in origins.of(one)}
            away = [group for group in old if not made.isdisjoint(group.constructors)]
            if away:
                event = read
                break
    if event is None:
        return groups, None
    groups = _joined(groups, away)
    seen = _seen(event)
    words = f"{seen} an optimizer that cannot be told, which may be this one"
    groups[-1].reasons.append(Reason(words, event.scope, event.node))
    return groups, groups[-1]


def _seen(event: AttrEvent | CallEvent) -> str:
    """Say what is done with an optimizer that cannot be told."""
    if isinstance(event, AttrEvent):
        return "the model is read of" if event.node.attr == "model" else "its update method is taken of"
    name = last_word(event.node.func)
    return f"{ast.unparse(event.node.func)}() {'takes the method of' if name in BY_NAME else 'sees'}"


def _gathered(groups: list[Group], loose: list[Update]) -> tuple[list[Group], list[Update]]:
    """Join updates of unknown origin with the optimizers made in their module.

    Returns:
        The groups, and the updates in whose module no optimizer is made.
    """
    groups, apart = list(groups), []
    for outside in [g for g in groups if g.outside and not g.constructors and not g.subclasses]:
        if not any(update.old for update in outside.updates) and not outside.reads:
            continue
        modules = {u.event.scope.module for u in outside.updates} | {e.scope.module for e in outside.reads}
        near = [g for g in groups if g is not outside and {c.event.scope.module for c in _old(g)} & modules]
        if near:
            groups = _joined(groups, [*near, outside])
        else:
            apart += [update for update in outside.updates if update.old and not update.inner]
    for update in loose:
        near = [g for g in groups if any(c.event.scope.module is update.event.scope.module for c in _old(g))]
        if near:
            groups = _joined(groups, near)
            whole = next(g for g in groups if near[0].members <= g.members)
            whole.updates.append(update)
            whole.loose.append(update)
        else:
            apart.append(update)
    return groups, apart


def _joined(groups: list[Group], several: list[Group]) -> list[Group]:
    """Make one group of several."""
    whole = Group()
    for group in several:
        whole.join(group)
    return [*(g for g in groups if g not in several), whole]


def _old(group: Group) -> list[Constructor]:
    return [c for c in group.constructors if c.kind == OLD]


def _form(found: list[Finding]) -> str:
    """Return the form that a group took, from what is said about it."""
    if any(f.fix is None for f in found if f.code in {"NNX102", "NNX103"}):
        return "left"
    return "compatible" if any(f.code in {"NNX103", "NNX110"} for f in found) else "explicit"


def _away(groups: list[Group], *kinds: str) -> list[Group]:
    """Return the groups whose optimizers may be updated where no optimizer is made."""
    made = [g for g in groups if any(c.kind in (kinds or (OLD, COMPATIBLE)) for c in g.constructors)]
    return [g for g in made if not g.updates or g.leaves or any(r.open_end for r in g.reasons)]


def _presumed(flow: Flow, spellings: Spellings, update: Update) -> str | None:
    """Return what the gradients of an update of unknown origin were taken of, if it may be passed as the model."""
    event = update.event
    if update.receiver is None:
        return None
    near, of = hints(flow, event, event.scope), differentiated(flow, event, event.scope)
    return spellings.presumed(update.receiver, update.value, event.scope, event.env, near, of)


def _apart(
    flow: Flow, groups: list[Group], update: Update, name: str | None, taken: dict[Group, str]
) -> Iterator[Finding]:
    """Report, or migrate, an update in whose module no optimizer is made."""
    event = update.event
    module = event.scope.module
    if any(c.event.scope.module is module for g in groups for c in g.constructors if c.kind == COMPATIBLE):
        return  # it is migrated already
    forms = {taken.get(group, "left") for group in _away(groups)}
    held = {taken.get(group, "left") for group in groups if _held_as(group, update)}
    if forms | held == {"compatible"}:
        return  # right as it is
    if forms == {"explicit"} and held <= forms and name is not None:
        source = module.source
        try:
            edit = insert_first(source, event.node, [name], None if event.value.args else "grads")
        except RewriteError:
            edit = None
        if edit is not None:
            words = f"update() takes the model since Flax 0.11; the gradients were taken of `{name}`"
            yield finding("NNX102", event.scope, event.node, words, fix=Fix(((source.path, edit),)), notable=True)
            return
    yield _unseen(flow, event, offer=not forms and "compatible" not in held)


def _held_as(group: Group, update: Update) -> bool:
    """Say whether optimizers of a group are stored in attributes of the name by which an update reaches its own."""
    receiver = update.receiver
    return isinstance(receiver, ast.Attribute) and any(
        isinstance(target, ast.Attribute) and target.attr == receiver.attr
        for constructor in group.constructors
        if isinstance(constructor.event.statement, ast.Assign)
        for target in constructor.event.statement.targets
    )


def _doubt(flow: Flow, groups: list[Group], unanswered: dict[ModuleFacts, ast.AST]) -> None:
    """Let optimizers that may come to places whose values could not be followed take the form that is right anyway."""
    if not unanswered:
        return
    reach = Reach(flow.project)
    for group in groups:
        for constructor in group.constructors:
            made = constructor.event.scope.module
            module = next((m for m in unanswered if reach.meet(made, m)), None)
            if module is not None:
                words = "it may come to a module in which not every value could be followed"
                group.reasons.append(Reason(words, module.scope, unanswered[module]))
                break


def _only_new(context: Context, origins: Origins) -> list[Update] | None:
    """Return all updates of a project that has nothing of 0.10; None if it may have."""
    flow, made = context.flow, origins.constructors.values()
    classes = [cls for cls in flow.project.classes() if origins.optimizer_base(cls)]
    if any(_made_without_wrt(flow, one) for one in made) or any(_derived_without_wrt(flow, cls) for cls in classes):
        return None
    updates, reads = Groups(origins).updates_and_reads()
    if reads or any(update.old for update in updates):
        return None
    linked = {update.event for update in updates}
    if next(loose_updates(flow, context.sources, origins.may, linked), None) is not None:
        return None
    leaving = any(one.kind == OLD for one in made)  # or may be
    if leaving and next(loose_reads(flow, context.sources, set(), origins.may), None) is not None:
        return None
    return updates


def _outdated(flow: Flow, group: Group) -> bool:
    """Say whether a group uses what 0.11 no longer has."""
    if any(_made_without_wrt(flow, constructor) for constructor in group.constructors):
        return True
    if any(_derived_without_wrt(flow, cls) for cls in group.subclasses):
        return True
    stored = any("model" in cls.stores for cls in group.subclasses)
    return any(update.old for update in group.updates) or (bool(group.reads) and not stored)


def _made_without_wrt(flow: Flow, constructor: Constructor) -> bool:
    """Say whether an optimizer is made as up to 0.10."""
    own = constructor.cls is not None and flow.classes.method(constructor.cls, "__init__") is not None
    keywords = [*constructor.event.value.keywords, *(constructor.partial.keywords if constructor.partial else ())]
    return constructor.kind == OLD and not own and not any(name in {"wrt", None} for name, _ in keywords)


def _derived_without_wrt(flow: Flow, cls: ClassFacts) -> bool:
    """Say whether a class makes what it derives from as up to 0.10."""
    init = cls.methods.get("__init__")
    event = flow.classes.super_constructor(init) if init is not None else None
    return event is not None and not any(name in {"wrt", None} for name, _ in event.value.keywords)


def _migrated(context: Context, origins: Origins, identity: Identity, group: Group) -> Iterator[Finding]:
    form = context.options.optimizer
    why: Reason | None = None
    both = "0.10" in context.options.targets  # where update(model, grads) does not exist
    if form is not OptimizerForm.COMPATIBLE and not both:
        try:
            yield from ExplicitForm(origins, identity, form is OptimizerForm.THREAD).plan(group).findings()
            return
        except CannotChange as error:
            why = error.reason
    if form is not OptimizerForm.THREAD or both:
        compatible = CompatibleForm(origins, context.options.targets)
        try:
            yield from compatible.plan(group, why).findings()
            return
        except CannotChange as error:
            found = list(_by_parts(compatible, group, why))
            if found:
                yield from found
                return
            why = error.reason
    assert why is not None
    if any(_made_compatible(origins, update) for update in group.loose):  # of those that are migrated already
        group.updates = [update for update in group.updates if update not in group.loose]
    yield from _undecided(group, why)


def _made_compatible(origins: Origins, update: Update) -> bool:
    """Say whether an optimizer that keeps its model is made in the module of an update."""
    module, made = update.event.scope.module, origins.constructors.values()
    return any(one.kind == COMPATIBLE and one.event.scope.module is module for one in made)


def _handed_over(flow: Flow, origins: Origins, update: Update) -> frozenset[Constructor | Param]:
    """Return the optimizers in what a lambda gets element by element: ``map(lambda p: ..., pairs)``."""
    function, found = update.event.scope.function, frozenset[Constructor | Param]()
    if function is None or not isinstance(function.node, ast.Lambda):
        return found
    for event in flow.project.calls():
        if function.node in event.node.args and len(event.node.args) == len(event.value.args):
            others = zip(event.node.args, event.value.args, strict=True)
            for node, value in others:
                if node is not function.node:
                    found |= origins.contained(flow.here(value, event.scope))
    return found


def _by_parts(compatible: CompatibleForm, group: Group, why: Reason | None) -> Iterator[Finding]:
    """Migrate a group but for those of its parts that cannot be changed; nothing if that is all of it or nothing.

    Only an update of unknown origin joins the parts: what keeps one of them as it is says nothing of the others, which
    are right for that update in the compatible form.
    """
    rest, left = Group(), list[tuple[Group, Reason]]()
    for part in group.parts:
        try:
            compatible.plan(part, why)
            rest.join(part)
        except CannotChange as error:
            left.append((part, error.reason))
    if not left or not rest.constructors:
        return
    theirs = {update for part in group.parts for update in part.updates}
    rest.updates += [update for update in group.updates if update not in theirs]
    try:
        changed = list(compatible.plan(rest, why).findings())
    except CannotChange:
        return
    yield from changed
    for part, reason in left:
        yield from _undecided(part, reason)


def _undecided(group: Group, why: Reason) -> Iterator[Finding]:
    """Report a group that takes neither form."""
    help = "migrate these uses together by hand: nnx.Optimizer(model, tx, wrt=...) and update(model, grads)"
    for constructor in group.constructors:
        yield finding(
            "NNX103",
            constructor.event.scope,
            constructor.event.node,
            f"this optimizer is left as it is because {why}",
            help,
        )
    for update in group.updates:
        if update.old:
            yield finding("NNX102", update.event.scope, update.event.node, f"left as it is because {why}", help)


def _reads_from_outside(group: Group) -> Iterator[Finding]:
    """Report reads of the model of optimizers that only an annotation tells of."""
    for event in group.reads:
        yield finding(
            "NNX104",
            event.scope,
            event.node,
            "nnx.Optimizer has no model since Flax 0.11, and where this optimizer is made is not in sight",
            "take the model as a parameter, or annotate and make it as nnx.ModelAndOptimizer",
        )


def _unseen(flow: Flow, event: CallEvent, offer: bool) -> Finding:
    """Return the finding on an update whose optimizer is made elsewhere, with the likely edit as an unsafe fix."""
    near = hints(flow, event, event.scope)
    fix = None
    help = "give the function the model and call update(model, grads), or make the optimizer a nnx.ModelAndOptimizer"
    for node in near:
        if isinstance(node, ast.Name | ast.Attribute) and evaluate(node, event.env, event.scope) is not None:
            text = ast.unparse(node)
            help = f"right for a nnx.ModelAndOptimizer; for a nnx.Optimizer of `{text}` write update({text}, ...)"
            if offer:
                help = f"if it was made for `{text}`, write update({text}, ...)"
                try:
                    edit = insert_first(
                        event.scope.module.source, event.node, [text], None if event.value.args else "grads"
                    )
                except RewriteError:
                    continue
                fix = Fix(((event.scope.module.source.path, edit),), Safety.UNSAFE)
    message = "update() needs the model since Flax 0.11, but where this optimizer is made is not in sight"
    return finding("NNX107", event.scope, event.node, message, help, fix)


# -- uses that are wrong on every version ---------------------------------------------------------


def _misused(context: Context, origins: Origins, update: Update) -> Iterator[Finding]:
    yield from _swapped(context.flow, update)
    yield from _filtered(context, origins, update)


def _swapped(flow: Flow, update: Update) -> Iterator[Finding]:
    call, scope = update.event.value, update.event.scope
    if len(call.args) == 2 and not call.starred:
        first, second = (gradient(flow, flow.here(a, scope)) for a in call.args)
        if first is not None and second is None:
            yield finding(
                "NNX105",
                scope,
                update.event.node,
                "update() gets the gradients first and the model second; nothing is trained and no error is raised",
                "write update(model, grads)",
            )


def _below_param(flow: Flow, made: Constructor) -> bool:
    """Say whether an optimizer updates a class of its own below ``nnx.Param``."""
    chosen = made.event.value.argument(2, "wrt")
    value = flow.resolve(flow.here(chosen, made.event.scope)).value if chosen is not None else None
    if isinstance(value, Class):
        return "flax.nnx.Param" in flow.classes.mro(value.facts)[1]
    return value == Ref("flax.nnx.LoRAParam")


def _filtered(context: Context, origins: Origins, update: Update) -> Iterator[Finding]:
    """Report gradients of other Variables than the optimizer updates, on whichever ways lead there."""
    flow, newest = context.flow, context.options.targets == ("0.12",)
    call, scope = update.event.value, update.event.scope
    grads = call.args[-1] if call.args else call.keyword("grads")
    found = gradients(flow, flow.here(grads, scope)) if grads is not None else []
    made = [m for m in origins.of(flow.here(update.value, scope)) if isinstance(m, Constructor)]
    if not found or not made or any(m.cls is not None for m in made):
        return
    taken = {_taken(context, one) for one in found}
    kinds = {_updated(flow, member) for member in made}
    if "" in taken | kinds or taken & kinds:  # one flag may choose both
        return
    if newest and taken == {"flax.nnx.Param"} and all(_below_param(flow, member) for member in made):
        return  # 0.12 leaves the other gradients out, and so freezes their parameters
    words = " or ".join(_short(kind) for kind in sorted(kinds))
    others = " or ".join(_short(kind) for kind in sorted(taken))
    yield finding(
        "NNX106",
        scope,
        update.event.node,
        f"the optimizer updates {words}, but the gradients were taken of {others}",
        "pass the same filter: argnums=nnx.DiffState(0, filter) and wrt=filter",
    )


def _taken(context: Context, found: Gradient | None) -> str:
    """Return the name of the class that gradients were taken of; empty if it is not known."""
    if found is None or not of_nnx(context.flow, found):
        return ""
    if found.filter is not None:
        return _class_name(context.flow, found.filter, found)
    call = found.call.value
    of = call.args[found.argument] if isinstance(call, Call) and found.argument < len(call.args) else None
    if of is not None and Kind.STATE in context.kinds.of(context.flow.with_value(found.call, of)):
        return ""  # gradients of a state are taken of all that is in it
    return "flax.nnx.Param"


def _updated(flow: Flow, made: Constructor) -> str:
    """Return the name of the class that an optimizer updates; empty if it is not known."""
    chosen = made.event.value.argument(2, "wrt")
    if chosen is None:
        return "flax.nnx.Param"
    return _named(flow.resolve(flow.here(chosen, made.event.scope)).value)


def _class_name(flow: Flow, value: Value, found: Gradient) -> str:
    return _named(flow.follow(found.transform, value).value)


def _named(value: Value) -> str:
    if isinstance(value, Ref):
        return value.name
    return value.facts.name if isinstance(value, Class) else ""


def _short(name: str) -> str:
    return name.removeprefix("flax.")
