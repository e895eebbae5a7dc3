"""NNX648: compiled ``apply`` of a Linen model, whose mode is traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import has_linen, modules_of, wanted
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call

_STATIC = frozenset({"static_argnames", "static_argnums"})


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    compiled: dict[ast.AST, ClassFacts] = {}
    for event, name in foreign(context, "jit", everywhere=True):
        given = event.value.args[0] if event.value.args else None
        if name != "jax.jit" or not isinstance(given, Attr) or given.name != "apply":
            continue
        if any(key in _STATIC or key is None for key, _ in event.value.keywords):
            continue
        classes = {context.flow.classes.class_of(one) for one in modules_of(context, given.base, event.scope)}
        cls = classes.pop() if len(classes) == 1 else None
        if cls is not None:
            compiled[event.node] = cls
    for event in context.asked.calls() if compiled else ():
        made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
        cls = compiled.get(made.node) if isinstance(made, Call) else None
        word = _decided(context, event, cls) if cls is not None and wanted(context, event) else ""
        if cls is not None and word:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{word}` is traced here, and {cls.name} decides by it: TracerBoolConversionError",
                f'compile it with static_argnames="{word}"',
            )


def _decided(context: Context, event: CallEvent, cls: ClassFacts) -> str:
    """Return the flag that a call gives and by which the ``__call__`` of a model decides; empty if there is none."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None:
        return ""
    names = list(method.params)[1:]
    given = dict(zip(names, event.node.args[1:], strict=False))
    given |= {k.arg: k.value for k in event.node.keywords if k.arg is not None}
    flags = [name for name, node in given.items() if isinstance(constant(node), bool) and name in method.params]
    for node in context.bodies.nodes(method.scope):
        test = node.test if isinstance(node, ast.If | ast.IfExp) else node
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        elif test is node:
            continue
        if isinstance(test, ast.Name) and test.id in flags and not context.bodies.paths(method.scope).get(node):
            return test.id
    return ""


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(x))


model = Net()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)), False)
apply = jax.jit(model.apply)
print(apply(variables, jnp.ones((1, 3)), train=False))
"""

RULE = lint_rule(
    "NNX648",
    "linen-traced-mode",
    "a flag of a Linen model that jax.jit traces, and by which the model decides",
    why="""\
`jax.jit(model.apply)` traces all arguments, also `train=False`: in the model it is a tracer, and `not train` and
`if train` raise a TracerBoolConversionError. A flag has to be static, or bound before: `functools.partial`.
""",
    source="questions on the Flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("model.apply)", 'model.apply, static_argnames="train")'),),
)
