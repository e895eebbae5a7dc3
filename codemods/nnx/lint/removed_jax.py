"""NNX881: names that JAX and Optax took away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding
from codemods.nnx.lint.attempts import asks, attempted, importing, unread
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import once
from codemods.nnx.lint.public_names import gone, homes, names
from codemods.nnx.options import newer
from codemods.nnx.values import Ref

#: The first release without the name, as the changelog of JAX has it, and what to write instead; found by asking JAX
# 0.4.35, 0.6.2 and 0.10.2 for every name
GONE = {
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
    "jax.ad_util": ("0.4.13", "jax.interpreters.ad"),
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
    "jax.numpy.NINF": ("0.4.26", "-jnp.inf"),
    "jax.numpy.NZERO": ("0.4.26", "-0.0"),
    "jax.numpy.PZERO": ("0.4.26", "0.0"),
    "jax.numpy.round_": ("0.4.38", "jnp.round"),
    "jax.nn.normalize": ("0.4.31", "jax.nn.standardize"),
    "jax.random.default_prng_impl": ("0.4.26", "jax.config.jax_default_prng_impl"),
    "jax.lax.prod": ("0.4.20", "math.prod for sizes, jnp.prod for arrays"),
    "jax.clear_backends": ("0.4.38", "jax.clear_caches"),
    "optax.additive_weight_decay": ("0.4.26", "optax.add_decayed_weights"),
}
_OF_TREES = "tree_"  # NNX302 tells of these
_NEWER = "0.7.2"  # the newest release that Flax 0.11 runs with


def _check(context: Context) -> Iterator[Finding]:
    found: dict[tuple[ModuleFacts, str], list[tuple[Scope, ast.AST]]] = {}
    words = _words()
    for event in context.asked.attributes():
        if event.node.attr not in words or event.context != "load":
            continue
        base = context.flow.resolve(context.flow.here(event.base, event.scope)).value
        name = f"{base.name}.{event.node.attr}" if isinstance(base, Ref) else ""
        if not _gone(context, name, event.scope) or attempted(context, event.node, event.scope):
            continue
        if event.node in unread(event.scope.module):
            continue
        if not asks(event.statement):
            found.setdefault((event.scope.module, name), []).append((event.scope, event.node))
    for module in context.asked.modules:
        for statement in module.imports:
            if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                for alias in statement.names:
                    name = f"{statement.module}.{alias.name}"
                    if alias.name not in words or not _gone(context, name, module.scope):
                        continue
                    scope = importing(context, module, statement)
                    if not attempted(context, statement, scope):
                        found.setdefault((module, name), []).append((module.scope, statement))
    for (module, name), places in found.items():
        if name == "jax.ops.index" and any(one is module and other.startswith(f"{name}_") for one, other in found):
            continue  # it goes with the functions that take what it gives
        library = "Optax" if name.startswith("optax.") else "JAX"
        yield from once(RULE.code, places, f"{library} has no {name} any more", _instead(name, places))


@cache
def _words() -> frozenset[str]:
    """Return the last parts of all names that are gone."""
    listed = {name for home in homes() if _looked_at(home) for name in names(home) if gone(home, name)}
    return frozenset({*listed, *(name.rpartition(".")[2] for name in GONE)})


def _looked_at(home: str) -> bool:
    return home.partition(".")[0] in {"jax", "optax"}


def _instead(name: str, places: list[tuple[Scope, ast.AST]]) -> str:
    """Return what to write for a name; of a module that is no module any more, how it is imported."""
    if name not in GONE:
        return "the release notes say what takes its place"
    if name != "jax.config.config" or not any(isinstance(node, ast.ImportFrom) for _, node in places):
        return f"write {GONE[name][1]}"
    alias = next(a for _, node in places if isinstance(node, ast.ImportFrom) for a in node.names if a.name == "config")
    return "write from jax import config" + (f" as {alias.asname}" if alias.asname else "")


def _gone(context: Context, name: str, scope: Scope) -> bool:
    """Say whether some release that the project allows is without a name."""
    path = scope.module.source.path
    if name in GONE:
        return not context.options.older_jax(path, GONE[name][0])
    home, _, word = name.rpartition(".")
    release = gone(home, word) if _looked_at(home) and not word.startswith(_OF_TREES) else ""
    if not release or (newer(release, _NEWER) and context.options.target != "0.12"):
        return False
    return not context.options.older_jax(path, release)


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
