"""NNX745: filters by a name that no path of the model has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.model_parts import ModelPart, model_parts
from codemods.nnx.lint.no_attribute import LAYER_ATTRIBUTES
from codemods.nnx.lint.path_filters import compared, joined, path_word
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Call, Const, Function, Star, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_SELECTING = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.variables", "flax.nnx.pop"})
_BY_PATH = (b"PathContains", b" in path", b" in p ", b" in p,", b" in p)", b" in key", b" in parts")
_DEPTH = 6
_ALIKE = 0.84  # of a word with a letter too few
_SHORT = 4


def _check(context: Context) -> Iterator[Finding]:
    if not any(word in m.source.data for m in context.project.modules for word in _BY_PATH):
        return
    found: dict[ast.AST, tuple[str, set[str] | None]] = {}
    for model, chosen in _uses(context):
        words = dict(_words(context, chosen, 0))
        if not words:
            continue
        parts = _parts(context, model)
        for node, word in words.items():
            near = _near(word, parts) - set(words.values()) if parts is not None else set()
            known = found.get(node, (word, set()))[1]
            found[node] = (word, known | near if near and known is not None else None)
    for node, (word, names) in found.items():
        scope = context.bodies.home(node) or context.bodies.module_scope(node)
        if not names or scope is None or scope.module not in context.asked or in_test(scope):
            continue
        shown = " and ".join(f"`{name}`" for name in sorted(names)[:3])
        exact = "; since 0.12 also exact=False" if isinstance(node, ast.Call) else ""
        yield finding(
            RULE.code,
            scope,
            node,
            f'no path has a part "{word}", so that this matches nothing: names are compared as a whole, '
            f"and the model has {shown}",
            f"name what is meant as it is called in the model{exact}",
        )


def _uses(context: Context) -> Iterator[tuple[Bound, Bound]]:
    """Yield the models of which something is selected, each with the filter."""
    flow = context.flow
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", "state", "split", "variables", "pop",
                               everywhere=True):  # fmt: skip
        filters: list[Value] = []
        if name in _OPTIMIZERS:
            wanted = event.value.argument(2, "wrt")
            filters = [wanted] if wanted is not None else []
        elif name in _SELECTING:
            filters = [one for one in event.value.args[1:] if not isinstance(one, Star)]
        given = event.value.argument(0, "model" if name in _OPTIMIZERS else "node")
        if given is None or in_test(event.scope):
            continue
        model = flow.here(given, event.scope)
        for one in filters:
            yield model, flow.resolve(flow.here(one, event.scope))
    for event in context.bodies.named("DiffState"):
        yield from _differentiated(context, event)


def _differentiated(context: Context, event: CallEvent) -> Iterator[tuple[Bound, Bound]]:
    """Yield the models that a gradient is taken of by a filter, where it is applied at once."""
    flow = context.flow
    place, chosen = event.value.argument(0, "argnum"), event.value.argument(1, "filter")
    if flow.calls.name(event) != "flax.nnx.DiffState" or chosen is None or not isinstance(place, Const):
        return
    for call in context.bodies.calls.get(event.scope, ()):
        made = flow.follow(flow.here(call.value, call.scope), call.value.callee)
        if not isinstance(made.value, Call) or flow.calls.callee_name(made) not in GRADIENTS or call.value.starred:
            continue
        wrt = made.value.argument(1, "argnums")
        if wrt is None or flow.follow(made, wrt).value is not event.value:
            continue
        if isinstance(place.value, int) and 0 <= place.value < len(call.value.args):
            model = flow.here(call.value.args[place.value], call.scope)
            yield model, flow.resolve(flow.here(chosen, event.scope))


def _words(context: Context, chosen: Bound, depth: int) -> Iterator[tuple[ast.AST, str]]:
    """Yield the names for which a filter looks in paths, each with where it is written."""
    _, parts = joined(context, chosen)
    for one in parts if depth < _DEPTH else ():
        yield from _words(context, one, depth + 1)
    known = path_word(context, chosen)
    if known is not None and known[1] and isinstance(chosen.value, Call):
        yield chosen.value.node, known[0]
    if isinstance(chosen.value, Function):
        yield from compared(chosen.value.facts.node)


def _parts(context: Context, model: Bound) -> list[ModelPart] | None:
    """Return the parts of every model that a value may be; None if they are not all known."""
    found: list[ModelPart] = []
    made = context.sources.originals(model)
    for one in made:
        parts = model_parts(context, one)
        if parts is None:
            return None
        found += parts
    return found or None


def _near(word: str, parts: list[ModelPart]) -> set[str]:
    """Return the names in paths that are like a word, if none is the word itself."""
    names = {name for part in parts for name in part.path}
    if word in names or word in LAYER_ATTRIBUTES:
        return set()
    return {name for part in parts for name in part.path[-1:] if _like(word.lower(), name.lower())}


def _like(word: str, name: str) -> bool:
    """Say whether a name begins or ends with a word, or is another spelling of it."""
    if word == name or re.search(rf"(^|_){re.escape(word)}(s|es|\d+)?(_|$)", name):
        return True
    plain = word.replace("_", ""), name.replace("_", "")
    if plain[0] == plain[1] or (len(word) >= _SHORT and plain[0] in (plain[1] + "s", plain[1] + "es")):
        return True
    if len(word) <= _SHORT:
        return False
    from difflib import SequenceMatcher  # here, since it takes as long to import as a small file to lint

    return SequenceMatcher(None, word, name).ratio() >= _ALIKE


_BAD = """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.encoder_in = nnx.Linear(4, 8, rngs=rngs)
        self.encoder_out = nnx.Linear(8, 8, rngs=rngs)
        self.head = nnx.Linear(8, 1, rngs=rngs)


frozen = nnx.PathContains("encoder")
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.All(nnx.Param, nnx.Not(frozen)))
"""

RULE = lint_rule(
    "NNX745",
    "path-without-match",
    "a filter by a name that is a part of no path of the model, but like one",
    why="""\
`nnx.PathContains("encoder")` looks for a part of the path that is called `encoder` and nothing else: `encoder_in` is
another name, and so is `encoders`. So does `"encoder" in path`, since a path is a tuple. The filter selects nothing,
without an error: what was to be frozen is trained, or nothing is. Name the parts, or since Flax 0.12 write
`nnx.PathContains("encoder", exact=False)`.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the state is empty",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            'nnx.PathContains("encoder")', 'nnx.Any(nnx.PathContains("encoder_in"), nnx.PathContains("encoder_out"))'
        ),
    ),
)
