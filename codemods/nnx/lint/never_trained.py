"""NNX891: layers that are made for evaluation, in a project that trains them."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Attr, Ref

_FLAGS = {"flax.nnx.BatchNorm": "use_running_average", "flax.nnx.Dropout": "deterministic"}
_EFFECT = {"flax.nnx.BatchNorm": "its averages never learn the data", "flax.nnx.Dropout": "it never drops anything"}

# where a project says one of these, the mode may be set elsewhere, or the weights come from elsewhere
_ELSEWHERE = (
    b".train(", b"set_attributes", b"set_mode", b".view(", b"restore", b"load", b"pretrained", b"checkpoint",
    b"from_bytes", b"from_state_dict", b"freeze", b"frozen", b"bridge",
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    made = [(event, name) for event, name in foreign(context, "BatchNorm", "Dropout") if name in _FLAGS]
    made += _bound(context)
    made = [(e, n) for e, n in made if constant(keyword(e.node, _FLAGS[n])) is True and _in_model(e)]
    made += _run(context)
    if not made or not any(True for _ in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True)):
        return
    texts = [module.source.data for module in context.project.modules]
    if any(word in text for text in texts for word in _ELSEWHERE):
        return
    for event, name in made:
        flag = _FLAGS[name].encode()
        if sum(text.count(flag) for text in texts) == sum(text.count(flag + b"=True") for text in texts):
            yield finding(
                RULE.code,
                event.scope,
                keyword(event.node, _FLAGS[name]) or event.node,
                f"{_FLAGS[name]}=True, and nothing ever switches it off: {_EFFECT[name]}",
                "leave it out, and call model.train() before training and model.eval() before evaluation",
            )


def _bound(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the layers to which ``partial`` binds arguments, with their names."""
    for event, name in foreign(context, "partial"):
        first = event.value.args[0] if name == "functools.partial" and event.value.args else None
        held = context.flow.resolve(context.flow.here(first, event.scope)).value if first is not None else None
        if isinstance(held, Ref) and held.name in _FLAGS:
            yield event, held.name


def _run(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of layers of ``self`` for evaluation, where no other call of such an attribute trains it."""
    found: dict[str, list[CallEvent]] = {}
    if not any(True for _ in foreign(context, "BatchNorm", "Dropout")):
        return
    for event in context.project.calls():
        if isinstance(event.value.callee, Attr):
            found.setdefault(event.value.callee.name, []).append(event)
    for events in found.values():
        for name, flag in _FLAGS.items():
            if all(constant(keyword(event.node, flag)) is True for event in events):
                yield from ((event, name) for event in events if _own_layer(context, event, name))


def _own_layer(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a method calls a layer of that name which its object has."""
    function, callee = event.scope.function, event.value.callee
    if function is None or not isinstance(callee, Attr) or callee.base is not function.self_param:
        return False
    if event.scope.module not in context.asked or function.owner is None or in_test(event.scope):
        return False
    stores = function.owner.stores.get(callee.name, ())
    made = [context.flow.resolve(context.flow.here(value, maker.scope)) for maker, value in stores]
    return bool(made) and all(context.flow.calls.callee_name(one) == name for one in made)


def _in_model(event: CallEvent) -> bool:
    """Say whether a layer is made by the constructor of what it belongs to."""
    function = event.scope.function
    return (
        function is not None and function.owner is not None and function.name == "__init__" and not in_test(event.scope)
    )


RULE = lint_rule(
    "NNX891",
    "never-in-training-mode",
    "a BatchNorm or Dropout made for evaluation in a project that only trains",
    why="""\
With `use_running_average=True` a BatchNorm normalizes by its running averages and does not change them: in a model that
is trained from its initial weights they stay zero and one. A Dropout with `deterministic=True` does nothing.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the averages stay as they were made",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)

    def __call__(self, x):
        return self.norm(x)


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)

    def __call__(self, x, train):
        return self.norm(x, use_running_average=not train)


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
""",
    ),
)
