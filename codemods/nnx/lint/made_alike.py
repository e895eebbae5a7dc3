"""Assignments that make an equal object each time."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Class, Function, ModuleRef, Ref

_MAKING = pattern(r"_*(make|create|build|construct)(_\w+)?")
_DRAWING = pattern(r"(^|_)(key|rng|rngs|seed|random|noise|sample|step|epoch|iter\w*|batch|data\w*)(_|$)", re.IGNORECASE)


def made_alike(context: Context, scope: Scope, node: ast.Assign) -> bool:
    """Say whether a statement in a loop makes an equal object in every round: ``env = make_env(name)``.

    It calls a function that makes something, with names that the loop neither binds nor does anything with but reading.

    Args:
        context: the analysis.
        scope: the body of the statement.
        node: the statement.
    """
    loops = [
        block
        for block, arm in context.bodies.paths(scope).get(node, ())
        if isinstance(block, ast.For | ast.While) and arm == "body"
    ]
    calls = [n for n in ast.walk(node.value) if isinstance(n, ast.Call)]
    made = [n for n in calls if _MAKING.fullmatch(last_word(n.func)) or _of_class(context, n, scope)]
    if (
        not loops
        or len(made) != 1
        or any(last_word(n.func) not in {"type", "isinstance"} for n in calls if n not in made)
    ):
        return False
    if not isinstance(made[0].func, ast.Name) and not isinstance(scope.module.values.get(made[0].func), Function):
        if not isinstance(made[0].func, ast.Attribute) or not isinstance(made[0].func.value, ast.Name):
            return False
    parts = [*made[0].args, *(k.value for k in made[0].keywords)]
    if not all(
        isinstance(n, ast.Name | ast.Attribute | ast.Constant | ast.expr_context) for p in parts for n in ast.walk(p)
    ):
        return False
    values = scope.module.values
    modules = {
        n.id for n in ast.walk(node.value) if isinstance(n, ast.Name) and isinstance(values.get(n), ModuleRef | Ref)
    }
    names = set(names_in(node.value)) - modules
    if any(_DRAWING.search(name) for name in names):
        return False
    for loop in loops:
        for one in ast.walk(loop):
            if isinstance(one, ast.Name) and one.id in names and not isinstance(one.ctx, ast.Load):
                return False
            if isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load):
                if names & set(names_in(one)):
                    return False
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and not inside(one, node):
                if isinstance(one.func.value, ast.Name) and one.func.value.id in names:
                    return False  # a method may change what it is made of
    return True


def _of_class(context: Context, call: ast.Call, scope: Scope) -> bool:
    """Say whether a call makes an object of a class of the project, as ``Optimizer(steps=steps)``."""
    value = scope.module.values.get(call)
    if not isinstance(value, Call) or value.starred or not (call.args or call.keywords):
        return False
    return isinstance(context.flow.resolve(context.flow.here(value.callee, scope)).value, Class)


def of_literals(context: Context, node: ast.stmt, scope: Scope) -> bool:
    """Say whether a statement makes a value of JAX or optax out of literals: the same whenever it is run."""
    made = node.value if isinstance(node, ast.Assign) else None
    calls = [n for n in ast.walk(made) if isinstance(n, ast.Call)] if made is not None else []
    names = {id(n) for call in calls for n in ast.walk(call.func)}
    plain = ast.Constant | ast.Call | ast.keyword | ast.Tuple | ast.List | ast.UnaryOp | ast.unaryop | ast.expr_context
    if not calls or made is None or not all(isinstance(n, plain) or id(n) in names for n in ast.walk(made)):
        return False
    values = [scope.module.values.get(call) for call in calls]
    return all(
        isinstance(value, Call)
        and context.flow.calls.callee_name(context.flow.here(value, scope)).startswith(_PURE)
        for value in values
    )  # fmt: skip


_PURE = ("jax.", "optax.", "numpy.array", "numpy.ones", "numpy.zeros", "numpy.arange")


def record_of_literals(context: Context, node: ast.stmt, scope: Scope) -> bool:
    """Say whether a statement makes a record of literals, which equals the one that another run of it makes: a named
    tuple, a dataclass or a module of Linen of the project, with no method of its own that makes it.

    Args:
        context: the analysis.
        node: the statement.
        scope: the body of the statement.
    """
    made = node.value if isinstance(node, ast.Assign) else None
    value = scope.module.values.get(made) if isinstance(made, ast.Call) else None
    if not isinstance(made, ast.Call) or not isinstance(value, Call) or value.starred:
        return False
    given = [*made.args, *(word.value for word in made.keywords)]
    if not given or not all(isinstance(n, _LITERAL) for one in given for n in ast.walk(one)):
        return False
    callee = context.flow.resolve(context.flow.here(value.callee, scope))
    if isinstance(callee.value, Call):
        return context.flow.calls.callee_name(callee) in {"collections.namedtuple", "typing.NamedTuple"}
    if not isinstance(callee.value, Class):
        return False
    families, bases = context.flow.classes.mro(callee.value.facts)
    decorated = {
        last_word(one.func if isinstance(one, ast.Call) else one)
        for family in families
        for one in family.node.decorator_list
    }
    if any(name in family.methods for family in families for name in _MADE_BY):
        return False
    return bool(decorated & {"dataclass", "register_dataclass"} or bases & _RECORDS)


_LITERAL = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.unaryop, ast.expr_context)
_MADE_BY = ("__init__", "__new__", "__post_init__")
_RECORDS = frozenset({"typing.NamedTuple", "flax.linen.Module", "flax.struct.PyTreeNode"})
