"""Members of an ensemble that are copies of one module, and learn the same from the same data; part of NNX836."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import each, in_test, kinds_of
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_MEMBERS = pattern(r"(^|_)(ensembles?|members|committee)(_|$)")
# where a project says one of these, its members may get weights or data of their own
_APART = (
    b"bagging", b"bootstrap", b"choice(", b"fold_in", b"jitter", b"mutat", b"normal(", b"nnx.update(", b"permut",
    b"perturb", b"poisson", b"reinit", b"reset", b"setattr(", b"shuffle", b"subset", b"uniform(",
)  # fmt: skip
_COPYING = frozenset({"copy.deepcopy", "flax.nnx.clone"})


def cloned_members(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the lists of copies of a module that begin alike, with the name of what is copied."""
    modules = context.project.modules
    if not any(one.source.mentions(b"ensemble") or one.source.mentions(b"members") for one in modules):
        return
    if any(word in one.source.data for one in modules for word in _APART):
        return
    found = [
        (scope, node, name)
        for scope, node in each(context, ast.ListComp)
        if not in_test(scope) and (name := _copied(context, node, scope))
    ]
    if found and _learn_the_same(context):
        yield from found


def _copied(context: Context, node: ast.ListComp, scope: Scope) -> str:
    """Return the variable with a new module of which a list for an ensemble holds copies; empty for other lists."""
    made = node.elt
    rounds = node.generators[0].iter
    if not isinstance(made, ast.Call) or len(made.args) != 1 or made.keywords or len(node.generators) != 1:
        return ""
    if not isinstance(rounds, ast.Call) or last_word(rounds.func) != "range" or node.generators[0].ifs:
        return ""
    model, call = made.args[0], scope.module.values.get(made)
    if not isinstance(model, ast.Name) or not isinstance(call, Call) or not _named(context, node, scope):
        return ""
    if context.flow.calls.callee_name(context.flow.here(call, scope)) not in _COPYING:
        return ""
    reads = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id == model.id]
    value = scope.module.values.get(model)
    if value is None or kinds_of(context, value, scope) != {Kind.MODULE}:
        return ""
    begun = context.flow.classes.class_of(context.flow.resolve(context.flow.here(value, scope))) is not None
    return model.id if begun and len(reads) == 2 else ""  # where it is made, and here


def _named(context: Context, node: ast.ListComp, scope: Scope) -> bool:
    """Say whether a list, or the function that makes it, has the name of an ensemble."""
    if scope.function is not None and _MEMBERS.search(scope.function.name):
        return True
    return any(
        isinstance(n, ast.Assign) and n.value is node and any(_MEMBERS.search(last_word(t)) for t in n.targets)
        for n in context.bodies.nodes(scope)
    )


def _learn_the_same(context: Context) -> bool:
    """Say whether a loop trains each member with what the loop does not bind, and nothing pairs members with data."""
    trained = False
    for module in context.project.modules:
        for node in module.source.nodes:
            if isinstance(node, ast.Call) and last_word(node.func) in {"zip", "enumerate"}:
                if any(_MEMBERS.search(name) for name in names_in(node)):
                    return False
            if isinstance(node, ast.For) and _of_members(node.iter):
                inner = [n for n in ast.walk(node) if isinstance(n, ast.For) and n is not node]
                if any(not (isinstance(n.iter, ast.Call) and last_word(n.iter.func) == "range") for n in inner):
                    return False  # data of a loader, which may come in another order
                words = {last_word(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
                if "next" in words:
                    return False
                trained |= bool(words & {"Optimizer", "ModelAndOptimizer"})
    return trained


def _of_members(iterated: ast.expr) -> bool:
    return isinstance(iterated, ast.Name | ast.Attribute) and bool(_MEMBERS.search(last_word(iterated)))
