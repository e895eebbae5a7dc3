"""Options of the command line, as ``argparse`` adds and reads them."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Value


def is_parsed(value: Value) -> bool:
    """Say whether a value is what ``parser.parse_args()`` gives, whose attributes are the options."""
    return isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "parse_args"


def option_word(name: ast.expr) -> str:
    """Return the attribute of an option that is added under a name: ``run_name`` of ``"--run-name"``."""
    return str(constant(name)).lstrip("-").replace("-", "_")
