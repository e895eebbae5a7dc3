"""NNX850: losses that return more than the loss."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import callers_of, foreign, is_metric, shown, taken
from codemods.nnx.lint.syntax import added_keyword, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Ref, Sequence

_NAMES = frozenset({"flax.nnx.grad", "flax.nnx.value_and_grad", "jax.grad", "jax.value_and_grad"})
_VALUED = frozenset({"flax.nnx.value_and_grad", "jax.value_and_grad"})


def _plain(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function gives what it returns: no decorator of the project, nor one that takes a part of it."""
    outer = function.scope.parent
    if outer is None:
        return True
    for decorator in function.decorators:
        bound = context.flow.resolve(context.flow.here(decorator, outer))
        name = bound.value.name if isinstance(bound.value, Ref) else context.flow.calls.callee_name(bound)
        if not name or name == "jax.custom_gradient":
            return False
    return True


def _check(context: Context) -> Iterator[Finding]:
    yield from _unpacked_numbers(context)
    yield from _unpacked_otherwise(context)
    for event, name in foreign(context, "grad", "value_and_grad"):
        if name not in _NAMES or not event.value.args or event.value.starred:
            continue
        given = keyword(event.node, "has_aux")
        aux = constant(given) if given is not None else False
        if not isinstance(aux, bool):
            continue
        call = _call(context, event)
        if not aux and _of_other_kind(context, event):
            continue
        if not aux:
            callees = _functions(context, context.flow.here(event.value.args[0], event.scope))
            if callees and all(_gives_tuple(context, one) and _plain(context, one) for one in callees):
                several = (
                    f", and so do all others that `{ast.unparse(event.node.args[0])}` may be" if callees[1:] else ""
                )
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"{shown(callees[0])} returns a tuple{several}, and only a number can be differentiated",
                    "add has_aux=True: (loss, aux), grads = ...",
                    _fix(event) if call is not None and name.endswith("value_and_grad") and _takes_aux(call) else None,
                )
        elif isinstance(call, ast.Name) and name.endswith(".grad"):
            if _as_gradients(context, event, call.id) or _as_number(context, event.scope, {call.id}):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"with has_aux=True `{call.id}` is a tuple of the gradients and the rest",
                    "unpack it: grads, aux = ...",
                )


def _of_other_kind(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands in an arm of a condition that tells whether the function gives a value alone:
    ``if self.value_and_grad``, or ``if not self.has_aux``."""
    paths = context.bodies.paths(event.scope).get(event.node, ())
    return any(
        isinstance(block, ast.If | ast.IfExp)
        and any(last_word(n) in _KINDS for n in ast.walk(block.test) if isinstance(n, ast.Name | ast.Attribute))
        for block, _ in paths
    )


_KINDS = frozenset({"value_and_grad", "has_aux"})


def _unpacked_numbers(context: Context) -> Iterator[Finding]:
    """Yield the values without aux that are unpacked: whatever the function is, its value is one number."""
    for event in context.bodies.unpacked:
        module = event.scope.module
        if module not in context.asked or not module.source.mentions(b"value_and_grad"):
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        if (
            not isinstance(target, ast.Tuple)
            or not _takes_aux(target)
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        layer = _gradient(context, event, _VALUED)
        if layer is None or not isinstance(layer.value, Call) or layer.value.starred:
            continue
        made = layer.value
        if made.argument(2, "has_aux") is not None or not made.args:
            continue
        callees = _functions(context, context.flow.with_value(layer, made.args[0]))
        if callees and all(_returns_tuple(one) and _plain(context, one) for one in callees):
            continue  # told where it is made
        yield finding(
            RULE.code,
            event.scope,
            target,
            f"without has_aux the value is one number, which `{ast.unparse(target.elts[0])}` cannot unpack",
            "add has_aux=True if the function returns more than its loss",
            related=[(made.node, "made here")]
            if made.node in module.values and made.node.lineno != target.lineno
            else [],
        )


def _unpacked_otherwise(context: Context) -> Iterator[Finding]:
    """Yield the results with aux that are unpacked as if the loss, the rest and the gradients stood side by side."""
    if not any(module.source.mentions(b"has_aux") for module in context.project.modules):
        return
    for event in context.bodies.unpacked:
        if event.scope.module not in context.asked:
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        assert isinstance(target, ast.Tuple)
        if context.bodies.guarded(event.node, event.scope) or not _otherwise(target):
            continue
        made = _with_aux(context, event)
        if made is None:
            continue
        name, node = made
        here = node in event.scope.module.values and node.lineno != event.node.lineno
        related: list[tuple[ast.AST, str]] = [(node, "made here")] if here else []
        valued = name.endswith("value_and_grad")
        if len(target.elts) != 2:
            two = "the first is the loss with the rest" if valued else "the second is the rest"
            message = f"with has_aux=True the result has two parts, of which {two}"
        elif not valued:
            continue
        elif _gradients_inside(target):
            message = f"with has_aux=True the gradients come last: `{ast.unparse(target.elts[1])}` gets them"
        elif _takes_aux(target):
            message = "with has_aux=True the first part is a pair, the loss and the rest"
        else:
            loss = target.elts[0]
            assert isinstance(loss, ast.Name)
            if not (
                _as_number(context, event.scope, {loss.id})
                or _averaged(context, event.scope, loss.id)
                or _returned_as_number(context, event, target)
            ):
                continue
            message = f"with has_aux=True `{loss.id}` is a tuple of the loss and the rest"
        form = "(loss, aux), grads = ..." if valued else "grads, aux = ..."
        yield finding(RULE.code, event.scope, target, message, f"unpack it: {form}", related=related)


def _otherwise(target: ast.Tuple) -> bool:
    """Say whether the form of a target is not, or need not be, that of a loss with aux and gradients."""
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return False
    first = target.elts[0]
    if len(target.elts) == 2 and isinstance(first, ast.Tuple | ast.List):
        return _gradients_inside(target) or (
            len(first.elts) != 2 and not any(isinstance(part, ast.Starred) for part in first.elts)
        )
    return len(target.elts) != 2 or (isinstance(first, ast.Name) and _LOSS.fullmatch(first.id) is not None)


def _gradients_inside(target: ast.Tuple) -> bool:
    """Say whether a target is ``(loss, grads), aux``: gradients beside the loss, and something else behind."""
    first, rest = target.elts
    if not isinstance(first, ast.Tuple | ast.List) or len(first.elts) != 2 or not isinstance(rest, ast.Name):
        return False
    inner = first.elts[1]
    return (
        isinstance(inner, ast.Name)
        and _GRADIENTS.fullmatch(inner.id) is not None
        and _GRADIENTS.fullmatch(rest.id) is None
        and rest.id.strip("_") != ""
    )


_GRADIENTS = pattern(r"(\w+_)?d?(grads?|gradients?)(_\w+)?|g")
_LOSS = pattern(r"l|value|cost|nll|elbo|(\w+_)?loss(_\w+)?")


def _with_aux(context: Context, event: CallEvent) -> tuple[str, ast.expr] | None:
    """Return which function of gradients made what a call calls, and where, if that gives aux for certain."""
    callee = context.flow.here(event.value.callee, event.scope)
    gradient = _gradient(context, event, _NAMES)
    if gradient is not None and isinstance(gradient.value, Call):
        made = gradient.value
        options = context.flow.follow(gradient, made.callee).value
        given = [keyword(one.node, "has_aux") for one in (made, options) if isinstance(one, Call)]
        if any(constant(one) is True for one in given):
            return context.flow.calls.wrapper_name(gradient, made), made.node
        return None
    callees = context.flow.calls.callables(callee)
    if len(callees) != 1 or not callees[0].gradient or len(callees[0].function.decorators) != 1:
        return None
    function = callees[0].function
    outer = function.scope.parent
    found = context.flow.resolve(context.flow.here(function.decorators[0], outer)) if outer is not None else None
    if found is None or not isinstance(found.value, Call) or constant(keyword(found.value.node, "has_aux")) is not True:
        return None
    name = _applied(context, found, found.value)
    return (name, found.value.node) if name in _NAMES else None


def _gradient(context: Context, event: CallEvent, names: frozenset[str]) -> Bound | None:
    """Return the gradient function whose result, as it is or compiled or mapped, a call calls."""
    for layer in layers(context, context.flow.here(event.value.callee, event.scope)):
        assert isinstance(layer.value, Call)
        if context.flow.calls.wrapper_name(layer, layer.value) in names:
            return layer
        if context.flow.calls.callee_name(layer) not in _WHOLE:
            return None
    return None


# what gives all that the function gives, in the same structure
_WHOLE = frozenset({"jax.jit", "flax.nnx.jit", "jax.vmap", "jax.pmap"})


def _functions(context: Context, given: Bound) -> list[FunctionFacts]:
    """Return the functions that a value may be, those of a dict that it is taken from among them; none if not known."""
    callees = context.flow.calls.callables(given)
    if callees:
        return list(dict.fromkeys(one.function for one in callees))
    found: dict[FunctionFacts, None] = {}
    for source in context.sources.originals(given):
        several = context.flow.calls.callables(source)
        if not several:
            return []
        found |= dict.fromkeys(one.function for one in several)
    return list(found)


def _applied(context: Context, found: Bound, made: Call) -> str:
    """Return the name of the gradient function that a decorator with options applies."""
    name = context.flow.calls.callee_name(found)
    if name == "functools.partial" and made.args and not made.starred:
        return str(getattr(context.flow.follow(found, made.args[0]).value, "name", ""))
    return "" if made.args or made.starred else name


def _as_gradients(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable is given to an update as if it were the gradients alone."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "update"
        and any(isinstance(a, ast.Name) and a.id == name for a in (*node.args, *(k.value for k in node.keywords)))
        for node in context.bodies.nodes(event.scope)
    )


def _returns_tuple(function: FunctionFacts) -> bool:
    returns = function.returns
    return (
        bool(returns)
        and not function.generator
        and all(isinstance(r, Sequence) and isinstance(r.node, ast.Tuple) and len(r.items) > 1 for r in returns)
    )


def _gives_tuple(context: Context, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether a function returns a tuple, or what another one of the project gives that does."""
    if _returns_tuple(function) or depth > 2:
        return _returns_tuple(function)
    if len(function.returns) != 1 or not isinstance(function.returns[0], Call) or function.generator:
        return False
    inner = context.flow.calls.invoked(context.flow.here(function.returns[0], function.scope))
    return (
        len(inner) == 1
        and not inner[0][0].gradient
        and all(
            _plain(context, callee.function) and _gives_tuple(context, callee.function, depth + 1)
            for callee, _ in inner
        )
    )


def _call(context: Context, event: CallEvent) -> ast.expr | None:
    """Return the target that the result of calling the gradient function is assigned to."""
    names: set[str] = set()
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        value = node.value
        if value is event.node and isinstance(node.targets[0], ast.Name):
            names.add(node.targets[0].id)
        elif isinstance(value, ast.Call) and (
            value.func is event.node or (isinstance(value.func, ast.Name) and value.func.id in names)
        ):
            return node.targets[0]
    return None


def _takes_aux(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[0], ast.Tuple | ast.List)


def _returned_as_number(context: Context, event: CallEvent, target: ast.Tuple) -> bool:
    """Say whether a function returns what stands for the loss, and one of its callers counts with it."""
    function, loss = event.scope.function, target.elts[0]
    nodes = context.bodies.nodes(event.scope)
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    bound = [node for node in nodes if isinstance(node, ast.Name) and node.id == getattr(loss, "id", "")]
    if function is None or len(returned) != 1 or sum(isinstance(node.ctx, ast.Store) for node in bound) != 1:
        return False
    parts = returned[0].elts if isinstance(returned[0], ast.Tuple) else [returned[0]]
    places = [i for i, part in enumerate(parts) if part in bound]
    if len(places) != 1:
        return False
    for caller in callers_of(context, function):
        if not isinstance(returned[0], ast.Tuple):
            statement = caller.statement
            if isinstance(statement, ast.Assign) and statement.value is caller.node:
                names = {one.id for one in statement.targets if isinstance(one, ast.Name)}
            else:
                names = set()
            if _as_number(context, caller.scope, names, caller.node):
                return True
        else:
            got = taken(caller, places[0])
            if isinstance(got, ast.Name) and _as_number(context, caller.scope, {got.id}):
                return True
    return False


def _as_number(context: Context, scope: Scope, names: set[str], call: ast.Call | None = None) -> bool:
    """Say whether a variable, or a call, is used as the loss itself: in arithmetic, formatted or made a float."""
    nodes = context.bodies.nodes(scope)
    stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    names = {name for name in names if stored[name] == 1}
    for node in nodes:
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.AugAssign):
            parts = [node.value]
        elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.FormattedValue):
            parts = [node.value] if node.format_spec is not None else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"float", "round"}:
            parts = list(node.args[:1])
        elif isinstance(node, ast.Attribute) and node.attr in {"item", "mean", "sum", "block_until_ready"}:
            parts = [node.value]
        if any((isinstance(p, ast.Name) and p.id in names) or (p is not None and p is call) for p in parts):
            return True
    return False


def _averaged(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a metric is updated with a variable that is bound once: ``metrics.update(loss=loss)``."""
    bound = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id == name)
    if sum(isinstance(n.ctx, ast.Store) for n in bound) != 1:
        return False
    return any(
        isinstance(event.value.callee, Attr)
        and event.value.callee.name == "update"
        and any(isinstance(k.value, ast.Name) and k.value.id == name for k in event.node.keywords)
        and is_metric(context, event.value.callee.base, scope)
        for event in context.bodies.calls.get(scope, ())
    )


def _fix(event: CallEvent) -> Fix | None:
    source = event.scope.module.source
    edit = added_keyword(source, event.node, "has_aux=True")
    return Fix(((source.path, edit),)) if edit is not None else None


RULE = lint_rule(
    "NNX850",
    "missing-has-aux",
    "a loss that returns a tuple without has_aux, or is unpacked without it",
    why="""\
A function to differentiate returns one number; what it returns besides needs `has_aux=True`, and then the result is
`(loss, aux), grads`. Without it a TypeError is raised.
""",
    source="JAX tutorial, section on has_aux; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


def loss_fn(model, x):
    y = model(x)
    return y.sum(), y


def step(model, x):
    return nnx.value_and_grad(loss_fn)(model, x)
""",
    ),
    mended=(
        (
            """\
from flax import nnx


def loss_fn(model, x):
    y = model(x)
    return y.sum(), y


def step(model, x):
    (loss, y), grads = nnx.value_and_grad(loss_fn)(model, x)
    return loss, grads
""",
            """\
from flax import nnx


def loss_fn(model, x):
    y = model(x)
    return y.sum(), y


def step(model, x):
    (loss, y), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x)
    return loss, grads
""",
        ),
    ),
    clean=(
        """\
from flax import nnx


def loss_fn(model, x):
    return model(x).sum()


def step(model, x):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x)
    return loss, grads
""",
    ),
    safety=Safety.SAFE,
)
