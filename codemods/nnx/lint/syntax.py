"""Cheap questions about the syntax of functions and modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionNode
from codemods.nnx.nodes import children, elements, every, last_word
from codemods.nnx.source import Source

Path = tuple[tuple[ast.AST, str], ...]
_BLOCKS = (ast.If, ast.IfExp, ast.Match, ast.Try, ast.ExceptHandler, ast.match_case, ast.For, ast.While, ast.With)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(function: FunctionNode | ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a function's or module's body, those of inner functions and classes left out."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    stack: list[ast.AST] = [*reversed(body)]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            below = children(node)
            below.reverse()
            stack += below


def paths(function: FunctionNode | ast.Module) -> dict[ast.AST, Path]:
    """Return for every statement and expression of a body the blocks around it, outermost first.

    A block is a compound statement with the name of the field that holds it, such as ``body`` or ``orelse``.
    """
    found: dict[ast.AST, Path] = {}
    stack: list[tuple[ast.AST, Path]] = [
        (s, ()) for s in ([function.body] if isinstance(function, ast.Lambda) else function.body)
    ]
    while stack:
        node, path = stack.pop()
        found[node] = path
        if isinstance(node, _SCOPES):
            continue
        if not isinstance(node, _BLOCKS) or (isinstance(node, ast.Try) and not node.handlers):  # one way through it
            stack += [(child, path) for child in children(node)]
            continue
        through = isinstance(node, ast.Try) and not handles(node)  # all that ends well goes one way
        for name, value in ast.iter_fields(node):
            inner = path if name == "test" or (through and name != "handlers") else (*path, (node, name))
            stack += [
                (child, inner)
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, ast.AST)
            ]
    return found


# what ends a program or an iteration is no answer to a mistake
_NO_MISTAKES = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration", "Empty", "EOFError"})


def handles(block: ast.Try) -> bool:
    """Say whether a ``try`` goes on after an error in its body, and does not only tell of it and raise again."""
    return any(
        not (handler.type is not None and _names_of_types(handler.type) <= _NO_MISTAKES) and not _raises(handler)
        for handler in block.handlers
    )


def _names_of_types(node: ast.expr) -> set[str]:
    """Return the last words of the exceptions that a handler takes."""
    return {last_word(one) for one in elements(node)}


def _raises(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler always ends with an error."""
    leaving = (ast.Return, ast.Continue, ast.Break)
    return isinstance(handler.body[-1], ast.Raise) and not any(isinstance(n, leaving) for n in ast.walk(handler))


def innermost_loop(event: CallEvent) -> ast.For | ast.While | None:
    """Return the innermost ``for`` or ``while`` statement around a call; comprehensions are none."""
    return next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While)), None)


def outermost_loop(event: CallEvent) -> ast.For | ast.While | None:
    """Return the outermost ``for`` or ``while`` statement around a call; comprehensions are none."""
    return next((one for one in event.loops if isinstance(one, ast.For | ast.While)), None)


def exclusive(one: Path, two: Path) -> bool:
    """Say whether at most one of two places is reached in one run of the body.

    They stand in different branches, or the first stands in a branch that leaves the body or the loop's round.
    """
    for (node, arm), (other, way) in zip(one, two, strict=False):
        if node is not other:
            break
        if arm != way:
            return isinstance(node, ast.If | ast.IfExp | ast.Try)
        if (isinstance(node, ast.Match) and arm == "cases") or (isinstance(node, ast.Try) and arm == "handlers"):
            first, second = one[one.index((node, arm)) + 1 :], two[two.index((node, way)) + 1 :]
            if first and second and first[0][0] is not second[0][0]:
                return True
    shared = sum(1 for a, b in zip(one, two, strict=False) if a == b)
    return any(_leaves(node, arm) for node, arm in one[shared:])


def behind(function: FunctionNode | ast.Module) -> dict[ast.AST, tuple[ast.If, ...]]:
    """Return for the nodes of a body the conditions before them, in their blocks, under which they are not reached."""
    found: dict[ast.AST, tuple[ast.If, ...]] = {}

    def within(node: ast.AST, guards: tuple[ast.If, ...]) -> None:
        if guards:
            found[node] = guards
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return
        for _, child in ast.iter_fields(node):
            if isinstance(child, list):
                block(child, guards)
            elif isinstance(child, ast.AST):
                within(child, guards)

    def block(nodes: list[object], guards: tuple[ast.If, ...]) -> None:
        for node in nodes:
            if isinstance(node, ast.AST):
                within(node, guards)
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise):
                guards = (*guards, node)

    if not isinstance(function, ast.Lambda):
        block([*function.body], ())
    return found


def short_circuits(nodes: Iterable[ast.AST]) -> dict[ast.AST, tuple[tuple[ast.expr, bool], ...]]:
    """Return for the nodes of a body the operands of ``and`` and ``or`` in front of them, outermost first.

    With each comes the truth that it must have for the node to be reached.
    """
    found: dict[ast.AST, tuple[tuple[ast.expr, bool], ...]] = {}
    for node in nodes:  # those around come first
        if isinstance(node, ast.BoolOp):
            before = [(value, isinstance(node.op, ast.And)) for value in node.values]
            for place, value in enumerate(node.values[1:], 1):
                for part in (value, *every(value)):
                    found[part] = (*found.get(part, ()), *before[:place])
    return found


def _leaves(node: ast.AST, arm: str) -> bool:
    block = getattr(node, arm, None)
    return (
        isinstance(node, ast.If | ast.match_case | ast.Try | ast.ExceptHandler)
        and isinstance(block, list)
        and any(isinstance(s, ast.Return | ast.Raise | ast.Continue | ast.Break) or exits(s) for s in block)
    )


def exits(node: ast.AST) -> bool:
    """Say whether a statement ends the program: ``exit()``, ``sys.exit(1)``."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return (called.value.id, called.attr) in {("sys", "exit"), ("os", "_exit")}
    return isinstance(called, ast.Name) and called.id in {"exit", "quit"}


def constant(node: ast.expr | None) -> object:
    """Return the value of a literal, also of a tuple or list of literals; None if it is none."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def is_none(node: ast.AST | None) -> bool:
    """Say whether an expression is the literal ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


def new_axis(node: ast.AST) -> bool:
    """Say whether a part of an index adds an axis to an array: ``None`` or ``jnp.newaxis``."""
    return is_none(node) or last_word(node) == "newaxis"


def several(value: object) -> tuple[object, ...]:
    """Return what a constant names: the parts of a tuple, list or set, as JAX takes them all, or the one itself."""
    return tuple(value) if isinstance(value, tuple | list | set) else (value,)


def written_number(node: ast.expr | None) -> float | None:
    """Return the number that a literal is; None for others, and for truth values."""
    number = constant(node)
    return float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def taken_apart(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of an assignment with what each gets: both of ``(x,), (dx,) = primals, tangents``."""
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return [(target, value)]
    if any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts)):
        return [(target, value)]
    pairs = zip(target.elts, value.elts, strict=True)
    return [pair for one, given in pairs for pair in taken_apart(one, given)]


def assignments(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets that a statement assigns to, each with what it gets; of several at once each by itself."""
    if isinstance(node, ast.AnnAssign):
        return [(node.target, node.value)] if node.value is not None else []
    if not isinstance(node, ast.Assign):
        return []
    return [pair for target in node.targets for pair in taken_apart(target, node.value)]


def times_stored(node: ast.AST, name: str) -> int:
    """Return how often a variable is bound within a node."""
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(node))


_LOCALS = 4  # variables that are made of variables


def made_of(value: ast.expr, pairs: list[tuple[ast.expr, ast.expr]]) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, and those of what its variables are given.

    Args:
        value: the expression.
        pairs: the targets of the body around it, each with what it gets, as :func:`assignments` gives them.
    """
    pending, seen = [value], set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen and len(seen) < _LOCALS:
                seen.add(node.id)
                pending += [made for target, made in pairs if isinstance(target, ast.Name) and target.id == node.id]


def one_of(node: ast.expr | None, values: Iterable[object]) -> bool:
    """Say whether an expression is a literal of one of these values; a list has no hash, and may be asked about too."""
    value = constant(node)
    return value is not None and any(value == one for one in values)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the argument that a call passes by name."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return the argument that a call passes at a 0-based position or by name; the object of a method is at none."""
    return call.args[position] if 0 <= position < len(call.args) else keyword(call, name)


def root_of(node: ast.expr) -> ast.expr:
    """Return the object whose attribute's attribute an expression is."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def other_term(node: ast.AST, name: str) -> ast.expr | None:
    """Return what is added to a variable, on whichever side of it: ``x`` of ``total + x``; None for anything else."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, ast.Name) and one.id == name:
            return other
    return None


def names_in(node: ast.AST) -> frozenset[str]:
    """Return the names of variables that stand in some syntax."""
    if isinstance(node, ast.Name):
        return frozenset((node.id,))
    return frozenset(part.id for part in every(node) if isinstance(part, ast.Name))


def may_read(body: ast.AST, name: str) -> bool:
    """Say whether anything in some syntax may read a variable, by its name or by those of all variables.

    Args:
        body: the syntax.
        name: the variable.
    """
    return any(
        (isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Store))
        or (isinstance(n, ast.Nonlocal | ast.Global) and name in n.names)
        or (isinstance(n, ast.Call) and last_word(n.func) in {"locals", "vars", "eval"})
        for n in ast.walk(body)
    )


def entry_word(node: ast.expr) -> str:
    """Return the name of a variable, an attribute, or an entry: ``rew`` of ``batch["rew"][:, 0]``; else nothing."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value
        node = node.value
    return last_word(node)


def operands(node: ast.expr, kind: type[ast.operator]) -> list[ast.expr]:
    """Return the terms of a sum, or the factors of a product; an expression of another kind by itself.

    Args:
        node: the expression.
        kind: ``ast.Add`` or ``ast.Mult``.
    """
    found: list[ast.expr] = []
    waiting = [node]
    while waiting:  # thousands of terms are as many levels
        one = waiting.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, kind):
            waiting += [one.right, one.left]
        else:
            found.append(one)
    return found


def inside(node: ast.AST, outer: ast.AST) -> bool:
    """Say whether a node stands within the text of another of the same module."""
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
    if line is None or isinstance(outer, ast.comprehension):  # a comprehension's clause has no position
        return False
    start = (outer.lineno, outer.col_offset)  # type: ignore[attr-defined]
    end = (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]
    return start <= (line, column) < end


def of_comprehension(source: Source, name: ast.Name) -> bool:
    """Say whether a name is a variable of a comprehension that it stands in, also within a lambda there."""
    around = (n for n in source.of_type(*_COMPREHENSIONS) if inside(name, n))
    clauses = (n for one in around for n in children(one) if isinstance(n, ast.comprehension))
    return any(name.id in names_in(clause.target) for clause in clauses)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def added_keyword(source: Source, call: ast.Call, text: str) -> Edit | None:
    """Return the edit that puts ``name=value`` behind the last argument of a call; None where a comment is in the way.

    Done without LibCST, which lint does not import.
    """
    _, end = source.span(call)
    if not call.args and not call.keywords:
        return Edit(end - 1, end - 1, text.encode())
    last = max(source.span(node)[1] for node in (*call.args, *call.keywords))
    gap = source.data[last : end - 1]
    if b"#" in gap:
        return None
    place = last + gap.rfind(b")") + 1  # behind parentheses of the argument itself
    return Edit(place, place, f", {text}".encode())
