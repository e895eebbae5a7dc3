"""Draws whose numbers nothing uses: overwritten, loaded over, or made for their shapes alone; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.conditions import apart, opposed
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.lint.unread import given_names, unread
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Class, Item, Value


def overwritten(context: Context, one: Use, two: Use, paths: dict[ast.AST, tuple[tuple[ast.AST, str], ...]]) -> bool:
    """Say whether nothing reads the numbers of the first draw on a way that comes to the second one."""
    scope, statement = one.event.scope, one.event.statement
    if scope.function is None or one.event.loops or two.event.loops or one.helper:
        return False
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement is two.event.statement:
        return False
    targets = _targets(statement)
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


def thrown_away(use: Use) -> bool:
    """Say whether nobody takes what a function gives, which was called to be compiled or measured."""
    statement = use.event.statement
    if not isinstance(statement, ast.Expr) or last(use.name) == "split":  # NNX834 tells of that
        return False
    if use.helper and not isinstance(use.event.node.func, ast.Name):
        return False  # a method may keep what it draws
    if use.helper and use.event.loops and _TRAINING.search(last(use.name)):
        return False  # it changes the model that it is given
    return _waited_for(statement.value, use.event.node)[0] is use.event.node


_TRAINING = pattern(r"^(nnx_|jit_|jitted_|p_)?(train|update|learn|optimi[sz]e|fit)(_|$)")


def only_waited_for(use: Use) -> bool:
    """Say whether nobody takes what a function gives, and the text waits for it, to have it compiled."""
    statement = use.event.statement
    return thrown_away(use) and isinstance(statement, ast.Expr) and _waited_for(statement.value, use.event.node)[1]


def _waited_for(value: ast.expr, call: ast.Call) -> tuple[ast.expr, bool]:
    """Return what a text waits for, a part of it perhaps, and whether it does: ``f(key).x.block_until_ready()``."""
    waited = False
    while value is not call:
        if isinstance(value, ast.Attribute | ast.Subscript):
            value = value.value
        elif isinstance(value, ast.Call) and last_word(value.func) == "block_until_ready":
            waited = True
            value = value.args[0] if value.args else value.func
        else:
            break
    return value, waited


def of_no_effect(context: Context, use: Use) -> bool:
    """Say whether a draw is multiplied by 0, or the next statement gives its variable another value before a read."""
    if use.helper or last(use.name) == "split":
        return False
    statement, node = use.event.statement, use.event.node
    for one in ast.walk(statement):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) and node in (one.left, one.right):
            number = constant(one.right if one.left is node else one.left)
            if isinstance(number, int | float) and number == 0:
                return True
    block = context.bodies.block(node, statement, use.event.scope)
    place = block.index(statement) + 1 if block else 0
    following = block[place] if block and place < len(block) else None
    if not isinstance(statement, ast.Assign) or not isinstance(following, ast.Assign):
        return False
    targets = {ast.dump(one) for one in statement.targets}
    if targets != {ast.dump(one) for one in following.targets} or not isinstance(statement.targets[0], ast.Name):
        return False
    return statement.targets[0].id not in names_in(following.value)


def made_anew(one: Use, two: Use) -> bool:
    """Say whether a state is made again as it was, after it was tried: ``self.state = init(key, example)``."""
    if not (one.helper and two.helper) or one.name != two.name or "init" not in last(one.name):
        return False
    first, second = one.event.statement, two.event.statement
    if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
        return False
    if first.value is not one.event.node or second.value is not two.event.node:
        return False
    targets = first.targets[0], second.targets[0]
    return all(isinstance(t, ast.Attribute) for t in targets) and ast.dump(targets[0]) == ast.dump(targets[1])


def in_two_modes(one: Use, two: Use) -> bool:
    """Say whether a call is made once more with another flag alone, to compare the two: ``sample(key, n, True)``."""
    if not (one.helper and two.helper) or one.name != two.name:
        return False
    calls = one.event.node, two.event.node
    rest = [
        [ast.dump(arg) for arg in (*call.args, *call.keywords) if not isinstance(_flag(arg), bool)] for call in calls
    ]
    flags = [[ast.dump(arg) for arg in (*call.args, *call.keywords) if isinstance(_flag(arg), bool)] for call in calls]
    return rest[0] == rest[1] and flags[0] != flags[1]


def _flag(argument: ast.AST) -> object:
    node = argument.value if isinstance(argument, ast.keyword) else argument
    return constant(node) if isinstance(node, ast.expr) else None


def warms_up(use: Use) -> bool:
    """Say whether all that is made with a key goes into a call whose result nobody takes, of a function that the text
    calls again for its result: it is compiled beforehand.

    Args:
        use: a use of a key in an assignment.
    """
    if use.helper or not isinstance(use.event.statement, ast.Assign):
        return False
    values = use.event.scope.module.values
    loads = [n for n in ast.walk(use.event.scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    calls = [n for n in ast.walk(use.event.scope.node) if isinstance(n, ast.Call)]
    thrown = {n.value for n in ast.walk(use.event.scope.node) if isinstance(n, ast.Expr)}
    pending, seen = [use.event.node], set[ast.AST]()
    wasted: list[ast.Call] = []
    while pending:
        made = pending.pop()
        if made in seen or len(seen) > _STEPS:
            return False
        seen.add(made)
        readers = [n for n in loads if _made_by(values.get(n), made)]
        if not readers:
            return False
        for reader in readers:
            taking = next((one for one in calls if reader in (*one.args, *(k.value for k in one.keywords))), None)
            if taking is None:
                return False
            if taking in thrown:
                wasted.append(taking)
            elif taking not in seen:
                pending.append(taking)
    again = {one.func.id for one in calls if one not in thrown and isinstance(one.func, ast.Name)}
    return bool(wasted) and all(isinstance(one.func, ast.Name) and one.func.id in again for one in wasted)


_STEPS = 8  # through how many calls what is made with a key is followed


def _made_by(value: Value | None, call: ast.Call) -> bool:
    """Say whether a value is what a call gives, or a part of it."""
    while isinstance(value, Item):
        value = value.base
    return isinstance(value, Call) and value.node is call


def forgotten(context: Context, use: Use) -> bool:
    """Say whether a key is split and no part of it is read, or a draw is bound again before anything reads it."""
    statement = use.event.statement
    if use.helper:
        return loaded_over(context, use)
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


def of_no_elements(use: Use) -> bool:
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


def loaded_over(context: Context, use: Use) -> bool:
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
    if block is None:
        return False
    begin = block.index(statement) + 1
    if last(use.name) == "split":
        made = [one for one in block[begin:] if names & names_in(one)]
        if len(made) != 1 or not isinstance(made[0], ast.Assign) or not isinstance(made[0].value, ast.Call):
            return False  # the new keys go elsewhere, too
        names, begin = set(given_names(made[0], made[0].value)), block.index(made[0]) + 1
    return len(names) == 1 and _loaded(block[begin : begin + _NEAR], names)


def _loaded(statements: Sequence[ast.stmt], names: set[str]) -> bool:
    """Say whether the first of some statements that reads a variable loads other values into its form."""
    for later in statements:
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


def tries_out(context: Context, use: Use) -> bool:
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


def made_lazily(use: Use) -> bool:
    """Say whether a function is told to leave what it makes without weights, as ``lazy_init=True`` does."""
    return use.helper and any(
        k.arg is not None and k.arg.startswith("lazy") and constant(k.value) is True for k in use.event.node.keywords
    )


_CACHE = pattern(r"(^|_)(kv_?)?caches?$")
_CONSTANT = frozenset({"zeros", "ones", "full", "empty", "constant", "zeros_like", "zeros_init", "ones_init"})
_DRAWN_WITH = frozenset(
    {"normal", "uniform", "truncated_normal", "bernoulli", "randint", "categorical", "lecun_normal"}
)


def begins_cache(context: Context, use: Use) -> bool:
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
    return bool(words & _CONSTANT) and not words & _DRAWN_WITH


_NOTHING = pattern(r"(^|_)(null|dummy|placeholder|fake|mock|empty)(_|$)")


def placeholder(use: Use) -> bool:
    """Say whether a function makes what stands for nothing, as its name says, and takes no key for that."""
    function = use.event.scope.function
    if function is None or not _NOTHING.search(function.name.lower()):
        return False
    return not any(word in name for name in function.params for word in ("key", "rng", "seed"))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]
