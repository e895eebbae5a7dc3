"""NNX721: a mode of one's own that model.eval() does not change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import own_reads, owner_class, plain_module
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Const, Param

_NAMES = ("training", "is_training", "is_train", "train_mode", "in_training", "eval_mode", "is_eval")


def _check(context: Context) -> Iterator[Finding]:
    classes = [cls for cls in context.project.classes() if any(name in cls.stores for name in _NAMES)]
    if not classes:
        return
    switched = [
        cls
        for event in context.bodies.named("eval", "train")
        if isinstance(event.value.callee, Attr)
        for cls in (owner_class(context, event.value.callee.base, event.scope),)
        if cls is not None and not isinstance(cls, str) and plain_module(context, cls)
    ]
    for cls in classes if switched else ():
        for name in _NAMES:
            if name in cls.stores and plain_module(context, cls) and not _set(context, cls, name):
                if any(_holds(one, cls) for one in switched):
                    yield from _read(context, cls, name)


def _set(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether anything but a constructor sets the attribute, or the constructor from something unknown."""
    for function, value in cls.stores[name]:
        if function.name != "__init__":
            return True
        default = function.defaults.get(value.name) if isinstance(value, Param) else value
        if not isinstance(default, Const) or not isinstance(default.value, bool):
            return True
    if {"train", "eval", "set_attributes", "__setattr__"} & set(cls.methods) or name in cls.scope.env:
        return True
    for event in context.project.attributes():
        if (
            event.node.attr == name
            and event.context == "store"
            and getattr(event.scope.function, "name", "") != "__init__"
        ):
            return True
    setting = context.bodies.named("set_attributes", "train", "eval", "view")
    return any(key == name for event in setting for key, _ in event.value.keywords)


def _holds(outer: ClassFacts, inner: ClassFacts) -> bool:
    """Say whether a class is another, or names it in its body."""
    return outer is inner or any(isinstance(n, ast.Name) and n.id == inner.name for n in ast.walk(outer.node))


def _read(context: Context, cls: ClassFacts, name: str) -> Iterator[Finding]:
    for method in cls.methods.values():
        if method.scope.module not in context.asked or in_test(method.scope):
            continue
        for node in own_reads(context, method):
            if node.attr == name:
                yield finding(
                    RULE.code,
                    method.scope,
                    node,
                    f"nothing ever changes `{name}`: model.train() and model.eval() set `deterministic` and "
                    "`use_running_average`",
                    f"read self.deterministic, or call model.eval({name}=...)",
                )
                return


RULE = lint_rule(
    "NNX721",
    "own-mode",
    "a mode of one's own, such as self.training, that model.eval() does not change",
    why="""\
`model.train()` and `model.eval()` of PyTorch set `training`; those of NNX set the attributes `deterministic` and
`use_running_average`, wherever a layer has them, and those that they are given by name. A layer that asks for
`self.training` stays in training for ever.
""",
    source="Flax documentation of nnx.Module.eval; measured on Flax 0.10.7 and 0.12.8: the attribute stays",
    check=_check,
    bad=(
        """\
import jax
from flax import nnx


class Noise(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rngs = rngs.fork()
        self.training = True

    def __call__(self, x):
        if self.training:
            return x + jax.random.normal(self.rngs.noise(), x.shape)
        return x


layer = Noise(nnx.Rngs(0))
layer.eval()
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


class Noise(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rngs = rngs.fork()
        self.training = True

    def __call__(self, x):
        if self.training:
            return x + jax.random.normal(self.rngs.noise(), x.shape)
        return x


layer = Noise(nnx.Rngs(0))
layer.eval(training=False)
""",
    ),
)
