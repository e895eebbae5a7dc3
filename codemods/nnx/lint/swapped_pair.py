"""NNX655: the pair that ``top_k`` gives, under each other's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_INDEX = pattern(
    r"(top_?k?_?|k_?|best_?|beam_?|sel\w*_)?(i|ix|idx|idxs|inds?|index|indices|indexes|ids|positions?)(_\d|_k)?"
)
_VALUE = pattern(
    r"(top_?k?_?|k_?|best_?|beam_?|sel\w*_)?(v|vals?|values?|scores?|probs?|logits?|logps?|weights?|distances?|dists?)(_\d|_k)?"
)

# pairs of what is known: the first and the second of them
_PAIRS = {"jax.lax.top_k": "values", "jax.lax.approx_max_k": "values", "jax.lax.approx_min_k": "values"}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *map(last, _PAIRS)):
        statement = event.statement
        if name not in _PAIRS or in_test(event.scope) or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0] if len(statement.targets) == 1 else None
        if statement.value is not event.node or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        first, second = (last_word(one).lower() for one in target.elts)
        if _INDEX.fullmatch(first) and _VALUE.fullmatch(second):
            yield finding(
                RULE.code,
                event.scope,
                statement,
                f"`{last(name)}` gives the values first: `{first}` are values, and `{second}` their places",
                f"exchange the names: {second}, {first} = ...",
            )


_BAD = """\
import jax
import jax.numpy as jnp


def sample(key, logits, k):
    indices, values = jax.lax.top_k(logits, k)
    return indices[jax.random.categorical(key, values)]
"""

RULE = lint_rule(
    "NNX655",
    "swapped-pair",
    "the values and the places that top_k gives, under each other's names",
    why="""\
`jax.lax.top_k` gives the values first and their places second. Under each other's names scores are taken for places,
which indexing by a float refuses or a conversion to integers hides, and places for scores.
""",
    source="jax.lax.top_k; measured: TypeError, or tokens that nobody chose",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("indices, values =", "values, indices ="),),
)
