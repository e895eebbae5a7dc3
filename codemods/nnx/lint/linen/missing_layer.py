"""NNX597: attributes of a Linen module that neither its fields nor ``setup`` make."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_plain
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Param

# what modules have by themselves in Flax 0.10 to 0.12
_OWN = frozenset(
    {"apply", "bind", "clone", "copy", "get_variable", "has_rng", "has_variable", "init", "init_with_output",
     "is_initializing", "is_mutable_collection", "lazy_init", "make_rng", "module_paths", "name", "param", "parent",
     "path", "perturb", "put_variable", "scope", "setup", "sow", "tabulate", "unbind", "variable", "variables"}
)  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DYNAMIC = frozenset({"setattr", "__dict__", "__getattr__", "__getattribute__", "vars", "__setattr__"})


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not cls.scope.module.source.mentions(b"linen") or not is_plain(context, cls) or in_test(cls.scope):
            continue
        related = {*context.flow.classes.mro(cls)[0], *context.flow.classes.heirs(cls)}
        if any(one.decorators or _is_dynamic(one) for one in related):
            continue
        known = _OWN.union(*(_names(one, _hides_setup(context, cls, one)) for one in related))
        for method in cls.methods.values():
            own = method.self_param
            seen: set[str] = set()
            for node in ast.walk(method.node) if own is not None else ():
                if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                    continue
                if own is None or node.value.id != own.name or node.attr in known or node.attr.startswith("_"):
                    continue
                value = method.scope.module.values.get(node.value)
                if isinstance(value, Param) and value is not own:
                    continue  # of a function or a class within the method
                if node.attr in seen or context.bodies.guarded(node, method.scope):
                    continue
                seen.add(node.attr)
                yield finding(
                    RULE.code,
                    method.scope,
                    node,
                    f"{cls.name} has no `{node.attr}`: it is no field of the class, and setup does not make it",
                    f"make it in setup: self.{node.attr} = ...",
                )


def _hides_setup(context: Context, cls: ClassFacts, other: ClassFacts) -> bool:
    """Say whether a class has a ``setup`` of its own that does not run that of another class, which it derives from."""
    own = cls.methods.get("setup")
    if own is None or other is cls or context.flow.classes.heirs(cls) != (cls,):
        return False
    return not any(isinstance(n, ast.Name) and n.id in {"super", other.name} for n in ast.walk(own.node))


def _names(cls: ClassFacts, hidden: bool) -> set[str]:
    """Return what the body of a class and its methods name or set; hidden is what its ``setup`` alone sets."""
    outside = [n for one in cls.node.body if not isinstance(one, _FUNCTIONS) for n in ast.walk(one)]
    named = {n.id for n in outside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    inner = {n.name for n in cls.node.body if isinstance(n, (*_FUNCTIONS, ast.ClassDef))}
    setup = cls.methods.get("setup") if hidden else None
    stored = {name for name, stores in cls.stores.items() if any(method is not setup for method, _ in stores)}
    return {*cls.fields, *stored, *cls.methods, *named, *inner}


def _is_dynamic(cls: ClassFacts) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id in _DYNAMIC)
        or (isinstance(n, ast.Attribute) and n.attr in _DYNAMIC)
        or (isinstance(n, ast.FunctionDef) and n.name in _DYNAMIC)
        for n in ast.walk(cls.node)
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    def setup(self):
        layers = [nn.Dense(4), nn.Dense(2)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX597",
    "linen-no-attribute",
    "an attribute that a Linen module has not",
    why="""\
A Linen module has the fields that its class annotates, what `setup` sets on `self`, and its methods. Anything else
raises an AttributeError when the module is initialised: a layer that `setup` makes for a local variable is lost.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("        layers =", "        self.layers ="),),
)
