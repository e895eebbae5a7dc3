"""NNX656: a schedule that decays exponentially, with its steps and its rate in each other's place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant

# the places of the steps and of the rate
_PLACES = {"exponential_decay": ((1, "transition_steps"), (2, "decay_rate"))}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_PLACES):
        if not name.startswith("optax.") or event.value.starred or in_test(event.scope):
            continue
        steps, rate = (argument(event.node, *place) for place in _PLACES["exponential_decay"])
        number = _number(context, steps, event.scope)
        factor = _number(context, rate, event.scope)
        if number is None or not 0 < number < 1:
            continue
        if factor is None or factor > 1:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`transition_steps` is {number:g}, which is a rate: the steps come second and the rate third",
                "give them by name: transition_steps=1000, decay_rate=0.96",
            )


def _number(context: Context, node: ast.expr | None, scope: Scope) -> float | None:
    number = constant(node)
    if number is None and node is not None:
        number = the_number(context, scope.module.values.get(node), scope)
    return float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


_BAD = """\
import optax

schedule = optax.exponential_decay(1e-3, 0.96, 1000)
tx = optax.adam(schedule)
"""

RULE = lint_rule(
    "NNX656",
    "decay-arguments",
    "the steps and the rate of an exponential decay in each other's place",
    why="""\
`optax.exponential_decay(init_value, transition_steps, decay_rate)` multiplies by the rate once in so many steps. With
both exchanged the rate is multiplied by 1000 within one step, and grows beyond all bounds.
""",
    source="optax.exponential_decay; measured: a rate of infinity after 40 steps",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("0.96, 1000", "1000, 0.96"),),
)
