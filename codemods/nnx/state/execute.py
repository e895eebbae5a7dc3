"""Following a program in its order of execution, to see when shared Variables change and who reads them afterwards.

Calls of the project's functions are entered, loops run twice, branches apart; what is not known counts as harmless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.flow import Callee
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.state.heap import ANY, Change, Heap, Share, Thing
from codemods.nnx.state.library import Library
from codemods.nnx.values import Call, Class

_DEPTH = 12  # how many calls deep a program is followed
_STEPS = 40_000  # how many expressions one entry may evaluate


class Exhausted(Exception):
    """A program is too large to be followed."""


@dataclass(eq=False)
class Activation:
    """A function that is running.

    Attributes:
        results: what it may return.
        changes: the changes seen at its returns.
    """

    scope: Scope
    receiver: set[Thing] = field(default_factory=set)
    results: set[Thing] = field(default_factory=set)
    changes: frozenset[Change] = frozenset()


class Execution:
    """One run of a program over abstract objects.

    Attributes:
        heap: the shares and changes so far.
        reads: changes that were read, with the code that read them first.
        entered: functions whose body was run.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.heap = Heap()
        self.reads: dict[Change, ast.AST] = {}
        self.entered: set[FunctionFacts] = set()
        self.names: dict[tuple[Scope, str], set[Thing]] = {}
        self.stack: list[Activation] = []
        self.branches = 0
        self.steps = 0
        self.library = Library(self)

    # -- entries ----------------------------------------------------------------------------------

    def run(self, scope: Scope, body: Sequence[ast.stmt]) -> None:
        """Run the statements of a module."""
        self.steps = self.heap.visits = 0
        self.stack = [Activation(scope)]
        self.block(body)

    def run_function(self, function: FunctionFacts, receiver: set[Thing]) -> None:
        """Run a function that nothing in the project calls, with arguments of which nothing is known."""
        self.steps = self.heap.visits = 0
        self.stack = []
        arguments = {name: {self.argument(function, name)} for name in function.params}
        self.body(function, arguments, receiver)

    def argument(self, function: FunctionFacts, name: str) -> Thing:
        """Return an object that a parameter may get, of the kind that its annotation tells."""
        kinds = self.context.kinds.of(self.flow.here(function.params[name], function.scope))
        cls = self.flow.class_of(self.flow.here(function.params[name], function.scope))
        return Thing(kind=next(iter(kinds)) if len(kinds) == 1 else None, cls=cls)

    # -- statements -------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """The scope that is running."""
        return self.stack[-1].scope

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Run statements; say whether control never reaches their end."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; say whether it leaves the function."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            return False
        if isinstance(node, ast.Return | ast.Raise):
            if isinstance(node, ast.Return) and node.value is not None:
                self.stack[-1].results |= self.value(node.value)
            self.stack[-1].changes |= self.heap.changes
            return True
        if isinstance(node, ast.Assign):
            things = self.value(node.value)
            for target in node.targets:
                self.store(target, things)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.store(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.augmented(node)
        elif isinstance(node, ast.If):
            self.value(node.test)
            return self.ways(node.body, node.orelse)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self.loop(node)
        elif isinstance(node, ast.Try):
            left = self.block([*node.body, *node.orelse])
            for handler in node.handlers:
                self.ways(handler.body, [])
            return self.block(node.finalbody) or (left and not node.handlers)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                things = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.store(item.optional_vars, things)
            return self.block(node.body)
        elif isinstance(node, ast.Match):
            self.value(node.subject)
            for case in node.cases:
                self.ways(case.body, [])
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.value(child)
        return False

    def ways(self, first: list[ast.stmt], second: list[ast.stmt]) -> bool:
        """Run two branches apart and join what they leave."""
        names, changes = dict(self.names), self.heap.changes
        self.branches += 1
        one_left = self.block(first)
        one = (self.names, self.heap.changes)
        self.names, self.heap.changes = names, changes
        two_left = self.block(second)
        self.branches -= 1
        if two_left and not one_left:
            self.names, self.heap.changes = one
        elif not one_left:
            for key, things in one[0].items():
                self.names[key] = self.names.get(key, set()) | things
            self.heap.changes |= one[1]
        return one_left and two_left

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        iterated = set() if isinstance(node, ast.While) else self.value(node.iter)
        for _ in range(2):
            if isinstance(node, ast.While):
                self.value(node.test)
            else:
                self.store(node.target, self.elements(iterated))
            if self.block(node.body):
                break
        self.block(node.orelse)

    def augmented(self, node: ast.AugAssign) -> None:
        self.read(self.value(node.value), node)
        target = node.target
        if isinstance(target, ast.Name):
            self.mutate({t for t in self.value(target) if t.kind is Kind.VARIABLE}, node)
        else:
            base = self.value(target.value)
            self.read(base, node)
            if isinstance(target, ast.Attribute) and target.attr not in {"value", "raw_value"}:
                base = self.attribute(base, target.attr)
            self.mutate(base, node)

    def store(self, target: ast.expr, things: set[Thing]) -> None:
        """Bind a target to objects."""
        if isinstance(target, ast.Name):
            self.names[self.variable(target.id)] = things
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):
                    self.store(part.value, self.elements(things))
                else:
                    self.store(part, self.item(things, str(index)))
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if target.attr in {"value", "raw_value"}:
                self.mutate(base, target)
            else:
                self.put(base, target.attr, things)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            base = self.value(target.value)
            self.put(base, self.key(target.slice), things)
            self.mutate({t for t in base if self.is_variable(t)}, target)

    def is_variable(self, thing: Thing) -> bool:
        """Say whether an item assignment to an object changes a Variable and no container."""
        if thing.kind is not None:
            return thing.kind is Kind.VARIABLE
        owner = thing.parent
        while owner is not None and owner.kind is None and owner.parent is not None:
            owner = owner.parent
        return owner is not None and owner.kind is Kind.MODULE

    def put(self, base: set[Thing], key: str, things: set[Thing]) -> None:
        """Set a field; it is replaced only where it is sure which object's it is and that it happens."""
        for thing in base:
            if len(base) == 1 and not self.branches and key != ANY:
                thing.fields[key] = set(things)
            else:
                thing.fields.setdefault(key, set()).update(things)

    def variable(self, name: str) -> tuple[Scope, str]:
        """Return the variable that a name means where it is bound."""
        scope = self.scope
        if name in scope.globals:
            outer = scope.parent
            while outer is not None and outer.parent is not None and name not in outer.bindings:
                outer = outer.parent
            scope = outer or scope
        return scope, name

    # -- expressions ------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> set[Thing]:
        """Evaluate an expression; values that are no objects give nothing."""
        self.steps += 1
        if self.steps + self.heap.visits // 5 > _STEPS:
            raise Exhausted
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            if node.attr in {"value", "raw_value"}:
                self.read(base, node)
                return set()
            return self.attribute(base, node.attr)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Subscript):
            self.value(node.slice)
            return self.item(self.value(node.value), self.key(node.slice))
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            whole = Thing(display=True)
            for index, element in enumerate(node.elts):
                if isinstance(element, ast.Starred):
                    whole.fields.setdefault(ANY, set()).update(self.elements(self.value(element.value)))
                else:
                    whole.fields[str(index)] = self.value(element)
            return {whole}
        if isinstance(node, ast.Dict):
            whole = Thing(display=True)
            for key, element in zip(node.keys, node.values, strict=True):
                things = self.value(element)
                if key is None:
                    whole.fields.setdefault(ANY, set()).update(self.elements(things))
                else:
                    whole.fields.setdefault(self.key(key), set()).update(things)
            return {whole}
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return self.value(node.body) | self.value(node.orelse)
        if isinstance(node, ast.BoolOp):
            return {thing for part in node.values for thing in self.value(part)}
        if isinstance(node, ast.NamedExpr):
            things = self.value(node.value)
            self.store(node.target, things)
            return things
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self.comprehension(node)
        if isinstance(node, ast.Lambda | ast.Constant):
            return set()
        if isinstance(node, ast.Compare):
            self.compared(node)
            return set()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            things = self.value(node.value) if node.value is not None else set()
            self.stack[-1].results |= {Thing(fields={ANY: things})} if isinstance(node, ast.Yield) else things
            return set()
        if isinstance(node, ast.Await | ast.Starred):
            return self.value(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.value(node.left) | self.value(node.right)  # states are joined with `|`
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.read(self.value(child), child)
        return set()

    def compared(self, node: ast.Compare) -> None:
        operands = [self.value(operand) for operand in (node.left, *node.comparators)]
        for operator, one, two in zip(node.ops, operands, operands[1:], strict=False):
            if not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn):
                self.read(one | two, node)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> set[Thing]:
        element: set[Thing] = set()
        for _ in range(2):  # as every loop: what one round keeps, the next may change
            for generator in node.generators:
                self.store(generator.target, self.elements(self.value(generator.iter)))
                for condition in generator.ifs:
                    self.value(condition)
            if isinstance(node, ast.DictComp):
                self.value(node.key)
                element |= self.value(node.value)
            else:
                element |= self.value(node.elt)
        return {Thing(fields={ANY: element})}

    def name(self, name: str) -> set[Thing]:
        scope: Scope | None = self.scope
        while scope is not None:
            if (scope, name) in self.names:
                return self.names[scope, name]
            scope = scope.parent
        return set()

    def key(self, node: ast.expr) -> str:
        """Return the name of the field that an index means."""
        return str(node.value) if isinstance(node, ast.Constant) else ANY

    def attribute(self, things: set[Thing], name: str) -> set[Thing]:
        """Return what an attribute of objects holds."""
        return {found for thing in things for found in self._taken(thing, name)}

    def item(self, things: set[Thing], key: str) -> set[Thing]:
        """Return what objects hold under a key."""
        if key == ANY:
            return self.elements(things)
        found: set[Thing] = set()
        for thing in things:
            if ANY in thing.fields:
                found |= thing.fields[ANY]
            if key in thing.fields or not (thing.display or ANY in thing.fields):
                found |= self._taken(thing, key)
        return found

    def elements(self, things: set[Thing]) -> set[Thing]:
        """Return everything that containers hold; of an object that is no known container a part stands for all."""
        found: set[Thing] = set()
        for thing in things:
            found |= {value for values in thing.fields.values() for value in values}
            if not thing.fields or (thing.kind in {Kind.STATE, Kind.MODULE} and ANY not in thing.fields):
                found |= self._taken(thing, ANY)
        return found

    def _taken(self, thing: Thing, name: str) -> set[Thing]:
        """Return a field, or a new object for a part of which nothing is known."""
        if name in thing.fields:
            return thing.fields[name]
        if thing.cls is not None:
            method = self.flow.method(thing.cls, name)
            if method is not None:
                return self.body(method, {}, {thing}) if method.is_property else set()
        part = Thing(parent=thing)
        thing.fields[name] = {part}
        return {part}

    # -- effects ----------------------------------------------------------------------------------

    def read(self, things: set[Thing], node: ast.AST) -> None:
        """Note that code looks at the Variables of objects."""
        for change in self.heap.unasked(things):
            self.reads.setdefault(change, node)

    def mutate(self, things: set[Thing], node: ast.AST, others_only: bool = False) -> None:
        """Note that code changes Variables of objects."""
        if things:
            self.heap.mutate(things, node, others_only)

    # -- calls ------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> set[Thing]:
        """Run a call: of Flax, of the project or of something unknown."""
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else self.value(node.func)
        args = [self.value(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        keywords = {k.arg or "**": self.value(k.value) for k in node.keywords}
        value = self.scope.module.values.get(node)
        if not isinstance(value, Call):
            return set()
        bound = self.flow.here(value, self.scope)
        name = self.flow.callee_name(bound)
        if name:
            return self.library.call(name, node, args, keywords)
        callee = self.flow.follow(bound, value.callee)
        if isinstance(callee.value, Class):
            return {self.construct(callee.value.facts, args, keywords)}
        method = node.func.attr if isinstance(node.func, ast.Attribute) else "__call__"
        found: set[Thing] = set()
        known = False
        for thing in receiver:
            inner = self.flow.method(thing.cls, method) if thing.cls is not None else None
            if inner is not None and method not in thing.fields:
                known = True
                found |= self.enter(inner, args, keywords, {thing} if inner.binding == "instance" else set())
            elif thing.partial is not None and method == "__call__":
                known = True
                for target in self.flow.callables(thing.partial[0]):
                    found |= self.enter(target.function, [*thing.partial[1], *args], keywords, set())
        if known:
            return found
        callees = self.flow.callables(callee)
        if callees:
            return self.entered_by(bound, callees, node, receiver, args, keywords)
        return self.library.method(method, node, receiver, args, keywords)

    def entered_by(
        self,
        call: Bound,
        callees: list[Callee],
        node: ast.Call,
        receiver: set[Thing],
        args: list[set[Thing]],
        keywords: dict[str, set[Thing]],
    ) -> set[Thing]:
        """Run the project's functions that a call reaches, through the transforms around them."""
        wrappers = set(self.wrappers(call))
        if any(name.startswith("jax.") for name in wrappers):
            for things in (*args, *keywords.values()):
                self.read(things, node)
            return {Thing()}  # JAX hands copies in and out
        if any(name.startswith("flax.nnx.") for name in wrappers):
            args = [self.handed(a, things) for a, things in zip(node.args, args, strict=True)]
            keywords = {k.arg or "**": self.handed(k.value, keywords[k.arg or "**"]) for k in node.keywords}
        found: set[Thing] = set()
        for callee in callees[:4]:
            mine: set[Thing] = set()
            if callee.function.binding == "instance" and callee.receiver is not None:
                mine = self.stack[-1].receiver if self._super(node) else receiver
            found |= self.enter(callee.function, args, keywords, mine)
        if wrappers & GRADIENTS:
            with_value = any(name.endswith("value_and_grad") for name in wrappers)
            grads = {Thing(kind=Kind.GRADIENT, steps=set(args[0]) if args else set())}
            if with_value:
                return {Thing(fields={"0": found, "1": grads})}
            return {Thing(fields={"0": grads, "1": self.item(found, "1")})} if found else grads
        return found

    def handed(self, node: ast.expr, things: set[Thing]) -> set[Thing]:
        """Return what a function gets that a transform of NNX runs: up to 0.10 a copy of a state."""
        found: set[Thing] = set()
        for thing in things:
            if thing.kind is Kind.STATE:
                inner = self.library.copied(thing)
                self.heap.shares.append(Share(node, self.scope, False, {thing}, {inner}, handed=True))
                found.add(inner)
            else:
                found.add(thing)
        return found

    def _super(self, node: ast.Call) -> bool:
        func = node.func
        return (
            isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Call)
            and isinstance(func.value.func, ast.Name)
            and func.value.func.id == "super"
        )

    def wrappers(self, call: Bound) -> Iterator[str]:
        """Yield the names of the transforms around the function that a call reaches."""
        assert isinstance(call.value, Call)
        callee = self.flow.follow(call, call.value.callee)
        for _ in range(12):
            value = callee.value
            if not isinstance(value, Call) or not value.args:
                return
            yield self.flow.wrapper_name(callee, value)
            callee = self.flow.follow(callee, value.args[0])

    def construct(self, cls: ClassFacts, args: list[set[Thing]], keywords: dict[str, set[Thing]]) -> Thing:
        """Make an instance of a class of the project."""
        kinds = self.context.kinds.class_kinds(Bound(Class(cls)))
        made = Thing(kind=next(iter(kinds)) if len(kinds) == 1 else None, cls=cls)
        init = self.flow.method(cls, "__init__")
        if init is not None:
            self.enter(init, args, keywords, {made})
        else:
            for name, things in zip(self.flow.dataclass_fields(cls), args, strict=False):
                made.fields[name] = things
            made.fields.update({name: things for name, things in keywords.items() if name != "**"})
        if made.kind is Kind.OPTIMIZER:
            made.steps |= {thing for things in args[:1] for thing in things}
        return made

    def enter(
        self, function: FunctionFacts, args: list[set[Thing]], keywords: dict[str, set[Thing]], receiver: set[Thing]
    ) -> set[Thing]:
        """Run a function with arguments."""
        names = list(function.params)
        if receiver and function.binding == "instance":
            names = names[1:]
        bound = dict(zip(names, args, strict=False))
        bound.update({name: things for name, things in keywords.items() if name in function.params})
        extra = args[len(names) :]
        if function.vararg and extra:
            bound[function.vararg] = {Thing(fields={str(i): things for i, things in enumerate(extra)})}
        return self.body(function, bound, receiver)

    def body(self, function: FunctionFacts, arguments: dict[str, set[Thing]], receiver: set[Thing]) -> set[Thing]:
        """Run the body of a function."""
        running = {activation.scope for activation in self.stack}
        if len(self.stack) > _DEPTH or function.scope in running:
            return set()
        self.entered.add(function)
        scope = function.scope
        for name in scope.bindings:
            self.names.pop((scope, name), None)
        first = function.self_param
        if receiver and first is not None:
            arguments = {**arguments, first.name: receiver}
        for name, things in arguments.items():
            self.names[scope, name] = things
        self.stack.append(Activation(scope, receiver))
        branches, self.branches = self.branches, self.branches
        node = function.node
        if isinstance(node, ast.Lambda):
            self.stack[-1].results |= self.value(node.body)
        else:
            self.block(node.body)
        self.branches = branches
        done = self.stack.pop()
        self.heap.changes |= done.changes
        return done.results
