"""NNX931: returns or advantages that are summed up from the first step on instead of from the last."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.forward_advantages import carry_names, forward_advantages, forward_scans
from codemods.nnx.lint.places import callers_of, each, in_test
from codemods.nnx.lint.syntax import argument, names_in, operands
from codemods.nnx.lint.turned_results import returned_turned, turned_results
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# functions of these names compute what is still to come
_RETURNS = pattern(
    r"(^|_)(gae|advantages?|rewards?_to_go|returns_to_go|discount(ed)?_(returns?|rewards?|cum_?sum)|(lambda|n_?step|mc|monte_carlo)_returns?"
    r"|returns|compute_returns?|td_lambda|vtrace|v_trace)(_|$)"
)
# and these what has been collected so far
_SO_FAR = pattern(r"running|normali[sz]|forward|episode|cumulative|so_far|online|trace_|eligib|stat|log")
_DISCOUNT = pattern(r"(gamma|discount\w*|lam|lambda_?|gae_lambda|decay|\w*gamma)")
_TURNING = frozenset({"flip", "flipud", "reversed"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _turned(context)
    told: set[ast.AST] = set()
    for scope, node, help in (*forward_advantages(context), *_by_name(context), *_loops(context)):
        if node not in told:
            told.add(node)
            yield finding(
                RULE.code,
                scope,
                node,
                "the sum begins at the first step: each step gets what came before it, not what is still to come",
                help,
            )


def _turned(context: Context) -> Iterator[Finding]:
    for event in returned_turned(context):
        if _to_come(event.scope) and not _given_turned(context, event.scope):
            words = "what the scan gives is in the order of its turned inputs: the first step gets the last one's sum"
            help = "turn the outputs round, too, or give the inputs as they are and reverse=True"
            yield finding(RULE.code, event.scope, event.node, words, help)
    for scope, node, help in turned_results(context):
        words = "what the scan gives is in another order than this: the first step gets what belongs to the last one"
        yield finding(RULE.code, scope, node, words, help)


def _by_name(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the scans in functions for returns that add their discounted carry to each step."""
    for event, body in forward_scans(context):
        over = argument(event.node, 2, "xs")
        if over is None or not _to_come(event.scope) or _turns(context, event.scope, over):
            continue
        if _collects(context, body):
            yield event.scope, event.node, "go backwards: jax.lax.scan(..., reverse=True)"


def _loops(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the loops in functions for returns that add up rewards from the first one on, and keep each sum."""
    for scope, loop in each(context, ast.For):
        if not _to_come(scope) or in_test(scope) or _turned_round(scope):
            continue
        over = loop.iter
        if isinstance(over, ast.Call) and last_word(over.func) == "range":
            length = over.args[0] if len(over.args) == 1 and isinstance(loop.target, ast.Name) else None
            if not isinstance(length, ast.Call) or last_word(length.func) != "len":
                continue
            step = [f"{ast.unparse(one)}[{ast.unparse(loop.target)}]" for one in length.args]
        elif isinstance(over, ast.Name) and isinstance(loop.target, ast.Name):
            step = [loop.target.id]
        else:
            continue
        if _sums_up(loop, step) and not _given_turned(context, scope):
            yield scope, loop, "go backwards: for reward in reversed(rewards), and turn the result round"


def _given_turned(context: Context, scope: Scope) -> bool:
    """Say whether a caller turns round what it gives a function, or what it gets."""
    function = scope.function
    return function is None or any(
        (isinstance(n, ast.Call) and last_word(n.func) in _TURNING) or (isinstance(n, ast.Slice) and n.step is not None)
        for caller in callers_of(context, function)
        for n in ast.walk(caller.statement)
    )


def _turned_round(scope: Scope) -> bool:
    """Say whether anything in a function is turned round, put in front, or summed by powers of the discount."""
    return any(
        (isinstance(n, ast.Call) and last_word(n.func) in _TURNING | {"insert", "appendleft", "reverse", "sum"})
        or (isinstance(n, ast.Slice) and n.step is not None)
        or isinstance(n, ast.Pow)
        for n in ast.walk(scope.node)
    )


def _sums_up(loop: ast.For, step: list[str]) -> bool:
    """Say whether a loop adds a discounted sum to the reward of its round, and keeps the sum of every round."""
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or not isinstance(statement.value, ast.BinOp):
            continue
        terms = operands(statement.value, ast.Add)
        if len(terms) != 2 or not {ast.unparse(one) for one in terms} & set(step):
            continue
        if any(_discounted(term, {target.id}) for term in terms) and _keeps(loop, target.id):
            return True
    return False


def _keeps(loop: ast.For, name: str) -> bool:
    """Say whether each round puts a variable behind those before it."""
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            place, value = statement.targets[0], statement.value
            if isinstance(place, ast.Subscript) and ast.unparse(place.slice) == ast.unparse(loop.target):
                if isinstance(value, ast.Name) and value.id == name:
                    return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and last_word(call.func) == "append" and len(call.args) == 1:
            if isinstance(call.args[0], ast.Name) and call.args[0].id == name:
                return True
    return False


def _to_come(scope: Scope) -> bool:
    function = scope.function
    while function is not None:
        if _RETURNS.search(function.name.lower()):
            return not _SO_FAR.search(function.name.lower())
        parent = function.scope.parent
        function = parent.function if parent is not None else None
    return False


def _turns(context: Context, scope: Scope, given: ast.expr) -> bool:
    """Say whether what a scan goes over was turned round, or may have been."""
    names, seen = set(names_in(given)), set[str]()
    nodes: list[ast.AST] = [given]
    while names:  # also of what a tuple of variables was put together from
        seen |= names
        found: list[ast.AST] = []
        around: Scope | None = scope
        while around is not None and (around is scope or around.function is not None):
            found += [
                n.value
                for n in context.bodies.nodes(around)
                if isinstance(n, ast.Assign) and any(names_in(target) & names for target in n.targets)
            ]
            around = around.parent
        nodes += found
        tuples = (n for n in found if isinstance(n, ast.Tuple | ast.Name | ast.Dict))
        names = {name for one in tuples for name in names_in(one)} - seen
    return any(
        (isinstance(n, ast.Call) and last_word(n.func) in _TURNING)
        or (isinstance(n, ast.Slice) and n.step is not None)
        or (isinstance(n, ast.Call) and last_word(n.func) == "arange")
        for node in nodes
        for n in ast.walk(node)
    )


def _collects(context: Context, body: FunctionFacts) -> bool:
    """Say whether a body adds its carry, times a discount, to what the step gives."""
    names = carry_names(context, body)
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and any(_discounted(term, names) for term in operands(node, ast.Add))
        for node in context.bodies.nodes(body.scope)
    )


def _discounted(term: ast.expr, carried: set[str]) -> bool:
    factors = operands(term, ast.Mult)
    words = {last_word(f) for f in factors if isinstance(f, ast.Name | ast.Attribute)}
    return bool(words & carried) and any(_DISCOUNT.fullmatch(word.lower()) for word in words - carried)


_BAD = """\
import jax
import jax.numpy as jnp


def discounted_returns(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total

    return jax.lax.scan(body, jnp.zeros(()), rewards)[1]
"""

_LOOP = """\
import jax.numpy as jnp


def gae(rewards, values, gamma, lam):
    advantage, found = 0.0, []
    for t in range(len(rewards)):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        advantage = delta + gamma * lam * advantage
        found.append(advantage)
    return jnp.stack(found)
"""

RULE = lint_rule(
    "NNX931",
    "forward-returns",
    "returns or advantages are summed up from the first step on, or turned round against what they belong to",
    why="""\
The return of a step is the sum of the rewards that come after it, and generalized advantages are summed alike: the sum
has to begin at the last step, by `jax.lax.scan(..., reverse=True)`. From the first step on, each action is judged by
what came before it. The rule goes by the names of functions and of what is summed up, and leaves running sums alone.
With `reverse=True` each output stands in the place of its input: turned round, the first step gets that of the last.
Of inputs that are turned round the outputs are so, too, and have to be turned back before they meet `values`.
""",
    source="Schulman et al. 2016, equation 16; measured: the first step gets its own reward alone",
    severity="error",
    check=_check,
    bad=(_BAD, _LOOP),
    clean=(
        _BAD.replace("rewards)[1]", "rewards, reverse=True)[1]"),
        _LOOP.replace("range(len(rewards))", "reversed(range(len(rewards)))"),
    ),
)
