"""What is asked of single functions and calls in order to tell what is traced."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Frame
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.lint.chains import Way
from codemods.nnx.lint.conditions import opposed
from codemods.nnx.lint.names import TRACING_WORDS
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Choice, Value


class Given(NamedTuple):
    """A function that a caller gives for a parameter; see :class:`Handed`.

    Attributes:
        maker: the function that calls the parameter with the call that made it, if that has to be traced first.
    """

    function: FunctionFacts
    frame: Frame
    giver: FunctionFacts | None
    maker: tuple[FunctionFacts, Value] | None = None


class Handed(NamedTuple):
    """A function that a call in traced code reaches.

    Attributes:
        function: the function.
        frame: its activation.
        way: how tracing comes to it.
        giver: the function that hands it on, whose tracing decides; None if it is traced in any case.
        level: see :class:`Tracing`.
        site: whether the call is seen for the first time.
    """

    function: FunctionFacts
    frame: Frame
    way: Way
    giver: FunctionFacts | None
    level: int
    site: bool


def possible(given: Choice, event: CallEvent, bodies: Bodies) -> list[Value]:
    """Return what a variable may hold at a call: not what it got under the opposite of a condition around the call."""
    known = bodies.paths(event.scope)
    around = known.get(event.node, ())
    made = [(one, known.get(one.node, ()) if isinstance(one, Call) else ()) for one in given.options]
    left = [one for one, way in made if not opposed(way, around, event.scope.node)]
    return left if len(left) < len(made) else [given]


def takes(function: FunctionFacts, frame: Frame) -> bool:
    """Say whether a function has the parameters that it is given: else nothing of it ever runs."""
    if not takes_named(function, frame.keywords):
        return False
    taken = frame.receiver is not None and function.binding != "static"
    return function.vararg is not None or frame.partial or len(frame.args) <= function.positional - taken


def takes_named(function: FunctionFacts, given: Iterable[str]) -> bool:
    """Say whether a function has the parameters that it is given by name, also before."""
    return function.kwarg is not None or all(name in function.params for name in given)


def referred(function: FunctionFacts, named: Counter[str]) -> bool:
    """Say whether the function around another names it, by how often it does: what nothing names never runs."""
    if isinstance(function.node, ast.Lambda) or function.node.decorator_list or function.owner is not None:
        return True
    return named[function.name] > names_of(function.node)[function.name]


def idle_lambdas(node: ast.AST) -> set[ast.AST]:
    """Return the lambdas in a function that only a variable holds which nothing in it reads."""
    loads = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    loads.update(name for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names)
    return {
        n.value
        for n in ast.walk(node)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Lambda)
        if all(isinstance(target, ast.Name) and target.id not in loads for target in n.targets)
    }


def names_of(node: ast.AST) -> Counter[str]:
    """Return how often names stand in some syntax."""
    return Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def body_values(call: Call, positions: tuple[int, ...], names: tuple[str, ...]) -> Iterator[Value]:
    for position, name in zip(positions, names, strict=True):
        value = call.argument(position, name)
        if value is not None:
            yield value


def targets_of(event: CallEvent) -> list[ast.Name]:
    """Return the variables that get the result of a call, as it is."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return []
    return [target for target in statement.targets if isinstance(target, ast.Name)]


def merged(held: ast.Call, user: ast.Call) -> ast.Call:
    """Return a call with the options that are kept in a variable, and those that are given beside it."""
    named = {k.arg for k in user.keywords}
    kept = [k for k in held.keywords if k.arg not in named]
    return ast.copy_location(ast.Call(func=user.func, args=user.args, keywords=[*kept, *user.keywords]), user)


def for_nothing(event: CallEvent, compiled: str, function: str, bodies: Bodies) -> bool:
    """Say whether no name of what is compiled is read in a script, where its function is called: others import it.

    The variables of a function nobody imports: there it is enough that other files call what is compiled as it is.
    Those of a notebook nobody imports either: what none of its cells reads was made to be called in a comment.
    """
    scope = event.scope
    source = scope.module.source
    if scope.function is None and not source.cell_starts and not source.mentions(b"__main__"):
        return False
    names = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == compiled]
    called = scope.function is None and bool(source.cell_starts)
    called = called or any(isinstance(e.node.func, ast.Name) and e.node.func.id == function for e in scope.module.calls)
    if not called and scope.function is not None and compiled not in scope.globals:
        called = any(True for _ in bodies.named(function))
    return called and all(isinstance(n.ctx, ast.Store) for n in names)


def means_transform(node: ast.expr) -> bool:
    """Say whether an expression is the name of a transform by its last word, or a partial application of one."""
    if isinstance(node, ast.IfExp):
        return means_transform(node.body) or means_transform(node.orelse)
    if isinstance(node, ast.Call) and last_word(node.func) == "partial" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Name | ast.Attribute) and last_word(node) in TRACING_WORDS
