"""A standalone script that converts one checkpoint without this package, for people who want to see every step."""

from __future__ import annotations

from collections.abc import Iterable

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.initialise import Made, Program
from nnxmigrate.checkpoint.job import Job
from nnxmigrate.checkpoint.loading import Maker
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.target import Layout
from nnxmigrate.checkpoint.trees import SAVED, saved_lines

_SCRIPT = '''\
"""Make an NNX 0.10 checkpoint loadable in the migrated program.

Needs memory for all parameters; `nnxmigrate fix-ckpt` does not.
"""

from functools import partial

import jax
import orbax.checkpoint as ocp
from etils import epath
from flax import {flax}
{imports}

SOURCE = epath.Path({source!r})
DESTINATION = epath.Path({destination!r})

# RNG state of the old program, found by its structure and types
DROPPED = {dropped}

# new names of stored leaves
RENAMED = {renamed}

# RNG state of the new program{computed}
ADDED = {added}


def make_state():
    """Return the tree that the new program saves."""
{body}


def name_of(path):
    """Return the name under which Orbax stores the leaf at a path."""
    keys = (getattr(key, "idx", getattr(key, "key", getattr(key, "name", key))) for key in path)
    return ".".join(map(str, keys))


def restored():
    """Return the old checkpoint on this process's first device, whatever devices it was saved from."""
    handler = ocp.PyTreeCheckpointHandler()
    found = handler.metadata(SOURCE)
    tree = getattr(found, "tree", found)
    here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    arguments = jax.tree.map(
        lambda leaf: ocp.ArrayRestoreArgs(sharding=here) if {placed} else ocp.RestoreArgs(),
        tree,
        is_leaf=lambda leaf: hasattr(leaf, "shape"),
    )
    return handler.restore(SOURCE, args=ocp.args.PyTreeRestore(restore_args=arguments))


@partial(jax.jit, donate_argnums=0)
def merged(kept):
    """Return the new tree: stored arrays, and new RNG state. The initialisers are dead code here."""
    flat, structure = jax.tree_util.tree_flatten_with_path(make_state())
    return jax.tree.unflatten(structure, [kept.get(name_of(path), leaf) for path, leaf in flat])


def main():
    stored = {{name_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(restored())}}
    kept = {{RENAMED.get(name, name): leaf for name, leaf in stored.items() if name not in DROPPED}}
    target = jax.eval_shape(make_state)
    wanted = {{name_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(target)}}
    differing = sorted(set(kept) ^ (set(wanted) - ADDED))
    differing += [name for name in kept if name in wanted and jax.numpy.shape(kept[name]) != wanted[name].shape]
    if differing:
        raise SystemExit(f"the checkpoint does not fit the model: {{', '.join(differing)}}")
    arrays = {{name: leaf for name, leaf in kept.items() if isinstance(leaf, jax.Array)}}
    numbers = {{name: leaf for name, leaf in kept.items() if name not in arrays}}  # jit would narrow them
    flat, structure = jax.tree_util.tree_flatten_with_path(merged(arrays))
    state = jax.tree.unflatten(structure, [numbers.get(name_of(path), leaf) for path, leaf in flat])
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(DESTINATION, state)
        checkpointer.wait_until_finished()  # saving goes on in the background


if __name__ == "__main__":
    main()
'''


def standalone_script(job: Job, maker: Maker) -> str:
    """Return the script for the one item that ``job`` converts.

    Args:
        job: a conversion that was planned with a model.
        maker: how that model is made.

    Raises:
        MisfitError: if the checkpoint does not fit the model.
        CheckpointError: if there are several items or steps, or a case that a short script cannot handle.
    """
    if len(job.converted) != 1 or job.program is None:
        raise CheckpointError("a script converts one item: choose it with --step and --item")
    one, plan = job.converted[0]
    plan.require_fit()
    if any(leaf.is_string for leaf in one.tree.leaves.values()):
        raise CheckpointError("a script converts arrays and numbers, and there are strings")
    if job.program.eager:
        raise CheckpointError("a script needs a model that can be traced")
    outside = [kept for kept in plan.kept if kept.path not in job.program.target[plan.layout]]
    if plan.parts != ("",) or outside or plan.within:
        raise CheckpointError(
            "a script converts a whole tree", "let the factory return all that was saved, not a model in it alone"
        )
    part = plan.part_of
    place = "/".join(filter(None, (job.destination, one.step.name, one.item.name)))
    # numbers and NumPy's arrays have no sharding and keep their width; where none is recorded, keys have to stay keys
    placed = 'hasattr(leaf, "sharding")' if one.tree.shardings is None else 'getattr(leaf, "sharding", None)'
    allowed = any(not leaf.rng for leaf in plan.added)
    return _SCRIPT.format(
        imports="\n".join([maker.imports, *(part.import_lines if part else [])]),
        flax="config, nnx" if job.program.unsharded else "nnx",
        source=str(one.item.folder),
        destination=place,
        placed=placed,
        dropped=_set(leaf.name for leaf in plan.dropped),
        renamed={kept.leaf.name: kept.name for kept in plan.kept if kept.renamed},
        added=_set(leaf.name for leaf in plan.added),
        computed=", and leaves that are initialised anew" if allowed else "",
        body="\n".join(f"    {line}" for line in _body(job.program, plan, maker)),
    )


def _body(program: Program, plan: Plan, maker: Maker) -> list[str]:
    """Return the lines that make and return what the new program saves.

    Raises:
        CheckpointError: if that takes more than the states of what the factory returns.
    """
    pure = plan.layout is Layout.PURE
    if program.plain:
        state = f"nnx.state({maker.call}{f', {plan.part_of.text}' if plan.part_of else ''})"
        lines = [f"return nnx.to_pure_dict({state})" if pure else f"return {state}"]
    else:
        own = saved_lines(program, pure) if program.made is Made.TREE and not program.parted else None
        if own is None or plan.part_of:
            raise CheckpointError(
                "a script converts the state of one object, or a tree of states",
                "without --emit-script it is converted",
            )
        lines = [f"{SAVED} = {maker.call}", *own]
    if program.unsharded:
        note = "  # the factory sets no mesh"
        return [f'with config.temp_flip_flag("always_shard_variable", False):{note}', *(f"    {one}" for one in lines)]
    return lines


def _set(names: Iterable[str]) -> str:
    lines = [f"    {name!r},\n" for name in sorted(names)]
    return f"{{\n{''.join(lines)}}}" if lines else "set()"
