"""NNX739: models with sharding annotations that are made outside of their mesh."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.nodes import last_word
from codemods.nnx.v012.mesh import annotated_variables
from codemods.nnx.values import Ref

_ANNOTATED = (b"with_partitioning", b"sharding", b"with_metadata")
_COMPILING = frozenset({"jax.jit", "flax.nnx.jit"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if context.options.target != "0.12" or not any(word in data for word in _ANNOTATED for data in sources):
        return
    if any(b"eager_shard" in data or b"eager_init" in data for data in sources):
        return
    annotated, meshes = annotated_variables(context)
    if (not meshes and context.options.crosses("0.12")) or not all(map(_for_a_block, meshes)):
        return  # NNX611 says so
    setting = {event.scope for event in meshes}
    said: set[CallEvent] = set()
    for event in _makers(context, annotated):
        for way in _outside(context, event, setting, 0):
            # where the mesh is set else, or at the top level
            place = next((call for call in way if call.scope in setting), way[-1])
            if place not in said and place.scope.module in context.asked:
                said.add(place)
                yield finding(
                    RULE.code,
                    place.scope,
                    place.node,
                    "this makes Variables with names of mesh axes, which are placed at once, and no mesh is set here",
                    "make it within `with jax.set_mesh(mesh):`, or turn that off: nnx.use_eager_sharding(False)",
                    related=[(event.node, "annotated here")] if event.scope.module is place.scope.module else (),
                )


def _makers(context: Context, annotated: list[CallEvent]) -> Iterator[CallEvent]:
    """Yield the calls that make Variables: those with the annotation, and layers that get an annotated initializer."""
    wrapped = {}
    for event in annotated:
        if last_word(event.node.func).startswith("with_"):
            wrapped[event.value] = event
        else:
            yield event
    for event in context.project.calls() if wrapped else ():
        for word, value in event.value.keywords:
            if word and word.endswith("_init"):
                if context.flow.resolve(context.flow.here(value, event.scope)).value in wrapped:
                    yield event


def _for_a_block(event: CallEvent) -> bool:
    """Say whether a mesh is set for the statements of a ``with`` alone, and not for those of a caller's."""
    function = event.scope.function
    return (
        isinstance(event.statement, ast.With | ast.AsyncWith)
        and any(item.context_expr is event.node for item in event.statement.items)
        and not (function is not None and function.generator)
    )


def _outside(context: Context, event: CallEvent, setting: set[Scope], depth: int) -> Iterator[tuple[CallEvent, ...]]:
    """Yield the ways on which a call is reached in any case outside of all blocks with a mesh, the call first.

    A way ends at a script's top level, or in the one function that sets a mesh.
    """
    scope = event.scope
    for block, _ in context.bodies.paths(scope).get(event.node, ()):
        if isinstance(block, ast.With | ast.AsyncWith):
            if not all(_harmless(context, item.context_expr, scope) for item in block.items):
                return
        elif not isinstance(block, ast.For) and not (
            isinstance(block, ast.If) and "__main__" in ast.unparse(block.test)
        ):
            return
    function = scope.function
    if function is None or {scope} == setting:
        if function is not None or isinstance(scope.node, ast.Module):
            yield (event,)
        return
    if depth > _DEPTH or function.generator or not _as_written(context, function):
        return
    for caller in context.flow.sites.callers(function):
        for way in _outside(context, caller, setting, depth + 1):
            yield (event, *way)


def _as_written(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function has no decorators, but for those that compile it, which set no mesh."""
    if isinstance(function.node, ast.Lambda):
        return False
    values = function.scope.module.values
    for node in function.node.decorator_list:
        maker = node.args[0] if isinstance(node, ast.Call) and last_word(node.func) == "partial" and node.args else node
        maker = maker.func if isinstance(maker, ast.Call) else maker
        value = values.get(maker)
        outer = function.scope.parent
        made = context.flow.resolve(context.flow.here(value, outer)).value if value is not None and outer else None
        if not isinstance(made, Ref) or made.name not in _COMPILING:
            return False
    return True


def _harmless(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a ``with`` is known to set no mesh: that of a file, or of a Mesh itself, which counts no more."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"open", "default_device", "Mesh"}:
        return True
    value = scope.module.values.get(node)
    made = context.flow.resolve(context.flow.here(value, scope)) if value is not None else None
    return made is not None and context.flow.calls.callee_name(made) in {"jax.make_mesh", "jax.sharding.Mesh"}


_BAD = """\
import jax
from flax import nnx

mesh = jax.make_mesh((1, 1), ("data", "model"))


class Net(nnx.Module):
    def __init__(self, rngs):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
        self.out = nnx.Linear(4, 8, kernel_init=init, rngs=rngs)


"""

RULE = lint_rule(
    "NNX739",
    "made-outside-of-mesh",
    "a model with sharding annotations is made before or outside of the block that sets its mesh",
    why="""\
Since Flax 0.12 `nnx.with_partitioning` and `sharding=` place an array when its Variable is made: where no mesh is set,
that raises "An auto mesh context or metadata is required". `jax.set_mesh` as a `with` holds for its block alone.
""",
    source="flax issues on sharding at creation; measured on Flax 0.12.8: ValueError",
    severity="error",
    targets=("0.12",),
    check=_check,
    bad=(
        _BAD
        + """\
net = Net(nnx.Rngs(0))
with jax.set_mesh(mesh):
    print(net.out.kernel)
""",
    ),
    clean=(
        _BAD
        + """\
with jax.set_mesh(mesh):
    net = Net(nnx.Rngs(0))
    print(net.out.kernel)
""",
    ),
)
