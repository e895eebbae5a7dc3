"""NNX645: static arguments of nn.remat whose places are counted without the module itself, or that come by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_plain, wanted
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Call, Class, Const, Ref

_REMATS = frozenset({"flax.linen.remat", "flax.linen.checkpoint"})
_FLAGS = frozenset({"decode", "deterministic", "eval", "is_train", "is_training", "train", "training"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "remat", "checkpoint"):
        if name not in _REMATS or not event.value.args or not wanted(context, event):
            continue
        given = keyword(event.node, "static_argnums")
        places = _places(event)
        method = _called(context, event) if places and keyword(event.node, "methods") is None else None
        if method is None or given is None:
            continue
        names = list(method.params)
        for place in sorted(one for one in places if type(one) is int and 0 < one < len(names) - 1):
            data, flag = names[place], names[place + 1]
            if place + 1 not in places and _is_flag(method, flag) and _is_data(method, data):
                yield finding(
                    RULE.code,
                    event.scope,
                    given,
                    f"the module itself is argument 0: {place} makes `{data}` static, and leaves `{flag}` traced",
                    f"static_argnums=({place + 1},)",
                )
                break
    for event, name in _by_name(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"nn.remat takes its static arguments by position: `{name}` comes by name",
            "give the argument by position",
        )


def _places(event: CallEvent) -> set[object]:
    """Return the places of the static arguments that a transform is told."""
    chosen = constant(keyword(event.node, "static_argnums"))
    return {chosen} if type(chosen) is int else set(chosen) if isinstance(chosen, tuple | list) else set()


def _by_name(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of a module under ``nn.remat`` that give a static argument by name, with that."""
    saved: dict[ast.AST, tuple[list[int], FunctionFacts]] = {}
    for event, name in foreign(context, "remat", "checkpoint", everywhere=True):
        if name not in _REMATS or not event.value.args or event.value.starred:
            continue
        places = [one for one in _places(event) if type(one) is int and one > 0]
        if len(places) == len(_places(event)) > 0 and keyword(event.node, "methods") is None:
            method = _called(context, event)
            if method is not None:
                saved[event.node] = (places, method)
    for event in context.asked.calls() if saved else ():
        if not event.node.keywords or isinstance(event.value.callee, Ref):
            continue
        flow = context.flow
        made = flow.resolve(flow.here(event.value.callee, event.scope))
        transformed = flow.follow(made, made.value.callee).value if isinstance(made.value, Call) else None
        places, method = saved.get(transformed.node, ([], None)) if isinstance(transformed, Call) else ([], None)
        if method is None or max(places) <= len(event.node.args) or not wanted(context, event):
            continue
        names = list(method.params)
        late = [k.arg for k in event.node.keywords if k.arg in names and names.index(k.arg) in places]
        if late and late[0] is not None:
            yield event, late[0]


def _called(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the method ``__call__`` of the class of Linen that a transform gets."""
    made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
    if not isinstance(made, Class) or not is_plain(context, made.facts):
        return None
    method = context.flow.classes.method(made.facts, "__call__")
    return method if method is not None and method.vararg is None and method.self_param is not None else None


def _annotation(method: FunctionFacts, name: str) -> str:
    arguments = method.node.args  # a method is no lambda
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return next((ast.unparse(one.annotation) for one in every if one.arg == name and one.annotation is not None), "")


def _is_flag(method: FunctionFacts, name: str) -> bool:
    default = method.defaults.get(name)
    told = isinstance(default, Const) and isinstance(default.value, bool)
    return name in _FLAGS or told or _annotation(method, name) == "bool"


def _is_data(method: FunctionFacts, name: str) -> bool:
    """Say whether a parameter may be nothing but arrays: it has no default, and no annotation of something static."""
    annotation = _annotation(method, name)
    return (
        name not in method.defaults
        and name not in _FLAGS
        and not any(word in annotation for word in ("bool", "int", "str", "Callable", "None", "Optional", "float"))
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1)(nn.Dense(4)(x), deterministic=not train)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.remat(Block, static_argnums=(1,))()(x, train)


variables = Net().init(jax.random.key(0), jnp.ones((2, 3)), False)
"""

RULE = lint_rule(
    "NNX645",
    "linen-static-place",
    "static_argnums of nn.remat that does not count the module itself, or names what comes by name",
    why="""\
`nn.remat` counts the arguments of the method, and `self` is number 0. A place that is counted from the first argument
behind it makes the data static, which raises an error, and leaves the flag behind it traced. It counts what comes by
position only: a static argument by name is a ValueError.
""",
    source="source of flax.linen.remat; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("static_argnums=(1,)", "static_argnums=(2,)"),),
)
