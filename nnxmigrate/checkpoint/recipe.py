"""The Flax guide's recipe for checkpoints that are in memory already, with its faults removed.

The guide tells programs to restore the old checkpoint, drop its RNG state, and merge the rest into a new model under
``jax.jit``. Printed as it is, the recipe fails on lists of layers and on optimizers, loses parameters below a key
``rngs``, keeps RNG state under other names, hides missing and reshaped parameters behind fresh initial values, and
copies every parameter. :func:`fix_checkpoint` keeps its idea. To convert what is on a disk, ``nnxmigrate fix-ckpt``
is faster by far and needs no memory for parameters.

Source: https://flax.readthedocs.io/en/latest/migrating/nnx_010_to_nnx_011.html, "Loading Checkpoints with RNGs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nnxmigrate.checkpoint.initialise import Program, array_type, is_empty, named_leaves
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.planning import make_plan
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree


def fix_checkpoint(checkpoint: Any, make_model: Callable[[Any], Any], rngs: Any) -> Any:
    """Put the parameters of a restored NNX 0.10 checkpoint and new RNG state together.

    RNG state is found by its structure and type, whatever its name; ``value`` suffixes may be there or not. The merge
    runs under ``jax.jit``, where the new model's initialisers are dead code, and takes over the checkpoint's buffers:
    no parameter exists twice. Arrays keep their shardings. NumPy arrays and Python numbers go around ``jax.jit``,
    which would narrow them to 32 bits.

    Example::

        checkpoint = ocp.StandardCheckpointer().restore(path)
        state = fix_checkpoint(checkpoint, lambda rngs: Model(rngs=rngs), nnx.Rngs(params=0, dropout=1))
        nnx.update(model, state)

    Args:
        checkpoint: nested dicts and lists of arrays, as restored; or an ``nnx.State``. Its arrays are donated: do not
            use them afterwards.
        make_model: builds the new model, or ``nnx.ModelAndOptimizer``, from an ``nnx.Rngs``.
        rngs: the ``nnx.Rngs`` for the new RNG state; left unchanged.

    Returns:
        The ``nnx.State`` of the new model, to be given to ``nnx.update`` or saved.

    Raises:
        MisfitError: if leaves are missing, unknown to the model or of another shape; the message names them.
        CheckpointError: if building the model fails.
    """
    import jax
    from flax import nnx

    def make() -> Any:
        return nnx.state(make_model(nnx.clone(rngs)))

    values = {leaf.path: leaf.value for leaf in named_leaves(checkpoint) if not is_empty(leaf.value)}
    tree = _in_memory(values)
    program = Program(make)
    plan = make_plan(tree, program.target)
    if plan.unexpected and program.may_hide_arrays:
        program.build()
        plan = make_plan(tree, program.target)
    plan.require_fit()
    stored = _by_origin(plan, program, values)
    arrays = {path: value for path, value in stored.items() if isinstance(value, jax.Array)}

    def merged(kept: Mapping[int, Any]) -> Any:
        state = make()
        flat, structure = jax.tree.flatten(state)
        paths = [leaf.path for leaf in named_leaves(state) if not is_empty(leaf.value)]
        known = [0 if path in stored else leaf for path, leaf in zip(paths, flat, strict=True)]
        return jax.tree.unflatten(structure, [kept.get(at, leaf) for at, leaf in enumerate(known)])

    order = program.paths
    donated = {at: arrays[path] for at, path in enumerate(order) if path in arrays}
    state = merged(donated) if program.eager else jax.jit(merged, donate_argnums=0)(donated)
    flat, structure = jax.tree.flatten(state)
    numbers = {at: stored[path] for at, path in enumerate(order) if path in stored and path not in arrays}
    return jax.tree.unflatten(structure, [numbers.get(at, leaf) for at, leaf in enumerate(flat)])


def _in_memory(values: Mapping[Path, Any]) -> StoredTree:
    """Describe restored values as if they were stored."""
    leaves: dict[Path, Leaf] = {}
    for path, value in values.items():
        kind, shape, dtype, key_impl = array_type(value)
        leaves[path] = Leaf(path, (), kind, shape, dtype, key_impl)
    return StoredTree(leaves, {}, False, False, True, False, {}, None, {})


def _by_origin(plan: Plan, program: Program, values: Mapping[Path, Any]) -> dict[Path, Any]:
    """Return the values that are kept, by their paths in the new state; key data become the keys they are."""
    import jax

    origins = {path: leaf.origin for path, leaf in program.target[plan.layout].items()}
    kept: dict[Path, Any] = {}
    for one in plan.kept:
        value = values[one.leaf.path]
        if one.key_impl and not one.leaf.key_impl:
            value = jax.random.wrap_key_data(value, impl=one.key_impl)
        kept[origins[one.path]] = value
    return kept
