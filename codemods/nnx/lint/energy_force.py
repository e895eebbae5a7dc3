"""Steps of a velocity along the gradient of an energy, whose force is minus that; part of NNX551."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Indexed
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.places import formula_of, in_test, written
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.lint.templates import Term, terms
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item

_ENERGY = pattern(r"(^|_)(energy|potential|hamiltonian)(_|$)")
_OTHER = pattern(
    r"neg|minus|kinetic|log|prob|(^|_)(action|vector|free|ebm|model|net|flow|dual)(_|$)|lagrang|score|reward"
)
# what makes a potential one of chance, whose sign is another matter, or one of gravity, which often stands without it
_CHANCE = pattern(r"log_?(p|prob|pdf|lik|dens|post|prior|target)|logpdf|likelihood|posterior|prior|density|score")
_GRAVITY = pattern(r"grav|(^|_)(g|gm|mu|j2)\d?(_|$)")
_VELOCITY = pattern(r"(^|_)(v|vel|vels|velocity|velocities|p|mom|momenta|momentum|half)(_|\d|$)|^v(el)?_?half$")
_STEP = pattern(r"^(half_?)?(dt|delta_?t|eps|epsilon|step|step_?size|time_?step|tau|h)(_?half)?$")
_MASS = pattern(r"^(inv_?)?m(ass(es)?)?(_?inv)?$")


def added_energies(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield where a velocity gets the gradient of an energy added, times a step, with the name of the energy.

    Args:
        context: the analysis.
    """
    modules = context.project.modules
    words = (b"energy", b"potential", b"hamiltonian")
    if not any(m.source.mentions(b"grad") for m in modules) or not any(
        m.source.mentions(word) for m in modules for word in words
    ):
        return
    for module in context.asked.modules:
        if not module.source.mentions(b"jax"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if in_test(scope):
                continue
            told: list[ast.AST] = []
            for node in context.bodies.nodes(scope):
                made = _sum(node)
                if made is None or any(inside(node, one) for one in told):
                    continue
                energy = _energy(context, scope, node, made)
                if energy:
                    told.append(node)
                    yield scope, node, energy


def _sum(node: ast.AST) -> tuple[list[Term], ast.expr] | None:
    """Return the terms that are added to a velocity, and that."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return (terms(node.value), node.target) if _is_velocity(node.target) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return None
    every = terms(node)
    plain = [
        one
        for one in every
        if one.number == 1 and len(one.factors) == 1 and one.factors[0].power == 1 and _is_velocity(one.factors[0].node)
    ]
    return ([one for one in every if one is not plain[0]], plain[0].factors[0].node) if len(plain) == 1 else None


def _is_velocity(node: ast.expr) -> bool:
    name = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    return bool(_VELOCITY.search(name if isinstance(name, str) else _name(node)))


def _name(node: ast.expr) -> str:
    return last_word(node).lower() if isinstance(node, ast.Name | ast.Attribute) else ""


def _energy(context: Context, scope: Scope, node: ast.AST, made: tuple[list[Term], ast.expr]) -> str:
    """Return the energy whose gradient one of some terms adds; empty if there is none, or something turns the sign."""
    added, velocity = made
    for term in added:
        steps = [one for one in term.factors if _STEP.search(_name(one.node)) and one.power > 0]
        others = [one for one in term.factors if one not in steps and not _MASS.search(_name(one.node))]
        if any(terms(written(context, one.node, scope))[0].number < 0 for one in steps):
            continue  # back in time
        if term.number <= 0 or not steps or len(others) != 1 or others[0].power != 1:
            continue
        energy = _gradient_of(context, scope, others[0].node, velocity)
        if energy and not _taken_off(context, scope, node, velocity):
            return energy
    return ""


def _gradient_of(context: Context, scope: Scope, node: ast.expr, velocity: ast.expr, depth: int = 0) -> str:
    """Return the energy of which an expression is the gradient, over a mass perhaps, or a sum with that."""
    value = scope.module.values.get(node)
    found = gradient(context.flow, context.flow.here(value, scope)) if value is not None else None
    if found is not None and found.node is not None and _as_it_is(context, scope, node):
        if ast.unparse(found.node) == ast.unparse(velocity):
            return ""
        functions = [one.function for one, _ in context.flow.calls.invoked(found.call) if one.gradient]
        return functions[0].name if len(functions) == 1 and _is_energy(context, functions[0]) else ""
    made = written(context, node, scope)
    if depth > 2 or not isinstance(made, ast.BinOp):
        return ""
    for term in terms(made):
        others = [one for one in term.factors if not _MASS.search(_name(one.node))]
        if term.number > 0 and len(others) == 1 and others[0].power == 1 and others[0].node is not node:
            if energy := _gradient_of(context, scope, others[0].node, velocity, depth + 1):
                return energy
    return ""


def _as_it_is(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is what a gradient function gives, or the second part of that."""
    value = scope.module.values.get(node)
    assert value is not None
    bound = context.flow.resolve(context.flow.here(value, scope))
    while isinstance(bound.value, Item | Indexed):
        if isinstance(bound.value, Item) and bound.value.index not in {Const(1), Const(0)}:
            return False
        bound = context.flow.follow(bound, bound.value.base)
    return isinstance(bound.value, Call) and not context.flow.calls.callee_name(bound)


def _is_energy(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is an energy by its name, with no minus before what it gives and nothing of chance."""
    name, words = function.name.lower(), [word.lower() for word in names_in(function.node)]
    if not _ENERGY.search(name) or _OTHER.search(name) or any(map(_CHANCE.search, words)):
        return False
    nodes = list(ast.walk(function.node))
    falling = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and constant(n.right) is None for n in nodes)
    if falling and (not name.endswith("energy") or any(map(_GRAVITY.search, [name, *words]))):
        return False  # a potential that is given without its sign: `mu / r`
    formula = formula_of(context, function)
    return formula is not None and _positive(context, function.scope, formula)


def _positive(context: Context, scope: Scope, node: ast.expr, depth: int = 0) -> bool:
    """Say whether no term of an expression, nor of the names in it, is taken off or turned."""
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and _positive(context, scope, node.elts[0], depth)
    for term in terms(node):
        if term.number < 0:
            return False
        for factor in term.factors:
            made = written(context, factor.node, scope)
            if isinstance(made, ast.Call) and last_word(made.func) in {"sum", "mean"}:
                made = array_of(made) or made
            if isinstance(made, ast.Call) and last_word(made.func) == "negative":
                return False
            if made is not factor.node and factor.power == 1 and depth < _DEEP:
                if not _positive(context, scope, made, depth + 1):
                    return False
    return True


_DEEP = 5  # how many names and sums deep a minus is looked for


def _taken_off(context: Context, scope: Scope, node: ast.AST, velocity: ast.expr) -> bool:
    """Say whether something is moved against the velocity elsewhere in the body, as by an optimizer with momentum."""
    words = names_in(velocity)
    statement = next(
        (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign | ast.AnnAssign) and inside(node, n)), None
    )
    if isinstance(statement, ast.Assign):
        words = words.union(*(names_in(one) for one in statement.targets))
    own = [
        one.value
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and _is_velocity(one.targets[0])
    ]  # what slows it down
    for one in context.bodies.nodes(scope):
        if not isinstance(one, ast.BinOp | ast.AugAssign) or not isinstance(one.op, ast.Sub):
            continue
        off = one.right if isinstance(one, ast.BinOp) else one.value
        if names_in(off) & words and not inside(one, node) and not any(inside(one, made) for made in own):
            return True
    return False
