"""What names refer to: variables of enclosing scopes, globals of modules, builtins."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.frames import Bound, Frame, both
from codemods.nnx.known import canonical
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import (
    Attr,
    Choice,
    Class,
    Const,
    Either,
    Free,
    Function,
    ModuleRef,
    Ref,
    Sequence,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow


# flax.nnx binds none of these but its module `object`, and in 0.12 `map`
_BUILTINS = frozenset(dir(builtins)) - {"object"}


class Variables:
    """Finds the values of names that an inner function or another module reads."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._choices: dict[tuple[Scope, str], Value] = {}

    def free(self, bound: Bound, value: Free) -> Bound:
        scope = value.scope
        bindings = scope.bindings.get(value.name)
        if not bindings:
            return self._global(scope, value.name) or bound
        function = enclosing_function(scope)
        frame = bound.frame
        while frame is not None and frame.function is not function:
            frame = frame.closure
        if frame is None:
            frame = self.flow.open_frame(scope)
        held = self._defined_last(scope, value.name, bound.frame) or self._binding(scope, value.name)
        return self.flow.resolve(
            Bound(held, frame, both(bound.stale, self.flow.moments.of_variable(scope, value.name, held, bound)))
        )

    def _defined_last(self, scope: Scope, name: str, reader: Frame | None) -> Value | None:
        """Return the last of several classes or functions of one name, if the function that reads it comes behind it.

        So do the cells of notebooks: what stands behind the second definition never sees the first.
        """
        values = scope.bindings[name]
        if reader is None or len(values) < 2 or scope.parent is not None or name in scope.remote:
            return None
        final = scope.env.get(name)
        if not isinstance(final, Class | Function) or not all(isinstance(v, Class | Function) for v in values):
            return None
        return final if reader.function.node.lineno > final.facts.node.lineno else None

    def _binding(self, scope: Scope, name: str) -> Value:
        """Return the value of a variable as an inner function sees it: any of those it is bound to."""
        key = (scope, name)
        if key not in self._choices:
            values = tuple(dict.fromkeys(scope.bindings[name]))
            objects = [v for v in values if not (isinstance(v, Const) and v.value is None)]
            final = scope.env.get(name)
            if len(values) == 1 or _wrapped(scope, name):
                held = values[-1]
            elif len(objects) > 1 and (name in scope.rebound or name in scope.remote):
                held = Either(scope.node, values)
            else:
                held = final if isinstance(final, Choice) else Choice(scope.node, values)
            self._choices[key] = held
        return self._choices[key]

    def _global(self, scope: Scope, name: str) -> Bound | None:
        """Return what a name that no statement binds refers to: a star import or a builtin."""
        module = scope.module
        for star in module.stars:
            source = self.flow.project.find(star, module.name)
            if source is not None:
                if source is not module and name in source.scope.bindings and _offers(source, name):
                    return self.export(source, name)
            elif canonical(star) == "flax.nnx" and name not in _BUILTINS:
                return Bound(Ref(f"flax.nnx.{name}"))
        return Bound(Ref(f"builtins.{name}")) if scope.parent is None else None

    def export(self, module: ModuleFacts, name: str) -> Bound | None:
        """Resolve a global of a project's module, also one that it imports or a submodule; None if there is none."""
        if name in module.scope.env:
            final = module.scope.env[name]
            if isinstance(final, Attr) and isinstance(final.base, ModuleRef) and final.name == name:
                # `from . import name` inside the package itself
                target = self.flow.project.find(final.base.name, final.base.importer)
                if target is module:
                    inner = self.flow.project.find(f"{module.name}.{name}")
                    return Bound(ModuleRef(inner.name)) if inner else None
            held = self._binding(module.scope, name)
            return self.flow.resolve(
                Bound(held, None, self.flow.moments.of_variable(module.scope, name, held, Bound(held)))
            )
        inner = self.flow.project.find(f"{module.name}.{name}")
        if inner is not None:
            return Bound(ModuleRef(inner.name))
        if module.stars:
            found = self._global(module.scope, name)
            if found is not None and not (isinstance(found.value, Ref) and found.value.name.startswith("builtins.")):
                return found
        return None


def _offers(module: ModuleFacts, name: str) -> bool:
    """Say whether a star import of a module may bind a name: one that its list names, if it has one."""
    offered = module.scope.bindings.get("__all__", ())
    if len(offered) != 1 or not isinstance(offered[0], Sequence):
        return True
    names = [item.value if isinstance(item, Const) else None for item in offered[0].items]
    return name in names or not all(isinstance(one, str) for one in names)


def _wrapped(scope: Scope, name: str) -> bool:
    """Say whether a function is replaced by what a call made of it before anything can run it: ``f = jit(f)``."""
    values, body = scope.bindings[name], getattr(scope.node, "body", None)
    if name in scope.remote or not isinstance(body, list) or not isinstance(values[0], Function):
        return False
    statements = iter(body)
    if not any(statement is values[0].facts.node for statement in statements):
        return False
    found = 1
    for statement in statements:
        wrapping = _wrapping(statement)
        if not wrapping and not isinstance(statement, ast.FunctionDef):
            break
        found += wrapping == name
    return found == len(values)


def _wrapping(statement: ast.stmt) -> str:
    """Return the name that a statement gives to what a call made of its function; empty if it does something else."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or len(statement.targets) > 1:
        return ""
    given = statement.value.args
    return target.id if any(isinstance(one, ast.Name) and one.id == target.id for one in given) else ""
