"""NNX731: a flag of training that is handed to a switch for evaluation as it is, or the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import each, fix, in_test, received
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Const, Free, Param

#: Switches of layers that are True in evaluation.
_SWITCHES = frozenset({"deterministic", "use_running_average"})
#: Names of flags that are True in training.
TRAINING = frozenset({"in_training", "is_train", "is_training", "train", "train_mode", "training"})
#: Names of flags that are True in evaluation.
EVALUATION = frozenset(
    {"deterministic", "eval_mode", "evaluating", "evaluation", "inference", "is_eval", "is_inference"}
    | {"use_running_average"}
)

_FLAGS = TRAINING | EVALUATION


def _check(context: Context) -> Iterator[Finding]:
    asked = [m for m in context.asked.modules if any(m.source.mentions(word.encode()) for word in _SWITCHES)]
    for scope, node in each(context, ast.Call) if asked else ():
        for keyword in node.keywords:
            if keyword.arg not in _SWITCHES or in_test(scope):
                continue
            right = _right(scope, keyword.value)
            if right is not None and not _turned_by_callers(scope, keyword.value):
                yield finding(
                    RULE.code,
                    scope,
                    keyword.value,
                    f"`{keyword.arg}` is True in evaluation, and `{ast.unparse(keyword.value)}` is so in training",
                    f"write {keyword.arg}={right}",
                    _fix(scope, keyword.value, right),
                )
    yield from _contradicting(context) if asked else ()
    if any(m.source.mentions(word.encode()) for m in context.project.modules for word in (*EVALUATION, "BatchNorm")):
        yield from _by_place(context)


def _contradicting(context: Context) -> Iterator[Finding]:
    """Yield the layers of a function that get a flag as it is where others of it get its opposite for the same switch,
    or the other way round: the fewer, or the later."""
    given: dict[tuple[Scope, str, str], dict[bool, list[ast.expr]]] = {}
    for scope, node in each(context, ast.Call):
        for word in node.keywords if _is_layer(node) else ():
            turned = isinstance(word.value, ast.UnaryOp) and isinstance(word.value.op, ast.Not)
            flag = word.value.operand if isinstance(word.value, ast.UnaryOp) else word.value
            if word.arg not in _SWITCHES or not isinstance(flag, ast.Name) or flag.id in _FLAGS or in_test(scope):
                continue
            function = scope.function
            if function is None or flag.id not in function.params or scope.bindings.get(flag.id, ())[1:]:
                continue
            ways = given.setdefault((scope, word.arg, flag.id), {True: [], False: []})
            ways[turned].append(word.value)
    for (scope, switch, name), ways in given.items():
        if not ways[True] or not ways[False] or not _plain(context, scope, [*ways[True], *ways[False]]):
            continue
        wrong = len(ways[True]) < len(ways[False]) or (
            len(ways[True]) == len(ways[False]) and ways[True][0].lineno > ways[False][0].lineno
        )
        for value in ways[wrong]:
            yield finding(
                RULE.code,
                scope,
                value,
                f"`{switch}` is `{ast.unparse(value)}` here and the opposite in line {ways[not wrong][0].lineno}: one "
                "layer trains where the other evaluates",
                f"write {switch}={name if wrong else 'not ' + name}",
            )


def _is_layer(node: ast.Call) -> bool:
    """Say whether a call makes or runs a layer that has a switch, by the names of Flax."""
    made = node.func.func if isinstance(node.func, ast.Call) else node.func
    word = last_word(made)
    return word in _LAYERS or (isinstance(made, ast.Attribute) and word.lower().strip("_0123456789") in _KEPT)


_LAYERS = frozenset({"Dropout", "BatchNorm", "MultiHeadAttention", "MultiHeadDotProductAttention", "SelfAttention"})
_KEPT = frozenset({"dropout", "drop", "do", "bn", "norm", "batch_norm", "batchnorm"})  # attributes that hold them


def _plain(context: Context, scope: Scope, values: list[ast.expr]) -> bool:
    """Say whether all of some arguments stand in one block, so that all run."""
    paths = context.bodies.paths(scope)
    return len({tuple(paths.get(value, ())) for value in values}) == 1


def _by_place(context: Context) -> Iterator[Finding]:
    """Yield the flags that a call gives for a parameter whose name says the opposite, which the call need not name."""
    for event in context.asked.calls():
        given: list[tuple[int, str | None, ast.expr]] = [(i, None, node) for i, node in enumerate(event.node.args)]
        given += [(-1, word.arg, word.value) for word in event.node.keywords if word.arg in TRAINING]
        for place, word, node in given:
            flag = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node
            if last_word(flag) not in _FLAGS or event.value.starred or in_test(event.scope):
                continue
            name = _parameter(context, event, place, word)
            if name is None or not _as_named(event.scope, flag) or _turned_by_callers(event.scope, node):
                continue
            right = _right(event.scope, node) if name in EVALUATION else _right_of_training(node)
            if right is not None:
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{name}` is True in {'evaluation' if name in EVALUATION else 'training'}, and "
                    f"`{ast.unparse(node)}` is so in {'training' if name in EVALUATION else 'evaluation'}",
                    f"write {name}={right}",
                    _fix(event.scope, node, right),
                )


def _parameter(context: Context, event: CallEvent, place: int, word: str | None) -> str | None:
    """Return the name of the flag of a model that an argument is for, if it means there what it says."""
    if owner_class(context, event.value.callee, event.scope) == "flax.nnx.BatchNorm":
        return "use_running_average" if place == 1 else None
    found: set[str | None] = set()
    for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        function = callee.function
        names = list(function.params)[received(function) :]
        name = word or (names[place] if place < len(names) else None)
        if callee.args or callee.keywords or name is None or name not in function.params:
            return None
        default = function.defaults.get(name)
        if function.owner is None and not (isinstance(default, Const) and isinstance(default.value, bool)):
            return None  # a data set, or how an agent acts
        found.add(name if name in _FLAGS and not _misnamed(function, name) else None)
    return found.pop() if len(found) == 1 else None


def _misnamed(function: FunctionFacts, name: str) -> bool:
    """Say whether a function hands its flag on as if it meant the opposite, or gives it another value first."""
    if function.scope.bindings.get(name, ())[1:]:
        return True
    for node in ast.walk(function.node):
        if isinstance(node, ast.keyword) and node.arg in _FLAGS:
            turned = isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.Not)
            flag = node.value.operand if isinstance(node.value, ast.UnaryOp) else node.value
            if last_word(flag) == name and turned is ((node.arg in TRAINING) is (name in TRAINING)):
                return True
    return False


def _right_of_training(given: ast.expr) -> str | None:
    """Return what must be given for a flag of training in the place of one of evaluation."""
    return f"not {ast.unparse(given)}" if last_word(given) in EVALUATION else None


def _right(scope: Scope, given: ast.expr) -> str | None:
    """Return what must be given in the place of a flag; None if that is right as it is, or not known."""
    if isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not):
        inner = given.operand
        return ast.unparse(inner) if last_word(inner) in EVALUATION and _as_named(scope, inner) else None
    return f"not {ast.unparse(given)}" if last_word(given) in TRAINING and _as_named(scope, given) else None


def _as_named(scope: Scope, flag: ast.expr) -> bool:
    """Say whether a flag is a parameter, an attribute or a constant, and nothing that was turned round before."""
    value = scope.module.values.get(flag)
    if isinstance(value, Free):
        bound = value.scope.bindings.get(value.name, [])
        return bool(bound) and all(isinstance(one, Const | Param) for one in bound)
    if isinstance(value, Param):
        return len(value.function.scope.bindings.get(value.name, ())) <= 1
    if isinstance(value, Attr):
        owner = value.base.function.owner if isinstance(value.base, Param) else None
        stores = owner.stores.get(value.name, ()) if owner is not None else ()
        return all(isinstance(stored, Const | Param) for _, stored in stores)
    return isinstance(value, Const)


def _turned_by_callers(scope: Scope, given: ast.expr) -> bool:
    """Say whether the module hands a flag on turned round under its own name, as by ``block(x, train=not train)``.

    Where that is so, the name means the opposite in what is called.
    """
    inner = given.operand if isinstance(given, ast.UnaryOp) else given
    if not isinstance(scope.module.values.get(inner), Param):
        return False
    word = last_word(inner)
    return any(
        keyword.arg == word
        and isinstance(keyword.value, ast.UnaryOp)
        and isinstance(keyword.value.op, ast.Not)
        and last_word(keyword.value.operand) == word
        for keyword in scope.module.source.of_type(ast.keyword)
    )


def _fix(scope: Scope, given: ast.expr, right: str) -> Fix | None:
    return fix(scope, given, right, Safety.UNSAFE)


RULE = lint_rule(
    "NNX731",
    "inverted-mode",
    "`deterministic` or `use_running_average` that gets a flag of training",
    why="""\
`deterministic=True` switches dropout off, and `use_running_average=True` makes BatchNorm use its stored statistics:
both are for evaluation. PyTorch and Keras have a flag for training instead; handed on as it is, it makes a model train
as if it were evaluated, so that its statistics never change, and evaluate with dropout and the statistics of the batch.
""",
    source="guide from Linen to NNX (`use_running_average=not train`); measured: running means that stay 0",
    check=_check,
    severity="error",
    safety=Safety.UNSAFE,
    mended=(
        (
            """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x, train):
        return self.norm(x, use_running_average=train)
""",
            """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x, train):
        return self.norm(x, use_running_average=not train)
""",
        ),
    ),
    clean=(
        """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x, training: bool = False):
        return self.dropout(x, deterministic=not training)
""",
    ),
)
