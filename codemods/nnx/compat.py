"""A small module that a project gets where no spelling is valid on all Flax versions asked for."""

from __future__ import annotations

import os.path
from dataclasses import dataclass

from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.imports import new_import, shadowed
from codemods.nnx.project import Project

MODULE = "_nnx_compat"

_HEAD = '''\
"""Spellings that hold for several releases of Flax NNX; delete each with the last release that needs it."""

import jax
from flax import nnx
'''

#: The helpers by name. Each looks names up by strings, so that no release misses one.
HELPERS: dict[str, str] = {
    "ModelAndOptimizer": '''
#: The optimizer that holds its model: nnx.Optimizer up to Flax 0.10, nnx.ModelAndOptimizer since 0.11.
ModelAndOptimizer = getattr(nnx, "ModelAndOptimizer", nnx.Optimizer)
''',
    "Pytree": '''
#: The base of all NNX objects: nnx.Object up to Flax 0.11.0, nnx.Pytree since 0.11.1.
Pytree = getattr(nnx, "Pytree", None) or nnx.Object
''',
    "data": '''

def data(value):
    """Mark an attribute that holds modules, Variables or arrays, as Flax 0.12 asks for; see nnx.data."""
    mark = getattr(nnx, "data", None)
    return value if mark is None else mark(value)
''',
    "with_sharding_constraint": '''

def with_sharding_constraint(x, spec, mesh=None):
    """Constrain the sharding of arrays as nnx.with_sharding_constraint did: without a mesh, do nothing."""
    if spec is None:
        return x
    if mesh is None:
        try:
            from flax.core.meta import global_mesh_defined as defined
        except ImportError:
            from flax.core.spmd import _global_mesh_defined as defined
        if not defined():
            return x

    def constrain(leaf, names):
        wanted = names if mesh is None or names is None else jax.sharding.NamedSharding(mesh, names)
        return jax.lax.with_sharding_constraint(leaf, wanted)

    return jax.tree.map(constrain, x, spec, is_leaf=lambda leaf: leaf is None)
''',
}


@dataclass(frozen=True)
class Borrowed:
    """How a module writes a helper of the compatibility module.

    Attributes:
        text: the expression.
        edits: edits by path that make it valid: the import, and the helper where it is not there yet.
    """

    text: str
    edits: tuple[tuple[str, Edit], ...]


def borrow(project: Project, scope: Scope, name: str) -> Borrowed | None:
    """Return how a scope can use one of :data:`HELPERS`; None if the name would clash with one of its own.

    The compatibility module stands in the outermost package that the module belongs to, or beside a script.
    """
    module = scope.module
    folder, dotted = _home(project, module)
    path = os.path.join(folder, f"{MODULE}.py")
    spelled = f"from {dotted} import {name}"
    taken = name in module.scope.bindings and not _imported(module, dotted, name)
    if taken or shadowed(scope, name) or module.source.notebook or os.path.basename(module.source.path) == f"{MODULE}.py":
        return None
    edits: list[tuple[str, Edit]] = []
    if name not in module.scope.bindings:
        edits.append((module.source.path, new_import(module, spelled)))
    known = next((m for m in project.modules if os.path.normpath(m.source.path) == os.path.normpath(path)), None)
    if known is None:
        edits += ((path, Edit(0, 0, text.encode(), joins=True)) for text in (_HEAD, HELPERS[name]))
    elif name not in known.scope.bindings:
        end = len(known.source.data)
        edits.append((known.source.path, Edit(end, end, HELPERS[name].encode(), joins=True)))
    return Borrowed(name, tuple(edits))


def _imported(module: ModuleFacts, dotted: str, name: str) -> bool:
    """Say whether a module has a helper already."""
    return any(
        getattr(statement, "module", None) == dotted and any((a.asname or a.name) == name for a in statement.names)
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
        if own.rpartition(".")[0] == name and any(getattr(s, "level", 0) for s in module.imports):
            return True
        for statement in module.imports:
            names = [a.name for a in statement.names] if not hasattr(statement, "module") else [statement.module or ""]
            if any(n.startswith(f"{last}.") for n in names) and not getattr(statement, "level", 0):
                return True
    return False
