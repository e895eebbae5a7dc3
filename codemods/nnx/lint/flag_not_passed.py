"""NNX665: a flag of training that a method takes, and does not pass on to a part of the model that asks for it too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow.calls import Callee
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.inverted_mode import EVALUATION, TRAINING
from codemods.nnx.lint.places import in_test, passed
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Value

_FLAGS = TRAINING | EVALUATION
# parts of such names are left in one mode on purpose
_FROZEN = pattern(r"(?i)frozen|freeze|teacher|target|pretrain|backbone|ema|momentum|reference|prior|init|aux|eval|test")

_OF_FLAGS = pattern(r"(?i)bool|\bany\b|\bint\b|array|scalar|literal")  # what a flag is annotated as
_OTHER_SETS = frozenset({"val", "valid", "validation", "test", "dev", "x_val", "X_val"})
_OVER_DATA = frozenset({"len", "iter", "next", "zip", "enumerate", "list", "tqdm", "sorted", "reversed"})


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        for function in module.functions if any(module.source.mentions(one.encode()) for one in _FLAGS) else ():
            flags = _FLAGS & set(function.params)
            if len(flags) == 1 and function.owner is not None and not in_test(function.scope):
                flag = next(iter(flags))
                if not _of_data(context, function, flag):
                    yield from _of_method(context, function, flag)


def _of_data(context: Context, function: FunctionFacts, flag: str) -> bool:
    """Say whether a parameter of such a name is a data set: by its annotation or default, by what is done with it, or
    by the other data sets beside it."""
    note, default = function.annotations.get(flag), function.defaults.get(flag)
    if note is not None and not _OF_FLAGS.search(ast.unparse(note)):
        return True
    if isinstance(default, Const) and default.value is not None and type(default.value) not in {bool, int}:
        return True
    if _OTHER_SETS & set(function.params) and flag in {"train", "training"} and not isinstance(default, Const):
        return True
    for node in context.bodies.nodes(function.scope):
        taken: list[ast.expr] = []
        if isinstance(node, ast.Attribute | ast.Subscript):
            taken = [node.value]
        elif isinstance(node, ast.For | ast.comprehension):
            taken = [node.iter]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OVER_DATA:
            taken = node.args
        if any(isinstance(one, ast.Name) and one.id == flag for one in taken):
            return True
    return False


def _of_method(context: Context, function: FunctionFacts, flag: str) -> Iterator[Finding]:
    """Yield the calls in a method that leave its flag out, while it gives it to others."""
    calls = context.bodies.calls.get(function.scope, ())
    given = [event for event in calls if _reads(event, flag)]
    if not given or function.scope.bindings.get(flag, ())[1:]:
        return
    for event in calls:
        if event in given or event.value.starred or any(name is None for name, _ in event.value.keywords):
            continue
        lacking = _lacking(context, function, event, TRAINING if flag in TRAINING else frozenset({flag}))
        if lacking is None or _left_alone(context, event, flag):
            continue
        other, default = lacking
        on = default is (other in TRAINING)
        if not on and _FROZEN.search(ast.unparse(event.node)):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{flag}` is not passed on: `{ast.unparse(event.node.func)}` is always called with {other}={default}, as "
            f"in {'training' if on else 'evaluation'}",
            f"pass it on: {other}={flag}",
        )


def _reads(event: CallEvent, flag: str) -> bool:
    """Say whether a call itself is given a flag, and not only a call among its arguments."""
    given: list[ast.AST] = [*event.node.args, *(word.value for word in event.node.keywords)]
    while given:
        one = given.pop()
        if isinstance(one, ast.Name) and one.id == flag:
            return True
        given += [] if isinstance(one, ast.Call) else ast.iter_child_nodes(one)
    return False


def _lacking(
    context: Context, function: FunctionFacts, event: CallEvent, alike: frozenset[str]
) -> tuple[str, bool] | None:
    """Return the flag with its default that a method of another object asks for in a call that does not give it.

    Args:
        context: the analysis.
        function: the method that makes the call.
        event: the call.
        alike: the names of flags that mean the same; ``deterministic`` may speak of actions as well.
    """
    found: set[tuple[str, bool]] = set()
    if not isinstance(event.node.func, ast.Name | ast.Attribute | ast.Subscript):
        return None
    for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        called = callee.function
        flags = _FLAGS & set(called.params)
        if (
            called is function
            or called.owner is None
            or len(flags) != 1
            or not flags <= alike
            or callee.args
            or callee.keywords
        ):
            return None
        name = next(iter(flags))
        default = called.defaults.get(name)
        if not isinstance(default, Const) or type(default.value) is not bool:
            return None
        if passed(event, called.params[name]) is not None or not _used(called, name) or _idle(context, callee, name):
            return None
        found.add((name, default.value))
    return found.pop() if len(found) == 1 else None


def _used(function: FunctionFacts, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(function.node)
    )


def _idle(context: Context, callee: Callee, name: str) -> bool:
    """Say whether an object is made so that its method comes to no use of the flag: ``if self.rate is not None``, with
    a rate that is a field without a value."""
    made = callee.receiver.value if callee.receiver is not None else None
    owner, method = callee.function.owner, callee.function
    if not isinstance(made, Call) or made.starred or owner is None or callee.receiver is None:
        return False
    if context.flow.classes.class_of(callee.receiver) is not owner:
        return False  # another class may have other fields
    given = {*list(owner.fields)[: len(made.args)], *(word for word, _ in made.keywords)}
    unset = {
        word for word in owner.fields if word not in given and any(map(_nothing, owner.scope.bindings.get(word, ())))
    }
    paths = context.bodies.paths(method.scope)
    return bool(unset) and all(
        any(isinstance(block, ast.If) and arm == "body" and _set(block.test) in unset for block, arm in paths[node])
        for node in context.bodies.nodes(method.scope)
        if isinstance(node, ast.Name) and node.id == name
    )


def _nothing(value: Value) -> bool:
    """Say whether a value is one for which neither ``is not None`` nor ``> 0`` holds."""
    return isinstance(value, Const) and not value.value and not isinstance(value.value, str)


def _set(test: ast.expr) -> str:
    """Return the field that a condition says is set: ``self.rate``, ``self.rate is not None`` or ``self.rate > 0``."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.IsNot | ast.Gt):
            part = part.left if _of_nothing(part.comparators[0]) else part
        if isinstance(part, ast.Attribute) and last_word(part.value) == "self":
            return part.attr
    return ""


def _of_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _left_alone(context: Context, event: CallEvent, flag: str) -> bool:
    """Say whether a call depends on the flag already, or its result gets no gradient."""
    for block, _ in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(block, ast.If | ast.IfExp) and flag in names_in(block.test):
            return True
    if any(flag in names_in(guard.test) for guard in context.bodies.behind(event.node, event.scope)):
        return True
    return any(
        isinstance(n, ast.Call) and last_word(n.func) == "stop_gradient" and event.node in n.args
        for n in ast.walk(event.statement)
    )


_BAD = """\
from flax import nnx


class FeedForward(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x, train=True):
        return self.drop(self.fc(x), deterministic=not train)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.ff = FeedForward(rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x, train=True):
        return x + self.drop(self.ff(x), deterministic=not train)
"""

RULE = lint_rule(
    "NNX665",
    "flag-not-passed-on",
    "a flag of training that a method gives to some parts of the model and not to others",
    why="""\
Where the mode is an argument, each module has to pass it on. A part that is called without it takes its default: with
`train=True` its dropout goes on in evaluation, and its batch norm learns from the test data; with `train=False` its
dropout never works.
""",
    source="tutorials on the flag of training in NNX; measured: two evaluations of one input differ",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("self.ff(x)", "self.ff(x, train=train)"),),
)
