"""The compatible form: ``nnx.ModelAndOptimizer`` keeps ``.model`` and ``update(grads)`` in Flax 0.11 and 0.12."""

from __future__ import annotations

import ast
from collections.abc import Collection

from codemods.nnx.compat import borrow
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.imports import extend, spell
from codemods.nnx.optimizer.explicit import CannotChange
from codemods.nnx.optimizer.groups import Group, Reason
from codemods.nnx.optimizer.origins import COMPATIBLE, OLD, Constructor, Origins
from codemods.nnx.optimizer.plan import Plan
from codemods.nnx.optimizer.version_switch import made_for_old_releases
from codemods.nnx.rewrite import RewriteError, keyword_to_front, positional_to_keyword
from codemods.nnx.values import Attr, Choice, Free, Item, ModuleRef, Param, Ref, Sequence, Star, Value

_NAME = "ModelAndOptimizer"
_ARMS = ("body", "orelse")  # of a conditional expression


class CompatibleForm:
    """Plans the compatible class for one group."""

    def __init__(self, origins: Origins, targets: Collection[str] = ()) -> None:
        self.origins = origins
        self.targets = targets
        self.flow: Flow = origins.flow

    def plan(self, group: Group, why: Reason | None) -> Plan:
        """Return the edits of a group.

        Args:
            group: the optimizers and their uses.
            why: the use that prevented the explicit form; None if the user asked for this one.

        Raises:
            CannotChange: if the group cannot take this form either.
        """
        for reason in group.reasons:
            if reason.final:
                raise CannotChange(reason)
        for update in group.updates:
            if not update.old and not update.unclear:
                raise CannotChange(
                    Reason(
                        "update() already gets the model here, but not everywhere",
                        update.event.scope,
                        update.event.node,
                    )
                )
        plan = Plan()
        references: list[tuple[ast.expr, Scope]] = []
        because = f" because {why}" if why is not None else ""
        for constructor in group.constructors:
            references += self._constructor(plan, constructor, because)
        for cls in group.subclasses:
            outer = cls.scope.parent or cls.scope
            for written, value in zip(cls.node.bases, cls.bases, strict=True):
                old = [node for node, base in self._ways(written, value, outer) if self._is_old(base)]
                references += [(node, outer) for node in old]
                if old:
                    plan.remark(
                        "NNX110",
                        outer,
                        cls.node,
                        f"{cls.name} derives from nnx.{_NAME}, which keeps what nnx.Optimizer was",
                    )
            self._inner_constructor(plan, cls.methods.get("__init__"))
        for update in group.updates:
            if update.unclear and not update.event.value.args:
                event = update.event
                raise CannotChange(Reason("the gradients are among unpacked keywords", event.scope, event.node))
            if not update.event.value.args and not update.unclear:
                try:
                    plan.edit(
                        update.event.scope,
                        keyword_to_front(update.event.scope.module.source, update.event.node, "grads"),
                    )
                except RewriteError as error:
                    raise CannotChange(Reason(str(error), update.event.scope, update.event.node)) from error
                plan.remark(
                    "NNX102",
                    update.event.scope,
                    update.event.node,
                    f"nnx.{_NAME}.update takes the gradients by position only",
                )
        references += self._through_class(group)
        references += self._annotations(group)
        self._rename(plan, references, group)
        if not plan.sound():
            raise CannotChange(why or _at(group.constructors[0], "its edits would overlap"))
        return plan

    def _ways(self, node: ast.expr, value: Value, scope: Scope) -> list[tuple[ast.expr, Bound]]:
        """Return how the base of a class is written, with its value: of ``A if flag else B`` both.

        Raises:
            CannotChange: if a name stands for one of several classes, ``nnx.Optimizer`` among them.
        """
        while isinstance(node, ast.Subscript) and isinstance(value, Item):  # nnx.Optimizer[Model]
            node, value = node.value, value.base
        bound = self.flow.resolve(Bound(value, self.flow.open_frame(scope)))
        if not isinstance(bound.value, Choice):
            return [(node, bound)]
        if isinstance(node, ast.IfExp) and isinstance(value, Choice) and len(value.options) == len(_ARMS):
            arms = zip((node.body, node.orelse), value.options, strict=True)
            return [way for arm, option in arms for way in self._ways(arm, option, scope)]
        if any(self._is_old(self.flow.with_value(bound, option)) for option in bound.value.options):
            raise CannotChange(Reason("this name stands for one of several classes", scope, node))
        return []

    def _is_old(self, bound: Bound) -> bool:
        return self.flow.resolve(bound).value == Ref(OLD)

    def _constructor(self, plan: Plan, constructor: Constructor, because: str) -> list[tuple[ast.expr, Scope]]:
        """Plan one constructor; return the expressions of the class that must be renamed."""
        if constructor.kind == COMPATIBLE or constructor.cls is not None:
            return []
        event = constructor.event
        call, scope = event.value, event.scope
        if call.node in made_for_old_releases(scope.module):
            return []
        bound = list(constructor.partial.args[1:] if constructor.partial else ())
        starred = [a for a in call.args if isinstance(a, Star)]
        for star in starred:
            inner = self.flow.resolve(self.flow.here(star.value, scope)).value
            if isinstance(inner, Sequence) and len(inner.items) + len(call.args) - 1 > 2:
                raise CannotChange(_at(constructor, "`wrt` is among its unpacked arguments"))
        if not starred and len(call.args) + len(bound) > 2:
            position = 2 - len(bound)
            if position < len(call.args) - 1:
                raise CannotChange(_at(constructor, "it is given more arguments than there are"))
            if position < 0 or position >= len(call.args):
                raise CannotChange(_at(constructor, "`wrt` is bound by position"))
            plan.edit(scope, positional_to_keyword(scope.module.source, call.node, position, "wrt"))
        plan.remark(
            "NNX103",
            scope,
            call.node,
            f"this optimizer becomes nnx.{_NAME}, which works as before{because}",
            "pass the model to update() wherever it is used, then make it nnx.Optimizer",
            notable=True,
        )
        return [self._class_expression(constructor)]

    def _class_expression(self, constructor: Constructor) -> tuple[ast.expr, Scope]:
        """Return the expression that names the class, at the constructor or where an alias of it is made."""
        event = constructor.event
        node: ast.expr = event.node.func
        if constructor.partial is not None:
            node = constructor.partial.node.args[0]
            return node, self._home(node, event.scope)
        if self.origins.chosen(event):
            return event.node, event.scope
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            value = event.scope.module.values.get(node)
            if isinstance(value, Free) and len(value.scope.bindings.get(value.name, ())) == 1:
                value = value.scope.bindings[value.name][0]
            if isinstance(value, Attr) and isinstance(value.node, ast.Attribute):
                return value.node, event.scope  # Opt = nnx.Optimizer
        return node, event.scope

    def _home(self, node: ast.expr, scope: Scope) -> Scope:
        """Return the scope of the module that an expression stands in, or the one given if it is there."""
        if node in scope.module.values:
            return scope
        return next((m.scope for m in self.flow.project.modules if node in m.values), scope)

    def _inner_constructor(self, plan: Plan, init: FunctionFacts | None) -> None:
        """Make a positional ``wrt`` of ``super().__init__`` a keyword."""
        if init is None:
            return
        event = self.flow.classes.super_constructor(init)
        if event is None or event.value.starred:
            return
        position = self.flow.classes.own_arguments(init, event) + 2
        if len(event.value.args) == position + 1:
            plan.edit(init.scope, positional_to_keyword(init.scope.module.source, event.node, position, "wrt"))

    # -- the class's name -------------------------------------------------------------------------

    def _through_class(self, group: Group) -> list[tuple[ast.expr, Scope]]:
        """Return the names of the old class through which methods of the group's optimizers are called.

        Raises:
            CannotChange: if one of them gets the gradients by their name, which the compatible class does not know.
        """
        nodes = [(one.node.func, one.scope) for one in group.unbound]
        for method in (method for cls in group.subclasses for method in cls.methods.values()):
            for event in method.scope.module.calls_in(method.scope):
                callee, given = event.value.callee, event.value.args
                if not isinstance(callee, Attr) or not given or given[0] is not method.self_param:
                    continue
                if self._is_old(self.flow.here(callee.base, event.scope)):
                    if callee.name == "update" and len(given) == 1:
                        words = "its update method is called through its class"
                        raise CannotChange(Reason(words, event.scope, event.node))
                    nodes.append((event.node.func, event.scope))
        return [(node.value, scope) for node, scope in nodes if isinstance(node, ast.Attribute)]

    def _annotations(self, group: Group) -> list[tuple[ast.expr, Scope]]:
        """Return the names of the old class in annotations of the group's parameters, results and fields."""
        found = []
        for function in self.flow.project.functions():
            outer = function.scope.parent
            if outer is None:
                continue
            for name, annotation in function.annotations.items():
                nodes = list(self._names(annotation, outer))
                if nodes and self._belongs(
                    self.flow.here(function.params[name], function.scope) if name in function.params else None, group
                ):
                    found += [(n, outer) for n in nodes]
            returns = getattr(function.node, "returns", None)
            if returns is not None:
                nodes = list(self._names(returns, outer))
                if nodes and any(self._holds(self.flow.here(r, function.scope), group) for r in function.returns):
                    found += [(n, outer) for n in nodes]
        for cls in self.flow.project.classes():
            for name, annotation in cls.fields.items():
                nodes = list(self._names(annotation, cls.scope))
                instances = (
                    [self.flow.here(e.value, e.scope) for e in self.flow.sites.constructions(cls)] if nodes else []
                )
                if any(self._belongs(self.flow.with_value(i, Attr(i.value, name)), group) for i in instances):
                    found += [(n, cls.scope) for n in nodes]
        return found

    def _names(self, annotation: ast.expr, scope: Scope) -> list[ast.expr]:
        return [
            node
            for node in ast.walk(annotation)
            if isinstance(node, ast.Name | ast.Attribute)
            and self._is_old(self.flow.here(self.flow.classes.spelled(node, scope), scope))
        ]

    def _belongs(self, bound: Bound | None, group: Group) -> bool:
        return bound is not None and bool(self.origins.of(bound) & group.members)

    def _holds(self, bound: Bound, group: Group) -> bool:
        return bool(self.origins.contained(bound) & group.members)

    def _rename(self, plan: Plan, references: list[tuple[ast.expr, Scope]], group: Group) -> None:
        """Rename expressions of the old class: attributes in place, imported names through their import."""
        if "0.10" in self.targets:
            self._borrow(plan, references, group)
            return
        by_module: dict[tuple[ModuleFacts, str], list[tuple[ast.Name, Scope]]] = {}
        for node, scope in dict.fromkeys(references):
            given = scope.module.values.get(node)
            if isinstance(node, ast.Name) and isinstance(given, Param):
                node, scope = self._default(given, node, scope)
            source = scope.module.source
            if isinstance(node, ast.Attribute):
                if isinstance(self._resolved(scope.module.values[node.value], scope), ModuleRef):  # re-exported
                    spelling = spell(self.flow, scope, _NAME)
                    if spelling is None:
                        raise CannotChange(Reason(f"nnx.{_NAME} cannot be named there without a clash", scope, node))
                    plan.edit(scope, *spelling.edits, Edit(*source.span(node), spelling.text.encode()))
                    continue
                if not self._of_package(node, scope):
                    node, scope = self._definition(node, scope, group)
                    source = scope.module.source
                end = source.span(node)[1]
                plan.edit(scope, Edit(end - len(node.attr), end, _NAME.encode()))
            elif isinstance(node, ast.Name):
                by_module.setdefault((scope.module, node.id), []).append((node, scope))
            else:
                first = group.constructors[0] if group.constructors else None
                if first is not None:
                    raise CannotChange(_at(first, "its class is chosen by an expression"))
        for (module, name), uses in by_module.items():
            self._rename_imported(plan, module, name, uses, group)

    def _default(self, param: Param, node: ast.expr, scope: Scope) -> tuple[ast.expr, Scope]:
        """Return the default of a parameter that no call of the project fills.

        Raises:
            CannotChange: if there is a call that does, or no default.
        """
        function = param.function
        outer, arguments = function.scope.parent, function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip(reversed([a.arg for a in positional]), reversed(arguments.defaults), strict=False))
        defaults |= {
            a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
        }
        default = defaults.get(param.name)
        known = outer.module.values.get(default) if outer is not None and default is not None else None
        here = self.flow.resolve(self.flow.here(param, function.scope))
        given = self.origins.sources.of(here) - {here}
        if (
            default is None
            or outer is None
            or known is None
            or any(one.value != self._resolved(known, outer) for one in given)
        ):
            raise CannotChange(Reason(f"its class is the argument `{param.name}`", scope, node))
        if any(self._fills(param, caller) for caller in self.flow.sites.callers(function)):
            raise CannotChange(Reason(f"its class is the argument `{param.name}`", scope, node))
        return default, outer

    def _fills(self, param: Param, caller: CallEvent) -> bool:
        """Say whether a call may give a parameter something."""
        call, names = caller.value, list(param.function.params)
        bound = isinstance(call.callee, Attr) or param.function.name == "__init__"
        place = names.index(param.name) - (bound and param.function.self_param is not None)
        return call.starred or place < len(call.args) or any(name in {param.name, None} for name, _ in call.keywords)

    def _of_package(self, node: ast.Attribute, scope: Scope) -> bool:
        """Say whether an attribute is the class by its own name, taken from the package outside the project."""
        base = scope.module.values.get(node.value)
        return node.attr == "Optimizer" and base is not None and isinstance(self._resolved(base, scope), Ref)

    def _resolved(self, value: Value, scope: Scope) -> Value:
        return self.flow.resolve(self.flow.here(value, scope)).value

    def _definition(self, node: ast.Attribute, scope: Scope, group: Group) -> tuple[ast.Attribute, Scope]:
        """Return where an attribute of the project is set to the class, if nobody else sets or reads it.

        Raises:
            CannotChange: if it is set in several ways, or goes elsewhere from there.
        """
        name, project = node.attr, self.flow.project
        held = f"its class is held by the attribute `{name}`, "
        refused = CannotChange(Reason(f"{held}which is not set to it in one place", scope, node))
        set_to: list[tuple[Value, Scope]] = []
        for cls in project.classes():
            if name in cls.fields and cls.decorators:  # its constructor sets it as well
                raise refused
            set_to += [(value, cls.scope) for value in cls.scope.bindings.get(name, ())]
        called = {constructor.event.node.func for constructor in group.constructors} | {node}
        known = {"builtins.isinstance", "builtins.issubclass"}
        for call in project.calls():
            if self.flow.calls.callee_name(self.flow.here(call.value, call.scope)) in known:
                called |= set(call.node.args[1:])
        for event in project.attributes():
            if event.node.attr == name and not self._of_package(event.node, event.scope):
                if event.context == "store" and event.stored is not None:
                    set_to.append((event.stored, event.scope))
                elif event.context != "load" or event.node not in called:
                    raise CannotChange(Reason(f"{held}used elsewhere", event.scope, event.node))
        if len(set_to) != 1:
            raise refused
        value, where = set_to[0]
        if not isinstance(value, Attr) or not isinstance(value.node, ast.Attribute):
            raise refused
        if not self._of_package(value.node, where):
            raise refused
        return value.node, where

    def _borrow(self, plan: Plan, references: list[tuple[ast.expr, Scope]], group: Group) -> None:
        """Name the class by the compatibility module, where 0.10 has it as well."""
        for node, scope in dict.fromkeys(references):
            borrowed = borrow(self.flow.project, scope, _NAME)
            if borrowed is None or not isinstance(node, ast.Name | ast.Attribute):
                raise CannotChange(Reason(f"{_NAME} cannot be named there without a clash", scope, node))
            plan.edit(scope, Edit(*scope.module.source.span(node), borrowed.text.encode()))
            for path, edit in borrowed.edits:
                known = plan.edits.setdefault(path, [])
                known += [edit] if edit not in known else []

    def _rename_imported(
        self, plan: Plan, module: ModuleFacts, name: str, uses: list[tuple[ast.Name, Scope]], group: Group
    ) -> None:
        nodes = {node for node, _ in uses}
        statement, alias = _import_of(module, name)
        every = {n for n in module.source.of_type(ast.Name) if n.id == name}
        if statement is not None and alias is not None and every <= nodes:
            start = module.source.span(alias)[0]
            plan.edit(module.scope, Edit(start, start + len(alias.name), _NAME.encode()))
            if alias.asname:
                return
            new = _NAME
        elif statement is not None and _NAME not in module.scope.bindings:
            plan.edit(module.scope, extend(module.source, statement, _NAME))
            new = _NAME
        else:
            spelling = spell(self.flow, uses[0][1], _NAME)
            if spelling is None:
                raise CannotChange(Reason(f"nnx.{_NAME} cannot be named there without a clash", uses[0][1], uses[0][0]))
            plan.edit(module.scope, *spelling.edits)
            new = spelling.text
        for node, scope in uses:
            start, end = module.source.span(node)
            plan.edit(scope, Edit(start, end, new.encode()))


def _import_of(module: ModuleFacts, name: str) -> tuple[ast.ImportFrom | None, ast.alias | None]:
    """Return the import of the old class that binds a name."""
    for statement in module.imports:
        if (
            isinstance(statement, ast.ImportFrom)
            and (statement.module or "").startswith("flax")
            and not statement.level
        ):
            for alias in statement.names:
                if (alias.asname or alias.name) == name and alias.name == "Optimizer":
                    return statement, alias
    return None, None


def _at(constructor: Constructor, words: str) -> Reason:
    return Reason(words, constructor.event.scope, constructor.event.node)
