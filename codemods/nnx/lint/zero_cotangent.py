"""NNX524: backward rules that give zeros for an argument through which earlier layers get their gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.derivative_rule import is_custom, made_custom, only_function
from codemods.nnx.lint.ignored_cotangent import dependent, loads, results
from codemods.nnx.lint.names import last
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import formula_of, in_test, received, shown, written
from codemods.nnx.lint.syntax import argument, assignments, constant, is_none
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Loop

# words of rules that leave a gradient out on purpose
_WANTED = pattern(
    r"stop|detach|froz|freez|no_?grad|non_?diff|not diff|without grad|no gradient|ignor|block|const|fixed|mask|straight"
    r"|\bste\b|not needed|unused|skip|target|label|zero grad|dummy|data",
    re.IGNORECASE,
)
# functions whose derivative is not zero, but at single points
_SMOOTH = frozenset(
    f"jax.{home}.{word}"
    for home in ("numpy", "lax", "nn")
    for word in (
        "dot", "matmul", "einsum", "multiply", "add", "subtract", "divide", "outer", "inner", "vdot", "tensordot",
        "sum", "mean", "exp", "tanh", "sin", "cos", "log", "log1p", "expm1", "sqrt", "square", "transpose", "reshape",
        "dot_general", "mul", "sub", "div", "sigmoid", "silu", "gelu", "softplus", "softmax", "swapaxes", "concatenate",
    )
)  # fmt: skip
_OF_ARRAYS = frozenset({"sum", "mean", "dot", "reshape", "transpose", "swapaxes", "ravel", "astype"})
_ZEROS = frozenset({"jax.numpy.zeros_like", "jax.numpy.zeros", "jax.lax.zeros_like_array"})
# what lets no gradient through
_CUTTING = frozenset({"stop_gradient", "argmax", "argmin", "argsort", "round", "rint", "floor", "ceil", "sign",
                      "one_hot", "searchsorted"})  # fmt: skip
_DEPTH = 6
_MOST = 300  # functions that are followed


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"defvjp") for module in context.asked.modules):
        return
    for event in context.bodies.named("defvjp"):
        rules = rules_of(context, event)
        if rules is None:
            continue
        primal, backward = rules
        text = primal.scope.module.source.text(primal.node) + backward.scope.module.source.text(backward.node)
        if _WANTED.search(text) or _WANTED.search(_before(backward)):
            continue
        for name, part in _zeros(context, primal, backward):
            if not _smooth_in(context, primal, name):
                continue
            call = next((one for one in _calls(context, primal) if _activation_given(context, one, primal, name)), None)
            if call is not None:
                yield finding(
                    RULE.code,
                    backward.scope,
                    part,
                    f"{shown(backward)} gives zeros for `{name}`, on which {shown(primal)} depends: what computed it "
                    f"is not trained",
                    f"return the gradient with respect to `{name}`, times `{list(backward.params)[-1]}`",
                )
                break


def rules_of(context: Context, event: CallEvent) -> tuple[FunctionFacts, FunctionFacts] | None:
    """Return the function and the backward rule that a call of ``defvjp`` brings together, in files that are asked.

    Args:
        context: the analysis.
        event: the call.
    """
    func, node = event.node.func, argument(event.node, 1, "bwd")
    if not isinstance(func, ast.Attribute) or node is None or event.value.starred or in_test(event.scope):
        return None
    values = event.scope.module.values
    owner, given = values.get(func.value), values.get(node)
    if owner is None or given is None:
        return None
    primal = only_function(context, context.flow.here(owner, event.scope))
    backward = only_function(context, context.flow.here(given, event.scope))
    if primal is None or backward is None or backward.scope.module not in context.asked:
        return None
    if made_custom(context, owner, event) is None and not is_custom(context, primal, "jax.custom_vjp"):
        return None
    plain = all(one.vararg is None and one.kwarg is None and one.self_param is None for one in (primal, backward))
    return (primal, backward) if plain and len(backward.params) == 2 else None


def _before(function: FunctionFacts) -> str:
    """Return the comments right above a function, and at the ends of its lines."""
    source = function.scope.module.source
    line = function.node.lineno - 1 - len(getattr(function.node, "decorator_list", ()))
    above = [source.line(number) for number in range(max(line - 2, 1), line + 1)]
    return "\n".join(one for one in above if one.lstrip().startswith("#"))


def _zeros(context: Context, primal: FunctionFacts, backward: FunctionFacts) -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments that a rule always gives zeros for, beside a gradient for another one."""
    given = list(backward.params)[-1]
    known = dependent(backward, given)
    names = list(primal.params)
    every = list(results(context, backward))
    tuples = [one for one in every if isinstance(one, ast.Tuple) and len(one.elts) == len(names)]
    if not every or len(tuples) != len(every):
        return
    for place, name in enumerate(names):
        parts = [one.elts[place] for one in tuples]
        others = [part for one in tuples for part in one.elts if part is not one.elts[place]]
        if all(is_zero(context, backward, part) for part in parts) and any(loads(part) & known for part in others):
            yield name, parts[0]


def is_zero(context: Context, rule: FunctionFacts, part: ast.expr) -> bool:
    """Say whether a gradient is written as none: zeros, or None, which stands for them.

    Args:
        context: the analysis.
        rule: the backward rule.
        part: the gradient for one argument.
    """
    node = written(context, part, rule.scope)
    if is_none(node):
        return True
    value = rule.scope.module.values.get(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(constant(side) in (0, 0.0) and constant(side) is not None for side in (node.left, node.right))
    if not isinstance(value, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, rule.scope)) in _ZEROS


def _smooth_in(context: Context, primal: FunctionFacts, name: str) -> bool:
    """Say whether a function depends on a parameter by products and the like, whose derivatives are not zero."""
    formula = formula_of(context, primal)
    return formula is not None and depends(context, primal, formula, name, 0)


def depends(context: Context, function: FunctionFacts, node: ast.expr, name: str, depth: int) -> bool:
    """Say whether an expression depends on a variable by products and the like.

    Args:
        context: the analysis.
        function: the function that both stand in.
        node: the expression.
        name: a parameter, or what is set once.
        depth: how many operations were gone through.
    """
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        if node.id == name:
            uses = context.bodies.names(function.scope).get(name, ())
            return sum(not isinstance(n.ctx, ast.Load) for n in uses) <= (name not in function.params)
        inner = written(context, node, function.scope)
        return inner is not node and depends(context, function, inner, name, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return depends(context, function, node.operand, name, depth + 1)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.MatMult | ast.Pow):
            return False
        sides = (node.left,) if isinstance(node.op, ast.Pow) else (node.left, node.right)
        return any(depends(context, function, side, name, depth + 1) for side in sides)
    if isinstance(node, ast.Attribute):
        return node.attr in {"T", "mT"} and depends(context, function, node.value, name, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    value = function.scope.module.values.get(node)
    called = context.flow.calls.callee_name(context.flow.here(value, function.scope)) if value is not None else ""
    if called in _SMOOTH:
        return any(depends(context, function, one, name, depth + 1) for one in node.args)
    if not called and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_ARRAYS:
        return depends(context, function, node.func.value, name, depth + 1)
    return False


def _calls(context: Context, primal: FunctionFacts) -> Iterator[CallEvent]:
    for event in context.flow.sites.callers(primal):
        if not event.value.starred and not in_test(event.scope) and event.scope.function is not None:
            yield event


def _activation_given(context: Context, event: CallEvent, primal: FunctionFacts, name: str) -> bool:
    """Say whether a call gives what trained layers made of data for a parameter, where a gradient is taken."""
    node = argument(event.node, list(primal.params).index(name), name)
    function = event.scope.function
    if node is None or function is None:
        return False
    state = context.shared(_trained).get(function)
    return state is not None and _activation(context, function, state, node)


class _State:
    """What the parameters of a function are where a gradient is taken: trained, or made of data with such ones."""

    def __init__(self) -> None:
        self.trained: set[str] = set()
        self.made: set[str] = set()


def _trained(context: Context) -> dict[FunctionFacts, _State]:
    """Return the functions that a gradient goes through, with what their parameters are."""
    found: dict[FunctionFacts, _State] = {}
    for root in context.traced.gradients:
        if not root.partial and not in_test(root.scope):
            found.setdefault(root.function, _State()).trained |= set(root.function.params) - root.static
    queue = list(found)
    for _ in range(_MOST):
        if not queue:
            break
        function = queue.pop(0)
        for event in context.bodies.calls.get(function.scope, ()):
            inner = None if event.value.starred else _called(context, event)
            if inner is None:
                continue
            state = found.get(inner) or _State()
            before = len(state.trained) + len(state.made)
            _pass(context, function, found[function], event, inner, state)
            if len(state.trained) + len(state.made) > before:
                found[inner] = state
                queue.append(inner)
    return found


def _called(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the only function that a call runs, also of a layer that is called."""
    reached = [callee for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    if len(reached) == 1:
        return None if reached[0].args or reached[0].keywords else reached[0].function
    cls = owner_class(context, event.value.callee, event.scope) if not reached else None
    return context.flow.classes.method(cls, "__call__") if isinstance(cls, ClassFacts) else None


def _pass(
    context: Context, function: FunctionFacts, outer: _State, event: CallEvent, inner: FunctionFacts, state: _State
) -> None:
    """Add what the parameters of a function are by one of its calls."""
    func = event.node.func
    own = inner.self_param.name if inner.self_param is not None else ""
    if own and isinstance(func, ast.Name | ast.Attribute):
        holder = func.value if isinstance(func, ast.Attribute) and func.attr == inner.name else func
        if loads(holder) & _from(function, outer.trained):
            state.trained.add(own)
    names = list(inner.params)[received(inner) :]
    given = [*zip(names, event.node.args, strict=False), *((k.arg, k.value) for k in event.node.keywords)]
    for name, node in given:
        if name is None or name not in inner.params:
            continue
        if _activation(context, function, outer, node):
            state.made.add(name)
        elif loads(node) & _from(function, outer.trained):
            state.trained.add(name)


def _from(function: FunctionFacts, names: set[str]) -> set[str]:
    """Return the variables of a function that depend on some of its parameters."""
    return {one for name in names for one in dependent(function, name)}


def _activation(context: Context, function: FunctionFacts, state: _State, node: ast.expr) -> bool:
    """Say whether an expression was made of data and of what is trained, and lets the gradient through."""
    node = written(context, node, function.scope)
    cutting = any(isinstance(n, ast.Name | ast.Attribute) and last(ast.unparse(n)) in _CUTTING for n in ast.walk(node))
    if cutting:
        return False
    if isinstance(node, ast.Name):
        if node.id in state.made:
            return True
        value = function.scope.module.values.get(node)
        return isinstance(value, Loop) and any(
            isinstance(target, ast.Name) and target.id == node.id and _activation(context, function, state, given)
            for one in context.bodies.nodes(function.scope)
            for target, given in assignments(one)
            if isinstance(given, ast.Call | ast.BinOp)
        )
    if not isinstance(node, ast.Call | ast.BinOp):
        return False
    used = loads(node)
    if used & _from(function, state.made) and any(_activation(context, function, state, part) for part in _parts(node)):
        return True
    data = {name for name in function.params if name not in state.trained and name not in state.made}
    around = _outer_data(function.scope)
    return bool(used & _from(function, state.trained)) and bool(used & (_from(function, data) | around))


def _outer_data(scope: Scope) -> set[str]:
    """Return the parameters of the functions around one, as the batch is for the loss in a step."""
    outer = scope.parent
    return set(outer.function.params) if outer is not None and outer.function is not None else set()


def _parts(node: ast.Call | ast.BinOp) -> list[ast.expr]:
    return [node.left, node.right] if isinstance(node, ast.BinOp) else list(node.args)


RULE = lint_rule(
    "NNX524",
    "zero-cotangent",
    "a backward rule of custom_vjp gives zeros for an argument that earlier layers have computed",
    why="""\
What a backward rule returns for an argument goes on to what computed it. Zeros for the input of a layer are right for
its first use, where the input is data; behind another layer they end the chain rule: the layers before it get no
gradient, and are not trained, without an error.
""",
    source="jax issue 17496; measured: gradients of zero for the first of two layers on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def matvec(m, v):
    return m @ v


def forward(m, v):
    return matvec(m, v), (m, v)


def backward(kept, g):
    m, v = kept
    return jnp.outer(g, v), jnp.zeros_like(v)


matvec.defvjp(forward, backward)


def loss(params, x):
    h = jnp.tanh(matvec(params["w1"], x))
    return jnp.sum(matvec(params["w2"], h))


gradients = jax.grad(loss)({"w1": jnp.ones((3, 2)), "w2": jnp.ones((2, 3))}, jnp.ones(2))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def matvec(m, v):
    return m @ v


def forward(m, v):
    return matvec(m, v), (m, v)


def backward(kept, g):
    m, v = kept
    return jnp.outer(g, v), m.T @ g


matvec.defvjp(forward, backward)


def loss(params, x):
    h = jnp.tanh(matvec(params["w1"], x))
    return jnp.sum(matvec(params["w2"], h))


print(jax.grad(loss)({"w1": jnp.ones((3, 2)), "w2": jnp.ones((2, 3))}, jnp.ones(2))["w1"])
""",
    ),
)
