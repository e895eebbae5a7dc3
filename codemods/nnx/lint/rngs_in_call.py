"""NNX832: ``nnx.Rngs`` of a fixed seed made where it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.key_purpose import only_initializes
from codemods.nnx.lint.keys import binds
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import callers_of, foreign, given_to, in_test, kinds_of
from codemods.nnx.lint.syntax import argument, constant, is_none
from codemods.nnx.lint.traced import COMPILED, function_of
from codemods.nnx.lint.unread import given_names, unread
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Each, Free, Item, Param, Value

_SEEDS = frozenset({"flax.nnx.Rngs", "jax.random.key", "jax.random.PRNGKey"})
_SHAPES = frozenset({"jax.eval_shape", "flax.nnx.eval_shape", "flax.nnx.get_abstract_model", "jax.make_jaxpr"})
_MODE = pattern("stochastic|determin|training|is_train|eval|debug|test")
_MAKING = ("init", "make", "build", "create", "setup", "reset", "from", "load", "restore", "example", "dummy")


def _check(context: Context) -> Iterator[Finding]:
    yield from _layers(context)
    yield from _each_round(context)
    arguments: dict[Value, list[ast.Call]] = {}
    for event in context.bodies.named("Rngs", "key", "PRNGKey"):
        function = event.scope.function
        if function is None or not _anew(context, event):
            continue
        if context.flow.calls.name(event) != "flax.nnx.Rngs":
            if _consumed(context, event) and not _wanted(context, event, function):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "a new key of a fixed seed at every call gives the same numbers at every call",
                    "take the key as an argument, or draw it from an Rngs that the module keeps",
                )
            continue
        if not arguments:
            arguments = _given(context)
        if _stands_in(context, event):
            continue
        given = arguments.get(event.value, [])
        if given and all(_abstract(context, call, event.scope) for call in given):
            continue  # nothing is drawn
        given = [call for call in given if not _carry(call)]
        if (given or _streams(context, event)) and not any(_constructs(context, call, function) for call in given):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a new Rngs of a fixed seed at every call gives the same numbers at every call",
                "make the Rngs once and pass it in, or keep it in the module",
            )


_ANEW = pattern(
    r"step|train|loss|sampl|generat|augment|noise|noisy|drop|forward|rollout|call|act|polic|predict|updat|appl|perturb|"
    r"draw|decod|encod|body|scan|loop|explor|attention|layer|block"
)
_FIXED = pattern(r"(^|_)(priors?|anchors?|fixed|const(ant)?s?|ground_truth|gt|true|references?)(_|$)")
# what is run as a whole, so that it can be run again
_RUNS = frozenset({"fit", "solve", "optimize", "optimise", "minimize", "minimise"})
_CHOOSING = frozenset({"categorical", "choice", "bernoulli", "gumbel", "randint"})


def _wanted(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether the same numbers are meant: they stand in for an argument, or a computation only begins with them."""
    statement = event.statement
    if isinstance(statement, ast.Assign) and any(_FIXED.search(last_word(t).lower()) for t in statement.targets):
        return True  # a constant of the problem
    if isinstance(statement, ast.Assign) and statement.value is not event.node:
        names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        paths = context.bodies.paths(event.scope).get(event.node, ())
        if names & set(function.params) and any(isinstance(block, ast.If) for block, _ in paths):
            return True
        if any(_for_missing(block, arm, names, function) for block, arm in paths):
            return True
        loops = (n for n in context.bodies.nodes(event.scope) if isinstance(n, ast.For | ast.While))
        behind = [loop for loop in loops if loop.lineno > statement.lineno]
        if not _ANEW.search(function.name.lower()) and any(binds(loop, name) for loop in behind for name in names):
            return True  # where an iteration begins, which goes on to a solution
    if function.name in _RUNS or _whole_training(context, event, function):
        return True
    if function.owner is not None:
        if function.name == "__call__" or "flax.nnx.Module" in context.flow.classes.mro(function.owner)[1]:
            return False
    scope: Scope | None = event.scope
    while scope is not None:
        if scope.function is not None and _ANEW.search(scope.function.name.lower()):
            return False
        scope = scope.parent
    return not any(last_word(call.node.func) in _CHOOSING for call in context.bodies.calls.get(event.scope, ()))


def _whole_training(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a function goes through all epochs or episodes behind the key: it runs a training from its start."""
    loops = (n for n in context.bodies.nodes(event.scope) if isinstance(n, ast.For))
    counted = [
        loop.iter.args[-1]
        for loop in loops
        if loop.lineno > event.node.lineno and isinstance(loop.iter, ast.Call) and loop.iter.args
        if last_word(loop.iter.func) in {"range", "trange"}
    ]
    return any(isinstance(n, ast.Name) and n.id in function.params and _EPOCHS.fullmatch(n.id) for n in counted)


_EPOCHS = pattern(r"((n|num|total|max)_?)?(epochs?|episodes?)")


def _for_missing(block: ast.AST, arm: str, names: set[str], function: FunctionFacts) -> bool:
    """Say whether a draw takes the place of what an argument would have made, which is None in its branch."""
    test = block.test if isinstance(block, ast.If) else None
    if not isinstance(block, ast.If) or not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return False
    if not is_none(test.comparators[0]) or test.left.id not in function.params or not names:
        return False
    if (arm, type(test.ops[0])) not in {("body", ast.Is), ("orelse", ast.IsNot)}:
        return False
    for statement in block.orelse if arm == "body" else block.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and names & {n.id for t in node.targets for n in _names_of(t)}:
                asked = (n.func if isinstance(n, ast.Call) else n for n in ast.walk(node.value))
                if any(_begins_with(one, test.left.id) for one in asked if isinstance(one, ast.Attribute)):
                    return True
    return False


def _names_of(target: ast.expr) -> list[ast.Name]:
    return [n for n in ast.walk(target) if isinstance(n, ast.Name)]


def _begins_with(node: ast.expr, name: str) -> bool:
    """Say whether an expression is a part of a variable, however deep: ``model.head.weight``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _anew(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes streams or a key of a fixed seed, in a function that is called often."""
    function = event.scope.function
    values = [_seed(v) for v in (*event.node.args, *(k.value for k in event.node.keywords))]
    if (
        function is None
        or not values
        or not all(isinstance(v, ast.Constant | ast.Name | ast.Attribute) for v in values)
    ):
        return False
    if event.scope.module not in context.asked or in_test(event.scope) or not _often(context, function):
        return False
    if _evaluates(context, function) or only_initializes(event.scope):
        return False  # whose numbers are to be the same each time
    if not all(_constant(context, event, v) for v in values):
        return False
    if context.flow.calls.name(event) not in _SEEDS or _fixed(context, event) or _once(context, event):
        return False
    return not same_said(event.scope, event.statement) and not _for_nothing(context, event)


def _once(context: Context, event: CallEvent) -> bool:
    """Say whether something is made at the first call, and kept: ``if self.weight is None: self.weight = ...``."""
    for block, arm in context.bodies.paths(event.scope).get(event.node, ()):
        if not isinstance(block, ast.If) or arm != "body" or not isinstance(block.test, ast.Compare):
            continue
        test = block.test
        if isinstance(test.left, ast.Attribute) and isinstance(test.ops[0], ast.Is) and is_none(test.comparators[0]):
            kept = (target for one in block.body if isinstance(one, ast.Assign) for target in one.targets)
            if any(ast.dump(test.left.value) == ast.dump(t.value) and test.left.attr == t.attr
                   for t in kept if isinstance(t, ast.Attribute)):  # fmt: skip
                return True
    return False


def _seed(node: ast.expr) -> ast.expr:
    """Return the seed of a key that is made in its place, as in ``nnx.Rngs(jax.random.key(0))``, or what is given."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"key", "PRNGKey"} and len(node.args) == 1:
        return node.args[0] if not node.keywords else node
    return node


def _for_nothing(context: Context, event: CallEvent) -> bool:
    """Say whether what is made with a key is bound again before anything reads it, in all statements with the key, or
    can be one number alone."""
    statement, scope = event.statement, event.scope
    if any(isinstance(n, ast.Call) and n.args[:1] == [event.node] and _one_number(n) for n in ast.walk(statement)):
        return True
    names = given_names(statement, event.node)
    if not names or not isinstance(statement, ast.Assign):
        return False
    if statement.value is not event.node:
        return isinstance(statement.value, ast.Call) and unread(context, scope, statement, names, rebound=True)
    reads = {
        n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
    }
    drawing = [
        n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        if reads & set(ast.walk(n.value))
    ]  # fmt: skip
    if not drawing or not reads <= {n for one in drawing for n in ast.walk(one.value)}:
        return False
    return all(
        bool(made := given_names(one, one.value)) and unread(context, scope, one, made, rebound=True) for one in drawing
    )


def _one_number(call: ast.Call) -> bool:
    """Say whether integers are drawn from a range of one of them, or of none: ``randint(key, (1,), 0, 1)``."""
    low, high = constant(argument(call, 2, "minval")), constant(argument(call, 3, "maxval"))
    return last_word(call.func) == "randint" and isinstance(low, int) and isinstance(high, int) and high - low <= 1


def key_anew(context: Context, node: ast.AST) -> bool:
    """Say whether NNX832 speaks of a call that makes a key."""
    return any(
        event.node is node
        and event.scope.function is not None
        and _anew(context, event)
        and _consumed(context, event)
        and not _wanted(context, event, event.scope.function)
        for event in context.bodies.named("key", "PRNGKey")
    )


_EVALUATING = pattern(r"_*(eval|valid|test_)")


def _evaluates(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function judges a model, by its name, or only serves functions that do."""
    if _EVALUATING.match(_outermost(function).name.lower()):
        return True
    callers = [caller.scope.function for caller in callers_of(context, function)]
    return bool(callers) and all(
        one is not None and _EVALUATING.match(_outermost(one).name.lower()) is not None for one in callers
    )


def _outermost(function: FunctionFacts) -> FunctionFacts:
    scope = function.scope.parent
    while scope is not None:
        function, scope = scope.function or function, scope.parent
    return function


def _constant(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether a seed is a literal number or text, by a name of the module or a field of its configuration too."""
    if isinstance(node, ast.Constant):
        return True
    value = event.scope.module.values.get(node)
    if isinstance(value, Attr) and _kept_seed(context, event, value):
        return True
    root = value
    while isinstance(root, Attr):
        root = root.base
    if value is None or not isinstance(root, Free) or (isinstance(value, Attr) and not root.of_global):
        return False
    return isinstance(context.flow.resolve(context.flow.here(value, event.scope)).value, Const)


def _kept_seed(context: Context, event: CallEvent, value: Attr) -> bool:
    """Say whether a seed is an attribute of a module that its constructor alone sets, to a number of its own or to one
    that it is given."""
    function = event.scope.function
    if function is None or function.owner is None or value.base is not function.self_param:
        return False
    parents, bases = context.flow.classes.mro(function.owner)
    kept = [one for cls in parents for one in cls.stores.get(value.name, ())]
    first = all(method.name == "__init__" and isinstance(stored, Const | Param) for method, stored in kept)
    inside = {id(stored) for _, stored in kept}
    every = context.flow.fields.stores().get(value.name, ())
    return bool(kept) and first and "flax.nnx.Module" in bases and all(id(one.stored) in inside for one in every)


def _each_round(context: Context) -> Iterator[Finding]:
    """Yield the streams of a fixed seed that a model is called with in every round of a loop."""
    for event, name in foreign(context, "Rngs"):
        values = [*event.node.args, *(k.value for k in event.node.keywords)]
        if name != "flax.nnx.Rngs" or not event.loops or not values or in_test(event.scope):
            continue
        if not all(isinstance(v, ast.Constant) for v in values):
            continue
        for call in context.bodies.calls.get(event.scope, ()):
            given = call.value.given
            if event.value in given and plain_module(context, owner_class(context, call.value.callee, call.scope)):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "a new Rngs of a fixed seed in every round gives the same numbers in every round",
                    "make the Rngs once, before the loop",
                )


_LAYERS = frozenset(
    {"Linear", "Conv", "ConvTranspose", "Embed", "LinearGeneral", "MultiHeadAttention", "Einsum", "LSTMCell", "GRUCell",
     "OptimizedLSTMCell", "SimpleCell", "BatchNorm", "LayerNorm", "RMSNorm", "GroupNorm"}
)  # fmt: skip


_INITIALIZER = pattern(r"normal|uniform|variance|orthogonal|glorot|xavier|lecun|kaiming|he_")


def _stands_in(context: Context, event: CallEvent) -> bool:
    """Say whether a draw only takes the place of an array of the wrong shape: ``if u.shape[0] != n: u = ...``."""
    statement = event.statement
    names = given_names(statement, event.node)
    blocks = context.bodies.paths(event.scope).get(event.node, ())
    tests = [block.test for block, arm in blocks if isinstance(block, ast.If) and arm == "body"]
    return len(names) == 1 and any(
        isinstance(node, ast.Attribute)
        and node.attr in {"shape", "ndim", "size"}
        and isinstance(node.value, ast.Name)
        and node.value.id in names
        for test in tests
        for node in ast.walk(test)
    )


def _layers(context: Context) -> Iterator[Finding]:
    """Yield the layers that the call of a module makes and calls at once: with new weights each time."""
    for event in context.asked.calls():
        function = event.scope.function
        if function is None or function.name in _CONSTRUCTORS or not any(k.arg == "rngs" for k in event.node.keywords):
            continue
        if event.value.starred or not _called_only(context, event) or in_test(event.scope):
            continue
        name = _weighted(context, event)
        if name and _of_call(context, event, function, 0):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"a new `{name}` at every call has new weights each time, which nothing trains",
                "make it in the constructor, as an attribute",
            )


_CONSTRUCTORS = frozenset({"__init__", "setup", "__post_init__", "<lambda>"})


def _called_only(context: Context, event: CallEvent) -> bool:
    """Say whether the object that a call makes is called in the same body, and nothing else is done with it.

    It may stand in a chain that is called, or be kept as an attribute by the call of a module, which replaces it then.
    """
    calls = context.bodies.calls.get(event.scope, ())
    given = [c for c in calls if event.value in c.value.given]
    if given:
        chain = given[0]
        return (
            len(given) == 1 and context.flow.calls.name(chain) == "flax.nnx.Sequential" and _called_only(context, chain)
        )
    kept, function = event.statement, event.scope.function
    target = kept.targets[0] if isinstance(kept, ast.Assign) and kept.value is event.node else None
    if isinstance(target, ast.Attribute) and function is not None and function.name == "__call__":
        text = ast.unparse(target)
        return not context.bodies.behind(event.node, event.scope) and any(
            ast.unparse(call.node.func) == text and call.node.lineno > kept.lineno for call in calls
        )
    if target is not None and not isinstance(target, ast.Name):
        return False
    if not any(call.value.callee is event.value for call in calls):
        return False
    values = event.scope.module.values
    return not any(
        (isinstance(node, ast.Attribute) and values.get(node.value) is event.value)
        or (isinstance(node, ast.Return) and node.value is not None and values.get(node.value) is event.value)
        for node in context.bodies.nodes(event.scope)
    )


def _weighted(context: Context, event: CallEvent) -> str:
    """Return how messages name the class of a layer with weights that a call makes; empty if it makes none."""
    name = context.flow.calls.name(event)
    word = name.removeprefix("flax.nnx.")
    if name:
        # norms that have no weights, and fixed linear maps
        plain = word.endswith("Norm") and any(
            k.arg in {"use_scale", "use_bias"} and _is_false(k.value) for k in event.node.keywords
        )
        fixed = any(
            k.arg in {"kernel_init", "embedding_init"} and not _INITIALIZER.search(ast.unparse(k.value))
            for k in event.node.keywords
        )
        return f"nnx.{word}" if word in _LAYERS and not plain and not fixed else ""
    bound = context.flow.here(event.value, event.scope)
    cls = context.flow.classes.class_of(bound)
    if cls is None or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
        return ""
    init = context.flow.classes.method(cls, "__init__")
    makes = init is not None and any(
        last_word(call.node.func) in _LAYERS or last_word(call.node.func) == "Param"
        for call in context.bodies.calls.get(init.scope, ())
    )
    # weights that it is given are those of somebody else
    given = (v for k, v in event.value.keywords if k != "rngs")
    own = not any(Kind.MODULE in kinds_of(context, v, event.scope) for v in (*event.value.args, *given))
    return cls.name if makes and own else ""


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _of_call(context: Context, event: CallEvent, function: FunctionFacts, depth: int) -> bool:
    """Say whether a place is reached in every call of a module, also through other functions."""
    for block, _ in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(block, ast.If | ast.IfExp) and (
            not (depth or _local(event)) or _FIRST.search(ast.unparse(block.test))
        ):
            return False  # made once, on first use
    if any(last_word(node) == "compact" for node in getattr(function.node, "decorator_list", ())):
        return False
    if any(r.function is function and r.transform.startswith("flax.nnx.") for r in context.traced.gradients):
        return True  # nothing but its argument is trained
    if function.name == "__call__":
        owner = function.owner
        return owner is not None and "flax.nnx.Module" in context.flow.classes.mro(owner)[1]
    return depth < 3 and any(
        caller.scope.function is not None
        and caller.scope.function.name not in _CONSTRUCTORS
        and not in_test(caller.scope)
        and _of_call(context, caller, caller.scope.function, depth + 1)
        for caller in callers_of(context, function)[:20]
    )


_FIRST = pattern(r"init|hasattr|getattr|\bNone\b|\bnot in\b|first|built|setup|created|cache|debug")


def _local(event: CallEvent) -> bool:
    """Say whether what a call makes is called there, or is kept in a variable of its body and nowhere else."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return True
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    if len(names) != len(statement.targets):
        return False
    return not any(
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names
        for node in ast.walk(event.scope.node)
    )


def _streams(context: Context, event: CallEvent) -> bool:
    """Say whether keys are taken from streams in the scope that makes them."""
    for call in context.bodies.calls.get(event.scope, ()):
        callee = call.value.callee
        if callee is event.value or (isinstance(callee, Attr) and callee.base is event.value):
            return not call.value.args
    return False


def _fixed(context: Context, event: CallEvent) -> bool:
    """Say whether a condition asks for a mode around a call, as one in which equal numbers are wanted."""
    bodies, node = context.bodies, event.node
    blocks = [block for block, arm in bodies.paths(event.scope).get(node, ()) if arm in {"body", "orelse"}]
    conditions = [b for b in (*blocks, *bodies.behind(node, event.scope)) if isinstance(b, ast.If | ast.IfExp)]
    return any(_MODE.search(ast.unparse(condition.test)) for condition in conditions)


def _often(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is called again and again: it is compiled, or a method of a module that makes nothing."""
    tracing = context.traced.get(function)
    if tracing is not None and tracing.level == COMPILED:
        if _whole_run(context, function):
            return False
        return bool(function.params) or function.vararg is not None
    owner = function.owner
    if owner is None or function.self_param is None or function.name.strip("_").startswith(_MAKING):
        return False
    if function.name.lower().startswith(_MAKING):
        return False
    return function.name == "__call__" or "flax.nnx.Module" in context.flow.classes.mro(owner)[1]


_WHOLE = pattern(r"(^|_)(fit|train|training|run|main|solve|optimi[sz]e|simulate)\d*(_|$)")
_PART = pattern(r"step|epoch|batch|iter|update|loss|forward|grad|body")
_ROUNDS = frozenset({"jax.lax.scan", "jax.lax.while_loop", "jax.lax.fori_loop", "flax.nnx.scan", "flax.nnx.while_loop",
                     "flax.nnx.fori_loop"})  # fmt: skip


def _whole_run(context: Context, function: FunctionFacts) -> bool:
    """Say whether a compiled function is a whole run, with the loop inside, that is called once: its seed is that of
    the run."""
    if not _WHOLE.search(function.name.lower()) or _PART.search(function.name.lower()):
        return False
    if not any(context.flow.calls.name(event) in _ROUNDS for event in context.bodies.calls.get(function.scope, ())):
        return False
    callers = [event for event in context.flow.sites.callers(function) if not in_test(event.scope)]
    if len(callers) != 1 or callers[0].loops:
        return False
    caller = callers[0].scope.function
    if caller is None:
        return True
    if caller is not function_of(function.scope.parent) and caller.name != "main":
        return False
    return caller not in context.traced and not _PART.search(caller.name.lower()) and caller.name != "__call__"


def _consumed(context: Context, event: CallEvent) -> bool:
    """Say whether numbers or masks are drawn with the key that a call makes."""
    return _drawn(context, event.value, event.scope, 0) or _drops(context, event)


def _drawn(context: Context, key: Value, scope: Scope, depth: int) -> bool:
    """Say whether numbers are drawn from a key of a scope, or from parts of it."""
    for event in context.bodies.calls.get(scope, ()):
        first = event.value.argument(0, "key")
        while isinstance(first, Item | Each):
            first = first.base
        if first is not key:
            continue
        name = context.flow.calls.callee_name(context.flow.here(event.value, scope))
        if name == "jax.random.split" and depth < 3:
            if _drawn(context, event.value, scope, depth + 1):
                return True
        elif name.startswith("jax.random.") and last(name) not in NOT_CONSUMING:
            return True
    return depth < 3 and _drawn_elsewhere(context, key, scope, depth + 1)


def _drops(context: Context, event: CallEvent) -> bool:
    """Say whether a key is that of the dropout in a step of a training: ``apply(..., rngs={"dropout": key})``."""
    source, body = event.scope.module.source, event.scope.node
    if not source.mentions(b"dropout") or not any(
        last_word(call.node.func) in _LEARNING for call in context.bodies.calls.get(event.scope, ())
    ):
        return False
    names = given_names(event.statement, event.node)
    if len(names) > 1 or any(len(context.bodies.stores(event.scope, name)) != 1 for name in names):
        return False
    calls = (n for n in ast.walk(body) if isinstance(n, ast.Call) and last_word(n.func) == "init")
    made = {part for call in calls for part in ast.walk(call)}
    return any(
        constant(key) == "dropout" and (value is event.node or (isinstance(value, ast.Name) and value.id in names))
        for held in ast.walk(body)
        if isinstance(held, ast.Dict) and held not in made
        for key, value in zip(held.keys, held.values, strict=True)
    )


_LEARNING = frozenset({"grad", "value_and_grad", "apply_gradients"})


def _drawn_elsewhere(context: Context, key: Value, scope: Scope, depth: int) -> bool:
    """Say whether functions of the project that a key is given to draw numbers from it."""
    if scope.function is None or scope.function.name.strip("_").startswith(_MAKING):
        return False
    for event in context.bodies.calls.get(scope, ()):
        for param in given_to(context, event, key):
            function = param.function
            if function is scope.function or function.name.strip("_").startswith(_MAKING):
                continue
            if _drawn(context, param, function.scope, depth):
                return True
    return False


def _given(context: Context) -> dict[Value, list[ast.Call]]:
    """Return the calls that each result of a call is given to, at once or under a name."""
    found: dict[Value, list[ast.Call]] = {}
    for event in context.project.calls():
        for value in event.value.given:
            if isinstance(value, Call):
                found.setdefault(value, []).append(event.node)
    return found


def _abstract(context: Context, call: ast.Call, scope: Scope) -> bool:
    """Say whether a call only asks for shapes."""
    value = scope.module.values.get(call)
    return value is not None and context.flow.calls.callee_name(context.flow.here(value, scope)) in _SHAPES


_CARRY = pattern(r"(^|_)init(ial|ialize)?_(carry|states?|hidden|memory)(_|$)")


def _carry(call: ast.Call) -> bool:
    """Say whether a call makes the first carry of a cell, which are zeros unless asked for otherwise."""
    return isinstance(call.func, ast.Attribute) and bool(_CARRY.search(call.func.attr))


def _constructs(context: Context, call: ast.Call, function: FunctionFacts) -> bool:
    """Say whether a call makes a module, whose weights may well be the same each time."""
    value = function.scope.module.values.get(call)
    if value is None:
        return True
    return Kind.MODULE in context.kinds.of(context.flow.here(value, function.scope))


RULE = lint_rule(
    "NNX832",
    "rngs-in-call",
    "nnx.Rngs of a fixed seed made in __call__ or in compiled code",
    why="""\
Every call starts from the same seed: dropout drops the same units each time, noise is always the same. A layer that the
call makes, itself or in a method, is no part of the module: nothing trains or saves its weights.
""",
    source="JAX tutorial, section on random keys; measured: identical masks",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x):
        return self.drop(x, rngs=nnx.Rngs(0))
""",
    ),
    clean=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x, rngs):
        return self.drop(x, rngs=rngs)
""",
    ),
)
