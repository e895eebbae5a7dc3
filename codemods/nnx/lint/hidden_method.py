"""NNX736: an attribute that hides a method of nnx.Module."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Const, Param, Value

_METHODS = ("train", "eval", "sow", "perturb", "set_attributes", "iter_children", "iter_modules")


def _check(context: Context) -> Iterator[Finding]:
    hiding: dict[ClassFacts, dict[str, FunctionFacts]] = {}
    for cls in context.project.classes():
        for word in _METHODS:
            stores = cls.stores.get(word)
            if stores and word not in cls.methods and all(_plain(context, v, m) for m, v in stores):
                if plain_module(context, cls):
                    hiding.setdefault(cls, {})[word] = stores[0][0]
    if not hiding:
        return
    for event in context.bodies.named(*{word for words in hiding.values() for word in words}):
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        found = _hidden(context, event, hiding)
        if found is None or context.bodies.guarded(event.node, event.scope):
            continue
        cls, word, method = found
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{cls.name}` keeps something else under the name `{word}`, which hides nnx.Module.{word}()",
            "give the attribute another name",
            related=[(method.node, "stored here")],
        )


def _plain(context: Context, value: Value, method: FunctionFacts) -> bool:
    """Say whether an attribute is certainly no function: a flag, a number or a text, or an argument that is one."""
    found = context.flow.resolve(context.flow.here(value, method.scope)).value
    if isinstance(found, Const):
        return found.value is not None
    if not isinstance(found, Param):
        return False
    default = found.function.defaults.get(found.name)
    if isinstance(default, Const) and isinstance(default.value, bool | int | float | str):
        return True
    sources = list(context.sources.originals(context.flow.here(value, method.scope)))
    return bool(sources) and all(isinstance(s.value, Const) and s.value.value is not None for s in sources)


def _hidden(
    context: Context, event: CallEvent, hiding: dict[ClassFacts, dict[str, FunctionFacts]]
) -> tuple[ClassFacts, str, FunctionFacts] | None:
    """Return the class whose attribute a call calls."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return None
    cls = owner_class(context, callee.base, event.scope)
    method = hiding.get(cls, {}).get(callee.name) if isinstance(cls, ClassFacts) else None
    return (cls, callee.name, method) if isinstance(cls, ClassFacts) and method is not None else None


RULE = lint_rule(
    "NNX736",
    "hidden-method",
    "an attribute of a module hides a method of nnx.Module that is called",
    why="""\
An attribute `self.train` stands before the method `train()` of `nnx.Module`: `model.train()` calls a bool, which is a
TypeError. So it is with `eval`, `sow`, `perturb` and `set_attributes`.
""",
    source="measured on Flax 0.12.8: TypeError, 'bool' object is not callable",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, train: bool = True, *, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.train = train


net = Net(rngs=nnx.Rngs(0))
net.train()
""",
    ),
    clean=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, train: bool = True, *, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.training = train


class Trainer:
    def __init__(self, train):
        self.train = train


net = Net(rngs=nnx.Rngs(0))
net.train()
Trainer(print).train()
""",
    ),
)
