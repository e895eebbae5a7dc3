"""Perplexities of batches that one function gives among its metrics, and that its caller averages; part of NNX963."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import callers_of, in_test, written
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_KEY = pattern(r"^(\w+_)?(ppl|perplexity)(_\w+)?$", re.I)
_MEANS = frozenset({"mean", "fmean", "average", "nanmean"})
_TREES = frozenset({"map", "tree_map", "tree_multimap"})


def averaged_metrics(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the exponentials under the name of a perplexity that loops over batches collect to take their mean.

    Args:
        context: the analysis.
    """
    for module in context.asked.modules:
        mentions = module.source.mentions
        if not mentions(b"exp(") or not (mentions(b"ppl") or mentions(b"erplexity")):
            continue
        for function in module.functions:
            for key, node in _entries(context, function):
                if any(_averages(context, caller, key) for caller in _callers(context, function)):
                    yield function.scope, node, key


def _callers(context: Context, function: FunctionFacts) -> Iterator[CallEvent]:
    """Yield the calls of a function, and of those that give just what it gives."""
    for caller in callers_of(context, function):
        outer = caller.scope.function
        if outer is not None and _gives(context, outer, caller):
            yield from callers_of(context, outer)
        else:
            yield caller


def _gives(context: Context, function: FunctionFacts, call: CallEvent) -> bool:
    """Say whether a function gives what one call in it gives, and nothing else."""
    given = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return) and n.value is not None]
    return len(given) == 1 and function.scope.module.values.get(given[0]) is call.value


def _entries(context: Context, function: FunctionFacts) -> Iterator[tuple[str, ast.expr]]:
    """Yield the perplexities in a dict that a function makes, with their keys."""
    for node in context.bodies.nodes(function.scope):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            pairs = [(node.targets[0].slice, node.value)]
        for key, value in pairs:
            name = constant(key)
            if isinstance(name, str) and _KEY.search(name) and _exponential(written(context, value, function.scope)):
                yield name, value


def _exponential(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_word(node.func) == "exp" and len(node.args) == 1


def _averages(context: Context, caller: CallEvent, key: str) -> bool:
    """Say whether a loop collects what a call gives for each batch, and code behind the loop takes the mean."""
    if not any(isinstance(loop, ast.For | ast.While) for loop in caller.loops) or in_test(caller.scope):
        return False
    nodes = list(context.bodies.nodes(caller.scope))
    if any(last_word(n.func) == "exp" for n in nodes if isinstance(n, ast.Call)):
        return False  # which may be that of the mean
    statement = caller.statement
    lists = set[str]()
    if isinstance(statement, ast.Assign) and statement.value is caller.node:
        target = statement.targets[0]
        metrics = target.elts[-1] if isinstance(target, ast.Tuple) else target
        if not isinstance(metrics, ast.Name):
            return False
        lists = _collected(nodes, metrics.id, key, caller.loops[-1])
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        lists = {_list_of(statement.value)} - {""} if caller.node in statement.value.args else set()
    return bool(lists) and any(_mean_of(node, lists, key) for node in nodes)


def _list_of(call: ast.Call) -> str:
    """Return the variable of ``history.append(...)`` and ``history[name].append(...)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
        return ""
    base = call.func.value
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.id if isinstance(base, ast.Name) else ""


def _collected(nodes: list[ast.AST], metrics: str, key: str, loop: ast.AST) -> set[str]:
    """Return the lists, or dicts of lists, to which a loop adds metrics, or all of them or a perplexity one by one."""
    inner = [n for n in nodes if inside(n, loop)]
    found = set[str]()
    parts = {metrics}
    for node in inner:
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and last_word(node.iter.func) == "items":
            if metrics in names_in(node.iter):
                parts |= names_in(node.target)
    for node in inner:
        if isinstance(node, ast.Call) and len(node.args) == 1 and names_in(node.args[0]) & parts:
            chosen = {constant(n.slice) for n in ast.walk(node.args[0]) if isinstance(n, ast.Subscript)}
            if not any(isinstance(one, str) and one != key for one in chosen):
                found.add(_list_of(node))
    return found - {""}


def _mean_of(node: ast.AST, lists: set[str], key: str) -> bool:
    """Say whether an expression takes the mean of all that lists hold, or of the perplexities in them."""
    if isinstance(node, ast.DictComp):
        source = {name for one in node.generators for name in names_in(one.iter)}
        return bool((source | names_in(node.value)) & lists) and _has_mean(node.value)
    if not isinstance(node, ast.Call):
        return False
    if last_word(node.func) in _TREES and len(node.args) > 1:
        given = {name for one in node.args[1:] for name in names_in(one)}
        return bool(given & lists) and (_has_mean(node.args[0]) or last_word(node.args[0]) in _MEANS)
    if last_word(node.func) in _MEANS and node.args:
        keys = {constant(n.slice) for n in ast.walk(node.args[0]) if isinstance(n, ast.Subscript)}
        return bool(names_in(node.args[0]) & lists) and (key in keys)
    return False


def _has_mean(node: ast.AST) -> bool:
    """Say whether an expression takes a mean, or divides a sum by a number."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and last_word(one.func) in _MEANS:
            return True
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) and isinstance(one.left, ast.Call):
            if last_word(one.left.func) in {"sum", "fsum"}:
                return True
    return False
