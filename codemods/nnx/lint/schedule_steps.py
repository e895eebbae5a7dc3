"""NNX766: a schedule that has fewer steps than its warmup, or counts epochs."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.batch_loops import steps_of_loop
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import callers_of, foreign, position, resolved, written
from codemods.nnx.lint.syntax import argument, constant, entry_word
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Param, Sequence, Star

_WORD = "warmup_cosine_decay_schedule"


# where schedules take the number of their steps
_STEPS = {"linear_schedule": (2, "transition_steps"), "exponential_decay": (1, "transition_steps"),
          "polynomial_schedule": (3, "transition_steps"), "cosine_decay_schedule": (1, "decay_steps"),
          _WORD: (3, "decay_steps")}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _epochs(context)
    yield from _micro_steps(context)
    yield from _joined(context)
    for event, name in foreign(context, _WORD):
        if not name.startswith("optax.") or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        if _without_warmup(context, event):
            yield finding(
                RULE.code,
                event.scope,
                argument(event.node, 3, "decay_steps") or event.node,
                "decay_steps counts the warmup: with the warmup taken off, the rate is at its end that much too early",
                "give all steps together: decay_steps=total_steps",
            )
            continue
        warmup = the_number(context, event.value.argument(2, "warmup_steps"), event.scope)
        steps = the_number(context, event.value.argument(3, "decay_steps"), event.scope)
        if warmup is not None and steps is not None and steps <= warmup:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"decay_steps counts the warmup: of {steps:g} steps {warmup:g} are warmup, and none is left",
                "give all steps together: decay_steps=warmup_steps + ...",
            )


def _joined(context: Context) -> Iterator[Finding]:
    """Yield joined schedules with another number of boundaries than there are seams between them."""
    for event, name in foreign(context, "join_schedules"):
        if not name.startswith("optax.") or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        given = (argument(event.node, 0, "schedules"), argument(event.node, 1, "boundaries"))
        values = [found.value for one in given if one is not None and (found := resolved(context, one, event.scope))]
        parts = [one.items for one in values if isinstance(one, Sequence)]
        if len(parts) != 2 or given[1] is None or any(isinstance(one, Star) for part in parts for one in part):
            continue
        schedules, boundaries = map(len, parts)
        if schedules != boundaries + 1:
            what = "the last schedules never begin" if schedules > boundaries else "the last of these count for nothing"
            yield finding(
                RULE.code,
                event.scope,
                given[1],
                f"{schedules} schedules have {schedules - 1} boundaries between them, here are {boundaries}: {what}",
                "give the steps at which one schedule follows on another, without the beginning and the end",
            )


def _without_warmup(context: Context, event: CallEvent) -> bool:
    """Say whether the steps of a schedule are a difference by those of its warmup: ``total - warmup``."""
    warmup, steps = argument(event.node, 2, "warmup_steps"), argument(event.node, 3, "decay_steps")
    if warmup is None or steps is None or constant(warmup) is not None:
        return False
    whole = written(context, steps, event.scope)
    while isinstance(whole, ast.Call) and last_word(whole.func) in {"int", "max"} and whole.args:
        whole = next((one for one in whole.args if isinstance(one, ast.BinOp)), whole.args[0])
    if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Sub):
        return False
    same = {ast.unparse(warmup), ast.unparse(written(context, warmup, event.scope))}
    return ast.unparse(whole.right) in same and _ROUNDS_OF_ALL.search(entry_word(whole.left)) is not None


_ROUNDS_OF_ALL = pattern(r"^(num|total|max|n|train|training|all|t)_?.*(steps|iters|iterations|updates)$|^total$", re.I)


def _epochs(context: Context) -> Iterator[Finding]:
    """Yield the schedules whose steps are the epochs of a loop that updates several times in each."""
    for event, name in foreign(context, *_STEPS, _PIECES):
        if not name.startswith("optax.") or _asked_by_epoch(context, event):
            continue
        for word, given in _counting(event, last(name)):
            if given is not None and any(
                _updates_within(context, loop, counted)
                for counted, module in _counted(context, given, event.scope)
                for loop in _loops(module)
            ):
                text = f"({ast.unparse(given)})" if isinstance(given, ast.BinOp) else ast.unparse(given)
                part = "the warmup" if word == "warmup_steps" else "the schedule"
                yield finding(
                    RULE.code,
                    event.scope,
                    given,
                    f"`{word}` counts updates, of which there are several in each epoch: {part} ends too early",
                    f"multiply it: {text} * steps_per_epoch",
                )
                break  # the others are counted so, too


def _loops(module: ModuleFacts) -> list[ast.For | ast.While]:
    return [*module.source.of_type(ast.For), *module.source.of_type(ast.While)]


def _counted(context: Context, given: ast.expr, scope: Scope) -> Iterator[tuple[str, ModuleFacts]]:
    """Yield the names of the epochs that a count is, each with a module in which it has that name.

    Those are the module of the schedule and, where a function makes it, those of its callers, with their arguments.
    """
    parts = _parts(context, given, scope)
    counted = next((word for word in map(entry_word, parts) if _epoch(word)), "")
    if counted:
        yield counted, scope.module
    function = scope.function
    if function is None:
        return
    param = next((function.params[n.id] for n in parts if isinstance(n, ast.Name) and n.id in function.params), None)
    if not counted and param is None:
        return
    for caller in callers_of(context, function)[:_CALLERS]:
        if param is None:
            yield counted, caller.scope.module
        elif not caller.value.starred:
            handed = argument(caller.node, position(param), param.name)
            words = map(entry_word, _parts(context, handed, caller.scope))
            yield from ((word, caller.scope.module) for word in words if _epoch(word))


_CALLERS = 20
_PIECES = "piecewise_constant_schedule"


def _counting(event: CallEvent, word: str) -> list[tuple[str, ast.expr | None]]:
    """Return the arguments of a schedule that count steps, with their names."""
    if word != _PIECES:
        place, name = _STEPS[word]
        given = [(name, argument(event.node, place, name))]
        return [*given, ("warmup_steps", argument(event.node, 2, "warmup_steps"))] if word == _WORD else given
    pieces = argument(event.node, 1, "boundaries_and_scales")
    keys = pieces.keys if isinstance(pieces, ast.Dict) else []
    return [("boundaries_and_scales", keys[0] if keys else None)]


def _epoch(word: str) -> bool:
    return "epoch" in word.lower() and "step" not in word.lower() and "per" not in word.lower()


def _parts(context: Context, node: ast.expr | None, scope: Scope) -> list[ast.expr]:
    """Return the number that a count is, or a share of: ``epochs``, ``epochs // 2`` or ``int(0.8 * epochs)``."""
    found: list[ast.expr] = []
    while node is not None and len(found) < _DEPTH:
        if isinstance(node, ast.Call) and last_word(node.func) in {"int", "round"} and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node, ast.BinOp):
            node = _share_of(node)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            found.append(node)
            inner = written(context, node, scope)
            stored = scope.module.values.get(node)
            if isinstance(node, ast.Name) and isinstance(stored, Attr):
                found.append(ast.Name(stored.name))  # epochs = args.epochs
            node = inner if inner is not node else None
        else:
            break
    return found


def _share_of(node: ast.BinOp) -> ast.expr | None:
    """Return the number of which an operation gives a share; None for others."""
    if isinstance(node.op, ast.Div | ast.FloorDiv) and _plain(node.right):
        return node.left
    if isinstance(node.op, ast.Mult):
        return node.left if _plain(node.right, below=1) else node.right if _plain(node.left, below=1) else None
    if isinstance(node.op, ast.Sub) and (_plain(node.right) or _epoch(entry_word(node.right))):
        return node.left
    return None


def _plain(node: ast.expr, below: float = math.inf) -> bool:
    value = constant(node)
    return isinstance(value, int | float) and 0 < value < below


_OF_EPOCH = pattern(r"(^|_)ep(och)?s?(_|\d|$)")


def _asked_by_epoch(context: Context, event: CallEvent) -> bool:
    """Say whether a schedule is called with an epoch itself."""
    statement = event.statement
    made = [event] if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.Return) and event.scope.function is not None:
        made = [one for one in callers_of(context, event.scope.function) if isinstance(one.statement, ast.Assign)]
    return any(
        last_word(call.func) in {last_word(target) for target in one.statement.targets}
        and any(map(_an_epoch, call.args))
        for one in made
        if isinstance(one.statement, ast.Assign)
        for call in one.scope.module.source.of_type(ast.Call)
    )


def _an_epoch(node: ast.expr) -> bool:
    """Say whether an argument is an epoch, and not a number of steps: ``schedule(epoch * steps_per_epoch)``."""
    words = [last_word(n).lower() for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
    if any("step" in word or "batch" in word or "iter" in word for word in words):
        return False
    return any(_OF_EPOCH.search(n.id.lower()) for n in ast.walk(node) if isinstance(n, ast.Name))


def _micro_steps(context: Context) -> Iterator[Finding]:
    """Yield the schedules of an optimizer under MultiSteps that are as long as all its small batches."""
    for event, name in foreign(context, "MultiSteps", everywhere=True):
        given = event.value.argument(0, "opt")
        every = argument(event.node, 1, "every_k_schedule")
        if (
            name != "optax.MultiSteps"
            or given is None
            or not isinstance(every, ast.Name | ast.Attribute | ast.Constant)
        ):
            continue
        if isinstance(every, ast.Constant) and every.value in (None, 1):
            continue
        for schedule in _schedules(context, context.flow.here(given, event.scope), 0):
            place, word = _STEPS[last(context.flow.calls.callee_name(schedule))]
            assert isinstance(schedule.value, Call)
            node = argument(schedule.value.node, place, word)
            home = context.bodies.home(schedule.value.node)
            if node is None or home is None or home.module not in context.asked:
                continue
            whole = written(context, node, home)
            if _per_batch(context, whole, last_word(every), home) or _as_looped(context, whole, every, home):
                yield finding(
                    RULE.code,
                    home,
                    node,
                    f"`{word}` counts updates, and MultiSteps makes one of several batches: the schedule hardly begins",
                    "divide it by the number of batches of one update",
                )


def _schedules(context: Context, bound: Bound, depth: int) -> Iterator[Bound]:
    """Yield the schedules of optax that an optimizer is made with."""
    for source in context.sources.originals(bound) if depth < _DEPTH else ():
        value = source.value
        if not isinstance(value, Call):
            continue
        name = context.flow.calls.callee_name(source)
        if name.startswith("optax.") and last(name) in _STEPS:
            yield source
        elif name.startswith("optax.") or (isinstance(value.callee, Call) and _injected(context, source, value.callee)):
            for one in value.given:
                yield from _schedules(context, context.flow.with_value(source, one), depth + 1)


def _injected(context: Context, source: Bound, callee: Call) -> bool:
    made = context.flow.follow(source, callee)
    return isinstance(made.value, Call) and context.flow.calls.callee_name(made) == "optax.inject_hyperparams"


_DEPTH = 4
_EPOCHS = pattern(r"(^|_)(num_)?epochs?$|(^|_)n_epochs$")
_BATCHES = pattern(r"(^|_)(batches|steps|iters|iterations)_(per|in)_epoch$|^(num|n)_batches$")
_NUMBER = pattern(r"(^|_)batches$|(^|_)(batches|steps)_(per|in)_epoch$")
_SMALL = pattern(r"(^|_)micro_?(batches|steps)$")
_ROUNDS = pattern(r"^((num|total|max|n|train|training)_)*(steps|iters|iterations)$")
_LARGE = pattern(r"accum|update|macro|effective|optim")


def _per_batch(context: Context, node: ast.expr, every: str, scope: Scope) -> bool:
    """Say whether a number is that of all batches of all epochs, undivided, and a loop takes these singly."""
    if isinstance(node, ast.Name | ast.Attribute) and _SMALL.search(last_word(node).lower()):
        return last_word(node) != every and _taken_singly(context, last_word(node))
    if isinstance(node, ast.Name | ast.Attribute):
        return bool(_ROUNDS.search(last_word(node).lower())) and _rounds(context, last_word(node), every)
    nodes = [*ast.walk(node)]
    if any(isinstance(n, ast.Div | ast.FloorDiv) for n in nodes) or not any(isinstance(n, ast.Mult) for n in nodes):
        return False
    words = [last_word(n).lower() for n in nodes if isinstance(n, ast.Name | ast.Attribute)]
    if any(_LARGE.search(word) or word == every.lower() for word in words) or not any(map(_EPOCHS.search, words)):
        return False
    counted = [n for n in nodes if isinstance(n, ast.Name | ast.Attribute) and _BATCHES.search(last_word(n).lower())]
    lengths = (n for n in nodes if isinstance(n, ast.Call) and last_word(n.func) == "len" and len(n.args) == 1)
    counted += [n.args[0] for n in lengths if isinstance(n.args[0], ast.Name | ast.Attribute)]
    if any(_taken_singly(context, last_word(one)) for one in counted):
        return True
    return any(steps_of_loop(context, one, scope) for one in counted) or _given_singly(context, nodes, every, scope)


def _given_singly(context: Context, nodes: list[ast.AST], every: str, scope: Scope) -> bool:
    """Say whether all callers give the number of batches undivided, and a loop takes as many singly."""
    function = scope.function
    counts = [n for n in nodes if isinstance(n, ast.Name) and _NUMBER.search(n.id.lower())]
    if function is None or len(counts) != 1 or not isinstance(scope.module.values.get(counts[0]), Param):
        return False
    param = function.params.get(counts[0].id)
    callers = callers_of(context, function)[:_CALLERS] if param is not None else []
    if param is None or not callers or any(caller.value.starred for caller in callers):
        return False
    for caller in callers:
        given = argument(caller.node, position(param), param.name)
        if isinstance(given, ast.Call) and last_word(given.func) == "len" and len(given.args) == 1:
            given = given.args[0]
        word = last_word(given) if isinstance(given, ast.Name | ast.Attribute) else ""
        if not word or word == every or _LARGE.search(word.lower()) or not _taken_singly(context, word):
            return False
    return True


def _rounds(context: Context, steps: str, every: str) -> bool:
    """Say whether a loop of as many rounds takes one step in each, and none takes the batches of an update together."""
    loops = [loop for module in context.project.modules for loop in module.source.of_type(ast.For)]
    counts = [
        (loop, loop.iter.args[-1])
        for loop in loops
        if isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) in {"range", "trange"} and loop.iter.args
    ]
    inner = {n for loop in loops for s in loop.body for n in ast.walk(s) if isinstance(n, ast.For)}
    if any(last_word(count) == every or (isinstance(count, ast.Constant) and loop in inner) for loop, count in counts):
        return False
    return any(
        isinstance(count, ast.Name | ast.Attribute)
        and last_word(count) == steps
        and loop not in inner
        and not any(isinstance(n, ast.For | ast.While) for s in loop.body for n in ast.walk(s))
        and any(isinstance(n, ast.Call) and _STEP.search(last_word(n.func)) for s in loop.body for n in ast.walk(s))
        for loop, count in counts
    )


def _taken_singly(context: Context, name: str) -> bool:
    """Say whether a loop over batches, or as many rounds as there are, takes a step in each."""
    return any(
        any(isinstance(n, ast.Name | ast.Attribute) and last_word(n) == name for n in ast.walk(loop.iter))
        and not any(isinstance(n, ast.For | ast.While) for s in loop.body for n in ast.walk(s))
        and any(isinstance(n, ast.Call) and _STEP.search(last_word(n.func)) for s in loop.body for n in ast.walk(s))
        for module in context.project.modules
        for loop in module.source.of_type(ast.For)
    )


def _as_looped(context: Context, node: ast.expr, every: ast.expr, scope: Scope) -> bool:
    """Say whether a number is that of the rounds of loops within each other, of which the inner one updates once."""
    factors = _factors(context, node, scope, 0)
    names = sorted(factors)
    if not factors or last_word(every) in factors:
        return False
    total = the_number(context, scope.module.values.get(node), scope)
    together = constant(every) if isinstance(every, ast.Constant) else None
    if total is None and len(factors) == 1:
        return False  # whose rounds are asked for by its name
    nests = context.shared(_nests)
    if any("" not in words and sorted(words) == names for words in ([*map(last_word, one)] for one, _ in nests)):
        return True
    if not nests or total is None or total <= 1 or not (together is None or isinstance(together, int)):
        return False
    for rounds, module in nests:
        counts = [the_number(context, module.values.get(count), module.scope) for count in rounds]
        known = [one for one in counts if one is not None]
        if not known or len(known) < len(counts) or math.prod(known) != total:
            return False
    return True


def _factors(context: Context, node: ast.expr, scope: Scope, depth: int) -> list[str]:
    """Return the names, and numbers, of which a number is the product; none if it is computed in another way."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.BinOp):
        sides = [_factors(context, one, scope, depth) for one in (node.left, node.right)]
        return [*sides[0], *sides[1]] if isinstance(node.op, ast.Mult) and all(sides) else []
    inner = written(context, node, scope)
    if isinstance(inner, ast.BinOp) and depth < _DEPTH:
        return _factors(context, inner, scope, depth + 1)
    return [last_word(node)] if isinstance(node, ast.Name | ast.Attribute) else []


def _nests(context: Context) -> list[tuple[list[ast.expr], ModuleFacts]]:
    """Return the numbers of the rounds of loops within each other, of which the inner one updates an optimizer once.

    They are left out where one of them is not known.
    """
    found: list[tuple[list[ast.expr], ModuleFacts]] = []
    for module in context.project.modules:
        loops = [*module.source.of_type(ast.For)]
        # what may take several batches at once
        several = any(word in module.source.data for word in (b"scan", b"fori_loop", b"while_loop"))
        for loop in loops:
            body = [n for s in loop.body for n in ast.walk(s)]
            calls = [last_word(n.func) for n in body if isinstance(n, ast.Call)]
            if any(isinstance(n, ast.For | ast.While | ast.ListComp | ast.GeneratorExp) for n in body):
                continue
            if calls.count("update") != 1 and (several or sum(map(bool, map(_ONE_STEP.search, calls))) != 1):
                continue
            around = [one for one in loops if any(n is loop for s in one.body for n in ast.walk(s))]
            rounds = [_count(one) for one in (*around, loop)]
            whole = [one for one in rounds if one is not None]
            found.append((whole if len(whole) == len(rounds) else [], module))
    return found


def _count(loop: ast.For) -> ast.expr | None:
    """Return the number of rounds of a loop over a range from zero."""
    counted = loop.iter
    if not isinstance(counted, ast.Call) or last_word(counted.func) not in {"range", "trange"} or counted.keywords:
        return None
    if len(counted.args) == 2 and constant(counted.args[0]) != 0:
        return None
    return counted.args[-1] if len(counted.args) in {1, 2} else None


_ONE_STEP = pattern(r"^_?(train|update|micro|mini|train_micro|train_mini)?_?step(_fn)?$|^train_batch$")
_STEP = pattern(r"step|update")


def _updates_within(context: Context, loop: ast.For | ast.While, counted: str) -> bool:
    """Say whether a loop over epochs has another one in it, or in a function that it calls, that takes steps."""
    rounds = loop.iter if isinstance(loop, ast.For) else loop.test
    words = [entry_word(n) for n in ast.walk(rounds) if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)]
    if counted not in words and not ("warm" in counted.lower() and any(map(_epoch, words))):
        return False
    inner = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.For | ast.While)]
    if any(map(_trains, inner)) or any(
        isinstance(n, ast.Call) and _STEP.search(last_word(n.func)) and not _OTHERS.search(ast.unparse(n.func).lower())
        for one in inner
        for n in ast.walk(one)
    ):
        return True
    called = {last_word(n.func) for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Call)}
    return any(
        function.name in called and not _TESTING.search(function.name) and any(map(_trains, ast.walk(function)))
        for module in context.project.modules
        for function in module.source.of_type(ast.FunctionDef)
    )


_TESTING = pattern(r"eval|valid|test|predict|sampl")
_TRAINS = pattern(r"^_?(train|update)_?(step|batch|on_batch|model)?(_fn)?$|^apply_gradients$")
_OTHERS = pattern(r"env|bar\b|metric|progress|meter|task|logger")


def _trains(node: ast.AST) -> bool:
    """Say whether something is a loop that calls a function to train, or updates an optimizer, itself."""
    return isinstance(node, ast.For | ast.While) and any(
        isinstance(n, ast.Call)
        and _TRAINS.search(last_word(n.func))
        and (last_word(n.func) != "update" or "opt" in last_word(getattr(n.func, "value", n.func)).lower())
        for n in ast.walk(node)
    )


RULE = lint_rule(
    "NNX766",
    "schedule-steps",
    "a schedule of too few steps",
    why="""\
`decay_steps` of `optax.warmup_cosine_decay_schedule` is the length of the whole schedule, warmup included. With fewer
steps than the warmup it raises a ValueError; with as many as were meant for the decay alone it ends too early. Steps
are updates: a schedule of as many steps as there are epochs is over in the first one, and one of as many as there are
batches hardly begins where `optax.MultiSteps` makes one update of several batches.
""",
    source="optax documentation of warmup_cosine_decay_schedule; measured on Flax 0.10.7 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import optax

schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=1000, decay_steps=500)
""",
    ),
    clean=(
        """\
import optax

schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=1000, decay_steps=1500)
""",
    ),
)
