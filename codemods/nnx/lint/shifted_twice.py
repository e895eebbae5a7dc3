"""NNX705: targets that a function shifts by one place, and its caller too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, position, shown
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_LOSSES = frozenset(
    {"softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy", "take_along_axis", "log_softmax", "one_hot"}
)
_SHIFTED = pattern(rb"\b1 *: *[,\]]")
# the slices that leave out the last place of an axis, and the first one
_LAST, _FIRST = ":-1", "1:"
_WHOLE = frozenset({":", "...", "None", "jnp.newaxis", "np.newaxis"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _in_place(context)
    for module in context.asked.modules:
        if not module.source.matches(_SHIFTED):
            continue
        for event in module.calls:
            if event.value.starred or len(event.node.args) + len(event.node.keywords) < 2 or in_test(event.scope):
                continue
            given = [*event.node.args, *(k.value for k in event.node.keywords)]
            if not any(_cut(_made(context, one, event.scope)) == _FIRST for one in given):
                continue
            callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
            function = callees[0].function if len(callees) == 1 else None
            if function is None or callees[0].gradient or callees[0].args or callees[0].keywords:
                continue
            yield from _given(context, event, function)


def _given(context: Context, event: CallEvent, function: FunctionFacts) -> Iterator[Finding]:
    """Yield a call of a loss that shifts what it is given, if that is shifted already."""
    shifted = _shifted(context, function)
    if shifted is None:
        return
    logits, targets = (argument(event.node, position(function.params[name]), name) for name in shifted)
    if logits is not None and targets is not None and _moved(context, event.scope, logits, targets):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{shown(function)} compares each place with the next one, and is given the next ones already: "
            "the model learns to predict the one after them",
            f"give it all of the logits and of `{shifted[1]}`, or shift in one of the two places",
            related=[(function.node, "shifts them as well")] if function.scope.module is event.scope.module else [],
        )


def _in_place(context: Context) -> Iterator[Finding]:
    """Yield the losses whose logits and targets are both cut twice in one function."""
    for event, name in foreign(context, "softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy"):
        if not name.startswith("optax.") or in_test(event.scope):
            continue
        logits, labels = argument(event.node, 0, "logits"), argument(event.node, 1, "labels")
        if not isinstance(logits, ast.Subscript) or not isinstance(labels, ast.Subscript):
            continue
        if (_cut(logits), _cut(labels)) == (_LAST, _FIRST) and _moved(context, event.scope, logits.value, labels.value):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{ast.unparse(labels.value)}` are the next tokens already: the model learns to predict the ones "
                "after them",
                "compare all of both",
            )


def _shifted(context: Context, function: FunctionFacts) -> tuple[str, str] | None:
    """Return the parameters of a loss that lose their last place, and their first one, before they are compared."""
    if isinstance(function.node, ast.Lambda):
        return None
    if not any(last_word(e.node.func) in _LOSSES for e in context.bodies.calls.get(function.scope, ())):
        return None
    parts: dict[str, set[str]] = {_LAST: set(), _FIRST: set()}
    names = set(function.params)
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            cut = _cut(node)
            if cut is not None:
                parts[cut].add(node.value.id)
    if len(parts[_LAST]) != 1 or len(parts[_FIRST]) != 1 or parts[_LAST] == parts[_FIRST]:
        return None
    logits, targets = next(iter(parts[_LAST])), next(iter(parts[_FIRST]))
    whole = [
        n
        for word in (logits, targets)
        for n in context.bodies.names(function.scope).get(word, ())
        if isinstance(n.ctx, ast.Load)
    ]
    blocks = context.bodies.paths(function.scope)
    if any(blocks.get(n) for n in whole):
        return None  # only under some condition
    return logits, targets


def _cut(node: ast.expr) -> str | None:
    """Return which place of the second axis an index leaves out: ``x[:, :-1]``, ``x[..., :-1, :]`` or ``x[:, 1:]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    parts = [ast.unparse(one) for one in node.slice.elts]
    kept = [one for one in parts if one in {_LAST, _FIRST}]
    return kept[0] if len(kept) == 1 and all(one in _WHOLE or one == kept[0] for one in parts) else None


def _moved(context: Context, scope: Scope, logits: ast.expr, targets: ast.expr) -> bool:
    """Say whether logits are those of all places but the last, and targets stand behind the first."""
    targets = _made(context, targets, scope)
    if not isinstance(targets, ast.Subscript) or _cut(targets) != _FIRST:
        return False
    whole = ast.unparse(targets.value)
    made = _made(context, logits, scope)
    if _cut(made) == _LAST:
        return True
    if not isinstance(made, ast.Call):
        return False
    inputs = [_made(context, one, scope) for one in (*made.args, *(k.value for k in made.keywords))]
    return any(
        isinstance(one, ast.Subscript) and _cut(one) == _LAST and ast.unparse(one.value) == whole for one in inputs
    )


def _made(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return what a variable gets where it is assigned once, also as one of several; other expressions themselves."""
    home: Scope | None = scope
    while isinstance(node, ast.Name) and home is not None:
        stores = context.bodies.stores(home, node.id)
        if stores:
            return _assigned(context, stores[0], home) or node if len(stores) == 1 else node
        if home.function is not None and node.id in home.function.params:
            return node
        home = home.parent
    return node


def _assigned(context: Context, target: ast.Name, scope: Scope) -> ast.expr | None:
    """Return what a variable is assigned, by itself or in a tuple of as many."""
    above_of = around(context, scope)
    above = above_of.get(target)
    if isinstance(above, ast.Assign) and above.targets == [target]:
        return above.value
    outer = above_of.get(above) if isinstance(above, ast.Tuple) else None
    if not isinstance(above, ast.Tuple) or not isinstance(outer, ast.Assign) or not isinstance(outer.value, ast.Tuple):
        return None
    if any(isinstance(one, ast.Starred) for one in (*above.elts, *outer.value.elts)):
        return None
    pairs = zip(above.elts, outer.value.elts, strict=False)
    return next((value for one, value in pairs if one is target), None)


RULE = lint_rule(
    "NNX705",
    "shifted-twice",
    "a loss of the next tokens that shifts its targets, and gets them shifted already",
    why="""\
A causal model predicts at each place the token that follows. Either the loss leaves out the last place of the logits
and the first one of the tokens, or its caller does. Where both do, no shape is wrong, and the loss gets as small as
before: but the model learns the token after the next one, and what it generates leaves out every second token.
""",
    source="huggingface/transformers#37830 and #47394; measured",
    check=_check,
    bad=(
        """\
import optax


def causal_loss(logits, labels):
    logits, labels = logits[:, :-1], labels[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def objective(model, tokens):
    logits = model(tokens)
    return causal_loss(logits[:, :-1], tokens[:, 1:])
""",
    ),
    clean=(
        """\
import optax


def causal_loss(logits, labels):
    logits, labels = logits[:, :-1], labels[:, 1:]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def objective(model, tokens):
    return causal_loss(model(tokens), tokens)


def rest(model, tokens):
    return causal_loss(model(tokens[:, 1:]), tokens[:, 1:])
""",
    ),
)
