"""Learning rates that get another number where no optimizer learns of it; part of NNX887."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.names import OPTIMIZERS
from codemods.nnx.lint.places import in_test, scopes
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word

# what tells people of a number, or decides when to stop, and trains nothing
_TELLING = frozenset({"print", "info", "debug", "warning", "write", "log", "append", "format", "set_postfix", "round"})


def late_change(context: Context, event: CallEvent) -> ast.stmt | None:
    """Return the statement that changes a rate which nothing but an optimizer got before.

    Args:
        context: the analysis.
        event: the call that makes the transformation.

    Returns:
        The statement; None if there is none, or the new number may be of use elsewhere.
    """
    given = argument(event.node, 0, "learning_rate")
    if isinstance(given, ast.Name) and not event.loops:
        return _variable(context, event, given)
    if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
        return _field(context, event, given)
    return None


def unwritten_rates(context: Context) -> Iterator[tuple[Scope, ast.stmt]]:
    """Yield the statements that compute a new rate of one in ``hyperparams``, which nothing but a message gets.

    Args:
        context: the analysis.
    """
    for scope in scopes(context):
        if not scope.module.source.mentions(b"hyperparams") or in_test(scope):
            continue
        nodes = context.bodies.nodes(scope)
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                if (plain := _of_hyperparams(node.value)) is not None:
                    change = _unwritten(context, scope, node, node.targets[0], plain)
                    if change is not None:
                        yield scope, change


def _of_hyperparams(node: ast.expr) -> bool | None:
    """Say whether the number of a rate is read, and not the Variable that may hold it; None for anything else."""
    plain = False
    while not (isinstance(node, ast.Subscript) and last_word(node.value) == "hyperparams"):
        if isinstance(node, ast.Subscript | ast.Attribute) and _inside(node):
            node = node.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in _TURNING:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READING:
            node = node.func.value
        else:
            return None
        plain = True
    return plain


def _inside(node: ast.Subscript | ast.Attribute) -> bool:
    """Say whether an expression is the number that a Variable holds: ``rate[...]`` or ``rate.value``."""
    return node.attr == "value" if isinstance(node, ast.Attribute) else constant(node.slice) is ...


_READING = frozenset({"item", "get_value"})
_TURNING = frozenset({"float", "asarray", "array"})


def _unwritten(context: Context, scope: Scope, read: ast.Assign, name: ast.Name, plain: bool) -> ast.stmt | None:
    """Return what computes the next number of a rate, if that goes no further."""
    nodes = context.bodies.nodes(scope)
    changes = [one for one in _changes(nodes, name) if one.lineno > read.lineno]
    changes = [one for one in changes if plain or isinstance(one, ast.Assign)]
    everywhere = list(ast.walk(scope.node))
    if not changes or name.id in scope.globals or name.id in scope.remote:
        return None
    if any(_writes(n) for n in everywhere):
        return None
    if scope.function is None and any(
        isinstance(n, ast.Name) and n.id == name.id for f in scope.module.functions for n in ast.walk(f.node)
    ):
        return None
    told = _told(nodes, changes)
    loads = [n for n in everywhere if isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Load)]
    return changes[0] if all(n in told for n in loads) else None


_WRITING = frozenset({"set_value", "copy_from", "_replace", "replace", "tree_set", "tree_map"})


def _writes(node: ast.AST) -> bool:
    """Say whether something may put a rate into the state of an optimizer."""
    if isinstance(node, ast.Attribute) and node.attr == "update":
        return last_word(node.value) == "hyperparams"
    if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return "hyperparams" in ast.unparse(node)
    return isinstance(node, ast.Attribute) and node.attr in _WRITING


def _variable(context: Context, event: CallEvent, given: ast.Name) -> ast.stmt | None:
    nodes = context.bodies.nodes(event.scope)
    end = event.statement.end_lineno or 0
    changes = [n for n in _changes(nodes, given) if n.lineno > end]
    if not changes or _remade(event) or _for_next_run(event, changes[0]):
        return None
    told = _told(nodes, changes)
    inner = [f.node for f in event.scope.module.functions if f.scope.parent is event.scope]
    reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == given.id and isinstance(n.ctx, ast.Load)]
    captured = any(isinstance(n, ast.Name) and n.id == given.id for one in inner for n in ast.walk(one))
    of_module = event.scope.function is None and any(
        isinstance(n, ast.Name) and n.id == given.id for f in event.scope.module.functions for n in ast.walk(f.node)
    )
    used = any(n.lineno > end and n not in told for n in reads)
    return None if captured or of_module or used else changes[0]


def _for_next_run(event: CallEvent, change: ast.stmt) -> bool:
    """Say whether the cell of a notebook that makes an optimizer changes the rate at its end, for when it is run again
    by hand."""
    source = event.scope.module.source
    if not source.cell_starts or event.scope.function is not None or change.col_offset:
        return False
    cells = source.cell_starts
    return bisect_right(cells, event.node.lineno) == bisect_right(cells, change.lineno)


def _field(context: Context, event: CallEvent, given: ast.Attribute) -> ast.stmt | None:
    function = event.scope.function
    owner = function.owner if function is not None else None
    if function is None or owner is None or function.name not in {"__init__", "setup"} or event.loops:
        return None
    assert isinstance(given.value, ast.Name)
    me = function.self_param
    if me is None or given.value.id != me.name:
        return None
    changes = [
        change
        for method in owner.methods.values()
        if method is not function
        for change in _changes(context.bodies.nodes(method.scope), given)
    ]
    if not changes or _remade(event):
        return None
    for module in context.project.modules:
        if given.attr.encode() not in module.source.data:
            continue
        for scope in (module.scope, *(one.scope for one in module.functions)):
            nodes = context.bodies.nodes(scope)
            reads = [
                n
                for n in nodes
                if isinstance(n, ast.Attribute) and n.attr == given.attr and isinstance(n.ctx, ast.Load)
            ]
            if scope is event.scope:
                reads = [n for n in reads if n.lineno > (event.statement.end_lineno or 0)]
            if reads:
                told = _told(nodes, list(_changes(nodes, given)))
                if any(n not in told for n in reads):
                    return None
    return changes[0]


def _remade(event: CallEvent) -> bool:
    """Say whether the place may know how to change the rate of an optimizer, or makes another one."""
    module = event.scope.module
    if module.source.mentions(b"inject_hyperparams") or module.source.mentions(b"hyperparams"):
        return True
    given = argument(event.node, 0, "learning_rate")
    word = last_word(given) if given is not None else ""
    return any(
        other is not event
        and last_word(other.node.func) in OPTIMIZERS
        and word in {last_word(a) for a in ast.walk(other.node)}
        for other in module.calls
    )


def _changes(nodes: tuple[ast.AST, ...], given: ast.Name | ast.Attribute) -> Iterator[ast.stmt]:
    """Yield the statements that compute a number from the old one: ``rate *= 0.5``."""
    text = ast.unparse(given)
    for node in nodes:
        if isinstance(node, ast.AugAssign) and _same(node.target, given, text):
            yield node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and _same(node.targets[0], given, text):
            if any(_same(n, given, text) for n in ast.walk(node.value)):
                yield node


def _same(node: ast.AST, given: ast.Name | ast.Attribute, text: str) -> bool:
    return type(node) is type(given) and last_word(node) == last_word(given) and ast.unparse(node) == text


def _told(nodes: tuple[ast.AST, ...], changes: list[ast.stmt]) -> set[ast.AST]:
    """Return the nodes within texts, messages, tests and the changes themselves."""
    found: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and last_word(node.func) in _TELLING):
            found.update(ast.walk(node))
        elif isinstance(node, ast.If | ast.While):
            found.update(ast.walk(node.test))
    for change in changes:
        found.update(ast.walk(change))
    return found
