"""NNX857: the two results of value_and_grad the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.lint.tangents_first import tangents_first
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const

_VALUED = frozenset({"flax.nnx.value_and_grad", "jax.value_and_grad"})
_GRADIENTS = pattern(r"(^|_)(d?grads?|g|gradients?|gs)(_|$|\d)")
_VALUES = pattern(r"(^|_)(loss(es)?|values?|val|costs?|objective|energy|nll|elbo)(_|$)")
_UPDATING = pattern(r"(^|_)(opt\w*|tx|adam\w*|sgd)(_|$)")
# functions whose argument at a position is a gradient
_TAKING = {"update": (0, 1), "apply_gradients": (0,), "global_norm": (0,), "clip_by_global_norm": (0,)}


def _check(context: Context) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        assert isinstance(target, ast.Tuple)
        if len(target.elts) != 2 or not isinstance(target.elts[1], _TARGETS):
            continue
        first, second = map(named, target.elts)
        made = context.flow.here(event.value, event.scope)
        if _VALUES.search(first) and _GRADIENTS.search(second) and _alone(context, made):
            if not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    target,
                    f"grad gives the gradients alone, and no value for `{first}`",
                    "make the function with value_and_grad",
                )
            continue
        if _GRADIENTS.search(second) and first and not _GRADIENTS.search(first) and _with_aux(context, made):
            yield finding(
                RULE.code,
                event.scope,
                target,
                f"grad with has_aux gives the gradients first: `{second}` is what the loss gives beside its value",
                f"unpack it as `{second}, {first} = ...`",
            )
            continue
        if not _GRADIENTS.search(first) or _GRADIENTS.search(second) or not _valued(context, made):
            continue
        seen.add(event.node)
        yield _found(event, target)
    for event, taken, what in tangents_first(context):
        yield finding(
            RULE.code,
            event.scope,
            taken,
            f"jvp gives the value first, here {what}, and the tangent second",
            "take the second one: _, tangent = jax.jvp(...)",
        )
    if not any(context.bodies.named("value_and_grad")):
        return
    for event in context.bodies.named("float"):
        given = _made(context, event, 0) if len(event.value.args) == 1 else None
        if given is not None and isinstance(given.value, Call) and given.value.node not in seen:
            if _pair(context, event, given):
                seen.add(given.value.node)
                yield _whole(event, event.node.args[0], given.value)
    for event in context.bodies.named(*_TAKING):
        func = event.node.func
        word = func.attr if isinstance(func, ast.Attribute) else ""
        for position in _TAKING.get(word, ()):
            given = _made(context, event, position)
            value = given.value if given is not None else None
            if given is None or event.scope.module not in context.asked:
                continue
            if isinstance(value, Call) and value.node not in seen and _pair(context, event, given):
                seen.add(value.node)
                yield _whole(event, event.node.args[position], value)
            if not isinstance(value, Indexed) or not isinstance(value.base, Call) or value.index.value != Const(0):
                continue
            whole = context.flow.with_value(given, value.base)
            if value.base.node not in seen and _valued(context, whole) and not _keeps_values(context, event):
                seen.add(value.base.node)
                yield _found(event, event.node.args[position])


_TARGETS = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple)


def _made(context: Context, event: CallEvent, position: int) -> Bound | None:
    """Return what made an argument: a call, or a part of what it gave."""
    if position >= len(event.value.args) or event.value.starred:
        return None
    return context.flow.resolve(context.flow.here(event.value.args[position], event.scope))


def _pair(context: Context, event: CallEvent, made: Bound) -> bool:
    """Say whether a foreign function or method gets what ``value_and_grad`` gives, value and gradients, as one."""
    if event.scope.module not in context.asked:
        return False
    if context.flow.calls.callables(context.flow.here(event.value.callee, event.scope)):
        return False  # a function of the project, which may take both
    assert isinstance(made.value, Call)
    name = context.flow.calls.callee_name(context.flow.follow(made, made.value.callee))
    return name in _VALUED and not _keeps_values(context, event)


def _whole(event: CallEvent, node: ast.AST, value: Call) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        node,
        "value_and_grad gives a pair, the value and the gradients: here the pair is taken for one of them",
        "unpack it: loss, grads = ...",
        related=[(value.node, "made here")],
    )


def _keeps_values(context: Context, event: CallEvent) -> bool:
    """Say whether what is updated may take the value: a metric, an object of the project, or a meter or bar of another
    library, of which nothing says that it is an optimizer."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return False
    kinds = kinds_of(context, callee.base, event.scope)
    if Kind.METRIC in kinds:
        return True
    if callee.name != "update" or kinds & {Kind.OPTIMIZER, Kind.TRANSFORM}:
        return False
    if context.flow.calls.callables(context.flow.here(callee, event.scope)):
        return True
    func = event.node.func
    return not (isinstance(func, ast.Attribute) and _UPDATING.search(last_word(func.value).lower()))


def _found(event: CallEvent, node: ast.AST) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        node,
        "value_and_grad gives the value first: this takes the value for the gradients",
        "unpack it as `loss, grads = ...`, or `(loss, aux), grads = ...` with has_aux",
    )


def _valued(context: Context, made: Bound) -> bool:
    """Say whether a call gives the value and the gradients of a function, which is no gradient itself."""
    assert isinstance(made.value, Call)
    found = [*layers(context, context.flow.with_value(made, made.value.callee))]
    valued = [layer for layer in found if _name(context, layer) in _VALUED]
    return bool(valued) and not _derived(context, found[found.index(valued[0]) + 1 :], valued[0])


def _alone(context: Context, made: Bound) -> bool:
    """Say whether a call gives nothing but gradients: of ``grad`` without has_aux, with respect to one argument."""
    assert isinstance(made.value, Call)
    for layer in layers(context, context.flow.with_value(made, made.value.callee)):
        value, name = layer.value, _name(context, layer)
        if name in {"flax.nnx.grad", "jax.grad"} and isinstance(value, Call):
            return not value.starred and len(value.args) == 1 and not value.keywords
        if last(name) not in {"jit", "remat", "checkpoint"}:
            return False
    return False


def _with_aux(context: Context, made: Bound) -> bool:
    """Say whether a call gives gradients and, second, what the function gives beside its value."""
    assert isinstance(made.value, Call)
    for layer in layers(context, context.flow.with_value(made, made.value.callee)):
        value, name = layer.value, _name(context, layer)
        if name in {"flax.nnx.grad", "jax.grad"} and isinstance(value, Call):
            return value.keyword("has_aux") == Const(True)
        if last(name) not in {"jit", "remat", "checkpoint"}:
            return False
    return False


def _name(context: Context, layer: Bound) -> str:
    """Return the name of the transform that a layer applies."""
    return context.flow.calls.wrapper_name(layer, layer.value) if isinstance(layer.value, Call) else ""


def _derived(context: Context, within: list[Bound], valued: Bound) -> bool:
    """Say whether ``value_and_grad`` is taken of a derivative, so that the value is one, and the second the next."""
    if any(last(_name(context, layer)) in _DERIVATIVES for layer in within):
        return True
    assert isinstance(valued.value, Call)
    function = valued.value.argument(0, "fun") or valued.value.keyword("f")
    if function is None:
        return False
    callees = context.flow.calls.callables(context.flow.with_value(valued, function))
    returned = [(callee.function, value) for callee in callees for value in callee.function.returns]
    return bool(returned) and all(
        isinstance(value, Call)
        and any(
            last(_name(context, layer)) in _DERIVATIVES
            for layer in layers(context, context.flow.here(value.callee, inner.scope))
        )
        for inner, value in returned
    )


_DERIVATIVES = frozenset({"grad", "jacfwd", "jacobian", "jacrev", "hessian", "value_and_grad"})


RULE = lint_rule(
    "NNX857",
    "gradients-first",
    "the results of value_and_grad unpacked as `grads, loss`, or the value of jvp taken for the tangent",
    why="""\
`value_and_grad` gives the value first and the gradients second. Swapped, the loss is taken for the gradients: an
optimizer raises an error about tree structures far from the cause, and arithmetic on plain arrays goes on with a
number in place of a gradient. `jvp` gives the value first and the tangent second, too: of a gradient, the second is the
Hessian times the vector. `grad` with `has_aux=True` has no value, and gives the gradients first.
""",
    source="measured on Flax 0.10.7 and 0.12.8: IndexError in the optimizer, or other weights without an error",
    check=_check,
    bad=(
        """\
from flax import nnx


def step(model, optimizer, x):
    grads, loss = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return loss
""",
    ),
    clean=(
        """\
from flax import nnx


def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return loss
""",
    ),
)
