"""NNX711: the result of a method or function of NNX that changes its object and gives nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.places import compiled_roots, foreign, in_test, receiver, shown
from codemods.nnx.lint.without_return import without_return, words
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call

_METHODS = {
    "train": {Kind.MODULE}, "eval": {Kind.MODULE}, "set_attributes": {Kind.MODULE}, "reset": {Kind.METRIC},
    "update": {Kind.METRIC, Kind.OPTIMIZER},
}  # fmt: skip
_FUNCTIONS = frozenset({"flax.nnx.update", "flax.nnx.reseed"})


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_METHODS):
        callee = event.value.callee
        if event.scope.module not in context.asked or not event.used or not isinstance(callee, Attr):
            continue
        if not isinstance(event.node.func, ast.Attribute) or not _wanted(context, event):
            continue
        if _gives_nothing(context, context.flow.here(callee.base, event.scope), callee.name):
            text = ast.unparse(receiver(event))
            shown = text if len(text) < 30 else "the object"
            yield _found(event, f"`{callee.name}()` changes `{shown}` itself and gives None", "call it on a line alone")
    for event, name in foreign(context, "update", "reseed"):
        if name in _FUNCTIONS and event.used and event.value.args and _wanted(context, event):
            first = ast.unparse(event.node.args[0]) if event.node.args else "the object"
            word = name.removeprefix("flax.")
            yield _found(event, f"`{word}` changes `{first}` itself and gives None", f"go on with `{first}`")
    silent = list(without_return(context))
    for one in silent:
        yield finding(RULE.code, one.function.scope, one.node, *words(one))
    yield from _silent(context, {one.function for one in silent})


def _silent(context: Context, told: set[FunctionFacts]) -> Iterator[Finding]:
    """Yield the calls of functions without a return, but those told of, of whose result something is wanted."""
    compiled = {root.function for root in context.traced.roots}
    used = {last_word(event.node.func) for event in context.project.calls() if event.used}
    for function in context.project.functions():
        if function.name not in used or function in compiled or function in told:
            continue
        if not gives_nothing(function) or left_to_heirs(function):
            continue
        if function.decorators or function.owner is not None or in_test(function.scope):
            continue  # a method may be another one's
        calls = [event for event in context.flow.sites.callers(function) if event.used]
        yield from _taken_for_something(context, function, calls, "returns nothing")
    for root in compiled_roots(context):
        if root.function in told or not gives_nothing(root.function) or in_test(root.scope):
            continue
        calls = context.traced.calls_of(root)
        yield from _taken_for_something(context, root.function, calls, "is compiled and returns nothing")


def _taken_for_something(
    context: Context, function: FunctionFacts, calls: Iterable[CallEvent], words: str
) -> Iterator[Finding]:
    """Yield the calls that certainly run a function, and whose result is used as None cannot be."""
    for event in calls:
        if event.scope.module not in context.asked or not _parted(context, event):
            continue
        invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        if {callee.function for callee, _ in invoked} == {function}:
            yield _found(event, f"{shown(function)} {words}, so that this is None", "return what is wanted of it")


def _parted(context: Context, event: CallEvent) -> bool:
    """Say whether a result is taken apart, or used as None cannot be: an item of it is read, or it is computed with."""
    if context.bodies.guarded(event.node, event.scope):
        return False
    statement, values = event.statement, event.scope.module.values
    if isinstance(statement, ast.Assign) and statement.value is event.node:
        if any(isinstance(target, ast.Tuple | ast.List) for target in statement.targets):
            return True
    return any(
        (one is event.node or values.get(one) is event.value) and not _optional(context, node, event)
        for node in context.bodies.nodes(event.scope)
        for one in _needed(node)
    )


def _needed(node: ast.AST) -> list[ast.expr]:
    """Return the expressions in a node, right under it, that must not be None."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [] if isinstance(node.op, ast.Mod) else [node.left, node.right]
    if isinstance(node, ast.Compare) and all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        return [node.left, *node.comparators]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"float", "int", "len", "abs"}
    ):
        return node.args[:1]
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        return [node.value]
    return []


def _optional(context: Context, node: ast.AST, event: CallEvent) -> bool:
    """Say whether a place is reached under a condition, which may ask whether there is a result."""
    paths = context.bodies.paths(event.scope)
    return len(paths.get(node, ())) > len(paths.get(event.statement, ())) or bool(
        context.bodies.behind(node, event.scope)
    )


def _found(event: CallEvent, message: str, help: str) -> Finding:
    return finding(RULE.code, event.scope, event.node, message, help)


def _wanted(context: Context, event: CallEvent) -> bool:
    """Say whether a result is used as if it were something: bound to a name that is read, called, or handed on."""
    if isinstance(event.scope.node, ast.Lambda) or context.bodies.guarded(event.node, event.scope):
        return False
    statement = event.statement
    if isinstance(statement, ast.Return) and statement.value is event.node:
        return _read(context, event)
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is event.node:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if len(targets) != 1:
            return False
        target = targets[0]
        if isinstance(target, ast.Attribute):
            return True
        return isinstance(target, ast.Name) and any(
            isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load) and n.lineno >= target.lineno
            for n in ast.walk(event.scope.node)
        )
    return any(
        (isinstance(node, ast.With) and any(item.context_expr is event.node for item in node.items))
        or (isinstance(node, ast.Call) and (node.func is event.node or event.node in node.args))
        or (isinstance(node, ast.Attribute) and node.value is event.node)
        for node in context.bodies.nodes(event.scope)
        if node is not event.node
    )


def _read(context: Context, event: CallEvent) -> bool:
    """Say whether a caller of a function takes what it returns."""
    function = event.scope.function
    return function is not None and any(call.used for call in context.flow.sites.callers(function))


def _gives_nothing(context: Context, base: Bound, method: str) -> bool:
    """Say whether a method is certainly that of NNX, in every object that it may be called on."""
    flow = context.flow
    # what the method itself gave, and is assigned in place of the object, says nothing
    sources = [source for source in context.sources.of(base) if not _result(source, method)]
    if not sources:
        return False
    for source in sources:
        cls = flow.classes.class_of(source)
        if cls is None:
            name = flow.calls.callee_name(source)
            if not name.startswith("flax.nnx.") or context.kinds.only(source) not in _METHODS[method]:
                return False
            continue
        parents, names = flow.classes.mro(cls)
        if not names or not all(name.startswith("flax.nnx.") or name in _PLAIN for name in names):
            return False
        if context.kinds.only(source) not in _METHODS[method]:
            return False
        if any(method in parent.methods or method in parent.scope.env for parent in parents):
            return False
    return True


def _result(source: Bound, method: str) -> bool:
    callee = source.value.callee if isinstance(source.value, Call) else None
    return isinstance(callee, Attr) and callee.name == method


_PLAIN = frozenset({"typing.Generic", "abc.ABC", "builtins.object", "typing.Protocol"})

RULE = lint_rule(
    "NNX711",
    "nothing-given",
    "the result of model.eval(), nnx.update() and the like, or of a function whose return is missing, which is None",
    why="""\
`model.eval()` and `model.train()` switch the model itself, and unlike in PyTorch give None; so do `nnx.update(model,
state)`, `nnx.reseed(model)` and `metrics.reset()`. What is done with the result raises, often far from there. So it
does where the `return` of a loss or of a step is forgotten.
""",
    source="measured on Flax 0.10.7 and 0.12.8: None",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0)).eval()
print(model(jnp.ones((1, 4))))
""",
        """\
import jax.numpy as jnp
from flax import nnx


def restored(state):
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    model = nnx.update(model, state)
    return model(jnp.ones((1, 4)))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def eval(self):
        super().eval()
        return self


model = Net(nnx.Rngs(0)).eval()
print(model.out(jnp.ones((1, 4))))
""",
    ),
)
