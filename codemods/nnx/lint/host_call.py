"""NNX806: clocks, random numbers and files of the host in traced code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.left_out_objects import gives, of_left_out_object
from codemods.nnx.lint.names import COMPILING, HOST_FUNCTIONS, HOST_MODULES
from codemods.nnx.lint.places import traced_bodies, traced_calls, written
from codemods.nnx.lint.syntax import argument, inside, names_in
from codemods.nnx.lint.traced import function_of
from codemods.nnx.lint.unread import given_names
from codemods.nnx.lint.while_initializing import while_initializing
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Const, Free, Ref, Value

_PATHS = frozenset({"pathlib.Path"})
_ACCESS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink"})
_OPENING = frozenset({"builtins.open", "open", "io.open"})
_LOADING = frozenset({"pickle.load", "json.load", "wandb.Api", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt",
                      "jax.numpy.load"})  # fmt: skip
# what tells of a run or keeps its settings
_RUNS = ("wandb.", "builtins.open", "io.open", "os.makedirs", "os.mkdir", "pickle.dump", "json.dump", "mlflow.")
_WRITING = frozenset(
    {"builtins.open", "io.open", "json.dump", "pickle.dump", "numpy.save", "numpy.savez", "os.makedirs"}
)
_SETTINGS = frozenset({"os.getenv", "os.environ.get"})
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator",
                         "random.Random", "random.SystemRandom"})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    clocks: dict[tuple[Scope, str], list[ast.AST]] = {}  # a body that is timed asks at many places, for one reason
    for event, name in traced_calls(context):
        if _reports(event.scope) or _once(event.scope) or _after_error(context, event):
            continue
        if name.startswith(_RUNS) and _for_callback(context, event.scope):
            continue
        if name.startswith("time.") and _timed_within(context, event.scope):
            continue  # what times calls of the host, and was called while compiling once
        if name == "builtins.next" and _outer(context, event):
            yield _found(event.scope, event.node, "next")
            continue
        called = name.removeprefix("builtins.") or _drawn(context, event)
        if not (name in HOST_FUNCTIONS or name.startswith(HOST_MODULES) or (called and not name)):
            continue
        if name in _SETTINGS or name in _LOADING or (name in _OPENING and _reads(event)):
            continue  # read once, as settings and weights are meant to be
        if called.startswith("pathlib.Path(...).") and _read_of_path(event):
            continue
        if name.startswith("numpy.save") and _flagged(context, event):
            continue  # which takes no tracers: who sets the flag turns compilation off
        if name in _WRITING and _cached(context, event.scope):
            continue  # a file that is made where it cannot be read
        if (name in _OPENING or called.startswith("pathlib.Path(...).")) and not _compiled_itself(context, event.scope):
            continue  # a file that is written deep within calls: whoever got there had values
        if _goes_on(event) or _seeded(context, event, name) or _labels(context, event):
            continue
        if context.taint.never(event.node, event.scope) or _unused(context, event):
            continue
        if name.startswith("time.") and (_unread(event) or _of_host_work(context, event)):
            continue
        if of_left_out_object(context, event.scope):
            continue
        if "random" in name and (
            _plays(context, event.scope)
            or _names(event)
            or _other_way(context, event)
            or _starts(context, event)
            or _of_other_kind(context, event)
        ):
            continue
        if _given_by_all(context, event) or (name.startswith(_RUNS) and _once_in_a_run(context, event)):
            continue
        if name.startswith("wandb.") and _of_sizes(context, event):
            continue
        if (function := function_of(event.scope)) is not None and while_initializing(context, function):
            continue
        if name.startswith("time."):
            clocks.setdefault((event.scope, called), []).append(event.node)
        else:
            yield _found(event.scope, event.node, called)
    for (scope, called), nodes in clocks.items():
        nodes.sort(key=lambda node: getattr(node, "lineno", 0))
        yield _found(scope, nodes[0], called, nodes[1:])
    for function, _ in traced_bodies(context):
        for node in context.bodies.nodes(function.scope):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            if _environ(context, node, function) and not _told(context, node, function.scope):
                yield _found(function.scope, node, "os.environ")


def _flagged(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands under a flag, ``if args.debug``."""
    return any(
        isinstance(block, ast.If) and arm == "body" and isinstance(block.test, ast.Name | ast.Attribute)
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
    )


def _after_error(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands where an error is handled, as what waits before another attempt."""
    paths = context.bodies.paths(event.scope).get(event.node, ())
    return any(isinstance(block, ast.Try) and arm == "handlers" for block, arm in paths)


def _unused(context: Context, event: CallEvent) -> bool:
    """Say whether a variable gets what a call gives, which is only read where no way of tracing leads."""
    names = given_names(event.statement, event.node)
    if len(names) != 1 or getattr(event.statement, "value", None) is not event.node:
        return False
    reads = [n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and n.id in names]
    loads = [n for n in reads if isinstance(n.ctx, ast.Load)]
    return bool(loads) and all(context.taint.never(n, event.scope) for n in loads)


def _once(scope: Scope) -> bool:
    """Say whether a function keeps what it gives, by its decorator: it runs once, whoever calls it."""
    function = function_of(scope)
    return function is not None and any(
        last_word(node.func if isinstance(node, ast.Call) else node) in {"cache", "lru_cache", "cached_property"}
        for node in getattr(function.node, "decorator_list", ())
    )


def _unread(event: CallEvent) -> bool:
    """Say whether a variable gets the time, and nobody reads it: what was measured once is left over."""
    names = given_names(event.statement, event.node)
    if len(names) != 1 or getattr(event.statement, "value", None) is not event.node or event.scope.function is None:
        return False
    read = (n.id for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return names.isdisjoint(read)


_SAYING = pattern(r"^(print|warn(ing)?|error|exception|info|debug|critical|log)$")


def _told(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a setting is only a part of a text that is printed or raised: it decides nothing."""
    above = around(context, scope)
    inner: ast.AST | None = node
    while inner is not None and not isinstance(inner, ast.stmt):
        if isinstance(inner, ast.Call) and _SAYING.search(last_word(inner.func)):
            return True
        inner = above.get(inner)
    return isinstance(inner, ast.Raise)


def _of_host_work(context: Context, event: CallEvent) -> bool:
    """Say whether a clock measures work of the host alone, as what is made ready while compiling: no statement up to
    the last one that reads the time has a traced value or calls JAX."""
    scope = event.scope
    block = context.bodies.block(event.node, event.statement, scope)
    if not block:
        return False
    place = block.index(event.statement)
    names = given_names(event.statement, event.node)
    starts = [
        i
        for i, one in enumerate(block[:place])
        if isinstance(one, ast.Assign) and names_in(event.statement) & {n for t in one.targets for n in names_in(t)}
    ]
    ends = [i for i, one in enumerate(block) if i > place and names & names_in(one)]
    first, last_one = (place, ends[-1]) if ends else (starts[-1], place) if starts else (place, place)
    if first == last_one:
        return False
    inside_block = {node for one in block[first : last_one + 1] for node in ast.walk(one)}
    for call in context.bodies.calls.get(scope, ()):
        if call.node not in inside_block:
            continue
        if context.flow.calls.name(call).startswith(("jax.", "flax.", "optax.")):
            return False
        if any(context.taint.node(one, scope) for one in (*call.node.args, *(k.value for k in call.node.keywords))):
            return False
        if not context.flow.calls.name(call):
            return False  # who knows
    return not any(isinstance(n, ast.BinOp | ast.Compare) and context.taint.node(n, scope) for n in inside_block)


def _seeded(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a generator is made of a constant in the function that draws from it: its numbers are always the
    same; or made in an expression that draws from it, which is told of already."""
    callee = event.value.callee
    made: Value | None = event.value if name in _GENERATORS else callee.base if isinstance(callee, Attr) else None
    if not isinstance(made, Call) or context.bodies.home(made.node) is not event.scope:
        return False
    if context.flow.calls.callee_name(context.flow.here(made, event.scope)) not in _GENERATORS:
        return False
    if made.args and all(isinstance(seed, Const) and seed.value is not None for seed in made.args):
        return True
    return name in _GENERATORS and any(
        isinstance(other.node.func, ast.Attribute) and other.node.func.value is event.node
        for other in context.bodies.calls.get(event.scope, ())
    )


def _compiled_itself(context: Context, scope: Scope) -> bool:
    tracing = context.traced.get(scope.function)
    return tracing is None or bool(tracing.roots)


def _outer(context: Context, event: CallEvent) -> bool:
    """Say whether a call goes on with an iterator from outside of the function; a counter tells things apart."""
    if len(event.value.args) != 1 or not isinstance(event.value.args[0], Free):
        return False
    maker = event.value.args[0].scope.function
    if maker is not None and maker in context.traced:
        return False  # it is made anew in every trace, and holds what is traced
    if maker is not None and _to_the_end(context, event):
        return False
    made = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    return context.flow.calls.callee_name(made) != "itertools.count"


def _to_the_end(context: Context, event: CallEvent) -> bool:
    """Say whether a loop goes through an iterator until that ends, as one that is unrolled while compiling."""
    path = context.bodies.paths(event.scope).get(event.node, ())
    tries = [block for block, arm in path if isinstance(block, ast.Try) and arm == "body"]
    ends = any(
        one.type is not None and last_word(one.type) == "StopIteration" for block in tries for one in block.handlers
    )
    return ends and any(isinstance(block, ast.For | ast.While) for block, _ in path)


def _plays(context: Context, scope: Scope) -> bool:
    """Say whether a body seeds the host or steps an environment of the host, which nothing compiles."""
    for call in (event.node for event in context.bodies.calls.get(scope, ())):
        if isinstance(call.func, ast.Attribute):
            if call.func.attr == "seed" or (call.func.attr == "step" and len(call.args) == 1 and not call.keywords):
                return True
    return False


def _reports(scope: Scope) -> bool:
    """Say whether a function only tells of the compilation, or measures it, by its name."""
    function = function_of(scope)
    return function is not None and any(word in function.name.lower() for word in ("log", "print", "warn", "timer"))


def _reads(event: CallEvent, place: int = 1) -> bool:
    """Say whether a file is opened to be read: its contents are a part of the program, as settings are.

    Args:
        event: the call.
        place: the position of the mode.
    """
    mode = argument(event.node, place, "mode")
    return mode is None or (isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] == "r")


def _read_of_path(event: CallEvent) -> bool:
    """Say whether a method of a path reads its file."""
    func = event.node.func
    word = func.attr if isinstance(func, ast.Attribute) else ""
    if word != "open":
        return word in {"read_text", "read_bytes"}
    return _reads(event, 0)


def _cached(context: Context, scope: Scope) -> bool:
    """Say whether a function that writes a file, or each that calls it, also reads one: it keeps what it computed."""
    function = scope.function
    if function is None:
        return False
    around = [event.scope for event in context.flow.sites.callers(function)]
    keeping = [one.function is not None and _reading(context, one, deeper=True) for one in around]
    return _reading(context, scope) or (bool(keeping) and all(keeping))


def _reading(context: Context, scope: Scope, *, deeper: bool = False) -> bool:
    for event in context.bodies.calls.get(scope, ()):
        name = context.flow.calls.name(event)
        if name in _LOADING or (name in _OPENING and _reads(event)):
            return True
        if deeper and not name:
            invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
            if any(_reading(context, callee.function.scope) for callee, _ in invoked):
                return True
    return False


def _names(event: CallEvent) -> bool:
    """Say whether a random number is part of a text, as the name of something that is compiled."""
    parts = (node for node in ast.walk(event.statement) if isinstance(node, ast.FormattedValue))
    return any(inside(event.node, part) for part in parts)


_TEXTS = frozenset({"str", "repr", "strftime", "isoformat", "hexdigest", "format"})
_TELLING = pattern(r"print|log|write|save|dump|send|text|scalar|record|info|debug|warn|open|call")


def _labels(context: Context, event: CallEvent) -> bool:
    """Say whether a call becomes a text that only names parts of what its function makes of the host, as the nodes of a
    graph: no array comes of it."""
    statement, scope = event.statement, event.scope
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not _text_of(statement.value, event):
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or scope.function is None:
        return False
    reads = {n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == target.id and n is not target}
    made = {
        one.id
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call | ast.Dict | ast.List | ast.Set)
        for one in n.targets
        if isinstance(one, ast.Name)
    }
    names: set[ast.AST] = set()
    for node in context.bodies.nodes(scope):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and last_word(call.func.value) in made:
            if isinstance(call.func.value, ast.Name) and not _TELLING.search(call.func.attr):
                names |= {*call.args}
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in made:
            names.add(node.slice)
    return bool(reads) and reads <= names


def _text_of(node: ast.expr, event: CallEvent) -> bool:
    """Say whether an expression is a text that is made of what a call gives."""
    if isinstance(node, ast.JoinedStr):
        return any(inside(event.node, part) for part in node.values)
    if isinstance(node, ast.Attribute):
        return node.attr == "hex" and node.value is event.node
    if not isinstance(node, ast.Call) or last_word(node.func) not in _TEXTS:
        return False
    parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    return any(part is event.node or _text_of(part, event) for part in parts)


def _other_way(context: Context, event: CallEvent) -> bool:
    """Say whether a test chooses between a draw of the host and one with a key, which traced code then has."""
    for block, arm in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
            other = block.orelse if arm == "body" else block.body
            nodes = [n for part in (other if isinstance(other, list) else [other]) for n in ast.walk(part)]
            calls = {n for n in nodes if isinstance(n, ast.Call)}
            if any(
                one.node in calls and context.flow.calls.name(one).startswith("jax.random.")
                for one in context.bodies.calls.get(event.scope, ())
            ):
                return True
    return False


def _starts(context: Context, event: CallEvent) -> bool:
    """Say whether a draw gives what is there before the first step.

    That is below a test that asks whether it is made, or in a function that is named for it and gets no key.
    """
    function = event.scope.function
    outer = function.scope.parent if function is not None else None
    if function is not None and not function.params and not function.vararg and outer and outer.function is None:
        return True  # a function of nothing, which makes something once
    if function is not None and function.name.lower().lstrip("_").startswith("initial"):
        return not any(word in name.lower() for name in function.params for word in ("key", "rng", "seed"))
    return any(
        isinstance(block, ast.If) and arm == "body" and "initiali" in ast.unparse(block.test).lower()
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
    )


def _of_other_kind(context: Context, event: CallEvent) -> bool:
    """Say whether a function draws only where an argument is neither None nor of the kind that it has looked for:
    ``if seed is None: return ...; if isinstance(seed, int): return ...``, as a generator that is asked for a seed."""
    missing, of_kind = set(), set()
    for guard in context.bodies.behind(event.node, event.scope):
        test = guard.test
        if isinstance(test, ast.Call) and last_word(test.func) == "isinstance" and len(test.args) == 2:
            of_kind.add(ast.unparse(test.args[0]))
        elif name := _missing(test, "body"):
            missing.add(name)
    return bool(missing & of_kind)


def _given_by_all(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands under ``if key is None``, and all traced callers of its function give one."""
    function = event.scope.function
    if function is None:
        return False
    names = {
        name
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
        if isinstance(block, ast.If | ast.IfExp) and (name := _missing(block.test, arm)) in function.params
    }
    if not names:
        return False
    callers = [
        one
        for one in context.flow.sites.callers(function)
        if one.scope.function in context.traced or context.traced.known[function].roots
    ]
    return bool(callers) and any(all(gives(one, function.params[name]) for one in callers) for name in names)


def _missing(test: ast.expr, arm: str) -> str:
    """Return the name that is None where an arm of a condition is run; empty if it asks for something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Name):
        return test.operand.id if arm == "body" else ""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or len(test.ops) != 1:
        return ""
    if not isinstance(test.comparators[0], ast.Constant) or test.comparators[0].value is not None:
        return ""
    wanted = {ast.Is: "body", ast.IsNot: "orelse"}.get(type(test.ops[0]))
    return test.left.id if arm == wanted else ""


_CALLBACKS = pattern(r"io_callback|pure_callback|debug\.callback|host_callback")


def _for_callback(context: Context, scope: Scope) -> bool:
    """Say whether a function is given, where it is made, to one of the project that runs it in a callback."""
    inner, outer = scope.function, scope.parent
    if inner is None or outer is None:
        return False
    for event in context.bodies.calls.get(outer, ()):
        given = (*event.node.args, *(k.value for k in event.node.keywords))
        if inner.node in given or any(isinstance(n, ast.Name) and n.id == inner.name for n in given):
            invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
            if any(_CALLBACKS.search(ast.unparse(callee.function.node)) for callee, _ in invoked):
                return True
    return False


_HOLDERS = frozenset({"dict", "list", "SimpleNamespace", "Namespace"})
_TIMING = pattern(r"(^|_)(timeit|timed|timer|timing|time|stopwatch|profile[rd]?|bench\w*)(_|$)")


def _timed_within(context: Context, scope: Scope) -> bool:
    """Say whether a wrapper measures a function, by the name of its decorator, and is not compiled itself: it measures
    calls of the host, and is only traced where compiled code calls the same function."""
    outer = scope.parent.function if scope.function is not None and scope.parent is not None else None
    tracing = context.traced.get(scope.function)
    if outer is None or tracing is None or not _TIMING.search(outer.name.lower()):
        return False
    return not any(root.transform in COMPILING for root in tracing.roots)


def _of_sizes(context: Context, event: CallEvent) -> bool:
    """Say whether a call tells of the sizes of arrays alone, as the number of parameters, which compiling knows."""
    given = event.node.args[0] if len(event.node.args) == 1 else None
    if not isinstance(given, ast.Dict) or not given.values or None in given.keys:
        return False
    made = [written(context, one, event.scope) for one in given.values]
    return all(
        isinstance(one, ast.Call)
        and last_word(one.func) in {"sum", "prod", "len", "int"}
        and any(isinstance(n, ast.Attribute) and n.attr in {"size", "shape"} for n in ast.walk(one))
        for one in made
    )


def _once_in_a_run(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands in a function that is compiled where it is called, and in no loop: it runs once, as a
    run is set up once."""
    tracing = context.traced.get(event.scope.function)
    roots = tracing.roots if tracing is not None else []
    if not roots or event.loops:
        return False
    for root in roots:
        events = context.bodies.calls.get(root.scope, ())
        made = next((one.statement for one in events if one.node is root.node), None)
        if root.decorator or made is None:
            return False
        names: set[str] = set()
        if isinstance(made, ast.Assign) and made.value is root.node and isinstance(made.targets[0], ast.Name):
            names = {made.targets[0].id}
        own, values = set(context.bodies.nodes(root.scope)), root.scope.module.values
        reads = [
            n
            for n in ast.walk(root.scope.node)
            if isinstance(n, ast.Name) and n.id in names
            if n in own or (isinstance(free := values.get(n), Free) and free.scope is root.scope)
        ]
        calls = [one for one in events if one.node.func is root.node or one.node.func in reads]
        used = {one.node.func for one in calls}
        if len(calls) != 1 or calls[0].loops or any(isinstance(n.ctx, ast.Load) and n not in used for n in reads):
            return False
    return True


def _goes_on(event: CallEvent) -> bool:
    """Say whether a call gives the start of a variable that an inner function, such as a callback, goes on with."""
    function = event.scope.function
    if function is None or not isinstance(event.statement, ast.Assign):
        return False
    names = {target.id for target in event.statement.targets if isinstance(target, ast.Name)}
    begin, end = function.node.lineno, function.node.end_lineno or 0
    if event.statement.value is not event.node:
        return _kept_in(event, function, names)
    return any(
        begin <= n.lineno <= end and names & set(n.names) for n in event.scope.module.source.of_type(ast.Nonlocal)
    )


def _kept_in(event: CallEvent, function: FunctionFacts, names: set[str]) -> bool:
    """Say whether a call gives the start of an entry of a dict, list or object that only inner functions read, and
    that one of them puts another value into."""
    held = event.statement.value if isinstance(event.statement, ast.Assign) else None
    parts: list[ast.expr | None] = []
    if isinstance(held, ast.Dict):
        parts = [*held.values]
    elif isinstance(held, ast.List):
        parts = [*held.elts]
    elif isinstance(held, ast.Call):
        parts = [*held.args, *(k.value for k in held.keywords)] if last_word(held.func) in _HOLDERS else []
    if event.node not in parts:
        return False
    inner = [
        n
        for n in ast.walk(function.node)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and n is not function.node
    ]
    within = {part for one in inner for part in ast.walk(one)}
    reads = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id in names]
    changed = any(
        isinstance(n, ast.Subscript | ast.Attribute) and isinstance(n.ctx, ast.Store) and last_word(n.value) in names
        for n in within
    )
    return changed and all(n in within for n in reads if isinstance(n.ctx, ast.Load))


def _found(scope: Scope, node: ast.AST, name: str, others: Sequence[ast.AST] = ()) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"`{name}` runs once per compilation and not at every call",
        "draw from a jax.random key or an nnx.Rngs"
        if "random" in name
        else "call it outside of the compiled function and pass the result in, or use jax.debug.callback",
        related=[(other, "and here") for other in others],
    )


def _drawn(context: Context, event: CallEvent) -> str:
    """Return what a call asks if it is a method of a random generator or a path of the host; empty if it is not."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return ""
    made = context.flow.calls.callee_name(context.flow.resolve(context.flow.here(callee.base, event.scope)))
    host = made in _GENERATORS or (made in _PATHS and callee.name in _ACCESS)
    return f"{made}(...).{callee.name}" if host else ""


def _environ(context: Context, node: ast.Subscript, function: FunctionFacts) -> bool:
    """Say whether a setting is read that is no folder, whose files are made ready once."""
    value = function.scope.module.values.get(node.value)
    if value is None or any(
        isinstance(n, ast.Call) and n.args and n.args[0] is node and last_word(n.func) in {"Path", "makedirs", "join"}
        for n in context.bodies.nodes(function.scope)
    ):
        return False
    return context.flow.resolve(context.flow.here(value, function.scope)).value == Ref("os.environ")


RULE = Rule(
    code="NNX806",
    name="host-call-in-traced",
    summary="time, random, file or network access in traced code",
    why="""\
Python runs while the function is compiled and never again: the time, the random number or the contents of the file
are constants of the compiled code, and what was to be written is written once.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 3; measured: frozen at the first call',
    examples=(
        Example(
            before="""\
import time

import jax


@jax.jit
def stamped(x):
    return x * time.time()
""",
            run=False,
        ),
    ),
    check=_check,
)
