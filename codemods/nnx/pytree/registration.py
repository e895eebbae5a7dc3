"""NNX306: NNX classes that are registered with JAX by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Class, Const, Ref

_REGISTER = frozenset(
    {
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys_class",
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_pytree_with_keys",
        "jax.tree_util.register_dataclass",
        "jax.tree_util.register_static",
        "flax.struct.dataclass",
        "chex.dataclass",
    }
)
_WORDS = (b"register_", b"dataclass")


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every NNX class of the project that is registered and has not asked to be no pytree."""
    if not context.options.crosses("0.11"):
        return
    classes = [cls for cls in context.asked.classes() if _nnx(context, cls)]
    called = dict.fromkeys(_called(context)) if classes else {}
    for cls in classes:
        if (cls in called or _decorated(context, cls)) and not _opted_out(cls):
            edit = _opt_out(cls)
            source = cls.scope.module.source
            yield finding(
                "NNX306",
                cls.scope,
                cls.node,
                f"{cls.name} is a pytree by itself since Flax 0.11; registering it with JAX raises ValueError",
                "keep the registration and write pytree=False behind the bases, or drop the registration",
                Fix(((source.path, edit),)) if edit is not None else None,
            )


def _nnx(context: Context, cls: ClassFacts) -> bool:
    return any(name.startswith("flax.nnx.") for name in context.flow.classes.mro(cls)[1])


def _decorated(context: Context, cls: ClassFacts) -> bool:
    flow = context.flow
    for decorator in cls.decorators:
        resolved = flow.resolve(flow.here(decorator, cls.scope))
        name = resolved.value.name if isinstance(resolved.value, Ref) else flow.calls.callee_name(resolved)
        if name == "functools.partial" and isinstance(resolved.value, Call) and resolved.value.args:
            first = flow.follow(resolved, resolved.value.args[0]).value
            name = first.name if isinstance(first, Ref) else ""
        if name in _REGISTER:
            return True
    return False


def _called(context: Context) -> Iterator[ClassFacts]:
    """Yield the classes that are handed to a registering function."""
    flow = context.flow
    if not any(module.source.mentions(word) for module in context.project.modules for word in _WORDS):
        return
    registering = flow.may.made_by(name.rpartition(".")[2] for name in _REGISTER)
    for event in context.project.calls():
        if (
            not event.value.args
            or isinstance(event.value.args[0], Const)
            or not registering.may_make(event.value.callee)
        ):
            continue
        if flow.calls.name(event) not in _REGISTER:
            continue
        if not context.bodies.guarded(event.node, event.scope):  # else the project is prepared for the error
            first = flow.resolve(flow.here(event.value.args[0], event.scope)).value
            if isinstance(first, Class):
                yield first.facts


def _opted_out(cls: ClassFacts) -> bool:
    return any(keyword.arg == "pytree" for keyword in cls.node.keywords)


def _opt_out(cls: ClassFacts) -> Edit | None:
    """Return the edit that adds ``pytree=False`` behind the last base."""
    last: ast.AST | None = (
        cls.node.keywords[-1] if cls.node.keywords else cls.node.bases[-1] if cls.node.bases else None
    )
    if last is None:
        return None
    _, end = cls.scope.module.source.span(last)
    return Edit(end, end, b", pytree=False")


RULE = Rule(
    code="NNX306",
    name="pytree-registration",
    summary="an NNX class that is registered with JAX as a pytree",
    why="""\
Every class derived from `nnx.Module` is registered as a pytree since Flax 0.11. A registration of the user's own,
such as `@jax.tree_util.register_pytree_node_class`, then raises "Duplicate custom PyTreeDef type registration" when
the module is imported. `class Net(nnx.Module, pytree=False)`, which Flax knows from 0.10.7 on, leaves the
registration to the user. It is not inherited: a subclass must say it again.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx


@jax.tree_util.register_pytree_node_class
class Scale(nnx.Module):
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


print(len(jax.tree.leaves(Scale(jnp.ones(2)))))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx


@jax.tree_util.register_pytree_node_class
class Scale(nnx.Module, pytree=False):
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


print(len(jax.tree.leaves(Scale(jnp.ones(2)))))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
