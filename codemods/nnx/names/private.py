"""NNX508: private attributes and hooks of NNX objects that were renamed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.symbols import PRIVATE

_MARK = b"_object_"


def check(context: Context) -> Iterator[Finding]:
    """Yield uses of the old private names; no class but Flax's own gives them a meaning."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        if _MARK in module.source.data:
            for node in module.source.nodes:
                place = _place(module, node)
                if place is not None:
                    yield _finding(context, module, node, *place)


def _place(module: ModuleFacts, node: ast.AST) -> tuple[int, str] | None:
    """Return where an old name stands in a node, and the name."""
    source = module.source
    if isinstance(node, ast.Attribute) and node.attr in PRIVATE and source.faithful(node):
        return source.span(node)[1] - len(node.attr), node.attr
    if isinstance(node, ast.FunctionDef) and node.name in PRIVATE:
        start = source.offset(node.lineno, node.col_offset)
        return source.data.index(node.name.encode(), start), node.name
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in PRIVATE
        and source.faithful(node)
    ):
        return source.data.index(node.value.encode(), source.span(node)[0]), node.value
    return None


def _finding(context: Context, module: ModuleFacts, node: ast.AST, start: int, old: str) -> Finding:
    new = PRIVATE[old]
    fix = None
    if "0.10" not in context.options.targets:
        fix = Fix(((module.source.path, Edit(start, start + len(old), new.encode())),))
    return finding(
        "NNX508",
        module.scope,
        node,
        f"{old} is {new} since Flax 0.11.1, and the old name is silently without effect",
        "private names change without notice; do without it if you can",
        fix,
    )


RULE = Rule(
    code="NNX508",
    name="private-name",
    summary="a private name of NNX objects that was renamed",
    why="""\
`_object__state`, `_object__nodes` and the hook `_object_meta_construct` of metaclasses became `_pytree__state`,
`_pytree__nodes` and `_pytree_meta_construct` in 0.11.1. A metaclass that overrides the old hook is not called any more,
and a comparison with the old attribute name lets the new one through, both without an error.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.1",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(
            before="""\
from flax import nnx

made = []


class Meta(type(nnx.Module)):
    def _object_meta_construct(cls, self, *args, **kwargs):
        made.append(cls.__name__)
        super()._object_meta_construct(self, *args, **kwargs)


class Net(nnx.Module, metaclass=Meta):
    pass


Net()
print(made)
""",
            after="""\
from flax import nnx

made = []


class Meta(type(nnx.Module)):
    def _pytree_meta_construct(cls, self, *args, **kwargs):
        made.append(cls.__name__)
        super()._pytree_meta_construct(self, *args, **kwargs)


class Net(nnx.Module, metaclass=Meta):
    pass


Net()
print(made)
""",
        ),
    ),
    check=check,
    always=True,
)
