"""Through which functions a gradient goes, and which of their variables it is taken with respect to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.names import BODIES, last
from codemods.nnx.lint.object_calls import method_of
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.settings import Given, named_way, settings
from codemods.nnx.lint.syntax import constant, is_none, keyword, several
from codemods.nnx.lint.traced import function_of, has_rule
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Free, Item, Param, Star, Value

_DEPTH = 4  # how many calls deep a gradient is followed
# what of NNX has parameters for certain
_LEARNED = frozenset(
    f"flax.nnx.{word}"
    for word in ("Param", "Linear", "LinearGeneral", "Einsum", "Conv", "ConvTranspose", "Embed", "MultiHeadAttention",
                 "GRUCell", "LSTMCell", "OptimizedLSTMCell", "SimpleCell", "LoRA", "LoRALinear")
)  # fmt: skip
_UNTOUCHED = frozenset({"stop_gradient", "zeros_like", "ones_like"})  # what gives nothing that has a gradient


class Reach:
    """Follows gradients to places of interest.

    Args:
        context: the analysis.
        places: the functions in which the places stand; where the way to them does not lead is not looked at.
        without: functions of JAX that gradients are not followed from, as ``jax.jacfwd``.
    """

    def __init__(
        self, context: Context, places: Iterable[FunctionFacts], without: frozenset[str] = frozenset()
    ) -> None:
        self._context = context
        self._without = without
        self._mapped = context.shared(_mapped)
        self._around = _around(context, places, self._mapped)
        for function, _ in _differentiated(context, without):
            if function not in self._around:
                events = context.bodies.calls.get(function.scope, ())
                if any(method_of(context, event.value.callee, event.scope) in self._around for event in events):
                    self._around.add(function)
        self._done: set[tuple[FunctionFacts, frozenset[str], frozenset[tuple[str, Given]]]] = set()
        self._inner: dict[FunctionFacts, list[FunctionFacts]] = {}
        self._trained: dict[ClassFacts, frozenset[str]] = {}
        for function in self._around:
            outer = function_of(function.scope.parent)
            if outer is not None:
                self._inner.setdefault(outer, []).append(function)

    def functions(self) -> Iterator[tuple[FunctionFacts, set[str]]]:
        """Yield the functions with the variables that depend on what is differentiated; one may come several times.

        Of a record that depends on it in part, ``!batch.images`` tells of a field that does not.
        """
        for function, params in _differentiated(self._context, self._without):
            yield from self._reached(function, params, 0)

    def _reached(
        self, function: FunctionFacts, params: frozenset[str], depth: int, given: dict[str, Given] | None = None
    ) -> Iterator[tuple[FunctionFacts, set[str]]]:
        given = given or {}
        key = function, params, frozenset(given.items())
        if depth > _DEPTH or function not in self._around or key in self._done:
            return
        if has_rule(function):
            return
        self._done.add(key)
        context = self._context
        names = _dependent(context, function, params)
        yield function, names
        events = context.bodies.calls.get(function.scope, ())
        inside = self._inner.get(function, ())
        apart = _apart(context, function) if inside else frozenset()
        for inner in inside:
            if inner.name in apart:
                continue
            own = set(inner.params)
            carried = {name for event in events for name in _carried(event.node, inner, names)}
            outer = {n for n in names - own if not n.startswith("!") or n[1:].partition(".")[0] not in own}
            yield from self._reached(inner, frozenset(outer | carried), depth + 1)
        for event in events:
            if not mentions(event.node, names) or _stopped(context, event, function):
                continue
            if not named_way(context, event, function, given) or _without(context, event, function, params):
                continue
            entered = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
            invoked = [callee for callee, _ in entered]
            method = None if invoked else method_of(context, event.value.callee, event.scope)
            if method is not None and method in self._around:
                reached = self._of_object(event.node.func, function, method, names)
                if method.binding == "instance" and not event.value.starred:
                    handed = [*zip(list(method.params)[1:], event.node.args, strict=False)]
                    handed += [(k.arg, k.value) for k in event.node.keywords if k.arg in method.params]
                    reached |= {name for name, node in handed if mentions(node, names)}
                if reached:
                    yield from self._reached(method, reached, depth + 1)
            for callee, frame in entered:
                called = callee.function
                if called is function or callee.gradient or called not in self._around:
                    continue
                if context.flow.calls.name(event) in BODIES:
                    continue
                first = len(callee.args) + int(callee.receiver is not None and called.binding in {"instance", "class"})
                order = list(called.params)
                arguments = [*zip(order[first:], event.node.args, strict=False)]
                arguments += [(k.arg, k.value) for k in event.node.keywords if k.arg in called.params]
                cut = any(isinstance(n, ast.Call) and last_word(n.func) == "stop_gradient" for _, n in arguments)
                reached = frozenset(
                    name for name, node in arguments if mentions(node, names) and not (cut and _renewed(function, node))
                )
                reached |= {f"!{name}.{word}" for name, node in arguments if name in reached
                            for word in _constant_fields(function, node, names)}  # fmt: skip
                if callee.receiver is not None:
                    reached |= self._of_object(event.node.func, function, called, names)
                if reached and not any(isinstance(a, Star) for a in event.value.args):
                    settled = settings(context, frame, given)
                    yield from self._reached(called, reached, depth + 1, settled)
            for called in self._mapped.get(event, ()):
                free = list(called.params)[int(called.self_param is not None) :]  # of a bound method
                leaves = zip(free, event.node.args[1:], strict=False)
                reached = frozenset(name for name, node in leaves if mentions(node, names))
                if reached and called is not function:
                    yield from self._reached(called, reached, depth + 1)

    def _of_object(
        self, func: ast.expr, function: FunctionFacts, called: FunctionFacts, names: set[str]
    ) -> frozenset[str]:
        """Return the attributes of ``self`` that a method depends on, if a call differentiates its module.

        Args:
            func: what is called.
            function: the function that the call stands in.
            called: the method.
            names: the variables of that function that depend on what is differentiated.
        """
        own, owner = called.self_param, called.owner
        if own is None or owner is None:
            return frozenset()
        direct = called.name == "__call__" and last_word(func) != "__call__"
        held = func if direct else getattr(func, "value", None)
        if isinstance(held, ast.Name) and function.self_param is not None and held.id == function.self_param.name:
            start = f"{held.id}."
            return frozenset(own.name + "." + n.removeprefix(start) for n in names if n.startswith(start))
        if held is None or not mentions(held, names):
            return frozenset()
        return frozenset(f"{own.name}.{name}" for name in self._learned(owner, 0))

    def _learned(self, owner: ClassFacts, depth: int) -> frozenset[str]:
        """Return the attributes of a module that are parameters, or modules with such."""
        if owner not in self._trained and depth <= _DEPTH:
            self._trained[owner] = frozenset()  # of a class that holds itself
            self._trained[owner] = frozenset(
                name
                for parent in self._context.flow.classes.mro(owner)[0]
                for name, stores in parent.stores.items()
                if stores and all(self._parameter(value, maker.scope, depth) for maker, value in stores)
            )
        return self._trained.get(owner, frozenset())

    def _parameter(self, value: Value, scope: Scope, depth: int) -> bool:
        """Say whether a value is a parameter, a layer of Flax that has some, or a module of the project with such."""
        made = self._context.flow.resolve(self._context.flow.here(value, scope))
        if self._context.flow.calls.callee_name(made) in _LEARNED:
            return True
        cls = self._context.flow.classes.class_of(made)
        return cls is not None and bool(self._learned(cls, depth + 1))


def _constant_fields(function: FunctionFacts, node: ast.expr, names: set[str]) -> set[str]:
    """Return the fields of a record that it was made with by their names, of what does not depend on some variables:
    ``Batch(images=images, params=params)``."""
    found: set[str] = set()
    made: ast.AST | None = node
    if isinstance(node, ast.Name):
        start = f"!{node.id}."
        found = {name.removeprefix(start) for name in names if name.startswith(start)}
        value = function.scope.module.values.get(node)
        made = value.node if isinstance(value, Call) else None
    if isinstance(made, ast.Call) and not made.args and len(made.keywords) > 1:
        words = {k.arg: k.value for k in made.keywords}
        if None not in words:
            found |= {word for word, given in words.items() if word is not None and not mentions(given, names)}
    return found


def _without(context: Context, event: CallEvent, function: FunctionFacts, given: frozenset[str]) -> bool:
    """Say whether a call runs only where a parameter is None that something is handed in for: ``if a is None``.

    Args:
        context: the analysis.
        event: the call.
        function: what it stands in.
        given: the parameters that are handed in.
    """
    path = context.bodies.paths(event.scope).get(event.node, ())
    tests = [(block.test, arm == "body") for block, arm in path if isinstance(block, ast.If | ast.IfExp)]
    tests += [(guard.test, False) for guard in context.bodies.behind(event.node, event.scope)]
    for test, holds in tests:
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not is_none(test.comparators[0]):
            continue
        param = function.scope.module.values.get(test.left)
        if isinstance(param, Param) and param.function is function and param.name in given:
            if isinstance(test.ops[0], ast.Is if holds else ast.IsNot):
                return True
    return False


def _stopped(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether all that a call gives goes through ``stop_gradient``, under the names that it gets."""
    statement, values = event.statement, function.scope.module.values
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    parts = [n for target in statement.targets for n in ast.walk(target) if not isinstance(n, ast.expr_context)]
    if not all(isinstance(n, ast.Name | ast.Tuple) for n in parts):
        return False
    names = {n.id for n in parts if isinstance(n, ast.Name)}
    stopped = {
        part
        for call in context.bodies.calls.get(function.scope, ())
        if last_word(call.node.func) == "stop_gradient"
        for part in call.node.args
    }
    own = set(context.bodies.nodes(function.scope))
    reads = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id in names]
    found = False
    for node in (n for n in reads if isinstance(n.ctx, ast.Load)):
        value = values.get(node)
        while isinstance(value, Item):
            value = value.base
        if node not in own and value is not None and not isinstance(value, Free):
            continue  # another variable, of an inner function
        if node in own and isinstance(value, Call) and value is not event.value:
            continue  # it has another value there
        if value is not event.value or node not in stopped:
            return False
        found = True
    return found


# which arguments of these no gradient goes through: it solves anew, or runs a rule, or not at all
_APART = {"custom_linear_solve": 2, "custom_root": 2, "defvjp": 0, "defjvp": 0, "defjvps": 0, "pure_callback": 0,
          "io_callback": 0}  # fmt: skip
_SOLVED = frozenset({"matvec", "f", "b", "initial_guess"})


def _apart(context: Context, function: FunctionFacts) -> frozenset[str]:
    """Return the inner functions by whose name a call gets them that takes no gradient through them."""
    found: set[str] = set()
    for event in context.bodies.calls.get(function.scope, ()):
        first = _APART.get(last_word(event.node.func))
        if first is not None:
            given = [*event.node.args[first:], *(k.value for k in event.node.keywords if k.arg not in _SOLVED)]
            found |= {one.id for one in given if isinstance(one, ast.Name)}
    if not found:
        return frozenset()
    called = {last_word(event.node.func) for event in context.bodies.calls.get(function.scope, ())}
    return frozenset(found - called)


def _renewed(function: FunctionFacts, node: ast.expr) -> bool:
    """Say whether an argument is an object that was renewed by its own method, as a list of neighbours is."""
    return isinstance(node, ast.Name) and any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and isinstance(n.value.func, ast.Attribute)
        and n.value.func.attr == "update"
        and all(isinstance(one, ast.Name) and one.id == node.id for one in (*n.targets, n.value.func.value))
        for n in ast.walk(function.node)
    )


def _carried(node: ast.Call, inner: FunctionFacts, names: set[str]) -> set[str]:
    """Return the parameters that a loop fills with what depends on some names, of a function it is given."""
    params = list(inner.params)
    places = [i for i, a in enumerate(node.args) if a is inner.node or getattr(a, "id", "") == inner.name]
    word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if not places or not params:
        return set()
    if word == "scan":
        found = {params[0]} if len(node.args) > 1 and mentions(node.args[1], names) else set()
        return found | (
            {params[1]} if len(params) > 1 and len(node.args) > 2 and mentions(node.args[2], names) else set()
        )
    if word == "fori_loop" and len(params) > 1:
        return {params[1]} if len(node.args) > 3 and mentions(node.args[3], names) else set()
    if word == "while_loop":
        return {params[0]} if len(node.args) > 2 and mentions(node.args[2], names) else set()
    return set()


def _mapped(context: Context) -> dict[CallEvent, list[FunctionFacts]]:
    """Return the functions that others of JAX apply to the leaves of trees, by these calls."""
    found: dict[CallEvent, list[FunctionFacts]] = {}
    for event, name in foreign(context, *sorted(last(one) for one in _MAPS), everywhere=True):
        if name in _MAPS and event.value.args and not event.value.starred:
            callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
            found[event] = [
                one.function for one in callees
                if not one.args and (one.receiver is None or one.function.binding == "instance")
            ]  # fmt: skip
    return found


_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "jax.lax.map", "builtins.map"})


def _around(
    context: Context, places: Iterable[FunctionFacts], mapped: dict[CallEvent, list[FunctionFacts]]
) -> set[FunctionFacts]:
    """Return some functions with those that call them, and those these stand in."""
    givers: dict[FunctionFacts, list[CallEvent]] = {}
    for event, functions in mapped.items():
        for function in functions:
            givers.setdefault(function, []).append(event)
    found: set[FunctionFacts] = set()
    level = set(places)
    for _ in range(_DEPTH + 1):
        found |= level
        callers = {
            enclosing_function(event.scope)
            for function in level
            for event in (*context.flow.sites.callers(function), *givers.get(function, ()))
        }
        callers |= {function_of(function.scope.parent) for function in level}
        level = {function for function in callers if function is not None} - found
    return found


def _differentiated(context: Context, without: frozenset[str]) -> Iterator[tuple[FunctionFacts, frozenset[str]]]:
    """Yield the functions that are differentiated, with the parameters with respect to which they are."""
    words = {last(name) for name in GRADIENTS}
    for event, name in foreign(context, *sorted(words), everywhere=True):
        if name not in GRADIENTS - without or not event.value.args:
            continue
        given = keyword(event.node, "argnums") or (event.node.args[1] if len(event.node.args) > 1 else None)
        numbers = constant(given) if given is not None else 0
        chosen = several(numbers)
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        taken = [(one.function, len(one.args) + int(one.receiver is not None)) for one in callees]
        method = None if callees else method_of(context, event.value.args[0], event.scope)
        if method is not None and method.binding == "instance":
            taken = [(method, 1)]
        for function, bound in taken:
            names = list(function.params)[bound:]
            picked = {names[n] for n in chosen if isinstance(n, int) and 0 <= n < len(names)}
            if picked:
                yield function, frozenset(picked)


def _dependent(context: Context, function: FunctionFacts, params: frozenset[str]) -> set[str]:
    """Return the variables and inner functions of a function that depend on some of its parameters."""
    names = set(params)
    if isinstance(function.node, ast.Lambda):
        return names
    nodes = [
        n
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.FunctionDef | _Comprehension)
    ]
    for node in sorted(nodes, key=lambda n: n.lineno):
        if isinstance(node, _Comprehension):
            for part in node.generators:
                if mentions(part.iter, names):
                    names |= {n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)}
            continue
        if isinstance(node, ast.FunctionDef):
            own = {a.arg for a in node.args.args}
            if any(mentions(s, names - own) for s in node.body):
                names.add(node.name)
            continue
        source = node.iter if isinstance(node, ast.For) else node.value
        if source is not None and mentions(source, names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return names


_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


# what gives whole numbers or truth values, or has no derivative but zero
_WHOLE = frozenset({"len", "range", "argmax", "argmin", "argsort", "searchsorted", "digitize", "floor", "ceil", "round",
                    "rint", "trunc", "isnan", "isfinite", "isinf", "logical_and", "logical_or", "logical_not",
                    "logical_xor", "isclose", "allclose", "array_equal", "equal", "not_equal", "greater", "less",
                    "greater_equal", "less_equal", "any", "all", "bool", "int", "isin", "count_nonzero", "nonzero",
                    "flatnonzero", "argwhere", "sign"})  # fmt: skip


def mentions(node: ast.AST, names: set[str] | frozenset[str]) -> bool:
    """Say whether an expression depends on some names, other than by their shapes."""
    if isinstance(node, ast.Attribute) and node.attr in {"shape", "ndim", "dtype", "size"}:
        return False
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return False  # truth values, which have no derivative
    if isinstance(node, ast.Call):
        word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if word in _UNTOUCHED or word in _WHOLE:
            return False
        if word == "astype" and node.args and last_word(node.args[0]).startswith(("int", "uint", "bool")):
            return False
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if f"{node.value.id}.{node.attr}" in names:
            return True
        if f"!{node.value.id}.{node.attr}" in names:
            return False
    return any(mentions(child, names) for child in ast.iter_child_nodes(node))
