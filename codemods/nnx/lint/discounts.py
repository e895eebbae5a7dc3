"""Which factors are discounts of later rewards."""

from __future__ import annotations

import ast
import re

from codemods.nnx.lint.syntax import constant, entry_word
from codemods.nnx.patterns import pattern

_NAME = pattern(r"(^|_)(gamma|discount)(_|$)", re.I)


def is_discount(node: ast.expr) -> bool:
    """Say whether a factor is a discount: it is called one, or is a number a little below one."""
    number = constant(node)
    return bool(_NAME.search(entry_word(node))) or (isinstance(number, float) and 0.9 <= number < 1)
