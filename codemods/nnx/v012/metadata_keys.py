"""NNX623: code that goes over all metadata of a Variable, among which Flax 0.12 keeps options of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.told import Told
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Attr, Call
from codemods.nnx.variables.leaves import Leaves

_VIEWS = frozenset({"items", "keys", "values"})
_WHOLE = frozenset({"len", "list", "print", "repr", "set", "sorted", "str", "tuple"})
_OWN = "'eager_sharding', 'hijax' and 'ref'"


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``get_metadata()`` whose keys are shown, counted, compared or gone over."""
    if not context.options.crosses("0.12"):
        return
    for module in context.asked.modules:
        if not module.source.mentions(b"get_metadata("):
            continue
        used, said = _used(module), set[int]()  # one finding for a line is enough
        for event in module.calls:
            asked = event.value.callee
            if event.node not in used or not isinstance(asked, Attr) or asked.name != "get_metadata":
                continue
            if event.node.args or event.node.keywords or event.node.lineno in said or not _is_variable(context, event):
                continue
            said.add(event.node.lineno)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"since Flax 0.12 every Variable has {_OWN} among its metadata",
                f"leave {_OWN} out, or ask for the names that are meant",
            )


def _is_variable(context: Context, event: CallEvent) -> bool:
    """Say whether the metadata is that of a Variable."""
    asked = next((one for one in event.scope.module.attributes if one.node is event.node.func), None)
    if asked is None:
        return False
    if context.shared(Variables).is_variable(asked.base, asked.scope) or context.shared(Told).is_variable(asked):
        return True
    return context.shared(Leaves).is_leaf(asked.base, asked.scope)


def _used(module: ModuleFacts) -> frozenset[ast.expr]:
    """Return the calls of whose result all keys matter, also where a name stands for it."""
    taken: list[ast.expr | None] = []
    for node in module.source.of_type(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _WHOLE:
            taken += node.args
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            taken.append(node.func.value)
    taken += [loop.iter for loop in module.source.of_type(ast.For)]
    taken += [part.iter for part in module.source.of_type(ast.comprehension)]
    taken += [node.value for node in module.source.of_type(ast.FormattedValue)]
    for compared in module.source.of_type(ast.Compare):
        if all(isinstance(op, ast.Eq | ast.NotEq) for op in compared.ops):
            taken += [compared.left, *compared.comparators]
    for made in module.source.of_type(ast.Dict):
        taken += [value for key, value in zip(made.keys, made.values, strict=True) if key is None]
    found = set[ast.expr]()
    for one in taken:
        value = module.values.get(one) if one is not None else None
        if isinstance(value, Call):
            found.add(value.node)
    return frozenset(found)


_BEFORE = """\
from flax import nnx

weight = nnx.Param(1.0, group="scale")
print({key: str(value) for key, value in weight.get_metadata().items()})
"""

_LEFT = """\
from flax import nnx

weight = nnx.Param(1.0, group="scale")
print(weight.get_metadata()["group"], "scale" in weight.get_metadata(), nnx.Param(2.0, **weight.get_metadata()).group)
"""

RULE = Rule(
    code="NNX623",
    name="metadata-keys",
    summary="all metadata of a Variable, with the options that Flax 0.12 adds",
    why="""\
`variable.get_metadata()` returned what the program had given the Variable. Since Flax 0.12 it has the entries
`eager_sharding`, `hijax` and `ref` too, for every Variable. Code that shows, counts, compares or stores all entries
gets other ones, without an error; `get_metadata()[name]`, and Variables that are made with the same metadata, are not
affected.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(_BEFORE, targets=("0.12",), run=False),
        Example(_LEFT, _LEFT, targets=("0.12",)),
    ),
    check=check,
)
