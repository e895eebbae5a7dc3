"""NNX971: examples and their labels are put into two different random orders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.half_shuffled import half_shuffled
from codemods.nnx.lint.half_split import half_split
from codemods.nnx.lint.places import foreign, formula_of, in_test, passed, position, target_of, written
from codemods.nnx.lint.syntax import argument, constant, entry_word
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Param, Unknown, Value

_ORDERING = ("permutation", "shuffle", "permuted", "choice", "randint", "integers")
_PLACES = frozenset({"randint", "integers"})
_EXAMPLES = pattern(
    r"(?<![A-Za-z])(xs?|inputs?|images?|imgs?|features?|feats?|data|examples?|samples?|texts?|tokens?|points?|rows?|"
    r"sequences?|seqs?|sentences?|windows?|documents?|docs?|questions?|observations?|photos?|clips?|covariates?)"
    r"(?![A-Za-z])",
    re.I,
)
_LABELS = pattern(
    r"(?<![A-Za-z])(ys?|targets?|labels?|classes|outputs?|answers?|tags?|ratings?|outcomes?|responses?|actions?)"
    r"(?![A-Za-z])",
    re.I,
)
# what begins a generator of numbers anew
_SEEDING = frozenset({"seed", "set_state", "setstate", "default_rng", "RandomState", "Generator", "Random", "clone"})
# coordinates, each of which may well be put into an order of its own
_COORDINATES = frozenset(
    {"linspace", "arange", "uniform", "normal", "meshgrid", "geomspace", "logspace", "random", "rand"}
)


class _Order(NamedTuple):
    """An array that is put into a random order, or of which elements are drawn.

    Attributes:
        name: the array in that order.
        source: the array before.
        event: the call that draws the order.
        key: the key of ``jax.random``; None for a generator of NumPy or Python.
        owner: the generator, as it is written; empty for ``jax.random``.
    """

    name: ast.expr
    source: ast.expr
    event: CallEvent
    key: Value | None
    owner: str


def _check(context: Context) -> Iterator[Finding]:
    found: dict[int, tuple[list[ast.stmt], list[_Order]]] = {}  # by the block that they stand in
    for event in context.bodies.named(*_ORDERING):
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        for part, labels in half_shuffled(context, event, _belong):
            yield finding(
                RULE.code,
                event.scope,
                labels,
                f"`{ast.unparse(labels.value)}` is in its old order, and `{ast.unparse(part.value)}` in the drawn one: "
                "labels do not belong to their examples",
                "index both with the order",
                related=[(event.node, "drawn here")],
            )
        for part, rest in half_split(context, event):
            yield finding(
                RULE.code,
                event.scope,
                rest,
                f"this is in the old order, and `{ast.unparse(part)}` in the drawn one: most of what is held out is in "
                "both",
                f"cut the order in two, and index with both parts: {ast.unparse(part.value)}[order[n:]]",
                related=[(event.node, "drawn here")],
            )
        block = context.bodies.block(event.statement, event.statement, event.scope)
        if not block or _single(context, event):
            continue
        orders = _by_index(context, event, block)
        order = None if orders else _order(context, event)
        found.setdefault(id(block), (block, []))[1].extend(orders if order is None else [order])
    for event, one in _by_helpers(context):
        block = context.bodies.block(event.statement, event.statement, event.scope)
        if block:
            found.setdefault(id(block), (block, []))[1].append(one)
    for block, orders in found.values():
        for number, second in enumerate(orders):
            for first in orders[:number]:
                if _apart(context, first, second, block):
                    yield finding(
                        RULE.code,
                        second.event.scope,
                        second.event.node,
                        f"`{ast.unparse(second.source)}` gets another random order than "
                        f"`{ast.unparse(first.source)}` in line "
                        f"{first.event.node.lineno}: labels no longer belong to their examples",
                        "draw one order, and index both with it",
                        related=[(first.event.node, "put into an order here")],
                    )


def _single(context: Context, event: CallEvent) -> bool:
    """Say whether a generator of NumPy or Python draws one number alone: ``random.choice(range(n))``."""
    place, name = _SIZES.get(last_word(event.node.func)), context.flow.calls.name(event)
    if place is None or name.startswith("jax.random.") or event.value.starred:
        return False
    return name.startswith("random.") or argument(event.node, place, "size") is None


_SIZES = {"choice": 1, "randint": 2, "integers": 2}  # which argument says how many are drawn


def _by_index(context: Context, event: CallEvent, block: list[ast.stmt]) -> list[_Order]:
    """Return the only array that is indexed with an order which has a name: ``i = permutation(n); x = x[i]``."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
        return []
    name = statement.targets[0]
    jax = context.flow.calls.name(event).startswith("jax.random.")
    if not isinstance(name, ast.Name) or last_word(event.node.func) not in {"permutation", "choice", *_PLACES}:
        return []
    found: list[_Order] = []
    for one in block[block.index(statement) + 1 :]:
        named = [n for n in ast.walk(one) if isinstance(n, ast.Name) and n.id == name.id]
        if any(isinstance(n.ctx, ast.Store) for n in named):
            break
        if not named:
            continue
        indexed = _indexed(one, named[0])
        if indexed is None or len(named) > 1:
            return []
        key = event.value.argument(0, "key") if jax else None
        found.append(_Order(*indexed, event, key, "" if jax else _generator(event.node)))
    return found if len(found) == 1 else []


def _indexed(statement: ast.stmt, index: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return what an array that is indexed is called then, which may be the expression itself, and the array."""
    whole = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    part = next((n for n in ast.walk(statement) if isinstance(n, ast.Subscript) and _index(n.slice) is index), None)
    if part is None or not _plain(part.value):
        return None
    if part is not whole:
        return part, part.value
    assert isinstance(statement, ast.Assign)
    target = statement.targets[0]
    return (target, part.value) if isinstance(target, ast.Name | ast.Attribute) else None


def _index(node: ast.expr) -> ast.expr:
    """Return an order of which a part is taken: ``order`` of ``order[start:end]``; others as they are."""
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node


def _plain(node: ast.expr) -> bool:
    """Say whether an array has a name: that of a variable, an attribute, or an entry of a batch."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) and _plain(node.value)
    return isinstance(node, ast.Name | ast.Attribute)


def _by_helpers(context: Context) -> Iterator[tuple[CallEvent, _Order]]:
    """Yield the calls of functions of the project that put an array into an order drawn with a key: ``mix(key, x)``."""
    seen: set[FunctionFacts] = set()
    for drawn, name in foreign(context, "permutation", everywhere=True):
        function = drawn.scope.function
        if name != "jax.random.permutation" or function is None or function in seen or in_test(drawn.scope):
            continue
        seen.add(function)
        formula, key = formula_of(context, function), drawn.value.argument(0, "key")
        whole = formula.value if isinstance(formula, ast.Subscript) else None
        if whole is not None and written(context, formula.slice, function.scope) is not drawn.node:  # type: ignore[union-attr]
            continue
        if formula is drawn.node and len(drawn.node.args) == 2:
            whole = drawn.node.args[1]
        array = function.scope.module.values.get(whole) if whole is not None else None
        if not isinstance(array, Param) or not isinstance(key, Param):
            continue
        for event in context.flow.sites.callers(function):
            order = _helped(event, key, array) if event.scope.module in context.asked else None
            if order is not None:
                yield event, order


def _helped(event: CallEvent, key: Param, array: Param) -> _Order | None:
    """Return what a call of such a function puts into an order, if a variable gets it."""
    source, target = argument(event.node, position(array), array.name), target_of(event)
    if event.value.starred or not isinstance(target, ast.Name) or not isinstance(source, ast.Name | ast.Attribute):
        return None
    return _Order(target, source, event, passed(event, key), "")


def _order(context: Context, event: CallEvent) -> _Order | None:
    """Return the array that a statement puts into an order, or draws elements of; None for others."""
    statement, call = event.statement, event.node
    jax = context.flow.calls.name(event).startswith("jax.random.")
    word = last_word(call.func)
    if isinstance(statement, ast.Expr) and statement.value is call:  # in place
        given = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if jax or word != "shuffle" or not isinstance(given, ast.Name | ast.Attribute):
            return None
        return _Order(given, given, event, None, _generator(call))
    key = event.value.argument(0, "key") if jax else None
    owner = "" if jax else _generator(call)
    if word in {"permutation", "choice", *_PLACES}:
        indexed = _indexed(statement, call) if isinstance(statement, ast.Assign | ast.Return) else None
        if indexed is not None:
            return _Order(*indexed, event, key, owner)
    source = call.args[int(jax)] if len(call.args) > int(jax) else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not call:
        beside = jax and word == "permutation" and isinstance(source, ast.Name | ast.Attribute)
        return _Order(call, source, event, key, owner) if beside and source is not None else None
    target = statement.targets[0]
    if word in _PLACES or not isinstance(target, ast.Name | ast.Attribute):
        return None
    return _Order(target, source, event, key, owner) if isinstance(source, ast.Name | ast.Attribute) else None


def _generator(call: ast.Call) -> str:
    """Return the generator whose method is called, as it is written; empty for one that is made there."""
    func = call.func
    if not isinstance(func, ast.Attribute) or any(isinstance(n, ast.Call) for n in ast.walk(func.value)):
        return ""
    return ast.unparse(func.value)


def _apart(context: Context, first: _Order, second: _Order, block: list[ast.stmt]) -> bool:
    """Say whether an array and the labels that belong to it are put into different orders."""
    if first.event is second.event or first.owner != second.owner or (first.key is None) != (second.key is None):
        return False
    if not _belong(*_names(first.source, second.source)):
        return False
    if first.key is not None:
        if first.key == second.key:
            return False
    elif not first.owner:
        return False
    begin, end = block.index(first.event.statement), block.index(second.event.statement)
    if first.key is None and any(_seeds(statement) for statement in block[begin + 1 : end]):
        return False
    if sum(_ON_PURPOSE.search(last_word(one.name)) is not None for one in (first, second)) == 1:
        return False
    if _joined(context, first, second) or _tested(first) or _tested(second):
        return False
    behind = [*block[end + isinstance(second.name, ast.Name | ast.Attribute) :], *_returned_to(context, second, block)]
    if all(ast.unparse(one.name).startswith("self.") for one in (first, second)):
        behind += _methods(second.event)
    return any(
        _together(n, ast.unparse(first.name), ast.unparse(second.name)) for s in behind for n in ast.walk(s)
    ) and (
        not any(_coordinate(context, one) for one in (first, second))
        or _made_of(context, second, first)
        or _made_of(context, first, second)
    )


def _joined(context: Context, first: _Order, second: _Order) -> bool:
    """Say whether two arrays are made one that has the examples of both: two samples of one kind, and no labels."""
    texts = [ast.unparse(one.name) for one in (first, second)]
    for event in context.bodies.calls.get(second.event.scope, ()):
        call, word = event.node, last_word(event.node.func)
        axis = argument(call, 1, "axis") if word in {"concatenate", "concat"} else None
        parts = call.args[0] if call.args else None
        if word not in {"concatenate", "concat", "vstack"} or not (axis is None or constant(axis) == 0):
            continue
        if isinstance(parts, ast.List | ast.Tuple):
            given = [ast.unparse(_bare(part)) for part in parts.elts]
            if all(text in given for text in texts):
                return True
    return False


# labels that are meant not to belong to their examples
_ON_PURPOSE = pattern(r"shuffl|perm|random|null|neg|fake|wrong|mis|corrupt|noisy", re.I)

# tests of independence, and what comments say of what they draw
_TEST = pattern(r"(^|_)(null|p_?vals?|p_?values?|independence|surrogates?)(_|$)")
_BROKEN = pattern(
    r"\b(independent(ly)?|separate(ly)?) (re-?)?(sampl|shuffl|permut|draw|bootstrap)\w*"
    r"|\bnull (hypothesis|distribution)\b"
    r"|(?<!without )(?<!not )(?<!n't )(?<!avoid )\bbreak(s|ing)?\b"
    r".*\b((in)?depend|correlat|associat|relation|pair|link)\w*",
    re.I,
)


def _tested(order: _Order) -> bool:
    """Say whether what belongs together is taken apart for a test of whether it does, as names or comments say."""
    scope: Scope | None = order.event.scope
    while scope is not None:
        if scope.function is not None and _TEST.search(scope.function.name.lower()):
            return True
        scope = scope.parent
    own = order.event.scope
    begin, end = getattr(own.node, "lineno", order.event.node.lineno), order.event.node.lineno
    return any("#" in line and _BROKEN.search(line.partition("#")[2]) for line in _lines(own, begin, end))


def _lines(scope: Scope, begin: int, end: int) -> list[str]:
    """Return the lines of a body up to one, at most a few."""
    return scope.module.source.lines[max(begin, end - 8) - 1 : end]


def _methods(event: CallEvent) -> list[ast.stmt]:
    """Return the statements of the other methods of the class that a call stands in."""
    own = event.scope.node
    for one in event.scope.module.source.of_type(ast.ClassDef):
        if own in one.body:
            return [s for f in one.body if isinstance(f, ast.FunctionDef) and f is not own for s in f.body]
    return []


def _names(one: ast.expr, two: ast.expr) -> tuple[str, str]:
    """Return what two arrays are called, without the batch that both are entries of."""
    if isinstance(one, ast.Subscript) and isinstance(two, ast.Subscript):
        if ast.unparse(one.value) == ast.unparse(two.value):
            return ast.unparse(one.slice), ast.unparse(two.slice)
    return ast.unparse(one), ast.unparse(two)


def _belong(one: str, two: str) -> bool:
    """Say whether two names differ in that one tells of examples and the other of labels."""
    for examples, labels in ((one, two), (two, one)):
        rest = _EXAMPLES.sub("", examples.replace("_", " "))
        others = _LABELS.sub("", labels.replace("_", " "))
        if rest != examples.replace("_", " ") and others != labels.replace("_", " ") and rest.strip() == others.strip():
            return True
    return False


def _seeds(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Call) and last_word(n.func) in _SEEDING for n in ast.walk(statement))


def _returned_to(context: Context, order: _Order, block: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements behind the blocks around one, where its arrays may be read as well."""
    found: list[ast.stmt] = []
    for node, arm in context.bodies.paths(order.event.scope).get(order.event.statement, ()):
        around = getattr(node, arm, None)
        if isinstance(around, list) and around is not block:
            found += [s for s in around if s.lineno > order.event.statement.lineno]
    whole = getattr(order.event.scope.node, "body", [])
    if isinstance(whole, list) and whole is not block:
        found += [s for s in whole if s.lineno > order.event.statement.lineno]
    return found


def _together(node: ast.AST, one: str, two: str) -> bool:
    """Say whether an expression takes both arrays, or the same part of both, as arguments or members."""
    if isinstance(node, ast.Call):
        parts = [*node.args, *(k.value for k in node.keywords)]
    elif isinstance(node, ast.Tuple | ast.List):
        parts = [*node.elts]
    elif isinstance(node, ast.Dict):
        parts = [*node.values]
    else:
        return False
    texts = [text for part in parts for text in (ast.unparse(_whole(part)), ast.unparse(_bare(part)))]
    return (
        one in texts and two in texts and last_word(getattr(node, "func", node)) not in {"meshgrid", "scatter", "plot"}
    )


# functions that give an array of the same elements, or its parts, with the number of their arguments
_SHAPING = frozenset({"reshape", "astype", "copy"})
_WHOLE = {"array": 1, "asarray": 1, "split": 2, "array_split": 2}


def _bare(node: ast.expr) -> ast.expr:
    """Return the array that an expression turns into one of JAX."""
    while isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in {"array", "asarray"}:
        node = node.args[0]
    return node


def _whole(node: ast.expr) -> ast.expr:
    """Return the array that an expression takes a part of, or turns into one of JAX."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPING:
            node = node.func.value
        elif isinstance(node, ast.Call) and _WHOLE.get(last_word(node.func)) == len(node.args):
            node = node.args[0]
        else:
            return node


def _coordinate(context: Context, order: _Order) -> bool:
    """Say whether an array is made of even or drawn numbers: then its order says nothing of labels."""
    if len(entry_word(order.source)) > 2:  # only x and y may well be coordinates
        return False
    made = _origins(context, order)
    return any(isinstance(one.value, Call) and last_word(one.value.node.func) in _COORDINATES for one in made)


def _made_of(context: Context, labels: _Order, examples: _Order) -> bool:
    """Say whether labels are calculated of the examples: ``y = 3 * x``, ``y = (x.sum(1) > 0).astype(int)``."""
    made = _origins(context, examples)
    for one in _origins(context, labels):
        node = one.value.node if isinstance(one.value, Unknown | Call) else None
        if isinstance(node, ast.BinOp | ast.Compare | ast.Call):
            read = [labels.event.scope.module.values.get(n) for n in ast.walk(node) if isinstance(n, ast.Name)]
            if any(other.value is value for other in made for value in read):
                return True
    return False


def _origins(context: Context, order: _Order) -> list[Bound]:
    scope = order.event.scope
    value = scope.module.values.get(order.source)
    return [*context.sources.originals(context.flow.here(value, scope))] if value is not None else []


_BAD = """\
import jax


def epoch(state, key, images, labels, step, size):
    first, second = jax.random.split(key)
    images = jax.random.permutation(first, images)
    labels = jax.random.permutation(second, labels)
    for start in range(0, len(images), size):
        state = step(state, images[start : start + size], labels[start : start + size])
    return state
"""

RULE = lint_rule(
    "NNX971",
    "shuffled-apart",
    "examples and their labels are put into two different random orders",
    why="""\
Two keys, or two draws of one generator, give two orders. Put into one each, examples and labels no longer belong
together, and nothing can be learnt from them but how often each label comes. One order has to be drawn for both. What
is held out by `x[order[:n]]` is in the remaining `x[n:]` as well, for the most part.
""",
    source="Stack Overflow, on shuffling two arrays in unison; measured: labels do not belong to their examples",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("    first, second = jax.random.split(key)\n", "")
        .replace("first,", "key,")
        .replace("second,", "key,"),
    ),
)
