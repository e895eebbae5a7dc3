"""NNX960: a table of embeddings with as many rows as there are ids, which begin at one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Comprehension, Item, Unknown, Value

_EMBED = frozenset({"flax.nnx.Embed", "flax.linen.Embed"})
_VOCABULARY = pattern(r"vocab|to_?i(d|dx|ndex)?s?$|stoi|(word|token|char|tok)s?_?(2|to)|ids?$|index", re.I)


def _check(context: Context) -> Iterator[Finding]:
    words = b"enumerate(", b"range(1", b") + 1"
    if not any(word in module.source.data for module in context.project.modules for word in words):
        return
    for event, name in foreign(context, "Embed"):
        given = event.value.argument(0, "num_embeddings")
        if name not in _EMBED or given is None or in_test(event.scope):
            continue
        rows = _given(context, given, event)
        if rows and all(_too_few(context, one) for one in rows):
            node = argument(event.node, 0, "num_embeddings")
            yield finding(
                RULE.code,
                event.scope,
                node or event.node,
                "the ids begin at 1 here, so that the last one has no row: what is looked up there is NaN",
                "add a row: len(...) + 1, of which id 0 is that of padding",
            )


def _given(context: Context, value: Value, event: CallEvent) -> list[Bound]:
    """Return where a number of rows comes from, through a field of a module of Linen to those who make it."""
    function = event.scope.function
    owner = function.owner if function is not None else None
    if function is None or owner is None or not isinstance(value, Attr) or value.base is not function.self_param:
        return [*context.sources.originals(context.flow.here(value, event.scope))]
    if value.name not in owner.fields or owner.stores.get(value.name):
        return [*context.sources.originals(context.flow.here(value, event.scope))]
    found: list[Bound] = []
    for made in context.flow.sites.constructions(owner):
        given = made.value.argument([*owner.fields].index(value.name), value.name)
        if given is None:
            return []
        found += context.sources.originals(context.flow.here(given, made.scope))
    return found


def _too_few(context: Context, rows: Bound) -> bool:
    """Say whether a number is that of the entries of a dictionary whose ids begin at one."""
    value = rows.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(rows) != "builtins.len" or len(value.args) != 1:
        return False
    name = last_word(value.node.args[0])
    if name in context.shared(_counted_up):
        return True
    if _filled(context, name):
        return False
    counted = context.sources.originals(context.flow.with_value(rows, value.args[0]))
    if not counted:
        return False
    if all(isinstance(one.value, Comprehension) and _begins_at_one(one.value) for one in counted):
        return True
    if all(_zipped_from_one(one) for one in counted):
        return True
    return any(_alike(context, counted, event) for event in context.shared(_vocabularies))


def _zipped_from_one(bound: Bound) -> bool:
    """Say whether a value is ``dict(zip(words, range(1, ...)))``."""
    call = bound.value.node if isinstance(bound.value, Call) else None
    if not isinstance(call, ast.Call) or not call.args:
        return False
    copied = last_word(call.func) == "dict" and len(call.args) == 1 and not call.keywords
    pairs = call.args[0] if copied else call  # `dict(pairs)` counts as a copy of the pairs
    if not isinstance(pairs, ast.Call) or last_word(pairs.func) != "zip" or len(pairs.args) != 2:
        return False
    ids = pairs.args[1]
    counted = isinstance(ids, ast.Call) and last_word(ids.func) == "range" and len(ids.args) == 2
    return counted and constant(ids.args[0]) == 1  # type: ignore[attr-defined]


def _counted_up(context: Context) -> set[str]:
    """Return the dictionaries that get nothing but ids counted from one: ``ids[word] = len(ids) + 1``."""
    found: set[str] = set()
    others: set[str] = set()
    for module in context.project.modules:
        empty = {last_word(t) for n in module.source.of_type(ast.Assign) if ast.unparse(n.value) in {"{}", "dict()"}
                 for t in n.targets}  # fmt: skip
        for node in module.source.of_type(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    name = last_word(target.value)
                    text = f"len({ast.unparse(target.value)}) + 1"
                    (found if ast.unparse(node.value) == text and name in empty else others).add(name)
    for event in context.bodies.named("update", "setdefault"):
        if isinstance(event.node.func, ast.Attribute):
            others.add(last_word(event.node.func.value))
    return found - others - {""}


def _begins_at_one(value: Comprehension) -> bool:
    """Say whether the values of a dictionary are the places of an enumeration, counted from one on."""
    if value.key is None or not isinstance(value.loop, ast.comprehension) or value.loop.ifs:
        return False
    call = value.loop.iter
    if not isinstance(call, ast.Call) or last_word(call.func) != "enumerate":
        return False
    start = argument(call, 1, "start")
    first = 0 if start is None else constant(start)
    added: object = 0
    if isinstance(value.element, Unknown):
        node = value.element.node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add) or not isinstance(node.left, ast.Name):
            return False
        added = constant(node.right)
    elif not isinstance(value.element, Item):
        return False
    return isinstance(first, int) and isinstance(added, int) and first + added == 1


def _vocabularies(context: Context) -> list[CallEvent]:
    """Return the calls of ``enumerate`` that give dictionaries of words their ids, which begin at one."""
    calls = {event.node: event for event in context.bodies.named("enumerate")}
    found = []
    for module in context.project.modules:
        for statement in module.source.of_type(ast.Assign):
            target, value = statement.targets[0], module.values.get(statement.value)
            if not isinstance(value, Comprehension) or not _VOCABULARY.search(last_word(target)):
                continue
            if _begins_at_one(value) and isinstance(value.loop, ast.comprehension):
                event = calls.get(value.loop.iter) if isinstance(value.loop.iter, ast.Call) else None
                if event is not None and not _filled(context, last_word(target)):
                    found.append(event)
    return found


def _alike(context: Context, counted: Iterable[Bound], event: CallEvent) -> bool:
    """Say whether what is counted is what was enumerated."""
    if not event.value.args:
        return False
    words = context.sources.originals(context.flow.here(event.value.args[0], event.scope))
    return len(words) == 1 and set(words) == set(counted)


def _filled(context: Context, name: str) -> bool:
    """Say whether entries are added to a dictionary or list of that name somewhere."""
    return name in context.shared(_changed)


def _changed(context: Context) -> set[str]:
    entries = (node for module in context.project.modules for node in module.source.of_type(ast.Subscript))
    names = {last_word(node.value) for node in entries if isinstance(node.ctx, ast.Store)}
    for event in context.bodies.named("update", "setdefault", "append", "extend", "insert"):
        if isinstance(event.node.func, ast.Attribute):
            names.add(last_word(event.node.func.value))
    return names


_BAD = """\
from flax import nnx


def build_vocab(texts):
    words = sorted({word for text in texts for word in text.split()})
    return {word: i + 1 for i, word in enumerate(words)}


vocab = build_vocab(["a good movie", "a bad film"])
embed = nnx.Embed(len(vocab), 8, rngs=nnx.Rngs(0))
"""

RULE = lint_rule(
    "NNX960",
    "ids-from-one",
    "a table of embeddings with as many rows as there are ids, which begin at one",
    why="""\
Ids that begin at 1, since 0 is that of padding, go up to the number of words. A table with as many rows ends one before
that, and JAX raises no error: what is taken behind the end is NaN, and so is the loss of every batch with that word.
""",
    source="questions on embeddings, as NLP-kr/tensorflow-ml-nlp 26; measured: NaN for the last id",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("len(vocab)", "len(vocab) + 1"),),
)
