"""Context managers of a project that may go on after an error in their block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.lint.syntax import handles, is_none, own_nodes, paths
from codemods.nnx.nodes import last_word
from codemods.nnx.project import Project

#: Context managers in whose blocks an error is expected or passed over.
EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


def swallowing(project: Project) -> frozenset[str]:
    """Return the names of context managers of a project in whose blocks an error may be passed over.

    Those are the classes whose ``__exit__`` returns something, their heirs, and the functions under
    ``@contextmanager`` that yield in a ``try`` which goes on after errors.
    """
    found: set[str] = set()
    heirs: dict[str, list[str]] = {}
    for cls in project.classes():
        for base in cls.node.bases:
            heirs.setdefault(last_word(base), []).append(cls.name)
        leave = cls.methods.get("__exit__")
        if leave is not None and not isinstance(leave.node, ast.Lambda) and any(map(_tells, own_nodes(leave.node))):
            found.add(cls.name)
    for module in project.modules:
        if not module.source.mentions(b"contextmanager"):
            continue
        for function in module.functions:
            decorators = getattr(function.node, "decorator_list", ())
            if function.generator and any(last_word(one) in _MAKING for one in decorators):
                if any(_swallows(function.node)):
                    found.add(function.name)
    queue = [*found, "suppress"]
    while queue:
        for name in heirs.get(queue.pop(), ()):
            if name not in found:
                found.add(name)
                queue.append(name)
    return frozenset(found)


_MAKING = frozenset({"contextmanager", "asynccontextmanager"})


def _tells(node: ast.AST) -> bool:
    """Say whether a node of an ``__exit__`` returns what may be true after an error."""
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    given = node.value
    if isinstance(given, ast.Compare) and isinstance(given.ops[0], ast.Is):
        other = given.comparators[0]
        return not is_none(other)  # that there was no error
    return not (isinstance(given, ast.Constant) and not given.value)


def _swallows(function: ast.AST) -> Iterator[bool]:
    """Yield for each ``yield`` of a function whether it stands where errors are passed over."""
    around = paths(function)  # type: ignore[arg-type]
    for node in own_nodes(function):  # type: ignore[arg-type]
        if isinstance(node, ast.Yield):
            yield any(arm == "body" and _passes(block) for block, arm in around.get(node, ()))


def _passes(block: ast.AST) -> bool:
    """Say whether a block goes on after errors in it."""
    if isinstance(block, ast.With):
        return any(called(item) in EXPECTING for item in block.items)
    return isinstance(block, ast.Try) and handles(block)


def called(item: ast.withitem) -> str:
    """Return the last part of the name of a context manager."""
    made = item.context_expr
    return last_word(made.func if isinstance(made, ast.Call) else made)
