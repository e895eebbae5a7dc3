"""Names of mesh axes that a program compares with what it gave: what it read them from is no sharding of an array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.nodes import last_word
from codemods.nnx.project import scope_of

_GIVING = frozenset({"with_partitioning", "with_logical_partitioning", "with_metadata", "Partitioned"})
_KEYWORDS = frozenset({"sharding", "sharding_names", "out_sharding", "names"})
_EQUAL = frozenset({"assertEqual", "assertNotEqual", "assertSequenceEqual", "assertTupleEqual", "assert_equal"})


class Compared(NamedTuple):
    """A read of names of mesh axes under their old name.

    Attributes:
        node: the attribute, or the key.
        scope: where it stands.
        whole: the whole expression that is compared.
    """

    node: ast.Attribute | ast.Constant
    scope: Scope
    whole: ast.expr


def compared(context: Context, old: str) -> Iterator[Compared]:
    """Yield what is compared with names of axes that the project gives to some array.

    Args:
        context: the analysis.
        old: the name that is read.
    """
    reads = [
        (module, node, place, ast.dump(other))
        for module in context.asked.modules
        if old.encode() in module.source.data
        for first, second in _pairs(module)
        for place, other in ((first, second), (second, first))
        if (node := _read(place, old)) is not None and _names(other)
    ]
    if not reads:
        return
    modules = [m for m in context.project.modules if old.encode() in m.source.data]
    given = {ast.dump(names) for module in modules for names in _given(module)}
    for module, node, place, names in reads:
        scope = scope_of(module, place)
        if names in given and not _of_another_class(context, module, node, scope):
            yield Compared(node, scope, place)
            yield from _asked(module, node, place, scope, old)


def _given(module: ModuleFacts) -> Iterator[ast.expr]:
    """Yield the names of axes that calls give to Variables, initializers and boxes."""
    for call in module.source.of_type(ast.Call):
        keywords = [keyword.value for keyword in call.keywords if keyword.arg in _KEYWORDS]
        for node in (*(call.args if last_word(call.func) in _GIVING else ()), *keywords):
            if _names(node):
                yield node


def _names(node: ast.expr) -> bool:
    """Say whether an expression is a tuple of names of axes, written out."""
    if not isinstance(node, ast.Tuple):
        return False
    parts = [part for outer in node.elts for part in (outer.elts if isinstance(outer, ast.Tuple) else [outer])]
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts = [value for value in values if isinstance(value, str)]
    return bool(texts) and len(values) == len(parts) and all(value is None or value in texts for value in values)


def _pairs(module: ModuleFacts) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is compared with what."""
    for node in module.source.of_type(ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            yield node.left, node.comparators[0]
    for call in module.source.of_type(ast.Call):
        if len(call.args) > 1 and last_word(call.func) in _EQUAL:
            yield call.args[0], call.args[1]


def _read(node: ast.expr, old: str) -> ast.Attribute | ast.Constant | None:
    """Return where an expression names what it reads: the attribute, or the key of ``box.metadata``."""
    if isinstance(node, ast.Attribute) and node.attr == old:
        return node
    if isinstance(node, ast.Subscript) and last_word(node.value) == "metadata" and isinstance(node.slice, ast.Constant):
        return node.slice if node.slice.value == old else None
    return None


def _asked(
    module: ModuleFacts, node: ast.Attribute | ast.Constant, place: ast.expr, scope: Scope, old: str
) -> Iterator[Compared]:
    """Yield ``hasattr(x, "sharding")`` where it guards the comparison."""
    if not isinstance(node, ast.Attribute):
        return
    holder = ast.dump(node.value)
    for test in module.source.of_type(ast.BoolOp):
        if any(inner is place for inner in ast.walk(test)):
            for call in ast.walk(test):
                if isinstance(call, ast.Call) and last_word(call.func) == "hasattr" and len(call.args) == 2:
                    key = call.args[1]
                    if isinstance(key, ast.Constant) and key.value == old and ast.dump(call.args[0]) == holder:
                        yield Compared(key, scope, call)


def _of_another_class(context: Context, module: ModuleFacts, node: ast.Attribute | ast.Constant, scope: Scope) -> bool:
    """Say whether an attribute is known to be one of something that is no Variable."""
    value = module.values.get(node.value) if isinstance(node, ast.Attribute) else None
    if value is None:
        return False
    bound = context.flow.here(value, scope)
    kinds = context.kinds.of(bound)
    return (bool(kinds) and Kind.VARIABLE not in kinds) or (
        not kinds and context.flow.classes.class_of(bound) is not None
    )
