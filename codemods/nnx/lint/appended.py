"""NNX805: traced values put into a container outside of the traced function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.held import held
from codemods.nnx.lint.names import MUTATING_METHODS
from codemods.nnx.lint.places import in_test, traced_bodies
from codemods.nnx.lint.traced import Tracing
from codemods.nnx.lint.while_initializing import while_initializing
from codemods.nnx.nodes import elements
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Changed, Comprehension, Const, Free, Loop, Mapping, Param, Sequence, Value

_LIST_METHODS = frozenset({"append", "extend", "insert", "appendleft"})


def _check(context: Context) -> Iterator[Finding]:
    for function, tracing in traced_bodies(context):
        if in_test(function.scope):
            continue  # tests look into compilation on purpose
        nodes = list(context.bodies.nodes(function.scope))
        for node in nodes:
            container, values = _put(node)
            whole = isinstance(function.node, ast.Lambda) and function.node.body is node
            if isinstance(node, ast.Call) and container is not None:
                if not whole and not _for_itself(node, container, nodes):
                    continue
            if container is None or not outside(context, function, tracing, container, node):
                continue
            remembers = _remembers(context, node, container, function.scope)
            if (not remembers and _for_this_run(function, node, nodes)) or _emptied(context, function, container):
                continue
            if while_initializing(context, function) or (remembers and _of_tree(context, container, function.scope)):
                continue
            if any(context.taint.node_holds(value, function.scope) for value in values) or (
                remembers and any(_made(context, value, function.scope) for value in values)
            ):
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f"`{ast.unparse(container)}` gets a tracer, once per compilation, instead of a value at every call",
                    "return the value and collect it where the compiled function is called",
                )


def _emptied(context: Context, function: FunctionFacts, container: ast.expr) -> bool:
    """Say whether another method that is traced empties the container of an object: what it holds are values of the
    same compilation."""
    value = function.scope.module.values.get(container)
    if not isinstance(value, Attr) or function.self_param is None or value.base is not function.self_param:
        return False
    stores = function.owner.stores.get(value.name, ()) if function.owner is not None else ()
    return any(
        method is not function and method in context.traced and _empty(stored)
        for method, stored in stores
        if method.name != "__init__"
    )


def _empty(value: Value) -> bool:
    if isinstance(value, Const):
        return value.value is None
    return isinstance(value, Mapping | Sequence) and not value.items


def _for_itself(node: ast.Call, container: ast.expr, nodes: Iterable[ast.AST]) -> bool:
    """Say whether a call changes a container and leaves it so: methods of containers that change them give nothing."""
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr == "setdefault":
        return True
    if not any(isinstance(n, ast.Expr) and n.value is node for n in nodes):
        return False
    text = ast.dump(container)
    return not any(  # a stack, from which it is taken again
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "pop"
        and not n.args
        and n.lineno > node.lineno
        and ast.dump(n.func.value) == text
        for n in nodes
    )


def _for_this_run(function: FunctionFacts, node: ast.AST, nodes: Iterable[ast.AST]) -> bool:
    """Say whether an entry of a dict is set for what the same function reads behind it, and nothing else names it.

    Each compilation sets it before it is read: ``settings["center"] = c; return build(settings)``. The same holds of
    several entries, as ``settings.update(...)`` sets them, where nothing but the function reads the dict afterwards.
    """
    if isinstance(node, ast.Call):
        return _updated_for_this_run(function, node, nodes)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript):
        return False
    if not isinstance(target.slice, ast.Constant):
        return False
    key, text = target.slice.value, ast.dump(target.value)
    if not isinstance(key, str) or not isinstance(target.value, ast.Name):
        return False
    inside = {n for n in ast.walk(function.node) if isinstance(n, ast.Constant)}
    for n in ast.walk(function.scope.module.source.tree):
        if isinstance(n, ast.Subscript):
            held, one = n.value, n.slice
        elif isinstance(n, ast.Call) and n.args and isinstance(n.func, ast.Attribute):
            held, one = n.func.value, n.args[0]
        else:
            continue
        if ast.dump(held) != text:
            continue
        if isinstance(one, ast.Constant) and one.value == key and one not in inside:
            return False
    end = node.end_lineno or node.lineno
    return any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.lineno > end and ast.dump(n) == text
        for n in nodes
    )


def _updated_for_this_run(function: FunctionFacts, node: ast.Call, nodes: Iterable[ast.AST]) -> bool:
    """Say whether a dict is filled by ``update`` for what the same function reads behind it, and all that names it
    elsewhere stands above the function, and in no other one."""
    held = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "update" else None
    if not isinstance(held, ast.Name):
        return False
    end, first = node.end_lineno or node.lineno, function.node.lineno
    inside = set(ast.walk(function.node))
    others = [n for n in ast.walk(function.scope.module.source.tree) if n not in inside]
    named = [n for n in others if isinstance(n, ast.Name) and n.id == held.id]
    hidden = [n for one in others if isinstance(one, ast.FunctionDef | ast.Lambda) for n in ast.walk(one)]
    if any(n.lineno > first for n in named) or any(n in hidden for n in named):
        return False
    return any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.lineno > end and n.id == held.id for n in nodes
    )


def _made(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is traced, whatever decides that it is reached."""
    value = scope.module.values.get(node)
    return value is not None and context.taint.holds(value, scope) and not context.bodies.untraced(node, scope)


def _remembers(context: Context, node: ast.AST, container: ast.expr, scope: Scope) -> bool:
    """Say whether a container gets what is not in it yet: the first time that is so for certain."""
    text = ast.dump(container)
    for block, arm in context.bodies.paths(scope).get(node, ()):
        test, missing = block.test if isinstance(block, ast.If) else None, ast.NotIn if arm == "body" else ast.In
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, missing = test.operand, ast.In if arm == "body" else ast.NotIn
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        asked = test.comparators[0]
        if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute) and asked.func.attr == "keys":
            asked = asked.func.value
        if isinstance(test.ops[0], missing) and ast.dump(asked) == text:
            return True
        found = scope.module.values.get(test.left)
        if isinstance(test.ops[0], ast.Is) and arm == "body" and isinstance(found, Call):
            read = found.node.func
            if isinstance(read, ast.Attribute) and read.attr == "get" and ast.dump(read.value) == text:
                return True
    return False


def _of_tree(context: Context, container: ast.expr, scope: Scope) -> bool:
    """Say whether a container is that of an object whose class is a pytree: compiled code that is given one gets an
    object of its own, in which nothing is remembered yet."""
    value = scope.module.values.get(container.value) if isinstance(container, ast.Attribute) else None
    if value is None:
        return False
    classes = context.flow.classes
    cls = classes.class_of(context.flow.resolve(context.flow.here(value, scope)))
    return cls is not None and classes.method(cls, "tree_unflatten") is not None


def _put(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """Return the container that a node puts something into, and what."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING_METHODS:
        return node.func.value, [*node.args, *(k.value for k in node.keywords)]
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        first = node.targets[0]
        for target in elements(first, lists=True):
            if isinstance(target, ast.Subscript):
                return target.value, [node.value]
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.BitOr):
        if isinstance(node.value, ast.List | ast.Dict | ast.Set):
            return node.target, [*ast.iter_child_nodes(node.value)]  # type: ignore[list-item]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        return node.target.value, [node.value]
    return None, []


def outside(context: Context, function: FunctionFacts, tracing: Tracing, container: ast.expr, node: ast.AST) -> bool:
    """Say whether a container is a list, dict or set from outside of the traced code, or in one.

    Args:
        context: the analysis.
        function: the traced function.
        tracing: what is known of it.
        container: the container.
        node: what changes it.
    """
    while isinstance(container, ast.Subscript):
        container = container.value
    if isinstance(container, ast.Attribute):
        return _own(context, function, container) or (
            held(context, function, container.value) and _attribute(context, function, container)
        )
    if not isinstance(container, ast.Name):
        return False
    value = function.scope.module.values.get(container)
    while isinstance(value, Changed | Loop):
        value = value.before
    if isinstance(value, Param) and value.function is function:
        method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if not any(isinstance(n, ast.Expr) and n.value is node for n in context.bodies.nodes(function.scope)):
            return False  # what gives something back is no method of a list
        if any(_holds(one, value) for one in function.returns):
            return False  # the copy is given back
        return method in _LIST_METHODS and any(value.name not in root.static for root in tracing.roots)
    if not isinstance(value, Free) or value.scope.function in context.traced:
        return False
    return any(_container(context, bound, value.scope) for bound in value.scope.bindings.get(value.name, ()))


def _holds(returned: Value, param: Param) -> bool:
    """Say whether a parameter is what a function returns, or among it, whatever was put into it."""
    while isinstance(returned, Changed | Loop):
        returned = returned.before
    if isinstance(returned, Sequence):
        return any(_holds(item, param) for item in returned.items)
    if isinstance(returned, Mapping):
        return any(_holds(item, param) for _, item in returned.items)
    return returned is param


def _own(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether a container is a plain list or dict of a module, which NNX takes for static since Flax 0.12."""
    owner = function.owner
    base = function.scope.module.values.get(node.value)
    if owner is None or base is not function.self_param or context.options.target < "0.12":
        return False
    stores = owner.stores.get(node.attr, ())
    made = [value for method, value in stores if method.name == "__init__"]
    return (
        len(made) == 1
        and isinstance(made[0], Sequence | Mapping)
        and isinstance(made[0].node, ast.List | ast.Dict)
        and not made[0].items
        and "flax.nnx.Module" in context.flow.classes.mro(owner)[1]
        and not any(
            isinstance(n, ast.Attribute) and n.attr == node.attr and isinstance(n.ctx, ast.Store)
            for method in owner.methods.values()
            if method.name != "__init__"
            for n in ast.walk(method.node)
        )
    )


def _attribute(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether the project stores containers in an attribute."""
    flow = context.flow
    base = flow.resolve(flow.here(function.scope.module.values[node.value], function.scope))
    cls = flow.classes.class_of(base)
    return cls is not None and any(
        _container(context, value, method.scope)
        for parent in flow.classes.mro(cls)[0]
        for method, value in parent.stores.get(node.attr, ())
    )


def _container(context: Context, value: Value, scope: Scope) -> bool:
    while isinstance(value, Changed | Loop):
        value = value.before
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        return name in {
            "builtins.list",
            "builtins.dict",
            "builtins.set",
            "collections.defaultdict",
            "collections.deque",
        }
    return isinstance(value, Sequence | Mapping | Comprehension)


RULE = Rule(
    code="NNX805",
    name="append-in-traced",
    summary="traced code puts traced values into an outer list, dict or set",
    why="""\
The container gets a tracer while the function is compiled and nothing at later calls; using the tracer raises
UnexpectedTracerError. A list that comes in as an argument is copied, so that the change is lost.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 3; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    examples=(
        Example(
            before="""\
import jax

history = []


@jax.jit
def step(x):
    loss = x.sum()
    history.append(loss)
    return loss
""",
            run=False,
        ),
        Example(
            before="""\
import jax


class Trainer:
    def __init__(self):
        self.losses = []
        self.step = jax.jit(self._step)

    def _step(self, x):
        self.losses.append(x.sum())
        return x
""",
            run=False,
        ),
        Example(
            before="""\
import jax


@jax.jit
def step(x):
    parts = []
    for i in range(3):
        parts.append(i * x)
    return parts
""",
            after="""\
import jax


@jax.jit
def step(x):
    parts = []
    for i in range(3):
        parts.append(i * x)
    return parts
""",
            run=False,
        ),
    ),
    check=_check,
)
