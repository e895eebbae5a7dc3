"""Where modules refer to names of ``flax.nnx``, by attribute or by import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.symbols import PUBLIC
from codemods.nnx.values import Attr, Call, Choice, Free, ModuleRef, Ref

_ROOT = "flax.nnx"
#: What may be a module; elements and arguments are none, and dear to follow.
_MODULES = (ModuleRef, Free, Attr, Choice, Call)
_STEADY = PUBLIC["0.10"] & PUBLIC["0.11"] & PUBLIC["0.12"]


@dataclass(frozen=True, eq=False)
class Reference:
    """A place that names something of ``flax.nnx``.

    Attributes:
        name: the full name as it is spelled there, such as ``flax.nnx.spmd.with_sharding_constraint``.
        node: an attribute expression, or a name in a ``from`` import.
        scope: where it stands.
        statement: the import, if it is one.
    """

    name: str
    node: ast.Attribute | ast.alias
    scope: Scope
    statement: ast.ImportFrom | None = None

    @property
    def base(self) -> str:
        """The full name of what the name is looked up in."""
        return self.name.rpartition(".")[0]

    @property
    def last(self) -> str:
        """The name itself."""
        return self.name.rpartition(".")[2]


def nnx_references(context: Context) -> tuple[Reference, ...]:
    """Return where a project names things of ``flax.nnx`` that not every release has; rules share one search."""
    return context.shared(_of_project)


def _of_project(context: Context) -> tuple[Reference, ...]:
    return tuple(references(context.flow))


def references(flow: Flow, steady: bool = False) -> list[Reference]:
    """Return all references of a project.

    Args:
        flow: the project's value flow.
        steady: whether names that all releases have are wanted too.
    """
    return [found for module in flow.project.modules for found in _of_module(flow, module, steady)]


def _of_module(flow: Flow, module: ModuleFacts, steady: bool) -> Iterator[Reference]:
    for statement in module.imports:
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            base = spelled_module(statement.module or "")
            if base == _ROOT or base.startswith(f"{_ROOT}."):
                for alias in statement.names:
                    if alias.name != "*" and (steady or alias.name not in _STEADY or base != _ROOT):
                        yield Reference(f"{base}.{alias.name}", alias, module.scope, statement)
    for event in module.attributes:
        name = event.node.attr
        if not steady and name in _STEADY:
            continue
        if isinstance(event.base, ModuleRef | Attr) or isinstance(event.node.value, ast.Name | ast.Attribute):
            owner = _owner(flow, event.node.value, event.scope, module)
            if owner == _ROOT or owner.startswith(f"{_ROOT}."):
                yield Reference(f"{owner}.{name}", event.node, event.scope)


def _owner(flow: Flow, node: ast.expr, scope: Scope, module: ModuleFacts) -> str:
    """Return the full name of the module of Flax that an expression denotes; empty if it denotes another thing."""
    if isinstance(node, ast.Attribute):
        outer = _owner(flow, node.value, scope, module)
        return f"{outer}.{node.attr}" if outer == "flax" or outer.startswith("flax.") else ""
    if not isinstance(node, ast.Name):
        return ""
    value = module.values.get(node)
    if not isinstance(value, _MODULES) or (isinstance(value, Call) and value.args and not _imports(value)):
        return ""
    found = flow.resolve(flow.here(value, scope)).value
    return found.name if isinstance(found, Ref) and (found.name == "flax" or found.name.startswith("flax.")) else ""


def _imports(call: Call) -> bool:
    """Say whether a call may be of ``importlib.import_module``."""
    return isinstance(call.callee, Attr | Free) and call.callee.name == "import_module"


def spelled_module(name: str) -> str:
    """Return the present name of a module that was imported by an older one."""
    old = "flax.experimental.nnx"
    return _ROOT + name[len(old) :] if name == old or name.startswith(f"{old}.") else name


def guarded(reference: Reference) -> bool:
    """Say whether the place is written for several versions: it stands below a test or a handler that names it."""
    source = reference.scope.module.source
    for node in source.nodes:
        if isinstance(node, ast.Try | ast.If | ast.IfExp) and _within(reference.node, node):
            if isinstance(node, ast.Try):
                if any(_catches(handler) for handler in node.handlers):
                    return True
            elif "hasattr" in (test := ast.dump(node.test)) or "__version__" in test:
                return True
    return False


def _within(inner: ast.Attribute | ast.alias, outer: ast.Try | ast.If | ast.IfExp) -> bool:
    return outer.lineno <= inner.lineno <= (outer.end_lineno or outer.lineno)


def _catches(handler: ast.ExceptHandler) -> bool:
    text = ast.dump(handler.type) if handler.type is not None else "ImportError"
    return any(name in text for name in ("ImportError", "AttributeError", "ModuleNotFoundError", "'Exception'"))


def renamed(flow: Flow, reference: Reference, new: str) -> tuple[tuple[str, Edit], ...] | None:
    """Return the edits that make a reference name ``new`` instead; None if its file cannot take them.

    An imported name keeps the name that its module knows it by, so that no use of it has to change.
    """
    source = reference.scope.module.source
    base, _, last = new.rpartition(".")
    if isinstance(reference.node, ast.Attribute):
        if not source.faithful(reference.node):
            return None
        end = source.span(reference.node)[1]
        start = end - len(reference.last)
        if base == reference.base:
            return ((source.path, Edit(start, end, last.encode())),)
        if new.startswith(f"{_ROOT}.") and reference.base == _ROOT:
            return ((source.path, Edit(start, end, new[len(_ROOT) + 1 :].encode())),)
        if base.rpartition(".")[0] == reference.base.rpartition(".")[0] and isinstance(
            reference.node.value, ast.Attribute
        ):
            inner = source.span(reference.node.value)[1]
            text = f"{base.rpartition('.')[2]}.{last}"
            return ((source.path, Edit(inner - len(reference.node.value.attr), end, text.encode())),)
        return None
    assert reference.statement is not None
    if base != reference.base and len(reference.statement.names) > 1:
        return None
    start, end = source.span(reference.node)
    uses = None if reference.node.asname else _uses(flow, reference, last)
    local = reference.node.asname or reference.last
    text = last if uses is not None or local == last else f"{last} as {local}"
    edits = [Edit(start, end, text.encode()), *(uses or ())]
    if base != reference.base:
        edits.append(module_edit(reference.scope.module, reference.statement, base))
    return tuple((source.path, edit) for edit in edits)


def _uses(flow: Flow, reference: Reference, new: str) -> list[Edit] | None:
    """Return the edits of all uses of an imported name; None if some could not be found."""
    module, name = reference.scope.module, reference.last
    if new in module.scope.bindings or len(module.scope.bindings.get(name, ())) != 1 or len(flow.project.modules) > 1:
        return None
    edits = []
    for node in module.source.nodes:
        if isinstance(node, ast.arg) and node.arg in {name, new}:
            return None
        if isinstance(node, ast.Constant) and node.value == name:
            return None  # such as in __all__
        if isinstance(node, ast.Name) and node.id in {name, new}:
            if node.id == new or not isinstance(node.ctx, ast.Load) or not module.source.faithful(node):
                return None
            start, end = module.source.span(node)
            edits.append(Edit(start, end, new.encode()))
    return edits


def module_edit(module: ModuleFacts, statement: ast.ImportFrom, new: str) -> Edit:
    """Return the edit that makes a ``from`` import take its names from another module."""
    source = module.source
    start = source.span(statement)[0]
    old = (statement.module or "").encode()
    position = source.data.index(old, start + len(b"from"))
    return Edit(position, position + len(old), new.encode())


def newer(version: str) -> str:
    """Return the help for something that is newer than everything asked for."""
    return f"it came with Flax {version}, and is not taken back: ask for --to {version}, or keep it behind a test"
