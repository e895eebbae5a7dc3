"""NNX830: one key for several draws."""

from __future__ import annotations

import ast
from bisect import bisect
from collections.abc import Iterator
from collections.abc import Sequence as Sequence_
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.carried_keys import carried_keys
from codemods.nnx.lint.compared_draws import harmless_pair, in_step, meant_pair, warmed_up, weak_round
from codemods.nnx.lint.conditions import apart, named_apart, opposed, told_by_value
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.drawn_over import drawn_over
from codemods.nnx.lint.idle_keys import idle
from codemods.nnx.lint.key_anew import keys_anew
from codemods.nnx.lint.key_of_state import kept_in_states
from codemods.nnx.lint.key_purpose import (
    always_leaves,
    for_evaluation,
    for_judging,
    in_derivative_rule,
    of_compared,
    of_latent,
    only_initializes,
    only_printed,
    tries_initialized,
)
from codemods.nnx.lint.key_rounds import ORDERED, ORDERS, drawn_into, handed_on, in_each_round, parts_of_rounds, repeats
from codemods.nnx.lint.keys import SAME, Use, uses, varies
from codemods.nnx.lint.listed_keys import drawn_by_inner, gone_through_twice
from codemods.nnx.lint.looked_at import for_shapes_alone, ignored_parts, in_smoke_test, shown_with_key
from codemods.nnx.lint.lost_draws import lost_in_try
from codemods.nnx.lint.meant import documented_same, same_said
from codemods.nnx.lint.measured import in_trial, only_measured
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.origins import constant_key
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.seed_in_loop import seeds_in_loops
from codemods.nnx.lint.syntax import argument, constant, inside
from codemods.nnx.lint.useless_draws import (
    begins_cache,
    forgotten,
    in_two_modes,
    loaded_over,
    made_anew,
    made_lazily,
    of_no_effect,
    of_no_elements,
    only_waited_for,
    overwritten,
    placeholder,
    thrown_away,
    tries_out,
    warms_up,
)
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Each, Free, Item, Loop, Param, Value

_PLACES = frozenset({"permutation", "choice", "randint"})
_HELPERS = 3  # how many functions deep a key is followed that picks orders
_TIMING = pattern(r"_*(bench|timeit|autotune)")
_CLOCKS = frozenset({"perf_counter", "perf_counter_ns", "timer", "default_timer"})
_BENCH = pattern(r"(^|_)bench")
_FITTING = pattern(r"train|update|optimi[sz]er|adam|sgd|fit|loss|grad|learn")
_LEARNING = pattern(r"train|step|update|optimi[sz]er|adam|sgd|fit|loss|rollout")
_HELP = "split the key and use each part once: key, subkey = jax.random.split(key)"


def _check(context: Context) -> Iterator[Finding]:
    yield from (place.found(RULE.code) for place in context.shared(reuses) if not place.weak)
    for event, text in seeds_in_loops(context):
        message = f"`{text}` is the same key in every round of the loop, and gives the same numbers"
        yield finding(RULE.code, event.scope, event.node, message, "split a key in every round, and draw with its part")
    for event, name in keys_anew(context):
        message = (
            f"`{name}` is made of the same seed in every round of the loop, which draws the same numbers each time"
        )
        help = "make it once before the loop, and split it in every round"
        yield finding(RULE.code, event.scope, event.node, message, help)


class Reuse(NamedTuple):
    """A key that is used again.

    Attributes:
        scope: where it stands.
        node: the call.
        message: what is wrong.
        help: what to do.
        related: the other uses.
        weak: whether the same numbers may well be meant there.
    """

    scope: Scope
    node: ast.AST
    message: str
    help: str = _HELP
    related: Sequence_[tuple[ast.AST, str]] = ()
    weak: bool = False

    def found(self, code: str) -> Finding:
        """Return the finding of a rule."""
        return finding(code, self.scope, self.node, self.message, self.help, related=self.related)


def reuses(context: Context) -> list[Reuse]:
    """Return where keys are used again, the first place for each: what it is meant for tells of the others."""
    known = context.shared(uses)
    places: list[Reuse] = []
    named: set[tuple[object, ...]] = set()  # who splits one key after a draw is told of the next round as well
    later: list[tuple[Use, Reuse]] = []
    for (scope, _), found in known.items():
        if in_test(scope) or in_derivative_rule(scope) or only_initializes(scope):
            continue
        paths = context.bodies.paths(scope) if len(found) > 1 else {}
        place = next(_of_key(context, scope, found, paths), None)  # one finding tells of a key
        if (
            place is None
            and (split := _split_next([u for u in found if not u.masks], known)) is not None
            and not _timed(context, scope)
        ):
            message = f"`{_text(split)}` is split again in the next round after numbers were drawn from it"
            help = "draw from the other part: key, subkey = jax.random.split(key)"
            later.append((split, Reuse(scope, split.event.node, message, help)))
        if place is not None:
            named.update(map(_round_of, found))
            places.append(place)
    places += (place for use, place in later if _round_of(use) not in named)
    places += _listed_twice(context)
    places += _attributes_split_next(context)
    places += _resets_of_any(context, {place.node for place in places})
    told = {place.node for place in places}
    for use in carried_keys(context):
        if _round_of(use) in named:
            continue
        if use.event.node not in told and not thrown_away(use) and not _timed(context, use.event.scope):
            message = f"`{_text(use)}` is split again in the next round after numbers were drawn from it"
            help = "draw from the other part: key, subkey = jax.random.split(key)"
            places.append(Reuse(use.event.scope, use.event.node, message, help))
            told.add(use.event.node)
    for event, node, name in kept_in_states(context):
        if event.node not in told and not _timed(context, event.scope):
            message = f"`{ast.unparse(node)}` is the same key in every round: `{name}` gives the same numbers"
            places.append(Reuse(event.scope, event.node, message, "give the next state the other part of the key"))
    return places


def _listed_twice(context: Context) -> Iterator[Reuse]:
    """Yield the second draws with the keys of a list, by a comprehension that goes through it once more, or with the
    key of the function around an inner one that is called once more."""
    for earlier, use in gone_through_twice(context):
        scope = use.event.scope
        if scope.module not in context.asked or in_test(scope) or only_initializes(scope) or _timed(context, scope):
            continue
        if _said(context, use, [earlier]) or not _together(context, earlier, use, context.bodies.paths(scope)):
            continue
        if not harmless_pair(context, earlier, use) and not meant_pair(context, earlier, use):
            line = earlier.event.node.lineno
            message = f"each key of the list was used up in line {line}: the results depend on each other"
            yield Reuse(scope, use.event.node, message, "split the key into as many as both need")
    for use, before, event in drawn_by_inner(context):
        scope, name = event.scope, use.event.scope.function.name if use.event.scope.function is not None else ""
        if scope.module not in context.asked or in_test(scope) or _timed(context, scope) or idle(context, use):
            continue
        if not _said(context, use, []):
            message = f"`{name}` draws with `{_text(use)}` as in line {before.node.lineno}: the results are related"
            yield Reuse(scope, event.node, message, "give the function a key of its own for each call")


def _resets_of_any(context: Context, told: set[ast.AST]) -> Iterator[Reuse]:
    """Yield ``env.reset(key)`` in the body of a loop of JAX, with a key from outside and an object that is not known.

    Every ``reset`` of the project has to draw with its key.
    """
    known = context.shared(uses)
    for event in context.bodies.named("reset"):
        key = event.value.args[0] if len(event.value.args) == 1 and not event.value.starred else None
        if event.node in told or event.scope.module not in context.asked or in_test(event.scope):
            continue
        if not isinstance(key, Free) or not isinstance(event.value.callee, Attr):
            continue
        use = Use(event, key, "reset", event.node.args[0], helper=True)
        if not in_each_round(context, use) or kinds_of(context, key, event.scope) != {Kind.KEY}:
            continue
        methods = [cls.methods["reset"] for m in context.project.modules for cls in m.classes if "reset" in cls.methods]
        firsts = [list(method.params.values())[1:2] for method in methods]
        drawn = [bool(first) and bool(known.get((first[0].function.scope, first[0]))) for first in firsts]
        if drawn and all(drawn):
            message = f"`{key.name}` is the same key in every round: every episode begins in the same way"
            yield Reuse(
                event.scope, event.node, message, "give each reset a key of its own, as those that scan goes over"
            )


def _attributes_split_next(context: Context) -> Iterator[Reuse]:
    """Yield the draws from a key of an object that is split into its own place, as in the next round again."""
    for event in context.bodies.named("split"):
        statement, given = event.statement, event.node.args[0] if event.node.args else None
        if not isinstance(given, ast.Attribute) or not isinstance(statement, ast.Assign) or in_test(event.scope):
            continue
        parts = [n for target in statement.targets if isinstance(target, ast.Tuple) for n in target.elts]
        text = ast.unparse(given)
        if text not in map(ast.unparse, parts) or event.scope.module not in context.asked:
            continue
        function = event.scope.function
        again = [] if function is None else context.flow.sites.callers(function)
        if not (event.loops or any(one.loops for one in again)) or SAME.search(given.attr):
            continue
        if context.flow.calls.name(event) != "jax.random.split":
            continue
        draw = _drawn_behind(context, event, text)
        if draw is not None:
            message = f"`{text}` is split again in the next round after numbers were drawn from it"
            help = f"draw from the other part: {text}, subkey = jax.random.split({text})"
            yield Reuse(event.scope, draw.node, message, help)


def _drawn_behind(context: Context, split: CallEvent, text: str) -> CallEvent | None:
    """Return a draw from an attribute in the block of the statement that splits it, behind that."""
    block = context.bodies.block(split.node, split.statement, split.scope)
    if not block:
        return None
    calls = context.bodies.calls.get(split.scope, ())
    for statement in block[block.index(split.statement) + 1 :]:
        if any(
            isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and ast.unparse(n) == text
            for n in ast.walk(statement)
        ):
            return None
        for event in calls:
            first = event.node.args[0] if event.node.args else None
            if isinstance(first, ast.Attribute) and ast.unparse(first) == text and inside(event.node, statement):
                name = context.flow.calls.name(event)
                if name.startswith("jax.random.") and last(name) not in {"split", *NOT_CONSUMING}:
                    if not (isinstance(event.statement, ast.Expr) and event.statement.value is event.node):
                        return event  # what is thrown away NNX834 tells of
    return None


def _of_key(
    context: Context, scope: Scope, found: list[Use], paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]
) -> Iterator[Reuse]:
    """Yield the uses of a key that was used before, or in the round before."""
    for index, use in enumerate(found):
        if (use.helper and _meant(context, use)) or _said(context, use, found[:index]):
            continue
        if (use.helper or last(use.name) == "split") and loaded_over(context, use):
            continue
        if use.masks and _timed(context, scope):
            continue
        before = (
            u
            for u in found[:index]
            if not (u.masks or use.masks) and _together(context, u, use, paths) and _related(context, u, use)
        )
        earlier = next((u for u in before if not harmless_pair(context, u, use)), None)
        if earlier is not None and not (use.helper or earlier.helper) and _timed(context, scope):
            continue
        if earlier is not None:
            yield Reuse(
                scope,
                use.event.node,
                f"`{_text(use)}` was used up by `{last(earlier.name)}` in line {earlier.event.node.lineno}: "
                f"{_consequence(context, earlier, use)}",
                related=_others(context, use, earlier, found, paths),
                weak=meant_pair(context, earlier, use) or in_two_modes(earlier, use),
            )
            continue
        loops = [loop for loop in use.event.loops if repeats(context, use, loop) and not always_leaves(loop)]
        if loops and ((not use.helper and _timed(context, scope)) or any(map(warmed_up, loops))):
            continue
        if loops and (parts := parts_of_rounds(use, loops)) is not None:
            if parts:
                yield Reuse(scope, use.event.node, parts, "split the key into as many as there are rounds")
            continue
        in_body = not loops and in_each_round(context, use) and not of_latent(use)
        if not (loops or in_body or handed_on(context, use)):
            continue
        if only_printed(use) or (loops and for_evaluation(context, use)):
            continue
        if (
            _unread_parts(use)
            or (loops and all(_unread_within(use, loop) for loop in loops))
            or (last(use.name) == "split" and forgotten(context, use))
            or begins_cache(context, use)
            or (thrown_away(use) and (not use.helper or only_waited_for(use)))
        ):
            continue
        if ignored_parts(context, use) or only_measured(context, use) or shown_with_key(use):
            continue
        if not idle(context, use) and not drawn_over(context, use):
            yield Reuse(
                scope,
                use.event.node,
                f"`{_text(use)}` is the same key in every round: `{last(use.name)}` gives the same numbers",
                weak=bool(loops)
                and all(
                    weak_round(context, use, loop) or of_compared(use, loop) or for_judging(context, use, loop)
                    for loop in loops
                ),
            )


def _consequence(context: Context, one: Use, two: Use) -> str:
    """Return what comes of two uses of a key: of a draw and a split beside it, no dependence can be measured."""
    splits = [last(use.name) == "split" or _splits_alone(context, use) for use in (one, two)]
    if splits[0] is splits[1] or any(use.helper and not split for use, split in zip((one, two), splits, strict=True)):
        return "the results depend on each other"
    return "jax.random allows one use, and jax_debug_key_reuse refuses this one"


def _splits_alone(context: Context, use: Use) -> bool:
    """Say whether a function of the project does nothing with the key that it is given but split it."""
    called = _called(context, use) if use.helper else None
    if called is None:
        return False
    own = [one for (scope, key), found in context.shared(uses).items() if scope is called.scope for one in found
           if isinstance(key, Param)]  # fmt: skip
    return (
        bool(own)
        and all(not one.helper and last(one.name) == "split" for one in own)
        and not any(
            context.flow.calls.name(event).startswith("jax.random.") and last_word(event.node.func) != "split"
            for event in context.bodies.calls.get(called.scope, ())
        )
    )


def _unread_parts(use: Use) -> bool:
    """Say whether nobody reads what a key is split into."""
    statement = use.event.statement
    if last(use.name) != "split" or not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    stores = [n for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name | ast.Attribute)]
    names = {n.id for n in stores if isinstance(n, ast.Name)}
    if len(names) < len(stores) or use.event.scope.function is None or names & use.event.scope.globals:
        return False
    return not any(
        isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
        for n in ast.walk(use.event.scope.node)
    )


def _unread_within(use: Use, loop: ast.AST) -> bool:
    """Say whether no round of a loop reads what it splits a key into: all that is left of them is the last one's."""
    statement = use.event.statement
    if last(use.name) != "split" or not isinstance(statement, ast.Assign) or not isinstance(loop, ast.For | ast.While):
        return False
    names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    if any(isinstance(n, ast.Attribute) for target in statement.targets for n in ast.walk(target)):
        return False
    return not any(isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) for n in ast.walk(loop))


def _said(context: Context, use: Use, before: list[Use]) -> bool:
    """Say whether a comment, or what the called function says of itself, tells that the same numbers are meant."""
    scope, statement = use.event.scope, use.event.statement
    if same_said(scope, statement):
        return True
    for other in before:  # a comment above lines that stand together
        if (other.event.statement.end_lineno or 0) + 1 == statement.lineno and same_said(scope, other.event.statement):
            return True
    called = _called(context, use) if use.helper else None
    if called is not None and documented_same(called):
        return True
    if not isinstance(use.node, ast.Name):
        return False
    renamed = (  # `reset_key = fixed_key`
        n
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Name | ast.Attribute) and n.lineno < statement.lineno
        if any(isinstance(target, ast.Name) and target.id == use.node.id for target in n.targets)
    )
    return any(same_said(scope, one) for one in renamed)


def _timed(context: Context, scope: Scope) -> bool:
    """Say whether a body measures how long something takes, whatever the numbers are, and trains nothing."""
    names = [last_word(event.node.func).lower() for event in context.bodies.calls.get(scope, ())]
    if any(map(_TIMING.match, names)):
        return not any(map(_LEARNING.search, names))
    around: Scope | None = scope  # what an inner function draws is timed by the body around it
    while around is not None:
        names = [last_word(event.node.func).lower() for event in context.bodies.calls.get(around, ())]
        if any(map(_FITTING.search, names)):
            return False
        function = around.function
        bench = function is not None and bool(_BENCH.search(function.name.lower()))
        ready = "block_until_ready" in names  # the clock is for what was computed, and no date
        if _CLOCKS.intersection(names) or ((bench or ready) and "time" in names):
            return not any(
                _FITTING.search(last_word(n.func).lower()) for n in ast.walk(around.node) if isinstance(n, ast.Call)
            )
        around = around.parent
    return False


def _others(
    context: Context, use: Use, earlier: Use, found: list[Use], paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]
) -> list[tuple[ast.AST, str]]:
    """Return the other uses of a key that was used up: the first one, and those behind the one that is reported."""
    later = [
        other
        for other in found[found.index(use) + 1 :]
        if other.event is not use.event
        and _together(context, earlier, other, paths)
        and _related(context, earlier, other)
    ]
    return [(earlier.event.node, "used up here"), *((other.event.node, "and used again here") for other in later)]


def _split_next(found: list[Use], every: dict[tuple[Scope, Value], list[Use]]) -> Use | None:
    """Return a draw from a key that the next round of the loop uses again."""
    for use in found:
        key = use.key
        if not isinstance(key, Loop) or key.node not in use.event.loops:
            continue  # behind the loop there is no next round
        if key.again is not None and key.again is not key:
            for other in every.get((use.event.scope, key.again), ()):
                if key.node in other.event.loops and last(other.name) != "split":
                    if other.helper and not _other_part_unread(key.again, other):
                        continue
                    if not thrown_away(other):
                        return other
    return None


def _other_part_unread(part: Value, use: Use) -> bool:
    """Say whether of ``key, subkey = jax.random.split(key)`` nothing reads the second, and a use takes the first."""
    made = part.base if isinstance(part, Item) else None
    if not isinstance(made, Call) or last_word(made.node.func) != "split":
        return False
    nodes = [n for n in ast.walk(use.event.scope.node) if isinstance(n, ast.Assign) and n.value is made.node]
    target = nodes[0].targets[0] if len(nodes) == 1 else None
    names = [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else []
    others = {name for name in names if isinstance(use.node, ast.Name) and name != use.node.id}
    if len(names) != 2 or len(others) != 1:
        return False
    reads = (n for n in ast.walk(use.event.scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return not any(n.id in others for n in reads)


def _meant(context: Context, use: Use) -> bool:
    """Say whether a helper may get the same key on purpose, as an evaluation that shall see the same noise."""
    if (
        SAME.search(_text(use))
        or SAME.search(use.name)
        or use.name.startswith("__")
        or SAME.search(_whole(context, use))
        or SAME.search(_owner(use))
    ):
        return True
    statement = use.event.statement
    if isinstance(statement, ast.Expr) and statement.value is use.event.node and _PICTURES.search(last(use.name)):
        return True
    # what is assigned to `_names` is an example of shapes, as a rule
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is use.event.node else []
    names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return (bool(names) and all(name.startswith("_") for name in names)) or (use.helper and _resumes(context, use))


def _resumes(context: Context, use: Use) -> bool:
    """Say whether a helper goes on from a checkpoint that it reads: its key is for what begins anew."""
    callees = context.flow.calls.callables(context.flow.here(use.event.value.callee, use.event.scope))
    function = callees[0].function if len(callees) == 1 else None
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    return any(_RESTORED.search(name) for name in context.bodies.names(function.scope))


_RESTORED = pattern(r"(^|_)(restored|resumed)(_|$)")


# what makes a picture or a film, and gives nothing back: each of them is to show the same
_PICTURES = pattern(r"(^|_)(render|record|film|video|animate|draw|visuali[sz]e|save)(_\w+)?$")


def _owner(use: Use) -> str:
    """Return the name of the object whose method a call is."""
    func = use.event.node.func
    return last_word(func.value) if isinstance(func, ast.Attribute) else ""


def _related(context: Context, one: Use, two: Use) -> bool:
    """Say whether two uses may draw the same numbers; the same helper with the same arguments is called for that."""
    if one.helper and two.helper and one.name != two.name and _undone(one.name) == _undone(two.name):
        return False  # what is done with a key is undone with it
    if one.helper and two.helper and _adversaries(one.name, two.name):
        return False  # both steps may see the same samples
    if one.helper and two.helper and one.name != two.name and _stands_for(context, one, two):
        return False  # the same call through a function that does nothing else
    if one.helper and two.helper and one.name == two.name and _orders_alone(context, one):
        return False  # each is put into the same order, or a part of each is picked
    if not (one.helper and two.helper) or one.name != two.name:
        return not _meant(context, one) and not (two.helper and _compared(one, two)) if one.helper else True
    if one.gradient or two.gradient:
        return False  # a loss is differentiated for the noise that it is shown with
    if one.event.node is not two.event.node and _parts(one, two):
        return True
    if ast.dump(one.event.node) == ast.dump(two.event.node):
        return _other_data(one, two)
    return not _alike(one, two) and not _compared(one, two)


def _other_data(one: Use, two: Use) -> bool:
    """Say whether a call that is written a second time gets what came of the first, as the next layer does."""
    if one.event.scope is not two.event.scope or one.event.loops != two.event.loops:
        return False
    first, second = one.event.node, two.event.node
    target = one.event.statement.targets[0] if isinstance(one.event.statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or first.keywords or len(first.args) != len(second.args):
        return False
    values = one.event.scope.module.values
    moved = [
        isinstance(a, ast.Name) and a.id == target.id and values.get(a) != values.get(b)
        for a, b in zip(first.args, second.args, strict=True)
        if a is not one.node
    ]
    return moved[:1] == [True]


def _stands_for(context: Context, one: Use, two: Use) -> bool:
    """Say whether one of two calls is of an inner function that makes the other call."""
    return any(ast.dump(b.event.node) in _spelt_out(context, a) for a, b in ((one, two), (two, one)))


def _spelt_out(context: Context, use: Use) -> set[str]:
    """Return the calls that an inner function makes, with the arguments that it is given put into them."""
    node, called = use.event.node, _called(context, use)
    if called is None or called.scope.parent is not use.event.scope:
        return set()
    if node.keywords or len(node.args) != len(called.params):
        return set()
    given = {
        ast.dump(ast.Name(name, ast.Load())): ast.dump(arg) for name, arg in zip(called.params, node.args, strict=True)
    }
    found = set()
    for event in context.bodies.calls.get(called.scope, ()):
        text = ast.dump(event.node)
        for name, handed in given.items():
            text = text.replace(name, handed)
        found.add(text)
    return found


def _orders_alone(context: Context, use: Use, depth: int = 0) -> bool:
    """Say whether a function of the project draws with the key it is given only orders of arrays."""
    called = _called(context, use)
    found = {key: own for (scope, key), own in context.shared(uses).items() if called and scope is called.scope}
    own = [one for key, users in found.items() if isinstance(key, Param) for one in users]
    return (
        bool(own)
        and len(found) == 1
        and depth < _HELPERS
        and all(
            _orders_alone(context, one, depth + 1)
            if one.helper
            else last(one.name) in ORDERS and _of_array(context, one)
            for one in own
        )
    )


def _of_array(context: Context, use: Use) -> bool:
    """Say whether a draw puts an array into an order, or picks from it, and not the places of something."""
    values = use.event.value.args
    if len(values) < 2 or not isinstance(use.event.node.args[1], ast.Name) or isinstance(values[1], Const | Item):
        return False
    made = context.flow.resolve(context.flow.here(values[1], use.event.scope))
    return context.flow.calls.callee_name(made) not in {"builtins.len", "jax.numpy.arange", "numpy.arange"}


def _called(context: Context, use: Use) -> FunctionFacts | None:
    """Return the one function of the project that a call runs."""
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, use.event.scope))
    return invoked[0][0].function if len(invoked) == 1 else None


_MAKING = pattern(r"(^|_)(init\w*|make|create|build|new|get|sample|draw|noise|dropout|augment\w*|random\w*)(_|$)")
_PLAIN = frozenset(
    {"params", "weights", "state", "model", "module", "batch", "data", "key", "out", "sample", "samples"}
)
_SHOWING = pattern(r"(^|_)(main|run\w*|demo\w*|plot\w*|compar\w*|example\w*|experiment\w*|bench\w*|show\w*)(_|$)")


def _compared(one: Use, two: Use) -> bool:
    """Say whether two helpers do the same with the same data in two ways, whose results are told apart by one word.

    ``losses_ot = loss_ot(grid, ys, key)`` beside ``losses_soft = loss_soft(grid, ys, key)`` compares two methods, which
    is fair with the same noise.
    """
    function = two.event.scope.function
    if function is not None and function.params and not _SHOWING.search(function.name):
        return False
    if any(_MAKING.search(last(use.name).lower()) for use in (one, two)):
        return False
    given = [
        {ast.unparse(a) for a in use.event.node.args if isinstance(a, _NAMES) and a is not use.node}
        for use in (one, two)
    ]
    if not given[0] & given[1] or one.event.scope is not two.event.scope:
        return False
    first, second = (_results(use) for use in (one, two))
    for a in first:
        for b in second:
            words = [name.split("_") for name in (a, b)]
            if a != b and len(words[0]) == len(words[1]) > 1:
                unlike = [pair for pair in zip(*words, strict=True) if pair[0] != pair[1]]
                kept = set(words[0]) & set(words[1]) - _PLAIN
                if len(unlike) == 1 and kept and all(word.isalpha() and len(word) > 1 for word in unlike[0]):
                    return True
    return False


_NAMES = (ast.Name, ast.Attribute, ast.Subscript)


def _results(use: Use) -> list[str]:
    """Return the names, also those of attributes and entries, that get what a call gives."""
    statement = use.event.statement
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is use.event.node else []
    parts = [part for target in targets for part in elements(target)]
    keys = [constant_key(part) if isinstance(part, ast.Subscript) else last_word(part) for part in parts]
    return [key for key in keys if key]


def _whole(context: Context, use: Use) -> str:
    """Return the name of the key that a key is a part of, where that was split; empty if it is no part of one."""
    found = context.sources.originals(context.flow.here(use.key, use.event.scope))
    key = next(iter(found)).value if len(found) == 1 else use.key
    while isinstance(key, Item | Indexed):
        key = key.base
    node = key.node if isinstance(key, Call) else None
    return (
        last_word(node.args[0]) if isinstance(node, ast.Call) and last_word(node.func) == "split" and node.args else ""
    )


_GENERATOR = frozenset({"g", "gen", "generator"})
_CRITIC = frozenset({"d", "disc", "dis", "discriminator", "critic"})


def _adversaries(one: str, two: str) -> bool:
    """Say whether two functions are told apart by one word: they are of a generator and of its discriminator."""
    first, second = (last(name).lower().strip("_").split("_") for name in (one, two))
    if len(first) != len(second) or len(first) < 2:
        return False
    unlike = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(unlike) == 1 and set(unlike[0]) == {"early", "late"}:
        return True  # two ways that a thing may go, of which one is taken in the end
    return len(unlike) == 1 and any(a in _GENERATOR and b in _CRITIC for a, b in (unlike[0], unlike[0][::-1]))


_INVERSE = pattern(r"(^|_)(inverse_|inv_|reverse_|un_?|de_?|en_?)")


def _undone(name: str) -> str:
    """Return the name of a function without the word that tells it from its inverse."""
    return _INVERSE.sub(r"\1", last(name).lower())


def _parts(one: Use, two: Use) -> bool:
    """Say whether two calls give two parts of one dict, as the weights of several layers."""
    if not isinstance(one.event.statement, ast.Assign | ast.Return) or one.event.statement is not two.event.statement:
        return False
    return any(
        isinstance(n, ast.Dict) and one.event.node in n.values and two.event.node in n.values
        for n in ast.walk(one.event.statement)
    )


def _alike(one: Use, two: Use) -> bool:
    """Say whether a helper is called for two parameters with nothing else changed, as for a pair that goes together."""
    function = one.event.scope.function
    first, second = one.event.node, two.event.node
    if function is None or len(first.args) != len(second.args):
        return False  # at the top of a file nothing is a pair
    if [(k.arg, ast.dump(k.value)) for k in first.keywords] != [(k.arg, ast.dump(k.value)) for k in second.keywords]:
        return False
    changed = [(a, b) for a, b in zip(first.args, second.args, strict=True) if ast.dump(a) != ast.dump(b)]
    if changed and any(_opposite(a, b) for a, b in changed):
        return True
    if len(changed) == 1 and in_step(one.name) and _next_of(*changed[0]):
        return True
    names = [node.id for pair in changed for node in pair if isinstance(node, ast.Name)]
    if len(changed) != 1 or len(names) != 2:
        return False
    together = (loop.target for loop in one.event.loops if isinstance(loop, ast.For))
    return set(names) <= set(function.params) or any(
        set(names) <= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} for target in together
    )


_NEXT = pattern(r"(^|_)(next|nxt)(_|$)")


def _next_of(one: ast.expr, two: ast.expr) -> bool:
    """Say whether two parts of one thing are an observation and the next one: ``batch["obs"], batch["next_obs"]``."""
    names: list[str] = []
    for node in (one, two):
        key = constant(node.slice) if isinstance(node, ast.Subscript) else None
        part = node.attr if isinstance(node, ast.Attribute) else key if isinstance(key, str) else ""
        names.append(part)
    if not all(names) or not isinstance(one, ast.Attribute | ast.Subscript) or type(one) is not type(two):
        return False
    assert isinstance(two, ast.Attribute | ast.Subscript)
    if ast.dump(one.value) != ast.dump(two.value) or names[0] == names[1]:
        return False
    words = [[word for word in name.split("_") if not _NEXT.fullmatch(word)] for name in names]
    return words[0] == words[1] and any(map(_NEXT.search, names))


_OPPOSITES = (("pos", "neg"), ("p", "n"), ("plus", "minus"), ("positive", "negative"), ("up", "down"))


def _opposite(one: ast.expr, two: ast.expr) -> bool:
    """Say whether two names are those of a pair that is to see the same noise, as of antithetic perturbations."""
    if not isinstance(one, ast.Name) or not isinstance(two, ast.Name):
        return False
    first, second = one.id.split("_"), two.id.split("_")
    if len(first) != len(second):
        return False
    other = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    return len(other) == 1 and (other[0] in _OPPOSITES or other[0][::-1] in _OPPOSITES)


def _round_of(use: Use) -> tuple[object, ...]:
    """Return the variable that a key is in, and the innermost loop around its use."""
    return (use.event.scope, _text(use), *use.event.loops[-1:])


def _text(use: Use) -> str:
    return use.event.scope.module.source.text(use.node)


def _together(context: Context, one: Use, two: Use, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]) -> bool:
    first, second = paths.get(one.event.node), paths.get(two.event.node)
    if first is None or second is None:  # in a decorator or default
        return False
    if one.event is two.event:  # a call of one of several functions
        return False
    body = one.event.scope.node
    if apart(first, second, body) or told_by_value(first, second, body) or named_apart(first, second, body):
        return False
    if any(
        opposed(first, ((guard, "orelse"),), body) for guard in context.bodies.behind(two.event.node, two.event.scope)
    ):
        return False  # the function has ended where the first is reached
    if overwritten(context, one, two, paths) or lost_in_try(context, one, two, paths):
        return False
    if thrown_away(one) or thrown_away(two):
        return False
    if forgotten(context, one) or forgotten(context, two) or of_no_elements(one) or of_no_elements(two):
        return False
    if tries_out(context, one) or tries_out(context, two) or _made_up(one, two) or _twins(one, two):
        return False
    if _parted(one, two) or _shared_constant(one, two) or placeholder(one):
        return False
    if of_no_effect(context, one) or of_no_effect(context, two) or made_anew(one, two):
        return False
    if made_lazily(one) or made_lazily(two) or warms_up(two):
        return False
    if any(for_shapes_alone(context, use) or ignored_parts(context, use) for use in (one, two)):
        return False
    examples = "split" not in (last(one.name), last(two.name))  # who splits what was used up does so once more
    if any(only_measured(context, use, examples=examples) for use in (one, two)):
        return False
    if in_smoke_test(context, two) or in_trial(context, one) or in_trial(context, two):
        return False
    if shown_with_key(one) or shown_with_key(two) or only_printed(one) or only_printed(two):
        return False
    if (last(two.name) == "split" and tries_initialized(context, one)) or (
        last(one.name) == "split" and tries_initialized(context, two)
    ):
        return False
    if _rebound(one, two) or _paired(one, two) or _in_other_cell(one, two) or _chosen(one, two):
        return False
    return not (idle(context, one) or idle(context, two))


_LABELS = pattern(r"(^|_)(labels?|targets?|classes)(_|$)|^ys?(_|$)")


def _made_up(one: Use, two: Use) -> bool:
    """Say whether whole numbers are drawn for labels beside the data: made-up examples, which nothing is learnt of."""
    if one.helper or two.helper:
        return False
    whole = [
        use for use in (one, two) if last(use.name) in {"randint", "bernoulli"} and _LABELS.search(drawn_into(use))
    ]
    return len(whole) == 1 and all(drawn_into(use) for use in (one, two))


def _twins(one: Use, two: Use) -> bool:
    """Say whether a model and its target are made alike, each of the same parts of one key."""
    if last(one.name) != "split" or last(two.name) != "split" or ast.dump(one.event.node) != ast.dump(two.event.node):
        return False
    made = [_maker(use) for use in (one, two)]
    return made[0][0] == made[1][0] != "" and any("target" in name for _, name in made)


def _parted(one: Use, two: Use) -> bool:
    """Say whether a key is split in the same way twice, and another part is taken of it each time."""
    if last(one.name) != "split" or last(two.name) != "split" or ast.dump(one.event.node) != ast.dump(two.event.node):
        return False
    parts = [_taken(use) for use in (one, two)]
    return None not in parts and parts[0] != parts[1]


# words that do not say what a key is for
_PLAIN_KEYS = frozenset(
    {"", "KEY", "KEYS", "RNG", "PRNG", "PRNGKEY", "SEED", "JAX", "RANDOM", "MAIN", "ROOT", "GLOBAL", "K"}
)


def _shared_constant(one: Use, two: Use) -> bool:
    """Say whether the same call is made twice with a constant of the module: its numbers are to be the same."""
    word = last_word(one.node)
    if not word.isupper() or not set(word.split("_")) - _PLAIN_KEYS or last(one.name) == "split":
        return False
    return ast.dump(one.event.node) == ast.dump(two.event.node)


def _taken(use: Use) -> int | None:
    """Return the place of the one part that is taken of a split key at once: ``split(key)[1]``."""
    for node in ast.walk(use.event.statement):
        if isinstance(node, ast.Subscript) and node.value is use.event.node:
            place = constant(node.slice)
            return place if type(place) is int and place >= 0 else None
    return None


def _maker(use: Use) -> tuple[str, str]:
    """Return the call that gets what is drawn, and the name that its result goes by."""
    for node in ast.walk(use.event.statement):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and use.event.node in child.args:
                named = node.arg if isinstance(node, ast.keyword) else ""
                targets = node.targets if isinstance(node, ast.Assign) else []
                return ast.dump(child), named or " ".join(ast.unparse(t) for t in targets)
    return "", ""


def _chosen(one: Use, two: Use) -> bool:
    """Say whether an operation takes the numbers of one draw or those of the other, in no place both."""
    statement = one.event.statement
    if statement is not two.event.statement or isinstance(statement, ast.For | ast.While | ast.If | ast.With):
        return False
    first, second = one.event.node, two.event.node
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and last_word(call.func) in {"where", "select"} and len(call.args) == 3:
            left, right = call.args[1:]
            if (inside(first, left) and inside(second, right)) or (inside(first, right) and inside(second, left)):
                return True
    return False


def _in_other_cell(one: Use, two: Use) -> bool:
    """Say whether two uses stand in different cells of a notebook, whose parts may each show something alone."""
    scope = one.event.scope
    cells = scope.module.source.cell_starts
    return scope.function is None and bisect(cells, one.event.node.lineno) != bisect(cells, two.event.node.lineno)


def _rebound(one: Use, two: Use) -> bool:
    """Say whether a loop that one use is in and the other is not gives the key another value in between."""
    loops = [
        loop for loop in (*one.event.loops, *two.event.loops) if (loop in one.event.loops) != (loop in two.event.loops)
    ]
    if isinstance(one.key, Each) and isinstance(two.key, Each):  # of one list, which each goes through on its own
        loops = [loop for loop in loops if loop not in {one.key.loop, two.key.loop} or one.key.loop is two.key.loop]
    return any(varies(one.key, loop) for loop in loops)


def _paired(one: Use, two: Use) -> bool:
    """Say whether two draws put several arrays into the same order, as data and their labels."""
    if one.name != two.name or one.helper or two.helper:
        return False
    if last(one.name) in _PLACES and ast.dump(one.event.node) == ast.dump(two.event.node):
        picked = [_picked_from(use) for use in (one, two)]
        if all(picked) and picked[0] != picked[1]:
            return True  # the same places of several arrays
    if last(one.name) not in ORDERS:
        return False
    ends = [_cut_at(use) for use in (one, two)] if ast.dump(one.event.node) == ast.dump(two.event.node) else []
    if ends and (ends[0][1] == ends[1][0] != "" or ends[1][1] == ends[0][0] != ""):
        return True  # one order is cut in two
    first, second = (argument(use.event.node, 1, ORDERED[last(use.name)]) for use in (one, two))
    return first is not None and second is not None and ast.dump(first) != ast.dump(second)


def _cut_at(use: Use) -> tuple[str, str]:
    """Return where the part of a draw begins and ends that its statement takes, as texts; empty where it does not."""
    for node in ast.walk(use.event.statement):
        if isinstance(node, ast.Subscript) and node.value is use.event.node and isinstance(node.slice, ast.Slice):
            lower, upper = (ast.unparse(end) if end is not None else "" for end in (node.slice.lower, node.slice.upper))
            return lower, upper
    return "", ""


def _picked_from(use: Use) -> str:
    """Return what a draw is the index of, as text; empty if it is none."""
    return next(
        (
            ast.unparse(n.value)
            for n in ast.walk(use.event.statement)
            if isinstance(n, ast.Subscript) and n.slice is use.event.node
        ),
        "",
    )


RULE = lint_rule(
    "NNX830",
    "key-reuse",
    "a random key is used twice",
    why="""\
A key determines the numbers. Used for two draws, or in every round of a loop, it gives equal or related numbers:
identical initial weights, identical noise, the same "random" batch. `jax.random.split` or `fold_in` makes new keys.
What is drawn from a key that is split besides shows no dependence that could be measured, but nothing promises that,
and `jax_debug_key_reuse` refuses it.
The rule is silent in tests, where equal numbers may be meant, for draws where times are measured and nothing is
trained, for examples that a model is only initialized or tried out with, and for `permutation` or `choice` of several
arrays with one key, which keeps them in step. Where the same
numbers may well be meant, as for two methods that a script compares, in a loop over settings, for differences under
common random numbers, for couplings, and where only times are kept, NNX773 tells of it, which runs if it is selected.
""",
    source="JAX tutorial, section on random keys; measured: identical numbers",
    severity="error",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.key(0)
a = jax.random.normal(key, (3,))
b = jax.random.normal(key, (3,))
""",
        """\
import jax

key = jax.random.key(0)
for _ in range(3):
    a = jax.random.normal(key, (3,))
""",
    ),
    clean=(
        """\
import jax

key = jax.random.key(0)
for step in range(3):
    key, subkey = jax.random.split(key)
    a = jax.random.normal(subkey, (3,))
    b = jax.random.normal(jax.random.fold_in(subkey, 1), (3,))
""",
        """\
import jax


def train(key, images, labels):
    images = jax.random.permutation(key, images)
    labels = jax.random.permutation(key, labels)
    key = jax.random.fold_in(key, 1)
    for step in range(3):
        key, subkey = jax.random.split(key)
        jax.random.normal(subkey, (3,))
    key, subkey = jax.random.split(key)
    return jax.random.normal(subkey, (3,))
""",
        """\
import jax


def draw(key, flat):
    if flat:
        return jax.random.uniform(key)
    return jax.random.normal(key)
""",
    ),
)
