"""NNX826: a list, dict, set or array for a static argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.axes_length import miscounted
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen_unhashable import unhashable_field
from codemods.nnx.lint.listed_data import listed, stored, ways
from codemods.nnx.lint.places import compiled_roots, fix, jit_of
from codemods.nnx.lint.static_parts import LISTING, from_numpy, held
from codemods.nnx.lint.statics import static_arguments
from codemods.nnx.lint.unhashable_objects import without_hash
from codemods.nnx.values import Call, Param, Unknown, Value


def _check(context: Context) -> Iterator[Finding]:
    objects: set[str] = set()
    for event, node, name in static_arguments(context, receivers=True):
        if _miscounted(context, event):
            continue
        if node is event.node.func or (isinstance(event.node.func, ast.Attribute) and node is event.node.func.value):
            if found := _receiver(context, event, node, name, objects):
                yield found
            continue
        if made := without_hash(context, context.flow.here(event.scope.module.values[node], event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` must be hashable, and {made} is not",
                "make it @dataclass(frozen=True)" if "dataclass" in made else "use a frozen dataclass",
            )
            continue
        if field := unhashable_field(context, context.flow.here(event.scope.module.values[node], event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` must be hashable, and its field `{field}` is not",
                f"give the module a tuple for `{field}`",
            )
            continue
        parts = held(context, node, event.scope)
        if parts:
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` must be hashable, and it holds {parts}, which is not",
                "pass what holds arrays as an ordinary argument, and a tuple instead of a list",
            )
            continue
        value = event.scope.module.values[node]
        array = (
            context.kinds.only(context.flow.here(value, event.scope)) is Kind.ARRAY
            or from_numpy(context, value, event.scope)
            or made_by_jax(context, value, event.scope)
        )
        if not array and not _is_listed(context, event, node, value):
            continue
        if isinstance(value, Param) and any(
            root.function is value.function and value.name in root.declared for root in compiled_roots(context)
        ):
            continue  # static there too: what gives it an array is told of
        mended = None
        if isinstance(node, ast.List):
            inner = event.scope.module.source.text(node)[1:-1].strip()
            text = f"({inner.rstrip(',')},)" if len(node.elts) == 1 else f"({inner})"
            mended = fix(event.scope, node, text)
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"the static argument `{name}` must be hashable",
            f"pass an array as an ordinary argument{_counted(context, event, name)}"
            if array
            else "use a tuple or a frozen dataclass",
            mended,
        )


def _miscounted(context: Context, event: CallEvent) -> bool:
    """Say whether NNX867 tells that a call, or what made the function, has a wrong number of arguments: then others
    than those that are meant come to be static."""
    if not event.scope.module.source.mentions(b"in_axes"):
        return False
    made = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    inside = [(event.scope.module.source, event.node)]
    if isinstance(made, Call):  # in another module, perhaps
        inside += [(module.source, made.node) for module in context.project.modules if made.node in module.values]
    ranges = [(source.path, *source.span(node)) for source, node in inside]
    return any(
        path == where and start <= place < end
        for path, place in context.shared(miscounted)
        for where, start, end in ranges
    )


def _is_listed(context: Context, event: CallEvent, node: ast.expr, value: Value) -> bool:
    """Say whether an argument is a list, dict or set on every way."""
    if stored(context, node):
        return False
    return listed(context, context.flow.here(value, event.scope)) or _listed(context, value, event.scope)


def _receiver(context: Context, event: CallEvent, node: ast.expr, name: str, told: set[str]) -> Finding | None:
    """Return what is said of an object without a hash whose compiled method is called, once for each class."""
    if node not in event.scope.module.values:
        return None
    made = context.flow.resolve(context.flow.here(event.scope.module.values[node], event.scope))
    whole = without_hash(context, made)
    parts = "" if whole else held(context, node, event.scope)
    cls = context.flow.classes.class_of(made)
    if cls is None or cls.name in told or not (parts or whole):
        return None
    told.add(cls.name)
    return finding(
        RULE.code,
        event.scope,
        node,
        f"the static argument `{name}` must be hashable, and "
        + (f"it holds {parts}, which is not" if parts else f"{whole} is not"),
        f"give the method what it computes with as arguments, or make `{cls.name}` a tree and `{name}` not static",
    )


def _counted(context: Context, event: CallEvent, name: str) -> str:
    """Return how the arguments of a method are counted, if a number says that one is static."""
    for root in jit_of(context, event):
        function = root.function
        if root.decorator and function.self_param is not None and option(root, "static_argnums") is not None:
            if name in function.params:
                return f": static_argnums counts from `self`, and {list(function.params).index(name)} is `{name}`"
    return ""


def _listed(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a list or dict comes of an operation or of a function of Python, as ``[2] + hidden``."""
    if value is None or depth > 3:
        return False
    given = context.flow.here(value, scope)
    if _tupled(context, given):
        return False
    found = context.flow.resolve(given)
    if isinstance(found.value, Call):
        return context.flow.calls.callee_name(found) in LISTING
    node = found.value.node if isinstance(found.value, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult):
        return False
    return any(
        isinstance(part, ast.List | ast.ListComp)
        or (isinstance(part, ast.BinOp) and _listed(context, scope.module.values.get(part), scope, depth + 1))
        for part in (node.left, node.right)
    )


def _tupled(context: Context, given: Bound, depth: int = 0) -> bool:
    """Say whether a value is made a tuple on some way, which is lost where it is followed."""
    if isinstance(given.value, Call):
        return context.flow.calls.callee_name(given) == "builtins.tuple"
    return depth <= 3 and any(_tupled(context, one, depth + 1) for one in ways(context, given))


RULE = lint_rule(
    "NNX826",
    "unhashable-static",
    "an unhashable value for a static argument",
    why="""\
Compiled code is looked up by the values of static arguments, which therefore have to be hashable: a list, dict or
array raises a ValueError, and so does an object of a dataclass that is not frozen, of a class that defines `__eq__`
without `__hash__`, a Namespace of argparse, or a module of Linen with a list for a field.
""",
    source="JAX tutorial, section on static_argnums; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    mended=(
        (
            """\
from functools import partial

import jax


@partial(jax.jit, static_argnums=1)
def shaped(x, shape):
    return x.reshape(shape)


shaped(jax.numpy.ones(8), [2, 4])
""",
            """\
from functools import partial

import jax


@partial(jax.jit, static_argnums=1)
def shaped(x, shape):
    return x.reshape(shape)


shaped(jax.numpy.ones(8), (2, 4))
""",
        ),
    ),
    safety=Safety.SAFE,
)
