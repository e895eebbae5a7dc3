"""NNX578: constructors of pytrees that need the numbers in their arrays, which JAX rebuilds with tracers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.checked_children import GUARDS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.unlike_rebuilt import registered
from codemods.nnx.values import Call, Class, Const, Item, Param, Sequence, Star, Value

_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})
_ARRAYS = frozenset({"numpy.asarray", "numpy.array"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"register_pytree") for module in context.project.modules):
        return
    for cls, flatten, unflatten in registered(context):
        init = context.flow.classes.method(cls, "__init__")
        if init is None or init.scope.module not in context.asked or in_test(init.scope) or _guarded(init):
            continue
        given = _from_children(context, cls, flatten, unflatten, init)
        found = _conversion(context, init, given) if given else None
        if found is not None:
            node, param = found
            yield finding(
                RULE.code,
                init.scope,
                node,
                f"`{cls.name}` is rebuilt with tracers for `{param}`, of which nobody knows the number",
                "keep it as it is, or rebuild by object.__new__(cls) and set the attributes",
                related=[(unflatten.node, "rebuilt here")] if unflatten.scope.module is init.scope.module else [],
            )


def _guarded(init: FunctionFacts) -> bool:
    start, end = init.scope.module.source.span(init.node)
    return any(word in init.scope.module.source.data[start:end] for word in GUARDS)


def _from_children(
    context: Context, cls: ClassFacts, flatten: FunctionFacts, unflatten: FunctionFacts, init: FunctionFacts
) -> frozenset[str]:
    """Return the parameters of a constructor that get children of the tree when it is rebuilt."""
    params = list(unflatten.params.values())[unflatten.binding == "class" :]
    made = unflatten.returns[0] if len(unflatten.returns) == 1 and not unflatten.generator else None
    if len(params) != 2 or not isinstance(made, Call):
        return frozenset()
    callee = context.flow.resolve(context.flow.here(made.callee, unflatten.scope)).value
    own = unflatten.binding == "class" and callee is next(iter(unflatten.params.values()))
    if not own and not (isinstance(callee, Class) and callee.facts is cls):
        return frozenset()
    children = params[1]
    names = list(init.params)[1 : init.positional]
    found: set[str] = set()
    place = 0
    for value in made.args:
        if isinstance(value, Star):
            number = _number_of_children(flatten) if value.value is children else None
            if number is None:
                break
            found.update(names[place : place + number])
            place += number
        else:
            if _is_child(value, children):
                found.update(names[place : place + 1])
            place += 1
    found.update(key for key, value in made.keywords if key is not None and _is_child(value, children))
    return frozenset(found)


def _number_of_children(flatten: FunctionFacts) -> int | None:
    pair = flatten.returns[0] if len(flatten.returns) == 1 and not flatten.generator else None
    children = pair.items[0] if isinstance(pair, Sequence) and len(pair.items) == 2 else None
    if not isinstance(children, Sequence) or any(isinstance(one, Star) for one in children.items):
        return None
    return len(children.items)


def _is_child(value: Value, children: Param) -> bool:
    return isinstance(value, Item) and value.base is children and isinstance(value.index, Const)


def _conversion(context: Context, init: FunctionFacts, given: frozenset[str]) -> tuple[ast.AST, str] | None:
    """Return where a constructor needs the number of a parameter, on its way and not in some case only."""
    if not isinstance(init.node, ast.FunctionDef):
        return None
    for statement in init.node.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) and statement.value is not None:
            for call in ast.walk(statement.value):
                name = _converted(context, call, init) if isinstance(call, ast.Call) else ""
                if name in given and not _conditional(statement.value):
                    return call, name
        elif isinstance(statement, ast.Assert) or (isinstance(statement, ast.If) and _raises(statement)):
            name = _compared(init, statement.test, given)
            if name:
                return statement, name
    return None


def _converted(context: Context, call: ast.Call, init: FunctionFacts) -> str:
    """Return the parameter that a call makes a number of Python or an array of NumPy of; empty if there is none."""
    value = init.scope.module.values.get(call)
    if not isinstance(value, Call) or not call.args:
        return ""
    name = context.flow.calls.callee_name(context.flow.here(value, init.scope))
    if name in _ARRAYS or (name in _NUMBERS and len(call.args) == 1):
        return _parameter(init, call.args[0])
    return ""


def _parameter(init: FunctionFacts, node: ast.expr) -> str:
    value = init.scope.module.values.get(node) if isinstance(node, ast.Name) else None
    return value.name if isinstance(value, Param) and value.function is init else ""


def _compared(init: FunctionFacts, test: ast.expr, given: frozenset[str]) -> str:
    """Return the parameter whose number a comparison asks for; empty if it asks for none."""
    tests = test.values if isinstance(test, ast.BoolOp) else [test]
    for one in tests[:1]:
        if isinstance(one, ast.Compare) and all(isinstance(op, _ORDERS) for op in one.ops):
            for part in (one.left, *one.comparators):
                name = _parameter(init, part)
                if name in given:
                    return name
    return ""


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _raises(statement: ast.If) -> bool:
    return any(isinstance(part, ast.Raise) for part in statement.body)


def _conditional(value: ast.expr) -> bool:
    return any(isinstance(node, ast.IfExp | ast.BoolOp | ast.Lambda) for node in ast.walk(value))


RULE = lint_rule(
    "NNX578",
    "converted-children",
    "a pytree whose constructor makes numbers of its children, or compares them",
    why="""\
`jax.jit`, `jax.grad` and `jax.vmap` rebuild a pytree with tracers for its children. `float(x)`, `np.asarray(x)` and
`if x < 0: raise` in the constructor need a number, and raise a ConcretizationTypeError there. A constructor that stores
what it gets, or a `tree_unflatten` that sets the attributes of `object.__new__(cls)`, takes anything.
""",
    source="JAX documentation of custom pytrees and initialization; measured on JAX 0.10.2: ConcretizationTypeError",
    check=_check,
    bad=(
        """\
import jax


@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, mean, std):
        self.mean = float(mean)
        self.std = float(std)

    def tree_flatten(self):
        return (self.mean, self.std), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
""",
    ),
    clean=(
        """\
import jax


@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, mean, std):
        self.mean = float(mean)
        self.std = float(std)

    def tree_flatten(self):
        return (self.mean, self.std), None

    @classmethod
    def tree_unflatten(cls, _, children):
        new = object.__new__(cls)
        new.mean, new.std = children
        return new
""",
    ),
)
