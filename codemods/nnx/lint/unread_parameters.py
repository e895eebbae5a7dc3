"""NNX526: gradients of zero, for parameters that the loss never reads."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import calls_of_gradient
from codemods.nnx.lint.handed_losses import handed_losses
from codemods.nnx.lint.ignored_model import dead_values, ignored_models, loads_of
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, in_test, kinds_of, received, shown, taken, target_of
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in, one_of, several
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import applied_word, elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Class, Free, Function, Param, Ref

_UNUSED = ("_", "dummy", "unused", "ignored")
# decorators under which a function reads what it read before
_KEEPING = frozenset({"jit", "checkpoint", "remat", *map(last, GRADIENTS)})
_UPDATES = pattern(r"^(update|apply_gradients|apply_updates|(sgd|adam|gd)(_(update|step))?|(update|step|apply)_\w+)$")
_MAPS = frozenset({"map", "tree_map", "tree_multimap"})
_DEPTH = 3  # functions that hand an argument on


def _check(context: Context) -> Iterator[Finding]:
    yield from _handed(context)
    roots = [one for one in context.traced.gradients if one.function.scope.module in context.asked]
    if not roots:
        return
    every = Counter(id(one.node) for one in context.traced.gradients)
    told: set[FunctionFacts] = {function for function, *_ in ignored_models(context)}
    for root in roots:
        function = root.function
        if root.partial or function in told or every[id(root.node)] != 1 or in_test(root.scope):
            continue
        if not _only(context, root) or not _computes(context, function):
            continue
        for number, name in _wanted(root):
            param = function.params[name]
            if name.startswith(_UNUSED) or kinds_of(context, param, function.scope) & {Kind.MODULE, Kind.OPTIMIZER}:
                continue
            if _reads(context, function, param, 0):
                continue
            if any(_updating(context, event, root, number) for event in calls_of_gradient(context, root)):
                told.add(function)
                yield finding(
                    RULE.code,
                    function.scope,
                    _place(function),
                    f"{shown(function)} does not depend on `{name}`, with respect to which the gradient is taken: "
                    "it is zero, and the update leaves everything as it is",
                    f"compute in it what depends on `{name}`: what was made before is a constant to it",
                )
                break


def _handed(context: Context) -> Iterator[Finding]:
    """Yield the losses that are handed to what differentiates them and steps, and read no parameters."""
    for event, function in handed_losses(context):
        name, param = next(iter(function.params.items()))
        if name.startswith(_UNUSED) or not _computes(context, function) or _reads(context, function, param, 0):
            continue
        yield finding(
            RULE.code,
            function.scope,
            _place(function),
            f"{shown(function)} does not depend on `{name}`, with respect to which `{last_word(event.node.func)}` "
            "takes the gradient: it is zero, and the update leaves everything as it is",
            f"compute in it what depends on `{name}`: what was made before is a constant to it",
        )


def _only(context: Context, root: Root) -> bool:
    """Say whether just this function is differentiated, as it is written."""
    function, node = root.function, root.node
    if not all(applied_word(one) in _KEEPING for one in getattr(function.node, "decorator_list", ())):
        return False
    if function.owner is not None:
        return sum(function.name in cls.methods for cls in context.project.classes()) == 1
    given = root.scope.module.values.get(node.args[0]) if isinstance(node, ast.Call) and node.args else None
    if given is None:
        return True  # a decorator
    found = context.flow.resolve(context.flow.here(given, root.scope)).value
    return isinstance(found, Function) and found.facts is function


def _computes(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function has one way out, with a result that is computed of something, and is no placeholder."""
    if _result(function) is None:
        return False
    values = function.scope.module.values
    for node in ast.walk(function.node):
        value = values.get(node) if isinstance(node, ast.Name) else None
        if isinstance(value, Free):
            value = context.flow.resolve(context.flow.here(value, function.scope)).value
            if not isinstance(value, Ref | Function | Class):
                return True
        elif isinstance(value, Param):
            return True
    return False


def _result(function: FunctionFacts) -> ast.expr | None:
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    exits = [n for n in ast.walk(function.node) if isinstance(n, ast.Return | ast.Raise | ast.Yield)]
    return exits[0].value if len(exits) == 1 and isinstance(exits[0], ast.Return) else None


def _place(function: FunctionFacts) -> ast.expr:
    result = _result(function)
    assert result is not None
    return result


def _wanted(root: Root) -> list[tuple[int, str]]:
    """Return the parameters with respect to which a gradient is taken, each with its number among them."""
    numbers = argument(root.options, 1, "argnums") if root.options is not None else None
    places = several(constant(numbers)) if numbers is not None else (0,)
    names = list(root.function.params)[received(root.function) :]
    return [
        (number, names[place])
        for number, place in enumerate(places)
        if isinstance(place, int) and 0 <= place < len(names) and names[place] not in root.static
    ]


def _reads(context: Context, function: FunctionFacts, param: Param, depth: int) -> bool:
    """Say whether the result of a function may depend on a parameter.

    It does not where the parameter stands nowhere, where it only goes into values that nothing reads, or into functions
    that do not read it.
    """
    found = loads_of(function, param)
    if found is None:
        return True
    if not found:
        return False
    if depth == _DEPTH or (isinstance(function.node, ast.Lambda) and depth):
        return True
    calls = {
        node: event
        for event in context.bodies.calls.get(function.scope, ())
        for node in (*event.node.args, *(k.value for k in event.node.keywords))
    }
    dead, _ = dead_values(function)
    for node in found:
        event = calls.get(node)
        if event is None or event.value.starred:
            return True
        inner = _called(context, event)
        if inner is None:
            return True
        names = list(inner.params)
        place = event.node.args.index(node) if node in event.node.args else -1
        name = next((k.arg for k in event.node.keywords if k.value is node), None)
        name = names[place] if 0 <= place < len(names) else name
        if name is None or name not in inner.params:
            return True
        unused = event.node in dead and _pure(inner)
        if not unused and (not _computes(context, inner) or _reads(context, inner, inner.params[name], depth + 1)):
            return True
    return False


def _called(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the plain function of the project that a call runs, if it is certain."""
    found = [one for one, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    if len(found) != 1 or found[0].args or found[0].keywords or found[0].receiver is not None or found[0].gradient:
        return None
    function = found[0].function
    plain = function.owner is None and function.vararg is None and function.kwarg is None
    return function if plain and not getattr(function.node, "decorator_list", ()) else None


def _pure(function: FunctionFacts) -> bool:
    """Say whether a function changes nothing around it, as far as its own statements tell."""
    return not any(
        isinstance(n, ast.Global | ast.Nonlocal)
        or (isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store))
        or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
        for n in ast.walk(function.node)
    )


def _updating(context: Context, event: CallEvent, root: Root, number: int) -> bool:
    """Say whether the gradient that a call gives for one of the arguments updates something."""
    valued, options = root.transform.endswith("value_and_grad"), root.options
    aux = keyword(options, "has_aux") if options is not None else None
    numbers = argument(options, 1, "argnums") if options is not None else None
    target: ast.expr | None = target_of(event)
    many = numbers is not None and not isinstance(constant(numbers), int)
    if target is None:
        return not valued and not many and aux is None and _given(event.scope.module.source.tree, event.node)
    if valued or (aux is not None and not one_of(aux, (False,))):
        parts = elements(target)
        if len(parts) != 2:
            return False
        target = parts[int(valued)]
    if many and isinstance(target, ast.Tuple):
        target = target.elts[number] if number < len(target.elts) else None
    elif many:
        return False
    if not isinstance(target, ast.Name):
        return False
    return _used(context, event.scope, target.id) or _handed_back(context, event.scope, target.id)


def _used(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a body makes an update of the gradients that a variable holds."""
    around = scope.function.node if scope.function is not None else None
    nodes = ast.walk(around) if around is not None else context.bodies.nodes(scope)
    return any(_uses(node, name) for node in nodes)


def _handed_back(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a function gives back the gradients that a variable holds, and a caller makes an update of them."""
    function = scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    for node in context.bodies.nodes(scope):
        parts = elements(node.value) if isinstance(node, ast.Return) else []
        given = node.value if isinstance(node, ast.Return) else None
        place = next((i for i, one in enumerate(parts) if isinstance(one, ast.Name) and one.id == name), None)
        alone = isinstance(given, ast.Name) and given.id == name
        for event in callers_of(context, function) if alone or place is not None else ():
            target = target_of(event) if alone else taken(event, place or 0)
            if isinstance(target, ast.Name) and not in_test(event.scope) and _used(context, event.scope, target.id):
                return True
    return False


def _uses(node: ast.AST, name: str) -> bool:
    """Say whether a call makes an update of the gradients that a variable holds, or a difference takes them away."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Sub):
        return name in names_in(node.right if isinstance(node, ast.BinOp) else node.value)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    given = [*node.args, *(k.value for k in node.keywords)]
    if word in _MAPS:
        return len(node.args) > 2 and any(isinstance(one, ast.Name) and one.id == name for one in node.args[1:])
    return bool(_UPDATES.search(word)) and any(isinstance(one, ast.Name) and one.id == name for one in given)


def _given(tree: ast.AST, node: ast.Call) -> bool:
    """Say whether a call stands as an argument of an update."""
    return any(
        isinstance(n, ast.Call) and node in n.args and bool(_UPDATES.search(last_word(n.func))) for n in ast.walk(tree)
    )


RULE = lint_rule(
    "NNX526",
    "unread-parameters",
    "a loss that never reads the parameters for which its gradient is taken",
    why="""\
JAX differentiates what the loss itself computes. What was made of the parameters before, such as the images of a
generator or the actions of an actor, is a constant to it: a loss that gets only that does not depend on its
parameters, the gradient is zero, and every update leaves them as they are, without an error.
""",
    source="measured: a generator and an actor that do not move, on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def actor(params, seen):
    return jnp.tanh(seen @ params["w"])


def critic(params, seen, action):
    return (seen @ params["seen"] + action @ params["action"]).mean()


def step(params, critic_params, seen):
    actions = actor(params, seen)

    def loss(params):
        return -critic(critic_params, seen, actions)

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def actor(params, seen):
    return jnp.tanh(seen @ params["w"])


def critic(params, seen, action):
    return (seen @ params["seen"] + action @ params["action"]).mean()


def step(params, critic_params, seen):
    def loss(params):
        return -critic(critic_params, seen, actor(params, seen))

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    ),
)
