"""NNX846: an array assigned over a Variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.named_layers import asked_types, got_by_name
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.read_as_variable import read_as_variable
from codemods.nnx.values import Attr, Call, Const, Item, Param, Unknown, Value, of_display

_ARRAYS = (Kind.ARRAY, Kind.NUMPY)
_LIBRARY = frozenset({"kernel", "bias", "scale", "embedding"})
_LAYERS = frozenset(
    f"flax.nnx.{name}"
    for name in ("Linear", "Conv", "ConvTranspose", "Embed", "Einsum", "LayerNorm", "BatchNorm", "GroupNorm",
                 "InstanceNorm", "RMSNorm", "LinearGeneral")
)  # fmt: skip

_DEPTH = 4  # how many variables a calculation is followed through


def _check(context: Context) -> Iterator[Finding]:
    for event in context.asked.attributes():
        if event.context != "store" or event.stored is None or not _whole(event) or _first(event):
            continue
        if in_test(event.scope):
            continue  # which compares results of weights that it puts there
        stored = of_display(event.stored)  # one of several that are assigned at once
        if _array(context, event, stored) and _variable(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node if stored is not event.stored else event.statement,
                f"an array takes the place of the Variable `{event.node.attr}`, lost to nnx.state and the optimizer",
                f"assign its value: {event.scope.module.source.text(event.node)}[...] = ...",
                _fix(event),
            )
    for call, name in foreign(context, "setattr"):
        if name == "builtins.setattr" and len(call.value.args) == 3 and not in_test(call.scope):
            yield from _set(context, call)


def _set(context: Context, call: CallEvent) -> Iterator[Finding]:
    """Yield a call of ``setattr`` that puts an array in the place of a layer's Variable."""
    layer, attribute, stored = call.value.args
    words = [one.value for one in context.sources.originals(context.flow.here(attribute, call.scope))]
    names = [word.value for word in words if isinstance(word, Const)]
    if not names or len(names) < len(words) or not all(one in _LIBRARY for one in names):
        return
    if context.kinds.only(context.flow.here(stored, call.scope)) not in _ARRAYS:
        return
    base = context.flow.resolve(context.flow.here(layer, call.scope))
    types = asked_types(context, call.node.args[0], call.node, call.scope)
    if (types and types <= _LAYERS) or all(_held(context, base, str(one)) for one in names):
        yield finding(
            RULE.code,
            call.scope,
            call.node,
            f"an array takes the place of the Variable `{names[0]}`, lost to nnx.state and the optimizer",
            "assign its value: variable[...] = array",
        )


def _whole(event: AttrEvent) -> bool:
    """Say whether the statement assigns the attribute itself, alone or as one of several that get a value each."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return event.node in target.elts and not any(isinstance(v, ast.Starred) for v in (*target.elts, *value.elts))
    return target is event.node


def _first(event: AttrEvent) -> bool:
    """Say whether a constructor gives its object an attribute."""
    function = event.scope.function
    return function is not None and function.name == "__init__" and event.base is function.self_param


def _array(context: Context, event: AttrEvent, stored: Value) -> bool:
    if context.kinds.only(context.flow.here(stored, event.scope)) in _ARRAYS:
        return True
    if made_by_jax(context, stored, event.scope) or _transposed(stored):
        return True
    if isinstance(stored, Call):
        return _computed(context, stored, event)
    if not isinstance(stored, Unknown) or not isinstance(stored.node, ast.BinOp):
        return False
    # arithmetic on the Variable gives an array, and so does any on the whole of an array
    return _calculated(event, stored.node, 0)


def _calculated(event: AttrEvent, node: ast.expr, depth: int) -> bool:
    """Say whether a calculation reads the Variable or the whole of an array, by way of other variables as well."""
    values = event.scope.module.values
    for side in _operands(node):
        if _same(side, event.node) or (isinstance(side, ast.Subscript) and _is_whole(side)):
            return True
        value = values.get(side) if isinstance(side, ast.Name) and depth < _DEPTH else None
        made = value.node if isinstance(value, Unknown) else None
        if isinstance(made, ast.BinOp) and made is not node and _calculated(event, made, depth + 1):
            return True
    return False


def _is_whole(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and node.slice.value is ...


def _transposed(value: Value) -> bool:
    """Say whether a value is the array of a layer's Variable, turned over: ``layer.kernel.value.T``."""
    if isinstance(value, Attr) and value.name in {"T", "mT"}:
        inner = value.base
        if isinstance(inner, Attr):
            return inner.name == "value" and isinstance(inner.base, Attr) and inner.base.name in _LIBRARY
        return isinstance(inner, Item) and inner.index == Const(...) and getattr(inner.base, "name", "") in _LIBRARY
    return False


def _same(node: ast.expr, variable: ast.Attribute) -> bool:
    """Say whether an expression reads an attribute, or the value of the Variable in it."""
    if isinstance(node, ast.Call) and not node.args and isinstance(node.func, ast.Attribute):
        node = node.func.value if node.func.attr == "get_value" else node
    elif isinstance(node, ast.Subscript):
        node = node.value if _is_whole(node) else node
    elif isinstance(node, ast.Attribute) and node.attr in {"value", "raw_value"}:
        node = node.value
    return (
        isinstance(node, ast.Attribute)
        and node.attr == variable.attr
        and ast.dump(node.value) == ast.dump(variable.value)
    )


def _computed(context: Context, call: Call, event: AttrEvent) -> bool:
    """Say whether a function of the project is given the Variable and returns what it computes with it."""
    callees = context.flow.calls.invoked(context.flow.here(call, event.scope))
    if len(callees) != 1 or call.starred or callees[0][0].gradient or callees[0][0].function.generator:
        return False
    function = callees[0][0].function
    names = [name for name, param in function.params.items() if param is not function.self_param]
    given = [*zip(names, call.node.args, strict=False), *((k.arg, k.value) for k in call.node.keywords)]
    taken = {name for name, node in given if _same(node, event.node)}
    return bool(function.returns) and all(
        isinstance(value, Unknown)
        and isinstance(value.node, ast.BinOp)
        and any(
            isinstance(side, ast.Name)
            and side.id in taken
            and getattr(function.scope.module.values.get(side), "function", None) is function
            for side in _operands(value.node)
        )
        for value in function.returns
    )


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a calculation calculates with."""
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def _variable(context: Context, event: AttrEvent) -> bool:
    """Say whether the attribute held a Variable before."""
    base = context.flow.resolve(context.flow.here(event.base, event.scope))
    name, function = event.node.attr, event.scope.function
    cls = context.flow.classes.class_of(base)
    if cls is not None:
        own = function is not None and function.name == "__init__" and isinstance(event.base, Param)
        return not own and _holds(context, cls, name)
    types = asked_types(context, event.node.value, event.statement, event.scope) if name in _LIBRARY else set()
    if (types and types <= _LAYERS) or read_as_variable(context, event):
        return True
    return _held(context, base, name)


def _held(context: Context, base: Bound, name: str) -> bool:
    """Say whether an object is a layer that holds a Variable under a name, for certain."""
    cls = context.flow.classes.class_of(base)
    if cls is not None:
        return _holds(context, cls, name)
    if name in _LIBRARY and isinstance(base.value, Call | Attr):
        callee = context.flow.calls.callee_name(base) if isinstance(base.value, Call) else ""
        if callee.startswith("flax.nnx.") and Kind.MODULE in context.kinds.of(base):
            return True
    if isinstance(base.value, Call):
        layers = got_by_name(context, base) if name in _LIBRARY else None
        return layers is not None and _all_hold(context, layers, name)
    sources = context.sources.originals(base)
    if sources and all(_layer(context, source, name) for source in sources):
        return True
    if name in _LIBRARY and isinstance(base.value, Param):
        classes = [getattr(bound.value, "name", None) for bound in context.flow.classes.annotated(base.value)]
        return bool(classes) and all(c in _LAYERS for c in classes)
    return False


def _all_hold(context: Context, layers: list[Bound], name: str) -> bool:
    """Say whether some of the objects are layers with a Variable of a name, and no others have what is named so."""
    kept = [one for one in layers if isinstance(one.value, Call)]
    others = [one for one in kept if not _layer(context, one, name)]
    return len(others) < len(kept) and not any(
        (cls := context.flow.classes.class_of(one)) is not None
        and any(name in parent.stores for parent in context.flow.classes.mro(cls)[0])
        for one in others
    )


def _layer(context: Context, source: Bound, name: str) -> bool:
    """Say whether an object is a layer whose attribute of a name is a Variable."""
    cls = context.flow.classes.class_of(source)
    if cls is not None:
        return _holds(context, cls, name)
    return name in _LIBRARY and context.flow.calls.callee_name(source) in _LAYERS


def _holds(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether the constructors of a class make an attribute that is a Variable."""
    stores = [
        Bound(value, context.flow.open_frame(method.scope))
        for parent in context.flow.classes.mro(cls)[0]
        for method, value in parent.stores.get(name, ())
        if method.name in {"__init__", "setup", "__post_init__"}
    ]
    return bool(stores) and all(Kind.VARIABLE in context.kinds.of(bound) for bound in stores)


def _fix(event: AttrEvent) -> Fix:
    source = event.scope.module.source
    _, end = source.span(event.node)
    return Fix(((source.path, Edit(end, end, b"[...]")),))


RULE = lint_rule(
    "NNX846",
    "overwritten-variable",
    "an array is assigned over a Variable",
    why="""\
`layer.kernel = array` replaces the nnx.Param by a bare array: it is no longer in `nnx.state(layer, nnx.Param)`, and
the optimizer does not train it. `layer.kernel[...] = array` changes the value of the Param.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: 2 parameters become 1",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel = jnp.zeros((2, 3))
""",
            """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel[...] = jnp.zeros((2, 3))
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
layer.kernel = nnx.Param(jnp.zeros((2, 3)))
layer.kernel[...] = jnp.zeros((2, 3))
layer.mask = jnp.zeros((2, 3))
""",
    ),
    safety=Safety.SAFE,
)
