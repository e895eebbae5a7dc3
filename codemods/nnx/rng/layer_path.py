"""NNX203: a stream is reached by name in a layer that has only one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.layers import CELLS, constructor, layer
from codemods.nnx.rng.paths import (
    Step,
    Use,
    container_uses,
    flat_keys,
    holder,
    steps,
    stream_tests,
    walked_layers,
)
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call

_OWN = frozenset({"key", "count", "tag", "fork", "split"})
_NONE = "recurrent cells keep no Rngs since Flax 0.11: `rngs` is None"
_KEEP = "make the cell with keep_rngs=True, whose `rngs` is a fork of the stream `carry`, or ask the layer that draws"
_MESSAGE = "the layer keeps one stream since Flax 0.11, not a Rngs"


def check(context: Context) -> Iterator[Finding]:
    """Yield every way to a stream through the ``rngs`` of a layer of Flax."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        for step in steps(module):
            if _cells(context, context.flow.here(step.holder, step.scope)):
                yield finding(RULE.code, step.scope, step.node, _NONE, _KEEP)
            elif step.stream not in _OWN and not _asked(step):
                yield from _step(context, step)
        for use in container_uses(module):
            yield from _use(context, use)
        for scope, test, named in stream_tests(context, module):
            yield finding(
                RULE.code,
                scope,
                test,
                f"paths of the streams in layers do not name {named!r} since Flax 0.11: they end in ('rngs', 'count') "
                "and ('rngs', 'key')",
                f"ask for the tag of the Variable: `v.tag == {named!r}`, or the filter {named!r}",
            )
        for scope, node, position in flat_keys(module):
            source = module.source
            edit = Edit(source.span(node.elts[position - 1])[1], source.span(node.elts[position])[1], b"")
            fix = Fix(((source.path, edit),), Safety.UNSAFE)
            yield finding(
                RULE.code, scope, node, _MESSAGE, "its path ends in ('rngs', 'key') and ('rngs', 'count')", fix
            )


def _cells(context: Context, place: Bound) -> bool:
    """Say whether a value is on every way a recurrent cell that was not told to keep a stream."""
    sources = context.sources.originals(place)
    return bool(sources) and all(_cell(context, source) for source in sources)


def _cell(context: Context, made: Bound) -> bool:
    flow = context.flow
    if isinstance(made.value, Attr) and made.value.name == "cell":
        rnn = context.sources.originals(flow.with_value(made, made.value.base))
        held = [constructor(flow, one) for one in rnn]
        cells = [one.arguments.get("cell") if one is not None else None for one in held]
        return bool(cells) and all(cell is not None and _cells(context, cell) for cell in cells)
    if not isinstance(made.value, Call):
        return False
    cls = flow.classes.class_of(made)
    if cls is None:
        return flow.calls.callee_name(made) in CELLS and made.value.keyword("keep_rngs") is None
    own = flow.classes.mro(cls)[0]
    if not flow.classes.mro(cls)[1] & CELLS or any("rngs" in one.stores for one in own):
        return False
    return not any(one.scope.module.source.mentions(b"keep_rngs") for one in own)


def _use(context: Context, use: Use) -> Iterator[Finding]:
    """Report the stream of a layer that is taken for a Rngs, which is a container of streams."""
    asked = isinstance(use.node, ast.Call) and isinstance(use.node.func, ast.Name) and use.node.func.id[-4:] == "attr"
    if asked and (use.named in _OWN or _switches(use)):
        return
    layer = use.rngs.value if isinstance(use.rngs, ast.Attribute) else None
    kept = holder(context, use.scope, use.holder, layer)
    if kept is None or not kept.proven:
        return
    help_ = "it is a stream itself, with `key` and `count`"
    if use.named is not None:
        help_ = f"ask for its name: {ast.unparse(use.rngs)}.tag == {use.named!r}"
    yield finding(RULE.code, use.scope, use.node, _MESSAGE, help_)


def _switches(use: Use) -> bool:
    """Say whether ``hasattr`` chooses between two ways, as code for several versions does."""
    source = use.scope.module.source
    tests = [choice.test for choice in source.of_type(ast.If) if choice.orelse]
    tests += [choice.test for choice in source.of_type(ast.IfExp)]
    return any(node is use.node for test in tests for node in ast.walk(test))


def _asked(step: Step) -> bool:
    """Say whether a stream is reached only where ``hasattr`` says that layers have it, with another way beside that."""
    source = step.scope.module.source
    if not source.mentions(b"hasattr"):
        return False
    for choice in source.of_type(ast.If, ast.IfExp):
        assert isinstance(choice, ast.If | ast.IfExp)
        turned = isinstance(choice.test, ast.UnaryOp) and isinstance(choice.test.op, ast.Not)
        test = choice.test.operand if isinstance(choice.test, ast.UnaryOp) and turned else choice.test
        if not choice.orelse or not isinstance(test, ast.Call) or last_word(test.func) != "hasattr":
            continue
        if len(test.args) != 2 or last_word(test.args[0]) != "rngs" or not _names(test.args[1], step.stream):
            continue
        way = choice.orelse if turned else choice.body
        if any(step.node is node for part in (way if isinstance(way, list) else [way]) for node in ast.walk(part)):
            return True
    return False


def _names(node: ast.expr, stream: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == stream


def _counted_together(context: Context, step: Step) -> bool:
    """Say whether the counter of a stream is read that others than its layer advanced, too, up to Flax 0.10."""
    flow, module = context.flow, step.scope.module
    if not any(e.node.value is step.node and e.node.attr == "count" and e.context == "load" for e in module.attributes):
        return False
    origins = rng_analysis(context).origins
    for one in context.sources.originals(flow.here(step.holder, step.scope)):
        found = layer(flow, one)
        of_walk = walked_layers(context, one) if found is None else frozenset()
        layers = [kept.layer for kept in origins.layers if kept.layer.stream in of_walk] if found is None else [found]
        for drawing in layers:
            if drawing.rngs is None or drawing.stream is None:
                continue
            for origin in origins.of(drawing.rngs):
                names = [origin.source_of(kept.layer.stream) for kept in origin.kept if kept.layer.stream is not None]
                stream = origin.source_of(drawing.stream)
                if stream == "default" or names.count(stream) > 1:  # weights are made of the default stream, too
                    return True
    return False


def _step(context: Context, step: Step) -> Iterator[Finding]:
    kept = holder(context, step.scope, step.holder, getattr(step.rngs, "value", None))
    if kept is None:
        return
    source = step.scope.module.source
    fix, together = None, False
    both = "0.10" in context.options.targets
    if step.stream in kept.streams and not both:
        edit = Edit(source.span(step.rngs)[1], source.span(step.node)[1], b"")
        together = _counted_together(context, step)
        fix = Fix(((source.path, edit),), Safety.SAFE if kept.proven and not together else Safety.UNSAFE)
    elif not kept.proven:
        return
    help_ = (
        f"leave out {step.stream!r}; this counts the draws of the one layer then, up to 0.10 those of all with its Rngs"
        if together
        else f"leave out {step.stream!r}"
        if fix
        else "no attribute means the same on every version; test the type"
        if both
        else (f"it has no stream {step.stream!r} any more; keep the Rngs yourself where you need it")
    )
    yield finding(RULE.code, step.scope, step.node, _MESSAGE, help_, fix)


RULE = Rule(
    code="NNX203",
    name="layer-stream-path",
    summary="a stream by name in the rngs of a Dropout, attention or RNN layer",
    why="""\
`layer.rngs` was the Rngs that the layer was made with up to Flax 0.10; since 0.11 it is a fork of the one stream that
the layer draws from, and no container of streams: `"dropout" in layer.rngs`, `len(layer.rngs)` and loops over it raise
TypeError, and `hasattr(layer.rngs, "dropout")` is false. So `layer.rngs.dropout.key` is `layer.rngs.key`,
`layer.rngs["dropout"]` is `layer.rngs`, and the path in a state is `(..., "rngs", "key")`; `"dropout" in path` and
`nnx.PathContains("dropout")` find nothing there. A Rngs that a module of your own stores keeps its streams and its
paths. The fix is safe where value flow shows the layer, or the model whose state it is; where only a name says so it
must be asked for.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Dropout(0.5, rngs=nnx.Rngs(params=0, dropout=1))
layer(jnp.ones((1, 4)))
state = nnx.state({"drop": layer})
print(int(layer.rngs.dropout.count.value), state["drop"]["rngs"]["dropout"]["key"].value.shape)
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Dropout(0.5, rngs=nnx.Rngs(params=0, dropout=1))
layer(jnp.ones((1, 4)))
state = nnx.state({"drop": layer})
print(int(layer.rngs.count.value), state["drop"]["rngs"]["key"].value.shape)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
