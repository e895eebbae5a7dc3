"""NNX646: names that are looked for in paths which hold no such thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import is_linen
from codemods.nnx.lint.names import WITH_PATH, last
from codemods.nnx.lint.path_filters import compared
from codemods.nnx.lint.places import foreign, in_test, literal, resolved
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Sequence

_OF_NAMES = frozenset({"flax.traverse_util.path_aware_map"})
_LAYERS = frozenset({"BatchNorm", "Conv", "ConvTranspose", "Dense", "DenseGeneral", "Embed", "GRUCell", "GroupNorm",
                     "LSTMCell", "LayerNorm", "MultiHeadDotProductAttention", "SelfAttention"})  # fmt: skip
_OWN_KEYS = (b"register_pytree_with_keys", b"register_pytree_key", b"tree_flatten_with_keys")
_OPERATORS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def _check(context: Context) -> Iterator[Finding]:
    texts = [module.source.data for module in context.project.modules]
    own_keys = any(word in text for text in texts for word in _OWN_KEYS)
    for event, name in foreign(context, *sorted({last(one) for one in (*WITH_PATH, *_OF_NAMES)})):
        if (name not in WITH_PATH and name not in _OF_NAMES) or not event.value.args or in_test(event.scope):
            continue
        if event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        function = _asked(context, event)
        if function is None or function.scope.module not in context.asked:
            continue
        if name in WITH_PATH:
            for node in () if own_keys else _with_entries(context, function):
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    "the entries of this path are objects as DictKey(key='bias'), and none equals a name",
                    "compare their keys: [entry.key for entry in path], path[-1].key",
                )
            continue
        for node, word in compared(function.node):
            meant = _part_of(context, word)
            if meant:
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f'the path is a tuple of whole names, as `{meant}`, and none is "{word}": this matches nothing',
                    f'ask each name: any("{word}" in name for name in path)',
                )


def _asked(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the function of the project that gets the paths."""
    functions = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    return functions[0].function if len(functions) == 1 and not functions[0].function.decorators else None


def _with_entries(context: Context, function: FunctionFacts) -> Iterator[ast.Compare]:
    """Yield the comparisons of a path, or of an entry of it, with names."""
    node, scope = function.node, function.scope
    if not isinstance(node, ast.Lambda | ast.FunctionDef):
        return
    arguments = [*node.args.posonlyargs, *node.args.args]
    inner = list(ast.walk(node))
    if len(arguments) < 2:
        return
    path = arguments[0].arg
    if any(isinstance(n, ast.Name) and n.id == path and not isinstance(n.ctx, ast.Load) for n in inner):
        return
    if any(isinstance(n, ast.arg) and n.arg == path and n is not arguments[0] for n in inner):
        return
    rounds = [(clause.target.id, clause.iter) for clause in _rounds(inner) if isinstance(clause.target, ast.Name)]
    entries = {name for name, over in rounds if _is_name(over, path)}
    stored = [n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for one in inner:
        if not isinstance(one, ast.Compare) or len(one.ops) != 1 or not isinstance(one.ops[0], _OPERATORS):
            continue
        left, right = one.left, one.comparators[0]
        if isinstance(one.ops[0], ast.In | ast.NotIn) and _is_name(right, path):
            over = [each for name, each in rounds if _is_name(left, name)]
            if isinstance(literal(context, left, scope), str):
                yield one
            elif len(over) == 1 and stored.count(left.id if isinstance(left, ast.Name) else "") == 1:
                if _are_names(context, over[0], scope):
                    yield one
            continue
        entry = (isinstance(left, ast.Name) and left.id in entries and stored.count(left.id) == 1) or (
            isinstance(left, ast.Subscript) and _is_name(left.value, path) and type(constant(left.slice)) is int
        )
        if not entry:
            continue
        if isinstance(one.ops[0], ast.In | ast.NotIn):
            named = _are_names(context, right, scope)
        else:
            named = isinstance(literal(context, right, scope), str)
        if named:
            yield one


def _rounds(nodes: list[ast.AST]) -> Iterator[ast.comprehension | ast.For]:
    """Yield what goes through something: the clauses of comprehensions, and loops."""
    for node in nodes:
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            yield from node.generators
        elif isinstance(node, ast.For):
            yield node


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _are_names(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is several names, also under a name of its own."""
    found = resolved(context, node, scope)
    made = found.value.node if found is not None and isinstance(found.value, Sequence) else None
    value = constant(made if isinstance(made, ast.expr) else node)
    return isinstance(value, tuple | list | set) and bool(value) and all(isinstance(one, str) for one in value)


def _part_of(context: Context, word: str) -> str:
    """Return the name of a layer that begins with a word which no layer of the project has as its name."""
    strings, attributes, filled = context.shared(_spoken)
    if (
        strings.get(word, 0)
        or word in attributes
        or any(word.startswith(one) or one.startswith(word) for one in filled)
    ):
        return ""
    if word in _LAYERS or any(cls.name == word and is_linen(context, cls) for cls in context.project.classes()):
        return f"{word}_0"
    begun = re.compile(rf"{re.escape(word)}(_|\d)")
    named = sorted(one for one in context.shared(_given_names) if begun.match(one))
    return named[0] if word and named else ""


def _spoken(context: Context) -> tuple[dict[str, int], set[str], set[str]]:
    """Return how often strings stand elsewhere than before ``in``, and attributes, and beginnings of composed names."""
    strings: dict[str, int] = {}
    attributes: set[str] = set()
    filled: set[str] = set()
    for module in context.project.modules:
        for node in ast.walk(module.scope.node):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings[node.value] = strings.get(node.value, 0) + 1
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                    strings[node.left.value] = strings.get(node.left.value, 0) - 1
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                attributes.add(node.attr)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                attributes.add(node.target.id)
            elif isinstance(node, ast.keyword) and node.arg == "name" and not isinstance(node.value, ast.Constant):
                first = node.value.values[0] if isinstance(node.value, ast.JoinedStr) and node.value.values else None
                text = first.value if isinstance(first, ast.Constant) else ""
                filled.add(text if isinstance(text, str) else "")
    return strings, attributes, filled


def _given_names(context: Context) -> set[str]:
    """Return the names that calls give what they make."""
    return {
        keyword.value.value
        for module in context.project.modules
        for event in module.calls
        for keyword in event.node.keywords
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
    }


_BAD = """\
import jax
import jax.numpy as jnp
import optax

params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
mask = jax.tree_util.tree_map_with_path(lambda path, _: "bias" not in path, params)
tx = optax.adamw(1e-3, mask=mask)
state = tx.init(params)
"""
_LINEN = """\
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax import traverse_util


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(4, name="trunk_0")(x))
        return nn.Dense(2, name="head")(x)


params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
labels = traverse_util.path_aware_map(lambda path, _: "frozen" if "trunk" in path else "train", params)
tx = optax.multi_transform({"train": optax.adam(1e-3), "frozen": optax.set_to_zero()}, labels)
state = tx.init(params)
"""

RULE = lint_rule(
    "NNX646",
    "path-entries",
    "a name that is looked for in a path which cannot hold it",
    why="""\
The paths of `jax.tree_util.tree_map_with_path` are tuples of objects as DictKey(key='bias'): none of them equals a
text, so that `"bias" in path` is never true. The paths of `flax.traverse_util.path_aware_map` are tuples of whole
names, in which `"trunk" in path` does not find `trunk_0`. Nothing is frozen then, or everything decays.
""",
    source="measured on Flax 0.11.2 and 0.12.8: no leaf is matched",
    severity="error",
    check=_check,
    bad=(_BAD, _LINEN),
    clean=(
        _BAD.replace('"bias" not in path', 'path[-1].key != "bias"'),
        _LINEN.replace('"trunk" in path', '"trunk" in path[0]'),
    ),
)
