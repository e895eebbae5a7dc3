"""NNX942: labels of -100 in a cross-entropy that leaves no label out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.origins import bound_once, unpacked_once
from codemods.nnx.lint.places import callers_of, foreign, in_test, written
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Comprehension, Const, Item, Loop, Sequence, Unknown, Value

_LOSS = "softmax_cross_entropy_with_integer_labels"
_IGNORED = -100  # what no index of a class is, and other libraries leave out
_WORD = pattern(rb"-\s*100\b")
_REDUCING = frozenset({"mean", "sum", "average"})
_KEEPING = frozenset({"squeeze", "reshape", "ravel", "astype"})
# functions and methods whose result has the labels of what they are given
_ALIKE = frozenset(
    {"array", "asarray", "ascontiguousarray", "astype", "int32", "int64", "reshape", "ravel", "flatten", "squeeze",
     "expand_dims", "copy", "device_put", "stack", "concatenate", "vstack", "hstack", "roll", "transpose", "append",
     "block_until_ready", "stop_gradient", "list", "tuple"}
)  # fmt: skip
_DEPTH = 12
_CALLS = 3  # so many helpers hand a loss on


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_WORD) for module in context.project.modules):
        return
    padding = _Padding(context)
    for event, labels in _losses(context):
        if in_test(event.scope) or not padding.certain(labels, event.scope):
            continue
        if not _compared(context, labels, event.scope) and _reduced(context, event, 0):
            text = ast.unparse(labels)
            text = f"`{text}` has" if len(text) < 40 else "the labels have"
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{text} -100 for padding, which is no class: the loss there is nan, or that of another class",
                "leave them out: give jnp.where(labels < 0, 0, labels), and take the mean where=labels >= 0",
            )


def _losses(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the calls that choose a log-probability for each label, with the labels."""
    for event, name in foreign(context, _LOSS, "take_along_axis"):
        if last(name) == _LOSS and name.startswith("optax."):
            labels = argument(event.node, 1, "labels")
            if labels is not None and keyword(event.node, "where") is None and not event.value.starred:
                yield event, labels
        elif name == "jax.numpy.take_along_axis" and len(event.node.args) > 1:
            chosen = written(context, event.node.args[0], event.scope)
            if isinstance(chosen, ast.Call) and last_word(chosen.func) == "log_softmax":
                yield event, event.node.args[1]


class _Padding:
    """Tells of labels whether -100 stands among them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[Bound, bool] = {}

    def certain(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether labels come from where places of padding get -100, also by an entry of a batch."""
        value = scope.module.values.get(node)
        if value is None:
            return False
        return self._of(self._context.flow.here(value, scope), 0) or self._by_entry(node, scope)

    def _by_entry(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether all batches of the project that have an entry of a name fill it up by -100."""
        node = _whole(self._context, node, scope)
        key = _entry(node)
        if key is None:
            return False
        made = self._context.shared(_entries).get(key, [])
        return bool(made) and all(self._node(one, place) for one, place in made)

    def _node(self, node: ast.expr, scope: Scope) -> bool:
        return self._of(at(self._context, node, scope), 0)

    def _of(self, bound: Bound, depth: int) -> bool:
        if depth > _DEPTH:
            return False
        if bound not in self._known:
            self._known[bound] = False
            self._known[bound] = self._followed(bound, depth)
        return self._known[bound]

    def _followed(self, bound: Bound, depth: int) -> bool:
        flow = self._context.flow
        bound = flow.resolve(bound)
        if isinstance(bound.value, Changed | Loop):
            return self._changed(bound, depth)
        sources = list(self._context.sources.originals(bound))
        return any(
            self._changed(one, depth) if isinstance(one.value, Changed | Loop) else self._made(one, depth)
            for one in sources
        )

    def _changed(self, bound: Bound, depth: int) -> bool:
        """Say whether an array or list had -100, or got it somewhere."""
        value: Value | None = bound.value
        seen: set[Value] = set()
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value is None or value in seen or len(seen) > _DEPTH:
                continue
            seen.add(value)
            if isinstance(value, Changed):
                if self._number(bound, value.value) or self._inner(bound, value.value, depth):
                    return True
                if isinstance(value.value, Const):
                    return False  # perhaps in place of the padding
                waiting.append(value.before)
            elif isinstance(value, Loop):
                waiting += [value.before, value.again]
            elif self._inner(bound, value, depth):
                return True
        return False

    def _inner(self, bound: Bound, value: Value, depth: int) -> bool:
        return self._of(self._context.flow.with_value(bound, value), depth + 1)

    def _made(self, bound: Bound, depth: int) -> bool:
        value = bound.value
        if isinstance(value, Item | Indexed):
            index = value.index.value if isinstance(value, Indexed) else value.index
            if _mask(index):
                return False  # chosen by a mask
            return not _key(index) and self._inner(bound, value.base, depth)
        if isinstance(value, Sequence):
            return any(self._number(bound, item) or self._inner(bound, item, depth) for item in value.items)
        if isinstance(value, Comprehension):
            return self._inner(bound, value.element, depth)
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            return self._joined(bound, value.node, depth)
        return self._call(bound, value, depth) if isinstance(value, Call) and not value.starred else False

    def _joined(self, bound: Bound, node: ast.BinOp, depth: int) -> bool:
        """Say whether lists are put together of which one is ``[-100] * n``."""
        sides = [node.left, node.right]
        home = bound.frame.function.scope if bound.frame is not None else self._context.bodies.home(node)
        home = home or self._context.bodies.module_scope(node)
        if isinstance(node.op, ast.Mult) and home is not None:
            lists = [one for one in sides if isinstance(one, ast.List) and len(one.elts) == 1]
            given = [home.module.values.get(one.elts[0]) for one in lists]
            return any(one is not None and self._number(bound, one) for one in given)
        if isinstance(node.op, ast.Add) and home is not None:
            for side in sides:
                value = home.module.values.get(side)
                if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add | ast.Mult):
                    if self._joined(bound, side, depth + 1):
                        return True
                elif value is not None and isinstance(side, ast.Name) and self._inner(bound, value, depth):
                    return True
        return False

    def _call(self, bound: Bound, value: Call, depth: int) -> bool:
        name = self._context.flow.calls.callee_name(bound)
        home, _, word = name.rpartition(".")
        if not name and isinstance(value.callee, Attr):
            return self._method(bound, value, value.callee, depth)
        if home not in {"numpy", "jax.numpy", "jax", "jax.lax", "builtins"}:
            return False
        if word in {"full", "full_like"}:
            return self._number(bound, value.argument(1, "fill_value"))
        if word == "where" and len(value.args) == 3:
            return any(self._number(bound, one) for one in value.args[1:])
        if word == "pad":
            filled = value.keyword("constant_values")
            return self._number(bound, filled) or bool(value.args and self._inner(bound, value.args[0], depth))
        return bool(word in _ALIKE and value.args) and self._inner(bound, value.args[0], depth)

    def _method(self, bound: Bound, value: Call, callee: Attr, depth: int) -> bool:
        place = callee.base  # x.at[i].set(...)
        if isinstance(place, Item) and isinstance(place.base, Attr) and place.base.name == "at":
            if callee.name == "set" and value.args and self._number(bound, value.args[0]):
                return True
            kept = callee.name == "set" and not (value.args and isinstance(value.args[0], Const))
            return kept and self._inner(bound, place.base.base, depth)
        return callee.name in _ALIKE and self._inner(bound, callee.base, depth)

    def _number(self, bound: Bound, value: Value | None) -> bool:
        if value is None:
            return False
        found = self._context.flow.follow(bound, value)
        if isinstance(found.value, Const):
            return found.value.value == _IGNORED
        scope = found.frame.function.scope if found.frame is not None else None
        node = found.value.node if isinstance(found.value, Unknown) else None
        if scope is None and isinstance(node, ast.expr):
            scope = self._context.bodies.module_scope(node)
        return scope is not None and numbers(self._context, found.value, scope) == {_IGNORED}


def _mask(index: Value) -> bool:
    """Say whether an index may be a mask that leaves elements out."""
    return not isinstance(index, Const | Sequence) and not (
        isinstance(index, Unknown) and isinstance(index.node, ast.Slice | ast.Constant | ast.Tuple | ast.UnaryOp)
    )


def _key(index: Value) -> bool:
    return isinstance(index, Const) and isinstance(index.value, str)


def _whole(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the labels of which an expression is a part or another form, as ``batch["labels"]`` of its ``[:, 1:]``."""
    for _ in range(_DEPTH):
        node = _written(context, node, scope)
        inner: ast.expr | None = None
        if isinstance(node, ast.Subscript) and _entry(node) is None:
            inner = node.value if all(map(_number_or_all, elements(node.slice))) else None
        elif isinstance(node, ast.Call) and last_word(node.func) in _ALIKE - {"stack", "concatenate"}:
            if _of_library(node):
                inner = node.args[0] if node.args else None
            elif isinstance(node.func, ast.Attribute):
                inner = node.func.value
        if inner is None:
            return node
        node = inner
    return node


def _of_library(call: ast.Call) -> bool:
    """Say whether a call is one of a function, as ``jnp.asarray(labels)``, and not of a method."""
    return not isinstance(call.func, ast.Attribute) or last_word(call.func.value) in {
        "jnp",
        "np",
        "numpy",
        "jax",
        "lax",
    }


def _written(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression that a variable of a function, or of one around it, is the name of."""
    home: Scope | None = scope
    while isinstance(node, ast.Name) and home is not None:
        made = written(context, node, home) if home is scope else bound_once(context, home, node)
        if made is None or made is node:
            made = unpacked_once(context, home, node)
        if made is not None and made is not node:
            return made
        home = home.parent
    return node


def _none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis)


def _entry(node: ast.expr) -> str | None:
    """Return the key of an entry that is read out of a batch."""
    key: object = None
    if isinstance(node, ast.Subscript):
        key = constant(node.slice)
    elif isinstance(node, ast.Call) and last_word(node.func) in {"pop", "get"} and node.args:
        key = constant(node.args[0])
    return key if isinstance(key, str) else None


def _entries(context: Context) -> dict[str, list[tuple[ast.expr, Scope]]]:
    """Return what the project puts into dicts, by its keys."""
    found: dict[str, list[tuple[ast.expr, Scope]]] = {}
    for module in context.project.modules:
        for scope in (module.scope, *(function.scope for function in module.functions)):
            for node in context.bodies.nodes(scope):
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        if isinstance(key, ast.Constant) and isinstance(key.value, str):
                            found.setdefault(key.value, []).append((value, scope))
                elif isinstance(node, ast.Assign):
                    for target in node.targets:
                        name = _entry(target) if isinstance(target, ast.Subscript) else None
                        if name is not None:
                            found.setdefault(name, []).append((node.value, scope))
                elif isinstance(node, ast.Call) and last_word(node.func) == "dict":
                    for word in node.keywords:
                        if word.arg is not None:
                            found.setdefault(word.arg, []).append((word.value, scope))
    return found


def _compared(context: Context, labels: ast.expr, scope: Scope) -> bool:
    """Say whether a function asks which labels are some number, and so may leave the others out, or clips them."""
    outer = scope
    while outer.parent is not None and outer.parent.function is not None:
        outer = outer.parent
    node = outer.function.node if outer.function is not None else outer.node
    names, keys = _plain(labels), {_entry(_whole(context, labels, scope))} - {None}
    for one in ast.walk(node):
        if isinstance(one, ast.Compare):
            inner = [n for n in ast.walk(one) if isinstance(n, ast.Subscript | ast.Call)]
            if names_in(one) & names or keys & {_entry(n) for n in inner}:
                return True
        elif isinstance(one, ast.Call) and last_word(one.func) in {"clip", "maximum", "abs"} and one.args:
            if names_in(one) & names or keys & {_entry(n) for n in ast.walk(one) if isinstance(n, ast.Subscript)}:
                return True
    return False


def _plain(node: ast.expr) -> frozenset[str]:
    """Return the variable that labels are, or are a part of."""
    while isinstance(node, ast.Subscript) and _entry(node) is None:
        node = node.value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ALIKE:
        node = node.func.value
    return names_in(node) if isinstance(node, ast.Name) else frozenset()


def _reduced(context: Context, event: CallEvent, depth: int) -> bool:
    """Say whether nothing is done with a loss but that its mean or sum is taken, here or where it is handed to."""
    waiting: list[ast.AST] = [event.node]
    seen = 0
    while waiting and seen < _DEPTH * 2:
        onward = _onward(context, event.scope, waiting.pop(), depth)
        if onward is None:
            return False
        waiting += onward
        seen += 1
    return seen > 0 and not waiting


def _onward(context: Context, scope: Scope, one: ast.AST, depth: int) -> list[ast.AST] | None:
    """Return where a loss goes on from an expression; nothing if its mean is taken, None if something else is done."""
    above = around(context, scope)
    parent = above.get(one)
    if isinstance(parent, ast.UnaryOp):
        return [parent]
    if isinstance(parent, ast.Subscript):
        return [parent] if all(_number_or_all(index) for index in elements(parent.slice)) else None
    if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.args[:1] == [one]):
        word = parent.attr if isinstance(parent, ast.Attribute) else last_word(parent.func)
        call = above.get(parent) if isinstance(parent, ast.Attribute) else parent
        if not isinstance(call, ast.Call) or any(word.arg in {"where", "weights"} for word in call.keywords):
            return None
        return [] if word in _REDUCING else [call] if word in _KEEPING else None
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return _reads(context, scope, parent, parent.targets[0].id) or None
    if isinstance(parent, ast.Return) or (parent is None and isinstance(scope.node, ast.Lambda)):
        callers = callers_of(context, scope.function) if scope.function is not None and depth < _CALLS else []
        return [] if callers and all(_reduced(context, caller, depth + 1) for caller in callers) else None
    return None


def _reads(context: Context, scope: Scope, statement: ast.Assign, name: str) -> list[ast.AST]:
    """Return where a variable is read, up to where it is set anew."""
    uses = context.bodies.names(scope).get(name, ())
    later = [n for n in uses if n.lineno > statement.lineno]
    again = min((n.lineno for n in later if isinstance(n.ctx, ast.Store)), default=None)
    return [n for n in later if isinstance(n.ctx, ast.Load) and (again is None or n.lineno <= again)]


def _number_or_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) or constant(node) is not None or _none(node)


_BAD = """\
import jax.numpy as jnp
import numpy as np
import optax


def collate(sentences, length):
    labels = np.full((len(sentences), length), -100)
    for row, sentence in enumerate(sentences):
        labels[row, : len(sentence)] = sentence
    return jnp.asarray(labels)


def mean_loss(logits, sentences):
    labels = collate(sentences, 8)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
"""

RULE = lint_rule(
    "NNX942",
    "ignored-label",
    "labels of -100 in a cross-entropy that leaves no label out",
    why="""\
PyTorch's losses leave out what has the label -100; those of optax know no such label. As an index it counts from the
end: with fewer than 100 classes the loss is nan, with more it is the loss of a class that nobody meant. Put a class in
place of the padding and leave its losses out of the mean. Labels that the function compares with anything are left
alone, and so are losses that are not averaged at once.
""",
    source="optax issue 1335; measured: nan with 20 classes",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("labels).mean()", "jnp.maximum(labels, 0)).mean(where=labels >= 0)"),
        _BAD.replace("-100", "0"),
    ),
)
