"""What names mean, as far as imports and definitions tell without following any value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codemods.nnx.facts import ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.nodes import every
from codemods.nnx.patterns import pattern
from codemods.nnx.project import Project
from codemods.nnx.values import Attr, Call, Choice, Class, Free, Function, Item, ModuleRef, Param, Value

_DEPTH = 6  # how many imports of imports are followed

# Functions that give a function whose result has the same parts as that of the one that they get, by last name.
_SAME_RESULT = frozenset(
    {"jit", "pjit", "vmap", "pmap", "shard_map", "remat", "checkpoint", "named_call", "lru_cache", "cache",
     "partial", "cached_partial", "split_rngs", "staticmethod", "classmethod"}
)  # fmt: skip

#: Functions that bind arguments of the one that they get, by last name.
PARTIAL = frozenset({"partial", "cached_partial", "partialmethod"})


class Definition(NamedTuple):
    """A function or class, with how many positional arguments are bound already."""

    facts: FunctionFacts | ClassFacts
    bound: int = 0


class Names:
    """Finds modules, functions and classes behind dotted names, by bindings alone."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._exported: dict[tuple[Scope, str], tuple[Definition, ...]] = {}
        self._heirs: dict[ClassFacts, list[ClassFacts]] = {}
        self._families: dict[ClassFacts, tuple[ClassFacts, ...]] = {}
        self._annotated: dict[str, list[Param]] | None = None
        self._renamed: dict[str, list[tuple[ModuleFacts, str]]] = {}

    def modules(self, value: Value, depth: int = 0) -> tuple[ModuleFacts, ...]:
        """Return the modules of the project that a value may be."""
        if isinstance(value, ModuleRef):
            found = self.project.find(value.name, value.importer)
            return (found,) if found is not None else ()
        if depth > _DEPTH:
            return ()
        if isinstance(value, Free):
            bound = value.scope.bindings.get(value.name, ())
            return tuple(m for b in bound if isinstance(b, ModuleRef | Attr) for m in self.modules(b, depth + 1))
        if isinstance(value, Attr):
            if isinstance(value.base, ModuleRef):  # a submodule, or a module that another one imported
                inner = self.project.find(f"{value.base.name}.{value.name}", value.base.importer)
                if inner is not None:
                    return (inner,)
            return tuple(
                found
                for module in self.modules(value.base, depth + 1)
                for found in self._of_module(module, value.name, depth + 1)
            )
        return ()

    def module_like(self, value: Value) -> bool:
        """Say whether a value is a module, of the project or not, or something in a foreign one."""
        while isinstance(value, Attr):
            value = value.base
        if isinstance(value, Free):
            bound = value.scope.bindings.get(value.name, ())
            return bool(bound) and all(self._imported(b) for b in bound)
        return isinstance(value, ModuleRef)

    def _imported(self, value: Value) -> bool:
        if isinstance(value, Attr) and isinstance(value.base, ModuleRef):  # from module import name
            if self.modules(value):
                return True
            return self.project.find(value.base.name, value.base.importer) is None
        return isinstance(value, ModuleRef)

    def _of_module(self, module: ModuleFacts, name: str, depth: int) -> tuple[ModuleFacts, ...]:
        inner = self.project.find(f"{module.name}.{name}")
        if inner is not None:
            return (inner,)
        bound = module.scope.bindings.get(name, ())
        return tuple(m for b in bound if isinstance(b, ModuleRef | Attr) for m in self.modules(b, depth))

    def definitions(self, value: Value, depth: int = 0) -> tuple[Definition, ...]:
        """Return the functions and classes that a value may be by the names that it is reached by."""
        if isinstance(value, Function | Class):
            return (Definition(value.facts),)
        if depth > _DEPTH:
            return ()
        if isinstance(value, Free):
            return self.exported(value.scope, value.name, depth)
        if isinstance(value, Attr):
            return tuple(d for m in self.modules(value.base) for d in self.exported(m.scope, value.name, depth + 1))
        if isinstance(value, Choice):
            return tuple(d for o in value.options for d in self.definitions(o, depth + 1))
        if isinstance(value, Param):
            function = value.function
            own = function.binding == "class" and value is next(iter(function.params.values()), None)
            return tuple(Definition(c) for c in self.heirs(function.owner)) if own and function.owner else ()
        if isinstance(value, Item):  # Generic[T]
            return self.definitions(value.base, depth + 1)
        if isinstance(value, Call) and value.args:  # a decorated function, a mixin made by a function of the class
            found = self.definitions(value.args[0], depth + 1)
            bound = len(value.args) - 1
            if bound and last_name(value.callee) in PARTIAL:
                return tuple(Definition(d.facts, d.bound + bound) for d in found)
            return found
        return ()

    def plain(self, value: Value, depth: int = 0) -> bool:
        """Say whether what a call of this gives is what the functions return that its name tells, and not around it."""
        if isinstance(value, Function | Class):
            return True
        if depth > _DEPTH:
            return False
        if isinstance(value, Free | Attr):
            if isinstance(value, Free):
                bound = value.scope.bindings.get(value.name, [])
            else:
                bound = [b for m in self.modules(value.base) for b in m.scope.bindings.get(value.name, ())]
            return bool(bound) and all(self.plain(one, depth + 1) for one in bound)
        if isinstance(value, Choice):
            return all(self.plain(option, depth + 1) for option in value.options)
        if isinstance(value, Call) and value.args and _same_result(value.callee):
            return self.plain(value.args[0], depth + 1)
        return False

    def plainly_decorated(self, function: FunctionFacts) -> bool:
        """Say whether calling a function by its name gives what it returns, as no decorator puts that elsewhere."""
        return all(_same_result(decorator) or function.is_property for decorator in function.decorators)

    def exported(self, scope: Scope, name: str, depth: int = 0) -> tuple[Definition, ...]:
        """Return the functions and classes that a name of a scope may be bound to."""
        key = (scope, name)
        known = self._exported.get(key)
        if known is None:
            self._exported[key] = ()  # ends circles of imports
            bound = scope.bindings.get(name)
            if bound:
                known = tuple(dict.fromkeys(d for b in bound for d in self.definitions(b, depth + 1)))
            else:
                known = tuple(
                    d
                    for star in scope.module.stars
                    for found in (self.project.find(star, scope.module.name),)
                    if found is not None and found.scope is not scope
                    for d in self.exported(found.scope, name, depth + 1)
                )
            if depth == 0:
                self._exported[key] = known
            else:
                del self._exported[key]  # the depth may have cut it short
        return known

    def annotated(self, names: Iterable[str]) -> Iterator[Param]:
        """Yield the parameters whose annotations mention one of some names, or what a module calls it."""
        if self._annotated is None:
            self._annotated = {}
            for module in self.project.modules:
                for own, bound in module.scope.bindings.items():
                    for origin in {name for b in bound if (name := getattr(b, "name", own)) != own}:
                        self._renamed.setdefault(origin, []).append((module, own))
                for function in module.functions:
                    for name, annotation in function.annotations.items():
                        for word in _words(annotation):
                            self._annotated.setdefault(word, []).append(function.params[name])
        for name in names:
            yield from self._annotated.get(name, ())
            for module, own in self._renamed.get(name, ()):
                for param in self._annotated.get(own, ()):
                    if param.function.scope.module is module:
                        yield param

    def family(self, cls: ClassFacts) -> tuple[ClassFacts, ...]:
        """Return a class and the project's classes that it may derive from."""
        known = self._families.get(cls)
        if known is None:
            self._families[cls] = (cls,)
            found: dict[ClassFacts, None] = {cls: None}
            for base in cls.bases:
                for parent, _ in self.definitions(base):
                    if isinstance(parent, ClassFacts):
                        found.update(dict.fromkeys(self.family(parent)))
            known = self._families[cls] = tuple(found)
        return known

    def heirs(self, cls: ClassFacts) -> list[ClassFacts]:
        """Return a class and the project's classes that may derive from it."""
        if not self._heirs:
            for module in self.project.modules:
                for heir in module.classes:
                    for parent in self.family(heir):
                        self._heirs.setdefault(parent, []).append(heir)
        return self._heirs.get(cls, [cls])

    def related(self, cls: ClassFacts) -> tuple[ClassFacts, ...]:
        """Return the classes that an instance in a method of a class may have methods of: its parents' and heirs'."""
        return tuple(dict.fromkeys(c for heir in self.heirs(cls) for c in self.family(heir)))


def _same_result(decorator: Value) -> bool:
    """Say whether a function, or one that is given its options first, gives functions with the same result."""
    if isinstance(decorator, Call):  # functools.partial(jax.jit, static_argnames=...), nnx.jit(donate_argnums=0)
        if last_name(decorator.callee) in PARTIAL and decorator.args:
            return _same_result(decorator.args[0])
        return not decorator.args and _same_result(decorator.callee)
    return last_name(decorator) in _SAME_RESULT


def last_name(callee: Value) -> str:
    """Return the last part of the name of what is called, as it was called where it was made; empty without a name."""
    while isinstance(callee, Item):
        callee = callee.base
    if isinstance(callee, Attr):
        return callee.name
    if isinstance(callee, Free):
        bound = callee.scope.bindings.get(callee.name, ())
        origin = next((b for b in bound if isinstance(b, Attr)), None)  # from x import y as z
        return origin.name if origin is not None else callee.name
    return ""


def _words(annotation: ast.expr) -> set[str]:
    """Return the names in an annotation, also in those that are written as strings."""
    found: set[str] = set()
    for inner in every(annotation):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            found.add(inner.attr)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            found.update(_WORD.findall(inner.value))
    return found


_WORD = pattern(r"\w+")
