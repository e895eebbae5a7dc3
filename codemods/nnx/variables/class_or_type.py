"""NNX421: leaves of states that are asked for their class in two ways, of which one was never true."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Param, Star
from codemods.nnx.variables.leaves import Leaves

# functions whose filters get the leaves of a state, with the position of their first filter
_FILTERED = {
    "flax.nnx.state": 1, "flax.nnx.split": 1, "flax.nnx.filter_state": 1, "flax.nnx.split_state": 1,
    "flax.nnx.DiffState": 1,
}  # fmt: skip
_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
# functions whose filters get the Variables of a module, and what takes a mapping of filters
_LIVE = frozenset({"flax.nnx.pop", "flax.nnx.variables", "flax.nnx.StateAxes", "flax.nnx.StateSharding"})
_METHODS = frozenset({"filter", "split"})  # of states
_JOINED = frozenset({"flax.nnx.All", "flax.nnx.Any", "flax.nnx.Not"})


def check(context: Context) -> Iterator[Finding]:
    """Yield ``isinstance(leaf, nnx.Param) or leaf.type is nnx.Param``, where it gets leaves of states alone."""
    if not context.options.crosses("0.11"):
        return
    leaves = Leaves(context)
    filters: frozenset[FunctionFacts] | None = None
    for module in context.asked.modules:
        if not module.source.mentions(b".type") or not module.source.mentions(b"isinstance("):
            continue
        events = {event.node: event for event in module.calls}
        for choice in module.source.of_type(ast.BoolOp):
            if not isinstance(choice.op, ast.Or):
                continue
            for place, node in enumerate(choice.values):
                event = events.get(node) if isinstance(node, ast.Call) else None
                if event is None or not _tests_variable(context, event) or not _by_type(choice, event):
                    continue
                filters = filters_of_states(context) if filters is None else filters
                subject = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
                filtered = (
                    isinstance(subject, Param)
                    and subject.function in filters
                    and list(subject.function.params).index(subject.name) == 1
                )
                if filtered or leaves.is_leaf(event.value.args[0], event.scope):
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        "up to Flax 0.10 no leaf of a state passed this test, so that the class itself decided; since "
                        "0.11 derived classes such as nnx.LoRAParam pass it too",
                        "leave the test out: `leaf.type` is the class itself",
                        _fix(context, event, choice, place),
                    )


def _tests_variable(context: Context, event: CallEvent) -> bool:
    """Say whether a call is ``isinstance(leaf, C)`` with one class of Variables."""
    node = event.node
    if not isinstance(node.func, ast.Name) or node.func.id != "isinstance" or len(event.value.args) != 2:
        return False
    if not isinstance(node.args[0], ast.Name) or "VariableState" in event.scope.module.source.text(node.args[1]):
        return False
    return context.kinds.class_kinds(context.flow.here(event.value.args[1], event.scope)) == {Objects.VARIABLE}


def _by_type(choice: ast.BoolOp, event: CallEvent) -> bool:
    """Say whether another part of a choice compares ``leaf.type`` with a class."""
    asked = event.node.args[0]
    assert isinstance(asked, ast.Name)
    return any(
        isinstance(other, ast.Compare)
        and isinstance(other.ops[0], ast.Is | ast.Eq | ast.In)
        and isinstance(other.left, ast.Attribute)
        and other.left.attr == "type"
        and isinstance(other.left.value, ast.Name)
        and other.left.value.id == asked.id
        for other in choice.values
    )


def _fix(context: Context, event: CallEvent, choice: ast.BoolOp, place: int) -> Fix | None:
    """Return the edit that leaves the test out."""
    source = event.scope.module.source
    if "0.10" in context.options.targets or not source.faithful(choice):
        return None
    spans = [source.span(one) for one in choice.values]
    start, end = (spans[place][0], spans[place + 1][0]) if place + 1 < len(spans) else (spans[-2][1], spans[-1][1])
    text = source.data[start:end]
    if b"(" in text.replace(source.data[slice(*spans[place])], b"") or b"#" in text:
        return None  # a part stands in parentheses of its own, or a comment between them
    return Fix(((source.path, Edit(start, end, b"")),))


def filters_of_states(context: Context) -> frozenset[FunctionFacts]:
    """Return the project's functions that are filters of states, and nothing else."""
    found: set[FunctionFacts] = set()
    others: set[FunctionFacts] = set()
    names = {name.rpartition(".")[2] for name in (*_FILTERED, *_OPTIMIZERS, *_LIVE)} | _METHODS
    for event in context.project.calls():
        word = getattr(event.node.func, "attr", getattr(event.node.func, "id", ""))
        if word not in names:
            continue
        bound = context.flow.here(event.value, event.scope)
        name = context.flow.calls.callee_name(bound)
        first = 0 if word in _METHODS and _of_state(context, event) else _FILTERED.get(name)
        if first is not None:
            given = list(event.value.args[first:])
        elif name in _OPTIMIZERS:
            wrt = event.value.argument(2, "wrt")
            given = [wrt] if wrt is not None else []
        else:
            given = [*event.value.args, *(value for _, value in event.value.keywords)]
        into = found if first is not None or name in _OPTIMIZERS else others
        for value in given:
            into.update(_functions(context, context.flow.with_value(bound, value)))
    return frozenset(one for one in found - others if not context.flow.sites.callers(one))


def _of_state(context: Context, event: CallEvent) -> bool:
    """Say whether a method is called of a state."""
    callee = event.value.callee
    return isinstance(callee, Attr) and context.kinds.only(context.flow.here(callee.base, event.scope)) is Objects.STATE


def _functions(context: Context, given: Bound) -> Iterator[FunctionFacts]:
    """Yield the functions that a filter is, or that are joined in it."""
    if isinstance(given.value, Star):
        given = context.flow.with_value(given, given.value.value)
    resolved = context.flow.resolve(given)
    if isinstance(resolved.value, Call) and context.flow.calls.callee_name(resolved) in _JOINED:
        for part in resolved.value.args:
            yield from _functions(context, context.flow.with_value(resolved, part))
        return
    elements = list(context.flow.containers.elements(resolved))
    for one in (resolved, *elements, *context.sources.of(resolved)):
        for callee in context.flow.calls.callables(one):
            if len(callee.function.params) == 2:
                yield callee.function


_BEFORE = """\
from flax import nnx

model = nnx.LoRALinear(2, 2, lora_rank=1, rngs=nnx.Rngs(0))
plain = nnx.state(model, lambda path, leaf: isinstance(leaf, nnx.Param) or leaf.type is nnx.Param)
print(sorted(plain))
"""

_AFTER = """\
from flax import nnx

model = nnx.LoRALinear(2, 2, lora_rank=1, rngs=nnx.Rngs(0))
plain = nnx.state(model, lambda path, leaf: leaf.type is nnx.Param)
print(sorted(plain))
"""

RULE = Rule(
    code="NNX421",
    name="leaf-class-or-type",
    summary="a filter that takes a leaf by isinstance or by its `.type`",
    why="""\
Up to Flax 0.10 filters of `nnx.state`, `nnx.split` and the like got `VariableState` objects, for which
`isinstance(leaf, nnx.Param)` was false, so that in `isinstance(leaf, nnx.Param) or leaf.type is nnx.Param` the second
part decided: the class itself, and none that derives from it. Since 0.11 the leaves are Variables, and Variables of
derived classes such as `nnx.LoRAParam` pass the first part. Filters of `nnx.pop` and `nnx.variables` always got
Variables.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(_BEFORE, _AFTER, targets=("0.11", "0.12")),
        Example(
            _BEFORE.replace("nnx.state", "nnx.variables").replace("leaf.type is nnx.Param", 'path[-1] == "kernel"'),
            _BEFORE.replace("nnx.state", "nnx.variables").replace("leaf.type is nnx.Param", 'path[-1] == "kernel"'),
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
