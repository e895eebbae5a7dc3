"""NNX544: the mean of the means of batches, of which the last is shorter, and their sum over all examples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.over_examples import over_examples
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.short_batches import has_short_batch
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.whole_mean import is_batch_mean
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_JOINING = frozenset({"array", "asarray", "stack", "concatenate", "device_get"})
_MEANS = frozenset({"mean", "nanmean"})
_COUNTED = pattern(r"(^|_)(n|num|number)?_?(of_)?(batches|nb|batch_count|n_?batch|num_?batch)$")
_KEYS = frozenset({"split", "fold_in"})


def _check(context: Context) -> Iterator[Finding]:
    averaging = any(module.source.mentions(b"mean") for module in context.project.modules)
    for scope, loop in each(context, ast.For, ast.ListComp) if averaging else ():
        source = scope.module.source
        if in_test(scope):
            continue
        if isinstance(loop, ast.For):
            yield from _over_examples(context, loop, scope)
        if not source.mentions(b"range") or not source.mentions(b"mean"):
            continue
        if isinstance(loop, ast.For):
            over, body = loop.iter, [n for statement in loop.body for n in ast.walk(statement)]
            if not isinstance(over, ast.Call):
                continue
            if last_word(over.func) == "range" and not any(isinstance(n, ast.Slice) for n in body):
                continue
            averaged = _averaged(context, loop, body, scope)
        elif isinstance(loop, ast.ListComp) and len(loop.generators) == 1 and not loop.generators[0].ifs:
            over, body = loop.generators[0].iter, list(ast.walk(loop.elt))
            averaged = loop.elt if is_batch_mean(context, loop.elt, scope) and _joined(context, loop, scope) else None
        else:
            continue
        if averaged is not None and has_short_batch(context, over, body, scope):
            yield finding(
                RULE.code,
                scope,
                averaged,
                "the last batch is shorter, and its mean counts as much as that of a full one",
                "add up the sums and how many there were: total += losses.sum(); count += len(batch)",
            )


def _over_examples(context: Context, loop: ast.For, scope: Scope) -> Iterator[Finding]:
    """Yield the sums of means that are divided by the number of examples."""
    for mean, share in over_examples(context, loop, scope):
        yield finding(
            RULE.code,
            scope,
            share,
            "the means of batches are added up, and the sum is divided by how many examples there are: the result is "
            "as many times too small as a batch has examples",
            "divide by the number of batches, or weigh each mean by the size of its batch: loss * len(x)",
            related=[(mean, "the mean of a batch")],
        )


def _averaged(context: Context, loop: ast.For, body: list[ast.AST], scope: Scope) -> ast.expr | None:
    """Return the mean of a batch that a loop collects, or adds to a sum, of which the mean is taken; None without."""
    if any(isinstance(n, ast.Assign) and _goes_on(n) for n in body):
        return None  # it trains: such a mean is told to nobody but the log
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
                name = call.func.value
                if isinstance(name, ast.Name) and is_batch_mean(context, call.args[0], scope):
                    if any(_joins(context, read, scope) for read in _behind(context, name.id, loop, scope)):
                        return call.args[0]
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            if is_batch_mean(context, node.value, scope):
                counters = {
                    n.target.id
                    for n in body
                    if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and constant(n.value) == 1
                }
                reads = _behind(context, node.target.id, loop, scope)
                if any(_shared_out(context, read, counters, scope) for read in reads):
                    return node.value
    return None


def _goes_on(assign: ast.Assign) -> bool:
    """Say whether a call gives anew what it was given: ``state, loss = step(state, x)``."""
    call = assign.value
    if not isinstance(call, ast.Call) or last_word(call.func) in _KEYS:
        return False
    names = {n.id for target in assign.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in names for one in call.args for n in ast.walk(one))


def _behind(context: Context, name: str, loop: ast.For, scope: Scope) -> list[ast.Name]:
    end = loop.end_lineno or loop.lineno
    return [read for read in context.bodies.reads(scope, name) if read.lineno > end]


def _joined(context: Context, comprehension: ast.ListComp, scope: Scope) -> bool:
    """Say whether the mean of what a comprehension gives is taken, also by a variable."""
    above = around(context, scope).get(comprehension)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        name = above.targets[0].id
        if len(context.bodies.stores(scope, name)) != 1:
            return False
        return any(_joins(context, read, scope) for read in context.bodies.reads(scope, name))
    return _joins(context, comprehension, scope)


def _joins(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether the mean of a list is taken: ``np.mean(losses)``, ``jnp.stack(losses).mean()``."""
    above = around(context, scope)
    outer = above.get(node)
    if isinstance(outer, ast.Starred):
        return _mapped(context, above.get(outer), scope)
    while isinstance(outer, ast.Call) and last_word(outer.func) in _JOINING and node in outer.args:
        node, outer = outer, above.get(outer)
    if isinstance(outer, ast.Attribute) and outer.attr in _MEANS:
        called = above.get(outer)
        return isinstance(called, ast.Call) and not called.args and not called.keywords
    if isinstance(outer, ast.Call) and last_word(outer.func) == "sum" and node in outer.args:
        share = above.get(outer)
        ratio = share.right if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div) else None
        return isinstance(ratio, ast.Call) and ast.unparse(ratio) == f"len({ast.unparse(node)})"
    return isinstance(outer, ast.Call) and last_word(outer.func) in _MEANS and outer.args == [node]


def _mapped(context: Context, call: ast.AST | None, scope: Scope) -> bool:
    """Say whether the means of leaves are taken, or are later: ``jax.tree.map(lambda *xs: jnp.stack(xs), *found)``."""
    if not isinstance(call, ast.Call) or last_word(call.func) not in {"map", "tree_map"} or not call.args:
        return False
    given = call.args[0]
    if not isinstance(given, ast.Lambda):
        return False
    words = {last_word(n.func) for n in ast.walk(given) if isinstance(n, ast.Call)}
    if words & _MEANS:
        return True
    later = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Call) and n.lineno > call.lineno)
    return bool(words & _JOINING) and any(last_word(n.func) in _MEANS and len(n.args) < 2 for n in later)


def _shared_out(context: Context, read: ast.Name, counters: set[str], scope: Scope) -> bool:
    """Say whether a sum is divided by the number of batches."""
    outer = around(context, scope).get(read)
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.Div) or outer.left is not read:
        return False
    word = last_word(outer.right)
    return word in counters or _COUNTED.search(word) is not None


_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def accuracy(w, x, y):
    return jnp.mean((x @ w > 0) == y)


def evaluate(w, x, y, size=64):
    found = []
    for i in range(0, len(x), size):
        end = min(i + size, len(x))
        found.append(accuracy(w, x[i:end], y[i:end]))
    return np.mean(found)
"""

RULE = lint_rule(
    "NNX544",
    "short-last-batch",
    "the mean of the means of batches, of which the last is shorter, or their sum over the number of examples",
    why="""\
Where the number of examples is no multiple of the batch size, the last batch has fewer. In the mean of the means each
of its examples counts more than others: with 70 examples and batches of 64, the last six count as much as all before
them. Add up sums and numbers, and divide once, or weigh each mean by the size of its batch. Only where the sizes are
known, or the program rounds up or cuts the last batch itself, something is said; loops that train are left alone.
The sum of the means divided by the number of examples is as many times too small as a batch has examples.
""",
    source="github.com/google/flax/issues/262; measured: another accuracy than that of all examples",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("accuracy(w, x[i:end], y[i:end])", "accuracy(w, x[i:end], y[i:end]) * (end - i)").replace(
            "np.mean(found)", "np.sum(found) / len(x)"
        ),
    ),
)
