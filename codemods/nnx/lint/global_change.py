"""NNX804: traced code that rebinds a global, an outer variable or an attribute of an outer object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.appended import outside
from codemods.nnx.lint.held import held
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, shown, traced_bodies
from codemods.nnx.lint.syntax import inside, is_none, names_in
from codemods.nnx.lint.traced import Tracing
from codemods.nnx.lint.while_initializing import while_initializing
from codemods.nnx.lint.within_one_run import within_one_run
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Class, Free, Function, ModuleRef, Param, Ref

_CHOSEN = (Class, Function, ModuleRef, Ref)
_TRACING = pattern(r"context|(^|_)ctx(_|$)", re.I)
_STATE = pattern(r"_*((get|pop|take|export|to|whole|current)_)?state(_dict)?")
_INNER = pattern(r"_?env|unwrapped|_?inner\w*|_?wrapped\w*")


def _check(context: Context) -> Iterator[Finding]:
    for function, tracing in traced_bodies(context):
        found = [*_attributes(context, function), *_entries(context, function, tracing), *_globals(context, function)]
        if found and not while_initializing(context, function):
            yield from found


def _globals(context: Context, function: FunctionFacts) -> Iterator[Finding]:
    """Yield the changes of globals and outer variables."""
    if not function.scope.globals:
        return
    nodes = context.bodies.nodes(function.scope)
    outer = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
    for node in nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)} & function.scope.globals
        for name in sorted(names):
            # counting traces in an enclosing test or benchmark is a custom and works as meant
            if (name in outer or in_test(function.scope)) and not _tainted(context, node, function.scope):
                continue
            if name in outer and (_made_inside(context, name, function.scope) or _carried(context, name, function)):
                continue
            if _counts(name) and not _tainted(context, node, function.scope):
                continue  # counts compilations, as the name says
            if _locked(context, node, function.scope) and not _tainted(context, node, function.scope):
                continue
            if _put_back(context, name, function) and not _tainted(context, node, function.scope):
                continue
            if name not in outer and _used_within(context, name, node, function):
                continue  # every compilation binds it before it is read
            # neither is what is loaded once, on first use
            if _once(context, node, name, function.scope) or context.taint.never(node, function.scope):
                continue
            yield finding(
                RULE.code,
                function.scope,
                node,
                f"`{name}` changes once per compilation and not at every call of {shown(function)}",
                f"return the new value of `{name}`, or keep it in an nnx.Variable",
            )


def _used_within(context: Context, name: str, node: ast.stmt, function: FunctionFacts) -> bool:
    """Say whether a global is read only behind a change of it, within the function that changes it."""
    if isinstance(node, ast.AugAssign):
        return False
    module = function.scope.module
    others = (m for m in context.project.modules if m is not module and name.encode() in m.source.data)
    if not all(_declares(other.source.tree, name) or not _takes(other.source.tree, name) for other in others):
        return False
    binding = [
        n
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Assign) and any(name in _bound(target) for target in n.targets)
    ]
    first = min(binding, key=lambda one: one.lineno, default=None)
    if first is None or name in names_in(first.value):
        return False
    reads = [n for n in ast.walk(module.source.tree) if isinstance(n, ast.Name) and n.id == name]
    lines = [n.lineno for n in reads if isinstance(n.ctx, ast.Load)]
    start, end = first.end_lineno or first.lineno, function.node.end_lineno or 0
    return bool(lines) and all(start < line <= end for line in lines)


def _declares(tree: ast.Module, name: str) -> bool:
    """Say whether a file has a global of its own of that name, which a function declares."""
    return any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(tree))


def _takes(tree: ast.Module, name: str) -> bool:
    """Say whether a file may read a global of another one: it imports that, perhaps with all others, or asks for an
    attribute of that name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name in {name, "*"} for alias in node.names):
            return True
        if (isinstance(node, ast.Attribute) and node.attr == name) or (
            isinstance(node, ast.Constant) and node.value == name
        ):
            return True
    return False


def _put_back(context: Context, name: str, function: FunctionFacts) -> bool:
    """Say whether another function of the file sets a global for what runs within, and puts back what it held: as the
    state of one tracing, ``before = stage; stage = 0; ...; stage = before``."""
    for other in function.scope.module.functions:
        if other is function or not other.generator or name not in other.scope.globals:
            continue
        given = [
            (target.id, one.value.id)
            for one in context.bodies.nodes(other.scope)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
            for target in one.targets
            if isinstance(target, ast.Name)
        ]
        if any(target == name and (kept, name) in given for target, kept in given):
            return True
    return False


def _locked(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a lock is held, as for what threads of the host keep: a cache, and how often it was of use."""
    return any(
        isinstance(block, ast.With) and any("lock" in ast.unparse(item.context_expr).lower() for item in block.items)
        for block, _ in context.bodies.paths(scope).get(node, ())
    )


def _counts(name: str) -> bool:
    """Say whether a name is that of a counter of compilations."""
    return any(word in name.lower() for word in ("trac", "compil"))


def _made_inside(context: Context, name: str, scope: Scope) -> bool:
    """Say whether the function that holds an outer variable runs in traced code only: it is made anew each time."""
    around = scope.parent
    while around is not None and name not in around.bindings:
        around = around.parent
    holder = around.function if around is not None else None
    if holder is None:
        return False
    callers = context.flow.sites.callers(holder)
    return holder in context.traced or (
        bool(callers) and all(event.scope.function in context.traced for event in callers)
    )


def _carried(context: Context, name: str, function: FunctionFacts) -> bool:
    """Say whether a body takes an outer variable out of its carry and gives it back in it, and the function around
    binds it anew from the result: nobody reads what the body left in it."""
    nodes = context.bodies.nodes(function.scope)
    carry = next(iter(function.params), "")
    taken = [
        n.lineno
        for n in nodes
        if isinstance(n, ast.Assign) and carry in names_in(n.value) and any(name in _bound(t) for t in n.targets)
    ]
    if not taken or any(isinstance(n, ast.Name) and n.id == name and n.lineno < min(taken) for n in nodes):
        return False
    if not all(name in names_in(value) for value in _returned(context, function)):
        return False
    around = function.scope.parent
    while around is not None and name not in around.bindings:
        around = around.parent
    end = function.node.end_lineno or 0
    behind = [
        n
        for n in (context.bodies.nodes(around) if around is not None else ())
        if isinstance(n, ast.Assign) and n.lineno > end and any(name in _bound(t) for t in n.targets)
    ]
    if not behind or not isinstance(behind[0].value, ast.Call | ast.Subscript):
        return False
    given = {n.id for n in ast.walk(behind[0].value) if isinstance(n, ast.Name)}
    return function.name in given


def _bound(target: ast.expr) -> set[str]:
    """Return the names that a target binds."""
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _once(context: Context, node: ast.stmt, name: str, scope: Scope) -> bool:
    """Say whether a global gets a value that does not depend on its old one or on arguments, after it was looked at."""
    assert isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
    if isinstance(node, ast.AugAssign) or node.value is None or context.taint.node_holds(node.value, scope):
        return False
    if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
        return False
    value = scope.module.values.get(node.value)
    if value is not None and isinstance(context.flow.resolve(context.flow.here(value, scope)).value, _CHOSEN):
        return True  # an implementation, whichever suits the machine
    if isinstance(value, Free) and value.of_global and value.name not in {*value.scope.rebound, *value.scope.remote}:
        return True  # another global, which stays what it is
    tests = [n.test for n in context.bodies.nodes(scope) if isinstance(n, ast.If)]
    return any(isinstance(n, ast.Name) and n.id in scope.globals for test in tests for n in ast.walk(test))


def _attributes(context: Context, function: FunctionFacts) -> Iterator[Finding]:
    """Yield the assignments to attributes of objects that are no arguments of the compiled code."""
    found: dict[str, list[tuple[ast.stmt, str]]] = {}
    alike: dict[str, list[tuple[ast.stmt, str]]] = {}  # what is told of beside others alone
    for node in context.bodies.nodes(function.scope):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            continue
        for target in _targets(node):
            if not isinstance(target, ast.Attribute) or target.attr in {"value", "raw_value"}:
                continue
            tainted = _tainted(context, node, function.scope)
            if not tainted and not _own(node, target):
                continue  # a constant, such as a mark that the function was compiled
            if not tainted and _counts(target.attr):
                continue
            if not tainted and in_test(function.scope):
                alike.setdefault(ast.unparse(target.value), []).append((node, ast.unparse(target)))
                continue
            if _read_behind(node, target.value, function) or _variable(context, node, target, function.scope):
                continue  # what reads it runs within the same compilation, or the object keeps its state itself
            if _for_this_call(node, target, function):
                continue
            if _inner(function, target.value) or context.taint.never(node, function.scope):
                continue
            if not tainted and _of_no_matter(context, node, target, function):
                continue
            if isinstance(node, ast.Assign) and within_one_run(context, target, function):
                continue
            if held(context, function, target.value):
                found.setdefault(ast.unparse(target.value), []).append((node, ast.unparse(target)))
    given = {n.id for v in _returned(context, function) for n in elements(v) if isinstance(n, ast.Name)}
    given |= {base for v in _returned(context, function) for n in elements(v) if (base := _state_of(n))}
    for base, changes in found.items():
        if base in given or _TRACING.search(base):
            continue  # the object is given back with what it holds; or it is the state of the tracing itself
        names = [name for _, name in changes]
        if any(names.count(name) > 1 for name in names) and _tries(context, function):
            continue  # what is put in for a call, and put back
        if _taken_back(context, function, base):
            continue
        node, name = min(changes, key=_first)
        yield finding(
            RULE.code,
            function.scope,
            node,
            f"`{name}` changes once per compilation and not at every call of {shown(function)}",
            f"return the new value of `{name}`, and assign it where the compiled function is called",
            related=[
                (other, f"and so does `{text}`")
                for other, text in sorted((*changes, *alike.get(base, ())), key=_first)
                if other is not node
            ],
        )


def _state_of(node: ast.expr) -> str:
    """Return the object whose state a call gives, by the name of the method: ``self.pop_state()``; else nothing."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return ""
    return ast.unparse(node.func.value) if _STATE.fullmatch(node.func.attr) else ""


def _taken_back(context: Context, function: FunctionFacts, base: str) -> bool:
    """Say whether a body sets an attribute of an object for the methods that it calls, and then takes it back to None:
    it hands values over within one compilation."""
    stores = [
        (node, target.attr)
        for node in context.bodies.nodes(function.scope)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == base
    ]
    cleared = [(n.lineno, name) for n, name in stores if is_none(n.value)]
    return any(n.lineno < line and name == other for line, other in cleared for n, name in stores)


def _first(change: tuple[ast.stmt, str]) -> tuple[int, int]:
    return change[0].lineno, change[0].col_offset


def _of_no_matter(context: Context, node: ast.stmt, target: ast.Attribute, function: FunctionFacts) -> bool:
    """Say whether nobody minds that an attribute is set while a function is traced, and not in every call."""
    if not _read_elsewhere(context, target.attr, node):
        return True
    return _copied(node, target) or _never_read(context, node, target, function)


def _read_elsewhere(context: Context, name: str, change: ast.stmt) -> bool:
    """Say whether anything but its own changes may read an attribute: else nobody minds what it holds."""
    if not name.startswith("_"):
        return True  # those who use the class
    own = [store.statement for store in context.flow.fields.stores().get(name, ())]
    if change not in own:
        return True
    reads = (e for e in context.project.attributes() if e.node.attr == name and e.context == "load")
    if any(not any(inside(read.node, one) for one in own) for read in reads):
        return True
    texts = (f'"{name}"'.encode(), f"'{name}'".encode())  # as for getattr
    return any(text in module.source.data for module in context.project.modules for text in texts)


#: Entries that count what a program does, and not how often something is compiled.
_PROGRESS = pattern(r"(^|_)(steps?|iters?|iterations?|updates?|epochs?|rounds|examples|samples|tokens)(_|$)", re.I)


def _entries(context: Context, function: FunctionFacts, tracing: Tracing) -> Iterator[Finding]:
    """Yield the changes of numbers in outer containers: ``state["steps"] += 1``."""
    changed: set[str] = set()
    for node in context.bodies.nodes(function.scope):
        target: ast.expr | None = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _own_entry(node, node.targets[0]):
            target = node.targets[0]
        if not isinstance(node, ast.Assign | ast.AugAssign) or not isinstance(target, ast.Subscript):
            continue
        text = ast.unparse(target)
        if not isinstance(target.slice, ast.Constant) or text in changed or _counts(text) or in_test(function.scope):
            continue
        if not outside(context, function, tracing, target.value, node) or _tainted(context, node, function.scope):
            continue  # NNX805 speaks about tracers in containers
        told = isinstance(target.slice.value, str) and _PROGRESS.search(target.slice.value)
        if not told and (_numbers(node, tracing) or not _used(context, function, target, node)):
            continue  # it may count compilations, or number the parts of one
        if _restored(context, function, target, node) or _locked(context, node, function.scope):
            continue
        changed.add(text)
        yield finding(
            RULE.code,
            function.scope,
            node,
            f"`{text}` changes once per compilation and not at every call of {shown(function)}",
            f"give the value of `{text}` as an argument, and change it where the compiled function is called",
        )


def _numbers(node: ast.Assign | ast.AugAssign, tracing: Tracing) -> bool:
    """Say whether a helper of traced code counts up by one, as those do that give each layer a number."""
    counts = isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant) and node.value.value == 1
    return counts and not tracing.roots


def _own_entry(node: ast.Assign, target: ast.expr) -> bool:
    """Say whether an entry gets a value that depends on its old one."""
    return isinstance(target, ast.Subscript) and any(_same_entry(n, target) for n in ast.walk(node.value))


def _same_entry(node: ast.AST, entry: ast.Subscript) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and ast.dump(node.slice) == ast.dump(entry.slice)
        and ast.dump(node.value) == ast.dump(entry.value).replace("Store()", "Load()")
    )


def _used(context: Context, function: FunctionFacts, entry: ast.Subscript, change: ast.stmt) -> bool:
    """Say whether the function computes with an entry that it changes; to print or test it may be for looking."""
    reads = [
        n
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and _same_entry(n, entry)
        and not inside(n, change)
    ]
    texts = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.JoinedStr)]
    reads = [n for n in reads if not any(inside(n, text) for text in texts)]
    statements = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Assign | ast.Return)]
    return any(inside(read, one.value) for read in reads for one in statements if one.value is not None)


def _restored(context: Context, function: FunctionFacts, entry: ast.Subscript, change: ast.stmt) -> bool:
    """Say whether the function changes an entry a second time, as one that it puts back."""
    text = ast.dump(entry)
    changes = (
        n.target if isinstance(n, ast.AugAssign) else n.targets[0]
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Assign | ast.AugAssign) and n is not change
    )
    return any(ast.dump(one) == text for one in changes)


def _returned(context: Context, function: FunctionFacts) -> list[ast.expr]:
    return [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return) and n.value is not None]


def _tries(context: Context, function: FunctionFacts) -> bool:
    return any(isinstance(n, ast.Try) for n in context.bodies.nodes(function.scope))


def _inner(function: FunctionFacts, base: ast.expr) -> bool:
    """Say whether an object is a parameter of the function around, which made the inner function to fill it in."""
    value = function.scope.module.values.get(base)
    outer = value.scope.function if isinstance(value, Free) else None
    return outer is not None and outer.self_param is None and isinstance(base, ast.Name) and base.id in outer.params


def _read_behind(node: ast.stmt, base: ast.expr, function: FunctionFacts) -> bool:
    """Say whether the same body goes on with an outer object that it has filled in, whole and not an entry of it: every
    compilation reads what it has written itself."""
    if not isinstance(base, ast.Name) or not isinstance(function.scope.module.values.get(base), Free):
        return False
    behind = [n for n in ast.walk(function.node) if getattr(n, "lineno", 0) > (node.end_lineno or node.lineno)]
    given = [argument for n in behind if isinstance(n, ast.Call) for argument in n.args]
    given += [keyword.value for n in behind if isinstance(n, ast.Call) for keyword in n.keywords]
    return any(isinstance(one, ast.Name) and one.id == base.id for one in given)


def _for_this_call(node: ast.stmt, target: ast.Attribute, function: FunctionFacts) -> bool:
    """Say whether an object of the function around gets an argument for a method that is called behind it, and all
    others who use the object give that to it themselves: ``model.params = params``, ``model.generate(x)``."""
    base = target.value
    outer = function.scope.module.values.get(base)
    given = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(base, ast.Name) or not isinstance(outer, Free) or outer.scope.function is None:
        return False
    if not isinstance(given, ast.Name) or given.id not in function.params:
        return False
    whole = outer.scope.node
    above = {child: one for one in ast.walk(whole) for child in ast.iter_child_nodes(one)}
    called = False
    for name in (n for n in ast.walk(whole) if isinstance(n, ast.Name) and n.id == base.id):
        part: ast.AST = name
        while isinstance(above[part], ast.Attribute):
            part = above[part]
        inner = _inner_of(name, above, whole)
        if inner is None and name.lineno < function.node.lineno and not _repeated(function.node, name, above):
            continue
        if isinstance(part, ast.Attribute) and (isinstance(part.ctx, ast.Store) or inner is not None):
            if isinstance(part.ctx, ast.Store) or _stored_before(part, target, inner):
                called = called or (inner is function.node and _is_called(part, above))
                continue
        if not (_is_called(part, above) and _has_keyword(above[part], target.attr)) and not _plain_part(
            name, part, target.attr, above
        ):
            return False
    return called


def _inner_of(node: ast.AST, above: dict[ast.AST, ast.AST], whole: ast.AST) -> ast.AST | None:
    """Return the innermost function in another one that a node stands in."""
    one = above.get(node)
    while one is not None and one is not whole:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return one
        one = above.get(one)
    return None


def _repeated(function: ast.AST, name: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether a loop goes over a name again behind the function."""
    one = above.get(function)
    while one is not None:
        if isinstance(one, ast.For | ast.While) and inside(name, one):
            return True
        one = above.get(one)
    return False


def _stored_before(part: ast.AST, target: ast.Attribute, inner: ast.AST | None) -> bool:
    """Say whether a function sets the attribute itself before it uses the object."""
    line = getattr(part, "lineno", 0)
    return inner is not None and any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and n.lineno < line and n.attr == target.attr
        and ast.unparse(n) == ast.unparse(target)
        for n in ast.walk(inner)
    )  # fmt: skip


def _is_called(part: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    call = above.get(part)
    return isinstance(call, ast.Call) and call.func is part


def _has_keyword(call: ast.AST, name: str) -> bool:
    return isinstance(call, ast.Call) and any(keyword.arg == name for keyword in call.keywords)


def _plain_part(name: ast.Name, part: ast.AST, attr: str, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether another attribute of an object is read, and nothing of it is called: ``model.config.size``."""
    first = above[name]
    return isinstance(first, ast.Attribute) and first.attr != attr and not _is_called(part, above)


def _variable(context: Context, node: ast.stmt, target: ast.Attribute, scope: Scope) -> bool:
    """Say whether ``x.y += ...`` changes an object that keeps its state itself, as the variables of other libraries."""
    if not isinstance(node, ast.AugAssign):
        return False
    flow = context.flow
    base = flow.resolve(flow.here(scope.module.values[target.value], scope))
    cls = flow.classes.class_of(base)
    around: Scope | None = scope
    while cls is None and around is not None and getattr(target.value, "id", "") == "self":
        cls, around = (around.function.owner if around.function is not None else None), around.parent
    for parent in flow.classes.mro(cls)[0] if cls is not None else ():
        for method, value in parent.stores.get(target.attr, ()):
            text = ast.unparse(value.node.func) if isinstance(value, Call) else ""
            if text.endswith("Variable") and "nnx" not in text:
                return True
            made = flow.resolve(flow.here(value, method.scope))
            held_by = flow.classes.class_of(made)
            if held_by is not None and any("__iadd__" in one.methods for one in flow.classes.mro(held_by)[0]):
                return True
            name = flow.calls.callee_name(made)
            if last(name).endswith("Variable") and not name.startswith("flax."):
                return True
    return False


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Iterator[ast.expr]:
    """Yield the single targets of an assignment."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from elements(target, lists=True)


def _copied(node: ast.AST, target: ast.Attribute) -> bool:
    """Say whether an attribute gets a copy of itself, as by ``self.scale = dict(self.scale)``: the same each time."""
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, ast.Call) or last_word(value.func) not in _COPIES or value.keywords:
        return False
    given = [*value.args, *([value.func.value] if isinstance(value.func, ast.Attribute) and not value.args else [])]
    return [ast.unparse(one) for one in given] == [ast.unparse(target)]


_COPIES = frozenset({"copy", "deepcopy", "dict", "frozenset", "list", "set", "sorted", "tuple"})


def _never_read(context: Context, node: ast.AST, target: ast.Attribute, function: FunctionFacts) -> bool:
    """Say whether nothing reads a count of the object of a method, but the module reads that of another object."""
    value = function.scope.module.values.get(target.value)
    owner = function.owner
    if not isinstance(node, ast.AugAssign) or owner is None or value is not function.self_param:
        return False
    if target.attr.startswith("_") and any(module.source.mentions(b"getattr") for module in context.project.modules):
        return False
    others = False
    family = {owner, *context.flow.classes.mro(owner)[0], *context.flow.classes.heirs(owner)}
    for event in context.flow.project.attributes():
        if event.node.attr != target.attr or event.context != "load":
            continue
        base = event.base
        holder = base.function.owner if isinstance(base, Param) and base is base.function.self_param else None
        word = last_word(event.node.value).lower()
        if holder in family or (holder is None and (word == "self" or (word and word in owner.name.lower()))):
            return False
        if context.flow.classes.class_of(context.flow.resolve(context.flow.here(base, event.scope))) in family:
            return False
        others = others or event.scope.module is function.scope.module
    return others


def _own(node: ast.AST, target: ast.Attribute) -> bool:
    """Say whether an attribute gets a value that depends on its old one."""
    text = ast.dump(target.value)
    value = getattr(node, "value", None)
    if _same_again(value, ast.dump(target.value), target.attr):
        return False
    return isinstance(node, ast.AugAssign) or any(
        isinstance(n, ast.Attribute) and n.attr == target.attr and ast.dump(n.value) == text
        for n in (ast.walk(value) if value is not None else ())
    )


def _same_again(value: ast.expr | None, owner: str, attr: str) -> bool:
    """Say whether a second time would change nothing more: ``x.state = x.state.replace(count=0)``, and what wraps the
    inner object of the old one, as ``self.env = Wrapper(self.env._env)``."""
    if not isinstance(value, ast.Call):
        return False
    inner = value.args[0] if value.args else None
    if isinstance(inner, ast.Attribute) and _INNER.fullmatch(inner.attr) and last_word(value.func)[:1].isupper():
        old = inner.value
        others = (n for n in ast.walk(value) if isinstance(n, ast.Attribute) and n.attr == attr and n is not old)
        return isinstance(old, ast.Attribute) and old.attr == attr and not any(others)
    if not isinstance(value.func, ast.Attribute) or value.args:
        return False
    held = value.func.value
    return (
        value.func.attr in {"replace", "_replace"}
        and isinstance(held, ast.Attribute)
        and held.attr == attr
        and ast.dump(held.value) == owner
        and all(word.arg is not None and isinstance(word.value, ast.Constant) for word in value.keywords)
    )


def _tainted(context: Context, node: ast.Assign | ast.AugAssign | ast.AnnAssign, scope: Scope) -> bool:
    return node.value is not None and context.taint.node_holds(node.value, scope)


RULE = Rule(
    code="NNX804",
    name="global-in-traced",
    summary="traced code assigns to a global or nonlocal variable, or to an attribute of an outer object",
    why="""\
The assignment happens while tracing: once per compilation. A counter stays at 1, and a traced value leaks its tracer,
which raises UnexpectedTracerError when it is used. The same holds for attributes of an object that is bound to the
method before it is compiled, or is a static argument. Counting traces in a `nonlocal` variable is left alone.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 3; measured: 1 of 5 calls counted',
    examples=(
        Example(
            before="""\
import jax

count = 0


@jax.jit
def step(x):
    global count
    count += 1
    return x
""",
            run=False,
        ),
        Example(
            before="""\
import jax


class Trainer:
    def __init__(self):
        self.loss = None
        self.step = jax.jit(self._step)

    def _step(self, x):
        self.loss = x.sum()
        return x
""",
            run=False,
        ),
        Example(
            before="""\
import jax


class Trainer:
    def __init__(self):
        self.steps = 0
        self.double = jax.jit(lambda x: 2 * x)

    def step(self, x):
        self.steps += 1
        return self.double(x)
""",
            after="""\
import jax


class Trainer:
    def __init__(self):
        self.steps = 0
        self.double = jax.jit(lambda x: 2 * x)

    def step(self, x):
        self.steps += 1
        return self.double(x)
""",
            run=False,
        ),
    ),
    check=_check,
)
