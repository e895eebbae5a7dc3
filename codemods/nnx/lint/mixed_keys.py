"""NNX523: dicts whose keys have no order, where JAX goes through them as through trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ItemStore, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Round
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import Handed, constants_of, handed_on, may_hand_on
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import operand
from codemods.nnx.lint.names import BATCHING, JITS, OPTIMIZERS, last
from codemods.nnx.lint.places import in_test, jit_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Loop,
    Mapping,
    Param,
    Sequence,
    Unknown,
    Value,
)

_TREES = ("map", "leaves", "flatten", "structure", "reduce", "all", "map_with_path", "flatten_with_path",
          "leaves_with_path")  # fmt: skip
# where trees stand among the positional arguments of a function: from one place on, as many as that
_TAKING: dict[str, tuple[int, int]] = {
    **{f"jax.tree.{word}": (int(word.startswith(("map", "reduce"))), 1) for word in _TREES},
    **{f"jax.tree_util.tree_{word}": (int(word.startswith(("map", "reduce"))), 1) for word in _TREES},
    "jax.tree_map": (1, 1),
    "jax.device_put": (0, 1),
    "jax.device_get": (0, 1),
    "jax.block_until_ready": (0, 1),
    "jax.flatten_util.ravel_pytree": (0, 1),
    "jax.eval_shape": (1, 9),
    "jax.jvp": (1, 2),
    "jax.vjp": (1, 9),
    "jax.lax.scan": (1, 2),
    "jax.lax.map": (1, 1),
    "jax.lax.fori_loop": (3, 1),
    "jax.lax.while_loop": (2, 1),
    "jax.lax.cond": (3, 9),
    "optax.global_norm": (0, 1),
    "optax.apply_updates": (0, 2),
    "optax.incremental_update": (0, 2),
}
_GRADIENTS = GRADIENTS | {"jax.hessian"}
_TRANSFORMS = JITS | BATCHING | _GRADIENTS
_WORDS = frozenset(map(last, (*_TAKING, *_TRANSFORMS)))
# the states of these alone look through the parameters
_STATEFUL = OPTIMIZERS - {"sgd"}
_KEPT = frozenset({"pop", "popitem", "clear"})
_DEPTH = 8

_Kinds = dict[str, str]  # of a dict: kinds of keys, each with one of them as it is written


def _check(context: Context) -> Iterator[Finding]:
    asked = _Keys(context)
    if not asked.suspicious:
        return
    made = context.flow.may.made_by(frozenset(map(last, _TRANSFORMS)))
    words = _WORDS | {"init"}
    for event in context.asked.calls():
        word = last_word(event.node.func)
        if in_test(event.scope) or not (word in words or may_hand_on(made, event)):
            continue
        for node in _trees(context, event):
            kinds = asked.of(node, event)
            if kinds and not context.bodies.guarded(event.node, event.scope):
                yield _finding(event, node, kinds)
                break
    yield from _results(context, asked)


def _results(context: Context, asked: _Keys) -> Iterator[Finding]:
    """Yield the results of compiled and mapped functions that have such keys."""
    done = set()
    for root in context.traced.roots:
        if root.transform not in JITS | BATCHING or root.function in done or not root.certain:
            continue
        done.add(root.function)
        scope = root.function.scope
        if scope.module not in context.asked or in_test(scope):
            continue
        for node in context.bodies.nodes(scope):
            value = scope.module.values.get(node.value) if isinstance(node, ast.Return) and node.value else None
            kinds = asked.within(context.flow.here(value, scope), 0) if value is not None else None
            if kinds and not context.bodies.guarded(root.node, root.scope):
                one, other = list(kinds.values())[:2]
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"what `{last(root.transform)}` gets here has the keys {one} and {other}, which cannot be sorted",
                    "use keys of one type, as strings",
                )
                break


def _finding(event: CallEvent, node: ast.expr, kinds: _Kinds) -> Finding:
    one, other = list(kinds.values())[:2]
    return finding(
        RULE.code,
        event.scope,
        node,
        f"`{event.scope.module.source.text(node)[:40]}` has the keys {one} and {other}, which JAX cannot sort",
        "use keys of one type, as strings",
    )


def _trees(context: Context, event: CallEvent) -> Iterator[ast.expr]:
    """Yield the arguments of a call that JAX takes apart."""
    call = event.node
    if event.value.starred:
        return
    name = context.flow.calls.name(event)
    if name in _TAKING and not any(k.arg == "is_leaf" for k in call.keywords):
        first, count = _TAKING[name]
        yield from call.args[first : first + count]
        return
    if name:
        return
    if last_word(call.func) == "init" and isinstance(event.value.callee, Attr) and call.args:
        made = context.flow.resolve(context.flow.here(event.value.callee.base, event.scope))
        if isinstance(made.value, Call):
            full = context.flow.calls.callee_name(made)
            if full.startswith("optax.") and last(full) in _STATEFUL:
                yield call.args[0]
                return
    for handed in handed_on(context, event):
        if handed.name in _TRANSFORMS:
            yield from _handed(context, event, handed)
            return
    roots = jit_of(context, event) if isinstance(event.value.callee, Attr) else ()
    if len(roots) == 1 and roots[0].transform in _TRANSFORMS:
        params = [p for p in roots[0].function.params if roots[0].function.self_param is None or p != "self"]
        yield from (node for p, node in zip(params, call.args, strict=False) if p not in roots[0].static)
        yield from (k.value for k in call.keywords if k.arg not in roots[0].static)


def _handed(context: Context, event: CallEvent, handed: Handed) -> Iterator[ast.expr]:
    """Yield the arguments of a call that a transform takes apart."""
    shift = handed.given - len(event.node.args)
    if handed.name in _GRADIENTS:
        given = handed.option(context, "argnums", 1)
        number = given.value.value if given is not None and isinstance(given.value, Const) else 0
        if given is None or type(number) is int:
            place = (number if isinstance(number, int) else 0) - shift
            yield from event.node.args[place : place + 1] if place >= 0 else ()
        return
    numbers = handed.option(context, "static_argnums") or handed.option(context, "static_broadcasted_argnums", 3)
    names = handed.option(context, "static_argnames")
    fixed, named = constants_of(numbers), constants_of(names)
    if fixed is None or named is None or (named and not fixed) or shift:
        return  # static arguments that are not known by their places
    for place, node in enumerate(event.node.args):
        if place not in fixed and place - len(event.node.args) not in fixed:
            yield node
    if not fixed and not named:
        yield from (k.value for k in event.node.keywords)


class _Keys:
    """What is known of the keys of dicts."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @cached_property
    def suspicious(self) -> bool:
        """Whether some dict of the project may have keys of several types."""
        return any(map(_mixing, self._context.project.modules))

    @cached_property
    def _emptied(self) -> frozenset[str]:
        """The names of containers of which entries are taken out."""
        return frozenset(
            last_word(event.node.func.value)
            for event in self._context.bodies.named(*_KEPT)
            if isinstance(event.node.func, ast.Attribute)
        )

    def of(self, node: ast.expr, event: CallEvent) -> _Kinds | None:
        """Return the kinds of keys of a dict in an argument, if JAX cannot sort them."""
        value = event.scope.module.values.get(node)
        if value is None or last_word(node) in self._emptied:
            return None
        return self.within(self._context.flow.here(value, event.scope), 0)

    def within(self, bound: Bound, depth: int) -> _Kinds | None:
        """Return the kinds of keys of a dict in a tree, if they cannot be sorted."""
        if depth > 3:
            return None
        found = self._origin(bound)
        value = found.value
        if isinstance(value, Sequence):
            parts: list[Value] = list(value.items)
        else:
            kinds = self._kinds(found, 0)
            if kinds is not None and len(kinds) > 1:
                return kinds
            parts = [one for key, one in value.items if key is not None] if isinstance(value, Mapping) else []
        for part in parts:
            inner = self.within(self._context.flow.with_value(found, part), depth + 1)
            if inner:
                return inner
        return None

    def _origin(self, bound: Bound) -> Bound:
        found = self._context.flow.resolve(bound)
        value = found.value
        if isinstance(value, Param) and value.function not in self._context.traced:
            given = self._context.sources.originals(found)
            return next(iter(given)) if len(given) == 1 else found
        return found

    def _kinds(self, bound: Bound, depth: int, seen: frozenset[Value] = frozenset()) -> _Kinds | None:
        """Return the kinds of the keys that a dict has for certain; None of what may be none, or lose some."""
        flow, value = self._context.flow, bound.value
        if depth > _DEPTH * 4 or value in seen:
            return {} if value in seen else None
        seen = seen | {value}
        if isinstance(value, Mapping):
            found: _Kinds = {}
            for key, one in value.items:
                if key is None:  # `**other`
                    found.update(self._kinds(self._origin(flow.with_value(bound, one)), depth + 1, seen) or {})
                else:
                    found.update(self._kind(flow.with_value(bound, key)))
            return found
        if isinstance(value, Comprehension):
            return self._kind(flow.with_value(bound, value.key)) if value.key is not None else None
        if isinstance(value, Changed):
            before = self._kinds(flow.with_value(bound, value.before), depth + 1, seen)
            added = self._added(bound, value)
            return None if before is None or added is None else {**before, **added}
        if isinstance(value, Loop):
            if value.again is not None and not _filled(value.again, value):
                return None
            ways = [value.before] if value.again is None else [value.before, value.again]
            all_of = [self._kinds(flow.with_value(bound, way), depth + 1, seen) for way in ways]
            return None if None in all_of else {k: v for one in all_of for k, v in (one or {}).items()}
        if isinstance(value, Choice):
            every = [self._kinds(flow.with_value(bound, way), depth + 1, seen) for way in value.options]
            if None in every or not every:
                return None
            return {k: v for k, v in (every[0] or {}).items() if all(k in (one or {}) for one in every)}
        if isinstance(value, Call) and flow.calls.callee_name(bound) == "builtins.dict" and not value.starred:
            named = _named([key for key, _ in value.keywords])
            if not value.args:
                return named
            inner = self._kinds(self._origin(flow.with_value(bound, value.args[0])), depth + 1, seen)
            return {**inner, **named} if inner is not None else None
        if isinstance(value, Attr):
            return self._field(value, depth, seen)
        if isinstance(value, Call):
            further = flow.resolve(bound)
            return self._kinds(further, depth + 1, seen) if further.value is not value else None
        return None

    def _field(self, value: Attr, depth: int, seen: frozenset[Value]) -> _Kinds | None:
        """Return the kinds of the keys of an attribute of ``self`` that the constructor alone fills."""
        base, flow = value.base, self._context.flow
        if not isinstance(base, Param) or base is not base.function.self_param or base.function.owner is None:
            return None
        owner = base.function.owner
        stores = owner.stores.get(value.name, ())
        if not stores or flow.fields.stores_from_outside(owner, value.name):
            return None
        if len(flow.classes.heirs(owner)) > 1 or not isinstance(stores[0][1], Mapping):
            return None
        found: _Kinds = {}
        for method, stored in stores:
            bound = flow.here(stored, method.scope)
            if isinstance(stored, Changed) and isinstance(stored.before, Attr | Loop):
                one = self._added(bound, stored)
            else:
                one = self._kinds(bound, depth + 1, seen)
            if one is None or method.name != "__init__":
                return None
            found.update(one)
        return found

    def _added(self, bound: Bound, changed: Changed) -> _Kinds | None:
        """Return the kind of a key under which something is put into a dict; None if a change is not one of these."""
        node = changed.node
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            key = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update" and len(node.args) <= 1 and all(isinstance(a, ast.Dict) for a in node.args):
                found = _named([one.arg for one in node.keywords])
                for name in node.args[0].keys if node.args and isinstance(node.args[0], ast.Dict) else ():
                    found.update(_of_constant(constant(name)) if name is not None else {})
                return found
            key = node.args[0] if node.func.attr == "setdefault" and node.args else None
        if key is None:
            return None
        return self._kind(operand(self._context, bound, key))

    def _kind(self, bound: Bound, depth: int = 0) -> _Kinds:
        """Return the kind of a key with its text; nothing if it is not known."""
        if depth > _DEPTH:
            return {}
        flow = self._context.flow
        found = flow.resolve(bound)
        value = found.value
        if isinstance(value, Const):
            return _of_constant(value.value)
        if isinstance(value, Unknown):
            return self._of_node(found, value.node, depth)
        if isinstance(value, Each | Round):
            return self._of_round(found, value, depth)
        if isinstance(value, Sequence) and isinstance(value.node, ast.Tuple):
            return {"a tuple": f"`{_text(value.node)}`"}
        if isinstance(value, Call):
            name = flow.calls.callee_name(found)
            if name in {"builtins.str", "builtins.repr"}:
                return {"a string": f"`{_text(value.node)}`"}
            if name in {"builtins.int", "builtins.len", "builtins.float"}:
                return {"a number": f"`{_text(value.node)}`"}
            callee = value.callee
            if isinstance(callee, Attr) and callee.name in {"format", "join"} and isinstance(callee.base, Const):
                return {"a string": f"`{_text(value.node)}`"} if isinstance(callee.base.value, str) else {}
        return {}

    def _of_round(self, bound: Bound, value: Each | Round, depth: int) -> _Kinds:
        """Return the kind of what each round of a loop gets."""
        if isinstance(value, Round):
            bound = Bound(value.base, value.frame)
        whole = self._context.flow.follow(bound, value.base)
        if isinstance(whole.value, Call) and self._context.flow.calls.callee_name(whole) == "builtins.range":
            return {"a number": f"of `{_text(whole.value.node)}`"}
        if isinstance(whole.value, Sequence) and whole.value.items:
            each = [self._kind(self._context.flow.with_value(whole, one), depth + 1) for one in whole.value.items]
            return each[0] if all(list(one) == list(each[0]) for one in each) else {}
        return {}

    def _of_node(self, bound: Bound, node: ast.AST, depth: int) -> _Kinds:
        if isinstance(node, ast.JoinedStr):
            return {"a string": f"`{_text(node)}`"}
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            counted = last_word(node.iter.func) == "enumerate"
            return {"a number": f"of `{_text(node.iter)}`"} if counted else {}
        if isinstance(node, ast.BinOp):
            both = (operand(self._context, bound, side) for side in (node.left, node.right))
            sides = [list(self._kind(side, depth + 1)) for side in both]
            if ["a string"] in sides and isinstance(node.op, ast.Add | ast.Mod):
                left = sides[0] == ["a string"] or isinstance(node.op, ast.Add)
                return {"a string": f"`{_text(node)}`"} if left else {}
            if sides == [["a number"], ["a number"]]:
                return {"a number": f"`{_text(node)}`"}
        return {}


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _named(names: list[str | None]) -> _Kinds:
    """Return the kind of the keys that a dict gets by name."""
    return {"a string": f"`{names[-1]!r}`"} if names and names[-1] is not None else {}


def _filled(value: Value, loop: Loop, depth: int = 0) -> bool:
    """Say whether a round of a loop fills the dict that it found, and makes no other."""
    if value is loop or depth > _DEPTH:
        return value is loop
    if isinstance(value, Changed | Loop):
        return _filled(value.before, loop, depth + 1)
    return isinstance(value, Choice) and all(_filled(one, loop, depth + 1) for one in value.options)


def _of_constant(value: object) -> _Kinds:
    if isinstance(value, int | float):
        return {"a number": f"`{value!r}`"}
    names = {str: "a string", bytes: "bytes", tuple: "a tuple", type(None): "None"}
    word = names.get(type(value)) if value is not Ellipsis else None
    return {word: f"`{value!r}`"} if word else {}


def _mixing(module: ModuleFacts) -> bool:
    """Say whether some dict of a module may have keys of several types, by its text."""
    if any(_several([_kind_of(key) for key in node.keys]) for node in module.source.of_type(ast.Dict)):
        return True
    stores: dict[str, set[str]] = {}
    for store in module.item_stores:
        word = _held(store)
        if word:
            stores.setdefault(word, set()).add(_kind_of(store.node.slice))
    if not stores:
        return False
    if any(_several(list(kinds)) for kinds in stores.values()):
        return True
    for node in module.source.of_type(ast.Assign):
        given = node.value
        words = {last_word(target) for target in node.targets} & stores.keys()
        if not words:
            continue
        kinds: list[str] = []
        if isinstance(given, ast.Dict):
            kinds = [_kind_of(key) for key in given.keys]
        elif isinstance(given, ast.DictComp):
            kinds = [_kind_of(given.key)]
        elif isinstance(given, ast.Call) and last_word(given.func) == "dict":
            kinds = ["str"]
        if any(_several([*kinds, *stores[word]]) for word in words if kinds):
            return True
    return False


def _held(store: ItemStore) -> str:
    return last_word(store.node.value)


def _kind_of(key: ast.expr | None) -> str:
    """Return the kind of a key by its text: of a variable nothing is known."""
    if isinstance(key, ast.JoinedStr):
        return "str"
    if isinstance(key, ast.Constant):
        return "str" if isinstance(key.value, str) else type(key.value).__name__
    return "" if key is None else "tuple" if isinstance(key, ast.Tuple) else "?"


def _several(kinds: list[str]) -> bool:
    """Say whether there is a string among the keys and something that may be another, or two others."""
    found = {kind for kind in kinds if kind}
    return len(found) > 1 and not found <= {"int", "float", "bool"}


RULE = lint_rule(
    "NNX523",
    "unsorted-keys",
    "a dict with keys of several types, as numbers and strings, that goes through a transform or jax.tree.map",
    why="""\
JAX takes a dict apart in the order of its sorted keys. A number and a string cannot be compared, nor can None or a
tuple and either of them: a ValueError, "Comparator raised exception while sorting pytree dictionary keys", as soon as
the dict is an argument or a result of `jax.jit`, `jax.grad` or `jax.vmap`, or comes to `jax.tree.map`, to
`jax.device_put` or to the init of an optimizer.
""",
    source="jax issue 15358; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def build(key, count, width):
    params = {}
    for i, one in enumerate(jax.random.split(key, count)):
        params[i] = 0.1 * jax.random.normal(one, (width, width))
    params["out"] = jnp.ones((width, 1))
    return params


def forward(params, x):
    return (x @ params[0] @ params["out"]).sum()


gradients = jax.grad(forward)(build(jax.random.key(0), 2, 3), jnp.ones((2, 3)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def build(key, count, width):
    params = {}
    for i, one in enumerate(jax.random.split(key, count)):
        params[f"layer{i}"] = 0.1 * jax.random.normal(one, (width, width))
    params["out"] = jnp.ones((width, 1))
    return params


def forward(params, x):
    return (x @ params["layer0"] @ params["out"]).sum()


print(jax.grad(forward)(build(jax.random.key(0), 2, 3), jnp.ones((2, 3)))["out"].shape)
""",
    ),
)
