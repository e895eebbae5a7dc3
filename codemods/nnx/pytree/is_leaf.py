"""NNX301: tree functions of JAX descend into NNX objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.pytree.contents import TESTS, Contents
from codemods.nnx.pytree.functions import SHORT_NAMES, TreeFunction, tree_function
from codemods.nnx.pytree.leaf_use import changes_arrays_alone, wants_arrays
from codemods.nnx.rewrite import RewriteError, add_keyword, replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Const, Free, ModuleRef, Ref, Value

_MESSAGE = "since Flax 0.11 NNX objects are pytrees, so this call takes {objects} apart instead of keeping them whole"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every tree function that reaches an NNX object it used to keep whole."""
    if not context.options.crosses("0.11"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    contents = Contents(context)
    for event in context.asked.calls():
        function = _called(context, event)
        if function is None or event.value.starred:
            continue
        tree = function.tree_of(event.value)
        if tree is None:
            continue
        bound = context.flow.here(tree, event.scope)
        names = contents.of(bound)
        if names and not _for_arrays(context, contents, event, function, bound):
            yield from _report(context, event, function, names)


def _called(context: Context, event: CallEvent) -> TreeFunction | None:
    callee = event.value.callee
    if not isinstance(callee, Attr | Free | Ref) or (isinstance(callee, Attr) and callee.name not in SHORT_NAMES):
        return None
    if isinstance(callee, Free) and _short(event.node.func) not in SHORT_NAMES and not _imported(callee):
        return None
    return tree_function(context.flow.calls.name(event))


def _short(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _imported(callee: Free) -> bool:
    """Say whether a global name comes from an import, perhaps under another name, or from an assignment of one."""
    values = callee.scope.bindings.get(callee.name, ())
    return any(isinstance(v, Attr) and (isinstance(v.base, ModuleRef) or v.name in SHORT_NAMES) for v in values)


def _for_arrays(context: Context, contents: Contents, event: CallEvent, function: TreeFunction, tree: Bound) -> bool:
    """Say whether the call is made for the arrays in the objects, which only works since 0.11."""
    if function.maps and event.value.args:
        mapped = context.flow.here(event.value.args[0], event.scope)
        if changes_arrays_alone(context.flow, mapped) and contents.alone(tree):
            return True
        return wants_arrays(context.flow, mapped, _short(event.node.func).endswith("with_path"))
    return contents.bare(tree) and _iterated(event)


def _iterated(event: CallEvent) -> bool:
    """Say whether the leaves are looped over, as only those of a whole model are."""
    loops = (node for node in ast.walk(event.statement) if isinstance(node, ast.comprehension | ast.For))
    return any(loop.iter is event.node for loop in loops)


def _report(context: Context, event: CallEvent, function: TreeFunction, names: tuple[str, ...]) -> Iterator[Finding]:
    given = function.leaf_test(event.value)
    absent = given is None or (isinstance(given, Const) and given.value is None)
    if given is not None and not absent and _stops(context, event, given, names):
        return
    edits = _edits(context, event, given, names)
    path = event.scope.module.source.path
    yield finding(
        "NNX301",
        event.scope,
        event.node,
        _MESSAGE.format(objects=" and ".join(_PLURALS.get(name, f"{name} objects") for name in names)),
        "pass is_leaf=lambda x: " + " or ".join(f"isinstance(x, nnx.{name})" for name in names),
        Fix(tuple((path, edit) for edit in edits)) if edits else None,
    )


_PLURALS = {"Module": "modules", "Optimizer": "optimizers", "Metric": "metrics", "Pytree": "NNX objects"}


def _stops(context: Context, event: CallEvent, given: Value, names: tuple[str, ...]) -> bool:
    """Say whether an ``is_leaf`` ends at the objects already."""
    callees = context.flow.calls.callables(context.flow.here(given, event.scope))
    tested = {name for callee in callees for name in _tested(context, callee.function)}
    return bool(tested & {"Pytree", "Object"}) or set(names) <= tested


def _tested(context: Context, function: FunctionFacts) -> Iterator[str]:
    """Yield the classes of ``flax.nnx`` that a function tests for; a class of the user's counts as its base."""
    flow = context.flow
    for event in function.scope.module.calls:
        if event.scope is not function.scope or len(event.value.args) != 2:
            continue
        if flow.calls.name(event) != "builtins.isinstance":
            continue
        classes = flow.resolve(flow.here(event.value.args[1], event.scope))
        for member in list(flow.containers.elements(classes)) or [classes]:
            resolved = flow.resolve(member).value
            if isinstance(resolved, Ref) and resolved.name.startswith("flax.nnx."):
                yield resolved.name.removeprefix("flax.nnx.")
            yield from (TESTS[kind] for kind in context.kinds.class_kinds(member) if kind in TESTS)


def _edits(context: Context, event: CallEvent, given: Value | None, names: tuple[str, ...]) -> list[Edit]:
    """Return the edits that add the test, or none if it cannot be written here."""
    if "Pytree" in names and "0.10" in context.options.targets:
        return []
    spellings = [spell(context.flow, event.scope, name) for name in names]
    if any(s is None for s in spellings) or _takes_path(event):
        return []
    found = [s for s in spellings if s is not None]
    classes = found[0].text if len(found) == 1 else "(" + ", ".join(s.text for s in found) + ")"
    imports = [edit for s in found for edit in s.edits]
    source = event.scope.module.source
    node = _leaf_node(event, given)
    try:
        if node is None:
            return [add_keyword(source, event.node, "is_leaf", f"lambda x: isinstance(x, {classes})"), *imports]
    except RewriteError:
        return []
    if isinstance(node, ast.Constant):
        return [replace(source, node, f"lambda x: isinstance(x, {classes})"), *imports]
    if isinstance(node, ast.Lambda):
        edits = _extended(source, node, classes)
        return [*edits, *imports] if edits else []
    if not context.flow.calls.callables(context.flow.here(given, event.scope)) if given is not None else True:
        return []
    text = source.text(node)
    return [replace(source, node, f"lambda x: {text}(x) or isinstance(x, {classes})"), *imports]


def _takes_path(event: CallEvent) -> bool:
    return event.value.keyword("is_leaf_takes_path") is not None


def _leaf_node(event: CallEvent, given: Value | None) -> ast.expr | None:
    """Return the expression of the ``is_leaf`` that a call gives."""
    if given is None:
        return None
    for keyword in event.node.keywords:
        if keyword.arg == "is_leaf":
            return keyword.value
    return event.node.args[event.value.args.index(given)]


def _extended(source: Source, node: ast.Lambda, classes: str) -> list[Edit]:
    """Return edits that add a test to the body of a lambda."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    if len(arguments) != 1:
        return []
    start, end = source.span(node.body)
    test = f" or isinstance({arguments[0].arg}, {classes})".encode()
    if isinstance(node.body, ast.IfExp | ast.Lambda | ast.NamedExpr):
        return [Edit(start, start, b"("), Edit(end, end, b")" + test)]
    if source.data[start - 1 : start] == b"(" and source.data[end : end + 1] == b")":
        end += 1  # a body in parentheses of its own
    return [Edit(end, end, test)]


RULE = Rule(
    code="NNX301",
    name="tree-is-leaf",
    summary="jax.tree functions over NNX objects without an is_leaf that keeps them whole",
    why="""\
Up to Flax 0.10 modules, optimizers, metrics and Rngs were leaves for JAX. Since 0.11 they are pytrees:
`jax.tree.map(f, modules)` calls `f` with their arrays and builds new modules of the results, mostly without an error,
and `jax.tree.leaves` returns arrays. `is_leaf=lambda x: isinstance(x, nnx.Module)` keeps the old meaning on every
version; metrics, optimizers and Rngs are no modules and are tested for by their own classes. A call whose function
does arithmetic on its argument is left alone: it never was meant for objects.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source='guide "NNX 0.10 to NNX 0.11", section on pytrees; measured on 0.10.7, 0.11.2 and 0.12.8',
    examples=(
        Example(
            before="""\
import jax
from flax import nnx

nets = {"policy": nnx.Linear(2, 4, rngs=nnx.Rngs(0)), "value": nnx.Linear(2, 1, rngs=nnx.Rngs(1))}
names = jax.tree.map(lambda m: type(m).__name__, nets)
print(names["policy"], names["value"], len(jax.tree.leaves(nets)))
""",
            after="""\
import jax
from flax import nnx

nets = {"policy": nnx.Linear(2, 4, rngs=nnx.Rngs(0)), "value": nnx.Linear(2, 1, rngs=nnx.Rngs(1))}
names = jax.tree.map(lambda m: type(m).__name__, nets, is_leaf=lambda x: isinstance(x, nnx.Module))
print(names["policy"], names["value"], len(jax.tree.leaves(nets, is_leaf=lambda x: isinstance(x, nnx.Module))))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

ms = {"a": nnx.metrics.Average(), "b": None}
jax.tree.map(lambda m: m and m.update(values=jnp.ones(1)), ms, is_leaf=lambda x: x is None)
print(float(ms["a"].compute()))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

ms = {"a": nnx.metrics.Average(), "b": None}
jax.tree.map(lambda m: m and m.update(values=jnp.ones(1)), ms, is_leaf=lambda x: x is None or isinstance(x, nnx.Metric))
print(float(ms["a"].compute()))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax
from flax import nnx

layers = [nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 1, rngs=nnx.Rngs(1))]
sizes = jax.tree.map(lambda p: p.size, [nnx.state(layer, nnx.Param) for layer in layers])
print(sum(jax.tree.leaves(sizes)))
""",
            after="""\
import jax
from flax import nnx

layers = [nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 1, rngs=nnx.Rngs(1))]
sizes = jax.tree.map(lambda p: p.size, [nnx.state(layer, nnx.Param) for layer in layers])
print(sum(jax.tree.leaves(sizes)))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
