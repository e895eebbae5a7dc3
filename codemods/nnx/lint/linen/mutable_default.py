"""NNX643: fields of Linen modules, and of dataclasses of Flax, whose default is a list, dict or set."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Call

_BASES = frozenset({"flax.linen.Module", "flax.struct.PyTreeNode", "flax.training.train_state.TrainState"})
_DECORATORS = frozenset({"flax.struct.dataclass"})
_MAKERS = frozenset({"dict", "list", "set"})


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not cls.scope.module.source.mentions(b"flax") or in_test(cls.scope):
            continue
        fields = [one for one in cls.node.body if isinstance(one, ast.AnnAssign) and _is_mutable(one, cls)]
        if (
            not fields
            or not _is_dataclass(context, cls)
            or context.bodies.guarded(cls.node, cls.scope.parent or cls.scope)
        ):
            continue
        for field in fields:
            assert field.value is not None
            yield finding(
                RULE.code,
                cls.scope,
                field,
                f"{cls.name} is a dataclass, and takes no list, dict or set as a default: ValueError",
                "give it a tuple, or dataclasses.field(default_factory=lambda: ...)",
            )


def _is_mutable(field: ast.AnnAssign, cls: ClassFacts) -> bool:
    """Say whether the default of a field is a new list, dict or set."""
    value = field.value
    if value is None or not isinstance(field.target, ast.Name) or "ClassVar" in ast.unparse(field.annotation):
        return False
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _MAKERS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _is_dataclass(context: Context, cls: ClassFacts) -> bool:
    """Say whether Flax makes a dataclass of a class."""
    if context.flow.classes.mro(cls)[1] & _BASES:
        return True
    outer = cls.scope.parent
    return outer is not None and any(
        getattr(
            context.flow.resolve(context.flow.here(one.callee if isinstance(one, Call) else one, outer)).value,
            "name",
            "",
        )
        in _DECORATORS
        for one in cls.decorators
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    features: list = [8, 4]

    @nn.compact
    def __call__(self, x):
        for width in self.features:
            x = nn.relu(nn.Dense(width)(x))
        return x


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX643",
    "linen-mutable-default",
    "a list, dict or set as the default of a field of a Linen module or of a dataclass of Flax",
    why="""\
A module of Linen is a dataclass, as are the classes of `flax.struct` and TrainState. A dataclass refuses a default that
all its objects would share and could change: the body of the class raises a ValueError. A tuple is fine, and
`default_factory` makes a new one for each object.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("list = [8, 4]", "tuple[int, ...] = (8, 4)"), _BAD.replace("features: list =", "features =")),
)
