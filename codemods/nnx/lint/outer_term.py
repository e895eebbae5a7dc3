"""NNX567: a term of a loss that is computed of the model around it instead of the loss's own argument."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.beside_loss import bindings_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.ignored_model import differentiated
from codemods.nnx.lint.places import in_test, received
from codemods.nnx.lint.syntax import argument, operands, other_term, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Free, Param

_STOPPED = frozenset({"stop_gradient"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    told: set[FunctionFacts] = set()
    for function, param, calls in _losses(context):
        outer = _outer(function, param, calls) if function not in told else None
        if outer is None:
            continue
        for term, read in _terms(function, param, *outer):
            told.add(function)
            yield finding(
                RULE.code,
                function.scope,
                term,
                f"this term of the loss is of `{ast.unparse(read)}` and not of `{param.name}`, for which the gradient "
                "is taken: it has none",
                f"compute it of `{param.name}`",
            )


def _losses(context: Context) -> Iterator[tuple[FunctionFacts, Param, list[CallEvent]]]:
    """Yield the losses, with the argument of which the gradient is taken, and the calls that ask for it."""
    for root in context.traced.gradients:
        if not root.partial and root.function.scope.module in context.asked and not in_test(root.scope):
            param = differentiated(root)
            if param is not None:
                yield root.function, param, context.traced.calls_of(root)


def _outer(function: FunctionFacts, param: Param, calls: list[CallEvent]) -> tuple[str, Scope] | None:
    """Return the variable or attribute of which all calls take the gradient, and the scope in which it stands."""
    place = list(function.params).index(param.name) - received(function)
    found = set()
    for event in calls:
        node = argument(event.node, place, param.name)
        if event.value.starred or not isinstance(node, ast.Name | ast.Attribute):
            return None
        value = event.scope.module.values.get(root_of(node))
        found.add((ast.unparse(node), value.scope if isinstance(value, Free) else event.scope))
    return found.pop() if len(found) == 1 else None


def _terms(function: FunctionFacts, param: Param, text: str, scope: Scope) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the terms of a loss that read a variable around it and not its argument, with what they read.

    Args:
        function: the loss.
        param: its argument.
        text: the variable or attribute that its calls give for this argument.
        scope: where they stand.
    """
    if isinstance(function.node, ast.Lambda):
        given = [function.node.body]
    else:
        returns = [n for n in ast.walk(function.node) if isinstance(n, ast.Return)]
        given = [n.value for n in returns if n.value is not None]
    if len(given) != 1 or text.split(".")[0] == param.name:
        return
    bindings = bindings_of(function)
    growing = [name for node in ast.walk(function.node) if (name := _grown(node))]
    whole = given[0].elts[0] if isinstance(given[0], ast.Tuple) else given[0]
    summed = list(_summed(whole, bindings, Counter(growing), 0))
    read = [_read(term, bindings) for term in summed]
    if not any(_of(nodes, param) for nodes in read):
        return
    for term, nodes in zip(summed, read, strict=True):
        if not _of(nodes, param):
            found = next((node for node in nodes if _is_outer(function, node, text, scope)), None)
            if isinstance(found, ast.expr):
                yield term, found


def _is_outer(function: FunctionFacts, node: ast.AST, text: str, scope: Scope) -> bool:
    """Say whether a loss reads the model around it, or what was made of that alone before the loss."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    value = function.scope.module.values.get(root_of(node))
    if isinstance(value, Param) and value is function.self_param:
        outer = scope.function
        same = outer is not None and outer.owner is function.owner and outer.self_param is not None
        return same and ast.unparse(node) == text and text.startswith(f"{value.name}.")
    if not isinstance(value, Free) or value.scope is not scope:
        return False
    if ast.unparse(node) == text:
        return True
    made = scope.bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    call = getattr(made[0], "node", None) if len(made) == 1 else None
    if not isinstance(call, ast.Call) or not call.args or call.keywords or ast.unparse(call.args[0]) != text:
        return False
    return all(last_word(root_of(one)) == "nnx" for one in call.args[1:])


def _grown(node: ast.AST) -> str:
    """Return the variable to which a statement adds: ``loss += x`` or ``loss = loss + x``."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.target.id
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and other_term(node.value, target.id) is not None:
        return target.id
    return ""


def _summed(node: ast.expr, bindings: dict[str, list[ast.AST]], grown: Counter[str], depth: int) -> Iterator[ast.expr]:
    """Yield the terms of a sum, also of one that a variable holds, or to which statements add.

    Args:
        node: the sum.
        bindings: what the variables are made of.
        grown: how often a statement adds to a variable.
        depth: how many variables lead to the sum.
    """
    for term in operands(node, ast.Add):
        made = bindings.get(term.id, []) if isinstance(term, ast.Name) else []
        values = [one for one in made if isinstance(one, ast.expr)]
        once = isinstance(term, ast.Name) and 0 < len(made) == len(values) == 1 + grown[term.id]
        if once and depth < _DEPTH and (len(values) > 1 or isinstance(values[0], ast.BinOp | ast.Name)):
            for value in values:
                added = other_term(value, term.id) if isinstance(term, ast.Name) else None
                yield from _summed(added or value, bindings, grown, depth + 1)
        else:
            yield term


def _read(term: ast.AST, bindings: dict[str, list[ast.AST]]) -> list[ast.AST]:
    """Return the nodes of which a value is made, also through variables, without those that get no gradient."""
    found: list[ast.AST] = []
    pending, seen = [term], set[str]()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and last_word(node.func) in _STOPPED:
            continue
        found.append(node)
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            pending += bindings.get(node.id, ())
        pending += ast.iter_child_nodes(node)
    return found


def _of(nodes: list[ast.AST], param: Param) -> bool:
    return any(isinstance(node, ast.Name) and node.id == param.name for node in nodes)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


def squares(model):
    return sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(model, nnx.Param)))


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(m):
        return jnp.mean((m(x) - y) ** 2) + 0.01 * squares(model)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss
"""

RULE = lint_rule(
    "NNX567",
    "term-of-outer-model",
    "a penalty in a loss that is computed of the model around it, and so has no gradient",
    why="""\
A gradient is taken with respect to the argument of the loss. What the loss computes of the same model under its outer
name is a constant to it: the term is seen in the value of the loss, and changes nothing in training, whatever its
weight is. So it is with `state.params` in a loss of `params` too.
""",
    source="reviews of training scripts; measured: the norm of the weights is the same for every weight of the penalty",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("squares(model)\n\n", "squares(m)\n\n"),),
)
