"""NNX798: the body of a loop that returns the carry it was given, though it computed a new one, or begins anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.begun_carry import begun_anew
from codemods.nnx.lint.carried_dict import changed_in_place
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.old_cache import old_caches
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import is_none, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const, Item, Param, Sequence, Value

# what is written before or behind the name of a state to name the one that comes after it
_BEFORE = r"(new|next|updated|upd)_?"
# what calls something outside, for which a loop may be there
_CALLING = frozenset({"io_callback", "pure_callback", "callback", "print"})
_LAST = pattern(r"^(last|prev|previous)_")  # and of one that came before it
_BEHIND = r"_?(new|next|updated|upd|after|prime|tp1|t1|p1)|_"


def _check(context: Context) -> Iterator[Finding]:
    seen: set[FunctionFacts] = set()
    for body in bodies(context):
        place = {"scan": 0, "fori_loop": 1, "while_loop": 0}.get(last(body.loop))
        function = body.function
        if place is None or body.role == "cond_fun" or body.callee.gradient or function in seen:
            continue
        free = body.free
        if free is None or place >= len(free) or function.scope.module not in context.asked:
            continue
        seen.add(function)
        if in_test(function.scope) or function.generator:
            continue
        yield from _judged(context, function, function.params[free[place]], body.loop)
    for root in context.traced.roots:
        function = root.function
        if root.transform != "flax.nnx.scan" or root.partial or function in seen or in_test(function.scope):
            continue
        given = _carry_of(root)
        if given is not None and function.scope.module in context.asked and not function.generator:
            seen.add(function)
            yield from _judged(context, function, given, root.transform)
    yield from _forgotten(context)
    for scope, node in begun_anew(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "every round begins with a new carry: nothing of the steps before is remembered",
            "make it before the loop",
        )
    for scope, node, name in old_caches(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"the new cache is not used, and every round begins with the first `{name}`",
            f"give it the name of the old one: {name}",
        )


def _forgotten(context: Context) -> Iterator[Finding]:
    """Yield the calls in loops of Python that get an old state and give a new one, which nothing reads."""
    if not any(word in m.source.data for m in context.asked.modules for word in (b"carry", b"h_", b"_h", b"hidden")):
        return
    for scope, loop in each(context, ast.For):
        steps = names_in(loop.target)  # and not alternatives, such as actions of which one is chosen
        for statement in loop.body if any(map(_TIME.search, steps)) else ():
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
                continue
            target = statement.targets[0]
            given = {n.id for n in statement.value.args if isinstance(n, ast.Name) and _RECURRENT.match(n.id)}
            for new in target.elts if isinstance(target, ast.Tuple) else ():
                old = next((one for one in sorted(given) if isinstance(new, ast.Name) and _follows(new.id, one)), None)
                if old is None or not isinstance(new, ast.Name) or in_test(scope):
                    continue
                if _unread(context, scope, new.id) and _begun_before(context, scope, old, loop):
                    yield finding(
                        RULE.code,
                        scope,
                        new,
                        f"`{new.id}` is not used, and every round begins with the first `{old}`",
                        f"give it the name of the old one: {old}",
                    )


def _unread(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a variable is bound once, and never read."""
    names = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name]
    return len(names) == 1 and len(context.bodies.names(scope).get(name, ())) == 1


def _begun_before(context: Context, scope: Scope, name: str, loop: ast.For) -> bool:
    """Say whether a variable is bound before a loop, by a call, and not in it."""
    stores = context.bodies.stores(scope, name)
    return bool(stores) and all(n.lineno < loop.lineno for n in stores)


# states of recurrent cells: of parameters each round may well begin with the first ones, as in learning to learn
_RECURRENT = pattern(r"(carry|carries|h|hx|hidden|(hidden|rnn|lstm|gru|cell)_?state)$")


_TIME = pattern(r"^(t|ts|time|step|timestep|time_step)$|_t$")


def _carry_of(root: Root) -> Param | None:
    """Return the parameter that is the carry of a scan of NNX, as ``in_axes`` says."""
    axes = option(root, "in_axes")
    place = 0
    if axes is not None:
        parts = axes.elts if isinstance(axes, ast.Tuple) else []
        places = [i for i, one in enumerate(parts) if last_word(one) == "Carry"]
        if len(places) != 1:
            return None
        place = places[0]
    params = list(root.function.params.values())[int(root.bound) :]
    return params[place] if place < len(params) else None


def _judged(context: Context, function: FunctionFacts, carry: Param, loop: str) -> Iterator[Finding]:
    """Yield where a body returns an old part of the carry, of which it computed the next one."""
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    if len(returned) != 1 or len(function.returns) != 1:
        return  # what one way leaves as it is another one may change
    node, value = returned[0], function.returns[0]
    output: ast.expr | None = None
    if last(loop) == "scan":
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2 or not isinstance(value, Sequence):
            return
        output, node, value = node.elts[1], node.elts[0], value.items[0]
    if isinstance(node, ast.Name) and isinstance(value, Sequence) and isinstance(value.node, ast.Tuple):
        node = value.node  # a variable that was given the parts just before
    if node is None:
        return
    made = _made_of(context, function)
    tests = (one for one in context.bodies.nodes(function.scope) if isinstance(one, ast.Assert))
    asserted = {n for one in tests for n in ast.walk(one)}
    idle = value is carry and loop.startswith("jax.") and (output is None or is_none(output))
    if changed_in_place(context, function):
        return
    for name in _kept(context, function, carry, node, value):
        for new in made:
            read = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == new]
            loads = [n for n in read if isinstance(n.ctx, ast.Load) and n not in asserted]
            lost = idle and not loads and not new.startswith("_") and not _CALLING & made[new]
            seen = len(loads) < sum(isinstance(n.ctx, ast.Load) for n in read)  # else NNX842 tells of it
            stepped = seen and _stepped(context, function, new, name)
            if new == name or not (lost or stepped or _follows(new, name)):
                continue
            if not _reaches(made, new, name):
                continue
            given = _given(output, new)
            if not given and loads:
                continue  # it may be a try, of which only something else is wanted
            yield finding(
                RULE.code,
                function.scope,
                node,
                f"`{name}` goes on as it is, and `{new}` is "
                + ("only given out: every round begins with the first state" if given else "not used"),
                f"return `{new}` in the carry",
            )
            return


def _kept(context: Context, function: FunctionFacts, carry: Param, node: ast.expr, value: Value) -> Iterator[str]:
    """Yield the names under which the carry, or a part of it, is returned as it came."""
    if value is carry:
        if isinstance(node, ast.Name):
            yield node.id
        for one in context.bodies.nodes(function.scope):
            if isinstance(one, ast.Assign) and one.value in function.scope.module.values:
                if function.scope.module.values[one.value] is carry:
                    yield from (t.id for target in one.targets for t in ast.walk(target) if isinstance(t, ast.Name))
    elif isinstance(value, Sequence) and isinstance(node, ast.Tuple | ast.List) and len(value.items) == len(node.elts):
        for place, (part, item) in enumerate(zip(node.elts, value.items, strict=True)):
            same = isinstance(item, Item) and item.base is carry and item.index == Const(place)
            if same and isinstance(part, ast.Name):
                yield part.id


def _made_of(context: Context, function: FunctionFacts) -> dict[str, frozenset[str]]:
    """Return of which names each variable of a body is made."""
    made: dict[str, frozenset[str]] = {}
    for one in context.bodies.nodes(function.scope):
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
                for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                    made[name] = made.get(name, frozenset()) | names_in(one.value) | _words(one.value)
    return made


def _words(node: ast.expr) -> frozenset[str]:
    """Return what is called outside within an expression."""
    return _CALLING & {last_word(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}


def _reaches(made: dict[str, frozenset[str]], new: str, name: str) -> bool:
    """Say whether a variable is made of another one."""
    seen: set[str] = set()
    pending = [new]
    while pending:
        for one in made.get(pending.pop(), frozenset()) - seen:
            if one == name:
                return True
            seen.add(one)
            pending.append(one)
    return False


def _follows(new: str, name: str) -> bool:
    """Say whether a name is that of the state after the one of another name: ``h_new`` or ``next_h`` of ``h``."""
    word = re.escape(name.strip("_"))
    if new != name and _LAST.sub("", name) == new:
        return True
    return new != name and bool(re.fullmatch(f"{_BEFORE}{word}|{word}({_BEHIND})", new, re.I))


def _stepped(context: Context, function: FunctionFacts, new: str, name: str) -> bool:
    """Say whether a variable gets what optax makes of another one: ``new = optax.apply_updates(name, updates)``."""
    for event in context.bodies.calls.get(function.scope, ()):
        statement, given = event.statement, event.node.args[0] if event.node.args else None
        if isinstance(statement, ast.Assign) and statement.value is event.node and isinstance(given, ast.Name):
            if given.id == name and any(isinstance(t, ast.Name) and t.id == new for t in statement.targets):
                return context.flow.calls.name(event) == "optax.apply_updates"
    return False


def _given(output: ast.expr | None, new: str) -> bool:
    """Say whether a variable is an output of a round, or one of several."""
    if isinstance(output, ast.Tuple | ast.List):
        return any(_given(one, new) for one in output.elts)
    if isinstance(output, ast.Dict):
        return any(_given(one, new) for one in output.values)
    return isinstance(output, ast.Name) and output.id == new


RULE = lint_rule(
    "NNX798",
    "old-carry",
    "a loop's body that computes the next state and returns the old one as its carry, or begins with a new one",
    why="""\
What the next round begins with is what the body returns as its carry. If that is the state the body was given, every
round begins with the first one: nothing of a sequence is remembered, and no step builds on the one before. Nothing
raises, since the shapes are right. So it is with `initialize_carry` inside of the loop over time.
""",
    source="measured: outputs of a recurrent cell that do not depend on earlier inputs",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def encode(w, xs):
    def cell(h, x):
        h_new = jnp.tanh(h @ w + x)
        return h, h_new

    return jax.lax.scan(cell, jnp.zeros(4), xs)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def encode(w, xs):
    def cell(h, x):
        h_new = jnp.tanh(h @ w + x)
        return h_new, h_new

    return jax.lax.scan(cell, jnp.zeros(4), xs)
""",
    ),
)
