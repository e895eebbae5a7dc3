"""NNX919: compiled code that gets an array of another size in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.counted_inside import counted_inside
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grown_inside import fed_back
from codemods.nnx.lint.made_longer import comes_back
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbered_attribute import changed_numbers
from codemods.nnx.lint.places import compiled_roots, in_test, shown
from codemods.nnx.lint.ragged import of_another_length
from codemods.nnx.lint.rounds import few
from codemods.nnx.lint.sown import lists_growing, never_taken
from codemods.nnx.lint.static_varies import counted
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Changed, Const, Loop, Sequence, Value

_GROWING = frozenset({"append", "concatenate", "vstack", "hstack", "stack", "array", "asarray"})
_HOMES = ("jax.numpy.", "numpy.")


def _check(context: Context) -> Iterator[Finding]:
    for event in never_taken(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "every call adds a value to what the model has sown, and every length is compiled on its own",
            "take them away after each step: nnx.pop(model, nnx.Intermediate)",
        )
    for event, name in lists_growing(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"every call makes `self.{name}` longer, and every length is compiled on its own",
            "keep the last value in one Variable, or return it",
        )
    for scope, target in changed_numbers(context):
        yield finding(
            RULE.code,
            scope,
            target,
            f"`{ast.unparse(target)}` is a number of Python, and so a part of what is compiled: each is compiled on "
            "its own",
            "keep it in a Variable: nnx.Variable(jnp.asarray(...)), and change its value",
        )
    for scope, node, cls in counted_inside(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{last_word(node.left if isinstance(node.left, ast.Attribute) else node.right)}` is a part of the "
            f"structure of `{cls.name}`, which code is compiled for: each number is compiled on its own",
            "let it be one of the leaves, as an array: jnp.asarray(0) at the beginning",
        )
    yield from _in_loops(context)


def _in_loops(context: Context) -> Iterator[Finding]:
    """Yield what a loop gives a compiled function that is of another size in every round."""
    seen: set[ast.AST] = set()
    for root in compiled_roots(context):
        if in_test(root.scope):
            continue
        for event in context.traced.calls_of(root):
            if event.node in seen or event.scope.module not in context.asked:
                continue
            loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
            counters = {n.id for one in loops if isinstance(one, ast.For) for n in counted(one.target, one.iter)}
            longer = next((node for loop in loops if (node := fed_back(context, root, event, loop)) is not None), None)
            if longer is not None:
                seen.add(event.node)
                yield finding(
                    RULE.code,
                    event.scope,
                    longer,
                    f"{shown(root.function)} returns it longer than it was, and every size is compiled on its own",
                    "make it as long as it will be, and write at its place: jax.lax.dynamic_update_slice, or "
                    ".at[position].set(...)",
                )
                continue
            loops = [loop for loop in loops if not few(context, event.scope, loop)]
            if enclosing_function(event.scope) in context.traced:
                continue
            for place, value in enumerate(event.value.args) if loops else ():
                if place < len(event.node.args) and _cut(event.node.args[place], counters):
                    seen.add(event.node)
                    yield finding(
                        RULE.code,
                        event.scope,
                        event.node.args[place],
                        "the slice is of another size in every round, and every size is compiled on its own",
                        "give the whole array with a count, and choose by a mask",
                    )
                    break
                grown = [loop for loop in loops if _grows(context, value, loop, event.scope)]
                given = event.node.args[place] if place < len(event.node.args) else None
                why = of_another_length(context, given, loops[0], event.scope) if given is not None else ""
                if given is not None and why:
                    seen.add(event.node)
                    yield finding(
                        RULE.code,
                        event.scope,
                        given,
                        f"{why}, and every length is compiled on its own",
                        "pad it to one length, or to few, with a mask of what counts",
                    )
                    break
                if given is not None and any(comes_back(context, event, loop, given) for loop in grown):
                    seen.add(event.node)
                    yield finding(
                        RULE.code,
                        event.scope,
                        given,
                        "the array is larger in every round, and every size is compiled on its own",
                        "give it its last size at once, and say by a mask or a count how much of it is filled",
                    )
                    break


def _cut(node: ast.expr, counters: set[str]) -> bool:
    """Say whether an expression is a slice with one end that a loop counts on, and the other one fixed."""
    if not isinstance(node, ast.Subscript) or not counters:
        return False
    for part in elements(node.slice):
        if isinstance(part, ast.Slice):
            ends = [end is not None and bool(names_in(end) & counters) for end in (part.lower, part.upper)]
            other = part.upper if ends[0] else part.lower
            if sum(ends) == 1 and (other is None or isinstance(other, ast.Constant)):
                return True
    return False


def _grows(context: Context, value: Value, loop: ast.AST, scope: Scope) -> bool:
    """Say whether a value is an array that a loop makes longer in every round."""
    if isinstance(value, Loop) and value.node is loop and isinstance(value.again, Call):
        return value in _parts(context, value.again, scope)
    if isinstance(value, Attr):  # an attribute, bound anew in the loop
        stores = (n for n in ast.walk(loop) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Attribute))
        for store in stores:
            made = scope.module.values.get(store.value)
            if last_word(store.targets[0]) == value.name and isinstance(made, Call):
                return not _begins(loop, value.name) and value in _parts(context, made, scope)
        return False
    if isinstance(value, Call):  # of a list to which every round appends
        return any(_appended(part, loop) for part in _parts(context, value, scope))
    return False


def _begins(loop: ast.AST, name: str) -> bool:
    """Say whether a loop binds an attribute more than once, as one that begins anew."""
    return sum(isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store)
               for n in ast.walk(loop)) > 1  # fmt: skip


def _parts(context: Context, call: Call, scope: Scope) -> tuple[Value, ...]:
    """Return what is joined into one array."""
    name = context.flow.calls.callee_name(context.flow.here(call, scope))
    if not name.startswith(_HOMES) or last(name) not in _GROWING or not call.args:
        return ()
    first = call.args[0]
    inner = first.items if isinstance(first, Sequence) else ()
    return (first, *inner) if last(name) != "append" else call.args[:2]


def _appended(value: Value, loop: ast.AST) -> bool:
    """Say whether a value is a list that every round of a loop makes longer, and none begins anew."""
    while isinstance(value, Changed):
        if isinstance(value.node, ast.Call) and getattr(value.node.func, "attr", "") not in {"append", "extend"}:
            return False
        value = value.before
    if not isinstance(value, Loop) or value.node is not loop or not isinstance(value.again, Changed):
        return False
    added = value.again.node
    number = isinstance(added, ast.AugAssign) and isinstance(added.value, ast.Constant)  # steps that are counted
    return not number and not isinstance(value.before, Const)


RULE = lint_rule(
    "NNX919",
    "growing-argument",
    "compiled code gets an array that grows in every round of a loop",
    why="""\
Code is compiled for the shapes of its arguments. An array to which every round appends has another shape each time, and
every round compiles anew; so does a cache that the compiled function itself makes longer, and a model that sows values
which nothing pops, or that appends them to an `nnx.List`. The structure of the arguments counts too: a step that adds
1 to a field among `meta_fields`, or with `static=True`, gets another structure in every round.
An array of its last size, with a mask or a count, is compiled once. Data that grow between other steps, as those of an
experiment, have as many sizes as rounds by nature: the array has to grow by what the compiled code gave.
""",
    source="JAX FAQ; measured: one compilation for every round",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def mean(xs):
    return xs.mean()


def collect(x, steps):
    xs = jnp.array([x])
    for _ in range(steps):
        xs = jnp.append(xs, mean(xs))
    return xs
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def mean(xs, count):
    return jnp.where(jnp.arange(len(xs)) < count, xs, 0.0).sum() / count


def collect(x, steps):
    xs = jnp.zeros(steps + 1).at[0].set(x)
    for i in range(steps):
        xs = xs.at[i + 1].set(mean(xs, i + 1))
    return xs
""",
    ),
)
