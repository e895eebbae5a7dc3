"""NNX866: the body of a loop with other arguments than the loop gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import Body, bodies, foreign_layer
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, shown
from codemods.nnx.lint.syntax import own_nodes
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Function, Sequence

_COUNTERS = pattern(r"^_?(i|j|k|ii|idx|index|ind|iter|iteration|iter_num|counter|itr|loop_idx|i_step|step_idx)$")
# names that are as likely to be a counter as a value, and names that values have
_STEPS = frozenset({"step", "t", "it", "n", "epoch", "round", "layer"})
_VALUES = frozenset({"state", "carry", "x", "y", "val", "value", "v", "params", "acc", "accum", "h", "hidden", "z",
                     "total", "result", "arr", "array", "u", "s", "init", "sums"})  # fmt: skip
_KEYS = pattern(r"^(\w+_)?(k|key|rng|subkey|sub)s?$")
_BRANCHING = frozenset({"jax.lax.cond", "jax.lax.switch", "flax.nnx.cond", "flax.nnx.switch"})
_GIVEN = {"scan": "the carry and one slice", "fori_loop": "the counter and the value", "while_loop": "the value",
          "map": "one slice", "associative_scan": "two operands"}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _leaves(context)
    yield from _operands(context)
    for body in bodies(context):
        free = body.free
        if free is None:
            continue
        needed = [name for name in free if name not in body.function.defaults]
        word = last(body.loop)
        if not len(needed) <= body.count <= len(free):
            yield finding(
                RULE.code,
                body.event.scope,
                _place(body),
                f"{shown(body.function)} takes {len(needed) or 'no'} argument{'' if len(needed) == 1 else 's'}"
                f"{' by place' if _by_name(body) else ''}, and {word} gives it {_GIVEN[word]}",
                _by_its_name(body) or _help(word),
            )
        elif word == "fori_loop" and len(free) >= 2 and swapped(body, free):
            yield finding(
                RULE.code,
                body.event.scope,
                _place(body),
                f"fori_loop gives the counter first: `{free[0]}` is the counter, and `{free[1]}` the value",
                "write the body as `def body(i, value)`",
            )
        elif word == "scan" and len(free) == 2 and (first := begins_with_slices(context, body, free)):
            yield finding(
                RULE.code,
                body.event.scope,
                body.event.node,
                f"scan takes the first carry second, and its slices third: `{first}` stands in the other's place",
                "exchange the two: scan(body, carry, xs)",
            )


def begins_with_slices(context: Context, body: Body, free: list[str]) -> str:
    """Return what a scan gets for its first carry, if it is what it was to go along; empty if it is not.

    Args:
        context: the analysis.
        body: the body of a scan.
        free: its two parameters.
    """
    args = body.event.node.args
    if len(args) < 3 or body.init is None or context.bodies.guarded(body.event.node, body.event.scope):
        return ""
    begun, along = args[1], args[2]
    carry, part = free
    text = ast.unparse(begun)
    names = [one.id if isinstance(one, ast.Name) else "" for one in (begun, along)]
    if isinstance(begun, ast.Constant) and begun.value is None:
        used = any(isinstance(n, ast.Name) and n.id == carry for n in ast.walk(body.function.node))
        if not used or (isinstance(along, ast.Constant) and along.value is None):
            return ""
        read = any(isinstance(n, ast.Name) and n.id == part for n in ast.walk(body.function.node))
        return text if _unused(part) or (not read and _holds_something(body, carry)) else ""
    if names[0] == names[1] or _KEYS.match(carry) or _fits(context, body, carry, begun, along):
        return ""
    if names[1] == carry and names[0] != carry:
        return text
    if names[0] in _several(part) and names[1] not in _several(part):
        return text
    if _INITIAL.search(names[1]) and _SLICED.search(names[0]) and not _INITIAL.search(names[0]):
        return text
    made = context.flow.resolve(context.flow.here(body.init, body.event.scope))
    split = isinstance(made.value, Call) and context.flow.calls.callee_name(made) == "jax.random.split"
    return text if split and _KEYS.match(part) and not _KEYS.match(names[1] or "-") else ""


#: What first carries are called, and what is to go along.
_INITIAL = pattern(r"^(init|initial|first)(_(\w*[^s]|params))?$|^[a-z]\w*_(init|initial)$|^carry0$")
_SLICED = pattern(r"^(xs|\w+_(xs|seq|sequence)|(\w+_)?(inputs|sequence|seq|keys|batches|\w{3,}s))$")


def _holds_something(body: Body, carry: str) -> bool:
    """Say whether a body reads parts or attributes of its carry, or reckons with it, wherever it is reached."""
    return any(
        (isinstance(node, ast.Attribute | ast.Subscript) and _named(node.value, carry))
        or (isinstance(node, ast.BinOp) and (_named(node.left, carry) or _named(node.right, carry)))
        or (isinstance(node, ast.Assign) and _named(node.value, carry) and isinstance(node.targets[0], ast.Tuple))
        for node in own_nodes(body.function.node)
    )


def _named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _fits(context: Context, body: Body, carry: str, begun: ast.expr, along: ast.expr) -> bool:
    """Say whether what a scan gets for its first carry has as many parts as the body takes its carry apart into, and
    what is to go along has not."""
    parts = taken_apart(context, body, carry)
    given = [body.event.scope.module.values.get(one) for one in (begun, along)]
    here = [context.flow.here(one, body.event.scope) for one in given if one is not None]
    made = [context.flow.resolve(one).value for one in here]
    sizes = [len(one.items) if isinstance(one, Sequence) else 0 for one in made]
    return len(sizes) == 2 and parts > 0 and sizes[0] == parts != sizes[1]


def taken_apart(context: Context, body: Body, name: str) -> int:
    """Return into how many variables a body takes a parameter apart, once; 0 if it does not.

    Args:
        context: the analysis.
        body: the body of a loop.
        name: the parameter.
    """
    found = [
        len(target.elts)
        for node in context.bodies.nodes(body.function.scope)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name
        for target in node.targets
        if isinstance(target, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in target.elts)
    ]
    return found[0] if len(found) == 1 else 0


def _unused(name: str) -> bool:
    return name.startswith("_")


def _several(name: str) -> set[str]:
    """Return what several of what a parameter is called are called."""
    return {f"{name}s", f"{name}es", f"all_{name}s"} if len(name) > 1 or name in "xyzu" else set()


def _leaves(context: Context) -> Iterator[Finding]:
    """Yield the functions that ``jax.tree.map`` gives fewer or more leaves than they take."""
    for event, name in foreign(context, "map", "tree_map"):
        if name not in TREE_MAPS or event.value.starred or len(event.value.args) < 2:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        trees = len(event.value.args) - 1
        if len(callees) != 1 or callees[0].gradient or callees[0].function.vararg is not None:
            continue
        function = callees[0].function
        if function.decorators or function.generator or function.owner is not None:
            continue
        if not isinstance(context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value, Function):
            continue
        names = list(function.params)
        needed = sum(one not in function.defaults for one in names)
        if not needed <= trees <= function.positional:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(function)} takes {needed} argument{'' if needed == 1 else 's'}, and jax.tree.map gives it one "
                f"leaf of {'each of ' if trees > 1 else ''}{trees} tree{'' if trees == 1 else 's'}",
                "give every tree as an argument of its own: jax.tree.map(f, one, two)",
            )


def _operands(context: Context) -> Iterator[Finding]:
    """Yield the branches that take more or fewer arguments than there are operands behind them."""
    for event, name in foreign(context, "cond", "switch"):
        word = last(name)
        first = 3 if word == "cond" else 2
        if name not in _BRANCHING or event.value.starred or event.node.keywords or len(event.value.args) < first:
            continue
        branches = event.value.args[1:first]
        if word == "switch":
            listed = context.flow.resolve(context.flow.here(branches[0], event.scope)).value
            branches = listed.items if isinstance(listed, Sequence) else ()
        given = len(event.value.args) - first
        if not all(context.flow.calls.callables(context.flow.here(one, event.scope)) for one in branches):
            continue  # the order of old: cond(test, operand, f, other operand, g)
        for place, branch in enumerate(branches):
            callees = context.flow.calls.callables(context.flow.here(branch, event.scope))
            if len(callees) != 1 or callees[0].gradient or callees[0].function.decorators:
                continue
            free = Body(event, name, "", callees[0], given, None).free
            if free is None or foreign_layer(context, branch, event):
                continue
            function = callees[0].function
            needed = sum(one not in function.defaults for one in free)
            if not needed <= given <= len(free) and not context.bodies.guarded(event.node, event.scope):
                whole = given == 1 and isinstance(event.node.args[first], ast.Tuple)
                way = "give the operands one by one, and not in a tuple" if whole else "give as many operands"
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node.args[1 + place] if word == "cond" else event.node.args[1],
                    f"{shown(function)} takes {needed or 'no'} argument{'' if needed == 1 else 's'}, and {word} gives "
                    f"it {given or 'no'} operand{'' if given == 1 else 's'}",
                    way,
                )
                break


def _place(body: Body) -> ast.expr:
    position = {"fori_loop": 2, "while_loop": int(body.role == "body_fun")}.get(last(body.loop), 0)
    args = body.event.node.args
    if position < len(args):
        return args[position]
    return next((k.value for k in body.event.node.keywords if k.arg == body.role), body.event.node)


def _by_name(body: Body) -> list[str]:
    """Return the parameters that a body takes by name alone, has no default for, and nothing was bound to before."""
    function = body.function
    bound = {name for name, _ in body.callee.keywords}
    behind = [*function.params][function.positional :]
    return [one for one in behind if one not in bound and one not in function.defaults and one != function.kwarg]


def _by_its_name(body: Body) -> str:
    """Return the lambda that gives a body by name what the loop gives by place; empty if it takes another number."""
    names = _by_name(body)
    if body.free or len(names) != body.count:
        return ""
    args = body.event.node.args
    node = _place(body)
    text = ast.unparse(node) if node in args or isinstance(node, ast.Name | ast.Attribute) else body.function.name
    letters = ["s"] if body.count == 1 else ["i", "s"] if last(body.loop) == "fori_loop" else ["a", "b"]
    given = ", ".join(f"{name}={letter}" for name, letter in zip(names, letters, strict=True))
    return f"give the argument by its name: lambda {', '.join(letters)}: {text}({given})"


def _help(word: str) -> str:
    return {
        "scan": "write it as `def body(carry, x)`, and return the carry and an output",
        "fori_loop": "write it as `def body(i, value)`",
        "while_loop": "put everything into one tuple",
    }.get(word, "take what the loop gives")


def swapped(body: Body, free: list[str]) -> bool:
    """Say whether a body takes the value for the counter, by its names or by what it does with them."""
    if body.init == Const(None):
        return False
    first, second = free[0], free[1]
    if first.startswith("_") or _COUNTERS.match(first):
        return False
    if _COUNTERS.match(second) or (second in _STEPS and first in _VALUES):
        return not _counts(body, first)
    return second.strip("_") == "" and not _counts(body, first)


def _counts(body: Body, name: str) -> bool:
    """Say whether a parameter is used as a counter: as an index, or in fold_in."""
    for node in ast.walk(body.function.node):
        if isinstance(node, ast.Subscript) and any(
            isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.slice)
        ):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"fold_in", "dynamic_index_in_dim"}:
            if any(isinstance(a, ast.Name) and a.id == name for a in node.args[1:]):
                return True
    return False


RULE = lint_rule(
    "NNX866",
    "loop-body-arguments",
    "the body of a loop of jax.lax takes other arguments than the loop gives",
    why="""\
`fori_loop` gives its body the counter and then the value, `scan` the carry and then one slice, `while_loop` one value.
A body with another number of arguments raises a TypeError; one that takes the value for the counter computes something
else as long as the shapes allow it.
""",
    source="JAX tutorial, section on loops; measured on Flax 0.10.7 and 0.12.8: other numbers, or a TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def body(x, i):
    return x + x * i


def run(x):
    return jax.lax.fori_loop(0, 4, body, x)
""",
    ),
    clean=(
        """\
import jax


def body(i, x):
    return x + x * i


def run(x):
    return jax.lax.fori_loop(0, 4, body, x)
""",
    ),
)
