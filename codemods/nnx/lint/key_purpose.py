"""Uses of a key of which the same numbers are meant, or that draw nothing, by what the code around them is for; part of
NNX830."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Free, Param

_RULES = ("defjvp", "defvjp", "defjvps")
_LATENT = pattern(r"(^|_)(embed\w*|latents?|z0|context|cond\w*|style)(_|$)")
_EVALUATING = {"train": False, "training": False, "is_training": False, "deterministic": True, "randomized": False,
               "randomize": False, "stochastic": False}  # fmt: skip
_WRAPPED = 4  # names and transforms between what renders and the function that is written out
_ENDING = frozenset({"exit", "quit", "_exit"})


def in_derivative_rule(scope: Scope) -> bool:
    """Say whether a body is the rule of a derivative, which draws what the function itself has drawn once more: the
    gradient is that of the same noise.

    Args:
        scope: the body.
    """
    function = scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    source = scope.module.source
    if not (source.mentions(b"defjvp") or source.mentions(b"defvjp")):
        return False
    if any(last_word(one).startswith(_RULES) for one in function.node.decorator_list):
        return True
    return any(
        last_word(call.func) in _RULES and any(function.name in names_in(one) for one in call.args)
        for call in source.of_type(ast.Call)
    )


_TO_INITIALIZE = pattern(r"\bonly\b.*\binitiali|\binitiali\w*\b.*\bonly\b|\bonly\b.*\bto init\b|\binit\b.*\bonly\b")


def only_initializes(scope: Scope) -> bool:
    """Say whether a method is there to initialize a model, by its docstring or the comment that it begins with: what
    it draws nobody reads, and other methods are applied.

    Args:
        scope: the body.
    """
    function = scope.function
    if function is None or function.owner is None or function.name != "__call__":
        return False
    first = function.node.lineno
    body = getattr(function.node, "body", None)
    last_line = body[0].end_lineno or first if isinstance(body, list) else first
    lines = (scope.module.source.line(number) for number in range(first, last_line + 1))
    texts = [line.partition("#")[2] for line in lines if "#" in line]
    texts.append(ast.get_docstring(function.node) or "" if isinstance(function.node, ast.FunctionDef) else "")
    return any(_TO_INITIALIZE.search(text.lower()) for text in texts)


def only_printed(use: Use) -> bool:
    """Say whether a cell of a notebook only shows what is drawn, as to tell how keys behave: ``print(normal(key))``.

    Args:
        use: a use of a key.
    """
    scope, statement = use.event.scope, use.event.statement
    if (
        scope.function is not None
        or not scope.module.source.notebook
        or use.helper
        or not isinstance(statement, ast.Expr)
    ):
        return False
    call = statement.value
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"print", "display"}
        and any(_shown(one, use.event.node) for one in call.args)
    )


def _shown(node: ast.expr, draw: ast.AST) -> bool:
    """Say whether an argument of ``print`` is a draw, or a text that it stands in."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(one, ast.FormattedValue) and one.value is draw for one in node.values)
    return node is draw


def always_leaves(loop: ast.AST) -> bool:
    """Say whether a loop ends in its first round: ``assert 0``, ``return`` or ``break`` in any case.

    Args:
        loop: a loop.
    """
    if not isinstance(loop, ast.For | ast.While):
        return False
    inner = {n for one in loop.body for n in ast.walk(one)}
    if any(isinstance(n, ast.Continue) for n in inner):
        return False
    return any(_leaves(statement) for statement in loop.body)


def _leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Break | ast.Return | ast.Raise):
        return True
    if isinstance(statement, ast.If):
        return all(any(map(_leaves, arm)) for arm in (statement.body, statement.orelse))
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_word(call.func) in _ENDING


def of_latent(use: Use) -> bool:
    """Say whether a key is that of something which stays the same while a sampler goes on, by its name.

    Args:
        use: a use of a key in the body of a loop of JAX.
    """
    return not use.helper and _LATENT.search(last_word(use.node).lower()) is not None


def for_evaluation(context: Context, use: Use) -> bool:
    """Say whether a helper only splits a key and hands its parts to a function that it is given, which calls a model
    in evaluation, where nothing draws: ``render(lambda k, x: model.apply(params, k, x, False), key)``.

    Args:
        context: the analysis.
        use: a use of a key.
    """
    if not use.helper or use.event.value.starred:
        return False
    callees = context.flow.calls.callables(context.flow.here(use.event.value.callee, use.event.scope))
    function = callees[0].function if len(callees) == 1 else None
    if function is None or isinstance(function.node, ast.Lambda) or callees[0].receiver is not None:
        return False
    params = list(function.params)
    given = [*zip(params, use.event.node.args, strict=False), *((k.arg, k.value) for k in use.event.node.keywords)]
    key = next((name for name, node in given if node is use.node), None)
    taken = _only_handed(context, function, key) if key is not None else None
    node = next((one for name, one in given if name == taken), None)
    return node is not None and _evaluates(context, node, use.event.scope, 0)


def _only_handed(context: Context, function: FunctionFacts, key: str) -> str | None:
    """Return the parameter of a function that gets the parts of a key, where nothing else does; None if none is."""
    values, names = function.scope.module.values, {key}
    events = context.bodies.calls.get(function.scope, ())
    taken: set[str] = set()
    for event in events:
        if context.flow.calls.name(event) == "jax.random.split" and names & names_in(event.node):
            statement = event.statement
            if not isinstance(statement, ast.Assign) or statement.value is not event.node:
                return None
            names |= {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for event in events:
        parts = [*event.node.args, *(k.value for k in event.node.keywords)]
        if not any(names & names_in(one) for one in parts) or context.flow.calls.name(event) == "jax.random.split":
            continue
        made = values.get(event.node.func)
        direct = any(isinstance(one, ast.Name | ast.Subscript) and names & names_in(one) for one in parts)
        if direct and isinstance(made, Param) and made.function is function:
            taken.add(made.name)
        elif direct:
            return None
    return taken.pop() if len(taken) == 1 else None


def _evaluates(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is a function that applies a model in evaluation, also behind transforms and names."""
    if depth > _WRAPPED:
        return False
    if isinstance(node, ast.Lambda):
        return _applies(node)
    if isinstance(node, ast.Call):
        return any(_evaluates(context, one, scope, depth + 1) for one in node.args[:1])
    if not isinstance(node, ast.Name):
        return False
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.FunctionDef) and one.name == node.id:
            return _applies(one)
        if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets):
            return _evaluates(context, one.value, scope, depth + 1)
    return False


def _applies(function: ast.FunctionDef | ast.Lambda) -> bool:
    """Say whether a function applies a model, each time with a flag that turns chance off."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and last_word(n.func) == "apply"]
    return bool(calls) and all(
        any(constant(one) is False for one in call.args)
        or any(k.arg in _EVALUATING and constant(k.value) is _EVALUATING[k.arg] for k in call.keywords)
        for call in calls
    )


_LOADING = pattern(r"^(load|get|create|make|build)_(\w*_)?(dataset|data_?loader|loader|data_iter\w*)$")
_EVALUATION = pattern(r"^_?(eval(uate|uation)?|validate|test)(_|$)")


def for_judging(context: Context, use: Use, loop: ast.AST) -> bool:
    """Say whether a loop loads a data set by its name with a key, or splits a key for evaluations alone.

    Args:
        context: the analysis.
        use: a use of a key.
        loop: a loop around it.
    """
    if use.helper:
        names = names_in(loop.target) if isinstance(loop, ast.For) else frozenset()
        given = (*use.event.node.args, *(k.value for k in use.event.node.keywords))
        return _LOADING.search(last(use.name).lower()) is not None and any(names & names_in(one) for one in given)
    statement = use.event.statement
    if last(use.name) != "split" or not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    calls = [event.node for event in context.bodies.calls.get(use.event.scope, ())]
    judged = {
        one
        for call in calls
        if _EVALUATION.search(last_word(call.func).lower())
        for one in (*call.args, *(k.value for k in call.keywords))
    }
    reads = [n for n in context.bodies.names(use.event.scope).get(target.id, ()) if isinstance(n.ctx, ast.Load)]
    return bool(reads) and all(read in judged for read in reads)


def tries_initialized(context: Context, use: Use) -> bool:
    """Say whether what is drawn only initializes a model, and shows in a ``print`` what that gives: any numbers would
    do, and nothing is learnt of them.

    Args:
        context: the analysis.
        use: a use of a key.
    """
    statement, scope = use.event.statement, use.event.scope
    if use.helper or not isinstance(statement, ast.Assign) or statement.value is not use.event.node:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    values = scope.module.values
    own = set(context.bodies.nodes(scope))
    names = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == target.id]
    if any(n not in own and isinstance(values.get(n), Free) for n in names):
        return False
    reads = [n for n in names if n in own and isinstance(n.ctx, ast.Load) and values.get(n) is use.event.value]
    shown = {
        n
        for event in context.bodies.calls.get(scope, ())
        if last_word(event.node.func) in {"init", "print"}
        for n in ast.walk(event.node)
    }
    begins = any(last_word(event.node.func) == "init" and any(r in set(ast.walk(event.node)) for r in reads)
                 for event in context.bodies.calls.get(scope, ()))  # fmt: skip
    return begins and all(read in shown for read in reads)


_JUDGING = pattern(r"(^|_)metrics?(_|$)")
_SETTINGS = pattern(r"(^|_)(alg\w*|algorithms?|methods?|solvers?|env(ironment)?s?|tasks|problems)(_(list|names?))?$")


def of_compared(use: Use, loop: ast.AST) -> bool:
    """Say whether a loop goes through the names of algorithms or environments, also behind a bar of progress, and many
    keys are made anew for each: every one of them is run with the same seeds. So it is with the key of a metric.

    Args:
        use: a use of a key.
        loop: a loop around it.
    """
    if _JUDGING.search(last_word(use.node).lower()):
        return True
    if not isinstance(loop, ast.For) or use.helper or last(use.name) != "split":
        return False
    if use.event.value.argument(1, "num") is None or isinstance(use.key, Attr):
        return False
    if isinstance(use.event.statement, ast.Assign) and any(
        last_word(use.node) in names_in(target) for target in use.event.statement.targets
    ):
        return False  # which goes on
    made = loop.iter
    while isinstance(made, ast.Call) and made.args and last_word(made.func) in {"tqdm", "enumerate", "track", "trange"}:
        made = made.args[0]
    named = isinstance(made, ast.Name | ast.Attribute) and _SETTINGS.search(last_word(made).lower()) is not None
    return named and inside(use.event.node, loop)
