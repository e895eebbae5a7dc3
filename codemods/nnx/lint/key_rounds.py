"""Keys that every round of a loop draws with, or that a step hands on as it got them; part of NNX830."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.carried_dict import changed_in_place
from codemods.nnx.lint.keys import SAME, Use, binds, kept, varies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import formula_of
from codemods.nnx.lint.syntax import argument, constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Function, Item, Param, Sequence, Value

ROUNDS = frozenset({"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop"})
ORDERED = {"choice": "a", "permutation": "x", "shuffle": "x"}  # the parameter that takes what is put into an order
ORDERS = frozenset(ORDERED)
_BEGINNING = pattern(r"(^|_)(reset|respawn)(_|$)")  # functions that begin another episode

# functions that take one step by chance, by their names
_MOVING = pattern(
    r"(^|_)(kernel|step|move|moves|transition|propose|proposal|mcmc|mh|hmc|metropolis|gibbs|langevin|walk|sweep|mutate|"
    r"perturb|jump|update|diffuse|evolve|sample|draw|simulate)(_|$)"
)
_DIFFERENTIATING = frozenset({"grad", "value_and_grad", "vjp", "jvp", "jacfwd", "jacrev"})


def drawn_into(use: Use) -> str:
    """Return the variable that gets what is drawn as it is; empty if there is none."""
    statement = use.event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node or len(statement.targets) != 1:
        return ""
    return statement.targets[0].id if isinstance(statement.targets[0], ast.Name) else ""


def repeats(context: Context, use: Use, loop: ast.AST) -> bool:
    """Say whether a loop repeats a draw with the same key."""
    if isinstance(use.key, Attr):  # of an object that keeps it as it is
        return isinstance(use.key.base, Param) and not SAME.search(use.key.name) and not _once(use.event, loop)
    if _in_step(use, loop) or _of_one_round(context, use, loop) or _of_picture(use):
        return False
    if isinstance(loop, ast.comprehension) and isinstance(use.key, Call):
        return not inside(use.key.node, use.event.statement)  # made before
    if isinstance(use.node, ast.Name) and isinstance(use.key, Free) and binds(loop, use.node.id):
        return False  # what it was before the first round is not known
    return not varies(use.key, loop, 0, lambda one: kept(context, one)) and not _once(use.event, loop)


def parts_of_rounds(use: Use, loops: list[ast.AST]) -> str | None:
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
    count = argument(call, 1, "num")
    keys = 2 if count is None else constant(count)
    rounds = _rounds(own[-1].iter)
    if not isinstance(keys, int) or rounds is None or rounds <= keys:
        return ""
    return f"`split` gives {keys} keys here, and there are {rounds} rounds: those behind the end get the last key again"


def _of_one_round(context: Context, use: Use, loop: ast.AST) -> bool:
    """Say whether one round of a loop alone draws: ``if i == 0``."""
    if not isinstance(loop, ast.For):
        return False
    counters = _counters(loop)
    for block, arm in context.bodies.paths(use.event.scope).get(use.event.node, ()):
        if not isinstance(block, ast.If) or arm != "body" or not counters or not inside(block, loop):
            continue
        test = block.test
        for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
            if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq | ast.Is):
                sides = part.left, part.comparators[0]
                if any(isinstance(one, ast.Name) and one.id in counters for one in sides):
                    return any(constant(one) is not None for one in sides)
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
                return isinstance(part.operand, ast.Name) and part.operand.id in counters
    return False


def _of_picture(use: Use) -> bool:
    """Say whether a function that renders a picture gives each part of it the same jitter."""
    function = use.event.scope.function
    return use.helper and function is not None and all(map(_RENDERING.search, (use.name, function.name)))


_RENDERING = pattern(r"(^|_|\.)render(_|$)")


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
        last(use.name) not in ORDERS
        or not isinstance(loop, ast.comprehension | ast.For)
        or len(use.event.node.args) < 2
    ):
        return False
    if isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) == "range":
        return False
    bound = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    if isinstance(loop, ast.For) and (order := drawn_into(use)):
        reads = {n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == order and isinstance(n.ctx, ast.Load)}
        for node in ast.walk(loop):  # `fields[name][order]` of each name
            if isinstance(node, ast.Subscript) and names_in(node.value) & bound:
                reads -= set(ast.walk(node.slice))
        if not reads:
            return True
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(use.event.node.args[1]))


def in_each_round(context: Context, use: Use) -> bool:
    """Say whether the body of a loop of JAX draws from a key that comes from outside of it."""
    function, key = use.event.scope.function, use.key
    if function is None or not isinstance(key, Free | Param | Item):
        return False
    if use.helper and not _BEGINNING.search(use.name):
        if not _moves_on(context, use) and not _adds_noise(context, use.event):
            return False
    while isinstance(key, Item):
        if not isinstance(key.index, Const):
            return False  # one of many keys, another one in every round
        key = key.base
    outside = key.scope.function if isinstance(key, Free) else key.function if isinstance(key, Param) else function
    if outside is function or (isinstance(key, Free) and SAME.search(key.name)):
        return False
    if _one_draw(context, function) and not use.helper:
        callers = context.flow.sites.callers(function) or _on_way(context, function)
        bodies = {event.scope.function for event in callers}
        if callers and outside is not None and all(_adds_noise(context, event) for event in callers):
            inside_loop = _runs_in(context, outside, bodies)
            return not inside_loop and all(body is not None and _of_rounds(context, body) for body in bodies)
    return _of_rounds(context, function)


def _of_rounds(context: Context, function: FunctionFacts) -> bool:
    """Say whether nothing but a loop of JAX runs a function, as its body."""
    tracing = context.traced.get(function)
    roots = [root.transform for root in tracing.roots] if tracing is not None else []
    return bool(roots) and all(name in ROUNDS for name in roots) and not (tracing and tracing.sites)


def _on_way(context: Context, function: FunctionFacts) -> list[CallEvent]:
    """Return the calls through which a traced function is run that others get as an argument."""
    tracing = context.traced.get(function)
    nodes = {way.node for way in tracing.ways} if tracing is not None else set()
    scopes = {home for node in nodes if (home := context.bodies.home(node)) is not None}
    return [event for scope in scopes for event in context.bodies.calls.get(scope, ()) if event.node in nodes]


def _runs_in(context: Context, function: FunctionFacts, bodies: set[FunctionFacts | None]) -> bool:
    """Say whether a function may run in one of some bodies, by what calls it or what it is defined in."""
    pending, seen = [function], {function}
    while pending:
        one = pending.pop()
        if one in bodies:
            return True
        tracing = context.traced.get(one)
        around = [way.by for way in tracing.ways] if tracing is not None else []
        around += [f for event in context.flow.sites.callers(one) if (f := event.scope.function) is not None]
        outer = one.scope.parent.function if one.scope.parent is not None else None
        for other in [*around, *([outer] if outer is not None else [])]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return False


def _adds_noise(context: Context, event: CallEvent) -> bool:
    """Say whether a function that gives noise is called, and a sum made of what it gives: ``x + noise(key, x.shape)``.

    Args:
        context: the analysis.
        event: the call.
    """
    held = context.flow.here(event.value.callee, event.scope)
    called = [one.function for one in context.flow.calls.callables(held)]
    if not called:  # an argument of the function around
        called = [one.value.facts for one in context.sources.originals(held) if isinstance(one.value, Function)]
    if len(called) != 1 or not _one_draw(context, called[0]):
        return False
    sums = (n for n in context.bodies.nodes(event.scope) if isinstance(n, ast.BinOp | ast.AugAssign))
    for node in sums:
        if isinstance(node.op, ast.Add | ast.Sub):
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            if any(side is event.node for side in sides) and not any(isinstance(side, ast.Constant) for side in sides):
                return True
    return False


def _one_draw(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function gives noise that it draws, scaled at most: ``return scale * normal(key, shape)``."""
    formula = formula_of(context, function)
    if formula is None or _ON_PURPOSE.search(function.name):
        return False
    calls = [n for n in ast.walk(formula) if isinstance(n, ast.Call)]
    parts = (ast.BinOp, ast.Mult, ast.Div, ast.Call, ast.Name, ast.Attribute, ast.Load, ast.Constant, ast.keyword)
    if len(calls) != 1 or not all(isinstance(n, parts) for n in ast.walk(formula)):
        return False
    value = function.scope.module.values.get(calls[0])
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope)) if value is not None else ""
    return name.startswith("jax.random.") and last(name) in _NOISE


_NOISE = frozenset({"normal", "uniform", "truncated_normal", "gumbel", "laplace", "rademacher"})
# functions of these names give what is the same in every round
_ON_PURPOSE = pattern(
    r"(^|_)(init\w*|feature\w*|project\w*|embed\w*|latent\w*|prior|basis|hash\w*|target|sketch\w*|weights?|bias)(_|$)"
)


def _moves_on(context: Context, use: Use) -> bool:
    """Say whether a helper makes the next carry of a loop out of this one by chance, as the kernel of a Markov chain:
    ``return kernel(key, state)``; what is differentiated may well see the same numbers in every round."""
    function, event = use.event.scope.function, use.event
    if function is None or use.gradient or use.masks or not _MOVING.search(use.name):
        return False
    made = function.scope.module.values.get(event.node)
    firsts = [one.items[0] if isinstance(one, Sequence) and one.items else one for one in function.returns]
    if made is None or not firsts:
        return False
    if any(one is not made and one != Item(made, Const(0)) and not _part_moves(use, made, one) for one in firsts):
        return False
    rest = [one for one in (*event.node.args, *(k.value for k in event.node.keywords)) if one is not use.node]
    own = set(function.params) | set(function.scope.bindings)
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    return any(names_in(one) & own for one in rest) and bool(callees) and not any(
        last_word(n.func) in _DIFFERENTIATING
        for callee in callees
        for n in ast.walk(callee.function.node)
        if isinstance(n, ast.Call)
    )  # fmt: skip


def _part_moves(use: Use, made: Value, given: Value) -> bool:
    """Say whether a part of the next carry is what a helper makes of the same part of this one:
    ``x, value, taken = kernel(key, x, value)`` before ``return (x, value, count + taken), x``."""
    arguments = (*use.event.value.args, *(one for _, one in use.event.value.keywords))
    if not isinstance(given, Sequence):
        return False
    for place, part in enumerate(given.items):
        if part is made or part == Item(made, Const(0)):
            before = [a for a in arguments if isinstance(a, Item) and a.index == Const(place)]
            if any(isinstance(one.base, Param) and one.base.function is use.event.scope.function for one in before):
                return True
    return False


def handed_on(context: Context, use: Use) -> bool:
    """Say whether the body of a loop of JAX draws from a part of the carry that it gives back as it was."""
    function, key = use.event.scope.function, use.key
    if use.helper or function is None or not isinstance(key, Param | Item):
        return False
    tracing = context.traced.get(function)
    if tracing is None or not tracing.roots or tracing.sites or changed_in_place(context, function):
        return False
    transforms = {root.transform for root in tracing.roots}
    if not transforms <= ROUNDS or len(transforms) > 1 or not function.returns:
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
