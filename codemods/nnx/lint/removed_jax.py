"""NNX881: names that JAX took away before any release that Flax NNX runs on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import once
from codemods.nnx.values import Ref

# the first release without the name, as the changelog of JAX has it, and what to write instead; found by asking JAX
# 0.4.35, 0.6.2 and 0.10.2 for every name
_GONE = {
    "jax.numpy.trapz": ("0.4.24", "jax.scipy.integrate.trapezoid"),
    "jax.numpy.in1d": ("0.4.24", "jnp.isin"),
    "jax.numpy.row_stack": ("0.4.24", "jnp.vstack"),
    "jax.numpy.alltrue": ("0.4.16", "jnp.all"),
    "jax.numpy.sometrue": ("0.4.16", "jnp.any"),
    "jax.numpy.product": ("0.4.16", "jnp.prod"),
    "jax.numpy.cumproduct": ("0.4.16", "jnp.cumprod"),
    "jax.numpy.msort": ("0.4.9", "jnp.sort(x, axis=0)"),
    "jax.numpy.issubsctype": ("0.4.24", "jnp.issubdtype"),
    "jax.numpy.DeviceArray": ("0.4.14", "jax.Array"),
    "jax.interpreters.xla.DeviceArray": ("0.4.11", "jax.Array"),
    "jax.random.shuffle": ("0.4.31", "jax.random.permutation, with independent=True for an array of several axes"),
    "jax.random.KeyArray": ("0.4.24", "jax.Array"),
    "jax.random.PRNGKeyArray": ("0.4.24", "jax.Array"),
    "jax.xla_computation": ("0.4.34", "jax.jit(f).lower(...)"),
    "jax.abstract_arrays": ("0.4.17", "jax.core.ShapedArray"),
    "jax.linear_util": ("0.4.24", "jax.extend.linear_util"),
    "jax.ops.index_update": ("0.3.2", "x.at[index].set(value)"),
    "jax.ops.index_add": ("0.3.2", "x.at[index].add(value)"),
    "jax.ops.index_mul": ("0.3.2", "x.at[index].multiply(value)"),
    "jax.ops.index_min": ("0.3.2", "x.at[index].min(value)"),
    "jax.ops.index_max": ("0.3.2", "x.at[index].max(value)"),
    "jax.ops.index": ("0.3.2", "the index itself, as in x.at[index]"),
    "jax.partial": ("0.2.21", "functools.partial"),
    "jax.curry": ("0.4.14", "functools.partial"),
    "jax.soft_pmap": ("0.3.18", "jax.pmap"),
    "jax.custom_transforms": ("0.2.0", "jax.custom_vjp"),
    "jax.lax.tie_in": ("0.4.29", "its second argument"),
    "jax.experimental.optimizers": ("0.3.16", "jax.example_libraries.optimizers, or optax"),
    "jax.experimental.stax": ("0.3.16", "jax.example_libraries.stax, or flax.nnx"),
    "jax.experimental.maps": ("0.4.31", "jax.shard_map, or jax.vmap"),
    "jax.experimental.loops": ("0.3.16", "jax.lax.fori_loop"),
    "jax.experimental.PartitionSpec": ("0.4.11", "jax.sharding.PartitionSpec"),
    "jax.config.config": ("0.4.25", "jax.config"),
}
_WORDS = frozenset(name.rpartition(".")[2] for name in _GONE)
_HOMES = frozenset(name.rpartition(".")[0] for name in _GONE)


def _check(context: Context) -> Iterator[Finding]:
    found: dict[tuple[ModuleFacts, str], list[tuple[Scope, ast.AST]]] = {}
    for event in context.asked.attributes():
        if event.node.attr not in _WORDS or event.context != "load":
            continue
        base = context.flow.resolve(context.flow.here(event.base, event.scope)).value
        name = f"{base.name}.{event.node.attr}" if isinstance(base, Ref) else ""
        if not _gone(context, name, event.scope) or _tried(context, event.node, event.scope):
            continue
        if event.node in _unread(event.scope.module):
            continue
        if not _asked_for(event.statement):
            found.setdefault((event.scope.module, name), []).append((event.scope, event.node))
    for module in context.asked.modules:
        for statement in module.imports:
            if isinstance(statement, ast.ImportFrom) and statement.module in _HOMES and not statement.level:
                for alias in statement.names:
                    name = f"{statement.module}.{alias.name}"
                    if _gone(context, name, module.scope) and not _tried(context, statement, module.scope):
                        found.setdefault((module, name), []).append((module.scope, statement))
    for (module, name), places in found.items():
        if name == "jax.ops.index" and any(one is module and other.startswith(f"{name}_") for one, other in found):
            continue  # it goes with the functions that take what it gives
        yield from once(RULE.code, places, f"JAX has no {name} any more", f"write {_instead(name, places)}")


def _unread(module: ModuleFacts) -> set[ast.AST]:
    """Return the nodes of annotations that nothing evaluates, under ``from __future__ import annotations``."""
    lazy = any(
        isinstance(one, ast.ImportFrom)
        and one.module == "__future__"
        and any(a.name == "annotations" for a in one.names)
        for one in module.source.tree.body
    )
    found: set[ast.AST] = set()
    for node in module.source.nodes if lazy else ():
        written = node.returns if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        if isinstance(node, ast.arg | ast.AnnAssign):
            written = node.annotation
        if written is not None:
            found.update(ast.walk(written))
    return found


def _instead(name: str, places: list[tuple[Scope, ast.AST]]) -> str:
    """Return what to write for a name; of a module that is no module any more, how it is imported."""
    if name != "jax.config.config" or not any(isinstance(node, ast.ImportFrom) for _, node in places):
        return _GONE[name][1]
    alias = next(a for _, node in places if isinstance(node, ast.ImportFrom) for a in node.names if a.name == "config")
    return "from jax import config" + (f" as {alias.asname}" if alias.asname else "")


def _gone(context: Context, name: str, scope: Scope) -> bool:
    """Say whether some JAX that the project allows is without a name."""
    return name in _GONE and not context.options.older_jax(scope.module.source.path, _GONE[name][0])


def _tried(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a node is one of several ways: in a ``try``, or below a test of what there is or of a version."""
    return any(
        isinstance(block, ast.Try) or (isinstance(block, ast.If | ast.IfExp) and _asked_for(block.test))
        for block, _ in context.bodies.paths(scope).get(node, ())
    )


def _asked_for(node: ast.AST) -> bool:
    """Say whether something asks whether a name is there, or which version runs."""
    words = [str(getattr(n, "id", getattr(n, "attr", ""))) for n in ast.walk(node)]
    return any(word == "hasattr" or "version" in word.lower() for word in words)


RULE = lint_rule(
    "NNX881",
    "removed-jax-name",
    "a name that JAX took away long ago",
    why="""\
Code written for older releases of JAX uses names that no release has any more which Flax NNX runs on: an AttributeError
or ImportError. Reading a name under `try`, or after asking for it with `hasattr`, is left alone, and so are projects
whose pins or locks allow only releases of JAX that have it, unless `--to` asks for a Flax.
""",
    source="changelog of JAX; found by asking JAX 0.4.35, 0.6.2 and 0.10.2 for every name",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def area(y, x):
    return jnp.trapz(y, x)
""",
    ),
    clean=(
        """\
import jax


def area(y, x):
    return jax.scipy.integrate.trapezoid(y, x)
""",
        """\
from __future__ import annotations

import jax


def noisy(x: jax.Array, key: jax.random.KeyArray) -> jax.Array:
    return x + jax.random.normal(key, x.shape)
""",
    ),
)
