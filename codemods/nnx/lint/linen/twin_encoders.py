"""NNX542: a Siamese network of Linen whose encoders are two, with weights of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, is_linen, modules_of, wanted
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SHARING = pattern(r"siam|triplet", re.I)
_APART = pattern(r"pseudo|unshared|untied|two_?tower|asym", re.I)  # said of what has weights of its own
_DISTANCE = pattern(r"dist|simil|cosine|euclid|contrast|triplet|metric|l1|l2|manhattan", re.I)


class Applied(NamedTuple):
    """A layer that a method makes and applies.

    Attributes:
        made: the call that makes it.
        text: that as text: class and arguments.
        given: the input, as text.
        result: the variable that gets its output, or the call itself.
    """

    made: ast.Call
    text: str
    given: str
    result: str | ast.AST


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not _SHARING.search(cls.name) or _APART.search(cls.name) or _APART.search(ast.get_docstring(cls.node) or ""):
            continue
        method = cls.methods.get("__call__")
        if method is None or not is_linen(context, cls) or in_test(cls.scope):
            continue
        applied = [*_applied(context, method, _made_in_setup(context, cls))]
        for one in applied:
            other = next((o for o in applied if _twin(one, o) and _meet(method, o.result, one.result)), None)
            if other is not None:
                yield finding(
                    RULE.code,
                    method.scope,
                    one.made,
                    f"this is another `{last_word(one.made.func)}` than that of line {other.made.lineno}, with other "
                    "weights: an input is no longer near to itself",
                    "make it once, and apply it to both inputs",
                )
                break


def _twin(one: Applied, other: Applied) -> bool:
    """Say whether two layers are made alike, the other one first, and get different inputs."""
    return (
        one.text == other.text
        and one.given != other.given
        and (other.made.lineno, other.made.col_offset) < (one.made.lineno, one.made.col_offset)
    )


def _made_in_setup(context: Context, cls: ClassFacts) -> dict[str, ast.Call]:
    """Return the layers that ``setup`` makes, by the names of their attributes."""
    setup = cls.methods.get("setup")
    found: dict[str, ast.Call] = {}
    for event in context.bodies.calls.get(setup.scope, ()) if setup is not None else ():
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and _layer(context, event):
            found[ast.unparse(target)] = event.node
    return found


def _layer(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes a layer of Linen that is not named by hand."""
    return (
        wanted(context, event)
        and keyword(event.node, "name") is None
        and bool(modules_of(context, event.value, event.scope))
        and not context.flow.calls.name(event).startswith(f"{HOME}Dropout")
    )


def _applied(context: Context, method: FunctionFacts, attributes: dict[str, ast.Call]) -> Iterator[Applied]:
    """Yield the layers that a method applies to one input each, outside of conditions and loops."""
    events = context.bodies.calls.get(method.scope, ())
    made = {event.node for event in events if _layer(context, event)}
    names = _variables(method, made)
    paths = context.bodies.paths(method.scope)
    for event in events:
        func = event.node.func
        layer: ast.Call | None = func if isinstance(func, ast.Call) and func in made else None
        if layer is None:
            layer = {**attributes, **names}.get(ast.unparse(func))
        if layer is None or not event.node.args or paths.get(event.node):
            continue
        result: str | ast.AST = event.node
        statement = event.statement
        for name, value in _assigned(statement):
            if value is event.node:
                result = name
        yield Applied(layer, ast.unparse(layer), ast.unparse(event.node.args[0]), result)


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement assigns, with their values; also ``a, b = f(x), f(y)``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, given in zip(target.elts, value.elts, strict=True):
            if isinstance(one, ast.Name):
                yield one.id, given


def _variables(method: FunctionFacts, made: set[ast.expr] | set[ast.Call]) -> dict[str, ast.Call]:
    """Return the layers that a method keeps in a variable which it binds once."""
    bound = [
        (name, value)
        for node in ast.walk(method.node)
        if isinstance(node, ast.Assign)
        for name, value in _assigned(node)
    ]
    names = [name for name, _ in bound]
    return {
        name: value for name, value in bound if isinstance(value, ast.Call) and value in made and names.count(name) == 1
    }


def _meet(method: FunctionFacts, one: str | ast.AST, other: str | ast.AST) -> bool:
    """Say whether the outputs of two layers are compared: by their difference or product, or by a distance."""
    for node in ast.walk(method.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Mult | ast.MatMult):
            sides: list[ast.expr] = [node.left, node.right]
        elif isinstance(node, ast.Call) and _DISTANCE.search(last_word(node.func)):
            sides = node.args
        else:
            continue
        if any(_is(side, one) for side in sides) and any(_is(side, other) for side in sides):
            return True
    return False


def _is(node: ast.expr, result: str | ast.AST) -> bool:
    return node.id == result if isinstance(node, ast.Name) else node is result


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Siamese(nn.Module):
    @nn.compact
    def __call__(self, a, b):
        za = nn.Dense(4)(a)
        zb = nn.Dense(4)(b)
        return jnp.linalg.norm(za - zb, axis=-1)


x = jnp.ones((2, 3))
print(Siamese().init_with_output(jax.random.key(0), x, x)[0])
"""

RULE = lint_rule(
    "NNX542",
    "linen-twin-encoders",
    "a Siamese network of Linen that makes its encoder twice",
    why="""\
In a method with @nn.compact, and in setup, each call of a class of layers makes a layer with weights of its own. A
Siamese network, and one for triplets, sends all inputs through one encoder: with two of them the distance of an input
to itself is not zero. Nothing raises. Keep the layer in a variable, and call that.
""",
    source="Flax documentation of compact modules; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("        za = nn.Dense(4)(a)\n        zb = nn.Dense(4)(b)\n",
                     "        encoder = nn.Dense(4)\n        za, zb = encoder(a), encoder(b)\n"),
        _BAD.replace("Siamese", "Scores"),
    ),
)  # fmt: skip
