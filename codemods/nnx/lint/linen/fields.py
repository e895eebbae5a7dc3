"""NNX596: arguments that the constructor of a Linen module does not take, or needs and does not get."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, has_linen, is_plain, wanted
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Class

_OWN = frozenset({"name", "parent"})
# what layers need in Flax 0.10 to 0.12, in its order
_REQUIRED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Dense", "DenseGeneral", "LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell"), ("features",)),
    **dict.fromkeys(("Conv", "ConvTranspose", "ConvLocal"), ("features", "kernel_size")),
    "Embed": ("num_embeddings", "features"),
    **dict.fromkeys(("MultiHeadDotProductAttention", "SelfAttention"), ("num_heads",)),
}


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    yield from _lacking(context)
    classes = {cls for cls in context.project.classes() if _is_dataclass(context, cls)}
    made = context.bodies.named(*sorted({cls.name for cls in classes})) if classes else ()
    for event in made:
        if not wanted(context, event):
            continue
        callee = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
        cls = callee.facts if isinstance(callee, Class) else None
        if cls not in classes:
            continue
        fields = _fields(context, cls)
        missing = _missing(event, [name for name, bare in fields.items() if bare], [*fields])
        if missing:
            yield _needs(event, cls.name, missing)
        strange = _strange(context, event, cls)
        if strange is None:
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


def _lacking(context: Context) -> Iterator[Finding]:
    """Yield the layers of Linen that are made without an argument that has no default."""
    for event, name in foreign(context, *_REQUIRED):
        word = last(name)
        if name == f"{HOME}{word}" and wanted(context, event):
            missing = _missing(event, _REQUIRED[word], _REQUIRED[word])
            if missing:
                yield _needs(event, f"nn.{word}", missing)


def _needs(event: CallEvent, name: str, missing: Sequence[str]) -> Finding:
    listed = " and ".join(f"`{one}`" for one in missing)
    return finding(
        RULE.code, event.scope, event.node, f"{name} is not given {listed}, which it needs", "give it as well"
    )


def _missing(event: CallEvent, required: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return what a constructor needs and does not get, by position or by name."""
    given = {*order[: len(event.value.args)], *(key for key, _ in event.value.keywords)}
    return [name for name in required if name not in given]


def _fields(context: Context, cls: ClassFacts) -> dict[str, bool]:
    """Return the fields of a class in the order of its constructor, and whether they have no default."""
    found: dict[str, bool] = {}
    for one in reversed(context.flow.classes.mro(cls)[0]):
        for statement in one.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if "ClassVar" not in ast.unparse(statement.annotation):
                    found[statement.target.id] = statement.value is None
            elif isinstance(statement, ast.Assign):
                names = {last_word(target) for target in statement.targets}
                found.update(dict.fromkeys(names & found.keys(), False))
    return found


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
    "an argument that is no field of a Linen module, or one that it needs and does not get",
    why="""\
The constructor of a Linen module is that of a dataclass: it takes the names that the body of the class annotates, and
`name` and `parent`. A name without an annotation belongs to the class, and as an argument raises a TypeError. So does a
field without a default that is not given, such as the `features` of `nn.LSTMCell()`, which older releases did not ask
for.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("hidden = 128", "hidden: int = 128"), _BAD.replace("hidden=64", 'name="net"')),
)
