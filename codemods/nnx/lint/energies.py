"""Energies of a step of Hamiltonian Monte Carlo that are not those of its momentum; part of NNX949."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_KINETIC = pattern(r"^(kinetic|ke$)", re.I)
_POTENTIAL = pattern(r"^(potential|pe$|u$|neg_?log|nll|energy|log_?(prob|density|post))", re.I)
_TOTAL = pattern(r"^(hamiltonian|total_energy|energy|joint\w*|log_joint)$", re.I)
_CALLED = pattern(r"^(h|e)(_|\d|$)|hamiltonian|energy|current|proposed", re.I)
_POSITION = pattern(r"^(q|x|theta|z|pos|position|params?)(_\w+|\d)?$", re.I)
_NORMAL = frozenset({"jax.random.normal", "numpy.random.normal", "numpy.random.randn"})


def wrong_energies(context: Context) -> Iterator[tuple[Scope, ast.AST, str, str]]:
    """Yield the kinetic energies of positions, and the energies of momenta that are no longer, with what is wrong.

    Args:
        context: the analysis.
    """
    modules = {m for m in context.asked.modules if m.source.mentions(b"kinetic") or m.source.mentions(b"normal")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if scope.module not in modules or scope.function is None or in_test(scope):
            continue
        if isinstance(node.op, ast.Add):
            for kinetic, potential in ((node.left, node.right), (node.right, node.left)):
                name = _of_position(context, kinetic, potential, scope)
                if name:
                    what = f"`{name}` is the position: the kinetic energy is that of the momentum"
                    yield scope, kinetic, what, "give it the momentum: kinetic(momentum)"
        elif isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name):
            for old, new in ((node.left, node.right), (node.right, node.left)):
                if _stale(context, node, old, new, scope):
                    what = f"`{old.id}` is the energy with the momentum of an earlier step, and another is drawn here"
                    yield scope, node, what, "compute it anew behind the draw: energy(position, momentum)"


def _of_position(context: Context, kinetic: ast.expr, potential: ast.expr, scope: Scope) -> str:
    """Return the position of which a sum has the kinetic and the potential energy, though a momentum was drawn."""
    if isinstance(potential, ast.UnaryOp) and isinstance(potential.op, ast.USub):
        potential = potential.operand  # -log_prob(q)
    if not isinstance(potential, ast.Call) or not _POTENTIAL.search(last_word(potential.func)):
        return ""
    moved = _moved(context, kinetic, scope)
    other = potential.args[0] if len(potential.args) == 1 and not potential.keywords else None
    if not isinstance(moved, ast.Name) or not isinstance(other, ast.Name) or moved.id != other.id:
        return ""
    known = _POSITION.search(moved.id) is not None and bool(_momenta(context, scope) - {moved.id})
    return moved.id if known else ""


def _moved(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return what a kinetic energy is that of: of a function called so, or ``0.5 * jnp.sum(p**2)`` in an energy."""
    if isinstance(node, ast.Call) and _KINETIC.search(last_word(node.func)):
        return node.args[0] if len(node.args) == 1 and not node.keywords else None
    parts = list(factors(node))
    if len(parts) != 2 or not any(constant(one) == 0.5 for one in parts):
        return None
    whole = next(one for one in parts if constant(one) != 0.5)
    target = around(context, scope).get(around(context, scope).get(node, node))
    named = last_word(target.targets[0]) if isinstance(target, ast.Assign) else ""
    if not isinstance(whole, ast.Call) or not whole.args or not _CALLED.search(named):
        return None
    given = whole.args[0]
    if last_word(whole.func) == "sum" and isinstance(given, ast.BinOp) and isinstance(given.op, ast.Pow):
        return given.left
    both = last_word(whole.func) in {"dot", "vdot", "inner"} and len(whole.args) == 2
    return given if both and ast.unparse(given) == ast.unparse(whole.args[1]) else None


def _momenta(context: Context, scope: Scope) -> set[str]:
    """Return the variables of a body that are drawn from a normal distribution and given to a function, as a momentum
    is to the steps of leapfrog."""
    found: set[str] = set()
    nodes = context.bodies.nodes(scope)
    for node in nodes:
        value = scope.module.values.get(node.value) if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name) or not isinstance(value, Call):
            continue
        if context.flow.calls.callee_name(context.flow.here(value, scope)) in _NORMAL:
            found.add(node.targets[0].id)
    given = {a.id for n in nodes if isinstance(n, ast.Call) for a in n.args if isinstance(a, ast.Name)}
    return found & given


def _stale(context: Context, node: ast.BinOp, old: ast.Name, new: ast.Name, scope: Scope) -> bool:
    """Say whether the new energy is that of a position and a momentum, and the old one came with the arguments."""
    made = bound_once(context, scope, new)
    if not isinstance(made, ast.Call) or len(made.args) != 2 or not _TOTAL.search(last_word(made.func)):
        return False
    assert scope.function is not None
    stores = context.bodies.stores(scope, old.id)
    early = [n for n in stores if n.lineno < node.lineno]
    given = old.id in scope.function.params and not early
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple) and isinstance(one.value, ast.Name):
            if len(early) == 1 and early[0] in one.targets[0].elts and one.value.id in scope.function.params:
                given = True
    return given and bool(_momenta(context, scope))
