"""Where keys of ``jax.random`` are used up, and which uses are of the same key."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.origins import origin
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.syntax import argument, constant, inside, keyword, names_in, operands
from codemods.nnx.lint.unread import given_names
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Const,
    Each,
    Free,
    Item,
    Loop,
    Mapping,
    Param,
    Sequence,
    Unknown,
    Value,
    of_display,
)

# functions of jax.random that use a key up: a cheap test before a name is resolved
DRAWING = (
    "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice", "dirichlet",
    "double_sided_maxwell", "exponential", "f", "gamma", "generalized_normal", "geometric", "gumbel", "laplace",
    "loggamma", "logistic", "lognormal", "maxwell", "multinomial", "multivariate_normal", "normal", "orthogonal",
    "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh", "shuffle", "split", "t", "triangular",
    "truncated_normal", "uniform", "wald", "weibull_min",
)  # fmt: skip


# keys and functions of these names get the same key on purpose
SAME = pattern(
    r"(^|_)(eval\w*|test\w*|valid\w*|val|metrics?|fixed|const\w*|plot\w*|show|log\w*|vis\w*|bench\w*|same|shared)(_|$)"
)
_MAKING = frozenset({"fold_in"})  # the same of the same; a seed may stand in a loop to begin anew


@dataclass(frozen=True, eq=False)
class Use:
    """A call that uses a key up.

    Attributes:
        event: the call.
        key: the key's value in its scope.
        name: full name of the function.
        node: the argument.
        helper: whether it is a function of the project that draws with the key.
        gradient: whether it is differentiated there.
        masks: whether a model of Linen draws with it, as for the masks of dropout: two models may do so with one key.
    """

    event: CallEvent
    key: Value
    name: str
    node: ast.expr
    helper: bool = False
    gradient: bool = False
    masks: bool = False


def uses(context: Context) -> dict[tuple[Scope, Value], list[Use]]:
    """Return the calls that use up each key, in the order of the text."""
    found: dict[tuple[Scope, Value], list[Use]] = {}
    for event in context.bodies.named(*DRAWING):
        if not (event.node.args or event.node.keywords):
            continue
        node = argument(event.node, 0, "key") or event.node.keywords[0].value
        key = _key(context, event.value.argument(0, "key"), node, event.scope)
        if key is None:
            continue
        name = context.flow.calls.name(event)
        if not name.startswith("jax.random.") or last(name) in NOT_CONSUMING:
            continue
        if (isinstance(key, Attr) and not kept(context, key)) or _weightless(context, event):
            continue
        found.setdefault((event.scope, key), []).append(Use(event, key, name, node))
    for event, name in _by_initializers(context):
        node = event.node.args[0]
        key = _key(context, event.value.args[0], node, event.scope)
        if key is not None and not isinstance(key, Attr):
            found.setdefault((event.scope, key), []).append(Use(event, key, name, node))
    for event, node in _of_linen(context):
        key = _key(context, event.scope.module.values.get(node), node, event.scope)
        if key is not None and not isinstance(key, Attr):
            found.setdefault((event.scope, key), []).append(Use(event, key, "apply", node, masks=True))
    for event, node in _of_distributions(context):
        key = _key(context, event.scope.module.values.get(node), node, event.scope)
        others = found.get((event.scope, key), ()) if key is not None and not isinstance(key, Attr) else ()
        if key is not None and any(one.name.startswith("jax.random.") for one in others):  # so it is a key
            found[(event.scope, key)].append(Use(event, key, last_word(event.node.func), node))
    for users in found.values():
        users.sort(key=_place)
        users[:] = [one for one in users if not _split_for_nothing(context, one)]
        users[:] = [replace(one, masks=True) if _split_for_masks(context, one) else one for one in users]
    found = {key: users for key, users in found.items() if users}
    _through_helpers(context, found)
    return found


def _weightless(context: Context, event: CallEvent) -> bool:
    """Say whether what is drawn is multiplied by a parameter that is 0 in all calls."""
    products = (n for n in ast.walk(event.statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    factors = next((parts for n in products if event.node in (parts := operands(n, ast.Mult))), [])
    for factor in factors:
        value = event.scope.module.values.get(factor) if isinstance(factor, ast.Name) else None
        if isinstance(value, Param | Free):
            found = context.sources.originals(context.flow.here(value, event.scope))
            if found and all(isinstance(one.value, Const) and one.value.value == 0 for one in found):
                return True
    return False


def _by_initializers(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the draws of initializers, as ``nnx.initializers.normal()(key, shape)``, with their full names."""
    for module in context.project.modules:
        if not module.source.mentions(b"initializers"):
            continue
        for event in module.calls:
            made = event.node.func
            if isinstance(made, ast.Name):  # a variable that holds one
                value = module.values.get(made)
                made = value.node if isinstance(value, Call) else made
            if not isinstance(made, ast.Call) or last_word(made.func) not in _INITIALIZERS:
                continue
            if len(event.value.args) < 2 or event.value.starred:
                continue
            found = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
            name = context.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
            if name.startswith(("jax.nn.", "flax.nnx.", "flax.linen.")) and ".initializers." in name:
                yield event, name


def _of_linen(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the calls of models of Linen with the keys that they get: ``apply(..., rngs={"dropout": key})``."""
    for event in context.bodies.named("apply", "apply_fn"):
        given = keyword(event.node, "rngs")
        if not isinstance(given, ast.Dict) or not event.scope.module.source.mentions(b"linen"):
            continue
        if keyword(event.node, "method") is not None or not context.shared(_masking):
            continue  # nothing shows that the part of the model, or any model here, draws
        if not _evaluates(event.node):
            for name, node in zip(given.keys, given.values, strict=True):
                if constant(name) != "params":
                    yield event, node


def _of_distributions(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the draws from distributions, as of Distrax and TensorFlow Probability, with their keys:
    ``distribution.sample(seed=key)``."""
    for event in context.bodies.named("sample", "sample_and_log_prob"):
        given = keyword(event.node, "seed")
        if isinstance(given, ast.Name) and isinstance(event.node.func, ast.Attribute):
            yield event, given


def _masking(context: Context) -> bool:
    """Say whether a model of the project draws when it is applied, as for dropout."""
    words = (b"Dropout", b"dropout_rate", b"make_rng")
    return any(module.source.mentions(word) for module in context.project.modules for word in words)


def _split_for_masks(context: Context, use: Use) -> bool:
    """Say whether the parts of a split key are given to models of Linen alone, which fold names of layers into them:
    ``rngs={"dropout": part}``."""
    source, scope = use.event.scope.module.source, use.event.scope
    if use.helper or last(use.name) != "split" or not source.mentions(b"rngs") or not source.mentions(b"linen"):
        return False
    names = given_names(use.event.statement, use.event.node)
    if not names or names & {*scope.globals, *scope.remote}:
        return False
    given: set[ast.AST] = set()
    for node in context.bodies.nodes(scope):
        held: ast.expr | None = None
        if isinstance(node, ast.keyword) and node.arg == "rngs":
            held = node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            named = constant(target.slice) if isinstance(target, ast.Subscript) else last_word(target)
            held = node.value if named == "rngs" else None
        if isinstance(held, ast.Dict):
            given |= {v for k, v in zip(held.keys, held.values, strict=True) if constant(k) not in {None, "params"}}
    if not any(isinstance(one, ast.Name) and one.id in names for one in given):
        return False
    reads = _reads(scope, names)
    return bool(reads) and reads <= given


def _reads(scope: Scope, names: Set[str]) -> set[ast.AST]:
    """Return where a body, or what stands in it, reads some variables."""
    return {
        n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
    }


def _evaluates(call: ast.Call) -> bool:
    """Say whether a model is told to drop nothing: ``train=False``."""
    return any(constant(keyword(call, word)) is off for word, off in _EVALUATING.items())


def _split_for_nothing(context: Context, use: Use) -> bool:
    """Say whether all that is made of a split key is given to models of Linen that are told to draw nothing:
    ``apply(..., train=False, rngs={"dropout": part})``."""
    scope = use.event.scope
    if use.helper or last(use.name) != "split" or not scope.module.source.mentions(b"rngs"):
        return False
    names = given_names(use.event.statement, use.event.node)
    if not names or names & {*scope.globals, *scope.remote}:
        return False
    allowed: set[ast.AST] = {*use.event.node.args[:1]}
    splits = [one for one in context.bodies.calls.get(scope, ()) if last_word(one.node.func) == "split"]
    for one in splits:  # in the order of the text
        if one.node.args and isinstance(one.node.args[0], ast.Name) and one.node.args[0].id in names:
            made = given_names(one.statement, one.node)
            if made:
                names |= made
                allowed.add(one.node.args[0])
    given: set[ast.AST] = set()
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Call) and last_word(node.func) in {"apply", "apply_fn"} and _evaluates(node):
            held = keyword(node, "rngs")
            given |= {*held.values} if isinstance(held, ast.Dict) else set()
    if not any(isinstance(one, ast.Name) and one.id in names for one in given):
        return False
    reads = _reads(scope, names)
    return bool(reads & given) and reads <= allowed | given


_EVALUATING = {"train": False, "training": False, "is_training": False, "deterministic": True, "inference": True}

# those that draw; constants, zeros and ones look at no key
_INITIALIZERS = frozenset(
    {"normal", "uniform", "truncated_normal", "orthogonal", "delta_orthogonal", "variance_scaling"}
    | {f"{who}_{how}" for who in ("glorot", "xavier", "lecun", "he", "kaiming") for how in ("normal", "uniform")}
)


def _key(context: Context, key: Value | None, node: ast.expr, scope: Scope) -> Value | None:
    """Return a key that is the same wherever it is equal, if it is no attribute; None for others."""
    if isinstance(key, Item) and isinstance(node, ast.Subscript):
        key = origin(context, node, scope)
    if isinstance(key, Item) and isinstance(node, ast.Name) and isinstance(getattr(key.base, "node", None), ast.Tuple):
        key = of_display(key)  # `one, two = key, key`
    return key if key is not None and (isinstance(key, Attr) or _trackable(key)) else None


def _place(use: Use) -> tuple[int, int]:
    return use.event.node.lineno, use.event.node.col_offset


def _through_helpers(context: Context, found: dict[tuple[Scope, Value], list[Use]]) -> None:
    """Add the calls of the project's functions that use up a key they are given."""
    consuming = [
        key
        for (scope, key), users in found.items()
        if isinstance(key, Param)
        and key.function.scope is scope
        and not all(_for_want(context, use, key) or _comes_to_nothing(context, use) for use in users)
    ]
    consuming += [
        param
        for (scope, key), users in found.items()
        if (param := _captured(key)) is not None
        and not all(_for_want_within(context, use, scope.function) for use in users)
    ]
    captured: dict[Param, list[Use]] = {}
    for (_, inner), drawing in found.items():
        if (around := _captured(inner)) is not None:
            captured.setdefault(around, []).extend(drawing)
    done: set[Param] = set()
    while consuming:
        param = consuming.pop()
        if param in done or param is param.function.self_param:
            continue
        done.add(param)
        for event in context.flow.sites.callers(param.function):
            if _overfull(event, param.function):
                continue
            given = argument_of(context, event, param)
            key = _key(context, given[0], given[1], event.scope) if given is not None else None
            if given is None or key is None or (isinstance(key, Attr) and not kept(context, key)):
                continue
            own = found.get((param.function.scope, param), [])
            if own and all(_switched_off(context, use, event, param, found) for use in own):
                continue
            evaluated = _evaluated(context, event) or _set_to_evaluate(context, event)
            if (evaluated or _told_to_evaluate(event, param.function)) and not _draws_itself(param.function, found):
                continue
            _, node, gradient = given
            users = found.setdefault((event.scope, key), [])
            within = [*own, *captured.get(param, ())]
            masks = bool(within) and all(one.masks for one in within)
            use = Use(event, key, param.function.name, node, helper=True, gradient=gradient, masks=masks)
            users.append(use)
            users.sort(key=_place)
            if isinstance(key, Param) and not _for_want(context, use, key):
                consuming.append(key)
            elif (outer := _captured(key)) is not None and not _for_want_within(context, use, event.scope.function):
                consuming.append(outer)


def _overfull(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call gives a function more arguments than it takes: which of them is the key cannot be told."""
    if last_word(event.node.func) != function.name or function.vararg is not None or event.value.starred:
        return False
    return len(event.node.args) > function.positional


def _evaluated(context: Context, event: CallEvent) -> bool:
    """Say whether a call gets a model that was put into inference mode, where layers such as dropout draw nothing."""
    if not event.scope.module.source.mentions(b"inference"):
        return False
    given = [*event.node.args, *(k.value for k in event.node.keywords)]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and last_word(n.value.func) in {"inference_mode", "tree_inference"}
        and (len(n.value.args) < 2 or constant(n.value.args[1]) is True)
        and constant(keyword(n.value, "value")) is not False
        and any(isinstance(target, ast.Name) and target.id in names for target in n.targets)
        for n in context.bodies.nodes(event.scope)
    )


def _set_to_evaluate(context: Context, event: CallEvent) -> bool:
    """Say whether the function of a call sets an option so that nothing is drawn: ``config.randomized = False``."""
    for node in context.bodies.nodes(event.scope) if event.scope.module.source.matches(_OPTIONS) else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.lineno < event.node.lineno:
            for target in node.targets:
                word = constant(target.slice) if isinstance(target, ast.Subscript) else getattr(target, "attr", None)
                if isinstance(word, str) and word in _SETTINGS and node.value.value is _SETTINGS[word]:
                    return True
    return False


_SETTINGS = {**_EVALUATING, "randomized": False, "stochastic": False}
_OPTIONS = pattern(
    "|".join(f"\\b{word}\\b" for word in _SETTINGS).encode(), needs=tuple(word.encode() for word in _SETTINGS)
)


def _told_to_evaluate(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call says by a parameter of a function that nothing is dropped: ``predict(model, x, True, key)``
    for ``def predict(model, x, inference, key)``."""
    params = list(function.params)
    if event.value.starred or function.self_param is not None or not _EVALUATING.keys() & set(params):
        return False
    return any(
        constant(argument(event.node, params.index(word), word)) is off
        for word, off in _EVALUATING.items()
        if word in params
    )


def _draws_itself(function: FunctionFacts, found: dict[tuple[Scope, Value], list[Use]]) -> bool:
    """Say whether a function draws numbers itself, and does not only split keys for a model."""
    return any(
        function.scope in {scope, scope.parent}
        for (scope, _), users in found.items()
        if any(use.helper or last(use.name) != "split" for use in users)
    )


def _captured(key: Value) -> Param | None:
    """Return the parameter of the function around that a key of an inner function is, as of a loss within a step."""
    if not isinstance(key, Free) or key.scope.function is None:
        return None
    bindings = key.scope.bindings.get(key.name, ())
    only = bindings[0] if len(bindings) == 1 else None
    return only if isinstance(only, Param) and only.function is key.scope.function else None


def _for_want(context: Context, use: Use, key: Param) -> bool:
    """Say whether a function draws only where another argument was left out, which a caller may have given."""
    return any(
        isinstance(block, ast.If)
        and arm == "body"
        and isinstance(block.test, ast.Compare)
        and isinstance(block.test.ops[0], ast.Is)
        and isinstance(block.test.left, ast.Name)
        and block.test.left.id in key.function.params
        for block, arm in context.bodies.paths(use.event.scope).get(use.event.node, ())
    )


def _for_want_within(context: Context, use: Use, inner: FunctionFacts | None) -> bool:
    """Say whether an inner function draws only where it gets no value for a parameter, and some of its calls, also of
    what a transform makes of it, give one."""
    asked = {
        block.test.left.id
        for block, arm in context.bodies.paths(use.event.scope).get(use.event.node, ())
        if isinstance(block, ast.If | ast.IfExp) and arm == "body" and isinstance(block.test, ast.Compare)
        if isinstance(block.test.ops[0], ast.Is) and isinstance(block.test.left, ast.Name)
    }
    if inner is None or not asked:
        return False
    frames = context.flow.sites.entries(inner)
    given = [context.flow.argument(frame, name) for name in asked & set(inner.params) for frame in frames]
    return any(one is not None and one.value != Const(None) for one in given)


def _switched_off(
    context: Context,
    use: Use,
    event: CallEvent,
    param: Param,
    found: dict[tuple[Scope, Value], list[Use]],
    outer: tuple[CallEvent, ...] = (),
) -> bool:
    """Say whether a call of the function around a use gives a flag, or leaves it out, so that it does not happen.

    A split does not count either whose parts are read under such flags alone, nor does the call of a helper that is
    given such a flag itself.
    """
    if _not_reached(context, use.event.node, use.event.scope, event, param.function, outer):
        return True
    if use.helper and len(outer) < _HANDED_ON:
        return _switched_off_within(context, use, found, (event, *outer))
    reads = _reads_of_parts(context, use)
    return bool(reads) and all(
        _not_reached(context, read, use.event.scope, event, param.function, outer) for read in reads
    )


_HANDED_ON = 3  # through how many functions a flag is followed that keeps a helper from drawing


def _switched_off_within(
    context: Context, use: Use, found: dict[tuple[Scope, Value], list[Use]], outer: tuple[CallEvent, ...]
) -> bool:
    """Say whether the helper that a use calls is given a flag, by the calls around it, so that it draws nothing."""
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, use.event.scope))
    functions = {callee.function for callee, _ in invoked}
    if len(functions) != 1:
        return False
    function = functions.pop()
    for param in function.params.values():
        given = argument_of(context, use.event, param)
        own = found.get((function.scope, param), []) if given is not None and given[1] is use.node else []
        if own:
            return all(_switched_off(context, one, use.event, param, found, outer) for one in own)
    return False


def _reads_of_parts(context: Context, use: Use) -> list[ast.AST]:
    """Return where a function reads the parts of a key that it splits; nothing if that is not all known."""
    scope, statement = use.event.scope, use.event.statement
    parts = given_names(statement, use.event.node) if last(use.name) == "split" and not use.helper else None
    if not parts or parts & {*scope.globals, *scope.remote}:
        return []
    names, nodes = {*parts}, context.bodies.nodes(scope)
    gone_through: list[ast.AST] = [use.event.node]
    for loop in (n for n in nodes if isinstance(n, ast.For)):
        if names & names_in(loop.iter):  # each part has a name of its own
            gone_through.append(loop.iter)
            names |= _of_parts(loop, names)
    return [
        n
        for n in ast.walk(scope.node)
        if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
        if not any(inside(n, one) for one in gone_through)
    ]


def _comes_to_nothing(context: Context, use: Use) -> bool:
    """Say whether the parts of a split key are only given to functions of the project that do not read them."""
    reads = {*_reads_of_parts(context, use)}
    if not reads:
        return False
    for event in context.bodies.calls.get(use.event.scope, ()):
        places = [i for i, node in enumerate(event.node.args) if node in reads]
        if places and not event.value.starred and _ignored(context, event, places):
            reads -= {event.node.args[i] for i in places}
    return not reads


def _ignored(context: Context, event: CallEvent, places: list[int]) -> bool:
    """Say whether a call runs a function of the project, or a method with all that override it, that never reads some
    of its arguments."""
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    if len(callees) != 1 or callees[0].args or callees[0].keywords or callees[0].gradient:
        return False
    called = callees[0].function
    versions = {called}
    if called.owner is not None:
        heirs = context.flow.classes.heirs(called.owner)
        versions |= {cls.methods[called.name] for cls in heirs if called.name in cls.methods}
    taken = callees[0].receiver is not None and called.binding in {"instance", "class"}
    for function in versions:
        params = list(function.params)[taken : function.positional]
        if isinstance(function.node, ast.Lambda) or left_to_heirs(function) or places[-1] >= len(params):
            return False
        if names_in(function.node) & {params[i] for i in places}:
            return False
    return True


def _of_parts(loop: ast.For, names: set[str]) -> set[str]:
    """Return the names that a loop gives the parts of what some names stand for, also beside others with ``zip``."""
    given, target = loop.iter, loop.target
    if isinstance(given, ast.Call) and last_word(given.func) == "zip" and isinstance(target, ast.Tuple):
        if len(target.elts) == len(given.args):
            pairs = zip(target.elts, given.args, strict=True)
            return {name for one, whole in pairs if names & names_in(whole) for name in names_in(one)}
    return {*names_in(target)}


def _not_reached(
    context: Context,
    node: ast.AST,
    scope: Scope,
    event: CallEvent,
    function: FunctionFacts,
    outer: tuple[CallEvent, ...] = (),
) -> bool:
    """Say whether conditions around or before a node of a function keep a call of that from reaching it.

    Args:
        context: the analysis.
        node: the node.
        scope: the scope that it stands in.
        event: the call of the function.
        function: the function.
        outer: the calls of the functions around that call, the next first, whose arguments it may hand on.
    """
    wanted = [
        (block.test, arm == "body")
        for block, arm in context.bodies.paths(scope).get(node, ())
        if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}
    ]
    wanted += [(guard.test, False) for guard in context.bodies.behind(node, scope)]
    calls = (event, *outer)
    return any(_holds(context, test, scope, calls, function) is (not truth) for test, truth in wanted)


def _holds(
    context: Context, test: ast.expr, scope: Scope, calls: tuple[CallEvent, ...], function: FunctionFacts
) -> bool | None:
    """Return whether a condition holds in what a call runs, by what it gives; None if that is not known."""
    event = calls[0]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(context, test.operand, scope, calls, function)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [_holds(context, part, scope, calls, function) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    if isinstance(test, ast.Compare):
        if len(test.ops) > 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot):
            return _compared(context, test, scope, calls, function)
        if not isinstance(test.comparators[0], ast.Constant) or test.comparators[0].value is not None:
            return None
        asked = scope.module.values.get(test.left)
        found = _held(context, asked, event, function) if isinstance(asked, Attr) else []
        if isinstance(asked, Param) and asked.function is function and isinstance(test.left, ast.Name):
            one = _given_through(context, calls, asked)
            found = [one] if isinstance(one, Const | Call | Item | Sequence | Mapping) else []
        if not found:
            return None
        nothing = {one == Const(None) for one in found}
        return None if len(nothing) > 1 else nothing.pop() is isinstance(test.ops[0], ast.Is)
    flag = scope.module.values.get(test)
    if isinstance(flag, Param) and flag.function is function and isinstance(test, ast.Name):
        value = _given_through(context, calls, flag)
        if isinstance(value, Const) and (value.value is None or type(value.value) in {bool, int, float, str}):
            return bool(value.value)
        return None
    given = _held(context, flag, event, function) if isinstance(flag, Attr) else []
    truths = {one.value if isinstance(one, Const) and isinstance(one.value, bool) else None for one in given}
    return truths.pop() if len(truths) == 1 else None


_NUMBERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def _compared(
    context: Context, test: ast.Compare, scope: Scope, calls: tuple[CallEvent, ...], function: FunctionFacts
) -> bool | None:
    """Return whether a comparison with a number holds of the number that a call gives; None if that is not known."""
    compare = _NUMBERS.get(type(test.ops[0])) if len(test.ops) == 1 else None
    if compare is None:
        return None
    sides: list[float] = []
    for side in (test.left, test.comparators[0]):
        inner = side
        if isinstance(side, ast.Call) and last_word(side.func) in {"float", "int"} and len(side.args) == 1:
            inner = side.args[0]
        number = constant(inner)
        asked = scope.module.values.get(inner)
        if isinstance(inner, ast.Name) and isinstance(asked, Param) and asked.function is function:
            value = _given_through(context, calls, asked)
            number = value.value if isinstance(value, Const) else None
        if type(number) not in {int, float}:
            return None
        assert isinstance(number, int | float)
        sides.append(number)
    return compare(sides[0], sides[1])


def _given_through(context: Context, calls: tuple[CallEvent, ...], param: Param) -> Value | None:
    """Return what a call gives for a parameter, also where it hands on what the calls around it give."""
    value = _given(context, calls[0], param)
    if isinstance(value, Param) and len(calls) > 1 and value.function is calls[0].scope.function:
        return _given_through(context, calls[1:], value)
    return value


def _held(context: Context, asked: Attr, event: CallEvent, function: FunctionFacts) -> list[Value]:
    """Return what the constructors' calls give for an attribute of the object whose method is called, if it is set in
    the constructor alone; nothing if it is not all known."""
    callee, flow = event.value.callee, context.flow
    if asked.base is not function.self_param or not isinstance(callee, Attr):
        return []
    found: list[Value] = []
    for made in context.sources.originals(flow.here(callee.base, event.scope)):
        cls = flow.classes.class_of(made)
        init = flow.classes.method(cls, "__init__") if cls is not None else None
        if init is None or not isinstance(made.value, Call) or made.value.starred:
            return []
        stores = flow.fields.stores().get(asked.name, ())
        if any(store.scope.function is None or store.scope.function.name != "__init__" for store in stores):
            return []
        stored = [value for method, value in init.owner.stores.get(asked.name, ())] if init.owner is not None else []
        if len(stored) != 1:
            return []
        value = stored[0]
        if isinstance(value, Param) and value.function is init:
            given = made.value.argument(list(init.params).index(value.name) - 1, value.name)
            if given is None:
                given = init.defaults.get(value.name)
            if given is None:
                return []
            value = given if isinstance(given, Const) else flow.follow(made, given).value
        if isinstance(value, Param | Free | Loop):
            return []
        found.append(value)
    return found


def _given(context: Context, event: CallEvent, param: Param) -> Value | None:
    """Return what a call gives for a parameter, its default included."""
    given = argument_of(context, event, param)
    if given is not None:
        return given[0]
    unknown = event.value.starred or any(k.arg in {None, param.name} for k in event.node.keywords)
    return None if unknown or len(event.node.args) >= len(param.function.params) else _default(param)


def _default(param: Param) -> Value | None:
    return param.function.defaults.get(param.name)


def argument_of(context: Context, event: CallEvent, param: Param) -> tuple[Value, ast.expr, bool] | None:
    """Return what a call gives for a parameter, as it stands in the call, and whether it asks for gradients."""
    function, call = param.function, event.value
    stars = [place for place, one in enumerate(event.node.args) if isinstance(one, ast.Starred)]
    if call.starred and not stars:
        return None
    if context.flow.calls.callee_name(context.flow.here(call, event.scope)):
        return None  # a loop or branch that gets the function
    invoked = [c for c, _ in context.flow.calls.invoked(context.flow.here(call, event.scope)) if c.function is function]
    gradient = len(invoked) == 1 and invoked[0].gradient
    if not gradient and not isinstance(event.node.func, ast.Name | ast.Attribute):
        return None
    for key, node in zip(call.keywords, event.node.keywords, strict=True):
        if key[0] == param.name:
            return key[1], node.value, gradient
    index = list(function.params).index(param.name)
    if index >= function.positional:
        return None  # behind `*shape`: by its name alone
    taken = index - function.positional + len(call.args)
    bound = len(invoked[0].args) if len(invoked) == 1 else 0
    if function.self_param is not None or (function.binding == "class" and not bound):
        index -= 1
    index -= bound
    if index < taken and not stars and function.vararg is None:
        return None  # more arguments than there are parameters: which is too much, nobody knows
    if stars and index >= stars[0]:
        return None  # what comes before the others is certain: `kernel(key, *state)`
    return (call.args[index], event.node.args[index], gradient) if 0 <= index < len(call.args) else None


def _trackable(key: Value) -> bool:
    """Say whether equal values mean the same key: nothing may change it between two uses."""
    if isinstance(key, Free):  # a function may bind it anew, by `global` or `nonlocal`
        return key.name not in key.scope.globals and key.name not in key.scope.remote
    if isinstance(key, Param):
        return True
    if isinstance(key, Call | Loop):
        return True
    if isinstance(key, Item):
        return _trackable(key.base) and not isinstance(key.index, Unknown)
    if isinstance(key, Each):
        return _trackable(key.base)
    return False


def kept(context: Context, key: Attr) -> bool:
    """Say whether an attribute of ``self`` gets its key in the constructor, and no attribute of its name elsewhere."""
    base = key.base
    if not isinstance(base, Param):
        return False
    if base is not base.function.self_param or base.function.owner is None:
        return _unchanged(context, key)
    own = 0
    for event in context.flow.fields.stores().get(key.name, ()):
        function = event.scope.function
        if function is None or function.name != "__init__" or event.base != function.self_param:
            return False
        own += function is base.function
    if own > 1:
        return False  # it is another one in other places of the constructor
    return bool(base.function.owner.stores.get(key.name))


def _unchanged(context: Context, key: Attr) -> bool:
    """Say whether a parameter's attribute is a field that nothing in the project assigns to but constructors."""
    base = key.base
    assert isinstance(base, Param)
    bound = context.flow.here(base, base.function.scope)
    classes = [context.flow.classes.class_of(one) for one in (bound, *context.sources.originals(bound))]
    if not any(
        cls and any(key.name in c.fields or key.name in c.stores for c in context.flow.classes.mro(cls)[0])
        for cls in classes
    ):
        return False
    return not any(
        event.scope.function is None or event.scope.function.name not in {"__init__", "__post_init__"}
        for event in context.flow.fields.stores().get(key.name, ())
    )


def binds(loop: ast.AST, name: str) -> bool:
    """Say whether a loop binds a name, by its target or in its body."""
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(loop))


def varies(value: Value, loop: ast.AST, depth: int = 0, lasting: Callable[[Attr], bool] | None = None) -> bool:
    """Say whether a value is, or may be, another one in every round of a loop.

    Args:
        value: the value.
        loop: the loop.
        depth: how many values this one was followed from.
        lasting: says of an attribute that nothing changes it; without it, each may change.
    """
    if depth > 12:
        return True
    if isinstance(value, Each | Loop):
        own = value.loop if isinstance(value, Each) else value.node
        if own is loop or (isinstance(own, ast.Call) and (isinstance(loop, ast.comprehension) or inside(own, loop))):
            return True  # the call is `sorted` or `reversed`, which the loop goes through
        if isinstance(value, Loop):
            return varies(value.before, loop, depth + 1, lasting)
        return varies(value.base, loop, depth + 1, lasting)
    if isinstance(value, Choice):
        return inside(value.node, loop) or any(varies(o, loop, depth + 1, lasting) for o in value.options)
    if isinstance(value, Changed):  # as a counter is
        again = inside(value.node, loop) and not isinstance(getattr(value.node, "value", None), ast.Constant)
        return again or varies(value.before, loop, depth + 1, lasting)
    if isinstance(value, Call) and last(getattr(value.callee, "name", "")) in _MAKING:
        if not value.starred and inside(value.node, loop):
            parts = value.given
            return any(not _lasts(p) or varies(p, loop, depth + 1, lasting) for p in parts)
    if isinstance(value, Call | Unknown):
        node = value.node
        return isinstance(loop, ast.comprehension) or inside(node, loop)
    if isinstance(value, Sequence):  # what `enumerate`, `zip` and `items` give in a round, or a display
        return inside(value.node, loop) or any(varies(item, loop, depth + 1, lasting) for item in value.items)
    if isinstance(value, Mapping):
        return inside(value.node, loop)
    if (element := of_display(value)) is not value:
        return varies(element, loop, depth + 1, lasting)
    if isinstance(value, Item):
        return varies(value.base, loop, depth + 1, lasting) or varies(value.index, loop, depth + 1, lasting)
    return isinstance(value, Attr) and not (lasting is not None and lasting(value))


def _lasts(value: Value) -> bool:
    """Say whether a value is one whose changes :func:`varies` sees: the number of a round is a part of a display."""
    while isinstance(value, Item) and isinstance(value.index, Const):
        value = value.base
        if not isinstance(value, Item | Call):
            return False
    return isinstance(value, Const | Param | Free | Call | Attr)
