"""NNX595: modules of Linen that are initialised or applied, and have no ``__call__``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import classes_of, has_linen, is_plain, receiver_modules, wanted
from codemods.nnx.lint.syntax import keyword


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named("init", "apply", "init_with_output", "tabulate"):
        if keyword(event.node, "method") is not None or not event.node.args or not wanted(context, event):
            continue
        classes = classes_of(context, receiver_modules(context, event))
        if classes and all(_lacks(context, cls) for cls in classes):
            cls = classes[0]
            meant = "forward" if "forward" in cls.methods else ""
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{cls.name} has no `__call__`, which Linen runs here",
                f"name its `{meant}` __call__" if meant else "give it one, or say which method: method=...",
            )


def _lacks(context: Context, cls: ClassFacts) -> bool:
    return is_plain(context, cls) and not cls.decorators and context.flow.classes.method(cls, "__call__") is None


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    def setup(self):
        self.out = nn.Dense(4)

    def forward(self, x):
        return self.out(x)


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX595",
    "linen-no-call",
    "a module of Linen without __call__ that is initialised or applied",
    why="""\
`init` and `apply` run `__call__` of a module, or the method that their argument `method` names. A module that has none,
perhaps because it is called `forward` as in other libraries, raises an AttributeError.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("def forward", "def __call__"), _BAD.replace("3)))", "3)), method=Net.forward)")),
)
