"""NNX672: constructors of pytrees that check their arrays, and refuse what JAX and the project rebuild them with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.unlike_rebuilt import registered
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Param, Ref, Value

_DATACLASSES = frozenset({"jax.tree_util.register_dataclass", "flax.struct.dataclass"})
# what arrays have, and None, numbers, texts, tuples and placeholders have not
_OF_ARRAYS = frozenset({"shape", "ndim"})
GUARDS = (b"isinstance", b"hasattr", b"getattr", b"try:", b"None", b"object", b"ShapeDtypeStruct", b"Tracer")
_PLAIN = frozenset({"jax.numpy.shape", "numpy.shape", "jax.numpy.ndim", "numpy.ndim", "jax.numpy.size", "numpy.size"})
_ARRAYS = frozenset({"jax.numpy.asarray", "jax.numpy.array"})
_ABOUT = frozenset({"shape", "ndim", "size", "nbytes", "sharding"})
_SPECS = frozenset({"PartitionSpec", "P", "NamedSharding"})


def _check(context: Context) -> Iterator[Finding]:
    words = (b"register_pytree", b"register_dataclass", b"struct")
    if not any(module.source.mentions(word) for module in context.project.modules for word in words):
        return
    for cls, method in _constructors(context):
        if method.scope.module not in context.asked or in_test(method.scope):
            continue
        refusal = _refusal(method)
        event = _rebuilding(context, cls, _plain) if refusal is not None else None
        if event is None:
            refusal = _conversion(context, method)
            event = _rebuilding(context, cls, _no_numbers) if refusal is not None else None
        if refusal is not None and event is not None:
            yield finding(
                RULE.code,
                method.scope,
                refusal,
                f"{cls.name} is rebuilt with other things than arrays, for which its constructor raises",
                "rebuild it by object.__new__(cls) and set its attributes"
                + (", or check only what has a shape" if isinstance(refusal, ast.Assert | ast.If) else ""),
                related=[(event.node, "rebuilt here")] if event.scope.module is method.scope.module else [],
            )


def _constructors(context: Context) -> Iterator[tuple[ClassFacts, FunctionFacts]]:
    """Yield the classes of pytrees that are rebuilt by their constructors, with what runs then."""
    flow = context.flow
    for cls, _, unflatten in registered(context):
        method = flow.classes.method(cls, "__init__") or flow.classes.method(cls, "__post_init__")
        made = unflatten.returns[0] if len(unflatten.returns) == 1 else None
        if method is None or not isinstance(made, Call):
            continue
        callee = flow.resolve(flow.here(made.callee, unflatten.scope)).value
        own = unflatten.binding == "class" and callee is next(iter(unflatten.params.values()), None)
        if own or (isinstance(callee, Class) and callee.facts is cls):
            yield cls, method
    for cls in context.project.classes():
        outer, method = cls.scope.parent, flow.classes.method(cls, "__post_init__")
        if outer is None or method is None:
            continue
        for decorator in cls.decorators:
            one = flow.resolve(flow.here(decorator, outer))
            if isinstance(one.value, Call):  # functools.partial(register_dataclass, ...), or with options
                inner = one.value.args[0] if one.value.args else one.value.callee
                one = flow.follow(one, inner)
            if isinstance(one.value, Ref) and one.value.name in _DATACLASSES:
                yield cls, method
                break


def _guarded(method: FunctionFacts) -> bool:
    source = method.scope.module.source
    start, end = source.span(method.node)
    return any(word in source.data[start:end] for word in GUARDS)


def _conversion(context: Context, method: FunctionFacts) -> ast.stmt | None:
    """Return the first statement of a constructor that makes an array of a parameter, whatever that is."""
    if isinstance(method.node, ast.Lambda) or _guarded(method):
        return None
    for statement in method.node.body:
        given = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        value = method.scope.module.values.get(given) if isinstance(given, ast.Call) else None
        if isinstance(value, Call) and value.args and isinstance(value.args[0], Param):
            if context.flow.calls.callee_name(context.flow.here(value, method.scope)) in _ARRAYS:
                return statement
    return None


def _refusal(method: FunctionFacts) -> ast.stmt | None:
    """Return the first statement of a constructor that raises because of the shape of what it is given."""
    if isinstance(method.node, ast.Lambda) or _guarded(method):
        return None
    for node in ast.walk(method.node):
        if isinstance(node, ast.Assert | ast.If) and any(_of_array(part) for part in ast.walk(node.test)):
            if isinstance(node, ast.Assert) or any(isinstance(part, ast.Raise) for part in node.body):
                return node
    return None


def _of_array(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr in _OF_ARRAYS and isinstance(node.value, ast.Name | ast.Attribute)
    )


def _rebuilding(context: Context, cls: ClassFacts, other: Callable[[Context, CallEvent], bool]) -> CallEvent | None:
    """Return a call that rebuilds an object of a class with other things than arrays.

    Args:
        context: the analysis.
        cls: the class.
        other: whether a call of ``jax.tree.map`` makes such things of the leaves.
    """
    for event, name in foreign(context, "map", "tree_map", everywhere=True):
        if name in TREE_MAPS and len(event.value.args) > 1 and not event.value.starred and not event.node.keywords:
            if _is_a(context, event, event.value.args[1], cls) and other(context, event):
                return event
    for event in context.bodies.named("lower"):  # of what jax.jit gives
        if not context.bodies.guarded(event.node, event.scope):
            if any(_is_a(context, event, one, cls) for one in event.value.args):
                return event
    for event, name in foreign(context, "eval_shape", everywhere=True) if other is _no_numbers else ():
        if name == "jax.eval_shape" and event.value.args and _makes(context, event, cls):
            return event
    return None


def _makes(context: Context, event: CallEvent, cls: ClassFacts) -> bool:
    """Say whether a function that is called for the shapes alone gives an object of a class."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    function = callees[0].function if len(callees) == 1 and not callees[0].gradient else None
    if function is None or function.generator or not function.returns:
        return False
    made = (context.flow.resolve(context.flow.here(one, function.scope)) for one in function.returns)
    return all(context.flow.classes.class_of(one) is cls for one in made)


def _is_a(context: Context, event: CallEvent, value: Value, cls: ClassFacts) -> bool:
    found = context.sources.originals(context.flow.here(value, event.scope))
    return bool(found) and all(context.flow.classes.class_of(one) is cls for one in found)


def _plain(context: Context, event: CallEvent) -> bool:
    """Say whether what a ``jax.tree.map`` makes of each leaf is no array: its shape, None, or how it is sharded."""
    node = event.node.args[0]
    if isinstance(node, ast.Lambda):
        body = node.body
        if isinstance(body, ast.Attribute):
            return body.attr in _ABOUT and isinstance(body.value, ast.Name)
        if isinstance(body, ast.Call):
            return last_word(body.func) in _SPECS
        return isinstance(body, ast.Constant)
    mapped: Bound = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    return isinstance(mapped.value, Ref) and mapped.value.name in _PLAIN


def _no_numbers(context: Context, event: CallEvent) -> bool:
    """Say whether what a ``jax.tree.map`` makes of each leaf is nothing that an array could be made of."""
    node = event.node.args[0]
    body = node.body if isinstance(node, ast.Lambda) else None
    if isinstance(body, ast.Attribute):
        return body.attr in {"dtype", "sharding"} and isinstance(body.value, ast.Name)
    if isinstance(body, ast.Call):
        return last_word(body.func) in {"str", "repr", "ShapeDtypeStruct", "NamedSharding"}
    return isinstance(body, ast.Constant) and (body.value is None or isinstance(body.value, str))


RULE = lint_rule(
    "NNX672",
    "checked-children",
    "a pytree whose constructor checks or converts its arrays, and that is rebuilt with other things",
    why="""\
JAX rebuilds pytrees with whatever stands for their leaves: `jax.tree.map` with what its function gives, such as shapes,
None or shardings; `lower` with descriptions of the arguments, and up to JAX 0.7 `jax.vmap` and `jax.device_put` with
bare objects. A constructor that reads their shapes, or makes arrays of them, raises then. Let `tree_unflatten` set the
attributes of `object.__new__(cls)`, or check only what has a shape.
""",
    source="JAX documentation of custom pytrees; jax issues 12319 and 24676; measured: AttributeError",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


boxes = Boxes(jnp.zeros((2, 4)))
shapes = jax.tree.map(jnp.shape, boxes)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        boxes = object.__new__(cls)
        boxes.corners = children[0]
        return boxes


boxes = Boxes(jnp.zeros((2, 4)))
shapes = jax.tree.map(jnp.shape, boxes)
""",
    ),
)
