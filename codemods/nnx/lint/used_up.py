"""NNX752: a generator that the first round of a loop uses up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import named, origin
from codemods.nnx.lint.places import in_test, position, resolved, scopes
from codemods.nnx.lint.syntax import argument, constant, inside
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item, Mapping, Param, Sequence, Value

# functions of Python that give iterators, and those of them that only hand on what an argument gives
_ITERATORS = frozenset({"builtins.zip", "builtins.map", "builtins.filter", "builtins.enumerate", "builtins.iter"})
_ENDING = _ITERATORS - {"builtins.iter"}
_LEAVING = (ast.Break, ast.Return, ast.Raise)


def _check(context: Context) -> Iterator[Finding]:
    yield from _handed(context)
    for scope in scopes(context):
        if in_test(scope):
            continue
        nodes = context.bodies.nodes(scope)
        for inner in nodes:
            if not isinstance(inner, ast.For) or not named(inner.iter) or _left(inner):
                continue
            path = [block for block, _ in context.bodies.paths(scope).get(inner, ())]
            outer = [block for block in path if isinstance(block, ast.For | ast.While)]
            made = _maker(context, inner.iter, scope) if outer else None
            if made is None:
                continue
            name, (maker, bound) = ast.unparse(inner.iter), made
            outer = [loop for loop in outer if not (bound in nodes and inside(bound, loop))]
            if not outer or any(isinstance(b, ast.If | ast.Try) and inside(b, outer[-1]) for b in path):
                continue
            if _leaves(outer[-1], inner):
                continue
            yield finding(
                RULE.code,
                scope,
                inner.iter,
                f"`{name}` is used up after the first round of the loop around: later rounds get nothing",
                "make it anew in every round, or keep a list",
                related=[(maker, "made once, here")],
            )


def _handed(context: Context) -> Iterator[Finding]:
    """Find the iterators that every round of a loop hands to a function which goes through them."""
    for event in context.asked.calls():
        loop = event.loops[-1] if event.loops else None
        if not isinstance(loop, ast.For | ast.While) or event.value.starred or in_test(event.scope):
            continue
        for node in (*event.node.args, *(k.value for k in event.node.keywords)):
            if not isinstance(node, ast.Name):
                continue
            values = event.scope.bindings.get(node.id, ())
            if len(values) != 1 or not isinstance(values[0], Call) or not _goes_through(context, event, node):
                continue
            made = _made_once(context.bodies.nodes(event.scope), node.id)
            if made is None or inside(made, loop) or not _finite(context, made.value, event.scope):
                continue
            around = [block for block, _ in context.bodies.paths(event.scope).get(event.node, ())]
            if any(isinstance(b, ast.If | ast.IfExp | ast.Try) and inside(b, loop) for b in around):
                continue
            if not any(isinstance(n, _LEAVING) for n in ast.walk(loop)) and _read_once(context, event, node):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{node.id}` is used up after the first round of the loop around: later rounds get nothing",
                    "make it anew in every round, or keep a list",
                    related=[(made, "made once, here")],
                )


def _read_once(context: Context, event: CallEvent, node: ast.Name) -> bool:
    """Say whether nothing but a call and its binding names an iterator."""
    return len(context.bodies.names(event.scope).get(node.id, ())) == 2


def _goes_through(context: Context, event: CallEvent, node: ast.Name) -> bool:
    """Say whether a call runs one function, all of whose use of an argument is a loop to its end."""
    invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    if len(invoked) != 1:
        return False
    callee = invoked[0][0]
    function = callee.function
    pairs = [
        *zip(free_params(callee), event.node.args, strict=False),
        *((k.arg or "", k.value) for k in event.node.keywords),
    ]
    name = next((param for param, given in pairs if given is node), "")
    reads = context.bodies.names(function.scope).get(name, ())
    if function.generator or len(reads) != 1:
        return False
    for one in context.bodies.nodes(function.scope):
        if isinstance(one, ast.For) and one.iter is reads[0]:
            return not _left(one)
        if isinstance(one, ast.ListComp | ast.DictComp | ast.SetComp) and one.generators[0].iter is reads[0]:
            return True
    return False


def _maker(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.AST, ast.AST] | None:
    """Return what makes an iterator that ends, and what binds it to the name, attribute or entry that is read."""
    home, made = scope, None
    if isinstance(node, ast.Attribute):
        home, made = _held(node, scope)
    elif isinstance(node, ast.Name):
        made = _made_once(context.bodies.nodes(scope), node.id)
    if made is not None and _finite(context, made.value, home):
        return made, made
    if isinstance(node, ast.Subscript):
        return _entry(context, node, scope)
    value = scope.module.values.get(node)
    if isinstance(value, Param):
        given = [_passed(context, event, value) for event in context.flow.sites.callers(value.function)]
        return (given[0], value.function.node) if given and None not in given and given[0] is not None else None
    stores = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id == ast.unparse(node)
              and not isinstance(n.ctx, ast.Load)]  # fmt: skip
    if len(stores) != 1 or not isinstance(value, Item) or not isinstance(value.base, Call):
        return None
    found = _part(context, value.base, value.index, scope)
    return (found, stores[0]) if found is not None else None


def _passed(context: Context, call: CallEvent, param: Param) -> ast.AST | None:
    """Return what makes the iterator that a call gives for a parameter."""
    node = argument(call.node, position(param), param.name)
    if node is None or call.value.starred or in_test(call.scope):
        return None
    made = _made_once(context.bodies.nodes(call.scope), node.id) if isinstance(node, ast.Name) else None
    maker = made.value if made is not None else node
    return maker if isinstance(maker, ast.Call | ast.GeneratorExp) and _finite(context, maker, call.scope) else None


def _entry(context: Context, node: ast.Subscript, scope: Scope) -> tuple[ast.AST, ast.AST] | None:
    """Return the one assignment of an entry of a dict, if that makes an iterator."""
    if origin(context, node, scope) is scope.module.values.get(node):
        return None
    text = ast.unparse(node)
    made = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == text]
    return (made[0], made[0]) if len(made) == 1 and _finite(context, made[0].value, scope) else None


def _part(context: Context, call: Call, index: Value, scope: Scope) -> ast.expr | None:
    """Return what makes an iterator that is a part of the tuple or dict which a function gives."""
    callees = context.flow.calls.invoked(context.flow.here(call, scope))
    function = callees[0][0].function if len(callees) == 1 else None
    given = function.returns[0] if function is not None and len(function.returns) == 1 else None
    if function is None or not isinstance(index, Const) or not isinstance(given, Sequence | Mapping):
        return None
    node = given.node
    part: ast.expr | None = None
    if isinstance(node, ast.Tuple) and isinstance(index.value, int) and -len(node.elts) <= index.value < len(node.elts):
        part = node.elts[index.value]
    elif isinstance(node, ast.Dict):
        part = next((v for k, v in zip(node.keys, node.values, strict=True) if k and constant(k) == index.value), None)
    if isinstance(part, ast.Name):
        made = _made_once(context.bodies.nodes(function.scope), part.id)
        part = made.value if made is not None else None
    return part if part is not None and _finite(context, part, function.scope) else None


def _held(node: ast.Attribute, scope: Scope) -> tuple[Scope, ast.Assign | None]:
    """Return what a constructor binds an attribute to, with its scope, if nothing else of the file does."""
    owner = scope.function.owner if scope.function is not None else None
    init = owner.methods.get("__init__") if owner is not None else None
    if init is None or init is scope.function or not isinstance(node.value, ast.Name):
        return scope, None
    stores = [
        n for n in scope.module.source.of_type(ast.Attribute) if n.attr == node.attr and not isinstance(n.ctx, ast.Load)
    ]
    text = ast.unparse(node)
    assigns = [n for n in ast.walk(init.node) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == text]
    return init.scope, assigns[0] if len(stores) == len(assigns) == 1 else None


def _made_once(nodes: tuple[ast.AST, ...], name: str) -> ast.Assign | None:
    """Return what binds a variable, if only one statement does and nothing else can change it."""
    found: ast.Assign | None = None
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            if found is not None:
                return None
            found = next(
                (n for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] is node), None
            )
            if found is None:
                return None
    return found


def _left(loop: ast.For) -> bool:
    """Say whether a loop may stop before the end, so that the next round goes on where it stopped."""
    return any(
        isinstance(node, _LEAVING) or (isinstance(node, ast.Call) and last_word(node.func) in {"exit", "_exit", "next"})
        for part in loop.body
        for node in ast.walk(part)
    )


def _leaves(outer: ast.AST, inner: ast.For) -> bool:
    """Say whether the first round of a loop is always the last one."""
    return any(isinstance(node, _LEAVING) for part in getattr(outer, "body", ()) if part is not inner
               for node in ast.walk(part))  # fmt: skip


def _finite(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression makes an iterator that ends."""
    if isinstance(node, ast.GeneratorExp):
        found = resolved(context, node.generators[0].iter, scope)
        name = context.flow.calls.callee_name(found) if found is not None and isinstance(found.value, Call) else ""
        return not name.startswith("itertools.") and not isinstance(node.generators[0].iter, ast.Call)
    value = scope.module.values.get(node)
    if not isinstance(value, Call):
        return False
    bound = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(bound)
    if name in _ENDING:  # nobody goes through what has no end inside of another loop, without a way out
        return not any("itertools" in ast.unparse(a) or isinstance(a, ast.Starred) for a in value.node.args)
    if name in _ITERATORS:
        return any(_ends(context, a, scope) for a in value.node.args)
    callees = [callee.function for callee, _ in context.flow.calls.invoked(bound)]
    return not name and bool(callees) and all(function.generator and _ending(context, function) for function in callees)


def _ends(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an argument certainly has an end: a display, a range, or an array."""
    found = resolved(context, node, scope)
    if found is None or not isinstance(found.value, Call):
        return isinstance(node, ast.List | ast.Tuple | ast.ListComp)
    name = context.flow.calls.callee_name(found)
    return name == "builtins.range" or name.startswith(("jax.numpy.", "numpy.", "jax.random."))


def _ending(context: Context, function: FunctionFacts) -> bool:
    """Say whether a generator has an end: it loops over ranges, displays and parameters only, and never without one."""
    if function.decorators:
        return False
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.While | ast.YieldFrom):
            return False
        if isinstance(node, ast.For):
            found = resolved(context, node.iter, function.scope)
            name = context.flow.calls.callee_name(found) if found is not None and isinstance(found.value, Call) else ""
            if name not in {"builtins.range", "builtins.enumerate", "builtins.zip"} and not name.startswith(
                ("jax.numpy.", "numpy.")
            ):
                return False
            if name != "builtins.range" and any("count" in ast.dump(a) or "cycle" in ast.dump(a)
                                                for a in ast.walk(node.iter)):  # fmt: skip
                return False
    return True


RULE = lint_rule(
    "NNX752",
    "used-up-iterator",
    "a generator made before a loop, and gone through in each of its rounds",
    why="""\
A generator, `zip` or `map` can be gone through once. Where every epoch loops over the same one, the first epoch trains
and all later ones run no step at all, without an error.
""",
    source="Stack Overflow on loaders that are empty in the second epoch; measured: no batches after the first round",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def batches(x, size):
    for i in range(0, x.shape[0], size):
        yield x[i : i + size]


def train(step, x):
    loader = batches(x, 4)
    for epoch in range(3):
        for batch in loader:
            step(batch)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def batches(x, size):
    for i in range(0, x.shape[0], size):
        yield x[i : i + size]


def train(step, x):
    for epoch in range(3):
        for batch in batches(x, 4):
            step(batch)
""",
    ),
)
