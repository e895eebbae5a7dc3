"""NNX875: methods of Linen modules on modules of NNX."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import KNOWN_BASES, has_attribute, own_reads, owner_class, plain_module
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.may.may import Made
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Const, Mapping, Value

_OUTSIDE = {
    "init": "the model has its weights already; nnx.state(model) gives them",
    "init_with_output": "call the model: it has its weights already",
    "apply": "call the model, or nnx.merge(graphdef, state)(...) with the weights of a state",
    "bind": "call the model: its weights are its own",
    "unbind": "nnx.split(model) gives the structure and the weights",
    "tabulate": "nnx.tabulate(model, ...) shows a model",
}
_INSIDE = {
    "param": "make it in the constructor: self.name = nnx.Param(init(rngs.params(), shape))",
    "variable": "make it in the constructor: self.name = nnx.Variable(...)",
    "make_rng": "keep the streams in the constructor: self.rngs = rngs, and take self.rngs.name()",
    "has_variable": "ask for the attribute: hasattr(self, name)",
    "put_variable": "assign to the variable",
    "is_initializing": "a module of NNX is initialised when it is constructed",
    "is_mutable_collection": "variables of NNX can always be changed",
}


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_OUTSIDE, *_INSIDE):
        func, callee = event.node.func, event.value.callee
        if event.scope.module not in context.asked or not isinstance(func, ast.Attribute):
            continue
        if not isinstance(callee, Attr) or context.bodies.guarded(event.node, event.scope):
            continue
        cls = _class(context, event, callee.base) or _itself(context, event, callee.base)
        if cls is None or has_attribute(context, cls, func.attr):
            continue
        if context.bodies.of_asked_type(func.value, event.node, event.scope):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{cls.name}` is a module of NNX, and has no `{func.attr}`: that is a method of Linen",
            (_OUTSIDE | _INSIDE)[func.attr],
        )
    yield from _unused_setup(context)
    yield from _handed_on(context)
    yield from _fields(context)
    yield from _layers(context)
    yield from _collections(context)


def _handed_on(context: Context) -> Iterator[Finding]:
    """Yield the methods of Linen that are handed on, as in ``TrainState.create(apply_fn=model.apply, ...)``."""
    called = {event.node.func for event in context.bodies.named(*_OUTSIDE)}
    for event in context.asked.attributes():
        if event.node.attr not in _OUTSIDE or event.context != "load" or event.node in called:
            continue
        cls = _class(context, event, event.base)
        if (
            cls is None
            or has_attribute(context, cls, event.node.attr)
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{cls.name}` is a module of NNX, and has no `{event.node.attr}`: that is a method of Linen",
            _OUTSIDE[event.node.attr],
        )


def _fields(context: Context) -> Iterator[Finding]:
    """Yield the calls that give arguments to a class which has annotated names and no constructor."""
    lacking = {cls.name: cls for cls in context.project.classes() if cls.fields and _bare(context, cls)}
    for event in context.bodies.named(*lacking) if lacking else ():
        if event.scope.module not in context.asked or not (event.value.args or event.value.keywords):
            continue
        made = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        cls = made.facts if isinstance(made, Class) else None
        if cls is None or cls is not lacking.get(cls.name) or event.value.starred:
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{cls.name}` has no constructor: annotated names of a module of NNX are no arguments, as in Linen",
                "write __init__, or decorate the class with dataclasses.dataclass",
            )


def _bare(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class is a module of NNX without any constructor."""
    parents, names = context.flow.classes.mro(cls)
    if "flax.nnx.Module" not in names or not names <= KNOWN_BASES:
        return False
    return not any(
        one.decorators or {"__init__", "__new__", "__init_subclass__"} & {*one.methods, *one.scope.env}
        for one in parents
    ) and not any(keyword.arg == "metaclass" for one in parents for keyword in one.node.keywords)


def _layers(context: Context) -> Iterator[Finding]:
    """Yield the layers of Linen that a module of NNX calls without a wrapper."""
    for module in context.asked.modules:
        if not module.source.mentions(b"linen"):
            continue
        for event in module.calls:
            function = event.scope.function
            if function is None or function.owner is None or not plain_module(context, function.owner):
                continue
            if isinstance(event.node.func, ast.Attribute | ast.Call) and _linen(context, event):
                if not context.bodies.guarded(event.node, event.scope):
                    yield finding(
                        RULE.code,
                        event.scope,
                        event.node,
                        "a layer of Linen has no weights of its own, and cannot be called in a module of NNX",
                        "take the layer of nnx, or wrap it: nnx.bridge.ToNNX(layer, rngs=rngs).lazy_init(x)",
                    )


def _collections(context: Context) -> Iterator[Finding]:
    """Yield the graph definitions that are applied to a dict of collections."""
    for event in context.bodies.named("apply"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or not event.value.args:
            continue
        given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
        if not isinstance(given, Mapping) or not any(
            isinstance(k, Const) and k.value == "params" for k, _ in given.items
        ):
            continue
        if kinds_of(context, callee.base, event.scope) == {Kind.GRAPHDEF}:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a graph definition is applied to states, and not to a dict of collections as in Linen",
                "write nnx.merge(graphdef, state)(x)",
            )


def _linen(context: Context, event: CallEvent) -> bool:
    """Say whether what is called is a layer of Linen."""
    callee = context.flow.here(event.value.callee, event.scope)
    sources = context.sources.all_of(callee, lambda value: isinstance(value, Call))
    names = [context.flow.calls.callee_name(s) for s in sources or ()]
    return bool(names) and all(n.startswith("flax.linen.") and n.rpartition(".")[2][:1].isupper() for n in names)


def _unused_setup(context: Context) -> Iterator[Finding]:
    """Yield the ``setup`` methods that nothing calls, of modules without a constructor."""
    called = any(isinstance(event.node.func, ast.Attribute) for event in context.bodies.named("setup"))
    for cls in context.asked.classes() if not called else ():
        setup = cls.methods.get("setup")
        bases = context.flow.classes.mro(cls)[1]
        if setup is None or bases != {"flax.nnx.Module"} or setup.decorators or _asks(setup):
            continue
        if any("__init__" in one.methods for one in context.flow.classes.mro(cls)[0]) and not _lacking(context, cls):
            continue
        if any(isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) for node in ast.walk(setup.node)):
            yield finding(
                RULE.code,
                setup.scope.parent or setup.scope,
                setup.node,
                f"nothing calls `setup` of `{cls.name}`: modules of NNX are made by their constructor",
                "do it in __init__, which gets rngs",
            )


def _lacking(context: Context, cls: ClassFacts) -> bool:
    """Say whether another method reads an attribute that nothing sets but ``setup``, which nothing names elsewhere."""
    if any(module.source.matches(_NAMED) for module in context.project.modules):
        return False
    setup = cls.methods["setup"]
    made = {
        name
        for name, stores in cls.stores.items()
        if all(function is setup for function, _ in stores)
        and not {name} & ({*cls.fields} | {*cls.methods} | {*cls.scope.env})
        and all(event.scope.function is setup for event in context.flow.fields.stores().get(name, ()))
    }
    methods = [one for name, one in cls.methods.items() if name not in {"setup", "__init__"}]
    return any(node.attr in made for method in methods for node in own_reads(context, method))


_NAMED = pattern(rb"\.setup\b|['\"]setup['\"]")


def _asks(function: FunctionFacts) -> bool:
    """Say whether a method has arguments without defaults, so that somebody must mean to call it."""
    return any(name not in function.defaults for name in list(function.params)[1:])


def _itself(context: Context, event: CallEvent, base: Value) -> ClassFacts | None:
    """Return the module class whose method of Linen is called on the class itself, as ``Net.init(key, x)``."""
    found = context.flow.resolve(context.flow.here(base, event.scope)).value
    return found.facts if isinstance(found, Class) and plain_module(context, found.facts) else None


def _class(context: Context, event: CallEvent | AttrEvent, base: Value) -> ClassFacts | None:
    """Return the class of the module whose method a call calls; None if it is no module of NNX for certain."""
    if not context.shared(_own_modules).may_be(base) or kinds_of(context, base, event.scope) != {Kind.MODULE}:
        return None
    bound = context.flow.resolve(context.flow.here(base, event.scope))
    cls = context.flow.classes.class_of(bound) or owner_class(context, base, event.scope)
    if not isinstance(cls, ClassFacts):
        return None
    return cls if _known(context, cls) else None


def _own_modules(context: Context) -> Made:
    """Return what may be an object of one of the project's modules whose bases are all known."""
    return context.flow.may.made_of([cls for cls in context.project.classes() if _known(context, cls)])


def _known(context: Context, cls: ClassFacts) -> bool:
    bases = context.flow.classes.mro(cls)[1]
    return bool(bases) and bases <= KNOWN_BASES


RULE = lint_rule(
    "NNX875",
    "linen-method",
    "a habit of Linen in a module of NNX: init, apply, setup, param, make_rng, annotated names as arguments, layers",
    why="""\
A module of NNX holds its weights, which it makes when it is constructed: there is no `init`, and it is called instead
of `apply`. `self.param(...)` and `self.make_rng(...)` are an `nnx.Param` and `rngs.name()` in the constructor. Each of
the old names raises an AttributeError. The annotated names of the class are not its arguments, unless it is decorated
with `dataclasses.dataclass`: a TypeError. A layer of Linen has its weights elsewhere, and cannot be called here.
""",
    source="Flax guide from Linen to NNX; measured on Flax 0.10.7 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


model = Net(nnx.Rngs(0))
variables = model.init(jax.random.key(0), jnp.ones((1, 4)))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def apply(self, x):
        return self.linear(x)


print(Net(nnx.Rngs(0)).apply(jnp.ones((1, 4))).shape)
print(nn.Dense(2).init)
""",
    ),
)
