"""NNX927: a model that learns the next token with attention that sees it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.mask_meaning import PADDING, meaning
from codemods.nnx.lint.origins import made_by, unpacked_once
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call

_LOSSES = ("softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy")
_LAYERS = frozenset({"flax.nnx.MultiHeadAttention", "flax.linen.MultiHeadAttention", "flax.linen.SelfAttention",
                     "flax.linen.MultiHeadDotProductAttention"})  # fmt: skip
_FUNCTIONS = frozenset(f"{home}.dot_product_attention" for home in ("flax.nnx", "jax.nn"))
# where a model speaks of these, it may hide the future in another way, or attend over something else
_ELSEWHERE = pattern(
    rb"causal|\btril|\btriu|decode\s*=\s*True|look_?ahead|subsequent|autoregressive_mask|prefix|bidirectional"
    rb"|local_window|pairwise_fn|future",
    re.I,
)
_SOFTMAX = frozenset({"jax.nn.softmax", "flax.nnx.softmax"})
_TURNING = pattern(r"swapaxes|moveaxis|transpose|rearrange|\.T\b")
_CLASSES = 40


def _check(context: Context) -> Iterator[Finding]:
    words = b"cross_entropy", b"take_along_axis"
    if not any(m.source.mentions(word) for m in context.project.modules for word in words):
        return
    told: set[ast.AST] = set()
    for event, name in foreign(context, *_LOSSES, "take_along_axis", everywhere=True):
        if not name.startswith(("optax.", "jax.numpy.")) or in_test(event.scope):
            continue
        model = _shifted(context, event)
        if model is None:
            continue
        cls = _class_of(context, model, event.scope)
        calls = _attentions(context, _parts(context, cls)) if cls is not None else _of_functions(context, model, event)
        if not calls or not all(_sees_all(context, call) for call in calls):
            continue
        for call in calls:
            if call.scope.module in context.asked and call.node not in told:
                told.add(call.node)
                yield finding(
                    RULE.code,
                    call.scope,
                    call.node,
                    "each position attends to the next one, which the model learns to predict",
                    "give it mask=nnx.make_causal_mask(tokens), or since Flax 0.12 is_causal=True",
                    related=[(event.node, "the loss of the next token")]
                    if event.scope.module is call.scope.module
                    else [],
                )


def _shifted(context: Context, event: CallEvent) -> ast.Call | None:
    """Return the call of the model that predicts for each token of a sequence the one behind it."""
    logits, labels = (argument(event.node, i, word) for i, word in enumerate(("logits", "labels")))
    if last_word(event.node.func) == "take_along_axis":
        logits, labels = _picked(context, event)
    if logits is None or labels is None:
        return None
    labels = _made(context, labels, event.scope)
    if isinstance(labels, ast.Call) and last_word(labels.func) == "one_hot" and labels.args:
        labels = _made(context, labels.args[0], event.scope)
    tokens = _cut(labels, lower=True)
    logits = _made(context, logits, event.scope)
    cut = _cut(logits, lower=False)
    model = _made(context, cut, event.scope) if cut is not None else logits
    if tokens is None or not isinstance(model, ast.Call) or not model.args:
        return None
    if any(re.search(r"mask|causal|segment", ast.unparse(one)) for one in model.args):
        return None
    if any(k.arg is None or re.search(r"mask|causal|segment", k.arg) for k in model.keywords):
        return None
    for one in model.args:
        whole = _made(context, one, event.scope)
        given = _cut(whole, lower=False) if cut is None else whole
        if given is not None and ast.unparse(given) == ast.unparse(tokens):
            return model
    return None


def _picked(context: Context, event: CallEvent) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the logits and labels of ``jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)``."""
    if len(event.node.args) < 2:
        return None, None
    chances, labels = (_made(context, one, event.scope) for one in event.node.args[:2])
    if not isinstance(chances, ast.Call) or last_word(chances.func) != "log_softmax" or not chances.args:
        return None, None
    if isinstance(labels, ast.Call) and last_word(labels.func) == "expand_dims" and labels.args:
        return chances.args[0], labels.args[0]
    if not isinstance(labels, ast.Subscript):
        return None, None
    if ast.unparse(labels.slice) in {"(..., None)", "(:, :, None)", "..., None", ":, :, None"}:
        return chances.args[0], labels.value
    parts = labels.slice.elts if isinstance(labels.slice, ast.Tuple) else []
    if len(parts) == 3 and ast.unparse(parts[2]) == "None":
        inner = ast.Subscript(labels.value, ast.Tuple(parts[:2], ast.Load()), ast.Load())
        return chances.args[0], inner  # tokens[:, 1:, None]
    return None, None


def _made(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression that a variable is the name of, if this is an expression of the same body."""
    home: Scope | None = scope
    while isinstance(node, ast.Name) and home is not None:
        made = made_by(context, node, home)
        if made is None:
            made = unpacked_once(context, home, node)
        if made is not None:
            return made
        if node.id in home.bindings:
            break
        home = home.parent  # a loss takes its batch from the step around it
    return node


def _cut(node: ast.expr, lower: bool) -> ast.expr | None:
    """Return the sequences of ``tokens[:, 1:]``, or of ``tokens[:, :-1]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) < 2:
        return None
    first, second, *rest = node.slice.elts
    if not all(isinstance(one, ast.Slice) for one in (first, second)) or ast.unparse(first) != ":":
        return None
    if any(ast.unparse(one) not in {":", "..."} for one in rest) or not isinstance(second, ast.Slice):
        return None
    ends = constant(second.lower), constant(second.upper)
    return node.value if ends == ((1, None) if lower else (None, -1)) and second.step is None else None


def _class_of(context: Context, model: ast.Call, scope: Scope) -> ClassFacts | None:
    value = scope.module.values.get(model)
    if not isinstance(value, Call):
        return None
    callee = value.callee
    if isinstance(callee, Attr) and callee.name == "apply":  # of Linen
        callee = callee.base
    owners = context.sources.originals(context.flow.here(callee, scope))
    found = {context.flow.classes.class_of(owner) for owner in owners}
    return found.pop() if len(found) == 1 else None


def _parts(context: Context, model: ClassFacts) -> list[ClassFacts]:
    """Return the project's classes of which a model is made, with itself; nothing if one may hide the future."""
    found = [model]
    for cls in found:
        found += [base for base in context.flow.classes.mro(cls)[0] if base not in found]
        for method in cls.methods.values():
            for event in context.bodies.calls.get(method.scope, ()):
                made = context.flow.classes.class_of(context.flow.here(event.value, event.scope))
                if made is not None and made not in found:
                    found.append(made)
        if len(found) > _CLASSES or _hides(cls.scope.module):
            return []
    return found


def _hides(module: ModuleFacts) -> bool:
    """Say whether a module may hide the future in another way, by the names and short texts of its code; prose says so
    only of models that are meant to see it."""
    if not module.source.matches(_ELSEWHERE):
        return False
    if module.source.matches(_MEANT):
        return True
    for node in ast.walk(module.scope.node):
        words = [getattr(node, field, None) for field in ("id", "attr", "arg", "name")]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not any(map(str.isspace, node.value)):
            words.append(node.value)
        if isinstance(node, ast.keyword) and node.arg == "decode" and constant(node.value) is not False:
            return True
        if any(isinstance(word, str) and _WORDS.search(word) for word in words):
            return True
    return False


_MEANT = pattern(rb"prefix|bidirectional", re.I)
_WORDS = pattern(
    r"causal|^tri[lu]|_tri[lu]|look_?ahead|subsequent|autoregressive_mask|local_window|pairwise_fn|future", re.I
)


def _attentions(context: Context, classes: list[ClassFacts]) -> list[CallEvent]:
    """Return the calls of attention in the methods of some classes."""
    return [
        event
        for cls in classes
        for method in cls.methods.values()
        for event in context.bodies.calls.get(method.scope, ())
        if context.flow.calls.name(event) in _FUNCTIONS | _SOFTMAX
        or owner_class(context, event.value.callee, event.scope) in _LAYERS
        or _of_linen(context, event)
    ]


def _of_linen(context: Context, event: CallEvent) -> bool:
    """Say whether a call is one of a layer of Linen that is made there: ``nn.SelfAttention(num_heads=2)(x)``."""
    made = event.value.callee
    if not isinstance(made, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(made, event.scope)) in _LAYERS


def _of_functions(context: Context, model: ast.Call, event: CallEvent) -> list[CallEvent]:
    """Return the calls of attention in the functions that a model consists of; none if one may hide the future."""
    calls = [one for one in context.bodies.calls.get(event.scope, ()) if one.node is model]
    found: list[FunctionFacts] = []
    for call in calls:
        for callee, _ in context.flow.calls.invoked(context.flow.here(call.value, call.scope)):
            function = callee.function
            if function in found:
                continue
            found.append(function)
            if len(found) > _CLASSES or _hides(function.scope.module):
                return []
            calls += context.bodies.calls.get(function.scope, ())
    return [one for one in calls[1:] if context.flow.calls.name(one) in _FUNCTIONS | _SOFTMAX]


def _sees_all(context: Context, event: CallEvent) -> bool:
    """Say whether a call of attention lets each position see all others of the same sequence, but for padding."""
    if context.flow.calls.name(event) in _SOFTMAX:
        return bool(event.node.args) and _scores(context, event.node.args[0], event.scope)
    node, function = event.node, context.flow.calls.name(event) in _FUNCTIONS
    if any(_TURNING.search(ast.unparse(_made(context, one, event.scope))) for one in node.args) and not function:
        return False  # perhaps over another axis
    if event.value.starred or any(k.arg in {"is_causal", "bias", "decode"} and constant(k.value) is not False
                                  for k in node.keywords):  # fmt: skip
        return False
    if function and len(node.args) != 3:
        return False
    if not function and len({ast.unparse(one) for one in node.args}) != 1:
        return False
    mask = keyword(node, "mask")
    value = event.scope.module.values.get(mask) if mask is not None else None
    if mask is None or (constant(mask) is None and isinstance(mask, ast.Constant)):
        return True
    found = [meaning(context, one, event.scope) for one in context.sources.originals(
        context.flow.here(value, event.scope))] if value is not None else []  # fmt: skip
    return bool(found) and all(one is not None and one.hides == PADDING and one.seen for one in found)


def _scores(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a product of queries and keys, all of them, but for a scale."""
    made = _made(context, node, scope)
    while isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div | ast.Mult):
        sides = [made.left] if isinstance(made.op, ast.Div) else [made.left, made.right]
        parts = [one for side in sides if isinstance(one := _made(context, side, scope), ast.BinOp | ast.Call)]
        if not parts or parts[0] is made:
            return False
        made = parts[0]
    if isinstance(made, ast.Call) and last_word(made.func) == "einsum" and len(made.args) == 3:
        form = constant(made.args[0])
        return isinstance(form, str) and form.replace(" ", "") in _PRODUCTS
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.MatMult):
        return _KEYS.search(ast.unparse(_made(context, made.right, scope))) is not None
    if isinstance(made, ast.Call) and last_word(made.func) == "matmul" and len(made.args) == 2:
        return _KEYS.search(ast.unparse(_made(context, made.args[1], scope))) is not None
    return False


# forms of the product of queries and keys, over places that come second or third
_PRODUCTS = frozenset({"bqhd,bkhd->bhqk", "bthd,bshd->bhts", "bihd,bjhd->bhij", "bqd,bkd->bqk", "btd,bsd->bts",
                       "bid,bjd->bij", "bhqd,bhkd->bhqk", "bhtd,bhsd->bhts", "bhid,bhjd->bhij",
                       "...qhd,...khd->...hqk"})  # fmt: skip
_KEYS = pattern(r"swapaxes\((\w+, )?(-1, -2|-2, -1|1, 2|2, 3)\)$|\.mT$|transpose\(\(?0, (2, 1|1, 3, 2|2, 3, 1)\)?\)$")

_BAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(50, 16, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
        self.head = nnx.Linear(16, 50, rngs=rngs)

    def __call__(self, tokens):
        h = self.embed(tokens)
        return self.head(h + self.attention(h))


def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


model = Decoder(nnx.Rngs(0))
loss, grads = nnx.value_and_grad(loss_fn)(model, jnp.ones((2, 8), int))
"""

RULE = lint_rule(
    "NNX927",
    "attention-sees-target",
    "a model learns to predict the next token with attention that sees it",
    why="""\
The target of each position is the token behind it. Attention without a causal mask sees that token among its keys: the
loss falls to zero, and a text that is generated, where nothing stands behind the last token, is nonsense.
""",
    source="issues of minimal GPTs; measured: a loss near zero on random tokens",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("self.attention(h)", "self.attention(h, mask=nnx.make_causal_mask(h[..., 0]))"),
        _BAD.replace("self.attention(h)", "self.attention(h, mask=nnx.make_causal_mask(tokens))"),
        _BAD.replace("tokens[:, :-1]", "tokens").replace("tokens[:, 1:]", "tokens"),
    ),
)
