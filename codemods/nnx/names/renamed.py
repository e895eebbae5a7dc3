"""NNX501: names that were renamed, moved or removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.names.references import Reference, module_edit, newer, nnx_references, renamed, spelled_module
from codemods.nnx.places import once
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.symbols import MODULES, SYMBOLS, Symbol

_ROWS: dict[str, Symbol] = {name: symbol for symbol in SYMBOLS for name in symbol.names.values() if name}
_MOVED: dict[str, Symbol] = {name: symbol for symbol in MODULES for name in symbol.names.values() if name}


def check(context: Context) -> Iterator[Finding]:
    """Yield references to names that some target does not have; one that has no successor is told once."""
    found: list[Finding] = []
    for reference in nnx_references(context):
        symbol = _ROWS.get(reference.name)
        if symbol is not None:
            found += _symbol(context, reference, symbol)
    yield from (one for one in found if one.fix is not None)
    yield from once(context.project, (one for one in found if one.fix is None))
    yield from _imports(context)


def _symbol(context: Context, reference: Reference, symbol: Symbol) -> Iterator[Finding]:
    targets = context.options.targets
    new = symbol.spelling(targets)
    if new == reference.name or all(symbol.names[target] == reference.name for target in targets):
        return
    missing = [target for target in targets if symbol.names[target] != reference.name]
    message = f"{_short(reference.name)} does not exist in Flax {' and '.join(missing)}"
    since = symbol.since(reference.name)
    if context.options.beyond(since):
        yield finding("NNX501", reference.scope, reference.node, message, newer(since))
        return
    if new is None:
        known = [f"{_short(name)} in {target}" for target in targets if (name := symbol.names[target])]
        help = "; ".join(filter(None, [f"it is {', '.join(known)}" if known else "", symbol.help]))
        yield finding("NNX501", reference.scope, reference.node, message, help)
        return
    edits = renamed(context.flow, reference, new)
    fix = Fix(edits) if edits is not None else None
    yield finding("NNX501", reference.scope, reference.node, message, f"it is {_short(new)} now", fix)


def _imports(context: Context) -> Iterator[Finding]:
    """Yield imports of modules that some target does not have."""
    for module in context.asked.modules:
        for statement in module.imports:
            if isinstance(statement, ast.ImportFrom):
                if not statement.level:
                    yield from _moved(context, module, statement, spelled_module(statement.module or ""))
            else:
                for alias in statement.names:
                    yield from _moved(context, module, alias, alias.name)


def _moved(context: Context, module: ModuleFacts, node: ast.ImportFrom | ast.alias, name: str) -> Iterator[Finding]:
    symbol = _MOVED.get(name)
    targets = context.options.targets
    missing = [target for target in targets if symbol is not None and symbol.names[target] != name]
    if symbol is None or not missing:
        return
    message = f"the module {name} does not exist in Flax {' and '.join(missing)}"
    since = symbol.since(name)
    if context.options.beyond(since):
        yield finding("NNX501", module.scope, node, message, newer(since))
        return
    new = symbol.spelling(targets)
    edit: Edit | None = None
    if isinstance(node, ast.alias):
        if new is not None:  # uses such as `flax.nnx.object.Object` stay valid: the attribute was kept
            start = module.source.span(node)[0]
            edit = Edit(start, start + len(node.name), new.encode())
    elif {alias.name for alias in node.names} == {"Object"}:
        edit = module_edit(module, node, "flax.nnx")
    elif new is not None and all(f"{name}.{alias.name}" not in _ROWS for alias in node.names):
        edit = module_edit(module, node, new)
    help = f"it is {new} now" if new else symbol.help
    fix = Fix(((module.source.path, edit),)) if edit is not None else None
    yield finding("NNX501", module.scope, node, message, help, fix)


def _short(name: str) -> str:
    return name.removeprefix("flax.")


RULE = Rule(
    code="NNX501",
    name="renamed-name",
    summary="a name of flax.nnx that was renamed, moved or removed",
    why="""\
Some names changed between Flax 0.10 and 0.12, and using an old one raises AttributeError or ImportError: the functions
on mutable arrays (`nnx.freeze`, `nnx.mutable`, ...) were renamed in 0.11.1 and removed in 0.12.1, the module
`flax.nnx.object` became `flax.nnx.pytreelib`, `nnx.is_data_type` became `nnx.is_data`. Where a thing has no name that
is valid on every version asked for, the finding says what takes its place.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="names exported by the releases 0.10.7, 0.11.2 and 0.12.8, compared by importing them",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

reference = nnx.mutable_array(jnp.ones(2))
print(nnx.is_mutable_array(reference), nnx.freeze([reference])[0].sum())
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

reference = nnx.array_ref(jnp.ones(2))
print(nnx.is_array_ref(reference), nnx.to_arrays([reference])[0].sum())
""",
        ),
        Example(
            before="""\
from flax.nnx.object import Object

print(Object.__name__ in {"Object", "Pytree"})
""",
            after="""\
from flax.nnx import Object

print(Object.__name__ in {"Object", "Pytree"})
""",
        ),
        Example(
            before="""\
from flax.nnx.rnglib import get_fry_dtype

print(get_fry_dtype())
""",
            run=False,
        ),
    ),
    check=check,
    always=True,
)
