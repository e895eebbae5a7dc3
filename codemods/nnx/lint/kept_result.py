"""What a loop keeps under another name although its next round donates it; part of NNX856."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.syntax import Path, assignments, inside, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Class, Param

_GATHERING = frozenset({"append", "appendleft", "add", "insert", "put"})
_DEPTH = 2  # through how many functions something is handed on until it is kept


class _Kept(NamedTuple):
    """A place that keeps something.

    Attributes:
        node: what is kept, as it is written in the loop.
        holder: the variable, attribute or entry that holds it, or a container with it.
        part: the attribute or the entry of the holder that it becomes; empty for the holder itself and unknown parts.
        gathers: whether what was kept before stays there.
        chosen: whether a function that keeps it does so on some condition only.
        scope: the function that assigns it.
    """

    node: ast.expr
    holder: ast.expr
    part: str
    gathers: bool
    chosen: bool
    scope: Scope


def kept_result(context: Context, event: CallEvent, node: ast.expr) -> ast.expr | None:
    """Return where a loop keeps, under another name, what its next round donates, if that is read later.

    Args:
        context: the analysis.
        event: a call that donates, whose result takes the name of what it donates.
        node: the variable or the attribute that it gives.
    """
    statement = event.statement
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(statement, ast.Assign):
        return None
    if not any(_same(n, node) for t in statement.targets for n in ast.walk(t)):
        return None  # the result has another name
    loop = _loop(context, event, node)
    if loop is None:
        return None
    known = context.bodies.paths(event.scope)
    for one in context.bodies.nodes(event.scope):
        if not isinstance(one, ast.Assign | ast.AnnAssign | ast.Call) or one is statement or not inside(one, loop):
            continue
        if isinstance(one, ast.Call) and one is event.node:
            continue
        for kept in _keeping(context, event.scope, one, node):
            before = one.lineno < statement.lineno
            if _same(kept.holder, node) or _ends(known.get(one, ()), loop, one):
                continue
            if before and _between(one, statement, loop, known):
                continue
            if not before and _last_only(known.get(one, ()), loop):
                continue
            if not (before or kept.gathers or kept.chosen or _chosen(known.get(one, ()), loop)):
                continue
            if _read_later(context, event.scope, loop, kept, one):
                return kept.node
    return None


def _loop(context: Context, event: CallEvent, node: ast.expr) -> ast.For | ast.While | None:
    """Return the outermost loop around a call in which nothing else binds what it donates."""
    found: ast.For | ast.While | None = None
    for loop in sorted((one for one in event.loops if isinstance(one, ast.For | ast.While)), key=_length):
        binders = [n for n in ast.walk(loop) if _same(n, node) and not isinstance(n.ctx, ast.Load)]  # type: ignore[attr-defined]
        first = node.value if isinstance(node, ast.Attribute) else node
        base = [
            n
            for n in ast.walk(loop)
            if isinstance(n, ast.Name) and isinstance(first, ast.Name) and n.id == first.id
            and not isinstance(n.ctx, ast.Load)
        ]  # fmt: skip
        if any(not inside(n, event.statement) for n in (*binders, *base)):
            break
        found = loop
    if found is not None and isinstance(node, ast.Attribute):
        if not isinstance(node.value, ast.Name) or _stored_elsewhere(context, event.scope, node.attr):
            return None
    return found


def _length(loop: ast.For | ast.While) -> int:
    return (loop.end_lineno or loop.lineno) - loop.lineno


def _stored_elsewhere(context: Context, scope: Scope, name: str) -> bool:
    """Say whether another function than a constructor and that of a scope assigns to an attribute of some name."""
    return any(
        store.scope is not scope and (store.scope.function is None or store.scope.function.name != "__init__")
        for store in context.flow.fields.stores().get(name, ())
    )


def _same(node: ast.AST, other: ast.expr) -> bool:
    """Say whether two expressions are the same variable or attribute."""
    if isinstance(node, ast.Name) and isinstance(other, ast.Name):
        return node.id == other.id
    if isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        return node.attr == other.attr and ast.dump(node.value) == ast.dump(other.value)
    return False


def _keeping(context: Context, scope: Scope, one: ast.AST, node: ast.expr) -> Iterator[_Kept]:
    """Yield the places in which a statement or a call of a loop keeps something."""
    for target, value in assignments(one):
        for part, found in _held(context, scope, value, node):
            if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
                yield _into(target, part, found, scope)
    if not isinstance(one, ast.Call):
        return
    func = one.func
    if isinstance(func, ast.Attribute):
        given = [*one.args, *(k.value for k in one.keywords)]
        if func.attr in _GATHERING and len(given) <= 2:
            for value in given:
                for _, found in _held(context, scope, value, node):
                    yield _Kept(found, func.value, "", True, False, scope)
        elif func.attr == "update" and not one.args:
            for word in one.keywords:
                if word.arg and _same(word.value, node):
                    yield _Kept(word.value, func.value, word.arg, False, False, scope)
    yield from _by_function(context, scope, one, node)


def _into(target: ast.expr, part: str, found: ast.expr, scope: Scope) -> _Kept:
    """Return what an assignment keeps."""
    if isinstance(target, ast.Subscript):
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str | int):
            return _Kept(found, target.value, str(target.slice.value), False, False, scope)
        return _Kept(found, target.value, "", True, False, scope)
    if isinstance(target, ast.Attribute) and not part:
        return _Kept(found, target.value, target.attr, False, False, scope)
    return _Kept(found, target, part, False, False, scope)


def _held(context: Context, scope: Scope, value: ast.expr, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield where a value is something, or a container made of it, with the name of the part that it is."""
    if _same(value, node):
        yield "", value
    elif isinstance(value, ast.Tuple | ast.List):
        yield from ((str(i), one) for i, one in enumerate(value.elts) if _same(one, node))
    elif isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if _same(one, node):
                yield (str(key.value) if isinstance(key, ast.Constant) else ""), one
    elif isinstance(value, ast.Call) and not any(isinstance(one, ast.Starred) for one in value.args):
        fields = _fields(context, scope, value)
        if fields is None:
            return
        given = [*zip([*fields, *[""] * len(value.args)], value.args, strict=False)]
        given += [(k.arg or "", k.value) for k in value.keywords]
        yield from ((name, one) for name, one in given if _same(one, node))


def _fields(context: Context, scope: Scope, call: ast.Call) -> list[str] | None:
    """Return the fields of the record that a call makes, in order; None if it may change its arguments."""
    value = scope.module.values.get(call.func)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    if isinstance(found, Class):
        own, bases = context.flow.classes.mro(found.facts)
        if any({"__init__", "__new__", "__post_init__"} & one.methods.keys() for one in own):
            return None
        plain = bases <= {"typing.NamedTuple", "builtins.object"}
        return [*found.facts.fields] if plain and found.facts.fields else None
    return [] if getattr(found, "name", last_word(call.func)) in {"dict", "builtins.dict"} else None


def _by_function(context: Context, scope: Scope, call: ast.Call, node: ast.expr) -> Iterator[_Kept]:
    """Yield what a function of the project keeps of its arguments, in the object whose method it is or in another."""
    given = [*call.args, *(k.value for k in call.keywords)]
    if not any(_same(one, node) for one in given) or any(isinstance(one, ast.Starred) for one in call.args):
        return
    event = next((e for e in context.bodies.calls.get(scope, ()) if e.node is call), None)
    if event is None or context.flow.calls.name(event):
        return
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, scope))
    if len(callees) != 1 or callees[0].args or callees[0].keywords or callees[0].function in context.traced:
        return
    function = callees[0].function
    method = function.self_param is not None and isinstance(call.func, ast.Attribute) and function.binding == "instance"
    names = list(function.params)[int(method) : function.positional]
    nodes = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    if method and isinstance(call.func, ast.Attribute):
        nodes[next(iter(function.params))] = call.func.value
    for name, one in nodes.items():
        if _same(one, node):
            for kept in _kept_by(context, function, name, 0):
                root = root_of(kept.holder)
                if isinstance(root, ast.Name) and root.id in nodes:
                    yield _Kept(one, nodes[root.id], kept.part, kept.gathers, kept.chosen, kept.scope)


def _kept_by(context: Context, function: FunctionFacts, name: str, depth: int) -> Iterator[_Kept]:
    """Yield the places in which a function keeps what it gets for a parameter, as it is, in another parameter."""
    scope, param = function.scope, function.params.get(name)
    if param is None or function.generator or isinstance(function.node, ast.Lambda):
        return
    known = context.bodies.paths(scope)
    values = scope.module.values
    for one in context.bodies.nodes(scope):
        if not isinstance(one, ast.Assign | ast.AnnAssign | ast.Call):
            continue
        found = list(_keeping(context, scope, one, ast.Name(name, ast.Load()))) if depth < _DEPTH else []
        for kept in found:
            root = root_of(kept.holder)
            if values.get(kept.node) is not param or isinstance(kept.holder, ast.Call):
                continue
            if isinstance(root, ast.Name) and isinstance(values.get(root), Param):
                if root is kept.holder and not kept.part and not kept.gathers:
                    continue  # another variable of the function
                part = kept.part or (kept.holder.attr if isinstance(kept.holder, ast.Attribute) else "")
                chosen = kept.chosen or any(isinstance(b, ast.If) for b, _ in known.get(one, ()))
                yield _Kept(kept.node, kept.holder, part, kept.gathers, chosen, kept.scope)


def _chosen(path: Path, loop: ast.AST) -> bool:
    """Say whether only some rounds of a loop keep something, which may be others than the last."""
    tests = [block.test for block, _ in path if isinstance(block, ast.If) and inside(block, loop)]
    return bool(tests) and not any(isinstance(t, ast.Compare) and isinstance(t.ops[0], ast.Eq) for t in tests)


def _last_only(path: Path, loop: ast.AST) -> bool:
    """Say whether one round alone may keep something, as in ``if step == steps - 1``."""
    return any(
        isinstance(t, ast.Compare) and isinstance(t.ops[0], ast.Eq) and not isinstance(t.left, ast.BinOp)
        for t in (block.test for block, _ in path if isinstance(block, ast.If) and inside(block, loop))
    )


def _between(one: ast.AST, statement: ast.stmt, loop: ast.AST, known: dict[ast.AST, Path]) -> bool:
    """Say whether a place before a call need not be followed by it, being in another block of conditions."""
    own = {block for block, _ in known.get(statement, ()) if isinstance(block, ast.If | ast.Try | ast.Match)}
    around = {block for block, _ in known.get(one, ())}
    return any(inside(block, loop) and block not in around for block in own)


def _ends(path: Path, loop: ast.AST, node: ast.AST) -> bool:
    """Say whether the loop ends after a place, with the block that it stands in."""
    for block, arm in path:
        if block is not loop and inside(block, loop) and any(
            isinstance(s, ast.Break | ast.Return | ast.Raise) for s in getattr(block, arm, None) or () if s is not node
        ):  # fmt: skip
            return True
    return False


def _read_later(context: Context, scope: Scope, loop: ast.For | ast.While, kept: _Kept, one: ast.AST) -> bool:
    """Say whether something reads what is kept, behind the loop or in a function that the loop does not call."""
    root = root_of(kept.holder)
    if not isinstance(root, ast.Name):
        return False
    end = loop.end_lineno or 0
    nodes = [n for n in context.bodies.names(scope).get(root.id, ()) if not inside(n, one)]
    if root is kept.holder and any(not isinstance(n.ctx, ast.Load) and n.lineno > _end(one) for n in nodes):
        return False  # bound again
    reads = [n for n in nodes if isinstance(n.ctx, ast.Load) and n.lineno > end]
    over = {n.value: n for n in context.bodies.nodes(scope) if isinstance(n, ast.Attribute | ast.Subscript)}
    lengths = {
        n.args[0]
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Call) and last_word(n.func) == "len" and len(n.args) == 1
    }
    for read in reads:
        whole: ast.expr = read
        names: list[str] = []
        while whole in over:
            whole = over[whole]
            names.append(_name(whole))
        if whole in lengths:
            continue
        wanted = [*_names(kept.holder), *([kept.part] if kept.part else [])]
        if all(mine in {other, ""} or not other for mine, other in zip(names, wanted, strict=False)):
            if len(names) >= len(wanted) or not kept.part or _loaded(context, kept, scope, loop):
                return True
    held = scope.module.values.get(root)
    return isinstance(held, Param) and _loaded(context, kept, scope, loop)


def _names(node: ast.expr) -> list[str]:
    """Return the attributes and entries that an expression goes through, from its first variable on."""
    found: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        found.insert(0, _name(node))
        node = node.value
    return found


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def _loaded(context: Context, kept: _Kept, scope: Scope, loop: ast.AST) -> bool:
    """Say whether other code than the loop and what keeps it reads an attribute or an entry of the name of a part."""
    name = kept.part or (_names(kept.holder) or [""])[-1]
    if not name:
        return False
    for module in context.project.modules:
        if not module.source.mentions(name.encode()):
            continue
        for read in module.attributes:
            if (
                read.context == "load"
                and read.node.attr == name
                and _outside(context, read.scope, read.node, scope, loop)
            ):
                if read.scope is not kept.scope or read.scope is scope:
                    return True
        for node in module.source.of_type(ast.Subscript):
            if isinstance(node.ctx, ast.Load) and _name(node) == name and not inside(node, loop):
                return True
    return False


def _outside(context: Context, where: Scope, node: ast.AST, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a place is neither in a loop nor in a function that only the loop calls."""
    if where is scope:
        return getattr(node, "lineno", 0) > (getattr(loop, "end_lineno", 0) or 0)
    function = where.function
    callers = context.flow.sites.callers(function) if function is not None else []
    return not callers or not all(one.scope is scope and inside(one.node, loop) for one in callers)


def _end(node: ast.AST) -> int:
    """Return the last line of a node."""
    return getattr(node, "end_lineno", 0) or 0
