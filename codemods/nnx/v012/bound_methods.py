"""NNX606: bound methods in NNX transforms."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import shadowed, spell_name
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.lint.syntax import root_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.written_back import written_back
from codemods.nnx.values import Attr, Call, Choice, Class, Param, Ref

_TRANSFORMS = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "jit", "vmap", "pmap", "grad", "value_and_grad", "remat", "scan", "checkify", "custom_vjp", "eval_shape",
        "shard_map", "checkpoint",
    )
)  # fmt: skip
_ALIKE = frozenset({"flax.nnx.jit", "flax.nnx.remat", "flax.nnx.checkpoint"})  # whatever the number of arguments
_PLAIN = frozenset({"flax.nnx.Pytree", "flax.nnx.Object"})


def check(context: Context) -> Iterator[Finding]:
    """Yield transforms of methods that are bound to an object."""
    if not context.options.crosses("0.12"):
        return
    flow = context.flow
    for event in context.asked.calls():
        if not event.node.args or not isinstance(event.node.args[0], ast.Attribute) or not event.value.args:
            continue
        if flow.calls.wrapper_name(flow.here(event.value, event.scope), event.value) not in _TRANSFORMS:
            continue
        method = event.value.args[0]
        if isinstance(method, Attr) and _is_bound(context, event, method):
            written = _written_back(context, event, method)
            yield finding(
                "NNX606",
                event.scope,
                event.node.args[0],
                "NNX transforms refuse bound methods since Flax 0.12.1"
                + (", and this one writes its object back" if written else ""),
                "transform the function of the class and pass the object"
                + ("" if written else ", or close over it in a lambda"),
                _passed(context, event, method) if written else _fix(context, event, method),
            )


def _written_back(context: Context, event: CallEvent, method: Attr) -> bool:
    """Say whether a method gives its object to a transform that writes it back, which a lambda cannot close over."""
    flow, written = context.flow, written_back(context)
    for one in _objects(context, flow.resolve(flow.here(method.base, event.scope))) if written.any else ():
        cls = flow.classes.class_of(one)
        found = flow.classes.method(cls, method.name) if cls is not None else None
        own = found.self_param if found is not None else None
        if found is not None and own is not None and own.name in written.params(found):
            return True
    return False


def _passed(context: Context, event: CallEvent, method: Attr) -> Fix | None:
    """Return the edits that transform the function of the class and bind the object to the result."""
    call, node, source = event.node, event.node.args[0], event.scope.module.source
    flow = context.flow
    assert isinstance(node, ast.Attribute)
    if flow.calls.callee_name(flow.here(event.value, event.scope)) not in _ALIKE or len(call.args) > 1:
        return None  # a position that others count from would be another one
    if any(k.arg != "static_argnames" for k in call.keywords) or not source.faithful(call):
        return None
    made = source.span(call)
    start, end = source.span(node)
    text = source.text(node.value)
    cls = _class(context, event, method)
    if cls is None and not isinstance(root_of(node.value), ast.Name):
        return None  # it would be evaluated twice
    edits = [Edit(start, end, f"{cls or f'type({text})'}.{node.attr}".encode())]
    outer = next((one.node for one in event.scope.module.calls if one.node.func is call), None)
    if outer is not None:
        opening = source.data.index(b"(", made[1]) + 1
        edits.append(Edit(opening, opening, f"{text}, ".encode() if outer.args or outer.keywords else text.encode()))
        return Fix(tuple((source.path, edit) for edit in edits))
    spelled = spell_name(flow, event.scope, "functools.partial")
    if spelled is None:
        return None
    edits.append(Edit(made[0], made[0], f"{spelled.text}(".encode()))
    edits.append(Edit(made[1], made[1], f", {text})".encode()))
    return Fix(tuple((source.path, edit) for edit in (*edits, *spelled.edits)))


def _class(context: Context, event: CallEvent, method: Attr) -> str | None:
    """Return the name of an object's class, if there is one where its method is transformed."""
    flow = context.flow
    objects = _objects(context, flow.resolve(flow.here(method.base, event.scope)))
    classes = {flow.classes.class_of(one) for one in objects}
    cls = classes.pop() if len(classes) == 1 else None
    bound = event.scope.module.scope.bindings.get(cls.name, []) if cls is not None else []
    if cls is not None and len(bound) == 1 and not shadowed(event.scope, cls.name):
        found = flow.resolve(Bound(bound[0])).value
        if isinstance(found, Class) and found.facts is cls:
            return cls.name
    return None


def _is_bound(context: Context, event: CallEvent, method: Attr) -> bool:
    """Say whether an attribute is a method of an instance."""
    base = context.flow.resolve(context.flow.here(method.base, event.scope))
    if isinstance(base.value, Class | Ref):
        return False
    return any(_has(context, one, method) for one in _objects(context, base))


def _objects(context: Context, base: Bound) -> list[Bound]:
    """Return the objects whose method it may be: of a parameter without annotation those that callers hand in."""
    if not isinstance(base.value, Param) or context.flow.classes.class_of(base) is not None:
        return [base]
    return [one for one in context.sources.of(base) if isinstance(one.value, Call)]


def _has(context: Context, base: Bound, method: Attr) -> bool:
    """Say whether an object is a module, and an attribute of it one of its methods."""
    flow = context.flow
    cls = flow.classes.class_of(base)
    if cls is not None:
        if not any(class_kind(name) is Objects.MODULE and name not in _PLAIN for name in flow.classes.mro(cls)[1]):
            return False  # only methods of modules are refused
        found = flow.classes.method(cls, method.name)
        stored = any(method.name in parent.stores for parent in flow.classes.mro(cls)[0])
        return found is not None and found.binding == "instance" and not found.is_property and not stored
    return Objects.MODULE in context.kinds.of(base) and method.name == "__call__"


def _fix(context: Context, event: CallEvent, method: Attr) -> Fix | None:
    """Return the edit that closes over the object in a lambda of the same parameters."""
    node, source = event.node.args[0], event.scope.module.source
    assert isinstance(node, ast.Attribute)
    if not source.faithful(node) or not (_steady(event, node.value) or _called_at_once(event, node.value)):
        return None
    flow = context.flow
    objects = _objects(context, flow.resolve(flow.here(method.base, event.scope)))
    classes = [flow.classes.class_of(one) for one in objects]
    found = [_parameters(flow.classes.method(cls, method.name)) if cls is not None else None for cls in classes]
    names = found[0] if all(one == found[0] for one in found) else None
    if names is not None and source.text(node).partition(".")[0].strip() in names:
        names = None  # a parameter of the method is called as the object is
    text = source.text(node)
    if names is not None:
        closure = f"lambda {', '.join(names)}: {text}({', '.join(names)})" if names else f"lambda: {text}()"
    elif any(k.arg in {"static_argnames", "donate_argnames"} for k in event.node.keywords):
        return None
    else:
        closure = f"lambda *args, **kwargs: {text}(*args, **kwargs)"
    start, end = source.span(node)
    return Fix(((source.path, Edit(start, end, closure.encode())),))


def _parameters(facts: FunctionFacts | None) -> list[str] | None:
    """Return the parameters of a method behind ``self``, if they are all plain ones."""
    if facts is None or facts.vararg or facts.kwarg or facts.defaults or facts.positional != len(facts.params):
        return None
    names = list(facts.params)[1:]
    return None if facts.node.args.posonlyargs else names


def _called_at_once(event: CallEvent, node: ast.expr) -> bool:
    """Say whether what a transform makes is called where it is made, with an object that is only named there."""
    if not any(call.node.func is event.node for call in event.scope.module.calls):
        return False
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return isinstance(node, ast.Name)


def _steady(event: CallEvent, node: ast.expr) -> bool:
    """Say whether an expression denotes the same object now and whenever the lambda is called."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    value = event.scope.module.values.get(node)
    if isinstance(value, Param):
        return len(event.scope.bindings.get(node.id, ())) <= 1
    if isinstance(value, Choice):
        return False
    bindings = event.scope.bindings.get(node.id) or event.scope.module.scope.bindings.get(node.id) or []
    return len(bindings) == 1 and isinstance(bindings[0], Call | Attr | Param)


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(2, 2, rngs=rngs)

    def encode(self, x):
        return self.inner(x)


net = Net(nnx.Rngs(0))
encode = nnx.jit(net.encode)
print(encode(jnp.ones((1, 2))), nnx.vmap(net.encode)(jnp.ones((3, 2))).sum())
"""

RULE = Rule(
    code="NNX606",
    name="bound-method",
    summary="an NNX transform of a bound method",
    why="""\
`nnx.jit(model.encode)`, and the same with every other transform, raises "does not support bound methods" since Flax
0.12.1. A lambda that calls the method closes over the object as the bound method did. Where the object's state shall
change inside, transform the function of the class and pass the object: `nnx.jit(Model.encode)(model, x)`. This is
done where the method gives its object to `nnx.remat`, `nnx.cond` or a loop of NNX, which write it back.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("(net.encode)", "(lambda x: net.encode(x))"),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
