"""Which draws with one key may be meant to be equal, or do no harm: what NNX773 tells of, and NNX830 does not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.common_numbers import common_numbers
from codemods.nnx.lint.keys import SAME, Use
from codemods.nnx.lint.looked_at import in_figures
from codemods.nnx.lint.names import KEY_MAKERS, last
from codemods.nnx.lint.syntax import constant, inside, names_in, one_of
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Function, Loop, ModuleRef, Sequence, Value

_SCRIPT = pattern(r"(^|_)(main|run\w*|demo\w*|plot\w*|compar\w*|example\w*|experiment\w*|bench\w*|show\w*)(_|$)")
_MAKING = pattern(
    r"(^|_)(init\w*|make|create|build|new|get|sample\w*|draw|noise|dropout|augment\w*|random\w*|glorot\w*|xavier\w*|he)(_|$)"
)
_INIT = pattern(r"(^|_)(init\w*|reset)(_|$)")
_MEASURING = pattern(r"bench|perf|profil|timing|speed|compar")  # of files
_SHOWS = pattern(
    r"^(plot\w*|imshow|show\w*|draw_\w+|scatter|hist|print|display|perf_counter|timeit|block_until_ready)$"
)
_DATA = pattern(r"batch|load|data|\bds\b|iter|epoch|step|train|episode|layer|dim|size|shape|width|param|leaves|block")
_COUNTS = frozenset({"range", "arange", "trange", "count"})
_CHOOSING = frozenset({"where", "select", "cond"})


def harmless_pair(context: Context, one: Use, two: Use) -> bool:
    """Say whether nobody minds that two uses of a key see the same numbers; a third use may still matter."""
    if one.helper and two.helper and one.name == two.name and (_copies(one, two) or _in_modes(one, two)):
        return True
    if _alternatives(context, one, two) or _replaced(context, one, two) or _listed_alone(one, two):
        return True
    return _for_shapes(context, one) or _for_shapes(context, two)


def _listed_alone(one: Use, two: Use) -> bool:
    """Say whether a statement only lists what the two give, as the last one of a cell that shows how they behave."""
    statement = one.event.statement
    if (
        statement is not two.event.statement
        or not isinstance(statement, ast.Expr)
        or one.event.scope.function is not None
    ):
        return False
    shown = statement.value
    return isinstance(shown, ast.Tuple | ast.List) and all(use.event.node in shown.elts for use in (one, two))


def _replaced(context: Context, one: Use, two: Use) -> bool:
    """Say whether ``where`` puts what one use drew into the places of what the other did, so that each element is of
    one draw alone: ``sample = jnp.where(mask, normal(key), sample)``."""
    if one.helper or two.helper or "split" in (last(one.name), last(two.name)):
        return False
    nodes = context.bodies.nodes(one.event.scope)
    arms: dict[str, list[ast.expr]] = {}
    others: list[ast.expr] = []
    for n in nodes:
        call = n.value if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) else None
        if isinstance(call, ast.Call) and last_word(call.func) == "where" and len(call.args) == 3:
            other = call.args[2]
            if isinstance(other, ast.Name) and isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == other.id:
                arms.setdefault(other.id, []).append(call.args[1])
                others.append(other)

    def put(use: Use, name: str) -> bool:
        drawn = _targets(use)
        if any(inside(use.event.node, arm) for arm in arms[name]):
            return True
        reads = [n for n in nodes if isinstance(n, ast.Name) and n.id in drawn and isinstance(n.ctx, ast.Load)]
        return bool(reads) and all(any(inside(n, arm) for arm in arms[name]) for n in reads)

    def first(use: Use, name: str) -> bool:  # what the others are put into, and nobody reads before
        begin, end = use.event.statement.lineno, max(arm.lineno for arm in arms[name])
        between = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and begin < n.lineno < end]
        return _targets(use) == {name} and all(isinstance(n.ctx, ast.Store) or n in others for n in between)

    return any(put(two, name) and (put(one, name) or first(one, name)) for name in arms)


_COPY = pattern(r"(^|_)(target|targ|tgt|ema|copy|fixed|frozen|old|prev|ref|reference|teacher|slow|momentum)(_|$)")


def _copies(one: Use, two: Use) -> bool:
    """Say whether a function makes the same thing twice, of which one is a copy for later, as a target network is."""
    return any(_COPY.search(_kept_as(use)) for use in (one, two))


_MODES = frozenset({"train", "training", "is_training", "deterministic", "evaluate", "eval_mode", "inference"})


def _in_modes(one: Use, two: Use) -> bool:
    """Say whether a function initializes a model in both of its modes, which have the same weights."""
    if not _INIT.search(last(one.name).lower()):
        return False
    told = [
        {
            (k.arg, constant(k.value))
            for n in _calls(use.event.node)
            for k in n.keywords
            if k.arg in _MODES and isinstance(constant(k.value), bool)
        }
        for use in (one, two)
    ]
    return any((word, not mode) in told[1] for word, mode in told[0])


def _kept_as(use: Use) -> str:
    """Return the last words of the variables, attributes or arguments that a statement gives its result to."""
    statement = use.event.statement
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [last_word(n) for t in targets for n in ast.walk(t) if isinstance(n, ast.Name | ast.Attribute)]
    names += [k.arg or "" for n in ast.walk(statement) if isinstance(n, ast.Call) for k in n.keywords
              if inside(use.event.node, k.value)]  # fmt: skip
    return "_".join(names).lower()


def meant_pair(context: Context, one: Use, two: Use) -> bool:
    """Say whether two uses of a key may be meant to see the same numbers."""
    if common_numbers(context, one, two):
        return True
    if _equal_asked(context, one, two) or in_figures(context, one, two) or _same_order(one, two):
        return True
    if _only_asked(context, one) or _only_asked(context, two):
        return True
    scope = two.event.scope
    timed = [loop for loop in two.event.loops if isinstance(loop, ast.For) and loop not in one.event.loops]
    if in_script(scope) and any(_sizes(loop, two) and not _learns_in(loop) for loop in timed):
        return True  # each size is timed with the same numbers
    if _in_self_test(context, one) and _in_self_test(context, two):
        return True
    if one.helper and two.helper:
        told = [_now_and_then(context, use, shown=True) for use in (one, two)]
        if told[0] is not told[1]:
            return True  # an example that is shown, and what is trained with
    if not one.helper and not two.helper:
        if _shown_beside(one, two):
            return True
        if "split" not in (last(one.name), last(two.name)) and SAME.search(last_word(one.node)):
            return True
        shown = _only_shown(context, one) and _only_shown(context, two) and not _side_by_side(context, one, two)
        return shown or (in_script(scope) and _measured(scope) and one.name == two.name)
    if "split" in (last(one.name), last(two.name)) and not (one.helper and two.helper):
        return False  # used up and split after all, or the other way round
    if one.helper and two.helper and (_other_setting(one, two) or _each_its_own(one, two)):
        return True
    if one.helper and two.helper and in_script(scope) and _other_function(context, one, two):
        return True
    if _in_one_expression(one, two) or _fed(one, two):
        return False
    if one.helper and two.helper:
        if one.gradient or two.gradient:
            return True  # a loss, and what else is told of the same numbers
        return in_script(scope) and not _made(one, two) and bool(_things(one) & _things(two))
    return in_script(scope)


def _same_order(one: Use, two: Use) -> bool:
    """Say whether a statement that puts all of something into an order is written a second time, outside of loops: the
    same is measured before and behind what stands between."""
    if last(one.name) != "permutation" or one.helper or two.helper or one.event.loops or two.event.loops:
        return False
    first, second = one.event.statement, two.event.statement
    if not isinstance(first, ast.Assign) or first.value is not one.event.node:
        return False
    return ast.dump(first) == ast.dump(second)


def _each_its_own(one: Use, two: Use) -> bool:
    """Say whether a script does the same with objects that are made of different things, for a comparison."""
    first, second = one.event.node, two.event.node
    if not isinstance(first.func, ast.Attribute) or not isinstance(second.func, ast.Attribute):
        return False
    if first.func.attr != second.func.attr or one.event.scope is not two.event.scope or not in_script(two.event.scope):
        return False
    if ast.dump(ast.Tuple([*first.args, *(k.value for k in first.keywords)])) != ast.dump(
        ast.Tuple([*second.args, *(k.value for k in second.keywords)])
    ):
        return False
    values = one.event.scope.module.values
    made = [values.get(func.value) for func in (first.func, second.func) if isinstance(func.value, ast.Name)]
    calls = [value.node for value in made if isinstance(value, Call)]
    return (
        len(calls) == 2
        and calls[0] is not calls[1]
        and ast.dump(calls[0].func) == ast.dump(calls[1].func)
        and ast.dump(calls[0]) != ast.dump(calls[1])
    )


def _shown_beside(one: Use, two: Use) -> bool:
    """Say whether a cell draws two arrays for a demonstration, the second with ``split(key)[1]``, and does not put them
    together there."""
    scope, statement = two.event.scope, two.event.statement
    if not scope.module.source.cell_starts or not in_script(scope) or last(one.name) == "split":
        return False
    if last(two.name) != "split" or not isinstance(statement, ast.Assign) or _targets(one) & names_in(statement.value):
        return False
    firsts = [call.args[0] for call in _calls(statement.value) if call.args]
    return any(isinstance(one, ast.Subscript) and one.value is two.event.node for one in firsts)


def _in_self_test(context: Context, use: Use) -> bool:
    """Say whether a use stands in the block of a module that runs it as a program, and asserts there what it does, or
    stops for a look at it."""
    return any(
        isinstance(block, ast.If)
        and arm == "body"
        and "__name__" in names_in(block.test)
        and any(isinstance(n, ast.Assert) or _stops(n) for n in ast.walk(block))
        and not any(_LEARNT_BY.search(last_word(call.func).lower()) and not _sets(call) for call in _calls(block))
        for block, arm in context.bodies.paths(use.event.scope).get(use.event.node, ())
    )


def _stops(node: ast.AST) -> bool:
    """Say whether a node is a call of the debugger."""
    return isinstance(node, ast.Call) and last_word(node.func) in {"breakpoint", "set_trace"}


_LEARNT_BY = pattern(r"grad|update|train|optim|fit")


def _sets(call: ast.Call) -> bool:
    """Say whether a call sets an option of JAX: ``jax.config.update``."""
    return last_word(getattr(call.func, "value", None)) == "config"


def _now_and_then(context: Context, use: Use, *, shown: bool = False) -> bool:
    """Say whether a use stands in a branch that every so many rounds take, as ``if step % 100 == 0``.

    Args:
        context: the analysis.
        use: the use.
        shown: whether the branch must show or keep something, too.
    """
    return any(
        isinstance(block, ast.If)
        and arm == "body"
        and any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in ast.walk(block.test))
        and (not shown or any(_TELLING.search(last_word(call.func).lower()) for call in _calls(block)))
        for block, arm in context.bodies.paths(use.event.scope).get(use.event.node, ())
    )


_TELLING = pattern(r"print|log|show|plot|save|write|report|info|decode")


def _things(use: Use) -> set[str]:
    """Return the variables that a call is about: the object whose method it is, and what it is given but the key."""
    parts = [node for node in _given(use) if node is not use.node]
    func = use.event.node.func
    if isinstance(func, ast.Attribute) and not isinstance(use.event.scope.module.values.get(func.value), ModuleRef):
        parts.append(func.value)
    return {name for part in parts for name in names_in(part)}


_SPLITS = frozenset(
    {"train", "training", "eval", "eval_train", "evaluation", "val", "valid", "validation", "dev", "test"}
)


def _other_setting(one: Use, two: Use) -> bool:
    """Say whether a helper is called twice with a switch or rate of another value, and is the same otherwise."""
    first, second = _given(one), _given(two)
    if one.name != two.name or len(first) != len(second) or _made(one, two):
        return False
    unlike = [pair for pair in zip(first, second, strict=True) if ast.dump(pair[0]) != ast.dump(pair[1])]
    if any(one_of(a, _SPLITS) and one_of(b, _SPLITS) for a, b in unlike):
        return True  # each is the order of other data
    return bool(unlike) and all(
        isinstance(a, ast.Constant) and isinstance(a.value, bool | str | float) for p in unlike for a in p
    )


def _other_function(context: Context, one: Use, two: Use) -> bool:
    """Say whether a script calls a helper twice, the second time for another function of its own or for the same in
    another form, as the names say: two ways to write a density are compared by the same numbers."""
    first, second = _given(one), _given(two)
    if one.name != two.name or len(first) != len(second) or one.event.scope is not two.event.scope:
        return False
    values = one.event.scope.module.values
    unlike = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if ast.dump(a) != ast.dump(b) and isinstance(a, ast.Name) and isinstance(b, ast.Name)
    ]
    if any(all(isinstance(_denoted(context, values.get(n), one), Function) for n in pair) for pair in unlike):
        return True
    return any(b.id.startswith(a.id) and _FORM.fullmatch(b.id[len(a.id) :]) for a, b in unlike)


_FORM = pattern(r"_(vec(tori[sz]ed)?|vmap(ped)?|flat(tened)?|jit(ted)?|naive|fast|slow|ref(erence)?|alt)")


def _denoted(context: Context, value: Value | None, use: Use) -> Value | None:
    """Return what a value is after all, such as the function that a name stands for."""
    return context.flow.resolve(context.flow.here(value, use.event.scope)).value if value is not None else None


def weak_round(context: Context, use: Use, loop: ast.AST) -> bool:
    """Say whether a loop goes through settings that are compared, or through what a model is judged by."""
    if not isinstance(loop, ast.For | ast.comprehension):
        return False
    function = use.event.scope.function
    text = ast.unparse(loop.iter)
    if any(SAME.search(name) for name in names_in(loop.iter)) or (function is not None and SAME.search(function.name)):
        return True
    if function is not None and _ANALYSIS.search(function.name):
        return True
    if use.helper and (_in_step(use, loop) or _thrown_in_part(use)):
        return True
    if SAME.search(last_word(use.node)) and _seeded_apart(context, use):
        return True
    if isinstance(loop, ast.For) and (_of_settings(context, use, loop) or _of_arguments(use, loop)):
        return True
    if isinstance(loop, ast.For) and (_of_methods(loop) or _of_grid(use, loop) or _scaled(use, loop)):
        return True
    if isinstance(loop, ast.For) and (_of_problems(use, loop) or _averaged(context, use, loop) or _best_of(loop)):
        return True
    if in_script(use.event.scope) and any(_RESTORING.search(last_word(n.func).lower()) for n in _calls(loop)):
        return True  # the same for each checkpoint
    if use.helper and _SET_ASIDE.search(last_word(use.node).lower()) and _now_and_then(context, use):
        return True
    called = {last_word(n.func) for n in ast.walk(loop.iter) if isinstance(n, ast.Call)}
    if called & _COUNTS or _DATA.search(text.lower()) or _DATA.search(ast.unparse(loop.target).lower()):
        return in_script(use.event.scope) and _sizes(loop, use)
    if use.helper:
        return in_script(use.event.scope) or isinstance(loop.iter, ast.List | ast.Tuple)
    return in_script(use.event.scope) and any(_SHOWS.match(last_word(n.func)) for n in _calls(loop))


_ANALYSIS = pattern(r"(^|_)(ana|analy[sz]\w*|ablat\w*|compar\w*)(_|$)")  # of settings, with the same noise for each
_RESTORING = pattern(r"^(restore\w*|load_(model|params|weights|checkpoint|ckpt)\w*)$")
_SET_ASIDE = pattern(r"(^|_)(sampl\w*|gen\w*|preview|demo)(_|$)")  # keys for pictures of what is learned


def _seeded_apart(context: Context, use: Use) -> bool:
    """Say whether a key is made of a seed of its own: not of the number from which others come."""
    made = context.flow.resolve(context.flow.here(use.key, use.event.scope))
    if not isinstance(made.value, Call) or not isinstance(made.value.node, ast.Call):
        return False
    return context.flow.calls.callee_name(made) in KEY_MAKERS


_LEARNT = pattern(r"param|weight|layer|init|train|update|optim")


def _best_of(loop: ast.For) -> bool:
    """Say whether a loop tries candidates, and keeps which of them is the best: ``if score > best: chosen = one``."""
    one = loop.target.id if isinstance(loop.target, ast.Name) else ""
    choices = [n for n in ast.walk(loop) if isinstance(n, ast.If) and isinstance(n.test, ast.Compare)]
    given = (n.value for choice in choices for part in choice.body for n in ast.walk(part) if isinstance(n, ast.Assign))
    kept = {n for value in given for n in elements(value) if isinstance(n, ast.Name) and n.id == one}
    # the number of a random restart is told at most, and nothing is computed with it
    computing = (call for call in _calls(loop) if not _TELLING.search(last_word(call.func).lower()))
    return bool(kept) and any(
        isinstance(n, ast.Name) and n.id == one and n not in kept
        for call in computing
        for n in ast.walk(call)
        if last_word(call.func) not in {"append", "set_postfix", "set_description"}
    )


def _of_settings(context: Context, use: Use, loop: ast.For) -> bool:
    """Say whether a loop goes through written-out numbers, for each of which many keys are made, and what comes of them
    is collected: common random numbers for all settings of an experiment."""
    if last(use.name) != "split" or use.helper or use.event.value.argument(1, "num") is None:
        return False
    value = use.event.scope.module.values.get(loop.iter)
    settings = context.flow.resolve(context.flow.here(value, use.event.scope)).value if value is not None else None
    if not isinstance(settings, Sequence) or len(settings.items) < 2:
        return False
    if not all(isinstance(one, Const) and type(one.value) in {int, float} for one in settings.items):
        return False
    if any(_LEARNT.search(name.lower()) for name in names_in(loop)):
        return False
    return any(last_word(call.func) == "append" for call in _calls(loop))


_COMMAND_LINE = frozenset({"args", "opts", "flags", "FLAGS", "cli_args"})


def _of_arguments(use: Use, loop: ast.For) -> bool:
    """Say whether a loop goes through values of one option of the command line and hands each to the call: the same
    numbers for each, so that what comes of them can be compared."""
    if not use.helper or not isinstance(loop.iter, ast.Attribute) or last_word(loop.iter.value) not in _COMMAND_LINE:
        return False
    if any(_LEARNT.search(name.lower()) for name in names_in(loop.iter)) or "seed" in loop.iter.attr:
        return False
    return any(names_in(loop.target) & names_in(given) for given in _given(use) if given is not use.node)


_METHODS = pattern(r"(^|_)(methods|algorithms|algos|samplers|solvers|baselines|strategies|integrators|estimators)$")


def _of_methods(loop: ast.For) -> bool:
    """Say whether a loop goes through methods that are compared, and calls each, or a method of it."""
    if not isinstance(loop.target, ast.Name) or not _METHODS.search(last_word(loop.iter).lower()):
        return False
    called = (call.func for part in loop.body for call in _calls(part))
    runs = {last_word(func.value) if isinstance(func, ast.Attribute) else last_word(func) for func in called}
    return loop.target.id in runs


_GRIDS = frozenset({"arange", "linspace", "logspace", "geomspace"})


def _of_grid(use: Use, loop: ast.For) -> bool:
    """Say whether a script goes through a grid of numbers that are no counts, hands each to the call with the key, and
    only collects what comes of it."""
    made = loop.iter
    if not use.helper or not in_script(use.event.scope) or not isinstance(loop.target, ast.Name):
        return False
    if not isinstance(made, ast.Call) or last_word(made.func) not in _GRIDS or len(made.args) < 2:
        return False
    if last_word(made.func) == "arange" and not any(type(constant(one)) is float for one in made.args):
        return False
    if any(_LEARNT.search(last_word(call.func).lower()) for part in loop.body for call in _calls(part)):
        return False
    given = any(loop.target.id in names_in(one) for one in _given(use) if one is not use.node)
    return given and any(last_word(call.func) == "append" for part in loop.body for call in _calls(part))


_PROBLEMS = pattern(r"(^|_)(datasets|problems|configs|experiments|scenarios|cases|benchmarks|variants)$")


def _of_problems(use: Use, loop: ast.For) -> bool:
    """Say whether a script goes through named problems, and hands a part of each to the call with the key: every run is
    by itself, and takes nothing over from the one before."""
    made, target = loop.iter, loop.target
    if not use.helper or not in_script(use.event.scope) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return False
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute) or made.func.attr != "items":
        return False
    if not _PROBLEMS.search(last_word(made.func.value).lower()) or _carries(use, loop):
        return False
    held = names_in(target.elts[1])
    return any(held & names_in(one) for one in _given(use) if one is not use.node)


def _averaged(context: Context, use: Use, loop: ast.For) -> bool:
    """Say whether a script goes through a grid of numbers that are no counts, and for each of them through the same
    keys, of which what comes is collected: common random numbers for all points of a curve."""
    scope = use.event.scope
    inner = next((one for one in use.event.loops if one is not loop and inside(one, loop)), None)
    if not isinstance(inner, ast.For) or not in_script(scope) or not isinstance(loop.target, ast.Name):
        return False
    if not isinstance(inner.target, ast.Name) or not isinstance(use.node, ast.Name) or use.node.id != inner.target.id:
        return False
    value = scope.module.values.get(loop.iter)
    grid = context.flow.resolve(context.flow.here(value, scope)) if value is not None else None
    if grid is None or not isinstance(grid.value, Call) or last_word(grid.value.node.func) not in _GRIDS - {"arange"}:
        return False
    if any(_LEARNT.search(last_word(call.func).lower()) for call in _calls(loop)) or _carries(use, loop):
        return False
    read = any(loop.target.id in names_in(part) for part in loop.body)
    return read and any(last_word(call.func) == "append" for call in _calls(loop))


def _carries(use: Use, loop: ast.For) -> bool:
    """Say whether a round of a loop reads what the round before left in a variable; what it collects does not count."""
    values = use.event.scope.module.values
    collected = {
        n.func.value
        for n in _calls(loop)
        if isinstance(n.func, ast.Attribute) and n.func.attr in {"append", "extend", "update"}
    }
    return any(
        _from_before(values.get(n), loop)
        for part in loop.body
        for n in ast.walk(part)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in collected
    )


def _from_before(value: Value | None, loop: ast.For) -> bool:
    """Say whether a variable may hold what the round before left, also at the head of a loop within the loop."""
    while isinstance(value, Loop):
        if value.node is loop:
            return True
        value = value.before
    return False


_PICTURES = pattern(r"(^|_)(img|image|images|fig|figure|plot|imshow|picture)(_|$)")


def _scaled(use: Use, loop: ast.For) -> bool:
    """Say whether the numbers are scaled by what the loop goes through, and what comes of them is shown or saved as a
    picture each time: pictures of the same noise can be compared. Where rounds go on with it, that is a mistake."""
    statement = use.event.statement
    if use.helper or not isinstance(loop.target, ast.Name) or not isinstance(statement, ast.Assign):
        return False
    products = (n for n in ast.walk(statement.value) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    pairs = ((n.left, n.right) for n in products)
    if not any(
        use.event.node in pair and any(isinstance(n, ast.Name) and n.id == loop.target.id for n in pair)
        for pair in pairs
    ):
        return False
    stored = {
        n.id for part in loop.body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    carried = stored & {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
    return not carried and any(
        _PICTURES.search(last_word(call.func).lower()) for part in loop.body for call in _calls(part)
    )


_PREDICTING = pattern(r"(^|_)(predict\w*|infer\w*|encode\w*|embed\w*)(_|$)")


def _thrown_in_part(use: Use) -> bool:
    """Say whether a prediction is made of which a part goes to ``_``: what is kept may be the mean, without noise."""
    statement = use.event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    parts = [part for target in statement.targets if isinstance(target, ast.Tuple) for part in target.elts]
    thrown = any(isinstance(part, ast.Name) and part.id == "_" for part in parts)
    return thrown and bool(_PREDICTING.search(last(use.name).lower()))


_AUGMENTING = pattern(r"crop|shift|flip|augment|jitter|rotat|mask|colou?r_?(transform|distort|aug)")


def in_step(name: str) -> bool:
    """Say whether a function augments images, by its name: what belongs together is augmented alike."""
    return bool(_AUGMENTING.search(last(name).lower()))


def _in_step(use: Use, loop: ast.For | ast.comprehension) -> bool:
    """Say whether a loop does the same to each view of one observation, as crops of several cameras are."""
    if not in_step(use.name) or not isinstance(loop.target, ast.Name):
        return False
    parts = [n for a in _given(use) for n in ast.walk(a) if isinstance(n, ast.Subscript)]
    return any(
        loop.target.id in names_in(one)  # also channels that lie side by side: x[..., 3 * i : 3 * (i + 1)]
        for n in parts
        for one in (n.slice.elts[-1:] if isinstance(n.slice, ast.Tuple) else [n.slice])
        if isinstance(one, ast.Name) or (isinstance(one, ast.Slice) and isinstance(n.slice, ast.Tuple))
    )


def in_script(scope: Scope) -> bool:
    """Say whether a body is the one of a file, a cell, or a function that runs something to look at it: one that takes
    nothing does always the same."""
    function = scope.function
    return function is None or not function.params or bool(_SCRIPT.search(function.name.lower()))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Call))


def _sizes(loop: ast.For | ast.comprehension, use: Use) -> bool:
    """Say whether a loop tries several sizes, of which it takes the time."""
    names = names_in(loop.target)
    return any(_TIMING.fullmatch(last_word(n.func)) for n in _calls(loop)) and any(
        names & names_in(a) for a in _given(use) if a is not use.node
    )


_TIMING = pattern(r"time|perf_counter|timeit|block_until_ready|_*(time|timeit|measure|bench\w*)_\w+")


def _learns_in(loop: ast.For) -> bool:
    """Say whether a loop trains something."""
    return any(_LEARNT_BY.search(last_word(call.func).lower()) and not _sets(call) for call in _calls(loop))


def _measured(scope: Scope) -> bool:
    return bool(_MEASURING.search(scope.module.source.file_name.lower()))


def _only_shown(context: Context, use: Use) -> bool:
    """Say whether what is drawn is shown, and nothing else is done with it."""
    statement = use.event.statement
    if _shows(statement):
        return not isinstance(statement, ast.Expr) or statement.value is not use.event.node
    cells = bool(use.event.scope.module.source.cell_starts)  # which show what an expression comes to
    return last(use.name) != "split" and _only_in(
        context, use, lambda one: _shows(one) or (cells and isinstance(one, ast.Expr))
    )


def _shows(statement: ast.stmt) -> bool:
    """Say whether a statement is a call that shows something."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(_SHOWS.match(last_word(call.func)))


def _side_by_side(context: Context, one: Use, two: Use) -> bool:
    """Say whether one statement reads both results, as a figure of one against the other: they lie on a line."""
    first, second = _targets(one), _targets(two)
    statements = (n for n in context.bodies.nodes(one.event.scope) if isinstance(n, ast.Expr))
    return not first & second and any(first & names_in(n) and second & names_in(n) for n in statements)


def _only_asked(context: Context, use: Use) -> bool:
    """Say whether text asserts something of what is drawn, each time alone, and nothing else is done with it."""
    return last(use.name) != "split" and _only_in(context, use, lambda one: isinstance(one, ast.Assert))


def _only_in(context: Context, use: Use, wanted: Callable[[ast.stmt], bool]) -> bool:
    """Say whether all that reads what a use gives, until its variable is bound again, are statements of one kind."""
    names, scope, first = _targets(use), use.event.scope, use.event.statement
    nodes = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.stmt) and n.lineno > first.lineno]
    bound = [n for n in nodes if isinstance(n, ast.Assign) and names & {m for t in n.targets for m in names_in(t)}]
    around = context.bodies.paths(scope).get(use.event.node, ())
    bound = [n for n in bound if context.bodies.paths(scope).get(n, ()) == around]
    end = min((n.lineno for n in bound), default=None)
    if len(names) != 1 or use.event.loops:
        return False
    nodes = [n for n in nodes if not isinstance(n, ast.FunctionDef | ast.ClassDef) or names & _from_outside(n)]
    if any(isinstance(n, ast.FunctionDef | ast.ClassDef) and names & names_in(n) for n in nodes):
        return False  # which may read it at any time
    reading = [n for n in nodes if names & names_in(n) and (end is None or n.lineno < end)]
    reads_itself = any(n.lineno == end and names & names_in(n.value) for n in bound)
    return bool(reading) and not reads_itself and all(wanted(n) for n in reading)


def _from_outside(definition: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return the names in a function, or in a class, that are none of their parameters or variables."""
    own = {n.arg for n in ast.walk(definition) if isinstance(n, ast.arg)}
    own |= {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    declared = {m for n in ast.walk(definition) if isinstance(n, ast.Global | ast.Nonlocal) for m in n.names}
    return set(names_in(definition)) - (own - declared)


_CLOCKS = frozenset({"time", "perf_counter", "perf_counter_ns", "monotonic", "default_timer"})
_FEW = 3  # rounds, of which the first one compiles


def warmed_up(loop: ast.AST) -> bool:
    """Say whether a loop does the same a few times to measure it: the first round compiles, the others are timed."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or last_word(loop.iter.func) != "range":
        return False
    times = constant(loop.iter.args[0]) if len(loop.iter.args) == 1 else None
    names = names_in(loop.target)
    reads = [
        n
        for part in loop.body
        for n in ast.walk(part)
        if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
    ]
    measured = any(last_word(call.func) in _CLOCKS for call in _calls(loop))
    return type(times) is int and times <= _FEW and not reads and measured


def _targets(use: Use) -> set[str]:
    """Return the variables that get what a statement with a use gives."""
    statement = use.event.statement
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _equal_asked(context: Context, one: Use, two: Use) -> bool:
    """Say whether the text asserts something of two results together, as that they are equal."""
    first, second = _targets(one), _targets(two)
    if not first or not second or first & second:
        return False
    for node in context.bodies.nodes(one.event.scope):
        asked = node.test if isinstance(node, ast.Assert) else node
        for part in ast.walk(asked) if isinstance(node, ast.Assert) else ():
            if isinstance(part, ast.Compare) or (isinstance(part, ast.Call) and last_word(part.func) in _EQUAL):
                asked = part
                break
        if isinstance(node, ast.Assert) and isinstance(asked, ast.Compare):
            sides = [names_in(asked.left), names_in(asked.comparators[0])]
        elif isinstance(asked, ast.Call) and last_word(asked.func) in _EQUAL and len(asked.args) > 1:
            if not isinstance(node, ast.Assert) and not last_word(asked.func).startswith("assert"):
                continue
            sides = [names_in(asked.args[0]), names_in(asked.args[1])]
        else:
            continue
        if (first & sides[0] and second & sides[1]) or (first & sides[1] and second & sides[0]):
            return True
    return False


_EQUAL = frozenset(
    {"allclose", "array_equal", "assert_allclose", "assert_array_equal", "isclose", "assert_trees_all_close"}
)


def _alternatives(context: Context, one: Use, two: Use) -> bool:
    """Say whether an operation takes the result of one use or that of the other, and nothing else reads them."""
    first, second = _targets(one), _targets(two)
    if len(first) != 1 or len(second) != 1 or first == second:
        return False
    nodes = context.bodies.nodes(one.event.scope)
    choices = [n for n in nodes if isinstance(n, ast.Call) and last_word(n.func) in _CHOOSING and len(n.args) > 2]
    if not choices:
        return False
    arms = [arm for choice in choices for arm in choice.args[1:]]

    def chosen(names: set[str]) -> bool:
        reads = [n for n in nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
        return bool(reads) and all(any(inside(n, arm) for arm in arms) for n in reads)

    if not chosen(first) or not chosen(second):
        return False
    grown = [set(first), set(second)]  # with what a choice that takes them gives
    for statement in sorted((n for n in nodes if isinstance(n, ast.Assign)), key=lambda n: n.lineno):
        if isinstance(statement.value, ast.Call) and statement.value in choices:
            for names in grown:
                if any(names & names_in(arm) for arm in statement.value.args[1:]):
                    names |= {n for t in statement.targets for n in names_in(t)}
    for choice in choices:
        left, *rest = choice.args[1:]
        right = [name for arm in rest for name in names_in(arm)]
        for a, b in (grown, grown[::-1]):
            if a & names_in(left) and b & set(right):
                return True
    return False


_ASKING = frozenset({"init", "init_with_output", "lazy_init", "eval_shape", "tabulate", "initialize"})


def _for_shapes(context: Context, use: Use) -> bool:
    """Say whether what is drawn, and what is made of it, is only an example of shapes that a model is set up with."""
    names, scope = _targets(use) - {"_"}, use.event.scope
    statement = use.event.statement
    value = getattr(statement, "value", None)
    if not names or last(use.name) == "split" or not isinstance(value, ast.Call) or not inside(use.event.node, value):
        return False
    asking = [
        argument
        for event in context.bodies.calls.get(scope, ())
        if isinstance(event.node.func, ast.Attribute) and event.node.func.attr in _ASKING and len(event.node.args) > 1
        for argument in (*event.node.args[1:], *(k.value for k in event.node.keywords))
    ]
    if not asking:
        return False
    assigned = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and n is not statement]
    made: list[ast.expr] = []
    for _ in range(4):
        for one in assigned:
            if one.value not in made and not any(a is n for a in asking for n in ast.walk(one)):
                if names & names_in(one.value) and all(isinstance(t, ast.Name) for t in one.targets):
                    made.append(one.value)
                    names |= {n for t in one.targets for n in names_in(t)}
    reads = list(_reads(scope.node, names))
    return bool(reads) and all(any(inside(n, part) for part in (*asking, *made)) for n in reads)


def _reads(node: ast.AST, names: set[str]) -> Iterator[ast.Name]:
    """Yield where variables of a body are read, also in its inner functions that have no such variables themselves."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and child.id in names and isinstance(child.ctx, ast.Load):
            yield child
        own: set[str] = set()
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            own = {n.arg for n in ast.walk(child) if isinstance(n, ast.arg)}
            own |= {n.id for n in ast.walk(child) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        yield from _reads(child, names - own)


def _in_one_expression(one: Use, two: Use) -> bool:
    """Say whether both results are parts of one expression, as the layers of a dict or the terms of a sum."""
    return one.event.statement is two.event.statement and not isinstance(
        one.event.statement, ast.For | ast.While | ast.If | ast.With
    )


def _fed(one: Use, two: Use) -> bool:
    """Say whether the second use works on what the first one gave, or its result is put together with that."""
    if one.helper and _INIT.search(last(one.name).lower()):
        return False
    results = _targets(one)
    statement = two.event.statement
    whole = getattr(statement, "value", None) if isinstance(statement, ast.Assign | ast.Return) else None
    return bool(results) and bool(results & names_in(whole or two.event.node))


def _given(use: Use) -> list[ast.expr]:
    return [*use.event.node.args, *(k.value for k in use.event.node.keywords)]


def _made(one: Use, two: Use) -> bool:
    """Say whether two helpers make parts of something: weights, samples."""
    return all(_MAKING.search(last(use.name).lower()) for use in (one, two))
