"""NNX684: names with numbers in them, sorted as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SORTING = ("sorted", "max", "sort")
_LISTING = frozenset({"listdir", "glob", "iglob", "iterdir", "rglob"})
_COUNTERS = pattern(
    r"^(i|j|k|n|idx|index|it|iter|iteration|itr|t|step|steps|global_step|epoch|ep|update|num_\w+|\w*_step|\w*_epoch)$"
)
_SAVED = pattern(r"ckpt|checkpoint|step|epoch|iter|model|params|weights|state|snapshot|update", re.I)
_NAME = pattern(r"[\w.-]+")  # and no message
_FEW = 10  # numbers of one digit come in the order of their names


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_SORTING):
        if event.scope.module not in context.asked or in_test(event.scope) or event.node.keywords:
            continue
        names = _sorted(event)
        if names is None:
            continue
        word = _of_archive(context, names, event.scope) or _newest(context, event, names)
        if word is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"names are sorted as text, in which `{word}10` comes before `{word}2`",
                "sort them by their numbers: key=lambda name: int(re.findall(r'\\d+', name)[-1])",
            )


def _sorted(event: CallEvent) -> ast.expr | None:
    """Return what a call sorts, or takes the last one of."""
    func, args = event.node.func, event.node.args
    if isinstance(func, ast.Attribute):
        return func.value if func.attr == "sort" and not args and isinstance(func.value, ast.Name) else None
    return args[0] if len(args) == 1 and last_word(func) in {"sorted", "max"} else None


def _of_archive(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return how the names of the arrays begin that are sorted, if an archive numbers them; empty for others."""
    if isinstance(node, ast.Attribute) and node.attr == "files":
        node = node.value
    elif isinstance(node, ast.Call) and last_word(node.func) == "keys" and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if not isinstance(node, ast.Name) or not _loaded(context, node, scope):
        return ""
    for module in context.project.modules:
        for call in module.calls if module.source.mentions(b"savez") else ():
            if last_word(call.node.func) not in {"savez", "savez_compressed"}:
                continue
            if any(isinstance(one, ast.Starred) for one in call.node.args[1:]):
                return "arr_"
            for word in call.node.keywords:
                keys = word.value.key if word.arg is None and isinstance(word.value, ast.DictComp) else None
                found = [*_numbered(keys)] if isinstance(keys, ast.JoinedStr) else []
                if found:
                    return found[0][0]
    return ""


def _loaded(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is what ``np.load`` gives."""
    for node in context.bodies.nodes(scope):
        made: ast.expr | None = None
        if isinstance(node, ast.withitem) and last_word(node.optional_vars) == name.id:
            made = node.context_expr
        elif isinstance(node, ast.Assign) and last_word(node.targets[0]) == name.id:
            made = node.value
        if isinstance(made, ast.Call) and ast.unparse(made.func) in {"np.load", "numpy.load", "onp.load", "jnp.load"}:
            return True
    return False


def _newest(context: Context, event: CallEvent, names: ast.expr) -> str | None:
    """Return how the names of files begin of which the last is taken for the newest; None if they are not numbered."""
    word = last_word(event.node.func)
    if word == "sorted" and not _last(context, event.node, event.scope):
        return None
    if word == "sort" and not _last_of(context, names, event.scope):
        return None
    listing = _listing(context, names, event.scope)
    if listing is None:
        return None
    begin = _beginning(listing)
    found = {prefix for module in context.project.modules for prefix in _written(module)}
    if begin is not None:
        return begin if begin in found else None
    padded = any(_padded(module) for module in context.project.modules)
    return next(iter(found)) if len(found) == 1 and not padded else None


def _last(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether the last of some things is taken, at once or under a name."""
    parent = around(context, scope).get(node)
    if isinstance(parent, ast.Subscript):
        return parent.value is node and constant(parent.slice) == -1
    return isinstance(parent, ast.Assign) and len(parent.targets) == 1 and _last_of(context, parent.targets[0], scope)


def _last_of(context: Context, name: ast.expr, scope: Scope) -> bool:
    if not isinstance(name, ast.Name):
        return False
    above = around(context, scope)
    users = [above.get(one) for one in context.bodies.names(scope).get(name.id, ())]
    return any(isinstance(one, ast.Subscript) and constant(one.slice) == -1 for one in users)


def _listing(context: Context, node: ast.expr, scope: Scope) -> ast.Call | None:
    """Return the call that lists the files, also those of them that are chosen."""
    for _ in range(3):
        if isinstance(node, ast.Name):
            made = bound_once(context, scope, node)
            if made is None:
                return None
            node = made
        if isinstance(node, ast.Call) and last_word(node.func) == "list" and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
            if ast.unparse(node.elt) != ast.unparse(node.generators[0].target):
                return None
            node = node.generators[0].iter
    return node if isinstance(node, ast.Call) and last_word(node.func) in _LISTING else None


def _beginning(listing: ast.Call) -> str | None:
    """Return the part of a pattern in front of the first star, without folders; None if there is none."""
    for one in ast.walk(listing):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "*" in one.value:
            return one.value.partition("*")[0].rpartition("/")[2]
    return None


def _written(module: ModuleFacts) -> Iterator[str]:
    """Yield how the names of files begin into which a number is written without zeros in front."""
    few = {
        node.target.id
        for node in module.source.of_type(ast.For)
        if isinstance(node.target, ast.Name) and _short(node.iter)
    }
    saving = module.source.mentions(b"ckpt") or module.source.mentions(b"checkpoint")
    if saving and any(map(_plain, module.source.of_type(ast.Call, ast.BinOp))):
        yield ""
    for node in module.source.of_type(ast.JoinedStr):
        for prefix, counter in _numbered(node):
            if counter not in few and _SAVED.search(prefix) and _NAME.fullmatch(prefix):
                yield prefix


def _plain(node: ast.AST) -> bool:
    """Say whether a file or folder is called by a number alone: ``os.path.join(folder, str(step))``."""
    if isinstance(node, ast.Call) and last_word(node.func) == "join" and len(node.args) > 1:
        name = node.args[-1]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        name = node.right
    else:
        return False
    text = isinstance(name, ast.Call) and last_word(name.func) == "str" and len(name.args) == 1
    return text and _COUNTERS.search(last_word(name.args[0])) is not None  # type: ignore[attr-defined]


def _padded(module: ModuleFacts) -> bool:
    """Say whether numbers are written with zeros in front somewhere: the names may be those."""
    specs = (n.format_spec for n in module.source.of_type(ast.FormattedValue))
    return any(spec is not None and ast.unparse(spec).lstrip("f'\"").startswith("0") for spec in specs)


def _short(rounds: ast.expr) -> bool:
    """Say whether a loop has no more rounds than there are digits."""
    if not isinstance(rounds, ast.Call) or last_word(rounds.func) != "range" or not rounds.args:
        return False
    end = constant(rounds.args[min(1, len(rounds.args) - 1)])
    return isinstance(end, int) and end <= _FEW


def _numbered(text: ast.JoinedStr) -> Iterator[tuple[str, str]]:
    """Yield the text in front of each number that is written without a format, back to the folder, and its name."""
    for one, part in zip(text.values, text.values[1:], strict=False):
        if not isinstance(one, ast.Constant) or not isinstance(part, ast.FormattedValue) or part.format_spec:
            continue
        word = last_word(part.value)
        if isinstance(part.value, ast.BinOp):
            word = last_word(part.value.left)
        if _COUNTERS.search(word):
            yield str(one.value).rpartition("/")[2], word


_BAD = """\
import glob
import pickle

import jax


def save(folder, params, step):
    with open(f"{folder}/ckpt_{step}.pkl", "wb") as file:
        pickle.dump(jax.device_get(params), file)


def newest(folder):
    with open(sorted(glob.glob(f"{folder}/ckpt_*.pkl"))[-1], "rb") as file:
        return pickle.load(file)
"""
_ARCHIVE = """\
import jax
import numpy as np


def save(path, params):
    np.savez(path, *jax.tree.leaves(params))


def load(path, like):
    data = np.load(path)
    return jax.tree.unflatten(jax.tree.structure(like), [data[name] for name in sorted(data.files)])
"""

RULE = lint_rule(
    "NNX684",
    "numbers-sorted-as-text",
    "names with numbers in them, sorted as text",
    why="""\
In the order of text `step_1000` comes before `step_200`, and `arr_10` before `arr_2`. The last of the names is then not
the newest checkpoint, and the leaves of a tree that were saved by their numbers come back in each other's place: where
their shapes agree, without an error. Write the numbers with zeros in front, or sort by the numbers.
""",
    source="github.com/instructlab/instructlab/issues/2362, IsaacLab issue 3933; measured: another checkpoint",
    check=_check,
    bad=(_BAD, _ARCHIVE),
    clean=(
        _BAD.replace("{step}", "{step:08d}"),
        _ARCHIVE.replace("sorted(data.files)", "data.files"),
    ),
)
