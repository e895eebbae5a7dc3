"""NNX862: a restored state that nobody looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import callers_of, in_test, taken
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Attr, Const

_FUNCTIONS = frozenset(
    {"flax.training.checkpoints.restore_checkpoint", "flax.serialization.from_bytes",
     "flax.serialization.from_state_dict", "flax.serialization.msgpack_restore"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    words = ("restore", "restore_checkpoint", "from_bytes", "from_state_dict", "msgpack_restore")
    for event in context.bodies.named(*words):
        if not _meant(context, event):
            continue
        statement = event.statement
        if not event.used:
            if thrown_away(context, event):
                yield _found(event, "the restored state is thrown away: nothing of the model has changed")
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is event.node:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                if not _used(context, event, targets[0].id):
                    if _again(context, event):
                        continue
                    yield _found(event, f"nobody uses `{targets[0].id}`: nothing of the model has changed")
                    continue
                place = _only_returned(context, event.scope, statement, targets[0].id)
                if place is not None:
                    yield from _handed_out(context, event, place)
                    continue
                yield from _template(context, event, targets[0].id)
        elif isinstance(statement, ast.Return) and statement.value is event.node:
            yield from _handed_out(context, event)


def _meant(context: Context, event: CallEvent) -> bool:
    """Say whether a call restores what a program wants to go on with."""
    if in_test(event.scope) or not _restores(context, event) or context.bodies.guarded(event.node, event.scope):
        return False
    if _just_saved(context, event) or _no_model(context, event) or _in_place(event) or _looked_at(event):
        return False
    return not _round_trip(context, event) and not _reread(context, event)


def _reread(context: Context, event: CallEvent) -> bool:
    """Say whether a call reads the file that the block right before wrote: ``with open(path, "wb")``, and then
    ``with open(path, "rb")``, which tries whether it can be read."""
    path = context.bodies.paths(event.scope).get(event.node, ())
    reading = next((b for b, _ in reversed(path) if isinstance(b, ast.With) and _opened(b, "r")), None)
    if reading is None:
        return False
    block = context.bodies.block(reading, reading, event.scope)
    for statement in reversed(block[: block.index(reading)] if block else []):
        if isinstance(statement, ast.With):
            return _opened(statement, "wxa") == _opened(reading, "r")
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Constant) and not (isinstance(call, ast.Call) and last_word(call.func) in _SAVED):
            return False
    return False


def _opened(block: ast.With, modes: str) -> str:
    """Return the text of the path that a block opens in one of some modes; empty if it opens nothing so."""
    for item in block.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and last_word(call.func) == "open" and call.args:
            mode = constant(argument(call, 1, "mode"))
            if isinstance(mode, str) and mode[:1] and mode[:1] in modes:
                return ast.unparse(call.args[0])
    return ""


def thrown_away(context: Context, event: CallEvent) -> bool:
    """Say whether a call restores a state that nobody takes, of which this rule tells.

    Args:
        context: the analysis.
        event: the call.
    """
    if event.used or (event.scope.module.source.notebook and event.scope.function is None):
        return False
    return _meant(context, event)


def _again(context: Context, event: CallEvent) -> bool:
    """Say whether the same function restores once more into the same template, under a name that may be used."""
    first = event.node.args[0] if event.node.args else None
    return first is not None and any(
        other.node is not event.node
        and other.used
        and ast.dump(other.node.func) == ast.dump(event.node.func)
        and bool(other.node.args)
        and ast.dump(other.node.args[0]) == ast.dump(first)
        for other in context.bodies.calls.get(event.scope, ())
    )


def _round_trip(context: Context, event: CallEvent) -> bool:
    """Say whether a call restores, into the very template, what was just made of it: only to show that it can be."""
    if len(event.node.args) != 2 or not isinstance(data := event.node.args[1], ast.Name):
        return False
    template = ast.dump(event.node.args[0])
    made = [
        n.value
        for n in context.bodies.nodes(event.scope)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == data.id for t in n.targets)
    ]
    return bool(made) and all(
        isinstance(one, ast.Call)
        and last_word(one.func) in {"to_bytes", "to_state_dict", "msgpack_serialize"}
        and len(one.args) == 1
        and ast.dump(one.args[0]) == template
        for one in made
    )


def _in_place(event: CallEvent) -> bool:
    """Say whether a call restores iterators of Grain alone, which changes them: ``PyGrainCheckpointRestore``."""
    asked = [
        node
        for argument in (*event.node.args, *event.node.keywords)
        for node in ast.walk(argument)
        if isinstance(node, ast.Call) and last_word(node.func).endswith("Restore")
    ]
    return bool(asked) and all("grain" in ast.unparse(node.func).lower() for node in asked)


def _looked_at(event: CallEvent) -> bool:
    """Say whether a cell of a notebook restores what is looked at by hand: it imports no library of models."""
    source = event.scope.module.source
    if not source.notebook or event.scope.function is not None:
        return False
    names = [alias.name for n in source.of_type(ast.Import) for alias in n.names]
    names += [n.module or "" for n in source.of_type(ast.ImportFrom)]
    return not any(name.partition(".")[0] in {"flax", "optax", "equinox", "haiku"} for name in names)


_SAVED = frozenset({"print", "info", "wait_until_finished"})
_MODELS = frozenset({"jax", "flax", "optax", "equinox", "haiku"})


def _just_saved(context: Context, event: CallEvent) -> bool:
    """Say whether the statement before saved what is restored, which tries whether that can be read again."""
    block = context.bodies.block(event.node, event.statement, event.scope)
    names = set().union(*map(names_in, (*event.node.args, *event.node.keywords)))
    if not names or not block:
        return False
    for statement in reversed(block[: block.index(event.statement)]):
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        word = last_word(call.func) if isinstance(call, ast.Call) else ""
        if word not in _SAVED:
            return word.startswith("save") and names <= names_in(statement)
    return False


def _no_model(context: Context, event: CallEvent) -> bool:
    """Say whether a script looks into checkpoints alone: it imports no library of models, and nothing of its project
    but the function that restores."""
    if event.scope.function is not None:
        return False
    own = {one.source.path.replace("\\", "/").removesuffix(".py") for one in context.project.modules}
    for node in ast.walk(event.scope.module.source.tree):
        if isinstance(node, ast.ClassDef):
            return False
        if isinstance(node, ast.Import):
            places = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if [alias.name for alias in node.names] == [last_word(event.node.func)]:
                continue
            places = [node.module or "."]
        else:
            continue
        for place in places:
            parts = place.replace(".", "/")
            if place.startswith(".") or place.partition(".")[0] in _MODELS or any(one.endswith(parts) for one in own):
                return False
    return True


def _only_returned(context: Context, scope: Scope, statement: ast.stmt, name: str, depth: int = 0) -> int | None:
    """Return where a variable stands in what is returned, -1 if it is all of it, if nothing else happens to it.

    What ``nnx.merge`` makes of it may be returned in its place. Reads before the assignment are of something else.
    """
    nodes = [n for n in ast.walk(scope.node) if getattr(n, "lineno", 0) > (statement.end_lineno or statement.lineno)]
    named = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
    if len(named) != 1 or not isinstance(named[0].ctx, ast.Load):
        return None
    last = named[0]
    for node in nodes:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Return):
            parts = elements(value)
            if last in parts:
                return parts.index(last) if isinstance(value, ast.Tuple) else -1
            if _merged(context, value, last):
                return -1
        elif isinstance(node, ast.Assign) and _merged(context, value, last) and not depth and len(node.targets) == 1:
            target = node.targets[0]
            return _only_returned(context, scope, node, target.id, 1) if isinstance(target, ast.Name) else None
    return None


def _merged(context: Context, node: ast.expr | None, part: ast.expr | None) -> bool:
    """Say whether a call makes a new object of a graph definition and one state."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "merge" or len(node.args) != 2:
        return False
    scope = context.bodies.home(node)
    value = scope.module.values.get(node.func) if scope is not None else None
    if scope is None or value is None or node.args[1] is not part:
        return False
    return getattr(context.flow.resolve(context.flow.here(value, scope)).value, "name", "") == "flax.nnx.merge"


def _handed_out(context: Context, event: CallEvent, place: int = -1) -> Iterator[Finding]:
    """Yield the calls of a function that returns what it restored, and of which nobody takes the result."""
    function = event.scope.function
    if function is None or isinstance(function.node, ast.Lambda) or function.generator:
        return
    message = f"`{function.name}` returns what it restored, and nobody uses it: nothing of the model has changed"
    for caller in callers_of(context, function):
        if caller.scope.module not in context.asked or in_test(caller.scope):
            continue
        statement = caller.statement
        if context.bodies.guarded(caller.node, caller.scope):
            continue
        if _just_saved(context, caller) or _no_model(context, caller) or _tried_out(context, caller, function):
            continue
        if not caller.used:
            if not (caller.scope.module.source.notebook and caller.scope.function is None):
                yield _found(caller, message)
            continue
        target = None
        if place >= 0:
            target = taken(caller, place)
        elif isinstance(statement, ast.Assign) and statement.value is caller.node and len(statement.targets) == 1:
            target = statement.targets[0]
        if target is caller.node or (isinstance(target, ast.Name) and not _used(context, caller, target.id)):
            yield _found(caller, message)


def _tried_out(context: Context, caller: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call only shows that restoring works: the same body calls the function again and keeps the result,
    or it is the last thing that a module does as a program."""
    if not caller.used:
        calls = callers_of(context, function)
        return any(one.used and one.scope is caller.scope and one.node is not caller.node for one in calls)
    path = context.bodies.paths(caller.scope).get(caller.node, ())
    return any(
        isinstance(block, ast.If) and "__name__" in names_in(block.test) and block.body[-1] is caller.statement
        for block, _ in path
    )


def _found(event: CallEvent, message: str) -> Finding:
    nnx = event.scope.module.source.mentions(b"nnx")
    help = "put it into the model: nnx.update(model, state)" if nnx else "go on with what was restored"
    return finding(RULE.code, event.scope, event.node, message if nnx else message.replace(*_LINEN), help)


_LINEN = ("nothing of the model has changed", "what there was before is used")


def _template(context: Context, event: CallEvent, name: str) -> Iterator[Finding]:
    """Yield the merges of a template behind a call that restored something else, of which nothing is made."""
    scope = event.scope
    given = {
        scope.module.values.get(node): node
        for node in ast.walk(event.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node is not event.node.func
    }
    put = []
    for other in context.bodies.named("merge", "update"):
        if other.scope is not scope or other.node.lineno <= event.node.lineno:
            continue
        if context.flow.calls.name(other) in {"flax.nnx.merge", "flax.nnx.update"}:
            values = other.value.args[1:]
            put += [(other, given[value]) for value in values if value in given and not isinstance(value, Const)]
    if not put or _touched(scope, name):
        return
    for other, node in put:
        yield finding(
            RULE.code,
            scope,
            other.node,
            f"`{node.id}` is the template: what was restored is `{name}`",
            f"take `{name}` in its place",
            related=[(event.node, "restored here")],
        )


_LOOKING = frozenset({"print", "len", "leaves", "structure", "info", "debug", "map", "type", "isinstance", "keys"})


def _touched(scope: Scope, name: str) -> bool:
    """Say whether anything but looking at it, or handing it on to the caller beside a model, happens to a name."""
    looked = {
        inner
        for node in ast.walk(scope.node)
        if (isinstance(node, ast.Call) and last_word(node.func) in _LOOKING)
        or (isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple))
        for inner in ast.walk(node)
    }
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node not in looked
        for node in ast.walk(scope.node)
    )


def _restores(context: Context, event: CallEvent) -> bool:
    """Say whether a call reads a checkpoint and gives what was in it."""
    flow = context.flow
    name = flow.calls.name(event)
    if name:
        return name in _FUNCTIONS
    callee = event.value.callee
    if not isinstance(callee, Attr) or callee.name != "restore":
        return False
    made = context.sources.originals(flow.here(callee.base, event.scope))
    return bool(made) and all(
        flow.calls.callee_name(one).startswith(("orbax.checkpoint.", "flax.training.orbax_utils.")) for one in made
    )


def _used(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a name is read in the function or module that the call is in, and may be what the call gave.

    Reads of its own body before it, such as that of the template in the call, are of what the name was before.
    """
    scope = event.scope
    if name in scope.globals:
        return True
    end = event.statement.end_lineno or event.statement.lineno
    before = {n for n in context.bodies.nodes(scope) if getattr(n, "lineno", end) <= end} if not event.loops else set()
    if any(
        (isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load | ast.Del) and n not in before)
        or (isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in {"locals", "globals"})
        for n in ast.walk(scope.node)
    ):
        return True
    if scope.function is not None or not name.strip("_"):
        return False
    return event.scope.module.source.package or name.isupper() or _exported(event)


def _exported(event: CallEvent) -> bool:
    """Say whether another file may read a variable of a module."""
    return (
        not any(
            isinstance(n, ast.If) and isinstance(n.test, ast.Compare) and ast.unparse(n.test.left) == "__name__"
            for n in event.scope.module.source.tree.body
        )
        and any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in event.scope.module.source.tree.body)
        and not any(isinstance(n, ast.For) for n in event.scope.module.source.tree.body)
    )


RULE = lint_rule(
    "NNX862",
    "restored-unused",
    "a state is restored from a checkpoint and never used",
    why="""\
Restoring gives a new state; the model that was named as a template stays as it is. Without `nnx.update(model, state)`
or `nnx.merge(graphdef, state)` training goes on from the initial weights, without an error.
""",
    source="measured on Flax 0.10.7 and 0.12.8 with orbax: the weights stay the initial ones",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def load(model, path):
    checkpointer = ocp.StandardCheckpointer()
    state = checkpointer.restore(path, nnx.state(model))
    return model
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def load(model, path):
    checkpointer = ocp.StandardCheckpointer()
    state = checkpointer.restore(path, nnx.state(model))
    nnx.update(model, state)
    return model
""",
    ),
)
