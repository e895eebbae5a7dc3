"""Handing a model to functions that got only its optimizer.

A function gets a new parameter for the model, right before the optimizer, and every call of it the model as an
argument. Where an optimizer is made around an unnamed model, the model first gets a name. Both happen only if every
call of the function is known and each can name the model.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, Env, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.known import CALLS_BODY, GRADIENTS, TRANSPARENT, foreign
from codemods.nnx.optimizer.exported import exported
from codemods.nnx.optimizer.groups import Group, Reason
from codemods.nnx.optimizer.identity import Identity, Spellings
from codemods.nnx.optimizer.origins import Constructor
from codemods.nnx.optimizer.plan import Plan
from codemods.nnx.rewrite import replace
from codemods.nnx.source import Source
from codemods.nnx.values import Call, Free, Param, Ref, Value

LIMIT = 6  # lines that a model may be handed through
_PARTIAL = {"functools.partial", "flax.nnx.cached_partial"}


@dataclass(frozen=True, eq=False)
class _Site:
    """Where a call gives the optimizer: the call, the argument, and what is known there."""

    node: ast.expr
    keyword: ast.keyword | None
    value: Value
    scope: Scope
    env: Env


class Threading:
    """Plans new parameters and names for one group.

    Unless it was asked for at any price, that is done only where the change stays small: in a few lines, and without
    a second name for a model that has one.

    Attributes:
        asked: whether it was asked for.
        limit: how many lines it may change.
        lines: those that it changes.
        aliases: by the reads in them, the statements ``model = optimizer.model`` whose name a new parameter takes over.
        failure: why the last :meth:`hand` failed.
        reason: why :meth:`finish` failed.
    """

    def __init__(
        self, flow: Flow, identity: Identity, spellings: Spellings, group: Group, plan: Plan, limit: int | None = None
    ) -> None:
        self.flow = flow
        self.identity = identity
        self.spellings = spellings
        self.group = group
        self.work = plan
        self.names: dict[Param, str] = {}
        self.hoisted: dict[Constructor, str] = {}
        self.pending: list[Param] = []
        self.failure: Reason | None = None
        self.asked = limit is None
        self.limit = float("inf") if limit is None else limit
        self.lines: set[tuple[ModuleFacts, int]] = set()
        self.aliases: dict[ast.expr, ast.Assign] = {}
        first = group.constructors[0].event if group.constructors else None
        self._place = first
        self._events: dict[Value, CallEvent] = {}

    @property
    def reason(self) -> Reason:
        """Why the group cannot be threaded."""
        if self.failure is not None:
            return self.failure
        assert self._place is not None
        return Reason("the model cannot be handed to every use", self._place.scope, self._place.node)

    def known(self, receiver: ast.expr, value: Value, scope: Scope) -> str | None:
        """Return the name under which a use already gets the model."""
        origin = self._origin(value, scope)
        if isinstance(origin, Param) and origin in self.names:
            return self.names[origin] if self._visible(self.names[origin], origin.function.scope, scope) else None
        if isinstance(origin, Constructor) and origin in self.hoisted:
            return self.hoisted[origin] if self._visible(self.hoisted[origin], origin.event.scope, scope) else None
        return None

    def hand(self, receiver: ast.expr, value: Value, scope: Scope, env: Env) -> str | None:
        """Plan that a use gets the model; return its name there, or None if that cannot be."""
        origin = self._origin(value, scope)
        if isinstance(origin, Constructor):
            name = self._hoist(origin)
            home: Scope | None = origin.event.scope
        elif isinstance(origin, Param):
            name = self._thread(origin)
            home = origin.function.scope
        else:
            name, home = None, None
        if name is None or home is None or not self._visible(name, home, scope):
            return None
        return name

    def _origin(self, value: Value, scope: Scope) -> Param | Constructor | None:
        """Return the parameter or constructor of an enclosing scope that a use's optimizer is."""
        resolved = self.flow.resolve(self.flow.here(value, scope))
        found = resolved.value
        constructor = self.identity.origins.constructors.get(found)
        if constructor is not None:
            made = constructor.event.scope
            current = resolved.frame is self.flow.open_frame(made) and self.flow.identity.current(resolved)
            return constructor if current and _within(scope, made) else None
        if isinstance(found, Param) and found is not found.function.self_param and _within(scope, found.function.scope):
            return found
        return None

    def _visible(self, name: str, home: Scope, scope: Scope) -> bool:
        """Say whether a name of ``home`` is what ``scope`` sees under it."""
        if home.owner is not None and home is not scope:
            return False  # methods do not see the names of their class
        inner: Scope | None = scope
        while inner is not None and inner is not home:
            if name in inner.bindings:
                return False
            inner = inner.parent
        return True

    # -- naming the model where the optimizer is made ---------------------------------------------

    def _hoist(self, constructor: Constructor) -> str | None:
        if constructor in self.hoisted:
            return self.hoisted[constructor]
        event = constructor.event
        node, statement, scope = event.node, event.statement, event.scope
        source = scope.module.source
        if not node.args or isinstance(node.args[0], ast.Starred) or not isinstance(statement, ast.Assign):
            return None
        if statement.value is not node or len(statement.targets) != 1 or not _starts_line(source, statement):
            return None
        target = statement.targets[0]
        written = (
            target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
        )
        argument = node.args[0]
        if not self.asked and not isinstance(argument, ast.Call):
            self.failure = Reason("the model would need a second name", scope, node)
            return None
        name = self._free_name(_model_name(written), scope)
        text = source.text(argument)
        if "\n" in text and not isinstance(argument, ast.Call):
            text = f"({text})"
        line = source.line_starts[statement.lineno - 1]
        indent = source.data[line : line + statement.col_offset].decode("utf-8")
        newline = source.newline.decode()
        self.work.edit(
            scope, Edit(line, line, f"{indent}{name} = {text}{newline}".encode()), replace(source, argument, name)
        )
        self.hoisted[constructor] = name
        return name

    def _free_name(self, wanted: str, scope: Scope) -> str:
        taken = self.identity.taken.setdefault(scope.module, set())
        used = set(self.names.values()) | taken | set(re.findall(r"[^\W\d]\w*", _text_of(scope)))
        name, number = wanted, 2
        while name in used:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        return name

    # -- new parameters -----------------------------------------------------------------------------

    def _thread(self, param: Param) -> str | None:
        if param in self.names:
            return self.names[param]
        function = param.function
        words = self._objection(function)
        if words is not None:
            self.failure = Reason(words, function.scope.parent or function.scope, function.node)
            return None
        name = self._parameter_name(param)
        if name is None:
            outer = function.scope.parent or function.scope
            self.failure = Reason(f"{function.name}() has another `model`", outer, function.node)
            return None
        self.names[param] = name
        self.pending.append(param)
        return name

    def _objection(self, function: FunctionFacts) -> str | None:
        """Say why a function cannot get a new parameter."""
        name = function.name
        if isinstance(function.node, ast.Lambda) or function.owner is not None:
            return f"{name} gets only the optimizer and is a method or lambda"
        if not self.flow.sites.callers(function):
            return f"{name}() gets only the optimizer and nothing in the project calls it"
        if not self._accounted(function):
            return f"{name}() gets only the optimizer and is also used as a value"
        return None

    def _parameter_name(self, param: Param) -> str | None:
        function = param.function
        taken = self.identity.taken.setdefault(function, set())
        alias = _alias(param)
        if alias is not None and alias[0] not in taken:
            taken.add(alias[0])
            self.aliases[alias[1].value] = alias[1]
            return alias[0]
        names = ("model", _model_name(param.name), "module", "net", "optimized_model")
        for name in names if self.asked else names[:2]:
            if name in function.scope.bindings or name in taken:
                continue
            outside = False
            for node in ast.walk(function.node):
                if isinstance(node, ast.Name) and node.id == name:
                    value = function.scope.module.values.get(node)
                    if isinstance(value, Free) and not _within(value.scope, function.scope):
                        outside = True
            if not outside:
                taken.add(name)
                return name
        return None

    def _accounted(self, function: FunctionFacts) -> bool:
        """Say whether every reference to a function is a direct call or goes through a known transform."""
        calls = {event.node.func for event in self.flow.sites.callers(function)}
        wrappers = {event.node.args[0] for event in self._wrappers(function) if event.node.args}
        names = {function.name}
        for module in self.flow.project.modules:
            for statement in module.imports:
                names |= {a.asname for a in statement.names if a.name == function.name and a.asname}
        for module in self.flow.project.modules:
            for node, value in module.values.items():
                if isinstance(node, ast.Name):
                    if node.id not in names or not isinstance(node.ctx, ast.Load):
                        continue
                elif not (isinstance(node, ast.Attribute) and node.attr in names):
                    continue
                if node in calls or node in wrappers:
                    continue
                scope = module.scope if not isinstance(value, Param) else value.function.scope
                bound = self.flow.here(value, scope)
                if any(c.function is function for c in self.flow.calls.callables(bound)):
                    return False
                if self._undefined(bound, function.name):
                    return False
        return True

    def _undefined(self, bound: Bound, name: str) -> bool:
        """Say whether a function may be meant by a name that the given files do not define, as in examples."""
        value = self.flow.resolve(bound).value
        head, _, last = value.name.rpartition(".") if isinstance(value, Ref) else ("", "", "")
        return last == name and (head == "builtins" or not foreign(head))

    def _wrappers(self, function: FunctionFacts) -> list[CallEvent]:
        """Return the calls that hand a function to a transform or partial application."""
        found = []
        for event in self.flow.project.calls():
            if not event.value.args or not event.node.args:
                continue
            call = self.flow.here(event.value, event.scope)
            if self.flow.calls.wrapper_name(call, event.value) in TRANSPARENT | GRADIENTS and any(
                c.function is function
                for c in self.flow.calls.callables(self.flow.with_value(call, event.value.args[0]))
            ):
                found.append(event)
        return found

    def finish(self) -> bool:
        """Plan the definitions and calls of all functions that get a model; say whether each call can give it."""
        while self.pending:
            param = self.pending.pop()
            if not (self._define(param) and self._options(param) and self._calls(param)):
                return False
        return True

    def _fail(self, words: str, scope: Scope, node: ast.AST) -> bool:
        self.failure = Reason(words, scope, node)
        return False

    def _define(self, param: Param) -> bool:
        function, name = param.function, self.names[param]
        source = function.scope.module.source
        arguments = function.node.args
        node = next(a for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if a.arg == param.name)
        if param.name in function.defaults:
            return self._fail(f"the optimizer of {function.name}() has a default", function.scope, function.node)
        if not self.asked and exported(self.flow, function):
            return self._fail(f"{function.name}() is in `__all__`, for others to call", function.scope, function.node)
        written = name
        outer = function.scope.parent or function.scope
        if node.annotation is not None:
            kind = self._model_annotation(node.annotation, source)
            module = spell(self.flow, outer, "Module") if kind is None else None
            if kind is not None:
                written = f"{name}: {kind}"
            elif module is not None and not module.edits:
                written = f"{name}: {module.text}"
        self.work.edit(function.scope, _before(source, node, written))
        self.work.remark(
            "NNX109", outer, function.node, f"{function.name}() gets the model beside its optimizer, as `{name}`"
        )
        return True

    def _model_annotation(self, node: ast.expr, source: Source) -> str | None:
        """Return ``Model`` of ``nnx.Optimizer[Model]``."""
        return source.text(node.slice) if isinstance(node, ast.Subscript) else None

    def _options(self, param: Param) -> bool:
        """Shift the positions in the options of transforms of the function."""
        function = param.function
        index = list(function.params).index(param.name)
        if index >= function.positional:
            return True
        outer = function.scope.parent or function.scope
        decorators = [] if isinstance(function.node, ast.Lambda) else function.node.decorator_list
        transforms = [
            (outer, self._transform_name(node, outer), node.keywords if isinstance(node, ast.Call) else [])
            for node in decorators
        ]
        for event in self._wrappers(function):
            name = self.flow.calls.wrapper_name(self.flow.here(event.value, event.scope), event.value)
            if name not in _PARTIAL:
                extra = event.node.func.keywords if isinstance(event.node.func, ast.Call) else []
                transforms.append((event.scope, name, [*event.node.keywords, *extra]))
        for scope, name, keywords in transforms:
            if name and (name in GRADIENTS or name.startswith("jax.")):
                return self._fail(f"{function.name}() goes through {name}", outer, function.node)
            if name == "flax.nnx.scan" and not any(k.arg == "in_axes" for k in keywords):
                return self._fail(f"{function.name}() goes through {name}", outer, function.node)
            for keyword in keywords:
                if not self._shift(scope, keyword, index, function):
                    return self._fail(f"`{keyword.arg}` of {function.name}() cannot be shifted", outer, function.node)
        return True

    def _transform_name(self, decorator: ast.expr, scope: Scope) -> str:
        values = scope.module.values
        value = values.get(decorator)
        if value is None:
            return ""
        bound = self.flow.resolve(self.flow.here(value, scope))
        if isinstance(bound.value, Call):
            callee = self.flow.calls.callee_name(bound)
            if callee == "functools.partial" and bound.value.args:
                return getattr(self.flow.follow(bound, bound.value.args[0]).value, "name", "")
            return callee
        return getattr(bound.value, "name", "")

    def _shift(self, scope: Scope, keyword: ast.keyword, index: int, function: FunctionFacts) -> bool:
        source, node = scope.module.source, keyword.value
        if keyword.arg in {"static_argnums", "donate_argnums"}:
            numbers = _numbers(node)
            if numbers is None or any(n < 0 for n in numbers):
                return False
            shifted = [n + 1 if n >= index else n for n in numbers]
            if keyword.arg == "donate_argnums" and index in numbers:
                shifted.append(index)
            if shifted != numbers:
                shifted.sort()
                text = str(shifted[0]) if len(shifted) == 1 and isinstance(node, ast.Constant) else str(tuple(shifted))
                self.work.edit(scope, replace(source, node, text))
            return True
        if keyword.arg == "in_axes":
            if isinstance(node, ast.Constant):
                return True
            if not self.asked or not isinstance(node, ast.Tuple | ast.List) or index >= len(node.elts):
                return False
            axis = node.elts[index]
            if source.text(axis).endswith("Carry"):
                return False
            self.work.edit(scope, _before(source, axis, source.text(axis)))
            return True
        return keyword.arg is not None and "sharding" not in keyword.arg and keyword.arg != "in_specs"

    def _calls(self, param: Param) -> bool:
        function, name = param.function, self.names[param]
        done: set[ast.expr] = set()
        for event in self.flow.sites.callers(function):
            site = self._site(event, param)
            if site is None:
                return self._fail(f"a call of {function.name}() does not show its optimizer", event.scope, event.node)
            if site.node in done:
                continue
            done.add(site.node)
            text = (
                self.known(site.node, site.value, site.scope)
                or self.spellings.at(site.node, site.value, site.scope, site.env, [])
                or self.hand(site.node, site.value, site.scope, site.env)
            )
            if text is None:
                if self.failure is None:
                    self._fail(f"the model has no name where {function.name}() is called", event.scope, event.node)
                return False
            given = {ast.unparse(a) for a in (*event.node.args, *(k.value for k in event.node.keywords))}
            if text in given:
                return self._fail(f"one call passes the model to {function.name}() already", event.scope, event.node)
            self.lines.add((site.scope.module, site.node.lineno))
            if len(self.lines) > self.limit:
                return self._fail("its model would have to be handed through many calls", event.scope, event.node)
            source = site.scope.module.source
            if site.keyword is not None:
                start = source.span(site.keyword)[0]
                self.work.edit(site.scope, Edit(start, start, f"{name}={text}, ".encode()))
            else:
                self.work.edit(site.scope, _before(source, site.node, text))
        return True

    def _site(self, event: CallEvent, param: Param) -> _Site | None:
        """Return where the optimizer's argument of a call stands, also in a partial application before it."""
        function, call = param.function, self.flow.here(event.value, event.scope)
        if self.flow.calls.callee_name(call) in CALLS_BODY or event.value.starred:
            return None
        index = list(function.params).index(param.name)
        callees = [
            c
            for c in self.flow.calls.callables(self.flow.with_value(call, event.value.callee))
            if c.function is function
        ]
        if len(callees) != 1:
            return None
        held = len(callees[0].args)
        if index < held:
            value = self.flow.follow(call, event.value.callee).value
            seen: set[Value] = set()
            while isinstance(value, Call) and self.flow.calls.wrapper_name(call, value) not in _PARTIAL and value.args:
                if value in seen:  # `self.step = jax.jit(self.step)`
                    return None
                seen.add(value)
                value = self.flow.follow(call, value.args[0]).value
            partial = self._event(value)
            if partial is None or len(partial.node.args) != held + 1:
                return None
            return _Site(partial.node.args[index + 1], None, partial.value.args[index + 1], partial.scope, partial.env)
        if index - held < len(event.node.args) and index < function.positional:
            position = index - held
            return _Site(event.node.args[position], None, event.value.args[position], event.scope, event.env)
        for keyword, (key, value) in zip(event.node.keywords, event.value.keywords, strict=True):
            if key == param.name:
                return _Site(keyword.value, keyword, value, event.scope, event.env)
        return None

    def _event(self, value: Value) -> CallEvent | None:
        if not self._events:
            self._events = {event.value: event for event in self.flow.project.calls()}
        return self._events.get(value)


def _alias(param: Param) -> tuple[str, ast.Assign] | None:
    """Return the name that a function gives the model of its optimizer, once and on a line of its own, and the line."""
    function = param.function
    if isinstance(function.node, ast.Lambda):
        return None
    source = function.scope.module.source
    for statement in function.node.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not (isinstance(target, ast.Name) and isinstance(value, ast.Attribute) and value.attr == "model"):
            continue
        if not (isinstance(value.value, ast.Name) and value.value.id == param.name):
            continue
        end = source.span(statement)[1]
        line_end = source.data.find(b"\n", end)
        alone = _starts_line(source, statement) and line_end >= 0 and not source.data[end:line_end].strip()
        stores = [
            n
            for n in ast.walk(function.node)
            if (isinstance(n, ast.Name) and n.id == target.id and not isinstance(n.ctx, ast.Load))
            or (isinstance(n, ast.arg) and n.arg == target.id and n in _arguments(function.node))
        ]
        if alone and stores == [target] and target.id not in function.scope.globals:
            return target.id, statement
    return None


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]


def _within(scope: Scope | None, outer: Scope) -> bool:
    while scope is not None:
        if scope is outer:
            return True
        scope = scope.parent
    return False


def _text_of(scope: Scope) -> str:
    node = scope.node
    source = scope.module.source
    return source.data.decode("utf-8") if isinstance(node, ast.Module) else source.text(node)


def _starts_line(source: Source, statement: ast.stmt) -> bool:
    line = source.line_starts[statement.lineno - 1]
    return not source.data[line : line + statement.col_offset].strip()


def _model_name(optimizer: str) -> str:
    """Return a name for the model of an optimizer, such as ``actor_model`` for ``actor_opt``."""
    name = re.sub(r"(?i)optimi[sz]er|optim|opt", "model", optimizer, count=1)
    return name if name != optimizer else f"{optimizer}_model" if optimizer else "model"


def _numbers(node: ast.expr) -> list[int] | None:
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    numbers = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    return numbers if len(numbers) == len(nodes) else None


def _before(source: Source, node: ast.expr | ast.arg, text: str) -> Edit:
    """Insert ``text`` as an element of its own before an argument, parameter or element of a display."""
    start = source.span(node)[0]
    while source.data[start - 1 : start] == b"(" and source.data[start - 2 : start - 1] in b" \t\n\r,":
        start -= 1  # parentheses around the argument itself
    line = source.data.rfind(b"\n", 0, start) + 1
    leading = source.data[line:start]
    if line and not leading.strip():
        newline = "\r\n" if source.data[line - 2 : line] == b"\r\n" else "\n"
        return Edit(start, start, f"{text},{newline}{leading.decode()}".encode())
    return Edit(start, start, f"{text}, ".encode())
