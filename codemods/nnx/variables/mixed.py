"""Functions that get both Variables of modules and leaves of states, one class since 0.11, and ask which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.values import Call, Param
from codemods.nnx.variables.leaves import Leaves
from codemods.nnx.variables.references import VARIABLE_STATE, Test, tests, type_compared

_CALLERS = 3  # how many callers up an argument is followed


class Mixed(NamedTuple):
    """A test that told Variables from leaves up to 0.10.

    Attributes:
        test: the test.
        leaf: a call that hands a leaf of a state.
        live: a call that hands a Variable of a module.
    """

    test: Test
    leaf: ast.AST
    live: ast.AST


def mixed(context: Context, module: ModuleFacts) -> tuple[Mixed, ...]:
    """Return the tests of a parameter that is a leaf from one caller and a Variable from another; rules share them."""
    return context.shared(_of_project).get(module, ())


def _of_project(context: Context) -> dict[ModuleFacts, tuple[Mixed, ...]]:
    given = _Given(context)
    return {module: tuple(_of(context, module, given)) for module in context.project.modules}


def _of(context: Context, module: ModuleFacts, given: _Given) -> Iterator[Mixed]:
    if not any(word in module.source.data for word in (b"isinstance", b"type(", b"__class__")):
        return
    for test in tests(context, module):
        state = VARIABLE_STATE in test.classes
        if (state and len(test.classes) > 1) or not all(_of_variables(name) for name in test.classes):
            continue
        parameter = _parameter(context, module, test)
        if parameter is None:
            continue
        found: dict[bool, ast.AST] = {}
        for leaf, node in given.to(parameter.function, parameter.name):
            found.setdefault(leaf, node)
        if len(found) == 2:
            yield Mixed(test, found[True], found[False])


def _of_variables(name: str) -> bool:
    return name == VARIABLE_STATE or class_kind(name) is Objects.VARIABLE


def _parameter(context: Context, module: ModuleFacts, test: Test) -> Param | None:
    if isinstance(test.node, ast.Call):
        subject: ast.expr = test.node.args[0]
    else:
        compared = type_compared(test.node)
        if compared is None:
            return None
        subject = compared[0]
    value = module.values.get(subject)
    if value is None:
        return None
    found = context.flow.resolve(context.flow.here(value, test.scope)).value
    return found if isinstance(found, Param) else None


class _Given:
    """What the project's calls hand to parameters."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.leaves = Leaves(context)

    def to(self, function: FunctionFacts, name: str, depth: int = 0) -> Iterator[tuple[bool, ast.AST]]:
        """Yield whether a call hands a leaf of a state or a Variable of a module, with the call."""
        flow = self.context.flow
        if next(iter(function.params), None) == name:
            yield from ((True, node) for node in self.leaves.mapping(function))
        for frame in flow.sites.entries(function):
            given = flow.argument(frame, name)
            if given is None or not isinstance(frame.site, Call):
                continue
            if isinstance(given.value, Param) and depth < _CALLERS:
                inner = flow.resolve(given).value
                if isinstance(inner, Param):
                    yield from self.to(inner.function, inner.name, depth + 1)
                    continue
            kind = self._kind(given)
            if kind is not None:
                yield kind, frame.site.node

    def _kind(self, given: Bound) -> bool | None:
        if self.leaves.leaf(given):
            return True
        return False if self.context.kinds.only(given) is Objects.VARIABLE else None
