"""NNX779: a ratio of probabilities to clip, both of which are of the same policy, or the old one divided by the new."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, in_test, passed
from codemods.nnx.lint.syntax import constant, entry_word, inside, names_in, root_of
from codemods.nnx.lint.taken_anew import taken_anew
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Free, Item, Param, Sequence, Unknown, Value

_DEPTH = 8
_OLD = pattern(r"(^|_)(old|prev|previous|behaviou?r|stored|sampled)(_|$)", re.I)
_NEGATED = pattern(r"neg|nll|loss|cross|entropy", re.I)  # of negated logarithms the old one comes first
_NEW = pattern(r"^(?!.*(^|_)(old|prev|previous|behaviou?r|ref|target)(_|$)).*(log|prob|_pi|^pi|^lp|new)", re.I)
_LOGS = pattern(r"(^|_)(log_?p|log_?probs?|logprobs?|logps?|logpi|logpas)(_|$)", re.I)
_OTHERS = pattern(r"neg|nll|loss|cross|entropy|ref|target|new|next|cur|teacher|expert|demo", re.I)
_CLIPPING = ("clip", "clamp", "clipped_surrogate_pg_loss")
_KEEPING = frozenset({"stop_gradient", "astype", "squeeze", "asarray"})
# what tells that a quotient is one of probabilities
_LIKELY = pattern(
    r"prob|softmax|polic|(^|_)(pi|pdf|logits?|exp|old|dist|actor|likelihoods?|logp\w*|density)(_|$)", re.I
)
# methods and functions that give something else at the next call, as the draws of a generator with a state
_PASSING = frozenset({"rand", "randn", "random", "random_sample", "standard_normal", "normal", "uniform", "choice",
                      "integers", "randint", "permutation", "sample", "beta", "gamma", "exponential", "poisson", "next",
                      "pop", "popleft", "read", "recv", "step", "reset", "gauss", "lognormal", "binomial",
                      "dirichlet", "multivariate_normal", "laplace"})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for event in context.bodies.named(*_CLIPPING):
        if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
            continue
        for ratio in _clipped(context, event):
            if ratio.node not in seen and _of_logarithms(context, ratio, event):
                seen.add(ratio.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    ratio.node,
                    "these are logarithms of probabilities: neither their quotient nor their difference is the ratio "
                    "of the probabilities",
                    "take the exponential of the difference: jnp.exp(new - old)",
                )
            made = _difference(context, ratio, event.scope)
            if made is None or ratio.node in seen:
                continue
            values = event.scope.module.values
            one, other = values.get(made.left), values.get(made.right)
            upside_down = _is_upside_down(made) or _stored_first(event.scope, made)
            if upside_down and around_one(event.node):
                words = f"`{ast.unparse(made)}` has the old probabilities before the new ones: the ratio is its inverse"
                help = "put the new ones first, jnp.exp(new - old), so that a positive advantage makes them greater"
            elif one is not None and other is not None and _alike(context, one, other, event.scope):
                if isinstance(made.op, ast.Div) and not _of_probabilities(made, one, other):
                    continue
                words = "both probabilities are computed alike of the same parameters: the ratio is always 1"
                help = "keep the old log-probabilities with the batch, as the policy gave them when it acted"
            else:
                if one is not None and other is not None:
                    yield from _anew(context, one, other, event.scope, ratio.node)
                continue
            seen.add(ratio.node)
            yield finding(RULE.code, event.scope, ratio.node, words, help)


def _anew(context: Context, new: Value, old: Value, scope: Scope, ratio: ast.AST) -> Iterator[Finding]:
    """Yield the call in a loop that gives each update the probabilities of the policy before it."""
    made = taken_anew(context, _bare(context, new, scope), _bare(context, old, scope), scope)
    if made is not None and made.scope.module in context.asked:
        yield finding(
            RULE.code,
            made.scope,
            made.node,
            "each round computes the old probabilities anew, of the policy as it is then: the ratio is always 1",
            "compute them once, before the loop over the epochs",
            related=[(ratio, "the ratio")] if scope.module is made.scope.module else [],
        )


def _clipped(context: Context, event: CallEvent) -> Iterator[Call | Unknown]:
    """Yield what a call clips."""
    name, callee = context.flow.calls.name(event), event.value.callee
    if name.startswith(("jax.", "numpy.", "rlax.")):
        given: tuple[Value, ...] = event.value.args[:2] if last(name) == "clamp" else event.value.args[:1]
    else:
        given = (callee.base,) if not name and isinstance(callee, Attr) and callee.name == "clip" else ()
    yield from (one for one in given if isinstance(one, Call | Unknown))


def _difference(context: Context, ratio: Value, scope: Scope) -> ast.BinOp | None:
    """Return of ``exp(new - old)`` the difference, and ``new / old`` itself."""
    kind: type[ast.operator] = ast.Div
    if isinstance(ratio, Call):
        if last(context.flow.calls.callee_name(context.flow.here(ratio, scope))) != "exp" or not ratio.args:
            return None
        ratio, kind = ratio.args[0], ast.Sub
    node = ratio.node if isinstance(ratio, Unknown) else None
    return node if isinstance(node, ast.BinOp) and isinstance(node.op, kind) else None


def _of_logarithms(context: Context, ratio: Call | Unknown, event: CallEvent) -> bool:
    """Say whether a ratio that is clipped around 1 is a quotient or difference of log-probabilities, old and new."""
    made = ratio.node
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Div | ast.Sub) or not around_one(event.node):
        return False
    words = [entry_word(one) for one in (made.left, made.right)]
    if not all(_LOGS.search(word) and not _NEGATED.search(word) for word in words):
        return False
    return sum(_OLD.search(word) is not None for word in words) == 1


def _of_probabilities(made: ast.BinOp, *parts: Value) -> bool:
    """Say whether the names in a quotient, or in what its parts are, tell that it is one of probabilities."""
    nodes = [made, *(node for part in map(_whole, parts) if (node := getattr(part, "node", None)) is not None)]
    words = (last_word(n) for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any(map(_LIKELY.search, words))


def _whole(value: Value) -> Value:
    while isinstance(value, Item):
        value = value.base
    return value


def _is_upside_down(made: ast.BinOp) -> bool:
    """Say whether the names of a ratio's parts tell that the old one is divided by the new one."""
    words = entry_word(made.left), entry_word(made.right)
    if any(map(_NEGATED.search, words)):
        return False
    return _OLD.search(words[0]) is not None and _NEW.search(words[1]) is not None


def _stored_first(scope: Scope, made: ast.BinOp) -> bool:
    """Say whether an entry of a batch is divided by what the function computes: ``batch["log_probs"] - log_prob``."""
    stored, computed = made.left, made.right
    if not isinstance(stored, ast.Subscript | ast.Attribute) or not isinstance(computed, ast.Name):
        return False
    words = entry_word(stored), computed.id
    if _LOGS.search(words[0]) is None or _NEW.search(words[1]) is None or any(map(_OTHERS.search, words)):
        return False
    root = scope.module.values.get(root_of(stored.value))
    given = isinstance(root, Free) or (isinstance(root, Param) and root != root.function.self_param)
    value = scope.module.values.get(computed)
    while isinstance(value, Item):
        value = value.base
    return given and isinstance(value, Call | Unknown)


def around_one(call: ast.Call) -> bool:
    """Say whether a call clips to an interval around 1, as PPO does: ``1 - epsilon`` to ``1 + epsilon``.

    Args:
        call: the call of ``clip``.
    """
    given = [*call.args, *(k.value for k in call.keywords)]
    ends = [one for one in given if isinstance(one, ast.BinOp) and constant(one.left) == 1]
    numbers = {number for one in given if isinstance(number := constant(one), float)}
    if {type(one.op) for one in ends} >= {ast.Sub, ast.Add}:
        return True
    return len(numbers) == 2 and min(numbers) < 1 < max(numbers)


def _alike(context: Context, one: Value, other: Value, scope: Scope) -> bool:
    """Say whether two values are computed twice by the same calls, also where all callers give them so."""
    one, other = _bare(context, one, scope), _bare(context, other, scope)
    if isinstance(one, Param) and isinstance(other, Param) and one.function is other.function:
        callers = callers_of(context, one.function)
        pairs = [(passed(caller, one), passed(caller, other), caller.scope) for caller in callers]
        return bool(pairs) and all(
            first is not None and second is not None and _twice(context, first, second, where)
            for first, second, where in pairs
        )
    return _twice(context, one, other, scope)


def _twice(context: Context, one: Value, other: Value, scope: Scope) -> bool:
    again = _Again(context, scope)
    same = again.same(_bare(context, one, scope), _bare(context, other, scope))
    return same and bool(again.calls) and not _changed_between(context, again.calls, scope)


def _changed_between(context: Context, calls: list[tuple[ast.Call, ast.Call]], scope: Scope) -> bool:
    """Say whether other calls between two may change what they read, or only one of them stands in a loop."""
    events = {event.node: event for event in context.bodies.calls.get(scope, ())}
    compared = {node for pair in calls for node in pair}
    for pair in calls:
        first, second = sorted(pair, key=lambda node: (node.lineno, node.col_offset))
        if first not in events or second not in events or events[first].loops != events[second].loops:
            return True
        read = names_in(first)
        for node, event in events.items():
            if node in compared or inside(node, first) or inside(second, node) or not _between(node, first, second):
                continue
            known = context.flow.calls.name(event).startswith(("jax.", "numpy.", "optax."))
            if not known and names_in(node) & read:
                return True
    return False


def _between(node: ast.Call, first: ast.Call, second: ast.Call) -> bool:
    """Say whether a call begins between two others."""
    end = (first.end_lineno or first.lineno, first.end_col_offset or 0)
    return end <= (node.lineno, node.col_offset) <= (second.lineno, second.col_offset)


def _bare(context: Context, value: Value, scope: Scope, depth: int = 0) -> Value:
    """Return a value without ``stop_gradient`` and the like around it."""
    if not isinstance(value, Call) or depth > _DEPTH:
        return value
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if last(name) in _KEEPING and name.startswith("jax.") and value.args:
        return _bare(context, value.args[0], scope, depth + 1)
    return value


class _Again:
    """Compares values by how they are computed, and notes the calls that are made twice."""

    def __init__(self, context: Context, scope: Scope) -> None:
        self._context = context
        self._scope = scope
        self.calls: list[tuple[ast.Call, ast.Call]] = []

    def same(self, one: Value, other: Value, depth: int = 0) -> bool:
        """Say whether two values of a scope are computed in the same way of the same."""
        if one is other or one == other:
            return True
        if depth > _DEPTH or type(one) is not type(other):
            return False
        if isinstance(one, Call) and isinstance(other, Call):
            return self._same_calls(one, other, depth)
        if isinstance(one, Attr) and isinstance(other, Attr):
            return one.name == other.name and self.same(one.base, other.base, depth + 1)
        if isinstance(one, Item) and isinstance(other, Item):
            return self.same(one.base, other.base, depth + 1) and self.same(one.index, other.index, depth + 1)
        if isinstance(one, Sequence) and isinstance(other, Sequence):
            return len(one.items) == len(other.items) and all(
                self.same(a, b, depth + 1) for a, b in zip(one.items, other.items, strict=True)
            )
        if isinstance(one, Unknown) and isinstance(other, Unknown):
            return self._same_text(one, other, depth)
        return False

    def _same_calls(self, one: Call, other: Call, depth: int) -> bool:
        """Say whether two calls call the same with the same, and none draws anything."""
        if one.starred or other.starred or len(one.args) != len(other.args) or not (one.args or one.keywords):
            return False  # of no arguments: perhaps the next key of a stream
        if last_word(one.node.func) in _PASSING:
            return False
        if dict.fromkeys(k for k, _ in one.keywords) != dict.fromkeys(k for k, _ in other.keywords):
            return False
        named = dict(other.keywords)
        pairs = [(one.callee, other.callee), *zip(one.args, other.args, strict=True)]
        pairs += [(value, named[name]) for name, value in one.keywords]
        if not all(self.same(a, b, depth + 1) for a, b in pairs):
            return False
        self.calls.append((one.node, other.node))
        return True

    def _same_text(self, one: Unknown, other: Unknown, depth: int) -> bool:
        """Say whether two operations are the same of the same."""
        first, second = one.node, other.node
        if type(first) is not type(second):
            return False
        values = self._scope.module.values
        parts = list(zip(ast.iter_child_nodes(first), ast.iter_child_nodes(second), strict=False))
        if len(parts) != sum(1 for _ in ast.iter_child_nodes(first)) or not isinstance(first, ast.BinOp | ast.Slice):
            return False
        for a, b in parts:
            if isinstance(a, ast.expr) and isinstance(b, ast.expr):
                left, right = values.get(a), values.get(b)
                if left is None or right is None or not self.same(left, right, depth + 1):
                    return False
            elif type(a) is not type(b):
                return False
        return True


RULE = lint_rule(
    "NNX779",
    "ratio-of-one-policy",
    "a ratio of new to old probabilities that is always 1, since both are of the same parameters, or upside down, "
    "or one of their logarithms",
    why="""\
The loss of PPO compares the policy with the one that acted. Where the loss computes the old probabilities anew, of the
parameters that it is given, the ratio is 1 in every step: nothing is clipped, and the policy moves as far as it likes.
They belong into the batch, stored when the actions were drawn. The same holds where each epoch over a batch computes
them before its update: they are taken once, before the loop.

With the old probabilities before the new ones the ratio is its inverse: what did well becomes less likely. A quotient
of log-probabilities falls as the new probability grows, since both are negative, and their difference is about 0.
""",
    source="Huang et al., The 37 implementation details of PPO; measured: nothing is clipped, and KL grows fourfold",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def log_prob(params, obs, actions):
    logits = jax.nn.log_softmax(obs @ params)
    return jnp.take_along_axis(logits, actions[:, None], axis=-1)[:, 0]


def loss_fn(params, batch):
    new = log_prob(params, batch["obs"], batch["actions"])
    old = jax.lax.stop_gradient(log_prob(params, batch["obs"], batch["actions"]))
    ratio = jnp.exp(new - old)
    clipped = jnp.clip(ratio, 0.8, 1.2)
    return -jnp.minimum(ratio * batch["adv"], clipped * batch["adv"]).mean()
""",
        """\
import jax
import jax.numpy as jnp


def loss_fn(params, obs, actions, old_log_prob, adv, epsilon=0.2):
    log_prob = jax.nn.log_softmax(obs @ params)[jnp.arange(len(actions)), actions]
    ratio = jnp.exp(old_log_prob - log_prob)
    return -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - epsilon, 1 + epsilon) * adv).mean()
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def loss_fn(neg_log_prob, old_neg_log_prob, adv, epsilon=0.2):
    ratio = jnp.exp(old_neg_log_prob - neg_log_prob)
    return -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - epsilon, 1 + epsilon) * adv).mean()
""",
        """\
import jax
import jax.numpy as jnp


def log_prob(params, obs, actions):
    logits = jax.nn.log_softmax(obs @ params)
    return jnp.take_along_axis(logits, actions[:, None], axis=-1)[:, 0]


def loss_fn(params, batch):
    new = log_prob(params, batch["obs"], batch["actions"])
    ratio = jnp.exp(new - batch["old_log_prob"])
    clipped = jnp.clip(ratio, 0.8, 1.2)
    return -jnp.minimum(ratio * batch["adv"], clipped * batch["adv"]).mean()
""",
    ),
)
