"""NNX412: ``Variable`` and ``VariableState`` told apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.nodes import last_word
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.state.lines import line
from codemods.nnx.values import Attr, Const, Ref
from codemods.nnx.variables.leaves import Leaves
from codemods.nnx.variables.mixed import mixed
from codemods.nnx.variables.references import VARIABLE_STATE, Test, speaks, tests, type_compared


def told_apart(context: Context, module: ModuleFacts) -> Iterator[tuple[Test, Test]]:
    """Yield pairs of tests of one object, one for ``VariableState`` and one for a Variable class, in their order."""
    if not speaks(context, module):
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


def live_tests(context: Context, module: ModuleFacts) -> Iterator[Test]:
    """Yield the tests for ``VariableState`` of what is a Variable of a module: false up to 0.10, and true since."""
    if not speaks(context, module):
        return
    leaves = Leaves(context)
    for test in tests(context, module):
        if test.classes != (VARIABLE_STATE,):
            continue
        compared = type_compared(test.node)
        subject = (
            test.node.args[0] if isinstance(test.node, ast.Call) else compared[0] if compared is not None else None
        )
        value = module.values.get(subject) if subject is not None else None
        if value is None:
            continue
        if _is_live(context, leaves, context.flow.here(value, test.scope)):
            yield test


def _is_live(context: Context, leaves: Leaves, bound: Bound) -> bool:
    """Say whether a value is surely a Variable of a module, or one by itself, and no leaf of a state."""
    if context.kinds.only(bound) is not Objects.VARIABLE or leaves.leaf(bound):
        return False
    made = [context.flow.calls.callee_name(one) for one in context.sources.originals(bound)]
    return not any(name == VARIABLE_STATE or name.endswith(".state") for name in made)


def _asked_for_type(context: Context, module: ModuleFacts) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield ``hasattr(variable, "type")`` and ``getattr(variable, "type", ...)`` of what is a Variable of a module."""
    if not module.source.mentions(b"type"):
        return
    leaves = Leaves(context)
    for event in module.calls:
        args = event.value.args
        if last_word(event.node.func) not in {"getattr", "hasattr"} or len(args) < 2 or args[1] != Const("type"):
            continue
        if _is_live(context, leaves, context.flow.here(args[0], event.scope)):
            yield event.scope, event.node


def _denied(context: Context, module: ModuleFacts) -> Iterator[ast.expr]:
    """Yield assertions that a leaf of a state is of no Variable class: ``assert not isinstance(leaf, nnx.Param)``."""
    leaves = Leaves(context)
    found: list[list[ast.expr]] = []
    for statement in module.source.of_type(ast.Assert):
        test = statement.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            found.append(_asked(test.operand))
    for call in module.source.of_type(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "assertNotIsInstance":
            found.append(call.args[:2])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "assertFalse" and call.args:
            found.append(_asked(call.args[0]))
    for given in found:
        if len(given) != 2 or not {*given} <= module.values.keys():
            continue
        scope = scope_of(module, given[0])
        leaf, cls = (context.flow.here(module.values[one], scope) for one in given)
        if "VariableState" in module.source.text(given[1]):
            continue
        asked = context.flow.resolve(cls).value
        named = context.flow.resolve(leaf).value
        index = named.index.value if isinstance(named, Indexed) else getattr(named, "index", None)
        last = named.name if isinstance(named, Attr) else getattr(index, "value", None)
        if asked == Ref("flax.nnx.Variable") or (asked == Ref("flax.nnx.Param") and last in _PARAMETERS):
            if leaves.leaf(leaf):
                yield given[0]


_PARAMETERS = frozenset({"kernel", "bias", "scale", "embedding"})  # that layers keep as nnx.Param


def _asked(node: ast.expr) -> list[ast.expr]:
    """Return the arguments of a call of ``isinstance``; none of another expression."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    return node.args if called and isinstance(node, ast.Call) else []


def _variable(name: str) -> bool:
    return name != VARIABLE_STATE and class_kind(name) is Objects.VARIABLE


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for the second of two such tests, and for tests that can only be meant for 0.10."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        live = {test.node: test for test in live_tests(context, module)}
        pairs = [pair for pair in told_apart(context, module) if not any(test.node in live for test in pair)]
        paired = {test.node for pair in pairs for test in pair}
        for test in live.values():
            yield finding(
                "NNX412",
                test.scope,
                test.node,
                "up to Flax 0.10 a Variable of a module was no VariableState; since 0.11 they are one class",
                "the test tells nothing any more: leave it out",
            )
        for node in _denied(context, module):
            yield finding(
                "NNX412",
                scope_of(module, node),
                node,
                "since Flax 0.11 the leaves of states and gradients are Variables, of the class of the parameter",
                "leave the assertion out, or assert the contrary",
            )
        for scope, call in _asked_for_type(context, module):
            yield finding(
                "NNX412",
                scope,
                call,
                "up to Flax 0.10 only leaves of states had a `type`; since 0.11 every Variable has one",
                "decide by where the value was taken from, and write type(variable) for its class",
            )
        for one in mixed(context, module):
            if one.test.node not in paired and one.test.node not in live:
                leaf, other = (line(context, node, module) for node in (one.leaf, one.live))
                yield finding(
                    "NNX412",
                    one.test.scope,
                    one.test.node,
                    f"up to Flax 0.10 this told the leaf of a state, as {leaf} hands it, from the Variable that "
                    f"{other} hands; since 0.11 both are Variables",
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
meant. One test alone tells them apart, too, in a function that gets both; the rule names a caller of each kind. And a
module's own Variable passes a test for `VariableState` now, as a leaf of a state does for `nnx.Param`, and it has the
attribute `type`, which only leaves had.
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
