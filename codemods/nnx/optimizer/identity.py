"""Proving that an expression is the very model that an optimizer was made for.

Flax 0.10 stepped the object that the constructor got. Only an expression that is that object, on every way to the
place, may be handed to ``update`` in its stead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.facts import Env, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.optimizer.origins import Constructor, Origins
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Comprehension,
    Const,
    Either,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

_LEVELS = 8  # how many callers up a proof may go
_WAYS = 200  # how many call chains it may try


class Identity:
    """Proofs of identity between models and the optimizers made for them.

    Attributes:
        compiled: says whether a function runs in compiled code.
        taken: names that plans of any group introduce.
    """

    def __init__(self, origins: Origins, compiled: Callable[[FunctionFacts], bool] = lambda _: False) -> None:
        self.origins = origins
        self.compiled = compiled
        self.flow: Flow = origins.flow
        self.taken: dict[FunctionFacts | ModuleFacts, set[str]] = {}
        self._ways = 0
        self._presuming = False

    def model_argument(self, constructor: Constructor, at: Bound) -> Bound | None:
        """Return the model that a constructor got, in the activation of the call."""
        call = constructor.event.value
        if constructor.cls is not None:
            return self._subclass_model(constructor, at)
        arguments = [*(constructor.partial.args[1:] if constructor.partial else ()), *call.args]
        keywords = [*(constructor.partial.keywords if constructor.partial else ()), *call.keywords]
        named = next((value for key, value in keywords if key == "model"), None)
        model = arguments[0] if arguments else named
        return self.flow.with_value(at, model) if model is not None else None

    def _subclass_model(self, constructor: Constructor, at: Bound) -> Bound | None:
        """Return the model that a subclass hands on to the constructor of Flax."""
        call = constructor.event.value
        assert constructor.cls is not None
        init = self.flow.classes.method(constructor.cls, "__init__")
        if init is None:
            model = call.argument(0, "model")
            return self.flow.with_value(at, model) if model is not None else None
        event = self.flow.classes.super_constructor(init)
        if event is None:
            return None
        handed = event.value.argument(self.flow.classes.own_arguments(init, event), "model")
        frames = [f for f in self.flow.sites.entries(init) if f.site is call]
        return Bound(handed, frames[0]) if handed is not None and frames else None

    def proven(self, model: Bound, optimizer: Bound) -> bool:
        """Say whether ``model`` is the model of ``optimizer`` on every way to them."""
        self._ways = 0
        return self._proven(model, optimizer, 0)

    def presumed(self, model: Bound, optimizer: Bound) -> bool:
        """Say whether nothing but calls from outside the project could make ``model`` another one.

        Functions that nothing in the project calls are taken to get an optimizer together with its model. That is
        to be asked only of what gradients for the optimizer were taken of.
        """
        self._ways, self._presuming = 0, True
        try:
            if any(isinstance(o, Constructor) for o in self.origins.of(optimizer)):
                return self._proven(model, optimizer, 0)
            return self._together(self.flow.resolve(model), self.flow.resolve(optimizer))
        finally:
            self._presuming = False

    def _together(self, model: Bound, optimizer: Bound) -> bool:
        """Say whether two values come into a function by its parameters, or out of one object."""
        flow = self.flow
        if isinstance(model.value, Part):  # a copy, unless one call made it of both
            mine, its = model.value, optimizer.value
            return (
                isinstance(its, Part)
                and mine.site is its.site
                and self._together(flow.resolve(mine.of), flow.resolve(its.of))
            )
        if isinstance(model.value, Call) or isinstance(optimizer.value, Call):  # such as merged from its own state
            return False
        one, two = flow.sites.open_param(model), flow.sites.open_param(optimizer)
        if one is not None and two is not None:
            return one.function is two.function and not self._replaced(one.function)
        outer, inner = _root(model.value), _root(optimizer.value)
        return outer is inner and outer is not model.value

    def _replaced(self, function: FunctionFacts) -> bool:
        """Say whether a decorator of the project stands before a function, which may give it something else."""
        scope = function.scope.parent
        assert scope is not None  # of a definition
        for decorator in function.decorators:
            found = self.flow.resolve(self.flow.here(decorator, scope))
            if isinstance(found.value, Call):
                found = self.flow.follow(found, found.value.callee)
            if isinstance(found.value, Function | Class):
                return True
        return False

    def _proven(self, model: Bound, optimizer: Bound, level: int) -> bool:
        self._ways += 1
        if self._ways > _WAYS:
            return False
        answer = self._is_model(model, optimizer, 0)
        if isinstance(answer, bool):
            return answer
        if level >= _LEVELS:
            return False
        flow = self.flow
        function = answer.function
        frames = flow.sites.settlements(answer)
        if not frames:
            return self._presuming and self._together(flow.resolve(model), flow.resolve(optimizer))
        for frame in frames:
            with flow.assuming(function, frame):
                if not self._proven(model, optimizer, level + 1):
                    return False
        return True

    def _is_model(self, model: Bound, optimizer: Bound, depth: int) -> bool | Param:
        """Answer yes or no, or name the parameter whose argument must be known first."""
        flow = self.flow
        if depth > 20:
            return False
        optimizer = flow.resolve(optimizer)
        value = optimizer.value
        constructor = self.origins.constructors.get(value)
        if constructor is not None:
            argument = self.model_argument(constructor, optimizer)
            if argument is None:
                return False
            if flow.identity.same(model, argument):
                return True
            return flow.sites.open_param(flow.resolve(model)) or flow.sites.open_param(flow.resolve(argument)) or False
        model = flow.resolve(model)
        mine = model.value
        if isinstance(value, Part):
            if isinstance(mine, Part) and mine.site is value.site and model.frame is optimizer.frame:
                return self._is_model(mine.of, value.of, depth + 1)
            return flow.sites.open_param(model) or flow.sites.open_param(value.of) or False
        pairs = self._pairs(model, optimizer)
        if pairs is None:
            return flow.sites.open_param(optimizer) or flow.sites.open_param(model) or False
        for one, two in pairs:
            answer = self._is_model(one, two, depth + 1)
            if answer is not True:
                return answer
        return True

    def _pairs(self, model: Bound, optimizer: Bound) -> list[tuple[Bound, Bound]] | None:
        """Reduce a question about a choice or container to questions about what it is made of."""
        flow, value, mine = self.flow, optimizer.value, model.value
        if isinstance(value, Choice):
            if (
                isinstance(mine, Choice)
                and mine.node is value.node
                and len(mine.options) == len(value.options)
                and not isinstance(value, Either)
            ):
                models: list[Value] = list(mine.options)
            else:
                models = [mine] * len(value.options)
            return [
                (flow.with_value(model, m), flow.with_value(optimizer, o))
                for m, o in zip(models, value.options, strict=True)
                if not (isinstance(o, Const) and o.value is None)
            ]
        if isinstance(value, Loop) and value.again is not None:
            if isinstance(mine, Loop) and mine.node is value.node and mine.again is not None:
                before, again = flow.with_value(model, mine.before), flow.older(model, mine.again, mine.node)
            else:
                before = again = model
            pairs = [(again, flow.older(optimizer, value.again, value.node))]
            if not (isinstance(value.before, Const) and value.before.value is None):
                pairs.append((before, flow.with_value(optimizer, value.before)))
            return pairs if value.again is not value else pairs[1:]
        if isinstance(value, Indexed | Round) and type(mine) is type(value):
            return self._elementwise(model, optimizer)
        return None

    def _elementwise(self, model: Bound, optimizer: Bound) -> list[tuple[Bound, Bound]] | None:
        """Compare elements of two containers that are reached by the same index or in the same round."""
        flow, one, two = self.flow, model.value, optimizer.value
        assert isinstance(one, Indexed | Round)
        assert isinstance(two, Indexed | Round)
        if isinstance(one, Indexed) and isinstance(two, Indexed):
            if not flow.identity.same(one.index, two.index):
                return None
        elif not (
            isinstance(one, Round) and isinstance(two, Round) and one.loop is two.loop and one.frame is two.frame
        ):
            return None
        left = flow.resolve(flow.with_value(model, one.base))
        right = flow.resolve(flow.with_value(optimizer, two.base))
        if not (flow.identity.steady(left) and flow.identity.steady(right)):
            return None
        if isinstance(left.value, Mapping) and isinstance(right.value, Mapping):
            return self._by_key(left, right)
        if isinstance(left.value, Sequence) and isinstance(right.value, Sequence):
            a, b = left.value.items, right.value.items
            if len(a) == len(b):
                return [(flow.with_value(left, x), flow.with_value(right, y)) for x, y in zip(a, b, strict=True)]
        if isinstance(right.value, Comprehension):
            return self._comprehended(left, right)
        return None

    def _by_key(self, left: Bound, right: Bound) -> list[tuple[Bound, Bound]] | None:
        assert isinstance(left.value, Mapping)
        assert isinstance(right.value, Mapping)
        models = {k.value: v for k, v in left.value.items if isinstance(k, Const)}
        pairs = []
        for key, value in right.value.items:
            if not isinstance(key, Const) or key.value not in models:
                return None
            pairs.append((self.flow.with_value(left, models[key.value]), self.flow.with_value(right, value)))
        return pairs

    def _comprehended(self, left: Bound, right: Bound) -> list[tuple[Bound, Bound]] | None:
        """``opts = [nnx.Optimizer(m, tx) for m in models]``: each belongs to the model of the same place."""
        flow, made = self.flow, right.value
        assert isinstance(made, Comprehension)
        element = flow.resolve(flow.with_value(right, made.element))
        constructor = self.origins.constructors.get(element.value)
        argument = self.model_argument(constructor, element) if constructor is not None else None
        if argument is None:
            return None
        argument = flow.resolve(argument)
        source = argument.value
        if isinstance(source, Round):
            matching = source.loop is made.loop
        elif isinstance(source, Indexed) and made.key is not None:
            matching = isinstance(source.index.value, Round)
            matching = matching and flow.identity.same(source.index, flow.with_value(right, made.key))
        else:
            return None
        if matching and flow.identity.same(flow.with_value(argument, source.base), left):
            return []
        return None


def _root(value: Value) -> Value:
    """Return the value that an attribute or element is taken of in the end."""
    while isinstance(value, Attr | Item | Indexed):
        value = value.base
    return value


def evaluate(node: ast.expr, env: Env, scope: Scope) -> Value | None:
    """Return the value of a name, attribute or subscript path in an environment; None for anything else."""
    if isinstance(node, ast.Name):
        if node.id in env:
            return Free(scope, node.id) if node.id in scope.remote else env[node.id]
        return visible(scope, node.id)
    if isinstance(node, ast.Attribute):
        base = evaluate(node.value, env, scope)
        return Attr(base, node.attr) if base is not None else None
    if isinstance(node, ast.Subscript):
        base = evaluate(node.value, env, scope)
        if isinstance(node.slice, ast.Constant):
            index: Value | None = Const(node.slice.value)
        else:
            index = evaluate(node.slice, env, scope)
        return Item(base, index) if base is not None and index is not None else None
    return None


def visible(scope: Scope, name: str) -> Value | None:
    """Return the value of a name of an enclosing scope; None if there is none."""
    outer = scope.parent
    while outer is not None:
        if outer.owner is None and name in outer.bindings:
            return Free(outer, name)
        outer = outer.parent
    return None


class Spellings:
    """Expressions by which a place could name the model of an optimizer."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.flow = identity.flow

    def at(self, optimizer: ast.expr, value: Value, scope: Scope, env: Env, hints: list[ast.expr]) -> str | None:
        """Return an expression that is the optimizer's model, best first; None if none is proven.

        Args:
            optimizer: the expression of the optimizer.
            value: its value.
            scope: the scope of the place.
            env: the names that are known there.
            hints: expressions that are likely, such as the argument of the gradient call.
        """
        target = self.flow.here(value, scope)
        tried: set[str] = set()
        for text, candidate in self.candidates(optimizer, value, scope, env, hints):
            if text not in tried:
                tried.add(text)
                if self.identity.proven(self.flow.here(candidate, scope), target):
                    return text
        return None

    def presumed(
        self, optimizer: ast.expr, value: Value, scope: Scope, env: Env, hints: list[ast.expr], taken: Bound | None
    ) -> str | None:
        """Return an expression that gradients for the optimizer were taken of, if it is presumably its model.

        Args:
            optimizer: the expression of the optimizer.
            value: its value.
            scope: the scope of the place.
            env: the names that are known there.
            hints: the argument of the gradient call, if that stands in the same function.
            taken: the value that the gradients were taken of.
        """
        target = self.flow.here(value, scope)
        for hint in hints:
            found = evaluate(hint, env, scope)
            if found is None or self._its_own(self.flow.here(found, scope), target):
                continue
            if self.identity.presumed(self.flow.here(found, scope), target):
                return ast.unparse(hint)
        if hints or taken is None or self._its_own(taken, target):
            return None
        for text, candidate in (*self._paths(taken, scope, env), *self.candidates(optimizer, value, scope, env, [])):
            bound = self.flow.here(candidate, scope)
            if self.flow.identity.same(bound, taken) and self.identity.presumed(bound, target):
                return text
        return None

    def _its_own(self, model: Bound, optimizer: Bound) -> bool:
        """Say whether a model is read of its optimizer, which tells of none since Flax 0.11."""
        read = self.flow.resolve(model)
        return (
            isinstance(read.value, Attr)
            and read.value.name == "model"
            and self.flow.identity.same(self.flow.with_value(read, read.value.base), self.flow.resolve(optimizer))
        )

    def _paths(self, wanted: Bound, scope: Scope, env: Env) -> Iterator[tuple[str, Value]]:
        """Yield expressions that take an attribute of a name as a value does."""
        path: list[str] = []
        base = wanted.value
        while isinstance(base, Attr):
            path.insert(0, base.name)
            base = base.base
        root = Bound(base, wanted.frame, wanted.stale)
        for name, value in self._names(scope, env, from_outside=False):
            if path and self.flow.identity.same(self.flow.here(value, scope), root):
                for attribute in path:
                    value = Attr(value, attribute)
                yield ".".join((name, *path)), value

    def candidates(
        self, optimizer: ast.expr, value: Value, scope: Scope, env: Env, hints: list[ast.expr]
    ) -> Iterator[tuple[str, Value]]:
        """Yield expressions with their values, likely ones first."""
        for hint in hints:
            found = evaluate(hint, env, scope)
            if found is not None:
                yield ast.unparse(hint), found
        origins = self.identity.origins.of(self.flow.here(value, scope))
        outer = self._from_outside(optimizer, env)
        for origin in origins:
            if isinstance(origin, Constructor) and origin.event.scope is scope and origin.event.node.args:
                node = origin.event.node.args[0]
                found = evaluate(node, env, scope)
                if found is not None:
                    yield ast.unparse(node), found
        if isinstance(optimizer, ast.Attribute):
            base = evaluate(optimizer.value, env, scope)
            if base is not None:
                for name in self.identity.origins.fields(self.flow.resolve(self.flow.here(base, scope))):
                    if name != optimizer.attr:
                        yield f"{ast.unparse(optimizer.value)}.{name}", Attr(base, name)
        if isinstance(optimizer, ast.Subscript):
            index = optimizer.slice
            key = Const(index.value) if isinstance(index, ast.Constant) else evaluate(index, env, scope)
            if key is not None:
                for name, container in self._names(scope, env, outer):
                    yield f"{name}[{ast.unparse(index)}]", Item(container, key)
        names = [
            (name, held) for name, held in self._names(scope, env, outer) if not self._closed_over(held, value, scope)
        ]
        names.sort(key=lambda pair: "model" not in pair[0])
        yield from names
        for name, holder in names:
            instance = self.flow.resolve(self.flow.here(holder, scope))
            for field in self.identity.origins.fields(instance):
                yield f"{name}.{field}", Attr(holder, field)

    def _closed_over(self, held: Value, optimizer: Value, scope: Scope) -> bool:
        """Say whether compiled code sees an object from outside, unlike its optimizer, which it gets as an argument.

        What a method reads of ``self`` is a constant of the compiled code, of which nothing may be changed there,
        unless ``self`` is a module.
        """
        bound = self.flow.resolve(self.flow.here(held, scope))
        me, root = bound.value, _root(self.flow.resolve(self.flow.here(optimizer, scope)).value)
        if not isinstance(me, Param) or me is not me.function.self_param or me.function.owner is None or root is me:
            return False
        if any(base.startswith("flax.nnx.") for base in self.flow.classes.mro(me.function.owner)[1]):
            return False
        return isinstance(root, Param) and self.identity.compiled(me.function)

    def _from_outside(self, optimizer: ast.expr, env: Env) -> bool:
        """Say whether an optimizer is a variable of an enclosing scope, so that its model may be one too."""
        root = optimizer
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        return isinstance(root, ast.Name) and root.id not in env

    def _names(self, scope: Scope, env: Env, from_outside: bool) -> Iterator[tuple[str, Value]]:
        for name, value in env.items():
            if self._object(value):
                yield name, Free(scope, name) if name in scope.remote else value
        outer = scope.parent if from_outside else None
        seen = set(env)
        while outer is not None:
            if outer.owner is None:
                for name, bound in outer.bindings.items():
                    if name not in seen and self._object(bound[0]):
                        seen.add(name)
                        yield name, Free(outer, name)
            outer = outer.parent

    def _object(self, value: Value) -> bool:
        """Say whether a name could hold a module: not an import, a function, a class or a constant."""
        if isinstance(value, Attr) and isinstance(value.base, ModuleRef):
            return False
        return not isinstance(value, Function | Class | ModuleRef | Ref | Const | Unknown)
