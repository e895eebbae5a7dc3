"""NNX592: attributes that a call of a Linen module sets, and constructors that Linen does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_linen
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import last_word


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if not cls.scope.module.source.mentions(b"linen") or not is_linen(context, cls) or in_test(cls.scope):
            continue
        init = cls.methods.get("__init__")
        if (
            init is not None
            and init.node in cls.node.body
            and _is_layer(context, cls)
            and not _refuses(init.node)
            and not any(_names_post_init(node) for node in ast.walk(init.node))
        ):
            yield finding(
                RULE.code,
                init.scope,
                init.node,
                f"{cls.name} has an __init__ of its own, and Linen makes the one of a dataclass: "
                "IncorrectPostInitOverrideError",
                "write its arguments as annotated fields of the class, and the rest into setup",
            )
        call = cls.methods.get("__call__")
        if call is None or call.self_param is None or call.generator:
            continue
        own = call.self_param.name
        for node in context.bodies.nodes(call.scope):
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
                continue
            if not isinstance(node.value, ast.Name) or node.value.id != own or _has_setter(cls.node, node.attr):
                continue
            if context.bodies.paths(call.scope).get(node) or context.bodies.guarded(node, call.scope):
                continue
            yield finding(
                RULE.code,
                call.scope,
                node,
                f"a module of Linen is frozen outside of setup: `{own}.{node.attr}` cannot be set in a call",
                "use a variable of the function, self.variable(...) or self.sow(...)",
            )


def _is_layer(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class has what Linen runs: what only keeps another module, and applies that, raises nothing."""
    return any(
        name in {"__call__", "setup"}
        or any(last_word(one) == "compact" for one in getattr(method.node, "decorator_list", ()))
        for parent in context.flow.classes.mro(cls)[0]
        for name, method in parent.methods.items()
    )


def _refuses(init: ast.AST) -> bool:
    """Say whether a constructor only raises an error: of a class that is there to be inherited from, whose heirs get
    constructors as dataclasses."""
    body = [
        one
        for one in getattr(init, "body", ())
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) and not isinstance(one, ast.Pass)
    ]
    error = body[0].exc if len(body) == 1 and isinstance(body[0], ast.Raise) else None
    return last_word(error.func if isinstance(error, ast.Call) else error) in _REFUSALS if error is not None else False


_REFUSALS = frozenset({"NotImplementedError", "TypeError", "RuntimeError"})


def _names_post_init(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__post_init__"


def _has_setter(cls: ast.ClassDef, name: str) -> bool:
    """Say whether the body of a class gives an attribute another meaning than that of a field."""
    return any(isinstance(one, ast.FunctionDef) and one.name in {name, "__setattr__"} for one in cls.body)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        self.hidden = nn.Dense(4)(x)
        return nn.relu(self.hidden)


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX592",
    "linen-frozen",
    "an attribute that the call of a Linen module sets, or a Linen module with a constructor of its own",
    why="""\
Modules of Linen are dataclasses that are frozen but for `setup`. An assignment to `self` in `__call__` raises a
SetAttributeFrozenModuleError: what a call computes is a variable of the function, and what is to stay goes into
`self.variable` or `self.sow`. A constructor of one's own hides that of the dataclass, and raises an
IncorrectPostInitOverrideError: arguments are annotated fields of the class.
""",
    source="Flax documentation of its errors; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("self.hidden", "hidden"),),
)
