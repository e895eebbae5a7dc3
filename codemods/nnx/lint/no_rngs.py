"""NNX858: layers that are made without random streams."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.layer_signature import NEEDED
from codemods.nnx.lint.mode_order import trains_first
from codemods.nnx.lint.origins import made_by_calls
from codemods.nnx.lint.places import foreign, in_test, kinds_of, target_of
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Class, Const, Ref

# how many arguments the constructors take by position
_LAYERS = {
    "BatchNorm": 1, "Conv": 4, "ConvTranspose": 4, "Einsum": 3, "Embed": 2, "GRUCell": 2, "GroupNorm": 3,
    "InstanceNorm": 1, "LSTMCell": 2, "LayerNorm": 1, "Linear": 2, "LinearGeneral": 2, "LoRA": 3, "LoRALinear": 2,
    "MultiHeadAttention": 6, "OptimizedLSTMCell": 2, "RMSNorm": 1, "SimpleCell": 2,
}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_LAYERS, "Dropout"):
        home, _, word = name.rpartition(".")
        if home != "flax.nnx" or context.bodies.guarded(event.node, event.scope):
            continue
        if keyword(event.node, "rngs") is not None or any(k.arg is None for k in event.node.keywords):
            continue
        if event.value.starred:
            if word != "Dropout" and not in_test(event.scope):
                yield _found(event, f"`nnx.{word}` needs streams to make its weights, and takes them by name only")
        elif word == "Dropout":
            if not in_test(event.scope) and _draws(context, event):
                yield _found(event, "`nnx.Dropout` has no streams to draw its masks from")
        elif len(event.node.args) > _LAYERS[word] and Kind.RNGS in kinds_of(context, event.value.args[-1], event.scope):
            yield _found(event, f"`nnx.{word}` takes its streams by name: rngs={ast.unparse(event.node.args[-1])}")
        elif not in_test(event.scope) and not _incomplete(event, word):
            yield _found(event, f"`nnx.{word}` needs streams to make its weights")
    yield from _partial(context)
    yield from _unknown_streams(context)
    for module in context.asked.modules:
        for event in module.calls:
            if isinstance(event.node.func, ast.Name) and event.node.func.id[:1].isupper() and _lacking(context, event):
                yield _found(event, f"`{event.node.func.id}` needs streams to make its weights")


def _incomplete(event: CallEvent, word: str) -> bool:
    """Say whether a layer lacks other arguments as well, of which NNX710 tells."""
    named = {k.arg for k in event.node.keywords}
    return any(name not in named for name in NEEDED.get(word, ())[len(event.node.args) :])


def _unknown_streams(context: Context) -> Iterator[Finding]:
    """Yield the keys that are taken of a stream which no Rngs of the project has, where all of them are known."""
    made = [e for e, n in foreign(context, "Rngs", everywhere=True) if n == "flax.nnx.Rngs"]
    if not made or any(_default(event) for event in made):
        return
    names = {k.arg for event in made for k in event.node.keywords}
    for event in context.asked.calls():
        callee = event.value.callee
        if not isinstance(callee, Attr) or event.node.args or event.node.keywords or callee.name in names | _OF_RNGS:
            continue
        if callee.name.startswith("_") or context.bodies.guarded(event.node, event.scope) or in_test(event.scope):
            continue
        sources = made_by_calls(context, context.flow.here(callee.base, event.scope))
        if sources and all(context.flow.calls.callee_name(one) == "flax.nnx.Rngs" for one in sources):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"no nnx.Rngs has a stream `{callee.name}`, and none has a default",
                f"name it where they are made: nnx.Rngs({callee.name}=1, ...)",
            )


_OF_RNGS = frozenset(
    {"fork", "split", "items", "keys", "values", "default", "copy", "replace", "reseed", "eval", "train"}
)


def _default(event: CallEvent) -> bool:
    """Say whether streams have a default, or names that cannot be read."""
    return (
        bool(event.node.args) or not event.node.keywords or any(k.arg in {"default", None} for k in event.node.keywords)
    )


def _partial(context: Context) -> Iterator[Finding]:
    """Yield the layers that ``functools.partial`` prepares and that nobody ever gives streams."""
    for event, name in foreign(context, "partial"):
        if name != "functools.partial" or not event.node.args or event.value.starred or in_test(event.scope):
            continue
        layer = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
        home, _, word = layer.name.rpartition(".") if isinstance(layer, Ref) else ("", "", "")
        if home != "flax.nnx" or word not in _LAYERS or any(k.arg in {"rngs", None} for k in event.node.keywords):
            continue
        target = target_of(event)
        if not isinstance(target, ast.Name):
            continue
        if not _only_called(event, target.id):
            for call in context.bodies.calls.get(event.scope, ()):
                if call.value.callee is event.value and not call.value.starred:
                    if not any(k.arg in {"rngs", None} for k in call.node.keywords):
                        yield _found(call, f"`{target.id}` needs streams to make its weights")
            continue
        yield _found(event, f"`nnx.{word}` needs streams to make its weights, here or where `{target.id}` is called")


def _only_called(event: CallEvent, name: str) -> bool:
    """Say whether a name is only called, at least once, and never given streams."""
    nodes = list(ast.walk(event.scope.node))
    called = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]
    if event.scope.parent is None or any(k.arg in {"rngs", None} for n in called for k in n.keywords):
        return False
    funcs = {n.func for n in called}
    return bool(called) and not any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n not in funcs for n in nodes
    )


def _found(event: CallEvent, message: str) -> Finding:
    return finding(RULE.code, event.scope, event.node, message, "give it rngs=")


def _lacking(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes a module of the project without the streams that its constructor asks for."""
    if event.value.starred or keyword(event.node, "rngs") is not None or in_test(event.scope):
        return False
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    if not isinstance(callee, Class):
        return False
    init = callee.facts.methods.get("__init__")
    if init is None or "rngs" not in init.params or "rngs" in init.defaults or callee.facts.decorators:
        return False
    index = list(init.params).index("rngs") - 1
    given = index < init.positional - 1 and len(event.node.args) > index
    return not given and bool(init.decorators == ()) and "flax.nnx.Module" in context.flow.classes.mro(callee.facts)[1]


def _draws(context: Context, event: CallEvent) -> bool:
    """Say whether a dropout draws masks, and nothing that can be seen gives it streams or turns it off."""
    rate = event.value.argument(0, "rate")
    if rate is None or len(event.node.args) > 1:
        return False
    rates = [source.value for source in context.sources.of(context.flow.here(rate, event.scope))]
    if not rates or not all(isinstance(one, Const) and one.value for one in rates):
        return False
    draws = constant(keyword(event.node, "deterministic"))
    if keyword(event.node, "deterministic") is not None and draws is not False:
        return False
    statement = event.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):  # that a chain is made of
        chains = (one for one in context.bodies.calls.get(event.scope, ()) if event.value in one.value.args)
        statement = next((one.statement for one in chains if last_word(one.node.func) == "Sequential"), statement)
    targets = statement.targets if isinstance(statement, ast.Assign) and _is_or_chains(statement.value, event) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name | ast.Attribute):
        return draws is False
    word = targets[0].id if isinstance(targets[0], ast.Name) else targets[0].attr
    calls = list(context.bodies.named(word))
    if draws is False:  # it draws for certain, but a call may bring the streams
        return not any(e.value.starred or any(k.arg in {"rngs", None} for k in e.node.keywords) for e in calls)
    if not calls or any(e.value.starred or any(k.arg in {"rngs", None} for k in e.node.keywords) for e in calls):
        return False
    told = [e for e in calls if keyword(e.node, "deterministic") is not None]
    if told:
        given = any(keyword(e.node, "rngs") is not None for e in context.bodies.named("set_attributes"))
        return len(told) == len(calls) and not given and any(_draws_at(context, e) for e in told)
    if any(True for e in context.bodies.named("set_attributes", "view")):
        return False
    evaluated = any(True for e in context.bodies.named("eval"))
    return not evaluated or trains_first(context, event)


def _draws_at(context: Context, event: CallEvent) -> bool:
    """Say whether a call says ``deterministic=False``, itself or where the default of a flag holds for a caller."""
    flag = event.value.keyword("deterministic")
    if flag is None:
        return False
    found = [source.value for source in context.sources.of(context.flow.here(flag, event.scope))]
    return Const(False) in found


def _is_or_chains(value: ast.expr, event: CallEvent) -> bool:
    """Say whether a value is a layer, or an nnx.Sequential of layers among which it is."""
    if isinstance(value, ast.Call) and last_word(value.func) == "Sequential":
        named = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
        return event.node in value.args or any(
            isinstance(one, ast.Name) and isinstance(named, ast.Name) and one.id == named.id for one in value.args
        )
    return value is event.node


RULE = lint_rule(
    "NNX858",
    "no-rngs",
    "a layer is made without `rngs`, or with streams by position",
    why="""\
The layers of NNX make their weights when they are constructed, and need `rngs=` for that, as a keyword; otherwise a
TypeError is raised, or with Dropout a ValueError at its first call.
""",
    source="measured on Flax 0.10.7 and 0.12.8: TypeError, or ValueError in Dropout",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.out = nnx.Linear(8, 2)
""",
    ),
    clean=(
        """\
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.drop = nnx.Dropout(0.1)
        self.out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x, rngs):
        return self.out(self.drop(self.hidden(x), rngs=rngs))
""",
    ),
)
