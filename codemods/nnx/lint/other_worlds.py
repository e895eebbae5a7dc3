"""Code that runs with other releases than the ones that findings are about: fallbacks, and branches of a release."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import root_of
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source

# what a call raises that a release has not, or not in this way
_MISSING = frozenset({"TypeError", "AttributeError", "ImportError", "ModuleNotFoundError", "NotImplementedError"})
_LIBRARY = r"(jaxlib|jax|flax|nnx|optax|orbax|chex|haiku|equinox)"
_VERSION = pattern(rf"{_LIBRARY}\w*version|version\w*{_LIBRARY}")
_HOMES = frozenset({"jax", "jnp", "lax", "flax", "nnx", "linen", "nn", "optax", "orbax", "ocp", "chex", "jsp", "jtu"})
_ASKING = (b"hasattr", b"ersion", b"ERSION")


def other_worlds(source: Source) -> list[tuple[int, int]]:
    """Return where a module has statements for other releases: below ``except TypeError`` and the like, and below a
    test of a release or of what a library has.

    Args:
        source: the module.

    Returns:
        The first byte of each such part, and the one behind its last.
    """
    found: list[tuple[int, int]] = []
    tests = any(map(source.mentions, _ASKING))
    if not tests and not source.mentions(b"except"):
        return found
    for node in source.nodes:
        blocks: list[list[ast.stmt]] = []
        if isinstance(node, ast.ExceptHandler):
            if node.type is not None and _missing(node.type):
                blocks = [node.body]
        elif tests and isinstance(node, ast.If) and _of_release(node.test):
            blocks = [node.body, node.orelse]
        found += [(source.span(block[0])[0], source.span(block[-1])[1]) for block in blocks if block]
    return found


def _missing(node: ast.expr) -> bool:
    """Say whether a handler takes only errors that tell of something that is not there."""
    types = elements(node)
    return bool(types) and all(last_word(one) in _MISSING for one in types)


def _of_release(test: ast.expr) -> bool:
    """Say whether a condition asks for the release of a library, or whether it has something."""
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and node.attr in {"__version__", "__version_info__"}:
            return True
        if isinstance(node, ast.Name | ast.Attribute) and _VERSION.search(last_word(node).lower()):
            return True
        if isinstance(node, ast.Call) and last_word(node.func) == "hasattr" and node.args:
            if last_word(root_of(node.args[0])) in _HOMES:
                return True
    return False
