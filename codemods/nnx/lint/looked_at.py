"""Numbers that are drawn to be looked at: their shapes alone, or in figures."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.lint.unread import given_names
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SHAPES = frozenset({"tabulate", "eval_shape", "shape", "ndim", "ShapeDtypeStruct", "isinstance", "type", "len"})
_OF_SHAPE = frozenset({"shape", "ndim", "dtype", "size"})
_DRAWN = pattern(
    r"(plot\w*|imshow|scatter|hist(2d)?|contourf?|fill_between|errorbar|bar|pcolormesh|loglog|semilog[xy]|violinplot)"
)
_ROUNDS = 4  # through how many assignments what is drawn is followed


def for_shapes_alone(context: Context, use: Use) -> bool:
    """Say whether only the shapes of what is made with a key matter: ``tabulate`` gets it, or its shapes are shown.

    Args:
        context: the analysis.
        use: a use of the key.
    """
    statement, scope = use.event.statement, use.event.scope
    names = given_names(statement, use.event.node)
    if not names:
        return False
    every = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id in names]
    end = statement.end_lineno or statement.lineno
    reads = [n for n in every if isinstance(n.ctx, ast.Load) and n.lineno > end]
    if not reads or any(isinstance(n.ctx, ast.Store) and n.lineno > end for n in every):
        return False
    asked = {inner for n in ast.walk(scope.node) if _of_shape(n) for inner in ast.walk(n)}  # also in inner functions
    return all(read in asked for read in reads)


def in_smoke_test(context: Context, use: Use) -> bool:
    """Say whether a use stands in an ``if __name__ == "__main__"`` that makes things and shows their shapes, no more.

    Args:
        context: the analysis.
        use: a use of a key.
    """
    scope = use.event.scope
    block = next(
        (one for one, _ in context.bodies.paths(scope).get(use.event.node, ()) if isinstance(one, ast.If)), None
    )
    if scope.function is not None or block is None or not ast.unparse(block.test).startswith("__name__ == "):
        return False
    names = () if use.helper else given_names(use.event.statement, use.event.node)
    every = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    shown = bool(names) and not any(n.id in names for n in every)  # made to see that it can be
    for statement in block.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
            continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or last_word(call.func) != "print" or not isinstance(call.func, ast.Name):
            return False
        asked = {inner for n in ast.walk(call) if _of_shape(n) for inner in ast.walk(n)}
        read = {n for one in (*call.args, *call.keywords) for n in ast.walk(one) if isinstance(n, ast.Name)}
        if not read <= asked:
            return False
        shown = shown or bool(read)
    return shown


def shown_with_key(use: Use) -> bool:
    """Say whether a text or a ``print`` shows what is drawn beside the key itself, as to tell how keys behave.

    Args:
        use: a use of a key.
    """
    key = ast.dump(use.node)
    for node in ast.walk(use.event.statement) if isinstance(use.event.statement, ast.Expr) else ():
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr):
            parts = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"print", "display"}:
            parts = node.args
        if any(ast.dump(one) == key for one in parts) and any(inside(use.event.node, one) for one in parts):
            return True
    return False


def _of_shape(node: ast.AST) -> bool:
    """Say whether an expression takes the shapes of what stands in it: also ``jax.tree.map(jnp.shape, tree)``."""
    if isinstance(node, ast.Attribute):
        return node.attr in _OF_SHAPE and isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Call):
        return False
    if last_word(node.func) in _SHAPES:
        return True
    mapped = last_word(node.func) in {"map", "tree_map"} and bool(node.args)
    return mapped and last_word(node.args[0]) in _OF_SHAPE and not isinstance(node.args[0], ast.Call)


def in_figures(context: Context, one: Use, two: Use) -> bool:
    """Say whether what two uses of a key give is drawn in figures and nothing else, in none of them together.

    Args:
        context: the analysis.
        one: a use.
        two: another use of the same key.
    """
    scope = one.event.scope
    if two.event.scope is not scope or one.event.statement is two.event.statement:
        return False
    first, second = (_drawn(context, scope, use) for use in (one, two))
    if not first or not second:
        return False
    common = first & second
    if not common <= given_names(two.event.statement, two.event.node):
        return False
    first, second = first - common, second - common  # what has the same names comes one after the other
    statements = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign | ast.Expr))
    return not any(first & names_in(n) and second & names_in(n) for n in statements)


def _drawn(context: Context, scope: Scope, use: Use) -> set[str]:
    """Return the variables that hold what a use gives and what is made of it; empty if not all goes to figures."""
    names = set(given_names(use.event.statement, use.event.node))
    if not names:
        return set()
    shown = False
    turned: set[str] = set()  # what goes through several of them in turn
    for _ in range(_ROUNDS):
        before = len(names) + len(turned)
        for statement in _simple(context, scope):
            if not (names | turned) & _loads(statement):
                continue
            if isinstance(statement, ast.For):
                turned |= {n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name)}
            elif isinstance(statement, ast.Assign) and all(_plain(t) for t in statement.targets):
                names |= {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                if not _DRAWN.fullmatch(last_word(statement.value.func)):
                    return set()
                shown = True
            else:
                return set()
        if len(names) + len(turned) == before:
            return names if shown else set()
    return set()


def _simple(context: Context, scope: Scope) -> Iterator[ast.AST]:
    """Yield the statements of a body without blocks, the heads of its loops, and the conditions."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.For | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return | ast.Raise):
            yield node
        elif isinstance(node, ast.If | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.withitem | ast.Delete):
            yield node


def _loads(node: ast.AST) -> set[str]:
    place: ast.AST = node.iter if isinstance(node, ast.For) else node
    return {n.id for n in ast.walk(place) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _plain(target: ast.expr) -> bool:
    return not any(isinstance(n, ast.Attribute | ast.Subscript) for n in ast.walk(target))


def _visible(scope: Scope, names: Set[str]) -> Iterator[ast.Name]:
    """Yield the names of a body that may mean its own variables: inner functions have some of their own."""
    parts: list[ast.AST] = [scope.node]
    while parts:
        node = parts.pop()
        if isinstance(node, ast.Name):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not scope.node:
            own = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
            if names <= own:
                continue
        parts += ast.iter_child_nodes(node)


def ignored_parts(context: Context, use: Use) -> bool:
    """Say whether a key is split, and its parts are only given to functions of the project that do not look at them.

    Args:
        context: the analysis.
        use: a use of the key.
    """
    if use.helper or last(use.name) != "split":
        return False
    names = given_names(use.event.statement, use.event.node)
    scope = use.event.scope
    if not names or names & {*scope.globals, *scope.remote}:
        return False
    end = use.event.statement.end_lineno or use.event.statement.lineno
    every = [n for n in _visible(scope, names) if n.id in names]
    if any(
        isinstance(n.ctx, ast.Load) and n.lineno <= end and any(inside(n, loop) for loop in use.event.loops)
        for n in every
    ):
        return False  # the next round may read it
    body = getattr(scope.node, "body", ())
    block = {
        id(n) for one in (body if isinstance(body, list) else ()) if isinstance(one, ast.Assign) for n in ast.walk(one)
    }
    bound = [n for n in every if isinstance(n.ctx, ast.Store) and n.lineno > end and id(n) in block]
    until = {name: min((n.lineno for n in bound if n.id == name), default=None) for name in names}
    behind = [n for n in every if isinstance(n.ctx, ast.Load) and n.lineno > end]
    reads = {n for n in behind if (again := until[n.id]) is None or n.lineno <= again}
    if not reads:
        return False
    for event in context.bodies.calls.get(scope, ()):
        given = [(i, n) for i, n in enumerate(event.node.args) if n in reads]
        if not given or event.value.starred:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.callee, scope))
        if len(callees) != 1 or callees[0].args or callees[0].receiver is not None or callees[0].gradient:
            return False
        function = callees[0].function
        params = list(function.params)
        shapes = {inner for n in ast.walk(function.node) if _of_shape(n) for inner in ast.walk(n)}
        own = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and n not in shapes}
        if isinstance(function.node, ast.Lambda) or any(i >= len(params) or params[i] in own for i, _ in given):
            return False
        reads -= {n for _, n in given}
    return not reads
