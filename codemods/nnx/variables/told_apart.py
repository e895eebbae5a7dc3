"""NNX412: ``Variable`` and ``VariableState`` told apart."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.state.lines import line
from codemods.nnx.variables.mixed import mixed
from codemods.nnx.variables.references import VARIABLE_STATE, Test, tests


def told_apart(context: Context, module: ModuleFacts) -> Iterator[tuple[Test, Test]]:
    """Yield pairs of tests of one object, one for ``VariableState`` and one for a Variable class, in their order."""
    if b"VariableState" not in module.source.data:
        return
    groups: dict[tuple[Scope, str], list[Test]] = {}
    for test in tests(context, module):
        groups.setdefault((test.scope, test.subject), []).append(test)
    for group in groups.values():
        states = [test for test in group if VARIABLE_STATE in test.classes]
        variables = [test for test in group if test not in states and any(_variable(name) for name in test.classes)]
        for state in states:
            if len(state.classes) == 1 and variables:
                first, second = sorted((state, variables[0]), key=lambda t: (t.node.lineno, t.node.col_offset))
                yield first, second


def _variable(name: str) -> bool:
    return name != VARIABLE_STATE and class_kind(name) is Objects.VARIABLE


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for the second of two such tests."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        pairs = list(told_apart(context, module))
        paired = {test.node for pair in pairs for test in pair}
        for one in mixed(context, module):
            if one.test.node not in paired:
                leaf, live = (line(context, node, module) for node in (one.leaf, one.live))
                yield finding(
                    "NNX412",
                    one.test.scope,
                    one.test.node,
                    f"up to Flax 0.10 this told the leaf of a state, as {leaf} hands it, from the Variable that {live} "
                    "hands; since 0.11 both are Variables",
                    "decide by where the value was taken from: let the callers say which it is",
                )
        for _, second in pairs:
            yield finding(
                "NNX412",
                second.scope,
                second.node,
                "since Flax 0.11 the leaves of states are Variables: this test cannot tell them from a module's own",
                "decide by where the value was taken from, and test for nnx.Variable once",
            )


RULE = Rule(
    code="NNX412",
    name="variable-kinds",
    summary="Variable and VariableState told apart by isinstance",
    why="""\
Up to Flax 0.10 a module held `Variable` objects and a state held `VariableState` objects, and code could tell the two
apart. Since 0.11 they are one class: the first branch takes both, the second is dead. Only the author knows which was
meant. One test alone tells them apart, too, in a function that gets both; the rule names a caller of each kind.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on 0.10.7 and 0.11.2",
    examples=(
        Example(
            before="""\
from flax import nnx


def kind(leaf):
    if isinstance(leaf, nnx.Variable):
        return "live"
    if isinstance(leaf, nnx.VariableState):
        return "snapshot"
    return "array"
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


def kind(leaf):
    return "live" if isinstance(leaf, nnx.Variable) else "snapshot"


print(kind(model.kernel), kind(nnx.state(model)["kernel"]))
""",
            run=False,
        ),
    ),
    check=check,
)
