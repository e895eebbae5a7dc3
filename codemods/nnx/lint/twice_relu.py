"""NNX951: second derivatives of a network of straight pieces, which are zero everywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Function, Ref, Value

_FIRST = frozenset({"jax.grad", "jax.jacfwd", "jax.jacrev", "jax.jacobian"})
# what a network is given, in contrast to its weights
_INPUT = pattern(r"^(x|xs|t|z|y|s|r|q|xy|xt|tx|xyz|xyt|u|v|pos|positions?|coords?|points?|pts?|inputs?|state|x_?\w)$")
_WEIGHTS = pattern(r"param|theta|weights|layers|variables|model|net|(^|_)(w|ws|b|phi|self|key|rngs?)(_|\d|$)", re.I)
_ACTIVATION = pattern(r"act|fn|func|nonlin|norm|phi|sigma|embed|feature|encod", re.I)
_RELU = frozenset({"relu", "relu6", "leaky_relu", "hard_tanh"})
# what is curved, or not known to be straight
_CURVED = frozenset(
    {"tanh", "sin", "cos", "gelu", "softplus", "silu", "swish", "sigmoid", "elu", "selu", "celu", "mish", "softmax",
     "log_softmax", "LayerNorm", "BatchNorm", "RMSNorm", "GroupNorm", "MultiHeadAttention", "soft_sign", "glu", "PReLU",
      "erf", "log_sigmoid", "hard_swish", "hard_silu", "logsumexp"}
)  # fmt: skip
_STRAIGHT = frozenset(
    {"reshape", "ravel", "squeeze", "atleast_1d", "atleast_2d", "array", "asarray", "stack", "concatenate", "hstack",
     "expand_dims", "sum", "mean", "dot", "matmul", "einsum", "transpose", "astype", "zip", "range", "len", "enumerate",
     "list", "tuple", "broadcast_to", "flatten", "zeros", "ones", "float32", "reversed", "append", "column_stack"}
)  # fmt: skip
_PRODUCTS = frozenset({"dot", "matmul", "einsum"})
_LAYERS = frozenset({"Linear", "Dense", "LinearGeneral", "DenseGeneral", "Sequential", "List", "Dropout", "Einsum"})
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    if not any(w in module.source.data for module in context.project.modules for w in (b"relu", b"maximum(")):
        return
    told: set[ast.AST] = set()
    for event, name in foreign(context, "hessian", "grad", "jacfwd", "jacrev", "jacobian", "jvp"):
        if not event.value.args or in_test(event.scope) or event.value.starred:
            continue
        given = context.flow.here(event.value.args[0], event.scope)
        if name == "jax.hessian":
            twice: tuple[Bound, int] | None = (given, place) if (place := _place(event.node)) is not None else None
        elif name in _FIRST or name == "jax.jvp":
            twice = _derivative(context, given, _place(event.node) if name in _FIRST else None)
        else:
            continue
        place_of_relu = _network(context, *twice) if twice is not None else None
        if place_of_relu is not None and place_of_relu[1] not in told:
            function, node = place_of_relu
            told.add(node)
            yield finding(
                RULE.code,
                function.scope,
                node,
                "the network is made of straight pieces by relu, and its second derivatives, which are taken here, "
                "are zero everywhere",
                "take a smooth activation, such as jnp.tanh or jax.nn.gelu",
                related=[(event.node, "taken here")] if event.scope.module is function.scope.module else [],
            )


def _place(call: ast.Call) -> int | None:
    """Return by which argument a call of ``jax.grad`` or the like takes the derivative."""
    given = argument(call, 1, "argnums")
    number = 0 if given is None else constant(given)
    return number if isinstance(number, int) and keyword(call, "has_aux") is None else None


def _derivative(context: Context, bound: Bound, place: int | None) -> tuple[Bound, int] | None:
    """Return the function whose first derivative a function is, and by which argument.

    Args:
        context: the analysis.
        bound: the function.
        place: by which of its arguments another derivative is taken; None if by all.
    """
    found = context.flow.resolve(bound)
    if isinstance(found.value, Call):
        inner = _gradient(context, found)
        return inner if inner is not None and place in (None, inner[1]) else None
    if not isinstance(found.value, Function) or place is None:
        return None
    facts = found.value.facts
    if len(facts.returns) != 1 or place >= len(facts.params):
        return None
    node = _bare(facts)
    value = facts.scope.module.values.get(node) if node is not None else None
    if not isinstance(value, Call) or not isinstance(node, ast.Call):
        return None
    here = context.flow.here(value, facts.scope)
    inner = _gradient(context, context.flow.follow(here, value.callee))
    name = list(facts.params)[place]
    if inner is None or inner[1] >= len(node.args):
        return None
    taken = node.args[inner[1]]
    others = {n for at, one in enumerate(node.args) if at != inner[1] for n in names_in(one)}
    return inner if isinstance(taken, ast.Name) and taken.id == name and name not in others else None


def _bare(facts: FunctionFacts) -> ast.expr | None:
    """Return what a function returns, without indices and sums."""
    if isinstance(facts.node, ast.Lambda):
        node: ast.expr | None = facts.node.body
    else:
        last_one = facts.node.body[-1]
        node = last_one.value if isinstance(last_one, ast.Return) and len(facts.node.body) <= 2 else None
    while node is not None:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            if node.func.attr not in {"sum", "squeeze", "reshape"}:
                return node
            node = node.func.value
        elif isinstance(node, ast.Call) and last_word(node.func) in {"sum", "squeeze"} and len(node.args) == 1:
            node = node.args[0]
        else:
            return node
    return None


def _gradient(context: Context, bound: Bound) -> tuple[Bound, int] | None:
    """Return the function of which ``jax.grad(f, k)`` takes the derivative, and k."""
    value = bound.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(bound) not in _FIRST or not value.args:
        return None
    place = _place(value.node)
    return (context.flow.with_value(bound, value.args[0]), place) if place is not None else None


def _network(context: Context, bound: Bound, place: int) -> tuple[FunctionFacts, ast.AST] | None:
    """Return where a network of straight pieces bends, if the derivative is taken by its input."""
    callees = context.flow.calls.callables(context.flow.resolve(bound))
    if len(callees) == 1 and not callees[0].gradient:
        function, skipped = callees[0].function, len(callees[0].args) + int(callees[0].receiver is not None)
    else:
        methods = _methods(context, bound) if not callees else []
        if len(methods) != 1:
            return None
        function, skipped = methods[0], 1
    params = list(function.params)[skipped:]
    if place >= len(params) or not _INPUT.search(params[place]) or _WEIGHTS.search(params[place]):
        return None
    pieces = _Pieces(context)
    return pieces.bend if pieces.straight(function, {params[place]}, 0) and pieces.bend is not None else None


def _methods(context: Context, bound: Bound) -> list[FunctionFacts]:
    """Return what is run where a model is called."""
    classes = {context.flow.classes.class_of(one) for one in context.sources.originals(bound)}
    methods = [context.flow.classes.method(one, "__call__") if one is not None else None for one in classes]
    return [one for one in methods if one is not None] if None not in methods else []


class _Pieces:
    """Goes through the functions of a network."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: set[FunctionFacts] = set()
        self.bend: tuple[FunctionFacts, ast.AST] | None = None

    def straight(self, function: FunctionFacts, given: set[str], depth: int) -> bool:
        """Say whether a function certainly makes nothing but straight pieces of some of its parameters."""
        if function in self._seen:
            return True
        if depth > _DEPTH or any(_changes(self._context, one, function) for one in function.decorators):
            return False
        self._seen.add(function)
        nodes = list(ast.walk(function.node))
        varied = _varied(function, nodes, given)
        for node in nodes:
            if isinstance(node, ast.BinOp) and not self._sum(node, varied):
                return False
            if isinstance(node, ast.Name | ast.Attribute) and last_word(node) in _CURVED:
                return False
            if isinstance(node, ast.Name | ast.Attribute) and last_word(node) in _RELU:
                self.bend = self.bend or (function, node)
            if isinstance(node, ast.Call) and _rectifies(node):
                self.bend = self.bend or (function, node)
            if isinstance(node, ast.Compare | ast.IfExp) and names_in(node) & varied:
                return False
            if isinstance(node, ast.Call) and not self._call(function, node, varied, depth):
                return False
        return True

    def _sum(self, node: ast.BinOp, varied: set[str]) -> bool:
        """Say whether an operation is straight in what varies."""
        left, right = (bool(names_in(side) & varied) for side in (node.left, node.right))
        if isinstance(node.op, ast.Add | ast.Sub):
            return True
        if isinstance(node.op, ast.Mult | ast.MatMult):
            return not (left and right)
        return not right and (not left or isinstance(node.op, ast.Div))

    def _call(self, function: FunctionFacts, node: ast.Call, varied: set[str], depth: int) -> bool:
        context, word = self._context, last_word(node.func)
        value, home = function.scope.module.values.get(node), context.bodies.home(node)
        if not isinstance(value, Call) or home is None or not any(names_in(one) & varied for one in _given(node)):
            return True  # of the weights alone
        here = context.flow.here(value, home)
        name = context.flow.calls.callee_name(here)
        if name:
            if word in _PRODUCTS and sum(bool(names_in(one) & varied) for one in node.args) > 1:
                return False
            if last(name) in _RELU:  # under another name too
                self.bend = self.bend or (function, node)
            return last(name) in _STRAIGHT | _RELU or _rectifies(node)
        callee = context.flow.follow(here, value.callee)
        if isinstance(node.func, ast.Call):  # nn.Dense(8)(x)
            return last(context.flow.calls.callee_name(callee)) in _LAYERS
        if isinstance(callee.value, Ref):
            return last(callee.value.name) in _RELU | _STRAIGHT
        sources = context.sources.originals(callee)
        names = {last(context.flow.calls.callee_name(one)) for one in sources}
        if sources and names <= _LAYERS:
            return all(self._in_sequence(one, function, node) for one in sources)
        invoked = [one for one, _ in context.flow.calls.invoked(here)]
        if invoked:
            return all(self._entered(one.function, node, depth) for one in invoked)
        methods = _methods(context, self._applied(callee, word) or callee)
        if methods:
            return all(self._entered(method, node, depth) for method in methods)
        if function.owner is not None and _of_layers(function.owner.node):
            return isinstance(node.func, ast.Name | ast.Attribute | ast.Subscript) and not _ACTIVATION.search(word)
        return isinstance(node.func, ast.Attribute) and word in _STRAIGHT

    def _in_sequence(self, layers: Bound, function: FunctionFacts, node: ast.Call) -> bool:
        """Say whether the activations among the layers of a Sequential are straight pieces."""
        value = layers.value
        if not isinstance(value, Call) or last(self._context.flow.calls.callee_name(layers)) != "Sequential":
            return True
        for part in value.args:
            inner = self._context.flow.follow(layers, part).value
            if isinstance(inner, Ref) and last(inner.name) in _RELU:
                self.bend = self.bend or (function, node)
            elif not isinstance(inner, Call) and not (isinstance(inner, Ref) and last(inner.name) in _STRAIGHT):
                return False
        return not value.starred

    def _applied(self, callee: Bound, word: str) -> Bound | None:
        """Return the model of ``model.apply(params, x)``."""
        base = getattr(callee.value, "base", None)
        return self._context.flow.follow(callee, base) if word == "apply" and base is not None else None

    def _entered(self, function: FunctionFacts, node: ast.Call, depth: int) -> bool:
        given = {name for name in function.params if not _WEIGHTS.search(name)}
        if function.owner is not None and not _of_layers(function.owner.node):
            return False
        return self.straight(function, given, depth + 1)


def _rectifies(node: ast.Call) -> bool:
    """Say whether a call is ``jnp.maximum(x, 0)``."""
    return last_word(node.func) == "maximum" and len(node.args) == 2 and any(constant(one) == 0 for one in node.args)


def _changes(context: Context, decorator: Value, function: FunctionFacts) -> bool:
    """Say whether a decorator may make another function of one."""
    found = context.flow.resolve(context.flow.here(decorator, function.scope)).value
    return not isinstance(found, Ref) or last(found.name) not in {"compact", "jit", "checkpoint", "remat"}


def _given(node: ast.Call) -> Iterator[ast.expr]:
    yield from node.args
    yield from (k.value for k in node.keywords)
    if isinstance(node.func, ast.Attribute):
        yield node.func.value


def _of_layers(node: ast.ClassDef) -> bool:
    """Say whether a class makes nothing but layers without bends of their own."""
    words = {last_word(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
    return not words & _CURVED and bool(words & _LAYERS)


def _varied(function: FunctionFacts, nodes: list[ast.AST], given: set[str]) -> set[str]:
    """Return the names of what some parameters of a function are made into."""
    varied = set(given)
    bound: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        if isinstance(node, ast.Assign):
            bound += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.For | ast.comprehension):
            bound.append((node.target, node.iter))
        elif isinstance(node, ast.NamedExpr | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            bound.append((node.target, node.value))
    for _ in range(_DEPTH):
        before = len(varied)
        for target, value in bound:
            if names_in(value) & varied:
                varied |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        if len(varied) == before:
            break
    return varied


_BAD = """\
import jax
import jax.numpy as jnp


def network(params, x):
    hidden = jax.nn.relu(x * params["w"] + params["b"])
    return hidden @ params["out"]


def residual(params, x):
    second = jax.grad(jax.grad(network, argnums=1), argnums=1)(params, x)
    return second + jnp.sin(x)


params = {"w": jnp.ones(4), "b": jnp.zeros(4), "out": jnp.ones(4)}
print(residual(params, 0.5))
"""

RULE = lint_rule(
    "NNX951",
    "twice-relu",
    "second derivatives of a network whose only activation is relu",
    why="""\
relu joins straight pieces, and so does a network of it: the second derivative by its input is zero wherever it exists.
A differential equation of second order, a curvature or a Laplacian then says nothing of the network, and its weights
get no gradient from it. It takes a smooth activation.
""",
    source="Raissi et al. 2019; github.com/lululxvi/deepxde/issues/80; measured: the second derivative is 0",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jax.nn.relu", "jnp.tanh"), _BAD.replace("jax.grad(jax.grad(network, argnums=1), argnums=1)",
                                                                  "jax.grad(network, argnums=1)")),
)  # fmt: skip
