"""Errors of releases that do not go together."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_FLAX = r"flax"

ENTRIES = (
    Entry(
        "flax-jax-import",
        "this Flax cannot be imported with the installed JAX",
        (
            Wording(r"cannot import name '(mutable_array|MutableArray|hijax)' from 'jax[\w.]*'"),
            Wording(r"cannot import name '\w+' from 'jax[\w.]*'", r"site-packages/flax/"),
            Wording(r"cannot import name 'Effect' from 'jax\.extend\.core'"),
            Wording(r"module 'jax[\w.]*' has no attribute '\w+'", r"site-packages/flax/.*<module>"),
            Wording(r"No module named 'jax\.[\w.]+'", r"site-packages/flax/"),
            Wording(r"ImportError.*\bhijax\b"),
        ),
        "Flax has no upper bound for JAX, so an old Flax gets the newest JAX: 0.10.7 and 0.11.0 run with jax 0.6.0 to "
        "0.7.2, 0.11.1 to 0.12.0 with 0.6.0 to 0.8.1, 0.12.2 to 0.12.6 with 0.8.1 and later, 0.12.7 and 0.12.8 with "
        "0.10 and later.",
        "Pin both. `nnxmigrate doctor` says which pair to take, `--bump` writes it.",
        "every version, by pairs",
    ),
    Entry(
        "flax-jax-abstracted-axes",
        "this Flax calls jit with an option that the installed JAX no longer has",
        (Wording(r"jit\(\) got an unexpected keyword argument 'abstracted_axes'"),),
        "JAX 0.8.2 removed it; Flax up to 0.12.1 uses it in nnx.jit.",
        "Pin jax below 0.8.2, or raise Flax to 0.12.2 or later; `nnxmigrate doctor` says which pair to take.",
        "Flax up to 0.12.1 with jax 0.8.2 and later",
    ),
    Entry(
        "removed-jax-name",
        "a name of JAX was removed",
        (
            Wording(r"jax\.(tree_\w+|xla|\w+) was removed in JAX"),
            Wording(r"module 'jax' has no attribute '(tree_\w+|xla|linear_util|abstract_arrays|curry)'"),
        ),
        "jax.tree_map and its relatives went with JAX 0.6.0, which Flax 0.10.7 and later need.",
        "Write `jax.tree.map`, `jax.tree.leaves`, `jax.tree.flatten`, …, which exist from JAX 0.4.25.",
        "JAX 0.6.0 and later",
    ),
    Entry(
        "config-option",
        "Flax has no configuration option of that name",
        (Wording(r"Unrecognized config option: flax_(mutable_array|array_ref|pytree_module|always_shard_variable)"),),
        "flax_mutable_array (0.10.7 and 0.11.0) became flax_array_ref (0.11.1); flax_pytree_module came with 0.11.0, "
        "flax_always_shard_variable with 0.12.0.",
        "Use the name of the installed version, or leave the option alone.",
        "every version, for the names of others",
    ),
    Entry(
        "nnx-module",
        "flax.nnx has no submodule of that name",
        (Wording(r"No module named 'flax\.nnx\.\w+'"),),
        "flax.nnx.object became flax.nnx.pytreelib in 0.11.1; submodules are private and move.",
        "Import from flax.nnx: nnx.Module, nnx.Pytree (0.11.1 and later).",
        "every version, for the names of others",
    ),
)
