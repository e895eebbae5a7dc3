"""NNX884: a loss whose gradient is zero everywhere, since it goes through steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import ARRAY_METHODS, last
from codemods.nnx.lint.places import foreign, in_test, kinds_of, shown
from codemods.nnx.lint.straight_through import blocked, cancelled
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import applied_word, last_word
from codemods.nnx.values import Attr, Call, Choice, Param

# what gives the same for all inputs near by
_STEPS = frozenset(
    {"argmax", "argmin", "argsort", "round", "rint", "floor", "ceil", "sign", "categorical", "bernoulli", "greater",
     "less", "greater_equal", "less_equal", "equal", "not_equal", "heaviside", "trunc", "searchsorted", "digitize"}
)  # fmt: skip
_FLAT = _STEPS | {"stop_gradient"}
_ROUNDING = frozenset({"jax.numpy.round", "jax.numpy.sign", "jax.numpy.rint", "jax.numpy.floor", "jax.numpy.heaviside"})
# packages and modules whose functions give arrays and numbers, which are compared as such
_NUMBERS = ("jax.", "numpy.", "flax.", "optax.", "math.", "builtins.", "scipy.", "random.", "functools.", "operator.")
_ESTIMATORS = frozenset({"custom_vjp", "custom_jvp", "straight_through", "ste", "reparam", "vjp"})
# decorators under which a loss stays what it is
_WRAPPING = frozenset({"jit", "checkpoint", "remat", *map(last, GRADIENTS)})
NONE, STEP, SMOOTH = 0, 1, 2


def _check(context: Context) -> Iterator[Finding]:
    yield from _latents(context)
    for scope, node, what, way in blocked(context, lambda part, home: _stepping(context, part, home)):
        yield finding(RULE.code, scope, node, what, way)
    for scope, node, what, way in cancelled(context):
        yield finding(RULE.code, scope, node, what, way)
    seen: set[FunctionFacts] = set()
    for event, name in foreign(context, "grad", "value_and_grad"):
        if name not in GRADIENTS or not event.value.args or in_test(event.scope):
            continue
        numbers = keyword(event.node, "argnums")
        place = 0 if numbers is None else constant(numbers)
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            function = callee.function
            params = list(function.params)[len(callee.args) + int(callee.receiver is not None) :]
            if function in seen or not isinstance(place, int) or not 0 <= place < len(params):
                continue
            seen.add(function)
            decorators = getattr(function.node, "decorator_list", ())
            if len(function.returns) != 1 or not all(applied_word(one) in _WRAPPING for one in decorators):
                continue
            body = _returned(function)
            aux = keyword(event.node, "has_aux")
            if aux is not None and isinstance(body, ast.Tuple) and body.elts:
                body = body.elts[0]
            if body is not None and _Depends(context, function, params[place]).of(body) == STEP:
                stopped = any(last_word(n) == "stop_gradient" for n in context.bodies.nodes(function.scope))
                how = "through stop_gradient or steps" if stopped else "in steps"
                way = "use a loss of the logits or probabilities, such as a cross-entropy"
                way = "stop the gradient of the target alone" if stopped else way
                yield finding(
                    RULE.code,
                    function.scope,
                    body,
                    f"{shown(function)} depends on `{params[place]}` {how} only: its gradient is zero everywhere",
                    way,
                )


def _stepping(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression depends on parameters of its function, and on all of them in steps only."""
    function = scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    found = [_Depends(context, function, name).of(node) for name in function.params]
    return max(found, default=NONE) == STEP


def _returned(function: FunctionFacts) -> ast.expr | None:
    """Return the only expression that a function returns."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    found = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    return found[0] if len(found) == 1 else None


class _Depends:
    """How expressions of a function depend on one of its parameters: not at all, in steps, or smoothly."""

    def __init__(self, context: Context, function: FunctionFacts, param: str, depth: int = 0) -> None:
        self._known: dict[str, int] = {param: SMOOTH}
        self._context, self._scope, self._depth = context, function.scope, depth
        if isinstance(function.node, ast.Lambda):
            return
        nodes = [n for n in context.bodies.nodes(function.scope) if isinstance(n, _BINDING)]
        for node in sorted(nodes, key=lambda n: n.lineno):
            if isinstance(node, ast.FunctionDef):
                self._known[node.name] = max((self._leaf(n) for n in ast.walk(node)), default=NONE)
                continue
            source = node.iter if isinstance(node, ast.For) else node.value
            depends = self.of(source) if source is not None else NONE
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                self._known[target.id] = max(self._known.get(target.id, NONE), depends)

    def _leaf(self, node: ast.AST) -> int:
        return self._known.get(node.id, NONE) if isinstance(node, ast.Name) else NONE

    def of(self, node: ast.AST) -> int:
        """Return how an expression depends on the parameter."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, NONE)
        if isinstance(node, ast.Attribute) and node.attr in {"shape", "ndim", "dtype", "size"}:
            return NONE
        inner = max((self.of(child) for child in ast.iter_child_nodes(node)), default=NONE)
        if isinstance(node, ast.Compare) and inner == SMOOTH and self._builds(node):
            return SMOOTH
        step = isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and last_word(node.func) in _FLAT)
        if isinstance(node, ast.Call) and last_word(node.func) in _ESTIMATORS:
            return SMOOTH
        if inner == SMOOTH and not step and isinstance(node, ast.Call):
            return self._called(node)
        return min(inner, STEP) if step else inner

    def _builds(self, node: ast.Compare) -> bool:
        """Say whether a comparison may be one of objects, which makes what it likes of it: a formula, or a constraint.

        So may be what a class of the project or of another library made, and what nothing is known of.
        """
        flow = self._context.flow
        for side in (node.left, *node.comparators):
            value = self._scope.module.values.get(side)
            if not isinstance(side, ast.Name | ast.Attribute | ast.Call) or value is None:
                continue
            bound = flow.here(value, self._scope)
            for made in (flow.resolve(bound), *self._context.sources.originals(bound)):
                callee = made.value.callee if isinstance(made.value, Call) else None
                if isinstance(callee, Attr) and callee.name in ARRAY_METHODS:
                    continue
                if isinstance(made.value, Call) and not flow.calls.callee_name(made).startswith(_NUMBERS):
                    called = flow.calls.callables(flow.follow(made, made.value.callee))
                    if not called or flow.classes.class_of(made) is not None:
                        return True
        return False

    def _called(self, node: ast.Call) -> int:
        """Return how the result of a call of the project's own function depends on the parameter."""
        value = self._scope.module.values.get(node)
        if self._depth > 3 or not isinstance(value, Call) or value.starred:
            return SMOOTH
        callee = self._context.flow.here(value.callee, self._scope)
        if isinstance(self._context.flow.resolve(callee).value, Choice):
            return SMOOTH  # ``hardmax if hard else softmax``
        callees = self._context.flow.calls.callables(callee)
        function = callees[0].function if len(callees) == 1 and not callees[0].gradient else None
        body = _returned(function) if function is not None and not function.decorators else None
        if function is None or body is None or self.of(node.func) != NONE or callees[0].keywords:
            return SMOOTH
        names = list(function.params)[len(callees[0].args) + int(callees[0].receiver is not None) :]
        if len(node.args) > len(names):
            return SMOOTH
        given = [(name, self.of(argument)) for name, argument in zip(names, node.args, strict=False)]
        given += [(k.arg, self.of(k.value)) for k in node.keywords if k.arg in names]
        if len(given) != len(node.args) + len(node.keywords):
            return SMOOTH
        return max(
            (min(how, _Depends(self._context, function, name, self._depth + 1).of(body)) for name, how in given if how),
            default=NONE,
        )


_BINDING = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.FunctionDef)


def _latents(context: Context) -> Iterator[Finding]:
    """Yield the outputs of layers that are rounded on their way to other layers."""
    for event, name in foreign(context, *(last(one) for one in _ROUNDING)):
        function = event.scope.function
        if name not in _ROUNDING or function is None or function.owner is None or not event.value.args:
            continue
        if not _layer_within(context, event.node.args[0], event.scope) or in_test(event.scope):
            continue
        if any(last_word(n) in _ESTIMATORS | {"stop_gradient"} for n in ast.walk(function.node)):
            continue
        for other in context.bodies.calls.get(event.scope, ()):
            if event.value in other.value.args and _layer(context, other.value, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{last(name)}` has no gradient: the layers before it learn nothing",
                    "let the gradient pass: z + jax.lax.stop_gradient(jnp.round(z) - z)",
                )
                break


def _layer(context: Context, call: Call, scope: Scope) -> bool:
    """Say whether a call calls a layer that the object of a method holds."""
    callee = call.callee
    if not isinstance(callee, Attr) or not isinstance(callee.base, Param):
        return False
    return callee.base is callee.base.function.self_param and kinds_of(context, callee, scope) == {Kind.MODULE}


def _layer_within(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression, or the variable that it is, comes from a layer."""
    values = scope.module.values
    pending: list[ast.AST] = [node]
    for _ in range(6):
        found = [n for one in pending for n in ast.walk(one)]
        if any(isinstance(v := values.get(n), Call) and _layer(context, v, scope) for n in found):
            return True
        pending = [
            inner
            for n in found
            if isinstance(n, ast.Name) and isinstance(inner := getattr(values.get(n), "node", None), ast.AST)
        ]
    return False


RULE = lint_rule(
    "NNX884",
    "flat-loss",
    "a loss that depends on its parameters through argmax, rounding, comparisons or stop_gradient only",
    why="""\
What goes in steps has the derivative zero: with the accuracy, or anything of `argmax`, `round` or a comparison for a
loss, all gradients are zero and nothing is learned, without an error. So are they if `stop_gradient` stands around the
parameters as well as around the target. The same holds for the layers in front of outputs that are rounded without an
estimator of the gradient, and for estimators written wrong: `stop_gradient(x + q - x)`, `x + stop_gradient(q) - x` and
`q + stop_gradient(x - q)`. Right is `x + stop_gradient(q - x)`.
""",
    source="jax issues 17555 and others; Stack Overflow; measured: gradients of zero",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss(params, x, labels):
    predicted = jnp.argmax(x @ params, axis=-1)
    return 1.0 - jnp.mean(predicted == labels)


step = jax.grad(loss)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss(params, x, labels):
    logits = x @ params
    right = jnp.argmax(logits, axis=-1) == labels
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], 1)) + 0.0 * right.mean()


step = jax.grad(loss)
""",
    ),
)
