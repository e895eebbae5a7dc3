"""NNX692: gradients of several parts of a batch that are added up, where the loss is their mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, formula_of, in_test, written
from codemods.nnx.lint.sum_of_means import is_mean
from codemods.nnx.lint.syntax import argument, inside
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.optimizer.gradients import gradient

_MAPS = frozenset({"map", "tree_map"})
_ADDING = ("tree_add", "tree.add", "otu.tree_add")
_BODIES = {"scan": (0, "f"), "fori_loop": (2, "body_fun")}


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Assign, ast.For):
        if scope.function is None or in_test(scope) or not scope.module.source.mentions(b"grad"):
            continue
        sums: list[tuple[ast.AST, ast.AST, Scope]] = []
        if isinstance(node, ast.For):
            sums += [(one, node, scope) for one in ast.walk(node) if _added(one)]
        elif isinstance(node, ast.Assign):
            sums += _carried(context, node, scope)
        for statement, place, home in sums:
            total, gradients = _names(context, statement, home)
            if not gradients or not _of_means(context, place, home):
                continue
            if _divided(context, total, scope, place) and not _used_divided(context, gradients, scope, place):
                if _divided_before(context, place, home):
                    continue
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{total}` is divided by the number of parts, and the sum of their gradients `{gradients}` is not",
                    f"divide both: {gradients} = jax.tree.map(lambda g: g / parts, {gradients})",
                )
                break


def _added(node: ast.AST) -> bool:
    """Say whether a statement adds the leaves of another tree to a variable: ``acc = tree.map(jnp.add, acc, g)``."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    call, name = node.value, node.targets[0].id
    return isinstance(call, ast.Call) and _adds(call) and any(last_word(one) == name for one in call.args)


def _adds(node: ast.expr) -> bool:
    """Say whether an expression adds the leaves of two trees."""
    if isinstance(node, ast.Call) and len(node.args) == 2 and ast.unparse(node.func).endswith(_ADDING):
        return True
    if not isinstance(node, ast.Call) or last_word(node.func) not in _MAPS or len(node.args) != 3:
        return False
    first = node.args[0]
    if isinstance(first, ast.Lambda):
        names = {one.arg for one in first.args.args}
        body = first.body
        if not isinstance(body, ast.BinOp) or not isinstance(body.op, ast.Add):
            return False
        return {last_word(body.left), last_word(body.right)} == names
    return last_word(first) == "add"


def _carried(context: Context, node: ast.Assign, scope: Scope) -> Iterator[tuple[ast.AST, ast.AST, Scope]]:
    """Yield a scan whose carry is the sums of a loss and of its gradients, with the body that adds them."""
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
        return
    word = last_word(call.func)
    if word == "scan" and len(target.elts) != 2:
        return
    body = argument(call, *_BODIES[word]) if word in _BODIES else None
    given = scope.module.values.get(body) if body is not None else None
    carry = target.elts[0] if word == "scan" else target
    if given is None or not isinstance(carry, ast.Tuple):
        return
    reached = context.flow.calls.callables(context.flow.here(given, scope))
    if len(reached) == 1:
        home = reached[0].function.scope
        if any(isinstance(one, ast.expr) and _adds(one) for one in context.bodies.nodes(home)):
            yield node, home.node, home


def _names(context: Context, statement: ast.AST, home: Scope) -> tuple[str, str]:
    """Return the names of the sums of the loss and of the gradients; the first is empty if it is not known.

    Args:
        context: the analysis.
        statement: what adds to the sums in a loop, or takes them of the carry of a scan.
        home: the scope of the loop, or of the body of the scan.
    """
    if not isinstance(statement, ast.Assign):
        return "", ""
    target = statement.targets[0]
    if isinstance(target, ast.Name):
        return "", target.id
    pair = target.elts[0] if isinstance(target, ast.Tuple) else None
    pair = target if isinstance(pair, ast.Name) else pair  # of a fori_loop
    names = [last_word(one) for one in pair.elts] if isinstance(pair, ast.Tuple) else []
    parts = _returned(context, home, len(names))
    sums = [name for name, part in zip(names, parts, strict=False) if _adds(part)]
    totals = [name for name, part in zip(names, parts, strict=False) if _is_sum(part)]
    if len(sums) == 1 and all(names):
        others = totals or [name for name in names if name not in sums]
        return (others[0], sums[0]) if totals or len(others) == 1 else ("", "")
    return (names[0], names[1]) if len(names) == 2 and all(names) and not sums else ("", "")


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _returned(context: Context, home: Scope, count: int) -> list[ast.expr]:
    """Return the parts of the carry that the body of a loop gives; nothing if it has another number of them."""
    formula = formula_of(context, home.function) if home.function is not None else None
    while isinstance(formula, ast.Tuple) and formula.elts and len(formula.elts) != count:
        formula = written(context, formula.elts[0], home)
    if not isinstance(formula, ast.Tuple) or not formula.elts:
        return []
    inner = written(context, formula.elts[0], home)
    if isinstance(inner, ast.Tuple) and len(inner.elts) == count:  # of a scan, beside its output
        formula = inner
    return [written(context, one, home) for one in formula.elts]


def _of_means(context: Context, place: ast.AST, scope: Scope) -> bool:
    """Say whether the gradients of a body are those of a loss that is a mean."""
    for node in ast.walk(place):
        value = scope.module.values.get(node) if isinstance(node, ast.Call) else None
        found = gradient(context.flow, context.flow.here(value, scope)) if value is not None else None
        if found is None:
            continue
        functions = [one.function for one, _ in context.flow.calls.invoked(found.call) if one.gradient]
        formula = formula_of(context, functions[0]) if len(functions) == 1 else None
        return formula is not None and is_mean(context, first_element(formula), functions[0].scope)
    return False


def _divided_before(context: Context, place: ast.AST, scope: Scope) -> bool:
    """Say whether the gradients of a part are divided, or scaled, before they are added to the others."""
    sums = [one for one in ast.walk(place) if isinstance(one, ast.expr) and _adds(one)]
    names = {one.id for add in sums for one in ast.walk(add) if isinstance(one, ast.Name)}
    return any(_used_divided(context, name, scope, add) for add in sums for name in names)


def _divided(context: Context, total: str, scope: Scope, place: ast.AST) -> bool:
    """Say whether the sum of the losses is divided behind the loop, where its name is known."""
    if total:
        return _used_divided(context, total, scope, place)
    added = {last_word(n.target) for n in ast.walk(place) if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)}
    return any(_used_divided(context, one, scope, place) for one in added if "loss" in one or "total" in one)


def _used_divided(context: Context, name: str, scope: Scope, place: ast.AST | None) -> bool:
    """Say whether a variable is divided or scaled, by itself or leaf by leaf, outside of a loop."""
    above = around(context, scope)
    for read in context.bodies.reads(scope, name):
        if place is not None and inside(read, place):
            continue
        node = above.get(read)
        while isinstance(node, ast.Tuple | ast.Starred):
            node = above.get(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
            return True
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            return True
        if isinstance(node, ast.Call) and last_word(node.func) in {*_MAPS, "tree_scale", "tree_scalar_mul", "tree_div"}:
            return True
        if isinstance(node, ast.Call) and last_word(node.func) in {"divide", "multiply", "true_divide"}:
            return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp


def loss_fn(w, x):
    return jnp.mean((x @ w) ** 2)


def accumulated(w, parts):
    def body(carry, x):
        total, sums = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, x)
        return (total + loss, jax.tree.map(jnp.add, sums, grads)), None

    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros_like(w)), parts)
    return loss / len(parts), grads
"""

RULE = lint_rule(
    "NNX692",
    "undivided-gradients",
    "gradients of the parts of a batch that are added up, beside a loss that is divided by the number of parts",
    why="""\
The mean loss of a batch is the mean of those of its equal parts, and so is its gradient. Where the losses are added up
and divided, and the gradients are added up alone, the gradients belong to another loss: the steps are as many times as
long as there are parts, and a learning rate that was found without parts diverges.
""",
    source="github.com/openai/guided-diffusion/issues/111; measured: the gradients are as many times as large",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("len(parts), grads", "len(parts), grads / len(parts)"),),
)
