"""NNX772: an array in a field of a tree that is a part of its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import gives_arrays
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Param

_ARRAYS = frozenset({"Array", "ndarray", "ArrayLike", "Float", "Int", "DeviceArray"})


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if in_test(cls.scope):
            continue  # which asks what becomes of such a class
        for node, name in _hidden(context, cls):
            yield finding(
                RULE.code,
                cls.scope,
                node,
                f"`{name}` is an array, and a part of the structure of `{cls.name}`: structures are compared and "
                "hashed, and arrays cannot be",
                "let it be one of the children, or keep a tuple of numbers in it",
            )
        for statement in cls.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.value, ast.Call):
                continue
            if static(statement.value) and _array(statement.annotation) and _tree(cls):
                name = statement.target.id if isinstance(statement.target, ast.Name) else ""
                yield finding(
                    RULE.code,
                    cls.scope,
                    statement,
                    f"`{name}` is an array, and a part of the structure of `{cls.name}`: structures are compared and "
                    "hashed, and arrays cannot be",
                    "let it be an ordinary field, or keep a tuple of numbers in it",
                )


def _hidden(context: Context, cls: ClassFacts) -> Iterator[tuple[ast.expr, str]]:
    """Yield the arrays that ``tree_flatten`` puts into the structure of a tree."""
    method = cls.methods.get("tree_flatten")
    if method is None or {"__eq__", "__hash__"} & set(cls.methods):
        return
    for node in context.bodies.nodes(method.scope):
        if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple) or len(node.value.elts) != 2:
            continue
        structure = _last(context, method, node.value.elts[1])
        parts: list[ast.expr | None] = [structure]
        if isinstance(structure, ast.Tuple | ast.List):
            parts = list(structure.elts)
        elif isinstance(structure, ast.Dict):
            parts = list(structure.values)
        for part in parts:
            value = method.scope.module.values.get(part) if part is not None else None
            if isinstance(value, Attr) and value.base is method.self_param and part is not None:
                if _holds_array(context, cls, value.name):
                    yield part, value.name


def _last(context: Context, method: FunctionFacts, node: ast.expr) -> ast.expr:
    """Return the expression that a variable of a method stands for, if it is bound once."""
    if not isinstance(node, ast.Name):
        return node
    bound = [
        one.value
        for one in context.bodies.nodes(method.scope)
        if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets)
    ]
    return bound[0] if len(bound) == 1 else node


def _holds_array(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether every object of a class of which the attribute is known has an array there, and one of them has."""
    known = False
    for store in cls.stores.get(name, ()):
        for source in context.sources.originals(context.flow.here(store[1], store[0].scope)):
            if isinstance(source.value, Param):
                continue
            if not isinstance(source.value, Call):
                return False
            made = context.flow.calls.callee_name(source)
            if not (made.startswith("jax.") and gives_arrays(made)):
                return False
            known = True
    return known


def static(made: ast.Call) -> bool:
    """Say whether a field is left out of the leaves of a tree."""
    if last_word(made.func) != "field":
        return False
    if constant(keyword(made, "pytree_node")) is False or constant(keyword(made, "static")) is True:
        return True
    given = keyword(made, "metadata")
    if isinstance(given, ast.Call) and last_word(given.func) == "dict":
        return constant(keyword(given, "static")) is True
    metadata = constant(given)
    return isinstance(metadata, dict) and metadata.get("static") is True


def _array(note: ast.expr) -> bool:
    """Say whether an annotation means an array, or an array or None."""
    if isinstance(note, ast.BinOp) and isinstance(note.op, ast.BitOr):
        return _array(note.left) or _array(note.right)
    if isinstance(note, ast.Subscript):
        word = last_word(note.value)
        return word in {"Float", "Int"} or (word == "Optional" and _array(note.slice))
    return isinstance(note, ast.Name | ast.Attribute) and last_word(note) in _ARRAYS - {"Float", "Int"}


def _tree(cls: ClassFacts) -> bool:
    """Say whether a class is made a tree, and has no ways of its own to compare."""
    own = {"__eq__", "__hash__"} & set(cls.methods)
    return not own and bool(cls.node.decorator_list or cls.node.bases)


RULE = lint_rule(
    "NNX772",
    "array-in-static-field",
    "an array in a field that is a part of a tree's structure",
    why="""\
`struct.field(pytree_node=False)` and `metadata={"static": True}` make a field a part of the structure, which `jit`
compares and hashes to find compiled code. With an array there the second call raises a ValueError or TypeError, or
every call compiles anew; and what is static has no gradient.
""",
    source="jax issue 7826, flax issue 4870; measured on Flax 0.10.7 and 0.12.8: ValueError at the second call",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
from flax import struct


@struct.dataclass
class Problem:
    target: jax.Array
    scale: jax.Array = struct.field(pytree_node=False)
""",
    ),
    clean=(
        """\
from collections.abc import Callable

import jax
from flax import struct


@struct.dataclass
class Problem:
    target: jax.Array
    scale: tuple[float, ...] = struct.field(pytree_node=False)
    apply: Callable[..., jax.Array] = struct.field(pytree_node=False)
""",
    ),
)
