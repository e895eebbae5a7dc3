"""NNX847: a literal index beyond a literal shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.beyond_table import beyond_tables, taken_beyond
from codemods.nnx.lint.clamped_block import clamped_blocks
from codemods.nnx.lint.clamped_neighbours import clamped_neighbours
from codemods.nnx.lint.clamped_window import clamped_windows
from codemods.nnx.lint.counted import past_in_rounds
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.drawn_branch import past_branches
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.origins import made_by_calls, named, origin, own_stores
from codemods.nnx.lint.padding_index import negative_padding
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.ring_blocks import ring_blocks
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.lint.taken_past import taken_past
from codemods.nnx.nodes import elements, first_element, last_word
from codemods.nnx.values import Attr, Call, Item, Loop, Param, Value

_ONE_PAST = "the last of these indices is past the end: JAX reads the last element again"


def _check(context: Context) -> Iterator[Finding]:
    for scope, node, mode in negative_padding(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{scope.module.source.text(node)}` is filled up with a negative number, which counts from the end: "
            + (f'mode="{mode}" leaves out only what is past the end' if mode else "all padding goes to the last place"),
            "fill up with the length of the array, which is out of bounds",
        )
    yield from _blocks(context)
    told: set[ast.AST] = set()
    for scope, node, before in clamped_neighbours(context):
        told.add(node)
        if _of_padding(context, node, scope):
            continue
        if before is None:
            yield finding(RULE.code, scope, node, _ONE_PAST, "let the count end before, or wrap round: (index + 1) % n")
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            f"at the end this reads the last element again, while `{scope.module.source.text(before)}` wraps round at "
            "the beginning",
            "wrap round at both ends: (index + 1) % n, or jnp.roll",
            related=[(before, "the other neighbour")],
        )
    yield from _tables(context)
    for scope, node in each(context, ast.Subscript):
        if node not in told and not in_test(scope):
            yield from _indexed(context, node, scope)


def _blocks(context: Context) -> Iterator[Finding]:
    """Yield the blocks and windows that would go past the end, and begin earlier."""
    windows = dict(clamped_windows(context))
    for event in dict.fromkeys([*clamped_blocks(context), *(one for one, blocks in windows.items() if blocks)]):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the last block may go past the end: JAX lets it begin earlier, and its first elements count twice",
            "pad the array to whole blocks first, or mask what the last one repeats",
        )
    for event, size, places in ring_blocks(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{size} does not divide {places}: a block that would pass the end is written earlier, over other entries",
            "write by index: .at[(place + jnp.arange(size)) % length].set(block)",
        )
    for event in (one for one, blocks in windows.items() if not blocks):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the last windows would go past the end: JAX lets them begin earlier, and gives the very last one again",
            "let the starts end with the last whole window: jnp.arange(n - size + 1)",
        )


def _tables(context: Context) -> Iterator[Finding]:
    """Yield what is looked up past the end of an array, a table, or a list of branches."""
    written: set[ast.AST] = set()
    for event, past, rows in taken_past(context):
        written.add(event.node)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`take` is asked for index {past} of {rows} elements, counted from 0: it gives NaN, or the least integer",
            "use indices within the array",
        )
    for event, made, missing, size in beyond_tables(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the table has {size} rows, counted from 0, and none for the id {missing}: what is looked up there is NaN",
            "give it more rows: num_embeddings is one more than the largest id",
            related=[(made, "the id is put in here")] if made in event.scope.module.values else [],
        )
    for event, made, missing, size in taken_beyond(context):
        if event.node in written:
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the table has {size} rows, counted from 0, and none for the id {missing}: `take` gives NaN for it",
            "give it more rows: one more than the largest id",
            related=[(made, "the id is put in here")] if made in event.scope.module.values else [],
        )
    for event, count, drawn in past_branches(context):
        if not in_test(event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the index may be past the last of {count} branches: JAX runs the last one instead",
                "count branches from 0: maxval is their number, and is not drawn itself"
                if drawn
                else "count branches from 0: the first one is never run",
            )


def _indexed(context: Context, node: ast.Subscript, scope: Scope) -> Iterator[Finding]:
    """Yield an index that is past the end of its array."""
    owner = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "at" else node.value
    if (_past(context, node, scope) or past_in_rounds(context, node, scope)) and not _of_padding(context, node, scope):
        yield finding(
            RULE.code,
            scope,
            node,
            "this index is past the end in one round: JAX reads the last element, and drops what is written",
            "let the loop end before, or count from len(...) - 1",
        )
        return
    indices = _indices(node.slice)
    if not indices or _told(context, node, scope) or not (isinstance(owner, ast.Call) or named(owner)):
        return
    shape = _shape(context, owner, scope)
    for axis, (index, length) in enumerate(zip(indices, shape, strict=False)):
        if index is not None and length is not None and not -length <= index < length:
            where = f" along axis {axis}" if len(indices) > 1 else ""
            yield finding(
                RULE.code,
                scope,
                node,
                f"the array has {length} elements{where}: JAX reads the last one, and drops what is written",
                "use an index within the array",
            )
            return


def _of_padding(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether what is read is multiplied by the same place of an array with one more element, which is zero there:
    ``policy[i + 1] * q[i + 1]`` in a loop that begins with ``q = jnp.zeros((n + 1, m))``."""
    product = around(context, scope).get(node)
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult) or scope.parent is None:
        return False
    other = product.right if product.left is node else product.left
    if not isinstance(other, ast.Subscript) or ast.dump(other.slice) != ast.dump(node.slice):
        return False
    name = last_word(other.value) if isinstance(other.value, ast.Name) else ""
    for made in context.bodies.nodes(scope.parent) if name else ():
        if isinstance(made, ast.Assign) and [last_word(one) for one in made.targets] == [name]:
            if isinstance(made.value, ast.Call) and last_word(made.value.func) == "zeros" and made.value.args:
                size = first_element(made.value.args[0])
                if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Add):
                    return 1 in (constant(size.left), constant(size.right))
    return False


def _told(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether ``x.at[i].get(mode=...)`` says what becomes of an index past the end."""
    if not isinstance(node.value, ast.Attribute) or node.value.attr != "at":
        return False
    return any(
        isinstance(call.node.func, ast.Attribute)
        and call.node.func.value is node
        and any(word.arg in {None, "mode", "fill_value"} for word in call.node.keywords)
        for call in context.bodies.calls.get(scope, ())
    )


def _shape(context: Context, node: ast.expr, scope: Scope) -> tuple[int | None, ...]:
    """Return the literal shape of an array, also of one that a function gave or an object keeps as it is."""
    value = origin(context, node, scope)
    shape = literal_shape(context, value, scope)
    if shape or not isinstance(value, Attr | Item | Call):
        return shape
    if isinstance(value, Attr):
        stores = [one for one in own_stores(context, value) if not _copied(one.value, value.name)]
        first = stores[0].value if len(stores) == 1 else None
        home = context.bodies.home(first.node) if isinstance(first, Call) else None
        return literal_shape(context, first, home) if home is not None else ()
    made = context.flow.resolve(context.flow.here(value, scope)).value
    home = context.bodies.home(made.node) if isinstance(made, Call) and made is not value else None
    return literal_shape(context, made, home) if home is not None else ()


def _copied(value: Value, name: str) -> bool:
    """Say whether an attribute gets what it was, with other elements: ``self.x = self.x.at[i].set(v)``."""
    while isinstance(value, Call) and isinstance(value.callee, Attr) and isinstance(value.callee.base, Item):
        held = value.callee.base.base
        if not isinstance(held, Attr) or held.name != "at":
            return False
        value = held.base
        if isinstance(value, Attr) and value.name == name:
            return True
    return False


def _past(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether an index is past the end in some round of any length, as ``x[i + 1]`` in ``range(len(x))``."""
    index = first_element(node.slice)
    owner = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "at" else node.value
    if not isinstance(owner, ast.Name | ast.Attribute):
        return False
    if _length(context, index, scope, owner):
        return True
    if not isinstance(index, ast.BinOp):
        return False
    loops = {
        loop.target.id: loop
        for loop in context.bodies.nodes(scope)
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and inside(node, loop)
    }
    side = index.left if isinstance(index.op, ast.Add) else index.right
    loop = loops.get(side.id) if isinstance(side, ast.Name) else None
    if loop is None or not _whole_range(context, loop, scope, owner):
        return False
    if any(isinstance(b, ast.If | ast.IfExp | ast.Try) for b, _ in context.bodies.paths(scope).get(node, ())
           if inside(b, loop)) or _leaves(loop):  # fmt: skip
        return False
    inner = (one for one in context.bodies.nodes(scope) if isinstance(one, ast.For) and one is not loop)
    if any(inside(node, one) and inside(one, loop) and last_word(side) in names_in(one.iter) for one in inner):
        return False  # the last rounds have none of those
    if isinstance(index.op, ast.Add):
        number = constant(index.right)
        return type(number) is int and number > 0
    first = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and len(loop.iter.args) > 1 else None
    return isinstance(index.op, ast.Sub) and first is None and _length(context, index.left, scope, owner)


def _leaves(loop: ast.For) -> bool:
    return any(isinstance(n, ast.Break | ast.Return | ast.Continue | ast.Raise) for n in ast.walk(loop))


def _whole_range(context: Context, loop: ast.For, scope: Scope, owner: ast.expr) -> bool:
    """Say whether a loop counts to the length of an array."""
    call = loop.iter
    if not isinstance(call, ast.Call) or last_word(call.func) != "range" or not 1 <= len(call.args) <= 2:
        return False
    return _length(context, call.args[-1], scope, owner)


def _length(context: Context, node: ast.expr, scope: Scope, owner: ast.expr) -> bool:
    """Say whether an expression is the length of an array, by a name of it too."""
    value = scope.module.values.get(node)
    if isinstance(node, ast.Name):
        made = getattr(value, "node", None)
        if made is None and isinstance(value, Item | Attr):
            made = next(
                (n.value for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and len(n.targets) == 1
                 and isinstance(n.targets[0], ast.Name) and n.targets[0].id == node.id), None
            )  # fmt: skip
        return isinstance(made, ast.Call | ast.Subscript) and _length(context, made, scope, owner)
    inner: ast.expr | None = None
    if isinstance(node, ast.Call) and last_word(node.func) == "len" and len(node.args) == 1:
        inner = node.args[0]
    elif isinstance(node, ast.Subscript) and constant(node.slice) == 0 and isinstance(node.value, ast.Attribute):
        inner = node.value.value if node.value.attr == "shape" else None
    if inner is None or ast.dump(inner) != ast.dump(owner):
        return False
    one = _given(context, inner, scope)
    return one is not None and one == _given(context, owner, scope)


def _given(context: Context, node: ast.expr, scope: Scope) -> Value | None:
    """Return an array by its value; None for what is not known to be an array of JAX."""
    value = scope.module.values.get(node)
    if value is None or isinstance(value, Loop):
        return None
    if made_by_jax(context, value, scope):
        return value
    if isinstance(value, Param) and context.bodies.evidence(value.function).get(value.name) == "array":
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and scope.module.source.mentions(b"jax.numpy"):
            return value
    found = made_by_calls(context, context.flow.here(value, scope))
    known = [
        isinstance(one.value, Call)
        and (home := context.bodies.home(one.value.node)) is not None
        and (made_by_jax(context, one.value, home) or _made(context, one.value, home))
        for one in found
    ]
    return value if known and all(known) else None


def _made(context: Context, value: Call, scope: Scope) -> bool:
    return context.flow.calls.callee_name(context.flow.here(value, scope)) in {
        "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.stack", "jax.numpy.concatenate"
    }  # fmt: skip


def _indices(node: ast.expr) -> list[int | None]:
    """Return the literal index of each axis, None where it is none."""
    found: list[int | None] = []
    for part in elements(node):
        index = constant(part)
        if type(index) is int:
            found.append(index)
        elif isinstance(part, ast.Slice):
            found.append(None)
        else:
            break  # what follows an ellipsis, a new axis or an array of indices belongs to other axes
    return found if any(index is not None for index in found) else []


RULE = lint_rule(
    "NNX847",
    "index-out-of-bounds",
    "an index or block beyond the end of an array, or negative padding that is meant to be",
    why="""\
JAX raises no IndexError: reading gives the last element, and a value that is written there is dropped. With
`mode="drop"` and `mode="fill"` too a negative index counts from the end: padding of -1 writes to the last element. A
dynamic slice that would go past the end begins earlier: the last of `ceil(n / size)` blocks has elements of the one
before it again, and windows that begin up to the very end are all the last one.
""",
    source="JAX tutorial; jax issues 14095 and 10063; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

x = jnp.zeros((3,))
last = x[3]
""",
    ),
    clean=(
        """\
import jax.numpy as jnp

x = jnp.zeros((3, 8))
last = x[2][7] + x[-3]
""",
    ),
)
