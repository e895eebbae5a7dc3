"""Variables of a constructor that were to be attributes; part of NNX730."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.lint.owners import KNOWN_BASES, has_own_attribute, own_reads
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import every, last_word

_CONSTRUCTORS = ("__init__", "__post_init__")


def forgotten_self(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the variables that only a constructor sets and nothing reads, where methods read an attribute so called.

    Yields:
        the constructor's body, the assignment's target, and the name.
    """
    for cls in context.asked.classes():
        if not any(name in cls.methods for name in _CONSTRUCTORS) or in_test(cls.scope):
            continue
        told: set[str] = set()
        for method in cls.methods.values():
            for node in own_reads(context, method):
                if node.attr in told or context.bodies.guarded(node, method.scope):
                    continue
                target = left_local(context, cls, node.attr)
                if target is None or context.bodies.of_asked_type(node.value, node, method.scope):
                    continue
                told.add(node.attr)
                yield (*target, node.attr)


def left_local(context: Context, cls: ClassFacts, name: str) -> tuple[Scope, ast.Name] | None:
    """Return the variable of a class's constructor that has the name of an attribute which nothing sets, if nothing
    reads it.

    Args:
        context: the analysis.
        cls: the class.
        name: the name.
    """
    for word in _CONSTRUCTORS:
        method = cls.methods.get(word)
        if method is None or method.self_param is None:
            continue
        stores = context.bodies.stores(method.scope, name)
        if len(stores) != 1 or name in method.scope.globals or _read_later(method.node, stores[0]):
            continue
        parents, bases = context.flow.classes.mro(cls)
        if not bases <= KNOWN_BASES or has_own_attribute(context, cls, name):
            continue
        if any(map(context.shared(ByName).sets, parents)):
            continue
        return method.scope, stores[0]
    return None


def _read_later(function: ast.AST, target: ast.Name) -> bool:
    """Say whether a variable is read after it was set, or by an inner function or in a loop."""
    loops = (ast.For, ast.While, ast.Lambda, ast.FunctionDef, ast.ClassDef)
    inner = {id(n) for part in ast.walk(function) if part is not function and isinstance(part, loops)
             for n in ast.walk(part)}  # fmt: skip
    end = next(
        (s.end_lineno or s.lineno for s in ast.walk(function) if isinstance(s, ast.Assign) and target in s.targets), 0
    )
    return end == 0 or any(
        isinstance(n, ast.Name) and n.id == target.id and n is not target and (n.lineno > end or id(n) in inner)
        for n in ast.walk(function)
    )


class ByName:
    """Tells of classes whether they set attributes by name."""

    def __init__(self, context: Context) -> None:
        self._known: dict[ClassFacts, bool] = {}

    def sets(self, cls: ClassFacts) -> bool:
        """Say whether the text of a class names one of the functions that do, or says that it may get any attribute."""
        if cls not in self._known:
            mentions = cls.scope.module.source.mentions
            self._known[cls] = any(mentions(word.encode()) for word in _DYNAMIC) and any(
                last_word(node) in _DYNAMIC for node in every(cls.node) if isinstance(node, ast.Name | ast.Attribute)
            )
        return self._known[cls]


_DYNAMIC = frozenset({"setattr", "__dict__", "vars", "__setattr__", "locals", "add_module", "register", "__slots__"})
