"""NNX849: the gradient with respect to one argument, used for another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls, placed_gradient_calls
from codemods.nnx.lint.names import ARRAY_METHODS, TREE_MAPS
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Param, Value

_GRADS = pattern(r"^(d_?)?g(rad(ient)?s?)?(_tree)?$")
_PARAMS = pattern(r"^(params?|parameters|weights|theta|w)$")


def _check(context: Context) -> Iterator[Finding]:
    for event, _, name in gradient_calls(context, compiled=True):
        args = event.value.args
        if len(args) < 2 or event.value.starred or in_test(event.scope) or name.startswith("flax."):
            continue
        gradient: Value = Item(event.value, Const(1)) if name.endswith("value_and_grad") else event.value
        for other in context.bodies.calls.get(event.scope, ()):
            if other is event or args[0] in other.value.args:
                continue
            used = _used(context, other, gradient, args[1:])
            if used is not None:
                place = args.index(used)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the gradient is taken with respect to the first argument, and used for number {place + 1}",
                    f"give argnums={place}, or put what is learned first",
                    related=[(other.node, "used here")],
                )
                break
        else:
            yield from _subtracted(context, event, gradient)
    yield from _of_place(context)
    yield from _of_outputs(context)


def _of_place(context: Context) -> Iterator[Finding]:
    """Yield the gradients for an argument that ``argnums`` says, which update another one."""
    for event, made, name, place in placed_gradient_calls(context):
        args = event.value.args
        if place >= len(args) or len(args) < 2 or event.value.starred or in_test(event.scope):
            continue
        valued, aux = name.endswith("value_and_grad"), keyword(made.node, "has_aux") is not None
        gradient: Value = Item(event.value, Const(int(valued))) if valued or aux else event.value
        others = (*args[:place], *args[place + 1 :])
        for other in context.bodies.calls.get(event.scope, ()):
            if other is event or args[place] in other.value.args:
                continue
            used = _used(context, other, gradient, others)
            if used is not None and args.count(used) == 1:
                yield finding(
                    RULE.code,
                    event.scope,
                    made.node if made.node in event.scope.module.values else event.node,
                    f"the gradient is taken with respect to number {place + 1} of the arguments, and used for number "
                    f"{args.index(used) + 1}",
                    f"give argnums={args.index(used)}",
                    related=[(other.node, "used here")],
                )
                break


def _of_outputs(context: Context) -> Iterator[Finding]:
    """Yield the gradients for what a model gave, which update what the model gave it with."""
    for event, made, name in gradient_calls(context, compiled=True):
        if not event.value.args or event.value.starred or in_test(event.scope):
            continue
        whole = [*_learned(context, event.value.args[0], event.scope, 0)]
        if not whole:
            continue
        valued, aux = name.endswith("value_and_grad"), keyword(made.node, "has_aux") is not None
        gradient: Value = Item(event.value, Const(int(valued))) if valued or aux else event.value
        for other in context.bodies.calls.get(event.scope, ()):
            if other is not event and not other.value.starred and _updates(context, other, gradient, whole):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the gradient is taken with respect to `{ast.unparse(event.node.args[0])}`, what the model gives, "
                    "and used for what is learned",
                    "call the model in the loss, and give the loss what is learned first",
                    related=[(other.node, "used here")],
                )
                break


_PARTS = 4  # steps from what a model gives to what a loss gets of it


def _learned(context: Context, value: Value, scope: Scope, depth: int) -> Iterator[Value]:
    """Yield what an array was computed with, parameters or the module; nothing where it may be a tree like these."""
    while isinstance(value, Item):
        value = value.base
    if not isinstance(value, Call) or value.starred or depth > _PARTS:
        return
    callee = value.callee
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name.startswith(("jax.numpy.", "jax.nn.")) and value.args:
        yield from _learned(context, value.args[0], scope, depth + 1)
    elif isinstance(callee, Attr) and callee.name in ARRAY_METHODS and isinstance(callee.base, Call | Item):
        yield from _learned(context, callee.base, scope, depth + 1)
    elif isinstance(callee, Attr) and callee.name in {"apply", "apply_fn"} and len(value.args) > 1:
        first = value.args[0]
        if isinstance(first, Mapping):
            yield from (item for key, item in first.items if key == Const("params"))
        elif callee.name == "apply" and _of_linen(context, callee.base, scope):
            yield first
    elif not name and kinds_of(context, callee, scope) == {Kind.MODULE}:
        yield callee
    elif not name:
        yield from _entered(context, value, scope)


def _of_linen(context: Context, model: Value, scope: Scope) -> bool:
    """Say whether a value is a module of Linen."""
    cls = context.flow.classes.class_of(context.flow.resolve(context.flow.here(model, scope)))
    return cls is not None and any(base.startswith("flax.linen.") for base in context.flow.classes.mro(cls)[1])


def _entered(context: Context, value: Call, scope: Scope) -> Iterator[Value]:
    """Yield the arguments of which a function takes entries by name, and gives an array for certain."""
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if len(invoked) != 1 or invoked[0][0].gradient:
        return
    callee, frame = invoked[0]
    function = callee.function
    if not function.returns or not all(made_by_jax(context, one, function.scope) for one in function.returns):
        return
    read = {
        node.value.id
        for node in context.bodies.nodes(function.scope)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }
    for param in function.params:
        given = context.flow.argument(frame, param) if param in read else None
        if given is not None and given.value in value.args:
            yield given.value


def _updates(context: Context, call: CallEvent, gradient: Value, whole: list[Value]) -> bool:
    """Say whether a call brings gradients together with what they ought to be the gradients of."""
    given, callee = call.value.args, call.value.callee
    name = context.flow.calls.name(call)
    if name in TREE_MAPS or name == "optax.apply_updates":
        return gradient in given[int(name in TREE_MAPS) :] and any(one in given for one in whole)
    if not isinstance(callee, Attr):
        return False
    if callee.name == "apply_gradients":
        grads = call.value.argument(0, "grads")
        return grads == gradient and any(isinstance(one, Attr) and one.base == callee.base for one in whole)
    if callee.name != "update" or name or len(given) < 2:
        return False
    if given[0] == gradient:
        params = call.value.argument(2, "params")
        if params is not None:
            return params in whole
        updates = Item(call.value, Const(0))
        return any(
            context.flow.calls.name(later) == "optax.apply_updates"
            and updates in later.value.args
            and any(one in later.value.args for one in whole)
            for later in context.bodies.calls.get(call.scope, ())
        )
    return given[1] == gradient and given[0] in whole


def _subtracted(context: Context, event: CallEvent, gradient: Value) -> Iterator[Finding]:
    """Yield a gradient that is subtracted from a later argument, or an entry of it, that is called parameters."""
    values = event.scope.module.values
    named = {
        ast.unparse(n) for n in event.node.args[1:]
        if isinstance(n, ast.Name | ast.Attribute) and _PARAMS.search(last_word(n))
    }  # fmt: skip
    first = event.node.args[0]
    if not named or not isinstance(first, ast.Name) or _PARAMS.search(first.id):
        return
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Sub):
            continue
        whole, step = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        while isinstance(whole, ast.Subscript | ast.Attribute) and ast.unparse(whole) not in named:
            whole = whole.value
        text = ast.unparse(whole)
        if not isinstance(whole, ast.Name | ast.Attribute) or text not in named:
            continue
        if any(isinstance(n, ast.Name | ast.Call) and values.get(n) == gradient for n in ast.walk(step)):
            place = [ast.unparse(n) for n in event.node.args].index(text)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the gradient is taken with respect to `{first.id}`, and used for `{text}`",
                f"give argnums={place}, or put what is learned first",
                related=[(node, "used here")],
            )
            return


def _used(context: Context, other: CallEvent, gradient: Value, later: tuple[Value, ...]) -> Value | None:
    """Return the argument of a loss that a call brings together with its gradient, as an update of parameters does."""
    given = other.value.args
    if gradient not in given or other.value.starred:
        return None
    name = context.flow.calls.name(other)
    if name in TREE_MAPS:
        return next((one for one in given[1:] if one in later), None)
    callee = other.value.callee
    if isinstance(callee, Attr) and callee.name == "update" and given[0] == gradient and len(given) == 3:
        return given[2] if given[2] in later else None
    if name:
        return None
    invoked = context.flow.calls.invoked(context.flow.here(other.value, other.scope))
    if len(invoked) != 1 or invoked[0][0].gradient:
        return None
    callee_, frame = invoked[0]
    named: dict[str, Param] = dict(callee_.function.params)
    found: dict[str, Value] = {}
    for one in named:
        argument = context.flow.argument(frame, one)
        if argument is not None:
            found[one] = argument.value
    grads = [one for one, value in found.items() if value == gradient and _GRADS.search(one)]
    params = [value for one, value in found.items() if value in later and _PARAMS.search(one)]
    return params[0] if grads and params else None


RULE = lint_rule(
    "NNX849",
    "gradient-of-other-argument",
    "a gradient is taken with respect to one argument and used to update another",
    why="""\
`jax.grad` differentiates with respect to the first argument. Where the parameters come later, the gradient has the
shape of the data, and the update raises, or goes wrong silently where the shapes agree.
""",
    source="Stack Overflow questions on argnums; measured: errors about tree structures",
    check=_check,
    bad=(
        """\
import jax


def loss(x, params):
    return ((x @ params["w"]) ** 2).sum()


def step(x, params):
    grads = jax.grad(loss)(x, params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    ),
    clean=(
        """\
import jax


def loss(x, params):
    return ((x @ params["w"]) ** 2).sum()


def step(x, params):
    grads = jax.grad(loss, argnums=1)(x, params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def attacked(x, params):
    return x + 0.1 * jax.grad(loss)(x, params)
""",
    ),
)
