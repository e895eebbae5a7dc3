"""NNX947: weights or averages of half precision that are moved by steps which it rounds away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.names import OPTIMIZERS, TREE_MAPS, last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, formula_of, in_test
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Comprehension,
    Const,
    Function,
    Item,
    Mapping,
    Ref,
    Sequence,
    Unknown,
    Value,
)

_HALF = frozenset({"bfloat16", "float16"})
_FULL = frozenset({"float32", "float64"})
_SMALL = 1e-3  # a step of Adam, beside which a weight of 0.5 is more than 256 times as large
_SLOW = 0.01  # the greatest share of the new weights in a slow average
_DEPTH = 8
# where rounding is made up for, or another copy is kept
_MENDED = re.compile(rb"master|stochastic.?round|kahan|compensat|fp32_params|params_fp32|full_precision", re.I)
_SAME = frozenset(
    {"jax.device_put", "jax.lax.stop_gradient", "copy.deepcopy", "copy.copy", "flax.core.freeze", "flax.core.unfreeze",
     "jax.numpy.copy", "flax.nnx.state", "flax.nnx.clone", "flax.nnx.to_pure_dict", "builtins.dict",
     "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze", "flax.nnx.split", "builtins.list"}
)  # fmt: skip
_INIT = frozenset({"init", "init_with_output"})
# schedules of optax with the places and names of their greatest rates
_SCHEDULES = {
    "constant_schedule": ((0, "value"),),
    "cosine_decay_schedule": ((0, "init_value"),),
    "exponential_decay": ((0, "init_value"),),
    "linear_schedule": ((0, "init_value"), (1, "end_value")),
    "polynomial_schedule": ((0, "init_value"), (1, "end_value")),
    "warmup_cosine_decay_schedule": ((0, "init_value"), (1, "peak_value")),
    "warmup_exponential_decay_schedule": ((0, "init_value"), (1, "peak_value")),
    "cosine_onecycle_schedule": ((1, "peak_value"),),
}
_WRAPPING = frozenset({"chain", "MultiSteps", "apply_if_finite", "with_extra_args_support", "named_chain"})

#: Where half precision is asked for.
_Place = tuple[Scope, ast.AST]


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if not any(b"bfloat16" in data or b"float16" in data for data in sources):
        return
    kept = _Kept(context)
    told: set[ast.AST] = set()
    for event, params, rate in (*_optimized(context), *_by_hand(context)):
        if in_test(event.scope) or _MENDED.search(event.scope.module.source.data):
            continue
        place = kept.half(params)
        if place is None or place[1] in told or place[0].module not in context.asked or in_test(place[0]):
            continue
        if not _MENDED.search(place[0].module.source.data):
            told.add(place[1])
            yield _found(
                place,
                f"the weights are kept in half precision: steps of {rate:g} are lost in its rounding",
                "keep them in float32 and compute in half precision: dtype=jnp.bfloat16, param_dtype=jnp.float32",
            )
    for event, average, share in _averages(context, kept):
        place = kept.half(average) or (event.scope, event.node)
        if place[1] not in told and place[0].module in context.asked and not in_test(place[0]):
            told.add(place[1])
            yield _found(
                place,
                f"the average is kept in half precision: {share:.1g} of a difference is lost in its rounding",
                "keep it in float32: jax.tree.map(lambda p: p.astype(jnp.float32), params)",
            )


def _found(place: _Place, problem: str, help: str) -> Finding:
    return finding(RULE.code, place[0], place[1], problem, help)


def _optimized(context: Context) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the places where an optimizer of small steps gets its parameters or model, with the size of a step."""
    for event in context.bodies.named("init"):
        if event.scope.module in context.asked and isinstance(event.value.callee, Attr) and len(event.value.args) == 1:
            yield from _small(context, event, event.value.callee.base, event.value.args[0])
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        model, tx = event.value.argument(0, "model"), event.value.argument(1, "tx")
        wrt = event.value.argument(2, "wrt")
        chosen = context.flow.resolve(context.flow.here(wrt, event.scope)).value if wrt is not None else None
        if name.startswith("flax.nnx.") and model and tx and chosen in (None, Ref("flax.nnx.Param")):
            yield from _small(context, event, tx, model)
    for event in context.bodies.named("create"):
        tx, params = event.value.keyword("tx"), event.value.keyword("params")
        if event.scope.module in context.asked and tx is not None and params is not None:
            yield from _small(context, event, tx, params)


def _by_hand(context: Context) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the steps that ``jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads)`` takes, as optimizers do."""
    for event, name in foreign(context, "map", "tree_map"):
        args = event.value.args
        if name not in TREE_MAPS or len(args) != 3:
            continue
        mapped = context.flow.resolve(context.flow.here(args[0], event.scope)).value
        formula = formula_of(context, mapped.facts) if isinstance(mapped, Function) else None
        if (
            not isinstance(mapped, Function)
            or not isinstance(formula, ast.BinOp)
            or not isinstance(formula.op, ast.Sub)
        ):
            continue
        params = list(mapped.facts.params)
        if len(params) != 2 or not isinstance(formula.left, ast.Name) or formula.left.id != params[0]:
            continue
        name, rate = _weighted(context, formula.right, params, mapped.facts.scope)
        if name == params[1] and rate is not None and 0 < rate <= _SMALL and params[0] not in names_in(formula.right):
            yield event, context.flow.here(args[1], event.scope), rate


def _small(context: Context, event: CallEvent, tx: Value, params: Value) -> Iterator[tuple[CallEvent, Bound, float]]:
    rate = _rate(context, context.flow.here(tx, event.scope), 0)
    if rate is not None and 0 < rate <= _SMALL:
        yield event, context.flow.here(params, event.scope), rate


def _rate(context: Context, bound: Bound, depth: int) -> float | None:
    """Return the greatest learning rate of an optimizer of optax, if it stands in the text."""
    sources = context.sources.originals(bound)
    if len(sources) != 1 or depth > _DEPTH:
        return None
    found = next(iter(sources))
    value = found.value
    if not isinstance(value, Call) or value.starred:
        return None
    name = context.flow.calls.callee_name(found)
    word = last(name)
    if not name:
        return _of_wrapper(context, found, value, depth)
    if not name.startswith("optax."):
        return None
    if word in OPTIMIZERS:
        return _number(context, found, value.argument(0, "learning_rate"), depth)
    if word in {"scale", "scale_by_learning_rate"}:
        return _number(context, found, value.args[0] if value.args else None, depth)
    if word in _WRAPPING:
        parts = [_rate(context, context.flow.with_value(found, one), depth + 1) for one in value.args]
        return next((part for part in parts if part is not None), None)
    return None


def _of_wrapper(context: Context, found: Bound, value: Call, depth: int) -> float | None:
    """Return the rate of ``optax.inject_hyperparams(optax.adam)(learning_rate=...)``, or of a method of a wrapper."""
    if isinstance(value.callee, Attr) and value.callee.name == "gradient_transformation":
        return _rate(context, context.flow.with_value(found, value.callee.base), depth + 1)
    callee = context.flow.follow(found, value.callee)
    if last(context.flow.calls.callee_name(callee)) != "inject_hyperparams":
        return None
    return _number(context, found, value.argument(0, "learning_rate"), depth)


def _number(context: Context, found: Bound, value: Value | None, depth: int) -> float | None:
    """Return the greatest of the numbers that a learning rate is, or a schedule gives."""
    if value is None:
        return None
    scope = _scope(context, found)
    if scope is None:
        return None
    given = context.flow.with_value(found, value)
    known = numbers(context, value, scope)
    if known:
        return max(map(abs, known))
    source = context.flow.resolve(given)
    if isinstance(source.value, Call):
        name = context.flow.calls.callee_name(source)
        places = _SCHEDULES.get(last(name), ()) if name.startswith("optax.") else ()
        rates = [_number(context, source, source.value.argument(*one), depth + 1) for one in places]
        return max((one for one in rates if one is not None), default=None) if None not in rates else None
    return _flag(value, scope)


def _flag(value: Value, scope: Scope) -> float | None:
    """Return the default of a flag of the command line: ``parser.add_argument("--lr", default=1e-4)``."""
    if not isinstance(value, Attr):
        return None
    for event in scope.module.calls:
        if last_word(event.node.func) == "add_argument" and event.node.args:
            name, default = constant(event.node.args[0]), event.value.keyword("default")
            if (
                isinstance(name, str)
                and name.lstrip("-").replace("-", "_") == value.name
                and isinstance(default, Const)
            ):
                return default.value if isinstance(default.value, float) else None
    return None


def _scope(context: Context, bound: Bound) -> Scope | None:
    if bound.frame is not None:
        return bound.frame.function.scope
    node = getattr(bound.value, "node", None)
    return context.bodies.module_scope(node) or context.bodies.home(node) if isinstance(node, ast.AST) else None


class _Kept:
    """Tells of parameters whether they are kept in half precision, and where that is asked for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._types = ExactTypes(context)
        self._classes: dict[ClassFacts, _Place | None] = {}

    def half(self, bound: Bound, depth: int = 0) -> _Place | None:
        """Return where half precision is asked for; None if that is not so on all ways that are known."""
        if depth > _DEPTH:
            return None
        found: _Place | None = None
        for source in self._context.sources.originals(bound):
            place = self._of(source, depth)
            if isinstance(place, bool):
                return None
            found = found or place
        return found

    def _of(self, source: Bound, depth: int) -> _Place | bool | None:
        """Return the place, False for what is kept in another precision, None if nothing is known."""
        value, with_value = source.value, self._context.flow.with_value
        if isinstance(value, Item | Indexed | Round):
            return self.half(with_value(source, value.base), depth + 1)
        if isinstance(value, Attr):
            return self.half(with_value(source, value.base), depth + 1) if value.name == "params" else None
        if isinstance(value, Mapping | Sequence | Changed):
            parts = self._context.flow.containers.elements(source)
            return next((place for part in parts if (place := self.half(part, depth + 1))), None)
        if isinstance(value, Comprehension):
            return self.half(with_value(source, value.element), depth + 1)
        if isinstance(value, Call):
            return self._call(source, value, depth)
        return self._typed(source) if isinstance(value, Unknown) else None

    def _call(self, source: Bound, value: Call, depth: int) -> _Place | bool | None:
        context = self._context
        name = context.flow.calls.callee_name(source)
        if name in TREE_MAPS and len(value.args) > 1:
            return self._mapped(source, value, depth)
        if name in _SAME and value.args:
            return self.half(context.flow.with_value(source, value.args[0]), depth + 1)
        if name.startswith(("flax.linen.", "flax.nnx.")):
            return self._layer(value, source)
        if name:
            return self._typed(source) if name.startswith("jax.") else None
        cls = context.flow.classes.class_of(source)
        if cls is not None:
            return self._class(cls, 0)
        callee = context.flow.follow(source, value.callee)
        if isinstance(callee.value, Call) and callee.value.args:  # jax.jit(model.init)(...)
            callee = context.flow.with_value(callee, callee.value.args[0])
        if isinstance(callee.value, Attr) and callee.value.name in _INIT:
            return self.half(context.flow.with_value(callee, callee.value.base), depth + 1)
        return self._typed(source)

    def _typed(self, source: Bound) -> _Place | bool | None:
        """Return the place of an array whose type is known."""
        kind = self._types.bound(source)
        node = getattr(source.value, "node", None)
        if kind not in _HALF or not isinstance(node, ast.AST):
            return False if kind in _FULL else None
        home = self._context.bodies.home(node) or self._context.bodies.module_scope(node)
        return (home, node) if home is not None else None

    def _mapped(self, source: Bound, value: Call, depth: int) -> _Place | bool | None:
        """Return the place of what ``jax.tree.map(f, params)`` gives."""
        mapped = self._context.flow.follow(source, value.args[0]).value
        cast = _cast(mapped.facts) if isinstance(mapped, Function) else ""
        home = self._context.bodies.home(value.node) or self._context.bodies.module_scope(value.node)
        if cast in _FULL:
            return False
        if cast in _HALF:
            return (home, value.node) if home is not None else None
        inner = self.half(self._context.flow.with_value(source, value.args[1]), depth + 1)
        copied = isinstance(mapped, Ref) and last(mapped.name) in {"copy", "array", "asarray"}
        return (home, value.node) if inner is not None and copied and home is not None else inner

    def _layer(self, value: Call, source: Bound) -> _Place | bool | None:
        """Return the place of a layer of Flax that is told in what to keep its parameters."""
        given = value.keyword("param_dtype")
        if given is None:
            return None
        if self._is_half(self._context.flow.with_value(source, given)):
            home = self._context.bodies.home(value.node) or self._context.bodies.module_scope(value.node)
            return (home, value.node) if home is not None else None
        return False

    def _is_half(self, bound: Bound) -> bool:
        """Say whether a type is half precision, as the text says it."""
        found = self._context.sources.originals(bound)
        return bool(found) and all(
            (isinstance(one.value, Ref) and last(one.value.name) in _HALF)
            or (isinstance(one.value, Const) and one.value.value in _HALF)
            for one in found
        )

    def _class(self, cls: ClassFacts, depth: int) -> _Place | None:
        """Return where a class makes layers or parameters of half precision."""
        if cls not in self._classes:
            self._classes[cls] = None
            self._classes[cls] = self._inside(cls, depth)
        return self._classes[cls]

    def _inside(self, cls: ClassFacts, depth: int) -> _Place | None:
        values, flow = cls.scope.module.values, self._context.flow
        for node in ast.walk(cls.node):
            if not isinstance(node, ast.Call) or (home := self._context.bodies.home(node)) is None:
                continue
            asked = next((k.value for k in node.keywords if k.arg == "param_dtype"), None)
            given = values.get(asked) if asked is not None else None
            if given is not None and self._is_half(flow.here(given, home)):
                return home, asked if asked is not None else node
            call = values.get(node)
            if not isinstance(call, Call):
                continue
            bound = flow.here(call, home)
            name = flow.calls.callee_name(bound)
            if name == "flax.nnx.Param" and node.args and self._types.node(node.args[0], home) in _HALF:
                return home, node
            callee = flow.follow(bound, call.callee)
            if isinstance(callee.value, Call) and last(flow.calls.callee_name(callee)) == "partial":
                place = self._layer(callee.value, callee)
                if isinstance(place, tuple):
                    return place
            inner = flow.classes.class_of(bound) if asked is None and not name else None
            if inner is not None and inner is not cls and depth < _DEPTH and (found := self._class(inner, depth + 1)):
                return found
        return None


def _cast(function: FunctionFacts) -> str:
    """Return to what type a function casts its argument: ``lambda p: p.astype(jnp.bfloat16)``."""
    found = {
        word
        for node in ast.walk(function.node)
        if isinstance(node, ast.Call) and last_word(node.func) in {"astype", "asarray", "array", "convert_element_type"}
        for one in (*node.args, *(k.value for k in node.keywords))
        if (word := str(constant(one) or last_word(one))) in _HALF | _FULL
    }
    return found.pop() if len(found) == 1 else ""


def _averages(context: Context, kept: _Kept) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the updates of slow averages of half precision, each with the average and the share of the new weights."""
    for event, name in foreign(context, "map", "tree_map", "incremental_update"):
        if in_test(event.scope) or _MENDED.search(event.scope.module.source.data):
            continue
        args = event.value.args
        if name == "optax.incremental_update":
            new, old, size = (
                event.value.argument(*one) for one in enumerate(("new_tensors", "old_tensors", "step_size"))
            )
            rates = numbers(context, size, event.scope)
            if new is None or old is None or not rates or not 0 < max(rates) <= _SLOW:
                continue
            pair, share, keeps = (old, new), float(max(rates)), False
        elif name in TREE_MAPS and len(args) == 3:
            mapped = context.flow.resolve(context.flow.here(args[0], event.scope)).value
            step = _step(context, mapped.facts) if isinstance(mapped, Function) else None
            if step is None:
                continue
            place, share, keeps = step
            pair = (args[1], args[2]) if place == 0 else (args[2], args[1])
        else:
            continue
        average, weights = (context.flow.here(one, event.scope) for one in pair)
        if kept.half(average) is not None and (keeps or kept.half(weights) is not None):
            yield event, average, share


def _step(context: Context, function: FunctionFacts) -> tuple[int, float, bool] | None:
    """Return which argument of a function is a slow average, the share of the other, and whether its type is kept."""
    formula, params = formula_of(context, function), list(function.params)
    if formula is None or len(params) != 2 or "float32" in (text := ast.unparse(function.node)):
        return None
    keeps = ".dtype" in text
    while isinstance(formula, ast.Call) and isinstance(formula.func, ast.Attribute) and formula.func.attr == "astype":
        formula = formula.func.value
    if not isinstance(formula, ast.BinOp) or not isinstance(formula.op, ast.Add | ast.Sub):
        return None
    for one, other in ((formula.left, formula.right), (formula.right, formula.left)):
        name, decay = _weighted(context, one, params, function.scope)
        if name and decay is not None and 1 - _SLOW <= decay < 1 and names_in(other) & (set(params) - {name}):
            return params.index(name), 1 - decay, keeps
        if isinstance(one, ast.Name) and one.id in params and isinstance(other, ast.BinOp):  # e + rate * (p - e)
            for side, rest in ((other.left, other.right), (other.right, other.left)):
                rates = numbers(context, function.scope.module.values.get(side), function.scope)
                rates = rates or numbers(context, Unknown(side), function.scope)
                if rates and 0 < max(rates) <= _SLOW and set(params) <= names_in(rest):
                    return params.index(one.id), float(max(rates)), keeps
    return None


def _weighted(context: Context, node: ast.expr, params: list[str], scope: Scope) -> tuple[str, float | None]:
    """Return the parameter that a term is, and the number that it is multiplied by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            names = names_in(one) & set(params)
            if len(names) == 1 and isinstance(one, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
                rates = numbers(context, scope.module.values.get(other) or Unknown(other), scope)
                return next(iter(names)), max(rates, default=None)
    return "", None


_BAD = """\
import jax
import jax.numpy as jnp
import optax


def loss(params, x, y):
    return jnp.mean(((x @ params["w"]).astype(jnp.float32) - y) ** 2)


params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), {"w": jnp.ones((4, 2))})
optimizer = optax.adam(1e-4)
state = optimizer.init(params)
for _ in range(3):
    grads = jax.grad(loss)(params, jnp.ones((8, 4), jnp.bfloat16), jnp.zeros((8, 2)))
    updates, state = optimizer.update(grads, state, params)
    params = optax.apply_updates(params, updates)
print(params)
"""

RULE = lint_rule(
    "NNX947",
    "rounded-steps",
    "weights or an average in half precision that small steps hardly move",
    why="""\
bfloat16 has eight bits of a number: beside 1 it knows nothing finer than 1/128. A step of `optax.adam(1e-4)`, or the
thousandth of a difference that a slow average takes, is smaller than half of that for all but the smallest weights, and
is rounded away. The weights stand still, or the average does, without an error. Keep them in float32 and cast a copy
for the forward pass, as `dtype=jnp.bfloat16` of the layers does.
""",
    source="Micikevicius et al. 2018, section 3.1; measured: the loss stays where it was",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("p.astype(jnp.bfloat16)", "p.astype(jnp.float32)"),),
)
