"""Errors of saving and restoring NNX states."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_ORBAX = r"orbax|checkpoint|restore|ocp\."

ENTRIES = (
    Entry(
        "checkpoint-structure",
        "the checkpoint has other leaves than the state it is restored into",
        (
            Wording(r"User-provided restore item and on-disk value metadata tree structures do not match"),
            Wording(r"Structure mismatch: Target path .* not found in metadata_tree"),
            Wording(r"Dict key mismatch; expected keys: .*(ArrayRestoreArgs|RestoreArgs)"),
            Wording(r"(tree structures do not match|Missing \d+ keys in structure path)", _ORBAX),
        ),
        "From Flax 0.11.0 every layer keeps its own random stream (`dropout/rngs/count` in place of "
        "`dropout/rngs/<stream>/count`), and an optimizer's state no longer holds the model. A checkpoint of 0.10 with "
        "such layers therefore does not fit; parameters and statistics have kept their paths.",
        "Convert it: `nnxmigrate fix-ckpt PATH --model module:factory` keeps every other leaf bit for bit and "
        "initialises the random state. Where the message names parameters, the model itself is another one.",
        "Flax 0.11.0 and later, with checkpoints of 0.10",
    ),
    Entry(
        "checkpoint-key-size",
        "stored random keys are of another kind than the model's",
        (
            Wording(
                r"Requested shape: \((?P<above>(\d+,)*)4,?\) is not compatible with the stored shape: \((?P=above)2,?\)"
            ),
            Wording(
                r"Requested shape: \((?P<above>(\d+,)*)2,?\) is not compatible with the stored shape: \((?P=above)4,?\)"
            ),
        ),
        "A key of JAX's usual implementation, threefry2x32, is two numbers, one of rbg or unsafe_rbg four. The "
        "checkpoint was written, or converted, under another `jax_default_prng_impl` than the program that restores "
        "it. The message names no leaf: one of the model's may have these shapes too.",
        "Set the same `jax_default_prng_impl`, which the environment variable JAX_DEFAULT_PRNG_IMPL does too. If a "
        "checkpoint of Flax 0.10 was converted without it, do that again: `JAX_DEFAULT_PRNG_IMPL=rbg nnxmigrate "
        "fix-ckpt PATH --model module:factory`.",
        "every version",
    ),
    Entry(
        "checkpoint-shape",
        "a stored array has another shape than the state's",
        (Wording(r"Requested shape: \([\d,]*\) is not compatible with the stored shape: \([\d,]*\)"),),
        "The model is built with other sizes than the one that was saved; the message names no leaf.",
        "Build it with the sizes that it was trained with. `nnxmigrate fix-ckpt PATH --model module:factory --check` "
        "names the leaves, with both shapes.",
        "every version",
    ),
    Entry(
        "checkpoint-pure-dict",
        "a restored dict does not have the paths of the state",
        (Wording(r"key in pure_dict not available in state: \(.*\)"),),
        "A state saved as it is has paths that end in `value`, one saved with nnx.to_pure_dict has not; restoring "
        "without a target gives the paths of the file. Lists come back with text keys ('0' for 0). Random state of "
        "0.10 has other paths than from 0.11.0.",
        "Restore into a target: `checkpointer.restore(path, nnx.state(model))`. For nnx.replace_by_pure_dict drop the "
        "last part `value` of each path, and use nnx.restore_int_paths for lists.",
        "every version",
    ),
    Entry(
        "checkpoint-list-keys",
        "a restored checkpoint names the elements of a list by text",
        (
            Wording(r"Cannot set key '\d+' on immutable node of type (list|tuple)"),
            Wording(r"KeyError: '?'?Invalid key: \d+'?"),
        ),
        "Orbax gives the indices of lists and tuples back as '0', '1', …; nnx.update expects 0, 1, ….",
        "Restore into a target (`nnx.state(model)`), or convert the keys with nnx.restore_int_paths (Flax 0.12.8).",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "checkpoint-dict-update",
        "nnx.update got the random state of a 0.10 checkpoint",
        (
            Wording(
                r"Found (unexpected )?\w+ on value of type .*static attribute '\w+' of Pytree type "
                r"'<class 'flax\.nnx\.rnglib"
            ),
        ),
        "The restored dict has the paths of Flax 0.10, `dropout/rngs/<stream>/key`, where 0.11.0 and later have "
        "`dropout/rngs/key`. On 0.11 the same call corrupts the model silently.",
        "Convert the checkpoint with `nnxmigrate fix-ckpt`, or update with everything but the random state.",
        "Flax 0.12",
    ),
    Entry(
        "checkpoint-typed-keys",
        "this orbax cannot handle random keys",
        (
            Wording(r"Cannot interpret '?key<\w+>'? as a data type"),
            Wording(r"JAX array with PRNGKey dtype cannot be converted to a NumPy array"),
        ),
        "orbax-checkpoint before 0.11.7 cannot save typed keys; before 0.11.27 it cannot restore them into an "
        "abstract target.",
        "Raise orbax-checkpoint to 0.11.27 or later, or save `nnx.state(model, nnx.Not(nnx.RngState))`.",
        "orbax-checkpoint before 0.11.27",
    ),
    Entry(
        "checkpoint-topology",
        "the checkpoint was saved on other devices",
        (
            Wording(r"Topology mismatch detected"),
            Wording(r"available devices are different from the devices used to save the checkpoint"),
        ),
        "Without a target orbax restores arrays with the sharding they were saved with.",
        "Restore into a target with shardings of this machine, `checkpointer.restore(path, abstract_state)`. "
        "`nnxmigrate fix-ckpt` does not need the devices.",
        "every version",
    ),
    Entry(
        "checkpoint-not-found",
        "there is no finished checkpoint at that path",
        (
            Wording(r"Metadata file \(named _METADATA\) does not exist"),
            Wording(r"Checkpoint at .* not found"),
            Wording(r"Found incomplete checkpoint"),
            Wording(r"Item directory .* does not exist|No checkpoint found at", _ORBAX),
        ),
        "The path is the folder of a CheckpointManager or of one of its steps, not of an item in it; or the save never "
        "finished: a script that ends without `wait_until_finished()` leaves a folder that ends in "
        "`.orbax-checkpoint-tmp`.",
        "Add the item, `path / 'state'` or `path / '100' / 'default'`; call `checkpointer.wait_until_finished()` "
        "after each save, or use the checkpointer in a `with` block.",
        "every version",
    ),
    Entry(
        "checkpoint-exists",
        "a checkpoint is saved over another",
        (Wording(r"Destination .* already exists", _ORBAX),),
        "Orbax never overwrites.",
        "Choose another path, or say `force=True`.",
        "every version",
    ),
    Entry(
        "checkpoint-path-relative",
        "orbax wants an absolute path",
        (Wording(r"Checkpoint path should be absolute"),),
        "Processes may have different working directories.",
        "Write `Path(path).absolute()`.",
        "some releases of orbax-checkpoint",
    ),
    Entry(
        "checkpoint-empty-array",
        "orbax cannot save an empty array",
        (Wording(r"Cannot save arrays with zero size"),),
        "From orbax-checkpoint 0.11.2 arrays without elements are refused.",
        "Leave the leaf out of the state.",
        "orbax-checkpoint 0.11.2 and later",
    ),
    Entry(
        "pickle-state",
        "a pickled State or Variable comes from another Flax",
        (
            Wording(r"KeyError: '_raw_value'"),
            Wording(r"tuple indices must be integers or slices, not str", r"pickle\.load|variablelib"),
            Wording(r"Can't get attribute 'VariableState' on"),
        ),
        "VariableState (0.10) is gone from 0.11.0, and Variables store their value differently from 0.12.1.",
        "Load the pickle with the Flax that wrote it and save `nnx.to_pure_dict(state)`, or an orbax checkpoint.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "pickle-module",
        "a module cannot be pickled",
        (Wording(r"Can't (pickle|get) local object '\w+\.<locals>\.\w+'", r"nnx|flax|variance_scaling|initializers"),),
        "Up to Flax 0.12.0 layers keep their initialisers, which are local functions.",
        "Pickle `nnx.to_pure_dict(nnx.state(model))`, or save a checkpoint with orbax.",
        "Flax before 0.12.1",
    ),
)
