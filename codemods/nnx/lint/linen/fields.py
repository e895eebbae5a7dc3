"""NNX596: arguments that the constructor of a Linen module does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import has_linen, is_plain, wanted
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Class

_OWN = frozenset({"name", "parent"})


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    classes = [cls for cls in context.project.classes() if _is_dataclass(context, cls)]
    made = context.bodies.named(*(cls.name for cls in classes)) if classes else ()
    for event in made:
        if not event.node.keywords or not wanted(context, event):
            continue
        callee = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
        cls = callee.facts if isinstance(callee, Class) else None
        strange = _strange(context, event, cls) if cls is not None and _is_dataclass(context, cls) else None
        if cls is None or strange is None:
            continue
        plain = strange in _plain_names(context, cls)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{cls.name} takes no `{strange}`: it is a field of a Linen module only with an annotation"
            if plain
            else f"{cls.name} has no field `{strange}`",
            f"annotate it in the class: {strange}: ... = ..." if plain else "leave it out, or give the class the field",
        )


def _is_dataclass(context: Context, cls: ClassFacts) -> bool:
    """Say whether the fields of a class are all that its constructor takes."""
    every = context.flow.classes.mro(cls)[0]
    return is_plain(context, cls) and not any(one.decorators or "__init__" in one.methods for one in every)


def _strange(context: Context, event: CallEvent, cls: ClassFacts) -> str | None:
    fields = _OWN.union(context.flow.classes.dataclass_fields(cls))
    return next((key for key, _ in event.value.keywords if key is not None and key not in fields), None)


def _plain_names(context: Context, cls: ClassFacts) -> set[str]:
    """Return the names that the bodies of classes assign without an annotation."""
    return {
        last_word(target)
        for one in context.flow.classes.mro(cls)[0]
        for statement in one.node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    }


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    hidden = 128

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.hidden)(x)


model = Net(hidden=64)
"""

RULE = lint_rule(
    "NNX596",
    "linen-field",
    "an argument that is no field of a Linen module",
    why="""\
The constructor of a Linen module is that of a dataclass: it takes the names that the body of the class annotates, and
`name` and `parent`. A name without an annotation belongs to the class, and as an argument raises a TypeError.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("hidden = 128", "hidden: int = 128"), _BAD.replace("hidden=64", 'name="net"')),
)
