"""Names that JAX, Optax, Flax and Orbax have not, and arguments that their functions do not take; part of NNX762."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.lint.attempts import asks, attempted, importing, unread
from codemods.nnx.lint.layer_signature import ELSEWHERE, NEEDED
from codemods.nnx.lint.public_names import NEWEST, ROOTS, alike, meant, misfit, names, strange
from codemods.nnx.lint.removed_jax import GONE
from codemods.nnx.source import Source
from codemods.nnx.values import Ref

Wrong = tuple[Scope, ast.AST, str, str]
# functions whose arguments other rules look at: NNX710, 763, 828, 829, 874, 885, 984
_ELSEWHERE = frozenset(
    {"jit", "pmap", "pjit", "scan", "cond", "switch", "while_loop", "fori_loop", "map", "concatenate", "stack",
     "vstack", "hstack", "column_stack"}
)  # fmt: skip
# what NNX881 tells of, and NNX302, as far as the release that a project is pinned to has not
_GONE = frozenset({*GONE, "jax.tree_multimap", "jax.tree_util.tree_multimap"})
_BRIEF = {"jax.numpy": "jnp", "flax.nnx": "nnx", "flax.linen": "nn"}


def no_such_names(context: Context) -> Iterator[Wrong]:
    """Yield the places of names that are not there, with what is said and what to write."""
    for module, roots in _importing(context):
        yield from _imported(context, module)
        lazy: set[ast.AST] | None = None
        for event in module.attributes:
            node = event.node
            if event.context != "load" or node.attr.startswith("_"):
                continue
            home = _written(node.value, roots)
            if not names(home) or node.attr in names(home) or f"{home}.{node.attr}" in _GONE:
                continue
            there = "" if node.attr in context.shared(_stored) else meant(home, node.attr)
            if not there or context.flow.resolve(context.flow.here(event.base, event.scope)).value != Ref(home):
                continue
            if not attempted(context, node, event.scope) and not asks(event.statement):
                lazy = unread(module) if lazy is None else lazy
                if node not in lazy:
                    yield event.scope, node, f"there is no `{_shown(home)}.{node.attr}`", _instead(there)


def misfits(context: Context) -> Iterator[Wrong]:
    """Yield the calls of functions with arguments that they do not take, with what is said and what to write."""
    for module, roots in _importing(context):
        for event in module.calls:
            home, _, word = _written(event.node.func, roots).rpartition(".")
            if word in _ELSEWHERE or not names(home) or (home == "flax.nnx" and _told(event.node, word)):
                continue
            wrong = misfit(home, word, event.node)
            if not wrong or context.flow.calls.name(event) != f"{home}.{word}":
                continue
            if not attempted(context, event.node, event.scope) and not asks(event.statement):
                unknown = strange(home, word, event.node)
                like = alike(home, word, unknown) if unknown else ""
                yield event.scope, event.node, wrong, f"it is called {like}" if like else "see its signature"


def _importing(context: Context) -> Iterator[tuple[ModuleFacts, Mapping[str, str]]]:
    """Yield the modules that import one of the libraries and may run with what the table knows, with what they call
    it; none in the libraries themselves."""
    if any(module.name.partition(".")[0] in ROOTS for module in context.project.modules):
        return
    for module in context.asked.modules:
        roots = module.source.once(_roots)
        if roots and not context.options.newer_jax(module.source.path, NEWEST):
            yield module, roots


def _told(call: ast.Call, word: str) -> bool:
    """Say whether NNX710 tells of the arguments of a layer."""
    if word not in NEEDED:
        return False
    given = {one.arg for one in call.keywords}
    return bool(given & {*ELSEWHERE, "features"}) or not given.issuperset(NEEDED[word][len(call.args) :])


def _imported(context: Context, module: ModuleFacts) -> Iterator[Wrong]:
    for statement in module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level or not names(statement.module or ""):
            continue
        for alias in statement.names:
            gone = alias.name[0] in "*_" or f"{statement.module}.{alias.name}" in _GONE
            there = "" if gone else meant(statement.module or "", alias.name)
            if there and not attempted(context, statement, importing(context, module, statement)):
                yield module.scope, statement, f"there is no `{statement.module}.{alias.name}`", _instead(there)


def _stored(context: Context) -> frozenset[str]:
    """Return the names of attributes that the project sets anywhere, as a shim does for older releases."""
    found = {event.node.attr for module in context.project.modules for event in module.attributes
             if event.context == "store"}  # fmt: skip
    return frozenset(found)


def _roots(source: Source) -> dict[str, str]:
    """Return the full names of what a module imports of the libraries, by the names that it gives to them."""
    found: dict[str, str] = {}
    for statement in source.of_type(ast.Import, ast.ImportFrom):
        if isinstance(statement, ast.Import):
            for one in statement.names:
                root = one.name.partition(".")[0]
                if root in ROOTS:
                    found[one.asname or root] = one.name if one.asname else root
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            if (statement.module or "").partition(".")[0] in ROOTS:
                found |= {one.asname or one.name: f"{statement.module}.{one.name}" for one in statement.names}
    return found


def _written(node: ast.AST, roots: Mapping[str, str]) -> str:
    """Return the full name of what is written; empty if it does not begin with the name of an import."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = roots.get(node.id) if isinstance(node, ast.Name) else None
    return ".".join([root, *reversed(parts)]) if root else ""


def _shown(home: str) -> str:
    return _BRIEF.get(home, home)


def _instead(there: str) -> str:
    if there == "numpy":
        return "NumPy alone has it"
    home, _, word = there.rpartition(".")
    return f"perhaps {_shown(home)}.{word}"
