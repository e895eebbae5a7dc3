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
from codemods.nnx.lint.carried_dict import changed_in_place
from codemods.nnx.lint.carried_keys import carried_keys
from codemods.nnx.lint.compared_draws import harmless_pair, meant_pair, warmed_up, weak_round
from codemods.nnx.lint.conditions import apart, opposed, told_by_value
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.key_of_state import kept_in_states
from codemods.nnx.lint.keys import SAME, Use, binds, kept, uses, varies
from codemods.nnx.lint.looked_at import for_shapes_alone, ignored_parts, in_smoke_test
from codemods.nnx.lint.lost_draws import lost_in_try
from codemods.nnx.lint.meant import documented_same, same_said
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.origins import constant_key
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.syntax import argument, constant, inside, names_in
from codemods.nnx.lint.unread import given_names, unread
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Const, Free, Item, Loop, Param, Sequence, Value

_ROUNDS = frozenset({"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop"})
_ORDERED = {"choice": "a", "permutation": "x", "shuffle": "x"}  # the parameter that takes what is put into an order
_ORDERS = frozenset(_ORDERED)
_PLACES = frozenset({"permutation", "choice", "randint"})
_HELPERS = 3  # how many functions deep a key is followed that picks orders
_TIMING = pattern(r"_*(bench|timeit|autotune)")
_CLOCKS = frozenset({"perf_counter", "perf_counter_ns", "timer", "default_timer"})
_BENCH = pattern(r"(^|_)bench")
_BEGINNING = pattern(r"(^|_)(reset|respawn)(_|$)")  # functions that begin another episode
_FITTING = pattern(r"train|update|optimi[sz]er|adam|sgd|fit|loss|grad|learn")
_LEARNING = pattern(r"train|step|update|optimi[sz]er|adam|sgd|fit|loss|rollout")
_HELP = "split the key and use each part once: key, subkey = jax.random.split(key)"


def _check(context: Context) -> Iterator[Finding]:
    yield from (place.found(RULE.code) for place in context.shared(reuses) if not place.weak)


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
    for (scope, _), found in known.items():
        if in_test(scope):
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
            place = Reuse(scope, split.event.node, message, help)
        if place is not None:
            places.append(place)
    places += _attributes_split_next(context)
    places += _resets_of_any(context, {place.node for place in places})
    told = {place.node for place in places}
    for use in carried_keys(context):
        if use.event.node not in told and not _thrown(use) and not _timed(context, use.event.scope):
            message = f"`{_text(use)}` is split again in the next round after numbers were drawn from it"
            help = "draw from the other part: key, subkey = jax.random.split(key)"
            places.append(Reuse(use.event.scope, use.event.node, message, help))
            told.add(use.event.node)
    for event, node, name in kept_in_states(context):
        if event.node not in told and not _timed(context, event.scope):
            message = f"`{ast.unparse(node)}` is the same key in every round: `{name}` gives the same numbers"
            places.append(Reuse(event.scope, event.node, message, "give the next state the other part of the key"))
    return places


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
        if not _in_each_round(context, use) or kinds_of(context, key, event.scope) != {Kind.KEY}:
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
        if (use.helper and (_meant(context, use) or _template(context, use))) or _said(context, use, found[:index]):
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
                f"the results depend on each other",
                related=_others(context, use, earlier, found, paths),
                weak=meant_pair(context, earlier, use),
            )
            continue
        loops = [loop for loop in use.event.loops if _repeats(context, use, loop)]
        if loops and ((not use.helper and _timed(context, scope)) or any(map(warmed_up, loops))):
            continue
        if loops and (parts := _parts_of_rounds(use, loops)) is not None:
            if parts:
                yield Reuse(scope, use.event.node, parts, "split the key into as many as there are rounds")
            continue
        if _unread_parts(use) or _begins_cache(context, use):
            continue
        if loops or _in_each_round(context, use) or _handed_on(context, use):
            yield Reuse(
                scope,
                use.event.node,
                f"`{_text(use)}` is the same key in every round: `{last(use.name)}` gives the same numbers",
                weak=bool(loops) and all(weak_round(context, use, loop) for loop in loops),
            )


_CACHE = pattern(r"(^|_)(kv_?)?caches?$")
_CONSTANT = frozenset({"zeros", "ones", "full", "empty", "constant", "zeros_like", "zeros_init", "ones_init"})
_DRAWS = frozenset({"normal", "uniform", "truncated_normal", "bernoulli", "randint", "categorical", "lecun_normal"})


def _begins_cache(context: Context, use: Use) -> bool:
    """Say whether a class of the project that is named for a cache makes one, and all that it knows to fill one with is
    a constant: no numbers are drawn."""
    func, targets = use.event.node.func, getattr(use.event.statement, "targets", [])
    if not use.helper or not isinstance(func, ast.Attribute) or len(targets) != 1:
        return False
    if not _CACHE.search(last_word(targets[0]).lower()) or not last_word(func.value).lower().endswith("cache"):
        return False
    value = use.event.scope.module.values.get(func.value)
    found = context.flow.resolve(context.flow.here(value, use.event.scope)).value if value is not None else None
    if not isinstance(found, Class):
        return False
    words = {last_word(n) for n in ast.walk(found.facts.node) if isinstance(n, ast.Attribute | ast.Name)}
    return bool(words & _CONSTANT) and not words & _DRAWS


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
                if key.node in other.event.loops and not other.helper and last(other.name) != "split":
                    if not _thrown(other):
                        return other
    return None


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
    statement = use.event.statement  # what is assigned to `_names` is an example of shapes, as a rule
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is use.event.node else []
    names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return bool(names) and all(name.startswith("_") for name in names)


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
            else last(one.name) in _ORDERS and _of_array(context, one)
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
    parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
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
    names = [node.id for pair in changed for node in pair if isinstance(node, ast.Name)]
    if len(changed) != 1 or len(names) != 2:
        return False
    together = (loop.target for loop in one.event.loops if isinstance(loop, ast.For))
    return set(names) <= set(function.params) or any(
        set(names) <= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} for target in together
    )


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


def _text(use: Use) -> str:
    return use.event.scope.module.source.text(use.node)


def _together(context: Context, one: Use, two: Use, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]) -> bool:
    first, second = paths.get(one.event.node), paths.get(two.event.node)
    if first is None or second is None:  # in a decorator or default
        return False
    if one.event is two.event:  # a call of one of several functions
        return False
    body = one.event.scope.node
    if apart(first, second, body) or told_by_value(first, second, body):
        return False
    if any(
        opposed(first, ((guard, "orelse"),), body) for guard in context.bodies.behind(two.event.node, two.event.scope)
    ):
        return False  # the function has ended where the first is reached
    if _unread(context, one, two, paths) or lost_in_try(context, one, two, paths):
        return False
    if _thrown(one) or _thrown(two):
        return False
    if _forgotten(context, one) or _forgotten(context, two) or _empty(one) or _empty(two):
        return False
    if _example(context, one) or _example(context, two) or _made_up(one, two) or _twins(one, two):
        return False
    if _parted(one, two) or _shared_constant(one, two) or _placeholder(one):
        return False
    if _lazy(one) or _lazy(two):
        return False
    if any(for_shapes_alone(context, use) or ignored_parts(context, use) for use in (one, two)):
        return False
    if in_smoke_test(context, two):
        return False
    return not (_rebound(one, two) or _paired(one, two) or _in_other_cell(one, two) or _chosen(one, two))


def _unread(context: Context, one: Use, two: Use, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]) -> bool:
    """Say whether nothing reads the numbers of the first draw on a way that comes to the second one."""
    scope, statement = one.event.scope, one.event.statement
    if scope.function is None or one.event.loops or two.event.loops or one.helper:
        return False
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement is two.event.statement:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    names, followed = [targets[0].id], {targets[0].id}
    while names:
        made = _read_into(context, one, two, names.pop(), paths)
        if made is None or len(followed | made) > _VARIABLES:
            return False
        names += made - followed
        followed |= made
    return True


_VARIABLES = 8  # through how many of them what is drawn is followed


def _read_into(
    context: Context, one: Use, two: Use, name: str, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]
) -> set[str] | None:
    """Return the variables that are made of one of the first draw on a way that comes to the second one; None if
    anything else reads it there."""
    scope, statement, second = one.event.scope, one.event.statement, two.event.statement
    assert scope.function is not None
    end = statement.end_lineno or statement.lineno
    own = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id == name]
    reads = [n for n in ast.walk(scope.function.node) if isinstance(n, ast.Name) and n.id == name]
    if len(reads) != len(own):
        return None  # an inner function reads it
    again = (  # the second draw, or what comes before it, gives the name another value
        isinstance(second, ast.Assign | ast.AnnAssign)
        and any(isinstance(t, ast.Name) and t.id == name for t in _targets(second))
        and not any(isinstance(block, ast.Try) for block, _ in paths.get(two.event.node, ()))
    )
    made: set[str] = set()
    for node in own:
        if not isinstance(node.ctx, ast.Load) or node.lineno <= end:
            continue
        if again and node.lineno > (second.end_lineno or second.lineno):
            continue
        way = paths.get(two.event.node, ())
        read = paths.get(node, ())
        behind = node.lineno > (second.end_lineno or second.lineno)
        if behind and unread(context, scope, second, {name}):
            continue  # it is bound again before
        if apart(way, read, scope.node) if behind else apart(read, way, scope.node):
            continue
        if any(opposed(way, ((guard, "orelse"),), scope.node) for guard in context.bodies.behind(node, scope)):
            continue  # the function has ended where the second draw is reached
        if _ends_before(context, node, two, paths):
            continue
        # what the second draw is added to is read behind it
        target = None if behind or inside(node, second) else _stored_in(context, node, scope)
        if target is None:
            return None
        made.add(target)
    return made


def _ends_before(
    context: Context, node: ast.AST, two: Use, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]
) -> bool:
    """Say whether a function ends where a variable is read, before a second draw: ``if trig: return f(a)``."""
    guards = context.bodies.behind(two.event.node, two.event.scope)
    return any(block in guards and arm == "body" for block, arm in paths.get(node, ()))


def _stored_in(context: Context, node: ast.Name, scope: Scope) -> str | None:
    """Return the variable that a statement makes of one that it reads, or changes a part of; None if it does more."""
    for statement in context.bodies.nodes(scope):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not inside(node, statement):
            continue
        targets = _targets(statement)
        held = targets[0].value if len(targets) == 1 and isinstance(targets[0], ast.Subscript) else targets[0]
        return held.id if len(targets) == 1 and isinstance(held, ast.Name) else None
    return None


def _thrown(use: Use) -> bool:
    """Say whether nobody takes what a function gives, which was called to be compiled or measured."""
    statement = use.event.statement
    if not isinstance(statement, ast.Expr) or last(use.name) == "split":  # NNX834 tells of that
        return False
    if use.helper and not isinstance(use.event.node.func, ast.Name):
        return False  # a method may keep what it draws
    value: ast.expr = statement.value
    while isinstance(value, ast.Call) and value is not use.event.node and last_word(value.func) == "block_until_ready":
        value = value.args[0] if value.args else value.func.value if isinstance(value.func, ast.Attribute) else value
    return value is use.event.node


def _forgotten(context: Context, use: Use) -> bool:
    """Say whether a key is split and no part of it is read, or a draw is bound again before anything reads it."""
    statement = use.event.statement
    if use.helper:
        return _template(context, use)
    if _ignored(context, use):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    made = statement.value.value if isinstance(statement.value, ast.Subscript) else statement.value
    names = given_names(statement, use.event.node)
    if made is not use.event.node or not names:
        return False
    return unread(context, use.event.scope, statement, names, rebound=last(use.name) != "split")


def _ignored(context: Context, use: Use) -> bool:
    """Say whether a draw is an argument of a function that never reads it."""
    outer = next((e for e in context.bodies.calls.get(use.event.scope, ()) if use.event.node in e.node.args), None)
    if outer is None or outer.value.starred:
        return False
    invoked = context.flow.calls.invoked(context.flow.here(outer.value, outer.scope))
    if len(invoked) != 1 or invoked[0][0].args or invoked[0][0].receiver is not None:
        return False
    called = invoked[0][0].function
    names = list(called.params)[: called.positional]
    place = outer.node.args.index(use.event.node)
    if place >= len(names):
        return False
    return not any(isinstance(n, ast.Name) and n.id == names[place] for n in ast.walk(called.node))


def _empty(use: Use) -> bool:
    """Say whether a draw is of an array without entries, as the first tokens of a sequence that grows."""
    given = [*use.event.node.args[1:2], *(k.value for k in use.event.node.keywords if k.arg == "shape")]
    shapes = [one.elts for one in given if isinstance(one, ast.Tuple | ast.List)]
    return not use.helper and any(isinstance(n, ast.Constant) and n.value == 0 for shape in shapes for n in shape)


_LOADING = pattern(
    r"_*(load|restore)(_(checkpoint|ckpt|state\w*|weights|params|parameters|model|pretrained|variables|agent|policy|"
    r"leaves|from\w*))*|tree_deserialis\w+|from_(bytes|state_dict)"
)
_SHAPING = frozenset({"split", "state", "eval_shape", "abstract_state"})
_NEAR = 4  # in how many statements behind it what is made is loaded


def _template(context: Context, use: Use) -> bool:
    """Say whether what is made with a key is only the form of what is loaded from a checkpoint next."""
    statement, scope = use.event.statement, use.event.scope
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    names = set(given_names(statement, use.event.node))
    block = next(
        (
            value
            for node in (scope.node, *context.bodies.nodes(scope))
            for _, value in ast.iter_fields(node)
            if isinstance(value, list) and statement in value
        ),
        None,
    )
    if len(names) != 1 or block is None:
        return False
    begin = block.index(statement) + 1
    for later in block[begin : begin + _NEAR]:
        if not names & names_in(later):
            continue
        calls = [n for n in ast.walk(later) if isinstance(n, ast.Call) and names & names_in(n)]
        if any(_LOADING.fullmatch(last_word(call.func)) for call in calls):
            return True
        if not isinstance(later, ast.Assign) or not any(last_word(call.func) in _SHAPING for call in calls):
            return False
        names |= given_names(later, later.value)  # its structure, for what restores
    return False


_INITIALIZING = pattern(r"(^|_)init(_|$)")
_EXAMPLE = pattern(r"(^|_)(example|dummy|fake|mock)s?(_|$)")  # arrays that only try a model out
_INIT = frozenset({"init", "init_with_output", "lazy_init", "eval_shape", "tabulate"})


def _example(context: Context, use: Use) -> bool:
    """Say whether what is drawn is only an example of shapes for the initialization of a model."""
    statement = use.event.statement
    if use.helper:
        return False
    if _stands_in(use):
        return True
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name) or last(use.name) == "split":
        return False
    name, scope = statement.targets[0].id, use.event.scope
    names = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name)
    reads = {n for n in names if isinstance(n.ctx, ast.Load)}
    given = {  # behind the key; what stands first are weights that an optimizer begins with
        one
        for event in context.bodies.calls.get(scope, ())
        if (isinstance(event.node.func, ast.Attribute) and event.node.func.attr in _INIT)
        or _INITIALIZING.search(last_word(event.node.func))
        for one in (*event.node.args[1:], *(k.value for k in event.node.keywords))
    }
    if reads and _EXAMPLE.search(name):
        given |= {
            one
            for event in context.bodies.calls.get(scope, ())
            if isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "apply"
            for one in (*event.node.args[1:], *(k.value for k in event.node.keywords))
        }
    return bool(reads) and reads <= given


def _stands_in(use: Use) -> bool:
    """Say whether a draw is given, behind the key, to a function that initializes something: only its shape counts."""
    for call in ast.walk(use.event.statement):
        if not isinstance(call, ast.Call):
            continue
        called = last_word(call.func)
        if called == "scan" and call.args:
            called = last_word(call.args[0])
        if _INITIALIZING.search(called) and last(use.name) != "split":
            if use.event.node in call.args[1:] or any(k.value is use.event.node for k in call.keywords):
                return True
    return False


_LABELS = pattern(r"(^|_)(labels?|targets?|classes)(_|$)|^ys?(_|$)")


def _made_up(one: Use, two: Use) -> bool:
    """Say whether whole numbers are drawn for labels beside the data: made-up examples, which nothing is learnt of."""
    if one.helper or two.helper:
        return False
    whole = [use for use in (one, two) if last(use.name) in {"randint", "bernoulli"} and _LABELS.search(_name(use))]
    return len(whole) == 1 and all(_name(use) for use in (one, two))


def _name(use: Use) -> str:
    """Return the variable that gets what is drawn as it is; empty if there is none."""
    statement = use.event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node or len(statement.targets) != 1:
        return ""
    return statement.targets[0].id if isinstance(statement.targets[0], ast.Name) else ""


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


def _lazy(use: Use) -> bool:
    """Say whether a function is told to leave what it makes without weights, as ``lazy_init=True`` does."""
    return use.helper and any(
        k.arg is not None and k.arg.startswith("lazy") and constant(k.value) is True for k in use.event.node.keywords
    )


_NOTHING = pattern(r"(^|_)(null|dummy|placeholder|fake|mock|empty)(_|$)")


def _placeholder(use: Use) -> bool:
    """Say whether a function makes what stands for nothing, as its name says, and takes no key for that."""
    function = use.event.scope.function
    if function is None or not _NOTHING.search(function.name.lower()):
        return False
    return not any(word in name for name in function.params for word in ("key", "rng", "seed"))


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


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


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
    return any(varies(one.key, loop) for loop in loops)


def _paired(one: Use, two: Use) -> bool:
    """Say whether two draws put several arrays into the same order, as data and their labels."""
    if one.name != two.name or one.helper or two.helper:
        return False
    if last(one.name) in _PLACES and ast.dump(one.event.node) == ast.dump(two.event.node):
        picked = [_picked_from(use) for use in (one, two)]
        if all(picked) and picked[0] != picked[1]:
            return True  # the same places of several arrays
    if last(one.name) not in _ORDERS:
        return False
    ends = [_cut_at(use) for use in (one, two)] if ast.dump(one.event.node) == ast.dump(two.event.node) else []
    if ends and (ends[0][1] == ends[1][0] != "" or ends[1][1] == ends[0][0] != ""):
        return True  # one order is cut in two
    first, second = (argument(use.event.node, 1, _ORDERED[last(use.name)]) for use in (one, two))
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


def _repeats(context: Context, use: Use, loop: ast.AST) -> bool:
    """Say whether a loop repeats a draw with the same key."""
    if isinstance(use.key, Attr):  # of an object that keeps it as it is
        return isinstance(use.key.base, Param) and not SAME.search(use.key.name) and not _once(use.event, loop)
    if _in_step(use, loop):
        return False
    if isinstance(loop, ast.comprehension) and isinstance(use.key, Call):
        return not inside(use.key.node, use.event.statement)  # made before
    if isinstance(use.node, ast.Name) and isinstance(use.key, Free) and binds(loop, use.node.id):
        return False  # what it was before the first round is not known
    return not varies(use.key, loop, 0, lambda one: kept(context, one)) and not _once(use.event, loop)


def _parts_of_rounds(use: Use, loops: list[ast.AST]) -> str | None:
    """Return what is wrong with ``split(key, n)[i]``, empty if nothing is; None if no loop takes parts that way."""
    statement, call = use.event.statement, use.event.node
    picked = [
        n.slice.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Subscript) and n.value is call and isinstance(n.slice, ast.Name)
    ]
    own = [loop for loop in loops if isinstance(loop, ast.For | ast.comprehension)]
    if last(use.name) != "split" or not picked or len(own) != len(loops):
        return None
    if any(picked[0] not in _counters(loop) for loop in own):
        return None
    count = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "num"), None)
    keys = 2 if count is None else constant(count)
    rounds = _rounds(own[-1].iter)
    if not isinstance(keys, int) or rounds is None or rounds <= keys:
        return ""
    return f"`split` gives {keys} keys here, and there are {rounds} rounds: those behind the end get the last key again"


def _counters(loop: ast.For | ast.comprehension) -> set[str]:
    """Return the names that are another number in each round: all of the target of ``range``, else the first one."""
    target = loop.target
    called = last_word(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
    if called == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    return {target.id} if called in {"range", "enumerate"} and isinstance(target, ast.Name) else set()


def _rounds(iterated: ast.expr) -> int | None:
    """Return how many rounds a loop has that goes over a range, or counts what is written down; None if unknown."""
    if not isinstance(iterated, ast.Call) or len(iterated.args) != 1 or iterated.keywords:
        return None
    given = iterated.args[0]
    if last_word(iterated.func) == "range":
        number = constant(given)
        return number if isinstance(number, int) else None
    if isinstance(given, ast.List | ast.Tuple) and not any(isinstance(n, ast.Starred) for n in given.elts):
        return len(given.elts)
    return None


def _in_step(use: Use, loop: ast.AST) -> bool:
    """Say whether a loop puts one array after another into the same order, as data and their labels."""
    if (
        last(use.name) not in _ORDERS
        or not isinstance(loop, ast.comprehension | ast.For)
        or len(use.event.node.args) < 2
    ):
        return False
    if isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) == "range":
        return False
    bound = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    if isinstance(loop, ast.For) and (order := _name(use)):
        reads = {n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == order and isinstance(n.ctx, ast.Load)}
        for node in ast.walk(loop):  # `fields[name][order]` of each name
            if isinstance(node, ast.Subscript) and names_in(node.value) & bound:
                reads -= set(ast.walk(node.slice))
        if not reads:
            return True
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(use.event.node.args[1]))


def _in_each_round(context: Context, use: Use) -> bool:
    """Say whether the body of a loop of JAX draws from a key that comes from outside of it."""
    function, key = use.event.scope.function, use.key
    if (use.helper and not _BEGINNING.search(use.name)) or function is None:
        return False
    if not isinstance(key, Free | Param | Item):
        return False
    while isinstance(key, Item):
        if not isinstance(key.index, Const):
            return False  # one of many keys, another one in every round
        key = key.base
    outside = key.scope.function if isinstance(key, Free) else key.function if isinstance(key, Param) else function
    if outside is function or (isinstance(key, Free) and SAME.search(key.name)):
        return False
    tracing = context.traced.get(function)
    roots = [root.transform for root in tracing.roots] if tracing is not None else []
    return bool(roots) and all(name in _ROUNDS for name in roots) and not (tracing and tracing.sites)


def _handed_on(context: Context, use: Use) -> bool:
    """Say whether the body of a loop of JAX draws from a part of the carry that it gives back as it was."""
    function, key = use.event.scope.function, use.key
    if use.helper or function is None or not isinstance(key, Param | Item):
        return False
    tracing = context.traced.get(function)
    if tracing is None or not tracing.roots or tracing.sites or changed_in_place(context, function):
        return False
    transforms = {root.transform for root in tracing.roots}
    if not transforms <= _ROUNDS or len(transforms) > 1 or not function.returns:
        return False
    place = int(transforms == {"jax.lax.fori_loop"})
    params = list(function.params.values())
    if len(params) <= place or any(root.partial or root.bound for root in tracing.roots):
        return False
    carry = params[place]
    if key != carry and not (isinstance(key, Item) and key.base == carry):
        return False
    for returned in function.returns:
        given: Value = returned
        if transforms == {"jax.lax.scan"}:
            if not isinstance(returned, Sequence) or len(returned.items) != 2:
                return False
            given = returned.items[0]
        if isinstance(key, Item):
            index = key.index.value if isinstance(key.index, Const) else None
            if given == carry:
                continue
            if not isinstance(given, Sequence) or not isinstance(index, int) or not 0 <= index < len(given.items):
                return False
            given = given.items[index]
        if given != key:
            return False
    return True


def _once(event: CallEvent, loop: ast.AST) -> bool:
    """Say whether the loop ends with the draw: its block leaves it."""
    for node in ast.walk(loop):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and any(isinstance(s, ast.Break | ast.Return | ast.Raise) for s in block):
                if any(inside(event.node, statement) for statement in block if isinstance(statement, ast.stmt)):
                    return True
    return False


RULE = lint_rule(
    "NNX830",
    "key-reuse",
    "a random key is used twice",
    why="""\
A key determines the numbers. Used for two draws, or in every round of a loop, it gives equal or related numbers:
identical initial weights, identical noise, the same "random" batch. `jax.random.split` or `fold_in` makes new keys.
The rule is silent in tests, where equal numbers may be meant, for draws where times are measured and nothing is
trained, and for `permutation` or `choice` of several arrays with one key, which keeps them in step. Where the same
numbers may well be meant, as for two methods that a script compares, or in a loop over settings, NNX773 tells of it,
which runs if it is selected.
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
