"""NNX535: examples that every process shuffles in its own way, before it takes its share of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, formula_of, in_test, written
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_INDEX = pattern(r"^_?(jax_)?(process|proc|host|node)_?(index|idx|id|rank)$|^_?rank$")
_COUNT = pattern(r"^_?(num|n)_?(process|host|proc)(es|s)?$|^_?world_size$|^_?(process|host|proc)_count$")
_SHARES = pattern(
    rb"process_index|process_count|host_id|world_size|process_id",
    needs=(b"process_index", b"process_count", b"host_id", b"world_size", b"process_id"),
)
_MAKING = frozenset({"default_rng", "RandomState", "Generator", "PCG64", "Random", "key", "PRNGKey", "fold_in",
                     "SeedSequence"})  # fmt: skip
_UNSEEDED = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Subscript):
        source = scope.module.source
        if not source.matches(_SHARES) or not (source.mentions(b"permutation") or source.mentions(b"shuffle")):
            continue
        order = node.value
        index = _share(context, node, scope)
        if index is None or in_test(scope):
            continue
        told = _Seeds(context, index).of(order, scope, {ast.dump(index)}, 0)
        if told is not None:
            how = "by its own number" if told else "in its own way, without a seed"
            yield finding(
                RULE.code,
                scope,
                node,
                f"every process has shuffled {how}, and takes its share of another order: shares overlap, and some "
                "examples are in none",
                "seed the order alike in all processes, as by the number of the epoch, and then take the share",
            )


def _share(context: Context, node: ast.Subscript, scope: Scope) -> ast.expr | None:
    """Return the number of the process by which a share is taken: ``order[index::count]``, the part of that number of
    ``np.array_split(order, count)``, or a slice that begins at so many times its length."""
    cut = node.slice
    if isinstance(cut, ast.Slice):
        if cut.lower is not None and cut.step is not None and cut.upper is None:
            return cut.lower if _number(context, cut.lower, scope) and _count(context, cut.step, scope) else None
        lower = written(context, cut.lower, scope) if cut.lower is not None else None
        if isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Mult) and cut.step is None:
            for side, size in ((lower.left, lower.right), (lower.right, lower.left)):
                made = written(context, size, scope)
                per = made.right if isinstance(made, ast.BinOp) and isinstance(made.op, ast.FloorDiv) else None
                if per is not None and _number(context, side, scope) and _count(context, per, scope):
                    return side
        return None
    parts = node.value
    if not isinstance(parts, ast.Call) or not parts.args or not _number(context, cut, scope):
        return None
    if last_word(parts.func) in {"array_split", "split"} and len(parts.args) == 2:
        return cut if _count(context, parts.args[1], scope) else None
    return cut if last_word(parts.func) == "reshape" and _count(context, parts.args[0], scope) else None


def _number(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the number of the process."""
    made = written(context, node, scope)
    if isinstance(made, ast.Call):
        return last_word(made.func) in {"process_index", "host_id"}
    return isinstance(made, ast.Name | ast.Attribute) and bool(_INDEX.search(last_word(made).lower()))


def _count(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is how many processes there are."""
    made = written(context, node, scope)
    if isinstance(made, ast.Call):
        return last_word(made.func) in {"process_count", "host_count"}
    return isinstance(made, ast.Name | ast.Attribute) and bool(_COUNT.search(last_word(made).lower()))


class _Seeds:
    """Tells whether an order was drawn with the number of the process in its seed, or without any seed."""

    def __init__(self, context: Context, index: ast.expr) -> None:
        self._context = context
        self._index = index

    def of(self, node: ast.expr, scope: Scope, own: set[str], depth: int) -> bool | None:
        """Say which of both it is, True for the number; None for neither.

        Args:
            node: the order.
            scope: the scope that it stands in.
            own: the texts of what is the number of the process there.
            depth: how many calls led there.
        """
        if depth > _DEPTH:
            return None
        made = written(self._context, node, scope)
        if isinstance(made, ast.Call) and last_word(made.func) in {"array_split", "split", "asarray", "array"}:
            return self.of(made.args[0], scope, own, depth + 1) if made.args else None
        if isinstance(made, ast.Call) and last_word(made.func) == "reshape" and isinstance(made.func, ast.Attribute):
            return self.of(made.func.value, scope, own, depth + 1)
        if isinstance(node, ast.Name):
            for event in self._context.bodies.calls.get(scope, ()):  # rng.shuffle(order)
                given = event.node.args[:1]
                if last_word(event.node.func) == "shuffle" and event.node.lineno < node.lineno:
                    if given and ast.dump(given[0]) == ast.dump(ast.Name(node.id, ast.Load())):
                        return self._drawn(event.node, scope, own)
        if not isinstance(made, ast.Call):
            return None
        if last_word(made.func) == "permutation":
            return self._drawn(made, scope, own)
        return self._returned(made, scope, own, depth)

    def _returned(self, call: ast.Call, scope: Scope, own: set[str], depth: int) -> bool | None:
        """Say the same of what a function of the project gives that is told the number."""
        value = scope.module.values.get(call)
        callees = self._context.flow.calls.callables(self._context.flow.here(value.callee, scope)) if isinstance(
            value, Call) else []  # fmt: skip
        if len(callees) != 1 or not isinstance(value, Call) or value.starred:
            return None
        function = callees[0].function
        names = list(function.params)[int(function.binding in {"instance", "class"}) :]
        given = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        told = {ast.dump(ast.Name(name, ast.Load())) for name, one in given if name and ast.dump(one) in own}
        formula = formula_of(self._context, function)
        return self.of(formula, function.scope, told, depth + 1) if formula is not None else None

    def _drawn(self, call: ast.Call, scope: Scope, own: set[str]) -> bool | None:
        """Say the same of a call that shuffles."""
        name = self._name(call, scope)
        func = call.func
        if name.startswith("jax.random."):
            return self._seeded(call.args[0], scope, own, 0) if call.args else None
        if not isinstance(func, ast.Attribute):
            return None
        if name in {"numpy.random.permutation", "numpy.random.shuffle", "random.shuffle"}:
            modules = self._context.project.modules
            return None if any(module.source.mentions(b"seed(") for module in modules) else False
        return self._seeded(func.value, scope, own, 0)

    def _seeded(self, node: ast.expr, scope: Scope, own: set[str], depth: int) -> bool | None:
        """Say the same of a generator or key."""
        made = written(self._context, node, scope)
        if not isinstance(made, ast.Call) or depth > _DEPTH or last_word(made.func) not in _MAKING:
            return None
        if not made.args and not made.keywords:
            return False if self._name(made, scope) in _UNSEEDED else None
        for one in (*made.args, *(k.value for k in made.keywords)):
            parts = [*ast.walk(one)]
            parts += [n for name in names_in(one) for n in ast.walk(self._named(one, name, scope))]
            if any(isinstance(n, ast.expr) and ast.dump(n) in own for n in parts):
                return True
            if (found := self._seeded(one, scope, own, depth + 1)) is not None:
                return found
        return None

    def _named(self, node: ast.expr, name: str, scope: Scope) -> ast.expr:
        """Return what a variable in an expression was made of."""
        read = next(n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
        return written(self._context, read, scope)

    def _name(self, call: ast.Call, scope: Scope) -> str:
        value = scope.module.values.get(call)
        return self._context.flow.calls.callee_name(self._context.flow.here(value, scope)) if value is not None else ""


_BAD = """\
import jax
import numpy as np


def local_indices(seed, epoch, count):
    rng = np.random.default_rng(seed + epoch + jax.process_index())
    order = rng.permutation(count)
    return order[jax.process_index() :: jax.process_count()]
"""

RULE = lint_rule(
    "NNX535",
    "process-order",
    "examples that each process shuffles by its own number before it takes its share",
    why="""\
`order[process_index::process_count]` gives the processes shares without an example in common only if all of them have
the same order. With the number of the process in the seed, or without a seed, each has its own: with four processes an
epoch sees about two thirds of the examples, some of them several times. Nothing raises.
""",
    source="documentation of jax.process_index and of data loading; measured: 680 of 1000 examples with four processes",
    check=_check,
    bad=(_BAD, _BAD.replace("seed + epoch + jax.process_index()", "")),
    clean=(
        _BAD.replace(" + jax.process_index())", ")"),
        _BAD.replace("order[jax.process_index() :: jax.process_count()]", "order"),
    ),
)
