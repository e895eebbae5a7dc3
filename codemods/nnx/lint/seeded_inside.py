"""NNX682: layers that make their own streams of one seed, and are made several times."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Class

_STREAMS = ("rngs", "rng", "key", "seed", "keys", "random_state")


# where weights come from elsewhere
_LOADED = pattern(rb"eval_shape|load|restore|pretrained|safetensors|from_bytes|from_state_dict")


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.matches(_LOADED) for module in context.project.modules):
        return
    found: dict[ClassFacts, CallEvent] = {}
    for event, name in foreign(context, "Rngs"):
        cls = _seeded(context, event) if name == "flax.nnx.Rngs" else None
        if cls is not None and not in_test(event.scope):
            found.setdefault(cls, event)
    for cls, event in found.items():
        several = _several(context, cls)
        if several is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"every `{cls.name}` makes the streams of the same seed: all begin with equal weights",
                "let the constructor take `rngs`, and hand the streams of the model on",
                related=[(several.node, "made several times")] if several.scope.module is event.scope.module else [],
            )


def _seeded(context: Context, event: CallEvent) -> ClassFacts | None:
    """Return the module whose constructor makes streams of a number in every case, and is given none."""
    function = event.scope.function
    cls = function.owner if function is not None and function.name == "__init__" else None
    if cls is None or function is None or any(word in function.params for word in _STREAMS):
        return None
    given = [*event.node.args, *(keyword.value for keyword in event.node.keywords)]
    if len(given) != 1 or not isinstance(constant(given[0]), int) or event.value.starred:
        return None
    blocks = context.bodies.paths(event.scope).get(event.statement, ())
    chosen = around(context, event.scope).get(event.node)
    if any(isinstance(block, ast.If) for block, _ in blocks) or isinstance(chosen, ast.IfExp | ast.BoolOp):
        return None
    return cls if "flax.nnx.Module" in context.flow.classes.mro(cls)[1] else None


def _several(context: Context, cls: ClassFacts) -> CallEvent | None:
    """Return the call that makes objects of a class in a loop, or the second of two in one constructor."""
    made: dict[object, CallEvent] = {}
    for event in context.bodies.named(cls.name):
        value = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        function = event.scope.function
        inside = function is not None and function.owner is not None and function.name == "__init__"
        if not isinstance(value, Class) or value.facts is not cls or in_test(event.scope) or not inside:
            continue
        if event.loops or event.scope in made:
            return event
        made[event.scope] = event
    return None


_BAD = """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim):
        rngs = nnx.Rngs(0)
        self.layer = nnx.Linear(dim, dim, rngs=rngs)


class Stack(nnx.Module):
    def __init__(self, dim, depth):
        self.blocks = nnx.Sequential(*[Block(dim) for _ in range(depth)])
"""

RULE = lint_rule(
    "NNX682",
    "seeded-inside",
    "a layer that makes streams of one seed in its constructor, and is made several times",
    why="""\
`nnx.Rngs(0)` in the constructor of a layer gives each of them the same keys: all layers of a model begin with equal
weights, and all dropouts drop the same. The model has one `nnx.Rngs`, which its layers are given and draw from.
""",
    source="documentation of nnx.Rngs; measured on 0.11.2 and 0.12.8: equal kernels",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("(self, dim):\n        rngs = nnx.Rngs(0)\n", "(self, dim, rngs):\n")
        .replace("(self, dim, depth)", "(self, dim, depth, rngs)")
        .replace("Block(dim)", "Block(dim, rngs)"),
    ),
)
