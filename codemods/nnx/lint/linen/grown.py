"""NNX642: lists and dicts that a Linen module has frozen, and that are changed in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_plain
from codemods.nnx.lint.places import in_test

_LIST = frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"})
_DICT = frozenset({"clear", "popitem", "setdefault", "update"})
_GIVES = {"list": "tuple", "dict": "FrozenDict"}


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not cls.scope.module.source.mentions(b"linen") or "setup" not in cls.methods or not is_plain(context, cls):
            continue
        if in_test(cls.scope) or any(_sets_itself(one) for one in context.flow.classes.mro(cls)[0]):
            continue
        kinds = _kinds(cls)
        for method in cls.methods.values() if kinds else ():
            if method.self_param is None:
                continue
            for node in context.bodies.nodes(method.scope):
                name = _changed(node, method.self_param.name, kinds)
                if name is None or context.bodies.guarded(node, method.scope):
                    continue
                yield finding(
                    RULE.code,
                    method.scope,
                    node,
                    f"Linen keeps the {kinds[name]} `self.{name}` as a {_GIVES[kinds[name]]}, which nothing can change",
                    f"fill a variable of setup, and set `self.{name}` to it once",
                )


def _sets_itself(cls: ClassFacts) -> bool:
    return bool({"__setattr__", "__getattr__", "__getattribute__"} & cls.methods.keys())


def _kinds(cls: ClassFacts) -> dict[str, str]:
    """Return the attributes to which the body of setup alone gives lists or dicts, with the kind of each."""
    found: dict[str, set[str]] = {}
    for method in cls.methods.values():
        if method.self_param is None:
            continue
        for node in ast.walk(method.node):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                    name = _own(target, method.self_param.name)
                    if name is not None:
                        found.setdefault(name, set()).add(_kind(node.value) if method.name == "setup" else "")
            elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
                for part in node.elts:
                    found.setdefault(_own(part, method.self_param.name) or "", set()).add("")
    properties = {one.name for one in cls.node.body if isinstance(one, ast.FunctionDef)}
    return {
        name: next(iter(kinds))
        for name, kinds in found.items()
        if len(kinds) == 1 and kinds <= _GIVES.keys() and name not in properties
    }


def _kind(node: ast.expr) -> str:
    """Return whether an expression makes a list or a dict; empty for anything else."""
    if isinstance(node, ast.List | ast.ListComp):
        return "list"
    if isinstance(node, ast.Dict | ast.DictComp):
        return "dict"
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id
    return called if isinstance(called, str) and called in _GIVES else ""


def _own(node: ast.expr, own: str) -> str | None:
    """Return the attribute of the module itself that an expression is."""
    mine = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own
    return node.attr if mine and isinstance(node, ast.Attribute) else None


def _changed(node: ast.AST, own: str, kinds: dict[str, str]) -> str | None:
    """Return the attribute that a call, or an assignment to an entry, changes in place."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = _own(node.func.value, own)
        kind = kinds.get(name or "")
        methods = _LIST if kind == "list" else _DICT if kind == "dict" else frozenset[str]()
        return name if node.func.attr in methods else None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        name = _own(node.value, own)
        return name if name in kinds else None
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List | ast.ListComp):
        name = _own(node.target, own)
        return name if kinds.get(name or "") == "list" else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    depth: int = 3

    def setup(self):
        self.layers = []
        for _ in range(self.depth):
            self.layers.append(nn.Dense(4))

    def __call__(self, x):
        for layer in self.layers:
            x = nn.relu(layer(x))
        return x


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX642",
    "linen-grown",
    "a list or dict of a Linen module that is changed in place",
    why="""\
A module of Linen freezes what it is given: a list that setup sets as an attribute is a tuple from then on, and a dict a
FrozenDict. To append to it raises an AttributeError, to set an entry a TypeError or ValueError.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("self.layers = []", "layers = []").replace(
            "            self.layers.append(nn.Dense(4))",
            "            layers.append(nn.Dense(4))\n        self.layers = layers",
        ),
        _BAD.replace("self.layers = []\n", "self.layers = [nn.Dense(4) for _ in range(self.depth)]\n").replace(
            "        for _ in range(self.depth):\n            self.layers.append(nn.Dense(4))\n", ""
        ),
    ),
)
