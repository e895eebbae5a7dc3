"""NNX840: assignment to an item of a JAX array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.called import SEVERAL
from codemods.nnx.lint.certain import array_for_certain
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import ARRAY_METHODS
from codemods.nnx.lint.origins import origin, own_stores
from codemods.nnx.lint.places import each, fix
from codemods.nnx.lint.status import Grade
from codemods.nnx.lint.written_views import changed_in_place
from codemods.nnx.nodes import elements
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Item, Loop, Param, Unknown, Value

_METHODS = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}


def _check(context: Context) -> Iterator[Finding]:
    told: set[Value] = set()  # one view, however often it is written to
    yield from _assigned(context, told)
    yield from _views_changed(context, told)


def _assigned(context: Context, told: set[Value]) -> Iterator[Finding]:
    """Yield the assignments to items of arrays, and their deletion."""
    assigning = {module for module in context.asked.modules if _assigns_items(module)}
    for scope, node in each(context, ast.Assign, ast.AugAssign, ast.Delete) if assigning else ():
        targets = _items(node) if scope.module in assigning else []
        targets = [target for target in targets if not _listed(context, target.value, scope)]
        if not targets or context.bodies.guarded(node, scope) or _either(scope):
            continue
        view = next(
            (t for t in targets if _view(context, t.value, scope) and not _stays(context, t.value, scope)), None
        )
        if view is not None:
            made = _made(scope.module.values[view.value])
            if made in told:
                continue
            told.add(made)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{ast.unparse(view.value)}` is a view of an array of JAX, which cannot be written to",
                "make a copy: np.array(x)",
            )
            continue
        place = next((t for t in targets if _at(t) is not None), None)
        held = _at(place) if place is not None else None
        if (
            place is not None
            and held is not None
            and (_changes(context, held, scope) or context.taint.node(held, scope))
        ):
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{ast.unparse(place)}` only names a place: nothing can be assigned to it",
                "use x = x.at[index].set(value), or .add(value)",
            )
            continue
        found = next((t for t in targets if not _named(t) and _changes(context, t.value, scope)), None)
        if found is not None and not _stays(context, found.value, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                "JAX arrays cannot be changed in place",
                "use x = x.at[index].set(value)",
                _fix(scope, node, found) if _alone(node, found) else None,
            )


def _views_changed(context: Context, told: set[Value]) -> Iterator[Finding]:
    """Yield what changes a view in place otherwise: ``x += 1``, ``x.sort()`` and functions of NumPy."""
    if not any(module.source.mentions(b"numpy") for module in context.asked.modules):
        return
    for scope, node, name in changed_in_place(context):
        value = scope.module.values.get(name)
        if value is None or context.bodies.guarded(node, scope) or _either(scope) or not _view(context, name, scope):
            continue
        made = _made(value)
        if made not in told and not _stays(context, name, scope):
            told.add(made)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{name.id}` is a view of an array of JAX, which cannot be written to",
                "make a copy: np.array(x)",
            )


def _at(target: ast.Subscript) -> ast.expr | None:
    """Return the array of which ``x.at[index]`` names a place; None for other items."""
    owner = target.value
    return owner.value if isinstance(owner, ast.Attribute) and owner.attr == "at" else None


_EITHER = frozenset({"xnp", "xp", "np", "jnp", "npx", "numpy", "numpy_module"})


def _either(scope: Scope) -> bool:
    """Say whether a function is given the module that it computes with, which may be NumPy."""
    return scope.function is not None and bool(_EITHER & set(scope.function.params))


def _listed(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a name is what ``list`` made of an array, or a function that gives several arrays in a list; or a
    parameter that is annotated as a container: ``data: Dict[str, Array]``."""
    value = scope.module.values.get(node) if isinstance(node, ast.Name) else None
    while isinstance(value, Changed | Loop):
        value = value.before
    if isinstance(value, Param):
        note = value.function.annotations.get(value.name)
        return note is not None and bool(_CONTAINERS.search(ast.unparse(note)))
    if not isinstance(value, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, scope)) in SEVERAL | _LISTS


_CONTAINERS = pattern(r"(?i)(^|[\W_])(\w*dict|\w*mapping|list|tuple|sequence|pytree)\b")
_LISTS = frozenset({"builtins.list", "builtins.tuple", "builtins.sorted", "builtins.dict"})


def _assigns_items(module: ModuleFacts) -> bool:
    """Say whether anything in a module assigns to an item, or deletes one, that is not named by a text."""
    of_type = module.source.of_type
    nodes = (*of_type(ast.Assign), *of_type(ast.AugAssign), *of_type(ast.Delete))
    return any(not _named(target) for node in nodes for target in _items(node))


def _items(node: ast.AST) -> list[ast.Subscript]:
    """Return the items that a statement assigns to or deletes."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    parts = [part for t in targets for part in elements(t, lists=True)]
    return [part for part in parts if isinstance(part, ast.Subscript)]


def _alone(node: ast.AST, target: ast.Subscript) -> bool:
    """Say whether a statement assigns to nothing else."""
    return not isinstance(node, ast.Assign) or (len(node.targets) == 1 and node.targets[0] is target)


def _named(target: ast.Subscript) -> bool:
    """Say whether an item is named by a text, as those of a dict are."""
    return isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)


def _view(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what ``np.asarray`` gave of an array of JAX."""
    value = scope.module.values.get(node)
    value = _made(value) if value is not None else None
    if not isinstance(node, ast.Name) or not isinstance(value, Call) or len(value.args) != 1 or value.keywords:
        return False
    if context.flow.calls.callee_name(context.flow.here(value, scope)) not in {"numpy.asarray", "jax.device_get"}:
        return False
    return _by_jax(context, value.args[0], scope)


def _made(value: Value) -> Value:
    """Return an object before items of it were assigned, also in the rounds of a loop."""
    while isinstance(value, Changed | Loop):
        if isinstance(value, Loop) and value.again is not None and not _same(value.again, value):
            return value  # a round may make a copy
        value = value.before
    return value


def _same(again: Value, loop: Loop) -> bool:
    """Say whether a round of a loop does no more with a variable than to assign items."""
    while isinstance(again, Changed):
        again = again.before
    return again is loop


def _by_jax(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is an array of JAX, or what compiled code gave, on every way."""
    if made_by_jax(context, value, scope):
        return True
    sources = context.sources.originals(context.flow.here(value, scope))
    return bool(sources) and all(_compiled(context, source, scope) for source in sources)


def _compiled(context: Context, source: Bound, scope: Scope) -> bool:
    if not isinstance(source.value, Call | Unknown):
        return False
    home = source.frame.function.scope if source.frame is not None else context.bodies.home(source.value.node)
    if home is not None and made_by_jax(context, source.value, home):
        return True
    if not isinstance(source.value, Call):
        return False
    return any(
        callee.function in context.traced and any(r.decorator for r in context.traced.known[callee.function].roots)
        for callee, _ in context.flow.calls.invoked(source)
    )


def _wrapped(context: Context, call: Bound) -> bool:
    """Say whether a call is that of what ``jax.jit`` made of a function of one array, on every way to it."""
    assert isinstance(call.value, Call)
    made = context.sources.originals(context.flow.with_value(call, call.value.callee))
    return bool(made) and all(
        isinstance(one.value, Call)
        and context.flow.calls.callee_name(one) == "jax.jit"
        and len(callees := context.flow.calls.callables(one)) == 1
        and bool(callees[0].function.returns)
        and all(isinstance(value, Call | Unknown) for value in callees[0].function.returns)
        and all(made_by_jax(context, value, callees[0].function.scope) for value in callees[0].function.returns)
        for one in made
    )


def _changes(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether what an item is assigned to is an array of JAX, or one that is traced."""
    if _is_array(context, node, scope):
        return True
    value = origin(context, node, scope)
    if not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and scope.function in context.traced:
            return any(status.grade is Grade.ARRAY for status in context.taint.at(node, scope))
        kept = isinstance(node, ast.Attribute) and isinstance(value, Attr) and bool(own_stores(context, value))
        entry = isinstance(node, ast.Subscript) and value is not None and value is not scope.module.values.get(node)
        if value is None or scope.function in context.traced:
            return False
        if not (kept or entry):
            return isinstance(node, ast.Attribute) and _field_by_jax(context, value, scope)
        return array_for_certain(context, value, context.flow.here(value, scope))
    if scope.function not in context.traced:
        if value is None or array_for_certain(context, value, context.flow.here(value, scope)):
            return value is not None
        while isinstance(value, Changed):
            value = value.before
        return (
            isinstance(value, Call)
            and isinstance(value.callee, Param)
            and _wrapped(context, context.flow.here(value, scope))
        )
    while isinstance(value, Changed):  # the item that was assigned before
        value = value.before
    if value is None or context.bodies.untraced(node, scope):
        return False
    if context.kinds.of(context.flow.here(value, scope)) - {Kind.ARRAY}:
        return False
    return any(status.grade is Grade.ARRAY for status in context.taint.statuses(value, scope))


def _field_by_jax(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether an attribute of an object of the project is an array of JAX on every way."""
    while isinstance(value, Changed):  # the items that were assigned before
        value = value.before
    if not isinstance(value, Attr) or (isinstance(value.base, Param) and value.base is value.base.function.self_param):
        return False
    here = context.flow.here(value.base, scope)
    owners = context.sources.originals(here)
    if not owners or any(context.flow.classes.class_of(one) is None for one in owners):
        return False
    return _by_jax(context, value, scope)


def _is_array(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a JAX array on every way, or the value of a Variable."""
    value: Value | None = scope.module.values.get(node)
    while isinstance(value, Changed | Loop) and isinstance(
        getattr(value, "node", None), ast.Subscript | ast.For | ast.While
    ):
        value = value.before
    if value is None:
        return False
    bound = context.flow.here(value, scope)
    if isinstance(node, ast.Name):
        return context.kinds.only(bound) is Kind.ARRAY
    if isinstance(node, ast.Subscript):
        return context.kinds.only(bound) is Kind.ARRAY and not _refilled(node, scope) and not _given(node, scope)
    if isinstance(node, ast.Attribute) and isinstance(value, Attr) and _own(context, value):
        return True
    if isinstance(node, ast.Attribute) and node.attr == "value":
        base = scope.module.values.get(node.value)
        return base is not None and context.kinds.only(context.flow.here(base, scope)) is Kind.VARIABLE
    return False


def _given(node: ast.Subscript, scope: Scope) -> bool:
    """Say whether it is not known which entry of an argument is meant: it may hold others than what is put in here."""
    value: Value | None = scope.module.values.get(node.value)
    while isinstance(value, Changed | Loop):
        value = value.before
    return isinstance(value, Param) and not isinstance(node.slice, ast.Constant)


def _refilled(node: ast.Subscript, scope: Scope) -> bool:
    """Say whether the module puts something else into an entry of a container than the changed array."""
    text = ast.unparse(node)
    return any(
        isinstance(target, ast.Subscript)
        and ast.unparse(target) == text
        and not ast.unparse(assign.value).startswith(f"{text}.at[")
        for assign in scope.module.source.of_type(ast.Assign)
        for target in assign.targets
    )


def _stays(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether ``jnp.reshape`` may have given what is written to: of a NumPy array it gives a NumPy array."""
    value = scope.module.values.get(node)
    if not any(module.source.mentions(b"reshape") for module in context.project.modules):
        return False
    return value is not None and _reshaped(context, context.flow.here(value, scope), scope)


def _reshaped(context: Context, bound: Bound, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value may be what ``jnp.reshape`` gave of an array that may be one of NumPy, or a part of that."""
    value, flow = bound.value, context.flow
    if depth > 12:
        return False
    while isinstance(value, Changed):  # the items that were assigned before
        value = value.before
    bound = flow.with_value(bound, value)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        home = bound.frame.function.scope if bound.frame is not None else scope
        parts = [home.module.values.get(part) for part in (value.node.left, value.node.right)]
        known = [flow.with_value(bound, part) for part in parts if part is not None]
        return any(_reshaped(context, part, home, depth + 1) for part in known) and not any(
            _by_jax_only(context, part, home, depth + 1) for part in known
        )
    if isinstance(value, Call) and flow.calls.callee_name(bound) == "jax.numpy.reshape":
        home = bound.frame.function.scope if bound.frame is not None else context.bodies.home(value.node) or scope
        given = value.args[0] if value.args else value.keyword("a")
        return given is None or not _by_jax_only(context, flow.with_value(bound, given), home, depth + 1)
    if isinstance(value, Call) and flow.calls.callee_name(bound) in {"numpy.asarray", "jax.device_get"} and value.args:
        return _reshaped(context, flow.with_value(bound, value.args[0]), scope, depth + 1)
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in ARRAY_METHODS:
        if not flow.calls.invoked(bound) and not flow.calls.callee_name(bound):
            return _reshaped(context, flow.with_value(bound, value.callee.base), scope, depth + 1)
    if isinstance(value, Item | Indexed) and _reshaped(context, flow.with_value(bound, value.base), scope, depth + 1):
        return True
    return any(_reshaped(context, source, scope, depth + 1) for source in context.sources.of(bound) if source != bound)


def _by_jax_only(context: Context, bound: Bound, scope: Scope, depth: int) -> bool:
    """Say whether a value is an array of JAX and none of NumPy."""
    if scope.function in context.traced and any(
        status.grade is Grade.ARRAY for status in context.taint.statuses(bound.value, scope)
    ):
        return True
    known = context.kinds.only(bound) is Kind.ARRAY or array_for_certain(context, bound.value, bound)
    return known and not _reshaped(context, bound, scope, depth)


def _own(context: Context, value: Attr) -> bool:
    """Say whether an attribute of ``self`` is given JAX arrays only, in all methods."""
    base = value.base
    if not isinstance(base, Param) or base is not base.function.self_param or base.function.owner is None:
        return False
    owner = base.function.owner
    stores = [store for cls in context.flow.classes.mro(owner)[0] for store in cls.stores.get(value.name, ())]
    stores = [store for store in stores if not (isinstance(store[1], Changed) and store[1].before == value)]
    plain = "flax.nnx.Module" not in context.flow.classes.mro(owner)[1]
    return (
        plain
        and bool(stores)
        and all(context.kinds.only(context.flow.here(stored, method.scope)) is Kind.ARRAY for method, stored in stores)
    )


_ATOMS = (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def _fix(scope: Scope, node: ast.AST, target: ast.Subscript) -> Fix | None:
    """Return ``x = x.at[i].set(v)`` for a local name."""
    if not isinstance(target.value, ast.Name):
        return None
    source = scope.module.source
    name, index = target.value.id, source.text(target.slice)
    if isinstance(target.slice, ast.Tuple) and index.startswith("("):
        index = index[1:-1]
    if isinstance(node, ast.Assign):
        return fix(scope, node, f"{name} = {name}.at[{index}].set({source.text(node.value)})")
    if isinstance(node, ast.AugAssign):
        value = source.text(node.value)
        if isinstance(node.op, ast.Sub):
            negative = f"-{value}" if isinstance(node.value, _ATOMS) else f"-({value})"
            return fix(scope, node, f"{name} = {name}.at[{index}].add({negative})")
        method = _METHODS.get(type(node.op))
        return fix(scope, node, f"{name} = {name}.at[{index}].{method}({value})") if method else None
    return None


RULE = lint_rule(
    "NNX840",
    "in-place-assignment",
    "assignment to an item of a JAX array",
    why="""\
JAX arrays are immutable: `x[0] = 1` raises a TypeError. `x.at[0].set(1)` gives a changed copy, which the compiler
makes in place where it can. Items of an nnx.Variable may be assigned.
""",
    source="JAX tutorial, section on in-place updates; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp

x = jnp.zeros(3)
x[0] = 1.0
x[1:] += 2.0
""",
            """\
import jax.numpy as jnp

x = jnp.zeros(3)
x = x.at[0].set(1.0)
x = x.at[1:].add(2.0)
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp
import numpy as np


def rows(values):
    table = jnp.reshape(np.asarray(values, dtype=np.float32), (-1, 2))  # a NumPy array still
    table[0] = 0.0
    return table


print(rows([1, 2, 3, 4]))
""",
        """\
import jax.numpy as jnp
import numpy as np
from flax import nnx

x = np.zeros(3)
x[0] = 1.0
weights = nnx.Param(jnp.zeros(3))
weights[0] = 1.0
named = {"x": jnp.zeros(3)}
named["y"] = 1.0
""",
    ),
    safety=Safety.SAFE,
)
