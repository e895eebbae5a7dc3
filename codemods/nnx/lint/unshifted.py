"""NNX990: a causal model that learns to repeat the token it sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.places import foreign, in_test, position, resolved, written
from codemods.nnx.lint.scanned_tokens import scanned_tokens
from codemods.nnx.lint.syntax import argument, constant, new_axis
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Item, Param, Sequence

_CAUSAL = pattern(
    rb"causal|\btril\b|auto_?regressive|next.?token|\blm_|_lm\b|\bLM(?=[A-Z_]|Config|Model)|language.?model|\bgpt", re.I
)
# where not the next token is predicted
_OTHER = pattern(
    rb"\bmlm\b|masked_lm|bert|copy_?task|copying|reconstruct|auto_?encod|vq|latent|diffusion|denois|corrupt|mask_token"
    rb"|\[MASK\]|mask_id",
    re.I,
)
# where the model or its caller moves the tokens, hides some of them, or encodes the whole
_MOVED = pattern(
    rb"shift|\broll\(|prepend|start_token|\bsos\b|\bbos|\[:, *:-1\]|\[:-1\]|\[:, *1:\]|\[\.\.\., *:-1\]|\bpad\(|concat",
    re.I,
)
_LOSSES = {
    "optax.softmax_cross_entropy_with_integer_labels": "labels",
    "optax.losses.softmax_cross_entropy_with_integer_labels": "labels",
    "optax.softmax_cross_entropy": "labels",
}
_SAME = frozenset({"astype", "swapaxes"})
_DEPTH = 4


class _Compared(NamedTuple):
    """Logits and the labels that a loss compares them with."""

    scope: Scope
    node: ast.expr
    logits: ast.expr
    labels: ast.expr


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for one in _compared(context):
        labels = _of_one_hot(context, one.labels, one.scope)
        if in_test(one.scope) or not isinstance(labels, ast.Name | ast.Attribute | ast.Subscript) or one.node in told:
            continue
        made = _model(context, one.logits, one.scope)
        if made is None:
            continue
        given = next((part for part in _given(made) if _same(context, part, labels, one.scope)), None)
        if (given is not None and _repeats(context, made, one.scope)) or _scans(
            context, made, given or labels, one.scope
        ):
            told.add(one.node)
            shown = ast.unparse(labels)
            cut = _before_last(context, labels, one.scope) is not None
            yield finding(
                RULE.code,
                one.scope,
                one.node,
                f"the model sees each token of `{shown}` that it learns to predict",
                "predict the next ones: tokens[:, 1:]"
                if cut
                else f"predict the next one: logits[:, :-1] and {shown}[:, 1:]",
                related=[(made, "given here")],
            )


def _compared(context: Context) -> Iterator[_Compared]:
    """Yield what losses compare, also those that a function of the project computes of its arguments."""
    for found in _losses(context):
        yield found
        logits, labels = (found.scope.module.values.get(node) for node in (found.logits, found.labels))
        if not isinstance(logits, Param) or not isinstance(labels, Param) or logits.function is not labels.function:
            continue
        for caller in context.flow.sites.callers(logits.function):
            given = [argument(caller.node, position(param), param.name) for param in (logits, labels)]
            if given[0] is not None and given[1] is not None and not caller.value.starred:
                yield _Compared(caller.scope, caller.node, given[0], given[1])


def _losses(context: Context) -> Iterator[_Compared]:
    for event, name in foreign(context, "softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy"):
        logits, labels = argument(event.node, 0, "logits"), argument(event.node, 1, _LOSSES.get(name, ""))
        if name in _LOSSES and logits is not None and labels is not None:
            whole, targets = _all_but_last(logits, 2), _all_but_last(labels, 2)
            if whole is not None and targets is not None:  # the last ones of both left out
                logits, labels = whole, targets
            yield _Compared(event.scope, event.node, logits, labels)
    for event, name in foreign(context, "take_along_axis"):
        array, indices = argument(event.node, 0, "arr"), argument(event.node, 1, "indices")
        if not name.startswith("jax.numpy.") or array is None or indices is None:
            continue
        made, chosen = written(context, array, event.scope), _without_axis(written(context, indices, event.scope))
        if chosen is None and isinstance(made, ast.Call) and last_word(made.func) == "log_softmax" and made.args:
            both = [_all_but_last(one, number) for one, number in ((made.args[0], 2), (indices, 3))]
            if both[0] is not None and both[1] is not None:
                yield _Compared(event.scope, event.node, both[0], both[1])
        if isinstance(made, ast.Call) and last_word(made.func) == "log_softmax" and made.args and chosen is not None:
            yield _Compared(event.scope, event.node, made.args[0], chosen)


def _all_but_last(node: ast.expr, number: int) -> ast.expr | None:
    """Return x in ``x[:, :-1]``, with as many parts of the index, of which others but these two are None."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    parts = [ast.unparse(one) for one in node.slice.elts]
    return node.value if len(parts) == number and parts[:2] == [":", ":-1"] and set(parts[2:]) <= {"None"} else None


def _without_axis(node: ast.expr) -> ast.expr | None:
    """Return x in ``x[..., None]``, ``x[:, :, None]`` and ``jnp.expand_dims(x, -1)``."""
    if isinstance(node, ast.Call) and last_word(node.func) == "expand_dims" and node.args:
        return node.args[0]
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    *before, new = node.slice.elts
    whole = all((isinstance(one, ast.Slice) and one.lower is one.upper is None) or _is(one, ...) for one in before)
    return node.value if whole and new_axis(new) else None


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _of_one_hot(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the labels that are written as rows of zeros and a one."""
    made = written(context, node, scope)
    return made.args[0] if isinstance(made, ast.Call) and last_word(made.func) == "one_hot" and made.args else node


def _model(context: Context, logits: ast.expr, scope: Scope) -> ast.Call | None:
    """Return the call that gives logits, also as one of its results."""
    for _ in range(_DEPTH):
        value = scope.module.values.get(logits)
        if isinstance(value, Item) and isinstance(value.base, Call) and isinstance(logits, ast.Name):
            value = value.base
        made = value.node if isinstance(value, Call) else logits
        if not isinstance(made, ast.Call) or last_word(made.func) not in _SAME:
            break
        if not isinstance(made.func, ast.Attribute):
            break
        logits = made.func.value
    return made if isinstance(made, ast.Call) and context.bodies.home(made) is scope else None


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def _same(context: Context, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether two expressions are the same array of tokens."""
    if not isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
        return False
    cut = _before_last(context, one, scope)
    if cut is not None and cut == _before_last(context, other, scope):
        return True
    if not isinstance(one, ast.Name) or not isinstance(other, ast.Name):
        roots = _root(one), _root(other)
        if ast.unparse(one) != ast.unparse(other) or not all(isinstance(root, ast.Name) for root in roots):
            return False
        if any(isinstance(n, ast.Slice) for n in ast.walk(one)):
            return False
        one, other = roots
    first, second = resolved(context, one, scope), resolved(context, other, scope)
    return first is not None and second is not None and first.value == second.value


def _before_last(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return what all tokens but the last are taken from in ``tokens[:, :-1]``, also where that has a name."""
    found = resolved(context, node, scope)
    if found is None or not isinstance(found.value, Indexed | Item):
        return None
    index = found.value.index.value if isinstance(found.value, Indexed) else found.value.index
    whole = isinstance(index, Sequence) and ast.unparse(index.node) in {"(:, :-1)", ":, :-1", "(..., :-1)", "..., :-1"}
    return context.flow.with_value(found, found.value.base) if whole else None


def _root(node: ast.expr) -> ast.expr:
    """Return the variable of ``batch["tokens"]`` or ``batch.tokens``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _repeats(context: Context, model: ast.Call, scope: Scope) -> bool:
    """Say whether a model is one that predicts the next token, and gets none of them moved by itself."""
    functions = list(_functions(context, model, scope.module))
    homes = {scope.module, *(one.scope.module for one in functions)}
    texts = [home.source.data for home in homes]
    if not any(map(_CAUSAL.search, texts)) or any(map(_OTHER.search, texts)):
        return False
    if not functions:
        return not any(map(_MOVED.search, texts))
    bodies = _bodies(context, functions)
    if not any(_MOVED.search(ast.unparse(node).encode()) for node in bodies):
        return True
    return len(bodies) == 1 and _sees(functions[0])


def _scans(context: Context, model: ast.Call, tokens: ast.expr, scope: Scope) -> bool:
    """Say whether a model goes through the tokens one by one, sees each, and then gives what is said of it."""
    functions = scanned_tokens(context, model, tokens, scope)
    if not functions or _OTHER.search(scope.module.source.data):
        return False
    return not any(_MOVED.search(ast.unparse(node).encode()) for node in functions)


def _functions(context: Context, call: ast.Call, module: ModuleFacts) -> Iterator[FunctionFacts]:
    """Yield what a call runs."""
    for one in module.calls:
        if one.node is call:
            here = context.flow.here(one.value, one.scope)
            yield from (callee.function for callee, _ in context.flow.calls.invoked(here))
            made = context.sources.originals(context.flow.here(one.value.callee, one.scope))
            for layer in (*applied_modules(context, here), *(m for m in made if isinstance(m.value, Call))):
                cls = context.flow.classes.class_of(layer)
                method = context.flow.classes.method(cls, "__call__") if cls is not None else None
                if method is not None:
                    yield method


def _bodies(context: Context, functions: list[FunctionFacts]) -> list[ast.AST]:
    """Return the functions that some reach, and the classes of methods."""
    found: dict[ast.AST, None] = {}
    waiting = [(one, 0) for one in functions]
    seen: set[FunctionFacts] = set()
    while waiting:
        one, depth = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        found[one.owner.node if one.owner is not None else one.node] = None
        for event in context.bodies.calls.get(one.scope, ()) if depth < _DEPTH else ():
            invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
            waiting += [(callee.function, depth + 1) for callee, _ in invoked]
    return list(found)


def _sees(function: FunctionFacts) -> bool:
    """Say whether what a function gives for each token goes back to this token on a way that moves nothing."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return False
    direct = {name for name in function.params if _TOKENS.search(name)}
    for statement in node.body:
        if isinstance(statement, ast.Return):
            return statement.value is not None and _reads(statement.value, direct)
        if isinstance(statement, ast.Assign):
            names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            direct = direct | names if _reads(statement.value, direct) else direct - names
        elif not isinstance(statement, ast.Expr):
            return False
    return False


_TOKENS = pattern(r"^(x|xs|ids|tok|toks|tokens?|inputs?|seq|seqs|sequences?|input_ids|idx)$", re.I)


def _reads(node: ast.AST, names: set[str]) -> bool:
    """Say whether an expression reads some variables at the places that they have."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute) and node.attr in {"shape", "ndim", "size", "dtype"}:
        return False
    if isinstance(node, ast.Call) and last_word(node.func) in {"make_causal_mask", "make_attention_mask"}:
        return False  # where a token may look, and none of them
    if isinstance(node, ast.Call) and last_word(node.func) in {"pad", "roll", "concatenate", "zeros_like", "ones_like"}:
        beside = last_word(node.func) == "concatenate" and constant(argument(node, 1, "axis")) in (-1, 2)
        return beside and any(_reads(one, names) for one in node.args[:1])  # features beside features move no token
    if isinstance(node, ast.Subscript) and any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)):
        if any(n.lower is not None or n.upper is not None for n in ast.walk(node.slice) if isinstance(n, ast.Slice)):
            return False
    return any(_reads(child, names) for child in ast.iter_child_nodes(node))


_BAD = """\
import jax
import jax.numpy as jnp
import optax


def apply(params, tokens):
    hidden = params["embed"][tokens]
    scores = jnp.einsum("bqd,bkd->bqk", hidden @ params["q"], hidden @ params["k"])
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
    return (weights @ hidden) @ params["out"]


def lm_loss(params, tokens):
    logits = apply(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
"""

RULE = lint_rule(
    "NNX990",
    "unshifted-targets",
    "a causal model whose targets are its very input",
    why="""\
A causal model sees, at each place, the token of that place and those before. A loss that compares its prediction with
this very token teaches it to copy: the loss falls to zero, and what it writes repeats the last token. The targets have
to be one place ahead.
""",
    source="Radford et al. 2018, equation 1; measured: the loss falls to 0, and generated text repeats the prompt",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(logits, tokens).mean", "(logits[:, :-1], tokens[:, 1:]).mean"),),
)
