"""What lint rules look at again and again: the nodes, the blocks and the calls of one body."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import ARRAY_ATTRIBUTES, ARRAY_METHODS, STATIC_ATTRIBUTES
from codemods.nnx.lint.overloaded import overloads
from codemods.nnx.lint.swallowing import EXPECTING, called, swallowing
from codemods.nnx.lint.syntax import Path, behind, handles, inside, names_in, own_nodes, paths, short_circuits
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import Project
from codemods.nnx.values import Call

_AT_ONCE = ("ensure_compile_time_eval", "eval_context")
#: Context managers in whose blocks nothing is traced.
CONCRETE = frozenset({*_AT_ONCE, "disable_jit"})
# what names, beside those of tracers, a function has in it that tells them from values
_CONCRETE_WORDS = frozenset({"is_concrete", "concrete_or_error", "ConcretizationTypeError"})
_OF_JAX = pattern(r"_*is_(a_)?(jax|jnp|traced)")
_LIKE_DICTS = frozenset({"get", "copy", "add", "set", "apply", "view", "take"})  # what other objects have too


class Bodies:
    """Indexes over the bodies of a project, each made when it is first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._nodes: dict[Scope, tuple[ast.AST, ...]] = {}
        self._names: dict[Scope, dict[str, list[ast.Name]]] = {}
        self._paths: dict[Scope, dict[ast.AST, Path]] = {}
        self._behind: dict[Scope, dict[ast.AST, tuple[ast.If, ...]]] = {}
        self._in_front: dict[Scope, dict[ast.AST, tuple[tuple[ast.expr, bool], ...]]] = {}
        self._guarding: dict[Scope, bool] = {}
        self._asking: dict[Scope, bool] = {}
        self._tested: dict[ast.AST, frozenset[str]] = {}
        self._evidence: dict[FunctionFacts, dict[str, str]] = {}

    @cached_property
    def own_methods(self) -> frozenset[str]:
        """The names of the methods of the project's classes: what is called by one of them need not be an array."""
        return frozenset(name for cls in self._project.classes() for name in cls.methods)

    def nodes(self, scope: Scope) -> tuple[ast.AST, ...]:
        """Return the nodes of a function's or module's body without those of inner functions."""
        if scope not in self._nodes:
            self._nodes[scope] = tuple(own_nodes(scope.node))  # type: ignore[arg-type]
        return self._nodes[scope]

    def names(self, scope: Scope) -> dict[str, list[ast.Name]]:
        """Return the names that stand in a body, in the order of :meth:`nodes`, by what they say."""
        if scope not in self._names:
            found: dict[str, list[ast.Name]] = {}
            for node in self.nodes(scope):
                if type(node) is ast.Name:
                    found.setdefault(node.id, []).append(node)
            self._names[scope] = found
        return self._names[scope]

    def reads(self, scope: Scope, name: str) -> list[ast.Name]:
        """Return where a body reads a variable, in the order of :meth:`nodes`."""
        return [node for node in self.names(scope).get(name, ()) if isinstance(node.ctx, ast.Load)]

    def stores(self, scope: Scope, name: str) -> list[ast.Name]:
        """Return where a body sets or deletes a variable, in the order of :meth:`nodes`."""
        return [node for node in self.names(scope).get(name, ()) if not isinstance(node.ctx, ast.Load)]

    def paths(self, scope: Scope) -> dict[ast.AST, Path]:
        """Return the blocks around every node of a body."""
        if scope not in self._paths:
            self._paths[scope] = paths(scope.node)  # type: ignore[arg-type]
        return self._paths[scope]

    def block(self, node: ast.AST, statement: ast.stmt, scope: Scope) -> list[ast.stmt]:
        """Return the statements of the innermost block around a node of a body; none if a statement is not among them.

        Args:
            node: the node.
            statement: the statement that it stands in, or that itself.
            scope: the body.
        """
        path = self.paths(scope).get(node, ())
        block, arm = path[-1] if path else (scope.node, "body")
        found = getattr(block, arm, None)
        return found if isinstance(found, list) and statement in found else []

    def behind(self, node: ast.AST, scope: Scope) -> tuple[ast.If, ...]:
        """Return the conditions before a node of a body under which it is not reached."""
        if scope not in self._behind:
            self._behind[scope] = behind(scope.node)  # type: ignore[arg-type]
        return self._behind[scope].get(node, ())

    def in_front(self, node: ast.AST, scope: Scope) -> tuple[tuple[ast.expr, bool], ...]:
        """Return the operands of ``and`` and ``or`` in front of a node, with the truth by which it is reached."""
        if scope not in self._in_front:
            self._in_front[scope] = short_circuits(self.nodes(scope))
        return self._in_front[scope].get(node, ())

    def guarded(self, node: ast.AST, scope: Scope) -> bool:
        """Say whether a node stands in a ``try`` that goes on after its errors, or where an error is expected."""
        if self._expected(scope):
            return True
        if scope not in self._guarding:
            self._guarding[scope] = any(self._guards(block, scope) for block in self.nodes(scope))
        if not self._guarding[scope]:
            return False
        return any(arm == "body" and self._guards(block, scope) for block, arm in self.paths(scope).get(node, ()))

    def _expected(self, scope: Scope) -> bool:
        """Say whether a body is that of a lambda that is to fail: ``assertRaises(TypeError, lambda: ...)``."""
        function = scope.function
        if function is None or not isinstance(function.node, ast.Lambda) or scope.parent is None:
            return False
        if not any(map(scope.module.source.mentions, (b"raises(", b"assertRaises("))):
            return False
        return any(
            last_word(event.node.func) in {"raises", "assertRaises"} and function.node in event.node.args[1:]
            for event in self.calls.get(scope.parent, ())
        )

    def _guards(self, block: ast.AST, scope: Scope) -> bool:
        """Say whether a block of a body goes on after errors in it, or expects them there."""
        kind = type(block)
        if kind is ast.Try:
            return handles(block)  # type: ignore[arg-type]
        if kind is not ast.With:
            return False
        return any(self._manager(item, scope) in self._expecting for item in block.items)  # type: ignore[attr-defined]

    @cached_property
    def _expecting(self) -> frozenset[str]:
        return EXPECTING | swallowing(self._project)

    def _manager(self, item: ast.withitem, scope: Scope) -> str:
        """Return the last part of the name of what makes a context manager, which a variable may hold."""
        word = called(item)
        outer: Scope | None = scope if isinstance(item.context_expr, ast.Name) else None
        while outer is not None:
            for value in outer.bindings.get(word, ()):
                if isinstance(value, Call) and isinstance(value.node, ast.Call):
                    return self._original(scope.module, last_word(value.node.func))
            outer = outer.parent
        return self._original(scope.module, word)

    def untraced(self, node: ast.AST, scope: Scope) -> bool:
        """Say whether a node may run on concrete values although its function is traced.

        That is in a function that asks whether something is a tracer, under a test of a type, and where compilation is
        switched off.
        """
        if self._asks_for_tracers(scope):
            return True
        for block, arm in self.paths(scope).get(node, ()):
            if isinstance(block, ast.Try) and arm == "handlers":
                return True  # what failed before may be no array at all
            if isinstance(block, ast.With) and arm == "body":
                if any(self._manager(item, scope) in CONCRETE for item in block.items):
                    return True
            if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
                if self._typed(block) & names_in(node) or _without_jax(block.test, arm == "body"):
                    return True
                if self._probes(block.test, scope):
                    return True
        return any(
            _of_tracers(block.test) & names_in(node) or self._probes(block.test, scope)
            for block in self.behind(node, scope)
        )

    def evaluated(self, node: ast.AST, scope: Scope) -> bool:
        """Say whether JAX computes at once what stands at a place: in a block of ``jax.ensure_compile_time_eval()``."""
        return _computes_at_once(scope) and any(
            isinstance(block, ast.With)
            and arm == "body"
            and any(self._manager(item, scope) in _AT_ONCE for item in block.items)
            for block, arm in self.paths(scope).get(node, ())
        )

    def used_evaluated(self, function: FunctionFacts, scope: Scope) -> bool:
        """Say whether a function in a body is made where JAX computes at once, or only used there."""
        if not _computes_at_once(scope):
            return False
        if self.evaluated(function.node, scope):
            return True
        if isinstance(function.node, ast.Lambda):
            return False
        nodes = list(ast.walk(scope.node))
        uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == function.name]
        called = {n.func: n for n in nodes if isinstance(n, ast.Call)}  # perhaps within another function
        places = [called.get(use, use) for use in uses]
        return bool(places) and all(self.evaluated(one, self.home(one) or scope) for one in places)

    def gives_back(self, guard: ast.If, scope: Scope) -> bool:
        """Say whether a condition gives back what an earlier call kept, and the rest of its function keeps a result."""
        last = guard.body[-1]
        if not isinstance(last, ast.Return) or last.value is None or isinstance(last.value, ast.Constant):
            return False
        if not names_in(last.value) & names_in(guard.test):
            return False
        return any(_keeps(node) for node in self.nodes(scope) if getattr(node, "lineno", 0) > guard.lineno)

    def of_asked_type(self, value: ast.expr, node: ast.AST, scope: Scope) -> bool:
        """Say whether a place is reached only after the type of a value, or of what it is a part of, was asked for."""
        names, outer = names_in(value), scope
        while True:
            blocks = [b for b, arm in self.paths(outer).get(node, ()) if arm in {"body", "orelse"}]
            asked = (b for b in (*blocks, *self.behind(node, outer)) if isinstance(b, ast.If | ast.IfExp))
            if any(self._typed(block) & names for block in asked):
                return True
            if outer.function is None or outer.parent is None or outer.parent.owner is not None:
                return False
            node, outer = outer.function.node, outer.parent

    def _typed(self, block: ast.If | ast.IfExp) -> frozenset[str]:
        """Return the names whose type a condition asks for."""
        if block not in self._tested:
            self._tested[block] = frozenset(
                name
                for call in ast.walk(block.test)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                if call.func.id in {"isinstance", "issubclass", "type", "callable", "hasattr"}
                for argument in call.args[:1]
                for name in names_in(argument)
            )
        return self._tested[block]

    def _asks_for_tracers(self, scope: Scope) -> bool:
        if scope not in self._asking:
            self._asking[scope] = any(
                "racer" in (word := last_word(node)) or word in _CONCRETE_WORDS
                for node in self.nodes(scope)
                if isinstance(node, ast.Name | ast.Attribute)
            )
        return self._asking[scope]

    def _probes(self, test: ast.expr, scope: Scope) -> bool:
        """Say whether a condition asks a function of the project that tells tracers from values: one that gives None
        where ``bool(x)`` raises the error of a tracer."""
        return bool(self._probing) and any(
            isinstance(call, ast.Call) and self._original(scope.module, last_word(call.func)) in self._probing
            for call in ast.walk(test)
        )

    @cached_property
    def _probing(self) -> frozenset[str]:
        return frozenset(
            function.name
            for module in self._project.modules
            if any(map(module.source.mentions, (b"Tracer", b"ConcretizationTypeError", b"is_concrete")))
            for function in module.functions
            if not isinstance(function.node, ast.Lambda) and self._asks_for_tracers(function.scope)
        )

    def evidence(self, function: FunctionFacts) -> dict[str, str]:
        """Return what the body of a function shows its parameters to be: ``array`` or ``object``, by name."""
        if function not in self._evidence:
            found: dict[str, str] = {}
            for node in self.nodes(function.scope):
                if self.overloaded and isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
                    continue  # objects of the project have these operators too
                if isinstance(node, ast.Attribute) and node.attr in (ARRAY_METHODS | _OF_ARRAYS) & self.own_methods:
                    continue  # and these methods
                for part, what in _uses(node):
                    if isinstance(part, ast.Name) and part.id in function.params:
                        if found.setdefault(part.id, what) != what:
                            found[part.id] = "object"
            self._evidence[function] = found
        return self._evidence[function]

    @cached_property
    def overloaded(self) -> bool:
        """Whether a class of the project overloads an operator of arithmetic."""
        return overloads(self._project.classes())

    def sometimes(self, node: ast.AST, scope: Scope, loop: ast.AST) -> bool:
        """Say whether a condition decides in which rounds of a loop a node runs."""
        path = self.paths(scope).get(node, ())
        return any(isinstance(outer, ast.If | ast.IfExp) and inside(outer, loop) for outer, _ in path)

    @cached_property
    def calls(self) -> dict[Scope, list[CallEvent]]:
        """The calls of every scope, in order."""
        found: dict[Scope, list[CallEvent]] = {}
        for event in self._project.calls():
            found.setdefault(event.scope, []).append(event)
        return found

    def home(self, node: ast.AST) -> Scope | None:
        """Return the scope whose body a call or an operation stands in; None if it is not known."""
        return self._homes.get(node)

    def home_of(self, source: Bound, node: ast.AST) -> Scope | None:
        """Return the scope whose body makes a source by a node: that of its activation, if it belongs to one."""
        return source.frame.function.scope if source.frame is not None else self.home(node) or self.module_scope(node)

    def module_scope(self, node: ast.AST) -> Scope | None:
        """Return the scope of the module that an expression stands in; None if it was not evaluated."""
        return next((module.scope for module in self._project.modules if node in module.values), None)

    @cached_property
    def _homes(self) -> dict[ast.AST, Scope]:
        return {event.node: event.scope for event in self._project.calls()}

    @cached_property
    def unpacked(self) -> list[CallEvent]:
        """The calls whose result is unpacked into several variables at once."""
        return [
            event
            for event in self._project.calls()
            if isinstance(event.statement, ast.Assign)
            and event.statement.value is event.node
            and isinstance(event.statement.targets[0], ast.Tuple)
        ]

    def named(self, *words: str) -> Iterator[CallEvent]:
        """Yield the calls whose callee ends in one of some words, ``f`` as well as ``module.f``."""
        for word in words:
            yield from self._by_word.get(word, ())

    @cached_property
    def _by_word(self) -> dict[str, list[CallEvent]]:
        found: dict[str, list[CallEvent]] = {}
        for event in self._project.calls():
            func = event.node.func
            word = last_word(func)
            if word:
                found.setdefault(self._original(event.scope.module, word), []).append(event)
        return found

    def _original(self, module: ModuleFacts, word: str) -> str:
        return self._renamed.get(module, {}).get(word, word)

    @cached_property
    def _renamed(self) -> dict[ModuleFacts, dict[str, str]]:
        """What names that ``from … import … as`` renames were called before."""
        return {
            module: {
                alias.asname: alias.name
                for statement in module.imports
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
                if alias.asname
            }
            for module in self._project.modules
        }


_OF_ARRAYS = frozenset({"item", "tolist", "tobytes", "block_until_ready"})
# functions of arrays that take lists of them, shapes and types too
_OF_LISTS = frozenset(
    {"array", "asarray", "stack", "concatenate", "hstack", "vstack", "dstack", "column_stack", "block", "zeros", "ones",
     "full", "empty", "scan", "cond", "while_loop", "fori_loop", "switch", "map", "shape", "result_type", "dtype"}
)  # fmt: skip


def _computes_at_once(scope: Scope) -> bool:
    """Say whether a file has a block in which JAX computes at once."""
    return any(scope.module.source.mentions(word.encode()) for word in _AT_ONCE)


def _without_jax(test: ast.expr, holds: bool) -> bool:
    """Say whether something was asked whether it is of JAX, and is not: ``if not is_jax_array(x)``."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    return not holds and isinstance(test, ast.Call) and bool(_OF_JAX.match(last_word(test.func)))


def _of_tracers(test: ast.expr) -> frozenset[str]:
    """Return the names of which a condition asks what holds of every tracer: behind a `return` there is none left."""
    if isinstance(test, ast.BoolOp):
        parts = [_of_tracers(part) for part in test.values]
        joined = frozenset.intersection if isinstance(test.op, ast.And) else frozenset.union
        return joined(*parts)
    if not isinstance(test, ast.Call) or len(test.args) != 2 or not isinstance(test.args[0], ast.Name):
        return frozenset()
    what = test.args[1]
    if last_word(test.func) == "hasattr":
        held = isinstance(what, ast.Constant) and what.value in {"ndim", "shape", "dtype", "size", "aval", "at"}
    else:
        kinds = elements(what)
        held = last_word(test.func) == "isinstance" and any(ast.unparse(one) in _ARRAY_TYPES for one in kinds)
    return frozenset({test.args[0].id}) if held else frozenset()


_ARRAY_TYPES = frozenset({"jax.Array", "Array", "jnp.ndarray", "jax.numpy.ndarray"})


def _keeps(node: ast.AST) -> bool:
    """Say whether a statement puts a value into an object or a container."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Call) and last_word(node.func) in {"setattr", "__setattr__"}


def _uses(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the expressions that an operation shows to be arrays, or objects that are none."""
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Mod | ast.Add):  # texts and lists have these too
            yield node.left, "array"
            yield node.right, "array"
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        yield node.operand, "array"
    elif isinstance(node, ast.Compare):
        if all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
            for part in (node.left, *node.comparators):
                yield part, "array"
    elif isinstance(node, ast.Attribute):
        if node.attr in STATIC_ATTRIBUTES | ARRAY_ATTRIBUTES | (ARRAY_METHODS - _LIKE_DICTS) | _OF_ARRAYS:
            yield node.value, "array"
        elif node.attr not in _LIKE_DICTS | {"items", "keys", "values", "pop", "update"}:
            yield node.value, "object"
    elif isinstance(node, ast.Match):
        if any(isinstance(case.pattern, ast.MatchValue) for case in node.cases):
            yield node.subject, "array"
    elif isinstance(node, ast.Call):
        yield node.func, "object"
        if isinstance(node.func, ast.Attribute) and node.func.attr not in _OF_LISTS:
            if last_word(node.func.value) in {"jnp", "lax", "nn"}:
                yield from ((argument, "array") for argument in node.args)
