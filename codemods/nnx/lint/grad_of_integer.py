"""NNX851: the gradient at an integer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.arrays import INT, Arrays, made_by_jax
from codemods.nnx.lint.begun import begun
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.names import JITS, last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.lint.whole_numbers import whole_numbers
from codemods.nnx.values import Attr, Call, Const, Each, Loop, Mapping, Param, Sequence, Value


def _check(context: Context) -> Iterator[Finding]:
    for event in _mapped(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "jax.grad needs floating point numbers, and gets an array of integers",
            "make it one: jnp.arange(..., dtype=float)",
        )
    for event, made, name in gradient_calls(context, compiled=True):
        if not event.value.args or keyword(made.node, "allow_int") is not None:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        node = event.node.args[0]
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(number, ast.Constant) and type(number.value) is int:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{name} needs a floating point number",
                f"write {event.scope.module.source.text(node)}.0",
                _fix(event, node),
            )
        elif _counted(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{name} needs a floating point number, and gets an integer",
                f"convert it: float({event.scope.module.source.text(node)})",
            )
        else:
            source = _integers(context, event) or _given(context, event)
            if source is not None:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"{name} needs an array of floating point numbers",
                    "make it one: jnp.array(..., dtype=float)",
                    related=[(source, "these are integers")] if source is not node else [],
                )


def _mapped(context: Context) -> Iterator[CallEvent]:
    """Yield the calls of ``vmap(grad(f))`` with an array of integers."""
    mapped = context.flow.may.made_by({"vmap", *map(last, JITS)})
    for module in context.asked.modules:
        if not module.source.mentions(b"vmap") or not module.source.mentions(b"grad"):
            continue
        for event in module.calls:
            if not mapped.may_be(event.value.callee):
                continue
            if not event.value.args or event.value.starred or context.bodies.guarded(event.node, event.scope):
                continue
            outer = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
            seen = set[Value]()
            while isinstance(outer.value, Call) and context.flow.calls.callee_name(outer) in JITS and outer.value.args:
                if outer.value in seen:  # `self.step = jax.jit(self.step)`
                    break
                seen.add(outer.value)
                outer = context.flow.follow(outer, outer.value.args[0])
            made = outer.value
            if not isinstance(made, Call) or len(made.args) != 1 or made.keywords:
                continue
            if context.flow.calls.callee_name(outer) != "jax.vmap":
                continue
            inner = context.flow.follow(outer, made.args[0])
            if not isinstance(inner.value, Call) or inner.value.argument(1, "argnums") is not None:
                continue
            if context.flow.calls.callee_name(inner) not in {"jax.grad", "jax.value_and_grad"}:
                continue
            if inner.value.keyword("allow_int") is None and made_by_jax(context, event.value.args[0], event.scope):
                if Arrays(context, {}).of(event.value.args[0], event.scope).number == INT:
                    yield event


def _counted(context: Context, event: CallEvent) -> bool:
    """Say whether the first argument is an integer under a name: a constant, or the counter of a ``range``."""
    found = begun(context, event.node.args[0], event.scope)
    if found is None:
        return False
    value = found.value
    if isinstance(value, Const):
        return type(value.value) is int
    if isinstance(value, Param | Attr | Indexed):
        first = event.value.args[0]
        known = numbers(context, first.before if isinstance(first, Loop) else first, event.scope)
        return bool(known) and all(type(one) is int for one in known)
    if not isinstance(value, Round | Each):
        return False
    source = context.flow.follow(found, value.base)
    if isinstance(source.value, Sequence) and source.value.items:
        return all(isinstance(one, Const) and type(one.value) is int for one in source.value.items)
    return context.flow.calls.callee_name(source) == "builtins.range"


def _integers(context: Context, event: CallEvent) -> ast.AST | None:
    """Return the call that makes an array of literal integers for the first argument; a parameter gets no others."""
    made = begun(context, event.node.args[0], event.scope)
    if made is None:
        return None
    if isinstance(made.value, Param):
        sources = [source for source in context.sources.originals(made) if source.value is not made.value]
        return next(
            (one.value.node for one in sources if isinstance(one.value, Call) and _whole_array(context, one)), None
        )
    if isinstance(made.value, Call) and _whole_array(context, made):
        return made.value.node
    first = event.value.args[0]
    while isinstance(first, Loop):  # in the first round
        first = first.before
    if made.value is not first and isinstance(made.value, Sequence | Mapping | Call):
        home = context.bodies.home(made.value.node) or (made.frame.function.scope if made.frame is not None else None)
        return _part(context, made.value, home) if home is not None else None
    return _part(context, first, event.scope)


def _part(context: Context, value: Value, scope: Scope) -> ast.AST | None:
    """Return what makes an array of integers, or a container with one."""
    if isinstance(value, Sequence | Mapping):
        items = value.items if isinstance(value, Sequence) else [item for _, item in value.items]
        if any(isinstance(item, Const) and type(item.value) is int for item in items):
            return value.node
        return next((found for item in items if (found := _part(context, item, scope)) is not None), None)
    if not isinstance(value, Call) or not made_by_jax(context, value, scope):
        inner = context.flow.resolve(context.flow.here(value, scope))
        if inner.value is not value and isinstance(inner.value, Sequence | Mapping | Call):
            home = context.bodies.home(inner.value.node) if isinstance(inner.value, Call) else scope
            return _part(context, inner.value, home) if home is not None else None
        return None
    return value.node if Arrays(context, {}).of(value, scope).number == INT else None


def _given(context: Context, event: CallEvent) -> ast.AST | None:
    """Return where the integers are written that some caller, or some round of a loop, gives as the first argument."""
    made = begun(context, event.node.args[0], event.scope)
    if made is None or in_test(event.scope):
        return None
    return whole_numbers(context, made)


def _whole_array(context: Context, made: Bound) -> bool:
    """Say whether a call makes an array of literal integers."""
    if not isinstance(made.value, Call) or made.value.keywords or len(made.value.args) != len(made.value.node.args):
        return False
    name = context.flow.calls.callee_name(made)
    if name not in {"jax.numpy.array", "jax.numpy.asarray", "jax.numpy.arange"}:
        return False
    numbers = [constant(argument) for argument in made.value.node.args[: 3 if name.endswith("arange") else 1]]
    if len(made.value.node.args) > len(numbers):
        return False  # a dtype follows
    return bool(numbers) and all(_whole(number) for number in numbers)


def _whole(number: object) -> bool:
    if isinstance(number, list | tuple):
        return bool(number) and all(_whole(one) for one in number)
    return type(number) is int


def _fix(event: CallEvent, node: ast.expr) -> Fix | None:
    source = event.scope.module.source
    _, end = source.span(node)
    if not source.text(node).lstrip("-").isdecimal():
        return None
    return Fix(((source.path, Edit(end, end, b".0")),))


RULE = lint_rule(
    "NNX851",
    "grad-of-integer",
    "the gradient with respect to an integer",
    why="Only real numbers can be differentiated: an integer raises a TypeError.",
    source="JAX tutorial, section on gradients; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax

slope = jax.grad(lambda v: 2 * v)(5)
""",
            """\
import jax

slope = jax.grad(lambda v: 2 * v)(5.0)
""",
        ),
    ),
    clean=(
        """\
import jax

slope = jax.grad(lambda v, n: n * v)(5.0, 2)
""",
    ),
    safety=Safety.SAFE,
)
