"""NNX515: a test for arrays of NumPy that gets arrays of JAX, which are none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, operand
from codemods.nnx.lint.names import ARRAY_METHODS, TREE_MAPS, last
from codemods.nnx.lint.operands import overloading
from codemods.nnx.lint.places import callers_of, each, error_wanted, foreign, formula_of, in_test, position
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Function, Item, Mapping, Param, Ref, Sequence, Star, Unknown, Value

_WORDS = pattern(rb"\bndarray\b", needs=(b"ndarray",))
_NUMPY = frozenset({"numpy.ndarray", "numpy.generic", "numpy.number", "numpy.floating", "numpy.integer"})
_BUILTIN = {"builtins.int": int, "builtins.float": float, "builtins.bool": bool, "builtins.str": str,
            "builtins.list": list, "builtins.tuple": tuple, "builtins.complex": complex}  # fmt: skip
_SPACES = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.", "optax.losses.")
# what gives no array, or arrays of NumPy
_OTHERS = frozenset({"shape", "ndim", "size", "dtype", "result_type", "finfo", "iinfo", "promote_types", "issubdtype",
                     "isscalar", "split", "array_split", "meshgrid", "scan", "while_loop", "fori_loop", "cond",
                     "switch", "map", "broadcast_shapes", "save", "savez", "load", "iterable", "ndindex", "vectorize",
                     "printoptions", "get_printoptions", "s_", "r_", "c_", "mgrid", "ogrid", "clone", "key_data",
                     "key_impl", "reduce_precision", "initializers"})  # fmt: skip
_MAKING_FUNCTIONS = frozenset({"jax.vmap", "jax.grad", "jax.jacfwd", "jax.jacrev", "jax.hessian"})
_ARRAYS = frozenset({"params", "grads"})
_JAX, _OTHER, _UNKNOWN = "jax", "other", ""
_DEPTH = 8
# what makes a branch right for arrays that are tested: it turns them into others, or they need no change
_TURNED = pattern(
    r"asarray|\barray\(|device_put|device_get|from_numpy|frombuffer|copy|flags|contiguous|astype\((np|numpy|jnp)?\.?"
    r"(float32|float64|int\d+|float)\b|object|dtype|tobytes|b64|writ(e|able)|memmap"
)
# what a branch for all others does that serves arrays of JAX as well
_SERVED = pattern(
    r"asarray|\barray\(|device_get|\bfloat\(|\bint\(|\.item\(|tolist|\bnp\.|numpy|jnp|\bjax\.|\blax\.|hasattr|Array"
    r"|\.shape|\.ndim|\.dtype|getattr|__array__|tree|device_put"
)


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORDS) for module in context.project.modules):
        return
    for scope, node, tested, kinds in _tests(context):
        if in_test(scope) or scope.module.source.mentions(b"callback"):
            continue
        arrays = _arrays(context, tested, scope, kinds)
        if not arrays or _meant(context, node, tested, scope):
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{ast.unparse(tested)}` is an array of JAX here, which is no np.ndarray: this is never true",
            f"test for both: isinstance({ast.unparse(tested)}, (np.ndarray, jax.Array))",
        )


def _tests(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr, list[str]]]:
    """Yield the tests for arrays of NumPy, each with what is tested and with the types that are asked for."""
    for event in context.bodies.named("isinstance"):
        kinds = _kinds(context, event.node.args[1], event.scope) if len(event.node.args) == 2 else []
        if not kinds:
            continue
        if event.scope.module in context.asked:
            yield event.scope, event.node, event.node.args[0], kinds
        yield from _by_helper(context, event, kinds)
    for scope, node in each(context, ast.Compare):
        left = node.left
        if (
            not isinstance(left, ast.Call)
            or len(left.args) != 1
            or last_word(left.func) != "type"
            or len(node.ops) != 1
        ):
            continue
        if isinstance(node.ops[0], ast.Is | ast.Eq) and (kinds := _kinds(context, node.comparators[0], scope)):
            yield scope, node, left.args[0], kinds


def _by_helper(
    context: Context, event: CallEvent, kinds: list[str]
) -> Iterator[tuple[Scope, ast.expr, ast.expr, list[str]]]:
    """Yield the calls of a function that gives nothing but the test of its only parameter."""
    function = event.scope.function
    if function is None or formula_of(context, function) is not event.node or len(function.params) != 1:
        return
    tested = event.value.args[0]
    if not isinstance(tested, Param) or tested.function is not function:
        return
    for caller in callers_of(context, function):
        given = caller.node.args
        if caller.scope.module in context.asked and len(given) == 1 and not isinstance(given[0], ast.Starred):
            yield caller.scope, caller.node, given[0], kinds


def _kinds(context: Context, node: ast.expr, scope: Scope) -> list[str]:
    """Return the types of NumPy, and of Python, that are asked for; none if there is another one, or none of NumPy."""
    found: list[str] = []
    parts = elements(node) if isinstance(node, ast.Tuple) else [node]
    if isinstance(node, ast.Name):
        made = context.flow.resolve(at(context, node, scope)).value
        if isinstance(made, Sequence) and isinstance(made.node, ast.Tuple):
            parts = elements(made.node)
    for part in parts:
        kind = context.flow.resolve(at(context, part, scope)).value
        name = kind.name if isinstance(kind, Ref) else ""
        if name not in _NUMPY and name not in _BUILTIN:
            return []
        found.append(name)
    return found if "numpy.ndarray" in found else []


def _arrays(context: Context, tested: ast.expr, scope: Scope, kinds: list[str]) -> bool:
    """Say whether a tested value is an array of JAX on some way, and none of the types on all others."""
    given = at(context, tested, scope)
    found: set[str] = set()
    for source in context.sources.originals(given):
        found |= _kind(context, source, kinds, 0)
    return _JAX in found and _UNKNOWN not in found


def _kind(context: Context, source: Bound, kinds: list[str], depth: int) -> set[str]:
    """Return what a value may be: an array of JAX, or something else that no test is true of."""
    value = source.value
    if depth > _DEPTH:
        return {_UNKNOWN}
    if isinstance(value, Const):
        return {_UNKNOWN if any(isinstance(value.value, _BUILTIN.get(kind, ())) for kind in kinds) else _OTHER}
    if isinstance(value, Mapping | Function):
        return {_OTHER}
    if isinstance(value, Sequence):
        return {_UNKNOWN if {"builtins.list", "builtins.tuple"} & {*kinds} else _OTHER}
    if isinstance(value, Unknown):
        return _operation(context, source, value.node, kinds, depth)
    if isinstance(value, Param):
        return _mapped(context, value, kinds, depth)
    if isinstance(value, Item | Indexed | Round):
        return _entry(context, source, value, kinds, depth)
    return {_called(context, source, value, depth)} if isinstance(value, Call) else {_UNKNOWN}


def _called(context: Context, source: Bound, value: Call, depth: int) -> str:
    name = context.flow.calls.callee_name(source)
    if name:
        if name.startswith(_SPACES) and last(name) not in _OTHERS and last(name)[:1].islower():
            return _JAX if name.count(".") <= 2 + name.startswith(("jax.numpy.", "jax.scipy.")) else _UNKNOWN
        return _UNKNOWN
    callee = context.flow.resolve(context.flow.with_value(source, value.callee))
    if isinstance(callee.value, Call):  # jax.grad(f)(x)
        made = context.flow.calls.callee_name(callee)
        if made == "jax.jit" and callee.value.args:
            inner = context.flow.resolve(context.flow.with_value(callee, callee.value.args[0])).value
            plain = isinstance(inner, Ref) and inner.name.startswith(_SPACES) and last(inner.name) not in _OTHERS
            return _JAX if plain else _UNKNOWN
        return _JAX if made in {"jax.grad"} and _one_array(context, source, value, depth) else _UNKNOWN
    if isinstance(value.callee, Attr):
        base = value.callee
        if base.name in {"set", "add", "multiply", "min", "max"} and isinstance(base.base, Item):
            at_ = base.base.base
            if isinstance(at_, Attr) and at_.name == "at":
                return _JAX
        if base.name in ARRAY_METHODS - {"item", "tolist", "tobytes", "copy", "dump", "dumps"}:
            inner_kinds = _every(context, context.flow.with_value(source, base.base), [], depth + 1)
            return _JAX if inner_kinds == {_JAX} else _UNKNOWN
    return _UNKNOWN


def _one_array(context: Context, source: Bound, value: Call, depth: int) -> bool:
    """Say whether the first argument, in whose form gradients come, is one array."""
    if not value.args or value.starred:
        return False
    return _every(context, context.flow.with_value(source, value.args[0]), [], depth + 1) == {_JAX}


def _every(context: Context, bound: Bound, kinds: list[str], depth: int) -> set[str]:
    found: set[str] = set()
    for source in context.sources.originals(bound) if depth <= _DEPTH else ():
        found |= _kind(context, source, kinds, depth + 1)
    return found or {_UNKNOWN}


def _operation(context: Context, source: Bound, node: ast.AST, kinds: list[str], depth: int) -> set[str]:
    """Return what arithmetic gives: an array of JAX if one operand is one, whatever number or array the other is."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    else:
        return {_UNKNOWN}
    if context.shared(overloading):
        return {_UNKNOWN}
    sides = [_every(context, operand(context, source, one), kinds, depth + 1) for one in parts]
    return {_JAX} if {_JAX} in sides else {_UNKNOWN}


def _mapped(context: Context, param: Param, kinds: list[str], depth: int) -> set[str]:
    """Return what the parameter of a function is that ``jax.tree.map`` gives the leaves of a tree, one by one."""
    calls = [call for call in context.shared(_maps) if call[0] is param.function]
    if len(calls) != 1 or position(param) != 0:
        return {_UNKNOWN}
    found: set[str] = set()
    for tree in context.sources.originals(calls[0][1]):
        found |= _leaves(context, tree, kinds, depth + 1)
    return found or {_UNKNOWN}


def _maps(context: Context) -> list[tuple[object, Bound]]:
    """Return the functions that ``jax.tree.map`` runs over one tree, with that tree."""
    found: list[tuple[object, Bound]] = []
    for event, name in foreign(context, "map", "tree_map", everywhere=True):
        if name in TREE_MAPS and len(event.value.args) == 2 and not event.value.starred:
            function = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            if isinstance(function, Function):
                found.append((function.facts, context.flow.here(event.value.args[1], event.scope)))
    return found


def _leaves(context: Context, tree: Bound, kinds: list[str], depth: int) -> set[str]:
    """Return what the leaves of a tree are."""
    value = tree.value
    if depth > _DEPTH:
        return {_UNKNOWN}
    if isinstance(value, Mapping | Sequence):
        items = [one for _, one in value.items] if isinstance(value, Mapping) else [*value.items]
        found: set[str] = set()
        for one in items:
            for source in context.sources.originals(context.flow.with_value(tree, one)):
                found |= _leaves(context, source, kinds, depth + 1)
        return found if items and not any(isinstance(one, Star) for one in items) else {_UNKNOWN}
    if isinstance(value, Call) and context.flow.calls.callee_name(tree) == "flax.nnx.state":
        return {_JAX}
    return _kind(context, tree, kinds, depth)


def _entry(context: Context, source: Bound, value: Value, kinds: list[str], depth: int) -> set[str]:
    """Return what an entry of ``**kwargs`` is, over all calls of the function; others are not known."""
    while isinstance(value, Item | Indexed | Round):
        value = value.base
    node = value.node if isinstance(value, Unknown) else None
    frame = source.frame
    function = frame.function if frame is not None else None
    if function is None or function.node is not node or function.kwarg is None or function.vararg is not None:
        return {_UNKNOWN}
    found: set[str] = set()
    for caller in callers_of(context, function):
        if caller.value.starred or any(k.arg is None for k in caller.node.keywords):
            return {_UNKNOWN}
        for word, one in caller.value.keywords:
            if word not in function.params:
                found |= _every(context, context.flow.here(one, caller.scope), kinds, depth + 1)
    return found or {_UNKNOWN}


def _meant(context: Context, node: ast.expr, tested: ast.expr, scope: Scope) -> bool:
    """Say whether a test that is never true does no harm: arrays of JAX are served elsewhere, or need nothing."""
    if _handled(context, scope, node, tested):
        return True
    above = around(context, scope)
    child: ast.AST = node
    up, turned = above.get(child), False
    while isinstance(up, ast.UnaryOp | ast.BoolOp | ast.NamedExpr):
        if isinstance(up, ast.BoolOp) and isinstance(up.op, ast.And if turned else ast.Or):
            return True
        turned ^= isinstance(up, ast.UnaryOp) and isinstance(up.op, ast.Not)
        child, up = up, above.get(up)
    if isinstance(up, ast.Assert):
        return turned or _wanted(context, node, scope)
    if isinstance(up, ast.comprehension):
        return turned
    if not isinstance(up, ast.If | ast.IfExp) or up.test is not child:
        return True
    ways: list[list[ast.AST]]
    if isinstance(up, ast.IfExp):
        ways = [[up.body], [up.orelse]]
    else:
        if turned and isinstance(up.body[0], ast.Raise):
            return _wanted(context, node, scope)
        block = above.get(up) or (scope.function.node if scope.function is not None else scope.module.source.tree)
        ways = [[*up.body], [*up.orelse, *(_after(block, up) if _leaves_body(up.body) else ())]]
    then, other = reversed(ways) if turned else ways
    return _harmless(then, other, ast.unparse(tested))


def _wanted(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an error is caught, to be shown."""
    return any(error_wanted(context, event) for event in context.bodies.calls.get(scope, ()) if event.node is node)


def _harmless(then: list[ast.AST], other: list[ast.AST], name: str) -> bool:
    """Say whether what is never done is not needed for arrays of JAX, or what is done instead serves them."""
    texts = ["\n".join(map(ast.unparse, part)) for part in (then, other)]
    if not then or _TURNED.search(texts[0]) or all(isinstance(one, ast.Pass | ast.Continue) for one in then):
        return True
    if all(isinstance(one, ast.Raise) for one in then) or texts[0] == name:
        return True
    return bool(_SERVED.search(texts[1]))


def _leaves_body(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _after(above: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements behind one in its block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(above, field, None)
        if isinstance(block, list) and statement in block:
            return block[block.index(statement) + 1 :]
    return []


# what tells arrays of JAX too, or turns them into some of NumPy
_ALSO = frozenset({"hasattr", "is_array", "isarray", "is_jax_array", "is_array_like", "asarray", "array", "device_get"})
_OF_JAX = pattern(r"Array|Tracer|jnp\.ndarray|jax\.numpy\.ndarray")


def _handled(context: Context, scope: Scope, test: ast.expr, tested: ast.expr) -> bool:
    """Say whether a body tests for arrays of JAX too, or for what they have, or turns the value before."""
    name = ast.unparse(tested)
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Call) or node is test:
            continue
        word = last_word(node.func)
        if not node.args or ast.unparse(node.args[0]) != name:
            continue
        if word in _ALSO:
            return True
        if word in {"isinstance", "issubclass"} and len(node.args) == 2 and _OF_JAX.search(ast.unparse(node.args[1])):
            return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np


def summary(value):
    if isinstance(value, np.ndarray):
        return {"mean": float(value.mean()), "max": float(value.max())}
    return {"value": value}


losses = jax.vmap(lambda x: x**2)(jnp.arange(4.0))
print(sorted(summary(losses)))
"""

RULE = lint_rule(
    "NNX515",
    "not-numpy-array",
    "a test for np.ndarray that gets arrays of JAX alone",
    why="""\
An array of JAX is no `np.ndarray`: `isinstance(x, np.ndarray)` is False for it, and the branch that was meant for
arrays is never taken. `isinstance(x, (np.ndarray, jax.Array))` asks for both, and is true of traced arrays as well.
Reported where arrays of JAX come there and none of NumPy; a branch that only turns arrays of NumPy into others is left
alone.
""",
    source="jax-ml/jax#8701, #2115; measured on Flax 0.11.2 and 0.12.8: the branch is never taken",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("value, np.ndarray", "value, (np.ndarray, jax.Array)"),),
)
