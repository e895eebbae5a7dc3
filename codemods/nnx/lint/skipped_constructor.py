"""NNX735: a constructor that does not call that of its base class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import own_reads
from codemods.nnx.lint.places import is_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr

_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Pytree", "flax.nnx.Object", "typing.Generic", "abc.ABC"})
_READING_BY_NAME = frozenset({"setattr", "__dict__", "vars", "__getattr__", "__getattribute__"})


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        init = cls.methods.get("__init__")
        if init is None or not cls.bases or is_test(cls.scope.module):
            continue
        parents, names = context.flow.classes.mro(cls)
        if len(parents) < 2 or "flax.nnx.Module" not in names or not names <= _BASES:
            continue
        if _calls_constructor(context, init) or any(one.decorators for one in parents):
            continue
        missing = _missing(context, cls, parents)
        if missing is None:
            continue
        name, base, reader = missing
        yield finding(
            RULE.code,
            cls.scope,
            init.node,
            f"the constructor of {base.name} is not called, which makes `self.{name}`: `{reader.name}` reads it",
            "call super().__init__(...) first",
        )


def _calls_constructor(context: Context, init: FunctionFacts) -> bool:
    """Say whether a constructor calls another one, or hands itself to a function that may fill it."""
    own = init.self_param
    for event in context.bodies.calls.get(init.scope, ()):
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.name in {"__init__", "_init", "setup"}:
            return True
        if any(value is own for value in event.value.given):
            return True
    return bool(init.decorators) or init.scope.module.source.text(init.node).count("super") > 0


def _missing(
    context: Context, cls: ClassFacts, parents: tuple[ClassFacts, ...]
) -> tuple[str, ClassFacts, FunctionFacts] | None:
    """Return an attribute that only a base class's constructor stores and that a method of the class reads."""
    stored: dict[str, list[FunctionFacts]] = {}
    for parent in parents:
        if _READING_BY_NAME & parent.methods.keys():
            return None
        for name, stores in parent.stores.items():
            stored.setdefault(name, []).extend(method for method, _ in stores)
        for name in (*parent.scope.env, *parent.fields):
            stored.setdefault(name, []).append(cls.methods["__init__"])
    readers: dict[str, FunctionFacts] = {}
    constructors = {parent.methods.get("__init__"): parent for parent in parents[1:]}
    for method in _methods(parents):
        if _of_constructors(context, method, constructors):
            continue
        for node in context.bodies.nodes(method.scope):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READING_BY_NAME:
                return None
        for read in own_reads(context, method):
            readers.setdefault(read.attr, method)
    asked: set[str] | None = None
    for name, reader in readers.items():
        makers = stored.get(name, [])
        if not makers or not all(maker in constructors for maker in makers):
            continue
        if "__call__" in cls.methods:
            asked = _asked(context, cls, parents) if asked is None else asked
            if reader.name not in asked:
                continue  # inherited, of a class with a call of its own, and nobody calls it
        if not any(True for _ in context.flow.fields.stores_from_outside(cls, name)):
            return name, constructors[makers[0]], reader
    return None


def _asked(context: Context, cls: ClassFacts, parents: tuple[ClassFacts, ...]) -> set[str]:
    """Return the names that the class and the files which name it ask objects for, and what those methods ask for.

    The bodies of the base classes count only where something calls their methods.
    """
    word, bases = cls.name.encode(), {parent.node for parent in parents[1:]}
    asked = {"__call__", *cls.methods}
    waiting: list[ast.AST] = [m.source.tree for m in context.project.modules if word in m.source.data]
    methods = [method for parent in parents[1:] for method in parent.methods.values()]
    read: set[ast.AST] = set(bases)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute):
            asked.add(node.attr)
        waiting += [child for child in ast.iter_child_nodes(node) if child not in read]
        if not waiting:
            called = [method.node for method in methods if method.name in asked and method.node not in read]
            if "__call__" in cls.methods and not _calls_base(cls.methods["__call__"]):
                called = [one for one in called if getattr(one, "name", "") != "__call__"]
            read.update(called)
            waiting += called
    return asked


def _of_constructors(
    context: Context, method: FunctionFacts, constructors: dict[FunctionFacts | None, ClassFacts]
) -> bool:
    """Say whether a private method is called by constructors alone, which do not run."""
    if not method.name.startswith("_") or method.name.startswith("__"):
        return False
    callers = [event.scope.function for event in context.flow.sites.callers(method)]
    return bool(callers) and all(one in constructors for one in callers)


def _methods(parents: tuple[ClassFacts, ...]) -> Iterator[FunctionFacts]:
    """Yield the methods that an instance has, each name once, constructors left out."""
    seen = {"__init__"}
    for parent in parents:
        for name, method in parent.methods.items():
            if name not in seen:
                if not _calls_base(method):
                    seen.add(name)
                yield method


def _calls_base(method: FunctionFacts) -> bool:
    """Say whether a method calls that of the same name of the base class, by ``super()``."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == method.name
        and isinstance(node.value, ast.Call)
        and last_word(node.value.func) == "super"
        for node in ast.walk(method.node)
    )


RULE = lint_rule(
    "NNX735",
    "skipped-constructor",
    "a constructor does not call that of its base class, whose layers are missing",
    why="""\
A class that defines `__init__` replaces that of its base class. Without `super().__init__(...)` the layers that the
base class makes are not there, and the first method that reads one raises an AttributeError.
""",
    source="measured on Flax 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Backbone(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.stem = nnx.Linear(4, 8, rngs=rngs)

    def features(self, x):
        return self.stem(x)


class Classifier(Backbone):
    def __init__(self, rngs: nnx.Rngs):
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.features(x))
""",
    ),
    clean=(
        """\
from flax import nnx


class Backbone(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.stem = nnx.Linear(4, 8, rngs=rngs)

    def features(self, x):
        return self.stem(x)


class Classifier(Backbone):
    def __init__(self, rngs: nnx.Rngs):
        super().__init__(rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.features(x))


class Other(Backbone):
    def __init__(self, rngs: nnx.Rngs):
        self.stem = nnx.Conv(4, 8, (3, 3), rngs=rngs)
""",
    ),
)
