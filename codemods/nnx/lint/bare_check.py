"""NNX585: checks of checkify in traced code that no checkify carries out."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import error_wanted, foreign, in_test, only_tried, traced_bodies
from codemods.nnx.patterns import pattern

# checkify around a function: a call of it, a decorator, an argument of partial
_APPLIED = pattern(rb"checkify\(|checkify,|@[\w.]*checkify\b", needs=(b"checkify",))


def _check(context: Context) -> Iterator[Finding]:
    checks = [event for event, name in foreign(context, "check") if name == "jax.experimental.checkify.check"]
    if not checks or any(module.source.matches(_APPLIED) for module in context.project.modules):
        return
    traced = dict(traced_bodies(context))
    for event in checks:
        function = event.scope.function
        if function not in traced or in_test(event.scope) or only_tried(context, traced[function]):
            continue
        if context.bodies.behind(event.node, event.scope) or context.bodies.paths(event.scope).get(event.node):
            continue  # perhaps it is left out there
        if not error_wanted(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "compiled code cannot raise an error: without checkify.checkify around the function JAX refuses this",
                "error, result = jax.jit(checkify.checkify(function))(...); error.throw()",
            )


_BAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import checkify


@jax.jit
def logarithm(x):
    checkify.check(jnp.all(x > 0), "only positive numbers have a logarithm")
    return jnp.log(x)


print(logarithm(jnp.ones(3)))
"""

RULE = lint_rule(
    "NNX585",
    "bare-check",
    "a check of checkify in compiled code, and no checkify around it",
    why="""\
`checkify.check` raises an error at once where Python runs it. Compiled code has no way to raise one: there the check is
a part of the program, and `checkify.checkify` makes a function of it that returns the error beside the result. Without
it JAX says `Cannot abstractly evaluate a checkify.check which was not functionalized`.
""",
    source="JAX documentation of checkify; measured on JAX 0.7.2 and 0.10.2: jit and scan refuse, grad does not",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("@jax.jit\n", "").replace(
            "print(logarithm(jnp.ones(3)))",
            "error, y = jax.jit(checkify.checkify(logarithm))(jnp.ones(3))\nerror.throw()\nprint(y)",
        ),
    ),
)
