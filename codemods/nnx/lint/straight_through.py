"""Straight-through estimators that let no gradient through; part of NNX884."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Ref, Sequence, Unknown, Value

_STOP = "jax.lax.stop_gradient"
_MOST = 8  # terms of a sum
_DEPTH = 4  # through how many variables a term is followed
_VALUES = 200  # so many that it is computed from


class _Term(NamedTuple):
    """One term of a sum.

    Attributes:
        node: the term, without its sign.
        sign: 1 or -1.
        stopped: whether ``stop_gradient`` stands around it.
    """

    node: ast.expr
    sign: int
    stopped: bool

    @property
    def text(self) -> str:
        """What is the same for the same term."""
        return ast.unparse(self.node)


def blocked(context: Context, flat: Callable[[ast.expr, Scope], bool]) -> Iterator[tuple[Scope, ast.expr, str, str]]:
    """Yield the sums ``x + q - x`` that are equal to ``q`` and pass no gradient on, with what is wrong and the way out.

    Args:
        context: the analysis.
        flat: says whether an expression of a function depends on something, and on all of it in steps only.
    """
    inner: set[ast.AST] = set()
    found: list[tuple[Scope, ast.expr, list[_Term]]] = []
    places = [place for place in each(context, ast.BinOp, ast.Call) if place[0].function is not None]
    operands = {part for _, node in places if _is_sum(node) for part in (node.left, node.right)}
    for scope, node in places:
        if node in operands or in_test(scope):
            continue
        stops = scope.module.source.mentions(b"stop_gradient")
        if isinstance(node, ast.Call) and not (stops and len(node.args) == 1 and not node.keywords):
            continue
        if isinstance(node, ast.Call) and _aimed_at(context, scope, node):
            continue
        terms = _terms(context, scope, node, inner)
        if len(terms) > 2:
            found.append((scope, node, terms))
    for scope, node, terms in found:
        if node in inner:
            continue
        told = _wrong(context, scope, terms, flat)
        if told is not None:
            yield (scope, node, *told)


_TARGETS = frozenset({"labels", "label", "targets", "target", "y_true"})
_LOSS = pattern(r"(^|_)(loss|l2|mse|mae|huber|entropy|error|divergence)(_|$)")


def _aimed_at(context: Context, scope: Scope, stop: ast.Call) -> bool:
    """Say whether what is stopped is a variable that others read with its gradient, or the target of a loss: it may be
    an estimator, and is meant to give its value alone here."""
    name = stop.args[0]
    if not isinstance(name, ast.Name) or not _stops(context, scope, stop):
        return False
    nodes = context.bodies.nodes(scope)
    within = {n for one in nodes if isinstance(one, ast.Call) and _stops(context, scope, one) for n in ast.walk(one)}
    reads = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name.id]
    if any(isinstance(n.ctx, ast.Load) and n not in within for n in reads):
        return True
    return any(
        stop in one.args[1:] or any(k.value is stop and (k.arg or "") in _TARGETS for k in one.keywords)
        for one in nodes
        if isinstance(one, ast.Call) and _LOSS.search(last_word(one.func))
    )


def cancelled(context: Context) -> Iterator[tuple[Scope, ast.expr, str, str]]:
    """Yield the losses of the difference between ``x`` and ``x + stop_gradient(q - x)``, with what is wrong and the way
    out: the gradients of the two are the same.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named("square", "mean", "sum", "norm", "abs", "l2_loss", "squared_error", "mse_loss"):
        scope = event.scope
        if scope.function is None or not scope.module.source.mentions(b"stop_gradient") or in_test(scope):
            continue
        if not _lost(event) or any(event.node in call.args for call in _stopping(context, scope)):
            continue
        pair = _compared(context, event)
        for estimate, other in (pair, pair[::-1]) if pair is not None else ():
            stopped = isinstance(other, ast.Call) and len(other.args) == 1 and _stops(context, scope, other)
            x = other.args[0] if isinstance(other, ast.Call) and stopped else other
            q = _put_through(context, scope, estimate, x)
            if not q or beside_loss(context, scope.function, event.node):
                continue
            text, name = ast.unparse(x), ast.unparse(estimate)
            what = f"`{name}` is `{text}` with another value: the gradients of the two cancel, and this loss has none"
            way = f"compare `{text}` with what was put into it: {text} - jax.lax.stop_gradient({q})"
            if stopped:
                what = (
                    f"in `{name}` what was put into `{text}` stands under stop_gradient: the loss moves `{text}` alone"
                )
                way = "take the loss of the codes before the gradient is put through"
            yield scope, event.node, what, way
            break


def _stopping(context: Context, scope: Scope) -> list[ast.Call]:
    calls = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Call))
    return [call for call in calls if _stops(context, scope, call)]


def _lost(event: CallEvent) -> bool:
    """Say whether a call is a part of what is called a loss: a variable, or the function that gives it."""
    statement, function = event.statement, event.scope.function
    if isinstance(statement, ast.Return):
        return function is not None and _LOSS.search(function.name) is not None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(one, ast.expr) and _CALLED.search(last_word(one)) is not None for one in targets)


_CALLED = pattern(r"loss|commit")


def _compared(context: Context, event: CallEvent) -> tuple[ast.expr, ast.expr] | None:
    """Return the two that a distance is taken of, as in ``jnp.mean((x - y) ** 2)`` or ``optax.l2_loss(x, y)``."""
    call = event.node
    word = last_word(call.func)
    if word in {"l2_loss", "squared_error", "mse_loss"}:
        return (call.args[0], call.args[1]) if len(call.args) == 2 else None
    node = call.args[0] if call.args else getattr(call.func, "value", None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        node = node.left
    elif word in {"mean", "sum"}:
        return None  # of a square, which is another call
    node = written(context, node, event.scope) if isinstance(node, ast.Name) else node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    return None


def _put_through(context: Context, scope: Scope, estimate: ast.expr, x: ast.expr) -> str:
    """Return ``q`` of an expression that is ``x + stop_gradient(q - x)``, by a variable too; empty if it is none."""
    made = written(context, estimate, scope)
    if not _is_sum(made) or not isinstance(x, ast.Name | ast.Attribute | ast.Subscript):
        return ""
    terms, text = _terms(context, scope, made, set()), ast.unparse(x)
    own = sorted((one.sign, one.stopped) for one in terms if one.text == text)
    rest = [one for one in terms if one.text != text]
    if own != [(-1, True), (1, False)] or len(rest) != 1 or not rest[0].stopped or rest[0].sign < 0:
        return ""
    return rest[0].text if not isinstance(x, ast.Name) or _unchanged(context, scope, x, made) else ""


def _unchanged(context: Context, scope: Scope, x: ast.Name, made: ast.expr) -> bool:
    """Say whether a variable is not bound between an expression that reads it and another one."""
    names = context.bodies.names(scope).get(x.id, ())
    return not any(isinstance(n.ctx, ast.Store) and made.lineno <= n.lineno < x.lineno for n in names)


def _terms(context: Context, scope: Scope, sum_: ast.expr, inner: set[ast.AST]) -> list[_Term]:
    """Return the terms of a sum; those within ``stop_gradient`` too, and of a variable that stands there for a sum.

    There are none of a sum that is longer than one of these ever is.
    """
    found: list[_Term] = []
    todo: list[tuple[ast.expr, int, bool, bool]] = [(sum_, 1, False, False)]
    while todo:
        if len(todo) + len(found) > _MOST:
            return []
        node, sign, stopped, bound = todo.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            inner |= {node.left, node.right}
            right = -sign if isinstance(node.op, ast.Sub) else sign
            todo += [(node.right, right, stopped, bound), (node.left, sign, stopped, bound)]
        elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and _stops(context, scope, node):
            inner.add(node.args[0])
            todo.append((node.args[0], sign, True, bound))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner.add(node.operand)
            todo.append((node.operand, -sign, stopped, bound))
        elif stopped and not bound and isinstance(node, ast.Name) and _is_sum(made := bound_once(context, scope, node)):
            assert made is not None
            inner.add(made)
            todo.append((made, sign, stopped, True))
        else:
            found.append(_Term(node, sign, stopped))
    return found


def _is_sum(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _stops(context: Context, scope: Scope, call: ast.Call) -> bool:
    """Say whether a call is one of ``stop_gradient``, by whatever name."""
    value = scope.module.values.get(call.func)
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, scope)).value
    return isinstance(found, Ref) and found.name == _STOP


def _wrong(
    context: Context, scope: Scope, terms: list[_Term], flat: Callable[[ast.expr, Scope], bool]
) -> tuple[str, str] | None:
    """Return what is wrong with a sum of which one term cancels another; None if nothing is."""
    same = next((a for a in terms for b in terms if a.sign > 0 > b.sign and a.text == b.text and _variable(a)), None)
    if same is None:
        return _doubled(context, scope, terms, flat)
    equal = [one for one in terms if one.text == same.text]
    rest = [one for one in terms if one.text != same.text]
    if sum(one.sign for one in equal) != 0 or len(rest) != 1:
        return None
    other = rest[0]
    passed = sum(one.sign for one in equal if not one.stopped)
    stopped = any(one.stopped for one in terms)
    x, q = same.text, other.text
    if passed == 0 and (_reaches(context, scope, other.node, x, 0) or _computed(scope, other.node, same.node)):
        if other.stopped or flat(other.node, scope):
            what = "stop_gradient stands around all of it" if all(one.stopped for one in terms) else "nothing is left"
            return (
                f"this is `{q}`, and no gradient passes to `{x}`: {what if stopped else 'that of steps is zero'}",
                f"let the gradient of `{x}` pass: {x} + jax.lax.stop_gradient({q} - {x})",
            )
    if (
        passed == 1
        and stopped
        and other.stopped
        and (_reaches(context, scope, same.node, q, 0) or _computed(scope, same.node, other.node))
    ):
        if flat(same.node, scope):
            return (
                f"this is `{q}` with the gradient of `{x}`, which is zero, as that of all that goes in steps",
                f"exchange the two: {q} + jax.lax.stop_gradient({x} - {q})",
            )
        looked_up = _looked_up(context, scope, same.node, 0) or _code_of(context, scope, same.node)
        if looked_up and _learned_beside(context, scope, x, q):
            return (
                f"the two are the wrong way round: the value of this is `{q}`, of which `{x}` is the nearest code",
                f"exchange them: {q} + jax.lax.stop_gradient({x} - {q})",
            )
    return None


def _learned_beside(context: Context, scope: Scope, *texts: str) -> bool:
    """Say whether a function stops the gradients of the codes or the inputs alone, as the losses of the codes do."""
    return any(ast.unparse(one.args[0]) in texts for one in _stopping(context, scope) if one.args)


def _code_of(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether a variable is what a function of the project looks up at the place of a least or greatest one."""
    value = scope.module.values.get(node)
    while isinstance(value, Item):
        value = value.base
    if not isinstance(value, Call):
        return False
    reached = [callee for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    if len(reached) != 1 or reached[0].gradient:
        return False
    home = reached[0].function.scope
    nodes = context.bodies.nodes(home)
    return any(isinstance(one, ast.Subscript) and _looked_up(context, home, one.slice, 0) for one in nodes)


def _doubled(
    context: Context, scope: Scope, terms: list[_Term], flat: Callable[[ast.expr, Scope], bool]
) -> tuple[str, str] | None:
    """Return what is wrong with ``x + stop_gradient(x - q)``, which is ``2 * x - q``; None for other sums."""
    if len(terms) != 3 or sorted(one.sign for one in terms) != [-1, 1, 1]:
        return None
    rest = next(one for one in terms if one.sign < 0)
    passed, stopped = sorted((one for one in terms if one.sign > 0), key=lambda one: one.stopped)
    if passed.text != stopped.text or passed.stopped or not (stopped.stopped and rest.stopped and _variable(passed)):
        return None
    for x, q in ((passed, rest), (rest, passed)):
        made = _reaches(context, scope, q.node, x.text, 0) or _computed(scope, q.node, x.node)
        if made and (flat(q.node, scope) or (q is rest and _looked_up(context, scope, q.node, 0))):
            return (
                f"the terms under stop_gradient are the wrong way round: this is twice `{passed.text}` less "
                f"`{rest.text}`, and not `{q.text}`",
                f"add what is to be put through less what is there: "
                f"{x.text} + jax.lax.stop_gradient({q.text} - {x.text})",
            )
    return None


def _looked_up(context: Context, scope: Scope, node: ast.expr, depth: int) -> bool:
    """Say whether an expression goes by the place of a least or greatest one: ``codebook[jnp.argmin(distances)]``."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and last_word(part.func) in {"argmin", "argmax"}:
            return True
        bound = bound_once(context, scope, part) if isinstance(part, ast.Name) and depth < _DEPTH else None
        if bound is not None and _looked_up(context, scope, bound, depth + 1):
            return True
    return False


def _variable(term: _Term) -> bool:
    return isinstance(term.node, ast.Name | ast.Attribute | ast.Subscript)


def _reaches(context: Context, scope: Scope, node: ast.expr, text: str, depth: int) -> bool:
    """Say whether an expression is made of another one, through variables of the function too."""
    for part in ast.walk(node):
        if not isinstance(part, ast.expr):
            continue
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and ast.unparse(part) == text:
            return True
        if isinstance(part, ast.Name) and depth < _DEPTH:
            bound = bound_once(context, scope, part)
            if bound is not None and _reaches(context, scope, bound, text, depth + 1):
                return True
    return False


def _computed(scope: Scope, node: ast.expr, of: ast.expr) -> bool:
    """Say whether a value is computed from another one, also where its variable gets another value behind it."""
    values = scope.module.values
    wanted, first = values.get(of), values.get(node)
    if wanted is None or first is None or wanted is first:
        return False
    seen: set[Value] = set()
    todo: list[Value] = [first]
    while todo and len(seen) < _VALUES:
        value = todo.pop()
        if value is wanted:
            return True
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Call):
            todo += list(value.given)
            todo += [value.callee.base] if isinstance(value.callee, Attr) else []
        elif isinstance(value, Item):
            todo += [value.base, value.index]
        elif isinstance(value, Attr):
            todo.append(value.base)
        elif isinstance(value, Sequence):
            todo += value.items
        elif isinstance(value, Unknown) and isinstance(value.node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Slice):
            todo += [values[part] for part in ast.iter_child_nodes(value.node) if part in values]
    return False
