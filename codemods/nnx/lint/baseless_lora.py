"""NNX794: LoRA parameters that take the place of the layer which they shall adapt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import callers_of, foreign, in_test, kinds_of, passed
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Param

# what of a layer tells its size and type, and not its weights
_FEATURES = frozenset({"in_features", "out_features", "num_features", "features", "dtype", "param_dtype", "use_bias"})
_SIZES = frozenset({"shape", "dtype", "ndim", "size"})
_ASKING = frozenset({"isinstance", "hasattr", "type"})
_OTHERWISE = frozenset({"base_module", "lora_a", "lora_b"})


class _Place(NamedTuple):
    """Where a layer is put.

    Attributes:
        node: the statement or call that puts it there.
        owner: what holds it, as it is written.
        key: the name of the attribute, or what is written for it or for the index.
        target: the expression that is assigned to, if it is one.
    """

    node: ast.AST
    owner: str
    key: str
    target: ast.Attribute | ast.Subscript | None = None


def _check(context: Context) -> Iterator[Finding]:
    if any(e.node.attr in _OTHERWISE and e.context == "store" for e in context.project.attributes()):
        return  # it gets its base, or other matrices, later
    for event, name in foreign(context, "LoRA"):
        call = event.value
        sized = len(call.args) >= 3 or call.argument(2, "out_features") is not None
        if name != "flax.nnx.LoRA" or call.starred or not sized or in_test(event.scope):
            continue
        if any(key in {None, "base_module", "a_initializer", "b_initializer"} for key, _ in call.keywords):
            continue
        if not event.scope.module.source.mentions(b"svd") and any(_replaces(context, event)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "without `base_module` this replaces the layer, and adapts nothing: its weights are lost",
                "pass the layer on: base_module=...",
            )


def _replaces(context: Context, event: CallEvent) -> Iterator[bool]:
    """Yield True for each place at which the new layer takes that of another one, which nothing keeps."""
    place = _placed(context, event.node, event.scope)
    if place is not None:
        yield _lost(context, place, event.scope, ())
        return
    function = event.scope.function
    if function is None or function.returns != [event.value]:
        return
    for caller in callers_of(context, function):
        place = None if caller.value.starred or in_test(caller.scope) else _placed(context, caller.node, caller.scope)
        if place is None:
            continue
        sized = tuple(
            node
            for name, param in function.params.items()
            if _only_sizes(context, event.scope, frozenset({name}))
            for node in _argument(caller, param)
        )
        yield _lost(context, place, caller.scope, sized)


def _argument(caller: CallEvent, param: Param) -> Iterator[ast.expr]:
    """Yield the expression that a call gives for a parameter."""
    given = passed(caller, param)
    pairs = [*zip(caller.node.args, caller.value.args, strict=False)]
    pairs += [(k.value, v) for k, (_, v) in zip(caller.node.keywords, caller.value.keywords, strict=False)]
    yield from (node for node, value in pairs if value is given)


def _placed(context: Context, node: ast.AST, scope: Scope) -> _Place | None:
    """Return where the result of a call is put into another object, itself or by a variable that does nothing else."""
    above = around(context, scope).get(node)
    if isinstance(above, ast.Assign) and above.value is node and len(above.targets) == 1:
        target = above.targets[0]
        if isinstance(target, ast.Attribute):
            return _Place(above, ast.unparse(target.value), repr(target.attr), target)
        if isinstance(target, ast.Subscript):
            return _Place(above, ast.unparse(target.value), ast.unparse(target.slice), target)
        if isinstance(target, ast.Name):
            uses = context.bodies.names(scope).get(target.id, ())
            loads = [one for one in uses if isinstance(one.ctx, ast.Load)]
            if len(uses) == 2 and len(loads) == 1:
                return _placed(context, loads[0], scope)
        return None
    if isinstance(above, ast.Call) and last_word(above.func) == "setattr" and len(above.args) == 3:
        if above.args[2] is node:
            return _Place(above, ast.unparse(above.args[0]), ast.unparse(above.args[1]))
    return None


def _lost(context: Context, place: _Place, scope: Scope, sized: tuple[ast.expr, ...]) -> bool:
    """Say whether there was a layer at a place, of which nothing but its sizes is read before.

    Args:
        context: the analysis.
        place: the place.
        scope: the body in which it stands.
        sized: expressions that are given to a function which reads nothing but sizes of them.
    """
    texts = _old(context, place, scope)
    end = getattr(place.node, "end_lineno", None) or 0
    read = any(ast.unparse(node) in texts for node in sized) or any(
        isinstance(n, ast.Attribute)
        and n.attr in _FEATURES | {"kernel"}
        and n.lineno <= end
        and ast.unparse(n.value) in texts
        for n in context.bodies.nodes(scope)
    )
    if not read and not _layer(context, place, scope):
        return False
    return _only_sizes(context, scope, texts, place, sized)


def _old(context: Context, place: _Place, scope: Scope) -> frozenset[str]:
    """Return how the layer that stood at a place is written: as the place itself, or as a variable that got it."""
    owner, key = place.owner, place.key
    spelled = {f"{owner}[{key}]", f"getattr({owner}, {key})"}
    if key[:1] in {"'", '"'}:
        spelled.add(f"{owner}.{key[1:-1]}")
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if ast.unparse(node.value) in spelled:
                spelled.add(node.targets[0].id)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
            first, second = node.target.elts
            items = f"enumerate({owner})", f"{owner}.items()", f"vars({owner}).items()", f"{owner}.__dict__.items()"
            children = (*items, f"list(vars({owner}).items())", f"nnx.iter_children({owner})")
            if ast.unparse(first) == key and isinstance(second, ast.Name) and ast.unparse(node.iter) in children:
                spelled.add(second.id)
    return frozenset(spelled)


def _layer(context: Context, place: _Place, scope: Scope) -> bool:
    """Say whether the class of what holds a place makes a layer there."""
    target = place.target
    value = scope.module.values.get(target.value) if isinstance(target, ast.Attribute) else None
    if value is None or not isinstance(target, ast.Attribute):
        return False
    if scope.function is not None and value is scope.function.self_param:
        return False
    cls = owner_class(context, value, scope)
    if cls is None or isinstance(cls, str):
        return False
    stores = [one for parent in context.flow.classes.mro(cls)[0] for one in parent.stores.get(target.attr, ())]
    return bool(stores) and all(kinds_of(context, made, method.scope) == {Kind.MODULE} for method, made in stores)


def _only_sizes(
    context: Context,
    scope: Scope,
    texts: frozenset[str],
    place: _Place | None = None,
    sized: tuple[ast.expr, ...] = (),
) -> bool:
    """Say whether nothing but the sizes and the type is read of what is written in some ways, up to a place."""
    above_of = around(context, scope)
    last = getattr(place.node, "end_lineno", None) if place is not None else None
    own = sum(len(names) for text, names in context.bodies.names(scope).items() if text in texts)
    if own != sum(isinstance(n, ast.Name) and n.id in texts for n in ast.walk(scope.node)):
        return False  # an inner function has it, too
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or node in sized:
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) or ast.unparse(node) not in texts:
            continue
        above = above_of.get(node)
        if last is not None and node.lineno > last and not isinstance(node, ast.Name):
            continue  # the new one
        if isinstance(above, ast.Attribute) and (above.attr in _FEATURES or _size_of(above, above_of)):
            continue
        if isinstance(above, ast.Call) and last_word(above.func) in _ASKING and above.func is not node:
            continue
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name) and above.targets[0].id in texts:
            continue
        return False
    return True


def _size_of(node: ast.Attribute, above_of: dict[ast.AST, ast.AST]) -> bool:
    """Say whether only the shape or type of a parameter is read, as in ``layer.kernel.value.shape``."""
    current: ast.AST | None = node
    while isinstance(current, ast.Attribute | ast.Subscript):
        if isinstance(current, ast.Attribute) and current.attr in _SIZES:
            return True
        current = above_of.get(current)
    return False


_BAD = """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.dense = nnx.Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        return self.dense(x)


def adapt(model: Net, rngs: nnx.Rngs):
    model.dense = nnx.LoRA(8, 2, 4, rngs=rngs)
    return model
"""

RULE = lint_rule(
    "NNX794",
    "lora-without-base",
    "nnx.LoRA without base_module in the place of a trained layer",
    why="""\
`nnx.LoRA(din, rank, dout)` multiplies by its two small matrices alone. In the place of a layer it gives zeros until it
is trained, and the weights of the layer are gone. With `base_module=layer` it adds to what the layer gives, which is
unchanged in the beginning.
""",
    source="Flax documentation of nnx.LoRA; measured on Flax 0.10.7, 0.11.2 and 0.12.8: the output becomes 0",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("rngs=rngs)\n    return", "base_module=model.dense, rngs=rngs)\n    return"),),
)
