"""A small module that a project gets where no spelling is valid on all Flax versions asked for."""

from __future__ import annotations

import ast
import os.path
from typing import NamedTuple

from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.imports import new_import, shadowed
from codemods.nnx.known import COMPATIBILITY as MODULE
from codemods.nnx.project import Project

_HEAD = '''\
"""Spellings that hold for several releases of Flax NNX; delete each with the last release that needs it."""

from flax import nnx
'''

#: The helpers by name, each complete in itself. They look names up by strings, so that no release misses one.
HELPERS: dict[str, str] = {
    "ModelAndOptimizer": """
#: The optimizer that holds its model: nnx.Optimizer up to Flax 0.10, nnx.ModelAndOptimizer since 0.11.
ModelAndOptimizer = getattr(nnx, "ModelAndOptimizer", nnx.Optimizer)
""",
    "Pytree": """
#: The base of all NNX objects: nnx.Object up to Flax 0.11.0, nnx.Pytree since 0.11.1.
Pytree = getattr(nnx, "Pytree", None) or vars(nnx)["Object"]
""",
    "data": '''

def data(value):
    """Mark an attribute that holds modules, Variables or arrays, as Flax 0.12 asks for; see nnx.data."""
    mark = getattr(nnx, "data", None)
    return value if mark is None else mark(value)
''',
    "with_sharding_constraint": '''

def with_sharding_constraint(x, spec, mesh=None):
    """Constrain the sharding of arrays; see jax.lax.with_sharding_constraint. Without any mesh, do nothing."""
    known = getattr(nnx, "with_sharding_constraint", None)
    if known is not None:
        return known(x, spec, mesh)
    import jax
    from flax.core.meta import global_mesh_defined

    if spec is None or (mesh is None and not global_mesh_defined()):
        return x

    def constrain(leaf, names):
        wanted = names if mesh is None or names is None else jax.sharding.NamedSharding(mesh, names)
        return jax.lax.with_sharding_constraint(leaf, wanted)

    return jax.tree.map(constrain, x, spec, is_leaf=lambda leaf: leaf is None)
''',
}


class Borrowed(NamedTuple):
    """How a module writes a helper of the compatibility module.

    Attributes:
        text: the expression.
        import_line: the statement that imports it.
        edits: edits by path that make it valid: the import, and the helper where it is not there yet.
    """

    text: str
    import_line: str
    edits: tuple[tuple[str, Edit], ...]


def borrow(project: Project, scope: Scope, name: str, replaced: ast.ImportFrom | None = None) -> Borrowed | None:
    """Return how a scope can use one of :data:`HELPERS`; None if the name would clash with one of its own.

    The compatibility module stands in the outermost package that the module belongs to, or beside a script.

    Args:
        project: the modules analysed together.
        scope: where the helper is used.
        name: the helper.
        replaced: the import that the caller replaces by :attr:`Borrowed.import_line`; no import is added then.
    """
    module = scope.module
    folder, dotted = _home(project, module)
    path = os.path.join(folder, f"{MODULE}.py")
    spelled = f"from {dotted} import {name}"
    taken = replaced is None and name in module.scope.bindings and not _imported(module, dotted, name)
    inside = os.path.basename(module.source.path) == f"{MODULE}.py"
    if taken or inside or shadowed(scope, name) or module.source.notebook:
        return None
    edits: list[tuple[str, Edit]] = []
    if replaced is None and name not in module.scope.bindings:
        edits.append((module.source.path, new_import(module, spelled)))
    known = next((m for m in project.modules if os.path.normpath(m.source.path) == os.path.normpath(path)), None)
    if known is None:
        # head and helpers are edits of their own, so that all fixes that need the module agree; a quote sorts first
        edits.append((path, Edit(0, 0, _HEAD.encode(), joins=True)))
        edits.append((path, Edit(0, 0, HELPERS[name].encode(), joins=True)))
    elif name not in known.scope.bindings:
        end = len(known.source.data)
        edits.append((known.source.path, Edit(end, end, HELPERS[name].encode(), joins=True)))
    return Borrowed(name, spelled, tuple(edits))


def _imported(module: ModuleFacts, dotted: str, name: str) -> bool:
    """Say whether a module has a helper already."""
    return any(
        isinstance(statement, ast.ImportFrom)
        and statement.module == dotted
        and any((alias.asname or alias.name) == name for alias in statement.names)
        for statement in module.imports
    )


def _home(project: Project, module: ModuleFacts) -> tuple[str, str]:
    """Return the folder of the compatibility module that a module uses, and the name to import it by."""
    folder = os.path.dirname(module.source.path)
    parts = (module.source.module or "").split(".")
    parents = parts if module.source.package else parts[:-1]
    packages: list[str] = []
    while parents and _is_package(project, ".".join(parents)):
        packages.insert(0, parents[-1])
        parents = parents[:-1]
    if not packages:
        return folder, MODULE
    for _ in packages[1:]:
        folder = os.path.dirname(folder)
    return folder, f"{packages[0]}.{MODULE}"


def _is_package(project: Project, name: str) -> bool:
    """Say whether a folder is a package: its ``__init__`` is known, or its modules import each other as its members."""
    last = name.rpartition(".")[2]
    for module in project.modules:
        own = module.source.module or ""
        if own == name and module.source.package:
            return True
        for statement in module.imports:
            if isinstance(statement, ast.ImportFrom):
                if statement.level and own.rpartition(".")[0] == name:
                    return True
                names = [] if statement.level else [statement.module or ""]
            else:
                names = [alias.name for alias in statement.names]
            if any(imported.startswith(f"{last}.") for imported in names):
                return True
    return False
