"""NNX889: a function that draws with the same key whenever it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import SAME, Use, kept, uses
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.names import BODIES, KEY_MAKERS, last
from codemods.nnx.lint.places import callers_of, in_test, shown
from codemods.nnx.lint.rngs_in_call import key_anew
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Item, Loop, Param, Value

# what is made once, or the same on purpose
_ONCE = pattern(
    r"(^|_)(init\w*|make|create|build|setup|set|load|data\w*|main|demo|example\w*|run|generate|get|dummy|fake|mock|synthetic|"
    r"profile|bench\w*|tune\w*|sweep\w*|measure\w*|prepare|random|sample_input\w*|spec\w*|config\w*)(_|$)"
)
# what is run as a whole, with a key by default so that it can be run again
_WHOLE = frozenset({"fit", "train", "solve", "optimize", "optimise", "minimize", "minimise"})
_ROUNDS = frozenset({"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop", "jax.lax.map"})
_SHOWING = pattern(
    r"(^|[._])(plt|plot\w*|imshow|savefig|imsave|image_grid|make_grid|save_image\w*|fromarray|wandb)([._]|$)"
)
_DEPTH = 3
_SCRIPT = pattern(r"main|run")


def _check(context: Context) -> Iterator[Finding]:
    seen: set[tuple[Scope, Value]] = set()
    for (scope, key), found in context.shared(uses).items():
        function = scope.function
        if function is None or scope.module not in context.asked or in_test(scope):
            continue
        if (function.name.startswith("__") and function.name != "__call__") or SAME.search(function.name):
            continue
        root = _root(context, key, scope)
        use = next((u for u in found if not u.helper), None)
        if use is not None and same_said(scope, use.event.statement):
            continue
        if root is None or use is None or (scope, root) in seen or SAME.search(_text(use)):
            continue
        if isinstance(root, Param):
            fixed = function.name not in _WHOLE and _never_given(context, root)
        else:
            fixed = not _ONCE.search(function.name) and any(_of_arguments(context, u, function) for u in found)
        if isinstance(root, Call) and fixed and key_anew(context, root.node):
            continue  # NNX832 speaks of it
        if fixed and not _shows(function) and _repeated(context, function, 0):
            seen.add((scope, root))
            where = "made of a constant here" if isinstance(root, Call) else "the same"
            yield finding(
                RULE.code,
                scope,
                root.node if isinstance(root, Call) else use.event.node,
                f"the key is {where} at every call of {shown(function)}, which draws the same numbers each time",
                "give the function a key of its own each time: key, subkey = jax.random.split(key)",
            )


def _shows(function: FunctionFacts) -> bool:
    """Say whether a function draws, saves or logs pictures, which are made of the same noise to be compared."""
    return any(
        isinstance(n, ast.Call) and _SHOWING.search(ast.unparse(n.func).lower()) for n in ast.walk(function.node)
    )


def _text(use: Use) -> str:
    return use.event.scope.module.source.text(use.node)


def _root(context: Context, key: Value, scope: Scope) -> Value | None:
    """Return the constant, the field, the global or the parameter that a key is, or was split from."""
    for _ in range(8):
        if isinstance(key, Item):
            key = key.base
        elif isinstance(key, Call):
            name = context.flow.calls.callee_name(context.flow.here(key, scope))
            if name in KEY_MAKERS:
                seed = key.args[0] if len(key.args) == 1 else None
                fixed = isinstance(seed, Const) or (isinstance(seed, Attr) and kept(context, seed))
                return key if fixed else None
            if name not in {"jax.random.split", "jax.random.fold_in"} or not key.args:
                return None
            if any(not isinstance(a, Const) for a in key.args[1:]):
                return None
            key = key.args[0]
        else:
            break
    if isinstance(key, Free):
        return key if _constant(context, key) else None
    if isinstance(key, Param):
        default = key.function.defaults.get(key.name)
        if not isinstance(default, Call) or key.function.scope is not scope:
            return None
        return key if context.flow.calls.callee_name(context.flow.here(default, scope)) in KEY_MAKERS else None
    return None  # of fields NNX897 speaks


def _constant(context: Context, key: Free) -> bool:
    """Say whether a global is a key made of a constant, and nothing else."""
    if not key.of_global or key.name in key.scope.rebound or key.name in key.scope.remote:
        return False
    bindings = key.scope.bindings.get(key.name, ())
    if len(bindings) != 1 or not isinstance(bindings[0], Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(bindings[0], key.scope)) in KEY_MAKERS


def _never_given(context: Context, key: Param) -> bool:
    """Say whether no call gives a key for a parameter that has one by default."""
    frames = context.flow.sites.entries(key.function)
    default = key.function.defaults.get(key.name)
    given = [context.flow.argument(frame, key.name) for frame in frames]
    return bool(given) and all(one is not None and one.value is default for one in given)


def _of_arguments(context: Context, use: Use, function: FunctionFacts) -> bool:
    """Say whether what is drawn goes with an argument of the function: noise for data, an order of it."""
    if last(use.name) == "split":
        return any(
            _mentions(event.node.args[1:], function)
            for event in context.bodies.calls.get(function.scope, ())
            if context.flow.calls.name(event).startswith("jax.random.")
            and last(context.flow.calls.name(event)) not in {"split", "fold_in"}
        )
    return _mentions(use.event.node.args[1:], function)


def _mentions(nodes: list[ast.expr], function: FunctionFacts) -> bool:
    """Say whether an argument shows up in some expressions as an array, by its shape or itself."""
    values = function.scope.module.values
    for node in (n for one in nodes for n in ast.walk(one)):
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
            return True
        value = values.get(node)
        if isinstance(value, Param) and value.function is function and _is_data(function, value.name):
            return True
    return False


def _is_data(function: FunctionFacts, name: str) -> bool:
    """Say whether a parameter is computed with in a function, other than as a size."""
    return any(
        isinstance(n, ast.BinOp | ast.Subscript)
        and any(isinstance(c, ast.Name) and c.id == name for c in ast.iter_child_nodes(n))
        for n in ast.walk(function.node)
    )


def _repeated(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether a function is called in a loop, or by compiled code that is."""
    tracing = context.traced.get(function)
    if tracing is not None and any(one.transform in _ROUNDS for one in tracing.roots):
        return True
    for event in callers_of(context, function):
        if in_test(event.scope) or context.flow.calls.name(event) in BODIES:
            continue
        caller = event.scope.function
        if caller is not None and (SAME.search(caller.name) or (_ONCE.search(caller.name) and depth)):
            if not _SCRIPT.fullmatch(caller.name) or not _trains(event):
                continue
        if any(isinstance(loop, ast.For | ast.While | ast.comprehension) for loop in event.loops):
            return True
        if caller is None or depth >= _DEPTH or caller is function:
            continue
        if (caller in context.traced or caller in context.traced.differentiated) and _repeated(
            context, caller, depth + 1
        ):
            return True
    return False


def _trains(event: CallEvent) -> bool:
    """Say whether a loop of a script goes on from what its last round gave, as a training does."""
    loops = {loop for loop in event.loops if isinstance(loop, ast.For | ast.While)}
    values = list(event.value.given)
    given = {ast.unparse(node) for node in event.node.args if isinstance(node, ast.Attribute)}
    return any(isinstance(value, Loop) and value.node in loops and value.again is not None for value in values) or any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) in given
        for loop in loops
        for node in ast.walk(loop)
    )


RULE = lint_rule(
    "NNX889",
    "same-key-every-call",
    "a function draws with the same key whenever it is called",
    why="""\
A key that is made of a constant inside a function, at the top of a file, or given as a default is the same at every
call: the same batch, the same noise, the same dropout mask in every step. The function has to be given a new key each
time. Functions whose names say that they evaluate or set something up are left alone.
""",
    source="JAX tutorial, section on random keys; Stack Overflow; measured: identical numbers in every step",
    check=_check,
    default=False,
    bad=(
        """\
import jax


def augment(images):
    key = jax.random.key(0)
    return images + jax.random.normal(key, images.shape)


def train(batches):
    for images in batches:
        images = augment(images)
""",
    ),
    clean=(
        """\
import jax


class Memory:
    def __init__(self, rows):
        self.rows = rows
        self.key = jax.random.key(0)

    def sample(self, n):
        self.key, key = jax.random.split(self.key)
        return self.rows[jax.random.randint(key, (n,), 0, len(self.rows))]


def augment(key, images):
    return images + jax.random.normal(key, images.shape)


def evaluate(images):
    return augment(jax.random.key(0), images)


def train(memory, key):
    for step in range(100):
        batch = augment(jax.random.fold_in(key, step), memory.sample(32))
""",
    ),
)
