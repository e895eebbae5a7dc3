"""Assignments with an annotation, which are assignments like others to whatever goes over a function."""

from __future__ import annotations

import ast


class AnnotatedAssign(ast.Assign, ast.AnnAssign):  # type: ignore[misc]
    """An assignment with an annotation, ``x: int = 3``: outside of class bodies it does what ``x = 3`` does.

    It is both to what asks by ``isinstance``, and goes by the name of the annotated one where nodes are visited.
    """

    _fields = ("targets", "annotation", "value")


AnnotatedAssign.__name__ = "AnnAssign"


def as_assignments(tree: ast.Module) -> None:
    """Make the annotated assignments of a tree to variables and attributes :class:`AnnotatedAssign`.

    Those in class bodies declare fields and stay as they are.
    """
    blocks: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    for block, fields in blocks:
        for node in block:
            if type(node) is ast.AnnAssign:
                if not fields and node.value is not None and isinstance(node.target, ast.Name | ast.Attribute):
                    node.__class__ = AnnotatedAssign
                    node.targets = [node.target]  # type: ignore[attr-defined]
                continue
            inner = getattr(node, "body", None)
            if inner is None:
                if isinstance(node, ast.Match):
                    blocks += [(case.body, fields) for case in node.cases]
                continue
            own = fields
            if isinstance(node, ast.ClassDef):
                own = True
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = False
            blocks.append((inner, own))
            for name in ("orelse", "finalbody"):
                more = getattr(node, name, None)
                if more:
                    blocks.append((more, own))
            blocks += [(one.body, own) for one in getattr(node, "handlers", ())]
