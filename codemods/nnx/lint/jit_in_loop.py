"""NNX903: compiling in a loop."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, compiled_roots, foreign, in_test, position, written
from codemods.nnx.lint.rounds import cached, few, latched, looped
from codemods.nnx.lint.syntax import argument, assignments, innermost_loop, inside, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.unread import given_names
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Free, Function, Loop, Param, Value

_BOUND = frozenset({"instance", "class"})  # methods that are looked up anew; a static one is the function itself


def _check(context: Context) -> Iterator[Finding]:
    applied = [*_applied(context)]
    for event, name, help in applied:
        if not any(event is not other and inside(event.node, other.node) for other, _, _ in applied):
            yield _found(event.scope, event.node, name, help)  # of jit(vmap(jit(f))) the outer one
    yield from _factories(context)
    for root in compiled_roots(context):
        node = root.function.node
        if not root.decorator or isinstance(node, ast.Lambda) or in_test(root.scope):
            continue
        if root.scope.function is not None and _called_at_once(context, root) and looped(context, root.scope.function):
            yield _found(root.scope, root.node, root.transform)
            continue
        for outer, arm in reversed(context.bodies.paths(root.scope).get(node, ())):
            if isinstance(outer, ast.For | ast.While) and arm == "body":
                if _called_within(context, root, outer):
                    break
                traced = enclosing_function(root.scope) in context.traced
                if not _bound_in(outer, node, own=node) and not traced and not few(context, root.scope, outer):
                    yield _found(root.scope, root.node, root.transform)
                break


def _applied(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of jit that compile anew in every round, each with the full name and what helps."""
    for event, name in foreign(context, "jit", "pmap"):
        if name not in {"jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap"} or not event.node.args:
            continue
        loop = innermost_loop(event)
        if in_test(event.scope) or enclosing_function(event.scope) in context.traced:
            continue
        if loop is not None and (
            few(context, event.scope, loop)
            or _in_one_round(context, event, loop)
            or latched(context, event.node, event.scope, loop)
            or _rest(context, event, loop)
            or _barrier(context, event)
            or _placed_at_times(context, event, loop)
            or _for_many(context, event, loop)
            or _timed(context, event, loop)
        ):
            continue
        bound = _depends(context, event, loop) if loop is not None else not _repeated(context, event)
        if bound and loop is not None and _sliced(loop, event.node):
            yield event, name, "compile once before the loop, and give it the batch"
            continue
        if bound and loop is not None and (_counted(loop, event.node) or _handed_on(context, event, loop)):
            bound = False
        if not bound and _fresh(context, event, name):
            yield event, name, "compile once before the loop"


def _in_one_round(context: Context, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether a call stands under ``if i == 0``, with the variable of its loop."""
    names = names_in(loop.target) if isinstance(loop, ast.For) else ()
    return any(
        isinstance(block, ast.If)
        and arm == "body"
        and isinstance(block.test, ast.Compare)
        and isinstance(block.test.left, ast.Name)
        and block.test.left.id in names
        and isinstance(block.test.ops[0], ast.Eq)
        and isinstance(block.test.comparators[0], ast.Constant)
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
    )


def _rest(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a call stands where a round has fewer steps than others, by ``min(size, left)``: the last one."""
    for block, arm in context.bodies.paths(event.scope).get(event.node, ()):
        test = block.test if isinstance(block, ast.If | ast.IfExp) and inside(block, loop) else None
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or arm not in {"body", "orelse"}:
            continue
        if isinstance(test.ops[0], ast.NotEq | ast.Lt | ast.Gt) is not (arm == "body"):
            continue
        sides = [test.left, test.comparators[0]]
        for count, size in (sides, sides[::-1]):
            least = written(context, count, event.scope)
            if least is not count and inside(least, loop) and isinstance(least, ast.Call):
                if last_word(least.func) == "min" and any(ast.dump(one) == ast.dump(size) for one in least.args):
                    return True
    return False


def _found(scope: Scope, node: ast.AST, name: str, help: str = "compile once before the loop") -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"`{name}` makes a new function in every round, which is compiled every time",
        help,
    )


def _repeated(context: Context, event: CallEvent) -> bool:
    """Say whether a function compiles another one and calls it at once, and is itself called in loops only."""
    function = event.scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    made = event.node.args[0]
    if isinstance(made, ast.Lambda) and not (made.args.args or made.args.vararg):
        return False  # makes something once, such as arrays that are sharded
    if _of_arguments(context, made, function):
        return False  # each call of the function has something else to compile
    used = any(
        isinstance(n, ast.Call) and (n.func is event.node or _held(event, n.func))
        for n in context.bodies.nodes(event.scope)
    )
    return used and looped(context, function)


def _barrier(context: Context, event: CallEvent) -> bool:
    """Say whether a function does no more than to ask the devices for a sum of ones, as ``lambda x: lax.psum(x, "i")``:
    they wait for each other, which is what it is for."""
    made = event.node.args[0]
    body = made.body if isinstance(made, ast.Lambda) else None
    if not isinstance(body, ast.Call) or last_word(body.func) not in {"psum", "pmean", "pmax", "pmin"}:
        return False
    given = [
        written(context, one, event.scope)
        for call in context.bodies.calls.get(event.scope, ())
        if call.node.func is event.node
        for one in call.node.args
    ]
    return bool(given) and all(isinstance(one, ast.Call) and last_word(one.func) in _ONES for one in given)


def _placed_at_times(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether what is compiled gives what it gets, and only copies or places it, in a few rounds of a loop:
    ``if step % 1000 == 0: best = jax.jit(lambda x: x, out_shardings=s)(state)``."""
    made = event.node.args[0]
    if not isinstance(made, ast.Lambda) or not isinstance(made.body, ast.Name) or len(made.args.args) != 1:
        return False
    return made.body.id == made.args.args[0].arg and any(
        isinstance(block, ast.If) and inside(block, loop) and any(isinstance(n, ast.Mod) for n in ast.walk(block.test))
        for block, _ in context.bodies.paths(event.scope).get(event.node, ())
    )


_ONES = frozenset({"ones", "zeros", "arange"})


def _for_many(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether what is compiled in a round is called in a loop of its own there, and serves for all its rounds."""
    if not _of_phases(loop):
        return False
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.For | ast.While) and n is not loop]
    called = [one.node for one in context.bodies.calls.get(event.scope, ()) if _held(event, one.node.func)]
    return any(inside(call, one) and not inside(event.node, one) for call in called for one in inner)


def _timed(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether ``timeit`` runs what is compiled in a round: many times, and with another size each round."""
    names = given_names(event.statement, event.node)
    return any(
        isinstance(given, ast.Lambda)
        and inside(one.node, loop)
        and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names for n in ast.walk(given)
        )
        for one in (context.bodies.calls.get(event.scope, ()) if names else ())
        if last_word(one.node.func) in {"timeit", "repeat"}
        for given in one.node.args
    )


def _of_phases(loop: ast.For | ast.While) -> bool:
    """Say whether a loop goes through a few phases or settings of a training, and not through epochs or steps."""
    if not isinstance(loop, ast.For) or names_in(loop.target) & _ROUNDS:
        return False
    return not (isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) in {"range", "trange", "count"})


def _of_arguments(context: Context, made: ast.AST, function: FunctionFacts, *, certain: bool = False) -> bool:
    """Say whether what a function compiles depends on those of its arguments that change with the rounds around its
    calls: another model or solver each time; if it is to be certain, also on those that may change."""
    names = _changing(context, function, certain)
    nodes = [n for n in context.bodies.nodes(function.scope) if isinstance(n, _BINDING)]
    more = True
    while more and names:
        before = len(names)
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                if _free(node) & names:
                    names.add(node.name)
                continue
            source, target = _bound(node)
            if source is not None and target is not None and names_in(source) & names:
                names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        more = len(names) > before
    return bool(_free(made) & names)


def _changing(context: Context, function: FunctionFacts, certain: bool) -> set[str]:
    """Return the parameters of a function that its calls in loops give what the loops bind, or something unknown; if it
    is to be certain, also what calls give, and what the loops write into."""
    found: set[str] = set()
    for caller in callers_of(context, function):
        bound = {
            n.id
            for loop in caller.loops
            for n in ast.walk(loop)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        nodes = [n for loop in caller.loops for n in ast.walk(loop)] if certain else []
        stored = {name for n in nodes if not isinstance(n, ast.Call) for name in _written_into(n)}
        if certain and function.self_param is not None and names_in(caller.node.func) & (bound | stored):
            found.add(function.self_param.name)
        bound |= {name for n in nodes for name in _written_into(n)}
        for param in function.params.values():
            if param is function.self_param:
                continue
            given = argument(caller.node, position(param), param.name)
            made = certain and given is not None and any(isinstance(n, ast.Call) for n in ast.walk(given))
            if made or caller.value.starred or (given is not None and names_in(given) & bound):
                found.add(param.name)
    return found


def _written_into(node: ast.AST) -> frozenset[str]:
    """Return the variables that a statement may write into: into an entry or a field, or by a method."""
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return names_in(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return names_in(node.func.value)
    return frozenset()


_BINDING = (ast.Assign, ast.AnnAssign, ast.For, ast.withitem, ast.FunctionDef)


def _bound(node: ast.AST) -> tuple[ast.AST | None, ast.AST | None]:
    """Return what a node takes a value from, and what it binds."""
    if isinstance(node, ast.Assign):
        return node.value, ast.Tuple(elts=node.targets, ctx=ast.Store())
    if isinstance(node, ast.AnnAssign):
        return node.value, node.target
    if isinstance(node, ast.For):
        return node.iter, node.target
    if isinstance(node, ast.withitem):
        return node.context_expr, node.optional_vars
    return None, None


def _held(event: CallEvent, func: ast.expr) -> bool:
    """Say whether an expression is a variable of the function that holds what was compiled."""
    return isinstance(func, ast.Name) and event.scope.module.values.get(func) is event.value


def _called_at_once(context: Context, root: Root) -> bool:
    """Say whether a function that is compiled inside another one is called there, and goes nowhere else."""
    name = root.function.name
    uses = [
        n
        for n in context.bodies.nodes(root.scope)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    called = {n.func for n in context.bodies.nodes(root.scope) if isinstance(n, ast.Call)}
    if not uses or any(n not in called for n in uses):
        return False
    if _captures(root.function):  # it belongs there, but for one call it is not worth compiling
        events = [e for e in context.bodies.calls.get(root.scope, ()) if e.node.func in uses]
        if len(events) != 1 or events[0].loops or not (_stepping(root) or _of_same(context, root)):
            return False
    return enclosing_function(root.scope) not in context.traced


def _called_within(context: Context, root: Root, loop: ast.For | ast.While) -> bool:
    """Say whether a function that is compiled in a round is called in an inner loop, for all rounds of that."""
    if not _of_phases(loop):
        return False
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.For | ast.While) and n is not loop]
    calls = [
        n
        for n in context.bodies.nodes(root.scope)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == root.function.name
    ]
    return any(inside(call, one) and not inside(root.function.node, one) for call in calls for one in inner)


def _stepping(root: Root) -> bool:
    """Say whether the function around compiled code captures nothing of its own but its object, as a method does."""
    outer = enclosing_function(root.scope)
    if outer is None or outer.owner is None or outer.self_param is None:
        return False
    values = root.function.scope.module.values
    taken = {
        value.name
        for n in ast.walk(root.function.node)
        if isinstance(n, ast.Name) and isinstance(value := values.get(n), Free) and value.scope is outer.scope
    }
    return taken <= {outer.self_param.name}


def _of_same(context: Context, root: Root) -> bool:
    """Say whether what compiled code takes from the function around it is the same in all rounds: arguments that do not
    change with the loops around the calls."""
    outer = root.scope.function
    if outer is None or outer.vararg is not None or outer.kwarg is not None:
        return False
    home = outer.scope.parent
    home = home.parent if home is not None and home.owner is not None else home
    around = _free(root.function.node) - set(outer.params) - set(outer.scope.bindings)
    if home is None or home.parent is not None or around & home.rebound:
        return False  # it belongs to another function, or takes what the file binds again and again
    return not _of_arguments(context, root.function.node, outer, certain=True)


def _captures(function: FunctionFacts) -> bool:
    """Say whether a function uses variables of the function around it, so that it belongs there."""
    outer = enclosing_function(function.scope.parent)
    values = function.scope.module.values
    return outer is not None and any(
        isinstance(value := values.get(n), Free) and value.scope is outer.scope
        for n in ast.walk(function.node)
        if isinstance(n, ast.Name)
    )


def _factories(context: Context) -> Iterator[Finding]:
    """Yield the calls in loops, with the same arguments, of functions that compile another one and give it back."""
    made: dict[FunctionFacts, Root] = {}
    for root in compiled_roots(context):
        outer = root.scope.function
        if outer is not None and not cached(outer):
            if any(_is_made(context, value, root) for value in outer.returns):
                made[outer] = root
    for function, root in made.items():
        for event in context.flow.sites.callers(function):
            loop = innermost_loop(event)
            if loop is None or in_test(event.scope) or _bound_in(loop, event.node) or few(context, event.scope, loop):
                continue
            if _same_function(context, root, event, loop):
                continue
            if enclosing_function(event.scope) not in context.traced and not context.bodies.sometimes(
                event.node, event.scope, loop
            ):
                yield _found(event.scope, event.node, root.transform)


def _same_function(context: Context, root: Root, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a helper compiles a function by ``jax.jit`` that it is given, and which is made before the loop: its
    code is found again."""
    if not root.transform.startswith("jax.") or not isinstance(root.node, ast.Call) or not root.node.args:
        return False
    param = root.scope.module.values.get(root.node.args[0])
    if not isinstance(param, Param) or param.function is not root.scope.function:
        return False
    given = argument(event.node, position(param), param.name)
    value = event.scope.module.values.get(given) if isinstance(given, ast.Name) else None
    inner = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
    return isinstance(inner, Function) and not inside(inner.facts.node, loop)


def _is_made(context: Context, value: Value, root: Root) -> bool:
    """Say whether a value is what a transform made."""
    found = context.flow.resolve(context.flow.here(value, root.scope)).value
    if isinstance(found, Call):
        return found.node is root.node or (root.decorator and root.node in (found.node, found.node.func))
    return isinstance(found, Function) and found.facts is root.function and root.decorator


def _fresh(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether the compiled code cannot be found again: nnx.jit always makes a new one."""
    if name.startswith("flax."):
        return True
    found = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    inner = found.value
    if isinstance(inner, Function):
        around = enclosing_function(inner.facts.scope.parent)  # a function that is defined anew in every call
        if isinstance(event.node.args[0], ast.Lambda):
            return True
        loop = innermost_loop(event)
        if loop is not None and not inside(inner.facts.node, loop):
            return False  # all rounds have one function, for which the code is kept
        return around is not None and around is event.scope.function and not _captures(inner.facts)
    if isinstance(event.node.args[0], ast.Attribute):  # a method is bound anew each time it is looked up
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        return bool(callees) and all(one.receiver is not None and one.function.binding in _BOUND for one in callees)
    made = written(context, event.node.args[0], event.scope)
    loop = innermost_loop(event)
    if not isinstance(inner, Call) or not isinstance(made, ast.Call) or not (loop is None or inside(made, loop)):
        return False
    # what a function of the project gives may be kept by it, also by lru_cache
    direct = event.scope.module.values.get(made)
    callee = context.flow.here(direct.callee, event.scope) if isinstance(direct, Call) else None
    called = context.flow.calls.callables(callee) if callee is not None else ()
    kept = any(one.function.decorators for one in called)
    return not kept and (not called or last(context.flow.calls.callee_name(found)) in _MAKERS)


_MAKERS = frozenset({"partial", "vmap", "pmap", "jit", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian",
                     "checkpoint", "remat", "shard_map"})  # fmt: skip


def _handed_on(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether what is compiled in a round is called once in it, with what came of the round before: for data."""
    calls = [
        call
        for call in context.bodies.calls.get(event.scope, ())
        if call.node.func is event.node or _held(event, call.node.func)
    ]
    if len(calls) != 1 or calls[0].loops != event.loops:
        return False
    return any(isinstance(a, Loop) and a.node is loop and a.again is not None for a in calls[0].value.args)


def _counted(loop: ast.For | ast.While, node: ast.Call) -> bool:
    """Say whether what is compiled is a lambda that takes the number of a round of training from around it."""
    made = node.args[0]
    if not isinstance(loop, ast.For) or not isinstance(made, ast.Lambda):
        return False
    counters = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name) and n.id in _ROUNDS}
    others = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - counters
    read = _free(made)
    return bool(counters & read) and not others & read


def _sliced(loop: ast.For | ast.While, node: ast.Call) -> bool:
    """Say whether what is compiled is a lambda with parameters that takes nothing of a round from around itself but
    its slices of arrays, ``x[i : i + size]``: those are data, which belong among its arguments."""
    made = node.args[0]
    if not isinstance(loop, ast.For) or not isinstance(made, ast.Lambda) or not (made.args.args or made.args.vararg):
        return False
    counters = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    stores = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    slices: Counter[str] = Counter()
    for statement in (n for n in ast.walk(loop) if isinstance(n, ast.Assign)):
        for target, part in assignments(statement):
            first = first_element(part.slice) if isinstance(part, ast.Subscript) else None
            if isinstance(target, ast.Name) and isinstance(first, ast.Slice) and counters & names_in(first):
                slices[target.id] += 1
    taken = _free(made) & {n.id for n in stores}
    return bool(taken) and all(slices[name] == sum(n.id == name for n in stores) for name in taken)


_ROUNDS = frozenset({"epoch", "step", "iteration", "it", "round", "round_", "epoch_idx", "step_idx"})


def _depends(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether what a call compiles depends on something that the loop binds, other than steps on the way to it."""
    pending: list[ast.AST] = [event.node]
    while pending:
        node = pending.pop()
        steps: dict[str, ast.AST] = {}
        for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
            value = event.scope.module.values.get(name)
            inner = value.facts.node if isinstance(value, Function) else written(context, name, event.scope)
            if isinstance(inner, ast.Call | ast.FunctionDef) and inner is not node and inside(inner, loop):
                steps[name.id] = inner
        if _bound_in(loop, node, own=node if isinstance(node, ast.FunctionDef) else None, but=frozenset(steps)):
            return True
        pending += steps.values()
    return False


def _bound_in(
    loop: ast.For | ast.While, node: ast.AST, own: ast.AST | None = None, but: frozenset[str] = frozenset()
) -> bool:
    """Say whether what is compiled depends on something that the loop binds; its own names do not count."""
    inner = set(ast.walk(own)) if own is not None else set()
    bound = {
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in inner
    }
    bound |= {n.name for n in ast.walk(loop) if isinstance(n, ast.FunctionDef) and n is not own and n not in inner}
    return bool((bound - but) & _free(node))


def _free(node: ast.AST) -> set[str]:
    """Return the names that some syntax takes from around itself: no parameters or variables of its functions."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        found = {node.id} if isinstance(node, ast.Name) else set()
        return found.union(*map(_free, ast.iter_child_nodes(node)))
    body = node.body if isinstance(node.body, list) else [node.body]
    inner = [n for statement in body for n in ast.walk(statement)]
    own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    own |= {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own -= {name for n in inner if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    outside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    outside += getattr(node, "decorator_list", [])
    return set().union(*map(_free, body)) - own | set().union(*map(_free, outside))


RULE = lint_rule(
    "NNX903",
    "jit-in-loop",
    "jit inside a loop",
    why="""\
Compiled code belongs to the function object. `nnx.jit(f)` makes a new one each time, and so does `jax.jit` of a
lambda or a partial: ten rounds, ten compilations. `jax.jit(f)` of one and the same f finds its code again. Loops of a
few rounds, and those over devices, sizes or axes, of which each needs code of its own, are left alone.
""",
    source="JAX tutorial; measured: 10 compilations in 10 rounds",
    check=_check,
    bad=(
        """\
from flax import nnx


def double(x):
    return x * 2


for x in range(10):
    nnx.jit(double)(x)
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


def double(x):
    return x * 2


fast = nnx.jit(double)
for x in range(10):
    fast(x)
    jax.jit(double)(x)
""",
    ),
)
