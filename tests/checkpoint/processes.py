"""One process of a job of two: restore a checkpoint with shardings over both, and say what this one sees."""

import sys

import jax
import models  # type: ignore[import-not-found]
import numpy as np
import orbax.checkpoint as ocp
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

path, coordinator, number = sys.argv[1:]
jax.distributed.initialize(coordinator, 2, int(number))
mesh = Mesh(np.array(jax.devices()), ("x",))
state = nnx.state(models.Wide(models.new_rngs()))


def target(leaf: jax.Array) -> jax.ShapeDtypeStruct:
    """Return the leaf with a sharding: the last dimension of parameters is shared."""
    axes = (*(None for _ in leaf.shape[1:]), "x") if leaf.shape else ()
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))


restored = ocp.StandardCheckpointer().restore(path, jax.tree.map(target, state))
for keys, leaf in jax.tree_util.tree_leaves_with_path(restored):
    name = jax.tree_util.keystr(keys)
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    part = np.asarray(leaf.addressable_data(0))
    print(f"{name} {leaf.is_fully_addressable} {part.shape} {float(part.astype('float64').sum()):.6f}")
