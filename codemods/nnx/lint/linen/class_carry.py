"""NNX649: first carries of Linen cells that are asked of the class instead of a cell."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, wanted
from codemods.nnx.lint.places import foreign

_CELLS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell", "MGUCell")
_NAMES = {f"{HOME}{cell}.initialize_carry": cell for cell in _CELLS}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "initialize_carry"):
        if name in _NAMES and event.node.args and wanted(context, event):
            cell = _NAMES[name]
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"initialize_carry is a method of a cell that is made, and no longer one of the class {cell}",
                f"nn.{cell}(features).initialize_carry(key, (*batch_shape, input_features))",
            )


_BAD = """\
import jax
from flax import linen as nn

carry = nn.GRUCell.initialize_carry(jax.random.key(0), (2,), 4)
"""

RULE = lint_rule(
    "NNX649",
    "linen-class-carry",
    "initialize_carry called on the class of a Linen cell",
    why="""\
A recurrent cell knows its own size now: `nn.GRUCell(features).initialize_carry(key, input_shape)` gives its first
carry, for inputs of that shape. Called on the class, with a batch shape and a size as before 0.7, it raises a
TypeError or an AttributeError.
""",
    source="Flax upgrade guide for RNN cells; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "nn.GRUCell.initialize_carry(jax.random.key(0), (2,), 4)",
            "nn.GRUCell(4).initialize_carry(jax.random.key(0), (2, 3))",
        ),
    ),
)
