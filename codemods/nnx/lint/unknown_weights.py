"""NNX899: weights that a module holds, and NNX does not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, is_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Function, Sequence, Unknown, Value

_WEIGHT = re.compile(
    r"log_?std|log_(sigma|scale|var|alpha|temp(erature)?)|kernel|weights?|bias|gamma|beta|cls(_token)?|class_token|pos|"
    r"mask_token|pos_emb(ed(ding)?s?)?|position(al)?_emb(ed(ding)?s?)?|pos_embedding|embeddings?|codebook|queries|"
    r"query_tokens|alpha|temperature|prototypes|centroids|(layer_|res(idual)?_|logit_|learned_)?(scale|gain|shift|slope)|"
    r"g_(in|out)|(layer|input|output)_(kernel|weights?|bias|gamma|beta)"
)
_SHORT = re.compile(r"[wWb]\d?|[wWb]_(in|out|q|k|v|o|x|h|xh|hh|hy|ih)")
_PLAIN = frozenset(
    {"jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full", "jax.numpy.zeros_like", "jax.numpy.ones_like"}
)
_FIXED = re.compile(r"rand|fix|frozen|const|target|feature|freq|noise|buffer|init", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if is_test(cls.scope.module) or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
            continue
        yield from _shared(context, cls)
        init = cls.methods.get("__init__")
        if init is not None and len(cls.methods) > 1 and not _by_filter(context):
            yield from _plain(context, cls, init)


def _shared(context: Context, cls: ClassFacts) -> Iterator[Finding]:
    """Yield the lists of a class's body that its methods fill with layers."""
    names = [
        name
        for name, value in cls.scope.env.items()
        if isinstance(value, Sequence)
        and isinstance(value.node, ast.List)
        and all(isinstance(stored, Changed) for _, stored in cls.stores.get(name, ()))
    ]
    for method in cls.methods.values() if names else ():
        for event in context.bodies.calls.get(method.scope, ()):
            callee = event.value.callee
            if not isinstance(callee, Attr) or callee.name != "append" or not isinstance(callee.base, Attr):
                continue
            if callee.base.base is not method.self_param or callee.base.name not in names or not event.value.args:
                continue
            if Kind.MODULE in kinds_of(context, event.value.args[0], event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{callee.base.name}` is one list of the class, for all its objects, and no part of the module: "
                    "its layers are neither trained nor saved",
                    f"make it in the constructor: self.{callee.base.name} = nnx.List([])",
                )
                return


def _plain(context: Context, cls: ClassFacts, init: FunctionFacts) -> Iterator[Finding]:
    """Yield the arrays that go by the name of a weight and are no Param, in a class whose other weights are."""
    for name, stores in cls.stores.items():
        if len(stores) != 1 or stores[0][0] is not init:
            continue
        value = _scaled(stores[0][1], init)
        if not isinstance(value, Call) or len(context.flow.fields.stores().get(name, ())) > 1:
            continue
        short = _SHORT.fullmatch(name) is not None and not _fixed_features(cls)
        initialized = (
            not _FIXED.search(name)
            and not _fixed_features(cls)
            and (_by_initializer(context, value, init) or _by_stream(value))
        )
        if not (short or initialized or _WEIGHT.fullmatch(name)):
            continue
        made = context.flow.calls.callee_name(context.flow.here(value, init.scope))
        drawn = made.startswith("jax.random.") and made.rpartition(".")[2] in {"normal", "uniform", "truncated_normal"}
        if (
            not (made in _PLAIN or drawn or initialized)
            or b"stop_gradient" in cls.scope.module.source.data
            or not _read(cls, name)
        ):
            continue
        yield finding(
            RULE.code,
            init.scope,
            value.node,
            f"`{name}` is a plain array: no optimizer trains it, and nnx.state(model, nnx.Param) leaves it out",
            "make it a parameter, nnx.Param(...), or if it is none a Variable of another type",
        )


def _by_filter(context: Context) -> bool:
    """Say whether an optimizer of the project takes what a function of paths and values chooses, arrays as well."""
    return any(
        isinstance(context.flow.resolve(context.flow.here(value, event.scope)).value, Function)
        for event, name in foreign(context, "Optimizer", "DiffState", everywhere=True)
        if name in {"flax.nnx.Optimizer", "flax.nnx.DiffState"}
        for value in (event.value.argument(2, "wrt"), event.value.argument(1, "filter"))
        if value is not None
    )


def _by_initializer(context: Context, value: Call, init: FunctionFacts) -> bool:
    """Say whether an array is drawn by an initializer, as ``nnx.initializers.lecun_normal()(key, shape)``."""
    if len(value.args) < 2:
        return False
    made = context.flow.follow(context.flow.here(value, init.scope), value.callee)
    if not isinstance(made.value, Call):
        return False
    return context.flow.calls.callee_name(made).startswith(("flax.nnx.initializers.", "jax.nn.initializers."))


def _by_stream(value: Call) -> bool:
    """Say whether an array is drawn by a key of the stream of parameters, as ``normal(rngs.params(), shape)``."""
    key = value.args[0] if value.args else value.keyword("key")
    return isinstance(key, Call) and isinstance(key.callee, Attr) and key.callee.name == "params" and not key.args


def _scaled(value: Value, init: FunctionFacts) -> Value:
    """Return the array that a value is a multiple of, as ``normal(key, shape) * 0.02``; other values as they are."""
    node = value.node if isinstance(value, Unknown) else None
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else [node.left]
        held = next((side for side in sides if isinstance(side, ast.Call | ast.BinOp)), None)
        found = init.scope.module.values.get(held) if isinstance(held, ast.Call) else None
        if isinstance(found, Call) and last_word(found.node.func) != "sqrt":
            return found
        node = held
    return value


def _fixed_features(cls: ClassFacts) -> bool:
    """Say whether a class makes features of fixed random directions, which are not meant to be trained."""
    return any(isinstance(n, ast.Attribute) and n.attr in {"sin", "cos", "stop_gradient"} for n in ast.walk(cls.node))


def _read(cls: ClassFacts, name: str) -> bool:
    """Say whether the class computes with an attribute when it is called."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        for method in cls.methods.values()
        if method.name == "__call__" or not method.name.startswith("__")
        for node in ast.walk(method.node)
    )


RULE = lint_rule(
    "NNX899",
    "unknown-weights",
    "weights that are no part of the module's parameters: a plain array, or layers in a list of the class",
    why="""\
Only what is an `nnx.Param` is trained. An array in a plain attribute is carried along and never changes. A list in the
body of a class belongs to the class: all its objects share it, and its layers are in no state.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: the weights stay as they were made",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, actions: int, rngs: nnx.Rngs):
        self.mean = nnx.Linear(4, actions, rngs=rngs)
        self.log_std = jnp.zeros(actions)

    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, actions: int, rngs: nnx.Rngs):
        self.mean = nnx.Linear(4, actions, rngs=rngs)
        self.log_std = nnx.Param(jnp.zeros(actions))

    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
""",
    ),
)
