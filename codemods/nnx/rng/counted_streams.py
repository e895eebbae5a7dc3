"""NNX221: numbers of leaves in a state that count the random streams of layers, and paths that name them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import scope_of
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.layers import CELLS, layer
from codemods.nnx.rng.layouts import Shape
from codemods.nnx.rng.origins import Origin
from codemods.nnx.rng.signs import migrates
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Class, Const, Item, Mapping, Ref, Sequence, Value
from codemods.nnx.variables import type_attribute

_ARRANGING = frozenset({"list", "reversed", "sorted", "tuple"})
_FLAT = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "flax.nnx.to_flat_state"})
_SAME = frozenset({"flax.nnx.to_pure_dict", "flax.nnx.pure"})
_STREAMS = frozenset({"flax.nnx.RngState", "flax.nnx.RngKey", "flax.nnx.RngCount"})
_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_COUNTS = pattern(rb"len\(|sum\(", needs=(b"len(", b"sum("))
_DEPTH = 8  # how many objects in objects are looked into


_MESSAGE = (
    "this counts the key and the counter of each layer that draws since Flax 0.11, up to 0.10 those of the Rngs that "
    "the layers and recurrent cells shared"
)
_HELP = "count what is meant, as nnx.state(model, nnx.Param) or nnx.state(model, nnx.Not(nnx.RngState)) does"


_PATHS = (
    "this names paths in which streams of layers are: since Flax 0.11 they end in ('rngs', 'key') and "
    "('rngs', 'count'), without the name of a stream"
)
_HELP_OF_PATHS = "leave the streams out, as nnx.state(model, nnx.Not(nnx.RngState)) does, or expect the new paths"


class Number(NamedTuple):
    """How many streams an object has.

    Attributes:
        forked: those that layers fork from a Rngs that they are given.
        private: those that layers make for themselves, as they did before.
        cells: whether recurrent cells are among its parts, which kept the Rngs up to 0.10 and keep nothing since.
    """

    forked: int
    private: int
    cells: bool = False


def check(context: Context) -> Iterator[Finding]:
    """Yield counts of streams in code of 0.10: its text is the same on 0.11, where another number may be meant."""
    if not context.options.crosses("0.11"):
        return
    modules = context.asked.modules
    found: list[tuple[tuple[Scope, ast.expr], str, str]] = []
    found += [(one, _MESSAGE, _HELP) for module in modules for one in _counts(context, module)]
    found += [(one, _PATHS, _HELP_OF_PATHS) for module in modules for one in _named(context, module)]
    if not found or not (migrates(context) or next(type_attribute.RULE.check(context), None)):
        return
    for (scope, call), message, help_ in found:
        yield finding(RULE.code, scope, call, message, help_)


def _counts(context: Context, module: ModuleFacts) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield the calls of a module that count leaves of a state, if other streams are among them since 0.11."""
    source = module.source
    if not source.matches(_COUNTS) or not (source.mentions(b"leaves") or source.mentions(b"flat_state")):
        return
    for event in module.calls:
        if not isinstance(event.node.func, ast.Name) or event.node.func.id not in {"len", "sum"}:
            continue
        model = _counted(context, event.node, event.scope)
        if model is not None and _differs(context, model):
            yield event.scope, event.node


def _counted(context: Context, node: ast.Call, scope: Scope) -> Bound | None:
    """Return the object over all of whose leaves, those of streams among them, ``len`` or ``sum`` goes."""
    if len(node.args) != 1:
        return None
    leaves = node.args[0]
    if isinstance(leaves, ast.GeneratorExp | ast.ListComp):
        generator = leaves.generators[0]
        if len(leaves.generators) > 1 or generator.ifs:
            return None
        leaves = generator.iter
    elif last_word(node.func) == "sum":
        return None
    value = scope.module.values.get(leaves)
    if value is None:
        return None
    flat = context.flow.resolve(context.flow.here(value, scope))
    if not isinstance(flat.value, Call) or flat.value.starred or flat.value.node.keywords:
        return None
    if flat.value.args:
        if len(flat.value.args) > 1 or context.flow.calls.callee_name(flat) not in _FLAT:
            return None
        return _whole(context, context.flow.with_value(flat, flat.value.args[0]))
    method = context.flow.follow(flat, flat.value.callee)
    if not isinstance(method.value, Attr) or method.value.name != "flat_state":
        return None
    return _whole(context, context.flow.with_value(method, method.value.base))


def _named(context: Context, module: ModuleFacts) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield what a module goes over to show or keep all paths, if there are streams of layers among them."""
    source = module.source
    if not any(map(source.mentions, (b"flat_state", b"iter_graph", b"leaves_with_path"))):
        return
    for walk, target, shown in _loops(source):
        while isinstance(walk, ast.Call) and last_word(walk.func) in _ARRANGING and walk.args:
            walk = walk.args[0]
        value = module.values.get(walk)
        if value is None or not isinstance(target, ast.Tuple):
            continue
        path = target.elts[0]
        if not isinstance(path, ast.Name) or not any(_mentions(one, path.id) for one in shown):
            continue
        scope = scope_of(module, walk)
        model = _gone_over(context, context.flow.resolve(context.flow.here(value, scope)))
        streams = _streams(context, model) if model is not None else None
        if streams is not None and (streams[0].forked or streams[0].cells):
            yield scope, walk


def _loops(source: Source) -> Iterator[tuple[ast.expr, ast.expr, list[ast.expr]]]:
    """Yield what loops go over, their targets, and what they show or keep of every element."""
    for one in source.of_type(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp):
        assert isinstance(one, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp)
        first = one.generators[0]
        if len(one.generators) == 1 and not first.ifs:
            yield first.iter, first.target, [one.key if isinstance(one, ast.DictComp) else one.elt]
    for loop in source.of_type(ast.For):
        assert isinstance(loop, ast.For)
        yield loop.iter, loop.target, list(_printed(loop.body))


def _printed(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield what a body prints of everything, or of every Variable."""
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            if last_word(statement.value.func) == "print":
                yield statement.value
        elif isinstance(statement, ast.If) and isinstance(statement.test, ast.Call):
            asked = last_word(statement.test.args[-1]) if statement.test.args else ""
            if last_word(statement.test.func) == "isinstance" and asked == "Variable":
                yield from _printed(statement.body)
            elif last_word(statement.test.func) == "isinstance" and asked in {"Module", "Param"}:
                yield from _printed(statement.orelse)


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _gone_over(context: Context, walk: Bound) -> Bound | None:
    """Return the object whose parts a call gives, each with its path, if streams are among them."""
    flow, call = context.flow, walk.value
    if not isinstance(call, Call) or call.starred or call.node.keywords:
        return None
    name = flow.calls.callee_name(walk)
    if len(call.args) == 1 and name == "flax.nnx.iter_graph":
        return flow.with_value(walk, call.args[0])
    if len(call.args) == 1 and name in _WITH_PATHS:
        return _whole(context, flow.with_value(walk, call.args[0]))
    method = flow.follow(walk, call.callee)
    if call.args or not isinstance(method.value, Attr) or method.value.name != "flat_state":
        return None
    return _whole(context, flow.with_value(method, method.value.base))


_WITH_PATHS = frozenset({"flax.nnx.to_flat_state", "jax.tree.leaves_with_path", "jax.tree_util.tree_leaves_with_path"})


def _whole(context: Context, state: Bound) -> Bound | None:
    """Return the object whose state with its streams a value is."""
    flow = context.flow
    state = flow.resolve(state)
    value, name = state.value, flow.calls.callee_name(state)
    if isinstance(value, Call) and value.args and name in _SAME:
        return _whole(context, flow.with_value(state, value.args[0]))
    if isinstance(value, Call) and name == "flax.nnx.state" and not value.starred:
        return _part(context, state, value, value.args[1:], 0) if len(value.args) < 3 else None
    if not isinstance(value, Item | Indexed):
        return None
    made = flow.resolve(flow.with_value(state, value.base))
    index = value.index.value if isinstance(value, Indexed) else value.index
    call, position = made.value, getattr(index, "value", None)
    if not isinstance(call, Call) or call.starred or not isinstance(position, int):
        return None
    name = flow.calls.callee_name(made)
    if name == "flax.nnx.split" and position > 0:
        return _part(context, made, call, call.args[1:], position - 1)
    if name == "flax.nnx.state" and len(call.args) > 2:
        return _part(context, made, call, call.args[1:], position)
    return None


def _part(context: Context, made: Bound, call: Call, filters: tuple[Value, ...], position: int) -> Bound | None:
    """Return the object whose state a call takes, if the filter at a position lets streams through."""
    flow = context.flow
    if not call.args or any(name is not None and name != "graph" for name, _ in call.keywords):
        return None
    if filters:
        if position >= len(filters):
            return None
        chosen = flow.resolve(flow.with_value(made, filters[position])).value
        earlier = [flow.resolve(flow.with_value(made, one)).value for one in filters[:position]]
        if any(isinstance(one, Ref) and one.name in _STREAMS for one in earlier):
            return None
        rest = isinstance(chosen, Const) and chosen.value is Ellipsis
        if not rest and not (isinstance(chosen, Ref) and chosen.name in _STREAMS):
            return None
    elif position:
        return None
    return flow.with_value(made, call.args[0])


def _differs(context: Context, model: Bound) -> bool:
    """Say whether there are more or fewer streams in an object since layers fork them."""
    found = _streams(context, model)
    if found is None or not (found[0].forked or found[0].cells):
        return False
    number, origin = found
    assert origin.streams is not None
    return number.forked != len(origin.streams | {"default"} if origin.default else origin.streams)


def _streams(context: Context, model: Bound, depth: int = 0) -> tuple[Number, Origin] | None:
    """Return how many streams an object has, and the Rngs with the known names that its layers fork."""
    analysis = rng_analysis(context)
    if depth > _DEPTH:
        return None
    if not analysis.origins.layers and not _cells(context):
        return None
    sources = list(context.sources.of(model))
    made = sources[0].value if len(sources) == 1 else None
    if isinstance(made, Part):  # what nnx.merge or nnx.clone makes
        return _streams(context, made.of, depth + 1)
    if isinstance(made, Call) and made.args and context.flow.calls.callee_name(sources[0]) in _OPTIMIZERS:
        return _streams(context, context.flow.with_value(sources[0], made.args[0]), depth + 1)  # its state holds it
    if not isinstance(made, Call) or not isinstance(context.flow.follow(sources[0], made.callee).value, Class):
        return None
    shapes = analysis.layouts.of(model)
    if Shape.UNKNOWN in shapes or not (shapes or _cells(context)):
        return None
    number = _number(context, sources[0], 0)
    origins = _origins(context, sources[0], made, number.cells) if number is not None else []
    if number is None or len(origins) != 1 or origins[0].streams is None:
        return None
    return number, origins[0]


def _cells(context: Context) -> bool:
    """Say whether the project may make recurrent cells."""
    return any(module.source.mentions(b"Cell") for module in context.project.modules)


def _origins(context: Context, made: Bound, call: Call, cells: bool) -> list[Origin]:
    """Return the Rngs that a constructor is given whose streams layers fork, or cells kept."""
    origins = rng_analysis(context).origins
    found: dict[Origin, None] = {}
    for given in call.given:
        for origin in origins.of(context.flow.with_value(made, given)):
            if origin.kept or cells:
                found[origin] = None
    return list(found)


def _number(context: Context, bound: Bound, depth: int) -> Number | None:
    """Return how many streams an object has; None if that is not known, or depends on a loop."""
    sources = list(context.sources.of(bound))
    if len(sources) != 1 or depth > _DEPTH:
        return None
    made, value, flow = sources[0], sources[0].value, context.flow
    if isinstance(value, Call) and flow.calls.callee_name(made) in CELLS:
        return Number(0, 0, value.keyword("rngs") is not None)
    own = isinstance(value, Call) and isinstance(flow.follow(made, value.callee).value, Class)
    if rng_analysis(context).layouts.of(made) == frozenset() and not (own and _cells(context)):
        return Number(0, 0)
    if isinstance(value, Sequence | Mapping):
        items = value.items if isinstance(value, Sequence) else [item for _, item in value.items]
        return _sum(context, [flow.with_value(made, item) for item in items], depth)
    if not isinstance(value, Call) or value.starred:
        return None
    found = layer(flow, made)
    if found is not None:
        alone = Number(1, 0) if found.rngs is not None else Number(0, 1)
        inside = value.args[:2] if found.name in {"flax.nnx.RNN", "flax.nnx.Bidirectional"} else ()
        held = _sum(context, [flow.with_value(made, one) for one in inside], depth)
        return (
            Number(alone.forked + held.forked, alone.private + held.private, held.cells) if held is not None else None
        )
    callee = flow.follow(made, value.callee).value
    if isinstance(callee, Ref) and callee.name == "flax.nnx.Sequential":
        return _sum(context, [flow.with_value(made, one) for one in value.args], depth)
    if not isinstance(callee, Class) or any(
        name.startswith("flax.nnx.nn.") for name in flow.classes.mro(callee.facts)[1]
    ):
        return None
    names = dict.fromkeys(name for parent in flow.classes.mro(callee.facts)[0] for name in parent.stores)
    fields = [flow.fields.field(made, name) for name in names]
    if any(len(values) != 1 for values in fields):
        return None
    return _sum(context, [values[0] for values in fields], depth)


def _sum(context: Context, parts: list[Bound], depth: int) -> Number | None:
    """Return how many streams several objects have together, which hold none in common."""
    seen: set[Bound] = set()
    forked, private, cells = 0, 0, False
    for part in parts:
        number = _number(context, part, depth + 1)
        if number is None:
            return None
        if number != Number(0, 0):
            source = next(iter(context.sources.of(part)))
            if source in seen:
                return None
            seen.add(source)
        forked, private, cells = forked + number.forked, private + number.private, cells or number.cells
    return Number(forked, private, cells)


RULE = Rule(
    code="NNX221",
    name="counted-streams",
    summary="a count of leaves that takes in the random streams of layers",
    why="""\
Up to Flax 0.10 the layers of a model kept the Rngs that they were made with, and its streams stood in the state once,
each with a key and a counter. Since 0.11 each Dropout, each attention layer with dropout and each RNN has a stream of
its own, and recurrent cells keep none. So `len(jax.tree.leaves(nnx.state(model)))` gives another number, and so does
the sum of their sizes, which is often meant for the number of parameters; that is `nnx.state(model, nnx.Param)`. The
paths of these leaves are others, too: `("dropout", "rngs", "key")` was `("dropout", "rngs", "dropout", "key")`, which
matters where all paths are printed, or are the keys under which something is kept. The rule speaks where it knows the
layers and the Rngs, and only where other findings show that the code is of 0.10.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


rngs = nnx.Rngs(params=0, dropout=1)
net = Net(rngs)
print(net.dropout.rngs is rngs, sum(leaf.size for leaf in jax.tree.leaves(nnx.state(net))))
""",
            run=False,
        ),
    ),
    check=check,
    severity="warning",
)
