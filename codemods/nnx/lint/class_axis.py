"""NNX980: log-probabilities whose classes are looked for along another axis, or in every row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.last_of_each import last_of_each
from codemods.nnx.lint.logits_rows import has_rows
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, foreign, formula_of, in_test, resolved, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, new_axis, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Value

_DEPTH = 2  # functions that give the log-probabilities
_MAKING = frozenset(
    f"{home}.{word}" for home in ("jax.nn", "flax.nnx", "flax.linen") for word in ("softmax", "log_softmax")
)
_LABELS = pattern(r"(\w+_)?(labels?|targets?|actions?|classes|ys?)")
_REDUCING = frozenset({"mean", "sum"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "take_along_axis"):
        if name not in {"jax.numpy.take_along_axis", "numpy.take_along_axis"} or in_test(event.scope):
            continue
        given = event.node.args[0] if event.node.args else None
        axis = constant(argument(event.node, 2, "axis"))
        made = _made(context, event.scope, given)
        if made is None and axis == 0 and _column_of_actions(event.node) and _of_network(given):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the actions are looked for among the rows, of which there is one for each step: each gets another's",
                "look among the columns: axis=-1",
            )
        if made is None or not isinstance(axis, int):
            continue
        along = argument(made.node, 1, "axis")
        number = -1 if along is None else constant(along)
        if isinstance(number, int) and number != axis and (number < 0) == (axis < 0):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the probabilities add up to 1 along axis {number}, and the classes are taken along axis {axis}",
                "use the axis of the classes in both places: axis=-1",
                related=[(made.node, "made here")],
            )
    yield from _of_rows(context)
    yield from _of_all_actions(context)
    for scope, node, lengths in last_of_each(context):
        text = ast.unparse(lengths)
        yield finding(
            RULE.code,
            scope,
            node,
            f"each row gives its steps at the ends of all rows, and not the one at the end that `{text}` has for it",
            f"take one of each row: {ast.unparse(node.value)}[jnp.arange(len({text})), {text} - 1]",
        )
    for module in context.asked.modules:
        if not module.source.mentions(b"softmax") and not module.source.mentions(b"logsumexp"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if not in_test(scope):
                yield from _every_row(context, scope)


def _column_of_actions(call: ast.Call) -> bool:
    """Say whether the places to take are actions as a column: ``actions[:, None]``."""
    index = argument(call, 1, "indices")
    if isinstance(index, ast.Subscript):
        parts = index.slice.elts if isinstance(index.slice, ast.Tuple) else []
        column = len(parts) == 2 and new_axis(parts[1]) and not new_axis(parts[0])
    else:
        made = index if isinstance(index, ast.Call) and last_word(index.func) == "expand_dims" else None
        column = made is not None and constant(argument(made, 1, "axis")) in (-1, 1)
        index = made.args[0] if made is not None and made.args else None
    return column and index is not None and _NAMED_ACTIONS.fullmatch(entry_word(index)) is not None


def _of_network(node: ast.expr | None) -> bool:
    """Say whether values are those that a model gives, or are called like values of actions."""
    if isinstance(node, ast.Call):
        return last_word(node.func) in {"apply", "apply_fn", "q_network", "q_net", "network", "model", "policy", "q"}
    return node is not None and _VALUES.fullmatch(entry_word(node)) is not None


_NAMED_ACTIONS = pattern(r"(\w+_)?actions?")
_VALUES = pattern(r"(\w+_)?(q|qs|q_?values?|q_?vals?|logits|log_?probs?|logp)(_\w+)?")


def _of_rows(context: Context) -> Iterator[Finding]:
    """Yield the sums over the classes of one-hot labels times probabilities that add up to 1 along the examples."""
    for event, name in foreign(context, "sum"):
        if name not in {"jax.numpy.sum", "numpy.sum"} or not event.node.args or in_test(event.scope):
            continue
        axis = constant(argument(event.node, 1, "axis"))
        factors = operands(written(context, event.node.args[0], event.scope), ast.Mult)
        if axis not in (-1, 1) or len(factors) != 2:
            continue
        for chances, labels in (factors, factors[::-1]):
            made, found = _made(context, event.scope, chances), resolved(context, labels, event.scope)
            if made is None or constant(argument(made.node, 1, "axis")) != 0:
                continue
            name = context.flow.calls.callee_name(found) if found and isinstance(found.value, Call) else ""
            if last(name) == "one_hot":
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the probabilities add up to 1 along axis 0, and the classes are taken along axis {axis}",
                    "use the axis of the classes in both places: axis=-1",
                )


_ACTIONS = pattern(r"(batch_|b_|taken_|chosen_)?(actions?|acts?)(_batch)?|a_?t?|acs?")


def _of_all_actions(context: Context) -> Iterator[Finding]:
    """Yield ``q(batch.obs)[:, batch.actions]``, which is compared with one target for each step of the batch.

    So are those of ``jnp.take(q(batch.obs), batch.actions, axis=1)``.
    """
    for scope, node in each(context, ast.Subscript, ast.Call):
        table, index = _all_of(context, scope, node)
        if table is None or index is None:
            continue
        actions = _uncast(index)
        if not _ACTIONS.fullmatch(entry_word(actions)):
            continue
        if in_test(scope) or scope.module not in context.asked or not _subtracted(context, scope, node):
            continue
        made = written(context, table, scope)
        if isinstance(made, ast.Call) and _of_same_batch(scope, made, actions):
            text = ast.unparse(actions)
            yield finding(
                RULE.code,
                scope,
                node,
                f"each row gives its values of all of `{text}`, and not the one of its own action",
                f"pick one of each row: jnp.take_along_axis(..., {text}[:, None], axis=-1)[:, 0]",
            )


def _all_of(context: Context, scope: Scope, node: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the table and the index of ``q[:, actions]`` and of ``jnp.take(q, actions, axis=1)``."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        return (node.value, parts[1]) if len(parts) == 2 and ast.unparse(parts[0]) == ":" else (None, None)
    if not isinstance(node, ast.Call) or last_word(node.func) != "take" or len(node.args) < 2:
        return None, None
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or value.starred or constant(argument(node, 2, "axis")) != 1:
        return None, None  # along the last axis it may be one row, and one action
    named = context.flow.calls.callee_name(context.flow.here(value, scope)) == "jax.numpy.take"
    return (node.args[0], node.args[1]) if named else (None, None)


def _uncast(node: ast.expr) -> ast.expr:
    """Return the actions of ``actions.astype(int)``."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) and func.attr == "astype" else node


def _subtracted(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression, or the variable that gets it, is only ever a side of a difference or of a loss."""
    above = around(context, scope)
    places: list[ast.expr] = [node]
    holder = above.get(node)
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name):
        if len(context.bodies.stores(scope, holder.targets[0].id)) != 1:
            return False
        places = [*context.bodies.reads(scope, holder.targets[0].id)]
    held = [above.get(one) for one in places]
    differences = [one for one in held if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub)]
    losses = [one for one in held if isinstance(one, ast.Call) and _PAIRED.search(last_word(one.func))]
    return bool(differences or losses) and all(
        one in differences or one in losses or (isinstance(one, ast.Call) and last_word(one.func) == "mean")
        for one in held
    )


_PAIRED = pattern(r"^(huber_loss|l2_loss|squared_error|smooth_l1|mse(_loss)?)$")


def _of_same_batch(scope: Scope, call: ast.Call, actions: ast.expr) -> bool:
    """Say whether a call gets what belongs to the same batch as the actions."""
    values = scope.module.values
    own = values.get(actions)
    given = [values.get(one) for one in (*call.args, *(word.value for word in call.keywords))]
    if isinstance(own, Param | Free):
        return entry_word(actions) in {"actions", "batch_actions", "b_actions", "acts"} and any(
            isinstance(one, Param | Free) and _home(one) == _home(own) and _STATES.fullmatch(one.name) for one in given
        )
    base = _batch(own)
    return base is not None and any(_batch(one) == base and one != own for one in given)


def _home(value: Param | Free) -> object:
    """Return where a parameter, or a variable of a function around, stands."""
    return value.function.scope if isinstance(value, Param) else value.scope


_STATES = pattern(r"(batch_|b_)?(obs|observations?|states?|s|s_t|xs?|inputs?)(_batch)?")


def _batch(value: Value | None) -> Value | None:
    """Return the record that a value is a part of."""
    base = value.base if isinstance(value, Item | Attr) else None
    return None if isinstance(base, Param | Free) and _SETTINGS.search(base.name) else base


_SETTINGS = pattern(r"env|config|cfg|spec|space")


def _made(context: Context, scope: Scope, node: ast.expr | None, depth: int = 0) -> Call | None:
    """Return the call of a softmax that an expression is the result of, or that of logsumexp which it is less."""
    found = resolved(context, node, scope) if node is not None else None
    if found is not None and isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _MAKING:
        return found.value
    own = written(context, node, scope) if node is not None else None
    value: Value | None = None
    if depth < _DEPTH and isinstance(own, ast.Call) and isinstance(value := scope.module.values.get(own), Call):
        called = context.flow.calls.invoked(context.flow.here(value, scope))
        if len(called) == 1 and not called[0][0].gradient and not called[0][0].function.decorators:
            inner = called[0][0].function
            return _made(context, inner.scope, formula_of(context, inner), depth + 1)
    if isinstance(own, ast.Call) and last_word(own.func) == "log" and len(own.args) == 1:
        return _made(context, scope, own.args[0])
    if isinstance(own, ast.BinOp) and isinstance(own.op, ast.Sub):
        less = written(context, own.right, scope)
        if isinstance(less, ast.Subscript):  # logsumexp(x, axis=1)[:, None]
            less = written(context, less.value, scope)
        value = scope.module.values.get(less)
    if not isinstance(own, ast.BinOp) or not isinstance(value, Call) or not value.node.args:
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    alike = ast.dump(value.node.args[0]) == ast.dump(own.left)
    return value if alike and name.startswith("jax.") and last(name) == "logsumexp" else None


def _every_row(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield ``logp[:, labels]``, the entries of all labels in each row, and ``logp[labels]``, all of other rows."""
    reduced = _reduced(context, scope)
    for node in reduced:
        if isinstance(node, ast.Call):
            yield from _taken(context, *_given_by(context, scope, node))
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if not parts and (text := _taken_rows(context, scope, node.value, node.slice)):
            yield finding(RULE.code, scope, node, *_rows(text))
        if len(parts) != 2 or not isinstance(parts[0], ast.Slice):
            continue
        whole = parts[0]
        if whole.lower is not None or whole.upper is not None or not _LABELS.fullmatch(entry_word(parts[1])):
            continue
        if _of_argument(scope, parts[1]) and _made(context, scope, node.value) is not None:
            text = ast.unparse(parts[1])
            yield finding(
                RULE.code,
                scope,
                node,
                f"each row gives its entries for all of `{text}`, and not the one for its own",
                f"pick one of each row: [jnp.arange(len({text})), {text}]",
            )


def _of_argument(scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is an argument, or a named entry of one: ``batch["labels"]``."""
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(constant(node.slice), str)):
        node = node.value
    value = scope.module.values.get(node)
    if isinstance(value, Item) and isinstance(value.index, Const) and isinstance(value.base, Param):
        value = value.base  # x, labels = batch
    return isinstance(node, ast.Name) and (isinstance(value, Param) or _of_outer(value))


def _of_outer(value: Value | None) -> bool:
    """Say whether a value is an argument of a function around, as the labels are for the loss within a step."""
    function = value.scope.function if isinstance(value, Free) else None
    return isinstance(value, Free) and function is not None and value.name in function.params


def _alone(context: Context, scope: Scope) -> bool:
    """Say whether a body gets one example, or may do so: it, or one around it, is mapped."""
    around_it: Scope | None = scope
    while around_it is not None:
        if around_it.function is not None and around_it.function in context.shared(batched):
            return True
        around_it = around_it.parent
    return False


def _rows(text: str) -> tuple[str, str]:
    """Return what is wrong with log-probabilities of which labels pick rows, and what to do."""
    return (
        f"this takes the rows whose numbers are `{text}`, with the entries of all classes, not each row's own class",
        f"pick one of each row: [jnp.arange(len({text})), {text}]",
    )


def _taken_rows(context: Context, scope: Scope, chances: ast.expr, labels: ast.expr) -> str:
    """Return the labels that pick rows of log-probabilities, of which there is one for each label; nothing if others.

    Args:
        context: the analysis.
        scope: the body.
        chances: what is indexed.
        labels: the index.
    """
    labels = _uncast(labels)
    function = scope.function
    if function is None or not _LABELS.fullmatch(entry_word(labels)) or not _of_argument(scope, labels):
        return ""
    made = _made(context, scope, chances)
    if made is None or not made.node.args or function in context.shared(batched):
        return ""
    logits = made.node.args[0]
    number = constant(argument(made.node, 1, "axis"))
    own = context.bodies.home(made.node) is scope
    if number == 1 or (own and has_rows(context, logits, labels, scope)):
        return ast.unparse(labels)
    return ""


def _given_by(context: Context, scope: Scope, node: ast.Call) -> tuple[Scope, ast.Call]:
    """Return the call of ``take`` that a function gives which is called, with its body; another call itself."""
    if last_word(node.func) == "take":
        return scope, node
    value = scope.module.values.get(node)
    called = context.flow.calls.invoked(context.flow.here(value, scope)) if isinstance(value, Call) else []
    if len(called) == 1 and not called[0][0].gradient and not called[0][0].function.decorators:
        inner = called[0][0].function
        given = formula_of(context, inner) if inner.scope.module in context.asked else None
        if isinstance(given, ast.Call) and last_word(given.func) == "take":
            return inner.scope, given
    return scope, node


def _taken(context: Context, scope: Scope, node: ast.Call) -> Iterator[Finding]:
    """Yield ``jnp.take(log_probabilities, labels, axis=1)``: the entries of all labels in each row."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or value.starred or len(node.args) < 2:
        return
    if context.flow.calls.callee_name(context.flow.here(value, scope)) != "jax.numpy.take":
        return
    labels, along = _uncast(node.args[1]), argument(node, 2, "axis")
    axis = constant(along)
    if along is None or axis == 0:
        text = _taken_rows(context, scope, node.args[0], labels)
        if text and along is None:
            told = f"without an axis this takes the entries `{text}` of all numbers in one row, those of the first one"
            yield finding(RULE.code, scope, node, told, _rows(text)[1])
        elif text:
            yield finding(RULE.code, scope, node, *_rows(text))
        return
    if not _LABELS.fullmatch(entry_word(labels)) or axis not in (1, -1):
        return
    made = _made(context, scope, node.args[0]) if _of_argument(scope, labels) else None
    if made is not None and (axis == 1 or _computed(context, made, labels, scope)):
        yield finding(
            RULE.code,
            scope,
            node,
            f"each row gives its entries for all of `{ast.unparse(labels)}`, and not the one for its own",
            f"pick one of each row: jnp.take_along_axis(..., {ast.unparse(labels)}[:, None], axis=-1)",
        )


def _computed(context: Context, made: Call, labels: ast.expr, scope: Scope) -> bool:
    """Say whether logits are computed for each example, and are no vector of parameters of which all are drawn."""
    given = made.node.args[0] if made.node.args else None
    if not entry_word(labels).endswith("s"):
        return False  # one row, and one label
    if given is None or context.bodies.home(made.node) is not scope:
        return given is not None
    return isinstance(written(context, given, scope), ast.Call | ast.BinOp) or has_rows(context, given, labels, scope)


def _reduced(context: Context, scope: Scope) -> list[ast.Subscript | ast.Call]:
    """Return what is indexed and then averaged or summed up."""
    found: list[ast.Subscript | ast.Call] = []
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) not in _REDUCING:
            continue
        func = event.node.func
        name = context.flow.calls.name(event)
        given: ast.expr | None = func.value if isinstance(func, ast.Attribute) and not name else None
        if last(name) in _REDUCING and name.startswith("jax.numpy.") and event.node.args:
            given = event.node.args[0]
        while given is not None:
            given = written(context, given, scope)
            held = bound_once(context, scope, given) if isinstance(given, ast.Name) else None
            given = held if isinstance(held, ast.Subscript) else given  # of which nothing is known
            if isinstance(given, ast.UnaryOp):
                given = given.operand
            elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add) and _small(given.right):
                given = given.left
            elif isinstance(given, ast.Call) and last_word(given.func) == "log" and len(given.args) == 1:
                given = given.args[0]
            elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
                given = _weighed(context, scope, given)
            else:
                break
        if isinstance(given, ast.Subscript | ast.Call):
            found.append(given)
    return found


# what there is one of for each action that was taken
_GAINS = pattern(r"(?<![a-z])(adv|advs|advantages?|rewards?|returns?|rets?|gaes?|td_errors?)(?![a-z])", re.I)


def _weighed(context: Context, scope: Scope, product: ast.BinOp) -> ast.expr | None:
    """Return the other factor of a product with advantages or returns, of which each action has one."""
    factors = operands(product, ast.Mult)
    gains = [_GAINS.search(ast.unparse(one)) is not None for one in factors]
    if len(factors) != 2 or sum(gains) != 1 or _alone(context, scope):
        return None
    return factors[gains.index(False)]


def _small(node: ast.expr) -> bool:
    return isinstance(constant(node), float) or "eps" in last_word(node)


_BAD = """\
import jax
import jax.numpy as jnp


def loss(logits, labels):
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(logp[:, labels])
"""
_AXIS = """\
import jax
import jax.numpy as jnp


def loss(logits, labels):
    logp = jax.nn.log_softmax(logits, axis=0)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=1))
"""

RULE = lint_rule(
    "NNX980",
    "class-of-other-row",
    "probabilities of other classes or along another axis than those of the labels",
    why="""\
`logp[:, labels]` has a row for each example and a column for each label: its mean takes the labels of all examples for
each of them, and the model learns how often a label comes. `logp[labels]` takes whole rows, those whose numbers the
labels happen to be. Probabilities that add up to 1 along the examples are none
of their classes. `jnp.take(logp, actions, axis=1)` is `logp[:, actions]`, also where advantages weigh it.
""",
    source="Stack Overflow, on indexing log-probabilities by labels; measured: another loss",
    severity="error",
    check=_check,
    bad=(_BAD, _AXIS),
    clean=(_BAD.replace("[:, labels]", "[jnp.arange(len(labels)), labels]"), _AXIS.replace("axis=0", "axis=1")),
)
