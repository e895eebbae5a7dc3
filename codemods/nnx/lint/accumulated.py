"""NNX793: sown values of all steps that are read as those of one, since nothing takes them away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.first_sown import first_reads
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.owners import plain_module
from codemods.nnx.lint.places import callers_of, in_test
from codemods.nnx.lint.syntax import constant, inside, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Class, Const, Free, Item, Param, Ref, Value

# where a project says one of these, sown values may be taken away
_TAKING = (b"nnx.pop", b"nn.pop", b"import pop", b"nnx.capture", b"import capture", b"clear_intermediates", b"delattr")
# what may make another model of it, or write something else into its Variables
_COPYING = (b".merge(", b".clone(", b"deepcopy(", b"nnx.update(", b"nn.update(", b"nnx.view", b"set_attributes")
# transforms that leave in the model what is sown within
_LASTING = frozenset(f"flax.nnx.{name}" for name in ("jit", "grad", "value_and_grad", "remat", "checkpoint"))
_KEEPING = frozenset(
    {"leaves", "tree_leaves", "map", "tree_map", "flatten", "stack", "array", "asarray", "concatenate", "hstack",
     "list", "tuple", "values", "to_pure_dict", "ravel", "mean", "sum", "square", "float32", "get_value", "astype"}
)  # fmt: skip
_READING = frozenset({"value", "raw_value", "get_value"})
_JOINING = frozenset({"sum", "mean", "reduce", "tree_reduce", "fsum", "tree_sum", "max", "average"})
_LEVELS = 6  # of functions between a loop and what it calls
_DEPTH = 4  # of modules in modules


class _Sown(NamedTuple):
    """A value that a module sows so that the earlier ones stay.

    Attributes:
        event: the call of ``sow``.
        owner: the module's class.
        type: the type of the Variable.
        name: the attribute.
        added: whether the values are summed up, and not kept in a tuple.
    """

    event: CallEvent
    owner: ClassFacts
    type: Value
    name: str
    added: bool


def _check(context: Context) -> Iterator[Finding]:
    sown = [found for event in context.bodies.named("sow") if (found := _sown(context, event)) is not None]
    if not sown:
        return
    taking = any(word in m.source.data for m in context.project.modules for word in _TAKING)
    for scope, node in first_reads(context, taking):
        yield finding(
            RULE.code,
            scope,
            node,
            "nothing takes away here what the model sows, and this is what its first call sowed",
            "take it away after each call: nnx.pop(model, nnx.Intermediate)",
        )
    if taking:
        return
    sown = [one for one in sown if not _begun_anew(context, one.name)]
    seen: set[ast.AST] = set()
    for read in _reads(context, sown):
        if read.node in seen or in_test(read.scope) or read.scope.module not in context.asked:
            continue
        seen.add(read.node)
        if (read.first or _joined(context, read.node, read.scope, read.added)) and _in_loop(context, read):
            what = "is what the first step sowed" if read.first else "holds what every step before has sown as well"
            yield finding(
                RULE.code,
                read.scope,
                read.node,
                f"nothing takes away what the model sows, and this {what}",
                "take it away in every step, as it is read: nnx.pop(model, nnx.Intermediate)",
            )


class _Read(NamedTuple):
    """A place that reads what was sown.

    Attributes:
        node: the expression.
        scope: its body.
        models: where the model comes from that it is read of.
        added: whether the values were summed up already.
        first: whether it reads the first value alone.
    """

    node: ast.expr
    scope: Scope
    models: tuple[Bound, ...]
    added: bool = False
    first: bool = False


def _sown(context: Context, event: CallEvent) -> _Sown | None:
    """Return what a call of ``self.sow`` leaves in its module, if that grows with every call."""
    function, call = event.scope.function, event.value
    if function is None or function.owner is None or call.starred or not plain_module(context, function.owner):
        return None
    if not isinstance(call.callee, Attr) or call.callee.base is not function.self_param:
        return None
    kind, name, reduce = call.argument(0, "variable_type"), call.argument(1, "name"), call.argument(3, "reduce_fn")
    if kind is None or not isinstance(name, Const) or not isinstance(name.value, str):
        return None
    blocks = (block for block, _ in context.bodies.paths(event.scope).get(event.node, ()) if isinstance(block, ast.If))
    if any(name.value in (text := ast.unparse(block.test)) or "hasattr" in text for block in blocks):
        return None
    added = reduce is not None
    if added and not _adds(event):
        return None
    found = context.flow.resolve(context.flow.here(kind, event.scope)).value
    return _Sown(event, function.owner, found, name.value, added) if isinstance(found, Ref | Class) else None


def _adds(event: CallEvent) -> bool:
    """Say whether the function of a ``sow`` that joins the old value with the new one adds them."""
    given = keyword(event.node, "reduce_fn")
    if given is None or any(k.arg == "init_fn" and not isinstance(k.value, ast.Lambda) for k in event.node.keywords):
        return False
    if isinstance(given, ast.Lambda):
        names, body = [arg.arg for arg in given.args.args], given.body
        return (
            isinstance(body, ast.BinOp)
            and isinstance(body.op, ast.Add)
            and all(isinstance(part, ast.Name) for part in (body.left, body.right))
            and sorted(names) == sorted([ast.unparse(body.left), ast.unparse(body.right)])
        )
    return ast.unparse(given) in {"operator.add", "jnp.add", "jax.numpy.add"}


def _begun_anew(context: Context, name: str) -> bool:
    """Say whether some code binds or deletes the attribute that a module sows into, or names it otherwise."""
    return any(event.node.attr == name and event.context != "load" for event in context.project.attributes())


def _reads(context: Context, sown: list[_Sown]) -> Iterator[_Read]:
    """Yield the places that read all of what some module has sown."""
    for event in context.bodies.named("state"):
        if context.flow.calls.name(event) == "flax.nnx.state" and len(event.value.args) == 2:
            yield from _selected(context, sown, event, event.node, event.value.args[1])
    for event in context.bodies.named("split"):
        statement, args = event.statement, event.value.args
        if len(args) < 3 or context.flow.calls.name(event) != "flax.nnx.split" or event.value.starred:
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in target.elts):
            for part, chosen in zip(target.elts[1:], args[1:], strict=False):
                if isinstance(part, ast.Name):
                    yield from _selected(context, sown, event, part, chosen)
    names = {one.name for one in sown}
    for loaded in context.project.attributes():
        if loaded.context == "load" and loaded.node.attr in names:
            yield from _direct(context, sown, loaded)


def _selected(context: Context, sown: list[_Sown], event: CallEvent, node: ast.expr, chosen: Value) -> Iterator[_Read]:
    """Yield the part of a model that a filter selects, if that is what its layers sow."""
    kind = context.flow.resolve(context.flow.here(chosen, event.scope)).value
    of_type = [one for one in sown if _same(one.type, kind)]
    if not of_type:
        return
    models = tuple(context.sources.originals(context.flow.here(event.value.args[0], event.scope)))
    if models and all(any(_holds(context, m, one.owner, 0) for one in of_type) for m in models):
        yield _Read(node, event.scope, models, all(one.added for one in of_type))
        if not any(one.added for one in of_type):
            names = {one.name for one in of_type}
            yield from (
                _Read(one, event.scope, models, first=True) for one in _first(context, node, event.scope, names)
            )


def _first(context: Context, node: ast.expr, scope: Scope, names: set[str]) -> Iterator[ast.expr]:
    """Yield where the first value is taken of a state, or of the variable that gets one: ``state["name"].value[0]``."""
    above_of = around(context, scope)
    above = above_of.get(node)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    variable = node if isinstance(node, ast.Name) else target
    starts: list[ast.expr] = [] if isinstance(node, ast.Name) else [node]
    if isinstance(variable, ast.Name):
        if len(context.bodies.stores(scope, variable.id)) != 1:
            return
        starts = [*context.bodies.reads(scope, variable.id)]
    for start in starts:
        child, up, named = start, above_of.get(start), False
        if isinstance(up, ast.Call) and last_word(up.func) in {"leaves", "tree_leaves"} and up.args[:1] == [start]:
            picked = above_of.get(up)
            if isinstance(picked, ast.Subscript) and constant(picked.slice) == 0 and not up.keywords:
                yield picked
            continue
        while isinstance(up, ast.Attribute | ast.Subscript) and up.value is child:
            word = up.attr if isinstance(up, ast.Attribute) else constant(up.slice)
            if named and word == 0 and isinstance(up, ast.Subscript):
                yield up
                break
            if named and word is not Ellipsis and not (isinstance(word, str) and word in _READING):
                break
            named = named or (isinstance(word, str) and word in names)
            child, up = up, above_of.get(up)
            if named and isinstance(up, ast.Call) and up.func is child and not up.args:
                child, up = up, above_of.get(up)


def _direct(context: Context, sown: list[_Sown], event: AttrEvent) -> Iterator[_Read]:
    """Yield where the attribute that a module sows into is read by its name."""
    holders = tuple(context.sources.originals(context.flow.here(event.base, event.scope)))
    classes = {context.flow.classes.class_of(one) for one in holders}
    found = [one for one in sown if one.name == event.node.attr and classes == {one.owner}]
    if not found or event.scope.function in found[0].owner.methods.values():
        return
    value: Value = event.base
    while isinstance(value, Attr | Item):
        value = value.base
    models = tuple(context.sources.originals(context.flow.here(value, event.scope)))
    if not models or any(context.flow.classes.class_of(one) is None for one in models):
        return
    node, above = _variable(context, event)
    if found[0].added:
        yield _Read(node, event.scope, models, added=True)
    elif isinstance(above, ast.Subscript) and above.value is node:
        if constant(above.slice) == 0:
            yield _Read(above, event.scope, models, first=True)
    else:
        yield _Read(node, event.scope, models)


def _variable(context: Context, event: AttrEvent) -> tuple[ast.expr, ast.AST | None]:
    """Return the expression of a Variable's value, as ``v.value`` or ``v[...]``, and what stands around it."""
    above_of = around(context, event.scope)
    node: ast.expr = event.node
    above = above_of.get(node)
    if isinstance(above, ast.Attribute) and above.attr in {"value", "raw_value", "get_value"}:
        node, above = above, above_of.get(above)
        if isinstance(above, ast.Call) and above.func is node:
            node, above = above, above_of.get(above)
    elif isinstance(above, ast.Subscript) and constant(above.slice) is Ellipsis:
        node, above = above, above_of.get(above)
    return node, above


def _same(one: Value, two: Value) -> bool:
    if isinstance(one, Class) and isinstance(two, Class):
        return one.facts is two.facts
    return one == two


def _holds(context: Context, made: Bound, owner: ClassFacts, depth: int) -> bool:
    """Say whether an object is, or has a layer, of a class."""
    cls = context.flow.classes.class_of(made) if isinstance(made.value, Call) and depth <= _DEPTH else None
    if cls is None:
        return False
    if owner in context.flow.classes.mro(cls)[0]:
        return True
    return any(
        _holds(context, part, owner, depth + 1)
        for parent in context.flow.classes.mro(cls)[0]
        for stores in parent.stores.values()
        for function, value in stores
        for part in _layers(context, context.flow.here(value, function.scope))
    )


def _layers(context: Context, held: Bound) -> Iterator[Bound]:
    """Yield the layers in an attribute, also those of an ``nnx.List`` or ``nnx.Dict``."""
    for part in parts(context, held):
        if isinstance(part.value, Call) and context.flow.calls.callee_name(part) in {"flax.nnx.List", "flax.nnx.Dict"}:
            for given in part.value.given:
                yield from parts(context, context.flow.with_value(part, given))
        else:
            yield part


def _joined(context: Context, node: ast.expr, scope: Scope, added: bool, depth: int = 0) -> bool:
    """Say whether all values in a tree are made one, in some use of it.

    Args:
        context: the analysis.
        node: the expression that has the tree, or the variable that gets it.
        scope: its body.
        added: whether the tree holds sums, so that any of its leaves is one over all steps.
        depth: through how many variables and functions the tree went.
    """
    above_of = around(context, scope)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        if depth > _DEPTH or len(context.bodies.stores(scope, node.id)) != 1:
            return False
        reads = context.bodies.reads(scope, node.id)
        return any(_joined(context, one, scope, added, depth + 1) for one in reads)
    child: ast.AST = node
    above = above_of.get(child)
    while above is not None:
        if isinstance(above, ast.Call):
            word = last_word(above.func)
            if word in _JOINING and child is not above.func and not _chooses(above):
                return True
            if word not in _KEEPING or _chooses(above):
                return False
        elif isinstance(above, ast.comprehension):
            if above.ifs or above.iter is not child:
                return False
        elif isinstance(above, ast.GeneratorExp | ast.ListComp):
            if any(isinstance(n, ast.Subscript) for n in ast.walk(above.elt)):
                return False
        elif isinstance(above, ast.For):
            return above.iter is child and _summed(above)
        elif isinstance(above, ast.Subscript):
            if not added or above.value is not child:
                return False
        elif isinstance(above, ast.BinOp | ast.AugAssign):
            return added
        elif isinstance(above, ast.Assign):
            target = above.targets[0]
            if len(above.targets) != 1 or not isinstance(target, ast.Name):
                return False
            return above.value is child and _joined(context, target, scope, added, depth + 1)
        elif isinstance(above, ast.Return):
            return depth <= _DEPTH and _given_back(context, scope, added, depth)
        elif not isinstance(above, ast.Attribute | ast.keyword):
            return False
        child, above = above, above_of.get(above)
    return False


def _chooses(call: ast.Call) -> bool:
    """Say whether a call may take a part of each tuple, by a function or as it says what leaves are."""
    return any(k.arg == "is_leaf" for k in call.keywords) or any(
        isinstance(n, ast.Subscript) for one in call.args if isinstance(one, ast.Lambda) for n in ast.walk(one)
    )


def _given_back(context: Context, scope: Scope, added: bool, depth: int) -> bool:
    if scope.function is None or len(scope.function.returns) != 1:
        return False
    return any(_joined(context, one.node, one.scope, added, depth + 1) for one in callers_of(context, scope.function))


def _summed(loop: ast.For) -> bool:
    """Say whether every round of a loop adds its element, or a part of it, to something."""
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    if any(isinstance(n, ast.Break | ast.Continue | ast.If | ast.Subscript) for n in ast.walk(loop)):
        return False
    return any(
        isinstance(n, ast.AugAssign)
        and isinstance(n.op, ast.Add)
        and any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(n.value))
        for n in loop.body
    )


def _in_loop(context: Context, read: _Read) -> bool:
    """Say whether a loop runs the model and the code that reads, in every round the model that was made before it."""
    made = {one.value for one in read.models}
    makers = [one.frame.function.scope for one in read.models if one.frame is not None]
    if not all(isinstance(one, Call) for one in made) or any(map(_copies, (read.scope, *makers))):
        return False
    above_of, above = around(context, read.scope), read.node
    while (outer := above_of.get(above)) is not None:
        if isinstance(outer, ast.For | ast.While) and above is not getattr(outer, "iter", None):
            return any(
                outer in call.loops and call.node is not read.node and _runs(context, call, made)
                for call in context.bodies.calls.get(read.scope, ())
            ) and not any(_within(one, outer) for one in made)
        above = outer  # type: ignore[assignment]
    functions = [read.scope.function] if read.scope.function is not None else []
    seen: list[FunctionFacts] = []
    for _ in range(_LEVELS):
        higher: list[FunctionFacts] = []
        for function in functions:
            if function in context.shared(_losing):
                continue
            seen.append(function)
            parent = function.scope.parent.function if function.scope.parent is not None else None
            higher += [parent] if parent is not None else []
            for call in callers_of(context, function):
                loop = next((one for one in reversed(call.loops) if isinstance(one, ast.For | ast.While)), None)
                if loop is None:
                    higher += [call.scope.function] if call.scope.function is not None else []
                elif _lasting(context, call, loop, read) and (
                    any(_forward(context, one, made) for one in seen)
                    or any(loop in e.loops and _runs(context, e, made) for e in context.bodies.calls[call.scope])
                ):
                    return True
        functions = [one for one in dict.fromkeys(higher) if one not in seen]
    return False


def _copies(scope: Scope) -> bool:
    return any(map(scope.module.source.mentions, _COPYING))


def _losing(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions under transforms that throw away, or may not keep, what is sown within."""
    roots = (*context.traced.roots, *context.traced.gradients)
    return frozenset(root.function for root in roots if root.transform not in _LASTING)


def _forward(context: Context, function: FunctionFacts, made: set[Value], depth: int = 0) -> bool:
    """Say whether a function, or one that it calls, runs one of some models."""
    return any(
        _runs(context, event, made)
        or (
            depth < 1
            and any(
                _forward(context, callee.function, made, depth + 1)
                for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
                if callee.function.owner is None
            )
        )
        for event in context.bodies.calls.get(function.scope, ())
    )


def _runs(context: Context, event: CallEvent, made: set[Value]) -> bool:
    """Say whether a call is one of a model."""
    called = [one.value for one in context.sources.originals(context.flow.here(event.value.callee, event.scope))]
    return bool(called) and all(one in made for one in called)


def _lasting(context: Context, call: CallEvent, loop: ast.AST, read: _Read) -> bool:
    """Say whether the same model is meant in every round of a loop, by what a call there is given or belongs to."""
    made = {one.value for one in read.models}
    if in_test(call.scope) or _copies(call.scope) or any(_within(one, loop) for one in made):
        return False
    if all(one.frame is None for one in read.models):
        return True  # a global
    callee = call.value.callee
    owner = callee.base if isinstance(callee, Attr) else None
    values = [*call.value.given, *([owner] if owner is not None else [])]
    for value in values:
        root = value
        while isinstance(root, Attr):
            root = root.base
        if not isinstance(root, Param | Free) and varies(root, loop):
            continue
        passed = [one.value for one in context.sources.originals(context.flow.here(value, call.scope))]
        if passed and all(one in made for one in passed):
            return True
        if value is owner and _kept(context, call, made):
            return True
    return False


def _kept(context: Context, call: CallEvent, made: set[Value]) -> bool:
    """Say whether a method belongs to a class whose constructor alone puts one of some models into an attribute."""
    owners = {
        one.function.owner for one in context.flow.calls.callables(context.flow.here(call.value.callee, call.scope))
    }
    return any(
        len(stores) == 1 and stores[0][0].name == "__init__" and found and all(one.value in made for one in found)
        for owner in owners
        if owner is not None
        for stores in owner.stores.values()
        if (found := context.sources.originals(context.flow.here(stores[0][1], stores[0][0].scope)))
    )


def _within(made: Value, loop: ast.AST) -> bool:
    return isinstance(made, Call) and inside(made.node, loop)


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Gated(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.gate = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        gate = nnx.sigmoid(self.gate(x))
        self.sow(nnx.Intermediate, "openness", jnp.mean(gate))
        return x * gate


def loss_fn(model, x):
    y = model(x)
    penalty = sum(jax.tree.leaves(nnx.state(model, nnx.Intermediate)))
    return jnp.mean(y**2) + 0.1 * penalty


@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x)
    optimizer.update(model, grads)
    return loss


model = Gated(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
for i in range(5):
    step(model, optimizer, jnp.ones((2, 4)) * i)
"""

RULE = lint_rule(
    "NNX793",
    "accumulated-sow",
    "sown values are read in every step, and those of the steps before are still there",
    why="""\
`Module.sow` adds to what is there: a tuple gets one value more with every call, and the Variable stays in the model. A
loss that sums what `nnx.state(model, nnx.Intermediate)` gives sums the values of all steps so far, so that it grows
while the values stay as they are; `[0]` is for ever what the first step sowed. `nnx.pop` gives the values and takes
them out of the model; `sow(..., reduce_fn=lambda old, new: new)` keeps the last one alone.
""",
    source="google/flax#5116; measured on Flax 0.10.7, 0.11.2 and 0.12.8: the sum of five steps is fivefold",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("nnx.state(model", "nnx.pop(model"),),
)
