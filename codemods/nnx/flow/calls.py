"""What a call reaches, the activations that it makes, and what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.flow.assumptions import Answers
from codemods.nnx.frames import Bound, Frame, Indexed, Part, both
from codemods.nnx.known import CALLS_BODY, COPIES, GRADIENTS, OPERANDS, REPLACING, TRANSPARENT, UNTRACED, Running
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Const,
    Function,
    Item,
    Loop,
    Mapping,
    Ref,
    Star,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow

# Where functions live that make arrays, numbers or texts.
_ARITHMETIC = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.", "numpy.", "optax.", "math.", "os.", "logging.")
# Foreign functions whose results are looked through; what others give is made by the call, whatever they get.
LOOKED_THROUGH = COPIES | {
    "builtins.dict", "builtins.getattr", "builtins.list", "builtins.tuple", "flax.nnx.List", "flax.nnx.data",
    "flax.nnx.eval_shape", "flax.nnx.merge", "jax.eval_shape", "typing.cast", "builtins.staticmethod",
}  # fmt: skip
_AS_GIVEN = frozenset({"flax.nnx.data", "flax.nnx.List", "builtins.staticmethod"})


class Callee:
    """A function that a call may reach.

    Attributes:
        closure: the activation that defined it.
        receiver: the instance or class a method is bound to.
        args: arguments bound before by ``functools.partial`` or ``nnx.cached_partial``.
        gradient: whether the call gives gradients of the function instead of its result.
        traced: whether the function is traced, so that it works on copies of its arguments.
    """

    __slots__ = ("args", "closure", "function", "gradient", "keywords", "receiver", "traced")

    def __init__(
        self,
        function: FunctionFacts,
        closure: Frame | None,
        receiver: Bound | None = None,
        args: tuple[Bound, ...] = (),
        keywords: tuple[tuple[str, Bound], ...] = (),
        gradient: bool = False,
        traced: bool = False,
    ) -> None:
        self.function = function
        self.closure = closure
        self.receiver = receiver
        self.args = args
        self.keywords = keywords
        self.gradient = gradient
        self.traced = traced

    @property
    def on_instance(self) -> bool:
        """Whether it is a method that is bound to an instance, which fills its first parameter."""
        return self.receiver is not None and self.function.binding == "instance"


class Calls:
    """Follows calls to the project's functions, also through transforms, partial applications and methods."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._names: Answers[CallEvent, str] = Answers(flow.assumptions)
        self._members: frozenset[str] | None = None

    def name(self, event: CallEvent) -> str:
        """Return the full name of the foreign function that a call calls; empty if it is not foreign.

        Many rules ask this of every call of a project, so that it is kept for them.
        """
        known = self._names.find(event)
        if known is not None:
            return known.value
        here = self.flow.here(event.value, event.scope)
        name, asked = self.flow.assumptions.noting(lambda: self.callee_name(here))
        if self.flow.questions.at_rest:
            self._names.keep(event, name, asked)
        return name

    def callee_name(self, bound: Bound) -> str:
        """Return the full name of the foreign function that a call calls; empty if it is not foreign."""
        if not isinstance(bound.value, Call):
            return ""
        callee = self.flow.follow(bound, bound.value.callee).value
        return callee.name if isinstance(callee, Ref) else ""

    def opaque(self, bound: Bound) -> bool:
        """Say whether a call gives something new in which its arguments are not found again: an array, a number."""
        name = self.callee_name(bound)
        return name.startswith(_ARITHMETIC) and name not in CALLS_BODY

    def makes(self, bound: Bound) -> bool:
        """Say whether a call makes an object there and then, whatever it is given."""
        assert isinstance(bound.value, Call)
        callee = self.flow.follow(bound, bound.value.callee).value
        return isinstance(callee, Class) or (isinstance(callee, Ref) and callee.name not in LOOKED_THROUGH)

    def result(self, bound: Bound, value: Call) -> Bound:
        callee = self.flow.follow(bound, value.callee)
        if isinstance(callee.value, Ref):
            name = callee.value.name
            return self._foreign(bound, value, name) if name in LOOKED_THROUGH else bound
        if isinstance(callee.value, Class):
            return bound
        if isinstance(callee.value, Attr) and callee.value.name in REPLACING and value.keywords:
            return bound
        if isinstance(callee.value, Attr) and callee.value.name == "_asdict" and not value.given:
            names = self.flow.fields.names(self.flow.follow(callee, callee.value.base))
            items = tuple((Const(name), Attr(callee.value.base, name)) for name in names)
            return Bound(Mapping(value.node, items), callee.frame, callee.stale) if items else bound
        if value.args and self.callee_name(callee) == "functools.wraps":
            return self.flow.follow(bound, value.args[0])
        callees = self.callables(callee)
        if len(callees) != 1 or callees[0].gradient:
            return bound
        returned = callees[0].function.returns
        if callees[0].function.generator or not returned:
            return bound
        frame = self.enter(callees[0], bound)
        results = [Bound(r, frame) for r in returned if not (isinstance(r, Const) and r.value is None)]
        if not results:
            return bound
        first = self.flow.resolve(results[0])
        if all(self.flow.identity.same(first, other) for other in results[1:]):
            first = self.returned(first, value)
            return Bound(first.value, first.frame, both(first.stale, bound.stale)) if bound.stale else first
        return bound

    def returned(self, result: Bound, site: Value) -> Bound:
        """Return what a result of a call is to the caller: an argument that a traced function returns is itself."""
        return (
            self.flow.resolve(result.value.of)
            if isinstance(result.value, Part) and result.value.site is site
            else result
        )

    def _foreign(self, bound: Bound, value: Call, name: str) -> Bound:
        """Resolve the result of a call of a foreign function that returns or copies its argument."""
        if name in COPIES and value.args:
            return self.flow.part(value, self.flow.follow(bound, value.args[0]), bound.frame)
        if name == "flax.nnx.merge" and value.args:
            whole = self.split_object(self.flow.follow(bound, value.args[0]))
            return self.flow.part(value, whole, bound.frame) if whole is not None else bound
        if name in {"builtins.getattr"} and len(value.args) >= 2:
            attribute = self.flow.follow(bound, value.args[1]).value
            if isinstance(attribute, Const) and isinstance(attribute.value, str):
                return self.flow.follow(bound, Attr(value.args[0], attribute.value))
        if name in _AS_GIVEN and len(value.args) == 1 and not value.keywords:
            return self.flow.follow(bound, value.args[0])
        if name in {"typing.cast"} and len(value.args) == 2:
            return self.flow.follow(bound, value.args[1])
        if name in {"builtins.list", "builtins.tuple", "builtins.dict"} and len(value.args) == 1 and not value.keywords:
            return self.flow.follow(bound, value.args[0])
        if name == "builtins.dict" and value.keywords and not value.args and not value.starred:
            items = tuple((Const(k), v) for k, v in value.keywords)
            return Bound(Mapping(value.node, items), bound.frame, bound.stale)
        if name in {"flax.nnx.eval_shape", "jax.eval_shape"}:
            for invoked, frame in self.invoked(bound):
                if len(invoked.function.returns) == 1:
                    return self.flow.resolve(Bound(invoked.function.returns[0], frame))
        return bound

    def split_object(self, graphdef: Bound, depth: int = 0) -> Bound | None:
        """Return the object that was split into a graph definition, given that definition."""
        value = graphdef.value
        if depth > 12:  # a recursive call hands on a copy of what it was given
            return None
        if isinstance(value, Part):
            return self.split_object(self.flow.resolve(value.of), depth + 1)
        if isinstance(value, Indexed | Item):
            base = self.flow.with_value(graphdef, value.base)
            index = value.index.value if isinstance(value, Item) and isinstance(value.index, Const) else None
            if isinstance(value, Indexed) and isinstance(value.index.value, Const):
                index = value.index.value.value
            if index == 0 and isinstance(base.value, Call) and self.callee_name(base) == "flax.nnx.split":
                return self.flow.follow(base, base.value.args[0]) if base.value.args else None
        if isinstance(value, Call) and self.callee_name(graphdef) == "flax.nnx.graphdef" and value.args:
            return self.flow.follow(graphdef, value.args[0])
        if isinstance(value, Loop):
            return self.split_object(self.flow.follow(graphdef, value.before), depth + 1)
        return None

    def callables(self, callee: Bound, depth: int = 0) -> list[Callee]:
        """Return the project's functions that calling a value may reach."""
        if depth > 12:
            return []
        callee = self.flow.resolve(callee)
        value = callee.value
        if isinstance(value, Function):
            return [Callee(value.facts, callee.frame)]
        if isinstance(value, Choice):
            return [c for o in value.options for c in self.callables(self.flow.with_value(callee, o), depth + 1)]
        if isinstance(value, Attr):
            return self._method(callee, value, depth)
        if isinstance(value, Call):
            return self._wrapped(callee, value, depth)
        cls = self.flow.classes.class_of(callee)
        if cls is not None:
            method = self.flow.classes.method(cls, "__call__")
            return [Callee(method, None, callee)] if method is not None else []
        return []

    def _method(self, callee: Bound, value: Attr, depth: int) -> list[Callee]:
        base = Bound(value.base, callee.frame, callee.stale)
        if isinstance(value.base, Class):
            method = self.flow.classes.method(value.base.facts, value.name)
            if method is None:
                return []
            return [Callee(method, None, base if method.binding == "class" else None)]
        owner = self._super(base)
        if owner is not None:
            cls, receiver = owner
            for parent in self.flow.classes.mro(cls)[0][1:]:
                if value.name in parent.methods:
                    return [Callee(parent.methods[value.name], None, receiver)]
            return []
        cls_of = self.flow.classes.class_of(base)
        method = self.flow.classes.method(cls_of, value.name) if cls_of is not None else None
        if method is None:
            return []
        if method.is_property:  # what it gives is called, and not the property
            read = self.flow.frame(method, None, (), {}, None, base)
            return [c for one in method.returns for c in self.callables(Bound(one, read, base.stale), depth + 4)]
        return [Callee(method, self.flow.open_frame(method.scope.parent), base)]

    def _super(self, bound: Bound) -> tuple[ClassFacts, Bound] | None:
        """Return the class whose parents ``super()`` means, and the instance."""
        if not isinstance(bound.value, Call) or self.callee_name(bound) != "builtins.super":
            return None
        frame = bound.frame
        while frame is not None and frame.function.owner is None:
            frame = frame.closure
        if frame is None or frame.function.owner is None or not frame.function.params:
            return None
        return frame.function.owner, Bound(next(iter(frame.function.params.values())), frame)

    def _wrapped(self, callee: Bound, value: Call, depth: int) -> list[Callee]:
        """Return the functions behind a transform, a partial application, a decorator or a callable object."""
        name = self.wrapper_name(callee, value)
        if name in TRANSPARENT | GRADIENTS and value.args:
            inner = self.callables(self.flow.with_value(callee, value.args[0]), depth + 1)
            bound_args: tuple[Bound, ...] = ()
            bound_keywords: tuple[tuple[str, Bound], ...] = ()
            if name in {"functools.partial", "flax.nnx.cached_partial", "functools.partialmethod"}:
                bound_args = tuple(self.flow.with_value(callee, a) for a in value.args[1:])
                bound_keywords = tuple((k, self.flow.with_value(callee, v)) for k, v in value.keywords if k is not None)
            return [
                Callee(
                    c.function,
                    c.closure,
                    c.receiver,
                    (*c.args, *bound_args),
                    (*c.keywords, *bound_keywords),
                    c.gradient or name in GRADIENTS,
                    c.traced or name not in UNTRACED,
                )
                for c in inner
            ]
        if len(value.node.args) != len(value.args):  # written as a decorator that is not known: taken as transparent
            return self.callables(self.flow.with_value(callee, value.args[0]), depth + 1)
        cls = self.flow.classes.class_of(callee)
        method = self.flow.classes.method(cls, "__call__") if cls is not None else None
        return [Callee(method, None, callee)] if method is not None else []

    def wrapper_name(self, bound: Bound, value: Call) -> str:
        """Return the name of the transform that a call applies, also one with its options given before."""
        callee = self.flow.follow(bound, value.callee)
        if isinstance(callee.value, Call) and not callee.value.args:  # @nnx.jit(static_argnames=...)
            inner = self.flow.follow(callee, callee.value.callee)
            return inner.value.name if isinstance(inner.value, Ref) else ""
        return self._prepared(callee, 0)

    def _prepared(self, callee: Bound, depth: int) -> str:
        """Return the name of a transform that ``partial`` may have given options, also one around the other."""
        value = callee.value
        if isinstance(value, Ref):
            return value.name
        if not isinstance(value, Call) or not value.args or depth > 3:
            return ""
        inner = self.flow.follow(callee, value.callee).value
        if not isinstance(inner, Ref) or inner.name != "functools.partial":
            return ""
        return self._prepared(self.flow.follow(callee, value.args[0]), depth + 1)

    def gives_value(self, call: Bound) -> bool:
        """Say whether a call gives what a function returned besides its gradient, as that of ``value_and_grad(f)``."""
        assert isinstance(call.value, Call)
        made = self.flow.follow(call, call.value.callee)
        return isinstance(made.value, Call) and self.wrapper_name(made, made.value).endswith("value_and_grad")

    def enter(self, callee: Callee, call: Bound) -> Frame:
        """Return the activation that a call makes of a function."""
        value = call.value
        assert isinstance(value, Call)
        keywords = dict(callee.keywords)
        for name, given in value.keywords:
            keywords |= {name: self.flow.with_value(call, given)} if name is not None else self._spread(call, given)
        args = [*callee.args, *self._positional(callee, call, value, keywords)]
        receiver = callee.receiver
        if callee.traced or self._traced_method(callee.function):
            args = [self.flow.part(value, self.flow.resolve(a), call.frame) for a in args]
            keywords = {k: self.flow.part(value, self.flow.resolve(a), call.frame) for k, a in keywords.items()}
            if receiver is not None and callee.function.binding == "instance":
                receiver = self.flow.part(value, self.flow.resolve(receiver), call.frame)
        closure, starred = callee.closure, value.starred
        frame = self.flow.frame(callee.function, value, tuple(args), keywords, closure, receiver, starred, call.frame)
        frame.prepared = len(callee.args)
        return frame

    def _spread(self, call: Bound, given: Value) -> dict[str, Bound]:
        """Return the arguments in ``**given``, if that is a dict whose keys are all written out."""
        found = self.flow.follow(call, given)
        if not isinstance(found.value, Mapping):
            return {}
        names = [key.value if isinstance(key, Const) else None for key, _ in found.value.items]
        if not all(isinstance(name, str) for name in names):
            return {}
        values = [self.flow.with_value(found, value) for _, value in found.value.items]
        return {str(name): value for name, value in zip(names, values, strict=True)}

    def _positional(self, callee: Callee, call: Bound, value: Call, keywords: dict[str, Bound]) -> list[Bound]:
        """Return the arguments that a call gives by position; behind ``*values`` it is not known which they are.

        Of ``values`` that come last the parameters that need an argument get one each.
        """
        first = next((i for i, a in enumerate(value.args) if isinstance(a, Star)), len(value.args))
        found = [self.flow.with_value(call, a) for a in value.args[:first]]
        last = value.args[first] if first == len(value.args) - 1 else None
        if not isinstance(last, Star) or callee.function.vararg is not None:
            return found
        bound = callee.receiver is not None and callee.function.binding in {"instance", "class"}
        names = list(callee.function.params)[bound : callee.function.positional]
        for place, name in enumerate(names[len(callee.args) + first :]):
            if name in callee.function.defaults or name in keywords:
                break
            found.append(self.flow.with_value(call, Item(last.value, Const(place))))
        return found

    def _traced_method(self, function: FunctionFacts) -> bool:
        """Say whether a decorator traces a method; those of functions are part of the value that is called."""
        outer = function.scope.parent
        if function.owner is None or outer is None:
            return False
        for decorator in function.decorators:
            bound = self.flow.resolve(self.flow.here(decorator, outer))
            name = bound.value.name if isinstance(bound.value, Ref) else ""
            if isinstance(bound.value, Call):
                name = self.callee_name(bound)
                if name == "functools.partial" and bound.value.args:
                    first = self.flow.follow(bound, bound.value.args[0]).value
                    name = first.name if isinstance(first, Ref) else ""
            if name in TRANSPARENT - UNTRACED:
                return True
        return False

    @property
    def members(self) -> frozenset[str]:
        """The names of what may be called as an attribute: of classes, modules, and functions that are looked into."""
        if self._members is not None:
            return self._members
        found = {*self.flow.fields.stores(), *(name.rpartition(".")[2] for name in (*LOOKED_THROUGH, *CALLS_BODY))}
        for cls in self.flow.project.classes():
            found.update(cls.methods, cls.fields, cls.stores, cls.scope.env)
        for module in self.flow.project.modules:
            found.update(module.scope.env)
        self._members = frozenset(found)
        return self._members

    def reached(self, call: Bound) -> list[Callee]:
        """Return the project's functions that a call reaches, as :meth:`invoked` does, without their activations."""
        value = call.value
        assert isinstance(value, Call)
        callee = self.flow.follow(call, value.callee)
        if not isinstance(callee.value, Ref):
            return self.callables(callee)
        running = CALLS_BODY.get(callee.value.name)
        return [c for body in self.bodies(call, running) for c in self.callables(body)] if running is not None else []

    def invoked(self, call: Bound) -> list[tuple[Callee, Frame]]:
        """Return the project's functions that a call reaches, each with its activation."""
        value = call.value
        assert isinstance(value, Call)
        name = self.callee_name(call)
        running = CALLS_BODY.get(name)
        if running is not None:
            given = value.args[running.first :] or [given for word, given in value.keywords if word in OPERANDS]
            operands = tuple(self.flow.with_value(call, operand) for operand in given)
            if running.counted:
                operands = (self.flow.with_value(call, Unknown(value.node)), *operands)
            elif name == "jax.lax.scan":
                operands = (*operands[:1], self.flow.with_value(call, Unknown(value.node)))
            bodies = self.bodies(call, running)
            return [(callee, self._body_frame(callee, call, operands)) for b in bodies for callee in self.callables(b)]
        return [
            (callee, self.enter(callee, call)) for callee in self.callables(self.flow.with_value(call, value.callee))
        ]

    def bodies(self, call: Bound, running: Running) -> list[Bound]:
        """Return the functions that a call gives to a foreign one, which runs them; those of a list one by one."""
        value = call.value
        assert isinstance(value, Call)
        given = [value.args[place] for place in running.positions if place < len(value.args)]
        given += [body for word, body in value.keywords if word in running.names]
        functions = [self.flow.with_value(call, body) for body in given]
        if "branches" not in running.names:
            return functions
        return [branch for branches in functions for branch in self.flow.containers.elements(branches)]

    def _body_frame(self, callee: Callee, call: Bound, operands: tuple[Bound, ...]) -> Frame:
        """Return the activation of a function that a foreign one calls with operands."""
        args, keywords = (*callee.args, *operands), dict(callee.keywords)
        receiver, closure = callee.receiver, callee.closure
        return self.flow.frame(callee.function, call.value, args, keywords, closure, receiver, caller=call.frame)
