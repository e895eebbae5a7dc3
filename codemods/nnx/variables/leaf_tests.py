"""NNX419: tests for Variable classes that the leaves of states did not pass, and pass since 0.11."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Param
from codemods.nnx.variables.class_or_type import filters_of_states
from codemods.nnx.variables.leaves import Leaves


def check(context: Context) -> Iterator[Finding]:
    """Yield ``isinstance(leaf, nnx.Param)`` and the like of leaves, also in functions that serve as filters."""
    if not context.options.crosses("0.11"):
        return
    leaves = Leaves(context)
    filters = filters_of_states(context)
    for module in context.asked.modules:
        for event in module.calls:
            if not _tests_variable(context, module, event):
                continue
            subject = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            filtered = (
                isinstance(subject, Param)
                and subject.function in filters
                and list(subject.function.params).index(subject.name) == 1
            )
            if filtered or leaves.is_leaf(event.value.args[0], event.scope):
                yield finding(
                    "NNX419",
                    event.scope,
                    event.node,
                    "the leaves of a state pass this test since Flax 0.11; up to 0.10 none did",
                    "decide by where the value was taken from, or test `leaf.type` for the class under 0.10",
                )


def _tests_variable(context: Context, module: ModuleFacts, event: CallEvent) -> bool:
    """Say whether a call is ``isinstance(x, C)`` with Variable classes and without ``VariableState``."""
    node = event.node
    if len(node.args) != 2 or not (isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return False
    classes = context.flow.resolve(context.flow.here(event.value.args[1], event.scope))
    members = list(context.flow.containers.elements(classes)) or [classes]
    text = module.source.text(node.args[1])
    return "VariableState" not in text and all(context.kinds.class_kinds(m) == {Objects.VARIABLE} for m in members)


RULE = Rule(
    code="NNX419",
    name="leaf-class",
    summary="a leaf of a state is tested for a Variable class",
    why="""\
Up to Flax 0.10 the leaves of states and gradients were `VariableState` objects: `isinstance(leaf, nnx.Param)` was
false for each of them, in filters such as `lambda path, leaf: ...` too. Since 0.11 they are Variables, and code that
told a module's Variables from leaves in this way takes the other branch without an error. Code that was written for
0.11 looks the same, so that the rule runs only if it is selected.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(len(nnx.to_flat_state(nnx.state(model, lambda path, leaf: isinstance(leaf, nnx.Variable)))))
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
gradients = nnx.grad(lambda m: m.bias.value.sum())(model)
print(isinstance(gradients["bias"], nnx.Param))
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(isinstance(model.bias, nnx.Param), isinstance(nnx.variables(model)["bias"], nnx.Param))
""",
            after="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(isinstance(model.bias, nnx.Param), isinstance(nnx.variables(model)["bias"], nnx.Param))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    default=False,
)
