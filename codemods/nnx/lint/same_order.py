"""NNX561: a training that goes through its examples in the same random order in every epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import inside, own_nodes
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SEEDED = frozenset({"key", "PRNGKey", "default_rng", "RandomState", "seed", "Random"})
_SHUFFLES = frozenset({"permutation", "shuffle"})
_EPOCH = pattern(r"(^|_)(epoch|epochs|ep)(_|$)|^e$")
_EPOCHS = pattern(rb"epoch|\bep\b", needs=(b"epoch", b"ep"))
# what is compared from epoch to epoch has to stay the same, and so do folds and splits
_MEANT = pattern(r"eval|test|valid|(^|_)val(_|$)|split|fold|plot|subset|demo|fixed|same")
_HELP = "make the generator before the loop, or fold the number of the epoch into the seed"


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_EPOCHS) for module in context.project.modules):
        return
    told: set[ast.AST] = set()
    for event in context.bodies.named(*_SEEDED):
        if event.scope.module not in context.asked or in_test(event.scope) or not _constant(context, event):
            continue
        if event.node in told or not _shuffles(context, event):
            continue
        loop = next((one for one in event.loops if _of_epochs(one)), None)
        function = event.scope.function
        if loop is None and function is not None and not _MEANT.search(function.name.lower()):
            loop = _called_in_epochs(context, function)
        if loop is not None:
            told.add(event.node)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the seed is the same in every epoch, and so is the order of the examples",
                _HELP,
                related=[(loop, "the epochs")] if event.loops else [],
            )


def _constant(context: Context, event: CallEvent) -> bool:
    """Say whether a generator or key is made of a number that is written out."""
    name = context.flow.calls.name(event)
    if not name.startswith(("jax.random.", "numpy.random.", "random.")) or last(name) not in _SEEDED:
        return False
    given = [*event.node.args, *(k.value for k in event.node.keywords)]
    return len(given) == 1 and isinstance(given[0], ast.Constant) and isinstance(given[0].value, int)


def _shuffles(context: Context, event: CallEvent) -> bool:
    """Say whether what is made of the seed, or the generator that it sets, puts something into another order."""
    seeds = last_word(event.node.func) == "seed"
    for other in context.bodies.calls.get(event.scope, ()):
        if last_word(other.node.func) not in _SHUFFLES or other.node.lineno < event.node.lineno:
            continue
        if any(_MEANT.search(name.id.lower()) for name in ast.walk(other.statement) if isinstance(name, ast.Name)):
            continue
        func = other.node.func
        if seeds:
            if isinstance(func, ast.Attribute) and last_word(func.value) == "random":
                return True
            continue
        sources = [func.value] if isinstance(func, ast.Attribute) else []
        sources += other.node.args[:1]
        if any(written(context, one, event.scope) is event.node or one is event.node for one in sources):
            return True
    return False


def _of_epochs(loop: ast.AST) -> bool:
    if not isinstance(loop, ast.For):
        return False
    names = [
        name.id.lower() for part in (loop.target, loop.iter) for name in ast.walk(part) if isinstance(name, ast.Name)
    ]
    names += [node.attr.lower() for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute)]
    return any(map(_EPOCH.search, names))


def _called_in_epochs(context: Context, function: FunctionFacts) -> ast.AST | None:
    """Return the loop over epochs that goes through what a function gives, or calls it in every round."""
    if isinstance(function.node, ast.Lambda) or not _gives(function):
        return None
    for caller in context.flow.sites.callers(function):
        if in_test(caller.scope) or _meant(caller.scope):
            continue
        for loop in caller.loops:
            if _of_epochs(loop) and not (isinstance(loop, ast.For) and inside(caller.node, loop.iter)):
                return loop
    return None


def _gives(function: FunctionFacts) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Return) for node in own_nodes(function.node))


def _meant(scope: Scope) -> bool:
    return scope.function is not None and _MEANT.search(scope.function.name.lower()) is not None


_BAD = """\
import jax


def train(params, step, images, epochs):
    for epoch in range(epochs):
        order = jax.random.permutation(jax.random.key(0), len(images))
        for start in range(0, len(images), 32):
            params = step(params, images[order[start : start + 32]])
    return params
"""

RULE = lint_rule(
    "NNX561",
    "same-order",
    "examples in the same random order in every epoch, by a seed that is set again",
    why="""\
Whoever makes the key or generator of a number inside of the loop gets the same permutation in every epoch: the same
examples always meet in a batch, and the batches come in the same order. It trains, and worse than it could.
""",
    source="the documentation of jax.random; measured: equal orders",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jax.random.key(0)", "jax.random.fold_in(jax.random.key(0), epoch)"),),
)
